#!/usr/bin/python3
"""ampere tune: settings to train with, from profiles alone and with --check; prices by the hour in ampere schedule.

    tests/tune_test.py ampere=build/bin/ampere
"""

import json
import lzma
import pathlib
import xml.etree.ElementTree

import support
from support import AmpereTest, QUICK, scripted

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOB = ["--samples", "60000", "--epochs", "2"]


class Tuning(AmpereTest):
    """Tests share a store, which takes longer to fill than to ask."""

    profiles = ()  # options of ampere profile
    worker = "ok"
    name = None  # of the device
    kept = {}  # by class

    def setUp(self):
        super().setUp()
        if type(self) not in self.kept:
            environment = {"AMPERE_WORKER": scripted(self.worker), **({"SCRIPTED_NAME": self.name} if self.name else {})}
            for options in self.profiles:
                self.output_of("profile", *options, "-q", *QUICK, env=environment)
            self.kept[type(self)] = self.store.read_bytes()
        self.store.write_bytes(self.kept[type(self)])


class Tune(Tuning):
    profiles = [["lenet5", "--batch", "10"], ["lenet5", "--batch", "20"], ["lenet5", "--batch", "10", "--optimizer", "adam"]]

    def test_batches_of_a_profile(self):
        told = self.json_of("tune", "lenet5", "--batch", "10,20", *JOB)
        self.assertEqual({o["batch"] for o in told["outcomes"]}, {10, 20})
        present, best = told["outcomes"][told["present"]], told["outcomes"][told["best"]]
        self.assertEqual(present["batch"], 10)
        self.assertEqual(best["energy_j"], min(o["energy_j"] for o in told["outcomes"]))
        self.assertAlmostEqual(told["energy_saved"]["value"], 1 - best["energy_j"] / present["energy_j"], places=9)
        for outcome in told["outcomes"]:
            self.assertLess(outcome["energy_low_j"], outcome["energy_j"])
            self.assertLess(outcome["energy_j"], outcome["energy_high_j"])
            alone = self.json_of("estimate", "lenet5", "--batch", outcome["batch"], *JOB)
            self.assertAlmostEqual(outcome["energy_j"], alone["job"]["energy_j"], delta=1e-9 * outcome["energy_j"])
        text = " ".join(self.output_of("tune", "lenet5", "--batch", "10,20", *JOB, "--price", "0.3EUR/kWh").split())
        self.assertIn("EUR", text)
        self.assertIn("for energy", text)

    def test_optimizers_are_a_setting(self):
        told = self.json_of("tune", "lenet5", "--batch", "10", *JOB, "--settings", "optimizer=sgd,momentum,adam")
        by_optimizer = {o["optimizer"]: o for o in told["outcomes"]}
        self.assertLessEqual({"sgd", "adam"}, set(by_optimizer))
        alone = self.json_of("estimate", "lenet5", "--batch", "10", *JOB, "--optimizer", "adam")
        self.assertAlmostEqual(by_optimizer["adam"]["energy_j"], alone["job"]["energy_j"],
                               delta=1e-9 * alone["job"]["energy_j"])
        # What nobody has profiled is told where other layers tell it, and named where not.
        self.assertEqual("momentum" in by_optimizer, not told["left_out"], told["left_out"])

    def test_check_trains_what_nobody_has_profiled(self):
        told = self.json_of("tune", "lenet5", "--batch", "10", *JOB, "--check", "--settings", "threads=1,2", "--seconds", "0.2",
                            env={"AMPERE_WORKER": scripted()})
        self.assertEqual({o["threads"] for o in told["outcomes"]}, {1, 2})
        self.assertGreaterEqual(len(told["checks"]), 1)
        best = told["outcomes"][told["best"]]
        self.assertTrue(best["measured"] or best["threads"] == 2)
        text = self.output_of("tune", "lenet5", "--batch", "10", *JOB, "--check", "--settings", "threads=1,2", "--seconds", "0.2",
                              "-q", env={"AMPERE_WORKER": scripted()})
        self.assertIn("* trained for a moment", " ".join(text.split()))

    def test_nothing_was_profiled(self):
        self.store = self.folder / "empty.db"
        done = self.run_ampere("tune", "lenet5", "--batch", "10", *JOB)
        self.assert_refused(done, 6, "no device was profiled yet", "run: ampere profile lenet5 --batch 10")

    def test_mistakes_are_told(self):
        for options, code, message in (
                (["--settings", "limit=300"], 2, "never measured; leave limit and clock out"),
                (["--settings", "colour=red"], 2, 'there is no "colour"'), (["--settings", "batch"], 2, "cannot be read"),
                (["--settings", "batch=1.9"], 2, 'batch: "1.9" is no whole number'),
                (["--settings", "threads=1.5"], 2, 'threads: "1.5" is no whole number'),
                (["--settings", "threads=0"], 2, "no number from 1"), (["--settings", "precision=fp8"], 2, 'there is no "fp8"'),
                (["--settings", "optimizer=lion"], 2, "known: sgd, momentum, adam"),
                (["--settings", "precision=fp16"], 2, r"fp16 with scaling is not told .* ampere.tune\(\)"),
                (["--settings", "channels_last=on"], 2, r"channels last is not told .* ampere.tune\(\)"),
                (["--objective", "cost"], 2, "needs a price"), (["--device-price", "2"], 2, "2.10/h"),
                (["--slower", "fast"], 2, "--slower"), (["--deadline", "8"], 2, "has no unit"),
                (["--deadline", "1ms"], 4, "no setting is quick enough"), (["--objective", "joy"], 2, "--objective"),
                (["--precision", "bf16"], 6, "run: ampere profile")):
            with self.subTest(options=options):
                self.assert_refused(self.run_ampere("tune", "lenet5", "--batch", "10", *JOB, *options), code, message)
        self.assert_refused(self.run_ampere("tune", "lenet5", "--batch", "10"), 2, "--samples")
        self.assert_refused(self.run_ampere("estimate", "lenet5", "--batch", "10", "--power-limit", "300"), 2, "CPU is not modelled")


