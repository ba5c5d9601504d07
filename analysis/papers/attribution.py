"""How an anchor moves an LLM's distribution over numeric answers, and which part of the prompt moves it.

Everything here starts from log-probabilities of a fixed set of targets, the answers "0%" to "100%".
"""

from functools import lru_cache
from itertools import product

import numpy as np
from scipy import special, stats

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
    return special.softmax(scores, axis=-1) @ np.asarray(targets, float)


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
    cumulated = special.softmax(scores).cumsum()
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
    transformed = np.fft.rfft(special.softmax(scores), length)
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
    return tuple(stats.ttest_1samp(d, 0)) if np.ptp(d) > 1e-12 * np.abs(d).max() else (np.nan, np.nan)


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
    if not np.any(differences):
        return np.nan, np.nan
    test = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
    return test.statistic, test.pvalue


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
    """Return the stars of a p value: three below .01, two below .05, one below .1, else none; None where it is NaN."""
    return next((stars for level, stars in STARS if p_value < level), "" if np.isfinite(p_value) else None)


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
