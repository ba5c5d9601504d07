"""How often answers change the framing of their sources, and what is left of it without the errors of judges."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.papers.framing import COLUMNS, framing_rows, judging_of
from analysis.tables import table

LABELS = np.array(["N", "P", "U"])
ACCURACY = 0.92


def judged(true, rng, accuracy=ACCURACY):
    """What a judge says of texts: the true label, or each other one as often."""
    wrong = (true + rng.integers(1, len(LABELS), len(true))) % len(LABELS)
    return np.where(rng.random(len(true)) < accuracy, true, wrong)


def texts_of(true, original, identity):
    names = [f"text {place}" for place in range(len(true))]
    roles = {"original": original, "identity": identity}
    return pd.concat([
        pd.DataFrame({"study": "s", "role": role, "judged": names, "label": LABELS[said], "correct": LABELS[true]})
        for role, said in roles.items() if said is not None
    ])  # fmt: skip


def framings_of(original, by_llm):
    return pd.concat([
        pd.DataFrame({
            "study": "s", "paradigm": "retelling", "llm": llm, "technique": "no_technique", "vignette": "v",
            "item": [f"text {place}" for place in range(len(original))], "source_label": LABELS[original],
            "answer_label": LABELS[said], "n_trials": 1,
        })
        for llm, said in by_llm.items()
    ])  # fmt: skip


def found(framings, texts):
    return table(framing_rows(framings, texts), COLUMNS).to_pandas()


def of_faithful(n_texts, *, is_correlated=False, seed=1, llms=("a",), share_changed=0.0):
    """Answers that keep the framing but for a share of the texts, and a judge whose errors may come back."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, len(LABELS), n_texts)
    original = judged(true, rng)
    again = (lambda of: np.where(of == true, original, judged(of, rng))) if is_correlated else (
        lambda of: judged(of, rng)
    )  # fmt: skip
    by_llm = {}
    for llm in llms:
        turned = (true + rng.integers(1, len(LABELS), n_texts)) % len(LABELS)
        by_llm[llm] = again(np.where(rng.random(n_texts) < share_changed, turned, true))
    return found(framings_of(original, by_llm), texts_of(true, original, again(true)))


def test_independent_errors_of_a_judge_are_taken_off():
    row = of_faithful(5_000, seed=2).query("llm == 'a'").iloc[0]
    assert row["phi"] == pytest.approx(0.15, abs=0.02)
    assert row["phi_low"] < row["phi"] < row["phi_high"]
    assert row["phi_corrected"] == pytest.approx(0, abs=0.03)
    assert row["phi_corrected_low"] <= 0 <= row["phi_corrected_high"]
    assert row["identity_disagreement"] == pytest.approx(row["identity_disagreement_expected"], abs=0.02)
    assert pd.isna(row["reason"])


def test_what_really_changes_is_left():
    row = of_faithful(5_000, share_changed=0.3).query("llm == 'a'").iloc[0]
    assert row["phi"] > 0.34
    assert row["phi_corrected"] == pytest.approx(0.3, abs=0.03)
    assert row["phi_corrected_low"] <= 0.3 <= row["phi_corrected_high"]


def test_errors_that_come_back_are_not_taken_off_and_the_row_says_why():
    row = of_faithful(5_000, is_correlated=True).query("llm == 'a'").iloc[0]
    assert row["phi"] == 0
    assert row[["phi_corrected", "phi_corrected_low", "phi_corrected_high"]].isna().all()
    assert "errors_not_independent" in row["reason"]


def test_errors_that_come_back_every_second_time_are_noticed():
    rng = np.random.default_rng(3)
    true = rng.integers(0, 3, 2_000)
    original = judged(true, rng)
    identity = np.where(rng.random(2_000) < 0.5, original, judged(true, rng))
    assert judging_of(texts_of(true, original, identity)).reason == "errors_not_independent"


def test_few_identity_pairs_show_nothing():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 3, 40)
    assert judging_of(texts_of(true, judged(true, rng), judged(true, rng))).reason == "too_few_identity_pairs"


