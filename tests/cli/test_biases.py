"""`bais recommend --paradigm`: what it says of a bias and of techniques."""

import contextlib
import json

import duckdb
import pytest

from bais.biases import headlines_on_biases
from bais.main import main

BIAS = {
    "study": "s", "paradigm": "framing", "measure": "chose_sure", "instrument": None, "arm": "gain", "arm_b": "loss",
    "llm": None, "technique": "no_technique", "row_set": "accepted", "weighting": "llm", "level": "both",
    "value": 0.16, "low": 0.05, "high": 0.27, "p_holm": 0.012, "n_tests": 2, "sd_of_items": 0.1, "p_items_alike": 0.4,
    "n_llms": 6, "n_items": 40, "n_trials": 960,
    "reason": None, "is_headline": True,
}  # fmt: skip
DECISION = {
    "study": "s", "paradigm": "framing", "measure": "chose_sure", "instrument": None, "arm": "gain", "arm_b": "loss",
    "llm": None,
    "technique": "sacd", "control": "no_technique", "comparison": "control", "loss": 0.02, "loss_control": 0.16,
    "gain": 0.14, "gain_low": 0.1, "gain_high": 0.18, "gain_asked_low": 0.11, "gain_asked_high": 0.17,
    "decision": "use", "decision_asked": "use",
    "certainty": "established", "n_reversed": 0, "margin": 0.05, "n_llms": 6, "n_trials": 1920, "reason": None,
}  # fmt: skip
OTHER = {"llm": "vendor/other", "level": "items", "is_headline": False, "value": -0.3, "low": -0.4, "high": -0.2}
OWN = DECISION | {
    "llm": "vendor/other", "gain": 0.25, "gain_low": None, "gain_high": None, "gain_asked_low": 0.2,
    "gain_asked_high": 0.3, "decision": "no_evidence", "certainty": "too_few_llms", "n_reversed": 1,
}  # fmt: skip
PREDICTION = {
    **{key: DECISION[key] for key in DECISION if not key.startswith(("decision", "certainty", "gain", "n_", "loss"))},
    "expected_loss": 0.02, "gain": 0.12, "gain_low": -0.02, "gain_high": 0.26, "p_better_than_control": 0.93,
    "n_llms": 6,
}  # fmt: skip
RECOMMENDED = {
    **{key: DECISION[key] for key in ("study", "paradigm", "measure", "instrument", "arm", "arm_b", "technique")},
    "control": "no_technique", "comparison": "control", "decision": "use", "switch": "recommended",
    "excluded_llm": None, "row_set": "accepted", "refusals": "left_out", "is_recommended": True, "n_same_decision": 9,
    "n_specifications": 9, "carried_by": None,
}  # fmt: skip
KINDS = {str: "varchar", type(None): "varchar", float: "double", int: "bigint", bool: "boolean"}


