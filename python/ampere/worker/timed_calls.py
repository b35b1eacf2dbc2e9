"""The verb `time_calls`: what each call of a whole training step takes on the device, within that step.

A call that is repeated by itself finds its inputs in the cache and has the memory to itself, which a call in training
has not. So a whole step is run, call by call, with a mark of the device's own clock between any two. The device is kept
waiting until a stretch of calls is queued, so that it never waits for the host in between. What the marks themselves
cost, and what the clocks do under the step's own load, is told by the whole step replayed without marks.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from .fields import RequestError, bad_input, known_fields
from .measure import calls_of, part_of
from .part import RECURRENT, BadPart, Copy, Part
from .recipe import read_recipe
from .repeated import Replayed

ROUNDS = 3
STRETCH = 120  # calls that are queued while the device waits
LONGER = 1.6  # it waits so much longer than queueing took the last time
LONGEST = 8.0  # times
LONGEST_S = 0.05  # a call that waits for the device itself would make it longer and longer
LEAST_OF_A_CALL = 0.3e-6
CYCLES_PER_S = 1.98e9  # of waiting: no device is much quicker, and a slower one waits longer
REPLAYED_S = 0.05
MOST_LONGER = 1.3  # replayed over marked: under its own load a step's clocks may be lower
LEAST_LEFT = 0.5  # of a call's time, when what marks cost it is taken off


def time_calls(params: dict[str, Any], device: torch.device) -> dict[str, Any]:
    known_fields(params, "time_calls", ["network", "recipe"])
    recipe = read_recipe(params)
    recipe.apply(device)
    node = calls_of(params)
    if node is None:
        raise bad_input("time_calls: the network is no captured step; it needs one node of captured calls")
    part = part_of(node, device)
    if not isinstance(part, Part):
        raise bad_input("time_calls: compiled calls are one to a device; time the eager step")
    try:
        copy = part.make({})
        if device.type == "cuda":
            return on_accelerator(part, copy, device)
        return {"times_s": rounds_of(lambda: part.call_seconds(copy)), "iteration_s": None}
    except (BadPart, ValueError) as e:
        raise bad_input(f"calls: {e}") from e
    except torch.OutOfMemoryError as e:
        raise RequestError("out_of_memory", str(e)) from e
    finally:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()


def rounds_of(once: Callable[[], list[float]]) -> list[float]:
    """The middle of each call's times; the first round is not counted."""
    once()
    return [statistics.median(times) for times in zip(*(once() for _ in range(ROUNDS)))]


def on_accelerator(part: Part, copy: Copy, device: torch.device) -> dict[str, Any]:
    marks = Marks(device)
    times = [max(LEAST_OF_A_CALL, t - marks.cost_s) for t in rounds_of(lambda: marks.seconds(part, copy))]
    try:
        replayed = Replayed(lambda: part.run([copy]), 1, device, copy).seconds(REPLAYED_S)[0]
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:  # it cannot be captured
        torch.cuda.synchronize(device)
        return {"times_s": times, "iteration_s": None}
    return {"times_s": as_replayed(times, replayed, recurrent_calls(part)), "iteration_s": replayed}


def recurrent_calls(part: Part) -> list[bool]:
    """Recurrent layers issue more than can be queued, so the device waits for the host within them."""
    flags = []
    for calls in (part.forward, part.backward, part.update):
        for call in calls:
            op = part.forward[call["of"]]["op"] if "of" in call else call["op"]
            flags.append(op in RECURRENT)
    return flags


def as_replayed(times: list[float], replayed: float, recurrent: list[bool]) -> list[float]:
    """So that they add up to the whole step; in a step with recurrent layers, these are what is left."""
    of_recurrent = sum(t for t, flag in zip(times, recurrent) if flag)
    if of_recurrent > 0:
        left = max(replayed - (sum(times) - of_recurrent), 0.05 * replayed)
        return [t * left / of_recurrent if flag else t for t, flag in zip(times, recurrent)]
    total = sum(times)
    if total > replayed:
        times = less_each(times, replayed)
        return [t * min(1.0, replayed / sum(times)) for t in times]
    factor = min(replayed / total, MOST_LONGER) if total > 0 else 1.0
    return [t * factor for t in times]


def less_each(times: list[float], total: float) -> list[float]:
    """As much less for each as brings them down to the total, as far as that goes: a mark keeps a call from beginning
    before the last one has ended, which costs the same whatever they do."""

    def left(off: float) -> list[float]:
        return [max(t - off, LEAST_LEFT * t) for t in times]

    low, high = 0.0, max(times)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if sum(left(middle)) < total else (middle, high)
    return left(high)


class Marks:
    """Times of calls by the device's clock."""

    def __init__(self, device: torch.device):
        self.device = device
        self.queueing: dict[int, float] = {}  # seconds that the host took for a stretch, the last time
        self.longer = LONGER
        self.cost_s = self.cost_of_a_mark()

    def seconds(self, part: Part, copy: Copy) -> list[float]:
        while True:
            events: list[torch.cuda.Event] = []
            starts: list[int] = []
            began = 0.0
            too_short = False

            def end_stretch() -> None:
                nonlocal too_short
                self.queueing[len(starts) - 1] = time.perf_counter() - began
                too_short |= events[starts[-1]].query()  # the device was done waiting before all was queued

            def make(work: Callable[[], Any]) -> Any:
                nonlocal began
                if not starts or len(events) - starts[-1] > STRETCH:
                    if starts:
                        end_stretch()
                    starts.append(len(events))
                    waiting = min(LONGEST_S, self.longer * self.queueing.get(len(starts) - 1, 0.0))
                    if waiting > 0:
                        torch.cuda._sleep(int(waiting * CYCLES_PER_S))
                    events.append(mark())
                    began = time.perf_counter()
                result = work()
                events.append(mark())
                return result

            first = not self.queueing
            part.run_once(copy, make)
            if starts:
                end_stretch()
            torch.cuda.synchronize(self.device)
            if first or not too_short or self.longer > LONGEST:
                begins = set(starts)
                return [
                    events[i - 1].elapsed_time(events[i]) / 1e3
                    for i in range(1, len(events))
                    if i not in begins
                ]
            self.longer *= 2

    def cost_of_a_mark(self) -> float:
        """Of the smallest kernels with a mark between any two, over the same replayed without."""
        x = torch.zeros(1, device=self.device)
        few = 64

        def run() -> None:
            for _ in range(few):
                x.add_(1)

        replayed = Replayed(run, few, self.device, x).seconds(0.01)[0]
        found = []
        for _ in range(3):
            torch.cuda._sleep(int(3e-3 * CYCLES_PER_S))
            events = [mark()]
            for _ in range(few):
                x.add_(1)
                events.append(mark())
            torch.cuda.synchronize(self.device)
            found.append(statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:])) / 1e3)
        return max(0.0, min(found[1:]) - replayed)


def mark() -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
