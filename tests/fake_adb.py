#!/usr/bin/python3
"""Stands in for adb, in tests: fake_adb.py [-s SERIAL] shell COMMAND...

The phone is the folder of ADB_PHONE. It is plugged in while there is a file `plugged` in it; pulled out, what runs there
ends and adb says what the real one does. A file `name` there is what its device calls itself (scripted_worker.py).
"""

import os
import pathlib
import subprocess
import sys
import time

phone = pathlib.Path(os.environ["ADB_PHONE"])
arguments = sys.argv[1:]
serial = arguments[1] if arguments[:1] == ["-s"] else "phone"
arguments = arguments[2:] if arguments[:1] == ["-s"] else arguments
if arguments[:1] != ["shell"]:
    sys.exit(f"adb: unknown command {arguments[:1]}")
if not (phone / "plugged").exists():
    print(f"adb: device '{serial}' not found", file=sys.stderr)
    sys.exit(1)

environment = dict(os.environ)
if (phone / "name").exists():
    environment["SCRIPTED_NAME"] = (phone / "name").read_text()
# As adb does, the words are put together and read by the shell of the phone.
running = subprocess.Popen(["sh", "-c", " ".join(arguments[1:])], env=environment, start_new_session=True)
while running.poll() is None:
    if not (phone / "plugged").exists():
        os.killpg(running.pid, 9)
        running.wait()
        sys.exit(1)
    time.sleep(0.01)
sys.exit(running.returncode)
