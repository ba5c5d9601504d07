"""What the observed design can show and what a wanted one would take: power, trials, LLMs, half-widths and cost."""

import math

import numpy as np
from scipy import optimize, special

from analysis.counts import ANCHORING, study_without_version
from analysis.methods.contrasts import SPECIFICATIONS, domains, over_llms, over_trials, pairs
from analysis.methods.effect_sizes import standardised
from analysis.methods.small_samples import ALPHA, FEWEST_LLMS
from analysis.tables import declared

POWER = 0.8
TARGET_HALF_WIDTHS_PP = (5.0, 2.0)
METRIC = "percent_of_baseline"
# more could not be counted exactly
MOST = 2**53

COLUMNS = declared("power")


def power(responses, techniques, costs, *, margin_pp, published=None, specifications=SPECIFICATIONS):
    """Say what the observed design can show and what a wanted design would take, for percent of baseline.

    Each row solves for the column that `quantity` names and holds what it takes as given beside it; the pairs are
    those of the equivalence tests. The observed design has, at level `trial`, the power for the observed Cohen's d,
    the smallest d with 80 % power, and the trials that each technique needs for 80 % power at the observed d, as if
    trials of one LLM were independent. At level `llm` it has the power to detect `margin_pp`, the smallest difference
    with 80 % power, the LLMs needed for 80 % power at the margin, and the half-width of the 95 % interval.

    The wanted design has, for each target half-width, the LLMs needed with as many trials of each LLM as now, and the
    trials of each LLM and technique needed with as many LLMs as now. The variance of the mean paired difference of
    G LLMs is (between + within n0 / n) / G, with n trials of each LLM and technique where there are n0 now. What
    `between` leaves, no number of trials can remove: `not_reachable_with_trials`.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`.
    techniques : pandas.DataFrame
        `technique`, `is_ranked`.
    costs : pandas.DataFrame
        `study, llm, technique, cost_usd_per_trial`, of `marts.technique_costs`.
    margin_pp : float
        The smallest difference that matters, in percentage points.
    published : dict of (study, domain, frozenset of techniques) to float, optional
        Cohen's d that was printed of a pair: these too have the power of the observed trials for it, and the trials
        that it needs (design `published`).
    specifications : iterable of (row_set, baseline_scope)

    Returns
    -------
    list of dict
        Keys are those of `COLUMNS`.

    References
    ----------
    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2. Snijders & Bosker (1993),
    Journal of Educational Statistics 18(3), for the two variances.
    """
    of_techniques = costs.groupby(["study", "technique"])["cost_usd_per_trial"].mean().to_dict()
    rows = []
    for domain in domains(responses, specifications):
        for a, b in pairs(domain.techniques, techniques):
            study, of_domain = domain.keys["study"], domain.keys["domain"]
            per_trial = [of_techniques.get((study, name), float("nan")) for name in (a, b)]
            keys = {"paradigm": ANCHORING, **domain.keys, "technique_a": a, "technique_b": b, "alpha": ALPHA}
            printed = (published or {}).get((study_without_version(study), of_domain, frozenset((a, b))))
            solved = _over_trials(domain, a, b, printed) + _over_llms(domain, a, b, margin_pp)
            rows += [keys | _with_cost(row, sum(per_trial)) for row in solved]
    return rows


def t_test_power(shift, df):
    """Power of a two-sided t test.

    Parameters
    ----------
    shift : float
        Noncentrality: the true difference over its standard error.
    df : float

    Returns
    -------
    float
    """
    bound = special.stdtrit(df, 1 - ALPHA / 2)
    below, above = special.nctdtr(df, -abs(shift), -bound), 1 - special.nctdtr(df, -abs(shift), bound)
    return float(below + above)


def detectable_shift(df):
    """Return the noncentrality at which a two-sided t test has the wanted power."""
    highest = special.stdtrit(df, 1 - ALPHA / 2) + 10
    while t_test_power(highest, df) < POWER:
        highest *= 2
    return float(optimize.brentq(lambda shift: t_test_power(shift, df) - POWER, 0, highest, xtol=1e-12))


