"""The figures of a study, each with a panel for each domain, a caption and the table of its numbers."""

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_LLMS
from analysis.report.figures import room_for_text
from analysis.report.panels import Figure, around, draw_panel, fixed, tabled, told
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import Row, named
from analysis.report.text import changes_after_seeing
from analysis.report.values import MISSING, Number, clean, listed
from analysis.words.codes import GOALS

POOLED = {"weighting": "llm", "row_set": "accepted", "baseline_scope": "pooled"}
SACD = "sacd"

ENDS = ("low", "high")

# how far SACD's answers are from the baseline, with document A's classes: a sign and words
CLASSES = (
    ("●", "within 5 pp of the baseline"),
    ("◆", "5 to 10 pp from it"),
    ("▲", "more than 10 pp above it"),
    ("▼", "more than 10 pp below it"),
    ("✕", "below half of it"),
)
TINTS = ((5, "near"), (10, "over-1"), (25, "over-2"))


FIGURES = []


def of_the_page(make):
    """Put a figure on the page, after those above it: a function from a `Study` to a `Figure`."""
    FIGURES.append(make)
    return make


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


def _forest(study, goal):
    """What each technique gains on its control by one goal: over LLMs, and with each LLM that was asked."""
    panels, shown = [], {}
    unit = GOALS[goal].unit
    for domain in study.domains:
        rows = [row for row in study.held_against(domain, "control") if row["goal"] == goal and row["n_llms"]]
        rows.sort(key=lambda row: (-row["gain"], row["technique"]))
        if rows:
            of_llms = study.rows("of_each_llm", domain=domain, goal=goal)
            shown[domain] = [(row, [llm_row for llm_row in of_llms if _is_of(llm_row, row)]) for row in rows]
    ends = [
        value
        for rows in shown.values()
        for row, rows_by_llm in rows
        for value in (*_drawn(row).values(), *(each["gain"] for each in rows_by_llm))
        if value is not None
    ]
    for domain, rows in shown.items():
        values, pairs = [], []
        for row, llm_rows in rows:
            name, drawn = study.technique(row["technique"]), _drawn(row)
            text = f"{fixed(row['gain'], sign='+')} ({row['n_gained']} of {row['n_llms']})"
            values.append(
                {
                    "name": name, **drawn, "is_hollow": row["n_llms"] < FEWEST_LLMS, "text": text,
                    "reference": None if values else 0,
                }
            )  # fmt: skip
            values += [{"name": name, "llm": each["gain"]} for each in llm_rows if each["gain"] is not None]
            pairs.append((name, f"{text}, {fixed(drawn['low'])} to {fixed(drawn['high'])}"))
        low, high = around(ends, 0)
        for row in values:
            if "text" in row:
                row["end"] = high
        label = told(domain, f"gain in {goal}, LLMs that gained, and the interval for all techniques at once", pairs)
        panels.append(
            (domain, draw_panel(study, "forest", values, label, f"gain ({unit})", room_for_text(low, high, 0.42)))
        )
    caption = Markup(
        "How much less {}, with each technique than with its control, in {}: right of 0 (dashed) the technique is "
        "better. ◆ is the mean over LLMs; beside it stand its value and how many of the LLMs gained. Thin: the 95 % "
        "interval over LLMs like those asked, for all ranked techniques at once; thick: for this technique alone. "
        "Orange: each LLM that was asked. ◇ is hollow where fewer than {} LLMs were asked: no interval over others, "
        "only that of the very LLMs asked. All domains have one axis. The numbers are in the answer above, under "
        "“Decisions by each goal”."
    ).format(GOALS[goal].measures.removeprefix("how "), "percentage points" if unit == "pp" else unit, FEWEST_LLMS)
    helps = [
        (domain, [study.technique(row["technique"]) for row, _ in rows if row["decision"] == "use"])
        for domain, rows in shown.items()
    ]
    helpers = "; ".join(f"{listed(names)} ({domain})" for domain, names in helps if names)
    none = "no technique is shown to help LLMs like those asked"
    title = f"By {goal}, {f'these are shown to help: {helpers}' if helpers else none}"
    return Figure(f"gains-{goal}", title, caption, panels, [], named("inference.decisions"))


