"""What `ampere.prune` answers."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass, field
from typing import Any

from . import _core
from .prediction import bounds, quantity
from .translating import ModuleChannels


@dataclass
class Pruning:
    """Channels for the user's modules. Energies in joules per step; None where FLOPs were pruned by."""

    network: str
    device: str
    recipe: str  # in words
    batch: int
    budget: str  # as it was asked for
    pruned: _core.Pruned = field(repr=False)  # the library's own answer, with the network
    modules: list[ModuleChannels] = field(repr=False)
    tied: list[list[str]] = field(repr=False)  # modules that have one number together, as those of a residual
    kept: dict[str, list[int]] = field(repr=False)  # with scores: which channels, by the first module that has them
    notes: list[str] = field(default_factory=list)

    @property
    def channels(self) -> dict[str, int]:
        """How many channels (features) each module puts out, norms included."""
        return {module.name: module.out_channels for module in self.modules}

    @property
    def energy_before_j(self) -> float | None:
        return self.pruned.before.energy_j.value if self.pruned.before else None

    @property
    def energy_j(self) -> float | None:
        """Of a step of the pruned network."""
        return self.pruned.after.energy_j.value if self.pruned.after else None

    @property
    def share(self) -> float:
        """Of what it took before: energy, or FLOPs where it was pruned by those."""
        if self.pruned.before and self.pruned.after:
            return share_of(self.pruned.after.energy_j.value, self.pruned.before.energy_j.value)
        return share_of(self.pruned.flops_after, self.pruned.flops_before)

    @property
    def modelled(self) -> bool:
        return bool(self.pruned.after and self.pruned.after.modelled)

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Bounds of the energy that hold with this probability."""
        return bounds(self.pruned.after.energy_j, level) if self.pruned.after else None

    def interval_before(self, level: float = 0.95) -> tuple[float, float] | None:
        return bounds(self.pruned.before.energy_j, level) if self.pruned.before else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "network": self.network,
            "device": self.device or None,
            "recipe": self.recipe or None,
            "batch": self.batch,
            "budget": self.budget,
            "before": self.figures(self.pruned.before, self.pruned.flops_before, self.pruned.parameters_before),
            "after": self.figures(self.pruned.after, self.pruned.flops_after, self.pruned.parameters_after),
            "share": self.share,
            "modelled": self.modelled,
            "unchanged": self.pruned.unchanged,
            "channels": self.channels,
            "modules": [asdict(module) for module in self.modules],
            "tied": self.tied,
            "kept": self.kept,
            "notes": self.notes,
        }

    @staticmethod
    def figures(estimate: _core.Estimate | None, flops: float, parameters: float) -> dict[str, Any]:
        told: dict[str, Any] = {"flops": flops, "parameters": parameters}
        if estimate is None:
            return told
        energy, time = estimate.energy_j, estimate.time_s
        return told | {
            "energy_j": energy.value,
            "energy_low_j": energy.low,
            "energy_high_j": energy.high,
            "time_s": time.value,
        }

    # --- for people ------------------------------------------------------------------------------------------------

    def rows(self) -> list[tuple[str, str]]:
        p = self.pruned
        rows = [("network", f"{self.network}, batch {self.batch}")]
        if p.before and p.after:
            rows += [("on", self.device), ("trained with", self.recipe)]
            modelled = ", modelled" if self.modelled else ""
            for words, energy in (("energy of a step", p.before.energy_j), ("pruned", p.after.energy_j)):
                said = f"{quantity(energy.value, 'J')}  ({quantity(energy.low, 'J')} to {quantity(energy.high, 'J')})"
                rows.append((words, said + modelled))
            rows[-1] = (rows[-1][0], f"{rows[-1][1]}, {self.share:.1%}")
        rows += [
            ("budget", self.budget),
            (
                "FLOPs",
                f"{p.flops_before:.3g}, pruned {p.flops_after:.3g} ({share_of(p.flops_after, p.flops_before):.1%})",
            ),
            (
                "weights",
                f"{p.parameters_before:.4g}, pruned {p.parameters_after:.4g} "
                f"({share_of(p.parameters_after, p.parameters_before):.1%})",
            ),
        ]
        if p.measured is not None:
            rows.append(("trained beside it", f"{p.measured.share:.1%} of the energy, by {p.checks} checks"))
        return rows

    def table(self) -> list[tuple[str, str, str, str]]:
        """Modules that choose a width: name, type, what they read and put out, and that of the pruned network."""
        shown = [("module", "type", "channels", "pruned")]
        for m in self.modules:
            if m.own:
                before, after = passed(m.in_before, m.out_before), passed(m.in_channels, m.out_channels)
                shown.append((m.name, m.type, before, after if after != before else ""))
        return shown

    def __str__(self) -> str:
        rows, table = self.rows(), self.table()
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        lines += [""] + ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in table]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        cells = "".join(
            f"<tr><th {left}>{html.escape(n)}</th><td {left}>{html.escape(v)}</td></tr>" for n, v in self.rows()
        )
        modules = "".join(
            "<tr>" + "".join(f"<td {left}>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.table()
        )
        notes = "".join(f"<p><em>{html.escape(note)}</em></p>" for note in self.notes)
        return f"<table>{cells}</table><table>{modules}</table>{notes}"


def passed(reads: int | None, puts_out: int) -> str:
    return str(puts_out) if reads is None else f"{reads} > {puts_out}"


def share_of(after: float, before: float) -> float:
    """All of it, where there was nothing to take away."""
    return after / before if before else 1.0
