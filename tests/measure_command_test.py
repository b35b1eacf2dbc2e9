#!/usr/bin/python3
"""ampere measure -- COMMAND: any program with a meter around it.

    tests/measure_command_test.py ampere=build/bin/ampere
"""

import json
import os
import signal

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

    def test_json_on_standard_output(self):
        done = self.measure("sh", "-c", f"{BUSY}; exit 3", options=["-q", "--json"])
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        figures = json.loads(done.stdout)
        self.assertGreater(figures["energy_j"], 0)
        self.assertEqual((figures["exit_status"], figures["still_running"], figures["schema_version"]), (3, 0, 1))
        self.assertEqual(self.measure("echo", "words", options=["--json"]).stdout[:8], "words\n{\n")

    def test_processes_that_outlive_the_program(self):
        pids = self.folder / "pids"
        background = f"(sleep 1000 & echo $! >> {pids}) >/dev/null 2>&1; sleep 1000 >/dev/null 2>&1 & echo $! >> {pids}"
        done = self.measure("sh", "-c", background, options=["--json"])
        for pid in map(int, pids.read_text().split()):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"ampere: 2 of the processes that the program started were still running when it ended")
        self.assertEqual(json.loads(done.stdout)["still_running"], 2)

    def test_orphans_that_have_ended_are_counted(self):
        """A process nobody waited for: its CPU time is the program's all the same."""
        script = f"sh -c '({BUSY}; : > done) &'; while [ ! -e done ]; do sleep 0.05; done; sleep 0.2"
        done = self.measure("sh", "-c", script, options=["--json", "-q"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        orphan = json.loads(done.stdout)
        self.assertEqual(orphan["still_running"], 0)
        # In the program itself the same loop costs about as much; without the orphan next to nothing is left.
        (self.folder / "done").unlink()
        inside = json.loads(self.measure("sh", "-c", BUSY, options=["--json", "-q"]).stdout)
        self.assertGreater(orphan["energy_j"], inside["energy_j"] / 2)

    def test_output_is_tried_first(self):
        done = self.measure("touch", "ran", options=["-o", "/no/such/folder/x.json"])
        self.assert_refused(done, 2, r"/no/such/folder/x\.json: cannot be written")
        self.assertFalse((self.folder / "ran").exists())

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
