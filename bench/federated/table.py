"""The table of the runs under results/federated/runs."""

from __future__ import annotations

import json
import pathlib
import statistics

RUNS = pathlib.Path(__file__).resolve().parents[2] / "results" / "federated" / "runs"
WORDS = {"joules": "`FedJoules`", "random": "random choice", "flops": "FLOPs budget"}


def text(folder: pathlib.Path = RUNS) -> str:
    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    if not runs:
        return f"no runs in {folder}"
    names = sorted({run["strategy"] for run in runs}, key=lambda name: (name not in WORDS, list(WORDS).index(name) if name in WORDS else name))
    lines = [
        "| clients chosen by | runs | joules | of random's | rounds | died in a round | too late | under reserve |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in names:
        mine = [run for run in runs if run["strategy"] == name]
        lines.append("| " + " | ".join(cells(name, mine, runs)) + " |")
    return "\n".join(lines)


def cells(name: str, mine: list[dict], runs: list[dict]) -> list[str]:
    kind, _, thrift = name.partition(":")
    words = WORDS.get(kind, kind) + (f", thrift {thrift}" if thrift else "")
    missed = sum(not run["reached"] for run in mine)
    turns = sum(run["taken_part"] for run in mine)

    def counted(key: str) -> str:
        count = sum(run[key] for run in mine)
        return f"{count} of {turns} ({count / max(1, turns):.1%})"

    return [
        words,
        str(len(mine)) + (f", {missed} missed the target" if missed else ""),
        spread([run["spent_j"] / 1000 for run in mine], "{:.1f} kJ", "{:.1f}"),
        against_random(mine, runs),
        spread([run["rounds"] for run in mine], "{:.0f}", "{:.0f}"),
        counted("died"),
        counted("late"),
        counted("under_reserve"),
    ]


def spread(values: list[float], mean: str, end: str) -> str:
    return f"{mean.format(statistics.mean(values))} ({end.format(min(values))} to {end.format(max(values))})"


def against_random(mine: list[dict], runs: list[dict]) -> str:
    """Seed by seed, because seeds share data, batteries and days."""
    random = {run["seed"]: run["spent_j"] for run in runs if run["strategy"] == "random"}
    shares = [run["spent_j"] / random[run["seed"]] for run in mine if run["seed"] in random]
    if not shares or mine[0]["strategy"] == "random":
        return ""
    return f"{statistics.mean(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})"


if __name__ == "__main__":
    print(text())
