"""Freeze families of decisions (`ingest.studies.families`) in `raw.families`, to which rows are only ever added.

All families of a study are written down together, in the transaction that lands its trials, and again only where one of
them is another. `int_families` says what has been frozen of each.
"""

import json
from collections.abc import Iterable

import pyarrow as pa

from ingest.land.raw import TABLES, next_ordinal

TABLE = "families"
PLACE = ("paradigm", "domain", "goal")
STUDY, IMPORT = "study", "import"  # where a family was said
IN_FORCE = """
select paradigm, domain, goal, family, frozen_at from raw.families
where study = $study and source = $source
    and (frozen_at, ordinal) = (
        select max((frozen_at, ordinal)) from raw.families
        where study = $study and source = $source and frozen_at <= $frozen_at
    )
"""


def freeze(warehouse, study: str, statements: Iterable[dict], source: str) -> None:
    """Write down families that were stated together, each time that they are others than those in force by then.

    A statement says `frozen_at`, `before_first_call` and `families`, as of `ingest.studies.families.Family.record`.
    """
    for stated in sorted(statements, key=lambda statement: statement["frozen_at"]):
        asked_of = {"study": study, "source": source, "frozen_at": stated["frozen_at"]}
        in_force = {(*place, family) for *place, family, _ in warehouse.execute(IN_FORCE, asked_of).fetchall()}
        now = {(*(record[name] for name in PLACE), record["family"]) for record in stated["families"]}
        if not now or now == in_force:
            continue
        of_all = asked_of | {"before_first_call": stated["before_first_call"], "ordinal": next_ordinal(warehouse)}
        rows = [record | {"content": json.dumps(record["content"])} | of_all for record in stated["families"]]
        warehouse.register("frozen_now", pa.Table.from_pylist(rows, TABLES[TABLE].schema))
        warehouse.execute(f"insert into raw.{TABLE} by name from frozen_now")
        warehouse.unregister("frozen_now")
