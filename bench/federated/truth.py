"""What training really takes on a client's device, which no strategy is told.

Three things make it differ from AMPERE's estimate, all of them recorded on real devices:

- No estimate is right, and no two devices of one kind are alike: each client has a factor of its own for the whole run,
  drawn from measured over estimated energy and time of the evaluations under results/cpu (120 networks, trained for
  real; `split`).
- No two rounds are alike: each round has a factor drawn from windows of steps of this very network, over their median,
  that were metered while the machine was busy with other work (`steps.json`).
- What the background draws meanwhile (battery.py).

The boards are imaginary, so the level that these factors multiply is the estimate's own. The recorded CPU's own level
would not do: there steps took 0.7 of what was estimated, and batteries would be safe by that alone.
"""

from __future__ import annotations

import csv
import functools
import json

import numpy as np
from boards import RESULTS

EVALUATIONS = RESULTS.parent / "cpu"


@functools.cache
def recorded_steps() -> np.ndarray:
    """Energy and time of a step over their medians, one row for each window of metered steps."""
    windows = json.loads((RESULTS / "steps.json").read_text())["windows"]
    taken = np.array([[window["energy_j"], window["time_s"]] for window in windows])
    return taken / np.median(taken, axis=0)


@functools.cache
def recorded_errors() -> np.ndarray:
    """Measured over estimated, energy and time, of each network that was evaluated."""
    rows = []
    for name in ("lenet5-b10", "cnn5-b10", "har-b10", "lstm-b10"):
        with open(EVALUATIONS / f"{name}.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["method"] == "split":
                    measured = float(row["measured_energy_j"]), float(row["measured_time_s"])
                    rows.append([measured[0] / float(row["energy_j"]), measured[1] / float(row["time_s"])])
    return np.array(rows)


def round_takes(level: tuple[float, float], steps: int, seed: int, client: int, number: int) -> tuple[float, float]:
    """Joules and seconds of a client's round, whoever chose it. `level`: of a step on a board of its kind."""
    unit = np.random.default_rng([seed, client, 2]).choice(recorded_errors())
    now = np.random.default_rng([seed, client, 3, number]).choice(recorded_steps())
    energy_j, time_s = steps * np.array(level) * unit * now
    return float(energy_j), float(time_s)
