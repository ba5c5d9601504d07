"""Say how two warehouses, or two exports, differ: `python tests/tools/compare.py BEFORE AFTER`.

BEFORE and AFTER are two DuckDB files or two folders that `bais export` wrote. Every public table is compared, and of
`raw` the last verdict on each batch with its checks and flags. Rows are matched by the columns that are
declared `unique` together, otherwise by all that is not a double; doubles are equal to 1e-12. What says when or by
which process something was done differs between any two builds and is left out by name. Exit 1 if anything differs.

With `--map FILE` the tables of BEFORE have other names: each line of that CSV says of a `before_table` and one of its
columns what it is called in the `after_table`; a line without `before_column` gives all rows of that table a `constant`
in the `after_column`, and one without `after_column` says `why` the column is gone. Columns without a line keep their
names. Tables that became one are compared together.
"""

import argparse
import contextlib
import csv
import functools
import itertools
import sys
from pathlib import Path

import duckdb
import yaml

from ingest.land.raw import key_of
from ingest.warehouse import PUBLIC_SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {
    "_dlt_load_id", "acted_at", "asked_at", "batch_id", "checked_at", "finished_at", "flagged_at", "frozen_at",
    "git_revision", "latency_s", "latency_s_per_trial", "loaded_at", "quarantined_at", "session_id", "verdict_id",
}  # fmt: skip
# of sums of cubes in parallel as many digits are the same, between two builds of the same code
NOISY = {"skewness": 1e-9}
LAST_VERDICTS = "select max_by(verdict_id, checked_at) from {side}.raw.batch_verdicts group by batch_id"
OF_LAST_VERDICTS = ("batch_verdicts", "batch_checks", "flagged_trials")
NOT_COMPARED = {"manifest.json"}  # of an export: sizes and checksums of the files that are compared themselves
READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json"}
TOLERANCE = 1e-12
N_EXAMPLES = 3


@functools.cache
def declared_keys() -> dict[str, list[str]]:
    """Return the key of each table that declares one."""
    keys = {}
    for path in (ROOT / "models").rglob("*.yml"):
        declared = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
        keys |= {model["name"]: key for model in declared.get("models", []) if (key := key_of(model))}
    return keys


def relations(connection, side: str, place: Path) -> dict[str, str]:
    """Attach one side; return the SQL of each relation to compare, by name."""
    if place.is_dir():
        files = [path for path in sorted(place.rglob("*")) if path.suffix in READERS]
        return {str(path.relative_to(place)): f"from {READERS[path.suffix]}({quoted(path)})" for path in files}
    connection.execute(f"attach {quoted(place)} as {side} (read_only)")
    names = connection.execute(
        "select table_schema, table_name from information_schema.tables "
        "where table_catalog = $side and table_schema in $schemas order by all",
        {"side": side, "schemas": PUBLIC_SCHEMAS},
    ).fetchall()
    found = {f"{schema}.{name}": f"from {side}.{schema}.{name}" for schema, name in names}
    for name in OF_LAST_VERDICTS:
        found[f"raw.{name}"] = f"from {side}.raw.{name} where verdict_id in ({LAST_VERDICTS.format(side=side)})"
    # a check has no study of its own
    found["raw.batch_checks"] = (
        f"select checks.*, verdicts.study, verdicts.vignette from ({found['raw.batch_checks']}) as checks "
        f"left join {side}.raw.batch_verdicts as verdicts using (verdict_id)"
    )
    return found


