#!/usr/bin/python3
"""A worker for PyTorch: trains the networks that ampere sends and tells what an iteration costs.

    ampere profile cnn5 --worker "/usr/bin/python3 examples/pytorch_worker.py"

It speaks the protocol of docs/protocol.md and shows what a worker for another framework needs. Energy is
modelled: CPU time times $AMPERE_CPU_WATTS (10 when unset).
"""

import json
import math
import os
import statistics
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when the library loads, so before torch
import torch
from torch import nn
from torch.nn import functional as F

PROTOCOL = 1
MAX_LINE = 64 << 20
REQUIRED = object()


class WorkerError(Exception):
    def __init__(self, kind, message):
        super().__init__(message.split("\n")[0])
        self.kind = kind


def bad_input(message):
    return WorkerError("bad_input", message)


# What each op takes, with its default. A value of the default's type is asked for; lists take one number too.
CONV = dict(out_channels=REQUIRED, kernel=REQUIRED, stride=1, padding=0, dilation=1, groups=1, bias=True)
POOL = dict(kernel=REQUIRED, stride=[], padding=0, ceil_mode=False)
RECURRENT = dict(hidden_size=REQUIRED, num_layers=1, bidirectional=False, bias=True)
PLAIN = "relu relu6 elu silu hardswish hardsigmoid sigmoid tanh identity add mul matmul scale".split()
OPS = {
    "input": dict(shape=REQUIRED, dtype="float", classes=0), "conv1d": CONV, "conv2d": CONV,
    "linear": dict(out_features=REQUIRED, bias=True, tied=False), "embedding": dict(vocabulary=REQUIRED, dim=REQUIRED),
    "lstm": RECURRENT, "gru": RECURRENT, "attention": dict(heads=REQUIRED, bias=True),
    "encoder_layer": dict(heads=REQUIRED, feedforward=REQUIRED, dropout=0.1, activation="relu", norm_first=False),
    "batch_norm": dict(affine=True), "layer_norm": dict(axes=1, affine=True),
    "group_norm": dict(groups=REQUIRED, affine=True), "leaky_relu": dict(slope=0.01), "softmax": dict(axis=-1),
    "max_pool": POOL, "avg_pool": POOL, "adaptive_avg_pool": dict(output=REQUIRED), "dropout": dict(p=0.5),
    "concat": dict(axis=1), "flatten": dict(start=1), "reshape": dict(shape=REQUIRED), "permute": dict(order=REQUIRED),
    "slice": dict(axis=1, start=0, end=1 << 24, step=1), "mean": dict(axes=REQUIRED, keepdim=False),
    "gelu": dict(approximate="none"), "attention_core": dict(heads=REQUIRED, mask="none", dropout=0.0),
    "learned_add": dict(shape=[0], rows=0), "learned_mul": dict(shape=[0]), "class_token": dict(count=1),
    "drop_path": dict(p=0.1), "channel_shuffle": dict(groups=REQUIRED), "log_softmax": dict(axis=-1),
    "upsample": dict(factor=REQUIRED, mode="nearest"),
    "conv_transpose2d": dict(out_channels=REQUIRED, kernel=REQUIRED, stride=[1], padding=[0], output_padding=[0], groups=1, bias=True),
    **{name: {} for name in PLAIN},
}


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def field(params, key, default, check, expected):
    value = params.get(key, default)
    if value is REQUIRED:
        raise bad_input(f'field "{key}" is missing')
    if not check(value):
        raise bad_input(f'field "{key}" must be {expected}, found {json.dumps(value)[:60]}')
    return value


def number(params, key, default, low, high):
    return field(params, key, default, lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)
                 and low <= v <= high, f"a number between {low} and {high}")


def integer(params, key, default, low, high):
    return field(params, key, default, lambda v: is_int(v) and low <= v <= high, f"a whole number from {low} to {high}")


def known_fields(params, where, known):
    for key in params:
        if key not in known:
            raise bad_input(f'{where}: unknown field "{key}" (known: {", ".join(known)})')


def ints(value, count):
    values = value if isinstance(value, list) else [value]
    return values * count if len(values) == 1 else values


