#!/usr/bin/python3
"""A meter that fails half-way: the run stops with a clear message, keeps its points, and goes on from there once the
meter is back.

    tests/meter_fails_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker
"""

import json
import shlex
import sys

import support
from support import AmpereTest, QUICK, real, rows

# A power monitor of about 12 W that fails once so many points were measured: it ends, or its counter stands still.
MONITOR = """
import pathlib, sys, time
recording, points, how = map(pathlib.Path, sys.argv[1:])
energy = 0
while True:
    measured = recording.read_text().count('"energy_j"') if recording.exists() else 0
    if measured < int(points.read_text()):
        energy += 0.24
    elif how.read_text() == "ends":
        sys.exit()
    print(energy, "J", flush=True)
    time.sleep(0.02)
"""
BEFORE_FAILING = 4


class MeterFails(AmpereTest):
    def setUp(self):
        super().setUp()
        self.recording, self.points, self.how = (self.folder / name for name in ("recording", "points", "how"))
        monitor = self.folder / "monitor.py"
        monitor.write_text(MONITOR)
        self.meter = "exec:exec " + shlex.join(map(str, [sys.executable, monitor, self.recording, self.points, self.how]))

    def profile(self, *options):
        return self.run_ampere("profile", "lenet5", "--batch", "4", *QUICK, "--meter", self.meter, "--worker", real(),
                               *options, env={"AMPERE_RECORD": str(self.recording)})

    def fail_and_resume(self, how, message):
        self.how.write_text(how)
        self.points.write_text(str(BEFORE_FAILING))
        self.assert_refused(self.profile("-q"), 3, message)
        self.assert_intact()
        kept = rows(self.store)
        # On a busy machine the monitor may get no turn for a whole window, and so stand still before it means to.
        measured = self.recording.read_text().count('"energy_j"')
        self.assertGreaterEqual(len(kept), min(measured, BEFORE_FAILING))
        self.assertGreater(len(kept), 0)
        shown = self.json_of("store", "show")
        self.assertEqual(sum(s["points"] for s in shown["surfaces"]), len(kept))
        self.points.write_text("1000000")
        done = self.profile("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(done.stdout)["methods"]["split"]
        after = rows(self.store)
        self.assertEqual(after[:len(kept)], kept)
        self.assertGreater(len(after), len(kept))
        surfaces = [s["surface"] for s in profile["surfaces"]]
        self.assertEqual(profile["points_reused"], sum(row[3] in surfaces for row in kept))
        places = [row[1:6] for row in after]
        self.assertEqual(len(places), len(set(places)), "a point was measured twice")

    def test_the_monitor_ends(self):
        self.fail_and_resume("ends", r"external meter: the command ended")

    def test_the_counter_stands_still(self):
        self.fail_and_resume("stands still", r"the counter stood still")


if __name__ == "__main__":
    support.main()
