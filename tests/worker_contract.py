#!/usr/bin/python3
"""What every worker must do (docs/protocol.md): one scripted conversation, run against any worker.

    tests/worker_contract.py build/bin/ampere-worker
    tests/worker_contract.py python -m ampere.worker
    tests/worker_contract.py --limit 3600 COMMAND...      seconds that all of it may take, 120 unless given
"""

import json
import math
import subprocess
import sys
import threading

TIME_LIMIT_S = 120
TO_END_S = 10

LENET = [{"op": "input", "shape": [1, 28, 28]}, {"op": "conv2d", "out_channels": 6, "kernel": 5, "padding": 2},
         {"op": "relu"}, {"op": "max_pool", "kernel": 2}, {"op": "conv2d", "out_channels": 16, "kernel": 5},
         {"op": "relu"}, {"op": "max_pool", "kernel": 2}, {"op": "flatten"}, {"op": "linear", "out_features": 84},
         {"op": "relu"}, {"op": "linear", "out_features": 10}]
MLP = [{"op": "input", "shape": [4]}, {"op": "linear", "out_features": 3}]
IMAGE = {"name": "x", "op": "input", "shape": [4, 8, 8]}
SEQUENCE = {"name": "x", "op": "input", "shape": [5, 8]}
# One network for each op; every one must train.
OPS = {
    "conv1d": [{"op": "input", "shape": [4, 9]}, {"op": "conv1d", "out_channels": 6, "kernel": 3}],
    "depthwise": [IMAGE, {"op": "conv2d", "out_channels": 4, "kernel": 3, "groups": 0, "bias": False}],
    "embedding": [{"op": "input", "shape": [5], "dtype": "int", "classes": 9}, {"op": "embedding", "vocabulary": 9, "dim": 6}],
    "lstm": [SEQUENCE, {"op": "lstm", "hidden_size": 7, "bidirectional": True}],
    "gru": [SEQUENCE, {"op": "gru", "hidden_size": 7, "num_layers": 2}],
    "attention": [SEQUENCE, {"op": "attention", "heads": 2}],
    "cross": [SEQUENCE, {"name": "k", "op": "input", "shape": [3, 8]}, {"op": "attention", "heads": 2, "inputs": ["x", "k", "k"]}],
    "encoder_layer": [SEQUENCE, {"op": "encoder_layer", "heads": 2, "feedforward": 16}],
    "norm_first": [SEQUENCE, {"op": "encoder_layer", "heads": 2, "feedforward": 16, "activation": "gelu", "norm_first": True}],
    "layer_norm": [SEQUENCE, {"op": "layer_norm"}],
    "batch_norm": [IMAGE, {"op": "batch_norm"}],
    "group_norm": [IMAGE, {"op": "group_norm", "groups": 2}],
    "leaky_relu": [IMAGE, {"op": "leaky_relu", "slope": 0.1}],
    "softmax": [SEQUENCE, {"op": "softmax"}],
    "ceil_pool": [IMAGE, {"op": "max_pool", "kernel": 3, "stride": 2, "padding": 1, "ceil_mode": True}],
    "avg_pool": [IMAGE, {"op": "avg_pool", "kernel": [2, 4]}],
    "adaptive_avg_pool": [IMAGE, {"op": "adaptive_avg_pool", "output": 1}],
    "dropout": [IMAGE, {"op": "dropout"}],
    "add": [IMAGE, {"name": "y", "op": "relu"}, {"op": "add", "inputs": ["x", "y", "x"]}],
    "mul": [IMAGE, {"name": "y", "op": "mean", "axes": [2, 3], "keepdim": True}, {"op": "mul", "inputs": ["x", "y"]}],
    "concat": [IMAGE, {"name": "y", "op": "relu"}, {"op": "concat", "inputs": ["x", "y"]}],
    "matmul": [SEQUENCE, {"name": "y", "op": "permute", "order": [0, 2, 1]}, {"op": "matmul", "inputs": ["x", "y"]}],
    "reshape": [IMAGE, {"op": "reshape", "shape": [0, 2, -1]}],
    "tied": [{"op": "input", "shape": [5], "dtype": "int", "classes": 9}, {"op": "embedding", "vocabulary": 9, "dim": 6},
             {"op": "linear", "out_features": 9, "bias": False, "tied": True}],
    "attention_core": [SEQUENCE, {"op": "attention_core", "heads": 2, "mask": "causal", "inputs": ["x", "x", "x"]}],
    "packed": [{"op": "input", "shape": [5, 12]}, {"op": "attention_core", "heads": 2, "mask": "additive", "dropout": 0.1}],
    "windows": [{"op": "input", "shape": [3, 4, 12]}, {"op": "attention_core", "heads": 2, "rows": 9}],
    "roll": [IMAGE, {"op": "roll", "shifts": [-2, 3], "axes": [2, 3]}],
    "learned_add": [SEQUENCE, {"op": "learned_add", "shape": [0, 0], "rows": 7}],
    "learned_mul": [IMAGE, {"op": "learned_mul", "shape": [0, 1, 1]}],
    "class_token": [SEQUENCE, {"op": "class_token"}],
    "drop_path": [IMAGE, {"op": "drop_path"}],
    "channel_shuffle": [IMAGE, {"op": "channel_shuffle", "groups": 2}],
    "log_softmax": [SEQUENCE, {"op": "log_softmax"}],
    "upsample": [IMAGE, {"op": "upsample", "factor": 2, "mode": "bilinear"}],
    "conv_transpose2d": [IMAGE, {"op": "conv_transpose2d", "out_channels": 6, "kernel": 2, "stride": 2}],
    "slice": [IMAGE, {"op": "slice", "axis": 2, "start": -6, "end": -1, "step": 2}],
    **{op: [IMAGE, {"op": op}] for op in ("relu", "relu6", "elu", "gelu", "silu", "hardswish", "hardsigmoid",
                                          "sigmoid", "tanh", "identity", "scale")},
}


