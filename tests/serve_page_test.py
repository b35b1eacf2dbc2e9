#!/usr/bin/python3
"""The page of `ampere serve` in a real browser, as a new user would use it.

    tests/serve_page_test.py ampere=build/bin/ampere [screenshots=FOLDER]

With a folder for screenshots, every view is also kept as pictures: light and dark, wide and narrow.
"""

import base64
import json
import pathlib
import tempfile
import time
import unittest

import support
from browser import Browser
from page_server import PageServer, READY, make_store, new_folder
from support import DATA, PATIENCE_S, PROGRAMS

HOSTILE = "<img src=x onerror='window.hacked=1'>\"&"
VIEWS = ["estimate", "prune", "tune", "plan", "devices"]


def network(name="dropped"):
    """A network file of two layers, the second beside a branch."""
    return {"schema_version": 1, "name": name, "nodes": [
        {"name": "input", "op": "input", "shape": [1, 28, 28]},
        {"name": "stem", "op": "conv2d", "out_channels": 8, "kernel": [3], "padding": [1], "inputs": ["input"]},
        {"name": "left", "op": "conv2d", "out_channels": 8, "kernel": [3], "padding": [1], "inputs": ["stem"]},
        {"name": "sum", "op": "add", "inputs": ["stem", "left"]},
        {"name": "flat", "op": "flatten", "inputs": ["sum"]},
        {"name": "fc", "op": "linear", "out_features": 10, "inputs": ["flat"]}], "outputs": ["fc"]}


