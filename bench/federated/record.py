"""Records on this machine's CPU what the simulation is made of: bench/federated/record.py, from the root of a checkout,
with the package installed. Writes results/federated/cpu.json.xz, the profile of the network's training step on one
thread, and steps.json, what steps of it really took, in windows before and after the profile."""

from __future__ import annotations

import datetime
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile

import data
import network
import numpy as np
import torch
from boards import PROFILE, RESULTS

import ampere

WINDOWS = 20  # of steps, before the profile and again after it
STEPS = 30


def metered() -> list[dict[str, float]]:
    images, labels = data.images("train")
    some = np.arange(STEPS * network.BATCH // network.EPOCHS)
    weights = network.make().state_dict()
    network.train(weights, images[some], labels[some], 0)  # the first steps of a program are slower than others
    taken = []
    with ampere.Monitor() as monitor:
        for number in range(WINDOWS):
            with monitor.window("steps") as window:
                _, steps = network.train(weights, images[some], labels[some], number)
            taken.append({"energy_j": window.energy_j / steps, "time_s": window.time_s / steps})
    return taken


def main() -> None:
    torch.set_num_threads(1)
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/ampere"
    inputs = torch.randn(network.BATCH, 3, 32, 32)
    windows = metered()
    with tempfile.TemporaryDirectory() as folder:
        store = str(pathlib.Path(folder) / "profiles.db")
        loss = torch.nn.CrossEntropyLoss()
        target = torch.zeros(network.BATCH, dtype=torch.long)
        told = ampere.estimate(
            network.make(), inputs, loss=lambda out: loss(out, target), optimizer="sgd", device="cpu", store=store
        )
        print(told)
        export = [program, "store", "export", "--store", store]
        exported = subprocess.run(export, check=True, capture_output=True).stdout
    windows += metered()
    RESULTS.mkdir(exist_ok=True)
    PROFILE.write_bytes(lzma.compress(exported))
    meter = ampere.Meter()
    steps = {
        "date": datetime.date.today().isoformat(),
        "versions": {"ampere": ampere.__version__, "torch": torch.__version__},
        "network": network.MODEL,
        "batch": network.BATCH,
        "meter": meter.name,
        "modelled": meter.modelled,
        "estimate": {k: v for k, v in told.to_dict().items() if k.endswith(("_j", "_s"))},
        "windows": windows,
    }
    (RESULTS / "steps.json").write_text(json.dumps(steps, indent=1) + "\n")
    energies = [w["energy_j"] for w in windows]
    low, middle, high = np.percentile(energies, [5, 50, 95])
    print(f"{len(energies)} windows of {STEPS} steps: {middle:.4g} J a step, {low:.4g} to {high:.4g}")


if __name__ == "__main__":
    main()
