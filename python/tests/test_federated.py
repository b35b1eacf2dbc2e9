"""Federated rounds: who is chosen, and why others are not. What needs Flower is skipped where it is not installed."""

import json
import logging
import pathlib
import shlex
import subprocess
import sys

import ampere
import pytest
from ampere import _core, federated
from ampere.federated import BatteryState, Report, Reporter, StoredCosts, Turns, admit, read_battery, widened
from ampere.federated.reasons import advice, commonest, in_one_line
from conftest import ROOT


def cost(energy_j, time_s=10.0, sigma=0.1):
    return _core.JobCost(_core.LogNormal(energy_j, sigma), _core.LogNormal(time_s, sigma))


def report(charge_j=300.0, **others):
    told = dict(device="x", samples=100, has_battery=True, capacity_j=1000.0, charge_j=charge_j, reserve_j=200.0)
    return Report(**(told | others))


# --- batteries -----------------------------------------------------------------------------------------------------


def supply(root, name, **files):
    folder = root / name
    folder.mkdir()
    for file, value in files.items():
        (folder / file).write_text(f"{value}\n")


def test_a_battery_that_tells_energy(tmp_path):
    supply(tmp_path, "AC", type="Mains", online=0)
    supply(
        tmp_path,
        "BAT0",
        type="Battery",
        present=1,
        status="Discharging",
        energy_full=50_000_000,
        energy_now=20_000_000,
        power_now=5_000_000,
    )
    assert read_battery(tmp_path) == BatteryState(180_000, 72_000, False, 5.0)


def test_a_battery_that_tells_charge(tmp_path):  # as phones do
    supply(
        tmp_path,
        "battery",
        type="Battery",
        status="Discharging",
        charge_full=4_000_000,
        charge_now=1_000_000,
        voltage_now=4_000_000,
        current_now=-500_000,
    )
    found = read_battery(tmp_path)
    assert found.capacity_j == pytest.approx(57_600) and found.charge_j == pytest.approx(14_400)
    assert found.drawn_w == pytest.approx(2)


def test_a_battery_that_tells_percent(tmp_path):
    supply(tmp_path, "b", type="Battery", status="Charging", energy_full_design=10_000_000, capacity=50, power_now=9)
    assert read_battery(tmp_path) == BatteryState(36_000, 18_000, True, None)


def test_two_batteries_are_added_up_and_a_mouse_is_none(tmp_path):
    supply(tmp_path, "BAT0", type="Battery", status="Discharging", energy_full=10_000_000, energy_now=1_000_000)
    supply(tmp_path, "BAT1", type="Battery", status="Discharging", energy_full=10_000_000, energy_now=9_000_000)
    supply(tmp_path, "mouse", type="Battery", scope="Device", energy_full=10_000_000, energy_now=9_000_000)
    supply(tmp_path, "gone", type="Battery", present=0, energy_full=10_000_000, energy_now=9_000_000)
    assert read_battery(tmp_path) == BatteryState(72_000, 36_000, False, None)


def test_the_mains(tmp_path):
    supply(tmp_path, "AC", type="Mains", online=1)
    supply(tmp_path, "odd", type="Battery", capacity="unknown")
    assert read_battery(tmp_path) is None
    assert read_battery(tmp_path / "nothing") is None


# --- reports -------------------------------------------------------------------------------------------------------


def test_a_reporter_tells_the_device_and_its_battery(store):
    with ampere.Device.stored(store) as device:
        reporter = Reporter(50, device, reserve=0.25, battery=lambda: BatteryState(1000, 600, False, 0.5))
        mains = Reporter(50, device, battery=lambda: None)
        told = reporter()
        assert (told.device, json.loads(told.fingerprint)) == (device.id, json.loads(device.fingerprint))
    assert (told.charge_j, told.reserve_j, told.background_w) == (600, 250, 0.5)
    assert not mains().has_battery
    assert Report.from_record(told.to_record()) == told


