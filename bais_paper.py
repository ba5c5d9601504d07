"""`bais paper`: the paper on a study, written by an LLM from the warehouse's numbers and checked against them."""

import sys
from pathlib import Path

from ingest.warehouse import UserError, printable

PAPER_BEGINS, PAPER_ENDS = "----- BEGIN PAPER -----", "----- END PAPER -----"
LLM_SILENT, UNGROUNDED = 4, 5
MOST_PROBLEMS = 10

OF_STUDY = """
select study, bool_or(source = 'simulated') as is_simulated, list(distinct source order by source) as sources,
    count(*) as n_trials, list(distinct llm order by llm) as llms
from marts.trials group by study order by study
"""

# What a paper may say: the recommended specification, over all LLMs of the study.
QUERIES = {
    "techniques": "select technique, display_name from seeds.techniques",
    "rankings": """
        select * from marts.technique_rankings where study = $study and llm is null
        order by domain, technique != 'no_technique', rank_by_deviation nulls last, technique
    """,
    "intervals": """
        select domain, technique, metric, method, low, high, reason from inference.intervals
        where study = $study and llm is null and anchor_direction = 'both' and row_set = 'accepted'
            and baseline_scope = 'pooled' and weighting = 'llm' and metric in ('percent_of_baseline', 'spread_pp')
            and method = case when n_llms < $fewest_llms then 'trial' else 'headline' end
    """,
    "probabilities": """
        select domain, technique, metric, method, gain, gain_low, gain_high, p_best, p_worst, p_worse_than_nothing,
            rank_low, rank_high, decision, reason
        from inference.rank_probabilities
        where study = $study and llm is null and weighting = 'llm' and metric in ('deviation', 'susceptibility')
        order by domain, metric, technique
    """,
    "contrasts": """
        select domain, technique_a, metric, difference, low, high, p_holm, n_llms, reason from inference.contrasts
        where study = $study and family = 'against_no_technique' and level = 'llm' and anchor_direction = 'both'
            and row_set = 'accepted' and baseline_scope = 'pooled' and metric in ('percent_of_baseline', 'spread_pp')
        order by domain, metric, technique_a
    """,
    "equivalences": """
        select domain, technique_a, low_90, high_90, status, reason from inference.equivalence_tests
        where study = $study and technique_b = 'no_technique' and level = 'llm' and row_set = 'accepted'
            and baseline_scope = 'pooled' and metric = 'percent_of_baseline'
        order by domain, technique_a
    """,
    "baselines": """
        select domain, llm, vignette, baseline, baselines.n_trials, reason, response_unit
        from marts.baselines as baselines
        left join (
            select study, vignette, any_value(response_unit) as response_unit from marts.trials group by all
        ) as units using (study, vignette)
        where study = $study and temperature_scope = 'pooled' order by domain, llm, vignette
    """,
    "conditions": """
        select domain, llm, vignette, anchor_direction, mean_response, n_trials from marts.anchored_conditions
        where study = $study and technique = 'no_technique' and temperature_scope = 'pooled'
            and mean_response is not null
        order by domain, llm, vignette, anchor_direction desc
    """,
    "spreads": """
        select domain, llm, vignette, spread, spread_pp, reason from marts.spreads
        where study = $study and technique = 'no_technique' order by domain, llm, vignette
    """,
    "attrition": """
        select domain, vignette, sum(n_asked)::bigint as n_asked, sum(n_answered)::bigint as n_answered,
            sum(n_refused)::bigint as n_refused, sum(n_unparsed)::bigint as n_unparsed,
            sum(n_out_of_range)::bigint as n_out_of_range, sum(n_failed)::bigint as n_failed
        from marts.attrition where study = $study group by all order by all
    """,
    "batches": """
        select batch_id, coalesce(verdict, 'not_audited') as verdict, coalesce(is_published, false) as is_published
        from staging.stg_batches left join staging.stg_batch_verdicts using (batch_id)
        where study = $study order by verdict, batch_id
    """,
    "flags": """
        select severity, reason, count(distinct trial_id) as n_trials from raw.flagged_trials
        semi join staging.stg_batch_verdicts using (verdict_id)
        where study = $study group by all order by severity, reason
    """,
    "claims": """
        select checks.kind, checks.status, count(*) as n_claims from marts.claim_checks as checks
        inner join seeds.published_claims as claims using (claim_id)
        where study = $study group by all order by all desc
    """,
    "open_claims": """
        select checks.statement, checks.status from marts.claim_checks as checks
        inner join seeds.published_claims as claims using (claim_id)
        where study = $study and checks.kind = 'sentence' and checks.status in ('contradicted', 'not_established')
        order by claim_id
    """,
    "method": """
        select any_value(n_resamples) as n_resamples, any_value(seed) as seed, any_value(margin_pp) as margin_pp,
            (select max(confidence) from inference.intervals where study = $study) as confidence,
            $fewest_llms as fewest_llms
        from inference.rank_probabilities where study = $study
    """,
}


