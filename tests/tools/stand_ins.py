"""What stands for dlt and Great Expectations where a test is not about them: the same, without their start and care."""

from contextlib import closing

import duckdb
import pyarrow as pa

from ingest.raw import LOAD_ID, TABLES


def load_without_dlt(tables, path, incoming):
    """Do in milliseconds what dlt does; what the warehouse has is sorted out afterwards, as ever."""
    with closing(duckdb.connect(str(incoming))) as file:
        file.execute("create schema raw")
        for name, made in tables.items():
            if made := [TABLES[name].conform(rows) for rows in made]:
                file.register("made", pa.concat_tables(made))
                file.execute(f"create table raw.{name} as select *, 'a load' as {LOAD_ID} from made")


def maxima_without_great_expectations():
    """Hold frames against thresholds at once; tests/ingest/test_gate.py compares the two."""

    def validate(frame, maxima):
        observed = frame.max().to_dict()
        return {column: (bool(observed[column] <= most), float(observed[column])) for column, most in maxima.items()}

    return validate
