#!/usr/bin/python3
"""ampere serve with a store on a PostgreSQL server: the same answers, jobs that profile into it, and a word where the
server is gone.

    tests/serve_store_test.py ampere=build/bin/ampere
"""

import sys

import support
from postgresql_server import Server as Database, is_installed
from server import Server
from support import AmpereTest, QUICK, scripted

LENET = {"network": {"zoo": "lenet5"}, "batch": 10}


class OnPostgresql(AmpereTest):
    def test_it_answers_profiles_and_says_when_the_database_is_away(self):
        with Database() as database:
            address = database.address()
            self.store = address  # what Server serves
            server = Server(self, "--refresh", "0", "--state", self.folder / "state")
            self.assertEqual(server.ok("GET", "/api/v1/devices")["devices"], [])
            job = server.ok("POST", "/api/v1/jobs", {"kind": "profile", **LENET, "exact": True}, status=202)
            self.assertEqual(server.wait_for(job["id"], "done", "failed")["state"], "done")
            points = int(database.sql("SELECT count(*) FROM point")[0][0])
            self.assertGreater(points, 0)
            # Somebody else profiles into it, too; both are told at once by another server, and soon by this one.
            self.output_of("profile", "lenet5", "--batch", "20", "-q", *QUICK, "--worker", scripted(), "--store", address)
            other = Server(self, "--state", self.folder / "other")
            [estimate] = other.ok("POST", "/api/v1/estimate", {**LENET, "batch": 20})["estimates"]
            estimate.pop("asked")
            self.assertEqual(estimate, self.json_of("estimate", "lenet5", "--batch", "20", "--store", address))
            counts = other.ok("GET", "/api/v1/store")
            self.assertEqual(sum(d["points"] for d in counts["devices"]), int(database.sql("SELECT count(*) FROM point")[0][0]))
            pruned = other.ok("POST", "/api/v1/prune", {**LENET, "batch": 20, "budget": "60%", "candidates": 200})
            self.assertLess(pruned["after"]["energy_j"], pruned["before"]["energy_j"])
            # Away: whoever asks is told so, without the address, and nothing hangs.
            fresh = Server(self, "--state", self.folder / "third", "--refresh", "0")
            database.stop()
            for path, body in (("/api/v1/devices", None), ("/api/v1/store", None)):
                answer = fresh.get(path) if body is None else fresh.post(path, body)
                self.assertEqual((answer.status, answer.json()["kind"]), (503, "failed"), answer.body)
                self.assertNotIn("ampere@", answer.json()["detail"])
            self.assertEqual(fresh.get("/metrics").status, 200)
            database.start()
            self.assertEqual(len(fresh.ok("GET", "/api/v1/devices")["devices"]), 1)
            for one in (server, other, fresh):
                self.assertEqual(one.stop(), 0)


if __name__ == "__main__":
    if not is_installed():
        print("PostgreSQL is not installed here; scripts/setup fleet installs it", file=sys.stderr)
        sys.exit(77)  # skipped
    support.main()
