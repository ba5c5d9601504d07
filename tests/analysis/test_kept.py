"""A study of which nothing changed keeps its rows; what is kept is what would be computed."""

from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

from analysis import kept
from analysis.kept import kept_by_study
from analysis.tables import columns

COLUMNS = columns("varchar: study", "double: total", "bigint: n")


class This:
    """As `dbt.this`: a relation that writes itself, by schema and name."""

    schema, identifier = "inference", "totals"

    def __str__(self):
        return '"inference"."totals"'


@pytest.fixture
def session():
    with closing(duckdb.connect()) as memory:
        memory.execute("""
            create schema inference; create schema intermediate;
            create table counts as from (values ('a', 1.0, 2), ('a', 3.0, 1), ('b', 5.0, 1), ('none', 0.0, 1))
            as of_counts(study, response, n_trials);
            create table factors as from (values (2.0)) as of_factors(factor)
        """)
        yield memory


@pytest.fixture
def build(session):
    """Build the table as dbt does; return the studies that were computed, and the rows that are there."""
    computed = []

    def rows_of(counts, factors, power):
        (factor,) = factors["factor"]
        for study, rows in counts.groupby("study"):
            computed.append(study)
            if study != "none":
                total = factor * (rows["response"] * rows["n_trials"]).sum() ** power
                yield {"study": study, "total": total, "n": len(rows)}

    def run(power=1, of=rows_of, declared=COLUMNS):
        computed.clear()
        rows = kept_by_study(
            session,
            This(),
            of,
            declared,
            by_study={"counts": session.table("counts")},
            shared={"factors": session.table("factors")},
            settings={"power": power},
        )
        assert isinstance(rows, pa.Table)
        session.register("built", rows)
        session.execute("create or replace table inference.totals as from built")
        session.unregister("built")
        return "".join(f"{study} " for study in computed).split(), session.sql(
            "select study, total from inference.totals order by study"
        ).fetchall()

    return run


def test_nothing_is_computed_again_where_nothing_changed_not_even_a_study_without_rows(build):
    assert build() == (["a", "b", "none"], [("a", 10.0), ("b", 10.0)])
    assert build() == ([], [("a", 10.0), ("b", 10.0)])


@pytest.mark.parametrize(
    ("change", "computed", "rows"),
    [
        ("insert into counts values ('b', 1.0, 1)", ["b"], [("a", 10.0), ("b", 12.0)]),
        ("insert into counts from counts where study = 'b'", ["b"], [("a", 10.0), ("b", 20.0)]),
        ("insert into counts values ('c', 1.0, 1)", ["c"], [("a", 10.0), ("b", 10.0), ("c", 2.0)]),
        ("delete from counts where study = 'b'", [], [("a", 10.0)]),
        ("delete from counts", [], []),
        ("update factors set factor = 3", ["a", "b", "none"], [("a", 15.0), ("b", 15.0)]),
        ("update inference.totals set total = 7 where study = 'b'", ["b"], [("a", 10.0), ("b", 10.0)]),
        ("delete from inference.totals where study = 'b'", ["b"], [("a", 10.0), ("b", 10.0)]),
        ("insert into inference.totals values ('none', 1, 1)", ["none"], [("a", 10.0), ("b", 10.0)]),
        ("drop table inference.totals", ["a", "b", "none"], [("a", 10.0), ("b", 10.0)]),
        ("alter table inference.totals drop column n", ["a", "b", "none"], [("a", 10.0), ("b", 10.0)]),
        ("drop table intermediate.kept_totals", ["a", "b", "none"], [("a", 10.0), ("b", 10.0)]),
    ],
)
def test_what_changed_is_computed_again_and_a_study_that_is_gone_has_no_rows(session, build, change, computed, rows):
    build()
    session.execute(change)
    assert build() == (computed, rows)


def test_a_build_that_was_killed_before_its_table_was_written_is_not_taken_for_one_that_was(session, build):
    build()
    session.execute("create table before as from inference.totals; update counts set response = 2 where study = 'b'")
    assert build() == (["b"], [("a", 10.0), ("b", 4.0)])
    session.execute("create or replace table inference.totals as from before")
    assert build() == (["b"], [("a", 10.0), ("b", 4.0)])


def test_a_setting_a_version_and_the_source_of_the_statistics_are_part_of_what_rows_hang_on(build, monkeypatch):
    build()
    assert build(power=2)[0] == ["a", "b", "none"]
    for name in ("statistics_source", "library_versions"):
        monkeypatch.setattr(kept, name, lambda: "another")
        assert build(power=2)[0] == ["a", "b", "none"]
        assert build(power=2)[0] == []


def test_the_code_of_a_model_is_part_of_what_rows_hang_on(build):
    build()

    def another(counts, factors, power):
        return [{"study": study, "total": 1.0} for study in sorted(set(counts["study"]))]

    assert build(of=another)[1] == [("a", 1.0), ("b", 1.0), ("none", 1.0)]


def test_the_order_in_which_counts_were_written_is_of_no_consequence(session):
    seen = []

    def rows_of(counts):
        seen.append(counts.to_dict("records"))
        return []

    for order in ("response", "response desc"):
        by_study = {"counts": session.sql(f"from counts order by {order}")}
        session.execute("drop table if exists intermediate.kept_totals")
        kept_by_study(session, This(), rows_of, COLUMNS, by_study=by_study)
    assert seen[0] == seen[1]
