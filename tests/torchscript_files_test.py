#!/usr/bin/python3
"""TorchScript files as MODEL arguments: what torch.jit.script and torch.jit.trace save, and what strangers do.

    tests/torchscript_files_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker
"""

import json
import warnings

import support
from support import AmpereTest, real, scripted

import torch
import script_modules as modules

warnings.filterwarnings("ignore")
IMAGE = "3x32x32"


def weights(module):
    return sum(p.numel() for p in module.parameters())


class Script(AmpereTest):
    def save(self, module, name="net", example=None):
        """As TorchScript; traced in training mode where there is an example."""
        path = self.folder / f"{name}.pt"
        made = torch.jit.trace(module, example, check_trace=False) if example is not None else torch.jit.script(module)
        made.save(str(path))
        return path

    def layers(self, path, *options):
        return self.json_of("layers", path, *options, "--worker", real())

    def kinds(self, found):
        return sorted((k["role"], k["kind"], k["count"], json.dumps(k["channels"])) for k in found["kinds"])

    def converted(self, path, *options):
        """What convert tells, and the ops of the network it writes."""
        out = self.folder / "net.json"
        told = self.json_of("convert", path, "-o", out, "--worker", real(), *options)
        return told, [node["op"] for node in json.loads(out.read_text())["nodes"]]


