"""What it costs this host to issue a step, learned from small networks of many calls.

An accelerator that is quicker than the host waits for it. How long a step takes to issue hardly depends on sizes, but on
how often the host is asked: so a few networks that the device finishes in no time are trained, and the counts that
capture.parts.host_work() gives are weighed so that they explain what these took.
"""

from __future__ import annotations

import time
from functools import lru_cache

import torch
from torch import nn

from ..capture import Training, capture
from ..capture.parts import host_work

SECONDS_EACH = 0.25


class Convolutions(nn.Sequential):
    def __init__(self, depth: int):
        super().__init__(*(layer for _ in range(depth) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())))


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


def trainings() -> list[Training]:
    image, rows, sequence = torch.zeros(2, 8, 8, 8), torch.zeros(4, 16), torch.zeros(2, 8, 16)
    linear = nn.Sequential(*(nn.Linear(16, 16) for _ in range(30)))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 4, enable_nested_tensor=False)
    loss = lambda y: y.square().mean()  # noqa: E731
    return [
        Training(Convolutions(20), image, loss), Training(Convolutions(8), image, loss, "adamw"),
        Training(linear, rows, loss), Training(linear, rows, loss, "adamw"), Training(encoder, sequence, loss),
        Training(Pointwise(60), rows, loss), Training(Views(60), rows, loss),
        Training(nn.Sequential(*(Nested(8, nn.Linear(16, 16)) for _ in range(8))), rows, loss),
        Training(Convolutions(20), image, loss, precision="bf16"), Training(encoder, sequence, loss, precision="bf16"),
        Training(nn.Sequential(nn.Linear(16, 16)), rows, loss),
    ]


def seconds_of_step(training: Training, device: torch.device) -> float:
    """As a plain loop takes them, one after the other."""
    training.model.to(device)
    optimizer = training.make_optimizer()
    move = lambda value: torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to(device), value)  # noqa: E731
    training.args, training.kwargs = move(training.args), move(training.kwargs)
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


@lru_cache(maxsize=1)
def weights(device: torch.device) -> tuple[tuple[float, ...], float]:
    """Seconds for each count, and for a step by itself; how far they miss what was measured, root mean square."""
    rows, seconds = [], []
    for training in trainings():
        rows.append([*host_work(capture(training, device)), 1])
        seconds.append(seconds_of_step(training, device))
    found = least_squares([[count / s for count in row] for row, s in zip(rows, seconds)], [1.0] * len(rows))
    told = [sum(w * count for w, count in zip(found, row)) for row in rows]
    misses = [t / s - 1 for t, s in zip(told, seconds)]
    return tuple(found), (sum(m * m for m in misses) / len(misses)) ** 0.5


def host_seconds(counts: list[int], device: torch.device) -> tuple[float, float]:
    """To issue a step of these counts; and how far that may be off, relative."""
    found, miss = weights(device)
    return sum(w * count for w, count in zip(found, [*counts, 1])), miss


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