class Levers(Tuning):
    """An imaginary accelerator by the name of one whose limits were measured."""

    NETWORK = ["lenet5", "--batch", "64"]
    profiles = [NETWORK, [*NETWORK, "--precision", "bf16"]]
    worker = "cuda"
    name = "NVIDIA H200"

    def test_limits(self):
        options = [*self.NETWORK, *JOB]
        told = self.json_of("tune", *options, "--settings", "limit=200,300,400,500", "precision=bf16", "-o", "tuned.json")
        by_limit = {o["power_limit_w"]: o for o in told["outcomes"] if o["precision"] == "default"}
        self.assertEqual(set(by_limit), {None, 200, 300, 400, 500})
        for quick, slow in ((None, 500), (500, 400), (400, 300), (300, 200)):
            self.assertLessEqual(by_limit[quick]["time_s"], by_limit[slow]["time_s"])
        quick = self.json_of("tune", *options, "--settings", "limit=200,300,400,500", "precision=bf16", "--slower", "5%")
        best = quick["outcomes"][quick["best"]]
        self.assertIn(best, [o for o in quick["outcomes"] if o["allowed"]])
        self.assertLessEqual(best["time_s"], 1.05 * quick["outcomes"][quick["present"]]["time_s"] * (1 + 1e-9))
        # An estimate under a limit says the same.
        alone = self.json_of("estimate", *options, "--power-limit", "300W")
        self.assertAlmostEqual(alone["job"]["energy_j"], by_limit[300]["energy_j"], delta=1e-9 * by_limit[300]["energy_j"])
        self.assertEqual(alone["setting"], {"power_limit_w": 300, "clock_mhz": None, "modelled": True})
        self.assert_refused(self.run_ampere("estimate", *options, "--power-limit", "100"), 2, "200 to 700 W")
        self.assert_refused(self.run_ampere("estimate", *options, "--clock", "3000"), 2, "594 to 1980 MHz")
        # The report draws it.
        self.output_of("report", "--store", self.folder / "none.db", "--results", "tuned.json", "-o", "page.html", "--figures", "figures", "-q")
        xml.etree.ElementTree.parse(self.folder / "figures/settings-1.svg")
        rows = (self.folder / "figures/settings-1.csv").read_text().splitlines()
        self.assertEqual(len(rows), 1 + len(told["outcomes"]))

    def test_of_layers_that_nobody_measured(self):
        """From the profile of H200s that is part of the repository."""
        profile = self.folder / "h200.json"
        profile.write_bytes(lzma.decompress((ROOT / "results/h200/profile.json.xz").read_bytes()))
        self.store.unlink()
        self.output_of("store", "import", profile)
        text = self.output_of("tune", "resnet18", "--batch", "64", *JOB, "--settings", "limit=300", "-o", "tuned.json")
        self.assertIn("to train so: ampere run --power-limit 300 -- COMMAND", " ".join(text.split()))
        told = json.loads((self.folder / "tuned.json").read_text())
        limited, usual = (next(o for o in told["outcomes"] if o["power_limit_w"] == limit) for limit in (300, None))
        self.assertLess(limited["energy_j"], usual["energy_j"])
        self.assertGreater(limited["time_s"], usual["time_s"])
        self.assertRegex(told["advice"][-1]["what"], r"measure first, to be surer: \d+ layers")
        self.assertRegex(told["advice"][-1]["evidence"], "100% of this energy is of layers that nobody measured here")


