"""What is imported again is a version of its source: what changed takes over, what is gone may be withdrawn."""

import json
import re
import shutil
from contextlib import closing, contextmanager
from datetime import datetime, timedelta

import duckdb
import pytest

from bais.main import main as commands
from ingest.bring import importer
from ingest.gate import acts as gate_acts
from ingest.gate import audit as gate_audit
from ingest.gate.acts import decide, decide_of_trials, last_verdicts
from ingest.gate.audit import audit
from ingest.land.commits import git
from ingest.land.models import Models
from ingest.land.raw import ORDERED, TABLES, next_ordinal, prepare_raw
from ingest.run import main
from ingest.warehouse import connect, quoted

pytestmark = pytest.mark.slow("imports again and again")

AGAIN = pytest.mark.slow("imports again and again")


@pytest.fixture
def land(archive, capsys, warehouse, monkeypatch):
    """Import the archive, have every batch pass, or be audited, and return what was said; dlt has tests of its own."""

    def insert(_, **tables):
        rows = {name: list(some) for name, some in tables.items()}
        warehouse.parent.mkdir(exist_ok=True)
        prepare_raw(warehouse)
        with closing(connect(warehouse, read_only=False)) as connection:
            ordinal = next_ordinal(connection)
            for name, some in rows.items():
                numbered = f" replace ({ordinal} as ordinal)" if name in ORDERED else ""
                for number, table in enumerate(some):
                    connection.register(f"{name}_{number}", TABLES[name].conform(table))
                    connection.execute(
                        f"insert into raw.{name} by name select *{numbered}, '' as _dlt_load_id from {name}_{number} "
                        f"anti join raw.{name} using ({', '.join(TABLES[name].key)})"
                    )

    def land_archive(*arguments, folder=archive, code=0, audits=False):
        capsys.readouterr()
        monkeypatch.setattr(importer, "land", insert)
        assert main(["--archive", str(folder), *arguments]) == code
        if audits:
            audit()
        elif code != 2:
            with closing(connect(warehouse, read_only=False)) as connection:
                connection.execute(
                    "insert into raw.batch_verdicts select batch_id, batch_id, study, vignette, 'passed', n_trials, "
                    f"0, 0, 1, now(), null, {next_ordinal(connection)} "
                    "from raw.batches anti join raw.batch_verdicts using (batch_id)"
                )
        captured = capsys.readouterr()
        return captured.out + captured.err

    return land_archive


@pytest.fixture
def published(warehouse):
    """Return the numbers that the models would publish, by file, each with the times of its trial."""

    def ask():
        with closing(duckdb.connect()) as memory:
            memory.execute(f"attach {quoted(warehouse)} as warehouse (read_only)")
            models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
            rows = memory.sql(
                f"select source_file, number_if_recorded::integer from {models.ref('int_trials_identified')} "
                "order by all"
            ).fetchall()
        return rows

    return ask


@pytest.fixture
def held(warehouse):
    """Return of each version, in the order of their imports, how many entries it holds in which file."""

    def ask():
        with closing(duckdb.connect()) as memory:
            memory.execute(f"attach {quoted(warehouse)} as warehouse (read_only)")
            models = Models(memory, {"raw": "warehouse.raw"}, {})
            rows = memory.sql(
                "select list(distinct (source_file, n) order by (source_file, n)) from ("
                f"select version_id, source_file, count(*) as n from {models.ref('int_entries_held')} group by all"
                ") inner join warehouse.raw.source_versions using (version_id) "
                "group by version_id, imported_at order by imported_at"
            ).fetchall()
        return [[tuple(of.values()) if isinstance(of, dict) else tuple(of) for of in files] for (files,) in rows]

    return ask


def at(second, **changes):
    return {"collectedAt": f"2026-01-02T03:00:{second:02}.000Z", "runIndex": second} | changes


@pytest.fixture
def trials(make):
    """Lines of baselines, with a time each and the numbers that are given."""
    return lambda *numbers, first=0: [
        make.baseline(**at(first + second, sentenceMonths=number)) for second, number in enumerate(numbers)
    ]


def counts(said):
    """Return how many entries are new, unchanged, changed and gone."""
    if "nothing has changed" in said:
        return 0, int(re.search(r"([\d,]+) unchanged", said)[1]), 0, 0
    return tuple(map(int, re.search(r": (\d+) new, (\d+) unchanged, (\d+) changed, (\d+) gone", said).groups()))


