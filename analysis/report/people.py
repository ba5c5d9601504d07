"""Studies of people: how often a product is chosen after its review and after a summary of it."""

from itertools import groupby

from markupsafe import Markup

from analysis.report.panels import Figure, draw_panel, figure_table, fixed, told
from analysis.report.sections import Section
from analysis.report.studies import Study
from analysis.report.tables import number, share, text, whole
from analysis.report.values import MISSING, clean
from analysis.words.people import STARS, stars

SHARES, EFFECTS = "people.human_choice_shares", "people.human_choice_effects"


def sections_on_people(tables):
    """Make the section of each study of people.

    Parameters
    ----------
    tables : dict of str to list of dict
        The rows of all studies.

    Returns
    -------
    list of (Study, list of Section)
    """
    sections = []
    for i, row in enumerate(tables["said_of_people"]):
        study = Study(row["study"], False, tables)
        if rows := study.rows("human_choices"):
            title, figure = "What summaries do to people who choose", _shares(study, rows)
            sections.append((study, [Section(f"people-{i}", title, row["sentence"], [], [figure])]))
    return sections


def _shares(study, rows):
    """How often the target was chosen after the original and after the summary, of all products and of each."""
    panels, n_clear, n_products = [], 0, 0
    for product, of_product in groupby(rows, key=lambda row: row["product"]):
        values = [
            {
                "name": row["format"], "value": 100 * row["share"], "low": 100 * row["share_low"],
                "high": 100 * row["share_high"], "text": fixed(100 * row["share"]), "end": 100, "p": row["p_value"],
            }
            for row in of_product
        ]  # fmt: skip
        name = clean(product or "all products")
        mark = stars(values[0].pop("p"))
        n_clear, n_products = n_clear + bool(product and mark), n_products + bool(product)
        pairs = (
            (value["name"], f"{value['text']} %, {fixed(value['low'])} to {fixed(value['high'])}") for value in values
        )
        label = told(f"{name} {mark}".strip(), "share of choices, in percent", pairs)
        panels.append((f"{name} {mark}", draw_panel(study, "intervals", values, label, "% of choices", [0, 118])))
    columns = [
        ("product", lambda row: clean(row["product"] or "all products")),
        ("after", text("format")),
        ("share of choices", share("share")),
        ("from", share("share_low")),
        ("to", share("share_high")),
        ("choices", whole("n_choices")),
        ("p, summary against original", _p_value),
        ("stars", lambda row: stars(row["p_value"])),
    ]
    words = "how often the product that a summary reframes was chosen, by what was read of it"
    table = figure_table(
        study, words, SHARES, {"study": study.name, "condition": None}, ("product", "format"), rows, columns
    )
    caption = Markup(
        "Share of choices that fell on the product whose framing the summary changes, with the 95 % interval (Wilson). "
        "Stars compare summary and original by χ² with Yates' correction, which document C's χ² of all choices has "
        "too: {}. They treat each choice as made by another person and are not corrected for the number of products; "
        "the words below take into account who chose."
    ).format(", ".join(f"{mark} p < {below:g}" for below, mark in reversed(STARS)))
    after = {row["format"]: fixed(100 * row["share"]) for row in rows if row["product"] is None}
    title = (
        f"Chosen in {after.get('summary', MISSING)} % of cases after a summary and in "
        f"{after.get('original', MISSING)} % after the original; clear for {n_clear} of {n_products} products"
    )
    return Figure("choices", title, caption, panels, [table])


def _p_value(row):
    key = {"study": row["study"], "product": row["product"], "method": "chi_square_yates"}
    return number("p_value", digits=4, table=EFFECTS, key=key)(row)
