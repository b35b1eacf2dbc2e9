#!/usr/bin/env python3
"""Power limit and clock of an NVIDIA card through NVML by ctypes, and a process that puts them back. Shares no code with
AMPERE, on purpose: what judges it must not err as it does.

    python bench/limits/levers.py show       # the limit now, the usual one, what may be set
    python bench/limits/levers.py keep       # remembers the limit, and puts it back when its standard input ends
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "truth"))
import counter  # noqa: E402

NO_PERMISSION = 4  # NVML_ERROR_NO_PERMISSION
RETRIES = 20  # of putting back, when the driver refuses


class Levers(counter.Card):
    """The card's counter, and what it may be set to. Watts and megahertz."""

    def __init__(self, uuid: str | None = None):
        super().__init__(uuid)
        limit = self._number("nvmlDeviceGetPowerManagementLimit")
        if limit is None:
            raise counter.CounterError("this card does not tell its power limit")
        usual = self._number("nvmlDeviceGetPowerManagementDefaultLimit")
        self.usual_w = (limit if usual is None else usual) / 1000
        least, most = ctypes.c_uint(), ctypes.c_uint()
        self._call("nvmlDeviceGetPowerManagementLimitConstraints", self._handle, ctypes.byref(least), ctypes.byref(most))
        self.least_w, self.most_w = least.value / 1000, most.value / 1000
        self.most_mhz = self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint(counter.CLOCK_SM))

    @property
    def limit_w(self) -> float:
        value = self._number("nvmlDeviceGetPowerManagementLimit")
        if value is None:
            raise counter.CounterError("this card does not tell its power limit any more")
        return value / 1000

    def set_limit(self, watts: float) -> None:
        self._set("nvmlDeviceSetPowerManagementLimit", f"-pl {watts:g}", ctypes.c_uint(round(1000 * watts)))

    def lock_clock(self, megahertz: float) -> None:
        clock = ctypes.c_uint(round(megahertz))
        self._set("nvmlDeviceSetGpuLockedClocks", f"-lgc {megahertz:g},{megahertz:g}", clock, clock)

    def release_clock(self) -> None:
        self._set("nvmlDeviceResetGpuLockedClocks", "-rgc")

    def _set(self, name: str, smi: str, *values: ctypes.c_uint) -> None:
        """With the command that an administrator would type, where this may not be done."""
        code = getattr(self._nvml, name)(self._handle, *values)
        if code == NO_PERMISSION:
            raise PermissionError(f"only root may set this card: sudo nvidia-smi {smi}")
        if code != 0:
            raise counter.CounterError(f"{name} gave error {code} (nvidia-smi {smi})")

    def facts(self) -> dict:
        """For a line of results. No `limit_w`, which is a setting of a row."""
        return {**self.names(), "usual_limit_w": self.usual_w, "least_limit_w": self.least_w,
                "most_limit_w": self.most_w, "most_clock_mhz": self.most_mhz}


class Kept:
    """A process of its own puts the limit back and frees the clocks when this one ends, whatever ends it: it waits for
    the end of a pipe that only this process holds."""

    def __init__(self, uuid: str | None = None):
        self._keeper = subprocess.Popen([sys.executable, __file__, "keep", *([uuid] if uuid else [])], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        first = self._keeper.stdout.readline()
        if not first:
            raise counter.CounterError("the process that puts the limit back did not start")
        self.before_w = json.loads(first)["limit_w"]

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_) -> None:
        self._keeper.stdin.close()
        told = self._keeper.stdout.read().strip()
        self._keeper.stdout.close()
        self._keeper.wait()
        print(told or "the limit could NOT be put back", file=sys.stderr, flush=True)


def keep(uuid: str | None) -> int:
    levers = Levers(uuid)
    before_w = levers.limit_w
    print(json.dumps({"limit_w": before_w}), flush=True)
    try:
        sys.stdin.buffer.read()
    except KeyboardInterrupt:
        pass
    for attempt in range(RETRIES):
        try:
            levers.release_clock()
            levers.set_limit(before_w)
            break
        except PermissionError:
            break  # nothing can have been changed
        except counter.CounterError as error:
            print(error, file=sys.stderr, flush=True)
            time.sleep(0.2)
    now_w = levers.limit_w
    said = f"power limit {now_w:g} W as before, clocks are free" if now_w == before_w else (
        f"power limit is {now_w:g} W and was {before_w:g} W: sudo nvidia-smi -pl {before_w:g}; sudo nvidia-smi -rgc")
    try:
        print(said, flush=True)
    except BrokenPipeError:  # the one who asked is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0 if now_w == before_w else 1


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0] not in ("show", "keep"):
        sys.exit(__doc__)
    uuid = words[1] if len(words) > 1 else None
    try:
        if words[0] == "keep":
            return keep(uuid)
        levers = Levers(uuid)
        print(json.dumps({"power_limit_w": levers.limit_w, **levers.facts()}))
        return 0
    except counter.CounterError as error:
        sys.exit(f"levers: {error}")


if __name__ == "__main__":
    sys.exit(main())