def add_paper_arguments(parser):
    """Declare what `bais paper` takes."""
    parser.add_argument("--study", required=True, metavar="STUDY", help="a study of the warehouse")
    parser.add_argument(
        "--llm",
        metavar="L",
        help="who writes it: vendor/name at an OpenAI-compatible endpoint, or codex (default: a template, offline)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="where it goes (default: the terminal)")
    parser.add_argument("--prompt", action="store_true", help="print what an LLM would be asked, and ask none")
    parser.add_argument("--facts", action="store_true", help="print the numbers that it may hold, as JSON")


def paper(options):
    """Have the paper on a study written, check it against the warehouse, and hand it over.

    Returns
    -------
    int
        0, 2 for what is wrong before anything is asked, 4 where the LLM gave no text, 5 for a text that holds a number
        or a decision that is not in the warehouse; it is kept as `.refused`.
    """
    import json

    from analysis.writing.paper import check_paper, paper_prompt, template_paper
    from bais.texts import refuse_existing as _refuse_existing

    if options.llm and (options.prompt or options.facts):
        raise UserError("--prompt and --facts ask no LLM: leave --llm away")
    if options.prompt and options.facts:
        raise UserError("--prompt holds the facts: give --prompt or --facts")
    writer = _writer(options.llm) if options.llm else None
    if options.out:
        _refuse_existing(options.out, "--out")
    facts = read_facts(options.study)
    if options.prompt or options.facts:
        text = paper_prompt(facts) if options.prompt else json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        return _hand_over(text, options.out, "the prompt" if options.prompt else "the facts", is_marked=False)
    if not writer:
        text = template_paper(facts)
    else:
        from ingest.experiment import ask_once

        text, problem = ask_once(writer, paper_prompt(facts))
        if problem:
            print(f"bais: the paper was not written ({printable(problem)})", file=sys.stderr)
            return LLM_SILENT
    if problems := check_paper(text, facts):
        for problem in problems[:MOST_PROBLEMS]:
            print(f"bais: the paper is refused: {printable(problem)}", file=sys.stderr)
        if len(problems) > MOST_PROBLEMS:
            print(f"bais: and {len(problems) - MOST_PROBLEMS} more", file=sys.stderr)
        refused = _refused_path(options)
        if _write(refused, text, "the refused paper") == 0:
            print(f"bais: the refused text is in {printable(refused)}", file=sys.stderr)
        return UNGROUNDED
    return _hand_over(text, options.out, "the paper", is_marked=True)


def read_facts(study):
    """Read what a paper on a study may say.

    Parameters
    ----------
    study : str

    Returns
    -------
    dict
        As `analysis.writing.paper_facts.facts_of` returns it.

    Raises
    ------
    UserError
        If the warehouse does not hold the study, or is not built.
    """
    from analysis.small_samples import FEWEST_LLMS
    from analysis.writing.paper_facts import facts_of
    from bais.warehouse import marts as _marts
    from bais.warehouse import records as _records

    with _marts() as warehouse:
        studies = {row["study"]: row for row in _records(warehouse, OF_STUDY)}
        if study not in studies:
            names = ", ".join(map(printable, studies)) or "none: land some trials, then run `bais build`"
            raise UserError(f"there is no study {printable(study)} in this warehouse; there is {names}")
        given = {"study": study, "fewest_llms": FEWEST_LLMS}
        rows = {
            name: _records(warehouse, query, {key: value for key, value in given.items() if f"${key}" in query})
            for name, query in QUERIES.items()
        }
    return facts_of(studies[study], rows)


def _writer(llm):
    """Return a study of one LLM, which is how one is asked outside of any trial."""
    from ingest.experiment import EXPERIMENTS, study_of_run

    if llm.startswith("sim/"):
        raise UserError("a simulated respondent writes no paper: leave --llm away, and a template does")
    try:
        return study_of_run(EXPERIMENTS[0], protocol="single_turn", model=llm, n_runs=1, seed=1, attempts=3)
    except UserError as error:
        raise UserError(str(error).replace("--model", "--llm", 1)) from None


def _refused_path(options):
    """Return where a refused text is kept: beside where the paper would be, and never over another."""
    path = options.out or Path(f"paper-{''.join(c if c.isalnum() or c in '-_.' else '_' for c in options.study)}.md")
    named = (path.with_name(f"{path.name}.refused{ending}") for ending in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(path for path in named if not path.exists())


def _write(path, text, what):
    from bais.texts import write_new

    try:
        write_new(path, text, what)
    except UserError as error:
        print(f"bais: {error}", file=sys.stderr)
        return 2
    return 0


def _hand_over(text, out, what, *, is_marked):
    if out:
        return _write(out, text, what)
    shown = "\n".join(printable(line) for line in text.splitlines())
    print(f"{PAPER_BEGINS}\n{shown}\n{PAPER_ENDS}" if is_marked else shown)
    return 0
