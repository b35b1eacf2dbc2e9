"""What is compared: ampere's choice, and the same machinery without what AMPERE knows."""

from __future__ import annotations

from ampere import _core
from ampere.federated import FedJoules, Report, StoredCosts
from ampere.federated.strategy import Round


class RandomChoice(FedJoules):
    """As FedAvg does it: whoever is drawn and answers takes part."""

    def in_turn(self, nodes, this: Round) -> list[int]:
        return self.turns.random.sample(list(nodes), len(nodes))

    def choose(self, this: Round, nodes, wanted: int, config, grid) -> None:
        waiting = self.in_turn(nodes, this)
        while waiting and len(this.chosen) < wanted:
            missing = wanted - len(this.chosen)
            next_ones, waiting = waiting[:missing], waiting[missing:]
            answered = self.ask(next_ones, this, config, grid)
            for node in next_ones:
                if node in answered and self.reports[node].charge_j > 0:  # a dead one would not have answered
                    this.chosen[node] = self.verdict_of(node)

    def verdict_of(self, node: int):
        from ampere.federated import Verdict

        return Verdict(True, energy_j=self.costs(self.reports[node]).energy_j.median)


class FlopsCosts:
    """So many joules and seconds for a FLOP, the same on every device: their mean over the kinds of the fleet, which
    AMPERE's estimates tell here, so that it is the best such constant. It has no interval, so the risk finds nothing."""

    def __init__(self, stored: StoredCosts, devices: list[str]) -> None:
        self.stored = stored
        steps = [_core.job_cost(stored.estimate(device), 1) for device in devices]
        self.energy_j = sum(step.energy_j.median for step in steps) / len(steps)
        self.time_s = sum(step.time_s.median for step in steps) / len(steps)

    def __call__(self, report: Report) -> _core.JobCost:
        # All clients train one network, so FLOPs are steps times a constant.
        steps = _core.iterations_of(report.samples, self.stored.batch, self.stored.epochs)
        return _core.JobCost(_core.LogNormal(self.energy_j * steps, 0), _core.LogNormal(self.time_s * steps, 0))