def test_an_edited_line_takes_over_and_the_line_before_stays_in_raw(archive, make, trials, land, published, query):
    make.file(archive / "a.jsonl", *trials(10, 11, 12))
    assert counts(land()) == (3, 0, 0, 0)
    make.file(archive / "a.jsonl", *trials(10, 21, 12))
    assert counts(land()) == (0, 2, 1, 0)
    assert published() == [("a.jsonl", 10), ("a.jsonl", 12), ("a.jsonl", 21)]
    assert query("select count(*) from raw.trials") == [(4,)]


@AGAIN
def test_going_back_and_forth_lands_nothing_twice_and_publishes_what_was_imported_last(
    archive, make, trials, land, published, query
):
    for number in (11, 21, 11, 21, 11):
        make.file(archive / "a.jsonl", *trials(10, number, 12))
        land()
        assert [of for _, of in published()] == sorted([10, number, 12])
    assert query("select count(*) from raw.trials") == [(4,)]
    assert query("select count(*) from raw.source_versions") == [(5,)]


@AGAIN
def test_a_version_of_which_nothing_counts_any_more_is_not_published(archive, make, trials, land, capsys):
    def is_published():
        assert commands(["versions", "--json"]) == 0
        overtaken = [version["is_overtaken"] for version in json.loads(capsys.readouterr().out)]
        assert commands(["versions"]) == 0
        assert capsys.readouterr().out.count("no: later versions") == sum(overtaken)
        return [not of for of in overtaken]

    for numbers in ((10, 11), (10, 21), (30, 31)):
        make.file(archive / "a.jsonl", *trials(*numbers))
        land()
    assert is_published() == [False, False, True]
    make.file(archive / "a.jsonl", *trials(10, 31))
    land()
    assert is_published() == [True, False, True, True]


@pytest.fixture
def clock_ahead(monkeypatch):
    """Let what is done meanwhile be done under a clock that is a day ahead."""

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=1)

    @contextmanager
    def ahead():
        with monkeypatch.context() as patch:
            for module in (importer, gate_acts, gate_audit):
                patch.setattr(module, "datetime", Tomorrow)
            yield

    return ahead


@AGAIN
def test_a_clock_that_was_ahead_once_lets_no_old_version_and_no_old_decision_win(
    archive, make, trials, land, published, query, clock_ahead
):
    def landed(*numbers):
        make.file(archive / "a.jsonl", *trials(*numbers))
        land()

    def publishes():
        return [number for _, number in published()]

    landed(10, 11)
    with clock_ahead():
        landed(10, 99)
    assert publishes() == [10, 99]
    landed(10, 12)
    assert publishes() == [10, 12]
    ((trial,),) = query("select trial_id from raw.trials where response_recorded = 12")
    ((batch,),) = query("select batch_id from raw.batches order by ordinal desc limit 1")
    for decides, wrong, right, without in (
        (decide_of_trials, ("withdraw", [trial]), ("restore", [trial]), [10]),
        (decide, ("reject", batch), ("accept", batch), [10, 99]),
    ):
        with clock_ahead():
            decides(*wrong, "it looks wrong", "me")
        assert publishes() == without
        decides(*right, "it is right", "me")
        assert publishes() == [10, 12]


@AGAIN
def test_an_audit_is_the_last_one_though_the_clock_of_the_one_before_was_ahead(
    archive, make, trials, land, query, clock_ahead
):
    make.file(archive / "a.jsonl", *trials(10, 11))
    with clock_ahead():
        land(audits=True)
    ((batch,),) = query("select batch_id from raw.batches")
    (now,) = audit([batch])
    (last,) = last_verdicts()
    assert last["verdict_id"] == now.verdict_id


@AGAIN
def test_in_a_warehouse_of_an_older_bais_the_rows_keep_the_order_of_their_times_and_what_comes_now_is_later(
    archive, make, trials, land, published, query, warehouse
):
    for number in (11, 21, 11):
        make.file(archive / "a.jsonl", *trials(10, number))
        land()
    in_order = "select version_id from raw.source_versions order by {}, version_id"
    with closing(connect(warehouse, read_only=False)) as older:
        for table in ORDERED:
            older.execute(f"alter table raw.{table} drop column ordinal")
    prepare_raw(warehouse)
    assert query(in_order.format("ordinal")) == query(in_order.format("imported_at"))
    assert [number for _, number in published()] == [10, 11]
    make.file(archive / "a.jsonl", *trials(10, 31))
    assert counts(land()) == (0, 1, 1, 0)
    assert [number for _, number in published()] == [10, 31]