def test_a_reporter_asks_the_worker_of_the_command_line(worker, tmp_path, monkeypatch):
    """Who profiles with AMPERE_WORKER and who reports with it are one device."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("AMPERE_STORE", raising=False)
    monkeypatch.setenv("AMPERE_WORKER", worker)
    with ampere.Device.open(tmp_path / "profiled.db", worker=worker) as device:
        assert Reporter(50, battery=lambda: None)().device == device.id


def test_a_reporter_asks_its_own_pytorch_by_itself(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("AMPERE_STORE", "AMPERE_WORKER"):
        monkeypatch.delenv(name, raising=False)
    told = Reporter(50, battery=lambda: None)()
    assert json.loads(told.fingerprint)["framework"].startswith("pytorch")
    command = f"{shlex.quote(sys.executable)} -m ampere.worker"  # as a fleet file or --worker names it
    with ampere.Device.open(tmp_path / "profiled.db", worker=command) as device:
        assert told.device == device.id


@pytest.mark.parametrize(
    "odd",
    [
        {"samples": 10},
        {"device": "x"},
        {"device": 3, "samples": 10},
        {"device": "x", "samples": "many"},
        {"device": "x", "samples": -1},
        {"device": "x", "samples": 10, "charge_j": float("nan")},
        {"device": "x", "samples": 10, "has_battery": 1},
    ],
)
def test_odd_reports_are_refused(odd):
    with pytest.raises(ampere.BadInputError, match="report"):
        Report.from_record(odd)


def test_reports_of_later_versions_are_understood():
    assert Report.from_record({"device": "x", "samples": 5, "mood": "good", "charge_j": 7}).charge_j == 7.0


# --- who may take part ---------------------------------------------------------------------------------------------


def test_a_client_on_the_mains_only_has_a_deadline():
    plugged = Report("x", 100)
    assert admit(plugged, cost(1e6), deadline_s=20).admitted
    late = admit(plugged, cost(1e6, time_s=19), deadline_s=20)
    assert not late.admitted and "deadline" in late.why


def test_the_interval_counts_and_not_the_median_alone():
    sure, unsure = cost(90, sigma=0.001), cost(90, sigma=0.2)  # of 100 J above the reserve
    assert admit(report(), sure, deadline_s=60, risk=0.05).admitted
    assert not admit(report(), unsure, deadline_s=60, risk=0.05).admitted
    assert admit(report(), unsure, deadline_s=60, risk=0.45).admitted


def test_the_background_is_drawn_on_top():
    assert admit(report(), cost(80, time_s=20, sigma=0.01), 60).admitted
    refused = admit(report(background_w=2.0), cost(80, time_s=20, sigma=0.01), 60)
    assert not refused.admitted and "battery" in refused.why


def test_a_battery_under_its_reserve_is_left_alone():
    assert "reserve" in admit(report(charge_j=150.0), cost(1), 60).why
    assert "reserve" in admit(report(charge_j=200.0), cost(1), 60).why


def test_a_charger_counts_while_the_client_promised_to_stay():
    assert not admit(report(), cost(110, time_s=20), 60).admitted
    assert admit(report(plugged_s=60.0, charger_w=10.0), cost(110, time_s=20), 60).admitted


def test_as_often_as_asked_for():
    """At the edge of what is admitted the battery holds in 95 of 100 draws, not in much fewer and not in all."""
    median = max(m for m in range(50, 100) if admit(report(), cost(m), 60).admitted)
    holds = _core.LogNormal(median, 0.1).probability_below(100)
    assert 0.95 <= holds < 0.99


def test_devices_of_a_kind_differ():
    wide = widened(cost(90, sigma=0.03), 0.04)
    assert (wide.energy_j.median, wide.time_s.median) == (90, 10)
    assert wide.energy_j.sigma == pytest.approx(0.05) and wide.time_s.sigma == pytest.approx(0.05)


# --- whose turn it is ----------------------------------------------------------------------------------------------


def turns_taken(thrift, rounds=700):
    turns, taken = Turns(thrift, seed=1), {"thrifty": 0, "middling": 0, "dear": 0}
    prices = {name: turns.price(joules, 100) for name, joules in zip(taken, (100, 200, 400))}
    for _ in range(rounds):
        first = turns.order(prices)[0]
        taken[first] += 1
        turns.took(first, prices[first])
    return list(taken.values())


def test_all_data_pays_the_same_joules():
    assert turns_taken(1) == [400, 200, 100]


def test_without_thrift_all_take_the_same_turns():
    assert max(turns_taken(0)) - min(turns_taken(0)) <= 1


def test_in_between_the_mean_over_clients_is_surest_for_its_joules():
    thrifty, _, dear = turns_taken(0.5)
    assert thrifty / dear == pytest.approx(2, rel=0.02)


def test_more_data_for_the_same_joules_comes_first():
    turns = Turns(seed=1)
    assert turns.order({"few": turns.price(10, 50), "many": turns.price(10, 100)}) == ["many", "few"]


def test_who_sat_out_comes_first():
    turns = Turns(seed=1)
    for _ in range(3):
        turns.took("busy", 1.0)
    assert turns.order({"busy": 1.0, "back again": 1.5}) == ["back again", "busy"]


# --- what AMPERE says of it ----------------------------------------------------------------------------------------


def test_costs_are_the_store_s(profiled):
    model = ampere.Model.load("lenet5")
    costs = StoredCosts(model, batch=8, epochs=3, store=profiled.store)
    told = costs(Report(profiled.id, samples=100))
    step = ampere.estimate(profiled, model, 8)
    assert told.energy_j.median == pytest.approx(step.energy_j.value * 39)  # 13 steps, the last one smaller
    assert told.energy_j.sigma > 0
    assert told.time_s.median == pytest.approx(step.time_s.value * 39)


def test_a_device_that_nobody_profiled(profiled):
    costs = StoredCosts(ampere.Model.load("lenet5"), batch=8, store=profiled.store)
    for device in ("0123456789abcdef", "", "0123456789abcdef"):
        with pytest.raises(ampere.Error):
            costs(Report(device, samples=100))


@pytest.fixture
def detected(tmp_path, worker):
    """A device that a store knows by its name alone."""
    with ampere.Device.open(tmp_path / "detected.db", worker=worker) as device:
        yield device


def refusal(costs, told):
    with pytest.raises(ampere.NotProfiledError) as caught:
        costs(told)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_what_to_profile_where_the_device_is_unknown(profiled):
    other = json.loads(profiled.fingerprint) | {"framework": "pytorch 2.15.0"}
    costs = StoredCosts(ampere.Model.load("lenet5"), batch=8, store=profiled.store)
    why = refusal(costs, Report("0123456789abcdef", 100, json.dumps(other)))
    assert f"no profile of {profiled.name} (0123456789abcdef, pytorch 2.15.0, meter {profiled.meter})" in why
    assert profiled.id in why  # the same hardware, with another framework
    assert why.endswith('ampere profile lenet5 --batch 8 --worker "python -m ampere.worker"')
    libtorch = json.dumps(other | {"framework": "libtorch 1.13.0"})
    assert refusal(costs, Report("0123456789abcde0", 100, libtorch)).endswith("lenet5 --batch 8")
    adam = ampere.Recipe(optimizer="adam")
    adam = StoredCosts(ampere.Model.load("lenet5"), batch=8, store=profiled.store, recipe=adam)
    assert "--batch 8 --optimizer adam --worker" in refusal(adam, Report("0123456789abcdef", 100))


@pytest.mark.parametrize("odd", ["", "{", "[]", '{"name": 3}', '{"name": "a\\nb"}', '{"name": "' + "y" * 9999 + '"}'])
def test_clients_cannot_garble_a_reason(profiled, odd):
    costs = StoredCosts(ampere.Model.load("lenet5"), batch=8, store=profiled.store)
    assert len(refusal(costs, Report("0123456789abcdef", 100, odd))) < 700


def test_what_to_profile_where_layers_are_missing(detected):
    costs = StoredCosts(ampere.Model.load("lenet5"), batch=8, store=detected.store)
    why = refusal(costs, Report(detected.id, samples=100))
    assert f"{detected.name} ({detected.id}, " in why and "conv5x5" in why and "more; on such a device" in why
    assert "ampere profile lenet5 --batch 8" in why


def test_a_store_that_cannot_be_read_is_told_as_such(profiled):
    costs = StoredCosts(ampere.Model.load("lenet5"), batch=8, store="/nowhere/profiles.db")
    with pytest.raises(ampere.BadInputError, match="/nowhere/profiles.db"):
        costs(Report(profiled.id, samples=100))


def test_reasons_in_one_line():
    assert in_one_line("these are missing:\n  a\n  b") == "these are missing: a, b"
    assert in_one_line("these are missing:\n  a\n  b\n  c\n  d\n  e") == "these are missing: a, b, c and 2 more"
    assert in_one_line("") == "" and len(in_one_line("x" * 5000)) < 700
    short = [f"battery short by {joules} J" for joules in (1.5, 2e-05, 30)]
    assert commonest(["deadline missed by 1 s", *short, "it did not answer"]) == (short[0], 3)
    assert "charge" in advice(short[0]) and "deadline_s" in advice("deadline missed by 1 s")
    assert "answer_queries" in advice("it did not answer") and advice("odd; run: ampere profile lenet5") == ""


def test_a_store_that_was_away_is_asked_again(profiled, monkeypatch):
    costs = StoredCosts(ampere.Model.load("lenet5"), batch=8, store="/nowhere/profiles.db")
    told = Report(profiled.id, samples=100)
    with pytest.raises(ampere.Error):
        costs(told)
    costs.store = profiled.store
    with pytest.raises(ampere.Error):  # not at once: a fleet has many clients of one kind
        costs(told)
    monkeypatch.setattr("ampere.federated.costs.RETRY_S", 0.0)
    assert costs(told).energy_j.median > 0


def test_without_flower_there_is_a_message(tmp_path):
    program = "import sys; sys.modules['flwr'] = None; import ampere.federated as f; print(f.Report('x', 1)); "
    program += "f.FedJoules"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert "Report(" in done.stdout and "pip install flwr" in done.stderr


# --- with Flower ---------------------------------------------------------------------------------------------------


class Replies:
    """A grid whose clients answer at once: everything but the network between them is Flower's own."""

    def __init__(self, reports, silent=()):
        self.reports, self.silent, self.asked = reports, silent, []

    def get_node_ids(self):
        return list(self.reports)

    def send_and_receive(self, messages, timeout=None):
        from flwr.app import Context, Error, Message, RecordDict
        from flwr.clientapp import ClientApp

        app, replies = ClientApp(), []
        federated.answer_queries(app, lambda context, config: self.reports[context.node_id])
        for message in messages:
            node = message.metadata.dst_node_id
            self.asked.append(node)
            if node in self.silent:
                continue
            if self.reports[node] is None:
                replies.append(Message(Error(code=0, reason="no PyTorch\nhere"), reply_to=message))
                replies[-1].metadata.__dict__["_src_node_id"] = node
                continue
            context = Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})
            reply = app(message, context)
            reply.metadata.__dict__["_src_node_id"] = node
            replies.append(reply)
        return replies


