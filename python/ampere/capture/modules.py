"""Which of the user's modules runs, and when the backward pass and the optimizer do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .recorder import Recorder, current_node


@contextmanager
def following(recorder: Recorder, model: torch.nn.Module, compiled: frozenset[str] = frozenset()) -> Iterator[None]:
    """`compiled` has the names of modules that torch.compile was given: what is in them is not called in Python."""
    names = {id(module): name for name, module in model.named_modules()}
    step = recorder.step
    step.module_types.update({name: type(module).__name__ for name, module in model.named_modules()})

    def enter(module: torch.nn.Module, inputs: Any) -> None:
        recorder.module_stack.append(names.get(id(module), recorder.module_stack[-1]))
        recorder.modules_waiting += not recorder.paused and not recorder.compiling
        recorder.compiling += names.get(id(module)) in compiled
        if current_node() is None and recorder.node is None:  # else it is computed again for the backward pass
            recorder.after_backward = False
            recorder.phase = "forward"  # also where an optimizer calls the model, through a closure

    def leave(module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if len(recorder.module_stack) > 1:
            recorder.module_stack.pop()
        recorder.compiling -= names.get(id(module)) in compiled

    def start_update(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        recorder.phase = "update"
        if not recorder.paused:
            step.updated += sum(p.grad is not None for group in optimizer.param_groups for p in group["params"])

    def end_update(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        recorder.phase = "forward"

    hooks = [
        register_module_forward_pre_hook(enter),
        register_module_forward_hook(leave, always_call=True),
        register_optimizer_step_pre_hook(start_update),
        register_optimizer_step_post_hook(end_update),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
