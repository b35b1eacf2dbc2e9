"""Kinds of devices: imaginary boards, made of one CPU's profile that was really recorded. Each is that profile with its
times and energies multiplied, so AMPERE estimates on it as on any device. No such board exists; what is real is how
calls, layers and their errors hang together."""

from __future__ import annotations

import copy
import json
import lzma
import pathlib
import subprocess
from dataclasses import dataclass
from typing import Any

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results" / "federated"
PROFILE = RESULTS / "cpu.json.xz"  # bench/federated/record.py makes it


@dataclass(frozen=True)
class Board:
    name: str
    time: float  # times that of the recorded CPU
    energy: float


def boards(spread: float = 1.0) -> list[Board]:
    """From the thriftiest to the one that takes 8 ** spread times its joules."""
    return [
        Board("board A", 40, 4),
        Board("board B", 100, 4 * 2**spread),
        Board("board C", 150, 4 * 4**spread),
        Board("board D", 250, 4 * 8**spread),
    ]


def scaled(profile: dict[str, Any], board: Board) -> dict[str, Any]:
    """The profile of a device as that of a board."""
    made = copy.deepcopy(profile)
    made["fingerprint"][
        "name"
    ] = f"imaginary {board.name}: {made['fingerprint']['name']}, time x {board.time:g}, energy x {board.energy:g}"
    for surface in made["surfaces"]:
        for point in surface["points"]:
            measured = point["measurement"]
            for key, factor in (("energy_j", board.energy), ("time_s", board.time), ("host_s", board.time)):
                if measured.get(key) is not None:
                    measured[key] *= factor
    for fact in made["facts"]:
        if fact["name"] == "idle":
            fact["value"]["power_w"] *= board.energy / board.time
    return made


def make_store(store: pathlib.Path, kinds: list[Board], ampere: str) -> list[tuple[str, str]]:
    """A store with these boards in it; their ids and fingerprints. `ampere`: the program."""
    import ampere as package

    exported = json.loads(lzma.open(PROFILE).read())
    profile = exported["devices"][0]
    exported["devices"] = [scaled(profile, board) for board in kinds]
    file = store.with_suffix(".json")
    file.write_text(json.dumps(exported))
    subprocess.run([ampere, "store", "import", str(file), "--store", str(store)], check=True, capture_output=True)
    by_name = {device.name: device.id for device in package.stored_devices(store)}
    return [(by_name[made["fingerprint"]["name"]], json.dumps(made["fingerprint"])) for made in exported["devices"]]
