"""The server of the simulation: runs each strategy with each seed, and writes down what it took."""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import sys

import data
import flwr
import network
import torch
from battery import DEADLINE_S
from boards import boards, make_store
from costs import stored_costs
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from strategies import FlopsCosts, RandomChoice

import ampere
from ampere.federated import FedJoules, StoredCosts

SETTINGS = ("clients", "samples", "chosen", "target", "risk", "spread", "concentration", "tied")
MEAN_OF = 3  # rounds: with clients so unlike, the accuracy of a single one jumps


class Reached(Exception):
    """Flower's strategies know no other end than the last round."""


def serve(grid, asked: argparse.Namespace, store: pathlib.Path) -> None:
    devices = [device for device, _ in make_store(store, boards(asked.spread), asked.ampere)]
    costs = stored_costs(store)
    asked.out.mkdir(parents=True, exist_ok=True)
    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
        for name in asked.strategies.split(","):
            done = one_run(grid, asked, name, seed, costs, devices)
            file = asked.out / f"{name.replace(':', '-')}-{seed}.json"
            file.write_text(json.dumps(done, indent=1) + "\n")
            print(f"{name} {seed}: {done['rounds']} rounds, {done['spent_j']:.0f} J", file=sys.stderr, flush=True)


def strategy_of(name: str, asked: argparse.Namespace, seed: int, costs: StoredCosts, devices: list[str]) -> FedJoules:
    kind, _, thrift = name.partition(":")
    common = dict(
        deadline_s=DEADLINE_S,
        risk=asked.risk,
        seed=seed,
        thrift=float(thrift or 1),
        fraction_train=asked.chosen / asked.clients,
        min_train_nodes=asked.chosen,
        fraction_evaluate=0.0,
        min_available_nodes=asked.clients,
    )
    if kind == "random":
        return RandomChoice(costs, **common)
    return FedJoules(FlopsCosts(costs, devices) if kind == "flops" else costs, **common)


def one_run(grid, asked, name: str, seed: int, costs: StoredCosts, devices: list[str]) -> dict:
    strategy = strategy_of(name, asked, seed, costs, devices)
    images, labels = data.images("t10k")
    images, labels = images[: data.TEST_IMAGES], labels[: data.TEST_IMAGES]
    curve: list[float] = []

    def evaluate(number: int, arrays: ArrayRecord) -> MetricRecord:
        model = network.make()
        model.load_state_dict(arrays.to_torch_state_dict())
        curve.append(network.accuracy(model, images, labels))
        if len(curve) > MEAN_OF and sum(curve[-MEAN_OF:]) / MEAN_OF >= asked.target:
            raise Reached
        return MetricRecord({"accuracy": curve[-1]})

    config = {"run": f"{name}/{seed}", "seed": seed, "devices": devices}
    steps = [costs.estimate(device) for device in devices]
    config |= {"steps_j": [step.energy_j.value for step in steps], "steps_s": [step.time_s.value for step in steps]}
    config |= {"concentration": asked.concentration, "samples": asked.samples, "tied": asked.tied}
    reached = False
    try:
        strategy.start(
            grid,
            ArrayRecord(network.make(seed).state_dict()),
            num_rounds=asked.rounds,
            train_config=ConfigRecord(dict(config)),
            evaluate_fn=evaluate,
        )
    except Reached:
        reached = True
    clients = ledgers(grid, config)
    predicted = [round.energy_j for round in strategy.rounds]
    return {
        "strategy": name,
        "seed": seed,
        "date": datetime.date.today().isoformat(),
        "versions": {"ampere": ampere.__version__, "flwr": flwr.__version__, "torch": torch.__version__},
        **{key: getattr(asked, key) for key in SETTINGS},
        "reached": reached,
        "rounds": len(strategy.rounds),
        "spent_j": sum(c["spent_j"] for c in clients),
        "predicted_j": sum(predicted),
        "taken_part": int(sum(c["rounds"] for c in clients)),
        "died": int(sum(c["died"] for c in clients)),
        "late": int(sum(c["late"] for c in clients)),
        "under_reserve": int(sum(c["under_reserve"] for c in clients)),
        "refused": sum(len(round.refused) for round in strategy.rounds),
        "asked": sum(round.asked for round in strategy.rounds),
        "accuracy": [round(value, 4) for value in curve],
        "of_clients": {key: [int(c[key]) for c in clients] for key in ("rounds", "died", "late", "under_reserve")},
    }


def ledgers(grid, config: dict) -> list[dict]:
    content = RecordDict({"config": ConfigRecord(config)})
    messages = [Message(content, node, "query.ledger") for node in sorted(grid.get_node_ids())]
    replies = list(grid.send_and_receive(messages, timeout=600))
    odd = [reply.error.reason for reply in replies if reply.has_error()]
    if odd or len(replies) < len(messages):
        raise RuntimeError(f"{len(messages) - len(replies)} clients did not tell what they spent: {odd[:3]}")
    return [dict(reply.content["ledger"]) for reply in replies]
