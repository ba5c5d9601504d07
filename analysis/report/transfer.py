"""What the Answer page says of whether a technique's gain in one place foretells its gain in another."""

from functools import partial
from itertools import groupby

from analysis.report.panels import Figure, draw_panel, figure_table, fixed, told
from analysis.report.tables import number, text, whole
from analysis.report.values import clean
from analysis.words import transfer as words
from analysis.words.codes import codes_of
from analysis.words.measures import on_cautious

CAPTION = (
    "How what techniques gain in the two places correlates, over techniques within each LLM, without the noise of the "
    "answers, with its 95 % interval. At 1 a technique that helps more in one place helps more in the other; at 0 the "
    "one says nothing of the other. A gain is a difference of squared losses, so that a large bias counts for more. "
    "LLMs count as independent."
)
OF_FEW = "Where LLMs of fewer than five vendors were asked, nothing is said of those of other vendors."
WIDER = (
    "The source does not say how alike the runs of one cluster are. Of two assumptions, that a whole cluster counts as "
    "one run and that all runs are independent, the one with the wider interval is shown; where one of them has none, "
    "nothing is."
)
COLUMNS = (
    ("places", lambda row: _places(row)),
    ("goal", text("goal")),
    ("correlation", number("r", digits=2)),
    ("low", number("low", digits=2)),
    ("high", number("high", digits=2)),
    ("LLMs", whole("n_llms")),
    ("vendors", whole("n_vendors")),
    ("techniques", whole("n_techniques")),
)


def transfer_of(studies):
    """Return what the page says of the places of its studies that share techniques.

    Parameters
    ----------
    studies : list of Study

    Returns
    -------
    dict
        `figures`, one of each study with places that can be compared, and `sentences` on those that cannot.
    """
    by_study = [(study, rows) for study in studies if (rows := words.cautious(study.rows("transfer")))]
    return {
        "sentences": [clean(sentence) for _, rows in by_study for sentence in words.between(rows)],
        "figures": [_figure(study, of, i) for i, (study, of) in enumerate(by_study) if any(map(words.has_bounds, of))],
    }


def _figure(study, rows, place):
    shown = [row for row in rows if words.has_bounds(row)]
    panels = [_panel(study, first, list(of_first)) for first, of_first in groupby(shown, key=partial(_place, of=""))]
    table = figure_table(study, "correlation of gains", "inference.transfer", {}, words.KEY, shown, COLUMNS)
    is_assumed = on_cautious(row["instrument"] for row in study.rows("transfer")) is not None
    is_of_few = any("too_few_vendors" in codes_of(row) for row in shown)
    caption = " ".join([CAPTION, *[OF_FEW] * is_of_few, *[WIDER] * is_assumed])
    return Figure(f"transfer-{place}", words.title(shown), clean(caption), panels, [table])


def _panel(study, first, rows):
    """Draw how gains in one place go with those in each other: two names would be cut on one line."""
    values = [
        {"name": _place(row, "other_"), "text": fixed(row["r"], 2), "end": 1.0}
        | {"value": row["r"], "low": row["low"], "high": row["high"]}
        for row in rows
    ]
    label = told(study.name, f"correlation of gains in {first} with", [(row["name"], row["text"]) for row in values])
    drawing = draw_panel(study, "intervals", values, label, "correlation of gains", [-1, 1.4], 0, is_named_whole=True)
    return f"{study.name}: {first} and", drawing


def _places(row):
    return " – ".join(_place(row, of) for of in ("", "other_"))


def _place(row, of):
    """Name a place, with the arms that it compares: a drawing has one line for each name."""
    arms = "/".join(filter(None, (row[f"{of}arm"], row[f"{of}arm_b"])))
    return clean(" ".join(filter(None, (words.place(row, of), arms))))
