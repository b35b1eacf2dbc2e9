"""python -m ampere estimate."""

import json

import pytest

torch = pytest.importorskip("torch")

from ampere.__main__ import main  # noqa: E402
from ampere.of_hugging_face import inputs_of, named  # noqa: E402
from ampere.subject import BadSubject, subject_of  # noqa: E402

TRAIN = """
import torch
from torch import nn

def small():
    return nn.Linear(4, 2)

def with_inputs():
    return nn.Linear(4, 2), torch.randn(3, 4)

def all_of_it():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    return {"model": model, "inputs": torch.randn(3, 4), "loss": lambda out: out.sum(), "optimizer": optimizer}

def misspelt():
    return {"model": nn.Linear(4, 2), "input": torch.randn(3, 4)}

def nothing():
    return None

def broken():
    raise RuntimeError("no data")

def does_not_fit():
    return nn.Linear(4, 2), torch.randn(3, 5)
"""


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return str(path)


def asked(*words, tmp_path):
    return main(["estimate", *words, "--device", "cpu", "--meter", "cpu-model", "--store", str(tmp_path / "s.db")])


def test_what_functions_may_give(train):
    assert subject_of(f"{train}:with_inputs").inputs.shape == (3, 4)
    assert subject_of(f"{train}:with_inputs", batch=7).inputs.shape == (7, 4)
    assert subject_of(f"{train}:small", sizes=(4,), batch=5).inputs.shape == (5, 4)
    found = subject_of(f"{train}:all_of_it")
    assert isinstance(found.optimizer, torch.optim.Adam) and found.loss(torch.ones(2)) == 2


def test_it_answers_people_and_programs(train, tmp_path, capsys):
    assert asked(f"{train}:all_of_it", "--samples", "30", "--epochs", "2", tmp_path=tmp_path) == 0
    said = capsys.readouterr().out
    assert "energy of a step" in said and "the job of 2 epochs, 20 steps" in said and "modelled" in said
    assert asked(f"{train}:all_of_it", "--samples", "30", "--json", tmp_path=tmp_path) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["modelled"] and told["batch"] == 3
    assert told["job"]["energy_j"] == pytest.approx(10 * told["energy_j"])


@pytest.mark.parametrize(
    "subject, says",
    [
        ("train.py", "neither FILE.py:FUNCTION nor hf:NAME"),
        ("none.py:make", "there is no file none.py"),
        ("{train}:none", 'no function "none"'),
        ("{train}:small", "without inputs"),
        ("{train}:misspelt", 'the key "input"'),
        ("{train}:nothing", "gives NoneType where an nn.Module is wanted"),
        ("{train}:broken", "failed: RuntimeError: no data"),
        ("{train}:does_not_fit", "cannot take a step"),
        ("{train}:with_inputs --precision fp8", "unknown precision"),
        ("{train}:with_inputs --optimizer lion", "unknown optimizer"),
        ("{train}:with_inputs --length 5", "gives its inputs itself"),
    ],
)
def test_bad_input_is_told_in_one_line(subject, says, train, tmp_path, capsys):
    assert asked(*subject.format(train=train).split(), tmp_path=tmp_path) == 2
    said = capsys.readouterr()
    assert says in said.err and said.err.count("\n") == 1 and said.err.startswith("ampere: ") and not said.out


def test_what_was_not_measured_is_told(train, tmp_path, capsys, store, monkeypatch):
    """All that helps: what to do, and which kinds."""
    from ampere import Device, estimating

    monkeypatch.setattr(estimating, "open_device", lambda *asked: Device.stored(store))
    assert asked(f"{train}:with_inputs", tmp_path=tmp_path) == 6
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("ampere: 3 kinds of parts") and "where the device is" in said[0] and str(store) in said[0]
    assert len(said) == 4 and "Linear@3x4" in said[1]


def test_a_device_of_the_store(train, tmp_path, capsys, store):
    """By its id, and nothing is measured there; --told measures nothing here either."""
    from ampere import stored_devices

    def by(device):
        return main(["estimate", f"{train}:with_inputs", "--device", device, "--store", str(store)])

    for device in ("stored", f"stored:{stored_devices(store)[0].id[:6]}"):
        assert by(device) == 6
        assert "where the device is" in capsys.readouterr().err
    assert by("stored:none") == 2
    assert "has the id none" in capsys.readouterr().err
    assert asked(f"{train}:with_inputs", "--told", tmp_path=tmp_path) == 6
    assert "exact=False" in capsys.readouterr().err


def test_long_errors_are_cut():
    from ampere.__main__ import LINES, shortened

    assert shortened("all of it") == "all of it"
    words = "missing:\n" + "\n".join(f"  kind {i}" for i in range(20))
    assert len(shortened(words).splitlines()) == LINES and shortened(words).endswith("  kind 6\n  and 13 more")


def test_wrong_usage_ends_with_2(train, capsys):
    for words in (["--batch", "0"], ["--input", "3xy"], ["--epochs", "some"]):
        with pytest.raises(SystemExit) as ended:
            main(["estimate", f"{train}:small", *words])
        assert ended.value.code == 2


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("bert-base-cased", 108_340_804),
        ("google-bert/bert-base-uncased", 109_514_298),
        ("distilbert-base-uncased", 66_985_530),
        ("google/vit-base-patch16-224", 86_567_656),
        ("gpt2", 124_439_808),
        ("roberta-base", 124_697_433),
        ("t5-small", 60_506_624),
    ],
)
def test_known_models_are_as_large_as_the_published_ones(name, parameters):
    pytest.importorskip("transformers")
    model, _ = named(name)
    assert sum(p.numel() for p in model.parameters()) == parameters


def test_models_by_name_need_no_weights_and_no_network(monkeypatch, tmp_path):
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model, _ = named("distilbert-base-uncased")
    assert type(model).__name__ == "DistilBertForMaskedLM" and next(model.parameters()).is_meta
    assert inputs_of(model, 2)["input_ids"].shape == (2, 128)
    assert inputs_of(model, 2, 64)["labels"].shape == (2, 64)
    with pytest.raises(BadSubject, match="512 tokens at most"):
        inputs_of(model, 2, 513)
    with pytest.raises(BadSubject, match='no configuration of "nobodys/model"'):
        named("nobodys/model")


def test_a_configuration_in_a_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=20)
    config.architectures = ["GPT2LMHeadModel"]
    config.save_pretrained(tmp_path)
    model, notes = named(str(tmp_path))
    assert type(model).__name__ == "GPT2LMHeadModel" and len(model.transformer.h) == 1 and not notes
