"""What it costs this host to issue a step, learned from small networks of many calls.

An accelerator that is quicker than the host waits for it. What a part's calls cost to issue is timed by issuing them. A
training loop in Python pays more: it calls modules, autograd makes a node for every call and runs it in a thread of its
own, the optimizer looks at every tensor. How much more is learned once, from networks that the device finishes in no
time, so that what their steps take is the host's time.

Hosts are seldom steady, least of all those that are shared. So every time is
taken together with the pace of that moment, a step of one small network, and what is learned is in paces. What a step
will take follows from the pace that was usual while things were measured.
"""

from __future__ import annotations

import json
import statistics
import time
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from ..capture import Step, Training, capture
from ..capture.parts import HOST, VIEWS, network_of
from .part import Part

SECONDS_EACH = 0.2
REPEATS = 5
WARM_UP_STEPS = 10

# What is weighed, besides the time of issuing the calls themselves, which counts in full: calling modules; what autograd
# and the interpreter do for every call that is no view; tensors that an optimizer goes through; a step by itself.
Counts = list[float]
MODULES, CALLS, UPDATED, STEP = range(4)
# What they were seen to be on a host of an NVIDIA H200, in paces, of which one was about a millisecond there. What is
# learned on a host begins here, since a dozen unsteady networks tell a few weights only roughly.
BELIEVED = (3e-3, 3e-3, 4e-3, 0.4)
BELIEF = 0.5  # relative deviation


