"""Agreement of judges as rows of `marts.judge_agreement`."""

import numpy as np
import pandas as pd
import pytest

from analysis.judges import COLUMNS, judge_rows
from analysis.tables import table


def judgements(labels, correct=None, repeats=1):
    """Judgements from one string of labels per text, a judge each; `-` is no label."""
    return pd.DataFrame([
        {"study": "s", "paradigm": "p", "vignette": "v", "technique": "no_technique", "role": "original",
         "judged": text, "judge": f"judge {place % (len(of) // repeats)}", "repeat": place // (len(of) // repeats),
         "label": None if label == "-" else label, "correct": (correct or {}).get(text)}
        for text, of in labels.items() for place, label in enumerate(of)
    ])  # fmt: skip


def rows(of):
    return table(judge_rows(of), COLUMNS).to_pandas()


def value(of, statistic, judge=None):
    found = rows(of)
    found = found[found["statistic"] == statistic]
    found = found[found["judge"].isna() if judge is None else found["judge"] == judge]
    return found["value"].item()


LABELS = {"one": "PPP", "two": "NNU", "three": "UUU", "four": "PN-"}


def test_labels_with_one_missing_have_krippendorffs_alpha_one_half():
    assert value(judgements(LABELS), "krippendorff_alpha") == pytest.approx(0.5)


def test_fleiss_kappa_is_of_the_texts_that_all_have_labelled():
    assert value(judgements(LABELS), "fleiss_kappa") == pytest.approx(17 / 26)


def test_accuracy_is_of_each_judge_and_of_all():
    of = judgements(LABELS, correct={"one": "P", "two": "N", "three": "U"})
    assert value(of, "accuracy", "judge 2") == pytest.approx(2 / 3)
    assert value(of, "accuracy") == pytest.approx(8 / 9)
    assert "accuracy" not in set(rows(judgements(LABELS))["statistic"])


def test_a_judge_that_is_asked_again_agrees_with_itself_as_often_as_it_says_the_same():
    # two judges, twice: judge 0 says P, P and N, P; judge 1 always P; between judges the first labels count
    of = judgements({"one": "PPPP", "two": "NPPP"}, repeats=2)
    assert value(of, "retest", "judge 0") == 0.5
    assert value(of, "retest", "judge 1") == 1
    assert value(of, "agreement") == 0.5


def test_of_one_judge_alone_there_is_no_agreement_with_others():
    assert set(rows(judgements({"one": "P", "two": "N"}, correct={"one": "P", "two": "P"}))["statistic"]) == {
        "accuracy"
    }


def test_without_judgements_the_table_is_empty():
    assert table(judge_rows(judgements(LABELS)[:0]), COLUMNS).num_rows == 0


def test_accuracy_covers_that_of_a_judge_that_is_right_in_92_percent():
    rng = np.random.default_rng(2)
    right = rng.random((40, 500)) < 0.92
    covered = []
    for of_study in right:
        texts = {f"text {place}": "P" if is_right else "N" for place, is_right in enumerate(of_study)}
        row = rows(judgements(texts, correct=dict.fromkeys(texts, "P"))).query("judge == 'judge 0'").iloc[0]
        covered.append(row["low"] <= 0.92 <= row["high"])
    assert np.mean(covered) > 0.85
