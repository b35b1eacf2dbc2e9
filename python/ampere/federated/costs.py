"""Joules and seconds of a client's round, by what AMPERE's store knows of its kind of device."""

from __future__ import annotations

import time
from typing import Any, Protocol

from .. import _core
from .reasons import described, in_one_line, profile_command, relatives
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
    store    where profiles are; the usual one unless given. A file: an address of a PostgreSQL server is refused with
             BadInputError by the package as pip builds it, without libpqxx. `ampere store merge ADDRESS --store FILE`,
             by cron, say, brings the server's profiles into a file; new ones are seen without a restart
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
        step = self.estimate(report.device, report.fingerprint)
        return _core.job_cost(step, _core.iterations_of(report.samples, self.batch, self.epochs))

    def estimate(self, device: str, fingerprint: str = "") -> _core.Estimate:
        """Of one step on the kind of device with this id; `fingerprint` tells what it is where the store cannot."""
        if device in self.estimates:
            return self.estimates[device]
        if device in self.failed and time.monotonic() < self.failed[device][0] + RETRY_S:
            raise self.failed[device][1]  # a fleet has many clients of one kind
        try:
            self.estimates[device] = self.asked(device, fingerprint)
        except _core.Error as e:
            self.failed[device] = time.monotonic(), e
            raise
        return self.estimates[device]

    def asked(self, device: str, fingerprint: str) -> _core.Estimate:
        if not device:
            raise _core.BadInputError("the client did not say which device it is")
        with self.stored(device, fingerprint) as there:
            try:
                return self.estimate_on(there)
            except _core.NotProfiledError as e:
                told = f"{described(there.id, there.fingerprint)}: {in_one_line(str(e))}"
                raise _core.NotProfiledError(f"{told}; {self.remedy(there.fingerprint)}") from e

    def estimate_on(self, there: _core.Device) -> _core.Estimate:
        if isinstance(self.model, _core.Model):
            return _core.estimate(there, self.model, self.batch, self.recipe, **self.options)
        from ..estimating import estimate

        prediction = estimate(self.model, self.inputs, device=there, **self.options)
        self.batch = prediction.batch
        found: _core.Estimate = prediction.estimate
        return found

    def stored(self, device: str, fingerprint: str) -> _core.Device:
        try:
            return _core.Device.stored(self.store, device)
        except _core.BadInputError as e:
            if any(info.id.startswith(device) for info in _core.stored_devices(self.store)):
                raise  # it is there, and cannot be read
            told = f"{self.store or 'the store'} has no profile of {described(device, fingerprint)}"
            if others := relatives(self.store, fingerprint):
                told += f", only of the same hardware as {'; '.join(others)}"
            raise _core.NotProfiledError(in_one_line(f"{told}; {self.remedy(fingerprint)}")) from e

    def remedy(self, fingerprint: str) -> str:
        if isinstance(self.model, _core.Model):
            command = profile_command(self.model, self.batch, self.recipe, fingerprint)
            return f"on such a device, into this store: {command}"
        return "on such a device, into this store: ampere.profile(model=..., inputs=...), with the same options"
