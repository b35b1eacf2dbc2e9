"""python -m ampere estimate FILE.py:FUNCTION | hf:NAME: joules of a training step, from the command line."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from . import __version__, _core
from .subject import BadSubject, subject_of

if TYPE_CHECKING:
    from .prediction import Job, Prediction

# As the program `ampere` ends.
EXIT_CODES = {"bad_input": 2, "no_meter": 3, "over_budget": 4, "unstable": 5, "not_profiled": 6}
LINES = 9  # of an error

EPILOG = """FUNCTION is called without arguments. It gives a module; or a module and the inputs that it is called with; or a
dict with "model" and, as far as they are wanted, "inputs", "loss" and "optimizer", which ampere.estimate() explains.
hf:NAME is made from the model's configuration, without weights; nothing is downloaded."""


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(positive(size) for size in text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not like 3x224x224') from None


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ampere", description="How many joules will training take?")
    parser.add_argument("--version", action="version", version=f"ampere {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    estimate = verbs.add_parser("estimate", help="energy and time of a training step, and of a job", epilog=EPILOG)
    add = estimate.add_argument
    add("subject", metavar="FILE.py:FUNCTION | hf:NAME", help="the model")
    add("--batch", type=positive, help="samples per step; without it that of the inputs, or 8")
    add("--length", type=positive, help="tokens per sample, for language models (128)")
    add("--input", type=sizes, metavar="CxHxW", help="sizes of one sample, where FUNCTION gives a module alone")
    add("--precision", default="default", help="default, fp32, tf32, bf16 or fp16")
    add("--optimizer", help="sgd, momentum, adam or adamw; without it FUNCTION's, adamw for hf:NAME, else sgd")
    add("--compile", action="store_true", help="as if torch.compile(model) were trained")
    add("--device", help="cuda, cpu, sheet:NAME, stored or stored:ID (of the store); without it an accelerator if there is one")
    add("--store", default="", help="the file where what was measured is kept")
    add("--told", action="store_true", help="measure nothing: by what was measured before")
    add("--meter", default="", help="the energy meter, see ampere.meters()")
    add("--power-limit", type=float, metavar="WATTS", help="under a power limit of the device, which is modelled")
    add("--clock", type=float, metavar="MHZ", help="at a locked clock of the device, which is modelled")
    add("--price", default="", help="what energy costs: 0.30EUR/kWh")
    add("--carbon", default="", help="what it emits: 380g/kWh, or a country such as FR")
    add("--samples", type=positive, help="of an epoch: tells the energy of a whole job")
    add("--epochs", type=positive, default=1, help="of the job (1)")
    add("--json", action="store_true", help="for programs: units are in the names of fields")
    add("--debug", action="store_true", help="where it fails, the whole traceback")
    return parser


def progress(step: _core.Step) -> None:
    end = "\n" if step.done >= step.of else ""
    print(f"\r{step.task}: {step.done} of {step.of}", end=end, file=sys.stderr, flush=True)


def device_of(asked: argparse.Namespace) -> _core.Device | str | None:
    name, _, which = (asked.device or "").partition(":")
    return _core.Device.stored(asked.store, which) if name == "stored" else asked.device


def estimated(asked: argparse.Namespace) -> Prediction:
    from .estimating import estimate

    subject = subject_of(asked.subject, asked.batch, asked.length, asked.input)
    found: Prediction = estimate(
        subject.model,
        subject.inputs,
        loss=subject.loss,
        optimizer=asked.optimizer or subject.optimizer,
        precision=asked.precision,
        compile=asked.compile,
        device=device_of(asked),
        exact=False if asked.told else None,
        power_limit=asked.power_limit,
        clock=asked.clock,
        price=asked.price,
        carbon=asked.carbon,
        store=asked.store,
        meter=asked.meter,
        on_step=progress if sys.stderr.isatty() else None,
    )
    found.notes[:0] = subject.notes
    return found


def job_in_words(job: Job, epochs: int) -> str:
    from .prediction import quantity

    low, high = quantity(job.energy_low_j, "J"), quantity(job.energy_high_j, "J")
    said = (
        f"the job of {epochs} epoch{'s' * (epochs > 1)}, {job.steps:.0f} steps, takes {quantity(job.energy_j, 'J')} "
        f"({low} to {high}, {job.energy_kwh:.3g} kWh) and {quantity(job.time_s, 's')}"
    )
    said += f"; it costs {job.cost:.3g} {job.currency}".rstrip() if job.cost is not None else ""
    return said + (f"; it emits {job.carbon_g / 1000:.3g} kg CO2e" if job.carbon_g is not None else "")


def answer(prediction: Prediction, asked: argparse.Namespace) -> str:
    job = prediction.job(asked.samples, asked.epochs) if asked.samples else None
    if asked.json:
        told: dict[str, Any] = prediction.to_dict()
        if job:
            told["job"] = {**vars(job), "epochs": asked.epochs, "energy_kwh": job.energy_kwh}
        return json.dumps(told, indent=2)
    return f"{prediction}\n\n{job_in_words(job, asked.epochs)}" if job else str(prediction)


def told(error: Exception) -> tuple[str, int]:
    """What to tell of it, and the exit code."""
    if isinstance(error, _core.Error):  # with the options that this command has as well
        return shortened(str(error.args[0]) if error.args else error.kind), EXIT_CODES.get(error.kind, 1)
    lines = str(error).strip().splitlines()
    said = lines[0] if lines else type(error).__name__
    if isinstance(error, (BadSubject, ValueError, ImportError)):
        return said, 2
    return f"this model cannot take a step with these inputs: {type(error).__name__}: {said}", 2


def shortened(words: str) -> str:
    """What the library says goes on after its first line: which layers, which ops."""
    lines = words.strip().splitlines()
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"  and {len(lines) - LINES + 1} more"]
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    asked = arguments().parse_args(words)
    try:
        print(answer(estimated(asked), asked), flush=True)
        return 0
    except BrokenPipeError:  # nobody reads on, as in "| head"
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
        return 1
    except Exception as error:
        if asked.debug:
            raise
        said, code = told(error)
        print(f"ampere: {said}", file=sys.stderr)
        return code


if __name__ == "__main__":
    sys.exit(main())
