"""A bare Debian 12 in a folder, of this machine's architecture or, in an emulator, of arm64. As root, with debootstrap and
a mirror, which is the one that this machine's apt uses."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 3600
SUITE = "bookworm"


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=PATIENCE_S, **more)
    print(f"\n$ {shlex.join(map(str, command))}\n{done.stdout[-4000:]}", flush=True)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {shlex.join(map(str, command))}\n{done.stdout[-4000:]}")
    return done.stdout


def mirror():
    """Where this machine's apt finds the suite."""
    sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages",
                            f"Codename: {SUITE}", "Component: main"], capture_output=True, text=True).stdout.split()
    if not sites:
        raise AssertionError(f"this machine's apt knows no mirror of {SUITE}; run apt-get update, or this is no Debian 12")
    return sites[0]


class BareDebian:
    def __init__(self, root, arch=None):
        """`arch`: None, or arm64."""
        self.root, self.arch = pathlib.Path(root), arch

    def make(self):
        if os.geteuid() != 0:
            raise AssertionError("needs root, for debootstrap and chroot")
        if not shutil.which("debootstrap"):
            raise AssertionError("debootstrap is missing; run: scripts/setup package")
        foreign = ["--foreign", f"--arch={self.arch}"] if self.arch else []
        run("debootstrap", "--variant=minbase", *foreign, SUITE, self.root, mirror())
        # A folder that is thrown away need not survive a power cut.
        (self.root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
        if self.arch:
            # "lxc" as it is in a container: it may not make device files.
            run(*self.entered("/debootstrap/debootstrap", "--second-stage"), env={**os.environ, "container": "lxc"})
        # Names are found, and files fetched, as on this machine.
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.root / "etc" / name)
        settings = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True).stdout
        proxies = [line for line in settings.splitlines() if "::Proxy" in line]
        (self.root / "etc/apt/apt.conf.d/90acquire").write_text("\n".join(proxies) + "\n")

    def take(self, packages):
        (self.root / "packages").mkdir(exist_ok=True)
        for package in packages:
            shutil.copy(package, self.root / "packages")

    def entered(self, *command):
        """The command that runs it in the bare system, as a list."""
        if self.arch:
            return [sys.executable, HERE / "emulated.py", self.root, *command]
        root = shlex.quote(str(self.root))
        # /proc is mounted in a namespace of its own, which ends with the command whatever happens.
        mounted = f'mount -t proc proc {root}/proc && exec chroot {root} "$0" "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-euc", mounted, *command]

    def inside(self, script):
        kept = {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")}
        environment = {**kept, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run(*self.entered("sh", "-euc", script), env=environment)
