"""The client's side of Flower: answers the server's questions about device and battery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from flwr.app import ConfigRecord, Message, RecordDict
except ImportError as e:
    raise ImportError("ampere.federated is for Flower, 1.41 or newer: pip install flwr") from e

from .report import Report

ACTION = "ampere"  # messages of the type "query.ampere"
RECORD = "ampere"

__all__ = ["ACTION", "RECORD", "answer_queries"]


def answer_queries(app: Any, report: Callable[[Any, Any], Report]) -> None:
    """Lets a ClientApp answer FedJoules. `report(context, config)` tells how things are now: it is called with Flower's
    context of the client and the ConfigRecord that clients are trained with in this round."""

    @app.query(ACTION)  # type: ignore[untyped-decorator, unused-ignore]
    def query(message: Any, context: Any) -> Any:
        config = next(iter(message.content.config_records.values()), ConfigRecord())
        told = report(context, config)
        return Message(RecordDict({RECORD: ConfigRecord(told.to_record())}), reply_to=message)