@pytest.fixture
def warned():
    """What FedJoules warns of."""
    pytest.importorskip("flwr", reason='Flower is not installed: pip install "ampere-energy[federated]"')
    told = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.append(record.getMessage()) if "configure_train" in record.getMessage() else None
    logging.getLogger("flwr").addHandler(handler)
    yield told
    logging.getLogger("flwr").removeHandler(handler)


def strategy(costs, **options):
    pytest.importorskip("flwr", reason='Flower is not installed: pip install "ampere-energy[federated]"')
    common = dict(deadline_s=60, seed=1, min_train_nodes=2, fraction_train=0.01, fraction_evaluate=0.0)
    return federated.FedJoules(costs, **(common | options))


def a_round(strategy, grid, number=1):
    from flwr.app import ArrayRecord, ConfigRecord
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1  # as Flower does before a server begins
    messages = list(strategy.configure_train(number, ArrayRecord(), ConfigRecord(), grid))
    assert all(message.content["config"]["server-round"] == number for message in messages)
    return {message.metadata.dst_node_id for message in messages}


BY_DEVICE = {"thrifty": 10.0, "dear": 40.0}


def by_device(told):
    if told.device not in BY_DEVICE:
        raise ampere.NotProfiledError(f"nobody has profiled {told.device}")
    return cost(BY_DEVICE[told.device])


