"""A user's nn.Module as a network with channels, and the way back from its nodes to the user's modules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import _core
from .wording import in_python

# What a node's own width is called, and with what a module tells the widths that it reads and puts out.
WIDTH = {
    "conv1d": "out_channels",
    "conv2d": "out_channels",
    "conv_transpose2d": "out_channels",
    "linear": "out_features",
    "embedding": "dim",
    "lstm": "hidden_size",
    "gru": "hidden_size",
}
BESIDE = ("learned_add", "learned_mul", "class_token")
READS = ("in_channels", "in_features", "input_size", "num_features", "num_channels")
PUTS_OUT = ("out_channels", "out_features", "hidden_size", "embedding_dim", "num_features", "num_channels")


@dataclass(frozen=True)
class ModuleChannels:
    """Of one of the user's modules. None: it has no such number."""

    name: str
    type: str
    in_before: int | None
    in_channels: int | None
    out_before: int
    out_channels: int
    groups: int | None  # of a convolution; those of a depthwise one are as many as its channels
    own: bool  # whether it chooses the width; else it has that of what it reads, as norms do


@dataclass
class Translated:
    network: _core.Model
    batch: int
    modules: dict[str, Any]  # the user's, by name; empty for a network that is none
    fixed: dict[str, str]  # nodes whose channels must stay, and why
    notes: list[str]

    def module_of(self, node: str) -> str:
        return module_of(node, self.modules) if self.modules else node

    def under(self, names: Iterable[str]) -> list[str]:
        """Nodes with a width of their own in these modules, or of these names."""
        graph = Graph(self.network)
        found = []
        for name in names:
            inside = [n for n, node in graph.nodes.items() if node["op"] in WIDTH and within(self.module_of(n), name)]
            if not inside:
                known = ", ".join(dict.fromkeys(self.module_of(n) for n, v in graph.nodes.items() if v["op"] in WIDTH))
                raise _core.BadInputError(f'no module with channels of its own is called "{name}" (known: {known})')
            found += inside
        return found


def within(module: str, name: str) -> bool:
    return module == name or module.startswith(name + ".")


def translated(model: Any, inputs: Any, batch_axis: int = 0, ignore_unsupported: bool = False) -> Translated:
    from .capture import CaptureError
    from .capture.forward import batch_of, recorded_forward

    try:
        told = recorded_forward(model, inputs, batch_axis)
        network = _core.Model.from_trace(json.dumps(told), ignore_unsupported=ignore_unsupported)
    except CaptureError as e:
        raise _core.BadInputError(f"{e}. {INSTEAD}") from e
    except _core.BadInputError as e:
        raise _core.BadInputError(f"{e}\n{INSTEAD}") from e
    modules = dict(model.named_modules())
    graph = Graph(network)
    fixed = fixed_nodes(told, graph, modules)
    return Translated(
        network, batch_of(inputs, batch_axis), modules, fixed, [in_python(note) for note in network.notes]
    )


INSTEAD = "ampere.estimate() needs no channels and takes more models than can be pruned"


class Graph:
    """A network's nodes and how wide they are."""

    def __init__(self, network: _core.Model):
        self.nodes: dict[str, dict[str, Any]] = {}
        before = None
        for node in json.loads(network.to_json())["nodes"]:
            node.setdefault("inputs", [before] if before and node["op"] != "input" else [])
            self.nodes[node["name"]] = node
            before = node["name"]
        self.widths: dict[str, int] = {}
        for name, node in self.nodes.items():  # in order: what is read comes before
            self.widths[name] = self.width_of(node)

    def width_of(self, node: dict[str, Any]) -> int:
        read = [self.widths[name] for name in node["inputs"]]
        if node["op"] in WIDTH:
            return int(node[WIDTH[node["op"]]]) * (2 if node.get("bidirectional") else 1)
        if node["op"] == "input":
            return int((node["shape"] or [1])[0])
        return sum(read) if node["op"] == "concat" else max(read)

    def sources(self, name: str) -> set[str]:
        """The nodes with a width of their own that this one reads, through others."""
        found, todo, seen = set(), list(self.nodes[name]["inputs"]), set()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            if self.nodes[at]["op"] in WIDTH:
                found.add(at)
            else:
                todo += self.nodes[at]["inputs"]
        return found

    def reads(self, name: str) -> int:
        node = self.nodes[name]
        return self.widths[node["inputs"][0]] if node["inputs"] else 0


