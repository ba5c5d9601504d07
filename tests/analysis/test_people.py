"""Effects on LLMs and on people in one measure: worked by hand, with the quantiles of scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.papers.human_choices import FEWEST_PARTICIPANTS
from analysis.papers.people import EFFECTS, HUMAN_EFFECTS, effects_on_llms, human_effects
from analysis.tables import table
from analysis.words.people import TEN

ANCHORED = {"study": "s", "domain": "j", "vignette": "v", "llm": "a"}
FRAMING = {"study": "s", "paradigm": "framing"}
SHARE = FRAMING | {"measure": "chose_sure", "instrument": None, "technique": "no_technique", "vignette": "v",
                   "row_set": "accepted"}  # fmt: skip
NONE = pd.DataFrame(
    columns=["study", "domain", "vignette", "llm", "anchor_direction", "anchor_value", "response", "n_trials"]
)
NORMAL = stats.norm.ppf(0.975)


def anchored(*rows):
    """Answers to anchors from (direction, anchor, answer, how often)."""
    names = ["anchor_direction", "anchor_value", "response", "n_trials"]
    return pd.DataFrame(rows, columns=names).assign(**ANCHORED)


def of_anchors(*rows):
    counts = pd.DataFrame(columns=[*SHARE, "llm", "arm", "item", "n_asked", "n_trials", "sum_of_values"])
    empty = (
        pd.DataFrame(columns=["study", "paradigm", "measure", "pairing"]),
        pd.DataFrame(columns=["study", "paradigm", "arm", "arm_b"]),
    )
    rows = effects_on_llms(anchored(*rows), counts, *empty)
    return {row["measure"]: row for row in table(rows, EFFECTS).to_pylist()}


def of_shares(*rows, pairing="item"):
    """Effects by LLM and measure, from (LLM, arm, item, how often, how many count)."""
    counts = pd.DataFrame(rows, columns=["llm", "arm", "item", "n_trials", "sum_of_values"]).assign(**SHARE)
    counts = counts.assign(n_asked=counts["n_trials"], sum_of_squares=counts["sum_of_values"])
    paradigms = pd.DataFrame([FRAMING | {"measure": "chose_sure", "pairing": pairing}])
    contrasts = pd.DataFrame([FRAMING | {"arm": "gain", "arm_b": "loss"}])
    rows = effects_on_llms(NONE, counts, paradigms, contrasts)
    return {(row["llm"], row["measure"]): row for row in table(rows, EFFECTS).to_pylist()}


def test_a_move_of_3_between_anchors_6_apart_is_an_index_of_one_half():
    of = of_anchors(("low", 3, 3, 2), ("low", 3, 5, 2), ("high", 9, 6, 2), ("high", 9, 8, 2))
    # means 4 and 7, variances 4/3 each; ranks 1.5, 3.5 and 5.5, 7.5
    index = of["anchoring_index"]
    assert (index["estimate"], index["n_trials"], index["paradigm"]) == (0.5, 8, "anchoring")
    assert index["half_width"] == pytest.approx(stats.t.ppf(0.975, 6) * np.sqrt(2 * 4 / 3 / 4) / 6)
    assert of["d"]["estimate"] == pytest.approx(3 / np.sqrt(4 / 3))
    assert of["rank_transformed_d"]["estimate"] == pytest.approx(4 / np.sqrt(4 / 3))
    assert of["d"]["half_width"] == pytest.approx(NORMAL * np.sqrt(1 / 4 + 1 / 4 + 9 / (4 / 3) / 16))


def test_story_001_s_vector_has_its_d_and_that_of_its_ranks():
    low, high = [3] * 3 + [4] * 4 + [5] * 3, [5] * 2 + [6] * 4 + [7] * 3 + [8]
    of = of_anchors(("low", 3, 3, 3), ("low", 3, 4, 4), ("low", 3, 5, 3),
                    ("high", 9, 5, 2), ("high", 9, 6, 4), ("high", 9, 7, 3), ("high", 9, 8, 1))  # fmt: skip
    welch = stats.ttest_ind(high, low, equal_var=False).confidence_interval(0.95)
    assert of["anchoring_index"]["estimate"] == pytest.approx((np.mean(high) - np.mean(low)) / 6)
    assert of["anchoring_index"]["half_width"] == pytest.approx((welch.high - welch.low) / 2 / 6)
    ranks = stats.rankdata(low + high)
    for measure, (a, b) in (("d", (low, high)), ("rank_transformed_d", (ranks[:10], ranks[10:]))):
        pooled = np.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / 2)
        assert of[measure]["estimate"] == pytest.approx((np.mean(b) - np.mean(a)) / pooled)


@pytest.mark.parametrize(
    ("rows", "index", "reason"),
    [
        ([("low", 3, 6, 30), ("high", 9, 6, 30)], 0, "zero_variance"),
        ([("low", 3, 6, 30)], None, "no_high_anchor"),
        ([("high", 3, 6, 1)], None, "no_low_anchor; one_trial"),
        ([("low", 3, 6, 1), ("high", 9, 9, 2), ("high", 9, 7, 2)], pytest.approx(1 / 3), "one_trial"),
        ([("low", 5, 6, 2), ("low", 5, 7, 2), ("high", 5, 9, 2), ("high", 5, 7, 2)], None, "equal_anchors"),
        ([("low", None, 6, 2), ("low", None, 7, 2), ("high", 5, 9, 2), ("high", 5, 7, 2)], None, "no_anchor_value"),
    ],
)
def test_what_cannot_be_said_of_anchors_has_its_reason(rows, index, reason):
    of = of_anchors(*rows)
    assert (of["anchoring_index"]["estimate"], of["anchoring_index"]["half_width"]) == (index, None)
    assert {row["reason"] for row in of.values()} == {reason}
    if reason not in ("equal_anchors", "no_anchor_value"):
        assert (of["d"]["estimate"], of["rank_transformed_d"]["half_width"]) == (None, None)


def test_an_answer_whose_anchor_is_not_known_counts_as_an_answer_and_not_in_the_mean_of_anchors():
    of = of_anchors(("low", 3, 6, 2), ("low", None, 8, 2), ("high", 9, 9, 2), ("high", 9, 7, 2))
    assert of["anchoring_index"]["estimate"] == pytest.approx((8 - 7) / (9 - 3))
    assert of["anchoring_index"]["reason"] is None


def test_15_of_20_and_5_of_20_differ_by_a_half_and_by_the_log_of_9():
    of = of_shares(
        ("a", "gain", "one", 20, 15), ("a", "loss", "one", 20, 5),
        ("always", "gain", "one", 10, 10), ("always", "loss", "one", 10, 10),
        ("half", "gain", "one", 10, 10), ("half", "loss", "one", 10, 5), ("only", "gain", "one", 10, 10),
    )  # fmt: skip
    risk, odds, d = (of["a", measure] for measure in ("risk_difference", "log_odds_ratio", "d"))
    assert (risk["estimate"], risk["half_width"]) == (0.5, pytest.approx(NORMAL * np.sqrt(2 * 0.1875 / 20)))
    assert odds["estimate"] == pytest.approx(np.log(9))
    assert odds["half_width"] == pytest.approx(NORMAL * np.sqrt(2 * (1 / 15 + 1 / 5)))
    # 0.5 over the root of 7.5 / 38
    assert d["estimate"] == pytest.approx(0.5 / np.sqrt(7.5 / 38))
    assert d["half_width"] == pytest.approx(NORMAL * np.sqrt(1 / 20 + 1 / 20 + d["estimate"] ** 2 / 80))
    shown = {key: (row["estimate"], row["half_width"], row["reason"]) for key, row in of.items()}
    assert shown["always", "risk_difference"] == (0, None, "zero_variance")
    assert shown["always", "log_odds_ratio"] == shown["always", "d"] == (None, None, "zero_variance")
    assert shown["half", "risk_difference"] == (0.5, pytest.approx(NORMAL * np.sqrt(0.25 / 10)), None)
    assert shown["half", "log_odds_ratio"] == (None, None, "zero_variance")
    assert shown["half", "d"][0] == pytest.approx(0.5 / np.sqrt(2.5 / 18))
    assert shown["only", "risk_difference"] == (None, None, "missing_arm")


def test_items_weigh_the_same_however_often_they_were_asked():
    # item one 3/4 - 1/4, item two 1/2 - 1/2 of many more trials, item three was put in one arm alone
    of = of_shares(
        ("a", "gain", "one", 4, 3), ("a", "loss", "one", 4, 1),
        ("a", "gain", "two", 40, 20), ("a", "loss", "two", 40, 20),
        ("a", "gain", "three", 4, 4), ("b", "gain", "one", 4, 3), ("b", "loss", "two", 4, 3),
    )  # fmt: skip
    risk = of["a", "risk_difference"]
    assert (risk["estimate"], risk["n_trials"], risk["n_items"]) == (0.25, 88, 2)
    # the two differences, 0.5 and 0, have a mean whose standard error is 0.25
    assert risk["half_width"] == pytest.approx(stats.t.ppf(0.975, 1) * 0.25)
    # by the delta method each item's share moves its logit by 1 / (p (1 - p)), of 0.625 and of 0.375
    spread = 0.625 * 0.375
    assert of["a", "log_odds_ratio"]["half_width"] == pytest.approx(stats.t.ppf(0.975, 1) * 0.25 / spread)
    pooled = 88 * spread / 86
    d = 0.25 / np.sqrt(pooled)
    assert of["a", "d"]["half_width"] == pytest.approx(
        stats.t.ppf(0.975, 1) * np.sqrt(0.25**2 / pooled + d**2 / (2 * 88))
    )
    none = of["b", "risk_difference"]
    assert (none["n_trials"], none["n_items"], none["estimate"], none["reason"]) == (8, 0, None, "missing_pair")


def test_between_arms_whose_items_differ_each_arm_has_the_error_of_its_own_items():
    of = of_shares(
        ("a", "gain", "one", 4, 4), ("a", "gain", "two", 4, 2),
        ("a", "loss", "three", 4, 1), ("a", "loss", "four", 4, 2),
        pairing="between",
    )  # fmt: skip
    row = of["a", "risk_difference"]
    assert (row["estimate"], row["n_items"]) == (0.375, 2)
    error = np.sqrt(np.var([1, 0.5], ddof=1) / 2 + np.var([0.25, 0.5], ddof=1) / 2)
    assert row["half_width"] == pytest.approx(stats.t.ppf(0.975, 1) * error)


def test_3_months_between_demands_of_3_and_9_are_half_of_the_way():
    studies = pd.DataFrame([{
        "human_study": "h", "low_anchor": 3, "high_anchor": 9, "low_mean": 4, "high_mean": 7, "t": 0.5, "df": 2,
        "n_participants": 4,
    }])  # fmt: skip
    index, d = table(human_effects(studies), HUMAN_EFFECTS).to_pylist()
    assert (index["measure"], index["estimate"]) == ("anchoring_index", 0.5)
    assert index["half_width"] == pytest.approx(stats.t.ppf(0.975, 2) * 3 / 0.5 / 6)
    assert (d["measure"], d["estimate"]) == ("d", 0.5)
    assert d["half_width"] == pytest.approx(NORMAL * np.sqrt(1 / 2 + 1 / 2 + 0.25 / 8))


def test_two_instruments_of_one_measure_are_two_effects():
    rows = [
        SHARE | {"instrument": f"design_effect_{size}", "llm": "a", "arm": arm, "item": None, "n_asked": n,
                 "n_trials": n, "sum_of_values": k, "sum_of_squares": k}
        for size, n in ((1, 100), (5, 20)) for arm, k in (("gain", n // 2), ("loss", n // 4))
    ]  # fmt: skip
    paradigms = pd.DataFrame([FRAMING | {"measure": "chose_sure", "pairing": "vignette"}])
    contrasts = pd.DataFrame([FRAMING | {"arm": "gain", "arm_b": "loss"}])
    effects = table(effects_on_llms(NONE, pd.DataFrame(rows), paradigms, contrasts), EFFECTS).to_pylist()
    differences = [row for row in effects if row["measure"] == "risk_difference"]
    assert [(row["instrument"], row["estimate"], row["n_trials"]) for row in differences] == [
        ("design_effect_1", 0.25, 200), ("design_effect_5", 0.25, 40)
    ]  # fmt: skip
    narrow, wide = (row["half_width"] for row in differences)
    assert wide == pytest.approx(narrow * np.sqrt(5))


def test_the_fewest_participants_are_told_in_words():
    assert {"ten": FEWEST_PARTICIPANTS}[TEN] == 10
