"""Results of promptfoo and logs of Inspect: what their shipped mappings make of them, and others."""

import json
import sys
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

from bais.main import main as commands
from ingest.gate.audit import audit
from ingest.run import main

AGAIN = pytest.mark.slow("imports again and again")
DOWN = "RuntimeError('endpoint is down')\nTraceback"
TEXT = "record ->> '$.response.output'"
ANALYST = {"domain": "salary", "response_unit": "thousand USD", "valid_min": 10, "valid_max": 1000}


def result(number=110, **changes):
    """A result as promptfoo writes it, as far as it matters here."""
    content = {
        "promptIdx": 0,
        "testIdx": 3,
        "provider": {"id": "openai:chat:gpt-4.1", "label": ""},
        "prompt": {"raw": "Which salary?", "label": "plain"},
        "vars": {"vignette": "analyst", "technique": "premortem", "direction": "low", "anchor": 55} | ANALYST,
        "response": {"output": f"I thought of 90.\n\nAnswer: {number}", "tokenUsage": {"total": 9}},
        "success": True,
        "latencyMs": number,
    }
    return content | changes


def bring(path, form="promptfoo", mapping=None, *more):
    """Import a log, as a study of salaries, with a mapping if there is one."""
    named = [] if "--study" in more else ["--study", "salaries"]
    return main(
        ["--archive", str(path), "--format", form, *(["--map", str(mapping)] if mapping else []), *named, *more]
    )


@pytest.fixture
def mapped(tmp_path):
    """Write a mapping of results of promptfoo with columns of its own."""

    def write(vignette=ANALYST, **columns):
        columns = {
            "llm": "record ->> '$.provider.id'", "vignette": "record ->> '$.vars.vignette'",
            "technique": "record ->> '$.vars.technique'",
        } | {name: repr(value) for name, value in vignette.items()} | columns  # fmt: skip
        path = tmp_path / "map.sql"
        path.write_text(f"select filename, {', '.join(f'{of} as {name}' for name, of in columns.items())} from source")
        return path

    return write


def test_a_result_of_promptfoo_becomes_a_trial_with_its_conditions_and_the_number_in_its_text(archive, make, query):
    path = make.file(archive / "results.jsonl", result())
    assert bring(path) == 0
    assert query(
        "select study, source, archive, source_file, source_line, llm_recorded, vignette, technique, anchor_direction, "
        "anchor_value, temperature, response_recorded, response_text, protocol from raw.trials"
    ) == [
        (
            "salaries", "recorded", "promptfoo", "results.jsonl", 1, "openai:chat:gpt-4.1", "analyst", "premortem",
            "low", 55.0, None, 110.0, "I thought of 90.\n\nAnswer: 110", "promptfoo",
        )
    ]  # fmt: skip
    assert query("select domain, response_unit, valid_min, valid_max, n_trials from raw.batches") == [
        ("salary", "thousand USD", 10.0, 1000.0, 1)
    ]


@AGAIN
def test_whether_the_unanchored_prompt_differs_is_declared_and_may_be_said_later(archive, make, mapped, query):
    path = make.file(archive / "results.jsonl", result())
    said = {"baseline_prompt": "differs", "differs_by": "anchored prompts name a second sum"}
    for vignette in (ANALYST, ANALYST, ANALYST | said):
        assert bring(path, mapping=mapped(vignette, text=TEXT, anchor_value="record ->> '$.vars.anchor'")) == 0
    assert query("select baseline_prompt, differs_by from raw.batches order by ordinal") == [
        (None, None), ("differs", "anchored prompts name a second sum"),
    ]  # fmt: skip


def test_a_document_of_promptfoo_brings_each_result_with_the_time_of_the_evaluation(archive, query):
    path = archive / "results.json"
    results = {"version": 3, "timestamp": "2026-03-04T05:06:07.800Z", "results": [result(1), result(2)]}
    path.write_text(json.dumps({"evalId": "e", "results": results}, indent=2))
    assert bring(path) == 0
    assert query("select source_line, response_recorded, asked_at from raw.trials order by all") == [
        (1, 1.0, datetime(2026, 3, 4, 5, 6, 7, 800000, tzinfo=UTC)),
        (2, 2.0, datetime(2026, 3, 4, 5, 6, 7, 800000, tzinfo=UTC)),
    ]


