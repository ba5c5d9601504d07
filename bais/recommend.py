"""`bais recommend`: which debiasing technique to use in a domain, which not, and how sure that is."""

import click

from bais import terminal
from bais.options import json_option
from bais.terminal import fixed, lay_out, say, say_json
from bais.warehouse import IS_A_STUDY, known_llm, marts, not_ranked, records, refuse_not_public, refuse_unknown, values
from ingest.warehouse import UserError, printable, warehouse_path

METRICS = ("deviation", "susceptibility", "madb")
BOTH = ("deviation", "susceptibility")
NOTHING_YET = "none: import some trials first, and run `bais build`"
WORDS = {"none": NOTHING_YET, "by_part": True}  # a part of a name is enough to be told the whole

# The largest study first, those of LLMs before simulated ones.
ASKED = f"""
select study, domain, llm from marts.trials where {IS_A_STUDY} group by study, domain, llm
order by
    bool_or(bool_or(source = 'simulated')) over (partition by study), sum(count(*)) over (partition by study) desc,
    study, llm, domain
"""
HERE = "study = $study and domain = $domain and llm is not distinct from $llm"
PLACES = f"""
select places.*, coalesce(seeded.display_name, technique) as name
from inference.rank_probabilities as places left join seeds.techniques as seeded using (technique)
where {HERE} and weighting = 'llm'
order by technique, metric
"""
LLMS = """
select distinct llm from inference.rank_probabilities
where study = $study and domain = $domain and ($llm is null or llm = $llm) and llm is not null order by llm
"""
# What a thousand decisions cost: the mean over LLMs, in whatever domain of the study.
COSTS = """
select
    technique,
    case when count(cost_usd_per_trial) = len($llms) then 1000 * avg(cost_usd_per_trial) end as cost_usd_per_1000,
    avg(calls_per_trial) as calls_per_trial,
    case
        when count(llm) = 0 then 'calls_not_recorded'
        when count(llm) < len($llms) then 'not_of_every_llm'
        when count(cost_usd_per_trial) < count(llm) then 'price_not_known'
    end as reason
from (select unnest($techniques::varchar[]) as technique)
left join (from marts.technique_costs where study = $study and list_contains($llms::varchar[], llm)) using (technique)
group by technique
"""
EVIDENCE = {
    "rankings": f"from marts.technique_rankings where {HERE} order by technique",
    "bounds": f"from marts.attrition_bounds where {HERE} order by technique",
    "contested": """
        with unanchored as (
            select llm, sum(n_answered)::bigint as n_trials from marts.attrition
            where study = $study and domain = $domain and technique = 'no_technique' and anchor_direction = 'none'
            group by all
        )

        select llm, count(*) as n_contested, n_trials
        from marts.parse_disagreements inner join unanchored using (llm)
        where study = $study and domain = $domain and technique = 'no_technique' and anchor_direction = 'none'
            and ($llm is null or llm = $llm)
        group by all order by llm
    """,
    # one test per pair: over LLMs where there are enough, else over the trials of those asked
    "equivalences": """
        from inference.equivalence_tests
        where study = $study and domain = $domain and $llm is null
            and row_set = 'accepted' and baseline_scope = 'pooled' and status != 'too_few_llms'
        qualify row_number() over (
            partition by technique_a, technique_b, metric
            order by level = 'llm' desc, contains(method, 'delta_with_baseline') desc, method
        ) = 1
        order by technique_a, technique_b nulls last
    """,
    "specifications": """
        from inference.sensitivity
        where study = $study and domain = $domain and $llm is null and excluded_llm is null
            and predicate in ('closer_than_no_technique', 'reduces_susceptibility')
            and row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
        order by headline, response_source
    """,
}
WITHOUT_BASELINE = """
select distinct llm from marts.technique_rankings
where study = $study and domain = $domain and $llm is null and llm is not null and contains(reason, 'no_baseline')
order by llm
"""
IS_SIMULATED = """
select coalesce(bool_or(source = 'simulated'), false) from marts.trials
where study = $study and domain = $domain and ($llm is null or llm = $llm)
"""
OF_METRIC = (
    "decision", "loss", "gain", "gain_low", "gain_high", "p_best", "p_worst", "p_worse_than_nothing",
    "p_metrics_disagree", "rank_low", "rank_high", "level", "margin_pp", "n_trials", "n_llms", "method", "reason",
)  # fmt: skip


