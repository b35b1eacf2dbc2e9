#!/usr/bin/python3
"""A board that goes away while it is profiled, and comes back: nothing measured is lost, and profiling goes on.

    tests/reconnect_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker

Boards are phones behind a stand-in for adb (fake_adb.py); ssh_test.py does the same with a real sshd.
"""

import json
import shlex
import signal
import subprocess
import sys
import time
import unittest
import uuid

import support
from support import AmpereTest, HERE, PROGRAMS, rows_so_far, rows, scripted

PROFILE = ["profile", "lenet5", "--batch", "10", "-q", *support.QUICK]


class Phone(AmpereTest):
    def setUp(self):
        super().setUp()
        self.plugged = self.folder / "plugged"
        self.plugged.touch()
        self.mark = "AMPERE_TEST_MARK=" + uuid.uuid4().hex
        adb = shlex.join([sys.executable, str(HERE / "fake_adb.py"), "-s", "R58M", "shell"])
        self.worker = f"{adb} {shlex.quote(scripted('slow'))}"

    def environment(self, **changes):
        name, value = self.mark.split("=")
        return {**super().environment(**changes), name: value, "ADB_PHONE": str(self.folder)}

    def start(self, *options):
        """Profiles until it has kept some points and the phone is pulled out."""
        errors = self.folder / "errors"
        with errors.open("w") as file:
            process = subprocess.Popen(self.command(*PROFILE, "--worker", self.worker, *options), env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
        self.addCleanup(process.kill)
        self.until(lambda: len(rows_so_far(self.store)) >= 3, process)
        self.plugged.unlink()
        return process, errors

    def until(self, true, process):
        deadline = time.monotonic() + support.PATIENCE_S
        while not true():
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll(), "it has ended")
            time.sleep(0.01)

    def wait_for_words(self, words, process, errors):
        self.until(lambda: words in errors.read_text(), process)

    def assert_all_there(self):
        """The same points as when nothing goes wrong, each measured once."""
        places = [row[1:6] for row in rows(self.store)]
        self.assertEqual(len(places), len(set(places)), "a point was measured twice")
        calm = self.folder / "calm.db"
        self.output_of(*PROFILE, "--worker", scripted("slow"), "--store", calm)
        self.assertEqual([p[2:] for p in places], [row[3:6] for row in rows(calm)])

    def test_comes_back(self):
        process, errors = self.start()
        self.wait_for_words("trying to reach it for up to 600 s", process, errors)
        self.plugged.touch()
        self.assertEqual(process.wait(support.PATIENCE_S), 0, errors.read_text())
        self.assertRegex(errors.read_text(), r"^ampere: the worker \(.*\) died \(exit status 1\) when asked to measure .*; trying to "
                                             r"reach it .*\nampere: the worker \(.*\) is back after [\d.]+ s; going on\n$")
        self.assert_all_there()

    def test_stays_away(self):
        process, errors = self.start("--reconnect", "2s")
        self.assertEqual(process.wait(support.PATIENCE_S), 1)
        self.assertRegex(errors.read_text().splitlines()[-1],
                         r"^ampere: .*cannot|^ampere: .*device 'R58M' not found.*; it has been away for as long as it is waited for "
                         r"\(2 s\); what was measured is kept, and the same command goes on from there$")
        kept = rows(self.store)
        self.plugged.touch()
        done = self.json_of(*PROFILE, "--worker", self.worker)["methods"]["split"]
        self.assertGreater(done["points_reused"], 0)
        self.assertEqual(rows(self.store)[:len(kept)], kept)
        self.assert_all_there()

    def test_not_waited_for(self):
        process, errors = self.start("--reconnect", "0s")
        self.assertEqual(process.wait(support.PATIENCE_S), 1)
        self.assertNotIn("trying to reach", errors.read_text())
        self.assert_refused(self.run_ampere(*PROFILE, "--worker", self.worker), 1, r"device 'R58M' not found")

    def test_another_one(self):
        process, errors = self.start()
        self.wait_for_words("trying to reach it", process, errors)
        (self.folder / "name").write_text("another phone")
        before = rows(self.store)
        self.plugged.touch()
        self.assertEqual(process.wait(support.PATIENCE_S), 1)
        self.assertRegex(errors.read_text().splitlines()[-1], r'^ampere: the worker \(.*\) was started again and runs on another '
                                                              r'device: name "another phone" where it was "imaginary device"; .* kept')
        self.assertEqual(rows(self.store), before)
        self.assertEqual(len(rows(self.store, "SELECT id FROM device")), 1)

    def test_killed_while_waiting(self):
        process, errors = self.start()
        self.wait_for_words("trying to reach it", process, errors)
        before = rows(self.store)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assert_no_process_left(self.mark)
        self.assert_intact()
        self.assertEqual(rows(self.store), before)
        self.plugged.touch()
        self.output_of(*PROFILE, "--worker", self.worker)
        self.assert_all_there()

    def test_bad_duration(self):
        self.assert_refused(self.run_ampere(*PROFILE, "--reconnect", "soon"), 2, r"--reconnect.*such as 90s, 45min")


class Unheard(unittest.TestCase):
    def test_worker_ends_when_nobody_reads(self):
        """In the middle of a measurement that would take longer than this test has patience."""
        if "worker" not in PROGRAMS:
            self.skipTest("no LibTorch worker was built")
        worker = subprocess.Popen([PROGRAMS["worker"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(worker.kill)
        network = {"nodes": [{"op": "input", "shape": [4]}, {"op": "linear", "out_features": 3}]}
        long = {"network": network, "batch": 1, "budget_s": 10 * support.PATIENCE_S, "warm_up_s": 10 * support.PATIENCE_S}
        for number, (verb, params) in enumerate((("hello", {}), ("measure", long)), 1):
            worker.stdin.write(json.dumps({"id": number, "verb": verb, "params": params}) + "\n")
            worker.stdin.flush()
            if verb == "hello":
                self.assertIn('"ok":true', worker.stdout.readline())
        time.sleep(0.5)
        self.assertIsNone(worker.poll())
        worker.stdout.close()
        self.assertEqual(worker.wait(support.PATIENCE_S), 1)


if __name__ == "__main__":
    support.main()
