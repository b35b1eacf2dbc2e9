#!/usr/bin/python3
"""The whole path with real training on the CPU: profile, estimate, evaluate.

    tests/path_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker
"""

import csv
import json
import math

import support
from support import AmpereTest, DATA, QUICK, real, rows

BASELINES = ["flops", "flops-affine", "flops-bytes"]
SCOPE = ["energy_j", "energy_low_j", "energy_high_j", "time_s", "time_low_s", "time_high_s", "power_w", "iterations"]


class WholePath(AmpereTest):
    def profile(self, model, *more):
        return self.json_of("profile", model, "--batch", "10", *QUICK, *more, "--worker", real())

    def check_header(self, answer):
        self.assertIs(answer["modelled"], True)
        self.assertEqual(answer["meter"], "cpu-model")
        self.assertEqual(answer["device"]["meter"], "cpu-model")
        self.assertEqual(answer["device"]["type"], "cpu")
        self.assertTrue(answer["device"]["name"])
        self.assertIn("torch", answer["device"]["framework"])
        self.assertEqual((answer["batch"], answer["recipe"]), (10, "sgd-default-t1"))

    def check_profile(self, answer):
        self.check_header(answer)
        split = answer["methods"]["split"]
        self.assertEqual(len(split["surfaces"]), 4)
        self.assertEqual(split["points_reused"], 0)
        # One more: the empty iteration.
        self.assertEqual(split["points_measured"], sum(s["measured"] for s in split["surfaces"]) + 1)
        for surface in split["surfaces"]:
            self.assertTrue(2 <= surface["measured"] <= 5, surface)
            self.assertIn(surface["ended"], ("point limit", "certain", "nothing left"))

    def check_estimate(self, e):
        self.check_header(e)
        self.assertEqual((e["model"], e["method"], e["regime"]), ("lenet5", "split", "cpu"))
        for scope in ("iteration", "epoch", "job"):
            self.assertEqual(set(e[scope]), set(SCOPE))
            for quantity, unit in (("energy", "j"), ("time", "s")):
                low, value, high = (e[scope][f"{quantity}{end}_{unit}"] for end in ("_low", "", "_high"))
                self.assertTrue(0 < low < value < high < math.inf, e[scope])
            self.assertAlmostEqual(e[scope]["power_w"], e[scope]["energy_j"] / e[scope]["time_s"])
        # 1003 samples make 101 iterations of 10.
        for scope, times in (("epoch", 101), ("job", 303)):
            self.assertEqual(e[scope]["iterations"], times)
            for key in set(SCOPE) - {"power_w", "iterations"}:
                self.assertTrue(math.isclose(e[scope][key], times * e["iteration"][key], rel_tol=1e-9))
        self.assertEqual([layer["name"] for layer in e["layers"]], ["conv1", "conv2", "fc1", "fc2", "fc3"])
        self.assertEqual([layer["role"] for layer in e["layers"]], ["input", "hidden", "hidden", "hidden", "output"])
        self.assertFalse(any(layer["extrapolated"] for layer in e["layers"]))
        # The total is the sum of its parts, which carry what adding up is off by on this device: a factor
        # that the store knows.
        for key in ("energy_j", "time_s"):
            total = sum(layer[key] for layer in e["layers"]) + e["fixed"][key]
            self.assertTrue(math.isclose(e["iteration"][key], total, rel_tol=1e-6))
        query = "SELECT value FROM fact WHERE name = 'composition/split/lenet5@b10/energy'"
        (known,) = [json.loads(text) for (text,) in rows(self.store, query)]
        self.assertTrue(math.isclose(e["composition"]["factor"], math.exp(known["log_bias"]), rel_tol=1e-9))
        self.assertEqual(e["composition"]["networks"], known["networks"])

    def check_evaluation(self, e, output):
        self.check_header(e)
        self.assertEqual(set(e["methods"]), {"split", "paper", *BASELINES})
        for name, method in e["methods"].items():
            self.assertTrue(0 <= method["mape"] < math.inf, name)
            self.assertIn("median", method)
        self.assertEqual((e["samples"], len(e["networks"])), (3, 3))
        self.assertEqual(len({n["network"] for n in e["networks"]}), 3)
        self.assertEqual(json.loads((output.with_suffix(".json")).read_text()), e)
        with open(output.with_suffix(".csv"), encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(len(table), 3 * len(e["methods"]))
        self.assertEqual({line["network"] for line in table}, {n["network"] for n in e["networks"]})
        self.assertTrue(all(float(line["measured_energy_j"]) > 0 for line in table), table[0])

    def test_lenet5(self):
        first = self.profile("lenet5")
        self.check_profile(first)
        self.assert_intact()
        stored = rows(self.store)

        # Nothing is measured twice.
        second = self.profile("lenet5")["methods"]["split"]
        self.assertEqual(second["points_measured"], 0)
        self.assertEqual(second["points_reused"], first["methods"]["split"]["points_measured"] - 1)
        self.assertEqual(rows(self.store), stored)

        # Estimating needs no worker, and always says the same.
        estimate = ["estimate", "lenet5", "--batch", "10", "--samples", "1003", "--epochs", "3"]
        nobody = {"env": {"AMPERE_WORKER": "exec false"}}
        e = self.json_of(*estimate, **nobody)
        self.check_estimate(e)
        self.assertEqual(self.json_of(*estimate, **nobody), e)
        text = self.output_of(*estimate, **nobody)
        for piece in ("lenet5 at batch 10", "modelled", "cpu-model", "conv1", "fc3", "95% interval", "iteration",
                      "epoch (101 iterations)", "job (3 epochs)"):
            self.assertIn(piece, text)
        # A network it has never run, made of the same kinds.
        smaller = self.json_of("estimate", "lenet5:c1=3,f1=60", "--batch", "10")
        self.assertFalse(any(layer["extrapolated"] for layer in smaller["layers"]))
        self.assertGreater(smaller["iteration"]["energy_j"], 0)
        larger = self.json_of("estimate", "lenet5:c1=40", "--batch", "10")
        self.assertTrue(larger["layers"][0]["extrapolated"])

        # Evaluating trains random networks and reuses what was profiled.
        output = self.folder / "result"
        e = self.json_of("evaluate", "lenet5", "--batch", "10", "--samples", "3", *QUICK, "-o", output, "--worker", real())
        self.check_evaluation(e, output)
        # What profiling took is that of all runs for this family; this one found everything there.
        self.assertEqual(e["profiling"]["split"]["points_measured"], first["methods"]["split"]["points_measured"])
        self.assertGreater(e["profiling"]["paper"]["points_measured"], 0)
        self.json_of("estimate", "lenet5", "--batch", "10", "--method", "paper")
        # The same networks again, from the store: the same figures.
        again = self.json_of("evaluate", "lenet5", "--batch", "10", "--samples", "3", *QUICK, "--worker", real())
        self.assertEqual(again["networks"], e["networks"])
        text = self.output_of("evaluate", "lenet5", "--batch", "10", "--samples", "3", *QUICK, "-q", "--worker", real())
        for piece in ("split", "paper", *BASELINES, "noise floor", "modelled", "MAPE", "coverage"):
            self.assertIn(piece, text)
        self.assert_intact()

    def test_shared_kinds_are_measured_once(self):
        a = self.profile(DATA / "twin_a.json")["methods"]["split"]
        b = self.profile(DATA / "twin_b.json")["methods"]["split"]
        known = {s["surface"]: s for s in a["surfaces"]}
        shared = [s for s in b["surfaces"] if s["surface"] in known]
        self.assertEqual(len(shared), 3)  # both convolutions and the last linear layer
        for s in shared:
            self.assertEqual(s["reused"], known[s["surface"]]["measured"])
        # The same kind at channels inside those already covered needs nothing new.
        self.assertEqual(shared[0]["measured"], 0)
        self.assertLess(b["points_measured"], a["points_measured"])
        for name in ("twin_a", "twin_b"):
            self.json_of("estimate", DATA / f"{name}.json", "--batch", "10")
        # Another batch or optimizer is another cost, which nobody measured and what was measured tells.
        known = self.json_of("estimate", DATA / "twin_a.json", "--batch", "10")
        for other in (("--batch", "11"), ("--batch", "10", "--optimizer", "adam")):
            told = self.json_of("estimate", DATA / "twin_a.json", *other)
            self.assertEqual((known["unmeasured"], told["unmeasured"]), (0, 1))
            self.assertEqual(told["gain"]["layers"], 3)
        # Of another precision nothing is known.
        done = self.run_ampere("estimate", DATA / "twin_a.json", "--batch", "11", "--precision", "bf16")
        self.assert_refused(done, 6, r"run: ampere profile \S*twin_a\.json --batch 11 .*--precision bf16")

    def test_branches(self):
        self.profile(DATA / "branches.json", "--method", "split,paper")
        for method in ("split", "paper"):
            e = self.json_of("estimate", DATA / "branches.json", "--batch", "10", "--method", method)
            self.assertEqual(e["method"], method)
            self.assertGreater(e["iteration"]["energy_j"], 0)

    def test_measure_and_detect(self):
        m = self.json_of("measure", "lenet5", "--batch", "4", "--seconds", "0.5", "--target-error", "0.5", "--worker", real())
        self.assertGreater(m["energy_j"], 0)
        self.assertGreater(m["time_s"], 0)
        self.assertEqual((m["meter"], m["modelled"], m["mode"]), ("cpu-model", True, "eager"))
        found = self.json_of("detect", "--worker", real())
        self.assertIn(found["default_meter"], [meter["name"] for meter in found["meters"] if meter["available"]])
        done = self.run_ampere("profile", "lenet5", "-q", "--meter", "crystal-ball", "--worker", real())
        self.assert_refused(done, 2, r"no meter is called 'crystal-ball'; known: ")


if __name__ == "__main__":
    support.main()