def test_an_identical_version_creates_nothing(archive, make, trials, land, query):
    make.file(archive / "a.jsonl", *trials(10, 11))
    land()
    before = [query(f"select count(*) from raw.{table}") for table in ("batches", "source_versions", "batch_verdicts")]
    assert "nothing has changed" in land()
    after = [query(f"select count(*) from raw.{table}") for table in ("batches", "source_versions", "batch_verdicts")]
    assert after == before


def test_a_line_put_in_front_is_new_and_the_others_are_what_they_were(archive, make, trials, land, published):
    make.file(archive / "a.jsonl", *trials(10, 11, 12))
    land()
    make.file(archive / "a.jsonl", *trials(9, first=30), *trials(10, 11, 12))
    assert counts(land()) == (1, 3, 0, 0)
    assert [number for _, number in published()] == [9, 10, 11, 12]


def test_a_reformatted_line_is_unchanged(archive, make, trials, land, query):
    make.file(archive / "a.jsonl", *trials(10, 11))
    land()
    lines = [json.dumps(dict(reversed(line.items())), separators=(",", ":")) for line in trials(10, 11)]
    make.file(archive / "a.jsonl", *lines)
    assert counts(land()) == (0, 2, 0, 0)
    assert query("select count(*) from raw.trials") == [(2,)]


def test_an_edited_file_that_is_renamed_and_comes_back_as_it_was_says_one_thing_of_each_entry(
    archive, make, trials, land, published, query
):
    make.file(archive / "a.jsonl", *trials(10, 11, 12))
    land()
    make.file(archive / "a.jsonl", *trials(99, 11, 12))
    assert counts(land()) == (0, 2, 1, 0)
    (archive / "a.jsonl").rename(archive / "b.jsonl")
    assert counts(land()) == (0, 3, 0, 0)
    (archive / "b.jsonl").unlink()
    make.file(archive / "a.jsonl", *trials(10, 11, 12))
    land()
    assert query("select entry from raw.version_entries group by version_id, entry having count(*) > 1") == []
    assert [number for _, number in published()] == [10, 11, 12]


@AGAIN
def test_a_renamed_file_is_the_same_also_when_it_is_edited_afterwards_and_named_back(
    archive, make, trials, land, published, held
):
    make.file(archive / "a.jsonl", *trials(10, 11))
    make.file(archive / "z.jsonl", *trials(50))
    land()
    (archive / "a.jsonl").rename(archive / "b.jsonl")
    assert counts(land()) == (0, 3, 0, 0)
    make.file(archive / "b.jsonl", *trials(10, 31))
    assert counts(land()) == (0, 2, 1, 0)
    assert [number for _, number in published()] == [10, 31, 50]
    (archive / "b.jsonl").unlink()
    make.file(archive / "a.jsonl", *trials(10, 11))
    assert counts(land()) == (0, 2, 1, 0)
    assert held()[-1] == [("a.jsonl", 2), ("z.jsonl", 1)]


@AGAIN
def test_of_a_file_and_its_copy_the_one_known_before_counts_and_the_copy_is_found_whole(
    archive, make, trials, land, published
):
    make.file(archive / "bb.jsonl", *trials(10, 11))
    land()
    shutil.copy(archive / "bb.jsonl", archive / "a.jsonl")
    said = land()
    assert counts(said) == (0, 2, 0, 0)
    assert "2 duplicates" in said
    assert published() == [("bb.jsonl", 10), ("bb.jsonl", 11)]
    assert counts(land("--complete")) == (0, 2, 0, 0)
    assert published() == [("bb.jsonl", 10), ("bb.jsonl", 11)]


def test_equal_files_without_times_are_answers_of_their_own(archive, make, land, published):
    line = make.baseline()
    del line["collectedAt"]
    for name in ("a.jsonl", "b.jsonl"):
        make.file(archive / name, line)
    assert counts(land()) == (2, 0, 0, 0)
    assert published() == [("a.jsonl", 17), ("b.jsonl", 17)]


