"""`inference.predictions`: what a technique is expected to do to an LLM that nobody asked, and to one that was."""

from dataclasses import dataclass

import numpy as np

from analysis.methods.small_samples import FEWEST_LLMS

N_NODES = 12  # of each standard deviation, on the grid
N_ZOOMS = 3
NEGLIGIBLE = 1e-4  # of the heaviest node


@dataclass(frozen=True)
class Prediction:
    """The gains of one LLM as far as they are known; arrays have shape (K,), in the unit of the gains.

    `gain_low` and `gain_high` hold the LLM's own gain, not the mean over LLMs, with 95 %. `p_best`, of shape (K + 1,),
    is the probability that no other technique gains this LLM more, and last that none gains.
    """

    control_loss: np.ndarray
    gain: np.ndarray
    gain_low: np.ndarray
    gain_high: np.ndarray
    p_better_than_control: np.ndarray
    p_best: np.ndarray


@dataclass(frozen=True)
class Fit:
    """What the gains of some LLMs tell about LLMs like them; only where `reason` is None is there anything to ask for.

    `means` are draws of the mean gain of each technique over the population, shape (n_draws, K); `between_sd` is how
    far the gains of LLMs lie from it (the mean of sqrt(tau_u^2 + tau_w^2)), and `new` is an LLM that nobody asked.
    """

    n_llms: int
    means: np.ndarray | None = None
    between_sd: float | None = None
    new: Prediction | None = None
    reason: str | None = None
    _effects: "_Effects | None" = None

    @property
    def p_best(self):
        """Probability of the largest mean gain, by technique and last of no gain, shape (K + 1,); ties are shared."""
        return _share_of_largest(_with_none(self.means))

    @property
    def p_worst(self):
        """Probability that a technique has the smallest mean gain, and that none loses, shape (K + 1,)."""
        return _share_of_largest(_with_none(-self.means))

    @property
    def p_worse_than_control(self):
        """Probability that a mean gain is below 0, shape (K,)."""
        return (self.means < 0).mean(axis=0)

    @property
    def ranks(self):
        """Least and greatest rank of each mean and of no gain (1 is the largest) that leave out 2.5 %: (2, K + 1)."""
        ranks = (-_with_none(self.means)).argsort(axis=1).argsort(axis=1) + 1
        return np.quantile(ranks, [0.025, 0.975], axis=0, method="inverted_cdf")

    def asked(self, place, *, rng):
        """Predict the gains of the LLM at this place among those that were asked.

        Parameters
        ----------
        place : int
            Of its row in the gains that were fitted.
        rng : numpy.random.Generator

        Returns
        -------
        Prediction
            Its own gains drawn towards those of the others by as much as its trials say little; of a technique that it
            was not asked with, what the others' gains and its own by other techniques foretell.
        """
        return self._effects.predicted(self.means, place, rng)


