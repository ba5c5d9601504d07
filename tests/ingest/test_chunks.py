"""A file is read in chunks; where they end changes nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.bring.importer import ahead, gather
from ingest.texts.lines import read_blocks, split_blocks

LINES = ["baseline 1", "baseline 2", "sacd", "foreign", "cut", "", " ", b"\xff", b"a\0b"]


def as_line(make, name):
    trials = {
        "baseline 1": make.baseline(),
        "baseline 2": make.baseline(runIndex=2),
        "sacd": make.full_sacd(),
        "foreign": make.baseline(experimentId="other"),
    }
    return json.dumps(trials[name]) if name in trials else '{"cut": ' if name == "cut" else name


def outcome(result):
    trials = [(t["trial_id"], t["source_file"], t["source_line"], t["line"]) for t in result.trials]
    bad = [(b["quarantine_id"], b["source_file"], b["line_number"], b["text"], b["reason"]) for b in result.quarantined]
    counts = (result.summary.n_new, result.summary.n_duplicates, result.summary.rows, result.summary.files)
    return sorted(trials), sorted(bad, key=str), counts, result.summary.skipped


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return (tmp_path_factory.mktemp("archive") for _ in iter(int, 1))


files = st.lists(st.lists(st.sampled_from(LINES), max_size=8), min_size=1, max_size=4)


@settings(max_examples=10, deadline=None)
@given(contents=files, block_bytes=st.integers(1, 900), chunk_bytes=st.integers(1, 900))
@pytest.mark.slow("an archive read in many ways")
def test_the_sizes_of_blocks_and_chunks_change_nothing(make, read, folders, contents, block_bytes, chunk_bytes):
    folder = next(folders)
    make.file(folder / "always.jsonl", make.vignette())
    for i, names in enumerate(contents):
        # the first and the third file share a path in the archive
        path = folder / ("copy" if i == 2 else ".") / f"{0 if i == 2 else i}.jsonl"
        make.file(path, *(as_line(make, name) for name in names))
    whole = outcome(read(folder))
    assert outcome(read(folder, BLOCK_BYTES=block_bytes, CHUNK_BYTES=chunk_bytes)) == whole
    ids = [trial[0] for trial in whole[0]]
    assert len(set(ids)) == len(ids)


@pytest.mark.slow("imports again and again")
def test_equal_lines_on_both_sides_of_a_chunk_end_are_trials_of_their_own(archive, make, read):
    make.file(archive / "a.jsonl", *[make.baseline()] * 7)
    make.file(archive / "b.jsonl", *[make.baseline()] * 2)
    results = [read(archive, BLOCK_BYTES=size, CHUNK_BYTES=size) for size in (1, 500, 700, 1 << 20)]
    assert all(len(result.trials) == 9 for result in results)
    assert len({frozenset(trial["trial_id"] for trial in result.trials) for result in results}) == 1


pieces = st.sampled_from([b"\n", b"\r\n", b"\xef\xbb\xbf", b" ", b"\t", b"{}", "ü€".encode(), b"\0"]) | st.binary(
    max_size=5
)
texts = st.lists(pieces, max_size=15).map(b"".join)


@settings(deadline=None)
@given(data=texts, block_bytes=st.integers(1, 40))
def test_every_line_comes_once_with_its_number_good_or_bad(folders, data, block_bytes):
    path = next(folders) / "file"
    path.write_bytes(data)
    good, bad = {}, {}
    for block in read_blocks(path, 7, block_bytes):
        lines, bad_lines, n_blank = split_blocks([block])
        assert n_blank + lines.num_rows + len(bad_lines) == block.data.count(b"\n")
        good |= {row["line_number"]: row["line"] for row in lines.to_pylist()}
        bad |= {line.number: line.text for line in bad_lines}
        assert set(lines["file"].to_pylist()) <= {7}
    expected_good, expected_bad = {}, set()
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = line.strip(b" \t\r")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            expected_bad.add(number)
            continue
        if b"\0" in line:
            expected_bad.add(number)
        elif text:
            expected_good[number] = text
    assert good == expected_good
    assert set(bad) == expected_bad


def test_blocks_of_several_files_are_split_together(tmp_path, make):
    paths = [make.file(tmp_path / str(i), *(f"{i} {k}" for k in range(i))) for i in range(4)]
    blocks = [block for i, path in enumerate(paths) for block in read_blocks(path, i, 4)]
    lines, bad, n_blank = split_blocks(blocks)
    assert [tuple(row.values()) for row in lines.to_pylist()] == [
        (i, k + 1, f"{i} {k}") for i in range(4) for k in range(i)
    ]
    assert (bad, n_blank) == ([], 0)


@given(st.lists(st.integers(0, 9)), st.integers(1, 20))
def test_gathered_items_are_all_there_in_order_and_enough(numbers, enough):
    lists = list(gather(numbers, lambda number: number, enough))
    assert [number for numbers in lists for number in numbers] == numbers
    assert all(sum(numbers) >= enough > sum(numbers[:-1]) for numbers in lists[:-1])


def test_items_made_ahead_come_in_order_and_errors_come_through():
    def items():
        yield from range(3)
        raise ValueError("after three")

    made_ahead = ahead(items())
    assert [next(made_ahead) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="after three"):
        next(made_ahead)
