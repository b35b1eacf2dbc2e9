#!/usr/bin/env python3
"""How well an NVIDIA card's own record of its power agrees with its energy counter, and how short a window may be.

    python bench/power_samples.py measure samples.jsonl     # a minute on a card; needs PyTorch
    python bench/power_samples.py table samples.jsonl       # needs nothing but Python

Loads are replayed back to back. Each runs for two seconds, in which the counter is read from tick to tick and the record
once, afterwards; then all run one after the other for a moment each, as the parts of a network are measured.
"""

from __future__ import annotations

import ctypes
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

SKIPPED_S = (0.04, 0.06, 0.08, 0.1, 0.12)


class Sample(ctypes.Structure):
    _fields_ = [("at_us", ctypes.c_ulonglong), ("value", ctypes.c_ulonglong)]


class Card:
    def __init__(self) -> None:
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.handle = ctypes.c_void_p()
        if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle)):
            sys.exit("no NVIDIA card answers here")

    def samples(self) -> list[tuple[int, int]]:
        """Microseconds since 1970 and milliwatts."""
        kind, count = ctypes.c_int(), ctypes.c_uint()
        ask = self.nvml.nvmlDeviceGetSamples
        ask(self.handle, 0, ctypes.c_ulonglong(0), ctypes.byref(kind), ctypes.byref(count), None)
        found = (Sample * max(1, count.value))()
        ask(self.handle, 0, ctypes.c_ulonglong(0), ctypes.byref(kind), ctypes.byref(count), found)
        return [(s.at_us, s.value & 0xFFFFFFFF) for s in found[: count.value]]

    def energy_j(self) -> float:
        value = ctypes.c_ulonglong()
        self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(value))
        return value.value / 1e3


