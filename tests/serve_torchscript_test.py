#!/usr/bin/python3
"""From a TorchScript file that is dropped on the page to joules: the worker runs it in a process of its own.

    tests/serve_torchscript_test.py ampere=build/bin/ampere worker=build/bin/ampere-worker
"""

import base64
import json
import time
import unittest

import torch

import script_modules as modules
import support
from browser import Browser
from page_server import PageServer, READY, make_store, new_folder
from support import PATIENCE_S, PROGRAMS, real


class Dropped(unittest.TestCase):
    def test_from_a_dropped_file_to_joules(self):
        folder = new_folder(type(self))
        make_store(folder, "lenet5")
        torch.jit.script(modules.LeNet()).save(str(folder / "mine.pt"))
        content = base64.b64encode((folder / "mine.pt").read_bytes()).decode()
        with PageServer(folder, worker=real()) as server, Browser() as browser:
            browser.refusals_expected = True  # without a shape it is asked about
            browser.open(f"{server.address}#batch=10", ready=READY)
            browser.evaluate(f"""(() => {{ const bytes = Uint8Array.from(atob({json.dumps(content)}), (c) => c.charCodeAt(0));
              const carried = new DataTransfer(); carried.items.add(new File([bytes], 'mine.pt'));
              document.dispatchEvent(new DragEvent('drop', {{dataTransfer: carried, bubbles: true}})); }})()""")
            self.until(browser, "document.querySelector('form.needs input')")
            self.assertIn("shape", browser.evaluate("document.querySelector('form.needs label').textContent.toLowerCase()"))
            self.assertNotIn("--", browser.evaluate("document.querySelector('.chosen .problem').textContent"))
            browser.evaluate("document.querySelector('form.needs input').value = '1x28x28'")
            browser.evaluate("document.querySelector('form.needs button').click()")
            self.until(browser, "location.hash.includes('id=') && document.querySelector('.device [data-value=job-energy] b')")
            browser.settle()
            self.until(browser, READY)
            energy = browser.evaluate("document.querySelector('.device [data-value=iteration-energy] b').textContent")
            layers = browser.evaluate("[...document.querySelectorAll('#layers-table tbody td:first-child')].map((e) => e.textContent)")
            about = browser.evaluate("document.querySelector('#network-about').textContent")
            complaints = browser.complaints()
        self.assertEqual(complaints, [])
        self.assertIn("mine.pt", about)
        self.assertEqual(len(layers), 5)
        # What the command line says of the same file.
        done = support.subprocess.run(
            [PROGRAMS["ampere"], "estimate", folder / "mine.pt", "--input", "1x28x28", "--batch", "10", "--json", "--worker", real(), "--store",
             folder / "profiles.db"], check=True, capture_output=True, encoding="utf-8", timeout=PATIENCE_S)
        told = json.loads(done.stdout)
        self.assertEqual([layer["name"] for layer in told["layers"]], layers)
        joules = told["iteration"]["energy_j"]
        self.assertAlmostEqual(float(energy.split("\u00a0")[0]) / (joules * {"J": 1, "mJ": 1e3, "µJ": 1e6}[energy.split("\u00a0")[1]]), 1, places=2)

    def until(self, browser, expression):
        deadline = time.monotonic() + PATIENCE_S
        while not browser.evaluate(f"!!({expression})"):
            if time.monotonic() > deadline:
                self.fail(f"never so: {expression}\n{browser.evaluate('document.body.innerText')[:2000]}")
            time.sleep(0.05)


if __name__ == "__main__":
    support.main()