def made(warehouse, table, rows):
    """Make a table of rows that are alike."""
    values = {name: next((row[name] for row in rows if row[name] is not None), None) for name in rows[0]}
    declared = ", ".join(f"{name} {KINDS[type(value)]}" for name, value in values.items())
    warehouse.execute(f"create table {table} ({declared})")
    warehouse.executemany(
        f"insert into {table} values ({', '.join('?' * len(rows[0]))})", [list(row.values()) for row in rows]
    )


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run `bais recommend --paradigm framing` on biases and decisions, and return its stdout."""

    def run(*arguments, biases=(BIAS,), decisions=(DECISION,), turned=(), sources=("recorded",), expect=0):
        path = tmp_path / "some.duckdb"
        path.unlink(missing_ok=True)
        with contextlib.closing(duckdb.connect(str(path))) as warehouse:
            warehouse.execute("create schema inference; create schema marts; create schema seeds")
            warehouse.execute("create table seeds.llm_aliases as select 'other' as alias, 'vendor/other' as llm")
            trials = [{"study": "s", "paradigm": "framing", "source": source, "role": None} for source in sources]
            made(warehouse, "marts.trials", trials)
            made(warehouse, "inference.outcome_contrasts", [BIAS | OTHER, *biases])
            made(warehouse, "inference.outcome_decisions", [OWN, *decisions])
            made(warehouse, "inference.outcome_sensitivity", turned or [RECOMMENDED])
            of_other = {"llm": "vendor/other", "p_better_than_control": 0.88}
            made(warehouse, "inference.outcome_predictions", [PREDICTION, PREDICTION | of_other])
        monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
        assert main(["recommend", "--paradigm", "framing", *arguments]) == expect
        printed = capsys.readouterr()
        return printed.err if expect else printed.out

    return run


def sentence(ask, **bias):
    return ask(biases=[BIAS | bias]).splitlines()[0]


def test_a_bias_is_said_as_the_mean_of_one_arm_above_or_below_that_of_the_other(ask):
    assert sentence(ask) == (
        "chose_sure: without a technique the mean in gain is 0.16 above that in loss (95 % interval of the difference "
        "+0.05 to +0.27): there is a bias, for LLMs and items like the 6 LLMs and 40 items asked."
    )
    below = sentence(ask, value=-0.16, low=-0.34, high=0.02)
    assert "the mean in gain is 0.16 below that in loss" in below
    assert "the data cannot tell it from no bias" in below
    assert "the mean in gain is the same as in loss (95" in sentence(ask, value=0.0, low=-0.1, high=0.1)


@pytest.mark.parametrize(
    ("reason", "n_llms", "said"),
    [
        ("too_few_llms", 4, "How sure that is cannot be said: only 4 LLMs were asked (five are needed)."),
        ("too_few_llms", 1, "How sure that is cannot be said: only 1 LLM was asked (five are needed)."),
        ("one_item", 6, "How sure that is cannot be said: only one item was asked in an arm."),
        ("zero_variance", 6, "How sure that is cannot be said: the answers of all LLMs on all items are alike."),
    ],
)
def test_without_an_interval_the_sentence_says_why(ask, reason, n_llms, said):
    found = sentence(ask, low=None, high=None, reason=reason, n_llms=n_llms)
    assert found == f"chose_sure: without a technique the mean in gain is 0.16 above that in loss. {said}"


def test_a_bias_without_any_usable_answer_is_said_to_have_been_asked_in_vain(ask, tmp_path, capsys):
    ask()
    of = {"study": "s", "paradigm": "silent", "measure": "m", "value": None, "reason": "refused"}
    with contextlib.closing(duckdb.connect(str(tmp_path / "some.duckdb"))) as warehouse:
        made(warehouse, "marts.outcomes", [of, of])
    assert main(["recommend", "--paradigm", "silent"]) == 2
    said = capsys.readouterr().err
    assert "silent was asked" in said
    assert "m of study s in 2 trials, none with a usable answer (refused)" in said
    assert "`bais trials --study s` shows what was replied" in said


def test_arms_that_no_llm_has_both_of_are_said_not_to_be_comparable(ask):
    found = sentence(ask, value=None, low=None, high=None, reason="no_pair", n_llms=0, n_items=0)
    assert found == "chose_sure: no LLM has answers in gain and in loss that can be compared."


def test_a_row_of_the_table_says_what_each_technique_does_to_the_bias(ask):
    out = ask(biases=[BIAS, BIAS | {"technique": "sacd", "value": 0.02, "low": -0.04, "high": 0.08}])
    (row,) = [" ".join(line.split()) for line in out.splitlines() if " sacd " in line]
    assert row == "chose_sure gain less loss sacd +0.02 (-0.04 to +0.08) 0.01 use +0.14 (+0.1 to +0.18) 0.93 0"
    assert out.splitlines()[-1].startswith("Study: s. Warehouse: ")
    said = " ".join(out.split())
    assert "ewer than five LLMs" not in said
    assert "so it is not the difference of the two biases above, in which opposite biases cancel." in said
    assert "Reversed: in how many LLMs the technique turns the bias round" in said
    assert "P(better): how probable it is that the technique makes the bias smaller in one more LLM that nobody" in said
    assert "How sure of “use”: established for LLMs like those asked." in said
    assert "SIMULATED" not in out


def test_what_missing_answers_could_turn_and_what_carries_a_decision_is_said(ask):
    def said(reason=None, **recommended):
        counted = {"n_same_decision": 6, "n_specifications": 9} | recommended
        turned = [RECOMMENDED | counted, RECOMMENDED | counted | {
            "switch": "refusals", "refusals": "least_gain", "decision": "avoid", "is_recommended": False,
        }]  # fmt: skip
        return " ".join(ask(biases=[BIAS], decisions=[DECISION | {"reason": reason}], turned=turned).split())

    named = "sacd (chose_sure, gain less loss)"
    out = said("attrition_could_reverse; one_technique", carried_by="vendor/other")
    assert f"Missing answers could reverse what is said of {named}." in out
    assert (
        f"{named}: the same decision in 6 of 9 ways of counting, another with the missing answers taken as the worst "
        "for it or without vendor/other."
    ) in out
    assert "p, by Holm: how probable a bias at least so large is by chance if there is none" in out
    assert f"Had every trial been answered, the decision on {named} could be another." in said("attrition_could_change")
    assert "issing answers could" not in said()


def test_a_bias_that_cannot_be_told_from_none_is_not_called_none_where_items_differ(ask):
    of_none = {"value": 0.01, "low": -0.1, "high": 0.12, "sd_of_items": 0.31}
    out = sentence(ask, **of_none, p_items_alike=0.001)
    assert out.endswith(
        "Items differ in it (standard deviation 0.31), so opposite biases of items may cancel in this mean."
    )
    assert "Items differ" not in sentence(ask, **of_none, p_items_alike=0.4)
    assert sentence(ask, p_items_alike=0.001).endswith("Items differ in it (standard deviation 0.1).")


def test_a_decision_that_another_contrast_contradicts_says_so_in_words_of_this_bias(ask):
    out = " ".join(ask(decisions=[DECISION | {"certainty": "contradicted_elsewhere"}]).split())
    assert "How sure of “use”: another measure or another comparison of arms of this bias says the opposite." in out


def test_of_fewer_than_five_llms_it_is_said_that_they_stand_for_no_others(ask):
    few = DECISION | {"decision": "no_evidence", "certainty": "too_few_llms", "gain_low": None, "gain_high": None}
    out = ask(decisions=[few | {"n_llms": 4}])
    assert "How sure of “no evidence”: fewer than five LLMs were asked, too few to speak of others." in out


def test_of_one_llm_its_own_bias_and_gain_are_shown_and_not_those_of_all(ask):
    with_technique = [BIAS, BIAS | OTHER | {"technique": "sacd", "value": -0.05, "low": -0.15, "high": 0.05}]
    for name in ("vendor/other", "other"):
        out = ask("--llm", name, biases=with_technique)
        said = " ".join(out.split())
        assert "the mean in gain is 0.3 below that in loss" in said
        assert "there is a bias, for vendor/other and items like the 40 asked." in said
        (row,) = [" ".join(line.split()) for line in out.splitlines() if " sacd " in line]
        assert row == "chose_sure gain less loss sacd -0.05 (-0.15 to +0.05) 0.01 use +0.25 (+0.2 to +0.3) 0.88 yes"
        assert "ewer than five LLMs" not in said


def test_of_an_llm_that_was_not_asked_the_prediction_for_one_more_is_shown(ask):
    out = ask("--llm", "vendor/none", biases=[BIAS, BIAS | {"technique": "sacd"}])
    assert "vendor/none was not asked: what follows is of the LLMs that were, and of one more like them." in out
    (row,) = [" ".join(line.split()) for line in out.splitlines() if " sacd " in line]
    assert row.endswith("use +0.12 (-0.02 to +0.26) 0.93 0")
    assert "there is no LLM nobody" in ask("--llm", "nobody", expect=2)


def test_simulated_respondents_are_named_before_anything_is_said_of_a_bias(ask):
    out = ask(sources=["simulated"])
    assert out.splitlines()[0] == "SIMULATED respondents, no LLM was asked."
    assert "like the 6 respondents and 40 items asked" in " ".join(out.split())
    assert ask(sources=["api", "simulated"]).splitlines()[0] == "Some respondents are SIMULATED and no LLMs."
    assert json.loads(ask("--json", sources=["simulated"]))["sources"] == ["simulated"]


def test_as_json_all_rows_of_the_llm_that_was_asked_for_are_given(ask):
    found = json.loads(ask("--json", "--llm", "vendor/other"))
    assert found["biases"] == [{key: (BIAS | OTHER)[key] for key in found["biases"][0]}]
    assert [row["llm"] for row in found["decisions"] + found["predictions"]] == ["vendor/other"] * 2
    assert found["is_asked"]


@pytest.mark.parametrize(
    ("biases", "decisions", "said"),
    [
        (
            [BIAS], [DECISION],
            "framing: there is a bias without a technique (chose_sure, gain less loss, +0.16 (+0.05 to +0.27)); use "
            "sacd.",
        ),
        (
            [BIAS, BIAS | {"arm": "other", "value": 0.01, "low": -0.2, "high": 0.22}], [DECISION],
            "framing: there is a bias without a technique in 1 of 2 comparisons (clearest chose_sure, gain less loss, "
            "+0.16 (+0.05 to +0.27)); use sacd.",
        ),
        (
            [BIAS | {"low": -0.05}], [],
            "framing: the data cannot tell it from no bias without a technique (chose_sure, gain less loss, +0.16 "
            "(-0.05 to +0.27)); no technique was asked.",
        ),
        (
            [BIAS | {"low": None, "high": None, "reason": "too_few_llms", "n_llms": 2}],
            [DECISION | {"decision": "no_evidence"}],
            "framing: without a technique chose_sure, gain less loss, +0.16, and how sure that is cannot be said: only "
            "2 LLMs were asked (five are needed); no technique is shown to make it smaller or larger.",
        ),
    ],
)  # fmt: skip
def test_a_headline_says_the_clearest_bias_of_a_paradigm_and_what_helps(biases, decisions, said):
    with contextlib.closing(duckdb.connect()) as warehouse:
        warehouse.execute("create schema inference")
        made(warehouse, "inference.outcome_contrasts", [BIAS | OTHER, *biases])
        made(warehouse, "inference.outcome_decisions", [OWN, *decisions])
        assert headlines_on_biases(warehouse, "s") == [f"{said} `bais recommend --paradigm framing` says more."]


def test_a_measure_of_one_arm_is_said_as_how_far_its_mean_is_from_the_reference(ask):
    one_arm = BIAS | {"measure": "primacy_margin", "instrument": "tfidf", "arm": "asked", "arm_b": None}
    out = " ".join(ask(biases=[one_arm], decisions=[DECISION | {"arm_b": None, "instrument": "tfidf"}]).split())
    assert (
        "primacy_margin (tfidf): without a technique the mean differs from its reference by +0.16 (95 % interval "
        "+0.05 to +0.27), for LLMs and items like the 6 LLMs and 40 items asked."
    ) in out
    few = one_arm | {"low": None, "high": None, "n_llms": 4, "reason": "too_few_llms"}
    assert "differs from its reference by +0.16. How sure that is cannot be said: only 4 LLMs were asked" in " ".join(
        ask(biases=[few]).split()
    )
