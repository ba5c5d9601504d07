"""`inference.rank_probabilities`: how sure the order of the techniques is, and what to do about it."""

import numpy as np

from analysis.counts import CONTROL
from analysis.small_samples import FEWEST_LLMS, expanded_level
from analysis.tables import columns, reasons

LOSSES = {
    "deviation": ("percent_of_baseline", 100),
    "susceptibility": ("spread_pp", 0),
    "madb": ("madb_percent", 0),
}  # the distance of what from what
TIE = 1e-9
COLUMNS = columns(
    "varchar: study domain llm technique metric weighting method",
    "double: loss gain gain_low gain_high p_best p_worst p_worse_than_nothing p_metrics_disagree",
    "bigint: rank_low rank_high",
    "varchar: decision",
    "double: level margin_pp",
    "bigint: n_resamples seed n_trials n_llms",
    "varchar: reason",
)


def rank_rows(draws, ranked, *, margin_pp, alpha=0.025):
    """How probable each technique's place is, over LLMs and for each LLM, and the decision that follows.

    A technique's loss is what a metric says against it: the distance from the baseline (`deviation`), the distance
    between high and low anchors (`susceptibility`), both in pp, or the MADB (`madb`) in %. Each resample ranks all
    techniques anew. Over five LLMs and more, LLMs are resampled and trials within them; below, and for one LLM, trials
    alone, and the decision speaks of those LLMs only.

    Parameters
    ----------
    draws : DomainDraws
    ranked : collection of str
        Techniques that are ranked; of the others only `no_technique` has rows.
    margin_pp : float
        The largest difference of losses that still counts as none.
    alpha : float
        One-sided level of a decision. Over LLMs it is lowered to `expanded_level(alpha, n_llms)`.

    Yields
    ------
    dict
        Rows of `COLUMNS`, one per LLM (null: over all), technique, metric and weighting. `gain` is the loss of no
        technique less that of the technique. For `no_technique`, `p_best` is the probability that no technique beats it
        and `p_worst` that each does; it has no rank and no decision (`control`).
    """
    keys = {"study": draws.study, "domain": draws.domain, "margin_pp": margin_pp}
    keys |= {"n_resamples": draws.n_resamples, "seed": draws.seed}
    techniques = [name for name in draws.techniques if name in ranked or name == CONTROL]
    for weighting in ("llm", "trial"):
        for row in _over_llms(draws, techniques, weighting, margin_pp, alpha):
            yield keys | row | {"weighting": weighting}
    for place, llm in enumerate(draws.llms):
        for row in _of_llm(draws, techniques, place, margin_pp, alpha):
            yield from (keys | row | {"llm": llm, "weighting": weighting} for weighting in ("llm", "trial"))


def gain_interval(technique, nothing, *, level):
    """Interval for how much nearer to 0 one signed statistic is than another, abs(nothing) - abs(technique).

    A distance from 0 folds its resamples upwards, so that percentiles of it err. Its sign need not be known: with
    D = nothing - technique and S = nothing + technique, the gain is positive where D and S have one sign and negative
    where they have two, and its size is the smaller of abs(D) and abs(S). D and S are linear and have percentile
    intervals; the bounds of the gain are its least and its most over their rectangle. That a bound excludes 0 takes two
    one-sided tests, each at the level (an intersection-union test, Berger 1982), for either sign of D and S; where both
    are 0, the errors of the two signs add to at most twice the level.

    Parameters
    ----------
    technique, nothing : numpy.ndarray, shape (n_resamples,)
        Draws of the signed statistics.
    level : float
        One-sided.

    Returns
    -------
    tuple of float
        The bounds.

    References
    ----------
    Berger (1982), Multiparameter hypothesis testing and acceptance sampling, Technometrics 24(4), 295-300.
    """
    return _extremes(_bounds(nothing - technique, level), _bounds(nothing + technique, level))


def decide(gain_low, gain_high, *, margin_pp):
    """What the evidence says of a technique against doing nothing; the rule is in `docs/methodology.md`.

    Parameters
    ----------
    gain_low, gain_high : float
        Bounds of the gain.
    margin_pp : float
        The largest gain or loss that still counts as none.

    Returns
    -------
    {'use', 'avoid', 'equivalent', 'no_evidence'}
    """
    if -margin_pp < gain_low and gain_high < margin_pp:
        return "equivalent"
    if gain_low > TIE:
        return "use"
    if gain_high < -TIE:
        return "avoid"
    return "no_evidence"


def _bounds(draws, level):
    low, high = np.quantile(draws, [level, 1 - level])
    return float(low), float(high)


def _extremes(d, s):
    """Least and most of sign(D S) min(abs(D), abs(S)) over a rectangle."""

    def positive(bound):
        return max(bound, 0.0)

    nearest = min(max(d[0], -d[1], 0.0), max(s[0], -s[1], 0.0))
    least = max(min(positive(-d[0]), positive(s[1])), min(positive(d[1]), positive(-s[0])))
    most = max(min(positive(d[1]), positive(s[1])), min(positive(-d[0]), positive(-s[0])))
    return -least if least > 0 else nearest, most if most > 0 else -nearest


