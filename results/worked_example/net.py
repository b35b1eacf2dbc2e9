"""The networks of the worked example in docs/concepts.md, as TorchScript files. Needs PyTorch 1.13 or newer."""
import torch
from torch import nn


def net(first, second):
    return nn.Sequential(nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(second * 7 * 7, 10))


torch.jit.script(net(16, 32)).save("net.pt")
torch.jit.script(net(12, 20)).save("slim.pt")
