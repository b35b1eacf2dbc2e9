"""The library through Python: the same figures, errors as exceptions, other threads running meanwhile."""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import ampere
import pytest
from ampere import _core
from conftest import QUICK, ROOT, STORES


def recorded():
    """What an earlier version estimated from its stores, where only the method was chosen."""
    told = json.loads((STORES / "v1_estimates.json").read_text())["estimates"]
    return [e for e in told if all(a in ("--batch", "--method") for a in e["arguments"] if a.startswith("--"))]


@pytest.mark.parametrize("told", recorded(), ids=lambda e: " ".join([e["store"], *e["arguments"]]))
def test_estimates_what_is_recorded(told, tmp_path):
    path = tmp_path / told["store"]
    path.write_bytes((STORES / told["store"]).read_bytes())
    name, *rest = told["arguments"]
    options = dict(zip(rest[::2], rest[1::2]))
    estimate = ampere.estimate(
        ampere.Device.stored(path),
        ampere.Model.load(name),
        batch=int(options["--batch"]),
        recipe=ampere.Recipe(precision="fp32"),  # which was the default then
        method=options.get("--method", "split"),
    )
    assert estimate.energy_j.value == pytest.approx(told["energy_j"], rel=1e-4)
    assert estimate.energy_j.low == pytest.approx(told["energy_low_j"], rel=1e-3)
    assert estimate.time_s.value == pytest.approx(told["time_s"], rel=1e-4)


def test_version_is_the_headers():
    header = (ROOT / "include" / "ampere" / "version.h").read_text()
    assert f'"{ampere.__version__}"' in header


def test_importing_imports_no_torch():
    code = "import sys, ampere; ampere.Model.load('lenet5'); assert 'torch' not in sys.modules; ampere.Monitor"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_is_there():
    for name in ampere.__all__:
        assert getattr(ampere, name) is not None
    assert set(ampere.__all__) <= set(dir(ampere))
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        ampere.nothing_of_this_name


def test_models(tmp_path):
    model = ampere.Model.load("lenet5:c1=4")
    assert model.name == "lenet5:c1=4" and model.notes == [] and model.exported_batch is None
    layers = model.layers(8)
    assert sum(layer.flops for layer in layers) == pytest.approx(model.flops(8))
    assert sum(layer.parameters for layer in layers) == model.parameters
    assert layers[0].role == "input" and (layers[0].channels.in_channels, layers[0].channels.out_channels) == (1, 4)
    model.save(tmp_path / "net.json")
    assert ampere.Model.load(tmp_path / "net.json").to_json() == model.to_json()
    assert ampere.Model.from_json(model.to_json()).to_json() == model.to_json()
    assert "lenet5" in [known.name for known in ampere.known_models()]


def test_errors_have_classes(store, tmp_path):
    assert issubclass(ampere.BadInputError, ampere.Error) and issubclass(ampere.BadInputError, ValueError)
    with pytest.raises(ampere.BadInputError, match="no such store") as caught:
        ampere.Device.stored(tmp_path / "none.db")
    assert (caught.value.kind, caught.value.exit_code) == ("bad_input", 2)
    with pytest.raises(ampere.BadInputError):
        ampere.Model.load("nothing-of-the-zoo")
    device = ampere.Device.stored(store)
    with pytest.raises(ampere.NotProfiledError, match="profile") as caught:
        ampere.estimate(device, ampere.Model.load("resnet18"), batch=4, recipe=ampere.Recipe(precision="bf16"))
    assert (caught.value.kind, caught.value.exit_code) == ("not_profiled", 6)
    with pytest.raises(ampere.WorkerError):
        ampere.Device.open(tmp_path / "new.db", worker="exit 3")
    with pytest.raises(ampere.BadInputError, match="eager, replay"):
        ampere.estimate(device, ampere.Model.load("lenet5"), mode="sideways")
    with pytest.raises(ampere.BadInputError, match="takes a worker"):
        ampere.profile(device, ampere.Model.load("lenet5"))
    with pytest.raises(ampere.BadInputError, match="no meter is called"):
        ampere.Meter("thumb")


