"""Whose turn it is: few joules, and still everybody's data.

The model must see the data of all clients, also of those whose devices take many joules. So clients are not ranked by
joules alone, which would train on the thriftiest few for ever: each has an account of what its data has cost so far, in
joules per sample, and those come next whose account would be lowest after this round. Clients that take four times the
joules for the same data take a quarter of the turns, nobody takes none, and who had to sit out (a low battery, a night
without a network) comes first once it is back.

`thrift` says how much joules count. A turn is charged with (joules per sample) ** thrift: at 1 all data pays the same
joules; at 0 all clients take the same number of turns, whatever they cost; at 0.5 turns are shared out as survey
statisticians do it with places that cost unlike much to visit (Neyman's allocation: as often as 1 / sqrt(cost)), which
makes the mean over all clients surest for the joules spent, if nothing is known of how their data differs.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Client = TypeVar("Client", bound=Hashable)


class Turns:
    def __init__(self, thrift: float = 1.0, seed: int | None = None) -> None:
        if thrift < 0:
            raise ValueError(f"thrift is 0 or more, not {thrift}")
        self.thrift = thrift
        self.random = random.Random(seed)
        self.accounts: dict[Hashable, float] = {}

    def price(self, energy_j: float, samples: int) -> float:
        return float((energy_j / max(1, samples)) ** self.thrift)

    def order(self, prices: Mapping[Client, float]) -> list[Client]:
        """All of them, who should come next first; equals in an order that is drawn anew."""
        clients: Iterable[Client] = prices
        drawn = [(self.accounts.get(client, 0.0) + prices[client], self.random.random(), client) for client in clients]
        return [client for *_, client in sorted(drawn, key=lambda entry: entry[:2])]

    def took(self, client: Hashable, price: float) -> None:
        self.accounts[client] = self.accounts.get(client, 0.0) + price