def fit(gains, covariances, control_losses, *, n_draws=10_000, rng):
    """Gains of techniques in a population of LLMs, in one more of it, and in each that was asked.

    The gain of LLM i by technique k is measured as N(mu_k + u_i + w_ik, V_i), where u_i ~ N(0, tau_u^2) is shared by
    the techniques of an LLM and w_ik ~ N(0, tau_w^2) is not; of one technique alone only their sum is known. Means are
    drawn towards no gain, mu_k ~ N(0, tau_m^2), since the technique that leads is often one that luck helped: at five
    LLMs and true means that spread 8 pp, a new LLM's P(better) of .85 to .925 comes true in .80 under flat priors of
    the means and in .86 under this one. Where they spread half as far as LLMs do, P(better) above .75 still says too
    much at five LLMs (it comes true in .70).

    What an estimate of the three standard deviations hides, that few LLMs hardly tell them, is carried by a grid over
    them, which refines itself where the weight is. A node weighs as much as its marginal likelihood (mu integrated out;
    the restricted likelihood, were tau_m without bounds) under half-Cauchy priors. Their scales are the data's own: the
    standard deviation of gains over LLMs for tau_u and tau_w, the root of the mean square of all gains for tau_m. Under
    flat priors of tau_u and tau_w, prediction intervals of 95 % hold 98 % at five LLMs.

    Nodes are drawn from the grid; given a node, mu and the effects of an LLM are normal, and are drawn as such.

    Parameters
    ----------
    gains : array_like, shape (G, K)
        Criterion of the control less that of the technique, of G LLMs and K techniques, in any unit. NaN where the LLM
        was not asked with the technique.
    covariances : array_like, shape (G, K, K)
        Sampling covariance of each LLM's gains from its trials: techniques share the baseline and the control. Rows and
        columns of what was not asked are not read. May be singular or 0.
    control_losses : array_like, shape (G, K)
        Criterion of each technique's control. Where it is NaN the mean over the other LLMs stands in.
    n_draws : int
    rng : numpy.random.Generator
        Pass a seeded one to reproduce a table.

    Returns
    -------
    Fit
        With the reason `too_few_llms` where a technique has fewer than `FEWEST_LLMS` LLMs (leave such techniques out),
        and `zero_variance` where neither LLMs nor trials vary.

    Raises
    ------
    ValueError
        If shapes disagree, an LLM has no gain at all, or a covariance that is read is not a number.

    References
    ----------
    Rubin (1981), Estimation in parallel randomized experiments, Journal of Educational Statistics 6, 377-401;
    Harville (1974), Bayesian inference for variance components using only error contrasts, Biometrika 61, 383-385;
    Higgins, Thompson & Spiegelhalter (2009), A re-evaluation of random-effects meta-analysis, JRSS A 172, 137-159;
    Gelman (2006), Prior distributions for variance parameters in hierarchical models, Bayesian Analysis 1, 515-534;
    Journel & Huijbregts (1978), Mining Geostatistics, section VII.A (conditional simulation, here of the effects).
    """
    g, V = _checked(gains, covariances)
    losses = np.asarray(control_losses, float)
    if losses.shape != g.shape:
        raise ValueError(f"need a control's loss for each gain, got {losses.shape} and {g.shape}")
    n_llms, n_techniques = g.shape
    if not g.size or (np.isfinite(g).sum(axis=0) < FEWEST_LLMS).any():
        return Fit(n_llms, reason="too_few_llms")
    if _scale(g, V) == 0:
        return Fit(n_llms, reason="zero_variance")
    grid = _Grid.of(g, V, np.eye(n_techniques))
    node = rng.choice(len(grid.weight), n_draws, p=grid.weight)
    means = grid.mean[node] + np.einsum("nkl,nl->nk", grid.root[node], rng.standard_normal((n_draws, n_techniques)))
    usual = np.nanmean(losses, axis=0)
    effects = _Effects(g, np.where(np.isnan(losses), usual, losses), grid.llms, grid.tau_w[node], grid.tau_u[node])
    between = float(grid.weight @ np.hypot(grid.tau_w, grid.tau_u))
    return Fit(n_llms, means, between, _predicted(means + effects.drawn(rng), usual), _effects=effects)


def leave_one_out_log_score(gains, covariances):
    """How well the gains of an LLM are foretold by the others, with and without telling techniques apart.

    Parameters
    ----------
    gains, covariances : array_like, shapes (G, K) and (G, K, K)
        As in `fit`.

    Returns
    -------
    tuple of float
        Mean over LLMs of the log predictive density of the gains of an LLM that was left out (the larger, the better):
        by the model of `fit`, and by the same one in which all techniques share one mean. None, None where `fit` has
        a reason.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102, 359-378.
    """
    g, V = _checked(gains, covariances)
    n_llms, n_techniques = g.shape
    if not g.size or (np.isfinite(g).sum(axis=0) < FEWEST_LLMS).any() or _scale(g, V) == 0:
        return None, None
    designs = np.eye(n_techniques), np.ones((n_techniques, 1))
    others = [np.arange(n_llms) != i for i in range(n_llms)]
    apart, alike = (
        np.mean([_Grid.of(g[rest], V[rest], design).log_density(g[~rest][0], V[~rest][0]) for rest in others])
        for design in designs
    )
    return float(apart), float(alike)


