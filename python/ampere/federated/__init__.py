"""Rounds of federated learning whose clients are chosen by predicted joules, battery and deadline.

On the server, with Flower:

    import ampere.federated, flwr.app

    costs = ampere.federated.StoredCosts(ampere.Model.load("lenet5"), batch=16, epochs=2, store="profiles.db")
    strategy = ampere.federated.FedJoules(costs, deadline_s=600, risk=0.05, fraction_train=0.05)
    strategy.start(grid, flwr.app.ArrayRecord(model.state_dict()), num_rounds=50)

On each client, which tells what it is and how full its battery is when the server asks:

    app = flwr.clientapp.ClientApp()
    reporter = ampere.federated.Reporter(samples=len(data))
    ampere.federated.answer_queries(app, lambda context, config: reporter())

Only `FedJoules` and `answer_queries` need Flower (pip install flwr), which is imported when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .admission import Verdict, admit, widened
from .battery import BatteryState, read_battery
from .costs import Costs, StoredCosts
from .report import Report, Reporter
from .turns import Turns

if TYPE_CHECKING:
    from .client import answer_queries
    from .strategy import FedJoules

__all__ = [
    "BatteryState",
    "Costs",
    "Report",
    "Reporter",
    "StoredCosts",
    "Turns",
    "Verdict",
    "admit",
    "read_battery",
    "widened",
]

_LAZY = {"FedJoules": "strategy", "answer_queries": "client"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
