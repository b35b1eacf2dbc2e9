#!/usr/bin/python3
"""ampere serve within its limits and in trouble: what takes too long or too much ends with a word and blocks nobody, a
store that is gone is said to be, and errors speak of requests instead of files and options.

    tests/serve_limits_test.py ampere=build/bin/ampere
"""

import json
import signal
import subprocess
import threading
import time

import support
from server import Server
from support import AmpereTest, QUICK, scripted

LENET = {"network": {"zoo": "lenet5"}, "batch": 10}


def chain(layers, width=8):
    """A network file of so many layers, no two alike."""
    nodes = [{"name": "input", "op": "input", "shape": [8, 4, 4]}]
    for i in range(layers):
        nodes.append({"name": f"conv{i}", "op": "conv2d", "out_channels": width + i % 991, "kernel": [1], "inputs": [nodes[-1]["name"]]})
    nodes.append({"name": "flat", "op": "flatten", "inputs": [nodes[-1]["name"]]})
    nodes.append({"name": "fc", "op": "linear", "out_features": 10, "inputs": ["flat"]})
    return json.dumps({"schema_version": 1, "name": "chain", "nodes": nodes, "outputs": ["fc"]}).encode()


class Serving(AmpereTest):
    kept = None

    def setUp(self):
        super().setUp()
        if Serving.kept is None:
            self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
            Serving.kept = self.store.read_bytes()
        self.store.write_bytes(Serving.kept)

    def assert_problem(self, answer, status, kind, words=""):
        self.assertEqual((answer.status, answer.json()["kind"]), (status, kind), answer.body[:500])
        self.assertRegex(answer.json()["detail"], words)

    def sent(self, server, layers):
        answer = server.upload("chain.json", chain(layers))
        self.assertEqual(answer.status, 201, answer.body)
        return {"network": {"id": answer.json()["id"]}, "batch": 10}


class Limits(Serving):
    def test_what_is_computed_at_once_ends(self):
        """A request that computes for longer than it may is told so, and the server goes on."""
        server = Server(self, "--compute-seconds", "0.001")  # too little on any machine
        long = self.sent(server, 190)
        self.assert_problem(server.post("/api/v1/estimate", long), 422, "limit", "more than 0.001 s of a processor")
        self.assertEqual(server.get("/api/v1/status").status, 200)
        many = {"devices": [{"name": "a", "profile": ""}],
                "jobs": [{"name": f"j{i}", "network": f"resnet152:w1={i + 8}", "samples": 10} for i in range(100)]}
        self.assert_problem(server.post("/api/v1/schedule", many), 422, "limit", "processor")
        # Nothing that was left half done is remembered: who may take longer is told what the command line tells.
        patient = Server(self, "--state", self.folder / "other")
        self.assertEqual(patient.post("/api/v1/estimate", LENET).status, 200)
        again = self.sent(patient, 190)
        [estimate] = patient.ok("POST", "/api/v1/estimate", again)["estimates"]
        self.assertGreater(estimate["iteration"]["energy_j"], 0)

    def test_large_networks_have_a_process_of_their_own(self):
        server = Server(self)
        large = self.sent(server, 250)
        [estimate] = server.ok("POST", "/api/v1/estimate", {**large, "samples": 1000, "price": "0.3EUR/kWh", "job": "big"})["estimates"]
        (self.folder / "chain.json").write_bytes(chain(250))
        told = self.json_of("estimate", "chain.json", "--batch", "10", "--samples", "1000", "--price", "0.3EUR/kWh")
        self.assertEqual(estimate.pop("asked"), told["device_id"])
        self.assertEqual(estimate, told)
        layers = server.ok("POST", "/api/v1/layers", large)
        self.assertEqual(layers.pop("network")["layers"], layers["layers"])
        self.assertEqual(layers, self.json_of("layers", "chain.json", "--batch", "10"))
        self.assertIn('job_name="big"', server.get("/metrics").body.decode())

    def test_a_process_that_takes_too_long_or_too_much_is_ended(self):
        server = Server(self, "--most-seconds", "1", "--most-memory", "300")
        before = server.memory()
        try:
            large = self.sent(server, 9000)
        except AssertionError:
            return  # not even read within these limits, which is as good
        answers = []
        asking = threading.Thread(target=lambda: answers.append(server.post("/api/v1/estimate", large)))
        asking.start()
        while asking.is_alive():  # others are answered meanwhile
            self.assertEqual(server.post("/api/v1/estimate", LENET).status, 200)
            time.sleep(0.05)
        self.assert_problem(answers[0], 422, "limit", "limit")
        self.assertLess(server.memory() - before, 400_000)

    def test_a_network_of_very_many_ops_is_not_read_in(self):
        server = Server(self)
        before = server.memory()
        answer = server.upload("chain.json", chain(130_000))
        self.assertIn((answer.status, answer.json()["kind"]), ((422, "limit"), (400, "bad_input")), answer.body[:300])
        self.assertLess(server.memory() - before, 200_000)
        self.assertEqual(server.post("/api/v1/estimate", LENET).status, 200)


