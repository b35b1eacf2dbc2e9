#!/usr/bin/python3
"""Profiling, probing and evaluating on imaginary accelerators: one with a slow counter, one that keeps its power.

    tests/accelerator_test.py ampere=build/bin/ampere
"""

import json
import pathlib
import shlex
import shutil
import sqlite3
import sys
import tempfile

import support
from support import AmpereTest, scripted

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORK = ["cnn5:c1=6,c2=9,c3=12,c4=12", "--batch", "2"]
CUDA = ["--worker", scripted("cuda")]


class Accelerator(AmpereTest):
    def points(self, surface):
        with sqlite3.connect(self.store) as store:
            query = "SELECT measurement FROM point WHERE surface LIKE ?"
            return [json.loads(text) for (text,) in store.execute(query, (surface,))]

    def profile(self, *options):
        return self.json_of("profile", *NETWORK, *CUDA, *options)

    def have_a_profile(self):
        """Made by the first test that needs one, and copied for the others."""
        kept = self.class_folder / "profiles.db"
        if not kept.exists():
            self.profile()
            shutil.copy(self.store, kept)
        shutil.copy(kept, self.store)

    @classmethod
    def setUpClass(cls):
        cls.class_folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.class_folder, ignore_errors=True)

    def test_every_point_tells_energy_where_the_device_keeps_its_power(self):
        self.json_of("profile", *NETWORK, "--worker", scripted("cuda-samples"))
        points = self.points("split/%")
        self.assertGreater(len(points), 100)
        self.assertTrue(all(p["energy_j"] for p in points))

    def test_with_a_slow_counter_most_points_tell_time_alone(self):
        self.have_a_profile()
        points = self.points("split/hidden/%")
        with_energy = [p for p in points if p["energy_j"] is not None]
        self.assertLess(len(with_energy), len(points))
        self.assertTrue(all(p["mode"] == "replay" for p in points))
        self.assertEqual(len(self.points("whole-replay/%")), 6)
        self.assertEqual(len(self.points("whole/%")), 18)
        # A second run finds everything measured.
        again = self.profile()["methods"]["split"]
        self.assertEqual(again["points_measured"], 0)

    def test_another_card_of_the_same_name_is_told(self):
        quick = ["profile", *NETWORK, *CUDA, "-q", "--points-2d", "4", "--checks", "0"]
        for unit, told in (("GPU-1", False), ("GPU-1", False), ("GPU-2", True)):
            done = self.run_ampere(*quick, env={"SCRIPTED_UNIT": unit})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("measured on another card of this name (GPU-1)" in done.stderr, told, done.stderr)

    def test_estimates_say_what_bounds_the_time(self):
        self.have_a_profile()
        eager = self.json_of("estimate", *NETWORK)
        self.assertIn(eager["regime"], ("host-bound", "device-bound"))
        for key in ("device_time_s", "device_energy_j", "host_time_s", "idle_power_w"):
            self.assertGreaterEqual(eager[key], 0)
        replayed = self.json_of("estimate", *NETWORK, "--mode", "replay")
        self.assertLess(replayed["iteration"]["energy_j"], eager["iteration"]["energy_j"] * 1.0001)
        self.assertRegex(self.output_of("estimate", *NETWORK), "(host|device)-bound: ")

    def test_autotuning_is_offered_where_it_was_profiled(self):
        self.have_a_profile()
        self.assertNotIn("autotune", self.json_of("estimate", *NETWORK))
        self.profile("--autotune", "on")
        self.assertAlmostEqual(self.json_of("estimate", *NETWORK)["autotune"]["saves_j"], 0, delta=1e-3)

    def test_probes_are_kept(self):
        self.profile("--points-2d", "4", "--energy-points-2d", "4")
        other = ["cnn5:c1=5,c2=7,c3=11,c4=10", "--batch", "2"]
        first = self.json_of("estimate", *other, "--probe", *CUDA)
        self.assertGreater(first["probe"]["measured"], 0)
        self.assertEqual(first["probe"]["layers"], 5)
        probes = self.points("exact/%")
        self.assertEqual(len(probes), first["probe"]["measured"])
        self.assertTrue(all(p["energy_j"] for p in probes))
        second = self.json_of("estimate", *other, "--probe", *CUDA)
        self.assertEqual(second["probe"]["measured"], 0)
        # What was probed counts from then on, also without a worker.
        alone = self.json_of("estimate", *other)
        self.assertEqual(alone["iteration"], second["iteration"])

    def test_exact_needs_no_profile(self):
        done = self.json_of("estimate", *NETWORK, "--exact", *CUDA)
        self.assertEqual(done["probe"]["measured"], 5)
        self.assertEqual(len([p for p in self.points("exact/%") if p["energy_j"]]), 5)
        self.assertEqual(done["composition"]["networks"], 0)

    def test_without_a_worker_the_surfaces_answer(self):
        self.have_a_profile()
        done = self.run_ampere("estimate", *NETWORK, "--probe", "--json", "--worker", "false")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing is probed, since no worker answers", done.stderr)
        self.assertNotIn("probe", json.loads(done.stdout))

    def test_target(self):
        easy = self.profile("--target", "60%")["target"]
        self.assertTrue(easy["reached"])
        self.assertLessEqual(easy["half_width"], 0.6)
        hard = self.profile("--target", "0.1%")["target"]
        self.assertFalse(hard["reached"])
        self.assertIn("was not reached", self.output_of("profile", *NETWORK, *CUDA, "-q", "--target", "0.1%"))

    def test_a_recorded_profile_can_be_played_back(self):
        log = self.folder / "recording.jsonl"
        self.output_of("profile", *NETWORK, *CUDA, "-q", env={"AMPERE_RECORD": str(log)})
        first = self.points("split/%")
        other = self.folder / "other.db"
        replay = "exec " + shlex.join([sys.executable, str(ROOT / "tools" / "replay_worker"), str(log)])
        self.output_of("profile", *NETWORK, "--worker", replay, "-q", env={"AMPERE_STORE": str(other)})
        self.store = other
        self.assertEqual(self.points("split/%"), first)

    def test_energy_that_does_not_come_ends_the_run(self):
        done = self.run_ampere("profile", *NETWORK, "-q", "--worker", scripted("no-energy"))
        self.assert_refused(done, 3, r"without its energy; choose another meter")

    def test_evaluation_compares_with_and_without_probes(self):
        methods = ["split", "split-probe", "split-exact", "paper", "neuralpower"]
        done = self.json_of("evaluate", *NETWORK, *CUDA, "--samples", "3", "--passes", "3", "--method", ",".join(methods))
        self.assertTrue(set(methods) < set(done["methods"]))
        self.assertGreater(done["methods"]["split-probe"]["probe_time_s"], 0)
        self.assertIn("mape_at_true_time", done["methods"]["split"])
        self.assertEqual({n["passes"] for n in done["networks"]}, {3})
        replayed = self.json_of("evaluate", *NETWORK, *CUDA, "--samples", "3", "--mode", "replay", "--method", "split,paper-replay")
        self.assertEqual((replayed["mode"], len(self.points("truth-replay1/%"))), ("replay", 3))
        self.assertIn("paper-replay", replayed["methods"])
        self.json_of("estimate", *NETWORK, "--method", "paper-replay", "--mode", "replay")

    def test_suite_goes_on_where_it_was(self):
        suite = ["evaluate", "--suite", "paper", "--samples", "2", "--method", "split", "-q", "-o", "out", *CUDA]
        text = self.output_of(*suite, "--only", "lenet5-b10,lstm-b10-replay")
        self.assertIn("| lenet5 | 10 | off | eager |", text)
        self.assertIn("| lstm | 10 | off | replay |", text)
        text = self.output_of(*suite, "--only", "har-b10-autotune")
        self.assertIn("| lenet5 | 10 | off | eager |", text)
        self.assertIn("| har | 10 | on | eager |", text)
        self.assertEqual((self.folder / "out" / "suite.md").read_text(), text)
        (self.folder / "out" / "lenet5-b10.json").write_text('{"methods": 3}')
        self.assert_refused(self.run_ampere(*suite, "--only", "har-b10-autotune"), 2, r"out/lenet5-b10\.json: not an evaluation")


if __name__ == "__main__":
    support.main()