@dataclass(frozen=True)
class _Llm:
    """Sampling covariance of one LLM by eigenvectors (K, K), whose rows are 0 where it was not asked."""

    variances: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, covariance, is_asked):
        variances, vectors = np.zeros(len(is_asked)), np.zeros(covariance.shape)
        places = np.flatnonzero(is_asked)
        eigenvalues, columns = np.linalg.eigh(covariance[np.ix_(places, places)])
        variances[: len(places)], vectors[places, : len(places)] = np.maximum(eigenvalues, 0), columns
        return cls(variances, vectors)

    def solved(self, values, tau_w, tau_u):
        """Inverse of the covariance of its gains, times each row of `values` (Sherman & Morrison 1950)."""
        weights = 1 / (self.variances + tau_w**2)
        own = (values @ self.vectors * weights) @ self.vectors.T
        ones = (self.vectors.sum(axis=0) * weights) @ self.vectors.T
        shared = tau_u**2 / (1 + tau_u**2 * ones.sum(axis=1, keepdims=True))
        return own - shared * ones * own.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class _Effects:
    """What LLMs may differ by from the mean over them, under as many standard deviations as there are draws."""

    gains: np.ndarray
    control_losses: np.ndarray
    llms: list
    tau_w: np.ndarray
    tau_u: np.ndarray

    def drawn(self, rng):
        n_draws, n_techniques = len(self.tau_w), self.gains.shape[1]
        own = self.tau_w[:, None] * rng.standard_normal((n_draws, n_techniques))
        return own + self.tau_u[:, None] * rng.standard_normal((n_draws, 1))

    def predicted(self, means, place, rng):
        """Draw effects and trials anew, and correct the effects by what the trials that were seen differ from those."""
        llm, effects = self.llms[place], self.drawn(rng)
        tau_w, tau_u = self.tau_w[:, None], self.tau_u[:, None]
        trials = rng.standard_normal(means.shape) * np.sqrt(llm.variances) @ llm.vectors.T
        surprise = llm.solved(np.nan_to_num(self.gains[place]) - means - effects - trials, tau_w, tau_u)
        effects = effects + tau_w**2 * surprise + tau_u**2 * surprise.sum(axis=1, keepdims=True)
        return _predicted(means + effects, self.control_losses[place])


@dataclass(frozen=True)
class _Grid:
    """Nodes over the standard deviations, the weight of each, and mean and root of the covariance of mu given it."""

    llms: list
    tau_w: np.ndarray
    tau_u: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    root: np.ndarray

    @classmethod
    def of(cls, g, V, design):
        """Start with all of (0, inf) and zoom in on where the weight is."""
        scale = _scale(g, V)
        llms = [_Llm.of(*one) for one in zip(V, np.isfinite(g), strict=True)]
        size = max(scale, np.sqrt(np.nanmean(g**2)))
        tau_m = size * np.tan(np.pi / 2 * _nodes((0, 1), N_NODES))
        limits = [(0.0, 1.0), (0.0, 1.0)]
        for _ in range(N_ZOOMS):
            w, u = (_nodes(limit, N_NODES) for limit in limits)
            if g.shape[1] == 1:
                u = np.zeros(1)
            tau_w, tau_u = (scale * np.tan(np.pi / 2 * places) for places in (w, u))
            log_weight, own, sizes, axes = _marginal(g, llms, design, tau_w, tau_u, tau_m)
            weight = np.exp(log_weight - log_weight.max())
            limits = [_zoomed(limits[0], weight.max(axis=(1, 2))), _zoomed(limits[1], weight.max(axis=(0, 2)))]
        kept = np.nonzero(weight > NEGLIGIBLE**2)
        w, u, _ = kept
        root = design @ axes[w, u] / np.sqrt(sizes[kept])[:, None]
        mean = np.einsum("nkl,nl->nk", root, own[w, u, 0] / np.sqrt(sizes[kept]))
        return cls(llms, tau_w[w], tau_u[u], weight[kept] / weight[kept].sum(), mean, root)

    def log_density(self, gains, covariance):
        """Log of the predictive density of the gains of one more LLM."""
        kept = np.flatnonzero(np.isfinite(gains))
        root, eye = self.root[:, kept], np.eye(len(kept))
        tau_w, tau_u = self.tau_w[:, None, None], self.tau_u[:, None, None]
        total = root @ root.swapaxes(1, 2) + covariance[np.ix_(kept, kept)] + tau_w**2 * eye + tau_u**2
        apart = gains[kept] - self.mean[:, kept]
        distance = (apart * np.linalg.solve(total, apart[..., None])[..., 0]).sum(axis=1)
        log_each = -0.5 * (distance + np.linalg.slogdet(total)[1] + len(kept) * np.log(2 * np.pi))
        largest = log_each.max()
        return largest + np.log(self.weight @ np.exp(log_each - largest))


