#!/usr/bin/env python3
"""A training loop of one's own: predicted before the first step, measured beside it, ended before a budget is spent.

usage: python plain_loop.py [STEPS [BUDGET_J]]
"""

import sys

import ampere
import torch
from ampere.callback import Run
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
budget_j = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0

model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(784, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images, labels = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
loss_of = nn.CrossEntropyLoss()

prediction = ampere.estimate(
    model, images, loss=lambda output: loss_of(output, labels), optimizer=optimizer, device="cpu"
)
print(prediction)

run = Run(prediction, budget_j=budget_j)
run.begin(total_steps=steps)
print(f"{steps} steps are predicted to take {run.predicted_total_j:.3g} J")
for step in range(1, steps + 1):
    optimizer.zero_grad()
    loss_of(model(images), labels).backward()
    optimizer.step()
    run.step(step)
    if run.over_budget:
        run.stopped = True
        break
run.end()
print(run.summary())