def test_lines_without_times_are_matched_by_their_place_where_the_file_is_as_long(archive, make, land, published):
    def write(*numbers):
        lines = [make.baseline(sentenceMonths=number, runIndex=run) for run, number in enumerate(numbers)]
        make.file(archive / "a.jsonl", *({k: v for k, v in line.items() if k != "collectedAt"} for line in lines))

    write(10, 11, 12)
    land()
    write(10, 21, 12)
    assert counts(land()) == (0, 2, 1, 0)
    assert [number for _, number in published()] == [10, 12, 21]


def test_lines_with_times_of_their_own_are_other_entries_also_in_the_same_place(archive, make, trials, land, published):
    make.file(archive / "a.jsonl", *trials(10, 11))
    land()
    make.file(archive / "a.jsonl", *trials(20, 21, first=30))
    assert counts(land()) == (2, 0, 0, 2)
    assert [number for _, number in published()] == [10, 11, 20, 21]


@pytest.mark.slow("imports version after version")
def test_what_is_gone_stays_until_the_version_is_said_to_be_complete_and_comes_back_with_its_file(
    archive, make, trials, land, published
):
    make.file(archive / "a.jsonl", *trials(10, 11))
    removed = make.file(archive / "b.jsonl", *trials(20, 21))
    land()
    text = removed.read_bytes()
    removed.unlink()
    said = land()
    assert counts(said) == (0, 2, 0, 2)
    assert "stays published" in said
    assert [number for _, number in published()] == [10, 11, 20, 21]
    land("--complete", audits=True)
    assert [number for _, number in published()] == [10, 11]
    removed.write_bytes(text)
    land()
    assert [number for _, number in published()] == [10, 11, 20, 21]


@AGAIN
def test_a_part_of_a_source_is_no_complete_version_of_it_and_lacks_nothing(
    archive, make, trials, land, published, tmp_path
):
    make.file(archive / "one" / "a.jsonl", *trials(10, 11))
    make.file(archive / "two" / "b.jsonl", *trials(20, 21))
    land()
    for part, name in ((archive / "one", "the folder one"), (archive / "one" / "a.jsonl", "a.jsonl")):
        said = land("--source", "archive", "--complete", folder=part, code=2)
        assert name in said
        assert "--complete" in said
        said = land("--source", "archive", folder=part)
        assert counts(said) == (0, 2, 0, 0)
    assert [number for _, number in published()] == [10, 11, 20, 21]


def test_lines_that_cannot_be_read_let_a_complete_version_be_one_and_what_stood_there_stays(
    archive, make, trials, land, published
):
    make.file(archive / "a.jsonl", *trials(10, 11))
    make.file(archive / "b.jsonl", *trials(20, 21, first=5))
    land()
    make.file(archive / "a.jsonl", *trials(10), "{")
    make.file(archive / "b.jsonl", *trials(20, first=5))
    said = land("--complete", code=3)
    assert counts(said) == (0, 2, 0, 1)
    assert [number for _, number in published()] == [10, 11, 20]


