"""Studies of scores: how far anchors move the answers that an LLM holds likely, and how sure tests are of it."""

import math
from itertools import groupby

from markupsafe import Markup

from analysis.report.panels import Figure, axis_of, draw_panel, figure_table, fixed, told
from analysis.report.sections import Section
from analysis.report.tables import named, number, signed, text, whole
from analysis.report.values import clean
from analysis.words.scores import SAID, sentences

FROM_SCORES = {"evidence_from": "scores"}
PUBLISHED = {**FROM_SCORES, "specification": "published"}
DISTRIBUTIONS = "papers.attribution_distributions"
CORRECTED = {
    "published": "as published",
    "normalised_blocks_of_ten": "corrected tests",
    "recommended": "corrected tests, Shapley values",
}
DIFFERENCES = (
    "The anchoring bias sensitivity score of document D adds up whether answers move, whether the contributions of the "
    "anchor do, and whether they agree; more is more anchored. As published: each of the 101 answers counts as "
    "independent, and contributions are Banzhaf values. Corrected tests: probabilities add up to 1, and ten "
    "neighbouring answers keep together. Shapley values can only be had of LLMs that were scored here: recorded files "
    "do not say what each of the 16 sets of fields is worth. By any of them an LLM with random weights can be above 0: "
    "whether an LLM is anchored is what the move of its expected answer says."
)
VALUES = {"published": "Banzhaf values", "recommended": "Shapley values"}
REGIMES = {"standard": "standard anchors", "different_anchors": "different anchors"}
FIELDS = ("scene", "comparative", "absolute", "anchor")
SIDES = {"low": "▼", "high": "▲", "between": "◆"}
COLOURS = {"low": "var(--blue)", "high": "var(--orange)", "between": "currentColor"}


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
    makers = (_moves, _expectations, _scores, _sensitivities, _calls, _contributions, _fields, _curves)
    figures = [figure for make in makers if (figure := make(study)).panels]
    command = f"bais headlines --study {study.name}"
    return [Section(f"{prefix}-scores", "What the scores show", first, more, figures, [], command)]


def _moves(study):
    """How far the expected answer of each LLM moves from the low to the high anchor, over questions."""
    rows = [row for row in study.rows("means", metric="delta_ev", specification="published") if _is_known(row)]
    what = "move of the expected answer from the low to the high anchor, in percentage points"
    titles = {False: "without V0", True: "with V0"} if any(row["has_v0"] for row in rows) else {False: "all questions"}
    panels = [
        (title, _of_llms(study, shown, what, "pp", 1))
        for has_v0, title in titles.items()
        if (shown := [row for row in rows if row["has_v0"] == has_v0])
    ]
    columns = [
        ("V0", lambda row: "among them" if row["has_v0"] else "left out"),
        ("move (pp)", signed("estimate")),
        ("from", signed("low")),
        ("to", signed("high")),
        ("questions", whole("n_questions")),
    ]
    key = {**PUBLISHED, "metric": "delta_ev", "comparison": "anchors"}
    caption = "the move of the expected answer, mean over questions"
    table = _table(study, caption, "papers.anchor_sensitivities", ["has_v0"], rows, columns, **key)
    shown = [row for row in rows if not row["has_v0"]]
    caption = Markup(
        "The expected answer is the mean of all answers from 0 to 100, each weighted with the probability that the LLM "
        "gives it. Drawn is how much higher it is under the high anchor than under the low one, as a mean over "
        "questions with its 95 % interval over questions like these. Dashed: the anchor moves nothing."
    )
    if True in titles:
        caption += (
            " V0 is the classic question on African countries, which LLMs may have learned with its answer: document D "
            "leaves it out of means, and so do all other numbers here."
        )
    title = f"In {_clearly_above_0(shown)} of {len(shown)} LLMs the expected answer clearly moves with the anchor"
    return Figure("moves", title, caption, panels, [table])


def _scores(study):
    """The sensitivity score of each LLM, mean over questions, as published and corrected."""
    rows = [row for row in study.rows("means", metric="abss", has_v0=False) if _is_known(row)]
    what = "sensitivity score, mean over questions"
    panels = [
        (title, _of_llms(study, shown, what, "score", 2))
        for specification, title in CORRECTED.items()
        if (shown := [row for row in rows if row["specification"] == specification])
    ]
    columns = [
        ("score computed", lambda row: CORRECTED[row["specification"]]),
        ("score", signed("estimate", digits=2)),
        ("from", signed("low", digits=2)),
        ("to", signed("high", digits=2)),
        ("questions", whole("n_questions")),
    ]
    key = {**FROM_SCORES, "metric": "abss", "comparison": "anchors", "has_v0": False}
    caption = "document D's sensitivity score (ABSS), mean over questions"
    table = _table(study, caption, "papers.anchor_sensitivities", ["specification"], rows, columns, **key)
    shown = [row for row in rows if row["specification"] == "normalised_blocks_of_ten"]
    title = f"With corrected tests {_clearly_above_0(shown)} of {len(shown)} LLMs have a score clearly above 0"
    return Figure("scores", title, Markup(DIFFERENCES), panels, [table])


