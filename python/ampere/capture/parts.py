"""Step -> parts that can be measured by themselves, as the nodes of a network file.

A part is what the project calls a layer: a call that reads weights, with the calls without weights that follow it, and
the backward calls that belong to them. What the optimizer does is a part of its own. Parts that make the same calls on
tensors of the same sizes, strides and types are one kind, measured once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .arguments import renumbered, tensors_in
from .step import GROUPED, Call, Step

# Ops that only look at a tensor differently, or change its type: what they make of a weight is still that weight.
STILL_A_WEIGHT = {
    "aten::t",
    "aten::transpose",
    "aten::view",
    "aten::_unsafe_view",
    "aten::permute",
    "aten::expand",
    "aten::_to_copy",
    "aten::detach",
    "aten::alias",
    "aten::slice",
    "aten::select",
    "aten::unsqueeze",
    "aten::squeeze",
    "aten::split",
    "aten::split_with_sizes",
    "aten::chunk",
    "aten::cat",
    "aten::clone",
    "aten::reshape",
    "aten::unbind",
}
VIEWS = STILL_A_WEIGHT - {"aten::_to_copy", "aten::cat", "aten::clone"}
FUNCTIONS = {
    "aten::relu": "relu",
    "aten::relu_": "relu",
    "aten::threshold": "relu",
    "aten::hardtanh": "relu",
    "aten::hardtanh_": "relu",
    "aten::gelu": "gelu",
    "aten::silu": "silu",
    "aten::silu_": "silu",
    "aten::hardswish": "silu",
    "aten::hardswish_": "silu",
    "aten::sigmoid": "sigmoid",
    "aten::tanh": "tanh",
}
KEEPS_VALUES = VIEWS | {"aten::_to_copy", "aten::max_pool2d_with_indices", "aten::native_dropout", "aten::clone"}
ATTENTION = "aten::scaled_dot_product_attention"
# How large their results are depends on values, which a worker does not have: it makes the call, and goes on with
# tensors of the sizes that came out when the step was captured.
SIZED_BY_VALUES = {
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
    "aten::bincount",
    "aten::repeat_interleave",
}
# torch.compile leaves recurrent layers to the framework, and stops where a value is looked at.
NEVER_COMPILED = {"aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu", "aten::_local_scalar_dense"}
NEVER_COMPILED |= SIZED_BY_VALUES
# More would take longer to measure than a user waits.
MOST_KINDS = 56
# Nodes that are no parts of the step.
INPUT, HOST = "(input)", "(host)"
# Caches are smaller than this; beyond it a larger step makes no difference.
LARGEST_FOOTPRINT = 1 << 28


@dataclass
class Part:
    name: str
    module: str
    calls: list[int] = field(default_factory=list)  # numbers of the step's calls, in the order they ran
    compiled: bool = False


def parts_of(step: Step) -> list[Part]:
    parts: list[Part] = []
    part_of: dict[int, Part] = {}
    weights = {i for i, t in enumerate(step.tensors) if t.role == "parameter"}
    waiting: list[int] = []  # calls that prepare weights for the next

    def start(module: str, compiled: bool = False) -> Part:
        parts.append(Part(module or "(step)", module, compiled=compiled))
        return parts[-1]

    def put(index: int) -> None:
        parts[-1].calls.append(index)
        part_of[index] = parts[-1]

    for index, call in enumerate(step.calls):
        if call.phase != "forward":
            continue
        reads = [n for n in tensors_in([call.args, call.kwargs]) if step.tensors[n].role != "buffer"]
        if reads and call.op in STILL_A_WEIGHT and all(n in weights for n in reads):
            weights.update(n for n in call.outputs if n is not None)
            waiting.append(index)
            continue
        compiled = is_compiled(call)
        if (
            not parts
            or compiled != parts[-1].compiled
            or call.op == ATTENTION
            or any(n in weights and is_matrix(step, n) for n in reads)
        ):
            start(call.module, compiled)
        # Where it counts what crosses from part to part, prepared weights stay with the call that reads them.
        if not compiled or any(n in weights for n in reads):
            for earlier in waiting:
                put(earlier)
            waiting.clear()
        put(index)
    if parts:
        for index in waiting:
            put(index)
    last = parts[-1] if parts else start("")
    accumulation = Part("(accumulation)", "")  # of gradients, which no compiler fuses with what made them
    for index, call in enumerate(step.calls):
        if call.phase == "backward":
            last = part_of.get(call.owner, last)
            apart = call.accumulates and last.compiled and call.op not in VIEWS
            (accumulation if apart else last).calls.append(index)
    if accumulation.calls:
        parts.append(accumulation)
    updates = [i for i, call in enumerate(step.calls) if call.phase == "update"]
    if updates:
        parts.append(Part("(optimizer)", "", updates))
    name_apart(parts)
    return parts


def is_compiled(call: Call) -> bool:
    return call.compiled and call.op not in NEVER_COMPILED


def is_matrix(step: Step, tensor: int) -> bool:
    """Vectors are the weights of norms and biases, which belong to the layer before them."""
    return sum(size > 1 for size in step.tensors[tensor].sizes) > 1


def name_apart(parts: list[Part]) -> None:
    seen: dict[str, int] = {}
    for part in parts:
        seen[part.name] = seen.get(part.name, 0) + 1
        if seen[part.name] > 1:
            part.name += f"#{seen[part.name]}"


def network_of(step: Step, most_kinds: int = MOST_KINDS) -> dict[str, Any]:
    """The text of a network file, docs/network.schema.json."""
    from .regions import Regions  # which are made of parts

    around = Surroundings(step)
    parts = parts_of(step)
    regions = Regions(step, parts)

    def body(part: Part) -> str:
        measured = regions.forward_of(part) if part.compiled else part
        told, numbers = body_of(step, measured, around)
        if part.compiled:
            told = regions.body(measured, told, numbers)
        return json.dumps(told, separators=(",", ":"), sort_keys=True)

    parts = regions.joined(body)
    bodies = [body(part) for part in parts]
    if len(set(bodies)) > most_kinds:
        parts = joined(parts, bodies, most_kinds)
        bodies = [body(part) for part in parts]
    nodes = []
    for part, calls_text in zip(parts, bodies):
        calls = [step.calls[i] for i in part.calls]
        nodes.append(
            {
                "op": "calls",
                "name": part.name,
                "batch": step.batch,
                "label": label_of(step, calls),
                "flops": sum(c.flops for c in calls),
                "bytes": sum(bytes_of(step, c) for c in calls),
                "calls": calls_text,
            }
        )
    nodes[0]["parameters"] = step.parameters
    # Calling modules is no part's own work: one may hold many parts, or none.
    nodes.append(
        {
            "op": "calls",
            "name": HOST,
            "batch": step.batch,
            "label": "host",
            "bytes": 1,
            "calls": "{}",
            "host": [sum(call.modules for call in step.calls)],
        }
    )
    # They run one after the other; what reads what is told by the calls themselves.
    nodes.insert(0, {"op": "input", "name": INPUT, "shape": [1]})
    for before, node in zip(nodes, nodes[1:]):
        node["inputs"] = [before["name"]]
    return {"schema_version": 1, "name": step.name, "nodes": nodes}


def joined(parts: list[Part], bodies: list[str], most_kinds: int) -> list[Part]:
    """Two kinds that never occur without each other are one, until there are few enough to be measured in a minute."""
    kinds = list(bodies)
    while len(set(kinds)) > most_kinds:
        after: dict[str, set[str]] = {}
        before: dict[str, set[str]] = {}
        for kind, following in zip(kinds, [*kinds[1:], ""]):
            after.setdefault(kind, set()).add(following)
            before.setdefault(following, set()).add(kind)
        before.setdefault(kinds[0], set()).add("")
        merged_parts: list[Part] = []
        merged_kinds: list[str] = []
        merges, place = 0, 0
        while place < len(kinds):
            kind = kinds[place]
            following = next(iter(after[kind])) if len(after[kind]) == 1 else ""
            last_two = place + 2 >= len(kinds)  # what the optimizer does stays by itself
            room = len(set(kinds)) - most_kinds
            if (
                following
                and following != kind
                and before[following] == {kind}
                and not last_two
                and not (parts[place].compiled or parts[place + 1].compiled)
                and (merges < room or kind + following in merged_kinds)
            ):
                merges += kind + following not in merged_kinds
                first, second = parts[place], parts[place + 1]
                calls = sorted([*first.calls, *second.calls])
                merged_parts.append(Part(first.name, first.module, calls))
                merged_kinds.append(kind + following)
                place += 2
            else:
                merged_parts.append(parts[place])
                merged_kinds.append(kind)
                place += 1
        if not merges:
            break
        parts, kinds = merged_parts, merged_kinds
    return parts


def last_phases(step: Step) -> dict[int, str]:
    """For each stretch of memory, the phase that reads it last: how long it is kept."""
    last: dict[int, str] = {}
    for call in step.calls:
        for number in tensors_in([call.args, call.kwargs]):
            last[step.tensors[number].storage] = call.phase
    return last


def writers_of(step: Step) -> dict[int, tuple[str, list[int]]]:
    """For each tensor, the op of the forward pass that wrote it last, and what that read."""
    writers: dict[int, tuple[str, list[int]]] = {}
    for call in step.calls:
        if call.phase == "forward":
            reads = tensors_in(call.args)
            for number in call.outputs:
                if number is not None and not (call.op in KEEPS_VALUES and number in reads):
                    writers[number] = call.op, reads
    return writers


def about(value: int) -> int:
    """Its leading four bits: another batch of the same data is the same work. Never further from zero than it was."""
    size = abs(value)
    size = size >> max(0, size.bit_length() - 4) << max(0, size.bit_length() - 4)
    return -size if value < 0 else size


class Surroundings:
    """What a part's description needs to know of the step around it."""

    def __init__(self, step: Step):
        self.footprint = footprint_of(step)
        self.phases_of_memory, self.writers = last_phases(step), writers_of(step)
        made: dict[str, set[int]] = {"forward": set(), "backward": set(), "update": set()}
        for call in step.calls:
            made[call.phase].update(n for n in call.outputs if n is not None)
        self.forwards, self.gradients = made["forward"], made["backward"] - made["forward"]
        self.ends = {
            call.args[2]["t"] for call in step.calls if call.op == GROUPED and len(call.args) > 2 and call.args[2]
        }


