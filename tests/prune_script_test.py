#!/usr/bin/python3
"""Pruning to a budget and training what comes out, as a user does it.

    tests/prune_script_test.py ampere=build/bin/ampere [worker=build/bin/ampere-worker] [example=build/.../fit_to_budget]
"""

import csv
import json
import random
import struct
import subprocess
import xml.etree.ElementTree

import support
from support import AmpereTest, HERE, PROGRAMS, QUICK, real, scripted


class Prune(AmpereTest):
    def setUp(self):
        super().setUp()
        self.output_of("profile", "cnn5", "--batch", "8", "--worker", scripted(), *QUICK)

    def prune(self, *more):
        return ["prune", "cnn5", "--batch", "8", "--candidates", "20000", *more]

    def test_half_the_energy(self):
        out = self.folder / "half.json"
        plan = self.json_of(*self.prune("--budget", "50%", "-o", out))
        self.assertLessEqual(plan["share"], 0.5)
        self.assertGreater(plan["share"], 0.45)
        self.assertLessEqual(plan["after"]["energy_j"], plan["budget"]["energy_j"])
        self.assertEqual(plan["search"]["candidates"], 20000)
        self.assertEqual(json.loads(out.read_text()), plan["network"])
        # The network that was written is estimated as the plan says.
        estimate = self.json_of("estimate", out, "--batch", "8")
        self.assertAlmostEqual(estimate["iteration"]["energy_j"] / plan["after"]["energy_j"], 1, 6)
        changed = {g["name"]: g["channels"] for g in plan["groups"]}
        self.assertEqual(changed["fc"], 10)
        self.assertIn("puts them out", {g["name"]: g for g in plan["groups"]}["fc"]["untouched"])

    def test_budgets_in_joules(self):
        whole = self.json_of("estimate", "cnn5", "--batch", "8")["iteration"]["energy_j"]
        by_iteration = self.json_of(*self.prune("--budget", f"{0.6 * whole}J/iter"))
        by_job = self.json_of(*self.prune("--budget", f"{0.6 * whole * 250 / 3600}Wh/job", "--samples", "1000", "--epochs", "2"))
        self.assertEqual(by_iteration["network"], by_job["network"])
        kept = self.json_of(*self.prune("--budget", "1kWh/job", "--samples", "1000"))
        self.assertTrue(kept["unchanged"])

    def test_options(self):
        plan = self.json_of(*self.prune("--budget", "60%", "--risk", "5%", "--multiple-of", "4", "--min-channels", "8", "--keep", "conv1"))
        self.assertLessEqual(plan["budget"]["bound_j"], plan["budget"]["energy_j"])
        self.assertLess(plan["share"], 0.6)
        channels = {g["name"]: g["channels"] for g in plan["groups"]}
        self.assertEqual(channels["conv1"], 32)
        for name in ("conv2", "conv3", "conv4"):
            self.assertEqual(channels[name] % 4, 0)
            self.assertGreaterEqual(channels[name], 8)
        random_one = self.json_of(*self.prune("--budget", "50%", "--search", "random", "--seed", "3"))
        self.assertEqual(random_one["network"], self.json_of(*self.prune("--budget", "50%", "--search", "random", "--seed", "3"))["network"])
        self.assertLessEqual(random_one["share"], 0.5)

    def test_scores(self):
        scores = self.folder / "scores.json"
        scores.write_text(json.dumps({"layers": {"conv1": [1] * 5 + [0] * 27, "conv2": 0.1, "conv3": 10, "conv4": 10}}))
        plan = self.json_of(*self.prune("--budget", "70%", "--rank", "score", "--scores", scores))
        conv1 = plan["groups"][0]
        self.assertEqual(len(conv1["kept"]), conv1["channels"])
        self.assertEqual(conv1["kept"][:5], [0, 1, 2, 3, 4])
        scores.write_text(json.dumps({"layers": {"conv1": [1, 2, 3]}}))
        self.assert_refused(self.run_ampere(*self.prune("--budget", "70%", "--rank", "score", "--scores", scores)), 2, "32 channels, but 3")

    def test_check_measures_the_choice(self):
        plan = self.json_of(*self.prune("--budget", "50%", "--check", "4", "--worker", scripted()))
        self.assertLessEqual(plan["measured"]["share"], 0.5)
        self.assertGreater(plan["measured"]["share"], 0.45)

    def test_flops_need_no_store(self):
        plan = self.json_of("prune", "resnet18-cifar", "--by", "flops", "--budget", "50%", "--candidates", "2000",
                            env={"AMPERE_STORE": str(self.folder / "none.db")})
        self.assertLessEqual(plan["after"]["flops"], 0.5 * plan["before"]["flops"])
        self.assertFalse((self.folder / "none.db").exists())

    def test_what_cannot_be(self):
        refused = lambda code, pattern, *more: self.assert_refused(self.run_ampere(*self.prune(*more)), code, pattern)
        refused(4, "the cheapest takes", "--budget", "1%")
        refused(4, "none of its channels may change", "--budget", "50%", "--keep", "conv1,conv2,conv3,conv4")
        refused(4, "none of its channels may change", "--budget", "50%", "--min-channels", "100%")
        refused(2, "more than the network takes", "--budget", "120%")
        refused(2, "above 0", "--budget", "-5%")
        refused(2, "not understood", "--budget", "half")
        refused(2, "needs the job", "--budget", "5J/job")
        refused(2, "called \"conv7\"", "--budget", "50%", "--keep", "conv7")
        refused(2, "percentage", "--budget", "50%", "--risk", "0.05")
        refused(2, "above 0%", "--budget", "50%", "--risk", "0%")
        refused(2, "--scores", "--budget", "50%", "--rank", "score")
        refused(2, "number of channels", "--budget", "50%", "--min-channels", "few")
        refused(2, "share", "--budget", "5J/iter", "--by", "flops")
        refused(1, "cannot be written", "--budget", "50%", "-o", "/nonexistent/x.json")
        refused(6, "run: ampere profile", "--budget", "50%", "--precision", "bf16")

    def test_layers_that_nobody_measured_are_told_by_others(self):
        """Its kinds are known at another batch only."""
        ask = ["prune", "lenet5", "--budget", "50%", "--candidates", "2000"]
        plan = self.json_of(*ask)
        self.assertEqual(plan["before"]["unmeasured"], 1)
        self.assertLessEqual(plan["share"], 0.5)
        self.assertRegex(self.output_of(*ask), r"100% of the energy before, 100% of it after, is of layers that were never")
        self.assertNotIn("never", self.output_of(*self.prune("--budget", "50%")))

    def test_the_example_fits_a_job(self):
        if "example" not in PROGRAMS:
            self.skipTest("no example=PATH")
        whole = self.json_of("estimate", "cnn5", "--batch", "8")["iteration"]["energy_j"]
        out = self.folder / "sent.json"

        def fit(share):
            return subprocess.run([PROGRAMS["example"], self.store, "cnn5", "8", "100", str(share * whole * 100), out],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=support.PATIENCE_S)

        done = fit(0.6)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fits when pruned", done.stdout)
        self.assertLess(self.json_of("estimate", out, "--batch", "8")["iteration"]["energy_j"], 0.6 * whole)
        self.assertIn("fits as it is", fit(3).stdout)
        self.assertEqual(fit(0.0001).returncode, 4)


