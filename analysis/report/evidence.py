"""The figures of a study, each with a panel for each domain, a caption and the table of its numbers."""

from functools import partial

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_LLMS, FEWEST_VENDORS
from analysis.report.figures import room_for_text
from analysis.report.panels import Figure, around, axis_of, draw_forest, draw_panel, figure_table, fixed, told
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import interval, named, number, share, signed, under_key, whole
from analysis.report.text import changes_after_seeing
from analysis.report.values import MISSING, Number, clean
from analysis.words.codes import GOALS, listed

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
EFFECTS, PERCENTS = "marts.effects", "papers.technique_effects"
BEST = "(from inference.decisions where comparison is null or comparison = 'control')"
OVER_VIGNETTES = {"paradigm": "anchoring", "vignette": None}  # rows of EFFECTS
BY_DISPLACEMENT = {**OVER_VIGNETTES, "goal": "displacement"}
OF_PERCENTS = {**POOLED, "temperature_scope": "pooled"}


def figures(study):
    """Make the figures of a study.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Figure
        Those that the study has trials for, first the gains by what leads in a domain.
    """
    first = {f"gains-{study.leading(domain)}" for domain in study.domains}
    made = [figure for make in FIGURES if (figure := make(study)).panels]
    return sorted(made, key=lambda figure: figure.name not in first)


def gains_figure(study, goal):
    """What each technique gains on its control by one goal: over LLMs, and with each LLM that was asked."""
    shown, helpers = {}, []
    for domain in study.domains:
        rows = [row for row in study.held_against(domain, "control") if row["goal"] == goal and row["n_llms"]]
        rows.sort(key=lambda row: (-row["gain"], row["technique"]))
        of_llms = study.rows("of_each_llm", domain=domain, goal=goal)
        if values := [value for row in rows for value in _drawn(study, row, of_llms)]:
            shown[domain] = values
        if names := [study.technique(row["technique"]) for row in rows if row["decision"] == "use"]:
            helpers.append(f"{listed(names)} ({domain})")
    axis = axis_of([value for values in shown.values() for value in values], 0.42)
    unit = GOALS[goal].unit
    what = f"gain in {goal}, LLMs that gained, and the interval for all techniques at once"
    panels = [
        (domain, draw_forest(study, domain, what, values, f"gain ({unit})", axis)) for domain, values in shown.items()
    ]
    caption = Markup(
        "How much less {}, with each technique than with its control, in {}: right of 0 (dashed) the technique is "
        "better. ◆ is the mean over vendors; beside it stand its value and how many of the LLMs gained. Thin: the 95 % "
        "interval for other LLMs, for all rows of the goal at once; thick: for this row alone. Orange: each LLM that "
        "was asked. ◇ is hollow where the LLMs are of fewer than {} vendors: no interval for others. All domains have "
        "one axis. The numbers are in the answer above, under “Decisions by each goal”."
    ).format(GOALS[goal].measures.removeprefix("how "), "percentage points" if unit == "pp" else unit, FEWEST_VENDORS)
    shown_to_help = f"these are shown to help: {'; '.join(helpers)}"
    none = "no technique is shown to help other LLMs more than a plain prompt does"
    title = f"By {goal}, {shown_to_help if helpers else none}"
    return Figure(f"gains-{goal}", title, caption, panels, [], named("inference.decisions"))


def _drawn(study, row, of_llms):
    """Yield the marks of a row: of all LLMs, with intervals for others where enough vendors were asked; of each."""
    name, is_known = study.technique(row["technique"]), row["n_vendors"] >= FEWEST_VENDORS
    ends = {"low": "gain_low", "high": "gain_high", "inner_low": "gain_plain_low", "inner_high": "gain_plain_high"}
    drawn = {end: row[column] if is_known else None for end, column in ends.items()}
    text = f"{fixed(row['gain'], sign='+')} ({row['n_gained']} of {row['n_llms']})"
    heard = f"{text}, {fixed(drawn['low'])} to {fixed(drawn['high'])}"
    yield {"name": name, "value": row["gain"], **drawn, "is_hollow": not is_known, "text": text, "heard": heard}
    for each in of_llms:
        if all(each[column] == row[column] for column in ("technique", "control")) and each["gain"] is not None:
            yield {"name": name, "llm": each["gain"]}


