"""Whatever a folder holds: what can be read lands, the rest is kept apart with file, line, text and reason."""

import json
import os
import random
from pathlib import Path

import pytest

from ingest.bring import importer
from ingest.bring.importer import mend
from ingest.run import main
from ingest.texts import lines

pytestmark = pytest.mark.slow("imports again and again")

HALF = "\\ud83d"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"experimentId": "baseline", "model"', "cut off: Expecting ':' delimiter at column 37"),
        ('{"experimentId": "base', "cut off: Unterminated string starting at at column 18"),
        ('{"a": 1} and more', "not valid JSON: Extra data at column 10"),
        ("no JSON at all", "not valid JSON: Expecting value at column 1"),
        ("[1, 2]", "not a JSON object but a list"),
        ('"text"', "not a JSON object but a str"),
        ("null", "not a JSON object but a NoneType"),
        ("[" * 100_000, "not readable JSON: maximum recursion depth exceeded"),
        (b"caf\xe9", "not UTF-8: byte 0xe9 at column 4"),
        (b'{"a": "\0"}', "binary: it holds NUL bytes"),
        (b"\xed\xa0\xbd", "not UTF-8: byte 0xed at column 1"),
    ],
)
def test_a_bad_line_is_quarantined_with_its_place_text_and_reason(archive, make, read, line, reason):
    make.file(archive / "sub" / "a.jsonl", make.baseline(), "", line, make.baseline(runIndex=1))
    result = read(archive)
    (bad,) = result.quarantined
    assert (bad["source_file"], bad["line_number"], bad["study"]) == ("sub/a.jsonl", 3, "voder-bais")
    assert bad["reason"].startswith(reason)
    assert bad["text"] == (line if isinstance(line, str) else line.decode(errors="backslashreplace")).replace(
        "\0", "\\0"
    )
    assert [trial["source_line"] for trial in result.trials] == [1, 4]
    assert result.summary.exit_code == 3


def test_quarantined_lines_land_once_however_often_they_are_imported(archive, make, query):
    make.file(archive / "a.jsonl", make.baseline(), "{", b"\xff\xfe\xfd", make.full_sacd())
    assert main(["--archive", str(archive)]) == 3
    assert main(["--archive", str(archive)]) == 3
    assert query("select source_file, line_number, text, reason from raw.quarantined_lines order by line_number") == [
        ("a.jsonl", 2, "{", "cut off: Expecting property name enclosed in double quotes at column 2"),
        ("a.jsonl", 3, "\\xff\\xfe\\xfd", "not UTF-8: byte 0xff at column 1"),
    ]
    assert query("select count(*) from raw.trials") == [(2,)]


def test_a_line_cut_in_half_an_empty_file_and_a_binary_file_are_named_and_the_rest_loads(archive, make, read):
    make.file(archive / "good.jsonl", make.baseline())
    make.file(archive / "cut.jsonl", make.baseline(runIndex=1), json.dumps(make.full_sacd())[:60])
    (archive / "empty.jsonl").touch()
    (archive / "blank.jsonl").write_text("\n \n\r\n")
    noise = random.Random(1).randbytes(5000)
    (archive / "noise.jsonl").write_bytes(noise)
    (archive / "high.jsonl").write_bytes(bytes(byte | 0x80 for byte in noise).replace(b"\x8a", b"\n"))
    (archive / "utf16.jsonl").write_text(json.dumps(make.baseline()) + "\n", encoding="utf-16")
    result = read(archive)
    assert len(result.trials) == 2
    assert result.reasons[("cut.jsonl", 2)].startswith("cut off")
    binary = "binary or not UTF-8: none of its lines can be read"
    assert {place: reason for place, reason in result.reasons.items() if place[0] != "cut.jsonl"} == {
        ("blank.jsonl", None): "the file is empty",
        ("empty.jsonl", None): "the file is empty",
        ("high.jsonl", None): binary,
        ("noise.jsonl", None): binary,
        ("utf16.jsonl", None): binary,
    }


