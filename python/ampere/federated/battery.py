"""How full this device's battery is, as Linux and Android tell it."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

SUPPLIES = "/sys/class/power_supply"
JOULES_PER_MICROWATT_HOUR = 3600e-6


@dataclass(frozen=True)
class BatteryState:
    capacity_j: float  # when it is full
    charge_j: float  # now
    charging: bool = False
    drawn_w: float | None = None  # now; None: it charges, or nothing tells


def read_battery(root: str | pathlib.Path = SUPPLIES) -> BatteryState | None:
    """All batteries of the device added up; None: there is none, it hangs on the mains."""
    found = [state for folder in sorted(pathlib.Path(root).glob("*")) if (state := one_battery(folder))]
    if not found:
        return None
    charging = any(state.charging for state in found)
    drawn = [state.drawn_w for state in found if state.drawn_w is not None]
    return BatteryState(
        sum(state.capacity_j for state in found),
        sum(state.charge_j for state in found),
        charging,
        sum(drawn) if drawn and not charging else None,
    )


def one_battery(folder: pathlib.Path) -> BatteryState | None:
    # Mice and keyboards have batteries of scope Device; theirs is not the computer's.
    if text(folder / "type") != "Battery" or text(folder / "scope") == "Device" or text(folder / "present") == "0":
        return None
    volts = volts_of(folder)
    full = first(folder, volts, "energy_full", "energy_full_design", "charge_full", "charge_full_design")
    now = first(folder, volts, "energy_now", "charge_now")
    percent = number(folder / "capacity")
    if now is None and full is not None and percent is not None:
        now = full * percent / 100
    if now is None or full is None:
        return None  # nothing that tells joules
    charging = text(folder / "status") in ("Charging", "Full")
    return BatteryState(full, min(now, full), charging, None if charging else drawn_w(folder, volts))


def first(folder: pathlib.Path, volts: float | None, *names: str) -> float | None:
    """Joules by the first file that is there: energies in µWh, charges in µAh."""
    for name in names:
        value = number(folder / name)
        if value is None or value < 0 or (name.startswith("charge") and volts is None):
            continue
        return value * JOULES_PER_MICROWATT_HOUR * (volts if name.startswith("charge") and volts else 1)
    return None


def volts_of(folder: pathlib.Path) -> float | None:
    # Capacity and charge by one voltage, so that their share is right; the designed one moves least.
    for name in ("voltage_min_design", "voltage_now"):
        value = number(folder / name)
        if value:
            return value * 1e-6
    return None


def drawn_w(folder: pathlib.Path, volts: float | None) -> float | None:
    power = number(folder / "power_now")
    if power is not None:
        return abs(power) * 1e-6
    current = number(folder / "current_now")  # drivers disagree about its sign
    return abs(current) * 1e-6 * volts if current is not None and volts is not None else None


def text(file: pathlib.Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def number(file: pathlib.Path) -> float | None:
    try:
        return float(text(file))
    except ValueError:
        return None
