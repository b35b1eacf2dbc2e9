#!/usr/bin/python3
"""A worker that lies, and a store that holds what one has told: refused when it arrives, named when it is read.

    tests/hostile_worker_test.py ampere=build/bin/ampere
"""

import json
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import uuid

import support
from support import AmpereTest, HERE, rows, scripted

PROFILE = ["profile", "lenet5", "--batch", "10", "-q", *support.QUICK]

# Mode of scripted_worker.py from the third measurement on, exit code and what the message must say.
LIES = [
    ("tiny", r'answered nonsense .*"time_s" of an iteration cannot be 4\.94e-324 s.*check its meter'),
    ("huge", r'answered nonsense .*"time_s" of an iteration cannot be 1e\+300 s'),
    ("far", r"answered nonsense .* of an iteration cannot be"),
    ("meters", r"answered nonsense .*it read the meter made-up where imaginary was asked for"),
    ("silent", r"the worker says: it failed without saying why"),
    ("wordy", r"the worker says: it began with words .*\[\.\.\. \d+ bytes left out \.\.\.\] .* and ended so"),
]


class Lies(AmpereTest):
    def test_measurements(self):
        for mode, pattern in LIES:
            with self.subTest(mode):
                self.store = self.folder / f"{mode}.db"
                done = self.run_ampere(*PROFILE, "--worker", scripted(f"{mode}:3+", self.folder / f"{mode}.count"))
                self.assertLess(len(self.assert_refused(done, 1, pattern)), 6000)
                kept = rows(self.store)
                self.assertEqual(len(kept), 2, "what was true is kept, and nothing else")
                # The store is not spoilt: an honest worker goes on from there.
                self.output_of(*PROFILE, "--worker", scripted())
                self.assertGreater(self.json_of("estimate", "lenet5", "--batch", "10")["iteration"]["energy_j"], 0)
                self.assertEqual(self.output_of("store", "check"), f"{self.store}: all is well\n")

    def test_device(self):
        for mode, pattern in (("odd-device", r'field "name" must be text, found \{"of":'),
                              ("long-device", r'"name" must have at most 200 characters, found 3000')):
            with self.subTest(mode):
                done = self.run_ampere(*PROFILE, "--worker", scripted(mode))
                self.assert_refused(done, 1, r"answered nonsense .*docs/protocol\.md", pattern)
                self.assertEqual(rows(self.store, "SELECT * FROM device"), [])

    def test_idle_power(self):
        done = self.run_ampere(*PROFILE, "--worker", scripted("odd-idle"))
        self.assert_refused(done, 1, r'answered nonsense .*"power_w" must be between 0\.0 and')
        self.assertEqual(rows(self.store, "SELECT * FROM fact WHERE name = 'idle'"), [])


class OneBatch(AmpereTest):
    """A module made for one batch size: told by the kind of the error, whatever its words are."""

    def layers(self, mode, batch):
        (self.folder / "net.pt").write_bytes(b"PK")
        return self.run_ampere("layers", "net.pt", "--input", "4", "--batch", batch, "--worker", scripted(mode))

    def test_asked_again_with_the_users_batch(self):
        self.assertIn("linear", self.layers("one-batch", 3).stdout)
        self.assert_refused(self.layers("one-batch", 5), 2, r"the worker says: only three fit")

    def test_worker_without_that_kind(self):
        self.assert_refused(self.layers("one-batch-old", 3), 2, r"the worker says: only three fit")


