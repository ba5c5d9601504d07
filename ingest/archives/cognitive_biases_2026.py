"""Answers of eight LLMs to twelve biases (Pagliaro 2026): a JSON document for each bias, LLM and strategy."""

from pathlib import Path

from ingest.archives import OF_TABLES, Archive
from ingest.texts.documents import read_records

ARCHIVE = Archive(
    name="cognitive_biases_2026",
    study="cognitive-biases-2026",
    suffix=".json",
    mark="json_exists(line, '$.bias_name') and json_exists(line, '$.variants[0].control_responses')",
    select=Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),
    read=read_records,
    tables=OF_TABLES,
    expected="documents with bias_name, model_name, strategy and the answers to variants",
)
