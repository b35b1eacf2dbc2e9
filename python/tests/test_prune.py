"""ampere.prune of a user's own modules: their channels come out consistent, and what was measured is used again."""

import json

import pytest

torch = pytest.importorskip("torch")
from conftest import QUICK  # noqa: E402
from torch import nn  # noqa: E402

import ampere  # noqa: E402
from ampere import _core  # noqa: E402
from ampere.capture.forward import recorded_forward  # noqa: E402
from ampere.estimating import forget_devices  # noqa: E402

X = torch.randn(4, 3, 12, 12)


class Block(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, inner, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3)
        self.blocks = nn.Sequential(Block(16, 24), Block(16, 24))
        self.depthwise = nn.Conv2d(16, 16, 3, groups=16)
        self.point = nn.Conv2d(16, 32, 1)
        self.head = nn.Linear(32 * 16, 10)

    def forward(self, x):
        x = self.point(self.depthwise(self.blocks(self.stem(x))))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 4), 1))


def resized(model, pruning):
    """The model with the numbers that came out, module by module: it trains only if they fit together."""
    for m in pruning.modules:
        parent, _, name = m.name.rpartition(".")
        old = model.get_submodule(m.name)
        if isinstance(old, nn.Conv2d):
            sizes = (old.kernel_size, old.stride, old.padding, old.dilation, m.groups, old.bias is not None)
            new = nn.Conv2d(m.in_channels, m.out_channels, *sizes)
        elif isinstance(old, nn.Linear):
            new = nn.Linear(m.in_channels, m.out_channels, old.bias is not None)
        else:
            new = type(old)(m.out_channels)
        setattr(model.get_submodule(parent), name, new)
    return model


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def test_channels_fit_together():
    model = Residual()
    before = parameters(model), model.training
    pruning = ampere.prune(model.eval(), X, "50%", by="flops", candidates=3000)
    assert (parameters(model), not model.training) == before and pruning.pruned.parameters_before == before[0]
    assert pruning.pruned.flops_after <= 0.5 * pruning.pruned.flops_before and pruning.share <= 0.5
    small = resized(model, pruning)
    small.train()(X).square().mean().backward()
    assert parameters(small) == pruning.pruned.parameters_after
    assert pruning.channels["head"] == 10
    tied = next(names for names in pruning.tied if "stem" in names)
    assert set(tied) >= {"stem", "blocks.0.conv2", "blocks.1.conv2", "depthwise"}
    assert len({pruning.channels[name] for name in tied}) == 1
    assert pruning.channels["blocks.0.bn2"] == pruning.channels["stem"]


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "densenet121", "squeezenet1_0", "efficientnet_b0"])
def test_torchvisions_networks_fit_together(name):
    torchvision = pytest.importorskip("torchvision")
    with torch.device("meta"):
        model = getattr(torchvision.models, name)()
    x = torch.empty(2, 3, 64, 64, device="meta")
    pruning = ampere.prune(model, x, by="flops", candidates=2000)
    with torch.device("meta"):
        small = resized(model, pruning)
    assert small(x).shape == (2, 1000)
    assert parameters(small) == pruning.pruned.parameters_after < pruning.pruned.parameters_before


def test_modules_that_hang_together_otherwise_stay():
    class Again(nn.Module):
        """Calls one module twice, and ties the weights of its end to those of its beginning."""

        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 16)
            self.mix = nn.Linear(16, 16)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
            self.wide = nn.Linear(16, 64)
            self.narrow = nn.Linear(64, 16)
            self.end = nn.Linear(16, 50, bias=False)
            self.end.weight = self.words.weight

        def forward(self, x):
            x = self.mix(torch.relu(self.mix(self.words(x))))
            x = self.attention(x, x, x, need_weights=False)[0]
            return self.end(self.narrow(torch.relu(self.wide(x))))

    pruning = ampere.prune(Again(), torch.zeros(4, 7, dtype=torch.long), "80%", by="flops", candidates=500)
    assert pruning.channels["wide"] < 64
    assert {pruning.channels[name] for name in ("words", "mix", "narrow")} == {16} and pruning.channels["end"] == 50
    said = "\n".join(pruning.notes)
    assert "mix is used more than once" in said and "attention has several weights" in said


