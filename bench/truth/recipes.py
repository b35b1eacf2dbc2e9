"""Recipes by name: how a network is trained. Everything that a recipe does not say is as PyTorch comes."""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn


class NotApplicable(Exception):
    """The recipe means nothing for this network."""


@dataclass(frozen=True)
class Recipe:
    about: str
    strict_fp32: bool = False  # TF32 off everywhere; else PyTorch's defaults, which have it on for convolutions
    autocast: torch.dtype | None = None
    scaler: bool = False
    channels_last: bool = False
    adamw: bool = False  # else SGD
    micro_batches: int = 1  # of a step
    lora: bool = False
    compile: bool = False


RECIPES: dict[str, Recipe] = {
    "fp32": Recipe("SGD, TF32 off everywhere", strict_fp32=True),
    "default": Recipe("SGD, nothing set"),
    "bf16": Recipe("SGD, autocast to bfloat16", autocast=torch.bfloat16),
    "fp16": Recipe("SGD, autocast to float16, GradScaler", autocast=torch.float16, scaler=True),
    "channels_last": Recipe("SGD, channels last", channels_last=True),
    "adamw": Recipe("AdamW", adamw=True),
    "accumulate": Recipe("SGD, gradients of 4 micro-batches per step", micro_batches=4),
    "lora": Recipe("AdamW on adapters of rank 8 in linear layers, the rest frozen", adamw=True, lora=True),
    "compile": Recipe("SGD, torch.compile", compile=True),
}


@contextlib.contextmanager
def precision(recipe: Recipe) -> Iterator[None]:
    """The process-wide switches of a recipe, and back to what they were."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    if recipe.strict_fp32:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        if recipe.strict_fp32:
            torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


class LoraLinear(nn.Module):
    """A frozen linear layer and a trained product of two thin ones."""

    def __init__(self, base: nn.Module, inputs: int, outputs: int, rank: int = 8, alpha: int = 16):
        super().__init__()
        self.base = base
        like = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.down = nn.Parameter(torch.empty(rank, inputs, **like))
        self.up = nn.Parameter(torch.zeros(outputs, rank, **like))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))
        self.scale = alpha / rank

    @property
    def weight(self) -> torch.Tensor:  # some attention reads the weight past forward, and so past the adapter
        return self.base.weight

    @property
    def bias(self) -> torch.Tensor | None:
        return self.base.bias

    def forward(self, x):
        update = nn.functional.linear(nn.functional.linear(x, self.down), self.up)
        return self.base(x) + update * self.scale


def add_lora(module: nn.Module) -> None:
    """Freezes a module and adapts its linear layers but the last, which is its head."""
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    found = []
    for name, layer in module.named_modules():
        if type(layer) is nn.Linear:  # not the subclass within nn.MultiheadAttention, whose forward is never called
            found.append((name, layer, layer.in_features, layer.out_features))
        elif type(layer).__name__ == "Conv1D" and hasattr(layer, "nf"):  # GPT-2's linear layer
            found.append((name, layer, layer.weight.shape[0], layer.nf))
    if len(found) < 2:
        raise NotApplicable("no linear layers to adapt")
    for name, layer, inputs, outputs in found[:-1]:
        parent, _, own = name.rpartition(".")
        setattr(module.get_submodule(parent), own, LoraLinear(layer, inputs, outputs))


class Training:
    """A module, made ready by a recipe, and the loop's step."""

    def __init__(self, recipe: Recipe, module: nn.Module, inputs: dict[str, torch.Tensor], targets: torch.Tensor,
                 loss: Callable, device: torch.device):
        self.recipe, self.inputs, self.targets, self.loss, self.device = recipe, inputs, targets, loss, device
        module.train()
        if recipe.lora:
            add_lora(module)
        if recipe.channels_last:
            if not any(value.dim() == 4 for value in inputs.values()):
                raise NotApplicable("channels last is for images")
            module = module.to(memory_format=torch.channels_last)
            self.inputs = {name: value.to(memory_format=torch.channels_last) if value.dim() == 4 else value
                           for name, value in inputs.items()}
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.model = torch.compile(module) if recipe.compile else module

    def optimizer(self, captured: bool) -> torch.optim.Optimizer:
        """A captured AdamW must keep its step count on the device; SGD has none."""
        if self.recipe.adamw:
            return torch.optim.AdamW(self.parameters, lr=1e-5, capturable=captured)
        return torch.optim.SGD(self.parameters, lr=1e-4)

    def scaler(self) -> torch.amp.GradScaler | None:
        return torch.amp.GradScaler(self.device.type) if self.recipe.scaler else None

    def _forward(self) -> torch.Tensor:
        if self.recipe.autocast is None:
            return self.loss(self.model(**self.inputs), self.targets)
        with torch.autocast(self.device.type, dtype=self.recipe.autocast):
            return self.loss(self.model(**self.inputs), self.targets)

    def _backward(self, scaler: torch.amp.GradScaler | None) -> torch.Tensor:
        for _ in range(self.recipe.micro_batches):
            loss = self._forward()
            if self.recipe.micro_batches > 1:
                loss = loss / self.recipe.micro_batches
            (loss if scaler is None else scaler.scale(loss)).backward()
        return loss.detach()

    def step(self, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler | None) -> torch.Tensor:
        """One step of the loop that users write; the loss (of the last micro-batch) stays on the device."""
        optimizer.zero_grad()
        loss = self._backward(scaler)
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        return loss

    def captured_step(self, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler | None) -> torch.Tensor:
        """The same work of the device. GradScaler.step asks the device whether any gradient overflowed, which no graph
        can: here they are checked and unscaled, and the step is taken in any case."""
        if scaler is None:
            return self.step(optimizer, None)
        optimizer.zero_grad()
        loss = self._backward(scaler)
        scaler.unscale_(optimizer)
        optimizer.step()
        scaler.update()
        return loss
