"""What networks of the population are drawn with."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Sample = tuple[nn.Module, Any, Callable[[Any], torch.Tensor], str]


def samples(rng: random.Random, scale: float, least: int, most: int) -> int:
    """A batch, from half the least on: often a power of two, and else whatever fits."""
    exponent = rng.uniform(math.log2(least) - 1, math.log2(most))
    return max(1, round(scale * 2 ** (round(exponent) if rng.random() < 0.5 else exponent)))


def cross_entropy(*shape: int) -> Callable[[Any], torch.Tensor]:
    targets = torch.zeros(shape, dtype=torch.long)
    return lambda output: nn.functional.cross_entropy(output, targets)


def normed(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