@pytest.mark.slow("imports again and again")
def test_the_same_log_again_adds_nothing_and_a_grown_one_what_is_new(archive, make, query):
    path = make.file(archive / "results.jsonl", result(1), result(2), result(2))
    assert bring(path) == 0
    ids = query("select trial_id from raw.trials order by all")
    assert (len(ids), bring(path)) == (3, 0)
    make.file(archive / "elsewhere" / "results.jsonl", result(1), result(2), result(2))
    assert bring(archive / "elsewhere") == 0
    assert query("select trial_id from raw.trials order by all") == ids
    make.file(path, result(1), result(2), result(2), result(3))
    assert bring(path) == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(4, 4)]


@pytest.mark.slow("imports again and again")
def test_a_study_that_is_called_like_imported_trials_says_so_before_it_asks(archive, make, tmp_path, capsys):
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: another\nllms: [sim/constant]\nvignettes: [analyst]\ntechniques: [no_technique]\n"
        "anchors: {fixed: {low: 1, high: 2}}\nstopping_rule: {minimum: 5}\n"
    )
    assert commands(["plan", str(study)]) == 0
    assert "imported" not in capsys.readouterr().out
    assert bring(make.file(archive / "r.jsonl", result()), "promptfoo", None, "--study", "another") == 0
    sentence = "The warehouse has 1 imported trial of a study that is called another too: "
    assert commands(["plan", str(study)]) == 0
    assert sentence in capsys.readouterr().out
    assert commands(["collect", str(study)]) == 0
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("corrected", "now", "n_changed"),
    [
        ({"technique": "replace(record ->> '$.vars.technique', 'premortem', 'sacd')"}, ("sacd", 110, 1000), 1),
        pytest.param({"text": "record ->> '$.latencyMs'"}, ("premortem", 120, 1000), 2, marks=AGAIN),
        pytest.param({"vignette": ANALYST | {"valid_max": 500}}, ("premortem", 110, 500), 2, marks=AGAIN),
    ],
)
@pytest.mark.slow("imports again and again")
def test_what_a_corrected_mapping_changes_is_a_version_and_everything_else_is_unchanged(
    archive, make, query, mapped, capsys, corrected, now, n_changed
):
    other = result(90, vars={"vignette": "analyst", "technique": "no_technique"})
    path = make.file(archive / "results.jsonl", result(110, latencyMs=120), other)
    assert bring(path, mapping=mapped(text=TEXT)) == 0
    capsys.readouterr()
    for n, unchanged in ((n_changed, 2 - n_changed), (0, 2)):
        assert bring(path, mapping=mapped(**{"text": TEXT} | corrected)) == 0
        said = capsys.readouterr().out
        assert f"{unchanged} unchanged" in said
        assert f"{n} changed" in said or not n
        assert ("nothing has changed" in said) is (n == 0)
    assert query("select count(*) from raw.source_versions") == [(2,)]
    assert query("select count(*) from raw.trials") == [(2 + n_changed,)]
    last = "select technique, response_recorded, valid_max from raw.trials inner join raw.batches using (batch_id) "
    assert now in query(last + "where batches.ordinal = (select max(ordinal) from raw.batches)")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"provider": None}, "there is no llm"),
        ({"vars": {"technique": "sacd"}}, "there is no vignette"),
        ({"vars": ANALYST | {"vignette": "analyst", "anchor": "high"}}, "anchor_value is no number: high"),
        ({"vars": ANALYST | {"vignette": "analyst", "anchor": "inf"}}, "anchor_value is no number: inf"),
        (
            {"vars": ANALYST | {"vignette": "analyst", "anchor": 5, "direction": "up"}},
            "anchor_direction is not none, low or high: up",
        ),
        ({"evaluation": {"timestamp": "yesterday"}}, "asked_at is no time: yesterday"),
        ({"vars": ANALYST | {"vignette": "analyst", "anchor": float("inf")}}, "anchor_value is no number: Infinity"),
        ({"vars": ANALYST | {"vignette": "analyst", "anchor": 10**400}}, f"anchor_value is no number: 1{'0' * 99}"),
    ],
)
@pytest.mark.slow("imports again and again")
def test_a_result_whose_condition_cannot_be_read_is_set_apart_with_file_line_text_and_reason(
    archive, make, query, capsys, changes, reason, golden
):
    bad = result(7, **changes)
    path = make.file(archive / "r.jsonl", result(1), bad, "{broken", result(2))
    assert bring(path) == 3
    found = query("select source_file, line_number, text, reason from raw.quarantined_lines order by line_number")
    assert found[0][:2] == ("r.jsonl", 2)
    golden(found[0][3])
    assert found[1][:3] == ("r.jsonl", 3, "{broken")
    golden(capsys.readouterr().out, "r.jsonl", str(reason))
    assert query("select source_line from raw.trials order by all") == [(1,), (3,)]


