"""What a device is measured by when nobody said for which network: the calls of a population of networks.

Networks are made of calls, and calls that are alike cost alike. So single calls are measured, as they run in networks of
many sorts and sizes, those first that make sums over such networks sure soonest. What is not in the population is told
by its neighbours, with an interval that says how far they are.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import _core
from .capture import Step, Training, capture
from .capture.parts import VIEWS, Part, body_of, footprint_of, last_phases, writers_of
from .population import networks
from .profiled import Profile
from .recipes import threads_of

# Calls in one go: what is chosen next hangs on what was measured, but not on the last few.
AT_ONCE = 12
CAPTURING = 0.15  # of the time: networks are drawn until it is over
MOST_REFUSED = 50
MOST_CANDIDATES = 2500
MOST_OF_AN_OP = 200  # without foreach an optimizer makes a handful of calls for every tensor
# Larger tensors than this take long to make, and tell little more.
MOST_BYTES = {"cuda": 4 << 30, "cpu": 256 << 20}
GRADIENTS_WITH = ("aten::scaled_dot_product_attention", "aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu")


class Candidates:
    """Calls of networks, each once, and which network has which how often."""

    def __init__(self, where: str):
        self.where = where
        self.numbers: dict[str, int] = {}
        self.nodes: list[dict[str, Any]] = []
        self.of_ops: Counter[str] = Counter()
        self.population: list[list[tuple[int, float]]] = []

    def add(self, step: Step) -> None:
        footprint, phases, writers = footprint_of(step), last_phases(step), writers_of(step)
        counts: dict[int, float] = {}
        for part in single_calls(step):
            body, _ = body_of(step, part, footprint, phases, writers)
            if not runs_alone(body, MOST_BYTES[self.where]):
                continue
            text = json.dumps(body, separators=(",", ":"), sort_keys=True)
            if text not in self.numbers:
                calls = [step.calls[i] for i in part.calls]
                if len(self.nodes) >= MOST_CANDIDATES or self.of_ops[calls[0].op] >= MOST_OF_AN_OP:
                    continue
                self.of_ops[calls[0].op] += 1
                self.numbers[text] = len(self.nodes)
                self.nodes.append(
                    {
                        "op": "calls",
                        "name": f"{calls[0].op.removeprefix('aten::')} {len(self.nodes)}",
                        "label": calls[0].op.removeprefix("aten::"),
                        "flops": sum(c.flops for c in calls),
                        "bytes": max(1, sum(t_bytes(t) for t in body["tensors"])),
                        "calls": text,
                    }
                )
            number = self.numbers[text]
            counts[number] = counts.get(number, 0.0) + 1
        if counts:
            self.population.append(list(counts.items()))

    def network(self, places: list[int]) -> _core.Model:
        nodes: list[dict[str, Any]] = [{"op": "input", "name": "(input)", "shape": [1]}]
        for place in places:
            nodes.append({**self.nodes[place], "batch": 1, "inputs": [nodes[-1]["name"]]})
        return _core.Model.from_json(json.dumps({"schema_version": 1, "name": "calls", "nodes": nodes}))


def single_calls(step: Step) -> Iterator[Part]:
    """Attention and recurrent layers come with their gradients, which no call can compute without them."""
    gradients = {call.backward_of: index for index, call in enumerate(step.calls) if call.backward_of is not None}
    for index, call in enumerate(step.calls):
        if call.op in VIEWS or call.backward_of is not None or call.compiled:
            continue
        if call.op in GRADIENTS_WITH and index not in gradients:
            continue
        yield Part("", "", [index, gradients[index]] if index in gradients else [index])


def t_bytes(tensor: dict[str, Any]) -> int:
    size = int(getattr(torch, tensor["dtype"]).itemsize)
    for one in tensor["sizes"]:
        size *= one
    return size


def runs_alone(body: dict[str, Any], most_bytes: int) -> bool:
    """What reads or makes nothing large enough to be worth a kernel is left to its neighbours."""
    made = {n for phase in ("forward", "backward", "update") for c in body.get(phase, []) for n in c["out"]}
    if not any(number is not None and t_bytes(body["tensors"][number]) > 0 for number in made):
        return False
    if any(tensor.get("from") == "host" for tensor in body["tensors"]):
        return False
    return sum(t_bytes(tensor) for tensor in body["tensors"]) <= most_bytes


def measure_calls(
    there: _core.Device,
    where: str,
    precision: str,
    minutes: float,
    done: Profile,
    on_step: Callable[[_core.Step], object] | None = None,
    seed: int = 0,
) -> None:
    """Until the minutes are over; what is measured is kept at once, and known the next time."""
    start = time.monotonic()
    end = start + 60 * minutes
    candidates, rng = Candidates(where), random.Random(seed)
    for model, inputs, loss, optimizer in networks(rng, where):
        candidates.add(capture(Training(model, inputs, loss, optimizer, precision), torch.device(where)))
        if time.monotonic() > start + CAPTURING * 60 * minutes or len(candidates.nodes) >= MOST_CANDIDATES:
            break
    strict = precision if precision in ("fp32", "tf32") and where != "cpu" else "default"
    recipe = _core.Recipe(optimizer="captured", precision=strict, threads=threads_of(where))
    everything = candidates.network(list(range(len(candidates.nodes))))
    order = _core.parts_to_measure(there, everything, 1, recipe, candidates.population, len(candidates.nodes))
    refused = 0

    def measure(places: list[int]) -> None:
        """A call that the device refuses is left out, and the others are measured."""
        nonlocal refused
        try:
            done.took_kinds(_core.profile(there, candidates.network(places), 1, recipe, exact=True, on_step=on_step))
        except _core.NoMeterError:
            raise
        except _core.Error:
            if len(places) == 1:
                refused += 1
                if refused > MOST_REFUSED:
                    raise
                return
            for half in (places[: len(places) // 2], places[len(places) // 2 :]):
                measure(half)

    for first in range(0, len(order), AT_ONCE):
        if time.monotonic() > end:
            break
        measure(order[first : first + AT_ONCE])
    done.notes.append(
        f"chosen among {len(candidates.nodes)} calls of {len(candidates.population)} networks"
        + (f"; {refused} could not be measured" if refused else "")
    )
