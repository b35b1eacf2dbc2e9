"""
AMPERE's C++ library. Names, defaults and meaning are those of its headers.
"""

from collections.abc import Callable, Mapping, Sequence
import os



class Error(Exception):
    """What the library raises. `kind` is one word, `exit_code` what a program should end with."""

    kind: str
    exit_code: int

class FailedError(Error):
    """Anything without a class of its own."""

    kind: str
    exit_code: int

class BadInputError(Error, ValueError):
    """Wrong usage, a malformed file, an impossible shape. Also a ValueError."""

    kind: str
    exit_code: int

class NoMeterError(Error):
    """No energy meter can be used here."""

    kind: str
    exit_code: int

class OverBudgetError(Error):
    """The job does not fit the energy it was given."""

    kind: str
    exit_code: int

class UnstableError(Error):
    """The measurement never settled."""

    kind: str
    exit_code: int

class NotProfiledError(Error):
    """Nobody has measured these kinds of layers on this device yet."""

    kind: str
    exit_code: int

class WorkerError(Error):
    """The worker died, hung or answered nonsense."""

    kind: str
    exit_code: int

class OutOfMemoryError(Error):
    """The network does not fit the device's memory."""

    kind: str
    exit_code: int

class ForwardFailedError(Error):
    """A TorchScript file's forward pass failed with these inputs."""

    kind: str
    exit_code: int

def version() -> str:
    """Of the library in this package."""

class Recipe:
    """How a network is trained: what changes the cost of the same layer."""

    def __init__(self, *, optimizer: str = 'sgd', precision: str = 'default', autotune: bool = False, deterministic: bool = False, threads: int = 1, seed: int = 1) -> None: ...

    @property
    def optimizer(self) -> str:
        """"sgd", "momentum", "adam\""""

    @optimizer.setter
    def optimizer(self, arg: str, /) -> None: ...

    @property
    def precision(self) -> str:
        """"default" (as PyTorch comes), "fp32" (strict), "tf32", "bf16\""""

    @precision.setter
    def precision(self, arg: str, /) -> None: ...

    @property
    def autotune(self) -> bool:
        """let the framework time its kernels and keep the fastest"""

    @autotune.setter
    def autotune(self, arg: bool, /) -> None: ...

    @property
    def deterministic(self) -> bool: ...

    @deterministic.setter
    def deterministic(self, arg: bool, /) -> None: ...

    @property
    def threads(self) -> int:
        """CPU threads"""

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

    @property
    def seed(self) -> int:
        """of weights and data; not part of the key"""

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    def word(self) -> str:
        """One readable word: "sgd-default-t1"."""

    def __repr__(self) -> str: ...

class TrainingSetup:
    """What is trained besides the network: all else that decides its cost."""

    def __init__(self, batch: int = 1, recipe: Recipe | None = None) -> None: ...

    @property
    def batch(self) -> int:
        """samples per iteration"""

    @batch.setter
    def batch(self, arg: int, /) -> None: ...

    @property
    def recipe(self) -> Recipe: ...

    @recipe.setter
    def recipe(self, arg: Recipe, /) -> None: ...

    def __repr__(self) -> str: ...