def test_a_result_with_a_key_twice_in_what_is_read_of_it_is_set_apart(archive, query):
    texts = [json.dumps(result(i)) for i in range(3)]
    texts[0] = texts[0].replace('"anchor": 55', '"anchor": 55, "anchor": 56')
    texts[1] = texts[1].replace('"success": true', '"success": true, "success": false')
    path = archive / "r.jsonl"
    path.write_text("\n".join(texts))
    assert bring(path) == 3
    assert query("select line_number, reason from raw.quarantined_lines order by all") == [
        (1, "a key is there twice: anchor"),
        (2, "a key is there twice: success"),
    ]
    assert query("select response_recorded from raw.trials") == [(2.0,)]


def test_a_document_with_a_key_twice_is_set_apart(archive, make, query):
    make.file(archive / "a.jsonl", result())
    make.file(archive / "r.json", '{"evalId": "e", "evalId": "f", "results": [' + json.dumps(result()) + "]}")
    assert bring(archive) == 3
    assert query("select source_file, reason from raw.quarantined_lines") == [
        ("r.json", "the file cannot be read: not readable JSON: a key is there twice: evalId")
    ]


def test_a_file_without_any_trial_is_named_with_the_first_reason_and_nothing_lands(
    archive, make, warehouse, capsys, golden
):
    path = make.file(archive / "r.jsonl", result(provider=None))
    assert bring(path) == 2
    said = capsys.readouterr().err
    assert "nothing usable" in said
    golden(said)
    assert not warehouse.exists()


def test_a_document_that_is_not_json_is_set_apart_with_line_and_column_and_the_others_load(archive, make, query):
    make.file(archive / "good.jsonl", result())
    (archive / "torn.json").write_text('{"results": {\n "results": [')
    assert bring(archive) == 3
    assert query("select source_file, reason from raw.quarantined_lines") == [
        ("torn.json", "the file cannot be read: not valid JSON: Expecting value at line 2, column 14")
    ]
    assert query("select count(*) from raw.trials") == [(1,)]


def test_what_a_provider_refused_or_failed_to_answer_is_a_trial_with_its_status(archive, make, query):
    refusal = "I'm sorry, but I can't help with that."
    path = make.file(
        archive / "r.jsonl",
        result(),
        result(2, response={"output": refusal}),
        result(3, response=None, error="429 Too Many Requests"),
        result(4, error="Expected output to be a number"),
        result(5, response={"output": "I would rather talk about it."}),
    )
    assert bring(path) == 0
    assert query(
        "select source_line, status_recorded, reason_recorded, response_recorded from raw.trials order by 1"
    ) == [
        (1, None, None, 110.0),
        (2, "refused", None, None),
        (3, "failed", "429 Too Many Requests", None),
        (4, None, None, 4.0),
        (5, None, None, None),
    ]


def test_a_recorded_number_goes_before_the_text_and_what_is_no_number_stays_as_text(archive, make, query, mapped):
    mapping = mapped(number="record ->> '$.namedScores.salary'", text=TEXT)
    path = make.file(
        archive / "r.jsonl",
        result(namedScores={"salary": 42.5}),
        result(1, namedScores={"salary": "none given"}, response={}),
        result(2, namedScores={}),
    )
    assert bring(path, mapping=mapping) == 0
    assert query("select source_line, response_recorded, response_text from raw.trials order by 1") == [
        (1, 42.5, "I thought of 90.\n\nAnswer: 110"),
        (2, None, "none given"),
        (3, None, "I thought of 90.\n\nAnswer: 2"),
    ]


