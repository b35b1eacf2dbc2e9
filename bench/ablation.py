#!/usr/bin/env python3
"""What it is worth to measure a part as it runs in its network: in the memory layout that it has there, and on data
that is as far from the cache as there. Each network's parts are timed three times, and added up.

    python bench/ablation.py run --networks resnet50,bert_base --recipes default,bf16 --out ablation.jsonl
    python bench/ablation.py table ablation.jsonl truth.jsonl

`as it runs` is what ampere.estimate does; `cached` repeats one copy of each part, whose data stays in the cache where it
fits; `contiguous` lays all tensors out row by row. Against replayed steps of bench/truth.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "truth"))

WAYS = ["as it runs", "cached", "contiguous"]


def row_by_row(calls_text: str) -> str:
    body = json.loads(calls_text)
    for tensor in body.get("tensors", []):
        stride = 1
        for place in reversed(range(len(tensor["sizes"]))):
            tensor["strides"][place] = stride
            stride *= max(1, tensor["sizes"][place])
    return json.dumps(body)


def seconds_of(node: dict, way: str, asked) -> float:
    import torch

    from ampere.worker import measure
    from ampere.worker.metering import time_only

    cache_bytes = measure.cache_bytes
    if way == "contiguous":
        node = {**node, "calls": row_by_row(node["calls"])}
    try:
        if way == "cached":
            measure.cache_bytes = lambda device: 0
        work, _, _ = measure.part_work(node, torch.device("cuda"), "replay")
        return statistics.median(time_only(work, asked).times)
    finally:
        measure.cache_bytes = cache_bytes
        torch.cuda.empty_cache()


def run(options: argparse.Namespace) -> None:
    import torch
    from networks import NETWORKS
    from recipes import RECIPES, precision

    from ampere.estimating import captured_network
    from ampere.worker import measure
    from ampere.worker.metering import Asked

    measure.part_seconds = lambda part: 0.0  # how long the host takes is another question
    asked = Asked(0.03, 0.02, 0.1, 0.01, 1, 1, True)
    with open(options.out, "a", encoding="utf-8") as out:
        for recipe_name in options.recipes.split(","):
            for name in options.networks.split(","):
                network, recipe = NETWORKS[name], RECIPES[recipe_name]
                with torch.device("meta"):
                    module = network.build()
                inputs = network.make_inputs(network.batch, torch.device("cpu"))
                targets = network.make_targets(network.batch, torch.device("cpu"))
                word = {torch.bfloat16: "bf16"}.get(recipe.autocast, "fp32" if recipe.strict_fp32 else "default")
                found = captured_network(
                    module, inputs, lambda y: network.loss(y, targets), "sgd", word, "cuda", 1, None, None
                )
                parts = [n for n in found.network["nodes"] if n["op"] == "calls" and not n.get("host")]
                row: dict = {"network": name, "batch": network.batch, "recipe": recipe_name, "failed": {}}
                with precision(recipe):
                    for way in WAYS:
                        seen: dict[str, float] = {}
                        for node in parts:
                            if node["calls"] not in seen:
                                try:
                                    seen[node["calls"]] = seconds_of(node, way, asked)
                                except Exception as e:  # a layout that a call refuses
                                    seen[node["calls"]] = float("nan")
                                    row["failed"].setdefault(way, []).append(f"{node['name']}: {str(e)[:200]}")
                        row[way] = [seen[node["calls"]] for node in parts]
                print(name, recipe_name, {way: sum(row[way]) for way in WAYS}, flush=True)
                out.write(json.dumps(row) + "\n")
                out.flush()


def table(options: argparse.Namespace) -> None:
    truths = {}
    for line in open(options.truth, encoding="utf-8"):
        row = json.loads(line)
        if row.get("mode") == "replay" and "time_s" in row:
            truths[row["network"], row["batch"], row["recipe"]] = row["time_s"]
    print(f"  {'network':24} {'recipe':10} {'ms/step':>9}" + "".join(f" {way + ' %':>13}" for way in WAYS))
    errors: dict[str, list[float]] = {way: [] for way in WAYS}
    for line in open(options.rows, encoding="utf-8"):
        row = json.loads(line)
        truth = truths.get((row["network"], row["batch"], row["recipe"]))
        if truth is None:
            continue
        sums = {}
        for way in WAYS:  # what could not be run in a layout counts as it runs
            sums[way] = sum(s if s == s else own for s, own in zip(row[way], row["as it runs"]))
            errors[way].append(100 * (sums[way] / truth - 1))
        place = f"{row['network']}@{row['batch']}"
        print(
            f"  {place:24} {row['recipe']:10} {truth * 1e3:9.3f}"
            + "".join(f" {100 * (sums[way] / truth - 1):+13.1f}" for way in WAYS)
        )
    for way in WAYS:
        if errors[way]:
            off = statistics.fmean(abs(e) for e in errors[way])
            print(
                f"  {way}: {off:.1f}% off on average, bias {statistics.fmean(errors[way]):+.1f}%, {len(errors[way])} runs"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("run")
    verb.add_argument("--networks", required=True)
    verb.add_argument("--recipes", default="default")
    verb.add_argument("--out", required=True)
    verb = verbs.add_parser("table")
    verb.add_argument("rows")
    verb.add_argument("truth")
    options = parser.parse_args()
    run(options) if options.verb == "run" else table(options)


if __name__ == "__main__":
    main()
