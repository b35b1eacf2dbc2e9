#!/usr/bin/env python3
"""What training takes under power limits and locked clocks of an NVIDIA card: plain loops (bench/truth), one JSON line for
each network, precision and setting. Takes root. What was set before is put back whatever ends it.

    sudo python bench/limits/measure.py --out settings.jsonl --seconds 470      # again: goes on where it ended

Six networks x PyTorch's default and bf16 x five limits and two clocks are 84 rows of 4 s each and 12 networks to build.
--in-turn also searches as Zeus's power limit optimizer does, for the named networks: every limit from the most to the
least in steps of 25 W, ten steps to warm up and forty to measure each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator

from levers import Kept, Levers  # puts bench/truth on the path

import counter

NETWORKS = "resnet50@64,densenet121@64,convnext_tiny@64,vit_b_16@64,bert_base_512@16,gpt2@16"
PRECISIONS = "default,bf16"
LIMITS = (1.0, 11 / 14, 4 / 7, 3 / 7, 2 / 7)  # of the usual one: 700, 550, 400, 300 and 200 W of an H200
CLOCKS = (0.8, 0.6)  # of the highest
CLOCK_STEP_MHZ = 15
IN_TURN_STEP_W, IN_TURN_WARM_UP, IN_TURN_STEPS = 25, 10, 40  # the defaults of Zeus's GlobalPowerLimitOptimizer


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="settings.jsonl", help="lines are added at its end; rows that it has are left out")
    parser.add_argument("--seconds", type=float, default=470, help="by which all has ended")
    parser.add_argument("--networks", default=NETWORKS, help="NAME@BATCH of bench/truth, by commas")
    parser.add_argument("--precisions", default=PRECISIONS, help="recipes of bench/truth, by commas")
    parser.add_argument("--limits", help="watts, by commas; the first is the usual one")
    parser.add_argument("--clocks", help="megahertz, by commas")
    parser.add_argument("--settle", type=float, default=1.0, help="seconds of training after a change, not measured")
    parser.add_argument("--windows", type=float, default=2.0, help="seconds of windows for each row")
    parser.add_argument("--window-s", type=float, default=1.0, help="the shortest window")
    parser.add_argument("--in-turn", default="", help="networks to search limit by limit, too")
    parser.add_argument("--device", default="cuda", help="cpu: a dry run, with the library in AMPERE_NVML_LIBRARY")
    return parser.parse_args()


def settings_of(options: argparse.Namespace, levers: Levers) -> list[dict]:
    """The usual limit first: what is known when time runs out early."""
    if options.limits:
        limits = [float(word) for word in options.limits.split(",")]
    else:
        limits = [max(levers.least_w, 5 * round(share * levers.usual_w / 5)) for share in LIMITS]
    if options.clocks:
        clocks = [float(word) for word in options.clocks.split(",")]
    else:
        clocks = [CLOCK_STEP_MHZ * round(share * levers.most_mhz / CLOCK_STEP_MHZ) for share in CLOCKS]
    return [{"limit_w": watts} for watts in dict.fromkeys(limits)] + [{"clock_mhz": clock} for clock in dict.fromkeys(clocks)]


def apply(levers: Levers, setting: dict) -> None:
    levers.set_limit(setting.get("limit_w", levers.usual_w))
    if "clock_mhz" in setting:
        levers.lock_clock(setting["clock_mhz"])
    else:
        levers.release_clock()


def already(path: str) -> set[tuple]:
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {key_of(json.loads(line)) for line in file if line.strip()}


def key_of(row: dict) -> tuple:
    return tuple(row.get(field) for field in ("kind", "name", "batch", "precision", "limit_w", "clock_mhz"))


class Bench:
    """Networks on the card, one at a time."""

    def __init__(self, options: argparse.Namespace):
        import torch

        self.options, self.torch, self.device = options, torch, torch.device(options.device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            sys.exit("measure: no CUDA device; --device cpu with a made-up driver is a dry run")
        torch.zeros(1, device=self.device)

    def uuid(self) -> str | None:
        return f"GPU-{self.torch.cuda.get_device_properties(self.device).uuid}" if self.device.type == "cuda" else None

    def training(self, label: str, precision: str):
        """The network, ready to be trained; built anew, so that no row inherits another's memory."""
        import networks
        import recipes

        name, network, batch = networks.find(label)
        self.torch.manual_seed(0)
        with self.device:
            module = network.build()
        return name, batch, recipes.Training(recipes.RECIPES[precision], module.to(self.device),
                                             network.make_inputs(batch, self.device),
                                             network.make_targets(batch, self.device), network.loss, self.device)

    def step_of(self, training):
        optimizer, scaler = training.optimizer(captured=False), training.scaler()
        return lambda: training.step(optimizer, scaler)

    def row(self, step, meter) -> dict:
        """Settled first: a card takes a moment to find its clocks under another limit."""
        import loop

        begin = time.perf_counter()
        loop.warm_up(step, self.device, 2, self.options.settle)
        found = loop.measure(step, self.device, meter, self.options.windows, self.options.window_s)
        kept = ("loss", "sm_clock_mhz", "power_limit_w", "temperature_c", "throttle_reasons")
        return {"joules": found["energy_j"], "seconds": found["time_s"], "scatter": found["energy_spread"],
                "time_scatter": found["time_spread"], "spent_s": time.perf_counter() - begin,
                **{field: found[field] for field in kept}}

    def in_turn(self, step, levers: Levers) -> dict:
        """As an optimizer does that tries every limit while the network trains. Steps are those of the training, so
        they are not lost; but most of them are made under other limits than the best one."""
        begin = time.perf_counter()
        found = []
        watts = levers.most_w
        while watts >= levers.least_w:
            levers.set_limit(watts)
            self.steps(step, IN_TURN_WARM_UP)
            first_j, first_s = levers.energy_j(), time.perf_counter()
            self.steps(step, IN_TURN_STEPS)
            last_j, last_s = levers.energy_j(), time.perf_counter()
            found.append([watts, (last_j - first_j) / IN_TURN_STEPS, (last_s - first_s) / IN_TURN_STEPS])
            watts -= IN_TURN_STEP_W
        return {"search_s": time.perf_counter() - begin, "tried": found}

    def steps(self, step, count: int) -> None:
        for _ in range(count):
            step()
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def release(self) -> None:
        import gc

        gc.collect()
        if self.device.type == "cuda":
            self.torch.cuda.empty_cache()


