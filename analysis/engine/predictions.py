"""`inference.predictions`: what a technique would do to an LLM of a new vendor, of a known one, and to one asked."""

from dataclasses import dataclass

import numpy as np

from analysis.engine.vendors import vendor_means
from analysis.methods.small_samples import FEWEST_LLMS

N_NODES = 12  # of each standard deviation, on the grid
N_NODES_OF_RHO = 7
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
    """What the gains of some LLMs tell about LLMs like them.

    `means` are draws of the mean gain of each technique over the population, shape (n_draws, K); `between_sd` is how
    far the gains of LLMs lie from it (the mean of sqrt(tau_u^2 + tau_w^2)), and `new` is an LLM of a vendor of which
    none was asked. Where there is a `reason`, nothing can be said of these; of the vendor asked there can, where it is
    `one_vendor`.
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

    def further(self, place, *, rng):
        """Predict the gains of one more LLM of the vendor of the LLM at this place.

        Parameters
        ----------
        place, rng
            As of `asked`.

        Returns
        -------
        Prediction
            Its control loses what it does in the LLMs of that vendor on average, drawn towards the mean over vendors
            by as much as gains of one vendor differ.
        """
        return self._effects.further(self.means, self._effects.asked.vendors[place], rng)


def fit(gains, covariances, control_losses, vendors, *, n_draws=10_000, rng):
    """Gains of techniques in a population of vendors' LLMs, in one more of it, and in each that was asked.

    The gain of LLM i by technique k is measured as N(mu_k + u_i + w_ik, V_i), where u_i ~ N(0, tau_u^2) is shared by
    the techniques of an LLM and w_ik ~ N(0, tau_w^2) is not; of one technique alone only their sum is known. A share
    rho ~ U(0, 1) of both variances is between vendors, and the same for all LLMs of a vendor. An LLM of a new vendor
    differs from the mean by all of u and w; a further one of a vendor that was asked by what is seen of that vendor,
    and by a part of its own. Where each vendor has one LLM, nothing is known of rho but that.

    Means are drawn towards no gain, mu_k ~ N(0, tau_m^2), since the technique that leads is often one that luck helped:
    at five LLMs and true means that spread 8 pp, a new LLM's P(better) of .85 to .925 comes true in .80 under flat
    priors of the means and in .86 under this one. Where they spread half as far as LLMs do, P(better) above .75 still
    says too much at five LLMs (it comes true in .70).

    What an estimate of rho and of the three standard deviations hides, that few LLMs hardly tell them, is carried by a
    grid over them, which refines itself where the weight is. A node weighs as much as its marginal likelihood (mu
    integrated out; the restricted likelihood, were tau_m without bounds) under half-Cauchy priors. Their scales are the
    data's own: the standard deviation of gains over LLMs for tau_u and tau_w, the root of the mean square of all gains
    for tau_m. Under flat priors of tau_u and tau_w, prediction intervals of 95 % hold 98 % at five LLMs.

    Nodes are drawn from the grid; given a node, mu and the effects of a vendor and of an LLM are normal, and are drawn
    as such.

    Parameters
    ----------
    gains : array_like, shape (G, K)
        Criterion of the control less that of the technique, of G LLMs and K techniques, in any unit. NaN where the LLM
        was not asked with the technique.
    covariances : array_like, shape (G, K, K)
        Sampling covariance of each LLM's gains from its trials: techniques share the baseline and the control. Rows and
        columns of what was not asked are not read. May be singular or 0.
    control_losses : array_like, shape (G, K)
        Criterion of each technique's control. Where it is NaN the mean over vendors stands in.
    vendors : array_like, shape (G,)
        Whose the LLMs are.
    n_draws : int
    rng : numpy.random.Generator
        Pass a seeded one to reproduce a table.

    Returns
    -------
    Fit
        With the reason `too_few_llms` where a technique has fewer than `FEWEST_LLMS` LLMs (leave such techniques out),
        `zero_variance` where neither LLMs nor trials vary, and `one_vendor` where they are all of one, which says
        nothing of another.

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
    g, V = _checked(gains, covariances, vendors)
    losses = np.asarray(control_losses, float)
    if losses.shape != g.shape:
        raise ValueError(f"need a control's loss for each gain, got {losses.shape} and {g.shape}")
    n_llms, n_techniques = g.shape
    if not g.size or (np.isfinite(g).sum(axis=0) < FEWEST_LLMS).any():
        return Fit(n_llms, reason="too_few_llms")
    if _scale(g, V) == 0:
        return Fit(n_llms, reason="zero_variance")
    grid = _Grid.of(g, V, vendors, np.eye(n_techniques))
    place = rng.choice(len(grid.weight), n_draws, p=grid.weight)
    means = grid.mean[place] + np.einsum("nkl,nl->nk", grid.root[place], rng.standard_normal((n_draws, n_techniques)))
    usual = np.nanmean(vendor_means(losses, vendors), axis=0)
    effects = _Effects(grid.asked, np.where(np.isnan(losses), usual, losses), usual, *grid.drawn(place))
    between = float(grid.weight @ np.hypot(grid.nodes.tau_w, grid.nodes.tau_u)[grid.node])
    if len(set(vendors)) == 1:
        return Fit(n_llms, means, between, reason="one_vendor", _effects=effects)
    return Fit(n_llms, means, between, _predicted(means + effects.drawn(rng), usual), _effects=effects)


