"""How an anchor moves an LLM's distribution over numeric answers, and which part of the prompt moves it.

Everything here starts from log-probabilities of a fixed set of targets, the answers "0%" to "100%".
"""

from functools import lru_cache
from itertools import product
from math import factorial

import numpy as np
from scipy import special

from analysis.methods.small_samples import CONFIDENCE, Interval
from analysis.methods.t_and_f_tests import t_bounds

TARGETS = np.arange(101)
DRAWS = 100
PUBLISHED_SEED = 42
PUBLISHED_RESAMPLES = 5_000
PUBLISHED_FLIPS = 10_000
BAND = (0.025, 0.975)
FULL_WEIGHT = 3  # at p = .001 and below
CONCORDANCE_BONUS = 0.15
LEAST_WEIGHT = 0.2  # of both sides, above which they can agree
ROUNDING = 1e-3  # by which the probabilities of all targets may exceed 1
STARS = ((0.01, "***"), (0.05, "**"), (0.1, "*"))


def normalised(scores):
    """Log-probabilities within the set of targets.

    Parameters
    ----------
    scores : array_like, shape (..., T)
        Log-probability of each target in nats, unnormalised: the targets are a few of all texts.

    Returns
    -------
    numpy.ndarray, shape (..., T)
        In nats; the exponentials add up to 1.
    """
    scores = np.asarray(scores, float)
    return scores - special.logsumexp(scores, axis=-1, keepdims=True)


def soft_expectation(scores, targets=TARGETS):
    """Mean of the targets under the distribution that their log-probabilities imply.

    Parameters
    ----------
    scores : array_like, shape (..., T)
        In nats, normalised or not.
    targets : array_like, shape (T,)
        The numbers that the targets stand for, in percent.

    Returns
    -------
    numpy.ndarray, shape (...)
        In percent.

    References
    ----------
    Valencia-Clavijo (2025), Anchors in the Machine, section 3.2, steps 4 and 5.
    """
    return np.exp(normalised(scores)) @ np.asarray(targets, float)


def missing_mass(scores):
    """Share of an LLM's probability that lies on none of the targets.

    Parameters
    ----------
    scores : array_like, shape (T,)
        Log-probability of each target in nats, unnormalised.

    Returns
    -------
    float or None
        None where the targets together have more than 1: then the scores are no probabilities of different texts, as
        when the tokens that were scored are not those that stand there.
    """
    missing = -float(np.expm1(special.logsumexp(scores)))
    return max(missing, 0.0) if missing >= -ROUNDING else None


def drawn_band(scores):
    """Predictive band of the mean of 100 answers, by 5,000 random draws: the published one.

    Parameters
    ----------
    scores : array_like, shape (101,)
        In nats, ordered by target.

    Returns
    -------
    low, high : float
        The 2.5th and 97.5th percentile, in percent.

    Notes
    -----
    The numbers are those of ``default_rng(42).choice(targets, (5000, 100), p=p)``: the uniform numbers behind it are
    the same for every cell, so they are drawn and sorted once.

    References
    ----------
    Valencia-Clavijo (2025), section 3.2, step 5 and footnote 2.
    """
    cumulated = np.exp(normalised(scores)).cumsum()
    uniform, resample = _uniform_numbers()
    first = np.append(uniform.searchsorted(cumulated[:-1] / cumulated[-1]), uniform.size)
    answers = np.repeat(TARGETS.astype(float), np.diff(first, prepend=0))
    means = np.bincount(resample, weights=answers, minlength=PUBLISHED_RESAMPLES) / DRAWS
    low, high = np.percentile(means, [100 * bound for bound in BAND])
    return float(np.clip(low, 0, 100)), float(np.clip(high, 0, 100))


@lru_cache(maxsize=1)
def _uniform_numbers():
    """Return the uniform numbers of every cell in ascending order, and the resample that each belongs to."""
    uniform = np.random.default_rng(PUBLISHED_SEED).random((PUBLISHED_RESAMPLES, DRAWS)).ravel()
    order = uniform.argsort(kind="stable")
    return uniform[order], order // DRAWS


def exact_band(scores):
    """Predictive band of the mean of 100 answers, from the exact distribution of their sum: nothing is drawn.

    Parameters
    ----------
    scores : array_like, shape (101,)
        In nats, ordered by target.

    Returns
    -------
    low, high : float
        The smallest means below or at which 2.5 % and 97.5 % of the distribution lie, in percent.

    Notes
    -----
    The sum's distribution is the 100-fold convolution of one answer's, a power of its Fourier transform.
    """
    n_sums = DRAWS * int(TARGETS[-1]) + 1
    length = 1 << n_sums.bit_length()
    transformed = np.fft.rfft(np.exp(normalised(scores)), length)
    cumulated = np.fft.irfft(transformed**DRAWS, length)[:n_sums].clip(0).cumsum()
    low, high = cumulated.searchsorted(np.array(BAND) * cumulated[-1])
    return low / DRAWS, high / DRAWS


