"""What a device is measured by when nobody said for which network: training steps of a population of networks.

Networks are made of calls, and calls that are alike cost alike. So whole steps of networks of many sorts and sizes are
run, and each of their calls is timed within them; and some of their parts are measured by themselves with their energy,
those first that make sums over such networks sure soonest. What is not in the population is told by its neighbours,
with an interval that says how far they are.
"""

from __future__ import annotations

import json
import queue
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import _core
from .capture import Step, Training, capture
from .capture.parts import HOST, VIEWS, Part, Surroundings, body_of, network_of
from .population import networks
from .profiled import Profile, known_of
from .recipes import threads_of

AT_ONCE = 12  # parts, between two looks at the clock
SECONDS_EACH = 0.4  # of measuring a part, about
ROUNDS = (0.15, 0.45, 1.0)  # of the time, each with more networks: whenever it is stopped, it was worth it
TIMING = 0.5  # of each round
ALWAYS = 1e9  # times the time there is
MOST_REFUSED_IN_A_ROW = 8
OF_A_RELATIVE = 0.7  # of the time, at most so many seconds, for what a relative has measured, too
MOST_SECONDS_OF_A_RELATIVE = 20.0
LOOPS = (0, 200)  # modules of training loops whose issuing is timed, where a host issues work
MOST_CANDIDATES = 500  # parts of the population that are weighed against each other
MOST_OF_A_NETWORK = 14
CHOOSING_S = 10.0  # of finding out which parts tell the most; where less is left, they are taken as they come
# A larger step than this takes long to run, and tells little more.
MOST_FLOPS = {"cuda": 2e13, "cpu": 4e10}
GRADIENTS_WITH = ("aten::scaled_dot_product_attention", "aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu")


@dataclass
class Drawn:
    """A network of the population, as the device is asked about it."""

    step: str  # the calls of the whole step
    kinds: list[dict[str, Any]] = field(default_factory=list)  # nodes of single calls
    calls: list[tuple[int, list[int]]] = field(default_factory=list)  # a kind, and numbers of the step's calls
    parts: list[tuple[dict[str, Any], float]] = field(default_factory=list)  # nodes, and how often it has them


def drawn_of(step: Step) -> Drawn:
    around = Surroundings(step)
    whole, _ = body_of(step, Part("", "", list(range(len(step.calls)))), around)
    drawn = Drawn(told(whole))
    by_phase = [i for phase in ("forward", "backward", "update") for i, c in enumerate(step.calls) if c.phase == phase]
    numbers = {index: number for number, index in enumerate(by_phase)}
    places: dict[str, int] = {}
    for part in single_calls(step):
        body, _ = body_of(step, part, around)
        if not tells_something(body):
            continue
        text = told(body)
        if text not in places:
            places[text] = len(drawn.kinds)
            calls = [step.calls[i] for i in part.calls]
            drawn.kinds.append(node_of(calls[0].op.removeprefix("aten::"), text, sum(c.flops for c in calls), body))
        drawn.calls.append((places[text], [numbers[i] for i in part.calls]))
    counts: dict[str, tuple[dict[str, Any], float]] = {}
    for node in network_of(step)["nodes"]:
        # A part of views alone costs nothing, and a network of nodes leaves it out.
        if node["op"] == "calls" and node["name"] != HOST and work_of(node) > 0:
            counts[node["calls"]] = node, counts.get(node["calls"], (node, 0.0))[1] + 1
    drawn.parts = sorted(counts.values(), key=lambda part: -work_of(part[0]))[:MOST_OF_A_NETWORK]
    return drawn


