"""A PostgreSQL server of a test's own, in a private folder, from Debian's packages."""

import contextlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile

PROGRAMS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def is_installed():
    return bool(PROGRAMS)


def free_port():
    with contextlib.closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Server:
    """Used as `with Server() as server`. It refuses to run as root, so root runs it as another user."""

    def __init__(self, connections=200):
        self.connections = connections
        self.port = free_port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ampere-pg-"))
        self.as_user = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = ["runuser", "-u", "postgres", "--"]

    def program(self, name, *arguments, **more):
        return subprocess.run([*self.as_user, str(PROGRAMS[-1].parent / name), *map(str, arguments)], check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              cwd=self.folder, **more)

    def __enter__(self):
        data = self.folder / "data"
        self.program("initdb", "-D", data, "-A", "trust", "-U", "ampere", "--no-sync", "-E", "UTF8", "--locale=C")
        # One role that has to know a password.
        rules = data / "pg_hba.conf"
        rules.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        self.start()
        self.sql("CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'geheim'", database="postgres")
        self.sql("CREATE DATABASE test", database="postgres")
        return self

    def start(self):
        # Its log is a file: a pipe would stay open for as long as the server runs.
        options = (f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} "
                   f"-c max_connections={self.connections}")
        self.program("pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode="fast"):
        self.program("pg_ctl", "-D", self.folder / "data", "-w", "-m", mode, "stop")

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database="test", user="ampere"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def sql(self, query, database="test"):
        """What psql prints, a list of rows of texts."""
        out = subprocess.run(["psql", "--no-psqlrc", "-qAt", "-F", "\t", "-v", "ON_ERROR_STOP=1",
                              self.address(database), "-c", query],
                             check=True, stdout=subprocess.PIPE, encoding="utf-8",
                             env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}).stdout
        return [line.split("\t") for line in out.splitlines()]
