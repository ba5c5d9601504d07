"""Studies with LLMs on this machine, as far as they go without torch."""

import asyncio
import re
from types import SimpleNamespace

import numpy as np
import pytest

from bais.main import main
from ingest.ask.collector import collect
from ingest.ask.plan import plan_of
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.local.methods import Method
from ingest.local.writing import Draft, Stopped
from ingest.prompts import prompt_version, shipped
from ingest.providers.local import Local, segments_of
from ingest.studies.study import parse_study
from ingest.warehouse import UserError

STUDY = """
study: here
llms: [{llm}]
vignettes: [burglary]
techniques: [no_technique, {technique}]
anchors: {{fixed: {{low: 3, high: 9}}}}
temperatures: [{temperature}]
stopping_rule: {{minimum: 1}}
"""
HERE = "{llm: meta-llama/tiny, engine: local, model: ./weights}"
REFUSED = {
    "greedy mirostat": (HERE, "mirostat", "0.01, 0", 7, "an LLM takes its likeliest token, which technique mirostat"),
    "at an endpoint": ("a/b", "mirostat", "1", 3, "a/b does not run on this machine, and technique mirostat changes"),
    "simulated": ("sim/anchored", "self_debias", "1", 3, "sim/anchored does not run on this machine"),
    "a provider": ("{llm: a/b, provider: local}", "sacd", "1", 3, "should say `engine: local` and no provider"),
    "an address": (
        "{llm: a/b, engine: local, base_url: 'http://host'}", "sacd", "1", 3, "base_url is for an LLM that is asked",
    ),
    "a device": ("{llm: a/b, device: cpu}", "sacd", "1", 3, "device is for an LLM that runs on this machine"),
    "no engine": (
        HERE, "{technique: mine, turns: ['{opening}'], decoding: {method: rejection_sampling, k: 5}}", "1", 5,
        "should say both `engine: local` and `decoding`, or neither",
    ),
    "a factor that lowers": (
        HERE, "{technique: forced_balanced_coverage, decoding: {method: forced_balanced_coverage, gamma: 1, "
        "threshold: 0.05}}", "1", 5, "gamma: should be more than 1",
    ),
    "a rule that is none": (
        HERE, "{technique: explanation_guard, decoding: {method: explanation_guard, check_every: 5, most_rejections: "
        "3, explanation_tokens: 9, question: '{continuation}', rejects: ['(']}}", "1", 5, "is no regular expression",
    ),
}  # fmt: skip


