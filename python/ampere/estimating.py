"""`ampere.estimate`: how many joules one step of training this model takes on this device."""

from __future__ import annotations

import atexit
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from .room import memory_of, require_room
from .prediction import Prediction
from .recipes import optimizer_words, precision_words, threads_of
from .wording import in_python

if TYPE_CHECKING:
    import torch

_open: dict[tuple[str, ...], _core.Device] = {}


def estimate(
    model: Any,
    inputs: Any = None,
    *args: Any,
    loss: Callable[[Any], torch.Tensor] | None = None,
    optimizer: Any = "sgd",
    precision: str = "default",
    device: Any = None,
    accumulate: int = 1,
    clip: float | None = None,
    step: Callable[..., None] | None = None,
    compile: bool = False,
    mode: str = "eager",
    exact: bool | None = None,
    probe: bool = False,
    power_limit: float | None = None,
    clock: float | None = None,
    price: str = "",
    carbon: str = "",
    store: str = "",
    worker: str = "",
    meter: str = "",
    on_step: Callable[[_core.Step], object] | None = None,
    **library: Any,
) -> Any:
    """Before anyone trains it: captures one step of the model without running it, measures each kind of part that it is
    made of on the device, half a second each, and adds them up. What is measured is kept, so the next network is quicker.

    model      an nn.Module, on any device, the meta device included; it is not changed and not trained
    inputs     what it is called with: a tensor, a tuple, or a dict of named arguments; only sizes count
    loss       a function of the model's output; without one, its `loss` (Hugging Face) or the mean of its squares
    optimizer  "sgd", "momentum", "adam", "adamw", an optimizer over the model's parameters, or a function that makes one
    precision  "default", "fp32", "tf32", "bf16" or "fp16"
    device     "cuda", "cpu", or a Device; without one, an accelerator where there is one. "sheet:h100", or
               "sheet:" and the path of a JSON file: hardware that nobody has measured, told by its data sheet alone
    accumulate, clip   micro-batches per step; the norm that gradients are clipped to
    step       instead of loss, accumulate and clip: a function (model, optimizer) that makes one step as your loop does
    compile    as if you trained torch.compile(model); a model that is compiled already need not say so
    mode       "eager", or "replay" for a step that is captured in a CUDA graph
    exact      False: nothing is measured; what the store has not is told by what else was measured on the device, with
               an interval that says how sure that is (profile(device, minutes=5) makes it surer)
    probe      instead of measuring every kind of part: those that are least sure by what else was measured, at most
               0.15 s for each part of the step where the device keeps its power
    power_limit, clock   under a power limit (watts) or a locked clock (MHz) of the device, which is modelled
    price, carbon        "0.30EUR/kWh"; "380g/kWh" or a country such as "FR": what the energy costs and emits, too

    With a Device first it is the library's own function: estimate(device, model, batch, recipe, ...).
    """
    if isinstance(model, _core.Device):
        if on_step is not None:
            library["on_step"] = on_step
        if mode != "eager":
            library["mode"] = mode
        if exact is not None:
            library["exact"] = exact
        if probe:
            library["probe"] = True
        library |= power_setting(power_limit, clock)
        return _core.estimate(model, inputs, *args, **library)
    if args or library:
        raise TypeError(f"estimate() does not know {', '.join(library) or 'so many arguments'}")
    tariff = _core.tariff_of(price, carbon)
    power = power_setting(power_limit, clock)
    device = by_sheet(device)
    captured = captured_network(model, inputs, loss, optimizer, precision, device, accumulate, clip, step, compile)
    there = device if isinstance(device, _core.Device) else open_device(captured.device, store, worker, meter)

    def by_mode(mode: str) -> _core.Estimate:
        """From what is measured by then."""
        return captured_estimate(there, captured, mode, on_step, False if probe else exact, power)

    needed = memory_of(captured, there)
    require_room(captured, there, needed)
    found = captured_estimate(there, captured, mode, on_step, exact, power, probe)
    return Prediction(
        captured.step.name,
        f"{there.name} ({there.meter})",
        captured.words,
        captured.step.batch * accumulate,
        found,
        captured.step.module_types,
        [*captured.notes(), *unmeasured_note(found, there), *map(in_python, there.notes)],
        by_mode,
        tariff,
        needed,
    )


