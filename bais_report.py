"""`bais report`: what the warehouse knows, as one HTML file that needs nothing else."""

import contextlib
import os
import tempfile
from pathlib import Path

from ingest.warehouse import ROOT, UserError, connect, explain, printable, warehouse_path

OUT = Path("data") / "report.html"
PUBLIC_SCHEMAS = ("marts", "inference")

# what the page is made of; every query has its own order, so that the same warehouse gives the same page
QUERIES = {
    "studies": """
        select study, bool_or(source = 'simulated') as is_simulated from raw.batches
        group by all order by is_simulated, study
    """,
    "counts": """
        select study, sum(n_asked)::bigint as n_asked, sum(n_answered)::bigint as n_answered,
            count(distinct llm) as n_llms
        from marts.attrition group by all order by all
    """,
    "techniques": "select technique, display_name, is_ranked, description from seeds.techniques order by technique",
    "llms": "select llm, display_name from seeds.llms order by llm",
    "units": "select distinct study, domain, vignette, response_unit from marts.trials order by all",
    "flag_reasons": "select reason, sentence from seeds.flag_reasons order by reason",
    "rank_probabilities": """
        select * from inference.rank_probabilities where llm is null and weighting = 'llm'
        order by study, domain, metric, technique
    """,
    "technique_rankings": "from marts.technique_rankings order by study, domain, llm nulls first, technique",
    "intervals": """
        select * from inference.intervals
        where llm is null and metric = 'percent_of_baseline' and weighting = 'llm' and row_set = 'accepted'
            and baseline_scope = 'pooled' and method in ('trial', 'headline')
        order by study, domain, technique, anchor_direction, method
    """,
    "baselines": """
        from marts.baselines where temperature_scope = 'pooled' order by study, domain, vignette, llm
    """,
    "baseline_counts": """
        select study, domain, vignette, llm, response, sum(n_trials)::bigint as n_trials from marts.response_counts
        where technique = 'no_technique' and anchor_direction = 'none' and row_set = 'accepted'
            and response_source = 'recorded'
        group by all order by all
    """,
    "gains": """
        select study, domain, technique, list(value order by value) as gains,
            max(value) filter (where is_recommended) as recommended, max(share_standing) as share_standing,
            max(n_specifications) as n_specifications
        from inference.sensitivity where predicate = 'closer_than_no_technique' and value is not null
        group by all order by study, domain, technique
    """,
    "headlines": """
        select study, domain, headline, predicate, technique, technique_b, max(share_standing) as share_standing,
            max(n_specifications) as n_specifications, max(reason) as reason
        from inference.sensitivity group by all order by study, domain, headline
    """,
    "attrition": """
        select study, domain, technique,
            sum(columns('n_.*'))::bigint from marts.attrition
        group by all order by study, domain, technique
    """,
    "attrition_bounds": "from marts.attrition_bounds where llm is null order by study, domain, technique",
    "claims": """
        select claims.* exclude (note, not_derivable), checks.recomputed_value, checks.status, checks.reason,
            checks.recommended_value, checks.recommended_low, checks.recommended_high, checks.n_trials,
            trials.trials_query as query
        from marts.claim_checks as checks
        inner join seeds.published_claims as claims
            on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part
        inner join marts.claim_trials as trials
            on checks.claim_id = trials.claim_id and checks.part is not distinct from trials.part
        order by document, claims.rowid
    """,
    "batches": """
        select batches.batch_id, batches.study, batches.source, batches.n_trials, batches.loaded_at,
            verdicts.verdict_id, verdicts.verdict, verdicts.n_failed, verdicts.n_warnings, verdicts.checked_at,
            last.is_published, last.act
        from raw.batches as batches
        left join staging.stg_batch_verdicts as last using (batch_id)
        left join raw.batch_verdicts as verdicts using (verdict_id)
        order by batches.study, batches.loaded_at, batches.batch_id
    """,
    "checks": """
        select verdicts.study, verdicts.vignette, checks.verdict_id, check_name, level, observed_value, threshold,
            measure, n_offending, detail
        from raw.batch_checks as checks inner join raw.batch_verdicts as verdicts using (verdict_id)
        semi join staging.stg_batch_verdicts as last using (verdict_id)
        where not is_passed order by study, level, check_name, vignette, verdict_id
    """,
    "flags": """
        select study, severity, reason, count(distinct trial_id) as n_trials
        from raw.flagged_trials semi join staging.stg_batch_verdicts using (verdict_id)
        semi join staging.stg_flagged_trials using (trial_id)
        group by all order by study, severity, n_trials desc, reason
    """,
    "quarantined_lines": """
        select study, reason, count(*) as n_lines from raw.quarantined_lines group by all order by all
    """,
    "disagreements": "from marts.parse_disagreements order by study, llm, vignette, technique, trial_id",
    "sources": """
        select study, vignette, domain, source, count(*) as n_trials, count(distinct llm) as n_llms,
            min(asked_at) as first_asked_at, max(asked_at) as last_asked_at
        from marts.trials group by all order by study, vignette, domain, source
    """,
    "resampling": """
        select study, method, seed, n_resamples, max(margin_pp) as margin_pp, count(*) as n_rows
        from inference.rank_probabilities group by all order by all
    """,
}