def _marginal(g, llms, design, tau_w, tau_u, tau_m):
    """Log marginal likelihood (but for a constant) at all W, U and M values of the standard deviations, (W, U, M).

    With it the distribution of the coefficients of `design` (K, p): in the coordinates of `axes` (W, U, p, p) they have
    precisions `sizes` (W, U, M, p) and means `own` (W, U, 1, p) / `sizes`.
    """
    is_asked, values = np.isfinite(g), np.nan_to_num(g)
    vectors, variances = np.stack([one.vectors for one in llms]), np.stack([one.variances for one in llms])
    is_vector = np.arange(g.shape[1]) < is_asked.sum(axis=1)[:, None]
    weights = is_vector / (variances + tau_w[:, None, None] ** 2)  # (W, G, K)
    inverse = (vectors * weights[:, :, None, :]) @ vectors.swapaxes(1, 2)
    ones, own = inverse.sum(axis=-1), np.einsum("wgkl,gl->wgk", inverse, values)
    total = ones.sum(axis=-1)[:, None]  # (W, 1, G)
    shared = tau_u[:, None] ** 2 / (1 + tau_u[:, None] ** 2 * total)  # (W, U, G)
    sums = own.sum(axis=-1)[:, None]
    log_determinant = -np.log(np.where(is_vector, weights, 1)).sum(axis=(1, 2))[:, None]
    log_determinant = log_determinant + np.log1p(tau_u[:, None] ** 2 * total).sum(axis=-1)
    squares = (own * values).sum(axis=(1, 2))[:, None] - (shared * sums**2).sum(axis=-1)
    loads, own = ones @ design, (own.sum(axis=1) @ design)[:, None] - (shared * sums) @ (ones @ design)
    products = (loads[..., :, None] * loads[..., None, :]).reshape(*loads.shape[:2], -1)
    size = design.shape[1]
    lost = (shared @ products).reshape(*shared.shape[:2], size, size)
    precision = (design.T @ inverse.sum(axis=1) @ design)[:, None] - lost
    sizes, axes = np.linalg.eigh(precision)
    own = np.einsum("...kl,...k->...l", axes, own)[:, :, None]
    sizes = np.maximum(sizes, 0)[:, :, None] + 1 / tau_m[:, None] ** 2
    log_precision = np.log(sizes * tau_m[:, None] ** 2).sum(axis=-1)
    likelihood = -0.5 * ((log_determinant + squares)[..., None] + log_precision - (own**2 / sizes).sum(axis=-1))
    return likelihood, own, sizes, axes


def _nodes(limit, n):
    """Middles of n equal parts."""
    return np.linspace(*limit, 2 * n + 1)[1::2]


def _zoomed(limit, weight):
    """The part of an axis in which some node is not negligible, with one node more on either side."""
    kept = np.flatnonzero(weight > NEGLIGIBLE * weight.max())
    edges = np.linspace(*limit, len(weight) + 1)
    return edges[max(kept[0] - 1, 0)], edges[min(kept[-1] + 2, len(weight))]


def _scale(g, V):
    """Standard deviation of the gains of an LLM, between LLMs or over trials, whichever is larger; 0 if negligible."""
    between = np.nanvar(g, axis=0, ddof=1).mean()
    within = np.diagonal(V, axis1=1, axis2=2)[np.isfinite(g)].mean()
    scale = np.sqrt(max(between, within))
    return scale if scale > 1e-9 * np.nanmax(np.abs(g)) else 0.0


def _checked(gains, covariances):
    g, V = np.asarray(gains, float), np.asarray(covariances, float)
    if g.ndim != 2 or V.shape != (*g.shape, g.shape[1]):
        raise ValueError(f"need gains (G, K) and covariances (G, K, K), got {g.shape} and {V.shape}")
    has_gain = np.isfinite(g)
    if not has_gain.any(axis=1).all():
        raise ValueError("an LLM has no gain at all; leave it out")
    if not np.isfinite(V[has_gain[:, :, None] & has_gain[:, None, :]]).all():
        raise ValueError("a gain has no sampling covariance")
    return g, V


def _with_none(draws):
    """Draws of gains beside the gain of no technique, which is 0."""
    return np.concatenate([draws, np.zeros((len(draws), 1))], axis=1)


def _share_of_largest(draws):
    is_largest = draws == draws.max(axis=1, keepdims=True)
    return (is_largest / is_largest.sum(axis=1, keepdims=True)).mean(axis=0)


def _predicted(draws, control_loss):
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    p_better, p_best = (draws > 0).mean(axis=0), _share_of_largest(_with_none(draws))
    return Prediction(control_loss, draws.mean(axis=0), low, high, p_better, p_best)