REWRITER = "{llm: our/negation, engine: local, model: ./weights, rewrites: sentences}"
NO_REWRITING = {
    "a technique": (REWRITER, "falsify", "self_awareness", "", "so that technique self_awareness cannot reach it"),
    "no text": (REWRITER, "decoy", "no_technique", "", "has no text: its paradigm says no `text_field`"),
    "another answer": (REWRITER, "fact_check", "no_technique", "", "asks for a label"),
    "an endpoint": (
        "{llm: a/b, rewrites: sentences}", "falsify", "no_technique", "",
        "rewrites is for an LLM that runs on this machine",
    ),
    "a judge": (
        "sim/newsreader", "summarise", "no_technique",
        f"judges: {{llms: [{REWRITER}], paradigm: framing_of_text, labels: [Good, Bad], question: '{{text}}', "
        "roles: [answer]}",
        "our/negation rewrites the sentences of a text and judges none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_REWRITING)
def test_a_model_that_rewrites_sentences_is_asked_nothing(case):
    llm, paradigm, technique, more, said = NO_REWRITING[case]
    with pytest.raises(UserError, match=re.escape(said)):
        parse_study(f"study: here\nparadigm: {paradigm}\nllms: [{llm}]\ntechniques: [{technique}]\n{more}")


def text(llm=HERE, technique="mirostat", temperature="0.01"):
    return STUDY.format(llm=llm, technique=technique, temperature=temperature)


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setattr("ingest.local.llm.find_spec", lambda library: None)


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_one_sentence_with_its_line(tmp_path, capsys, case):
    llm, technique, temperature, line, said = REFUSED[case]
    path = tmp_path / "study.yaml"
    path.write_text(text(llm, technique, temperature), encoding="utf-8")
    assert main(["plan", str(path)]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert f"study.yaml:{line}: " in sentence
    assert said in sentence


def test_a_plan_says_that_torch_is_missing_and_what_installs_it(tmp_path, capsys, without_torch):
    path = tmp_path / "study.yaml"
    path.write_text(text(), encoding="utf-8")
    assert main(["plan", str(path)]) == 0
    assert (
        "It cannot be asked yet: running an LLM on this machine needs torch and transformers, which are not installed "
        "here: `make local` in a checkout of bais installs"
    ) in " ".join(capsys.readouterr().out.split())


def test_a_plan_of_other_llms_asks_for_no_torch(without_torch, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "a key")
    assert plan_of(parse_study(text("a/b", "premortem")))["lacking"] is None


def test_an_llm_on_this_machine_costs_nothing(without_torch):
    planned = plan_of(parse_study(text()))
    assert planned["cost_usd"] == {"low": 0, "high": 0}
    assert planned["without_price"] == []


def test_without_torch_nothing_is_asked(tmp_path, monkeypatch, without_torch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "warehouse.duckdb"))
    with pytest.raises(UserError, match="needs torch and transformers"):
        collect(parse_study(text()))
    assert not (spool_folder("here") / COLLECTED).exists()


def test_another_number_of_a_method_is_another_template():
    vignette, technique = shipped("vignettes")["burglary"], shipped("techniques")["mirostat"]
    other = technique | {"decoding": technique["decoding"] | {"eta": 0.2}}
    plain = {key: value for key, value in technique.items() if key != "decoding"}
    versions = {prompt_version(vignette, of, "text")[0] for of in (technique, other, plain)}
    assert len(versions) == 3


def test_segments_are_paragraphs_else_lines_else_sentences():
    assert segments_of("One.\ntwo.\n\n Three.\n") == ["One.\ntwo.", "Three."]
    assert segments_of("One. Still one.\nTwo.") == ["One. Still one.", "Two."]
    assert segments_of("One. Two.") == ["One.", "Two."]
    assert segments_of("One") == ["One"]


class Chain:
    """An LLM in which each token makes the next one likelier; the last token ends a reply."""

    token_texts = ("a", "b", "c", "")
    end_ids = frozenset({3})

    def begin(self, ids):
        passed = SimpleNamespace(ids=list(ids))

        def add(more):
            passed.ids += more
            passed.logits = np.eye(4)[(passed.ids[-1] + 1) % 4]

        passed.add = add
        passed.add([])
        return passed

    def decode(self, ids):
        return "".join(self.token_texts[token] for token in ids)


def draft(temperature=0, seed=0):
    return Draft(Chain(), lambda prefix: [0], None, temperature, np.random.default_rng(seed))


def test_a_reply_ends_where_the_llm_ends_it_or_at_the_most_tokens():
    whole = draft().write(Method(), 9)
    assert (whole.text, whole.n_tokens, whole.is_complete) == ("bc", 2, True)
    cut = draft().write(Method(), 1)
    assert (cut.text, cut.n_tokens, cut.is_complete) == ("b", 1, False)


def test_a_reply_hangs_on_its_seed_alone():
    replies = {seed: [draft(1, seed).write(Method(), 30).text for _ in range(2)] for seed in range(20)}
    assert all(len(set(of)) == 1 for of in replies.values())
    assert len({reply for of in replies.values() for reply in of}) > 3


def test_a_reply_at_temperature_one_hundredth_is_the_likeliest():
    assert {draft(0.01, seed).write(Method(), 30).text for seed in range(20)} == {"bc"}


def test_a_reply_that_nobody_waits_for_any_more_is_not_written_on():
    one = draft()
    one.should_stop = lambda: len(one.ids) == 1
    with pytest.raises(Stopped):
        one.write(Method(), 9)
    assert one.ids == [1]


def test_whoever_stops_waiting_stops_the_writing():
    stops, local = [], Local.__new__(Local)

    def answer(question, stop):
        stops.append(stop)
        assert stop.wait(30)

    local._answer = answer
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(local.ask(None), 0.05))
    assert stops[0].is_set()
