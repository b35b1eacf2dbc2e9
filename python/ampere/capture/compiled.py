"""Models that torch.compile was given are captured as they were written: what it makes of them is the worker's to see."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from .recorder import Recorder


def is_wrapper(module: Any) -> bool:
    """Whether it is what `torch.compile(module)` gives; there is none before the compiler was imported."""
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    return compiler is not None and isinstance(module, compiler.OptimizedModule)


def unwrapped(model: torch.nn.Module) -> tuple[torch.nn.Module, bool]:
    """The module that was written, and whether all of it is compiled."""
    wrapped = is_wrapper(model)
    while is_wrapper(model):
        model = model._orig_mod  # type: ignore[assignment]
    return model, wrapped


@contextmanager
def as_written(model: torch.nn.Module) -> Iterator[frozenset[str]]:
    """Modules within the model that are compiled run as they were written meanwhile; gives their names."""
    kept: list[tuple[dict[str, Any], str, Any]] = []
    compiled: set[int] = set()
    try:
        for module in list(model.modules()):
            for name, child in module._modules.items():
                if child is not None and is_wrapper(child) and not is_wrapper(module):
                    kept.append((module._modules, name, child))  # type: ignore[arg-type]
                    module._modules[name] = unwrapped(child)[0]
                    compiled.add(id(module._modules[name]))
        for module in model.modules():
            if module.__dict__.get("_compiled_call_impl") is not None:  # by module.compile()
                kept.append((module.__dict__, "_compiled_call_impl", module.__dict__["_compiled_call_impl"]))
                module.__dict__["_compiled_call_impl"] = None
                compiled.add(id(module))
        yield frozenset(name for name, module in model.named_modules() if id(module) in compiled)
    finally:
        for table, name, value in kept:
            table[name] = value


@contextmanager
def as_if_compiling(recorder: Recorder) -> Iterator[None]:
    """Some models ask whether they are being compiled, and then make other calls."""
    if not hasattr(torch.compiler, "is_compiling"):
        yield
        return
    really = torch.compiler.is_compiling
    with mock.patch.object(torch.compiler, "is_compiling", lambda: recorder.compiling > 0 or really()):
        yield
