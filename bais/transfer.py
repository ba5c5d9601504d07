"""`bais import` and `bais export`: what was recorded into the warehouse, and its tables into files for others."""

import time
from pathlib import Path

import click

from bais.options import PATH, only_study
from bais.terminal import say, size_of
from bais.warehouse import marts
from ingest.run import import_options, land_archive
from ingest.warehouse import UserError


@click.command("import")
@click.argument("archive", required=False, metavar="[PATH]", type=PATH, help="a file of trials or scores, or a folder")
@import_options
def import_(archive: Path | None, download: str | None, of_study: str | None, **options) -> int:
    """Land recorded trials or scores in `raw`, as `python ingest/run.py` does."""
    if not archive and not download:
        raise UserError("there is nothing to import: name a file or a folder of trials or scores, or give --download")
    return land_archive(archive, download=download, study=of_study, **options)


@click.command()
@click.argument("folder", metavar="DIR", type=PATH, help="the folder to write; it is made")
@click.option("--format", "form", type=click.Choice(("parquet", "csv", "jsonl")), default="parquet")
@only_study
@click.option("--force", is_flag=True, help="replace an earlier export in DIR")
def export(folder: Path, form: str, study: str | None, force: bool) -> None:
    """Write the public tables, and the raw ones that they are derived from, into a folder."""
    from bais.exported import put_in_place, refuse_other_files, studies_of, unfinished_beside, write_export

    started = time.monotonic()
    target = folder.resolve()
    refuse_other_files(target, force)
    with marts(writes_files=True) as warehouse:
        studies = studies_of(warehouse, study)
        with unfinished_beside(target) as unfinished:
            manifest = write_export(warehouse, unfinished, form, studies, study)
            put_in_place(unfinished, target)
    n_bytes = sum(table["bytes"] for table in manifest["tables"])
    n_rows = sum(table["rows"] for table in manifest["tables"])
    say(
        f"{target}: {len(manifest['tables'])} tables, {n_rows:,} rows, {size_of(n_bytes)} as {form}; "
        f"{time.monotonic() - started:.1f} s"
    )
    for entry in studies:
        marked = ", SIMULATED respondents, no LLM was asked" if entry["is_simulated"] else ""
        held = [f"{entry[f'n_{what}']:,} {what}" for what in ("trials", "scores") if entry[f"n_{what}"]]
        say(f"  study {entry['study']}: {' and '.join(held)} ({entry['source']}{marked})")
