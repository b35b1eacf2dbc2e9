"""A real sshd for tests, with keys, settings and a port of its own, in a private folder; nothing of this machine's sshd and
of anybody's ~/.ssh is read or changed."""

import getpass
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import time

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")
PATIENCE_S = 60


class SshServer:
    def __init__(self, folder, **environment):
        """`environment`: what processes that are started through it find there."""
        self.folder = pathlib.Path(folder)
        self.process = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        for name in ("host", "user", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        host_key = (self.folder / "host.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}")
        # StrictModes would not let us keep keys below /tmp.
        (self.folder / "sshd_config").write_text(f"""ListenAddress 127.0.0.1:{self.port}
HostKey {self.folder}/host
AuthorizedKeysFile {self.folder}/authorized
AllowUsers {getpass.getuser()}
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
AllowTcpForwarding no
X11Forwarding no
PrintMotd no
""" + "".join(f"SetEnv {name}={value}\n" for name, value in environment.items()))
        # The host is called board; with another key, stranger.
        for name, key in (("board", "user"), ("stranger", "stranger")):
            (self.folder / f"{name}_config").write_text(f"""Host board
  HostName 127.0.0.1
  Port {self.port}
  User {getpass.getuser()}
  IdentityFile {self.folder}/{key}
  IdentitiesOnly yes
  IdentityAgent none
  BatchMode yes
  UserKnownHostsFile {self.folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  ConnectTimeout 10
  ServerAliveInterval 5
""")

    def command(self, program, config="board"):
        """Of a worker, as a user would write it but for the settings."""
        return f"ssh -F {shlex.quote(str(self.folder / config))}_config board {shlex.quote(program)}"

    def start(self):
        line = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        if os.geteuid() == 0 and not os.path.isdir("/run/sshd"):
            # Which root's sshd wants to have, and which an init would have made: here, where nobody else sees it.
            made = 'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$0" "$@"'
            line = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", made, *line]
        with (self.folder / "sshd.log").open("a") as log:
            self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"sshd does not start:\n{(self.folder / 'sshd.log').read_text()}") from None
                time.sleep(0.05)

    def sessions(self):
        """Process ids of its connections: the children of the server."""
        path = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def drop(self):
        """Ends every connection as a network does that fails: the server's side is gone without a word."""
        for pid in self.sessions():
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                _kill(int(child))
            _kill(pid)

    def stop(self):
        """Reboots: connections end, and there are no new ones until start()."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)  # takes none meanwhile
            self.drop()
            self.process.kill()
            self.process.wait()


def _kill(pid):
    # A session that runs as root has a second sshd below it, and that the program; the program ends by itself, or the
    # test has found something.
    try:
        if "sshd" in pathlib.Path(f"/proc/{pid}/comm").read_text():
            os.kill(pid, signal.SIGKILL)
    except (OSError, ValueError):
        pass
