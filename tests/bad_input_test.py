#!/usr/bin/python3
"""Whatever goes wrong gives one clear message, the documented exit code, and loses no measured point.

    tests/bad_input_test.py ampere=build/bin/ampere fake_worker=build/tests/fake_worker
"""

import json
import os
import resource
import shlex
import sqlite3
import subprocess
import unittest

import support
from support import AmpereTest, DATA, PROGRAMS, rows, scripted

IMAGE = {"op": "input", "shape": [3, 8, 8]}


def conv(channels):
    return {"op": "conv2d", "out_channels": channels, "kernel": 3}


# File name, its text, and what the message must say.
NETWORKS = [
    ("malformed", '{"nodes": [', r"not valid JSON.*line 1"),
    ("empty", "", r"empty"),
    ("binary", "\x00\x01\x02", r"not valid JSON"),
    ("a number", "7", r"expected a JSON object"),
    ("deep", "[" * 1000 + "]" * 1000, r"nested deeper"),
    ("no nodes", {}, r'"nodes" is missing'),
    ("nodes is empty", {"nodes": []}, r'"nodes" is empty'),
    ("newer format", {"schema_version": 2, "nodes": [IMAGE]}, r"schema_version 2.*update ampere"),
    ("unknown field", {"nodes": [IMAGE], "nods": []}, r'unknown field "nods" \(known: '),
    ("unknown op", {"nodes": [IMAGE, {"name": "w", "op": "warp"}]}, r'node "w": unknown op "warp" \(known: '),
    ("unknown attribute", {"nodes": [IMAGE, {"op": "relu", "slope": 1}]}, r'unknown attribute "slope"'),
    ("missing attribute", {"nodes": [IMAGE, {"op": "conv2d", "kernel": 3}]}, r'"out_channels" is missing'),
    ("wrong type", {"nodes": [IMAGE, conv("six")]}, r'out_channels'),
    ("zero channels", {"nodes": [IMAGE, conv(0)]}, r"out_channels.*0"),
    ("negative channels", {"nodes": [IMAGE, conv(-3)]}, r"out_channels.*-3"),
    ("huge channels", {"nodes": [IMAGE, conv(1 << 40)]}, r"out_channels"),
    ("channels beyond 64 bits", {"nodes": [IMAGE, conv(1 << 70)]}, r"out_channels"),
    ("unknown input", {"nodes": [IMAGE, {"op": "relu", "inputs": ["y"]}]}, r'reads "y", but no earlier node'),
    ("unknown output", {"nodes": [IMAGE, conv(2)], "outputs": ["y"]}, r'reads "y", but no earlier node'),
    ("same name twice", {"nodes": [{**IMAGE, "name": "a"}, {**conv(2), "name": "a"}]}, r'"a"'),
    ("shape mismatch", {"nodes": [{"name": "x", **IMAGE}, {"name": "c", **conv(4)},
                                  {"name": "sum", "op": "add", "inputs": ["x", "c"]}]}, r'"?sum"?'),
    ("kernel too large", {"nodes": [{"op": "input", "shape": [3, 2, 2]}, {"name": "c", **conv(4)}]}, r'"?c"?'),
    ("a key twice", '{"nodes": [{"op": "input", "shape": [3, 8, 8]}, {"op": "relu", "op": "tanh"}]}',
     r'the key "op" is there twice in "nodes"\[1\]'),
    ("too many inputs", {"nodes": [{"name": "x", **IMAGE}, {"name": "sum", "op": "add", "inputs": ["x"] * 90000}]},
     r'node "sum" \(add\): needs at most 1024 inputs, found 90000'),
    ("too few inputs", {"nodes": [{"name": "x", **IMAGE}, {"name": "sum", "op": "add", "inputs": ["x"]}]},
     r'node "sum" \(add\): needs at least 2 inputs, found 1'),
    ("linear over an embedding index", {"nodes": [IMAGE, {"op": "embedding", "vocabulary": 9, "dim": 2}]}, r"embedding|int"),
]

