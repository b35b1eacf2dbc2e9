#!/usr/bin/python3
"""ampere run: a power limit or a clock around a program, put back whatever ends it. Against a driver that keeps its
state in a file (src/meter/fake_nvml_for_test.cc), and recorded files of the kernel.

    tests/run_test.py ampere=build/bin/ampere fake_nvml=build/src/meter/libfake_nvml.so
"""

import json
import os
import signal
import subprocess
import time

import support
from support import AmpereTest, PATIENCE_S, PROGRAMS


class Run(AmpereTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "gpu"
        self.state.write_text("650000 0\n")
        for cpu in ("cpu0", "cpu1"):
            folder = self.folder / "sys/devices/system/cpu" / cpu / "cpufreq"
            folder.mkdir(parents=True)
            for name, value in (("scaling_max_freq", 3600000), ("cpuinfo_min_freq", 1200000), ("cpuinfo_max_freq", 3600000)):
                (folder / name).write_text(f"{value}\n")

    def environment(self, **changes):
        return super().environment(**{"AMPERE_NVML_LIBRARY": PROGRAMS["fake_nvml"], "FAKE_NVML_STATE": str(self.state),
                                      "XDG_RUNTIME_DIR": str(self.folder), "AMPERE_SYSFS_ROOT": str(self.folder / "sys"), **changes})

    def cpu_clocks(self):
        return [int(f.read_text()) for f in sorted(self.folder.glob("sys/devices/system/cpu/*/cpufreq/scaling_max_freq"))]

    def await_state(self, text):
        """A limit against hanging for ever, not a claim about speed."""
        deadline = time.monotonic() + PATIENCE_S
        while self.state.read_text().strip() != text and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.state.read_text().strip(), text)

    def start(self, options=("--power-limit", "300")):
        """A program that runs until it is ended, once it does."""
        ready = self.folder / "ready"
        process = subprocess.Popen(self.command("run", *options, "--", "sh", "-c", f"echo $$ > {ready}; exec sleep 1000"),
                                   env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                   start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        deadline = time.monotonic() + PATIENCE_S
        while not (ready.exists() and ready.read_text().strip()) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.poll() is not None:
            self.fail(process.stderr.read())
        program = int(ready.read_text())
        self.addCleanup(lambda: self.end(program))
        return process, program

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_it_holds_while_the_program_runs(self):
        done = self.run_ampere("run", "--power-limit", "300W", "--clock", "1305", "--cpu-clock", "2000", "--meter", "nvml", "-o", "run.json",
                               "--", "sh", "-c", f"cat {self.state}; cat sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq; sleep 0.3; exit 5")
        self.assertEqual((done.returncode, done.stdout), (5, "300000 1305\n2000000"), done.stderr)
        self.assertEqual(self.state.read_text(), "650000 0\n")
        self.assertEqual(self.cpu_clocks(), [3600000, 3600000])
        self.assertIn("GPU 0 (Fake GPU): power limit 300 W instead of 650 W", done.stderr)
        figures = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(figures["settings"], [
            {"device": "GPU 0 (Fake GPU)", "what": "power limit", "before_w": 650, "during_w": 300},
            {"device": "GPU 0 (Fake GPU)", "what": "locked clock", "before_mhz": None, "during_mhz": 1305},
            {"device": "all CPUs", "what": "highest clock", "before_mhz": 3600, "during_mhz": 2000}])
        self.assertEqual((figures["put_back"], figures["exit_status"], figures["meter"], figures["schema_version"]), (True, 5, "nvml", 1))
        # The driver counts 300 W by the clock. Power is that between the two readings, however late they are taken, so
        # it holds on a busy machine too; the energy is at least that of the program's time.
        self.assertAlmostEqual(figures["power_w"], 300, delta=3)
        self.assertGreaterEqual(figures["metered_s"], figures["time_s"])
        self.assertGreaterEqual(figures["energy_j"], 300 * figures["time_s"] - 1)
        self.assertGreaterEqual(figures["time_s"], 0.3)

    def test_kill_9_of_ampere(self):
        process, program = self.start(options=("--power-limit", "300", "--clock", "900", "--cpu-clock", "1500"))
        self.assertEqual(self.state.read_text(), "300000 900\n")
        process.kill()
        process.wait()
        self.await_state("650000 0")
        self.assertEqual(self.cpu_clocks(), [3600000, 3600000])
        os.kill(program, 0)  # the program goes on

    def test_kill_9_of_the_whole_group(self):
        process, program = self.start()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.await_state("650000 0")

    @staticmethod
    def children_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(child) for child in file.read().split()]

    @staticmethod
    def state_of(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0]
        except FileNotFoundError:  # somebody has waited for it
            return "Z"

    def test_kill_9_of_ampere_and_at_once_of_the_program(self):
        process, program = self.start()
        os.kill(process.pid, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        process.wait()
        self.await_state("650000 0")

    def test_the_guardian_is_killed(self):
        """ampere puts things back itself; where both are killed, the next one does, before it reads what is set."""
        process, program = self.start()
        guardian = [child for child in self.children_of(process.pid) if child != program]
        self.assertEqual(len(guardian), 1)
        os.kill(guardian[0], signal.SIGKILL)
        self.assert_refused(self.run_ampere("run", "--power-limit", "400", "--", "true"), 2, "another ampere has changed settings")
        self.end(program)
        self.assertEqual(process.wait(PATIENCE_S), 128 + signal.SIGKILL)
        self.assertEqual(self.state.read_text(), "650000 0\n")

    def test_all_are_killed_and_the_next_one_puts_back(self):
        process, program = self.start()
        os.kill(process.pid, signal.SIGSTOP)  # nobody acts between the two
        children = self.children_of(process.pid)
        for child in children:
            os.kill(child, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while any(self.state_of(child) != "Z" for child in children) and time.monotonic() < deadline:
            time.sleep(0.02)  # what is dying may still hold the lock
        process.kill()
        process.wait()
        self.assertEqual(self.state.read_text(), "300000 0\n")
        done = self.run_ampere("run", "--power-limit", "400", "--", "cat", str(self.state))
        self.assertEqual((done.returncode, done.stdout), (0, "400000 0\n"), done.stderr)
        self.assertIn("had left a setting behind; it is put back, as by: sudo nvidia-smi", done.stderr)
        self.assertIn("power limit 400 W instead of 650 W", done.stderr)
        self.assertEqual(self.state.read_text(), "650000 0\n")
        self.assertNotIn("left a setting", self.run_ampere("run", "--power-limit", "400", "--", "true").stderr)

    def test_terminate_goes_to_the_program(self):
        process, program = self.start()
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_S), 128 + signal.SIGTERM)
        self.assertEqual(self.state.read_text(), "650000 0\n")
        self.assertIn("settings are put back", process.stderr.read())
        with self.assertRaises(ProcessLookupError):
            os.kill(program, 0)

    def test_one_at_a_time(self):
        process, program = self.start()
        self.assert_refused(self.run_ampere("run", "--power-limit", "400", "--", "true"), 2, "another ampere has changed settings")
        self.end(program)
        process.wait(PATIENCE_S)
        self.assertEqual(self.state.read_text(), "650000 0\n")
        self.assertEqual(self.run_ampere("run", "--power-limit", "400", "--", "true").returncode, 0)

    def test_mistakes_are_told(self):
        for options, code, message in (
                (["--power-limit", "100"], 2, "it takes 200 to 700 W"), (["--power-limit", "much"], 2, "write a power"),
                (["--clock", "5000"], 2, "up to 1980 MHz"), (["--cpu-clock", "100"], 2, "1200 to 3600 MHz"),
                (["--power-limit", "300", "--gpus", "3"], 2, "no visible GPU '3'"), ([], 2, "say what to set")):
            with self.subTest(options=options):
                self.assert_refused(self.run_ampere("run", *options, "--", "true"), code, message)
        self.assert_refused(self.run_ampere("run", "--power-limit", "300"), 2, "behind two dashes")
        done = self.run_ampere("run", "-q", "--power-limit", "300", "--", "/no/such/program")
        self.assert_refused(done, 2, "cannot be run")
        self.assertEqual(self.state.read_text(), "650000 0\n")

    def test_predicted_beside_measured(self):
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *support.QUICK, env={"AMPERE_WORKER": support.scripted()})
        job = ["--batch", "10", "--samples", "1000", "--epochs", "3"]
        done = self.run_ampere("run", "--cpu-clock", "2000", "--model", "lenet5", *job, "--meter", "cpu-model", "-o", "run.json", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads((self.folder / "run.json").read_text())["predicted"]
        estimate = self.json_of("estimate", "lenet5", *job)["job"]
        self.assertAlmostEqual(told["energy_j"], estimate["energy_j"], delta=1e-9 * told["energy_j"])
        self.assertRegex(done.stderr, r"ampere: predicted .*; it took [-+]")
        self.assert_refused(self.run_ampere("run", "--cpu-clock", "2000", "--model", "lenet5", "--", "true"), 2, "--samples N")
        self.assertEqual(self.cpu_clocks(), [3600000, 3600000])

    def test_without_permission(self):
        denied = self.run_ampere("run", "--power-limit", "300", "--", "true", env={"FAKE_NVML_DENY": "1"})
        self.assert_refused(denied, 1, r"sudo nvidia-smi -i 0 -pl 300 \(and afterwards: sudo nvidia-smi -i 0 -pl 650\)")
        denied = self.run_ampere("run", "--clock", "900", "--", "true", env={"FAKE_NVML_DENY": "1"})
        self.assert_refused(denied, 1, r"sudo nvidia-smi -i 0 -lgc 900,900 \(and afterwards: sudo nvidia-smi -i 0 -rgc\)")
        if os.geteuid() != 0:  # root may write what nobody may
            for file in self.folder.glob("sys/devices/system/cpu/*/cpufreq/scaling_max_freq"):
                file.chmod(0o444)
            self.assert_refused(self.run_ampere("run", "--cpu-clock", "2000", "--", "true"), 1, r"echo 2000000 \| sudo tee .*scaling_max_freq")

    def test_without_a_driver(self):
        self.assert_refused(self.run_ampere("run", "--power-limit", "300", "--", "true", env={"AMPERE_NVML_LIBRARY": "/nowhere/nvml.so"}),
                            3, "no NVIDIA driver")
        self.assert_refused(self.run_ampere("run", "--cpu-clock", "2000", "--", "true", env={"AMPERE_SYSFS_ROOT": str(self.folder)}),
                            2, "cpufreq")


if __name__ == "__main__":
    support.main()
