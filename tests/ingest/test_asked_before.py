"""An answer that was paid for counts as long as its words are the words that would be asked today."""

import gzip
import json
from pathlib import Path

import pytest
import yaml

from ingest.collector import Collector
from ingest.spool import COLLECTED, spool_folder
from ingest.study import Design, parse_study

# The spool of a study as bais wrote it before templates were filled in: 20 trials, and 3 that were asked again, of which
# the last has all its replies and no line that closes it.
STUDY = yaml.safe_load(Path(__file__).with_name("asked_before.yaml").read_text())
SPOOL = gzip.decompress(Path(__file__).with_name("asked_before.jsonl.gz").read_bytes())


@pytest.fixture
def spool(warehouse):
    """Put the spool where the study looks for it."""
    path = spool_folder("asked-before") / COLLECTED
    path.parent.mkdir(parents=True)
    path.write_bytes(SPOOL)
    return path


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


def ids_in(path):
    return {json.loads(line)["trial_id"] for line in path.read_text().splitlines() if line.startswith('{"kind":"trial"')}


@pytest.mark.parametrize("change", UNSAID.values(), ids=UNSAID)
def test_every_trial_of_an_older_spool_is_known_if_its_words_are_asked_today(spool, change):
    before = ids_in(spool)
    outcome = Collector(Design(changed(change))).collect(["refused"])
    assert (outcome.n_before, outcome.n_done, outcome.n_calls) == (20, 1, 0)  # the open one is closed
    assert len(ids_in(spool) - before) == 1


@pytest.mark.parametrize("change", UNSAID.values(), ids=UNSAID)
def test_what_nobody_says_is_no_part_of_a_new_spool_either(warehouse, change):
    assert Collector(Design(changed())).collect().n_done == 20
    again = Collector(Design(changed(change))).collect()
    assert (again.n_before, again.n_calls) == (20, 0)


@pytest.mark.parametrize("change", SAID.values(), ids=SAID)
def test_other_words_are_another_question_and_back_again_the_old_answers_count(spool, change):
    assert Collector(Design(changed(change))).collect().n_before == 0
    back = Collector(Design(changed())).collect()
    assert (back.n_before, back.n_calls) == (20, 0)


def test_a_temperature_is_part_of_the_question(spool):
    outcome = Collector(Design(changed(lambda study: study.update(temperatures=[0.7, 1])))).collect()
    assert outcome.n_before == 20
    assert outcome.n_done > 0


def test_other_anchor_words_ask_no_baseline_again(spool):
    outcome = Collector(Design(changed(vignette(anchor="A random number: {anchor} dollars.")))).collect()
    assert outcome.n_before == 5  # two baselines and a top-up of them, and two of `sleep_on_it` without an anchor
    assert outcome.n_done > 0


def test_more_answers_to_the_same_words_are_added_to_the_old_ones(spool):
    outcome = Collector(Design(changed(lambda study: study.update(stopping_rule={"minimum": 4})))).collect()
    assert (outcome.n_before, outcome.n_planned) == (22, 8 * 4)  # two that were asked again are fourth ones
