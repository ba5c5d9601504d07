"""Judgements are trials: a text is judged once it is there and stays as it was; sessions can be resumed."""

import contextlib
import itertools
import json
import re
import textwrap
from collections import Counter, defaultdict

import pytest
import yaml

from bais.main import main
from ingest.ask.collected import load_collected
from ingest.ask.collector import collect
from ingest.ask.history import of_study, render_asked
from ingest.ask.plan import plan_of
from ingest.ask.responses import read_trials
from ingest.ask.spool import COLLECTED, read_state, spool_folder
from ingest.gate.audit import audit
from ingest.land.models import query_of
from ingest.run import agreed_orphans, render_outcome
from ingest.studies.design import Design
from ingest.studies.study import Judges, parse_study
from ingest.warehouse import ROOT, UserError, connect

PARADIGM = {
    "paradigm": "retelling",
    "answer": {"kind": "text"},
    "arms": ["plain", "polite"],
    "contrasts": [["polite", "plain"]],
    "measures": {"tone": {"from": "judgement", "better": "lower"}},
    "items": {
        "rows": [
            {"item": "good", "review": "I love {this}.", "tone": "pleased"},
            {"item": "bad", "review": "I hate this.", "tone": "angry"},
        ],
        "correct": "tone",
    },
    "vignettes": [
        {
            "vignette": "review",
            "case": "{ask} {review}",
            "arms": {"plain": {"words": {"ask": "Retell:"}}, "polite": {"words": {"ask": "Please retell:"}}},
        }
    ],
}  # fmt: skip
JUDGES = {
    "llms": [{"llm": "sim/always", "simulated": {"accuracy": 1}}, {"llm": "sim/never", "simulated": {"accuracy": 0}}],
    "paradigm": "tone",
    "labels": ["pleased", "angry"],
    "text": "{review}",
    "question": "What is the tone?\n{text}",
    "question_of_answers": "It was retold. What is the tone now?\n{text}",
    "roles": ["original", "answer", "identity"],
    "repeats": 2,
}
STUDY = {"study": "retold", "llms": ["sim/steady"], "techniques": ["no_technique"], "stopping_rule": {"minimum": 3}}


def study(judges=None, paradigm=None, **changes):
    content = STUDY | {"paradigm": PARADIGM | (paradigm or {}), "judges": JUDGES | (judges or {})} | changes
    return parse_study(yaml.safe_dump(content, sort_keys=False))


@pytest.fixture
def replies(monkeypatch):
    """What the LLM under study retells, by item and arm; every replicate says the same."""
    said = defaultdict(lambda: "as it was")

    def text(self, truth, question, technique):
        return said[question.trial.cell.item, question.trial.cell.arm]

    monkeypatch.setattr("ingest.providers.simulated.Simulated._chosen", text)
    return said


def spooled(kind):
    lines = (spool_folder("retold") / COLLECTED).read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def judgements():
    return [trial for trial in spooled("trial") if trial.get("role")]


def test_each_distinct_text_is_judged_in_each_role_by_each_judge_as_often_as_the_study_says(replies):
    replies["bad", "polite"] = "less badly"
    outcome = collect(study())
    # 2 originals and 3 distinct answers (one item in two ways); 2 judges, 2 times; the originals once more as answers
    counts = Counter((trial["role"], trial["item"]) for trial in judgements())
    assert counts == {
        ("original", "good"): 4, ("original", "bad"): 4, ("identity", "good"): 4, ("identity", "bad"): 4,
        ("answer", "good"): 4, ("answer", "bad"): 8,
    }  # fmt: skip
    assert outcome.judgements == Counter(n_planned=28, n_done=28)
    assert (outcome.n_planned, outcome.n_done, outcome.n_left) == (12 + 28, 12 + 28, 0)
    assert len({trial["trial_id"] for trial in spooled("trial")}) == 40
    assert {(trial["llm"], trial["repeat"]) for trial in judgements()} == {
        (judge, repeat) for judge in ("sim/always", "sim/never") for repeat in (0, 1)
    }
    of_answers = {trial["trial_id"]: trial["item"] for trial in spooled("trial") if not trial.get("role")}
    assert all(
        of_answers[trial["judged"]] == trial["item"] if trial["role"] == "answer" else trial["judged"] == trial["item"]
        for trial in judgements()
    )


