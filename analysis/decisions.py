"""`inference.rank_probabilities` and `inference.predictions`: what to do about a technique, and how sure that is."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import special

from analysis.contrasts import sign_flip_p
from analysis.counts import CONTROL, stream, study_without_version
from analysis.losses import GOALS, DomainLosses
from analysis.predictions import fit
from analysis.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.tables import columns, reasons

PRIMARY = "displacement"
KINDS = ("control", "placebo")
ZERO = 1e-9
OPPOSITE = {"use": "avoid", "avoid": "use"}
WITHHELD = "withheld"

KEYS = "study domain llm technique metric control"
COLUMNS = columns(
    f"varchar: {KEYS} comparison",
    "boolean: is_primary",
    "double: loss loss_control gain gain_low gain_high gain_plain_low gain_plain_high gain_asked_low gain_asked_high",
    "bigint: n_gained",
    "double: p_sign_flip",
    "bigint: n_beyond_margin",
    "double: beyond_margin_high p_best p_worst p_worse_than_control",
    "bigint: rank_low rank_high",
    "varchar: decision decision_asked certainty",
    "double: confidence",
    "bigint: n_comparisons",
    "double: margin_pp",
    "varchar: method",
    "bigint: n_draws seed n_trials n_llms",
    "varchar: reason",
)
PREDICTIONS = columns(
    f"varchar: {KEYS}",
    "double: expected_loss gain gain_low gain_high p_better_than_control p_best_new_llm between_sd",
    "varchar: method",
    "bigint: n_draws seed n_trials n_llms",
    "varchar: reason",
)
DECIDED = {"part": "varchar", **COLUMNS, **PREDICTIONS}


class Comparison(NamedTuple):
    """A technique and what it is held against, if that was asked; `kind` is `control`, `placebo` or `confounded`."""

    technique: str
    control: str | None
    kind: str
    is_confounded: bool


def decision_rows(responses, other_reading, ranked, controls, missing, *, margin_pp, n_draws, seed):
    """Decide on each ranked technique of each study and domain, over its LLMs and for each of them.

    An LLM's gain, the loss of the control less that of the technique, is one observation. Over LLMs the decision is
    read off Student's t interval of the mean gain, wide enough for all ranked techniques of the study, domain and goal
    together (Bonferroni). What is said of the LLMs that were asked is read off bounds from their trials
    (`Gains.asked_bounds`), as wide. How probable a place is comes from the hierarchical model of `predictions`.

    Parameters
    ----------
    responses, other_reading : pandas.DataFrame
        Rows of `marts.response_counts`: of the recommended reading of the texts, and of the other one.
    ranked : collection of str
        The techniques that are decided on.
    controls : pandas.DataFrame
        `study, domain, technique, control, comparison`: null stands for any. The most specific row counts of which the
        control was asked.
    missing : pandas.DataFrame
        `study, domain, llm, vignette, technique, anchor_direction, n_missing, valid_min, valid_max`.
    margin_pp : float
        The largest gain or loss that still counts as none.
    n_draws, seed : int

    Yields
    ------
    dict
        Rows of `COLUMNS` and of `PREDICTIONS`, with the table's name as `part`.

    References
    ----------
    Dunn (1961), Multiple comparisons among means, JASA 56(293), 52-64. Clopper & Pearson (1934), Biometrika 26(4).
    """
    options = {"margin_pp": margin_pp, "n_draws": n_draws, "seed": seed}
    elsewhere = {
        key: {row_key(row): row for row in _of_domain(rows, ranked, controls, None, is_whole=False, **options)}
        for key, rows in other_reading.groupby(["study", "domain"], observed=True)
    }
    for _, of_study in responses.groupby("study", observed=True, sort=True):
        decided = []
        for key, rows in of_study.groupby(["study", "domain"], observed=True, sort=True):
            study, domain = key
            here = missing[(missing["study"] == study) & (missing["domain"] == domain)]
            other = elsewhere.get(key, {})
            for row in _of_domain(rows, ranked, controls, here, is_whole=True, **options):
                if row["part"] == "rank_probabilities":
                    decided.append(_beside(row, other.get(row_key(row))))
                else:
                    yield row
        yield from with_certainty(decided)


def _of_domain(rows, ranked, controls, missing, **options):
    """Rows of one study and domain, certainty and the other reading aside."""
    study, domain = rows["study"].iloc[0], rows["domain"].iloc[0]
    losses = DomainLosses(rows, missing=missing)
    pairs = comparisons(study, domain, losses.techniques, ranked, controls)
    return decisions_of_losses(losses, GOALS, study, domain, pairs, **options)


def row_key(row):
    """Return what a row is about, within its study and domain."""
    return row["part"], row["llm"], row["technique"], row["metric"], row["control"]


def decide(gain_low, gain_high, *, margin_pp):
    """Say what bounds of a gain mean; the rule is in docs/methodology.md.

    Parameters
    ----------
    gain_low, gain_high : float
        NaN where there are none.
    margin_pp : float
        The largest gain or loss that still counts as none.

    Returns
    -------
    {'use', 'avoid', 'equivalent', 'no_evidence'}
    """
    if -margin_pp < gain_low and gain_high < margin_pp:
        return "equivalent"
    if gain_low > ZERO:
        return "use"
    if gain_high < -ZERO:
        return "avoid"
    return "no_evidence"


def decided(values, asked, *, level, margin_pp):
    """Decide from the gains of LLMs: the one place where an interval becomes a decision.

    Parameters
    ----------
    values : numpy.ndarray, shape (n LLMs,)
        The gain of each LLM.
    asked : tuple of float
        Lower and upper bound of the mean gain of the LLMs that were asked, as of `Gains.asked_bounds`.
    level : float
        One-sided, as of `one_sided`.
    margin_pp : float

    Returns
    -------
    columns : dict
        `gain` with its bounds, `decision` and `decision_asked`; without bounds where the LLMs do not vary.
    codes : list of str
        Why nothing is decided over LLMs: `one_llm` or `too_few_llms`, `zero_variance`; and `llms_differ` where some of
        those asked gain or lose more than the margin although their mean does not, or the other way than it does.
        `decision_asked` is `equivalent` only where all of them lie within the margin.
    """
    n_llms, gain = len(values), values.mean()
    enough = n_llms >= FEWEST_LLMS
    has_variance = n_llms > 1 and np.ptp(values) > ZERO * max(1.0, np.abs(values).max())
    columns = {"gain": gain, "gain_asked_low": asked[0], "gain_asked_high": asked[1], "decision": "no_evidence"}
    if has_variance:
        columns |= dict(zip(("gain_low", "gain_high"), t_bounds(values, level=level), strict=True))
        if enough:
            columns["decision"] = decide(columns["gain_low"], columns["gain_high"], margin_pp=margin_pp)
    few = [] if enough else ["one_llm" if n_llms == 1 else "too_few_llms"]
    codes = few + (["zero_variance"] if n_llms > 1 and not has_variance else [])
    said = decide(*asked, margin_pp=margin_pp)
    beyond = {"equivalent": np.abs(values), "use": -values, "avoid": values}.get(said, np.zeros(1)) > margin_pp
    codes += ["llms_differ"] if beyond.any() else []
    columns["decision_asked"] = "no_evidence" if said == "equivalent" and beyond.any() else said
    return columns, codes


def t_bounds(values, *, level):
    """Return Student's t bounds of the mean gain of LLMs, at a one-sided level."""
    half = -special.stdtrit(len(values) - 1, level) * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def one_sided(n_comparisons=1):
    """Return the one-sided level of the bounds of so many comparisons that share `CONFIDENCE` (Bonferroni)."""
    return (1 - CONFIDENCE) / 2 / max(n_comparisons, 1)


