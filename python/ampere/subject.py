"""What `python -m ampere estimate` is asked about: a model, what it is called with, and how it is trained."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

BATCH = 8
KEYS = ("model", "inputs", "loss", "optimizer")


class BadSubject(Exception):
    """There is no such model, or it is not what it should be."""


@dataclass
class Subject:
    model: Any
    inputs: Any = None
    loss: Any = None
    optimizer: Any = "sgd"
    notes: list[str] = field(default_factory=list)


def subject_of(
    name: str, batch: int | None = None, length: int | None = None, sizes: tuple[int, ...] | None = None
) -> Subject:
    from .of_hugging_face import inputs_of, named

    if name.startswith("hf:"):
        model, notes = named(name.removeprefix("hf:"))
        return Subject(model, inputs_of(model, batch or BATCH, length), optimizer="adamw", notes=notes)
    subject = given(called(name), name)
    if subject.inputs is not None:
        if length is not None or sizes is not None:
            raise BadSubject(f"{name} gives its inputs itself: --length and --input are for models without")
        subject.inputs = subject.inputs if batch is None else rebatched(subject.inputs, batch)
    elif sizes is not None:
        import torch

        subject.inputs = torch.zeros(batch or BATCH, *sizes)
    elif getattr(subject.model, "main_input_name", None) and hasattr(subject.model, "config"):  # a Hugging Face model
        subject.inputs = inputs_of(subject.model, batch or BATCH, length)
    else:
        raise BadSubject(f"{name} gives a model without inputs: give --input 3x224x224, or let it give (model, inputs)")
    return subject


def called(name: str) -> Any:
    """What a function in a file gives."""
    file, colon, function = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise BadSubject(f'"{name}" is neither FILE.py:FUNCTION nor hf:NAME')
    path = pathlib.Path(file)
    if not path.is_file():
        raise BadSubject(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadSubject(f"{file} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # as if it were run: it may import what lies beside it
    try:
        spec.loader.exec_module(module)
    except Exception as e:
        raise BadSubject(f"{file} cannot be imported: {told(e)}") from e
    make = getattr(module, function, None)
    if not callable(make):
        raise BadSubject(f'there is no function "{function}" in {file}')
    try:
        return make()
    except Exception as e:
        raise BadSubject(f"{function}() of {file} failed: {told(e)}") from e


def given(value: Any, name: str) -> Subject:
    """From a module, a module and inputs, or a dict."""
    import torch

    if isinstance(value, Mapping):
        unknown = [key for key in value if key not in KEYS]
        if unknown or "model" not in value:
            wrong = f'the key "{unknown[0]}"' if unknown else 'no "model"'
            raise BadSubject(f"{name} gives a dict with {wrong} (known: {', '.join(KEYS)})")
        subject = Subject(**{key: value[key] for key in KEYS if value.get(key) is not None})
    elif isinstance(value, tuple) and len(value) == 2:
        subject = Subject(*value)
    else:
        subject = Subject(value)
    if not isinstance(subject.model, torch.nn.Module):
        raise BadSubject(f"{name} gives {type(subject.model).__name__} where an nn.Module is wanted")
    return subject


def rebatched(inputs: Any, batch: int) -> Any:
    """The same with so many samples: only sizes count, so the first sample stands for all."""
    import torch
    from torch.utils._pytree import tree_leaves, tree_map_only

    tensors = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor) and t.dim() > 0]
    there = tensors[0].shape[0] if tensors else 0

    def resized(tensor: Any) -> Any:
        if tensor.dim() == 0 or tensor.shape[0] != there:
            return tensor  # not one row per sample
        return tensor[:1].expand(batch, *tensor.shape[1:]).clone()

    return tree_map_only(torch.Tensor, resized, inputs)


def told(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
