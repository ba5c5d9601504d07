"""Land rows in `raw` through dlt: insert-only on their key, so that nothing is landed twice or overwritten."""

import hashlib
import os

import pyarrow as pa

from ingest.warehouse import UserError, explain, warehouse_path

text, number, count, instant = pa.string(), pa.float64(), pa.int64(), pa.timestamp("us", tz="UTC")

TRIALS = pa.schema(
    [
        pa.field("trial_id", text, nullable=False),
        pa.field("study", text, nullable=False),
        pa.field("source", text, nullable=False),
        pa.field("batch_id", text, nullable=False),
        pa.field("archive", text),
        pa.field("source_file", text),
        pa.field("source_line", count),
        pa.field("llm_recorded", text, nullable=False),
        pa.field("llm_returned", text),
        pa.field("vignette", text, nullable=False),
        pa.field("technique", text, nullable=False),
        pa.field("anchor_direction", text),
        pa.field("anchor_value", number),
        pa.field("temperature", number),
        pa.field("replicate", count),
        pa.field("status_recorded", text),
        pa.field("response_recorded", number),
        pa.field("first_response", number),
        pa.field("iterations", count),
        pa.field("response_text", text),
        pa.field("prompt_hash", text),
        pa.field("protocol", text),
        pa.field("asked_at", instant),
        pa.field("line", text),
    ]
)

QUARANTINED_LINES = pa.schema(
    [
        pa.field("quarantine_id", text, nullable=False),
        pa.field("study", text, nullable=False),
        pa.field("source_file", text, nullable=False),
        pa.field("line_number", count),
        pa.field("text", text),
        pa.field("reason", text, nullable=False),
        pa.field("quarantined_at", instant, nullable=False),
    ]
)


def land(trials, quarantined=()):
    """Load Arrow tables into `raw.trials` and `raw.quarantined_lines`.

    Parameters
    ----------
    trials : iterable of pyarrow.Table
        Of the schema `TRIALS`. Consumed before the warehouse is opened for writing.
    quarantined : iterable of pyarrow.Table
        Of the schema `QUARANTINED_LINES`; consumed after `trials`.

    Raises
    ------
    UserError
        If the warehouse cannot be written; what was there before is as it was.
    """
    os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
    os.environ.setdefault("RUNTIME__LOG_LEVEL", "CRITICAL")
    os.environ.setdefault("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID", "true")
    os.environ.setdefault("LOAD__RAISE_ON_MAX_RETRIES", "1")
    os.environ.setdefault("EXTRACT__DATA_WRITER__BUFFER_MAX_ITEMS", "50000")
    import dlt
    from dlt.pipeline.exceptions import PipelineStepFailed

    path = warehouse_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    insert_only = {"disposition": "merge", "strategy": "insert-only"}
    resources = [
        dlt.resource(
            trials,
            name="trials",
            primary_key="trial_id",
            write_disposition=insert_only,
            columns={"line": {"data_type": "json"}},
        ),
        dlt.resource(
            quarantined, name="quarantined_lines", primary_key="quarantine_id", write_disposition=insert_only
        ),
    ]
    pipeline = dlt.pipeline(
        f"bais_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}",
        destination=dlt.destinations.duckdb(str(path)),
        dataset_name="raw",
        pipelines_dir=str(path.parent / "dlt"),
    )
    try:
        _load_what_a_kill_left(pipeline)
        pipeline.extract(resources)
        pipeline.normalize()
        pipeline.load()
    except PipelineStepFailed as error:
        pipeline.abort_packages()
        raise _cause(error, path) from None


def _cause(error, path):
    """Find what a person can act on below dlt's wrapping; a defect of ours comes through as it is."""
    chain = [error]
    while following := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(following)
    for link in reversed(chain):
        if isinstance(link, UserError):
            return link
        if "Could not set lock" in str(link) or isinstance(link, OSError):
            return UserError(explain(link, path))
    return error


def _load_what_a_kill_left(pipeline):
    """Finish the package of an interrupted run, which dlt would otherwise load instead of the new one."""
    if not pipeline.has_pending_data:
        return
    try:
        pipeline.normalize()
        pipeline.load()
    except Exception as error:
        if "Could not set lock" in str(error):
            raise
        pipeline.abort_packages()
