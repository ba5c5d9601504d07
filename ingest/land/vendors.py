"""Whose LLMs these are, as people list them in seeds/llms.csv."""

from collections.abc import Collection
from pathlib import Path

from ingest.land.models import macros, seed_types
from ingest.texts.csv_text import read_csv
from ingest.warehouse import ROOT, UserError, printable, quoted

SEEDS = ROOT / "seeds"
UNLISTED = "unlisted"  # the vendor of all LLMs that nobody listed, in macros/vendors_of.sql


def refuse_mistakes(seeds: Path = SEEDS) -> None:
    """Refuse a seeds/llms.csv that does not say of each LLM who made it, and in the same letters each time."""
    file = seeds / "llms.csv"
    name, columns = f"seeds/{file.name}", seed_types()["llms"]
    written = {}
    try:
        for row in read_csv(file, name):
            if row.keys() != columns.keys():
                raise UserError(_on_columns(name, [*row], [*columns]))
            llm, vendor = (printable(row[column] or "").strip() for column in ("llm", "vendor"))
            if not vendor or vendor.casefold() == UNLISTED:
                said = f"the vendor {vendor}, which is kept for LLMs without a line" if vendor else "no vendor"
                raise UserError(
                    f"{name}:{row.line}: {llm} has {said}: write who made it, or for a fine-tune who made its base"
                )
            other, line = written.setdefault(vendor.casefold(), (vendor, row.line))
            if other != vendor:
                raise UserError(
                    f"{name}:{row.line}: the vendor {vendor} of {llm} is written {other} in line {line}: write it the "
                    "same, or it counts as another vendor"
                )
    except ValueError as error:
        raise UserError(str(error)) from None


def _on_columns(name, found, columns):
    """Say which columns are missing and which are none of the seed's, and what to do."""
    missing = [column for column in columns if column not in found]
    others = [printable(column) for column in found if column not in columns]
    said = [f"lacks the column {' and '.join(missing)}"] * bool(missing)
    said += [f"has the column {' and '.join(others)}, which it should not"] * bool(others)
    return f"{name}:1: the header {' and '.join(said)}: write {','.join(columns)} (vendor is who made the LLM)"


def unlisted_among(connection, relation: str, seeds: Path = SEEDS) -> list[str]:
    """Return the LLMs among those of a relation of which nobody has listed who made them, in order."""
    vendors = _vendors_among(f"(select llm from {relation} where llm is not null)", seeds)
    found = connection.sql(f"select llm from ({vendors}) where not is_listed order by llm")
    return [llm for (llm,) in found.fetchall()]


def vendors_of(llms: Collection[str], seeds: Path = SEEDS) -> list[str]:
    """Return who made some LLMs, each once and in order."""
    import duckdb

    with duckdb.connect() as memory:
        query = f"select distinct vendor from ({_vendors_among('(select unnest($llms::varchar[]) as llm)', seeds)})"
        return sorted(vendor for (vendor,) in memory.execute(query, {"llms": [*llms]}).fetchall())


def _vendors_among(asked: str, seeds: Path) -> str:
    """Return the query of who made each LLM that is asked for, by the seeds as they are now."""
    files = (quoted(seeds / f"{name}.csv") for name in ("llms", "llm_aliases", "routers"))
    return macros()["vendors_of"](asked, *(f"read_csv({file}, header = true, all_varchar = true)" for file in files))
