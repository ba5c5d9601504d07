"""Document D's three tables, and what follows from them, as published and with its choices corrected one at a time.

The published tests take 101 neighbouring targets for independent pairs, and take them before they are normalised, so
that a prompt which makes every number less likely counts as an effect of its anchor. The published "Shapley" values
are Banzhaf values, which do not add up to what they explain. A corrected row stands beside the published one and
differs from it in `specification` alone.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import special

from analysis.papers import attribution
from analysis.papers.anchor_contrasts import contrasts, trends
from analysis.tables import declared, reasons

CLASSIC = "V0"  # the question that LLMs may know with its answer: means are told without it, and beside them with it
QUESTION = ["study", "scoring_set", "scoring", "llm", "variation", "question", "evidence_from"]

# of the rows of all five parts; each has some of them
MEASURED = {"part": "varchar"} | declared(
    "soft_expectations", "anchor_effects", "sensitivity_scores", "anchor_sensitivities", "sensitivity_trends"
)


class Rule(NamedTuple):
    """The columns in which the scores of a rule stand, those without the anchor, and the attributions to the anchor."""

    scores: str
    without_anchor: str
    attributions: dict[str, str]


RULES = {
    "published": Rule(
        "log_probability",
        "log_probability_without_anchor",
        {"banzhaf": "banzhaf_anchor", "shapley": "shapley_anchor"},
    ),
    "aligned": Rule(
        "aligned_log_probability",
        "aligned_log_probability_without_anchor",
        {"banzhaf": "aligned_banzhaf_anchor"},
    ),
}


class Specification(NamedTuple):
    """What a specification chooses: tests that see normalised scores, targets that flip together, values, and rule.

    With blocks, their flips stand in for every test over targets, since each of these takes targets for independent.
    """

    normalised: tuple[str, ...] = ()
    block: int | None = None
    attribution: str = "banzhaf"
    rule: str = "published"

    @property
    def method(self):
        """Name the tests and the attribution in words."""
        if self.block:
            tests = f"all sign flips of blocks of {self.block} neighbouring targets"
        else:
            tests = f"paired t, Wilcoxon (Pratt), {attribution.PUBLISHED_FLIPS:,} random sign flips"
        on = {0: "unnormalised scores", 1: "unnormalised scores, t on normalised ones"}
        by_rule = "" if self.rule == "published" else f"; {self.rule} scores"
        return f"{tests}; {on.get(len(self.normalised), 'normalised scores')}; {self.attribution}{by_rule}"


ALL_TESTS = ("t", "wilcoxon", "permutation")
SPECIFICATIONS = {
    "published": Specification(),
    "normalised_t": Specification(normalised=("t",)),
    "normalised": Specification(normalised=ALL_TESTS),
    "blocks_of_ten": Specification(block=10),
    "blocks_of_twenty": Specification(block=20),
    "normalised_blocks_of_ten": Specification(normalised=ALL_TESTS, block=10),
    "normalised_blocks_of_twenty": Specification(normalised=ALL_TESTS, block=20),
    "shapley": Specification(attribution="shapley"),
    "aligned": Specification(rule="aligned"),
    "recommended": Specification(normalised=ALL_TESTS, block=10, attribution="shapley"),
}
DRAWN = f"{attribution.PUBLISHED_RESAMPLES:,} means of {attribution.DRAWS} draws"
BANDS = {
    "published": (attribution.drawn_band, DRAWN, attribution.PUBLISHED_SEED),
    "aligned": (attribution.drawn_band, f"{DRAWN}; aligned scores", attribution.PUBLISHED_SEED),
    "recommended": (attribution.exact_band, f"exact distribution of the mean of {attribution.DRAWS} draws", None),
}


class Cell(NamedTuple):
    """What was scored under one anchor, or none, by one rule; arrays are ordered by target, and null with a reason."""

    anchor: float | None
    n_targets: int
    scores: np.ndarray | None
    attributions: dict[str, np.ndarray | None]
    reason: str | None = None


def measured_rows(scores, parameters):
    """Rows of the five tables, each with the name of its table in `part`.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per scoring, variation, anchor and target: `study`, `scoring_set` (the scorings of one LLM that its
        means are over), `scoring`, `llm`, `variation`, `question`, `evidence_from`, `anchor_regime`,
        `anchor_direction`, `anchor`, `target`, `log_probability` in nats, and the other columns that `RULES` names,
        null where they are not known.
    parameters : dict of str to float
        How many parameters an LLM has, of those of which it is known.

    Yields
    ------
    dict
        With the columns of `MEASURED`. A statistic that cannot be computed is missing, and `reason` says why.

    References
    ----------
    Valencia-Clavijo (2025), Anchors in the Machine, section 3.2 and Table 1.
    """
    effects, abss = [], []
    for key, of_question in scores.groupby(QUESTION, sort=True):
        named = dict(zip(QUESTION, key, strict=True))
        cells = {
            direction: {rule: _cell(rows, rule) for rule in RULES}
            for direction, rows in of_question.groupby("anchor_direction", sort=False)
        }
        removed = {rule: cell for rule in RULES if (cell := _cell_without_anchor(of_question, rule))}
        for direction, by_rule in [*cells.items(), ("none", removed)]:
            yield from ({"part": "soft_expectations", **named, **row} for row in _expectations(direction, by_rule))
        regime = of_question["anchor_regime"].iloc[0]  # where it is missing, None or NaN
        named["anchor_regime"] = regime if isinstance(regime, str) else None
        for specification, chosen in SPECIFICATIONS.items():
            low, high = (cells[side][chosen.rule] if side in cells else None for side in ("low", "high"))
            effect, score = _effect(low, high, specification)
            named["specification"] = specification
            effects.append(named | effect)
            abss.append(named | score | {"is_in_means": named["question"] != CLASSIC})
    yield from ({"part": "anchor_effects", **row} for row in effects)
    yield from ({"part": "sensitivity_scores", **row} for row in abss)
    for metric, rows in (("delta_ev", effects), ("abss", abss)):
        values = [{"reason": None, **row, "value": row.get(metric)} for row in rows]
        for has_v0, chosen in _with_and_without_v0(values):
            compared = list(contrasts(chosen))
            means = [row for row in compared if row["comparison"] == "anchors"]
            told = {"metric": metric, "has_v0": has_v0}
            yield from ({"part": "anchor_sensitivities", **told, **row} for row in compared)
            yield from ({"part": "sensitivity_trends", **told, **row} for row in trends(means, parameters))


def _with_and_without_v0(rows):
    """Yield whether means are over V0 too, and the rows that they are then over: with it those of whom it was asked."""
    yield False, [row for row in rows if row["question"] != CLASSIC]
    asked = {(row["study"], row["scoring_set"]) for row in rows if row["question"] == CLASSIC}
    yield True, [row for row in rows if (row["study"], row["scoring_set"]) in asked]


def _cell(rows, rule):
    """Read what was scored by a rule; recorded files know the published one alone."""
    rows = rows.sort_values("target")
    anchor, (of_scores, _, of_attributions) = float(rows["anchor"].iloc[0]), RULES[rule]
    scores = rows[of_scores].to_numpy(float)
    n_targets = int(np.isfinite(scores).sum())
    if rule != "published" and not n_targets:
        return Cell(anchor, n_targets, None, {}, "not_recoverable")
    if not np.array_equal(rows["target"], attribution.TARGETS) or n_targets < len(attribution.TARGETS):
        return Cell(anchor, n_targets, None, {}, "missing_targets")
    attributions = {}
    for kind, column in of_attributions.items():
        values = rows[column].to_numpy(float)
        attributions[kind] = values if np.isfinite(values).all() else None
    return Cell(anchor, n_targets, scores, attributions)


def _cell_without_anchor(rows, rule):
    """Read the scores after the prompt from which the number is removed, the same whichever anchor it was."""
    one_anchor = rows[rows["anchor"] == rows["anchor"].min()].sort_values("target")
    scores = one_anchor[RULES[rule].without_anchor].to_numpy(float)
    is_whole = np.array_equal(one_anchor["target"], attribution.TARGETS) and np.isfinite(scores).all()
    return Cell(None, len(scores), scores, {}) if is_whole else None


def _expectations(direction, by_rule):
    for specification, (band, method, seed) in BANDS.items():
        cell = by_rule.get(SPECIFICATIONS[specification].rule)
        if cell is None:
            continue
        row = {
            "specification": specification, "anchor_direction": direction, "anchor": cell.anchor,
            "response_unit": "percent", "n_targets": cell.n_targets, "method": method, "seed": seed,
        }  # fmt: skip
        if cell.scores is None:
            yield row | {"reason": cell.reason}
            continue
        low, high = band(cell.scores)
        missing = attribution.missing_mass(cell.scores)
        yield row | {
            "soft_ev": float(attribution.soft_expectation(cell.scores)), "missing_mass": missing, "band_low": low,
            "band_high": high, "reason": "not_probabilities" if missing is None else None,
        }  # fmt: skip


def _effect(low, high, specification):
    """Compare the two anchors of a question: the row of `anchor_effects` and that of `sensitivity_scores`."""
    chosen = SPECIFICATIONS[specification]
    row = {
        "anchor_low": low and low.anchor, "anchor_high": high and high.anchor, "method": chosen.method,
        "n_targets": min(low.n_targets, high.n_targets) if low and high else 0,
        "seed": None if chosen.block else attribution.PUBLISHED_SEED,
    }  # fmt: skip
    if not (low and high) or low.scores is None or high.scores is None:
        reason = low.reason or high.reason if low and high else "one_anchor"
        return row | {"reason": reason}, {"reason": reason}
    delta_ev = float(attribution.soft_expectation(high.scores) - attribution.soft_expectation(low.scores))
    row |= {"delta_ev": delta_ev, "call_behaviour": _call("B", delta_ev)}
    row |= _tests(high.scores - low.scores, special.log_softmax(high.scores) - special.log_softmax(low.scores), chosen)
    p_behaviour = row["p_permutation"] if chosen.block else row["p_t"]
    p_robust = [row["p_permutation"]] if chosen.block else [row["p_wilcoxon"], row["p_permutation"]]
    row |= {f"stars_{test}": attribution.stars_of(row[f"p_{test}"]) for test in ("wilcoxon", "permutation")}
    row["stars_behaviour"] = attribution.stars_of(p_behaviour)
    why = [
        "targets_not_independent" if chosen.block else None,
        None if np.isfinite(p_behaviour) else "zero_variance",
    ]
    low_values, high_values = low.attributions[chosen.attribution], high.attributions[chosen.attribution]
    if low_values is None or high_values is None:
        missing = "not_recoverable" if chosen.attribution == "shapley" else "no_attribution"
        return row | {"reason": reasons(*why, missing)}, {"reason": missing}
    differences = high_values - low_values
    delta = float(differences.mean())
    p_attribution = (
        attribution.block_flips_p(differences, chosen.block) if chosen.block else attribution.paired_t(differences)[1]
    )
    row |= {
        "delta_attribution": delta, "multiplier": float(np.exp(delta)), "p_attribution": p_attribution,
        "call_attribution": _call("A", delta), "stars_attribution": attribution.stars_of(p_attribution),
        "reason": reasons(*why, None if np.isfinite(p_attribution) else "attribution_zero_variance"),
    }  # fmt: skip
    if not np.isfinite([p_behaviour, p_attribution, *p_robust]).all():
        return row, {"reason": "zero_variance"}
    return row, attribution.sensitivity_score(delta_ev, delta, p_behaviour, p_attribution, p_robust)


def _tests(raw, within, chosen):
    """Test differences, high less low, of unnormalised scores and of normalised ones; `t` is of low less high."""
    of_test = {test: within if test in chosen.normalised else raw for test in ALL_TESTS}
    t, p_t = attribution.paired_t(-of_test["t"])
    rank_sum, p_wilcoxon = attribution.wilcoxon_pratt(of_test["wilcoxon"])
    flips_p = partial(attribution.block_flips_p, size=chosen.block) if chosen.block else attribution.drawn_flips_p
    return {
        "mean_difference": float(of_test["t"].mean()),
        "t": t,
        "p_t": np.nan if chosen.block else p_t,
        "wilcoxon": rank_sum,
        "p_wilcoxon": np.nan if chosen.block else p_wilcoxon,
        "p_permutation": flips_p(of_test["permutation"]),
        "lag_1_correlation": _lag_1_correlation(of_test["t"]),
    }


def _lag_1_correlation(differences):
    if not min(np.ptp(differences[1:]), np.ptp(differences[:-1])) > 0:
        return np.nan
    return float(np.corrcoef(differences[1:], differences[:-1])[0, 1])


def _call(letter, difference):
    return f"{letter}{'+' if difference > 0 else '-' if difference < 0 else '0'}"
