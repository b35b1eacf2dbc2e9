"""`ampere.memory`: how much of a device's memory one step of training takes, told before anything is trained."""

from __future__ import annotations

import json
from typing import Any

from . import _core
from .prediction import bytes_text


def memory(model: Any, inputs: Any = None, *, device: Any = None, **training: Any) -> _core.MemoryEstimate:
    """Captures one step without running it and counts which tensors are there when each call is made. Neither the
    device nor the memory is needed. `device` and what else is given are as for `estimate`: loss, optimizer, precision,
    accumulate, clip, step, compile."""
    from .estimating import captured_network

    options = {
        "loss": None,
        "optimizer": "sgd",
        "precision": "default",
        "accumulate": 1,
        "clip": None,
        "step": None,
        "compile": False,
    }
    if unknown := training.keys() - options.keys():
        raise TypeError(f"memory() does not know {', '.join(sorted(unknown))}")
    options |= training
    captured = captured_network(model, inputs, device=device, **options)
    return memory_of(captured, device if isinstance(device, _core.Device) else None)


def memory_of(captured: Any, device: _core.Device | None) -> _core.MemoryEstimate:
    network = _core.Model.from_json(json.dumps(captured.network))
    return _core.estimate_memory(network, captured.step.batch, captured.recipe(), **place_of(captured, device))


def place_of(captured: Any, device: _core.Device | None) -> dict[str, str]:
    import torch

    name = device.name if device is not None else ""
    if not name and captured.device == "cuda" and torch.cuda.is_available():
        name = torch.cuda.get_device_name(0)
    return {"type": captured.device, "framework": f"pytorch {torch.__version__}", "name": name}


def require_room(captured: Any, device: _core.Device, needed: _core.MemoryEstimate) -> None:
    """Refuses a step that the device would be killed by, with the batch that would fit."""
    there = _core.device_memory_bytes(device)
    if there is None or needed.peak_bytes <= _core.usable_memory_bytes(there, captured.device):
        return
    network = _core.Model.from_json(json.dumps(captured.network))
    batch = _core.largest_batch(
        network,
        _core.usable_memory_bytes(there, captured.device),
        captured.step.batch,
        captured.recipe(),
        most=captured.step.batch,
        **place_of(captured, device),
    )
    would = f"a batch of about {batch} would fit" if batch else "not even a batch of 1 would"
    raise _core.OutOfMemoryError(
        f"{captured.step.name} at batch {captured.step.batch} does not fit {device.name}: a step takes "
        f"{bytes_text(needed.peak_bytes)}, and there are {bytes_text(there)} with the system and the framework in them; {would}"
    )
