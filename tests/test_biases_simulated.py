"""The six shipped biases from the words to a table: what simulated respondents were told to do is found again."""

from itertools import product

import pytest

from ingest.paradigm import load_paradigm

PARADIGMS = ("framing", "sunk_cost", "decoy", "order", "sycophancy", "incidental_anchor")
TECHNIQUES = ("no_technique", "devils_advocate")


@pytest.fixture(scope="module")
def biases(warehouse_in, tmp_path_factory):
    warehouse = warehouse_in(tmp_path_factory.mktemp("biases"))
    warehouse.run("bais", "collect", "biases-simulated")
    tables = ("+outcome_contrasts", "+outcome_decisions", "+outcome_effects", "+item_counts", "+outcomes")
    warehouse.dbt("--quiet", "build", "--select", *tables, "--exclude-resource-type", "unit_test")
    return warehouse


def found(biases, paradigm):
    """The headline of each measure, contrast and technique of a paradigm: estimate and standard error."""
    rows = biases.query(
        "select measure, arm, arm_b, technique, value, standard_error from inference.outcome_contrasts "
        f"where is_headline and paradigm = '{paradigm}'"
    )
    return {tuple(key): (value, error) for *key, value, error in rows}


def answers(paradigm, arm):
    """The options that are shown in an arm, or the labels that there are."""
    (vignette,) = paradigm.vignettes
    of_arm = vignette.arms.get(arm)
    return list((of_arm and of_arm.options) or vignette.options or paradigm.answer.labels)


def stated(paradigm):
    """What the paradigm's file says that an arm does: the share of the answers that a measure counts."""
    truths = {}
    for (name, measure), (arm, arm_b), technique in product(paradigm.measures.items(), paradigm.contrasts, TECHNIQUES):
        shares = [paradigm.shares(of, technique, answers(paradigm, of)) for of in (arm, arm_b)]
        counted = [sum(share for answer, share in of.items() if answer in measure.of) for of in shares]
        truths[name, arm, arm_b, technique] = counted[0] - counted[1]
    return truths


@pytest.mark.parametrize("name", PARADIGMS)
def test_what_an_arm_was_told_to_do_is_found_within_three_standard_errors(biases, name):
    truths, estimates = stated(load_paradigm(name, None)), found(biases, name)
    assert estimates.keys() == truths.keys()
    for key, truth in truths.items():
        value, error = estimates[key]
        assert abs(value - truth) <= 3 * error, (key, value, truth, error)


def test_a_number_that_is_not_about_the_question_shows_nothing(biases):
    rows = biases.query(
        "select low, high from inference.outcome_contrasts where is_headline and paradigm = 'incidental_anchor'"
    )
    assert rows
    assert all(low < 0 < high for low, high in rows)