def family(losses, pairs, goal, *, among=None):
    """Return the gains of each comparison, and how many comparisons of each kind share the confidence.

    Parameters
    ----------
    losses : DomainLosses
    pairs : list of Comparison
    goal : str
    among : collection of str, optional
        The LLMs that enter; all by default.

    Returns
    -------
    gains : dict of Comparison to Gains
    n_of : dict of str to int
        Those of which an LLM has a gain and which are decided on: nothing is on what is confounded.
    """
    gains = {pair: losses.compared(goal, pair.technique, pair.control, among=among) for pair in pairs if pair.control}
    decided_on = [pair for pair, of in gains.items() if of.llms and not pair.is_confounded]
    counts = {kind: sum(pair.kind == kind for pair in decided_on) for kind in KINDS}
    return gains, counts | {"confounded": counts["control"]}


def comparisons(study, domain, present, ranked, controls):
    """Say what each ranked technique is held against, of what was asked.

    Parameters
    ----------
    study, domain : str
    present, ranked : collection of str
    controls : pandas.DataFrame
        As of `decision_rows`.

    Returns
    -------
    list of Comparison
        A technique whose own control is not `no_technique` is also held against that, as `confounded`, since it was
        asked with another prompt.
    """
    rows = controls[controls["control"].isin(list(present))].astype(object).where(controls.notna(), None)
    asked = {"study": study_without_version(study), "domain": domain}
    found = []
    for technique in sorted(set(ranked) & set(present)):
        keys = asked | {"technique": technique}
        own = {}
        for row in rows.to_dict("records"):
            if all(row[key] in (None, keys[key]) for key in keys) and row["control"] != technique:
                n_said = sum(row[key] is not None for key in keys)
                own[row["comparison"]] = max(own.get(row["comparison"], (-1, "")), (n_said, row["control"]))
        control = own.get("control", (-1, None))[1]
        is_confounded = control not in (None, CONTROL)
        found.append(Comparison(technique, control, "control", is_confounded=False))
        if is_confounded and CONTROL in present:
            found.append(Comparison(technique, CONTROL, "confounded", is_confounded=True))
        if "placebo" in own:
            found.append(Comparison(technique, own["placebo"][1], "placebo", is_confounded=is_confounded))
    return found


