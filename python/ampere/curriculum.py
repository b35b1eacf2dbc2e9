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
from .capture.parts import HOST, VIEWS, Part, body_of, footprint_of, last_phases, writers_of
from .population import networks
from .profiled import Profile
from .recipes import threads_of

AT_ONCE = 12  # calls, between two looks at the clock
SECONDS_EACH = 0.4  # of measuring, about
CAPTURING = 0.15  # of the time: networks are drawn until it is over
MOST_ROUNDS = 6  # of drawing, until there is enough that is not known yet
MOST_REFUSED_IN_A_ROW = 8
LOOPS = (0, 200)  # modules of training loops whose issuing is timed, where a host issues work
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
        return network_of([self.nodes[place] for place in places])


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
    calls = [call for phase in ("forward", "backward", "update") for call in body.get(phase, [])]
    made = {n for call in calls for n in call["out"] if n is not None}
    in_place = any(call["op"].endswith("_") for call in calls)  # as optimizers change many tensors at once
    if not in_place and not any(t_bytes(body["tensors"][number]) > 0 for number in made):
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
    strict = precision if precision in ("fp32", "tf32") and where != "cpu" else "default"
    recipe = _core.Recipe(optimizer="captured", precision=strict, threads=threads_of(where))
    candidates, drawn = Candidates(where), networks(random.Random(seed), where)
    order: list[int] = []
    for _ in range(MOST_ROUNDS):
        until = time.monotonic() + CAPTURING * 60 * minutes
        while time.monotonic() < until and len(candidates.nodes) < MOST_CANDIDATES:
            model, inputs, loss, optimizer = next(drawn)
            candidates.add(capture(Training(model, inputs, loss, optimizer, precision), torch.device(where)))
        everything = candidates.network(list(range(len(candidates.nodes))))
        order = _core.parts_to_measure(there, everything, 1, recipe, candidates.population, len(candidates.nodes))
        if len(order) * SECONDS_EACH > end - time.monotonic() or len(candidates.nodes) >= MOST_CANDIDATES:
            break
    refusals: list[str] = []
    in_a_row = 0

    def measure(nodes: list[dict[str, Any]]) -> None:
        """A call that the device refuses is left out, and the others are measured."""
        nonlocal in_a_row
        if time.monotonic() > end:
            return
        try:
            done.took_kinds(_core.profile(there, network_of(nodes), 1, recipe, exact=True, on_step=on_step))
            in_a_row = 0
        except _core.NoMeterError:
            raise
        except _core.Error as e:
            if len(nodes) > 1:
                for half in (nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]):
                    measure(half)
                return
            refusals.append(f"{nodes[0]['label']}: {e}")
            in_a_row += 1
            if in_a_row >= MOST_REFUSED_IN_A_ROW or not done.parts and len(refusals) >= 3:
                raise  # it is not the calls

    if where != "cpu":
        measure([loop_node(modules) for modules in LOOPS])
    place = 0
    while place < len(order) and time.monotonic() < end:
        some = max(1, min(AT_ONCE, int((end - time.monotonic()) / SECONDS_EACH)))
        measure([candidates.nodes[i] for i in order[place : place + some]])
        place += some
    done.notes.append(
        f"chosen among {len(candidates.nodes)} calls of {len(candidates.population)} networks"
        + ("; all of them are known now" if place >= len(order) else "")
        + (f"; {len(refusals)} could not be measured, first {refusals[0]}" if refusals else "")
    )


def loop_node(modules: int) -> dict[str, Any]:
    """What stands for a training loop in a network: nothing runs on the device."""
    name = f"{HOST} {modules}"
    return {"op": "calls", "name": name, "label": "host", "bytes": 1, "calls": "{}", "host": [modules]}


def network_of(nodes: list[dict[str, Any]]) -> _core.Model:
    chain: list[dict[str, Any]] = [{"op": "input", "name": "(input)", "shape": [1]}]
    for node in nodes:
        chain.append({**node, "batch": 1, "inputs": [chain[-1]["name"]]})
    return _core.Model.from_json(json.dumps({"schema_version": 1, "name": "calls", "nodes": chain}))
