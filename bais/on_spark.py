"""A half of `bais build --engine spark`, in a process of its own: a session, what reads texts in it, and dbt."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bais.spark import DATABASES
from ingest.land.models import macros
from ingest.warehouse import SESSION, quoted

# without a cluster: all cores of this machine, in this process; PYSPARK_SUBMIT_ARGS says otherwise, as with any PySpark
HERE = (
    "--master local[*] --driver-memory 2g --conf spark.driver.host=127.0.0.1 "
    "--conf spark.ui.enabled=false pyspark-shell"
)
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",  # what is no number is no null: DuckDB refuses it too
    "spark.sql.parser.escapedStringLiterals": "true",  # a backslash in a regular expression is one
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
# what reads texts: the macro, its parameters, and what it returns
FUNCTIONS = {
    "read_response": (
        ("text", "unit"),
        "struct<response: double, status: string, reason: string, note: string, said: string, "
        "if_decimal: double, if_grouped: double>",
    ),
    "read_label": (
        ("text", "labels", "reading", "options"), "struct<label: string, status: string, reason: string>",
    ),
}  # fmt: skip


def opened(databases: Path | None = None):
    """Open a session on this machine, on the cluster of `PYSPARK_SUBMIT_ARGS`, or with the server of `SPARK_REMOTE`.

    A session of our own keeps its databases, which have no files, in a folder that is named; a server knows its own.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", HERE)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("bais")
    if databases and not os.environ.get("SPARK_REMOTE"):
        builder = builder.config("spark.sql.warehouse.dir", str(databases))
    session = builder.getOrCreate()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    for name, (parameters, returned) in FUNCTIONS.items():
        read = _reader(parameters, macros()[name](*parameters))
        session.udf.register(f"bais_{name}", _function(read, parameters, returned))
    return session


def _reader(parameters: tuple[str, ...], expression: str) -> Callable:
    """Return what reads batches of Arrow columns in DuckDB: it needs nothing of ours where it runs."""
    settings = SESSION
    query = f"select {expression} as reading from asked order by place"

    def read(batches: Iterator) -> Iterator:
        import duckdb
        import pyarrow

        connection = duckdb.connect(config={"threads": 1})
        connection.execute(settings)
        for columns in batches:
            places = pyarrow.array(range(len(columns[0])), pyarrow.int64())
            table = pyarrow.table([*columns, places], names=[*parameters, "place"])
            connection.register("asked", table)
            yield connection.sql(query).to_arrow_table()["reading"].combine_chunks()

    return read


def _function(read, parameters, returned):
    import pyarrow
    from pyspark.sql.functions import ArrowUDFType, arrow_udf

    read.__annotations__ = {
        "batches": Iterator[tuple[(pyarrow.Array,) * len(parameters)]],
        "return": Iterator[pyarrow.Array],
    }
    return arrow_udf(read, returned, ArrowUDFType.SCALAR_ITER)


def _taken_over(session, schema: str, folder: Path) -> None:
    """Make tables of the Parquet that DuckDB wrote: a folder for each schema, in it one for each table."""
    for tables in sorted(path for path in folder.iterdir() if path.is_dir()):
        session.sql(f"create database `{schema}_{tables.name}` location {quoted(tables)}")
        for table in sorted(tables.iterdir()):
            session.sql(
                f"create table `{schema}_{tables.name}`.`{table.name}` using parquet "
                f"options (mergeSchema 'true') location {quoted(table)}"
            )


def main() -> int:
    """Build what `dbt` is told to on Spark, from the Parquet in a folder; the exit code is dbt's."""
    from dbt.cli.main import dbtRunner

    schema, inputs, arguments = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    session = opened(inputs.with_name(DATABASES))
    try:
        _taken_over(session, schema, inputs)
        result = dbtRunner().invoke(arguments)
    finally:
        for (name,) in session.sql(f"show databases like '{schema}_*'").collect():
            session.sql(f"drop database `{name}` cascade")
        session.stop()
    if result.exception:
        print(result.exception)
    return 0 if result.success else 1


if __name__ == "__main__":
    sys.exit(main())
