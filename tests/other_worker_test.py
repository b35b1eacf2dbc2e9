#!/usr/bin/python3
"""The whole path with a worker of another framework: ampere neither knows nor cares what trains.

    tests/other_worker_test.py ampere=build/bin/ampere example=examples/pytorch_worker.py
"""

import json
import shlex
import sys

import support
from support import AmpereTest, PROGRAMS, QUICK


class OtherWorker(AmpereTest):
    def test_profile_and_estimate(self):
        worker = "exec " + shlex.join([sys.executable, PROGRAMS["example"]])
        done = self.run_ampere("profile", "lenet5", "--batch", "4", *QUICK, "--worker", worker, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(done.stdout)
        self.assertIn("torch", profile["device"]["framework"].lower())
        self.assertGreater(profile["methods"]["split"]["points_measured"], 10)
        estimate = json.loads(self.output_of("estimate", "lenet5:c1=3", "--batch", "4", "--json"))
        figures = estimate["iteration"]
        self.assertLess(figures["energy_low_j"], figures["energy_j"])
        self.assertLess(figures["energy_j"], figures["energy_high_j"])
        self.assertIs(estimate["modelled"], True)


if __name__ == "__main__":
    support.main()