def test_a_plan_says_which_judgements_are_left(replies):
    replies["bad", "polite"] = "less badly"
    # of 2 judges, 2 times: 2 originals, once more as answers, and 2 (all replies to an item alike) to 12 answers
    judged_whole = {"low": 2 * 2 * (4 + 2), "high": 2 * 2 * (4 + 12)}
    assert plan_of(study())["left"]["trials"] == {end: 12 + n for end, n in judged_whole.items()}
    collect(study(), max_calls=11)
    assert plan_of(study())["left"]["trials"] == {end: 1 + n for end, n in judged_whole.items()}
    collect(study(), max_calls=1 + 8)  # the texts are there now, so that it is known how many they are
    assert plan_of(study())["left"]["trials"] == {"low": 28 - 8, "high": 28 - 8}
    collect(study())
    assert plan_of(study())["left"]["calls"] == {"low": 0, "high": 0}


def test_a_judge_is_shown_the_text_as_it_is_and_the_original_as_an_answer_where_it_is_judged_as_one(replies):
    replies["good", "plain"] = replies["good", "polite"] = "{review} {text}"
    collect(study())
    texts = {prompt["prompt_hash"]: prompt["text"] for prompt in spooled("prompt")}
    calls = {call["trial_id"]: texts[call["prompt_hash"]] for call in spooled("call")}
    said = {(trial["role"], trial["item"]): calls[trial["trial_id"]] for trial in judgements()}
    form = "\n\nReply with one of these answers alone: pleased, angry."
    assert said["original", "good"] == "What is the tone?\nI love {this}." + form
    assert said["identity", "good"] == "It was retold. What is the tone now?\nI love {this}." + form
    assert said["answer", "good"] == "It was retold. What is the tone now?\n{review} {text}" + form


def test_texts_stay_as_they_were_decided_and_those_of_later_answers_are_added(replies):
    collect(study(stopping_rule={"minimum": 1}))
    first = spooled("judged")
    assert len(first) == 4
    replies["good", "plain"] = "in other words"
    outcome = collect(study(stopping_rule={"minimum": 2}))
    assert spooled("judged")[:4] == first
    assert [record["text"] for record in spooled("judged")[4:]] == ["in other words"]
    assert outcome.judgements == Counter(n_planned=28, n_before=24, n_done=4)


@pytest.mark.slow("a study, stopped at each call")
def test_a_session_that_was_cut_short_at_any_call_goes_on_where_it_was_and_puts_nothing_twice(replies):
    for _ in range(60):
        outcome = collect(study(), max_calls=1)
        if not outcome.n_left and outcome.judgements["n_planned"]:
            break
    calls = [(call["trial_id"], call["turn"]) for call in spooled("call")]
    assert len(calls) == len(set(calls)) == 12 + 24
    assert len(judgements()) == 24
    ids = {trial["trial_id"] for trial in judgements()}
    of = study()
    design, state = Design(of), read_state(spool_folder("retold") / COLLECTED)
    planned = design.trials(design.judgement_cells(state.judged), "judgements", range(of.judges.repeats))
    assert ids == {trial.trial_id for trial in planned}


def test_the_ids_of_answers_are_the_same_with_judges_and_without():
    with_judges, without = Design(study()), Design(parse_study(yaml.safe_dump(STUDY | {"paradigm": PARADIGM})))
    cells = [*with_judges.first_cells()]
    assert [with_judges.trial_id(cell, 0) for cell in cells] == [without.trial_id(cell, 0) for cell in cells]
    # as they were before there were judgements
    assert with_judges.trial_id(cells[0], 0) == "51bd9d6794be569161b145bd6fd89083"


def test_judgements_land_as_trials_that_the_gate_passes_and_their_labels_are_read(replies, warehouse):
    collect(study())
    load_collected("retold")
    assert {verdict.verdict for verdict in audit()} == {"passed"}
    with contextlib.closing(connect(warehouse)) as raw:
        rows = raw.execute(
            "select role, count(*), count(distinct judged), count(distinct repeat), any_value(paradigm), "
            "any_value(answer_kind), count(arm) from raw.trials where role is not null group by role order by role"
        ).fetchall()
        assert rows == [
            ("answer", 8, 2, 2, "tone", "label", 0),
            ("identity", 8, 2, 2, "tone", "label", 0),
            ("original", 8, 2, 2, "tone", "label", 0),
        ]
        labels = raw.execute("select labels::varchar from raw.paradigms where paradigm = 'tone'").fetchall()
        assert labels == [('["pleased", "angry"]',)]
        batches = raw.execute("select vignette, source, n_trials from raw.batches order by vignette").fetchall()
        assert batches == [("review", "simulated", 12), ("tone", "simulated", 24)]
        flags = raw.execute("select distinct reason from raw.flagged_trials").fetchall()
        assert flags == []


