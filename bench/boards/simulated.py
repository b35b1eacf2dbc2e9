#!/usr/bin/env python3
"""What slow counters and heat do to estimates, on simulated boards (docs/boards_realities.md).

    python3 bench/boards/simulated.py --bin build/test/bin --out results/boards

Counters: every family of the paper is profiled and evaluated by a counter of 1 Hz and 10 mW, and by a quick and fine one.
Heat: a network is trained for long on each board, which teaches its thermal state; other networks are then estimated cold
and sustained, and compared with long runs of their own. Layers cost what was recorded on a real device; an hour of
board time takes seconds.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

FAMILIES = ["lenet5", "cnn5", "har", "lstm", "transformer"]
COUNTERS = {"1 Hz, 10 mW": "--tick 1 --resolution 0.01", "10 Hz, exact": "--tick 0.1 --resolution 0"}
# Where kernels jump, a surface may look certain before a point has fallen behind the jump.
DENSE = ["--points-2d", "40", "--deviation", "0.01"]
BOARDS = ["jetson-tx2", "jetson-xavier-nx", "jetson-agx-orin", "nexus-6p", "pixel-7"]
TEACHES = "cnn5"
ASKED = ["cnn5:c1=24,c2=48,c3=96,c4=96", "cnn5:c1=32,c2=32,c3=64,c4=128", "cnn5:c1=16,c2=64,c3=128,c4=64"]
RECIPE = ["--precision", "fp32"]


class Ampere:
    def __init__(self, folder, worker, store):
        self.program, self.worker, self.store = folder / "ampere", worker, store

    def __call__(self, *arguments, worker=True):
        command = [self.program, *arguments, *RECIPE, "--store", self.store, "--json"]
        command += ["--worker", self.worker] if worker else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
        return json.loads(done.stdout)


def board_command(folder, board, options):
    return f"{folder / 'simulated-board'} --board {board} {options}"


def counters(folder, scratch, samples):
    rows = []
    for family in FAMILIES:
        for name, dense in [(name, False) for name in COUNTERS] + [("1 Hz, 10 mW", True)]:
            worker = board_command(folder, "pixel-7", COUNTERS[name] + " --ambient 0")  # outdoors in winter: never slowed down
            ampere = Ampere(folder, worker, scratch / f"{family}{name[:2].strip()}{dense}.db")
            out = ampere("evaluate", family, "--batch", "10", "--samples", samples, "--passes", "2", "--method", "split,split-probe",
                         *(DENSE if dense else []))
            points = out["profiling"]["split"]["points_measured"]
            for method, errors in out["methods"].items():
                if method.startswith("split"):
                    rows.append({"family": family, "counter": name, "profile": " ".join(DENSE) if dense else "usual", "method": method,
                                 "points": points, "noise_floor": out["noise_floor"], **errors})
    return rows


def end_of(run):
    """Energy and time of an iteration over the second half of a long run."""
    half = [s for s in run if s["until_s"] > run[-1]["until_s"] / 2]
    lengths = [b["until_s"] - a["until_s"] for a, b in zip(half, half[1:])]
    iterations = sum(length / s["time_s"] for length, s in zip(lengths, half[1:]))
    return sum(length * s["power_w"] for length, s in zip(lengths, half[1:])) / iterations, sum(lengths) / iterations


def heat(folder, scratch):
    rows = []
    for board in BOARDS:
        ampere = Ampere(folder, board_command(folder, board, ""), scratch / f"{board}.db")
        profile = ampere("profile", TEACHES, "--batch", "256")
        state = ampere("measure", TEACHES, "--batch", "256", "--sustained", "40min")
        marked = sum("heat" in json.dumps(note) for note in profile.get("notes", []))
        for network in ASKED:
            cold = ampere("estimate", network, "--batch", "256", "--exact")["iteration"]
            warm = ampere("estimate", network, "--batch", "256", "--exact", "--sustained")["iteration"]
            alone = Ampere(folder, board_command(folder, board, "--seed 7"), scratch / f"{board}-truth.db")
            energy_j, time_s = end_of(alone("measure", network, "--batch", "256", "--sustained", "40min")["run"])
            rows.append({"board": board, "network": network, "slowdown": state["slowdown"], "sustained_w": state["sustained_w"],
                         "measured_j": energy_j, "measured_s": time_s, "cold_j": cold["energy_j"], "cold_s": cold["time_s"],
                         "sustained_j": warm["energy_j"], "sustained_s": warm["time_s"], "marked": marked})
    return rows


def table(header, rows):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *("| " + " | ".join(row) + " |" for row in rows)])


def percent(value):
    return f"{100 * value:+.1f}%"


def written(slow, warm):
    text = ["# Simulated boards", "", "By `python3 bench/boards/simulated.py`, 2026-11-18. Nothing here was measured on a board: layers cost what was "
            "recorded on an NVIDIA H200 (results/h200/points*.csv), scaled; boards are those of data/boards.json. A network is the "
            "sum of its layers there, so this says nothing of how layers add up; it shows counters and heat.", "",
            "## Slow and coarse counters", "", "Random networks of each family at batch 10, error of the energy. A point of the 1 Hz counter takes half a minute "
            f"of the board's time. Profile: as it comes, or with `{' '.join(DENSE)}`.", "",
            table(["family", "counter", "profile", "points", "method", "mean", "95 of 100 below", "time, mean"],
                  [[r["family"], r["counter"], r["profile"], str(r["points"]), r["method"], f"{100 * r['mape']:.1f}%", f"{100 * r['p95']:.1f}%", f"{100 * r['time_mape']:.1f}%"] for r in slow]), "",
            "## Heat", "", f"Taught by 40 minutes of {TEACHES} at batch 256; others, each layer measured once on the cold board (--exact), compared with the second half of 40 minutes of their own.", "",
            table(["board", "network", "J, measured", "cold estimate", "sustained estimate", "s, cold estimate", "s, sustained"],
                  [[r["board"], r["network"], f"{r['measured_j']:.3g}", percent(r["cold_j"] / r["measured_j"] - 1),
                    percent(r["sustained_j"] / r["measured_j"] - 1), percent(r["cold_s"] / r["measured_s"] - 1),
                    percent(r["sustained_s"] / r["measured_s"] - 1)] for r in warm]), ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/test/bin"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/boards"))
    parser.add_argument("--samples", default="20")
    parser.add_argument("--only", choices=["counters", "heat"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = arguments.out / "simulated.json"
    rows = json.loads(kept.read_text()) if kept.exists() else {"counters": [], "heat": []}
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.only != "heat":
            rows["counters"] = counters(arguments.bin.resolve(), pathlib.Path(scratch), arguments.samples)
        if arguments.only != "counters":
            rows["heat"] = heat(arguments.bin.resolve(), pathlib.Path(scratch))
    kept.write_text(json.dumps(rows, indent=1) + "\n")
    (arguments.out / "simulated.md").write_text(written(rows["counters"], rows["heat"]))
    print(written(rows["counters"], rows["heat"]))


if __name__ == "__main__":
    main()