def test_a_byte_order_mark_line_ends_of_windows_blanks_and_no_last_newline_change_nothing(archive, make, read):
    texts = [json.dumps(trial) for trial in (make.baseline(), make.full_sacd(), make.vignette())]
    path = make.file(archive / "a.jsonl", *texts)
    plain = read(archive)
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(texts).encode())
    odd = read(archive)
    assert [t["trial_id"] for t in odd.trials] == [t["trial_id"] for t in plain.trials]
    assert [t["source_line"] for t in odd.trials] == [1, 3, 5]
    path.write_text("\n".join(f" \t{text} \t" for text in texts))
    assert [t["trial_id"] for t in read(archive).trials] == [t["trial_id"] for t in plain.trials]
    assert not odd.quarantined


def test_a_tail_of_nul_bytes_is_one_bad_line(archive, make, read):
    path = make.file(archive / "a.jsonl", make.baseline(), make.full_sacd())
    path.write_bytes(path.read_bytes() + b"\0" * 70_000)
    result = read(archive)
    assert (len(result.trials), result.reasons) == (2, {("a.jsonl", 3): "binary: it holds NUL bytes"})


@pytest.mark.slow("lines of fifty megabytes")
def test_lines_of_fifty_megabytes_load_or_are_kept_in_part(archive, make, read):
    size = 50 << 20
    long_raw = "€" + "x" * size
    long_value = json.dumps(make.baseline(experimentId="x" * size))
    path = make.file(archive / "a.jsonl", make.vignette(raw=long_raw), "y" * size, long_value, make.baseline())
    result = read(archive)
    assert [trial["source_line"] for trial in result.trials] == [1, 4]
    assert result.trials[0]["response_text"] == long_raw
    assert path.stat().st_size > 3 * size
    assert [len(bad["text"]) for bad in result.quarantined] == [1 << 20, 1 << 20]
    assert all(bad["reason"].endswith("; only its first 1 MB is kept") for bad in result.quarantined)
    assert all(len(reason) < 300 for *_, reason in result.summary.quarantined)


def test_a_line_longer_than_any_trial_is_passed_over_without_being_held(archive, make, read, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 1 << 20)
    long = b"z" * (3 << 20)
    make.file(archive / "a.jsonl", make.baseline(), long, make.full_sacd(), long, make.baseline(runIndex=1), long)
    for block_bytes in (1000, 1 << 20, 16 << 20):
        result = read(archive, BLOCK_BYTES=block_bytes)
        assert [trial["source_line"] for trial in result.trials] == [1, 3, 5]
        assert set(result.reasons) == {("a.jsonl", number) for number in (2, 4, 6)}
        assert {reason.split(";")[0] for reason in result.reasons.values()} == {"longer than 1 MB"}


def test_half_a_surrogate_pair_becomes_the_replacement_character_in_a_trial(archive, make, read):
    line = json.dumps(make.vignette(raw="cut here: HALF", note="a pair: \U0001f600")).replace("HALF", HALF)
    make.file(archive / "a.jsonl", line)
    result = read(archive)
    (trial,) = result.trials
    assert trial["response_text"] == "cut here: \ufffd"
    assert json.loads(trial["line"])["note"] == "a pair: \U0001f600"
    assert not result.quarantined


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (r'{"a": "\ud83d"}', r'{"a": "\ufffd"}'),
        (r'{"a": "\ude00 b"}', r'{"a": "\ufffd b"}'),
        (r'{"a": "\ud83d\ude00"}', r'{"a": "\ud83d\ude00"}'),
        (r'{"a": "\ud83d\ud83d\ude00"}', r'{"a": "\ufffd\ud83d\ude00"}'),
        (r'{"a": "\\ud83d"}', r'{"a": "\\ud83d"}'),
        (r'{"a": "\\\ud83d"}', r'{"a": "\\\ufffd"}'),
    ],
)
def test_mending_touches_only_halves_of_pairs(text, mended):
    assert mend(text) == (mended, None)


def test_a_nul_character_in_a_text_lands(archive, make, query):
    make.file(archive / "a.jsonl", make.vignette(raw="a\0b", response=None))
    assert main(["--archive", str(archive)]) == 0
    assert query("select response_text from raw.trials") == [("a\0b",)]