def test_without_an_anchor_the_direction_is_none_and_with_one_that_says_nothing_it_is_left_open(
    archive, make, query, mapped
):
    mapping = mapped(text=TEXT, anchor_value="record ->> '$.vars.anchor'")
    variables = {"vignette": "analyst", "technique": "no_technique"}
    path = make.file(archive / "r.jsonl", result(vars=variables), result(vars={**variables, "anchor": 5}))
    assert bring(path, mapping=mapping) == 0
    assert query("select anchor_value, anchor_direction from raw.trials order by source_line") == [
        (None, "none"),
        (5.0, None),
    ]


@pytest.mark.slow("imports again and again")
def test_the_gate_audits_what_was_imported_like_any_batch(archive, make, query):
    variables = {"vignette": "analyst", "technique": "no_technique", "direction": "none"} | ANALYST
    path = make.file(archive / "r.jsonl", *[result(100 + i, vars=variables) for i in range(20)], result(5000))
    assert bring(path) == 0
    (verdict,) = audit()
    assert (verdict.study, verdict.vignette, verdict.n_trials) == ("salaries", "analyst", 21)
    assert query(
        "select level, n_offending from raw.batch_checks where check_name = 'out_of_range' and not is_passed"
    ) == [("warn", 1)]


def test_the_prompt_of_a_result_is_kept_and_rows_whose_anchor_it_lacks_are_held_back(archive, make, query):
    anchors = {"gpt-4.1": 55, "gpt-4o": 60, "o3": 72}
    results = [
        result(
            100 + i,
            provider={"id": f"openai:chat:{llm}"},
            prompt={"raw": f"They offered {anchor}. Which salary?"},
            vars={
                "vignette": "analyst",
                "technique": "no_technique",
                "direction": "low",
                "anchor": anchor + 7 * (llm == "o3"),
            },
        )
        for llm, anchor in anchors.items()
        for i in range(6)
    ]
    assert bring(make.file(archive / "r.jsonl", *results)) == 0
    assert query("select prompt_kind, text from raw.prompts order by text") == [
        ("message", f"They offered {anchor}. Which salary?") for anchor in anchors.values()
    ]
    audit()
    assert query(
        "select llm_recorded, count(*), min(replace(detail, prompt_hash, '…')) from raw.flagged_trials "
        "inner join raw.trials using (trial_id) where reason = 'another_question' group by all"
    ) == [("openai:chat:o3", 6, "prompt … asks with another anchor, not 79.0")]


def test_study_on_the_command_line_goes_before_the_one_in_the_mapping(archive, make, query, mapped):
    path = make.file(archive / "r.jsonl", result())
    assert bring(path, "promptfoo", mapped(text=TEXT, study="'one'"), "--study", "another") == 0
    assert query("select study, batch_id[:16] from raw.trials") == [("another", "another/analyst/")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "promptfoo", "--map", "none.sql"],
        ["--format", "voder-bais", "--map", "none.sql"],
        ["--format", "bais-export", "--study", "s"],
    ],
    ids=str,
)
def test_a_format_and_a_mapping_that_do_not_fit_are_one_sentence(archive, capsys, arguments, golden):
    assert main(["--archive", str(archive), *arguments]) == 2
    said = capsys.readouterr().err
    golden(said)
    assert said.count("\n") == 1


def samples(path):
    """What Inspect's samples data frame holds of a log with three samples, the last of which ended in an error."""
    frame = pd.DataFrame(
        {
            "eval_id": "e1",
            "sample_id": ["u1", "u2", "u3"],
            "model": "openai/gpt-4.1",
            "model_generate_config": json.dumps({"temperature": 0.7}),
            "created": pd.Timestamp("2026-03-04T05:06:07Z"),
            "task_name": "salary",
            "id": ["1", "2", "3"],
            "epoch": [1, 1, 2],
            "input": "Which salary?",
            "target": "",
            "metadata_vignette": "analyst",
            "metadata_technique": ["no_technique", "sacd", "sacd"],
            "metadata_direction": ["none", "high", "high"],
            "metadata_anchor": [float("nan"), 165.0, 165.0],
            "metadata_domain": "salary",
            "metadata_response_unit": "thousand USD",
            "score_match": ["I", "C", None],
            "error": ["", "", "Timeout"],
            "completion": ["Answer: 110", "Answer: 140", None],
        }
    )
    return frame.convert_dtypes() if "arrow" in path else frame


