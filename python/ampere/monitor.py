"""What a piece of a program takes, by the energy counters of this machine.

    with ampere.Monitor() as monitor:
        for epoch in range(10):
            with monitor.window("epoch"):
                train()
    print(monitor.energy_j, monitor.time_s, monitor.modelled)
    print([window.energy_j for window in monitor.windows["epoch"]])

Counters are read before and after a window and never inside it. Where PyTorch has work under way on a GPU it is waited
for first, at both ends. Counters know machines and devices, not threads: windows that overlap each have all that was
used meanwhile.

**Slow counters.** Some counters move ten times a second only, and tell what had been used at their last tick. So a
window begins at a tick, which is waited for before it; behind it two ticks are waited for: the first tells what was
used up to there, the second what is drawn while waiting, which is taken off. That costs up to three ticks outside each
window, and what is inside is known to a few hundredths of a tick. A window inside another one does not wait, because
that would be time and energy of the outer one: it may be off by what is used during a tick at either end
(``Window.aligned`` is false, ``Window.ticks`` says how much that matters). Counters without ticks, or whose tick is
longer than half a second, are read at once. ``align=False`` never waits: for many short windows whose sum is what
counts.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import time
from types import TracebackType
from typing import Any, Callable, Protocol, TypeVar

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])

LONGEST_TICK_S = 0.5  # a battery's charge may take minutes to move: nobody wants to wait for that

__all__ = ["Monitor", "Window", "synchronize"]


class MeterLike(Protocol):
    """What a monitor asks of a meter: `ampere.Meter` has it."""

    @property
    def name(self) -> str: ...
    @property
    def modelled(self) -> bool: ...
    @property
    def behaviour(self) -> _core.MeterBehaviour | None: ...
    def read(self) -> _core.Reading: ...
    def read_at_tick(self) -> _core.Reading: ...
    def watch(self) -> object: ...


def synchronize() -> None:
    """Waits for GPUs that PyTorch uses in this process. Imports nothing and wakes no GPU that is not in use."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized() or cuda.is_current_stream_capturing():
        return
    in_use = getattr(torch._C, "_cuda_hasPrimaryContext", None)  # type: ignore[union-attr]
    if in_use is None:
        cuda.synchronize()
        return
    for device in range(cuda.device_count()):
        if in_use(device):
            cuda.synchronize(device)


class _Span:
    """A stretch of time between two readings."""

    def __init__(self, meter: MeterLike, align: bool, wait: Callable[[], None]) -> None:
        self._meter = meter
        self._wait = wait
        self._tick_s = _tick_of(meter) if align else 0.0
        self.aligned = self._tick_s > 0
        wait()
        self._first = meter.read_at_tick() if self.aligned else meter.read()
        self.start_s = time.monotonic()

    def so_far(self) -> tuple[float, float]:
        """Joules and seconds until now, without waiting for anything."""
        now = time.monotonic()
        return self._meter.read().energy_j - self._first.energy_j, now - self.start_s

    def end(self) -> tuple[float, float]:
        """Joules and seconds."""
        self._wait()
        end_s = time.monotonic()
        if not self.aligned:
            return self._meter.read().energy_j - self._first.energy_j, end_s - self.start_s
        last = self._meter.read_at_tick()
        later = self._meter.read_at_tick()
        waiting_w = (later.energy_j - last.energy_j) / (later.at_s - last.at_s)
        waited_s = (self.start_s - self._first.at_s) + (last.at_s - end_s)
        energy_j = last.energy_j - self._first.energy_j - waiting_w * waited_s
        return max(0.0, energy_j), end_s - self.start_s


class Window:
    """One stretch of work. While it is open, and where its meter failed, there are no figures: they raise."""

    def __init__(self, name: str, meter: MeterLike) -> None:
        self.name = name
        self.modelled = meter.modelled
        self.aligned = False  # began and ended at ticks of a slow counter
        self.failed = False  # ended by an exception
        self.start_s = 0.0  # on the clock of time.monotonic()
        self._tick_s = 0.0
        self._figures: tuple[float, float] | None = None

    @property
    def energy_j(self) -> float:
        return self._ended()[0]

    @property
    def time_s(self) -> float:
        return self._ended()[1]

    @property
    def power_w(self) -> float:
        energy_j, time_s = self._ended()
        return energy_j / time_s

    @property
    def ticks(self) -> float | None:
        """How many ticks of the counter it spans; None: the counter has none that is known. Few ticks, large errors."""
        return self.time_s / self._tick_s if self._tick_s > 0 else None

    def _ended(self) -> tuple[float, float]:
        if self._figures is None:
            raise RuntimeError(f'window "{self.name}" has not ended, or its meter failed: it has no figures')
        return self._figures

    def __repr__(self) -> str:
        if self._figures is None:
            return f'Window("{self.name}", without figures)'
        told = ", modelled" if self.modelled else ""
        return f'Window("{self.name}", {self.energy_j:.6g} J, {self.time_s:.6g} s{told})'


class _Scope:
    """What `Monitor.window` gives: a context manager and a decorator, a window for each time it is entered."""

    def __init__(self, monitor: Monitor, name: str) -> None:
        self._monitor = monitor
        self._name = name
        self._mine = threading.local()  # windows that this thread has open here, the innermost last

    def __enter__(self) -> Window:
        window, span = self._monitor._begin(self._name)
        self._stack().append((window, span))
        return window

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        window, span = self._stack().pop()
        self._monitor._end(window, span, error)

    def __call__(self, function: Function) -> Function:
        return _within(function, lambda: _Scope(self._monitor, self._name))

    def _stack(self) -> list[tuple[Window, _Span]]:
        if not hasattr(self._mine, "stack"):
            self._mine.stack = []
        stack: list[tuple[Window, _Span]] = self._mine.stack
        return stack


