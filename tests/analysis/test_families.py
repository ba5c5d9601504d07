"""What the frozen families of a study let its decisions be called."""

import duckdb
import pandas as pd
import pytest

from analysis.engine.families import Standing, of_studies, standing, why_not_established

COLUMNS = [
    "study", "paradigm", "domain", "goal", "n_families", "is_frozen", "is_exploratory", "error_at_most", "reason",
    "compared", "margin",
]  # fmt: skip
ROWS = [["sacd", "no_technique", "control"], ["sacd", "random_control", "placebo"]]
JUDICIAL = {"study": "s", "paradigm": "anchoring", "domain": "judicial", "goal": "gap"}
BIAS = {"study": "s", "paradigm": "framing", "domain": None, "goal": "bias"}


def families(*changes):
    """Rows of int_families: a frozen one in judicial, and another in each change."""
    frozen = dict(zip(COLUMNS[4:], (1, True, False, 0.05, None, ROWS, 5.0), strict=True))
    return pd.DataFrame([JUDICIAL | frozen, *(JUDICIAL | frozen | change for change in changes)], columns=COLUMNS)


def test_what_was_frozen_before_the_first_call_stands_in_no_way_of_being_established():
    family = standing(families(BIAS), **JUDICIAL)
    assert (family.is_frozen, family.reason, family.error_at_most, family.margin) == (True, None, 0.05, 5)
    assert why_not_established(family, ROWS, margin=5.0) is None
    assert why_not_established(family, ROWS[:1], margin=5.0) is None


@pytest.mark.parametrize("there", [families(), families().iloc[:0]])
def test_without_a_row_nothing_was_frozen_and_one_family_is_decided_on_all_the_same(there):
    family = standing(there, **JUDICIAL | {"goal": "error"})
    assert family == Standing()
    assert (family.n_families, family.error_at_most) == (1, 0.05)
    assert why_not_established(family, ROWS, margin=5.0) == "family_not_frozen"


def test_a_later_family_is_said_to_be_one_and_its_errors_add_up():
    later = {"domain": "loan", "n_families": 3, "is_frozen": False, "is_exploratory": True, "error_at_most": 0.15}
    family = standing(families(later | {"reason": "family_changed"}), **JUDICIAL | {"domain": "loan"})
    assert (family.n_families, family.error_at_most, family.is_exploratory) == (3, 0.15, True)
    assert why_not_established(family, ROWS, margin=5.0) == "family_changed"


def test_what_is_decided_beyond_the_family_or_by_another_margin_is_outside_of_it():
    family = standing(families(), **JUDICIAL)
    more = [*ROWS, ["premortem", "no_technique", "control"]]
    assert why_not_established(family, more, margin=5.0) == "outside_the_family"
    assert why_not_established(family, ROWS, margin=4.0) == "outside_the_family"


def test_a_version_of_a_study_has_its_families_and_a_paradigm_without_goals_has_no_domain():
    measured = BIAS | {"margin": None, "compared": ROWS[:1]}
    counts = duckdb.from_query("select unnest(['s', 's', 's@8749ccc', 'other']) as study")
    known = families()
    of_versions = of_studies(duckdb.from_df(known.drop(columns="compared")).project("*, [] as compared"), counts)
    assert sorted(of_versions.project("study, n_families").fetchall()) == [("s", 1), ("s@8749ccc", 1)]
    family = standing(families(measured), **BIAS)
    assert family.compared == {("sacd", "no_technique", "control")}
    assert family.margin is None
    assert why_not_established(family, ROWS[:1], margin=0.05) is None
