#!/usr/bin/python3
"""The published schema of network files against the program that reads them: tests/schema_test.py AMPERE

Both must know the same ops and attributes, and refuse the same wrong values.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

SCHEMA_FILE = pathlib.Path(__file__).parent.parent / "docs" / "network.schema.json"
AMPERE = "ampere"

# Networks that both must take.
GOOD = {
    "chain": [{"op": "input", "shape": [1, 28, 28]}, {"op": "conv2d", "out_channels": 6, "kernel": 5, "padding": 2},
              {"op": "batch_norm"}, {"op": "relu"}, {"op": "max_pool", "kernel": [2, 2]}, {"op": "flatten"},
              {"op": "linear", "out_features": 10}],
    "joins": [{"op": "input", "name": "x", "shape": [8, 16]},
              {"op": "conv1d", "name": "a", "inputs": ["x"], "out_channels": 8, "kernel": [3], "padding": 1, "groups": 0},
              {"op": "add", "name": "s", "inputs": ["x", "a"]},
              {"op": "concat", "name": "c", "inputs": ["s", "a", "x"], "axis": 1},
              {"op": "mean", "axes": -1}, {"op": "linear", "out_features": 2, "bias": False}],
    "text": [{"op": "input", "shape": 12, "dtype": "int", "classes": 100},
             {"op": "embedding", "vocabulary": 100, "dim": 8}, {"op": "lstm", "hidden_size": 8},
             {"op": "gru", "hidden_size": 4, "bidirectional": True},
             {"op": "attention", "heads": 2}, {"op": "encoder_layer", "heads": 2, "feedforward": 16, "dropout": 0},
             {"op": "layer_norm"}, {"op": "slice", "axis": 1, "start": -1}, {"op": "flatten"},
             {"op": "linear", "out_features": 2}],
}

# Per attribute type: values that no attribute of that type takes.
WRONG = {
    "integer": ["many", 1.5, True, None, [1, 2], 10**9, -10**9],
    "integers": ["many", 1.5, True, None, [1.5], [10**9], [[1]], [1] * 17],
    "number": ["much", True, None, [0.5], 1, -0.1],
    "boolean": ["yes", 1, None, [True]],
    "string": [1, True, None, "no such word"],
}
# Of captured calls: any text will do, and counts have no bound that a file would reach.
FREE = {("calls", "calls"): ["no such word"], ("calls", "label"): ["no such word"],
        **{("calls", count): [10**9] for count in ("flops", "bytes", "parameters")}}


def network(nodes):
    return {"schema_version": 1, "name": "test", "nodes": nodes}


def run_ampere(*arguments):
    return subprocess.run([AMPERE, *arguments], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
        cls.validator = jsonschema.Draft202012Validator(cls.schema)
        cls.ops = json.loads(run_ampere("models", "--ops", "--json").stdout)["ops"]
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def definition(self, op):
        """The part of the schema that a node of this op must match."""
        for branch in self.schema["$defs"]["node"]["allOf"]:
            condition = branch["if"]["properties"]["op"]
            if condition.get("const") == op or op in condition.get("enum", []):
                return self.schema["$defs"][branch["then"]["$ref"].rsplit("/", 1)[1]]
        self.fail(f"the schema says nothing about {op}")

    def program_says(self, document):
        """The program's exit code and message for a network file."""
        path = pathlib.Path(self.folder.name) / "network.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        done = run_ampere("layers", str(path), "--batch", "2")
        return done.returncode, done.stderr

    def minimal(self, op):
        """A node of this op with nothing but what is required."""
        node = {"op": op["name"]}
        for attribute in op["attributes"]:
            if attribute["required"]:
                node[attribute["name"]] = "{}" if attribute["type"] == "string" else 1
        if op["min_inputs"] > 1:
            node["inputs"] = ["x"] * op["min_inputs"]
        return node

    def with_input(self, node):
        return network([node] if node["op"] == "input" else [{"op": "input", "name": "x", "shape": [4]}, node])

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_knows_the_ops_of_the_program(self):
        self.assertEqual(self.schema["$defs"]["node"]["properties"]["op"]["enum"], [op["name"] for op in self.ops])

    def test_knows_the_attributes_of_every_op(self):
        for op in self.ops:
            with self.subTest(op=op["name"]):
                definition = self.definition(op["name"])
                known = set(definition["properties"]) - {"op", "name", "inputs"}
                required = set(definition["required"]) - {"op", "inputs"}
                self.assertEqual(known, {a["name"] for a in op["attributes"]})
                self.assertEqual(required, {a["name"] for a in op["attributes"] if a["required"]})
                self.assertFalse(definition["additionalProperties"])

    def test_takes_what_the_program_takes(self):
        for name, nodes in GOOD.items():
            with self.subTest(network=name):
                self.validator.validate(network(nodes))
                code, message = self.program_says(network(nodes))
                self.assertEqual(code, 0, message)

    def test_takes_the_least_of_every_op(self):
        for op in self.ops:
            with self.subTest(op=op["name"]):
                self.validator.validate(self.with_input(self.minimal(op)))

    def test_refuses_wrong_values_as_the_program_does(self):
        for op in self.ops:
            for attribute in op["attributes"]:
                for value in WRONG[attribute["type"]]:
                    if value in FREE.get((op["name"], attribute["name"]), []):
                        continue
                    node = {**self.minimal(op), attribute["name"]: value}
                    self.check_both_refuse(self.with_input(node), attribute["name"])

    def test_refuses_what_is_missing_or_unknown(self):
        for op in self.ops:
            node = self.minimal(op)
            for attribute in op["attributes"]:
                if attribute["required"]:
                    self.check_both_refuse(self.with_input({k: v for k, v in node.items() if k != attribute["name"]}),
                                           attribute["name"])
            self.check_both_refuse(self.with_input({**node, "colour": 3}), "colour")

    def test_refuses_a_wrong_frame(self):
        good = network(GOOD["chain"])
        for change in [{"nodes": []}, {"nodes": {}}, {"schema_version": 2}, {"extra": 1}, {"name": 3}, {"outputs": [3]}]:
            with self.subTest(change=change):
                self.check_both_refuse({**good, **change}, "")
        self.check_both_refuse(network([{"op": "input", "shape": [4]}, {"op": "warp"}]), "warp")
        self.check_both_refuse(network([{"op": "input", "shape": [4], "dtype": "int"}]), "classes")

    def check_both_refuse(self, document, word):
        with self.subTest(document=document):
            self.assertFalse(self.validator.is_valid(document), "the schema takes it")
            code, message = self.program_says(document)
            self.assertEqual(code, 2, message)
            self.assertIn(word, message)


if __name__ == "__main__":
    AMPERE = sys.argv.pop(1) if len(sys.argv) > 1 else AMPERE
    unittest.main()
