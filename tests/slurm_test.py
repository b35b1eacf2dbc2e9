"""Jobs of a real Slurm cluster, placed by joules."""

import json
import math
import sqlite3
import statistics
import sys
import time

import slurm_cluster
import support
from support import QUICK, scripted

JOBS = 100


class Placed(support.AmpereTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(slurm_cluster.Cluster())

    def setUp(self):
        super().setUp()
        self.conf = str(self.cluster.folder / "slurm.conf")
        self.table = self.cluster.folder / "ampere_table.tsv"

    def environment(self, **changes):
        return super().environment(**{"SLURM_CONF": self.conf, "PATH": slurm_cluster.PATH, **changes})

    def profiled(self):
        """`big` takes twice the joules of `small`, and half of the time."""
        fleet = {"devices": [{"name": n, "reach": f"env SCRIPTED_NAME={n}", "worker": scripted().removeprefix("exec ")}
                             for n in ("big-node", "small-node")]}
        (self.folder / "fleet.json").write_text(json.dumps(fleet))
        self.output_of("fleet", "profile", "lenet5", "cnn5", "--batch", "10", *QUICK)
        with sqlite3.connect(self.store) as db:
            for row, name, text in db.execute("SELECT point.id, device.fingerprint, measurement FROM point "
                                              "JOIN device ON device.id = point.device").fetchall():
                measured = json.loads(text)
                energy, times = (2, 1) if "big-node" in name else (1, 2)
                measured["energy_j"] *= energy
                measured["time_s"] *= times
                db.execute("UPDATE point SET measurement = ? WHERE id = ?", (json.dumps(measured), row))
        db.close()
        file = {"partitions": {"big": "big-node", "small": "small-node"},
                "models": [{"model": "lenet5", "batch": 10}, {"name": "fives", "model": "cnn5", "batch": 10}]}
        (self.folder / "slurm.json").write_text(json.dumps(file))

    def installed(self):
        self.profiled()
        self.output_of("slurm", "install")
        told = self.json_of("slurm", "refresh")
        self.cluster.restart_controller(script=True)
        return {(r["name"], r["partition"]): r for r in told["rows"]}

    def submit_all(self, options):
        """How long the controller took for each, in milliseconds, and the jobs' ids."""
        took, ids = [], []
        for one in options:
            began = time.monotonic()
            ids.append(self.cluster.submit(*one))
            took.append(1000 * (time.monotonic() - began))
        return took, ids

    def test_a_hundred_jobs(self):
        plain, _ = self.submit_all([["--comment", "ampere:lenet5,batch=10,samples=1000"]] * JOBS)
        rows = self.installed()
        jobs, expected = [], []
        for n in range(JOBS):
            name = ["lenet5", "fives"][n % 2]
            iterations = 100 * (1 + n % 3)
            comment = f"ampere:{name},batch=10,samples={1000 * (1 + n % 3)},epochs=1"
            hurry = n % 5 == 0  # only the quick partition keeps that deadline
            if hurry:
                between = (rows[name, "small"]["time_high_s"] + rows[name, "big"]["time_high_s"]) / 2
                comment += f",deadline={between * iterations:.9f}"
            jobs.append(["--comment", comment, *(["-p", "small,big"] if hurry else [])])
            expected.append((name, "big" if hurry else "small", iterations))
        with_script, ids = self.submit_all(jobs)
        for number, (name, partition, iterations) in zip(ids, expected):
            job = self.cluster.job(number)
            self.assertEqual(job["Partition"], partition, job)
            said = dict(w.split("=") for w in job["AdminComment"].split(",")[1:])
            self.assertAlmostEqual(float(said["joules"]) / (rows[name, partition]["energy_j"] * iterations), 1, places=4)
            minutes = math.ceil(2 * rows[name, partition]["time_high_s"] * iterations / 60) + 10
            self.assertEqual(job["TimeLimit"], f"00:{minutes:02}:00")
        print(f"{JOBS} jobs: sbatch takes {statistics.median(plain):.1f} ms without the script, "
              f"{statistics.median(with_script):.1f} ms with it (medians)", file=sys.stderr)
        self.cluster.wait_until(
            lambda: all(j["state"] == "COMPLETED" for j in self.json_of("slurm", "report")["jobs"]), "jobs do not end")
        told = self.json_of("slurm", "report")["jobs"]
        self.assertEqual([j["job"] for j in told], ids)
        self.assertEqual({j["partition"] == j["predicted_partition"] for j in told}, {True})
        self.assertTrue(all(j["time_s"] is not None for j in told))
        # Metered in the job, each rank once.
        metered = self.folder / "metered"
        metered.mkdir()
        number = self.cluster.submit(
            "-N", "2", "--ntasks-per-node", "2", "--comment", "ampere:lenet5,batch=10,samples=100", "-o", f"{metered}.out",
            script=f"srun sh -c '{support.PROGRAMS['ampere']} measure --json -- sleep 0.1 > {metered}/$SLURM_JOB_ID.$SLURM_NODEID.$SLURM_PROCID.json'")
        ends = ("COMPLETED", "FAILED")
        self.cluster.wait_until(lambda: self.cluster.job(number)["JobState"] in ends, "the metered job")
        self.assertEqual(self.cluster.job(number)["JobState"], "COMPLETED", metered.with_suffix(".out").read_text())
        told = {j["job"]: j for j in self.json_of("slurm", "report", "--measured", metered)["jobs"]}
        files = [json.loads(f.read_text())["energy_j"] for f in metered.iterdir()]
        self.assertEqual(len(files), 4)
        self.assertAlmostEqual(told[number]["energy_j"], sum(files))
        self.assertIsNone(told[ids[0]]["energy_j"])
        # A meter of the machine, which all ranks of a node read.
        for n, file in enumerate(sorted(metered.iterdir())):
            file.write_text(json.dumps({"energy_j": 5 + 0.001 * n, "meter": "rapl", "scope": "package"}))
        told = {j["job"]: j for j in self.json_of("slurm", "report", "--measured", metered)["jobs"]}
        self.assertAlmostEqual(told[number]["energy_j"], 10, places=1)

    def test_what_it_will_cost(self):
        self.installed()
        comment = "ampere:lenet5,batch=10,samples=1000"
        self.assertNotIn("cost=", self.cluster.job(self.cluster.submit("--comment", comment))["AdminComment"])
        file = json.loads((self.folder / "slurm.json").read_text())
        (self.folder / "slurm.json").write_text(json.dumps({**file, "price": "0.30EUR/kWh", "carbon": "100g/kWh"}))
        self.assertEqual(self.json_of("slurm", "refresh")["tariff"]["currency"], "EUR")
        priced = self.cluster.submit("--comment", comment)
        told = self.json_of("slurm", "refresh", "--price", "9/kWh")
        dearer = self.cluster.submit("--comment", comment)
        jobs = {j["job"]: j for j in self.json_of("slurm", "report")["jobs"]}
        for number, price, currency in ((priced, 0.3, "EUR"), (dearer, 9, "")):
            job = jobs[number]
            for end in ("", "_low", "_high"):
                kwh = job[f"predicted_energy{end}_j"] / 3.6e6
                self.assertAlmostEqual(job[f"predicted_cost{end}"] / (price * kwh), 1, places=4)
                self.assertAlmostEqual(job[f"predicted_carbon{end}_g"] / (100 * kwh), 1, places=4)
            self.assertEqual(job["currency"], currency)
        self.assertEqual(told["tariff"]["price_per_kwh"], 9)
        self.assertRegex(self.output_of("slurm", "report", env={"COLUMNS": "200"}), r"predicted cost +predicted CO2e")
        self.assertRegex(self.output_of("slurm", "refresh"), r"0\.3 EUR per kWh")
        # What Slurm has metered, as sacct printed it on a cluster with an energy plugin and slurmdbd; none is here.
        recorded = self.folder / "accounted"
        recorded.write_text(f"{priced}|9||||\n{priced}|3000|2026-11-17T10:00:00|2026-11-17T10:10:00|n1\n"
                            f"{priced}.batch|1000|2026-11-17T10:00:00|2026-11-17T10:10:00|n1\n"
                            f"{priced}.0|900|2026-11-17T10:00:01|2026-11-17T10:09:59|n1\n")
        jobs = {j["job"]: j for j in self.json_of("slurm", "report", "--accounting", recorded)["jobs"]}
        self.assertEqual((jobs[priced]["energy_j"], jobs[priced]["measured_by"]), (1000, "slurm"))
        self.assertIsNone(jobs[dearer]["energy_j"])
        self.assertRegex(self.output_of("slurm", "report", "--accounting", recorded), r"1\.00 kJ \(Slurm\)")
        metered = self.folder / "metered"
        metered.mkdir()
        (metered / f"{priced}.0.0.json").write_text('{"energy_j": 5, "meter": "rapl", "scope": "package"}')
        jobs = {j["job"]: j for j in self.json_of("slurm", "report", "--accounting", recorded, "--measured", metered)["jobs"]}
        self.assertEqual((jobs[priced]["energy_j"], jobs[priced]["measured_by"]), (5, "ampere"))
        (self.folder / "slurm.json").write_text(json.dumps({**file, "price": "cheap"}))
        self.assert_refused(self.run_ampere("slurm", "refresh"), 2, r"slurm\.json.*cheap")

    def test_what_the_user_says_stays(self):
        self.installed()
        job = self.cluster.job(self.cluster.submit("-p", "big", "-t", "7", "--comment", "ampere:lenet5,batch=10,samples=100"))
        self.assertEqual((job["Partition"], job["TimeLimit"]), ("big", "00:07:00"))
        self.assertIn("partition=big", job["AdminComment"])
        job = self.cluster.job(self.cluster.submit("-p", "big,small", "--comment", "ampere:lenet5,batch=10,samples=100"))
        self.assertEqual(job["Partition"], "small")
        # No partition is quick enough: left as it is, and told.
        job = self.cluster.job(self.cluster.submit("--comment", "ampere:lenet5,batch=10,samples=1000,deadline=1e-9"))
        self.assertEqual(job["Partition"], "big")
        self.assertIn(job["TimeLimit"], ("UNLIMITED", "365-00:00:00"))
        self.assertIn("AdminComment", job)
        # Longer than the partition lets anything run: its limit is the job's, and nothing is refused.
        job = self.cluster.job(self.cluster.submit("-p", "small", "--comment", "ampere:lenet5,batch=10,samples=1e12"))
        self.assertEqual(job["TimeLimit"], "02:00:00")

    def test_comments_as_people_write_them(self):
        self.installed()
        for comment in ("ampere:lenet5,samples=1000", "ampere: lenet5, batch=10, samples=1000, deadline=2h"):
            self.assertEqual(self.cluster.job(self.cluster.submit("--comment", comment))["Partition"], "small")
        for comment, why in (("ampere:lenet5,bach=10,samples=5", "there is no bach="), ("ampere:lenet5,batch=10", "samples= is missing"),
                             ("ampere:lenet5,samples=5,deadline=soon", "deadline=soon cannot be read"),
                             ("ampere:lenet5,batch=64,samples=5", "lenet5 is not known at batch 64"),
                             ("ampere:nonesuch,samples=5", "nothing is known of a network nonesuch")):
            done = self.cluster.run("sbatch", "-o", "/dev/null", "--comment", comment, "--wrap", "true")
            self.assertIn(f"not placed by joules: {why}", done.stderr)

    def test_nothing_that_is_broken_harms_a_job(self):
        self.installed()
        comment = "ampere:lenet5,batch=10,samples=1000"

        def unharmed(*options):
            job = self.cluster.job(self.cluster.submit(*options))
            self.assertEqual(job["Partition"], "big")
            self.assertNotIn("AdminComment", job)

        for odd in ("", "hello", "ampere:", "ampere:,,,", "ampere:lenet5", "ampere:lenet5,batch=x,samples=y",
                    "ampere:nonesuch,batch=10,samples=5", "ampere:lenet5,batch=0,samples=5", "ampere:lenet5,batch=10,samples=-5",
                    "ampere:%s%d%n,batch=10,samples=5", "ampere:" + "x" * 900):
            unharmed("--comment", odd)
        unharmed()
        good = self.table.read_text()
        for broken in ("", "\n\n\t\t\n", "lenet5\t10\n", "lenet5\t10\tsmall\tx\ty\tz\tu\tv\n", "\x00\xff" * 1000,
                       good.replace("small", "elsewhere").replace("big", "nowhere")):
            self.table.write_text(broken)
            unharmed("--comment", comment)
        self.table.unlink()
        unharmed("--comment", comment)
        self.table.mkdir()
        unharmed("--comment", comment)
        self.table.rmdir()
        # With the table back, all is as before, without a restart.
        self.table.write_text(good)
        self.assertEqual(self.cluster.job(self.cluster.submit("--comment", comment))["Partition"], "small")

    def test_a_plan_becomes_jobs(self):
        cost = {"energy": "1J", "time": "1s"}
        (self.folder / "jobs.json").write_text(json.dumps({
            "devices": [{"name": "big"}, {"name": "small"}],
            "jobs": [{"name": "the first's", "cost": cost, "devices": ["small"]},
                     {"name": "second", "cost": cost, "devices": ["big"], "depends_on": ["the first's"]},
                     {"name": "third", "cost": cost, "devices": ["big"]}]}))
        done = self.folder / "done"
        script = self.folder / "submit.sh"
        script.write_text(self.output_of("schedule", "jobs.json", "--slurm", f"echo {{job}} >> {done}"))
        self.cluster.run("sh", script)
        self.cluster.wait_until(lambda: done.exists() and len(done.read_text().splitlines()) == 3, "the plan's jobs")
        order = done.read_text().splitlines()
        self.assertEqual(sorted(order), ["second", "the first's", "third"])
        self.assertLess(order.index("the first's"), order.index("second"))
        self.assert_refused(self.run_ampere("schedule", "jobs.json", "--slurm", "true", "--json"), 2, "--json")

    def test_refusals(self):
        other = self.folder / "other"
        self.assert_refused(self.run_ampere("slurm", "install", "--folder", other), 2, "no such folder")
        other.mkdir()
        self.assert_refused(self.run_ampere("slurm", "install", "--folder", other), 2, r"no slurm\.conf is there")
        (other / "slurm.conf").touch()
        (other / "job_submit.lua").write_text("function slurm_job_submit() return 0 end\n")
        self.assert_refused(self.run_ampere("slurm", "install", "--folder", other), 2, "somebody else")
        (other / "job_submit.lua").unlink()
        for _ in range(2):
            self.output_of("slurm", "install", "--folder", other)
        self.assert_refused(self.run_ampere("slurm", "refresh", "--folder", other), 2, r"slurm\.json")
        (self.folder / "slurm.json").write_text('{"partitions": {"a": "nonesuch"}, "models": [{"model": "lenet5"}]}')
        self.assert_refused(self.run_ampere("slurm", "refresh", "--folder", other), 2, 'slurm.json: partition a: "nonesuch" is no name')
        self.assert_refused(self.run_ampere("slurm", "report", "--from", other / "no"), 2, "no such file")
        self.assert_refused(self.run_ampere("slurm", "report", env={"PATH": "/nonesuch"}), 1, "scontrol")


if __name__ == "__main__":
    if not slurm_cluster.is_installed():
        print("Slurm is not installed here (scripts/setup fleet installs it), or this is not root", file=sys.stderr)
        sys.exit(77)  # skipped
    support.main()
