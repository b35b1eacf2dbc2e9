"""The simulated client: trains for real on its share of Fashion-MNIST, and pays for it from its battery."""

from __future__ import annotations

import data
import network
import torch
from battery import Nature, later, take_round
from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from truth import round_takes

from ampere.federated import Report, answer_queries

app = ClientApp()
LEDGER = ("rounds", "spent_j", "died", "late", "under_reserve")


class Simulated:
    """One client of one run. What changes is kept in Flower's context; another run begins anew."""

    def __init__(self, context: Context, config: ConfigRecord) -> None:
        self.client = int(context.node_config["partition-id"])
        self.clients = int(context.node_config["num-partitions"])
        self.config, self.seed = config, int(config["seed"])
        self.split = self.seed, float(config["concentration"]), int(config["samples"])
        self.nature = Nature.of(self.seed, self.client)
        state = context.state.config_records.get("client")
        if state is None or state["run"] != config["run"]:
            state = ConfigRecord({"run": config["run"], "round": 1, "charge_j": self.nature.first_charge_j})
            state.update({name: 0.0 for name in LEDGER})
            context.state["client"] = state
        self.state = state
        number = int(config.get("server-round", state["round"]))
        state["charge_j"] = later(self.nature, state["charge_j"], self.seed, self.client, int(state["round"]), number)
        state["round"] = max(number, int(state["round"]))

    def share(self):
        return data.shares(self.clients, *self.split)[self.client]

    def kind(self) -> int:
        kinds = len(self.config["devices"])
        if self.config["tied"]:
            return int(data.by_label(self.clients, *self.split)[self.client] * kinds / self.clients)
        return self.client % kinds  # in turn, whatever their sizes and labels: kinds say nothing about data

    def report(self) -> Report:
        return Report(
            device=self.config["devices"][self.kind()],
            samples=len(self.share()),
            has_battery=True,
            capacity_j=self.nature.capacity_j,
            charge_j=self.state["charge_j"],
            reserve_j=self.nature.reserve_j,
            background_w=self.nature.most_background_w,
        )


answer_queries(app, lambda context, config: Simulated(context, config).report())


@app.train()
def train(message: Message, context: Context) -> Message:
    torch.set_num_threads(1)
    config = message.content["config"]
    me = Simulated(context, config)
    number, mine = int(config["server-round"]), me.share()
    steps = network.EPOCHS * -(-len(mine) // network.BATCH)
    level = config["steps_j"][me.kind()], config["steps_s"][me.kind()]
    energy_j, time_s = round_takes(level, steps, me.seed, me.client, number)
    came = take_round(me.nature, me.state["charge_j"], energy_j, time_s, me.seed, me.client, number)
    me.state["charge_j"] = came.charge_j
    for name, value in (("rounds", 1), *((name, getattr(came, name)) for name in LEDGER[1:])):
        me.state[name] += float(value)
    if came.died or came.late:
        return Message(Error(code=0, reason="battery died" if came.died else "too late"), reply_to=message)
    images, labels = data.images("train")
    seed = (me.seed * 1000 + number) * 1000 + me.client
    model, trained = network.train(message.content["arrays"].to_torch_state_dict(), images[mine], labels[mine], seed)
    assert trained == steps
    metrics = MetricRecord({"num-examples": len(mine)})
    return Message(RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics}), reply_to=message)


@app.query("ledger")
def ledger(message: Message, context: Context) -> Message:
    """What this client spent in the run; for the table, no strategy sees it."""
    state = Simulated(context, message.content["config"]).state
    told = {name: state[name] for name in LEDGER}
    return Message(RecordDict({"ledger": ConfigRecord(told)}), reply_to=message)
