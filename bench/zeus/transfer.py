#!/usr/bin/env python3
"""How well is a GPU told by others and its data sheet, and how wide must the interval be?

    python bench/zeus/transfer.py FOLDER [--seeds 20]

FOLDER has Zeus's summary_power_*.csv (traces.py says from where). The split: all rows of three GPUs and n rows of the
fourth, drawn at random, are known; the fourth's other rows are judged by the mean of |predicted / measured - 1|, then
the mean over the four GPUs and all draws. Every draw is the same for both models.

ridge    ridge regression of the logarithm, penalty 10 on standardised columns: data set and batch (one indicator each),
         data set x GPU, optimizer, and the limit's logarithm with its square for each data set and each GPU
process  the Gaussian process of process.py around the data sheet
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from process import Transfer, terms  # noqa: E402
from traces import SHEETS, Traces, read  # noqa: E402

SAMPLES = (0, 5, 10, 20, 50)
QUANTITIES = ("energy", "time", "power")
Z95 = 1.959963984540054
PENALTY = 10.0


def columns(traces: Traces) -> np.ndarray:
    def indicators(*of: np.ndarray) -> np.ndarray:
        labels = ["|".join(map(str, each)) for each in zip(*of)]
        return np.array([[label == one for one in sorted(set(labels))] for label in labels], float)

    limit = traces.limit + np.log2(300) - traces.limit.max()
    powers = np.stack([limit, limit**2], axis=1)
    each = lambda hot: (hot[:, :, None] * powers[:, None, :]).reshape(len(hot), -1)  # noqa: E731
    workload, gpu = indicators(traces.workload), indicators(traces.gpu)
    return np.hstack(
        [workload, gpu, indicators(traces.optimizer), indicators(traces.workload, traces.batch), traces.batch[:, None]]
        + [indicators(traces.workload, traces.gpu), powers, each(workload), each(gpu)]
    )


def ridge(x: np.ndarray, y: np.ndarray, known: np.ndarray, asked: np.ndarray) -> np.ndarray:
    center, scale, level = x[known].mean(0), x[known].std(0) + 1e-9, y[known].mean()
    a = (x[known] - center) / scale
    weights = np.linalg.solve(a.T @ a + PENALTY * np.eye(a.shape[1]), a.T @ (y[known] - level))
    return (x[asked] - center) / scale @ weights + level - y[asked]


def waiting(traces: Traces) -> str:
    """MovieLens keeps hosts busy and GPUs waiting: what those draw, and how hosts differ."""
    rows = (traces.workload == "movielens-1m") & (traces.limit > -1e-6) & (traces.batch <= 10)
    share = {g: np.exp(np.median((traces.power - traces.sheet_power)[rows & (traces.gpu == g)])) for g in SHEETS}
    times = {g: dict(zip(traces.batch[rows & (traces.gpu == g)], traces.time[rows & (traces.gpu == g)])) for g in SHEETS}
    common = set.intersection(*(set(of_gpu) for of_gpu in times.values()))
    ratio = np.exp(np.median([np.ptp([of_gpu[batch] for of_gpu in times.values()]) for batch in common]))
    shares = ", ".join(f"{gpu} {100 * value:.0f}%" for gpu, value in share.items())
    return f"Waiting for the host (MovieLens, batch 1024 or less), of the limit: {shares}; slowest host over fastest {ratio:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    traces = read(options.folder)
    parts, x = terms(traces), columns(traces)
    print(f"{len(traces.gpu)} rows, {options.seeds} draws, numpy {np.__version__}, Python {platform.python_version()}\n")
    print("| | n | ridge | process | 95% interval, times or divided by (median) | held | held, worst GPU | process, by GPU |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    remarks = []
    for quantity in QUANTITIES:
        y, _ = traces.quantity(quantity)
        processes = {gpu: Transfer(traces, quantity, gpu, parts) for gpu in SHEETS}
        for gpu, process in processes.items():
            said = ", ".join(f"{name} {value:.2f}" for name, value in process.deviations.items())
            remarks.append(f"{quantity}, {gpu} left out: {said}")
        for n in SAMPLES:
            errors, ridges, widths, held = {}, {}, [], {}
            for gpu, process in processes.items():
                others, own = np.flatnonzero(traces.gpu != gpu), process.target
                for seed in range(options.seeds if n else 1):
                    order = np.random.default_rng(seed).permutation(len(own))
                    seen, asked = order[:n], order[n:]
                    off, deviation = process.told(seen, asked)
                    errors.setdefault(gpu, []).append(np.mean(np.abs(np.expm1(off))))
                    held.setdefault(gpu, []).append(np.mean(np.abs(off) < Z95 * deviation))
                    widths.append(np.median(np.exp(Z95 * deviation)))
                    plain = ridge(x, y, np.concatenate([others, own[seen]]), own[asked])
                    ridges.setdefault(gpu, []).append(np.mean(np.abs(np.expm1(plain))))
            mean = lambda by_gpu: np.mean([np.mean(values) for values in by_gpu.values()])  # noqa: E731
            worst = min(np.mean(values) for values in held.values())
            by_gpu = ", ".join(f"{gpu} {100 * np.mean(values):.0f}%" for gpu, values in errors.items())
            print(
                f"| {quantity} | {n} | {100 * mean(ridges):.1f}% | {100 * mean(errors):.1f}% | {np.mean(widths):.2f} "
                f"| {100 * mean(held):.0f}% | {100 * worst:.0f}% | {by_gpu} |",
                flush=True,
            )
    print("\n" + waiting(traces))
    print("\nDeviations as learned on the three known GPUs (logarithms):\n")
    print("\n".join(f"- {remark}" for remark in remarks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
