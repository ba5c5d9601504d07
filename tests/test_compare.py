"""The comparison of two warehouses sees what differs, and lets pass what differs between any two builds."""

import contextlib

import duckdb
import pytest

from tests.tools.compare import main

MADE = """
create schema marts; create schema raw;
create table marts.technique_costs as from (values
    ('s', 'a', 'v', 'pooled', 3::bigint, 0.1::double + 0.2, 1e-13, now()),
    ('s', 'b', 'v', 'pooled', 2::bigint, 'nan'::double, null, now()),
    ('s', 'c', 'v', 'pooled', null, null, null, now())
) as t (study, llm, technique, temperature_scope, n_trials, baseline, p_value, loaded_at);
create table marts.no_key as from (values ('a', 1.0), ('a', 1.0), ('a', 2.0)) as t (name, number);
create table raw.batch_verdicts as from (
    values ('v1', 'b1', 's', 'v', 'failed', 1), ('v2', 'b1', 's', 'v', 'passed', 2)
) as t (verdict_id, batch_id, study, vignette, verdict, checked_at);
create table raw.batch_checks as from (values ('v1', 'drift'), ('v2', 'duplicate')) as t (verdict_id, check_name);
create table raw.flagged_trials as from (values ('v2', 't1', 'drift'), ('v2', 't2', 'drift'))
    as t (verdict_id, trial_id, reason);
"""


@pytest.fixture
def two(tmp_path):
    """Two warehouses; the second made by the same statements, then by those that a test adds."""

    def make(more=""):
        paths = [tmp_path / "before.duckdb", tmp_path / "after.duckdb"]
        for path, statements in zip(paths, (MADE, MADE + more), strict=True):
            path.unlink(missing_ok=True)
            with contextlib.closing(duckdb.connect(str(path))) as made:
                made.execute(statements)
        return list(map(str, paths))

    return make


def test_times_stamps_the_order_of_rows_and_the_last_digit_of_a_double_are_no_difference(two, capsys):
    assert main(two("""
        update marts.technique_costs set baseline = 0.3, loaded_at = '2020-01-01' where llm = 'a';
        update raw.batch_verdicts set verdict_id = 'w2' where verdict_id = 'v2';
        update raw.batch_checks set verdict_id = 'w2' where verdict_id = 'v2';
        update raw.flagged_trials set verdict_id = 'w2';
        create or replace table marts.no_key as from marts.no_key order by number desc;
        delete from raw.batch_checks where verdict_id = 'v1';
    """)) == 0  # fmt: skip
    assert capsys.readouterr().out == "5 compared, no difference\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("update marts.technique_costs set baseline = 0.3000001 where llm = 'a'", "1 values of baseline differ"),
        ("update marts.technique_costs set baseline = null where llm = 'b'", "1 values of baseline differ"),
        ("update marts.technique_costs set baseline = 'nan' where llm = 'a'", "1 values of baseline differ"),
        ("update marts.technique_costs set baseline = 'inf' where llm = 'b'", "1 values of baseline differ"),
        ("update marts.technique_costs set p_value = 2e-13 where llm = 'a'", "1 values of p_value differ"),
        ("update raw.batch_verdicts set study = 's2'", "raw.batch_checks: 1 rows are gone"),
        ("update marts.technique_costs set n_trials = 4 where llm = 'a'", "1 values of n_trials differ"),
        ("update marts.technique_costs set llm = 'd' where llm = 'a'", "1 rows are gone"),
        ("insert into marts.no_key values ('a', 1.0)", "1 rows are new"),
        ("alter table marts.technique_costs drop column n_trials", "column n_trials is gone"),
        ("alter table marts.technique_costs alter column n_trials type integer", "was BIGINT and is INTEGER"),
        ("create table marts.more as select 1 as one", "marts.more: the table is new"),
        ("drop table marts.no_key", "marts.no_key: the table is gone"),
        ("update raw.batch_verdicts set verdict = 'failed'", "raw.batch_verdicts: 1 rows are gone"),
        ("update raw.flagged_trials set reason = 'duplicate' where trial_id = 't1'", "raw.flagged_trials: 1 rows"),
    ],
)
def test_a_change_of_any_kind_is_a_difference(two, capsys, change, said):
    assert main(two(change)) == 1
    assert said in capsys.readouterr().out


def test_exports_are_compared_file_by_file_and_line_by_line(tmp_path, capsys):
    for name, number, line in (("before", 1.0, "one"), ("after", 2.0, "two")):
        (tmp_path / name / "marts").mkdir(parents=True)
        duckdb.sql(f"copy (select 'x' as name, {number} as number) to '{tmp_path / name / 'marts' / 'spreads.csv'}'")
        (tmp_path / name / "README.md").write_text(f"same\n{line}\n")
        (tmp_path / name / "manifest.json").write_text(line)
    assert main([str(tmp_path / "before"), str(tmp_path / "after")]) == 1
    out = capsys.readouterr().out
    assert "marts/spreads.csv: 1 values of number differ, such as 1.0 -> 2.0" in out
    assert "README.md: 1 lines are gone, 1 are new" in out
    assert "manifest" not in out
