"""Decisions: of the simultaneous interval, about LLMs like those asked, and limited as their reasons say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.engine.answers import ANSWERS, answer_rows
from analysis.engine.comparisons import comparisons
from analysis.engine.decisions import COLUMNS
from analysis.engine.places import PREDICTIONS
from analysis.engine.questions import questions_on_goals
from analysis.engine.rule import decide, share_bound
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, counts_of

CONTROLS = pd.DataFrame(
    [
        (None, None, None, "no_technique", "control"),
        (None, None, None, "random_control", "placebo"),
        (None, None, "sacd", "random_control_sacd", "placebo"),
        ("s", "d", "sacd", "sacd_initial", "control"),
    ],
    columns=["study", "domain", "technique", "control", "comparison"],
)
MISSING = pd.DataFrame(
    columns=[
        "study",
        "domain",
        "llm",
        "vignette",
        "technique",
        "anchor_direction",
        "n_missing",
        "valid_min",
        "valid_max",
    ]
)
NONE = {"no_technique": (50, 190)}


def rows_of(llms, *, domain="d", source="reparsed", n_baseline=30, noise=(-2, 0, 2)):
    """Answers to anchors: of each LLM the mean answers under a low and a high anchor of each technique."""
    found = []
    for llm, techniques in llms.items():
        cells = {("no_technique", "none"): (100, n_baseline)}
        for technique, sides in techniques.items():
            cells |= {(technique, side): (mean, 30) for side, mean in zip(("low", "high"), sides, strict=True)}
        for (technique, side), (mean, n) in cells.items():
            for shift in noise if n >= len(noise) else (0,):
                found.append((llm, technique, side, float(mean + shift), n // len(noise)))
    frame = pd.DataFrame(found, columns=["llm", "technique", "anchor_direction", "response", "n_trials"])
    shared = {"study": "s", "domain": domain, "vignette": "v", "temperature": 1.0, "row_set": "accepted"}
    return frame.assign(**shared, response_source=source)


def gaining(*gains, technique="premortem", others=()):
    """LLMs of which each gains so many pp of displacement on a control that is 70 pp off."""
    return {
        f"l{i}": NONE | {technique: (50, 190 - 2 * gain)} | dict.fromkeys(others, (50, 190 - 2 * gain))
        for i, gain in enumerate(gains)
    }


def decided(
    rows, *, other=None, missing=MISSING, ranked=("premortem", "sacd", "random_control"), margin=5.0, controls=CONTROLS
):
    both = pd.concat([rows, rows[:0] if other is None else other])
    questions = questions_on_goals(counts_of(both, missing), NOTHING_STATED, margin=margin, response_source="reparsed")
    found = answer_rows(questions, set(ranked), controls, n_draws=2000, seed=1)
    frame = table(found, ANSWERS).to_pandas()
    places, predictions = (frame[frame["part"] == part] for part in ("decisions", "predictions"))
    return places[list(COLUMNS)].astype(object).where(places[list(COLUMNS)].notna(), None), predictions[
        list(PREDICTIONS)
    ]


def one(frame, **values):
    for name, value in ({"goal": "displacement", "llm": None} | values).items():
        frame = frame[frame[name].isna() if value is None else frame[name] == value]
    (row,) = frame.to_dict("records")
    return row


def test_the_interval_is_that_of_students_t_over_llms_for_all_techniques_at_once():
    gains = (4.0, 8.0, 15.0, 10.0, 13.0)
    places, _ = decided(rows_of(gaining(*gains, others=["random_control"])))
    row = one(places, technique="premortem", control="no_technique")
    assert (row["gain"], row["loss_control"]) == (pytest.approx(np.mean(gains)), pytest.approx(70))
    for names, tail in (("gain_low gain_high", 0.025 / 2), ("gain_plain_low gain_plain_high", 0.025)):
        expected = stats.t.interval(1 - 2 * tail, 4, np.mean(gains), stats.sem(gains))
        assert tuple(row[name] for name in names.split()) == pytest.approx(expected)
    assert (row["n_comparisons"], row["n_llms"], row["n_gained"]) == (2, 5, 5)
    assert (row["decision"], row["certainty"], row["is_primary"]) == ("use", "established", True)
    assert row["p_sign_flip"] == 1 / 16
    assert (row["n_beyond_margin"], row["beyond_margin_high"]) == (
        4,
        pytest.approx(1 - stats.beta.ppf(0.05, 1, 5), abs=0.1),
    )


@pytest.mark.parametrize(
    ("gains", "decision", "asked", "certainty"),
    [
        ((10, 12, 14, 11, 13), "use", "use", "established"),
        ((-10, -12, -14, -11, -13), "avoid", "avoid", "established"),
        ((0.1, 0.3, -0.2, 0.2, -0.1), "equivalent", "equivalent", "established"),
        ((60, 12, -20, 11, -3), "no_evidence", "use", "promising"),
        ((30, -30, 20, -20, 0), "no_evidence", "no_evidence", "no_evidence"),
        ((10, 12, 14, 11), "no_evidence", "use", "too_few_llms"),
        ((10, 12), "no_evidence", "use", "too_few_llms"),
        ((10,), "no_evidence", "use", "too_few_llms"),
    ],
)
def test_decisions_speak_of_llms_like_those_asked_from_five_on(gains, decision, asked, certainty):
    row = one(decided(rows_of(gaining(*gains)))[0], technique="premortem", control="no_technique")
    assert (row["decision"], row["decision_asked"], row["certainty"]) == (decision, asked, certainty)
    if len(gains) < 5:
        assert {"too_few_llms", "one_llm"} & set(row["reason"].split("; "))
        assert row["p_best"] is None
        assert (row["gain_low"] is None) == (len(gains) == 1)


def test_llms_that_differ_are_never_said_to_make_no_difference():
    (first, second), (third, *_) = (
        [
            one(decided(rows_of(gaining(*gains)))[0], technique="premortem", control="no_technique", llm=llm)
            for llm in (None, "l0")
        ]
        for gains in ((13, -11), (12, -8, 9, 11, 12))
    )
    assert (first["decision_asked"], first["reason"]) == ("no_evidence", "too_few_llms; llms_differ")
    assert (second["decision_asked"], second["reason"]) == ("use", "one_llm")
    assert (third["decision_asked"], third["reason"]) == ("use", "llms_differ; one_technique")
    near = one(decided(rows_of(gaining(2, -1.5)))[0], technique="premortem", control="no_technique")
    assert (near["decision_asked"], near["reason"]) == ("equivalent", "too_few_llms")


def test_llms_that_gain_the_same_say_nothing_about_others():
    row = one(decided(rows_of(gaining(10, 10, 10, 10, 10)))[0], technique="premortem", control="no_technique")
    assert (row["decision"], row["decision_asked"]) == ("no_evidence", "use")
    assert "zero_variance" in row["reason"]
    assert row["gain_low"] is None


def test_each_llm_is_decided_on_by_its_own_trials_and_over_llms_by_none():
    places, _ = decided(rows_of(gaining(20, -20, 20, -20, 20)))
    row = one(places, technique="premortem", control="no_technique", llm="l1")
    assert (row["decision"], row["decision_asked"], row["certainty"]) == ("no_evidence", "avoid", "too_few_llms")
    assert (row["reason"], row["n_llms"], row["is_primary"]) == ("one_llm", 1, False)
    # the trials of a cell are -2, 0, 2 about its mean: variance 8/3 · 30/29, halved by two directions
    half = stats.t.ppf(1 - 0.025, 4 * 29) * np.sqrt(4 * 8 / 3 / 29 / 4 + (20**2) * 8 / 3 / 29 / 100**2)
    assert row["gain_asked_high"] + 20 == pytest.approx(half, rel=0.01)


def test_opposite_decisions_in_two_domains_contradict_each_other():
    rows = [rows_of(gaining(10, 12, 14, 11, 13)), rows_of(gaining(-10, -12, -14, -11, -13), domain="e")]
    places, _ = decided(pd.concat(rows))
    for domain, decision in (("d", "use"), ("e", "avoid")):
        row = one(places, technique="premortem", control="no_technique", domain=domain)
        assert (row["decision"], row["certainty"]) == (decision, "contradicted_elsewhere")


def test_a_technique_with_a_control_of_its_own_is_held_against_that_and_never_used_for_another():
    llms = {f"l{i}": NONE | {"sacd_initial": (30, 300), "sacd": (50, 180 + i)} for i in range(5)}
    places, _ = decided(rows_of(llms))
    own = one(places, technique="sacd", control="sacd_initial")
    assert (own["comparison"], own["decision"]) == ("control", "use")
    assert "own_control" in own["reason"]
    beside = one(places, technique="sacd", control="no_technique")
    assert (beside["comparison"], beside["decision"], beside["decision_asked"]) == ("confounded", None, None)
    assert "confounded_prompt" in beside["reason"]
    assert one(places, technique="sacd_initial", control=None)["loss"] == pytest.approx((70 + 200) / 2)
    elsewhere, _ = decided(rows_of(llms, domain="e"))
    assert set(elsewhere.loc[elsewhere["comparison"] == "control", "control"]) == {"no_technique"}


def test_content_is_told_from_structure_against_a_placebo():
    llms = {f"l{i}": NONE | {"random_control": (50, 160 + i), "premortem": (50, 161 - i)} for i in range(6)}
    places, _ = decided(rows_of(llms))
    row = one(places, technique="premortem", control="random_control")
    assert row["comparison"] == "placebo"
    assert row["gain"] == pytest.approx(np.mean([(2 * i - 1) / 2 for i in range(6)]))
    confounded = {llm: of | {"sacd_initial": (30, 300), "sacd": (50, 150)} for llm, of in llms.items()}
    row = one(decided(rows_of(confounded))[0], technique="sacd", control="random_control")
    assert (row["decision"], row["decision_asked"], row["certainty"]) == (None, None, None)
    row = one(places, technique="premortem", control="random_control")
    assert (row["n_comparisons"], row["is_primary"]) == (1, False)
    assert not len(places[(places["technique"] == "random_control") & (places["comparison"] == "placebo")])


def test_the_most_specific_control_counts_of_those_that_were_asked():
    ranked = {"sacd", "premortem"}
    found = comparisons("s@1", "d", ["sacd", "premortem", "no_technique", "random_control"], ranked, CONTROLS)
    assert [tuple(of)[:3] for of in found] == [
        ("premortem", "no_technique", "control"),
        ("premortem", "random_control", "placebo"),
        ("sacd", "no_technique", "control"),
        ("sacd", "random_control", "placebo"),
    ]
    present = ["sacd", "sacd_initial", "no_technique", "random_control", "random_control_sacd"]
    found = comparisons("s@1", "d", present, ranked, CONTROLS)
    assert [tuple(of) for of in found] == [
        ("sacd", "sacd_initial", "control", False),
        ("sacd", "no_technique", "confounded", True),
        ("sacd", "random_control_sacd", "placebo", True),
    ]


def test_a_technique_whose_control_nobody_was_asked_has_a_loss_and_no_decision():
    rows = rows_of({f"l{i}": NONE | {"premortem": (60, 150)} for i in range(5)})
    rows = rows[(rows["technique"] == "premortem") | (rows["anchor_direction"] == "none")]
    row = one(decided(rows)[0], technique="premortem")
    assert (row["loss"], row["gain"], row["decision"]) == (pytest.approx(45), None, "no_evidence")
    assert row["reason"] == "control_not_asked"


def test_few_unanchored_answers_are_refused_or_said():
    llms = gaining(10, 12, 14, 11, 13, 9)
    few = rows_of({"l0": llms["l0"]}, n_baseline=9)
    thin = rows_of({llm: of for llm, of in llms.items() if llm != "l0"}, n_baseline=27)
    row = one(decided(pd.concat([few, thin]))[0], technique="premortem", control="no_technique")
    assert (row["n_llms"], row["gain"]) == (5, pytest.approx(11.8))
    assert {"baseline_below_10", "baseline_below_30"} <= set(row["reason"].split("; "))
    row = one(decided(rows_of({"l0": llms["l0"]}, n_baseline=9))[0], technique="premortem")
    assert (row["loss"], row["decision"], row["reason"]) == (pytest.approx(60), "no_evidence", "baseline_below_10")


def test_answers_that_are_missing_and_readings_that_differ_are_said():
    rows = rows_of(gaining(10, 12, 14, 11, 13))
    cell = {"study": "s", "domain": "d", "vignette": "v", "technique": "premortem", "anchor_direction": "high"}
    missing = pd.DataFrame(
        [{**cell, "llm": f"l{i}", "n_missing": 30, "valid_min": 0, "valid_max": 500} for i in range(5)]
    )
    row = one(decided(rows, missing=missing)[0], technique="premortem", control="no_technique")
    assert "attrition_could_reverse" in row["reason"]
    some = missing.assign(n_missing=8, valid_max=400).iloc[:1]
    row = one(decided(rows, missing=some)[0], technique="premortem", control="no_technique")
    assert (row["decision"], row["reason"]) == ("use", "attrition_could_change; one_technique")
    few = missing.assign(n_missing=1, valid_max=200)
    assert "attrition" not in str(
        one(decided(rows, missing=few)[0], technique="premortem", control="no_technique")["reason"]
    )
    other = rows_of(gaining(-10, 12, -14, 11, -13), source="recorded")
    row = one(decided(rows, other=other)[0], technique="premortem", control="no_technique")
    assert (row["decision"], "reading_would_change" in row["reason"]) == ("use", True)
    same = one(
        decided(rows, other=rows.assign(response_source="recorded"))[0], technique="premortem", control="no_technique"
    )
    assert "reading_would_change" not in str(same["reason"])


def test_predictions_are_of_a_new_llm_and_of_each_that_was_asked():
    places, predictions = decided(rows_of(gaining(4, 8, 15, 10, 13, others=["random_control"])))
    new = one(predictions, technique="premortem", llm=None)
    assert 5 < new["gain"] < 10
    assert new["expected_loss"] == pytest.approx(70 - new["gain"])
    assert new["gain_low"] < 4 < 15 < new["gain_high"]
    asked = one(predictions, technique="premortem", llm="l0")
    assert 4 < asked["gain"] < 5
    assert len(predictions) == 3 * 2 * 6
    # the two techniques gain the same, so that either is as good
    assert one(places, technique="premortem", control="no_technique")["p_best"] == pytest.approx(0.5, abs=0.05)
    few, nothing = decided(rows_of(gaining(4, 8)))
    assert set(nothing["reason"]) == {"too_few_llms"}
    assert len(few)


def test_the_name_of_an_llm_changes_nothing_that_is_foretold_of_the_others():
    rows = rows_of(gaining(4, 8, 15, 10, 13, 2))
    renamed = rows.assign(llm=rows["llm"].replace("l0", "zz/last"))
    first, second = (decided(of)[1].set_index(["goal", "llm"]).sort_index() for of in (rows, renamed))
    for llm in ("l1", "l5"):
        assert first.loc["gap", llm]["gain_high"] == pytest.approx(second.loc["gap", llm]["gain_high"], rel=1e-12)


@pytest.mark.slow("decides again and again")
@settings(max_examples=20, deadline=None)
@given(st.permutations(range(5)))
def test_the_order_of_the_rows_changes_nothing(order):
    rows = rows_of(gaining(4, 8, 15, 10, 13))
    shuffled = pd.concat([rows[rows["llm"] == f"l{i}"] for i in order])
    first, second = (decided(of)[0].sort_values(["goal", "technique", "llm"]) for of in (rows, shuffled))
    assert first["gain_low"].tolist() == pytest.approx(second["gain_low"].tolist(), nan_ok=True)
    assert first["decision"].tolist() == second["decision"].tolist()


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [(-4.9, 4.9, "equivalent"), (-5, 4, "no_evidence"), (0.1, 9, "use"), (-9, -0.1, "avoid"), (0.1, 4, "equivalent"),
     (0, 9, "no_evidence"), (np.nan, np.nan, "no_evidence")],
)  # fmt: skip
def test_what_bounds_of_a_gain_mean(low, high, decision):
    assert decide(low, high, margin=5) == decision


def test_the_bound_of_a_share_is_that_of_clopper_and_pearson():
    assert share_bound(0, 10) == pytest.approx(0.2589, abs=1e-4)
    for k, n in ((0, 5), (3, 10), (9, 10)):
        assert share_bound(k, n) == pytest.approx(stats.beta.ppf(0.95, k + 1, n - k))
    assert share_bound(4, 4) == 1
