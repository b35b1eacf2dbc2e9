"""The verb `measure`: what one iteration of a network costs."""

from __future__ import annotations

import json
import statistics
from typing import Any

import torch

from .. import _core
from .compiled import CannotCompile, Region, forget_compiled, host_seconds
from .device import cache_bytes, free_bytes
from .fields import REQUIRED, RequestError, bad_input, field, flag, integer, is_int, known_fields, number, one_of
from .host import loop_seconds, part_seconds
from .metering import Asked, Seen, StandsStill, error_of_median, metered, time_only
from .part import BadPart, Part
from .recipe import read_recipe
from .repeated import Issued, Repeated, Replayed
from .trainer import Trainer

FIELDS = [
    "network",
    "batch",
    "mode",
    "loss",
    "input_grad",
    "recipe",
    "meter",
    "target_error",
    "window_s",
    "warm_up_s",
    "budget_s",
    "min_windows",
    "min_ticks",
    "discard_first",
    "phase",
    "energy",
]
PHASES = ["iteration", "forward", "backward", "update"]
# Below four ticks an edge that was found late counts too much.
LEAST_TICKS = 4


def measure(params: dict[str, Any], device: torch.device, open_meter: Any) -> dict[str, Any]:
    known_fields(params, "measure", FIELDS)
    mode = one_of(params, "mode", "eager", ["eager", "replay"])
    phase = one_of(params, "phase", "iteration", PHASES)
    asked = Asked(
        number(params, "window_s", 0.1, 1e-3, 600),
        number(params, "warm_up_s", 0.1, 0, 600),
        number(params, "budget_s", 3, 1e-3, 3600),
        number(params, "target_error", 0.01, 1e-6, 1),
        integer(params, "min_windows", 3, 1, 1000),
        integer(params, "min_ticks", 10, 1, 1000),
        flag(params, "discard_first", True),
    )
    wants_energy = flag(params, "energy", True)
    name = field(params, "meter", "", lambda v: isinstance(v, str), "the name of a meter")
    recipe = read_recipe(params)
    recipe.apply(device)
    meter = open_meter(name) if wants_energy else None
    node = calls_of(params)
    if node is not None and node.get("host"):
        return issuing(node, device, meter)
    note, host_s = "", None
    try:
        if node is not None:
            work, host_s, note = part_work(node, device, mode)
            asked.min_ticks = max(asked.min_ticks, LEAST_TICKS)
        else:
            trainer = Trainer(
                params, recipe, device, 1e-6, flag(params, "loss", True), flag(params, "input_grad", False)
            )
            work, host_s, note = trainer_work(trainer, device, mode, phase)
        seen = metered(work, meter, asked) if meter else time_only(work, asked)
    except torch.OutOfMemoryError as e:
        raise RequestError("out_of_memory", str(e)) from e
    except StandsStill as e:
        raise RequestError("no_meter", e.args[0]) from e
    finally:
        forget_compiled()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()
    return result(seen, meter, work.replayed, note, host_s)


def calls_of(params: dict[str, Any]) -> dict[str, Any] | None:
    """The one node of captured calls, where the network is that."""
    network = field(params, "network", REQUIRED, lambda v: isinstance(v, dict), "an object")
    nodes = network.get("nodes")
    if not isinstance(nodes, list):
        return None
    ops = [n.get("op") if isinstance(n, dict) else None for n in nodes]
    found = [n for n, op in zip(nodes, ops) if op == "calls"]
    if not found:
        return None
    if len(found) + ops.count("input") < len(nodes) or len(found) > 1:
        raise bad_input("network: captured calls are measured one part at a time, with nothing else beside them")
    return found[0]


def part_of(node: dict[str, Any], device: torch.device) -> Any:
    """A Part, or a Region where a compiler makes the calls."""
    try:
        body = json.loads(field(node, "calls", REQUIRED, lambda v: isinstance(v, str), "text"))
        is_compiled = isinstance(body, dict) and flag(body, "compiled", False)
        part: Any = Region(body, device) if is_compiled else Part(body, device)
    except (BadPart, ValueError) as e:
        raise bad_input(f"calls: {e}") from e
    except CannotCompile as e:
        raise RequestError("failed", f"{e}; without compile the eager step can be estimated") from e
    if device.type == "cpu" and part.bytes > 0.9 * free_bytes(device):  # a system out of memory kills whom it likes
        raise RequestError("out_of_memory", f"a part needs about {part.bytes >> 20} MiB of memory")
    return part