# Arguments after the program's name, exit code and what the message must say.
USAGE = [
    ([], 2, r"verb is missing .*known: .*profile.*ampere --help"),
    (["dance"], 2, r'no verb "dance" .*ampere --help'),
    (["store", "dance"], 2, r'no verb "dance" .*ampere store --help'),
    (["layers"], 2, r"MODEL is required.*ampere layers --help"),
    (["layers", "lenet5", "cnn5"], 2, r"cnn5.*ampere layers --help"),
    (["layers", "lenet5", "--dance"], 2, r"--dance.*ampere layers --help"),
    (["layers", "lenet6"], 2, r'no network is called "lenet6" \(known: lenet5, '),
    (["layers", "lenet5:c9=3"], 2, r'no parameter "c9" \(known: c1, '),
    (["layers", "lenet5:c1=0"], 2, r'"c1" must be .*at least 1'),
    (["layers", "lenet5:c1=six"], 2, r'"c1" must be .*found "six"'),
    (["layers", "lenet5:c1=99999999999999999999"], 2, r'"c1"'),
    (["layers", "transformer:hidden=5"], 2, r"hidden"),
    (["layers", "lenet5", "--batch", "0"], 2, r"--batch.*1 to 16777216"),
    (["layers", "lenet5", "--batch", "-1"], 2, r"--batch.*1 to 16777216"),
    (["layers", "lenet5", "--batch", "99999999999999999999"], 2, r"--batch.*1 to 16777216"),
    (["layers", "lenet5", "--batch", "ten"], 2, r"--batch.*ten"),
    (["layers", "lenet5", "--batch"], 2, r"--batch"),
    (["layers", "missing.json"], 2, r"missing.json: cannot be opened; check"),
    (["layers", "."], 2, r"must end in \.json.*ampere models"),
    (["layers", "folder.json"], 2, r"folder\.json: is a folder"),
    (["estimate", "lenet5", "--method", "magic"], 2, r'no method is called "magic" \(known: split, paper, paper-replay, neuralpower\)'),
    (["profile", "lenet5", "--method", "split,magic"], 2, r'no method is called "magic"'),
    (["profile", "--method", "split", "lenet6"], 2, r'no network is called "lenet6"'),
    (["profile", "lenet5", "--optimizer", "lion"], 2, r"--optimizer.*sgd"),
    (["profile", "lenet5", "--points-2d", "1"], 2, r"--points-2d.*4 to 1000"),
    (["profile", "lenet5", "--meter", "magic", "-q"], 2, r"no meter is called 'magic'"),
    (["evaluate", "lenet5", "--samples", "0"], 2, r"--samples"),
    (["evaluate", "lenet5", "-o", "no/such/folder/x"], 2, r"no/such/folder/x\.json: cannot be written"),
    (["evaluate"], 2, r"name a MODEL to evaluate, or a suite with --suite paper"),
    (["evaluate", "--suite", "mine"], 2, r'no suite is called "mine" \(known: paper\)'),
    (["evaluate", "--suite", "paper", "--only", "lenet5"], 2, r'the suite has no run "lenet5" \(known: lenet5-b10, '),
    (["evaluate", "lenet5", "--mode", "replay"], 2, r"a CPU has nothing to replay; leave --mode away"),
    (["evaluate", "lenet5", "--mode", "replay", "--method", "paper"], 2, r"paper tells the cost of eager training only"),
    (["evaluate", "--suite", "paper", "--batch", "3"], 2, r"a suite says itself what is trained"),
    (["evaluate", "--suite", "paper", "-o", "/dev/null/x"], 2, r"/dev/null/x: cannot be made .*--output"),
    (["evaluate", "--suite", "paper", "--json"], 2, r"leave --json away"),
    (["estimate", "lenet5", "--mode", "replay", "--method", "paper"], 2, r"paper tells the cost of eager training only"),
    (["estimate", "lenet5", "--method", "paper-replay"], 2, r"paper-replay tells the cost of replayed training only"),
    (["evaluate", "lenet5", "--passes", "1"], 2, r"--passes"),
    (["profile", "lenet5", "--target", "0"], 2, r"--target must be a percentage above 0"),
    (["profile", "lenet5", "--target", "5%", "--method", "paper"], 2, r"--target goes with --method split only"),
    (["estimate", "lenet5", "--probe", "--method", "paper"], 2, r"--probe and --exact go with --method split only"),
    (["estimate", "lenet5", "--probe", "--device", "12"], 2, r"leave --device away"),
    (["evaluate", str(DATA / "twin_a.json")], 2, r"zoo families only; see: ampere models"),
    (["additivity", "--layers", "0"], 2, r"--layers.*2 to 1000.*ampere additivity --help"),
    (["additivity", "--layers", "six"], 2, r"--layers.*six"),
    (["additivity", "--channels", "0"], 2, r"--channels.*1 to 16777216"),
    (["additivity", "--size", "-28"], 2, r"--size.*1 to 16777216"),
    (["additivity", "--size", "16777216"], 2, r'node "conv1" \(conv2d\)|node "input'),
    (["additivity", "--passes", "1"], 2, r"--passes.*2 to 1000"),
    (["additivity", "--mode", "lazy"], 2, r"--mode.*eager"),
    (["additivity", "--mode", "both"], 2, r"--mode both: this device \(cpu\) has nothing to replay; use --mode eager"),
    (["additivity", "--mode", "replay", "--phases"], 2, r"--phases compares with eager training"),
    (["additivity", "--meter", "magic", "-q"], 2, r"no meter is called 'magic'"),
    (["additivity", "-o", "no/such/folder/x.json"], 2, r"no/such/folder/x\.json: cannot be written"),
    (["estimate", "lenet5", "--samples", "-5"], 2, r"--samples"),
    (["estimate", "lenet5", "--sheet", "h900"], 2, r'no data sheet of "h900" is known.*a100-40, '),
    (["estimate", "lenet5", "--sheet", "h100", "--exact"], 2, r"leave --probe, --exact and --device away"),
    (["estimate", "lenet5", "--device", "0000"], 2, r"no device .* has the id 0000; see: ampere store list"),
    (["--config", "missing.toml", "models"], 2, r"missing\.toml"),
    (["--config", "/dev/zero", "models"], 2, r"--config: /dev/zero: is no ordinary file"),
    (["--config", ".", "models"], 2, r"--config: \.: is no ordinary file"),
    (["profile", "lenet5", "--meter", b"cpu\xff\xfe", "-q"], 2, r"--meter: .*not UTF-8; see: ampere detect"),
    (["estimate", "lenet5", "--meter", b"\xff"], 2, r"--meter: .*not UTF-8"),
    (["measure", "--meter", b"\xff", "--", "true"], 2, r"--meter: .*not UTF-8"),
    (["store", "list", "--store", ""], 2, r"--store: must name a file"),
    (["store", "list", "--store", ":memory:"], 2, r'--store must name a file, found ":memory:"; .*\./:memory:'),
    (["store", "list", "--store", "file:x.db?mode=memory"], 2, r"--store must name a file"),
    (["store", "list", "--store", "postgresq://ann@db.lab/ampere"], 2, r'"postgresq:/\.\.\." is no address of a store'),
    (["store", "list", "--store", "postgresql:/ann@db.lab/ampere"], 2, r"those begin with postgresql://"),
    (["profile", "lenet5", "-q", "--store", ":memory:"], 2, r"--store must name a file"),
    (["profile", "lenet5", "-q", "--store", ""], 2, r"--store: must name a file"),
    (["store", "remove"], 2, r"--point is required"),
    (["store", "remove", "--point", "first"], 2, r"--point.*first"),
    (["store", "remove", "--point", "1"], 2, r"there is no point 1; see: ampere store check"),
    (["measure", "-o", "/no/such/folder/x.json", "--", "touch", "ran"], 2, r"/no/such/folder/x\.json: cannot be written"),
]

