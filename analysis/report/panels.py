"""What the figures of the pages share: a figure, its panels, its tables, and numbers in words."""

from dataclasses import dataclass

from markupsafe import Markup

from analysis.report.figures import draw, room_for_text
from analysis.report.tables import named, table_of
from analysis.report.values import MISSING, clean

MARKS = ("value", "low", "high")  # columns that are drawn


@dataclass(frozen=True)
class Figure:
    """A figure of the page: its name, what it says in words, a drawing for each domain, and its numbers."""

    name: str
    title: str
    caption: Markup
    panels: list
    tables: list
    source: Markup | None = None  # where its numbers stand in a table elsewhere on the page

    @property
    def sources(self):
        """The tables of the warehouse that its numbers are from."""
        return self.source or named(" ".join(dict.fromkeys(table.source for table in self.tables)))


def draw_panel(study, kind, values, label, title=None, domain=None, reference=None, **settings):
    """Draw a panel, stamped where the study is simulated; `label` is what a reader hears instead of it."""
    if reference is not None:
        values = [{**values[0], "reference": reference}, *values[1:]]
    return draw(kind, values, label=label, title=title, domain=domain, is_simulated=study.is_simulated, **settings)


def figure_table(study, caption, source, key, by, rows, columns, groups=()):
    """Make the table of a figure from rows of the warehouse, as `table_of` does, with its caption as a sentence."""
    caption = clean(caption)
    sentence = f"{caption[:1].upper()}{caption[1:]}."
    return table_of(study, sentence, source, key, by, rows, columns, name=caption, groups=groups)


def told(domain, what, pairs):
    """Say what a panel draws: of what, and the value of each name."""
    return f"{domain}: {what}. " + "; ".join(f"{name} {value}" for name, value in pairs)


def fixed(value, digits=1, sign=""):
    """Write a number with so many decimals, and with its sign where `sign` is +; a dash where there is none."""
    if value is None:
        return MISSING
    number = round(value, digits) + 0.0
    return f"{number:{sign if number else ''}.{digits}f}".replace("-", "\N{MINUS SIGN}")


def around(values, reference):
    """Return the domain of an axis that holds all values and the reference, with some air."""
    numbers = [value for value in values if value is not None] + [reference]
    low, high = min(numbers), max(numbers)
    air = (high - low) * 0.04 or 5
    return [round(low - air, 6), round(high + air, 6)]


def axis_of(values, share):
    """Put the text of all rows beyond every mark and 0; return the domain of the axis, of which it takes a share."""
    low, high = around([row.get(mark) for row in values for mark in MARKS], 0)
    for row in values:
        if "text" in row:
            row["end"] = high
    return room_for_text(low, high, share)
