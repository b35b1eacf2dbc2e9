"""Calls that are recorded above the point where the framework chooses a kernel.

What attention or a recurrent layer runs is decided on the device, by its framework, its sizes and dtypes. A fake device
chooses otherwise, so these are recorded as one call each, and their gradient as another.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .arguments import encode
from .recorder import Recorder

VF = torch._C._VariableFunctions
ATTENTION = torch.nn.functional.scaled_dot_product_attention
RECURRENT = {getattr(VF, name): name for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")}


class AboveKernels(TorchFunctionMode):
    def __init__(self, recorder: Recorder):
        super().__init__()
        self.recorder = recorder

    def __enter__(self) -> Any:
        # A mode does not see what a function calls that it has let pass, as nn.MultiheadAttention's calls attention.
        torch.nn.functional.scaled_dot_product_attention = self.attention_within
        return super().__enter__()

    def __exit__(self, *why: Any) -> None:
        torch.nn.functional.scaled_dot_product_attention = ATTENTION
        super().__exit__(*why)

    def attention_within(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        return ATTENTION(*args, **kwargs) if self.recorder.paused else self.attention(*args, **kwargs)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.recorder.paused:
            return func(*args, **kwargs)
        if func is ATTENTION or func is torch._C._nn.scaled_dot_product_attention:
            return self.attention(*args, **kwargs)
        if func is torch.nn.functional.dropout and self.recorder.compiling and kwargs["training"] and kwargs["p"] > 0:
            return torch.native_dropout(args[0], kwargs["p"], True)[0]  # the compiler's way, on every device
        if func in RECURRENT and isinstance(args[2], (list, tuple)):  # else packed sequences, whose lengths are data
            return self.recurrent(RECURRENT[func], args)
        return func(*args, **kwargs)

    def attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        cast = autocast_dtype(query)
        dtype = cast or query.dtype
        # Kernels for half precision write as they read; others, and those with a mask, as (batch, length, heads, width).
        as_read = query.is_cuda and dtype in (torch.bfloat16, torch.float16) and attn_mask is None

        def result() -> torch.Tensor:
            shape = (*query.shape[:-1], value.shape[-1])
            if as_read and shape == query.shape:
                return torch.empty_like(query, dtype=dtype)
            if query.dim() != 4:
                return query.new_empty(shape, dtype=dtype)
            batch, heads, length, width = shape
            return query.new_empty((batch, length, heads, width), dtype=dtype).transpose(1, 2)

        def gradient(tensor: torch.Tensor) -> torch.Tensor:
            if as_read or tensor.dim() != 4:
                return torch.empty_like(tensor)
            batch, heads, length, width = tensor.shape
            return tensor.new_empty((batch, length, heads, width)).transpose(1, 2)

        kwargs = {"scale": scale} | ({"enable_gqa": True} if enable_gqa else {})
        return Recorded.apply(
            self.recorder,
            "aten::scaled_dot_product_attention",
            cast,
            (dropout_p, is_causal),
            kwargs,
            lambda: (result(),),
            gradient,
            query,
            key,
            value,
            attn_mask,
        )[0]

    def recurrent(self, name: str, args: Any) -> tuple[torch.Tensor, ...]:
        x, hidden, weights, *rest = args  # rest: biases, layers, dropout, train, bidirectional, batch_first
        states = list(hidden) if isinstance(hidden, (list, tuple)) else [hidden]
        bidirectional, batch_first = rest[4], rest[5]
        cast = autocast_dtype(x)

        def results() -> tuple[torch.Tensor, ...]:
            # The kernels work on (length, batch, features), whatever the caller's order is.
            length, batch = (x.shape[1], x.shape[0]) if batch_first else (x.shape[0], x.shape[1])
            out = x.new_empty((length, batch, states[0].shape[-1] * (2 if bidirectional else 1)), dtype=cast or x.dtype)
            return (
                out.transpose(0, 1) if batch_first else out,
                *(torch.empty_like(state, dtype=cast or state.dtype) for state in states),
            )

        return tuple(
            Recorded.apply(
                self.recorder,
                f"aten::{name}",
                cast,
                tuple(rest),
                {"states": len(states)},
                results,
                torch.empty_like,
                x,
                *states,
                *weights,
            )
        )


class Recorded(torch.autograd.Function):
    """One call and its gradient, whatever they run."""

    @staticmethod
    def forward(
        ctx: Any,
        recorder: Recorder,
        op: str,
        cast: torch.dtype | None,
        rest: tuple[Any, ...],
        kwargs: dict[str, Any],
        results: Any,
        gradient: Any,
        *tensors: Any,
    ) -> Any:
        with recorder.pause():
            outputs = results()
        args = [encode(t, recorder.number) for t in tensors] + [encode(r, recorder.number) for r in rest]
        index = recorder.add(
            op, "default", args, kwargs, outputs, autocast=str(cast).removeprefix("torch.") if cast else None
        )
        ctx.recorder, ctx.index, ctx.op, ctx.gradient = recorder, index, op, gradient
        ctx.like = tensors  # only sizes and strides are needed: nothing is saved for its values
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        recorder = ctx.recorder
        wanted = ctx.needs_input_grad[7:]
        with recorder.pause():
            results = [
                ctx.gradient(t) if want and isinstance(t, torch.Tensor) else None for t, want in zip(ctx.like, wanted)
            ]
        args = [encode(g, recorder.number) for g in gradients]
        recorder.add(ctx.op, "default", args, {}, results, backward_of=ctx.index)
        return (None,) * 7 + tuple(results)


def autocast_dtype(tensor: torch.Tensor) -> torch.dtype | None:
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) and tensor.is_floating_point() else None
