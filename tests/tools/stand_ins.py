"""What stands for dlt and Great Expectations where a test is not about them: the same, without their start and care."""

import re
from contextlib import closing

import duckdb
import pyarrow as pa

from ingest.gate.suite import thresholds_of
from ingest.land.raw import LOAD_ID, TABLES


def load_without_dlt(tables, path, incoming):
    """Do in milliseconds what dlt does; what the warehouse has is sorted out afterwards, as ever."""
    with closing(duckdb.connect(str(incoming))) as file:
        file.execute("create schema raw")
        for name, made in tables.items():
            if made := [TABLES[name].conform(rows) for rows in made]:
                file.register("made", pa.concat_tables(made))
                file.execute(f"create table raw.{name} as select *, 'a load' as {LOAD_ID} from made")


def thresholds_without_great_expectations(checks, name):
    """Hold frames against thresholds at once; tests/ingest/test_gate.py compares the two."""

    def judge(frame):
        return {
            (name, level): {*frame.batch_id[frame[name] > most]}
            for (name, level), most in thresholds_of(checks).items()
        }

    return judge


def leave_unread(path, study):
    """Put two versions of a source into a warehouse: of the first a file was not read, of the newest some lines."""
    versions = {
        "study": study, "archive": "a", "source_name": "s", "digest": "d", "is_older": False, "is_complete": False,
        "n_new": 0, "n_unchanged": 0, "n_changed": 0, "n_gone": 0, "imported_at": "2026-01-01", LOAD_ID: "",
    }  # fmt: skip
    unread = [("one", "gone.jsonl", "cut off", None)]
    unread += [
        ("two", f"{name}.jsonl", "not valid JSON", n) for name, n in zip("abcd", (1, 400, 30, 1000), strict=True)
    ]
    rows = {
        "source_versions": [versions | {"version_id": of, "ordinal": n} for n, of in enumerate(("one", "two"), 1)],
        "unread_lines": [
            dict(zip(TABLES["unread_lines"].columns, (of, study, file, why, n, ""), strict=True))
            for of, file, why, n in unread
        ],
    }
    with closing(duckdb.connect(str(path))) as warehouse:
        for name, some in rows.items():
            columns = TABLES[name].columns
            typed = ", ".join(f"{column} {of['data_type']}" for column, of in columns.items())
            warehouse.execute(f"create schema if not exists raw; create table if not exists raw.{name} ({typed})")
            for row in some:
                marks = ", ".join("?" * len(row))
                warehouse.execute(f"insert into raw.{name} ({', '.join(row)}) values ({marks})", list(row.values()))


# 1,431 lines, most of them in d, b and c; what the version before held is not said
SAID_OF_UNREAD = re.compile(r"1,431 lines could not be read.* 1,000 of d.jsonl \(not valid JSON\), 400 of b.*, 30 of c")
