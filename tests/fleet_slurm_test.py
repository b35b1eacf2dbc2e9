"""ampere fleet on a real Slurm cluster: one array job profiles every type of node into a store that all share."""

import re
import sys
import unittest

import postgresql_server
import slurm_cluster
import support
from support import QUICK, rows, scripted

# Each partition's nodes are a device of their own.
WORKER = 'export SCRIPTED_NAME="node of $SLURM_JOB_PARTITION"; '
PROFILE = ("fleet", "profile", "lenet5", "--batch", "10", *QUICK, "--slurm")


class OnCluster(support.AmpereTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(slurm_cluster.Cluster())

    def setUp(self):
        super().setUp()
        self.addCleanup(self.cluster.run, "scancel", "--user", "root", check=False)
        self.works = WORKER + scripted()

    def environment(self, **changes):
        return super().environment(**{"SLURM_CONF": str(self.cluster.folder / "slurm.conf"), "PATH": slurm_cluster.PATH,
                                      "AMPERE_WORKER": self.works, **changes})

    def queued(self):
        return self.cluster.run("squeue", "--noheader", "--array").stdout.splitlines()


class IntoAFile(OnCluster):
    """The nodes of this cluster are one machine, and do see one file."""

    def types(self, *arguments, **more):
        told = self.json_of(*PROFILE, "--shared-store", *arguments, **more)
        return told["job"], {t["name"]: t for t in told["types"]}

    def test_one_job_for_all_types(self):
        script = self.output_of(*PROFILE, "--shared-store", "--dry-run", "--sbatch-options", "--time 5")
        self.assertRegex(script, r"sbatch .*--array 0-1%1 ")
        self.assertIn(" --time 5 ", script)
        self.assertIn("--here \"$name\"", script)
        self.assertEqual(self.queued(), [])
        job, types = self.types("--wait")
        self.assertEqual({(t["partition"], t["state"]) for t in types.values()}, {("big", "COMPLETED"), ("small", "COMPLETED")})
        self.assertIn(types["small"]["node"], ("n3", "n4"))
        self.assertRegex((self.folder / types["big"]["log"]).read_text(), "big .*done")
        names = [name for name, in rows(self.store, "SELECT json_extract(fingerprint, '$.name') FROM device ORDER BY 1")]
        self.assertEqual(names, ["node of big", "node of small"])
        told = self.json_of("fleet", "estimate", "lenet5", "--batch", "10", "--slurm", "--price", "1EUR/kWh")["devices"]
        self.assertEqual(sorted(d["name"] for d in told), ["big", "small"])
        self.assertTrue(all(d["cost"] > 0 for d in told))
        told = self.json_of("fleet", "estimate", "lenet5", "--batch", "10", "--slurm", "--partitions", "small")
        self.assertEqual([d["name"] for d in told["devices"]], ["small"])
        # Known: nothing is submitted.
        job, types = self.types()
        self.assertIsNone(job)
        self.assertTrue(all(t["known"] and t["task"] is None for t in types.values()))
        self.assertIn("known already", self.output_of(*PROFILE, "--shared-store"))
        # Another network, or --again: it is.
        self.assertIsNotNone(self.types("--again", "--wait", "--partitions", "small")[0])
        self.assertIn("array 0-1", self.output_of("fleet", "profile", "cnn5", "--slurm", "--shared-store", "--dry-run"))
        self.assertEqual(rows(self.store, "SELECT count(*) FROM device")[0][0], 2)

    def test_what_failed_goes_on(self):
        count = self.folder / "count"
        self.works = f'{WORKER}[ $SLURM_JOB_PARTITION = small ] && {scripted("dies:4+", count)}; {scripted()}'
        done = self.run_ampere(*PROFILE, "--shared-store", "--wait")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"big .*COMPLETED")
        self.assertRegex(done.stdout, r"small .*FAILED")
        self.assertIn("1 of 2 tasks failed", done.stderr)
        kept = rows(self.store, "SELECT count(*) FROM point")[0][0]
        self.works = WORKER + scripted()
        job, types = self.types("--wait")
        self.assertTrue(types["big"]["known"])
        self.assertEqual(types["small"]["state"], "COMPLETED")
        measured, known = re.search(r" (\d+) +(\d+)  done", (self.folder / types["small"]["log"]).read_text()).groups()
        self.assertGreater(int(measured), 0)
        self.assertGreater(int(known), 0)
        self.assertGreaterEqual(rows(self.store, "SELECT count(*) FROM point")[0][0], kept + int(measured))

    def test_one_at_a_time(self):
        later = ("--sbatch-options", "--begin now+1hour")
        done = self.output_of(*PROFILE, "--shared-store", *later, env={"COLUMNS": "60"})
        job = re.search(r"squeue --job (\d+)", done)[1]
        self.assertEqual(len(self.queued()), 2)
        self.assert_refused(self.run_ampere(*PROFILE, "--shared-store"), 1, rf"job {job} is doing that already.*scancel {job}")
        self.assertEqual(len(self.queued()), 2)
        self.cluster.run("scancel", job)

    def test_refusals(self):
        refused = [
            ([], {}, 2, "each node would write one of its own.*--shared-store"),
            (["--shared-store", "--file", "fleet.json"], {}, 2, "leave --file away"),
            (["--shared-store", "--partitions", "huge"], {}, 2, r'no partition "huge" \(it has: big, small\)'),
            (["--shared-store", "--dry-run", "--wait"], {}, 2, "--dry-run"),
            (["--shared-store", "--sbatch-options", "--nonesuch"], {}, 1, "sbatch failed.*nonesuch"),
            (["--shared-store"], {"PATH": "/nonesuch"}, 1, "sinfo: there is no such program here"),
            (["--shared-store"], {"SLURM_CONF": "/nonesuch"}, 1, "sinfo failed"),
            (["--store", "postgresql://ann:geheim@db.lab/ampere"], {}, 2, r"\.pgpass"),
            (["--store", "postgresql://ann@db.nonesuch.example/lab"], {}, 1, "cannot be reached"),
        ]
        for arguments, env, code, why in refused:
            told = self.assert_refused(self.run_ampere(*PROFILE, *arguments, env=env), code, why)
            self.assertNotIn("geheim", told)
        self.assertEqual(self.queued(), [])
        # Refused between submitting and letting go: nothing is left behind.
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "scontrol").write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
        (programs / "scontrol").chmod(0o755)
        done = self.run_ampere(*PROFILE, "--shared-store", env={"PATH": f"{programs}:{slurm_cluster.PATH}"})
        self.assert_refused(done, 1, "not today")
        self.cluster.wait_until(lambda: self.queued() == [], "a held job is left")
        self.assert_refused(self.run_ampere("fleet", "estimate", "lenet5", "--slurm"), 6, "--slurm")
        self.assert_refused(self.run_ampere("fleet", "estimate", "lenet5", "--slurm", "--all"), 2, "leave one away")


class OntoAServer(OnCluster):
    @classmethod
    def setUpClass(cls):
        if not postgresql_server.is_installed() or support.PROGRAMS.get("servers") == "OFF":
            raise unittest.SkipTest("PostgreSQL is not installed here, or ampere was built without libpqxx")
        super().setUpClass()
        cls.server = cls.enterClassContext(postgresql_server.Server())

    def test_all_at_the_same_time(self):
        done = self.run_ampere(*PROFILE, "--wait", "--store", self.server.address())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("will not find it under that name", done.stderr)
        self.assertEqual(len(re.findall("COMPLETED", done.stdout)), 2, done.stdout)
        count = self.server.sql("SELECT count(DISTINCT device), count(*) - count(DISTINCT identity) FROM point")
        self.assertEqual(count, [["2", "0"]])


if __name__ == "__main__":
    if not slurm_cluster.is_installed():
        print("Slurm is not installed here (scripts/setup fleet installs it), or this is not root", file=sys.stderr)
        sys.exit(77)  # skipped
    support.main()
