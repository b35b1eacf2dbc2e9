#!/usr/bin/python3
"""ampere serve among strangers: what must be refused is, nothing is read or written that is none of theirs, and whoever
means well is still answered.

    tests/serve_hostile_test.py ampere=build/bin/ampere [worker=build/bin/ampere-worker]
"""

import contextlib
import http.client
import io
import json
import os
import random
import resource
import socket
import time
import zipfile

import support
from server import Server
from support import AmpereTest, PROGRAMS, QUICK, scripted

LENET = {"network": {"zoo": "lenet5"}, "batch": 10}
SEED = int(os.environ.get("AMPERE_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
TOKEN = "0123456789abcdef"


def statuses(got):
    """Of all responses in these bytes."""
    return [int(line.split()[1]) for line in got.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


class Hostile(AmpereTest):
    kept = None
    tried = 0

    def setUp(self):
        super().setUp()
        if Hostile.kept is None:
            self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, "--worker", scripted())
            Hostile.kept = self.store.read_bytes()
        self.store.write_bytes(Hostile.kept)
        self.addCleanup(lambda: print(f"{self.id().split('.')[-1]}: {self.tried} tried", flush=True))

    def count(self, n=1):
        self.tried += n

    def assert_well(self, server, **more):
        """Somebody who means well is answered."""
        answer = server.post("/api/v1/estimate", LENET, **more)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertGreater(answer.json()["estimates"][0]["iteration"]["energy_j"], 0)


class Mended(Hostile):
    """What somebody broke once."""

    def test_an_encoded_address_needs_the_token_too(self):
        server = Server(self, "--token", TOKEN)
        for way in ("/%61pi/v1/status", "/api/%761/devices", "/%6detrics", "/%61%70%69/v1/jobs", "/nothing", "/assets/../api/v1/status"):
            got = server.raw(f"GET {way} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            self.assertIn(statuses(got), ([401], [400]), (way, got[:300]))
            self.count()
        self.assertEqual(server.get("/").status, 200)

    def test_hosts_that_only_begin_as_ours(self):
        server = Server(self)
        for host in ("localhost:evil.com", "[::1]evil.com", "localhost:80:80", "localhost, evil.com", "localhost:1234567"):
            got = server.raw(f"GET /api/v1/status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            self.assertEqual(statuses(got), [403], (host, got[:300]))
            self.count()
        twice = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\nConnection: close\r\n\r\n"
        self.assertNotIn(200, statuses(server.raw(twice)))
        self.count()

    def test_other_codings_of_a_body(self):
        server = Server(self)
        for coding in ("xchunked", "gzip, chunked", "identity"):
            got = server.raw(f"POST /api/v1/estimate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             f"Transfer-Encoding: {coding}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
            self.assertIn(statuses(got), ([400], [501]), (coding, got[:300]))
            self.count()

    def test_it_ends_well_with_requests_half_sent(self):
        server = Server(self)
        begun = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
        for one in begun:
            one.sendall(b"POST /api/v1/estimate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        b"Content-Length: 1000\r\n\r\n{")
            self.count()
        time.sleep(0.3)
        self.assertEqual(server.stop(), 0)
        for one in begun:
            one.close()

    def test_requests_half_sent_keep_nobody_out(self):
        server = Server(self, "--most-connections", "20")
        for path, kind in (("estimate", "application/json"), ("networks?name=a.json", "application/octet-stream")):
            begun = [server.connect() for _ in range(40)]
            for one in begun:
                one.sendall(f"POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n{{".encode())
                self.count()
            self.assert_well(server)
            for one in begun:
                one.close()
        self.assertEqual(server.upload("a.json", b"{}").status, 400)  # places for files are free again

    def test_answers_that_nobody_takes_keep_nobody_out(self):
        server = Server(self, "--most-connections", "20")
        for _ in range(24):
            one = socket.socket()
            self.addCleanup(one.close)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            one.settimeout(3)
            one.connect(("127.0.0.1", server.port))
            with contextlib.suppress(OSError):
                one.sendall(1000 * b"GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.count()
        until = time.monotonic() + support.PATIENCE_S
        while True:  # some seconds are given to those who are slow
            with contextlib.suppress(OSError, http.client.HTTPException):
                if server.get("/api/v1/status").status == 200:
                    break
            self.assertLess(time.monotonic(), until)
            time.sleep(0.3)

    def test_whole_addresses_and_folded_headers(self):
        """As programs behind proxies, and very old ones, write them: their host counts, whatever else is said."""
        server = Server(self)
        for target, host, expected in (("http://localhost/api/v1/status", "localhost", 200), ("HTTP://127.0.0.1:1/api/v1/status", "evil.com", 200),
                                       ("http://evil.com/api/v1/status", "localhost", 403), ("http://localhost@evil.com/api/v1/status", "localhost", 403),
                                       ("http:///api/v1/status", "localhost", 403), ("http://localhost", "localhost", 200),
                                       ("http://localhost/../api/v1/status", "localhost", 400), ("/api/v1/status", "\r\n localhost", 200),
                                       ("/api/v1/status", "localhost\r\n evil.com", 403), ("/api/v1/status", "evil.com\r\n\tlocalhost", 403)):
            got = server.raw(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            self.assertEqual(statuses(got), [expected], (target, host, got[:300]))
            self.count()
        server = Server(self, "--token", TOKEN, "--state", self.folder / "other")
        for target in ("http://localhost/api/v1/status", "http://localhost//api/v1/status", "http://localhost/%61pi/v1/status"):
            got = server.raw(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            self.assertEqual(statuses(got), [401], (target, got[:300]))
            self.count()

    def test_limits_that_are_nearly_none(self):
        server = Server(self)
        server.post("/api/v1/estimate", {**LENET, "power_limit_w": 1e-9})
        self.count()
        self.assert_well(server)

    def test_a_network_of_millions_of_layers(self):
        server = Server(self)
        answer = server.post("/api/v1/layers", {"network": {"zoo": "transformer:layers=16777216"}})
        self.assertEqual(answer.status, 400, answer.body)
        self.count()

    def test_a_store_that_is_none(self):
        self.store.write_bytes(b"hello")
        server = Server(self)
        time.sleep(0.5)
        self.assertEqual(server.get("/").status, 200)
        self.assertEqual(server.get("/api/v1/devices").status, 503)
        self.assertEqual(server.get("/metrics").status, 200)
        self.assertEqual(server.stop(), 0)
        self.count()

    def test_two_servers_on_one_folder(self):
        first = Server(self)
        with self.assertRaisesRegex(AssertionError, "in use by another server"):
            Server(self)
        self.assert_well(first)
        self.count()

    def test_a_kept_file_that_was_spoiled(self):
        server = Server(self)
        network = self.output_of("convert", "lenet5").encode()
        headers = {"Content-Type": "application/octet-stream", "X-Filename": "net.json"}
        first = server.ask("POST", "/api/v1/networks", body=network, headers=headers)
        self.assertEqual(first.status, 201 if first.status == 201 else 200, first.body)
        server.stop()
        for kept in self.folder.glob("*.serve/networks/*.info"):
            kept.write_bytes(b"")
        again = Server(self).ask("POST", "/api/v1/networks", body=network, headers=headers)
        self.assertEqual(again.status, first.status, again.body)
        self.count()


class Addresses(Hostile):
    def test_paths(self):
        server = Server(self)
        ways = ["/../../../../etc/passwd", "/assets/../../../etc/passwd", "/assets/..%2f..%2f..%2fetc%2fpasswd",
                "/assets/%2e%2e/%2e%2e/etc/passwd", "/assets/....//....//etc/passwd", "/assets//etc/passwd",
                "/assets/..\\..\\etc\\passwd", "/assets/%5c..%5c..%5cetc", "/assets/%00", "/assets/index.html%00.js",
                "/assets/" + "a" * 8000, "/%c0%ae%c0%ae/etc/passwd", "/assets/%c0%af", "/assets/%", "/assets/%zz", "/assets/.",
                "/assets/", "/assets", "//etc/passwd", "/api/v1/networks/../../../etc/passwd", "/api/v1/networks/..%2fjobs",
                "/api/v1/networks/%2e%2e%2fjobs", "/api/v1/networks/" + "0" * 31 + "/file", "/api/v1/networks/" + "g" * 32,
                "/api/v1/networks/../profiles.db", "/api/v1/jobs/../../profiles.db", "/api/v1/jobs/..%2f..%2fprofiles",
                "/api/v1/jobs/.", "/api/v1/networks/%0d%0aSet-Cookie:x", "/api/v2/status", "/api/v1", "/api/v1/", "/.git/config",
                "/profiles.db", "/api/v1/status/", "/api/v1/devices/..%2f..%2f/knowledge"]
        for way in ways:
            with self.subTest(way=way[:80]):
                got = server.raw(f"GET {way} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                self.assertIn(statuses(got), ([400], [404]), got[:300])
                self.assertNotIn(b"root:", got)
                self.assertNotIn(b"Set-Cookie", got)
                self.count()
        self.assert_well(server)

    def test_no_paths_or_options_in_requests(self):
        """What stands for a file or an option on the command line is neither here."""
        server = Server(self)
        secret = self.folder / "secret.json"
        self.output_of("convert", "lenet5", "-o", secret)
        made = self.folder / "made"
        before = sorted(p.name for p in self.folder.iterdir())
        networks = [{"zoo": str(secret)}, {"zoo": "--help"}, {"zoo": f"--output={made}"}, {"id": str(secret)}, {"id": "../secret"},
                    {"zoo": "lenet5 --json"}, {"zoo": "lenet5:c1=--help"}, {"zoo": "lenet5\n"}, {"zoo": "./secret.json"}]
        for network in networks:
            for path in ("estimate", "layers", "prune", "tune", "jobs"):
                body = {"network": network, **{"prune": {"budget": "50%"}, "tune": {"samples": 10}, "jobs": {"kind": "profile"}}.get(path, {})}
                answer = server.post("/api/v1/" + path, body)
                self.assertIn(answer.status, (400, 404), (path, network, answer.body))
                self.count()
        for field, value in [("budget", f"--output={made}"), ("budget", "50% --check 3"), ("keep", [f"--output={made}"]),
                             ("risk", "--data=/"), ("device", "--worker=false"), ("min_channels", "-o"), ("device", "../x")]:
            answer = server.post("/api/v1/prune", {**LENET, "budget": "50%", field: value})
            self.assertIn(answer.status, (400, 422), (field, value, answer.body))
            self.count()
        for settings in (["--check"], ["-o", str(made)], [f"--output={made}"], ["batch=1 --check"]):
            self.assertEqual(server.post("/api/v1/tune", {**LENET, "samples": 10, "settings": settings}).status, 400)
            self.count()
        self.assertEqual(server.post("/api/v1/estimate", {**LENET, "devices": [f"sheet:{secret}"]}).json()["estimates"][0]["problem"]["kind"],
                         "bad_input")
        jobs = {"devices": [{"name": "a", "profile": ""}], "jobs": [{"name": "j", "network": str(secret), "samples": 10}]}
        self.assertEqual(server.post("/api/v1/schedule", jobs).status, 400)
        jobs["jobs"][0]["network"] = "lenet5"
        jobs["devices"][0]["store"] = "/etc/passwd"
        self.assertEqual(server.post("/api/v1/schedule", jobs).status, 400)
        for query in ("?risk=--help", "?simulate=--slurm", f"?solver=--output={made}", "?price-forecast=/etc/passwd", "?seed=x"):
            self.assertEqual(server.post("/api/v1/schedule" + query, {"devices": [{"name": "a"}], "jobs": []}).status, 400, query)
            self.count()
        for query in ("?dim=--help", "?batch=--help", "?input=--output=x", "?dim=a=b", "?output=x", "?name=../../x.json"):
            answer = server.upload("x.onnx", b"x", query)
            self.assertEqual(answer.status, 400, (query, answer.body))
            self.count()
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if p.name != "profiles.db.serve"),
                         [n for n in before if n != "profiles.db.serve"])


class Strangers(Hostile):
    def test_hosts_and_origins(self):
        server = Server(self, "--host", "ampere.example")
        port = server.port
        good = [{"Host": f"localhost:{port}"}, {"Host": f"127.0.0.1:{port}"}, {"Host": f"[::1]:{port}"}, {"Host": "ampere.example"},
                {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"},
                {"Host": "AMPERE.example:1", "Origin": "https://ampere.example:1"},
                {"Host": f"localhost:{port}", "Sec-Fetch-Site": "same-origin"}, {"Host": f"localhost:{port}", "Sec-Fetch-Site": "none"}]
        bad = [{"Host": "evil.example"}, {"Host": f"evil.example:{port}"}, {"Host": "localhost.evil.example"}, {"Host": ""},
               {"Host": "127.0.0.1.evil.example"}, {"Host": "192.168.1.1"}, {"Host": "[::2]"}, {"Host": "[::1"}, {"Host": "localhost, evil"},
               {"Host": f"localhost:{port}", "Origin": "http://evil.example"}, {"Host": f"localhost:{port}", "Origin": "null"},
               {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port + 1}"}, {"Host": f"localhost:{port}", "Origin": "http://localhost"},
               {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}.evil.example"},
               {"Host": f"localhost:{port}", "Origin": f"ftp://localhost:{port}"},
               {"Host": f"localhost:{port}", "Sec-Fetch-Site": "cross-site"}, {"Host": f"localhost:{port}", "Sec-Fetch-Site": "same-site"}]
        for headers in good:
            self.assertEqual(server.get("/api/v1/status", headers=headers).status, 200, headers)
            self.count()
        for headers in bad:
            answer = server.get("/api/v1/status", headers=headers)
            self.assertEqual(answer.status, 403, headers)
            self.assertNotIn("access-control-allow-origin", answer.headers)
            self.count()
        got = server.raw(b"GET /api/v1/status HTTP/1.0\r\n\r\n")
        self.assertEqual(statuses(got), [403])
        got = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        self.assertNotIn(200, statuses(got))
        # Asked beforehand, as a browser does for another site, it allows nothing.
        answer = server.ask("OPTIONS", "/api/v1/estimate", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
        self.assertGreaterEqual(answer.status, 400)
        self.assertFalse([h for h in answer.headers if h.startswith("access-control")])
        # Forms of other sites can send these types without asking.
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = server.post("/api/v1/estimate", json.dumps(LENET).encode(), headers={"Content-Type": kind})
            self.assertEqual(answer.status, 415, kind)
            self.count()

    def test_tokens(self):
        file = self.folder / "token"
        file.write_text(TOKEN + "\n")
        server = Server(self, "--token-file", file, "--bind", "0.0.0.0")
        right = {"Authorization": "Bearer " + TOKEN}
        self.assert_well(server, headers=right)
        for given in (None, "", "Bearer", "Bearer ", "Bearer x", "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "0", "Bearer " + TOKEN.upper(),
                      "Basic " + TOKEN, TOKEN, "Bearer  " + TOKEN, "Bearer " + TOKEN + " x", "bearer:" + TOKEN):
            headers = {} if given is None else {"Authorization": given}
            for path in ("/api/v1/status", "/metrics", "/api/v1/jobs", "/api/v1/openapi.json", "/api/v1/nothing"):
                answer = server.get(path, headers=headers)
                self.assertEqual((answer.status, answer.json()["kind"]), (401, "unauthorized"), (given, path))
                self.assertEqual(answer.headers["www-authenticate"], "Bearer")
                self.count()
        self.assertEqual(server.get("/api/v1/status?token=" + TOKEN).status, 401)
        # Before a file is sent, and not after.
        got = server.raw(b"POST /api/v1/networks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000000\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(statuses(got), [401])
        self.assertEqual(server.get("/").status, 200)  # the page asks for it
        self.assertEqual(server.stop(), 0)

    def test_headers_of_every_answer(self):
        server = Server(self)
        for path in ("/", "/api/v1/status", "/api/v1/nothing", "/metrics", "/assets/nothing"):
            answer = server.get(path)
            self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
            self.assertEqual(answer.headers["referrer-policy"], "no-referrer")
            policy = answer.headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            scripts = [p for p in policy.split(";") if "script-src" in p]
            self.assertNotIn("unsafe", "".join(scripts))
            self.count()
        self.assertNotIn("<script>", server.get("/").body.decode())

    def test_names_with_markup(self):
        server = Server(self)
        file = self.folder / "net.json"
        self.output_of("convert", "lenet5", "-o", file)
        network = json.loads(file.read_text())
        for name in ("<img src=x onerror=alert(1)>.json", "\"><script>alert(1)</script>.json", "a\u202egnp.json", "'; DROP TABLE point; --.json",
                     "x" * 900 + ".json", "..%2f..%2fx.json", "con\tname.json"):
            network["name"] = name
            network["nodes"][1]["name"] = name
            answer = server.upload("n.json", json.dumps(network).encode(), "?name=" + "".join(f"%{b:02x}" for b in name.encode()))
            self.assertIn(answer.status, (201, 400), answer.body)
            self.assertTrue(answer.headers["content-type"].startswith("application/"))
            self.count()
            if answer.status != 201:
                continue
            told = answer.json()
            self.assertLess(len(told["name"]), 300)
            self.assertNotIn("/", told["name"].replace("</script>", ""))
            file_answer = server.get(f"/api/v1/networks/{told['id']}/file")
            self.assertRegex(file_answer.headers["content-disposition"], r'^attachment; filename="[0-9a-f]{32}\.json"$')
            answer = server.post("/api/v1/layers", {"network": {"id": told["id"]}})
            self.assertEqual(answer.headers["content-type"], "application/json")
        for name in ("a\r\nSet-Cookie: x=1", "\0", "\x1b[31m"):
            with self.assertRaises(ValueError) if "\r" in name else self.subTest():
                self.assertGreaterEqual(server.upload(name, b"{}").status, 400)


class Limits(Hostile):
    def test_large_requests(self):
        server = Server(self, "--most-upload", "1", "--most-body", "64", "--request-seconds", "5")
        host = b"Host: localhost\r\nContent-Type: application/json\r\n"
        post = b"POST /api/v1/estimate HTTP/1.1\r\n" + host
        cases = [(post + b"Content-Length: 10000000000\r\n\r\n", 413), (post + b"Content-Length: 65537\r\n\r\n", 413),
                 (post + b"Content-Length: 99999999999999999999999999\r\n\r\n", 400), (post + b"Content-Length: -1\r\n\r\n", 400),
                 (post + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400), (post + b"Content-Length: 0x10\r\n\r\n", 400),
                 (post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
                 (post + b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b" " * 4096 + b"\r\n" + b"fff000\r\n" + b" " * 200000, 413),
                 (post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n", 400),
                 (post + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n", 400), (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
                 (post + b"Transfer-Encoding: gzip\r\n\r\nabc", 400), (post + b"\r\n", 400),
                 (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100000 + b"\r\n\r\n", 431),
                 (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
                 (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"H%d: 1\r\n" % i for i in range(10000)) + b"\r\n", 431),
                 (b"POST /api/v1/networks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nX-Filename: a.onnx\r\n"
                  b"Content-Length: 1048577\r\n\r\n", 413),
                 (b"POST /api/v1/networks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nX-Filename: a.onnx\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n200000\r\n" + b"x" * 0x200000 + b"\r\n0\r\n\r\n", 413)]
        for data, status in cases:
            with self.subTest(data=data[:150]):
                got = server.raw(data)
                # Where the connection went before all was sent, the answer may have gone with it.
                self.assertIn(statuses(got), ([status], []) if len(data) > 50000 else ([status],), got[:300])
                self.count()
        self.assert_well(server)
        self.assertEqual([p for p in (self.folder / "profiles.db.serve" / "networks").iterdir() if p.name.startswith("incoming")], [])

    def test_hostile_json(self):
        server = Server(self)
        deep = b"[" * 100000
        bodies = [deep, b'{"network":' * 5000, b'{"network":{"zoo":"lenet5"},"network":{"zoo":"har"}}', b'{"batch":1e999}', b"NaN", b'"\xff"',
                  b'{"network":{"zoo":"' + b"a" * 500000 + b'"}}', b'{"network":{"zoo":"lenet5"},"batch":99999999999999999999999}',
                  b'{"network":{"zoo":"lenet5"},"dims":{"' + b"x" * 10000 + b'":1}}', b'{"network":{"zoo":"lenet5:c1=99999999999"}}',
                  b'{"network":{"zoo":"resnet152:w1=16777216"},"batch":16777216}', b'{"network":{"zoo":"lenet5"},"samples":1e12,"epochs":1000000000}',
                  b'{"network":{"zoo":"lenet5"},"price":"1e308EUR/kWh"}', b'{"network":{"zoo":"lenet5"},"devices":[' + b'"",' * 1000 + b'""]}',
                  b"\0" * 1000, b"", b"{", b"\xef\xbb\xbf{}"]
        for path in ("estimate", "layers", "prune", "tune", "schedule", "jobs", "measured"):
            for body in bodies:
                answer = server.post("/api/v1/" + path, body, headers={"Content-Type": "application/json"})
                self.assertIn(answer.status, (200, 400, 422), (path, body[:80], answer.body[:300]))
                self.count()
        self.assert_well(server)

    def test_slow_clients(self):
        """Hundreds that send a byte now and then keep nobody from being answered, and are shown the door."""
        server = Server(self, "--header-seconds", "1", "--request-seconds", "1")
        before = server.memory()
        slow = [server.connect() for _ in range(300)]
        for n, connection in enumerate(slow):
            connection.sendall([b"G", b"GET / HTTP/1.1\r\nHost: loc", b"POST /api/v1/estimate HTTP/1.1\r\nHost: localhost\r\n"
                                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"][n % 3])
        self.assert_well(server)
        closed = 0
        for connection in slow:
            connection.settimeout(support.PATIENCE_S)
            try:
                while True:
                    got = connection.recv(65536)
                    if not got:
                        break
                    self.assertIn(statuses(got), ([408], []))
            except ConnectionError:
                pass
            closed += 1
        self.count(closed)
        self.assert_well(server)
        self.assertLess(server.memory() - before, 50_000)

    def test_those_who_do_not_read(self):
        """Whoever asks and never takes the answer is given up."""
        server = Server(self, "--request-seconds", "1")
        asked = b"GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000
        slow = []
        for _ in range(20):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.setblocking(False)
            try:
                connection.send(asked)
            except BlockingIOError:
                pass
            slow.append(connection)
        self.assert_well(server)
        deadline = time.monotonic() + support.PATIENCE_S
        while server.get("/metrics").body.decode().count("ampere_http_connections 1\n") == 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        self.count(len(slow))
        for connection in slow:
            connection.close()
        self.assert_well(server)

    def test_thousands_of_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 3000
        if hard != resource.RLIM_INFINITY and hard < wanted + 200:
            wanted = hard - 200
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted + 200), hard))
        server = Server(self, "--most-connections", "200")
        many = []
        for _ in range(wanted):
            many.append(server.connect())
            if len(many) % 500 == 0:
                self.assert_well(server)
        self.count(wanted)
        files = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        self.assertLess(files, 350)
        self.assert_well(server)
        for connection in many:
            connection.close()
        self.assert_well(server)

    def test_more_than_can_be_computed(self):
        """Searches beyond what runs at a time wait, and beyond what may wait are refused; estimates go on."""
        server = Server(self, "--most-seconds", "20")
        body = json.dumps({**LENET, "budget": "50%", "candidates": 3_000_000}).encode()
        asked = []
        for _ in range(40):
            connection = server.connect()
            connection.sendall(b"POST /api/v1/prune HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(body) + body)
            asked.append(connection)
        self.assert_well(server)
        refused = 0
        for connection in asked[-10:]:
            refused += statuses(connection.recv(100) + b"\r\n") == [503]
        self.assertGreater(refused, 0)
        self.count(len(asked))
        server.process.kill()


class Files(Hostile):
    def test_bombs(self):
        """Files that are small and become large are ended by the limits of the process that reads them."""
        worker = support.real() if "worker" in PROGRAMS else scripted()
        server = Server(self, "--most-seconds", "20", "--most-memory", "4096", worker=worker)
        before = server.memory()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("x/data.pkl", "x/constants.pkl", "x/version", "x/data/0"):
                with archive.open(name, "w") as member:
                    for _ in range(64):
                        member.write(b"\0" * (4 << 20))
        bomb = packed.getvalue()
        wide = b'{"name":"a","nodes":[' + b",".join(b'{"name":"n%d","op":"input","shape":[1,1]}' % i for i in range(200000)) + b"]}"
        files = [("bomb.pt", bomb, "?input=3x8x8"), ("a.pt", b"PK\3\4" + b"\0" * 1000, "?input=1"), ("a.pt", b"", "?input=1"),
                 ("deep.json", b"[" * 1_000_000, ""), ("wide.json", wide, ""), ("a.onnx", b"\x0a\xff\xff\xff\xff\x0f" * 100000, ""),
                 ("a.onnx", b"\x3a\x80\x80\x80\x80\x08" + b"\x0a\x02\x0a\x00" * 500000, ""), ("a.onnx", os.urandom(1 << 20), ""),
                 ("a.json", b'{"name":"a","nodes":[{"name":"i","op":"input","shape":[16777216,16777216,16777216]}]}', "")]
        for name, data, query in files:
            with self.subTest(name=name):
                answer = server.upload(name, data, query)
                self.assertIn(answer.status, (400, 422, 502), answer.body[:300])
                self.assertNotIn(str(self.folder), answer.body.decode())
                self.count()
        self.assert_well(server)
        self.assertLess(server.memory() - before, 100_000)

    def test_kept_files_have_a_limit(self):
        server = Server(self)
        file = self.folder / "net.json"
        self.output_of("convert", "lenet5", "-o", file)
        network = json.loads(file.read_text())
        ids = set()
        for n in range(5):
            network["name"] = f"n{n}"
            ids.add(server.upload("net.json", json.dumps(network).encode()).json()["id"])
            ids.add(server.upload("net.json", json.dumps(network).encode()).json()["id"])
            self.count(2)
        self.assertEqual(len(ids), 5)


class Noise(Hostile):
    def test_malformed_requests(self):
        """Requests with bytes changed, cut and doubled: an answer or a closed connection, and the server lives on."""
        rng = random.Random(SEED)
        server = Server(self, "--header-seconds", "5", "--request-seconds", "5")
        body = json.dumps(LENET).encode()
        seeds = [b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 b"POST /api/v1/estimate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body,
                 b"POST /api/v1/layers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n",
                 b"GET /api/v1/networks/00000000000000000000000000000000/file?x=%20 HTTP/1.1\r\nHost: [::1]:80\r\nExpect: 100-continue\r\n\r\n",
                 b"POST /api/v1/networks?name=a.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: 2\r\n\r\n{}"]
        words = [b"\r\n", b"\n", b"\0", b":", b" ", b"\t", b"\xff", b"HTTP/9.9", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"%", b"..",
                 b"\r\n\r\n", b"GET ", b"-1", b"99999999999999999999"]
        answers = {}
        for _ in range(1500):
            data = bytearray(rng.choice(seeds))
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(data) + 1)
                way = rng.randrange(4)
                if way == 0 and at < len(data):
                    data[at] = rng.randrange(256)
                elif way == 1:
                    data[at:at] = rng.choice(words)
                elif way == 2:
                    del data[at:at + rng.randint(1, 20)]
                else:
                    data[at:at] = data[at:at + rng.randint(1, 60)]
            for status in statuses(server.raw(bytes(data))) or [0]:
                answers[status] = answers.get(status, 0) + 1
                self.assertNotEqual(status, 500, bytes(data))
            self.count()
        print(f"AMPERE_TEST_SEED={SEED}:", dict(sorted(answers.items())))
        self.assert_well(server)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    support.main()
