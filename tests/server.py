"""A server of ampere's own for a test: started in the test's folder, asked with Python's own HTTP client or with bare
sockets, and stopped at the end."""

import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import support


class Answer:
    """A response: status, headers by lower-case name, and the body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {k.lower(): v for k, v in headers}, body

    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, test, *options, worker=None, **changes):
        self.test = test
        command = test.command("serve", "--port", "0", "--store", test.store, "--worker",
                               worker or support.scripted(), *options)
        self.process = subprocess.Popen(command, env=test.environment(**changes), cwd=test.folder,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        encoding="utf-8", errors="replace")
        self.lines = []
        first = self.process.stderr.readline()
        found = re.search(r"serving on http://.*:(\d+)/", first)
        if not found:
            raise AssertionError(first + self.process.communicate()[1])
        self.port = int(found[1])
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        test.addCleanup(self.kill)

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def stop(self, how=signal.SIGTERM):
        """Ends it as its owner would; returns the exit status."""
        self.process.send_signal(how)
        return self.process.wait(timeout=support.PATIENCE_S)

    def memory(self):
        """Resident kibibytes."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])

    def ask(self, method, path, body=None, headers=None, timeout=support.PATIENCE_S):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            headers = dict(headers or {})
            if isinstance(body, (dict, list)):
                body = json.dumps(body).encode()
                headers.setdefault("Content-Type", "application/json")
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body, **more):
        return self.ask("POST", path, body, **more)

    def ok(self, method, path, body=None, status=200, **more):
        """The JSON of a request that must succeed."""
        answer = self.ask(method, path, body, **more)
        self.test.assertEqual(answer.status, status, answer.body[:2000])
        return answer.json()

    def upload(self, name, data, query="", **headers):
        return self.post("/api/v1/networks" + query, data,
                         headers={"Content-Type": "application/octet-stream", "X-Filename": name, **headers})

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=support.PATIENCE_S)
        self.test.addCleanup(connection.close)
        return connection

    def raw(self, data, timeout=30):
        """All that comes back for these bytes until the server closes, or nothing more comes."""
        connection = self.connect()
        connection.settimeout(timeout)
        got = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(1 << 16):
                got += chunk
        except OSError:
            pass
        connection.close()
        return got

    def events(self, job, **more):
        """Yields (event, data) of a job until it is over."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=support.PATIENCE_S)
        connection.request("GET", f"/api/v1/jobs/{job}/events", **more)
        response = connection.getresponse()
        self.test.assertEqual(response.status, 200)
        self.test.assertEqual(response.getheader("Content-Type"), "text/event-stream")
        event = None
        for line in response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                yield event, json.loads(line[6:])
        connection.close()

    def wait_for(self, job, *states):
        deadline = time.monotonic() + support.PATIENCE_S
        while time.monotonic() < deadline:
            told = self.ok("GET", f"/api/v1/jobs/{job}")
            if told["state"] in states:
                return told
            time.sleep(0.05)
        self.test.fail(f"job {job} is {told['state']}, not {states}")