def loads() -> dict[str, Callable[[], Any]]:
    import torch
    from torch.nn import functional as F

    made: dict[str, Callable[[], Any]] = {}

    def product(size: int, dtype: torch.dtype, tf32: bool) -> Callable[[], Any]:
        a, b, out = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(3))

        def run() -> None:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            torch.mm(a, b, out=out)

        return run

    for size, dtype, tf32, name in [
        *((n, torch.float32, False, "fp32") for n in (256, 1024, 4096)),
        *((n, torch.float32, True, "tf32") for n in (512, 2048)),
        *((n, torch.bfloat16, False, "bf16") for n in (512, 1024, 4096)),
    ]:
        made[f"mm{size}_{name}"] = product(size, dtype, tf32)
    for millions in (1, 64, 512):
        x = torch.randn(millions << 20, device="cuda")
        made[f"mul{millions}M"] = lambda x=x, out=torch.empty_like(x): torch.mul(x, 1.1, out=out)
    image, kernel = torch.randn(64, 64, 56, 56, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")
    made["conv_default"] = lambda: F.conv2d(image, kernel, padding=1)
    half_image, half_kernel = image.bfloat16(), kernel.bfloat16()
    made["conv_bf16"] = lambda: F.conv2d(half_image, half_kernel, padding=1)
    norm = torch.nn.BatchNorm2d(64).to("cuda")
    made["bn"] = lambda: norm(image)
    rows = torch.randn(16 * 512, 768, device="cuda")
    made["ln"] = lambda: F.layer_norm(rows, (768,))
    q = torch.randn(16, 12, 512, 64, device="cuda", dtype=torch.bfloat16)
    made["sdpa"] = lambda: F.scaled_dot_product_attention(q, q, q)
    tiny = torch.randn(1000, device="cuda")
    made["tiny"] = lambda: tiny.add(1)
    logits = torch.randn(4096, 50257, device="cuda")
    made["softmax"] = lambda: torch.softmax(logits, 1)
    return made


class Replay:
    """Some milliseconds of a load, captured once."""

    def __init__(self, run: Callable[[], Any]) -> None:
        import torch

        self.torch = torch
        stream = torch.cuda.Stream()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            for _ in range(3):
                run()
            first.record(stream)
            run()
            last.record(stream)
            stream.synchronize()
        count = max(1, min(200, int(2.0 / max(1e-3, first.elapsed_time(last)))))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            for _ in range(count):
                run()
        self.graph.replay()
        first.record()
        self.graph.replay()
        self.graph.replay()
        last.record()
        torch.cuda.synchronize()
        self.seconds = first.elapsed_time(last) / 2e3

    def busy_for(self, seconds: float) -> None:
        """Keeps some 60 ms queued."""
        fed = time.perf_counter()
        end = fed + seconds
        while (now := time.perf_counter()) < end:
            if fed - now < 0.06:
                count = max(1, round(0.03 / self.seconds))
                for _ in range(count):
                    self.graph.replay()
                fed = max(fed, now) + count * self.seconds
            else:
                time.sleep(0.004)

    def edge(self, card: Card) -> tuple[float, float]:
        before = card.energy_j()
        while True:
            for _ in range(max(1, round(0.01 / self.seconds))):
                self.graph.replay()
            if (now := card.energy_j()) != before:
                return now, time.time()


def measure(path: str) -> None:
    import torch

    card = Card()
    replays = {name: Replay(run) for name, run in loads().items()}
    with open(path, "a", encoding="utf-8") as out:

        def write(**row: Any) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()

        for name, replay in replays.items():
            begin = time.time()
            replay.busy_for(0.5)
            first_j, first_s = replay.edge(card)
            replay.busy_for(1.17)
            last_j, last_s = replay.edge(card)
            kept = card.samples()
            torch.cuda.synchronize()
            power = (last_j - first_j) / (last_s - first_s)
            write(kind="steady", load=name, start=begin, edge1=first_s, edge2=last_s, power=power, samples=kept)
            time.sleep(0.05)
        random.seed(1)
        for length in (0.15, 0.25, 0.4):
            for _ in range(2):
                for name in random.sample(list(replays), len(replays)):
                    torch.cuda.synchronize()
                    begin = time.time()
                    replays[name].busy_for(length - 0.05)
                    torch.cuda.synchronize()
                    end = time.time()
                    kept = [s for s in card.samples() if s[0] / 1e6 > begin - 0.1]
                    write(kind="short", load=name, length=length, start=begin, end=end, samples=kept)


def table(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    steady: dict[str, float] = {}
    print(f"{'load':14} {'counter W':>9} {'record %':>8}   spread of windows of 20, 100, 200, 400 ms, %")
    for row in (r for r in rows if r["kind"] == "steady"):
        steady[row["load"]] = power = row["power"]
        watts = [w / 1e3 for at, w in row["samples"] if row["edge1"] <= at / 1e6 <= row["edge2"]]
        windows = [
            statistics.pstdev(statistics.fmean(watts[i : i + n]) for i in range(0, len(watts) - n + 1, n)) / power
            for n in (1, 5, 10, 20)
        ]
        off = statistics.fmean(watts) / power - 1
        print(f"{row['load']:14} {power:9.1f} {100 * off:+8.2f}   " + " ".join(f"{100 * w:6.2f}" for w in windows))
    print("\nloads one after the other, without their first moment, against the counter over seconds")
    print(f"{'s each':>7} {'skipped':>8} {'runs':>5} {'off %':>6} {'bias %':>7} {'worst %':>8}")
    for length in sorted({r["length"] for r in rows if r["kind"] == "short"}):
        for skipped in SKIPPED_S:
            errors = []
            for row in (r for r in rows if r["kind"] == "short" and r["length"] == length):
                watts = [w / 1e3 for at, w in row["samples"] if row["start"] + skipped <= at / 1e6 <= row["end"]]
                if watts:
                    errors.append(100 * (statistics.fmean(watts) / steady[row["load"]] - 1))
            off = statistics.fmean(map(abs, errors))
            worst = max(map(abs, errors))
            print(
                f"{length:7.2f} {skipped:8.2f} {len(errors):5} {off:6.2f} {statistics.fmean(errors):+7.2f} {worst:8.1f}"
            )


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("measure", "table"):
        sys.exit(__doc__)
    {"measure": measure, "table": table}[sys.argv[1]](sys.argv[2])
