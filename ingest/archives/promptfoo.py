"""Results of promptfoo: JSON lines (`-o results.jsonl`), or one JSON document (`-o results.json`)."""

from pathlib import Path

from ingest.archives import OF_TABLES, Archive
from ingest.texts.documents import read_records

ARCHIVE = Archive(
    name="promptfoo",
    suffix=(".jsonl", ".json"),
    mark="json_exists(line, '$.results.version') or json_exists(line, '$.promptIdx')",
    objects=("$", "$.vars", "$.response", "$.provider", "$.prompt"),
    select=Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),
    read=read_records,
    tables=OF_TABLES,
    expected="results of promptfoo, whose variables are called as the columns of docs/importing.md, or a --map",
)
