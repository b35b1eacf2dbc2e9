"""How many joules will it take to train this network on this device?

Everything is looked up when it is first used, so that importing this package imports neither PyTorch nor anything else
that is large.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import (  # what errors are called must be known where they are caught
    BadInputError,
    Error,
    FailedError,
    ForwardFailedError,
    NoMeterError,
    NotProfiledError,
    OutOfMemoryError,
    OverBudgetError,
    UnstableError,
    WorkerError,
    version,
)

from . import wording as _wording  # and what they say

if TYPE_CHECKING:
    from ._core import (
        Device,
        Estimate,
        Interval,
        Meter,
        Model,
        Recipe,
        Step,
        TrainingSetting,
        TrainingSetup,
        iterations_of,
        known_models,
        meters,
        report,
        schedule,
        schedule_jobs_file,
        stored_devices,
    )
    from .estimating import compare, estimate
    from .hugging_face import Callback as Callback
    from .lightning_callback import LightningCallback as LightningCallback
    from .monitor import Monitor, Window
    from .prediction import Job, ModuleCost, Prediction
    from .profiled import Profile
    from .profiling import profile
    from .pruned import Pruning
    from .pruning import prune
    from .room import memory
    from .translating import ModuleChannels
    from .tuned import Tuning
    from .tuning import tune

__version__ = version()

# Which module a name comes from.
_LAZY = {
    "Callback": "hugging_face",
    "Device": "_core",
    "Estimate": "_core",
    "Interval": "_core",
    "LightningCallback": "lightning_callback",
    "Meter": "_core",
    "Model": "_core",
    "Monitor": "monitor",
    "Recipe": "_core",
    "Step": "_core",
    "TrainingSetting": "_core",
    "TrainingSetup": "_core",
    "Tuning": "tuned",
    "Window": "monitor",
    "Job": "prediction",
    "ModuleChannels": "translating",
    "ModuleCost": "prediction",
    "Prediction": "prediction",
    "Profile": "profiled",
    "Pruning": "pruned",
    "compare": "estimating",
    "estimate": "estimating",
    "iterations_of": "_core",
    "known_models": "_core",
    "memory": "room",
    "meters": "_core",
    "profile": "profiling",
    "prune": "pruning",
    "report": "_core",
    "schedule": "_core",
    "schedule_jobs_file": "_core",
    "stored_devices": "_core",
    "tune": "tuning",
}

# Without the callbacks: whoever imports all of this need not have the trainers that they are for.
__all__ = [
    "BadInputError",
    "Error",
    "FailedError",
    "ForwardFailedError",
    "NoMeterError",
    "NotProfiledError",
    "OutOfMemoryError",
    "OverBudgetError",
    "UnstableError",
    "WorkerError",
    "version",
    "Device",
    "Estimate",
    "Interval",
    "Meter",
    "Model",
    "Monitor",
    "Recipe",
    "Step",
    "TrainingSetting",
    "TrainingSetup",
    "Tuning",
    "Window",
    "Job",
    "ModuleChannels",
    "ModuleCost",
    "Prediction",
    "Profile",
    "Pruning",
    "compare",
    "estimate",
    "iterations_of",
    "known_models",
    "memory",
    "meters",
    "profile",
    "prune",
    "report",
    "schedule",
    "schedule_jobs_file",
    "stored_devices",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value  # found at once from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