FIGURES = [partial(gains_figure, goal=goal) for goal in GOALS]


def of_the_page(name, title, caption, remarks=lambda study: ()):
    """Put a figure on the page, after those above it: a function of a `Study` and a domain to a drawing and tables.

    Parameters
    ----------
    name, title : str
    caption : str or Markup
    remarks : callable, optional
        From a `Study` to what its caption ends with.

    Returns
    -------
    callable
        Takes the function, which returns None where the domain has nothing to show, and None for a drawing where it
        has but a table.
    """

    def register(draw):
        def make(study):
            drawn = [(domain, *made) for domain in study.domains if (made := draw(study, domain))]
            panels = [(domain, drawing) for domain, drawing, _ in drawn if drawing]
            text = Markup(caption) + Markup("").join(remarks(study))
            return Figure(name, title, text, panels, [table for *_, tables in drawn for table in tables])

        FIGURES.append(make)
        return draw

    return register


def _table(study, domain, caption, source, rows, columns, *, by=("technique",), groups=(), **key):
    """Make the table of a domain, in which a row is a technique unless said otherwise, and named first."""
    first = {
        "technique": ("technique", lambda row: study.technique(row["technique"])),
        "llm": ("LLM", lambda row: study.named(row) if "vignette" in by else study.llm(row["llm"])),
    }
    key, columns = {"study": study.name, "domain": domain, **key}, [first[by[0]], *columns]
    return figure_table(study, f"{domain}: {caption}", source, key, by, rows, columns, groups)


def _draw_bars(study, domain, what, values, title, *, reference=None):
    """Draw bars from 0, their text beyond the longest of them and the reference."""
    end = max([0, reference or 0, *(row["value"] for row in values)])
    for row in values:
        row["end"] = end
    label = told(domain, what, ((row["name"], row["text"]) for row in values))
    return draw_panel(study, "bars", values, label, title, room_for_text(0, end, 0.18), reference)


def _draw_ends(study, domain, what, values):
    """Draw what is said under low and under high anchors, in percent of what is said without one."""
    pairs = ((row["name"], f"{fixed(row['low'])} and {fixed(row['high'])}") for row in values)
    label = told(domain, f"{what}percent of baseline under low and under high anchors", pairs)
    axis = around([row[end] for row in values for end in ENDS], 100)
    return draw_panel(study, "dumbbells", values, label, "% of baseline", axis, 100)


def _draw_intervals(study, domain, what, values, title, room, reference, heard="{}"):
    """Draw what lies between two bounds; a text stands beside it, and is `heard` so."""
    bounds = (f"{fixed(row['low'])} to {fixed(row['high'])}, {heard.format(row['text'])}" for row in values)
    pairs = zip((row["name"] for row in values), bounds, strict=True)
    axis = axis_of(values, room)
    return draw_panel(study, "intervals", values, told(domain, what, pairs), title, axis, reference)


def _over_llms(study, domain, column="loss", goals=("displacement",)):
    """Return what effects are over all LLMs, by goal, of the techniques that have a number in a column for some."""
    techniques = {}
    for row in study.in_order(study.rows("losses", domain=domain, llm=None)):
        techniques.setdefault(row["technique"], {"technique": row["technique"]})[row["goal"]] = row
    return [row for row in techniques.values() if all(goal in row and row[goal][column] is not None for goal in goals)]


def _by(goal, make, column):
    """Return what makes a number of what effects are by a goal."""
    cell = make(column, key={"goal": goal})
    return lambda row: cell(row[goal])


