"""Headlines in every specification: worked in the head, against deleted rows, and by the laws that they obey."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.sensitivity import COLUMNS, sensitivity

RANKED = {"sacd", "premortem"}
SPECIFICATION = ["baseline_scope", "weighting", "row_set", "response_source"]
KEY = ["study", "domain", "headline", "excluded_llm", *SPECIFICATION]
RECOMMENDED = {"baseline_scope": "pooled", "weighting": "llm", "row_set": "accepted", "response_source": "recorded"}


def responses(rows, **same):
    """Rows (llm, technique, anchor_direction, response, n_trials) of one study, else as `same` says."""
    names = ["llm", "technique", "anchor_direction", "response", "n_trials"]
    common = {"study": "s", "domain": "d", "vignette": "v", "temperature": 1.0, "row_set": "accepted"}
    frame = pd.DataFrame(rows, columns=names).astype({"response": float, "n_trials": "int64"})
    return frame.assign(**{**common, "response_source": "recorded", **same})


def headlines(frame, ranked=RANKED, **options):
    table = sensitivity(frame, ranked, **{"margin_pp": 5, **options}).to_pandas()
    return table.assign(reason=table["reason"].astype(object).where(table["reason"].notna(), None))


def of(table, headline, **specification):
    """The one row of a headline in a specification, the recommended one where not said."""
    rows = table[table["headline"] == headline]
    for name, value in {"excluded_llm": None, **RECOMMENDED, **specification}.items():
        rows = rows[rows[name].isna() if value is None else rows[name] == value]
    (row,) = rows.to_dict("records")
    return row


def by_key(table):
    assert not table[KEY].duplicated().any()
    return table.assign(excluded_llm=table["excluded_llm"].fillna("")).set_index(KEY).sort_index()


def assert_same_values(left, right):
    left, right = by_key(left), by_key(right)
    assert list(left.index) == list(right.index)
    np.testing.assert_allclose(left["value"], right["value"], rtol=0, atol=1e-9)
    assert (left["reason"].fillna("") == right["reason"].fillna("")).all()
    assert (left["n_llms"] == right["n_llms"]).all()


# a: 20 without an anchor, b: 40. b gave three of four SACD answers under the low anchor
TWO_LLMS = responses(
    [
        ("a", "no_technique", "none", 20, 2),
        ("a", "no_technique", "low", 10, 1),
        ("a", "no_technique", "high", 30, 1),
        ("a", "sacd", "low", 20, 1),
        ("a", "sacd", "high", 24, 1),
        ("a", "premortem", "low", 15, 1),
        ("a", "premortem", "high", 15, 1),
        ("b", "no_technique", "none", 40, 1),
        ("b", "no_technique", "low", 30, 1),
        ("b", "no_technique", "high", 50, 1),
        ("b", "sacd", "low", 36, 3),
        ("b", "sacd", "high", 40, 1),
        ("b", "premortem", "low", 38, 1),
        ("b", "premortem", "high", 38, 1),
    ]
)

# by LLM, in percent of baseline: no technique 100 ± 50 and 100 ± 25; premortem 75 and 95;
# SACD 110 (100, 120) and, trial-weighted, 92.5 (90, 100)
WORKED = {
    # absolute deviations: no technique 0, SACD 1.25, premortem 15
    ("first_by_deviation(sacd)", "llm"): 13.75,
    ("first_by_deviation(premortem)", "llm"): -13.75,
    ("last_by_deviation(premortem)", "llm"): 13.75,
    ("closer_than_no_technique(sacd)", "llm"): -1.25,
    ("nothing_beats_no_technique", "llm"): 1.25,
    # spreads: no technique 75, SACD (120 + 100 - 100 - 90) / 2, premortem 0
    ("first_by_susceptibility(premortem)", "llm"): 15,
    ("reduces_susceptibility(sacd)", "llm"): 60,
    ("no_spread_without_technique", "llm"): -74,
    # MADB: SACD (10 + 7.5) / 2, premortem 15
    ("first_by_madb(sacd)", "llm"): 6.25,
    # 101.25 and 85 are 16.25 apart
    ("within_margin(premortem, sacd)", "llm"): -11.25,
    ("metrics_disagree", "llm"): 1,
    # low less high deviation: SACD 5 - 10, premortem 15 - 15
    ("every_technique_undershoots_low_more_than_high", "llm"): -5,
    # SACD's six trials: 100, 120, 90, 90, 90, 100
    ("first_by_deviation(sacd)", "trial"): 15 - 10 / 6,
    ("within_margin(premortem, sacd)", "trial"): 5 - (15 - 10 / 6),
    ("first_by_madb(sacd)", "trial"): 15 - 50 / 6,
    # low 92.5, high 110
    ("reduces_susceptibility(sacd)", "trial"): 75 - 17.5,
}


@pytest.mark.parametrize(("headline", "weighting"), WORKED)
def test_two_llms_are_worked_in_the_head(headline, weighting):
    row = of(headlines(TWO_LLMS), headline, weighting=weighting)
    assert row["value"] == pytest.approx(WORKED[headline, weighting], abs=1e-12)
    assert row["stands"] == (WORKED[headline, weighting] > 0)
    assert row["is_recommended"] == (weighting == "llm")


def test_trials_and_llms_are_counted_of_the_techniques_that_the_headline_is_about():
    table = headlines(TWO_LLMS[(TWO_LLMS["llm"] == "a") | (TWO_LLMS["technique"] != "premortem")])
    counts = {name: (of(table, name)["n_trials"], of(table, name)["n_llms"]) for name in set(table["headline"])}
    assert counts["closer_than_no_technique(sacd)"] == (4 + 6, 2)
    assert counts["closer_than_no_technique(premortem)"] == (4 + 2, 2)
    assert counts["within_margin(premortem, sacd)"] == (2 + 6, 2)
    assert counts["no_spread_without_technique"] == (4, 2)


def test_the_share_is_of_the_specifications_that_have_a_value():
    # at temperature 0 there is a baseline, but of no LLM that was asked with SACD: 6 of 8 specifications have a value
    cold = responses([("c", "no_technique", "none", 10, 1)], temperature=0.0)
    table = headlines(pd.concat([TWO_LLMS, cold]))
    rows = table[table["headline"] == "reduces_susceptibility(sacd)"]
    assert dict(zip(rows["baseline_scope"], rows["reason"], strict=True)) == {
        "pooled": None, "matched": None, "t=1": None, "t=0": "no_baseline",
    }  # fmt: skip
    assert set(rows["n_specifications"]) == {6}
    assert set(rows["share_standing"]) == {1}
    assert (rows["value"].isna() == rows["reason"].notna()).all()
    assert (rows["stands"].isna() == rows["reason"].notna()).all()


def test_a_tie_does_not_stand():
    same = TWO_LLMS[TWO_LLMS["technique"] != "premortem"]
    twin = same[same["technique"] == "sacd"].assign(technique="premortem")
    table = headlines(pd.concat([same, twin]))
    assert not of(table, "first_by_deviation(sacd)")["stands"]
    assert not of(table, "last_by_deviation(sacd)")["stands"]
    assert not of(table, "metrics_disagree")["stands"]
    assert of(table, "within_margin(premortem, sacd)")["value"] == 5


# Specifications


def third(llm="c"):
    return TWO_LLMS[TWO_LLMS["llm"] == "a"].assign(llm=llm, response=lambda rows: rows["response"] + 7)


def test_of_two_llms_none_is_left_out_and_of_three_each():
    assert headlines(TWO_LLMS)["excluded_llm"].isna().all()
    table = headlines(pd.concat([TWO_LLMS, third()]))
    assert set(table["excluded_llm"].dropna()) == {"a", "b", "c"}
    assert set(table.loc[table["excluded_llm"].notna(), "n_llms"]) == {2}


def test_an_llm_without_a_baseline_is_not_left_out_because_it_was_never_in():
    fourth = third("d")
    table = headlines(pd.concat([TWO_LLMS, third(), fourth[fourth["anchor_direction"] != "none"]]))
    assert set(table["excluded_llm"].dropna()) == {"a", "b", "c"}
    assert set(table.loc[table["excluded_llm"].isna(), "n_llms"]) == {3}


def test_each_row_set_source_and_scope_is_computed_from_its_own_rows():
    other = TWO_LLMS.assign(response=TWO_LLMS["response"].where(TWO_LLMS["technique"] != "sacd", 20))
    frame = pd.concat(
        [
            TWO_LLMS,
            TWO_LLMS.assign(response_source="reparsed"),
            other.assign(row_set="as_recorded"),
            TWO_LLMS.assign(row_set="as_recorded", response_source="reparsed"),
        ]
    )
    table = headlines(frame)
    by_universe = {
        (row_set, source): of(table, "first_by_deviation(sacd)", row_set=row_set, response_source=source)["value"]
        for row_set in ("accepted", "as_recorded")
        for source in ("recorded", "reparsed")
    }
    # 20 of 20 and 20 of 40 are 75 % on average, premortem's 85 % is 15 away
    expected = dict.fromkeys(by_universe, 13.75) | {("as_recorded", "recorded"): -10}
    assert by_universe == pytest.approx(expected, abs=1e-12)
    assert set(table["n_specifications"]) == {2 * 2 * 2 * 3}


def test_the_recommended_source_is_the_one_that_the_marts_are_made_of():
    both = pd.concat([TWO_LLMS, TWO_LLMS.assign(response_source="reparsed")])
    for source in ("recorded", "reparsed"):
        table = headlines(both, response_source=source)
        assert set(table.loc[table["is_recommended"], "response_source"]) == {source}
        assert table["is_recommended"].sum() == table["headline"].nunique()


# What data cannot support


def reasons(frame, **options):
    table = headlines(frame, **options)
    assert not np.isinf(table["value"]).any()
    assert (table["value"].isna() == table["reason"].notna()).all()
    return {name: of(table, name)["reason"] for name in table["headline"].unique()}


def without(frame, **values):
    return frame[~np.all([frame[name] == value for name, value in values.items()], axis=0)]


def test_one_technique_has_nobody_to_be_first_among():
    told = reasons(without(TWO_LLMS, technique="premortem"))
    assert told["first_by_deviation(sacd)"] == "nothing_to_compare"
    assert told["metrics_disagree"] == "nothing_to_compare"
    assert told["closer_than_no_technique(sacd)"] is None


def test_without_a_baseline_there_is_only_a_reason():
    told = reasons(without(TWO_LLMS, anchor_direction="none"))
    assert told.pop("metrics_disagree") == "nothing_to_compare"
    assert told.pop("every_technique_undershoots_low_more_than_high") == "nothing_to_compare"
    assert set(told.values()) == {"no_baseline"}


def test_a_baseline_of_0_is_none():
    unanchored = TWO_LLMS["anchor_direction"] == "none"
    told = reasons(TWO_LLMS.assign(response=TWO_LLMS["response"].where(~unanchored, 0)))
    assert told["closer_than_no_technique(sacd)"] == "no_baseline"


def test_one_direction_has_a_deviation_and_no_spread():
    told = reasons(without(TWO_LLMS, anchor_direction="high"))
    assert told["reduces_susceptibility(sacd)"] == "no_low_or_no_high_anchor"
    assert told["no_spread_without_technique"] == "no_low_or_no_high_anchor"
    assert told["first_by_deviation(sacd)"] is None


def test_without_no_technique_under_an_anchor_techniques_are_compared_with_each_other_only():
    anchored = TWO_LLMS[(TWO_LLMS["technique"] != "no_technique") | (TWO_LLMS["anchor_direction"] == "none")]
    told = reasons(anchored)
    assert told["closer_than_no_technique(sacd)"] == "no_technique_not_asked"
    assert told["nothing_beats_no_technique"] == "no_technique_not_asked"
    assert told["first_by_deviation(sacd)"] is None


def test_an_unranked_technique_is_in_no_headline():
    table = headlines(TWO_LLMS, ranked={"sacd"})
    assert not table["headline"].str.contains("premortem").any()


@pytest.mark.parametrize("frame", [TWO_LLMS.iloc[:0], TWO_LLMS[TWO_LLMS["anchor_direction"] == "none"]])
def test_nothing_anchored_gives_an_empty_table_of_the_same_types(frame):
    empty = sensitivity(frame, RANKED, margin_pp=5)
    assert empty.num_rows == 0
    assert empty.schema == sensitivity(TWO_LLMS, RANKED, margin_pp=5).schema
    assert empty.column_names == list(COLUMNS)


# Laws

LLMS = ["a", "b", "c", "d"]


@st.composite
def studies(draw):
    """Three or four LLMs, two vignettes and temperatures; some conditions were not asked, or not answered."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    frames = []
    for vignette in ("v", "w"):
        for temperature in (0.0, 1.0):
            rows = [
                (llm, technique, direction, rng.integers(1, 60), rng.integers(1, 9))
                for llm in LLMS[: draw(st.integers(3, 4))]
                for technique in ("no_technique", "sacd", "premortem")
                for direction in ("none", "low", "high")
                for _ in range(2)
                if (technique == "no_technique" or direction != "none") and rng.random() < 0.85
            ]
            frames.append(responses(rows, vignette=vignette, temperature=temperature))
    return pd.concat(frames, ignore_index=True)


