"""An answer that was paid for counts as long as its words are the words that would be asked today."""

import collections
import contextlib
import functools
import gzip
import json
import re
import statistics
import sys
from pathlib import Path

import duckdb
import pytest
import yaml

from bais.main import main
from ingest.ask import collected
from ingest.ask.collector import Collector
from ingest.ask.history import of_study
from ingest.ask.responses import Summary
from ingest.ask.spool import COLLECTED, read_state, spool_folder
from ingest.gate import audit as gate
from ingest.land.models import Models
from ingest.studies.design import Cell, Design
from ingest.studies.study import parse_study
from tests.ingest.faults import land_without_dlt

pytestmark = pytest.mark.slow("collects again and again")

# The spool of a study as bais wrote it before templates were filled in: 20 trials, and 3 that were asked again, of
# which the last has all its replies and no line that closes it.
STUDY = yaml.safe_load(Path(__file__).with_name("asked_before.yaml").read_text())
SPOOL = gzip.decompress(Path(__file__).with_name("asked_before.jsonl.gz").read_bytes())


@pytest.fixture
def spool(warehouse):
    """Put the spool where the study looks for it."""
    path = spool_folder("asked-before") / COLLECTED
    path.parent.mkdir(parents=True)
    path.write_bytes(SPOOL)
    return path


@pytest.fixture
def quick(monkeypatch):
    """Summarise cells without DuckDB, in milliseconds: each answer here ends in its number, or is a refusal."""

    def summaries(path, design, n_first):
        answers = collections.defaultdict(list)
        for trial in trials_in(path):
            if trial["replicate"] < n_first and (number := re.search(r"(\d+)\D*$", trial["text"])):
                answers[Cell(*(trial.get(name) for name in Cell._fields))].append(float(number[1]))
        return {
            cell: Summary(len(of), statistics.mean(of), statistics.stdev(of) if len(of) > 1 else None)
            for cell, of in answers.items()
        }

    monkeypatch.setattr("ingest.ask.collector.cell_summaries", summaries)


def changed(change=lambda study: None):
    study = json.loads(json.dumps(STUDY))
    change(study)
    return parse_study(yaml.safe_dump(study))


def vignette(**changes):
    return lambda study: study["vignettes"][0].update(changes)


def words(**changes):
    return lambda study: study["vignettes"][0]["words"].update(changes)


UNSAID = {
    "nothing": lambda study: None,
    "a word that nobody says": words(setting="a road", more="said by nobody"),
    "a word less that nobody says": lambda study: study["vignettes"][0]["words"].pop("setting"),
    "the range": vignette(valid_min=1, valid_max=9999),
    "a source and a domain": vignette(source="somewhere", domain="traffic"),
    "limits": lambda study: study.update(limits={"concurrency": 9, "timeout_s": 3, "max_calls": 999, "attempts": 2}),
    "an LLM's limit": lambda study: study["llms"][0].update(max_tokens=9, top_logprobs=2),
    "a known word written out": vignette(question="Which fine, in dollars, is appropriate for this driver?"),
    "the answer format written out": lambda study: study.update(
        answer_format="End your reply with one line of the form `Answer: <number>`, the number in dollars."
    ),
}
SAID = {
    "a word": words(whom="this man"),
    "the question": vignette(question="Which fine is it?"),
    "the case": vignette(case="Somebody has parked."),
    "the answer format": lambda study: study.update(answer_format="json"),
}


def trials_in(path):
    return [record for record in map(json.loads, path.read_text().splitlines()) if record["kind"] == "trial"]


def test_what_was_asked_again_and_what_is_open_is_known_too(spool):
    n_before = len(trials_in(spool))
    outcome = Collector(Design(changed(UNSAID["a word that nobody says"]))).collect(["refused"])
    assert (outcome.n_before, outcome.n_done, outcome.n_calls) == (20, 1, 0)  # the open one is closed
    assert len(trials_in(spool)) == n_before + 1


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("change", UNSAID.values(), ids=UNSAID)
def test_every_trial_of_an_older_spool_is_known_if_its_words_are_asked_today(spool, change):
    outcome = Collector(Design(changed(change))).collect()
    assert (outcome.n_before, outcome.n_done, outcome.n_calls) == (20, 0, 0)


