"""Whether there is anything to build: what a build hangs on, kept in the warehouse by one that passed wholly.

`forget_last_build` takes the record away whenever dbt begins, so that one which built something else leaves none.
"""

import contextlib
import hashlib
import json
import os
import re
from pathlib import Path

from analysis.provenance import hash_of_files, library_versions
from bais import age, project
from bais.terminal import fixed
from ingest.land.folder import folder_of
from ingest.land.raw import TABLES
from ingest.warehouse import PACKAGES, ROOT, UserError, connect, explain, printable, warehouse_path

SOURCES = ("models", "macros", "seeds", "tests/models", "dbt_project.yml", "profiles")  # of the dbt project
OF_BAIS = (ROOT / "claims", PACKAGES / "analysis")
SETTING = re.compile(r"env_var\(\s*['\"](\w+)")
WHERE_IT_IS_BUILT = {"BAIS_WAREHOUSE", "BAIS_DEV_WAREHOUSE"}
DERIVED = """
select schema_name, table_name, column_count::varchar from duckdb_tables()
where database_name = current_database() and schema_name != 'raw'
union all
select schema_name, view_name, column_count::varchar from duckdb_views()
where database_name = current_database() and not internal
order by all
"""
RECORD = "intermediate.last_build"


def source() -> str:
    """Return what a build hangs on beside the warehouse: files, libraries, and the settings that files name."""
    of_dbt, own = [project.update() / name for name in SOURCES], project.sources()
    naming = (path for of in (*of_dbt, *own) for path in (of, *of.rglob("*.yml")) if path.suffix == ".yml")
    names = {name for path in naming for name in SETTING.findall(path.read_text(encoding="utf-8"))}
    settings = sorted((name, os.environ.get(name)) for name in names - WHERE_IT_IS_BUILT)
    return json.dumps([hash_of_files(*of_dbt, *OF_BAIS, *own), library_versions(), settings])


def keep(path: Path, of_source: str, since: int) -> None:
    """Record what a warehouse was built from, if a run of dbt since those counted made and passed all of it there."""
    with contextlib.closing(connect(path, read_only=False)) as warehouse:
        if not age.is_whole(warehouse, since):
            return
        built_from = _fingerprint(warehouse, of_source)
        record = f"create or replace table {RECORD} as select ? as built_from, now() as built_at"
        warehouse.execute(record, [built_from])


def nothing_to_build() -> str | None:
    """Say that the warehouse is what would be built, or return None where anything has changed since."""
    import duckdb

    path = warehouse_path()
    if not path.exists():
        return None
    with contextlib.closing(connect(path)) as warehouse:
        try:
            ((built_from, built_at),) = warehouse.execute(f"from {RECORD}").fetchall()
            if built_from != _fingerprint(warehouse, source()):
                return None
        except duckdb.CatalogException:
            return None
        except duckdb.Error as error:
            raise UserError(explain(error, path)) from None
    return (
        f"nothing has changed since {printable(path)} was built ({fixed(built_at, '%Y-%m-%d %H:%M')} UTC): no trial, "
        "decision, seed, model, statistic or library. `bais build --full-refresh` builds anyway"
    )


def _fingerprint(warehouse, of_source):
    """Hash what is landed, by its keys: no row of `raw` is changed without an act; and which tables derive from it."""
    landed = []
    there = warehouse.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
    for name in sorted(name for (name,) in there if name in TABLES):
        key = ", ".join(TABLES[name].key)
        counted = warehouse.execute(f"select count(*), bit_xor(hash({key})) from raw.{name}").fetchall()
        landed.append((name, *counted[0]))
    landed.append(folder[1] if (folder := folder_of(warehouse)) else [])
    derived = [row for row in warehouse.execute(DERIVED).fetchall() if ".".join(row[:2]) != RECORD]
    return hashlib.sha256(json.dumps([of_source, landed, derived]).encode()).hexdigest()
