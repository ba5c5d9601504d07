"""Document D's scores: CSV files, one for each LLM and regime of anchors, which only their names tell."""

import re

from ingest.archives import OF_VERSIONS, Archive
from ingest.land.scores import import_scores

ARCHIVE = Archive(
    name="anchoring_llms",
    study="anchoring-llms",
    suffix=(".csv",),
    file_name=re.compile(r"anchoring_(?P<llm>.+)_results_(?P<regime>standard|different_anchors)\.csv"),
    tables=("attribution_scores", *OF_VERSIONS),
    expected="anchoring_LLM_results_standard.csv or _different_anchors.csv with log-probabilities of targets",
    take=import_scores,
)
