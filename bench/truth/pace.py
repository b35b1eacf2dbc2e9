"""How quick the host is at this moment. One that is shared drifts, and a step
that waits for its host is then slower than the same step a minute later."""

import statistics
import time

import torch
from torch import nn


def pace_s(device: torch.device, steps: int = 30) -> float:
    """Seconds of a step of eight linear layers of 16, which no device takes long for: the median of `steps`."""
    model = nn.Sequential(*(nn.Linear(16, 16, device=device) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    rows = torch.zeros(4, 16, device=device)
    times = []
    for _ in range(5 + steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(rows).sum().backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return statistics.median(times[5:])
