"""How a network is trained, in words and as the library's recipe."""

from __future__ import annotations

from typing import Any

from . import _core

PRECISIONS = {
    "default": "PyTorch's default precision (TF32 in convolutions, float32 elsewhere)",
    "fp32": "strict float32",
    "tf32": "TF32 in convolutions and matrix products",
    "bf16": "bfloat16 autocast",
    "fp16": "float16 autocast with gradient scaling",
}
# Only accelerators have TF32.
ON_CPU = {"default": "float32", "fp32": "float32", "tf32": "float32 (a CPU has no TF32)"}


def precision_words(precision: str, device: str) -> str:
    """`device` is a type: "cpu", "cuda"."""
    if precision not in PRECISIONS:
        raise ValueError(f'unknown precision "{precision}" (known: {", ".join(PRECISIONS)})')
    return ON_CPU.get(precision, PRECISIONS[precision]) if device == "cpu" else PRECISIONS[precision]


def optimizer_words(optimizer: Any) -> str:
    if isinstance(optimizer, str):
        return optimizer
    if isinstance(optimizer, type):
        return optimizer.__name__
    return "an optimizer of your own" if callable(optimizer) else type(optimizer).__name__


def recipe_of_ops(optimizer: Any, precision: str, device: str) -> tuple[_core.Recipe, list[str]]:
    """For networks of ops, whose optimizer is no part of them; and what one should know of it."""
    precision_words(precision, device)
    if precision == "fp16":
        raise ValueError('networks with channels are not trained in float16; say precision="bf16", which comes closest')
    word, notes = optimizer_word(optimizer)
    if device == "cpu" and precision != "bf16":
        precision = "default"
    return _core.Recipe(optimizer=word, precision=precision, threads=threads_of(device)), notes


def optimizer_word(optimizer: Any) -> tuple[str, list[str]]:
    name = optimizer if isinstance(optimizer, str) else type(optimizer).__name__.lower()
    if name == "sgd" and getattr(optimizer, "defaults", {}).get("momentum"):
        name = "momentum"
    if name == "adamw":
        return "adam", ["AdamW is taken as Adam, which differs in one multiplication per weight"]
    if name in ("sgd", "momentum", "adam"):
        return name, []
    raise ValueError(
        f'networks with channels are trained with "sgd", "momentum", "adam" or "adamw", not with {name}; '
        "take the one whose state per weight is as large"
    )


def threads_of(device: str) -> int:
    if device != "cpu":
        return 1
    import torch

    return torch.get_num_threads()
