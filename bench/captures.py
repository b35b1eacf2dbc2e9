#!/usr/bin/env python3
"""How long capturing one step of each network of bench/truth takes, on this machine, with or without the device.

    python bench/captures.py [--precision default] [NETWORK... | timm:NAME...]

where timm:NAME is a model of that library, if it is installed, with images as large as it is made for; prints a table: whether fake tensors did, seconds to capture and to cut into parts, calls, parts, and kinds of parts.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "truth"))

import torch  # noqa: E402
from networks import NETWORKS, Network, cross_entropy  # noqa: E402

import ampere  # noqa: E402
from ampere.capture import Training, capture  # noqa: E402
from ampere.capture.parts import network_of  # noqa: E402

TIMM = "timm:"
TIMM_BATCH = 32


def network_called(name: str) -> Network:
    if not name.startswith(TIMM):
        return NETWORKS[name]
    import timm

    own = name.removeprefix(TIMM)
    sizes = timm.get_pretrained_cfg(own).input_size
    return Network(
        lambda: timm.create_model(own),
        lambda batch, device: {"x": torch.randn(batch, *sizes, device=device)},
        lambda batch, device: torch.randint(0, 1000, (batch,), device=device),
        cross_entropy,
        TIMM_BATCH,
        "x".join(map(str, sizes)),
    )


def module_of(network) -> torch.nn.Module:
    try:
        with torch.device("meta"):
            return network.build()
    except NotImplementedError:  # some look at their own values while they are built
        return network.build()


def row(name: str, precision: str, device: str) -> tuple[str, float | None]:
    network = network_called(name)
    try:
        module = module_of(network)
        inputs = network.make_inputs(network.batch, torch.device("cpu"))
        targets = network.make_targets(network.batch, torch.device("cpu"))
        start = time.monotonic()
        step = capture(
            Training(module, inputs, lambda output: network.loss(output, targets), precision=precision), device
        )
        captured = time.monotonic() - start
        nodes = [node for node in network_of(step)["nodes"] if node["op"] == "calls"]
        seconds = time.monotonic() - start
        kinds = len({node["calls"] for node in nodes})
        return (
            f"| {name} | {network.batch} | {step.how} | {captured:.1f} | {seconds:.1f} | {len(step.calls)} | {len(nodes)} | {kinds} |",
            seconds,
        )
    except Exception as e:  # a network that cannot be captured is a row of the table
        return f"| {name} | {network.batch} | no: {type(e).__name__}: {str(e).splitlines()[0][:80]} | | | | | |", None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help="of bench/truth, or timm:NAME; all of bench/truth without a name")
    parser.add_argument("--precision", default="default")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{datetime.date.today()}, AMPERE {ampere.version()}, PyTorch {torch.__version__}, Python {platform.python_version()}, "
        f"{'with' if torch.cuda.is_available() else 'without'} a GPU, one thread, precision {options.precision}\n"
    )
    print(
        "| network | batch | captured by | capture, s | with parts, s | calls | parts | kinds |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    found = []
    for name in options.networks or NETWORKS:
        text, seconds = row(name, options.precision, options.device)
        print(text, flush=True)
        found.append(seconds)
    done = [s for s in found if s is not None]
    print(
        f"\n{len(done)} of {len(found)} captured, {sum(s < 10 for s in done)} of them in less than 10 s, the longest took {max(done, default=0):.1f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
