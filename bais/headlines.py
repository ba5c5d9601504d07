"""`bais headlines`: what the evidence on each bias says to use and to avoid, as `bais recommend` says it."""

from itertools import groupby
from operator import attrgetter
from shlex import quote

import click

from analysis.report.queries import queries
from analysis.words import codes
from analysis.words.advice import headline, verdict
from analysis.words.claims import on_versions, summary
from analysis.words.headlines import beside_rankings, scored_line, sentences_on_unread, study_line
from analysis.words.scores import SAID, sentences
from analysis.words.shortfalls import lines as lines_on_shortfalls
from bais.claims import CHECKED
from bais.evidence import evidence_by_paradigm
from bais.options import only_study
from bais.people import sentences_on_alterations, sentences_on_people
from bais.sources import unread_lines
from bais.terminal import say, say_each, say_rows
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

SHORTFALLS = "from marts.shortfalls order by study, paradigm, domain"


@click.command()
@only_study
def headlines(study: str | None) -> None:
    """Say what to use and what to avoid in each domain by the three goals, and what other biases and scores show."""

    with marts() as warehouse:
        studies = records(
            warehouse,
            "select study, bool_and(source = 'simulated') as is_simulated, "
            "string_agg(distinct source, ' and ' order by source) as sources, "
            "count(*) filter (where role is null) as n_trials, count(role) as n_judgements from marts.trials "
            f"where {IS_A_STUDY} and left_out_because is null group by study order by is_simulated, study",
        )
        checks = records(
            warehouse,
            f"select checks.*, claims.study from {CHECKED} where $study is null or claims.study = $study",
            {"study": study},
        )
        names = [row["study"] for row in studies]
        evidences = {name: evidence_by_paradigm(warehouse, name, in_full=False) for name in names}
        altered = {name: sentences_on_alterations(warehouse, name) for name in names}
        fallen_short = records(warehouse, SHORTFALLS) if is_public(warehouse, "shortfalls") else []
        people = sentences_on_people(warehouse)
        scored = _scored(warehouse)
        names = list(dict.fromkeys([*names, *scored, *people]))
        held_back = not_public(warehouse)
        unread = unread_lines(warehouse, study)
        if study:
            refuse_not_public(warehouse, study, names)
    refuse_unknown("study", study, names, " in this warehouse")

    def say_studies(are_simulated):
        for entry in studies:
            if study in (None, entry["study"]) and entry["is_simulated"] == are_simulated:
                _say_study(entry, evidences[entry["study"]], altered[entry["study"]], fallen_short)

    say_studies(are_simulated=False)
    for name, findings in scored.items():
        if study in (None, name):
            _say_scored(findings)
    say_each(sentence for name, sentence in people.items() if study in (None, name))
    say_studies(are_simulated=True)
    say_each(sentences_on_unread(unread))
    say_each(f"{why[0].upper()}{why[1:]}." for why in (() if study else held_back.values()))
    if not (studies or scored or people or held_back):
        say("The warehouse holds no trials: land some with `bais import`, then run `bais build`.")
    for document in sorted({check["document"] for check in checks}):
        of_document = [check for check in checks if check["document"] == document]
        text = " ".join([*summary(of_document), *on_versions(of_document)])
        named = "" if text.startswith(f"Document {document} ") else f"Document {document}. "
        say(f"{named}{text}")
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


def _say_scored(findings):

    say(scored_line(findings))
    texts = sentences(findings) or ["No question of it was scored under a low and a high anchor."]
    say_each(texts, indent="  ")
    print()


def _say_study(study, by_paradigm, altered, fallen_short):

    lines = list(lines_on_shortfalls([row for row in fallen_short if row["study"] == study["study"]]))
    say(study_line(study))
    evidences = [evidence for of_paradigm in by_paradigm.values() for evidence in of_paradigm]
    evidences = [evidence for evidence in evidences if evidence.rankings or evidence.biases]
    if not evidences and not altered:
        print("No two arms of it were asked, so that there is nothing to compare.")
    for _, of_paradigm in groupby((each for each in evidences if each.domain), key=attrgetter("paradigm")):
        _print_losses(list(of_paradigm))
    for evidence in evidences:
        _, *beside = verdict(evidence)
        say(headline(evidence))
        say_each(beside, indent="  ")
        if evidence.biases:
            where = f"{codes.option(evidence.paradigm)} --study {quote(study['study'])}"
            say(f"`bais recommend{where}` says more.", indent="  ")
    rows = [row for evidence in evidences for row in evidence.places]
    placebos = dict.fromkeys(row["control_name"] for row in rows if row["comparison"] == "placebo")
    rankings = [row for evidence in evidences for row in evidence.rankings]
    say_each([*beside_rankings(placebos, rankings), *altered, *lines])
    print()


def _print_losses(evidences):
    """Print each technique with its losses and the decision by the leading goal, then the controls."""
    goals, rows = evidences[0].goals, []
    for evidence in evidences:
        (leading,) = evidence.leading
        kept = [row for row in evidence.places if row["comparison"] in ("control", None) and row["loss"] is not None]
        loss = {(row["technique"], row["goal"]): evidence.words(row).number(row["loss"]) for row in kept}
        controls = [row for row in kept if row["comparison"] is None and row["goal"] == leading]
        for row in evidence.of(leading) + controls:
            losses = [loss.get((row["technique"], goal)) for goal in goals]
            decision = codes.DECISIONS[row["decision"]] if row["comparison"] else None
            rows.append([evidence.domain, row["name"], *losses, decision])
    if rows:
        losses = [f"{goal}\n({words.unit})" for goal, words in goals.items()]
        heads = ["domain", "technique", *losses, "decision"]
        say_rows("table", heads, rows, null="", right=range(2, 2 + len(goals)))
        print()
