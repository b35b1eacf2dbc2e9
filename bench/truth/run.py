#!/usr/bin/env python3
"""Measures what training takes: networks x recipes x modes, one JSON line each, and a table at the end.

    python bench/truth/run.py --networks resnet50,bert_base@16 --recipes fp32,default,bf16 --out truth.jsonl
"""

import argparse
import contextlib
import gc
import json
import os
import platform
import sys
import time
import warnings

import counter
import loop
import networks
import recipes
import table
import torch
import torchvision

MODES = {"replay": loop.replay, "eager": loop.eager}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default="all", help="NAME or NAME@BATCH, by commas, or all")
    parser.add_argument("--recipes", default="default", help="by commas, or all")
    parser.add_argument("--modes", default="replay,eager", help="replay, eager or both")
    parser.add_argument("--seconds", type=float, default=2.0, help="of windows, for each run")
    parser.add_argument("--window-s", type=float, default=1.0, help="the shortest window")
    parser.add_argument("--limit-s", type=float, help="begin nothing after this many seconds")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu: times only")
    parser.add_argument("--out", default="truth.jsonl", help="lines are added at its end")
    parser.add_argument("--resume", action="store_true", help="leave out runs that --out has")
    parser.add_argument("--list", action="store_true", help="say which networks and recipes there are")
    return parser.parse_args()


def software() -> dict:
    try:
        from transformers import __version__ as transformers_version
    except ImportError:
        transformers_version = None
    return {
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "transformers": transformers_version,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
    }


def open_counter(device: torch.device):
    if device.type != "cuda":
        return counter.NoCounter()
    try:
        uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
        return counter.TickingCounter(counter.Card(uuid))
    except counter.CounterError as error:
        print(f"no energy, times only: {error}", file=sys.stderr)
        return counter.NoCounter()


def release(device: torch.device) -> None:
    """Gives back what the last network held."""
    gc.collect()
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def sound(device: torch.device) -> bool:
    """Whether the process can still use its device: a failed capture or kernel may have spoilt it for good."""
    try:
        torch.rand(8, device=device).sum().item()
        return True
    except RuntimeError:
        return False


def one_network(name: str, network: networks.Network, batch: int, recipe_name: str, modes: list[str],
                options: argparse.Namespace, meter, device: torch.device) -> list[dict]:
    """A row for each mode. What fails is a row too. Eager goes first: a failed capture can spoil the process."""
    recipe = recipes.RECIPES[recipe_name]
    rows = [{"kind": "run", "network": name, "batch": batch, "recipe": recipe_name, "mode": mode, "energy_j": None,
             "time_s": None, "error": None} for mode in sorted(modes)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(recipes.precision(recipe))
        try:
            torch.manual_seed(0)
            with device:
                module = network.build()
            training = recipes.Training(recipe, module.to(device), network.make_inputs(batch, device),
                                        network.make_targets(batch, device), network.loss, device)
        except Exception as error:
            for row in rows:
                row["error"] = told(error)
            return rows
        for row in rows:
            begin = time.perf_counter()
            try:
                row.update(MODES[row["mode"]](training, meter, options.seconds, options.window_s))
            except Exception as error:
                row["error"] = told(error)
            row["samples_per_step"] = batch * recipe.micro_batches
            row["trained_parameters"] = sum(parameter.numel() for parameter in training.parameters)
            if device.type == "cuda":
                row["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
            row["took_s"] = time.perf_counter() - begin
    return rows


def told(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]


def already(path: str) -> set[tuple]:
    if not os.path.exists(path):
        return set()
    return {(row["network"], row["batch"], row["recipe"], row["mode"]) for row in table.read(path)
            if row.get("kind") == "run"}


def names(text: str, known: dict, what: str) -> list[str]:
    chosen = list(known) if text == "all" else [name for name in text.split(",") if name]
    for name in chosen:
        if name not in known:
            sys.exit(f"no {what} {name!r}; there are {', '.join(known)}")
    return chosen


def main() -> int:
    options = arguments()
    if options.list:
        for name, network in networks.NETWORKS.items():
            print(f"{name:20} batch {network.batch:4}  {network.shape}")
        for name, recipe in recipes.RECIPES.items():
            print(f"{name:20} {recipe.about}")
        return 0
    begin = time.perf_counter()
    labels = list(networks.NETWORKS) if options.networks == "all" else options.networks.split(",")
    try:
        chosen = [networks.find(label) for label in labels if label]
    except ValueError as error:
        sys.exit(str(error))
    chosen_recipes = names(options.recipes, recipes.RECIPES, "recipe")
    chosen_modes = names(options.modes, MODES, "mode")
    warnings.filterwarnings("ignore")
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("no CUDA device; --device cpu runs the loops without energy")
    torch.zeros(1, device=device)  # brings the context up: a card with one draws more
    meter = open_counter(device)
    facts = {**software(), **meter.names()}
    have = already(options.out) if options.resume else set()
    rows, left = [], []
    with open(options.out, "a", encoding="utf-8") as out:

        def write(row: dict) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()

        idle_w = counter.idle_w(meter)
        write({"kind": "machine", "when": time.strftime("%Y-%m-%dT%H:%M:%S"), "idle_w": idle_w,
               "tick_s": meter.tick_s, "read_s": meter.read_s, **facts, **meter.state()})
        for name, network, batch in chosen:
            for recipe in chosen_recipes:
                modes = [mode for mode in chosen_modes if (name, batch, recipe, mode) not in have]
                if not modes:
                    continue
                if options.limit_s is not None and time.perf_counter() - begin > options.limit_s:
                    left.append(f"{name}@{batch} {recipe}")
                    continue
                for row in one_network(name, network, batch, recipe, modes, options, meter, device):
                    row = {**row, "idle_w": idle_w, **facts}
                    rows.append(row)
                    write(row)
                    print(table.line(row), file=sys.stderr, flush=True)
                if not sound(device):
                    again(options, time.perf_counter() - begin)
                release(device)
        write({"kind": "idle", "idle_w": counter.idle_w(meter), **meter.state()})
    if left:
        print(f"not begun within {options.limit_s} s: {', '.join(left)}", file=sys.stderr)
    print(table.text([row for row in table.read(options.out) if row.get("kind") == "run"] if options.resume else rows))
    return 1 if any(row["error"] and not row["error"].startswith(("CaptureFailed", "NotApplicable"))
                    for row in rows) else 0


def again(options: argparse.Namespace, spent_s: float) -> None:
    """Goes on in a fresh process with what is left."""
    print("the device does not answer any more; going on in a fresh process", file=sys.stderr, flush=True)
    command = [sys.executable, sys.argv[0], "--networks", options.networks, "--recipes", options.recipes,
               "--modes", options.modes, "--seconds", str(options.seconds), "--window-s", str(options.window_s),
               "--device", options.device, "--out", options.out, "--resume"]
    if options.limit_s is not None:
        command += ["--limit-s", str(max(0.0, options.limit_s - spent_s))]
    os.execv(sys.executable, command)


if __name__ == "__main__":
    sys.exit(main())
