#!/usr/bin/python3
"""A recorded run can be run again without the device: AMPERE_RECORD, then tools/replay_worker.

    tests/replay_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker

Without worker= the scripted worker is recorded.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import support
from support import AmpereTest, PROGRAMS, QUICK, real, rows, scripted

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPLAY = ROOT / "tools" / "replay_worker"
POINTS = "SELECT device, recipe, surface, channels_in, channels_out, variant, measurement FROM point ORDER BY id"


class Replay(AmpereTest):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "recording.jsonl"
        self.device = real() if "worker" in PROGRAMS else scripted("drifts")
        self.replay = "exec " + shlex.join([sys.executable, str(REPLAY), str(self.log)])

    def recorded(self, *arguments):
        return self.run_ampere(*arguments, "--worker", self.device, env={"AMPERE_RECORD": str(self.log)})

    def replayed(self, *arguments, **env):
        return self.run_ampere(*arguments, "--worker", self.replay, env=env)

    def test_profile(self):
        arguments = ["profile", "lenet5", "--batch", "4", "-q", *QUICK]
        done = self.recorded(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        other = self.folder / "other.db"
        done = self.replayed(*arguments, AMPERE_STORE=str(other))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(rows(self.store, POINTS)), 5)
        self.assertEqual(rows(other, POINTS), rows(self.store, POINTS))
        estimate = ["estimate", "lenet5:c1=3", "--batch", "4", "--json"]
        self.assertEqual(self.output_of(*estimate, env={"AMPERE_STORE": str(other)}), self.output_of(*estimate))

    def test_measure_again_and_again(self):
        """Several answers to one request come in their order."""
        arguments = ["measure", "lenet5", "--batch", "4", "--repeat", "3", "--seconds", "0.3", "--target-error", "0.5", "--json"]
        once, again = (json.loads(done.stdout) for done in (self.recorded(*arguments), self.replayed(*arguments)))
        self.assertEqual(len({r["energy_j"] for r in once["repeats"]}), 3)
        for figures in (*once["repeats"], *again["repeats"]):
            del figures["wall_s"]
        self.assertEqual(again, once)

    def test_errors_are_recorded_too(self):
        arguments = ["measure", "lenet5", "--meter", "crystal-ball"]
        done = self.recorded(*arguments)
        again = self.replayed(*arguments)
        self.assertEqual((again.returncode, again.stderr), (done.returncode, done.stderr))
        self.assertIn("crystal-ball", again.stderr)

    def test_what_was_not_recorded(self):
        self.recorded("measure", "lenet5", "--seconds", "0.1", "--target-error", "0.5")
        done = self.replayed("measure", "lenet5", "--batch", "2", "--seconds", "0.1", "--target-error", "0.5")
        self.assert_refused(done, 1, r"recording\.jsonl has no answer to this request \(measure lenet5\S* at batch 2\)")

    def test_files_that_do_not_serve(self):
        self.assert_refused(self.replayed("detect"), 1, r"recording\.jsonl: No such file")
        self.log.write_text("hello\n")
        self.assert_refused(self.replayed("detect"), 1, r"line 1: not an exchange")
        done = self.run_ampere("detect", "--worker", self.device, env={"AMPERE_RECORD": str(self.folder / "none" / "log")})
        self.assert_refused(done, 2, "cannot be written; AMPERE_RECORD")


class Fixture(AmpereTest):
    """results/h200/recording.jsonl is the log of a real run on an NVIDIA H200: run again from it, it gives the same table."""

    def test_meters_of_the_h200(self):
        results = ROOT / "results" / "h200"
        worker = "exec " + shlex.join([sys.executable, str(REPLAY), str(results / "recording.jsonl")])
        kit = pathlib.Path(PROGRAMS["ampere"]).resolve().parent.parent
        command = [sys.executable, ROOT / "tools/gpu/run_meters", self.folder, "--kit", kit, "--limit", "0"]
        done = subprocess.run(command, env={**os.environ, "AMPERE_WORKER": worker}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith((results / "meters.txt").read_text()), done.stdout)


if __name__ == "__main__":
    support.main()
