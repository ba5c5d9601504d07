"""What the ledger makes of trials under the specification of a claim, and what the recommended analysis says."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from ingest.warehouse import in_memory
from tests.test_content_marts import landed, made

SPECIFICATION = {
    "study": "s", "domain": "d", "temperature_scope": "pooled", "row_set": "accepted", "baseline_scope": "pooled",
    "weighting": "trial", "direction_weighting": "trial", "baseline_pooling": "llm", "estimator": "mean_of_ratios",
    "non_null": "final",
}  # fmt: skip
BASELINES = {"a": (2, 10), "b": (1, 40)}  # by LLM: trials and their mean
# three answers of 5 and one of 15, one of 40, and three of an LLM without a baseline
RESPONSES = [
    ("sacd", "a", "low", 0, 5, 3), ("sacd", "a", "low", 1, 15, 1), ("sacd", "b", "low", 0, 40, 1),
    ("sacd", "c", "low", 0, 5, 3),
]  # fmt: skip
KEYS = ["technique", "technique_b", "llm", "anchor_direction"]


def effects(responses, of_others=(), baselines=BASELINES, **specification):
    """Rows of `int_claim_effects`, by technique, second technique, LLM and direction."""
    of_baselines = [
        {"study": "s", "domain": "d", "vignette": "v", "llm": llm, "row_set": "accepted"}
        | {"baseline_scope": "pooled", "n_trials": n, "baseline": baseline}
        for llm, (n, baseline) in baselines.items()
    ]
    counted = [
        {"study": "s", "domain": "d", "row_set": "accepted", "technique": technique, "llm": llm}
        | {"anchor_direction": direction, "temperature": temperature}
        | {"anchor_value": 5, "response": response, "n_trials": n, "has_all_answers": response != 15}
        for technique, llm, direction, temperature, response, n in responses
    ]
    ranked = {"no_technique": False, "premortem": True, "sacd": True}
    with in_memory() as memory:
        landed(memory, "int_claim_specifications", [SPECIFICATION | specification])
        landed(memory, "int_baselines_scoped", of_baselines)
        landed(memory, "int_responses_counted", counted)
        landed(
            memory, "techniques", [{"technique": name, "is_ranked": is_ranked} for name, is_ranked in ranked.items()]
        )
        landed(memory, "technique_effects", list(of_others) or [{"study": "another"}])
        found = made(memory, "int_claim_effects")
    return found.astype(object).where(found.notna(), None).set_index(KEYS)


# the percents are 50 three times and 150 of one LLM, and 100 of the other; the mean of the baselines is 25; a third LLM
# has no baseline, and counts in ratios of means alone
@pytest.mark.parametrize(
    ("specification", "percent", "n_trials"),
    [
        ({}, (3 * 50 + 150 + 100) / 5, 5),
        ({"weighting": "llm"}, (75 + 100) / 2, 5),
        ({"estimator": "ratio_of_means"}, 100 * (3 * 5 + 15 + 40 + 3 * 5) / 8 / 25, 8),
        ({"estimator": "ratio_of_file_means"}, 100 * (5 + 15 + 40 + 5) / 4 / 25, 8),
        ({"baseline_pooling": "domain"}, 100 * (3 * 5 + 15 + 40 + 3 * 5) / 8 / 20, 8),
        ({"excluded_llm": "b"}, (3 * 50 + 150) / 4, 4),
        ({"excluded_llm": "b c"}, (3 * 50 + 150) / 4, 4),
        ({"non_null": "both"}, (3 * 50 + 100) / 4, 4),
        ({"temperature_scope": "1"}, 150, 1),
    ],
)
def test_each_specification_takes_its_trials_and_compares_them_with_its_baseline(specification, percent, n_trials):
    row = effects(RESPONSES, **specification).loc[("sacd", None, None, "low")]
    assert (row["percent_of_baseline"], row["n_trials"]) == (pytest.approx(percent), n_trials)


@pytest.mark.parametrize(("direction_weighting", "percent", "deviation"), [("trial", 75, -2.5), ("balanced", 100, 0)])
def test_balanced_directions_weigh_the_same_whatever_their_trials(direction_weighting, percent, deviation):
    responses = [("sacd", "a", "low", 0, 5, 3), ("sacd", "a", "high", 0, 15, 1)]
    found = effects(responses, direction_weighting=direction_weighting)
    columns = ["percent_of_baseline", "deviation_pp", "deviation", "spread", "spread_pp", "low_less_high_distance"]
    assert found.loc[("sacd", None, None, "both"), columns].tolist() == [percent, percent - 100, deviation, 10, 100, 0]
    assert found.loc[("sacd", None, None, "low"), "percent_of_baseline"] == 50


PERCENTS = {"a": [70, 100, 130], "b": [50, 50]}
STATISTICS = {
    "median_percent_of_baseline": np.median,
    "sd_percent_of_baseline": lambda x: np.std(x, ddof=1),
    "sd_population_percent_of_baseline": np.std,
    "madb_percent": lambda x: np.mean(abs(x - 100)),
    "percent_within_10_percent": lambda x: 100 * np.mean(abs(x - 100) <= 10),
    "percent_below_baseline": lambda x: 100 * np.mean(x < 100),
}


@pytest.mark.parametrize("weighting", ["trial", "llm"])
def test_how_trials_lie_about_the_baseline_is_as_numpy_has_it(weighting):
    responses = [("sacd", llm, "low", 0, value, 1) for llm in "a" for value in PERCENTS[llm]]
    found = effects(
        [*responses, ("sacd", "b", "low", 0, 50, 2)], baselines={"a": (1, 100), "b": (1, 100)}, weighting=weighting
    )
    everyone = np.array([*PERCENTS["a"], *PERCENTS["b"]], float)
    for name, statistic in STATISTICS.items():
        of_llms = [float(statistic(np.array(values, float))) for values in PERCENTS.values()]
        expected = statistic(everyone) if weighting == "trial" else np.mean(of_llms)
        assert found.loc[("sacd", None, None, "both"), name] == pytest.approx(expected, abs=1e-8), name
        assert found.loc[("sacd", None, "a", "low"), name] == pytest.approx(of_llms[0], abs=1e-8), name
    # answers that do not vary have no skewness, and a mean is of the others
    skewness = stats.skew(everyone, bias=False) if weighting == "trial" else 0
    assert found.loc[("sacd", None, None, "both"), "skewness"] == pytest.approx(skewness, abs=1e-8)
    assert found.loc[("sacd", None, "b", "both"), "skewness"] is None
    assert (found["n_compared"].max(), found["n_llms"].max()) == (5, 2)


def test_trials_of_a_cell_stand_for_their_mean():
    # a cell at each temperature: means 50 and 150, each twice; so the SD is 50 and the error of the mean 25
    responses = [("sacd", "a", "low", 0, 20, 1), ("sacd", "a", "low", 0, 80, 1), ("sacd", "a", "low", 1, 150, 2)]
    other = {
        "study": "s", "domain": "d", "vignette": "v", "technique": "premortem", "anchor_direction": "low",
        "temperature_scope": "pooled", "row_set": "accepted", "baseline_scope": "t=1", "weighting": "trial",
        "n_trials": 2, "percent_of_baseline": 50.0, "sd_percent_of_baseline": 0.0,
    }  # fmt: skip
    others = [other, other | {"baseline_scope": "pooled"}, other | {"weighting": "llm"}, other | {"technique": "sacd"}]
    found = effects(responses, others, {"a": (1, 100)}, estimator="repeated_cell_means", weighting=None)
    row = found.loc[("sacd", None, None, "low")]
    assert row["percent_of_baseline"] == 100
    ends = [row["percent_of_baseline_low"], row["percent_of_baseline_high"]]
    assert ends == pytest.approx([100 - stats.norm.ppf(0.975) * 25, 100 + stats.norm.ppf(0.975) * 25])
    pair = found.loc[("sacd", "premortem", None, "low")]
    assert pair[["percent_of_baseline_cohens_d", "n_trials", "method"]].tolist() == [1, 6, "cells_against_trials"]
    assert len(found.loc[found["method"].notna()]) == 1


def test_techniques_are_compared_with_none_and_ranked_by_how_far_they_are():
    answers = {"no_technique": (60, 110), "sacd": (95, 115), "premortem": (70, 104)}
    responses = [
        (technique, "a", direction, 0, value, 1)
        for technique, of in answers.items() for direction, value in zip(("low", "high"), of, strict=True)
    ]  # fmt: skip
    found = effects(responses, baselines={"a": (1, 100)}).xs(("a", "both"), level=("llm", "anchor_direction"))
    found = found.droplevel("technique_b")
    columns = {
        "deviation_pp": [-15, 5, -13],
        "gain_by_deviation": [None, 10, 2],
        "gain_by_susceptibility": [None, 30, 16],
        "spread_change_percent": [0, -60, -32],
        "low_less_high_distance": [30, -10, 26],
        "rank_by_deviation": [None, 1, 2],
        "rank_by_susceptibility": [None, 1, 2],
        "rank_by_deviation_with_no_technique": [3, 1, 2],
        "rank_by_share_within_10_percent": [None, 1, 1],
        "place_by_deviation": [None, 1, 2],
    }
    assert {name: found.loc[list(answers), name].tolist() for name in columns} == columns


# by LLM: how far answers are from the baseline after a low and after a high anchor, and their skewness
DISTANCES = {
    ("premortem", "pooled"): {"a": (-30, 10, 1), "b": (-10, -10, 2), "c": (-20, 10, 3)},
    ("sacd", "pooled"): {"a": (-10, 10, 1), "b": (-5, 5, 1), "c": (-5, 5, 1)},
    ("premortem", "0"): {"a": (-8, 8, 1), "b": (-1, 1, 1), "c": (-5, 5, 1)},
    ("sacd", "0"): {"a": (-10, 10, 1), "b": (-5, 5, 1), "c": (-5, 5, 1)},
}
RELATIONS = ("intervals", "decisions", "effects", "technique_effects")


def recommended(techniques=("premortem", "sacd"), **given):
    """Rows of `int_claims_recommended`, by quantity, domain, technique, second technique, LLM and direction."""
    with in_memory() as memory:
        landed(memory, "int_claim_specifications", [{"study": "s"}])
        memory.execute("create table intermediate.fewest_llms as select 3 as n_llms")
        landed(memory, "techniques", [{"technique": name, "is_ranked": True} for name in techniques])
        for name in RELATIONS:
            landed(memory, name, given.get(name) or [{"study": "another"}])
        found = made(memory, "int_claims_recommended")
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    key = ("quantity", "domain", "technique", "technique_b", "llm", "anchor_direction")
    return {tuple(row[name] for name in key): (row["value"], row["low"], row["high"], row["n_llms"]) for row in rows}


def test_each_llm_is_one_observation():
    """Student's t of 2 degrees of freedom is 4.3027; displacements 20, 10, 15 and 10, 5, 5 correlate with r² of .75."""
    own = {"study": "s", "domain": "d", "vignette": "v"}
    measured = [
        own
        | {"technique": technique, "llm": llm, "temperature_scope": scope, "anchor_direction": direction}
        | {"row_set": row_set, "baseline_scope": "pooled", "weighting": "llm", "n_trials": 5}
        | {"deviation_pp": 9.0 if row_set == "as_recorded" else deviation, "skewness": skewness}
        for (technique, scope), llms in DISTANCES.items() for llm, (low, high, skewness) in llms.items()
        for direction, deviation in (("low", low), ("high", high), ("both", (low + high) / 2))
        for row_set in ("accepted", "as_recorded")
    ]  # fmt: skip
    thin = [row | {"llm": "thin", "deviation_pp": -900.0} for row in measured if row["llm"] == "a"]
    losses = [
        own | {"paradigm": "anchoring", "goal": "displacement", "technique": technique, "llm": llm, "loss": 1.0}
        | {"reason": "baseline_below_10" if llm == "thin" else "baseline_below_30"}
        for technique, llm in product(("premortem", "sacd"), ("a", "b", "c", "thin"))
    ]  # fmt: skip
    found = recommended(technique_effects=[*measured, *thin], effects=losses)
    half = 4.302652729749464 / np.sqrt(3)
    near = pytest.approx
    assert {(name, *pair): values for (name, _, *pair, llm, _), values in found.items() if llm is None} == {
        ("skewness", "premortem", None): (2, near(2 - half), near(2 + half), 3),
        ("skewness", "sacd", None): (1, None, None, 3),
        ("low_less_high_distance_of_llms", "premortem", None): (10, near(10 - 10 * half), near(10 + 10 * half), 3),
        ("low_less_high_distance_of_llms", "sacd", None): (0, None, None, 3),
        ("displacement_difference", "premortem", "sacd"): (near(25 / 3), near(1.16224545), near(15.504421216), 3),
        ("displacement_difference", "sacd", "premortem"): (near(-25 / 3), near(-15.504421216), near(-1.16224545), 3),
        ("between_llm_sd_ratio_by_displacement", "premortem", "sacd"): (
            near(3**0.5), near(0.135481323), near(22.143273498), 3,
        ),
        ("between_llm_sd_ratio_by_displacement", "sacd", "premortem"): (
            near(3**-0.5), near(0.045160441), near(7.381091166), 3,
        ),
        ("range_by_displacement", None, None): (near(25 / 3), None, None, 3),
        # at temperature 0 the order is the other one, by 2, 4 and 0: not surely
        ("n_temperatures_ranked_otherwise_by_displacement", None, None): (1, 0, 1, 3),
    }  # fmt: skip