@of_the_page(
    "losses",
    "How far anchored answers lie from unanchored ones",
    "Displacement: how far the average answer under low and under high anchors lies from what the LLM says without "
    "one, in percentage points of that. It is taken of each LLM, vignette and direction before any mean, so that "
    "answers that are too high cannot make up for others that are too low. These are means of absolute values, as "
    "observed; decisions are made of squares, whose roots are larger. 0: both lie where unanchored answers do; dashed: "
    "without a technique. Grey: not ranked. The table adds how far high and low anchors pull the average answer "
    "apart (gap) and how far off a single answer is (error).",
)
def losses_figure(study, domain):
    """How far anchored answers lie from unanchored ones with each technique, by the three goals."""
    shown = _over_llms(study, domain)
    if not shown:
        return None
    values = [
        {
            "name": study.technique(row["technique"]),
            "value": row["displacement"]["loss"],
            "text": fixed(row["displacement"]["loss"]),
            "colour": "var(--grey)" if row["displacement"]["rank"] is None else "var(--blue)",
        }
        for row in shown
    ]
    without = next((row["displacement"]["loss"] for row in shown if row["technique"] == NO_TECHNIQUE), None)
    what = "displacement in percentage points"
    columns = [
        *((f"{goal} ({GOALS[goal].unit})", _by(goal, number, "loss")) for goal in GOALS),
        ("error without an anchor (%)", _by("error", number, "base_loss")),
        ("rank by displacement", _by("displacement", whole, "rank")),
        ("by gap", _by("gap", whole, "rank")),
        ("by error", _by("error", whole, "rank")),
        ("trials", _by("displacement", whole, "n_trials")),
        ("LLMs", _by("displacement", whole, "n_llms")),
    ]
    caption = "losses by the three goals, and the order of the ranked techniques"
    asked = _over_llms(study, domain, "n_asked")
    table = _table(study, domain, caption, EFFECTS, asked, columns, llm=None, **OVER_VIGNETTES)
    return _draw_bars(study, domain, what, values, "displacement (pp)", reference=without), [table]


@of_the_page(
    "divergence",
    "The goals put techniques in another order",
    "Rank of each technique by displacement (how far anchored answers lie from unanchored ones) and by gap (how far "
    "high and low anchors pull them apart), as observed; 1 is best. Lines that cross are techniques that the two goals "
    "put in another order. A rank alone decides nothing.",
)
def divergence_figure(study, domain):
    """Ranks by displacement and by gap, joined."""
    sides = {"displacement": "by displacement", "gap": "by gap"}
    rows = _over_llms(study, domain, "rank", sides)
    if not rows:
        return None
    values = []
    for goal, side in sides.items():
        for row in rows:
            rank = row[goal]["rank"]
            tied = [other for other in rows if other[goal]["rank"] == rank]
            colour, shape = study.look(row["technique"])
            names = ", ".join(study.technique(other["technique"]) for other in tied)
            values.append(
                {
                    "name": study.technique(row["technique"]),
                    "side": side,
                    "rank": rank,
                    "is_left": goal == "displacement",
                    "text": f"{rank} {names}" if tied[0] is row else "",
                    "colour": colour,
                    "shape": shape,
                }
            )
    ranks = ((study.technique(row["technique"]), ", ".join(f"{row[goal]['rank']}" for goal in sides)) for row in rows)
    label = told(domain, "rank by displacement, then by gap", ranks)
    columns = [(f"rank by {goal}", _by(goal, whole, "rank")) for goal in GOALS]
    return draw_panel(study, "slopes", values, label), [
        _table(study, domain, "ranks by the three goals", EFFECTS, rows, columns, llm=None, **OVER_VIGNETTES)
    ]


@of_the_page(
    "asymmetry",
    "Low and high anchors",
    "▼ under low anchors, ▲ under high anchors. An anchor without effect puts both on the dashed line at 100; the "
    "length between them is the net spread. These are means over LLMs, in which LLMs that are too high and others "
    "that are too low cancel, so that nothing on this page is decided on them. Document A measured by them: the "
    "tables have what it printed.",
)
def asymmetry_figure(study, domain):
    """Percent of baseline under low and under high anchors."""
    rows = study.rows("intervals", domain=domain, method="trial")
    by = {(row["technique"], row["anchor_direction"]): row for row in rows}
    shown = [
        row
        for row in study.in_order(study.rows("intervals", domain=domain, method="trial", anchor_direction="both"))
        if all(by.get((row["technique"], end), {}).get("estimate") is not None for end in ENDS)
    ]
    if not shown:
        return None
    values = [
        {"name": study.technique(row["technique"]), **{end: by[row["technique"], end]["estimate"] for end in ENDS}}
        for row in shown
    ]

    def column(end, name):
        cell = number(name, key={"anchor_direction": end})
        return lambda row: cell(by[row["technique"], end])

    columns = [
        (head, column(end, name))
        for end in ENDS
        for head, name in ((f"{end} anchors (%)", "estimate"), ("from", "low"), ("to", "high"))
    ]
    key = {"metric": "percent_of_baseline", "llm": None, **POOLED, "method": "trial"}
    caption = "% of baseline by direction of the anchor"
    return _draw_ends(study, domain, "", values), [
        _table(study, domain, caption, "inference.intervals", shown, columns, **key),
        *_printed_tables(study, domain),
    ]


