"""Records every aten call of a training step: a dispatch mode below autograd, so backward and optimizer are seen too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.flop_counter import flop_registry
from torch.utils._pytree import tree_flatten, tree_map_only

from .arguments import encode, tensors_in
from .step import GROUPED, Call, Step, TensorInfo

aten = torch.ops.aten

# Ops that choose rows by whole numbers: which argument is chosen from, along which dimension, and by which.
CHOOSES = {
    "aten::embedding": (0, 0, 1),
    "aten::nll_loss_forward": (0, 1, 1),
    "aten::nll_loss2d_forward": (0, 1, 1),
    "aten::embedding_dense_backward": (2, None, 1),
}
# Whole numbers that pass through unchanged: what limits the result limits what they read.
PASSES = {
    "aten::view",
    "aten::_unsafe_view",
    "aten::reshape",
    "aten::slice",
    "aten::expand",
    "aten::clone",
    "aten::detach",
    "aten::unsqueeze",
    "aten::squeeze",
    "aten::select",
    "aten::_to_copy",
    "aten::t",
    "aten::transpose",
    "aten::permute",
    "aten::alias",
    "aten::contiguous",
    "aten::unbind",
}
# Rows are chosen or written by whole numbers, or by masks.
INDEXING = {
    aten.index.Tensor,
    aten._unsafe_index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}

# A tensor that the step itself makes of numbers, on the device that it names.
FRESH = (aten.lift_fresh.default, aten.lift_fresh_copy.default)


class DataDependent(Exception):
    """What the step does next depends on a value, which fake tensors do not have."""


class Recorder(TorchDispatchMode):
    """`adopt` turns real tensors that come along (targets in a closure) into the kind that is recorded."""

    def __init__(self, step: Step, device: torch.device, adopt: Callable[[torch.Tensor], torch.Tensor] | None = None):
        super().__init__()
        self.step = step
        self.device = device
        self.adopt = adopt
        self.phase = "forward"
        self.module_stack: list[str] = [""]
        self.paused = 0
        self.checked: set[int] = set()  # tensors that tell whether a gradient was infinite
        self.numbers: dict[Any, int] = {}
        self.storages: dict[int, tuple[StorageWeakRef, int]] = {}
        self.sources: dict[int, int] = {}  # whole numbers: tensor -> the one it was taken from
        self.owner_of: dict[int, int] = {}  # sequence number of an autograd node -> forward call
        self.last_sequence = sequence_number()
        self.last_owner = -1
        self.node: Any = None  # that a walk of ours runs; the engine tells of its own
        self.modules_waiting = 0
        self.nodes_waiting = 0
        self.last_node: Any = None
        self.after_backward = False  # and no module was called since: clipping, unscaling, updating
        self.compiling = 0  # modules running now, one inside the other, that torch.compile was given

    # --- tensors -------------------------------------------------------------------------------------------------

    def number(self, tensor: torch.Tensor) -> int:
        """Equal for all objects that are the same stretch of memory seen the same way."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self.storages:
            # While it is held the address is not used again.
            self.storages[storage._cdata] = StorageWeakRef(storage), len(self.storages)
        key = (storage._cdata, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        if key not in self.numbers:
            self.numbers[key] = len(self.step.tensors)
            self.step.tensors.append(
                TensorInfo(
                    tuple(int(s) for s in tensor.shape),
                    tuple(int(s) for s in tensor.stride()),
                    str(tensor.dtype).removeprefix("torch."),
                    storage=self.storages[storage._cdata][1],
                    on_host=tensor.device.type == "cpu" and self.device.type != "cpu",
                )
            )
        if tensor.requires_grad:
            self.step.tensors[self.numbers[key]].wants_gradient = True
        return self.numbers[key]

    def introduce(self, tensor: torch.Tensor, role: str, real: torch.Tensor | None = None) -> None:
        info = self.step.tensors[self.number(tensor)]
        info.role = info.role or role
        if (
            real is not None
            and not real.is_floating_point()
            and real.dtype != torch.bool
            and real.numel()
            and not real.is_meta
        ):
            with _disable_current_modes():
                info.values = int(real.min()), int(real.max())

    # --- calls ---------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.adopt is not None and func not in FRESH:
            args, kwargs = tree_map_only(torch.Tensor, self.adopt, (args, kwargs))
        if func is aten._local_scalar_dense.default and (known := self.scalar_of(args[0])) is not None:
            return known
        if (
            self.adopt is not None
            and func is aten.rand.default
            and not args[0]
            and "cpu" in str(kwargs.get("device", "cpu"))
        ):
            return torch.tensor(0.5)  # whether to drop a layer, as some decide by a number drawn on the host
        if self.paused or func.namespace != "aten":
            return self.not_recorded(func, args, kwargs)
        if func is aten.clone.default and not args[0].numel():
            return args[
                0
            ].detach()  # batch norm's memory for its gradient: without the device it is empty, and is cloned
        if (unmasked := self.without_masks(func, args, kwargs)) is not None:
            return unmasked
        encoded = [encode(arg, self.number) for arg in args]
        named = {key: encode(value, self.number) for key, value in kwargs.items() if value is not torch.preserve_format}
        by_us = self.adopt is not None and func._schema.name == GROUPED
        result = grouped_result(*args, **kwargs) if by_us else func(*args, **kwargs)
        self.add(
            func._schema.name, func._overloadname, encoded, named, result, flops=flops_of(func, args, kwargs, result)
        )
        return result

    def not_recorded(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not self.paused and func.namespace not in ("prim", "profiler", "torch", "inductor"):
            self.step.notes.append(f"{func} is no aten op and was left out")
        return func(*args, **kwargs)

    def without_masks(self, func: Any, args: Any, kwargs: Any) -> Any:
        """How many rows a mask chooses depends on its values, which a worker does not have. So it is recorded as what the
        framework makes of it: the places of its ones, and rows chosen by those. None: nothing hangs on how many."""
        if func in INDEXING and any(map(is_mask, args[1])) and hangs_on_count(args):
            if self.adopt is not None:
                raise DynamicOutputShapeException(func)
            with self:
                return func(args[0], whole_numbers(args[1]), *args[2:], **kwargs)
        if func is aten.masked_scatter.default and self.adopt is None and args[2].numel() < args[0].numel():
            with self:  # the gradient of masked_select
                places = whole_numbers([args[1].expand(args[0].shape)])
                return aten.index_put(args[0], places, args[2].reshape(-1)[: len(places[0])])
        return None

    def scalar_of(self, tensor: torch.Tensor) -> float | int | None:
        """The value that a fake tensor would have; None: it has one of its own."""
        if self.adopt is None:
            return None
        if self.phase != "update" and not self.after_backward:
            if getattr(tensor, "constant", None) is not None:
                return None
            raise DataDependent("the step looks at the value of a tensor")
        # An optimizer asks how many steps it made; a gradient scaler, before that, whether a gradient was infinite.
        if self.phase == "update":
            return 1000.0
        if self.number(tensor) in self.checked:
            return 0.0
        raise DataDependent("the step looks at the value of a tensor after its backward pass")

    def add(self, op: str, overload: str, args: list[Any], kwargs: dict[str, Any], result: Any, **extra: Any) -> int:
        outputs = [self.number(r) if isinstance(r, torch.Tensor) else None for r in tree_flatten(result)[0]]
        if op == "aten::_amp_foreach_non_finite_check_and_unscale_":
            self.checked.update(tensors_in(args[1]))
        index = len(self.step.calls)
        phase, owner = self.where(index)
        self.step.calls.append(
            Call(
                op,
                overload,
                args,
                kwargs,
                outputs,
                phase,
                self.module_stack[-1],
                owner,
                modules=self.modules_waiting,
                nodes=self.nodes_waiting,
                compiled=self.compiling > 0 and phase == "forward",
                accumulates=phase == "backward" and type(self.running_node()).__name__ == "AccumulateGrad",
                **extra,
            )
        )
        self.modules_waiting = self.nodes_waiting = 0
        self.follow_whole_numbers(self.step.calls[-1])
        return index

    def where(self, index: int) -> tuple[str, int]:
        """The phase, and in a backward pass the forward call whose gradient is computed.

        A node of autograd is numbered when it is made, right before its op runs: the first call after that owns it.
        """
        node = self.running_node()
        now = sequence_number()
        if node is None:
            for sequence in range(self.last_sequence, now):
                self.owner_of.setdefault(sequence, index)
            self.last_sequence = now
            return "update" if self.after_backward else self.phase, -1
        self.after_backward = True
        if node is not self.last_node:
            self.nodes_waiting += self.node is None
            self.last_node = node
        # What is computed again for the backward pass (checkpointing) belongs where it was asked for.
        self.last_owner = self.owner_of.get(node._sequence_nr(), self.last_owner)
        for sequence in range(self.last_sequence, now):
            self.owner_of.setdefault(sequence, self.last_owner)
        self.last_sequence = now
        return "backward", self.last_owner

    def running_node(self) -> Any:
        return self.node if self.node is not None else current_node()

    def follow_whole_numbers(self, call: Call) -> None:
        """Where rows are chosen by whole numbers, remembers how many rows there are."""
        tensors = self.step.tensors
        if call.op in PASSES and call.args and isinstance(call.args[0], dict):
            source = call.args[0]["t"]
            for out in call.outputs:
                if out is not None and source != out and tensors[out].dtype.startswith("int"):
                    self.sources[out] = source
        if call.op in CHOOSES:
            table, axis, chosen = CHOOSES[call.op]
            rows = call.args[table] if axis is None else tensors[call.args[table]["t"]].sizes[axis]
            self.limit(call.args[chosen]["t"], rows)
        elif call.op in ("aten::gather", "aten::index_select", "aten::scatter", "aten::scatter_add", "aten::index_add"):
            sizes = tensors[call.args[0]["t"]].sizes
            self.limit(call.args[2]["t"], sizes[call.args[1]] if sizes else 1)
        elif call.op == GROUPED and len(call.args) > 2 and call.args[2] is not None:  # where groups end, in rows
            first, second = (tensors[call.args[i]["t"]].sizes for i in (0, 1))
            rows = second[-1] if len(first) == 3 else first[0] if len(second) == 3 else first[1]
            self.limit(call.args[2]["t"], rows + 1)
        elif call.op in (
            "aten::index",
            "aten::index_put",
            "aten::index_put_",
            "aten::_index_put_impl_",
            "aten::_unsafe_index",
        ):
            for axis, chosen in enumerate(call.args[1]):
                if chosen is not None and tensors[chosen["t"]].dtype.startswith("int"):
                    self.limit(chosen["t"], tensors[call.args[0]["t"]].sizes[axis])

    def limit(self, number: int, rows: int) -> None:
        seen: set[int] = set()
        while number not in seen:
            seen.add(number)
            info = self.step.tensors[number]
            info.below = rows if info.below is None else min(info.below, rows)
            number = self.sources.get(number, number)

    @contextmanager
    def pause(self) -> Iterator[None]:
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1


def is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def hangs_on_count(args: Any) -> bool:
    """Not where all ones get the same: values without a dimension for them."""
    tensor, indices, *values = args
    left = tensor.dim() - sum(i.dim() if is_mask(i) else 1 for i in indices if i is not None)
    return not values or (values[0].dim() > left and values[0].shape[0] != 1)


def whole_numbers(indices: Any) -> list[Any]:
    places: list[Any] = []
    for index in indices:
        if is_mask(index):
            ones = index.nonzero()
            places += [ones.select(1, axis) for axis in range(index.dim())]
        else:
            places.append(index)
    return places


def grouped_result(
    first: torch.Tensor, second: torch.Tensor, ends: torch.Tensor, bias: Any = None, out_dtype: Any = None
) -> torch.Tensor:
    """Fake tensors take bfloat16 alone, and devices more."""
    sizes = [first.shape[-2], second.shape[-1]]
    if first.dim() == second.dim():
        sizes.insert(0, first.shape[0] if first.dim() == 3 else ends.shape[0])
    return first.new_empty(sizes, dtype=out_dtype or first.dtype)


def flops_of(func: Any, args: Any, kwargs: Any, result: Any) -> int:
    count = flop_registry.get(func._overloadpacket)
    return int(count(*args, **kwargs, out_val=result)) if count else 0


def sequence_number() -> int:
    return torch._C._autograd._get_sequence_nr()


def current_node() -> Any:
    return torch._C._current_autograd_node()
