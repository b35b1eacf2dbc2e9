"""200 simulated clients under Flower, until a target accuracy: bench/federated/run.py, from the root of a checkout.

    pip install ./python "flwr[simulation]" torch
    python bench/federated/run.py --ampere build/release/bin/ampere        # docs/federated.md has what it prints
    python bench/federated/run.py --table                                  # the table of what was run before

Writes results/federated/runs/NAME-SEED.json, one for each strategy and seed, and their table beside them. All runs go
through one start of Flower's simulation, because Ray takes seconds to come up.
"""

from __future__ import annotations

import argparse
import logging
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import table  # noqa: E402

STRATEGIES = ("joules", "random", "flops")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--strategies", default=",".join(STRATEGIES), help="of joules, random, flops; joules:0.5 with another thrift")
    add("--seeds", type=int, default=5)
    add("--first-seed", type=int, default=1)
    add("--clients", type=int, default=200)
    add("--samples", type=int, default=270, help="images of a client, on average")
    add("--chosen", type=int, default=10, help="clients of a round")
    add("--rounds", type=int, default=60, help="at most")
    add("--target", type=float, default=0.75, help="accuracy, as the mean of three rounds")
    add("--risk", type=float, default=0.05)
    add("--spread", type=float, default=1.0, help="boards differ in joules by up to 8 to this power")
    add("--concentration", type=float, default=0.3, help="of labels: small is one class for each client, 100 all alike")
    add("--tied", action="store_true", help="boards by labels: some classes are on dear boards only, nearly")
    add("--workers", type=int, default=1, help="processes that train")
    add("--ampere", default="build/release/bin/ampere", help="the program, which makes the store of the boards")
    add("--out", type=pathlib.Path, default=table.RUNS)
    add("--table", action="store_true", help="run nothing")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    if not asked.table:
        # Ray's processes find the modules beside this file, and train with one thread each.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # else clients wait for all else on the machine
        simulate(asked)
    told = table.text(asked.out)
    print(told)
    head = "# Federated rounds\n\nMade by `bench/federated/run.py`.\n\n"
    (asked.out / "table.md").write_text(f"{head}{told}\n")


def simulate(asked: argparse.Namespace) -> None:
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation
    from server import serve

    import client

    logging.getLogger("flwr").setLevel(logging.ERROR)
    server = ServerApp()
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:

        @server.main()
        def run(grid, context):
            serve(grid, asked, pathlib.Path(folder) / "boards.db")

        run_simulation(
            server,
            client.app,
            num_supernodes=asked.clients,
            backend_config={
                "init_args": {"num_cpus": asked.workers, "include_dashboard": False},
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            },
        )
    print(f"took {time.time() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
