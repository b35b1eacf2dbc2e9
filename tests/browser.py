"""A headless Chromium that pages are opened in, driven through its DevTools protocol.

It remembers what went wrong on a page (console errors, exceptions) and what the page asked the network for.
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import websocket

PATIENCE_S = 60


class Browser:
    """One browser process; use it in a with statement."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.mkdtemp(prefix="ampere-browser-")
        # No sandbox: it does not start as root, and only our own pages are opened.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={self.profile}",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        self.socket = None
        try:
            self.socket = websocket.create_connection(self._address(), timeout=PATIENCE_S, suppress_origin=True)
        except BaseException:
            self.close()
            raise
        self.number = 0
        self.session = None
        self.events = []
        self.refusals_expected = False  # by a server; the browser logs each as an error

    def _address(self):
        said = ""
        for line in self.process.stderr:
            said += line
            if found := re.search(r"DevTools listening on (ws://\S+)", line):
                return found[1]
        raise RuntimeError(f"chromium did not start:\n{said}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket:
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1280, height=900, dark=False, ready="!!window.ampereReport"):
        """Opens a file or an address in a new page and waits until it has put itself together: until `ready` is true
        there. Returns the seconds that took."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer(dark)
        self.events = []
        start = time.monotonic()
        served = str(path).startswith("http://")
        self.call("Page.navigate", url=str(path) if served else pathlib.Path(path).resolve().as_uri())
        deadline = start + PATIENCE_S
        while not self.evaluate(f"document.readyState === 'complete' && ({ready})"):
            if self.complaints() or time.monotonic() > deadline:
                raise AssertionError(f"{path} did not come up: {self.complaints()}")
            time.sleep(0.02)
        return time.monotonic() - start

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.settle()

    def prefer(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def settle(self):
        """Waits until the page has drawn what is due: its reaction to a new width comes a little later."""
        self.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 250))")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def complaints(self):
        """Console errors and warnings, exceptions, and what the browser itself logged."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"]))
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(params["args"]))
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                if self.refusals_expected and params["entry"]["source"] == "network":
                    continue
                found.append(json.dumps(params["entry"]))
        return found

    def requests(self):
        """All addresses that were asked for, the page itself among them."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def screenshot(self, path, whole=True):
        if whole:
            height = self.evaluate("document.documentElement.scrollHeight")
            width = self.evaluate("document.documentElement.clientWidth")
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        else:
            answer = self.call("Page.captureScreenshot", format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))

    def pdf(self, path):
        answer = self.call("Page.printToPDF", printBackground=True)
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))
