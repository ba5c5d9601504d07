"""What a paper's printed numbers say of each other, without any data: codes and numbers, no sentences.

A number stands for all that is rounded to it (halves either way) or cut off at its last digit; where the text could be
read in another way, nothing is said. Sources of the rules: `analysis.words.consistency`.
"""

import html
import math
import re
import unicodedata
from itertools import pairwise, product
from typing import NamedTuple

from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from analysis.reading.numerals import typed

EDGE = 1e-9  # of a last digit
BEGIN, THOUSANDS = r"(?<![\w.])(?<![A-Za-z]-)(?<!\d,)", r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})"
NUMBER = rf"{BEGIN}[-+]?(?:{THOUSANDS}(?:\.\d{{1,15}})?|\.\d{{1,15}})(?:e[-+]?\d{{1,2}}|e-\d{{3}})?(?!e?\d|[.,]\d)"
WHOLE = rf"{BEGIN}(?!0){THOUSANDS}(?!\d|[.,]\d| ?%)"
MARKUP = (
    (r"\\chi(?![a-z])|[Cc]hi-?squared?|X(?=\^?2 ?\()", "χ"), (r"\\leq?(?![a-z])|<=", "≤"), (r"\\geq?(?![a-z])|>=", "≥"),
    (r"\\approx|\\sim|(?<![\w\\])~(?=[\d.])", "≈"), (r"\\[,;:! ]|[~_\s]", " "),
    (r"</?[a-zA-Z][^<>]*>|\\(?:text|math|operatorname)[a-z]*|\\emph|[$*{}†‡§\\]", ""), (r" +", " "),
)  # fmt: skip
ROUGH = re.compile(r"(?i)([≈<>≤≥±]|\b(about|approx\w*|around|roughly|nearly|almost|over|under|least|most|than|to)) ?$")
CHANGE = re.compile(r"\b(by|(drop|fall|rise|gain|increase|decrease|decline|reduction|change) of)( about)? ?$")
EARLIER = re.compile(r"= ?-?[\d.]+\)?,? (and|or) ?\(?$")  # a statistic whose p comes later
# words in a paper, or in a sentence, that leave open what its p values, shares or means are
UNSURE_P = re.compile(
    r"(?i)bonferroni|holm\b|benjamini|\bfdr\b|tukey|scheff|games|hochberg|[sš]id[aá]k|dunn|greenhouse|huynh|inferior"
    r"|multiple (comparison|test)|(adjust|correct)\w* p\b|p[ -]?values? (\w+ ){0,2}(adjust|correct)|\btost|halved"
    r"|(one|1).?(tail|side)|direct(ed|ional)"
)
OTHER_P = re.compile(r"(?i)\bexact\b|permut|bootstrap|monte carlo|simulated|adjusted|corrected|equivalence")
SEVERAL = re.compile(
    r"(?i)each .{0,30}?(rated|judged|answered|completed)|composite|cronbach|subscale|slider|analogue|half-point"
    r"|(items|ratings|questions) were averaged|averaged (to|into)"
    r"|averag\w+ (\w+ ){0,3}(item|trial|rating|picture|scenario|question|vignette)s"
)
SUPPOSED = re.compile(r"(?i)averag|weighted|\b(item|top|bottom|random|train|target|thres|would|expect|chance|if|when)")
SCALE = re.compile(r"(?i)likert|\d-point|\bscale (from|of) \d|whole[- ]number|integer|\brat(ed|ings?)\b")
STATISTIC = (
    rf"(?<![\w-])(?P<name>[tFzZr]|χ\^?2?) ?(?:\((?P<inside>[^()]*)\))? ?= ?(?P<value>{NUMBER})"
    rf"(?: ?[,;] df ?= ?(?P<df>{NUMBER}))?"
    rf"(?: ?[,;](?! ?(?:[tFzZpP]\b|χ))[^,;()\[\]<>=]{{1,20}}= ?{NUMBER}(?: ?%)?|"
    rf" ?[,;] ?(?:\d+ ?% ?)?CI ?[:=]? ?\[[^\]]*\])* ?[,;]? ?\(?[pP](?:-value)? ?(?P<how>[=<>≤≥]) ?(?P<p>{NUMBER})"
)
TAILS = {"F": fdtrc, "χ": chdtrc, "t": lambda df, t: 2 * stdtr(df, -t), "z": lambda z: 2 * ndtr(-z)}
TAILS["r"] = lambda df, r: TAILS["t"](df, r * math.sqrt(df / (1 - r * r)) if r < 1 else math.inf)
PERCENT, SOME = rf"(?P<p>{NUMBER}) ?(?:%|per ?cent\b)", "(?:the |all |our |these )?"
THINGS = r"(?: (?!(?:in|on|by|with|at|for|from|to|over)\b)[A-Za-z'-]+){0,3}? (?:\w+s|people|women|men|children)"
RATIO = rf"(?P<k>{WHOLE})(?: (?:out )?of {SOME}| ?/ ?)(?P<n>{WHOLE})(?:{THINGS})?"
SHARES = (
    rf"{RATIO}(?: ?[(\[]| = |, or |,? i\.e\.,? |, that is,? ){PERCENT}(?: ?[)\]]|(?= ?(?:[,;.]|$)))",
    rf"{PERCENT}(?: of {SOME}\w+s)?,? ?[(\[](?:n ?= ?)?{RATIO} ?[)\],;]",
    rf"\b[Oo]f {SOME}(?P<n>{WHOLE}){THINGS}(?: [a-z]+)?,? (?P<k>{WHOLE})(?: [a-z]+)?? ?[(\[]{PERCENT}[)\],;](?! of)",
)
COUNTED = r"(?:(?:participant|respondent|subject|patient|student|adult|rater|trial|response|paper|LLM|model)s|people)\b"
# of trials and responses a share may be a mean over respondents
OF_N = (
    rf"{PERCENT} of {SOME}(?P<n>{WHOLE})(?: [a-z-]+)?? (?!trial|response){COUNTED}"
    "(?!['\u2019]| (?:per|in|of|for|by|each|across)\\b)"
)
MEAN = rf"(?:\bM ?=|\b[Mm]ean(?: [a-z]+){{0,2}} (?:=|of|was|is)) ?(?P<m>{NUMBER})(?! ?[%A-Za-z€])"
N = rf"\b[nN] ?= ?(?P<n>{WHOLE})|(?P<things>{WHOLE}) {COUNTED}"
TOTAL = re.compile(r"(?i:(grand |sub-?)?(total|sum|all|overall)\b)|N$")
NO_PART = re.compile(r"(?i)\b(SDs?|SEM?|CI|min|max|median|mean|average|p|range|rank|diff\w*|change|gap)\b|^[tFz]$|Δ")
ARMS = re.compile(r"(?i)(arm|group|condition|cell|treatment)s?$")  # of which none overlap, and none is left out
SIZE = re.compile(r"[nN]$|(?i:sample|participants|respondents|trials)")  # of the row
OF_COUNTS = re.compile(r"(?i)n$|n \(%\)|no\.|number\b|counts?$|freq|(trials|participants|respondents)$")
SHARE = re.compile(r"(?i)%|\b(per ?cent|percentage|share|rate|accuracy|proportion)\b")
CELL = re.compile(rf"\(?({NUMBER}) ?(?:%|[A-Za-z]{{1,7}}\.?)?(?: ?[\[(].*|\))?$")
COUNT_AND_SHARE = re.compile(rf"({WHOLE}) ?[(\[]({NUMBER}) ?%?[)\]]$")


