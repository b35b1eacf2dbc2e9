"""Runs a compiled region of a captured step: its forward calls, given to torch.compile, and the gradients that follow.

The compiler is told what it would be told by the user's model, so both passes are the kernels that it makes for them.
As with parts that are not compiled, several copies run forward and then backward in turn, together larger than the cache.
"""

from __future__ import annotations

import operator
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import fx

from ..capture.arguments import decode, torch_constant
from .host import pace_of
from .part import MAX_CALLS, MAX_TENSORS, BadPart, aten_op, bytes_of, copies_of, make_tensor

ATTENTION = "aten::scaled_dot_product_attention"
# Kernels' names for one thing that models call by another: the compiler is shown what models call. The order of
# arguments is that of (input, weight, bias, running mean, running variance, whether in training, momentum, epsilon).
BATCH_NORMS = {"aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm"}
VIEWS_AS_RESHAPES = {"aten::view", "aten::_unsafe_view"}
# Another object for the same tensor; where autograd makes one to remember it, gradients pass by.
SAME = {"aten::detach", "aten::alias"}
MEMORY_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


class CannotCompile(Exception):
    """The compiler of this machine does not do."""


class Copy:
    def __init__(self, inputs: list[Any], gradients: dict[int, torch.Tensor]):
        self.inputs, self.gradients = inputs, gradients
        self.roots: list[torch.Tensor] = []  # outputs of the forward pass where gradients arrive


class Region:
    def __init__(self, body: Any, device: torch.device):
        self.device = device
        try:
            self.read(body)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError, RecursionError) as e:
            raise BadPart(f"calls: {type(e).__name__}: {e}") from e

    def read(self, body: Any) -> None:
        self.tensors, self.forward, self.outputs = body["tensors"], body["forward"], body["outputs"]
        if len(self.tensors) > MAX_TENSORS or len(self.forward) > MAX_CALLS:
            raise ValueError("too many tensors or calls")
        self.footprint, self.is_entry = int(body["footprint"]), bool(body["entry"])
        self.bytes = sum(bytes_of(t) for t in self.tensors if "from" in t or "until" in t)
        self.channels_last = is_channels_last(body, self.device)
        self.given = [t for t in self.tensors if "from" in t]
        self.module = fx.GraphModule(torch.nn.Module(), graph_of(body, self.device, bool(self.channels_last)))
        self.compiled = torch.compile(self.module, dynamic=False, fullgraph=True)

    def copies(self, cache_bytes: int, free_bytes: float) -> int:
        return copies_of(self.bytes, self.footprint, cache_bytes, free_bytes)

    def make(self, shared: dict[int, torch.Tensor]) -> Copy:
        """`shared` has the gradients that arrive, which neighbours have just written, by the place of their output."""
        copy = Copy([make_input(info, self.device, bool(self.channels_last)) for info in self.given], shared)
        if not shared:
            try:
                with settings(self.channels_last):
                    self.run_forward(copy)
                shared.update({place: small_gradient(root) for place, root in enumerate(copy.roots)})
                self.run_backward(copy)
            except torch.OutOfMemoryError:
                raise
            except Exception as e:  # every stage of the compiler has exceptions of its own
                raise CannotCompile(f"torch.compile: {type(e).__name__}: {first_line(e)}") from e
        return copy

    def forward_of(self, copy: Copy) -> Any:
        with torch.enable_grad():
            return self.compiled(*copy.inputs)

    def run_forward(self, copy: Copy) -> None:
        copy.roots = [output for output in self.forward_of(copy) if output.requires_grad]

    def run_backward(self, copy: Copy) -> list[Any]:
        """Gradients of weights, which wait for the optimizer."""
        roots, copy.roots = copy.roots, []
        wanted = [tensor for tensor in copy.inputs if tensor.requires_grad]
        if not roots or not wanted:
            return []
        found = torch.autograd.grad(roots, wanted, [copy.gradients[i] for i in range(len(roots))], allow_unused=True)
        weights = {id(t) for t, info in zip(copy.inputs, self.given) if info["from"] == "parameter"}
        return [gradient for tensor, gradient in zip(wanted, found) if id(tensor) in weights]

    def run(self, copies: list[Copy]) -> None:
        """One iteration of every copy."""
        for copy in copies:
            self.run_forward(copy)
        waiting = [self.run_backward(copy) for copy in reversed(copies)]
        waiting.clear()


def host_seconds(region: Region) -> float:
    """To issue a region within the step. Compiled code is entered once in a step, not once for every region; and that a
    backward pass begins at all is counted with the step."""
    once = next_to_nothing(region.device, not region.is_entry)
    return max(0.0, issue_paces(region) - once) * pace_of(region.device).usual()


def issue_paces(region: Region, count: int = 7) -> float:
    """As with parts that are not compiled: the quickest of a few in a row."""
    copies, pace, found = [region.make({})], pace_of(region.device), []
    before = pace.now()
    for _ in range(count + 2):
        torch.cuda.synchronize(region.device)
        start = time.perf_counter()
        region.run(copies)
        found.append(time.perf_counter() - start)
    return min(found[2:]) / (0.5 * (before + pace.now()))


