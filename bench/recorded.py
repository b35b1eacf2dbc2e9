#!/usr/bin/env python3
"""Fourteen evaluations recorded on an H200, estimated again from their points, as a Markdown table.

    cmake --preset bench && cmake --build --preset bench --target recorded
    bench/recorded.py [PROGRAM]

PROGRAM is bench/accuracy's `recorded`, build/bench/bin/recorded unless told.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "h200"
# The points that each evaluation was made from, or the nearest that were kept.
EVALUATIONS = [
    ("points_families_9008", "sgd-fp32-t1", ["har-b10", "lenet5-b10", "cnn5-b10", "cnn5-b256", "lstm-b10",
                                             "transformer-b10"]),
    ("points_families_9008", "sgd-fp32-autotune-t1", ["transformer-b10-autotune"]),
    ("points_families", "sgd-fp32-autotune-t1", ["har-b10-autotune", "lenet5-b10-autotune", "cnn5-b10-autotune",
                                                 "lstm-b10-autotune"]),
    ("points", "sgd-fp32-autotune-t1", ["cnn5-b256-autotune"]),
    ("points_resnet_9009", "sgd-fp32-t1", ["resnet18-cifar-b32"]),
    ("points_resnet_9007", "sgd-fp32-t1", ["resnet34-cifar-b32"]),
]


def main() -> None:
    program = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bench/bin/recorded"
    print("| evaluation | networks | `split` | worst | time | held | `split-probe` | worst | time | held |\n"
          + "| --- " * 10 + "|")
    total = []
    for points, recipe, names in EVALUATIONS:
        for name in names:
            model, batch = re.match(r"(.*)-b(\d+)", name).groups()
            out = subprocess.run([program, RESULTS / f"{points}.csv", model, batch, recipe,
                                  RESULTS / f"{name}-replay.csv"], check=True, capture_output=True, text=True).stdout
            rows = re.findall(r"^split\S*\s+(\d+) networks, (\S+)% off, worst (\S+)%, time (\S+)%, held (\d+)", out, re.M)
            print(f"| {name} | {rows[0][0]} | " + " | ".join(f"{off}% | {worst}% | {time}% | {held}"
                                                             for _, off, worst, time, held in rows) + " |", flush=True)
            total.append([float(x) for row in rows for x in (row[0], row[1], row[3], row[4])])
    n = sum(row[0] for row in total)
    cells = [f"| mean | {n:.0f}"]
    for i in (0, 4):
        off, time = (sum(row[i + j] for row in total) / len(total) for j in (1, 2))
        cells.append(f"{off:.2f}% | | {time:.2f}% | {sum(row[i + 3] for row in total) / n:.1%}")
    print(" | ".join(cells) + " |")


if __name__ == "__main__":
    main()