def body_of(step: Step, part: Part, around: Surroundings) -> tuple[dict[str, Any], dict[int, int]]:
    """All that decides what the part costs, with tensors numbered in the order they are met; and those numbers."""
    numbers: dict[int, int] = {}
    tensors: list[dict[str, Any]] = []
    made: set[int] = set()
    phases: dict[str, list[Any]] = {"forward": [], "backward": [], "update": []}
    places = {index: at for at, index in enumerate(i for i in part.calls if step.calls[i].phase == "forward")}
    writers = around.writers

    def function_before(number: int) -> str:
        """What wrote it: zeros and small numbers draw less power than others do."""
        seen: set[int] = set()
        while number not in seen and number in writers and writers[number][0] in KEEPS_VALUES and writers[number][1]:
            seen.add(number)
            number = writers[number][1][0]
        return FUNCTIONS.get(writers[number][0], "") if number in writers else ""

    def meet(number: int, phase: str) -> None:
        if number in numbers:
            return
        numbers[number] = len(tensors)
        info = step.tensors[number]
        entry: dict[str, Any] = {"sizes": list(info.sizes), "strides": list(info.strides), "dtype": info.dtype}
        if number not in made:
            entry["from"] = info.role or ("gradient" if number in around.gradients else "activation")
            if entry["from"] == "activation" and phase == "update" and number not in around.forwards:
                entry["from"] = "state"  # moments, of which some must not be below zero
            if info.on_host:
                entry["from"] = "host"
            elif entry["from"] == "activation" and (function := function_before(number)):
                entry["after"] = function
            if info.dtype.startswith(("int", "uint")):
                if number in around.ends:
                    entry["after"] = "cumsum"  # of the rows in each group
                elif writers.get(number, ("",))[0] == "aten::sort" and info.sizes == (info.below,):
                    entry["after"] = "sort"  # where everything was: each place once
                low, high = info.values or (0, (info.below or 2) - 1)
                if number not in around.ends:  # those say how many rows there are
                    high = about(high)
                    low = 0 if 0 <= low < high // 8 else min(about(low), high)
                entry["values"] = [max(0, low), min(high, info.below - 1)] if info.below else [low, high]
        elif around.phases_of_memory.get(info.storage, "forward") != "forward":
            entry["until"] = around.phases_of_memory[info.storage]
        tensors.append(entry)

    for index in part.calls:
        call = step.calls[index]
        for number in tensors_in([call.args, call.kwargs]):
            meet(number, call.phase)
        sized = call.op in SIZED_BY_VALUES
        for number in call.outputs:
            if number is not None:
                if number not in numbers and not sized:
                    made.add(number)
                meet(number, call.phase)
        entry = {
            "op": call.op,
            "overload": call.overload,
            "args": renumbered(call.args, numbers),
            "out": [None if n is None or sized else numbers[n] for n in call.outputs],
        }
        if call.kwargs:
            entry["kwargs"] = renumbered(call.kwargs, numbers)
        if call.autocast:
            entry["autocast"] = call.autocast
        if call.backward_of is not None:
            entry["of"] = places[call.backward_of]
        phases[call.phase].append(entry)
    return {"tensors": tensors, "footprint": around.footprint, **{k: v for k, v in phases.items() if v}}, numbers


