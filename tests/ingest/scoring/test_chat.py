"""Prompts that are put as people put them to an LLM that they chat with."""

import hashlib
from contextlib import closing

import duckdb
import numpy as np
import pytest

from ingest.gate.audit import audit
from ingest.land.models import query_of
from ingest.scoring.chat import in_chat
from ingest.scoring.landed import load_scored
from ingest.scoring.passes import by_cache, by_tree, one_by_one
from ingest.scoring.scorer import Scoring, score, scored_prompts
from ingest.scoring.targets import RULES, TARGETS, Targets, spelled
from ingest.warehouse import UserError
from tests.ingest.scoring.tiny import KINDS, Chatty, Named, log_probabilities, questions_of

FEW = questions_of("V0")
BOS = 1


@pytest.fixture(autouse=True)
def query(tmp_path, monkeypatch):
    path = tmp_path / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))

    def asked(sql, *, read_only=True):
        with closing(duckdb.connect(str(path), read_only=read_only)) as warehouse:
            found = warehouse.sql(sql)
            return found and found.fetchall()

    return asked


def chatty(template="<bos><user>{message}<end><model>", kind="byte_level", **more):
    llm = Chatty(kind, **more)
    llm.chat_template = template
    return llm


def test_the_fields_are_removed_within_the_message_and_the_template_stays():
    asked = in_chat(Chatty(), FEW)
    assert len(asked.cells) == len(FEW.cells) == 32
    for in_a_chat, plain in zip(asked.cells, FEW.cells, strict=True):
        assert in_a_chat == plain._replace(prompt=f"<bos><user>{plain.prompt}<end><model>")
    assert len(asked.prompts) == len(FEW.prompts)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_template_alone_says_how_a_text_begins_and_a_reply_begins_without_a_space(kind, bos):
    llm = chatty(kind=kind, bos=bos)
    asked = in_chat(llm, FEW)
    prompts = list(asked.prompts.values())[:2]
    for prompt, spelling in zip(prompts, Targets(llm, in_chat=True).after(prompts), strict=True):
        for target, whole in enumerate(spelling.wholes):
            assert list(whole) == llm.encode([f"{prompt}{target}%"], special=False)[0]
            assert whole.count(BOS) == 1
        for reading in spelling.readings:
            whole, (alone,) = spelling.wholes[reading.target], llm.encode([spelled(reading.target)], special=False)
            assert reading.n_bos == 0
            assert reading.places == tuple(range(len(whole) - 1 - len(reading.ids), len(whole) - 1))
            stand_there = reading.ids == whole[-len(reading.ids) :]
            if reading.rule == "published":  # where a mark stands before any text it is no part of a reply
                assert list(reading.ids) == alone
                assert stand_there == (kind != "sentence_piece")
            else:
                assert stand_there
                assert list(reading.ids) == alone[kind == "sentence_piece" :]


@pytest.mark.parametrize("way", [by_tree, by_cache, one_by_one])
@pytest.mark.parametrize("template", ["<bos><user>{message}<end><model>", "{message}", "Person: {message}\n\nReply:\n"])
def test_a_score_in_a_chat_is_that_of_a_plain_pass_over_the_chat_and_the_target(template, way):
    llm = chatty(template, bos=True)
    prompts = list(in_chat(llm, FEW).prompts.values())[:3]
    for prompt, scores in zip(prompts, way(llm, Targets(llm, in_chat=True).after(prompts)), strict=True):
        (own,) = llm.encode([prompt], special=False)
        for target in (0, 47, 100):
            (whole,) = llm.encode([f"{prompt}{target}%"], special=False)
            places = list(range(len(own) - 1, len(whole) - 1))
            right = log_probabilities(llm.forward_plain(whole), [0] * len(places), places, whole[len(own) :])
            for rule in RULES:
                np.testing.assert_allclose(scores[rule, target], right, rtol=0, atol=1e-9)


def test_a_chat_is_another_scoring_than_prompts_as_they_are_and_than_another_chat():
    names = [Scoring(llm, in_chat(llm, FEW)).name for llm in map(chatty, ("{message}", "<user>{message}<model>"))]
    assert all(name.startswith("tiny/numpy@chat-") for name in names)
    plain = Scoring(Named(), FEW).name
    assert "chat" not in plain
    assert len({plain, *names}) == 3
    # another program that writes the same around every message is another template
    one, other = chatty("<user>{message}"), Chatty()
    other.chat_template, other.in_chat = "another program", one.in_chat
    assert Scoring(one, in_chat(one, FEW)).name != Scoring(other, in_chat(other, FEW)).name


def raises(llm):
    raise ValueError("Conversation roles must begin with system\nand more")


