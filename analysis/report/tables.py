"""Tables of the page: a caption, scopes, and attributes that say which query gives each number."""

import re
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from markupsafe import Markup

from analysis.report.queries import PUBLIC
from analysis.report.values import MISSING, Number, clean, key_text

TABLE = re.compile(rf"\b(?:raw|staging|seeds|{PUBLIC})\.\w+")


@dataclass(frozen=True)
class Row:
    """A row of a table: what picks it in the warehouse, and its cells, the first of them its name."""

    key: dict
    cells: list


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Parameters
    ----------
    caption : str or Markup
    source : str
        The table of the warehouse.
    key : dict
        What all rows share.
    heads : list of str
    rows : list of Row
        A cell is a `Number`, a text or Markup.
    groups : list of (str, int)
        Heads above heads, with the columns that each spans.
    is_simulated : bool
    """

    caption: str
    source: str
    key: dict
    heads: list
    rows: list
    groups: list = field(default_factory=list)
    is_simulated: bool = False
    name: str = ""

    def __html__(self):
        conditions = (
            name if value is True else f"{name} is null" if value is None else f"{name} = {clean(value)!r}"
            for name, value in self.key.items()
        )
        return Markup(
            template("table.html").render(
                table=self,
                named=named,
                key_text=key_text,
                conditions=" and ".join(conditions),
                to_right={i for row in self.rows for i, cell in enumerate(row.cells) if isinstance(cell, Number)},
            )
        )


@cache
def template(name):
    """Return a template of the page: what it is given is made harmless, unless it is markup.

    Parameters
    ----------
    name : str
        Of a file of this folder.

    Returns
    -------
    jinja2.Template
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.finalize = lambda value: value if hasattr(value, "__html__") else clean("" if value is None else value)
    return environment.get_template(name)


def table_of(study, caption, source, key, by, rows, columns, *, name, groups=()):
    """Make a table from rows of the warehouse.

    Parameters
    ----------
    study : Study
    caption, source, key : object
        As of `Table`.
    by : sequence of str
        The columns that pick a row.
    rows : list of dict
    columns : sequence of (str, callable)
        Each head, and what makes the cell below it of a row.
    name : str
        What a reader hears.
    groups : sequence of (str, int)
        As of `Table`.

    Returns
    -------
    Table
    """
    made = [Row({column: row[column] for column in by}, [cell(row) for _, cell in columns]) for row in rows]
    return Table(caption, source, key, [head for head, _ in columns], made, list(groups), study.is_simulated, name)


def number(column, expression=None, digits=1, *, by=(), **more):
    """Return what makes a number of a row: a column, or the aggregate that gives it; its reason is the row's.

    What picks it beyond the row of the page's table are the columns `by`.
    """

    def cell(row):
        picked = {"key": {name: row[name] for name in by}} if by else {}
        return Number(row[column], expression or column, digits, **{"reason": row.get("reason")} | picked | more)

    return cell


whole, signed, share = partial(number, digits=0), partial(number, is_signed=True), partial(number, scale=100, unit="%")


def interval(*columns, **more):
    """Return what makes a cell of a row: a number with its bounds."""
    return side_by_side("{} <small>({} to {})</small>", *(signed(column, **more) for column in columns))


def side_by_side(text, *cells):
    """Return what makes a cell of several numbers of a row."""
    return lambda row: Markup(text).format(*(cell(row) for cell in cells))


def text(column):
    """Return what makes a text of a row, harmless."""
    return lambda row: clean(row[column] or "")


def words(column):
    """Return what makes a code of a row to words."""
    return lambda row: clean(row[column] or MISSING).replace("_", " ")


def named(source):
    """Name the tables of the warehouse that a relation reads.

    Parameters
    ----------
    source : str
        A table, or tables joined.

    Returns
    -------
    Markup
    """
    return Markup(", ").join(Markup("<code>{}</code>").format(name) for name in dict.fromkeys(TABLE.findall(source)))
