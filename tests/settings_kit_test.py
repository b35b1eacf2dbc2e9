#!/usr/bin/python3
"""The scripts for a day with a card (docs/gpu_kit.md), without one: against a driver that keeps its state in a file, and
on rows that were recorded.

    tests/settings_kit_test.py ampere=build/bin/ampere fake_nvml=... bench_settings=... [python=PYTHON WITH TORCHVISION]
"""

import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import support
from support import AmpereTest, PATIENCE_S, PROGRAMS

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURE = ROOT / "bench/limits/measure.py"


class Kit(AmpereTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "gpu"
        self.state.write_text("650000 0\n")

    def environment(self, **changes):
        return super().environment(**{"AMPERE_NVML_LIBRARY": PROGRAMS["fake_nvml"], "FAKE_NVML_STATE": str(self.state),
                                      "XDG_RUNTIME_DIR": str(self.folder), "OMP_NUM_THREADS": "1", **changes})

    def run_script(self, *words, code=0, **changes):
        done = subprocess.run([str(word) for word in words], env=self.environment(**changes), cwd=self.folder, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_recorded_rows_are_judged(self):
        text = self.run_script(PROGRAMS["bench_settings"], ROOT / "results/h200/limits.jsonl")
        self.assertIn("NVIDIA H200, 44 rows of 3 networks; limits seen: 200 W 400 W 700 W", text)
        self.assertRegex(text, r"this network at the usual limit alone, these of the others; limits \| \d+ \| [\d.]+% \(")
        self.assertRegex(text, r"Within 2% of the best measured one: \d+ of 9\.")
        self.assertIn("Rows without their own time count as 4 s", text)
        text = self.run_script(PROGRAMS["bench_settings"], ROOT / "results/h200/limits.jsonl", "", "highest")
        self.assertIn("limits seen: 200 W 400 W 700 W; clock seen: 1980 MHz", text)
        self.assertEqual(text.count("Within 2% of the best measured one: 8 of 9"), 2, text)  # and with --check
        refused = self.run_script(PROGRAMS["bench_settings"], ROOT / "results/h200/limits.jsonl", "", "1234", code=2)
        self.assertIn("no row is at a clock of 1234 MHz", refused)
        refused = self.run_script(PROGRAMS["bench_settings"], ROOT / "results/h200/limits.jsonl", "700,600,500,400", code=2)
        self.assertIn("more than three limits", refused)

    def test_the_limit_after_kill_9(self):
        script = [sys.executable, ROOT / "tools/gpu/limit_after_kill", "--ampere", PROGRAMS["ampere"], "--limit", "300",
                  "--times", "1", "--most", PATIENCE_S]  # how quick a busy machine is, is not judged here
        for more in ([], ["--group"]):
            text = self.run_script(*script, *more)
            self.assertRegex(text, r"before: 650 W\n(?s:.)*during: 300 W, [\d.]+ s after the start\nafter:  650 W, [\d.]+ s after kill -9\n1 of 1")
            self.assertEqual(self.state.read_text(), "650000 0\n")
        self.assertIn("did not set the limit", self.run_script(*script, code=1, FAKE_NVML_DENY="1"))

    def measure(self, *more):
        """A dry run: on the CPU, seconds long."""
        return [PROGRAMS["python"], MEASURE, "--device", "cpu", "--networks", "cnn_small@2,text_cnn@2", "--precisions", "default,bf16",
                "--limits", "650,300", "--clocks", "900", "--settle", "0.02", "--windows", "0.1", "--window-s", "0.1",
                "--out", self.folder / "rows.jsonl", *more]

    def rows(self):
        lines = [json.loads(line) for line in (self.folder / "rows.jsonl").read_text().splitlines()]
        return [line for line in lines if "kind" not in line], [line for line in lines if line.get("kind") == "in_turn"]

    @unittest.skipUnless(any("python=" in word for word in sys.argv), "no Python with torchvision")
    def test_measuring_goes_on_and_puts_back(self):
        self.run_script(*self.measure("--networks", "cnn_small@2", "--precisions", "default"))
        self.assertEqual(len(self.rows()[0]), 3)
        self.run_script(*self.measure("--in-turn", "cnn_small@2"))
        self.assertEqual(self.state.read_text(), "650000 0\n")
        rows, turns = self.rows()
        settings = [(row.get("limit_w"), row.get("clock_mhz")) for row in rows[:3]]
        self.assertEqual((len(rows), settings), (12, [(650, None), (300, None), (None, 900)]))
        for row in rows:
            self.assertAlmostEqual(row["joules"] / row["seconds"], 300, delta=30, msg=row)  # as the driver counts
            self.assertGreater(row["spent_s"], 0.1)
        self.assertEqual([len(turn["tried"]) for turn in turns], [21, 21])  # 700 to 200 W
        text = self.run_script(PROGRAMS["bench_settings"], self.folder / "rows.jsonl")
        self.assertIn("Fake GPU, 12 rows of 2 networks", text)
        self.assertIn("timed where that was asked for", text)
        self.assertIn("sudo nvidia-smi -pl 650", self.run_script(*self.measure(), code=1, FAKE_NVML_DENY="1"))

    @unittest.skipUnless(any("python=" in word for word in sys.argv), "no Python with torchvision")
    def test_kill_9_of_the_measuring(self):
        process = subprocess.Popen([str(word) for word in self.measure("--settle", "100")], env=self.environment(), cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The first row is trained under the usual limit, which the card has: another one tells that it began.
        self.state.write_text("600000 0\n")
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.await_state("650000 0")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.await_state("600000 0")

    def await_state(self, text):
        deadline = time.monotonic() + PATIENCE_S
        while self.state.read_text().strip() != text and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.state.read_text().strip(), text)


if __name__ == "__main__":
    support.main()
