"""Fashion-MNIST in the sizes of CIFAR, and shares of it that differ from client to client."""

from __future__ import annotations

import functools
import gzip
import pathlib

import numpy as np

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist: scripts/setup case_study
CLASSES = 10
TEST_IMAGES = 2000  # of 10,000: the accuracy of a round is known to 1%, and evaluating stays cheap


def read(name: str, header: int) -> np.ndarray:
    try:
        with gzip.open(FOLDER / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)
    except FileNotFoundError:
        raise SystemExit(f"{FOLDER / name} is missing; run: scripts/setup case_study") from None


@functools.cache
def images(part: str) -> tuple[np.ndarray, np.ndarray]:
    """ "train" or "t10k": 3 x 32 x 32 pixels around 0, the same in all three colours, and labels."""
    grey = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28).astype(np.float32) / 255
    square = np.pad(grey, ((0, 0), (2, 2), (2, 2)))
    square = (square - square.mean()) / square.std()
    labels = read(f"{part}-labels-idx1-ubyte.gz", 8).astype(np.int64)
    return np.broadcast_to(square[:, None], (len(square), 3, 32, 32)), labels


@functools.lru_cache(maxsize=1)
def shares(clients: int, seed: int, concentration: float, samples: int) -> list[np.ndarray]:
    """Which training images each client has, none twice. Sizes differ (log-normal, `samples` is their mean), and so do
    labels: each client draws its own mix of classes from a Dirichlet distribution; at a concentration of 0.3 three
    classes make up 80% of a client's images (median)."""
    rng = np.random.default_rng([seed, 1])
    labels = images("train")[1]
    sizes = rng.lognormal(0, 0.4, clients)
    sizes = np.clip(sizes * samples / sizes.mean(), 20, None).astype(int)
    left = [list(rng.permutation(np.flatnonzero(labels == c))) for c in range(CLASSES)]
    taken = []
    for size in sizes:
        mix = rng.dirichlet(np.full(CLASSES, concentration))
        mine: list[int] = []
        while len(mine) < size and any(left):
            mix = np.where([bool(rest) for rest in left], mix + 1e-9, 0)
            counts = rng.multinomial(size - len(mine), mix / mix.sum())
            for c, count in enumerate(counts):
                mine += left[c][:count]
                del left[c][:count]
        taken.append(np.array(mine))
    return taken


@functools.lru_cache(maxsize=1)
def by_label(clients: int, seed: int, concentration: float, samples: int) -> np.ndarray:
    """The place of each client among all, in the order of its mean label."""
    labels = images("train")[1]
    means = [labels[mine].mean() for mine in shares(clients, seed, concentration, samples)]
    return np.argsort(np.argsort(means))
