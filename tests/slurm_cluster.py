"""A Slurm cluster of a test's own on this machine, in a private folder, from Debian's packages: two partitions, four
nodes. As root, without systemd."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "scontrol")
PATH = f"/usr/sbin:{os.environ.get('PATH', '/usr/bin')}"
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
MpiDefault=none
ReturnToService=2
{plugin}
{nodes}
PartitionName=big Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
PartitionName=small Nodes=n3,n4 MaxTime=120 State=UP
"""


def is_installed():
    """And whoever runs this may start it."""
    return os.geteuid() == 0 and all(shutil.which(name, path=PATH) for name in PROGRAMS)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        listening = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for one in listening:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in listening]


class Cluster:
    """Used as `with Cluster() as cluster`."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-slurm-"))
        self.processes = []
        self.ports = free_ports(5)
        self.env = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": PATH}

    def configure(self, script):
        """`script`: whether jobs are submitted through job_submit.lua."""
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={self.ports[n]} CPUs=16 RealMemory=16000"
                          for n in range(1, 5))
        (self.folder / "slurm.conf").write_text(CONF.format(
            host=host, port=self.ports[0], folder=self.folder, nodes=nodes, plugin="JobSubmitPlugins=lua" if script else ""))

    def start_program(self, *command):
        log = open(self.folder / (command[0] + ".out"), "ab")
        self.processes.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        log.close()
        return self.processes[-1]

    def __enter__(self):
        try:
            return self.started()
        except BaseException:
            self.__exit__()
            raise

    def started(self):
        munge = self.folder / "munge"
        for folder in (munge, self.folder / "state"):
            folder.mkdir(mode=0o700)
        key = munge / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        self.folder.chmod(0o755)
        munge.chmod(0o755)
        self.start_program("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/sock",
                           f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.configure(script=False)
        self.wait_until(lambda: (munge / "sock").exists(), "munged")
        self.controller = self.start_program("slurmctld", "-D", "-i")
        for n in range(1, 5):
            self.start_program("slurmd", "-D", "-N", f"n{n}")
        self.wait_for_nodes()
        return self

    def wait_until(self, is_so, what):
        deadline = time.monotonic() + 60
        while not is_so():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: {self.logs()}")
            time.sleep(0.05)

    def wait_for_nodes(self):
        self.wait_until(lambda: self.run("sinfo", "-h", "-N", "-o", "%T", check=False).stdout.split() == 4 * ["idle"],
                        "no idle nodes")

    def logs(self):
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))

    def restart_controller(self, script):
        self.controller.send_signal(signal.SIGTERM)
        self.controller.wait(timeout=60)
        self.configure(script)
        self.controller = self.start_program("slurmctld", "-D", "-i")
        self.wait_for_nodes()

    def run(self, *command, check=True):
        return subprocess.run(list(map(str, command)), env=self.env, check=check, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=self.folder)

    def submit(self, *options, script="true"):
        """The job's id."""
        done = self.run("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", script)
        return done.stdout.strip()

    def job(self, number):
        shown = self.run("scontrol", "-o", "show", "job", number).stdout
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            if process.poll() is None:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