def decisions_of_losses(losses, goals, study, domain, pairs, *, margin_pp, n_draws, seed, is_whole=True):
    """Decide on the techniques of one study and domain from their losses, certainty aside.

    Parameters
    ----------
    losses : DomainLosses
    goals : iterable of str
    study, domain : str
        With the goal, they also name the stream of random numbers.
    pairs : list of Comparison
        As of `comparisons`.
    margin_pp : float
        In the unit of the losses.
    n_draws, seed : int
    is_whole : bool
        Without it there are no probabilities and predictions.

    Yields
    ------
    dict
        As of `decision_rows`.
    """
    shared = {"study": study, "domain": domain, "seed": seed, "n_draws": n_draws}
    for goal in goals:
        gains, n_of = family(losses, pairs, goal)
        streams = partial(stream, seed, study, domain, goal)
        model = _Model(gains, streams, n_draws) if is_whole else None
        for pair in pairs:
            keys = shared | {
                "part": "rank_probabilities",
                "technique": pair.technique,
                "metric": goal,
                "control": pair.control,
                "comparison": pair.kind,
                "confidence": CONFIDENCE,
                "n_comparisons": n_of[pair.kind],
                "margin_pp": margin_pp,
            }
            if not (pair in gains and gains[pair].llms):
                yield keys | _without_gain(pair, losses, goal, gains.get(pair))
                continue
            of_pair, level = gains[pair], one_sided(n_of[pair.kind])
            places = model.places(pair) if is_whole and pair.kind == "control" else {}
            yield keys | _over_llms(pair, of_pair, losses, level, margin_pp, seed) | {"llm": None} | places
            yield from (keys | row for row in _of_llms(pair, of_pair, losses, level, margin_pp))
        for control in sorted({pair.control for pair in gains if pair.kind == "control"} | {CONTROL}):
            if control in losses.techniques:
                yield from _of_control(shared, losses, goal, control, model)
        if is_whole:
            yield from (shared | {"part": "predictions", "metric": goal} | row for row in model.predictions())


