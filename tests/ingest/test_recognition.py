"""`bais import PATH` tells the format of what it is given, or says which formats there are."""

import json
import os
import random
from pathlib import Path

import pytest

from ingest.archives import archive_of, formats
from ingest.bring import recognition
from ingest.bring.recognition import recognised
from ingest.run import main
from ingest.warehouse import UserError
from tests.tools.people import make_study

STORY = {
    "experimentId": "anchoring-prosecutor-sentencing",
    "model": "openai/gpt-4o",
    "conditionId": "low-anchor-3mo",
    "runIndex": 0,
    "params": {"prosecutorRecommendationMonths": 3},
    "result": {"sentenceMonths": 6},
    "rawLastMessage": "6",
    "collectedAt": "2026-02-10T07:21:09.564Z",
}
PROMPTFOO = {"promptIdx": 0, "testIdx": 3, "provider": {"id": "echo"}, "vars": {"vignette": "analyst"}, "response": {}}
EVALUATION = {"evalId": "e", "results": {"version": 3, "prompts": [{"raw": "Which salary?"}], "results": [PROMPTFOO]}}
INSPECT = {"version": 2, "status": "success", "eval": {"task": "salary", "model": "mockllm/model"}, "samples": []}
MANIFEST = {"format": "bais-export", "format_version": 1, "file_format": "csv", "tables": [], "files": []}


def of(path):
    return recognised(path).form


def write(path, content, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, **how))
    return path


@pytest.mark.parametrize("shape", ["baseline", "low_anchor", "premortem", "full_sacd", "vignette"])
def test_document_a_is_known_by_each_of_its_shapes(archive, make, shape):
    assert of(make.file(archive / "a.jsonl", getattr(make, shape)())) == "voder-bais"


@pytest.mark.parametrize(
    ("name", "content", "indent", "form"),
    [
        ("r.jsonl", STORY, None, "story-001"),
        ("r.jsonl", PROMPTFOO, None, "promptfoo"),
        ("r.json", EVALUATION, None, "promptfoo"),
        ("r.json", EVALUATION, 2, "promptfoo"),
        ("r.json", [PROMPTFOO], 2, "promptfoo"),
        ("r.json", INSPECT, None, "inspect-logs"),
        ("r.json", INSPECT, 2, "inspect-logs"),
        ("manifest.json", MANIFEST, 1, "bais-export"),
    ],
)
def test_a_line_or_a_document_is_known_by_what_it_holds(archive, name, content, indent, form):
    write(archive / name, content, indent=indent)
    assert of(archive) == form
    if form != "bais-export":
        assert of(archive / name) == form


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_choices_of_people_are_known_by_their_columns_and_a_study_of_people_by_its_file(archive, ending, monkeypatch):
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "k" * 32)
    names = archive_of("human-choices").header
    line = ",".join(names) if ending == "csv" else json.dumps(dict.fromkeys(names, "1"))
    (archive / f"choices.{ending}").write_text(f"{line}\n")
    assert of(archive / f"choices.{ending}") == "human-choices"
    (archive / f"choices.{ending}").rename(archive / f"prolific.{ending}")
    make_study(archive)
    (archive / f"prolific.{ending}").write_text("Participant id,Status\na,APPROVED\n")
    assert of(archive) == "human-choices"
    (archive / "study.yaml").write_text("study: anchors\nllms: [a/b]\n")
    assert of(archive) == "table"


def test_a_log_of_inspect_is_known_by_its_ending_and_first_bytes(archive):
    (archive / "log.eval").write_bytes(b"PK\3\4 and so on")
    assert of(archive) == "inspect-logs"
    (archive / "log.eval").write_bytes(b"no such thing")
    with pytest.raises(UserError, match="nothing usable"):
        recognised(archive)


@pytest.mark.parametrize("content", [EVALUATION, INSPECT])
def test_a_document_longer_than_what_is_read_is_known_by_its_beginning(archive, content):
    path = write(archive / "r.json", content | {"last": "ü" * (2 << 20)}, ensure_ascii=False)
    assert of(path) == ("promptfoo" if content is EVALUATION else "inspect-logs")


def test_the_ending_counts_as_much_as_what_a_file_holds(archive, make):
    make.file(archive / "a.txt", make.baseline())
    with pytest.raises(UserError, match="nothing usable"):
        recognised(archive)