@lru_cache(maxsize=2)
def next_to_nothing(device: torch.device, compiled: bool) -> float:
    """What a function takes that does next to nothing, in paces: autograd's node for it; compiled, guards too."""
    scalar = {"sizes": [1], "strides": [1], "dtype": "float32"}
    body = {
        "tensors": [{**scalar, "from": "activation", "gradient": True}, scalar],
        "forward": [{"op": "aten::mul", "overload": "Scalar", "args": [{"t": 0}, 2], "out": [1]}],
        "outputs": [1],
        "footprint": 1,
        "entry": True,
    }
    region = Region(body, device)
    if not compiled:
        region.compiled = region.module
    return issue_paces(region)


def forget_compiled() -> None:
    """The compiler remembers what it compiled, and that holds memory."""
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()


# --- calls -> a graph ------------------------------------------------------------------------------------------------


def graph_of(body: Any, device: torch.device, channels_last: bool = False) -> fx.Graph:
    graph = fx.Graph()
    values = {n: graph.placeholder(f"t{n}") for n, info in enumerate(body["tensors"]) if "from" in info}
    for number, info in enumerate(body["tensors"]):
        if channels_last and info.get("from") == "input" and is_image(info):  # the compiler does it, too
            layout: dict[str, Any] = {"memory_format": MEMORY_FORMATS[len(info["sizes"])]}
            values[number] = graph.call_method("contiguous", (values[number],), layout)
    for call in body["forward"]:
        add_call(graph, call, values, body["tensors"], device)
    graph.output(tuple(values[n] for n in body["outputs"]))
    return graph


def add_call(graph: fx.Graph, call: Any, values: dict[int, Any], tensors: list[Any], device: torch.device) -> None:
    op, out = call["op"], call["out"]
    args = [decode(a, values.__getitem__, device) for a in call["args"]]
    kwargs = {k: decode(v, values.__getitem__, device) for k, v in call.get("kwargs", {}).items()}
    if op in SAME and call["args"][0] == {"t": out[0]}:
        return
    if op == ATTENTION:
        if call.get("autocast"):
            args = [cast(graph, arg, told, tensors, call["autocast"]) for arg, told in zip(args, call["args"])]
        function: Any = torch.nn.functional.scaled_dot_product_attention
    elif op in BATCH_NORMS:
        x, weight, bias, mean, variance, *rest = args
        function, args, out = torch.nn.functional.batch_norm, [x, mean, variance, weight, bias, *rest], out[:1]
    elif op == "aten::native_dropout":
        function, out = torch.nn.functional.dropout, out[:1]
    elif op in VIEWS_AS_RESHAPES and not isinstance(args[1], torch.dtype):
        function = torch.reshape  # the compiler may have chosen another layout
    else:
        function = aten_op(op, call["overload"])
    result = graph.call_function(function, tuple(args), kwargs)
    if gives_several(function):
        results = [graph.call_function(operator.getitem, (result, place)) for place in range(len(out))]
    else:
        results = [result]
    values.update({number: value for number, value in zip(out, results) if number is not None})


def gives_several(function: Any) -> bool:
    if not isinstance(function, torch._ops.OpOverload):
        return False
    returns = function._schema.returns
    return len(returns) != 1 or isinstance(returns[0].type, torch.ListType)


def cast(graph: fx.Graph, value: Any, told: Any, tensors: list[Any], dtype: str) -> Any:
    """As autocast does above the calls that are recorded above their kernels."""
    if not isinstance(value, fx.Node) or not tensors[told["t"]]["dtype"].startswith(("float", "bfloat")):
        return value
    if tensors[told["t"]]["dtype"] == dtype:
        return value
    return graph.call_method("to", (value, torch_constant(dtype, "dtype")))


# --- tensors and their layout ----------------------------------------------------------------------------------------


def make_input(info: Any, device: torch.device, channels_last: bool) -> torch.Tensor:
    if channels_last and info["from"] == "activation" and is_image(info):
        like = torch.empty(info["sizes"], device="meta", memory_format=MEMORY_FORMATS[len(info["sizes"])])
        info = {**info, "strides": list(like.stride())}
    return make_tensor(info, device).detach().requires_grad_(bool(info.get("gradient")))


def is_image(info: Any) -> bool:
    return len(info["sizes"]) in MEMORY_FORMATS and torch_constant(info["dtype"], "dtype").is_floating_point


def is_channels_last(body: Any, device: torch.device) -> bool | None:
    """As capture/layout.py decided for the whole model; None: it has no convolutions."""
    told = body.get("channels_last")
    return torch.backends.mkldnn.is_available() if told is not None and device.type == "cpu" else told


@contextmanager
def settings(channels_last: bool | None) -> Iterator[None]:
    """For compiling the forward pass. Gradients arrive as they would within one large graph: laid out as what they are
    the gradients of, and not copied first."""
    import torch._functorch.config as autograd_config
    import torch._inductor.config as compiler_config

    with ExitStack() as stack:
        if hasattr(autograd_config, "guess_tangent_strides_as_outputs"):
            stack.enter_context(autograd_config.patch(guess_tangent_strides_as_outputs=True))
        if channels_last is not None:
            stack.enter_context(
                compiler_config.patch(layout_optimization=channels_last, force_layout_optimization=channels_last)
            )
        yield


def small_gradient(root: torch.Tensor) -> torch.Tensor:
    """Laid out as what it is the gradient of."""
    return torch.empty_like(root, requires_grad=False).normal_(0, 1e-3)


def first_line(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[0][:300] if lines else "no more is known"
