#!/usr/bin/python3
"""ampere measure -- COMMAND: any program with a meter around it.

    tests/measure_command_test.py ampere=build/bin/ampere
"""

import json

import support
from support import AmpereTest

BUSY = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"


class MeasureCommand(AmpereTest):
    def measure(self, *words, options=()):
        return self.run_ampere("measure", "--meter", "cpu-model", *options, "--", *words)

    def test_exit_status_and_output_are_the_programs_own(self):
        done = self.measure("sh", "-c", f"{BUSY}; echo result; echo words >&2; exit 7")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, "result\n")
        self.assertRegex(done.stderr, r"words\nampere: .*J in .*meter cpu-model \(process, modelled\)")
        self.assertEqual(self.measure("sh", "-c", "kill -9 $$").returncode, 128 + 9)
        self.assertEqual(self.measure("true").returncode, 0)

    def test_figures_as_json(self):
        path = self.folder / "cost.json"
        done = self.measure("sh", "-c", BUSY, options=["-q", "-o", path])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        figures = json.loads(path.read_text())
        self.assertGreater(figures["energy_j"], 0)
        self.assertGreater(figures["time_s"], 0)
        self.assertIs(figures["modelled"], True)
        self.assertEqual((figures["exit_status"], figures["meter"], figures["schema_version"]), (0, "cpu-model", 1))

    def test_options_behind_the_dashes_are_the_programs(self):
        self.assertEqual(self.measure("echo", "--json", "-q").stdout, "--json -q\n")

    def test_what_cannot_be_run(self):
        done = self.measure("no-such-program-here")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("ampere: no-such-program-here: cannot be run", done.stderr)

    def test_dashes_with_nothing_behind(self):
        self.assertEqual(self.run_ampere("measure", "--").returncode, 2)


if __name__ == "__main__":
    support.main()
