#!/usr/bin/env python3
"""Lightning's Trainer with energy in its logger.

usage: python lightning_run.py [EPOCHS]
"""

import sys
import tempfile

import ampere
import lightning.pytorch as pl
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch, index):
        images, labels = batch
        return nn.functional.cross_entropy(self.net(images), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
module = Classifier()
data = TensorDataset(torch.randn(1024, 1, 28, 28), torch.randint(0, 10, (1024,)))
prediction = ampere.estimate(
    module.net,
    torch.randn(32, 1, 28, 28),
    loss=lambda output: nn.functional.cross_entropy(output, torch.zeros(32, dtype=torch.long)),
    optimizer="adam",
    device="cpu",
)
print(prediction)

with tempfile.TemporaryDirectory() as folder:
    callback = ampere.LightningCallback(prediction)
    trainer = pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=[callback],
        logger=CSVLogger(folder),
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, DataLoader(data, batch_size=32))
print({name: round(float(value), 3) for name, value in trainer.logged_metrics.items()})
