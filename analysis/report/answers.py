"""The answers themselves: for each LLM and vignette a dot for every answer, by technique and direction of the anchor.

Drawn here and not by Vega, since each dot names the trials that it counts, and can be opened.
"""

import math
import shlex
from collections import Counter
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from markupsafe import Markup

from analysis.report.figures import STAMP
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import table_of, template
from analysis.report.values import Number, clean, key_text

COUNTS = "marts.counts"
PICKED = {"paradigm": "anchoring", "row_set": "accepted", "response_source": "reparsed"}
MOST_DOTS, MOST_IN_A_ROW, MOST_OF_TEXTS = 2200, (60, 30, 20, 14, 10, 7, 5), 25_000
WIDTH, LEFT, RIGHT, TOP, ROW, NAME, BOTTOM = 340, 8, 332, 34, 15, 19, 34
LARGEST, SMALLEST = 7.0, 1.4
ROW_OF = ("domain", "vignette", "llm", "technique", "arm")
UNANCHORED, ENDS = "none", ("low", "high")


def answers(study, prefix):
    """Draw what each LLM answered in each domain.

    Parameters
    ----------
    study : Study
    prefix : str
        Of the ids of the panels.

    Returns
    -------
    list of dict
        For each domain with an answer: its panels, a table of who answered, and how many panels there was no room for.
    """
    made, room = [], MOST_DOTS
    n_texts, most = _texts_that_fit(study), _dots_that_fit(study)
    for domain in study.domains:
        rows = sorted(study.rows("answer_counts", domain=domain), key=lambda row: (row["vignette"], row["llm"]))
        several = len({row["vignette"] for row in rows}) > 1
        groups = [(key, list(members)) for key, members in groupby(rows, lambda row: (row["vignette"], row["llm"]))]
        panels = []
        for (vignette, llm), cell_rows in groups:
            n_dots = sum(min(n, most) for n in _answers_in_rows(cell_rows))
            if n_dots <= room:
                room -= n_dots
                number = f"{prefix}-{len(made) + 1}-{len(panels) + 1}"
                place = {"domain": domain, "vignette": vignette, "llm": llm}
                panels.append(_panel(study, number, place, cell_rows, study.unit(domain), several, n_texts, most))
        if groups:
            made.append(
                {
                    "id": f"{prefix}-{len(made) + 1}",
                    "domain": domain,
                    "unit": study.unit(domain),
                    "panels": panels,
                    "n_left_out": len(groups) - len(panels),
                    "table": _table(study, domain),
                }
            )
    return made


def _answers_in_rows(rows):
    """Return how many different answers each row of a drawing has."""
    return Counter(tuple(row[name] for name in ROW_OF) for row in rows).values()


def _dots_that_fit(study):
    """Return how many dots a row may have, so that the page has room for all rows if it can be."""
    in_rows = _answers_in_rows(study.rows("answer_counts"))
    return next((most for most in MOST_IN_A_ROW if sum(min(n, most) for n in in_rows) <= MOST_DOTS), MOST_IN_A_ROW[-1])


def _texts_that_fit(study):
    """Return how many texts of a dot the page has room for."""
    texts = [row["texts"] for row in study.rows("answer_texts")]
    return next((n for n in (3, 2, 1) if sum(len(text) for each in texts for text in each[:n]) <= MOST_OF_TEXTS), 0)


def _panel(study, number, place, rows, unit, several, n_texts, most):
    """Draw what one LLM answered to one vignette; return it with the texts of its dots, and what lists its trials."""
    cells = {}
    for row in rows:
        cells.setdefault((row["technique"], row["arm"]), {})[row["value"]] = row["n_trials"]
    domain, vignette, llm = place.values()
    anchors = {}
    for row in study.rows("anchors", **place):
        anchors.setdefault(row["arm"], []).append(row["anchor_value"])
    effects = study.rows("losses", domain=domain, llm=llm, goal="displacement")
    losses = {row["technique"]: row["loss"] for row in effects if row["loss"] is not None}
    techniques = sorted(
        {technique for technique, _ in cells},
        key=lambda name: (name != NO_TECHNIQUE, losses.get(name, math.inf), name),
    )
    texts = {
        (row["technique"], row["anchor_direction"], row["response"]): row["texts"][:n_texts]
        for row in study.rows("answer_texts", **place)
    }
    lost = {row["technique"]: row["n_asked"] - row["n_answered"] for row in study.rows("asked_of_llms", **place)}
    scale = _Scale.of(cells, [value for values in anchors.values() for value in values])
    drawing, kept = _drawing(study, place, cells, techniques, anchors, losses, lost, scale, unit, texts, most)
    name = study.llm(llm)
    options = [f"--{option} {shlex.quote(clean(place[option]))}" for option in ("domain", "llm")]
    where = "response = RESPONSE"
    if several:
        where = f"vignette = {_quoted(vignette)} and {where}"
    command = " ".join([f"--study {shlex.quote(clean(study.name))}", *options, f"--where {shlex.quote(where)}"])
    return {
        "id": number,
        "llm": llm,
        "llm_name": name,
        "heading": f"{name}, {clean(vignette)}" if several else name,
        "command": f"bais trials {command}",
        "drawing": drawing,
        "texts": kept,
    }


def _quoted(text):
    return "'" + clean(text).replace("'", "''") + "'"


@dataclass(frozen=True)
class _Scale:
    """Where a value stands: the middle 98 % of the answers fit, and what lies beyond stands at the edge."""

    low: float
    high: float

    @classmethod
    def of(cls, cells, anchors):
        values, n = np.array(sorted(pair for cell in cells.values() for pair in cell.items())).T
        up_to = n.cumsum()
        middle = values[(up_to > up_to[-1] * 0.01) & (up_to - n < up_to[-1] * 0.99)]
        values = [*middle.tolist(), *anchors]
        low, high = min(values), max(values)
        low = min(low, 0.0) if low >= 0 and low < high / 2 else low
        return cls(low, high if high > low else low + (abs(low) or 1.0))

    def __call__(self, value):
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return LEFT + LARGEST + share * (RIGHT - LEFT - 2 * LARGEST)

    def is_beyond(self, value):
        return not self.low <= value <= self.high

    def ticks(self):
        """Return three to six round values."""
        rough = (self.high - self.low) / 4
        power = 10 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [round(i * step, 10) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _drawing(study, place, cells, techniques, anchors, losses, lost, scale, unit, texts, most):
    """Draw one panel; return it with the texts of its dots, by the place of the dot among all dots."""
    rows, kept, n_dots, bottom = [], {}, 0, TOP
    unanchored = cells.get((NO_TECHNIQUE, UNANCHORED))
    own = _mean(unanchored) if unanchored else None
    named = [(NO_TECHNIQUE, [UNANCHORED], "Without an anchor", f"mean {own:,.4g}")] if unanchored else []
    for technique in techniques:
        if directions := [end for end in ENDS if (technique, end) in cells]:
            beside = _beside(losses.get(technique), lost.get(technique, 0))
            named.append((technique, directions, _called(study, technique), beside))
    for technique, directions, name, beside in named:
        rows.append(
            {
                "y": bottom,
                "name": name,
                "beside": beside,
                "key": key_text({"technique": technique}),
                "option": f"--technique {shlex.quote(clean(technique))}",
                "directions": [],
            }
        )
        bottom += NAME
        for direction in directions:
            counts = cells[technique, direction]
            dots = _dots(counts, scale, unit, most)
            for dot in dots:
                if text := texts.get((technique, direction, dot["value"])):
                    kept[n_dots] = [clean(" ".join(each.split()) if "\n" in each else each) for each in text]
                n_dots += 1
            rows[-1]["directions"].append(
                {
                    "direction": direction,
                    "key": key_text({"arm": direction}),
                    "dots": dots,
                    "mean": scale(_mean(counts)),
                    "y": bottom,
                }
            )
            bottom += ROW
    spans = {end: (min(anchors[end]), max(anchors[end])) for end in ENDS if anchors.get(end)}
    shown_anchors = ", ".join(f"{end} anchor {_short(low)}" for end, (low, _) in spans.items())
    ticks = [(scale(tick), _short(tick)) for tick in scale.ticks()]
    height = bottom + BOTTOM
    drawing = template("dots.html").render(
        label=f"{study.llm(place['llm'])}: answers in {unit} by technique; {shown_anchors}; mean answer without an "
        f"anchor {'unknown' if own is None else f'{own:,.4g}'}. Arrow keys go from answer to answer.",
        width=WIDTH,
        height=height,
        left=LEFT,
        right=RIGHT,
        top=TOP,
        bottom=bottom,
        half=ROW / 2,
        own=own if own is None else scale(own),
        own_quartiles=[scale(end) for end in _quartiles(unanchored)] if unanchored else (),
        ticks=[(at, text, "start" if at < LEFT + 14 else "end" if at > RIGHT - 14 else "middle") for at, text in ticks],
        unit=unit,
        anchors=[(scale(value), direction) for direction, values in anchors.items() for value in values],
        ends=[
            (*((LEFT, "start") if end == "low" else (RIGHT, "end")), end, f"{end} anchor ▼ {_short(low, high)}")
            for end, (low, high) in spans.items()
        ],
        table=COUNTS,
        key=key_text({"study": study.name, **place, **PICKED}),
        rows=rows,
        stamp=STAMP.format(WIDTH // 2, height // 2) if study.is_simulated else "",
    )
    return Markup(drawing), kept


def _called(study, technique):
    return "Plain prompt" if technique == NO_TECHNIQUE else study.technique(technique)


def _beside(loss, n_lost):
    """Say how far off an anchor moves the average answer, and how many trials gave none."""
    remarks = (loss is not None and f"{loss:.0f} % off", n_lost and f"{n_lost:,} unanswered")
    return ", ".join(filter(None, remarks))


def _dots(counts, scale, unit, most):
    """Return a dot for each answer, its area the share of the row."""
    total, largest = sum(counts.values()), max(counts.values())
    dots = []
    for low, high, n in _grouped(counts, scale, most):
        what = _short(low) if low == high else f"{_short(low)} to {_short(high)}"
        one, several = (
            ' data-key="value={}"',
            ' data-c="sum(n_trials) filter (where value between {} and {})"',
        )
        dots.append(
            {
                "value": low if low == high else None,
                "x": scale((low + high) / 2),
                "radius": max(SMALLEST, LARGEST * math.sqrt(n / total) if largest < total else LARGEST),
                "n": n,
                "picked": Markup(one if low == high else several).format(repr(low), repr(high)),
                "title": f"{what} {unit}: {n:,} of {total:,}{', beyond the axis' if scale.is_beyond(low) else ''}",
            }
        )
    return dots


def _grouped(counts, scale, most):
    """Return the answers of a row with their counts; neighbours together where there are too many."""
    pairs = sorted(counts.items())
    if len(pairs) <= most:
        return [(value, value, n) for value, n in pairs]
    width = (scale.high - scale.low) / most
    made = []
    for _, members in groupby(pairs, lambda pair: math.floor((min(max(pair[0], scale.low), scale.high)) / width)):
        group = list(members)
        made.append((group[0][0], group[-1][0], sum(n for _, n in group)))
    return made


def _mean(counts):
    return sum(value * n for value, n in counts.items()) / sum(counts.values())


def _quartiles(counts):
    return np.quantile([*counts], [0.25, 0.75], weights=[*counts.values()], method="inverted_cdf")


def _short(value, last=None):
    """Write a value, or two with a dash, without digits that say nothing."""
    if last not in (None, value):
        return f"{_short(value)}\N{EN DASH}{_short(last)}"
    text = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.3g}"
    return (text if len(text) <= 9 else f"{value:,.4g}").replace("-", "\N{MINUS SIGN}")


def _table(study, domain):
    """Make the table of a domain: how many trials of each LLM and technique were answered, of how many asked."""
    by_llm = {}
    for row in study.rows("asked_of_llms", domain=domain):
        totals = by_llm.setdefault(row["llm"], {}).setdefault(row["technique"], {"n_answered": 0, "n_asked": 0})
        for column in totals:
            totals[column] += row[column]
    techniques = [name for name in study.techniques if any(name in by_technique for by_technique in by_llm.values())]

    def column(technique):
        def cell(row):
            if technique not in by_llm[row["llm"]]:
                return "not asked"
            numbers = (
                Number(n, f"sum({column})", 0, key={"technique": technique})
                for column, n in by_llm[row["llm"]][technique].items()
            )
            return Markup("{} of {}").format(*numbers)

        return _called(study, technique), cell

    title = clean(domain)
    caption = f"{title.capitalize()}: trials that were answered, of those asked, with and without an anchor."
    rows = [{"llm": llm} for llm in sorted(by_llm, key=lambda llm: study.llm(llm).lower())]
    columns = [("LLM", lambda row: study.llm(row["llm"])), *map(column, techniques)]
    key = {"study": study.name, "domain": domain}
    return table_of(study, caption, "marts.attrition", key, ["llm"], rows, columns, name=f"{title}: who answered")