def _printed_tables(study, domain):
    """Make the table of the metric of document A, beside what it printed, where it has a number."""
    printed = _printed_percents(study, domain)
    rows = study.in_order(study.rows("percents", domain=domain, llm=None, anchor_direction="both"))
    spreads = {row["technique"]: row["gap"]["signed"] for row in _over_llms(study, domain, "signed", ["gap"])}
    of_spread = {"study": study.name, "domain": domain, "llm": None, **OVER_VIGNETTES, "goal": "gap"}

    def spread(row):
        technique = row["technique"]
        place = {"table": EFFECTS, "key": of_spread | {"technique": technique}, "reason": "missing_direction"}
        return Number(spreads.get(technique), "signed", is_signed=True, **place)

    columns = [
        ("% of baseline", number("percent", "avg(percent_of_baseline)")),
        ("net deviation (pp)", signed("deviation", "avg(deviation_pp)")),
        ("net spread (pp)", spread),
        ("printed in document A (%)", lambda row: _printed(printed.get(row["technique"]))),
    ]
    caption = "% of baseline, LLMs weighing the same, and what document A printed"
    key = {"llm": None, "anchor_direction": "both", **OF_PERCENTS}
    return [_table(study, domain, caption, PERCENTS, rows, columns, **key)] if printed and rows else []


@of_the_page(
    "baselines",
    "Baselines by LLM",
    "What each LLM says without an anchor and without a technique, all temperatures together. It is what the LLM "
    "would say, not what is right; every percentage on this page is of the LLM's own baseline.",
)
def baselines_figure(study, domain):
    """The baseline of each LLM."""
    rows = study.rows("baselines", domain=domain)
    rows.sort(key=lambda row: (-row["mean"], row["llm"], row["vignette"]))
    if not rows:
        return None
    unit = study.unit(domain)
    values = [
        {"name": study.named(row), "value": row["mean"], "text": fixed(row["mean"]), "colour": "var(--blue)"}
        for row in rows
    ]
    columns = [
        ("baseline", number("mean", digits=2)),
        ("SD", number("sd", digits=2)),
        ("smallest", number("least", digits=2)),
        ("largest", number("most", digits=2)),
        ("trials", whole("n_trials")),
    ]
    place = {"paradigm": "anchoring", "is_baseline": True, "row_set": "accepted", "temperature_scope": "pooled"}
    caption, by = f"baselines in {unit}", ("llm", "vignette")
    table = _table(study, domain, caption, "marts.conditions", rows, columns, by=by, **place)
    return _draw_bars(study, domain, f"baseline in {unit}", values, unit), [table]