class Networks(Script):
    def test_same_layers_as_the_zoo(self):
        zoo = {"lenet5": (modules.LeNet(), "1x28x28"), "resnet18": (modules.ResNet18(), "3x224x224")}
        for name, (module, shape) in zoo.items():
            with self.subTest(name):
                found = self.layers(self.save(module, name), "--input", shape)
                known = self.json_of("layers", name)
                self.assertEqual(found["parameters"], weights(module))
                self.assertEqual(self.kinds(found), self.kinds(known))
                self.assertEqual(found["forward_flops"], known["forward_flops"])
                self.assertEqual(found["notes"], [])

    def test_weights_are_those_of_the_module(self):
        cases = [("mobilenet", modules.MobileNet(), IMAGE, None),
                 ("vit", modules.VisionTransformer(), IMAGE, None),
                 ("vit_traced", modules.VisionTransformer(), IMAGE, torch.randn(1, 3, 32, 32)),
                 ("words", modules.Words(100, 12, 16, 4), "int:9", None),
                 ("recurrent", modules.Recurrent(), "7xNx12", None),
                 ("encoder", modules.Encoder(), "int:11", None),
                 ("encoder_batch_first", modules.Encoder(True), "int:11", None)]
        for name, module, shape, example in cases:
            with self.subTest(name):
                found, ops = self.converted(self.save(module, name, example), "--input", shape)
                self.assertEqual(found["parameters"], weights(module), ops)
                self.assertEqual(found["notes"], [])
                # Attention is one join, however it was written, and turns nothing around.
                self.assertEqual("attention_core" in ops, name[:3] in ("vit", "enc"), ops)
                self.assertNotIn("matmul", ops)
                self.assertLessEqual(ops.count("permute"), 1, ops)
                self.assertEqual("channel_shuffle" in ops, name == "mobilenet", ops)

    def test_traced_for_inference_is_told(self):
        path = self.save(modules.MobileNet().eval(), example=torch.randn(1, 3, 32, 32))
        done = self.run_ampere("layers", path, "--input", IMAGE, "--worker", real(), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("traced in inference mode", done.stderr)
        kinds = " ".join(k["kind"] for k in json.loads(done.stdout)["kinds"])
        self.assertIn("bn", kinds)
        self.assertIn("drop", kinds)

    def test_frozen_is_told(self):
        path = self.folder / "frozen.pt"
        torch.jit.freeze(torch.jit.script(modules.LeNet().eval())).save(str(path))
        found = self.layers(path, "--input", "1x28x28")
        self.assertRegex(" ".join(found["notes"]), "freezing")
        self.assertEqual(found["parameters"], weights(modules.LeNet()))

    def test_trains_for_real(self):
        figures = self.json_of("measure", self.save(modules.Encoder()), "--input", "int:11", "--batch", "4", "--worker",
                               real(), "--seconds", "0.2", "--windows", "2", "--target-error", "0.5")
        self.assertGreater(figures["time_s"], 0)

    def test_profile_and_estimate(self):
        path = self.save(modules.LeNet())
        model = [path, "--input", "1x28x28", "--batch", "4", "--worker", real()]
        self.output_of("profile", *model, *support.QUICK, "-q")
        estimate = self.json_of("estimate", *model)
        self.assertGreater(estimate["iteration"]["energy_j"], 0)


class Strangers(Script):
    def refused(self, path, *patterns, options=("--input", "6"), env=None):
        done = self.run_ampere("layers", path, *options, "--worker", real(), env=env)
        return self.assert_refused(done, 2, *patterns)

    def test_every_unsupported_op_is_told(self):
        path = self.save(modules.Strange())
        done = self.run_ampere("layers", path, "--input", "6", "--worker", real())
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"aten::sort, 2 times: first, second")
        self.assertRegex(done.stderr, r"aten::cumsum, 1 time")
        done = self.run_ampere("layers", path, "--input", "6", "--worker", real(), "--ignore-unsupported", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"goes on without .*aten::sort.*%")

    def test_files_that_are_something_else(self):
        good = self.save(modules.LeNet()).read_bytes()
        files = {"empty.pt": b"", "half.pt": good[:len(good) // 2], "zip.pt": b"PK\x05\x06" + bytes(18)}
        for name, content in files.items():
            with self.subTest(name):
                (self.folder / name).write_bytes(content)
                self.refused(self.folder / name, rf"{name}: cannot be loaded as TorchScript")
        torch.save(modules.LeNet().state_dict(), self.folder / "state.pt")
        self.refused(self.folder / "state.pt", r"cannot be loaded as TorchScript.*torch\.jit\.script.*state_dict")
        (self.folder / "folder.pt").mkdir()
        self.refused(self.folder / "folder.pt", r"is a folder")
        self.refused("nowhere.pt", r"no such file on the worker's machine.*path there")

    def test_damaged_files_never_crash(self):
        good = self.save(modules.Words(20, 4, 4, 2)).read_bytes()
        for seed in range(3):
            torch.manual_seed(seed)
            bad = bytearray(good)
            for place in torch.randint(len(good), (40,)).tolist():
                bad[place] = torch.randint(256, (1,)).item()
            (self.folder / "bad.pt").write_bytes(bytes(bad))
            done = self.run_ampere("layers", self.folder / "bad.pt", "--input", "int:5", "--worker", real())
            self.assertIn(done.returncode, (0, 2), done.stderr)

    def test_code_that_misbehaves(self):
        self.refused(self.save(modules.Throws()), r"forward pass failed \(.*this network has a mood")
        self.refused(self.save(modules.Endless()), r"did not end within 5\.0 s", env={"AMPERE_WORKER_TIMEOUT": "5"})
        done = self.run_ampere("layers", self.save(modules.Hoards()), "--input", "6", "--worker", real())
        self.assert_refused(done, 1, r"memory")
        victim = self.folder / "victim"
        victim.write_text("precious")
        done = self.run_ampere("layers", self.save(modules.Writes(str(victim))), "--input", "6", "--worker", real())
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertEqual(victim.read_text(), "precious")

    def test_inputs(self):
        path = self.save(modules.LeNet())
        self.refused(path, r"forward\(x: Tensor\) was given 0 inputs.*--input 3x224x224", options=())
        self.refused(path, r"was given 2 inputs", options=("--input", "1x28x28", "--input", "5"))
        self.refused(path, r"forward pass failed.*does --input fit", options=("--input", "2x28x28"))
        for shape in ("", "x", "3x", "0x3", "-1x3", "3,4", "N", "NxN", "int:", "999999999999", "3xNxNx4", "half:3"):
            self.refused(path, r"--input must be the shape of one sample", options=("--input", shape))

    def test_a_worker_that_cannot(self):
        path = self.save(modules.LeNet())
        done = self.run_ampere("layers", path, "--input", "1x28x28", "--worker", scripted())
        self.assert_refused(done, 2, r"cannot load TorchScript files: it is older.*update it")


if __name__ == "__main__":
    support.main()
