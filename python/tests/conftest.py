"""What the tests share: the repository's recorded stores and the worker that only pretends to train."""

import pathlib
import shlex
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORES = ROOT / "tests" / "data" / "stores"
QUICK = {"points_1d": 3, "points_2d": 5, "whole_networks": 2, "budget_s": 0.1}


@pytest.fixture
def store(tmp_path):
    """A copy of a recorded store: opening one may bring it to the newest version."""
    return shutil.copy(STORES / "v1_cpu.db", tmp_path / "store.db")


@pytest.fixture
def worker():
    return "exec " + shlex.join([sys.executable, str(ROOT / "tests" / "scripted_worker.py"), "ok"])


@pytest.fixture
def profiled(tmp_path, worker):
    """An open device on which lenet5 was profiled at batch 8."""
    import ampere

    with ampere.Device.open(tmp_path / "profiled.db", worker=worker) as device:
        ampere.profile(device, ampere.Model.load("lenet5"), batch=8, **QUICK)
        yield device
