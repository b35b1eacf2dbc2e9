"""Why a client does not take part, in one line that tells what to do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable

from .. import _core

PYTORCH_WORKER = '--worker "python -m ampere.worker"'
SOME = 3  # of what a message lists
LONGEST = 600  # letters: parts of it come from clients

# What helps, by a word of the reason. Where nobody has profiled, the reason itself has the command.
ADVICE = {
    "deadline": "A longer deadline_s, fewer epochs, or a smaller unit_spread for devices that are known to be alike.",
    "battery": "They have to charge, or to train for fewer epochs; see each client's reserve and background_w, too.",
    "charge": "They have to charge, or to train for fewer epochs; see each client's reserve and background_w, too.",
    "answer": "Do the clients call ampere.federated.answer_queries(app, ...), and is ask_timeout_s long enough?",
}


def in_one_line(text: str) -> str:
    """What a message lists on lines of its own comes behind the first line, the first few of it."""
    lines = ["".join(c if c.isprintable() else " " for c in line).strip() for line in text.splitlines()]
    first, *listed = [line for line in lines if line] or [""]
    told = " ".join([first, ", ".join(listed[:SOME])]).strip()
    if len(listed) > SOME:
        told += f" and {len(listed) - SOME} more"
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}..."


def commonest(reasons: Iterable[str]) -> tuple[str, int]:
    """One of those that most share, and how many do. Figures differ from client to client: only the words count."""
    told = list(reasons)
    by_words = Counter(re.sub(r"\b\d[\d.e+-]*", "#", why) for why in told)
    words, count = by_words.most_common(1)[0]
    return next(why for why in told if re.sub(r"\b\d[\d.e+-]*", "#", why) == words), count


def advice(why: str) -> str:
    if "ampere profile" in why or "ampere.profile" in why:
        return ""
    return next((text for word, text in ADVICE.items() if word in why), "")


def described(device: str, fingerprint: str) -> str:
    """`NVIDIA H200 (bb8eeaed6340c0ec, pytorch 2.15.0, meter nvml)`, as far as the fingerprint tells."""
    told = parsed(fingerprint)
    details = [device, told.get("framework", ""), f"meter {told['meter']}" if told.get("meter") else ""]
    return f"{told.get('name', 'device')} ({', '.join(filter(None, details))})"


def parsed(fingerprint: str) -> dict[str, str]:
    try:
        told = json.loads(fingerprint)
    except ValueError:
        return {}
    if not isinstance(told, dict):
        return {}
    return {key: value for key, value in told.items() if isinstance(value, str) and value}


def relatives(store: str, fingerprint: str) -> list[str]:
    """The same hardware as the store knows it: with another framework, driver or meter, and so another device."""
    name = parsed(fingerprint).get("name", "")
    found = []
    for info in (info for info in _core.stored_devices(store) if name and info.name == name):
        try:
            with _core.Device.stored(store, info.id) as there:
                told = parsed(there.fingerprint)
        except _core.Error:  # a device that cannot be read is no help
            continue
        found.append(", ".join(filter(None, [info.id, told.get("framework", ""), f"meter {info.meter}"])))
        if len(found) == SOME:
            break
    return found


def profile_command(model: _core.Model, batch: int, recipe: _core.Recipe | None, fingerprint: str) -> str:
    """That measures what is missing, with the framework that the client trains with."""
    zoo = {known.name for known in _core.known_models()}
    asked, usual = recipe or _core.Recipe(), _core.Recipe()
    words = ["ampere profile", model.name if model.name in zoo else "MODEL", f"--batch {batch}"]
    for option in ("optimizer", "precision", "threads"):
        if getattr(asked, option) != getattr(usual, option):
            words.append(f"--{option} {getattr(asked, option)}")
    words += ["--autotune on"] * asked.autotune + ["--deterministic"] * asked.deterministic
    if not parsed(fingerprint).get("framework", "").startswith("libtorch"):
        words.append(PYTORCH_WORKER)
    return " ".join(words)
