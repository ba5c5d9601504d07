"""How often six LLMs decide otherwise where a dilemma on software holds a cue (Sovrano 2026): counts alone."""

import re
from functools import partial
from pathlib import Path

from ingest.archives import Archive
from ingest.archives.counts import import_counts

ARCHIVE = Archive(
    name="software_engineering_2026",
    study="software-engineering-2026",
    suffix=".json",
    file_name=re.compile(r"1_bias_sensitivity_model=.+\.json"),
    tables=("counts", "paradigms", "paradigm_contrasts"),
    expected="documents with sensitivity and total_runs of each bias, whose names say the LLM and the techniques",
    take=partial(import_counts, select=Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")),
)
