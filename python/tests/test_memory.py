"""What a step takes of memory is told before it runs: counted against what the allocator hands out."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

import ampere  # noqa: E402


class Attends(nn.Module):
    """Queries, keys and values are made by modules of their own, and read by a call of another."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        q, k, v = (to(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for to in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).flatten(2))


class Listens(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.first, self.second = (nn.LSTM(width, width, batch_first=True) for _ in range(2))

    def forward(self, x):
        return self.second(self.first(x)[0])[0]


def measured(model, x, optimizer=torch.optim.SGD):
    """The most that one step has at once, by the profiler's account of every tensor that comes and goes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        copy, there = type(model)(), x.clone()
        copy.load_state_dict(model.state_dict())
        steps = optimizer(copy.parameters(), lr=1e-3)
        for _ in range(2):
            steps.zero_grad()
            copy(there).square().mean().backward()
            steps.step()
    now = most = 0
    events = [e for e in watched.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


def test_attention_keeps_what_it_read():
    x = torch.randn(8, 256, 64)
    told = ampere.memory(Attends(), x, loss=lambda y: y.square().mean(), device="cpu")
    assert told.peak_bytes == pytest.approx(measured(Attends(), x), rel=0.1)
    three = nn.Sequential(Attends(), Attends(), Attends())
    there = ampere.memory(three, x, loss=lambda y: y.square().mean(), device="cuda")
    # Each layer keeps queries, keys, values, what attention made, and what it was given.
    assert there.saved_bytes > 3 * 5 * 4 * x.numel()


def test_recurrent_layers_keep_their_gates():
    x = torch.randn(16, 40, 48)
    told = ampere.memory(Listens(), x, loss=lambda y: y.square().mean(), device="cpu")
    assert told.peak_bytes == pytest.approx(measured(Listens(), x), rel=0.15)
    there = ampere.memory(Listens(), x, loss=lambda y: y.square().mean(), device="cuda")
    assert there.temporaries_bytes > 34 * 2**20  # cuDNN's, for the gradient


def test_what_an_update_makes_goes_with_the_tensor_it_is_made_for():
    x = torch.randn(4, 64)
    told = ampere.memory(Attends(), x[None], loss=lambda y: y.square().mean(), optimizer="adamw", device="cpu")
    assert told.peak_bytes == pytest.approx(measured(Attends(), x[None], torch.optim.AdamW), rel=0.1)
