#!/usr/bin/python3
"""Answers of ampere serve are as docs/answers.schema.json and the OpenAPI description say: every operation is asked, and
what it answers has every field that must be there and none that is not described.

    tests/serve_answers_test.py ampere=build/bin/ampere
"""

import json

import jsonschema

import support
from server import Server
from support import AmpereTest, DATA, QUICK, scripted

LENET = {"network": {"zoo": "lenet5"}, "batch": 10}
JOB = {"samples": 60000, "epochs": 3, "price": "0.30EUR/kWh", "carbon": "FR"}


def closed(schema):
    """The same, but fields that are not described are wrong: later versions may add some, this one may not."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if "properties" in made and "additionalProperties" not in made and isinstance(made["properties"], dict):
        made["additionalProperties"] = False
    return made


class Answers(AmpereTest):
    def setUp(self):
        super().setUp()
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        self.server = Server(self)
        self.described = self.server.ok("GET", "/api/v1/openapi.json")
        self.asked = set()

    def check(self, method, path, answer):
        """Returns the JSON of an answer that the operation `path` may give."""
        operation = self.described["paths"][path][method.lower()]
        told = operation["responses"].get(str(answer.status)) or operation["responses"]["default"]
        [(media, content)] = told["content"].items()
        self.assertEqual(answer.headers["content-type"].split(";")[0], media)
        if answer.status < 400:
            self.asked.add((method, path))
        if not media.endswith("json"):
            return None
        value = answer.json()
        schema = closed({**content["schema"], "components": self.described["components"]})
        errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(value), key=lambda e: len(e.path))
        found = [(list(e.path), e.message[:300], [c.message[:200] for c in e.context or []][:6]) for e in errors[:5]]
        self.assertEqual(found, [], f"{method} {path}")
        return value

    def ask(self, method, path, body=None, query="", headers=None, **names):
        real = "/api/v1" + path
        for name, value in names.items():
            real = real.replace("{" + name + "}", value)
        return self.check(method, "/api/v1" + path, self.server.ask(method, real + query, body, headers=headers))

    def upload(self, name, data, query=""):
        return self.check("POST", "/api/v1/networks", self.server.upload(name, data, query))

    def test_every_operation(self):
        for path in ("/status", "/openapi.json", "/models", "/devices", "/store", "/jobs"):
            self.ask("GET", path)
        device = self.ask("GET", "/devices")["devices"][0]["id"]
        self.ask("GET", "/devices/{id}/knowledge", id=device)
        self.ask("GET", "/devices/{id}/knowledge", id="nope")
        # Networks: of the zoo, sent, and none.
        file = self.folder / "net.json"
        self.output_of("convert", "lenet5", "-o", file)
        sent = self.upload("net.json", file.read_bytes())["id"]
        self.upload("resnet18.onnx", (DATA / "onnx" / "resnet18.train17.onnx").read_bytes())
        self.upload("junk.onnx", b"\x08\x07junk")
        for path in ("/networks/{id}", "/networks/{id}/file"):
            self.ask("GET", path, id=sent)
            self.ask("GET", path, id="0" * 32)
        # Estimates: with all that can be asked for, on a sheet, of what nobody knows.
        whole = self.ask("POST", "/estimate", {**LENET, **JOB, "battery": "15Wh", "job": "nightly"})
        self.assertEqual(len(whole["estimates"]), 1)
        self.ask("POST", "/estimate", {**LENET, "network": {"id": sent}, "layers": False})
        self.ask("POST", "/estimate", {**LENET, "devices": ["sheet:h100", "sheet:x", "0" * 16]})
        self.ask("POST", "/estimate", {**LENET, "batch": 11, "precision": "bf16"})
        self.ask("POST", "/estimate", {**LENET, "batch": 11})
        self.ask("POST", "/estimate", {"network": {"zoo": "nothing"}})
        self.ask("POST", "/layers", LENET)
        # Searches.
        self.ask("POST", "/prune", {**LENET, "budget": "60%", "candidates": 500})
        self.ask("POST", "/prune", {**LENET, "budget": "60%", "candidates": 500, "by": "flops", "risk": "5%"})
        self.ask("POST", "/prune", {**LENET, "budget": "60 apples"})
        self.ask("POST", "/tune", {**LENET, **JOB, "settings": ["precision=default", "batch=10,20"]})
        self.ask("POST", "/tune", {**LENET, **JOB, "objective": "cost", "device_price": "2/h", "settings": ["batch=10,20"]})
        jobs = json.loads((DATA / "jobs.json").read_text(encoding="utf-8"))
        self.ask("POST", "/schedule", jobs, query="?seed=2")
        self.ask("POST", "/schedule", jobs, query="?simulate=100&price=0.30EUR/kWh&carbon=FR&solver=exact")
        self.ask("POST", "/schedule", {"devices": [{"name": "here", "profile": device[:8]}],
                                       "jobs": [{"name": "one", "network": "lenet5", "batch": 10, "samples": 60000}]})
        # Jobs, until one is over.
        job = self.ask("POST", "/jobs", {"kind": "profile", **LENET, "exact": True})["id"]
        self.server.wait_for(job, "done")
        self.assertEqual(self.ask("GET", "/jobs/{id}", id=job)["state"], "done")
        self.check("GET", "/api/v1/jobs/{id}/events", self.server.get(f"/api/v1/jobs/{job}/events"))
        self.ask("POST", "/jobs/{id}/stop", {}, id=job)  # too late
        self.ask("POST", "/jobs/{id}/resume", {}, id=job)
        self.ask("POST", "/jobs/{id}/stop", {}, id=job)
        self.ask("GET", "/jobs")
        self.ask("POST", "/measured", {"job": "nightly", "energy_j": 5.5})
        self.ask("POST", "/report", {"estimate": LENET})
        self.check("GET", "/metrics", self.server.get("/metrics"))
        every = {(method.upper(), path) for path, methods in self.described["paths"].items() for method in methods}
        self.assertEqual(every - self.asked, set())

    def test_plan_and_estimate_say_the_same(self):
        """What one job takes does not depend on which of the two is asked."""
        asked = {"network": "lenet5", "batch": 11, "samples": 60000, "epochs": 2}  # a batch that nobody measured
        device = self.ask("GET", "/devices")["devices"][0]["id"]
        plan = self.ask("POST", "/schedule", {"devices": [{"name": "here", "profile": device}], "jobs": [{"name": "one", **asked}]})
        [estimate] = self.ask("POST", "/estimate", {**asked, "network": {"zoo": "lenet5"}})["estimates"]
        for field in ("energy_j", "time_s"):
            self.assertAlmostEqual(plan["jobs"][0][field] / estimate["job"][field], 1, places=9)
        self.assertAlmostEqual(plan["energy_high_j"] / estimate["job"]["energy_high_j"], 1, places=2)


if __name__ == "__main__":
    support.main()
