"""Studies of scores: how far anchors move the answers that an LLM holds likely, and how sure tests are of it."""

from itertools import groupby

from markupsafe import Markup

from analysis.report.panels import Figure, axis_of, draw_panel, figure_table, fixed, told
from analysis.report.sections import Section
from analysis.report.tables import number, signed, text, whole
from analysis.report.values import clean
from analysis.words.scores import SAID, sentences

FROM_SCORES = {"evidence_from": "scores"}
PUBLISHED = {**FROM_SCORES, "specification": "published"}


def sections_on_scores(study, prefix):
    """Make the section of a study of scores.

    Parameters
    ----------
    study : Study
    prefix : str
        Of the ids of the sections.

    Returns
    -------
    list of Section
        None where nothing of the study was scored under two anchors.
    """
    first, *more = [clean(sentence) for sentence in sentences({name: study.rows(name) for name in SAID})] or [None]
    if first is None:
        return []
    figures = [figure for make in (_moves, _expectations, _sensitivities, _calls) if (figure := make(study)).panels]
    command = f"bais headlines --study {study.name}"
    return [Section(f"{prefix}-scores", "What the scores show", first, more, figures, [], command)]


def _moves(study):
    """How far the expected answer of each LLM moves from the low to the high anchor, over questions."""
    rows = study.rows("contrasts", comparison="anchors", metric="delta_ev")
    rows = [row for row in rows if row["estimate"] is not None]
    values = [
        {
            "name": study.llm(row["llm"]), "value": row["estimate"], "low": row["low"], "high": row["high"],
            "text": fixed(row["estimate"], sign="+"),
        }
        for row in rows
    ]  # fmt: skip
    pairs = [(value["name"], f"{value['text']}, {fixed(value['low'])} to {fixed(value['high'])}") for value in values]
    what = "move of the expected answer from the low to the high anchor, in percentage points"
    label, axis = told("All LLMs", what, pairs), axis_of(values, 0.2)
    panel = draw_panel(study, "intervals", values, label, "pp", axis, 0) if rows else None
    columns = [
        ("move (pp)", signed("estimate")),
        ("from", signed("low")),
        ("to", signed("high")),
        ("questions", whole("n_questions")),
    ]
    caption, key = "the move of the expected answer, mean over questions", {**PUBLISHED, "metric": "delta_ev"}
    table = _table(study, caption, "papers.anchor_sensitivities", [], rows, columns, **key, comparison="anchors")
    clear = sum(row["low"] is not None and row["low"] > 0 for row in rows)
    caption = Markup(
        "The expected answer is the mean of all answers from 0 to 100, each weighted with the probability that the LLM "
        "gives it. Drawn is how much higher it is under the high anchor than under the low one, as a mean over "
        "questions with its 95 % interval over questions like these. Dashed: the anchor moves nothing."
    )
    title = f"In {clear} of {len(rows)} LLMs the expected answer clearly moves with the anchor"
    return Figure("moves", title, caption, [("all questions", panel)] if rows else [], [table])


def _expectations(study):
    """The expected answer of each LLM to each question under both anchors."""
    panels = []
    rows = [row for row in study.rows("expectations") if row["soft_ev"] is not None]
    # of several anchors between the lowest and the highest one is shown
    rows = list({(*_scoring(row), row["variation"], row["anchor_direction"]): row for row in rows}.values())
    n_raised = n_pairs = 0
    for (llm, _), of_llm in groupby(rows, key=_scoring):
        values = []
        for variation, sides in groupby(of_llm, key=lambda row: row["variation"]):
            by_side = {row["anchor_direction"]: row["soft_ev"] for row in sides}
            if {"low", "high"} <= set(by_side):
                low, high = by_side["low"], by_side["high"]
                moved = fixed(high - low, sign="+")
                values.append({"name": variation, "low": low, "high": high, "text": moved, "end": 100})
                n_raised += high > low
                n_pairs += 1
        pairs = [(value["name"], f"{fixed(value['low'])} and {fixed(value['high'])}") for value in values]
        label = told(study.llm(llm), "expected answer under the low and under the high anchor", pairs)
        panels.append((study.llm(llm), draw_panel(study, "dumbbells", values, label, "expected answer (%)", [0, 122])))
    columns = [
        ("question", text("variation")),
        ("anchor", text("anchor_direction")),
        ("its value", whole("anchor")),
        ("expected answer", number("soft_ev")),
        ("from", number("band_low")),
        ("to", number("band_high")),
    ]
    caption = "the expected answer under each anchor, and the band of single answers"
    by, key = ["variation", "anchor_direction"], {**FROM_SCORES, "specification": "recommended"}
    table = _table(study, caption, "papers.soft_expectations", by, rows, columns, **key)
    caption = Markup(
        "▼ under the low anchor, ▲ under the high one, with the difference beside them; a line is a question with its "
        "pair of anchors. Probabilities are made to add up to 1 over the answers from 0 to 100."
    )
    title = f"In {n_raised} of {n_pairs} cases the high anchor raises the expected answer"
    return Figure("expectations", title, caption, panels, [table])


