#!/usr/bin/python3
"""ampere schedule and ampere estimate --battery as users meet them: files, exit codes, refusals, the published schema.

    tests/schedule_script_test.py ampere=build/bin/ampere
"""

import copy
import json
import pathlib
import subprocess
import sys

import jsonschema

import support
from support import AmpereTest, QUICK, scripted

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "docs" / "jobs.schema.json").read_text(encoding="utf-8"))
COST = {"energy": "4Wh", "energy_deviation": "0.3Wh", "time": "1h", "time_deviation": "2min"}


def phone(name, **more):
    return {"name": name, "battery": {"capacity": "15Wh", "charge": "10Wh", "reserve": "2Wh"}, **more}


def job(name, **more):
    return {"name": name, "cost": COST, **more}


GOOD = {"schema_version": 1, "devices": [phone("anna"), phone("ben", charger={"power": "10W", "plugged": [["1h", "3h"]]},
                                                             available=[["0h", "4h"], ["5h", "never"]],
                                                             background_power="100mW")],
        "jobs": [job("first", value=2, deadline="5h"), job("second", depends_on=["first"], earliest="30min"),
                 {"name": "third", "costs": {"anna": COST}, "devices": ["anna"]}]}


def changed(path, value):
    """GOOD with one value replaced, or left out when it is None."""
    made = copy.deepcopy(GOOD)
    at = made
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return made


# What is changed, what the message must say, and whether the schema sees it too.
BAD = [
    (["devices"], [], r'"devices" is empty', True),
    (["devices"], None, r'"devices" is missing', True),
    (["jobs"], 3, r'"jobs" must be a list', True),
    (["schema_version"], 2, r"schema_version must be 1", True),
    (["colour"], 3, r'unknown field "colour"', True),
    (["devices", 0, "name"], "ben", r'device "ben" is there twice', False),
    (["devices", 0, "name"], "", r"device 1 has no name", True),
    (["devices", 0, "battery", "charge"], "-3Wh", r'device "anna".*charge: "-3Wh" must not be negative', True),
    (["devices", 0, "battery", "charge"], "16Wh", r'device "anna": the battery\'s charge must lie', False),
    (["devices", 0, "battery", "capacity"], "0Wh", r"capacity must be positive", False),
    (["devices", 0, "battery", "reserve"], "99Wh", r"reserve must lie", False),
    (["devices", 0, "battery", "charge"], 10, r'"charge" must be text, found 10', True),
    (["devices", 0, "battery", "charge"], "nanWh", r'"nanWh" cannot be read', True),
    (["devices", 0, "battery", "charge"], "10", r'"10" has no unit', True),
    (["devices", 0, "battery", "volts"], "3V", r'unknown field "volts"', True),
    (["devices", 1, "charger", "power"], "10Wh", r"write a power", True),
    (["devices", 1, "charger", "plugged"], [["3h", "1h"]], r"must end after it starts", False),
    (["devices", 1, "available"], [["3h"]], r"a window is a pair", True),
    (["devices", 1, "available"], [["0h", "4h"], ["3h", "5h"]], r"must not overlap", False),
    (["devices", 1, "available"], [], r"never available", False),
    (["jobs", 0, "name"], "second", r'job "second" is there twice', False),
    (["jobs", 0, "name"], None, r'job 1: field "name" is missing', True),
    (["jobs", 0, "value"], -1, r"value must be finite and not negative", True),
    (["jobs", 0, "value"], 1e25, r'job "\w+": the value must be at most 1e9', True),
    (["jobs", 0, "value"], "much", r'"value" must be a number', True),
    (["jobs", 0, "deadline"], "0h", r"deadline must lie after", False),
    (["jobs", 0, "deadline"], "1e300h", r'job "first": the deadline must be at most 36500d', False),
    (["jobs", 0, "earliest"], "1e300h", r'job "first": the earliest start must be at most', False),
    (["jobs", 0, "cost", "time"], "1e300h", r'job "first": the time on device "anna" must be at most', False),
    (["jobs", 0, "cost", "time"], "1e-300s", r'job "first": must have|the time on device', False),
    (["jobs", 0, "cost", "energy"], "1e300J", r'job "first": the energy on device "anna" must be at most', False),
    (["jobs", 2, "costs"], {"anna": {"energy": "1e13kWh", "time": "1h"}},
     r'job "third": the energy on device "anna" must be', False),
    (["devices", 0, "battery", "capacity"], "1e300Wh", r'device "anna": the battery.s capacity must be at most', False),
    (["devices", 1, "charger", "power"], "1e300W", r'device "ben": the charger.s power must be at most', False),
    (["devices", 1, "background_power"], "1e300W", r'device "ben": the background power must be at most', False),
    (["devices", 1, "available"], [["0h", "1e300h"]], r'device "ben": available: the end of a window', False),
    (["jobs", 0, "deadline"], "soon", r'deadline: "soon" cannot be read', True),
    (["jobs", 0, "cost"], None, r"exactly one of", True),
    (["jobs", 0, "network"], "lenet5", r"exactly one of", True),
    (["jobs", 0, "epochs"], 3, r'"epochs" goes with "network" only', True),
    (["jobs", 0, "cost"], {"energy": "1J", "time": "0s"}, r"must take some time", False),
    (["jobs", 0, "cost", "energy"], "0J", r"a cost of nothing has no deviation", False),
    (["jobs", 0, "cost", "energy_deviation"], "1e9Wh", r"factor of 400", False),
    (["jobs", 0, "depends_on"], ["fourth"], r'depends on "fourth", which is not there', False),
    (["jobs", 0, "depends_on"], ["second"], r'in a circle: "first" needs "second" needs "first"', False),
    (["jobs", 0, "depends_on"], ["first"], r'"first" needs "first"', False),
    (["jobs", 0, "depends_on"], [3], r"must be a list of names", True),
    (["jobs", 0, "devices"], ["carl"], r'there is no device "carl"', False),
    (["jobs", 2, "costs"], {"carl": COST}, r'there is no device "carl"', False),
]


