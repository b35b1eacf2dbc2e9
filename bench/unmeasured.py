#!/usr/bin/env python3
"""How right `ampere.estimate(..., exact=False)` is about networks of which nothing was measured.

    python bench/unmeasured.py recorded --store h200.db --networks resnet50,bert_base --recipes default,bf16 truth.jsonl...
    python bench/unmeasured.py judged --store h200.db [--captures FOLDER] [--markdown FILE] truth.jsonl...
    python bench/unmeasured.py captured --captures FOLDER --networks resnet50,bert_base@16 --recipes default,bf16
    python bench/unmeasured.py probed --store h200.db --captures FOLDER --networks ... --recipes ... --out probed.jsonl
    python bench/unmeasured.py sheet --sheet h200 --networks resnet50,bert_base --recipes default,bf16 truth.jsonl...
    OMP_NUM_THREADS=1 python bench/unmeasured.py here --store cpu.db --networks resnet18@2,mlp@64

`recorded`: each network's own kinds of parts are taken out of a copy of the store, and what the rest tells is compared
with replayed steps that bench/truth has measured. With --family, kinds of relatives go, too. `judged`: what the store
tells of every network, batch and input size of a truth file, of which it has nothing; --markdown puts
the table and the rows between the marks that a file has for them. `captured`: keeps captured steps, which takes no device.
`probed`: on the device, each network's least sure parts are measured first, 0.15 s a part; lines for bench/truth/table.py
to join. `sheet`: the
device's data sheet alone is compared with them, as if nobody had measured it. `here`: what the store tells
is compared with a plain loop on this machine's processor, in CPU time; the store is one that ampere.profile has made with
`minutes`.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "truth"))

import torch  # noqa: E402
from networks import NETWORKS, find  # noqa: E402

import ampere  # noqa: E402
from ampere.estimating import captured_network, open_device  # noqa: E402

RELATIVES = [
    {"resnet18", "resnet34", "resnet50", "wide_resnet50_2", "resnet18_cifar", "fcn_resnet50", "resnext50_32x4d"},
    {"mobilenet_v2", "mobilenet_v3_large", "mnasnet1_0", "efficientnet_b0"},
    {"bert_base", "bert_base_512", "roberta_base", "electra_small", "distilbert", "albert_base"},
    {"gpt2", "opt_125m"},
    {"vgg11", "vgg16_bn", "alexnet"},
    {"vit_b_16", "deit_small"},
    {"lstm_forecaster", "gru_translator", "line_reader", "lstm_lm", "gru_classifier", "bilstm_tagger"},
]


def captured(name: str, recipe: str):
    network = NETWORKS[name]
    with torch.device("meta"):
        module = network.build()
    inputs = network.make_inputs(network.batch, torch.device("cpu"))
    targets = network.make_targets(network.batch, torch.device("cpu"))
    loss = lambda output: network.loss(output, targets)  # noqa: E731
    return module, inputs, loss, captured_network(module, inputs, loss, "sgd", recipe, "cuda", 1, None, None)


def what_runs(calls: str) -> str:
    """Without what does not change the work: which whole numbers there are, and options of calls."""

    def stripped(value):
        if isinstance(value, dict):
            return {k: stripped(v) for k, v in value.items() if k not in ("values", "kwargs", "after")}
        return [stripped(v) for v in value] if isinstance(value, list) else value

    return json.dumps(stripped(json.loads(calls)), sort_keys=True)


def calls_of(network: dict) -> set[str]:
    return {what_runs(n["calls"]) for n in network["nodes"] if n["op"] == "calls" and not n.get("host")}


def without(store: str, there: str, left_out: set[str]) -> int:
    """A copy of the store without points of these kinds; how many points went."""
    shutil.copyfile(store, there)
    with sqlite3.connect(there) as copy:
        names = [
            name
            for name, details in copy.execute("SELECT name, details FROM surface")
            if what_runs((json.loads(details).get("kind") or {"ops": [{}]})["ops"][0].get("calls", "{}")) in left_out
        ]
        before = copy.total_changes
        copy.executemany("DELETE FROM point WHERE surface = ?", [(name,) for name in names])
        gone = copy.total_changes - before
    copy.close()
    return gone


def summary(what: str, rows: list[tuple[float, float, bool, bool]]) -> str:
    mean, worst = statistics.fmean, max
    energy, seconds = [abs(row[0]) for row in rows], [abs(row[1]) for row in rows]
    return (
        f"{what}: energy {100 * mean(energy):.1f}% off on average (median {100 * statistics.median(energy):.1f}%, worst "
        f"{100 * worst(energy):.1f}%), time {100 * mean(seconds):.1f}% (worst {100 * worst(seconds):.1f}%), held "
        f"{sum(row[2] for row in rows)} and {sum(row[3] for row in rows)} of {len(rows)}"
    )


def here(options: argparse.Namespace) -> None:
    """Energy is modelled there, so it is as far off as time is."""
    from recipes import RECIPES, Training

    torch.set_num_threads(1)
    rows, cpu = [], torch.device("cpu")
    for place in options.networks.split(","):
        name, _, batch = place.partition("@")
        network = NETWORKS[name]
        module = network.build()
        inputs, targets = network.make_inputs(int(batch), cpu), network.make_targets(int(batch), cpu)
        start = time.monotonic()
        found = ampere.estimate(
            module, inputs, loss=lambda y: network.loss(y, targets), device="cpu", store=options.store, exact=False
        )
        seconds = time.monotonic() - start
        training = Training(RECIPES["default"], module, inputs, targets, network.loss, cpu)
        optimizer = training.optimizer(False)
        training.step(optimizer, None)
        times: list[float] = []
        end = time.monotonic() + options.seconds
        while time.monotonic() < end or len(times) < 3:
            begun = time.process_time()
            training.step(optimizer, None)
            times.append(time.process_time() - begun)
        truth, (low, high) = statistics.median(times), found.time_interval()
        off, held = found.time_s / truth - 1, low <= truth <= high
        rows.append((off, off, held, held))
        print(
            f"  {place:22} {1e3 * truth:9.1f} ms {100 * off:+6.1f}% ({1e3 * low:.1f} to {1e3 * high:.1f} ms)"
            f"{' ' if held else '!'} unmeasured {found.estimate.unmeasured:4.0%}, answer in {seconds:.1f} s",
            flush=True,
        )
    print(summary("all", rows))


SIZES = re.compile(r"_[0-9]+$")


def step_of(truth: dict, captures: str | None) -> dict:
    """One training step of a network as captured, kept in the folder `captures`: capturing takes longer than asking."""
    name, batch, recipe = truth["network"], truth["batch"], truth["recipe"]
    kept = captures and pathlib.Path(captures) / f"{name}@{batch}-{recipe}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text())
    network, cpu = NETWORKS[name], torch.device("cpu")
    try:
        with torch.device("meta"):
            module = network.build()
    except NotImplementedError:  # some look at their own values while they are built
        module = network.build()
    inputs, targets = network.make_inputs(batch, cpu), network.make_targets(batch, cpu)
    loss = lambda output: network.loss(output, targets)  # noqa: E731
    found = captured_network(module, inputs, loss, "sgd", recipe, "cuda", 1, None, None)
    step = {"network": found.network, "batch": found.step.batch}
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(step))
    return step


def told_of(there: ampere.Device, step: dict, probe: bool = False) -> ampere.Estimate:
    """Mixed precision is in the calls, so all steps are asked about under one recipe."""
    recipe = ampere.Recipe(optimizer="captured", precision="default", threads=1)
    model = ampere.Model.from_json(json.dumps(step["network"]))
    return ampere.estimate(there, model, step["batch"], recipe, mode="replay", exact=False, probe=probe)


def asked_for(options: argparse.Namespace) -> list[dict]:
    """Networks at their batches, under each recipe, as lines of a truth file name them."""
    places = [find(label) for label in options.networks.split(",")]
    recipes = options.recipes.split(",")
    return [{"network": name, "batch": batch, "recipe": recipe} for name, _, batch in places for recipe in recipes]


def keep_captured(options: argparse.Namespace) -> None:
    for asked in asked_for(options):
        try:
            step_of(asked, options.captures)
        except Exception as e:  # the others are wanted all the same
            print(f"{asked['network']}@{asked['batch']} {asked['recipe']}: {type(e).__name__}: {e}", flush=True)


def probed(options: argparse.Namespace) -> None:
    there, start = open_device("cuda", options.store), time.monotonic()
    there.can_measure or sys.exit("no device is here that could be measured")
    with open(options.out, "a", encoding="utf-8") as out:
        for asked in asked_for(options):
            label = f"{asked['network']}@{asked['batch']} {asked['recipe']}"
            if time.monotonic() - start > options.limit_s:
                print(f"out of time before {label}", flush=True)
                return
            begun = time.monotonic()
            try:
                found = told_of(there, step_of(asked, options.captures), probe=True)
            except ampere.Error as e:
                print(f"{label}: {e}", flush=True)
                continue
            row = {**asked, "mode": "replay", "energy_j": found.energy_j.value, "time_s": found.time_s.value,
                   "low": found.energy_j.low, "high": found.energy_j.high, "time_low": found.time_s.low,
                   "time_high": found.time_s.high, "parts": len(found.layers), "measured": found.probed.measured,
                   "measuring_s": found.probed.seconds, "seconds": time.monotonic() - begun}  # fmt: skip
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(f"{label}: {row['energy_j']:.3f} J, {1e3 * row['time_s']:.3f} ms, {row['measured']} of {row['parts']} "
                  f"parts measured in {row['measuring_s']:.1f} of {row['seconds']:.1f} s", flush=True)  # fmt: skip


def group_of(name: str, batch: int) -> str:
    if SIZES.search(name) and SIZES.sub("", name) in NETWORKS:
        return "at another input size"
    return "as people train them" if batch == NETWORKS[name].batch else "at another batch"


def own_device(store: str) -> str:
    """Of a store that has one device, and perhaps a relative of it."""
    with sqlite3.connect(store) as opened:
        devices = opened.execute("SELECT id, fingerprint FROM device").fetchall()
    opened.close()
    (device,) = [number for number, fingerprint in devices if "elsewhere" not in json.loads(fingerprint)]
    return device


RECIPES_IN_WORDS = {"default": "PyTorch's default", "bf16": "bf16 autocast"}
GROUPS = ("as people train them", "at another input size", "at another batch")


def table(rows: dict[tuple[str, str], list[tuple[float, float, bool, bool]]]) -> str:
    """As Markdown, by precision and group."""
    lines = [
        "| | runs | energy off by, mean (median; worst) | time, mean (worst) | 95% interval held, energy and time |",
        "| --- | --- | --- | --- | --- |",
    ]
    for recipe, words in RECIPES_IN_WORDS.items():
        for group in GROUPS:
            if (group, recipe) not in rows:
                continue
            some = rows[group, recipe]
            energy, seconds = [100 * abs(row[0]) for row in some], [100 * abs(row[1]) for row in some]
            lines.append(
                f"| {words}, {group} | {len(some)} | {statistics.fmean(energy):.1f}% ({statistics.median(energy):.1f}%; "
                f"{max(energy):.1f}%) | {statistics.fmean(seconds):.1f}% ({max(seconds):.1f}%) | "
                f"{sum(row[2] for row in some)} and {sum(row[3] for row in some)} |"
            )
    return "\n".join(lines)


def put_between_marks(path: str, what: str, text: str) -> None:
    """Between <!-- begin: WHAT --> and <!-- end: WHAT -->, in a file that has them."""
    page = pathlib.Path(path)
    begin, end = f"<!-- begin: {what} -->\n", f"<!-- end: {what} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if found and closed:
        page.write_text(before + begin + text + "\n" + end + after, encoding="utf-8")


def by_store(options: argparse.Namespace) -> None:
    rows: dict[tuple[str, str], list[tuple[float, float, bool, bool]]] = {}
    told = []
    there = ampere.Device.stored(options.store, own_device(options.store))
    wanted = set(options.only.split(",")) if options.only else None
    truths = [t for t in measured_everywhere(options.truth) if not wanted or f"{t['network']}-{t['recipe']}" in wanted]
    for truth in sorted(truths, key=lambda row: (row["network"], row["batch"], row["recipe"])):
        name, recipe, batch = truth["network"], truth["recipe"], truth["batch"]
        step = step_of(truth, options.captures)
        start = time.process_time()
        found = told_of(there, step)
        seconds = time.process_time() - start
        row, words = judged(found, truth)
        for group in (group_of(name, batch), "all"):
            rows.setdefault((group, recipe), []).append(row)
        told.append(f"  {name + '@' + str(batch):26} {recipe:8} {words}")
        print(f"{told[-1]} unmeasured {found.unmeasured:4.0%}, answer in {seconds:.2f} s", flush=True)
    for (group, recipe), some in sorted(rows.items()):
        print(summary(f"{group}, {recipe}", some))
    print(table(rows))
    command = "bench/unmeasured.py judged"
    for path in options.markdown:
        put_between_marks(path, command, table(rows))
        put_between_marks(path, command + ", rows", "\n".join(["```", *told, "```"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("recorded")
    verb.add_argument("--store", required=True)
    verb.add_argument("--networks", required=True)
    verb.add_argument("--recipes", default="default")
    verb.add_argument("--family", action="store_true")
    verb.add_argument("truth", nargs="+")
    verb = verbs.add_parser("judged")
    verb.add_argument("--store", required=True)
    verb.add_argument("--captures", help="folder that captured steps are kept in")
    verb.add_argument("--only", help="of the truth files, these: resnet50-bf16,resnet50-default")
    verb.add_argument("--markdown", action="append", default=[], help="file whose marked places get the table and the rows")
    verb.add_argument("truth", nargs="+")
    for name in ("captured", "probed"):
        verb = verbs.add_parser(name)
        verb.add_argument("--networks", required=True, help="NAME or NAME@BATCH, by commas")
        verb.add_argument("--recipes", default="default")
        verb.add_argument("--captures", required=True, help="folder that captured steps are kept in")
    verb.add_argument("--store", required=True)
    verb.add_argument("--out", required=True, help="lines are added at its end")
    verb.add_argument("--limit-s", type=float, default=float("inf"), help="begin nothing after this many seconds")
    verb = verbs.add_parser("sheet")
    verb.add_argument("--sheet", required=True)
    verb.add_argument("--mode", default="replay", choices=("replay", "eager"))
    verb.add_argument("--networks", required=True)
    verb.add_argument("--recipes", default="default")
    verb.add_argument("truth", nargs="+")
    verb = verbs.add_parser("here")
    verb.add_argument("--store", required=True)
    verb.add_argument("--networks", required=True)
    verb.add_argument("--seconds", type=float, default=2.5)
    options = parser.parse_args()
    verbs_by_name = {"recorded": recorded, "judged": by_store, "captured": keep_captured, "probed": probed,
                     "sheet": by_sheet, "here": here}  # fmt: skip
    verbs_by_name[options.verb](options)
    return 0


def measured_everywhere(paths: list[str]) -> list[dict]:
    """Every run, at whatever batch."""
    rows = [json.loads(line) for path in paths for line in open(path, encoding="utf-8")]
    return [row for row in rows if row.get("kind") == "run" and row["mode"] == "replay" and not row.get("error")]


def measured(paths: list[str], mode: str = "replay") -> dict[tuple[str, str], dict]:
    """Steps of plain loops as bench/truth has measured them, by network and recipe; the last of each counts."""
    truths = {}
    for path in paths:
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            if row.get("kind") == "run" and row["mode"] == mode and not row.get("error"):
                truths[row["network"], row["recipe"]] = row
    return truths


def judged(found: ampere.Estimate, truth: dict) -> tuple[tuple[float, float, bool, bool], str]:
    """How far off it is and whether it held, for the summary and in words."""
    low, high = found.energy_j.low, found.energy_j.high
    time_low, time_high = found.time_s.low, found.time_s.high
    row = (
        found.energy_j.value / truth["energy_j"] - 1,
        found.time_s.value / truth["time_s"] - 1,
        low <= truth["energy_j"] <= high,
        time_low <= truth["time_s"] <= time_high,
    )
    words = (
        f"{truth['energy_j']:9.3f} J {100 * row[0]:+6.1f}% (+-{50 * (high - low) / found.energy_j.value:3.0f}%)"
        f"{' ' if row[2] else '!'} {1e3 * truth['time_s']:9.3f} ms {100 * row[1]:+6.1f}%{' ' if row[3] else '!'}"
    )
    return row, words


def by_sheet(options: argparse.Namespace) -> None:
    truths = measured(options.truth, options.mode)
    errors: dict[str, list[tuple[float, float, bool, bool]]] = {}
    factors = []
    for recipe in options.recipes.split(","):
        for name in options.networks.split(","):
            if (name, recipe) not in truths:
                continue
            module, inputs, loss, _ = captured(name, recipe)
            found = ampere.estimate(
                module, inputs, loss=loss, precision=recipe, device=f"sheet:{options.sheet}", mode=options.mode
            )
            row, words = judged(found.estimate, truths[name, recipe])
            errors.setdefault(recipe, []).append(row)
            low, high = found.interval()
            factors.append((high / low) ** 0.5)
            print(f"  {name:20} {recipe:8} {words} times or divided by {factors[-1]:.2f}", flush=True)
    for recipe, rows in [*errors.items(), ("all", [row for rows in errors.values() for row in rows])]:
        print(summary(recipe, rows))
    print(f"energy's interval: times or divided by {statistics.median(factors):.2f} (median)")


def recorded(options: argparse.Namespace) -> None:
    truths = measured(options.truth)
    errors: dict[str, list[tuple[float, float, bool, bool]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for recipe in options.recipes.split(","):
            steps = {name: captured(name, recipe) for name in options.networks.split(",") if (name, recipe) in truths}
            for name, (module, inputs, loss, own) in steps.items():
                left_out = calls_of(own.network)
                if options.family:
                    for other, (*_, network) in steps.items():
                        if any(name in family and other in family for family in RELATIVES):
                            left_out |= calls_of(network.network)
                copy = str(pathlib.Path(folder) / f"{name}-{recipe}.db")
                gone = without(options.store, copy, left_out)
                there = ampere.Device.stored(copy)
                start = time.monotonic()
                found = ampere.estimate(
                    module, inputs, loss=loss, precision=recipe, device=there, exact=False, mode="replay"
                )
                seconds = time.monotonic() - start
                row, words = judged(found.estimate, truths[name, recipe])
                errors.setdefault(recipe, []).append(row)
                print(
                    f"  {name:20} {recipe:8} {words} "
                    f"unmeasured {found.estimate.unmeasured:4.0%}, {gone} points left out, answer in {seconds:.1f} s",
                    flush=True,
                )
    for recipe, rows in [*errors.items(), ("all", [row for rows in errors.values() for row in rows])]:
        print(summary(recipe, rows))


if __name__ == "__main__":
    sys.exit(main())