def told(body: dict[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def node_of(label: str, calls: str, flops: int, body: dict[str, Any]) -> dict[str, Any]:
    bytes_ = max(1, sum(t_bytes(t) for t in body["tensors"]))
    return {"op": "calls", "name": label, "label": label, "flops": flops, "bytes": bytes_, "calls": calls}


def work_of(node: dict[str, Any]) -> float:
    """Some hundred FLOPs take as long as moving a byte."""
    return float(node.get("bytes", 0)) + float(node.get("flops", 0)) / 100


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


def tells_something(body: dict[str, Any]) -> bool:
    """What reads or makes nothing large enough to be worth a kernel is left to its neighbours."""
    calls = [call for phase in ("forward", "backward", "update") for call in body.get(phase, [])]
    made = {n for call in calls for n in call["out"] if n is not None}
    in_place = any(call["op"].endswith("_") for call in calls)  # as optimizers change many tensors at once
    if not in_place and not any(t_bytes(body["tensors"][number]) > 0 for number in made):
        return False
    return not any(tensor.get("from") == "host" for tensor in body["tensors"])


def population(where: str, precision: str, seed: int) -> Iterator[Drawn]:
    for model, inputs, loss, optimizer in networks(random.Random(seed), where):
        step = capture(Training(model, inputs, loss, optimizer, precision), torch.device(where))
        if sum(call.flops for call in step.calls) <= MOST_FLOPS[where]:
            yield drawn_of(step)


class Ahead:
    """Draws the next networks while the device is busy with one; on a processor, only when one is asked for."""

    def __init__(self, drawn: Iterator[Drawn], where: str):
        self.drawn, self.made = drawn, queue.Queue[Any](maxsize=2)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.draw, daemon=True) if where != "cpu" else None
        if self.thread:
            self.thread.start()

    def draw(self) -> None:
        while not self.ended.is_set():
            try:
                one: Any = next(self.drawn)
            except Exception as e:  # told where it is asked for
                one = e
            while not self.ended.is_set():
                try:
                    self.made.put(one, timeout=0.2)
                    break
                except queue.Full:
                    continue
            if isinstance(one, Exception):
                return

    def next(self) -> Drawn:
        one = self.made.get() if self.thread else next(self.drawn)
        if isinstance(one, Exception):
            raise one
        return one

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        if self.thread:
            self.thread.join()


class Curriculum:
    """Of one device under one precision, until the minutes are over; what is measured is kept at once."""

    def __init__(self, there: _core.Device, where: str, precision: str, minutes: float, done: Profile, on_step: Any):
        self.there, self.where, self.done, self.on_step = there, where, done, on_step
        self.start = time.monotonic()
        self.seconds = 60 * minutes
        strict = precision if precision in ("fp32", "tf32") and where != "cpu" else "default"
        self.recipe = _core.Recipe(optimizer="captured", precision=strict, threads=threads_of(where))
        self.nodes: dict[str, dict[str, Any]] = {}  # parts of the population, by their calls
        self.networks: list[list[tuple[str, float]]] = []
        self.timed = 0  # kinds of calls
        self.refusals: list[str] = []
        self.in_a_row = 0

    def over(self, share: float = 1.0) -> bool:
        return self.left(share) < 0

    def left(self, share: float) -> float:
        return self.start + share * self.seconds - time.monotonic()

    def time_step(self, drawn: Drawn) -> None:
        step = network_of_nodes([{**node_of("step", drawn.step, 0, {"tensors": []}), "flops": 1}])
        try:
            self.timed += _core.time_calls(
                self.there, step, network_of_nodes(drawn.kinds), drawn.calls, 1, self.recipe
            )
        except _core.NoMeterError:
            raise
        except _core.Error as e:
            self.refused("a step", e, bool(self.timed))
            return
        self.in_a_row = 0
        for node, _ in drawn.parts:
            self.nodes.setdefault(node["calls"], node)
        self.networks.append([(node["calls"], count) for node, count in drawn.parts])

    def refused(self, what: str, e: Exception, worked_before: bool) -> None:
        self.refusals.append(f"{what}: {e}")
        self.in_a_row += 1
        if self.in_a_row >= MOST_REFUSED_IN_A_ROW or not worked_before and len(self.refusals) >= 3:
            raise e  # it is not the calls

    def parts(self, rng: random.Random, until: float) -> list[dict[str, Any]]:
        """Those that tell the most about all others first."""
        names = rng.sample(list(self.nodes), min(len(self.nodes), MOST_CANDIDATES))
        if self.left(until) < CHOOSING_S:
            return [self.nodes[name] for name in names]
        place = {name: i for i, name in enumerate(names)}
        sums = [[(place[name], n) for name, n in network if name in place] for network in self.networks]
        nodes = [self.nodes[name] for name in names]
        if not nodes:
            return []
        order = _core.parts_to_measure(
            self.there, network_of_nodes(nodes), 1, self.recipe, [s for s in sums if s], len(nodes)
        )
        return [nodes[i] for i in order]

    def measure(self, nodes: list[dict[str, Any]], until: float) -> None:
        """A part that the device refuses is left out, and the others are measured."""
        if self.over(until):
            return
        try:
            self.done.took_kinds(
                _core.profile(self.there, network_of_nodes(nodes), 1, self.recipe, exact=True, on_step=self.on_step)
            )
            self.in_a_row = 0
        except _core.NoMeterError:
            raise
        except _core.Error as e:
            if len(nodes) > 1:
                for half in (nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]):
                    self.measure(half, until)
                return
            self.refused(nodes[0]["label"], e, bool(self.done.parts))

    def run(self, drawn: Ahead, rng: random.Random, relative: list[dict[str, Any]]) -> None:
        if self.where != "cpu":
            self.measure([loop_node(modules) for modules in LOOPS], 1.0)
        if relative:  # starting a worker takes as long as the two are compared
            self.start = time.monotonic()
        rng.shuffle(relative)
        before = min(OF_A_RELATIVE, MOST_SECONDS_OF_A_RELATIVE / self.seconds) if relative else 0.0
        while relative and not self.over(before):
            self.measure(relative[:AT_ONCE], before)
            relative = relative[AT_ONCE:]
        while not self.networks:  # however little time there is, something is known after it
            self.time_step(drawn.next())
        for end in ROUNDS:
            if end <= before:
                continue
            timing_ends = before + TIMING * (end - before)
            while not self.over(timing_ends):
                self.time_step(drawn.next())
            order = self.parts(rng, end)
            while order and not self.over(end):
                some = max(1, min(AT_ONCE, int(self.left(end) / SECONDS_EACH)))
                self.measure(order[:some], end)
                order = order[some:]
            before = end
        if not self.done.parts:
            self.measure(self.parts(rng, 0.0)[:1], ALWAYS)


