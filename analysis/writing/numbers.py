"""The numbers that a text states, and which of them no fact bears out."""

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import NamedTuple

from analysis.reading.numerals import MAGNITUDE
from analysis.writing.markdown import HEADING, HEADING_NUMBER, last_before, normalised, section_name

LIST_NUMBER = re.compile(r"^[\s>]*(?:[-*+]\s+)?(?P<n>\d{1,3})[.)](?=\s)", re.MULTILINE)
HYPOTHESIS = re.compile(r"(?<![A-Za-z])(?:Q_?\{?[1-4]|H_?\{?[01])\b")
NUMBER = re.compile(
    rf"(?:(?P<mantissa>{MAGNITUDE})\s*(?:\u00d7|·|\*|x|\\times|\\cdot)\s*)?"
    r"(?<![\d.])10\s*(?:\^|\*\*)\s*\{?(?P<power>[-+]?\d{1,4})\}?"
    rf"|(?P<plain>{MAGNITUDE})(?:[eE](?P<exponent>[-+]?\d{{1,4}})(?!\w))?"
)
ATTACHED_MINUS = re.compile(r"(?P<before>(?:^|[\s\S])[*_$]*)[-][*_$\\(]*$")
DETACHED_MINUS = re.compile(r"(?:[=≈:(\[,|]|[\w)*_$][ \t]*[<>])[ \t]*\\?-[ \t]+$")
WORD_MINUS = re.compile(r"(?:\b(?:of|is|was|by|to|and|at|from)|[=(\[,|])\s*(?:minus|negative)\s+$", re.IGNORECASE)
P_VALUE = re.compile(
    r"(?<![A-Za-z])p(?:[\s-]?values?)?(?![A-Za-z])[^.;|=<>]{0,40}?"
    r"(?:(?P<below><=|[<≤]|&lt;|\\leq?|\\lt|below|less than|under|smaller than)"
    r"|>=|[>≥]|&gt;|\\geq?|\\gt|above|greater than|over)"
    r"[\s$*_{}]*$",
    re.IGNORECASE,
)
THRESHOLDS = {Decimal(text) for text in ("0.1", "0.05", "0.01", "0.001", "0.0001")}


class Printed(NamedTuple):
    """A number in a text.

    Parameters
    ----------
    value : decimal.Decimal
    quantum : int
        The exponent of its last printed digit.
    start, end : int
        Where it stands.
    """

    value: Decimal
    quantum: int
    start: int
    end: int

    def is_rounded(self, number):
        """Say whether it is a known number, rounded half even or half up to the digits that are printed."""
        with localcontext() as context:
            context.prec = 60
            for candidate in {number, Decimal(float(number))}:  # as printed, and as the computer holds it
                for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP):
                    try:
                        if candidate.quantize(Decimal(1).scaleb(self.quantum), rounding) == self.value:
                            return True
                    except InvalidOperation:  # so many digits that they are surely not the same number
                        break
        return False

    def threshold_side(self, text):
        """Return `below` or `above` where the text says that a p value lies there of this number, else None."""
        match = P_VALUE.search(text, max(0, self.start - 60), self.start)
        return match and ("below" if match["below"] else "above")


def all_numbers(text, masked=None):
    """Yield each number of a normalised text, or of what is left of it where names are masked.

    Yields
    ------
    Printed
    """
    for match in NUMBER.finditer(masked or text):
        digits = (match["mantissa"] or match["plain"] or "1").replace(",", "")
        shift = int(match["power"] or match["exponent"] or 0)
        start, end = match.span()
        value = Decimal(f"{digits}e{shift}")
        if _is_negative(text[max(0, start - 40) : start]):
            value = value.copy_negate()
        yield Printed(value, shift - len(digits.partition(".")[2]), start, end)


def number_problems(text, starts, why_not, *, names=(), patterns=()):
    """Say which numbers of a text are wrong; not those of list items and of headings.

    Parameters
    ----------
    text : str
        As `normalised` returns it.
    starts : list of tuple
        Where which section starts, as `sections_of` returns it.
    why_not : callable
        Of a `Printed` and the section that it stands in: why it may not stand, or None.
    names : iterable of str
        What may stand in the text whatever its digits, word for word.
    patterns : iterable of re.Pattern
        The same, as patterns.

    Returns
    -------
    list of str
    """
    longest_first = sorted(map(normalised, names), key=len, reverse=True)
    problems = []
    for number in all_numbers(text, _masked(text, [*map(_verbatim, longest_first), *patterns])):
        section = last_before(starts, number.start)
        if why := why_not(number, section):
            around = " ".join(text[max(0, number.start - 30) : number.end + 12].split())
            problems.append(f"the number {number.value} in {section} {why}: '{around}'")
    return problems


def citation(surname, year):
    """Return the pattern of a citation in the text, whose year may stand there."""
    return re.compile(
        rf"\b{re.escape(surname)}\b[^\d]{{0,80}}?[(,]\s*{re.escape(str(year))}(?!\d|[.,]\d)", re.IGNORECASE
    )


def _is_negative(before):
    attached = ATTACHED_MINUS.search(before)
    if attached:
        # A dash after a word or number is a hyphen or a range.
        left = attached["before"].rstrip("*_$")[-1:] or attached["before"][:1]
        return not (left.isalnum() or left in tuple(")]}%"))
    return bool(DETACHED_MINUS.search(before) or WORD_MINUS.search(before))


def _verbatim(name):
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<![\w.-]){words}(?!\w|[.,]\d)", re.IGNORECASE)


def _masked(text, patterns):
    """Return the text, as long as before, without what may stand in it whatever its digits."""

    def blank(match):
        return re.sub(r"\S", "x", match[0])

    seen = set()

    def list_number(match):
        n = int(match["n"])
        is_item = n == 1 or n - 1 in seen
        if is_item:
            seen.add(n)
        return blank(match) if is_item else match[0]

    def heading(match):
        number = HEADING_NUMBER.match(match["text"])
        is_numbering = number and (number[0].strip(" \t*_")[-1] in ".):" or section_name(match))
        at = match.start("text") - match.start()
        return match[0][:at] + blank(number) + match[0][at + number.end() :] if is_numbering else match[0]

    masked = HEADING.sub(heading, text)
    masked = LIST_NUMBER.sub(list_number, masked)
    for pattern in (HYPOTHESIS, *patterns):
        masked = pattern.sub(blank, masked)
    return masked