class Node:
    """One op: its attributes, checked, and the indices of the nodes it reads."""

    def __init__(self, raw, index, names):
        if not isinstance(raw, dict) or raw.get("op") not in OPS:
            raise bad_input(f"network: node {index} has an unknown op")
        self.op, spec = raw["op"], OPS[raw["op"]]
        self.name = raw.get("name", f"{self.op}{index}")
        self.where = f'node "{self.name}" ({self.op})'
        known_fields(raw, self.where, ["name", "op", "inputs", *spec])
        self.attrs = {key: raw.get(key, default) for key, default in spec.items()}
        for key, value in self.attrs.items():
            default = spec[key]
            if value is REQUIRED:
                raise bad_input(f'{self.where}: attribute "{key}" is missing')
            if isinstance(default, (bool, str)):
                good = type(value) is type(default)
            elif isinstance(default, float):
                good = isinstance(value, (int, float)) and 0 <= value < 1
            else:
                good = all(is_int(v) and abs(v) <= 1 << 24 for v in (value if isinstance(value, list) else [value]))
            if not good:
                raise bad_input(f'{self.where}: attribute "{key}" cannot be {json.dumps(value)[:60]}')
        inputs = raw.get("inputs", [] if self.op == "input" or index == 0 else [index - 1])
        try:
            self.inputs = [names[i] if isinstance(i, str) else i for i in inputs]
        except (KeyError, TypeError):
            raise bad_input(f"{self.where}: reads a node that is not before it")
        if (self.op == "input") == bool(self.inputs):
            raise bad_input(f"{self.where}: wrong number of inputs")


def read_network(params):
    network = field(params, "network", REQUIRED, lambda v: isinstance(v, dict), "an object")
    known_fields(network, "network", ["$schema", "schema_version", "name", "nodes", "outputs"])
    raw = field(network, "nodes", REQUIRED, lambda v: isinstance(v, list) and v, "a list that is not empty")
    nodes, names = [], {}
    for index, node in enumerate(raw):
        nodes.append(Node(node, index, names))
        names[nodes[-1].name] = index
    try:
        return nodes, [names[o] for o in network.get("outputs", [nodes[-1].name])]
    except (KeyError, TypeError):
        raise bad_input('network: "outputs" names a node that does not exist')