def test_a_round_has_those_that_can_and_take_least():
    chooser = strategy(by_device)
    grid = Replies(
        {
            1: report(device="dear"),
            2: report(device="thrifty"),
            3: report(device="thrifty", charge_j=205.0),
            4: report(device="unknown"),
            5: report(device="thrifty"),
            6: report(device="thrifty"),
        },
        silent=[6],
    )
    assert a_round(chooser, grid) == {2, 5}
    assert "unknown" in chooser.rounds[0].refused[4]
    assert chooser.rounds[0].energy_j == pytest.approx(20)
    grid.asked.clear()
    for number in range(2, 12):
        chosen = a_round(chooser, grid, number)
        assert not chosen & {3, 4, 6}
    assert 1 in set().union(*(round.chosen for round in chooser.rounds))  # dear, but its data counts too
    refused = {node: why for round in chooser.rounds for node, why in round.refused.items()}
    assert "battery" in refused[3]


def test_a_large_fleet_is_left_in_peace():
    chooser = strategy(by_device)
    grid = Replies({node: report(device="thrifty") for node in range(1, 101)})
    a_round(chooser, grid)
    assert len(grid.asked) == 100  # nobody knew what they are
    grid.asked.clear()
    a_round(chooser, grid, 2)
    assert len(grid.asked) <= 4
    grid.reports[101] = report(device="thrifty")
    grid.asked.clear()
    a_round(chooser, grid, 3)
    assert 101 in grid.asked


