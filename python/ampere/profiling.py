"""`ampere.profile`: measures on a device what estimates and pruning will ask for, so that later they only read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, overload

from . import _core
from .estimating import captured_estimate, captured_network, device_type, open_device, require_torch
from .profiled import Profile, known_of
from .recipes import precision_words, recipe_of_ops
from .translating import translated
from .wording import in_python

if TYPE_CHECKING:
    import torch

# Small networks that are trained in moments and share their kinds of layers with many others.
STANDARD = ("lenet5", "cnn5")
MOST_MINUTES = 600
OnStep = Callable[[_core.Step], object] | None


@overload
def profile(
    device: _core.Device, model: _core.Model, inputs: int = ..., *args: Any, **library: Any
) -> _core.ProfilingSummary: ...
@overload
def profile(
    device: Any = ...,
    model: torch.nn.Module | _core.Model | str | Iterable[str] | None = ...,
    inputs: Any = ...,
    *,
    channels: bool = ...,
    loss: Callable[[Any], torch.Tensor] | None = ...,
    optimizer: Any = ...,
    precision: str = ...,
    accumulate: int = ...,
    clip: float | None = ...,
    step: Callable[..., None] | None = ...,
    batch: int = ...,
    batch_axis: int = ...,
    mode: str = ...,
    store: str = ...,
    worker: str = ...,
    meter: str = ...,
    on_step: OnStep = ...,
    minutes: float | None = ...,
    source: str = ...,
    **library: Any,
) -> Profile: ...
def profile(device: Any = None, model: Any = None, inputs: Any = None, *args: Any, **options: Any) -> Any:
    """Measures what is not in the device's store yet, and tells what the store knows.

    device     "cuda", "cpu" or a Device; without one, an accelerator where there is one
    model      nothing: the device is opened, and measured for any network with `minutes`, else for none;
               an nn.Module, with `inputs`: the parts of its step, as estimate() asks for them, and its kinds of layers
               over channels, as prune() does;
               an ampere.Model, a name such as "lenet5", or several: kinds of layers over channels, at `batch`;
               "standard": a few small networks of the zoo
    minutes    without a model: training steps of a population of networks are timed call by call for so long, and
               parts of them measured, after which estimate() knows networks that nobody has measured; more minutes
               go on with other networks. Once for each precision.
    source     with minutes: the store of another card of this name, or of this one under other software, or the id of
               such a device in this store; what was measured there counts here, too, and a third of a minute tells
               how this one differs
    channels   False: only the parts of the step, each once, which takes seconds and is enough for estimate()
    loss, optimizer, precision, accumulate, clip, step, mode, store, worker, meter, on_step   as for estimate()
    batch_axis where the batch stands in the inputs
    points_1d, points_2d, whole_networks, budget_s, ...   of the library's profile()

    Each point is kept at once, so a run that was stopped goes on where it was. With a Device and an ampere.Model it is
    the library's own function: profile(device, model, batch, recipe, ...).
    """
    if isinstance(device, _core.Device) and isinstance(model, _core.Model):
        return _core.profile(device, model, *([] if inputs is None else [inputs]), *args, **options)
    if args:
        raise TypeError("profile() takes a device, a model and its inputs; all else goes by name: batch=, optimizer=")
    return profile_of(device, model, inputs, **options)


def profile_of(
    device: Any,
    model: Any,
    inputs: Any,
    channels: bool = True,
    loss: Any = None,
    optimizer: Any = "sgd",
    precision: str = "default",
    accumulate: int = 1,
    clip: float | None = None,
    step: Any = None,
    batch: int = 32,
    batch_axis: int = 0,
    mode: str = "eager",
    store: str = "",
    worker: str = "",
    meter: str = "",
    on_step: OnStep = None,
    minutes: float | None = None,
    source: str = "",
    **library: Any,
) -> Profile:
    if source and minutes is None:
        raise TypeError("profile() takes a source with minutes: how long the two are compared, a third of a minute, say")
    where = device_type(device)
    if minutes is not None:
        if model is not None:
            raise TypeError(
                "profile() takes minutes for a device, without a model: a model's own parts take what they take"
            )
        if isinstance(minutes, bool) or not isinstance(minutes, (int, float)) or not 0 < minutes <= MOST_MINUTES:
            raise ValueError(f"minutes must be a number, more than 0 and at most {MOST_MINUTES}, not {minutes!r}")
        precision_words(precision, where)
    there = device if isinstance(device, _core.Device) else open_device(where, store, worker, meter)
    done = Profile(there.name, there.id, there.meter, there.energy_modelled, there.store)
    done.notes += map(in_python, there.notes)
    if model is None:
        if inputs is not None or library:
            raise TypeError(
                "profile() was given " + ("inputs" if inputs is not None else ", ".join(library)) + " but no model"
            )
        if minutes is None:
            return known_of(done, there)
    elif minutes is not None:
        raise TypeError(
            "profile() takes minutes for a device, without a model: a model's own parts take what they take"
        )
    if not there.can_measure:
        raise _core.BadInputError(
            f"{there.name} is known from a store alone; profiling takes the device itself: run this where it is, "
            'or say worker="ssh there python -m ampere.worker"'
        )
    if minutes is not None:
        relative = ""
        if source:
            taken = _core.learn_from(there, source)
            whose = "another card of this name" if taken.sister else "this hardware under other software"
            done.notes.append(f"{taken.points} points of {whose} count here, too")
            relative = taken.device
        from .curriculum import measure_device

        measure_device(there, where, precision, minutes, done, on_step, relative)
        return known_of(done, there)
    if is_module(model):
        if inputs is None and step is None:
            raise TypeError("profile() needs inputs: a batch as the model is called with")
        captured = captured_network(model, inputs, loss, optimizer, precision, device or where, accumulate, clip, step)
        done.took_parts(captured_estimate(there, captured, mode, on_step).probed)
        done.notes += captured.notes()
        if not channels:
            return known_of(done, there)
        try:  # a model that cannot be pruned can be estimated all the same
            asked = translated(model, inputs, batch_axis)
            networks = [(asked.network, asked.batch)]
            recipe, notes = recipe_of_ops(optimizer, precision, where)
        except ValueError as e:
            done.notes.append(f"measured for estimates and not for pruning: {' '.join(str(e).split())}")
            return known_of(done, there)
    else:
        networks = [(network, batch) for network in named(model)]
        recipe, notes = recipe_of_ops(optimizer, precision, where)
    done.notes += notes
    for network, samples in networks:
        done.took_kinds(_core.profile(there, network, samples, recipe, on_step=on_step, **library))
    return known_of(done, there)


def is_module(model: Any) -> bool:
    if isinstance(model, (str, _core.Model, list, tuple)):
        return False
    if isinstance(model, require_torch().nn.Module):
        return True
    raise TypeError(f"profile() takes an nn.Module, an ampere.Model or names, not {type(model).__name__}")


def named(model: Any) -> list[_core.Model]:
    several = STANDARD if model == "standard" else [model] if isinstance(model, (str, _core.Model)) else model
    return [one if isinstance(one, _core.Model) else _core.Model.load(one) for one in several]