class Finding(NamedTuple):
    """What a rule says of a printed number: the range that it could have, or of n whole things the two next to it.

    `about` is what is compared, as printed, or where it stands; `crosses` says that p would lie beyond .05.
    """

    rule: str
    place: str
    about: tuple
    printed: str
    low: float
    high: float
    is_possible: bool
    crosses: bool = False


class _Printed(NamedTuple):
    value: float
    low: float
    high: float
    text: str


def findings(sentences, tables):
    """Return what each rule says of the printed numbers that it applies to, possible or not.

    Parameters
    ----------
    sentences : iterable of (str, str)
        Place and text, plain or with the marks of LaTeX, Markdown or HTML.
    tables : iterable of (str, list of str, list of list of str)
        Place, header and rows, as printed; the first column names the rows.

    Returns
    -------
    list of Finding
        In the order of the sentences, then of the tables. A rule is silent about what it cannot judge.
    """
    sentences = [(place, _plain(text)) for place, text in sentences]
    paper = " ".join(text for _, text in sentences)
    texts = ["", *(text for _, text in sentences), ""]
    around = map(" ".join, zip(texts, texts[1:], texts[2:], strict=False))  # a sentence and those beside it
    beside = zip(sentences, around, strict=True)
    found = [one for (place, text), near in beside for one in _in_text(place, text, paper, (), near)]
    return found + [one for table in tables for one in _in_table(*table, paper)]


def _plain(text):
    text = unicodedata.normalize("NFKC", typed(html.unescape(text)))
    for pattern, sign in MARKUP:
        text = re.sub(pattern, sign, text)
    return text.strip()


