"""Compiled parts of a step -> regions, each of which the worker compiles by itself.

torch.compile fuses what lies between calls of libraries (matrix products, convolutions, attention). Cutting what it sees
is free where all that crosses the cut is in memory anyway, because a library reads or writes it, in the forward pass and
in the backward pass alike. Parts begin with such calls, so they are the pieces; where a cut between two would not be free
they stay together. Then pieces are joined for as long as that leaves less to compile: blocks that repeat are compiled
once, and few regions are better than many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .arguments import tensors_in
from .layout import channels_last
from .parts import ATTENTION, VIEWS, Part, is_compiled, name_apart
from .step import Call, Step

LIBRARY = {"aten::convolution", "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", ATTENTION}
# The gradient of what is added is the gradient of the sum: nothing is computed, so nothing can be fused.
PASSES_GRADIENT = {"aten::add", "aten::add_"}
# A larger region would take longer to compile than anyone waits for one answer.
MOST_CALLS = 64
# What compiling takes for a region however small it is, in calls.
COST_OF_A_REGION = 25

Kind = tuple[int, ...]


class Regions:
    def __init__(self, step: Step, parts: list[Part]):
        self.step, self.parts = step, parts
        self.channels_last = channels_last(step)
        self.writes: dict[int, list[int]] = {}  # memory -> forward calls
        self.reads: dict[int, list[int]] = {}
        self.makers: dict[int, list[int]] = {}  # tensor -> forward calls, views included
        self.readers: dict[int, list[int]] = {}
        self.differentiable: set[int] = {t.storage for t in step.tensors if t.wants_gradient}
        given = {t.storage for t in step.tensors if t.role}
        for index, call in enumerate(step.calls):
            if call.phase != "forward":
                continue
            read = tensors_in([call.args, call.kwargs])
            for number in set(read):
                self.readers.setdefault(number, []).append(index)
            for number in call.outputs:
                if number is not None:
                    self.makers.setdefault(number, []).append(index)
            if self.is_view(call):
                continue
            for table, numbers in ((self.reads, read), (self.writes, [n for n in call.outputs if n is not None])):
                for memory in {step.tensors[n].storage for n in numbers} - given:
                    table.setdefault(memory, []).append(index)

    # --- where to cut --------------------------------------------------------------------------------------------

    def cut_is_free(self, place: int) -> bool:
        """Before the forward call of this number."""
        return all(
            self.stays_the_same(memory, place)
            for memory, writes in self.writes.items()
            if writes[0] < place <= self.reads.get(memory, [-1])[-1]
        )

    def stays_the_same(self, memory: int, place: int) -> bool:
        writes, reads = self.writes[memory], self.reads[memory]
        if writes[-1] >= place:  # in place: the region behind the cut would write into what it is only given
            return False
        if self.is_library(writes[-1]):
            return True
        later = [i for i in reads if i >= place]
        if not any(self.is_library(i) for i in reads) and len(later) == len(reads):
            return False  # nobody but those behind the cut needs it in memory
        alone = len(later) == 1 and (self.is_library(later[0]) or self.step.calls[later[0]].op in PASSES_GRADIENT)
        return alone or memory not in self.differentiable

    def is_library(self, index: int) -> bool:
        """What is not compiled reads and writes memory, too."""
        call = self.step.calls[index]
        return call.op in LIBRARY or not is_compiled(call)

    def is_view(self, call: Call) -> bool:
        memory = lambda numbers: {self.step.tensors[n].storage for n in numbers if n is not None}  # noqa: E731
        return call.op in VIEWS and memory(call.outputs) <= memory(tensors_in(call.args))

    # --- which pieces go together --------------------------------------------------------------------------------

    def joined(self, body: Callable[[Part], str]) -> list[Part]:
        if not any(part.compiled for part in self.parts):
            return self.parts
        parts = self.pieces()
        numbers: dict[str, int] = {}
        kinds: list[Kind] = [(numbers.setdefault(body(part), len(numbers)),) for part in parts]
        best = self.cost(parts, kinds)
        while True:
            tried = [self.with_what_follows(kind, parts, kinds) for kind in dict.fromkeys(kinds)]
            costs = [self.cost(*one) for one in tried]
            if min(costs) >= best:
                break
            best = min(costs)
            parts, kinds = tried[costs.index(best)]
        for part in parts:
            if part.compiled:
                part.name = self.name_of(part)
        name_apart(parts)
        return parts

    def cost(self, parts: list[Part], kinds: list[Kind]) -> int:
        """Of compiling each kind once, in calls."""
        sizes = {kind: self.size(part) for part, kind in zip(parts, kinds) if part.compiled}
        return sum(sizes.values()) + COST_OF_A_REGION * len(sizes)

    def with_what_follows(self, kind: Kind, parts: list[Part], kinds: list[Kind]) -> tuple[list[Part], list[Kind]]:
        """Each region of this kind as one with the region behind it."""
        joined: list[Part] = []
        joined_kinds: list[Kind] = []
        place = 0
        while place < len(parts):
            if kinds[place] == kind and place + 1 < len(parts) and self.may_join(parts[place], parts[place + 1]):
                joined.append(self.join(parts[place], parts[place + 1]))
                joined_kinds.append(kinds[place] + kinds[place + 1])
                place += 2
            else:
                joined.append(parts[place])
                joined_kinds.append(kinds[place])
                place += 1
        return joined, joined_kinds

    def pieces(self) -> list[Part]:
        found: list[Part] = []
        for part in self.parts:
            if (
                found
                and found[-1].compiled
                and part.compiled
                and not self.cut_is_free(1 + self.forward_of(found[-1]).calls[-1])
            ):
                found[-1] = self.join(found[-1], part)
            else:
                found.append(Part(part.name.partition("#")[0], part.module, part.calls, part.compiled))
        return found

    def may_join(self, one: Part, other: Part) -> bool:
        return one.compiled and other.compiled and self.size(one) + self.size(other) <= MOST_CALLS

    def size(self, part: Part) -> int:
        calls = (self.step.calls[i] for i in part.calls)
        return sum(call.phase == "forward" and not self.is_view(call) for call in calls)

    def join(self, one: Part, other: Part) -> Part:
        return Part(one.name, one.module, sorted([*one.calls, *other.calls]), True)

    def name_of(self, part: Part) -> str:
        """Of the module that has all of it, or nearly: casts and sums beside modules do not count."""
        modules = [self.step.calls[i].module.split(".") for i in part.calls if self.step.calls[i].phase == "forward"]
        modules = [m for m in modules if m != [""]]
        shared: list[str] = []
        for level in zip(*modules):
            if len(set(level)) > 1:
                break
            shared.append(level[0])
        return ".".join(shared) or "(compiled)"

    # --- what the worker is told ---------------------------------------------------------------------------------

    def is_read_behind(self, tensor: int, last: int) -> bool:
        """As it was left by the call `last` or one before: a view that is taken there again is not given from here."""
        again = [i for i in self.makers[tensor] if i > last]
        later = [i for i in self.readers.get(tensor, []) if i > last]
        return bool(later) and (not again or later[0] <= again[0])

    def forward_of(self, part: Part) -> Part:
        """Backward calls are what the eager step does; the compiler makes its own."""
        forward = [i for i in part.calls if self.step.calls[i].phase == "forward"]
        return Part(part.name, part.module, forward, part.compiled)

    def body(self, part: Part, told: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
        forward, last = part.calls, part.calls[-1]
        made = {n for i in forward for n in self.step.calls[i].outputs if n is not None}
        outputs = [n for n in made if self.is_read_behind(n, last)]
        if not outputs:
            outputs = [n for n in self.step.calls[last].outputs if n is not None]
        for number, place in numbers.items():
            entry = told["tensors"][place]
            if entry.get("from") in ("parameter", "activation", "input") and self.step.tensors[number].wants_gradient:
                entry["gradient"] = True
        enters = not forward[0] or not is_compiled(self.step.calls[forward[0] - 1])
        layout = {} if self.channels_last is None else {"channels_last": self.channels_last}
        return {
            **layout,
            "compiled": True,
            "entry": enters,
            "footprint": told["footprint"],
            "forward": told["forward"],
            "outputs": sorted(numbers[n] for n in outputs),
            "tensors": told["tensors"],
        }
