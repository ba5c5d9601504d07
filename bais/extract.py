"""`bais claims extract`: a folder of claims begun from a paper, with every numeral of it accounted for."""

import os
import re
from collections import Counter
from pathlib import Path

import click

from bais.options import PATH
from bais.terminal import say_each
from bais.texts import csv_of, write_new, writing
from ingest.warehouse import UserError, printable

CLAIMS = ["id", "where", "statement", "value", "unit", "decimals", "quantity", "keys", "specification", "not_derivable"]
TABLE = "table-"  # what the name of the file of a table begins with
SET_ASIDE = ["sentence", "line", "position", "numeral", "why"]


@click.command()
@click.argument("paper", type=PATH, metavar="PAPER", help="LaTeX, Markdown, HTML or plain text")
@click.option("--to", "folder", type=PATH, required=True, metavar="DIR", help="the folder to write, new or empty")
def extract(paper: Path, folder: Path) -> None:
    """Begin the folder of a paper: tables as printed, a row for each numeral of the text, and what is no claim."""
    if folder.is_symlink() or folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UserError(f"--to {printable(folder)} is there already: name a folder that is new or empty")
    if paper.is_dir():
        raise UserError(f"{printable(paper)} is a folder: name the paper's file in it, such as main.tex")
    read = read_text(paper)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = _files(read, Path(os.path.relpath(paper.absolute(), folder.absolute())), folder.name)
    for name, text in files.items():
        write_new(folder / name, text, name)
    n, n_tables = len(read.numerals), sum(name.startswith(TABLE) for name in files)
    n_claims = sum(not numeral.why and not numeral.table for numeral in read.numerals)
    reasons = Counter(numeral.why for numeral in read.numerals if numeral.why)
    say_each(
        [
            f"{printable(paper)}: {n:,} numeral{'' if n == 1 else 's'}: {n_claims:,} in the text, "
            f"{n - n_claims - reasons.total():,} in {n_tables:,} table{'' if n_tables == 1 else 's'}, "
            f"{reasons.total():,} set aside as no claims"
            + (f" ({', '.join(f'{n:,} {why}' for why, n in reasons.most_common())})." if reasons else "."),
            f"Next, in {printable(folder)}: in paper.yaml name the study, and say which quantity each column of a "
            "table is; in claims.csv name the quantity of each row with its keys, or how it derives, or why it is "
            "not_derivable, and move what claims nothing to set-aside.csv; in specifications.csv say how the authors "
            "computed; read set-aside.csv once. docs/how-to/add-a-claim.md shows each.",
        ]
    )


def read_text(path: Path):
    """Return what the text of a paper says, as of `analysis.reading.paper.read_paper`."""
    from analysis.reading.paper import read_paper

    try:
        return read_paper(path)
    except (ValueError, OSError) as error:
        raise UserError(f"{printable(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _files(read, text, prefix):
    """Return the text of each file by its name; ids begin with the name of the folder, which no other paper has."""
    import yaml

    from analysis.claims.papers import SPECIFICATION
    from analysis.reading.numerals import typed
    from analysis.reading.paper import VALUE

    held = {id(numeral.table) for numeral in read.numerals if not numeral.why}
    files, described, seen, claims, aside = {}, {}, Counter(), [], []
    for table in (table for table in read.tables if id(table) in held):
        name = TABLE + re.sub(r"\W+", "-", re.sub("^(?:a table|Table) ", "", table.where)).lower().strip("-")
        seen[name] += 1
        name, (header, rows) = f"{name}{f'~{seen[name]}' if seen[name] > 1 else ''}.csv", table.grid()
        files[name] = csv_of(header, [dict(zip(header, map(typed, row), strict=True)) for row in rows])
        labels = [name for name, *cells in zip(header, *rows, strict=True) if not any(map(VALUE.match, cells))]
        described[name] = {"where": table.where} | ({"labels": dict.fromkeys(labels, "")} if labels else {})
        described[name]["columns"] = dict.fromkeys((name for name in header if name not in labels), "")
    for n in read.numerals:
        key = re.sub(r"[^\w.]+", "-", re.sub(r"^(\w)\w+ (?=[\w.]+$)", r"\1", n.where))  # S4.6 is Section 4.6
        if n.why:
            aside.append(dict(zip(SET_ASIDE, (n.sentence, n.line, n.position, n.printed, n.why), strict=True)))
        elif not n.table:
            seen[key] += 1
            value, unit = f"{n.reading.bound} {n.reading.value}".strip(), n.reading.unit
            row = {"where": n.where, "statement": n.sentence, "value": value, "unit": unit}
            claims.append(dict.fromkeys(CLAIMS, "") | {"id": f"{prefix}-{key}-{seen[key]}"} | row)
    facts = {"title": read.title or text.stem, "authors": "", "study": "", "text": text.as_posix(), "tables": described}
    files["specifications.csv"] = csv_of(("name", *SPECIFICATION), [])
    files["paper.yaml"] = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=120)
    return files | {"claims.csv": csv_of(CLAIMS, claims), "set-aside.csv": csv_of(SET_ASIDE, aside)}
