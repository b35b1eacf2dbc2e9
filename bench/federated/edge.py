"""Does the promise hold where it is tight? bench/federated/edge.py --ampere build/release/bin/ampere

In the simulation most batteries have more than enough. Here each holds just what its client is admitted with, and the
client takes a round again and again: how often does it end under its reserve? No Flower needed."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import tempfile

import network
import numpy as np
from battery import DEADLINE_S, Nature, take_round
from boards import boards, make_store
from costs import stored_costs
from truth import round_takes

from ampere.federated import Report, StoredCosts, admit, widened

RISK = 0.05
CLIENTS = 160
ROUNDS = 50  # of each
SEED = 1


def least_charge_j(told: Report, cost) -> float | None:
    """With which it is admitted, to 1% of what the round takes; None: it would be late with any."""

    def admitted(above_j: float) -> bool:
        charged = dataclasses.replace(told, charge_j=told.reserve_j + above_j)
        return admit(charged, cost, DEADLINE_S, RISK).admitted

    low, high = cost.energy_j.median, min(4 * cost.energy_j.median, told.capacity_j - told.reserve_j)
    if not admitted(high):
        return None
    while high - low > 0.01 * cost.energy_j.median:
        middle = (low + high) / 2
        low, high = (low, middle) if admitted(middle) else (middle, high)
    return told.reserve_j + high


def at_the_edge(spread: float, devices: list[str], costs: StoredCosts) -> tuple[float, list[float]]:
    """How many times the estimate the charge above the reserve is, and how often each client fell under it."""
    rng = np.random.default_rng(SEED)
    margins, fell = [], []
    for client in range(CLIENTS):
        samples, kind, nature = int(rng.integers(60, 400)), client % len(devices), Nature.of(SEED, client)
        told = Report(devices[kind], samples, has_battery=True, capacity_j=nature.capacity_j)
        told = dataclasses.replace(told, reserve_j=nature.reserve_j, background_w=nature.most_background_w)
        cost = widened(costs(told), spread)
        charge_j = least_charge_j(told, cost)
        if charge_j is None:
            continue
        margins.append((charge_j - nature.reserve_j) / cost.energy_j.median)
        step, steps = costs.estimate(devices[kind]), -(-samples // network.BATCH) * network.EPOCHS
        under = 0
        for number in range(ROUNDS):
            takes = round_takes((step.energy_j.value, step.time_s.value), steps, SEED, client, number)
            under += take_round(nature, charge_j, *takes, SEED, client, number).under_reserve
        fell.append(under / ROUNDS)
    return float(np.median(margins)), fell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ampere", default="build/release/bin/ampere")
    asked = parser.parse_args()
    print("| `unit_spread` | charge above the reserve, over the estimate | rounds under it | clients above the risk |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "boards.db"
        devices = [device for device, _ in make_store(store, boards(), asked.ampere)]
        costs = stored_costs(store)
        for spread in (0.0, 0.1, 0.2):
            margin, fell = at_the_edge(spread, devices, costs)
            above = sum(share > RISK for share in fell)
            print(f"| {spread} | {margin:.2f} | {np.mean(fell):.1%} | {above} of {len(fell)} |", flush=True)


if __name__ == "__main__":
    main()
