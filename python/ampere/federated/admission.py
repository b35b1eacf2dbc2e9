"""May this client take part in this round?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _core
from .report import Report


@dataclass(frozen=True)
class Verdict:
    admitted: bool
    why: str = ""  # not, in one sentence
    energy_j: float = 0.0  # the median of what the round takes
    set_aside_j: float = 0.0  # what it stays under as often as was asked for


def widened(cost: _core.JobCost, spread: float) -> _core.JobCost:
    """An interval tells how sure the estimate is of the device that was profiled, at that time. Another device of its
    kind, on another day, differs by more: `spread` is the deviation of that factor's logarithm."""

    def wider(known: _core.LogNormal) -> _core.LogNormal:
        return _core.LogNormal(known.median, math.hypot(known.sigma, spread))

    return _core.JobCost(wider(cost.energy_j), wider(cost.time_s))


def admit(report: Report, cost: _core.JobCost, deadline_s: float, risk: float = 0.05) -> Verdict:
    """Yes, if with probability 1 - risk the battery stays above its reserve and the round ends before the deadline,
    both together. It is the library's schedule (docs/scheduling.md) of one job on one device: costs are log-normal,
    the background is drawn on top, and what a charger brings counts only while the client has promised to stay there.
    """
    median_j = cost.energy_j.median
    late_s = cost.time_s.quantile(1 - risk) - deadline_s
    if late_s > 0:  # what cannot hold is told without planning, which tries thousands of draws
        return Verdict(False, f"deadline missed by {late_s:.3g} s", median_j)
    battery = charger = None
    if report.has_battery:
        charge_j = min(report.charge_j, report.capacity_j)  # gauges differ by a little
        if charge_j <= report.reserve_j:
            return Verdict(False, f"its battery has {charge_j:.3g} J, not more than its reserve", median_j)
        alone = _core.admit(cost.energy_j, charge_j - report.reserve_j, risk)
        battery = _core.Battery(report.capacity_j, charge_j, report.reserve_j)
        if report.charger_w > 0 and report.plugged_s > 0:
            charger = _core.Charger(report.charger_w, [_core.TimeWindow(0, report.plugged_s)])
        elif not alone.fits:
            return Verdict(False, f"battery short by {-alone.margin_j:.3g} J", median_j)
    device = _core.ScheduleDevice("client", battery=battery, charger=charger, background_w=report.background_w)
    job = _core.ScheduleJob("round", deadline_s=deadline_s, costs=[cost])
    plan = _core.schedule(_core.Problem([device], [job]), risk=risk, jointly=True)
    if plan.refused:
        return Verdict(False, plan.refused[0].text, median_j)
    if not plan.holds:
        return Verdict(False, "no plan for it holds as often as asked for", median_j)
    # A plan may wait for the charger first; a round does not.
    if plan.jobs[0].start_s > 0:
        return Verdict(False, f"it would have to charge for {plan.jobs[0].start_s:.0f} s first", median_j)
    return Verdict(True, "", median_j, plan.jobs[0].energy_j)
