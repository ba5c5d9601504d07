"""How long a table of trials takes by a SELECT of its own, beside DuckDB's own `create table as select` of the file."""

import tempfile
from pathlib import Path

from ingest.warehouse import in_memory, quoted
from tests.tools.processes import Warehouse
from tests.tools.ratios import Bench

SIZES = (1_000_000, 10_000_000)
FEWEST_A_SECOND = 50_000
# A CSV file with quotes, line breaks within values, and empty cells.
ROWS = """
copy (
    select
        i as id,
        'lab-' || i % 7 || '/model' as model,
        'scene-' || i % 5 as scene,
        case when i % 3 > 0 then 50 * (i % 3) end as anchor,
        0.7 as temperature,
        100 + hash(i) % 50 as answer,
        case when i % 10 = 0 then E'I "think" so,\\r\\nperhaps.' end as remark
    from range({n}) as numbers(i)
) to {path}
"""
MAP = """
select
    filename, id as own_id, model as llm, scene as vignette, anchor as anchor_value, temperature, answer as number,
    case when anchor is null then 'none' when anchor = '50' then 'low' else 'high' end as anchor_direction
from source
"""
IMPORT = """
import json, sys, time
from pathlib import Path
import dlt, duckdb, pyarrow
from ingest.archives import archive_of
from ingest.bring.importer import import_archive
from ingest.bring.mapping import Given, with_mapping
table, given = Path(sys.argv[1]), Given(Path(sys.argv[2]), timeout_s=3600)
started = time.perf_counter()
summary = import_archive(table, with_mapping(archive_of("table"), table, given, None), given=given)
print(json.dumps({"rows": summary.n_new, "seconds": time.perf_counter() - started}))
"""
PEER = """
import json, sys, time
import duckdb
started = time.perf_counter()
connection = duckdb.connect(sys.argv[2])
connection.execute("create table trials as select * from read_csv($file, all_varchar = true)", {"file": sys.argv[1]})
connection.close()
print(json.dumps({"seconds": time.perf_counter() - started}))
"""


def main() -> None:
    """Import a table of each size."""
    bench = Bench(__doc__)
    for n_rows in map(bench.scaled, SIZES):
        with tempfile.TemporaryDirectory() as folder:
            table, mapping = Path(folder) / "table.csv", Path(folder) / "map.sql"
            mapping.write_text(MAP)
            with in_memory() as memory:
                memory.execute(ROWS.format(n=n_rows, path=quoted(table)))
            warehouse = Warehouse(Path(folder) / "warehouse")
            ours = warehouse.said(IMPORT, table, mapping)
            peer = warehouse.said(PEER, table, Path(folder) / "peer.duckdb")
            rate = ours["rows"] / ours["seconds"]
            bench.record(
                f"import of a table of {n_rows:,} rows", "DuckDB's create table", ours["seconds"] / peer["seconds"],
                seconds=ours["seconds"], details=f"{rate:,.0f} rows/s, peak {ours['megabytes']:.0f} MB",
            )  # fmt: skip
            if not bench.is_small:
                bench.record(
                    f"rows of {n_rows:,} in a second", f"{FEWEST_A_SECOND:,}", rate / FEWEST_A_SECOND, "at least 1",
                    seconds=ours["seconds"],
                )  # fmt: skip


if __name__ == "__main__":
    main()
