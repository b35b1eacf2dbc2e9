#!/usr/bin/python3
"""--worker "ssh board ampere-worker" through a real sshd: keys, connections that break, a board that reboots.

    tests/ssh_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker
"""

import pathlib
import re
import subprocess
import sys
import time
import uuid

import ssh_server
import support
from support import AmpereTest, PROGRAMS, rows_so_far, scripted

PROFILE = ["profile", "lenet5", "--batch", "10", *support.QUICK]


class Ssh(AmpereTest):
    def setUp(self):
        super().setUp()
        self.mark = "AMPERE_TEST_MARK=" + uuid.uuid4().hex
        name, value = self.mark.split("=")
        self.server = ssh_server.SshServer(self.folder, **{name: value})
        self.server.start()
        self.addCleanup(self.server.stop)
        self.worker = self.server.command(PROGRAMS["worker"])

    def begin(self, *options):
        """Profiles with real training, until some points are kept."""
        self.errors = self.folder / "errors"
        with self.errors.open("w") as file:
            process = subprocess.Popen(self.command(*PROFILE, "-q", "--worker", self.worker, *options), env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
        self.addCleanup(process.kill)
        self.until_points(3, process)
        return process

    def points(self):
        return rows_so_far(self.store)

    def until(self, true, process):
        deadline = time.monotonic() + support.PATIENCE_S
        while not true():
            self.assertLess(time.monotonic(), deadline, self.errors.read_text())
            self.assertIsNone(process.poll(), self.errors.read_text())
            time.sleep(0.02)

    def until_points(self, count, process):
        self.until(lambda: len(self.points()) >= count, process)

    def assert_done(self, process, before):
        self.assertEqual(process.wait(support.PATIENCE_S), 0, self.errors.read_text())
        after = self.points()
        self.assertEqual(after[:len(before)], before)
        places = [row[1:6] for row in after]
        self.assertEqual(len(places), len(set(places)), "a point was measured twice")
        self.json_of("estimate", "lenet5", "--batch", "10")
        self.assert_no_process_left(self.mark)

    def test_works(self):
        self.assertIn("cpu-model", self.output_of("detect", "--worker", self.worker))
        self.output_of(*PROFILE, "-q", "--worker", self.worker)
        self.assertGreater(self.json_of("estimate", "lenet5", "--batch", "10")["iteration"]["energy_j"], 0)
        self.assert_no_process_left(self.mark)

    def test_wrong_key(self):
        wrong = self.server.command(PROGRAMS["worker"], "stranger")
        self.assert_refused(self.run_ampere(*PROFILE, "--worker", wrong), 1, r"cannot be reached \(exit status 255, which is ssh's\)",
                            r"Permission denied \(publickey\)", r"run it by hand")

    def test_another_host_key(self):
        known = self.folder / "known_hosts"
        known.write_text(known.read_text().split()[0] + " " + (self.folder / "stranger.pub").read_text())
        self.assert_refused(self.run_ampere(*PROFILE, "--worker", self.worker), 1, r"cannot be reached", r"Host key verification failed")

    def test_nobody_there(self):
        self.server.stop()
        self.assert_refused(self.run_ampere(*PROFILE, "--worker", self.worker), 1, r"cannot be reached", r"Connection refused")

    def test_no_worker_there(self):
        missing = self.server.command("/nowhere/ampere-worker")
        self.assert_refused(self.run_ampere(*PROFILE, "--worker", missing), 1, r"cannot be run \(exit status 127\)", r"/nowhere/ampere-worker")

    def test_connection_breaks(self):
        process = self.begin()
        before = self.points()
        self.server.drop()
        self.until(lambda: "asked once more" in self.errors.read_text(), process)
        self.assertRegex(self.errors.read_text(), r"^ampere: the worker \(ssh .*\) cannot be reached \(exit status 255.*when asked to "
                                                  r"measure .*; it is there again and asked once more\n")
        self.assert_done(process, before)

    def test_ssh_is_killed(self):
        """Not a connection that breaks: the program at this end is gone. The point is tried again."""
        process = self.begin()
        before = self.points()
        children = pathlib.Path("/proc").glob("[0-9]*/cmdline")
        found = [int(p.parent.name) for p in children if re.match(rb"ssh\0-F\0" + str(self.folder).encode(), self.read(p))]
        self.assertEqual(len(found), 1)
        subprocess.run(["kill", "-9", str(found[0])], check=True)
        self.assert_done(process, before)

    @staticmethod
    def read(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""

    def test_reboots(self):
        process = self.begin()
        before = self.points()
        self.server.stop()
        self.until(lambda: "trying to reach it for up to 600 s" in self.errors.read_text(), process)
        self.assert_no_process_left(self.mark)  # the worker has noticed that nobody hears it
        self.server.start()
        self.assert_done(process, before)
        self.assertRegex(self.errors.read_text(), r"is back after [\d.]+ s; going on\n$")

    def test_another_board_answers(self):
        board = self.folder / "board"
        board.write_text(f"#!/bin/sh\nSCRIPTED_NAME=first {scripted('slow')}\n")
        board.chmod(0o755)
        self.worker = self.server.command(str(board))
        process = self.begin()
        board.write_text(f"#!/bin/sh\nSCRIPTED_NAME=second {scripted('slow')}\n")
        self.server.drop()
        self.assertEqual(process.wait(support.PATIENCE_S), 1)
        self.assertRegex(self.errors.read_text(), r'runs on another device: name "second" where it was "first"')

    def test_killed(self):
        """kill -9 of ampere: the worker at the other end goes, too, and the next run goes on."""
        process = self.begin()
        process.kill()
        process.wait()
        self.assert_no_process_left(self.mark)
        before = self.points()
        done = self.json_of(*PROFILE, "-q", "--worker", self.worker)["methods"]["split"]
        self.assertGreater(done["points_reused"], 0)
        self.assertEqual(self.points()[:len(before)], before)


if __name__ == "__main__":
    if not ssh_server.SSHD:
        print("there is no sshd here; run: scripts/setup fleet")
        sys.exit(77)
    support.main()
