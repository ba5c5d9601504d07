"""Steps are calls in conversations of their own, about an item or its parts; document C's words where it has any."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.ask import context
from ingest.ask.collector import Collector, collect
from ingest.ask.context import BEYOND_CONTEXT, context_windows
from ingest.ask.plan import plan_of
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.prompts import shipped
from ingest.prompts.steps import (
    CHARACTERS_PER_TOKEN,
    EMPTY,
    ONE_SENTENCE,
    TOO_SHORT,
    after_marker,
    chunks_of,
    sentences_of,
    shuffled,
)
from ingest.run import render_outcome
from ingest.studies.design import Design
from ingest.studies.study import parse_study
from ingest.warehouse import ROOT, UserError
from tests.ingest.endpoint import Endpoint, answer, spooled

TEXT = "One is here. Two is there. Three is away. Four is late. Five is {reply_1} early. Six is gone. Seven is last."
PARADIGM = {
    "paradigm": "retelling",
    "answer": {"kind": "text"},
    "arms": ["asked"],
    "contrasts": [["asked"]],
    "measures": {"primacy": {"from": "measurement", "better": "lower"}},
    "items": {"rows": [{"item": "a", "text": TEXT}]},
    "text_field": "text",
    "vignettes": [{"vignette": "retell", "case": "Summarise:\n{text}"}],
}
CHECKS = {
    "paradigm": "checking",
    "answer": {"kind": "label", "labels": ["True", "False"], "asked": ""},
    "measures": {"is_correct": {"truth": "is_true", "better": "higher"}},
    "items": {"rows": [{"item": "a", "text": TEXT, "known": "true"}], "is_true": "known"},
    "vignettes": [{"vignette": "check", "system": "Check it.", "case": "{text}"}],
}
N_CALLS = {
    "self_awareness": 1,
    "chain_of_thought_summary": 1,
    "cloze": 1,
    "position_shuffle": 1,
    "weighted_summaries": 3,
    "self_help": 2,
    "self_help_critique": 3,
    "counterfactual_simulation": 3,
    "partial_summaries": 4,
    "prompt_calibration": 1,
    "knowledge_boundary": 1,
    "epistemic_tagging": 1,
}
LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"
MINE = {"technique": "mine", "steps": ["Say {item}"]}


@pytest.fixture(autouse=True)
def key(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-test")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "w.duckdb"))


def study(*techniques, url="http://127.0.0.1:1/v1", paradigm=PARADIGM, **changes):
    content = {
        "study": "steps", "paradigm": paradigm, "techniques": list(techniques), "stopping_rule": {"minimum": 1},
        "llms": [{"llm": LLAMA, "base_url": url, "api_key_env": "OPENROUTER_API_KEY"}],
        "limits": {"backoff_s": 0.005},
    }  # fmt: skip
    return parse_study(yaml.safe_dump(content | changes, sort_keys=False))


def texts(*said):
    return PARADIGM | {"items": {"rows": [{"item": f"i{n}", "text": text} for n, text in enumerate(said)]}}


def checks(of):
    return PARADIGM | CHECKS if "label" in shipped("techniques")[of].get("answer_kinds", ()) else PARADIGM


def said(request):
    return [message["content"] for message in request.body["messages"] if message["role"] == "user"]


def ask(of, reply=lambda request: f"Reply {request.number}"):
    """Ask a study of the endpoint; return the requests and the one trial."""
    with Endpoint(lambda request: answer(request, reply(request))) as endpoint:
        for llm in of.llms:
            object.__setattr__(llm, "base_url", endpoint.url)
        outcome = collect(of)
    trials = spooled_steps()["trial"]
    return outcome, endpoint.requests, trials


def spooled_steps():
    return spooled(spool_folder("steps") / COLLECTED)


@pytest.mark.parametrize("technique", N_CALLS)
def test_each_technique_of_document_c_makes_exactly_its_calls_each_in_a_conversation_of_its_own(technique):
    of = study(technique, paradigm=checks(technique))
    outcome, requests, (trial,) = ask(of, lambda request: f"Thoughts. **FINAL_SUMMARY:** Reply {request.number}")
    assert (outcome.n_done, len(requests), trial["n_calls"]) == (1, N_CALLS[technique], N_CALLS[technique])
    assert plan_of(of)["calls"] == {"low": N_CALLS[technique], "high": N_CALLS[technique]}
    for request in requests:
        assert len(said(request)) == 1
        assert not re.search(r"\{(?!reply_1\})\w+\}", said(request)[0])
    if technique in ("self_help", "counterfactual_simulation", "partial_summaries"):
        assert trial["text"] == f"Reply {len(requests) - 1}"


def test_nothing_of_a_shipped_technique_with_steps_is_left_out_of_the_list():
    with_steps = {name for name, technique in shipped("techniques").items() if "steps" in technique}
    assert with_steps == {*N_CALLS, "remove_numbers"}


def test_the_rewrite_of_self_help_takes_the_draft_alone_and_has_300_tokens():
    _, (draft, rewrite), _ = ask(study("self_help"))
    assert said(draft) == [f"Summarise:\n{TEXT}"]
    assert "max_completion_tokens" not in draft.body
    assert rewrite.body["max_completion_tokens"] == 300
    assert "Reply 0 FINAL_SUMMARY:" in said(rewrite)[0]
    assert "One is here" not in said(rewrite)[0]


def test_the_variant_with_a_critique_passes_it_on():
    _, requests, _ = ask(study("self_help_critique"))
    assert "Reply 0 Critique: Reply 1 FINAL_SUMMARY:" in said(requests[-1])[0]


def test_weighted_summaries_are_joined_and_have_33_34_and_33_percent_of_the_budget():
    _, requests, (trial,) = ask(study("weighted_summaries"))
    budgets = [re.search(r"about (\d+) tokens", said(request)[0])[1] for request in requests]
    assert budgets == ["165", "170", "165"]
    assert trial["text"] == "Reply 0\n\nReply 1\n\nReply 2"


def test_a_budget_can_be_a_share_of_the_tokens_of_the_text():
    mine = {
        "technique": "mine", "chunks": {"n": 2}, "token_budget": {"share_of_item": 0.5, "shares": [0.25, 0.75]},
        "steps": ["{token_budget} {chunk_1}", "{token_budget} {chunk_2}", "{token_budget}"],
    }  # fmt: skip
    _, requests, _ = ask(study(mine, paradigm=texts("four " * 80)))
    assert [said(request)[0].split()[0] for request in requests] == ["12", "38", "50"]


def test_the_parts_of_a_text_are_summarised_one_by_one_and_their_summaries_combined():
    _, requests, _ = ask(study("partial_summaries"))
    words = [
        said(request)[0].partition("text: ")[2].removesuffix(" FINAL_SUMMARY:").split() for request in requests[:3]
    ]
    assert [len(part) for part in words] == [7, 7, 8]
    assert [word for part in words for word in part] == TEXT.split()
    assert said(requests[3])[0].startswith("Combine the following partial summaries into one coherent summary: Reply 0")


def test_a_shuffled_text_has_the_same_sentences_in_another_order():
    _, (request,), _ = ask(study("position_shuffle"))
    shown = said(request)[0].partition("fully: ")[2].removesuffix(" FINAL_SUMMARY:")
    assert sorted(sentences_of(shown)) == sorted(sentences_of(TEXT))
    assert shown != TEXT


def test_a_system_message_goes_before_the_item_and_says_the_cutoff():
    for technique, system in (
        ("knowledge_boundary", "You are a fact-checking AI with knowledge up to March 2023."),
        ("no_technique", "Check it."),
    ):
        _, requests, _ = ask(study(technique, paradigm=PARADIGM | CHECKS))
        first, second = requests[-1].body["messages"]
        assert (first["role"], second) == ("system", {"role": "user", "content": TEXT})
        assert first["content"].startswith(system)


def test_what_an_item_says_is_not_searched_for_braces():
    _, requests, _ = ask(study("counterfactual_simulation"))
    assert f"Original text: {TEXT} Initial Draft: Reply 0" in said(requests[-1])[0]


def test_a_reply_without_the_marker_that_a_technique_needs_is_unparsed():
    _, _, (trial,) = ask(study("cloze"), lambda request: "BEGIN: a MIDDLE: b END: c")
    assert (trial["status"], trial["reason"]) == ("unparsed", "no_marker")


@pytest.mark.parametrize(
    ("technique", "text", "reason"),
    [
        ("position_shuffle", "There is one sentence here.", "one_sentence"),
        ("partial_summaries", "Two words", "fewer_words_than_chunks"),
        ("weighted_summaries", " ", "empty_text"),
        ("no_technique", "", "empty_text"),
    ],
)
def test_a_text_that_cannot_be_put_so_is_counted_with_the_reason_and_nothing_is_asked(technique, text, reason):
    outcome, requests, trials = ask(study(technique, paradigm=texts(text, TEXT)))
    assert len(requests) == N_CALLS.get(technique, 1)
    assert outcome.statuses == {"unparsed": 1, "replied": 1}
    assert {trial["item"]: trial["reason"] for trial in trials} == {"i0": reason, "i1": None}
    assert outcome.exit_code == 0


@pytest.mark.parametrize("technique", ["no_technique", "position_shuffle"])
def test_a_text_beyond_the_context_window_is_said_beforehand_counted_with_the_reason_and_not_asked_about(
    technique, golden
):
    n_sentences = context_windows()[LLAMA] * CHARACTERS_PER_TOKEN // len("It is. ")
    of = study(technique, paradigm=texts("It is. Or not.", "It is. " * n_sentences))
    planned = plan_of(of)["beyond_context"]
    outcome, requests, trials = ask(of, lambda request: f"FINAL_SUMMARY: Reply {request.number}")
    assert planned == outcome.n_beyond_context == {LLAMA: 1}
    assert (len(requests), outcome.exit_code) == (1, 0)
    assert {trial["item"]: (trial["status"], trial["reason"], trial["text"], trial["n_calls"]) for trial in trials} == {
        "i0": (None, None, "FINAL_SUMMARY: Reply 0" if technique == "no_technique" else "Reply 0", 1),
        "i1": ("unparsed", "context_length", None, 0),
    }
    golden(render_outcome(of, outcome), "1 trial", str(LLAMA))


def test_tokens_are_counted_where_the_tokenizer_of_the_llm_is_on_this_machine(monkeypatch):
    of = study("no_technique", paradigm=texts("It is.", "It is. " * 20_000))
    assert plan_of(of)["beyond_context"] == {LLAMA: 1}
    monkeypatch.setattr(context, "can_count", lambda: True)
    monkeypatch.setattr(context, "tokenizer_file", lambda llm: f"the tokenizer of {llm}")
    monkeypatch.setattr(context, "count_tokens", lambda file, texts: [1 for _ in texts])
    assert plan_of(of)["beyond_context"] == {}
    (line,) = context.said_of_beyond({LLAMA: 1}, are_planned=True)
    assert "tokens are counted by its tokenizer" in line


def test_a_session_that_ends_inside_a_technique_goes_on_there_and_asks_nothing_twice():
    of = study("partial_summaries", paradigm=texts(TEXT, TEXT.replace("is", "was")))
    with Endpoint(lambda request: answer(request, f"Of {said(request)[0].removesuffix('FINAL_SUMMARY:')}")) as endpoint:
        for llm in of.llms:
            object.__setattr__(llm, "base_url", endpoint.url)
        first = Collector(Design(of), max_calls=3).collect()
        assert first.n_left > 0
        assert len(endpoint.requests) == 3
        assert Collector(Design(of), max_calls=1).collect().n_calls == 1
        assert collect(of).n_left == 0
        assert collect(of).n_calls == 0
    asked = [said(request)[0] for request in endpoint.requests]
    assert len(asked) == len({*asked}) == 8
    for trial in spooled_steps()["trial"]:
        assert trial["n_calls"] == 4
        assert trial["text"].count("Of Please summarize") == 3


def test_two_sentences_are_in_the_other_order_and_one_marker_of_several_counts():
    assert shuffled("First. Second.", 42) == shuffled("First. Second.", 7) == "Second. First."
    assert after_marker("a FINAL: b **FINAL:** c", "FINAL:") == "c"
    assert after_marker("a", "FINAL:") is None


@given(st.text(max_size=300), st.integers(2, 9), st.sampled_from(["words", "characters"]))
def test_chunks_put_together_are_the_text_and_all_but_the_last_are_equally_long(text, n, unit):
    chunks = chunks_of(text, n, unit)
    assert len(chunks) == n
    assert "".join(chunks) == (text if unit == "characters" or text.strip() else "")
    sizes = [len(chunk.split() if unit == "words" else chunk) for chunk in chunks]
    assert len({*sizes[:-1]}) == 1
    assert sizes[0] <= sizes[-1] < sizes[0] + n


@given(
    st.lists(st.from_regex(r"[a-z]{1,5}( [a-z]{1,5}){0,3}\.", fullmatch=True), min_size=2, max_size=20), st.integers()
)
def test_a_shuffle_keeps_the_sentences(sentences, seed):
    assert sorted(sentences_of(shuffled(" ".join(sentences), seed))) == sorted(sentences)


def test_another_rule_for_the_text_is_another_template_and_the_same_rules_are_the_same_trials():
    def ids(**changes):
        design = Design(study(shipped("techniques")["weighted_summaries"] | changes))
        return [trial.trial_id for trial in design.trials(design.first_cells(), "answers", range(1))]

    assert ids() == ids()
    others = ids(token_budget={"tokens": 400, "shares": [0.3, 0.4, 0.3]}), ids(chunks={"n": 3, "unit": "characters"})
    assert len({*ids(), *others[0], *others[1], *ids(counts="last")}) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": ["{item}", "{reply_2}"]},
        {"steps": ["{reply_1}"]},
        {"steps": ["{chunk_4}"], "chunks": {"n": 3}},
        {"steps": ["{chunk_1}"]},
        {"steps": ["{shuffled}"]},
        {"steps": ["{token_budget}"]},
        {"steps": ["{item}"], "turns": ["{opening}"]},
        {"steps": ["{item}"], "needs_marker": True},
        {"turns": ["{opening}"], "steps": None, "counts": "joined"},
        {"steps": ["{itme}"]},
        {"answer_kinds": ["label"]},
        {"token_budget": {"tokens": 9, "shares": [0.5]}, "steps": ["{item}"]},
    ],
    ids=str,
)
def test_a_mistake_in_steps_is_one_sentence_with_its_line(changes, golden):
    with pytest.raises(UserError) as refused:
        study(MINE | changes)
    golden(str(refused.value))
    assert re.match(r"the study:\d+: ", str(refused.value))
    assert "\n" not in str(refused.value)


def test_an_llm_without_a_known_cutoff_is_refused_before_it_is_told_one():
    llms = [{"llm": "any/model", "base_url": "http://127.0.0.1:1/v1"}]
    with pytest.raises(UserError, match=r"any/model has no line in seeds/knowledge_cutoffs\.csv"):
        study("knowledge_boundary", paradigm=PARADIGM | CHECKS, llms=llms)
    assert study("epistemic_tagging", paradigm=PARADIGM | CHECKS, llms=llms)


def test_numbers_are_removed_by_one_call_and_the_next_one_answers():
    vignette = shipped("vignettes")["burglary"]
    of = parse_study(
        yaml.safe_dump(
            {
                "study": "steps", "vignettes": ["burglary"], "techniques": ["remove_numbers"], "baselines": False,
                "anchors": {"fixed": {"low": 3, "high": 9}}, "stopping_rule": {"minimum": 1},
                "llms": [{"llm": LLAMA, "base_url": "http://127.0.0.1:1/v1", "api_key_env": "OPENROUTER_API_KEY"}],
                "limits": {"concurrency": 1},
            }
        )
    )  # fmt: skip
    _, requests, trials = ask(of, lambda request: "A case." if "Rewrite" not in said(request)[0] else "Answer: 7")
    assert len(requests) == 4
    case = vignette["case"].split("{")[0].strip()
    assert [case in said(request)[0] for request in requests] == [True, False] * 2
    assert all(said(request)[0].startswith("Answer: 7") for request in requests[1::2])
    assert {trial["text"] for trial in trials} == {"A case."}


def test_a_statement_that_was_not_asked_about_is_no_wrong_answer_whatever_the_reason():
    model = (ROOT / "models" / "intermediate" / "int_facts_checked.sql").read_text(encoding="utf-8")
    (reasons,) = re.findall(r"set not_asked = \"(.*)\"", model)
    assert {reason.strip("' ") for reason in reasons.split(",")} == {BEYOND_CONTEXT, EMPTY, ONE_SENTENCE, TOO_SHORT}
