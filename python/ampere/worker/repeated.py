"""Work that is repeated while it is timed and metered: replayed by the device itself, or issued again and again."""

from __future__ import annotations

import time
from typing import Protocol

import torch

from .part import Part

# A replay that is shorter than this is mostly the cost of launching it.
LEAST_GRAPH_S = 0.002
MAX_ROUNDS = 64


class Repeated(Protocol):
    replayed: bool

    def seconds(self, least_s: float) -> float:
        """Time of one iteration, from as many as take `least_s`."""
        ...

    def keep_busy(self, seconds: float) -> None:
        """Issues that much work; on an accelerator it need not be done when this returns."""
        ...

    def wait(self) -> None: ...


class ReplayedPart:
    """Captured once with all copies, then replayed back to back; the device never waits for the host."""

    replayed = True

    def __init__(self, part: Part, cache_bytes: int):
        device = part.device
        free, _ = torch.cuda.mem_get_info(device)
        shared: dict[int, torch.Tensor] = {}
        copies = [part.make(shared) for _ in range(part.copies(cache_bytes, free))]
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(2):
                part.run(copies)
            side.synchronize()
            start = time.perf_counter()
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            part.run(copies)
            events[1].record()
            side.synchronize()
            round_s = max(1e-6, events[0].elapsed_time(events[1]) / 1e3)
            del start
        self.graph = torch.cuda.CUDAGraph()
        rounds = int(max(1, min(MAX_ROUNDS, LEAST_GRAPH_S / round_s)))
        with torch.no_grad(), torch.cuda.graph(self.graph, stream=side):
            for _ in range(rounds):
                part.run(copies)
        self.copies, self.shared = copies, shared
        self.iterations = rounds * len(copies)
        self.graph_s = self.time_graphs(2)

    def time_graphs(self, count: int) -> float:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        for _ in range(count):
            self.graph.replay()
        events[1].record()
        events[1].synchronize()
        return events[0].elapsed_time(events[1]) / 1e3 / count

    def seconds(self, least_s: float) -> float:
        count = max(2, round(least_s / self.graph_s))
        self.graph_s = self.time_graphs(count)
        return self.graph_s / self.iterations

    def keep_busy(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / self.graph_s))):
            self.graph.replay()

    def wait(self) -> None:
        torch.cuda.synchronize()


class IssuedPart:
    """Run call by call, as on a CPU, or where a part cannot be captured."""

    replayed = False

    def __init__(self, part: Part, cache_bytes: int, free_bytes: float):
        self.part = part
        shared: dict[int, torch.Tensor] = {}
        self.copies = [part.make(shared) for _ in range(part.copies(cache_bytes, free_bytes))]
        self.run(2)

    def run(self, count: int) -> None:
        with torch.no_grad():
            for _ in range(count):
                self.part.run(self.copies)
        self.wait()

    def seconds(self, least_s: float) -> float:
        count, start = 0, time.perf_counter()
        while count == 0 or time.perf_counter() - start < least_s:
            self.run(1)
            count += 1
        return (time.perf_counter() - start) / count / len(self.copies)

    def keep_busy(self, seconds: float) -> None:
        self.seconds(seconds)

    def wait(self) -> None:
        if self.part.device.type == "cuda":
            torch.cuda.synchronize(self.part.device)