def test_a_format_is_found_among_junk(archive, make):
    make.file(archive / "a.jsonl", "{", "", "no JSON", b"\xff", b"a\0b", "[1]", "[" * 100_000, make.baseline())
    make.file(archive / "other.jsonl", {"score": 1}, STORY | {"conditionId": "another"})
    make.file(archive / "bom.jsonl", b"\xef\xbb\xbf", "\r")
    (archive / "empty.jsonl").touch()
    (archive / "noise.json").write_bytes(random.Random(1).randbytes(5000))
    (archive / "noise.eval").write_bytes(b"\0" * 5000)
    (archive / "wide.jsonl").write_bytes(b"x" * (3 << 20))
    (archive / "torn.json").write_text('{"results": {\n "results": [')
    os.mkfifo(archive / "pipe.jsonl")
    (archive / "circle.jsonl").symlink_to(archive / "circle.jsonl")
    (archive / "back").symlink_to(archive)
    assert of(archive) == "voder-bais"


def test_a_file_that_cannot_be_opened_is_passed_over(archive, make, monkeypatch):
    make.file(archive / "a.jsonl", make.baseline())
    closed, real = make.file(archive / "closed.jsonl", STORY), open

    def refuse(path, *how):
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *how)

    monkeypatch.setattr(recognition, "open", refuse, raising=False)
    assert of(archive) == "voder-bais"


def test_a_folder_that_may_not_be_looked_into_is_one_sentence(archive, monkeypatch, capsys):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    assert main(["--archive", str(archive)]) == 2
    assert capsys.readouterr().err == f"bais: {archive} cannot be read: Permission denied\n"


def test_half_a_surrogate_pair_does_not_hide_a_trial(archive, make):
    make.file(archive / "a.jsonl", json.dumps(make.vignette(raw="HALF")).replace("HALF", "\\ud83d"))
    assert of(archive) == "voder-bais"


def test_little_is_read_of_many_and_of_large_files(archive, make, monkeypatch):
    real, sizes = recognition._head, []
    monkeypatch.setattr(recognition, "_head", lambda file, n_bytes: sizes.append(n_bytes) or real(file, n_bytes))
    for i in range(1100):
        make.file(archive / f"{i}.jsonl", make.baseline(runIndex=i))
    assert of(archive) == "voder-bais"
    assert len(sizes) <= recognition.MOST_FILES
    assert sum(sizes) <= recognition.MOST_BYTES


def test_several_formats_are_named_each_with_a_file_and_nothing_lands(archive, make, warehouse, capsys, golden):
    make.file(archive / "a.jsonl", make.baseline())
    write(archive / "r.json", EVALUATION)
    assert main(["--archive", str(archive)]) == 2
    golden(capsys.readouterr().err)
    assert not warehouse.exists()
    assert main(["--archive", str(archive), "--format", "voder-bais"]) == 0


def test_lines_of_two_formats_in_one_file_are_two_formats(archive, make):
    path = make.file(archive / "a.jsonl", make.baseline(), STORY)
    with pytest.raises(UserError, match=r"several formats, story-001 \(a.jsonl\) and voder-bais \(a.jsonl\)"):
        recognised(path)


def test_a_stray_file_among_many_changes_nothing_and_is_named_by_the_import(archive, make, query, capsys, golden):
    make.file(archive / "0.jsonl", STORY)
    for i in range(1, 10):
        make.file(archive / f"{i}.jsonl", make.baseline(runIndex=i))
    assert main(["--archive", str(archive)]) == 0
    golden(capsys.readouterr().out, "0.jsonl", "001", "1 lines")
    (archive / "9.jsonl").unlink()
    with pytest.raises(UserError, match="several formats"):
        recognised(archive)


def test_an_export_is_known_by_the_manifest_directly_in_its_folder(archive, make):
    make.file(archive / "a.jsonl", make.baseline())
    write(archive / "out" / "manifest.json", MANIFEST)
    write(archive / "manifest.json", {"format": "another", "files": []})
    assert of(archive) == "voder-bais"
    assert of(archive / "out") == "bais-export"
    for i in range(50):
        make.file(archive / "out" / f"{i}.jsonl", make.baseline(runIndex=i))
    with pytest.raises(UserError, match=r"bais-export \(manifest.json\) and voder-bais"):
        recognised(archive / "out")