def wanted(options: argparse.Namespace, settings: list[dict], have: set[tuple]) -> Iterator[tuple[str, str, list[dict]]]:
    """Network, precision, and the settings that are missing. Networks come whole: a file that ends early can be used."""
    for label in options.networks.split(","):
        name, _, batch = label.partition("@")
        if not batch.isdigit():
            sys.exit(f'measure: "{label}" must say its batch: {label.rstrip("@")}@32')
        for precision in options.precisions.split(","):
            head = {"name": name, "batch": int(batch), "precision": precision}
            missing = [setting for setting in settings if key_of({**head, **setting}) not in have]
            searched = label in options.in_turn.split(",") and key_of({"kind": "in_turn", **head}) not in have
            if missing or searched:
                yield label, precision, missing + ([{"in_turn": True}] if searched else [])


def run(options: argparse.Namespace, begin: float) -> list[str]:
    """What was not measured in time."""
    first = Levers()
    first.set_limit(first.limit_w)  # whether this is permitted is known before PyTorch is loaded
    bench = Bench(options)
    left: list[str] = []
    with Kept(bench.uuid()), open(options.out, "a", encoding="utf-8") as out:
        levers = Levers(bench.uuid())
        settings = settings_of(options, levers)
        meter = counter.TickingCounter(levers)

        def write(row: dict) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()

        have = already(options.out)
        write({"kind": "machine", "when": time.strftime("%Y-%m-%dT%H:%M:%S"), "torch": bench.torch.__version__,
               "tick_s": meter.tick_s, "read_s": meter.read_s, **levers.facts()})
        longest_s = options.settle + options.windows + 2
        for label, precision, missing in wanted(options, settings, have):
            step = None
            for setting in missing:
                what = f"{label} {precision} {setting}"
                if time.perf_counter() - begin + longest_s > options.seconds:
                    left.append(what)
                    continue
                if step is None:
                    apply(levers, settings[0])
                    name, batch, training = bench.training(label, precision)
                    step = bench.step_of(training)
                row = {"name": name, "batch": batch, "precision": precision}
                if "in_turn" in setting:
                    levers.release_clock()
                    write({"kind": "in_turn", **row, **bench.in_turn(step, levers)})
                    continue
                apply(levers, setting)
                row = {**row, **setting, **bench.row(step, meter)}
                longest_s = max(longest_s, row["spent_s"])
                write(row)
                print(f"{what:60} {row['joules']:9.4g} J {1e3 * row['seconds']:9.4g} ms", file=sys.stderr, flush=True)
            step = training = None
            bench.release()
    return left


def main() -> int:
    begin = time.perf_counter()
    options = arguments()
    try:
        left = run(options, begin)
    except PermissionError as error:
        sys.exit(f"measure: {error}")
    except counter.CounterError as error:
        sys.exit(f"measure: {error}")
    if left:
        print(f"{len(left)} rows did not fit into {options.seconds:g} s, from {left[0]} on; the same command measures them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