class Forecast(AmpereTest):
    def setUp(self):
        super().setUp()
        cost = {"energy": "1kWh", "time": "1h"}
        jobs = {"devices": [{"name": "desktop"}], "jobs": [{"name": "a", "cost": cost, "deadline": "6h"}, {"name": "b", "cost": cost, "deadline": "3h"}]}
        (self.folder / "jobs.json").write_text(json.dumps(jobs))
        (self.folder / "prices.csv").write_text("hour,price\n0,0.40\n1,0.20\n2,0.30\n3,0.10\n4,0.50\n5,0.50\n")

    def test_jobs_move_to_cheap_hours(self):
        plain = self.json_of("schedule", "jobs.json")
        told = self.json_of("schedule", "jobs.json", "--price-forecast", "prices.csv")
        self.assertAlmostEqual(told["price_forecast"]["cost_before"], 0.6, places=9)
        self.assertAlmostEqual(told["price_forecast"]["cost"], 0.3, places=9)
        self.assertEqual(told["price_forecast"]["moved_jobs"], 2)
        self.assertEqual({j["name"]: j["start_s"] for j in told["jobs"]}, {"a": 3 * 3600, "b": 3600})
        self.assertEqual(told["value"], plain["value"])
        for job in told["jobs"]:
            self.assertLessEqual(job["end_s"], job["deadline_s"])
        text = " ".join(self.output_of("schedule", "jobs.json", "--price-forecast", "prices.csv", "--price", "0.3EUR/kWh").split())
        self.assertIn("costs 0.3 EUR instead of 0.6 EUR; 2 of them were moved", text)

    def test_carbon_alone_decides_too(self):
        told = self.json_of("schedule", "jobs.json", "--carbon-forecast", "prices.csv")
        self.assertAlmostEqual(told["carbon_forecast"]["cost_g"], 0.3, places=9)

    def test_mistakes_are_told(self):
        (self.folder / "bad.csv").write_text("0,0.3\n0,0.4\n")
        self.assert_refused(self.run_ampere("schedule", "jobs.json", "--price-forecast", "bad.csv"), 2, "line 2: hours must rise")
        self.assert_refused(self.run_ampere("schedule", "jobs.json", "--carbon-forecast", "none.csv"), 2, "cannot be read")


if __name__ == "__main__":
    support.main()
