"""Biases other than anchoring: how large each is, with a plain prompt and with each technique, and what is decided."""

from itertools import groupby

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_LLMS
from analysis.report.figures import room_for_text
from analysis.report.panels import Figure, around, draw_panel, fixed, tabled, told
from analysis.report.sections import Section
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import Row
from analysis.report.values import MISSING, SAID_ABOVE, Number, clean
from analysis.words.codes import DECISIONS, listed

CONTRASTS, DECIDED = "inference.outcome_contrasts", "inference.decisions"
FORETOLD = "inference.predictions"
PLACE = ("paradigm", "measure", "instrument", "arm", "arm_b")
MOST_PANELS = 24
FOUND = {"use": "helps", "avoid": "harms", "either": "helps in one comparison and harms in another"}
ALTERED = {
    "framing_changed": "changes of framing: how often an answer frames its text otherwise",
    "fact_check_wrong": "facts: how often a true statement and its falsified twin are not both judged rightly",
}
PERIODS = {"all": "all", "pre": "before its knowledge ends", "post": "after its knowledge ends"}


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
        people = [clean(row["sentence"]) for row in study.tables["said_of_people"]]
        title = "How often texts and facts come out altered"
        sections.append(Section(f"{prefix}-altered", title, "", people, altered))
    return sections


def _section(study, summary, id_):
    rows = study.rows("biases", paradigm=summary["paradigm"])
    return Section(
        id_,
        clean(summary["paradigm"]),
        clean(summary["headline"][:1].upper() + summary["headline"][1:]),
        [clean(sentence) for sentence in summary["sentences"]],
        [
            *([_figure_of_goals(study, summary)] if summary["goals"] else []),
            *([_figure(study, summary, rows)] if rows else []),
        ],
        [clean(note) for note in summary["notes"]],
        f"bais recommend --paradigm {clean(summary['paradigm'])} --study {study.name}",
    )


def _figure_of_goals(study, summary):
    """Make the figure of what each technique gains by each goal of a paradigm that names goals, with their table."""
    panels, made = [], []
    for (domain, goal), of_goal in groupby(summary["goals"], key=lambda row: (row["domain"], row["goal"])):
        values, pairs = [], []
        rows = [row for row in of_goal if row["gain"] is not None]
        low, high = around([row[column] for row in rows for column in ("gain", "gain_low", "gain_high")], 0)
        for row in rows:
            text = fixed(row["gain"], 1, "+")
            values.append(
                {
                    "name": row["name"], "value": row["gain"], "low": row["gain_low"], "high": row["gain_high"],
                    "text": text, "is_hollow": row["n_llms"] < FEWEST_LLMS, "reference": None if values else 0,
                    "end": high,
                }
            )  # fmt: skip
            pairs.append((row["name"], text))
            key = {name: row[name] for name in ("domain", "goal", "technique", "control")}
            made.append(
                Row(
                    key,
                    [
                        row["name"], clean(domain), clean(goal), DECISIONS[row["decision"]],
                        *(Number(row[column], column) for column in ("loss", "loss_control")),
                        *(Number(row[column], column, is_signed=True, reason=row["reason"])
                          for column in ("gain", "gain_low", "gain_high")),
                        *(Number(row[column], column, 0) for column in ("n_llms", "n_trials")),
                    ],
                )
            )  # fmt: skip
        if rows:
            title = f"{clean(domain)}, by {clean(goal)} ({rows[0]['unit']})"
            label = told(title, "gain on the control, and its 95 % interval", pairs)
            panels.append((title, draw_panel(study, "forest", values, label, "gain", room_for_text(low, high, 0.2))))
    measured = {row["goal"]: row["measures"] for row in summary["goals"]}
    meanings = "; ".join(f"{clean(goal)}: {clean(text)}" for goal, text in measured.items())
    caption = Markup(
        "How much smaller each technique makes what the paradigm names as goals, in percent of the answers that they "
        "are held against. {}. Dashed: no difference."
    ).format(f"{meanings[:1].upper()}{meanings[1:]}")
    shared = {"study": study.name, "paradigm": clean(summary["paradigm"]), "comparison": "control", "llm": None}
    heads = [
        "technique", "domain", "goal", "decision", "loss", "loss of the control", "gain", "from", "to", "LLMs",
        "trials",
    ]  # fmt: skip
    table = tabled(study, "What each technique gains by each goal", DECIDED, shared, heads, made)
    title = f"{clean(summary['paradigm'])}: what techniques gain"
    return Figure(f"goals-{clean(summary['paradigm'])}", title, caption, panels, [table])


