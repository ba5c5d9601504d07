"""Biases other than anchoring: how large each is, with a plain prompt and with each technique, and what is decided."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter

from markupsafe import Markup

from analysis.engine.questions import DESCRIBES
from analysis.report.matrix import tone_of
from analysis.report.panels import Figure, draw_panel, figure_table, fixed, told
from analysis.report.sections import Section
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import number, share, signed, text, whole
from analysis.report.values import MISSING, SAID_ABOVE, clean
from analysis.words.codes import POINTS, on_llms
from analysis.words.measures import BUILT_IN, most_cautious, unit_of
from analysis.words.people import PERIODS

CONTRASTS, DECIDED = "inference.outcome_contrasts", "inference.decisions"
MEANS = "content.data_set_means"
FORETOLD = "inference.predictions"
ALTERED = {
    "framing_changed": "changes of framing: how often an answer frames its text otherwise",
    "fact_check_wrong": "facts: how often a true statement and its falsified twin are not both judged rightly",
}


@dataclass(frozen=True)
class Effect:
    """A bias with a technique, or with a plain prompt: its mean, the interval, and what is drawn of it."""

    value: float
    low: float | None
    high: float | None
    most: float
    digits: int
    plain: float | None = None  # of the same LLMs
    tone: str = "open"
    n_llms: int | None = None  # where it is of other LLMs than the plain prompt beside it

    @property
    def text(self):
        """The mean with its sign."""
        return fixed(self.value, self.digits, "+")

    @property
    def of_llms(self):
        """How many LLMs it is of, where these are not those of the plain prompt."""
        return None if self.n_llms is None else f"{self.n_llms} {'LLM' if self.n_llms == 1 else 'LLMs'}"

    def at(self, value):
        """Return where a value stands on an axis with 0 in its middle, in percent of its length."""
        return f"{50 + 50 * max(min(value / self.most, 1), -1):.1f}%"


@dataclass(frozen=True)
class Bias:
    """A row of the matrix of biases."""

    paradigm: str
    name: str
    unit: str
    effects: dict
    has_none: bool = True  # whether a value stands for no bias


def matrices(study):
    """Return the biases of a study, each with a plain prompt and with each technique that was asked of its kind.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of (list of Bias, list of str)
        Those of paradigms that were asked with the same techniques, and these techniques, beside none.
    """
    rows = []
    for summary in study.rows("said_of_biases"):
        paradigm = clean(summary["paradigm"])
        # what describes texts alone is no bias
        of_paradigm = [
            row
            for row in study.rows("biases", paradigm=summary["paradigm"])
            if row["measured_from"] != DESCRIBES or row["better"] != "higher"
        ]
        of_paradigm = most_cautious(of_paradigm, itemgetter("of"))
        for name, group in groupby(of_paradigm, key=lambda row: row["of"]):
            rows.append(_bias(paradigm, name, list(group)))
        shown = [row for row in summary["goals"] if row["gain"] is not None]
        for (domain, goal), group in groupby(shown, key=lambda row: (row["domain"], row["goal"])):
            rows.append(_by_goal(paradigm, f"{clean(domain)}, {clean(goal)}", list(group)))
    rows = on_one_scale([row for row in rows if row is not None])
    techniques, made = {}, {}
    for row in rows:
        techniques.setdefault(row.paradigm, set()).update(row.effects)
    for row in rows:
        made.setdefault(frozenset(techniques[row.paradigm] - {NO_TECHNIQUE}), []).append(row)
    return [(of, sorted(names, key=lambda name: study.technique(name).lower())) for names, of in made.items()]


def on_one_scale(rows):
    """Give rows in points one scale, so that a longer way is a larger bias; each other row keeps its own.

    Parameters
    ----------
    rows : list of Bias

    Returns
    -------
    list of Bias
    """
    most = max((each.most for row in rows if row.unit == POINTS for each in row.effects.values()), default=None)
    return [
        replace(row, effects={name: replace(each, most=most) for name, each in row.effects.items()})
        if row.unit == POINTS
        else row
        for row in rows
    ]


def _bias(paradigm, name, rows):
    scale, digits, unit = (100, 1, POINTS) if rows[0]["is_share"] else (1, 2, unit_of(rows[0]) or "")
    ends = {
        row["technique"]: [None if row[end] is None else scale * row[end] for end in ("value", "low", "high")]
        for row in rows
    }
    n_llms = {row["technique"]: row["n_llms"] for row in rows}
    others = {technique: n for technique, n in n_llms.items() if n != n_llms.get(NO_TECHNIQUE)}
    plain = ends.get(NO_TECHNIQUE, [None])[0]
    rings = {technique: plain for technique in ends if technique not in {NO_TECHNIQUE, *others}}
    bias = _row(paradigm, name, unit, ends, rows, digits, rings, others)
    return bias and replace(bias, has_none=not rows[0].get("is_unsigned"))


def _by_goal(paradigm, name, rows):
    ends = {NO_TECHNIQUE: [rows[0]["loss_control"], None, None]}
    for row in rows:
        bounds = [None if row[end] is None else row["loss_control"] - row[end] for end in ("gain_high", "gain_low")]
        ends[row["technique"]] = [row["loss"], *bounds]
    rings = {row["technique"]: row["loss_control"] for row in rows}
    return _row(paradigm, name, rows[0]["unit"], ends, rows, 1, rings, {})


def _row(paradigm, name, unit, ends, rows, digits, rings, others):
    values = [abs(end) for three in ends.values() for end in three if end is not None]
    most = 1.05 * max(values, default=0) or 1
    tones = {row["technique"]: tone_of(row) for row in rows}
    effects = {
        technique: Effect(
            *three, most, digits, rings.get(technique), tones.get(technique, "open"), others.get(technique)
        )
        for technique, three in ends.items()
        if three[0] is not None
    }
    return Bias(paradigm, clean(name), clean(unit), effects) if effects else None


def sections_on_biases(study, prefix):
    """Make a section for each paradigm beside anchoring: what is said of it, and its numbers as tables.

    Parameters
    ----------
    study : Study
    prefix : str
        Of the ids of the sections.

    Returns
    -------
    list of Section
    """
    sections = [
        _section(study, summary, f"{prefix}-bias-{i + 1}") for i, summary in enumerate(study.rows("said_of_biases"))
    ]
    if altered := _altered(study):
        title = "How often texts and facts come out altered"
        sections.append(Section(f"{prefix}-altered", title, "", [], altered))
    return sections


def _section(study, summary, id_):
    paradigm, headline = clean(summary["paradigm"]), summary["headline"][:1].upper() + summary["headline"][1:]
    tables = [_table_of_goals(study, summary)] if summary["goals"] else []
    rows = most_cautious(study.rows("biases", paradigm=summary["paradigm"]), itemgetter("of"))
    tables += [
        _table(study, " by ".join(filter(None, measure)), list(of_measure))
        for measure, of_measure in groupby(rows, key=lambda row: (row["measure"], row["instrument"]))
    ]
    tables += _tables_of_data_sets(study, summary["paradigm"])
    command = f"bais recommend --paradigm {paradigm} --study {study.name}"
    return Section(id_, paradigm, headline, summary["sentences"], [], summary["notes"], command, tables=tables)


def _table_of_goals(study, summary):
    """Make the table of what each technique gains by each goal of a paradigm that names goals."""
    shown = most_cautious((row for row in summary["goals"] if row["gain"] is not None), itemgetter("goal"))
    columns = [
        ("technique", lambda row: row["name"]),
        ("domain", text("domain")),
        ("goal", text("goal")),
        ("decision", on_llms),
        ("loss", number("loss")),
        ("loss of the control", number("loss_control")),
        ("gain", signed("gain")),
        ("from", signed("gain_low")),
        ("to", signed("gain_high")),
        ("LLMs", whole("n_llms")),
        ("trials", whole("n_trials")),
    ]
    key = {"study": study.name, "paradigm": summary["paradigm"], "comparison": "control", "llm": None}
    by = ("domain", "goal", "technique", "control")
    return figure_table(study, "What each technique gains by each goal", DECIDED, key, by, shown, columns)


def _tables_of_data_sets(study, paradigm):
    """Make a table of each measure of texts and facts: its mean over the data sets that a paradigm was asked with."""
    rows = [row for row in study.rows("data_set_means", paradigm=paradigm) if row["measure"] in BUILT_IN]
    columns = ("is_simulated", "measure", "instrument", "arm")
    return [
        _over_data_sets(study, {"paradigm": paradigm, **dict(zip(columns, of, strict=True))}, list(group))
        for of, group in groupby(rows, key=lambda row: tuple(row[column] for column in columns))
    ]


def _over_data_sets(study, key, rows):
    words, is_share = BUILT_IN[key["measure"]]
    by = f" (by {key['instrument']})" if key["instrument"] else ""
    columns = [
        ("technique", lambda row: study.technique(row["technique"])),
        ("LLM", lambda row: study.llm(row["llm"]) if row["llm"] else "all that were asked with each data set"),
        ("mean", share("value") if is_share else number("value", digits=3)),
        ("data sets", whole("n_data_sets")),
        ("LLMs", whole("n_llms")),
        ("LLMs that a data set lacks", whole("n_llms_left_out")),
    ]
    caption = f"{words}{by}: the mean over data sets, in which each LLM in each data set weighs the same"
    return figure_table(study, caption, MEANS, key, ("technique", "llm"), rows, columns)


def _table(study, measure, rows):
    first = rows[0]
    shared = {"study": study.name, **{name: first[name] for name in ("paradigm", "measure", "instrument")}}
    one_llm = {"level": "items", "row_set": "accepted", "weighting": "llm"}
    key = shared | ({"llm": first["llm"], **one_llm} if first["llm"] else {"is_headline": True})
    scale, digits = (100, 1) if first["is_share"] else (1, 3)
    differing = partial(signed, digits=digits, scale=scale)
    contrast = ("arm", "arm_b", "technique")

    def decided(cell_of, column, expression=None, *, table=DECIDED, **more):
        """Return the cell of a number on a technique that is decided on, which stands in another table."""

        def cell(row):
            if row["decision"] is None:
                return MISSING
            place = shared | {name: row[name] for name in contrast} | {"llm": row["llm"]}
            place |= {"comparison": "control"} if table == DECIDED else {"control": row["control"]}
            return cell_of(column, expression, table=table, key=place, reason=SAID_ABOVE, **more)(row)

        return cell

    unit = f" ({unit_of(first)})" if unit_of(first) else ""
    columns = [
        ("technique", lambda row: row["name"]),
        ("arms", lambda row: f"{row['arm']} less {row['arm_b']}" if row["arm_b"] else row["arm"]),
        (f"difference{unit}", differing("value")),
        ("from", lambda row: differing("low", reason=SAID_ABOVE if row["value"] is None else row["reason"])(row)),
        ("to", differing("high", reason=SAID_ABOVE)),
        ("p, by Holm", number("p_holm", digits=4, reason=SAID_ABOVE)),
        ("decision", lambda row: MISSING if row["decision"] is None else on_llms(row)),
        (f"gain{unit}", decided(differing, "gain")),
        ("from", decided(differing, "gain_low")),
        ("to", decided(differing, "gain_high")),
        ("P(better)", decided(number, "p_better_than_control", table=FORETOLD, digits=2)),
        ("LLMs", whole("n_llms")),
        ("items", whole("n_items")),
        ("trials", whole("n_trials")),
    ]
    caption = f"{measure}: the difference without and with each technique, and what is decided"
    return figure_table(study, caption, CONTRASTS, key, contrast, rows, columns)


def _altered(study):
    """Make the figures of how often LLMs change the framing of a text, and judge facts wrongly."""
    return [
        _rates(study, alteration, list(rows))
        for alteration, rows in groupby(study.rows("alterations"), key=lambda row: row["alteration"])
    ]


def _rates(study, alteration, rows):
    panels, several = [], len({row["period"] for row in rows}) > 1
    for llm, of_llm in groupby(rows, key=lambda row: row["llm"]):
        values = []
        for row in of_llm:
            technique = study.technique(row["technique"])
            name = f"{row['period']}: {technique}" if several else technique  # a long name is cut at its end
            rate, low, high = (
                None if row[column] is None else 100 * row[column] for column in ("rate", "rate_low", "rate_high")
            )
            values.append({"name": name, "value": rate, "low": low, "high": high, "text": fixed(rate), "end": 100})
        pairs = ((value["name"], f"{value['text']} %") for value in values)
        label = told(study.llm(llm), "share of cases, in percent", pairs)
        panels.append((study.llm(llm), draw_panel(study, "intervals", values, label, "% of cases", [0, 118])))
    words = ALTERED[alteration]
    columns = [
        ("LLM", lambda row: study.llm(row["llm"])),
        ("technique", lambda row: study.technique(row["technique"])),
        ("texts from", lambda row: PERIODS[row["period"]].removeprefix(" from ") or row["period"]),
        ("share of cases", share("rate")),
        ("from", share("rate_low")),
        ("to", share("rate_high")),
    ]
    key = {"study": study.name, "alteration": alteration}
    by = ("llm", "technique", "period")
    table = figure_table(study, words, "people.alteration_and_people", key, by, rows, columns)
    plain = [row["rate"] for row in rows if row["technique"] == NO_TECHNIQUE and row["rate"] is not None]
    range_ = f"{100 * min(plain):.0f} to {100 * max(plain):.0f} % of cases" if plain else "no case could be counted"
    title = f"{words.split(':')[0].capitalize()}: with a plain prompt, {range_}, by LLM"
    caption = Markup(
        "{}, by LLM, in percent of its cases; the line is the 95 % interval over cases (Wilson). “pre” are texts from "
        "before the knowledge of the LLM ends, “post” those from after it."
    ).format(words[:1].upper() + words[1:])
    return Figure(f"altered-{alteration}", title, caption, panels, [table])
