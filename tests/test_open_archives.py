"""The open archives as they were published, imported and built: what is known of them, and what the gate finds."""

import pytest

from bais.main import main
from tests.conftest import ROOT, SHARED
from tests.tools.readme import of_ledger, of_readme

pytestmark = pytest.mark.slow("imports and builds 71,260 answers")
ARCHIVES = SHARED / "data" / "archives"


def archive(name):
    """The folder of an archive; tests that need it are skipped where it is not."""
    folder = ARCHIVES / name
    if not folder.is_dir():
        pytest.skip(f"no archive at {folder}; point BAIS_SHARED at a folder that has data/archives")
    return folder


@pytest.fixture(scope="module")
def biases(built_once):
    """The answers of eight LLMs to twelve biases, imported and built."""
    return built_once("cognitive-biases", "--archive", archive("cognitive_biases_2026"))


@pytest.fixture(scope="module")
def dilemmas(built_once):
    """The counts of six LLMs under fourteen combinations of techniques, imported and built."""
    return built_once("software-engineering", "--archive", archive("software_engineering_2026"))


def test_each_answer_lands_once_and_those_of_the_llm_that_kept_silent_are_held_back_by_its_name(biases):
    assert biases.query("select count(*), count(distinct trial_id) from raw.trials") == [(71_260, 71_260)]
    held = "select llm_recorded, count(*) from raw.batches inner join raw.batch_verdicts using (batch_id) {} group by 1"
    failed = dict(biases.query(held.format("where verdict = 'failed'")))
    assert failed["MiniMaxAI/MiniMax-M2.5"] == dict(biases.query(held.format("")))["MiniMaxAI/MiniMax-M2.5"] == 15
    assert biases.query("select count(distinct llm) from marts.trials") == [(7,)]


def test_the_gate_finds_what_is_known_to_be_wrong(biases):
    found = "select check_name, sum(n_offending)::int from raw.batch_checks group by 1"
    known = {"error_as_answer": 4_207, "readings_apart": 241, "other_name": 9_600, "reading_differs": 1_892}
    assert known.items() <= dict(biases.query(found)).items()
    waiting = (
        "select count(distinct detail), count(*) from raw.flagged_trials "
        "inner join raw.batch_verdicts using (batch_id) "
        "where reason = 'unreadable' and severity = 'quarantined' and verdict != 'failed'"
    )
    ((n_cells, n_trials),) = biases.query(waiting)
    page = (ROOT / "docs" / "importing.md").read_text(encoding="utf-8")
    assert f"{n_cells} cells wait\n(`unreadable`, {n_trials:,} trials)" in page
    assert f"In {known['reading_differs']:,} answers the source" in page


def test_an_interval_is_kept_as_its_text_beside_the_option_that_it_comes_to(biases):
    rows = biases.query(
        "select response_label, count(*), count(*) filter (response_text in ('holds', 'misses')) from marts.trials "
        "where paradigm = 'overconfidence' and text_kept = 'whole' group by 1 order by 1"
    )
    assert rows == [("holds", 2_504, 0), ("misses", 195, 0), (None, 31, 0)]
    found = "select trial_id, response_text from marts.trials where paradigm = 'overconfidence' order by 1 limit 1"
    ((trial_id, text),) = biases.query(found)
    assert text.split()[-1] in biases.bais("trial", trial_id)


def test_a_bias_is_estimated_of_each_paradigm_with_its_direction(biases):
    rows = biases.query(
        "select paradigm, value, low is null from inference.outcome_contrasts "
        "where is_headline and technique = 'no_technique' order by paradigm"
    )
    without_interval = [paradigm for paradigm, _, is_null in rows if is_null]
    assert (len(rows), without_interval) == (15, ["primacy", "primacy_choice", "primacy_ratings"])  # of one item each
    assert {paradigm for paradigm, value, _ in rows if value < 0} == {"framing_ratings", "primacy_ratings"}


def test_of_two_candidates_with_the_same_qualities_the_first_is_held_against_one_half(biases):
    rows = biases.query(
        "select any_value(arm), any_value(arm_b), value, avg((response_label = 'first')::integer) "
        "from inference.outcome_contrasts "
        "inner join marts.trials using (paradigm, llm, technique, arm) "
        "where paradigm = 'primacy' and row_set = 'accepted' and weighting = 'llm' and level = 'items' "
        "and technique = 'no_technique' group by llm, value"
    )
    assert len(rows) == 7
    for *arms, value, share in rows:
        assert (*arms, value) == ("of_two", None, pytest.approx(share - 0.5))


def test_a_gain_is_by_how_much_the_bias_falls_although_items_go_opposite_ways(biases):
    rows = biases.query(
        "select technique, loss_control, loss, gain from inference.decisions "
        "where paradigm = 'decoy' and llm is null and comparison = 'control' order by technique"
    )
    alone = dict(
        biases.query(
            "select technique, value from inference.outcome_contrasts where paradigm = 'decoy' and is_headline "
            "and technique != 'no_technique'"
        )
    )
    assert [technique for technique, *_ in rows] == ["analyst_role", "bias_warning", "chain_of_thought"]
    for technique, loss_control, loss, gain in rows:
        assert gain == pytest.approx(loss_control - loss)
        if technique != "chain_of_thought":  # which lacks two items
            assert loss == pytest.approx(abs(alone[technique]), abs=0.02)


