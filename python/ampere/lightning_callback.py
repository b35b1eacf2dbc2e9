"""`ampere.LightningCallback`: the energy of a run of Lightning's Trainer, beside what was predicted.

    prediction = ampere.estimate(module.model, batch, optimizer="adam")
    trainer = lightning.Trainer(callbacks=[ampere.LightningCallback(prediction, budget_j=5000)])

A class of its own, because Lightning and Hugging Face both call `on_train_end`, with different arguments.
"""

from __future__ import annotations

import math
from typing import Any

try:
    from lightning.pytorch import Callback as LightningBase
except ImportError as e:
    raise ImportError("ampere.LightningCallback is for Lightning's Trainer: pip install lightning") from e

from .callback import Run
from .monitor import MeterLike
from .prediction import Prediction

__all__ = ["LightningCallback"]


class LightningCallback(LightningBase):
    """Measures, logs, and ends training before it goes over its budget. Arguments: see `ampere.callback.Run`.

    Figures go to the trainer's logger under "ampere/...". A trainer with `min_epochs` or `min_steps` goes on to those
    whatever the budget is: that is Lightning's rule. Steps are those of `trainer.global_step`, which counts one for
    each optimizer.
    """

    def __init__(
        self,
        prediction: Prediction | float | None = None,
        budget_j: float | None = None,
        recalibrate_after: int = 20,
        *,
        meter: str | MeterLike = "",
        refuse: bool = False,
    ) -> None:
        super().__init__()
        self.run = Run(prediction, budget_j, recalibrate_after, meter=meter, refuse=refuse)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        total = trainer.estimated_stepping_batches
        self.run.begin(
            int(total) if math.isfinite(total) and total >= 0 else None,  # -1 and infinite: nobody knows
            trainer.global_step,
            reads=trainer.local_rank == 0,
            devices=trainer.num_devices,
            nodes=trainer.num_nodes,
            processes=trainer.world_size,
        )

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step == self.run.last_step:
            return  # gradients were accumulated only
        self.run.step(trainer.global_step)
        if trainer.is_global_zero:
            pl_module.log_dict(self.run.figures(), on_step=True, on_epoch=False, rank_zero_only=True)
        # One that stops alone would leave the others waiting for its gradients.
        if self.run.decides and trainer.strategy.reduce_boolean_decision(self.run.over_budget, all=False):
            self.run.stopped = self.run.total_steps is None or self.run.last_step < self.run.total_steps
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.run.end()
        if self.run.reads:
            print(self.run.summary())

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.run.end()