@settings(max_examples=5)
@given(studies(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_splitting_of_counts_change_nothing(frame, random):
    order = list(frame.index)
    random.shuffle(order)
    ones = frame.loc[order].assign(n_trials=1)
    rest = frame.loc[order].assign(n_trials=lambda rows: rows["n_trials"] - 1).query("n_trials > 0")
    whole, split = headlines(frame), headlines(pd.concat([ones, rest]))
    assert_same_values(whole, split)
    assert (by_key(whole)["n_trials"] == by_key(split)["n_trials"]).all()


@settings(max_examples=5)
@given(studies())
def test_doubling_all_counts_doubles_only_the_trials(frame):
    once, twice = headlines(frame), headlines(frame.assign(n_trials=2 * frame["n_trials"]))
    assert_same_values(once, twice)
    assert (2 * by_key(once)["n_trials"] == by_key(twice)["n_trials"]).all()


@settings(max_examples=5)
@given(studies(), st.floats(0.01, 100))
def test_a_change_of_the_responses_unit_changes_no_value(frame, factor):
    assert_same_values(headlines(frame), headlines(frame.assign(response=factor * frame["response"])))


@settings(max_examples=5)
@given(studies(), st.permutations(LLMS))
def test_new_names_of_llms_are_only_names(frame, names):
    new = dict(zip(LLMS, names, strict=True))
    renamed = headlines(frame.assign(llm=frame["llm"].map(new)))
    expected = headlines(frame)
    assert_same_values(expected.assign(excluded_llm=expected["excluded_llm"].map(new)), renamed)


@settings(max_examples=5)
@given(studies(), st.sampled_from(LLMS))
def test_leaving_an_llm_out_is_deleting_its_rows(frame, llm):
    left_out = headlines(frame).query("excluded_llm == @llm")
    deleted = headlines(frame[frame["llm"] != llm]).query("excluded_llm.isna()")
    keys = ["headline", *SPECIFICATION]
    pairs = left_out.merge(deleted, on=keys, suffixes=("", "_deleted"))
    assert len(pairs) == len(left_out)
    np.testing.assert_allclose(pairs["value"], pairs["value_deleted"], rtol=0, atol=1e-9)
    for name in ("n_trials", "n_llms"):
        assert (pairs[name] == pairs[f"{name}_deleted"]).all()


@settings(max_examples=5)
@given(studies())
def test_of_two_techniques_one_is_first_by_as_much_as_the_other_is_last(frame):
    table = headlines(frame).astype({"excluded_llm": object}).set_index(KEY[3:])
    value = {name: of_name["value"] for name, of_name in table.groupby("headline")}
    for first, last in (("sacd", "premortem"), ("premortem", "sacd")):
        lead, lag = value[f"first_by_deviation({first})"], value[f"last_by_deviation({last})"]
        np.testing.assert_allclose(lead, lag, rtol=0, atol=1e-9)


# Size


def test_fifty_llms_give_one_row_per_specification_and_headline_within_seconds():
    rng = np.random.default_rng(0)
    rows = [
        (f"llm {i}", technique, direction, response, 3)
        for i in range(50)
        for technique in ("no_technique", "sacd", "premortem", "devils_advocate", "random_control")
        for direction in ("none", "low", "high")
        for response in rng.integers(10, 60, size=4)
    ]
    frame = pd.concat([responses(rows, temperature=temperature) for temperature in (0.0, 0.7, 1.0)])
    began = time.perf_counter()
    table = headlines(frame, ranked={"sacd", "premortem", "devils_advocate", "random_control"})
    assert time.perf_counter() - began < 10
    assert table["headline"].nunique() == 4 * 6 + 6 + 4
    assert len(table) == (1 + 50) * 5 * 2 * table["headline"].nunique()


# The recorded archive

SHARES = {
    ("judicial", "first_by_deviation(sacd)"): 595 / 660,  # not without GPT-5.2, Haiku 4.5, Sonnet 4.6 or o4-mini
    ("judicial", "first_by_susceptibility(devils_advocate)"): 658 / 660,
    ("judicial", "within_margin(premortem, sacd)"): 452 / 660,
    ("judicial", "metrics_disagree"): 1,
    ("loan", "first_by_susceptibility(sacd)"): 1,
    ("loan", "last_by_deviation(sacd)"): 1,
    ("medical", "no_spread_without_technique"): 1,
    ("salary", "nothing_beats_no_technique"): 18 / 36,  # only with recorded numbers and the suspects
}


def test_the_headlines_of_document_a_stand_in_so_many_specifications_of_the_archive(recorded):
    rows = recorded.query(
        "select distinct domain, headline, share_standing, n_specifications from inference.sensitivity"
    )
    assert {n for *_, n in rows} == {3 * 2 * 5 * 2 * 11, 3 * 2 * 3 * 2}
    shares = {(domain, headline): share for domain, headline, share, _ in rows}
    assert {key: shares[key] for key in SHARES} == pytest.approx(SHARES, abs=1e-12)
