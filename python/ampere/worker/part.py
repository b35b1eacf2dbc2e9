"""Runs a part of a captured step: its aten calls, on tensors as they were in the network.

Inside a network, forward reads what was just written and backward reads what was saved long before. A part that is
repeated on one set of buffers would find everything in the cache. So several copies run forward and then backward in
turn, together larger than the cache: activations and gradients that neighbours have just written are one buffer for all
copies, what was saved is each copy's own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..capture.arguments import decode, tensors_in, torch_constant
from ..capture.parts import VIEWS

RECURRENT = {"aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"}
REFUSED = {"aten::from_file", "aten::save", "aten::load"}  # what touches files is no part of a training step
MAX_TENSORS = 100_000
MAX_CALLS = 50_000
MAX_COPIES = 24


FUNCTIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


# Finds a call's arguments among the tensors; what it gives makes the call.
Bind = Callable[[list[Any]], Callable[[], Any]]
# Makes a call, and notes what it likes about it.
Make = Callable[[Callable[[], Any]], Any]


def plainly(work: Callable[[], Any]) -> Any:
    return work()


@dataclass
class Prepared:
    bind: Bind
    out: list[int | None]
    done: list[int]  # tensors that nothing reads any more


class BadPart(Exception):
    """The description of a part makes no sense."""


class Copy:
    """The tensors of one copy, by number, as its forward and its backward calls find them."""

    def __init__(self, count: int):
        self.forward: list[Any] = [None] * count
        self.backward: list[Any] = [None] * count
        self.graphs: dict[int, Any] = {}  # what autograd remembers between the passes


class Part:
    def __init__(self, body: Any, device: torch.device):
        try:
            self.read(body, device)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError, RecursionError) as e:
            raise BadPart(f"calls: {type(e).__name__}: {e}") from e

    def read(self, body: Any, device: torch.device) -> None:
        self.device = device
        self.tensors = body["tensors"]
        self.footprint = int(body["footprint"])
        self.forward, self.backward, self.update = (body.get(k, []) for k in ("forward", "backward", "update"))
        if len(self.tensors) > MAX_TENSORS or sum(map(len, (self.forward, self.backward, self.update))) > MAX_CALLS:
            raise ValueError("too many tensors or calls")
        self.bytes = sum(bytes_of(t) for t in self.tensors if "from" in t or "until" in t)
        self.runs = {
            phase: self.compile(calls)
            for phase, calls in (("forward", self.forward), ("backward", self.backward), ("update", self.update))
        }
        self.saved_views = self.find_saved_views()
        self.view_sources = {tensors_in(call["args"])[0] for call in self.saved_views}
        saved = {call["out"][0] for call in self.saved_views}
        self.made_by_forward = [n for n, info in enumerate(self.tensors) if "from" not in info and n not in saved]

    # --- what is in a copy ---------------------------------------------------------------------------------------

    def copies(self, cache_bytes: int, free_bytes: float) -> int:
        return copies_of(self.bytes, self.footprint, cache_bytes, free_bytes)

    def make(self, shared: dict[int, torch.Tensor]) -> Copy:
        copy = Copy(len(self.tensors))
        read_backward = {n for call in self.backward for n in tensors_in([call["args"], call.get("kwargs")])}
        for number, info in enumerate(self.tensors):
            source = info.get("from")
            if source is None:
                continue
            if source in ("activation", "gradient"):
                if number not in shared:
                    shared[number] = make_tensor(info, self.device)
                copy.forward[number] = copy.backward[number] = shared[number]
                if source == "activation" and (number in read_backward or number in self.view_sources):
                    copy.backward[number] = make_tensor(info, self.device)
            else:
                copy.forward[number] = copy.backward[number] = make_tensor(info, self.device)
        # A view that forward makes of what it reads, and backward reads again, is one of the copy's own there.
        for call in self.saved_views:
            (copy.backward[call["out"][0]],) = flatten(self.call_of(call)(copy.backward)())
        return copy

    def find_saved_views(self) -> list[Any]:
        read_backward = {n for call in self.backward for n in tensors_in([call["args"], call.get("kwargs")])}
        from_outside = {n for n, info in enumerate(self.tensors) if info.get("from") == "activation"}
        chain = []
        for call in self.forward:
            reads = tensors_in(call["args"])
            if call["op"] in VIEWS and len(call["out"]) == 1 and reads and reads[0] in from_outside:
                from_outside.add(call["out"][0])
                chain.append(call)
        wanted: set[int] = set(read_backward)
        needed = []
        for call in reversed(chain):
            if call["out"][0] in wanted:
                wanted.add(tensors_in(call["args"])[0])
                needed.append(call)
        return needed[::-1]

    # --- running -------------------------------------------------------------------------------------------------

    def run_forward(self, copy: Copy, make: Make = plainly) -> None:
        env = [*copy.forward, copy.graphs]
        run_calls(self.runs["forward"], env, make)
        for number in self.made_by_forward:  # kept until backward, whether that reads it or only the network does
            copy.backward[number] = env[number]

    def run_backward(self, copy: Copy, make: Make = plainly) -> dict[int, Any]:
        env = [*copy.backward, copy.graphs]
        for number in self.made_by_forward:
            copy.backward[number] = None
        run_calls(self.runs["backward"], env, make)
        # Gradients of weights wait for the optimizer.
        return {n: env[n] for n, info in enumerate(self.tensors) if info.get("until") == "update"}

    def run_update(self, copy: Copy, waiting: dict[int, Any], make: Make = plainly) -> None:
        """`waiting`: what backward left, for an optimizer that is in the same part."""
        env = [*copy.forward, copy.graphs]
        for number, value in waiting.items():
            env[number] = value
        run_calls(self.runs["update"], env, make)

    @torch.no_grad()
    def run(self, copies: list[Copy]) -> None:
        """One iteration of every copy."""
        for copy in copies:
            self.run_forward(copy)
        waiting = [self.run_backward(copy) for copy in reversed(copies)]
        for copy in copies:
            self.run_update(copy, waiting.pop())

    @torch.no_grad()
    def run_once(self, copy: Copy, make: Make) -> None:
        """One iteration of one copy, in which `make` makes the calls."""
        self.run_forward(copy, make)
        self.run_update(copy, self.run_backward(copy, make), make)

    def call_seconds(self, copy: Copy) -> list[float]:
        """What the host takes for each call of one iteration."""
        times: list[float] = []

        def make(work: Callable[[], Any]) -> Any:
            start = time.perf_counter()
            result = work()
            times.append(time.perf_counter() - start)
            return result

        self.run_once(copy, make)
        return times

    def compile(self, calls: list[Any]) -> list[Prepared]:
        last: dict[int, int] = {}
        for place, call in enumerate(calls):
            for number in [*tensors_in([call["args"], call.get("kwargs")]), *(n for n in call["out"] if n is not None)]:
                last[number] = place
        ends: dict[int, list[int]] = {}
        read_later = {n for call in self.backward for n in tensors_in([call["args"], call.get("kwargs")])}
        for number, place in last.items():
            info = self.tensors[number]
            is_kept = "from" in info or "until" in info or (calls is self.forward and number in read_later)
            if not is_kept:
                ends.setdefault(place, []).append(number)
        return [Prepared(self.call_of(call), call["out"], ends.get(place, [])) for place, call in enumerate(calls)]

    def call_of(self, call: Any) -> Bind:
        if "of" in call:
            return self.gradient_of(call)
        op = call["op"]
        if op == "aten::scaled_dot_product_attention" or op in RECURRENT:
            return self.chosen_by_framework(call)
        function = reshape if op in ("aten::view", "aten::_unsafe_view") else aten_op(op, call["overload"])
        args, kwargs, device = call["args"], call.get("kwargs", {}), self.device

        def bind(env: list[Any]) -> Callable[[], Any]:
            get = env.__getitem__
            return partial(
                function,
                *[decode(a, get, device) for a in args],
                **{k: decode(v, get, device) for k, v in kwargs.items()},
            )

        return bind

    def chosen_by_framework(self, call: Any) -> Bind:
        """Runs with autograd, so that the framework chooses its kernels for both passes."""
        op, args, kwargs = call["op"], call["args"], dict(call.get("kwargs", {}))
        cast = torch_constant(call["autocast"], "dtype") if call.get("autocast") else None
        states = kwargs.pop("states", 0)
        device = self.device

        def run(env: list[Any]) -> Any:
            values = [decode(a, env.__getitem__, device) for a in args]
            leaves: list[Any] = [
                v.detach().requires_grad_(v.is_floating_point()) if isinstance(v, torch.Tensor) else v for v in values
            ]
            with (
                torch.enable_grad(),
                torch.autocast(device.type, dtype=cast, enabled=cast is not None, cache_enabled=False),
            ):
                if op in RECURRENT:
                    tensors = [v for v in leaves if isinstance(v, torch.Tensor)]
                    rest = [v for v in leaves if not isinstance(v, torch.Tensor)]
                    hidden = tensors[1 : 1 + states] if op == "aten::lstm" else tensors[1]
                    results = getattr(torch, op.removeprefix("aten::"))(
                        tensors[0], hidden, tensors[1 + states :], *rest
                    )
                else:
                    q, k, v, mask, dropout, causal = leaves
                    results = (
                        torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout, causal, **kwargs),
                    )
            env[-1][id(call)] = leaves, list(results)
            return [self.as_captured(r.detach(), number) for r, number in zip(results, call["out"])]

        return lambda env: partial(run, env)

    def as_captured(self, value: Any, number: int | None) -> Any:
        """cuDNN's recurrent layers give float16 under any autocast; the next layer casts it to what it asks for."""
        if value is None or number is None:
            return value
        return value.to(torch_constant(self.tensors[number]["dtype"], "dtype"))

    def gradient_of(self, call: Any) -> Bind:
        of, args, out, device = self.forward[call["of"]], call["args"], call["out"], self.device

        def run(env: list[Any]) -> Any:
            if id(of) not in env[-1]:
                raise BadPart(f"calls: the gradient of {of['op']}, which keeps none")
            leaves, results = env[-1].pop(id(of))
            gradients = [decode(a, env.__getitem__, device) for a in args]
            pairs = [(r, g.to(r.dtype)) for r, g in zip(results, gradients) if g is not None]
            wanted = [place for place, number in enumerate(out) if number is not None]
            found = torch.autograd.grad(
                [r for r, _ in pairs], [leaves[place] for place in wanted], [g for _, g in pairs], allow_unused=True
            )
            by_place = dict(zip(wanted, found))
            return [self.as_captured(by_place.get(place), number) for place, number in enumerate(out)]

        return lambda env: partial(run, env)


