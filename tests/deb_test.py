#!/usr/bin/python3
"""The Debian packages in a bare Debian 12: installed, run, and built against. As root, with debootstrap and a mirror,
which is the one that this machine's apt uses; takes minutes.

    tests/deb_test.py ampere=build/bin/ampere build=build cpack=/usr/bin/cpack
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

import support
from support import HERE, PROGRAMS

PATIENCE_S = 1800
SUITE = "bookworm"
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(mine LANGUAGES CXX)
find_package(ampere 0.2 CONFIG REQUIRED)
add_executable(mine estimate.cc)
target_link_libraries(mine PRIVATE ampere::ampere)
"""


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=PATIENCE_S, **more)
    print(f"\n$ {shlex.join(map(str, command))}\n{done.stdout[-4000:]}", flush=True)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {shlex.join(map(str, command))}\n{done.stdout[-4000:]}")
    return done.stdout


def mirror():
    """Where this machine's apt finds the suite."""
    sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages",
                            f"Codename: {SUITE}", "Component: main"], capture_output=True, text=True).stdout.split()
    if not sites:
        raise AssertionError(f"this machine's apt knows no mirror of {SUITE}; run apt-get update, or this is no Debian 12")
    return sites[0]


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise AssertionError("needs root, for debootstrap and chroot")
        if not shutil.which("debootstrap"):
            raise AssertionError("debootstrap is missing; run: scripts/setup package")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-deb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.root = cls.folder / "root"
        run(PROGRAMS["cpack"], "--config", f"{PROGRAMS['build']}/CPackConfig.cmake", "-B", cls.folder / "packages")
        run("debootstrap", "--variant=minbase", SUITE, cls.root, mirror())
        # Names are found, and files fetched, as on this machine.
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", cls.root / "etc" / name)
        settings = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True).stdout
        proxies = [line for line in settings.splitlines() if "::Proxy" in line]
        (cls.root / "etc/apt/apt.conf.d/90acquire").write_text("\n".join(proxies) + "\n")
        (cls.root / "packages").mkdir()
        for package in (cls.folder / "packages").glob("*.deb"):
            shutil.copy(package, cls.root / "packages")
        cls.inside("apt-get update -q && apt-get install -q -y --no-install-recommends "
                   "/packages/ampere_*.deb /packages/ampere-worker_*.deb")

    @classmethod
    def inside(cls, script):
        """Runs it in the bare system. /proc is mounted in a namespace of its own, which ends with it whatever happens."""
        mounted = f"mount -t proc proc {shlex.quote(str(cls.root))}/proc && exec chroot {shlex.quote(str(cls.root))} sh -euc \"$0\""
        kept = {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")}
        environment = {**kept, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run("unshare", "--mount", "--propagation", "private", "sh", "-euc", mounted, script, env=environment)

    def test_1_programs_run(self):
        version = subprocess.run([PROGRAMS["ampere"], "--version"], capture_output=True, text=True).stdout
        self.assertEqual(self.inside("ampere --version"), version)
        self.assertIn("cpu-model", self.inside("ampere detect"))
        self.inside("ampere profile lenet5 --batch 8 --points-1d 3 --points-2d 5 --whole-networks 1 --point-seconds 0.1 -q")
        self.assertRegex(self.inside("ampere estimate lenet5 --batch 8 --samples 60000"), r"(?m)^iteration +\S+ m?u?J \(")
        self.inside("test -s /usr/share/man/man1/ampere.1 && test -s /usr/share/doc/ampere/copyright")

    def test_2_library_builds_programs(self):
        self.inside("apt-get install -q -y --no-install-recommends g++ cmake make /packages/libampere-dev_*.deb")
        project = self.root / "project"
        project.mkdir()
        shutil.copy(HERE.parent / "examples" / "estimate.cc", project)
        (project / "CMakeLists.txt").write_text(PROJECT)
        self.inside("cmake -S /project -B /out && cmake --build /out")
        self.inside("c++ -std=c++20 /project/estimate.cc $(pkg-config --cflags --static --libs ampere) -o /plain")
        told = self.inside("/out/mine /root/.local/share/ampere/profiles.db lenet5 8 60000 1")
        self.assertRegex(told, r"lenet5 on .*: \S+ J \(")
        self.assertEqual(told, self.inside("/plain /root/.local/share/ampere/profiles.db lenet5 8 60000 1"))


if __name__ == "__main__":
    support.main()
