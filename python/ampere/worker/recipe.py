"""How a network is trained: what changes the cost of the same layer."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from .fields import bad_input, field, flag, integer, known_fields, one_of

OPTIMIZERS = ("sgd", "momentum", "adam", "captured")
PRECISIONS = ("default", "fp32", "tf32", "bf16")
THREADS_PER_CORE = 4  # as in src/worker/recipe_settings.cc


@dataclass(frozen=True)
class Recipe:
    optimizer: str = "sgd"
    precision: str = "default"
    autotune: bool = False
    deterministic: bool = False
    threads: int = 1
    seed: int = 1

    def apply(self, device: torch.device) -> None:
        """To all that this process computes from now on."""
        if self.precision == "tf32" and device.type != "cuda":
            raise bad_input("recipe: precision tf32 needs a CUDA device; use fp32 or bf16 on a CPU")
        require_threads(self.threads)
        torch.set_num_threads(self.threads)
        torch.use_deterministic_algorithms(self.deterministic, warn_only=True)
        torch.manual_seed(self.seed)
        torch.backends.cudnn.benchmark = self.autotune
        torch.backends.cudnn.deterministic = self.deterministic
        # In mixed precision what stays in float32 is computed as the framework does it by default.
        torch.backends.cudnn.allow_tf32 = self.precision != "fp32"
        torch.backends.cuda.matmul.allow_tf32 = self.precision == "tf32"

    def autocast(self, device: torch.device) -> Any:
        return torch.autocast(device.type, dtype=torch.bfloat16) if self.precision == "bf16" else nullcontext()


def require_threads(threads: int) -> None:
    """Threads wait for each other, and thousands on a few cores do so for minutes."""
    cores = os.cpu_count() or 1
    if threads > THREADS_PER_CORE * cores:
        raise bad_input(
            f"recipe: {threads} threads are too many for this machine's {cores} cores; "
            f"{THREADS_PER_CORE * cores} is the most"
        )


def read_recipe(params: dict[str, Any]) -> Recipe:
    recipe = field(params, "recipe", {}, lambda v: isinstance(v, dict), "an object")
    known_fields(recipe, "recipe", ["optimizer", "precision", "autotune", "deterministic", "threads", "seed"])
    return Recipe(
        one_of(recipe, "optimizer", "sgd", OPTIMIZERS),
        one_of(recipe, "precision", "default", PRECISIONS),
        flag(recipe, "autotune", False),
        flag(recipe, "deterministic", False),
        integer(recipe, "threads", 1, 1, 4096),
        integer(recipe, "seed", 1, -(1 << 62), 1 << 62),
    )