def paired_t(differences):
    """Student's t test that paired differences have the mean 0.

    Parameters
    ----------
    differences : array_like, shape (n,)

    Returns
    -------
    statistic, p_value : float
        NaN where the differences do not vary.
    """
    d = np.asarray(differences, float)
    if not np.ptp(d) > 1e-12 * np.abs(d).max():
        return np.nan, np.nan
    statistic = d.mean() / np.sqrt(d.var(ddof=1) / len(d))
    return float(statistic), float(2 * special.stdtr(len(d) - 1, -abs(statistic)))


def wilcoxon_pratt(differences):
    """Wilcoxon's signed-rank test, zeros ranked with the rest and then dropped, by the normal approximation.

    Parameters
    ----------
    differences : array_like, shape (n,)

    Returns
    -------
    statistic, p_value : float
        The smaller sum of ranks, and the two-sided p value; NaN where all differences are zero.

    References
    ----------
    Pratt (1959), Remarks on zeros and ties in the Wilcoxon signed rank procedures, JASA 54, 655-667.
    """
    d = np.asarray(differences, float)
    if not d.any():
        return np.nan, np.nan
    ranks = mid_ranks(np.abs(d))
    positive, negative = ranks[d > 0].sum(), ranks[d < 0].sum()
    n, n_zero = len(d), int((d == 0).sum())
    mean = (n * (n + 1) - n_zero * (n_zero + 1)) / 4
    _, ties = np.unique(ranks[d != 0], return_counts=True)
    variance = n * (n + 1) * (2 * n + 1) - n_zero * (n_zero + 1) * (2 * n_zero + 1) - (ties**3 - ties).sum() / 2
    z = (positive - mean) / np.sqrt(variance / 24)
    return float(min(positive, negative)), float(2 * special.ndtr(-abs(z)))


def mid_ranks(values):
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    _, place, alike = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    return (alike.cumsum() - (alike - 1) / 2)[place]


def drawn_flips_p(differences):
    """Sign-flip test of the mean by 10,000 random flips of single targets: the published permutation test.

    Parameters
    ----------
    differences : array_like, shape (n,)

    Returns
    -------
    float
        (k + 1) / (10,000 + 1), k flips having a mean at least as far from 0; NaN where all differences are zero.

    References
    ----------
    Valencia-Clavijo (2025), section 3.2, step 7 and footnote 4; `default_rng(42)` draws the flips.
    """
    d = np.asarray(differences, float)
    if not d.any():
        return np.nan
    n_as_far = (np.abs((_flips(len(d)) * d).mean(axis=1)) >= abs(d.mean())).sum()
    return float((n_as_far + 1) / (PUBLISHED_FLIPS + 1))


@lru_cache(maxsize=1)
def _flips(n):
    return np.random.default_rng(PUBLISHED_SEED).choice([-1, 1], size=(PUBLISHED_FLIPS, n)).astype(float)


def block_flips_p(differences, size):
    """Sign-flip test of the mean in which neighbouring targets keep together; all flips are enumerated.

    Log-probabilities of neighbouring targets move together, so single targets cannot change sign on their own.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Ordered by target.
    size : int
        Targets to a block; the last block is what is left.

    Returns
    -------
    float
        Share of the 2^blocks flips whose mean is at least as far from 0; NaN where all differences are zero.

    References
    ----------
    Lehmann & Romano (2005), Testing Statistical Hypotheses, section 15.2 (tests by groups of transformations).
    """
    d = np.asarray(differences, float)
    if not d.any():
        return np.nan
    sums = np.add.reduceat(d, np.arange(0, len(d), size))
    observed = abs(sums.sum()) - 1e-12 * np.abs(sums).sum()  # a flip that only rounding tells apart is as far
    return float((np.abs(_all_flips(len(sums)) @ sums) >= observed).mean())


@lru_cache(maxsize=4)
def _all_flips(n):
    return np.array(list(product((-1.0, 1.0), repeat=n)))


def shapley(values):
    """Shapley values of the players of a game.

    Parameters
    ----------
    values : array_like, shape (2**n, ...)
        Worth of each coalition; bit i of the index says whether player i is in it.

    Returns
    -------
    numpy.ndarray, shape (n, ...)
        In the unit of `values`. They add up to the worth of all players less that of none.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games II.
    """
    n = _n_players(values)
    by_size = [factorial(size) * factorial(n - size - 1) / factorial(n) for size in range(n)]
    return _weighted_marginals(values, by_size)


