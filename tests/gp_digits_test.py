#!/usr/bin/python3
"""Compares what versions of the processes' vector code compute (src/gp/gp_digits_for_test.cc):

    tests/gp_digits_test.py COMMAND COMMAND...      each command line one program, perhaps in an emulator
"""

import shlex
import subprocess
import sys


def numbers(command):
    """What the program says: name, tolerance and number of each line."""
    said = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    lines = [line.split() for line in said.splitlines()]
    return [(name, float(tolerance), float.fromhex(number)) for name, tolerance, number in lines]


def main():
    first = numbers(sys.argv[1])
    if len(first) < 1000 or len(sys.argv) < 3:
        sys.exit("two programs are compared, of a thousand numbers or more")
    failed = False
    for command in sys.argv[2:]:
        other = numbers(command)
        failed |= len(other) != len(first)
        worst = {}
        for (name, tolerance, a), (_, _, b) in zip(first, other):
            # Entries of a factor are differences of numbers near 1, and rounded as those are, however small they come out.
            scale = max(abs(a), abs(b), 1.0 if name == "cholesky" else 0.0)
            off = abs(a - b) / scale if a != b else 0.0
            worst[name] = max(worst.get(name, 0.0), off)
            failed |= off > tolerance
        print(f"{command}: {len(other)} numbers of {len(first)}, at most off by "
              + ", ".join(f"{off:.1g} ({name})" for name, off in worst.items()))
    sys.exit(1 if failed else 0)


main()
