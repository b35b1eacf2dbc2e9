"""What it costs this host to issue a step, learned from small networks of many calls.

An accelerator that is quicker than the host waits for it. What a part's calls cost to issue is timed by issuing them
(`issue_seconds`). A training loop in Python pays more: it calls modules, autograd makes a node for every call and runs
it later, the optimizer looks at every tensor. How much more is learned once, from networks that the device finishes in
no time, so that what their steps take is the host's time.
"""

from __future__ import annotations

import json
import time
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from ..capture import Step, Training, capture
from ..capture.arguments import tensors_in
from ..capture.parts import HOST, VIEWS, network_of
from .part import RECURRENT, Part

SECONDS_EACH = 0.3

# What is weighed: calling modules; issuing the calls by themselves; calls in the forward pass and in the backward pass,
# for what autograd does besides; views; tensors that an optimizer goes through; a step by itself.
Features = list[float]
MODULES, ISSUED, FORWARD, BACKWARD, VIEW, UPDATED, STEP = range(7)


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
        Training(nn.Sequential(nn.Linear(16, 16)), rows, loss),
    ]


def seconds_of_step(training: Training, device: torch.device) -> float:
    """As a plain loop takes them, one after the other."""
    training.model.to(device)
    optimizer = training.make_optimizer()

    def there(value: Any) -> Any:
        return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to(device), value)

    training.args, training.kwargs = there(training.args), there(training.kwargs)
    keep = lambda value: value  # noqa: E731
    for _ in range(5):
        training.step(optimizer, None, device, keep)
    torch.cuda.synchronize(device)
    paces, end = [], time.perf_counter() + SECONDS_EACH
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(4):
            training.step(optimizer, None, device, keep)
        torch.cuda.synchronize(device)
        paces.append((time.perf_counter() - start) / 4)
    return sorted(paces)[len(paces) // 2]


def issue_seconds(part: Part, count: int = 7) -> float:
    """Time that the host takes for the part's calls alone, while the device has nothing else to do."""
    copy = part.make({})
    times = []
    for _ in range(count + 2):
        torch.cuda.synchronize(part.device)
        start = time.perf_counter()
        part.run([copy])
        times.append(time.perf_counter() - start)
    return sorted(times[2:])[count // 2]


def features_of_part(part: Part) -> Features:
    found = [0.0] * 7
    found[ISSUED] = issue_seconds(part)
    for calls, place in ((part.forward, FORWARD), (part.backward, BACKWARD)):
        for call in calls:
            found[VIEW if call["op"] in VIEWS else place] += 1
    found[UPDATED] = float(sum(len(tensors_in(call["args"])) for call in part.update))
    return found


def features_of_step(step: Step, device: torch.device) -> Features:
    found = [0.0] * 7
    known: dict[str, Features] = {}
    for node in network_of(step)["nodes"]:
        if node["op"] != "calls" or node["name"] == HOST:
            continue
        body = node["calls"]
        if body not in known:
            known[body] = features_of_part(Part(json.loads(body), device))
        found = [a + b for a, b in zip(found, known[body])]
    found[MODULES], found[STEP] = float(sum(call.modules for call in step.calls)), 1.0
    return found


@lru_cache(maxsize=1)
def weights(device: torch.device) -> tuple[tuple[float, ...], float]:
    """Of the features; and how far they miss what was measured, root mean square, relative."""
    rows, seconds = [], []
    for training in trainings():
        rows.append(features_of_step(capture(training, device), device))
        seconds.append(seconds_of_step(training, device))
    found = least_squares([[x / s for x in row] for row, s in zip(rows, seconds)], [1.0] * len(rows))
    told = [sum(w * x for w, x in zip(found, row)) for row in rows]
    misses = [t / s - 1 for t, s in zip(told, seconds)]
    return tuple(found), (sum(m * m for m in misses) / len(misses)) ** 0.5


def part_seconds(part: Part) -> float:
    """To issue a part within a training loop."""
    found, _ = weights(part.device)
    features = features_of_part(part)
    told = sum(w * x for w, x in zip(found, features))
    # One call of a recurrent layer launches a kernel for every step of the sequence, in PyTorch and here alike.
    recurrent = any(call["op"] in RECURRENT for call in part.forward)
    return max(told, features[ISSUED]) if recurrent else told


def loop_seconds(modules: int, device: torch.device) -> tuple[float, float]:
    """What a step takes besides its parts; and how far steps may be off, relative."""
    found, miss = weights(device)
    return found[MODULES] * modules + found[STEP], miss


def least_squares(rows: list[list[float]], values: list[float], rounds: int = 5000) -> list[float]:
    """With no weight below zero; one weight after the other is put where it fits best, until none moves."""
    width = len(rows[0])
    found = [0.0] * width
    squares = [max(sum(row[k] ** 2 for row in rows), 1e-30) for k in range(width)]
    left = list(values)
    for _ in range(rounds):
        moved = 0.0
        for k in range(width):
            better = max(0.0, found[k] + sum(row[k] * miss for row, miss in zip(rows, left)) / squares[k])
            change = better - found[k]
            if change:
                left = [miss - row[k] * change for row, miss in zip(rows, left)]
                moved = max(moved, abs(change) / (abs(better) + 1e-12))
            found[k] = better
        if moved < 1e-9:
            break
    return found
