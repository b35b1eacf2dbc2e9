"""Monitors, with a meter that is made up: a clock of ours, and a counter that ticks when we say."""

import asyncio
import subprocess
import sys
import threading
import types

import ampere
import pytest
from ampere import _core, monitor as module


class FakeMeter:
    """Draws `power_w` on a clock that only moves when told; with a tick, the counter shows its last one."""

    name, modelled = "fake", False

    def __init__(self, tick_s=0.0):
        self.tick_s, self.now_s, self.used_j, self.shown_j, self.power_w = tick_s, 100.0, 0.0, 0.0, 10.0
        self.reads = 0
        self.behaviour = None
        self.broken = False

    def watch(self):
        self.behaviour = types.SimpleNamespace(tick_s=self.tick_s)

    def work(self, seconds, power_w):
        """Time passes; ticks that fall into it are shown."""
        end = self.now_s + seconds
        while self.tick_s and (edge := self._next_edge()) <= end + 1e-12:
            self.used_j += (edge - self.now_s) * power_w
            self.now_s = edge
            self.shown_j = self.used_j
        self.used_j += (end - self.now_s) * power_w
        self.now_s = end

    def _next_edge(self):
        passed = int(self.now_s / self.tick_s + 1e-9)
        return (passed + 1) * self.tick_s

    def read(self):
        self.reads += 1
        if self.broken:
            raise ampere.NoMeterError("the counter is gone")
        return _core.Reading(self.shown_j if self.tick_s else self.used_j, self.now_s)

    def read_at_tick(self):
        if self.tick_s:
            self.work(self._next_edge() - self.now_s, self.power_w)
        return self.read()


@pytest.fixture
def meter(monkeypatch):
    made = FakeMeter()
    monkeypatch.setattr(module.time, "monotonic", lambda: made.now_s)
    return made


@pytest.fixture
def slow(monkeypatch):
    made = FakeMeter(tick_s=0.1)
    monkeypatch.setattr(module.time, "monotonic", lambda: made.now_s)
    made.work(0.037, 10)  # somewhere between two ticks
    return made


def test_energy_and_time(meter):
    with ampere.Monitor(meter) as m:
        meter.work(2, 50)
        assert (m.energy_j, m.time_s) == (100, 2)  # so far
        with m.window("epoch") as window:
            meter.work(1, 30)
            with pytest.raises(RuntimeError, match="has not ended"):
                window.energy_j
    assert (m.energy_j, m.time_s) == pytest.approx((130, 3))
    assert m.windows == {"epoch": [window]}
    assert (window.energy_j, window.time_s, window.power_w) == pytest.approx((30, 1, 30))
    assert not window.failed and not window.aligned and window.ticks is None and not m.modelled


def test_reads_only_outside_of_windows(meter):
    m = ampere.Monitor(meter, align=False)
    with m.window("w"):
        before = meter.reads
        meter.work(1, 1)
        assert meter.reads == before


def test_never_entered_tells_nothing(meter):
    m = ampere.Monitor(meter)
    assert m.windows == {}
    with pytest.raises(RuntimeError, match="never entered"):
        m.energy_j
    with m.window("alone"):
        meter.work(1, 5)
    assert m.windows["alone"][0].energy_j == pytest.approx(5)


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.7314, 5])
def test_slow_counters_are_aligned(slow, seconds):
    """Whatever the length and the phase, the work's own energy is found: waiting is taken off."""
    m = ampere.Monitor(slow)
    for _ in range(3):
        with m.window("w"):
            slow.work(seconds, 200)
        slow.work(0.0123, 10)
    for window in m.windows["w"]:
        assert window.aligned and window.ticks == pytest.approx(seconds / 0.1)
        assert (window.energy_j, window.time_s) == pytest.approx((200 * seconds, seconds))


def test_windows_inside_others_do_not_wait(slow):
    m = ampere.Monitor(slow)
    with m.window("outer") as outer:
        slow.work(1.02, 100)
        before = slow.now_s
        with m.window("inner") as inner:
            assert slow.now_s == before
            slow.work(1.03, 100)
        assert slow.now_s == pytest.approx(before + 1.03)
        slow.work(1, 100)
    assert outer.aligned and outer.energy_j == pytest.approx(305)
    assert not inner.aligned and inner.energy_j == pytest.approx(103, abs=2 * 0.1 * 100)
    assert inner.ticks == pytest.approx(10.3)


def test_waiting_can_be_declined_and_is_never_long(slow, monkeypatch):
    before = slow.now_s
    with ampere.Monitor(slow, align=False).window("w") as window:
        pass
    assert slow.now_s == before and not window.aligned
    slow.tick_s = 60.0
    slow.watch()
    with ampere.Monitor(slow).window("w") as window:
        pass
    assert slow.now_s == before and not window.aligned


