#!/usr/bin/python3
"""ampere additivity on an imaginary device that is exactly additive.

    tests/additivity_script_test.py ampere=build/bin/ampere
"""

import json

import support
from support import AmpereTest, scripted

STACK = ["additivity", "--layers", "4", "--channels", "3", "--batch", "2"]
PER_LAYER_J = 1e-4 * 3 * 2  # what scripted_worker.py says of a layer
FIRST_J = 1e-4 * (1 + (3 + 10) * 2)  # of one convolution and the linear layer


class Additivity(AmpereTest):
    def test_layers_are_found_to_add_up(self):
        done = self.json_of(*STACK, "-o", "raw.json", "--worker", scripted())
        self.assertEqual(json.loads((self.folder / "raw.json").read_text())["modes"], done["modes"])
        self.assertEqual((done["modelled"], done["measurements"], done["unstable"]), (True, 5 * 3, 0))
        self.assertEqual(list(done["modes"]), ["eager"])
        self.assertNotIn("phases", done)
        fit = done["modes"]["eager"]["energy_fit"]
        self.assertAlmostEqual(fit["intercept_j"], FIRST_J)
        self.assertAlmostEqual(fit["per_layer_j"], PER_LAYER_J)
        self.assertAlmostEqual(fit["r2"], 1)
        self.assertAlmostEqual(fit["largest_residual"], 0)
        networks = done["modes"]["eager"]["networks"]
        self.assertIsNone(networks[0]["increment_j"])
        for network in networks[1:]:
            self.assertAlmostEqual(network["increment_j"], PER_LAYER_J)
            self.assertEqual(network["energy_passes_j"], [network["energy_j"]] * 3)

    def test_phases_and_replay(self):
        done = self.json_of(*STACK, "--phases", "--passes", "2", "--worker", scripted("cuda"))
        self.assertEqual(done["measurements"], 5 * 2 * 5)
        self.assertAlmostEqual(done["modes"]["eager"]["energy_fit"]["per_layer_j"], PER_LAYER_J)
        self.assertAlmostEqual(done["modes"]["replay"]["energy_fit"]["per_layer_j"], PER_LAYER_J / 2)
        for phases in done["phases"]:
            self.assertAlmostEqual(phases["over_iteration"], 0.2)  # of eager training, not of replayed

    def test_text_tells_modelled_energy(self):
        text = self.output_of(*STACK, "--phases", "-q", "--worker", scripted("cuda"))
        for title in ("eager training", "replay training", "NeuralPower's way: phases measured alone and added up"):
            self.assertIn(title + ", modelled energy\n", text)
        self.assertIn("meter imaginary (modelled energy)", " ".join(text.split()))
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_capture_that_fails(self):
        done = self.run_ampere(*STACK, "-q", "--worker", scripted("no-capture"))
        self.assert_refused(done, 1, r"stack0 was not measured in mode replay \(capture failed\); .*--mode")
        self.output_of(*STACK, "-q", "--mode", "eager", "--worker", scripted("no-capture"))

    def test_nothing_is_stored(self):
        self.output_of(*STACK, "-q", "--worker", scripted())
        self.assertFalse(self.store.exists())


if __name__ == "__main__":
    support.main()