@of_the_page(
    "sacd",
    "SACD by LLM",
    Markup(
        "SACD with each LLM, as % of the LLM's own baseline: ▼ under low, ▲ under high anchors. Document A puts an LLM "
        "in a class by the mean of both, which can be near 100 where both are far off. Its classes are in the table: "
        "{}."
    ).format("; ".join(f"{sign} {words}" for sign, words in CLASSES)),
)
def sacd_figure(study, domain):
    """SACD for each LLM under low and under high anchors, beside the classes of document A."""
    of_llms = {}
    for row in study.rows("percents", domain=domain, technique=SACD):
        of_llms.setdefault(row["llm"], {})[row["anchor_direction"]] = row["percent"]
    rows = study.rows("losses", domain=domain, technique=SACD, goal="displacement")
    rows = [row for row in rows if row["llm"] and {*ENDS, "both"} <= of_llms.get(row["llm"], {}).keys()]
    rows.sort(key=lambda row: (-of_llms[row["llm"]]["both"], row["llm"]))
    if not rows:
        return None
    values = [{"name": study.llm(row["llm"]), **of_llms[row["llm"]]} for row in rows]

    place = {"study": study.name, "domain": domain, "technique": SACD, **BY_DISPLACEMENT}

    def under(end):
        key = {"anchor_direction": end}
        return lambda row: Number(of_llms[row["llm"]][end], "avg(percent_of_baseline)", key=key)

    def effect(column, digits):
        return lambda row: Number(row[column], column, digits, table=EFFECTS, key=place | {"llm": row["llm"]})

    columns = [
        *((f"{end} anchors (%)", under(end)) for end in ENDS),
        ("displacement (pp)", effect("loss", 1)),
        ("both together (%)", under("both")),
        ("class of document A", lambda row: " ".join(class_of(of_llms[row["llm"]]["both"]))),
        ("trials", effect("n_trials", 0)),
    ]
    key = {"technique": SACD, **OF_PERCENTS}
    return _draw_ends(study, domain, "SACD, ", values), [
        _table(study, domain, "SACD by LLM", PERCENTS, rows, columns, by=["llm"], **key)
    ]


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


@of_the_page(
    "llms",
    "Every technique with every LLM",
    "The loss by the goal that leads in the domain, in percentage points, as observed; 0 is none. The shade changes at "
    "5, 10 and 25 pp. A technique that suits one LLM can be wrong for another: read the row of yours. A row of one LLM "
    "decides nothing for others.",
)
def llms_figure(study, domain):
    """The loss of each technique with each LLM by the goal that leads, and what each LLM gains."""
    goal = study.leading(domain)
    rows = [
        row
        for row in study.in_order(study.rows("losses", domain=domain, goal=goal))
        if row["llm"] is not None and row["loss"] is not None
    ]
    rows.sort(key=lambda row: study.llm(row["llm"]).lower())
    if not rows:
        return None
    values = [
        {
            "name": study.llm(row["llm"]),
            "column": study.technique(row["technique"]),
            "text": fixed(row["loss"], 0),
            "colour": f"var(--{tint(row['loss'])})",
        }
        for row in study.in_order(rows)
    ]
    what = f"{goal} in percentage points of each technique with each LLM"
    label = f"{domain}: {what}; the table below has the numbers"
    gains = [
        row
        for row in study.in_order(study.rows("predictions", domain=domain, goal=goal))
        if row["llm"] is not None and row["gain"] is not None
    ]
    cell = number("loss", by=["technique"])
    tables = [_by_llm(study, domain, rows, f"{goal} (pp)", EFFECTS, cell, **OVER_VIGNETTES, goal=goal)]
    if gains:
        of_row = interval("gain", "gain_low", "gain_high")

        def gain(row):
            return under_key(row, ("technique", "control"), of_row(row))

        drawn = "drawn towards the other LLMs by how little the LLM was asked, with its 95 % interval"
        what = f"gain in {goal} (pp), {drawn}"
        tables.append(_by_llm(study, domain, gains, what, "inference.predictions", gain, goal=goal))
    return draw_panel(study, "cells", values, label), tables


def _by_llm(study, domain, rows, what, source, cell, **key):
    """Make a table with a row for each LLM and a column for each technique."""
    techniques = dict.fromkeys(row["technique"] for row in study.in_order(rows))
    by = {(row["llm"], row["technique"]): row for row in rows}

    def column(technique):
        return lambda row: cell(by[place]) if (place := (row["llm"], technique)) in by else "not asked"

    columns = [(study.technique(technique), column(technique)) for technique in techniques]
    llms = [{"llm": llm} for llm in dict.fromkeys(row["llm"] for row in rows)]
    return _table(study, domain, f"{what}, by LLM and technique", source, llms, columns, by=["llm"], **key)