# Mode of fake_worker, exit code and what the message must say.
FAKE_WORKERS = [
    ("dies-at-start", r"died \(exit status 7\).*no device.*run it by hand"),
    ("dies", r"died \(exit status 3\).*the device is on fire.*run it by hand"),
    ("killed", r"died \(signal 9.*out of memory"),
    ("hangs", r"did not answer within 1 s and was stopped"),
    ("chatters", r"did not answer within 1 s and was stopped"),
    ("closes", r"closed its standard output|did not answer within"),
    ("garbage", r"answered nonsense .*Loading libraries.*docs/protocol\.md"),
    ("list", r"answered nonsense"),
    ("no-result", r"answered nonsense"),
    ("wrong-id", r"answered nonsense.*id"),
    ("huge", r"more than 64 MiB"),
    ("newer", r"speaks protocol 2 .*update ampere"),
    ("older", r"speaks protocol 0 .*update the worker"),
    ("refuses", r"no licence"),
    ("error", r"the worker says: does not fit"),
    ("ok", r"answered nonsense .*device.*docs/protocol\.md"),  # its answer to detect is empty
]

# What scripted_worker.py does in the middle of profiling, and what the message must say when it does so for good.
MISHAPS = [
    ("dies", r"died \(exit status 1\) when asked to measure .*vanished"),
    ("garbage", r"answered nonsense .*docs/protocol\.md"),
    ("nan", r"answered nonsense .*cannot be true"),
    ("hangs", r"did not answer within .*was stopped"),
    ("stops", r"the worker says: the imaginary device is tired"),
]


