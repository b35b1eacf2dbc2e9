"""What AMPERE says of the network's training step on the boards of a store."""

from __future__ import annotations

import pathlib

import network
import torch

from ampere.federated import StoredCosts


def stored_costs(store: pathlib.Path) -> StoredCosts:
    torch.set_num_threads(1)  # profiles are of so many
    target = torch.zeros(network.BATCH, dtype=torch.long)
    return StoredCosts(
        network.make(),
        torch.randn(network.BATCH, 3, 32, 32),
        batch=network.BATCH,
        epochs=network.EPOCHS,
        store=str(store),
        optimizer="sgd",
        loss=lambda out: torch.nn.functional.cross_entropy(out, target),
    )
