"""Networks of ops, as docs/network.schema.json describes them, and PyTorch's modules for them."""

# ruff: noqa: E501, E731

import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from .fields import REQUIRED, RequestError, bad_input, field, is_int, known_fields

# What each op takes, with its default. A value of the default's type is asked for; lists take one number too.
CONV = dict(out_channels=REQUIRED, kernel=REQUIRED, stride=1, padding=0, dilation=1, groups=1, bias=True)
POOL = dict(kernel=REQUIRED, stride=[], padding=0, ceil_mode=False)
RECURRENT = dict(hidden_size=REQUIRED, num_layers=1, bidirectional=False, bias=True)
PLAIN = "relu relu6 elu silu hardswish hardsigmoid sigmoid tanh identity add mul matmul scale".split()
OPS = {
    "input": dict(shape=REQUIRED, dtype="float", classes=0),
    "conv1d": CONV,
    "conv2d": CONV,
    "linear": dict(out_features=REQUIRED, bias=True, tied=False),
    "embedding": dict(vocabulary=REQUIRED, dim=REQUIRED),
    "lstm": RECURRENT,
    "gru": RECURRENT,
    "attention": dict(heads=REQUIRED, bias=True),
    "encoder_layer": dict(heads=REQUIRED, feedforward=REQUIRED, dropout=0.1, activation="relu", norm_first=False),
    "batch_norm": dict(affine=True),
    "layer_norm": dict(axes=1, affine=True),
    "group_norm": dict(groups=REQUIRED, affine=True),
    "leaky_relu": dict(slope=0.01),
    "softmax": dict(axis=-1),
    "max_pool": POOL,
    "avg_pool": POOL,
    "adaptive_avg_pool": dict(output=REQUIRED),
    "dropout": dict(p=0.5),
    "concat": dict(axis=1),
    "flatten": dict(start=1),
    "reshape": dict(shape=REQUIRED),
    "permute": dict(order=REQUIRED),
    "slice": dict(axis=1, start=0, end=1 << 24, step=1),
    "mean": dict(axes=REQUIRED, keepdim=False),
    "gelu": dict(approximate="none"),
    "attention_core": dict(heads=REQUIRED, mask="none", dropout=0.0, rows=0),
    "roll": dict(shifts=REQUIRED, axes=REQUIRED),
    "learned_add": dict(shape=[0], rows=0),
    "learned_mul": dict(shape=[0]),
    "class_token": dict(count=1),
    "drop_path": dict(p=0.1),
    "channel_shuffle": dict(groups=REQUIRED),
    "log_softmax": dict(axis=-1),
    "upsample": dict(factor=REQUIRED, mode="nearest"),
    "conv_transpose2d": dict(
        out_channels=REQUIRED, kernel=REQUIRED, stride=[1], padding=[0], output_padding=[0], groups=1, bias=True
    ),
    **{name: {} for name in PLAIN},
}


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
    conv = lambda module: module(
        channels,
        a["out_channels"],
        *map(sized, ("kernel", "stride", "padding", "dilation")),
        a["groups"] or channels,
        a["bias"],
    )
    recurrent = lambda module: First(
        module(width, a["hidden_size"], a["num_layers"], a["bias"], True, bidirectional=a["bidirectional"])
    )
    pool = lambda function: lambda t: function(
        t, sized("kernel"), sized("stride") or sized("kernel"), sized("padding"), ceil_mode=a["ceil_mode"]
    )
    where = (slice(None),) * a.get("axis", 0) + (slice(a.get("start"), a.get("end"), a.get("step")),)
    makers = {
        "conv1d": lambda: conv(nn.Conv1d),
        "conv2d": lambda: conv(nn.Conv2d),
        "linear": lambda: nn.Linear(width, a["out_features"], a["bias"]),
        "embedding": lambda: nn.Embedding(a["vocabulary"], a["dim"]),
        "lstm": lambda: recurrent(nn.LSTM),
        "gru": lambda: recurrent(nn.GRU),
        "attention": lambda: First(
            nn.MultiheadAttention(width, a["heads"], bias=a["bias"], batch_first=True), need_weights=False
        ),
        "encoder_layer": lambda: nn.TransformerEncoderLayer(
            width,
            a["heads"],
            a["feedforward"],
            a["dropout"],
            a["activation"],
            batch_first=True,
            norm_first=a["norm_first"],
        ),
        "batch_norm": lambda: (nn.BatchNorm2d if spatial == 2 else nn.BatchNorm1d)(channels, affine=a["affine"]),
        "layer_norm": lambda: nn.LayerNorm(shape[-a["axes"] :], elementwise_affine=a["affine"]),
        "group_norm": lambda: nn.GroupNorm(a["groups"], channels, affine=a["affine"]),
        "max_pool": lambda: pool((F.max_pool1d, F.max_pool2d)[spatial - 1]),
        "avg_pool": lambda: pool((F.avg_pool1d, F.avg_pool2d)[spatial - 1]),
        "adaptive_avg_pool": lambda: (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d)[spatial - 1](sized("output")),
        "leaky_relu": lambda: nn.LeakyReLU(a["slope"]),
        "softmax": lambda: nn.Softmax(a["axis"]),
        "dropout": lambda: nn.Dropout(a["p"]),
        "identity": nn.Identity,
        "sigmoid": nn.Sigmoid,
        "tanh": nn.Tanh,
        "add": lambda: lambda *t: sum(t[1:], t[0]),
        "mul": lambda: torch.mul,
        "matmul": lambda: torch.matmul,
        "concat": lambda: lambda *t: torch.cat(t, a["axis"]),
        "slice": lambda: lambda t: t[where],
        "flatten": lambda: lambda t: t.flatten(a["start"]) if a["start"] < t.dim() else t,
        "reshape": lambda: lambda t: t.reshape([shape[i] if d == 0 else d for i, d in enumerate(ints(a["shape"], 1))]),
        "permute": lambda: lambda t: t.permute(a["order"]),
        "gelu": lambda: nn.GELU(a["approximate"]),
        "scale": lambda: lambda t: t * 1.0,
        "log_softmax": lambda: nn.LogSoftmax(a["axis"]),
        "attention_core": lambda: AttentionCore(a, shape[-2], x[1 if len(x) > 1 else 0].shape[-2]),
        "roll": lambda: lambda t: t.roll(ints(a["shifts"], 1), ints(a["axes"], 1)),
        "class_token": lambda: ClassToken(a["count"], width),
        "learned_add": lambda: Learned(a, shape, torch.add),
        "learned_mul": lambda: Learned(a, shape, torch.mul),
        "drop_path": lambda: lambda t: t
        * t.new_empty([len(t)] + [1] * (t.dim() - 1)).bernoulli_(1 - a["p"]).div_(1 - a["p"]),
        "channel_shuffle": lambda: lambda t: t.unflatten(1, (a["groups"], channels // a["groups"]))
        .transpose(1, 2)
        .flatten(1, 2),
        "upsample": lambda: nn.Upsample(scale_factor=tuple(float(f) for f in sized("factor")), mode=a["mode"]),
        "conv_transpose2d": lambda: nn.ConvTranspose2d(
            channels,
            a["out_channels"],
            *map(sized, ("kernel", "stride", "padding", "output_padding")),
            a["groups"],
            a["bias"],
        ),
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
    """softmax(q k' / sqrt(d) + bias + mask) v in heads; one input holds query, key and value side by side."""

    def __init__(self, attrs, queries, keys):
        super().__init__()
        self.heads, self.mask, self.dropout = attrs["heads"], attrs["mask"], attrs["dropout"]
        if rows := attrs["rows"]:
            self.table = nn.Parameter(torch.randn(rows, self.heads) * 0.02)
            self.register_buffer("places", torch.arange(queries * keys).view(queries, keys) % rows)

    def forward(self, *x):
        q, k, v = (
            t.unflatten(-1, (self.heads, -1)).transpose(-3, -2) for t in (x if len(x) == 3 else x[0].chunk(3, -1))
        )
        logits = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if hasattr(self, "table"):
            logits = logits + self.table[self.places].permute(2, 0, 1)
        if self.mask != "none":
            mask = torch.zeros_like(logits[:1, ..., :1, :, :])
            logits = logits + (
                mask.masked_fill(torch.ones_like(mask).triu(1) > 0, -math.inf) if self.mask == "causal" else mask
            )
        return (F.dropout(logits.softmax(-1), self.dropout) @ v).transpose(-3, -2).flatten(-2)


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
    weights = {
        "linear": lambda: shape[-1] * a["out_features"],
        "embedding": lambda: a["vocabulary"] * a["dim"],
        "conv1d": conv,
        "conv2d": conv,
        "input": lambda: batch * math.prod(ints(a["shape"], 1)),
    }
    if (need := 16 * weights.get(node.op, int)()) > free_memory():
        raise RequestError("out_of_memory", f"{node.where}: needs about {need / 1e9:.3g} GB of memory")
