"""The band of an expectation over the tokens that an endpoint names."""

import numpy as np
import pandas as pd
import pytest

from analysis.papers.anchor_effects import MEASURED
from analysis.papers.attribution import TARGETS, exact_band
from analysis.papers.top_answers import top_answer_rows
from analysis.tables import table


def condition(**changes):
    named = {"study": "s", "llm": "v/m", "anchor": 9.0, "n_targets": 2, "soft_ev": 15.0, "missing_mass": 0.1}
    distribution = {"numbers": np.array([10.0, 20.0]), "probabilities": np.array([0.5, 0.5]), "is_enough": True}
    return named | distribution | {"reason": None} | changes


def rows_of(*conditions):
    return table(top_answer_rows(pd.DataFrame(conditions)), MEASURED).to_pylist()


def test_the_band_is_that_of_the_same_distribution_over_all_targets():
    (row,) = rows_of(condition())
    with np.errstate(divide="ignore"):
        band = exact_band(np.log(np.isin(TARGETS, [10, 20]) / 2))
    assert (row["band_low"], row["band_high"]) == band == (14.0, 16.0)
    assert (row["part"], row["soft_ev"], row["reason"]) == ("soft_expectations", 15.0, None)


@pytest.mark.parametrize("number", [10.5, -1.0, 101.0])
def test_numbers_that_are_no_targets_have_an_expectation_and_no_band(number):
    (row,) = rows_of(condition(numbers=np.array([number, 20.0])))
    assert (row["band_low"], row["band_high"], row["reason"]) == (None, None, "not_on_targets")
    assert row["soft_ev"] == 15.0


def test_a_condition_with_a_reason_has_neither_and_one_without_an_anchor_keeps_none():
    unread = condition(soft_ev=np.nan, numbers=None, probabilities=None, reason="mass_missing", anchor=np.nan)
    (row, read) = rows_of(unread, condition())
    assert (row["soft_ev"], row["band_low"], row["anchor"], row["reason"]) == (None, None, None, "mass_missing")
    assert (row["missing_mass"], read["anchor"]) == (0.1, 9.0)


def test_without_trials_that_were_asked_there_is_no_row():
    assert rows_of() == []