class Schedule(AmpereTest):
    def file(self, content, name="jobs.json"):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def plan(self, content, *arguments, code=0):
        done = self.run_ampere("schedule", self.file(content), "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        plan = json.loads(done.stdout)
        self.assertEqual(plan["schema_version"], 1)
        return plan

    def test_plans_all(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.validate(GOOD, SCHEMA)
        plan = self.plan(GOOD, "--simulate", "2000")
        self.assertTrue(plan["optimal"])
        self.assertEqual((plan["value"], plan["refused"]), (4, []))
        jobs = {j["name"]: j for j in plan["jobs"]}
        self.assertGreaterEqual(jobs["second"]["start_s"], jobs["first"]["end_s"])
        self.assertEqual(jobs["third"]["device"], "anna")
        self.assertGreater(jobs["first"]["energy_set_aside_j"], jobs["first"]["energy_j"])
        for device in plan["devices"]:
            self.assertGreaterEqual(device["battery_lowest_j"], device["battery_reserve_j"])
            self.assertLessEqual(device["battery_failed_share"], 0.05)
        self.assertLessEqual(plan["simulation"]["worst_late_share"], 0.05)

    def test_refuses_with_figures(self):
        content = copy.deepcopy(GOOD)
        content["jobs"] += [job("huge", cost={**COST, "energy": "30Wh"}), job("late", deadline="30min"),
                            job("child", depends_on=["huge"]), {"name": "lost", "costs": {}}]
        plan = self.plan(content, code=6)
        reasons = {r["name"]: (r["reason"], r["text"]) for r in plan["refused"]}
        self.assertEqual({k: v[0] for k, v in reasons.items()},
                         {"huge": "battery", "late": "deadline", "child": "dependency", "lost": "not_profiled"})
        self.assertRegex(reasons["huge"][1], r"battery short by [\d.]+ Wh on \w+, the nearest of 2 devices: it needs")
        self.assertRegex(reasons["late"][1], r"deadline missed by [\d.]+ min")
        content["jobs"].pop()
        self.assertEqual(self.plan(content, code=4)["value"], 4)
        text = self.run_ampere("schedule", self.folder / "jobs.json").stdout
        self.assertRegex(text, r"3 of 6 jobs planned")
        self.assertRegex(text, r"\nrefused\nhuge: battery short")

    def test_more_risk_more_value(self):
        content = {"devices": [{"name": "a", "battery": {"capacity": "12.4Wh", "charge": "12.4Wh"}}],
                   "jobs": [job(f"j{i}", kind="same") for i in range(3)]}
        self.assertEqual(self.plan(content, "--risk", "1%", code=4)["value"], 2)
        self.assertEqual(self.plan(content, "--risk", "40%")["value"], 3)

    def test_jointly(self):
        made = subprocess.run([sys.executable, ROOT / "tools" / "make_jobs", "--jobs", "60", "--devices", "8", "--load", "3"],
                              capture_output=True, text=True, check=True).stdout
        each, together = (self.plan(made, "--simulate", "5000", *more, code=4) for more in ([], ["--jointly"]))
        self.assertTrue(each["holds"] and together["holds"] and together["jointly"])
        self.assertGreater(each["simulation"]["any_failed_share"], 0.05)
        self.assertLessEqual(together["simulation"]["any_failed_share"], 0.05)
        self.assertLess(together["value"], each["value"])

    def test_bad_files(self):
        validator = jsonschema.Draft202012Validator(SCHEMA)
        for path, value, says, seen in BAD:
            with self.subTest(path=path, value=value):
                content = changed(path, value)
                done = self.run_ampere("schedule", self.file(content))
                self.assertIn("jobs.json: ", self.assert_refused(done, 2, says))
                self.assertEqual(validator.is_valid(content), not seen)
        for text, says in [("", "empty"), ("{", "not valid JSON"), ("[" * 1000, "nested deeper|not valid JSON"),
                           ('{"devices": [{"name": NaN}]}', "not valid JSON"), ("7", "expected a JSON object"),
                           (json.dumps(GOOD).replace('"value": 2', '"value": 1e999'), "not valid JSON|out of range")]:
            with self.subTest(text[:40]):
                self.assert_refused(self.run_ampere("schedule", self.file(text)), 2, says)
        many = {"devices": [{"name": f"d{i}"} for i in range(3000)],
                "jobs": [{"name": f"j{i}", "costs": {}} for i in range(3000)]}
        self.assert_refused(self.run_ampere("schedule", self.file(many)), 2, r"more than 5 million pairs")

    def test_figures_that_a_solver_cannot_take(self):
        """As long as they were not bounded, these ended in an abort of the solver and in a plan that was none."""
        cost = {"energy": "1Wh", "time": "1h"}
        for change, says in [({"value": 1e25}, r'job "photos": the value must be at most 1e9'),
                             ({"cost": {**cost, "time": "1e300h"}}, r'job "photos": the time on device "tablet" must be')]:
            for solver in ("auto", "exact", "heuristic"):
                with self.subTest(change, solver=solver):
                    content = {"devices": [{"name": "tablet"}], "jobs": [{"name": "photos", "cost": cost, **change}]}
                    self.assert_refused(self.run_ampere("schedule", self.file(content), "--solver", solver), 2, says)

    def test_the_largest_and_smallest_figures(self):
        for energy, time, value in [("1e15J", "36500d", 1e9), ("0J", "1e-3ms", 0), ("1e-30J", "1e-3ms", 1e-30)]:
            with self.subTest(energy=energy):
                content = {"devices": [{"name": "tablet"}, phone("anna")], "jobs": [
                    {"name": "odd", "cost": {"energy": energy, "time": time}, "value": value}, job("usual", value=0.3)]}
                jsonschema.validate(content, SCHEMA)
                for solver in ("exact", "heuristic"):
                    self.assertGreaterEqual(self.plan(content, "--solver", solver)["value"], 0.3)

    def test_an_estimate_beyond_the_bounds(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        device = self.json_of("store", "list")["devices"][0]["id"]
        content = {"devices": [phone("here", profile=device)], "jobs": [
            {"name": "all", "network": "lenet5", "batch": 10, "samples": 10**12, "epochs": 10**9}]}
        self.assert_refused(self.run_ampere("schedule", self.file(content)), 2, r'job "all": the \w+ on device "here" must be')

    def test_bad_usage(self):
        good = self.file(GOOD)
        for arguments, says in [(["--risk", "0"], r"--risk.*between 0.01% and 50%"), (["--risk", "often"], r"--risk"),
                                (["--correlation", "2"], r"--correlation"), (["--solver", "magic"], r"--solver"),
                                (["--simulate", "0"], r"--simulate")]:
            with self.subTest(arguments):
                self.assert_refused(self.run_ampere("schedule", good, *arguments), 2, says)
        self.assert_refused(self.run_ampere("schedule", "nothing.json"), 2, "cannot be opened")
        many = self.file({"devices": [phone("a")], "jobs": [job(f"j{i}") for i in range(25)]}, "many.json")
        self.assert_refused(self.run_ampere("schedule", many, "--compare"), 2, "exact solver takes at most 24 jobs")

    def test_networks_by_their_profiles(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        device = self.json_of("store", "list")["devices"][0]["id"]
        train = {"network": "lenet5", "batch": 10, "samples": 1000, "epochs": 2}
        content = {"devices": [phone("here", profile=device[:6]), phone("there")],
                   "jobs": [{"name": "a", **train}, {"name": "b", **train, "deadline": "1s"}]}
        jsonschema.validate(content, SCHEMA)
        plan = self.plan(content, code=4)
        whole = self.json_of("estimate", "lenet5", "--batch", "10", "--samples", "1000", "--epochs", "2")["job"]
        planned = plan["jobs"][0]
        self.assertEqual((planned["name"], planned["device"], plan["modelled"]), ("a", "here", True))
        self.assertLess(whole["energy_j"], planned["energy_set_aside_j"])
        self.assertLess(planned["energy_set_aside_j"], whole["energy_high_j"])
        self.assertEqual(plan["refused"][0]["reason"], "deadline")

        content["jobs"][1] = {"name": "b", **train, "network": "har"}  # nobody measured it, but others tell it
        self.assertEqual({job["name"] for job in self.plan(content)["jobs"]}, {"a", "b"})
        content["jobs"][1]["recipe"] = {"precision": "bf16"}
        self.assertEqual(self.plan(content, code=6)["refused"][0]["text"],
                         "not profiled on here; no profile is given on there")
        self.assertRegex(self.run_ampere("schedule", self.folder / "jobs.json").stdout, r"ampere profile har --batch 10")
        for change, says in [({"network": "lenet6"}, r'job "b": no network is called "lenet6"'),
                             ({"method": "magic"}, r'job "b": no method is called "magic"'),
                             ({"recipe": {"optimizer": "lion"}}, r'unknown "lion" \(known: sgd'),
                             ({"batch": 0}, r"batch must lie between"), ({"samples": -5}, r"samples must lie between"),
                             ({"network": "missing.json"}, r"missing.json: cannot be opened")]:
            with self.subTest(change):
                content["jobs"][1] = {"name": "b", **train, **change}
                self.assert_refused(self.run_ampere("schedule", self.file(content)), 2, says)
        content["jobs"].pop()
        content["devices"][0]["profile"] = "ffffffff"
        self.assert_refused(self.run_ampere("schedule", self.file(content)), 2, "no device in .* has the id ffffffff")
        content["devices"][0] = phone("here", profile=device, store="other.db")
        self.assert_refused(self.run_ampere("schedule", self.file(content)), 2, "other.db: there is no such store")

    def test_a_large_fleet_holds_at_the_risk(self):
        made = subprocess.run([sys.executable, ROOT / "tools" / "make_jobs", "--jobs", "400", "--devices", "25", "--load", "3"],
                              capture_output=True, text=True, check=True).stdout
        jsonschema.validate(json.loads(made)["devices"][0], {**SCHEMA["$defs"]["device"], "$defs": SCHEMA["$defs"]})
        plan = self.plan(made, "--simulate", "10000", code=4)
        self.assertEqual(plan["solver"], "heuristic")
        self.assertLessEqual(plan["simulation"]["worst_battery_failed_share"], 0.05)
        self.assertLessEqual(plan["simulation"]["worst_late_share"], 0.05)

    def test_compares_with_the_exact_solver(self):
        made = subprocess.run([sys.executable, ROOT / "tools" / "make_jobs", "--jobs", "8", "--devices", "2", "--load", "3"],
                              capture_output=True, text=True, check=True).stdout
        plan = self.plan(made, "--compare", code=4)
        self.assertEqual((plan["solver"], plan["optimal"]), ("exact", True))
        self.assertLess(plan["heuristic"]["gap"], 0.3)


class Battery(AmpereTest):
    def setUp(self):
        super().setUp()
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())

    def ask(self, *arguments):
        return self.run_ampere("estimate", "lenet5", "--batch", "10", "--samples", "1000", *arguments)

    def test_yes_and_no(self):
        job_j = self.json_of("estimate", "lenet5", "--batch", "10", "--samples", "1000")["job"]
        for factor, code in ((20, 0), (0.05, 4)):
            done = self.ask("--battery", f"{factor * job_j['energy_j']}J", "--json")
            battery = json.loads(done.stdout)["battery"]
            self.assertEqual((done.returncode, done.stderr, battery["fits"]), (code, "", code == 0))
            self.assertEqual(battery["margin_j"] > 0, code == 0)
            self.assertEqual(battery["probability"] >= 0.95, code == 0)
            self.assertAlmostEqual(battery["energy_j"] - battery["needed_j"], battery["margin_j"])
        self.assertRegex(self.ask("--battery", "1mJ").stdout, r"(?s)battery of 1mJ: the job does not fit\. .* more than")
        self.assertRegex(self.ask("--battery", "5000mAh@3.85V").stdout, r"the job fits\. ")

    def test_risk_counts(self):
        job_j = self.json_of("estimate", "lenet5", "--batch", "10", "--samples", "1000")["job"]
        between = f"{(job_j['energy_j'] + job_j['energy_high_j']) / 2}J"
        self.assertEqual(self.ask("--battery", between, "--risk", "1%").returncode, 4)
        self.assertEqual(self.ask("--battery", between, "--risk", "45%").returncode, 0)

    def test_bad_batteries(self):
        for text, says in [("-3Wh", "must not be negative"), ("15", "has no unit"), ("15W", "write an energy"),
                           ("5000mAh", "at a voltage"), ("nanJ", "cannot be read")]:
            self.assert_refused(self.ask(f"--battery={text}"), 2, "--battery: ", says)
        self.assert_refused(self.ask("--battery", "3Wh", "--risk", "70%"), 2, "--risk")
        self.assert_refused(self.run_ampere("estimate", "lenet5", "--battery", "3Wh"), 2, "--samples N --epochs N")


if __name__ == "__main__":
    support.main()