@pytest.mark.parametrize(
    "thrown, said",
    [
        ("a CPU has nothing to replay; leave --mode away", "a CPU has nothing to replay; leave mode= away"),
        ("--probe goes with --method split only", 'probe=True goes with method="split" only'),
        ("(--min-channels, --multiple-of)", "(min_channels=, multiple_of=)"),
        ("does --input fit? say --input int:128", 'does inputs= fit? say inputs=["int:128"]'),
        ("give them with --dim NAME=SIZE", 'give them with dims={"NAME": SIZE}'),
        ("update ampere or name another with --store", "update ampere or name another with store="),
        ("/tmp/a --b/a--store/x.db: a folder", "/tmp/a --b/a--store/x.db: a folder"),
        ("run: ampere store remove --point 5 --store x.db", "run: ampere store remove --point 5 --store x.db"),
        ("start it with --gpus all", "start it with --gpus all"),
    ],
)
def test_errors_speak_of_arguments(thrown, said):
    for kind in (ampere.BadInputError, ampere.FailedError):
        assert str(kind(thrown)) == said and kind(thrown).args == (thrown,)


def test_what_the_library_throws_speaks_of_arguments(profiled):
    with pytest.raises(ampere.BadInputError, match="leave mode= away"):
        ampere.estimate(profiled, ampere.Model.load("lenet5"), 8, mode="replay")


def test_devices(store):
    (info,) = ampere.stored_devices(store)
    device = ampere.Device.stored(store, info.id[:6])
    assert (device.id, device.name, device.meter) == (info.id, info.name, info.meter)
    assert not device.can_measure and device.notes == [] and pathlib.Path(device.store) == pathlib.Path(store)
    assert json.loads(device.fingerprint)["name"] == device.name
    assert isinstance(device.energy_modelled, bool)
    device.close()
    device.close()
    with pytest.raises(ampere.BadInputError, match="closed"):
        device.name


def test_profiles_estimates_and_prunes(tmp_path, worker):
    model = ampere.Model.load("lenet5")
    steps = []
    with ampere.Device.open(tmp_path / "store.db", worker=worker) as device:
        assert device.can_measure
        summary = ampere.profile(device, model, batch=8, **QUICK, on_step=steps.append)
        assert summary.methods[0].method == "split" and summary.methods[0].summary.measured > 0
        assert steps and {step.task for step in steps} and steps[-1].of >= steps[-1].done
        estimate = ampere.estimate(device, model, 8)
        assert estimate.energy_j.low < estimate.energy_j.value < estimate.energy_j.high
        assert [layer.name for layer in estimate.layers] == [layer.name for layer in model.layers(8)]
        assert estimate.probed is None and estimate.regime in ("cpu", "device-bound", "host-bound")
        assert ampere.estimate(device, model, 8, probe=True).probed.layers > 0
        job = estimate.energy_j * ampere.iterations_of(6000, 8, 2)
        assert job.value == pytest.approx(estimate.energy_j.value * 1500)
        pruned = ampere.prune(device, model, "60%", batch=8, candidates=2000)
        assert pruned.after.energy_j.value <= 0.6 * pruned.before.energy_j.value
        assert pruned.model.parameters < model.parameters and pruned.groups
        with pytest.raises(ampere.OverBudgetError):
            ampere.prune(device, model, "0.0001%", batch=8, candidates=200)
        page = tmp_path / "page.html"
        assert ampere.report(page, device, models=[model], batch=8).bytes == page.stat().st_size
    by_flops = _core.prune_by_flops(model, "50%", 8, candidates=2000)
    assert by_flops.flops_after <= 0.5 * by_flops.flops_before and by_flops.before is None