NUMBERED = iter(range(1_000_000))
UNCHATTY = {
    "no template": (None, None, "the tokenizer of tiny/numpy has no chat template"),
    "it raises": ("t", raises, "cannot put a message: Conversation roles must begin with system; without --chat"),
    "dropped": ("t", lambda message: "<user><model>", "does not write a message once and as it is"),
    "twice": ("t", lambda message: f"{message} I repeat: {message}", "does not write a message once and as it is"),
    "changed": ("t", lambda message: message.upper(), "does not write a message once and as it is"),
    "by length": ("t", lambda message: f"{len(message)}: {message}", "does not write a message once and as it is"),
    "never alike": ("t", lambda message: f"{next(NUMBERED)} {message}", "does not write a message once and as it is"),
}


@pytest.mark.parametrize("case", UNCHATTY)
def test_a_template_that_cannot_put_the_prompts_is_one_sentence_that_says_what_to_leave_off(case):
    llm = Chatty()
    llm.chat_template, llm.in_chat, said = UNCHATTY[case]
    with pytest.raises(UserError, match=said) as refusal:
        in_chat(llm, FEW)
    assert refusal.value.exit_code == 4
    assert "\n" not in str(refusal.value)
    assert "without --chat its prompts are put as they are" in str(refusal.value)


@pytest.mark.slow("imports again and again")
def test_chat_and_plain_scorings_of_one_llm_stand_side_by_side_and_do_not_disagree(query):
    llm = Chatty()
    asked = in_chat(llm, FEW)
    outcomes = {"plain": score(llm, FEW), "chat": score(llm, asked)}
    for outcome in outcomes.values():
        assert (outcome.n_scored, outcome.n_before) == (24, 0)
        assert load_scored(outcome.path).n_scores == 24 * 101 * 2
        assert load_scored(outcome.path).n_scores == 0
    template_hash = hashlib.sha256(llm.chat_template.encode()).hexdigest()
    names = {kind: outcome.scoring for kind, outcome in outcomes.items()}
    assert query(
        "select scoring, chat_template_hash, count(*), count(bos_log_probability) from raw.target_scores group by all "
        "order by chat_template_hash nulls first"
    ) == [(names["plain"], None, 4848, 0), (names["chat"], template_hash, 4848, 0)]
    texts = [*FEW.prompts.values(), *asked.prompts.values()]
    assert query("select text from raw.prompts where prompt_kind = 'scored' order by text") == [
        (text,) for text in sorted(texts)
    ]
    assert [verdict.verdict for verdict in audit()] == ["passed", "passed"]
    attributed = query_of("int_scores_attributed")
    assert query(
        f"select chat_template_hash, count(*), count(shapley_anchor) from ({attributed}) group by all order by 1"
    ) == [(template_hash, 404, 404), (None, 404, 404)]
    landed = query(f"select distinct scoring, prompt, llm_recorded from ({query_of('int_scores_landed')})")
    assert set(landed) == {
        (names[kind], f"anchoring-llms/V0/{anchor:.1f}{end}", "tiny/numpy")
        for kind, end in [("plain", ""), ("chat", f"/{template_hash}")]
        for anchor in (10, 65)
    }
    # what is landed of the chat is what was scored of the chat
    ((prompt_hash, total),) = query(
        f"select prompt_hash, log_probability from raw.target_scores where scoring = '{names['chat']}' "
        f"and target = 47 and rule = 'aligned' and prompt_hash = '{next(iter(asked.prompts))}'"
    )
    assert total in [
        of["log_probability"]
        for line in scored_prompts(outcomes["chat"].path)
        for of in line["scores"]
        if line["prompt_hash"] == prompt_hash and (of["rule"], of["target"]) == ("aligned", 47)
    ]


def test_a_chat_that_was_stopped_goes_on_and_gives_the_same_numbers():
    llm = Chatty()
    asked = in_chat(llm, FEW)
    path = score(llm, asked).path
    whole = {line["prompt_hash"]: line["scores"] for line in scored_prompts(path)}
    written = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(written[:11]), encoding="utf-8")
    again = Chatty()
    assert score(again, in_chat(again, FEW)).n_scored == 24 - 10
    assert {line["prompt_hash"]: line["scores"] for line in scored_prompts(path)} == whole
    assert all(len(scores) == len(RULES) * len(TARGETS) for scores in whole.values())


@pytest.mark.slow("imports again and again")
def test_a_warehouse_that_knew_no_chats_keeps_its_scores_and_takes_chats_in(query):
    llm = Chatty()
    load_scored(score(llm, FEW).path)
    query("alter table raw.target_scores drop column chat_template_hash", read_only=False)
    load_scored(score(llm, in_chat(llm, FEW)).path)
    assert query("select count(*), count(chat_template_hash) from raw.target_scores") == [(2 * 4848, 4848)]
