"""One training step of a user's network, captured without the device and without memory for its weights."""

from __future__ import annotations

import copy
import inspect
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
)
from torch.utils._pytree import tree_flatten, tree_map_only

from .above_kernels import AboveKernels
from .backward import walked
from .compiled import as_if_compiling, as_written, unwrapped
from .fake import Fakes, as_if_there_were, without_log
from .masks import masks_as_needed
from .modules import following
from .recorder import DataDependent, Recorder
from .step import Step

Loss = Callable[[Any], torch.Tensor]
MakeOptimizer = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]


class CaptureError(ValueError):
    """This step cannot be captured; the message says why."""


class Training:
    """What a user's loop does in one step. `run` may be replaced by a function of the user's own."""

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: Any,
        loss: Loss | None = None,
        optimizer: Any = "sgd",
        precision: str = "default",
        accumulate: int = 1,
        clip: float | None = None,
        run: Callable[[torch.nn.Module, torch.optim.Optimizer], None] | None = None,
        compile: bool = False,
    ):
        self.model, is_compiled = unwrapped(model)
        self.args, self.kwargs = split_inputs(inputs)
        self.loss = loss
        self.optimizer = optimizer
        self.precision = precision
        self.accumulate = accumulate
        self.clip = clip
        self.run = run
        self.compiled = frozenset(
            [""] if compile or is_compiled else []
        )  # names of the modules that torch.compile is given

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Over the model's present parameters, whichever they are."""
        trained = [p for p in self.model.parameters() if p.requires_grad]
        if not trained:
            raise CaptureError("the model has no parameters that want a gradient: there is nothing to train")
        chosen = self.optimizer
        if isinstance(chosen, torch.optim.Optimizer):
            raise CaptureError("an optimizer must be mapped to the captured parameters first")
        if callable(chosen):
            return chosen(trained)
        makers: dict[str, MakeOptimizer] = {
            "sgd": lambda p: torch.optim.SGD(p, lr=1e-6),
            "momentum": lambda p: torch.optim.SGD(p, lr=1e-6, momentum=0.9),
            "adam": lambda p: torch.optim.Adam(p, lr=1e-6),
            "adamw": lambda p: torch.optim.AdamW(p, lr=1e-6),
        }
        if chosen not in makers:
            raise CaptureError(
                f'unknown optimizer "{chosen}" (known: {", ".join(makers)}, an optimizer, or a function of the parameters)'
            )
        return makers[chosen](trained)

    def step(
        self, optimizer: torch.optim.Optimizer, scaler: Any, device: torch.device, move: Callable[[Any], Any]
    ) -> None:
        if self.run is not None:
            self.run(self.model, optimizer)
            return
        args, kwargs = move(self.args), move(self.kwargs)
        optimizer.zero_grad(set_to_none=True)
        for _ in range(self.accumulate):
            with autocast(self.precision, device):
                output = self.model(*args, **kwargs)
                loss = scalar_loss(output, self.loss)
            if self.accumulate > 1:
                loss = loss / self.accumulate
            (scaler.scale(loss) if scaler else loss).backward()
        if self.clip is not None:
            if scaler:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


ONE_AT_A_TIME = threading.RLock()  # PyTorch is told for the whole process that there is a device


def capture(training: Training, device: str | torch.device = "cuda", name: str = "") -> Step:
    """Under fake tensors; where the step looks at values, one real step on the CPU instead."""
    with ONE_AT_A_TIME:
        return capture_alone(training, device, name)


def capture_alone(training: Training, device: str | torch.device, name: str) -> Step:
    target = torch.device(device)
    target = torch.device("cuda:0") if target == torch.device("cuda") else target
    with as_written(training.model) as compiled:
        plain = copy.copy(training)
        plain.compiled = training.compiled | compiled
        return capture_plain(plain, target, name)


def capture_plain(training: Training, target: torch.device, name: str) -> Step:
    why: Exception
    try:
        return capture_fake(training, target, name)
    except (
        DataDependent,
        DataDependentOutputException,
        DynamicOutputShapeException,
        UnsupportedFakeTensorException,
        NotImplementedError,
        GuardOnData,
    ) as e:
        why = e
    except (RuntimeError, AssertionError) as e:
        if target.type != "cuda" or torch.cuda.is_available() or not WANTS_A_GPU.search(str(e)):
            raise
        why = e
    if any(t.is_meta for t in tree_flatten((training.args, training.kwargs))[0] if isinstance(t, torch.Tensor)):
        raise CaptureError(
            f"the step depends on values ({first_line(why)}), and inputs on the meta device have none; "
            "give inputs with values as they will be"
        ) from why
    step = capture_real(training, name)
    step.notes.append(f"captured from one real step on the CPU, because fake tensors do not do: {first_line(why)}")
    if isinstance(why, DynamicOutputShapeException):
        step.notes.append("some of its sizes depend on values; they are those that came of these inputs and weights")
    return step


# What PyTorch says where something asks for the GPU itself, with and without CUDA in the build.
WANTS_A_GPU = re.compile("NVIDIA driver|CUDA enabled|CUDA-capable|No CUDA GPUs")


try:
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode as GuardOnData
except ImportError:  # older than it
    GuardOnData = DataDependent  # type: ignore[assignment,misc]