class BadNetwork(AmpereTest):
    def test_files(self):
        path = self.folder / "network.json"
        for name, content, pattern in NETWORKS:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            for verb in (["layers"], ["estimate", "--batch", "2"], ["profile", "-q", "--worker", scripted()]):
                with self.subTest(name, verb=verb[0]):
                    self.assert_refused(self.run_ampere(*verb, path), 2, r"network\.json: ", pattern)

    def cpu_seconds_to_refuse(self, nodes):
        path = self.folder / "many.json"
        path.write_text('{"nodes": [' + ", ".join(['{"op": "relu"}'] * nodes) + "]}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assert_refused(self.run_ampere("layers", path), 2, r"many\.json: more than 20000 nodes")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_many_nodes_take_no_quadratic_time(self):
        """Ten times the nodes took a hundred times the work before they were counted."""
        self.assertLess(self.cpu_seconds_to_refuse(400_000), 40 * self.cpu_seconds_to_refuse(40_000))

    def test_file_that_is_not_utf8(self):
        path = self.folder / "latin.json"
        path.write_bytes(b'{"name": "\xe9\xff", "nodes": []}')
        self.assert_refused(self.run_ampere("layers", path), 2, r"latin\.json: not valid JSON")


def field(number, content):
    """One field of a protobuf message: bytes, text or a small number."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content


def onnx_of(names):
    """An ONNX file of a chain of Relu with these names."""
    value = field(2, field(1, field(1, 1) + field(2, b"".join(field(1, field(1, d)) for d in (1, 3, 8, 8)))))
    nodes = b"".join(field(1, field(1, b"t%d" % i) + field(2, b"t%d" % (i + 1)) + field(3, name) + field(4, b"Relu"))
                     for i, name in enumerate(names))
    graph = nodes + field(2, b"g") + field(11, field(1, b"t0") + value) + field(12, field(1, b"t%d" % len(names)) + value)
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


class BadName(AmpereTest):
    def test_onnx_file_whose_names_are_not_utf8(self):
        """Also where a long name is cut within a character."""
        path = self.folder / os.fsdecode(b"odd\xff.onnx")
        path.write_bytes(onnx_of([b"\xff\xfe", b"x" + 100 * "\u00fc".encode(), b"last"]))
        self.output_of("profile", path, "-q", *support.QUICK, "--worker", scripted())
        self.assertEqual(self.json_of("estimate", path)["model"], "odd\ufffd")
        self.output_of("convert", path, "-o", "network.json")
        self.assertEqual([node["name"] for node in json.loads((self.folder / "network.json").read_text())["nodes"]][1:],
                         ["\ufffd\ufffd", "x" + 59 * "\u00fc" + "\ufffd", "last"])

    def test_torchscript_file_whose_name_is_not_utf8(self):
        path = self.folder / os.fsdecode(b"odd\xff.pt")
        path.write_bytes(b"PK")
        started = self.folder / "started"
        done = self.run_ampere("layers", path, "--input", "3x8x8", "--worker", f"touch {started}; exit 1")
        self.assert_refused(done, 2, r"odd\\xff\.pt: .*not UTF-8.*rename the file")
        self.assertFalse(started.exists())


class BadUsage(AmpereTest):
    def test_command_lines(self):
        (self.folder / "folder.json").mkdir()
        for arguments, code, pattern in USAGE:
            # Whatever bytes the user gives.
            arguments = [os.fsdecode(word) for word in arguments]
            with self.subTest(repr(arguments)):
                self.assert_refused(self.run_ampere(*arguments, env={"AMPERE_WORKER": scripted()}), code, pattern)
        self.assertFalse((self.folder / "ran").exists(), "refused before anything runs")

    def test_config_files(self):
        path = self.folder / "options.toml"
        for text, code, pattern in (("[layers]\nbatch = 7\n", 0, ""),
                                    ("[layers]\nbacth = 7\n", 2, r'--config: there is no option "layers\.bacth"'),
                                    ("[lairs]\nbatch = 7\n", 2, r'--config: there is no option "lairs'),
                                    ("batch = 7\n", 2, r'--config: there is no option "batch"'),
                                    ("# nothing\n" * 200000, 2, r"options\.toml: larger than 1 MiB")):
            with self.subTest(text[:30]):
                path.write_text(text)
                done = self.run_ampere("--config", path, "layers", "lenet5", "--json")
                if code:
                    self.assert_refused(done, code, pattern)
                else:
                    self.assertEqual(json.loads(done.stdout)["batch"], 7)

    def test_no_home(self):
        homeless = {"HOME": "", "XDG_DATA_HOME": "", "AMPERE_STORE": "", "AMPERE_WORKER": scripted()}
        for verb in (["store", "list"], ["estimate", "lenet5"], ["prune", "lenet5", "--budget", "50%"], ["report"],
                     ["profile", "lenet5", "-q"], ["store", "check"]):
            with self.subTest(verb[0]):
                done = self.run_ampere(*verb, env=homeless)
                self.assert_refused(done, 2, r"neither HOME nor XDG_DATA_HOME .*--store or AMPERE_STORE")
        self.assertEqual(self.output_of("models", env=homeless).count("lenet5"), 1)
        self.assert_refused(self.run_ampere("store", "list", env={"AMPERE_STORE": ":memory:"}), 2, r"must name a file")
        self.assertFalse((self.folder / ".local").exists())

    def test_time_limit_that_is_no_number(self):
        done = self.run_ampere("detect", env={"AMPERE_WORKER": scripted(), "AMPERE_WORKER_TIMEOUT": "soon"})
        self.assert_refused(done, 2, r'AMPERE_WORKER_TIMEOUT must be .*found "soon"')

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(self.command("models"), env=self.environment(), stdout=full, stderr=subprocess.PIPE,
                                  encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^ampere: standard output cannot be written")


class BadStore(AmpereTest):
    VERBS = (["estimate", "lenet5", "--batch", "10"], ["store", "list"], ["store", "show"],
             ["profile", "lenet5", "-q", "--worker", scripted()])

    def profiled(self):
        self.output_of("profile", "lenet5", "-q", "--worker", scripted(), *support.QUICK)
        return self.store.read_bytes()

    def refuse_all(self, code, pattern):
        before = self.store.read_bytes() if self.store.is_file() else None
        for verb in self.VERBS:
            with self.subTest(verb[0]):
                self.assert_refused(self.run_ampere(*verb), code, pattern)
        if before is not None:
            self.assertEqual(self.store.read_bytes(), before, "a refused file must not be touched")

    def test_text_file(self):
        self.store.write_text("dear diary, " * 500)
        self.refuse_all(2, r"not an ampere store, or damaged: .*--store")

    def test_truncated(self):
        whole = self.profiled()
        for size in (100, 3000, len(whole) // 2, len(whole) - 4096):
            self.store.write_bytes(whole[:size])
            self.refuse_all(2, r"damaged: move it away or name another with --store")

    def test_newer_version(self):
        self.profiled()
        with sqlite3.connect(self.store) as db:
            db.execute("PRAGMA user_version = 99")
        db.close()
        self.refuse_all(2, r"newer version of ampere \(store version 99.*update ampere or name another with --store")

    def test_another_program(self):
        with sqlite3.connect(self.store) as db:
            db.execute("CREATE TABLE bookmarks(address TEXT)")
        db.close()
        self.refuse_all(2, r"another program; name another with --store")

    def test_reading_makes_nothing(self):
        self.store = self.folder / "not" / "here" / "profiles.db"
        for verb, code in ((["estimate", "lenet5"], 6), (["store", "show"], 6), (["prune", "lenet5", "--budget", "50%"], 6),
                           (["report", "-o", self.folder / "x.html"], 6)):
            with self.subTest(verb[0]):
                self.assert_refused(self.run_ampere(*verb), code, r"profiled.* yet")
        jobs = {"devices": [{"name": "here", "profile": "12ab", "battery": {"capacity": "9Wh", "charge": "9Wh", "reserve": "0Wh"}}],
                "jobs": [{"name": "a", "network": "lenet5", "batch": 10, "samples": 1000, "epochs": 2}]}
        (self.folder / "jobs.json").write_text(json.dumps(jobs))
        self.assert_refused(self.run_ampere("schedule", self.folder / "jobs.json"), 2, r"no device in .* has the id 12ab")
        done = self.run_ampere("store", "list")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^ampere: .*not/here/profiles\.db: nothing was measured yet; run: ampere profile")
        self.assert_refused(self.run_ampere("store", "check"), 2, "no such store")
        self.assertFalse((self.folder / "not").exists())

    def test_folder(self):
        self.store.mkdir()
        self.refuse_all(2, r"a folder; --store must name a file")

    def test_no_folder_can_be_made(self):
        (self.folder / "file").write_text("")
        self.store = self.folder / "file" / "profiles.db"
        self.refuse_all(1, r"cannot be created: .*--store")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_unwritable_folder(self):
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        # Those who only read find nothing there; nothing is to be made.
        self.assert_refused(self.run_ampere(*self.VERBS[-1]), 1, r"unable to open database file; check its permissions")
        self.assert_refused(self.run_ampere(*self.VERBS[0]), 6, r"not profiled")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_read_only_store_is_enough_to_estimate(self):
        self.profiled()
        self.store.chmod(0o400)
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        self.output_of("estimate", "lenet5")

    def test_empty_file_becomes_a_store(self):
        self.store.write_bytes(b"")
        self.profiled()
        self.assert_intact()


class FullDisk(AmpereTest):
    """Points measured before the disk is full are kept, and profiling goes on when there is room again."""

    PROFILE = ["profile", "lenet5", "--batch", "10", "-q", "--points-2d", "30", "--worker", scripted()]

    def check(self, done):
        self.assert_refused(done, 1, r"disk.*what was measured so far is kept")
        self.assert_intact()
        kept = rows(self.store)
        self.assertGreater(len(kept), 2)
        again = self.json_of(*self.PROFILE)["methods"]["split"]
        self.assertGreater(again["points_reused"], 0)
        self.assertEqual(rows(self.store)[:len(kept)], kept)
        self.output_of("estimate", "lenet5", "--batch", "10")

    def test_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (60 << 10, 60 << 10))

        # Python ignores SIGXFSZ; ampere inherits that and sees the write fail.
        self.check(self.run_ampere(*self.PROFILE, preexec_fn=limit, restore_signals=False))

    def test_full_file_system(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        self.store = disk / "profiles.db"
        done = self.run_ampere(*self.PROFILE)
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        self.check(done)


class OutputFiles(AmpereTest):
    """A file that somebody asked for is there as a whole, or as it was before."""

    def test_full_disk_keeps_the_older_report(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (60 << 10, 60 << 10))

        results = support.HERE.parent / "results" / "cpu" / "cnn5-b10.json"
        report = self.folder / "folder" / "report.html"
        report.parent.mkdir()
        report.write_text("of yesterday")
        done = self.run_ampere("report", "-o", report, "-q", "--results", results, preexec_fn=limit, restore_signals=False)
        self.assert_refused(done, 1, r"report\.html: cannot be written \(File too large\); what was there before is kept")
        self.assertEqual(report.read_text(), "of yesterday")
        self.assertEqual(os.listdir(report.parent), ["report.html"])
        self.output_of("report", "-o", report, "-q", "--results", results)
        self.assertIn("</html>", report.read_text(encoding="utf-8"))
        self.assertEqual(os.listdir(report.parent), ["report.html"])

    def test_work_that_fails_leaves_no_empty_file(self):
        for arguments, code in [(["report", "-o", "made"], 6), (["additivity", "-q", "-o", "made", "--worker", scripted("no-meter")], 3),
                                (["convert", "lenet6", "-o", "made"], 2)]:
            with self.subTest(arguments[0]):
                self.assert_refused(self.run_ampere(*arguments), code)
                self.assertFalse((self.folder / "made").exists())

    def test_what_is_no_plain_file(self):
        self.assertIn('"nodes"', self.output_of("convert", "lenet5", "-o", "/dev/stdout"))
        self.assert_refused(self.run_ampere("convert", "lenet5", "-o", "/dev/full"), 1, r"/dev/full: cannot be written \(No space")
        link = self.folder / "link.json"
        link.symlink_to("file.json")
        self.output_of("convert", "lenet5", "-o", link)
        self.assertTrue(link.is_symlink())
        self.assertIn('"nodes"', (self.folder / "file.json").read_text())


class BadWorker(AmpereTest):
    def test_fake_workers(self):
        for mode, pattern in FAKE_WORKERS:
            for verb in (["detect"], ["profile", "lenet5", "-q"]):
                with self.subTest(mode, verb=verb[0]):
                    if mode == "ok" and verb == ["detect"]:
                        continue
                    command = f"exec {shlex.quote(PROGRAMS['fake_worker'])} {mode}"
                    limits = {"AMPERE_WORKER_TIMEOUT": "1" if "within" in pattern else "60"}
                    self.assert_refused(self.run_ampere(*verb, "--worker", command, env=limits), 1, pattern)

    def test_absent(self):
        for command in ("exec no-such-worker", "/no/such/worker", str(self.folder)):
            with self.subTest(command):
                done = self.run_ampere("profile", "lenet5", "-q", "--worker", command)
                self.assert_refused(done, 1, r"cannot be run .*--worker or AMPERE_WORKER")

    def test_without_a_device(self):
        for verb in (["detect"], ["profile", "lenet5", "-q"]):
            done = self.run_ampere(*verb, "--worker", scripted("no-device"))
            self.assert_refused(done, 1, r'answered nonsense .*"device" is missing.*docs/protocol\.md')

    def test_without_a_meter(self):
        for verb in (["profile", "lenet5"], ["additivity"]):
            done = self.run_ampere(*verb, "-q", "--worker", scripted("no-meter"))
            self.assert_refused(done, 3, r"no usable energy meter; see: ampere detect")

    def test_one_mishap_does_not_end_a_run(self):
        for mode, _ in MISHAPS:
            if mode == "stops":  # an answer, not a mishap
                continue
            with self.subTest(mode):
                self.store = self.folder / f"{mode}.db"
                worker = scripted(mode + ":9", self.folder / f"{mode}.count")
                limits = {"AMPERE_WORKER_TIMEOUT": "2"} if mode == "hangs" else {}
                done = self.json_of("profile", "lenet5", *support.QUICK, "--worker", worker, env=limits)
                self.assertEqual(done["methods"]["split"]["points_measured"], 17)
                self.assertEqual([s["refused"] for s in done["methods"]["split"]["surfaces"]], [0, 0, 0, 0])

    def test_mishaps_for_good_keep_points(self):
        for mode, pattern in MISHAPS:
            with self.subTest(mode):
                self.store = self.folder / f"{mode}.db"
                profile = ["profile", "lenet5", "-q", *support.QUICK, "--worker"]
                worker = scripted(mode + ":9+", self.folder / f"{mode}.count")
                limits = {"AMPERE_WORKER_TIMEOUT": "2"} if mode == "hangs" else {}
                self.assert_refused(self.run_ampere(*profile, worker, env=limits), 1, pattern)
                self.assert_intact()
                kept = rows(self.store)
                self.assertEqual(len(kept), 8)
                self.json_of(*profile, scripted())
                self.assertEqual(rows(self.store)[:8], kept)
                self.assertGreater(len(rows(self.store)), 8)

    def test_out_of_memory_leaves_the_point_out(self):
        done = self.json_of("profile", "lenet5", "--worker", scripted("small:40"), "--points-2d", "8")
        surfaces = {s["surface"]: s for s in done["methods"]["split"]["surfaces"]}
        linear = surfaces["split/hidden/linear-relu@b1"]
        self.assertGreater(linear["refused"], 0)
        self.assertGreater(linear["measured"], 3)
        self.assertEqual(surfaces["split/output/linear10@b1"]["refused"], 0)
        self.output_of("estimate", "lenet5:f1=30,f2=20")

    def test_nothing_fits_the_memory(self):
        done = self.run_ampere("profile", "lenet5", "-q", "--worker", scripted("small:0"))
        self.assert_refused(done, 1, r"fits? the.*(device|memory)")

    def test_meter_with_a_typing_error_hides_no_profile(self):
        self.output_of("profile", "lenet5", "-q", *support.QUICK, "--worker", scripted())
        done = self.run_ampere("profile", "lenet5", "-q", "--meter", "imaginery", "--worker", scripted())
        self.assert_refused(done, 2, r"no meter is called 'imaginery'")
        self.output_of("estimate", "lenet5")


class NotProfiled(AmpereTest):
    KINDS = ["input/conv5x5p2-relu-maxpool2x2@1x28x28b10", "hidden/conv5x5-relu-maxpool2x2@14x14b10",
             "hidden/linear-relu@b10", "output/linear10@b10"]

    def lines(self, *arguments):
        done = self.run_ampere("estimate", "lenet5", "--batch", "10", *arguments)
        return self.assert_refused(done, 6).splitlines()

    def test_every_kind_is_listed_with_the_command(self):
        lines = self.lines()
        self.assertEqual([line.strip() for line in lines[1:-2]], ["split/" + kind for kind in self.KINDS])
        self.assertEqual(lines[-2], "run: ampere profile lenet5 --batch 10")
        self.assertEqual(lines[-1], "or measure the device for any network: ampere profile --minutes 5")

    def test_another_network_tells_it(self):
        self.output_of("profile", "har", "-q", *support.QUICK, "--worker", scripted())
        told = self.json_of("estimate", "lenet5", "--batch", "10")
        self.assertEqual(told["unmeasured"], 1)
        self.assertEqual(told["gain"]["layers"], 5)
        self.assertGreater(told["gain"]["time_s"], 0)
        self.assertLess(told["gain"]["energy_high_j"], told["iteration"]["energy_high_j"])
        self.assertRegex(self.output_of("estimate", "lenet5", "--batch", "10"),
                         r"100% of this energy is of layers that were never measured[\s\S]*--exact")
        # Another precision is another matter, and so is a method that subtracts.
        self.assertIn("asked for as sgd-bf16-t1, measured there as sgd-fp32-t1", self.lines("--precision", "bf16"))
        self.assertIn("asked for as sgd-fp32-t2, measured there as sgd-fp32-t1", self.lines("--threads", "2"))
        self.lines("--method", "paper")

    def test_only_what_is_missing_is_listed(self):
        self.output_of("profile", "lenet5:c1=3,c2=4,f1=20,f2=20,classes=9", "-b", "10", "-q", *support.QUICK, "--worker",
                       scripted(), "--method", "neuralpower")
        missing = [line.strip() for line in self.lines("--method", "neuralpower")[1:-2]]
        self.assertEqual(missing, [f"neuralpower/{phase}/output/linear10@b10" for phase in ("forward", "backward", "update")])

    def test_the_command_does_what_it_says(self):
        store = self.folder / "of mine.db"
        options = ["--method", "paper", "--optimizer", "adam", "--threads", "2", "--store", store]
        command = shlex.split(self.lines(*options)[-2].removeprefix("run: "))
        self.assertEqual(command[0], "ampere")
        self.output_of(*command[1:], "-q", "--worker", scripted())
        self.output_of("estimate", "lenet5", "--batch", "10", *options)


if __name__ == "__main__":
    support.main()
