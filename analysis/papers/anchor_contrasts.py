"""What a score of anchoring differs by between LLMs and between regimes of anchors, and how it goes with size.

The sample of a contrast is questions; that of a trend is LLMs.
"""

import re
from functools import lru_cache
from itertools import permutations

import numpy as np

from analysis.methods.small_samples import CONFIDENCE, Interval
from analysis.methods.t_and_f_tests import t_bounds, two_sided_p
from analysis.papers.attribution import interval_over_questions, mid_ranks
from analysis.tables import columns, reasons

FEWEST_FOR_TREND = 3
MOST_ENUMERATED = 9  # orders of ten LLMs are 3.6 million
STUDY = ("study", "evidence_from", "specification")
LLM = ("scoring_set", "llm")
COMPUTED = re.compile(r"(?P<llm>.+)@(?P<chat>chat-)?[0-9a-f]+/(?P=llm)")  # what bais calls its own sets of scorings
REGIMES = ("different_anchors", "standard")

CONTRASTS = columns(
    "varchar: study scoring_set llm scoring_set_b llm_b comparison evidence_from specification metric",
    "double: estimate low high df confidence",
    "bigint: n_questions n_comparisons",
    "varchar: method reason",
)
TRENDS = columns(
    "varchar: study evidence_from specification metric",
    "double: slope low high df confidence rank_correlation p_rank least_p_rank",
    "bigint: n_llms n_llms_left_out",
    "varchar: method reason",
)


def contrasts(values):
    """Differences of a metric, paired by question: between LLMs, and between the two regimes of anchors of an LLM.

    Parameters
    ----------
    values : iterable of dict
        One per study, set of scorings, LLM, evidence, specification and variation, with its `question`,
        `anchor_regime` and `value`; where that is None, `reason` says why.

    Yields
    ------
    dict
        With the columns of `CONTRASTS` but `metric`. Of two LLMs, each ordered pair: the mean over questions of the
        first less the second, a question being the mean over the variations that both have. Of regimes, different
        anchors less standard ones, over the questions that have both.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6(1): the paired t interval, n questions - 1 df.
    """
    for study, of_study in _grouped(values, STUDY).items():
        of_llms = _grouped(of_study, LLM)
        pairs = [(one, other) for one, other in permutations(of_llms, 2) if one[1] != other[1]]
        for one, other in pairs:
            by_variation = {row["variation"]: row for row in of_llms[other]}
            shared = [
                (row["question"], [row], [by_variation[row["variation"]]])
                for row in of_llms[one]
                if row["variation"] in by_variation
            ]
            yield _contrast("llms", study, one, other, shared, len(pairs) // 2)
        by_regime = {llm: shared for llm, rows in of_llms.items() if (shared := _in_both_regimes(rows))}
        for llm, shared in by_regime.items():
            yield _contrast("regimes", study, llm, (None, None), shared, len(by_regime))


def _in_both_regimes(rows):
    questions = []
    for (question,), of_question in _grouped(rows, ("question",)).items():
        different, standard = ([row for row in of_question if row["anchor_regime"] == regime] for regime in REGIMES)
        if different and standard:
            questions.append((question, different, standard))
    return questions


def _contrast(comparison, study, one, other, shared, n_comparisons):
    """Average over questions what the first rows of each have more than the second."""
    differences, why = {}, None
    for question, rows, others in shared:
        why = why or next((row["reason"] for row in rows + others if row["value"] is None), None)
        if why is None:
            difference = np.mean([row["value"] for row in rows]) - np.mean([row["value"] for row in others])
            differences.setdefault(question, []).append(difference)
    interval = Interval(None, None, None, reason=why)
    if why is None:
        interval = interval_over_questions([np.mean(values) for values in differences.values()], confidence=CONFIDENCE)
    return {
        **dict(zip(STUDY, study, strict=True)), **dict(zip(LLM, one, strict=True)),
        "scoring_set_b": other[0], "llm_b": other[1], "comparison": comparison,
        "estimate": interval.estimate, "low": interval.low, "high": interval.high, "df": interval.df,
        "confidence": CONFIDENCE,
        "n_questions": len({question for question, *_ in shared}), "n_comparisons": n_comparisons,
        "method": "paired t over questions", "reason": interval.reason,
    }  # fmt: skip


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
        With the columns of `TRENDS` but `metric`: the slope of least squares over LLMs, in the unit of the metric per
        tenfold number of parameters, and Spearman's rank correlation.

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
            **dict(zip(STUDY, study, strict=True)), **_trend(np.array(size), np.array(mean), dict.fromkeys(why)),
            "confidence": CONFIDENCE, "n_llms": len(size), "n_llms_left_out": len(of_llms) - len(size),
            "method": "least squares over LLMs; Spearman, "
            + ("all orders" if len(size) <= MOST_ENUMERATED else "t approximation"),
        }  # fmt: skip


def _preferred(row):
    """Order the sets of scorings of an LLM: recorded elsewhere, computed here, computed here in a chat."""
    computed = COMPUTED.fullmatch(row["scoring_set"])
    return (computed is not None) + (computed is not None and computed["chat"] is not None), row["scoring_set"]


def _trend(size, mean, why):
    n = len(size)
    if n < FEWEST_FOR_TREND:
        return {"reason": reasons("too_few_llms", *why)}
    if not np.ptp(size) > 0 or not np.ptp(mean) > 0:
        return {"reason": "zero_variance"}
    centred = size - size.mean()
    slope = float(centred @ mean / (centred @ centred))
    left = mean - mean.mean() - slope * centred
    error = float(np.sqrt(left @ left / (n - 2) / (centred @ centred)))
    low, high = t_bounds(slope, error, n - 2, CONFIDENCE)
    return {"slope": slope, "low": low, "high": high, "df": n - 2, **rank_correlation(size, mean)}


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
    ranks = [mid_ranks(values) - (len(x) + 1) / 2 for values in (x, y)]
    first, second = (vector / np.sqrt(vector @ vector) for vector in ranks)
    correlation = float(np.clip(first @ second, -1, 1))
    if len(x) > MOST_ENUMERATED:
        with np.errstate(divide="ignore"):
            statistic = correlation * np.sqrt((len(x) - 2) / np.float64(1 - correlation**2))
        return {"rank_correlation": correlation, "p_rank": two_sided_p(statistic, len(x) - 2), "least_p_rank": None}
    distances = np.abs(second[_orders(len(x))] @ first)
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
