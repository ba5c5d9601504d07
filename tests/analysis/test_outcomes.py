"""Contrasts of arms, and what is decided about techniques by the bias that they leave."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.engine.answers import ANSWERS, answer_rows
from analysis.engine.contrasts import COLUMNS, contrast_rows
from analysis.engine.decisions import COLUMNS as DECISIONS
from analysis.engine.questions import questions_on_contrasts
from analysis.papers.framing import framing_rows
from analysis.tables import table
from tests.tools.families import frozen
from tests.tools.judge_coverage import framings_of, judged, texts_of

KEYS = {"study": "s", "paradigm": "framing", "measure": "chose_safe"}
NO_GOALS = {"relative_to": None, "goals": None, "is_unsigned": False}
SHARE = {
    "is_share": True, "better": "lower", "reference": None, "answer_kind": "text", "measured_from": "answer",
} | NO_GOALS  # fmt: skip
CONTROLS = pd.DataFrame(
    [{"study": None, "domain": None, "technique": None, "control": "no_technique", "comparison": "control"}]
)
FROZEN = frozen(
    [(name, "no_technique", "control") for name in ("helps", "other")],
    [{"paradigm": "framing", "domain": None, "goal": "bias"}],
)


def counts(cells):
    """Rows of `marts.counts` from (llm, technique, arm, item, n, n that count)."""
    names = ["llm", "technique", "arm", "item", "n_trials", "sum_of_values"]
    rows = pd.DataFrame(cells, columns=names).assign(**KEYS, instrument=None, vignette="v", row_set="accepted")
    rows = rows.assign(valid_min=None, valid_max=None)
    return rows.assign(n_asked=rows["n_trials"], sum_of_squares=rows["sum_of_values"])


def asked(biases, *, n_items=40, n=50, seed=1):
    """Counts of LLMs whose bias under each technique is what is given: a list by LLM."""
    rng, shift = np.random.default_rng(seed), {"gain": 1, "loss": 0}
    return counts([
        (f"llm {place}", technique, arm, f"item {item}", n, float(rng.binomial(n, 0.5 + shift[arm] * bias)))
        for technique, of_llms in biases.items()
        for place, bias in enumerate(of_llms)
        for arm in ("gain", "loss")
        for item in range(n_items)
    ])  # fmt: skip


def found(
    rows, *, margin=0.05, pairing="item", ranked=("helps",), arms=("gain", "loss"), n_draws=500, judged=(), **stated
):
    paradigms = pd.DataFrame([{**KEYS, "margin": margin, "pairing": pairing, **SHARE, **stated}])
    contrasts = pd.DataFrame([{"study": "s", "paradigm": "framing", **dict(zip(("arm", "arm_b"), arms, strict=True))}])
    return answered(rows, paradigms, contrasts, ranked=ranked, n_draws=n_draws, judged=judged)


def answered(*given, ranked=("helps",), controls=CONTROLS, families=FROZEN, vendors=None, n_draws=20, judged=()):
    """Rows of `outcome_contrasts` and of the answers to all questions, by `part`."""
    contrasts = [{"part": "contrasts", **row} for row in contrast_rows(*given)]
    asked_of = questions_on_contrasts(*given, vendors or {}, *judged)
    answers = answer_rows(asked_of, set(ranked), controls, families, n_draws=n_draws, seed=1)
    return table([*contrasts, *answers], ANSWERS | COLUMNS).to_pandas()


def said(row):
    """The codes of a row."""
    return set(filter(None, (row["reason"] or "").split("; ")))


def decision(rows, technique="helps", **options):
    of = found(rows, **options)
    of = of[(of["part"] == "decisions") & of["llm"].isna() & (of["technique"] == technique)]
    return of.iloc[0]


def test_contrasts_of_one_measure_share_the_error_of_its_decisions():
    rows = asked({"no_technique": [0.3] * 6, "helps": [0.1, 0.0, 0.2, 0.1, 0.1, 0.0]}, n_items=8)
    paradigms = pd.DataFrame([{**KEYS, "margin": 0.05, "pairing": "item", **SHARE}])
    contrasts = pd.DataFrame([{"study": "s", "paradigm": "framing", "arm": "gain", "arm_b": "loss"}])
    alone = answered(rows, paradigms, contrasts).query("part == 'decisions' and technique == 'helps'")
    twice = pd.concat([contrasts, contrasts.rename(columns={"arm": "arm_b", "arm_b": "arm"})])
    of_two = answered(rows, paradigms, twice).query("part == 'decisions' and technique == 'helps' and arm == 'gain'")
    for of, n in ((alone, 1), (of_two, 2)):
        assert set(of.loc[of["llm"].isna(), "n_comparisons"]) == {n}
        assert set(of.loc[of["llm"].notna(), "n_comparisons"]) == {6 * n}
    widths = [of.loc[of["llm"].isna(), "gain_squared_high"].item() for of in (alone, of_two)]
    assert widths[0] < widths[1]


def test_a_contrast_is_the_mean_over_items_and_then_over_llms():
    # LLM a: (3/4 - 1/4 + 1/1 - 0/2) / 2 = 0.75; LLM b: 0/1 - 1/1 = -1
    of = found(counts([
        ("a", "no_technique", "gain", "one", 4, 3), ("a", "no_technique", "loss", "one", 4, 1),
        ("a", "no_technique", "gain", "two", 1, 1), ("a", "no_technique", "loss", "two", 2, 0),
        ("a", "no_technique", "gain", "three", 4, 4),
        ("b", "no_technique", "gain", "one", 1, 0), ("b", "no_technique", "loss", "one", 1, 1),
    ]))  # fmt: skip
    headline = of[of["is_headline"].eq(True)]
    assert list(headline["value"]) == [pytest.approx(-0.125)]
    assert list(headline["reason"]) == ["too_few_llms"]
    assert headline[["low", "high", "p_value"]].isna().all(axis=None)
    by_llm = of.query("part == 'contrasts' and weighting == 'llm' and llm.notna()").set_index("llm")
    assert by_llm["value"].to_dict() == {"a": 0.75, "b": -1}
    assert by_llm["n_items"].to_dict() == {"a": 2, "b": 1}


def test_over_llms_the_interval_is_students_t_and_d_z_is_their_mean_over_their_sd():
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    of = found(counts([
        (f"llm {place}", "no_technique", arm, item, 10, 10 * (0.5 + value) if arm == "gain" else 5)
        for place, value in enumerate(values) for arm in ("gain", "loss") for item in ("one", "two")
    ]))  # fmt: skip
    row = of[(of["level"] == "llms") & (of["weighting"] == "llm")].iloc[0]
    error = np.std(values, ddof=1) / np.sqrt(5)
    assert row["value"] == pytest.approx(0.3)
    assert (row["low"], row["high"]) == pytest.approx((0.3 - 2.7764451 * error, 0.3 + 2.7764451 * error))
    assert row["d_z"] == pytest.approx(0.3 / np.std(values, ddof=1))


@pytest.mark.parametrize(("arm_b", "reference", "ends"), [("loss", None, (-1, 1)), (None, 0.25, (-0.25, 0.75))])
def test_an_interval_over_few_items_ends_where_a_contrast_of_shares_does(arm_b, reference, ends):
    # by Student's t of two items that are 0 and 1 it would reach from 0.5 - 6.35 to 0.5 + 6.35
    rows = [("a", "no_technique", "gain", "one", 4, 4), ("a", "no_technique", "gain", "two", 4, 0)]
    rows += [("a", "no_technique", "loss", item, 4, 0) for item in ("one", "two")]
    paradigms = pd.DataFrame([{**KEYS, "margin": 0.05, "pairing": "item", **SHARE, "reference": reference}])
    contrasts = pd.DataFrame([{"study": "s", "paradigm": "framing", "arm": "gain", "arm_b": arm_b}])
    row = next(row for row in contrast_rows(counts(rows), paradigms, contrasts) if row["llm"] == "a")
    assert (row["low"], row["high"]) == ends


@pytest.mark.parametrize(
    ("base", "valid", "ends"),
    [
        ("loss", (1, 10), (-90, 900)),  # 1 is 90 % less than 10, and 10 is 900 % more than 1
        (None, (1, 10), (-9, 9)),
        ("loss", (0, 10), None),
        (None, (None, 10), None),
    ],
)
def test_an_interval_over_few_items_ends_where_a_contrast_of_valid_numbers_does(base, valid, ends):
    # 9 instead of 1, and 2 instead of 9: by Student's t of two items it reaches 12.7 standard errors far
    answers = {("gain", "one"): 9, ("gain", "two"): 2, ("loss", "one"): 1, ("loss", "two"): 9}
    rows = counts([("a", "no_technique", arm, item, 1, answer) for (arm, item), answer in answers.items()])
    number = {**SHARE, "is_share": False, "answer_kind": "number", "relative_to": base}
    paradigms = pd.DataFrame([{**KEYS, "margin": 0.05, "pairing": "item", **number}])
    contrasts = pd.DataFrame([{"study": "s", "paradigm": "framing", "arm": "gain", "arm_b": "loss"}])
    found = contrast_rows(rows.assign(valid_min=valid[0], valid_max=valid[1]), paradigms, contrasts)
    row = next(row for row in found if row["llm"] == "a")
    differences = [9 - 1, 2 - 9] if base is None else [100 * (9 - 1) / 1, 100 * (2 - 9) / 9]
    reach = 12.706 * np.std(differences, ddof=1) / np.sqrt(2)
    uncut = (np.mean(differences) - reach, np.mean(differences) + reach)
    assert (row["low"], row["high"]) == pytest.approx(ends or uncut, rel=1e-3)


def test_mcnemar_counts_the_items_of_an_llm_that_differ_where_each_was_asked_once():
    yes = {"gain": [1, 1, 1, 1, 0, 0], "loss": [0, 0, 0, 0, 1, 0]}
    rows = [
        ("a", "no_technique", arm, f"item {i}", 1, float(of)) for arm, ofs in yes.items() for i, of in enumerate(ofs)
    ]
    row = found(counts(rows)).query("llm == 'a'").iloc[0]
    # 4 to 1: exact 2 * (1 + 5) / 32, mid-p 2 * (1 + 5 / 2) / 32
    assert (row["n_only_arm"], row["n_only_arm_b"]) == (4, 1)
    assert (row["p_mcnemar_exact"], row["p_mcnemar_mid"]) == pytest.approx((0.375, 0.21875))
    again = found(counts([(*of[:4], 2, of[5]) for of in rows])).query("llm == 'a'").iloc[0]
    assert pd.isna(again["n_only_arm"])


def test_a_technique_that_takes_the_bias_away_is_used_and_one_that_leaves_it_is_equivalent():
    of = asked({"no_technique": [0.3] * 6, "helps": [0.0] * 6})
    row = decision(of)
    assert (row["decision"], row["certainty"]) == ("use", "established")
    assert row["gain"] == pytest.approx(0.3, abs=0.03)
    assert row["loss_control"] == pytest.approx(0.3, abs=0.03)
    assert decision(asked({"no_technique": [0.3] * 6, "helps": [0.3] * 6}))["decision"] == "equivalent"
    assert decision(asked({"no_technique": [0.1] * 6, "helps": [0.4] * 6}))["decision"] == "avoid"


@pytest.mark.parametrize("seed", range(3))
def test_a_technique_that_turns_the_bias_of_some_llms_into_a_larger_one_is_not_used_although_most_gain(seed):
    row = decision(asked({"no_technique": [0.4] * 8 + [0.1] * 2, "helps": [0.0] * 8 + [-0.3] * 2}, seed=seed))
    assert row["gain_low"] > 0.03
    assert (row["decision"], row["decision_llms"], row["certainty"]) == ("no_evidence", "no_evidence", "withheld")
    assert (row["n_reversed"], row["n_helped"], row["n_harmed"]) == (2, 8, 2)
    assert "bias_reversed" in said(row)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("design", [{"n_items": 20, "n": 10}, {"n_items": 8, "n": 4}])
def test_a_bias_that_is_turned_into_a_smaller_one_is_a_gain_and_into_one_as_large_a_move(design, seed):
    smaller = decision(asked({"no_technique": [0.4] * 10, "helps": [-0.15] * 5 + [0.0] * 5}, seed=seed, **design))
    assert (smaller["decision"], smaller["n_reversed"]) == ("use", 0)
    as_large = decision(asked({"no_technique": [0.3] * 10, "helps": [-0.3] * 10}, seed=seed), margin=0.1)
    assert -0.1 < as_large["gain_low"] < as_large["gain_high"] < 0.1
    assert (as_large["decision"], as_large["certainty"], as_large["n_reversed"]) == ("no_evidence", "withheld", 0)
    assert "bias_moved" in said(as_large)


def test_a_reversal_that_is_not_sure_of_any_llm_disqualifies_nothing():
    def of_40_trials(with_technique):
        """Of a bias of 0.4 but of 0.1 in the last LLM: 20 of 40 count in the loss frame."""
        return counts([
            (f"llm {llm}", technique, arm, "one", 40, float(20 if arm == "loss" else n))
            for llm in range(10)
            for technique, n in (("no_technique", 24 if llm == 9 else 36), ("helps", with_technique[llm]))
            for arm in ("gain", "loss")
        ])  # fmt: skip

    # -0.2 has a standard error of 0.11, and a bias of 0.1 is not sure itself
    row = decision(of_40_trials([20] * 9 + [12]))
    assert (row["decision"], row["n_reversed"]) == ("use", 0)


def test_a_decision_that_does_not_stand_is_withheld_and_not_left_to_the_data():
    judged = decision(asked({"no_technique": [0.3] * 6, "helps": [0.3] * 6}), **OF_JUDGES)
    assert judged["certainty"] == "withheld"
    # what would be no evidence anyhow is not withheld
    no_gain = decision(asked({"no_technique": [0.2] * 6, "helps": [-0.4] * 3 + [0.0] * 3}), margin=0.01)
    assert (no_gain["decision"], no_gain["certainty"], no_gain["n_reversed"]) == ("no_evidence", "no_evidence", 3)
    few = decision(asked({"no_technique": [0.5] * 4, "helps": [-0.1] * 4}))
    assert few["certainty"] == "too_few_vendors"


def of_two_vignettes(shifts, *, n_llms=6):
    """Counts of one item in each of two vignettes: 500 of 1000 count in a loss frame, and more in a gain frame.

    `shifts` are the percent of each technique in the two vignettes; in the first, each LLM has one more than the one
    before.
    """
    one = counts([
        (f"llm {llm}", technique, arm, place, 1000, 500 + 10 * (shift + llm * (place == 0) if arm == "gain" else 0))
        for technique, of_vignettes in shifts.items()
        for place, shift in enumerate(of_vignettes)
        for llm in range(n_llms)
        for arm in ("gain", "loss")
    ])  # fmt: skip
    return one.assign(vignette=one["item"].map("v{}".format), item=None)


def test_a_bias_that_is_turned_round_in_one_of_the_vignettes_of_an_llm_is_reversed():
    # from 0.2 and 0.4 to -0.4 and 0, which is less in the mean square
    row = decision(of_two_vignettes({"no_technique": [15, 40], "helps": [-38, 0]}))
    # the interval over two vignettes as well is wide; that over LLMs on these two is not
    assert row["gain_llms_low"] > 0.01
    assert (row["decision_llms"], row["n_reversed"], row["n_cases"]) == ("no_evidence", 6, 2)
    assert "bias_reversed" in said(row)
    row = decision(of_two_vignettes({"no_technique": [15, 40], "helps": [28, 0]}))
    assert (row["decision_llms"], row["n_reversed"]) == ("use", 0)


def test_vignettes_that_are_moved_to_either_side_are_moved_although_their_mean_square_is_not():
    shifts = {"no_technique": [30, 10], "helps": [10, 31]}
    row = decision(of_two_vignettes(shifts), margin=0.15)
    assert -0.15 < row["gain_llms_low"] < row["gain_llms_high"] < 0.15
    assert (row["decision_llms"], row["n_reversed"]) == ("no_evidence", 0)
    assert "bias_moved" in said(row)
    row = decision(of_two_vignettes(shifts | {"helps": [31, 9]}), margin=0.15)
    assert row["decision_llms"] == "equivalent"


def test_what_noise_alone_moves_in_each_of_many_vignettes_is_not_moved_by_the_technique():
    # shares of 100 trials: a difference of differences has a standard error of 0.1, so its absolute value is 0.08
    of = asked({"no_technique": [0.3] * 6, "helps": [0.3] * 6}, n_items=30, n=100)
    row = decision(of.assign(vignette=of["item"], item=None), margin=0.07)
    assert (row["decision"], row["n_reversed"]) == ("equivalent", 0)


def test_a_gain_that_is_0_but_for_rounding_is_0_and_has_no_probability():
    # 0.1 + 0.2 is more than 0.3 by its last digit, and 0.1 + 0.7 less than 0.8
    rows = counts([
        (f"llm {llm}", technique, arm, "one", 2, float(total if arm == "gain" else 0))
        for llm in range(6)
        for technique, total in (
            ("no_technique", (0.3, 0.8)[llm % 2]), ("helps", (0.1 + 0.2, 0.1 + 0.7)[llm % 2]),
        )
        for arm in ("gain", "loss")
    ])  # fmt: skip
    of = found(rows.assign(sum_of_squares=rows["sum_of_values"] ** 2 / 2))
    assert of.loc[(of["part"] == "decisions") & (of["technique"] == "helps"), "gain"].eq(0).all()
    foretold = of[of["part"] == "predictions"]
    assert len(foretold)
    assert foretold["p_better_than_control"].isna().all()
    assert foretold["reason"].eq("zero_variance").all()


@pytest.mark.parametrize(
    ("n_missing", "is_share", "code"),
    [(0, True, None), (2, True, None), (20, True, "attrition_could_reverse"), (1, False, "attrition_could_reverse")],
)
def test_answers_that_are_missing_and_could_turn_a_decision_round_are_named(n_missing, is_share, code):
    # a bias of 0.3 becomes one of 0.1; of 50 trials to a cell, 20 that are missing move a share by up to 0.4
    of = asked({"no_technique": [0.3] * 6, "helps": [0.1] * 6})
    is_short = (of["technique"] == "helps") & (of["llm"] == "llm 0") if n_missing == 1 else of["technique"] == "helps"
    row = decision(of.assign(n_asked=of["n_trials"] + np.where(is_short, n_missing, 0)), is_share=is_share)
    assert (row["decision"], row["certainty"]) == ("use", "supported" if code else "established")
    assert said(row) == {"placebo_not_asked", "one_technique"} | ({code} if code else set())


def test_an_item_that_was_asked_and_never_answered_counts_among_what_is_missing():
    of = asked({"no_technique": [0.3] * 6, "helps": [0.1] * 6}, n_items=4)
    silent = of[of["technique"] == "helps"].assign(item="silent", n_trials=0, sum_of_values=0.0, sum_of_squares=0.0)
    kept, told = decision(of), decision(pd.concat([of, silent.drop_duplicates(["llm", "arm"])]))
    assert (kept["gain"], kept["decision"]) == (told["gain"], told["decision"]) == (kept["gain"], "use")
    # the bias of one item of five could be 1: the mean is 0.28 then, and hardly smaller than without the technique
    assert said(told) - said(kept) == {"attrition_could_change"}


def test_below_five_vendors_nothing_is_decided():
    row = decision(asked({"no_technique": [0.3] * 4, "helps": [0.0] * 4}))
    assert (row["decision"], row["certainty"]) == ("no_evidence", "too_few_vendors")
    assert "too_few_vendors" in said(row)
    rows = asked({"no_technique": [0.3] * 6, "helps": [0.0] * 6})
    paradigms = pd.DataFrame([{**KEYS, "margin": 0.05, "pairing": "item", **SHARE}])
    contrasts = pd.DataFrame([{"study": "s", "paradigm": "framing", "arm": "gain", "arm_b": "loss"}])
    of = answered(rows, paradigms, contrasts, vendors={"llm 0": "V", "llm 1": "V", "llm 2": "V"})
    row = of.query("part == 'decisions' and technique == 'helps' and llm.isna()").iloc[0]
    assert (row["n_vendors"], row["decision"], row["decision_llms"]) == (4, "no_evidence", "use")


def test_a_technique_that_was_asked_in_one_arm_alone_has_no_loss_and_says_so():
    of = asked({"no_technique": [0.3] * 6, "helps": [0.0] * 6})
    row = decision(of[(of["technique"] != "helps") | (of["arm"] == "gain")])
    assert pd.isna(row["loss"])
    assert row["reason"] == "missing_arm"


def test_arms_with_items_of_their_own_are_compared_by_their_means():
    cells = [("a", "no_technique", "gain", "one", 1, 1), ("a", "no_technique", "gain", "two", 2, 1),
             ("a", "no_technique", "loss", "three", 4, 1)]  # fmt: skip
    row = found(counts(cells), pairing="between").query("part == 'contrasts' and llm == 'a'").iloc[0]
    assert (row["value"], row["n_items"]) == (0.5, 3)
    assert found(counts(cells)).query("part == 'contrasts' and level == 'both'")["reason"].eq("missing_pair").all()


def test_without_a_study_of_another_paradigm_the_table_is_empty_and_has_its_columns():
    nothing = found(counts([]))
    assert not len(nothing)
    assert set(COLUMNS) | set(DECISIONS) <= set(nothing.columns)


def changed(shares, *, n_items=200, n=20, seed=1):
    """Counts of LLMs in one arm, whose share under each technique is what is given: a list by LLM."""
    rng = np.random.default_rng(seed)
    return counts([
        (f"llm {place}", technique, "asked", f"item {item}", n, float(rng.binomial(n, share)))
        for technique, of_llms in shares.items() for place, share in enumerate(of_llms) for item in range(n_items)
    ])  # fmt: skip


ONE_ARM = ("asked", None)
NO_TEXT = pd.DataFrame(columns=["study", "role", "judged", "label", "correct"])
OF_JUDGES = {"measured_from": "judgement", "judged": (None, NO_TEXT)}


def test_a_measure_of_one_arm_is_compared_with_its_reference():
    of = changed({"no_technique": [0.3] * 6, "helps": [0.1] * 6})
    rows = found(of, arms=ONE_ARM).query("is_headline == True").set_index("technique")
    assert rows["value"].to_dict() == {name: pytest.approx(share, abs=0.01) for name, share in
                                       {"no_technique": 0.3, "helps": 0.1}.items()}  # fmt: skip
    assert rows["arm_b"].isna().all()
    assert rows.loc["helps", ["n_trials", "n_items", "n_llms"]].to_list() == [6 * 200 * 20, 200, 6]
    shifted = found(of, arms=ONE_ARM, reference=0.25).query("is_headline == True").set_index("technique")
    for name in ("value", "low", "high"):
        assert shifted[name].to_numpy() == pytest.approx(rows[name].to_numpy() - 0.25)


def test_of_one_arm_it_is_decided_by_the_distance_from_the_reference():
    row = decision(changed({"no_technique": [0.3] * 6, "helps": [0.1] * 6}), arms=ONE_ARM)
    assert (row["decision"], row["gain"]) == ("use", pytest.approx(0.2, abs=0.02))
    closer = decision(changed({"no_technique": [0.3] * 6, "helps": [0.1] * 6}), arms=ONE_ARM, reference=0.3)
    assert (closer["decision"], closer["gain"]) == ("avoid", pytest.approx(-0.2, abs=0.02))


def test_where_higher_is_better_a_technique_is_used_that_raises_the_measure():
    of = changed({"no_technique": [0.3] * 6, "helps": [0.6] * 6})
    row = decision(of, arms=ONE_ARM, better="higher")
    assert (row["decision"], row["loss_control"], row["loss"]) == (
        "use", pytest.approx(0.7, abs=0.02), pytest.approx(0.4, abs=0.02),
    )  # fmt: skip
    assert decision(of, arms=ONE_ARM)["decision"] == "avoid"


def test_of_numbers_without_a_reference_nothing_is_decided_where_higher_is_better():
    of = found(changed({"no_technique": [0.3] * 6, "helps": [0.6] * 6}), arms=ONE_ARM, better="higher",
               answer_kind="number")  # fmt: skip
    assert set(of["part"]) == {"contrasts"}


def test_a_decision_that_rests_on_labels_by_judges_says_that_their_errors_are_in_it_and_why():
    biases = asked({"no_technique": [0.3] * 6, "helps": [0.0] * 6})
    of = found(biases, **OF_JUDGES)
    of = of[(of["part"] == "decisions") & of["gain"].notna()]
    assert len(of) > 1
    assert of["reason"].str.contains("judge_errors_counted; no_known_label").all()
    assert "judge_errors_counted" not in (decision(biases, measured_from="answer")["reason"] or "")


def test_what_rests_on_labels_by_judges_is_never_called_no_difference():
    alike = asked({"no_technique": [0.3] * 6, "helps": [0.3] * 6})
    assert decision(alike)["decision"] == "equivalent"
    judged = decision(alike, **OF_JUDGES)
    assert (judged["decision"], judged["decision_llms"]) == ("no_evidence", "no_evidence")


def of_judges(shares, *, accuracy, n_texts=150, seed=1):
    """Counts of texts that change, as judges saw them, with the labels and the texts that they are of.

    Every second text was put twice to an LLM, and LLM 1 lacks the last ten under the technique.
    """
    rng = np.random.default_rng(seed)
    true = np.arange(n_texts) % 3
    original, identity = judged(true, rng, accuracy), judged(true, rng, accuracy)
    framings = []
    for technique, of_llms in shares.items():
        for place, share in enumerate(of_llms):
            for asked_of in (range(n_texts), range(0, n_texts, 2)):
                turned = np.where(rng.random(n_texts) < share, (true + 1) % 3, true)
                rows = framings_of(original, {f"llm {place}": judged(turned, rng, accuracy)}).iloc[list(asked_of)]
                lacks = rows["item"].isin([f"text {n_texts - 1 - n}" for n in range(10)])
                framings.append(rows[~lacks | (place != 1) | (technique == "no_technique")].assign(technique=technique))
    framings = pd.concat(framings).assign(paradigm="framing", arm="asked", is_flagged=False)
    changes = (framings["source_label"] != framings["answer_label"]).astype(float)
    cells = zip(*(framings[name] for name in ("llm", "technique", "arm", "item", "n_trials")), changes, strict=True)
    return counts(list(cells)), (framings, texts_of(true, original, identity))


SHARES = {"no_technique": [0.3, 0.35, 0.4, 0.3, 0.35, 0.4], "helps": [0.05, 0.1, 0.15, 0.1, 0.05, 0.1]}


def test_decisions_on_framing_changes_are_of_the_share_without_what_judges_get_wrong():
    seen, labelled = of_judges(SHARES, accuracy=0.85, n_texts=450)
    of = found(seen, arms=ONE_ARM, measured_from="judgement", judged=labelled)
    of_llms = of[(of["part"] == "decisions") & of["llm"].notna()]
    assert not of["reason"].fillna("").str.contains("judge").any()
    # another way round: the square of what content.framing_changes says of an LLM, less that of its standard error
    rows = pd.DataFrame(framing_rows(*labelled)).dropna(subset="llm").set_index(["technique", "llm"])
    quantile = rows["n_items"].map({n: stats.t.isf(0.025, n - 1) for n in (440, 450)})
    error = (rows["phi_corrected_high"] - rows["phi_corrected_low"]) / 2 / quantile
    expected = np.sqrt(np.maximum(rows["phi_corrected"] ** 2 - error**2, 0))
    losses = of_llms.set_index(["technique", "llm"])["loss"]
    assert losses.to_dict() == pytest.approx(expected.to_dict(), rel=0.005)  # what LLM 1 lacks goes with other items
    row = of[(of["part"] == "decisions") & of["llm"].isna() & (of["technique"] == "helps")].iloc[0]
    of_seen = decision(seen, arms=ONE_ARM, **OF_JUDGES)
    assert (row["decision"], of_seen["decision"]) == ("use", "use")
    assert row["loss"] == pytest.approx(0.09, abs=0.05)
    assert of_seen["loss"] > row["loss"] + 0.15
    assert row["gain"] > of_seen["gain"] + 0.03  # errors make a gain look smaller


def test_of_judges_that_never_err_decisions_are_of_what_they_saw_and_may_say_that_nothing_differs():
    seen, labelled = of_judges(SHARES, accuracy=1)
    without = found(seen, arms=ONE_ARM, measured_from="judgement", judged=labelled)
    of_answers = found(seen, arms=ONE_ARM, measured_from="answer")
    parts = [of[of["part"] == "contrasts"] for of in (without, of_answers)]
    pd.testing.assert_frame_equal(*parts)
    decided = [of[of["part"] == "decisions"] for of in (without, of_answers)]
    pd.testing.assert_series_equal(*(of["decision"] for of in decided))
    pd.testing.assert_series_equal(*(of["gain"] for of in decided), atol=0.005)  # texts are a sample of judges alone
    seen, labelled = of_judges({"no_technique": [0.3] * 6, "helps": [0.3] * 6}, accuracy=1, n_texts=900)
    assert decision(seen, arms=ONE_ARM, margin=0.1, measured_from="judgement", judged=labelled)["decision"] == (
        "equivalent"
    )


def test_what_is_not_known_of_judges_is_one_error_of_all_llms_that_those_do_not_show():
    shares = {"no_technique": [0.35] * 36, "helps": [0.05] * 36}
    seen, labelled = of_judges(shares, accuracy=0.8, n_texts=120)
    row = decision(seen, arms=ONE_ARM, measured_from="judgement", judged=labelled)
    assert row["method"] == "t_over_vendors_and_items"
    assert row["gain"] - row["gain_low"] > 1.3 * (row["gain"] - row["gain_plain_low"])


def test_flagged_answers_are_left_out_of_the_row_set_without_them():
    seen, (framings, texts) = of_judges(SHARES, accuracy=0.9)
    is_flagged = (framings["technique"] == "helps") & (framings["answer_label"] == "U")
    cells = seen.assign(is_flagged=is_flagged.to_numpy())
    both = pd.concat([cells, cells[~cells["is_flagged"]].assign(row_set="without_suspects")])
    of = found(both, arms=ONE_ARM, measured_from="judgement", judged=(framings.assign(is_flagged=is_flagged), texts))
    switched = of[(of["part"] == "multiverse") & (of["switch"] == "row_set")].iloc[0]
    alone = decision(cells[~cells["is_flagged"]], arms=ONE_ARM, measured_from="judgement",
                     judged=(framings[~is_flagged], texts))  # fmt: skip
    assert switched["gain"] == pytest.approx(alone["gain"])
    assert switched["gain"] != pytest.approx(decision(both, arms=ONE_ARM, **OF_JUDGES)["gain"], abs=0.01)


def test_two_instruments_are_two_measures():
    of = changed({"no_technique": [0.3] * 6, "helps": [0.1] * 6})
    other = changed({"no_technique": [0.8] * 6, "helps": [0.8] * 6}).assign(instrument="minilm")
    both = found(pd.concat([of.assign(instrument="tfidf"), other]), arms=ONE_ARM)
    alone = found(of.assign(instrument="tfidf"), arms=ONE_ARM)
    contrasts = both[both["part"] == "contrasts"]
    assert set(contrasts["instrument"]) == {"tfidf", "minilm"}
    pd.testing.assert_frame_equal(
        both[both["instrument"] == "tfidf"].reset_index(drop=True), alone.reset_index(drop=True)
    )
    headline = both.query("is_headline == True and instrument == 'minilm'").set_index("technique")
    assert headline.loc["helps", "value"] == pytest.approx(0.8, abs=0.01)


def of_items(seed, *, sd_items, n_llms=10, n_items=24, n=20):
    """Counts where a technique changes the bias of single items, alike in all LLMs, and over many items not at all."""
    rng = np.random.default_rng(seed)
    shifts = {"no_technique": np.full(n_items, 0.25), "helps": 0.25 + rng.uniform(-1, 1, n_items) * sd_items}
    return counts([
        (f"llm {llm}", technique, arm, f"item {item}", n, float(rng.binomial(n, 0.4 + (arm == "gain") * shift)))
        for technique, of_technique in shifts.items() for llm in range(n_llms)
        for item, shift in enumerate(of_technique) for arm in ("gain", "loss")
    ])  # fmt: skip


@pytest.mark.slow("simulates many studies")
def test_what_a_technique_does_to_the_items_that_were_put_is_not_taken_for_what_it_does_to_others():
    rows = [decision(of_items(seed, sd_items=0.3), n_draws=20) for seed in range(40)]
    assert sum(row["decision"] in ("use", "avoid") for row in rows) <= 5  # 2 of 40 are expected; over LLMs alone, 17
    assert {row["method"] for row in rows} == {"t_over_vendors_and_items"}
    assert all(row["gain_high"] - row["gain_low"] > row["gain_plain_high"] - row["gain_plain_low"] for row in rows)


def test_a_technique_is_compared_with_its_control_on_the_items_that_an_llm_answered_under_both():
    rows = asked({"no_technique": [0.3] * 6, "helps": [0.1] * 6}, n_items=6)
    is_lacking = (rows["technique"] == "helps") & rows["item"].isin(["item 0", "item 1"]) & (rows["arm"] == "gain")
    lacking = rows.assign(
        n_trials=rows["n_trials"].mask(is_lacking, 0), sum_of_values=rows["sum_of_values"].mask(is_lacking, 0),
        sum_of_squares=rows["sum_of_squares"].mask(is_lacking, 0),
    )  # fmt: skip
    names = ["loss", "loss_control", "gain", "gain_low", "gain_high", "n_trials"]
    without = decision(rows[~rows["item"].isin(["item 0", "item 1"])], n_draws=20)[names]
    assert decision(lacking, n_draws=20)[names].to_dict() == pytest.approx(without.to_dict())


def test_of_one_technique_it_is_not_said_that_it_is_the_best():
    rows = {"no_technique": [0.25] * 6, "helps": [0.1] * 6}
    assert pd.isna(decision(asked(rows), n_draws=20)[["p_best", "p_worst", "rank_low", "rank_high"]]).all()
    two = decision(asked({**rows, "other": [0.2] * 6}), n_draws=20, ranked=("helps", "other"))
    assert two["p_best"] > 0.5


def test_one_llm_and_one_item_have_a_contrast_and_no_interval():
    of = found(counts([("a", "no_technique", "gain", "one", 3, 2), ("a", "no_technique", "loss", "one", 3, 1)]))
    contrasts = of[of["part"] == "contrasts"]
    assert list(contrasts["value"]) == [pytest.approx(1 / 3)] * len(contrasts) != []
    assert set(contrasts["reason"]) == {"too_few_llms", "one_item"}
    assert of[["low", "high", "p_value", "decision"]].isna().all(axis=None)


def test_without_a_control_a_contrast_is_told_and_no_technique_is_decided_on():
    of = found(asked({"helps": [0.3] * 6}))
    assert of[of["is_headline"].eq(True)]["low"].notna().all()
    decisions = of[of["part"] == "decisions"]
    assert set(decisions["decision"]) == {"no_evidence"}
    assert set(decisions["reason"]) == {"control_not_asked"}


def test_no_llm_is_foretold_a_loss_below_0_where_it_has_less_to_lose_than_others_gain():
    of = found(asked({"no_technique": [0.4] * 9 + [0.0], "helps": [0.0] * 10}, n_items=8, n=4, seed=3))
    foretold = of[(of["part"] == "predictions") & (of["technique"] == "helps")].set_index("llm")
    own = of[(of["part"] == "decisions") & (of["llm"] == "llm 9") & (of["technique"] == "helps")].iloc[0]
    assert foretold.loc["llm 9", "gain"] == own["loss_control"] < foretold.loc["llm 0", "gain"]
    assert foretold.loc["llm 9", "expected_loss"] == 0
    assert foretold["expected_loss"].ge(0).all()


def test_a_technique_that_another_contrast_of_the_paradigm_decides_against_is_contradicted():
    def shown(arm, arm_b):
        names = {"gain": arm, "loss": arm_b}
        bias = {"no_technique": [0.3] * 6, "helps": [0.0] * 6}
        if arm == "other":
            bias = {"no_technique": [0.0] * 6, "helps": [0.3] * 6}
        of = asked(bias, n_items=20)
        return of.assign(arm=of["arm"].map(names))

    def certainties(*pairs):
        rows = pd.concat([shown(*pair) for pair in pairs])
        paradigms = pd.DataFrame([{
            **KEYS, "margin": 0.05, "pairing": "item", "is_share": True, "better": "lower", "reference": None,
            "answer_kind": "choice", "measured_from": "answer", **NO_GOALS,
        }])  # fmt: skip
        contrasts = pd.DataFrame([{"study": "s", "paradigm": "framing", "arm": a, "arm_b": b} for a, b in pairs])
        of = answered(rows, paradigms, contrasts).query("part == 'decisions' and technique == 'helps' and llm.isna()")
        return of.set_index("arm")[["decision", "certainty"]].T.to_dict("list")

    assert certainties(("gain", "loss")) == {"gain": ["use", "established"]}
    assert certainties(("gain", "loss"), ("other", "another")) == {
        "gain": ["use", "contradicted_elsewhere"], "other": ["avoid", "contradicted_elsewhere"],
    }  # fmt: skip


def test_llms_that_noise_alone_puts_beyond_the_margin_are_neither_helped_nor_harmed():
    row = decision(asked({"no_technique": [0.2] * 6, "helps": [0.2] * 6}, n_items=8, n=4))
    assert (row["n_helped"], row["n_harmed"]) == (0, 0)
    row = decision(asked({"no_technique": [0.4] * 6 + [0.0], "helps": [0.0] * 5 + [0.4, 0.4]}))
    assert (row["n_helped"], row["n_harmed"]) == (5, 1), "one is as it was"


def test_items_that_go_opposite_ways_are_told_from_items_without_a_bias():
    def alone(sign):
        rng = np.random.default_rng(1)
        return found(counts([
            (f"llm {llm}", "no_technique", arm, f"item {item}", 10,
             float(rng.binomial(10, 0.5 + (arm == "gain") * 0.3 * sign * (1 if item % 2 else -1))))
            for llm in range(6) for arm in ("gain", "loss") for item in range(8)
        ])).query("is_headline == True").iloc[0]  # fmt: skip

    opposite, none = alone(1), alone(0)
    assert opposite["low"] < 0 < opposite["high"]
    assert none["low"] < 0 < none["high"]
    assert opposite["sd_of_items"] == pytest.approx(0.3, abs=0.06)
    assert opposite["p_items_alike"] < 1e-6
    assert none["p_items_alike"] > 0.05


def rows_by(of, *names):
    return {tuple(row[name] for name in names): row for row in of.replace({np.nan: None}).to_dict("records")}


def test_items_are_paired_and_llms_or_trials_weigh_the_same():
    # LLM a: item one 3/4 - 1/4, item two 1/1 - 0/2; LLM b: 0/1 - 1/1; LLM c has no item in both arms, LLM d one arm
    of = found(counts([
        ("a", "no_technique", "gain", "one", 4, 3), ("a", "no_technique", "loss", "one", 4, 1),
        ("a", "no_technique", "gain", "two", 1, 1), ("a", "no_technique", "loss", "two", 2, 0),
        ("a", "no_technique", "gain", "three", 4, 4),
        ("b", "no_technique", "gain", "one", 1, 0), ("b", "no_technique", "loss", "one", 1, 1),
        ("c", "no_technique", "gain", "one", 4, 3), ("c", "no_technique", "loss", "two", 4, 3),
        ("d", "no_technique", "gain", "one", 4, 3), ("d", "no_technique", "another", "one", 4, 4),
    ]))  # fmt: skip
    rows = rows_by(of.query("level == 'both' or level == 'items' and llm.notna()"), "llm", "weighting")
    shown = {key: tuple(row[name] for name in ("value", "n_items", "n_trials", "n_llms")) for key, row in rows.items()}
    nothing = (None, 0, 0, 0)
    assert shown == {
        ("a", "llm"): (0.75, 2, 11, 1), ("a", "trial"): (pytest.approx(4 / 5 - 1 / 6), 2, 11, 1),
        ("b", "llm"): (-1, 1, 2, 1), ("b", "trial"): (-1, 1, 2, 1),
        ("c", "llm"): nothing, ("c", "trial"): nothing, ("d", "llm"): nothing, ("d", "trial"): nothing,
        (None, "llm"): (pytest.approx(-0.125), 2, 13, 2),
        (None, "trial"): (pytest.approx(4 / 6 - 2 / 7), 2, 13, 2),
    }  # fmt: skip
    assert {llm: rows[llm, "llm"]["reason"] for llm in "cd"} == {"c": "missing_pair", "d": "missing_arm"}


def test_bounds_put_what_is_missing_at_one_end_in_one_arm_and_at_the_other_in_the_other():
    cells = [
        ("a", "no_technique", "gain", "one", 4, 3), ("a", "no_technique", "loss", "one", 3, 1),
        ("a", "no_technique", "gain", "two", 0, 0), ("a", "no_technique", "loss", "two", 1, 1),
        ("b", "no_technique", "gain", "one", 0, 0), ("b", "no_technique", "loss", "one", 2, 1),
        ("c", "no_technique", "gain", "one", 4, 3),
    ]  # fmt: skip
    rows = counts(cells).assign(n_asked=[4, 4, 2, 1, 2, 2, 4])
    # a: item one 3/4 less 1/4 to 2/4, item two 0 to 1 less 1; b: 0 to 1 less 1/2; c was put one arm alone
    names = ("value_least", "value_most", "n_asked", "n_missing")

    def bounds(rows, **options):
        headline = found(rows, **options).query("weighting == 'llm' and (level == 'both' or llm.notna())")
        return {llm: tuple(row[name] for name in names) for (llm,), row in rows_by(headline, "llm").items()}

    assert bounds(rows) == {
        "a": (-0.375, 0.25, 11, 3), "b": (-0.5, 0.5, 4, 2), "c": (None, None, 0, 0), None: (-0.4375, 0.375, 15, 5),
    }  # fmt: skip
    assert bounds(rows, reference=1.0) == bounds(rows)  # which is of the measure, and of no contrast of two arms
    # what has no ends is bounded by nothing, unless nothing is missing
    of = found(rows, is_share=False).query("weighting == 'llm' and (level == 'both' or llm.notna())").set_index("llm")
    assert bounds(rows, is_share=False)["a"] == (None, None, 11, 3)
    assert of.loc["a", "reason"].endswith("no_valid_range")
    assert bounds(counts(cells[:2]), is_share=False)["a"] == pytest.approx((3 / 4 - 1 / 3, 3 / 4 - 1 / 3, 7, 0))
    # between arms whose items differ each arm is bounded by its own: 1/2 to 1 and 1, less 1/4 to 1/2
    apart = counts([
        ("a", "no_technique", "gain", "one", 1, 1), ("a", "no_technique", "gain", "two", 2, 2),
        ("a", "no_technique", "loss", "three", 3, 1),
    ]).assign(n_asked=[2, 2, 4])  # fmt: skip
    assert bounds(apart, pairing="between")["a"] == (0.25, 0.75, 8, 2)
