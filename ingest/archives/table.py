"""Any table of trials: CSV, JSON, Parquet, SQLite, Excel or DuckDB, with our columns or a SELECT that yields them."""

import itertools

from ingest.archives import OF_TABLES, Archive

# The endings of files that are read in one way.
KINDS = {
    "csv": (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
    "records": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet",),
    "sqlite": (".sqlite", ".sqlite3", ".db"),
    "excel": (".xlsx", ".xlsm"),
    "duckdb": (".duckdb",),
}
AS_IT_IS = "from source"

ARCHIVE = Archive(
    name="table",
    suffix=tuple(itertools.chain.from_iterable(KINDS.values())),
    select=AS_IT_IS,
    tables=OF_TABLES,
    expected="a table of trials, with the columns that docs/importing.md names or a SELECT that yields them (--map)",
)
