"""Logs of Inspect, read by `inspect_ai.analysis` where it is installed: each sample counts as a line.

A line has the columns of Inspect's samples data frame (`id`, `epoch`, `input`, `target`, `metadata_*`, `score_*`,
`error` …), those of the evaluation's model (`model`, `model_generate_config` …), `task_name`, `created`, and
`completion`, the model's last answer.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

from ingest.archives import Archive
from ingest.lines import Block, blocks_of
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
        *(EvalColumn(name, path=of) for name, of in OF_THE_EVALUATION.items()),
        *SampleSummary,
        SampleColumn("completion", path="output.completion", full=True),
    ]
    try:
        frame, errors = samples_df(str(path), columns=columns, full=True, strict=False, quiet=True)
    except Exception as error:
        raise OSError(0, f"Inspect cannot read it: {_first_line(error)}") from None
    if frame.empty:
        raise OSError(0, f"Inspect finds no sample in it{f': {_first_line(errors[0])}' if errors else ''}")
    lines = (json.dumps({name: _plain(name, value) for name, value in row.items()}) for row in frame.to_dict("records"))
    yield from blocks_of(lines, file, block_bytes)


def _first_line(error):
    return (str(getattr(error, "error", error)).splitlines() or [type(error).__name__])[0]


def _plain(name, value):
    """Return a cell as JSON has it; what Inspect writes as JSON of the model becomes an object again."""
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str) and name.startswith("model_") and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value if value is None or isinstance(value, bool | int | str | list | dict) else _named(value)


def _named(value):
    return None if repr(value) in ("<NA>", "NaT") else str(value)


ARCHIVE = Archive(
    name="inspect_logs",
    suffix=(".eval", ".json"),
    magic=b"PK",
    mark="json_exists(line, '$.eval.task') and json_exists(line, '$.status')",
    mapping=Path(__file__).with_suffix(".yaml"),
    expected="logs of Inspect, whose samples have the columns that the mapping names",
    read=read,
)
