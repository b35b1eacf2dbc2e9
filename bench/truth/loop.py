"""Training in a loop, or a captured step replayed, and what one step takes by the counter."""

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from counter import Watch
from masks import RememberedMasks
from pace import pace_s
from recipes import Training

MARK_S = 0.005  # steps between two marks take about this long, or are one
AHEAD = 4  # marks that the host may run ahead of the device
DISCARD_S = 0.6  # the first window after a change of network reads low, and is not used
STEPS_IN_WINDOW = 8  # at least


class DeviceMarks:
    """How many steps a CUDA device has finished by when. Events tell, so the loop is never stopped to count.

    Without them the host would know only what it has asked for, not which steps the joules paid for.
    """

    def __init__(self):
        self._origin = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        self._origin.record()
        self._origin.synchronize()
        self._origin_s = time.perf_counter()
        self._events: list[torch.cuda.Event] = []
        self._steps: list[int] = []

    def mark(self, steps: int) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._events.append(event)
        self._steps.append(steps)
        if len(self._events) > AHEAD:
            self._events[-1 - AHEAD].synchronize()

    def times(self) -> list[tuple[float, int]]:
        torch.cuda.synchronize()
        return [(self._origin_s + self._origin.elapsed_time(event) / 1000, steps)
                for event, steps in zip(self._events, self._steps)]


class HostMarks:
    """The same where a step is over when its call returns."""

    def __init__(self):
        self._times: list[tuple[float, int]] = []

    def mark(self, steps: int) -> None:
        self._times.append((time.perf_counter(), steps))

    def times(self) -> list[tuple[float, int]]:
        return self._times


def steps_at(marks: list[tuple[float, int]], time_s: float) -> float:
    """Steps finished at a moment, fractions by a straight line between marks (or past the outermost two)."""
    low, high = 0, len(marks) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if marks[middle][0] <= time_s else (low, middle)
    (a_s, a), (b_s, b) = marks[low], marks[high]
    return a + (b - a) * (time_s - a_s) / (b_s - a_s)


def warm_up(step: Callable, device: torch.device, steps: int, seconds: float) -> tuple[torch.Tensor, float]:
    """Runs at least `steps` steps and `seconds`; the last loss and the seconds of a step, by the last half of them."""
    begin = time.perf_counter()
    loss = step()
    _finish(device)
    done, chunk = 1, 1
    while True:
        chunk_begin = time.perf_counter()
        for _ in range(chunk):
            loss = step()
        _finish(device)
        now = time.perf_counter()
        done += chunk
        if done >= steps and now - begin >= seconds:
            return loss, (now - chunk_begin) / chunk
        chunk = 1 if now - chunk_begin > 0.1 else 2 * chunk


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def measure(step: Callable, device: torch.device, counter, seconds: float, window_s: float) -> dict:
    """Energy and time of one step, by windows of `window_s` or more that take `seconds` together."""
    on_device = device.type == "cuda"
    loss, step_s = warm_up(step, device, steps=6 if on_device else 2, seconds=0.3 if on_device else 0.0)
    window_s = max(window_s, STEPS_IN_WINDOW * step_s) if on_device else window_s
    count = max(1, round(seconds / window_s))
    watch = Watch(counter, [max(DISCARD_S, STEPS_IN_WINDOW * step_s) if on_device else 0.01] + count * [window_s])
    marks = DeviceMarks() if on_device else HostMarks()
    chunk = max(1, math.ceil(MARK_S / step_s))
    marks.mark(0)
    done = 0
    watch.start()
    try:
        while not watch.done or done < 2:
            for _ in range(chunk):
                loss = step()
            done += chunk
            marks.mark(done)
    finally:
        watch.join()
    watch.check()
    last = float(loss)
    return {**summary(watch.edges, marks.times()), "loss": last if math.isfinite(last) else None, **watch.state}


def summary(edges: list, marks: list[tuple[float, int]]) -> dict:
    """Windows between edges, and the median step of all but the first."""
    windows = []
    for begin, end in zip(edges, edges[1:]):
        steps = steps_at(marks, end.time_s) - steps_at(marks, begin.time_s)
        seconds = end.time_s - begin.time_s
        joules = None if begin.energy_j is None else end.energy_j - begin.energy_j
        windows.append({
            "energy_j": None if joules is None else joules / steps,
            "time_s": seconds / steps,
            "steps": steps,
            "window_s": seconds,
            "doubt": (begin.doubt_s + end.doubt_s) / seconds,
        })
    used = windows[1:]
    result = {"discarded": windows[0], "windows": used}
    for name in ("energy_j", "time_s"):
        values = [window[name] for window in used]
        known = None not in values
        middle = statistics.median(values) if known else None
        result[name] = middle
        result[name.rpartition("_")[0] + "_spread"] = (max(values) - min(values)) / middle if known else None
    result["power_w"] = None if result["energy_j"] is None else result["energy_j"] / result["time_s"]
    return result


def eager(training: Training, counter, seconds: float, window_s: float) -> dict:
    """The loop as users write it, which waits for nothing; the joules are the device's alone. Around it, the host's
    pace."""
    optimizer, scaler = training.optimizer(captured=False), training.scaler()
    before_s = pace_s(training.device)
    found = measure(lambda: training.step(optimizer, scaler), training.device, counter, seconds, window_s)
    return {**found, "pace_s": (before_s + pace_s(training.device)) / 2}


@contextlib.contextmanager
def _as_eager() -> Iterator[None]:
    """transformers asks whether a stream is being captured, and then builds attention masks that its eager forward
    leaves out, which takes other kernels. The replay is to be the eager step, so it is told no."""
    try:
        from transformers.utils import import_utils
        asked = import_utils.is_cuda_stream_capturing
    except (ImportError, AttributeError):
        yield
        return
    import_utils.is_cuda_stream_capturing = lambda: False
    try:
        yield
    finally:
        import_utils.is_cuda_stream_capturing = asked


class CaptureFailed(Exception):
    """The step does something that no graph can hold."""


def replay(training: Training, counter, seconds: float, window_s: float) -> dict:
    """The whole step, optimizer included, captured once and replayed: the device without its host."""
    if training.device.type != "cuda":
        raise CaptureFailed("steps are captured on CUDA devices only")
    optimizer, scaler = training.optimizer(captured=True), training.scaler()
    if scaler is not None:
        scaler.set_growth_interval(2**31 - 1)  # a grown scale would overflow, and nothing stops the step then
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with RememberedMasks() as masks:
        with torch.cuda.stream(side):
            for _ in range(12):  # the scale of float16 settles meanwhile
                training.step(optimizer, scaler)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        optimizer.zero_grad()
        graph = torch.cuda.CUDAGraph()
        masks.giving = True
        try:
            with _as_eager(), torch.cuda.graph(graph):
                loss = training.captured_step(optimizer, scaler)
            graph.replay()
            torch.cuda.synchronize()
        except Exception as error:
            raise CaptureFailed(f"{type(error).__name__}: {error}") from error

    def step() -> torch.Tensor:
        graph.replay()
        return loss

    try:
        return measure(step, training.device, counter, seconds, window_s)
    finally:
        torch.cuda.synchronize()
        optimizer.zero_grad()
        graph.reset()
