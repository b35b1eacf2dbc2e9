"""Hardware that nobody measured, told by its data sheet."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import ampere  # noqa: E402

MODEL = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 36, 10))
INPUTS = torch.ones(64, 3, 8, 8)
CARD = {
    "name": "Some card",
    "float32_flops_per_s": 20e12,
    "half_flops_per_s": 160e12,
    "bytes_per_s": 1e12,
    "limit_w": 300,
    "source": "its data sheet, 2026",
}


def test_a_name_is_enough():
    found = ampere.estimate(MODEL, INPUTS, device="sheet:h100", exact=False)
    low, high = found.interval()
    assert 0 < low < found.energy_j < high and high / low > 4
    assert found.modelled and found.unmeasured == pytest.approx(1)
    assert any("nothing was measured on NVIDIA H100 SXM" in note and "wide" in note for note in found.notes)
    assert "modelled" in str(found) and "data sheet" in str(found)
    replayed = found.in_mode("replay")
    assert replayed.time_s <= found.time_s


def test_a_file_is_enough(tmp_path):
    path = tmp_path / "card.json"
    path.write_text(json.dumps(CARD))
    slow = ampere.estimate(MODEL, INPUTS, device=f"sheet:{path}", mode="replay")
    path.write_text(json.dumps(CARD | {"bytes_per_s": 4e12, "float32_flops_per_s": 80e12}))
    fast = ampere.estimate(MODEL, INPUTS, device=f"sheet:{path}", mode="replay")
    assert fast.time_s < slow.time_s
    path.write_text(json.dumps(CARD | {"type": "cpu"}))
    assert ampere.estimate(MODEL, INPUTS, device=f"sheet:{path}").regime == "cpu"


def test_devices_are_compared_by_their_sheets():
    found = ampere.compare(MODEL, INPUTS, ["sheet:p100", "sheet:l4"])
    assert {p.device for p in found} == {"NVIDIA P100 SXM2 (data sheet)", "NVIDIA L4 (data sheet)"}


def test_mistakes_are_told(tmp_path):
    with pytest.raises(ampere.BadInputError, match="known: a100-40"):
        ampere.estimate(MODEL, INPUTS, device="sheet:h900")
    with pytest.raises(ampere.BadInputError, match="nothing can be measured"):
        ampere.estimate(MODEL, INPUTS, device="sheet:h100", exact=True)
    path = tmp_path / "card.json"
    path.write_text(json.dumps(CARD | {"limit_w": 3e9}))
    with pytest.raises(ampere.BadInputError, match="limit_w"):
        ampere.estimate(MODEL, INPUTS, device=f"sheet:{path}")


def test_the_figures_do_not_depend_on_a_store(tmp_path):
    """A sheet's store is in memory: nothing is written, wherever the default would be."""
    program = (
        "import torch, ampere; m = torch.nn.Linear(8, 8); "
        "ampere.estimate(m, torch.ones(4, 8), device='sheet:t4')"
    )
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path), "AMPERE_STORE": ""}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=environment)
    assert not list(tmp_path.rglob("*.db"))
