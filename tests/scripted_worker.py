#!/usr/bin/python3
"""A worker without a framework: scripted_worker.py MODE [COUNT_FILE]. Its device is imaginary and exactly additive.

ok          answers everything
slow        takes 20 ms for every measurement
drifts      every measurement costs a tenth more than the one before
dies:N      ends in the middle of measurement N
garbage:N   answers measurement N with a line that is no JSON
nan:N       answers measurement N with figures that cannot be
hangs:N     never answers measurement N
stops:N     reports an error in measurement N
silent:N    reports one without a word of what went wrong
wordy:N     reports one in 100 kB
tiny:N      says that measurement N cost 5e-324 J and s; huge:N: 1e300; far:N: anything between
meters:N    reads another meter in measurement N than it was asked for
odd-device  calls its device by something that is no text; long-device: by 3000 letters
one-batch   knows one TorchScript file, which runs with a batch of 3 only; one-batch-old: and no kind of error for that
odd-idle    has an accelerator that idles at 1e300 W
small:C     has no memory for layers of more than C channels
no-device   leaves its device out of the answer to detect
no-meter    has no energy meter
cuda        has an accelerator, which replays at half the cost
cuda-samples has one that keeps its power, too
no-capture  has one that cannot
no-energy   has one, and never tells an energy

SCRIPTED_NAME and SCRIPTED_UNIT name the device and the card. "9+" for N is measurement 9 and all after it. COUNT_FILE keeps the count when the worker is started again.
"""

import json
import os
import pathlib
import random
import sys
import time

METER = {"name": "imaginary", "scope": "device", "modelled": True, "available": True, "why": "", "description": "none"}
DEVICE = {"name": "imaginary device", "type": "cpu", "cores": 1, "driver": "", "framework": "none", "blas": "",
          "allocator": "", "threads": 1, "memory_bytes": 1 << 30}
# Shares of an iteration's cost; alone, phases cost more than together.
PHASES = {"iteration": 1, "forward": 0.4, "backward": 0.7, "update": 0.1}

COMPLAINTS = {"stops": "the imaginary device is tired", "silent": " ", "wordy": "it began with " + "words " * 17000 + "and ended so"}
FIGURES = {"tiny": 5e-324, "huge": 1e300}
NAMES = {"odd-device": {"of": ["two", "parts"]}, "long-device": "x" * 3000}


def width(node):
    return max([node[k] for k in ("out_channels", "out_features", "hidden_size", "dim") if k in node], default=0)


def measured(params, most_channels, replays, drift=0):
    nodes = params["network"]["nodes"]
    if max(map(width, nodes)) > most_channels:
        return {"error": {"kind": "out_of_memory", "message": "does not fit the imaginary device"}}
    cost = (1 + sum(width(node) for node in nodes) * params["batch"]) * (1 + drift)
    mode = "replay" if replays and params["mode"] == "replay" else "eager"
    cost *= PHASES[params.get("phase", "iteration")] * (0.5 if mode == "replay" else 1)
    return {"result": {"energy_j": 1e-4 * cost if params.get("energy", True) else None, "time_s": 1e-5 * cost,
                       "energy_error": 0.001, "time_error": 0.001, "host_s": 2e-6 * len(nodes) if replays else None,
                       "windows": params["min_windows"], "outliers": 0, "iterations": 50, "stable": True,
                       "modelled": True, "meter": "imaginary", "mode": mode,
                       "note": "" if mode == params["mode"] else "capture failed"}}


def traced(batch):
    tensors = [{"shape": [3, 4], "dtype": "float", "role": "parameter", "name": "fc.weight"},
               {"shape": [batch, 4], "dtype": "float", "role": "input"}, {"shape": [batch, 3], "dtype": "float"}]
    args = {"input": {"tensor": 1}, "weight": {"tensor": 0}, "bias": None}
    return {"result": {"name": "Net", "batch": batch, "parameters": 12.0, "inputs": [1], "outputs": [2], "tensors": tensors,
                       "ops": [{"op": "aten::linear", "module": "fc", "args": args, "outputs": [2]}]}}


