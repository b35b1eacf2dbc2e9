"""Joules and seconds of a client's round, by what AMPERE's store knows of its kind of device."""

from __future__ import annotations

import time
from typing import Any, Protocol

from .. import _core
from .report import Report

RETRY_S = 60.0  # a device may be profiled meanwhile, and a store that was away come back


class Costs(Protocol):
    def __call__(self, report: Report) -> _core.JobCost:
        """Of one round of this client. Raises an ampere.Error where nobody can tell."""


class StoredCosts:
    """Asks the store; each kind of device once.

    model    an ampere.Model, trained at `batch` with `recipe`; or an nn.Module with `inputs`, a batch as it is called
             with, and the `options` of ampere.estimate(), such as optimizer="adam"
    epochs   that a client trains in a round
    store    where profiles are: a file or an address; the usual one unless given
    """

    def __init__(
        self,
        model: Any,
        inputs: Any = None,
        *,
        batch: int = 1,
        recipe: _core.Recipe | None = None,
        epochs: int = 1,
        store: str = "",
        **options: Any,
    ) -> None:
        self.model, self.inputs, self.batch, self.recipe = model, inputs, batch, recipe
        self.epochs, self.store, self.options = epochs, store, options
        self.estimates: dict[str, _core.Estimate] = {}
        self.failed: dict[str, tuple[float, _core.Error]] = {}  # when

    def __call__(self, report: Report) -> _core.JobCost:
        return _core.job_cost(
            self.estimate(report.device), _core.iterations_of(report.samples, self.batch, self.epochs)
        )

    def estimate(self, device: str) -> _core.Estimate:
        """Of one step on the kind of device with this id."""
        if device in self.estimates:
            return self.estimates[device]
        if device in self.failed and time.monotonic() < self.failed[device][0] + RETRY_S:
            raise self.failed[device][1]  # a fleet has many clients of one kind
        try:
            self.estimates[device] = self.asked(device)
        except _core.Error as e:
            self.failed[device] = time.monotonic(), e
            raise
        return self.estimates[device]

    def asked(self, device: str) -> _core.Estimate:
        if not device:
            raise _core.BadInputError("the client did not say which device it is")
        with _core.Device.stored(self.store, device) as there:
            if isinstance(self.model, _core.Model):
                return _core.estimate(there, self.model, self.batch, self.recipe, **self.options)
            from ..estimating import estimate

            prediction = estimate(self.model, self.inputs, device=there, **self.options)
            self.batch = prediction.batch
            found: _core.Estimate = prediction.estimate
            return found