class Channels:
    """
    How many channels (features of linear layers) a layer reads and puts out.
    """

    @property
    def in_channels(self) -> int: ...

    @property
    def out_channels(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class ModelLayer:
    """An op with weights, together with the ops without weights behind it."""

    @property
    def name(self) -> str:
        """of its first op in the network"""

    @property
    def role(self) -> str:
        """"input", "hidden", "output", "only\""""

    @property
    def kind(self) -> str:
        """layers of one kind differ in channels only: "conv3x3p1-relu@28x28b10\""""

    @property
    def channels(self) -> Channels: ...

    @property
    def flops(self) -> float:
        """per training iteration: forward, backward and update"""

    @property
    def parameters(self) -> float:
        """trained weights"""

    def __repr__(self) -> str: ...

class KnownModel:
    """A network of the zoo."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

class Model:
    """
    A network whose training is to be estimated. Immutable; weights are no part of it.
    """

    @staticmethod
    def load(model: str | os.PathLike[str], *, inputs: Sequence[str] = [], batch: int = 1, worker: str = '', dims: Mapping[str, int] = {}, restore_batchnorm: bool = False, ignore_unsupported: bool = False) -> Model:
        """
        A network of the zoo by name ("lenet5", "resnet18:w1=32"), or the path of a network file (.json), an ONNX file (.onnx) or a TorchScript file (.pt, .pth), which a worker runs once.
        """

    @staticmethod
    def from_json(json: str) -> Model:
        """The text of a network file."""

    @staticmethod
    def from_trace(json: str, *, ignore_unsupported: bool = False) -> Model:
        """
        What one forward pass did, as a worker's `trace` tells it (docs/protocol.md).
        """

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> list[str]:
        """what a user should know about how it was imported; mostly empty"""

    @property
    def exported_batch(self) -> int | None:
        """the batch that an ONNX file fixes, or None"""

    @property
    def parameters(self) -> float:
        """trained weights"""

    def flops(self, batch: int) -> float:
        """Floating-point operations of one training iteration."""

    def layers(self, batch: int) -> list[ModelLayer]:
        """In the order of the network."""

    def to_json(self) -> str:
        """A network file's text; from_json() gives the same network back."""

    def save(self, path: str | os.PathLike[str]) -> None: ...

    def __repr__(self) -> str: ...

def known_models() -> list[KnownModel]:
    """The networks of the zoo."""

class Step:
    """How far long work is; what on_step is called with."""

    @property
    def task(self) -> str:
        """"profiling split", "training\""""

    @property
    def done(self) -> int: ...

    @property
    def of(self) -> int: ...

    @property
    def seconds_left(self) -> float | None:
        """None: the pace so far tells"""

    @property
    def what(self) -> str:
        """what is being worked on"""

    def __repr__(self) -> str: ...

class Device:
    """
    A device that networks are trained on, and what was measured there. Threads take turns.
    """

    @staticmethod
    def open(store: str | os.PathLike[str] = '', worker: str = '', meter: str = '') -> Device:
        """
        Starts the worker, which ends with the device; can measure. Empty: $AMPERE_STORE, else profiles.db under the XDG data directory; $AMPERE_WORKER, else ampere-worker; the worker's default meter.
        """

    @staticmethod
    def stored(store: str | os.PathLike[str] = '', id: str = '') -> Device:
        """
        From a store alone; can estimate, not measure. `id` is that of a device in it, or how it starts; empty: the one used last.
        """

    @staticmethod
    def from_sheet(sheet: str | os.PathLike[str]) -> Device:
        """
        From what its vendor publishes alone: a name such as "h100", or the path of a JSON file. Estimates are wide; `notes` says so.
        """

    @property
    def name(self) -> str:
        """"NVIDIA H200\""""

    @property
    def id(self) -> str:
        """16 hex digits"""

    @property
    def meter(self) -> str:
        """"nvml\""""

    @property
    def fingerprint(self) -> str:
        """all that the id stands for, as JSON"""

    @property
    def store(self) -> str:
        """path of the store"""

    @property
    def can_measure(self) -> bool: ...

    @property
    def energy_modelled(self) -> bool | None:
        """
        whether energies are modelled and not measured; None: none was taken yet
        """

    @property
    def notes(self) -> list[str]:
        """what a user should know"""

    def close(self) -> None:
        """Ends the worker. Closing again does nothing."""

    def __enter__(self) -> Device: ...

    def __exit__(self, *args: object) -> None: ...

    def __repr__(self) -> str: ...

class DeviceInfo:
    """A device of a store."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def meter(self) -> str: ...

    @property
    def last_used(self) -> str:
        """UTC, ISO 8601"""

    def __repr__(self) -> str: ...

def stored_devices(store: str | os.PathLike[str] = '') -> list[DeviceInfo]:
    """The devices of a store, the one used last first."""

class SurfaceSummary:
    """What was measured of one kind of layer."""

    @property
    def key(self) -> str:
        """names the kind of layer"""

    @property
    def measured(self) -> int:
        """points, in this run"""

    @property
    def reused(self) -> int:
        """found in the store"""

    @property
    def refused(self) -> int:
        """did not fit the device's memory, or killed the worker"""

    @property
    def why(self) -> str:
        """
        why it needs no further points: "point limit", "certain", "nothing left\"
        """

    @property
    def deviation(self) -> float:
        """largest standard deviation over mean that is left"""

class ProfileSummary:
    @property
    def surfaces(self) -> list[SurfaceSummary]: ...

    @property
    def measured(self) -> int: ...

    @property
    def reused(self) -> int: ...

    @property
    def unstable(self) -> int:
        """points that never met the target error"""

    @property
    def seconds(self) -> float:
        """all in all"""

    @property
    def fitting_seconds(self) -> float: ...

class MethodProfile:
    @property
    def method(self) -> str: ...

    @property
    def summary(self) -> ProfileSummary: ...

    @property
    def all_seconds(self) -> float:
        """with earlier runs, as the store remembers them"""

    @property
    def all_fitting_seconds(self) -> float: ...

    @property
    def all_points(self) -> int: ...

class Refinement:
    """How near profiling came to its target."""

    @property
    def half_width(self) -> float:
        """of the 95% interval of the energy, over the energy"""

    @property
    def reached(self) -> bool: ...

    @property
    def measured(self) -> int:
        """layers, in this run"""

    @property
    def seconds(self) -> float: ...

class ProbeSummary:
    """Layers measured at a network's own channels."""

    @property
    def layers(self) -> int:
        """distinct layers of the network"""

    @property
    def measured(self) -> int:
        """of them, now"""

    @property
    def known(self) -> int:
        """of them, measured before at these very channels"""

    @property
    def seconds(self) -> float: ...

class ProfilingSummary:
    """What a profiling run did and why it ended."""

    @property
    def methods(self) -> list[MethodProfile]:
        """empty with `exact`"""

    @property
    def refinement(self) -> Refinement | None:
        """with `target`"""

    @property
    def exact(self) -> ProbeSummary | None:
        """with `exact`"""

def profile(device: Device, model: Model, batch: int = 1, recipe: Recipe | None = None, *, methods: Sequence[str] = ['split'], target: float = 0.0, exact: bool = False, points_1d: int = 0, points_2d: int = 0, energy_points_1d: int = 0, energy_points_2d: int = 0, target_deviation: float = 0.0, guide: str = 'time', whole_networks: int = 6, budget_s: float = 0.8, target_error: float = 0.0, on_step: Callable[[Step], object] | None = None) -> ProfilingSummary:
    """
    Measures what is not in the store yet, point by point; each is kept at once, so a run that was stopped goes on where it was. `target` 0.05: until the energy of this network is known to 5%. `exact`: only its own layers, once each. 0 of the others: what suits the device.
    """

class RelativeSummary:
    """What was taken from a relative of a device."""

    @property
    def device(self) -> str:
        """as it is called in the store from now on"""

    @property
    def sister(self) -> bool:
        """another card of the name, under the same software"""

    @property
    def points(self) -> int:
        """that count for the device, too"""

def learn_from(device: Device, source: str) -> RelativeSummary:
    """
    Lets what was measured on a relative of the device count for it: another card of the name, or the same hardware under other software. `source`: the path of a store, or the id of a device in this one.
    """

def time_calls(device: Device, step: Model, kinds: Model, calls: Sequence[tuple[int, Sequence[int]]], batch: int, recipe: Recipe | None) -> int:
    """
    Runs a whole captured step and keeps what its calls take within it. `calls`: for each that is meant its kind, a place in `kinds`, and its numbers among the step's calls. How many kinds are known by it.
    """

def parts_to_measure(device: Device, candidates: Model, batch: int, recipe: Recipe | None, population: Sequence[Sequence[tuple[int, float]]], most: int) -> list[int]:
    """
    An order of captured parts that are not measured yet: those first that make networks like those of the population known soonest. Networks are lists of parts, by their places, and how often each has them.
    """

class Interval:
    """
    An expected value and the bounds that hold it with 95% probability. Times a number of iterations it is that of all of them together.
    """

    def __init__(self, value: float, low: float, high: float) -> None: ...

    @property
    def value(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    def __mul__(self, arg: float, /) -> Interval: ...

    def __rmul__(self, arg: float, /) -> Interval: ...

    def __float__(self) -> float: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class LayerEstimate:
    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str:
        """"input", "hidden", "output", "only\""""

    @property
    def kind(self) -> str: ...

    @property
    def channels(self) -> Channels: ...

    @property
    def energy_j(self) -> Interval:
        """per iteration"""

    @property
    def time_s(self) -> Interval:
        """per iteration"""

    @property
    def extrapolated(self) -> bool:
        """outside the channels that were profiled"""

    @property
    def measured(self) -> bool:
        """false: told by what else was measured on the device"""

    def __repr__(self) -> str: ...

class Estimate:
    """What training will cost, with how sure that is."""

    @property
    def method(self) -> str: ...

    @property
    def energy_j(self) -> Interval:
        """per iteration"""

    @property
    def time_s(self) -> Interval:
        """per iteration"""

    @property
    def fixed_energy_j(self) -> float:
        """of an iteration without any layer, part of energy_j"""

    @property
    def fixed_time_s(self) -> float: ...

    @property
    def device_energy_j(self) -> float:
        """on two clocks: what the device itself does"""

    @property
    def device_time_s(self) -> float: ...

    @property
    def host_time_s(self) -> float:
        """what the host takes to issue it"""

    @property
    def idle_power_w(self) -> float:
        """what is drawn while waiting"""

    @property
    def regime(self) -> str:
        """"cpu", "device-bound", "host-bound\""""

    @property
    def unmeasured(self) -> float:
        """share of the energy of layers whose kind was never measured here"""

    @property
    def modelled(self) -> bool:
        """energies come from a model (CPU time times watts), not from a counter"""

    @property
    def composition_factor(self) -> float:
        """on energies, learned from whole networks; layers carry it already"""

    @property
    def composition_networks(self) -> int:
        """how many it was learned from"""

    @property
    def power_limit_w(self) -> float:
        """that it is told for; 0: as the device comes"""

    @property
    def clock_mhz(self) -> float:
        """that it is told for; 0: as the device comes"""

    @property
    def layers(self) -> list[LayerEstimate]: ...

    @property
    def probed(self) -> ProbeSummary | None:
        """what was measured for it, if that was asked for"""

    def __repr__(self) -> str: ...

def iterations_of(samples: int, batch: int, epochs: int) -> float:
    """
    Iterations of a job: whole batches, the last of an epoch may be smaller.
    """

def estimate(device: Device, model: Model, batch: int = 1, recipe: Recipe | None = None, *, method: str = 'split', mode: str = 'eager', probe: bool = False, exact: bool = False, power_limit_w: float = 0.0, clock_mhz: float = 0.0, on_step: Callable[[Step], object] | None = None) -> Estimate:
    """
    Energy and time of an iteration. Without `probe` it needs no worker and measures nothing. Raises NotProfiledError that lists every kind of layer that is missing.
    """

class MemoryEstimate:
    """
    Bytes that the framework's allocator hands out while a network is trained.
    """

    @property
    def peak_bytes(self) -> float:
        """the most at any moment of a step"""

    @property
    def weights_bytes(self) -> float: ...

    @property
    def gradients_bytes(self) -> float:
        """of the weights"""

    @property
    def optimizer_bytes(self) -> float:
        """what the optimizer keeps from step to step"""

    @property
    def data_bytes(self) -> float:
        """inputs, targets, running means"""

    @property
    def saved_bytes(self) -> float:
        """activations that the forward pass keeps for the backward pass"""

    @property
    def libraries_bytes(self) -> float:
        """what libraries of the device take for themselves"""

    @property
    def temporaries_bytes(self) -> float:
        """of the peak: what is needed at that moment only"""

    @property
    def rough(self) -> bool:
        """compiled: what a compiler keeps is guessed"""

    def __repr__(self) -> str: ...

def estimate_memory(model: Model, batch: int = 1, recipe: Recipe | None = None, *, type: str = 'cpu', framework: str = 'libtorch 1.13', name: str = '') -> MemoryEstimate:
    """
    How much memory training takes, on a device of this type ("cpu", "cuda"), framework and name; none is needed.
    """

def largest_batch(model: Model, bytes: float, batch: int = 1, recipe: Recipe | None = None, *, type: str = 'cpu', framework: str = 'libtorch 1.13', name: str = '', most: int = 1048576) -> int:
    """
    The largest batch whose peak is within so many bytes; 0: not even one sample fits. Of captured steps, whose batch is fixed, about.
    """

def device_memory_bytes(device: Device) -> float | None:
    """The memory of a device, where its worker told it; else None."""

def usable_memory_bytes(bytes: float, type: str = 'cpu') -> float:
    """Of a device's memory, what is left for networks."""

class Tariff:
    """What energy costs: money and greenhouse gases per kWh."""

    def __init__(self) -> None: ...

    @property
    def price_per_kwh(self) -> float | None:
        """None: not asked"""

    @property
    def currency(self) -> str:
        """as it was written; may be empty"""

    @property
    def carbon_g_per_kwh(self) -> float | None:
        """grams of CO2 equivalent; None: not asked"""

    @property
    def carbon_source(self) -> str:
        """"given", or the country and the year of the table"""

class Bill:
    """What an energy costs."""

    @property
    def energy_kwh(self) -> Interval: ...

    @property
    def cost(self) -> Interval | None:
        """in the tariff's currency"""

    @property
    def carbon_g(self) -> Interval | None:
        """grams of CO2 equivalent"""

def tariff_of(price: str = '', carbon: str = '') -> Tariff:
    """
    `price`: "0.30/kWh", "0.30EUR/kWh", "$120/MWh". `carbon`: "380g/kWh", or the two letters of a country ("FR"). Empty: not asked.
    """

def bill_of(tariff: Tariff, energy_j: Interval) -> Bill:
    """
    What an energy costs; the tariff counts as known, so the intervals are as wide as the energy's.
    """

class TrainingSetting:
    """One way to train a network, all else alike."""

    def __init__(self, batch: int = 1, recipe: Recipe | None = None, *, channels_last: bool = False, power_limit_w: float = 0.0, clock_mhz: float = 0.0) -> None: ...

    @property
    def batch(self) -> int: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def channels_last(self) -> bool: ...

    @property
    def power_limit_w(self) -> float:
        """0: as the device comes"""

    @property
    def clock_mhz(self) -> float:
        """0: as the device comes"""

class TuneCandidate:
    """
    One way to train on the device as it comes, and what an iteration takes so.
    """

    def __init__(self, setting: TrainingSetting, estimate: Estimate | None = None, why: str = '') -> None: ...

    @property
    def setting(self) -> TrainingSetting: ...

    @property
    def estimate(self) -> Estimate | None:
        """None: nothing tells it"""

    @property
    def why(self) -> str:
        """nothing does"""

class TuneOutcome:
    """The whole job under one setting."""

    @property
    def setting(self) -> TrainingSetting: ...

    @property
    def energy_j(self) -> Interval: ...

    @property
    def time_s(self) -> Interval: ...

    @property
    def cost(self) -> Interval | None:
        """of energy and hours, where there are prices"""

    @property
    def objective(self) -> float:
        """what is made small"""

    @property
    def on_front(self) -> bool:
        """no other setting needs both less energy and less time"""

    @property
    def allowed(self) -> bool:
        """keeps what was asked for"""

class TuneStep:
    """What one change is worth, against the outcome before it."""

    @property
    def change(self) -> str:
        """"bf16 instead of default", "300 W\""""

    @property
    def energy(self) -> Interval:
        """share saved; negative: it takes more"""

    @property
    def time(self) -> Interval:
        """share saved"""

class TuneAdvice:
    """What else the estimates say."""

    @property
    def what(self) -> str: ...

    @property
    def evidence(self) -> str:
        """the figures that it rests on"""

class Tuned:
    """The settings of a job, and the one that serves best."""

    @property
    def outcomes(self) -> list[TuneOutcome]:
        """every combination that could be told"""

    @property
    def candidates(self) -> list[TuneCandidate]:
        """what they were told from"""

    @property
    def present(self) -> int:
        """index into outcomes"""

    @property
    def best(self) -> int:
        """index into outcomes"""

    @property
    def front(self) -> list[int]:
        """indices, the quickest first"""

    @property
    def saved_energy(self) -> Interval:
        """share of the present setting's that the best one saves"""

    @property
    def saved_time(self) -> Interval: ...

    @property
    def steps(self) -> list[TuneStep]:
        """from the present to the best, one change after the other"""

    @property
    def singles(self) -> list[TuneStep]:
        """each of those changes by itself"""

    @property
    def advice(self) -> list[TuneAdvice]:
        """about the best one"""

    @property
    def left_out(self) -> list[str]:
        """settings that nothing tells, with why"""

    @property
    def modelled(self) -> bool:
        """energies come from a model (CPU time times watts), not from a counter"""

def usual_limits(device: Device) -> list[float]:
    """
    The power limits worth looking at: in steps of 50 W, as far as the device's levers are known.
    """

def tune(device: Device, model: Model, batch: int = 1, recipe: Recipe | None = None, *, samples: int, epochs: int = 1, objective: str = 'energy', slower: float | None = None, deadline_s: float | None = None, tariff: Tariff | None = None, price_per_hour: float = 0.0, mode: str = 'eager', power_limits_w: Sequence[float] = [], clocks_mhz: Sequence[float] = [], batches: Sequence[int] = [], precisions: Sequence[str] = [], optimizers: Sequence[str] = [], autotune: Sequence[bool] = [], threads: Sequence[int] = []) -> Tuned:
    """
    Which settings to train a network with; the present one is always among them. Raises NotProfiledError where that cannot be told, OverBudgetError where no setting keeps what was asked for.
    """

def tune_candidates(device: Device, candidates: Sequence[TuneCandidate], *, samples: int, epochs: int = 1, objective: str = 'energy', slower: float | None = None, deadline_s: float | None = None, tariff: Tariff | None = None, price_per_hour: float = 0.0, mode: str = 'eager', power_limits_w: Sequence[float] = [], clocks_mhz: Sequence[float] = []) -> Tuned:
    """
    The same among candidates that were estimated already, each under every limit and clock. The first is the present setting.
    """

class MeasuredShare:
    """Energy of the pruned network over that of the original, as trained."""

    @property
    def share(self) -> float: ...

    @property
    def error(self) -> float:
        """its standard error"""

class PrunedGroup:
    """Channels that are pruned together."""

    @property
    def name(self) -> str:
        """the first node that puts them out"""

    @property
    def nodes(self) -> list[str]:
        """all whose width they are"""

    @property
    def channels_before(self) -> int: ...

    @property
    def channels(self) -> int: ...

    @property
    def kept(self) -> list[int]:
        """which of them, where scores tell"""

    @property
    def untouched(self) -> str:
        """why it was not open; else empty"""

class Pruned:
    """A network with fewer channels that keeps to a budget."""

    @property
    def model(self) -> Model: ...

    @property
    def groups(self) -> list[PrunedGroup]: ...

    @property
    def before(self) -> Estimate | None:
        """None for prune_by_flops()"""

    @property
    def after(self) -> Estimate | None:
        """None for prune_by_flops()"""

    @property
    def flops_before(self) -> float: ...

    @property
    def flops_after(self) -> float: ...

    @property
    def parameters_before(self) -> float: ...

    @property
    def parameters_after(self) -> float: ...

    @property
    def budget(self) -> float:
        """joules per iteration, or FLOPs"""

    @property
    def bound(self) -> float:
        """what was held against it: the mean, or the quantile that risk asks for"""

    @property
    def unchanged(self) -> bool:
        """the network fits as it is"""

    @property
    def candidates(self) -> int: ...

    @property
    def within(self) -> int:
        """of them, kept to the budget"""

    @property
    def measured(self) -> MeasuredShare | None:
        """of the last check"""

    @property
    def checks(self) -> int: ...

    @property
    def seconds(self) -> float:
        """of the search"""

def read_scores(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """
    How much channels matter, from a file: {"layers": {"conv1": 2.5, "conv2": [0.1, 0.7]}}.
    """

def prune(device: Device, model: Model, budget: str = '50%', batch: int = 1, recipe: Recipe | None = None, *, job_iterations: float = 0.0, risk: float | None = None, rank: str = 'parameters', scores: Mapping[str, Sequence[float]] = {}, multiple_of: int = 1, min_channels: int = 1, min_share: float = 0.1, keep: Sequence[str] = [], mode: str = 'eager', search: str = 'evolve', candidates: int = 200000, seed: int = 1, checks: int = 0, on_check: Callable[[int, float, MeasuredShare], object] | None = None) -> Pruned:
    """
    Fewer channels, so that training keeps to a budget: "50%", "40J/iter", "2kWh/job" (then with `job_iterations`). With `checks` above 0 the choice is trained beside the original, at most so many times, and on_check(number, estimated share, measured) is called after each. Raises OverBudgetError when nothing fits.
    """

def prune_by_flops(model: Model, budget: str = '50%', batch: int = 1, *, rank: str = 'parameters', scores: Mapping[str, Sequence[float]] = {}, multiple_of: int = 1, min_channels: int = 1, min_share: float = 0.1, keep: Sequence[str] = [], search: str = 'evolve', candidates: int = 200000, seed: int = 1) -> Pruned:
    """
    The proxy that most people use: the budget is a share of FLOPs. Needs no device.
    """

class LogNormal:
    """A cost that is known up to a factor."""

    def __init__(self, median: float = 0.0, sigma: float = 0.0) -> None: ...

    @staticmethod
    def from_interval(value: float, high: float) -> LogNormal: ...

    @staticmethod
    def from_mean(mean: float, deviation: float) -> LogNormal: ...

    @property
    def median(self) -> float:
        """joules or seconds"""

    @median.setter
    def median(self, arg: float, /) -> None: ...

    @property
    def sigma(self) -> float:
        """deviation of the logarithm; 0: known exactly"""

    @sigma.setter
    def sigma(self, arg: float, /) -> None: ...

    def mean(self) -> float: ...

    def quantile(self, probability: float) -> float: ...

    def probability_below(self, value: float) -> float: ...

    def __mul__(self, arg: float, /) -> LogNormal: ...

class JobCost:
    def __init__(self, energy_j: LogNormal = ..., time_s: LogNormal = ...) -> None: ...

    @property
    def energy_j(self) -> LogNormal: ...

    @energy_j.setter
    def energy_j(self, arg: LogNormal, /) -> None: ...

    @property
    def time_s(self) -> LogNormal: ...

    @time_s.setter
    def time_s(self, arg: LogNormal, /) -> None: ...

def job_cost(estimate: Estimate, iterations: float) -> JobCost:
    """What an estimate says of a job of so many iterations."""

class Admission:
    @property
    def fits(self) -> bool: ...

    @property
    def available_j(self) -> float: ...

    @property
    def needed_j(self) -> float:
        """stays under it with probability 1 - risk"""

    @property
    def margin_j(self) -> float:
        """available less needed; negative: short by so much"""

    @property
    def probability(self) -> float:
        """that the job ends before the battery does"""

def admit(energy_j: LogNormal, available_j: float, risk: float) -> Admission:
    """One job and one battery: may it start?"""

class TimeWindow:
    """Seconds from now."""

    def __init__(self, start_s: float = 0.0, end_s: float = float('inf')) -> None: ...

    @property
    def start_s(self) -> float: ...

    @start_s.setter
    def start_s(self, arg: float, /) -> None: ...

    @property
    def end_s(self) -> float: ...

    @end_s.setter
    def end_s(self, arg: float, /) -> None: ...

class Battery:
    def __init__(self, capacity_j: float, charge_j: float, reserve_j: float = 0.0) -> None: ...

    @property
    def capacity_j(self) -> float: ...

    @capacity_j.setter
    def capacity_j(self, arg: float, /) -> None: ...

    @property
    def charge_j(self) -> float:
        """now"""

    @charge_j.setter
    def charge_j(self, arg: float, /) -> None: ...

    @property
    def reserve_j(self) -> float:
        """must never fall below this"""

    @reserve_j.setter
    def reserve_j(self, arg: float, /) -> None: ...

class Charger:
    def __init__(self, power_w: float, plugged: Sequence[TimeWindow] = []) -> None: ...

    @property
    def power_w(self) -> float: ...

    @power_w.setter
    def power_w(self, arg: float, /) -> None: ...

    @property
    def plugged(self) -> list[TimeWindow]:
        """in order, apart; empty: never"""

    @plugged.setter
    def plugged(self, arg: Sequence[TimeWindow], /) -> None: ...

class ScheduleDevice:
    def __init__(self, name: str, *, battery: Battery | None = None, charger: Charger | None = None, background_w: float = 0.0, available: Sequence[TimeWindow] = ...) -> None: ...

    @property
    def name(self) -> str: ...

    @name.setter
    def name(self, arg: str, /) -> None: ...

    @property
    def battery(self) -> Battery | None:
        """None: it hangs on the mains"""

    @battery.setter
    def battery(self, arg: Battery | None, /) -> None: ...

    @property
    def charger(self) -> Charger | None: ...

    @charger.setter
    def charger(self, arg: Charger | None, /) -> None: ...

    @property
    def background_w(self) -> float:
        """drawn all the time by whatever else the device does"""

    @background_w.setter
    def background_w(self, arg: float, /) -> None: ...

    @property
    def available(self) -> list[TimeWindow]:
        """in order, apart; a job runs within one of them"""

    @available.setter
    def available(self, arg: Sequence[TimeWindow], /) -> None: ...

class ScheduleJob:
    def __init__(self, name: str, *, kind: str = '', value: float = 1.0, earliest_s: float = 0.0, deadline_s: float = float('inf'), depends_on: Sequence[int] = [], costs: Sequence[JobCost | None] = [], why_not: Sequence[str] = []) -> None: ...

    @property
    def name(self) -> str: ...

    @name.setter
    def name(self, arg: str, /) -> None: ...

    @property
    def kind(self) -> str:
        """jobs of one kind err together on a device; empty: a kind of its own"""

    @kind.setter
    def kind(self, arg: str, /) -> None: ...

    @property
    def value(self) -> float: ...

    @value.setter
    def value(self, arg: float, /) -> None: ...

    @property
    def earliest_s(self) -> float: ...

    @earliest_s.setter
    def earliest_s(self, arg: float, /) -> None: ...

    @property
    def deadline_s(self) -> float: ...

    @deadline_s.setter
    def deadline_s(self, arg: float, /) -> None: ...

    @property
    def depends_on(self) -> list[int]:
        """jobs that must have ended before it starts, by index"""

    @depends_on.setter
    def depends_on(self, arg: Sequence[int], /) -> None: ...

    @property
    def costs(self) -> list[JobCost | None]:
        """by device; None: cannot run there, or nobody knows"""

    @costs.setter
    def costs(self, arg: Sequence[JobCost | None], /) -> None: ...

    @property
    def why_not(self) -> list[str]:
        """by device, for absent costs: one clause"""

    @why_not.setter
    def why_not(self, arg: Sequence[str], /) -> None: ...

class Problem:
    """
    Jobs with what they cost on each device, and devices with what they have.
    """

    def __init__(self, devices: Sequence[ScheduleDevice], jobs: Sequence[ScheduleJob]) -> None: ...

    @property
    def devices(self) -> list[ScheduleDevice]: ...

    @devices.setter
    def devices(self, arg: Sequence[ScheduleDevice], /) -> None: ...

    @property
    def jobs(self) -> list[ScheduleJob]: ...

    @jobs.setter
    def jobs(self, arg: Sequence[ScheduleJob], /) -> None: ...

class PlannedJob:
    @property
    def job(self) -> int:
        """index into Problem.jobs"""

    @property
    def device(self) -> int:
        """index into Problem.devices"""

    @property
    def start_s(self) -> float: ...

    @property
    def end_s(self) -> float:
        """of the time set aside for it"""

    @property
    def energy_j(self) -> float:
        """set aside for it"""

    @property
    def battery_lowest_j(self) -> float:
        """until its end, if it takes all of that"""

    @property
    def battery_after_j(self) -> float: ...

class Refusal:
    @property
    def job(self) -> int: ...

    @property
    def kind(self) -> str:
        """"not_profiled", "deadline", "battery", "outbid", "dependency\""""

    @property
    def device(self) -> int | None:
        """where it came nearest; None: nowhere"""

    @property
    def short_j(self) -> float:
        """the battery is short by this there"""

    @property
    def late_s(self) -> float:
        """it would be late by this there"""

    @property
    def text(self) -> str: ...

class Simulation:
    @property
    def draws(self) -> int: ...

    @property
    def battery_failed(self) -> list[float]:
        """by device: share of draws below its reserve"""

    @property
    def late(self) -> list[float]:
        """by job: share of draws in which it ended too late"""

    @property
    def any_failed(self) -> float: ...

    def worst_battery(self) -> float: ...

    def worst_late(self) -> float: ...

class Plan:
    @property
    def jobs(self) -> list[PlannedJob]:
        """by device, then start"""

    @property
    def refused(self) -> list[Refusal]:
        """in the order of the problem"""

    @property
    def value(self) -> float:
        """of the jobs planned"""

    @property
    def value_asked(self) -> float:
        """of all"""

    @property
    def bound(self) -> float:
        """no plan at this risk is worth more"""

    @property
    def optimal(self) -> bool:
        """proven"""

    @property
    def exact(self) -> bool:
        """by the exact solver"""

    @property
    def planning_risk(self) -> list[float]:
        """by device"""

    @property
    def check(self) -> Simulation:
        """the draws that the plan was tried in"""

    @property
    def holds(self) -> bool:
        """in those, what was asked for held as often as asked for"""

class ScheduledJobs:
    @property
    def problem(self) -> Problem:
        """as read, with costs estimated from the devices' profiles"""

    @property
    def plan(self) -> Plan: ...

    @property
    def modelled(self) -> bool:
        """some energy is modelled, not measured"""

def schedule(problem: Problem, *, risk: float = 0.05, jointly: bool = False, solver: str = 'auto', seed: int = 1) -> Plan:
    """
    Which job runs where and when. Jobs that do not fit are refused in the plan, with why; that is no error.
    """

def simulate(problem: Problem, plan: Sequence[PlannedJob], draws: int = 4000, seed: int = 1) -> Simulation:
    """
    Runs a plan many times with energies and times drawn anew, and counts what went wrong.
    """

def schedule_jobs_file(path: str | os.PathLike[str], *, store: str | os.PathLike[str] = '', worker: str = '', risk: float = 0.05, jointly: bool = False, solver: str = 'auto', seed: int = 1) -> ScheduledJobs:
    """What a jobs file asks for."""

class PageSummary:
    @property
    def bytes(self) -> int: ...

    @property
    def estimates(self) -> int: ...

    @property
    def surfaces(self) -> int: ...

    @property
    def evaluations(self) -> int: ...

    @property
    def figures(self) -> int:
        """written"""

    @property
    def ignored(self) -> list[str]:
        """files of the results' folders that are no results"""

def report(path: str | os.PathLike[str], device: Device | None = None, *, title: str = 'AMPERE report', models: Sequence[Model] = [], batch: int = 1, recipe: Recipe | None = None, method: str = 'split', results: Sequence[str | os.PathLike[str]] = [], figures: str | os.PathLike[str] = '', figure_width: int = 900, on_step: Callable[[Step], object] | None = None) -> PageSummary:
    """
    Writes one HTML page of a device and of results, or of results alone. `models`: networks to estimate. `results`: files, or folders of files, that the program's verbs wrote with --json. `figures`: folder for every figure as SVG, with its numbers as CSV.
    """

class MeterDescription:
    """What is known of a meter before it is used."""

    @property
    def name(self) -> str:
        """what Meter() takes"""

    @property
    def scope(self) -> str:
        """"gpu", "package", "module", "board", "battery", "process\""""

    @property
    def modelled(self) -> bool:
        """computed from a model, not read from hardware"""

    @property
    def description(self) -> str: ...

    @property
    def available(self) -> bool:
        """can be used here"""

    @property
    def why(self) -> str:
        """it cannot: what is missing, and the fix"""

    @property
    def samples_s(self) -> float:
        """how far apart the samples of recent_power() are; 0: it keeps none"""

    def __repr__(self) -> str: ...

class Reading:
    """Two readings tell what was used between them."""

    def __init__(self, energy_j: float, at_s: float) -> None: ...

    @property
    def energy_j(self) -> float:
        """since some arbitrary moment"""

    @property
    def at_s(self) -> float:
        """on the clock of time.monotonic()"""

    def __repr__(self) -> str: ...

class MeterBehaviour:
    """How a meter behaves."""

    @property
    def moves(self) -> bool:
        """the counter changed while it was watched"""

    @property
    def continuous(self) -> bool:
        """it changed at nearly every reading"""

    @property
    def tick_s(self) -> float:
        """time between two changes; 0: none was seen"""

    @property
    def read_s(self) -> float:
        """what one reading takes"""

    @property
    def resolution_j(self) -> float:
        """smallest change seen"""

class Meter:
    """An energy meter of this machine. Threads take turns."""

    def __init__(self, name: str = '') -> None:
        """
        By its name ("nvml:0,1", "nvml+rapl", "exec:COMMAND"); empty: $AMPERE_METER, else the first that is available. Raises BadInputError for a name nobody knows, NoMeterError where it cannot be used.
        """

    @property
    def description(self) -> MeterDescription: ...

    @property
    def name(self) -> str: ...

    @property
    def scope(self) -> str: ...

    @property
    def modelled(self) -> bool: ...

    def read(self) -> Reading: ...

    def read_at_tick(self) -> Reading:
        """
        The next moment at which the counter changes, and its value there; without a tick, read() at once.
        """

    def watch(self, limit_s: float = 1.0) -> MeterBehaviour:
        """Reads again and again to find the tick; `behaviour` has it then."""

    @property
    def behaviour(self) -> MeterBehaviour | None:
        """None before watch()"""

    def mean_power_w(self, length_s: float = 1.0) -> float:
        """
        The mean power while this thread sleeps: idle power, if all others do nothing.
        """

    def power_w(self) -> float | None:
        """By a second sensor, about now; None: there is none."""

    def recent_power(self) -> list[tuple[float, float]]:
        """
        The power of the last seconds as the device has kept it, oldest first: (time.monotonic(), watts). Empty: it keeps none.
        """

    def __repr__(self) -> str: ...

def meters() -> list[MeterDescription]:
    """
    All meters that there are, the most trusted first, with why some are not here.
    """
