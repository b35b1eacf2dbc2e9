#!/usr/bin/python3
"""A client that openapi-python-client (PyPI) makes of the server's description works against the server: typed requests,
typed answers, typed problems.

    tests/serve_client_test.py ampere=build/bin/ampere
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import venv

import support
from server import Server
from support import AmpereTest, QUICK, scripted

def made(folder, description):
    """The python of an environment with the client, or a reason to skip."""
    environment = folder / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    got = subprocess.run([python, "-m", "pip", "install", "--quiet", "openapi-python-client>=0.26,<1"], capture_output=True, encoding="utf-8")
    if got.returncode:
        raise unittest.SkipTest("pip cannot reach its index: " + got.stderr[-300:])
    (folder / "openapi.json").write_text(json.dumps(description), encoding="utf-8")
    (folder / "config.yml").write_text("project_name_override: ampere-client\npackage_name_override: ampere_client\n", encoding="utf-8")
    done = subprocess.run([environment / "bin" / "openapi-python-client", "generate", "--path", folder / "openapi.json", "--config",
                           folder / "config.yml", "--output-path", folder / "client", "--meta", "none", "--fail-on-warning"],
                          capture_output=True, encoding="utf-8", env={**os.environ, "PATH": f"{environment}/bin:{os.environ['PATH']}"})
    return python, done


class GeneratedClient(AmpereTest):
    def test_it_works(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
        mine = self.json_of("estimate", "lenet5", "--batch", "10", "--samples", "60000")
        server = Server(self)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        python, done = made(folder, server.ok("GET", "/api/v1/openapi.json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (folder / "client").rename(folder / "ampere_client")
        (folder / "use.py").write_text((support.HERE / "generated_client.py").read_text(encoding="utf-8"), encoding="utf-8")
        used = subprocess.run([python, folder / "use.py", f"http://127.0.0.1:{server.port}"], capture_output=True, encoding="utf-8", cwd=folder)
        self.assertEqual(used.returncode, 0, used.stderr)
        told = json.loads(used.stdout)
        self.assertEqual(told["version"], self.output_of("--version").strip())
        self.assertEqual(told["energy_j"], mine["job"]["energy_j"])
        self.assertEqual(told["layers"], [layer["name"] for layer in mine["layers"]])
        self.assertEqual(told["refused"], "bad_input")
        self.assertEqual(told["state"], "done")


if __name__ == "__main__":
    support.main()