def _figure(study, summary, rows):
    panels, tables = [], []
    of_llms = study.rows("biases_of_each_llm", paradigm=summary["paradigm"])
    shown = [(contrast, list(rows)) for contrast, rows in groupby(rows, key=lambda row: row["of"])]
    for heading, of_panel in shown[:MOST_PANELS]:
        panels.append((clean(heading), _panel(study, heading, of_panel, of_llms)))
    for measure, of_measure in groupby(rows, key=lambda row: (row["measure"], row["instrument"])):
        tables.append(_table(study, " by ".join(filter(None, measure)), list(of_measure)))
    noun = summary["noun"]
    caption = Markup(
        "How far the first arm lies from the second (or an only arm from what is taken off), with a plain prompt and "
        "with each technique. Dashed: no difference. ◆ is the mean over {}s, with its value; the line is its 95 % "
        "interval. Orange: each {} that was asked. ◇ is hollow where fewer than {} were asked: they say nothing of "
        "others.{}"
    ).format(
        noun,
        noun,
        FEWEST_LLMS,
        f" {len(shown) - MOST_PANELS} more comparisons are in the tables." if len(shown) > MOST_PANELS else "",
    )
    findings = [f"{listed(map(clean, summary[word]))} {verb}" for word, verb in FOUND.items() if summary[word]]
    title = f"{clean(summary['paradigm'])}: {'; '.join(findings) or 'no technique is shown to make it better or worse'}"
    return Figure(f"biases-{clean(summary['paradigm'])}", title, caption, panels, tables)


def _panel(study, heading, rows, of_llms):
    values, pairs, ends = [], [], []
    base = rows[0]["relative_to"]
    unit = (
        "percentage points" if rows[0]["is_share"] else f"% of the mean in {base}" if base else "units of the measure"
    )
    for row in rows:
        scale = 100 if row["is_share"] else 1
        name = row["name"]
        estimate, low, high = (
            None if row[column] is None else scale * row[column] for column in ("value", "low", "high")
        )
        text = fixed(estimate, 1 if row["is_share"] else 2, "+")
        values.append(
            {
                "name": name, "value": estimate, "low": low, "high": high, "text": text,
                "is_hollow": row["n_llms"] < FEWEST_LLMS, "reference": None if values else 0,
            }
        )  # fmt: skip
        llm_values = [
            scale * each["value"]
            for each in of_llms
            if all(each[column] == row[column] for column in (*PLACE, "technique"))
        ]
        values += [{"name": name, "llm": value} for value in llm_values]
        ends += [estimate, low, high, *llm_values]
        pairs.append((name, text if low is None else f"{text}, {fixed(low)} to {fixed(high)}"))
    low, high = around(ends, 0)
    for value in values:
        if "text" in value:
            value["end"] = high
    label = told(heading, f"difference in {unit}, and its 95 % interval", pairs)
    return draw_panel(study, "forest", values, label, f"difference ({unit})", room_for_text(low, high, 0.2))


