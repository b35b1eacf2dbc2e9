"""What torch.compile is given is captured, cut into regions, and compiled again by the worker."""

import json
import shutil
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ampere  # noqa: E402
from ampere.capture import Training, capture  # noqa: E402
from ampere.capture.parts import network_of  # noqa: E402
from ampere.estimating import forget_devices  # noqa: E402
from ampere.worker.compiled import Region  # noqa: E402
from ampere.worker.part import BadPart  # noqa: E402

CPU = torch.device("cpu")
compiles = pytest.mark.skipif(not shutil.which("g++"), reason="the compiler of PyTorch needs g++ for a CPU")


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))
        self.two = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.two(self.relu(self.one(x)))
        y += x
        return self.relu(y)


class Images(nn.Module):
    def __init__(self, blocks=1):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.blocks = nn.Sequential(*(Residual(8) for _ in range(blocks)))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def encoder(layers, dropout=0.0, norm_first=True):
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout, batch_first=True, norm_first=norm_first)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def images(blocks=1, **options):
    return Training(Images(blocks), torch.randn(4, 3, 8, 8), lambda y: y.square().mean(), compile=True, **options)


def texts(layers, dropout=0.0, norm_first=True, **options):
    return Training(encoder(layers, dropout, norm_first), torch.randn(2, 6, 16), compile=True, **options)


def bodies(training, device="cpu"):
    nodes = network_of(capture(training, device))["nodes"]
    return [json.loads(n["calls"]) for n in nodes if n["op"] == "calls"]


def regions(training, device="cpu"):
    return [body for body in bodies(training, device) if body.get("compiled")]


def kinds(found):
    return {json.dumps(body, sort_keys=True) for body in found}


# --- capturing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("make", [lambda: images(9), lambda: images(9, precision="bf16"), lambda: texts(6, 0.1)])
def test_regions_have_every_compiled_call_once(make, device):
    step = capture(make(), device)
    told = [json.loads(n["calls"]) for n in network_of(step)["nodes"] if n["op"] == "calls"]
    found = Counter(call["op"] for body in told if body.get("compiled") for call in body["forward"])
    assert found == Counter(call.op for call in step.calls if call.compiled)
    left = Counter(call["op"] for body in told if not body.get("compiled") for call in body.get("forward", []))
    assert left == Counter(call.op for call in step.calls if call.phase == "forward" and not call.compiled)
    assert left, "the loss is not compiled"


@pytest.mark.parametrize("norm_first", [True, False])
def test_blocks_that_repeat_are_compiled_once(norm_first):
    found = regions(texts(12, norm_first=norm_first), "cuda")
    assert len(found) > 8
    assert len(kinds(found)) <= 4


def test_a_residual_block_is_not_cut_where_the_compiler_would_fuse():
    """Its input is read twice behind it, and both gradients are summed in one kernel with what they go to."""
    first, *others = regions(images(30), "cuda")
    assert others
    for body in others:
        given = [t for t in body["tensors"] if t.get("from") == "activation"]
        assert len(given) == 2  # so it is cut inside blocks: what the convolution reads, and what is added later


def test_few_kinds_for_a_network_without_repetition():
    channels = [8, 16, 24, 32, 40, 48]
    layers = [nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU()) for a, b in zip([3, *channels], channels)]
    found = regions(Training(nn.Sequential(*layers), torch.randn(2, 3, 8, 8), compile=True), "cuda")
    assert len(found) == 1


def test_layouts_are_decided_for_the_whole_model():
    def decided(*layers):
        found = regions(Training(nn.Sequential(*layers), torch.randn(2, 128, 8, 8), compile=True), "cuda")
        return {body.get("channels_last") for body in found}

    assert decided(nn.Conv2d(128, 128, 3)) == {True}
    assert decided(nn.Conv2d(128, 128, 3), nn.Conv2d(128, 64, 3)) == {False}  # halves its channels
    assert decided(nn.Conv2d(128, 128, 3), nn.Conv2d(128, 64, 1)) == {True}
    assert decided(nn.Conv2d(128, 128, 3, groups=2)) == {False}
    assert decided(nn.Conv2d(128, 128, 3, groups=128)) == {True}
    assert decided(nn.Conv2d(128, 64, 1), *(nn.Conv2d(64, 64, 3, padding=1) for _ in range(30))) == {True}
    assert decided(nn.Flatten(), nn.Linear(128 * 64, 4)) == {None}


def test_eager_steps_are_told_as_before():
    told = bodies(Training(Images(), torch.randn(4, 3, 8, 8)))
    assert not any("compiled" in body or any("gradient" in t for t in body.get("tensors", [])) for body in told)


def test_gradients_of_micro_batches_are_added_by_autograd_itself():
    nodes = network_of(capture(images(accumulate=2)))["nodes"]
    added = next(json.loads(node["calls"]) for node in nodes if node["name"] == "(accumulation)")
    assert len(added["backward"]) == len(list(Images().parameters()))


def test_recurrent_layers_are_left_to_the_framework():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.lstm, self.head = nn.Embedding(9, 8), nn.LSTM(8, 8), nn.Linear(8, 3)

        def forward(self, x):
            return self.head(torch.tanh(self.lstm(self.words(x))[0]))

    told = bodies(Training(Words(), torch.zeros(2, 3, dtype=torch.long), compile=True))
    (lstm,) = [b for b in told if any(call["op"] == "aten::lstm" for call in b.get("forward", []))]
    assert not lstm.get("compiled")
    assert [b["entry"] for b in told if b.get("compiled")] == [True, True]


