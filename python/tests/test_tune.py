"""ampere.tune: a user's own model under every setting; on a data sheet, and measured on this CPU."""

import json

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ampere  # noqa: E402
from ampere.estimating import forget_devices  # noqa: E402
from ampere.tuning import laid_out  # noqa: E402

MODEL = nn.Sequential(  # large enough on a card that it does not wait for its host
    nn.Conv2d(3, 128, 3, padding=1),
    nn.BatchNorm2d(128),
    nn.ReLU(),
    nn.Conv2d(128, 256, 3, padding=1),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(256, 10),
)
IMAGES = torch.zeros(64, 3, 128, 128)
JOB = {"samples": 64000, "epochs": 2}


def tuned(**options):
    return ampere.tune(MODEL, IMAGES, device="sheet:h200", exact=False, **{**JOB, **options})


@pytest.fixture(scope="module")
def found():
    return tuned(settings={"precision": ["fp32", "bf16", "fp16"], "channels_last": [False, True], "limit": [300, 500]})


def test_every_setting_is_told(found):
    told = {
        (o.setting.recipe.precision, o.setting.channels_last, o.setting.power_limit_w): o for o in found.outcomes
    }
    assert len(told) == len(found.outcomes) == 4 * 2 * 3 and not found.left_out
    assert found.present is not None and found.present.setting.recipe.precision == "default"
    assert found.present.setting.batch == 64 and found.present.setting.power_limit_w == 0
    assert found.best.energy_j.value == min(o.energy_j.value for o in found.outcomes)
    times = [o.time_s.value for o in found.front]
    energies = [o.energy_j.value for o in found.front]
    assert times == sorted(times) and energies == sorted(energies, reverse=True)
    alone = ampere.estimate(MODEL, IMAGES, device="sheet:h200", exact=False, precision="bf16")
    assert told["bf16", False, 0].energy_j.value == pytest.approx(alone.job(**JOB).energy_j)
    limited = ampere.estimate(MODEL, IMAGES, device="sheet:h200", exact=False, precision="bf16", power_limit=300)
    assert told["bf16", False, 300].energy_j.value == pytest.approx(limited.job(**JOB).energy_j)


def test_what_each_change_is_worth(found):
    left = 1.0
    for step in found.steps:
        left *= 1 - step.energy.value
    assert left == pytest.approx(1 - found.energy_saved.value)
    assert found.energy_saved.low < found.energy_saved.value < found.energy_saved.high
    assert len(found.singles) == len(found.steps) and found.steps[0].change in str(found)


def test_for_people_and_programs(found, tmp_path):
    text = str(found)
    assert "for energy" in text and "now" in text and "best" in text and "(95% interval)" in text
    assert found.best.setting.recipe.precision in ("bf16", "fp16") and "is not judged here" in text
    assert found._repr_html_().count("<tr>") >= 3
    told = json.loads(found.to_json())
    assert told["outcomes"][told["best"]]["energy_j"] == found.best.energy_j.value
    assert told["outcomes"][told["present"]]["power_limit_w"] is None
    assert told["objective"] == "energy" and told["energy_saved"]["value"] == found.energy_saved.value
    (tmp_path / "tuned.json").write_text(found.to_json())
    ampere.report(tmp_path / "page.html", results=[tmp_path / "tuned.json"])
    assert "Sequential" in (tmp_path / "page.html").read_text()


def test_the_usual_settings():
    usual = tuned(objective="energy*delay")
    assert {o.setting.recipe.precision for o in usual.outcomes} == {"default", "fp32", "bf16", "fp16"}
    assert {o.setting.channels_last for o in usual.outcomes} == {False, True}
    assert {200.0, 650.0} <= {o.setting.power_limit_w for o in usual.outcomes}
    least = min(o.energy_j.value * o.time_s.value for o in usual.outcomes)
    assert usual.best.energy_j.value * usual.best.time_s.value == pytest.approx(least)


