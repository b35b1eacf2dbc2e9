"""What is compared with FedJoules: the same machinery without what AMPERE knows."""

from __future__ import annotations

from typing import Any

from ampere import _core
from ampere.federated import FedJoules, Report, StoredCosts, Verdict
from ampere.federated.strategy import Round


class RandomChoice(FedJoules):
    """As FedAvg does it: whoever is drawn takes part. A dead client is not drawn, as it would not be connected."""

    def choose(self, this: Round, nodes: Any, wanted: int, config: Any, grid: Any) -> None:
        waiting = self.turns.random.sample(list(nodes), len(nodes))
        while waiting and len(this.chosen) < wanted:
            missing = wanted - len(this.chosen)
            next_ones, waiting = waiting[:missing], waiting[missing:]
            for node in sorted(self.ask(next_ones, this, config, grid)):
                if self.reports[node].charge_j > 0:
                    this.chosen[node] = Verdict(True, energy_j=self.costs(self.reports[node]).energy_j.median)


class FlopsCosts:
    """So many joules and seconds for a FLOP, the same on every device: the mean over the kinds of the fleet, taken from
    AMPERE's estimates, so that no constant would be fairer. It has no interval of its own."""

    def __init__(self, stored: StoredCosts, devices: list[str]) -> None:
        self.stored = stored
        steps = [_core.job_cost(stored.estimate(device), 1) for device in devices]
        self.energy_j = sum(step.energy_j.median for step in steps) / len(steps)
        self.time_s = sum(step.time_s.median for step in steps) / len(steps)

    def __call__(self, report: Report) -> _core.JobCost:
        # All clients train one network, so FLOPs are steps times a constant.
        steps = _core.iterations_of(report.samples, self.stored.batch, self.stored.epochs)
        return _core.JobCost(_core.LogNormal(self.energy_j * steps, 0), _core.LogNormal(self.time_s * steps, 0))