def test_what_a_forward_pass_is():
    told = recorded_forward(Residual(), X)
    assert told["batch"] == 2 and told["tensors"][told["inputs"][0]]["shape"] == [2, 3, 12, 12]
    convolutions = [op["module"] for op in told["ops"] if op["op"].startswith("aten::conv")]
    assert convolutions[:2] == ["stem", "blocks.0.conv1"]
    assert not any(op["op"] == "aten::add_" for op in told["ops"]), "counters of batch norms are no part of it"
    assert _core.Model.from_trace(json.dumps(told)).parameters == parameters(Residual())


def test_recurrent_layers_keep_their_weights():
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.read = nn.LSTM(8, 16)
            self.end = nn.Linear(16, 3)

        def forward(self, x):
            return self.end(self.read(x)[0])

    model = Reader()
    pruning = ampere.prune(model, torch.randn(5, 4, 8), "70%", by="flops", batch_axis=1, candidates=500)
    assert pruning.batch == 4 and pruning.channels["read"] < 16 and pruning.modules[1].in_channels < 16
    assert model.read._flat_weights[0] is model.read.weight_ih_l0
    model(torch.randn(5, 4, 8))


def test_scores_and_what_is_kept():
    scores = {"stem": [float(i) for i in range(16)], "point": 5}
    pruning = ampere.prune(
        Residual(), X, "60%", by="flops", scores=scores, keep=["blocks.0"], multiple_of=4, candidates=2000
    )
    assert pruning.channels["blocks.0.conv1"] == 24 and pruning.channels["stem"] == 16  # tied to what is kept
    assert pruning.channels["point"] % 4 == 0
    free = ampere.prune(Residual(), X, "60%", by="flops", scores={"stem": scores["stem"]}, candidates=2000)
    left = free.channels["stem"]
    assert left == 16 or free.kept["stem"] == list(range(16 - left, 16)), "the best ones"


# --- on a device ------------------------------------------------------------------------------------------------------

# Large enough for channels to matter beside what any step takes.
SMALL = nn.Sequential(
    nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(16), nn.Flatten(), nn.Linear(64, 4)
)
SMALL_X = torch.randn(8, 3, 20, 20)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A store of this machine's CPU, where SMALL is measured by the package's own worker."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # threads that wait for each other take longer than the work
    where = {"device": "cpu", "store": str(tmp_path_factory.mktemp("store") / "profiles.db"), "meter": "cpu-model"}
    yield where
    forget_devices()
    torch.set_num_threads(threads)


def test_profiles_then_prunes_and_estimates_from_the_store(here):
    empty = ampere.profile(**here)
    assert empty.known == [] and "nothing yet" in str(empty) and empty.points == 0
    profile = ampere.profile(model=SMALL, inputs=SMALL_X, optimizer="momentum", **here, **QUICK)
    assert profile.parts > 0 and profile.points > 0 and profile.modelled
    assert {known.over_channels for known in profile.known} == {True, False}
    assert {known.recipe for known in profile.known} == {"momentum-fp32-t1", "captured-fp32-t1"}  # a CPU's default
    assert profile.to_dict()["points"] == profile.points and "measured now" in str(profile)

    pruning = ampere.prune(SMALL, SMALL_X, "70%", optimizer="momentum", profiling=QUICK, candidates=2000, **here)
    assert not any("measured" in note for note in pruning.notes), "all of it was known"
    assert pruning.energy_j <= 0.7 * pruning.energy_before_j and pruning.modelled
    low, high = pruning.interval()
    assert low < pruning.energy_j < high and pruning.interval_before()[0] < pruning.energy_before_j
    told = json.loads(json.dumps(pruning.to_dict()))
    assert told["channels"] == pruning.channels and told["after"]["energy_low_j"] == pytest.approx(low)
    assert "energy of a step" in str(pruning) and "float32, momentum" in str(pruning)
    assert pruning._repr_html_().startswith("<table>")

    estimate = ampere.estimate(SMALL, SMALL_X, optimizer="momentum", **here)
    assert estimate.estimate.probed.measured == 0
    stored = ampere.Device.stored(here["store"])
    again = ampere.prune(SMALL, SMALL_X, "70%", optimizer="momentum", candidates=2000, device=stored)
    assert again.channels == pruning.channels and again.energy_j == pytest.approx(pruning.energy_j)
    adam = ampere.prune(SMALL, SMALL_X, "70%", optimizer="adam", candidates=500, device=stored)
    low, high = adam.interval()
    assert adam.pruned.before.unmeasured > 0.5 and high / low > again.interval()[1] / again.interval()[0]
    torch.set_num_threads(2)  # of which nothing is known
    with pytest.raises(ampere.NotProfiledError, match="ampere.profile"):
        ampere.prune(SMALL, SMALL_X, "70%", optimizer="momentum", device=stored)
    torch.set_num_threads(1)
    with pytest.raises(ampere.BadInputError, match="from a store alone"):
        ampere.profile(stored, SMALL, SMALL_X)


