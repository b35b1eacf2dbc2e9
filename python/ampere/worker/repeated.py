"""Work that is repeated while it is timed and metered: replayed by the device itself, or issued again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import torch

# A replay that is shorter than this is mostly the cost of launching it.
LEAST_GRAPH_S = 0.002
MAX_ROUNDS = 64


class Repeated(Protocol):
    replayed: bool

    def seconds(self, least_s: float) -> tuple[float, int]:
        """Time of one iteration, from as many as take about `least_s`, and how many these were."""
        ...

    def keep_busy(self, seconds: float) -> None:
        """Issues that much work; on an accelerator it need not be done when this returns."""
        ...

    def wait(self) -> None: ...


class Replayed:
    """Captured once, several rounds together, then replayed back to back: the device never waits for the host.

    `run` makes `iterations` iterations. `holds` is kept alive as long as the graph is.
    """

    replayed = True

    def __init__(self, run: Callable[[], Any], iterations: int, device: torch.device, holds: Any = None):
        self.device, self.holds = device, holds
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            for _ in range(2):
                run()
            events = timed(run)
            side.synchronize()
        round_s = max(1e-6, events[0].elapsed_time(events[1]) / 1e3)
        rounds = int(max(1, min(MAX_ROUNDS, LEAST_GRAPH_S / round_s)))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=side):
            for _ in range(rounds):
                run()
        self.iterations = rounds * iterations
        self.graph_s = self.time_graphs(2)

    def time_graphs(self, count: int) -> float:
        def replay() -> None:
            for _ in range(count):
                self.graph.replay()

        events = timed(replay)
        events[1].synchronize()
        return max(1e-9, events[0].elapsed_time(events[1]) / 1e3 / count)

    def seconds(self, least_s: float) -> tuple[float, int]:
        count = max(2, round(least_s / self.graph_s))
        self.graph_s = self.time_graphs(count)
        return self.graph_s / self.iterations, count * self.iterations

    def keep_busy(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / self.graph_s))):
            self.graph.replay()

    def wait(self) -> None:
        torch.cuda.synchronize(self.device)


class Issued:
    """Issued call by call, as plain training is."""

    replayed = False

    def __init__(self, run: Callable[[], Any], iterations: int, device: torch.device, warm_up: int = 2):
        self.run, self.iterations, self.device = run, iterations, device
        for _ in range(warm_up):
            run()
        self.wait()
        self.pace = 0.0

    def seconds(self, least_s: float) -> tuple[float, int]:
        rounds, start = 0, time.perf_counter()
        while True:
            # An accelerator is asked to finish only now and then, as plain training does not wait either.
            batch = max(1, min(1000, int(least_s / self.pace / 4))) if self.pace else 1
            for _ in range(batch):
                self.run()
            self.wait()
            rounds += batch
            taken = time.perf_counter() - start
            self.pace = taken / rounds
            if taken >= least_s:
                return taken / rounds / self.iterations, rounds * self.iterations

    def keep_busy(self, seconds: float) -> None:
        self.seconds(seconds)

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def issue_seconds(self, count: int = 8) -> float:
        """Time that the host takes for one iteration while the device has nothing else to do."""
        times = []
        for _ in range(count):
            self.wait()
            start = time.perf_counter()
            self.run()
            times.append((time.perf_counter() - start) / self.iterations)
        return sorted(times)[len(times) // 2]


def timed(work: Callable[[], Any]) -> list[torch.cuda.Event]:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    events[0].record()
    work()
    events[1].record()
    return events
