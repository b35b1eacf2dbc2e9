"""Arguments of aten calls as JSON, and back.

Tensors are numbers of a table, `{"t": 3}`; what JSON has no word for is an object with one key that says what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

Json = Any


def encode(value: Any, tensor: Callable[[torch.Tensor], int]) -> Json:
    """`tensor` gives the number of a tensor."""
    if isinstance(value, torch.Tensor):
        return {"t": tensor(value)}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (list, tuple)):
        return [encode(item, tensor) for item in value]
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise UnknownArgument("a size that depends on data")
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        # The worker has a device of its own; only what stays on the host is told apart.
        return {"device": value.type}
    if isinstance(value, torch.layout):
        return {"layout": str(value).removeprefix("torch.")}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value).removeprefix("torch.")}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.Generator):
        return None
    raise UnknownArgument(f"an argument of type {type(value).__name__}")


def decode(value: Json, tensor: Callable[[int], Any], device: torch.device) -> Any:
    if isinstance(value, list):
        return [decode(item, tensor, device) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an argument with {len(value)} keys")
    ((key, inner),) = value.items()
    if key == "t":
        return tensor(inner)
    if key == "float":
        return float(inner)
    if key == "complex":
        return complex(*inner)
    if key == "device":
        return torch.device("cpu") if inner == "cpu" else device
    if key in ("dtype", "layout", "memory_format"):
        return torch_constant(inner, key)
    raise ValueError(f'an argument of the unknown kind "{key}"')


def torch_constant(name: Any, kind: str) -> Any:
    """torch.float32 and the like, by name; nothing else of torch can be reached by it."""
    types = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}
    found = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(found, types[kind]):
        raise ValueError(f'unknown {kind} "{name}"')
    return found


def tensors_in(value: Json) -> list[int]:
    """Numbers of the tensors in encoded arguments, in order."""
    if isinstance(value, list):
        return [number for item in value for number in tensors_in(item)]
    if isinstance(value, dict):
        return [value["t"]] if "t" in value else [n for item in value.values() for n in tensors_in(item)]
    return []


def renumbered(value: Json, numbers: dict[int, int]) -> Json:
    if isinstance(value, list):
        return [renumbered(item, numbers) for item in value]
    if isinstance(value, dict):
        if "t" in value:
            return {"t": numbers[value["t"]]}
        return {key: renumbered(item, numbers) for key, item in value.items()}
    return value


class UnknownArgument(Exception):
    pass