def measure(nodes, batch=4, **rest):
    return {"network": {"nodes": nodes}, "batch": batch, "window_s": 0.01, "warm_up_s": 0.01, "budget_s": 0.1, **rest}


def positive(value):
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def is_hello(r):
    return r["protocol"] == 1 and all(isinstance(r[k], str) and r[k] for k in ("worker", "version", "framework"))


def is_detect(r):
    device, meters = r["device"], r["meters"]
    return (device["type"] in ("cpu", "cuda") and device["name"] and positive(device["memory_bytes"])
            and positive(device["threads"]) and device["framework"] and "blas" in device and "allocator" in device
            and all(set(m) >= {"name", "scope", "modelled", "available", "why", "description"} for m in meters)
            and r["default_meter"] in [m["name"] for m in meters if m["available"]]
            and all(m["available"] or m["why"] for m in meters))


def is_idle(r):
    return (r["power_w"] is None or r["power_w"] >= 0) and r["seconds"] >= 0.05 and r["meter"] and r["modelled"] in (True, False)


def is_measurement(r):
    return (positive(r["time_s"]) and (r["energy_j"] is None or positive(r["energy_j"])) and r["energy_error"] >= 0
            and r["time_error"] >= 0 and r["windows"] >= 3 and r["iterations"] >= r["windows"] and r["meter"]
            and r["stable"] in (True, False) and r["modelled"] in (True, False) and r["mode"] in ("eager", "replay")
            and (r["host_s"] is None or positive(r["host_s"])))


def is_time_alone(r):
    return r["energy_j"] is None and r["energy_error"] == 0 and not r["meter"] and is_measurement({**r, "meter": "none"})


def is_training(r):
    return r["loss_last"] < r["loss_first"] and r["iterations"] == 60 and positive(r["time_s"])