def measure_device(
    there: _core.Device,
    where: str,
    precision: str,
    minutes: float,
    done: Profile,
    on_step: Callable[[_core.Step], object] | None = None,
    relative: str = "",
) -> None:
    """Until the minutes are over. Another run goes on with other networks. Of a relative, by its id in the store, parts
    are measured again first: nothing else tells as directly how the two differ."""
    seed = sum(known.points for known in known_of(done, there).known)
    run = Curriculum(there, where, precision, minutes, done, on_step)
    again = parts_measured_on(relative, done.store, run.recipe, precision in ("bf16", "fp16")) if relative else []
    with Ahead(population(where, precision, seed), where) as drawn:
        run.run(drawn, random.Random(seed), again)
    done.notes.append(
        f"{run.timed} calls were timed within the steps of {len(run.networks)} networks"
        + (f"; {len(run.refusals)} could not be measured, first {run.refusals[0]}" if run.refusals else "")
    )


PARTS_OF = """
SELECT DISTINCT surface.name, surface.details FROM point JOIN surface ON surface.name = point.surface
WHERE point.device = ? AND point.recipe = ? AND surface.purpose = 'probe-energies' ORDER BY surface.name
"""
HALF = ('"dtype":"bfloat16"', '"dtype":"float16"')


def parts_measured_on(device: str, store: str, recipe: _core.Recipe, half: bool) -> list[dict[str, Any]]:
    """Of captured steps in half precision, or of the others; from a store that is a file."""
    nodes: list[dict[str, Any]] = []
    if not Path(store).is_file():
        return nodes
    name = f"{recipe.optimizer}-{recipe.precision}-t{recipe.threads}"
    with closing(sqlite3.connect(f"{Path(store).resolve().as_uri()}?mode=ro", uri=True)) as opened:
        for _, details in opened.execute(PARTS_OF, [device, name]):
            op = (json.loads(details).get("kind") or {"ops": [{}]})["ops"][0]
            if op.get("op") == "calls" and not op.get("host") and half == any(h in op["calls"] for h in HALF):
                nodes.append({key: op[key] for key in ("op", "label", "flops", "bytes", "calls")})
    return nodes


def loop_node(modules: int) -> dict[str, Any]:
    """What stands for a training loop in a network: nothing runs on the device."""
    name = f"{HOST} {modules}"
    return {"op": "calls", "name": name, "label": "host", "bytes": 1, "calls": "{}", "host": [modules]}


def network_of_nodes(nodes: list[dict[str, Any]]) -> _core.Model:
    chain: list[dict[str, Any]] = [{"op": "input", "name": "(input)", "shape": [1]}]
    for number, node in enumerate(nodes):
        chain.append({**node, "name": f"{node['label']} {number}", "batch": 1, "inputs": [chain[-1]["name"]]})
    return _core.Model.from_json(json.dumps({"schema_version": 1, "name": "calls", "nodes": chain}))