def _over_llms(draws, techniques, weighting, margin_pp, alpha):
    signed, methods = {}, {}
    for metric, (of, none) in LOSSES.items():
        statistics = {name: draws.statistic(name, of) for name in techniques}
        statistics = {name: one for name, one in statistics.items() if one.has_it.any()}
        many = {name: one for name, one in statistics.items() if one.has_it.sum() >= FEWEST_LLMS}
        # techniques that too few LLMs were asked with are not ranked among those that enough were
        of_llms = CONTROL in many if CONTROL in statistics else bool(many)
        kept = many if of_llms else statistics
        llms = np.any([one.has_it for one in kept.values()], axis=0) if of_llms else None
        signed[metric] = {name: draws.draws(name, of, "both", weighting, llms=llms) - none for name in kept}
        n_llms = min((int(one.has_it.sum()) for one in kept.values()), default=0)
        methods[metric] = {
            "method": "cluster" if of_llms else "trial",
            "level": expanded_level(alpha, n_llms) if of_llms else alpha,
            "reason": None if of_llms else "too_few_llms",
        }
        for name in sorted(statistics.keys() - kept.keys()):
            loss = abs(draws.draws(name, of, "both", weighting)[0] - none)
            how = {"method": "trial", "level": alpha, "reason": "too_few_llms; not_ranked_with_the_others"}
            yield {"metric": metric, "technique": name, "loss": loss, **_sizes(statistics[name]), **how}
    for row in _ranked(signed, methods, margin_pp):
        yield row | _sizes(draws.statistic(row["technique"], LOSSES[row["metric"]][0]))


def _sizes(statistic):
    return {"n_trials": statistic.n_trials.sum(), "n_llms": statistic.has_it.sum()}


def _of_llm(draws, techniques, place, margin_pp, alpha):
    signed, n_trials = {}, {}
    for metric, (of, none) in LOSSES.items():
        found = {name: draws.statistic(name, of, weighting="own") for name in techniques}
        signed[metric] = {name: one.values[place] - none for name, one in found.items() if one.has_it[place]}
        n_trials |= {(metric, name): one.n_trials[place] for name, one in found.items() if one.has_it[place]}
    how = {"method": "trial", "level": alpha, "reason": "one_llm"}
    for row in _ranked(signed, dict.fromkeys(LOSSES, how), margin_pp):
        yield row | {"n_trials": n_trials[row["metric"], row["technique"]], "n_llms": 1}


def _ranked(signed, methods, margin_pp):
    """One row per metric and technique from draws of signed statistics, the observed one first."""
    disagree = _share_of_disagreement(signed)
    for metric, of_metric in signed.items():
        how = methods[metric]
        row_of_all = {"metric": metric, "method": how["method"], "level": how["level"], "p_metrics_disagree": disagree}
        of_all = [how["reason"], "no_low_or_no_high_anchor" if disagree is None else None]
        names = [name for name in of_metric if name != CONTROL]
        if not names:
            continue
        losses = np.abs([of_metric[name][1:] for name in names])
        usable = ~np.isnan(losses).any(axis=0)
        losses = losses[:, usable]
        best, worst = losses.min(axis=0) + TIE, losses.max(axis=0) - TIE
        leads, trails = losses <= best, losses >= worst
        ranks = 1 + (losses[None] < losses[:, None] - TIE).sum(axis=1)
        nothing = of_metric.get(CONTROL)
        for i, name in enumerate(names):
            low, high = np.quantile(ranks[i], [how["level"], 1 - how["level"]], method="inverted_cdf")
            row = row_of_all | {
                "technique": name,
                "loss": abs(of_metric[name][0]),
                "p_best": (leads[i] / leads.sum(axis=0)).mean(),
                "p_worst": (trails[i] / trails.sum(axis=0)).mean(),
                "rank_low": low,
                "rank_high": high,
            }
            row |= _against_nothing(of_metric[name], nothing, how, metric, margin_pp)
            yield row | {"reason": reasons(*of_all, row.get("reason"))}
        if nothing is not None:
            control = np.abs(nothing[1:][usable])
            yield row_of_all | {
                "technique": CONTROL,
                "loss": abs(nothing[0]),
                "p_best": (control <= best).mean(),
                "p_worst": (control >= worst).mean(),
                "reason": reasons(*of_all, "control"),
            }


def _against_nothing(technique, nothing, how, metric, margin_pp):
    """Gain over no technique, with its bounds and the decision."""
    if nothing is None:
        return {"reason": "no_technique_not_asked"}
    found = {"gain": abs(nothing[0]) - abs(technique[0])}
    usable = ~(np.isnan(technique) | np.isnan(nothing))
    usable[0] = False
    technique, nothing = technique[usable], nothing[usable]
    if not len(technique) or (np.ptp(technique) <= TIE and np.ptp(nothing) <= TIE):
        return found | {"reason": "zero_variance"}
    low, high = gain_interval(technique, nothing, level=how["level"])
    return found | {
        "gain_low": low,
        "gain_high": high,
        "p_worse_than_nothing": (np.abs(technique) > np.abs(nothing) + TIE).mean(),
        "decision": decide(low, high, margin_pp=margin_pp),
    }


def _share_of_disagreement(signed):
    """Share of resamples with all techniques in which none is first by deviation and by susceptibility at once."""
    names = [name for name in signed["deviation"] if name != CONTROL and name in signed["susceptibility"]]
    if not names:
        return None
    losses = np.abs([[signed[metric][name][1:] for name in names] for metric in ("deviation", "susceptibility")])
    losses = losses[:, :, ~np.isnan(losses).any(axis=(0, 1))]
    is_first = losses <= losses.min(axis=1, keepdims=True) + TIE
    return float(1 - is_first.all(axis=0).any(axis=0).mean())