def test_compiled_models_are_captured_as_they_were_written():
    model = Images()
    asked = network_of(capture(Training(model, torch.randn(4, 3, 8, 8), compile=True)))
    compiled = torch.compile(model)
    assert network_of(capture(Training(compiled, torch.randn(4, 3, 8, 8)))) == asked
    model.compile()
    assert network_of(capture(Training(model, torch.randn(4, 3, 8, 8)))) == asked
    assert model._compiled_call_impl is not None


def test_a_model_of_which_a_part_is_compiled():
    model = Images()
    model.blocks[0] = torch.compile(model.blocks[0])
    before = model.blocks[0]
    step = capture(Training(model, torch.randn(4, 3, 8, 8)))
    assert model.blocks[0] is before
    assert {call.module.split(".")[0] for call in step.calls if call.compiled} == {"blocks"}
    told = [json.loads(n["calls"]) for n in network_of(step)["nodes"] if n["op"] == "calls"]
    assert [bool(body.get("compiled")) for body in told[:3]] == [False, True, False]


# --- the worker ------------------------------------------------------------------------------------------------------


def by_size(tensor):
    """Values that are known from the sizes alone, so that it does not matter which weight of equal size is which."""
    values = torch.empty(tensor.shape).normal_(generator=torch.Generator().manual_seed(tensor.numel())) * 0.3
    return values.abs() + 0.5 if tensor.dim() == 1 else values


def told_apart(gradients):
    return sorted((tuple(g.shape), round(float(g.double().abs().sum()), 3)) for g in gradients)


@compiles
@pytest.mark.parametrize("training", [images(), texts(1), texts(1, norm_first=False)], ids=["images", "pre", "post"])
def test_a_compiled_region_computes_what_the_model_does(training):
    (body,) = regions(training)
    region = Region(body, CPU)
    copy = region.make({})
    model, x = training.model.train(), training.args[0]
    with torch.no_grad():
        for tensor in [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]:
            tensor.copy_(by_size(tensor))
        for tensor, info in zip(copy.inputs, region.given):
            if tensor.is_floating_point():
                tensor.copy_(x if info["from"] == "input" else by_size(tensor))
    expected = model(x)
    region.run_forward(copy)
    torch.testing.assert_close(copy.roots[0].reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)
    wanted = [t for t in copy.inputs if t.requires_grad]
    found = torch.autograd.grad(copy.roots[0].square().mean(), wanted)
    eager = torch.autograd.grad(expected.square().mean(), list(model.parameters()))
    for (size, one), (other_size, other) in zip(told_apart(found), told_apart(eager), strict=True):
        assert size == other_size and one == pytest.approx(other, rel=1e-3, abs=2e-3)
    for tensor, info in zip(copy.inputs, region.given):  # running statistics are updated
        if info["from"] == "buffer" and tensor.is_floating_point():
            assert not torch.equal(tensor, by_size(tensor))


@compiles
def test_what_crosses_regions_is_laid_out_as_the_compiler_would(monkeypatch):
    monkeypatch.setattr("ampere.capture.regions.MOST_CALLS", 12)
    first, second = (Region(body, CPU) for body in regions(images(2))[:2])
    made = first.forward_of(first.make({}))
    taken = second.make({}).inputs
    if first.channels_last:
        assert all(t.is_contiguous(memory_format=torch.channels_last) for t in made if t.dim() == 4)
        assert all(
            t.is_contiguous(memory_format=torch.channels_last)
            for t, info in zip(taken, second.given)
            if t.dim() == 4 and info["from"] == "activation"
        )


@compiles
def test_dropout_mixed_precision_and_copies():
    (body,) = regions(texts(1, 0.5, precision="bf16"))
    region = Region(body, CPU)
    shared = {}
    copies = [region.make(shared) for _ in range(2)]
    region.run(copies)
    first, second = (torch.cat([r.flatten() for r in region.forward_of(copies[0])]) for _ in range(2))
    assert not torch.equal(first, second), "each pass drops others"


@pytest.mark.parametrize(
    "body",
    [
        {"compiled": True},
        {"compiled": True, "tensors": [], "forward": [], "outputs": [3], "footprint": 1, "entry": True},
        {
            "tensors": [],
            "forward": [{"op": "os::system", "overload": "a", "args": [], "out": []}],
            "outputs": [],
            "footprint": 1,
            "entry": True,
        },
    ],
)
def test_hostile_regions_are_refused(body):
    with pytest.raises(BadPart, match="calls"):
        Region(body, CPU)


@compiles
def test_an_estimate_of_compiled_training(tmp_path):
    model, inputs = Images(), torch.randn(4, 3, 8, 8)
    options = {"device": "cpu", "store": str(tmp_path / "profiles.db"), "meter": "cpu-model"}
    try:
        found = ampere.estimate(model, inputs, compile=True, **options)
        assert found.energy_j > 0 and "torch.compile" in found.recipe
        assert [m.name for m in found.by_module(depth=1)] == ["(compiled)", "(step)", "(optimizer)"]
        again = ampere.estimate(torch.compile(model), inputs, **options)
        assert again.estimate.probed.measured == 0 and again.energy_j == found.energy_j
        eager = ampere.estimate(model, inputs, **options)
        assert eager.estimate.probed.measured > 0, "an eager part is of another kind than a compiled one"
    finally:
        forget_devices()
