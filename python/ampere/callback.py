"""The energy of a training run beside what was predicted: what callbacks of trainers have in common.

`Callback` (Hugging Face) and `LightningCallback` tell a `Run` when it begins, what step was made and when it ends; it
knows neither library. Your own loop can do the same:

    run = ampere.callback.Run(prediction, budget_j=5000)
    run.begin(total_steps=1000)
    for step, batch in enumerate(batches, 1):
        train_on(batch)
        run.step(step)
        if run.over_budget:
            break
    run.end()
    print(run.summary())

**What is counted** is all that the meter sees from the beginning to the end: evaluations, checkpoints and the loading
of data are in it, because a budget pays for them too. A prediction is of training steps alone, so the factor between
the two also tells what else there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from .monitor import MeterLike, Monitor
from .prediction import quantity

if TYPE_CHECKING:
    from .prediction import Prediction

AGREE_EVERY = 10  # steps: asking all processes waits for them, so it is not done after each
COLD_STEPS = 3  # memory is allocated and kernels are chosen: not what the others cost

__all__ = ["Run"]


class Run:
    """prediction         of one step of one device: what `ampere.estimate` gives, or joules
    budget_j           joules that this node may use; `over_budget` is true where the next step would not fit
    recalibrate_after  steps after which measuring corrects the prediction
    meter              a name (`ampere.meters()` lists them) or an open one; the default counts all GPUs one can see
    refuse             do not even begin where the budget is below the prediction's interval
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
        if budget_j is not None and not budget_j > 0:
            raise ValueError(f"a budget is more than 0 J, not {budget_j}")
        if recalibrate_after < 1:
            raise ValueError(f"recalibrate_after must be 1 or more, not {recalibrate_after}")
        if isinstance(prediction, (int, float)):
            self._step_j = self._step_low_j = float(prediction)
        elif prediction is not None:
            self._step_j, self._step_low_j = prediction.energy_j, prediction.interval()[0]
        self.has_prediction = prediction is not None
        self.budget_j = budget_j
        self.recalibrate_after = recalibrate_after
        self.refuse = refuse
        self._wanted_meter = meter
        self._monitor: Monitor | None = None  # opened where training begins: a meter cannot go to another process
        self._clear()

    def _clear(self) -> None:
        self.total_steps: int | None = None
        self.first_step = self.last_step = 0
        self.reads = False
        self.stopped = False  # by whoever asked `over_budget`: training may end early for other reasons
        self.meter, self.modelled = "", False
        self.devices = self.nodes = self._ahead = 1
        self.energy_j = self.time_s = 0.0
        self._cold: tuple[int, float] | None = None  # step and joules from which on steps are typical

    # --- what a trainer tells ----------------------------------------------------------------------------------------

    def begin(
        self,
        total_steps: int | None,
        first_step: int = 0,
        *,
        reads: bool = True,
        devices: int = 1,
        nodes: int = 1,
        processes: int = 1,
    ) -> None:
        """Only one process of a node `reads`: the meter counts all its devices already. `total_steps` None: unknown."""
        self._clear()
        self.total_steps, self.first_step, self.last_step = total_steps, first_step, first_step
        self.reads, self.nodes = reads, nodes
        self._ahead = 1 if processes == 1 else AGREE_EVERY
        monitor = Monitor(self._wanted_meter, align=False)  # a run is long: ticks at its ends do not matter
        # Such a meter sees one process, whatever else there is.
        self.devices = 1 if getattr(monitor.meter, "scope", "") == "process" else devices
        self.meter, self.modelled = monitor.meter.name, monitor.modelled
        self._monitor = monitor if reads else None
        low = self._times_steps(self._step_low_j) if self.has_prediction else None
        if self.refuse and self.budget_j is not None and low is not None and low > self.budget_j:
            raise _core.OverBudgetError(
                f"training is predicted to take {quantity(low, 'J')} at least, the budget is {quantity(self.budget_j, 'J')}"
            )
        if self._monitor:
            self._monitor.__enter__()

    def step(self, number: int) -> None:
        """After each step of the optimizer. Reads the meter without waiting for the device: it may be a step behind."""
        self.last_step = number
        if self._monitor is None:
            return
        self.energy_j, self.time_s = self._monitor.energy_j, self._monitor.time_s
        if self._cold is None and self.steps >= min(COLD_STEPS, self.recalibrate_after):
            self._cold = (number, self.energy_j)

    def end(self) -> None:
        """May be called twice."""
        if self._monitor is not None:
            self._monitor.__exit__(None, None, None)
            self.energy_j, self.time_s = self._monitor.energy_j, self._monitor.time_s
            self._monitor = None

    # --- what is known -----------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Made since it began."""
        return self.last_step - self.first_step

    @property
    def measured_step_j(self) -> float | None:
        """What a step took on average, the cold ones left out as soon as there are others."""
        if self._cold is not None and self.last_step > self._cold[0]:
            return (self.energy_j - self._cold[1]) / (self.last_step - self._cold[0])
        return self.energy_j / self.steps if self.steps else None

    @property
    def predicted_total_j(self) -> float | None:
        return self._times_steps(self._step_j) if self.has_prediction else None

    @property
    def factor(self) -> float | None:
        """Measured over predicted; None before `recalibrate_after` steps."""
        measured = self.measured_step_j
        if not self.has_prediction or self.steps < self.recalibrate_after or measured is None:
            return None
        return measured / (self._step_j * self.devices)

    @property
    def remaining_j(self) -> float | None:
        """The prediction until enough steps were made, then what was measured."""
        if self.total_steps is None:
            return None
        step_j = self.measured_step_j if self.steps >= self.recalibrate_after else None
        if step_j is None:
            step_j = self._step_j * self.devices if self.has_prediction else None
        return None if step_j is None else step_j * max(0, self.total_steps - self.last_step)

    @property
    def expected_total_j(self) -> float | None:
        remaining = self.remaining_j
        return None if remaining is None else self.energy_j + remaining

    @property
    def decides(self) -> bool:
        """Whether all processes decide behind this step whether to go on. They must do so behind the same ones."""
        return self.budget_j is not None and self.last_step % self._ahead == 0

    @property
    def over_budget(self) -> bool:
        """Whether what comes before the next decision would not fit: a budget is kept, not found broken."""
        if self.budget_j is None or not self.reads:
            return False
        return self.energy_j + self._ahead * self._next_step_j() > self.budget_j

    def _next_step_j(self) -> float:
        """The first steps may take a hundred times what the others do: the next one is not judged by them."""
        if self._cold is not None and self.last_step > self._cold[0]:
            return self.measured_step_j or 0.0
        return self._step_j * self.devices if self.has_prediction else 0.0

    def figures(self) -> dict[str, float]:
        """For a logger: those that are known by now."""
        known = {
            "energy_j": self.energy_j,
            "predicted_total_j": self.predicted_total_j,
            "factor": self.factor,
            "remaining_j": self.remaining_j,
            "expected_total_j": self.expected_total_j,
            "budget_left_j": None if self.budget_j is None else self.budget_j - self.energy_j,
        }
        return {f"ampere/{name}": value for name, value in known.items() if value is not None} if self.reads else {}

    def summary(self) -> str:
        """One line, after the end."""
        whose = f", this node of {self.nodes}" if self.nodes > 1 else ""
        modelled = "modelled, " if self.modelled else ""
        of = f" of {self.total_steps - self.first_step}" if self.total_steps is not None else ""
        words = [
            f"ampere: {quantity(self.energy_j, 'J')} ({modelled}{self.meter}{whose}) in {quantity(self.time_s, 's')} "
            f"for {self.steps}{of} steps"
        ]
        if self.has_prediction and self.steps:
            predicted_j = self._step_j * self.devices * self.steps
            words.append(
                f"predicted {quantity(predicted_j, 'J')} for them, measured is {self.energy_j / predicted_j:.2f} of it"
            )
        if self.budget_j is not None:
            kept = "kept" if self.energy_j <= self.budget_j else "exceeded"
            words.append(f"budget of {quantity(self.budget_j, 'J')} {kept}" + (", stopped for it" * self.stopped))
        return "; ".join(words)

    def _times_steps(self, step_j: float) -> float | None:
        if self.total_steps is None:
            return None
        return step_j * self.devices * (self.total_steps - self.first_step)
