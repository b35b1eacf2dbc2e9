#!/usr/bin/python3
"""ampere estimate --sheet: hardware that nobody measured.

    tests/sheet_test.py ampere=build/bin/ampere
"""

import json

import support
from support import AmpereTest

CARD = {"name": "Some card", "float32_flops_per_s": 20e12, "half_flops_per_s": 160e12, "bytes_per_s": 1e12,
        "limit_w": 300, "source": "its data sheet, 2026"}


def captured(rows=4096, columns=1024):
    """A product and an addition, as a captured step has them (docs/capture.md), and the loop around."""
    tensor = lambda *sizes: {"dtype": "float32", "sizes": sizes, "strides": [sizes[-1], 1]}  # noqa: E731
    calls = {"tensors": [tensor(rows, columns), tensor(columns, columns), tensor(rows, columns)],
             "forward": [{"op": "aten::mm", "overload": "default", "args": [{"t": 0}, {"t": 1}], "out": [2]},
                         {"op": "aten::add", "overload": "Tensor", "args": [{"t": 2}, {"t": 0}], "out": [2]}]}
    start = {"op": "input", "name": "(input)", "shape": [1]}
    part = {"op": "calls", "name": "product", "batch": 8, "label": "product", "flops": 2 * rows * columns**2,
            "bytes": 4 * rows * columns, "calls": json.dumps(calls)}
    loop = {"op": "calls", "name": "(host)", "batch": 8, "label": "host", "bytes": 1, "calls": "{}", "host": [2],
            "inputs": ["product"]}
    return {"schema_version": 1, "name": "one product", "nodes": [start, part, loop]}


class Sheet(AmpereTest):
    def setUp(self):
        super().setUp()
        self.network = self.folder / "network.json"
        self.network.write_text(json.dumps(captured()))

    def told(self, sheet, *options, network=None, batch="8"):
        done = self.run_ampere("estimate", network or self.network, "--batch", batch, "--json", "--sheet", sheet,
                               *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def card(self, **fields):
        path = self.folder / f"card{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(CARD | fields))
        return path

    def test_what_does_not_fit_a_device_that_nobody_measured_is_told(self):
        done = self.run_ampere("estimate", "resnet50", "--batch", "4096", "--sheet", "h100")
        self.assertEqual(done.returncode, 4)
        self.assertIn("would fit", " ".join((done.stdout + done.stderr).split()))

    def test_a_name_or_a_file_is_enough(self):
        for sheet, name in (("h100", "NVIDIA H100 SXM"), ("V100", "NVIDIA V100 SXM2"), (self.card(), "Some card")):
            found = self.told(sheet, "--mode", "replay")
            self.assertEqual(found["sheet"]["name"], name)
            self.assertEqual((found["meter"], found["modelled"], found["unmeasured"]), ("data sheet", True, 1))
            step = found["iteration"]
            self.assertGreater(step["energy_high_j"], 4 * step["energy_low_j"])
            self.assertLess(step["power_w"], 700)

    def test_a_faster_card_is_quicker_and_one_that_draws_less_needs_less(self):
        plain = self.told(self.card(), "--mode", "replay")["iteration"]
        fast = self.told(self.card(float32_flops_per_s=80e12, bytes_per_s=4e12), "--mode", "replay")["iteration"]
        frugal = self.told(self.card(limit_w=100), "--mode", "replay")["iteration"]
        self.assertLess(fast["time_s"], plain["time_s"])
        self.assertLess(frugal["energy_j"], plain["energy_j"])
        self.assertAlmostEqual(frugal["time_s"], plain["time_s"])

    def test_it_tells_networks_of_the_zoo_and_of_files(self):
        file = self.folder / "lenet5.json"
        done = self.run_ampere("convert", "lenet5", "--output", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = [self.told("h100", network=network, batch="32") for network in ("lenet5", file)]
        self.assertEqual(told[0]["iteration"], told[1]["iteration"])
        self.assertTrue(all(not layer["measured"] for layer in told[0]["layers"]))
        # A host takes some time for a step besides its calls, and nobody can measure there.
        self.assertGreater(told[0]["host_time_s"], 0.4e-3)
        self.assertNotIn("gain", told[0])
        small, large = (self.told("h100", network=name, batch="32")["iteration"] for name in ("lenet5", "resnet18"))
        self.assertGreater(large["energy_j"], 3 * small["energy_j"])

    def test_several_batches(self):
        found = self.told("h100", "--mode", "replay", network="resnet18", batch="8,32,128")["estimates"]
        self.assertEqual([e["batch"] for e in found], [8, 32, 128])
        self.assertEqual({e["sheet"]["name"] for e in found}, {"NVIDIA H100 SXM"})
        energies = [e["iteration"]["energy_j"] for e in found]
        self.assertEqual(energies, sorted(energies))
        said = self.run_ampere("estimate", "resnet18", "--batch", "8,32", "--sheet", "h100").stdout
        self.assertIn("nothing was measured on NVIDIA H100 SXM", " ".join(said.split()))

    def test_other_methods_need_measurements(self):
        done = self.run_ampere("estimate", "lenet5", "--sheet", "h100", "--method", "paper")
        self.assertEqual(done.returncode, 6)
        self.assertIn("a data sheet does not tell them", done.stderr)

    def test_it_says_in_words_what_it_is(self):
        done = self.run_ampere("estimate", self.network, "--batch", "8", "--sheet", "h100")
        said = " ".join(done.stdout.split())
        self.assertIn("nothing was measured on NVIDIA H100 SXM: its data sheet alone tells", said)
        self.assertIn("modelled", said)

    def test_nothing_is_written(self):
        self.told("h100")
        self.assertFalse(list(self.folder.rglob("*.db")))

    def test_mistakes_are_told(self):
        for sheet, says in (("h900", "known: a100-40"), (self.card(limit_w=-1), "limit_w"),
                            (self.card(float32_flops_per_s=20), "67 TFLOP/s are 67e12"),
                            (self.card(peak=3), "peak"), (self.folder, "no data sheet")):
            done = self.run_ampere("estimate", self.network, "--batch", "8", "--sheet", sheet)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
        for option in (["--exact"], ["--probe"], ["--device", "12"]):
            done = self.run_ampere("estimate", self.network, "--batch", "8", "--sheet", "h100", *option)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, "--sheet is about|leave --device away")


if __name__ == "__main__":
    support.main()
