"""`bais headlines`: which technique comes first in each domain, by deviation and by susceptibility."""

from itertools import groupby
from operator import itemgetter

import click

from bais.options import only_study
from bais.published import CHECKED, say_versions, sum_up
from bais.terminal import fixed, say, say_rows
from bais.warehouse import IS_A_STUDY, marts, not_public, not_ranked, records, refuse_not_public, refuse_unknown
from ingest.warehouse import printable, warehouse_path

MEASURES = {
    "% of\nbaseline": ("percent_of_baseline", ".1f"),
    "deviation\n(pp)": ("deviation_pp", "+.1f"),
    "spread\nchange %": ("spread_change_percent", "+.1f"),
    "rank by\ndeviation": ("rank_by_deviation", ""),
    "rank by\nsuscept.": ("rank_by_susceptibility", ""),
}


@click.command()
@only_study
def headlines(study: str | None) -> None:
    """Say which technique comes first in each domain, by deviation and by susceptibility, and whether these agree."""
    with marts() as warehouse:
        rankings = records(
            warehouse,
            "select rankings.*, coalesce(techniques.display_name, rankings.technique) as name "
            "from marts.technique_rankings as rankings left join seeds.techniques as techniques using (technique) "
            f"where llm is null and {IS_A_STUDY} "
            "order by study, domain, rank_by_deviation, rank_by_susceptibility, technique",
        )
        studies = records(
            warehouse,
            "select study, bool_and(source = 'simulated') as is_simulated, "
            "string_agg(distinct source, ' and ' order by source) as sources, count(*) as n_trials from marts.trials "
            f"where {IS_A_STUDY} group by study order by is_simulated desc, study",
        )
        checks = records(
            warehouse,
            "select checks.kind, checks.status, checks.document, checks.version, checks.newest_status, claims.study, "
            f"true as has_version from {CHECKED}",
        )
        held_back = not_public(warehouse)
        if study:
            refuse_not_public(warehouse, study, [of["study"] for of in studies])
    refuse_unknown("study", study, [of["study"] for of in studies], " in this warehouse")
    for of in studies:
        if study in (None, of["study"]):
            _say_study(of, [row for row in rankings if row["study"] == of["study"]])
    for why in () if study else held_back.values():
        say(f"{why[0].upper()}{why[1:]}.")
    if not studies and not held_back:
        say("The warehouse holds no trials: land some with `bais import`, then run `bais build`.")
    if checks:
        say(f"Claims: {' '.join([sum_up(checks), *say_versions(checks)])} `bais claims` says more.")
    print(f"Warehouse: {printable(warehouse_path())}")


def _say_study(study, rankings):
    how = "SIMULATED respondents, no LLM was asked" if study["is_simulated"] else study["sources"]
    say(f"Study {study['study']}, {study['n_trials']:,} trials ({how})")
    domains = {domain: list(rows) for domain, rows in groupby(rankings, itemgetter("domain"))}
    rows = [
        [row["domain"], row["name"], *(fixed(row[column], form) for column, form in MEASURES.values())]
        for row in rankings
        if 1 in (row["rank_by_deviation"], row["rank_by_susceptibility"])
    ]
    if not rankings:
        print("No trial of it had a low or a high anchor, so that there is nothing to compare.")
    if rows:
        say_rows("table", ["domain", "technique", *MEASURES], rows, right=range(2, 7))
    print()
    for domain, ranked in domains.items():
        say(f"{domain}: {_verdict(ranked)}")
    if said := not_ranked(rankings):
        say(said)
    print()


def _verdict(ranked):
    """Say in a sentence or two what the rankings of one domain come to."""
    closest = [row for row in ranked if row["rank_by_deviation"] == 1]
    steadiest = [row for row in ranked if row["rank_by_susceptibility"] == 1]
    reasons = sorted({word for row in ranked for word in (row["reason"] or "").split("; ")} - {"", "not_ranked"})
    if not closest or not steadiest:
        return f"nothing can be ranked ({', '.join(reasons) or 'no reason given'})."
    if closest == steadiest:
        said = f"{_named(closest)}: closest to the baseline, and the smallest spread between anchors: "
        said += "the metrics agree."
    else:
        end = "the metrics disagree" if ranked[0]["metrics_disagree"] else "the metrics share a winner"
        are, have = ("are" if len(closest) > 1 else "is"), ("have" if len(steadiest) > 1 else "has")
        said = f"{_named(closest)} {are} closest to the baseline; "
        said += f"{_named(steadiest)} {have} the smallest spread between anchors: {end}."
    without = next((row for row in ranked if row["technique"] == "no_technique"), None)
    if without:
        rank = "rank_by_deviation_with_no_technique"
        if without[rank] == 1 and closest[0][rank] != 1:
            said += f" Without any technique the answers are closer still ({_percent(without)} %)."
        if without["spread_pp"] is not None and abs(steadiest[0]["spread_pp"]) >= abs(without["spread_pp"]):
            said += " No ranked technique has a smaller spread than no technique."
    if any(row["spread_change_percent"] is None for row in closest + steadiest):
        said += f" The spread change is null: {', '.join(reasons) or 'no reason given'}."
    return said


def _named(rows):
    return " and ".join(
        f"{row['name']} ({_percent(row)} %, rank {_rank(row['rank_by_deviation'])} by deviation, "
        f"{_rank(row['rank_by_susceptibility'])} by susceptibility)"
        for row in rows
    )


def _percent(row):
    return fixed(row["percent_of_baseline"], ".1f")


def _rank(rank):
    return "none" if rank is None else rank