@pytest.mark.usefixtures("quick")
def test_what_nobody_says_is_no_part_of_a_new_spool_either(warehouse):
    assert Collector(Design(changed())).collect().n_done == 20
    for change in UNSAID.values():
        again = Collector(Design(changed(change))).collect()
        assert (again.n_before, again.n_calls) == (20, 0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("change", SAID.values(), ids=SAID)
def test_other_words_are_another_question_and_back_again_the_old_answers_count(spool, change):
    assert Collector(Design(changed(change))).collect().n_before == 0
    back = Collector(Design(changed())).collect()
    assert (back.n_before, back.n_calls) == (20, 0)


@pytest.mark.usefixtures("quick")
def test_a_temperature_is_part_of_the_question(spool):
    outcome = Collector(Design(changed(lambda study: study.update(temperatures=[0.7, 1])))).collect()
    assert outcome.n_before == 20
    assert outcome.n_done > 0


@pytest.mark.usefixtures("quick")
def test_other_anchor_words_ask_no_baseline_again(spool):
    outcome = Collector(Design(changed(vignette(anchor="A random number: {anchor} dollars.")))).collect()
    assert outcome.n_before == 5  # two baselines and a top-up of them, and two of `sleep_on_it` without an anchor
    assert outcome.n_done > 0


@pytest.mark.usefixtures("quick")
def test_more_answers_to_the_same_words_are_added_to_the_old_ones(spool):
    outcome = Collector(Design(changed(lambda study: study.update(stopping_rule={"minimum": 4})))).collect()
    assert (outcome.n_before, outcome.n_planned) == (22, 8 * 4)  # two that were asked again are fourth ones


def with_fixed_anchors(low, high=9):
    anchors = {"fixed": {"low": low, "high": high}}
    return changed(lambda study: study.update(anchors=anchors, stopping_rule={"minimum": 2}))


@pytest.mark.usefixtures("quick", "warehouse")
def test_of_two_fixed_anchors_the_one_that_stays_keeps_its_answers():
    Collector(Design(with_fixed_anchors(3))).collect()
    history = of_study(with_fixed_anchors(4))
    assert {was.partition(" for ")[0] for was in history.left_out.values()} == {"low anchor 3"}
    assert Collector(Design(with_fixed_anchors(4))).collect().n_done == history.n_again > 0


@pytest.mark.usefixtures("quick", "warehouse")
def test_a_fixed_anchor_that_is_put_back_asks_nothing_again_and_a_third_one_is_counted_once():
    Collector(Design(with_fixed_anchors(3))).collect()
    Collector(Design(with_fixed_anchors(4))).collect()
    assert of_study(with_fixed_anchors(3)).n_again == 0
    assert Collector(Design(with_fixed_anchors(3))).collect().n_done == 0
    n_again = of_study(with_fixed_anchors(5)).n_again
    assert Collector(Design(with_fixed_anchors(5))).collect().n_done == n_again > 0


# What a change orphans is said, and asked


@pytest.fixture
def collect(quick, warehouse, tmp_path, capsys, monkeypatch):
    """Run a command on a changed study, at a terminal where an answer is given; its exit code, output and errors."""

    def run(change, *options, command="collect", answer=None):
        path = tmp_path / "study.yaml"
        path.write_text(yaml.safe_dump(changed(change).model_dump(mode="json", exclude_none=True)))
        for stream in (sys.stdin, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: answer is not None, raising=False)
        monkeypatch.setattr("click.confirm", lambda *_, **__: answer)
        monkeypatch.setattr("ingest.run.shown_progress", lambda: contextlib.nullcontext(lambda collector: None))
        options = (*options, "--no-load") if command == "collect" else options
        code = main([command, str(path), *options])
        return code, *capsys.readouterr()

    return run


QUESTION = vignette(question="Which fine is it?")


def test_without_a_terminal_nothing_is_asked_that_would_orphan_answers_and_the_difference_is_shown(
    spool, collect, golden
):
    before = spool.read_bytes()
    code, out, err = collect(QUESTION)
    assert (code, out) == (2, "")
    assert spool.read_bytes() == before
    assert "22 answers" in err
    assert "    -Which fine, in dollars, is appropriate for this driver?\n    +Which fine is it?\n" in err
    assert err.count("+Which fine is it?") == 1  # though it is said with each technique
    assert "16 answers" in err.splitlines()[-1]
    golden(err)


def test_a_person_who_says_no_pays_nothing_and_one_who_says_yes_is_not_asked_twice(spool, collect, golden):
    before = spool.read_bytes()
    code, _, err = collect(QUESTION, answer=False)
    assert (code, spool.read_bytes()) == (2, before)
    golden(err)
    code, out, _ = collect(QUESTION, "--max-calls", "3", answer=True)
    assert code == 0
    assert "0 collected before" in out
    code, out, err = collect(QUESTION)  # no terminal, and none is needed
    assert code == 0
    assert "0 left" in out
    assert "would be asked again" not in err


def test_orphan_agrees_beforehand(spool, collect):
    assert collect(QUESTION, "--orphan")[0] == 0


def test_back_at_the_old_words_nothing_has_to_be_agreed_to_and_at_the_new_ones_again_neither(spool, collect):
    collect(QUESTION, "--orphan")
    code, out, _ = collect(lambda study: None)
    assert code == 0
    assert "20 collected before, 0 now" in out
    code, out, _ = collect(QUESTION)
    assert code == 0
    assert " 0 now" in out


def test_a_change_back_that_would_ask_anew_is_asked_about(spool, collect):
    twice = [QUESTION, lambda study: study.update(stopping_rule={"minimum": 5})]

    def both(study):
        [change(study) for change in twice]

    assert collect(both, "--orphan")[0] == 0  # five answers a cell to the new words, two or three to the old ones
    code, _, err = collect(twice[1])
    assert code == 2
    assert "    -Which fine is it?\n    +Which fine, in dollars, is appropriate for this driver?\n" in err


def test_the_plan_says_what_would_be_orphaned_and_asks_nothing(spool, collect, golden):
    code, out, _ = collect(QUESTION, command="plan")
    assert code == 0
    golden(out, "22")
    assert "+Which fine is it?" in out
    assert "--orphan" in out
    found = json.loads(collect(QUESTION, "--json", command="plan")[1])["collected"]
    assert (found["trials"], found["orphaned"], found["of_other_versions"]) == (0, 22, 0)


def test_what_does_not_change_the_words_orphans_nothing(spool, collect):
    for change in UNSAID.values():
        code, out, _ = collect(change, command="plan")
        assert code == 0
        assert "orphan" not in out
        assert "words that have changed" not in out


def test_a_trial_that_was_asked_again_is_part_of_the_plan(spool, collect, golden):
    _, out, _ = collect(lambda study: None, command="plan")
    golden(out, "20 trials of this plan", "2 that", "92 calls")


# Versions


def test_a_raised_version_is_a_set_of_its_own_beside_the_old_one(spool, collect, golden):
    code, out, err = collect(vignette(version=3, case="Somebody has parked."))
    assert code == 0
    assert "0 collected before" in out
    golden(err, "22")
    assert "-Somebody has parked where" not in err
    anchors = read_state(spool).anchors
    assert [anchor["vignette_version"] for anchor in anchors] == [2, 3]
    assert anchors[0]["baseline"] != anchors[1]["baseline"] or anchors[0]["decided_at"] < anchors[1]["decided_at"]


def test_a_raised_version_of_a_technique_asks_that_technique_anew_and_nothing_else(spool, collect, golden):
    def raise_it(study):
        study["techniques"][2]["version"] = 4

    _, out, err = collect(raise_it)
    assert "14 collected before, 6 now" in out
    golden(err, "sleep_on_it")


@pytest.fixture
def loaded(quick, warehouse, monkeypatch):
    """Collect changed studies one after the other, load each time or at the end, and return the gate's verdicts."""
    monkeypatch.setattr(collected, "land", functools.partial(land_without_dlt, ()))

    def load(*changes, loads_each=True):
        verdicts = []
        for change in changes:
            Collector(Design(changed(change))).collect()
            if loads_each or change is changes[-1]:
                collected.load_collected("asked-before")
                verdicts += gate.audit()
        return verdicts

    return load


def published(warehouse, sql):
    """Return the rows of a query on the trials that the tables count."""
    with contextlib.closing(duckdb.connect()) as memory:
        memory.execute(f"set TimeZone = 'UTC'; attach '{warehouse}' as warehouse (read_only)")
        models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
        return memory.sql(sql.replace("TRIALS", models.ref("int_trials_published"))).fetchall()


def with_a_third_replicate(change):
    """Add a third replicate, so that there is something new to ask beside what is there."""

    def both(study):
        change(study)
        study["stopping_rule"] = {"minimum": 3}

    return both


@pytest.mark.slow("asks, changes and audits again and again")
def test_answers_to_the_same_words_are_no_other_prompt_though_they_are_hashed_otherwise(spool, loaded, warehouse):
    verdicts = loaded(lambda study: None, with_a_third_replicate(UNSAID["a word that nobody says"]))
    assert [verdict.n_trials for verdict in verdicts] == [22, 4]
    assert "other_prompt" not in unmet_by(verdicts)
    (hashes,) = published(warehouse, "select count(distinct prompt_hash) from warehouse.raw.trials")
    assert hashes[0] > 3  # a new one beside those of the spool


OLD_SET, NEW_SET = "parking@2,sleep_on_it@3", "parking@3,sleep_on_it@3"
COUNTED = "select distinct split_part(batch_id, '/', 2) from TRIALS"
RAISED = vignette(version=3, case="Somebody has parked.")


def unmet_by(verdicts):
    return {check["check_name"] for verdict in verdicts for check in verdict.checks if not check["is_passed"]}


@pytest.mark.slow("asks, changes and audits again and again")
def test_the_tables_count_the_highest_version_and_an_older_one_that_comes_later_is_only_checked(
    spool, loaded, warehouse
):
    verdicts = loaded(lambda study: None, RAISED, with_a_third_replicate(lambda study: None))
    assert [verdict.batch_id.split("/")[1] for verdict in verdicts] == [OLD_SET, NEW_SET, OLD_SET]
    assert not unmet_by(verdicts) & {"other_prompt", "duplicate", "drift", "wrong_anchor"}
    assert verdicts[-1].checks
    assert published(warehouse, COUNTED) == [(NEW_SET,)]
    ((n,),) = published(warehouse, "select count(*) from warehouse.raw.trials")
    assert n == sum(verdict.n_trials for verdict in verdicts) > 40  # all of them are kept


@pytest.mark.slow("asks, changes and audits again and again")
def test_two_versions_that_one_load_brings_are_two_batches(spool, loaded, warehouse):
    verdicts = loaded(lambda study: None, RAISED, loads_each=False)
    assert sorted(verdict.batch_id.split("/")[1] for verdict in verdicts) == [OLD_SET, NEW_SET]
    assert not unmet_by(verdicts) & {"other_prompt", "duplicate", "drift", "wrong_anchor"}
    assert published(warehouse, COUNTED) == [(NEW_SET,)]


def test_a_raised_technique_is_counted_beside_the_others_of_its_study(spool, loaded, warehouse):
    def raise_it(study):
        study["techniques"][2] |= {"version": 4, "turns": ["{opening}", "Sleep. Then: {decision}? {answer_format}"]}

    assert "other_prompt" not in unmet_by(loaded(lambda study: None, raise_it))
    batches = published(
        warehouse,
        "select distinct technique, split_part(batch_id, '/', 2) from TRIALS "
        "inner join (select trial_id, technique from warehouse.raw.trials) using (trial_id) order by all",
    )
    assert batches == [("no_technique", OLD_SET), ("sacd", OLD_SET), ("sleep_on_it", "parking@2,sleep_on_it@4")]
