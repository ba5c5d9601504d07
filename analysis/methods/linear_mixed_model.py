"""Linear mixed models: the exact (restricted) likelihood from cell counts, means and squares, and its maximum."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy.optimize import minimize

SINGULAR = 1e-4
_triangle = cache(np.tril_indices)


class NotFittedError(ValueError):
    """The data cannot support the fit; `reason` is the typed word that says why."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class RandomTerm:
    """Random effects that one grouping factor brings: `columns` of them for each of its `levels`.

    Parameters
    ----------
    name : str
        The grouping factor.
    groups : array_like, shape (m,)
        The level of each cell.
    columns : list of str, length k
    design : array_like, shape (m, k)
        The row of each cell; a column of ones is a random intercept. Their covariance is unstructured.
    """

    name: str
    groups: np.ndarray
    columns: list
    design: np.ndarray

    @cached_property
    def levels(self):
        """The distinct levels, sorted."""
        return sorted(set(self.groups))

    @cached_property
    def dense(self):
        """Columns of Z, level by level, shape (m, number of levels times k)."""
        codes = pd.Categorical(self.groups, categories=self.levels).codes
        design = np.asarray(self.design, float)
        z = np.zeros((len(codes), len(self.levels), design.shape[1]))
        z[np.arange(len(codes)), codes] = design
        return z.reshape(len(codes), -1)

    @property
    def n_parameters(self):
        """Number of variances and covariances."""
        return len(self.columns) * (len(self.columns) + 1) // 2