@click.command()
@click.option("--domain", metavar="D", help="such as loan")
@click.option("--llm", metavar="L", help="from the trials of this LLM alone; vendor/name or an alias")
@click.option(
    "--metric", metavar="M", default="both", show_default=False,
    help=f"{', '.join(METRICS)} or both (default: deviation and susceptibility)",
)  # fmt: skip
@click.option("--study", metavar="S", help="only this study (default: the largest in which LLMs were asked)")
@json_option()
def recommend(domain: str | None, llm: str | None, metric: str, study: str | None, as_json: bool) -> None:
    """Answer in a sentence, say how far the answer reaches, and show the evidence."""
    from analysis.advice import advise

    refuse_unknown("metric", metric, [*METRICS, "both"], **WORDS)
    metrics = BOTH if metric == "both" else (metric,)
    with marts() as warehouse:
        asked = records(warehouse, ASKED)
        refuse_not_public(warehouse, study, {row["study"] for row in asked})
        llm = llm and known_llm(warehouse, llm, dict.fromkeys(row["llm"] for row in asked), **WORDS)
        study, others = _study(study, domain, llm, asked)
        evidence = _evidence(warehouse, study, domain, llm)
    sentences = advise(evidence, None if metric == "both" else metric)
    places = {(row["technique"], row["metric"]): row for row in evidence.places if row["metric"] in metrics}
    if as_json:
        say_json(
            {
                "study": study, "domain": domain, "llm": llm, "is_simulated": evidence.is_simulated,
                "metrics": metrics, "answer": sentences[0]["text"], "sentences": sentences, "llms": evidence.llms,
                "other_studies": others, "techniques": _by_technique(places, metrics, evidence),
                "table": "inference.rank_probabilities", "weighting": "llm",
            }
        )  # fmt: skip
        return
    for sentence in sentences:
        say(sentence["text"])
    if places:
        print()
        _print_evidence(places, metrics, evidence)
    if said := not_ranked(evidence.rankings):
        say(said)
    also = f"; {domain} is also in {', '.join(others)} (--study)" if others else ""
    say(f"Study: {study}{also}. Warehouse: {warehouse_path()}")


def _study(study, domain, llm, asked):
    """Return the study that answers, and the others that could."""
    refuse_unknown("study", study, dict.fromkeys(row["study"] for row in asked), **WORDS)
    where = f" in study {study}" if study else ""
    asked = [row for row in asked if study in (None, row["study"])]
    domains = sorted({row["domain"] for row in asked})
    if domain is None:
        raise UserError(f"say which domain with --domain: there is {_list(domains)}{where}")
    refuse_unknown("domain", domain, domains, where, **WORDS)
    of_llm = [row for row in asked if llm in (None, row["llm"])]
    first, *others = dict.fromkeys(row["study"] for row in of_llm if row["domain"] == domain) or [None]
    if not first:
        there = sorted({row["domain"] for row in of_llm})
        elsewhere = f"it was in {_list(there)}" if there else "nor in another domain"
        raise UserError(f"{printable(llm)} was not asked in the domain {printable(domain)}{where}; {elsewhere}")
    return first, others


def _list(names):
    return ", ".join(map(printable, names)) or NOTHING_YET


def _evidence(warehouse, study, domain, llm):
    from analysis.advice import Evidence

    keys = {"study": study, "domain": domain, "llm": llm}
    places = records(warehouse, PLACES, keys)
    llms = values(warehouse, LLMS, keys)
    among = {"techniques": sorted({row["technique"] for row in places}), "llms": llms, "study": study}
    return Evidence(
        domain=domain, llm=llm, places=places, llms=llms,
        is_simulated=values(warehouse, IS_SIMULATED, keys)[0],
        without_baseline=values(warehouse, WITHOUT_BASELINE, keys),
        costs={row.pop("technique"): row for row in records(warehouse, COSTS, among)},
        **{name: records(warehouse, query, keys) for name, query in EVIDENCE.items()},
    )  # fmt: skip