def test_the_page_on_adding_a_bias_has_texts_judged_as_it_says(warehouse, tmp_path, capsys):
    page = (ROOT / "docs" / "how-to" / "add-a-bias.md").read_text(encoding="utf-8")
    path = tmp_path / "tones.yaml"
    path.write_text(textwrap.dedent(re.search(r"```yaml\n( +study: tones\n.*?)   ```", page, re.DOTALL)[1]))
    assert main(["collect", str(path)]) == 0
    said = re.findall(r"^   ((?:answers|judgements): .*)$", page, re.MULTILINE)
    assert len(said) == 2
    shown = capsys.readouterr().out
    assert all(line in shown for line in said)


def test_the_page_on_studies_names_all_that_judges_may_be_given():
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    judges = yaml.safe_load(re.search(r"```yaml\n(judges:\n.*?)```", page, re.DOTALL)[1])["judges"]
    assert set(judges) == Judges.model_fields.keys()
    assert study(judges).judges.question == "What is the tone of this text?\n\n{text}"


def test_a_judgement_that_names_no_label_can_be_asked_again(replies, monkeypatch):
    monkeypatch.setattr("ingest.providers.simulated.CHOICES", ("pleased or angry",))
    collect(study(judges={"repeats": 1}))
    monkeypatch.setattr("ingest.providers.simulated.CHOICES", ("{said}",))
    outcome = collect(study(judges={"repeats": 1}), ask_again=["unparsed"])
    assert outcome.judgements == Counter(n_planned=24, n_before=12, n_done=12)
    again = [trial for trial in judgements() if trial["attempt_of"]]
    assert {trial["repeat"] for trial in again} == {1}
    assert collect(study(judges={"repeats": 1}), ask_again=["unparsed"]).n_done == 0


def test_a_simulated_judge_is_right_as_often_as_is_stated(replies):
    rows = [{"item": f"i{n}", "review": "r", "tone": ("pleased", "angry")[n % 2]} for n in range(400)]
    judges = {"llms": [{"llm": "sim/j", "simulated": {"accuracy": 0.8}}], "roles": ["original"], "repeats": 1}
    collect(study(judges, {"items": {"rows": rows, "correct": "tone"}}, stopping_rule={"minimum": 1}))
    right = {row["item"]: row["tone"] for row in rows}
    n_right = sum(right[trial["item"]] in trial["text"] for trial in judgements())
    assert abs(n_right / 400 - 0.8) < 3 * (0.8 * 0.2 / 400) ** 0.5


def test_the_plan_counts_judgements_at_least_and_at_most_and_what_they_cost(monkeypatch, replies):
    monkeypatch.setattr("ingest.ask.plan.read_prices", lambda: {"openai/o3": (2.0, 8.0)})
    judges = {"llms": ["openai/o3"], "question": "{text}", "question_of_answers": None}
    judges["asked"] = "Begin your reply with one of these answers: {labels}."
    planned = plan_of(study(judges))
    (row,) = (of for of in planned["techniques"] if of["technique"] == "judgements")
    # two items as they are and as answers, and 2 to 12 answers, twice each
    assert row["trials"] == {"low": 2 * (2 + 2 + 2), "high": 2 * (2 + 2 + 12)}
    # `Begin your reply with one of these answers: pleased, angry.` has 60 characters, and 2 line breaks; the items have
    # 14 and 12, which makes 19 tokens each; a reply of 60 or 800 tokens 76 and 816; what is said has 60 or 800
    assert row["tokens_in"] == {"low": 8 * 19 + 4 * 76, "high": 8 * 19 + 24 * 816}
    assert row["tokens_out"] == {"low": 12 * 60, "high": 32 * 800}
    assert row["cost_usd"]["low"] == pytest.approx(((8 * 19 + 4 * 76) * 2 + 12 * 60 * 8) / 1e6)
    assert planned["grid"]["llms"] == ["sim/steady"]
    assert planned["trials"]["high"] == 12 + 32


def test_the_plan_knows_the_judgements_that_are_there(replies):
    collect(study())
    found = plan_of(study())["collected"]
    assert (found["trials"], found["trials_of_other_plans"]) == (12 + 24, 0)


def test_the_summary_has_a_line_for_answers_and_one_for_judgements(replies, golden):
    of = study()
    golden(render_outcome(of, collect(of, max_calls=5)), "no text was put")
    shown = render_outcome(of, collect(of))
    golden(shown, "12 planned", "5 collected", "7 now")
    golden(shown, "24 planned", "0 collected", "24 now")


