"""The rows of `int_losses`, worked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engine.domain_losses import DomainLosses
from analysis.engine.effects import LOSSES, loss_rows
from analysis.engine.losses import NONE, Goal, Moments
from analysis.engine.questions import questions_on_goals
from analysis.methods.small_samples import FEW_BASELINE, FEWEST_BASELINE
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, SAME_PROMPT, counts_of

percents = st.floats(0, 500)
GOALS = ("displacement", "gap", "error")
COLUMNS = ("loss", "signed", "base_loss", "loss_least", "loss_most", "n_asked", "n_missing", "n_trials", "n_base")


def answers(llm, by_condition):
    """Answers to anchors of an LLM, by technique and direction."""
    return pd.DataFrame(
        [
            {
                "llm": llm, "vignette": "v", "technique": technique, "anchor_direction": direction,
                "row_set": "accepted", "response_source": "reparsed", "response": float(answer), "n_trials": 1,
            }
            for (technique, direction), given in by_condition.items() for answer in given
        ]
    )  # fmt: skip


def rows_of(*answered, missing=()):
    """Rows of `int_losses`."""
    counts = counts_of(pd.concat(answered), pd.DataFrame(missing))
    asked = questions_on_goals(counts, NOTHING_STATED, {}, SAME_PROMPT, margin=5.0, response_source="reparsed")
    return table(loss_rows(asked), LOSSES).to_pylist()


def test_losses_of_two_llms_worked_by_hand():
    # of `a` the baseline is 100; 60 and 80 under the low anchor, where a third trial has no answer from 0 to 200
    a = answers(
        "a",
        {
            ("no_technique", "none"): [90, 110] * 5,
            ("no_technique", "low"): [60, 80],
            ("no_technique", "high"): [140, 180],
            ("sacd", "low"): [90, 100],
        },
    )
    missing = {
        "llm": "a", "vignette": "v", "technique": "no_technique", "anchor_direction": "low", "n_missing": 1,
        "valid_min": 0.0, "valid_max": 200.0,
    }  # fmt: skip
    # of `b` the baseline is 50, of nine answers; it answers 110 % to the low anchor, and 80 % and 90 % to the high one
    b = answers(
        "b",
        {
            ("no_technique", "none"): [40, 60] * 4 + [50],
            ("no_technique", "low"): [55],
            ("no_technique", "high"): [40, 45],
        },
    )
    rows = rows_of(a, b, missing=[missing])
    assert {(row["study"], row["paradigm"], row["domain"], row["vignette"]) for row in rows} == {
        ("s", "anchoring", "d", "v")
    }
    assert {row["goal"] for row in rows if row["leads"]} == {"displacement"}
    expected = {
        # 70 % and 160 %; had it answered, the mean of the three is from 140/3 to 340/3
        ("a", "no_technique", "displacement"): [45, None, None, 60 / 2, (160 / 3 + 60) / 2, 5, 1, 4, 10],
        ("a", "no_technique", "gap"): [90, 90, None, 160 - 340 / 3, 160 - 140 / 3, 5, 1, 4, 10],
        # single answers are 40, 20, 40 and 80 away, and the one that is missing 0 to 100
        ("a", "no_technique", "error"): [45, None, 10, (60 / 3 + 60) / 2, (160 / 3 + 60) / 2, 5, 1, 4, 10],
        ("b", "no_technique", "displacement"): [12.5, None, None, 12.5, 12.5, 3, 0, 3, 9],
        ("b", "no_technique", "gap"): [25, -25, None, 25, 25, 3, 0, 3, 9],
        ("b", "no_technique", "error"): [12.5, None, 160 / 9, 12.5, 12.5, 3, 0, 3, 9],
        # without an answer under the high anchor there is no loss; the baseline is as far from its mean as ever
        ("a", "sacd", "displacement"): [None] * 5 + [2, 0, 2, 10],
        ("a", "sacd", "gap"): [None] * 5 + [2, 0, 2, 10],
        ("a", "sacd", "error"): [None, None, 10, None, None, 2, 0, 2, 10],
    }
    found = {(row["llm"], row["technique"], row["goal"]): row for row in rows}
    assert len(rows) == len(found)
    assert set(found) == set(expected)
    for place, values in expected.items():
        assert {name: found[place][name] for name in COLUMNS} == pytest.approx(dict(zip(COLUMNS, values, strict=True)))
    assert {place: row["reason"] for place, row in found.items()} == {
        **{("a", "no_technique", goal): "baseline_below_30" for goal in GOALS},
        **{("b", "no_technique", goal): "baseline_below_10" for goal in GOALS},
        **{("a", "sacd", goal): "missing_direction; baseline_below_30" for goal in GOALS},
    }


def test_shift_half_gap_and_log_ratio_worked_by_hand():
    # of 100, 70 and 160 are as many percent: together 15 above, each 45 from there
    a = {
        ("no_technique", "none"): [90, 110] * 5,
        ("no_technique", "low"): [60, 80],
        ("no_technique", "high"): [140, 180],
    }
    # of 50, 55 is 110 % and 40 and 45 are 85 %: together 2.5 below, turned round; 0 has no logarithm
    b = {("no_technique", "none"): [40, 60] * 5, ("no_technique", "low"): [55], ("no_technique", "high"): [40, 45]}
    c = {("no_technique", "none"): [40, 60] * 5, ("no_technique", "low"): [0], ("no_technique", "high"): [25]}
    rows = {(row["llm"], row["goal"]): row for row in rows_of(answers("a", a), answers("b", b), answers("c", c))}
    names = ("signed_shift", "shift", "half_gap", "log_ratio")
    expected = {
        "a": (15, 15, 45, math.log(160 / 70)), "b": (-2.5, 2.5, 12.5, math.log(85 / 110)), "c": (-75, 75, 25, None),
    }  # fmt: skip
    for llm, (*apart, log_ratio) in expected.items():
        assert [rows[llm, "gap"][name] for name in names] == pytest.approx([*apart, log_ratio])
        assert [rows[llm, "displacement"][name] for name in names] == [*map(pytest.approx, apart), None]
        assert [rows[llm, "error"][name] for name in names] == [None] * 4


@given(low=percents, high=percents)
def test_squared_distances_from_the_baseline_are_the_shift_and_half_the_gap_squared(low, high):
    moments = Moments(*(np.array([[[[low, high]]]]) for _ in range(6)), np.zeros((1, 1, 1)), np.full((1, 1, 1), 30.0))
    apart = DomainLosses.of_moments(["l"], ["v"], ["t"], moments).apart("displacement")
    squared = ((low - 100) ** 2 + (high - 100) ** 2) / 2
    assert (apart["shift"] ** 2 + apart["half_gap"] ** 2).item() == pytest.approx(squared, rel=1e-9, abs=1e-6)


def test_goals_that_name_more_or_fewer_arms_beside_the_base_have_no_shift():
    goals = {
        "one": Goal((("middle", NONE),)), "three": Goal((("low", "middle"), ("high", "middle"))),
        "two": Goal((("middle", "low"),)), "turned": Goal(((NONE, "low"), (NONE, "high"))),
    }  # fmt: skip
    a = {("no_technique", arm): [n] * 10 for arm, n in {"none": 10, "low": 5, "middle": 8, "high": 12}.items()}
    losses = DomainLosses(counts_of(answers("a", a)), NONE, goals)
    found = {name: {part: float(value.item()) for part, value in losses.apart(name).items()} for name in goals}
    assert found["one"] == found["three"] == {}
    assert found["two"] == pytest.approx({"signed_shift": -35, "shift": 35, "half_gap": 15, "log_ratio": math.log(1.6)})
    assert found["turned"] == pytest.approx({"signed_shift": -15, "shift": 15, "half_gap": 35})


@pytest.mark.parametrize(
    ("n_baseline", "reason"),
    [
        (0, "no_baseline"),
        (FEWEST_BASELINE - 1, f"baseline_below_{FEWEST_BASELINE}"),
        (FEWEST_BASELINE, f"baseline_below_{FEW_BASELINE}"),
        (FEW_BASELINE - 1, f"baseline_below_{FEW_BASELINE}"),
        (FEW_BASELINE, None),
    ],
)
def test_a_loss_says_of_how_few_answers_its_baseline_is(n_baseline, reason):
    cells = {("no_technique", "none"): [10] * n_baseline, ("sacd", "low"): [5, 6], ("sacd", "high"): [14, 15]}
    rows = rows_of(answers("a", cells))
    assert [row["reason"] for row in rows] == [reason] * 3
    assert [row["n_base"] for row in rows] == [n_baseline] * 3
    assert [row["loss"] is None for row in rows] == [n_baseline == 0] * 3


def test_who_refused_everything_is_there_and_widens_the_bounds():
    given = {("no_technique", "none"): [90, 110] * 5, ("no_technique", "low"): [60], ("no_technique", "high"): [140]}
    silent = answers("b", {("no_technique", "none"): [100] * 10})
    missing = [
        {"llm": "b", "vignette": "v", "technique": "no_technique", "anchor_direction": side, "n_missing": 3,
         "valid_min": 0.0, "valid_max": 300.0}
        for side in ("low", "high")
    ]  # fmt: skip
    rows = {(row["llm"], row["goal"]): row for row in rows_of(answers("a", given), silent, missing=missing)}
    row = rows["b", "displacement"]
    assert (row["loss"], row["n_asked"], row["n_missing"], row["n_trials"]) == (None, 6, 6, 0)
    assert (row["loss_least"], row["loss_most"], row["reason"]) == (0, 200, "missing_direction; baseline_below_30")
    assert rows["a", "displacement"]["loss"] == 40
