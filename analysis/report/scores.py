"""Studies of scores: how far anchors move the answers that an LLM holds likely, and how sure tests are of it."""

from itertools import groupby

from markupsafe import Markup

from analysis.report.figures import room_for_text
from analysis.report.panels import Figure, around, draw_panel, fixed, tabled, told
from analysis.report.sections import Section
from analysis.report.tables import Row
from analysis.report.values import Number, clean
from analysis.words.scores import SAID, sentences

SCORES = {"evidence_from": "scores", "specification": "published"}
FROM_SCORES = {"evidence_from": "scores"}


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
    return [Section(f"{prefix}-scores", "What the scores show", first, more, figures, [], command, True)]


def _moves(study):
    """How far the expected answer of each LLM moves from the low to the high anchor, over questions."""
    rows = [row for row in study.rows("means") if row["estimate"] is not None]
    values = [
        {
            "name": study.llm(row["llm"]), "value": row["estimate"], "low": row["low"], "high": row["high"],
            "text": fixed(row["estimate"], sign="+"), "reference": None if i else 0,
        }
        for i, row in enumerate(rows)
    ]  # fmt: skip
    low, high = around([value[column] for value in values for column in ("value", "low", "high")], 0)
    for value in values:
        value["end"] = high
    pairs = [(value["name"], f"{value['text']}, {fixed(value['low'])} to {fixed(value['high'])}") for value in values]
    what = "move of the expected answer from the low to the high anchor, in percentage points"
    panel = draw_panel(study, "intervals", values, told("All LLMs", what, pairs), "pp", room_for_text(low, high, 0.2))
    table = tabled(
        study,
        "the move of the expected answer, mean over questions",
        "inference.anchor_sensitivities",
        {"study": study.name, **SCORES, "metric": "delta_ev"},
        ["LLM", "move (pp)", "from", "to", "questions"],
        [
            Row(
                {name: row[name] for name in ("scoring_set", "llm")},
                [
                    study.llm(row["llm"]),
                    *(
                        Number(row[column], column, is_signed=True, reason=row["reason"])
                        for column in ("estimate", "low", "high")
                    ),
                    Number(row["n_questions"], "n_questions", 0),
                ],
            )
            for row in rows
        ],
    )  # fmt: skip
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
    panels, made = [], []
    rows = [row for row in study.rows("expectations") if row["soft_ev"] is not None]
    n_raised = n_pairs = 0
    for (llm, _), of_llm in groupby(rows, key=lambda row: (row["llm"], row["scoring_set"])):
        values = []
        for variation, sides in groupby(of_llm, key=lambda row: row["variation"]):
            by_side = {row["anchor_direction"]: row for row in sides}
            made += [
                Row(
                    {name: row[name] for name in ("scoring_set", "llm", "variation", "anchor_direction")},
                    [
                        study.llm(llm), variation, side, Number(row["anchor"], "anchor", 0),
                        *(
                            Number(row[column], column, 1, reason=row["reason"])
                            for column in ("soft_ev", "band_low", "band_high")
                        ),
                    ],
                )
                for side, row in by_side.items()
            ]  # fmt: skip
            if {"low", "high"} <= set(by_side):
                low, high = (by_side[side]["soft_ev"] for side in ("low", "high"))
                values.append({"name": variation, "low": low, "high": high, "text": fixed(high - low, sign="+")})
                n_raised += high > low
                n_pairs += 1
        for value in values:
            value["end"] = 100
        pairs = [(value["name"], f"{fixed(value['low'])} and {fixed(value['high'])}") for value in values]
        label = told(study.llm(llm), "expected answer under the low and under the high anchor", pairs)
        panels.append((study.llm(llm), draw_panel(study, "dumbbells", values, label, "expected answer (%)", [0, 122])))
    table = tabled(
        study,
        "the expected answer under each anchor, and the band of single answers",
        "marts.soft_expectations",
        {"study": study.name, "evidence_from": "scores", "specification": "recommended"},
        ["LLM", "question", "anchor", "its value", "expected answer", "from", "to"],
        made,
    )
    caption = Markup(
        "▼ under the low anchor, ▲ under the high one, with the difference beside them; a line is a question with its "
        "pair of anchors. Probabilities are made to add up to 1 over the answers from 0 to 100."
    )
    title = f"In {n_raised} of {n_pairs} cases the high anchor raises the expected answer"
    return Figure("expectations", title, caption, panels, [table])


def _sensitivities(study):
    """The sensitivity score of each LLM and question, as published."""
    rows = [
        row for row in study.rows("sensitivities") if row["specification"] == "published" and row["abss"] is not None
    ]
    most = max((row["abss"] for row in rows), default=1) or 1
    shades = {id(row): 0 if row["abss"] <= 0 else 1 + min(int(4 * row["abss"] / most), 3) for row in rows}
    values = [
        {
            "name": study.llm(row["llm"]), "column": row["variation"], "text": fixed(row["abss"], 2),
            "colour": f"var(--chance-{shades[id(row)]})",
        }
        for row in rows
    ]  # fmt: skip
    label = told(
        "All LLMs", "sensitivity score", ((f"{cell['name']} {cell['column']}", cell["text"]) for cell in values)
    )
    panel = draw_panel(study, "cells", values, label) if values else None
    table = tabled(
        study,
        "document D's sensitivity score (ABSS), as published",
        "marts.sensitivity_scores",
        {"study": study.name, **SCORES},
        ["LLM", "question", "score"],
        [
            Row(
                {name: row[name] for name in ("scoring_set", "llm", "variation")},
                [study.llm(row["llm"]), row["variation"], Number(row["abss"], "abss", 2, reason=row["reason"])],
            )
            for row in rows
        ],
    )
    pairs = [
        row
        for row in study.rows("contrasts")
        if row["comparison"] == "llms" and row["metric"] == "abss" and row["low"] is not None
    ]
    told_apart = sum(row["low"] > 0 or row["high"] < 0 for row in pairs)
    caption = Markup(
        "The anchoring bias sensitivity score of document D adds up whether answers move, whether attributions do, and "
        "whether they agree; more is more anchored. Darker: a larger score."
    )
    title = f"The sensitivity score tells {told_apart} of {len(pairs)} pairs of LLMs apart"
    return Figure("sensitivities", title, caption, [("score by question", panel)] if rows else [], [table])


def _calls(study):
    """How many ways of testing call each case significant."""
    panels, made = [], []
    rows = [row for row in study.rows("calls") if row["variation"] is not None and row["share"] is not None]
    for (llm, _), of_llm in groupby(rows, key=lambda row: (row["llm"], row["scoring_set"])):
        values = []
        for row in of_llm:
            text = f"{row['n_standing']} of {row['n_specifications']}"
            values.append({"name": row["variation"], "value": 100 * row["share"], "text": text, "end": 100})
            made.append(
                Row(
                    {name: row[name] for name in ("scoring_set", "llm", "variation")},
                    [
                        study.llm(llm),
                        row["variation"],
                        Number(row["n_standing"], "n_standing", 0),
                        Number(row["n_specifications"], "n_specifications", 0),
                    ],
                )
            )
        for value in values:
            value["colour"] = "var(--blue)"
        label = told(
            study.llm(llm), "ways of testing that call it significant", ((v["name"], v["text"]) for v in values)
        )
        panels.append((study.llm(llm), draw_panel(study, "bars", values, label, "% of ways of testing", [0, 140])))
    table = tabled(
        study,
        "how many ways of testing call each case significant",
        "marts.anchor_calls",
        {"study": study.name, **FROM_SCORES},
        ["LLM", "question", "significant", "ways of testing"],
        made,
    )
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
