"""What a build changes in the answers to vignettes of which their study says something else since the last build."""

import contextlib
from pathlib import Path

import pyarrow as pa

from ingest.ask.redefined import in_words
from ingest.land.models import query_of
from ingest.land.raw import prepare_raw
from ingest.warehouse import connect, printable

BUILT = "intermediate.int_trials_treated"
BEFORE = f"""
select
    built.trial_id, built.study, built.vignette, built.status, built.response, built.domain,
    struct_pack(
        domain := built.domain, response_unit := built.response_unit, valid_min := built.valid_min,
        valid_max := built.valid_max
    ) as before,
    struct_pack(
        domain := stated.domain, response_unit := coalesce(stated.response_unit, 'unknown'),
        valid_min := stated.valid_min, valid_max := stated.valid_max
    ) as after
from {BUILT} as built inner join ({{stated}}) as stated using (study, vignette)
where before is distinct from after
"""
CHANGED = f"""
select
    before.study, before.vignette, any_value(before.before) as before, any_value(before.after) as after,
    count(*) as n,
    count(*) filter (now.trial_id is null) as n_unpublished,
    count(*) filter (
        (now.status, now.response, now.domain) is distinct from (before.status, before.response, before.domain)
        and now.trial_id is not null
    ) as n_changed
from built_before as before left join {BUILT} as now using (trial_id)
group by all order by all
"""


def answers_redefined(path: Path) -> pa.Table | None:
    """Return the answers in the tables of a warehouse of whose vignette the study says something else by now."""
    if not path.exists():
        return None
    prepare_raw(path)
    with contextlib.closing(connect(path)) as warehouse:
        query = BEFORE.format(stated=query_of("int_vignettes_stated"))
        return warehouse.sql(query).to_arrow_table() if _is_there(warehouse) else None


def redefined_lines(path: Path, before: pa.Table | None) -> list[str]:
    """Say how many of these answers a build has changed, and how many are not public any more."""
    if not (before and before.num_rows):
        return []
    with contextlib.closing(connect(path)) as warehouse:
        if not _is_there(warehouse):
            return []
        warehouse.register("built_before", before)
        rows = warehouse.sql(CHANGED).to_arrow_table().to_pylist()
    lines = []
    for row in rows:
        what, n = in_words(row["before"], row["after"]), row["n_unpublished"]
        are = "is" if n == 1 else "are"
        gone = f", and {n:,} of them {are} not public any more: `bais check` says which batches failed" if n else ""
        changed = f"{row['n_changed']:,} of {row['n']:,} answers changed{gone}"
        lines.append(printable(f"{row['vignette']} of {row['study']}, {what}: {changed}."))
    return lines


def _is_there(warehouse):
    there = "select column_name from duckdb_columns() where schema_name || '.' || table_name = ?"
    return ("valid_max",) in warehouse.execute(there, [BUILT]).fetchall()
