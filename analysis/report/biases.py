"""Biases other than anchoring: how large each is, with a plain prompt and with each technique, and what is decided."""

from functools import partial
from itertools import groupby

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_LLMS
from analysis.report.panels import Figure, axis_of, draw_forest, draw_panel, figure_table, fixed, told
from analysis.report.sections import Section
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import number, share, signed, text, whole
from analysis.report.values import MISSING, SAID_ABOVE, clean
from analysis.words.codes import DECISIONS, EITHER, listed
from analysis.words.measures import unit_of
from analysis.words.pages import NONE_SHOWN
from analysis.words.people import PERIODS
from analysis.words.settling import DOES

CONTRASTS, DECIDED = "inference.outcome_contrasts", "inference.decisions"
FORETOLD = "inference.predictions"
PLACE = ("paradigm", "measure", "instrument", "arm", "arm_b")
MOST_PANELS = 24
FOUND = {"use": DOES["use"], "avoid": DOES["avoid"], "either": EITHER}
ALTERED = {
    "framing_changed": "changes of framing: how often an answer frames its text otherwise",
    "fact_check_wrong": "facts: how often a true statement and its falsified twin are not both judged rightly",
}


def sections_on_biases(study, prefix):
    """Make a section for each paradigm beside anchoring.

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
        people = [row["sentence"] for row in study.tables["said_of_people"]]
        title = "How often texts and facts come out altered"
        sections.append(Section(f"{prefix}-altered", title, "", people, altered))
    return sections


def _section(study, summary, id_):
    paradigm, headline = clean(summary["paradigm"]), summary["headline"][:1].upper() + summary["headline"][1:]
    rows = study.rows("biases", paradigm=summary["paradigm"])
    figures = [_figure_of_goals(study, summary)] if summary["goals"] else []
    figures += [_figure(study, summary, rows)] if rows else []
    command = f"bais recommend --paradigm {paradigm} --study {study.name}"
    return Section(id_, paradigm, headline, summary["sentences"], figures, summary["notes"], command)


def _figure_of_goals(study, summary):
    """Make the figure of what each technique gains by each goal of a paradigm that names goals, with their table."""
    panels, paradigm = [], clean(summary["paradigm"])
    shown = [row for row in summary["goals"] if row["gain"] is not None]
    for (domain, goal), of_goal in groupby(shown, key=lambda row: (row["domain"], row["goal"])):
        rows = list(of_goal)
        values = [_effect(row, row["gain"], row["gain_low"], row["gain_high"], 1) for row in rows]
        title = f"{clean(domain)}, by {clean(goal)} ({rows[0]['unit']})"
        what = "gain on the control, and its 95 % interval"
        panels.append((title, draw_forest(study, title, what, values, "gain", axis_of(values, 0.2))))
    measured = {row["goal"]: row["measures"] for row in summary["goals"]}
    meanings = "; ".join(f"{clean(goal)}: {clean(meaning)}" for goal, meaning in measured.items())
    caption = Markup(
        "How much smaller each technique makes what the paradigm names as goals, in percent of the answers that they "
        "are held against. {}. Dashed: no difference."
    ).format(f"{meanings[:1].upper()}{meanings[1:]}")
    columns = [
        ("technique", lambda row: row["name"]),
        ("domain", text("domain")),
        ("goal", text("goal")),
        ("decision", lambda row: DECISIONS[row["decision"]]),
        ("loss", number("loss")),
        ("loss of the control", number("loss_control")),
        ("gain", signed("gain")),
        ("from", signed("gain_low")),
        ("to", signed("gain_high")),
        ("LLMs", whole("n_llms")),
        ("trials", whole("n_trials")),
    ]
    key = {"study": study.name, "paradigm": paradigm, "comparison": "control", "llm": None}
    by = ("domain", "goal", "technique", "control")
    table = figure_table(study, "What each technique gains by each goal", DECIDED, key, by, shown, columns)
    return Figure(f"goals-{paradigm}", f"{paradigm}: what techniques gain", caption, panels, [table])


def _effect(row, value, low, high, digits):
    """Return the marks of an effect, its number beside them; `heard` is that alone."""
    shown = fixed(value, digits, "+")
    is_hollow = row["n_llms"] < FEWEST_LLMS
    return {
        "name": row["name"], "value": value, "low": low, "high": high, "text": shown, "heard": shown,
        "is_hollow": is_hollow,
    }  # fmt: skip


def _figure(study, summary, rows):
    of_llms = study.rows("biases_of_each_llm", paradigm=summary["paradigm"])
    shown = [(contrast, list(rows)) for contrast, rows in groupby(rows, key=lambda row: row["of"])]
    panels = [(clean(heading), _panel(study, heading, rows, of_llms)) for heading, rows in shown[:MOST_PANELS]]
    tables = [
        _table(study, " by ".join(filter(None, measure)), list(of_measure))
        for measure, of_measure in groupby(rows, key=lambda row: (row["measure"], row["instrument"]))
    ]
    more = f" {len(shown) - MOST_PANELS} more comparisons are in the tables." if len(shown) > MOST_PANELS else ""
    caption = Markup(
        "How far the first arm lies from the second (or an only arm from what is taken off), with a plain prompt and "
        "with each technique. Dashed: no difference. ◆ is the mean over {noun}s, with its value; the line is its 95 % "
        "interval. Orange: each {noun} that was asked. ◇ is hollow where fewer than {fewest} were asked: they say "
        "nothing of others.{more}"
    ).format(noun=summary["noun"], fewest=FEWEST_LLMS, more=more)
    findings = [f"{listed(map(clean, summary[word]))} {verb}" for word, verb in FOUND.items() if summary[word]]
    paradigm = clean(summary["paradigm"])
    title = f"{paradigm}: {'; '.join(findings) or NONE_SHOWN}"
    return Figure(f"biases-{paradigm}", title, caption, panels, tables)


def _panel(study, heading, rows, of_llms):
    values, is_share = [], rows[0]["is_share"]
    unit = "percentage points" if is_share else unit_of(rows[0]) or "units of the measure"
    scale, digits = (100, 1) if is_share else (1, 2)
    for row in rows:
        ends = (None if row[column] is None else scale * row[column] for column in ("value", "low", "high"))
        effect = _effect(row, *ends, digits)
        if effect["low"] is not None:
            effect["heard"] += f", {fixed(effect['low'])} to {fixed(effect['high'])}"
        values.append(effect)
        values += [
            {"name": row["name"], "llm": scale * each["value"]}
            for each in of_llms
            if all(each[column] == row[column] for column in (*PLACE, "technique"))
        ]
    what, axis = f"difference in {unit}, and its 95 % interval", axis_of(values, 0.2)
    return draw_forest(study, heading, what, values, f"difference ({unit})", axis)


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
        ("decision", lambda row: MISSING if row["decision"] is None else DECISIONS[row["decision"]]),
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
