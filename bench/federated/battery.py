"""A client's battery: what the background draws, when it hangs at a charger, what a round takes out of it. All draws
depend on the seed, the client and the round alone, so every strategy meets the same days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PERIOD_S = 600.0  # from the beginning of a round to that of the next
DEADLINE_S = 90.0
RESERVE = 0.2  # of the capacity
CHARGER_W = 1.0
PLUGGED = 0.03  # how likely a client is at its charger for a period
BACKGROUND_SPREAD = 0.5  # deviation of the logarithm, from period to period
Z95 = 1.645


@dataclass
class Nature:
    """What a client has, for the whole run."""

    capacity_j: float
    first_charge_j: float
    background_w: float  # the median

    @staticmethod
    def of(seed: int, client: int) -> Nature:
        rng = np.random.default_rng([seed, client, 4])
        capacity_j = rng.uniform(300, 900)  # 22 to 68 mAh at 3.7 V: a network as small as ours can empty them
        return Nature(capacity_j, rng.uniform(0.15, 1) * capacity_j, rng.uniform(0.02, 0.06))

    @property
    def reserve_j(self) -> float:
        return RESERVE * self.capacity_j

    @property
    def most_background_w(self) -> float:
        """What the client tells the server: the background stays under it in 95 of 100 periods."""
        return self.background_w * float(np.exp(Z95 * BACKGROUND_SPREAD))


def weather(nature: Nature, seed: int, client: int, number: int) -> tuple[float, float]:
    """Watts that are drawn and watts that come in, in the period of a round."""
    rng = np.random.default_rng([seed, client, 5, number])
    background_w = nature.background_w * float(np.exp(BACKGROUND_SPREAD * rng.standard_normal()))
    return background_w, CHARGER_W if rng.random() < PLUGGED else 0.0


def later(nature: Nature, charge_j: float, seed: int, client: int, begin: int, end: int) -> float:
    """The charge at the beginning of round `end`, from that of round `begin` on."""
    for number in range(begin, end):
        background_w, charger_w = weather(nature, seed, client, number)
        charge_j = min(nature.capacity_j, max(0.0, charge_j + PERIOD_S * (charger_w - background_w)))
    return charge_j


@dataclass
class Outcome:
    spent_j: float  # on training
    charge_j: float  # behind it
    died: bool
    late: bool
    under_reserve: bool


def take_round(
    nature: Nature, charge_j: float, energy_j: float, time_s: float, seed: int, client: int, number: int
) -> Outcome:
    """Training ends with the battery, or with the deadline, whichever is first."""
    background_w, charger_w = weather(nature, seed, client, number)
    lasts = min(1.0, DEADLINE_S / time_s)  # share of the training that is done
    drained_j = lasts * (energy_j + time_s * (background_w - charger_w))
    died = drained_j >= charge_j
    if died:
        lasts *= charge_j / drained_j
    left_j = charge_j - lasts * energy_j  # the background of the period is taken by later()
    lowest_j = min(nature.capacity_j, charge_j - drained_j)
    return Outcome(lasts * energy_j, max(0.0, left_j), died, time_s > DEADLINE_S, lowest_j < nature.reserve_j)
