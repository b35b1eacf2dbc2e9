#!/usr/bin/env python3
"""Writes sklearn.json: what scikit-learn makes of a few small data sets, for gp_sklearn_test.

    make_sklearn_fixture.py > sklearn.json

Made with scikit-learn 1.2.1. "given": posteriors with given hyperparameters, around the mean of y.
"fitted": the log marginal likelihood (of y in its own units) of a fit with the bounds of ours (src/gp/fit.cc).
"""
import json
import warnings

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

# smoothness, dimensions, points, noise
CASES = [
    (0.5, 2, 12, 0.1),
    (0.5, 3, 15, 0.05),
    (2.5, 1, 8, 0.02),
    (2.5, 2, 25, 0.1),
    (0.5, 1, 10, 0.1),
    (2.5, 4, 20, 0.2),
]
QUERIES = 6


def given(nu, x, y, weights, query, random):
    signal, noise = random.uniform(0.5, 2), random.uniform(0.05, 0.3)
    lengths = random.uniform(0.3, 2, x.shape[1])
    kernel = ConstantKernel(signal ** 2, "fixed") * Matern(lengths, "fixed", nu=nu)
    model = GaussianProcessRegressor(kernel, alpha=noise ** 2 * weights, optimizer=None).fit(x, y - y.mean())
    mean, covariance = model.predict(query, return_cov=True)
    _, sd = model.predict(query, return_std=True)
    return {"signal_sd": signal, "length_scales": lengths.tolist(), "noise_sd": noise,
            "query": query.tolist(), "mean": (mean + y.mean()).tolist(), "sd": sd.tolist(),
            "covariance": covariance.tolist(), "lml": model.log_marginal_likelihood_value_}


def fitted(nu, x, y):
    ranges = np.ptp(x, axis=0)
    kernel = ConstantKernel(1.0, (1e-6, 1e6)) * Matern(
        0.5 * ranges, np.outer(ranges, (1e-2, 1e2)), nu=nu) + WhiteKernel(1e-2, (1e-8, 1e2))
    model = GaussianProcessRegressor(
        kernel, alpha=0, n_restarts_optimizer=5, normalize_y=True, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    return model.log_marginal_likelihood_value_ - len(y) * np.log(model._y_train_std)


def main():
    random = np.random.default_rng(7)
    cases = []
    for nu, dimensions, n, noise in CASES:
        x = random.uniform(0, 3, (n, dimensions))
        y = np.sin(2 * x[:, 0]) + 0.3 * x.sum(axis=1) + noise * random.standard_normal(n)
        weights = random.uniform(0.5, 2, n)
        query = random.uniform(-0.5, 3.5, (QUERIES, dimensions))
        cases.append({"nu": nu, "x": x.tolist(), "y": y.tolist(),
                      "noise_weights": weights.tolist(),
                      "given": given(nu, x, y, weights, query, random),
                      "fitted_lml": fitted(nu, x, y)})
    print(json.dumps({"scikit-learn": sklearn.__version__, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
