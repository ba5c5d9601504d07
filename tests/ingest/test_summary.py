"""What an import says about itself."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import run
from ingest.bring.importer import Summary
from ingest.run import main, render
from ingest.warehouse import printable


def test_the_summary_names_files_rows_skipped_quarantined_unknown_duplicates_and_seconds(archive, make, capsys, golden):
    make.file(archive / "a.jsonl", make.baseline(), make.baseline(runIndex=1), "{", make.baseline(model="new/one"))
    make.file(archive / "b.jsonl", make.baseline(runIndex=2), "")
    make.file(archive / "copy" / "b.jsonl", make.baseline(runIndex=2))
    make.file(archive / "c.jsonl", make.vignette(vignetteId="parking"), make.full_sacd())
    make.file(archive / "d.txt")
    assert main(["--archive", str(archive)]) == 3
    out = capsys.readouterr().out
    golden(re.sub(r"version \w+", "version V", out))


def test_long_lists_end_with_how_many_more_there_are(golden):
    summary = Summary("folder")
    summary.rows["baseline"], summary.files["baseline"] = 1, 1
    summary.skipped = {f"{i}.txt": "not a .jsonl file" for i in range(30)}
    summary.quarantined = [(f"{i}.jsonl", 1, False, "cut off") for i in range(1200)]
    summary.unknown_llms.update({f"new/{i}": 1 for i in range(25)})
    text = render(summary)
    assert "and 10 more\n" in text
    assert "and 1,180 more\n" in text
    golden(text, "5 more")


def test_a_progress_bar_shows_on_a_terminal_alone(archive, make, monkeypatch, capsys):
    make.file(archive / "a.jsonl", make.baseline())
    main(["--archive", str(archive)])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["--archive", str(archive)]) == 0
    assert "reading" in capsys.readouterr().err


def test_progress_counts_every_byte_and_never_goes_back(archive, make):
    from ingest.archives.voder_bais import ARCHIVE
    from ingest.bring.importer import import_archive

    paths = [make.file(archive / f"{i}.jsonl", *[make.baseline()] * 50) for i in range(3)]
    seen = []
    import_archive(archive, ARCHIVE, lambda n_done, n_total: seen.append((n_done, n_total)))
    size = sum(path.stat().st_size for path in paths)
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain ü €", "plain ü €"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\udce9", "\\udce9"),
        ("\ud83d", "\\ud83d"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_what_could_act_on_a_terminal_is_escaped(value, shown):
    assert printable(value) == shown


def test_an_interrupt_is_one_sentence_and_exit_130(archive, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "import_folder", interrupted)
    assert main(["--archive", str(archive)]) == 130
    assert capsys.readouterr().err.startswith("bais: interrupted")


QUARANTINED = {
    "like a trial": {"llm": "a/b", "answer": 5},
    "hot": '{"experimentId": "baseline", "model": "a/b", "temperature": "hot", "sentenceMonths": 5}',
    "a key twice": '{"experimentId": "baseline", "model": "a/b", "model": "a/b", "sentenceMonths": 5}',
}
# these are skipped in a file that holds nothing else
UNKNOWN = {"other": {"score": 5}, "cut": '{"a', "list": "[1]", "no text": b"\xff", "binary": b"a\0b"}
BLANK = {"blank": "", "blanks": " \t\r"}
NAMED = {"of a tool": {"experimentId": "framing", "model": "a/b", "conditionId": "gain", "params": {}}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return (tmp_path_factory.mktemp("archive") for _ in iter(int, 1))


names = st.sampled_from(["trial", "trial", "sacd", *QUARANTINED, *UNKNOWN, *BLANK, *NAMED])


@settings(max_examples=15, deadline=None)
@given(files=st.lists(st.lists(names, max_size=8), min_size=1, max_size=4))
@pytest.mark.slow("imports again and again")
def test_of_every_line_that_is_read_it_is_said_what_became_of_it(make, read, folders, files):
    folder, lines = next(folders), {"trial": make.baseline(), "sacd": make.full_sacd()}
    lines |= QUARANTINED | UNKNOWN | BLANK | NAMED
    make.file(folder / "always.jsonl", make.vignette())
    for i, content in enumerate(files):
        # the first and the third file share a path in the archive
        make.file(
            folder / ("copy" if i == 2 else ".") / f"{0 if i == 2 else i}.jsonl", *(lines[name] for name in content)
        )
    summary = read(folder).summary
    held = ["always", *(name for content in files for name in content)]
    assert summary.n_accounted == summary.n_lines == len(held)
    n_trials = sum(name in ("always", "trial", "sacd") for name in held)
    assert summary.n_new + summary.n_duplicates == n_trials
    assert summary.skipped_lines["blank"] == sum(name in BLANK for name in held)
    assert summary.skipped_lines["other data: runs of story 001's tool"] == held.count("of a tool")
    assert summary.quarantined_lines["a key is there twice"] == held.count("a key twice")
    assert summary.quarantined_lines["temperature is no number"] == held.count("hot")
    assert sum(summary.quarantined_lines.values()) >= sum(name in QUARANTINED for name in held)
    assert f"  {len(held)} lines read: {summary.n_new} new, " in render(summary)


def test_every_line_of_a_file_that_is_no_text_or_of_other_data_is_counted(archive, make, capsys, golden):
    make.file(archive / "a.jsonl", make.baseline())
    make.file(archive / "noise.jsonl", b"\xff", b"\xfe", b"\xfd")
    make.file(archive / "scores.jsonl", {"score": 1}, {"score": 2}, '{"score": ')
    assert main(["--archive", str(archive)]) == 3
    out = capsys.readouterr().out
    golden(out, "cannot be read", "1 lines")
    golden(out, "scores.jsonl", "2 lines")
    golden(out, "raw.quarantined_lines", "3 binary")
    golden(out, "7 lines", "1 new", "3 quarantined")


def test_the_lines_of_a_later_version_are_told_of_too(archive, make):
    from ingest.archives.voder_bais import ARCHIVE
    from ingest.bring.importer import import_archive

    runs = [make.baseline(runIndex=i, collectedAt=f"2026-01-02T03:04:0{i}Z") for i in range(6)]
    make.file(archive / "a.jsonl", *runs[:4])
    make.file(archive / "gone.jsonl", make.full_sacd())
    assert import_archive(archive, ARCHIVE).n_new == 5
    (archive / "gone.jsonl").unlink()
    make.file(archive / "a.jsonl", runs[0] | {"sentenceMonths": 3}, *runs[1:5], "", "{", {"llm": "a/b", "answer": 1})
    make.file(archive / "copy" / "a.jsonl", *runs[1:3])
    for changes in [{"n_new": 1, "n_unchanged": 3, "n_changed": 1}, {"n_new": 0, "n_unchanged": 5, "n_changed": 0}]:
        summary = import_archive(archive, ARCHIVE)
        assert {name: getattr(summary, name) for name in changes} == changes
        assert (summary.n_duplicates, summary.quarantined_lines.total(), summary.skipped_lines.total()) == (2, 2, 1)
        assert summary.n_accounted == summary.n_lines == 10


def test_lines_that_are_cut_off_beside_an_empty_object_break_nothing(make, read, tmp_path):
    cut_off = ['{"a', '{"a', b"a\0b"]
    make.file(tmp_path / "a.jsonl", *cut_off, make.baseline(), "[1]", "{}", "{}", make.baseline(runIndex=1))
    summary = read(tmp_path).summary
    assert summary.n_accounted == summary.n_lines == 8
