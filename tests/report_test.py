#!/usr/bin/python3
"""Reports in a real browser: every chart is drawn, everything responds, nothing is loaded from anywhere.

    tests/report_test.py ampere=build/bin/ampere [screenshots=FOLDER]

With a folder for screenshots, pages are also kept as pictures: light and dark, wide and narrow.
"""

import csv
import json
import math
import pathlib
import random
import shutil
import tempfile
import urllib.parse
import xml.etree.ElementTree

import support
from browser import Browser
from support import AmpereTest, HERE, QUICK, scripted

RESULTS = HERE.parent / "results"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\"'&"
# What is in a chart: elements that its series have put on the screen.
DRAWN = """(() => {
  const counts = {};
  for (const entry of ampereReport.charts) {
    const chart = entry.chart();
    const series = {};
    chart.getModel().getSeries().forEach((s) => {
      const data = s.getData();
      let drawn = 0;
      for (let i = 0; i < data.count(); ++i) if (data.getItemGraphicEl(i)) ++drawn;
      series[s.name] = (series[s.name] || 0) + drawn;
    });
    const svg = document.querySelector('#chart-' + entry.id + ' svg');
    counts[entry.id] = {series: series, paths: svg.querySelectorAll('path, rect, circle, polygon').length,
      texts: svg.querySelectorAll('text').length, broken: svg.outerHTML.includes('NaN')};
  }
  return counts;
})()"""


def curves():
    """Training curves of three networks."""
    out = {"schema_version": 1, "model": "cnn5", "batch": 10, "budget_j": 40, "curves": []}
    for name, joules, floor in (("original", 0.036, 0.02), ("pruned to 50%", 0.018, 0.04), ("random, 50%", 0.018, 0.08)):
        points = [{"iteration": i, "energy_j": i * joules, "test_loss": floor + 2.2 * math.exp(-i / 300),
                   "test_accuracy": 0.99 - floor - 0.85 * math.exp(-i / 300)} for i in range(0, 2001, 100)]
        out["curves"].append({"network": name, "points": points})
    return out


def tuning():
    """A job under limits in two precisions, as ampere tune tells it."""
    outcomes = []
    for precision, joules in (("default", 30e6), ("bf16", 24e6)):
        for limit in (None, 200, 300, 400, 500):
            share = 1 if limit is None else (limit / 700) ** 0.3
            energy, seconds = joules * share, 54e3 * (1 if limit is None else (700 / limit) ** 0.4)
            outcomes.append({"batch": 64, "recipe": f"sgd-{precision}-t1", "power_limit_w": limit, "clock_mhz": None,
                             "energy_j": energy, "energy_low_j": 0.8 * energy, "energy_high_j": 1.2 * energy, "time_s": seconds,
                             "time_low_s": 0.9 * seconds, "time_high_s": 1.1 * seconds, "on_front": precision == "bf16",
                             "allowed": seconds < 70e3, "measured": False})
    saved = {"value": 0.2, "low": -0.1, "high": 0.4}
    return {"schema_version": 1, "model": "resnet50", "objective": "energy", "most_slower": 0.3, "deadline_s": None, "present": 0,
            "best": 7, "outcomes": outcomes, "steps": [{"change": "bf16 instead of default", "energy_saved": saved, "time_saved": saved}],
            "advice": [{"what": "train with channels last", "evidence": "<b>layers</b> with batch norm are 50%"}]}


def evaluation(networks, methods, name="cnn5:c1={}"):
    """An evaluation of networks that were never trained."""
    chance = random.Random(7)
    out = {"schema_version": 1, "model": "cnn5", "batch": 10, "recipe": "sgd-fp32-t1", "mode": "eager", "noise_floor": 0.02,
           "device": {"name": "imaginary device"}, "meter": "imaginary", "modelled": True, "methods": {}, "networks": [],
           "profiling": {"split": {"time_s": 61, "fitting_time_s": 0.2, "points_measured": 90, "points_reused": 3}}}
    for i in range(networks):
        joules = 0.01 * math.exp(3 * chance.random())
        estimates = {}
        for m in methods:
            e = joules * math.exp(chance.gauss(0, 0.1))
            estimates[m] = {"energy_j": e, "energy_low_j": 0.8 * e, "energy_high_j": 1.2 * e, "time_s": e / 10}
        out["networks"].append({"network": name.format(i), "energy_j": joules, "time_s": joules / 10, "flops": joules * 1e9,
                                "bytes": 1e6, "estimates": estimates})
    for m in methods:
        out["methods"][m] = {"mape": 0.08, "median": 0.06, "p95": 0.2, "bias": 0.01, "coverage": 0.9}
    return out