def power_setting(power_limit: float | None, clock: float | None) -> dict[str, float]:
    """As the library takes it; nothing where nothing is set."""
    given = {"power_limit_w": power_limit, "clock_mhz": clock}
    for name, value in given.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name.rpartition('_')[0]} must be above 0, not {value}")
    return {name: float(value) for name, value in given.items() if value is not None}


SHEET = "sheet:"


def by_sheet(device: Any) -> Any:
    """What is named by its data sheet as a Device; all else as it is."""
    if isinstance(device, str) and device.startswith(SHEET):
        return _core.Device.from_sheet(device.removeprefix(SHEET))
    return device


def is_sheet(device: _core.Device) -> bool:
    return device.meter == "data sheet"


def unmeasured_note(found: _core.Estimate, there: _core.Device) -> list[str]:
    if found.unmeasured < 0.005 or is_sheet(there):
        return []
    return [
        f"{found.unmeasured:.0%} of this energy is of parts that were never measured on the device; other calls tell them"
    ]


def captured_estimate(
    there: _core.Device,
    captured: Captured,
    mode: str,
    on_step: Callable[[_core.Step], object] | None,
    exact: bool | None = None,
    power: dict[str, float] | None = None,
    probe: bool = False,
) -> _core.Estimate:
    """Measures the parts that the store does not know, where the device is at hand."""
    network = _core.Model.from_json(json.dumps(captured.network))
    measures = there.can_measure and not probe if exact is None else exact
    if (measures or probe) and is_sheet(there):
        raise _core.BadInputError(f"nothing can be measured on the data sheet of {there.name}; leave exact or probe away")
    try:
        return _core.estimate(
            there,
            network,
            captured.step.batch,
            captured.recipe(),
            mode=mode,
            exact=measures,
            probe=probe,
            on_step=on_step,
            **(power or {}),
        )
    except _core.NotProfiledError as e:
        lines = str(e).splitlines()
        kinds = [line for line in lines if line.startswith("  ")]
        recipes = "".join(f" ({line})" for line in lines if line.startswith("asked for as "))
        if is_sheet(there):
            raise _core.NotProfiledError(
                f"a data sheet does not tell {len(kinds) or 'some'} kinds of parts of this step, such as compiled regions; "
                "they must be measured on the device:\n" + "\n".join(kinds)
            ) from e
        if there.can_measure:
            raise _core.NotProfiledError(
                f"{len(kinds) or 'some'} kinds of parts of this step were not measured on {there.name} under this recipe "
                f"yet{recipes}, and nothing else tells them: leave exact=False away to measure them, or measure the device with "
                "ampere.profile(device, minutes=5); compiled regions must be measured:\n" + "\n".join(kinds)
            ) from e
        raise _core.NotProfiledError(
            f"{len(kinds) or 'some'} kinds of parts of this step were not measured on {there.name} yet{recipes}, of which only "
            f"{there.store} is here; estimate it once where the device is, and take the store from there:\n"
            + "\n".join(kinds)
        ) from e


class Captured:
    def __init__(self, step: Any, network: dict[str, Any], precision: str, optimizer: Any, device: str, words: str):
        self.step, self.network, self.device, self.words = step, network, device, words
        self.precision, self.optimizer = precision, optimizer

    def recipe(self) -> _core.Recipe:
        """Optimizer and mixed precision are in the calls; what they do not tell is how float32 is computed."""
        precision = self.precision if self.precision in ("fp32", "tf32") and self.device != "cpu" else "default"
        return _core.Recipe(optimizer="captured", precision=precision, threads=threads_of(self.device))

    def notes(self) -> list[str]:
        said = list(dict.fromkeys(self.step.notes))
        if self.device != "cpu" and self.precision == "fp32":
            said.append(
                "strict float32 was asked for; as PyTorch comes it computes convolutions in TF32, which often takes half the energy"
            )
        return said + unusual(self.step, self.precision, self.optimizer, self.device)


ATTENTION = "aten::scaled_dot_product_attention"
SOFTMAX = "aten::_softmax"
HEADS = 4  # dimensions of scores: batch, heads, queries, keys


def has_attention(step: Any) -> bool:
    """As one call, or spelled out: a softmax over the scores of several heads."""
    for call in step.calls:
        if call.phase == "forward" and call.op == ATTENTION:
            return True
        if call.phase == "forward" and call.op == SOFTMAX and len(step.tensors[call.outputs[0]].sizes) >= HEADS:
            return True
    return False


