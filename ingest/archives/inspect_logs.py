"""Logs of Inspect, read by `inspect_ai.analysis` where it is installed: each sample counts as a line.

A line has the columns of Inspect's samples data frame (`id`, `epoch`, `input`, `target`, `metadata_*`, `score_*`,
`error` …), those of the evaluation's model (`model`, `model_generate_config` …), `task_name`, `created`, and
`completion`, the model's last answer.
"""

import json
import math

from ingest.archives.mapping import blocks_of, mapped_archive, read_mapping
from ingest.warehouse import UserError

ARCHIVE_NAME = "inspect_logs"
OF_THE_EVALUATION = {"created": "eval.created", "task_name": "eval.task"}


def archive(mapping, study=None):
    """Return the format under a mapping.

    Parameters
    ----------
    mapping : Path
    study : str, optional

    Returns
    -------
    ingest.archives.Archive

    Raises
    ------
    UserError
        If Inspect is not installed here, or the mapping is not one.
    """
    try:
        import inspect_ai.analysis  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"Inspect's logs are read by inspect_ai, which cannot be imported here ({error}): "
            "install it beside bais with `pip install inspect_ai`, and try again"
        ) from None
    return mapped_archive(
        ARCHIVE_NAME,
        read_mapping(mapping, study),
        suffix=(".eval", ".json"),
        expected="logs of Inspect, whose samples have the columns that the mapping names",
        read=read,
    )


def read(path, file, block_bytes):
    """Yield the samples of a log, each as a line.

    Parameters
    ----------
    path : Path
    file, block_bytes : int

    Yields
    ------
    ingest.lines.Block

    Raises
    ------
    OSError
        If Inspect cannot read the log.
    """
    from inspect_ai.analysis import EvalColumn, EvalModel, SampleColumn, SampleSummary, samples_df

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
