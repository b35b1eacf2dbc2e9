"""The energy counter of an NVIDIA card, through NVML by ctypes, and windows that begin and end on its ticks.

The counter moves in steps (every 100 ms on an H200), and one read of it takes milliseconds. So it is read by a thread
of its own while the training goes on in another (ctypes lets go of the interpreter's lock during the call), only just
before an edge is due, and never inside a window.
"""

import ctypes
import math
import os
import statistics
import threading
import time
from dataclasses import dataclass

CLOCK_SM, CLOCK_MEMORY = 1, 2  # nvmlClockType_t
TEMPERATURE_GPU = 0  # nvmlTemperatureSensors_t


class CounterError(Exception):
    """The counter is not there, refused, or does not move."""


@dataclass(frozen=True)
class Edge:
    """A moment at which the counter moved, and what it showed from then on."""

    time_s: float  # of time.perf_counter()
    energy_j: float | None  # None without a counter
    doubt_s: float  # the edge lies within this of time_s


class Card:
    """One NVIDIA card by its UUID ("GPU-..."), or the first one."""

    def __init__(self, uuid: str | None = None):
        try:
            self._nvml = ctypes.CDLL(os.environ.get("AMPERE_NVML_LIBRARY", "libnvidia-ml.so.1"))
        except OSError as error:
            raise CounterError(f"no NVML: {error}") from None
        self._call("nvmlInit_v2")
        self._handle = ctypes.c_void_p()
        if uuid is None:
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(0), ctypes.byref(self._handle))
        else:
            self._call("nvmlDeviceGetHandleByUUID", ctypes.c_char_p(uuid.encode()), ctypes.byref(self._handle))
        self._energy_mj = ctypes.c_ulonglong()

    def _call(self, name: str, *arguments) -> None:
        try:
            function = getattr(self._nvml, name)
        except AttributeError:
            raise CounterError(f"this NVML has no {name}") from None
        code = function(*arguments)
        if code != 0:
            raise CounterError(f"{name} gave error {code}")

    def energy_j(self) -> float:
        """Joules since the driver was loaded."""
        self._call("nvmlDeviceGetTotalEnergyConsumption", self._handle, ctypes.byref(self._energy_mj))
        return self._energy_mj.value / 1000

    def _text(self, name: str, *before) -> str | None:
        buffer = ctypes.create_string_buffer(128)
        try:
            self._call(name, *before, buffer, ctypes.c_uint(len(buffer)))
        except CounterError:
            return None
        return buffer.value.decode(errors="replace")

    def _number(self, name: str, *between, kind=ctypes.c_uint) -> int | None:
        value = kind()
        try:
            self._call(name, self._handle, *between, ctypes.byref(value))
        except CounterError:
            return None
        return value.value

    def names(self) -> dict:
        """What does not change."""
        return {
            "card": self._text("nvmlDeviceGetName", self._handle),
            "uuid": self._text("nvmlDeviceGetUUID", self._handle),
            "driver": self._text("nvmlSystemGetDriverVersion"),
        }

    def state(self) -> dict:
        """Clocks, power limit and temperature now; None where the card does not tell."""
        limit_mw = self._number("nvmlDeviceGetEnforcedPowerLimit")
        return {
            "sm_clock_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint(CLOCK_SM)),
            "memory_clock_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint(CLOCK_MEMORY)),
            "power_limit_w": None if limit_mw is None else limit_mw / 1000,
            "temperature_c": self._number("nvmlDeviceGetTemperature", ctypes.c_uint(TEMPERATURE_GPU)),
            "throttle_reasons": self._number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong),
        }


class TickingCounter:
    """Finds edges of a card's counter. Learns when made how long a tick and a read are, which takes about 0.7 s."""

    def __init__(self, card: Card):
        self.card = card
        edges = [self._poll() for _ in range(7)]
        self.tick_s = statistics.median(b.time_s - a.time_s for a, b in zip(edges, edges[1:]))
        self.read_s = statistics.median(edge.doubt_s for edge in edges)  # an edge lies within two reads

    def _poll(self, patience_s: float = 2.0) -> Edge:
        """Reads until the counter moves. Where in a read the value is taken is unknown: the middle is assumed."""
        start = last_begin = time.perf_counter()
        first_j = self.card.energy_j()
        last_middle = (last_begin + time.perf_counter()) / 2
        while True:
            begin = time.perf_counter()
            energy_j = self.card.energy_j()
            end = time.perf_counter()
            middle = (begin + end) / 2
            if energy_j != first_j:
                return Edge((last_middle + middle) / 2, energy_j, (end - last_begin) / 2)
            if end - start > patience_s:
                raise CounterError(f"the counter did not move for {patience_s} s")
            last_begin, last_middle = begin, middle

    def edge(self) -> Edge:
        """The next edge."""
        return self._poll()

    def edge_after(self, edge: Edge, seconds: float) -> Edge:
        """The first edge at least `seconds` after an earlier one. Reads nothing before it is nearly due."""
        ticks = max(1, math.ceil(seconds / self.tick_s - 0.05))
        due_s = edge.time_s + ticks * self.tick_s
        early_s = min(2 * self.read_s + 0.004, self.tick_s / 2)
        time.sleep(max(0.0, due_s - early_s - time.perf_counter()))
        return self._poll()

    def state(self) -> dict:
        return self.card.state()

    def names(self) -> dict:
        return self.card.names()


class NoCounter:
    """Where there is no counter: edges are moments, without energy."""

    tick_s = None
    read_s = None

    def edge(self) -> Edge:
        return Edge(time.perf_counter(), None, 0.0)

    def edge_after(self, edge: Edge, seconds: float) -> Edge:
        time.sleep(max(0.0, edge.time_s + seconds - time.perf_counter()))
        return self.edge()

    def state(self) -> dict:
        return dict.fromkeys(
            ("sm_clock_mhz", "memory_clock_mhz", "power_limit_w", "temperature_c", "throttle_reasons"))

    def names(self) -> dict:
        return dict.fromkeys(("card", "uuid", "driver"))


class Watch:
    """A thread that takes edges: one, and then one after each of `gaps_s`. Then the state of the card, still loaded."""

    def __init__(self, counter, gaps_s: list[float]):
        self._counter, self._gaps_s = counter, gaps_s
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.edges: list[Edge] = []
        self.state: dict = {}
        self.error: Exception | None = None
        self.done = False

    def _run(self) -> None:
        try:
            self.edges.append(self._counter.edge())
            for gap_s in self._gaps_s:
                self.edges.append(self._counter.edge_after(self.edges[-1], gap_s))
            self.state = self._counter.state()
        except Exception as error:  # told to the training thread, which raises it
            self.error = error
        self.done = True

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def check(self) -> None:
        """Raises what went wrong."""
        if self.error is not None:
            raise self.error


def idle_w(counter, settle_s: float = 1.0, window_s: float = 1.0) -> float | None:
    """Watts of a card that does nothing; the caller has brought the device's context up. None without a counter."""
    if counter.tick_s is None:
        return None
    time.sleep(settle_s)
    begin = counter.edge()
    end = counter.edge_after(begin, window_s)
    return (end.energy_j - begin.energy_j) / (end.time_s - begin.time_s)
