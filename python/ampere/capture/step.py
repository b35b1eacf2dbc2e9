"""A training step as it was captured: every aten call with its arguments, and whose work it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class TensorInfo:
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    role: str = ""  # "parameter", "buffer", "input"; empty: a call put it out
    storage: int = -1  # tensors with the same number share their memory
    on_host: bool = False  # lives in the host's memory though the network does not (step counters of optimizers)
    values: tuple[int, int] | None = None  # of whole numbers: smallest and largest, where they are known
    below: int | None = None  # of whole numbers that choose rows: how many rows there are
    wants_gradient: bool = False  # it was seen as part of autograd's graph

    def bytes(self) -> int:
        spread = (
            1 + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides)) if all(self.sizes) else 0
        )
        return spread * ITEM_BYTES.get(self.dtype, 4)


# Several matrix products in one call, as experts have them: its third argument tells where the rows of each end.
GROUPED = "aten::_grouped_mm"

ITEM_BYTES = {
    "float64": 8,
    "int64": 8,
    "complex64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "bool": 1,
    "uint8": 1,
    "int8": 1,
}


@dataclass
class Call:
    op: str  # "aten::convolution"
    overload: str  # "default", "Tensor"
    args: list[Any]  # as arguments.encode() gives them
    kwargs: dict[str, Any]
    outputs: list[Any]  # numbers of tensors, None for what is none
    phase: str  # "forward", "backward", "update"
    module: str = ""  # of the user's, "layer1.0.conv1"
    owner: int = -1  # backward: the forward call that it belongs to
    autocast: str | None = None  # of a call that is recorded above the choice of a kernel
    backward_of: int | None = None  # the gradient of that call, as the framework computes it
    flops: int = 0
    modules: int = 0  # of the user's that were called since the call before
    nodes: int = 0  # of autograd that ran since the call before
    compiled: bool = False  # torch.compile would have had it
    accumulates: bool = False  # backward: adds to a gradient that is there already, as autograd does by itself


@dataclass
class Step:
    name: str
    batch: int
    tensors: list[TensorInfo] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    updated: int = 0  # tensors that the optimizer updates
    module_types: dict[str, str] = field(default_factory=dict)
    parameters: int = 0  # numbers in all that are trained or frozen
    how: str = ""  # "fake" or "cpu"
    notes: list[str] = field(default_factory=list)