class Train(AmpereTest):
    """With a real worker, on a small data set: stripes that lie or stand."""

    def setUp(self):
        super().setUp()
        if "worker" not in PROGRAMS:
            self.skipTest("no worker=PATH")
        self.data = self.folder / "data"
        self.data.mkdir()
        chance = random.Random(1)
        for prefix, count in (("train", 96), ("t10k", 40)):
            labels = bytes(i % 2 for i in range(count))
            images = bytes(chance.randrange(80) + (170 if (p // 8 if label else p % 8) % 2 else 0)
                           for label in labels for p in range(64))
            (self.data / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, count, 8, 8) + images)
            (self.data / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, count) + labels)
        for name, width in (("large", 48), ("small", 4)):
            (self.folder / f"{name}.json").write_text(json.dumps({"name": name, "nodes": [
                {"op": "input", "shape": [1, 8, 8]}, {"op": "conv2d", "out_channels": width, "kernel": 3}, {"op": "relu"},
                {"op": "flatten"}, {"op": "linear", "out_features": 2}]}))

    def train(self, *more):
        return ["train", "large.json", "small.json", "--data", self.data, "--batch", "16", "--iterations", "60", "--turn", "7",
                "--test-every", "20", "--worker", real(), "--meter", "cpu-model", "--budget", "50%", *more]

    def test_networks_take_turns(self):
        out, curves, plot = (self.folder / f"run.{kind}" for kind in ("json", "csv", "svg"))
        table = self.output_of(*self.train("-o", out, "--csv", curves))
        self.assertRegex(table, r"small .*(held|exceeded)")
        run = json.loads(out.read_text())
        self.assertEqual([n["label"] for n in run["networks"]], ["large", "small"])
        self.assertTrue(run["modelled"])
        for network in run["networks"]:
            self.assertEqual([p["iteration"] for p in network["curve"]], [0, 20, 40, 60])
            self.assertEqual(network["curve"][-1]["energy_j"], network["energy_j"])
            self.assertGreater(network["test_accuracy"], 0.9)
            self.assertLess(network["test_loss"], network["curve"][0]["test_loss"])
        self.assertLess(run["networks"][1]["energy_share"], 1)
        with open(curves, encoding="utf-8") as file:
            self.assertEqual(len(list(csv.DictReader(file))), 8)
        subprocess.run([HERE.parent / "tools" / "plot_training", out, plot], check=True, timeout=support.PATIENCE_S)
        self.assertEqual(len(xml.etree.ElementTree.parse(plot).findall(".//{*}polyline")), 6)

    def test_what_cannot_be(self):
        refused = lambda pattern, *command: self.assert_refused(self.run_ampere(*command), 2, pattern)
        refused("dataset-fashion-mnist", *self.train()[:3], "--data", "/nonexistent", "--worker", real(), "-q")
        refused("called \"large\"", "train", "large.json", "large.json", "--data", self.data, "--worker", real())
        refused("3 labels for 2", *self.train("--labels", "a,b,c"))
        refused("one float input", "train", "lenet5", "--data", self.data, "--worker", real(), "-q")


if __name__ == "__main__":
    support.main()