def bytes_of(step: Step, call: Call) -> int:
    if call.op in VIEWS:
        return 0
    return sum(step.tensors[n].bytes() for n in {*tensors_in([call.args, call.kwargs]), *call.outputs} if n is not None)


def footprint_of(step: Step) -> int:
    """Bytes that a step touches, as a power of two: decides what is still in the device's cache when it is read again."""
    touched = sum(bytes_of(step, call) for call in step.calls)
    return min(LARGEST_FOOTPRINT, 1 << max(10, touched.bit_length()))


def label_of(step: Step, calls: list[Call]) -> str:
    """A readable word for the kind: what it is made of, and the size of what it reads first."""
    names: list[str] = []
    for call in calls:
        if call.phase == "forward":
            name = (
                "attention"
                if call.op == ATTENTION
                else step.module_types.get(call.module, "") or call.op.removeprefix("aten::")
            )
            if not names or names[-1] != name:
                names.append(name)
    if not names:
        return "optimizer"
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3}more"]
    for call in calls:
        for number in tensors_in(call.args):
            info = step.tensors[number]
            if info.role not in ("parameter", "buffer") and len(info.sizes) > 1:
                return "-".join(names) + "@" + "x".join(map(str, info.sizes)) + "-" + info.dtype
    return "-".join(names)
