#!/usr/bin/python3
"""Heat, slow counters and memory on boards that are simulated: what their user sees.

    tests/boards_test.py ampere=build/bin/ampere board=build/bin/simulated-board
"""

import json
import shlex

import support
from support import AmpereTest, HERE, PROGRAMS, rows

RECIPE = ["--batch", "256", "--precision", "fp32"]
SPARSE = ["--points-1d", "4", "--points-2d", "4", "--whole-networks", "0"]
LONG_POINTS = ["--point-seconds", "300", "--point-error", "0.0001"]  # until a phone is warm


class Boards(AmpereTest):
    def board(self, name, *options):
        top = HERE.parent
        points = [str(top / "results/h200" / f"{name}.csv") for name in ("points_families", "points", "points_families_9008")]
        return shlex.join([PROGRAMS["board"], "--boards", str(top / "data/boards.json"), "--points", ",".join(points),
                           "--board", name, *options])

    def profile(self, *options, worker):
        done = self.run_ampere("profile", "cnn5", *RECIPE, *SPARSE, *options, "-q", "--worker", worker)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr, [json.loads(row[0]) for row in rows(self.store, "SELECT measurement FROM point ORDER BY id")]

    def test_heat_is_waited_out_and_told(self):
        told, points = self.profile(*LONG_POINTS, worker=self.board("nexus-6p"))
        self.assertEqual(told.count("heat slows the device down; such points are measured again after a rest"), 1, told)
        self.assertEqual(told.count("such points are marked, and count as less sure"), 1, told)
        self.assertTrue([p for p in points if "s of rest, slowed down by heat before" in p.get("note", "")])
        self.assertTrue([p for p in points if p.get("throttled")])

    def test_heat_of_a_silent_board_is_marked(self):
        told, points = self.profile(*LONG_POINTS, worker=self.board("nexus-6p", "--blind"))
        self.assertNotIn("measured again", told)
        self.assertIn("such points are marked, and count as less sure", told)
        self.assertTrue([p for p in points if p.get("throttled")])

    def test_sustained(self):
        worker = self.board("pixel-7")
        self.profile(worker=worker)
        learned = self.output_of("measure", "cnn5", *RECIPE, "--sustained", "20min", "-q", "--worker", worker)
        self.assertRegex(learned, r"cold it draws \S+ W; warm it sustains \S+ W, iterations take 1\.\d+ times as long")
        cold = self.json_of("estimate", "cnn5", *RECIPE)["iteration"]
        warm = self.json_of("estimate", "cnn5", *RECIPE, "--sustained")["iteration"]
        self.assertGreater(warm["time_s"], 1.2 * cold["time_s"])
        self.assertLess(warm["energy_j"], 0.9 * cold["energy_j"])

    def test_what_does_not_fit(self):
        self.profile(worker=self.board("pixel-7"))
        done = self.run_ampere("estimate", "cnn5", "--batch", "4096", "--precision", "fp32", "--memory", "1GiB")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(" ".join((done.stdout + done.stderr).split()),
                         r"cnn5 at batch 4096 does not fit: a step takes \S+ GiB, and the device has 1\.00 GiB .*; batch \d+ would fit")


if __name__ == "__main__":
    support.main()