class Pace:
    """How quick the host is at this moment: seconds of one step of a small network, always the same."""

    def __init__(self, device: torch.device):
        self.device = device
        self.model = nn.Sequential(*(nn.Linear(16, 16, device=device) for _ in range(8)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.rows = torch.zeros(4, 16, device=device)
        self.seen: list[float] = []
        for _ in range(20):
            self.step()

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.model(self.rows).sum().backward()
        self.optimizer.step()

    def now(self, steps: int = 9) -> float:
        """After some steps that are not counted: a training loop finds the processor awake and its caches warm."""
        times = []
        with torch.enable_grad():
            torch.cuda.synchronize(self.device)
            for _ in range(WARM_UP_STEPS):
                self.step()
            for _ in range(steps):
                start = time.perf_counter()
                self.step()
                times.append(time.perf_counter() - start)
            torch.cuda.synchronize(self.device)
        self.seen.append(statistics.median(times))
        return self.seen[-1]

    def usual(self) -> float:
        return statistics.median(self.seen)


@lru_cache(maxsize=1)
def pace_of(device: torch.device) -> Pace:
    with torch.enable_grad():
        return Pace(device)


class Convolutions(nn.Sequential):
    def __init__(self, depth: int):
        super().__init__()
        for index in range(depth):
            self.add_module(
                str(index), nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
            )


class Nested(nn.Module):
    """Modules that do nothing but call others."""

    def __init__(self, depth: int, inner: nn.Module):
        super().__init__()
        self.inner = Nested(depth - 1, inner) if depth else inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class Pointwise(nn.Module):
    def __init__(self, count: int):
        super().__init__()
        self.count = count
        self.first = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for _ in range(self.count):
            x = torch.tanh(x * 0.5 + 1)
        return x


class Views(nn.Module):
    def __init__(self, count: int):
        super().__init__()
        self.count = count
        self.first = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for _ in range(self.count):
            x = x.transpose(0, 1).unsqueeze(0).transpose(1, 2)[0]
        return x


def encoder(layers: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def small() -> nn.Module:
    """Of few calls: most of its step is what every step takes."""
    convolutions = [nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(
        *convolutions, nn.Dropout(0.25), nn.Flatten(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10)
    )


def trainings() -> list[Training]:
    """As large as real networks are: what fits the processor's caches is issued quicker."""
    image, rows, sequence = torch.zeros(2, 8, 8, 8), torch.zeros(4, 16), torch.zeros(2, 8, 16)
    loss = lambda y: y.square().mean()  # noqa: E731
    linear = lambda: nn.Sequential(*(nn.Linear(16, 16) for _ in range(80)))  # noqa: E731
    return [
        Training(Convolutions(60), image, loss),
        Training(Convolutions(6), image, loss),
        Training(Convolutions(40), image, loss, "adamw"),
        Training(linear(), rows, loss),
        Training(linear(), rows, loss, "adamw"),
        Training(encoder(10), sequence, loss),
        Training(Pointwise(150), rows, loss),
        Training(Views(150), rows, loss),
        Training(nn.Sequential(*(Nested(12, nn.Linear(16, 16)) for _ in range(20))), rows, loss),
        Training(Convolutions(40), image, loss, precision="bf16"),
        Training(encoder(8), sequence, loss, precision="bf16"),
        Training(small(), image, loss),
    ]


def paces_of_step(training: Training, device: torch.device) -> float:
    """What a plain loop takes for a step, in paces."""
    training.model.to(device)
    optimizer = training.make_optimizer()

    def there(value: Any) -> Any:
        return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to(device), value)

    training.args, training.kwargs = there(training.args), there(training.kwargs)
    keep = lambda value: value  # noqa: E731
    for _ in range(5):
        training.step(optimizer, None, device, keep)
    pace, found = pace_of(device), []
    before, end = pace.now(), time.perf_counter() + SECONDS_EACH
    while time.perf_counter() < end:
        torch.cuda.synchronize(device)
        start = time.perf_counter()
        for _ in range(4):
            training.step(optimizer, None, device, keep)
        torch.cuda.synchronize(device)
        seconds = (time.perf_counter() - start) / 4
        after = pace.now()
        found.append(seconds / (0.5 * (before + after)))
        before = after
    return statistics.median(found)


class Issue:
    """What a part costs to issue: its calls, in paces; and what is counted besides."""

    def __init__(self, part: Part):
        self.calls = issue_paces(part)
        self.counts: Counts = [0.0] * 4
        self.counts[CALLS] = float(sum(c["op"] not in VIEWS for c in [*part.forward, *part.backward]))
        if part.update:
            self.counts[UPDATED] = float(sum(t.get("from") == "gradient" for t in part.tensors))


def issue_paces(part: Part) -> float:
    """Time that the host takes for the part's calls alone, while the device has nothing else to do.

    The quickest of a few in a row: calls in a network are much alike, and find the processor's caches warm.
    """
    copy, pace, found = part.make({}), pace_of(part.device), []
    before = pace.now()
    for _ in range(2 + REPEATS):
        torch.cuda.synchronize(part.device)
        found.append(sum(part.call_seconds(copy)))
    return min(found[2:]) / (0.5 * (before + pace.now()))


def issue_of_step(step: Step, device: torch.device) -> tuple[float, Counts]:
    calls, counts = 0.0, [0.0] * 4
    known: dict[str, Issue] = {}
    for node in network_of(step)["nodes"]:
        if node["op"] != "calls" or node["name"] == HOST:
            continue
        body = node["calls"]
        if body not in known:
            known[body] = Issue(Part(json.loads(body), device))
        calls += known[body].calls
        counts = [a + b for a, b in zip(counts, known[body].counts)]
    counts[MODULES], counts[STEP] = float(sum(call.modules for call in step.calls)), 1.0
    return calls, counts


@lru_cache(maxsize=1)
def weights(device: torch.device) -> tuple[tuple[float, ...], float]:
    """Paces for each of what is counted; and how far they miss what was measured, root mean square, relative."""
    rows, rest, took = [], [], []
    for training in trainings():
        calls, counts = issue_of_step(capture(training, device), device)
        took.append(paces_of_step(training, device))
        rows.append([c / took[-1] for c in counts])
        rest.append(1 - calls / took[-1])
    found = fitted(rows, rest)
    misses = [sum(w * x for w, x in zip(found, row)) - r for row, r in zip(rows, rest)]
    return tuple(found), (sum(m * m for m in misses) / len(misses)) ** 0.5


def part_seconds(part: Part) -> float:
    """To issue a part within a training loop."""
    found, _ = weights(part.device)
    issue = Issue(part)
    return (issue.calls + sum(w * x for w, x in zip(found, issue.counts))) * pace_of(part.device).usual()


def loop_seconds(modules: int, device: torch.device) -> tuple[float, float]:
    """What a step takes besides its parts; and how far steps may be off, relative."""
    found, miss = weights(device)
    return (found[MODULES] * modules + found[STEP]) * pace_of(device).usual(), miss


def fitted(rows: list[list[float]], values: list[float], rounds: int = 2000) -> list[float]:
    """Weights that are not below zero, near what is believed; one after the other is put where it fits best."""
    noise = 0.15  # of one network's step, relative
    found = list(BELIEVED)
    for _ in range(rounds):
        moved = 0.0
        for k, believed in enumerate(BELIEVED):
            others = [
                v - sum(w * x for j, (w, x) in enumerate(zip(found, row)) if j != k) for row, v in zip(rows, values)
            ]
            belief = 1 / (BELIEF * believed) ** 2
            above = sum(row[k] * o for row, o in zip(rows, others)) / noise**2 + belief * believed
            below = sum(row[k] ** 2 for row in rows) / noise**2 + belief
            better = max(0.0, above / below)
            moved = max(moved, abs(better - found[k]) / believed)
            found[k] = better
        if moved < 1e-9:
            break
    return found
