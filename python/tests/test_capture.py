"""A step that was captured without running it makes the calls that autograd makes."""

import json

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from ampere.capture import Training, capture  # noqa: E402
from ampere.capture.capture import capture_fake, capture_real  # noqa: E402
from ampere.capture.parts import joined, network_of, parts_of  # noqa: E402
from ampere.worker.part import Part  # noqa: E402

CPU = torch.device("cpu")


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.block(x)
        return self.head(x.mean((2, 3)))


def small(**options):
    return Training(Small(), torch.randn(4, 3, 8, 8), lambda y: y.square().mean(), **options)


def ops(step, phase):
    return [call.op for call in step.calls if call.phase == phase]


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adamw"])
def test_fake_and_real_steps_make_the_same_calls(optimizer):
    fake = capture_fake(small(optimizer=optimizer), CPU, "small")
    real = capture_real(small(optimizer=optimizer), "small")
    computing = [
        [c.op for c in step.calls if c.op not in ("aten::detach", "aten::item", "aten::_local_scalar_dense")]
        for step in (fake, real)
    ]
    assert computing[0] == computing[1]


def test_a_device_that_is_not_here():
    step = capture_fake(small(precision="bf16", optimizer="adamw"), torch.device("cuda:0"), "small")
    assert {"aten::convolution", "aten::_to_copy"} <= set(ops(step, "forward"))
    assert "aten::convolution_backward" in ops(step, "backward")
    assert any(op.startswith("aten::_foreach") for op in ops(step, "update"))
    assert any(t.dtype == "bfloat16" for t in step.tensors)


def test_the_model_is_left_as_it_was():
    training = small(optimizer="adamw")
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    training.model.eval()
    capture(training, "cuda")
    assert not training.model.training
    assert all(torch.equal(before[name], value) for name, value in training.model.state_dict().items())
    assert all(parameter.grad is None for parameter in training.model.parameters())


def test_a_model_without_memory():
    with torch.device("meta"):
        model = nn.Linear(1 << 20, 1 << 20)  # 4 TB
    step = capture_fake(Training(model, torch.empty(2, 1 << 20, device="meta")), torch.device("cuda:0"), "large")
    assert step.parameters > 1 << 40


def test_backward_calls_belong_to_the_module_of_their_forward_call():
    step = capture_fake(small(), CPU, "small")
    for call in step.calls:
        if call.op == "aten::convolution_backward":
            owner = step.calls[call.owner]
            assert owner.op == "aten::convolution"
    names = [part.name for part in parts_of(step)]
    assert names == ["stem.0", "block.0", "head", "(optimizer)"]


def test_every_call_is_in_one_part():
    step = capture_fake(small(optimizer="adamw", clip=1.0, accumulate=2), CPU, "small")
    placed = sorted(index for part in parts_of(step) for index in part.calls)
    assert placed == list(range(len(step.calls)))


def test_equal_layers_are_one_kind():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(6)))
    network = network_of(capture_fake(Training(model, torch.randn(2, 16)), CPU, "mlp"))
    kinds = {node["calls"] for node in network["nodes"] if node["op"] == "calls"}
    assert len(network["nodes"]) == 1 + 6 + 1 + 1
    assert len(kinds) <= 5  # first, middle, last, optimizer, host


def test_kinds_that_always_come_together_are_joined():
    step = capture_fake(Training(nn.Sequential(*(nn.Linear(8, 8) for _ in range(4))), torch.randn(2, 8)), CPU, "mlp")
    parts = parts_of(step)
    left = joined(parts, [str(i) for i in range(len(parts))], 3)
    assert len(left) == 3
    assert sorted(i for part in left for i in part.calls) == list(range(len(step.calls)))


@pytest.mark.parametrize(
    "training",
    [
        small(),
        small(optimizer="adamw"),
        small(precision="bf16"),
        Training(nn.LSTM(6, 8, 2, batch_first=True), torch.randn(3, 5, 6), lambda y: y[0].sum()),
        Training(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), torch.randn(2, 6, 16)),
        Training(
            nn.Sequential(nn.Embedding(50, 8), nn.GroupNorm(3, 3), nn.Flatten(), nn.Linear(24, 4)),
            torch.randint(50, (5, 3)),
        ),
    ],
)
def test_parts_run_from_their_description_alone(training):
    run_parts(capture_fake(training, CPU, "any"))


def run_parts(step):
    """Returns the tensors that they read."""
    found = []
    for node in network_of(step)["nodes"]:
        if node["op"] == "calls" and node["name"] != "(host)":
            part = Part(json.loads(node["calls"]), CPU)
            shared = {}
            copies = [part.make(shared) for _ in range(3)]
            part.run(copies)
            part.run(copies)
            found += [(info, copies[0].forward[n]) for n, info in enumerate(part.tensors) if "from" in info]
    return found


