"""The gate and the provenance of a study, as tables."""

from functools import partial

from markupsafe import Markup

from analysis.report.tables import number, table_of, text, whole, words
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
    of_verdict = partial(whole, reason="not_audited", table="raw.batch_verdicts", by=["verdict_id"])
    columns = [
        ("batch", text("batch_id")),
        ("source", text("source")),
        ("loaded", lambda row: moment(row["loaded_at"])),
        ("trials", whole("n_trials")),
        ("verdict", lambda row: clean((row["verdict"] or "not audited").replace("_", " "))),
        ("trials are", _publication),
        ("checks failed", of_verdict("n_failed")),
        ("warnings", of_verdict("n_warnings")),
        ("audited", lambda row: moment(row["checked_at"])),
    ]
    caption = "Batches and what the gate said of them"
    return _table(study, caption, "raw.batches", ["batch_id"], study.rows("batches"), columns)


def _publication(batch):
    by = f", {clean(batch['act'])} by a person" if batch["act"] else ""
    return f"{'published' if batch['is_published'] else 'not published'}{by}"


def _checks(study):
    columns = [
        ("check", words("check_name")),
        ("vignette", text("vignette")),
        ("result", lambda row: "failed" if row["level"] == "fail" else "warning"),
        ("observed", number("observed_value", digits=4, reason="nothing_observed")),
        ("at most", number("threshold", digits=4, reason="no_threshold")),
        ("measure", text("measure")),
        ("offending trials", whole("n_offending")),
        ("detail", text("detail")),
    ]
    by = ["verdict_id", "check_name", "level"]
    return _table(study, "Checks that were not met", "raw.batch_checks", by, study.rows("checks"), columns, {})


def _flags(study):
    sentences = {row["reason"]: row["sentence"] for row in study.tables["flag_reasons"]}
    columns = [
        ("reason", words("reason")),
        ("severity", text("severity")),
        ("trials", whole("n_trials", "count(distinct trial_id)")),
        ("what it means", lambda row: clean(sentences.get(row["reason"], ""))),
    ]
    caption = (
        "Trials that the gate quarantined (left out of the public tables) or holds suspect (left out in the "
        "sensitivity), by reason; a trial can have several"
    )
    return _table(study, caption, FLAGGED, ["severity", "reason"], study.rows("flags"), columns)


def _lines(study):
    columns = [("reason", text("reason")), ("lines", whole("n_lines", "count(*)"))]
    caption = "Lines that could not be read as trials, by reason"
    return _table(study, caption, "raw.quarantined_lines", ["reason"], study.rows("quarantined_lines"), columns)


def _disagreements(study):
    rows = study.rows("disagreements")

    def either(how, number_of):
        return lambda row: clean(row[f"label_{how}"] or "none") if row["label_recorded"] else number_of(row)

    columns = [
        ("trial", lambda row: Markup("<code>{}</code>").format(clean(row["trial_id"]))),
        (
            "of",
            lambda row: (
                f"{study.llm(row['llm'])}, {clean(row['vignette'])}, {study.technique(row['technique'])}, "
                f"{clean(row['anchor_direction'])}"
            ),
        ),
        ("recorded", either("recorded", number("response_recorded", digits=2, reason="none_recorded"))),
        (
            "reread",
            either(
                "reparsed",
                lambda row: Number(row["response_reparsed"], "response_reparsed", 2, reason=row["status_reparsed"]),
            ),
        ),
        ("reread as", words("status_reparsed")),
        (
            "text around the number",
            lambda row: Markup('<q dir="auto">{}</q>').format(
                clean(" ".join((row["text_around"] or "").split()))[:MOST_CHARACTERS]
            ),
        ),
    ]
    caption = (
        "Trials whose text states another number or option than was recorded; the texts are answers of LLMs, quoted as "
        "they came"
    )
    if len(rows) > MOST_DISAGREEMENTS:
        caption += f" (the first {MOST_DISAGREEMENTS})"
    return _table(study, caption, "marts.parse_disagreements", ["trial_id"], rows[:MOST_DISAGREEMENTS], columns)


def provenance_tables(study):
    """Make the tables of where a study came from.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Table
    """
    sources = [
        ("vignette", text("vignette")),
        ("domain", lambda row: clean(row["domain"] or MISSING)),
        ("source", lambda row: "simulated: no LLM was asked" if row["source"] == "simulated" else clean(row["source"])),
        ("trials", whole("n_trials", "count(*)")),
        ("LLMs", whole("n_llms", "count(distinct llm) filter (where role is null)")),
        ("first asked", lambda row: moment(row["first_asked_at"])),
        ("last asked", lambda row: moment(row["last_asked_at"])),
    ]
    resampling = [
        ("method", words("method")),
        ("seed", whole("seed", "max(seed)", reason="nothing_drawn")),
        ("draws", whole("n_draws", "max(n_draws)", reason="nothing_drawn")),
        ("equivalence margin (pp)", number("margin", "max(margin)", reason="none")),
        ("rows", whole("n_rows", "count(*)")),
    ]
    by = ["source", "vignette"]
    where = _table(study, "Where the trials came from", "marts.trials", by, study.rows("sources"), sources)
    caption, by = "How decisions and probabilities were made", ["method", "seed", "n_draws"]
    how = _table(study, caption, "inference.decisions", by, study.rows("resampling"), resampling)
    return [table for table in (where, how) if table.rows]


def _table(study, caption, source, by, rows, columns, key=None):
    key = {"study": study.name} if key is None else key
    return table_of(study, f"{caption}.", source, key, by, rows, columns, name=caption.split(",")[0])
