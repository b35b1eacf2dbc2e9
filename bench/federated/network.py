"""The network that is trained: cnn5 of the zoo for 3 x 32 x 32 images, with fewer channels, so that 200 clients can be
simulated. As a module of PyTorch it computes what the zoo's network file says."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

MODEL = "cnn5:in=3,size=32,c1=8,c2=16,c3=32,c4=32"
BATCH = 20
EPOCHS = 1  # of a client in a round
LEARNING_RATE = 0.1


def make(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for before, after in ((3, 8), (8, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * 32, 10))


def train(weights: dict[str, torch.Tensor], images: np.ndarray, labels: np.ndarray, seed: int) -> tuple[nn.Module, int]:
    """EPOCHS of plain SGD; the module, and how many steps it took."""
    model = make()
    model.load_state_dict(copy.deepcopy(weights))
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    loss = nn.CrossEntropyLoss()
    rng = np.random.default_rng(seed)
    steps = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(labels))
        for start in range(0, len(order), BATCH):
            of = order[start : start + BATCH]
            optimizer.zero_grad()
            loss(model(torch.from_numpy(images[of])), torch.from_numpy(labels[of])).backward()
            optimizer.step()
            steps += 1
    return model, steps


@torch.no_grad()
def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    model.eval()
    right = 0
    for start in range(0, len(labels), 1000):
        batch = torch.from_numpy(np.ascontiguousarray(images[start : start + 1000]))
        right += int((model(batch).argmax(1).numpy() == labels[start : start + 1000]).sum())
    return right / len(labels)
