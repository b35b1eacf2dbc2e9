#!/usr/bin/env python3
"""Networks on four GPUs that AMPERE never met, from their data sheets alone, against Zeus's traces.

    python bench/zeus/networks.py FOLDER

Of the traced workloads those two whose step is known: ResNet-50 on ImageNet (1,281,167 images of 224 x 224, Adadelta) and
BERT on SQuAD (88,524 pieces of 384 words, AdamW); rows at the full power limit. PyTorch computed in TF32 where it could
then. Loading data, and what else an epoch has, is not in the estimate.
"""

from __future__ import annotations

import pathlib
import statistics
import sys

import numpy as np
import torch
from traces import SHEETS, read

import ampere

IMAGES, PIECES, WORDS = 1_281_167, 88_524, 384


def resnet50(batch: int):
    import torchvision

    inputs = torch.empty(batch, 3, 224, 224, device="meta")
    return torchvision.models.resnet50(), inputs, lambda parameters: torch.optim.Adadelta(parameters), IMAGES


def bert(batch: int):
    import transformers

    model = transformers.BertForQuestionAnswering(transformers.BertConfig())
    words = torch.ones(batch, WORDS, dtype=torch.long)
    places = torch.zeros(batch, dtype=torch.long)
    inputs = {"input_ids": words, "attention_mask": words, "start_positions": places, "end_positions": places}
    return model, inputs, "adamw", PIECES


WORKLOADS = {"imagenet": resnet50, "squad": bert}


def main() -> int:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    traces = read(pathlib.Path(sys.argv[1]))
    print("| | batch | GPU | energy of an epoch | told | time | told | held |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    offs: dict[str, list[float]] = {"energy": [], "time": []}
    held, widths = {"energy": 0, "time": 0}, []
    for workload, make in WORKLOADS.items():
        rows = (traces.workload == workload) & (traces.limit > -1e-6)
        for batch in sorted(set(traces.batch[rows]))[::2]:
            with torch.device("meta"):
                model, inputs, optimizer, samples = make(round(2**batch))
            for gpu, sheet in SHEETS.items():
                for at in np.flatnonzero(rows & (traces.gpu == gpu) & (traces.batch == batch)):
                    found = ampere.estimate(
                        model, inputs, optimizer=optimizer, precision="tf32", device=f"sheet:{sheet}"
                    )
                    steps = samples / 2**batch
                    truth = {"time": np.exp(traces.time[at]), "energy": np.exp(traces.time[at] + traces.power[at])}
                    told = {"time": found.time_s * steps, "energy": found.energy_j * steps}
                    bounds = {"time": found.time_interval(), "energy": found.interval()}
                    inside = {q: bounds[q][0] * steps <= truth[q] <= bounds[q][1] * steps for q in truth}
                    for quantity in truth:
                        offs[quantity].append(told[quantity] / truth[quantity] - 1)
                        held[quantity] += inside[quantity]
                    low, high = found.interval()
                    widths.append((high / low) ** 0.5)
                    print(
                        f"| {workload} | {2**batch:.0f} | {gpu} | {truth['energy'] / 1e3:.0f} kJ | {100 * offs['energy'][-1]:+.0f}% "
                        f"| {truth['time']:.0f} s | {100 * offs['time'][-1]:+.0f}% "
                        f"| {'yes' if all(inside.values()) else 'no'} |",
                        flush=True,
                    )
    count = len(widths)
    for quantity, values in offs.items():
        print(
            f"\n{quantity}: {100 * statistics.fmean(map(abs, values)):.0f}% off on average, "
            f"{held[quantity]} of {count} held"
        )
    print(f"\nenergy's interval: times or divided by {statistics.median(widths):.2f} (median)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
