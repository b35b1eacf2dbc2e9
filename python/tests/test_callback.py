"""Callbacks of trainers: the run itself with a meter that is told what to say, then tiny real trainings on the CPU."""

import subprocess
import sys
from types import SimpleNamespace

import ampere
import pytest
from ampere.callback import Run


class StepMeter:
    """So many joules more at each reading of a step."""

    name, modelled, behaviour, scope = "fake", False, None, "gpu"

    def __init__(self):
        self.energy_j = 0.0

    def read(self):
        return SimpleNamespace(energy_j=self.energy_j, at_s=0.0)

    read_at_tick = read

    def watch(self):
        return None


def made(steps, joules, total=100, begin=None, **options):
    """A run of which so many steps were made, each of so many joules."""
    meter = StepMeter()
    run = Run(meter=meter, **options)
    run.begin(total, **(begin or {}))
    for number in range(run.first_step + 1, run.first_step + steps + 1):
        meter.energy_j += joules
        run.step(number)
        if run.over_budget:
            run.stopped = True
            break
    return run


def test_importing_the_core_imports_no_trainer():
    code = "import sys, ampere.callback; assert not {'torch', 'transformers', 'lightning'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_before_the_first_step_there_is_the_prediction():
    run = made(0, 0, prediction=2.0)
    assert run.predicted_total_j == run.remaining_j == run.expected_total_j == 200
    assert run.factor is None and run.measured_step_j is None


def test_measuring_corrects_it_after_some_steps():
    assert made(19, 3.0, prediction=2.0).factor is None
    run = made(20, 3.0, prediction=2.0)
    assert run.factor == pytest.approx(1.5)
    assert run.remaining_j == pytest.approx(80 * 3)
    assert run.expected_total_j == pytest.approx(300)
    assert run.figures()["ampere/factor"] == pytest.approx(1.5)


def test_cold_steps_do_not_count_for_the_factor():
    meter = StepMeter()
    run = Run(2.0, meter=meter, recalibrate_after=10)
    run.begin(100)
    for number in range(1, 11):
        meter.energy_j += 500 if number <= 3 else 2
        run.step(number)
    assert run.factor == pytest.approx(1)
    assert run.energy_j == 1514


def test_without_a_prediction_what_was_measured_goes_on():
    assert made(5, 3.0).remaining_j is None
    assert made(20, 3.0).remaining_j == pytest.approx(240)
    assert made(20, 3.0).factor is None
    assert made(20, 3.0, total=None).remaining_j is None


def test_a_budget_is_kept():
    run = made(100, 3.0, budget_j=50)
    assert run.last_step == 16 and run.energy_j == 48
    run.end()
    assert "16 of 100 steps" in run.summary() and "budget of 50 J kept, stopped for it" in run.summary()


def test_a_cold_step_ends_nothing_that_still_fits():
    meter = StepMeter()
    run = Run(budget_j=100, meter=meter)
    run.begin(100)
    meter.energy_j = 70
    run.step(1)
    assert not run.over_budget
    meter.energy_j = 101
    run.step(2)
    assert run.over_budget


def test_processes_decide_together_and_look_as_far_ahead():
    run = made(10, 3.0, budget_j=50, begin={"processes": 2})
    assert run.last_step == 7 and not run.decides  # ten more steps would not fit, but the others are not asked yet
    assert made(10, 1.0, budget_j=50, begin={"processes": 2}).decides


def test_only_one_process_of_a_node_reads():
    run = made(5, 3.0, budget_j=1, begin={"reads": False})
    assert run.energy_j == 0 and not run.over_budget and run.figures() == {}


def test_several_devices_and_nodes():
    run = made(20, 16.0, prediction=2.0, begin={"devices": 8, "nodes": 2})
    assert run.predicted_total_j == 1600 and run.factor == pytest.approx(1)
    run.end()
    assert "this node of 2" in run.summary()


def test_going_on_from_a_checkpoint():
    run = made(20, 3.0, prediction=2.0, begin={"first_step": 40})
    assert run.predicted_total_j == 120 and run.steps == 20 and run.remaining_j == pytest.approx(40 * 3)


def test_a_run_that_cannot_fit_is_refused():
    with pytest.raises(ampere.OverBudgetError, match="200 J at least, the budget is 50 J"):
        made(0, 0, prediction=2.0, budget_j=50, refuse=True)
    made(0, 0, prediction=2.0, budget_j=50)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="budget"):
        Run(budget_j=0)
    with pytest.raises(ValueError, match="recalibrate_after"):
        Run(recalibrate_after=0)


