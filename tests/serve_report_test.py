#!/usr/bin/python3
"""A report is the page, frozen: saved from the page or by a request, it is one file that opens without a server, asks for
nothing, and shows what the page showed.

    tests/serve_report_test.py ampere=build/bin/ampere [screenshots=FOLDER]
"""

import json
import pathlib
import tempfile
import time
import unittest
import urllib.request

import support
from browser import Browser
from page_server import PageServer, READY, make_store, new_folder
from support import PATIENCE_S, PROGRAMS

HOSTILE = "</script><img src=x onerror='window.hacked=1'>\"&"
CELLS = "[...document.querySelectorAll('.device [data-value]')].map((e) => [e.dataset.value, e.textContent])"
LAYERS = "[...document.querySelectorAll('#layers-table tbody tr')].map((e) => e.textContent)"


class SavedReport(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder(cls)
        make_store(cls.folder, "lenet5", "cnn5")
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.refusals_expected = False
        self.server = PageServer(self.folder)
        self.running = True
        self.addCleanup(self.stop)

    def stop(self):
        """From here on nobody answers, which a report has to bear."""
        if self.running:
            self.server.close()
        self.running = False

    def js(self, expression):
        return self.browser.evaluate(expression)

    def until(self, expression):
        deadline = time.monotonic() + PATIENCE_S
        while not self.js(f"!!({expression})"):
            if time.monotonic() > deadline:
                raise AssertionError(f"never so: {expression}\n{self.js('document.body.innerText')[:2000]}")
            time.sleep(0.03)

    def saved(self):
        """Presses the button and waits for the file."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        self.js("document.querySelector('#save-report').click()")
        deadline = time.monotonic() + PATIENCE_S
        while not (files := [f for f in folder.iterdir() if f.suffix == ".html"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(len(files), 1, self.js("document.body.innerText")[:1000])
        return files[0]

    def open(self, file, **look):
        self.browser.open(file, ready=READY, **look)
        self.browser.settle()

    def assert_quiet(self, file):
        """No complaint, and nothing was asked for but the file."""
        self.assertEqual(self.browser.complaints(), [])
        outside = [u for u in self.browser.requests() if not u.startswith(("data:", "blob:")) and u.split("#")[0] != file.resolve().as_uri()]
        self.assertEqual(outside, [])

    def test_what_the_page_shows(self):
        self.open(f"{self.server.address}#zoo=cnn5&batch=10&samples=2000&epochs=3&price=0.3&sheets=sheet:h100")
        before = [self.js(CELLS), self.js(LAYERS), self.js("document.querySelector('.graph svg').outerHTML.length")]
        self.assertGreater(len(before[0]), 5)
        file = self.saved()
        self.stop()
        for width, dark in ((1280, False), (390, True)):
            self.open(file, width=width, dark=dark)
            self.assertEqual([self.js(CELLS), self.js(LAYERS)], before[:2])
            self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width)
            self.assertFalse(self.js("document.body.innerText.includes('undefined') || document.querySelector('#app').innerHTML.includes('NaN')"))
            if folder := PROGRAMS.get("screenshots"):
                self.browser.screenshot(pathlib.Path(folder) / f"report-{width}-{'dark' if dark else 'light'}.png")
        self.assertEqual(self.js("document.querySelector('.graph svg').outerHTML.length > 0"), True)
        facts = self.js("Object.fromEntries([...document.querySelectorAll('.chosen .facts > div')].map((e) => [e.children[0].textContent, e.children[1].textContent]))")
        self.assertEqual((facts["Network"], facts["Batch"], facts["Epochs"], facts["Price"]), ("cnn5", "10", "3", "0.3EUR/kWh"))
        # What can be looked at still can: other layers, another figure, another theme, files.
        self.js("document.querySelector('#theme').click()")
        self.js("document.querySelectorAll('.graph .layer')[2].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.browser.settle()
        self.assertEqual(self.js("document.querySelectorAll('tr.picked').length"), 1)
        self.js("document.querySelector('nav a[href*=devices]').click()")
        self.until("document.querySelector('.device .words')")
        self.assertEqual(self.js("document.querySelectorAll('form, input[type=range], #save-report').length"), 0)
        self.assert_quiet(file)

    def test_answers_that_were_asked_for_with_a_button(self):
        for view, choices, answer, rows in (("prune", "budget=50%25", "#prune-answer", "#groups-table tbody tr"),
                                            ("tune", "batches=10,20&samples=1000", "#tune-answer", "#settings-table tbody tr")):
            with self.subTest(view):
                self.open(f"{self.server.address}#view={view}&zoo=cnn5&batch=10&{choices}")
                self.js("document.querySelector('form button.main').click()")
                self.until(f"document.querySelector('{answer}') && !document.querySelector('form button.main').disabled")
                shown = self.js(f"[...document.querySelectorAll('{rows}')].map((e) => e.textContent)")
                file = self.saved()
                self.open(file)
                self.assertEqual(self.js(f"[...document.querySelectorAll('{rows}')].map((e) => e.textContent)"), shown)
                self.assert_quiet(file)

    def post(self, body):
        request = urllib.request.Request(self.server.address + "api/v1/report", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            self.assertIn("attachment", answer.headers["Content-Disposition"])
            return answer.read()

    def test_by_a_request_with_a_plan_and_hostile_names(self):
        jobs = {"devices": [{"name": "phone", "battery": {"capacity": "15Wh", "charge": "11Wh", "reserve": "3Wh"}}],
                "jobs": [{"name": HOSTILE, "cost": {"energy": "1Wh", "time": "1h"}}]}
        page = self.post({"title": HOSTILE, "view": "plan", "estimate": {"network": {"zoo": "lenet5"}, "batch": 10}, "schedule": jobs,
                          "schedule_options": {"risk": "2%"}})
        file = self.folder / "planned.html"
        file.write_bytes(page)
        self.stop()
        self.open(file)
        self.until("document.querySelectorAll('#chart-batteries svg path').length > 4")
        self.assertEqual(self.js("document.querySelector('#plan-table tbody td').textContent"), HOSTILE)
        self.assertFalse(self.js("'hacked' in window || document.querySelector('img') !== null"))
        self.assert_quiet(file)
        policy = self.js("document.querySelector('meta[http-equiv]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)


if __name__ == "__main__":
    support.main()
