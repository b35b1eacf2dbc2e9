#!/usr/bin/python3
"""A real Prometheus (Debian's package) scrapes ampere serve, and every query of the dashboard returns data; a real
Pushgateway takes what ampere measure and ampere run push.

    tests/prometheus_test.py ampere=build/bin/ampere
"""

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import support
from server import Server
from support import AmpereTest, QUICK, scripted

ROOT = pathlib.Path(__file__).resolve().parent.parent
LENET = {"network": {"zoo": "lenet5"}, "batch": 10}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Scraped(AmpereTest):
    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(query)
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def start_prometheus(self, server, token):
        self.port = free_port()
        (self.folder / "token").write_text(token)
        (self.folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: ampere\n  metrics_path: /metrics\n"
            f"  authorization: {{credentials_file: {self.folder}/token}}\n"
            f"  static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]\n")
        log = (self.folder / "prometheus.log").open("w")
        self.addCleanup(log.close)
        process = subprocess.Popen([shutil.which("prometheus"), f"--config.file={self.folder}/prometheus.yml",
                                    f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
                                   stdout=subprocess.DEVNULL, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def wait_for(self, what, found):
        deadline = time.monotonic() + support.PATIENCE_S
        while time.monotonic() < deadline:
            try:
                if found():
                    return
            except OSError:
                pass
            time.sleep(0.2)
        self.fail(f"{what}\n" + (self.folder / "prometheus.log").read_text()[-3000:])

    def test_dashboard(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        token = "a-token-of-this-test"
        server = Server(self, "--token", token)
        headers = {"Authorization": "Bearer " + token}
        self.start_prometheus(server, token)
        asked = {**LENET, "samples": 1000, "job": "nightly"}
        server.ok("POST", "/api/v1/estimate", asked, headers=headers)
        (self.folder / "token").write_text(token + "\n")
        figures = self.folder / "figures.prom"
        self.output_of("measure", "--meter", "cpu-model", "--metrics-file", figures, "--push", f"http://127.0.0.1:{server.port}",
                       "--token-file", self.folder / "token", "--job", "nightly", "--", sys.executable, "-c", "sum(range(3000000))")
        self.assertIn('ampere_measured_joules{job_name="nightly",meter="cpu-model",modelled="true"}', figures.read_text())
        job = server.ok("POST", "/api/v1/jobs", {"kind": "profile", **LENET, "exact": True}, headers=headers, status=202)
        list(server.events(job["id"], headers=headers))
        server.get("/api/v1/nothing", headers=headers)
        self.wait_for("the target is not up", lambda: self.ask("query", query='up{job="ampere"} == 1')["result"])
        dashboard = json.loads((ROOT / "docs" / "grafana" / "ampere.json").read_text())
        queries = [target["expr"].replace("$__rate_interval", "1m") for panel in dashboard["panels"] for target in panel["targets"]]

        def returns(query):
            # Rates take two scrapes with something between them.
            server.ok("POST", "/api/v1/estimate", asked, headers=headers)
            server.get("/api/v1/nothing", headers=headers)
            return self.ask("query", query=query)["result"]

        for query in queries:
            with self.subTest(query=query):
                self.wait_for(f"no data: {query}", lambda: returns(query))
        [error] = self.ask("query", query='ampere_estimate_error_ratio{job_name="nightly"}')["result"]
        self.assertEqual(error["metric"]["device"], "imaginary device")
        print(f"{len(queries)} queries of {len(dashboard['panels'])} panels return data")


class Pushed(AmpereTest):
    def start_gateway(self):
        self.port = free_port()
        process = subprocess.Popen([shutil.which("prometheus-pushgateway"), f"--web.listen-address=127.0.0.1:{self.port}"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + support.PATIENCE_S
        while True:
            try:
                return self.told("/-/ready")
            except OSError:
                self.assertLess(time.monotonic(), deadline, "no Pushgateway came up")
                time.sleep(0.1)

    def told(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return answer.read().decode()

    def assert_holds(self, name, labels):
        """A figure above zero with these labels and those of the push itself."""
        found = [line for line in self.told("/metrics").splitlines() if line.startswith(name + "{") and all(l in line for l in labels)]
        self.assertEqual(len(found), 1, self.told("/metrics"))
        self.assertGreater(float(found[0].rsplit(" ", 1)[1]), 0)

    def test_what_a_pushgateway_keeps(self):
        self.start_gateway()
        url = f"http://127.0.0.1:{self.port}/metrics/job"
        program = ["--", sys.executable, "-c", "sum(range(3000000))"]
        self.output_of("measure", "--meter", "cpu-model", "--push", url + "/nightly", "--job", "training", *program)
        for name in ("ampere_measured_joules", "ampere_measured_seconds", "ampere_measured_watts"):
            self.assert_holds(name, ['job="nightly"', 'job_name="training"', 'meter="cpu-model"', 'modelled="true"'])
        # A network, beside it; and once more, which takes the place of what was there.
        for _ in range(2):
            self.output_of("measure", "lenet5", "--batch", "10", "--worker", scripted(), "--push", url + "/layers/instance/here")
        self.assert_holds("ampere_measured_joules", ['job="layers"', 'instance="here"', 'job_name="lenet5"'])
        self.assert_holds("ampere_measured_joules", ['job="nightly"'])
        # What was predicted goes with what was measured.
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        clocks = self.folder / "sys/devices/system/cpu/cpu0/cpufreq"
        clocks.mkdir(parents=True)
        for name, value in (("scaling_max_freq", 3600000), ("cpuinfo_min_freq", 1200000), ("cpuinfo_max_freq", 3600000)):
            (clocks / name).write_text(f"{value}\n")
        self.output_of("run", "--cpu-clock", "2000", "--meter", "cpu-model", "--model", "lenet5", "--batch", "10", "--samples", "100",
                       "--push", url + "/run", *program, env={"AMPERE_SYSFS_ROOT": str(self.folder / "sys"), "XDG_RUNTIME_DIR": str(self.folder)})
        for name in ("ampere_measured_joules", "ampere_predicted_joules", "ampere_predicted_seconds"):
            self.assert_holds(name, ['job="run"', 'job_name="lenet5"'])
        # A gateway that refuses costs a word, not the measurement.
        done = self.run_ampere("measure", "--meter", "cpu-model", "--push", url + "//", *program)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "did not take the figures")


if __name__ == "__main__":
    missing = [program for program in ("prometheus", "prometheus-pushgateway") if not shutil.which(program)]
    if missing:
        print(f"{' and '.join(missing)} not installed: scripts/setup fleet")
        sys.exit(77)
    support.main()
