"""The gate and the provenance of a study, as tables."""

from markupsafe import Markup

from analysis.report.tables import Row, Table
from analysis.report.values import MISSING, Number, clean, moment

FLAGGED = (
    "raw.flagged_trials semi join staging.stg_batch_verdicts using (verdict_id) "
    "semi join staging.stg_flagged_trials using (trial_id, batch_id) "
    "semi join intermediate.int_trials_published using (trial_id, batch_id)"
)
MOST_DISAGREEMENTS = 25
MOST_CHARACTERS = 400


def gate_tables(study):
    """Make the tables of the gate: batches, unmet checks, what was set aside, and texts that say another number.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Table
        Those that have rows.
    """
    made = [_batches(study), _checks(study), _flags(study), _lines(study), _disagreements(study)]
    return [table for table in made if table.rows]


def _batches(study):
    def of_verdict(column):
        return lambda row: Number(
            row[column],
            column,
            0,
            reason="not_audited",
            table="raw.batch_verdicts",
            key={"verdict_id": row["verdict_id"]},
        )

    columns = {
        "batch": _text_column("batch_id"),
        "source": _text_column("source"),
        "loaded": lambda row: moment(row["loaded_at"]),
        "trials": _number("n_trials"),
        "verdict": lambda row: clean((row["verdict"] or "not audited").replace("_", " ")),
        "trials are": lambda row: (
            ("published" if row["is_published"] else "not published")
            + (f", {clean(row['act'])} by a person" if row["act"] else "")
        ),
        "checks failed": of_verdict("n_failed"),
        "warnings": of_verdict("n_warnings"),
        "audited": lambda row: moment(row["checked_at"]),
    }
    caption = "Batches and what the gate said of them"
    return _table(study, caption, "raw.batches", study.rows("batches"), ["batch_id"], columns)


def _checks(study):
    columns = {
        "check": _words("check_name"),
        "vignette": _text_column("vignette"),
        "result": lambda row: "failed" if row["level"] == "fail" else "warning",
        "observed": _number("observed_value", digits=4, reason="nothing_observed"),
        "at most": _number("threshold", digits=4, reason="no_threshold"),
        "measure": lambda row: clean(row["measure"] or ""),
        "offending trials": _number("n_offending"),
        "detail": lambda row: clean(row["detail"] or ""),
    }
    by = ["verdict_id", "check_name", "level"]
    return _table(study, "Checks that were not met", "raw.batch_checks", study.rows("checks"), by, columns, key={})


def _flags(study):
    sentences = {row["reason"]: row["sentence"] for row in study.tables["flag_reasons"]}
    columns = {
        "reason": _words("reason"),
        "severity": _text_column("severity"),
        "trials": _number("n_trials", "count(distinct trial_id)"),
        "what it means": lambda row: clean(sentences.get(row["reason"], "")),
    }
    caption = (
        "Trials that the gate quarantined (left out of the public tables) or holds suspect (left out in the "
        "sensitivity), by reason; a trial can have several"
    )
    return _table(study, caption, FLAGGED, study.rows("flags"), ["severity", "reason"], columns)


def _lines(study):
    columns = {"reason": _text_column("reason"), "lines": _number("n_lines", "count(*)")}
    caption = "Lines that could not be read as trials, by reason"
    return _table(study, caption, "raw.quarantined_lines", study.rows("quarantined_lines"), ["reason"], columns)


def _disagreements(study):
    rows = study.rows("disagreements")
    shown = rows[:MOST_DISAGREEMENTS]
    columns = {
        "trial": lambda row: Markup("<code>{}</code>").format(clean(row["trial_id"])),
        "of": lambda row: (
            f"{study.llm(row['llm'])}, {clean(row['vignette'])}, {study.technique(row['technique'])}, "
            f"{clean(row['anchor_direction'])}"
        ),
        "recorded": _number("response_recorded", digits=2, reason="none_recorded"),
        "reread": lambda row: Number(row["response_reparsed"], "response_reparsed", 2, reason=row["status_reparsed"]),
        "reread as": _words("status_reparsed"),
        "text around the number": lambda row: Markup('<q dir="auto">{}</q>').format(
            clean(" ".join((row["text_around"] or "").split()))[:MOST_CHARACTERS]
        ),
    }
    caption = (
        "Trials whose text states another number than was recorded; the texts are answers of LLMs, quoted as they came"
    )
    if len(rows) > len(shown):
        caption += f" (the first {len(shown)})"
    return _table(study, caption, "marts.parse_disagreements", shown, ["trial_id"], columns)


def provenance_tables(study):
    """Make the tables of where a study came from.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Table
    """
    sources = {
        "vignette": _text_column("vignette"),
        "domain": lambda row: clean(row["domain"] or MISSING),
        "source": lambda row: "simulated: no LLM was asked" if row["source"] == "simulated" else clean(row["source"]),
        "trials": _number("n_trials", "count(*)"),
        "LLMs": _number("n_llms", "count(distinct llm) filter (where role is null)"),
        "first asked": lambda row: moment(row["first_asked_at"]),
        "last asked": lambda row: moment(row["last_asked_at"]),
    }
    resampling = {
        "method": _words("method"),
        "seed": _number("seed", "max(seed)", reason="nothing_drawn"),
        "draws": _number("n_draws", "max(n_draws)", reason="nothing_drawn"),
        "equivalence margin (pp)": _number("margin", "max(margin)", digits=1, reason="none"),
        "rows": _number("n_rows", "count(*)"),
    }
    made = [
        _table(
            study, "Where the trials came from", "marts.trials",
            study.rows("sources"), ["source", "vignette"], sources,
        ),
        _table(
            study, "How decisions and probabilities were made", "inference.decisions",
            study.rows("resampling"), ["method", "seed", "n_draws"], resampling,
        ),
    ]  # fmt: skip
    return [table for table in made if table.rows]


def rows_table(tables):
    """Make the table of how many rows each public table has, for all studies together.

    Parameters
    ----------
    tables : dict of str to list of dict

    Returns
    -------
    Markup
    """
    body = Markup("").join(
        Markup(
            '<tr><th scope="row"><code>{0}</code></th>'
            '<td class="n" data-table="{0}" data-key="" data-column="count(*)">{1}</td></tr>\n'
        ).format(clean(row["table"]), Number(row["n_rows"], "count(*)", 0).text)
        for row in tables["row_counts"]
    )
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="rows"><table>'
        "<caption>Rows of the public tables, all studies together.</caption>"
        '<thead><tr><th scope="col">table</th><th scope="col" class="n">rows</th></tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(body)


def _text_column(column):
    return lambda row: clean(row[column])


def _words(column):
    return lambda row: clean(row[column]).replace("_", " ")


def _number(column, expression=None, digits=0, reason=None):
    return lambda row: Number(row[column], expression or column, digits, reason=reason)


def _table(study, caption, source, rows, by, columns, key=None):
    """Make a table with a row for each of `rows`, picked by the columns `by`; `columns` makes its cells, by head."""
    made = [Row({name: row[name] for name in by}, [cell(row) for cell in columns.values()]) for row in rows]
    key = {"study": study.name} if key is None else key
    return Table(f"{caption}.", source, key, list(columns), made, [], study.is_simulated, caption.split(",")[0])
