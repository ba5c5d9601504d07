"""Logs of Inspect, read by `inspect_ai.analysis` where it is installed: each sample counts as a line.

A line has the columns of Inspect's samples data frame (`id`, `epoch`, `input`, `target`, `metadata_*`, `score_*`,
`error` …), those of the evaluation's model (`model`, `model_generate_config` …), `task_name`, `created`, and
`completion`, the model's last answer.
"""

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path

from ingest.archives import OF_TABLES, Archive
from ingest.texts.lines import Block, blocks_of
from ingest.warehouse import UserError

OF_THE_EVALUATION = {"created": "eval.created", "task_name": "eval.task"}


def read(path: Path, file: int, block_bytes: int) -> Iterator[Block]:
    """Yield the samples of a log, each as a line."""
    try:
        from inspect_ai.analysis import EvalColumn, EvalModel, SampleColumn, SampleSummary, samples_df
    except ImportError as error:
        raise UserError(
            f"Inspect's logs are read by inspect_ai, which cannot be imported here ({error}): "
            "install it beside bais with `pip install inspect_ai`, and try again"
        ) from None

    columns = [
        *EvalModel,
        *(EvalColumn(name, path=place) for name, place in OF_THE_EVALUATION.items()),
        *SampleSummary,
        SampleColumn("completion", path="output.completion", full=True),
    ]
    try:
        frame, errors = samples_df(str(path), columns=columns, full=True, strict=False, quiet=True)
    except Exception as error:
        raise OSError(0, f"Inspect cannot read it: {_first_line(error)}") from None
    if frame.empty:
        why = _first_line(errors[0]) if errors else unfinished(path)
        raise OSError(0, f"Inspect finds no sample in it{f': {why}' if why else ''}")
    # what is missing, whatever pandas calls it, is null
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    lines = (json.dumps({name: _plain(name, value) for name, value in row.items()}, default=_as_json) for row in rows)
    yield from blocks_of(lines, file, block_bytes)


def unfinished(path: Path) -> str | None:
    """Return the status of a log whose evaluation did not succeed, with the beginning of the error that ended it."""
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(path), header_only=True)
    if log.status == "success":
        return None
    return f"status {log.status}{f', {_first_line(log.error.message)}' if log.error and log.error.message else ''}"


def _first_line(error):
    return (str(getattr(error, "error", error)).splitlines() or [type(error).__name__])[0]


def _plain(name, value):
    """Return a cell as JSON has it; what Inspect writes as JSON of the model becomes an object again."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and name.startswith("model_") and value.startswith("{"):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value


def _as_json(value):
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else str(value)


ARCHIVE = Archive(
    name="inspect_logs",
    suffix=(".eval", ".json"),
    magic=b"PK",
    mark="json_exists(line, '$.eval.task') and json_exists(line, '$.status')",
    select=Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),
    tables=OF_TABLES,
    expected="logs of Inspect, whose metadata are called as the columns of docs/importing.md, or a --map",
    read=read,
    unfinished=unfinished,
)
