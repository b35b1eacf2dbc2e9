"""ampere fleet: many devices at the same time, one of which may die."""

import json
import shlex
import signal
import subprocess
import sys
import time
import uuid

import support
from support import HERE, QUICK, rows


def worker(*arguments):
    return shlex.join([sys.executable, str(HERE / "scripted_worker.py"), *map(str, arguments)])


class Fleet(support.AmpereTest):
    def device(self, name, *mode, kind=None):
        return {"name": name, "reach": f"env SCRIPTED_NAME='{kind or 'kind of ' + name}' NAME={shlex.quote(name)}",
                "worker": worker(*(mode or ["ok"]))}

    def fleet(self, *devices, **more):
        (self.folder / "fleet.json").write_text(json.dumps({"devices": devices, **more}))

    def named(self, told):
        return {d["name"]: d for d in told["devices"]}

    def test_what_each_device_is(self):
        self.fleet(self.device("a"), self.device("b", "cuda"), self.device("c"), at_once=2)
        told = self.named(self.json_of("fleet", "detect"))
        self.assertEqual(told["b"]["device"]["type"], "cuda")
        self.assertEqual(told["c"]["device"]["name"], "kind of c")
        self.assertEqual(len({d["device_id"] for d in told.values()}), 3)
        self.assertIn("kind of a", self.output_of("fleet", "detect"))

    def test_a_device_that_does_not_answer_is_told(self):
        self.fleet(self.device("a"), {"name": "gone", "reach": "false"}, self.device("no meter", "no-meter"))
        done = self.run_ampere("fleet", "detect", "--json")
        self.assertEqual(done.returncode, 1)
        told = self.named(json.loads(done.stdout))
        self.assertIsNone(told["a"]["error"])
        self.assertRegex(told["gone"]["error"], "worker")
        self.assertRegex(told["no meter"]["error"], "meter")
        self.assertIn("2 of 3 devices failed", done.stderr)
        self.assertIn("gone: failed: ", self.run_ampere("fleet", "detect").stdout)

    def test_profiles_of_all_and_where_to_run(self):
        self.fleet(*[self.device(n) for n in "abcdef"])
        options = ["--batch", "4", *QUICK]
        told = self.named(self.json_of("fleet", "profile", "lenet5", *options))
        self.assertEqual({d["error"] for d in told.values()}, {None})
        self.assertEqual(len({d["points_measured"] for d in told.values()}), 1)
        here = self.json_of("fleet", "estimate", "lenet5", "--batch", "4", "--samples", "1000", "--epochs", "2")
        self.assertEqual(len(here["devices"]), 6)
        self.assertTrue(here["modelled"])
        alone = self.json_of("estimate", "lenet5", "--batch", "4", "--samples", "1000", "--epochs", "2", "--device",
                             here["devices"][0]["device_id"])
        for field in ("energy_j", "energy_low_j", "energy_high_j", "time_s", "time_low_s", "time_high_s"):
            self.assertEqual(here["devices"][0][field], alone["job"][field])
        energies = [d["energy_j"] for d in here["devices"]]
        self.assertEqual(energies, sorted(energies))
        self.assertEqual(len(self.json_of("fleet", "estimate", "lenet5", "--batch", "4", "--all")["devices"]), 6)
        # Again: all is known.
        again = self.json_of("fleet", "profile", "lenet5", *options)
        self.assertEqual(sum(d["points_measured"] for d in again["devices"]), 0)
        self.fleet(self.device("a"), self.device("new"))
        text = self.output_of("fleet", "estimate", "lenet5", "--batch", "4")
        self.assertRegex(text, "new .*never reached; run: ampere fleet detect")
        self.assert_intact()

    def test_what_it_costs_where_it_stands(self):
        self.fleet({**self.device("dear"), "price": "0.90EUR/kWh", "carbon": "100g/kWh"}, self.device("usual"),
                   {**self.device("clean"), "carbon": "20 g/kWh"})
        self.output_of("fleet", "profile", "lenet5", "--batch", "4", *QUICK)
        asked = ["fleet", "estimate", "lenet5", "--batch", "4", "--samples", "1000", "--epochs", "50"]
        told = self.named(self.json_of(*asked, "--price", "0.30EUR/kWh", "--carbon", "FR"))
        for name, price, grams in (("dear", 0.9, 100), ("usual", 0.3, told["usual"]["tariff"]["carbon_g_per_kwh"]),
                                   ("clean", 0.3, 20)):
            for end in ("", "_low", "_high"):
                kwh = told[name][f"energy{end}_j"] / 3.6e6
                self.assertAlmostEqual(told[name][f"cost{end}"] / (kwh * price), 1)
                self.assertAlmostEqual(told[name][f"carbon{end}_g"] / (kwh * grams), 1)
            self.assertEqual(told[name]["currency"], "EUR")
        self.assertIn("France", told["usual"]["tariff"]["carbon_source"])
        # Prices of the file alone: who has none has no cost.
        told = self.named(self.json_of(*asked))
        self.assertIn("cost", told["dear"])
        self.assertNotIn("cost", told["usual"])
        for by, first in (("carbon", "clean"), ("cost", "usual")):
            order = self.json_of(*asked, "--price", "0.30EUR/kWh", "--carbon", "500g/kWh", "--by", by)["devices"]
            self.assertEqual(order[0]["name"], first)
            self.assertEqual(order[-1]["name"], "dear" if by == "cost" else "usual")
        text = self.output_of(*asked, "--price", "0.30EUR/kWh", env={"COLUMNS": "200"})
        self.assertRegex(text, r"cost \(95% interval\) +CO2e \(95% interval\)")
        self.assertRegex(text, r"usual .* EUR +- +modelled")
        self.assertIn("cost of a million", self.output_of(*asked[:5], "--price", "0.30/kWh", env={"COLUMNS": "60"}))
        self.assertNotIn("cost", self.output_of("fleet", "estimate", "lenet5", "--batch", "4", "--all"))
        self.assert_refused(self.run_ampere(*asked, "--price", "0.1$/kWh", "--by", "cost"), 2, "not compared")
        self.assert_refused(self.run_ampere(*asked, "--price", "cheap"), 2, "--price.*cheap")
        self.assert_refused(self.run_ampere(*asked, "--all", "--by", "carbon"), 2, "--carbon")
        self.assert_refused(self.run_ampere("fleet", "estimate", "lenet5", "--epochs", "3"), 2, "--samples")

    def test_this_machine_under_a_name(self):
        told = self.json_of("fleet", "profile", "lenet5", *QUICK, "--here", "desk", "--worker", worker("ok"))
        self.assertGreater(self.named(told)["desk"]["points_measured"], 0)
        self.fleet(self.device("desk"))
        self.assertEqual(self.json_of("fleet", "estimate", "lenet5")["devices"][0]["device"]["name"], "imaginary device")
        for wrong in (["--here", "desk", "--file", "fleet.json"], ["--worker", "true"], ["--wait"], ["--partitions", "a"]):
            self.assert_refused(self.run_ampere("fleet", "profile", "lenet5", *wrong), 2, "--here|--slurm")

    def test_devices_of_one_kind_share_a_profile(self):
        self.fleet(*[self.device(n, "slow", kind="the same") for n in "abc"])
        told = self.named(self.json_of("fleet", "profile", "lenet5", *QUICK))
        self.assertEqual(sorted(d["points_measured"] > 0 for d in told.values()), [False, False, True])
        self.assertEqual(len({d["device_id"] for d in told.values()}), 1)
        self.assertEqual(len(self.json_of("fleet", "estimate", "lenet5")["devices"]), 3)

    def test_the_devices_themselves(self):
        self.fleet(self.device("a"), self.device("b"))
        told = self.named(self.json_of("fleet", "profile", "--minutes", "0.1"))
        self.assertTrue(all(d["points_measured"] > 0 for d in told.values()), told)

    def test_one_that_dies_is_left_and_goes_on_later(self):
        self.fleet(self.device("a"), self.device("b", "dies:4+", self.folder / "count"))
        done = self.run_ampere("fleet", "profile", "lenet5", *QUICK)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"a .*done\n")
        self.assertRegex(done.stdout, r"b: failed: .*vanished")
        kept = rows(self.store, "SELECT count(*) FROM point")[0][0]
        self.fleet(self.device("a"), self.device("b"))
        told = self.named(self.json_of("fleet", "profile", "lenet5", *QUICK))
        self.assertEqual(told["a"]["points_measured"], 0)
        self.assertGreater(told["b"]["points_measured"], 0)
        self.assertGreater(told["b"]["points_known"], 0)
        self.assertGreater(rows(self.store, "SELECT count(*) FROM point")[0][0], kept)

    def test_killed(self):
        mark = "AMPERE_TEST_MARK=" + uuid.uuid4().hex
        name, value = mark.split("=")
        self.fleet(*[self.device(n, "slow", self.folder / f"count-{n}") for n in "abcd"])
        process = subprocess.Popen(self.command("fleet", "profile", "lenet5", "-q", "--points-2d", "12"),
                                   env=self.environment(**{name: value}), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not all((self.folder / f"count-{n}").exists() for n in "abcd"):
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=support.PATIENCE_S)
        self.assert_no_process_left(mark)
        self.assert_intact()
        measured = sum(int((self.folder / f"count-{n}").read_text()) for n in "abcd")
        self.assertGreaterEqual(rows(self.store, "SELECT count(*) FROM point")[0][0], measured - 4)
        self.output_of("fleet", "profile", "lenet5", "-q", "--points-2d", "12")

    def test_bad_files(self):
        self.assert_refused(self.run_ampere("fleet", "detect"), 2, r"fleet\.json")
        self.assert_refused(self.run_ampere("fleet", "estimate", "lenet5"), 2, r"fleet\.json")
        self.fleet()
        self.assert_refused(self.run_ampere("fleet", "detect"), 2, "has no devices")
        self.fleet({"name": "a"})
        self.assert_refused(self.run_ampere("fleet", "profile", "lenet5"), 2, "device 1.*reach")
        self.fleet(self.device("a"))
        self.assert_refused(self.run_ampere("fleet", "profile", "nonesuch"), 2, "nonesuch")
        self.assert_refused(self.run_ampere("fleet", "estimate", "lenet5"), 6, "ampere fleet profile lenet5 --batch 1")
        self.assert_refused(self.run_ampere("fleet", "estimate", "lenet5", "--all"), 6, "none of the 0 devices")


if __name__ == "__main__":
    support.main()
