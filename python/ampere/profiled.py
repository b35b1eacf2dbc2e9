"""What `ampere.profile` answers: the device, what was measured now, and what its store knows."""

from __future__ import annotations

import html
import sqlite3
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import _core

STORE_VERSION = 3  # of the tables that are read here (docs/store.md)
# Surfaces hold points over channels; all else is measured once, at its own sizes.
KNOWN = """
SELECT point.recipe, surface.purpose = 'surface' AS over_channels, COUNT(DISTINCT surface.name), COUNT(*)
FROM point JOIN surface ON surface.name = point.surface
WHERE point.device = ? AND surface.purpose IN ('surface', 'probe-times', 'probe-energies', 'within')
GROUP BY point.recipe, over_channels ORDER BY point.recipe, over_channels DESC
"""


@dataclass(frozen=True)
class Known:
    """What a store holds of a device for one way of training."""

    recipe: str  # "momentum-default-t2"; "captured-..." are parts of captured steps
    kinds: int
    points: int
    over_channels: bool  # else each is known at its own sizes alone


@dataclass
class Profile:
    device: str
    id: str
    meter: str
    modelled: bool | None  # whether energies are; None: none was taken yet
    store: str
    parts: int = 0  # of captured steps, measured now
    kinds: int = 0  # of layers, measured now
    points: int = 0  # of those
    reused: int = 0  # parts and points that were known
    seconds: float = 0  # that measuring took
    known: list[Known] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def took_parts(self, done: _core.ProbeSummary | None) -> None:
        if done is not None:
            self.parts += done.measured
            self.reused += done.known
            self.seconds += done.seconds

    def took_kinds(self, done: _core.ProfilingSummary) -> None:
        for method in done.methods:
            self.kinds += sum(bool(surface.measured) for surface in method.summary.surfaces)
            self.points += method.summary.measured
            self.reused += method.summary.reused
            self.seconds += method.summary.seconds
        self.took_parts(done.exact)

    def to_dict(self) -> dict[str, Any]:
        return {"schema_version": 1, **asdict(self)}

    def rows(self) -> list[tuple[str, str]]:
        energy = {None: "", True: ", energy is modelled", False: ""}[self.modelled]
        rows = [("device", f"{self.device} ({self.id})"), ("meter", self.meter + energy), ("store", self.store)]
        if self.parts or self.points or self.reused:
            rows.append(
                (
                    "measured now",
                    f"{counted(self.parts, 'part')} of steps, {counted(self.points, 'point')} of "
                    f"{counted(self.kinds, 'kind')} of layers, in {self.seconds:.0f} s; {self.reused} were known",
                )
            )
        for known in self.known:
            what = "over channels" if known.over_channels else "at their own sizes"
            rows.append(
                ("known", f"{known.recipe}: {counted(known.kinds, 'kind')} {what}, {counted(known.points, 'point')}")
            )
        if not self.known:
            rows.append(("known", "nothing yet; give a model, or minutes for any, to measure"))
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{name:<{width}}  {value}" for name, value in rows] + [f"note: {n}" for n in self.notes])

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        cells = "".join(
            f"<tr><th {left}>{html.escape(n)}</th><td {left}>{html.escape(v)}</td></tr>" for n, v in self.rows()
        )
        return f"<table>{cells}</table>" + "".join(f"<p><em>{html.escape(n)}</em></p>" for n in self.notes)


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def known_of(done: Profile, device: _core.Device) -> Profile:
    """Read from the store's tables, which are public, and only where they are the ones that this knows."""
    done.modelled = device.energy_modelled
    done.known = []
    path = Path(done.store)
    if not path.is_file():
        return done
    with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as store:
        if store.execute("PRAGMA user_version").fetchone()[0] == STORE_VERSION:
            rows = store.execute(KNOWN, [done.id])
            done.known = [Known(recipe, kinds, points, bool(over)) for recipe, over, kinds, points in rows]
    store.close()
    return done
