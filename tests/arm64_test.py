#!/usr/bin/python3
"""The programs for arm64, cross-compiled and run in an emulator (emulated.py): their packages in a bare Debian 12 of arm64,
the worker's contract, a profile of the worker there by the ampere of this machine, and the arithmetic of the processes.
As root, with debootstrap, qemu-user-static and a mirror; takes an hour.

    tests/arm64_test.py ampere=build/test/bin/ampere digits=build/test/tests/gp_digits [root=FOLDER]

root=: a folder that stays, and is used again; packages are installed there anew.
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from bare_debian import BareDebian, run
from support import HERE, PROGRAMS

TOP = HERE.parent
BUILD = TOP / "build/arm64"
GP_TESTS = ["kernel_test", "linear_algebra_test", "likelihood_test", "optimise_test", "gp_test", "fit_test", "steps_test",
            "sum_process_test", "gp_sklearn_test"]
CONTRACT_S = 3000
# Everything takes ten to fifty times as long as on a board, and the clock of the emulator is a rough one.
PATIENT = {"AMPERE_WORKER_TIMEOUT": "600"}
TINY = {"name": "tiny", "nodes": [
    {"op": "input", "shape": [1, 8, 8]}, {"op": "conv2d", "out_channels": 4, "kernel": 3, "padding": 1}, {"op": "relu"},
    {"op": "flatten"}, {"op": "linear", "out_features": 10}]}
SPARSE = ["--points-1d", "3", "--points-2d", "4", "--whole-networks", "1", "--point-seconds", "0.1"]


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text)]


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-arm64-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        run(TOP / "scripts/package", "--arch", "arm64")
        cls.bare = BareDebian(PROGRAMS.get("root", cls.folder / "root"), "arm64")
        if not (cls.bare.root / "bin").exists():
            cls.bare.make()
        cls.bare.take((TOP / "build/packages-arm64").glob("*.deb"))
        cls.bare.inside("apt-get update -q && apt-get install -q -y --no-install-recommends --reinstall --allow-downgrades "
                        "/packages/ampere_*.deb /packages/ampere-worker_*.deb")
        cls.worker = [*map(str, cls.bare.entered("ampere-worker"))]
        cls.network = cls.folder / "tiny.json"
        cls.network.write_text(json.dumps(TINY))
        cls.store = cls.folder / "profiles.db"

    def ampere(self, *arguments):
        """The one of this machine."""
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **PATIENT}
        return run(PROGRAMS["ampere"], *arguments, "--store", self.store, env=environment)

    def test_1_installed(self):
        self.assertEqual(self.bare.inside("dpkg --print-architecture").strip(), "arm64")
        for name in ("ampere", "ampere-worker"):
            self.assertEqual(self.bare.inside(f"dpkg-query --show --showformat '${{Architecture}} ${{db:Status-Status}}' {name}"),
                             "arm64 installed")
        version = subprocess.run([PROGRAMS["ampere"], "--version"], capture_output=True, text=True).stdout
        self.assertEqual(self.bare.inside("ampere --version"), version)
        self.assertRegex(self.bare.inside("ampere-worker --version"), r"^ampere-worker \S+ \(libtorch 1\.13")
        self.assertIn("cpu-model", self.bare.inside("AMPERE_WORKER_TIMEOUT=600 ampere detect"))
        self.bare.inside("test -s /usr/share/man/man1/ampere.1")

    def test_2_contract(self):
        said = run(sys.executable, HERE / "worker_contract.py", "--limit", CONTRACT_S, *self.worker)
        self.assertRegex(said, r"(?m)^all \d+ passed$")

    def test_3_profiled_from_here(self):
        """The brain on this machine, the worker on the board; then both brains tell the same of one store."""
        self.ampere("profile", self.network, "--batch", 4, *SPARSE, "-q", "--worker", shlex.join(self.worker))
        asked = ["--batch", "4", "--samples", "60000", "--json"]
        here = json.loads(self.ampere("estimate", self.network, *asked))
        self.assertEqual(here["device"]["type"], "cpu")
        self.assertGreater(here["iteration"]["energy_j"], 0)
        for file in (self.network, self.store):
            shutil.copy(file, self.bare.root / "root" / file.name)
        there = json.loads(self.bare.inside(f"ampere estimate /root/tiny.json {shlex.join(asked)} --store /root/profiles.db"))
        mine, theirs = (numbers(json.dumps(answer["iteration"])) for answer in (here, there))
        print(f"estimates here and there: {mine}\n{theirs}")
        self.assertEqual(len(mine), len(theirs))
        for a, b in zip(mine, theirs):
            self.assertLessEqual(abs(a - b), 1e-4 * abs(a), "processes are fitted by search; these agree far closer than they know")

    def test_4_arithmetic(self):
        """What is below the processes, in the emulator: their own tests, and the digits of this machine."""
        run("cmake", "--build", "--preset", "arm64", "--target", *GP_TESTS, "gp_digits", cwd=TOP)
        run("ctest", "--test-dir", BUILD, "--no-tests=error", "-R", f"^({'|'.join(GP_TESTS)})$")
        run(sys.executable, HERE / "gp_digits_test.py", PROGRAMS["digits"],
            f"qemu-aarch64-static -L {TOP / 'build/sysroot/arm64'} {BUILD / 'tests/gp_digits'}")


if __name__ == "__main__":
    support.main()