def ok(name, verb, params, check):
    return name, {"verb": verb, "params": params}, check


def wrong(name, verb, params, kinds=("bad_input",)):
    return name, {"verb": verb, "params": params}, kinds


# name, request (an object that gets an id, or a raw line), and what the answer must be: a check of the
# result, or the kinds of error one of which must come.
CONVERSATION = [
    ok("hello", "hello", {"protocol": 1}, is_hello),
    ok("hello without a version", "hello", {}, is_hello),
    ("not JSON", "hello", ("bad_input",)),
    ("half an object", '{"id": 3', ("bad_input",)),
    ("a list", "[]", ("bad_input",)),
    ("not UTF-8", b"\xff\xfe\x80", ("bad_input",)),
    ("deep nesting", "[" * 100000, ("bad_input",)),
    ("no id", '{"verb": "hello"}', ("bad_input",)),
    ("text as id", '{"id": "a", "verb": "hello"}', ("bad_input",)),
    wrong("unknown verb", "dance", {}),
    ("no verb", {}, ("bad_input",)),
    ("params are a list", {"verb": "hello", "params": []}, ("bad_input",)),
    ("unknown field", {"verb": "hello", "surprise": 1}, ("bad_input",)),
    ok("detect", "detect", {}, is_detect),
    ok("idle", "idle", {"seconds": 0.05}, is_idle),
    wrong("negative seconds", "idle", {"seconds": -1}),
    wrong("unknown meter", "idle", {"meter": "crystal ball"}),
    ok("measure", "measure", measure(LENET, 10), is_measurement),
    ok("measure a layer", "measure", measure(LENET[:3], loss=False, input_grad=True), is_measurement),
    ok("replay, or eager with a note", "measure", measure(MLP, mode="replay"),
       lambda r: is_measurement(r) and (r["mode"] == "replay" or r["note"])),
    ok("the empty iteration", "measure", measure([{"op": "input", "shape": [1]}]), is_measurement),
    ok("adam", "measure", measure(MLP, recipe={"optimizer": "adam", "threads": 1, "seed": 3}), is_measurement),
    ok("time alone", "measure", measure(LENET, 10, energy=False), is_time_alone),
    *[ok(f"{phase} alone", "measure", measure(LENET, 10, phase=phase), is_measurement)
      for phase in ("iteration", "forward", "backward", "update")],
    *[ok(f"time of a layer's {phase}", "measure", measure(LENET[:3], energy=False, loss=False, input_grad=True, phase=phase), is_time_alone)
      for phase in ("forward", "backward", "update")],
    *[ok(f"{phase} of the empty iteration", "measure", measure([{"op": "input", "shape": [1]}], energy=False, phase=phase), is_time_alone)
      for phase in ("forward", "backward", "update")],
    ok("a quick look", "measure", measure(MLP, min_ticks=2, discard_first=False), is_measurement),
    wrong("far too many threads", "measure", measure(MLP, recipe={"threads": 4096})),
    wrong("unknown phase", "measure", measure(MLP, phase="sideways")),
    wrong("energy is a number", "measure", measure(MLP, energy=0)),
    wrong("no ticks", "measure", measure(MLP, min_ticks=0)),
    wrong("no network", "measure", {"batch": 1}),
    wrong("batch is text", "measure", measure(MLP, "ten")),
    wrong("batch of nothing", "measure", measure(MLP, 0)),
    wrong("unknown parameter", "measure", measure(MLP, surprise=1)),
    wrong("unknown optimizer", "measure", measure(MLP, recipe={"optimizer": "lion"})),
    wrong("recipe is a number", "measure", measure(MLP, recipe=3)),
    ("NaN", '{"id": 1, "verb": "idle", "params": {"seconds": NaN}}', ("bad_input",)),
    wrong("no nodes", "measure", measure([])),
    wrong("unknown op", "measure", measure([MLP[0], {"op": "warp"}])),
    wrong("unknown attribute", "measure", measure([MLP[0], {"op": "relu", "slope": 1}])),
    wrong("missing attribute", "measure", measure([MLP[0], {"op": "linear"}])),
    wrong("reads a later node", "measure", measure([MLP[0], {"op": "relu", "inputs": ["y"]}, {"name": "y", "op": "relu"}])),
    wrong("shapes do not fit", "measure", measure([MLP[0], {"op": "conv2d", "out_channels": 2, "kernel": 3}])),
    wrong("too large", "measure", measure([{"op": "input", "shape": [16000000]}, {"op": "linear", "out_features": 16000000}]),
          ("out_of_memory",)),
    wrong("nothing to normalise", "measure", measure([MLP[0], {"op": "batch_norm"}], 1), ("failed", "bad_input")),
    *[ok(f"op {name}", "measure", measure(nodes, loss=name != "softmax", input_grad=True, min_windows=3), is_measurement)
      for name, nodes in OPS.items()],
    ok("train", "train", {"network": {"nodes": LENET}, "batch": 8, "iterations": 60, "recipe": {"optimizer": "adam"}}, is_training),
    wrong("a trace of nothing", "trace", {}),
    wrong("a trace of no file", "trace", {"path": "/nowhere/net.pt", "inputs": []}),
    wrong("no iterations", "train", {"network": {"nodes": MLP}, "batch": 8, "iterations": 0}),
    ok("shutdown", "shutdown", {}, lambda r: r == {}),
]