def leave_one_out_log_score(gains, covariances, vendors):
    """How well the gains of an LLM are foretold by those of other vendors, with and without telling techniques apart.

    A whole vendor is left out, since the prediction that leads is for an LLM of a vendor of which none was asked; LLMs
    of its own vendor would foretell it better than they may. Each of its LLMs is foretold alone, as a prediction is.

    Parameters
    ----------
    gains, covariances, vendors : array_like, shapes (G, K), (G, K, K) and (G,)
        As in `fit`.

    Returns
    -------
    tuple of float
        Mean over vendors of the mean over its LLMs of the log predictive density of an LLM's gains (the larger, the
        better): by the model of `fit`, and by the same one in which all techniques share one mean. None, None where
        `fit` has a reason, or a technique has LLMs of fewer than three vendors: if one is left, it tells of no other.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102, 359-378.
    """
    g, V = _checked(gains, covariances, vendors)
    n_techniques = g.shape[1]
    n_vendors = np.isfinite(vendor_means(g, vendors)).sum(axis=0)
    is_few = (np.isfinite(g).sum(axis=0) < FEWEST_LLMS) | (n_vendors < 3)
    if not g.size or is_few.any() or _scale(g, V) == 0:
        return None, None
    vendors = np.asarray(vendors)

    def score(vendor, design):
        is_of = vendors == vendor
        grid = _Grid.of(g[~is_of], V[~is_of], vendors[~is_of], design)
        return np.mean([grid.log_density(*one) for one in zip(g[is_of], V[is_of], strict=True)])

    designs = np.eye(n_techniques), np.ones((n_techniques, 1))
    apart, alike = (np.mean([score(vendor, design) for vendor in np.unique(vendors)]) for design in designs)
    return float(apart), float(alike)


