"""Errors over clusters for the fixed effects of a fit whose own errors take for granted how clusters differ."""

import numpy as np

FEWEST_SEEN = 0.9


class ClusterRobust:
    """The bias-reduced variance CR2 of generalised least squares, with Satterthwaite's degrees of freedom.

    A fit with nothing but a random intercept takes for granted that techniques and anchors do the same to every LLM.
    Here the fit is the working model alone: how much LLMs differ is read off their residuals.

    Parameters
    ----------
    design : array_like, shape (m, p)
        Fixed effects, one row per cell.
    responses, clusters : array_like, shape (m,)
        Mean response of each cell, and its cluster (LLM).
    within : array_like, shape (m,)
        Variance of each cell's mean within its cluster: the residual variance over the number of trials.
    between : float
        Variance of the random intercept of clusters.
    shared : array_like, shape (m, k), optional
        Of random effects that cross the clusters (vignettes): their design, times their standard deviation. They weigh
        the cells, and are otherwise taken as they are.

    References
    ----------
    Pustejovsky & Tipton (2018), Small-sample methods for cluster-robust variance estimation and hypothesis testing in
    fixed effects models, Journal of Business & Economic Statistics 36(4), 672-683, equations 6 and 11.
    """

    def __init__(self, design, responses, clusters, *, within, between, shared=None):
        x, y = np.asarray(design, float), np.asarray(responses, float)
        z = np.zeros((len(y), 0)) if shared is None else np.asarray(shared, float)
        clusters, within = np.asarray(clusters, object), np.asarray(within, float)
        members = [np.flatnonzero(clusters == cluster) for cluster in sorted(set(clusters))]
        covariances = [np.diag(within[rows]) + between for rows in members]
        weighted = np.empty((len(y), x.shape[1] + z.shape[1]))
        for rows, covariance in zip(members, covariances, strict=True):
            weighted[rows] = np.linalg.solve(covariance, np.hstack([x, z])[rows])
        of_x, of_z = weighted[:, : x.shape[1]], weighted[:, x.shape[1] :]
        crossed = np.linalg.solve(np.eye(z.shape[1]) + z.T @ of_z, of_z.T)
        weights = of_x.T - (of_x.T @ z) @ crossed
        estimator = np.linalg.solve(weights @ x, weights)
        self.coefficients = estimator @ y
        residuals = y - x @ self.coefficients
        pairs = list(zip(members, covariances, strict=True))
        self._model = sum(estimator[:, rows] @ covariance @ estimator[:, rows].T for rows, covariance in pairs)
        parts = [self._parts(x[rows], estimator[:, rows], phi, residuals[rows]) for rows, phi in pairs]
        self._scores, self._own, self._hat, self._cross = (np.array(part) for part in zip(*parts, strict=True))

    def _parts(self, x, estimator, covariance, residuals):
        """One cluster's adjusted score and what the degrees of freedom need of it."""
        root = np.linalg.cholesky(covariance).T
        explained = x @ estimator @ covariance
        left = covariance - explained - explained.T + x @ self._model @ x.T
        values, vectors = np.linalg.eigh(root @ left @ root.T)
        kept = values > 1e-10 * np.trace(covariance) ** 2
        inverse_root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        adjusted = estimator @ root.T @ inverse_root @ root
        of_cluster = adjusted @ covariance @ adjusted.T
        return adjusted @ residuals, of_cluster, adjusted @ x, adjusted @ covariance @ estimator.T

    def error(self, weights):
        """Standard error of a weighted sum of coefficients, and its degrees of freedom.

        Parameters
        ----------
        weights : array_like, shape (p,)

        Returns
        -------
        tuple of float
            Both NaN where one cluster alone decides so much of the sum that the others' residuals leave less than
            nine tenths of its variance to be seen; what is not seen is made up for in proportion.
        """
        weights = np.asarray(weights, float)
        hat, cross = weights @ self._hat, weights @ self._cross
        quadratic = np.diag(weights @ self._own @ weights) + hat @ self._model @ hat.T - hat @ cross.T - cross @ hat.T
        seen = np.trace(quadratic) / (weights @ self._model @ weights)
        if seen < FEWEST_SEEN:
            return np.nan, np.nan
        variance = np.sum((self._scores @ weights) ** 2) / seen
        return float(np.sqrt(variance)), float(np.trace(quadratic) ** 2 / np.sum(quadratic**2))
