"""What training a network will cost, as `ampere.estimate` answers it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

from . import _core

Z95 = 1.959963984540054
UNITS = {"power_limit_w": "W", "clock_mhz": "MHz"}


def memory_dict(memory: _core.MemoryEstimate | None) -> dict[str, Any] | None:
    names = ("peak", "weights", "gradients", "optimizer", "data", "saved", "libraries", "temporaries")
    return None if memory is None else {f"{name}_bytes": getattr(memory, f"{name}_bytes") for name in names}


def bytes_text(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "TiB"
    return f"{count:.3g} {unit}"


@dataclass(frozen=True)
class ModuleCost:
    """Of one module of the model and all that is in it, per step."""

    name: str
    type: str
    energy_j: float
    time_s: float
    share: float  # of the device's energy


@dataclass(frozen=True)
class Job:
    """A whole training run."""

    steps: float
    energy_j: float
    energy_low_j: float
    energy_high_j: float
    time_s: float
    cost: float | None = None  # where there is a price
    currency: str = ""
    carbon_g: float | None = None  # of CO2 equivalent, where that was asked

    @property
    def energy_kwh(self) -> float:
        return self.energy_j / 3.6e6


@dataclass
class Prediction:
    """Energies in joules, times in seconds, per step of the training loop (one call of the optimizer)."""

    network: str
    device: str
    recipe: str  # in words
    batch: int  # samples per step
    estimate: _core.Estimate = field(repr=False)
    module_types: dict[str, str] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)
    by_mode: Callable[[str], _core.Estimate] | None = field(default=None, repr=False)
    tariff: _core.Tariff = field(default_factory=_core.Tariff, repr=False)
    memory: _core.MemoryEstimate | None = None  # that a step takes

    def in_mode(self, mode: str) -> Prediction:
        """The same step, "eager" or "replay" (captured in a CUDA graph, so that no host is waited for). A CPU
        has but one way."""
        if self.by_mode is None:
            raise ValueError("this prediction was not made by ampere.estimate")
        return replace(self, estimate=self.by_mode(mode)) if self.two_clocks else self

    @property
    def energy_j(self) -> float:
        return self.estimate.energy_j.value

    @property
    def time_s(self) -> float:
        return self.estimate.time_s.value

    @property
    def device_energy_j(self) -> float:
        """D: what the device itself uses for the work; all of it on a CPU."""
        return self.estimate.device_energy_j if self.two_clocks else self.energy_j

    @property
    def device_time_s(self) -> float:
        """G: how long the device is busy."""
        return self.estimate.device_time_s if self.two_clocks else self.time_s

    @property
    def host_time_s(self) -> float:
        """H: how long the host takes to issue a step; 0 on a CPU."""
        return self.estimate.host_time_s

    @property
    def regime(self) -> str:
        return self.estimate.regime

    @property
    def modelled(self) -> bool:
        """The energy comes from a model (CPU time times watts), not from a counter."""
        return self.estimate.modelled

    @property
    def unmeasured(self) -> float:
        """Share of the energy that is of parts nobody measured on this device: other calls tell them."""
        return self.estimate.unmeasured

    @property
    def two_clocks(self) -> bool:
        return self.estimate.regime != "cpu"

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Bounds of the energy that hold with this probability."""
        return bounds(self.estimate.energy_j, level)

    def time_interval(self, level: float = 0.95) -> tuple[float, float]:
        return bounds(self.estimate.time_s, level)

    def energy_at(self, time_s: float) -> float:
        """The energy of a step that takes this long: a device that waits for its host draws what it draws when idle."""
        return (
            self.device_energy_j + self.estimate.idle_power_w * max(0.0, time_s - self.device_time_s)
            if self.two_clocks
            else self.energy_j
        )

    def job(self, samples: int, epochs: int = 1) -> Job:
        """`samples` are those of one epoch."""
        steps = _core.iterations_of(samples, self.batch, epochs)
        low, high = self.interval()
        bill = _core.bill_of(self.tariff, self.estimate.energy_j * steps)
        return Job(
            steps,
            steps * self.energy_j,
            steps * low,
            steps * high,
            steps * self.time_s,
            bill.cost.value if bill.cost else None,
            self.tariff.currency,
            bill.carbon_g.value if bill.carbon_g else None,
        )

    def by_module(self, depth: int | None = None) -> list[ModuleCost]:
        """By the names of the user's modules, in their order; a module counts all that is in it. `depth` 1 is the model's
        own children. What the optimizer does, and what runs outside of modules, is told in brackets."""
        energies: dict[str, float] = {}
        times: dict[str, float] = {}
        for layer in self.estimate.layers:
            if layer.name in ("(input)", "(host)"):
                continue
            name = layer.name.partition("#")[0]
            parts = name.split(".") if not name.startswith("(") else [name]
            for end in range(1, len(parts) + 1):
                key = ".".join(parts[:end])
                energies[key] = energies.get(key, 0.0) + layer.energy_j.value
                times[key] = times.get(key, 0.0) + layer.time_s.value
        total = sum(layer.energy_j.value for layer in self.estimate.layers) or 1.0
        return [
            ModuleCost(name, self.module_types.get(name, ""), energy, times[name], energy / total)
            for name, energy in energies.items()
            if depth is None or name.count(".") < depth
        ]

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval()
        time_low, time_high = self.time_interval()
        return {
            "schema_version": 1,
            "network": self.network,
            "device": self.device,
            "recipe": self.recipe,
            "batch": self.batch,
            "energy_j": self.energy_j,
            "energy_low_j": low,
            "energy_high_j": high,
            "time_s": self.time_s,
            "time_low_s": time_low,
            "time_high_s": time_high,
            "device_energy_j": self.device_energy_j,
            "device_time_s": self.device_time_s,
            "host_time_s": self.host_time_s,
            "idle_power_w": self.estimate.idle_power_w,
            "regime": self.regime,
            "modelled": self.modelled,
            "unmeasured": self.unmeasured,
            "setting": self.setting(),
            "memory": memory_dict(self.memory),
            "notes": self.notes,
            "modules": [vars(module) for module in self.by_module()],
        }

    def setting(self) -> dict[str, Any] | None:
        """The limit or clock that this is told for, which is modelled; None: as the device comes."""
        limit, clock = self.estimate.power_limit_w or None, self.estimate.clock_mhz or None
        if limit is None and clock is None:
            return None
        return {"power_limit_w": limit, "clock_mhz": clock, "modelled": True}

    # --- for people ------------------------------------------------------------------------------------------------

    def rows(self) -> list[tuple[str, str]]:
        low, high = self.interval()
        rows = [
            (
                "energy of a step",
                f"{quantity(self.energy_j, 'J')}  ({quantity(low, 'J')} to {quantity(high, 'J')})"
                + (", modelled" if self.modelled else ""),
            ),
            ("time of a step", quantity(self.time_s, "s")),
        ]
        if self.two_clocks:
            rows += [
                ("the device is busy", f"{quantity(self.device_time_s, 's')}, {quantity(self.device_energy_j, 'J')}"),
                ("the host issues it in", quantity(self.host_time_s, "s")),
                ("so it is", self.regime),
            ]
        if self.memory is not None:
            about = " (about: it is compiled)" if self.memory.rough else ""
            rows.append(("memory at the most", bytes_text(self.memory.peak_bytes) + about))
        setting = self.setting()
        if setting is not None:
            words = [f"{setting[key]:g} {unit}" for key, unit in UNITS.items() if setting[key] is not None]
            rows.insert(0, ("under", ", ".join(words) + " (what that does is modelled)"))
        bill = _core.bill_of(self.tariff, self.estimate.energy_j)
        if bill.cost:
            rows.append(("costs", f"{bill.cost.value:.3g} {self.tariff.currency}".strip()))
        if bill.carbon_g:
            rows.append(("emits", f"{bill.carbon_g.value:.3g} g CO2e ({self.tariff.carbon_source})"))
        return [
            ("network", f"{self.network}, batch {self.batch}"),
            ("on", self.device),
            ("trained with", self.recipe),
            *rows,
        ]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        modules = sorted(self.by_module(depth=1), key=lambda m: -m.energy_j)[:6]
        if modules:
            widest = max(len(m.name) for m in modules)
            lines += ["", "where it goes"] + [
                f"  {m.name:<{widest}}  {m.share:6.1%}  {quantity(m.energy_j, 'J')}" for m in modules
            ]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(n)}</th><td style='text-align:left'>{html.escape(v)}</td></tr>"
            for n, v in self.rows()
        )
        bars = "".join(
            f"<tr><td style='text-align:left'>{html.escape(m.name)}</td><td style='text-align:left'><div style='background:#4477aa;"
            f"height:0.8em;width:{max(1, round(240 * m.share))}px;display:inline-block'></div> {m.share:.1%}</td></tr>"
            for m in sorted(self.by_module(depth=1), key=lambda m: -m.energy_j)[:10]
        )
        notes = "".join(f"<p><em>{html.escape(note)}</em></p>" for note in self.notes)
        return f"<table>{cells}</table><table>{bars}</table>{notes}"


def bounds(interval: _core.Interval, level: float) -> tuple[float, float]:
    """Of another probability than the 95% that an interval has: it is a log-normal one."""
    if not 0 < level < 1:
        raise ValueError(f"a level is a probability between 0 and 1, not {level}")
    if not (interval.low > 0 and interval.high > 0):
        return interval.low, interval.high
    spread = math.log(interval.high / interval.low) / (2 * Z95) * NormalDist().inv_cdf(0.5 + level / 2)
    return interval.value * math.exp(-spread), interval.value * math.exp(spread)


def quantity(value: float, unit: str) -> str:
    for factor, prefix in ((1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ")):
        if (unit == "J" or factor <= 1) and abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