def _read(text, is_count=False):
    """Return a number with the lowest and the highest that is rounded to it, or cut off at its last digit."""
    mantissa, _, exponent = text.replace(",", "").lower().partition("e")
    value, step = float(f"{mantissa}e{exponent or 0}"), 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    down, up = (0 if is_count else EDGE + (0.5 if sign * value > 0 else 1 - 1e-6) for sign in (1, -1))
    return _Printed(value, value - down * step, value + up * step, text)


def _held(rule, place, about, number, low, high):
    is_possible = number.low <= high + EDGE * abs(high) and number.high >= low - EDGE * abs(low)
    return Finding(rule, place, about, number.text, low, high, is_possible)


def _of_whole(rule, place, about, number, n, unit):
    """Return the finding on a share in percent (a unit of 100) or a mean (of 1) of n whole things."""
    low, exact, high = number.low * n / unit, round(number.value * n / unit, 9), number.high * n / unit
    nearest = unit * math.floor(exact) / n, unit * math.ceil(exact) / n
    return Finding(rule, place, about, number.text, *nearest, math.floor(high + EDGE) >= math.ceil(low - EDGE))


def _matches(pattern, text):
    """Yield each match none of whose numbers is a rough one."""
    for match in re.finditer(pattern, text):
        if not any(ROUGH.search(text, max(0, match.start(x) - 20), match.start(x)) for x in match.groupdict()):
            yield match


def _in_text(place, text, paper, cell=(), around=""):
    for match in () if OTHER_P.search(around or text) else re.finditer(STATISTIC, text):
        if not EARLIER.search(text, 0, match.start()):
            yield from _p_value(place, match, paper, cell)
    for match in {match.start("p"): match for form in SHARES for match in _matches(form, text)}.values():
        if CHANGE.search(text, max(0, match.start("p") - 20), match.start("p")):
            continue
        k, n = (_read(match[count]).value for count in "kn")
        if "/" not in match[0] or k <= n >= 10:  # "Phase 2/3"
            yield _held("share", place, (*cell, match[0]), _read(match["p"]), 100 * k / n, 100 * k / n)
    for match in () if SUPPOSED.search(text) else _matches(OF_N, text):
        number, n = _read(match["p"]), _read(match["n"]).value
        if "." in number.text or number.value % 5:  # "50% of 35" is a way to say a half
            yield _of_whole("share_of_n", place, (*cell, match[0]), number, n, 100)
    means, sizes = list(_matches(MEAN, text)), [match["n"] or match["things"] for match in _matches(N, text)]
    if len(means) == len(sizes) and SCALE.search(text) and not (SUPPOSED.search(text) or SEVERAL.search(text + paper)):
        for match, size in zip(means, sizes, strict=True):
            yield _of_whole("mean", place, (*cell, match[0], size), _read(match["m"]), _read(size).value, 1)


def _p_value(place, match, paper, cell):
    name = match["name"][0].replace("Z", "z")
    inside = (match["df"] or match["inside"] or "").replace(",", " " if name in "Fχ" else "")
    dfs = [float(df) for df in re.findall(NUMBER, inside)][: 1 if name == "χ" else None]
    if len(dfs) == {"F": 2, "z": 0}.get(name, 1) and min(dfs, default=1) > 0:
        value, p = _read(match["value"].lstrip("+-")), _read(match["p"])
        p_low, p_high = (float(TAILS[name](*dfs, bound)) for bound in (value.high, max(value.low, 0.0)))
        least, most = (p_low / 2, 1) if UNSURE_P.search(paper) else (p_low, p_high)
        low, high = {"=": p[1:3], "<": (0, p.value), "≤": (0, p.value)}.get(match["how"], (p.value, 1))
        is_possible = low <= most + EDGE and high >= least * (1 - EDGE)
        crosses = not is_possible and (low >= 0.05 > p_high or high <= 0.05 < p_low)
        yield Finding("p_value", place, (*cell, match[0]), match["p"], p_low, p_high, is_possible, crosses)


def _in_table(place, header, rows, paper):
    width = max(1, *map(len, (header, *rows)))
    header, *rows = ([_plain(cell) for cell in row] + [""] * (width - len(row)) for row in (header, *rows))
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        for name in {"t", "F", "z", "χ2", "χ^2"} & {*cells}:
            p = re.sub(r"^(?=[.\d])", "= ", cells.get("p", ""))
            yield from _in_text(place, f"{name}({cells.get('df', '')}) = {cells[name]}, p {p}", paper, (row[0],))
        for name, cell in cells.items():
            yield from _in_text(place, cell, paper, (row[0], name))
    sizes, shares = ([i for i, name in enumerate(header) if found(name)] for found in (SIZE.match, SHARE.search))
    for n, k, j in product(sizes, range(width), shares):
        of_k = OF_COUNTS.search(header[k]) or header[j].startswith(header[k])
        if len({n, k, j}) == 3 and of_k:
            yield from _shares_of_rows(place, header, rows, (n, k, j))
    for i, j in product(range(width), repeat=2):
        if i == j or (SHARE.search(header[j]) and OF_COUNTS.search(header[i])):
            yield from _shares(place, header, rows, i, j)
    labels, numbers = [row[0] for row in rows], [list(map(_number, row[1:], header[1:])) for row in rows]
    yield from _totals(place, header[1:], labels, [[row[j] for row in numbers] for j in range(width - 1)])
    yield from _totals(place, labels, header[1:], numbers, ARMS.match(header[0]))