@dataclass(frozen=True)
class _Asked:
    """Gains of LLMs, 0 where an LLM was not asked, the number of each one's vendor, and sampling covariances.

    These are in the coordinates of their eigenvectors (G, K, K), whose rows are 0 where an LLM was not asked.
    """

    gains: np.ndarray
    vendors: np.ndarray
    is_vector: np.ndarray
    variances: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, g, V, vendors):
        variances, vectors = np.zeros(g.shape), np.zeros(V.shape)
        n_asked = np.isfinite(g).sum(axis=1)
        for i, n in enumerate(n_asked):
            places = np.flatnonzero(np.isfinite(g[i]))
            eigenvalues, vectors[i, places, :n] = np.linalg.eigh(V[i][np.ix_(places, places)])
            variances[i, :n] = np.maximum(eigenvalues, 0)
        is_vector = np.arange(g.shape[1]) < n_asked[:, None]
        return cls(np.nan_to_num(g), np.unique(vendors, return_inverse=True)[1], is_vector, variances, vectors)

    @property
    def several(self):
        """Which LLMs are of each vendor that has more than one, shape (Q, G)."""
        is_of = self.vendors == np.arange(self.vendors.max() + 1)[:, None]
        return is_of[is_of.sum(axis=1) > 1]

    def precisions(self, nodes, share, rows=...):
        """Inverse covariance of the gains of LLMs, (N, G, K, K), and the log determinant of the covariance, (N, G).

        At each node an LLM has a share, (N, G), of the variance between LLMs (Sherman & Morrison 1950).
        """
        tau_w, tau_u = (tau[:, None] ** 2 * share for tau in (nodes.tau_w, nodes.tau_u))
        is_vector, vectors = self.is_vector[rows], self.vectors[rows]
        weights = is_vector / (self.variances[rows] + tau_w[..., None])
        inverse = (vectors * weights[..., None, :]) @ vectors.swapaxes(1, 2)
        ones = inverse.sum(axis=-1)
        total = ones.sum(axis=-1)
        shared = tau_u / (1 + tau_u * total)
        inverse -= (shared[..., None] * ones)[..., None] * ones[..., None, :]
        return inverse, np.log1p(tau_u * total) - np.log(np.where(is_vector, weights, 1)).sum(axis=-1)


@dataclass(frozen=True)
class _Nodes:
    """Standard deviations between LLMs, and the share of their variance that is between vendors; shapes (N,)."""

    tau_w: np.ndarray
    tau_u: np.ndarray
    rho: np.ndarray

    def roots(self, precision):
        """Transposed roots of the covariances of vendors' effects given their LLMs' gains, (N, Q, K, K).

        With them the log determinants, (N, Q), by which the covariance of a vendor's gains exceeds that of as many LLMs
        apart: both from the sum of the precisions of its LLMs (Woodbury 1950).
        """
        eye = np.eye(precision.shape[-1])
        alike = (np.sqrt(self.tau_w**2 + len(eye) * self.tau_u**2) - self.tau_w) / len(eye)
        prior = self.tau_w[:, None, None] * eye + alike[:, None, None]
        prior = (np.sqrt(self.rho)[:, None, None] * prior)[:, None]
        lower = np.linalg.cholesky(eye + prior @ precision @ prior)
        log_determinant = 2 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.linalg.solve(lower, np.broadcast_to(prior, lower.shape)), log_determinant