def renamed(connection, found: dict[str, str], path: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return relations under the names of a map, and what it says by table of the columns that are gone."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    left, parts, said = dict(found), {}, {}
    for table, of_table in itertools.groupby(lines, key=lambda line: (line["before_table"], line["after_table"])):
        before, after = table
        if before not in found:
            continue
        left.pop(before, None)
        names = {name: name for name, *_ in connection.execute(f"describe {found[before]}").fetchall()}
        constants = []
        for line in of_table:
            if not line["before_column"] and line["after_column"]:
                constants.append(f'{quoted(line["constant"])} as "{line["after_column"]}"')
            elif line["before_column"] and not line["after_column"]:
                names.pop(line["before_column"])
                said.setdefault(after, []).append(f"{before}.{line['before_column']} is gone: {line['why']}")
            elif line["before_column"]:
                names[line["before_column"]] = line["after_column"]
        shown = [f'"{name}" as "{new}"' for name, new in names.items()]
        parts.setdefault(after, []).append(f"select {', '.join([*shown, *constants])} from ({found[before]})")
    return left | {after: " union all by name ".join(of_table) for after, of_table in parts.items()}, said


def quoted(value) -> str:
    """Return text as a literal of SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def differences(connection, name: str, before: str, after: str, keys: dict[str, list[str]]) -> list[str]:
    """Say how two relations differ: in columns, in rows, in values."""
    columns = [
        {
            column: kind
            for column, kind, *_ in connection.execute(f"describe {sql}").fetchall()
            if column not in LEFT_OUT
        }
        for sql in (before, after)
    ]
    said = [f"column {column} is gone" for column in columns[0] if column not in columns[1]]
    said += [f"column {column} is new" for column in columns[1] if column not in columns[0]]
    said += [
        f"column {column} was {kind} and is {columns[1][column]}"
        for column, kind in columns[0].items()
        if columns[1].get(column, kind) != kind
    ]
    shared = [column for column in columns[0] if column in columns[1]]
    key = keys.get(Path(name).stem if "/" in name else name.partition(".")[2], [])
    if not key or not set(key) <= set(shared):
        key = [column for column in shared if columns[0][column] != "DOUBLE"]
    values = [column for column in shared if column not in key]
    # rows that share a key are told apart by their values in order
    numbered = "select {shared}, row_number() over (partition by {key} order by {shared}) as nth from ({sql})"
    for side, sql in (("old", before), ("new", after)):
        select = numbered.format(shared=listed(shared), key=listed(key), sql=sql)
        connection.execute(f"create or replace temp table {side} as {select}")
    on = " and ".join(f'o."{column}" is not distinct from n."{column}"' for column in [*key, "nth"])
    for side, other, what in (("old", "new", "gone"), ("new", "old", "new")):
        matched = on if side == "old" else on.replace("o.", "_.").replace("n.", "o.").replace("_.", "n.")
        lone = f"from {side} as o where not exists (select 1 from {other} as n where {matched})"
        (n,) = connection.execute(f"select count(*) {lone}").fetchone()
        if n:
            rows = connection.execute(f"select {listed(key)} {lone} order by all limit {N_EXAMPLES}").fetchall()
            said.append(f"{n:,} rows are {what}, such as {'; '.join(map(str, rows))}")
    for column in values:
        is_number = columns[0][column] == columns[1][column] == "DOUBLE"
        old, new = f'o."{column}"', f'n."{column}"'
        differs = f"{old} is distinct from {new}"
        if is_number:
            quantity = "o.quantity" if "quantity" in shared else f"'{column}'"
            noisy = " ".join(f"when '{name}' then {tolerance}" for name, tolerance in NOISY.items())
            # a p-value may be far below 1
            least = 0 if column.startswith("p_") else 1
            near = (
                f"isfinite({old}) and isfinite({new}) and abs({old} - {new}) <= "
                f"case {quantity} {noisy} else {TOLERANCE} end * greatest({least}, abs({old}), abs({new}))"
            )
            differs += f" and not coalesce({near}, false)"
        pairs = f"from old as o inner join new as n on {on} where {differs}"
        (n,) = connection.execute(f"select count(*) {pairs}").fetchone()
        if n:
            shown = ", ".join(f'o."{part}"' for part in key)
            row = connection.execute(f"select {old}, {new}, {shown} {pairs} order by all limit 1").fetchone()
            said.append(f"{n:,} values of {column} differ, such as {row[0]} -> {row[1]} at {row[2:]}")
    return said


def listed(columns) -> str:
    """Return column names as SQL lists them."""
    return ", ".join(f'"{column}"' for column in columns)


def other_files(before: Path, after: Path) -> dict[str, list[str]]:
    """Compare what is no table, in two exports, line by line."""
    texts = [
        {
            str(path.relative_to(place)): path.read_text(encoding="utf-8").splitlines()
            for path in place.rglob("*")
            if path.is_file() and path.suffix not in READERS and path.name not in NOT_COMPARED
        }
        for place in (before, after)
    ]
    said = {}
    for name in sorted(texts[0].keys() | texts[1].keys()):
        old, new = (of.get(name) for of in texts)
        if old is None or new is None:
            said[name] = ["the file is new" if old is None else "the file is gone"]
        elif old != new:
            gone, come = [line for line in old if line not in new], [line for line in new if line not in old]
            said[name] = [f"{len(gone)} lines are gone, {len(come)} are new: {(gone + come)[:N_EXAMPLES]}"]
    return said


def main(arguments=None) -> int:
    """Compare, print what differs by table, and return 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--map", type=Path)
    options = parser.parse_args(arguments)
    keys, said = declared_keys(), {}
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute("set TimeZone = 'UTC'")
        before = relations(connection, "before", options.before)
        after = relations(connection, "after", options.after)
        if options.map:
            before, gone = renamed(connection, before, options.map)
            for name, lines in gone.items():
                print(*(f"{name}: {line}" for line in lines), sep="\n")
        for name in sorted(before.keys() | after.keys()):
            if name not in before or name not in after:
                said[name] = ["the table is new" if name in after else "the table is gone"]
            else:
                said[name] = differences(connection, name, before[name], after[name], keys)
    if options.before.is_dir():
        said |= other_files(options.before, options.after)
    for name, lines in said.items():
        for line in lines:
            print(f"{name}: {line}")
    n = sum(map(bool, said.values()))
    print(f"{len(said)} compared, {n} differ" if n else f"{len(said)} compared, no difference")
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main())