def test_each_bias_is_told_in_17_lines_and_what_its_mean_hides(biases, monkeypatch, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(biases.path))
    for module in ("terminal", "gains"):
        monkeypatch.setattr(f"bais.{module}.terminal_width", lambda: 80)
    told = {}
    for (paradigm,) in biases.query("select distinct paradigm from inference.outcome_contrasts"):
        assert main(["recommend", "--paradigm", paradigm]) == 0
        told[paradigm] = capsys.readouterr().out
    assert {paradigm: len(text.splitlines()) for paradigm, text in told.items() if len(text.splitlines()) > 17} == {}
    assert "  1 of 7  " in told["decoy"]
    assert "below the answers without it in 2 of 5 items" in " ".join(told["anchoring_facts"].split())
    assert main(["recommend", "--paradigm", "framing", "--why"]) == 0
    assert "+24 in 1 LLM: 42.8 instead of 66.4" in capsys.readouterr().out


def test_the_published_indices_recompute_and_ours_has_a_sign_and_an_interval(biases):
    checked = "select recomputes, count(*) from marts.claim_checks where document = 'E' group by 1"
    assert biases.query(checked) == [("yes", 87)]
    held = biases.query(
        "select count(*), count(recommended_low), bool_or(recommended_value < 0) from marts.claim_checks "
        "where document = 'E' and recommended_value is not null"
    )
    # nothing of ours stands beside the index of primacy, which is of two questions, and where a wording is held back
    assert held == [(54, 31, True)]
    assert biases.query("select min(recommended_low), max(recommended_high) from marts.claim_checks") == [(-1, 1)]


def test_the_readme_says_of_both_papers_what_the_ledger_says(biases, dilemmas):
    assert of_readme("E") == of_ledger(biases, "E")
    assert of_readme("F") == of_ledger(dilemmas, "F")


def test_the_published_sensitivities_recompute(dilemmas):
    checked = "select recomputes, count(*) from marts.claim_checks where document = 'F' group by 1"
    assert dilemmas.query(checked) == [("yes", 672)]
    judged = "select count(*), count(holds) from marts.claim_checks where document = 'F'"
    assert dilemmas.query(judged) == [(672, 0)], "the file that prints a number says nothing of whether it is so"
    assert dilemmas.query("select sum(n)::bigint from raw.counts") == [(978_797,)]


def test_what_is_listed_behind_a_claim_is_what_its_number_is_made_of(biases, dilemmas):
    listed = "select trials_query from claims.claim_trials where claim_id = '{}' and part is not distinct from {}"
    ((of_answers,),) = biases.query(listed.format("E-bandwagon_effect-gpt-4.1-mini-baseline", "null"))
    assert len(biases.query(of_answers.rstrip(";"))) == 800
    ((of_counts,),) = dilemmas.query(listed.format("F-gpt-4.1-mini-none", "'framing_effect'"))
    ((*_, n_differ, n_runs),) = dilemmas.query(of_counts.rstrip(";"))
    assert 100 * n_differ / n_runs == pytest.approx(18.561644)


def changes(dilemmas, technique, instrument):
    """By LLM, by how many points of all decisions more of them differ with a technique, with its standard error."""
    rows = dilemmas.query(
        f"""
        with rates as (
            select llm, technique, sum(sum_of_values) / sum(n_trials) as rate, sum(n_trials) as n from marts.counts
            where instrument = '{instrument}' group by all
        )
        select llm, 100 * (a.rate - b.rate), 100 * sqrt(a.rate * (1 - a.rate) / a.n + b.rate * (1 - b.rate) / b.n)
        from rates as a inner join rates as b using (llm)
        where a.technique = '{technique}' and b.technique = 'no_technique'
        """
    )
    return {llm: (change, error) for llm, change, error in rows}


@pytest.mark.parametrize("instrument", ["design_effect_1", "design_effect_5"])
def test_chain_of_thought_makes_more_decisions_differ_and_a_warning_fewer(dilemmas, instrument):
    thought = changes(dilemmas, "chain_of_thought", instrument)
    found = sorted(change for change, _ in thought.values())
    assert (len(found), found[0], found[-1]) == (6, pytest.approx(0.085, abs=0.01), pytest.approx(4.96, abs=0.01))
    sure = {llm for llm, (change, error) in thought.items() if change > 1.96 * error}
    assert "openai/gpt-4o-mini" not in sure
    assert len(sure) == 4
    warned = [change for change, _ in changes(dilemmas, "bias_warning", instrument).values()]
    assert (min(warned), max(warned)) == (pytest.approx(-4.4, abs=0.1), pytest.approx(-2.1, abs=0.1))


def test_nothing_is_decided_about_other_llms_where_three_vendors_were_asked(dilemmas):
    decided = "select distinct certainty from inference.decisions where llm is null and comparison = 'control'"
    assert dilemmas.query(decided) == [("too_few_vendors",)]


def test_an_unsigned_measure_is_held_against_nothing(dilemmas):
    rows = "select count(*), count(low), bool_and(contains(reason, 'unsigned')) from inference.outcome_contrasts"
    ((n, n_bounded, are_unsigned),) = dilemmas.query(rows)
    assert (n > 1000, n_bounded, are_unsigned) == (True, 0, True)
    assert dilemmas.query("select count(*) from marts.human_comparisons") == [(0,)]


def test_counts_are_exported_and_come_back_once(dilemmas, new_warehouse, tmp_path):
    dilemmas.bais("export", tmp_path / "out")
    for _ in range(2):
        new_warehouse.bais("import", tmp_path / "out")
    kept = (
        "select count_id, study, llm_recorded, paradigm, technique, value, n, n_clusters from raw.counts order by all"
    )
    assert new_warehouse.query(kept) == dilemmas.query(kept)


def test_a_bias_of_counts_is_recommended_on_and_nothing_of_it_is_without_bias(dilemmas):
    said = dilemmas.bais("recommend", "--paradigm", "framing_dilemmas")
    assert "are of 3 vendors" in said
    assert "does not say how large a bias is" in said
    assert "would be without bias" not in said
