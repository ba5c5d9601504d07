"""`inference.rank_probabilities`: how sure the order of the techniques is, and what to do about it."""

import numpy as np

from analysis.bootstrap import DomainDraws
from analysis.intervals import RECOMMENDED
from analysis.small_samples import FEWEST_LLMS, expanded_level
from analysis.tables import table

LOSSES = {
    "deviation": ("percent_of_baseline", 100),
    "susceptibility": ("spread_pp", 0),
    "madb": ("madb_percent", 0),
}  # the distance of what from what
CONTROL = "no_technique"
TIE = 1e-9
COLUMNS = {
    "study": "varchar",
    "domain": "varchar",
    "llm": "varchar",
    "technique": "varchar",
    "metric": "varchar",
    "weighting": "varchar",
    "method": "varchar",
    "loss": "double",
    "gain": "double",
    "gain_low": "double",
    "gain_high": "double",
    "p_best": "double",
    "p_worst": "double",
    "p_worse_than_nothing": "double",
    "p_metrics_disagree": "double",
    "rank_low": "bigint",
    "rank_high": "bigint",
    "decision": "varchar",
    "level": "double",
    "margin_pp": "double",
    "n_resamples": "bigint",
    "seed": "bigint",
    "n_trials": "bigint",
    "n_llms": "bigint",
    "reason": "varchar",
}


def rank_probabilities(responses, ranked, *, n_resamples, seed, margin_pp, alpha=0.025):
    """How probable each technique's place is, over LLMs and for each LLM, and the decision that follows.

    A technique's loss is what a metric says against it: the distance from the baseline (`deviation`), the distance
    between high and low anchors (`susceptibility`), both in pp, or the MADB (`madb`) in %. Each resample ranks all
    techniques anew. Over five LLMs and more, LLMs are resampled and trials within them; below, and for one LLM, trials
    alone, and the decision speaks of those LLMs only.

    Parameters
    ----------
    responses : pandas.DataFrame
        Rows of `marts.response_counts`, of one response source.
    ranked : collection of str
        Techniques that are ranked; of the others only `no_technique` has rows.
    n_resamples, seed : int
    margin_pp : float
        The largest difference of losses that still counts as none.
    alpha : float
        One-sided level of a decision. Over LLMs it is lowered to `expanded_level(alpha, n_llms)`.

    Returns
    -------
    pyarrow.Table
        One row per study, domain, LLM (null: over all), technique, metric and weighting. `gain` is the loss of no
        technique less that of the technique. For `no_technique`, `p_best` is the probability that no technique beats it
        and `p_worst` that each does; it has no rank and no decision (`control`).
    """
    rows = []
    row_set, baseline_scope = RECOMMENDED
    for _, of_domain in responses.groupby(["study", "domain"], observed=True, sort=True):
        draws = DomainDraws(
            of_domain, n_resamples=n_resamples, seed=seed, row_set=row_set, baseline_scope=baseline_scope
        )
        keys = {"study": draws.study, "domain": draws.domain, "margin_pp": margin_pp}
        keys |= {"n_resamples": n_resamples, "seed": seed}
        techniques = [name for name in draws.techniques if name in ranked or name == CONTROL]
        for weighting in ("llm", "trial"):
            rows += [keys | row for row in _over_llms(draws, techniques, weighting, margin_pp, alpha)]
        for place, llm in enumerate(draws.llms):
            for row in _of_llm(draws, techniques, place, margin_pp, alpha):
                rows += [keys | row | {"llm": llm, "weighting": weighting} for weighting in ("llm", "trial")]
    return table(rows, COLUMNS)


def decide(p_worse, p_better, gain_low, gain_high, *, level, margin_pp):
    """What the evidence says of a technique against doing nothing; the rule is in `docs/methodology.md`.

    Parameters
    ----------
    p_worse, p_better : float
        Share of resamples in which its loss is larger, or smaller, than that of no technique.
    gain_low, gain_high : float
        Bounds of the gain, at twice the level on each side (the two one-sided tests).
    level, margin_pp : float

    Returns
    -------
    {'use', 'avoid', 'equivalent', 'no_evidence'}
    """
    if -margin_pp < gain_low and gain_high < margin_pp:
        return "equivalent"
    if p_worse <= level and p_better > level:
        return "use"
    if p_better <= level and p_worse > level:
        return "avoid"
    return "no_evidence"


