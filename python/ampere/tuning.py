"""`ampere.tune`: which precision, layout, optimizer, batch and power limit to train with, before anyone does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from . import _core
from .estimating import by_sheet, captured_estimate, captured_network, device_type, is_sheet, open_device, require_torch
from .recipes import PRECISIONS, optimizer_words, threads_of
from .subject import rebatched
from .tuned import Tuning
from .wording import in_python

if TYPE_CHECKING:
    import torch

KEYS = ("precision", "channels_last", "optimizer", "batch", "limit", "clock")
# What is looked at where nothing is named. A CPU computes fp32 by default, and float16 slower than that.
USUAL_PRECISIONS = {"cuda": ("default", "fp32", "bf16", "fp16"), "cpu": ("default", "bf16")}


@dataclass(frozen=True)
class Choice:
    """One way to train, but for power."""

    batch: int
    precision: str
    channels_last: bool
    optimizer: Any


def tune(
    model: Any,
    inputs: Any,
    *,
    samples: int,
    epochs: int = 1,
    objective: str = "energy",
    slower: float | str | None = None,
    deadline_s: float | None = None,
    settings: Mapping[str, Any] | None = None,
    loss: Callable[[Any], torch.Tensor] | None = None,
    optimizer: Any = "sgd",
    precision: str = "default",
    device: Any = None,
    accumulate: int = 1,
    clip: float | None = None,
    compile: bool = False,
    mode: str = "eager",
    exact: bool | None = None,
    price: str = "",
    carbon: str = "",
    price_per_hour: float = 0.0,
    store: str = "",
    worker: str = "",
    meter: str = "",
    on_step: Callable[[_core.Step], object] | None = None,
) -> Tuning:
    """Captures a step of the model under every setting, estimates each, and tells which serves best. The model is
    neither changed nor trained. What estimate() takes means the same here, and is the present setting.

    samples, epochs   the job: samples of an epoch, and how many epochs
    objective  what is to be little: "energy", "time", "energy*delay" or "cost"
    slower     at most so much longer than the present setting: 0.1 or "10%"
    deadline_s the whole job ends within this, with 97.5% probability
    settings   what may change: {"precision": ["bf16", "fp16"], "channels_last": [False, True], "optimizer": ["sgd"],
               "batch": [32, 64], "limit": [300, 400], "clock": [1300]}; limits in watts, clocks in MHz. Without it:
               precisions, channels last for images, and power limits where the device's are known
    exact      True: parts that the store does not know are measured, under every setting; False: nothing is, and the
               device's profile tells (profile(device, minutes=5)). Without it they are measured where the device is
    price, carbon, price_per_hour   "0.30EUR/kWh"; "380g/kWh" or a country; what an hour of the device costs
    """
    torch = require_torch()
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"tune() takes an nn.Module, not {type(model).__name__}; for files there is: ampere tune FILE")
    device = by_sheet(device)
    where = device_type(device)
    tariff = _core.tariff_of(price, carbon)
    there = device if isinstance(device, _core.Device) else open_device(where, store, worker, meter)
    wanted = wanted_settings(settings, where, inputs, there)
    present = Choice(batch_of(inputs), precision, is_channels_last(inputs), optimizer)
    notes: list[str] = []
    candidates = []
    name = type(model).__name__
    for number, choice in enumerate(choices(present, wanted)):
        given = inputs if choice.batch == present.batch else rebatched(inputs, choice.batch)
        recipe = _core.Recipe(
            optimizer=optimizer_words(choice.optimizer), precision=choice.precision, threads=threads_of(where)
        )
        setting = _core.TrainingSetting(choice.batch * accumulate, recipe, channels_last=choice.channels_last)
        try:
            with laid_out(model, given, choice.channels_last) as moved:
                captured = captured_network(
                    model, moved, loss, choice.optimizer, choice.precision, where, accumulate, clip, None, compile
                )
            found = captured_estimate(there, captured, mode, on_step, exact)
        except (_core.Error, RuntimeError) as e:
            unknown = isinstance(e, (_core.NotProfiledError, _core.OutOfMemoryError))
            if number == 0 or (isinstance(e, _core.Error) and not unknown):
                raise  # the present setting must be known, and what fails for another reason is told
            candidates.append(_core.TuneCandidate(setting, None, first_line(e)))
            continue
        if number == 0:
            name = captured.step.name
            notes += captured.notes()
        candidates.append(_core.TuneCandidate(setting, found))
    tuned = _core.tune_candidates(
        there,
        candidates,
        samples=samples,
        epochs=epochs,
        objective=objective,
        slower=share_in(slower),
        deadline_s=deadline_s,
        tariff=tariff,
        price_per_hour=price_per_hour,
        mode=mode,
        power_limits_w=wanted["limit"],
        clocks_mhz=wanted["clock"],
    )
    return Tuning(
        name,
        f"{there.name} ({there.meter})",
        samples,
        epochs,
        objective,
        tuned,
        json.loads(there.fingerprint),
        tariff,
        [*notes, *map(in_python, there.notes)],
    )


def wanted_settings(
    settings: Mapping[str, Any] | None, where: str, inputs: Any, there: _core.Device
) -> dict[str, list[Any]]:
    """A list for every key; empty: it stays as it is."""
    wanted: dict[str, list[Any]] = {key: [] for key in KEYS}
    if settings is None:
        wanted["precision"] = list(USUAL_PRECISIONS[where])
        wanted["channels_last"] = [False, True] if images(inputs) and where == "cuda" else []
        wanted["limit"] = _core.usual_limits(there) if where == "cuda" else []
        return wanted
    for key, values in settings.items():
        if key not in wanted:
            raise ValueError(f'settings has no "{key}" (known: {", ".join(KEYS)})')
        several = isinstance(values, Sequence) and not isinstance(values, str)
        wanted[key] = list(values) if several else [values]
    for word in wanted["precision"]:
        if word not in PRECISIONS:
            raise ValueError(f'unknown precision "{word}" (known: {", ".join(PRECISIONS)})')
    for key in ("batch", "limit", "clock"):
        for value in wanted[key]:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
                raise ValueError(f"settings: a {key} is a number above 0, not {value!r}")
    for value in wanted["batch"]:
        if not isinstance(value, int):
            raise ValueError(f"settings: a batch is a whole number, not {value!r}")
    if any(wanted["channels_last"]) and not images(inputs):
        raise ValueError("settings: channels last is for inputs of four dimensions, and there are none")
    if where == "cpu" and (wanted["limit"] or wanted["clock"]) and not is_sheet(there):
        raise ValueError("settings: what a power limit or a clock does to a CPU is not modelled")
    wanted["limit"] = [float(value) for value in wanted["limit"]]
    wanted["clock"] = [float(value) for value in wanted["clock"]]
    return wanted


def choices(present: Choice, wanted: dict[str, list[Any]]) -> list[Choice]:
    """The present one first, and every combination once."""

    def values(key: str, now: Any) -> list[Any]:
        others = [value for value in wanted[key] if value is not now and value != now]
        return [now, *dict.fromkeys(others)]

    combinations = product(
        values("batch", present.batch),
        values("precision", present.precision),
        values("channels_last", present.channels_last),
        values("optimizer", present.optimizer),
    )
    return [Choice(*values) for values in combinations]


def tensors_of(inputs: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]


def images(inputs: Any) -> list[Any]:
    return [tensor for tensor in tensors_of(inputs) if tensor.dim() == 4]


def batch_of(inputs: Any) -> int:
    sized = [tensor for tensor in tensors_of(inputs) if tensor.dim() > 0]
    return int(sized[0].shape[0]) if sized else 1


def is_channels_last(inputs: Any) -> bool:
    import torch

    return any(
        tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
        for tensor in images(inputs)
    )


@contextmanager
def laid_out(model: Any, inputs: Any, channels_last: bool) -> Iterator[Any]:
    """The model's weights and the inputs in this layout; the weights are put back, the very same memory."""
    import torch
    from torch.utils._pytree import tree_map_only

    if not images(inputs):
        yield inputs
        return
    layout = torch.channels_last if channels_last else torch.contiguous_format
    held = [t for t in [*model.parameters(), *model.buffers()] if t.dim() == 4]
    before = [t.data for t in held]

    def moved(tensor: Any) -> Any:
        return tensor.contiguous(memory_format=layout) if tensor.dim() == 4 else tensor

    try:
        for tensor in held:
            tensor.data = tensor.data.contiguous(memory_format=layout)
        yield tree_map_only(torch.Tensor, moved, inputs)
    finally:
        for tensor, data in zip(held, before):
            tensor.data = data


def share_in(slower: float | str | None) -> float | None:
    """0.1, "10%"."""
    if slower is None or isinstance(slower, (int, float)):
        return slower
    try:
        return float(slower.removesuffix("%")) / (100 if slower.endswith("%") else 1)
    except ValueError:
        raise ValueError(f'slower is a share such as 0.1 or "10%", not "{slower}"') from None


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(":") if lines else type(error).__name__
