#!/usr/bin/python3
"""The Debian packages in a bare Debian 12: installed, run, and built against. As root, with debootstrap and a mirror,
which is the one that this machine's apt uses; takes minutes.

    tests/deb_test.py ampere=build/bin/ampere build=build cpack=/usr/bin/cpack
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support
from bare_debian import BareDebian, run
from support import HERE, PROGRAMS

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(mine LANGUAGES CXX)
find_package(ampere 0.2 CONFIG REQUIRED)
add_executable(mine estimate.cc)
target_link_libraries(mine PRIVATE ampere::ampere)
"""


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-deb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.root = cls.folder / "root"
        run(PROGRAMS["cpack"], "--config", f"{PROGRAMS['build']}/CPackConfig.cmake", "-B", cls.folder / "packages")
        bare = BareDebian(cls.root)
        bare.make()
        bare.take((cls.folder / "packages").glob("*.deb"))
        cls.inside = staticmethod(bare.inside)
        cls.inside("apt-get update -q && apt-get install -q -y --no-install-recommends "
                   "/packages/ampere_*.deb /packages/ampere-worker_*.deb")

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
