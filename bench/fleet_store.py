#!/usr/bin/python3
"""What a fleet's store holds and how quickly it answers: bench/fleet_store.py AMPERE [KINDS] [PHONES].

A PostgreSQL server of its own is started (scripts/setup fleet), one imaginary device is profiled for two networks, and
copied until there are KINDS kinds of devices (10,000) and PHONES names of phones (1,000,000) that are one of them each.
Printed: rows, sizes of tables and indexes, and how long `estimate` and `fleet estimate` take, on the clock and of the
processor, the server's share not counted in the latter. On a machine that others use, only the latter tells anything.
Nothing of it is left behind.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from postgresql_server import Server  # noqa: E402

WORKER = f"exec {sys.executable} {pathlib.Path(__file__).resolve().parent.parent / 'tests' / 'scripted_worker.py'} ok"
COPY = """
INSERT INTO device(id, fingerprint, last_used)
  SELECT substr(md5('kind ' || n), 1, 16), replace(fingerprint, 'imaginary device', 'kind ' || n), '' FROM device,
         generate_series(1, {kinds}) AS n WHERE id = '{first}';
INSERT INTO point(device, recipe, surface, channels_in, channels_out, variant, measurement, measured_at, origin, identity)
  SELECT substr(md5('kind ' || n), 1, 16), recipe, surface, channels_in, channels_out, variant, measurement, measured_at,
         origin, md5(identity || n) FROM generate_series(1, {kinds}) AS n, point WHERE device = '{first}' ORDER BY n, id;
INSERT INTO fact(device, recipe, name, value)
  SELECT substr(md5('kind ' || n), 1, 16), recipe, name, value FROM generate_series(1, {kinds}) AS n, fact
  WHERE device = '{first}';
INSERT INTO fact(device, recipe, name, value)
  SELECT substr(md5('kind ' || (1 + n % {kinds})), 1, 16), '', 'fleet/phone-' || n,
         '{{"reach": "adb -s ' || n || '", "seen_at": "2026-11-17T00:00:00Z"}}' FROM generate_series(1, {phones}) AS n;
"""


def processor_name():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ampere = os.path.abspath(sys.argv[1])
    kinds, phones = (int(a) for a in (sys.argv[2:] + ["10000", "1000000"][len(sys.argv) - 2:]))
    version = subprocess.run([ampere, "--version"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.strip()
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        print(f"ampere {version}, PostgreSQL {server.sql('SHOW server_version')[0][0].split()[0]}, {processor_name()}, "
              f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}")
        env = {**os.environ, "AMPERE_STORE": server.address(), "HOME": folder}

        def run(*arguments):
            began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            out = subprocess.run([ampere, *arguments], env=env, cwd=folder, check=True, stdout=subprocess.PIPE).stdout
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return time.monotonic() - began, processor, out

        for model in ("lenet5", "cnn5"):
            run("profile", model, "--batch", "10", "-q", "--points-1d", "8", "--points-2d", "12", "--deviation", "0.001",
                "--worker", WORKER)
        first = server.sql("SELECT id FROM device")[0][0]
        per_kind = int(server.sql("SELECT count(*) FROM point")[0][0])
        began = time.monotonic()
        server.sql(COPY.format(kinds=kinds, phones=phones, first=first))
        print(f"{kinds:,} kinds of devices with {per_kind} points each, {phones:,} phones: loaded in "
              f"{time.monotonic() - began:.0f} s")
        server.sql("VACUUM ANALYZE")
        for table, rows, size, indexes in server.sql(
                "SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables ORDER BY 3 DESC"):
            print(f"  {table:<14}{int(rows):>12,} rows {int(size) / 1e6:>10,.1f} MB, indexes {int(indexes) / 1e6:>8,.1f} MB")
        for index, size in server.sql("SELECT indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes "
                                      "ORDER BY 2 DESC LIMIT 6"):
            print(f"  index {index:<22}{int(size) / 1e6:>10,.1f} MB")
        bytes_sent = server.sql(f"SELECT sum(length(variant) + length(measurement) + 200) FROM point WHERE device = '{first}'")
        print(f"  sent by a device for its profile: {int(bytes_sent[0][0]) / 1e3:.0f} kB")
        device = server.sql("SELECT substr(md5('kind 77'), 1, 16)")[0][0]
        asked = ("estimate", "lenet5", "--batch", "10", "--json")

        def told(what, *arguments):
            walls, processors, _ = zip(*(run(*arguments) for _ in range(21)))
            print(f"{what}: {1000 * statistics.median(walls):.0f} ms ({1000 * min(walls):.0f} to {1000 * max(walls):.0f}), "
                  f"of the processor {1000 * statistics.median(processors):.0f} ms (medians of {len(walls)})")

        told("ampere --version", "--version")
        told("estimate for one device, the whole program", *asked, "--device", device)
        told("the same for the device used last", *asked)
        fleet = {"devices": [{"name": f"phone-{n}", "reach": f"adb -s {n}"} for n in range(1, 1001)]}
        pathlib.Path(folder, "fleet.json").write_text(json.dumps(fleet))
        walls, processors, outs = zip(*(run("fleet", *asked) for _ in range(3)))
        known = sum("energy_j" in d for d in json.loads(outs[0])["devices"])
        print(f"fleet estimate on {known} devices: {statistics.median(walls):.1f} s ({min(walls):.1f} to {max(walls):.1f}), "
              f"of the processor {statistics.median(processors):.1f} s (medians of {len(walls)})")


main()