def test_a_pipe_a_broken_link_and_a_circle_of_links_are_named(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline())
    os.mkfifo(archive / "pipe.jsonl")
    (archive / "gone.jsonl").symlink_to(archive / "nowhere")
    (archive / "circle.jsonl").symlink_to(archive / "circle.jsonl")
    result = read(archive)
    assert len(result.trials) == 1
    assert result.reasons == {
        ("pipe.jsonl", None): "not a regular file",
        ("gone.jsonl", None): "the file cannot be read: No such file or directory",
        ("circle.jsonl", None): "the file cannot be read: Too many levels of symbolic links",
    }


def test_links_to_folders_are_not_followed_and_a_file_is_read_once(archive, make, read):
    make.file(archive / "sub" / "a.jsonl", make.baseline())
    (archive / "sub" / "back").symlink_to(archive)
    (archive / "again.jsonl").symlink_to(archive / "sub" / "a.jsonl")
    (archive / "through.jsonl").symlink_to(archive / ".." / archive.name / "sub" / "back" / "again.jsonl")
    (archive / "hard.jsonl").hardlink_to(archive / "sub" / "a.jsonl")
    result = read(archive)
    assert [trial["source_file"] for trial in result.trials] == ["hard.jsonl"]
    assert result.summary.skipped == {
        "sub/back": "a link to a folder",
        "sub/a.jsonl": "a link to a file that is read",
        "again.jsonl": "a link to a file that is read",
        "through.jsonl": "a link to a file that is read",
    }
    assert result.summary.exit_code == 0


