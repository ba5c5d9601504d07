"""The open archives as they were published, imported and built: what is known of them, and what the gate finds."""

import pytest

from tests.conftest import SHARED

pytestmark = pytest.mark.slow("imports and builds 71,260 answers")
ARCHIVES = SHARED / "data" / "archives"


@pytest.fixture(scope="module")
def biases(built_once):
    """The answers of eight LLMs to twelve biases, imported and built."""
    folder = ARCHIVES / "cognitive_biases_2026"
    if not folder.is_dir():
        pytest.skip(f"no archive at {folder}; point BAIS_SHARED at a folder that has data/archives")
    return built_once("cognitive-biases", "--archive", folder)


def test_each_answer_lands_once_and_those_of_the_llm_that_kept_silent_are_held_back_by_its_name(biases):
    assert biases.query("select count(*), count(distinct trial_id) from raw.trials") == [(71_260, 71_260)]
    held = "select llm_recorded, count(*) from raw.batches inner join raw.batch_verdicts using (batch_id) {} group by 1"
    failed = dict(biases.query(held.format("where verdict = 'failed'")))
    assert failed["MiniMaxAI/MiniMax-M2.5"] == dict(biases.query(held.format("")))["MiniMaxAI/MiniMax-M2.5"] == 14
    assert biases.query("select count(distinct llm) from marts.trials") == [(7,)]


def test_the_gate_finds_what_is_known_to_be_wrong(biases):
    found = "select check_name, sum(n_offending)::int from raw.batch_checks group by 1"
    known = {"error_as_answer": 4_207, "readings_apart": 241, "other_name": 9_600}
    assert known.items() <= dict(biases.query(found)).items()


def test_a_bias_is_estimated_of_each_paradigm_with_its_direction(biases):
    rows = biases.query(
        "select paradigm, value, low is null from inference.outcome_contrasts "
        "where is_headline and technique = 'no_technique' order by paradigm"
    )
    without_interval = [paradigm for paradigm, _, is_null in rows if is_null]
    assert (len(rows), without_interval) == (14, ["primacy"])  # of one item alone
    assert {paradigm for paradigm, value, _ in rows if value < 0} >= {"primacy", "framing_ratings"}
