#!/usr/bin/python3
"""ampere measure MODEL --repeat: the same network again and again, and how far the figures scatter.

    tests/measure_repeat_test.py ampere=build/bin/ampere
"""

import json
import statistics

import support
from support import AmpereTest, scripted


class MeasureRepeat(AmpereTest):
    def measure(self, *options, mode="drifts"):
        return self.run_ampere("measure", "lenet5", "--worker", scripted(mode), *options)

    def test_medians_and_scatter(self):
        done = self.measure("--repeat", "4", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = json.loads(done.stdout)
        self.assertEqual(len(figures["repeats"]), 4)
        for name in ("energy", "time"):
            values = [r["energy_j" if name == "energy" else "time_s"] for r in figures["repeats"]]
            self.assertEqual(len(set(values)), 4)
            self.assertAlmostEqual(figures["energy_j" if name == "energy" else "time_s"], statistics.median(values))
            self.assertAlmostEqual(figures[f"{name}_scatter"], statistics.stdev(values) / statistics.mean(values))
        self.assertEqual(figures["windows"], sum(r["windows"] for r in figures["repeats"]))

    def test_one_has_no_scatter(self):
        figures = json.loads(self.measure("--json").stdout)
        self.assertEqual((figures["energy_scatter"], figures["time_scatter"], len(figures["repeats"])), (None, None, 1))
        self.assertNotIn("scatter", self.measure().stdout)

    def test_as_text(self):
        lines = self.measure("--repeat", "3").stdout.splitlines()
        self.assertEqual([line[:5] for line in lines[:3]], ["  1: ", "  2: ", "  3: "])
        self.assertRegex(lines[4], r"^medians of 3 measurements; scatter [\d.]+% of energy, [\d.]+% of time$")

    def test_what_was_measured_before_a_failure_is_told(self):
        done = self.measure("--repeat", "5", "--json", mode="stops:3")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["repeats"]), 2)
        self.assertIn("the imaginary device is tired", done.stderr)
        self.assert_refused(self.measure("--repeat", "5", mode="stops:1"), 1, "the imaginary device is tired")

    def test_windows_are_asked_for(self):
        self.assertEqual(json.loads(self.measure("--windows", "8", "--json").stdout)["windows"], 8)
        self.assertEqual(json.loads(self.measure("--json").stdout)["windows"], 5)
        self.assert_refused(self.measure("--windows", "1"), 2, "--windows")


if __name__ == "__main__":
    support.main()
