"""`ampere.prune`: fewer channels for a user's model, so that training it keeps to a budget of energy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _core
from .estimating import device_type, open_device, require_torch, unmeasured_note
from .pruned import Pruning
from .recipes import optimizer_words, precision_words, recipe_of_ops
from .translating import Translated, channels_by_module, translated
from .wording import in_python

if TYPE_CHECKING:
    import torch

# What the library's search takes besides, by the same names.
SEARCH = {"risk", "rank", "multiple_of", "min_channels", "min_share", "search", "candidates", "seed"}
CHECKS = {"checks", "on_check"}
Scores = Mapping[str, float | Sequence[float]]


@overload
def prune(model: _core.Device, inputs: _core.Model, budget: str = ..., *args: Any, **library: Any) -> _core.Pruned: ...
@overload
def prune(
    model: torch.nn.Module | _core.Model,
    inputs: Any = ...,
    budget: str = ...,
    *,
    by: str = ...,
    device: Any = ...,
    optimizer: Any = ...,
    precision: str = ...,
    keep: Iterable[str] = ...,
    scores: Scores | None = ...,
    batch: int | None = ...,
    batch_axis: int = ...,
    samples: int = ...,
    epochs: int = ...,
    mode: str = ...,
    profiling: Mapping[str, Any] | None = ...,
    exact: bool = ...,
    ignore_unsupported: bool = ...,
    store: str = ...,
    worker: str = ...,
    meter: str = ...,
    on_step: Callable[[_core.Step], object] | None = ...,
    **options: Any,
) -> Pruning: ...
def prune(model: Any, inputs: Any = None, budget: str = "50%", *args: Any, **options: Any) -> Any:
    """Fewer channels for this model, so that a step of training it keeps to a budget: a number for each of its modules.

    The model is neither changed nor trained. Its kinds of layers are measured first where the device's store does not
    know them over channels yet, which takes minutes on the first time; `exact=False` goes by what it knows.

    model      an nn.Module on any device, the meta device included; or an ampere.Model, with `batch`
    inputs     what it is called with: a tensor, a tuple, or a dict of named arguments; only sizes count
    budget     "50%" of what a step takes now, "40J/iter", or "2kWh/job", which takes `samples` of an epoch and `epochs`
    by         "energy"; or "flops", a share of floating-point operations, which needs no device
    device     "cuda", "cpu", or a Device; without one, an accelerator where there is one
    optimizer, precision   as for estimate()
    keep       modules whose channels stay; all that is in one of them does
    scores     what channels are worth, by module: one number, or one for each channel; the best score is searched for
    batch_axis where the batch stands in the inputs
    risk       0.05: the budget holds with a probability of 95% by the estimate's interval; without it, on average
    multiple_of, min_channels, min_share   which numbers a layer may have
    checks     above 0: the choice is trained beside the model, at most so often, and chosen again where it was off
    profiling  what the library's profile() takes, such as {"points_2d": 8}
    exact      False: nothing is measured first; layers that nobody measured are told by all else that was measured on
               the device, as ampere.profile(device, minutes=5) does, and the interval is wider for it
    ignore_unsupported   go on without ops that have no channels to follow
    store, worker, meter, on_step   as for estimate()
    search, rank, candidates, seed, mode   docs/pruning.md

    With a Device first it is the library's own function: prune(device, model, budget, batch, recipe, ...).
    """
    if isinstance(model, _core.Device):
        return _core.prune(model, inputs, budget, *args, **options)
    if args:
        raise TypeError("prune() takes the model, its inputs and a budget; all else goes by name: device=, optimizer=")
    return with_advice(lambda: prune_model(model, inputs, budget, **options))


def prune_model(
    model: Any,
    inputs: Any,
    budget: str,
    by: str = "energy",
    device: Any = None,
    optimizer: Any = "sgd",
    precision: str = "default",
    keep: Iterable[str] = (),
    scores: Scores | None = None,
    batch: int | None = None,
    batch_axis: int = 0,
    samples: int = 0,
    epochs: int = 1,
    mode: str = "eager",
    profiling: Mapping[str, Any] | None = None,
    exact: bool = True,
    ignore_unsupported: bool = False,
    store: str = "",
    worker: str = "",
    meter: str = "",
    on_step: Callable[[_core.Step], object] | None = None,
    **options: Any,
) -> Pruning:
    if unknown := set(options) - SEARCH - CHECKS:
        raise TypeError(f"prune() does not know {', '.join(sorted(unknown))}")
    if by not in ("energy", "flops"):
        raise ValueError(f'by is "energy" or "flops", not "{by}"')
    there = network_of(model, inputs, batch, batch_axis, ignore_unsupported)
    wanted = there.under([keep] if isinstance(keep, str) else keep)
    options["keep"] = list(dict.fromkeys([*wanted, *there.fixed]))
    if scores is not None:
        options["scores"] = scores_of(there, scores)
        options.setdefault("rank", "score")
    if by == "flops":
        if refused := CHECKS.intersection(options):
            raise TypeError(f"{', '.join(sorted(refused))} goes with by=\"energy\": there is nothing to train")
        found = _core.prune_by_flops(there.network, budget, there.batch, **options)
        return result(there, budget, found, "", "")
    where = device_type(device)
    recipe, notes = recipe_of_ops(optimizer, precision, where)
    on = device if isinstance(device, _core.Device) else open_device(where, store, worker, meter)
    if exact and on.can_measure:
        notes += measured(on, there, recipe, on_step, profiling)
    if samples:
        options["job_iterations"] = _core.iterations_of(samples, there.batch, epochs)
    found = _core.prune(on, there.network, budget, there.batch, recipe, mode=mode, **options)
    words = ", ".join([precision_words(precision, where), optimizer_words(optimizer)])
    if found.before is not None:
        notes += unmeasured_note(found.before, on)
    return result(there, budget, found, f"{on.name} ({on.meter})", words, [*notes, *map(in_python, on.notes)])


def network_of(model: Any, inputs: Any, batch: int | None, batch_axis: int, ignore_unsupported: bool) -> Translated:
    if isinstance(model, _core.Model):
        if inputs is not None:
            raise TypeError("an ampere.Model has no inputs; say batch=")
        return Translated(model, 1 if batch is None else batch, {}, {}, [in_python(note) for note in model.notes])
    torch = require_torch()
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"prune() takes an nn.Module or an ampere.Model, not {type(model).__name__}")
    if inputs is None:
        raise TypeError("prune() needs inputs: a batch as the model is called with")
    there = translated(model, inputs, batch_axis, ignore_unsupported)
    if batch is not None:
        there.batch = batch
    return there


def scores_of(there: Translated, scores: Scores) -> dict[str, list[float]]:
    """The library goes by nodes, of which a module with channels that may change has one."""
    given: dict[str, list[float]] = {}
    for name, worth in scores.items():
        for node in there.under([name]):
            if there.module_of(node) == name:
                values = [float(worth)] if isinstance(worth, (int, float)) else [float(w) for w in worth]
                if not all(map(math.isfinite, values)):
                    raise ValueError(f'scores of "{name}": they must be finite numbers')
                given[node] = values
    return given


def measured(
    on: _core.Device,
    there: Translated,
    recipe: _core.Recipe,
    on_step: Callable[[_core.Step], object] | None,
    profiling: Mapping[str, Any] | None = None,
) -> list[str]:
    """Measures what the store does not know of these layers yet; and says so."""
    done = _core.profile(on, there.network, there.batch, recipe, on_step=on_step, **(profiling or {}))
    points = sum(method.summary.measured for method in done.methods)
    if not points:
        return []
    kinds = sum(bool(s.measured) for method in done.methods for s in method.summary.surfaces)
    seconds = sum(method.summary.seconds for method in done.methods)
    return [
        f"measured {points} points of {kinds} kinds of layers first, in {seconds:.0f} s; they are kept in {on.store}"
    ]


def result(
    there: Translated, budget: str, found: _core.Pruned, device: str, words: str, notes: Iterable[str] = ()
) -> Pruning:
    told = list(there.notes)
    for why in dict.fromkeys(there.fixed.values()):
        told.append(f"channels stay where {why}")
    modules = channels_by_module(there.network, found.model, there.modules)
    tied = [names for g in found.groups if len(names := list(dict.fromkeys(map(there.module_of, g.nodes)))) > 1]
    kept = {there.module_of(g.name): list(g.kept) for g in found.groups if g.kept}
    return Pruning(there.network.name, device, words, there.batch, budget, found, modules, tied, kept, [*told, *notes])


def with_advice(work: Callable[[], Pruning]) -> Pruning:
    try:
        return work()
    except _core.NotProfiledError as e:
        raise _core.NotProfiledError(
            f"{e}\nfrom Python: ampere.profile(device, model, inputs), where the device is"
        ) from e
