"""Document D's scores: CSV files, one for each LLM and regime of anchors, which only their names tell."""

import re

from ingest.archives import Archive
from ingest.land.scores import import_scores

FILE_NAME = re.compile(r"anchoring_(?P<llm>.+)_results_(?P<regime>standard|different_anchors)\.csv")


ARCHIVE = Archive(
    name="anchoring_llms",
    study="anchoring-llms",
    suffix=(".csv",),
    file_name=FILE_NAME,
    tables=(
        "attribution_scores",
        "quarantined_lines",
        "batches",
        "source_versions",
        "version_files",
        "unread_lines",
        "version_entries",
    ),
    expected="anchoring_LLM_results_standard.csv or _different_anchors.csv with log-probabilities of targets",
    take=import_scores,
)