def tint(loss):
    """Return the shade of a loss."""
    return next((name for end, name in TINTS if loss < end or loss == end == TINTS[0][0]), "over-3")


@of_the_page(
    "chances",
    "How probable each place is",
    f"How probable it is, in %, that a ranked technique, or none, has the smallest or the largest mean loss over LLMs "
    f"like those asked, from one hierarchical model; from {FEWEST_LLMS} LLMs on. Ties share, so that each goal adds up "
    f"to 100. An LLM of yours need not be like the mean: see the predictions above, which lead.",
)
def chances_figure(study, domain):
    """How probable it is that a technique is best, or worst, over LLMs like those asked."""
    rows = [*study.held_against(domain, "control"), *study.held_against(domain, None)]
    rows = [row for row in rows if row["p_best"] is not None]
    by = {(row["technique"], row["goal"]): row for row in rows}
    techniques = list(dict.fromkeys(row["technique"] for row in study.in_order(rows)))
    if not techniques:
        return None
    values = [
        {
            "name": study.technique(technique),
            "column": f"{word}, {abbreviation}",
            "text": _percent(by[technique, goal][column]),
            "colour": f"var(--{_shade(by[technique, goal][column])})",
        }
        for column, word in (("p_best", "best"), ("p_worst", "worst"))
        for goal, abbreviation in {"displacement": "displ.", "gap": "gap", "error": "error"}.items()
        for technique in techniques
        if (technique, goal) in by
    ]
    leading = study.leading(domain)
    best = (
        (study.technique(technique), _percent(by[technique, leading]["p_best"]))
        for technique in techniques
        if (technique, leading) in by
    )
    label = told(domain, f"probability in percent of the smallest mean {leading}", best)

    def column(goal, make, name):
        cell = make(name, key={"goal": goal})
        return lambda row: cell(by[row["technique"], goal])

    numbers = {
        "P(best)": (share, "p_best"),
        "P(worst)": (share, "p_worst"),
        "P(worse than control)": (share, "p_worse_than_control"),
        "rank, from": (whole, "rank_low"),
        "to": (whole, "rank_high"),
    }
    columns = [(head, column(goal, *made_of)) for goal in GOALS for head, made_of in numbers.items()]
    whole_rows = [{"technique": name} for name in techniques if all((name, goal) in by for goal in GOALS)]
    groups = [("", 1), *((f"by {goal}", len(numbers)) for goal in GOALS)]
    caption = "probabilities over LLMs like those asked"
    return draw_panel(study, "cells", values, label), [
        _table(study, domain, caption, BEST, whole_rows, columns, groups=groups, llm=None)
    ]


@of_the_page(
    "specifications",
    "Does it depend on how one counts?",
    "What each technique gains by the goal that leads in the domain (tick), and the least and most with one thing "
    "changed: an LLM or a vendor left out, the other reading of the texts, another row set, a baseline of one "
    "temperature, missing answers as bad or as good for it as they could have been. Beside it, in how many of the ways "
    "that change an analysis the interval decides the same; the table counts those that leave out an LLM or a vendor "
    "apart, names who carries a decision, and has the other goals. Ways that come to the same numbers count once.",
)
def specifications_figure(study, domain):
    """What each technique gains with one thing changed, and which decisions that changes."""
    rows = study.in_order(study.rows("specifications", domain=domain))
    rows = [row for goal in GOALS for row in rows if row["goal"] == goal]
    goal = study.leading(domain)
    leading = [row for row in rows if row["goal"] == goal and row["gain"] is not None]
    if not leading:
        return None
    values = [
        {
            "name": study.technique(row["technique"]),
            "value": row["gain"],
            "low": row["least"],
            "high": row["most"],
            "text": f"{row['n_same_decision']} of {row['n_specifications']}",
        }
        for row in leading
    ]
    what = f"gain in {goal} with one thing changed, and how often the interval decides the same"
    columns = [
        ("goal", lambda row: row["goal"]),
        ("gain", signed("gain", key={"is_recommended": True})),
        ("least", signed("least", "min(gain)")),
        ("most", signed("most", "max(gain)")),
        ("analyses", whole("n_specifications", "max(n_specifications)")),
        ("same decision", whole("n_same_decision", "max(n_same_decision)")),
        ("changed by", lambda row: _switches(row["changed_by"])),
        ("LLM or vendor left out", whole("n_left_out", "max(n_left_out)")),
        ("same decision", whole("n_left_out_same", "max(n_left_out_same)")),
        ("changed without", lambda row: _carriers(study, row)),
    ]
    caption, by = "decisions with one thing changed", ("technique", "goal", "control")
    return _draw_intervals(study, domain, what, values, "gain (pp)", 0.25, 0), [
        _table(study, domain, caption, "inference.multiverse", rows, columns, by=by)
    ]