def _table(study, measure, rows):
    first = rows[0]
    shared = {"study": study.name, **{name: first[name] for name in ("paradigm", "measure", "instrument")}}
    one_llm = {"level": "items", "row_set": "accepted", "weighting": "llm"}
    key = shared | ({"llm": first["llm"], **one_llm} if first["llm"] else {"is_headline": True})
    made = []
    for row in rows:
        contrast = {name: row[name] for name in ("arm", "arm_b", "technique")}
        place = shared | contrast | {"llm": row["llm"], "comparison": "control"}
        scale, digits = (100, 1) if row["is_share"] else (1, 3)
        first_missing = next((column for column in ("value", "low") if row[column] is None), None)

        def number(column, table=None, key=None, row=row, scale=scale, digits=digits, name=None, first=first_missing):
            reason = row["reason"] if column == first else SAID_ABOVE
            return Number(
                row[name or column], column, digits, scale, True, reason=reason, table=table, key=key or {}
            )  # fmt: skip

        gains = ("gain_asked_low", "gain_asked_high") if row["llm"] else ("gain_low", "gain_high")
        foretold = {name: place[name] for name in place if name != "comparison"} | {"control": row["control"]}
        made.append(
            Row(
                contrast,
                [
                    row["name"],
                    f"{row['arm']} less {row['arm_b']}" if row["arm_b"] else row["arm"],
                    *(number(column) for column in ("value", "low", "high")),
                    Number(row["p_holm"], "p_holm", 4, reason=SAID_ABOVE),
                    *(
                        [MISSING] * 5
                        if row["decision"] is None
                        else [
                            DECISIONS[row["decision"]],
                            number("gain", DECIDED, place),
                            *(
                                number(column, DECIDED, place, name=name)
                                for column, name in zip(gains, ("gain_low", "gain_high"), strict=True)
                            ),
                            Number(
                                row["p_better_than_control"], "p_better_than_control", 2, reason=SAID_ABOVE,
                                table=FORETOLD, key=foretold,
                            ),
                        ]
                    ),
                    *(Number(row[column], column, 0) for column in ("n_llms", "n_items", "n_trials")),
                ],
            )
        )  # fmt: skip
    unit = (
        " (pp)" if first["is_share"] else f" (% of the mean in {first['relative_to']})" if first["relative_to"] else ""
    )
    return tabled(
        study,
        f"{measure}: the difference without and with each technique, and what is decided",
        CONTRASTS,
        key,
        [
            "technique", "arms", f"difference{unit}", "from", "to", "p, by Holm", "decision", f"improved by{unit}",
            "from", "to", "P(better)", "LLMs", "items", "trials",
        ],
        made,
    )  # fmt: skip


def _altered(study):
    """Make the figures of how often LLMs change the framing of a text, and judge facts wrongly."""
    return [
        _rates(study, alteration, list(rows))
        for alteration, rows in groupby(study.rows("alterations"), key=lambda row: row["alteration"])
    ]


def _rates(study, alteration, rows):
    panels, made = [], []
    for llm, of_llm in groupby(rows, key=lambda row: row["llm"]):
        values, pairs = [], []
        several = len({row["period"] for row in rows}) > 1
        for row in of_llm:
            technique = study.technique(row["technique"])
            name = f"{row['period']}: {technique}" if several else technique  # a long name is cut at its end
            rate, low, high = (
                None if row[column] is None else 100 * row[column] for column in ("rate", "rate_low", "rate_high")
            )
            values.append({"name": name, "value": rate, "low": low, "high": high, "text": fixed(rate), "end": 100})
            pairs.append((name, f"{fixed(rate)} %"))
            key = {name: row[name] for name in ("llm", "technique", "period")}
            made.append(
                Row(
                    key,
                    [
                        study.llm(llm), technique, PERIODS[row["period"]],
                        *(
                            Number(row[column], column, 1, 100, unit="%", reason=row["reason"])
                            for column in ("rate", "rate_low", "rate_high")
                        ),
                    ],
                )
            )  # fmt: skip
        label = told(study.llm(llm), "share of cases, in percent", pairs)
        panels.append((study.llm(llm), draw_panel(study, "intervals", values, label, "% of cases", [0, 118])))
    words = ALTERED[alteration]
    table = tabled(
        study,
        words,
        "inference.alteration_and_people",
        {"study": study.name, "alteration": alteration},
        ["LLM", "technique", "texts from", "share of cases", "from", "to"],
        made,
    )
    plain = [row for row in rows if row["technique"] == NO_TECHNIQUE and row["rate"] is not None]
    least, most = (extreme((row["rate"] for row in plain), default=None) for extreme in (min, max))
    range_ = f"{100 * least:.0f} to {100 * most:.0f} % of cases" if plain else "no case could be counted"
    title = f"{words.split(':')[0].capitalize()}: with a plain prompt, {range_}, by LLM"
    caption = Markup(
        "{}, by LLM, in percent of its cases; the line is the 95 % interval over cases (Wilson). “pre” are texts from "
        "before the knowledge of the LLM ends, “post” those from after it."
    ).format(words[:1].upper() + words[1:])
    return Figure(f"altered-{alteration}", title, caption, panels, [table])
