#!/usr/bin/python3
"""ampere serve: the same answers as the command line's, jobs that can be watched, stopped and resumed, and a description
that holds.

    tests/serve_test.py ampere=build/bin/ampere
"""

import json
import os
import pathlib
import re
import signal
import sqlite3
import time
import urllib.parse
import uuid

import jsonschema

import support
from server import Server
from support import AmpereTest, DATA, QUICK, rows, scripted

LENET = {"network": {"zoo": "lenet5"}, "batch": 10}


def live_rows(store):
    """Points of a store that somebody writes to; a copy of its files could be torn."""
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)
    try:
        return db.execute("SELECT * FROM point ORDER BY id").fetchall()
    finally:
        db.close()


class Serving(AmpereTest):
    """Tests share a store, which takes longer to fill than to ask."""

    kept = None

    def setUp(self):
        super().setUp()
        if Serving.kept is None:
            self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
            Serving.kept = self.store.read_bytes()
        self.store.write_bytes(Serving.kept)


class SameAnswers(Serving):
    def test_estimates(self):
        server = Server(self)
        asked = {**LENET, "samples": 60000, "epochs": 3, "price": "0.30EUR/kWh", "carbon": "FR", "battery": "15Wh"}
        answer = server.ok("POST", "/api/v1/estimate", asked)
        [estimate] = answer["estimates"]
        device = estimate.pop("asked")
        told = self.json_of("estimate", "lenet5", "--batch", "10", "--samples", "60000", "--epochs", "3", "--price",
                            "0.30EUR/kWh", "--carbon", "FR", "--battery", "15Wh")
        self.assertEqual(estimate, told)
        self.assertEqual(device, told["device_id"])
        again = server.ok("POST", "/api/v1/estimate", {**asked, "devices": [device[:8]], "layers": False})
        self.assertEqual(again["estimates"][0]["layers"], [])
        self.assertEqual(again["estimates"][0]["job"], told["job"])

    def test_several_devices_and_what_is_not_known(self):
        server = Server(self)
        estimates = server.ok("POST", "/api/v1/estimate", {**LENET, "devices": ["", "sheet:h100", "0" * 16, "sheet:x"]})
        here, sheet, nobody, no_sheet = estimates["estimates"]
        self.assertGreater(here["iteration"]["energy_j"], 0)
        self.assertEqual(nobody["problem"]["kind"], "bad_input")
        self.assertRegex(no_sheet["problem"]["detail"], "known: .*h100")
        # A network file with captured calls alone is told by a sheet; others say why not, as the command line does.
        done = self.run_ampere("estimate", "lenet5", "--batch", "10", "--sheet", "h100", "--json")
        if done.returncode == 0:
            sheet.pop("asked")
            self.assertEqual(sheet, json.loads(done.stdout))
        else:
            self.assertIn(sheet["problem"]["detail"].split("\n")[0], done.stderr)
        other = server.ok("POST", "/api/v1/estimate", {**LENET, "batch": 11, "precision": "bf16"})
        done = self.run_ampere("estimate", "lenet5", "--batch", "11", "--precision", "bf16")
        self.assertEqual(other["estimates"][0]["problem"]["kind"], "not_profiled")
        for line in other["estimates"][0]["problem"]["detail"].split("\n"):
            self.assertIn(line, done.stderr.replace("--precision", "precision"))
        self.assertEqual(other["estimates"][0]["problem"]["fields"], ["precision"])

    def test_models_layers_store(self):
        server = Server(self)
        self.assertEqual(server.ok("GET", "/api/v1/models"), self.json_of("models"))
        self.assertEqual(server.ok("GET", "/api/v1/store"), self.json_of("store", "list", "--store", self.store))
        layers = server.ok("POST", "/api/v1/layers", LENET)
        self.assertEqual(layers.pop("network")["id"], "lenet5")
        self.assertEqual(layers, self.json_of("layers", "lenet5", "--batch", "10"))
        graph = layers["graph"]
        self.assertEqual(graph["layers"], ["conv1", "conv2", "fc1", "fc2", "fc3"])
        self.assertTrue(all(i < n for n, node in enumerate(graph["nodes"]) for i in node["inputs"]))

    def test_prune_tune_schedule(self):
        server = Server(self)
        pruned = server.ok("POST", "/api/v1/prune", {**LENET, "budget": "60%", "candidates": 500, "seed": 3})
        told = self.json_of("prune", "lenet5", "--batch", "10", "--budget", "60%", "--candidates", "500", "--seed", "3")
        for one in (pruned, told):
            del one["search"]["time_s"]
        file = server.ok("GET", f"/api/v1/networks/{pruned.pop('id')}/file")
        self.assertEqual(pruned, told)
        self.assertEqual(file, told["network"])
        tuned = server.ok("POST", "/api/v1/tune", {**LENET, "samples": 60000, "settings": ["precision=default"]})
        self.assertEqual(tuned, self.json_of("tune", "lenet5", "--batch", "10", "--samples", "60000", "--settings",
                                             "precision=default"))
        jobs = json.loads((DATA / "jobs.json").read_text())
        plan = server.ok("POST", "/api/v1/schedule?risk=5%25&seed=2", jobs)
        done = self.run_ampere("schedule", DATA / "jobs.json", "--seed", "2", "--json")
        self.assertEqual(plan, json.loads(done.stdout))
        problem = server.post("/api/v1/prune", {**LENET, "budget": "60 apples"})
        self.assertEqual((problem.status, problem.headers["content-type"]), (400, "application/problem+json"))
        refused = self.run_ampere("prune", "lenet5", "--batch", "10", "--budget", "60 apples")
        self.assertEqual("ampere: " + problem.json()["detail"] + "\n", refused.stderr)

    def test_networks(self):
        server = Server(self)
        file = self.folder / "net.json"
        self.output_of("convert", "lenet5", "-o", file)
        answer = server.upload("lé net.json".encode().decode("latin-1"), file.read_bytes())
        self.assertEqual(answer.status, 201, answer.body)
        info = answer.json()
        self.assertEqual((info["format"], info["layers"], info["inputs"][0]["shape"]), ("json", 5, [1, 1, 28, 28]))
        self.assertEqual(server.ok("GET", answer.headers["location"]), info)
        known = {**LENET, "network": {"id": info["id"]}}
        [estimate] = server.ok("POST", "/api/v1/estimate", known)["estimates"]
        estimate.pop("asked")
        self.assertEqual(estimate, self.json_of("estimate", file, "--batch", "10"))
        onnx = (DATA / "onnx" / "resnet18.train17.onnx")
        if onnx.exists():
            sent = server.upload(onnx.name, onnx.read_bytes())
            self.assertEqual(sent.status, 201, sent.body)
            layers = server.ok("POST", "/api/v1/layers", {"network": {"id": sent.json()["id"]}})
            layers.pop("network")
            told = self.json_of("layers", onnx, "--batch", layers["batch"])
            for one in (layers, told):
                one.pop("notes")
            self.assertEqual(layers, told)
        # It is there after a restart, too.
        self.assertEqual(server.stop(), 0)
        self.assertEqual(Server(self).ok("GET", f"/api/v1/networks/{info['id']}"), info)

    def test_bad_files_are_told_as_the_command_line_does(self):
        server = Server(self)
        for name, data in [("a.onnx", b"\x08\x07junk"), ("a.json", b'{"nodes": 3}'), ("a.json", b"\xff\xfe"), ("a.txt", b"x")]:
            with self.subTest(name=name):
                answer = server.upload(name, data)
                self.assertEqual((answer.status, answer.json()["kind"]), (400, "bad_input"), answer.body)
                self.assertNotIn(str(self.folder), answer.json()["detail"])
                (self.folder / name).write_bytes(data)
                if name != "a.txt":
                    done = self.run_ampere("convert", name)
                    self.assertEqual("ampere: " + answer.json()["detail"] + "\n", done.stderr)

    def test_points_that_come_later_count(self):
        server = Server(self, "--refresh", "0")
        before = server.ok("POST", "/api/v1/estimate", {**LENET, "batch": 20})
        self.assertGreater(before["estimates"][0]["unmeasured"], 0.5)
        self.output_of("profile", "lenet5", "--batch", "20", "-q", *QUICK, "--worker", scripted())
        after = server.ok("POST", "/api/v1/estimate", {**LENET, "batch": 20})
        self.assertEqual(after["estimates"][0]["unmeasured"], 0)
        [device] = server.ok("GET", "/api/v1/devices")["devices"]
        self.assertEqual(device["points"], len(rows(self.store)))
        knowledge = server.ok("GET", f"/api/v1/devices/{device['id']}/knowledge")
        self.assertTrue(0 <= knowledge["coverage"] <= 1)

    def test_an_empty_store(self):
        self.store.unlink()
        server = Server(self)
        self.assertEqual(server.ok("GET", "/api/v1/devices")["devices"], [])
        self.assertEqual(server.ok("POST", "/api/v1/estimate", LENET)["estimates"], [])
        self.assertFalse(self.store.exists())


