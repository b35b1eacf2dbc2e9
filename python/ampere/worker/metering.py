"""Joules of repeated work, by whatever meter there is.

A counter that ticks ten times a second tells only how much had been used at its last tick. Some devices keep their
power of the last seconds, which is read after the work; power times the time of an iteration is its energy. Others are
kept busy with work issued ahead, an edge of the counter is found, and nothing is read until the next edge is due.
Counters without ticks are read before and after each window.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, field

from .. import _core
from .repeated import Repeated

AHEAD_S = 0.08  # work that is always queued while a slow counter is watched
MAX_WINDOWS = 50
# Of power that the device keeps (an H200's samples are 20 ms apart, and each averages some 20 ms before it).
SAMPLED_S = 0.2
RAMP_S = 0.1
AVERAGED_S = 0.03
STEADY = 0.02
SAMPLED_ERROR = 0.015  # a quarter of a second against the counter over seconds (docs/measuring_well.md)


@dataclass
class Asked:
    """How long and how often, as a request says it."""

    window_s: float = 0.1
    warm_up_s: float = 0.1
    budget_s: float = 3
    target_error: float = 0.01
    min_windows: int = 3
    min_ticks: int = 10
    discard_first: bool = True


@dataclass
class Seen:
    times: list[float] = field(default_factory=list)
    energies: list[float] = field(default_factory=list)
    iterations: int = 0
    stable: bool = False
    error: float = 0.005  # of one window, relative, where there are no others to tell it


def error_of_median(values: list[float]) -> float:
    """Standard error of the median over the median, from the median deviation (normal noise)."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(v - middle) for v in values)
    return 1.2533 * deviation / math.sqrt(len(values)) / middle if middle > 0 else 1.0


def time_only(work: Repeated, asked: Asked) -> Seen:
    seen, start = Seen(), time.perf_counter()
    while True:
        seconds, count = work.seconds(asked.window_s)
        seen.times.append(seconds)
        seen.iterations += count
        if enough(seen, seen.times, asked, start):
            return seen


def metered(work: Repeated, meter: _core.Meter, asked: Asked) -> Seen:
    behaviour = meter.behaviour or meter.watch(0.6)
    if behaviour.tick_s > 0 and not behaviour.continuous:
        if keeps_power(meter):
            return by_samples(work, meter, asked)
        return by_ticks(work, meter, asked, behaviour.tick_s)
    return by_windows(work, meter, asked)


def by_windows(work: Repeated, meter: _core.Meter, asked: Asked) -> Seen:
    seen, start = Seen(), time.perf_counter()
    work.seconds(asked.warm_up_s)
    discard = asked.discard_first
    while True:
        work.wait()
        before = meter.read()
        seconds, count = work.seconds(asked.window_s)
        work.wait()
        joules = (meter.read().energy_j - before.energy_j) / count
        if discard:
            discard = False
            continue
        seen.times.append(seconds)
        seen.energies.append(joules)
        seen.iterations += count
        if enough(seen, seen.energies, asked, start):
            return seen


def keeps_power(meter: _core.Meter) -> bool:
    """At least five samples in a window, as late as now."""
    kept = meter.recent_power()
    return len(kept) > 10 and kept[-1][0] - kept[-11][0] < 10 * SAMPLED_S / 5 and time.monotonic() - kept[-1][0] < 0.5


def by_samples(work: Repeated, meter: _core.Meter, asked: Asked) -> Seen:
    """Of windows until one is as the one before; the last ones count.

    Power follows a change of work within 0.1 s, but a device that reaches its limit takes longer to slow down.
    """
    seen, start = Seen(), time.perf_counter()
    work.seconds(max(asked.warm_up_s, RAMP_S))
    before: float | None = None
    while True:
        begin = time.monotonic()
        seconds, count = work.seconds(SAMPLED_S)
        end = time.monotonic()
        powers = [w for at, w in meter.recent_power() if begin + AVERAGED_S < at <= end]
        taken = time.perf_counter() - start
        if len(powers) < 3:  # an iteration that is over before the next sample
            if taken > asked.budget_s:
                raise StandsStill("the device's record of its power stopped")
            continue
        power = statistics.fmean(powers)
        if power <= 0:
            raise StandsStill("the device's record of its power holds nothing but zero")
        halves = statistics.fmean(powers[: len(powers) // 2]), statistics.fmean(powers[len(powers) // 2 :])
        drift = abs(halves[1] - halves[0]) / power
        steady = drift < STEADY or (before is not None and abs(power - before) / power < STEADY)
        before = power
        seen.iterations += count
        if steady or taken + SAMPLED_S > asked.budget_s:
            seen.times.append(seconds)
            seen.energies.append(power * seconds)
            seen.stable, seen.error = steady, max(SAMPLED_ERROR, drift / 2)
            return seen


def by_ticks(work: Repeated, meter: _core.Meter, asked: Asked, tick_s: float) -> Seen:
    seen, start = Seen(), time.perf_counter()
    feeder = Feeder(work)
    length = max(asked.window_s, asked.min_ticks * tick_s)
    feeder.for_seconds(max(asked.warm_up_s, 0.15))  # power ramps
    powers: list[float] = []
    last = feeder.edge(meter)
    while True:
        feeder.for_seconds(length - 0.25 * tick_s)
        now = feeder.edge(meter)
        powers.append((now[0] - last[0]) / (now[1] - last[1]))
        last = now
        taken = time.perf_counter() - start
        settled = len(powers) > 1 and error_of_median(powers) <= asked.target_error
        if settled or len(powers) >= MAX_WINDOWS or taken + length > asked.budget_s:
            break
    work.wait()
    for _ in range(3):
        seconds, count = work.seconds(0.02)
        seen.times.append(seconds)
        seen.iterations += count
    seconds = statistics.median(seen.times)
    seen.energies = [p * seconds for p in powers]
    # One window between two edges is off by what finding an edge is: a reading's time at each end.
    seen.stable = (error_of_median(powers) if len(powers) > 1 else 0.005) <= asked.target_error
    return seen


class Feeder:
    """Keeps work queued ahead, so that the device does not notice when the host reads a counter."""

    def __init__(self, work: Repeated):
        self.work = work
        work.wait()
        work.seconds(0.01)
        self.until = time.perf_counter()

    def feed(self) -> None:
        now = time.perf_counter()
        missing = now + AHEAD_S - max(self.until, now)
        if missing > 0:
            self.work.keep_busy(missing)
            self.until = max(self.until, now) + missing

    def for_seconds(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.feed()
            time.sleep(min(left, AHEAD_S / 4))

    def edge(self, meter: _core.Meter) -> tuple[float, float]:
        """The counter's next change: its value, and when."""
        first = meter.read().energy_j
        end = time.perf_counter() + 2
        while time.perf_counter() < end:
            self.feed()
            reading = meter.read()
            if reading.energy_j != first:
                return reading.energy_j, time.perf_counter()
        raise StandsStill("the meter's counter stood still for 2 s under load")


class StandsStill(Exception):
    pass


def enough(seen: Seen, values: list[float], asked: Asked, start: float) -> bool:
    seen.stable = error_of_median(values) <= asked.target_error
    done = seen.stable or len(values) >= MAX_WINDOWS or time.perf_counter() - start >= asked.budget_s
    return len(values) >= asked.min_windows and done