class InTrouble(Serving):
    def test_a_store_that_is_gone(self):
        server = Server(self, "--refresh", "0")
        self.assertEqual(len(server.ok("GET", "/api/v1/devices")["devices"]), 1)
        kept = self.store.read_bytes()
        for file in self.folder.glob("profiles.db*"):
            if file.is_file():
                file.unlink()
        asked = [("GET", "/api/v1/devices", None), ("GET", "/api/v1/store", None), ("POST", "/api/v1/estimate", LENET),
                 ("POST", "/api/v1/prune", {**LENET, "budget": "50%"}), ("POST", "/api/v1/tune", {**LENET, "samples": 10}),
                 ("POST", "/api/v1/report", {"estimate": LENET})]
        for method, path, body in asked:
            with self.subTest(path):
                self.assert_problem(server.ask(method, path, body), 503, "failed", "store of this server is gone")
        self.assertFalse(self.store.exists())
        self.assertEqual(server.get("/metrics").status, 200)
        self.store.write_bytes(kept)
        self.assertEqual(server.post("/api/v1/estimate", LENET).status, 200)

    def test_errors_speak_of_requests(self):
        server = Server(self, worker=scripted())
        self.assert_problem(server.get("/api/v1/devices/nope/knowledge"), 404, "not_found", "no device nope")
        details = []
        for name, query in (("net.onnx", ""), ("net.pt", ""), ("net.json", "")):
            details.append(server.upload(name, b"junk", query).json())
        for path, body in (("prune", {"budget": "0.0001%"}), ("tune", {"samples": 10, "settings": ["x=1"]}), ("tune", {"samples": 10, "slower": "-5%"}),
                           ("prune", {"budget": "50%", "device": "0" * 16}), ("tune", {"samples": 10, "deadline": "1ms"})):
            details.append(server.post(f"/api/v1/{path}", {**LENET, **body}).json())
        for body in ({"network": {"zoo": "lstm"}, "batch": 3, "precision": "bf16"}, {**LENET, "devices": ["0" * 16]}):
            details += [e["problem"] for e in server.ok("POST", "/api/v1/estimate", body)["estimates"] if "problem" in e]
        self.store.write_bytes(b"no store")
        details.append(Server(self, "--state", self.folder / "other").get("/api/v1/devices").json())
        for problem in details:
            with self.subTest(problem["detail"][:100]):
                self.assertNotIn(str(self.folder), problem["detail"])
                self.assertNotRegex(problem["detail"], r"(^|\s)--[a-z]|/tmp/|ampere profile")

    def test_a_token_file_without_an_end(self):
        done = subprocess.run(self.command("serve", "--port", "0", "--token-file", "/dev/zero"), env=self.environment(),
                              capture_output=True, encoding="utf-8", timeout=support.PATIENCE_S)
        self.assert_refused(done, 2, "/dev/zero: .*longer than any token")

    def test_a_server_that_ends_says_so_to_those_who_watch(self):
        server = Server(self, worker=scripted("slow"))
        job = server.ok("POST", "/api/v1/jobs", {"kind": "profile", "network": {"zoo": "resnet18"}, "batch": 7}, status=202)["id"]
        waits = server.ok("POST", "/api/v1/jobs", {"kind": "profile", "network": {"zoo": "resnet18"}, "batch": 8}, status=202)["id"]
        seen = {job: [], waits: []}
        watching = [threading.Thread(target=lambda one=one: seen[one].extend(server.events(one))) for one in seen]
        for thread in watching:
            thread.start()
        deadline = time.monotonic() + support.PATIENCE_S
        while (len(seen[job]) < 2 or not seen[waits]) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(server.stop(signal.SIGTERM), 0)
        for thread in watching:
            thread.join(support.PATIENCE_S)
        for one in seen:
            self.assertEqual(seen[one][-1][0], "interrupted", seen[one][-1:])
            self.assertEqual(seen[one][-1][1]["state"], "interrupted")


if __name__ == "__main__":
    support.main()