def _over_llms(draws, techniques, weighting, margin_pp, alpha):
    kept = [name for name in techniques if draws.statistic(name, "percent_of_baseline").has_it.any()]
    n_llms = {name: int(draws.statistic(name, "percent_of_baseline").has_it.sum()) for name in kept}
    of_llms = bool(kept) and min(n_llms.values()) >= FEWEST_LLMS
    level = expanded_level(alpha, min(n_llms.values())) if of_llms else alpha
    equivalence_level = expanded_level(2 * alpha, min(n_llms.values())) if of_llms else 2 * alpha
    losses = {
        metric: {name: np.abs(draws.draws(name, of, "both", weighting, of_llms=of_llms) - none) for name in kept}
        for metric, (of, none) in LOSSES.items()
    }
    losses = {
        metric: {name: loss for name, loss in of_metric.items() if not np.isnan(loss[0])}
        for metric, of_metric in losses.items()
    }
    shared = {
        "llm": None,
        "weighting": weighting,
        "method": "cluster" if of_llms else "trial",
        "level": level,
    }
    reason = None if of_llms else "too_few_llms"
    for row in _ranked(losses, level, equivalence_level, margin_pp, reason):
        n_trials = draws.statistic(row["technique"], "percent_of_baseline").n_trials.sum()
        yield shared | row | {"n_trials": n_trials, "n_llms": n_llms[row["technique"]]}


def _of_llm(draws, techniques, place, margin_pp, alpha):
    losses, n_trials = {}, {}
    for metric, (of, none) in LOSSES.items():
        found = {name: draws.statistic(name, of) for name in techniques}
        losses[metric] = {name: np.abs(one.values[place] - none) for name, one in found.items() if one.has_it[place]}
        n_trials |= {name: one.n_trials[place] for name, one in found.items() if one.has_it[place]}
    for row in _ranked(losses, alpha, 2 * alpha, margin_pp, "one_llm"):
        yield {"method": "trial", "level": alpha} | row | {"n_trials": n_trials[row["technique"]], "n_llms": 1}


def _ranked(losses, level, equivalence_level, margin_pp, reason):
    """One row per metric and technique from draws of the losses, the observed one first."""
    disagree = _share_of_disagreement(losses)
    for metric, of_metric in losses.items():
        names = [name for name in of_metric if name != CONTROL]
        stacked = np.array([of_metric[name][1:] for name in names])
        usable = ~np.isnan(stacked).any(axis=0) if names else None
        nothing = of_metric.get(CONTROL)
        if names:
            stacked = stacked[:, usable]
            best, worst = stacked.min(axis=0) + TIE, stacked.max(axis=0) - TIE
            ranks = 1 + (stacked[None] < stacked[:, None] - TIE).sum(axis=1)
        for i, name in enumerate(names):
            row = {"metric": metric, "technique": name, "loss": of_metric[name][0], "p_metrics_disagree": disagree}
            leads, trails = stacked <= best, stacked >= worst
            row |= {"p_best": (leads[i] / leads.sum(axis=0)).mean(), "p_worst": (trails[i] / trails.sum(axis=0)).mean()}
            low, high = np.quantile(ranks[i], [0.025, 0.975], method="inverted_cdf")
            row |= {"rank_low": low, "rank_high": high}
            reasons = [reason] if reason else []
            if disagree is None:
                reasons.append("no_low_or_no_high_anchor")
            if nothing is None:
                yield row | {"reason": "; ".join([*reasons, "no_technique_not_asked"])}
                continue
            gain = (nothing - of_metric[name])[1:]
            gain = gain[~np.isnan(gain)]
            if not len(gain) or (np.ptp(gain) <= TIE and np.ptp(of_metric[name][1:]) <= TIE):
                yield row | {"gain": nothing[0] - row["loss"], "reason": "; ".join([*reasons, "zero_variance"])}
                continue
            p_worse, p_better = (gain < -TIE).mean(), (gain > TIE).mean()
            low, high = np.quantile(gain, [equivalence_level, 1 - equivalence_level])
            row |= {
                "gain": nothing[0] - row["loss"],
                "gain_low": np.quantile(gain, level),
                "gain_high": np.quantile(gain, 1 - level),
                "p_worse_than_nothing": p_worse,
                "decision": decide(p_worse, p_better, low, high, level=level, margin_pp=margin_pp),
            }
            yield row | {"reason": "; ".join(reasons) or None}
        if nothing is not None and names:
            control = nothing[1:][usable]
            yield {
                "metric": metric,
                "technique": CONTROL,
                "loss": nothing[0],
                "p_best": (control <= best).mean(),
                "p_worst": (control >= worst).mean(),
                "p_metrics_disagree": disagree,
                "reason": "; ".join(filter(None, [reason, "control"])),
            }


def _share_of_disagreement(losses):
    """Share of resamples in which no technique is first by deviation and by susceptibility at once."""
    names = [name for name in losses["deviation"] if name != CONTROL and name in losses["susceptibility"]]
    if not names:
        return None
    first = []
    for metric in ("deviation", "susceptibility"):
        stacked = np.array([losses[metric][name][1:] for name in names])
        first.append(stacked <= stacked.min(axis=0) + TIE)
    return float(1 - (first[0] & first[1]).any(axis=0).mean())
