#!/usr/bin/python3
"""Builds the Python package's wheel and installs it: tests/build_wheel.py PIP PACKAGE FOLDER.

FOLDER has that wheel and no other afterwards.
"""

import pathlib
import subprocess
import sys

pip, package, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
for old in folder.glob("*.whl"):
    old.unlink()
quiet = ["--quiet", "--disable-pip-version-check", "--no-deps"]
subprocess.run([pip, "wheel", *quiet, "--no-build-isolation", "--wheel-dir", str(folder), package], check=True)
(wheel,) = folder.glob("*.whl")
subprocess.run([pip, "install", *quiet, "--force-reinstall", "--no-index", str(wheel)], check=True)