def run_calls(calls: list[Prepared], env: list[Any], make: Make) -> None:
    for call in calls:
        work = call.bind(env)
        result = make(work)
        out = call.out
        if len(out) == 1 and isinstance(result, torch.Tensor):
            if out[0] is not None:
                env[out[0]] = result
        else:
            for number, value in zip(out, flatten(result)):
                if number is not None:
                    env[number] = value
        del work, result
        for number in call.done:
            env[number] = None


def copies_of(size: int, footprint: int, cache_bytes: int, free_bytes: float) -> int:
    """So many that they do not fit the cache, if the step does not either."""
    wanted = min(2 * cache_bytes, footprint) / max(1, size)
    fitting = 0.4 * free_bytes / max(1, size)
    return int(max(1, min(math.ceil(wanted), fitting, MAX_COPIES)))


def reshape(tensor: torch.Tensor, sizes: Any) -> torch.Tensor:
    """A view, wherever the layout that the framework chose on this device allows one."""
    return tensor.view(sizes) if isinstance(sizes, torch.dtype) else tensor.reshape(sizes)


def flatten(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [value for item in result for value in flatten(item)]
    return [result]


def aten_op(name: str, overload: str) -> Any:
    space, _, base = name.partition("::")
    if space != "aten" or name in REFUSED or not base.isidentifier() or not overload.isidentifier():
        raise ValueError(f'"{name}" is no aten op')
    packet = getattr(torch.ops.aten, base, None)
    function = getattr(packet, overload, None) if packet is not None else None
    if not isinstance(function, torch._ops.OpOverload):
        raise ValueError(f"this PyTorch ({torch.__version__}) has no {name}.{overload}; capture with the same version")
    return function


def bytes_of(info: Any) -> int:
    spread = (
        1 + sum((size - 1) * stride for size, stride in zip(info["sizes"], info["strides"]))
        if all(info["sizes"])
        else 0
    )
    return spread * torch_constant(info["dtype"], "dtype").itemsize


def make_tensor(info: Any, device: torch.device) -> torch.Tensor:
    """Random values of the right sort, laid out in memory as in the network."""
    dtype = torch_constant(info["dtype"], "dtype")
    if info["from"] == "host":
        return torch.ones(info["sizes"], dtype=dtype)
    spread = bytes_of(info) // dtype.itemsize
    memory = torch.empty(spread, dtype=dtype, device=device)
    if dtype == torch.bool:
        memory.bernoulli_(0.9)
    elif not dtype.is_floating_point and not dtype.is_complex:
        low, high = info.get("values", (0, 1))
        if info.get("after") == "cumsum":  # of as much for each
            memory.copy_(torch.arange(1, spread + 1, device=device) * high // max(1, spread))
        elif info.get("after") == "sort":  # each place once
            memory.copy_(torch.randperm(spread, device=device))
        elif high > low:
            memory.random_(max(low, torch.iinfo(dtype).min), min(high, torch.iinfo(dtype).max - 1) + 1)
        else:
            memory.fill_(low)
    elif info["from"] == "buffer" or (info["from"] == "parameter" and len(info["sizes"]) < 2):
        memory.uniform_(0.5, 1.5)
    elif info["from"] == "parameter":
        memory.normal_(0, 0.02)
    elif info["from"] == "gradient":
        memory.normal_(0, 1e-3)
    elif info["from"] == "state":
        memory.uniform_(0, 1e-3)
    else:
        memory.normal_()
        if info.get("after") in FUNCTIONS:
            memory.copy_(FUNCTIONS[info["after"]](memory))
    return memory.as_strided(info["sizes"], info["strides"])