class Described(Serving):
    def test_every_route_is_as_described(self):
        """What the table says of requests is what is checked: bodies that the schema refuses are refused, too."""
        server = Server(self)
        described = server.ok("GET", "/api/v1/openapi.json")
        self.assertEqual(described["openapi"], "3.1.0")
        operations = [(path, method, o) for path, methods in described["paths"].items() for method, o in methods.items()]
        self.assertEqual(len({o["operationId"] for *_, o in operations}), len(operations))
        tried = 0
        for path, method, operation in operations:
            known = path.replace("{id}", "nothing")
            wrong = server.ask({"get": "POST", "post": "GET"}[method], known, b"" if method == "get" else None)
            self.assertIn(wrong.status, (404, 405, 415, 200), (path, wrong.body))
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            if not schema:
                continue
            jsonschema.Draft202012Validator.check_schema(schema)
            bodies = [None, [], {}, {"x": 1}, {"network": {}}, {"network": {"zoo": 1}}, {"network": {"zoo": "lenet5"}, "batch": 0}]
            bodies += [{"network": {"zoo": "lenet5"}, field: value} for field in schema["properties"]
                       for value in (None, True, -1, 1e99, "", "x" * 20000, [], [[]], {}, {"a": "b"})]
            for body in bodies:
                valid = jsonschema.Draft202012Validator(schema).is_valid(body)
                answer = server.post(known, json.dumps(body).encode(), headers={"Content-Type": "application/json"})
                tried += 1
                if not valid:
                    self.assertIn(answer.status, (400, 404), (path, body, answer.body[:300]))
                    self.check_problem(answer)
                else:
                    self.assertLess(answer.status, 500, (path, body, answer.body[:300]))
        print(f"{len(operations)} operations, {tried} bodies")

    def check_problem(self, answer):
        self.assertEqual(answer.headers["content-type"], "application/problem+json")
        problem = answer.json()
        self.assertEqual(set(problem), {"type", "title", "status", "detail", "kind"})
        self.assertEqual(problem["status"], answer.status)
        self.assertNotRegex(problem["detail"], r"std::|exception|nlohmann|json\.exception|basic_")

    def test_a_client_made_from_the_description(self):
        """As generated clients do: one method for each operation, with its path, parameters and body."""
        server = Server(self)
        described = server.ok("GET", "/api/v1/openapi.json")
        operations = {o["operationId"]: (method, path) for path, methods in described["paths"].items()
                      for method, o in methods.items()}

        def call(operation, body=None, **names):
            method, path = operations[operation]
            for name, value in names.items():
                path = path.replace("{" + name + "}", urllib.parse.quote(value))
            return server.ask(method.upper(), path, body)

        self.assertEqual(call("get_status").json()["version"], self.output_of("--version").strip())
        self.assertEqual(call("post_estimate", LENET).status, 200)
        job = call("post_jobs", {"kind": "profile", **LENET, "exact": True}).json()
        self.assertEqual(server.wait_for(job["id"], "done", "failed")["state"], "done")
        self.assertEqual(call("get_jobs_id", id=job["id"]).json()["id"], job["id"])