def unusual(step: Any, precision: str, optimizer: Any, device: str) -> list[str]:
    """Where the step is seldom trained as it was asked for, mostly because nothing was said."""
    if not has_attention(step):
        return []
    said = []
    if device != "cpu" and precision not in ("bf16", "fp16"):
        said.append(
            'a network with attention, without mixed precision: on accelerators it is mostly trained with precision="bf16"'
        )
    if optimizer == "sgd":
        said.append('a network with attention, trained with plain SGD: most use optimizer="adamw"')
    return said


def captured_network(
    model: Any,
    inputs: Any,
    loss: Any,
    optimizer: Any,
    precision: str,
    device: Any,
    accumulate: int,
    clip: float | None,
    step: Any,
    compile: bool = False,
) -> Captured:
    torch = require_torch()
    from .capture import Training, capture
    from .capture.parts import network_of

    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"estimate() takes an nn.Module, not {type(model).__name__}; files are for ampere.Model.load()")
    if inputs is None and step is None:
        raise TypeError("estimate() needs inputs: a batch as the model is called with")
    where = device_type(device)
    words = [precision_words(precision, where), optimizer_words(optimizer)]
    if accumulate < 1:
        raise ValueError(f"accumulate must be 1 or more, not {accumulate}")
    given = () if inputs is None else inputs
    training = Training(model, given, loss, optimizer, precision, accumulate, clip, step, compile)
    found = capture(training, where)
    if accumulate > 1:
        words.append(f"{accumulate} micro-batches a step")
    if any(call.compiled for call in found.calls):
        words.append("torch.compile")
    return Captured(found, network_of(found), precision, optimizer, where, ", ".join(words))


def device_type(device: Any) -> str:
    if isinstance(device, _core.Device):
        return "cuda" if json.loads(device.fingerprint).get("type") == "cuda" else "cpu"
    if device is None:
        torch = require_torch()
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, index = str(device).partition(":")
    if kind not in ("cpu", "cuda"):
        raise ValueError(f'unknown device "{device}" (known: "cpu", "cuda", "sheet:NAME", an ampere.Device)')
    if index not in ("", "0"):
        raise ValueError(f'"{device}": choose one of several GPUs with CUDA_VISIBLE_DEVICES={index}, and say "{kind}"')
    return kind


def open_device(device: str, store: str = "", worker: str = "", meter: str = "") -> _core.Device:
    """Opened once and kept: starting PyTorch takes seconds. Without the device here, what a store knows of it."""
    torch = require_torch()
    key = (device, store, worker, meter)
    if key not in _open:
        if device == "cuda" and not torch.cuda.is_available() and not worker:
            try:
                known = _core.Device.stored(store)
            except (_core.NotProfiledError, _core.BadInputError) as e:
                raise type(e)(f"no CUDA device is here, and {e}") from e
            if device_type(known) != "cuda":
                raise _core.NotProfiledError(
                    f"no CUDA device is here, and the one that {known.store} knows is a CPU ({known.name}); estimate on the "
                    "machine with the GPU, or name a store from there"
                )
            _open[key] = known
        else:
            if meter and not worker:
                _core.Meter(meter)  # one that cannot be used is refused before a store knows a device by it
            command = worker or f"AMPERE_DEVICE={shlex.quote(device)} {shlex.quote(sys.executable)} -m ampere.worker"
            _open[key] = _core.Device.open(store, command, meter)
    return _open[key]


def compare(model: Any, inputs: Any, devices: Sequence[Any], **options: Any) -> list[Prediction]:
    """The same step on several devices, the one that needs the least energy first."""
    return sorted((estimate(model, inputs, device=device, **options) for device in devices), key=lambda p: p.energy_j)


def require_torch() -> Any:
    try:
        import torch
    except ImportError as e:
        raise ImportError("this needs PyTorch 2.4 or newer: pip install torch") from e
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < (2, 4):
        raise ImportError(
            f"PyTorch {torch.__version__} is too old for capturing a step, which takes 2.4 or newer; the command "
            "line works with ONNX and TorchScript files of any version"
        )
    return torch


@atexit.register
def forget_devices() -> None:
    """Ends the workers that are kept; at the end of the program too, while what they are made of is still there."""
    _open.clear()