def build_op(node, x):
    """What the node computes, as a function of its inputs `x` (a module where it has weights)."""
    a, shape = node.attrs, x[0].shape
    width, channels, spatial = shape[-1], shape[1], len(shape) - 2
    sized = lambda key: ints(a[key], spatial)
    if node.op in ("conv1d", "conv2d") and spatial != int(node.op[4]):
        raise bad_input(f"{node.where}: expected {int(node.op[4]) + 2} dimensions, found {list(shape)}")
    conv = lambda module: module(channels, a["out_channels"], *map(sized, ("kernel", "stride", "padding", "dilation")),
                                 a["groups"] or channels, a["bias"])
    recurrent = lambda module: First(module(width, a["hidden_size"], a["num_layers"], a["bias"], True,
                                            bidirectional=a["bidirectional"]))
    pool = lambda function: lambda t: function(t, sized("kernel"), sized("stride") or sized("kernel"), sized("padding"),
                                               ceil_mode=a["ceil_mode"])
    where = (slice(None),) * a.get("axis", 0) + (slice(a.get("start"), a.get("end"), a.get("step")),)
    makers = {
        "conv1d": lambda: conv(nn.Conv1d), "conv2d": lambda: conv(nn.Conv2d),
        "linear": lambda: nn.Linear(width, a["out_features"], a["bias"]),
        "embedding": lambda: nn.Embedding(a["vocabulary"], a["dim"]),
        "lstm": lambda: recurrent(nn.LSTM), "gru": lambda: recurrent(nn.GRU),
        "attention": lambda: First(nn.MultiheadAttention(width, a["heads"], bias=a["bias"], batch_first=True), need_weights=False),
        "encoder_layer": lambda: nn.TransformerEncoderLayer(
            width, a["heads"], a["feedforward"], a["dropout"], a["activation"], batch_first=True, norm_first=a["norm_first"]),
        "batch_norm": lambda: (nn.BatchNorm2d if spatial == 2 else nn.BatchNorm1d)(channels, affine=a["affine"]),
        "layer_norm": lambda: nn.LayerNorm(shape[-a["axes"]:], elementwise_affine=a["affine"]),
        "group_norm": lambda: nn.GroupNorm(a["groups"], channels, affine=a["affine"]),
        "max_pool": lambda: pool((F.max_pool1d, F.max_pool2d)[spatial - 1]),
        "avg_pool": lambda: pool((F.avg_pool1d, F.avg_pool2d)[spatial - 1]),
        "adaptive_avg_pool": lambda: (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d)[spatial - 1](sized("output")),
        "leaky_relu": lambda: nn.LeakyReLU(a["slope"]), "softmax": lambda: nn.Softmax(a["axis"]),
        "dropout": lambda: nn.Dropout(a["p"]), "identity": nn.Identity, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh,
        "add": lambda: lambda *t: sum(t[1:], t[0]), "mul": lambda: torch.mul, "matmul": lambda: torch.matmul,
        "concat": lambda: lambda *t: torch.cat(t, a["axis"]), "slice": lambda: lambda t: t[where],
        "flatten": lambda: lambda t: t.flatten(a["start"]) if a["start"] < t.dim() else t,
        "reshape": lambda: lambda t: t.reshape([shape[i] if d == 0 else d for i, d in enumerate(ints(a["shape"], 1))]),
        "permute": lambda: lambda t: t.permute(a["order"]),
        "gelu": lambda: nn.GELU(a["approximate"]), "scale": lambda: lambda t: t * 1.0, "log_softmax": lambda: nn.LogSoftmax(a["axis"]),
        "attention_core": lambda: AttentionCore(a), "class_token": lambda: ClassToken(a["count"], width),
        "learned_add": lambda: Learned(a, shape, torch.add), "learned_mul": lambda: Learned(a, shape, torch.mul),
        "drop_path": lambda: lambda t: t * t.new_empty([len(t)] + [1] * (t.dim() - 1)).bernoulli_(1 - a["p"]).div_(1 - a["p"]),
        "channel_shuffle": lambda: lambda t: t.unflatten(1, (a["groups"], channels // a["groups"])).transpose(1, 2).flatten(1, 2),
        "upsample": lambda: nn.Upsample(scale_factor=tuple(float(f) for f in sized("factor")), mode=a["mode"]),
        "conv_transpose2d": lambda: nn.ConvTranspose2d(channels, a["out_channels"],
                                                       *map(sized, ("kernel", "stride", "padding", "output_padding")), a["groups"], a["bias"]),
        "mean": lambda: lambda t: t.mean(ints(a["axes"], 1), a["keepdim"]),
    }
    return makers.get(node.op, lambda: getattr(F, node.op))()


class First(nn.Module):
    """The first result of a module that gives several; attention reads one input three times."""

    def __init__(self, inner, **options):
        super().__init__()
        self.inner, self.options = inner, options

    def forward(self, *x):
        return self.inner(*(x * 3 if self.options and len(x) == 1 else x), **self.options)[0]


class AttentionCore(nn.Module):
    """softmax(q k' / sqrt(d) + mask) v in heads; one input holds query, key and value side by side."""

    def __init__(self, attrs):
        super().__init__()
        self.heads, self.mask, self.dropout = attrs["heads"], attrs["mask"], attrs["dropout"]

    def forward(self, *x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (x if len(x) == 3 else x[0].chunk(3, -1)))
        logits = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if self.mask != "none":
            mask = torch.zeros_like(logits[:1, :1])
            logits = logits + (mask.masked_fill(torch.ones_like(mask).triu(1) > 0, -math.inf) if self.mask == "causal" else mask)
        return (F.dropout(logits.softmax(-1), self.dropout) @ v).transpose(1, 2).flatten(2)


class Learned(nn.Module):
    """A trained tensor, or rows of a trained table, added to or multiplied with every sample."""

    def __init__(self, attrs, shape, apply):
        super().__init__()
        sizes = ints(attrs["shape"], 1)
        self.apply_to, self.places = apply, None
        if attrs.get("rows"):
            self.places, sizes = torch.arange(shape[1]) % attrs["rows"], [attrs["rows"], shape[-1]]
        self.weight = nn.Parameter(torch.ones([d or shape[i - len(sizes)] for i, d in enumerate(sizes)]))

    def forward(self, x):
        return self.apply_to(x, self.weight if self.places is None else F.embedding(self.places, self.weight))


class ClassToken(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, count, width))

    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x], 1)


