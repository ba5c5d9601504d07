"""Labels of recorded texts, kept by file and line: what the texts state, and what the reader finds in them."""

import csv
import json
from pathlib import Path

import duckdb

from ingest.land.models import macros

UNITS = {"loan": "thousand USD", "salary": "thousand USD", "medical": "score of 100", "shoplifting": "months"}


def read_labels(path: Path) -> list[dict]:
    """Return a dict per labelled text; `label` is the number that it states, None if it states none."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [{**row, "label": float(row["label_response"]) if row["label_response"] else None} for row in rows]


def lines_and_readings(labels: list[dict], archive: Path) -> list[tuple[dict, dict]]:
    """Return the recorded line of each label, and what is read in its text."""
    files = {name: (archive / name).read_text("utf-8").split("\n") for name in {row["source_file"] for row in labels}}
    recorded = [json.loads(files[row["source_file"]][int(row["source_line"]) - 1]) for row in labels]
    readings = duckdb.execute(
        f"select {macros()['read_response']('text', 'unit')} "
        "from (select unnest(?::varchar[]) as text, unnest(?::varchar[]) as unit, unnest(range(?)) as place) "
        "order by place",
        [
            [line["raw"] if "raw" in line else line["iterationDetails"][-1]["rawResponse"] for line in recorded],
            [UNITS[line.get("vignetteId", "shoplifting")] for line in recorded],
            len(recorded),
        ],
    ).fetchall()
    return [(line, reading) for line, (reading,) in zip(recorded, readings, strict=True)]
