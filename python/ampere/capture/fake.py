"""Stand-ins for a model's tensors: they have sizes and a device, and take no memory. No device is needed either."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from .recorder import Recorder


class Fakes:
    """One fake for each real tensor, so that tied weights stay tied."""

    def __init__(self, device: torch.device):
        self.device = device
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.made: dict[int, tuple[torch.Tensor, torch.Tensor]] = (
            {}
        )  # keeps the real one alive, so its id stays its own
        self.recorder: Recorder | None = None

    def fake(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        if id(tensor) not in self.made:
            with _disable_current_modes(), torch.no_grad():
                like = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
                fake: torch.Tensor = FakeTensor(self.mode, like, self.device)
            if isinstance(tensor, torch.nn.Parameter):
                fake = torch.nn.Parameter(fake, requires_grad=tensor.requires_grad)
            elif tensor.requires_grad:
                fake.requires_grad_()
            self.made[id(tensor)] = tensor, fake
            if self.recorder is not None:
                self.recorder.introduce(fake, "input", tensor)
        return self.made[id(tensor)][1]

    @contextmanager
    def instead_of(self, model: torch.nn.Module) -> Iterator[None]:
        """The model's own tensors are put back at the end; they are never touched."""
        kept: list[tuple[dict[str, Any], str, Any]] = []
        flat = [(m, m._flat_weights) for m in model.modules() if isinstance(m, torch.nn.RNNBase)]
        try:
            for module in model.modules():
                tables: list[Any] = [module._parameters, module._buffers]
                for table in tables:
                    for name, tensor in table.items():
                        if tensor is not None:
                            kept.append((table, name, tensor))
                            table[name] = self.fake(tensor)
            for module, _ in flat:
                module.__dict__["_flat_weights"] = [module._parameters.get(n) for n in module._flat_weights_names]
            yield
        finally:
            for table, name, tensor in kept:
                table[name] = tensor
            for module, weights in flat:
                module.__dict__["_flat_weights"] = weights


@contextmanager
def without_log() -> Iterator[None]:
    """What fakes cannot do is told by an exception; newer versions write it to standard error as well."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


CAPABILITY = (8, 0)  # the oldest that has all that models ask for by it


@contextmanager
def as_if_there_were(device: torch.device, notes: list[str]) -> Iterator[None]:
    """Optimizers take their slow way where they see a fake, and autocast switches itself off without an accelerator."""
    with ExitStack() as stack:
        patch = lambda where, name, value: stack.enter_context(mock.patch.object(where, name, value))  # noqa: E731
        optimizers = sys.modules["torch.optim.optimizer"]
        patch(optimizers, "_foreach_supported_types", [*optimizers._foreach_supported_types, FakeTensor])
        if device.type != "cuda" or torch.cuda.is_available():
            yield
            return
        patch(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
        patch(torch.cuda, "is_bf16_supported", lambda *args, **kwargs: True)
        patch(torch.cuda, "is_current_stream_capturing", lambda: False)

        def capability(*args: Any, **kwargs: Any) -> tuple[int, int]:
            said = "the model asks which GPU there is; without one here it was told compute capability 8.0"
            notes.extend([said] if said not in notes else [])
            return CAPABILITY

        patch(torch.cuda, "get_device_capability", capability)
        yield