def _switches(switches):
    return clean(switches).replace("_", " ").replace("llm", "LLM") if switches else MISSING


def _carriers(study, row):
    return ", ".join(map(study.llm, sorted(filter(None, (row["carried_by"] or "").split(", "))))) or MISSING


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


def _changes(study):
    """Say of each domain what people withdrew or reread."""
    for domain in study.domains:
        n_asked = sum(row["n_asked"] for row in study.rows("attrition", domain=domain))
        for sentence in changes_after_seeing(study, n_asked, domain=domain, paradigm="anchoring"):
            yield Markup(" {}: {}").format(clean(domain), sentence)


@of_the_page(
    "attrition",
    "Who did not answer",
    "The share of trials that were answered (unanchored ones included), and how small or large the displacement "
    "(tick; dashed: without a technique) could be had everybody answered within the valid range. Where the ranges "
    "of two techniques overlap, their order is not identified by the trials.",
    _changes,
)
def attrition_figure(study, domain):
    """Who did not answer, and what they could have changed."""
    over_llms = study.rows("losses", domain=domain, goal="displacement", llm=None)
    by_technique = {row["technique"]: row for row in over_llms}
    losses = {row["technique"]: row["loss"] for row in over_llms if row["loss"] is not None}
    rows = [
        row | {"share": row["n_answered"] / row["n_asked"] if row["n_asked"] else None}
        for row in study.in_order(study.rows("attrition", domain=domain))
    ]
    values = [
        {
            "name": study.technique(row["technique"]),
            "value": losses[row["technique"]],
            "low": limits["loss_least"],
            "high": limits["loss_most"],
            "text": f"{_percent(row['share'])} %",
        }
        for row in rows
        if row["technique"] in losses and (limits := by_technique[row["technique"]])["loss_least"] is not None
    ]

    def bound(end):
        key = {"study": study.name, "domain": domain, "llm": None, **BY_DISPLACEMENT}

        def cell(row):
            if row["technique"] not in by_technique:
                return "not compared"
            place = key | {"technique": row["technique"]}
            return number(f"loss_{end}", table=EFFECTS, key=place)(by_technique[row["technique"]])

        return cell

    columns = [
        ("asked", whole("n_asked", "sum(n_asked)")),
        ("answered", whole("n_answered", "sum(n_answered)")),
        ("share", share("share", "sum(n_answered) / sum(n_asked)", reason="nobody_was_asked")),
        *(
            (name.replace("_", " "), whole(f"n_{name}", f"sum(n_{name})"))
            for name in ("refused", "unparsed", "out_of_range", "failed")
        ),
        ("displacement (pp), at least", bound("least")),
        ("at most", bound("most")),
    ]
    what = "bounds of displacement, and the share that answered"
    drawn = ("displacement (pp)", 0.2, losses.get(NO_TECHNIQUE), "{} answered")
    drawing = _draw_intervals(study, domain, what, values, *drawn) if values else None
    caption = "who answered, and what the displacement could be had all answered"
    return drawing, [_table(study, domain, caption, "marts.attrition", rows, columns)]


def _percent(share):
    """Write a share in whole percent, and never as 0 or 100 what is neither."""
    if share is None:
        return MISSING
    if 0 < share < 0.01:
        return "<1"
    return ">99" if 0.99 < share < 1 else f"{100 * share:.0f}"


def _shade(share):
    return "chance-0" if not share else f"chance-{1 + min(int(share * 4), 3)}"
