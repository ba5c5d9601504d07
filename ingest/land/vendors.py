"""Whose LLMs these are, as people list them in the seed `llms`."""

from collections.abc import Collection, Mapping
from pathlib import Path

from ingest.land.models import macros
from ingest.land.seeds import SHIPPED, own_files, rows_in, seeds_folder
from ingest.warehouse import UserError, own_folder, printable, quoted

UNLISTED = "unlisted"  # the vendor of all LLMs that nobody listed, in macros/vendors_of.sql


def refuse_mistakes(files: Mapping[str, Path] | None = None) -> None:
    """Refuse lists of LLMs that do not say of each who made it, and in the same letters each time.

    They go by the name that a message calls them; those that count here if none are given.
    """
    written = {}
    for name, file in (files or _lists()).items():
        for row in rows_in("llms", file, name):
            llm, vendor = (printable(row[column] or "").strip() for column in ("llm", "vendor"))
            if not vendor or vendor.casefold() == UNLISTED:
                said = f"the vendor {vendor}, which is kept for LLMs without a line" if vendor else "no vendor"
                raise UserError(
                    f"{name}:{row.line}: {llm} has {said}: write who made it, or for a fine-tune who made its base"
                )
            other, line = written.setdefault(vendor.casefold(), (vendor, f"{name}:{row.line}"))
            if other != vendor:
                raise UserError(
                    f"{name}:{row.line}: the vendor {vendor} of {llm} is written {other} at {line}: write it the "
                    "same, or it counts as another vendor"
                )


def _lists():
    """Return the lists of LLMs that count here: that of bais and one's own."""
    lists = {"seeds/llms.csv": SHIPPED / "llms.csv"}
    if seeds_folder() != SHIPPED and "llms" in (own := own_files(own_folder())):
        lists[own["llms"].name] = own["llms"]
    return lists


def unlisted_among(connection, relation: str, seeds: Path | None = None) -> list[str]:
    """Return the LLMs among those of a relation of which nobody has listed who made them, in order."""
    vendors = _vendors_among(f"(select llm from {relation} where llm is not null)", seeds)
    found = connection.sql(f"select llm from ({vendors}) where not is_listed order by llm")
    return [llm for (llm,) in found.fetchall()]


def vendors_of(llms: Collection[str], seeds: Path | None = None) -> list[str]:
    """Return who made some LLMs, each once and in order."""
    import duckdb

    with duckdb.connect() as memory:
        query = f"select distinct vendor from ({_vendors_among('(select unnest($llms::varchar[]) as llm)', seeds)})"
        return sorted(vendor for (vendor,) in memory.execute(query, {"llms": [*llms]}).fetchall())


def _vendors_among(asked: str, seeds: Path | None) -> str:
    """Return the query of who made each LLM that is asked for, by the seeds as they are now."""
    files = (quoted((seeds or seeds_folder()) / f"{name}.csv") for name in ("llms", "llm_aliases", "routers"))
    return macros()["vendors_of"](asked, *(f"read_csv({file}, header = true, all_varchar = true)" for file in files))