def _number(cell, name):
    match = CELL.match(cell)
    return match and _read(match[1], is_count="%" not in cell and "." not in cell and bool(OF_COUNTS.search(name)))


def _agree(found, n_each=2):
    """Say whether at least two and so many for each impossible one are possible, so that the relation is meant."""
    n_good = sum(one.is_possible for one in found)
    return n_good >= max(2, n_each * (len(found) - n_good))


def _shares(place, header, rows, i, j):
    """Return what is said of counts and shares, in two columns or in one, by an n with which most of them agree."""
    cells = [(row[0], COUNT_AND_SHARE.match(row[j] if i == j else f"{row[i]} ({row[j]})")) for row in rows]
    cells = [(label, _read(match[1]).value, _read(match[2])) for label, match in cells if match]
    ns = [_read(match["n"]).value for match in re.finditer(N, header[i]) if match["n"]]
    ns += [_read(n).value for row in rows if TOTAL.match(row[0]) for n in re.findall(rf"^{WHOLE}", row[i])]
    whole = sum(k for label, k, _ in cells if not TOTAL.match(label))
    for n in filter(None, (*ns, whole)):
        found = [_held("share", place, (label, header[j]), p, 100 * k / n, 100 * k / n) for label, k, p in cells]
        parts = [one for one in found if not TOTAL.match(one.about[0])]
        is_clear = _agree(parts, 1 if n == whole else 2)
        if _agree(parts, 0.5):  # where this is not clear, a larger share may be one of fewer
            fewer = [p.value > 100 * k / n and 100 * k // p.low >= math.ceil(100 * k / p.high) for _, k, p in cells]
            judged = [x for x, is_few in zip(found, fewer, strict=True) if is_clear or x.is_possible or not is_few]
            return judged if len(parts) > 2 else [x for x in judged if x in parts]
    return []


def _shares_of_rows(place, header, rows, columns):
    """Return what is said of shares beside the n and the count of their row, where most of them agree with these."""
    cells = [(row[0], *(_number(row[column], header[column]) for column in columns)) for row in rows]
    cells = [(x, p, 100 * k.value / n.value) for x, n, k, p in cells if n and k and p and 0 < k.value <= n.value]
    found = [_held("share", place, (label, header[columns[-1]]), p, share, share) for label, p, share in cells]
    return found if _agree(found, 1) else []


def _totals(place, labels, positions, lines, are_arms=False):
    """Yield what is said of lines (columns, or rows) that are called a total, and of shares that add to 100."""
    parts = [i for i, x in enumerate(labels) if any(lines[i]) and not (TOTAL.match(x) or NO_PART.search(x))]
    shares = [i for i in parts if not OF_COUNTS.search(labels[i])]
    totals = [i for i, label in enumerate(labels) if TOTAL.match(label)]
    tried = [("total", labels[c], lines[c], [i for i in parts if i < c] or parts) for c in totals]
    hundred = [_read("100", is_count=True)] * len(positions)
    tried += [("hundred", " + ".join(labels[i] for i in x), hundred, x) for x in {(*shares,), *pairwise(shares)}]
    for rule, label, line, group in tried:
        found, near = [], set()  # of arms: off by less than the smallest, which is not one left out or named twice
        for name, number, *numbers in zip(positions, line, *(lines[i] for i in group), strict=True):
            if number and len(group) > 1 and all(numbers) and not NO_PART.search(name):
                values, low, high = list(zip(*numbers, strict=True))[:3]
                if number.value > max(values) or (OF_COUNTS.search(name) and number.value not in values):
                    near |= {name} if are_arms and abs(number.value - sum(values)) < min(values) else set()
                    found.append(_held(rule, place, (label, name), number, sum(low), sum(high)))
        is_whole = any(one.is_possible and SHARE.search(one.about[1]) for one in found)
        if _agree(found, 2 if rule == "total" else 3):
            yield from found
        elif rule == "total" and len(parts) + 1 == len(labels):
            yield from (x for x in found if OF_COUNTS.search(x.about[1]) and (is_whole or x.about[1] in near))
