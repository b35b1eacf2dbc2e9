#!/usr/bin/python3
"""What people see: help for every verb, and tables that fit their terminal.

    tests/output_test.py ampere=build/bin/ampere
"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import support
from support import AmpereTest, DATA, QUICK, scripted

VERBS = ["", "detect", "models", "layers", "convert", "profile", "estimate", "measure", "run", "evaluate", "additivity", "prune", "tune", "train", "schedule", "report",
         "fleet", "fleet detect", "fleet profile", "fleet estimate", "slurm", "slurm install", "slurm refresh", "slurm report", "serve",
         "store", "store list", "store show", "store deliver", "store grant", "completion", "man"]
# What prints tables.
TABLES = [["models"], ["models", "--ops"], ["layers", "lenet5"], ["layers", "transformer", "--batch", "8"],
          ["layers", "resnet152"], ["layers", DATA / "branches.json"], ["store", "list"], ["store", "show"],
          ["estimate", "lenet5", "--batch", "10"], ["estimate", "lenet5", "--batch", "10", "--samples", "60000"],
          ["profile", "lenet5", "--batch", "10", *QUICK], ["evaluate", "lenet5", "--batch", "10", "--samples", "3", *QUICK],
          ["additivity", "--layers", "3", "--phases"], ["schedule", DATA / "jobs.json"], ["detect"],
          ["prune", "lenet5", "--batch", "10", "--budget", "50%", "--risk", "5%", "--candidates", "2000"],
          ["prune", "resnet18-cifar", "--by", "flops", "--budget", "50%", "--candidates", "500"]]
# What takes longer than two seconds on a real device.
LONG = [["profile", "lenet5", "--batch", "10", *QUICK], ["evaluate", "lenet5", "--batch", "10", "--samples", "3", *QUICK],
        ["additivity", "--layers", "3"], ["estimate", "lenet5", "--batch", "10", "--exact"],
        ["profile", "lenet5", "--batch", "11", "--target", "5%", *QUICK], ["report", "--figures", "figures"]]


class Help(AmpereTest):
    def test_every_verb(self):
        listed = re.findall(r"^  (\w+) {2,}", self.output_of("--help").split("Subcommands:")[1], re.MULTILINE)
        self.assertEqual(set(listed), {verb.split()[0] for verb in VERBS if verb})
        for verb in VERBS:
            with self.subTest(verb):
                done = self.run_ampere(*verb.split(), "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("Usage: ampere" + (" " + verb if verb else ""), done.stdout)
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 100], [])
                undescribed = re.findall(r"^  (-\S+)\s*$", done.stdout, re.MULTILINE)
                self.assertEqual(undescribed, [], "options without a description")

    def test_exit_codes_are_told(self):
        text = self.output_of("--help")
        for code in range(7):
            self.assertRegex(text, rf"\b{code} \w+")

    def test_version(self):
        self.assertRegex(self.output_of("--version"), r"^\d+\.\d+\.\d+\n$")


# A name that clears the screen, in the three ways a terminal may be told to, rings and turns the direction of writing.
HOSTILE = "\x1b[2J\x9b2J\x07\x00\x7f\r\u202econv"
# What must never reach a terminal.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# A worker that answers like scripted_worker.py, with other texts.
WORKER = """
import json, sys
sys.argv = [sys.argv[0], "ok"]
source = open({script!r}).read()
hostile = {hostile!r}
if {noted}:
    source = source.replace('"note": "" if', '"note": hostile if').replace('"imaginary device"', 'hostile')
else:
    source = source.replace('return measured(', 'return {{"error": {{"kind": "failed", "message": hostile}}}} or measured(')
