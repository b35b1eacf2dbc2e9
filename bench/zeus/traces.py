"""The power traces of Zeus (NSDI 2023, Apache-2.0): six workloads on four GPUs over batch sizes and power limits.

They are not part of this repository: the folder examples/research_reproducibility/zeus_nsdi23/trace of
https://github.com/ml-energy/zeus holds summary_power_{a40,v100,p100,rtx6000}.csv.
"""

from __future__ import annotations

import csv
import json
import pathlib
from dataclasses import dataclass

import numpy as np

# The cards that were traced, as data/devices.json calls them: the power limits tell which of a name they are.
SHEETS = {"a40": "a40", "v100": "v100-pcie", "p100": "p100-pcie", "rtx6000": "rtx-6000-turing"}
COLUMNS = ("dataset", "optimizer", "batch_size", "power_limit", "time_per_epoch", "average_power")


@dataclass
class Traces:
    """One entry per row of the four files; logarithms are natural, of batches and limits to the base of two."""

    gpu: np.ndarray
    workload: np.ndarray  # the data set, of which each has one network
    optimizer: np.ndarray
    batch: np.ndarray
    limit: np.ndarray  # over what the data sheet allows
    sheet_time: np.ndarray  # what the sheet alone says: a unit of work over how fast the device is
    sheet_power: np.ndarray  # its watts
    time: np.ndarray  # of an epoch, seconds
    power: np.ndarray  # watts

    def quantity(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The logarithms that were measured, and what the sheets say of them."""
        if name == "time":
            return self.time, self.sheet_time
        if name == "power":
            return self.power, self.sheet_power
        return self.time + self.power, self.sheet_time + self.sheet_power


def read(folder: pathlib.Path) -> Traces:
    sheets = json.loads((pathlib.Path(__file__).resolve().parents[2] / "data" / "devices.json").read_text("utf-8"))
    found: dict[str, list] = {name: [] for name in Traces.__dataclass_fields__}
    for gpu, key in SHEETS.items():
        path = folder / f"summary_power_{gpu}.csv"
        if not path.is_file():
            raise SystemExit(f"{path}: there is no such file; {__doc__}")
        sheet = sheets[key]
        # A network is part products, part memory: the mean of both peaks, as neither is known to be the limit.
        speed = np.sqrt(sheet["float32_flops_per_s"] * sheet["bytes_per_s"])
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if any(not row.get(column) for column in COLUMNS):
                    raise SystemExit(f"{path}: a row without one of {', '.join(COLUMNS)}; is it a trace of Zeus?")
                found["gpu"].append(gpu)
                found["workload"].append(row["dataset"])
                found["optimizer"].append(row["optimizer"])
                found["batch"].append(np.log2(float(row["batch_size"])))
                found["limit"].append(np.log2(float(row["power_limit"]) / sheet["limit_w"]))
                found["sheet_time"].append(-np.log(speed))
                found["sheet_power"].append(np.log(sheet["limit_w"]))
                found["time"].append(np.log(float(row["time_per_epoch"])))
                found["power"].append(np.log(float(row["average_power"])))
    return Traces(**{name: np.array(values) for name, values in found.items()})
