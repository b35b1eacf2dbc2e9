"""The table of the runs under results/federated/runs."""

from __future__ import annotations

import json
import pathlib
import statistics

RUNS = pathlib.Path(__file__).resolve().parents[2] / "results" / "federated" / "runs"
WORDS = {"joules": "`FedJoules`", "random": "random choice", "flops": "FLOPs budget"}
HEAD = ("chosen by", "runs", "joules", "of random's", "rounds", "died in a round", "too late", "under reserve")


def text(folder: pathlib.Path = RUNS) -> str:
    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    if not runs:
        return f"no runs in {folder}"
    by_name: dict[str, list[dict]] = {}
    for run in sorted(runs, key=lambda run: (list(WORDS).index(run["strategy"].partition(":")[0]), run["strategy"])):
        by_name.setdefault(run["strategy"], []).append(run)
    lines = ["| " + " | ".join(HEAD) + " |", "| " + " | ".join("---" for _ in HEAD) + " |"]
    lines += ["| " + " | ".join(cells(mine, runs)) + " |" for mine in by_name.values()]
    return "\n".join([*lines, "", *(f"- {remark(mine)}" for mine in by_name.values()), "", made_by(runs)])


def words(run: dict) -> str:
    kind, _, thrift = run["strategy"].partition(":")
    return WORDS[kind] + (f", thrift {thrift}" if thrift else "")


def cells(mine: list[dict], runs: list[dict]) -> list[str]:
    missed = sum(not run["reached"] for run in mine)
    turns = sum(run["taken_part"] for run in mine)

    def counted(key: str) -> str:
        count = sum(run[key] for run in mine)
        return f"{count} of {turns} ({count / max(1, turns):.1%})"

    return [
        words(mine[0]),
        str(len(mine)) + (f", {missed} missed the target" if missed else ""),
        spread([run["spent_j"] / 1000 for run in mine], "{:.2f} kJ", "{:.2f}"),
        against_random(mine, runs),
        spread([run["rounds"] for run in mine], "{:.0f}", "{:.0f}"),
        *map(counted, ("died", "late", "under_reserve")),
    ]


def spread(values: list[float], mean: str, end: str) -> str:
    return f"{mean.format(statistics.mean(values))} ({end.format(min(values))} to {end.format(max(values))})"


def against_random(mine: list[dict], runs: list[dict]) -> str:
    """Seed by seed, because runs of a seed share data, batteries and days."""
    random = {run["seed"]: run["spent_j"] for run in runs if run["strategy"] == "random"}
    shares = [run["spent_j"] / random[run["seed"]] for run in mine if run["seed"] in random]
    if not shares or mine[0]["strategy"] == "random":
        return ""
    return f"{statistics.mean(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})"


def remark(mine: list[dict]) -> str:
    """How it spreads over clients: the promise is made to each of them."""
    pairs = [
        pair
        for run in mine
        for pair in zip(run["of_clients"]["under_reserve"], run["of_clients"]["rounds"], strict=True)
        if pair[1]
    ]
    fell = [pair for pair in pairs if pair[0]]
    worst = max(fell, key=lambda pair: (pair[0] / pair[1], pair[0]), default=None)
    reached = statistics.mean(sum(rounds > 0 for rounds in run["of_clients"]["rounds"]) for run in mine)
    told = f"{words(mine[0])}: {reached:.0f} clients took part at least once, on average; "
    if worst is None:
        return told + "none fell under its reserve"
    told += f"{len(fell)} of {len(pairs)} fell under their reserve, "
    return told + f"the worst in {worst[0]} of its {worst[1]} rounds"


def made_by(runs: list[dict]) -> str:
    one = runs[0]
    versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
    dates = " to ".join(sorted({min(run["date"] for run in runs), max(run["date"] for run in runs)}))
    tied = ", and with labels" if one.get("tied") else ""
    return (
        f"{one['clients']} clients with {one['samples']} images on average, {one['chosen']} a round, until "
        f"{one['target']:.0%} of test images are right (mean of three rounds); risk {one['risk']:.0%}; boards differ "
        f"in joules by up to {8 ** one['spread']:.2g}{tied}; {dates}; {versions}."
    )


if __name__ == "__main__":
    print(text())