def _is_known(row):
    return row["estimate"] is not None


def _clearly_above_0(rows):
    return sum(row["low"] is not None and row["low"] > 0 for row in rows)


def _of_llms(study, rows, what, unit, digits):
    """Draw the mean of each LLM with its interval."""
    values = [
        {
            "name": study.llm(row["llm"]), "value": row["estimate"], "low": row["low"], "high": row["high"],
            "text": fixed(row["estimate"], digits, sign="+"),
        }
        for row in rows
    ]  # fmt: skip
    pairs = [
        (value["name"], f"{value['text']}, {fixed(value['low'], digits)} to {fixed(value['high'], digits)}")
        for value in values
    ]
    label, axis = told("All LLMs", what, pairs), axis_of(values, 0.2)
    return draw_panel(study, "intervals", values, label, unit, axis, 0)


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
    """The sensitivity score of each LLM and question, as published and corrected."""
    rows = [row for row in study.rows("sensitivities") if row["abss"] is not None]
    panels = []
    for specification, title in CORRECTED.items():
        shown = [row for row in rows if row["specification"] == specification]
        values = [{"name": row["variation"], "column": study.llm(row["llm"]), "value": row["abss"]} for row in shown]
        if values:
            panels.append((title, _shaded(study, values, "All LLMs", f"sensitivity score, {title}")))
    columns = [
        ("score computed", lambda row: CORRECTED[row["specification"]]),
        ("question", text("variation")),
        ("score", number("abss", digits=2)),
    ]
    caption = "document D's sensitivity score (ABSS) of each question"
    by = ["variation", "specification"]
    table = _table(study, caption, "papers.sensitivity_scores", by, rows, columns, **FROM_SCORES)
    pairs = [row for row in study.rows("contrasts", comparison="llms", metric="abss") if row["low"] is not None]
    told_apart = sum(row["low"] > 0 or row["high"] < 0 for row in pairs)
    caption = Markup(f"Darker: a larger score; no shade: 0 or less. {DIFFERENCES}")
    title = f"The sensitivity score tells {told_apart} of {len(pairs)} pairs of LLMs apart"
    return Figure("sensitivities", title, caption, panels, [table])


def _shaded(study, values, of, what, digits=2):
    """Draw a heat map in which a larger positive number is darker."""
    most = max(max(cell["value"] for cell in values), 0) or 1
    for cell in values:
        share = max(cell["value"], 0) / most
        cell["colour"] = f"var(--chance-{min(math.ceil(4 * share), 4)})"
        cell["text"] = fixed(cell["value"], digits)
    label = told(of, what, ((f"{cell['column']} {cell['name']}", cell["text"]) for cell in values))
    return draw_panel(study, "cells", values, label)


