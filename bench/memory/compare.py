#!/usr/bin/env python3
"""How far the memory that AMPERE predicts is off what the allocator hands out at the most, network by network.

    python bench/memory/compare.py --device cuda                     # networks of PyTorch, on the GPU
    python bench/memory/compare.py --device cpu --small              # the same at small batches, on the processor
    python bench/memory/compare.py --device cuda --predict-only --name "NVIDIA H200" --out told.jsonl    # no GPU needed
    python bench/memory/compare.py --device cuda --predicted told.jsonl      # there, without the package; seconds
    python bench/memory/compare.py --recorded results/h200/python/*/truth.jsonl    # against the peaks of bench/truth's runs
    python bench/memory/compare.py --worker build/test/bin/ampere-worker    # networks of the zoo, by LibTorch

Each network is predicted first, then trained for three steps by a plain loop that shares no code with AMPERE. On a GPU
the peak is torch.cuda.max_memory_allocated, which bench/truth keeps with every run, too; on a processor it is the sum of what the framework's allocator reports,
by PyTorch's profiler or, with --worker, by the worker's verb `memory`. Needs the package ampere; torchvision and
transformers for networks of theirs.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "truth"))

# Network, batch on a GPU, batch on a processor, optimizer, precision.
NETWORKS = [
    ("resnet18", 64, 4, "momentum", "default"),
    ("resnet50", 32, 2, "momentum", "default"),
    ("vgg11", 32, 2, "sgd", "default"),
    ("squeezenet1_1", 64, 4, "sgd", "default"),
    ("mobilenet_v2", 64, 4, "momentum", "default"),
    ("efficientnet_b0", 32, 2, "momentum", "default"),
    ("densenet121", 32, 2, "sgd", "default"),
    ("shufflenet_v2_x1_0", 64, 8, "momentum", "default"),
    ("googlenet", 64, 4, "sgd", "default"),
    ("convnext_tiny", 32, 2, "adamw", "default"),
    ("fcn_resnet50", 8, 1, "momentum", "default"),
    ("swin_t", 32, 2, "adamw", "bf16"),
    ("vit_b_16", 32, 2, "adamw", "bf16"),
    ("vit_b_16", 32, 2, "adam", "default"),
    ("deit_small", 32, 2, "adamw", "default"),
    ("bert_small_mlm", 32, 4, "adamw", "default"),
    ("bert_base", 16, 2, "adamw", "bf16"),
    ("distilgpt2", 8, 1, "adamw", "default"),
    ("gpt2", 8, 1, "adamw", "bf16"),
    ("t5_small", 8, 2, "adamw", "default"),
    ("lstm_lm", 32, 4, "sgd", "default"),
    ("gru_classifier", 64, 8, "adam", "default"),
    ("encoder_classifier", 64, 8, "adam", "default"),
    ("unet", 8, 1, "adam", "default"),
    ("resnet50", 64, 4, "adam", "bf16"),
    ("mobilenet_v3_large", 64, 4, "sgd", "default"),
]
# Of the zoo, for a worker: network, batch, optimizer.
ZOO = [
    ("lenet5", 256, "sgd"),
    ("lenet5:c1=24,c2=64", 512, "adam"),
    ("cnn5", 64, "momentum"),
    ("cnn5:c1=64,c2=96", 128, "sgd"),
    ("har", 128, "sgd"),
    ("har:f1=512", 64, "adam"),
    ("lstm", 32, "adam"),
    ("lstm:hidden=256", 64, "sgd"),
    ("transformer", 8, "adam"),
    ("transformer:hidden=256", 32, "sgd"),
    ("resnet18", 4, "momentum"),
    ("resnet34", 2, "sgd"),
    ("resnet50", 2, "adam"),
    ("resnet18-cifar", 16, "momentum"),
    ("resnet34-cifar", 8, "adam"),
    ("resnet50-cifar", 8, "sgd"),
    ("cnn5:in=3,size=32", 32, "adam"),
    ("har:c1=128,length=256", 32, "momentum"),
    ("lstm:embedding=64,length=64", 16, "sgd"),
    ("transformer:layers=2,length=128", 8, "momentum"),
    ("resnet101", 1, "sgd"),
]


def make_optimizer(torch, name, parameters):
    if name in ("adam", "adamw"):
        return (torch.optim.Adam if name == "adam" else torch.optim.AdamW)(parameters, lr=1e-5)
    return torch.optim.SGD(parameters, lr=1e-5, momentum=0.9 if name == "momentum" else 0)


def train(torch, network, batch, optimizer_name, precision, device, steps=3):
    """A plain loop. Whatever it makes is gone when it returns."""
    model = network.build().to(device).train()
    inputs, targets = network.make_inputs(batch, device), network.make_targets(batch, device)
    optimizer = make_optimizer(torch, optimizer_name, model.parameters())
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = network.loss(model(**inputs), targets)
        loss.backward()
        optimizer.step()
        del loss


def measured_on_gpu(torch, *training):
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    train(torch, *training)
    return torch.cuda.max_memory_allocated() - before


def measured_on_cpu(torch, *training):
    """The profiler reports every tensor that comes and goes; their running sum has a peak."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        train(torch, *training)
    now = most = 0
    events = [e for e in watched.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


def predicted(ampere, torch, network, batch, optimizer_name, precision, device, name):
    from ampere import _core
    from ampere.estimating import captured_network

    with torch.device("meta"):
        model = network.build()
    inputs, targets = network.make_inputs(batch, torch.device("cpu")), network.make_targets(batch, torch.device("cpu"))
    captured = captured_network(model, inputs, lambda output: network.loss(output, targets), optimizer_name, precision,
                                device, 1, None, None)
    return _core.estimate_memory(_core.Model.from_json(json.dumps(captured.network)), batch, captured.recipe(), type=device,
                                 framework=f"pytorch {torch.__version__}", name=name)


def key_of(row):
    return row["network"], row["batch"], row["optimizer"], row["precision"]


def rows_of_pytorch(arguments):
    import networks
    import torch

    ampere, known = None, {}
    if arguments.predicted:
        rows = [json.loads(line) for line in pathlib.Path(arguments.predicted).read_text().splitlines()]
        known = {key_of(row): row for row in rows}
    else:
        import ampere
    torch.manual_seed(0)
    device = torch.device(arguments.device)
    there = device.type == "cuda" and torch.cuda.is_available()
    name = arguments.name or (torch.cuda.get_device_name(0) if there else "processor")
    print(f"{name}, PyTorch {torch.__version__}", file=sys.stderr)
    measure = measured_on_gpu if device.type == "cuda" else measured_on_cpu
    if there:  # what libraries take once for all is no network's: the first rows would have it, and the others not
        torch.cuda.init()
    for called, large, small, optimizer_name, precision in NETWORKS:
        batch = small if arguments.small else large
        row = {"network": called, "batch": batch, "optimizer": optimizer_name, "precision": precision}
        if (arguments.only and called not in arguments.only) or (known and key_of(row) not in known):
            continue
        training = (networks.NETWORKS[called], batch, optimizer_name, precision)
        try:
            told = known[key_of(row)] if known else parts_of(predicted(ampere, torch, *training, device.type, name))
            row = {**told, **row, "engine": f"pytorch {torch.__version__}", "device": name}
            if not arguments.predict_only:
                row["measured_bytes"] = measure(torch, *training, device)
        except Exception as e:  # one that this version does not have
            print(f"{called}: {type(e).__name__}: {str(e).splitlines()[0][:200]}", file=sys.stderr)
            continue
        yield row


RECORDED = {"fp32": ("sgd", "fp32"), "default": ("sgd", "default"), "bf16": ("sgd", "bf16"), "adamw": ("adamw", "default")}


def key_of_run(run):
    return run["network"], run["batch"], run["recipe"]


def recorded_runs(paths):
    """Eager runs of bench/truth, with what their process still held of those before them: a replay leaves its stream's
    cuBLAS workspace behind, which the peak of the replay has and that of the same network's eager run has not."""
    seen, about, held, eager = set(), {}, 0, None
    for path in paths:
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            if run["kind"] == "machine":  # a process of its own
                about, held = run, 0
            if run["kind"] != "run" or not run.get("peak_memory_bytes"):
                continue
            if run["mode"] == "replay":
                if not eager or key_of_run(eager) != key_of_run(run):
                    sys.exit(f"{path}: {run['network']} was replayed without an eager run before it, so what its process held "
                             "cannot be told; give runs of both modes")
                held += max(0, run["peak_memory_bytes"] - eager["peak_memory_bytes"])
                continue
            eager = run
            key = key_of_run(run)
            if run.get("error") or run["recipe"] not in RECORDED or key in seen:
                continue
            seen.add(key)
            yield {**run, "held_bytes": held, "process": about["when"], "device": about["card"],
                   "engine": f"pytorch {about['torch']}"}


def rows_of_recorded(arguments):
    import ampere
    import networks
    import torch

    workspaces = {}  # of each process, for its main stream
    for run in recorded_runs(arguments.recorded):
        called, batch, (optimizer_name, precision) = run["network"], run["batch"], RECORDED[run["recipe"]]
        if called not in networks.NETWORKS or (arguments.only and called not in arguments.only):
            continue
        try:
            told = predicted(ampere, torch, networks.NETWORKS[called], batch, optimizer_name, precision, "cuda", run["device"])
        except Exception as e:  # one that this version does not have
            print(f"{called}: {type(e).__name__}: {str(e).splitlines()[0][:200]}", file=sys.stderr)
            continue
        before = workspaces.get(run["process"], 0)
        workspaces[run["process"]] = max(before, told.libraries_bytes)
        held = run["held_bytes"] + max(0, before - told.libraries_bytes)
        yield {"network": called, "batch": batch, "optimizer": optimizer_name, "precision": precision, "engine": run["engine"],
               "device": run["device"], "measured_bytes": run["peak_memory_bytes"] - held, "held_bytes": held, **parts_of(told)}


def rows_of_worker(arguments):
    import ampere
    from ampere import _core

    worker = subprocess.Popen(shlex.split(arguments.worker), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(verb, **params):
        worker.stdin.write(json.dumps({"id": 1, "verb": verb, "params": params}) + "\n")
        worker.stdin.flush()
        answer = json.loads(worker.stdout.readline())
        if not answer["ok"]:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    device = ask("detect")["device"]
    zoo = {known.name for known in _core.known_models()}
    files = [(path, batch, "momentum") for path in arguments.files for batch in (2, 8)]
    for called, batch, optimizer_name in [*(row for row in ZOO if row[0].partition(":")[0] in zoo), *files]:
        if arguments.only and called not in arguments.only:
            continue
        model = ampere.Model.load(called)
        told = _core.estimate_memory(model, batch, ampere.Recipe(optimizer=optimizer_name), type=device["type"],
                                     framework=device["framework"], name=device["name"])
        peak = ask("memory", network=json.loads(model.to_json()), batch=batch, recipe={"optimizer": optimizer_name})
        yield {"network": pathlib.Path(called).name, "batch": batch, "optimizer": optimizer_name, "precision": "default",
               "engine": device["framework"], "device": device["name"], "measured_bytes": peak["peak_bytes"],
               **parts_of(told)}
    worker.stdin.close()
    worker.wait()


def parts_of(told):
    names = ("peak", "weights", "gradients", "optimizer", "data", "saved", "libraries", "temporaries")
    return {f"{name}_bytes": round(getattr(told, f"{name}_bytes")) for name in names}


def table(rows):
    lines = ["| network | batch | trained | engine | predicted | measured | off |", "| --- | --- | --- | --- | --- | --- | --- |"]
    errors, networks = {}, {}
    for row in rows:
        off = row["peak_bytes"] / row["measured_bytes"] - 1
        errors.setdefault(row["precision"], []).append(abs(off))
        networks.setdefault(row["precision"], set()).add(row["network"])
        lines.append(f"| {row['network']} | {row['batch']} | {row['optimizer']}, {row['precision']} | {row['engine']} | "
                     f"{row['peak_bytes'] / 2**20:.1f} MiB | {row['measured_bytes'] / 2**20:.1f} MiB | {off:+.1%} |")
    for precision, of in errors.items():
        lines += ["", f"{precision}: {len(of)} steps of {len(networks[precision])} networks, {sum(e <= 0.1 for e in of)} within 10%; mean {statistics.mean(of):.1%}, "
                  f"worst {max(of):.1%}"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--small", action="store_true", help="the small batches, for processors")
    parser.add_argument("--worker", help="instead: networks of the zoo, trained by this worker")
    parser.add_argument("--files", nargs="*", default=[], help="ONNX files, with --worker")
    parser.add_argument("--name", default="", help="what the device is called, where it is not here")
    parser.add_argument("--predict-only", action="store_true", help="no network is trained")
    parser.add_argument("--predicted", help="rows of --predict-only: the package is not needed then")
    parser.add_argument("--recorded", nargs="*", help="no training: runs of bench/truth, whose lines have their peaks")
    parser.add_argument("--only", nargs="*", help="networks by name")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no network after so many")
    parser.add_argument("--out", help="rows as lines of JSON, appended")
    parser.add_argument("--table", nargs="*", help="no measuring: the table of such files")
    arguments = parser.parse_args()
    if arguments.table:
        print(table([json.loads(line) for path in arguments.table for line in pathlib.Path(path).read_text().splitlines()]))
        return
    began, rows = time.monotonic(), []
    rows_of = rows_of_worker if arguments.worker else rows_of_recorded if arguments.recorded else rows_of_pytorch
    for row in rows_of(arguments):
        rows.append(row)
        off = f"{row['peak_bytes'] / row['measured_bytes'] - 1:+.1%}" if "measured_bytes" in row else "predicted"
        print(f"{row['network']}@{row['batch']}: {off} ({time.monotonic() - began:.0f} s)", file=sys.stderr)
        if arguments.out:
            with open(arguments.out, "a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
        if time.monotonic() - began > arguments.seconds:
            break
    if not arguments.predict_only:
        print(table(rows))


if __name__ == "__main__":
    main()