class Reports(AmpereTest):
    kept = None  # the folder of everything()

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def profile(self, *models, worker="ok", batch=10):
        for model in models:
            self.output_of("profile", model, "--batch", batch, "-q", "--points-1d", 6, "--points-2d", 9, "--checks", 2,
                           "--worker", scripted(worker))

    def report(self, *arguments, **opening):
        """Writes a report and opens it. Returns the path."""
        path = self.folder / "report.html"
        self.output_of("report", "-o", path, "-q", *arguments)
        self.browser.open(path, **opening)
        self.assert_clean(path)
        return path

    def assert_clean(self, path):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(set(self.browser.requests()), {path.resolve().as_uri()})

    def js(self, expression):
        return self.browser.evaluate(expression)

    def html_of(self, chart):
        return self.js(f"document.querySelector('#chart-{chart} svg').outerHTML")

    def choose(self, figure, name, index):
        self.js(f"""(() => {{ const s = document.querySelector("#figure-{figure} [data-choice={name}]");
          if (s.tagName === 'SELECT') {{ s.selectedIndex = {index}; s.dispatchEvent(new Event('change')); }}
          else {{ s.value = {index}; s.dispatchEvent(new Event('input')); }} }})()""")

    def everything(self):
        """A store and results that fill every section; made once."""
        if self.kept is None:
            self.make_everything()
            type(self).kept = pathlib.Path(tempfile.mkdtemp(prefix="ampere-test-"))
            self.addClassCleanup(shutil.rmtree, self.kept, ignore_errors=True)
            shutil.copytree(self.folder, self.kept, dirs_exist_ok=True)
        shutil.copytree(self.kept, self.folder, dirs_exist_ok=True)
        return ["--results", self.folder / "curves.json", RESULTS, self.folder / "additivity.json", self.folder / "detect.json"]

    def make_everything(self):
        self.profile("lenet5", "cnn5")
        self.output_of("profile", "lenet5", "--batch", 10, "-q", "--method", "paper", "--points-1d", 4, "--points-2d", 7,
                       "--worker", scripted())
        # Layers that are measured after profiling: test points.
        self.output_of("estimate", "cnn5:c1=17,c2=23,c3=90,c4=50", "--batch", 10, "--exact", "-q", "--worker", scripted())
        self.output_of("additivity", "--layers", 4, "--phases", "-q", "-o", "additivity.json", "--worker", scripted())
        detected = self.folder / "detect.json"
        detected.write_text(self.output_of("detect", "--json", "--worker", scripted()), encoding="utf-8")
        self.write("curves.json", curves())

    def test_every_chart_is_drawn(self):
        self.report(*self.everything())
        drawn = self.js(DRAWN)
        self.assertEqual(list(drawn), ["layers", "surface", "steps", "scatter", "mape", "cdf", "additivity", "curves", "profiling"])
        for chart, counts in drawn.items():
            with self.subTest(chart):
                self.assertGreater(counts["paths"], 10)
                self.assertGreater(counts["texts"], 4)
                self.assertFalse(counts["broken"])
                self.assertEqual([name for name, n in counts["series"].items() if n == 0 and name not in LINES], [])
        data = self.js("ampereReport.data")
        layers = len(data["estimates"][0]["layers"])
        self.assertIn(drawn["layers"]["series"]["layer"], (layers, layers + 1))
        first = data["evaluations"][0]
        self.assertEqual(drawn["scatter"]["series"]["split"], len(first["networks"]))
        self.assertEqual(drawn["scatter"]["series"]["flops"], len(first["networks"]))
        self.assertEqual(drawn["curves"]["series"], {"original": 21, "pruned to 50%": 21, "random, 50%": 21})
        self.assertEqual(drawn["additivity"]["series"]["eager"], len(data["additivity"][0]["modes"][0]["points"]))
        self.assertEqual(drawn["mape"]["series"]["split"], len(data["evaluations"]))
        self.assertEqual(drawn["profiling"]["series"]["training"], self.js("ampere.profilingRows(ampereReport.data).length"))
        # Every surface, in both quantities, and after every step.
        surfaces = self.js("document.querySelector('#figure-surface [data-choice=surface]').options.length")
        self.assertGreaterEqual(surfaces, 8)
        tests = 0
        for index in range(surfaces):
            for quantity in (0, 1):
                self.choose("surface", "surface", index)
                self.choose("surface", "quantity", quantity)
                counts = self.js(DRAWN)["surface"]
                self.assertGreater(counts["series"]["profiled"], 2)
                self.assertFalse(counts["broken"])
                tests += counts["series"].get("test", 0)
                if (cells := counts["series"].get("Standard deviation")) is not None:
                    self.assertGreater(cells, 50)
        self.assertGreater(tests, 0, "no test points were drawn")
        self.assert_clean(self.folder / "report.html")
        self.assertIn("imaginary device", self.js("document.getElementById('device-card').textContent"))

    def test_charts_and_tables_respond(self):
        self.report(*self.everything())
        for figure, choice, index in (("layers", "quantity", 1), ("layers", "network", 1), ("surface", "surface", 2),
                                      ("surface", "quantity", 1), ("steps", "step", 0), ("steps", "surface", 1), ("scatter", "method", 2),
                                      ("scatter", "evaluation", 1), ("mape", "statistic", 2), ("cdf", "evaluation", 1),
                                      ("curves", "up", 1), ("curves", "across", 1)):
            with self.subTest(figure, choice=choice):
                before = self.html_of(figure)
                self.choose(figure, choice, index)
                self.assertNotEqual(self.html_of(figure), before)
        shares = "[...document.querySelectorAll('#layers-table tbody tr')].map(r => parseFloat(r.lastChild.textContent))"
        names = "[...document.querySelectorAll('#layers-table tbody tr')].map(r => r.firstChild.textContent)"
        unsorted = self.js(names)
        self.js("document.querySelector('#layers-table th:last-child button').click()")
        falling = self.js(shares)
        self.assertEqual(falling, sorted(falling, reverse=True))
        self.js("document.querySelector('#layers-table th:last-child button').click()")
        self.assertEqual(self.js(shares), falling[::-1])
        self.assertEqual(sorted(self.js(names)), sorted(unsorted))
        # Pointing at a mark tells its numbers.
        x, y = self.js("""(() => { const entry = ampereReport.charts.find(c => c.id === 'scatter');
          document.getElementById('chart-scatter').scrollIntoView({behavior: 'instant', block: 'center'});
          const s = entry.chart().getModel().getSeries().find(s => s.subType === 'scatter');
          const p = s.getData().getItemLayout(0), box = document.getElementById('chart-scatter').getBoundingClientRect();
          return [box.left + p[0], box.top + p[1]]; })()""")
        self.browser.hover(x + 2, y + 1)
        self.browser.hover(x, y)
        self.browser.settle()
        self.assertRegex(self.js("document.getElementById('chart-scatter').textContent"), "off by")
        # The switch, and what the system prefers.
        for expected in ("dark", "light"):
            before = self.html_of("cdf")
            self.js("document.getElementById('theme').click()")
            self.assertEqual(self.js("document.documentElement.dataset.theme"), expected)
            self.assertNotEqual(self.html_of("cdf"), before)
        self.assert_clean(self.folder / "report.html")

    def test_numbers_as_csv(self):
        self.report(*self.everything())
        for figure in ("layers", "surface", "steps", "scatter", "mape", "cdf", "additivity", "curves", "profiling"):
            with self.subTest(figure):
                self.js(f"document.querySelector('#figure-{figure} .download').dispatchEvent(new Event('focus'))")
                link = self.js(f"document.querySelector('#figure-{figure} .download').href")
                self.assertTrue(link.startswith("data:text/csv;charset=utf-8,"))
                rows = urllib.parse.unquote(link.split(",", 1)[1]).splitlines()
                self.assertGreater(len(rows), 3)
                self.assertRegex(rows[0], r"^[a-z0-9_,-]+$")
                name = self.js(f"document.querySelector('#figure-{figure} .download').download")
                self.assertRegex(name, r"^[a-z0-9-]+\.csv$")

    def test_narrow_dark_and_print(self):
        path = self.report(*self.everything(), dark=True)
        self.assertEqual(self.js("document.documentElement.dataset.theme"), "dark")
        self.keep_pictures(path)
        self.browser.open(path, width=390, height=844)
        self.assertEqual(self.js("document.documentElement.dataset.theme"), "light")
        self.assertEqual(self.js("document.documentElement.scrollWidth"), 390, "the page scrolls sideways")
        too_wide = self.js("[...document.querySelectorAll('.chart svg')].filter(s => s.getBoundingClientRect().right > 390).length")
        self.assertEqual(too_wide, 0)
        self.browser.resize(1280)
        self.assertGreater(self.js("document.querySelector('#chart-cdf svg').getBoundingClientRect().width"), 800)
        self.browser.prefer(dark=True)
        self.browser.settle()
        self.assertEqual(self.js("document.documentElement.dataset.theme"), "dark")
        self.browser.pdf(self.folder / "report.pdf")
        printed = (self.folder / "report.pdf").read_bytes()
        self.assertTrue(printed.startswith(b"%PDF") and len(printed) > 50_000)
        self.browser.settle()
        self.assertEqual(self.js("document.documentElement.dataset.theme"), "dark", "printing is not undone")
        self.assert_clean(path)

    def keep_pictures(self, path):
        folder = support.PROGRAMS.get("screenshots")
        if not folder:
            return
        for width in (1280, 390):
            for dark in (False, True):
                self.browser.open(path, width=width, dark=dark)
                self.browser.screenshot(pathlib.Path(folder) / f"{width}-{'dark' if dark else 'light'}.png")
        self.browser.pdf(pathlib.Path(folder) / "report.pdf")

    def test_hostile_names_stay_text(self):
        worker = self.folder / "worker.py"
        original = (HERE / "scripted_worker.py").read_text(encoding="utf-8")
        worker.write_text(original.replace('"imaginary device"', json.dumps(HOSTILE)), encoding="utf-8")
        self.output_of("profile", "lenet5", "--batch", 10, "-q", *QUICK, "--worker", f"exec /usr/bin/python3 {worker} ok")
        bad = evaluation(5, ["split", "flops", HOSTILE], HOSTILE + "{}")
        bad.update(model=HOSTILE, recipe=HOSTILE, device={"name": HOSTILE})
        lines = curves()
        lines["curves"][0]["network"] = HOSTILE
        network = {"schema_version": 1, "name": HOSTILE, "nodes": [
            {"name": "x", "op": "input", "shape": [1, 28, 28]}, {"name": HOSTILE, "op": "flatten", "inputs": ["x"]},
            {"name": "y", "op": "linear", "inputs": [HOSTILE], "out_features": 10}], "outputs": ["y"]}
        model = self.write("net.json", network)
        self.output_of("profile", model, "--batch", 10, "-q", *QUICK, "--worker", f"exec /usr/bin/python3 {worker} ok")
        self.report(model, "--batch", 10, "--title", HOSTILE, "--results", self.write("bad.json", bad),
                    self.write("curves.json", lines), "--figures", self.folder / "figures")
        self.assertIsNone(self.js("window.hacked ?? null"))
        self.assertEqual(self.js("document.querySelector('h1').textContent"), HOSTILE)
        self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)
        self.assertIn(HOSTILE, self.js("document.getElementById('device-card').textContent"))
        for entry in ("scatter", "layers", "curves"):
            self.js(f"""ampereReport.charts.find(c => c.id === '{entry}').chart().dispatchAction(
              {{type: 'showTip', seriesIndex: {2 if entry == 'scatter' else 0}, dataIndex: 0}})""")
        self.browser.settle()
        self.assertIsNone(self.js("window.hacked ?? null"))
        self.assertEqual(self.js("document.querySelectorAll('img').length"), 0)
        self.assert_clean(self.folder / "report.html")
        for figure in (self.folder / "figures").glob("*.svg"):
            self.assertNotIn("<script", figure.read_text(encoding="utf-8"))

    def test_large(self):
        """30 kinds and 500 networks: the file stays small, and how long it takes to open is printed."""
        self.profile("resnet18", "har", "cnn5", batch=8)
        methods = ["split", "split-probe", "split-exact", "paper", "neuralpower", "flops", "flops-affine", "flops-bytes"]
        path = self.report("--results", self.write("large.json", evaluation(500, methods)))
        kinds = self.js("ampereReport.data.surfaces.length")
        self.assertGreaterEqual(kinds, 30)
        size = path.stat().st_size
        self.assertLess(size, 3_000_000)
        self.assertEqual(self.js(DRAWN)["scatter"]["series"]["split"], 500)
        seconds = min(self.browser.open(path) for _ in range(3))
        print(f"report of {kinds} kinds and 500 networks: {size / 1e6:.2f} MB, opens in {seconds:.2f} s")

    def test_an_accelerator(self):
        self.output_of("profile", "cnn5", "--batch", 10, "-q", *QUICK, "--worker", scripted("cuda"))
        self.report("cnn5", "--batch", 10)
        drawn = self.js(DRAWN)
        self.assertEqual(list(drawn), ["layers", "surface", "steps", "profiling"])
        self.assertIn("Idle power", self.js("document.getElementById('device-card').textContent"))

    def test_settings_of_a_job(self):
        self.report("--store", self.folder / "none.db", "--results", self.write("tuned.json", tuning()))
        drawn = self.js(DRAWN)["settings"]
        self.assertEqual(drawn["series"]["batch 64, sgd-default-t1"], 5)
        self.assertEqual(drawn["series"]["batch 64, sgd-bf16-t1"], 5)
        self.assertFalse(drawn["broken"])
        words = self.js("[...document.querySelectorAll('#figure-settings .words li')].map(e => e.textContent)")
        self.assertIn("batch 64, sgd-bf16-t1, 300 W", words[0])
        self.assertEqual(words[1], "bf16 instead of default saves 20% of the energy (-10% to 40%), 20% quicker")
        self.assertIn("<b>layers</b>", words[2])
        text = self.js("document.querySelector('#chart-settings svg').textContent")
        for label in ("now: as it comes", "best: 300 W", "at most 30% slower", "time of the job, hours"):
            self.assertIn(label, text)
        # Pointing at the best one tells what it saves.
        x, y = self.js("""(() => { const chart = ampereReport.charts.find(c => c.id === 'settings').chart(), box = chart.getDom().getBoundingClientRect();
          const p = ampereReport.data.tunings[0].points[7], at = chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [p.time_s[0] / 3600, p.energy_j[0]]);
          return [box.x + at[0], box.y + at[1]]; })()""")
        self.browser.hover(x + 2, y + 1)
        self.browser.hover(x, y)
        self.browser.settle()
        tip = self.js("document.querySelector('#chart-settings div:last-child').textContent")
        self.assertIn("less energy than now", tip)
        self.choose("settings", "shown", 1)
        front = self.js(DRAWN)["settings"]
        self.assertEqual(front["series"]["batch 64, sgd-default-t1"], 1)  # the present one
        self.assertEqual(front["series"]["batch 64, sgd-bf16-t1 95%"], 5)
        self.assertFalse(front["broken"])
        self.browser.resize(390)
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 390)
        folder = support.PROGRAMS.get("screenshots")
        if folder:
            self.browser.screenshot(pathlib.Path(folder) / "settings-narrow.png")
            self.browser.resize(1280)
            self.browser.screenshot(pathlib.Path(folder) / "settings-front.png")
        self.assert_clean(self.folder / "report.html")

    def test_results_alone(self):
        """No store is needed, and none is made."""
        self.report("--results", RESULTS / "h200")
        self.assertEqual(list(self.js(DRAWN)), ["scatter", "mape", "cdf", "additivity", "curves", "profiling"])
        self.assertFalse(self.store.exists())


