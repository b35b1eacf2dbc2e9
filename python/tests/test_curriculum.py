"""A device is measured once, by steps of many networks, and then knows networks that nobody measured."""

import json
import random
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

import ampere  # noqa: E402
from ampere.capture import Training, capture  # noqa: E402
from ampere.capture.parts import network_of  # noqa: E402
from ampere.curriculum import Ahead, Drawn, drawn_of, network_of_nodes, work_of  # noqa: E402
from ampere.population import SORTS, networks  # noqa: E402


def drawn(where: str, precision: str, count: int) -> list[Drawn]:
    return [
        drawn_of(capture(Training(model, inputs, loss, optimizer, precision), torch.device(where)))
        for _, (model, inputs, loss, optimizer) in zip(range(count), networks(random.Random(1), where))
    ]


@pytest.mark.parametrize(("where", "precision"), [("cuda", "default"), ("cuda", "bf16"), ("cpu", "default")])
def test_the_population_is_captured_without_the_device(where: str, precision: str) -> None:
    population = drawn(where, precision, len(SORTS))
    labels = {node["label"] for network in population for node in network.kinds}
    assert {"convolution", "convolution_backward", "addmm", "mm", "native_layer_norm"} <= labels
    assert {"lstm", "gru"} & labels and "scaled_dot_product_attention" in labels
    assert not {"view", "detach", "t"} & labels
    for network in population:
        body = json.loads(network.step)
        calls = sum(len(body.get(phase, [])) for phase in ("forward", "backward", "update"))
        numbers = [number for _, several in network.calls for number in several]
        assert len(set(numbers)) == len(numbers) and 0 <= min(numbers) and max(numbers) < calls
        assert {kind for kind, _ in network.calls} == set(range(len(network.kinds)))
        assert network.parts and all(count >= 1 for _, count in network.parts)
        assert all(network_of_nodes([node]).layers(1) for node, _ in network.parts)  # each is something to measure
    assert torch.get_default_device().type == "cpu"  # what is drawn on the meta device leaves nothing behind


def test_a_part_of_views_alone_is_nothing_to_measure() -> None:
    module = torch.nn.Sequential(torch.nn.Unflatten(1, (2, 2)), torch.nn.Flatten(), torch.nn.Linear(4, 4))
    training = Training(module, torch.zeros(3, 4), lambda y: y.sum(), "sgd", "default")
    step = capture(training, torch.device("cpu"))
    costs = [work_of(node) for node in network_of(step)["nodes"] if node["op"] == "calls"]
    assert 0 in costs  # or this test is about nothing
    assert all(network_of_nodes([node]).layers(1) for node, _ in drawn_of(step).parts)


def test_a_step_that_cannot_be_drawn_ends_the_run() -> None:
    def failing() -> Iterator[Drawn]:
        yield Drawn("{}")
        raise ValueError("no such network")

    with Ahead(failing(), "cuda") as ahead:
        assert ahead.next().step == "{}"
        with pytest.raises(ValueError, match="no such network"):
            ahead.next()


def test_a_device_that_was_measured_once_knows_other_networks(tmp_path) -> None:
    store = str(tmp_path / "store.db")
    first = ampere.profile("cpu", minutes=0.15, store=store)
    assert first.parts > 0 and "timed within the steps of" in first.notes[-1]
    again = ampere.profile("cpu", minutes=0.1, store=store)  # goes on with other networks
    assert sum(known.kinds for known in again.known) > first.parts
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 7))
    told = ampere.estimate(model, torch.zeros(64, 512), device="cpu", store=store, exact=False)
    low, high = told.interval()
    assert 0 < low < told.energy_j < high and told.time_s > 0
    assert told.estimate.unmeasured == pytest.approx(1)
    assert any("never measured" in note for note in told.notes)
    pruning = ampere.prune(
        model, torch.zeros(64, 512), "70%", device="cpu", store=store, exact=False, candidates=300
    )
    assert pruning.share <= 0.7 and pruning.pruned.before.unmeasured == pytest.approx(1)
    measured = ampere.estimate(model, torch.zeros(64, 512), device="cpu", store=store)
    assert measured.estimate.unmeasured == 0
    assert all(layer.measured for layer in measured.estimate.layers)
    width = lambda e: e.interval()[1] / e.interval()[0]  # noqa: E731
    assert width(measured) < width(told)


def test_what_one_machine_taught_counts_for_another(tmp_path) -> None:
    taught, other = str(tmp_path / "taught.db"), str(tmp_path / "other.db")
    ampere.estimate(torch.nn.Linear(64, 100), torch.zeros(16, 64), device="cpu", store=taught)  # measures its parts
    then = ampere.profile("cpu", minutes=0.02, store=other, source=taught)
    assert any("of another card of this name count here, too" in note for note in then.notes)
    assert len(ampere.stored_devices(other)) == 2
    told = ampere.estimate(torch.nn.Linear(200, 300), torch.zeros(24, 200), device="cpu", store=other, exact=False)
    assert told.energy_j > 0 and told.estimate.unmeasured == pytest.approx(1)
    with pytest.raises(TypeError, match="with minutes"):
        ampere.profile("cpu", store=other, source=taught)
    with pytest.raises(ampere.BadInputError):
        ampere.profile("cpu", minutes=0.02, store=other, source=str(tmp_path / "nowhere.db"))


def test_nothing_is_told_of_a_device_that_nobody_measured(tmp_path) -> None:
    with pytest.raises(ampere.NotProfiledError):
        ampere.estimate(
            torch.nn.Linear(4, 4), torch.zeros(2, 4), device="cpu", store=str(tmp_path / "s.db"), exact=False
        )


def test_minutes_are_for_a_device(tmp_path) -> None:
    with pytest.raises(TypeError, match="without a model"):
        ampere.profile("cpu", torch.nn.Linear(4, 4), torch.zeros(2, 4), minutes=1, store=str(tmp_path / "s.db"))
    with pytest.raises(ValueError, match="minutes"):
        ampere.profile("cpu", minutes=-1, store=str(tmp_path / "s.db"))