def test_without_what_the_correction_needs_there_is_none():
    true = np.array([0, 1, 2] * 4)
    texts = texts_of(true, true, true)
    assert judging_of(texts.assign(correct=None)).reason == "no_known_label"
    assert judging_of(texts[texts["role"] == "original"]).reason == "no_identity_pair"
    assert judging_of(texts.assign(correct=texts["correct"].where(texts["correct"] != "U"))).reason == (
        "label_never_known"
    )
    assert judging_of(texts_of(true, np.zeros(12, int), true)).reason == "judges_cannot_tell"


def test_a_judge_that_never_errs_leaves_the_share_as_it_is():
    true = np.array([0, 1, 2] * 4)
    said = np.array([0, 1, 1] * 4)
    row = found(framings_of(true, {"a": said}), texts_of(true, true, true)).query("llm == 'a'").iloc[0]
    assert row["phi_corrected"] == pytest.approx(row["phi"]) == pytest.approx(1 / 3)
    assert (row["phi_corrected_low"], row["phi_corrected_high"]) == pytest.approx((row["phi_low"], row["phi_high"]))


def test_over_few_llms_there_is_no_interval_and_over_five_it_is_wider_than_over_items():
    few = of_faithful(400).query("llm.isna()").iloc[0]
    assert pd.isna(few["phi_low"])
    assert "too_few_llms" in few["reason"]
    rows = of_faithful(1_000, llms="abcdef", share_changed=0.2)
    of_all = rows[rows["llm"].isna()].iloc[0]
    assert of_all["n_llms"] == 6
    assert of_all["phi_corrected"] == pytest.approx(0.2, abs=0.03)
    assert of_all["phi_corrected_low"] < of_all["phi_corrected"] < of_all["phi_corrected_high"]


@pytest.mark.slow("counts on thousands of answers")
def test_the_error_of_the_corrected_share_is_that_of_leaving_out_one_text_after_the_other():
    rng = np.random.default_rng(4)
    true = rng.integers(0, 3, 300)
    original, identity = judged(true, rng, 0.85), judged(true, rng, 0.85)
    turned = np.where(rng.random(300) < 0.3, (true + 1) % 3, true)
    framings, texts = framings_of(original, {"a": judged(turned, rng, 0.85)}), texts_of(true, original, identity)
    row = found(framings, texts).query("llm == 'a'").iloc[0]
    without = []
    for place in range(300):
        left = [rows[rows[name] != f"text {place}"] for rows, name in ((framings, "item"), (texts, "judged"))]
        without.append(next(of for of in framing_rows(*left) if of["llm"] == "a")["phi_corrected"])
    jackknife = np.sqrt(299 / 300 * ((np.array(without) - np.mean(without)) ** 2).sum())
    half = (row["phi_corrected_high"] - row["phi_corrected_low"]) / 2
    assert half / 1.968 == pytest.approx(jackknife, rel=0.05)


@pytest.mark.slow("counts on thousands of answers")
def test_corrected_intervals_hold_the_truth_as_often_as_they_say():
    held = []
    for seed in range(60):
        row = of_faithful(600, seed=seed, share_changed=0.2).query("llm == 'a'").iloc[0]
        if not pd.isna(row["phi_corrected"]):
            held.append(row["phi_corrected_low"] <= 0.2 <= row["phi_corrected_high"])
    assert len(held) >= 45
    assert np.mean(held) >= 0.85


@given(st.integers(0, 2**32 - 1), st.permutations(range(3)))
def test_the_names_of_labels_do_not_matter(seed, order):
    rng = np.random.default_rng(seed)
    true, order = rng.integers(0, 3, 300), np.array(order)
    original, identity, said = (judged(true, rng) for _ in range(3))
    plain, renamed = (
        found(framings_of(name[original], {"a": name[said]}), texts_of(name[true], name[original], name[identity]))
        for name in (np.arange(3), order)
    )
    numbers = [name for name, kind in COLUMNS.items() if kind == "double"]
    pd.testing.assert_frame_equal(plain[numbers], renamed[numbers])
    assert plain["reason"].to_list() == renamed["reason"].to_list()