def test_a_link_that_leaves_the_folder_is_refused_and_nothing_outside_is_read(archive, make, read, tmp_path):
    make.file(archive / "a.jsonl", make.baseline())
    outside = make.file(tmp_path / "outside" / "b.jsonl", make.full_sacd())
    beside = make.file(archive.with_name(f"{archive.name}2") / "c.jsonl", make.full_sacd())
    (archive / "b.jsonl").symlink_to(outside)
    (archive / "beside.jsonl").symlink_to(beside)
    (archive / "relative.jsonl").symlink_to(Path("..") / "outside" / "b.jsonl")
    (archive / "folder").symlink_to(outside.parent)
    (archive / "parent").symlink_to(archive.parent)
    (archive / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    result = read(archive)
    assert [trial["source_file"] for trial in result.trials] == ["a.jsonl"]
    assert result.reasons == {
        (
            name,
            None,
        ): "a link that leads out of the imported folder is not followed: copy what it leads to into the folder"
        for name in ("b.jsonl", "beside.jsonl", "relative.jsonl", "folder", "parent", "gone.jsonl")
    }
    assert result.summary.exit_code == 3


def test_a_folder_that_is_itself_reached_by_a_link_is_imported_whole(archive, make, read, tmp_path):
    make.file(archive / "sub" / "a.jsonl", make.baseline())
    (tmp_path / "link").symlink_to(archive)
    (archive / "again.jsonl").symlink_to(tmp_path / "link" / "sub" / "a.jsonl")
    result = read(tmp_path / "link")
    assert len(result.trials) == 1
    assert result.summary.skipped == {"again.jsonl": "a link to a file that is read"}


def test_a_folder_of_links_that_leave_it_names_one(archive, make, tmp_path, capsys):
    (archive / "b.jsonl").symlink_to(make.file(tmp_path / "outside" / "b.jsonl", make.full_sacd()))
    assert main(["--archive", str(archive)]) == 2
    assert "b.jsonl: a link that leads out of the imported folder" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--archive", ""], ["--archive", "a", "--map", ""]])
def test_an_empty_path_names_nothing(arguments, capsys):
    assert main(arguments) == 2
    assert "an empty path names nothing" in capsys.readouterr().err


def test_a_folder_and_a_file_without_permission_are_named_and_the_rest_loads(archive, make, read, monkeypatch):
    make.file(archive / "a.jsonl", make.baseline())
    make.file(archive / "closed.jsonl", make.baseline(runIndex=1))
    make.file(archive / "shut" / "b.jsonl", make.baseline(runIndex=2))
    scan, read_blocks = os.scandir, importer.read_blocks

    def refuse_folder(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    def refuse_file(path, *rest):
        if path.name == "closed.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return read_blocks(path, *rest)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    monkeypatch.setattr(importer, "read_blocks", refuse_file)
    result = read(archive)
    assert [trial["source_line"] for trial in result.trials] == [1]
    assert result.reasons == {
        ("closed.jsonl", None): "the file cannot be read: Permission denied",
        ("shut", None): "the folder cannot be read: Permission denied",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_permissions_of_the_system_are_survived(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline())
    make.file(archive / "closed.jsonl", make.baseline()).chmod(0)
    (archive / "shut").mkdir(mode=0)
    result = read(archive)
    (archive / "shut").chmod(0o700)
    assert (len(result.trials), set(result.reasons)) == (1, {("closed.jsonl", None), ("shut", None)})


def test_a_file_that_breaks_off_while_it_is_read_keeps_what_was_read(archive, make, read, monkeypatch):
    make.file(archive / "a.jsonl", *(make.baseline(runIndex=i) for i in range(10)))
    read_blocks = importer.read_blocks

    def break_off(*arguments):
        yield next(read_blocks(*arguments))
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(importer, "read_blocks", break_off)
    result = read(archive, BLOCK_BYTES=100)
    assert len(result.trials) == 1
    assert result.reasons == {("a.jsonl", None): "the file cannot be read: Input/output error"}


def test_names_with_newlines_control_characters_or_bytes_that_are_no_text_are_shown_escaped(
    archive, make, query, capsys
):
    names = [b"two\nlines.jsonl", b"\x1b[31mred.jsonl", b"caf\xe9.jsonl", "ünïcode.jsonl".encode()]
    for i, name in enumerate(names):
        (archive / os.fsdecode(name)).write_text(json.dumps(make.baseline(runIndex=i)) + "\n")
    make.file(archive / "odd\x07.txt", "skipped")
    make.file(archive / "bad\x07.jsonl", "{", make.baseline(runIndex=9, model="evil/\x1b[2J"))
    make.file(archive / "vignette.jsonl", make.vignette(vignetteId="\x1b]0;title\x07"))
    make.file(archive / "keys.jsonl", {"\x1b[1m": 1})
    assert main(["--archive", str(archive)]) == 3
    assert query("select source_file from raw.trials where source_line = 1 order by all") == [
        ("\\x1b[31mred.jsonl",),
        ("caf\\udce9.jsonl",),
        ("two\\nlines.jsonl",),
        ("vignette.jsonl",),
        ("ünïcode.jsonl",),
    ]
    out = capsys.readouterr().out
    assert all(character.isprintable() for line in out.split("\n") for character in line)
    assert all(shown in out for shown in ("odd\\x07.txt", "bad\\x07.jsonl:1", "evil/\\x1b[2J", "\\x1b]0;title\\x07"))


@pytest.mark.parametrize("name", ["missing", "empty", "junk", "a file"])
def test_nothing_usable_is_one_sentence_exit_2_and_no_warehouse(archive, make, warehouse, capsys, name):
    folder = archive / name
    if name == "a file":
        make.file(folder, make.baseline())
    elif name != "missing":
        folder.mkdir()
    if name == "junk":
        make.file(folder / "a.jsonl", "{", {"other": 1})
        make.file(folder / "b.txt", "text")
        (folder / "c.jsonl").write_bytes(b"\0\1\2")
    assert main(["--archive", str(folder)]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith("bais: ")
    assert str(folder) in captured.err
    assert not warehouse.exists()


def test_nothing_usable_leaves_a_warehouse_as_it_was(archive, make, warehouse, capsys):
    make.file(archive / "a.jsonl", make.baseline())
    assert main(["--archive", str(archive)]) == 0
    before = warehouse.read_bytes()
    make.file(archive / "a.jsonl", "junk")
    assert main(["--archive", str(archive)]) == 2
    assert warehouse.read_bytes() == before
    assert "nothing usable" in capsys.readouterr().err