class Jobs(Serving):
    def test_watched_to_the_end(self):
        self.store.unlink()
        server = Server(self)
        job = server.ok("POST", "/api/v1/jobs", {"kind": "profile", **LENET, "exact": True}, status=202)
        events = list(server.events(job["id"]))
        self.assertEqual(events[0][0], "state")
        self.assertEqual(events[-1][0], "done")
        steps = [data for event, data in events if event == "progress"]
        self.assertEqual(steps[-1]["done"], steps[-1]["of"])
        done = events[-1][1]
        self.assertEqual(done["result"]["exact"]["layers"], len(rows(self.store)) - self.besides())
        self.assertEqual(list(server.events(job["id"]))[0][0], "done")

    def besides(self):
        """Points that are no layers of the network: an iteration that trains nothing."""
        return len(rows(self.store, "SELECT * FROM point WHERE surface LIKE '%empty%'"))

    def long_job(self, server):
        return server.ok("POST", "/api/v1/jobs", {"kind": "profile", "network": {"zoo": "resnet18"}, "batch": 7}, status=202)["id"]

    def wait_for_points(self, more_than):
        deadline = time.monotonic() + support.PATIENCE_S
        while time.monotonic() < deadline:
            count = len(live_rows(self.store))
            if count > more_than:
                return count
            time.sleep(0.05)
        self.fail("no point came")

    def test_what_is_measured_has_cores_to_itself(self):
        def cores(process):
            """Those that each thread of a process may run on."""
            tasks = pathlib.Path(f"/proc/{process}/task")
            return {tuple(sorted(os.sched_getaffinity(int(task.name)))) for task in tasks.iterdir()}

        everywhere = tuple(sorted(os.sched_getaffinity(0)))
        if len(everywhere) < 2:
            self.skipTest("there is one core")
        half = everywhere[:len(everywhere) // 2]
        server = Server(self, worker=scripted("slow"))
        job = self.long_job(server)
        self.wait_for_points(len(rows(self.store)))
        self.assertEqual(cores(server.process.pid), {half})
        children = [int(p) for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir() for p in (task / "children").read_text().split()]
        self.assertEqual([cores(child) for child in children], [{everywhere}])
        server.ok("POST", f"/api/v1/jobs/{job}/stop", {})
        server.wait_for(job, "stopped")
        deadline = time.monotonic() + support.PATIENCE_S
        while cores(server.process.pid) != {everywhere} and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(cores(server.process.pid), {everywhere})
        # Told which, it keeps to them.
        told = Server(self, "--cores", str(everywhere[-1]), "--state", self.folder / "other")
        self.assertEqual(cores(told.process.pid), {everywhere[-1:]})
        done = self.run_ampere("serve", "--port", "0", "--cores", "0-99999")
        self.assert_refused(done, 2, "core .* none that this process may run on")

    def test_stopped_and_resumed(self):
        mark = "AMPERE_TEST_MARK"
        value = uuid.uuid4().hex
        server = Server(self, worker=scripted("slow"), **{mark: value})
        before = len(rows(self.store))
        job = self.long_job(server)
        waits = self.long_job(server)
        self.assertEqual(server.ok("GET", f"/api/v1/jobs/{waits}")["state"], "waiting")
        self.assertEqual(server.ok("POST", f"/api/v1/jobs/{waits}/stop", {})["state"], "stopped")
        count = self.wait_for_points(before + 3)
        server.ok("POST", f"/api/v1/jobs/{job}/stop", {})
        self.assertEqual(server.wait_for(job, "stopped")["state"], "stopped")
        kept = rows(self.store)
        self.assertGreaterEqual(len(kept), count)
        self.assertEqual(server.post(f"/api/v1/jobs/{job}/stop", {}).status, 409)
        server.ok("POST", f"/api/v1/jobs/{job}/resume", {})
        self.wait_for_points(len(kept) + 3)
        self.assertEqual(live_rows(self.store)[:len(kept)], kept)
        # A server that is asked to end leaves a job that the next one can go on with, and no process.
        self.assertEqual(server.stop(signal.SIGINT), 0)
        self.assert_no_process_left(f"{mark}={value}")
        kept = rows(self.store)
        server = Server(self, worker=scripted("slow"))
        self.assertEqual(server.ok("GET", f"/api/v1/jobs/{job}")["state"], "interrupted")
        server.ok("POST", f"/api/v1/jobs/{job}/resume", {})
        self.wait_for_points(len(kept) + 2)

    def test_killed(self):
        """kill -9 in the middle of profiling: every point but the one being measured is kept, nothing is left running, and
        the next server resumes."""
        mark = "AMPERE_TEST_MARK"
        lost = 0
        job = None
        for attempt in range(5):
            value = uuid.uuid4().hex
            log = self.folder / f"answers{attempt}"
            worker = f"{scripted('slow').removeprefix('exec ')} | tee -a {log}"
            server = Server(self, worker=worker, **{mark: value})
            before = rows(self.store)
            if job is None:
                job = self.long_job(server)
            else:
                self.assertEqual(server.ok("GET", f"/api/v1/jobs/{job}")["state"], "interrupted")
                server.ok("POST", f"/api/v1/jobs/{job}/resume", {})
            self.wait_for_points(len(before) + 2)
            server.process.kill()
            server.process.wait()
            self.assert_no_process_left(f"{mark}={value}")
            self.assert_intact()
            after = rows(self.store)
            self.assertEqual(after[:len(before)], before)
            measured = sum('"time_s"' in line for line in log.read_text().split("\n")[:-1])
            self.assertGreaterEqual(len(after) - len(before), measured - 1)
            lost += measured - (len(after) - len(before))
        print(f"5 kills, {lost} points lost")

    def test_what_fails_is_told(self):
        server = Server(self, worker=scripted("stops:1+"))
        job = server.ok("POST", "/api/v1/jobs", {"kind": "profile", "network": {"zoo": "lenet5"}, "batch": 3}, status=202)["id"]
        failed = server.wait_for(job, "failed")
        self.assertIn("the imaginary device is tired", failed["problem"]["detail"])


class Modes(Serving):
    def test_read_only(self):
        server = Server(self, "--read-only")
        self.assertTrue(server.ok("GET", "/api/v1/status")["read_only"])
        for path, body in [("/api/v1/jobs", {"kind": "profile"}), ("/api/v1/measured", {"job": "a", "energy_j": 1})]:
            self.assertEqual(server.post(path, body).status, 403)
        self.assertEqual(server.ok("POST", "/api/v1/estimate", LENET)["estimates"][0]["batch"], 10)
        # Files can be asked about, and are forgotten with the server. Nothing is asked of a worker, and none is named.
        sent = server.upload("lenet.json", self.output_of("convert", "lenet5").encode())
        self.assertEqual(sent.status, 201, sent.body)
        self.assertEqual(server.stop(), 0)
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"profiles.db"})

    def test_refuses_to_listen_to_others_without_a_token(self):
        self.assert_refused(self.run_ampere("serve", "--bind", "0.0.0.0", "--port", "0"), 2, "takes a token")
        self.assert_refused(self.run_ampere("serve", "--bind", "everywhere"), 2, "must be an address")
        self.assert_refused(self.run_ampere("serve", "--token", "short"), 2, "8 characters")
        self.assert_refused(self.run_ampere("serve", "--token-file", "nothing"), 2, "no token")
        server = Server(self)
        self.assert_refused(self.run_ampere("serve", "--port", server.port, "--state", self.folder / "other"), 2, "cannot be had")

    def test_requests_are_finished(self):
        """One that is being answered when the end comes gets its answer."""
        server = Server(self)
        connection = server.connect()
        body = json.dumps({**LENET, "budget": "50%", "candidates": 300000}).encode()
        connection.sendall(b"POST /api/v1/prune HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(body) + body)
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        got = b""
        while chunk := connection.recv(65536):
            got += chunk
        self.assertRegex(got.split(b"\r\n")[0], rb"HTTP/1.1 (200|503)")
        self.assertEqual(server.process.wait(timeout=support.PATIENCE_S), 0)

    def test_access_log(self):
        log = self.folder / "access.log"
        server = Server(self, "--access-log", log, "--token", "a secret".replace(" ", "-"))
        server.get("/api/v1/status?x=%0a%1b", headers={"Authorization": "Bearer a-secret"})
        server.get("/api/v1/status")
        self.assertEqual(server.stop(), 0)
        lines = log.read_text().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[1], r'^\d{4}-\d\d-\d\dT\S+ 127\.0\.0\.1 "GET /api/v1/status" 401 \d+ [\d.]+ms$')
        self.assertNotIn("a-secret", log.read_text())


