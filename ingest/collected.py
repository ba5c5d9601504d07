"""Load what was collected: from the spool into `raw`. Nothing here asks anything."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from ingest.load import land, landed_ids
from ingest.raw import LOAD_ID, TABLES
from ingest.responses import TRIAL_FIELDS, spooled
from ingest.spool import read_state, spool_files

# What `raw` has of a call that its line in the spool has not, and what the spool calls otherwise; the rest is alike.
NOT_IN_A_LINE = ("call_id", "study", "software_version", "git_revision", LOAD_ID)
SPOOLED_AS = {"session_id": "session", "response_text": "text"}
CALL_FIELDS, PROMPT_FIELDS = (
    {
        SPOOLED_AS.get(name, name): column["data_type"]
        for name, column in TABLES[table].columns.items()
        if name not in NOT_IN_A_LINE
    }
    for table in ("calls", "prompts")
)
ROWS_AT_A_TIME = 20_000

SELECT_TRIALS = """
select
    trial_id, study, source, concat_ws('/', study, vignette, $stamp) as batch_id, llm as llm_recorded, llm_returned,
    vignette, technique, anchor_direction, anchor_value, temperature, replicate, status as status_recorded,
    response as response_recorded, iterations, text as response_text, prompt_version as prompt_hash,
    'bais ' || coalesce(software_version, '') as protocol, asked_at, finished_at, session as session_id, phase,
    order_index, attempt_of, anchor_rule::varchar as anchor_rule, anchor_baseline, anchor_n_trials,
    reason as reason_recorded, first_text
from spooled
left join sessions using (session)
where trial_id not in (select trial_id from known)
"""

SELECT_CALLS = """
select
    concat_ws('-', trial_id, turn, attempt) as call_id, trial_id, $study as study, session as session_id, turn, step,
    round, attempt, n_messages, prompt_hash, asked_at, latency_s, requested_model, returned_model, upstream_provider,
    system_fingerprint, parameters::varchar as parameters, tokens_in, tokens_out, cost_usd, cost_source, http_status,
    request_id, finish_reason, refusal, error, error_detail, text as response_text, logprobs::varchar as logprobs,
    software_version, git_revision
from spooled
left join sessions using (session)
where concat_ws('-', trial_id, turn, attempt) not in (select call_id from known)
"""

SELECT_PROMPTS = """
select distinct on (prompt_hash) $study as study, prompt_hash, prompt_kind, text from spooled
where prompt_hash not in (select prompt_hash from known)
"""


@dataclass
class Loaded:
    """What a load brought: trials and calls that are new, and trials that were there."""

    n_trials: int = 0
    n_calls: int = 0
    n_already_there: int = 0


def load_collected(study: str) -> Loaded:
    """Load all that was collected for a study and is not in the warehouse yet."""
    loaded = Loaded()
    paths = spool_files(study)
    if not paths:
        return loaded
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    sessions = [session for path in paths for session in read_state(path).sessions]
    known = landed_ids(study)
    loaded.n_already_there = known.num_rows
    counts = {}

    def trials():
        for rows in _rows(paths, "trial", TRIAL_FIELDS, SELECT_TRIALS, {"stamp": stamp}, known, sessions):
            for vignette in rows["vignette"].to_pylist():
                counts[vignette] = counts.get(vignette, 0) + 1
            loaded.n_trials += rows.num_rows
            yield rows

    def calls():
        known = landed_ids(study, "calls", "call_id")
        for rows in _rows(paths, "call", CALL_FIELDS, SELECT_CALLS, {"study": study}, known, sessions):
            loaded.n_calls += rows.num_rows
            yield rows

    def prompts():
        known = landed_ids(study, "prompts", "prompt_hash")
        yield from _rows(paths, "prompt", PROMPT_FIELDS, SELECT_PROMPTS, {"study": study}, known, sessions)

    def batches():
        if counts:
            yield _batches(study, stamp, counts, sessions)

    land(trials=trials(), calls=calls(), prompts=prompts(), batches=batches())
    return loaded


def _rows(paths, kind, fields, select, parameters, known, sessions):
    columns = ("session", "software_version", "git_revision")
    of_sessions = pa.table(
        {column: pa.array([session.get(column) for session in sessions], pa.string()) for column in columns}
    )
    with spooled(paths, fields, kind) as connection:
        connection.register("sessions", of_sessions)
        connection.register("known", known)
        for batch in connection.sql(select, params=parameters).to_arrow_reader(ROWS_AT_A_TIME):
            yield pa.Table.from_batches([batch])


def _batches(study, stamp, counts, sessions):
    """Describe the batches by the last session that knew the vignette."""
    rows = []
    for vignette, n in counts.items():
        definitions = [
            (session["study"], entry)
            for session in sessions
            for entry in session["study"]["vignettes"]
            if entry["vignette"] == vignette
        ]
        definition, entry = definitions[-1] if definitions else (None, {})
        is_simulated = definition and all(llm["provider"] == "simulated" for llm in definition["llms"])
        rows.append(
            {
                "batch_id": f"{study}/{vignette}/{stamp}",
                "study": study,
                "vignette": vignette,
                "source": "simulated" if is_simulated else "collected",
                "n_trials": n,
                "definition": json.dumps(definition),
                "loaded_at": datetime.now(UTC),
                **{key: entry.get(key) for key in ("domain", "response_unit", "valid_min", "valid_max")},
            }
        )
    return pa.Table.from_pylist(rows)
