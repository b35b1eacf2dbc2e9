"""A store on a PostgreSQL server: what one machine does with it, and what fifty do at once."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import support
from postgresql_server import Server, is_installed
from support import PATIENCE_S, QUICK, scripted

SEED = int(os.environ.get("AMPERE_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
PROCESSES = 50
KILLED = 10
POINTS = ["--points-1d", "8", "--points-2d", "20", "--checks", "3", "--deviation", "0.001"]


class OnServer(support.AmpereTest):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server())

    def setUp(self):
        super().setUp()
        self.server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        self.address = self.server.address()

    def environment(self, **changes):
        return {**super().environment(), "AMPERE_STORE": self.address, **changes}

    def points(self):
        return int(self.server.sql("SELECT count(*) FROM point")[0][0])

    def start(self, number, worker, *arguments, name=None, **env):
        count = self.folder / f"count-{number}"
        return subprocess.Popen(
            self.command("profile", "lenet5", "--batch", "10", "-q", *arguments, "--worker", scripted(worker, count)),
            env=self.environment(SCRIPTED_NAME=name or f"device {number}", **env), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")

    def measured(self, number):
        count = self.folder / f"count-{number}"
        return int(count.read_text() or 0) if count.exists() else 0


class OneMachine(OnServer):
    def test_it_tells_what_a_file_tells(self):
        for store in (self.address, self.folder / "file.db"):
            self.output_of("profile", "lenet5", "--batch", "4", *QUICK, "--worker", scripted(), "--store", store)
        asked = ("estimate", "lenet5:c1=3", "--batch", "4")
        here, there = self.json_of(*asked), self.json_of(*asked, "--store", self.folder / "file.db")
        self.assertEqual(here, there)
        self.assertIn("imaginary device", self.output_of("store", "list"))
        self.assertIn("all is well", self.output_of("store", "check"))
        page = self.folder / "page.html"
        self.assertGreater(self.json_of("report", "-o", page)["surfaces"], 2)
        # There and back.
        merged = self.json_of("store", "merge", self.address, "--store", self.folder / "copy.db")
        self.assertEqual(merged["points_added"], self.points())
        self.assertEqual(self.json_of("store", "merge", self.folder / "copy.db")["points_added"], 0)
        self.output_of("profile", "lenet5", "--batch", "8", *QUICK, "--worker", scripted(), "--store", self.folder / "more.db")
        self.assertGreater(self.json_of("store", "merge", self.folder / "more.db")["points_added"], 0)
        # Again: nothing is measured twice.
        again = self.json_of("profile", "lenet5", "--batch", "4", *QUICK, "--worker", scripted())
        self.assertEqual(again["methods"]["split"]["points_measured"], 0)

    def test_passwords_stay_in_their_files(self):
        locked = f"postgresql://locked@127.0.0.1:{self.server.port}/test"
        asked = ("store", "list", "--store")
        told = self.assert_refused(self.run_ampere(*asked, locked), 2, "PGPASSFILE")
        self.assertNotIn("geheim", told)
        wrong = locked.replace("locked@", "locked:falsch@")
        self.assertNotIn("falsch", self.assert_refused(self.run_ampere(*asked, wrong), 2, "password authentication failed"))
        secrets = self.folder / "secrets"
        secrets.write_text("127.0.0.1:*:*:locked:geheim\n")
        secrets.chmod(0o600)
        env = {"PGPASSFILE": str(secrets)}
        self.output_of(*asked, locked, env=env)
        services = self.folder / "services"
        services.write_text(f"[lab]\nhost=127.0.0.1\nport={self.server.port}\nuser=locked\ndbname=test\n")
        env["PGSERVICEFILE"] = str(services)
        self.output_of("profile", "lenet5", *QUICK, "--worker", scripted(), "--store", "service=lab", env=env)
        self.assertEqual(self.json_of(*asked, "service=lab", env=env)["store"], "service=lab")
        # One that is given all the same is not printed again, whatever is said.
        told = locked.replace("locked@", "locked:geheim@")
        for arguments in (["store", "list", "--json"], ["store", "check"], ["estimate", "lenet5", "--batch", "77"],
                          ["store", "deliver"], ["profile", "lenet5", *QUICK, "--worker", scripted(), "--json"],
                          ["store", "merge", told], ["report", "--device", "nonesuch"], ["store", "show", "--device", "zz"]):
            done = self.run_ampere(*arguments, "--store", told)
            self.assertNotIn("geheim", done.stdout + done.stderr)
            done = self.run_ampere(*arguments, env={"AMPERE_STORE": told})
            self.assertNotIn("geheim", done.stdout + done.stderr)

    def test_readers_may_not_write(self):
        self.server.sql("CREATE ROLE ann LOGIN; CREATE ROLE ben LOGIN")
        self.addCleanup(self.server.sql, "DROP OWNED BY ann, ben; DROP ROLE ann, ben")
        ann, ben = self.server.address(user="ann"), self.server.address(user="ben")
        profile = ("profile", "lenet5", "--batch", "4", *QUICK, "--worker", scripted(), "--store")
        self.assert_refused(self.run_ampere(*profile, ben), 2, "may not make the tables")
        self.output_of("store", "grant", "--reader", "ann", "--writer", "ben")
        self.output_of(*profile, ben)
        self.json_of("estimate", "lenet5", "--batch", "4", "--store", ann)
        count = self.folder / "count"
        refused = self.run_ampere("profile", "lenet5", "--batch", "8", "--worker", scripted("ok", count), "--store", ann)
        self.assert_refused(refused, 2, '"ann" may read this store, and not write')
        self.assertFalse(count.exists(), "nothing is measured that cannot be kept")
        self.assert_refused(self.run_ampere("store", "grant", "--reader", "nobody"), 2, "CREATE ROLE")
        self.assert_refused(self.run_ampere("store", "grant"), 2, "--reader")

    def test_a_server_that_is_not_there(self):
        gone = "postgresql://127.0.0.1:1/test"
        for verb in (["store", "list"], ["estimate", "lenet5"], ["profile", "lenet5", "--worker", scripted()]):
            self.assert_refused(self.run_ampere(*verb, "--store", gone), 1, "the server cannot be reached")
        self.assert_refused(self.run_ampere("store", "deliver", "--store", self.folder / "a.db"), 2, "never away")

    def test_what_cannot_be_delivered_keeps_nobody_away(self):
        waits = pathlib.Path(self.json_of("store", "deliver")["file"])
        waits.parent.mkdir(parents=True, exist_ok=True)
        waits.write_text("junk")
        done = self.run_ampere("profile", "lenet5", "--batch", "4", *QUICK, "--worker", scripted())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("points that wait for this server cannot be delivered", done.stderr)
        self.assert_refused(self.run_ampere("store", "deliver"), 2, waits.name)
        self.assertEqual(waits.read_text(), "junk")

    def test_points_wait_while_it_is_away(self):
        process = self.start(1, "slow", "--points-2d", "12", AMPERE_STORE_TIMEOUT="1")
        while self.measured(1) < 5 and process.poll() is None:
            time.sleep(0.01)
        self.server.stop("immediate")
        try:
            errors = process.communicate(timeout=PATIENCE_S)[1]
        finally:
            self.server.start()
        kept = self.points()
        self.assertIn("ampere store deliver", errors)
        self.assertLess(kept, self.measured(1))
        delivered = self.json_of("store", "deliver")
        self.assertEqual(delivered["points_added"], self.measured(1) - kept)
        self.assertEqual(self.points(), self.measured(1))
        done = self.start(2, "ok", "--points-2d", "12", name="device 1")
        self.assertEqual(done.communicate(timeout=PATIENCE_S)[1], "")


class Fifty(OnServer):
    def test_fifty_at_once_lose_and_double_nothing(self):
        chance = random.Random(SEED)
        shared = range(40, PROCESSES)  # these are one device, the others one each
        killed = set(chance.sample(range(40), KILLED))
        began = time.monotonic()
        processes = {n: self.start(n, "slow", *POINTS,
                                   name="shared" if n in shared else None) for n in range(PROCESSES)}
        self.addCleanup(lambda: [p.kill() for p in processes.values() if p.poll() is None])
        for n in sorted(killed):
            moment = chance.randrange(1, 12)
            while self.measured(n) < moment:
                time.sleep(0.002)
            processes[n].send_signal(signal.SIGKILL)
        running = sum(process.poll() is None for process in processes.values())
        self.server.stop()
        self.server.start()
        for n, process in processes.items():
            errors = process.communicate(timeout=PATIENCE_S)[1]
            self.assertEqual(process.returncode, -signal.SIGKILL if n in killed else 0, f"{n}: {errors}")
        seconds = time.monotonic() - began
        self.assertGreater(running, PROCESSES / 2, "the restart came too late")
        # What a killed one had put aside is not lost.
        self.json_of("store", "deliver")
        stored = {name: int(count) for name, count in self.server.sql(
            "SELECT fingerprint::json->>'name', count(*) FROM point JOIN device ON device.id = point.device GROUP BY 1")}
        self.assertEqual(stored.pop("shared"), sum(map(self.measured, shared)))
        for n in range(40):
            measured = self.measured(n)
            least = measured - 1 if n in killed else measured  # the one that was just being measured
            self.assertIn(stored.get(f"device {n}", 0), range(least, measured + 1), n)
        self.assertEqual(self.server.sql("SELECT identity FROM point GROUP BY identity HAVING count(*) > 1"), [])
        in_all = self.points()
        print(f"{PROCESSES} processes, {KILLED} killed, one restart: {in_all} points in {seconds:.1f} s, "
              f"{in_all / seconds:.0f} a second", file=sys.stderr)
        # The killed ones go on, and end where the others did.
        for n in sorted(killed):
            again = self.start(n, "ok", *POINTS)
            errors = again.communicate(timeout=PATIENCE_S)[1]
            self.assertEqual(again.returncode, 0, errors)
        known = {name: int(count) for name, count in self.server.sql(
            "SELECT fingerprint::json->>'name', count(DISTINCT (surface, channels_in, channels_out)) FROM point "
            "JOIN device ON device.id = point.device GROUP BY 1")}
        # Ten that share a device choose places at the same time, each by what it has seen: one more may come of that.
        shared_places = known.pop("shared")
        self.assertEqual(len(set(known.values())), 1, known)
        self.assertGreaterEqual(shared_places, known["device 0"])


if __name__ == "__main__":
    if not is_installed():
        print("PostgreSQL is not installed here; scripts/setup fleet installs it", file=sys.stderr)
        sys.exit(77)  # skipped
    print(f"AMPERE_TEST_SEED={SEED}", flush=True)
    support.main()