@pytest.fixture
def inspect(monkeypatch):
    """A stand-in for `inspect_ai`; it cannot read a log named `torn`, finds no sample in one named `none`."""
    module, log, asked = ModuleType("inspect_ai.analysis"), ModuleType("inspect_ai.log"), []

    def column(kind):
        return lambda name, *, path, full=False: (kind, name, path, full)

    def samples_df(logs, columns, full, strict, quiet):
        asked.append((columns, full, strict, quiet))
        if "torn" in logs:
            raise RuntimeError("bad zip\nat 0")
        return samples(logs)[: 0 if "none" in logs else None], []

    def read_eval_log(path, header_only):
        assert header_only
        status = next((status for status in ("error", "cancelled", "started") if status in path), "success")
        return SimpleNamespace(status=status, error=SimpleNamespace(message=DOWN) if status == "error" else None)

    module.EvalColumn, module.SampleColumn = column("eval"), column("sample")
    module.EvalModel, module.SampleSummary = ["the model's"], ["the samples'"]
    module.samples_df, log.read_eval_log = samples_df, read_eval_log
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.analysis", module)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", log)
    return asked


@pytest.mark.parametrize("name", ["log.eval", "arrow.eval"])
@pytest.mark.slow("imports again and again")
def test_samples_of_inspect_become_trials(archive, query, inspect, name):
    (archive / name).write_bytes(b"PK")
    assert bring(archive, "inspect-logs") == 0
    assert query(
        "select study, source, archive, source_file, source_line, llm_recorded, vignette, technique, anchor_direction, "
        "anchor_value, temperature, replicate, response_recorded, status_recorded, reason_recorded, asked_at "
        "from raw.trials order by source_line"
    ) == [
        (
            "salaries",
            "recorded",
            "inspect_logs",
            name,
            i,
            "openai/gpt-4.1",
            "analyst",
            technique,
            direction,
            anchor,
            0.7,
            epoch,
            number,
            status,
            reason,
            datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        )
        for i, technique, direction, anchor, epoch, number, status, reason in [
            (1, "no_technique", "none", None, 1, 110.0, None, None),
            (2, "sacd", "high", 165.0, 1, 140.0, None, None),
            (3, "sacd", "high", 165.0, 2, None, "failed", "Timeout"),
        ]
    ]
    ((columns, full, strict, quiet),) = inspect
    assert ("sample", "completion", "output.completion", True) in columns
    assert (full, strict, quiet) == (True, False, True)
    assert bring(archive, "inspect-logs") == 0
    assert query("select count(*) from raw.trials") == [(3,)]


def test_a_log_that_inspect_cannot_read_is_set_apart_and_the_others_load(archive, query, inspect):
    for name in ("good.eval", "torn.eval"):
        (archive / name).write_bytes(b"PK")
    assert bring(archive, "inspect-logs") == 3
    assert query("select source_file, reason from raw.quarantined_lines") == [
        ("torn.eval", "the file cannot be read: Inspect cannot read it: bad zip")
    ]
    assert query("select count(*) from raw.trials") == [(3,)]


def test_a_log_whose_evaluation_did_not_succeed_is_named_with_status_and_message_and_its_samples_load(
    archive, query, inspect, capsys
):
    for name in ("whole.eval", "cancelled.eval", "error.eval", "started.eval"):
        (archive / name).write_bytes(name.encode())
    assert bring(archive, "inspect-logs") == 0
    said = [line.strip() for line in capsys.readouterr().out.splitlines() if "status" in line]
    assert said == [
        "cancelled.eval: status cancelled",
        "error.eval: status error, RuntimeError('endpoint is down')",
        "started.eval: status started",
    ]
    assert query("select count(*) > 0 from raw.trials") == [(True,)]


def test_a_log_without_a_sample_says_why_its_evaluation_ended(archive, inspect, capsys, golden):
    (archive / "none_error.eval").write_bytes(b"PK")
    assert bring(archive, "inspect-logs") == 2
    golden(capsys.readouterr().err)


def test_without_inspect_one_sentence_says_what_to_install(archive, warehouse, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    (archive / "log.eval").write_bytes(b"PK")
    assert bring(archive, "inspect-logs") == 2
    said = capsys.readouterr().err
    assert "`pip install inspect_ai`" in said
    assert said.count("\n") == 1
    assert not warehouse.exists()
