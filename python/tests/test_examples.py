"""The examples run as they are."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples" / "python"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # on a busy machine threads wait for each other, a hundred times as long


@pytest.mark.parametrize(
    "name, needs, words, says",
    [
        ("plain_loop.py", ["torch"], ["30"], "for 30 of 30 steps"),
        ("hugging_face_budget.py", ["torch", "transformers", "accelerate"], ["10000", "10"], "stopped for it"),
        ("prune_to_budget.py", ["torch"], ["60%"], "each measured at its own sizes"),
        ("lightning_run.py", ["torch", "lightning"], ["1"], "for 32 of 32 steps"),
    ],
)
def test_an_example_runs(name, needs, words, says, tmp_path):
    for library in needs:
        pytest.importorskip(library)
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "AMPERE_METER": "cpu-model", **ONE_THREAD}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *words], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "energy of a step" in done.stdout and says in done.stdout


def test_the_notebook_runs(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("AMPERE_METER", "cpu-model")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(EXAMPLES / "estimate.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = str([cell.get("outputs") for cell in notebook.cells])
    assert "energy of a step" in shown and "37500 steps" in shown
    assert "predicted" in shown
