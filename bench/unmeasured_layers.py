#!/usr/bin/env python3
"""Networks of the zoo and of files that nobody has measured, as what else is in a store tells them, beside what training
them really took.

usage: bench/unmeasured_layers.py recorded results/h200/files.json --store h200.db    measured before, by tools/compare_files
       bench/unmeasured_layers.py here NETWORK@BATCH... --store cpu.db                measured now, by ampere measure
       [--ampere PROGRAM] [--worker COMMAND]
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRAPHS = ROOT / "tests" / "data" / "onnx"
UNSTABLE = 5  # measured all the same, and told so


def told(arguments, network, batch, recipe):
    precision = recipe.split("-")[1]
    return run(arguments, "estimate", network, "--batch", batch, "--precision", precision, "--store", arguments.store)


def run(arguments, *words):
    done = subprocess.run([arguments.ampere, *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, UNSTABLE):
        sys.exit(f"unmeasured_layers: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def recorded(arguments):
    for row in json.loads(pathlib.Path(arguments.what[0]).read_text(encoding="utf-8")):
        graph = GRAPHS / (row["network"] + ".onnx")
        yield row["network"], row, told(arguments, graph, row["batch"], row["recipe"])


def here(arguments):
    for word in arguments.what:
        network, _, batch = word.partition("@")
        options = ["--worker", arguments.worker] if arguments.worker else []
        estimate = told(arguments, network, batch or 1, "sgd-default")
        yield pathlib.Path(network).name.removesuffix(".onnx"), {**run(arguments, "measure", network, "--batch", batch or 1, *options), "batch": batch or 1}, estimate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=["recorded", "here"])
    parser.add_argument("what", nargs="+")
    parser.add_argument("--store", required=True)
    parser.add_argument("--ampere", default="ampere")
    parser.add_argument("--worker", default="")
    arguments = parser.parse_args()
    print("| network | batch | measured | told (95% interval) | off | held | time off | never measured |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    errors, held = [], 0
    for network, row, estimate in {"recorded": recorded, "here": here}[arguments.how](arguments):
        it = estimate["iteration"]
        errors.append(it["energy_j"] / row["energy_j"] - 1)
        inside = it["energy_low_j"] <= row["energy_j"] <= it["energy_high_j"]
        held += inside
        print(
            f"| {network} | {row['batch']} | {row['energy_j']:.4g} J | {it['energy_j']:.4g} J ({it['energy_low_j']:.4g} to "
            f"{it['energy_high_j']:.4g}) | {errors[-1]:+.1%} | {'yes' if inside else 'no'} | "
            f"{it['time_s'] / row['time_s'] - 1:+.1%} | {estimate['unmeasured']:.0%} |",
            flush=True,
        )
    sizes = sorted(abs(e) for e in errors)
    print(
        f"\n{len(sizes)} networks: mean absolute error {sum(sizes) / len(sizes):.1%}, median {sizes[len(sizes) // 2]:.1%}, "
        f"worst {sizes[-1]:.1%}; {held} held by their intervals"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
