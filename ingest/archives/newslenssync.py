"""NewsLensSync: files of document C's news set, one article a row, with falsified descriptions."""

from ingest.archives import Archive
from ingest.news.files import COLUMNS, import_news

ARCHIVE = Archive(
    name="newslenssync",
    study="news",
    suffix=(".csv", ".jsonl", ".json", ".parquet"),
    header=COLUMNS,
    tables=("news", "falsifications", "quarantined_lines"),
    expected="articles with api_description, falsified_description, url and publishedAt",
    take=import_news,
)
