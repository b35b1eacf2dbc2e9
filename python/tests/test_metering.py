"""Metering and host time where no device is needed: a made-up device whose power is known."""

import time
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from ampere.worker import host, metering  # noqa: E402


class Device:
    """Runs iterations of 1 ms at some watts, and remembers its power every 20 ms."""

    replayed = True

    def __init__(self, watts, settles_at=None):
        self.watts, self.settles_at, self.begun = watts, settles_at, time.monotonic()
        self.behaviour = SimpleNamespace(tick_s=0.1, continuous=False)

    def power_at(self, moment):
        if self.settles_at is None:
            return self.watts
        late = max(0.0, moment - self.begun)
        return self.settles_at + (self.watts - self.settles_at) * 2 ** (-late / 0.1)

    def seconds(self, least_s):
        time.sleep(least_s)
        return 1e-3, round(least_s * 1e3)

    def recent_power(self):
        now = time.monotonic()
        first = int((now - 2) / 0.02)
        return [(k * 0.02, self.power_at(k * 0.02)) for k in range(first, int(now / 0.02) + 1)]


def test_power_that_a_device_keeps_is_read_after_the_work():
    device = Device(300.0)
    seen = metering.metered(device, device, metering.Asked())
    assert seen.stable
    assert seen.energies == pytest.approx([0.3], rel=1e-9)
    assert seen.times == [1e-3]


def test_a_device_that_slows_down_is_waited_for():
    device = Device(900.0, settles_at=700.0)
    seen = metering.metered(device, device, metering.Asked(budget_s=3))
    assert seen.stable
    assert seen.energies[0] == pytest.approx(0.7, rel=0.03)


def test_a_record_that_is_coarse_is_not_used():
    device = Device(300.0)
    device.recent_power = lambda: [(time.monotonic() - 0.5 * k, 300.0) for k in range(20, 0, -1)]
    assert not metering.keeps_power(device)
    device.recent_power = lambda: []
    assert not metering.keeps_power(device)


def test_a_host_is_learned_from_steps():
    """Weights that differ from what is believed are found, where there is evidence; else the belief stays."""
    true = [6e-3, 2e-3, host.BELIEVED[host.UPDATED], 0.2]
    counts = [[10, 50, 0, 1], [100, 50, 0, 1], [10, 500, 0, 1], [50, 200, 0, 1], [1, 1, 0, 1], [300, 300, 0, 1]]
    took = [sum(w * c for w, c in zip(true, row)) + 0.05 for row in counts]  # 0.05 paces of calls in each
    rows = [[c / t for c in row] for row, t in zip(counts, took)]
    found = host.fitted(rows, [1 - 0.05 / t for t in took])
    for learned, wanted, believed in zip(found, true, host.BELIEVED):
        assert abs(learned - wanted) <= 0.5 * abs(believed - wanted) + 1e-9
