"""`inference.intervals` on small frames: definitions on expanded rows, laws, and what data cannot support."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.methods.bootstrap import DomainDraws
from analysis.methods.intervals import (
    CHANGE,
    COLUMNS,
    METHODS,
    bootstrap_limit,
    percentile_interval,
    spread_change,
)
from analysis.methods.intervals import intervals as rows_of
from analysis.methods.small_samples import expanded_level
from analysis.tables import TYPES, table

FIELDS = [
    *("study", "domain", "vignette", "llm", "technique", "anchor_direction", "temperature"),
    *("anchor_value", "row_set", "response_source", "response", "n_trials"),
]
KEYS = [
    *("study", "domain", "technique", "anchor_direction", "llm", "metric", "weighting"),
    *("row_set", "baseline_scope", "method"),
]
TECHNIQUES = ("no_technique", "sacd")
PERCENTAGES = ["percent_of_baseline", "deviation_pp", "madb_percent", "spread_pp"]


def responses_of(cells, *, study="s"):
    """Answers to anchors from {(llm, vignette, technique, anchor direction): {response: number of trials}}."""
    rows = [
        (study, "d", vignette, llm, technique, direction, 0.7, 1.0, "accepted", "recorded", float(response), n)
        for (llm, vignette, technique, direction), counts in cells.items()
        for response, n in counts.items()
    ]
    return pd.DataFrame(rows, columns=FIELDS)


def designed(n_llms=6, techniques=TECHNIQUES, vignettes=("v",), n=5):
    """Responses by formula: LLMs, vignettes, techniques and directions differ, as do numbers of trials."""
    cells = {}
    for i, (w, vignette) in product(range(n_llms), enumerate(vignettes)):
        cells[f"llm{i}", vignette, "no_technique", "none"] = {20 + i: n, 22 + 2 * i + w: 2 * n, 30: n}
        for (j, technique), (k, direction) in product(enumerate(techniques), enumerate(["low", "high"])):
            middle = 12 + i + 3 * j + (8 - 2 * j) * k + (i * j * k) % 4 + 2 * w
            cells[f"llm{i}", vignette, technique, direction] = {
                middle - 3: n,
                middle: 2 * n + i * (1 + w) + 3 * k,
                middle + 5: n,
            }
    return responses_of(cells)


def intervals(responses, **options):
    return table(rows_of(responses, **options), COLUMNS)


def found_in(responses, **options):
    found = intervals(responses, **{"n_resamples": 100, "seed": 1, **options})
    return found.to_pandas().assign(llm=lambda rows: rows["llm"].astype(object).where(rows["llm"].notna(), None))


def one(found, **keys):
    kept = found
    for name, value in keys.items():
        kept = kept[kept[name].isna()] if value is None else kept[kept[name] == value]
    (row,) = kept.to_dict("records")
    return row


def statistic_of(percents, responses, baseline, metric):
    return {
        "mean_response": np.mean(responses),
        "percent_of_baseline": np.mean(percents),
        "deviation_pp": np.mean(percents) - 100,
        "deviation": np.mean(responses) - baseline,
        "madb_percent": np.mean(np.abs(percents - 100)),
        "median_percent_of_baseline": np.median(percents),
        "share_within_10_percent": np.mean(np.abs(percents - 100) <= 10 + 1e-9),
    }[metric]


def by_definition(trials, technique, direction, llm, metric, weighting):
    """The statistic from expanded trials: within a vignette by LLM or by trial, then the mean over vignettes."""
    if metric == CHANGE:
        spread, reference = (
            by_definition(trials, name, "both", llm, "spread_pp", weighting) for name in (technique, "no_technique")
        )
        return 100 * (spread - reference) / abs(reference)
    if metric in ("spread", "spread_pp"):
        of = "mean_response" if metric == "spread" else "percent_of_baseline"
        low, high = (by_definition(trials, technique, side, llm, of, weighting) for side in ("low", "high"))
        return high - low
    by_vignette = {}
    for (name, vignette), baseline in {key[:2]: np.mean(cell) for key, cell in trials.items() if "none" in key}.items():
        sides = ["low", "high"] if direction == "both" else [direction]
        answers = np.concatenate([trials[name, vignette, technique, side] for side in sides])
        if llm in (None, name):
            value = statistic_of(100 * answers / baseline, answers, baseline, metric)
            by_vignette.setdefault(vignette, []).append((value, len(answers) if weighting == "trial" else 1))
    pairs = [np.array(of_vignette).T for of_vignette in by_vignette.values()]
    return np.mean([np.average(values, weights=weights) for values, weights in pairs])


def trials_of(responses):
    """From LLM, vignette, technique and direction to the responses, one for each trial."""
    return {
        key: np.repeat(cell["response"].to_numpy(), cell["n_trials"])
        for key, cell in responses.groupby(["llm", "vignette", "technique", "anchor_direction"])
    }


@pytest.fixture(scope="module")
def responses():
    return designed()


@pytest.fixture(scope="module")
def found(responses):
    return found_in(responses)


def test_a_row_is_one_technique_direction_llm_metric_weighting_specification_and_method(found):
    assert not found.duplicated(KEYS).any()
    keys = {"technique": "sacd", "anchor_direction": "both", "weighting": "llm"}
    for metric, llm in product(["percent_of_baseline", "spread_pp", "deviation_pp"], [None, "llm3"]):
        cell = found[(found["metric"] == metric) & (found["llm"].isna() if llm is None else found["llm"] == llm)]
        methods = cell[(cell[list(keys)] == pd.Series(keys)).all(axis=1)]["method"]
        assert sorted(methods) == sorted(
            [*METHODS, "trial_fixed_baseline"] if llm is None else {*METHODS, "trial_fixed_baseline"} - {"cluster"}
        )


@pytest.mark.parametrize("vignettes", [("v",), ("v", "w")])
def test_estimates_are_the_definitions_on_expanded_trials(vignettes):
    responses = designed(vignettes=vignettes)
    found, trials = found_in(responses, n_resamples=2), trials_of(responses)
    names = ["technique", "anchor_direction", "llm", "metric", "weighting"]
    for key, rows in found.groupby(names, dropna=False):
        expected = by_definition(trials, *key[:2], None if pd.isna(key[2]) else key[2], *key[3:])
        assert rows["estimate"].to_numpy() == pytest.approx(np.full(len(rows), expected), rel=1e-9), key


def test_the_own_estimate_of_an_llm_does_not_depend_on_other_llms():
    responses = designed(n_llms=2, vignettes=("v", "w"))
    without = responses[(responses["llm"] != "llm1") | (responses["vignette"] == "v")]
    alone = responses[responses["llm"] == "llm0"]
    tables = [found_in(rows, n_resamples=20) for rows in (responses, without, alone)]
    whole, less, least = (rows[rows["llm"] == "llm0"].set_index(KEYS).sort_index() for rows in tables)
    columns = ["estimate", "low", "high"]
    assert less[columns].to_numpy() == pytest.approx(whole[columns].to_numpy(), nan_ok=True)
    assert least[columns].to_numpy() == pytest.approx(whole[columns].to_numpy(), nan_ok=True)


def test_bounds_hold_the_estimate_of_means(found):
    rows = found[found["metric"].isin([*PERCENTAGES, "mean_response", "spread"]) & found["low"].notna()]
    assert len(rows) > 200
    assert ((rows["low"] < rows["estimate"]) & (rows["estimate"] < rows["high"])).all()


def test_every_null_has_a_reason_and_every_bound_has_none(found):
    is_null = found[["estimate", "low", "high"]].isna().any(axis=1)
    assert (is_null == found["reason"].notna()).all()


def test_headline_bounds_over_llms_are_students_t_of_their_means(responses, found):
    for metric in ("percent_of_baseline", "spread_pp", "mean_response"):
        row = one(
            found,
            technique="sacd",
            anchor_direction="both",
            llm=None,
            metric=metric,
            weighting="llm",
            method="headline",
        )
        of_llms = [by_definition(trials_of(responses), "sacd", "both", f"llm{i}", metric, "llm") for i in range(6)]
        expected = stats.ttest_1samp(of_llms, 0).confidence_interval()
        assert (row["low"], row["high"], row["df"]) == pytest.approx((expected.low, expected.high, 5))


def test_the_change_of_a_spread_has_fiellers_bounds(responses, found):
    spreads, references = (
        np.array([by_definition(trials_of(responses), name, "both", f"llm{i}", "spread_pp", "llm") for i in range(6)])
        for name in ("sacd", "no_technique")
    )
    row = one(found, technique="sacd", llm=None, metric=CHANGE, method="headline")
    for bound in (row["low"], row["high"]):
        assert stats.ttest_1samp(spreads - (1 + bound / 100) * references, 0).pvalue == pytest.approx(0.05)


def test_a_falling_reference_turns_the_sign_of_the_change():
    # every high anchor lowers: responses to the two anchors are exchanged
    turned = designed().replace({"anchor_direction": {"low": "high", "high": "low"}})
    keys = {"technique": "sacd", "llm": None, "metric": CHANGE, "method": "headline"}
    before, after = one(found_in(designed()), **keys), one(found_in(turned), **keys)
    assert before["estimate"] < 0
    assert (after["estimate"], after["low"], after["high"]) == pytest.approx(
        (-before["estimate"], -before["high"], -before["low"])
    )


def test_deviation_pp_is_percent_of_baseline_less_100_row_by_row(found):
    index = [name for name in KEYS if name != "metric"]
    percents, deviations = (
        found[found["metric"] == metric].set_index(index).sort_index()
        for metric in ("percent_of_baseline", "deviation_pp")
    )
    assert percents.index.equals(deviations.index)
    columns = ["estimate", "low", "high"]
    assert deviations[columns].to_numpy() == pytest.approx(percents[columns].to_numpy() - 100, nan_ok=True)
    others = [name for name in COLUMNS if name not in [*KEYS, *columns]]
    assert deviations[others].equals(percents[others])


def test_numbers_of_trials_and_llms_are_those_of_the_statistic(responses, found):
    of_sacd = responses[(responses["technique"] == "sacd")]
    for direction, llm in product(["low", "high", "both"], [None, "llm2"]):
        is_side = of_sacd["anchor_direction"].isin(["low", "high"] if direction == "both" else [direction])
        is_side &= (of_sacd["llm"] == llm) | (llm is None)
        row = one(
            found,
            **{"technique": "sacd", "anchor_direction": direction, "llm": llm, "metric": "madb_percent"},
            **{"weighting": "trial", "method": "trial"},
        )
        assert (row["n_trials"], row["n_llms"]) == (of_sacd.loc[is_side, "n_trials"].sum(), 1 if llm else 6)


def test_the_known_baseline_of_papers_gives_narrower_intervals(found):
    keys = {"technique": "sacd", "anchor_direction": "both", "metric": "percent_of_baseline", "weighting": "llm"}
    known, drawn = (one(found, llm=None, method=name, **keys) for name in ("trial_fixed_baseline", "trial"))
    assert known["high"] - known["low"] < 0.9 * (drawn["high"] - drawn["low"])
    assert known["estimate"] == drawn["estimate"]


def test_an_interval_of_shares_or_madb_stays_in_their_range():
    cells = {}
    for i in range(5):
        cells[f"llm{i}", "v", "no_technique", "none"] = {100: 10}
        cells[f"llm{i}", "v", "sacd", "low"] = {100: 9, 150: 40 * (i == 0)}
    found = found_in(responses_of(cells))
    keys = {"llm": None, "anchor_direction": "low", "weighting": "llm", "method": "headline"}
    madb = one(found, metric="madb_percent", **keys)
    share = one(found, metric="share_within_10_percent", **keys)
    assert (madb["low"], share["high"]) == (0, 1)
    assert madb["low"] < madb["estimate"] < madb["high"]
    assert share["low"] < share["estimate"] < share["high"]


def test_a_shuffle_of_the_rows_leaves_the_table(responses):
    tables = [intervals(rows, n_resamples=20, seed=1) for rows in (responses, responses.sample(frac=1, random_state=1))]
    assert tables[0].equals(tables[1])


def test_relabelling_of_llms_leaves_estimates_and_closed_forms(responses, found):
    renamed = responses.assign(llm=responses["llm"].map(lambda name: f"other{9 - int(name[-1])}"))
    tables = [rows[rows["llm"].isna()].set_index(KEYS).sort_index() for rows in (found, found_in(renamed))]
    before, after = (rows["estimate"].to_numpy() for rows in tables)
    assert after == pytest.approx(before, rel=1e-12)
    closed = ["low", "high", "df"]
    before, after = (rows.xs("headline", level="method")[closed].to_numpy(float) for rows in tables)
    assert after == pytest.approx(before, rel=1e-9, nan_ok=True)


def test_doubling_of_counts_leaves_estimates_and_closed_forms_and_narrows_trial_intervals():
    responses = designed(n_llms=5, techniques=("no_technique", "sacd"))
    doubled = responses.assign(n_trials=2 * responses["n_trials"])
    tables = [
        rows[rows["llm"].isna()].set_index(KEYS).sort_index()
        for rows in (found_in(one, n_resamples=1500) for one in (responses, doubled))
    ]
    once, twice = tables
    assert twice["estimate"].to_numpy() == pytest.approx(once["estimate"].to_numpy())
    closed = [rows.xs("headline", level="method")[["low", "high"]].to_numpy() for rows in tables]
    assert closed[1] == pytest.approx(closed[0], nan_ok=True)
    for metric in ("percent_of_baseline", "madb_percent", "spread_pp"):
        narrow, wide = (
            one(
                rows.reset_index(),
                technique="sacd",
                anchor_direction="both",
                metric=metric,
                weighting="llm",
                method="trial",
            )
            for rows in (twice, once)
        )
        ratio = (wide["high"] - wide["low"]) / (narrow["high"] - narrow["low"])
        assert ratio == pytest.approx(np.sqrt(2), rel=0.12)


def test_below_five_llms_nothing_is_said_of_other_llms():
    found = found_in(designed(n_llms=4))
    over_llms = found[found["llm"].isna()]
    few = over_llms[over_llms["method"].isin(["cluster", "headline"])]
    assert set(few["reason"]) == {"too_few_llms"}
    assert few["estimate"].notna().all()
    assert few[["low", "high"]].isna().all(axis=None)
    of_trials = found[(found["method"] == "trial") & (found["metric"] != "share_within_10_percent")]
    assert of_trials["low"].notna().all()
    assert of_trials["llm"].isna().any()


def test_one_llm_has_its_own_rows_and_no_interval_over_llms():
    found = found_in(designed(n_llms=1))
    assert set(found["n_llms"]) == {1}
    own = found[found["llm"].notna() & (found["method"] == "headline")]
    assert own.loc[own["metric"] != "share_within_10_percent", "low"].notna().all()
    assert set(found.loc[found["llm"].isna() & (found["method"] == "headline"), "reason"]) == {"too_few_llms"}


def test_one_technique_alone_has_no_change_of_spread():
    found = found_in(designed(techniques=("sacd",)))
    assert CHANGE not in set(found["metric"])
    assert set(found["technique"]) == {"sacd"}
    assert one(found, technique="sacd", llm=None, metric="spread_pp", method="headline")["low"] is not None


def test_one_direction_has_no_spread_and_both_is_that_direction():
    responses = designed()
    found = found_in(responses[responses["anchor_direction"] != "high"])
    assert set(found["metric"]).isdisjoint({"spread", "spread_pp", CHANGE})
    assert set(found["anchor_direction"]) == {"low", "both"}
    keys = [name for name in KEYS if name != "anchor_direction"]
    low, both = (
        found[found["anchor_direction"] == direction].set_index(keys).sort_index().drop(columns="anchor_direction")
        for direction in ("low", "both")
    )
    pd.testing.assert_frame_equal(low, both)


def test_one_trial_in_every_cell_has_estimates_without_bounds_of_trials():
    responses = designed().drop_duplicates(["llm", "technique", "anchor_direction"]).assign(n_trials=1)
    found = found_in(responses)
    of_trials = found[found["method"].isin(["trial", "trial_fixed_baseline"]) | found["llm"].notna()]
    assert of_trials[["low", "high"]].isna().all(axis=None)
    of_trials = of_trials[of_trials["method"] != "headline"]
    assert set(of_trials["reason"]) <= {"one_trial", "zero_variance", "no_spread_to_change"}
    is_one = (of_trials["n_trials"] == 1) & (of_trials["metric"] != CHANGE)
    assert set(of_trials.loc[is_one, "reason"]) == {"one_trial"}
    assert set(of_trials.loc[~is_one & (of_trials["metric"] != CHANGE), "reason"]) == {"zero_variance"}
    assert found.loc[found["metric"] == "percent_of_baseline", "estimate"].notna().all()
    over_llms = found[found["llm"].isna() & (found["method"] == "headline")].set_index("metric")
    assert over_llms.loc["mean_response", "low"].notna().all()
    assert set(over_llms.loc["percent_of_baseline", "reason"]) == {"baseline_below_10"}


def test_no_variance_anywhere_is_a_reason_and_not_an_interval_of_width_0():
    cells = {}
    for i, technique in product(range(6), TECHNIQUES):
        cells[f"llm{i}", "v", "no_technique", "none"] = {20: 10}
        cells |= {(f"llm{i}", "v", technique, side): {value: 10} for side, value in (("low", 10), ("high", 30))}
    found = found_in(responses_of(cells))
    assert found[["low", "high"]].isna().all(axis=None)
    assert set(found["reason"]) == {"zero_variance"}
    assert one(found, technique="sacd", llm=None, metric="spread_pp", method="cluster")["estimate"] == pytest.approx(
        100
    )
    assert one(found, technique="sacd", llm=None, metric=CHANGE, method="headline")["estimate"] == 0


def test_an_llm_without_a_baseline_has_no_percentage():
    responses = designed(n_llms=6)
    lacking = responses[(responses["llm"] != "llm0") | (responses["anchor_direction"] != "none")]
    without = responses[responses["llm"] != "llm0"]
    found, expected = found_in(lacking), found_in(without)
    of_llm0 = found[found["llm"] == "llm0"]
    assert set(of_llm0.loc[of_llm0["estimate"].notna(), "metric"]) == {"mean_response", "spread"}
    keys = {"technique": "sacd", "llm": None, "metric": "percent_of_baseline", "weighting": "llm"}
    keys |= {"anchor_direction": "both"}
    for method in ("headline", "trial"):
        row, same = (one(rows, method=method, **keys) for rows in (found, expected))
        assert row["n_llms"] == 5
        assert (row["estimate"], row["low"], row["high"]) == pytest.approx(
            (same["estimate"], same["low"], same["high"])
        )


def test_an_llm_that_answered_but_has_no_baseline_says_so():
    responses = designed(n_llms=6)
    has_none = (responses["llm"] == "llm0") & (responses["anchor_direction"] == "none")
    cells = ["technique", "anchor_direction", "metric", "weighting", "method", "n_trials"]
    whole, lacking = (
        rows[(rows["llm"] == "llm0") & (rows["metric"] != CHANGE)].set_index(cells).sort_index()
        for rows in (found_in(responses), found_in(responses[~has_none]))
    )
    assert lacking.index.equals(whole.index)
    assert "cluster" not in lacking.index.get_level_values("method")
    is_response = lacking.index.isin(["mean_response", "spread"], level="metric")
    assert set(lacking.loc[~is_response, "reason"]) == {"no_baseline"}
    assert lacking.loc[~is_response, ["estimate", "low", "high"]].isna().all(axis=None)
    assert lacking.loc[is_response, "reason"].isna().all()


def test_an_llm_that_was_not_asked_with_both_anchors_does_not_lack_a_baseline():
    responses = designed(n_llms=6)
    lacks = (responses["llm"] == "llm0") & responses["anchor_direction"].isin(["none", "high"])
    found = found_in(responses[~lacks])
    of_llm0 = found[found["llm"] == "llm0"]
    assert set(of_llm0["metric"]).isdisjoint({"spread", "spread_pp", CHANGE})
    assert set(of_llm0["anchor_direction"]) == {"low", "both"}


def test_without_any_baseline_there_are_responses_and_spreads_alone():
    responses = designed()
    found = found_in(responses[responses["anchor_direction"] != "none"])
    is_response = found["metric"].isin(["mean_response", "spread"])
    assert found.loc[is_response, "low"].notna().all()
    assert set(found.loc[~is_response, "reason"]) == {"no_baseline"}
    assert found.loc[~is_response, "llm"].notna().all()
    assert CHANGE not in set(found["metric"])


def test_llms_are_drawn_among_those_that_have_the_statistic():
    responses = designed(n_llms=7)
    lacks = (responses["llm"] == "llm6") & (responses["technique"] == "sacd")
    few, some = found_in(responses[responses["llm"] != "llm6"]), found_in(responses[~lacks])
    keys = {"technique": "sacd", "llm": None, "method": "cluster", "weighting": "llm"}
    for metric in ("percent_of_baseline", "madb_percent", "spread_pp", CHANGE):
        rows = [one(found, metric=metric, anchor_direction="both", **keys) for found in (few, some)]
        assert [row["n_llms"] for row in rows] == [6, 6]
        assert rows[1]["low"] < rows[1]["high"]
        columns = ["estimate", "low", "high", "n_trials"]
        assert [rows[1][name] for name in columns] == pytest.approx([rows[0][name] for name in columns])


def test_fewer_than_five_llms_with_a_statistic_are_too_few_however_many_were_asked():
    responses = designed(n_llms=7)
    lacks = (responses["technique"] == "sacd") & responses["llm"].isin(["llm1", "llm4", "llm6"])
    found = found_in(responses[~lacks])
    for technique, n_llms in (("sacd", 4), ("no_technique", 7)):
        row = one(
            found,
            **{"technique": technique, "llm": None, "method": "cluster", "weighting": "llm"},
            **{"metric": "percent_of_baseline", "anchor_direction": "both"},
        )
        assert (row["n_llms"], np.isnan(row["low"])) == (n_llms, n_llms < 5)


def test_only_what_is_drawn_has_a_seed():
    responses = pd.concat([designed(), designed().assign(row_set="as_recorded")])
    found = found_in(responses, published={"s"})
    is_closed = (found["method"] == "trial_unstratified") | ((found["method"] == "headline") & found["llm"].isna())
    assert (found["seed"].isna() == is_closed).all()
    assert (found["n_resamples"].isna() == is_closed).all()
    assert is_closed[found["metric"] == CHANGE].any()
    assert set(found.loc[~is_closed, "n_resamples"]) == {100}


def test_a_median_is_weighed_by_llm_alone(found):
    weightings = found.groupby("metric")["weighting"].unique().map(sorted).to_dict()
    by_llm = ["median_percent_of_baseline", "spread", "spread_pp", CHANGE]
    assert {metric for metric, names in weightings.items() if names == ["llm"]} == set(by_llm)
    assert {tuple(names) for metric, names in weightings.items() if metric not in by_llm} == {("llm", "trial")}


def test_a_spread_below_1_pp_has_no_change():
    cells = {}
    for i in range(6):
        cells[f"llm{i}", "v", "no_technique", "none"] = {1000 + i: 5, 1010: 5}
        for technique, high in (("no_technique", 1001 + i), ("sacd", 1300)):
            cells[f"llm{i}", "v", technique, "low"] = {1000 + i: 5}
            cells[f"llm{i}", "v", technique, "high"] = {high: 4, high + 3: 1}
    found = found_in(responses_of(cells))
    changes = found[found["metric"] == CHANGE]
    assert set(changes["reason"]) == {"no_spread_to_change"}
    assert changes[["estimate", "low", "high"]].isna().all(axis=None)
    assert len(changes) == 3 + 6 * 2


def test_the_change_is_of_llms_that_have_both_spreads():
    responses = designed(n_llms=7)
    lacks = (responses["llm"] == "llm6") & (responses["technique"] == "no_technique")
    lacking = responses[~lacks | (responses["anchor_direction"] == "none")]
    rows = [
        one(found_in(some), technique="sacd", llm=None, metric=CHANGE, method="headline")
        for some in (lacking, responses[responses["llm"] != "llm6"])
    ]
    assert rows[0]["n_llms"] == 6
    assert (rows[0]["estimate"], rows[0]["low"], rows[0]["high"]) == pytest.approx(
        (rows[1]["estimate"], rows[1]["low"], rows[1]["high"])
    )


def test_what_divides_by_fewer_than_ten_unanchored_answers_has_no_headline_bounds():
    responses = designed()
    of_one = (responses["anchor_direction"] == "none") & (responses["llm"] == "llm0")
    responses.loc[of_one, "n_trials"] = [3, 3, 3]
    found = found_in(responses, published=["s"])
    rests = (found["method"] == "headline") & ~found["metric"].isin(["mean_response", "deviation", "spread"])
    rests &= found["llm"].isna() | (found["llm"] == "llm0")
    assert found.loc[rests, ["low", "high", "df"]].isna().all(axis=None)
    assert found.loc[rests, "reason"].str.contains("baseline_below_10").all()
    assert found.loc[rests & (found["metric"] == "madb_percent"), "estimate"].notna().all()
    others = found[~rests]
    assert not others["reason"].fillna("").str.contains("baseline").any()
    assert others.loc[others["metric"] == "mean_response", "low"].notna().all()
    responses.loc[of_one, "n_trials"] = [3, 3, 4]
    assert not found_in(responses)["reason"].fillna("").str.contains("baseline").any()


def test_published_studies_alone_have_the_intervals_of_document_a():
    of_s, of_t = designed(n_llms=2), designed(n_llms=2).assign(study="t")
    both = pd.concat([of_s, of_t])
    both = pd.concat([both, both.assign(row_set="as_recorded", n_trials=2 * both["n_trials"])])
    found = found_in(both, published={"t"})
    as_published = found[found["method"] == "trial_unstratified"]
    assert set(as_published["study"]) == {"t"}
    assert set(found.loc[found["row_set"] == "as_recorded", "method"]) == {"trial_unstratified"}
    assert set(as_published["baseline_scope"]) == {"pooled"}
    assert set(as_published["metric"]) == {"percent_of_baseline"}
    row = one(as_published, technique="sacd", anchor_direction="both", llm=None)
    expected = by_definition(trials_of(of_s), "sacd", "both", None, "percent_of_baseline", "trial")
    assert row["estimate"] == pytest.approx(expected)
    trials = both[(both["study"] == "t") & (both["row_set"] == "as_recorded") & (both["technique"] == "sacd")]
    assert row["n_trials"] == trials["n_trials"].sum()


def test_document_a_has_baselines_at_temperature_1_too():
    responses = designed(n_llms=2).assign(temperature=1.0)
    found = found_in(pd.concat([responses, responses.assign(row_set="as_recorded")]), published={"s"})
    assert set(found.loc[found["row_set"] == "as_recorded", "baseline_scope"]) == {"t=1", "pooled"}
    assert set(found.loc[found["row_set"] == "accepted", "baseline_scope"]) == {"pooled"}


def test_studies_and_domains_are_never_pooled():
    responses = designed()
    moved = pd.concat([responses.assign(response=2 * responses["response"], study="t"), responses.assign(domain="e")])
    together = found_in(pd.concat([responses, moved]))
    mine = together[(together["study"] == "s") & (together["domain"] == "d")].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, found_in(responses), check_dtype=False)


def test_another_response_source_has_intervals_too_and_two_are_an_error():
    responses = designed(n_llms=1)
    reparsed = responses.assign(response_source="reparsed")
    assert intervals(reparsed, n_resamples=5, seed=1).equals(intervals(responses, n_resamples=5, seed=1))
    with pytest.raises(ValueError, match="response source"):
        intervals(pd.concat([responses, reparsed]), n_resamples=5, seed=1)


def test_the_version_that_claims_are_about_has_the_draws_of_its_study(responses):
    options = {"n_resamples": 20, "seed": 3, "published": {"s"}}
    of_study = [*rows_of(responses, **options)]
    of_version = [*rows_of(responses.assign(study="s@8749ccc"), **options)]
    assert {row["study"] for row in of_version} == {"s@8749ccc"}
    assert str([row | {"study": "s"} for row in of_version]) == str(of_study)


def test_an_empty_frame_gives_no_rows_with_the_same_types():
    found = intervals(designed()[:0], n_resamples=10, seed=1, published={"s"})
    assert (found.num_rows, found.column_names) == (0, list(COLUMNS))
    assert found.schema.types == [TYPES[kind] for kind in COLUMNS.values()]


def test_a_frame_without_accepted_responses_gives_no_rows():
    responses = designed().assign(row_set="as_recorded")
    assert intervals(responses, n_resamples=10, seed=1, published={"s"}).num_rows == 0


def test_percentiles_leave_out_resamples_that_are_not_numbers():
    draws = np.array([3, *np.arange(101), np.nan, np.nan])
    found = percentile_interval(draws, alpha=0.05)
    assert (found.estimate, found.low, found.high) == pytest.approx((3, 5, 95))
    assert percentile_interval(np.array([3, np.nan]), alpha=0.05).reason == "zero_variance"


def test_changes_of_spreads_worked_by_hand():
    changes = spread_change(np.array([15, 5, 5, -4, 1]), np.array([10, 10, -10, -8, 0]))
    assert changes == pytest.approx([50, -50, 150, 50, np.nan], nan_ok=True)


def test_the_unstratified_interval_is_of_the_mean_of_all_trials():
    responses = designed(n_llms=2).assign(row_set="as_recorded", temperature=1.0)
    row = one(
        found_in(pd.concat([responses, designed(n_llms=2)]), published={"s"}),
        **{"technique": "sacd", "anchor_direction": "both", "llm": None, "baseline_scope": "t=1"},
    )
    baselines = {key[0]: cell.mean() for key, cell in trials_of(responses).items() if "none" in key}
    of_sacd = responses[responses["technique"] == "sacd"]
    percents = 100 * of_sacd["response"] / of_sacd["llm"].map(baselines)
    expected = bootstrap_limit(percents.to_numpy(), of_sacd["n_trials"].to_numpy(), alpha=0.025)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((expected.estimate, expected.low, expected.high))
    assert np.isnan(row["seed"])
    assert np.isnan(row["n_resamples"])


@pytest.mark.parametrize("counts", [[60, 30, 10], [35, 4, 2], [500, 30, 9]])
def test_the_limit_of_the_bootstrap_is_what_scipys_comes_to(counts):
    values, counts = np.array([80.0, 90, 140]), np.array(counts)
    found = bootstrap_limit(values, counts, alpha=0.025)
    expected = stats.bootstrap(
        (np.repeat(values, counts),), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    )
    bounds = expected.confidence_interval
    assert found.estimate == pytest.approx(np.average(values, weights=counts))
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high), abs=0.12 * expected.standard_error)


def test_the_limit_of_the_bootstrap_is_skewed_as_its_trials_are():
    found = bootstrap_limit(np.array([80.0, 200]), np.array([95, 5]), alpha=0.025)
    assert found.high - found.estimate > 1.1 * (found.estimate - found.low)


@pytest.mark.parametrize(("counts", "reason"), [([0, 1], "one_trial"), ([0, 7], "zero_variance")])
def test_the_limit_of_equal_trials_has_no_bounds(counts, reason):
    found = bootstrap_limit(np.array([80.0, 90.1]), np.array(counts), alpha=0.025)
    assert (found.estimate, found.low, found.high, found.reason) == (pytest.approx(90.1), None, None, reason)


def test_headline_bounds_of_one_llm_are_percentiles_at_the_expanded_level():
    responses = designed(n_llms=1)
    row = one(
        found_in(responses, n_resamples=400),
        **{"technique": "sacd", "anchor_direction": "both", "llm": "llm0", "metric": "spread_pp", "method": "headline"},
    )
    draws = DomainDraws(responses, n_resamples=400, seed=1)
    level = expanded_level(0.025, draws.smallest_cell("llm0", "sacd"))
    expected = np.quantile(draws.statistic("sacd", "spread_pp").over_llms()[1:], [level, 1 - level])
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("seed", range(8))
def test_whatever_was_not_asked_rows_are_unique_and_nulls_have_reasons(seed):
    rng = np.random.default_rng(seed)
    responses = designed(vignettes=("v", "w"), n=1)
    responses.loc[responses["response"] < 15, "response"] = 0
    responses = responses[rng.random(len(responses)) < rng.choice([0.2, 0.6, 0.9])]
    found = found_in(responses, n_resamples=20)
    assert not found.duplicated(KEYS).any()
    assert (found[["estimate", "low", "high"]].isna().any(axis=1) == found["reason"].notna()).all()
    assert (found["low"].isna() | (found["low"] <= found["high"])).all()
