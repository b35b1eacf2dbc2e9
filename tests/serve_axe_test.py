#!/usr/bin/python3
"""The page of `ampere serve` under axe-core, which npm brings: no serious fault for keyboard and screen reader.

    tests/serve_axe_test.py ampere=build/bin/ampere
"""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import support
from browser import Browser
from page_server import PageServer, READY, make_store, new_folder
from support import PATIENCE_S

VIEWS = {"zoo=cnn5&batch=10&price=0.3&carbon=FR": None, "view=prune&zoo=cnn5&batch=10": "#prune-answer",
         "view=tune&zoo=cnn5&batch=10&batches=10,20": "#tune-answer", "view=plan&zoo=lenet5&batch=10": "#plan-answer",
         "view=devices&zoo=cnn5&batch=10": None}


def axe():
    """The script, or a reason to skip."""
    if not shutil.which("npm"):
        raise unittest.SkipTest("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["npm", "pack", "axe-core@4"], cwd=folder, capture_output=True, encoding="utf-8")
        packed = list(pathlib.Path(folder).glob("*.tgz"))
        if done.returncode or not packed:
            raise unittest.SkipTest("npm cannot reach its registry: " + done.stderr[-300:])
        shutil.unpack_archive(packed[0], folder, "gztar")
        return (pathlib.Path(folder) / "package" / "axe.min.js").read_text(encoding="utf-8")


class Accessible(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.axe = axe()
        cls.folder = new_folder(cls)
        make_store(cls.folder, "lenet5", "cnn5")
        cls.server = PageServer(cls.folder)
        cls.addClassCleanup(cls.server.close)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def test_no_serious_fault(self):
        for view, answer in VIEWS.items():
            for width, dark in ((1280, False), (1280, True), (390, False)):
                with self.subTest(f"{view} {width} {dark}"):
                    self.browser.open(f"{self.server.address}#{view}", width=width, dark=dark, ready=READY)
                    self.browser.settle()
                    if answer:
                        self.browser.evaluate("document.querySelector('form button.main').click()")
                        deadline = time.monotonic() + PATIENCE_S
                        while not self.browser.evaluate(f"!!document.querySelector('{answer}')") and time.monotonic() < deadline:
                            time.sleep(0.05)
                        self.browser.settle()
                    # Not a script of the page, so the page's policy does not ask where it is from.
                    self.browser.evaluate(self.axe + "; 0")
                    told = self.browser.evaluate("axe.run(document).then((r) => ({passes: r.passes.length, faults: r.violations.map("
                                                 "(v) => [v.impact, v.id, v.help, v.nodes.slice(0, 5).map((n) => n.html.slice(0, 300))])}))")
                    self.assertGreater(told["passes"], 20)
                    serious = [f for f in told["faults"] if f[0] in ("serious", "critical")]
                    self.assertEqual(serious, [], json.dumps(told["faults"], indent=1))


if __name__ == "__main__":
    support.main()