def misbehave(mode):
    if mode == "dies":
        sys.exit("the imaginary device has vanished")
    if mode == "hangs":
        time.sleep(1000)
    if mode in COMPLAINTS:
        return {"error": {"kind": "failed", "message": COMPLAINTS[mode]}}
    if mode == "far":
        return {"result": {"energy_j": 10 ** random.uniform(-300, 300), "time_s": 10 ** random.choice((-200, 200))}}
    if mode in FIGURES:
        return {"result": {"energy_j": FIGURES[mode], "time_s": FIGURES[mode]}}
    if mode == "meters":
        return {"result": {"energy_j": 1e-3, "time_s": 1e-4, "meter": "made-up"}}
    return {"result": {"energy_j": -1, "time_s": 0}}


def keep(counter, count):
    # In one step: a worker that is killed here must not leave an empty file to the one after it.
    written = counter.with_suffix(".new")
    written.write_text(str(count))
    written.replace(counter)


def answer(verb, params, mode, number, failing, count):
    if verb == "hello":
        return {"result": {"protocol": 1, "worker": "scripted", "version": "1", "framework": "none"}}
    if verb == "detect" and mode == "no-device":
        return {"result": {"meters": []}}
    if verb == "detect":
        meters = {"meters": [], "default_meter": ""} if mode == "no-meter" else {"meters": [{**METER, "samples_s": 0.02 if mode == "cuda-samples" else None}], "default_meter": "imaginary"}
        kind = {"type": "cuda"} if mode in ("cuda", "cuda-samples", "no-capture", "no-energy", "odd-idle") else {}
        if "SCRIPTED_NAME" in os.environ:
            kind["name"] = os.environ["SCRIPTED_NAME"]
        if mode in NAMES:
            kind = {"name": NAMES[mode]}
        return {"result": {"device": {**DEVICE, **kind, "unit": os.environ.get("SCRIPTED_UNIT", "")}, **meters}}
    if verb == "idle":
        return {"result": {"power_w": 1e300 if mode == "odd-idle" else 1, "seconds": params.get("seconds", 1), "meter": "imaginary", "modelled": True}}
    if verb == "trace" and mode.startswith("one-batch"):
        kind = "bad_input" if mode == "one-batch-old" else "forward_failed"
        return traced(params["batch"]) if params["batch"] == 3 else {"error": {"kind": kind, "message": "only three fit"}}
    if verb == "trace":
        return {"error": {"kind": "bad_input", "message": 'unknown verb "trace" (known: hello, detect, idle, measure)'}}
    if verb != "measure":
        return {"result": {}}
    if params["meter"] not in ("", "imaginary"):
        return {"error": {"kind": "bad_input", "message": f"no meter is called '{params['meter']}'; known: imaginary"}}
    if mode == "slow":
        time.sleep(0.02)
    if failing and mode != "small":
        return misbehave(mode)
    if mode == "no-energy":
        params = {**params, "energy": False}
    return measured(params, number if mode == "small" else 1 << 30, mode in ("cuda", "cuda-samples", "no-energy"),
                    0.1 * count if mode == "drifts" else 0)


def main():
    mode, _, text = sys.argv[1].partition(":")
    number = int(text.rstrip("+") or 0)
    counter = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    count = int(counter.read_text()) if counter and counter.exists() else 0
    for line in sys.stdin:
        request = json.loads(line)
        measuring = request["verb"] == "measure"
        count += measuring
        if counter:
            keep(counter, count)
        failing = measuring and number > 0 and (count >= number if text.endswith("+") else count == number)
        if failing and mode == "garbage":
            print("Loading libraries... done", flush=True)
            continue
        reply = answer(request["verb"], request.get("params", {}), mode, number, failing, count)
        print(json.dumps({"id": request["id"], "ok": "result" in reply, **reply}), flush=True)


main()