class Monitor:
    """Context manager and decorator: energy and time from where it is entered to where it is left.

    It may be entered several times: figures add up, and what lies within itself, in the same thread or another one,
    counts once. ``meter`` is a name (``ampere.meters()`` lists them), an open ``ampere.Meter``, or empty for the
    default. ``align`` and slow counters: see this module's own text. ``wait`` is called before each end of a window,
    so that work that was started has ended; it waits for PyTorch's GPUs unless told otherwise.
    """

    def __init__(
        self, meter: str | MeterLike = "", *, align: bool = True, wait: Callable[[], None] = synchronize
    ) -> None:
        self._meter = _opened(meter) if isinstance(meter, str) else meter
        self._align = align
        self._wait = wait
        self._lock = threading.RLock()
        self._windows: dict[str, list[Window]] = {}
        self._open_windows = 0
        self._depth = 0
        self._span: _Span | None = None
        self._figures: tuple[float, float] | None = None

    @property
    def meter(self) -> MeterLike:
        return self._meter

    @property
    def modelled(self) -> bool:
        """Whether energies are computed from a model (CPU time times watts), not read from hardware."""
        return self._meter.modelled

    @property
    def energy_j(self) -> float:
        """Joules, so far where it is still open. Includes what is used while ticks of slow counters are waited for."""
        return self._totals()[0]

    @property
    def time_s(self) -> float:
        """Seconds, as `energy_j`."""
        return self._totals()[1]

    @property
    def windows(self) -> dict[str, list[Window]]:
        """The windows that have ended, by name, in the order in which they did."""
        with self._lock:
            return {name: list(windows) for name, windows in self._windows.items()}

    def window(self, name: str) -> _Scope:
        """A named window, for `with` or as a decorator. Needs no open monitor around it."""
        return _Scope(self, name)

    def __enter__(self) -> Monitor:
        with self._lock:
            if self._depth == 0:
                self._span = _Span(self._meter, self._align, self._wait)
            self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth > 0 or self._span is None:
                return
            span, self._span = self._span, None
            figures = _ended(span, error)
            if figures is not None:
                before = self._figures or (0.0, 0.0)
                self._figures = (before[0] + figures[0], before[1] + figures[1])

    def __call__(self, function: Function) -> Function:
        return _within(function, lambda: self)

    def __repr__(self) -> str:
        told = ", modelled" if self.modelled else ""
        return f"Monitor({self._meter.name}{told})"

    def _begin(self, name: str) -> tuple[Window, _Span]:
        with self._lock:
            outermost = self._open_windows == 0
            self._open_windows += 1
        try:
            span = _Span(self._meter, self._align and outermost, self._wait)
        except BaseException:
            with self._lock:
                self._open_windows -= 1
            raise
        window = Window(name, self._meter)
        window.aligned = span.aligned
        window.start_s = span.start_s
        return window, span

    def _end(self, window: Window, span: _Span, error: BaseException | None) -> None:
        try:
            window.failed = error is not None
            window._figures = _ended(span, error)
            behaviour = self._meter.behaviour
            window._tick_s = behaviour.tick_s if behaviour else 0.0
        finally:
            with self._lock:
                self._open_windows -= 1
                if window._figures is not None:
                    self._windows.setdefault(window.name, []).append(window)

    def _totals(self) -> tuple[float, float]:
        with self._lock:
            if self._span is None and self._figures is None:
                raise RuntimeError("this monitor was never entered, so there is nothing to tell")
            energy_j, time_s = self._figures or (0.0, 0.0)
            more = self._span.so_far() if self._span is not None else (0.0, 0.0)
            return energy_j + more[0], time_s + more[1]


_meters: dict[tuple[int, str], _core.Meter] = {}
_meters_lock = threading.Lock()


def _opened(name: str) -> _core.Meter:
    """Meters stay open and are shared, because finding out how they tick takes a while. Not across a fork."""
    key = (os.getpid(), name or os.environ.get("AMPERE_METER", ""))
    with _meters_lock:
        if key not in _meters:
            _meters[key] = _core.Meter(name)
        return _meters[key]


def _tick_of(meter: MeterLike) -> float:
    """Seconds, or 0 where ticks are not waited for."""
    if meter.behaviour is None:
        meter.watch()
    behaviour = meter.behaviour
    return behaviour.tick_s if behaviour and behaviour.tick_s <= LONGEST_TICK_S else 0.0


def _ended(span: _Span, error: BaseException | None) -> tuple[float, float] | None:
    """The figures of a span. What fails while an exception is on its way is told by a note, not instead of it."""
    try:
        return span.end()
    except Exception as failure:
        if error is None:
            raise
        if hasattr(error, "add_note"):
            error.add_note(f"its energy could not be read either: {failure}")
        return None


def _within(function: Function, scope: Callable[[], Any]) -> Function:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            with scope():
                return await function(*args, **kwargs)

        return waiting  # type: ignore[return-value]

    @functools.wraps(function)
    def calling(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return function(*args, **kwargs)

    return calling  # type: ignore[return-value]
