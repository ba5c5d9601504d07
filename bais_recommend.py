"""`bais recommend`: which debiasing technique to use in a domain, which not, and how sure that is."""

import json
import sys

from ingest.warehouse import UserError, printable

METRICS = ("deviation", "susceptibility", "madb")
BOTH = ("deviation", "susceptibility")


def add_recommend_command(command):
    """Declare `bais recommend`.

    Parameters
    ----------
    command : callable
        From a name, what runs and a summary to the parser of a new subcommand.
    """
    parser = command("recommend", recommend, "say which technique to use in a domain, which not, and how sure that is")
    parser.add_argument("--domain", metavar="D", help="such as loan")
    parser.add_argument("--llm", metavar="L", help="from the trials of this LLM alone; vendor/name or an alias")
    parser.add_argument(
        "--metric",
        default="both",
        metavar="M",
        help=f"{', '.join(METRICS)} or both (default: deviation and susceptibility)",
    )
    parser.add_argument("--study", metavar="S", help="only this study (default: the largest in which LLMs were asked)")
    parser.add_argument("--json", action="store_true", help="as JSON, with every digit")


def recommend(options):
    """Answer in a sentence, say how far the answer reaches, and show the evidence.

    Returns
    -------
    int
    """
    from analysis.advice import advise
    from bais.terminal import paragraph as _paragraph
    from bais.terminal import plain as _plain
    from bais.warehouse import marts as _marts
    from ingest.warehouse import warehouse_path

    if options.metric not in (*METRICS, "both"):
        raise _unknown("metric", options.metric, [*METRICS, "both"])
    with _marts() as warehouse:
        asked = _what_was_asked(warehouse)
        llm = _llm(warehouse, options.llm, asked)
        study, others = _study(options, llm, asked)
        evidence, techniques = _evidence(warehouse, study, options.domain, llm)
    sentences = advise(evidence, None if options.metric == "both" else options.metric)
    metrics = BOTH if options.metric == "both" else (options.metric,)
    rows = [row for row in evidence.places if row["metric"] in metrics]
    if options.json:
        found = {
            "study": study, "domain": options.domain, "llm": llm, "is_simulated": evidence.is_simulated,
            "metrics": metrics, "answer": sentences[0]["text"], "sentences": sentences, "llms": evidence.llms,
            "other_studies": others, "techniques": _by_technique(rows, metrics, techniques, evidence.costs),
            "table": "inference.rank_probabilities", "weighting": "llm",
        }  # fmt: skip
        print(json.dumps(_plain(found), indent=2, ensure_ascii=sys.stdout.isatty()))
        return 0
    for sentence in sentences:
        print(_paragraph(sentence["text"]))
    if rows:
        print()
        _print_evidence(rows, metrics, evidence)
    also = f"; {options.domain} is also in {', '.join(others)} (--study)" if others else ""
    print(_paragraph(f"Study: {study}{also}. Warehouse: {warehouse_path()}"))
    return 0


def _what_was_asked(warehouse):
    """Return trials by study, domain and LLM; the largest study first, those of LLMs before simulated ones."""
    from bais.warehouse import records as _records

    rows = _records(
        warehouse,
        "select study, domain, llm, count(*) as n_trials, bool_or(source = 'simulated') as is_simulated "
        "from marts.trials group by all",
    )
    sizes, simulated = {}, {row["study"] for row in rows if row["is_simulated"]}
    for row in rows:
        sizes[row["study"]] = sizes.get(row["study"], 0) + row["n_trials"]
    return sorted(rows, key=lambda row: (row["study"] in simulated, -sizes[row["study"]], row["study"], row["llm"]))


def _llm(warehouse, named, asked):
    from bais.warehouse import records as _records

    if named is None:
        return None
    aliases = {row["alias"]: row["llm"] for row in _records(warehouse, "select alias, llm from seeds.llm_aliases")}
    known = list(dict.fromkeys(row["llm"] for row in asked))
    llm = aliases.get(named, named)
    if llm not in known:
        raise _unknown("LLM", named, known)
    return llm


def _study(options, llm, asked):
    """Return the study that answers, and the others that could."""
    domain = options.domain
    if options.study is not None and options.study not in {row["study"] for row in asked}:
        raise _unknown("study", options.study, list(dict.fromkeys(row["study"] for row in asked)))
    of_study = [row for row in asked if options.study in (None, row["study"])]
    domains = sorted({row["domain"] for row in of_study})
    where = f" in study {options.study}" if options.study else ""
    if domain is None:
        raise UserError(f"say which domain with --domain: there is {_list(domains)}{where}")
    if domain not in domains:
        raise _unknown("domain", domain, domains, where)
    of_domain = [row for row in of_study if row["domain"] == domain]
    if llm:
        found = [row for row in of_domain if row["llm"] == llm]
        if not found:
            of_llm = sorted({row["domain"] for row in of_study if row["llm"] == llm})
            elsewhere = f"it was in {_list(of_llm)}" if of_llm else "nor in another domain"
            raise UserError(f"{printable(llm)} was not asked in the domain {printable(domain)}{where}; {elsewhere}")
        of_domain = found
    first, *others = dict.fromkeys(row["study"] for row in of_domain)
    return first, others