@dataclass(frozen=True)
class _Effects:
    """What LLMs may differ by from the mean over them; each draw is of one node."""

    asked: _Asked
    control_losses: np.ndarray
    usual: np.ndarray
    nodes: _Nodes
    node: np.ndarray

    def drawn(self, rng, share=1.0):
        """Draw what an LLM differs by, or the part of it that has this share of the variance."""
        n_draws, n_techniques = len(self.node), self.asked.gains.shape[1]
        tau_w, tau_u = (np.sqrt(share) * tau[self.node] for tau in (self.nodes.tau_w, self.nodes.tau_u))
        own = tau_w[:, None] * rng.standard_normal((n_draws, n_techniques))
        return own + tau_u[:, None] * rng.standard_normal((n_draws, 1))

    def of_vendor(self, means, vendor, rng):
        """Draw what a vendor's LLMs share, given their gains."""
        rows = np.flatnonzero(self.asked.vendors == vendor)
        inverse, _ = self.asked.precisions(self.nodes, 1 - self.nodes.rho[:, None], rows)
        precision, own = inverse.sum(axis=1), np.einsum("ngkl,gl->nk", inverse, self.asked.gains[rows])
        root = self.nodes.roots(precision[:, None])[0][:, 0]
        loads, seen = (root @ precision)[self.node], np.einsum("nkl,nl->nk", root, own)[self.node]
        drawn = rng.standard_normal(means.shape) + seen - np.einsum("nkl,nl->nk", loads, means)
        return np.einsum("nlk,nl->nk", root[self.node], drawn)

    def further(self, means, vendor, rng):
        rho, is_of = self.nodes.rho[self.node], self.asked.vendors == vendor
        effects = self.of_vendor(means, vendor, rng) + self.drawn(rng, 1 - rho)
        # what the mean of n draws with an intraclass correlation of rho says of one more
        weight = np.mean(is_of.sum() * rho / (1 + (is_of.sum() - 1) * rho))
        of_vendor = self.control_losses[is_of].mean(axis=0)
        return _predicted(means + effects, weight * of_vendor + (1 - weight) * self.usual)

    def predicted(self, means, place, rng):
        """Draw effects and trials anew, and correct the effects by what the trials that were seen differ from those."""
        asked, vendor = self.asked, self.asked.vendors[place]
        share = np.ones(len(self.nodes.rho))
        if (asked.vendors == vendor).sum() > 1:
            share, means = 1 - self.nodes.rho, means + self.of_vendor(means, vendor, rng)
        effects = self.drawn(rng, share[self.node])
        trials = rng.standard_normal(means.shape) * np.sqrt(asked.variances[place]) @ asked.vectors[place].T
        inverse = asked.precisions(self.nodes, share[:, None], [place])[0][self.node, 0]
        surprise = np.einsum("nkl,nl->nk", inverse, asked.gains[place] - means - effects - trials)
        tau_w, tau_u = ((share * tau**2)[self.node, None] for tau in (self.nodes.tau_w, self.nodes.tau_u))
        effects = effects + tau_w * surprise + tau_u * surprise.sum(axis=1, keepdims=True)
        return _predicted(means + effects, self.control_losses[place])


@dataclass(frozen=True)
class _Grid:
    """Nodes, the weight of each with a size of the means, and mean and root of the covariance of mu given both.

    Of `nodes` there are fewer than weights: `node` has the place of each.
    """

    asked: _Asked
    nodes: _Nodes
    node: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    root: np.ndarray

    @classmethod
    def of(cls, g, V, vendors, design):
        """Start with all of (0, inf), and of [0, 1] for rho, and zoom in on where the weight is."""
        scale, asked = _scale(g, V), _Asked.of(g, V, vendors)
        size = max(scale, np.sqrt(np.nanmean(g**2)))
        tau_m = size * np.tan(np.pi / 2 * _nodes((0, 1), N_NODES))
        counts = (N_NODES, N_NODES if g.shape[1] > 1 else 1, N_NODES_OF_RHO if len(asked.several) else 1)
        limits = [(0.0, 1.0)] * 3
        for _ in range(N_ZOOMS):
            w, u, at = (axis.ravel() for axis in np.meshgrid(*map(_nodes, limits, counts), indexing="ij"))
            u = u * (counts[1] > 1)
            # nodes of rho lie closer near 0 and 1, where the likelihood may be steep, and weigh less there
            rho, log_prior = np.sin(np.pi / 2 * at) ** 2, np.log(np.sin(np.pi * at))
            nodes = _Nodes(scale * np.tan(np.pi / 2 * w), scale * np.tan(np.pi / 2 * u), rho)
            log_weight, own, sizes, axes = _marginal(asked, design, nodes, tau_m)
            log_weight += log_prior[:, None]
            weight = np.exp(log_weight - log_weight.max())
            by_axis = weight.max(axis=1).reshape(counts)
            limits = [_zoomed(limit, by_axis.max(axis=tuple({0, 1, 2} - {axis}))) for axis, limit in enumerate(limits)]
        kept = np.nonzero(weight > NEGLIGIBLE**2)
        root = design @ axes[kept[0]] / np.sqrt(sizes[kept])[:, None]
        mean = np.einsum("nkl,nl->nk", root, own[kept[0], 0] / np.sqrt(sizes[kept]))
        return cls(asked, nodes, kept[0], weight[kept] / weight[kept].sum(), mean, root)

    def drawn(self, place):
        """The nodes and the node of each draw; where the gains say nothing of rho, each node with all values of it."""
        node = self.node[place]
        if len(self.asked.several):
            return self.nodes, node
        rho = _nodes((0, 1), N_NODES_OF_RHO)
        tau_w, tau_u = (np.repeat(tau, len(rho)) for tau in (self.nodes.tau_w, self.nodes.tau_u))
        return _Nodes(tau_w, tau_u, np.tile(rho, len(self.nodes.rho))), len(rho) * node + np.arange(len(node)) % len(
            rho
        )

    def log_density(self, gains, covariance):
        """Log of the predictive density of the gains of one more LLM, of another vendor."""
        kept = np.flatnonzero(np.isfinite(gains))
        root, eye = self.root[:, kept], np.eye(len(kept))
        tau_w, tau_u = (tau[self.node, None, None] for tau in (self.nodes.tau_w, self.nodes.tau_u))
        total = root @ root.swapaxes(1, 2) + covariance[np.ix_(kept, kept)] + tau_w**2 * eye + tau_u**2
        apart = gains[kept] - self.mean[:, kept]
        distance = (apart * np.linalg.solve(total, apart[..., None])[..., 0]).sum(axis=1)
        log_each = -0.5 * (distance + np.linalg.slogdet(total)[1] + len(kept) * np.log(2 * np.pi))
        largest = log_each.max()
        return largest + np.log(self.weight @ np.exp(log_each - largest))