def test_how_far_an_llm_is_displaced_is_bounded_by_both_directions():
    side = {
        "study": "s", "domain": "d", "technique": "sacd", "llm": "a", "anchor_direction": "low",
        "metric": "deviation_pp", "method": "headline", "weighting": "llm", "row_set": "accepted",
        "baseline_scope": "pooled", "estimate": -12.0, "low": -20.0, "high": -4.0, "n_trials": 3, "n_llms": 1,
    }  # fmt: skip
    high = side | {"anchor_direction": "high", "estimate": 6.0, "low": -2.0, "high": 14.0}
    few = side | {"llm": None, "n_llms": 2}
    others = [
        side | {"llm": "unbounded", "low": None},
        high | {"llm": "unbounded"},
        few,
        few | {"method": "trial", "low": -7.0},
    ]
    found = recommended(intervals=[side, high, *others, side | {"row_set": "as_recorded", "estimate": 1.0}])
    assert {(name, *key): values for (name, _, _, _, *key), values in found.items() if key[0] != "unbounded"} == {
        ("deviation_pp", "a", "low"): (-12, -20, -4, 1),
        ("absolute_deviation_pp", "a", "low"): (12, 4, 20, 1),
        ("deviation_pp", "a", "high"): (6, -2, 14, 1),
        ("absolute_deviation_pp", "a", "high"): (6, 0, 14, 1),
        ("displacement", "a", "both"): (9, 2, 17, 1),
        # over too few LLMs it speaks of the trials of those
        ("deviation_pp", None, "low"): (-12, -7, -4, 2),
        ("absolute_deviation_pp", None, "low"): (12, 4, 7, 2),
    }
    assert not any(name == "displacement" and llm == "unbounded" for name, _, _, _, llm, _ in found)


