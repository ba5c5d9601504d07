"""Decisions on other biases than anchoring with one thing changed: who carries them, and what would turn them."""

import numpy as np
import pandas as pd
import pytest

from tests.analysis.test_outcomes import KEYS, NO_GOALS, answered, asked

CONTRASTS = pd.DataFrame([{"study": "s", "paradigm": "framing", "arm": "gain", "arm_b": "loss"}])
PARADIGMS = pd.DataFrame([{
    **KEYS, "margin": 0.05, "pairing": "item", "is_share": True, "better": "closer_to_reference", "reference": None,
    "answer_kind": "choice", "measured_from": "answer", **NO_GOALS,
}])  # fmt: skip
SHAPE = {"n_items": 12, "n": 20}


def rows(counts, paradigms=PARADIGMS):
    return answered(counts, paradigms, CONTRASTS).query("part == 'multiverse'")


def unanswered(counts, n):
    """The counts of which so many trials more were put in each cell of the technique."""
    return counts.assign(n_asked=counts["n_trials"] + n * (counts["technique"] == "helps"))


def test_the_recommended_row_is_what_is_decided():
    counts = asked({"no_technique": [0.3] * 6, "helps": [0.1, 0.0, 0.2, 0.1, 0.1, -0.3]}, **SHAPE)
    first = rows(counts).query("is_recommended").iloc[0]
    made = answered(counts, PARADIGMS, CONTRASTS)
    of = made.query("part == 'decisions' and technique == 'helps' and llm.isna()").iloc[0]
    names = ["gain", "gain_low", "gain_high", "gain_squared_low", "n_trials", "n_llms", "n_vendors"]
    assert first[[*names, "interval_decision"]].to_list() == of[[*names, "decision"]].to_list()


def test_an_llm_that_carries_a_decision_is_named():
    # all gain 0.1 but one, which loses so much that nothing can be said of the mean
    counts = asked({"no_technique": [0.2] * 7, "helps": [0.05] * 6 + [0.45]}, **SHAPE)
    found = rows(counts)
    assert found["carried_by"].eq("llm 6").all()
    left_out = found[found["excluded_llm"] == "llm 6"].iloc[0]
    assert (left_out["switch"], left_out["interval_decision"], left_out["n_llms"]) == ("llm_left_out", "use", 6)
    assert found.query("is_recommended")["interval_decision"].item() == "no_evidence"
    counts_of_headline = found[["n_specifications", "n_same_decision", "n_left_out", "n_left_out_same"]]
    assert counts_of_headline.drop_duplicates().to_numpy().tolist() == [[1, 1, 7, 6]]


def test_of_five_vendors_none_is_left_out_for_the_decision():
    found = rows(asked({"no_technique": [0.3] * 5, "helps": [0.0] * 5}, **SHAPE))
    assert found["n_left_out"].eq(0).all()
    assert found["carried_by"].isna().all()


def test_answers_that_are_missing_are_taken_for_and_against_the_technique():
    counts = asked({"no_technique": [0.3] * 6, "helps": [0.1] * 6}, **SHAPE)
    assert "refusals" not in set(rows(counts)["switch"])
    found = rows(unanswered(counts, 10)).set_index("refusals")
    recommended = found[found["switch"] == "recommended"].iloc[0]
    least, most = found.loc["least_gain"], found.loc["most_gain"]
    # of 30 trials in each of two arms 10 have no answer: 20 / 30 · 0.1 becomes 0.4 at the most
    assert least["gain"] - recommended["gain"] == pytest.approx(-0.3, abs=0.03)
    assert (least["interval_decision"], most["interval_decision"], recommended["interval_decision"]) == (
        "avoid",
        "use",
        "use",
    )
    numbers = rows(unanswered(counts, 10), PARADIGMS.assign(is_share=False)).set_index("refusals")
    assert numbers.loc["least_gain", "reason"] == "valid_range_unknown"


def test_what_turns_a_bias_round_is_not_used_however_the_missing_would_have_answered():
    counts = asked({"no_technique": [0.4] * 7 + [0.1], "helps": [0.0] * 7 + [-0.35]}, n_items=24, n=50)
    found = rows(unanswered(counts, 2))
    assert set(found.query("switch == 'refusals'")["interval_decision"]) == {"no_evidence"}
    assert found.query("refusals == 'most_gain'")["gain_low"].gt(0).all()
    left_out = found[found["excluded_llm"] == "llm 7"]
    assert left_out["interval_decision"].item() == "use", "without the one whose bias is turned round"


def test_a_moved_bias_is_not_called_equivalent_however_the_missing_would_have_answered():
    counts = asked({"no_technique": [0.3] * 6, "helps": [0.2] * 6}, n_items=24, n=50)
    found = rows(unanswered(counts, 7))
    assert found.query("is_recommended")["interval_decision"].item() == "use"
    least = found.query("refusals == 'least_gain'").iloc[0]
    assert -0.05 < least["gain_low"] < least["gain_high"] < 0.05
    assert (least["interval_decision"], least["reason"]) == ("no_evidence", "bias_moved")


def test_the_other_row_set_is_decided_on_too():
    counts = asked({"no_technique": [0.3] * 6, "helps": [0.1] * 6}, **SHAPE)
    same = rows(pd.concat([counts, counts.assign(row_set="without_suspects")]))
    assert "row_set" not in set(same["switch"])
    fewer = counts[~counts["llm"].isin(["llm 0", "llm 1"])].assign(row_set="without_suspects")
    other = rows(pd.concat([counts, fewer])).query("switch == 'row_set'").iloc[0]
    assert (other["interval_decision"], other["n_llms"], other["reason"]) == ("no_evidence", 4, "too_few_vendors")
    without = counts[counts["technique"] == "no_technique"].assign(row_set="without_suspects")
    none = rows(pd.concat([counts, without])).query("switch == 'row_set'").iloc[0]
    assert (none["interval_decision"], none["reason"], np.isnan(none["gain"])) == ("no_evidence", "no_answers", True)
