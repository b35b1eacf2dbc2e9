#!/usr/bin/python3
"""A device that is profiled without a network tells networks that nobody has measured.

tests/device_profile_test.py ampere=PATH [worker=PATH]
"""
import support
from support import PROGRAMS, AmpereTest, real, scripted


class DeviceProfileTest(AmpereTest):
    def worker(self):
        return real() if "worker" in PROGRAMS else scripted()

    def test_a_few_seconds_tell_any_network(self):
        done = self.json_of("profile", "--minutes", "0.1", "--worker", self.worker())
        layers = done["device_layers"]
        self.assertGreater(layers["measured"], 0)
        self.assertEqual(layers["known"], 0)
        self.assertLessEqual(layers["measured"], layers["candidates"])
        self.assertEqual((done["minutes"], done["recipe"]), (0.1, "sgd-default-t1"))
        told = self.json_of("estimate", "resnet18-cifar", "--batch", "8")
        self.assertGreater(told["unmeasured"], 0.5)
        self.assertLess(told["iteration"]["energy_low_j"], told["iteration"]["energy_j"])
        self.assertGreater(told["gain"]["layers"], 3)
        # What is in the store is known to the next run, which looks at as many networks as its time allows: no place is
        # measured twice.
        again = self.json_of("profile", "--minutes", "0.05", "--worker", self.worker())["device_layers"]
        self.assertGreater(again["known"], 0)
        twice = "SELECT surface FROM point GROUP BY device, recipe, surface, channels_in, channels_out HAVING COUNT(*) > 1"
        self.assertEqual(support.rows(self.store, twice), [])
        self.assertIn("layers of random networks measured",
                      self.output_of("profile", "-q", "--minutes", "0.02", "--worker", self.worker()))

    def test_several_batches_and_sizes_need_nothing_new(self):
        self.output_of("profile", "-q", "--minutes", "0.05", "--worker", scripted())
        table = self.json_of("estimate", "cnn5", "--batch", "8,32,128", "--samples", "1000")
        self.assertEqual([e["batch"] for e in table["estimates"]], [8, 32, 128])
        self.assertTrue(all(e["job"]["iterations"] == -(-1000 // e["batch"]) for e in table["estimates"]))
        alone = self.json_of("estimate", "cnn5", "--batch", "32", "--samples", "1000")
        self.assertEqual(alone, table["estimates"][1])
        text = self.output_of("estimate", "cnn5", "--batch", "8,32,128")
        self.assertRegex(text, r"\n +32 .*J .*100%")
        layers = sum(e["gain"]["layers"] for e in table["estimates"])
        self.assertRegex(" ".join(text.split()),
                         rf"100% of these energies .* would measure {layers} layers .* intervals of \d+%.* instead of \d+%")

    def test_dimensions_of_files_with_several_batches(self):
        self.output_of("profile", "-q", "--minutes", "0.05", "--worker", scripted())
        graph = next((support.DATA / "onnx").glob("lstm_text*.onnx"))
        table = self.json_of("estimate", graph, "--batch", "2,4")
        self.assertEqual(len(table["estimates"]), 2)

    def test_wrong_usage(self):
        worker = ["--worker", scripted()]
        for option in (["--batch", "8"], ["--exact"], ["--target", "5%"], ["--method", "split"], ["--points-1d", "3"]):
            with self.subTest(option):
                self.assert_refused(self.run_ampere("profile", *option, *worker), 2, "goes with a MODEL")
        self.assert_refused(self.run_ampere("profile", "lenet5", "--minutes", "1", *worker), 2, "leave MODEL away")
        self.assert_refused(self.run_ampere("profile", "--minutes", "0", *worker), 2, "--minutes")
        self.assert_refused(self.run_ampere("profile", "--minutes", "many", *worker), 2, "--minutes")
        self.assert_refused(self.run_ampere("profile", "", *worker), 2, "MODEL is empty")
        self.assert_refused(self.run_ampere("profile", "--from", "", *worker), 2, "--from is empty")
        self.assert_refused(self.run_ampere("profile", "--from", "/dev/null", *worker), 2, "keeps nothing")
        self.assert_refused(self.run_ampere("profile", "--from", "x" * 5000, *worker), 2, "no such file")
        self.assert_refused(self.run_ampere("estimate", "lenet5", "--sheet", ""), 2, "--sheet is empty")
        self.assert_refused(self.run_ampere("estimate", "lenet5", "--batch", "8,0"), 2, "--batch")
        self.assert_refused(self.run_ampere("estimate", "lenet5", "--batch", "8,x"), 2, "--batch")


if __name__ == "__main__":
    support.main()