def _marginal(asked, design, nodes, tau_m):
    """Log marginal likelihood (but for a constant) at all nodes and M sizes of the means, (N, M).

    With it the distribution of the coefficients of `design` (K, p): in the coordinates of `axes` (N, p, p) they have
    precisions `sizes` (N, M, p) and means `own` (N, 1, p) / `sizes`. The variance of an LLM that is alone of its vendor
    is not split: what it shares with others of it says nothing.
    """
    several = asked.several
    inverse, log_determinant = asked.precisions(nodes, 1 - nodes.rho[:, None] * several.any(axis=0))
    own = np.einsum("ngkl,gl->ngk", inverse, asked.gains)
    precision = np.tensordot(inverse, several.astype(float), (1, 1)).transpose(0, 3, 1, 2)
    roots, log_more = nodes.roots(precision)
    seen, loads = np.einsum("nqkl,nql->nqk", roots, several @ own), roots @ precision @ design
    log_determinant = log_determinant.sum(axis=1) + log_more.sum(axis=1)
    squares = (own * asked.gains).sum(axis=(1, 2)) - (seen**2).sum(axis=(1, 2))
    own = own.sum(axis=1) @ design - np.einsum("nqkp,nqk->np", loads, seen)
    sizes, axes = np.linalg.eigh(design.T @ inverse.sum(axis=1) @ design - (loads.swapaxes(-1, -2) @ loads).sum(axis=1))
    own = np.einsum("nkl,nk->nl", axes, own)[:, None]
    sizes = np.maximum(sizes, 0)[:, None] + 1 / tau_m[:, None] ** 2
    log_precision = np.log(sizes * tau_m[:, None] ** 2).sum(axis=-1)
    likelihood = -0.5 * ((log_determinant + squares)[:, None] + log_precision - (own**2 / sizes).sum(axis=-1))
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


def _checked(gains, covariances, vendors):
    g, V = np.asarray(gains, float), np.asarray(covariances, float)
    if g.ndim != 2 or V.shape != (*g.shape, g.shape[1]):
        raise ValueError(f"need gains (G, K) and covariances (G, K, K), got {g.shape} and {V.shape}")
    if len(vendors) != len(g):
        raise ValueError(f"need the vendor of each LLM, got {len(vendors)} of {len(g)}")
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