# --- Hugging Face ----------------------------------------------------------------------------------------------------


def hugging_face(tmp_path, callback, steps=12):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    data = [{"input_ids": torch.arange(8), "labels": torch.tensor(i % 2)} for i in range(64)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=steps,
        per_device_train_batch_size=4,
        logging_steps=2,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    model = transformers.BertForSequenceClassification(config)
    trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=[callback])
    trainer.train()
    return trainer


def test_hugging_face_measures_and_logs(tmp_path, capsys):
    pytest.importorskip("transformers")
    trainer = hugging_face(tmp_path, ampere.Callback(0.01, budget_j=1e6, recalibrate_after=4, meter="cpu-model"))
    logged = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert trainer.state.global_step == 12
    assert 0 < logged[0]["ampere/energy_j"] < logged[-1]["ampere/energy_j"]
    assert "ampere/factor" not in logged[0] and logged[-1]["ampere/factor"] > 0
    assert logged[0]["ampere/predicted_total_j"] == pytest.approx(0.12)
    assert logged[-1]["ampere/remaining_j"] == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ampere: ")]
    assert len(said) == 1 and "modelled" in said[0] and "12 of 12 steps" in said[0] and "kept" in said[0]


def test_hugging_face_stops_for_a_budget(tmp_path, capsys):
    pytest.importorskip("transformers")
    callback = ampere.Callback(budget_j=10, meter="cpu-model")
    trainer = hugging_face(tmp_path, callback, steps=100_000)
    assert 0 < trainer.state.global_step < 100_000
    # What comes behind the last step is in it too, and takes as long as the machine likes.
    assert 9 < callback.run.energy_j < 20
    assert "stopped for it" in capsys.readouterr().out


def test_reporters_see_the_figures_once_attached(tmp_path):
    transformers = pytest.importorskip("transformers")
    seen = []

    class Reporter(transformers.TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            seen.append(dict(logs))

    trainer = hugging_face(tmp_path, Reporter(), steps=2)
    assert not any("ampere/energy_j" in logs for logs in seen)
    ampere.Callback(meter="cpu-model").attach(trainer)
    seen.clear()
    trainer.train()
    assert all("ampere/energy_j" in logs for logs in seen if "loss" in logs) and seen


def test_processes_stop_together(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    code = f"""
import sys, torch
from ampere.hugging_face import any_process
rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://{tmp_path}/meet", rank=rank, world_size=2)
assert any_process(rank == 0, "cpu") and any_process(rank == 1, "cpu") and not any_process(False, "cpu")
torch.distributed.destroy_process_group()
"""
    both = [subprocess.Popen([sys.executable, "-c", code, str(rank)]) for rank in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]


# --- Lightning -------------------------------------------------------------------------------------------------------


def lightning(tmp_path, callback, **options):
    torch = pytest.importorskip("torch")
    L = pytest.importorskip("lightning.pytorch")

    class Small(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(8, 1)

        def training_step(self, batch, index):
            return self.net(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=4)
    trainer = L.Trainer(
        callbacks=[callback],
        accelerator="cpu",
        default_root_dir=tmp_path,
        logger=L.loggers.CSVLogger(tmp_path),
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(Small(), data)
    return trainer


def test_lightning_measures_and_logs(tmp_path, capsys):
    pytest.importorskip("lightning.pytorch")
    callback = ampere.LightningCallback(0.01, budget_j=1e6, recalibrate_after=4, meter="cpu-model")
    trainer = lightning(tmp_path, callback, max_epochs=2, accumulate_grad_batches=2)
    assert trainer.global_step == callback.run.steps == callback.run.total_steps == 16
    assert trainer.logged_metrics["ampere/energy_j"] > 0 and trainer.logged_metrics["ampere/factor"] > 0
    assert "ampere/energy_j" in (tmp_path / "lightning_logs" / "version_0" / "metrics.csv").read_text()
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ampere: ")]
    assert len(said) == 1 and "16 of 16 steps" in said[0] and "kept" in said[0]


def test_lightning_stops_for_a_budget(tmp_path, capsys):
    pytest.importorskip("lightning.pytorch")
    callback = ampere.LightningCallback(budget_j=10, meter="cpu-model")
    trainer = lightning(tmp_path, callback, max_epochs=10_000)
    assert 0 < trainer.global_step < 160_000
    assert 9 < callback.run.energy_j < 11
    assert "stopped for it" in capsys.readouterr().out


def test_all_can_be_imported_without_any_trainer():
    code = "from ampere import *; import sys; assert not {'transformers', 'lightning'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