def _unknown(what, named, known, where=""):
    from bais.terminal import similar as _similar

    holding = [name for name in known if named and named.lower() in name.lower()][:3]
    close = f" (perhaps {' or '.join(map(printable, holding))})" if holding else _similar(named, known)
    return UserError(f"there is no {what} {printable(named)}{where}{close}; there is {_list(known)}")


def _list(names):
    return ", ".join(printable(name) for name in names) or "none: import some trials first, and run `bais build`"


def _evidence(warehouse, study, domain, llm):
    from analysis.advice import CONTROL, Evidence
    from bais.warehouse import records as _records

    keys = {"study": study, "domain": domain, "llm": llm}

    def rows(query, **more):
        return _records(warehouse, query, {name: value for name, value in (keys | more).items() if f"${name}" in query})

    name = "coalesce(seeded.display_name, technique) as name"
    seeded = "left join seeds.techniques as seeded using (technique)"
    one = "study = $study and domain = $domain and llm is not distinct from $llm"
    places = rows(
        f"select places.*, {name} from inference.rank_probabilities as places {seeded} "
        f"where {one} and weighting = 'llm' order by technique, metric"
    )
    llms = rows(
        "select distinct llm from inference.rank_probabilities where study = $study and domain = $domain "
        "and ($llm is null or llm = $llm) and llm is not null order by llm"
    )
    without = rows(
        "select distinct llm from marts.technique_rankings where study = $study and domain = $domain "
        "and llm is not null and contains(reason, 'no_baseline') and $llm is null order by llm"
    )
    contested = rows(
        """
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
        """
    )
    llms = [row["llm"] for row in llms]
    techniques = {row["technique"]: row["name"] for row in places}
    over_llms = llm is None
    return (
        Evidence(
            domain=domain, llm=llm, is_simulated=_is_simulated(rows), places=places, llms=llms,
            without_baseline=[row["llm"] for row in without],
            rankings=rows(f"from marts.technique_rankings where {one} order by technique"),
            bounds=rows(f"from marts.attrition_bounds where {one} order by technique"),
            equivalences=_equivalences(rows) if over_llms else [],
            contested=contested,
            costs=_costs(rows, llms, techniques),
            specifications=_specifications(rows) if over_llms else [],
        ),
        {CONTROL: techniques.pop(CONTROL)} | techniques if CONTROL in techniques else techniques,
    )  # fmt: skip


def _is_simulated(rows):
    return rows(
        "select coalesce(bool_or(source = 'simulated'), false) as is_simulated from marts.trials "
        "where study = $study and domain = $domain and ($llm is null or llm = $llm)"
    )[0]["is_simulated"]


def _equivalences(rows):
    """Return one test per pair: over LLMs where there are enough, else over the trials of those asked."""
    return rows(
        """
        from inference.equivalence_tests
        where study = $study and domain = $domain and row_set = 'accepted' and baseline_scope = 'pooled'
            and status != 'too_few_llms'
        qualify row_number() over (
            partition by technique_a, technique_b, metric
            order by level = 'llm' desc, contains(method, 'delta_with_baseline') desc, method
        ) = 1
        order by technique_a, technique_b nulls last
        """
    )


def _specifications(rows):
    return rows(
        """
        select headlines.* from inference.sensitivity as headlines
        where study = $study and domain = $domain and excluded_llm is null
            and predicate in ('closer_than_no_technique', 'reduces_susceptibility')
            and row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
        order by headline, response_source
        """
    )


def _costs(rows, llms, techniques):
    """Return what a thousand decisions cost by technique: the mean over LLMs, in whatever domain of the study."""
    found = {}
    for row in rows("from marts.technique_costs where study = $study"):
        found.setdefault(row["technique"], {})[row["llm"]] = row
    costs = {}
    for technique in techniques:
        each = [found.get(technique, {}).get(llm) for llm in llms]
        known = [row for row in each if row]
        if not known:
            costs[technique] = {"cost_usd_per_1000": None, "calls_per_trial": None, "reason": "calls_not_recorded"}
            continue
        usd = [row["cost_usd_per_trial"] for row in known]
        reason = "not_of_every_llm" if len(known) < len(each) else "price_not_known" if None in usd else None
        costs[technique] = {
            "cost_usd_per_1000": None if reason else 1000 * sum(usd) / len(usd),
            "calls_per_trial": sum(row["calls_per_trial"] for row in known) / len(known),
            "reason": reason,
        }
    return costs


def _by_technique(rows, metrics, techniques, costs):
    kept = ("decision", "loss", "gain", "gain_low", "gain_high", "p_best", "p_worst", "p_worse_than_nothing")
    kept += (
        "p_metrics_disagree",
        "rank_low",
        "rank_high",
        "level",
        "margin_pp",
        "n_trials",
        "n_llms",
        "method",
        "reason",
    )
    return [
        {
            "technique": technique,
            "name": name,
            **costs[technique],
            **{
                metric: {column: row[column] for column in kept}
                for metric in metrics
                for row in rows
                if (row["technique"], row["metric"]) == (technique, metric)
            },
        }
        for technique, name in techniques.items()
    ]


