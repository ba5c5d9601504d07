"""Falsified descriptions of news, and what people said who validated them: a CSV file that people fill in."""

from ingest.archives import Archive
from ingest.news.files import STATED, import_falsifications

ARCHIVE = Archive(
    name="falsifications",
    study="news",
    suffix=(".csv",),
    header=STATED,
    tables=("falsifications", "falsification_verdicts", "quarantined_lines"),
    expected="falsified descriptions of articles, with who made and who validated them",
    take=import_falsifications,
)