def needed_per_group(effect):
    """Trials of each of two techniques that give a t test of Cohen's d = `effect` the wanted power.

    Returns
    -------
    int or None
        At least 2; None where no number of trials that can be counted does.
    """
    return smallest(2 * normal_ratio(effect), 2, lambda n: t_test_power(effect * math.sqrt(n / 2), 2 * n - 2) >= POWER)


def needed_llms(effect, deviation):
    """LLMs that give a paired t test the wanted power, if differences of LLMs have this standard deviation.

    Returns
    -------
    int or None
        At least `FEWEST_LLMS`, below which nothing is tested over LLMs.
    """
    effect = effect / deviation
    return smallest(normal_ratio(effect), FEWEST_LLMS, lambda n: t_test_power(effect * math.sqrt(n), n - 1) >= POWER)


def needed_llms_for_half_width(half_width, deviation):
    """LLMs whose mean has a t interval that is at most so wide to either side.

    Returns
    -------
    int or None
        At least `FEWEST_LLMS`, below which there is no interval over LLMs.
    """
    return smallest(
        (special.ndtri(1 - ALPHA / 2) * deviation / half_width) ** 2,
        FEWEST_LLMS,
        lambda n: special.stdtrit(n - 1, 1 - ALPHA / 2) * deviation / math.sqrt(n) <= half_width,
    )


def needed_trials_for_half_width(half_width, between, within, n_llms, n_trials):
    """Trials of each LLM and technique that make the t interval of a mean over LLMs at most so wide to either side.

    Parameters
    ----------
    half_width : float
    between, within : float
        Variance of the LLMs' true differences, and of what `n_trials` trials each leave uncertain in them.
    n_llms, n_trials : int, float
    alpha : float

    Returns
    -------
    int or None
        At least 2, one of each direction; None where `between` alone is too large for so few LLMs.
    """
    left = n_llms * (half_width / special.stdtrit(n_llms - 1, 1 - ALPHA / 2)) ** 2 - between
    if left <= 0 or within * n_trials / left > MOST:
        return None
    return max(2, math.ceil(within * n_trials / left))


def _over_trials(domain, a, b, printed=None):
    comparison = over_trials(domain, a, b, METRIC)
    n_a, n_b = (summary.n_trials for summary in comparison.summaries)
    df, root = n_a + n_b - 2, math.sqrt(n_a * n_b / (n_a + n_b))
    effects, _ = standardised(comparison)

    def solved(design, effect, reason):
        shared = {
            "design": design,
            "level": "trial",
            "n_trials": comparison.n_trials,
            "n_llms": comparison.n_llms,
            "effect_unit": "cohens_d",
            "method": "t_test_two_groups",
            "reason": reason,
        }
        power_value = None if reason else t_test_power(effect * root, df)
        yield {**shared, "quantity": "power", "effect": effect, "power": power_value}
        if design == "observed":
            detectable = None if reason else detectable_shift(df) / root
            yield {**shared, "quantity": "effect", "effect": detectable, "power": POWER}
        needed = {} if reason else _needed("needed_trials", needed_per_group(effect), 1, "effect_too_small")
        yield {**shared, "quantity": "needed_trials", "effect": effect, "power": POWER, **needed}

    rows = [*solved("observed", abs(effects["cohens_d"]) if effects else None, comparison.reason)]
    if printed and df > 0:
        rows += solved("published", printed, None)
    return rows