def test_judges_are_shown_what_the_tables_hold_where_the_answer_stands_after_a_marker(monkeypatch, warehouse):
    replies = ["FINAL: no. FINAL:\n the last \n", "nothing of the kind", "FINAL: ", "I think.\nFINAL: short", ""]
    said = itertools.cycle(replies)
    monkeypatch.setattr("ingest.providers.simulated.Simulated._write_text", lambda *_: next(said))
    of = study({"roles": ["answer"]}, {"answer": {"kind": "text", "answer_after": "FINAL:"}})
    collect(of)
    with read_trials(spool_folder("retold") / COLLECTED, Design(of)) as answers:
        in_python = answers.execute("select trial_id, text, status from answers where role is null order by all")
        in_python = in_python.fetchall()
    load_collected("retold")
    with contextlib.closing(connect(warehouse)) as raw:
        in_sql = raw.execute(
            "select trial_id, response_text, status_recorded, reason_recorded, landed.text "
            f"from ({query_of('stg_trials')}) "
            "inner join (select trial_id, response_text as text from raw.trials) as landed using (trial_id) "
            "where role is null order by trial_id"
        ).fetchall()
    assert [(trial_id, text) for trial_id, text, *_ in in_sql] == [(trial_id, text) for trial_id, text, _ in in_python]
    assert {text for _, text, _ in in_python} == {"the last", "short", None}
    assert len(in_python) == 12
    assert {of["text"] for of in spooled("judged")} == {"the last", "short"}
    assert all((status == "answered") == (text is not None) for _, text, status in in_python)
    for _, text, status, reason, reply in in_sql:
        lacks = reply is not None and "FINAL:" not in reply
        assert (status, reason) == (("unparsed", "no_marker") if lacks else (None, None)), reply
        assert text is None or not lacks


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": ["pleased", "angry", "neutral"]},
        {"question": "How does it sound?\n{text}", "question_of_answers": "How does it sound now?\n{text}"},
    ],
)
def test_other_words_for_judges_without_another_version_are_refused_and_nothing_is_asked(replies, changed):
    collect(study())
    before = spooled("trial")
    with pytest.raises(UserError, match="24 answers would be asked again as the study is now"):
        agreed_orphans(study(changed), False)
    assert of_study(study(changed)).n_again == 24
    assert of_study(study()).n_orphans == of_study(study({"repeats": 3})).n_orphans == 0
    assert spooled("trial") == before
    raised = of_study(study(changed | {"version": 2}))
    assert raised.n_orphans == 0
    assert {(version.name, version.number, version.now) for version in raised.versions} == {("judgements tone", 1, 2)}
    assert raised.versions.total() == 24


def test_what_changes_in_the_words_for_judges_is_shown_and_asked_once_it_is_agreed_to(replies, golden):
    collect(study())
    of = study({"question": "How does it sound?\n{text}"})
    said = render_asked(of_study(of))
    golden(said[0], "8 answers")
    assert said[1:4] == ["  8 answers to tone as original", "    -What is the tone?", "    +How does it sound?"]
    outcome = collect(of, orphaned=agreed_orphans(of, True)[0])
    assert outcome.judgements == Counter(n_planned=24, n_before=16, n_done=8)
    assert of_study(of).n_again == 0


@pytest.mark.parametrize(
    "judges",
    [
        {"labels": ["a", "A"]},
        {"roles": ["answer", "answer"]},
        {"roles": ["other"]},
        {"text": None},
        {"text": "{body}"},
        {"question": "{text} {body}"},
        {"question": "What is the tone?"},
        {"paradigm": "review"},
        {"llms": ["sim/steady"]},
        {"llms": [{"llm": "a/b"}] * 2},
    ],
    ids=str,
)
def test_a_mistake_about_judges_is_one_sentence(judges, golden):
    with pytest.raises(UserError) as refused:
        study(judges)
    golden(str(refused.value))
    assert "\n" not in str(refused.value)


def test_judges_take_answers_that_are_texts_of_one_paradigm_and_an_llm_has_one_setting():
    label = {"answer": {"kind": "label", "labels": ["x", "y"]}, "measures": {"m": {"of": ["x"], "better": "lower"}}}
    with pytest.raises(UserError, match="answers are judged where they are texts, and retelling asks for a label"):
        study(paradigm=label)
    with pytest.raises(UserError, match="judges: they judge the texts of one paradigm"):
        parse_study(yaml.safe_dump(STUDY | {"paradigm": ["order", "framing"], "judges": JUDGES}))
    other = {"llms": [{"llm": "a/b", "max_tokens": 5}]}
    with pytest.raises(UserError, match="judges: a/b stands under `llms` with other settings"):
        study(other, llms=["a/b"])


def test_no_judge_is_asked_about_a_text_that_is_not_there(replies):
    rows = [*PARADIGM["items"]["rows"], {"item": "none", "review": " ", "tone": "angry"}]
    one = study(paradigm={"items": {"rows": rows, "correct": "tone"}})
    assert [item for item, _ in Design(one).originals()] == ["good", "bad"]
