"""python -m ampere.worker holds the conversation that every worker must hold, and the command line profiles with it."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("torch")

WORKER = [sys.executable, "-m", "ampere.worker"]


def test_the_contract_of_workers():
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "worker_contract.py", *WORKER], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.skipif("AMPERE_PROGRAM" not in os.environ, reason="needs the command line, in AMPERE_PROGRAM")
def test_the_command_line_profiles_and_estimates_with_it(tmp_path):
    def ampere(*words):
        done = subprocess.run(
            [os.environ["AMPERE_PROGRAM"], *words, "--store", tmp_path / "store.db", "--json"],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    quick = ["--points-1d", "3", "--points-2d", "5", "--checks", "2", "--point-seconds", "0.1"]
    profile = ampere("profile", "lenet5", "--batch", "4", *quick, "--worker", "exec " + shlex.join(WORKER))
    assert "pytorch" in profile["device"]["framework"]
    figures = ampere("estimate", "lenet5:c1=3", "--batch", "4")["iteration"]
    assert figures["energy_low_j"] < figures["energy_j"] < figures["energy_high_j"]


HOSTILE = [
    ("{}", "calls"),
    ("[]", "calls"),
    ("not JSON", "calls"),
    (
        '{"tensors": [], "footprint": 1, "forward": [{"op": "os::system", "overload": "a", "args": [], "out": []}]}',
        "no aten",
    ),
    (
        '{"tensors": [], "footprint": 1, "forward": [{"op": "aten::nothing", "overload": "a", "args": [], "out": []}]}',
        "has no",
    ),
    ('{"tensors": [{"sizes": [-1], "strides": [1], "dtype": "float32", "from": "input"}], "footprint": 1}', ""),
    (
        '{"tensors": [{"sizes": [1000000000000], "strides": [1], "dtype": "float32", "from": "input"}], "footprint": 1}',
        "memory",
    ),
    (
        '{"tensors": [], "footprint": 1, "forward": [{"op": "aten::from_file", "overload": "default", "args": ["x"], '
        '"out": []}]}',
        "no aten op",
    ),
    ('{"tensors": [{"sizes": [4], "strides": [1], "dtype": "load", "from": "input"}], "footprint": 1}', "dtype"),
]


def test_hostile_parts_are_refused():
    requests = []
    for calls, _ in HOSTILE:
        nodes = [{"op": "input", "shape": [1]}, {"op": "calls", "calls": calls}]
        params = {"network": {"nodes": nodes}, "batch": 1, "energy": False}
        requests.append({"id": len(requests), "verb": "measure", "params": params})
    requests.append({"id": len(requests), "verb": "hello"})
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(WORKER, input=lines, capture_output=True, text=True, timeout=300)
    *answers, last = map(json.loads, done.stdout.splitlines())
    assert last["ok"], "the worker lives on"
    for answer, (calls, complaint) in zip(answers, HOSTILE, strict=True):
        assert not answer["ok"] and complaint in answer["error"]["message"], (calls, answer)


def test_what_marks_cost_is_taken_off_each_call_alike() -> None:
    from ampere.worker.timed_calls import as_replayed

    times = as_replayed([10e-6, 100e-6, 2e-6], 106e-6, [False] * 3)
    assert times == pytest.approx([7.5e-6, 97.5e-6, 1e-6])  # the shortest keeps half of its time
    assert as_replayed([10e-6, 20e-6], 33e-6, [False] * 2) == pytest.approx([11e-6, 22e-6])
    assert sum(as_replayed([10e-6, 20e-6], 3e-6, [False] * 2)) == pytest.approx(3e-6)
    assert as_replayed([10e-6, 50e-6], 40e-6, [False, True]) == pytest.approx([10e-6, 30e-6])
    assert as_replayed([], 1e-6, []) == []
