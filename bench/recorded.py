#!/usr/bin/env python3
"""Evaluations recorded on an H200 and on a processor, estimated again from their points, as a Markdown table.

    cmake --preset bench && cmake --build --preset bench --target recorded
    bench/recorded.py [PROGRAM]

PROGRAM is bench/accuracy's `recorded`, build/bench/bin/recorded unless told.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
# By device, the points that each evaluation was made from, or the nearest that were kept.
EVALUATIONS = {
    "h200": [
        ("points_families_9008", "sgd-fp32-t1", ["har-b10", "lenet5-b10", "cnn5-b10", "cnn5-b256", "lstm-b10",
                                                 "transformer-b10"]),
        ("points_families_9008", "sgd-fp32-autotune-t1", ["transformer-b10-autotune"]),
        ("points_families", "sgd-fp32-autotune-t1", ["har-b10-autotune", "lenet5-b10-autotune", "cnn5-b10-autotune",
                                                     "lstm-b10-autotune"]),
        ("points", "sgd-fp32-autotune-t1", ["cnn5-b256-autotune"]),
        ("points_resnet_9009", "sgd-fp32-t1", ["resnet18-cifar-b32"]),
        ("points_resnet_9007", "sgd-fp32-t1", ["resnet34-cifar-b32"]),
    ],
    "cpu": [("points", "sgd-fp32-t1", ["cnn5-b10", "har-b10", "lenet5-b10", "lstm-b10"])],
}


def judged(program: pathlib.Path, device: str, points: str, recipe: str, name: str) -> list[tuple[str, ...]]:
    """Networks, error, worst, error of time and how many were held: by `split`, and where layers were probed by that."""
    model, batch = re.match(r"(.*)-b(\d+)", name).groups()
    evaluation = f"{name}-replay.csv" if device == "h200" else f"{name}.csv"
    out = subprocess.run([program, RESULTS / device / f"{points}.csv", model, batch, recipe, RESULTS / device / evaluation],
                         check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^split\S*\s+(\d+) networks, (\S+)% off, worst (\S+)%, time (\S+)%, held (\d+)", out, re.M)
    return rows if device == "h200" else rows[:1]


def mean_of(rows: list[tuple[str, ...]]) -> str:
    energy, time = (sum(float(row[i]) for row in rows) / len(rows) for i in (1, 3))
    return f"{energy:.2f}% | | {time:.2f}% | {sum(int(row[4]) for row in rows) / sum(int(row[0]) for row in rows):.1%}"


def main() -> None:
    program = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bench/bin/recorded"
    print("| evaluation | networks | `split` | worst | time | held | `split-probe` | worst | time | held |\n"
          + "| --- " * 10 + "|")
    for device, evaluations in EVALUATIONS.items():
        all_of_device = []
        for points, recipe, names in evaluations:
            for name in names:
                rows = judged(program, device, points, recipe, name)
                all_of_device.append(rows)
                cells = [f"{off}% | {worst}% | {time}% | {held}" for _, off, worst, time, held in rows]
                print(f"| {device}, {name} | {rows[0][0]} | " + " | ".join(cells) + " |", flush=True)
        means = [mean_of(list(rows)) for rows in zip(*all_of_device)]
        print(f"| {device}, mean | {sum(int(rows[0][0]) for rows in all_of_device)} | " + " | ".join(means) + " |")


if __name__ == "__main__":
    main()
