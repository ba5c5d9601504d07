"""`bais headlines`: what each domain's evidence says to use and to avoid, as `bais recommend` says it."""

import re
from itertools import groupby
from operator import itemgetter

import click

from analysis.claims.checks import on_versions, summary
from analysis.report.queries import queries
from analysis.words.codes import DECISIONS
from analysis.words.domains import Evidence, verdict
from analysis.words.headlines import beside_rankings, left_out_in_brief, scored_line, sentences_on_unread, study_line
from analysis.words.scores import SAID, sentences
from bais.biases import headlines_on_biases
from bais.claims import CHECKED
from bais.evidence import DECIDED
from bais.options import only_study
from bais.people import sentences_on_alterations, sentences_on_people
from bais.recommend import GOALS, HEADS
from bais.sources import unread_lines
from bais.terminal import first_sentence, fixed, say, say_each, say_rows
from bais.warehouse import (
    IS_A_STUDY,
    is_public,
    marts,
    not_public,
    public_tables,
    records,
    refuse_not_public,
    refuse_unknown,
)
from ingest.warehouse import printable, warehouse_path

ASIDE = re.compile(r" \([^()]*\)")  # what a short form leaves out
FINDINGS_IN_BRIEF = 2  # of scores: how far anchors move answers, and how often
KINDS = ("control", None)  # the rows that hold the loss of a technique, and of a control


@click.command()
@only_study
@click.option(
    "--brief", "is_brief", is_flag=True, help="a line for each answer; simulated studies where there is no other"
)
def headlines(study: str | None, is_brief: bool) -> None:
    """Say what to use and what to avoid in each domain by the three goals, and what other biases and scores show."""

    with marts() as warehouse:
        rankings = records(
            warehouse,
            f"from marts.effects where paradigm = 'anchoring' and llm is null and vignette is null and {IS_A_STUDY} "
            "order by study, domain, technique, goal",
        )
        places = records(
            warehouse,
            f"{DECIDED} where paradigm = 'anchoring' and {IS_A_STUDY} order by study, domain, llm, technique, goal",
        )
        studies = records(
            warehouse,
            "select study, bool_and(source = 'simulated') as is_simulated, "
            "string_agg(distinct source, ' and ' order by source) as sources, "
            "count(*) filter (where role is null) as n_trials, count(role) as n_judgements from marts.trials "
            f"where {IS_A_STUDY} and left_out_because is null group by study order by is_simulated, study",
        )
        checks = records(warehouse, f"select checks.*, claims.study, true as has_version from {CHECKED}")
        has_biases = is_public(warehouse, "outcome_contrasts")
        others = {}
        for name in (row["study"] for row in studies):
            on_biases = headlines_on_biases(warehouse, name) if has_biases else []
            others[name] = on_biases + sentences_on_alterations(warehouse, name)
        people = sentences_on_people(warehouse)
        scored = _scored(warehouse)
        names = list(dict.fromkeys([*(row["study"] for row in studies), *scored, *people]))
        held_back = not_public(warehouse)
        unread = unread_lines(warehouse, study)
        if study:
            refuse_not_public(warehouse, study, names)
    refuse_unknown("study", study, names, " in this warehouse")

    def say_studies(are_simulated):
        for entry in studies:
            if study in (None, entry["study"]) and entry["is_simulated"] == are_simulated:
                of_study = ([row for row in rows if row["study"] == entry["study"]] for rows in (rankings, places))
                _say_study(entry, *of_study, others[entry["study"]], is_brief)

    say_studies(are_simulated=False)
    for name, findings in scored.items():
        if study in (None, name):
            _say_scored(findings, is_brief)
    say_each(sentence for name, sentence in people.items() if study in (None, name))
    simulated = [row["study"] for row in studies if row["is_simulated"]]
    if is_brief and not study and simulated and (scored or len(simulated) < len(studies)):
        say(left_out_in_brief(simulated))
    else:
        say_studies(are_simulated=True)
    say_each(sentences_on_unread(unread))
    say_each(f"{why[0].upper()}{why[1:]}." for why in (() if study else held_back.values()))
    if not (studies or scored or people or held_back):
        say("The warehouse holds no trials: land some with `bais import`, then run `bais build`.")
    for document in sorted({check["document"] for check in checks}):
        of_document = [check for check in checks if check["document"] == document]
        text = " ".join([*summary(of_document), *on_versions(of_document)])
        say(f"Document {document}. {ASIDE.sub('', text) if is_brief else text}")
    if checks:
        say("`bais claims` says more of these published claims.")
    print(f"Warehouse: {printable(warehouse_path())}")


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


def _say_scored(findings, is_brief):

    say(scored_line(findings))
    texts = sentences(findings) or ["No question of it was scored under a low and a high anchor."]
    say_each(map(first_sentence, texts[:FINDINGS_IN_BRIEF]) if is_brief else texts, indent="  ")
    if not is_brief:
        print()


def _say_study(study, rankings, places, others, is_brief):

    say(study_line(study))
    domains = []
    for domain, ranked in groupby(rankings, itemgetter("domain")):
        here = [row for row in places if row["domain"] == domain]
        llms = sorted({row["llm"] for row in here if row["comparison"] == "control"} - {None})
        over = [row for row in here if row["llm"] is None]
        domains.append(
            Evidence(domain, is_simulated=study["is_simulated"], places=over, llms=llms, rankings=list(ranked))
        )
    if not rankings and not others:
        print("No trial of it had a low or a high anchor, so that there is nothing to compare.")
    if is_brief:
        say_each([*(verdict(evidence)[0] for evidence in domains), *others], indent="  ")
        return
    if rows := [row for evidence in domains for row in _losses(evidence)]:
        say_rows("table", ["domain", "technique", *HEADS.values(), "decision"], rows, null="", right=range(2, 5))
    if rankings:
        print()
    for evidence in domains:
        answer, *beside = verdict(evidence)
        say(answer)
        say_each(beside, indent="  ")
    placebos = dict.fromkeys(row["control_name"] for row in places if row["comparison"] == "placebo")
    say_each([*beside_rankings(placebos, rankings), *others])
    print()


def _losses(evidence):
    """Each technique with its losses and the decision by the leading goal, then the controls."""

    loss = {(row["technique"], row["goal"]): row["loss"] for row in evidence.places if row["comparison"] in KINDS}
    controls = [row for row in evidence.places if row["comparison"] is None and row["goal"] == GOALS[0]]
    for row in evidence.of(GOALS[0]) + controls:
        losses = [fixed(loss.get((row["technique"], goal)), ".1f") for goal in GOALS]
        yield [evidence.domain, row["name"], *losses, None if row in controls else DECISIONS[row["decision"]]]