def _print_evidence(rows, metrics, evidence):
    """Print the metrics side by side where the terminal is wide enough, else one below the other."""
    from analysis.advice import in_words
    from bais.terminal import lay_out
    from bais.terminal import paragraph as _paragraph
    from bais.terminal import terminal_width as _width

    order = sorted(
        {row["technique"]: row for row in reversed(rows) if row["metric"] == metrics[0]}.values(),
        key=lambda row: (row["technique"] == "no_technique", row["loss"] is None, row["loss"] or 0),
    )
    order += [row for row in rows if row["technique"] not in {one["technique"] for one in order}]
    order = list({row["technique"]: row["name"] for row in order}.items())
    places = {(row["technique"], row["metric"]): row for row in rows}
    width = _width()
    sizes = [_size(technique, metrics, places, evidence.costs) for technique, _ in order]
    size_heads = ["trials", "LLMs", "USD/1,000"]
    heads = ["decision", "loss", "gain", "P(best)", "P(worse)"]
    whole = [
        [name, *(cell for metric in metrics for cell in _cells(places.get((technique, metric)))), *size]
        for (technique, name), size in zip(order, sizes, strict=True)
    ]
    right = [1 + 5 * i + k for i in range(len(metrics)) for k in (1, 2, 3, 4)]
    names = ["", *heads * len(metrics), *size_heads]
    table = lay_out(names, whole, null="", right=[*right, *range(len(names) - 3, len(names))])
    if width is None or max(map(len, table.splitlines())) <= width:
        if len(metrics) > 1:
            print(_banner(table, metrics))
        print(table)
    else:
        for metric in metrics:
            cells = [[name, *_cells(places.get((technique, metric)))] for technique, name in order]
            print(lay_out([f"by {metric}", *heads], cells, width=width, null="", right=range(2, 6)))
            print()
        cells = [[name, *size] for (_, name), size in zip(order, sizes, strict=True)]
        print(lay_out(["", *size_heads], cells, width=width, null="", right=range(1, 4)))
    print()
    first = rows[0]
    units = {"madb": "%"}.get(metrics[0], "pp")
    notes = [
        f"loss: distance in {units} from the baseline (deviation, MADB) or between high and low "
        "anchors (susceptibility); "
        "gain: loss without a technique less the loss with it, and its bounds; P(best): of the first place, for no "
        "technique that none beats it; P(worse): than doing nothing; equivalent: within "
        f"{first['margin_pp']:g} {units}; levels of decisions: docs/methodology.md. From inference.rank_probabilities, "
        f"weighting llm, {first['n_resamples']:,} resamples, seed {first['seed']}."
    ]
    nulls = {
        (row["name"], row["metric"], in_words(row["reason"]))
        for row in rows
        if row["decision"] is None and row["technique"] != "no_technique"
    }
    notes += [f"No decision on {name} by {metric}: {why}." for name, metric, why in sorted(nulls)]
    unknown = {evidence.costs[technique]["reason"] for technique, _ in order} - {None}
    notes += [f"Cost unknown: {in_words(reason)}." for reason in sorted(unknown)]
    if not unknown:
        paid = "simulated calls cost nothing; " if evidence.is_simulated else ""
        notes.append(f"Cost: {paid}mean over LLMs, of all domains of the study.")
    for note in notes:
        print(_paragraph(note))


def _cells(row):
    from analysis.advice import probability

    if row is None:
        return ["not asked", None, None, None, None]
    decision = (row["decision"] or ("" if row["technique"] == "no_technique" else "none")).replace("_", " ")
    gain = None if row["gain"] is None else f"{row['gain']:+.1f}"
    if gain and row["gain_low"] is not None:
        gain += f" ({row['gain_low']:+.1f} to {row['gain_high']:+.1f})"
    return [
        decision,
        None if row["loss"] is None else f"{row['loss']:.1f}",
        gain,
        probability(row["p_best"]),
        probability(row["p_worse_than_nothing"]),
    ]


def _size(technique, metrics, places, costs):
    found = [places[technique, metric] for metric in metrics if (technique, metric) in places]
    usd = costs[technique]["cost_usd_per_1000"]
    trials, llms = ("/".join(dict.fromkeys(f"{row[n]:,}" for row in found)) for n in ("n_trials", "n_llms"))
    return [trials, llms, "unknown" if usd is None else f"{usd:,.2f}"]


def _banner(table, metrics):
    """Name each metric above its five columns."""
    rule = next(line for line in table.splitlines() if line.startswith("─"))
    places, at = [], 0
    for dashes in rule.split("  "):
        places.append(at)
        at += len(dashes) + 2
    line = ""
    for i, metric in enumerate(metrics):
        line = f"{line:<{places[1 + 5 * i]}}by {metric}"
    return line