def free_memory():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def refuse_if_too_large(node, x, batch):
    """Weights four times over (gradient and optimizer states), before they are allocated."""
    a, shape = node.attrs, x[0].shape if x else [0, 0]
    conv = lambda: a["out_channels"] * shape[1] * math.prod(ints(a["kernel"], int(node.op[4])))
    weights = {"linear": lambda: shape[-1] * a["out_features"], "embedding": lambda: a["vocabulary"] * a["dim"],
               "conv1d": conv, "conv2d": conv, "input": lambda: batch * math.prod(ints(a["shape"], 1))}
    if (need := 16 * weights.get(node.op, int)()) > free_memory():
        raise WorkerError("out_of_memory", f"{node.where}: needs about {need / 1e9:.3g} GB of memory")


class Trainer(nn.Module):
    """The network on synthetic data. Ops are made while the first forward pass shows their input shapes."""

    def __init__(self, params, learning_rate, loss=True, input_grad=False):
        super().__init__()
        nodes, self.outputs = read_network(params)
        batch = integer(params, "batch", REQUIRED, 1, 1 << 24)
        recipe = read_recipe(params)
        self.loss, self.ops, self.inputs, values = loss, [], [], []
        self.modules_ = nn.ModuleList()
        for node in nodes:
            x = [values[i] for i in node.inputs]
            refuse_if_too_large(node, x, batch)
            try:
                if node.op == "input":
                    op, size = None, [batch, *ints(node.attrs["shape"], 1)]
                    integral = node.attrs["dtype"] == "int"
                    values.append(torch.randint(node.attrs["classes"], size) if integral else torch.randn(size))
                    self.inputs.append(values[-1].requires_grad_(input_grad and not integral))
                else:
                    op = build_op(node, x)
                    if isinstance(op, nn.Module):
                        self.modules_.append(op)
                    with torch.no_grad():
                        values.append(op(*x))
            except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as e:
                if "allocate memory" in str(e):
                    raise WorkerError("out_of_memory", f"{node.where}: {e}")
                raise bad_input(f"{node.where}: {e}")
            self.ops.append((op, node.inputs))
        self.targets = [self.target(values[o]) for o in self.outputs]
        if len(self.inputs) == len(nodes):  # the empty iteration: one scalar, nothing else
            self.scalar = nn.Parameter(torch.ones(()))
        weights = list(self.parameters())
        momentum = 0.9 if recipe["optimizer"] == "momentum" else 0
        self.optimizer = (None if not weights else torch.optim.Adam(weights, lr=learning_rate) if recipe["optimizer"] == "adam"
                          else torch.optim.SGD(weights, lr=learning_rate, momentum=momentum))

    def target(self, output):
        if not self.loss:
            return torch.randn(output.shape) / output.numel()
        if output.dim() in (2, 3) and output.shape[-1] > 1:
            return torch.randint(output.shape[-1], (output.numel() // output.shape[-1],))
        return torch.randn(output.shape)

    def step(self):
        self.forget_gradients()
        roots = self.forward()
        self.backward(roots)
        self.update()
        return roots[0][0].detach() if self.loss and roots else None

    def phase(self, name):
        """One part of an iteration, to be repeated by itself: a backward pass goes over one graph again and again."""
        if name == "iteration":
            return self.step
        if name != "backward":
            return getattr(self, name)
        roots = self.forward()

        def backward():
            self.forget_gradients()
            self.backward(roots, keep_graph=True)
        return backward

    def forget_gradients(self):
        for tensor in [*self.parameters(), *self.inputs]:
            tensor.grad = None

    def forward(self):
        """Where the backward pass starts: the loss, or the outputs, each with its gradient (None is 1)."""
        if hasattr(self, "scalar"):
            return []
        values, inputs = [], iter(self.inputs)
        for op, reads in self.ops:
            values.append(op(*[values[i] for i in reads]) if op else next(inputs))
        pairs = [(values[o], t) for o, t in zip(self.outputs, self.targets)]
        if not self.loss:
            return pairs
        return [(sum(F.cross_entropy(r.flatten(0, -2), t) if t.dtype == torch.long else F.mse_loss(r, t) for r, t in pairs), None)]

    def backward(self, roots, keep_graph=False):
        if hasattr(self, "scalar"):
            return self.scalar.backward(torch.ones(()))
        roots = [(r, gradient) for r, gradient in roots if r.requires_grad]
        if roots:
            torch.autograd.backward(*map(list, zip(*roots)), retain_graph=keep_graph)

    def update(self):
        if self.optimizer:
            self.optimizer.step()


def read_recipe(params):
    recipe = field(params, "recipe", {}, lambda v: isinstance(v, dict), "an object")
    known_fields(recipe, "recipe", ["optimizer", "precision", "autotune", "deterministic", "threads", "seed"])
    optimizers = ["sgd", "momentum", "adam"]
    field(recipe, "optimizer", "sgd", lambda v: v in optimizers, "one of " + ", ".join(optimizers))
    field(recipe, "precision", "fp32", lambda v: v == "fp32", "fp32: this worker trains in nothing else")
    torch.set_num_threads(integer(recipe, "threads", 1, 1, 4096))
    torch.use_deterministic_algorithms(field(recipe, "deterministic", False, lambda v: isinstance(v, bool), "true or false"), warn_only=True)
    torch.manual_seed(integer(recipe, "seed", 1, -(1 << 62), 1 << 62))
    return {"optimizer": "sgd", **recipe}


def watts():
    return float(os.environ.get("AMPERE_CPU_WATTS") or 10)


def check_meter(params):
    field(params, "meter", "", lambda v: v in ("", "cpu-model"), "cpu-model, the one meter of this worker")


def error_of_median(values):
    """Standard error of the median over the median, from the median deviation (normal noise)."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(v - middle) for v in values)
    return 1.2533 * deviation / math.sqrt(len(values)) / middle if middle > 0 else 1.0


def measure(params):
    known_fields(params, "measure", ["network", "batch", "mode", "loss", "input_grad", "recipe", "meter", "target_error",
                                     "window_s", "warm_up_s", "budget_s", "min_windows", "min_ticks", "discard_first", "phase", "energy"])
    flag = lambda key, default: field(params, key, default, lambda v: isinstance(v, bool), "true or false")
    mode = field(params, "mode", "eager", lambda v: v in ("eager", "replay"), "eager or replay")
    target, window = number(params, "target_error", 0.01, 1e-6, 1), number(params, "window_s", 0.1, 1e-3, 600)
    warm_up, budget = number(params, "warm_up_s", 0.1, 0, 600), number(params, "budget_s", 3, 1e-3, 3600)
    least = integer(params, "min_windows", 3, 1, 1000)
    integer(params, "min_ticks", 10, 1, 1000)  # CPU time does not tick
    phases = ["iteration", "forward", "backward", "update"]
    phase = field(params, "phase", "iteration", lambda v: v in phases, "one of " + ", ".join(phases))
    metered = flag("energy", True)
    discard = flag("discard_first", True) and metered
    check_meter(params)
    trainer = Trainer(params, 1e-6, flag("loss", True), flag("input_grad", False))
    start, warm = time.monotonic(), 0
    while warm < 3 or metered and time.monotonic() - start < warm_up:
        trainer.step()
        warm += 1
    work, pace = trainer.phase(phase), (time.monotonic() - start) / warm
    energies, times, iterations = [], [], 0
    while True:
        count = max(1, round(window / pace))
        cpu, wall = time.process_time(), time.monotonic()
        for _ in range(count):
            work()
        energy, wall = (time.process_time() - cpu) * watts() / count, max(time.monotonic() - wall, 1e-9)
        if discard:
            discard, pace = False, wall / count
            continue
        energies.append(energy)
        times.append(wall / count)
        pace, iterations = statistics.median(times), iterations + count
        stable = error_of_median(energies if metered else times) <= target
        if len(times) >= least and (stable or len(times) >= 50 or time.monotonic() - start >= budget):
            break
    energy = {"energy_j": statistics.median(energies), "energy_error": error_of_median(energies), "modelled": True,
              "meter": "cpu-model"} if metered else {"energy_j": None, "energy_error": 0, "modelled": False, "meter": ""}
    return {**energy, "time_s": pace, "time_error": error_of_median(times), "host_s": None, "windows": len(times),
            "outliers": 0, "iterations": iterations, "stable": stable, "mode": "eager",
            "note": "" if mode == "eager" else "a CPU has nothing to replay: measured eagerly"}


def train(params):
    known_fields(params, "train", ["network", "batch", "recipe", "iterations"])
    iterations = integer(params, "iterations", REQUIRED, 1, 10_000_000)
    trainer = Trainer(params, 1e-3 if params.get("recipe", {}).get("optimizer") == "adam" else 1e-2)
    start = time.monotonic()
    losses = [trainer.step() for _ in range(iterations)]
    return {"loss_first": float(losses[0]), "loss_last": float(losses[-1]), "iterations": iterations,
            "time_s": time.monotonic() - start}


def idle(params):
    known_fields(params, "idle", ["seconds", "meter"])
    check_meter(params)
    seconds = number(params, "seconds", 1, 1e-6, 600)
    cpu, wall = time.process_time(), time.monotonic()
    time.sleep(seconds)
    seconds = time.monotonic() - wall
    return {"power_w": (time.process_time() - cpu) * watts() / seconds, "seconds": seconds, "meter": "cpu-model", "modelled": True}


def detect(params):
    known_fields(params, "detect", ["characterise"])  # its one meter has nothing to watch
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    with open("/proc/self/maps") as lines:
        blas = sorted({line.split()[-1] for line in lines if "blas" in line or "libmkl" in line})
    meter = {"name": "cpu-model", "scope": "process", "modelled": True, "available": True, "why": "",
             "description": f"CPU time of this process times {watts():g} W per busy core (AMPERE_CPU_WATTS)"}
    device = {"name": names[0] if names else "cpu", "type": "cpu", "cores": os.cpu_count(), "memory_bytes": free_memory(),
              "driver": "", "framework": f"pytorch {torch.__version__}", "blas": ", ".join(blas),
              "threads": torch.get_num_threads(), "allocator": "glibc"}
    return {"device": device, "meters": [meter], "default_meter": "cpu-model"}


def hello(params):
    known_fields(params, "hello", ["protocol"])
    return {"protocol": PROTOCOL, "worker": "pytorch_worker", "version": "0.2.0", "framework": f"pytorch {torch.__version__}"}


VERBS = {"hello": hello, "detect": detect, "idle": idle, "measure": measure, "train": train, "shutdown": lambda params: {}}


def answer(line):
    """The response to one line, and whether it was the last."""
    ident, verb = -1, ""
    try:
        if len(line) > MAX_LINE:
            raise bad_input("request: the line is longer than 64 MiB")
        request = json.loads(line, parse_constant=lambda word: float("no JSON: " + word))
        if isinstance(request, dict) and is_int(request.get("id")):
            ident = request["id"]
        field(request if isinstance(request, dict) else {}, "id", REQUIRED, is_int, "a whole number")
        known_fields(request, "request", ["id", "verb", "params"])
        verb = field(request, "verb", REQUIRED, lambda v: v in VERBS, "one of " + ", ".join(VERBS))
        params = field(request, "params", {}, lambda v: isinstance(v, dict), "an object")
        return {"id": ident, "ok": True, "result": VERBS[verb](params)}, verb == "shutdown"
    except WorkerError as e:
        error = {"kind": e.kind, "message": str(e)}
    except (ValueError, RecursionError) as e:
        error = {"kind": "failed" if verb else "bad_input", "message": f"request: not valid JSON: {e}".split("\n")[0]}
    except MemoryError:
        error = {"kind": "out_of_memory", "message": "not enough memory for this request"}
    except Exception as e:
        error = {"kind": "failed", "message": f"training failed: {e}".split("\n")[0]}
    return {"id": ident, "ok": False, "error": error}, False


def main():
    # Standard output belongs to the protocol alone: whatever a library prints goes to standard error.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    while line := sys.stdin.buffer.readline(MAX_LINE + 2):
        if not line.endswith(b"\n"):
            while (rest := sys.stdin.buffer.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
        if not line.strip():
            continue
        response, last = answer(line.strip())
        out.write(json.dumps(response) + "\n")
        if last:
            return


if __name__ == "__main__":
    main()
