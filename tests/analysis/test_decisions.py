"""Decisions over vendors and of each LLM: by scipy's t, in points, and called what the rows beside them allow."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.engine.answers import ANSWERS, answer_rows
from analysis.engine.comparisons import comparisons
from analysis.engine.decisions import COLUMNS
from analysis.engine.losses import GOALS
from analysis.engine.places import PREDICTIONS
from analysis.engine.questions import questions_on_goals
from analysis.engine.rule import in_points
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, SAME_PROMPT, counts_of
from tests.tools.families import NOT_DECLARED, frozen

CONTROLS = pd.DataFrame(
    [
        (None, None, None, "no_technique", "control"),
        (None, None, None, "random_control", "placebo"),
        (None, None, "sacd", "random_control_sacd", "placebo"),
        ("s", "d", "sacd", "sacd_initial", "control"),
    ],
    columns=["study", "domain", "technique", "control", "comparison"],
)
COMPARED = [
    ("premortem", "no_technique", "control"), ("random_control", "no_technique", "control"),
    ("premortem", "random_control", "placebo"), ("sacd", "sacd_initial", "control"),
]  # fmt: skip
PLACES = [{"domain": domain, "goal": goal} for domain in "de" for goal in GOALS]
FROZEN = frozen(COMPARED, PLACES)
CELL = {"study": "s", "domain": "d", "vignette": "v", "technique": "premortem", "anchor_direction": "high"}
PLAIN = {"no_technique": (30, 170)}  # 70 off on either side
OF_CELL = 8 / 3 / 29  # variance of the mean of thirty answers, of which each third is -2, 0 or 2 off


def rows_of(llms, *, domain="d", source="reparsed", n_baseline=30, noise=(-2, 0, 2), vignettes=("v", "w")):
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
    shared = {"study": "s", "domain": domain, "temperature": 1.0, "row_set": "accepted", "response_source": source}
    return pd.concat([frame.assign(**shared, vignette=name) for name in vignettes], ignore_index=True)


def off_by(*off, technique="premortem"):
    """Of each LLM, the answers of a technique that leaves it so far off on either side."""
    return {f"l{i}": {technique: (100 - d, 100 + d)} for i, d in enumerate(off)}


def gaining(*gains, **others):
    """LLMs that are 70 off without a technique, and with one less by so many points; `others` are other techniques."""
    llms = off_by(*(70 - gain for gain in gains))
    for technique, of in others.items():
        for llm, answered in off_by(*(70 - gain for gain in of), technique=technique).items():
            llms[llm] |= answered
    return {llm: PLAIN | of for llm, of in llms.items()}


def decided(
    rows, *, other=None, missing=(), vendors=None, families=FROZEN, ranked=("premortem", "sacd", "random_control"),
    margin=5.0, n_draws=300,
):  # fmt: skip
    both = pd.concat([rows, rows[:0] if other is None else other])
    counts = counts_of(both, pd.DataFrame(missing))
    questions = questions_on_goals(
        counts, NOTHING_STATED, vendors or {}, SAME_PROMPT, margin=margin, response_source="reparsed"
    )
    found = answer_rows(questions, set(ranked), CONTROLS, families, n_draws=n_draws, seed=1)
    frame = table(found, ANSWERS).to_pandas()
    return [
        frame.loc[frame["part"] == part, list(columns)].astype(object).where(frame[list(columns)].notna(), None)
        for part, columns in (("decisions", COLUMNS), ("predictions", PREDICTIONS))
    ]


def one(frame, **values):
    for name, value in ({"goal": "displacement", "llm": None} | values).items():
        frame = frame[frame[name].isna() if value is None else frame[name] == value]
    (row,) = frame.to_dict("records")
    return row


def on_control(rows, **options):
    """What is decided about premortem against no technique."""
    llm = options.pop("llm", None)
    return one(decided(rows, **options)[0], technique="premortem", control="no_technique", llm=llm)


def codes(row):
    return set(filter(None, (row["reason"] or "").split("; ")))


def test_the_interval_is_students_t_of_the_means_of_vendors_for_all_rows_of_the_family():
    gains = (4.0, 8.0, 15.0, 10.0, 13.0, 20.0, 2.0)
    of_vendors = {"l5": "V", "l6": "V"}
    places, _ = decided(rows_of(gaining(*gains, random_control=gains)), vendors=of_vendors)
    squares = np.array([140 * gain - gain**2 for gain in gains])  # 70² - (70 - gain)²
    by_llm = np.array([one(places, technique="premortem", control="no_technique", llm=f"l{i}")["gain_squared"]
                       for i in range(7)])  # fmt: skip
    assert by_llm == pytest.approx(squares, abs=0.2), "but for the noise of the baseline"
    units = np.array([*by_llm[:5], by_llm[5:].mean()])
    row = one(places, technique="premortem", control="no_technique")
    # premortem and random_control on no technique, and premortem on random_control
    assert (row["n_comparisons"], row["n_vendors"], row["n_llms"], row["n_gained"]) == (3, 6, 7, 7)
    expected = stats.t.interval(1 - 0.05 / 3, 5, units.mean(), stats.sem(units))
    assert [row[f"gain_squared{end}"] for end in ("", "_low", "_high")] == pytest.approx([units.mean(), *expected])
    root = row["loss_control"]
    assert root == pytest.approx(70, abs=0.01)
    for names, bounds in (
        ("gain_low gain_high", expected),
        ("gain_plain_low gain_plain_high", stats.t.interval(0.95, 5, units.mean(), stats.sem(units))),
        ("gain_llms_low gain_llms_high", stats.t.interval(1 - 0.05 / 3, 6, by_llm.mean(), stats.sem(by_llm))),
    ):
        assert [row[name] for name in names.split()] == pytest.approx(in_points(np.array(bounds), root), abs=1e-3)
    assert row["gain"] == pytest.approx(root - row["loss"])
    assert row["p_sign_flip"] == 1 / 2**5


@pytest.mark.parametrize(
    ("gains", "decision", "certainty"),
    [
        ((10, 12, 14, 11, 13), "use", "established"),
        ((-10, -12, -14, -11, -13), "avoid", "established"),
        ((0.1, 0.3, -0.2, 0.2, -0.1), "equivalent", "established"),
        ((60, 12, -20, 11, -3), "no_evidence", "no_evidence"),
        ((10, 12, 14, 11), "no_evidence", "too_few_vendors"),
        ((10,), "no_evidence", "too_few_vendors"),
    ],
)
def test_decisions_speak_of_other_llms_from_five_vendors_on(gains, decision, certainty):
    row = on_control(rows_of(gaining(*gains)))
    assert (row["decision"], row["certainty"], row["is_primary"]) == (decision, certainty, True)
    assert ("too_few_vendors" in codes(row)) == (len(gains) < 5)
    assert (row["gain_low"] is None) == (len(gains) == 1)


def test_llms_of_one_vendor_that_move_together_say_less_than_as_many_of_others():
    gains = (30, 30, 3, 3, 25, 25, 4, 4, -3, -3)
    rows, pairs = rows_of(gaining(*gains)), {f"l{i}": f"V{i // 2}" for i in range(10)}
    alone, together, few = (
        on_control(rows, vendors=vendors) for vendors in ({}, pairs, dict.fromkeys(pairs, "V") | {"l0": "W"})
    )
    assert (alone["decision"], alone["decision_llms"]) == ("use", "use")
    assert (together["decision"], together["decision_llms"]) == ("no_evidence", "use")
    assert together["gain"] == pytest.approx(alone["gain"])
    assert together["gain_low"] < together["gain_llms_low"] == pytest.approx(alone["gain_low"])
    assert (few["n_vendors"], few["certainty"], few["decision_llms"]) == (2, "too_few_vendors", "use")
    assert few["gain"] != pytest.approx(alone["gain"], abs=1), "vendors weigh the same"


def test_vendors_that_gain_the_same_say_nothing_about_others():
    row = on_control(rows_of(gaining(10, 10, 10, 10, 10)))
    assert (row["decision"], row["gain_low"]) == ("no_evidence", None)
    assert "zero_variance" in codes(row)


def test_each_llm_is_decided_on_by_its_own_trials_for_all_llms_and_rows_at_once():
    places, _ = decided(rows_of(gaining(20, -20, 20, -20, 20), vignettes=("v",)))
    row = one(places, technique="premortem", control="no_technique", llm="l1")
    assert (row["decision"], row["certainty"], row["n_comparisons"]) == ("avoid", "one_llm", 5)
    assert (row["n_llms"], row["n_vendors"], row["is_primary"]) == (1, 1, False)
    # two contrasts of 70 and of 90, each arm with its own noise: (4 · 2 d² C - 4 · 2 C² + 2 · 2 C²) / 4; of the
    # baseline, 100² in percent, each square moves by 2 d · 100 (1 ± d / 100), which is 2 d² on average
    own = sum(2 * d**2 * OF_CELL - OF_CELL**2 for d in (70, 90))
    shared = (2 * 70**2 - 2 * 90**2) ** 2 * OF_CELL / 100**2
    half = stats.t.ppf(1 - 0.025 / 5, 29) * np.sqrt(own + shared)
    found = [row[f"gain_squared{end}"] for end in ("", "_low", "_high")]
    assert np.diff(found[:2] + found[2:]) == pytest.approx([-half, 2 * half])
    over = one(places, technique="premortem", control="no_technique")
    assert (over["decision"], over["n_helped"], over["n_harmed"]) == ("no_evidence", 3, 2)


def test_whether_an_llm_gains_on_a_placebo_too_shares_the_error_of_gains_on_controls():
    places, _ = decided(rows_of(gaining(20, -20, 20, -20, 20, random_control=(5, 4, 6, 5, 3))))
    rows = places[places["comparison"].notna()].to_dict("records")
    by_kind = {(row["comparison"], row["llm"] is None): row["n_comparisons"] for row in rows}
    assert by_kind == {("control", True): 3, ("placebo", True): 3, ("control", False): 10, ("placebo", False): 10}


def test_what_has_no_variance_in_either_condition_is_sure_of_no_llm():
    llms = gaining(10, 12, 14, 11, 13)
    places, _ = decided(rows_of(llms, noise=(0,)))
    row = one(places, technique="premortem", control="no_technique", llm="l0")
    assert (row["decision"], row["gain_low"], row["gain"]) == ("no_evidence", None, pytest.approx(10))
    assert {"no_variance", "no_variance_to_correct"} <= codes(row)
    assert one(places, technique="premortem", control="no_technique")["decision"] == "use", "vendors differ"


def test_vendors_that_differ_are_not_said_to_make_no_difference_where_an_llm_surely_does():
    gains = (4, -4, 4, -4, 0, 7, -7, 0, 0, 0, 0, 0)
    row = on_control(rows_of(gaining(*gains)))
    assert -5 < row["gain_low"] < row["gain_high"] < 5
    assert (row["decision"], row["decision_llms"]) == ("no_evidence", "equivalent")
    assert "llms_differ" in codes(row)
    near = on_control(rows_of(gaining(*np.array(gains) / 2)))
    assert (near["decision"], near["n_helped"], near["n_harmed"]) == ("equivalent", 0, 0)


def test_a_technique_with_a_control_of_its_own_is_compared_with_that_and_then_against_a_plain_prompt():
    def llms(off):
        own = off_by(*(off + i for i in range(5)), technique="sacd")
        return {llm: PLAIN | of | {"sacd_initial": (10, 290)} for llm, of in own.items()}

    for off, word in ((90, "helps_its_own_prompt"), (40, "use")):
        places, _ = decided(rows_of(llms(off)))
        own = one(places, technique="sacd", control="sacd_initial")
        assert (own["comparison"], own["decision"], own["certainty"]) == ("control", word, "supported")
        assert {"own_control", "before_after"} <= codes(own)
        assert one(places, technique="sacd", control="sacd_initial", llm="l0")["decision"] == word
        beside = one(places, technique="sacd", control="no_technique")
        assert (beside["comparison"], beside["decision"], beside["certainty"]) == ("confounded", None, None)
        assert "confounded_prompt" in codes(beside)
        assert own["n_comparisons"] == 1, "nothing is decided on what is confounded"
    first = one(places, technique="sacd_initial", control=None)
    assert first["loss"] == pytest.approx(np.sqrt((90**2 + 190**2) / 2), abs=0.1)
    elsewhere, _ = decided(rows_of(llms(40), domain="e"))
    assert set(elsewhere.loc[elsewhere["comparison"] == "control", "control"]) == {"no_technique"}


@pytest.mark.parametrize(
    ("of_placebo", "word", "against"),
    [
        ((5, 4, 6, 5, 3), "use", "better_than_asking_again"),
        ((19, 21, 18, 22, 20), "no_evidence", "equivalent"),
        ((40, 39, 41, 42, 40), "no_evidence", "worse_than_asking_again"),
    ],
)
def test_content_is_told_from_structure_against_a_placebo(of_placebo, word, against):
    places, _ = decided(rows_of(gaining(20, 20.5, 19, 21, 20, random_control=of_placebo)))
    pairs = ("premortem", "no_technique"), ("premortem", "random_control"), ("random_control", "no_technique")
    rows = [one(places, technique=technique, control=control) for technique, control in pairs]
    assert [row["decision"] for row in rows] == [word, against, "asking_again_helps"]
    assert ("not_shown_over_placebo" in codes(rows[0])) == (word == "no_evidence")
    assert (rows[1]["comparison"], rows[1]["is_primary"], rows[1]["n_comparisons"]) == ("placebo", False, 3)
    assert not len(places[(places["technique"] == "random_control") & (places["comparison"] == "placebo")])
    of_llm = one(places, technique="premortem", control="no_technique", llm="l0")
    assert of_llm["decision"] == word, "one by one as together"


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
    rows = rows_of(gaining(25, 25, 25, 25, 25))
    rows = rows[(rows["technique"] == "premortem") | (rows["anchor_direction"] == "none")]
    row = one(decided(rows)[0], technique="premortem")
    assert (row["loss"], row["gain"], row["decision"]) == (pytest.approx(45, abs=0.01), None, "no_evidence")
    assert (row["n_vendors"], row["reason"]) == (0, "control_not_asked")


def test_few_unanchored_answers_are_refused_or_said():
    llms = gaining(10, 12, 14, 11, 13, 9)
    few = rows_of({"l0": llms["l0"]}, n_baseline=9)
    thin = rows_of({llm: of for llm, of in llms.items() if llm != "l0"}, n_baseline=27)
    row = on_control(pd.concat([few, thin]))
    assert (row["n_llms"], row["gain"]) == (5, pytest.approx(11.8, abs=0.05))
    assert {"baseline_below_10", "baseline_below_30"} <= codes(row)
    row = one(decided(few)[0], technique="premortem")
    assert (row["loss"], row["decision"], row["reason"]) == (
        pytest.approx(60, abs=0.01), "no_evidence", "baseline_below_10"
    )  # fmt: skip


def test_answers_that_are_missing_and_readings_that_differ_are_said_and_nothing_is_established():
    rows = rows_of(gaining(10, 12, 14, 11, 13))
    missing = [CELL | {"llm": f"l{i}", "n_missing": 60, "valid_min": 0, "valid_max": 500} for i in range(5)]
    row = on_control(rows, missing=missing)
    assert (row["decision"], row["certainty"]) == ("use", "supported")
    assert "attrition_could_reverse" in codes(row)
    row = on_control(rows, missing=[of | {"n_missing": 8, "valid_max": 400} for of in missing[:1]])
    assert (row["decision"], row["certainty"], "attrition_could_change" in codes(row)) == ("use", "supported", True)
    row = on_control(rows, missing=[of | {"n_missing": 1, "valid_max": 200} for of in missing])
    assert (row["certainty"], {code for code in codes(row) if "attrition" in code}) == ("established", set())
    row = on_control(rows, missing=[missing[0] | {"n_missing": 1, "valid_max": None}])
    assert (row["certainty"], "attrition_could_reverse" in codes(row)) == ("supported", True), "no declared range"
    for other, would_change in (
        (rows_of(gaining(-10, 12, -14, 11, -13), source="recorded"), True),
        (rows.assign(response_source="recorded"), False),
    ):
        row = on_control(rows, other=other)
        assert (row["decision"], "reading_would_change" in codes(row)) == ("use", would_change)


def test_a_decision_that_is_another_without_what_the_gate_doubts_is_not_supported():
    rows = rows_of(gaining(10, 12, 14, 11, 13))
    for doubted, hangs in ((gaining(-10, 12, -14, 11, -13), True), (gaining(11, 12, 14, 11, 13), False)):
        row = on_control(rows, other=rows_of(doubted).assign(row_set="without_suspects"))
        certainty = "hangs_on_suspect_rows" if hangs else "established"
        assert (row["decision"], row["certainty"], "hangs_on_suspect_rows" in codes(row)) == ("use", certainty, hangs)
    within = on_control(rows, other=rows_of(doubted).assign(row_set="without_suspects"), llm="l0")
    assert (within["certainty"], "hangs_on_suspect_rows" in codes(within)) == ("one_llm", False)


def test_one_case_and_what_is_not_in_a_frozen_family_support_and_do_not_establish():
    gains = gaining(10, 12, 14, 11, 13)
    for rows, families, code in (
        (rows_of(gains, vignettes=("v",)), FROZEN, "one_case"),
        (rows_of(gains), NOT_DECLARED, "family_not_frozen"),
        (rows_of(gains), frozen(COMPARED, PLACES, reason="family_changed", n_families=2), "family_changed"),
        (rows_of(gains), frozen(COMPARED[1:], PLACES), "outside_the_family"),
        (rows_of(gains), frozen(COMPARED, PLACES, margin=4.0), "outside_the_family"),
    ):
        row = on_control(rows, families=families)
        assert (row["decision"], row["certainty"], code in codes(row)) == ("use", "supported", True)
        assert (row["n_cases"] == 1) == (code == "one_case")
    assert on_control(rows_of(gains), families=frozen(COMPARED, PLACES, n_families=3))["n_families"] == 3


def test_of_all_that_could_come_first_no_technique_is_one():
    gains = (4, 8, 15, 10, 13)
    places, predictions = decided(rows_of(gaining(*gains, random_control=gains)), n_draws=2000)
    for goal in GOALS:
        of_goal = places[(places["goal"] == goal) & places["llm"].isna() & places["p_best"].notna()]
        assert set(of_goal["technique"]) == {"premortem", "random_control", "no_technique"}
        for name in ("p_best", "p_worst"):
            assert of_goal[name].sum() == pytest.approx(1), (goal, name)
        for _, of_llm in predictions[predictions["goal"] == goal].groupby("llm", dropna=False):
            assert of_llm["p_best_new_llm"].sum() == pytest.approx(1)
    # the two techniques gain the same, so that either is as good
    assert one(places, technique="premortem", control="no_technique")["p_best"] == pytest.approx(0.5, abs=0.05)
    worse = decided(rows_of(gaining(-20, -22, -19, -21, -20, random_control=(-20, -18, -21, -20, -19))))[0]
    assert one(worse, technique="no_technique")["p_best"] > 0.9


def test_what_is_expected_to_be_gained_and_to_be_lost_is_on_the_same_control():
    gains = (4, 8, 15, 10, 13)
    _, predictions = decided(rows_of(gaining(*gains, random_control=gains)), n_draws=2000)
    new = one(predictions, technique="premortem", llm=None)
    none = one(predictions, technique="no_technique", llm=None)
    assert none["expected_loss"] == pytest.approx(70, abs=0.01)
    assert new["expected_loss"] + new["gain"] == pytest.approx(none["expected_loss"])
    assert 5 < new["gain"] < 10
    assert new["gain_low"] < 4 < 15 < new["gain_high"]
    asked = one(predictions, technique="premortem", llm="l0")
    assert 4 < asked["gain"] < 5
    assert asked["expected_loss"] + asked["gain"] == pytest.approx(70, abs=0.01)
    assert len(predictions) == 3 * 3 * 6, "goals, techniques with none, LLMs with one nobody asked"
    _, nothing = decided(rows_of(gaining(4, 8)))
    assert set(nothing["reason"]) == {"too_few_llms"}


def test_a_further_llm_of_a_vendor_that_was_asked_is_foretold_by_that_vendor():
    gains = (30, 28, 4, 8, 5, 6, 7)
    rows = rows_of(gaining(*gains, random_control=gains))
    of_vendors = {"l0": "V", "l1": "V", "l2": "W", "l3": "W", "l4": "unlisted", "l5": "unlisted"}
    _, predictions = decided(rows, vendors=of_vendors, n_draws=2000)
    of_goal = predictions[(predictions["goal"] == "gap") & (predictions["technique"] == "premortem")]
    rows = {(row["llm"], row["vendor"]): row for row in of_goal.to_dict("records")}
    # LLMs that share but that nobody listed them have no further one, nor has an LLM of its own
    assert rows.keys() == {(None, None), (None, "V"), (None, "W"), ("l6", "l6"), *of_vendors.items()}
    new, of_v, of_w = (rows[None, vendor] for vendor in (None, "V", "W"))
    assert of_v["gain_low"] > of_w["gain"]
    assert of_v["p_better_than_control"] > of_w["p_better_than_control"] > new["p_better_than_control"]
    assert new["gain_low"] < of_w["gain_low"] < rows["l2", "W"]["gain_low"]
    assert new["gain_high"] > of_w["gain_high"] > rows["l2", "W"]["gain_high"]
    for _, of_llm in predictions[predictions["goal"] == "gap"].groupby(["llm", "vendor"], dropna=False):
        assert of_llm["p_best_new_llm"].sum() == pytest.approx(1)


def test_llms_of_one_vendor_foretell_one_more_of_it_and_none_of_a_new_vendor():
    rows = rows_of(gaining(4, 8, 15, 10, 13, random_control=(5, 2, 7, 4, 6)))
    places, predictions = decided(rows, vendors={f"l{i}": "V" for i in range(5)})
    of_goal = predictions[(predictions["goal"] == "gap") & predictions["llm"].isna()]
    of_new, of_one_more = (of_goal[of_goal["vendor"].isna() == is_new] for is_new in (True, False))
    assert set(of_new["technique"]) == {"premortem", "random_control"}
    assert (of_new["gain"].isna() & of_new["reason"].eq("one_vendor")).all()
    assert set(of_one_more["technique"]) == {"premortem", "random_control", "no_technique"}
    assert of_one_more["p_best_new_llm"].sum() == pytest.approx(1)
    assert len(predictions[predictions["llm"].notna()]) == 3 * 3 * 5, "goals, techniques with none, LLMs"
    over_llms = places[places["llm"].isna() & (places["goal"] == "gap")]
    assert over_llms["p_best"].isna().all()
    assert "one_vendor" in codes(one(over_llms, goal="gap", technique="no_technique"))


def test_the_name_of_an_llm_changes_nothing_that_is_foretold_of_the_others():
    rows = rows_of(gaining(4, 8, 15, 10, 13, 2))
    renamed = rows.assign(llm=rows["llm"].replace("l0", "zz/last"))
    first, second = (one(decided(of)[1], goal="gap", technique="premortem", llm="l5") for of in (rows, renamed))
    assert first["gain_high"] == pytest.approx(second["gain_high"], rel=1e-12)


@pytest.mark.slow("decides again and again")
@settings(max_examples=20, deadline=None)
@given(st.permutations(range(5)))
def test_the_order_of_the_rows_changes_nothing(order):
    rows = rows_of(gaining(4, 8, 15, 10, 13))
    shuffled = pd.concat([rows[rows["llm"] == f"l{i}"] for i in order])
    first, second = (decided(of)[0].sort_values(["goal", "technique", "llm"]) for of in (rows, shuffled))
    assert first["gain_low"].astype(float).tolist() == pytest.approx(
        second["gain_low"].astype(float).tolist(), nan_ok=True
    )
    assert first["decision"].tolist() == second["decision"].tolist()