@pytest.fixture
def kept(archive, monkeypatch):
    """Return a function that has git keep a folder, commits all that is in it, and names the commit."""
    monkeypatch.setenv("GIT_DIR", str(archive / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", "/")

    def git_in(folder, *arguments):
        said = git(folder, "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments)
        assert said is not None, arguments
        return said

    def commit(folder=archive):
        git_in(folder, "init", "--quiet")
        git_in(folder, "add", "--all")
        git_in(folder, "commit", "--quiet", "--allow-empty", "--message", "as it is")
        return git_in(folder, "rev-parse", "--short=7", "HEAD").strip()

    return commit


def numbers_of(published):
    return sorted(number for _, number in published())


ALL_NINE = [0, 1, 2, 10, 11, 12, 20, 21, 22]


def three_files(archive, make, trials):
    """Write three files of three trials, and return the last."""
    for place, name in enumerate("abc"):
        made = make.file(archive / f"{name}.jsonl", *trials(*range(10 * place, 10 * place + 3), first=5 * place))
    return made


def test_what_a_later_commit_lacks_leaves_and_is_counted(archive, make, trials, land, published, query, kept, golden):
    three_files(archive, make, trials)
    land()
    kept()
    make.file(archive / "b.jsonl", *trials(10, 11, first=5), "{")
    (archive / "c.jsonl").unlink()
    name = kept()
    said = land(code=3)
    assert counts(said) == (0, 5, 0, 3)
    golden(said, "public tables")
    assert f"version {name}:" in said
    assert numbers_of(published) == [0, 1, 2, 10, 11, 12]  # what stands where a line cannot be read has not left
    assert query("select label, is_complete from raw.source_versions order by ordinal") == [(None, False), (name, True)]


@AGAIN
def test_what_a_commit_that_was_imported_before_lacks_leaves_when_it_is_imported_again(
    archive, make, trials, land, published, kept
):
    left = three_files(archive, make, trials)
    land()
    left.unlink()
    land()
    kept()
    assert counts(land()) == (0, 6, 0, 3)
    assert numbers_of(published) == [0, 1, 2, 10, 11, 12]
    assert "nothing has changed" in land()


def edited(archive, make, trials):
    make.file(archive / "a.jsonl", *trials(0))


def added_unknown_to_git(archive, make, trials):
    make.file(archive / ".gitignore", "d.jsonl")
    make.file(archive / "d.jsonl", *trials(30, first=20))


def hidden_from_the_folder(archive, make, trials):
    git(archive, "update-index", "--skip-worktree", "a.jsonl")
    (archive / "a.jsonl").unlink()


@pytest.mark.parametrize(
    "change",
    [
        edited,
        *(
            pytest.param(change, marks=pytest.mark.slow("imports again and again"))
            for change in (hidden_from_the_folder, added_unknown_to_git)
        ),
    ],
)
def test_a_folder_that_is_not_just_what_its_commit_has_lets_nothing_leave(
    archive, make, trials, land, published, kept, change
):
    left = three_files(archive, make, trials)
    added_unknown_to_git(archive, make, trials)
    land()
    left.unlink()
    (archive / "d.jsonl").unlink()
    name = kept()
    change(archive, make, trials)
    said = land()
    assert f"its commit {name}" in said
    assert "--complete --source archive" in said
    assert numbers_of(published) == [*ALL_NINE, 30]


def test_of_commits_only_one_that_follows_lets_anything_leave(archive, make, trials, land, published, kept):
    three_files(archive, make, trials)
    earlier = kept()
    make.file(archive / "d.jsonl", *trials(30, first=20))
    later = kept()
    land()
    git(archive, "checkout", "--quiet", earlier)
    said = land()
    assert f"{earlier} does not come after {later}" in said
    assert numbers_of(published) == [*ALL_NINE, 30]
    assert "nothing of it" not in land("--older")


def test_of_two_folders_of_one_name_neither_takes_away_what_is_of_the_other(
    archive, make, trials, land, published, tmp_path, kept, golden
):
    three_files(archive, make, trials)
    land()
    other = tmp_path / "others" / "archive"
    for place, name in enumerate("abc"):
        make.file(other / f"{name}.jsonl", *trials(50 + place, first=30 + place))
    kept(other)
    said = land(folder=other)
    assert counts(said) == (3, 0, 0, 9)
    golden(said, "another archive")
    assert numbers_of(published) == [*ALL_NINE, 50, 51, 52]


def test_a_source_that_is_only_told_by_what_is_shared_lets_nothing_leave(
    archive, make, trials, land, published, tmp_path, kept
):
    three_files(archive, make, trials).unlink()
    make.file(archive / "e.jsonl", *trials(40, first=40))
    land()
    (archive / "e.jsonl").unlink()
    kept()
    archive.rename(tmp_path / "clone")
    said = land(folder=tmp_path / "clone")
    assert "--complete --source archive" in said
    assert numbers_of(published) == [0, 1, 2, 10, 11, 12, 40]
    assert "leaves" in land("--source", "archive", folder=tmp_path / "clone")


def test_what_cannot_be_read_is_known_by_version_file_and_reason_and_gone_once_it_is_mended(
    archive, make, trials, land, query
):
    of_newest = (
        "select path, reason, n_lines from raw.unread_lines where version_id = "
        "(select arg_max(version_id, ordinal) from raw.source_versions) order by all"
    )
    hot = make.baseline(**at(9, temperature="hot"))
    make.file(archive / "one" / "a.jsonl", *trials(10, 11), "{", hot, "[", hot | {"temperature": "cold"})
    make.file(archive / "two" / "b.jsonl", *trials(20, first=5), "{")
    make.file(archive / "empty.jsonl")
    land(code=3)
    of_b = [("two/b.jsonl", "cut off", 1)]
    whole = [("empty.jsonl", "the file is empty", None)]
    assert query(of_newest) == [
        *whole,
        ("one/a.jsonl", "cut off", 2),
        ("one/a.jsonl", "temperature is no number", 2),
        *of_b,
    ]
    assert "nothing has changed" in land(code=3)
    make.file(archive / "one" / "a.jsonl", *trials(10, 11))
    land("--source", "archive", folder=archive / "one")
    assert query(of_newest) == [*whole, *of_b]
    (archive / "empty.jsonl").unlink()  # no trial comes or goes
    land(code=3)
    assert query(of_newest) == of_b
    make.file(archive / "two" / "b.jsonl", *trials(20, first=5))
    land()
    assert query(of_newest) == []


@AGAIN
def test_a_folder_by_another_name_that_shares_most_goes_on_with_the_source(
    archive, make, trials, land, published, tmp_path, query
):
    make.file(archive / "a.jsonl", *trials(10, 11, 12))
    land()
    later = tmp_path / "later"
    make.file(later / "a.jsonl", *trials(10, 11, 22))
    assert counts(land(folder=later)) == (0, 2, 1, 0)
    assert [number for _, number in published()] == [10, 11, 22]
    assert query("select distinct source_name from raw.source_versions") == [("archive",)]
    assert "--source archive" in land("--complete", folder=later, code=2)
    other = tmp_path / "other"
    make.file(other / "z.jsonl", *trials(90, first=40))
    assert counts(land(folder=other)) == (1, 0, 0, 0)
    assert query("select count(distinct source_name) from raw.source_versions") == [(2,)]


@AGAIN
def test_an_older_version_is_kept_and_nothing_of_it_is_published(archive, make, trials, land, published, query):
    make.file(archive / "a.jsonl", *trials(10, 11))
    land()
    make.file(archive / "a.jsonl", *trials(10, 1))
    said = land("--older")
    assert "older version" in said
    assert "nothing has changed" in land("--older")
    assert [number for _, number in published()] == [10, 11]
    make.file(archive / "a.jsonl", *trials(10, 31))
    assert counts(land()) == (0, 1, 1, 0)
    assert [number for _, number in published()] == [10, 31]
    assert query("select count(*) from raw.trials") == [(4,)]


def test_a_version_that_gives_way_is_the_newest_only_where_there_is_no_other(
    archive, make, trials, land, published, monkeypatch
):
    monkeypatch.setattr("ingest.bring.download.download", lambda published, folder, on_bytes: archive)
    make.file(archive / "a.jsonl", *trials(10, 11))
    assert "older" not in land("--download")
    make.file(archive / "a.jsonl", *trials(10, 21))
    land()
    make.file(archive / "a.jsonl", *trials(10, 11))
    assert "older version" in land("--download")
    assert [number for _, number in published()] == [10, 21]


@AGAIN
def test_a_version_whose_audit_fails_leaves_the_one_before_published(archive, make, land, published, query):
    def write(*numbers):
        times = [f"2026-01-02T03:00:{second:02}Z" for second in range(40)]
        of = {"anchor": None, "anchorType": "none"}
        rows = [make.vignette(response=n, timestamp=time, **of) for n, time in zip(numbers, times, strict=True)]
        make.file(archive / "a.jsonl", *rows)

    write(*range(100, 140))
    land(audits=True)
    good = published()
    write(*range(100, 110), *(1000 * n for n in range(110, 140)))
    land(audits=True)
    assert query("select verdict from raw.batch_verdicts order by checked_at desc limit 1") == [("failed",)]
    assert published() == good
    write(*range(100, 110), *range(111, 141))
    land(audits=True)
    assert [number for _, number in published()] == [*range(100, 110), *range(111, 141)]


@AGAIN
def test_of_two_versions_that_fail_both_the_newer_waits_and_the_one_before_is_said_to_be_replaced(archive, make, land):
    def write(*numbers):
        times = [f"2026-01-02T03:00:{second:02}Z" for second in range(40)]
        of = {"anchor": None, "anchorType": "none"}
        rows = [make.vignette(response=n, timestamp=time, **of) for n, time in zip(numbers, times, strict=True)]
        make.file(archive / "a.jsonl", *rows)

    for unit in (1000, 1001):
        write(*range(100, 110), *(unit * n for n in range(110, 140)))
        land(audits=True)
    assert [(verdict["verdict"], verdict["is_replaced"]) for verdict in last_verdicts()] == [
        ("failed", False), ("failed", False),
    ]  # fmt: skip
    write(*(999 * n for n in range(100, 140)))
    land(audits=True)
    assert [(verdict["verdict"], verdict["is_replaced"]) for verdict in last_verdicts()] == [
        ("failed", True), ("failed", True), ("failed", False),
    ]  # fmt: skip


@AGAIN
def test_a_rejected_batch_is_published_whole_once_it_is_mended(archive, make, trials, land, published, query):
    make.file(archive / "a.jsonl", *trials(10, 11, 12, 13))
    land()
    ((batch,),) = query("select batch_id from raw.batches")
    decide("reject", batch, "the third is wrong", "me")
    assert published() == []
    assert "nothing has changed" in land()
    assert published() == []
    make.file(archive / "a.jsonl", *trials(10, 11, 22, 13))
    land()
    assert [number for _, number in published()] == [10, 11, 13, 22]


@AGAIN
def test_a_rejection_is_of_what_was_rejected_and_holds_when_it_comes_back_until_somebody_accepts(
    archive, make, trials, land, published, query
):
    make.file(archive / "a.jsonl", *trials(10, 11))
    land()
    make.file(archive / "a.jsonl", *trials(10, 99))
    land()
    ((batch,),) = query("select batch_id from raw.batches order by loaded_at desc limit 1")
    decide("reject", batch, "99 is wrong", "me")
    assert [number for _, number in published()] == [10, 11]
    for number in (11, 99):
        make.file(archive / "a.jsonl", *trials(10, number))
        land()
    assert [number for _, number in published()] == [10, 11]
    ((batch,),) = query("select batch_id from raw.batches order by loaded_at desc limit 1")
    decide("accept", batch, "it is right after all", "me")
    assert [number for _, number in published()] == [10, 99]


def test_a_vignette_that_changes_takes_no_other_vignette_with_it(archive, make, trials, land, query):
    make.file(archive / "a.jsonl", *trials(10, 11))
    make.file(archive / "b.jsonl", make.vignette())
    land()
    make.file(archive / "b.jsonl", make.vignette(response=97))
    land()
    assert query("select vignette, count(*) from raw.batches group by all order by all") == [
        ("loan", 2),
        ("shoplifting", 1),
    ]


@AGAIN
def test_a_warehouse_of_an_older_bais_gets_the_version_when_the_archive_is_imported_again(
    archive, make, trials, land, published, query, warehouse
):
    make.file(archive / "a.jsonl", *trials(10, 11))
    land()
    with closing(connect(warehouse, read_only=False)) as older:
        for table in ("source_versions", "version_files", "version_entries"):
            older.execute(f"drop table if exists raw.{table}")
        older.execute("alter table raw.batches drop column version_id; alter table raw.batches drop column content")
    assert counts(land()) == (0, 2, 0, 0)
    assert [number for _, number in published()] == [10, 11]
    make.file(archive / "a.jsonl", *trials(10, 21))
    assert counts(land()) == (0, 1, 1, 0)
    assert [number for _, number in published()] == [10, 21]
    assert query("select count(*) from raw.trials") == [(3,)]


def test_a_label_is_what_was_said_or_the_commit_that_git_is_at(archive, make, trials, land, query):
    make.file(archive / "a.jsonl", *trials(10))
    land("--label", "as submitted")
    assert query("select label from raw.source_versions") == [("as submitted",)]


@pytest.mark.parametrize("first", ["jsonl", "json"])
@AGAIN
def test_both_forms_of_one_evaluation_are_the_same_entries(archive, make, land, query, tmp_path, first):
    results = [
        {
            "id": f"result-{n}", "promptIdx": 0, "provider": {"id": "openai:chat:gpt-4.1"},
            "vars": {"vignette": "analyst", "direction": "none"}, "response": {"output": f"{100 + n}"},
        }
        for n in range(3)
    ]  # fmt: skip
    forms = {"jsonl": tmp_path / "lines" / "results.jsonl", "json": tmp_path / "document" / "results.json"}
    make.file(forms["jsonl"], *results)
    make.file(forms["json"], {"evalId": "eval-1", "results": {"version": 3, "results": results}})
    order = [forms[first], *(path for form, path in forms.items() if form != first)]
    for path in order:
        land("--format", "promptfoo", "--study", "s", folder=path)
    assert query("select count(*) from raw.trials") == [(3,)]
    assert query("select n_new, n_unchanged from raw.source_versions order by imported_at")[-1] == (0, 3)
    make.file(tmp_path / "both" / "results.jsonl", *results)
    shutil.copy(forms["json"], tmp_path / "both" / "results.json")
    assert "3 duplicates" in land("--format", "promptfoo", "--study", "s", folder=tmp_path / "both")
    assert query("select count(*) from raw.trials") == [(3,)]


def mapped(number, more=""):
    """Write a mapping of the table below."""
    return (
        f"select filename, llm, 'v' as vignette, {number} as number, 'USD' as response_unit, 'd' as domain, 0.7 as "
        f"temperature from source {more}"
    )


def rows_of(*numbers):
    return "llm,x\n" + "".join(f"a/b,{number}\n" for number in numbers)


@pytest.fixture
def map_file(archive):
    """Write a table below the archive's folder and a mapping beside it; return the options that import it with this."""

    def write(content, select):
        (archive / "t.csv").write_text(content)
        path = archive.parent / "map.sql"
        path.write_text(select)
        return ("--map", str(path), "--study", "s")

    return write


OTHER_ROWS = {
    "more": ((1, 2, 3, 4, 5, 6, 7), ""),
    "fewer": ((1, 2, 3, 4, 5), ""),
    "one of the middle less": ((1, 2, 4, 5, 6), ""),
    "as many, one of which is left out": ((1, 2, 3, 4, 5, 6), "where x::int != 3"),
    "others": ((7, 8), ""),
}


@pytest.mark.parametrize(("numbers", "more"), OTHER_ROWS.values(), ids=OTHER_ROWS)
def test_another_mapping_of_other_rows_publishes_what_it_makes_and_nothing_twice(
    land, published, map_file, numbers, more
):
    land(*map_file(rows_of(1, 2, 3, 4, 5, 6), mapped("x::int")))
    said = land(*map_file(rows_of(*numbers), mapped("x::int * 10", more)))
    left = [10 * number for number in numbers if not (more and number == 3)]
    assert numbers_of(published) == left
    assert "the mapping is another one" in said
    assert "nothing has changed" in land(*map_file(rows_of(*numbers), mapped("x::int * 10", more)))
    land(*map_file(rows_of(*numbers, 9), mapped("x::int * 10", more)))
    assert numbers_of(published) == [*left, 90]


def test_a_mapping_of_once_takes_the_place_of_the_other_again(land, published, map_file):
    for numbers, factor in (((1, 2), 10), ((1, 2, 3), 100), ((1, 2), 10), ((1, 2), 100), ((2, 3, 4), 10)):
        land(*map_file(rows_of(*numbers), mapped(f"x::int * {factor}")))
        assert numbers_of(published) == [number * factor for number in numbers]


def test_what_another_mapping_made_leaves_with_the_version_that_passes(land, published, map_file):
    land(*map_file(rows_of(1, 2, 3), mapped("x::int")), audits=True)
    land(*map_file(rows_of(1, 2, 3, 4), mapped("x::int * 10").replace("0.7 as", "7 as")), audits=True)
    assert numbers_of(published) == [1, 2, 3]
    land(*map_file(rows_of(1, 2, 3, 4), mapped("x::int * 100")), audits=True)
    assert numbers_of(published) == [100, 200, 300, 400]


def test_rows_with_ids_of_their_own_are_no_others_by_another_mapping_and_stay(land, published, map_file):
    content, with_id = "llm,x,id\na/b,1,i1\na/b,2,i2\n", "number, id as own_id"
    land(*map_file(content, mapped("x::int").replace("number", with_id)))
    select = mapped("x::int * 10").replace("number", with_id)
    said = land(*map_file("llm,x,id\na/b,2,i2\na/b,3,i3\na/b,4,i4\n", select))
    assert "stays published" in said
    assert numbers_of(published) == [1, 20, 30, 40]


def test_another_mapping_of_some_files_is_refused_where_it_cannot_be_told_what_it_replaces(
    archive, land, published, map_file
):
    (archive / "u.csv").write_text(rows_of(8, 9))
    land(*map_file(rows_of(1, 2, 3), mapped("x::int")))
    options = map_file(rows_of(1, 2, 3, 4), mapped("x::int * 10"))
    (archive / "u.csv").rename(archive.parent / "u.csv")
    said = land(*options, code=2)
    assert "t.csv was imported with another mapping" in said
    assert "import all files of the source archive" in said
    assert "import all files" in land(*options, "--source", "archive", folder=archive / "t.csv", code=2)
    (archive.parent / "u.csv").rename(archive / "u.csv")
    land(*options)
    assert numbers_of(published) == [10, 20, 30, 40, 80, 90]