def test_time_and_money():
    options = {"settings": {"limit": [200, 300, 400, 500, 600]}}
    kept = tuned(slower="5%", **options)
    assert kept.best.time_s.value <= 1.05 * kept.present.time_s.value * (1 + 1e-9)
    with pytest.raises(ampere.OverBudgetError, match="deadline_s="):
        tuned(deadline_s=1e-6, **options)
    with pytest.raises(ampere.BadInputError, match='price="0.30/kWh", or price_per_hour=2'):
        tuned(objective="cost", **options)
    dear = tuned(objective="cost", price="0.3EUR/kWh", price_per_hour=1000.0, carbon="FR", **options)
    assert dear.best.time_s.value == min(o.time_s.value for o in dear.outcomes)  # hours are all that counts
    assert "EUR" in str(dear) and "CO2e" in str(dear)
    assert dear.to_dict()["tariff"]["carbon_source"].startswith("France")


def test_batches_and_optimizers():
    both = tuned(settings={"batch": [64, 128], "optimizer": ["adam", "sgd"]})
    assert {(o.setting.batch, o.setting.recipe.optimizer) for o in both.outcomes} == {
        (64, "sgd"), (64, "adam"), (128, "sgd"), (128, "adam"),
    }
    by = {(o.setting.batch, o.setting.recipe.optimizer): o for o in both.outcomes}
    assert by[64, "adam"].energy_j.value > by[64, "sgd"].energy_j.value


def test_an_estimate_under_a_limit_with_its_price():
    e = ampere.estimate(
        MODEL, IMAGES, device="sheet:h200", exact=False, power_limit=300, price="$0.2/kWh", carbon="500g/kWh"
    )
    assert e.setting() == {"power_limit_w": 300, "clock_mhz": None, "modelled": True}
    job = e.job(**JOB)
    assert job.cost == pytest.approx(0.2 * job.energy_kwh) and job.carbon_g == pytest.approx(500 * job.energy_kwh)
    assert "300 W" in str(e) and "costs" in str(e) and "emits" in str(e)
    plain = ampere.estimate(MODEL, IMAGES, device="sheet:h200", exact=False)
    assert plain.setting() is None and plain.job(**JOB).cost is None and "costs" not in str(plain)
    with pytest.raises(ValueError, match="power_limit must be above 0"):
        ampere.estimate(MODEL, IMAGES, device="sheet:h200", power_limit=0)


def test_the_model_stays_as_it_is(found):
    weight = MODEL[0].weight
    where, strides = weight.data_ptr(), weight.stride()
    with laid_out(MODEL, IMAGES, True) as images:
        assert images.is_contiguous(memory_format=torch.channels_last) and weight.stride() != strides
    assert (weight.data_ptr(), weight.stride()) == (where, strides) and weight.grad is None


def test_measured_on_this_machine(tmp_path):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
    images = torch.zeros(4, 3, 8, 8)
    options = {"device": "cpu", "store": str(tmp_path / "profiles.db"), "meter": "cpu-model", **JOB}
    measured = ampere.tune(model, images, settings={"optimizer": "momentum"}, exact=True, **options)
    assert measured.modelled and [o.setting.recipe.optimizer for o in measured.outcomes] == ["sgd", "momentum"]
    # What nobody has measured is left out, and told; the present setting must be known.
    told = ampere.tune(model, images, settings={"optimizer": "momentum", "batch": [4]}, exact=False, **options)
    assert told.best.energy_j.value == measured.best.energy_j.value
    forget_devices()


def test_mistakes_are_told():
    for settings, message in (
        ({"colour": ["red"]}, 'no "colour"'),
        ({"precision": ["fp8"]}, 'unknown precision "fp8"'),
        ({"limit": [0]}, "a limit is a number above 0"),
        ({"batch": ["64"]}, "a batch is a number above 0"),
        ({"batch": [1.9]}, "a batch is a whole number, not 1.9"),
    ):
        with pytest.raises(ValueError, match=message):
            tuned(settings=settings)
    with pytest.raises(ValueError, match="four dimensions"):
        ampere.tune(
            nn.Linear(4, 2), torch.ones(2, 4), settings={"channels_last": [True]}, device="sheet:h200", **JOB
        )
    with pytest.raises(ValueError, match='not "fast"'):
        tuned(slower="fast")
    with pytest.raises(ampere.BadInputError, match="objective"):
        tuned(objective="joy", settings={})
    with pytest.raises(TypeError, match="nn.Module"):
        ampere.tune("resnet50", IMAGES, **JOB)
