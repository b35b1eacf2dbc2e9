"""An `ampere serve` for tests of its page: a small store, a free port, and a browser's view of it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from support import PATIENCE_S, PROGRAMS, QUICK, scripted

READY = "!!document.querySelector('main[data-ready=yes]') && !document.querySelector('[data-busy=yes]')"


def environment(folder):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AMPERE_")}
    return {**kept, "HOME": str(folder), "AMPERE_STORE": str(folder / "profiles.db")}


def make_store(folder, *models, worker="ok"):
    """Profiles of an imaginary device, which needs no LibTorch."""
    for model in models:
        subprocess.run([PROGRAMS["ampere"], "profile", model, "--batch", "10", "-q", *QUICK, "--worker", scripted(worker)],
                       env=environment(folder), cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)


class PageServer:
    """Use it in a with statement; `address` ends in a slash."""

    def __init__(self, folder, *arguments, worker="ok", port=0):
        self.folder = pathlib.Path(folder)
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [PROGRAMS["ampere"], "serve", "--port", str(port), "--worker", worker if " " in worker else scripted(worker), *arguments], env=environment(self.folder),
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(r"http://[\w.\[\]:]+:\d+", self.said())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = self.said()
                self.close()
                raise AssertionError(f"ampere serve did not start: {said}")
            time.sleep(0.02)
        self.address = found[0] + "/"

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def new_folder(test):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-page-"))
    test.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder
