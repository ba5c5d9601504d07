"""How often answers change the framing of their sources, and what is left of it without the errors of judges."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.methods.confusion import FEWEST_IDENTITY_PAIRS, judging_of
from analysis.papers.framing import COLUMNS, framing_rows
from analysis.tables import table
from tests.tools import judge_coverage
from tests.tools.judge_coverage import LABELS, framings_of, judged, texts_of


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


@pytest.mark.parametrize("accuracy", [0.5, 0.95, 1.0])
def test_how_many_identity_pairs_there_are_decides_and_not_what_they_say(accuracy):
    rng = np.random.default_rng(1)
    true = rng.permutation(np.arange(FEWEST_IDENTITY_PAIRS) % 3)
    texts = texts_of(true, judged(true, rng, accuracy), judged(true, rng, accuracy))
    assert judging_of(texts).reason is None
    few = texts[(texts["role"] == "original") | (texts["judged"] != "text 7")]
    assert judging_of(few).reason == "too_few_identity_pairs"


@pytest.mark.slow("counts on thousands of answers")
def test_a_true_share_comes_out_on_average_and_within_its_interval():
    mean, held, n_corrected = judge_coverage.shares(300, 0.95, np.random.default_rng(3), n_datasets=120)
    assert mean == pytest.approx(0.3, abs=0.015)  # a test of what texts say lets a quarter through
    assert held >= 88
    assert n_corrected >= 112


def test_an_answer_counts_by_its_two_labels_and_each_item_has_what_its_text_says_of_the_judges():
    # right in 3 of 4: C⁻¹ is (3, -1; -1, 3) / 2, and 1 - C⁻¹C⁻¹ (-3, 5; 5, -3) / 2
    texts = texts_of(np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1, 1, 0]), np.zeros(8, int))
    judging = judging_of(texts)
    n = np.zeros((2, 2, 1, 3))
    n[0, 0, 0], n[0, 1, 0] = [3, 0, 2], [1, 4, 0]
    n[:, :, 0, 2] = [[1, 0], [0, 1]]  # of the last item two answers, to a text that is no text of known label
    total, squares = judging.without_errors(n, ["text 0", "text 3", "another"])
    values = np.array([(3 * -1.5 + 2.5) / 4, 2.5, -1.5])
    assert (total / n.sum(axis=(0, 1))).mean() == pytest.approx(values.mean())

    def share(confusion):
        inverse = np.linalg.inv(confusion)
        pairs = (n / n.sum(axis=(0, 1))).sum(axis=(2, 3)) / 3
        return 1 - np.trace(inverse.T @ pairs @ inverse)

    # by how much the share moves as a text moves its row of the confusion, of 4 texts each
    moves = []
    for true, said in zip([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 0], strict=True):
        confusion = judging.confusion.copy()
        confusion[true] += 1e-6 * ((np.arange(2) == said) - confusion[true]) / 4
        moves.append((share(confusion) - share(judging.confusion)) / 1e-6)
    assert sum(moves) == pytest.approx(0, abs=1e-6)
    # texts 0 and 3 are items; one after the other, the other texts go with one of the three
    of_items = [moves[0] + moves[6], moves[1] + moves[3] + moves[4] + moves[7], moves[2] + moves[5]]
    expected = values + 3 * np.array(of_items)
    assert total[0] / n.sum(axis=(0, 1))[0] == pytest.approx(expected, abs=1e-5)
    of_first = [-1.5, -1.5, -1.5, 2.5] + expected[0] - values[0]
    assert squares[0, 0] == pytest.approx((of_first**2).sum(), abs=1e-4)


@pytest.mark.slow("simulates 80 studies of ten LLMs")
def test_decisions_hold_as_often_as_they_say():
    found = judge_coverage.decided(judge_coverage.smaller, 120, 0.9, np.random.default_rng(5), n_datasets=40)
    assert found["held"] >= 90
    assert (
        judge_coverage.decided(judge_coverage.unchanged, 120, 0.9, np.random.default_rng(6), n_datasets=40)["decided"]
        <= 10
    )


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
    true = np.array([0, 1, 2] * 100)
    said = np.array([0, 1, 1] * 100)
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
    true = rng.integers(0, 3, 301)
    original, identity = judged(true, rng, 0.85), judged(true, rng, 0.85)
    turned = np.where(rng.random(301) < 0.3, (true + 1) % 3, true)
    framings, texts = framings_of(original, {"a": judged(turned, rng, 0.85)}), texts_of(true, original, identity)
    row = found(framings, texts).query("llm == 'a'").iloc[0]
    without = []
    for place in range(301):
        left = [rows[rows[name] != f"text {place}"] for rows, name in ((framings, "item"), (texts, "judged"))]
        without.append(next(of for of in framing_rows(*left) if of["llm"] == "a")["phi_corrected"])
    jackknife = np.sqrt(300 / 301 * ((np.array(without) - np.mean(without)) ** 2).sum())
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