class ServePage(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder(cls)
        make_store(cls.folder, "lenet5", "cnn5")
        cls.server = PageServer(cls.folder)
        cls.addClassCleanup(cls.server.close)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.refusals_expected = False

    def visit(self, choices="", server=None, ready=READY, **opening):
        self.address = (server or self.server).address
        self.browser.open(f"{self.address}#{choices}", ready=ready, **opening)

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        outside = [u for u in self.browser.requests() if not u.startswith((self.address, "data:", "blob:" + self.address))]
        self.assertEqual(outside, [])

    def js(self, expression):
        return self.browser.evaluate(expression)

    def until(self, expression):
        """Waits until this is true on the page."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := self.js(f"!!({expression})")):
            if time.monotonic() > deadline:
                raise AssertionError(f"never so: {expression}\n{self.js('document.body.innerText')[:3000]}")
            time.sleep(0.03)
        return found

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def value(self, which):
        """A figure of the first device, without its interval."""
        return self.js(f"document.querySelector('.device [data-value={which}] b')?.textContent ?? null")

    def drop(self, name, content):
        self.js(f"""(() => {{ const carried = new DataTransfer();
          carried.items.add(new File([{json.dumps(content)}], {json.dumps(name)}));
          document.dispatchEvent(new DragEvent('drop', {{dataTransfer: carried, bubbles: true, cancelable: true}})); }})()""")

    def change(self, control, value):
        """Puts a slider's field, a choice or a field to a value, as typing would."""
        self.js(f"""(() => {{ const box = document.querySelector('[data-control="{control}"]');
          const e = box.querySelector('select') || box.querySelector('input[type=text]');
          e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change', {{bubbles: true}})); }})()""")

    def settled(self):
        """The last change was asked and answered."""
        self.browser.settle()
        self.until(READY)

    def asked(self, path):
        """Bodies of all requests to a path, the newest last."""
        sent = [e["params"]["request"] for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]
        return [json.loads(r["postData"]) for r in sent if r["url"].endswith("/api/v1/" + path) and "postData" in r]

    def press(self, selector):
        self.js(f"document.querySelector({json.dumps(selector)}).click()")

    # ---- estimates

    def test_from_a_dropped_file_to_joules(self):
        self.visit("batch=10")
        self.drop("mine.json", json.dumps(network()))
        self.until("document.querySelector('#network-about')?.textContent.includes('mine')")
        self.settled()
        self.assertRegex(self.value("iteration-energy"), r"^[\d.]+.[mµ]?J$")
        self.assertRegex(self.value("job-time"), r"\d")
        self.assertEqual(self.texts(".graph .layer text:first-of-type")[:2], ["stem", "left"])
        # The link shows the same to somebody else.
        link, shown = self.js("location.hash"), self.value("job-energy")
        self.assertIn("id=", link)
        self.visit(link[1:])
        self.assertEqual(self.value("job-energy"), shown)

    def test_what_the_page_says_is_what_the_command_line_says(self):
        self.visit("zoo=cnn5&batch=10&samples=1000&epochs=3&price=0.3")
        done = support.subprocess.run(
            [PROGRAMS["ampere"], "estimate", "cnn5", "--batch", "10", "--samples", "1000", "--epochs", "3", "--price", "0.3EUR/kWh",
             "--json", "--store", str(self.folder / "profiles.db")], check=True, capture_output=True, encoding="utf-8", cwd=self.folder)
        told = json.loads(done.stdout)
        for span in ("iteration", "epoch", "job"):
            self.assertEqual(self.value(f"{span}-energy").replace("\u00a0", " "), self.js(f"ampere.si({told[span]['energy_j']}, 'J')"))
        self.assertEqual(self.texts("#layers-table tbody td:first-child"), [layer["name"] for layer in told["layers"]])

    def test_each_control_changes_what_it_says(self):
        self.visit("zoo=cnn5&batch=10")
        cells = ["iteration-energy", "epoch-energy", "job-energy", "job-cost", "job-carbon"]
        for control, value, field, sent, changed in (
                ("batch", "20", "batch", 20, cells[:1]), ("dim.size", "32", "network", {"zoo": "cnn5:size=32"}, cells[:3]),
                ("samples", "2000", "samples", 2000, cells[1:3]), ("epochs", "3", "epochs", 3, cells[2:3]),
                ("price", "0.3", "price", "0.3EUR/kWh", cells[3:4]), ("carbon", "400", "carbon", "400g/kWh", cells[4:]),
                ("country", "fr", "carbon", "FR", cells[4:])):
            with self.subTest(control):
                before = {c: self.value(c) for c in cells}
                self.change(control, value)
                self.settled()
                self.assertEqual(self.asked("estimate")[-1][field], sent)
                after = {c: self.value(c) for c in cells}
                for cell in changed:
                    self.assertNotEqual(after[cell], before[cell], cell)
                if control == "epochs":
                    self.assertEqual(after["epoch-energy"], before["epoch-energy"])
        # These may not be known of the device; then it says so in words.
        for control, value, field, sent in (("precision", "bf16", "precision", "bf16"), ("optimizer", "adam", "optimizer", "adam"),
                                            ("limit", "300", "power_limit_w", 300)):
            with self.subTest(control):
                self.change(control, value)
                self.settled()
                self.assertEqual(self.asked("estimate")[-1][field], sent)
                self.assertTrue(self.value("iteration-energy") or self.texts(".untold .problem"))
        self.press("#as-usual")
        self.settled()
        self.assertEqual(set(self.asked("estimate")[-1]), {"network", "batch", "samples", "epochs", "layers"})

    def test_a_slider_moves_with_the_keyboard(self):
        self.visit("zoo=cnn5&batch=8")
        self.js("document.querySelector('[data-control=batch] input[type=range]').focus()")
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
        self.settled()
        self.assertEqual(self.asked("estimate")[-1]["batch"], 16)
        self.assertIn("batch=16", self.js("location.hash"))
        self.until("document.querySelector('.spoken[role=status]').textContent.includes('per iteration')")

    def test_the_graph_and_the_table_are_of_one_mind(self):
        self.visit("zoo=resnet18&batch=10")
        layers = len(self.texts("#layers-table tbody tr"))
        self.assertEqual(len(self.texts(".graph .layer")), layers)
        self.assertGreater(self.js("document.querySelectorAll('.graph path').length"), layers - 1)  # it has branches
        self.js("document.querySelectorAll('.graph .layer')[3].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.browser.settle()
        self.assertEqual(self.texts("tr.picked td:first-child"), [self.texts("#layers-table tbody td:first-child")[3]])

    def test_names_are_text(self):
        self.visit("batch=10")
        given = network(HOSTILE)
        given["nodes"][1]["name"] = HOSTILE
        for node in given["nodes"]:
            node["inputs"] = [HOSTILE if name == "stem" else name for name in node.get("inputs", [])] or node.get("inputs", [])
        for node in given["nodes"]:
            if not node["inputs"]:
                del node["inputs"]
        self.drop(HOSTILE + ".json", json.dumps(given))
        self.until("location.hash.includes('id=')")
        self.settled()
        for view in VIEWS:
            self.js(f"[...document.querySelectorAll('nav a')][{VIEWS.index(view)}].click()")
            self.settled()
            self.assertFalse(self.js("'hacked' in window || document.querySelector('img') !== null"))
        self.browser.refusals_expected = True
        self.visit("zoo=" + HOSTILE.replace("&", "%26"))
        self.until("document.querySelector('.problem')")
        self.assertFalse(self.js("'hacked' in window || document.querySelector('img') !== null"))

    def test_a_file_that_is_no_network_is_refused_in_words(self):
        self.browser.refusals_expected = True
        self.visit("zoo=cnn5&batch=10")
        self.drop("broken.json", "{}")
        self.until("document.querySelector('.chosen .problem')")
        self.assertIn("broken.json", self.texts(".chosen .problem")[0])
        self.assertTrue(self.value("iteration-energy"))

    def test_a_file_that_does_not_say_all_is_asked_about(self):
        whole = (DATA / "onnx" / "resnet18.dynamo.onnx").read_bytes()
        # Both sides of its images, 224, become a dimension with a name.
        named = whole.replace(b"\x0a\x03\x08\xe0\x01", b"\x0a\x03\x12\x01h")
        self.assertNotEqual(named, whole)
        self.browser.refusals_expected = True
        self.visit("zoo=cnn5&batch=10")
        self.js(f"""(() => {{ const bytes = Uint8Array.from(atob({json.dumps(base64.b64encode(named).decode())}), (c) => c.charCodeAt(0));
          const carried = new DataTransfer(); carried.items.add(new File([bytes], 'mine.onnx'));
          document.dispatchEvent(new DragEvent('drop', {{dataTransfer: carried, bubbles: true}})); }})()""")
        self.until("document.querySelector('form.needs')")
        self.assertEqual(self.texts("form.needs label"), ["Size of h"])
        self.js("document.querySelector('form.needs input').value = '64'")
        self.press("form.needs button")
        self.until("document.querySelector('#network-notes')")
        self.settled()
        small = self.value("iteration-energy")
        self.change("dim.h", "96")
        self.settled()
        self.assertEqual(self.asked("estimate")[-1]["dims"], {"h": 96})
        self.assertNotEqual(self.value("iteration-energy"), small)
        layers = len(self.texts(".graph .layer"))
        self.press("#network-notes + p button")
        self.until("!document.querySelector('#network-notes')?.textContent.includes('restore_batchnorm')")
        self.settled()
        self.assertEqual(len(self.texts(".graph .layer")), layers)

    # ---- the other views

    def ask(self, answer):
        self.press("form button.main")
        self.until(f"document.querySelector('{answer}') && !document.querySelector('form button.main').disabled")
        self.browser.settle()

    def test_prune_and_download(self):
        self.visit("view=prune&zoo=cnn5&batch=10&budget=50%25")
        self.ask("#prune-answer")
        self.assertIn("50%", self.texts("#prune-answer .headline")[0])
        with tempfile.TemporaryDirectory() as folder:
            self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
            self.press("#prune-answer button.main")
            deadline = time.monotonic() + PATIENCE_S
            while not list(pathlib.Path(folder).glob("*.json")) and time.monotonic() < deadline:
                time.sleep(0.05)
            file, = pathlib.Path(folder).glob("*.json")
            pruned = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(len(pruned["nodes"]), 15)
        before = self.js("location.hash")
        self.js("[...document.querySelectorAll('#prune-answer button')].find((b) => b.textContent === 'Estimate it').click()")
        self.until("document.querySelector('.device [data-value]')")
        self.assertNotEqual(self.js("location.hash"), before)

    def test_the_front_of_settings(self):
        self.visit("view=tune&zoo=cnn5&batch=10&batches=10,20&samples=1000")
        self.ask("#tune-answer")
        self.assertEqual(len(self.texts("#settings-table tbody tr")), 2)
        self.assertGreater(self.js("document.querySelectorAll('#chart-settings svg path').length"), 4)
        self.assertTrue(self.texts("#figure-settings .words li"))

    def test_a_plan_with_batteries(self):
        jobs = {"devices": [{"name": "phone", "battery": {"capacity": "15Wh", "charge": "11Wh", "reserve": "3Wh"}}, {"name": "desktop"}],
                "jobs": [{"name": HOSTILE, "cost": {"energy": "1Wh", "time": "1h"}}, {"name": "second", "devices": ["phone"], "cost": {"energy": "2Wh", "time": "30min"}},
                         {"name": "too much", "devices": ["phone"], "cost": {"energy": "200Wh", "time": "30min"}}]}
        self.visit("view=plan")
        self.js("document.querySelector('details').open = true")
        self.js(f"(() => {{ const e = document.querySelector('textarea'); e.value = {json.dumps(json.dumps(jobs))}; e.dispatchEvent(new Event('change', {{bubbles: true}})); }})()")
        self.ask("#plan-answer")
        self.assertEqual(sorted(self.texts("#plan-table tbody td:first-child")), sorted([HOSTILE, "second"]))
        self.assertEqual(self.texts("#refused-table tbody td:first-child"), ["too much"])
        for chart in ("plan", "batteries"):
            self.assertGreater(self.js(f"document.querySelectorAll('#chart-{chart} svg path').length"), 4, chart)
        # A job more, by its button.
        self.js("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Add a job').click()")
        self.settled()
        self.assertEqual(len(json.loads(self.js("document.querySelector('textarea').value"))["jobs"]), 4)

    def test_profiling_is_watched_stopped_and_resumed(self):
        empty = self.folder / "empty"
        empty.mkdir()
        with PageServer(empty, "--refresh", "0", worker="slow") as server:
            self.visit("view=estimate&zoo=resnet18-cifar&batch=7", server)
            self.assertIn("No device is known", self.js("document.querySelector('.answers').textContent"))
            self.press("nav a[href*=devices]")
            self.until("document.querySelector('[data-control=what]')")
            self.change("what", "network")
            self.browser.settle()
            self.press("form button.main")
            self.until("document.querySelector('.job[data-state=running] progress')?.value > 0")
            self.press(".job button")
            self.until("document.querySelector('.job[data-state=stopped]')")
            # A link to the view finds the job again.
            self.visit("view=devices&zoo=resnet18-cifar&batch=7", server)
            self.until("document.querySelector('.job[data-state=stopped] button')")
            self.assertEqual(self.texts(".job button"), ["Go on"])
            self.press(".job button")
            self.until("document.querySelector('.job[data-state=running]')")
            # Nothing is lost when the server is killed: another one goes on, and so does the page.
            self.browser.refusals_expected = True
            server.process.kill()
            self.until("document.querySelector('.job .problem')")
        with PageServer(empty, "--refresh", "0", worker="slow", port=int(server.address.rsplit(":")[-1].strip("/"))):
            self.until("document.querySelector('.job[data-state=interrupted] button')")
            self.press(".job button")
            self.until("document.querySelector('.job[data-state=done]')")
            self.until("document.querySelector('.device h3')?.textContent === 'imaginary device'")

    def test_what_measuring_more_would_bring(self):
        self.visit("view=devices&zoo=cnn5&batch=10")
        self.assertEqual(self.texts(".device h3"), ["imaginary device"])
        self.until("document.querySelector('.device ul.words li')")
        self.js("document.querySelector('details.knowledge').open = true")
        self.until("document.querySelectorAll('.knowledge tbody tr').length > 10")

    def test_devices_of_one_name_are_told_apart(self):
        folder = self.folder / "two"
        folder.mkdir()
        make_store(folder, "lenet5")
        make_store(folder, "lenet5", worker="cuda")
        with PageServer(folder) as server:
            self.visit("zoo=lenet5&batch=10", server)
            names = self.texts(".device h3")
            self.assertEqual(len(set(names)), 2, names)
            for name in names:
                self.assertRegex(name, "^imaginary device [0-9a-f]{6}$")
            # Also where they begin as rows of a plan, whose devices have names of their own.
            self.visit("view=plan&zoo=lenet5&batch=10", server)
            self.ask("#plan-answer")
            self.assertEqual(len(self.texts("#plan-table tbody tr")), 1)

    # ---- looks

    def test_every_view_fits_every_screen(self):
        for view in VIEWS:
            self.visit(f"view={view}&zoo=cnn5&batch=10")
            for width, dark in ((1280, False), (1280, True), (390, True), (390, False)):
                with self.subTest(f"{view} {width} {dark}"):
                    self.browser.prefer(dark)
                    self.browser.resize(width)
                    self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.js("document.documentElement.dataset.theme"), "dark" if dark else "light")
                    self.assertFalse(self.js("document.body.innerHTML.includes('NaN') || document.body.innerText.includes('undefined')"))
                    if folder := PROGRAMS.get("screenshots"):
                        self.browser.screenshot(pathlib.Path(folder) / f"{view}-{width}-{'dark' if dark else 'light'}.png")
        self.press("#theme")
        self.assertEqual(self.js("document.documentElement.dataset.theme"), "dark")

    def test_no_table_is_cut(self):
        """Columns that do not fit are left out, and are in the CSV."""
        for view in ("zoo=cnn5&batch=10", "view=tune&zoo=cnn5&batch=10&batches=10,20&samples=1000", "view=prune&zoo=cnn5&batch=10",
                     "view=plan&zoo=cnn5&batch=10", "view=devices&zoo=cnn5&batch=10"):
            self.visit(view)
            if "devices" in view:
                self.js("document.querySelectorAll('.device details').forEach((d) => d.open = true)")
                self.until("document.querySelectorAll('.knowledge tbody tr').length > 10")
            elif "view" in view:
                self.ask(f"#{view.split('&')[0].split('=')[1]}-answer")
            for width in (1480, 1280, 390):
                with self.subTest(f"{view} {width}"):
                    self.browser.resize(width)
                    cut = self.js("""[...document.querySelectorAll('.answers .scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1)
                      .map((e) => [e.querySelector('table').id, e.scrollWidth, e.clientWidth])""")
                    self.assertEqual(cut, [])

    def test_a_link_that_asks_for_what_cannot_be(self):
        self.visit("zoo=cnn5&batch=-5&epochs=many&samples=1000&toString=x")
        self.assertEqual(len(self.texts(".refused")), 2)
        self.assertIn("-5", self.texts(".refused")[0])
        self.assertEqual([self.asked("estimate")[-1][field] for field in ("batch", "epochs", "samples")], [32, 10, 1000])
        self.change("batch", "16")
        self.settled()
        self.assertEqual(self.texts(".refused"), [])

    def test_figures_and_tables_can_be_taken_along(self):
        self.visit("zoo=cnn5&batch=10")
        links = self.js("""[...document.querySelectorAll('figure a.download')].map((link) => {
          link.dispatchEvent(new Event('focus')); return [link.download, decodeURIComponent(link.href).slice(0, 400)]; })""")
        kinds = {name.rsplit(".", 1)[1]: content for name, content in links}
        self.assertIn("text/csv", kinds["csv"])
        self.assertIn("<svg", kinds["svg"])

    def test_the_token_is_asked_for(self):
        self.browser.refusals_expected = True
        with PageServer(self.folder, "--token", "open-sesame", "--state", str(self.folder / "state")) as server:
            self.visit("zoo=cnn5&batch=10", server, ready="!!document.querySelector('#token')")
            for token, there in (("wrong", ".token"), ("open-sesame", ".device [data-value]")):
                self.js(f"document.querySelector('#token').value = {json.dumps(token)}")
                self.press(".token button")
                self.browser.settle()
                self.until(f"document.querySelector('{there}')")
            self.assertNotIn("sesame", self.js("location.href"))


if __name__ == "__main__":
    support.main()