def _by_technique(places, metrics, evidence):
    from analysis.advice import CONTROL

    names = {row["technique"]: row["name"] for row in evidence.places}
    told = []
    for technique in sorted(names, key=lambda technique: technique != CONTROL):
        found = {metric: places[technique, metric] for metric in metrics if (technique, metric) in places}
        by_metric = {metric: {column: row[column] for column in OF_METRIC} for metric, row in found.items()}
        told.append({"technique": technique, "name": names[technique]} | evidence.costs[technique] | by_metric)
    return told


def _print_evidence(places, metrics, evidence):
    """Print the metrics side by side where the terminal is wide enough, else one below the other."""

    def by_loss(technique):
        loss = places.get((technique, metrics[0]), {}).get("loss")
        return (technique, metrics[0]) not in places, technique == "no_technique", loss is None, loss or 0

    names = {row["technique"]: row["name"] for row in places.values()}
    order = sorted(names, key=by_loss)
    cells = {metric: [_cells(places.get((of, metric))) for of in order] for metric in metrics}
    sizes = [_size([row for (technique, _), row in places.items() if technique == of], evidence) for of in order]
    labels = [[names[of]] for of in order]
    numbers, size_heads = ["loss", "gain", "P(best)", "P(worse)"], ["trials", "LLMs", "USD/1,000"]

    def laid_out(heads, *parts, width=None):
        rows = [[cell for part in row for cell in part] for row in zip(labels, *parts, strict=True)]
        right = [i for i, head in enumerate(heads) if head in numbers + size_heads]
        return lay_out(heads, rows, width=width, null="", right=right)

    above = [f"by {metric}\n" if len(metrics) > 1 else "" for metric in metrics]
    by_metric = [head for by in above for head in (f"{by}decision", *numbers)]
    table, width = laid_out(["", *by_metric, *size_heads], *cells.values(), sizes), terminal.terminal_width()
    if width is None or max(map(len, table.splitlines())) <= width:
        print(table)
    else:
        for metric in metrics:
            print(laid_out([f"by {metric}", "decision", *numbers], cells[metric], width=width))
            print()
        print(laid_out(["", *size_heads], sizes, width=width))
    print()
    for note in _notes(places, metrics, evidence, names):
        say(note)


def _cells(row):
    from analysis.advice import probability

    if row is None:
        return ["not asked", None, None, None, None]
    decision = (row["decision"] or ("" if row["technique"] == "no_technique" else "none")).replace("_", " ")
    gain = fixed(row["gain"], "+.1f")
    if gain and row["gain_low"] is not None:
        gain += f" ({row['gain_low']:+.1f} to {row['gain_high']:+.1f})"
    loss = fixed(row["loss"], ".1f")
    return [decision, loss, gain, probability(row["p_best"]), probability(row["p_worse_than_nothing"])]


def _size(rows, evidence):
    usd = evidence.costs[rows[0]["technique"]]["cost_usd_per_1000"]
    trials, llms = ("/".join(dict.fromkeys(f"{row[n]:,}" for row in rows)) for n in ("n_trials", "n_llms"))
    return [trials, llms, "unknown" if usd is None else f"{usd:,.2f}"]


def _notes(places, metrics, evidence, names):
    from analysis.advice import in_words

    first = next(iter(places.values()))
    unit = {"madb": "%"}.get(metrics[0], "pp")
    yield (
        f"loss: distance in {unit} from the baseline (deviation, MADB) or between high and low anchors "
        "(susceptibility); gain: loss without a technique less the loss with it, and its bounds; P(best): of the "
        "first place, for no technique that none beats it; P(worse): than doing nothing; equivalent: within "
        f"{first['margin_pp']:g} {unit}; levels of decisions: docs/methodology.md. From inference.rank_probabilities, "
        f"weighting llm, {first['n_resamples']:,} resamples, seed {first['seed']}."
    )
    undecided = {
        (row["name"], row["metric"], in_words(row["reason"]))
        for row in places.values()
        if row["decision"] is None and row["technique"] != "no_technique"
    }
    yield from (f"No decision on {name} by {metric}: {why}." for name, metric, why in sorted(undecided))
    reasons = {evidence.costs[technique]["reason"] for technique in names} - {None}
    yield from (f"Cost unknown: {in_words(reason)}." for reason in sorted(reasons))
    if not reasons:
        paid = "simulated calls cost nothing; " if evidence.is_simulated else ""
        yield f"Cost: {paid}mean over LLMs, of all domains of the study."