def _over_llms(pair, gains, losses, level, margin_pp, seed):
    n_llms, values = len(gains.llms), gains.values
    row = {"is_primary": gains.goal == PRIMARY and pair.kind == "control", "method": "t_over_llms"} | _sizes(gains)
    row |= {"n_gained": (values > ZERO).sum(), "p_sign_flip": sign_flip_p(values, seed=seed) if n_llms > 1 else None}
    n_beyond = int((np.abs(values) > margin_pp).sum())
    row |= {"n_beyond_margin": n_beyond, "beyond_margin_high": share_bound(n_beyond, n_llms)}
    columns, undecided = decided(values, gains.asked_bounds(level=level), level=level, margin_pp=margin_pp)
    row |= columns
    if "gain_low" in columns:
        plain = t_bounds(values, level=one_sided())
        row |= dict(zip(("gain_plain_low", "gain_plain_high"), plain, strict=True))
    codes = [*undecided, "placebo" if pair.kind == "placebo" else None, *_flags(pair, gains)]
    if pair.is_confounded:
        row |= {"decision": None, "decision_asked": None}
    elif gains.knows_attrition:
        bounds = [float(of.mean()) for of in gains.attrition_bounds()]
        found = _attrition(bounds, margin_pp, row["decision"], row["decision_asked"])
        redecided = {_redecided(of, level=level, margin_pp=margin_pp) for of in gains.had_all_answered()}
        codes.append(found or ("attrition_could_change" if redecided != {row["decision"]} else None))
    return row | {"reason": reasons(*codes)}


def _redecided(values, *, level, margin_pp):
    """Return the decision over LLMs if their gains were these; without bounds there is none."""
    if not np.isfinite(values).all():
        return "no_evidence"
    return decided(values, (np.nan, np.nan), level=level, margin_pp=margin_pp)[0]["decision"]


def _of_llms(pair, gains, losses, level, margin_pp):
    lows, highs = gains.bounds_of_llms(level=level)
    attrition = np.transpose(gains.attrition_bounds()) if gains.knows_attrition else [None] * len(gains.llms)
    for place, llm in enumerate(gains.llms):
        of_llm = losses.compared(gains.goal, pair.technique, pair.control, among=[llm])
        row = {"llm": llm, "is_primary": False, "method": "bias_aware", **_sizes(of_llm)}
        row |= {"gain_asked_low": lows[place], "gain_asked_high": highs[place], "n_gained": gains.values[place] > ZERO}
        codes = ["one_llm", *_flags(pair, of_llm)]
        if not pair.is_confounded:
            row["decision"] = "no_evidence"
            row["decision_asked"] = decide(lows[place], highs[place], margin_pp=margin_pp)
            codes.append(_attrition(attrition[place], margin_pp, row["decision_asked"]))
        yield row | {"reason": reasons(*codes)}


def _without_gain(pair, losses, goal, gains):
    """The row of a technique of which no LLM can be compared, and why."""
    of = losses.of(goal).loss[..., losses.techniques.index(pair.technique)]
    by_llm = of[~np.isnan(of).all(axis=1)]
    why = why_no_gain(pair, losses, gains)
    return {
        "llm": None,
        "is_primary": False,
        "loss": np.nanmean(by_llm, axis=1).mean() if len(by_llm) else None,
        "decision": None if pair.is_confounded else "no_evidence",
        "decision_asked": None if pair.is_confounded else "no_evidence",
        "n_trials": losses.n_trials(pair.technique).sum(),
        "n_llms": 0,
        "method": "t_over_llms",
        "reason": reasons(why, "confounded_prompt" if pair.is_confounded else None),
    }


def why_no_gain(pair, losses, gains):
    """Return the code that says why no LLM can be compared, given the gains, None without a control."""
    if gains and gains.refused:
        return "baseline_below_10"
    if gains and gains.near_zero:
        return "baseline_near_0"
    return losses.why_not(pair.technique) or "control_not_asked"