class Figures(Serving):
    def test_metrics(self):
        server = Server(self)
        server.ok("POST", "/api/v1/estimate", {**LENET, "samples": 1000, "job": 'night"ly\n'})
        told = server.ok("POST", "/api/v1/measured", {"job": 'night"ly\n', "energy_j": 123.5})
        self.assertEqual(told["device"], "imaginary device")
        answer = server.get("/metrics")
        self.assertEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        text = answer.body.decode()
        series = {}
        for line in text.splitlines():
            if line.startswith("#"):
                self.assertRegex(line, r"^# (HELP \w+ .+|TYPE \w+ (counter|gauge|histogram))$")
                continue
            found = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)', line)
            self.assertTrue(found, line)
            float(found[3])
            self.assertNotIn(found[1] + (found[2] or ""), series, "a series comes once")
            series[found[1] + (found[2] or "")] = float(found[3])
        job = r'{job_name="night\"ly\n",device="imaginary device"}'
        self.assertEqual(series["ampere_job_measured_joules" + job], 123.5)
        predicted = series["ampere_job_predicted_joules" + job]
        self.assertAlmostEqual(series["ampere_estimate_error_ratio" + job], predicted / 123.5 - 1, places=6)
        self.assertTrue(any(s.startswith("ampere_profile_points{") for s in series))
        self.assertTrue(any(s.startswith("ampere_profile_coverage_ratio{") for s in series))


if __name__ == "__main__":
    support.main()
