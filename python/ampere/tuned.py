"""What `ampere.tune` answers."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .prediction import quantity


@dataclass
class Tuning:
    """A whole job under every setting. Energies in joules, times in seconds, savings as shares."""

    network: str
    device: str  # name and meter
    samples: int  # of an epoch
    epochs: int
    objective: str
    tuned: _core.Tuned = field(repr=False)  # the library's own answer
    fingerprint: dict[str, Any] = field(default_factory=dict, repr=False)  # of the device
    tariff: _core.Tariff = field(default_factory=_core.Tariff, repr=False)
    notes: list[str] = field(default_factory=list)

    @property
    def outcomes(self) -> list[_core.TuneOutcome]:
        """Every setting that could be told."""
        return list(self.tuned.outcomes)

    @property
    def front(self) -> list[_core.TuneOutcome]:
        """Those that no other beats in both energy and time, the quickest first."""
        return [self.tuned.outcomes[i] for i in self.tuned.front]

    @property
    def present(self) -> _core.TuneOutcome:
        return self.tuned.outcomes[self.tuned.present]

    @property
    def best(self) -> _core.TuneOutcome:
        """The one to train with."""
        return self.tuned.outcomes[self.tuned.best]

    @property
    def energy_saved(self) -> _core.Interval:
        """Share of the present setting's energy that the best one saves."""
        return self.tuned.saved_energy

    @property
    def time_saved(self) -> _core.Interval:
        return self.tuned.saved_time

    @property
    def steps(self) -> list[_core.TuneStep]:
        """What each change is worth, one after the other, from the present setting to the best one."""
        return list(self.tuned.steps)

    @property
    def singles(self) -> list[_core.TuneStep]:
        """What each of those changes is worth by itself."""
        return list(self.tuned.singles)

    @property
    def advice(self) -> list[_core.TuneAdvice]:
        return list(self.tuned.advice)

    @property
    def left_out(self) -> list[str]:
        """Settings that nothing tells, with why."""
        return list(self.tuned.left_out)

    @property
    def modelled(self) -> bool:
        """The energy comes from a model (CPU time times watts), not from a counter."""
        return self.tuned.modelled

    def to_dict(self) -> dict[str, Any]:
        """With the fields of `ampere tune --json`, so that `ampere report --results` and ampere.report() draw it."""
        t = self.tuned
        told: dict[str, Any] = {
            "schema_version": 1,
            "device": self.fingerprint,
            "meter": self.fingerprint.get("meter", ""),
            "modelled": t.modelled,
            "model": self.network,
            "samples": self.samples,
            "epochs": self.epochs,
            "objective": self.objective,
            "present": t.present,
            "best": t.best,
            "front": list(t.front),
            "energy_saved": share_of(t.saved_energy),
            "time_saved": share_of(t.saved_time),
            "steps": [step_of(step) for step in t.steps],
            "singles": [step_of(step) for step in t.singles],
            "advice": [{"what": advice.what, "evidence": advice.evidence} for advice in t.advice],
            "left_out": list(t.left_out),
            "outcomes": [outcome_of(outcome, self.tariff) for outcome in t.outcomes],
            "notes": self.notes,
        }
        return told | tariff_of(self.tariff)

    def to_json(self, indent: int | None = 2) -> str:
        return json.dumps(self.to_dict(), indent=indent)

    # --- for people ------------------------------------------------------------------------------------------------

    def table(self) -> list[list[str]]:
        """The front and the present setting, as they are printed."""
        shown = list(self.tuned.front)
        shown += [i for i in (self.tuned.present, self.tuned.best) if i not in shown]
        first = self.tuned.outcomes[self.tuned.present]
        priced, emits = first.cost is not None, self.tariff.carbon_g_per_kwh is not None
        head = ["", "setting", "power", "energy (95% interval)", "time (95% interval)"]
        rows = [head + ["cost"] * priced + ["emits"] * emits]
        for i in sorted(dict.fromkeys(shown), key=lambda i: self.tuned.outcomes[i].time_s.value):
            outcome = self.tuned.outcomes[i]
            mark = ", ".join(
                word for word, at in (("best", self.tuned.best), ("now", self.tuned.present)) if at == i
            )
            row = [mark, training_text(outcome.setting), power_text(outcome.setting)]
            row += [in_interval(outcome.energy_j, joules), in_interval(outcome.time_s, duration)]
            if outcome.cost is not None:
                row.append(f"{outcome.cost.value:.3g} {self.tariff.currency}".strip())
            if emits:
                carbon = _core.bill_of(self.tariff, outcome.energy_j).carbon_g
                row.append(f"{(carbon.value if carbon else 0.0) / 1000:.3g} kg CO2e")
            rows.append(row)
        return rows

    def sentences(self) -> list[str]:
        """What was chosen, what it is worth, and what else there is to say."""
        t, best, present = self.tuned, self.best.setting, self.present.setting
        if t.best == t.present:
            said = [f"for {self.objective} the present setting is the best of them"]
        else:
            said = [
                f"for {self.objective}: {training_text(best)}, {power_text(best)}. Against the present setting it "
                f"saves {share_text(t.saved_energy)} of the energy and is {slower_text(t.saved_time)}"
            ]
            for number, step in enumerate(t.steps):
                another = "another " if number else ""
                said.append(f"{step.change} saves {another}{share_text(step.energy)}, {slower_text(step.time)}")
            for step in list(t.singles)[1:]:  # the first step is by itself already
                said.append(f"by itself, {step.change} saves {share_text(step.energy)}, {slower_text(step.time)}")
            learns = ("precision", "optimizer")
            if best.batch != present.batch or any(
                getattr(best.recipe, what) != getattr(present.recipe, what) for what in learns
            ):
                said.append(
                    "another precision, optimizer or batch changes how the network learns; whether it reaches the same "
                    "accuracy is not judged here"
                )
            if best.power_limit_w > 0:
                said.append(f"to train so: ampere run --power-limit {best.power_limit_w:g} -- COMMAND")
            elif best.clock_mhz > 0:
                said.append(f"to train so: ampere run --clock {best.clock_mhz:g} -- COMMAND")
        said += [f"advice: {advice.what}; {advice.evidence}" for advice in t.advice]
        said += [f"not known: {left}" for left in t.left_out]
        return said + [f"note: {note}" for note in self.notes]

    def head(self) -> str:
        epochs = f"{self.epochs} epoch{'' if self.epochs == 1 else 's'}"
        modelled = ", energy is modelled" if self.modelled else ""
        return (
            f"{self.network} on {self.device}, {self.samples} samples, {epochs}{modelled}\n"
            f"{len(self.tuned.outcomes)} settings; those below are the ones that no other beats in both energy and time"
            + ("" if self.present.on_front else ", and the present one")
        )

    def __str__(self) -> str:
        rows = self.table()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self.head(), "", *lines, "", *self.sentences()])

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        head, *rows = self.table()
        cells = "".join(f"<th {left}>{html.escape(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td {left}>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences())
        return f"<p>{html.escape(self.head())}</p><table><tr>{cells}</tr>{body}</table>{said}"


def training_text(setting: _core.TrainingSetting) -> str:
    """The threads of a CPU are not chosen here, so they are not told."""
    recipe = setting.recipe
    autotune = ", autotuned kernels" if recipe.autotune else ""
    last = ", channels last" if setting.channels_last else ""
    return f"batch {setting.batch}, {recipe.optimizer}, {recipe.precision}{autotune}{last}"


def power_text(setting: _core.TrainingSetting) -> str:
    words = [f"{setting.power_limit_w:g} W"] if setting.power_limit_w > 0 else []
    words += [f"{setting.clock_mhz:g} MHz"] if setting.clock_mhz > 0 else []
    return ", ".join(words) or "as it comes"


def share_text(saved: _core.Interval) -> str:
    return f"{saved.value:.1%} ({saved.low:.1%} to {saved.high:.1%})"


def slower_text(saved: _core.Interval) -> str:
    return f"{abs(saved.value):.1%} {'quicker' if saved.value >= 0 else 'slower'}"


def joules(value: float) -> str:
    return quantity(value, "J")


def duration(seconds: float) -> str:
    if seconds < 60:
        return quantity(seconds, "s")
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours == 0:
        return f"{minutes} min {seconds - 60 * minutes:.0f} s"
    return f"{hours} h {minutes - 60 * hours} min"


def in_interval(interval: _core.Interval, text: Any) -> str:
    return f"{text(interval.value)} ({text(interval.low)} to {text(interval.high)})"


def share_of(saved: _core.Interval) -> dict[str, float]:
    return {"value": saved.value, "low": saved.low, "high": saved.high}


def step_of(step: _core.TuneStep) -> dict[str, Any]:
    return {"change": step.change, "energy_saved": share_of(step.energy), "time_saved": share_of(step.time)}


def ends_of(name: str, unit: str, interval: _core.Interval) -> dict[str, float]:
    """The value and its interval, as fields with the unit at the end."""
    ends = (("", interval.value), ("_low", interval.low), ("_high", interval.high))
    return {f"{name}{end}{unit}": value for end, value in ends}


def bill_fields(tariff: _core.Tariff, energy_j: _core.Interval) -> dict[str, Any]:
    """Nothing where nothing was asked."""
    if tariff.price_per_kwh is None and tariff.carbon_g_per_kwh is None:
        return {}
    bill = _core.bill_of(tariff, energy_j)
    told: dict[str, Any] = ends_of("energy", "_kwh", bill.energy_kwh)
    if bill.cost is not None:
        told |= ends_of("cost", "", bill.cost) | {"currency": tariff.currency}
    return told | (ends_of("carbon", "_g", bill.carbon_g) if bill.carbon_g is not None else {})


def tariff_of(tariff: _core.Tariff) -> dict[str, Any]:
    if tariff.price_per_kwh is None and tariff.carbon_g_per_kwh is None:
        return {}
    names = ("price_per_kwh", "currency", "carbon_g_per_kwh", "carbon_source")
    return {"tariff": {name: getattr(tariff, name) for name in names}}


def outcome_of(outcome: _core.TuneOutcome, tariff: _core.Tariff) -> dict[str, Any]:
    setting = outcome.setting
    told: dict[str, Any] = {
        "batch": setting.batch,
        "recipe": setting.recipe.word(),
        "precision": setting.recipe.precision,
        "optimizer": setting.recipe.optimizer,
        "channels_last": setting.channels_last,
        "autotune": setting.recipe.autotune,
        "threads": setting.recipe.threads,
        "power_limit_w": setting.power_limit_w or None,
        "clock_mhz": setting.clock_mhz or None,
        **ends_of("energy", "_j", outcome.energy_j),
        **ends_of("time", "_s", outcome.time_s),
        "on_front": outcome.on_front,
        "allowed": outcome.allowed,
        "measured": False,
    }
    told |= bill_fields(tariff, outcome.energy_j)
    return told | (ends_of("cost", "", outcome.cost) if outcome.cost is not None else {})  # with the device's hours
