"""What a numeral is, and what it says: its value, its unit, and whether it is a bound."""

import re
from collections import namedtuple
from itertools import pairwise

MINUS, DASH, X = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"
GAP = r"[\s\u2009\u202f\u00a0]"
# A sign is no hyphen and no dash of a range: -8.8 and [-1, 2] have one, GPT-4.1 and 0-12 have none.
SIGN = rf"(?:(?<![\w.%)\]}}+{MINUS}-])(?:[+{MINUS}-]|(?<!{DASH})(?<!\d{GAP}){DASH})(?=[\d.]))"
MAGNITUDE = r"(?:(?:\d{1,3}(?:[,\u2009\u202f\u00a0]\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+)"
SUPERSCRIPT = r"[\u207b\u207a]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+"
RAISED = (
    rf"10(?:\s?(?:\^|\*\*)\s?\{{?[+{MINUS}{DASH}-]?\d{{1,3}}\}}?|[{MINUS}{DASH}-]\d{{1,3}}(?![\w%])"
    rf"|{SUPERSCRIPT})"
)
TIMES = rf"{GAP}*(?:{X}|\u00b7|\u22c5|\*|x|\\times|\\cdot){GAP}*"
NUMERAL = re.compile(
    rf"(?P<sign>{SIGN})?"
    r"(?:(?P<first>(?<=\[)\d{1,3}(?=,\d{3}\])|(?<=[A-Za-z]\()\d{1,3}(?=,\d{3}\)))"  # [100,200], F(2,114)
    rf"|(?P<mantissa>{MAGNITUDE}){TIMES}(?P<power>{RAISED})"  # 3.2 x 10^-12
    rf"|(?P<alone>(?<![\w.])10(?:(?:\^|\*\*)\{{?[+{MINUS}-]?\d{{1,3}}\}}?|{SUPERSCRIPT}))"  # 10^-12
    rf"|(?P<plain>{MAGNITUDE})(?:(?P<exponent>[eE][+{MINUS}-]?\d{{1,3}}(?!\w))|(?:\.\d+)*))"  # 8.62e-130, 3.2.5
)
PERCENT = re.compile(r"(?:[^\S\n]|[\\*_$-])*(?:%|per ?cent\b)", re.IGNORECASE)  # on the same line
PERCENTAGE_POINTS = re.compile(r"[\s*_]*(?:pp\b|percentage[- ]points?\b)", re.IGNORECASE)
POINTS = re.compile(r"[\s$]*\\?%[\s$-]*points?\b")
OTHER_UNITS = re.compile(
    r"[\s*_$~-]{0,3}(million|billion|months?|mo|years?|days?|hours?|minutes?|seconds?|ms|trials?|participants?|respondents?"
    rf"|models?|LLMs?|items?|points|words?|tokens?|nats?|times|fold|[x{X}](?![\w\s]*\d))(?!\w)"
)
IN_FULL = {"mo": "months", "x": "times", X: "times", "fold": "times"}
RANGE_IN_PERCENT = re.compile(rf"(?:\s?(?:[{DASH}-]{{1,2}}|\u00b1|\\pm)\s?|\s(?:to|and)\s)[+{MINUS}-]?[\d.]+[\s$]*\\?%")
BOUND = re.compile(r"(?:(<=|\u2264|\\leq?(?![a-z]))|(>=|\u2265|\\geq?(?![a-z]))|(<|\\lt\b)|(>|\\gt\b))[\s${\\]*$")
TAG = re.compile(r"</?[A-Za-z][^<>]*>$")
SUPERSCRIPTS = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a", "0123456789-+")

ABBREVIATED = "al", "vs", "Fig", "Figs", "Tab", "Sec", "Eq", "Eqs", "App", "cf", "e.g", "i.e", "No", "Dr"
NO_ABBREVIATION = "".join(rf"(?<!\b{word}\.)" for word in ABBREVIATED)
# an item of a list and a row of a table is at least one sentence
SENTENCE_END = re.compile(
    r"\n\s*\n|\n(?=\s*(?:[|>#]|(?:[-*+]|\d+[.)])\s))"
    rf"|(?<=[.!?]){NO_ABBREVIATION}[\"')*_\]]*\s+(?=[\"'(*_\[]*[A-Z])"
)
# A page that was saved with the markup of its formulas has their numbers once as shown and once more in the markup.
AS_SHOWN = [
    (re.compile(rf"([+{MINUS}])(\d+(?:\.\d+)?)[+-]\2(?!\.?\d)"), r"\1\2"),  # +62.84+62.84
    (re.compile(r"(\d+(?:\.\d+)?)\\(?:times|approx) \1(?!\.?\d)"), r"\1"),  # 2.2\times 2.2
    (re.compile(r"(\d+\.\d+)\1(?!\.?\d)"), r"\1"),  # 0.270.27
    (re.compile(r"(\d+),(\d{3})\1\{,\}\2"), r"\1,\2"),  # 10,00010{,}000
    (re.compile(r"(?<=\d)(?:\{,\}|\\,)(?=\d{3})"), ","),
    (re.compile(r"<su([pb])>([^<>\n]*)</su[pb]>"), lambda match: f"{'^' if match[1] == 'p' else '_'}{{{match[2]}}}"),
]
# its value in ASCII (`-0.5`, `14,152`, `3.2e-12`); `<`, `>`, `<=`, `>=` or nothing; `%`, `pp`, a word or nothing
Reading = namedtuple("Reading", "value bound unit")


def as_shown(text):
    """Return the text without the second of two copies of a number, which is its markup."""
    for twice, once in AS_SHOWN:
        text = twice.sub(once, text)
    return text


def reading(match, text):
    """Return what a match of `NUMERAL` in a text says, as a Reading."""
    power = match["power"] or match["alone"]
    digits = match["first"] or match["mantissa"] or match["plain"] or "1"
    if match["plain"] and not match["exponent"]:
        digits = match[0][len(match["sign"] or "") :]  # a version has more dots
    exponent = (match["exponent"] or "").lower()
    if power:
        exponent = "e" + re.sub(r"[\s^*{}]", "", power[2:].translate(SUPERSCRIPTS))
    exponent = exponent.replace(MINUS, "-").replace(DASH, "-")
    sign = "-" if match["sign"] and match["sign"] != "+" else ""
    bound, before = "", text[max(0, match.start() - 60) : match.start()]
    if (found := BOUND.search(before)) and not TAG.search(before):
        bound = ("<=", ">=", "<", ">")[found.lastindex - 1]
    return Reading(sign + re.sub(GAP, ",", digits) + exponent, bound, _unit(text, match.start(), match.end()))


def typed(text):
    """Return a text whose numerals are as a person would type them: `-0.5`, `+3`, `1,941`, `3.2e-12`."""
    return NUMERAL.sub(lambda match: "+" * (match["sign"] == "+") + reading(match, text).value, text)


def sentence_starts(text):
    """Return where each sentence of a text starts, with the sentence."""
    bounds = [0, *(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    return [(start, text[start:end]) for start, end in pairwise(bounds)]


def _unit(text, start, end):
    if PERCENTAGE_POINTS.match(text, end) or POINTS.match(text, end):
        return "pp"
    if PERCENT.match(text, end) or RANGE_IN_PERCENT.match(text, end):
        return "%"
    if other := OTHER_UNITS.match(text, end):
        return IN_FULL.get(other[1], other[1])
    return "rank" if text[max(start - 1, 0) : start] == "#" else ""