def test_recipe_changes_the_key(profiled):
    assert ampere.Recipe(optimizer="adam", precision="bf16", threads=4).word() == "adam-bf16-t4"
    with pytest.raises(ampere.NotProfiledError):
        ampere.estimate(profiled, ampere.Model.load("lenet5"), 8, ampere.Recipe(precision="bf16"))
    # Another optimizer makes other calls, which those that were measured tell.
    other = ampere.estimate(profiled, ampere.Model.load("lenet5"), 8, ampere.Recipe(optimizer="adam"))
    assert other.unmeasured == pytest.approx(1)


def test_what_a_callback_raises_ends_the_work(tmp_path, worker):
    class Enough(Exception):
        pass

    def stop(step):
        if step.done >= 2:
            raise Enough(step.task)

    with ampere.Device.open(tmp_path / "store.db", worker=worker) as device:
        with pytest.raises(Enough):
            ampere.profile(device, ampere.Model.load("lenet5"), batch=8, **QUICK, on_step=stop)
        # What was measured until then is kept, and the device goes on.
        summary = ampere.profile(device, ampere.Model.load("lenet5"), batch=8, **QUICK)
        assert summary.methods[0].summary.reused > 0


def test_a_callback_cannot_use_the_device(tmp_path, worker):
    with ampere.Device.open(tmp_path / "store.db", worker=worker) as device:
        with pytest.raises(ampere.BadInputError, match="its own on_step"):
            ampere.profile(device, ampere.Model.load("lenet5"), batch=8, **QUICK, on_step=lambda step: device.name)


def test_threads_take_turns(profiled):
    model = ampere.Model.load("lenet5")
    expected = ampere.estimate(profiled, model, 8).energy_j
    found, threads = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: found.append(ampere.estimate(profiled, model, 8).energy_j)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_other_threads_run_meanwhile(tmp_path, worker):
    """A second thread counts while a device is profiled."""
    ended, counted = threading.Event(), []

    def count():
        while not ended.is_set():
            counted.append(time.monotonic())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    with ampere.Device.open(tmp_path / "store.db", worker=worker) as device:
        counter.start()
        within = []
        ampere.profile(
            device,
            ampere.Model.load("lenet5"),
            batch=8,
            **QUICK,
            on_step=lambda step: within.append(len(counted)),
        )
        ended.set()
        counter.join()
    assert within[-1] > within[0]


@pytest.mark.parametrize("callback", ["None", "lambda step: None"])
def test_ctrl_c_ends_profiling(tmp_path, worker, callback):
    code = f"""
import ampere, os, sys
device = ampere.Device.open(sys.argv[1], worker=sys.argv[2])
print("open", flush=True)
try:
    while True:  # profiled anew each time, under another name
        for batch in range(1, 10**6):
            ampere.profile(device, ampere.Model.load("lenet5"), batch=batch, on_step={callback})
except KeyboardInterrupt:
    print("interrupted", flush=True)
device.close()
sys.exit(7)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "store.db"), worker],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "open\n"
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the worker as well
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert process.returncode == 7


def test_schedules():
    cost = _core.JobCost(_core.LogNormal(100, 0.1), _core.LogNormal(60, 0.1))
    devices = [_core.ScheduleDevice("phone", battery=_core.Battery(1000, 400, 100)), _core.ScheduleDevice("desk")]
    jobs = [
        _core.ScheduleJob("small", costs=[cost, None]),
        _core.ScheduleJob("large", costs=[_core.JobCost(cost.energy_j * 10, cost.time_s), None]),
        _core.ScheduleJob("anywhere", costs=[None, cost], deadline_s=3600),
    ]
    plan = ampere.schedule(_core.Problem(devices, jobs))
    assert sorted(job.job for job in plan.jobs) == [0, 2] and plan.holds
    (refused,) = plan.refused
    assert (refused.job, refused.kind) == (1, "battery") and refused.short_j > 0
    assert _core.simulate(_core.Problem(devices, jobs), plan.jobs, 500).draws == 500
    assert _core.admit(cost.energy_j, 400, 0.05).fits
    assert math.isinf(jobs[0].deadline_s)
