#!/usr/bin/env python3
"""The benchmark without a card: a counter that is made up, and figures that are known.

    python bench/truth/truth_test.py            # counter and table
    python bench/truth/truth_test.py --loops    # and loops on the CPU; needs torch, torchvision and transformers
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import counter
import table

HERE = os.path.dirname(os.path.abspath(__file__))
LOOPS = "--loops" in sys.argv


class MadeUpCard:
    """Draws 300 W, ticks every 50 ms, and takes 2 ms to be read."""

    power_w = 300.0

    def __init__(self):
        self.reads: list[float] = []

    def energy_j(self) -> float:
        time.sleep(0.001)
        now = time.perf_counter()
        time.sleep(0.001)
        self.reads.append(now)
        return round(self.power_w * (now // 0.05) * 0.05, 3)

    def state(self) -> dict:
        return {"sm_clock_mhz": 1980}


class CounterTest(unittest.TestCase):
    def test_a_window_is_a_whole_number_of_ticks(self):
        meter = counter.TickingCounter(MadeUpCard())
        begin = meter.edge()
        end = meter.edge_after(begin, 0.3)
        self.assertGreater(end.energy_j - begin.energy_j, 0.3 * 300 - 0.1)
        self.assertAlmostEqual((end.energy_j - begin.energy_j) / 15, round((end.energy_j - begin.energy_j) / 15), 3)

    def test_nothing_is_read_inside_a_window(self):
        card = MadeUpCard()
        meter = counter.TickingCounter(card)
        begin = meter.edge()
        card.reads.clear()
        end = meter.edge_after(begin, 0.5)
        self.assertGreater(end.energy_j - begin.energy_j, 0.5 * 300 - 0.1)
        self.assertGreater(min(card.reads), begin.time_s + 0.4)

    def test_a_watch_takes_edges_and_the_state_while_others_work(self):
        watch = counter.Watch(counter.TickingCounter(MadeUpCard()), [0.1, 0.2])
        watch.start()
        watch.join()
        watch.check()
        self.assertEqual(len(watch.edges), 3)
        self.assertEqual(watch.state, {"sm_clock_mhz": 1980})

    def test_a_counter_that_stands_still_is_an_error(self):
        card = MadeUpCard()
        card.power_w = 0.0
        with self.assertRaises(counter.CounterError):
            counter.TickingCounter(card)


def _run(network: str, mode: str, energy_j: float, time_s: float) -> dict:
    return {"kind": "run", "network": network, "batch": 32, "recipe": "fp32", "mode": mode, "energy_j": energy_j,
            "time_s": time_s, "power_w": energy_j / time_s, "energy_spread": 0.01, "time_spread": 0.0,
            "sm_clock_mhz": 1980, "temperature_c": 40, "idle_w": 100.0, "error": None}


class TableTest(unittest.TestCase):
    runs = [_run("wide", "replay", 10.0, 0.020), _run("wide", "eager", 10.1, 0.021),
            _run("narrow", "replay", 1.0, 0.004), _run("narrow", "eager", 2.0, 0.014)]

    def test_groups_by_what_limits_a_step(self):
        groups = table.join(self.runs, table.Estimates([]))
        self.assertEqual({name: [row["run"]["network"] for row in rows] for name, rows in groups.items()},
                         {"device (replay)": ["wide", "narrow"], "eager, device-bound": ["wide"],
                          "eager, host-bound": ["narrow"]})

    def test_a_host_bound_step_idles_while_it_waits(self):
        estimates = table.Estimates([{"network": "narrow@32", "recipe": "fp32", "mode": "replay", "energy_j": 1.1,
                                      "time_s": 0.005, "low": 0.9, "high": 1.2}])
        groups = table.join(self.runs, estimates)
        device = groups["device (replay)"][1]
        self.assertAlmostEqual(device["energy"], 0.1)
        self.assertTrue(device["held"])
        host = groups["eager, host-bound"][0]
        self.assertIsNone(host["energy"])
        self.assertAlmostEqual(host["at_time"], (1.1 + 100 * 0.009) / 2.0 - 1)

    def test_the_device_does_for_a_device_bound_step(self):
        estimates = table.Estimates([{"network": "wide", "recipe": "fp32", "mode": "replay", "energy_j": 9.0,
                                      "time_s": 0.02}])
        row = table.join(self.runs, estimates)["eager, device-bound"][0]
        self.assertAlmostEqual(row["energy"], 9.0 / 10.1 - 1)
        self.assertIn("MAPE", table.comparison([(self.runs, estimates)]))


@unittest.skipUnless(LOOPS, "--loops")
class LoopTest(unittest.TestCase):
    def test_joules_of_a_step_are_those_of_its_time(self):
        import loop
        import torch

        def step() -> torch.Tensor:
            time.sleep(0.003)
            return torch.zeros(())

        result = loop.measure(step, torch.device("cpu"), counter.TickingCounter(MadeUpCard()), 1.0, 0.5)
        self.assertEqual(len(result["windows"]), 2)
        self.assertLess(abs(result["energy_j"] / (300.0 * result["time_s"]) - 1), 0.1)

    def test_loops_run_without_a_card(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "truth.jsonl")
            command = [sys.executable, os.path.join(HERE, "run.py"), "--device", "cpu", "--modes", "eager",
                       "--networks", "cnn_small@4,text_cnn@2", "--seconds", "0.1", "--window-s", "0.1",
                       "--recipes", "fp32,default,bf16,fp16,channels_last,adamw,accumulate,lora", "--out", out]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
            rows = {(row["network"], row["recipe"]): row for row in table.read(out) if row["kind"] == "run"}
        self.assertEqual(len(rows), 16)
        failed = {key: row["error"].partition(":")[0] for key, row in rows.items() if row["error"]}
        self.assertEqual(failed, dict.fromkeys([("text_cnn", "channels_last"), ("text_cnn", "lora")], "NotApplicable"))
        for row in rows.values():
            self.assertIsNone(row["energy_j"], json.dumps(row))
            self.assertTrue(row["error"] or row["time_s"] > 0, json.dumps(row))


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--loops"])