def check_response(line, request, expected, number):
    """Why the response is wrong, or None."""
    try:
        response = json.loads(line)
    except ValueError:
        return f"not JSON: {line[:200]!r}"
    has_id = isinstance(request, dict)
    if response.get("id") != (number if has_id else response.get("id") if "NaN" in str(request) else -1):
        return f"wrong id: {line[:200]!r}"
    if callable(expected):
        if response.get("ok") is not True:
            return f"refused: {line[:300]!r}"
        return None if expected(response["result"]) else f"unexpected result: {line[:500]!r}"
    error = response.get("error", {})
    if response.get("ok") is not False or error.get("kind") not in expected:
        return f"expected an error of kind {' or '.join(expected)}, got {line[:300]!r}"
    message = error.get("message")
    return None if isinstance(message, str) and message and "\n" not in message else "the error has no message of one line"


def converse(command, limit_s):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watchdog = threading.Timer(limit_s, process.kill)
    watchdog.daemon = True
    watchdog.start()
    failures = 0
    for number, (name, request, expected) in enumerate(CONVERSATION, 1):
        raw = {"id": number, **request} if isinstance(request, dict) else request
        line = raw if isinstance(raw, bytes) else (raw if isinstance(raw, str) else json.dumps(raw)).encode()
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            print(f"FAIL {name}: the worker ended ({process.wait(max(TO_END_S, limit_s / 12))})")
            return failures + 1
        why = check_response(answer.decode(), request, expected, number)
        failures += why is not None
        print(f"FAIL {name}: {why}" if why else f"ok   {name}")
    code = process.wait(max(TO_END_S, limit_s / 12))
    if code != 0 or process.stdout.read():
        print(f"FAIL shutdown: exit code {code}, or more output after the last answer")
        failures += 1
    return failures


def main():
    command, limit_s = sys.argv[1:], TIME_LIMIT_S
    if command[:1] == ["--limit"]:
        command, limit_s = command[2:], float(command[1])
    if not command:
        sys.exit(__doc__)
    failures = converse(command, limit_s)
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=limit_s)
    if ended.returncode != 0 or ended.stdout:
        print("FAIL end of input: the worker must end with 0 and say nothing")
        failures += 1
    print(f"{failures} of {len(CONVERSATION) + 1} failed" if failures else f"all {len(CONVERSATION) + 1} passed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