def part_work(node: dict[str, Any], device: torch.device, mode: str) -> tuple[Repeated, float | None, str]:
    part = part_of(node, device)
    try:
        shared: dict[int, torch.Tensor] = {}
        copies = [part.make(shared) for _ in range(part.copies(cache_bytes(device), free_bytes(device)))]
    except (BadPart, ValueError) as e:
        raise bad_input(f"calls: {e}") from e
    except CannotCompile as e:
        raise RequestError("failed", f"{e}; without compile the eager step can be estimated") from e

    def run() -> None:
        part.run(copies)

    if device.type != "cuda":
        note = "" if mode == "eager" else "a CPU has nothing to replay: measured eagerly"
        return Issued(run, len(copies), device), None, note
    host_s = host_seconds(part) if isinstance(part, Region) else part_seconds(part)
    # A part's own cost is what the device does, whichever way the whole network will be trained.
    try:
        return Replayed(run, len(copies), device, (copies, shared)), host_s, ""
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as e:
        torch.cuda.synchronize(device)
        note = f"could not be captured, so it was issued: {str(e).splitlines()[0]}"
        return Issued(run, len(copies), device), host_s, note


def trainer_work(trainer: Trainer, device: torch.device, mode: str, phase: str) -> tuple[Repeated, float | None, str]:
    for _ in range(2):
        trainer.step()
    run = trainer.phase(phase)
    issued = Issued(run, 1, device, warm_up=1)
    if device.type != "cuda":
        return issued, None, "" if mode == "eager" else "a CPU has nothing to replay: measured eagerly"
    host_s = issued.issue_seconds()
    if mode == "eager":
        return issued, host_s, ""
    try:
        return Replayed(run, 1, device, trainer), host_s, ""
    except RuntimeError as e:
        torch.cuda.synchronize(device)
        return issued, host_s, f"could not be captured, so it was issued: {str(e).splitlines()[0]}"


def issuing(node: dict[str, Any], device: torch.device, meter: _core.Meter | None) -> dict[str, Any]:
    """Of a node that stands for the loop around the parts: nothing runs on the device."""
    counts = field(
        node,
        "host",
        [],
        lambda v: isinstance(v, list) and len(v) == 1 and is_int(v[0]) and v[0] >= 0,
        "a list of one count, of the modules that are called",
    )
    host_s, miss = loop_seconds(counts[0], device) if device.type == "cuda" else (None, 0.0)
    seen = Seen([LEAST_SECONDS], [LEAST_JOULES] if meter else [], 1, True)
    found = result(seen, meter, device.type == "cuda", "the training loop alone", host_s)
    found["time_error"] = miss
    return found


# The least that ampere takes for a measurement: next to nothing.
LEAST_SECONDS, LEAST_JOULES = 1e-9, 1e-9


def result(seen: Seen, meter: _core.Meter | None, replayed: bool, note: str, host_s: float | None) -> dict[str, Any]:
    state: dict[str, Any] = {"clock_mhz": None, "power_limit_w": None, "temperature_c": None, "throttle": []}
    return {
        "energy_j": statistics.median(seen.energies) if meter else None,
        "energy_error": (
            error_of_median(seen.energies) if meter and len(seen.energies) > 1 else seen.error if meter else 0
        ),
        "modelled": meter.modelled if meter else False,
        "meter": meter.name if meter else "",
        "time_s": statistics.median(seen.times),
        "time_error": error_of_median(seen.times) if len(seen.times) > 1 else 0,
        "host_s": host_s,
        "windows": max(len(seen.times), len(seen.energies)),
        "outliers": 0,
        "iterations": seen.iterations,
        "stable": seen.stable,
        "mode": "replay" if replayed else "eager",
        "note": note,
        "before": state,
        "after": state,
    }