def test_a_step_that_looks_at_values_is_run_on_the_cpu():
    class Looks(nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            return y * 2 if y.sum().item() > 0 else y

    step = capture(Training(Looks(4, 4), torch.randn(2, 4)), "cuda")
    assert step.how == "cpu" and step.notes


def test_checkpointing_accumulation_and_frozen_weights_are_what_ran():
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.Tanh())
            self.first.requires_grad_(False)

        def forward(self, x):
            return checkpoint(self.second, self.first(x), use_reentrant=False)

    step = capture_fake(
        Training(Checkpointed(), torch.randn(2, 8, requires_grad=True), accumulate=2), CPU, "checkpointed"
    )
    assert ops(step, "backward").count("aten::tanh") == 2  # computed again, once for each micro-batch


def test_a_loop_of_the_users_own():
    seen, inputs = [], torch.ones(2, 4)

    def run(model, optimizer):
        seen.append(1)
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()

    step = capture_fake(Training(nn.Linear(4, 4), (), run=run), torch.device("cuda:0"), "own")
    assert seen and ops(step, "update")


def test_attention_within_a_module_of_torch_is_above_its_kernels_too():
    class Attends(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    before = torch.nn.functional.scaled_dot_product_attention
    step = capture(Training(Attends(), torch.zeros(2, 8, 16), lambda y: y.square().mean()), "cuda")
    ops = [call.op for call in step.calls]
    assert ops.count("aten::scaled_dot_product_attention") == 2  # forward, and its gradient
    assert not any("flash" in op or "efficient" in op for op in ops)
    assert torch.nn.functional.scaled_dot_product_attention is before


def trained(optimizer=None, step=None, loss=lambda y: y.square().mean()):
    model = nn.Linear(8, 4)
    made = optimizer(model.parameters()) if optimizer else "sgd"
    return Training(model, torch.zeros(2, 8), loss, made, run=step)


@pytest.mark.parametrize("name", ["AdamW", "Adam", "NAdam", "RAdam", "RMSprop", "Adagrad", "SGD"])
def test_optimizers_that_users_made_are_taken(name):
    step = capture(trained(getattr(torch.optim, name)), "cpu")
    assert any(call.phase == "update" for call in step.calls)


def test_moments_are_told_from_activations():
    step = capture(trained(torch.optim.Adam), "cpu")
    bodies = [json.loads(node["calls"]) for node in network_of(step)["nodes"] if node["op"] == "calls"]
    optimizer = next(body for body in bodies if "update" in body)
    assert {t["from"] for t in optimizer["tensors"] if "from" in t} >= {"state", "parameter", "gradient"}
    part = Part(optimizer, torch.device("cpu"))
    copies = [part.make({})]
    part.run(copies)
    assert all(torch.isfinite(t).all() for t in copies[0].forward if t is not None)


def test_what_is_wrong_with_a_step_is_said():
    other = nn.Linear(3, 3)
    with pytest.raises(ValueError, match="none of the model's parameters"):
        capture(trained(lambda _: torch.optim.SGD(other.parameters(), lr=0.1)), "cpu")
    with pytest.raises(ValueError, match="function of the model's output alone"):
        capture(trained(loss=nn.CrossEntropyLoss()), "cpu")
    with pytest.raises(ValueError, match="gives NoneType"):
        capture(trained(loss=lambda y: None), "cpu")
    with pytest.raises(ValueError, match="nothing to train"):
        capture(trained(step=lambda model, optimizer: None), "cpu")


def test_a_value_that_is_looked_at_after_the_backward_pass_is_a_real_one():
    seen = []

    def step(model, optimizer):
        loss = model(torch.ones(2, 8)).square().mean()
        loss.backward()
        seen.append(loss.item())
        if loss.item() > 0:
            optimizer.step()

    found = capture(trained(torch.optim.SGD, step), "cpu")
    assert found.how == "cpu" and seen[-1] > 0
    assert any(call.phase == "update" for call in found.calls)


class Chooses(nn.Module):
    """Some of its rows, by the values of what it is given."""

    def __init__(self, choose):
        super().__init__()
        self.first, self.second, self.choose = nn.Linear(4, 4), nn.Linear(4, 2), choose

    def forward(self, x):
        return self.second(self.choose(self.first(x), x[..., 0] > 0))


def written(y, mask):
    y = y.clone()
    y[mask] = y[mask] * 2
    return y


@pytest.mark.parametrize(
    "choose",
    [
        lambda y, mask: y[mask],
        lambda y, mask: y[torch.nonzero(mask).squeeze(1)],
        lambda y, mask: y.index_select(0, torch.where(mask)[0]),
        lambda y, mask: torch.masked_select(y, mask.unsqueeze(1)).view(-1, 4),
        lambda y, mask: torch.repeat_interleave(y, mask.long(), dim=0),
        written,
    ],
    ids=["mask", "nonzero", "where", "masked_select", "repeat_interleave", "written"],
)
def test_sizes_that_depend_on_values_are_those_of_a_real_step(choose):
    x = torch.randn(64, 4)
    x[:, 0] = -1
    x[:5, 0] = 1
    step = capture(Training(Chooses(choose), x, optimizer="adamw"), "cuda")
    assert step.how == "cpu" and any("depend on values" in note for note in step.notes)
    assert any(5 in t.sizes for t in step.tensors)
    run_parts(step)
    with pytest.raises(ValueError, match="give inputs with values"):
        capture(Training(Chooses(choose), x.to("meta")), "cuda")


def test_what_is_the_same_for_all_that_a_mask_chooses_needs_no_values():
    def zeroed(y, mask):
        y = y.clone()
        y[mask] = 0
        return y

    step = capture(Training(Chooses(zeroed), torch.randn(8, 4)), "cuda")
    assert step.how == "fake"
    run_parts(step)


def test_optimizers_that_call_the_model_want_a_loop():
    with pytest.raises(ValueError, match="LBFGS calls the model itself.*give step="):
        capture(trained(torch.optim.LBFGS), "cpu")

    def step(model, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = (model(torch.ones(2, 8)) - 1).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)

    found = capture(trained(lambda p: torch.optim.LBFGS(p, max_iter=2), step), "cpu")
    assert found.how == "cpu" and ops(found, "forward").count("aten::addmm") == 2
    assert {"aten::mm"} <= set(ops(found, "backward")) and ops(found, "update")
    run_parts(found)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to ask")
def test_models_that_ask_which_gpu_there_is():
    class Capability(nn.Linear):
        def forward(self, x):
            return super().forward(x) * torch.cuda.get_device_capability(x.device)[0]

    class Properties(nn.Linear):
        def forward(self, x):
            if x.device.type == "cuda":
                torch.cuda.get_device_properties(x.device)
            return super().forward(x)

    step = capture(Training(Capability(4, 4), torch.ones(2, 4)), "cuda")
    assert step.how == "fake" and "8.0" in step.notes[0] and len(step.notes) == 1
    assert capture(Training(Properties(4, 4), torch.ones(2, 4)), "cuda").how == "cpu"


@pytest.mark.skipif(not hasattr(torch.nn.functional, "grouped_mm"), reason="PyTorch 2.10 or newer")
def test_experts_have_their_share_of_rows_each():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.route, self.experts = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 16))

        def forward(self, x):
            chosen, order = torch.sort(self.route(x).argmax(1))
            ends = torch.histc(chosen.float(), bins=4, min=0, max=3).cumsum(0, dtype=torch.int32)
            y = torch.nn.functional.grouped_mm(x[order], self.experts, offs=ends)
            back = torch.empty_like(order)
            back[order] = torch.arange(len(order), device=x.device)
            return y[back]

    for device in ("cuda", "cpu"):
        step = capture(Training(Experts(), torch.randn(32, 16)), device)
        assert step.how == "fake"
    made = {info["after"]: tensor.tolist() for info, tensor in run_parts(step) if "after" in info}
    assert made["cumsum"] == [8, 16, 24, 32] and sorted(made["sort"]) == list(range(32))


def decoder(**options):
    """Of one layer, of Hugging Face's."""
    transformers = pytest.importorskip("transformers")
    config = transformers.MistralConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, sliding_window=None,
    )  # fmt: skip
    with torch.device("meta"):
        model = transformers.MistralForCausalLM(config)
    numbers = torch.ones(2, 8, dtype=torch.int64)
    inputs = {"input_ids": numbers, "labels": numbers, "use_cache": False, **options}
    step = capture_fake(Training(model, inputs), torch.device("cuda:0"), "decoder")
    (attention,) = [call for call in step.calls if call.op == "aten::scaled_dot_product_attention" and call.backward_of is None]
    return attention


def has_mask(attention):
    return attention.args[3] is not None


def test_decoders_make_the_masks_that_their_inputs_need():
    ones = torch.ones(2, 8, dtype=torch.int64)
    padded = ones.clone()
    padded[0, :3] = 0
    assert not has_mask(decoder())
    assert not has_mask(decoder(attention_mask=ones))
    assert has_mask(decoder(attention_mask=padded))
    assert has_mask(decoder(attention_mask=ones.to("meta")))  # which may be anything