def _over_llms(domain, a, b, margin):
    comparison = over_llms(domain, a, b, METRIC)
    if comparison is None:
        return []
    n_llms, is_known = comparison.n_llms, not comparison.reason
    shared = {
        "level": "llm",
        "n_trials": comparison.n_trials,
        "n_llms": n_llms,
        "effect_unit": "pp",
        "method": "t_test_paired",
        "reason": comparison.reason,
    }
    # of each LLM and technique
    n_trials = comparison.n_trials / n_llms / 2
    solved = {
        "power": {"effect": margin},
        "effect": {"power": POWER},
        "needed_llms": {"effect": margin, "power": POWER},
        "half_width": {},
    }
    if is_known:
        deviation = comparison.error * math.sqrt(n_llms)
        solved["power"]["power"] = t_test_power(margin / comparison.error, comparison.df)
        solved["effect"]["effect"] = detectable_shift(comparison.df) * comparison.error
        solved["needed_llms"] |= _needed("needed_llms", needed_llms(margin, deviation), n_trials, "effect_too_small")
        low, high = comparison.interval(1 - ALPHA)
        solved["half_width"]["half_width"] = (high - low) / 2
    rows = [{"design": "observed", "quantity": quantity, **shared, **row} for quantity, row in solved.items()]
    variances = {}
    if is_known:
        within = _within_variance(domain, a, b)
        if within is None:
            variances = {"reason": "one_trial"}
        else:
            between = max(0.0, deviation**2 - within)
            variances = {"between_variance": between, "within_variance": within}
    for target in TARGET_HALF_WIDTHS_PP:
        wanted = {"design": "wanted", **shared, "target_half_width_pp": target, "half_width": target}
        of_llms, of_trials = {"quantity": "needed_llms"}, {"quantity": "needed_trials", **variances}
        if is_known:
            n = needed_llms_for_half_width(target, deviation)
            of_llms |= _needed("needed_llms", n, n_trials, "target_too_small")
        if "between_variance" in variances:
            n = needed_trials_for_half_width(target, between, within, n_llms, n_trials)
            of_trials |= _needed("needed_trials", n, n_llms, "not_reachable_with_trials")
        rows += [wanted | of_llms, wanted | of_trials]
    return rows


def _within_variance(domain, a, b):
    """Mean over LLMs of the variance that their finite numbers of trials leave in their difference.

    The trials of one direction are a sample of their own, so that low and high differing is no error.
    """
    variances, has_both = np.zeros(len(domain.llm)), np.ones(len(domain.llm), bool)
    for name in (a, b):
        cells = domain.of(name)
        n = sum(cell.n for cell in cells)
        has_both &= n > 0
        for cell in cells:
            one = np.divide(cell.squares, cell.n - 1, out=np.where(cell.n == 1, np.nan, 0.0), where=cell.n > 1)
            variances += np.divide(cell.n * one, n**2, out=np.zeros(len(n)), where=n > 0)
    if np.isnan(variances[has_both]).any():
        return None
    llm = np.unique(domain.llm[has_both], return_inverse=True)[1]
    return float((np.bincount(llm, variances[has_both]) / np.bincount(llm) ** 2).mean())


def _needed(quantity, number, trials_of_each, reason):
    if number is None:
        return {"reason": reason}
    return {quantity: number, "trials": number * trials_of_each}


def _with_cost(row, usd_of_one_trial_each):
    """Turn the trials that each technique needs in all into what they cost."""
    trials = row.pop("trials", None)
    if trials is None:
        return row
    if math.isnan(usd_of_one_trial_each):
        return row | {"reason": "cost_unknown"}
    return row | {"cost_usd": trials * usd_of_one_trial_each}


def normal_ratio(effect):
    """Return the square of how often an effect fits into the shift that the normal distribution asks for.

    Parameters
    ----------
    effect : float
        Over the standard error of one observation.

    Returns
    -------
    float
        Of observations, a few less than the t test needs; infinite where there is no effect.
    """
    bound = special.ndtri(1 - ALPHA / 2)
    shift = optimize.brentq(
        lambda shift: special.ndtr(shift - bound) + special.ndtr(-shift - bound) - POWER, 0, bound + 10, xtol=1e-14
    )
    return (shift / effect) ** 2 if effect else math.inf


def smallest(start, least, is_enough):
    """Return the smallest number that is enough.

    Parameters
    ----------
    start : float
        The normal distribution's answer, which is never too large and soon enough: from there it is counted up.
    least : int
    is_enough : callable
        Of a number.

    Returns
    -------
    int or None
        None where `start` could not be counted exactly.
    """
    if start > MOST:
        return None
    n = max(least, math.floor(start))
    while not is_enough(n):
        n += 1
    return n