def _sensitivities(study):
    """The sensitivity score of each LLM and question, as published."""
    rows = [row for row in study.rows("sensitivities", specification="published") if row["abss"] is not None]
    most = max((row["abss"] for row in rows), default=1) or 1
    shades = [0 if row["abss"] <= 0 else 1 + min(int(4 * row["abss"] / most), 3) for row in rows]
    values = [
        {
            "name": row["variation"], "column": study.llm(row["llm"]), "text": fixed(row["abss"], 2),
            "colour": f"var(--chance-{shade})",
        }
        for row, shade in zip(rows, shades, strict=True)
    ]  # fmt: skip
    label = told(
        "All LLMs", "sensitivity score", ((f"{cell['column']} {cell['name']}", cell["text"]) for cell in values)
    )
    panel = draw_panel(study, "cells", values, label) if values else None
    columns = [("question", text("variation")), ("score", number("abss", digits=2))]
    caption = "document D's sensitivity score (ABSS), as published"
    table = _table(study, caption, "papers.sensitivity_scores", ["variation"], rows, columns, **PUBLISHED)
    pairs = [row for row in study.rows("contrasts", comparison="llms", metric="abss") if row["low"] is not None]
    told_apart = sum(row["low"] > 0 or row["high"] < 0 for row in pairs)
    caption = Markup(
        "The anchoring bias sensitivity score of document D adds up whether answers move, whether attributions do, and "
        "whether they agree; more is more anchored. Darker: a larger score."
    )
    title = f"The sensitivity score tells {told_apart} of {len(pairs)} pairs of LLMs apart"
    return Figure("sensitivities", title, caption, [("score by question", panel)] if rows else [], [table])


def _calls(study):
    """How many ways of testing call each case significant."""
    panels = []
    rows = [row for row in study.rows("calls") if row["variation"] is not None and row["share"] is not None]
    for (llm, _), of_llm in groupby(rows, key=_scoring):
        values = [
            {
                "name": row["variation"], "value": 100 * row["share"], "end": 100, "colour": "var(--blue)",
                "text": f"{row['n_standing']} of {row['n_specifications']}",
            }
            for row in of_llm
        ]  # fmt: skip
        label = told(
            study.llm(llm), "ways of testing that call it significant", ((v["name"], v["text"]) for v in values)
        )
        panels.append((study.llm(llm), draw_panel(study, "bars", values, label, "% of ways of testing", [0, 140])))
    columns = [
        ("question", text("variation")),
        ("significant", whole("n_standing")),
        ("ways of testing", whole("n_specifications")),
    ]
    caption = "how many ways of testing call each case significant"
    table = _table(study, caption, "papers.anchor_calls", ["variation"], rows, columns, **FROM_SCORES)
    always = sum(row["n_standing"] == row["n_specifications"] for row in rows)
    never = sum(not row["n_standing"] for row in rows)
    caption = Markup(
        "Whether the log-probabilities of the answers change with the anchor was tested in several ways: as document D "
        "did, with blocks of neighbouring answers kept together, and with probabilities made to add up to 1. A case is "
        "an LLM and a question with its anchors."
    )
    verb = "is" if always == 1 else "are"
    title = f"Of {len(rows)} cases {always} {verb} significant under every way of testing, {never} under none"
    return Figure("calls", title, caption, panels, [table])


def _scoring(row):
    return row["llm"], row["scoring_set"]


def _table(study, caption, source, by, rows, columns, **key):
    """Make a table in which a row is of one LLM, with what else picks it."""
    columns = [("LLM", lambda row: study.llm(row["llm"])), *columns]
    by = ("scoring_set", "llm", *by)
    return figure_table(study, caption, source, {"study": study.name, **key}, by, rows, columns)