class SpoiltStore(AmpereTest):
    """What an older version may have let in."""

    def setUp(self):
        super().setUp()
        self.output_of(*PROFILE, "--worker", scripted())

    def change(self, *statements):
        with sqlite3.connect(self.store) as db:
            for statement in statements:
                db.execute(*statement)
        db.close()

    def check(self, *options):
        return self.run_ampere("store", "check", *options)

    def test_point(self):
        (point,) = rows(self.store, "SELECT id, device, surface FROM point WHERE surface LIKE 'split/hidden/%' LIMIT 1")
        for value, pattern in (('json_set(measurement, "$.time_s", 1e300)', r'"time_s" of an iteration cannot be 1e\+300'),
                               ("'{'", r"measurement: not valid JSON")):
            self.change((f"UPDATE point SET measurement = {value} WHERE id = ?", point[:1]))
            for verb in (["estimate", "lenet5", "--batch", "10"], [*PROFILE, "--worker", scripted()],
                         ["report", "-o", self.folder / "x.html"]):
                with self.subTest(pattern, verb=verb[0]):
                    self.assert_refused(self.run_ampere(*verb), 2, pattern, rf"point {point[0]} of {point[2]} on device {point[1]}",
                                        rf"ampere store remove --point {point[0]} --store ")
            done = self.check()
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, rf"^point {point[0]} of {point[2]} on device {point[1]}: .*\n$")
            self.assertRegex(done.stderr, r"^ampere: .* 1 of its points, facts and devices cannot be used; .*--remove --store .*profiles\.db\n$")
        self.assertIn("is removed", self.output_of("store", "remove", "--point", point[0]))
        self.assert_refused(self.run_ampere("store", "remove", "--point", point[0]), 2, rf"there is no point {point[0]}")
        self.output_of("store", "check")
        self.output_of("estimate", "lenet5", "--batch", "10")

    def test_facts(self):
        name = "composition/split/lenet5@b10/energy"
        for value in ("json_set(value, '$.log_bias', 1e308)", "json_set(value, '$.deviation', -1)",
                      "json_remove(value, '$.networks')", "'[]'", "'{'"):
            with self.subTest(value):
                before = rows(self.store, f"SELECT value FROM fact WHERE name = '{name}'")
                self.change((f"UPDATE fact SET value = {value} WHERE name = ?", (name,)))
                self.assert_refused(self.run_ampere("estimate", "lenet5", "--batch", "10", "--json"), 2,
                                    rf"profiles\.db: fact {name} on device [0-9a-f]+: value: .*store check --remove")
                found = json.loads(self.check("--json").stdout)["problems"]
                self.assertEqual([(p["kind"], p["subject"].split()[0]) for p in found], [("fact", name)])
                self.change(("UPDATE fact SET value = ? WHERE name = ?", (before[0][0], name)))
        self.change(("UPDATE fact SET value = '{' WHERE name = ?", (name,)))
        self.assertEqual(self.check("--remove").returncode, 0)
        self.assertEqual(self.check().returncode, 0)
        self.output_of("estimate", "lenet5", "--batch", "10")

    def test_device(self):
        """One that cannot be read is named, and the others stay usable."""
        good = rows(self.store, "SELECT id FROM device")[0][0]
        for number, fingerprint in enumerate(('{"name": {"a": 1}, "meter": "imaginary"}', '{"cores": "many"}', '["x"]', "{")):
            self.change(("INSERT INTO device VALUES(?, ?, '2999-01-01T00:00:00Z')", (f"bad{number}", fingerprint)))
        self.change(("UPDATE point SET device = 'bad0' WHERE id = 1",))
        listed = self.run_ampere("store", "list")
        self.assertEqual(listed.returncode, 0)
        self.assertIn(good, listed.stdout)
        for number in range(4):
            self.assertRegex(listed.stderr, rf"ampere: .*profiles\.db: device bad{number}: fingerprint: .*store check --remove --store .*profiles\.db\n")
        self.assertNotRegex(listed.stderr, r"exception")
        self.assert_refused(self.run_ampere("store", "show", "--device", "bad0"), 2, r"device bad0: .*must be text")
        self.assert_refused(self.run_ampere("estimate", "lenet5", "-b", "10", "--device", "bad1"), 2, r"bad1: .*whole number")
        self.output_of("store", "show")
        self.output_of("report", "-o", self.folder / "x.html")
        done = self.check("--remove")
        self.assertEqual((done.returncode, done.stderr, done.stdout.count("\ndevice bad")), (0, "", 3))
        self.assertEqual(self.run_ampere("store", "list").stderr, "")
        self.assert_intact()


class Orphans(AmpereTest):
    """kill -9 of ampere while its worker hangs: the worker and all that it started go with it."""

    def killed(self, worker, measuring):
        mark = "AMPERE_TEST_MARK=" + uuid.uuid4().hex
        name, value = mark.split("=")
        process = subprocess.Popen(self.command(*PROFILE, "--worker", worker), env=self.environment(**{name: value}),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + support.PATIENCE_S
        while not measuring.exists() or measuring.read_text() != "1":
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.assertGreater(len(support.marked(mark)), 1)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=support.PATIENCE_S)
        self.assert_no_process_left(mark)

    def test_hung_worker(self):
        program = shlex.join([sys.executable, str(HERE / "scripted_worker.py"), "hangs:1"])
        for number, command in enumerate(("exec {}", "{}; true", "sh -c {quoted}", "{} | cat", "sleep 1000 & {}")):
            with self.subTest(command):
                count = self.folder / f"count{number}"
                line = f"{program} {shlex.quote(str(count))}"
                self.killed(command.format(line, quoted=shlex.quote(line + "; true")), count)


if __name__ == "__main__":
    support.main()
