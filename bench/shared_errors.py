#!/usr/bin/python3
"""How far the errors of two estimates of one network go together: between precisions, and between batches.

    bench/shared_errors.py results/h200/unmeasured*.md

Of the rows that bench/unmeasured.py wrote. An error is the logarithm of told over measured, in deviations of its own
interval; what is told is the mean product of two (rows of a network count once together), which is the correlation
that intervals of their ratio may take off.
"""

import math
import re
import sys
from itertools import combinations
from pathlib import Path

ROW = re.compile(r"^  (\S+)@(\d+)\s+(\S+)\s+[\d.]+ J\s+([-+][\d.]+)% \(\+- (\d+)%\)!?\s+[\d.]+ ms\s+([-+][\d.]+)%", re.M)


def mean(values):
    return sum(values) / len(values)


def correlation(pairs):
    """Over networks; each weighs one, however many pairs it has. About zero, as intervals are."""
    products = [mean([a * b for a, b in own]) for own in pairs.values()]
    size = mean([mean([(a * a + b * b) / 2 for a, b in own]) for own in pairs.values()])
    return mean(products) / size


def main():
    rows = {}
    for name in sys.argv[1:]:
        for network, batch, precision, energy, interval, time in ROW.findall(Path(name).read_text(encoding="utf-8")):
            deviation = math.log1p(float(interval) / 100) / 1.96
            rows[name, network, int(batch), precision] = (math.log1p(float(energy) / 100), math.log1p(float(time) / 100), deviation)
    for what, alike in (("between precisions", lambda a, b: a[2] == b[2] and a[3] != b[3]),
                        ("between batches", lambda a, b: a[2] != b[2] and a[3] == b[3])):
        energy, time, ratios, believed = {}, {}, [], []
        for a, b in combinations(sorted(rows), 2):
            if a[:2] != b[:2] or not alike(a, b):
                continue
            x, y = rows[a], rows[b]
            energy.setdefault(a[:2], []).append((x[0] / x[2], y[0] / y[2]))
            time.setdefault(a[:2], []).append((x[1] / x[2], y[1] / y[2]))
            ratios.append((x[0] - y[0]) ** 2)
            believed.append(x[2] ** 2 + y[2] ** 2)
        if not energy:
            continue
        print(f"{what}: {len(energy)} networks, {len(ratios)} pairs; energy {correlation(energy):.2f}, time {correlation(time):.2f}; "
              f"ratios of energies deviate by {100 * math.sqrt(mean(ratios)):.1f}%, as independent they would by "
              f"{100 * math.sqrt(mean(believed)):.1f}%")


if __name__ == "__main__":
    main()