def add_report_arguments(parser):
    """Declare what `bais report` takes."""
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"the HTML file (default: {OUT})")
    parser.add_argument("--study", metavar="STUDY", help="only this study (default: all of them)")


def report(options):
    """Write the report.

    Parameters
    ----------
    options : argparse.Namespace
        With `out` and `study`.

    Returns
    -------
    int
        0.
    """
    from analysis.report.page import page

    out = (options.out or ROOT / OUT).absolute()
    if out.is_dir():
        raise UserError(f"{printable(out)} is a folder: name a file")
    tables = read_tables(options.study)
    text = page(tables, versions())
    _write(out, text)
    print(f"{printable(out)}: {len(text.encode()) / 1e6:.1f} MB, {_said(tables['studies'])}")
    return 0


def _said(studies):
    names = [f"{printable(row['study'])}{' (SIMULATED)' if row['is_simulated'] else ''}" for row in studies]
    return f"{'study' if len(names) == 1 else 'studies'} {', '.join(names)}" if names else "no study yet"


def read_tables(study=None):
    """Read what the page is made of.

    Parameters
    ----------
    study : str, optional
        Only this one; the seeds are read whole.

    Returns
    -------
    dict of str to list of dict
        The rows of each of `QUERIES`, and the number of rows of each public table as `row_counts`.

    Raises
    ------
    UserError
        If the warehouse is not built, is another version's, or has no such study.
    """
    import duckdb

    with contextlib.closing(connect()) as warehouse:
        try:
            names = _public_tables(warehouse)
            if not names:
                raise UserError(f"the warehouse {warehouse_path()} has no marts yet: run `bais build`")
            tables = {name: _records(warehouse, query) for name, query in QUERIES.items()}
            tables["row_counts"] = [
                {"table": name, "n_rows": warehouse.execute(f"select count(*) from {name}").fetchall()[0][0]}
                for name in names
            ]
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            missing = printable(str(error).splitlines()[0])
            raise UserError(
                f"the warehouse {warehouse_path()} is not what this version builds ({missing}): run `bais build`"
            ) from None
        except duckdb.Error as error:
            raise UserError(explain(error, warehouse_path())) from None
    known = [row["study"] for row in tables["studies"]]
    if study is not None:
        if study not in known:
            there = ", ".join(map(printable, known)) or "none: import some trials first"
            raise UserError(f"there is no study {printable(study)} in this warehouse; there is {there}")
        tables["studies"] = [row for row in tables["studies"] if row["study"] == study]
    return tables


def _public_tables(warehouse):
    rows = warehouse.execute(
        """
        select schema_name, table_name from duckdb_tables() where database_name = current_database()
        union all select schema_name, view_name from duckdb_views() where database_name = current_database()
        order by all
        """
    ).fetchall()
    return [f"{schema}.{name}" for schema, name in rows if schema in PUBLIC_SCHEMAS]


def _records(warehouse, query):
    result = warehouse.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def versions():
    """Return the versions of what made the numbers and the page."""
    from importlib.metadata import version

    return {name: version(name) for name in ("bais", "dbt-core", "duckdb", "altair", "vl-convert-python")}


def _write(out, text):
    """Put the whole file in place at once, so that nobody opens half of one."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    except OSError as error:
        raise UserError(f"{printable(out)} cannot be written: {error.strerror}") from None
    new = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        new.chmod(0o644)
        new.replace(out)
    except OSError as error:
        raise UserError(f"{printable(out)} cannot be written: {error.strerror}") from None
    finally:
        new.unlink(missing_ok=True)
