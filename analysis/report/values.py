"""Text and numbers as the page shows them: text made harmless, each number with the row and column it is from."""

import re
from dataclasses import dataclass, field
from urllib.parse import quote

from markupsafe import Markup, escape

from analysis.words import codes

MISSING = "\N{EN DASH}"
SAID_ABOVE = "said above"  # the reason of a number that is not there, where the row itself gives it


@dataclass(frozen=True)
class Number:
    """A number of the warehouse.

    Parameters
    ----------
    value : float, int or None
    column : str
        The column, or a SQL aggregate over the rows that the key picks.
    digits : int
        Decimals that are printed.
    scale : float
        What it is multiplied by for print: 100 for a share in percent.
    is_signed : bool
    unit : str
    reason : str, optional
        Why there is none.
    table : str, optional
        Where it is from, if not from the table that the page's table is from.
    key : dict
        What picks its row, beyond the key of the page's row.
    """

    value: float | None
    column: str
    digits: int = 1
    scale: float = 1
    is_signed: bool = False
    unit: str = ""
    reason: str | None = None
    table: str | None = None
    key: dict = field(default_factory=dict)

    @property
    def text(self):
        """The number as it is printed, without its unit; no share or p value is 0, or all, that is neither."""
        if self.value is None:
            return MISSING
        scaled = self.value * self.scale
        number = round(scaled, self.digits) + 0.0
        is_share, is_p_value = self.unit == "%" and self.scale == 100, self.column.startswith("p_")
        if (is_share or is_p_value) and 0 < self.value < 1:
            if not number:
                return f"<{10**-self.digits:.{self.digits}f}"
            if number == self.scale:
                return f">{self.scale - 10**-self.digits:.{self.digits}f}"
        text = f"{number:{'+' if self.is_signed and number else ''},.{self.digits}f}"
        return text.replace("-", "\N{MINUS SIGN}")

    def attributes(self):
        """The attributes that say where the number is from."""
        made = f' data-table="{escape(self.table)}"' if self.table else ""
        if self.key:
            made += f' data-key="{escape(key_text(self.key))}"'
        made += f' data-c="{escape(self.column)}"'
        return Markup(made if self.scale == 1 else f'{made} data-scale="{self.scale:g}"')

    def content(self):
        """The number with its unit, or a dash and why there is none."""
        if self.value is None and self.reason == SAID_ABOVE:
            return escape(MISSING)
        if self.value is None:
            return Markup('{}<span class="why"> {}</span>').format(MISSING, clean(codes.in_words(self.reason)))
        return escape(f"{self.text}\N{NO-BREAK SPACE}{self.unit}" if self.unit else self.text)

    def __html__(self):
        return Markup(f"<span{self.attributes()}>{self.content()}</span>")


def key_text(key):
    """Write a key in one attribute: `study=s;llm` for study s and no LLM."""
    return ";".join(
        name if value is None else f"{name}={quote(_plain(value), safe=' /:.+')}" for name, value in key.items()
    )


def _plain(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def clean(text):
    """Return text in which nothing is invisible, turns the reading direction or controls a device."""
    text = str(text)
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def clean_lines(text):
    """Return text of several lines, each made harmless."""
    return "\n".join(clean(line) for line in re.split(r"\r?\n", str(text)))


def moment(time):
    """Write a time to the second, in UTC."""
    return MISSING if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"


def counted(n, one, many=None):
    """Return the noun that suits a count."""
    return one if n == 1 else many or f"{one}s"


def listed(parts, last="and"):
    """Join parts as a sentence does.

    Parameters
    ----------
    parts : list of str or Markup
    last : str

    Returns
    -------
    Markup
    """
    return Markup(codes.listed(map(escape, parts), last)) if parts else Markup("")