def test_nobody_can(warned):
    chooser = strategy(by_device)
    grid = Replies({node: report(device="dear", charge_j=201.0 + node) for node in range(1, 6)})
    assert a_round(chooser, grid) == set()
    assert len(chooser.rounds[0].refused) == 5
    assert len(warned) == 1 and "nobody trains in round 1, 5 of 5 nodes because: battery short by" in warned[0]
    assert "have to charge" in warned[0]


def test_nobody_was_profiled(warned, detected):
    chooser = strategy(StoredCosts(ampere.Model.load("lenet5"), batch=8, store=detected.store))
    grid = Replies({1: Report("0123456789abcdef", 9), 2: Report(detected.id, 9), 3: Report(detected.id, 9)})
    assert a_round(chooser, grid) == set()
    assert "2 of 3 nodes because" in warned[0] and detected.id in warned[0]
    assert "ampere profile lenet5 --batch 8" in warned[0]
    assert "has no profile of" in chooser.rounds[0].refused[1]


def test_nobody_answers(warned):
    chooser = strategy(by_device)
    assert a_round(chooser, Replies({node: report() for node in (1, 2, 3)}, silent=[1, 2, 3])) == set()
    assert chooser.rounds[0].refused == {node: "it did not answer" for node in (1, 2, 3)}
    assert "3 of 3 nodes because: it did not answer" in warned[0] and "answer_queries" in warned[0]


def test_errors_of_clients_are_told(warned):
    chooser = strategy(by_device)
    assert a_round(chooser, Replies({1: None, 2: report(device="thrifty")})) == {2}
    assert chooser.rounds[0].refused == {1: "its answer was an error: no PyTorch here"}
    assert not warned


def test_wrong_arguments():
    for odd in ({"deadline_s": 0}, {"risk": 0.0}, {"risk": 1.0}, {"thrift": -1.0}, {"unit_spread": -0.1}):
        with pytest.raises(ValueError):
            strategy(by_device, **odd)


def test_the_simulation_runs(tmp_path):
    """The code of docs/federated.md's table, with few clients and rounds; the whole of it takes many minutes."""
    pytest.importorskip("ray", reason='Flower\'s simulation is not installed: pip install "flwr[simulation]"')
    if not pathlib.Path("/usr/share/datasets/fashion-mnist").exists():
        pytest.skip("Fashion-MNIST is not installed: scripts/setup case_study")
    program = next((p for p in (ROOT / "build").glob("*/bin/ampere")), None)
    if program is None:
        pytest.skip("the program ampere was not built")
    words = "--clients 8 --chosen 2 --rounds 2 --seeds 1 --samples 60 --target 0.99"
    done = subprocess.run(
        [sys.executable, ROOT / "bench/federated/run.py", *words.split(), "--ampere", program, "--out", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,  # beside the sources Ray's processes would find a package without its extension
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    runs = {file.stem: json.loads(file.read_text()) for file in tmp_path.glob("*.json")}
    assert set(runs) == {"joules-1", "random-1", "flops-1"}
    for run in runs.values():
        assert run["rounds"] == 2 and len(run["accuracy"]) == 3
        assert 0 < run["taken_part"] <= 4 and run["spent_j"] > 0
    assert "`FedJoules`" in done.stdout
