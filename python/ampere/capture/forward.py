"""One forward pass of a user's network as ops with channels: what a worker's `trace` tells of a file (docs/protocol.md),
of a module that is at hand.

`torch.export` runs the module with tensors that have sizes and no memory, and lists the outermost ops: a convolution is
one op there, whichever kernels it calls. A captured step has the kernels, which say nothing of channels.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from .capture import CaptureError, first_line, split_inputs

# Two samples show which dimension is the batch, and are enough for a batch norm.
SAMPLES = 2
LONGEST_LIST = 4096


def recorded_forward(model: torch.nn.Module, inputs: Any, batch_axis: int = 0) -> dict[str, Any]:
    """With two samples; some modules are made for one batch size only, and get the one of `inputs`."""
    own = batch_of(inputs, batch_axis)
    try:
        return Pass(model, inputs, batch_axis, SAMPLES).told
    except Exception as first:
        if own == SAMPLES:
            raise untold(model, first) from first
    try:
        return Pass(model, inputs, batch_axis, own).told
    except Exception as why:
        raise untold(model, why) from why


def untold(model: torch.nn.Module, why: Exception) -> Exception:
    if isinstance(why, CaptureError):
        return why
    return CaptureError(
        f"{type(model).__name__} cannot be followed by torch.export, which tells its channels: {first_line(why)}. "
        "Check that the inputs fit it and that it decides nothing by the values of tensors; "
        "its parts without such code can be asked about one by one"
    )


def batch_of(inputs: Any, batch_axis: int = 0) -> int:
    args, kwargs = split_inputs(inputs)
    for value in [*args, *kwargs.values()]:
        if isinstance(value, torch.Tensor) and value.dim() > batch_axis:
            return int(value.shape[batch_axis])
    raise CaptureError("the inputs have no tensor with a batch; give a batch as the model is called with")


class Pass:
    def __init__(self, model: torch.nn.Module, inputs: Any, batch_axis: int, samples: int):
        self.samples, self.batch_axis = samples, batch_axis
        self.own = batch_of(inputs, batch_axis)
        args, kwargs = split_inputs(inputs)
        device = next((p.device for p in model.parameters()), torch.device("cpu"))
        resized = lambda t: self.resized(t, device)  # noqa: E731
        args, kwargs = tree_map_only(torch.Tensor, resized, (args, kwargs))
        with as_trained(model):
            exported = export(model, args, kwargs)
        self.graph, self.signature = exported.graph, exported.graph_signature
        self.first_names = names_of_the_same(model)
        self.leaves = {name for name, module in model.named_modules() if not list(module.children())}
        self.calls: Counter[tuple[str, str]] = Counter()  # of a leaf's op: some modules are called again
        self.tensors: list[dict[str, Any]] = []
        self.numbers: dict[Any, Any] = {}  # of each node of the graph: its tensor, or a list of them
        self.parameters: dict[str, int] = {}
        self.ops: list[dict[str, Any]] = []
        self.inputs: list[int] = []
        outputs: list[int] = []
        for node in self.graph.nodes:
            if node.op == "placeholder":
                self.introduce(node)
            elif node.op == "get_attr":
                self.numbers[node] = self.add(node.meta.get("val"), "constant")
            elif node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                outputs = self.wanted(node.args[0])
        self.told: dict[str, Any] = {
            "name": type(model).__name__,
            "batch": samples,
            "parameters": float(sum(p.numel() for p in model.parameters())),
            "inputs": self.inputs,
            "outputs": outputs,
            "tensors": self.tensors,
            "ops": self.ops,
        }
        self.leave_out_what_is_not_needed()

    def resized(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        """Only sizes count; values are never looked at."""
        sizes = list(tensor.shape)
        if self.has_batch(sizes, self.own):
            sizes[self.batch_axis] = self.samples
        return torch.zeros(sizes, dtype=tensor.dtype, device=device)

    def has_batch(self, sizes: list[int], batch: int) -> bool:
        return len(sizes) > 1 and len(sizes) > self.batch_axis and sizes[self.batch_axis] == batch

    # --- the graph's nodes ---------------------------------------------------------------------------------------------

    def introduce(self, node: Any) -> None:
        value, name = node.meta.get("val"), node.name
        if not isinstance(value, torch.Tensor):
            self.numbers[node] = None
        elif name in self.signature.inputs_to_parameters:
            own = self.signature.inputs_to_parameters[name]
            own = self.first_names.get(own, own)
            if own not in self.parameters:
                self.parameters[own] = self.add(value, "parameter", own)
            self.numbers[node] = self.parameters[own]
        elif name in self.signature.inputs_to_buffers:
            self.numbers[node] = self.add(value, "buffer", self.signature.inputs_to_buffers[name])
        elif name in self.signature.user_inputs and self.has_batch(list(value.shape), self.samples):
            self.numbers[node] = self.add(value, "input")
            self.tensors[-1]["batch_axis"] = self.batch_axis
            self.inputs.append(self.numbers[node])
        else:
            self.numbers[node] = self.add(value, "constant")

    def call(self, node: Any) -> None:
        if getattr(node.target, "__name__", "") == "getitem":  # one of an op's outputs
            several = self.numbers.get(node.args[0])
            self.numbers[node] = several[node.args[1]] if isinstance(several, list) else None
            return
        schema = getattr(node.target, "_schema", None)
        if schema is None:  # numbers are computed with, or a context is entered
            name = getattr(node.target, "__name__", str(node.target))
            if isinstance(node.meta.get("val"), torch.Tensor):
                raise CaptureError(f"the forward pass holds {name}, which is no op of a network")
            return
        given = dict(zip([a.name for a in schema.arguments], node.args)) | dict(node.kwargs)
        args = {name: self.argument(value) for name, value in given.items()}
        self.numbers[node] = self.outputs(node.meta.get("val"))
        put_out = [n for n in flat(self.numbers[node]) if n is not None]
        self.ops.append({"op": schema.name, "module": self.place(node, schema.name), "args": args, "outputs": put_out})

    def place(self, node: Any, op: str) -> str:
        """The innermost of the user's modules, with an @ and the count where a leaf is called again."""
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        module = str(stack[-1][0]).partition("@")[0] if stack else ""
        if module not in self.leaves:
            return module
        self.calls[module, op] += 1
        return module if self.calls[module, op] == 1 else f"{module}@{self.calls[module, op]}"

    def outputs(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.add(value)
        if isinstance(value, (list, tuple)):
            return [self.outputs(one) for one in value]
        return None

    def add(self, value: Any, role: str = "", name: str = "") -> int:
        told: dict[str, Any] = {"shape": [int(s) for s in getattr(value, "shape", ())], "dtype": dtype_of(value)}
        self.tensors.append(told | ({"role": role} if role else {}) | ({"name": name} if name else {}))
        return len(self.tensors) - 1

    def argument(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            number = self.numbers.get(value)
            return {"tensor": number} if isinstance(number, int) else {"other": "value"}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
            return [self.argument(one) for one in value]
        return {"other": type(value).__name__}

    def wanted(self, returned: Any) -> list[int]:
        """What the module gives back, without scalars: a loss that it computes itself is trained with, not pruned."""
        numbers = [self.numbers.get(one) for one in flat(returned) if isinstance(one, torch.fx.Node)]
        found = [n for n in numbers if isinstance(n, int) and self.tensors[n]["shape"]]
        if not found:
            raise CaptureError("the forward pass gives back no tensor that it computed, only scalars or nothing")
        return list(dict.fromkeys(found))

    def leave_out_what_is_not_needed(self) -> None:
        """Losses of models that compute them, counters of batch norms: nothing that is put out depends on them."""
        needed: set[int] = set(self.told["outputs"])
        kept = []
        for op in reversed(self.ops):
            if needed.intersection(op["outputs"]):
                needed.update(tensors_of(op["args"]))
                kept.append(op)
        self.told["ops"] = kept[::-1]
        self.told["inputs"] = [n for n in self.inputs if n in needed] or self.inputs


def export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < (2, 5):
        raise CaptureError(
            f"PyTorch {torch.__version__} is too old to tell a module's channels, which takes 2.5 or newer; "
            "with older ones write the module as an ONNX file and use ampere.Model.load(FILE)"
        )
    # Until 2.7 the usual export took ops apart, as for running them somewhere else.
    how: Any = getattr(torch.export, "export_for_training" if version < (2, 7) else "export")
    return how(model, args, kwargs, strict=False)


@contextmanager
def as_trained(model: torch.nn.Module) -> Iterator[None]:
    """And afterwards as it was. Recurrent layers keep their weights in a list besides, where export leaves its own."""
    was_training = [(module, module.training) for module in model.modules()]
    lists = [(m, list(m._flat_weights)) for m in model.modules() if isinstance(m, torch.nn.RNNBase)]
    model.train()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for recurrent, weights in lists:
            recurrent.__dict__["_flat_weights"] = weights
        for module, state in was_training:
            module.training = state


def names_of_the_same(model: torch.nn.Module) -> dict[str, str]:
    """Of each parameter the first of its names: tied weights have several."""
    first: dict[int, str] = {}
    return {
        name: first.setdefault(id(parameter), name)
        for name, parameter in model.named_parameters(remove_duplicate=False)
    }


def dtype_of(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return "other"
    if dtype is torch.bool:
        return "bool"
    return "float" if dtype.is_floating_point else "other" if dtype.is_complex else "int"


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for one in value for leaf in flat(one)] if isinstance(value, (list, tuple)) else [value]


def tensors_of(argument: Any) -> list[int]:
    if isinstance(argument, dict) and isinstance(argument.get("tensor"), int):
        return [argument["tensor"]]
    inside = argument.values() if isinstance(argument, dict) else argument if isinstance(argument, list) else ()
    return [number for one in inside for number in tensors_of(one)]