def capture_fake(training: Training, device: torch.device, name: str) -> Step:
    step = new_step(training, name, "fake")
    fakes = Fakes(device)
    recorder = Recorder(step, device, fakes.fake)
    walk_it = device.type == "cuda" and not torch.cuda.is_available()
    with ExitStack() as stack:
        enter = stack.enter_context
        enter(without_log())
        enter(as_if_there_were(device, step.notes))
        enter(fakes.instead_of(training.model))
        enter(fakes.mode)
        introduce_model(recorder, training.model)
        fakes.recorder = recorder  # what comes now is no part of the model
        enter(masks_as_needed(recorder, fakes))
        optimizer = adopted_optimizer(training, {id(real): fake for real, fake in fakes.made.values()})
        move = lambda value: tree_map_only(torch.Tensor, fakes.fake, value)  # noqa: E731
        run_step(training, recorder, optimizer, device, move, walked(recorder) if walk_it else nullcontext())
    return step


def capture_real(training: Training, name: str) -> Step:
    """On a copy of the model, so that the user's is not trained."""
    step = new_step(training, name, "cpu")
    device = torch.device("cpu")
    real = copy.copy(training)
    real.model = copy.deepcopy(training.model)
    if any(tensor.is_meta for tensor in [*real.model.parameters(), *real.model.buffers()]):
        real.model = real.model.to_empty(device=device)
        for tensor in [*real.model.parameters(), *real.model.buffers()]:
            tensor.data.normal_(0, 0.02) if tensor.is_floating_point() else tensor.data.zero_()
    real.model = real.model.to(device)
    pairs = zip(training.model.parameters(), real.model.parameters())
    recorder = Recorder(step, device)
    introduce_model(recorder, real.model)
    optimizer = adopted_optimizer(real, {id(old): new for old, new in pairs})

    def move(value: Any) -> Any:
        def there(tensor: torch.Tensor) -> torch.Tensor:
            moved = tensor.detach().to(device)
            recorder.introduce(moved, "input", moved)
            return moved

        return tree_map_only(torch.Tensor, there, value)

    run_step(real, recorder, optimizer, device, move, nullcontext())
    return step


def run_step(
    training: Training,
    recorder: Recorder,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
    move: Callable[[Any], Any],
    backward: Any,
) -> None:
    scaler = torch.amp.grad_scaler.GradScaler(device.type, enabled=True) if training.precision == "fp16" else None
    was_training = [(m, m.training) for m in training.model.modules()]
    training.model.train()
    try:
        with (
            recorder,
            AboveKernels(recorder),
            following(recorder, training.model, training.compiled),
            as_if_compiling(recorder),
            torch.enable_grad(),
            backward,
        ):
            with recorder.pause():
                make_optimizer_state(optimizer, recorder, training)
            training.step(optimizer, scaler, device, move)
        if not recorder.step.calls:
            raise CaptureError("the step makes no calls: there is nothing to train")
    finally:
        for module, state in was_training:
            module.training = state


def make_optimizer_state(optimizer: torch.optim.Optimizer, recorder: Recorder, training: Training) -> None:
    """Moments are made in the first step: that is not what the others cost."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for p in parameters:
        p.grad = torch.zeros_like(p)
    try:
        optimizer.step()
    except Exception as e:
        if "closure" not in str(e):
            raise
        if training.run is None:
            raise CaptureError(
                f"{type(optimizer).__name__} calls the model itself, through a closure; give step=, a function "
                "(model, optimizer) that makes one step as your loop does, with optimizer.step(closure)"
            ) from e
    for p in parameters:
        p.grad = None
    recorder.phase = "forward"


def new_step(training: Training, name: str, how: str) -> Step:
    tensors = [
        t for t in tree_flatten((training.args, training.kwargs))[0] if isinstance(t, torch.Tensor) and t.dim() > 0
    ]
    batch = int(tensors[0].shape[0]) if tensors else 1
    step = Step(name or type(training.model).__name__, batch, how=how)
    step.parameters = sum(p.numel() for p in training.model.parameters())
    return step


def introduce_model(recorder: Recorder, model: torch.nn.Module) -> None:
    for parameter in model.parameters():
        recorder.introduce(parameter, "parameter")
    for buffer in model.buffers():
        recorder.introduce(buffer, "buffer")


def adopted_optimizer(training: Training, mapped: dict[int, torch.Tensor]) -> torch.optim.Optimizer:
    """The user's optimizer over the captured parameters: its class, groups and settings, never its state."""
    given = training.optimizer
    if not isinstance(given, torch.optim.Optimizer):
        return training.make_optimizer()
    if not any(id(p) in mapped for group in given.param_groups for p in group["params"]):
        raise CaptureError("the optimizer holds none of the model's parameters; make it of model.parameters()")
    groups = [{**group, "params": [mapped.get(id(p), p) for p in group["params"]]} for group in given.param_groups]
    taken = inspect.signature(type(given).__init__).parameters  # AdamW, for one, keeps a setting that it does not take
    return type(given)(groups, **{name: value for name, value in given.defaults.items() if name in taken})


def autocast(precision: str, device: torch.device) -> Any:
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    return torch.autocast(device.type, dtype=dtype) if dtype else nullcontext()


def split_inputs(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def scalar_loss(output: Any, loss: Loss | None) -> torch.Tensor:
    if loss is not None:
        if not callable(loss) or isinstance(loss, torch.nn.modules.loss._Loss):
            raise CaptureError(
                "loss is a function of the model's output alone, as in: lambda out: criterion(out, target)"
            )
        found = loss(output)
        if not isinstance(found, torch.Tensor):
            raise CaptureError(f"loss must give a tensor, and gives {type(found).__name__}")
        return found
    if getattr(output, "loss", None) is not None:  # Hugging Face's models, given labels
        return output.loss
    logits = getattr(output, "logits", output)
    if isinstance(logits, (tuple, list)):
        logits = logits[0]
    if not isinstance(logits, torch.Tensor):
        raise CaptureError(
            f"cannot make a loss of {type(output).__name__}; give loss=, a function of the model's output"
        )
    return logits.float().square().mean()


def first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