def _of_control(shared, losses, goal, control, model):
    """The rows of a control itself: its loss, and how probable it is that no technique gains on it."""
    of = losses.of(goal).loss[..., losses.techniques.index(control)]
    has_loss = ~np.isnan(of)
    row = shared | {"part": "rank_probabilities", "technique": control, "metric": goal, "control": None}
    row |= {"is_primary": False, "method": "t_over_llms", "confidence": CONFIDENCE}
    llms = np.flatnonzero(has_loss.any(axis=1))
    if not len(llms):
        return
    means = np.nanmean(of[llms], axis=1)
    places = model.control(control) if model else {}
    n_trials = losses.n_trials(control)
    yield row | {
        "llm": None, "loss": means.mean(), "n_llms": len(llms), "n_trials": n_trials.sum(), **places,
        "reason": reasons("control", places.get("reason")),
    }  # fmt: skip
    for place, mean in zip(llms, means, strict=True):
        of_llm = {"llm": losses.llms[place], "loss": mean, "n_llms": 1, "n_trials": n_trials[place]}
        yield row | of_llm | {"method": "bias_aware", "reason": "control"}


def _sizes(gains):
    return {
        "loss": gains.loss.mean(),
        "loss_control": gains.loss_control.mean(),
        "gain": gains.values.mean(),
        "n_trials": gains.n_trials,
        "n_llms": len(gains.llms),
    }


def _flags(pair, gains):
    return [
        "no_variance_to_correct" if gains.uncorrected else None,
        "baseline_below_10" if gains.refused else None,
        "baseline_near_0" if gains.near_zero else None,
        "baseline_below_30" if gains.thin else None,
        "confounded_prompt" if pair.is_confounded else None,
        "own_control" if pair.kind == "control" and pair.control != CONTROL else None,
    ]


def _attrition(bounds, margin_pp, *decisions):
    """Say whether answers that are missing could turn a decision."""
    if bounds is None:
        return None
    low, high = bounds
    could = {"use": low < -ZERO, "avoid": high > ZERO, "equivalent": low <= -margin_pp or high >= margin_pp}
    return "attrition_could_reverse" if any(could.get(decision) for decision in decisions) else None


def share_bound(k, n, *, confidence=CONFIDENCE):
    """Return the one-sided upper Clopper-Pearson bound of a share of which k in n were seen."""
    return float(special.betaincinv(k + 1, n - k, confidence)) if k < n else 1.0


def _beside(row, other):
    """The row with the code that says that the other reading of the texts would decide otherwise."""
    if other is None or all(row.get(name) == other.get(name) for name in ("decision", "decision_asked")):
        return row
    return row | {"reason": reasons(row["reason"], "reading_would_change")}


def with_certainty(rows):
    """Yield rows of one study with how sure each decision is: the first of the words that holds.

    A row that comes as `withheld` has lost a decision that could not stand, which is not for want of evidence.
    """
    said = {}
    for row in rows:
        if row["llm"] is None:
            said.setdefault((row["technique"], row["metric"], row.get("comparison")), set()).add(row.get("decision"))
    for row in rows:
        if row.get("decision") is None:
            yield row
            continue
        elsewhere = said.get((row["technique"], row["metric"], row["comparison"]), set())
        if row["n_llms"] < FEWEST_LLMS:
            certainty = "too_few_llms"
        elif OPPOSITE.get(row["decision"]) in elsewhere:
            certainty = "contradicted_elsewhere"
        elif row["decision"] != "no_evidence":
            certainty = "established"
        elif row.get("certainty") == WITHHELD:
            certainty = WITHHELD
        else:
            certainty = "promising" if row["decision_asked"] != "no_evidence" else "no_evidence"
        yield row | {"certainty": certainty}


class _Fitted:
    """The hierarchical model of gains, by technique, of the techniques that enough LLMs were asked with."""

    def __init__(self, gains, streams, n_draws):
        self.gains = gains
        self.techniques = list(gains)
        self.llms = sorted({llm for of in gains.values() for llm in of.llms})
        shape = (len(self.llms), len(gains))
        self.values, losses = np.full(shape, np.nan), np.full(shape, np.nan)
        self.covariances = np.zeros((*shape, shape[1]))
        for k, one in enumerate(gains.values()):
            rows = [self.llms.index(llm) for llm in one.llms]
            self.values[rows, k], losses[rows, k] = one.values, one.loss_control
            for other, another in enumerate(gains.values()):
                self.covariances[rows, k, other] = one.covariances(another)
        self.fit = fit(self.values, self.covariances, losses, n_draws=n_draws, rng=streams())
        self.streams = streams

    def predicted(self, llm):
        """Return the prediction for an LLM that was asked, or for one that was not (None)."""
        return self.fit.new if llm is None else self.fit.asked(self.llms.index(llm), rng=self.streams(llm))


