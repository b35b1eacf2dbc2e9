"""What a client tells the server before a round: which device it is, and what its battery has."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from .. import _core
from .battery import BatteryState, read_battery


@dataclass(frozen=True)
class Report:
    device: str  # id of the device's profile: 16 hex digits
    samples: int  # that the client trains on in an epoch
    fingerprint: str = ""  # all that the id stands for, as JSON: what to profile where the id is unknown
    has_battery: bool = False  # without one it hangs on the mains
    capacity_j: float = 0.0
    charge_j: float = 0.0  # now
    reserve_j: float = 0.0  # training must leave so much
    background_w: float = 0.0  # what the device draws besides training, rather too much than too little
    plugged_s: float = 0.0  # it will stay at its charger for so long at least
    charger_w: float = 0.0

    def to_record(self) -> dict[str, str | int | float | bool]:
        """As Flower's records have it: plain values by name."""
        return asdict(self)

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Report:
        """Raises BadInputError for what no client of ours would say; fields of later versions are left aside."""
        values: dict[str, Any] = {}
        for field in fields(Report):
            if field.name not in record:
                continue
            kind = type(field.default) if isinstance(field.default, (str, bool, float)) else KINDS[field.name]
            given = record[field.name]
            if kind is float and isinstance(given, int) and not isinstance(given, bool):
                given = float(given)
            if type(given) is not kind:
                raise _core.BadInputError(f"a client's report: {field.name} cannot be {given!r}")
            values[field.name] = given
        if "device" not in values or "samples" not in values:
            raise _core.BadInputError("a client's report names no device, or no samples")
        told = Report(**values)
        told.check()
        return told

    def check(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, (int, float)) and not 0 <= value < 1e15:
                raise _core.BadInputError(f"a client's report: {name} cannot be {value}")


KINDS: dict[str, type] = {"device": str, "samples": int}


class Reporter:
    """Makes the reports of this device.

    samples     how many the client trains on in an epoch
    device      an ampere.Device, such as Device.stored(store, id); without one this machine's, as AMPERE's worker tells
                it: the command in $AMPERE_WORKER, else `python -m ampere.worker`, this environment's own PyTorch. Kinds
                of devices are profiled with the same worker, because another framework is another device
    reserve     the share of the battery that training must leave
    battery     reads it; by itself from /sys/class/power_supply
    background_w  what the device draws besides training; without it what the battery gives right now, which is that
                while nothing is trained
    """

    def __init__(
        self,
        samples: int,
        device: _core.Device | None = None,
        reserve: float = 0.2,
        battery: Callable[[], BatteryState | None] = read_battery,
        background_w: float | None = None,
    ) -> None:
        if not 0 <= reserve < 1:
            raise ValueError(f"a reserve is a share of the battery, from 0 to less than 1, not {reserve}")
        self.samples, self.reserve, self.battery, self.background_w = samples, reserve, battery, background_w
        self.device, self.fingerprint = (device.id, device.fingerprint) if device else this_device()

    def __call__(self) -> Report:
        state = self.battery()
        if state is None:
            return Report(self.device, self.samples, self.fingerprint)
        background = self.background_w if self.background_w is not None else state.drawn_w or 0.0
        return Report(
            self.device,
            self.samples,
            self.fingerprint,
            has_battery=True,
            capacity_j=state.capacity_j,
            charge_j=state.charge_j,
            reserve_j=self.reserve * state.capacity_j,
            background_w=background,
        )


def this_device(worker: str = "", meter: str = "") -> tuple[str, str]:
    """Id and fingerprint of the device that the worker trains on here: `worker`, else $AMPERE_WORKER, else
    `python -m ampere.worker`, which needs PyTorch. Takes seconds."""
    own = f"{shlex.quote(sys.executable)} -m ampere.worker"
    with _core.Device.open("", worker or os.environ.get("AMPERE_WORKER") or own, meter) as device:
        return device.id, json.dumps(json.loads(device.fingerprint))  # on one line
