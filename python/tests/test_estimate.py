"""ampere.estimate on the CPU, with the package's own worker."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ampere  # noqa: E402
from ampere.estimating import captured_network, forget_devices  # noqa: E402
from ampere.recipes import precision_words  # noqa: E402

MODEL = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    store = str(tmp_path_factory.mktemp("store") / "profiles.db")
    yield ampere.estimate(
        MODEL, torch.randn(4, 3, 8, 8), device="cpu", optimizer="adamw", store=store, meter="cpu-model"
    ), store
    forget_devices()


def test_what_it_answers(found):
    e, _ = found
    low, high = e.interval(0.95)
    assert 0 < low < e.energy_j < high
    assert e.interval(0.5)[0] > low
    assert e.time_s > 0 and e.modelled and e.regime == "cpu"
    assert e.job(samples=40, epochs=3).steps == 30
    assert e.job(samples=40, epochs=3).energy_j == pytest.approx(30 * e.energy_j)
    assert e.energy_at(1e9) == e.energy_j  # a CPU does not wait for another


def test_by_module_speaks_the_users_names(found):
    e, _ = found
    names = [module.name for module in e.by_module()]
    assert names == ["0", "3", "(optimizer)"]
    assert sum(module.share for module in e.by_module(depth=1)) == pytest.approx(1)
    assert e.by_module()[0].type == "Conv2d"


def test_for_people(found):
    e, _ = found
    assert "energy of a step" in str(e) and "modelled" in str(e)
    assert e._repr_html_().startswith("<table>")
    assert e.to_dict()["energy_j"] == e.energy_j


def test_what_was_measured_is_kept(found):
    e, store = found
    again = ampere.estimate(
        MODEL, torch.randn(4, 3, 8, 8), device="cpu", optimizer="adamw", store=store, meter="cpu-model"
    )
    assert again.energy_j == e.energy_j
    assert again.estimate.probed.measured == 0


def test_mistakes_are_told():
    with pytest.raises(TypeError, match="nn.Module"):
        ampere.estimate("resnet50", torch.ones(1))
    with pytest.raises(TypeError, match="inputs"):
        ampere.estimate(MODEL)
    with pytest.raises(ValueError, match="precision"):
        ampere.estimate(MODEL, torch.ones(1), precision="fp8")
    with pytest.raises(Exception, match="optimizer"):
        ampere.estimate(MODEL, torch.ones(4, 3, 8, 8), optimizer="lion", device="cpu")


def test_a_meter_that_cannot_be_used_leaves_nothing_in_the_store(tmp_path):
    store = tmp_path / "profiles.db"
    with pytest.raises(ampere.BadInputError, match="no meter is called 'nonsense'"):
        ampere.estimate(MODEL, torch.ones(4, 3, 8, 8), device="cpu", store=str(store), meter="nonsense")
    assert not store.exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="without a GPU")
def test_without_the_gpu_and_without_a_store(tmp_path):
    with pytest.raises(ampere.BadInputError, match="no CUDA device is here, and .*no such store"):
        ampere.estimate(MODEL, torch.ones(4, 3, 8, 8), device="cuda", store=str(tmp_path / "none.db"))


def test_only_accelerators_have_tf32(found):
    e, _ = found
    assert e.recipe == "float32, adamw" and "TF32" not in str(e)
    assert "TF32 in convolutions" in precision_words("default", "cuda")
    assert "no TF32" in precision_words("tf32", "cpu") and precision_words("bf16", "cpu") == "bfloat16 autocast"


class Attends(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.fused, self.heads = fused, nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.heads(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        if self.fused:
            return nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    "device, precision, optimizer, notes",
    [
        ("cuda", "default", "sgd", ["bf16", "adamw"]),
        ("cuda", "bf16", "adamw", []),
        ("cuda", "bf16", torch.optim.SGD, []),  # who says so means it
        ("cpu", "default", "sgd", ["adamw"]),
    ],
)
def test_attention_is_seldom_trained_like_that(fused, device, precision, optimizer, notes):
    model = Attends(fused)
    chosen = optimizer if isinstance(optimizer, str) else optimizer(model.parameters(), lr=0.1)
    captured = captured_network(model, torch.randn(2, 5, 8), None, chosen, precision, device, 1, None, None)
    said = captured.notes()
    assert len(said) == len(notes) and all(word in note for word, note in zip(notes, said))
    plain = captured_network(MODEL, torch.randn(4, 3, 8, 8), None, "sgd", precision, device, 1, None, None)
    assert plain.notes() == []
