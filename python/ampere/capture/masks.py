"""Attention masks of Hugging Face's models, as a step that is really run makes them.

Before each forward pass transformers looks whether the batch needs a mask at all, and leaves it out where not, which
lets attention take quicker kernels. Of a fake it cannot see that, and makes the mask. So it is asked with real tensors
first: inputs have values, and positions that a model counts for itself are those of whole sequences.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from .fake import Fakes
from .recorder import Recorder

MAKERS = "transformers.masking_utils"
OTHERS = ("torch", "numpy", "ampere")  # modules that have none of them, and much else


@contextmanager
def masks_as_needed(recorder: Recorder, fakes: Fakes) -> Iterator[None]:
    replaced: list[tuple[Any, str, Any]] = []
    try:
        # A user's own copy of a model imports them, too.
        modules = [m for name, m in sys.modules.items() if name.partition(".")[0] not in OTHERS] if MAKERS in sys.modules else []
        for module in modules:
            for name, made in list(getattr(module, "__dict__", {}).items()):
                if name.startswith("create_") and getattr(made, "__module__", None) == MAKERS:
                    replaced.append((module, name, made))
                    setattr(module, name, maker_of(made, recorder, fakes))
        yield
    finally:
        for module, name, made in replaced:
            setattr(module, name, made)


def maker_of(made: Callable[..., Any], recorder: Recorder, fakes: Fakes) -> Callable[..., Any]:
    def mask(*args: Any, **options: Any) -> Any:
        if not recorder.paused and not recorder.compiling and not needed(made, args, options, recorder, fakes):
            return None
        return made(*args, **options)

    return mask


class MaskIsMade(Exception):
    """Its answer is known before there is anything of its size."""


class UntilItIsMade(TorchDispatchMode):
    """Lets through what goes once over the tokens, and ends when something of a mask's size would be made."""

    def __init__(self, most: int):
        super().__init__()
        self.most = most

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        sizes = [x.shape for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and not x.is_floating_point()]
        if math.prod(torch.broadcast_shapes(*sizes)) > self.most:
            raise MaskIsMade
        return func(*args, **(kwargs or {}))


def needed(made: Callable[..., Any], args: Any, options: dict[str, Any], recorder: Recorder, fakes: Fakes) -> bool:
    """Whether a mask is made of tensors that are no fakes; also where that cannot be told."""
    real = {id(fake): tensor for tensor, fake in fakes.made.values()}
    try:
        with recorder.pause(), _disable_current_modes(), torch.no_grad():
            asked = [with_values(value, real) for value in args]
            named = {name: with_values(value, real) for name, value in options.items()}
            tokens = max(math.prod(t.shape[:2]) for t in [*asked, *named.values()] if isinstance(t, torch.Tensor))
            with UntilItIsMade(4 * tokens):
                return made(*asked, **named) is not None
    except Exception:  # it is made; or makers of other versions ask for more than sizes and values of inputs
        return True


def with_values(value: Any, real: dict[int, torch.Tensor]) -> Any:
    if not isinstance(value, FakeTensor):
        return value
    given = real.get(id(value))
    if given is not None and not given.is_meta:
        return given.detach().cpu()
    if value.is_floating_point():  # of what the layers are given only sizes are asked
        return torch.zeros((), dtype=value.dtype).expand(value.shape)
    # Positions that a model counts for itself are one row for all samples.
    if given is not None or value.dtype == torch.bool or value.dim() not in (1, 2) or value.dim() == 2 and value.shape[0] > 1:
        raise ValueError("nobody knows its values")
    return torch.arange(value.shape[-1]).expand(value.shape)
