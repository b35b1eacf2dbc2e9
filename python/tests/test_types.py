"""Types: the stub is what the extension has, and everything checks against it."""

import pathlib
import subprocess
import sys

import ampere
import pytest
from conftest import ROOT

STUB = ROOT / "python" / "ampere" / "_core.pyi"


def test_the_stub_is_up_to_date(tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / "made.pyi"
    subprocess.run([sys.executable, ROOT / "tools" / "make_stub", made], check=True)
    assert made.read_text() == STUB.read_text(), f"run {sys.executable} tools/make_stub"


def test_the_package_is_typed(tmp_path):
    pytest.importorskip("mypy")
    assert (pathlib.Path(ampere.__file__).parent / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text("""
import ampere

model = ampere.Model.load("lenet5")
with ampere.Device.stored("profiles.db") as device:
    estimate = ampere.estimate(device, model, batch=32)
    job: float = (estimate.energy_j * 10).value
try:
    with ampere.Monitor() as monitor, monitor.window("epoch") as window:
        reveal_type(window.energy_j)
except ampere.NoMeterError as error:
    reveal_type(error.kind)
""")
    # What the package itself imports is large, and its business.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = True\n[mypy-torch.*,transformers.*,lightning.*]\nfollow_imports = skip\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path / "cache", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert 'Revealed type is "float"' in done.stdout and 'Revealed type is "str"' in done.stdout
