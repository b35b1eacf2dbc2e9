#!/usr/bin/python3
"""kill -9 at any moment: the store stays whole, every finished point stays in it, no process is left
behind, and the next run goes on from there.

    tests/kill_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker

Without worker= only the scripted worker is used. AMPERE_TEST_SEED repeats a run.
"""

import os
import random
import shlex
import signal
import subprocess
import time
import uuid

import support
from support import AmpereTest, PROGRAMS, QUICK, rows, scripted

SEED = int(os.environ.get("AMPERE_TEST_SEED") or random.SystemRandom().randrange(1 << 32))


class Killed(AmpereTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.mark = "AMPERE_TEST_MARK=" + uuid.uuid4().hex
        self.log = self.folder / "answers"

    def environment(self, **changes):
        name, value = self.mark.split("=")
        return {**super().environment(**changes), name: value}

    def recorded(self, worker):
        """The worker, with all that it answers kept in a file as well."""
        return f"{worker.removeprefix('exec ')} | tee -a {shlex.quote(str(self.log))}"

    def points(self):
        # A run that is killed at once leaves no store, or an empty one.
        return rows(self.store) if self.store.exists() and rows(self.store, "PRAGMA user_version") == [(3,)] else []

    def finished_points(self):
        if not self.log.exists():
            return 0
        return sum('"time_s"' in line for line in self.log.read_text().split("\n")[:-1])

    def kill_one(self, arguments, signals, most_s):
        """Starts ampere, kills it at a random moment, and checks all that must hold. False: it had ended."""
        before = self.points()
        process = subprocess.Popen(self.command(*arguments), env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
        # In half of the cases not from the start but from a new point on.
        if self.random.random() < 0.5:
            known = self.finished_points()
            while self.finished_points() == known and process.poll() is None:
                time.sleep(0.002)
            most_s /= 4
        time.sleep(self.random.uniform(0, most_s))
        process.send_signal(self.random.choice(signals))
        errors = process.communicate(timeout=support.PATIENCE_S)[1]
        self.assertLessEqual(process.returncode, 0, errors)
        self.kills += process.returncode < 0
        self.assert_no_process_left(self.mark)
        if not self.store.exists():
            return True
        self.assert_intact()
        after = self.points()
        self.assertEqual(after[:len(before)], before)
        # Each kill loses at most the point that was just being written.
        self.assertGreaterEqual(len(after), self.finished_points() - self.kills)
        return process.returncode < 0

    def kill_often(self, worker, times, most_s, options):
        arguments = ["profile", "lenet5", "--batch", "10", "-q", *options, "--worker", self.recorded(worker)]
        self.kills = in_all = 0
        for attempt in range(times):
            with self.subTest(attempt=attempt, seed=SEED):
                if not self.kill_one(arguments, [signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM], most_s):
                    # It was done before the kill came: begin again, with nothing known.
                    self.store.unlink()
                    self.log.unlink()
                    self.kills = 0
                in_all += self.kills > 0
        self.assertGreater(in_all, 0)
        kept = self.points()
        done = self.json_of(*arguments)["methods"]["split"]
        after = rows(self.store)
        self.assertEqual(after[:len(kept)], kept)
        surfaces = [s["surface"] for s in done["surfaces"]]
        self.assertEqual(done["points_reused"], sum(row[3] in surfaces for row in kept))
        places = [row[1:6] for row in after]
        self.assertEqual(len(places), len(set(places)), "a point was measured twice")
        self.json_of("estimate", "lenet5", "--batch", "10")
        self.assert_no_process_left(self.mark)

    def test_scripted_worker(self):
        self.kill_often(scripted("slow"), 40, 0.6, ["--points-2d", "12", "--checks", "3"])

    def test_real_training(self):
        if "worker" not in PROGRAMS:
            self.skipTest("no LibTorch worker was built")
        self.kill_often(shlex.quote(PROGRAMS["worker"]), 6, 3, QUICK)

    def test_two_at_once(self):
        """Two runs share a store without harm."""
        arguments = ["profile", "lenet5", "-q", *QUICK, "--worker", scripted("slow")]
        both = [subprocess.Popen(self.command(*arguments), env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8") for _ in range(2)]
        for process in both:
            output = process.communicate(timeout=support.PATIENCE_S)[0]
            self.assertEqual(process.returncode, 0, output)
        self.assert_intact()
        self.output_of("estimate", "lenet5")


if __name__ == "__main__":
    print(f"AMPERE_TEST_SEED={SEED}", flush=True)
    support.main()
