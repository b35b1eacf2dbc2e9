"""`FedJoules`: Flower's FedAvg with clients that are chosen by predicted joules, battery and deadline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from logging import INFO, WARNING
from typing import Any

try:
    from flwr.app import ConfigRecord, Message, MessageType, RecordDict
    from flwr.common import log
    from flwr.serverapp.strategy import FedAvg
except ImportError as e:
    raise ImportError("ampere.federated.FedJoules is a strategy of Flower, 1.41 or newer: pip install flwr") from e

from .. import _core
from .admission import Verdict, admit, widened
from .client import ACTION, RECORD
from .costs import Costs
from .reasons import advice, commonest, in_one_line
from .report import Report
from .turns import Turns

__all__ = ["FedJoules", "Round"]

LONGEST_REST = 16  # rounds


@dataclass
class Round:
    """What was decided before a round."""

    number: int
    chosen: dict[int, Verdict] = field(default_factory=dict)  # by node
    refused: dict[int, str] = field(default_factory=dict)  # and why
    asked: int = 0  # messages

    @property
    def energy_j(self) -> float:
        """Predicted, of all that were chosen."""
        return sum(verdict.energy_j for verdict in self.chosen.values())


class FedJoules(FedAvg):
    """Each round: those whose turn it is (ampere.federated.Turns) are asked for their battery, and take part if the
    round keeps to its reserve and its deadline with probability 1 - risk (ampere.federated.admit). Others follow until
    there are enough.

    costs       joules and seconds of a client's round: StoredCosts, or any function of a Report
    deadline_s  of a round, from its beginning
    risk        how often a client's battery may fall under its reserve, or its round end too late
    unit_spread  by how much a device may differ from the profile of its kind, as the deviation of a logarithm
    thrift      how much joules count among those that could take part, see ampere.federated.turns
    ask_timeout_s   a client that does not answer within it sits out
    seed        of draws between clients that are equal

    All else is FedAvg's; how many take part is what `fraction_train` and `min_train_nodes` say. `rounds` tells
    afterwards who was chosen, who was not, and why.
    """

    def __init__(
        self,
        costs: Costs,
        *,
        deadline_s: float,
        risk: float = 0.05,
        unit_spread: float = 0.2,
        thrift: float = 1.0,
        ask_timeout_s: float = 60.0,
        seed: int | None = None,
        **fed_avg: Any,
    ) -> None:
        super().__init__(**fed_avg)
        if not deadline_s > 0:
            raise ValueError(f"a deadline is more than 0 seconds, not {deadline_s}")
        if not 1e-4 <= risk <= 0.5:
            raise ValueError(f"a risk lies between 0.0001 and 0.5, not {risk}")
        self.costs, self.deadline_s, self.risk, self.ask_timeout_s = costs, deadline_s, risk, ask_timeout_s
        if unit_spread < 0:
            raise ValueError(f"a spread is 0 or more, not {unit_spread}")
        self.unit_spread = unit_spread
        self.turns = Turns(thrift, seed)
        self.reports: dict[int, Report] = {}  # the last one of each node
        self.rests: dict[int, int] = {}  # rounds for which a node is not asked, twice as many after each refusal
        self.rests_until: dict[int, int] = {}
        self.rounds: list[Round] = []

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        if self.fraction_train == 0.0:
            return []
        nodes = self.wait_for_nodes(grid)
        wanted = max(int(len(nodes) * self.fraction_train), self.min_train_nodes)
        config["server-round"] = server_round
        this = Round(server_round)
        self.choose(this, nodes, wanted, config, grid)
        for node, verdict in this.chosen.items():
            self.turns.took(node, self.price(self.reports[node], verdict))
        self.rounds.append(this)
        log(
            INFO,
            "configure_train: chose %s of %s nodes for %.3g J, refused %s, asked %s",
            len(this.chosen),
            len(nodes),
            this.energy_j,
            len(this.refused),
            this.asked,
        )
        if not this.chosen and this.refused:  # Flower goes on, and would end as if all were well
            why, count = commonest(this.refused.values())
            log(
                WARNING,
                "configure_train: nobody trains in round %s, %s of %s nodes because: %s%s",
                server_round,
                count,
                len(nodes),
                why,
                f". {hint}" if (hint := advice(why)) else "",
            )
        record = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})
        messages: Iterable[Any] = self._construct_messages(record, list(this.chosen), MessageType.TRAIN)
        return messages

    def choose(self, this: Round, nodes: Sequence[int], wanted: int, config: Any, grid: Any) -> None:
        """Only clients that were never heard of are all asked, since nobody knows what they are; of the others those
        whose turn it is, a few more than needed, so that a large fleet is left in peace."""
        fresh = self.ask([node for node in nodes if node not in self.reports], this, config, grid)
        waiting = self.in_turn(nodes, this)
        # Who was refused lately has hardly charged since: only if nobody else is left.
        waiting.sort(key=lambda node: self.rests_until.get(node, 0) > this.number)
        while waiting and len(this.chosen) < wanted:
            missing = wanted - len(this.chosen)
            next_ones, waiting = waiting[: 2 * missing], waiting[2 * missing :]
            fresh |= self.ask([node for node in next_ones if node not in fresh], this, config, grid)
            for node in next_ones:
                if len(this.chosen) == wanted:
                    break
                verdict = self.verdict(self.reports[node]) if node in fresh else Verdict(False, this.refused[node])
                if verdict.admitted:
                    this.chosen[node] = verdict
                    self.rests.pop(node, None)
                else:
                    this.refused[node] = verdict.why
                    self.rests[node] = min(LONGEST_REST, 2 * self.rests.get(node, 1))
                    self.rests_until[node] = this.number + self.rests[node]

    def in_turn(self, nodes: Sequence[int], this: Round) -> list[int]:
        prices = {}
        for node in nodes:
            if node not in self.reports:
                continue
            try:
                prices[node] = self.turns.price(
                    self.costs(self.reports[node]).energy_j.median, self.reports[node].samples
                )
            except _core.Error as e:
                this.refused[node] = in_one_line(str(e))
        return self.turns.order(prices)

    def verdict(self, report: Report) -> Verdict:
        try:
            return admit(report, widened(self.costs(report), self.unit_spread), self.deadline_s, self.risk)
        except _core.Error as e:  # a report that makes no sense harms nobody else
            return Verdict(False, in_one_line(str(e)))

    def price(self, report: Report, verdict: Verdict) -> float:
        return self.turns.price(verdict.energy_j, report.samples)

    def ask(self, nodes: Sequence[int], this: Round, config: Any, grid: Any) -> set[int]:
        """Those that answered; their reports are kept."""
        if not nodes:
            return set()
        this.asked += len(nodes)
        content = RecordDict({self.configrecord_key: config})
        messages = [Message(content=content, message_type=f"query.{ACTION}", dst_node_id=node) for node in nodes]
        answered = set()
        for reply in grid.send_and_receive(messages, timeout=self.ask_timeout_s):
            node = reply.metadata.src_node_id
            if reply.has_error():
                this.refused[node] = in_one_line(f"its answer was an error: {reply.error.reason}")
                continue
            if RECORD not in reply.content.config_records:
                this.refused[node] = "its answer has no report"
                continue
            try:
                self.reports[node] = Report.from_record(reply.content.config_records[RECORD])
            except _core.Error as e:
                this.refused[node] = in_one_line(str(e))
                continue
            answered.add(node)
        for node in nodes:
            if node not in answered:
                this.refused.setdefault(node, "it did not answer")
        return answered

    def wait_for_nodes(self, grid: Any) -> list[int]:
        """Clients come one by one when a run begins; choosing too early would train nobody, without an error."""
        while len(nodes := sorted(grid.get_node_ids())) < max(1, self.min_available_nodes):
            log(INFO, "Waiting for nodes to connect: %s of %s are here.", len(nodes), self.min_available_nodes)
            time.sleep(1)
        return nodes
