"""The library speaks of options of the program `ampere`; here its errors speak of arguments.

The words as they were thrown stay in `error.args[0]`: for what passes them on to a program.
"""

from __future__ import annotations

import re

from . import _core

# Options that are arguments here, and what those are called; all others belong to the program alone.
SAME = "worker store meter mode method target min-channels multiple-of keep samples epochs figures results solver risk objective settings slower price carbon power-limit clock"
ARGUMENTS = {option: option.replace("-", "_") + "=" for option in SAME.split()} | {
    "input": "inputs=",
    "dim": "dims=",
    "restore-batchnorm": "restore_batchnorm=True",
    "ignore-unsupported": "ignore_unsupported=True",
    "probe": "probe=True",
    "exact": "exact=True",
    "deadline": "deadline_s=",
    "device-price": "price_per_hour=",
}
# Whole phrases that say what the program is told.
PHRASES = {
    "run: ampere profile MODEL --batch N": "ampere.estimate() and ampere.profile() measure where the device is",
    "open the device with Device::open(), not from its store alone": "ampere.Device.stored() can only be asked",
    "run ampere profile": "measure it with ampere.profile()",
    "ampere detect lists": "ampere.meters() lists",
    "see: ampere detect": "see ampere.meters()",
    "--price 0.30/kWh": 'price="0.30/kWh"',
    "--device-price 2/h": "price_per_hour=2",
    "--dim NAME=SIZE": 'dims={"NAME": SIZE}',
}
PHRASE = "|".join(map(re.escape, PHRASES))
# Commands stay as they are, to the end of their clause, and so do options of other programs.
COMMAND = r"\bampere (?:store|convert|profile|estimate|measure) [^;\n]*|\bgunzip --keep|--gpus all"
# A value is told from the next word of the sentence by what values look like.
VALUE = r"eager|replay|split|heuristic|cpu-model|rapl-perf|exec:\w+|(?:int:)?\d[\dNx]*"
OPTION = rf"(?<![^\s(\"'])--([a-z]+(?:-[a-z]+)*)(?: ({VALUE})(?![\w-]))?"
SPOKEN = re.compile(f"({PHRASE})|({COMMAND})|{OPTION}")


def in_python(words: str) -> str:
    """What a message of the library says, with arguments in place of options: `--min-channels` is `min_channels=`."""

    def said(found: re.Match[str]) -> str:
        phrase, command, option, value = found.groups()
        if phrase:
            return PHRASES[phrase]
        if command:
            return command
        name = ARGUMENTS.get(option)
        if name is None:
            return found[0]
        if value is None:
            return name
        return f'{name}["{value}"]' if name == "inputs=" else f'{name}"{value}"'

    return SPOKEN.sub(said, words)


def error_in_python(error: Exception) -> str:
    return in_python(Exception.__str__(error))


setattr(_core.Error, "__str__", error_in_python)