def banzhaf(values):
    """Banzhaf values of the players of a game: plain means over coalitions, which need not add up to anything.

    Parameters
    ----------
    values : array_like, shape (2**n, ...)
        As for `shapley`.

    Returns
    -------
    numpy.ndarray, shape (n, ...)

    References
    ----------
    Banzhaf (1965), Weighted voting doesn't work, Rutgers Law Review 19, 317-343.
    """
    n = _n_players(values)
    return _weighted_marginals(values, [1 / 2 ** (n - 1)] * n)


def _n_players(values):
    n = max(len(values), 1).bit_length() - 1
    if n < 1 or len(values) != 2**n:
        raise ValueError(f"need the worth of 2, 4, 8, ... coalitions, got {len(values)}")
    return n


def _weighted_marginals(values, by_size):
    worth = np.asarray(values, float)
    coalitions = np.arange(len(worth))
    weights = np.array([by_size[min(size, len(by_size) - 1)] for size in map(int.bit_count, coalitions.tolist())])
    marginals = []
    for player in range(len(by_size)):
        without = coalitions[coalitions & 1 << player == 0]
        marginals.append(np.tensordot(weights[without], worth[without | 1 << player] - worth[without], axes=1))
    return np.array(marginals)


def weight_of(p_value):
    """Weight of evidence that the ABSS takes a p value for: 0 at 1, and 1 at .001 and below.

    Parameters
    ----------
    p_value : float

    Returns
    -------
    float in [0, 1]

    References
    ----------
    Valencia-Clavijo (2025), section 3.2, step 9.
    """
    with np.errstate(divide="ignore"):
        return float(np.clip(-np.log10(p_value) / FULL_WEIGHT, 0, 1))


def stars_of(p_value):
    """Return the stars of a p value: three below .01, two below .05, one below .1, else none."""
    return next((stars for level, stars in STARS if p_value < level), "")


def sensitivity_score(delta_ev, delta_attribution, p_behaviour, p_attribution, p_robust):
    """Anchoring Bias Sensitivity Score of one question, with its parts.

    Parameters
    ----------
    delta_ev : float
        Difference of the soft expectations, high anchor less low, in percent.
    delta_attribution : float
        Difference of the mean attribution to the anchor, high less low, in nats.
    p_behaviour, p_attribution : float
        Of the differences of log-probability, and of those of attribution, over targets.
    p_robust : sequence of float
        Of the tests that are to confirm `p_behaviour`.

    Returns
    -------
    dict
        `behaviour`, `attribution`, `weight_behaviour`, `weight_attribution`, `robustness`, `concordance`, `abss`.

    Notes
    -----
    The bonus for agreement is not scaled by the robustness, and needs both weights above 0.2, which the text does
    not say.

    References
    ----------
    Valencia-Clavijo (2025), section 3.2, step 9.
    """
    behaviour, attribution = delta_ev / 100, float(np.sign(delta_attribution) * np.tanh(abs(delta_attribution)))
    of_behaviour, of_attribution = weight_of(p_behaviour), weight_of(p_attribution)
    robustness = 0.5 + 0.5 * float(np.mean([weight_of(p) for p in p_robust]))
    concordance = 0
    if of_behaviour > LEAST_WEIGHT and of_attribution > LEAST_WEIGHT:
        concordance = 1 if np.sign(delta_ev) == np.sign(delta_attribution) else -1
    return {
        "behaviour": behaviour,
        "attribution": attribution,
        "weight_behaviour": of_behaviour,
        "weight_attribution": of_attribution,
        "robustness": robustness,
        "concordance": concordance,
        "abss": robustness * (behaviour * of_behaviour + attribution * of_attribution)
        + CONCORDANCE_BONUS * concordance,
    }


def interval_over_questions(values, *, confidence=CONFIDENCE):
    """Student's t interval of a mean over questions, which are a sample of questions as targets are not.

    Parameters
    ----------
    values : array_like, shape (n,)
        One number per question, in any unit.
    confidence : float in (0, 1)

    Returns
    -------
    Interval
        With n - 1 degrees of freedom; without bounds for fewer than two questions (`one_question`) or where all are
        equal (`zero_variance`), and without an estimate for none (`no_questions`).
    """
    y = np.asarray(values, float)
    if not len(y):
        return Interval(None, None, None, reason="no_questions")
    estimate = float(y.mean())
    if len(y) == 1:
        return Interval(estimate, None, None, reason="one_question")
    if np.ptp(y) <= 1e-12 * max(1.0, np.abs(y).max()):
        return Interval(estimate, None, None, reason="zero_variance")
    error = float(np.sqrt(y.var(ddof=1) / len(y)))
    return Interval(estimate, *t_bounds(estimate, error, len(y) - 1, confidence), len(y) - 1)
