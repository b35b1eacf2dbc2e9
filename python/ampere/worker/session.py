"""The verbs of docs/protocol.md, and how a line becomes an answer."""

from __future__ import annotations

import json
import time
from typing import Any

import torch

from .. import _core
from .device import chosen_device, description
from .fields import REQUIRED, RequestError, bad_input, field, integer, is_int, known_fields, number
from .measure import measure
from .recipe import read_recipe
from .timed_calls import time_calls
from .trainer import Trainer

PROTOCOL = 1
MAX_LINE = 64 << 20


class Session:
    def __init__(self) -> None:
        self.device = chosen_device()
        self.meters: dict[str, _core.Meter] = {}
        if self.device.type == "cuda":
            torch.zeros(1, device=self.device)  # idle power is that with the context up
        self.verbs = {
            "hello": self.hello,
            "detect": self.detect,
            "idle": self.idle,
            "measure": self.measure,
            "time_calls": lambda params: time_calls(params, self.device),
            "train": self.train,
            "shutdown": lambda params: {},
        }

    def open_meter(self, name: str) -> _core.Meter:
        if name not in self.meters:
            try:
                self.meters[name] = _core.Meter(name or self.default_meter())
            except _core.NoMeterError as e:
                raise RequestError("no_meter", e.args[0]) from e
            except _core.Error as e:
                raise bad_input(e.args[0]) from e  # as the library put it, for whoever asks
        return self.meters[name]

    def default_meter(self) -> str:
        """On an accelerator only a meter of its own will do."""
        for meter in _core.meters():
            if meter.available and (self.device.type != "cuda" or meter.scope == "gpu"):
                return meter.name
        return "nvml" if self.device.type == "cuda" else "cpu-model"

    def hello(self, params: dict[str, Any]) -> dict[str, Any]:
        known_fields(params, "hello", ["protocol"])
        return {
            "protocol": PROTOCOL,
            "worker": "ampere.worker",
            "version": _core.version(),
            "framework": f"pytorch {torch.__version__}",
        }

    def detect(self, params: dict[str, Any]) -> dict[str, Any]:
        known_fields(params, "detect", ["characterise"])
        meters = [
            {
                "name": m.name,
                "scope": m.scope,
                "modelled": m.modelled,
                "available": m.available,
                "why": m.why,
                "description": m.description,
                "samples_s": m.samples_s or None,
            }
            for m in _core.meters()
        ]
        return {"device": description(self.device), "meters": meters, "default_meter": self.default_meter()}

    def idle(self, params: dict[str, Any]) -> dict[str, Any]:
        known_fields(params, "idle", ["seconds", "meter"])
        seconds = number(params, "seconds", 1, 1e-6, 600)
        meter = self.open_meter(field(params, "meter", "", lambda v: isinstance(v, str), "the name of a meter"))
        start = time.monotonic()
        try:
            power: float | None = meter.mean_power_w(seconds)
        except _core.NoMeterError:
            power = None  # it stood still: unmeasured is never zero
        return {"power_w": power, "seconds": time.monotonic() - start, "meter": meter.name, "modelled": meter.modelled}

    def measure(self, params: dict[str, Any]) -> dict[str, Any]:
        return measure(params, self.device, self.open_meter)

    def train(self, params: dict[str, Any]) -> dict[str, Any]:
        known_fields(params, "train", ["network", "batch", "recipe", "iterations"])
        iterations = integer(params, "iterations", REQUIRED, 1, 10_000_000)
        recipe = read_recipe(params)
        recipe.apply(self.device)
        trainer = Trainer(params, recipe, self.device, 1e-3 if recipe.optimizer == "adam" else 1e-2)
        start = time.monotonic()
        losses = [trainer.step() for _ in range(iterations)]
        first, last = float(losses[0]), float(losses[-1])
        return {"loss_first": first, "loss_last": last, "iterations": iterations, "time_s": time.monotonic() - start}

    def answer(self, line: bytes) -> tuple[dict[str, Any], bool]:
        """The response to one line, and whether it was the last."""
        ident, verb = -1, ""
        try:
            if len(line) > MAX_LINE:
                raise bad_input("request: the line is longer than 64 MiB")
            request = parsed(line)
            if isinstance(request, dict) and is_int(request.get("id")):
                ident = request["id"]
            field(request if isinstance(request, dict) else {}, "id", REQUIRED, is_int, "a whole number")
            known_fields(request, "request", ["id", "verb", "params"])
            verb = field(
                request,
                "verb",
                REQUIRED,
                lambda v: isinstance(v, str) and v in self.verbs,
                "one of " + ", ".join(self.verbs),
            )
            params = field(request, "params", {}, lambda v: isinstance(v, dict), "an object")
            return {"id": ident, "ok": True, "result": self.verbs[verb](params)}, verb == "shutdown"
        except RequestError as e:
            error = {"kind": e.kind, "message": str(e)}
        except (MemoryError, torch.OutOfMemoryError):
            error = {"kind": "out_of_memory", "message": "not enough memory for this request"}
        except Exception as e:  # whatever the framework throws must not end the worker
            kind = "out_of_memory" if "can't allocate memory" in str(e) else "failed"
            error = {"kind": kind, "message": f"training failed: {e}".split("\n")[0]}
        return {"id": ident, "ok": False, "error": error}, not self.sound()

    def sound(self) -> bool:
        """A device that failed may stay useless for the process: then this answer is the last."""
        try:
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            return True
        except RuntimeError:
            return False


def parsed(line: bytes) -> Any:
    try:
        return json.loads(line, parse_constant=no_number)
    except (ValueError, RecursionError) as e:
        raise bad_input(f"request: not valid JSON: {e}".split("\n")[0]) from e


def no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
