#!/usr/bin/env python3
"""Prints what was measured, and how far estimates are from it. Needs nothing but Python.

    python bench/truth/table.py [--recipes default,bf16] truth.jsonl [estimates.jsonl [truth.jsonl estimates.jsonl]...]

Several pairs are counted together; an estimate is compared with the truth of its own pair.
"""

import json
import statistics
import sys

HOST_BOUND = 1.1  # an eager step this many times as long as its replay waits for the host


def read(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _figure(value: float | None, scale: float, digits: int, width: int) -> str:
    return "-".rjust(width) if value is None else f"{value * scale:{width}.{digits}f}"


HEAD = (f"{'network':24} {'recipe':13} {'mode':7} {'J/step':>10} {'ms/step':>10} {'W':>7} {'J +-%':>6} {'ms +-%':>6} "
        f"{'MHz':>5} {'C':>3}")


def line(row: dict) -> str:
    """One run; the spread is the range of its windows over their median."""
    start = f"{row['network'] + '@' + str(row['batch']):24} {row['recipe']:13} {row['mode']:7} "
    if row["error"]:
        return start + row["error"]
    return start + " ".join([
        _figure(row["energy_j"], 1, 4, 10), _figure(row["time_s"], 1000, 3, 10), _figure(row["power_w"], 1, 1, 7),
        _figure(row["energy_spread"], 100, 2, 6), _figure(row["time_spread"], 100, 2, 6),
        _figure(row["sm_clock_mhz"], 1, 0, 5), _figure(row["temperature_c"], 1, 0, 3)])


def text(rows: list[dict]) -> str:
    return "\n".join([HEAD, *map(line, rows)])


class Estimates:
    """Estimates by network, batch, recipe and mode. A line that tells no batch is for any."""

    def __init__(self, rows: list[dict]):
        self._rows = {}
        for row in rows:
            name, _, batch = row["network"].partition("@")
            batch = int(batch) if batch else row.get("batch")
            self._rows[name, batch, row["recipe"], row["mode"]] = row

    def all(self) -> list[dict]:
        return list(self._rows.values())

    def find(self, run: dict, mode: str) -> dict | None:
        for batch in (run["batch"], None):
            row = self._rows.get((run["network"], batch, run["recipe"], mode))
            if row is not None and row.get("energy_j") is not None:
                return row
        return None


def energy_at_time(run: dict, eager: dict | None, device: dict | None) -> float | None:
    """The estimate given how long the step took: its device's energy, and idle power while the device waits."""
    for estimate in (eager, device):
        if estimate is not None and estimate.get("energy_at_time_j") is not None:
            return estimate["energy_at_time_j"]
    if device is None or device.get("time_s") is None:
        return None
    idle_w = device.get("idle_w", run.get("idle_w"))
    if idle_w is None:
        return None
    return device["energy_j"] + idle_w * max(0.0, run["time_s"] - device["time_s"])


def time_at_pace(run: dict, estimate: dict | None, device: dict | None) -> float | None:
    """The estimate of a step's time, had the host been as quick as in the run: the device's part stays as it is."""
    if estimate is None or estimate.get("time_s") is None or not estimate.get("pace_s") or not run.get("pace_s"):
        return None
    host_s = estimate.get("host_time_s", estimate["time_s"]) * run["pace_s"] / estimate["pace_s"]
    return max(host_s, device["time_s"] if device is not None and device.get("time_s") is not None else 0.0)


def error(estimate: float | None, truth: float | None) -> float | None:
    return None if estimate is None or not truth else estimate / truth - 1


def held(estimate: dict | None, truth: float | None, of: str = "") -> bool | None:
    low, high = of + "low", of + "high"
    if estimate is None or truth is None or estimate.get(low) is None or estimate.get(high) is None:
        return None
    return estimate[low] <= truth <= estimate[high]


def group(run: dict, replay: dict | None) -> str:
    if run["mode"] == "replay":
        return "device (replay)"
    if replay is None:
        return "eager, no replay to compare with"
    return "eager, device-bound" if run["time_s"] < HOST_BOUND * replay["time_s"] else "eager, host-bound"


def join(runs: list[dict], estimates: Estimates) -> dict[str, list[dict]]:
    """Errors by group. Where the device is the limit, its own estimate does for an eager step that has none."""
    good = [run for run in runs if run["error"] is None and run["energy_j"] is not None]
    replays = {(run["network"], run["batch"], run["recipe"]): run for run in good if run["mode"] == "replay"}
    groups: dict[str, list[dict]] = {}
    for run in good:
        name = group(run, replays.get((run["network"], run["batch"], run["recipe"])))
        own, device = estimates.find(run, run["mode"]), estimates.find(run, "replay")
        used = device if own is None and name == "eager, device-bound" else own
        at_time_j = energy_at_time(run, own, device) if run["mode"] == "eager" else None
        groups.setdefault(name, []).append({
            "run": run,
            "energy": error(used and used["energy_j"], run["energy_j"]),
            "time": error(used and used.get("time_s"), run["time_s"]),
            "at_pace": error(time_at_pace(run, own, device), run["time_s"]) if run["mode"] == "eager" else None,
            "at_time": error(at_time_j, run["energy_j"]),
            "held": held(used, run["energy_j"]),
            "time_held": held(used, run["time_s"], "time_"),
        })
    return groups


def _summary(rows: list[dict], field: str, what: str) -> list[str]:
    errors = [(abs(row[field]), row) for row in rows if row[field] is not None]
    if not errors:
        return []
    worst, row = max(errors, key=lambda pair: pair[0])
    values = [row[field] for _, row in errors]
    return [f"  {what}: {100 * statistics.mean(abs(value) for value in values):.1f}% off on average (MAPE), bias "
            f"{100 * statistics.mean(values):+.1f}%, worst {100 * worst:.1f}% ({row['run']['network']}@"
            f"{row['run']['batch']} {row['run']['recipe']}), {len(values)} runs"]


def _by_recipe(rows: list[dict], field: str, what: str) -> list[str]:
    errors: dict[str, list[float]] = {}
    for row in rows:
        if row[field] is not None:
            errors.setdefault(row["run"]["recipe"], []).append(abs(row[field]))
    if len(errors) < 2:
        return []
    return [f"  {what} by recipe: " + ", ".join(
        f"{recipe} {100 * statistics.mean(values):.1f}% (worst {100 * max(values):.1f}%, {len(values)})"
        for recipe, values in sorted(errors.items()))]


def _held(rows: list[dict], field: str, what: str) -> list[str]:
    known = [row[field] for row in rows if row[field] is not None]
    return [f"  {what} held by the 95% interval: {100 * sum(known) / len(known):.0f}% of {len(known)}"] if known else []


def comparison(pairs: list[tuple[list[dict], Estimates]]) -> str:
    lines = []
    groups: dict[str, list[dict]] = {}
    for runs, estimates in pairs:
        for name, rows in join(runs, estimates).items():
            groups.setdefault(name, []).extend(rows)
    for name, rows in sorted(groups.items()):
        lines += ["", name, f"  {'network':24} {'recipe':13} {'J/step':>10} {'ms/step':>10} {'energy %':>9} "
                            f"{'time %':>8} {'at pace %':>9} {'at time %':>9} {'held':>5}"]
        for row in rows:
            run = row["run"]
            in_interval = {None: "-", True: "yes", False: "no"}[row["held"]]
            lines.append(
                f"  {run['network'] + '@' + str(run['batch']):24} {run['recipe']:13} "
                f"{_figure(run['energy_j'], 1, 4, 10)} {_figure(run['time_s'], 1000, 3, 10)} "
                f"{_figure(row['energy'], 100, 1, 9)} {_figure(row['time'], 100, 1, 8)} "
                f"{_figure(row['at_pace'], 100, 1, 9)} {_figure(row['at_time'], 100, 1, 9)} {in_interval:>5}")
        for field, what in (("energy", "energy"), ("time", "time"), ("at_time", "energy at the measured time")):
            lines += _summary(rows, field, what) + _by_recipe(rows, field, what)
        lines += _summary(rows, "at_pace", "time at the host's pace")
        lines += _held(rows, "held", "energy") + _held(rows, "time_held", "time")
        missing = sum(row["energy"] is None and row["at_time"] is None for row in rows)
        if missing:
            lines.append(f"  without an estimate: {missing}")
    seconds = [row["seconds"] for _, estimates in pairs for row in estimates.all() if row.get("seconds") is not None]
    if seconds:
        lines += ["", f"an answer took {statistics.median(seconds):.0f} s (median), {max(seconds):.0f} s at most"]
    return "\n".join(lines)


def main() -> int:
    files, recipes = sys.argv[1:], None
    if files[:1] == ["--recipes"]:
        recipes, files = files[1].split(",") if len(files) > 1 else [], files[2:]
    if not files or len(files) > 1 and len(files) % 2:
        sys.exit(__doc__)
    truths = [
        [row for row in read(path) if row.get("kind") == "run" and (recipes is None or row["recipe"] in recipes)]
        for path in files[::2]]
    print(text([row for runs in truths for row in runs]))
    if len(files) > 1:
        print(comparison([(runs, Estimates(read(path))) for runs, path in zip(truths, files[1::2])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
