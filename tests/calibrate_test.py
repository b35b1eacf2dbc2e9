#!/usr/bin/python3
"""ampere detect --calibrate METER: the watts of cpu-model, found with a real meter.

    tests/calibrate_test.py ampere=build/bin/ampere
"""

import re
import shlex
import sys

import support
from support import AmpereTest

# A power monitor of a machine whose cores draw 25 W each: it counts the CPU time of the program that started it.
MONITOR = """
import os, time
while True:
    with open(f"/proc/{os.getppid()}/schedstat") as file:
        print(25e-9 * int(file.read().split()[0]), "J", flush=True)
    time.sleep(0.02)
"""


class Calibrate(AmpereTest):
    def calibrate(self, meter, *options):
        return self.run_ampere("detect", "--calibrate", meter, *options, env={"AMPERE_WORKER": "exec no-worker-is-needed"})

    def monitor(self):
        path = self.folder / "monitor.py"
        path.write_text(MONITOR)
        return "exec:exec " + shlex.join([sys.executable, str(path)])

    def test_watts_are_found_and_can_be_set(self):
        done = self.calibrate(self.monitor())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"W per busy core, by meter exec \(board\)\n")
        line = re.search(r"^export AMPERE_CPU_WATTS=(\S+)$", done.stdout, re.MULTILINE)
        self.assertAlmostEqual(float(line[1]), 25, delta=5)
        done = self.run_ampere("measure", "--meter", "cpu-model", "--", "true", env={"AMPERE_CPU_WATTS": line[1]})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_json(self):
        done = self.json_of("detect", "--calibrate", self.monitor())
        self.assertAlmostEqual(done["watts_per_core"], 25, delta=5)
        self.assertEqual((done["meter"], done["scope"]), ("exec", "board"))

    def test_meters_that_cannot_tell(self):
        self.assert_refused(self.calibrate("cpu-model"), 2, "needs a real meter, and cpu-model is modelled; ampere detect")
        self.assert_refused(self.calibrate("crystal-ball"), 2, "no meter is called 'crystal-ball'")
        self.assert_refused(self.calibrate("exec:true"), 3, "the command ended")


if __name__ == "__main__":
    support.main()