@dataclass(frozen=True)
class Fit:
    """A fitted linear mixed model.

    Parameters
    ----------
    coefficients, covariance : ndarray, shapes (p,) and (p, p)
        Fixed effects and their covariance.
    theta : ndarray
        Lower triangles, row by row, of the relative covariance factors of the terms; diagonals not negative.
    residual_variance : float
        Of a trial, in the squared unit of the response: rss / n under ML, rss / (n - p) under REML.
    covariances : dict of str to ndarray, shape (k, k)
        Covariance of the random effects of each term.
    modes : dict of str to ndarray, shape (levels, k)
        Conditional modes (BLUPs) of each term, levels sorted.
    log_likelihood : float
        With all constants, as `logLik` of lme4 gives it; under REML it depends on the coding of `design`.
    n_trials, n_parameters : int
        Parameters are fixed effects, variances and covariances, and the residual variance.
    converged : bool
        The Newton decrement is negligible and no direction leads downhill.
    singular : bool
        A covariance of random effects lies on the boundary: it has an eigenvalue of (nearly) zero.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    theta: np.ndarray
    residual_variance: float
    covariances: dict
    modes: dict
    log_likelihood: float
    n_trials: int
    n_parameters: int
    converged: bool
    singular: bool


class ProfiledDeviance:
    """Minus twice the profiled (restricted) log-likelihood of theta, and its gradient.

    The trials of a cell share their rows of X and Z, so they enter as one row, weighted by the root of their number,
    and as the sum of squares about their mean. No sum of squares is taken about anything but a fitted value, so no
    digits are lost however many trials there are.

    Parameters
    ----------
    design : array_like, shape (m, p)
        Fixed effects, one row per cell; full column rank.
    terms : list of RandomTerm
    n_trials, means, squares : array_like, shape (m,)
        Of the trials of each cell: number, mean response, sum of squares about that mean.
    reml : bool

    Raises
    ------
    NotFittedError
        `too_few_trials`, `rank_deficient` or `zero_variance`.

    References
    ----------
    Bates, Maechler, Bolker & Walker (2015), Fitting linear mixed-effects models using lme4, Journal of Statistical
    Software 67(1), equations 34 and 41: the penalised least squares problem and the profiled criteria. The gradient
    is that of log|V|, of the penalised residual sum of squares and of log|X'V^-1 X| for V = I + Z L L' Z'.
    """

    def __init__(self, design, terms, n_trials, means, squares, *, reml=True):
        n = np.asarray(n_trials, float)
        root = np.sqrt(n)[:, None]
        x = np.asarray(design, float) * root
        y = np.asarray(means, float) * root[:, 0]
        z = np.hstack([term.dense for term in terms]) * root
        self.terms, self.reml = terms, reml
        self.n_trials, self.p, self.q = int(n.sum()), x.shape[1], z.shape[1]
        self.degrees = self.n_trials - self.p * reml
        if self.n_trials <= self.p or any(term.dense.shape[1] >= self.n_trials for term in terms):
            raise NotFittedError("too_few_trials")
        if np.linalg.matrix_rank(x) < self.p:
            raise NotFittedError("rank_deficient")
        self.within = float(np.sum(squares))
        self.total = self.within + float(n @ (means - np.average(means, weights=n)) ** 2)
        left = y - np.hstack([z, x]) @ np.linalg.lstsq(np.hstack([z, x]), y, rcond=None)[0]
        if self.within + left @ left <= 1e-14 * self.total or self.total <= 1e-24 * self.n_trials * np.max(means**2):
            raise NotFittedError("zero_variance")
        rows = np.column_stack([z, x, y])
        if len(rows) > rows.shape[1]:
            rows = np.linalg.qr(rows, mode="r")
        rows = np.pad(rows, ((0, rows.shape[1] - len(rows)), (0, 0)))
        self.z, self.x, self.y = rows[:, : self.q], rows[:, self.q : -1], rows[:, -1]

    @cached_property
    def scales(self):
        """A rough standard deviation of each term's random effects, relative to the residual's."""
        beta = np.linalg.lstsq(self.x, self.y, rcond=None)[0]
        residual = self.y - self.x @ beta
        weights = np.sum(self.z**2, axis=0)
        effects = (self.z.T @ residual) / np.where(weights > 0, weights, 1)
        between = residual @ residual
        variance = (self.within if self.within > 1e-6 * between else between) / self.n_trials
        return [max(np.sqrt(np.mean(block**2) / variance), 1e-3) for block in self._blocks(effects)]

    def factors(self, theta):
        """Return the relative covariance factor of each term, shape (k, k), lower triangular."""
        factors, ends = [], np.cumsum([term.n_parameters for term in self.terms])
        for term, triangle in zip(self.terms, np.split(theta, ends[:-1]), strict=True):
            factor = np.zeros((len(term.columns),) * 2)
            factor[_triangle(len(factor))] = triangle
            factors.append(factor)
        return factors

    def theta(self, factors):
        """Return the lower triangles of the factors, one after another."""
        return np.concatenate([factor[_triangle(len(factor))] for factor in factors])

    def solve(self, theta):
        """Solve the penalised least squares problem at theta by one QR decomposition.

        Returns
        -------
        dict
            `deviance`, `gradient` with respect to theta, `beta`, `b` (random effects), `rss`, `inverse_root` (of
            X'V^-1 X: its product with its transpose is the inverse).
        """
        factors = self.factors(theta)
        zl = np.hstack(
            [
                (block.reshape(len(block), -1, len(factor)) @ factor).reshape(len(block), -1)
                for block, factor in zip(self._blocks(self.z), factors, strict=True)
            ]
        )
        q, p = self.q, self.p
        top = np.column_stack([zl, self.x, self.y])
        orthogonal, r = np.linalg.qr(np.vstack([top, np.eye(q, q + p + 1)]))
        orthogonal = orthogonal[: len(top)]
        rll, rlx, rly = r[:q, :q], r[:q, q:-1], r[:q, -1]
        rxx, rxy = r[q:-1, q:-1], r[q:-1, -1]
        rss = self.within + r[-1, -1] ** 2
        inverse_root, inverse_factor = np.linalg.inv(rxx), np.linalg.inv(rll)
        beta = inverse_root @ rxy
        u = inverse_factor @ (rly - rlx @ beta)
        deviance = self.degrees * (1 + np.log(2 * np.pi * rss / self.degrees)) + 2 * np.log(np.abs(np.diag(rll))).sum()
        left = self.z.T @ (orthogonal[:, -1] * r[-1, -1])
        slope = self.z.T @ orthogonal[:, :q] @ inverse_factor.T - self.degrees / rss * np.outer(left, u)
        if self.reml:
            deviance += 2 * np.log(np.abs(np.diag(rxx))).sum()
            slope -= self.z.T @ orthogonal[:, q : q + p] @ (inverse_factor @ rlx @ inverse_root).T
        gradient, b, start = [], [], 0
        for term, factor in zip(self.terms, factors, strict=True):
            size = term.dense.shape[1]
            levels, k = len(term.levels), len(factor)
            block = slope[start : start + size, start : start + size].reshape(levels, k, levels, k)
            gradient.append(2 * np.einsum("iaib->ab", block))
            b.append(u[start : start + size].reshape(levels, k) @ factor.T)
            start += size
        return {
            "deviance": float(deviance),
            "gradient": self.theta(gradient),
            "beta": beta,
            "b": b,
            "rss": float(rss),
            "inverse_root": inverse_root,
        }

    def _blocks(self, array):
        """Split the last axis by term."""
        ends = np.cumsum([term.dense.shape[1] for term in self.terms])
        return np.split(array, ends[:-1], axis=-1)


def fit(design, terms, n_trials, means, squares, *, reml=True):
    """Fit a linear mixed model y = X beta + Z b + e by (restricted) maximum likelihood.

    Parameters
    ----------
    design : array_like, shape (m, p)
        Fixed effects, one row per cell of trials that share their covariates.
    terms : list of RandomTerm
        Independent of each other; their levels may cross.
    n_trials, means, squares : array_like, shape (m,)
        Number of trials, their mean response and their sum of squares about it, per cell.
    reml : bool
        Restricted maximum likelihood, else maximum likelihood.

    Returns
    -------
    Fit

    Raises
    ------
    NotFittedError
        `too_few_trials` (no residual degrees of freedom), `rank_deficient`, `zero_variance` (no residual variance).

    Notes
    -----
    theta is free: a factor and the same factor with a column negated are the same covariance, so zero variances are
    interior points of a smooth function and need no bounds. BFGS from two starts finds the valley; Newton steps, whose
    Hessian is the difference of exact gradients, find its floor.

    References
    ----------
    Bates et al. (2015), see `ProfiledDeviance`. Lindstrom & Bates (1988), JASA 83, 1014-1022, on Newton's method.
    """
    problem = ProfiledDeviance(design, terms, n_trials, means, squares, reml=reml)
    units = problem.theta(
        [scale * np.ones((len(t.columns),) * 2) for t, scale in zip(terms, problem.scales, strict=True)]
    )
    identity = problem.theta([np.eye(len(term.columns)) for term in terms])
    theta, converged = _minimum(problem, units, [identity, 0.2 * identity])
    factors = problem.factors(theta)
    for i, factor in enumerate(factors):
        without = [0 * other if i == j else other for j, other in enumerate(factors)]
        if np.abs(factor).max() < SINGULAR and (
            problem.solve(problem.theta(without))["deviance"] <= problem.solve(theta)["deviance"] + 1e-8
        ):
            factors = without
    factors = [factor * np.where(np.diag(factor) < 0, -1, 1) for factor in factors]
    theta = problem.theta(factors)
    solved = problem.solve(theta)
    variance = solved["rss"] / problem.degrees
    root = solved["inverse_root"]
    return Fit(
        coefficients=solved["beta"],
        covariance=variance * root @ root.T,
        theta=theta,
        residual_variance=variance,
        covariances={t.name: variance * f @ f.T for t, f in zip(terms, factors, strict=True)},
        modes={term.name: b for term, b in zip(terms, solved["b"], strict=True)},
        log_likelihood=-solved["deviance"] / 2,
        n_trials=problem.n_trials,
        n_parameters=problem.p + len(theta) + 1,
        converged=converged,
        singular=any(_is_singular(factor) for factor in factors),
    )


def _is_singular(factor):
    scales = np.linalg.svd(factor, compute_uv=False)
    return bool(scales[-1] < SINGULAR * max(1, scales[0]))


def _minimum(problem, units, starts):
    """Minimise over theta / units; return theta and whether no step leads further down."""

    def both(point):
        solved = problem.solve(units * point)
        return solved["deviance"], solved["gradient"] * units

    def descended(point):
        return minimize(both, point, jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": 500})

    point = min((descended(start) for start in starts), key=lambda end: end.fun).x
    decrement = np.inf
    for _ in range(6):
        deviance, slope = both(point)
        curvature, axes = np.linalg.eigh(_hessian(lambda at: both(at)[1], point, slope))
        largest = max(1.0, np.abs(curvature).max())
        if curvature[0] < -1e-4 * largest:
            ways = (descended(point + sign * 0.1 * axes[:, 0]) for sign in (1, -1))
            point = min(ways, key=lambda end: end.fun).x
            continue
        bent = curvature > 1e-6 * largest
        for _ in range(4):
            step = -axes @ np.where(bent, (axes.T @ slope) / np.where(bent, curvature, 1), 0)
            decrement = -slope @ step
            if decrement <= 1e-13:
                return units * point, True
            after, after_slope = both(point + step)
            if after > deviance + 1e-12 * abs(deviance) + 1e-9 or np.abs(after_slope).max() >= np.abs(slope).max():
                return units * point, bool(decrement <= 1e-8)
            point, deviance, slope = point + step, after, after_slope
    return units * point, bool(decrement <= 1e-8)


def _hessian(gradient, point, slope, step=1e-6):
    columns = []
    for i in range(len(point)):
        shift = np.zeros(len(point))
        shift[i] = step * max(1.0, abs(point[i]))
        columns.append((gradient(point + shift) - slope) / shift[i])
    hessian = np.column_stack(columns)
    return (hessian + hessian.T) / 2
