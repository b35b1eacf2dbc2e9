#!/usr/bin/env python3
"""Half of the energy: channels for a network of one's own, and the network made with them, asked about again.

usage: python prune_to_budget.py [BUDGET]
"""

import sys

import ampere
import torch
from torch import nn

budget = sys.argv[1] if len(sys.argv) > 1 else "50%"


class Net(nn.Module):
    """The sum ties `stem` to `second`: they come out equally wide."""

    def __init__(self, stem=32, first=32, second=32, last=64):
        super().__init__()
        self.stem = nn.Conv2d(1, stem, 3, stride=2, padding=1)
        self.first = nn.Conv2d(stem, first, 3, padding=1)
        self.second = nn.Conv2d(first, second, 3, padding=1)
        self.last = nn.Conv2d(second, last, 3, stride=2, padding=1)
        self.head = nn.Linear(last, 10)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = x + torch.relu(self.second(torch.relu(self.first(x))))
        return self.head(torch.relu(self.last(x)).mean((2, 3)))


images = torch.randn(32, 1, 28, 28)
pruning = ampere.prune(Net(), images, budget, optimizer="momentum", device="cpu")
print(pruning)

smaller = Net(*(pruning.channels[name] for name in ("stem", "first", "second", "last")))
was = ampere.estimate(Net(), images, optimizer="momentum", device="cpu")
now = ampere.estimate(smaller, images, optimizer="momentum", device="cpu")
print(
    f"each measured at its own sizes: {now.energy_j:.3g} J of {was.energy_j:.3g} J, {now.energy_j / was.energy_j:.1%}"
)