def test_story_001_reads_no_condition_wrong_and_names_what_is_another_experiment(archive, make, query, capsys, golden):
    conditions = {"params": {"prosecutorRecommendationMonths": "hot"}}, {"runIndex": 1.5}, {"collectedAt": "soon"}
    twice = json.dumps(STORY).replace('"sentenceMonths"', '"sentenceMonths": 7, "sentenceMonths"')
    unparsed = STORY | {"result": {"sentenceMonths": "many"}, "rawLastMessage": None}
    make.file(
        archive / "a.jsonl",
        *(STORY | changes for changes in conditions),
        twice,
        STORY | {"conditionId": "middle"},
        STORY | {"experimentId": "framing", "conditionId": "gain"},
        unparsed,
    )
    assert main(["--archive", str(archive), "--format", "story-001"]) == 3
    assert query("select line_number, reason from raw.quarantined_lines where line_number < 5 order by all") == [
        (1, "no trial of this format: params.prosecutorRecommendationMonths is no number: hot"),
        (2, "no trial of this format: runIndex is no whole number: 1.5"),
        (3, "no trial of this format: collectedAt is no time: soon"),
        (4, "a key is there twice: sentenceMonths"),
    ]
    out = capsys.readouterr().out
    assert "a.jsonl:5: no trial of this format: experiment anchoring-prosecutor-sentencing with" in out
    golden(out, "1 lines")
    assert query("select source_line, response_recorded, response_text from raw.trials") == [(7, None, "many")]


def test_results_of_several_experiments_are_imported_one_at_a_time(archive, make, query, capsys, golden):
    another = STORY | {"experimentId": "burglary-demands", "conditionId": "high-anchor-48mo"}
    make.file(archive / "a.jsonl", STORY, another)
    make.file(archive / "b.jsonl", another | {"runIndex": 1})
    assert main(["--archive", str(archive)]) == 2
    said = capsys.readouterr().err
    golden(said, "--study")
    assert main(["--archive", str(archive), "--study", "burglary-demands"]) == 0
    assert query("select study, vignette, anchor_direction, replicate from raw.trials order by all") == [
        ("burglary-demands", "burglary-demands", "high", 0), ("burglary-demands", "burglary-demands", "high", 1),
    ]  # fmt: skip
    assert query("select domain, response_unit from raw.batches") == [("judicial", "months")]


@pytest.mark.parametrize("holds", ["nothing", "notes", "junk"])
def test_where_nothing_is_known_one_sentence_says_what_is_read(archive, make, capsys, holds, golden):
    if holds == "notes":
        (archive / "notes.txt").write_text("x")
    if holds == "junk":
        make.file(archive / "a.jsonl", "{", {"other": 1})
    assert main(["--archive", str(archive)]) == 2
    said = capsys.readouterr().err
    golden(said)
    assert said.count("\n") == 1


def test_what_no_format_fits_is_a_table_and_with_a_mapping_what_needs_no_reader_of_its_own(archive, make):
    path = make.file(archive / "a.jsonl", STORY)
    assert (recognised(path).form, recognised(path, is_mapped=True).form) == ("story-001", "table")
    path = make.file(archive / "a.jsonl", PROMPTFOO)
    assert (recognised(path).form, recognised(path, is_mapped=True).form) == ("promptfoo", "promptfoo")
    path = make.file(archive / "a.csv", "x,y")
    assert recognised(path).form == "table"


def test_a_format_that_is_given_wins(archive, make, query, capsys, golden):
    make.file(archive / "a.jsonl", STORY)
    assert main(["--archive", str(archive), "--format", "voder-bais"]) == 2
    golden(capsys.readouterr().err)
    assert main(["--archive", str(archive), "--format", "story-001"]) == 0
    assert main(["--archive", str(archive)]) == 0
    assert query("select study, archive, response_recorded from raw.trials") == [
        ("anchoring-prosecutor-sentencing", "story_001", 6.0)
    ]


@pytest.mark.parametrize("form", ["voder-bais", "story-001"])
def test_an_import_fills_the_tables_that_its_format_names(archive, make, query, form):
    make.file(archive / "a.jsonl", *([make.baseline()] if form == "voder-bais" else [STORY]), "{")
    assert main(["--archive", str(archive)]) == 3
    tables = query("select table_name from duckdb_tables() where schema_name = 'raw' and table_name[1] != '_'")
    filled = {table for (table,) in tables if query(f"select 1 from raw.{table} limit 1")}
    assert filled == set(archive_of(form).tables) - {"version_entries"}  # of which a first version has none


def test_a_recognised_log_needs_no_mapping(archive, query):
    write(archive / "r.jsonl", PROMPTFOO)
    assert main(["--archive", str(archive / "r.jsonl")]) == 0
    assert query("select archive, study, llm_recorded, vignette from raw.trials") == [
        ("promptfoo", "r", "echo", "analyst")
    ]


def test_the_recorded_archive_is_document_a(recorded_archive):
    assert of(recorded_archive) == "voder-bais"


@pytest.mark.parametrize("form", formats())
def test_every_format_says_what_it_looks_like_what_it_fills_and_how_it_is_read(form):
    archive = archive_of(form)
    assert archive.form == form
    assert archive.expected
    assert {"trials", "counts", "attribution_scores", "falsifications", "human_choices"} & set(archive.tables)
    assert archive.select or archive.take or archive.read_trials
