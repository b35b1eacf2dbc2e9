#!/usr/bin/env python3
"""Estimates the networks of bench/truth with ampere.estimate, one JSON line each, for bench/truth/table.py to join.

    python bench/estimates.py --networks resnet50,bert_base --recipes default,bf16 --out estimates.jsonl

What is asked of ampere is what a user has: a module, a batch of inputs, a loss, an optimizer. Where nothing was measured
before, each part is measured now, which is told in `seconds`.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "truth"))

import torch  # noqa: E402
from networks import NETWORKS  # noqa: E402
from pace import pace_s  # noqa: E402
from recipes import RECIPES, NotApplicable, add_lora  # noqa: E402

import ampere  # noqa: E402

paces: list[float] = []  # of the host, after each estimate


def estimate(name: str, recipe_name: str, device: str, store: str, probe: bool) -> dict:
    name, _, batch_text = name.partition("@")
    network, recipe = NETWORKS[name], RECIPES[recipe_name]
    batch = int(batch_text) if batch_text else network.batch
    try:
        with torch.device("meta"):
            module = network.build()
    except NotImplementedError:  # some look at their own values while they are built
        module = network.build()
    inputs = network.make_inputs(batch, torch.device("cpu"))
    targets = network.make_targets(batch, torch.device("cpu"))
    if recipe.lora:
        add_lora(module)
    if recipe.channels_last:
        if not any(value.dim() == 4 for value in inputs.values()):
            raise NotApplicable("channels last is for images")
        module = module.to(memory_format=torch.channels_last)
        inputs = {
            key: value.to(memory_format=torch.channels_last) if value.dim() == 4 else value
            for key, value in inputs.items()
        }
    precision = (
        "fp32"
        if recipe.strict_fp32
        else {torch.bfloat16: "bf16", torch.float16: "fp16"}.get(recipe.autocast, "default")
    )
    start = time.monotonic()
    found = ampere.estimate(
        module,
        inputs,
        loss=lambda output: network.loss(output, targets),
        precision=precision,
        device=device,
        store=store,
        optimizer="adamw" if recipe.adamw else "sgd",
        accumulate=recipe.micro_batches,
        compile=recipe.compile,
        probe=probe,
    )
    seconds = time.monotonic() - start
    paces.append(pace_s(torch.device(device)))
    common = {
        "network": name,
        "batch": batch,
        "recipe": recipe_name,
        "seconds": seconds,
        "pace_s": statistics.median(paces),
        "notes": found.notes,
        "device_energy_j": found.device_energy_j,
        "device_time_s": found.device_time_s,
        "host_time_s": found.host_time_s,
        "idle_w": found.estimate.idle_power_w,
        "parts": len(found.estimate.layers),
        "measured": found.estimate.probed.measured if found.estimate.probed else 0,
        "measuring_s": found.estimate.probed.seconds if found.estimate.probed else 0,
    }
    low, high = found.interval()
    time_low, time_high = found.time_interval()
    replayed = found.in_mode("replay")
    replayed_low, replayed_high = replayed.interval()
    rows = [
        {
            **common,
            "mode": "replay",
            "energy_j": replayed.energy_j,
            "time_s": replayed.time_s,
            "low": replayed_low,
            "high": replayed_high,
        },
        {
            **common,
            "mode": "eager",
            "energy_j": found.energy_j,
            "time_s": found.time_s,
            "low": low,
            "high": high,
            "time_low": time_low,
            "time_high": time_high,
        },
    ]
    return {
        "rows": rows,
        "text": f"{name}@{batch:<5} {recipe_name:14} {found.energy_j:10.4f} J  {found.time_s * 1e3:9.3f} ms  "
        f"device {found.device_energy_j:10.4f} J {found.device_time_s * 1e3:9.3f} ms  host {found.host_time_s * 1e3:8.3f} ms  "
        f"{common['measured']} of {common['parts']} parts measured in {common['measuring_s']:.1f} of {seconds:.0f} s",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", required=True, help="of bench/truth, comma separated, NAME or NAME@BATCH")
    parser.add_argument("--recipes", default="default")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--store", default="")
    parser.add_argument("--probe", action="store_true", help="measure what is least sure, 0.15 s a part at most")
    parser.add_argument("--out", required=True)
    parser.add_argument("--limit-s", type=float, default=float("inf"))
    options = parser.parse_args()
    start, failed = time.monotonic(), 0
    with open(options.out, "a", encoding="utf-8") as out:
        for recipe in options.recipes.split(","):
            for name in options.networks.split(","):
                if time.monotonic() - start > options.limit_s:
                    print("out of time", flush=True)
                    return 1
                try:
                    found = estimate(name, recipe, options.device, options.store, options.probe)
                    print(found["text"], flush=True)
                    for row in found["rows"]:
                        out.write(json.dumps(row) + "\n")
                    out.flush()
                except NotApplicable as e:
                    print(f"{name} {recipe}: {e}", flush=True)
                except Exception as e:
                    failed += 1
                    print(f"{name} {recipe}: {type(e).__name__}: {e}\n{traceback.format_exc()[-1500:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
