"""The gate and the provenance of a study, as tables."""

from markupsafe import Markup

from analysis.report.tables import Row, Table
from analysis.report.values import MISSING, Number, clean, moment

FLAGGED = (
    "raw.flagged_trials semi join staging.stg_batch_verdicts using (verdict_id) "
    "semi join staging.stg_flagged_trials using (trial_id)"
)
MOST_DISAGREEMENTS = 100
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
    rows = []
    for batch in study.rows("batches"):
        key = {"batch_id": batch["batch_id"]}
        verdict = {"table": "raw.batch_verdicts", "key": {"verdict_id": batch["verdict_id"]}}
        act = f", {clean(batch['act'])} by a person" if batch["act"] else ""
        rows.append(
            Row(
                key,
                [
                    clean(batch["batch_id"]),
                    clean(batch["source"]),
                    moment(batch["loaded_at"]),
                    Number(batch["n_trials"], "n_trials", 0),
                    clean((batch["verdict"] or "not audited").replace("_", " ")),
                    ("published" if batch["is_published"] else "not published") + act,
                    Number(batch["n_failed"], "n_failed", 0, reason="not_audited", **verdict),
                    Number(batch["n_warnings"], "n_warnings", 0, reason="not_audited", **verdict),
                    moment(batch["checked_at"]),
                ],
            )
        )
    heads = ["batch", "source", "loaded", "trials", "verdict", "trials are", "checks failed", "warnings", "audited"]
    return _table(study, "Batches and what the gate said of them", "raw.batches", heads, rows)


def _checks(study):
    rows = []
    for check in study.rows("checks"):
        words = "failed" if check["level"] == "fail" else "warning"
        key = {name: check[name] for name in ("verdict_id", "check_name", "level")}
        rows.append(
            Row(
                key,
                [
                    clean(check["check_name"]).replace("_", " "),
                    clean(check["vignette"]),
                    words,
                    Number(check["observed_value"], "observed_value", 4, reason="nothing_observed"),
                    Number(check["threshold"], "threshold", 4, reason="no_threshold"),
                    clean(check["measure"] or ""),
                    Number(check["n_offending"], "n_offending", 0),
                    clean(check["detail"] or ""),
                ],
            )
        )
    heads = ["check", "vignette", "result", "observed", "at most", "measure", "offending trials", "detail"]
    return _table(study, "Checks that were not met", "raw.batch_checks", heads, rows, {})


def _flags(study):
    sentences = {row["reason"]: row["sentence"] for row in study.tables["flag_reasons"]}
    rows = [
        Row(
            {"severity": flag["severity"], "reason": flag["reason"]},
            [
                clean(flag["reason"]).replace("_", " "),
                clean(flag["severity"]),
                Number(flag["n_trials"], "count(distinct trial_id)", 0),
                clean(sentences.get(flag["reason"], "")),
            ],
        )
        for flag in study.rows("flags")
    ]
    caption = (
        "Trials that the gate quarantined (left out of the public tables) or holds suspect (left out in the "
        "sensitivity), by "
        "reason; a trial can have several"
    )
    return _table(study, caption, FLAGGED, ["reason", "severity", "trials", "what it means"], rows)


def _lines(study):
    rows = [
        Row({"reason": line["reason"]}, [clean(line["reason"]), Number(line["n_lines"], "count(*)", 0)])
        for line in study.rows("quarantined_lines")
    ]
    return _table(
        study, "Lines that could not be read as trials, by reason", "raw.quarantined_lines", ["reason", "lines"], rows
    )


def _disagreements(study):
    found = study.rows("disagreements")
    shown = found[:MOST_DISAGREEMENTS]
    rows = [
        Row(
            {"trial_id": row["trial_id"]},
            [
                Markup("<code>{}</code>").format(clean(row["trial_id"])),
                f"{study.llm(row['llm'])}, {clean(row['vignette'])}, {study.technique(row['technique'])}, "
                f"{clean(row['anchor_direction'])}",
                Number(row["response_recorded"], "response_recorded", 2, reason="none_recorded"),
                Number(row["response_reparsed"], "response_reparsed", 2, reason=row["status_reparsed"]),
                clean(row["status_reparsed"]).replace("_", " "),
                Markup('<q dir="auto">{}</q>').format(
                    clean(" ".join((row["text_around"] or "").split()))[:MOST_CHARACTERS]
                ),
            ],
        )
        for row in shown
    ]
    caption = (
        "Trials whose text states another number than was recorded; the texts are answers of LLMs, quoted as they came"
    )
    if len(found) > len(shown):
        caption += f" (the first {len(shown)})"
    heads = ["trial", "of", "recorded", "reread", "reread as", "text around the number"]
    return _table(study, caption, "marts.parse_disagreements", heads, rows)


def provenance_tables(study):
    """Make the tables of where a study came from.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Table
    """
    rows = []
    for source in study.rows("sources"):
        rows.append(
            Row(
                {"source": source["source"], "vignette": source["vignette"]},
                [
                    clean(source["vignette"]),
                    clean(source["domain"] or MISSING),
                    "simulated: no LLM was asked" if source["source"] == "simulated" else clean(source["source"]),
                    Number(source["n_trials"], "count(*)", 0),
                    Number(source["n_llms"], "count(distinct llm)", 0),
                    moment(source["first_asked_at"]),
                    moment(source["last_asked_at"]),
                ],
            )
        )
    heads = ["vignette", "domain", "source", "trials", "LLMs", "first asked", "last asked"]
    sources = _table(study, "Where the trials came from", "marts.trials", heads, rows)
    drawn = [
        Row(
            {"method": row["method"], "seed": row["seed"], "n_resamples": row["n_resamples"]},
            [
                clean(row["method"]).replace("_", " "),
                Number(row["seed"], "max(seed)", 0, reason="nothing_drawn"),
                Number(row["n_resamples"], "max(n_resamples)", 0, reason="nothing_drawn"),
                Number(row["margin_pp"], "max(margin_pp)", 1, reason="none"),
                Number(row["n_rows"], "count(*)", 0),
            ],
        )
        for row in study.rows("resampling")
    ]
    resampling = _table(
        study, "What was drawn for the rank probabilities", "inference.rank_probabilities",
        ["method", "seed", "resamples", "equivalence margin (pp)", "rows"], drawn,
    )  # fmt: skip
    return [table for table in (sources, resampling) if table.rows]


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


def _table(study, caption, source, heads, rows, key=None):
    key = {"study": study.name} if key is None else key
    return Table(f"{caption}.", source, key, heads, rows, [], study.is_simulated, caption.split(",")[0])