def _is_of(of_llm, row):
    return all(of_llm[name] == row[name] for name in ("technique", "control"))


def _drawn(row):
    """Return the marks of a row: intervals over LLMs like those asked, where enough were."""
    is_known = row["n_llms"] >= FEWEST_LLMS
    ends = {"low": "gain_low", "high": "gain_high", "inner_low": "gain_plain_low", "inner_high": "gain_plain_high"}
    return {"value": row["gain"]} | {end: row[column] if is_known else None for end, column in ends.items()}


@of_the_page
def gains_figure(study):
    """What each technique gains on its control in displacement."""
    return _forest(study, "displacement")


@of_the_page
def gap_gains_figure(study):
    """What each technique gains on its control in gap."""
    return _forest(study, "gap")


@of_the_page
def error_gains_figure(study):
    """What each technique gains on its control in error."""
    return _forest(study, "error")


@of_the_page
def losses_figure(study):
    """How far an anchor moves the answers with each technique, by the three goals."""
    panels, tables = [], []
    for domain in study.domains:
        rows = study.in_order(study.rows("technique_rankings", domain=domain, llm=None))
        shown = [row for row in rows if row["displacement"] is not None]
        if not shown:
            continue
        without = next((row["displacement"] for row in shown if row["technique"] == NO_TECHNIQUE), None)
        values = [
            {
                "name": study.technique(row["technique"]),
                "value": row["displacement"],
                "text": fixed(row["displacement"]),
                "reference": None if i else without,
                "colour": "var(--grey)" if row["rank_by_displacement"] is None else "var(--blue)",
            }
            for i, row in enumerate(shown)
        ]
        label = told(domain, "displacement in percentage points", ((row["name"], row["text"]) for row in values))
        top = _beside(values, "value")
        panels.append(
            (domain, draw_panel(study, "bars", values, label, "displacement (pp)", room_for_text(0, top, 0.18)))
        )
        ranks = [f"rank_by_{goal}" for goal in GOALS]
        tables.append(
            tabled(
                study,
                f"{domain}: losses by the three goals, and the order of the ranked techniques",
                "marts.technique_rankings",
                {"study": study.name, "domain": domain, "llm": None},
                [
                    "technique", "displacement (pp)", "gap (pp)", "error (%)", "error without an anchor (%)",
                    "rank by displacement", "by gap", "by error", "trials", "LLMs",
                ],
                [
                    Row(
                        {"technique": row["technique"]},
                        [
                            study.technique(row["technique"]),
                            *(Number(row[name], name, reason=row["reason"]) for name in (*GOALS, "error_unanchored")),
                            *(Number(row[name], name, 0, reason=row["reason"]) for name in ranks),
                            Number(row["n_trials"], "n_trials", 0),
                            Number(row["n_llms"], "n_llms", 0),
                        ],
                    )
                    for row in rows
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "Displacement: how far low and high anchors move the average answer away from what the same LLM says without "
        "one, in percentage points of that. It is taken of each LLM, vignette and direction before any mean, so that "
        "answers that are too high cannot make up for others that are too low. 0 is no trace of the anchor; dashed: "
        "without a technique. Grey: not ranked. The table adds how far high and low anchors pull the average answer "
        "apart (gap) and how far off a single answer is (error)."
    )
    return Figure("losses", "How far an anchor moves the answers", caption, panels, tables)


@of_the_page
def divergence_figure(study):
    """Ranks by displacement and by gap, joined."""
    panels, tables = [], []
    sides = {"displacement": "by displacement", "gap": "by gap"}
    for domain in study.domains:
        rows = [
            row
            for row in study.in_order(study.rows("technique_rankings", domain=domain, llm=None))
            if all(row[f"rank_by_{goal}"] is not None for goal in sides)
        ]
        if not rows:
            continue
        values = []
        for goal, side in sides.items():
            column = f"rank_by_{goal}"
            for row in rows:
                tied = [other for other in rows if other[column] == row[column]]
                colour, shape = study.look(row["technique"])
                names = ", ".join(study.technique(other["technique"]) for other in tied)
                values.append(
                    {
                        "name": study.technique(row["technique"]),
                        "side": side,
                        "rank": row[column],
                        "is_left": goal == "displacement",
                        "text": f"{row[column]} {names}" if tied[0] is row else "",
                        "colour": colour,
                        "shape": shape,
                    }
                )
        label = told(
            domain,
            "rank by displacement, then by gap",
            (
                (study.technique(row["technique"]), f"{row['rank_by_displacement']}, {row['rank_by_gap']}")
                for row in rows
            ),
        )
        panels.append((domain, draw_panel(study, "slopes", values, label)))
        tables.append(
            tabled(
                study,
                f"{domain}: ranks by the three goals",
                "marts.technique_rankings",
                {"study": study.name, "domain": domain, "llm": None},
                ["technique", *(f"rank by {goal}" for goal in GOALS)],
                [
                    Row(
                        {"technique": row["technique"]},
                        [
                            study.technique(row["technique"]),
                            *(
                                Number(row[f"rank_by_{goal}"], f"rank_by_{goal}", 0, reason=row["reason"])
                                for goal in GOALS
                            ),
                        ],
                    )
                    for row in rows
                ],
            )
        )
    caption = Markup(
        "Rank of each technique by displacement (how far an anchor moves the average answer) and by gap (how far high "
        "and low anchors pull it apart), as observed; 1 is best. Lines that cross are techniques that the two goals "
        "put in another order. A rank alone decides nothing."
    )
    return Figure("divergence", "The goals put techniques in another order", caption, panels, tables)


@of_the_page
def asymmetry_figure(study):
    """Percent of baseline under low and under high anchors."""
    panels, tables = [], []
    for domain in study.domains:
        rows = study.rows("intervals", domain=domain, method="trial")
        by = {(row["technique"], row["anchor_direction"]): row for row in rows}
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
        label = told(
            domain,
            "percent of baseline under low and under high anchors",
            ((row["name"], f"{fixed(row['low'])} and {fixed(row['high'])}") for row in values),
        )
        ends = [row[side] for row in values for side in ("low", "high")]
        panels.append((domain, draw_panel(study, "dumbbells", values, label, "% of baseline", around(ends, 100))))
        tables.append(
            tabled(
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
        if printed := _printed_table(study, domain):
            tables.append(printed)
    caption = Markup(
        "▼ under low anchors, ▲ under high anchors. An anchor without effect puts both on the dashed line at 100; the "
        "length between them is the net spread. These are means over LLMs, in which LLMs that are too high and others "
        "that are too low cancel, so that nothing on this page is decided on them. Document A measured by them: the "
        "tables have what it printed."
    )
    return Figure("asymmetry", "Low and high anchors", caption, panels, tables)


def _printed_table(study, domain):
    """Make the table of the metric of document A, beside what it printed; None where it has no number."""
    printed = _printed_percents(study, domain)
    rows = [
        row
        for row in study.in_order(study.rows("technique_rankings", domain=domain, llm=None))
        if row["percent_of_baseline"] is not None
    ]
    if not printed or not rows:
        return None
    return tabled(
        study,
        f"{domain}: % of baseline, LLMs weighing the same, and what document A printed",
        "marts.technique_rankings",
        {"study": study.name, "domain": domain, "llm": None},
        ["technique", "% of baseline", "net deviation (pp)", "net spread (pp)", "printed in document A (%)"],
        [
            Row(
                {"technique": row["technique"]},
                [
                    study.technique(row["technique"]),
                    Number(row["percent_of_baseline"], "percent_of_baseline"),
                    Number(row["net_deviation"], "net_deviation", is_signed=True, reason=row["reason"]),
                    Number(row["net_spread"], "net_spread", is_signed=True, reason=row["reason"]),
                    _printed(printed.get(row["technique"])),
                ],
            )
            for row in rows
        ],
    )


@of_the_page
def baselines_figure(study):
    """The baseline of each LLM."""
    panels, tables = [], []
    for domain in study.domains:
        rows = [row for row in study.rows("baselines", domain=domain) if row["baseline"] is not None]
        rows.sort(key=lambda row: (-row["baseline"], row["llm"], row["vignette"]))
        if not rows:
            continue
        unit = unit_of(study, domain)
        values = [
            {
                "name": study.named(row),
                "value": row["baseline"],
                "text": fixed(row["baseline"]),
                "colour": "var(--blue)",
            }
            for row in rows
        ]
        label = told(domain, f"baseline in {unit}", ((row["name"], row["text"]) for row in values))
        top = _beside(values, "value")
        panels.append((domain, draw_panel(study, "bars", values, label, unit, room_for_text(0, top, 0.18))))
        tables.append(
            tabled(
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


@of_the_page
def sacd_figure(study):
    """SACD for each LLM under low and under high anchors, beside the classes of document A."""
    panels, tables = [], []
    for domain in study.domains:
        of_llms = {}
        for row in study.rows("sacd_directions", domain=domain):
            of_llms.setdefault(row["llm"], {})[row["anchor_direction"]] = row["percent"]
        rows = [
            row
            for row in study.rows("technique_rankings", domain=domain, technique=SACD)
            if row["percent_of_baseline"] is not None and len(of_llms.get(row["llm"], {})) == len(ENDS)
        ]
        rows.sort(key=lambda row: (-row["percent_of_baseline"], row["llm"]))
        if not rows:
            continue
        values = [
            {"name": study.llm(row["llm"]), **of_llms[row["llm"]], "reference": None if i else 100}
            for i, row in enumerate(rows)
        ]
        label = told(
            domain,
            "SACD, percent of baseline under low and under high anchors",
            ((row["name"], f"{fixed(row['low'])} and {fixed(row['high'])}") for row in values),
        )
        ends = [row[side] for row in values for side in ENDS]
        panels.append((domain, draw_panel(study, "dumbbells", values, label, "% of baseline", around(ends, 100))))
        key = {"study": study.name, "domain": domain, "technique": SACD}
        tables.append(
            tabled(
                study,
                f"{domain}: SACD by LLM",
                "marts.technique_rankings",
                key,
                ["LLM", "low anchors (%)", "high anchors (%)", "displacement (pp)", "both together (%)",
                 "class of document A", "trials"],
                [
                    Row(
                        {"llm": row["llm"]},
                        [
                            study.llm(row["llm"]),
                            *(
                                Number(
                                    of_llms[row["llm"]][side], "avg(percent_of_baseline)",
                                    table="marts.technique_effects",
                                    key={**key, "llm": row["llm"], "anchor_direction": side, "row_set": "accepted",
                                         "baseline_scope": "pooled", "temperature_scope": "pooled", "weighting": "llm"},
                                )
                                for side in ENDS
                            ),
                            Number(row["displacement"], "displacement", reason=row["reason"]),
                            Number(row["percent_of_baseline"], "percent_of_baseline"),
                            " ".join(class_of(row["percent_of_baseline"])[:2]),
                            Number(row["n_trials"], "n_trials", 0),
                        ],
                    )
                    for row in rows
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "SACD with each LLM, as % of the LLM's own baseline: ▼ under low, ▲ under high anchors. Document A puts an LLM "
        "in a class by the mean of both, which can be near 100 where both are far off. Its classes are in the table: "
        "{}."
    ).format("; ".join(f"{sign} {words}" for sign, words in CLASSES))
    return Figure("sacd", "SACD by LLM", caption, panels, tables)


def class_of(percent):
    """Return the class of a percent of baseline: its sign and words.

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


@of_the_page
def llms_figure(study):
    """Displacement of each technique with each LLM, and what each LLM gains."""
    panels, tables = [], []
    for domain in study.domains:
        rows = [
            row
            for row in study.in_order(study.rows("technique_rankings", domain=domain))
            if row["llm"] is not None and row["displacement"] is not None
        ]
        rows.sort(key=lambda row: study.llm(row["llm"]).lower())
        if not rows:
            continue
        values = [
            {
                "name": study.llm(row["llm"]),
                "column": study.technique(row["technique"]),
                "text": fixed(row["displacement"], 0),
                "colour": f"var(--{tint(row['displacement'])})",
            }
            for row in study.in_order(rows)
        ]
        label = (
            f"{domain}: displacement in percentage points of each technique with each LLM; the table below has the "
            "numbers"
        )
        panels.append((domain, draw_panel(study, "cells", values, label)))
        tables.append(
            _by_llm(
                study, domain, rows, "displacement (pp)", "marts.technique_rankings", {},
                lambda row: Number(row["displacement"], "displacement", key={"technique": row["technique"]}),
            )
        )  # fmt: skip
        gains = [
            row
            for row in study.in_order(study.rows("predictions", domain=domain, goal="displacement"))
            if row["llm"] is not None and row["gain"] is not None
        ]
        if gains:
            tables.append(
                _by_llm(
                    study, domain, gains, "gain in displacement (pp), drawn towards the other LLMs by how little the "
                    "LLM was asked, with its 95 % interval", "inference.predictions", {"goal": "displacement"},
                    _drawn_gain,
                )
            )  # fmt: skip
    caption = Markup(
        "Displacement in percentage points, as observed; 0 is no trace of the anchor. The shade changes at 5, 10 and "
        "25 pp. A technique that suits one LLM can be wrong for another: read the row of yours. A row of one LLM "
        "decides nothing for others."
    )
    return Figure("llms", "Every technique with every LLM", caption, panels, tables)


def _by_llm(study, domain, rows, what, source, key, cell):
    """Make a table with a row for each LLM and a column for each technique."""
    names = list(dict.fromkeys(row["technique"] for row in study.in_order(rows)))
    by = {(row["llm"], row["technique"]): row for row in rows}
    return tabled(
        study,
        f"{domain}: {what}, by LLM and technique",
        source,
        {"study": study.name, "domain": domain, **key},
        ["LLM", *map(study.technique, names)],
        [
            Row(
                {"llm": llm},
                [study.llm(llm), *(cell(by[llm, name]) if (llm, name) in by else "not asked" for name in names)],
            )
            for llm in dict.fromkeys(row["llm"] for row in rows)
        ],
    )


def _drawn_gain(row):
    key = {"technique": row["technique"], "control": row["control"]}
    gain, low, high = (
        Number(row[name], name, is_signed=True, reason=row["reason"], key=key)
        for name in ("gain", "gain_low", "gain_high")
    )
    return Markup("{} <small>({} to {})</small>").format(gain, low, high)


def tint(displacement):
    """Return the shade of a displacement."""
    return next((name for end, name in TINTS if displacement < end or displacement == end == TINTS[0][0]), "over-3")


@of_the_page
def chances_figure(study):
    """How probable it is that a technique is best, or worst, over LLMs like those asked."""
    panels, tables = [], []
    short = {"displacement": "displ.", "gap": "gap", "error": "error"}
    chances = {"p_best": "best", "p_worst": "worst", "p_worse_than_control": "worse than control"}
    for domain in study.domains:
        rows = [row for row in study.held_against(domain, "control") if row["p_best"] is not None]
        by = {(row["technique"], row["goal"]): row for row in rows}
        names = list(dict.fromkeys(row["technique"] for row in study.in_order(rows)))
        if not names:
            continue
        values = [
            {
                "name": study.technique(name),
                "column": f"{word}, {abbreviation}",
                "text": _percent(by[name, goal][column]),
                "colour": f"var(--{_shade(by[name, goal][column])})",
            }
            for column, word in chances.items()
            if column != "p_worse_than_control"
            for goal, abbreviation in short.items()
            for name in names
            if (name, goal) in by
        ]
        label = told(
            domain,
            "probability in percent of the smallest mean displacement",
            (
                (study.technique(name), _percent(by[name, "displacement"]["p_best"]))
                for name in names
                if (name, "displacement") in by
            ),
        )
        panels.append((domain, draw_panel(study, "cells", values, label)))
        tables.append(
            tabled(
                study,
                f"{domain}: probabilities over LLMs like those asked",
                "inference.decisions",
                {"study": study.name, "domain": domain, "llm": None, "comparison": "control"},
                ["technique", *[*(f"P({word})" for word in chances.values()), "rank, from", "to"] * len(GOALS)],
                [
                    Row(
                        {"technique": name},
                        [
                            study.technique(name),
                            *(
                                Number(
                                    by[name, goal][column], column, digits, scale, unit=unit, key={"goal": goal},
                                    reason=by[name, goal]["reason"],
                                )
                                for goal in GOALS
                                for column, digits, scale, unit in (
                                    *((chance, 1, 100, "%") for chance in chances),
                                    ("rank_low", 0, 1, ""),
                                    ("rank_high", 0, 1, ""),
                                )
                            ),
                        ],
                    )
                    for name in names
                    if all((name, goal) in by for goal in GOALS)
                ],
                [("", 1), *((f"by {goal}", len(chances) + 2) for goal in GOALS)],
            )
        )  # fmt: skip
    caption = Markup(
        "How probable it is, in %, that a ranked technique has the largest, or the smallest, mean gain over LLMs like "
        "those asked, from a hierarchical model of their gains; from {} LLMs on. Ties share. An LLM of yours need not "
        "be like the mean: see the predictions above."
    ).format(FEWEST_LLMS)
    return Figure("chances", "How probable each place is", caption, panels, tables)


@of_the_page
def specifications_figure(study):
    """What each technique gains with one thing changed, and which decisions that changes."""
    panels, tables = [], []
    for domain in study.domains:
        rows = study.in_order(study.rows("specifications", domain=domain))
        rows = [row for goal in GOALS for row in rows if row["goal"] == goal]
        leading = [row for row in rows if row["goal"] == "displacement" and row["gain"] is not None]
        if not leading:
            continue
        values = [
            {
                "name": study.technique(row["technique"]),
                "value": row["gain"],
                "low": row["least"],
                "high": row["most"],
                "text": f"{row['n_same_decision_asked']} of {row['n_specifications']}",
                "reference": None if i else 0,
            }
            for i, row in enumerate(leading)
        ]
        label = told(
            domain,
            "gain in displacement with one thing changed, and how often the decision on the LLMs asked is the same",
            ((row["name"], f"{fixed(row['low'])} to {fixed(row['high'])}, {row['text']}") for row in values),
        )
        ends = [row[name] for row in values for name in ("low", "high", "value")]
        low, high = around(ends, 0)
        for row in values:
            row["end"] = high
        panels.append(
            (domain, draw_panel(study, "intervals", values, label, "gain (pp)", room_for_text(low, high, 0.25)))
        )
        tables.append(
            tabled(
                study,
                f"{domain}: decisions with one thing changed",
                "inference.multiverse",
                {"study": study.name, "domain": domain},
                [
                    "technique", "goal", "gain", "least", "most", "ways of counting", "same decision", "changed by",
                    "same decision on the LLMs asked", "changed by", "LLMs that carry one of the two",
                ],
                [
                    Row(
                        {name: row[name] for name in ("technique", "goal", "control")},
                        [
                            study.technique(row["technique"]),
                            row["goal"],
                            Number(
                                row["gain"], "gain", is_signed=True, key={"is_recommended": True}, reason=row["reason"]
                            ),
                            Number(row["least"], "min(gain)", is_signed=True, reason=row["reason"]),
                            Number(row["most"], "max(gain)", is_signed=True, reason=row["reason"]),
                            Number(row["n_specifications"], "max(n_specifications)", 0),
                            Number(row["n_same_decision"], "max(n_same_decision)", 0),
                            _switches(row["changed_by"]),
                            Number(row["n_same_decision_asked"], "max(n_same_decision_asked)", 0),
                            _switches(row["changed_by_asked"]),
                            _carriers(study, row),
                        ],
                    )
                    for row in rows
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "What each technique gains in displacement (tick), and the least and most with one thing changed: an LLM left "
        "out, the other reading of the texts, another row set, a baseline of one temperature, missing answers as bad "
        "or as good for it as they could have been. Beside it, in how many of these ways the decision on the LLMs "
        "asked is the same; the table has the decision on LLMs like them, the other goals, and the LLMs that carry a "
        "decision. Ways that come to the same numbers count once."
    )
    return Figure("specifications", "Does it depend on how one counts?", caption, panels, tables)


def _switches(switches):
    return clean(switches).replace("_", " ").replace("llm", "LLM") if switches else MISSING


def _carriers(study, row):
    llms = {llm for name in ("carried_by", "carried_by_asked") for llm in (row[name] or "").split(", ") if llm}
    return ", ".join(map(study.llm, sorted(llms))) or MISSING


def _printed_percents(study, domain):
    """Return the claims that print a technique's percent of baseline, the first for each technique."""
    by_technique = {}
    for claim in study.rows("claims", domain=domain, quantity="percent_of_baseline", kind="value"):
        is_whole = (claim["llm"], claim["excluded_llm"], claim["anchor_direction"]) == (None, None, "both")
        if is_whole and claim["comparison"] == "=" and claim["temperature_scope"] in (None, "pooled"):
            by_technique.setdefault(claim["technique"], claim)
    return by_technique


def _printed(claim):
    if not claim:
        return "not printed"
    key = {"claim_id": claim["claim_id"]}
    decimals = max(claim["decimals"] or 0, 0)
    return Number(claim["published_value"], "published_value", decimals, table="marts.claim_checks", key=key)


@of_the_page
def attrition_figure(study):
    """Who did not answer, and what they could have changed."""
    panels, tables, changes = [], [], []
    for domain in study.domains:
        bounds = {row["technique"]: row for row in study.rows("attrition_bounds", domain=domain)}
        losses = {
            row["technique"]: row["displacement"] for row in study.rows("technique_rankings", domain=domain, llm=None)
        }
        rows = study.in_order(study.rows("attrition", domain=domain))
        if not rows:
            continue
        in_domain = {"domain": domain, "paradigm": "anchoring"}
        for sentence in changes_after_seeing(study, sum(row["n_asked"] for row in rows), **in_domain):
            changes.append(Markup(" {}: {}").format(clean(domain), sentence))
        values = []
        for row in rows:
            limits = bounds.get(row["technique"], {})
            observed = losses.get(row["technique"])
            if observed is not None and limits.get("displacement_least") is not None:
                share = row["n_answered"] / row["n_asked"]
                values.append(
                    {
                        "name": study.technique(row["technique"]),
                        "value": observed,
                        "low": limits["displacement_least"],
                        "high": limits["displacement_most"],
                        "text": f"{_percent(share)} %",
                        "reference": None if values else losses.get(NO_TECHNIQUE),
                    }
                )
        label = told(
            domain,
            "bounds of displacement, and the share that answered",
            ((row["name"], f"{fixed(row['low'])} to {fixed(row['high'])}, {row['text']} answered") for row in values),
        )
        if values:
            ends = [row[name] for row in values for name in ("low", "high", "value")]
            low, high = around(ends, 0)
            for row in values:
                row["end"] = high
            panels.append(
                (
                    domain,
                    draw_panel(study, "intervals", values, label, "displacement (pp)", room_for_text(low, high, 0.2)),
                )
            )
        tables.append(
            tabled(
                study,
                f"{domain}: who answered, and what the displacement could be had all answered",
                "marts.attrition",
                {"study": study.name, "domain": domain},
                [
                    "technique", "asked", "answered", "share", "refused", "unparsed", "out of range", "failed",
                    "displacement (pp), at least", "at most",
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
                            *(_bound(study, domain, row["technique"], bounds, end) for end in ("least", "most")),
                        ],
                    )
                    for row in rows
                ],
            )
        )  # fmt: skip
    caption = Markup(
        "The share of trials that were answered (unanchored ones included), and how small or large the displacement "
        "(tick; dashed: without a technique) could be had everybody answered within the valid range. Where the ranges "
        "of two techniques overlap, their order is not identified by the trials."
    ) + Markup("").join(changes)
    return Figure("attrition", "Who did not answer", caption, panels, tables)


def _bound(study, domain, technique, bounds, end):
    column = f"displacement_{end}"
    if technique not in bounds:
        return "not compared"
    key = {"study": study.name, "domain": domain, "technique": technique, "llm": None}
    row = bounds[technique]
    return Number(row[column], column, reason=row["reason"], table="marts.attrition_bounds", key=key)


def unit_of(study, domain):
    """Return the unit of the answers of a domain, in words."""
    units = sorted({row["response_unit"] for row in study.rows("units", domain=domain) if row["response_unit"]})
    return clean(" and ".join(units)) or "the unit of the answer"


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
    values = [row.get(column) for row in rows for column in (*columns, "reference")]
    end = max((value for value in values if value is not None), default=0)
    for row in rows:
        row["end"] = end
    return end