def _contributions(study):
    """How what the anchor adds is distributed over the answers, for each question and anchor."""
    rows = [row for row in study.rows("distributions", field="anchor") if row["mean"] is not None]
    panels, means = [], {}
    for (llm, _, _, regime), of_panel in groupby(sorted(rows, key=_grid), key=_grid):
        of_panel = list(of_panel)
        values = [
            {
                "name": f"{row['variation']} {SIDES[row['anchor_direction']]} {row['anchor']:g}",
                "colour": COLOURS[row["anchor_direction"]], "value": row["median"],
                "low": row["lower_whisker"], "high": row["upper_whisker"],
                "from": row["lower_quartile"], "to": row["upper_quartile"], "text": fixed(row["median"], 2),
            }
            for row in of_panel
        ]  # fmt: skip
        what = f"median of what the anchor adds, {VALUES[of_panel[0]['specification']]}, in nats"
        label = told(study.llm(llm), what, ((value["name"], value["text"]) for value in values))
        title = ", ".join(filter(None, (study.llm(llm), REGIMES.get(regime))))
        unit = f"nats, {VALUES[of_panel[0]['specification']]}"
        panels.append((title, draw_panel(study, "boxes", values, label, unit, axis_of(values, 0.2), 0)))
    for row in rows:
        means.setdefault((*_scoring(row), row["variation"]), {})[row["anchor_direction"]] = row["mean"]
    pairs = [sides for sides in means.values() if {"low", "high"} <= set(sides)]
    n_more = sum(sides["high"] > sides["low"] for sides in pairs)
    columns = [
        ("question", text("variation")),
        ("anchor", whole("anchor")),
        ("mean", signed("mean", digits=2)),
        ("whisker", signed("lower_whisker", digits=2)),
        ("quartile", signed("lower_quartile", digits=2)),
        ("median", signed("median", digits=2)),
        ("quartile", signed("upper_quartile", digits=2)),
        ("whisker", signed("upper_whisker", digits=2)),
    ]
    caption = "what the anchor adds to the log-probability of the 101 answers, in nats"
    by = ["variation", "anchor_direction", "anchor", "specification"]
    table = _table(study, caption, DISTRIBUTIONS, by, rows, columns, field="anchor")
    caption = Markup(
        "▼ the low anchor, ▲ the high one. Above 0 the anchor makes answers more likely than prompts without it do. A "
        "box holds the middle half of the 101 answers, the tick is the median, and a line ends at the last answer "
        "within one and a half boxes. Shapley values where all 16 sets of fields were scored, else Banzhaf values, "
        "which document D calls Shapley values."
    )
    title = f"In {n_more} of {len(pairs)} cases the anchor adds more where it is high"
    return Figure("contributions", title, caption, panels, [table])


def _curves(study):
    """What the anchor adds to the answers from 0 to 100, by tens."""
    rows = [row for row in study.rows("curves") if row["mean"] is not None]
    panels, n_prompts, n_own = [], 0, 0
    for (llm, _, variation), of_panel in groupby(rows, key=lambda row: (*_scoring(row), row["variation"])):
        sides = {}
        for row in of_panel:
            sides.setdefault(row["anchor_direction"], []).append(row)
        shown = {side: sides[side] for side in ("low", "high") if side in sides}
        largest = {side: max(of_side, key=lambda row: row["mean"]) for side, of_side in shown.items()}
        n_prompts += len(shown)
        n_own += sum(row["is_of_anchor"] for row in largest.values())
        values = [
            {"name": side, "colour": COLOURS[side], "target": row["target"], "value": row["mean"]}
            for side, of_side in shown.items()
            for row in of_side
        ]
        what = f"{variation}, the answers in per cent to which the anchor adds most"
        label = told(study.llm(llm), what, ((f"{side} anchor", fixed(largest[side]["target"], 1)) for side in shown))
        title = f"{study.llm(llm)}, {variation}"
        panels.append((title, draw_panel(study, "curves", values, label, "answer (%)", [0, 100], 0)))
    caption = Markup(
        "▼ solid: the low anchor, ▲ dashed: the high one; a mark is the mean of ten neighbouring answers, in nats. The "
        "own ten of the anchor 15 are the answers from 10 to 19. Shapley or Banzhaf values as above."
    )
    title = f"In {n_own} of {n_prompts} prompts the anchor adds most to the answers of its own ten"
    return Figure("curves", title, caption, panels, [], source=named("papers.attributions"))


def _fields(study):
    """What each field of the prompt adds on average."""
    rows = [row for row in study.rows("distributions") if row["mean"] is not None]
    panels, n_prompts, n_anchor = [], 0, 0
    for (llm, _), of_panel in groupby(rows, key=_scoring):
        values = []
        for (variation, _), of_prompt in groupby(of_panel, key=lambda row: (row["variation"], row["anchor"])):
            by_field = {row["field"]: row for row in of_prompt}
            values += [
                {
                    "name": f"{variation} {SIDES[row['anchor_direction']]} {row['anchor']:g}", "column": field,
                    "value": row["mean"],
                }
                for field in FIELDS if (row := by_field.get(field))
            ]  # fmt: skip
            n_prompts += 1
            n_anchor += max(by_field.values(), key=lambda row: abs(row["mean"]))["field"] == "anchor"
        panels.append((study.llm(llm), _shaded(study, values, study.llm(llm), "mean contribution in nats")))
    caption = Markup(
        "A prompt has four fields: a scene, a question that compares (comparative), the question proper (absolute) and "
        "the anchor in both places. Each number is the mean over the 101 answers, in nats; darker: a field makes "
        "answers more likely; no shade: it makes them less likely."
    )
    title = f"In {n_anchor} of {n_prompts} prompts the anchor weighs most of the four fields"
    return Figure("fields", title, caption, panels, [], source=named(DISTRIBUTIONS))


def _grid(row):
    return *_scoring(row), row["anchor_regime"] != "standard", row["anchor_regime"] or ""


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
