"""Trains a network of ops on synthetic data."""

# ruff: noqa: E501

import torch
from torch import nn
from torch.nn import functional as F

from .fields import REQUIRED, RequestError, bad_input, integer
from .network import build_op, ints, read_network, refuse_if_too_large

class Trainer(nn.Module):
    """The network on synthetic data. Ops are made while the first forward pass shows their input shapes."""

    def __init__(self, params, recipe, device, learning_rate, loss=True, input_grad=False):
        super().__init__()
        nodes, self.outputs = read_network(params)
        batch = integer(params, "batch", REQUIRED, 1, 1 << 24)
        if recipe.optimizer == "captured":
            raise bad_input('recipe: optimizer "captured" is for networks of captured calls; choose sgd, momentum or adam')
        self.recipe, self.device = recipe, device
        self.loss, self.ops, self.inputs, values = loss, [], [], []
        self.modules_ = nn.ModuleList()
        for node in nodes:
            x = [values[i] for i in node.inputs]
            refuse_if_too_large(node, x, batch)
            try:
                if node.op == "input":
                    op, size = None, [batch, *ints(node.attrs["shape"], 1)]
                    integral = node.attrs["dtype"] == "int"
                    values.append(torch.randint(node.attrs["classes"], size, device=device) if integral else torch.randn(size, device=device))
                    self.inputs.append(values[-1].requires_grad_(input_grad and not integral))
                else:
                    with device:
                        op = build_op(node, x)
                    if isinstance(op, nn.Module):
                        self.modules_.append(op)
                    with torch.no_grad(), self.recipe.autocast(device):
                        values.append(op(*x))
            except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as e:
                if "allocate memory" in str(e) or isinstance(e, torch.OutOfMemoryError):
                    raise RequestError("out_of_memory", f"{node.where}: {e}")
                raise bad_input(f"{node.where}: {e}")
            self.ops.append((op, node.inputs))
        self.targets = [self.target(values[o]) for o in self.outputs]
        if len(self.inputs) == len(nodes):  # the empty iteration: one scalar, nothing else
            self.scalar = nn.Parameter(torch.ones((), device=device))
        weights = list(self.parameters())
        # What is captured and replayed must not ask the device for its step counters.
        capturable = {"capturable": True} if device.type == "cuda" else {}
        momentum = 0.9 if recipe.optimizer == "momentum" else 0
        self.optimizer = (None if not weights else torch.optim.Adam(weights, lr=learning_rate, **capturable) if recipe.optimizer == "adam"
                          else torch.optim.SGD(weights, lr=learning_rate, momentum=momentum))

    def target(self, output):
        if not self.loss:
            return torch.randn(output.shape, device=self.device, dtype=output.dtype) / output.numel()
        if output.dim() in (2, 3) and output.shape[-1] > 1:
            return torch.randint(output.shape[-1], (output.numel() // output.shape[-1],), device=self.device)
        return torch.randn(output.shape, device=self.device)

    def step(self):
        self.forget_gradients()
        roots = self.forward()
        self.backward(roots)
        self.update()
        return roots[0][0].detach() if self.loss and roots else None

    def phase(self, name):
        """One part of an iteration, to be repeated by itself: a backward pass goes over one graph again and again."""
        if name == "iteration":
            return self.step
        if name != "backward":
            return getattr(self, name)
        roots = self.forward()

        def backward():
            self.forget_gradients()
            self.backward(roots, keep_graph=True)
        return backward

    def forget_gradients(self):
        for tensor in [*self.parameters(), *self.inputs]:
            tensor.grad = None

    def forward(self):
        """Where the backward pass starts: the loss, or the outputs, each with its gradient (None is 1)."""
        if hasattr(self, "scalar"):
            return []
        with self.recipe.autocast(self.device):
            return self.roots()

    def roots(self):
        values, inputs = [], iter(self.inputs)
        for op, reads in self.ops:
            values.append(op(*[values[i] for i in reads]) if op else next(inputs))
        pairs = [(values[o], t) for o, t in zip(self.outputs, self.targets)]
        if not self.loss:
            return pairs
        return [(sum(F.cross_entropy(r.flatten(0, -2), t) if t.dtype == torch.long else F.mse_loss(r, t) for r, t in pairs), None)]

    def backward(self, roots, keep_graph=False):
        if hasattr(self, "scalar"):
            return self.scalar.backward(torch.ones((), device=self.device))
        roots = [(r, gradient) for r, gradient in roots if r.requires_grad]
        if roots:
            torch.autograd.backward(*map(list, zip(*roots)), retain_graph=keep_graph)

    def update(self):
        if self.optimizer:
            self.optimizer.step()


