"""A table of counts (CSV): how many runs gave a value under each condition, as many publish it without the answers."""

from ingest.archives import Archive
from ingest.land.counts import NEEDED, import_counts

ARCHIVE = Archive(
    name="counts",
    suffix=".csv",
    header=NEEDED,
    names_study=True,
    tables=("counts", "paradigms", "paradigm_contrasts"),
    expected=f"CSV with the columns {', '.join(NEEDED)}",
    take=import_counts,
)