def fixed_nodes(told: dict[str, Any], graph: Graph, modules: dict[str, Any]) -> dict[str, str]:
    """Nodes whose channels must stay, because something hangs on them that the network does not tell: weights that are
    used several times are one tensor, modules such as MultiheadAttention have one width for several weights, and what is
    trained beside the layers (positions, scales) is as large as the user's program makes it."""
    shared = used_again(told)
    nodes: dict[str, list[str]] = {}
    fixed: dict[str, str] = {}
    for name, node in graph.nodes.items():
        if node["op"] in WIDTH:
            nodes.setdefault(module_of(name, modules), []).append(name)
        elif node["op"] in BESIDE:
            for source in graph.sources(name):
                fixed.setdefault(source, "a trained tensor is as wide")
    for module, names in nodes.items():
        one = len(names) == 1 and names[0] == module and has_widths(modules[module])
        if one and not shared.intersection(names):
            continue
        again = shared.intersection(names) or has_widths(modules[module])
        why = f"{module} is used more than once" if again else f"{module} has several weights of one width"
        for name in names:
            for tied in {name, *graph.sources(name)}:
                fixed.setdefault(tied, why)
    return fixed


def used_again(told: dict[str, Any]) -> set[str]:
    """Calls, by their modules, whose weights others use as well."""
    users: dict[int, set[str]] = {}
    for op in told["ops"]:
        for number in {a["tensor"] for a in op["args"].values() if isinstance(a, dict) and "tensor" in a}:
            if told["tensors"][number].get("role") == "parameter":
                users.setdefault(number, set()).add(op["module"])
    return {module for some in users.values() if len(some) > 1 for module in some}


def has_widths(module: Any) -> bool:
    return any(isinstance(getattr(module, name, None), int) for name in PUTS_OUT)


def module_of(node: str, modules: dict[str, Any]) -> str:
    """Nodes are called as the module that they stand in, with what was added to tell them apart."""
    name = re.sub(r"@\d+", "", node)
    while name and name not in modules:
        shorter = re.sub(r"_\d+$", "", name)
        name = shorter if shorter != name else name.rpartition(".")[0]
    return name


def channels_by_module(before: _core.Model, after: _core.Model, modules: dict[str, Any]) -> list[ModuleChannels]:
    """In the order of the network. What a module reads is told by its own number, which shrinks as what it reads does."""
    old, new = Graph(before), Graph(after)
    found: dict[str, ModuleChannels] = {}
    for name, node in old.nodes.items():
        own = node["op"] in WIDTH
        module = module_of(name, modules) if modules else name
        if module in found or not (own or (node["op"].endswith("_norm") and module in modules)):
            continue
        user = modules.get(module)
        if user is not None and (name != module or (own and not has_widths(user))):  # these stay as they are
            continue
        reads = number_of(user, READS, old.reads(name) if own else old.widths[name])
        puts_out = number_of(user, PUTS_OUT, old.widths[name])
        found[module] = ModuleChannels(
            module,
            type(user).__name__ if user is not None else node["op"],
            None if node["op"] == "embedding" else reads,
            None if node["op"] == "embedding" else in_proportion(reads, old.reads(name), new.reads(name)),
            puts_out,
            in_proportion(puts_out, old.widths[name], new.widths[name]),
            groups_of(new, name) if node["op"].startswith("conv") else None,
            own,
        )
    return list(found.values())


def number_of(module: Any, names: tuple[str, ...], otherwise: int) -> int:
    if module is None:
        return otherwise
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, int):
            return value
    shape = getattr(module, "normalized_shape", None)
    return int(shape[-1]) if shape else otherwise


def in_proportion(number: int, before: int, after: int) -> int:
    """Flattened maps are read position by position: as many numbers for each channel as before."""
    return number * after // before if before else number


def groups_of(graph: Graph, name: str) -> int:
    groups = int(graph.nodes[name].get("groups", 1))
    return groups or graph.reads(name)
