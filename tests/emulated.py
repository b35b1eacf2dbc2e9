#!/usr/bin/python3
"""Runs a command in a root folder of Debian arm64, through qemu-user-static: emulated.py ROOT COMMAND...   (as root)

Where this machine runs arm64 programs already (binfmt-support or systemd have told the kernel how), that is used. Else the
kernel is told within a user namespace that ends with the command, which Linux does from 6.7 on: nothing of this machine
changes, and no other process can run such programs.
"""

import ctypes
import os
import pathlib
import sys

QEMU = "/usr/bin/qemu-aarch64-static"
HANDLERS = pathlib.Path("/proc/sys/fs/binfmt_misc")
# An ELF file of 64 bits for AArch64, a program or a shared object; F: qemu is found from within the folder, too.
HANDLER = (r":ampere-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
           r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:" + QEMU + ":OCF")
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
TOLD = f"""mount -t binfmt_misc binfmt_misc {HANDLERS} && printf %s '{HANDLER}' >{HANDLERS}/register || {{
  echo "emulated.py: this kernel keeps no binfmt_misc for user namespaces (Linux 6.7); install binfmt-support, which lets \
all of this machine run arm64 programs" >&2; exit 1; }}
"""
# /dev is a folder of its own, because what makes the system writes there. In /sys LibTorch looks which processors there
# are, and trains with none where it finds nothing.
ENTER = """root=$0
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/shm"
for name in null zero full random urandom tty console ptmx; do
  [ -e "/dev/$name" ] || continue
  : >"$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
exec env -i $(env | grep -i -e _proxy= -e ^AMPERE_ -e ^container= || true) HOME=/root LC_ALL=C.UTF-8 \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
"""


def unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        sys.exit(f"emulated.py: unshare: {os.strerror(ctypes.get_errno())}; run it as root")


def known_to_kernel():
    return any(QEMU.rsplit("/", 1)[1].removesuffix("-static") in handler.read_text() for handler in HANDLERS.glob("*aarch64*"))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if not os.path.exists(QEMU):
        sys.exit(f"emulated.py: there is no {QEMU}; run: scripts/setup arm64")
    if known_to_kernel():
        unshare(CLONE_NEWNS)
        os.execv("/bin/sh", ["sh", "-euc", "mount --make-rprivate /\n" + ENTER, *sys.argv[1:]])
    # The ids of a namespace are told by a process outside of it; all of them stay what they are.
    inside, parent = os.pipe()[::-1], os.pipe()
    child = os.fork()
    if child == 0:
        unshare(CLONE_NEWNS | CLONE_NEWUSER)
        os.write(inside[0], b"x")
        os.read(parent[0], 1)
        os.execv("/bin/sh", ["sh", "-euc", TOLD + ENTER, *sys.argv[1:]])
    os.read(inside[1], 1)
    for ids in ("uid_map", "gid_map"):
        pathlib.Path(f"/proc/{child}/{ids}").write_text("0 0 4294967295\n")
    os.write(parent[1], b"x")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xff)


main()
