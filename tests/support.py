"""What the end-to-end tests share: running ampere, looking into its store, and waiting for processes."""

import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
# A limit against hanging for ever, not a claim about speed.
PATIENCE_S = 240
# What the sanitizers write (the preset "sanitize").
REPORT = re.compile(r"ERROR: (Address|Leak)Sanitizer|LeakSanitizer|runtime error:")
QUICK = ["--points-1d", "3", "--points-2d", "5", "--checks", "2", "--point-seconds", "0.1"]
PROGRAMS = {}


def main():
    """Runs the tests of the calling file: FILE.py NAME=PATH... [unittest arguments]."""
    given = [a for a in sys.argv[1:] if re.match(r"[a-z_]+=", a)]
    PROGRAMS.update(a.split("=", 1) for a in given)
    if "ampere" not in PROGRAMS:
        sys.exit(f"usage: {sys.argv[0]} ampere=PATH [worker=PATH] [fake_worker=PATH] [unittest arguments]")
    unittest.main(argv=[sys.argv[0]] + [a for a in sys.argv[1:] if a not in given])


def scripted(*arguments):
    """The command of a worker that needs no LibTorch (scripted_worker.py)."""
    return "exec " + shlex.join([sys.executable, str(HERE / "scripted_worker.py"), *map(str, arguments or ["ok"])])


def real():
    return "exec " + shlex.quote(PROGRAMS["worker"])


def rows(store, query="SELECT * FROM point ORDER BY id"):
    """Looks into a copy: opening the store itself would mend what a killed run has left."""
    with tempfile.TemporaryDirectory(prefix="ampere-test-") as folder:
        for file in store.parent.glob(store.name + "*"):
            if file.is_file():  # and not what a server keeps beside it
                shutil.copy(file, folder)
        db = sqlite3.connect(pathlib.Path(folder) / store.name)
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()


def rows_so_far(store):
    """Points of a store that is being written; none where it changed while it was copied, time and again."""
    for _ in range(20):
        try:
            return rows(store)
        except (FileNotFoundError, sqlite3.DatabaseError):
            time.sleep(0.01)
    return []


def marked(mark):
    """Process ids whose environment carries this mark: all that ampere started, wherever they are now."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z" and mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except (OSError, IndexError):
            continue
    return found


class AmpereTest(unittest.TestCase):
    """Each test has a folder, a store and an environment of its own."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = self.folder / "profiles.db"
        self.reports = pathlib.Path(tempfile.mkdtemp(prefix="ampere-reports-"))
        self.addCleanup(shutil.rmtree, self.reports, ignore_errors=True)
        self.addCleanup(self.assert_nothing_reported)

    def assert_nothing_reported(self):
        """Sanitizers write into files, so that reports of processes whose output nobody reads are seen too."""
        for report in sorted(self.reports.iterdir()):
            self.fail(report.read_text(errors="replace")[:4000])

    def environment(self, **changes):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AMPERE_")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            kept[name] = f"{kept.get(name, '')}:log_path={self.reports}/report"
        return {**kept, "HOME": str(self.folder), "AMPERE_STORE": str(self.store), **changes}

    def command(self, *arguments):
        return [PROGRAMS["ampere"], *map(str, arguments)]

    def run_ampere(self, *arguments, env=None, **more):
        done = subprocess.run(self.command(*arguments), env=self.environment(**(env or {})), cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", timeout=PATIENCE_S, **more)
        self.assertNotRegex(done.stdout + done.stderr, REPORT)
        return done

    def output_of(self, *arguments, **more):
        """Standard output of a command that must succeed."""
        done = self.run_ampere(*arguments, **more)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def json_of(self, *arguments, **more):
        done = json.loads(self.output_of(*arguments, "--json", **more))
        self.assertEqual(done["schema_version"], 1)
        return done

    def assert_refused(self, done, code, *patterns):
        """One clear message and nothing else. Returns it."""
        what = f"{shlex.join(done.args)}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.assertEqual(done.returncode, code, what)
        self.assertEqual(done.stdout, "", what)
        self.assertTrue(done.stderr.startswith("ampere: ") and done.stderr.endswith("\n"), what)
        self.assertEqual(done.stderr.count("ampere: "), 1 + done.stderr.count("run: ampere: "), what)
        if code != 6:  # which lists the missing kinds
            self.assertEqual(done.stderr.count("\n"), 1, what)
        self.assertNotRegex(done.stderr, r"std::|exception|terminate|what\(\)|nlohmann|json\.exception|basic_|c10::")
        for pattern in patterns:
            self.assertRegex(done.stderr, pattern)
        return done.stderr

    def assert_intact(self, store=None):
        self.assertEqual(rows(store or self.store, "PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(rows(store or self.store, "PRAGMA foreign_key_check"), [])

    def assert_no_process_left(self, mark):
        """What a killed ampere had started ends by itself."""
        deadline = time.monotonic() + 60
        while marked(mark) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(marked(mark), [], "processes left behind")
