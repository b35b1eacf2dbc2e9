"""A Gaussian process over devices, workloads, batches and power limits, as docs/one_model.md has one over calls.

    log y = what the data sheet says + f
    cov(f, f') = level^2 [workload]                                          how much work an epoch of it is
               + [workload] (batch^2 M(b) + optimizer^2 [optimizer])         how it depends on the batch
               + limit^2 M(u) + [workload] limited^2 M(b) M(u)               and on the power limit
               + device^2 [device] + pair^2 [device] [workload]              what the sheet does not tell of a device
               + [device] limit'^2 M(u) + [device] [workload] place^2 M(b) M(u) + [same row] own^2

M is the Matern 5/2 correlation; b are powers of two of the batch, u of the limit over the sheet's. Lengths are fixed;
deviations are those of the largest marginal likelihood on the devices that are known, near what is believed.
"""

from __future__ import annotations

import numpy as np
from traces import Traces

BATCH_LENGTH, LIMIT_LENGTH = 3.0, 0.8
LEVEL = 3.0  # workloads are of any size
# Deviations as they are believed, and how far (in logarithms) the likelihood may take them from there. Three
# devices say little of devices, so what is believed of those counts.
BELIEVED = {"batch": 0.8, "optimizer": 0.1, "limit": 0.3, "limited": 0.2, "device": 0.3, "pair": 0.3}
BELIEVED |= {"device limit": 0.1, "place": 0.15, "own": 0.02}
BELIEF = {"device": 0.25, "pair": 0.25}
DEFAULT_BELIEF = 1.0
ROWS, ROUNDS, RATE = 400, 60, 0.15


def matern52(x: np.ndarray, length: float) -> np.ndarray:
    r = np.sqrt(5.0) * np.abs(x[:, None] - x[None, :]) / length
    return (1 + r + r * r / 3) * np.exp(-r)


def terms(traces: Traces) -> dict[str, np.ndarray]:
    """What each deviation's square is multiplied with, between all rows."""
    same = lambda a: (a[:, None] == a[None, :]).astype(np.float32)  # noqa: E731
    workload, gpu = same(traces.workload), same(traces.gpu)
    b, u = (matern52(*x).astype(np.float32) for x in ((traces.batch, BATCH_LENGTH), (traces.limit, LIMIT_LENGTH)))
    return {
        "level": workload,
        "batch": workload * b,
        "optimizer": workload * same(traces.optimizer),
        "limit": u,
        "limited": workload * b * u,
        "device": gpu,
        "pair": gpu * workload,
        "device limit": gpu * u,
        "place": gpu * workload * b * u,
        "own": np.eye(len(traces.gpu), dtype=np.float32),
    }


def covariance(parts: dict[str, np.ndarray], deviations: dict[str, float], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    k = LEVEL**2 * parts["level"][np.ix_(a, b)].astype(float)
    for name, deviation in deviations.items():
        k += deviation**2 * parts[name][np.ix_(a, b)]
    return k


def learned(parts: dict[str, np.ndarray], rest: np.ndarray, known: np.ndarray, seed: int = 0) -> dict[str, float]:
    """Deviations of the largest marginal likelihood times belief, by signs of its slopes, on some of the rows."""
    rows = np.random.default_rng(seed).permutation(known)[:ROWS]
    names = list(BELIEVED)
    center = np.log([BELIEVED[name] for name in names])
    belief = np.array([BELIEF.get(name, DEFAULT_BELIEF) for name in names])
    small = {name: parts[name][np.ix_(rows, rows)].astype(float) for name in ["level", *names]}
    y = rest[rows]
    theta, step, before = center.copy(), np.full(len(names), RATE), np.zeros(len(names))
    for _ in range(ROUNDS):
        k = LEVEL**2 * small["level"]
        for name, value in zip(names, theta):
            k = k + np.exp(2 * value) * small[name]
        # A constant that all rows share, of any size.
        inverse = np.linalg.inv(k + 100.0)
        alpha = inverse @ y
        slope = np.array(
            [np.exp(2 * v) * (alpha @ small[n] @ alpha - np.sum(inverse * small[n])) for n, v in zip(names, theta)]
        ) - (theta - center) / belief**2
        step = np.clip(np.where(slope * before > 0, 1.2 * step, 0.5 * step), 1e-3, 0.5)
        theta, before = theta + step * np.sign(slope), slope
    return dict(zip(names, np.exp(theta).tolist()))


class Transfer:
    """What the rows of known devices tell of another's; told again with some of its own."""

    def __init__(self, traces: Traces, quantity: str, target: str, parts: dict[str, np.ndarray]):
        measured, sheet = traces.quantity(quantity)
        self.rest = measured - sheet
        self.target = np.flatnonzero(traces.gpu == target)
        known = np.flatnonzero(traces.gpu != target)
        self.rest = self.rest - self.rest[known].mean()
        self.deviations = learned(parts, self.rest, known)
        own = np.linalg.cholesky(covariance(parts, self.deviations, known, known))
        half = np.linalg.solve(own, covariance(parts, self.deviations, known, self.target))
        self.mean = half.T @ np.linalg.solve(own, self.rest[known])
        self.covariance = covariance(parts, self.deviations, self.target, self.target) - half.T @ half

    def told(self, seen: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far off the logarithms at `asked` are, by rows of the target `seen`, and how far the process believes."""
        truth = self.rest[self.target]
        k = self.covariance
        mean, variance = self.mean[asked], np.diag(k)[asked]
        if len(seen):
            half = np.linalg.solve(np.linalg.cholesky(k[np.ix_(seen, seen)]), k[np.ix_(seen, asked)])
            half_rest = np.linalg.solve(np.linalg.cholesky(k[np.ix_(seen, seen)]), truth[seen] - self.mean[seen])
            mean, variance = mean + half.T @ half_rest, variance - np.sum(half * half, axis=0)
        return mean - truth[asked], np.sqrt(variance)