# Their points are shown as one line or area, not as marks.
LINES = {"ideal", "expected", "eager line", "replay line"}


class Files(AmpereTest):
    def test_figures(self):
        self.output_of("profile", "lenet5", "--batch", 10, "-q", *QUICK, "--worker", scripted())
        folder = self.folder / "some" / "figures"
        done = self.json_of("report", "-o", self.folder / "r.html", "--figures", folder, "--results",
                            RESULTS / "cpu" / "cnn5-b10.json")
        drawn = sorted(folder.glob("*.svg"))
        self.assertEqual(len(drawn), done["figures"])
        self.assertEqual([p.stem for p in drawn], [p.stem for p in sorted(folder.glob("*.csv"))])
        self.assertGreater(len(drawn), 20)
        for path in drawn:
            with self.subTest(path.name):
                root = xml.etree.ElementTree.parse(path).getroot()
                self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
                self.assertEqual(root.get("width"), "900")
                marks = [e for e in root.iter() if e.tag.split("}")[1] in ("path", "rect", "circle", "polygon")]
                self.assertGreater(len(marks), 8)
                self.assertNotIn("NaN", path.read_text(encoding="utf-8"))

    def test_names_that_are_formulas_or_no_xml(self):
        formula = "=cmd|' /C calc'!A0"
        control = "\x1b[2J\0\x9b\ufffe conv"
        made = evaluation(6, ["split"])
        for i, name in enumerate([formula, control, "+1+cmd", "@SUM(A1)", "\t=1", 'a "quoted", name\nof two lines']):
            made["networks"][i]["network"] = name
        made["device"]["name"] = control
        lines = curves()
        lines["curves"][0]["network"] = formula
        lines["curves"][1]["network"] = control
        for name, content in (("made.json", made), ("lines.json", lines)):
            (self.folder / name).write_text(json.dumps(content), encoding="utf-8")
        network = {"name": control, "nodes": [
            {"name": "x", "op": "input", "shape": [1, 28, 28]}, {"name": control, "op": "flatten"},
            {"name": formula, "op": "linear", "out_features": 10}]}
        (self.folder / "net.json").write_text(json.dumps(network), encoding="utf-8")
        self.output_of("profile", "net.json", "-q", *QUICK, "--worker", scripted())
        self.output_of("report", "net.json", "-q", "-o", "r.html", "--title", control.replace("\0", ""), "--figures", "figures",
                       "--results", "made.json", "lines.json")
        cells = set()
        for path in (self.folder / "figures").iterdir():
            with self.subTest(path.name):
                if path.suffix == ".svg":
                    xml.etree.ElementTree.parse(path)
                    continue
                with open(path, encoding="utf-8", newline="") as file:
                    table = list(csv.reader(file))
                self.assertEqual({len(row) for row in table}, {len(table[0])})
                cells.update(cell for row in table for cell in row)
        risky = [cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and cell]
        for cell in risky:
            float(cell)
        self.assertLessEqual({"'" + formula, "'+1+cmd", "'@SUM(A1)", "'\t=1", 'a "quoted", name\nof two lines'}, cells)
        self.assertNotRegex((self.folder / "r.html").read_text(encoding="utf-8"), "[\x00\x1b\x9b\ufffe]")

    def test_wrong_usage(self):
        wrong = self.folder / "wrong.json"
        wrong.write_text('{"a": 1}', encoding="utf-8")
        self.assert_refused(self.run_ampere("report"), 6, "no device was profiled yet", "--results")
        self.assert_refused(self.run_ampere("report", "--results", wrong), 2, "wrong.json: not a result")
        self.assert_refused(self.run_ampere("report", "--results", self.folder / "absent"), 2, "absent")
        self.assert_refused(self.run_ampere("report", "-o", "no/such/folder/r.html"), 2, "cannot be written")
        self.assert_refused(self.run_ampere("report", "nonesuch"), 2, "nonesuch")
        self.output_of("profile", "lenet5", "--batch", 10, "-q", *QUICK, "--worker", scripted())
        self.assert_refused(self.run_ampere("report", "cnn5", "--batch", 3, "--method", "paper"), 6)
        self.assert_refused(self.run_ampere("report", "--device", "zzzz"), 2, "zzzz")
        self.assert_refused(self.run_ampere("report", "--figures", wrong), 2, "--figures")
        self.assert_refused(self.run_ampere("report", "--method", "magic"), 2, "magic")


if __name__ == "__main__":
    support.main()