def test_pruning_measures_first(here, tmp_path):
    new = {**here, "store": str(tmp_path / "new.db")}
    pruning = ampere.prune(SMALL, SMALL_X, "80%", profiling=QUICK, candidates=500, **new)
    assert any("points of" in note and "kept in" in note for note in pruning.notes)


def test_networks_by_name_and_models_of_the_library(tmp_path, worker):
    store = tmp_path / "store.db"
    with ampere.Device.open(store, worker=worker) as device:
        profile = ampere.profile(device, "lenet5", batch=8, **QUICK)
        assert profile.points > 0 and not profile.parts
        again = ampere.profile(device, ["lenet5"], batch=8, **QUICK)
        assert again.points == 0 and again.reused > 0
        with pytest.raises(TypeError, match="no model"):
            ampere.profile(device, points_1d=3)
    by_flops = ampere.prune(ampere.Model.load("lenet5"), budget="50%", by="flops", batch=8, candidates=2000)
    assert by_flops.channels["conv1"] <= 6 and by_flops.energy_j is None and by_flops.modules[0].type == "conv2d"


def test_what_cannot_be_followed_is_still_profiled(here):
    class Sorted(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4)

        def forward(self, x):
            return torch.sort(self.fc(x))[0]

    profile = ampere.profile(model=Sorted(), inputs=torch.randn(4, 8), **here)
    assert profile.parts + profile.reused > 0 and any("not for pruning" in note for note in profile.notes)
    with pytest.raises(ampere.BadInputError, match=r"(?s)aten::sort.*ampere.estimate"):
        ampere.prune(Sorted(), torch.randn(4, 8), by="flops")


def test_mistakes_are_told(here):
    class Decides(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(TypeError, match="nn.Module or an ampere.Model"):
        ampere.prune("resnet50", X)
    with pytest.raises(TypeError, match="needs inputs"):
        ampere.prune(SMALL)
    with pytest.raises(TypeError, match="does not know candidate"):
        ampere.prune(SMALL, SMALL_X, candidate=3)
    with pytest.raises(ValueError, match='"energy" or "flops"'):
        ampere.prune(SMALL, SMALL_X, by="parameters")
    with pytest.raises(ampere.BadInputError, match="torch.export"):
        ampere.prune(Decides(), SMALL_X, by="flops")
    with pytest.raises(ampere.BadInputError, match="torch.export.*4 channels"):
        ampere.prune(SMALL, torch.randn(8, 4, 20, 20), by="flops")
    with pytest.raises(ampere.BadInputError, match='called "layer9"'):
        ampere.prune(SMALL, SMALL_X, by="flops", keep=["layer9"])
    with pytest.raises(ampere.OverBudgetError, match=r"\(min_channels"):
        ampere.prune(SMALL, SMALL_X, "0.001%", by="flops", candidates=100)
    with pytest.raises(ValueError, match="bf16"):
        ampere.prune(SMALL, SMALL_X, precision="fp16", device="cpu")
    with pytest.raises(ValueError, match="state per weight"):
        ampere.prune(SMALL, SMALL_X, optimizer=torch.optim.Adagrad(SMALL.parameters()), device="cpu")
    with pytest.raises(TypeError, match="needs inputs"):
        ampere.profile("cpu", SMALL)
