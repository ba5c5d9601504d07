"""Errors over clusters agree with a t test where there is one, with statsmodels where there are many clusters."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from analysis.methods.cluster_robust import ClusterRobust


def cells(rng, *, n_clusters, balanced, sd_slope=10.0):
    """Cells of two conditions per cluster: design, mean, cluster, and the variance of the mean."""
    clusters = np.repeat(np.arange(n_clusters), 4)
    condition = np.tile([-0.5, -0.5, 0.5, 0.5], n_clusters)
    n_trials = np.full(4 * n_clusters, 20) if balanced else rng.integers(5, 60, 4 * n_clusters)
    slopes = rng.normal(30, sd_slope, n_clusters)
    means = 80 + rng.normal(0, 12, n_clusters)[clusters] + slopes[clusters] * condition
    within = 400 / n_trials
    means = means + rng.normal(0, np.sqrt(within))
    design = np.column_stack([np.ones(len(clusters)), condition])
    return design, means, clusters, within


def test_in_a_balanced_design_it_is_the_t_test_of_the_differences_of_clusters():
    design, means, clusters, within = cells(np.random.default_rng(1), n_clusters=6, balanced=True)
    found = ClusterRobust(design, means, clusters, within=within, between=144.0)
    by_cluster = means.reshape(6, 2, 2).mean(axis=2)
    for weights, values in ([0, 1], by_cluster[:, 1] - by_cluster[:, 0]), ([1, 0], by_cluster.mean(axis=1)):
        assert found.coefficients @ weights == pytest.approx(values.mean())
        assert found.error(weights) == pytest.approx((stats.sem(values), 5))


def test_over_many_clusters_it_is_the_clustered_error_of_statsmodels_on_whitened_rows():
    design, means, clusters, within = cells(np.random.default_rng(2), n_clusters=400, balanced=False)
    whitened = np.linalg.inv(
        np.linalg.cholesky(np.diag(within) + 144.0 * (clusters[:, None] == clusters[None]).astype(float))
    )
    oracle = sm.OLS(whitened @ means, whitened @ design).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    found = ClusterRobust(design, means, clusters, within=within, between=144.0)
    assert found.coefficients == pytest.approx(oracle.params)
    assert [found.error(weights)[0] for weights in np.eye(2)] == pytest.approx(oracle.bse, rel=0.01)


def test_it_is_the_formula_of_the_article_written_out():
    rng = np.random.default_rng(3)
    design, means, clusters, within = cells(rng, n_clusters=7, balanced=False)
    shared = 5.0 * np.eye(2)[np.tile([0, 1], 14)]
    blocks = np.diag(within) + 144.0 * (clusters[:, None] == clusters[None])
    weights = np.linalg.inv(blocks + shared @ shared.T)
    estimator = np.linalg.solve(design.T @ weights @ design, design.T @ weights)
    maker = np.eye(len(means)) - design @ estimator
    vectors = []
    for cluster in range(7):
        own = clusters == cluster
        root = np.linalg.cholesky(blocks[np.ix_(own, own)]).T
        values, axes = np.linalg.eigh(root @ maker[own] @ blocks @ maker[own].T @ root.T)
        adjustment = root.T @ (axes / np.sqrt(values)) @ axes.T @ root
        vectors.append(maker[own].T @ adjustment.T @ estimator[1, own])
    vectors = np.array(vectors)
    quadratic = vectors @ blocks @ vectors.T
    found = ClusterRobust(design, means, clusters, within=within, between=144.0, shared=shared)
    assert found.coefficients == pytest.approx(estimator @ means)
    expected = np.sqrt(np.sum((vectors @ means) ** 2)), np.trace(quadratic) ** 2 / np.sum(quadratic**2)
    assert found.error([0, 1]) == pytest.approx(expected)


def test_what_one_cluster_alone_decides_has_no_error():
    design, means, clusters, within = cells(np.random.default_rng(4), n_clusters=6, balanced=False)
    only_one = np.column_stack([design, clusters == 0])
    found = ClusterRobust(only_one, means, clusters, within=within, between=144.0)
    assert np.isnan(found.error([0, 0, 1])).all()
    assert np.isfinite(found.error([0, 1, 0])).all()