class _Model:
    """What the hierarchical model says of one study, domain and goal.

    What a technique gains is about its own control; which technique comes first is about all of them against no
    technique, since gains on different controls cannot be ranked.
    """

    def __init__(self, gains, streams, n_draws):
        enough = {pair: of for pair, of in gains.items() if len(of.llms) >= FEWEST_LLMS}
        self.own = {pair: of for pair, of in enough.items() if pair.kind == "control"}
        self.few = {
            pair: of for pair, of in gains.items() if pair.kind == "control" and of.llms and pair not in self.own
        }
        common = {pair.technique: of for pair, of in enough.items() if pair.control == CONTROL}
        own = {pair.technique: of for pair, of in self.own.items()}
        self.gain = _Fitted(own, streams, n_draws) if own else None
        is_same = all(of is own.get(technique) for technique, of in common.items()) and len(common) == len(own)
        self.place = self.gain if is_same else _Fitted(common, streams, n_draws) if common else None

    def places(self, pair):
        """How probable each place of a technique is, and that it loses against its control."""
        found = {}
        if self.place and not self.place.fit.reason and pair.technique in self.place.techniques:
            k, of = self.place.techniques.index(pair.technique), self.place.fit
            low, high = of.ranks[:, k]
            found = {"p_best": of.p_best[k], "p_worst": of.p_worst[k], "rank_low": low, "rank_high": high}
        if pair in self.own and not self.gain.fit.reason:
            k = self.gain.techniques.index(pair.technique)
            found["p_worse_than_control"] = self.gain.fit.p_worse_than_control[k]
        return found

    def control(self, control):
        """How probable it is that none of the techniques gains on its control, and that all do."""
        if control != CONTROL or not self.gain:
            return {} if self.gain else {"reason": "too_few_llms"}
        if self.gain.fit.reason:
            return {"reason": self.gain.fit.reason}
        return {"p_best": self.gain.fit.p_none_gains, "p_worst": self.gain.fit.p_all_gain}

    def predictions(self):
        """Rows of `PREDICTIONS` of each technique, for an LLM that nobody asked and for each that was."""
        for pair, of in self.few.items():
            yield _prediction_of(pair, of, None) | {"reason": "too_few_llms"}
        if not self.gain or self.gain.fit.reason:
            for pair, of in self.own.items():
                yield _prediction_of(pair, of, None) | {"reason": self.gain.fit.reason}
            return
        for llm in (None, *self.gain.llms):
            found = self.gain.predicted(llm)
            places = self.place and not self.place.fit.reason and llm in (None, *self.place.llms)
            placed = found if self.place is self.gain else self.place.predicted(llm) if places else None
            for k, (pair, of) in enumerate(self.own.items()):
                is_foretold = llm is not None and np.isnan(self.gain.values[self.gain.llms.index(llm), k])
                is_placed = placed is not None and pair.technique in self.place.techniques
                place = self.place.techniques.index(pair.technique) if is_placed else None
                yield _prediction_of(pair, of, llm) | {
                    "expected_loss": found.expected_loss[k] if place is None else placed.expected_loss[place],
                    "gain": found.gain[k],
                    "gain_low": found.gain_low[k],
                    "gain_high": found.gain_high[k],
                    "p_better_than_control": found.p_better_than_control[k],
                    "p_best_new_llm": None if place is None else placed.p_best[place],
                    "between_sd": self.gain.fit.between_sd,
                    "reason": reasons(
                        "not_asked_with_it" if is_foretold else None, None if is_placed else "no_technique_not_asked"
                    ),
                }


def _prediction_of(pair, of, llm):
    return {
        "llm": llm,
        "technique": pair.technique,
        "control": pair.control,
        "method": "hierarchical_normal",
        "n_trials": of.n_trials,
        "n_llms": len(of.llms),
    }
