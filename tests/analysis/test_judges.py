"""Agreement of judges as rows of `content.judge_agreement`."""

import numpy as np
import pandas as pd
import pytest

from analysis.methods.judges import COLUMNS, judge_rows
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


N_STUDIES, N_TEXTS, RIGHT = 12, 5000, 0.92


@pytest.fixture(scope="module")
def studies():
    """Rows of two judges who are right in 92 % of 5,000 texts and say one of two other labels of the rest, by seed."""
    found = []
    for seed in range(N_STUDIES):
        rng = np.random.default_rng(seed)
        key = rng.integers(0, 3, N_TEXTS)
        wrong = (key + rng.integers(1, 3, (2, N_TEXTS))) % 3
        labels = np.array(["P", "N", "U"])[np.where(rng.random(wrong.shape) < RIGHT, key, wrong)]
        keys = {"study": "s", "paradigm": "p", "vignette": "v", "technique": "no_technique", "role": "original"}
        of_judges = [
            pd.DataFrame({"judged": np.arange(N_TEXTS), "judge": f"judge {place}", "repeat": 0, "label": of_judge})
            for place, of_judge in enumerate(labels)
        ]
        correct = pd.DataFrame({"judged": np.arange(N_TEXTS), "correct": np.array(["P", "N", "U"])[key]})
        found.append(rows(pd.concat(of_judges).assign(**keys).merge(correct, on="judged")))
    return pd.concat(found)


BOTH_SAY_THE_SAME = RIGHT**2 + (1 - RIGHT) ** 2 / 2
BEYOND_CHANCE = (BOTH_SAY_THE_SAME - 1 / 3) / (2 / 3)


@pytest.mark.parametrize(
    ("statistic", "truth"),
    [
        ("accuracy", RIGHT),
        ("agreement", BOTH_SAY_THE_SAME),
        ("cohen_kappa", BEYOND_CHANCE),
        ("fleiss_kappa", BEYOND_CHANCE),
        ("krippendorff_alpha", BEYOND_CHANCE),
    ],
)
def test_what_judges_right_in_92_percent_of_5000_texts_say_is_covered(studies, statistic, truth):
    of = studies[studies["statistic"] == statistic]
    covered = (of["low"] <= truth) & (truth <= of["high"])
    # of 12 intervals of 95 %, fewer than 9 cover in 2 of 1,000 such tests
    assert covered.groupby(of["judge"].fillna("")).sum().min() >= 9
    assert (np.abs(of["value"] - truth) < of["high"] - of["low"]).all()
    assert (of["high"] - of["low"]).max() < 0.04
    assert of["n_texts"].eq(N_TEXTS).all()