def decided(domain, goal, technique, place, gains=None, *, with_none=None, **known):
    """A decision on a technique against none, with the gain and its bounds, and the effect that it is about."""
    key = {"study": "s", "paradigm": "anchoring", "domain": domain, "goal": goal, "technique": technique}
    key |= {"n_trials": 4, "n_llms": 5} | known
    is_none = technique == "no_technique"
    decision = dict(zip(("gain", "gain_low", "gain_high"), gains or (), strict=bool(gains)))
    decision["n_vendors"] = key["n_llms"]
    if not is_none:
        decision |= {"control": "no_technique", "comparison": "control", "n_comparisons": 2}
    effect = {"rank": None if is_none else place, "rank_with_no_technique": with_none or place}
    effect |= {name: value for name, value in key.items() if name not in ("p_best", "rank_low", "rank_high")}
    return key | decision | {"confidence": 0.95}, effect


def test_a_place_and_a_disagreement_are_as_sure_as_a_decision():
    # ranks count no technique, which is the second by displacement
    first, second, third = ({"rank_low": place, "rank_high": place, "p_best": float(place == 1)} for place in (1, 2, 3))
    few = {"n_llms": 2, "reason": "too_few_vendors"}
    rows = [
        decided("sure", "displacement", "sacd", 1, (6.0, 1.0, 11.0), **first),
        decided("sure", "displacement", "premortem", 2, (-6.0, -11.0, -1.0), with_none=3, **third),
        decided("sure", "displacement", "no_technique", 2, **second),
        decided("sure", "gap", "sacd", 2, (2.0, -3.0, 7.0), **second),
        decided("sure", "gap", "premortem", 1, (2.0, -3.0, 7.0), **first),
        # of two vendors nothing is said of others
        decided("few", "displacement", "sacd", 1, (6.0, 1.0, 11.0), **few),
        decided("few", "displacement", "premortem", 2, (1.0, None, None), **few),
        decided("few", "displacement", "no_technique", 3, **few),
        decided("few", "gap", "sacd", 1, **few),
        decided("few", "gap", "premortem", 2, **few),
    ]
    found = recommended(decisions=[decision for decision, _ in rows], effects=[effect for _, effect in rows])
    values = {key[:3]: ends[:3] for key, ends in found.items()}
    assert values["goals_disagree", "sure", None] == (1, 1, 1)
    assert values["goals_disagree", "few", None] == (0, None, None)
    assert values["nothing_beats_no_technique_by_displacement", "sure", "no_technique"] == (0, 0, 0)
    assert values["nothing_beats_no_technique_by_displacement", "few", "no_technique"] == (0, None, None)
    assert values["place_by_displacement", "sure", "premortem"] == (2, 2, 2)
    assert values["place_by_displacement", "few", "sacd"] == (1, 1, 2)
    assert values["gain_by_displacement", "few", "sacd"] == (6, None, None)
    assert values["place_by_gap", "sure", "sacd"] == (2, 1, 2), "no technique may be what is before it"
    assert values["gain_on_own_control_by_gap", "sure", "sacd"] == (2, -3, 7)
    assert values["rank_by_displacement", "sure", "premortem"] == (2, 2, 2)
    with_none = "rank_by_displacement_with_no_technique"
    assert {key[1:]: ends for key, ends in values.items() if key[0] == with_none} == {
        ("sure", "sacd"): (1, 1, 1),
        ("sure", "premortem"): (3, 3, 3),
        ("sure", "no_technique"): (2, 2, 2),
        ("few", "sacd"): (1, 1, 3),
        ("few", "premortem"): (2, 1, 3),
        ("few", "no_technique"): (3, 1, 3),
    }
