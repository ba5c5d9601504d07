"""What the Answer page says of whether a technique's gain in one place foretells its gain in another."""

from analysis.report.panels import Figure, draw_panel, figure_table, fixed, told
from analysis.report.tables import number, text, whole
from analysis.report.values import clean
from analysis.words import transfer as words

PLACE = ("study", "paradigm", "domain", "measure", "instrument", "arm", "arm_b")
KEY = ("goal", *PLACE, *(f"other_{name}" for name in PLACE))
CAPTION = (
    "How what techniques gain in the two places correlates, over techniques within each LLM, without the noise of the "
    "answers, with its 95 % interval. At 1 a technique that helps more in one place helps more in the other; at 0 the "
    "one says nothing of the other. LLMs count as independent."
)
COLUMNS = (
    ("places", lambda row: _places(row)),
    ("goal", text("goal")),
    ("correlation", number("r", digits=2)),
    ("low", number("low", digits=2)),
    ("high", number("high", digits=2)),
    ("LLMs", whole("n_llms")),
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
    by_study = [(study, rows) for study in studies if (rows := study.rows("transfer"))]
    return {
        "sentences": [clean(sentence) for _, rows in by_study for sentence in words.between(rows)],
        "figures": [_figure(study, of, i) for i, (study, of) in enumerate(by_study) if any(map(words.has_bounds, of))],
    }


def _figure(study, rows, place):
    shown = [row for row in rows if words.has_bounds(row)]
    values = [
        {"name": _places(row), "text": fixed(row["r"], 2), "end": 1.0}
        | {"value": row["r"], "low": row["low"], "high": row["high"]}
        for row in shown
    ]
    label = told(study.name, "correlation of gains", [(value["name"], value["text"]) for value in values])
    drawing = draw_panel(study, "intervals", values, label, "correlation of gains", [-1, 1.4], 0)
    table = figure_table(study, "correlation of gains", "inference.transfer", {}, KEY, shown, COLUMNS)
    return Figure(f"transfer-{place}", words.title(shown), clean(CAPTION), [(study.name, drawing)], [table])


def _places(row):
    """Name both places, with the arms that each compares: a drawing has one line for each name."""
    arms = ["/".join(filter(None, (row[f"{of}arm"], row[f"{of}arm_b"]))) for of in ("", "other_")]
    names = (words.place(row, of) for of in ("", "other_"))
    return clean(" – ".join(" ".join(filter(None, pair)) for pair in zip(names, arms, strict=True)))
