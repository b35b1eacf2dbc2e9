"""The backward pass, walked by hand.

Autograd's engine wants a driver before it touches tensors of an accelerator, even fake ones. Where there is none, the
graph is walked here, in the engine's order: of the nodes whose gradients are complete, the one made last comes first.
Hooks on tensors do not fire.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from .recorder import Recorder

ACCUMULATE = 1 << 63


@contextmanager
def walked(recorder: Recorder) -> Iterator[None]:
    def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> None:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        given = (
            [None] * len(roots)
            if grad_tensors is None
            else ([grad_tensors] if isinstance(grad_tensors, torch.Tensor) else list(grad_tensors))
        )
        with torch.no_grad():
            walk(roots, [torch.ones_like(r) if g is None else g for r, g in zip(roots, given)], recorder)

    def of_tensor(self: torch.Tensor, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        backward(self, gradient)

    # Checkpointing keeps what it computed again for as long as one backward pass has the same number.
    with (
        mock.patch.object(torch.autograd, "backward", backward),
        mock.patch.object(torch.Tensor, "backward", of_tensor),
        mock.patch.object(torch._C, "_current_graph_task_id", lambda: 1),
    ):
        yield


def walk(roots: list[torch.Tensor], gradients: list[torch.Tensor], recorder: Recorder) -> None:
    readers: dict[Any, int] = {}  # node -> how many gradients are still to come
    queue: list[Any] = [r.grad_fn for r in roots if r.grad_fn is not None]
    seen = set(queue)
    while queue:
        for following, _ in queue.pop().next_functions:
            if following is None:
                continue
            readers[following] = readers.get(following, 0) + 1
            if following not in seen:
                seen.add(following)
                queue.append(following)
    arrived: dict[Any, dict[int, torch.Tensor]] = {}
    for root, gradient in zip(roots, gradients):
        arrived.setdefault(root.grad_fn, {})[root.output_nr] = gradient
    ready = [(-order_of(node), i, node) for i, node in enumerate(arrived) if not readers.get(node)]
    heapq.heapify(ready)
    count = len(ready)
    while ready:
        _, _, node = heapq.heappop(ready)
        results = run(node, arrived.pop(node, {}), recorder)
        for (following, slot), gradient in zip(node.next_functions, results):
            if following is None:
                continue
            if gradient is not None:
                recorder.node = node
                gradient = fitted(gradient, following, slot)
                slots = arrived.setdefault(following, {})
                slots[slot] = slots[slot] + gradient if slot in slots else gradient
                recorder.node = None
            readers[following] -= 1
            if readers[following] == 0:
                heapq.heappush(ready, (-order_of(following), count, following))
                count += 1


def fitted(gradient: torch.Tensor, node: Any, slot: int) -> torch.Tensor:
    """As the engine does it: what was broadcast is summed, and takes the type of what it is the gradient of."""
    wanted = node.variable if is_accumulation(node) else node._input_metadata[slot]
    if tuple(gradient.shape) != tuple(wanted.shape):
        gradient = gradient.sum_to_size(tuple(wanted.shape))
    return gradient if gradient.dtype == wanted.dtype else gradient.to(wanted.dtype)


def order_of(node: Any) -> int:
    return ACCUMULATE if is_accumulation(node) else node._sequence_nr()


def is_accumulation(node: Any) -> bool:
    return type(node).__name__ == "AccumulateGrad"


def run(node: Any, gradients: dict[int, torch.Tensor], recorder: Recorder) -> tuple[Any, ...]:
    if not gradients:
        return (None,) * len(node.next_functions)
    recorder.nodes_waiting += 1
    recorder.node = node
    try:
        if is_accumulation(node):
            variable = node.variable
            variable.grad = gradients[0].detach() if variable.grad is None else variable.grad.add_(gradients[0])
            return ()
        arguments = [gradients.get(i) for i in range(len(node._input_metadata))]
        written_in_python = isinstance(node, torch.autograd.function.BackwardCFunction)
        results = (node.apply if written_in_python else node)(*arguments)
    finally:
        recorder.node = None
    results = results if isinstance(results, tuple) else (results,)
    return aligned(node, results) if written_in_python else results


def aligned(node: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """A function written in Python answers for every argument, but only tensors have a next function."""
    wanted = iter([result for result, wants in zip(results, node.needs_input_grad) if wants])
    return tuple(next(wanted, None) if following is not None else None for following, _ in node.next_functions)