def test_windows_of_one_name_nest_and_recur(meter):
    m = ampere.Monitor(meter)
    scope = m.window("again")

    @scope
    def down(depth):
        meter.work(1, 10)
        if depth:
            down(depth - 1)

    down(2)
    assert [w.energy_j for w in m.windows["again"]] == pytest.approx([10, 20, 30])  # the innermost ends first
    with scope as outer, scope as inner:
        meter.work(1, 1)
    assert outer is not inner and len(m.windows["again"]) == 5


def test_a_monitor_within_itself_counts_once(meter):
    m = ampere.Monitor(meter)

    @m
    def train():
        """It trains."""
        meter.work(1, 10)
        return "trained"

    with m:
        assert train() == "trained"
    assert (m.energy_j, m.time_s) == pytest.approx((10, 1))
    train()
    assert (m.energy_j, m.time_s) == pytest.approx((20, 2))
    assert train.__doc__ == "It trains." and train.__name__ == "train"


def test_coroutines(meter):
    m = ampere.Monitor(meter)

    @m.window("request")
    async def answer():
        await asyncio.sleep(0)
        meter.work(1, 7)
        return 42

    assert asyncio.run(answer()) == 42
    assert m.windows["request"][0].energy_j == pytest.approx(7)


def test_exceptions_pass_and_windows_are_kept(meter):
    m = ampere.Monitor(meter)
    with pytest.raises(KeyError):
        with m, m.window("w"):
            meter.work(1, 3)
            raise KeyError("mine")
    assert m.energy_j == pytest.approx(3)
    assert m.windows["w"][0].failed and m.windows["w"][0].energy_j == pytest.approx(3)
    with m.window("w"):
        meter.work(1, 4)
    assert not m.windows["w"][1].failed


def test_a_meter_that_fails(meter):
    m = ampere.Monitor(meter)
    with pytest.raises(ampere.NoMeterError):
        with m.window("w"):
            meter.broken = True
    with pytest.raises(KeyError) as caught:  # what the program raised is what is told
        meter.broken = False
        with m.window("w") as window:
            meter.broken = True
            raise KeyError("mine")
    assert m.windows == {}
    assert not hasattr(caught.value, "add_note") or "counter is gone" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError):
        window.energy_j
    with pytest.raises(ampere.NoMeterError), m.window("w"):
        pass
    meter.broken = False
    with m.window("w") as window:  # none of them counts as still open
        pass
    assert m._open_windows == 0


def test_threads(meter):
    m = ampere.Monitor(meter)
    scope, start = m.window("shared"), threading.Barrier(8)

    def work():
        start.wait()
        for _ in range(50):
            with m, scope:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(m.windows["shared"]) == 400 and m._open_windows == 0 and m._depth == 0


def test_gpus_in_use_are_waited_for(meter, monkeypatch):
    waited, state = [], {"initialized": False, "capturing": False}
    torch = types.SimpleNamespace(
        cuda=types.SimpleNamespace(
            is_initialized=lambda: state["initialized"],
            is_current_stream_capturing=lambda: state["capturing"],
            device_count=lambda: 3,
            synchronize=waited.append,
        ),
        _C=types.SimpleNamespace(_cuda_hasPrimaryContext=lambda device: device != 1),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    m = ampere.Monitor(meter)
    with m.window("w"):
        pass
    assert waited == []  # nobody has used a GPU
    state["initialized"] = True
    with m.window("w"):
        assert waited == [0, 2]
    assert waited == [0, 2, 0, 2]
    state["capturing"] = True  # a graph that is being captured must not be waited for
    with m.window("w"):
        pass
    assert len(waited) == 4


def test_the_modelled_meter():
    """The one meter that every Linux machine has."""
    with ampere.Monitor("cpu-model") as m:
        with m.window("busy") as window:
            sum(i * i for i in range(1_000_000))
    assert m.modelled and window.modelled and "modelled" in repr(m)
    assert 0 < window.energy_j <= m.energy_j and 0 < window.time_s <= m.time_s
    assert ampere.Monitor("cpu-model").meter is m.meter


def test_meters():
    listed = {meter.name: meter for meter in ampere.meters()}
    assert listed["cpu-model"].available and listed["cpu-model"].modelled and listed["cpu-model"].scope == "process"
    assert not listed["exec"].available and "exec:COMMAND" in listed["exec"].why
    meter = ampere.Meter("cpu-model")
    assert meter.behaviour is None
    first = meter.read()
    sum(range(3_000_000))
    second = meter.read()
    assert second.energy_j > first.energy_j and second.at_s > first.at_s
    assert meter.watch().moves and meter.behaviour.read_s > 0
    assert meter.read_at_tick().energy_j >= second.energy_j
    assert meter.power_w() is None
    with pytest.raises(ampere.BadInputError):
        meter.mean_power_w(0)


def test_the_meter_of_the_environment():
    code = "import ampere; print(ampere.Monitor().meter.name, ampere.Meter().name)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"AMPERE_METER": "cpu-model"}, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["cpu-model", "cpu-model"]
