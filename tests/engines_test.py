#!/usr/bin/python3
"""Two engines on one machine: each has its own profile, and one store keeps them apart.

    tests/engines_test.py ampere=build/bin/ampere onednn=build/bin/ampere-worker-onednn
"""

import shlex

import support
from support import AmpereTest, PROGRAMS, QUICK, rows, scripted


def onednn():
    return "exec " + shlex.quote(PROGRAMS["onednn"])


class Engines(AmpereTest):
    def profiled(self, worker):
        self.output_of("profile", "lenet5", "--batch", "4", "--quiet", *QUICK, "--worker", worker)
        return self.json_of("estimate", "lenet5:c1=5", "--batch", "4", "--worker", worker)

    def test_profiles_never_mix(self):
        ours, other = self.profiled(onednn()), self.profiled(scripted("ok"))
        self.assertRegex(ours["device"]["framework"], r"^oneDNN 2\.\d+\.\d+$")
        self.assertNotEqual(ours["device_id"], other["device_id"])
        self.assertEqual(len(rows(self.store, "SELECT DISTINCT device FROM point")), 2)
        # Nothing is left to measure for either, so both were found by their own name.
        before = rows(self.store)
        for worker in (onednn(), scripted("ok")):
            self.assertEqual(self.profiled(worker)["device_id"], (ours if worker == onednn() else other)["device_id"])
        self.assertEqual(rows(self.store), before)

    def test_what_it_cannot_train_is_refused_with_a_way_out(self):
        done = self.run_ampere("measure", "lenet5", "--batch", "4", "--precision", "bf16", "--worker", onednn())
        self.assert_refused(done, 2, "float32", "fp32")

    def test_the_zoo_trains(self):
        for network in ("lenet5", "har", "lstm:length=4,vocabulary=50", "transformer:layers=1,length=8,vocabulary=50",
                        "resnet18-cifar:w1=4,w2=4,w3=4,w4=4,size=8"):
            answer = self.json_of("measure", network, "--batch", "2", "--seconds", "0.1", "--target-error", "0.5", "--worker", onednn())
            self.assertGreater(answer["energy_j"], 0, network)


if __name__ == "__main__":
    support.main()
