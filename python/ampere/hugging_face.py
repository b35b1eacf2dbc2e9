"""`ampere.Callback`: the energy of a run of Hugging Face's Trainer, beside what was predicted.

prediction = ampere.estimate(model, batch, optimizer="adamw")
trainer = Trainer(model, args, train_dataset=data, callbacks=[ampere.Callback(prediction, budget_j=5000)])
"""

from __future__ import annotations

import os
from typing import Any

try:
    from transformers import TrainerCallback
except ImportError as e:
    raise ImportError("ampere.Callback is for Hugging Face's Trainer: pip install transformers accelerate") from e

from .callback import Run
from .monitor import MeterLike
from .prediction import Prediction

__all__ = ["Callback"]


class Callback(TrainerCallback):
    """Measures, logs, and ends training before it goes over its budget. Arguments: see `ampere.callback.Run`.

    Figures are in what the Trainer logs, under "ampere/...", and in its state's `log_history`. Reporters such as
    TensorBoard are called before a user's callbacks, so they see them only after `callback.attach(trainer)`.
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
        self.run = Run(prediction, budget_j, recalibrate_after, meter=meter, refuse=refuse)

    def attach(self, trainer: Any) -> Callback:
        """Puts it in front of the trainer's other callbacks, so that all of them are told its figures."""
        callbacks = trainer.callback_handler.callbacks
        callbacks[:] = [self, *(callback for callback in callbacks if callback is not self)]
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # torchrun and accelerate say it
        self.run.begin(
            state.max_steps,
            state.global_step,
            reads=args.local_process_index == 0,
            devices=local * max(1, args.n_gpu),
            nodes=max(1, args.world_size // local),
            processes=args.world_size,
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        self.run.step(state.global_step)
        if self.run.decides and any_process(self.run.over_budget, args.device):
            self.run.stopped = state.global_step < state.max_steps
            control.should_training_stop = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        figures = self.run.figures()
        if logs is not None:
            logs.update(figures)
        if state.log_history:  # it has a copy, made before callbacks are called
            state.log_history[-1].update(figures)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.run.end()
        if self.run.reads:
            print(self.run.summary())


def any_process(mine: bool, device: Any) -> bool:
    """Whether it is so in any process. One that stops alone would leave the others waiting for its gradients."""
    import torch

    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return mine
    told = torch.tensor(int(mine), device=device)
    torch.distributed.all_reduce(told, torch.distributed.ReduceOp.MAX)
    return bool(told.item())
