"""How far a score of anchoring is from 0, between LLMs and between regimes of anchors, and how it goes with size.

The sample of a contrast is questions; that of a trend is LLMs.
"""

import re
from functools import lru_cache
from itertools import permutations

import numpy as np
from scipy import stats

from analysis.methods.crossed_effects import Arm, Level, crossed_contrast
from analysis.methods.small_samples import CONFIDENCE
from analysis.methods.t_and_f_tests import t_bounds
from analysis.tables import reasons

FEWEST_FOR_TREND = 3
MOST_ENUMERATED = 9  # orders of ten LLMs are 3.6 million
STUDY = ("study", "evidence_from", "specification")
LLM = ("scoring_set", "llm")
NOBODY = (None, None)
COMPUTED = re.compile(r"(?P<llm>.+)@(?P<chat>chat-)?[0-9a-f]+/(?P=llm)")  # what bais calls its own sets of scorings
REGIMES = ("different_anchors", "standard")
WITHOUT_INTERVAL = {"no_pair": "no_questions", "one_item": "one_question"}


def contrasts(values):
    """Means of a metric over questions, and its differences between LLMs and between the regimes of anchors of an LLM.

    Parameters
    ----------
    values : iterable of dict
        One per study, set of scorings, LLM, evidence, specification and variation, with its `question`,
        `anchor_regime` and `value`; where that is None, `reason` says why.

    Yields
    ------
    dict
        Rows of `papers.anchor_sensitivities` but `metric`, from crossed contrasts whose items are questions, each
        the mean of its variations. Of `anchors` it is the metric itself, which holds the high anchor against the low
        one; of `llms` each ordered pair, the first less the second over the variations that both have; of `regimes`
        different anchors less standard ones, over the questions that have both.
    """
    for study, of_study in _grouped(values, STUDY).items():
        of_llms = _grouped(of_study, LLM)
        pairs = [(one, other) for one, other in permutations(of_llms, 2) if one[1] != other[1]]
        for llm, rows in of_llms.items():
            yield _contrast("anchors", study, llm, NOBODY, [rows]) | {"n_variations": len(rows)}
        for one, other in pairs:
            both = _in_common("variation", [of_llms[one], of_llms[other]])
            yield _contrast("llms", study, one, other, both) | {"n_comparisons": len(pairs) // 2}
        by_regime = {
            llm: _in_common("question", [[row for row in rows if row["anchor_regime"] == name] for name in REGIMES])
            for llm, rows in of_llms.items()
        }
        has_both = {llm: arms for llm, arms in by_regime.items() if all(arms)}
        for llm, arms in has_both.items():
            yield _contrast("regimes", study, llm, NOBODY, arms) | {"n_comparisons": len(has_both)}


def _in_common(name, arms):
    """Return those rows of each of two arms that have what stands in this column in the other arm too."""
    shared = set.intersection(*({row[name] for row in rows} for rows in arms))
    return [[row for row in rows if row[name] in shared] for rows in arms]


def _contrast(comparison, study, one, other, arms):
    """Average over questions what the first of one or two arms has more than the second."""
    questions = sorted({row["question"] for rows in arms for row in rows})
    why = next((row["reason"] for rows in arms for row in rows if row["value"] is None), None)
    if why is None:
        level = crossed_contrast(*(_arm(rows, questions) for rows in arms)).over_items
    else:
        level = Level(None, None, None, reason=why)
    return {
        **dict(zip(STUDY, study, strict=True)), **dict(zip(LLM, one, strict=True)),
        "scoring_set_b": other[0], "llm_b": other[1], "comparison": comparison,
        "estimate": level.estimate, "low": level.low, "high": level.high, "df": level.df, "confidence": CONFIDENCE,
        "n_questions": len(questions), "method": "t over questions" if len(arms) < 2 else "paired t over questions",
        "reason": WITHOUT_INTERVAL.get(level.reason, level.reason),
    }  # fmt: skip


def _arm(rows, questions):
    places = np.array([questions.index(row["question"]) for row in rows], int)
    n = np.bincount(places, minlength=len(questions))
    return Arm(n[None], np.bincount(places, [row["value"] for row in rows], len(questions))[None])


def trends(means, parameters):
    """How the mean of a metric goes with the number of parameters of its LLM.

    Parameters
    ----------
    means : iterable of dict
        One per study, set of scorings, LLM, evidence and specification, with `estimate`; where that is None, `reason`
        says why. Of the sets of scorings of one LLM one counts: a recorded one first, then one in which prompts were
        put as they are, then one in a chat; of several such the first by name that has a mean.
    parameters : dict of str to float
        Of each LLM that has them published.

    Yields
    ------
    dict
        Rows of `papers.sensitivity_trends` but `metric`: the slope of least squares over LLMs, in the unit of the
        metric per tenfold number of parameters, and Spearman's rank correlation.

    References
    ----------
    Draper & Smith (1998), Applied Regression Analysis, section 1.4, for the interval; Kendall & Gibbons (1990), Rank
    Correlation Methods, chapter 4, for the distribution over all orders.
    """
    for study, of_study in _grouped(means, STUDY).items():
        size, mean, why = [], [], []
        of_llms = _grouped(of_study, ("llm",))
        for (llm,), rows in of_llms.items():
            rows = sorted(rows, key=_preferred)
            estimate = next((row["estimate"] for row in rows if row["estimate"] is not None), None)
            if estimate is None:
                why.append(rows[0]["reason"])
            elif llm in parameters:
                size.append(np.log10(parameters[llm]))
                mean.append(estimate)
        yield {
            **dict(zip(STUDY, study, strict=True)), **_trend(size, mean, dict.fromkeys(why)),
            "confidence": CONFIDENCE, "n_llms": len(size), "n_llms_left_out": len(of_llms) - len(size),
            "method": "least squares over LLMs; Spearman, "
            + ("all orders" if len(size) <= MOST_ENUMERATED else "t approximation"),
        }  # fmt: skip


def _preferred(row):
    """Order the sets of scorings of an LLM: recorded elsewhere, computed here, computed here in a chat."""
    computed = COMPUTED.fullmatch(row["scoring_set"])
    return (computed is not None) + (computed is not None and computed["chat"] is not None), row["scoring_set"]


def _trend(size, mean, why):
    if len(size) < FEWEST_FOR_TREND:
        return {"reason": reasons("too_few_llms", *why)}
    if not np.ptp(size) > 0 or not np.ptp(mean) > 0:
        return {"reason": "zero_variance"}
    df, line = len(size) - 2, stats.linregress(size, mean)
    low, high = t_bounds(line.slope, line.stderr, df, CONFIDENCE)
    return {"slope": line.slope, "low": low, "high": high, "df": df, **rank_correlation(size, mean)}


def rank_correlation(x, y):
    """Spearman's rank correlation with its two-sided p value, exact for up to nine pairs.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Neither constant.

    Returns
    -------
    dict
        `rank_correlation`; `p_rank`, the share of all orders that correlate as far from 0, or for more pairs by
        Student's t; and `least_p_rank`, the smallest that p value can be for these ranks, None for more pairs.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, American Journal of Psychology 15.
    """
    correlation, p_value = stats.spearmanr(x, y)
    if len(x) > MOST_ENUMERATED:
        return {"rank_correlation": correlation, "p_rank": p_value, "least_p_rank": None}
    first, second = (stats.zscore(stats.rankdata(values)) for values in (x, y))
    distances = np.abs(second[_orders(len(x))] @ first) / len(x)
    p_value, least = (float((distances >= limit - 1e-12).mean()) for limit in (abs(correlation), distances.max()))
    return {"rank_correlation": correlation, "p_rank": p_value, "least_p_rank": least}


@lru_cache(maxsize=2)
def _orders(n):
    return np.array(list(permutations(range(n))))


def _grouped(rows, names):
    """Return the rows by what they have in these columns, in the order in which that first comes."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups
