"""The figures of a study, each with a panel for each domain, a caption and the table of its numbers."""

from dataclasses import dataclass

from markupsafe import Markup

from analysis.report.figures import draw, room_for_text, spaced
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import Row, Table, named
from analysis.report.values import MISSING, Number, clean

POOLED = {"weighting": "llm", "row_set": "accepted", "baseline_scope": "pooled"}
CURVE_POINTS = 48
SACD = "sacd"

# how far SACD's answers are from the baseline, with document A's classes: a sign, words and a colour
CLASSES = (
    ("●", "within 5 pp of the baseline", "green"),
    ("◆", "5 to 10 pp from it", "blue"),
    ("▲", "more than 10 pp above it", "orange"),
    ("▼", "more than 10 pp below it", "orange"),
    ("✕", "below half of it", "red"),
)
TINTS = ((-25, "under-3"), (-10, "under-2"), (-5, "under-1"), (5, "near"), (10, "over-1"), (25, "over-2"))


@dataclass(frozen=True)
class Figure:
    """A figure of the page: its name, what it says in words, a drawing for each domain, and its numbers."""

    name: str
    title: str
    caption: Markup
    panels: list
    tables: list

    @property
    def sources(self):
        """The tables of the warehouse that its numbers are from."""
        return named(" ".join(dict.fromkeys(table.source for table in self.tables)))


FIGURES, QUERIES = [], {}


def of_the_page(**queries):
    """Put a figure on the page, after those above it.

    Parameters
    ----------
    **queries : str
        What it alone needs read: SQL that gives rows with their `study`, by the name that `study.rows` takes.

    Returns
    -------
    callable
        A decorator of a function from a `Study` to a `Figure`.
    """

    def added(make):
        FIGURES.append(make)
        QUERIES.update(queries)
        return make

    return added


def figures(study):
    """Make the figures of a study.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Figure
        Those that the study has trials for.
    """
    return [figure for make in FIGURES if (figure := make(study)).panels]


@of_the_page()
def techniques_figure(study):
    """Percent of baseline of each technique, and what the paper printed."""
    panels, tables = [], []
    for domain in study.domains:
        rows = study.in_order(study.rows("technique_rankings", domain=domain, llm=None))
        if not any(row["percent_of_baseline"] is not None for row in rows):
            continue
        printed = _printed_percents(study, domain)
        values = [
            {
                "name": study.technique(row["technique"]),
                "value": row["percent_of_baseline"],
                "text": _fixed(row["percent_of_baseline"]),
                "mark": printed.get(row["technique"], {}).get("published_value"),
                "reference": None if i else 100,
                "colour": "var(--grey)" if row["rank_by_deviation"] is None else "var(--blue)",
            }
            for i, row in enumerate(rows)
        ]
        label = _said(domain, "percent of baseline", ((row["name"], row["text"]) for row in values))
        top = _beside(values, "value", "mark")
        panels.append((domain, _draw(study, "bars", values, label, "% of baseline", room_for_text(0, top, 0.22))))
        tables.append(
            _table(
                study,
                f"{domain}: techniques as % of baseline, LLMs weighing the same",
                "marts.technique_rankings",
                {"study": study.name, "domain": domain, "llm": None},
                ["technique", "% of baseline", "deviation (pp)", "trials", "LLMs", "printed in document A (%)"],
                [
                    Row(
                        {"technique": row["technique"]},
                        [
                            study.technique(row["technique"]),
                            Number(row["percent_of_baseline"], "percent_of_baseline", reason=row["reason"]),
                            Number(row["deviation_pp"], "deviation_pp", is_signed=True, reason=row["reason"]),
                            Number(row["n_trials"], "n_trials", 0),
                            Number(row["n_llms"], "n_llms", 0),
                            _printed(printed.get(row["technique"])),
                        ],
                    )
                    for row in rows
                ],
            )
        )
    has_printed = any(_printed_percents(study, domain) for domain in study.domains)
    caption = Markup(
        "Mean answer under low and high anchors together, as % of what the same LLM says without an anchor. At 100 "
        "(dashed) "
        "the anchor left no trace in the mean. Grey: not ranked.{}"
    ).format(" ◇ is what document A printed, under its own specification." if has_printed else "")
    return Figure("techniques", "Techniques as % of baseline", caption, panels, tables)


def _printed_percents(study, domain):
    """Return the claims that print a technique's percent of baseline, the first for each technique."""
    found = {}
    for claim in study.rows("claims", domain=domain, quantity="percent_of_baseline", kind="value"):
        is_whole = (claim["llm"], claim["excluded_llm"], claim["anchor_direction"]) == (None, None, "both")
        if is_whole and claim["comparison"] == "=" and claim["temperature_scope"] in (None, "pooled"):
            found.setdefault(claim["technique"], claim)
    return found


def _printed(claim):
    if not claim:
        return "not printed"
    key = {"claim_id": claim["claim_id"]}
    decimals = max(claim["decimals"] or 0, 0)
    return Number(claim["published_value"], "published_value", decimals, table="marts.claim_checks", key=key)


@of_the_page()
def intervals_figure(study):
    """Percent of baseline with the interval over trials and the one over LLMs."""
    panels, tables = [], []
    for domain in study.domains:
        found = study.rows("intervals", domain=domain, anchor_direction="both")
        by = {(row["technique"], row["method"]): row for row in found}
        named = [row for row in study.in_order(found) if row["method"] == "trial" and row["estimate"] is not None]
        if not named:
            continue
        values = []
        for i, trial in enumerate(named):
            headline = by.get((trial["technique"], "headline"), {})
            values.append(
                {
                    "name": study.technique(trial["technique"]),
                    "value": trial["estimate"],
                    "inner_low": trial["low"],
                    "inner_high": trial["high"],
                    "low": headline.get("low"),
                    "high": headline.get("high"),
                    "reference": None if i else 100,
                }
            )
        label = _said(
            domain,
            "percent of baseline with its interval over LLMs",
            (
                (row["name"], f"{_fixed(row['value'])} ({_fixed(row['low'])} to {_fixed(row['high'])})")
                for row in values
            ),
        )
        ends = [row[name] for row in values for name in ("low", "high", "inner_low", "inner_high", "value")]
        panels.append((domain, _draw(study, "intervals", values, label, "% of baseline", _around(ends, 100))))
        tables.append(
            _table(
                study,
                f"{domain}: % of baseline with two 95 % intervals",
                "inference.intervals",
                {"study": study.name, "domain": domain, "metric": "percent_of_baseline", "anchor_direction": "both"}
                | {"llm": None, **POOLED},
                ["technique", "% of baseline", "over trials, from", "to", "over LLMs (headline), from", "to", "LLMs"],
                [
                    Row(
                        {"technique": row["technique"]},
                        [
                            study.technique(row["technique"]),
                            *(_interval(row, name, "trial") for name in ("estimate", "low", "high")),
                            *(
                                _interval(by.get((row["technique"], "headline"), {}), name, "headline")
                                for name in ("low", "high")
                            ),
                            Number(row["n_llms"], "n_llms", 0, key={"method": "trial"}),
                        ],
                    )
                    for row in named
                ],
            )
        )
    few = any(row["reason"] == "too_few_llms" for row in study.rows("intervals", method="headline"))
    caption = Markup(
        "The same percentages with 95 % intervals. Thick: over trials of these LLMs (bootstrap of trials and "
        "baselines). "
        "Thin: over LLMs, the headline interval, which says what other LLMs may do.{}"
    ).format(" Where only a thick one is drawn, too few LLMs were asked to speak of others." if few else "")
    return Figure("intervals", "How sure the percentages are", caption, panels, tables)


def _interval(row, name, method):
    return Number(row.get(name), name, reason=row.get("reason"), key={"method": method})


@of_the_page()
def divergence_figure(study):
    """Ranks by deviation and by susceptibility, joined."""
    panels, tables = [], []
    for domain in study.domains:
        rows = [
            row
            for row in study.in_order(study.rows("technique_rankings", domain=domain, llm=None))
            if row["rank_by_deviation"] is not None and row["rank_by_susceptibility"] is not None
        ]
        if not rows:
            continue
        values = []
        for column, side in (("rank_by_deviation", "by deviation"), ("rank_by_susceptibility", "by susceptibility")):
            for row in rows:
                tied = [other for other in rows if other[column] == row[column]]
                colour, shape = study.look(row["technique"])
                names = ", ".join(study.technique(other["technique"]) for other in tied)
                values.append(
                    {
                        "name": study.technique(row["technique"]),
                        "side": side,
                        "rank": row[column],
                        "is_left": column == "rank_by_deviation",
                        "text": f"{row[column]} {names}" if tied[0] is row else "",
                        "colour": colour,
                        "shape": shape,
                    }
                )
        label = _said(
            domain,
            "rank by deviation, then by susceptibility",
            (
                (study.technique(row["technique"]), f"{row['rank_by_deviation']}, {row['rank_by_susceptibility']}")
                for row in rows
            ),
        )
        panels.append((domain, _draw(study, "slopes", values, label)))
        tables.append(
            _table(
                study,
                f"{domain}: ranks by two metrics",
                "marts.technique_rankings",
                {"study": study.name, "domain": domain, "llm": None},
                ["technique", "rank by deviation", "rank by susceptibility", "deviation (pp)", "spread (pp)"],
                [
                    Row(
                        {"technique": row["technique"]},
                        [
                            study.technique(row["technique"]),
                            Number(row["rank_by_deviation"], "rank_by_deviation", 0),
                            Number(row["rank_by_susceptibility"], "rank_by_susceptibility", 0),
                            Number(row["deviation_pp"], "deviation_pp", is_signed=True, reason=row["reason"]),
                            Number(row["spread_pp"], "spread_pp", is_signed=True, reason=row["reason"]),
                        ],
                    )
                    for row in rows
                ],
            )
        )
    caption = Markup(
        "Rank of each technique by deviation (how far its answers are from those without an anchor) and by "
        "susceptibility "
        "(how far high and low anchors pull them apart); 1 is best. Lines that cross are techniques that the two "
        "metrics "
        "put in another order."
    )
    return Figure("divergence", "The two metrics put techniques in another order", caption, panels, tables)


@of_the_page()
def asymmetry_figure(study):
    """Percent of baseline under low and under high anchors."""
    panels, tables = [], []
    for domain in study.domains:
        found = study.rows("intervals", domain=domain, method="trial")
        by = {(row["technique"], row["anchor_direction"]): row for row in found}
        names = [
            row["technique"]
            for row in study.in_order(study.rows("intervals", domain=domain, method="trial", anchor_direction="both"))
            if all(by.get((row["technique"], side), {}).get("estimate") is not None for side in ("low", "high"))
        ]
        if not names:
            continue
        values = [
            {
                "name": study.technique(name),
                "low": by[name, "low"]["estimate"],
                "high": by[name, "high"]["estimate"],
                "reference": None if i else 100,
            }
            for i, name in enumerate(names)
        ]
        label = _said(
            domain,
            "percent of baseline under low and under high anchors",
            ((row["name"], f"{_fixed(row['low'])} and {_fixed(row['high'])}") for row in values),
        )
        ends = [row[side] for row in values for side in ("low", "high")]
        panels.append((domain, _draw(study, "dumbbells", values, label, "% of baseline", _around(ends, 100))))
        tables.append(
            _table(
                study,
                f"{domain}: % of baseline by direction of the anchor",
                "inference.intervals",
                {"study": study.name, "domain": domain, "metric": "percent_of_baseline", "llm": None, **POOLED}
                | {"method": "trial"},
                ["technique", "low anchors (%)", "from", "to", "high anchors (%)", "from", "to"],
                [
                    Row(
                        {"technique": name},
                        [
                            study.technique(name),
                            *(
                                Number(
                                    by[name, side][column], column, reason=by[name, side]["reason"],
                                    key={"anchor_direction": side},
                                )
                                for side in ("low", "high")
                                for column in ("estimate", "low", "high")
                            ),
                        ],
                    )
                    for name in names
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "▼ under low anchors, ▲ under high anchors. An anchor without effect puts both on the dashed line at 100; the "
        "length "
        "between them is the spread. A mean near 100 can hide two large errors that cancel."
    )
    return Figure("asymmetry", "Low and high anchors", caption, panels, tables)


@of_the_page()
def baselines_figure(study):
    """The baseline of each LLM."""
    panels, tables = [], []
    for domain in study.domains:
        rows = [row for row in study.rows("baselines", domain=domain) if row["baseline"] is not None]
        rows.sort(key=lambda row: (-row["baseline"], row["llm"], row["vignette"]))
        if not rows:
            continue
        unit = _unit(study, domain)
        values = [
            {
                "name": study.named(row),
                "value": row["baseline"],
                "text": _fixed(row["baseline"]),
                "colour": "var(--blue)",
            }
            for row in rows
        ]
        label = _said(domain, f"baseline in {unit}", ((row["name"], row["text"]) for row in values))
        top = _beside(values, "value")
        panels.append((domain, _draw(study, "bars", values, label, unit, room_for_text(0, top, 0.18))))
        tables.append(
            _table(
                study,
                f"{domain}: baselines in {unit}",
                "marts.baselines",
                {"study": study.name, "domain": domain, "temperature_scope": "pooled"},
                ["LLM", "baseline", "SD", "smallest", "largest", "trials"],
                [
                    Row(
                        {"llm": row["llm"], "vignette": row["vignette"]},
                        [
                            study.named(row),
                            Number(row["baseline"], "baseline", 2, reason=row["reason"]),
                            Number(row["sd_response"], "sd_response", 2, reason=row["reason"]),
                            Number(row["min_response"], "min_response", 2, reason=row["reason"]),
                            Number(row["max_response"], "max_response", 2, reason=row["reason"]),
                            Number(row["n_trials"], "n_trials", 0),
                        ],
                    )
                    for row in rows
                ],
            )
        )
    caption = Markup(
        "What each LLM says without an anchor and without a technique, all temperatures together. It is what the LLM "
        "would "
        "say, not what is right; every percentage on this page is of the LLM's own baseline."
    )
    return Figure("baselines", "Baselines by LLM", caption, panels, tables)


@of_the_page(
    baseline_counts="""
        select study, domain, vignette, llm, response, sum(n_trials)::bigint as n_trials from marts.response_counts
        where technique = 'no_technique' and anchor_direction = 'none' and row_set = 'accepted'
            and response_source = 'reparsed'
        group by all order by all
    """,
)
def distributions_figure(study):
    """How often each LLM gave each answer without an anchor."""
    panels, tables = [], []
    for domain in study.domains:
        rows = study.rows("baseline_counts", domain=domain)
        if not rows:
            continue
        unit = _unit(study, domain)
        order = {
            (row["llm"], row["vignette"]): -row["baseline"]
            for row in study.rows("baselines", domain=domain)
            if row["baseline"] is not None
        }
        rows.sort(
            key=lambda row: (order.get((row["llm"], row["vignette"]), 0), row["llm"], row["vignette"], row["response"])
        )
        values = [{"name": study.named(row), "value": row["response"], "n": row["n_trials"]} for row in rows]
        n_llms = len({row["name"] for row in values})
        label = f"{domain}: unanchored answers of {n_llms} LLMs in {unit}, larger where more trials gave them"
        panels.append((domain, _draw(study, "bubbles", values, label, unit)))
        tables.append(
            _table(
                study,
                f"{domain}: unanchored answers in {unit}, and how many trials gave them",
                "marts.response_counts",
                {"study": study.name, "domain": domain, "technique": NO_TECHNIQUE, "anchor_direction": "none"}
                | {"row_set": "accepted", "response_source": "reparsed"},
                ["LLM", "answer", "trials"],
                [
                    Row(
                        {"llm": row["llm"], "vignette": row["vignette"], "response": f"{row['response']!r}"},
                        [
                            study.named(row),
                            Number(row["response"], "max(response)", 2),
                            Number(row["n_trials"], "sum(n_trials)", 0),
                        ],
                    )
                    for row in rows
                ],
            )
        )
    caption = Markup(
        "The answers behind the baselines; the area of a dot is the number of trials. An LLM with one dot always says "
        "the "
        "same, so that repeating the question tells nothing more about it."
    )
    return Figure("distributions", "How unanchored answers are spread", caption, panels, tables)


@of_the_page()
def sacd_figure(study):
    """SACD for each LLM, in the classes of document A."""
    panels, tables = [], []
    for domain in study.domains:
        rows = [
            row
            for row in study.rows("technique_rankings", domain=domain, technique=SACD)
            if row["llm"] is not None and row["percent_of_baseline"] is not None
        ]
        rows.sort(key=lambda row: (-row["percent_of_baseline"], row["llm"]))
        if not rows:
            continue
        values = []
        for i, row in enumerate(rows):
            sign, _, colour = class_of(row["percent_of_baseline"])
            values.append(
                {
                    "name": study.llm(row["llm"]),
                    "value": row["percent_of_baseline"],
                    "text": f"{_fixed(row['percent_of_baseline'])} {sign}",
                    "reference": None if i else 100,
                    "colour": f"var(--{colour})",
                }
            )
        label = _said(domain, "SACD, percent of baseline", ((row["name"], row["text"]) for row in values))
        top = _beside(values, "value")
        panels.append((domain, _draw(study, "bars", values, label, "% of baseline", room_for_text(0, top, 0.25))))
        tables.append(
            _table(
                study,
                f"{domain}: SACD by LLM",
                "marts.technique_rankings",
                {"study": study.name, "domain": domain, "technique": SACD},
                ["LLM", "% of baseline", "deviation (pp)", "class", "spread (pp)", "trials"],
                [
                    Row(
                        {"llm": row["llm"]},
                        [
                            study.llm(row["llm"]),
                            Number(row["percent_of_baseline"], "percent_of_baseline"),
                            Number(row["deviation_pp"], "deviation_pp", is_signed=True),
                            " ".join(class_of(row["percent_of_baseline"])[:2]),
                            Number(row["spread_pp"], "spread_pp", is_signed=True, reason=row["reason"]),
                            Number(row["n_trials"], "n_trials", 0),
                        ],
                    )
                    for row in rows
                ],
            )
        )
    caption = Markup("SACD with each LLM, as % of the LLM's own baseline: {}.").format(
        "; ".join(f"{sign} {words}" for sign, words, _ in CLASSES)
    )
    return Figure("sacd", "SACD by LLM", caption, panels, tables)


def class_of(percent):
    """Return the class of a percent of baseline: its sign, words and colour.

    Parameters
    ----------
    percent : float

    Returns
    -------
    tuple of str
    """
    away = abs(percent - 100)
    far = 4 if percent < 50 else 3 if percent < 100 else 2
    return CLASSES[0 if away <= 5 else 1 if away <= 10 else far]


@of_the_page()
def llms_figure(study):
    """Deviation of each technique with each LLM."""
    panels, tables = [], []
    for domain in study.domains:
        rows = [
            row
            for row in study.in_order(study.rows("technique_rankings", domain=domain))
            if row["llm"] is not None and row["deviation_pp"] is not None
        ]
        rows.sort(key=lambda row: study.llm(row["llm"]).lower())
        if not rows:
            continue
        values = [
            {
                "name": study.llm(row["llm"]),
                "column": study.technique(row["technique"]),
                "text": _fixed(row["deviation_pp"], 0, "+"),
                "colour": f"var(--{tint(row['deviation_pp'])})",
            }
            for row in study.in_order(rows)
        ]
        label = (
            f"{domain}: deviation in percentage points of each technique with each LLM; the table below has the numbers"
        )
        panels.append((domain, _draw(study, "cells", values, label)))
        names = [name for name in study.techniques if any(row["technique"] == name for row in rows)]
        by = {(row["llm"], row["technique"]): row for row in rows}
        tables.append(
            _table(
                study,
                f"{domain}: deviation (pp) by LLM and technique",
                "marts.technique_rankings",
                {"study": study.name, "domain": domain},
                ["LLM", *map(study.technique, names)],
                [
                    Row(
                        {"llm": llm},
                        [
                            study.llm(llm),
                            *(
                                Number(
                                    by[llm, name]["deviation_pp"], "deviation_pp", is_signed=True,
                                    key={"technique": name},
                                )
                                if (llm, name) in by
                                else "not asked"
                                for name in names
                            ),
                        ],
                    )
                    for llm in dict.fromkeys(row["llm"] for row in rows)
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "Deviation from the LLM's own baseline in percentage points; 0 is no trace of the anchor in the mean. The "
        "shade "
        "changes at 5, 10 and 25 pp. A technique that suits one LLM can be wrong for another: read the row of yours."
    )
    return Figure("llms", "Every technique with every LLM", caption, panels, tables)


def tint(deviation):
    """Return the shade of a deviation."""
    return next((name for end, name in TINTS if deviation < end or (end == 5 and deviation <= end)), "over-3")


@of_the_page()
def chances_figure(study):
    """How often each technique is best, and worst, in the resamples."""
    panels, tables = [], []
    metrics = (("deviation", "deviation"), ("susceptibility", "suscept."), ("madb", "MADB"))
    for domain in study.domains:
        found = study.rows("rank_probabilities", domain=domain)
        by = {(row["technique"], row["metric"]): row for row in found if row["technique"] != NO_TECHNIQUE}
        names = [name for name in study.techniques if (name, "deviation") in by]
        if not names:
            continue
        values = [
            {
                "name": study.technique(name),
                "column": f"{word}, {said}",
                "text": _percent(by[name, metric][column]),
                "colour": f"var(--{_shade(by[name, metric][column])})",
            }
            for column, word in (("p_best", "best"), ("p_worst", "worst"))
            for metric, said in metrics
            for name in names
            if (name, metric) in by
        ]
        label = _said(
            domain,
            "chance in percent of being best by deviation",
            ((study.technique(name), _percent(by[name, "deviation"]["p_best"])) for name in names),
        )
        panels.append((domain, _draw(study, "cells", values, label)))
        tables.append(
            _table(
                study,
                f"{domain}: rank probabilities",
                "inference.rank_probabilities",
                {"study": study.name, "domain": domain, "llm": None, "weighting": "llm"},
                ["technique", *["P(best)", "P(worst)", "rank, from", "to"] * len(metrics)],
                [
                    Row(
                        {"technique": name},
                        [
                            study.technique(name),
                            *(
                                Number(
                                    by[name, metric][column], column, digits, scale, unit=unit, key={"metric": metric},
                                    reason=by[name, metric]["reason"],
                                )
                                for metric, _ in metrics
                                for column, digits, scale, unit in (
                                    ("p_best", 1, 100, "%"),
                                    ("p_worst", 1, 100, "%"),
                                    ("rank_low", 0, 1, ""),
                                    ("rank_high", 0, 1, ""),
                                )
                            ),
                        ],
                    )
                    for name in names
                    if all((name, metric) in by for metric, _ in metrics)
                ],
                [("", 1), *((f"by {metric if metric != 'madb' else 'MADB'}", 4) for metric, _ in metrics)],
            )
        )  # fmt: skip
    caption = Markup(
        "How often, in %, each ranked technique is best and worst when the data are drawn anew, by deviation, "
        "susceptibility "
        "and MADB (mean absolute deviation of single answers). Ties share."
    )
    return Figure("chances", "Rank probabilities", caption, panels, tables)


@of_the_page(
    gains="""
        select study, domain, technique, list(value order by value) as gains,
            max(value) filter (where is_recommended) as recommended, max(share_standing) as share_standing,
            max(n_specifications) as n_specifications
        from inference.sensitivity where predicate = 'closer_than_no_technique' and value is not null
        group by all order by study, domain, technique
    """,
    headlines="""
        select study, domain, headline, predicate, technique, technique_b, max(share_standing) as share_standing,
            max(n_specifications) as n_specifications, max(reason) as reason
        from inference.sensitivity group by all order by study, domain, headline
    """,
)
def curve_figure(study):
    """What each technique gains under every specification, in order."""
    panels, tables = [], []
    for domain in study.domains:
        found = study.in_order(study.rows("gains", domain=domain))
        headlines = study.rows("headlines", domain=domain)
        if not found:
            continue
        curves = {row["technique"]: row for row in found}
        ends = {name: row["gains"][-1] for name, row in curves.items()}
        low = min(min(row["gains"]) for row in found)
        high = max(max(row["gains"]) for row in found)
        placed = spaced(list(ends.values()), (max(high, 0) - min(low, 0) or 1) * 0.075)
        values = [{"reference": 0}]
        for (name, row), label_at in zip(curves.items(), placed, strict=True):
            colour, shape = study.look(name)
            gains, look = row["gains"], {"name": study.technique(name), "colour": colour}
            last = max(len(gains) - 1, 1)
            steps = sorted({round(i * last / CURVE_POINTS) for i in range(CURVE_POINTS + 1)} & set(range(len(gains))))
            values += [{**look, "part": "line", "place": i / last, "value": gains[i]} for i in steps]
            if row["recommended"] is not None:
                at = sum(gain < row["recommended"] for gain in gains) / last
                values.append(
                    {**look, "part": "mark", "place": min(at, 1), "value": row["recommended"], "shape": shape}
                )
            text = f"{study.technique(name)}"
            values.append({**look, "part": "name", "place": 1, "value": label_at, "text": text})
        label = _said(
            domain,
            "gain over no technique in percentage points, from the least to the most favourable specification",
            (
                (study.technique(name), f"{_fixed(r['gains'][0])} to {_fixed(r['gains'][-1])}")
                for name, r in curves.items()
            ),
        )
        panels.append((domain, _draw(study, "curves", values, label, "share of specifications")))
        key = {"study": study.name, "domain": domain}
        tables.append(
            _table(
                study,
                f"{domain}: gain by deviation over no technique (pp) in all specifications",
                "inference.sensitivity",
                {**key, "predicate": "closer_than_no_technique"},
                ["technique", "as recommended", "least", "most", "stands in", "specifications"],
                [
                    Row(
                        {"technique": name},
                        [
                            study.technique(name),
                            Number(
                                row["recommended"], "value", is_signed=True, key={"is_recommended": True},
                                reason="not_asked_as_recommended",
                            ),
                            Number(row["gains"][0], "min(value)", is_signed=True),
                            Number(row["gains"][-1], "max(value)", is_signed=True),
                            Number(row["share_standing"], "max(share_standing)", 1, 100, unit="%"),
                            Number(row["n_specifications"], "max(n_specifications)", 0),
                        ],
                    )
                    for name, row in curves.items()
                ],
            )
        )  # fmt: skip
        tables.append(
            _table(
                study,
                f"{domain}: in how many specifications each headline stands",
                "inference.sensitivity",
                key,
                ["headline", "stands in", "specifications"],
                [
                    Row(
                        {"headline": row["headline"]},
                        [
                            _headline(study, row),
                            Number(
                                row["share_standing"], "max(share_standing)", 1, 100, unit="%", reason=row["reason"]
                            ),
                            Number(row["n_specifications"], "max(n_specifications)", 0),
                        ],
                    )
                    for row in headlines
                ],
            )
        )
    caption = Markup(
        "How much closer to the baseline a technique brings the answers than no technique (pp), under every "
        "specification, "
        "in order: one LLM left out, baseline scope, weighting, row set, numbers as recorded or reread. The large "
        "mark is the "
        "recommended one. A curve that crosses 0 (dashed) belongs to a claim that depends on how one counts."
    )
    return Figure("curve", "Does it depend on how one counts?", caption, panels, tables)


def _headline(study, row):
    words = clean(row["predicate"]).replace("_", " ")
    names = [study.technique(row[column]) for column in ("technique", "technique_b") if row[column]]
    return f"{words}: {', '.join(names)}" if names else words


@of_the_page()
def attrition_figure(study):
    """Who did not answer, and what they could have changed."""
    panels, tables = [], []
    for domain in study.domains:
        bounds = {row["technique"]: row for row in study.rows("attrition_bounds", domain=domain)}
        asked = study.in_order(study.rows("attrition", domain=domain))
        if not asked:
            continue
        values = []
        for row in asked:
            of = bounds.get(row["technique"], {})
            if of.get("percent_of_baseline") is not None:
                share = row["n_answered"] / row["n_asked"]
                values.append(
                    {
                        "name": study.technique(row["technique"]),
                        "value": of["percent_of_baseline"],
                        "low": of["percent_of_baseline_low"],
                        "high": of["percent_of_baseline_high"],
                        "text": f"{_percent(share)} %",
                        "reference": None if values else 100,
                    }
                )
        label = _said(
            domain,
            "bounds of percent of baseline, and the share that answered",
            ((row["name"], f"{_fixed(row['low'])} to {_fixed(row['high'])}, {row['text']} answered") for row in values),
        )
        if values:
            ends = [row[name] for row in values for name in ("low", "high", "value")]
            low, high = _around(ends, 100)
            for row in values:
                row["end"] = high
            panels.append(
                (domain, _draw(study, "intervals", values, label, "% of baseline", room_for_text(low, high, 0.2)))
            )
        tables.append(
            _table(
                study,
                f"{domain}: who answered, and what % of baseline could be had all answered",
                "marts.attrition",
                {"study": study.name, "domain": domain},
                [
                    "technique", "asked", "answered", "share", "refused", "unparsed", "out of range", "failed",
                    "% of baseline, at least", "at most",
                ],
                [
                    Row(
                        {"technique": row["technique"]},
                        [
                            study.technique(row["technique"]),
                            Number(row["n_asked"], "sum(n_asked)", 0),
                            Number(row["n_answered"], "sum(n_answered)", 0),
                            Number(
                                row["n_answered"] / row["n_asked"] if row["n_asked"] else None,
                                "sum(n_answered) / sum(n_asked)", 1, 100, unit="%", reason="nobody_was_asked",
                            ),
                            *(
                                Number(row[name], f"sum({name})", 0)
                                for name in ("n_refused", "n_unparsed", "n_out_of_range", "n_failed")
                            ),
                            *(_bound(study, domain, row["technique"], bounds, end) for end in ("low", "high")),
                        ],
                    )
                    for row in asked
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "The share of trials that were answered (unanchored ones included), and how far % of baseline could lie from "
        "the "
        "point had everybody answered at one end of the valid range. Where these ranges overlap, the ranking is not "
        "identified by the trials."
    )
    return Figure("attrition", "Who did not answer", caption, panels, tables)


def _bound(study, domain, technique, bounds, end):
    column = f"percent_of_baseline_{end}"
    if technique not in bounds:
        return "not compared"
    key = {"study": study.name, "domain": domain, "technique": technique, "llm": None}
    row = bounds[technique]
    return Number(row[column], column, reason=row["reason"], table="marts.attrition_bounds", key=key)


def _draw(study, kind, values, label, title=None, domain=None):
    return draw(kind, values, label=label, title=title, domain=domain, is_simulated=study.is_simulated)


def _table(study, caption, source, key, heads, rows, groups=()):
    return Table(
        clean(caption[:1].upper() + caption[1:]) + ".", source, key, heads, rows, list(groups), study.is_simulated,
        clean(caption),
    )  # fmt: skip


def _unit(study, domain):
    units = sorted({row["response_unit"] for row in study.rows("units", domain=domain) if row["response_unit"]})
    return clean(" and ".join(units)) or "the unit of the answer"


def _said(domain, what, pairs):
    return f"{domain}: {what}. " + "; ".join(f"{name} {value}" for name, value in pairs)


def _fixed(value, digits=1, sign=""):
    if value is None:
        return MISSING
    number = round(value, digits) + 0.0
    return f"{number:{sign if number else ''}.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _percent(share):
    """Write a share in whole percent, and never as 0 or 100 what is neither."""
    if share is None:
        return MISSING
    if 0 < share < 0.01:
        return "<1"
    return ">99" if 0.99 < share < 1 else f"{100 * share:.0f}"


def _shade(share):
    return "chance-0" if not share else f"chance-{1 + min(int(share * 4), 3)}"


def _beside(rows, *columns):
    """Put the text of all rows in one column, beyond the longest mark and the reference; return where."""
    known = [row.get(column) for row in rows for column in (*columns, "reference")]
    end = max((value for value in known if value is not None), default=0)
    for row in rows:
        row["end"] = end
    return end


def _around(values, reference):
    """Return the domain of an axis that holds all values and the reference, with some air."""
    known = [value for value in values if value is not None] + [reference]
    low, high = min(known), max(known)
    air = (high - low) * 0.04 or 5
    return [round(low - air, 6), round(high + air, 6)]