exec(compile(source, "worker", "exec"))
"""


class Hostile(AmpereTest):
    """Texts of files and workers do not steer the terminal."""

    def worker(self, hostile, noted):
        path = self.folder / "worker.py"
        path.write_text(WORKER.format(script=str(support.HERE / "scripted_worker.py"), hostile=hostile, noted=noted))
        return f"exec /usr/bin/python3 {path}"

    def model(self, **change):
        path = self.folder / (HOSTILE.replace("\0", "") + ".json")
        path.write_text(json.dumps({"name": HOSTILE, "nodes": [
            {"name": "x", "op": "input", "shape": [1, 28, 28]}, {"name": HOSTILE, "op": "flatten"},
            {"name": HOSTILE + "y", "op": "linear", "out_features": 10}], **change}))
        return path

    def assert_harmless(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stderr)
        for text in (done.stdout, done.stderr):
            self.assertIsNone(CONTROLS.search(text), repr(text))

    def test_names(self):
        model, worker = self.model(), self.worker(HOSTILE, noted=True)
        self.assert_harmless(self.run_ampere("profile", model, *QUICK, "--worker", worker))
        for verb in (["layers", model], ["estimate", model], ["convert", model], ["convert", model, "-o", "x.json"],
                     ["measure", model, "--seconds", "0.1", "--worker", worker], ["store", "list"], ["store", "show"],
                     ["detect", "--worker", worker], ["report", "-o", HOSTILE.replace("\0", "")]):
            for more in ([], ["--json"]):
                with self.subTest(verb=verb[0], more=more):
                    if verb == ["convert", model] and more:
                        continue
                    done = self.run_ampere(*verb, *more)
                    self.assert_harmless(done)
                    if more:
                        json.loads(done.stdout)
        # JSON keeps what the names are.
        self.assertEqual(self.json_of("layers", model)["model"], HOSTILE)
        self.assertEqual(json.loads(self.output_of("convert", model))["name"], HOSTILE)
        self.assertIn(r"\x1b[2J\x9b2J\x07\x00\x7f", self.output_of("layers", model))

    def test_errors(self):
        self.assert_harmless(self.run_ampere("layers", self.model(outputs=[HOSTILE + "z"])), 2)
        self.assert_harmless(self.run_ampere("layers", HOSTILE.replace("\0", "")), 2)
        done = self.run_ampere("profile", "lenet5", "-q", "--worker", self.worker(HOSTILE, noted=False))
        self.assert_harmless(done, 1)
        self.assertIn(r"the worker says: \x1b[2J\x9b2J", done.stderr)

    def test_long_errors_lose_their_middle(self):
        done = self.run_ampere("profile", "lenet5", "-q", "--worker", self.worker("begin" + 100_000 * "x" + "end", noted=False))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"the worker says: beginx+ \[\.\.\. \d+ bytes left out \.\.\.\] x+end")
        self.assertLess(len(done.stderr), 2200)
        done = self.run_ampere("layers", "x" * 100_000)
        self.assertEqual(done.returncode, 2)
        self.assertLess(len(done.stderr), 2200)


class Terminal(AmpereTest):
    def on_terminal(self, columns, *arguments, **env):
        """What a terminal of this width is sent."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(self.command(*arguments), env=self.environment(**{"AMPERE_WORKER": scripted(), "TERM": "xterm", **env}),
                                   stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=self.folder)
        os.close(theirs)
        text = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # how Linux tells that the other side is closed
                chunk = b""
            if not chunk:
                break
            text += chunk
        os.close(ours)
        self.assertEqual(process.wait(support.PATIENCE_S), 0, text)
        return text.decode()

    def lines_of(self, text):
        # The progress bar redraws its line.
        text = re.sub(r"\x1b\[K", "", text)
        return [piece for line in text.split("\r\n") for piece in line.split("\r") if piece]

    def test_tables_fit(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        for columns in (60, 140):
            for arguments in TABLES:
                with self.subTest(" ".join(map(str, arguments)), columns=columns):
                    text = self.on_terminal(columns, *arguments)
                    tables = 0
                    for number, line in enumerate(self.lines_of(text)):
                        tables += bool(re.fullmatch("-{20,}", line))
                        prose = not re.search(r"  |--", line)  # wraps by itself
                        if not prose:
                            self.assertLessEqual(len(line), columns, f"line {number}: {line}")
                    if columns > 100:  # narrow terminals get paragraphs where no table fits
                        self.assertGreaterEqual(tables, 1, text)

    def test_columns_count_where_there_is_no_terminal(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        for columns in (60, 120):
            for arguments in TABLES:
                with self.subTest(" ".join(map(str, arguments)), columns=columns):
                    text = self.output_of(*arguments, env={"AMPERE_WORKER": scripted(), "COLUMNS": str(columns)})
                    for line in text.splitlines():
                        if re.search(r"  |--", line):
                            self.assertLessEqual(len(line), columns, line)
        self.assertEqual(self.output_of("models", env={"COLUMNS": "wide"}), self.output_of("models"))

    def test_long_work_tells_how_long_it_will_take(self):
        for arguments in LONG:
            with self.subTest(" ".join(arguments)):
                text = self.on_terminal(100, *arguments, AMPERE_WORKER=scripted("slow"))
                self.assertRegex(text, r"\[#*\.*\] \d+/\d+  (\d+ min )?\d+ s left")
                self.assertTrue("\r\x1b[K" in text)
                quiet = self.on_terminal(100, *arguments, "--quiet", AMPERE_WORKER=scripted("slow"))
                self.assertNotRegex(quiet, r"left|\x1b")

    def test_one_long_step_tells_too(self):
        for arguments in (["measure", "lenet5", "--repeat", "2"], ["detect"]):
            with self.subTest(" ".join(arguments)):
                worker = f"sleep 2.7; {scripted()}"
                self.assertRegex(self.on_terminal(100, *arguments, AMPERE_WORKER=worker), r"\] \d/\d+  \d+ s left")
                self.assertNotIn("left", self.on_terminal(100, *arguments, "-q", AMPERE_WORKER=worker))

    def test_no_escape_sequences_where_they_are_not_wanted(self):
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            for arguments in [LONG[0], LONG[1], *TABLES[:2], TABLES[8]]:
                with self.subTest(" ".join(map(str, arguments)), **env):
                    self.assertNotIn("\x1b", self.on_terminal(100, *arguments, **env))

    def test_piped_output_has_no_control_characters(self):
        self.output_of("profile", "lenet5", "--batch", "10", *QUICK, "--worker", scripted())
        for arguments in TABLES:
            with self.subTest(" ".join(map(str, arguments))):
                done = self.run_ampere(*arguments, env={"AMPERE_WORKER": scripted()})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotRegex(done.stdout + done.stderr, r"[\x00-\x09\x0b-\x1f]")

    def test_json_is_all_of_standard_output(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        for arguments in TABLES:
            with self.subTest(" ".join(map(str, arguments))):
                done = self.run_ampere(*arguments, "--json", env={"AMPERE_WORKER": scripted()})
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.json_of(*arguments, env={"AMPERE_WORKER": scripted()})


if __name__ == "__main__":
    support.main()
