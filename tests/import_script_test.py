#!/usr/bin/python3
"""Imported networks end to end: every shipped graph is listed and converted, small ones are trained for real.

tests/import_script_test.py ampere=PATH worker=PATH
"""
import json

import support

GRAPHS = support.DATA / "onnx"
# Trained here; import_long_test.py trains all of them.
SMALL = ["lenet5.train17", "cnn5.dynamo", "har_cnn.train17", "lstm_text.train17"]


class ImportTest(support.AmpereTest):
    def test_every_graph_lists_its_layers(self):
        for graph in sorted(GRAPHS.glob("*.onnx")):
            with self.subTest(graph=graph.name):
                listed = self.json_of("layers", graph, "--restore-batchnorm")
                self.assertGreater(listed["layers"], 3)
                self.assertGreater(listed["parameters"], 60000)
                self.assertGreater(listed["batch"], 1)  # what it was exported with
                self.assertEqual(self.json_of("layers", graph, "--batch", 2)["batch"], 2)

    def test_converted_networks_are_the_same_network(self):
        for graph in ["mobilenet_v3_small.train17", "vit_b_16.dynamo", "gpt2_lm.dynamo", "lstm_text.train17"]:
            path = GRAPHS / f"{graph}.onnx"
            told = self.json_of("convert", path, "--output", self.folder / "net.json")
            self.assertEqual(told["unsupported"], [])
            self.assertGreater(told["import_time_s"], 0)
            again = self.json_of("layers", self.folder / "net.json", "--batch", 4)
            there = self.json_of("layers", path, "--batch", 4)
            self.assertEqual(there["kinds"], again["kinds"])
            self.assertEqual(told["parameters"], again["parameters"])

    def test_the_zoo_and_a_file_share_kinds(self):
        of_zoo = {k["kind"] for k in self.json_of("layers", "resnet18", "--batch", 16)["kinds"]}
        of_file = {k["kind"] for k in self.json_of("layers", GRAPHS / "resnet18.train17.onnx")["kinds"]}
        self.assertEqual(of_zoo, of_file)

    def test_an_export_for_inference_is_noticed(self):
        done = self.run_ampere("layers", GRAPHS / "resnet18.dynamo.onnx")
        self.assertRegex(done.stderr, r"20 batch norms were folded.*--restore-batchnorm.*torch\.onnx\.export\(")
        done = self.run_ampere("layers", GRAPHS / "resnet18.dynamo.onnx", "--restore-batchnorm")
        self.assertRegex(done.stderr, "20 batch norms .* were put back")
        self.assertEqual(self.run_ampere("layers", GRAPHS / "resnet18.train17.onnx").stderr, "")

    def test_wrong_use_is_told(self):
        bad = self.folder / "bad.onnx"
        bad.write_bytes(b"\x08\x08 not a graph")
        self.assert_refused(self.run_ampere("layers", bad), 2, r"bad\.onnx: not a valid ONNX file")
        bad.write_bytes((GRAPHS / "lenet5.dynamo.onnx").read_bytes()[:1500])
        self.assert_refused(self.run_ampere("estimate", bad), 2, "truncated")
        self.assert_refused(self.run_ampere("layers", self.folder / "none.onnx"), 2, "No such file")
        good = GRAPHS / "lenet5.dynamo.onnx"
        self.assert_refused(self.run_ampere("layers", good, "--dim", "height"), 2, "NAME=SIZE")
        self.assert_refused(self.run_ampere("layers", good, "--dim", "height=3"), 2, "no input has a dimension")
        self.assert_refused(self.run_ampere("layers", "lenet5", "--restore-batchnorm"), 2, "imported files only")
        self.assert_refused(self.run_ampere("convert", good, "--json"), 2, "--output")
        self.assert_refused(self.run_ampere("convert", good, "-o", "/nonexistent/x.json"), 2, "cannot be written")

    def test_small_graphs_train(self):
        if "worker" not in support.PROGRAMS:
            self.skipTest("no worker was built")
        for name in SMALL:
            with self.subTest(graph=name):
                measured = self.json_of("measure", GRAPHS / f"{name}.onnx", "--batch", 2, "--seconds", 0.2, "--windows", 2,
                                        "--target-error", 0.5, "--worker", support.real(), "--meter", "cpu-model")
                self.assertGreater(measured["energy_j"], 0)
                self.assertEqual(measured["batch"], 2)

    def test_estimated_exactly_with_nothing_profiled(self):
        if "worker" not in support.PROGRAMS:
            self.skipTest("no worker was built")
        path = GRAPHS / "lenet5.train17.onnx"
        command = ["estimate", path, "--exact", "--worker", support.real(), "--meter", "cpu-model"]
        first = self.json_of(*command)
        self.assertEqual(first["probe"]["measured"], first["probe"]["layers"])
        self.assertGreater(first["iteration"]["energy_low_j"], 0)
        self.assertGreater(first["iteration"]["energy_high_j"], first["iteration"]["energy_j"])
        profiled = self.json_of("profile", path, "--exact", *command[3:])
        self.assertEqual(profiled["exact"]["known"], first["probe"]["layers"])
        self.assertTrue(first["modelled"] and profiled["modelled"])
        again = self.json_of(*command)
        self.assertEqual((again["probe"]["measured"], again["probe"]["known"]), (0, first["probe"]["layers"]))
        self.assertEqual(again["iteration"], first["iteration"])
        self.assertEqual(json.dumps(self.json_of("estimate", path)["iteration"]), json.dumps(first["iteration"]))


if __name__ == "__main__":
    support.main()
