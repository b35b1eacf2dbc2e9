"""The wheel, as somebody without this checkout meets it: in an environment of its own, with nothing else installed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest
from conftest import ROOT, STORES

pytestmark = pytest.mark.wheel

# What every Linux has, or Python has loaded already. Everything else must come with the wheel.
MAY_BE_OUTSIDE = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libstdc++.so", "libgcc_s.so")
PROGRAM = """
import json, sys
import ampere
device = ampere.Device.stored(sys.argv[1])
estimate = ampere.estimate(device, ampere.Model.load(sys.argv[2]), batch=int(sys.argv[3]))
told = {"energy_j": estimate.energy_j.value, "energy_low_j": estimate.energy_j.low, "time_s": estimate.time_s.value}
print(json.dumps({"file": ampere.__file__, "version": ampere.__version__, **told}))
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3600, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the checkout, unless AMPERE_WHEELS says where that has happened; then made to stand alone."""
    folder = tmp_path_factory.mktemp("wheels")
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    there = pathlib.Path(os.environ.get("AMPERE_WHEELS", folder))
    if there == folder:
        pytest.importorskip("scikit_build_core")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "wheel", "--no-build-isolation", "--no-deps", "-w", folder, ROOT / "python", env=environment)
    (built,) = there.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "-w", folder / "repaired", built, env=environment)
    (repaired,) = (folder / "repaired").glob("*manylinux*.whl")
    return repaired


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory):
    """The Python of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    return folder / "bin" / "python"


def bare():
    """Nothing that would lead to this checkout or to what is installed here."""
    return {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}


def test_nothing_from_outside(clean):
    folder = clean.parent.parent
    (extension,) = folder.rglob("_core*.so")
    for line in run("ldd", extension).splitlines():
        name, _, where = line.strip().partition(" => ")
        assert str(folder) in where or name.rpartition("/")[2].startswith(MAY_BE_OUTSIDE), line
        assert "torch" not in name


def test_it_is_small(wheel):
    assert wheel.stat().st_size < 12e6


def test_estimates_as_the_program_does(clean, tmp_path):
    store = shutil.copy(STORES / "v1_cpu.db", tmp_path / "store.db")
    recorded = json.loads((STORES / "v1_estimates.json").read_text())["estimates"][0]
    model, batch = recorded["arguments"][0], recorded["arguments"][2]
    told = json.loads(run(clean, "-c", PROGRAM, store, model, batch, env=bare(), cwd=tmp_path))
    assert pathlib.Path(told["file"]).is_relative_to(clean.parent.parent)
    assert told["energy_j"] == pytest.approx(recorded["energy_j"], rel=1e-4)
    program = os.environ.get("AMPERE_PROGRAM")
    if program is None:
        return
    said = json.loads(run(program, "estimate", model, "--batch", batch, "--store", store, "--json", env=bare()))
    iteration = said["iteration"]
    for field in ("energy_j", "energy_low_j", "time_s"):
        assert told[field] == pytest.approx(iteration[field], rel=1e-9)
    assert told["version"] == run(program, "--version").split()[-1]
