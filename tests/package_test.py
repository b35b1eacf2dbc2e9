#!/usr/bin/python3
"""The installed library, as another project finds it: with CMake, and with pkg-config and a compiler alone.

    tests/package_test.py ampere=build/bin/ampere build=build cmake=/usr/bin/cmake
"""

import os
import pathlib
import shlex
import subprocess
import unittest

import support
from support import AmpereTest, HERE, PATIENCE_S, PROGRAMS, QUICK, scripted

SOURCE = HERE.parent / "examples" / "estimate.cc"
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(mine LANGUAGES CXX)
find_package(ampere {version} CONFIG REQUIRED)
add_executable(mine estimate.cc)
target_link_libraries(mine PRIVATE ampere::ampere)
"""


class Package(AmpereTest):
    """Only what `cmake --install` copied is seen: neither this build nor these sources."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cls.cleanup_class_folder)
        cls.root = pathlib.Path(support.tempfile.mkdtemp(prefix="ampere-package-"))
        cls.prefix = cls.root / "installed"
        cls.run_or_fail([PROGRAMS["cmake"], "--install", PROGRAMS["build"], "--prefix", cls.prefix, "--component", "dev"])

    @classmethod
    def cleanup_class_folder(cls):
        support.shutil.rmtree(cls.root, ignore_errors=True)

    @staticmethod
    def run_or_fail(command, **more):
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=PATIENCE_S, **more)
        if done.returncode != 0:
            raise AssertionError(f"{shlex.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def configure(self, version):
        project = self.folder / "project"
        project.mkdir(exist_ok=True)
        (project / "estimate.cc").write_bytes(SOURCE.read_bytes())
        (project / "CMakeLists.txt").write_text(PROJECT.format(version=version))
        return [PROGRAMS["cmake"], "-G", "Ninja", "-S", project, "-B", self.folder / "out", f"-DCMAKE_PREFIX_PATH={self.prefix}"]

    def pkg_config(self, *options):
        files = next(self.prefix.rglob("ampere.pc")).parent
        return self.run_or_fail(["pkg-config", *options, "ampere"], env={**os.environ, "PKG_CONFIG_PATH": str(files)}).split()

    def assert_estimates(self, program):
        """It tells what `ampere estimate` tells of the same store, and what is wrong with another."""
        self.output_of("profile", "lenet5", "--batch", "8", "--worker", scripted(), *QUICK)
        told = self.json_of("estimate", "lenet5", "--batch", "8", "--samples", "6000", "--epochs", "2")
        lines = self.run_or_fail([program, self.store, "lenet5", 8, 6000, 2]).splitlines()
        job = told["job"]
        self.assertEqual(lines[-1], f"lenet5 on imaginary device: {job['energy_j']:.3g} J ({job['energy_low_j']:.3g} to "
                                    f"{job['energy_high_j']:.3g}), {job['time_s']:.3g} s")
        self.assertEqual([line.split()[:2] for line in lines[:-1]], [[layer["name"], layer["kind"]] for layer in told["layers"]])
        missing = subprocess.run([program, self.folder / "none.db", "lenet5", "8", "1", "1"], capture_output=True, text=True)
        self.assertEqual((missing.returncode, missing.stdout), (2, ""))
        self.assertIn("no such store", missing.stderr)

    def test_found_by_cmake(self):
        self.run_or_fail(self.configure("0.2"))
        self.run_or_fail([PROGRAMS["cmake"], "--build", self.folder / "out"])
        self.assert_estimates(self.folder / "out" / "mine")

    def test_another_version_is_not_found(self):
        done = subprocess.run(list(map(str, self.configure("0.3"))), capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("version: 0.2", done.stderr)

    def test_found_by_pkg_config(self):
        program = self.folder / "mine"
        self.run_or_fail(["c++", "-std=c++20", SOURCE, *self.pkg_config("--cflags", "--static", "--libs"), "-o", program])
        self.assert_estimates(program)
        self.assertEqual(self.pkg_config("--modversion"), self.output_of("--version").split())

    def test_headers_stand_alone(self):
        """Each of them, by itself, with the standard library and nothing else, without a warning."""
        headers = sorted(path.relative_to(self.prefix / "include") for path in self.prefix.rglob("*.h"))
        self.assertGreater(len(headers), 8)
        for header in headers:
            self.run_or_fail(["c++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                              f"-I{self.prefix}/include", "-x", "c++", "-include", header, "/dev/null"])

    def test_nothing_of_torch(self):
        """The program that estimates never links LibTorch."""
        self.assertNotIn("torch", self.run_or_fail(["ldd", PROGRAMS["ampere"]]))
        self.assertNotIn("torch", " ".join(self.pkg_config("--static", "--libs")))


if __name__ == "__main__":
    support.main()
