"""`bais headlines`: what `bais recommend` says of all studies in which LLMs were asked, and what scores show."""

import click

from analysis.report.queries import queries
from analysis.words.headlines import scored_line, sentences_on_unread, study_line
from analysis.words.scores import SAID, in_short, sentences
from bais.evidence import evidence_by_paradigm, shortfalls_in_short
from bais.gains import say_places
from bais.options import only_study
from bais.people import sentences_on_alterations, sentences_on_people
from bais.sources import unread_lines
from bais.terminal import say, say_each
from bais.warehouse import (
    ASKED_OF,
    IS_A_STUDY,
    is_public,
    marts,
    not_public,
    public_tables,
    records,
    refuse_not_public,
    refuse_unknown,
)

STUDIES = f"""
select study, bool_and(source = 'simulated') as is_simulated,
    string_agg(distinct source, ' and ' order by source) as sources,
    sum(n_runs) filter (where role is null)::bigint as n_trials, count(role) as n_judgements
from {ASKED_OF} where {IS_A_STUDY} and left_out_because is null
group by study order by is_simulated, study
"""


@click.command()
@only_study
@click.option("--all", "every", is_flag=True, help="the simulated studies too (they come alone where no LLM was asked)")
def headlines(study: str | None, every: bool) -> None:
    """Say of all studies in one table each what helps, by the goal that leads, and what scores and people show."""

    with marts() as warehouse:
        studies = records(warehouse, STUDIES)
        scored, people = _scored(warehouse), sentences_on_people(warehouse)
        held_back = not_public(warehouse)
        if study:
            refuse_not_public(warehouse, study, [*(row["study"] for row in studies), *scored, *people])
        names = dict.fromkeys([*(row["study"] for row in studies), *scored, *people])
        refuse_unknown("study", study, names, " in this warehouse")
        is_real = any(not row["is_simulated"] for row in studies) or bool(scored or people)
        shown = [row for row in studies if study == row["study"] or not study]
        left_out = [] if study or every or not is_real else [row["study"] for row in shown if row["is_simulated"]]
        shown = [row for row in shown if row["study"] not in left_out]
        evidences = {row["study"]: evidence_by_paradigm(warehouse, row["study"], in_full=False) for row in shown}
        fallen_short = {row["study"]: shortfalls_in_short(warehouse, row["study"]) for row in shown}
        altered = {row["study"]: sentences_on_alterations(warehouse, row["study"]) for row in shown}
        unread = unread_lines(warehouse, study)

    for entry in shown:
        if len(shown) > 1 or not evidences[entry["study"]]:
            say(study_line(entry))
        say_places([evidence for of_paradigm in evidences[entry["study"]].values() for evidence in of_paradigm])
        say_each([*fallen_short[entry["study"]], *altered[entry["study"]]])
    for name, findings in scored.items():
        if study in (None, name):
            say_each([scored_line(findings), *sentences(findings)] if study else [in_short(name, findings)])
    say_each(sentence for name, sentence in people.items() if study in (None, name))
    say_each(sentences_on_unread(unread))
    say_each(f"{why[0].upper()}{why[1:]}." for why in (() if study else held_back.values()))
    if not (names or held_back):
        say("The warehouse holds no trials: land some with `bais import`, then run `bais build`.")
    else:
        also = " `--all`: simulated too." if left_out else ""
        say(f"`bais recommend`: more. `bais words`: what words mean.{also}")


def _scored(warehouse):
    """Read what the sentences on each study of scores are made of; a warehouse of old has none."""

    if not is_public(warehouse, "anchor_calls"):
        return {}
    sql = queries({name for _, name, _ in public_tables(warehouse)})
    rows = {name: records(warehouse, sql[name]) for name in SAID}
    return {
        entry["study"]: entry
        | {name: [row for row in group if row["study"] == entry["study"]] for name, group in rows.items()}
        for entry in records(warehouse, sql["scored"])
    }
