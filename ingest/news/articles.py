"""News as `raw` keeps them: which addresses are trusted, what an article is called by, and what is kept of it.

Document C's appendix A.3 says which domains and which fields; the full text that its project takes from the publishers'
pages is never stored, and what LLMs are asked about is `api_description`.
"""

import ast
import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa

from ingest.land.load import land, landed_ids
from ingest.land.raw import TABLES
from ingest.texts.lines import Line, beginning, quarantine_rows
from ingest.texts.redaction import as_text

STUDY = "news"
URL = "https://newsapi.org/v2/everything"
KEYWORD, LANGUAGE = "politics", "en"
# Document C: dates after April 2025, past the knowledge of all its LLMs
BEGINNING = datetime(2025, 5, 1, tzinfo=UTC)
# Document C, appendix A.3
DOMAINS = (
    "bbc.co.uk", "reuters.com", "apnews.com", "npr.org", "pbs.org", "theguardian.com", "wsj.com", "nytimes.com",
    "propublica.org",
)  # fmt: skip
# what is kept of a row that is set apart: a field that nobody knows may hold the full text of an article, or a person
KEPT = (
    "article_id", "url", "source", "author", "title", "description", "api_description", "publishedAt", "keyword",
    "language", "falsified_description", "made_by", "validated_by", "is_negation", "validated_by_2", "is_negation_2",
)  # fmt: skip
MOST_CHARACTERS = 1 << 20
PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
NO_ADDRESS = re.compile(r"[\s\\\x00-\x1f\x7f]")  # programs disagree on which host such an address names


class Complaint(ValueError):
    """Why an article is not kept."""


def normal_address(url: object) -> tuple[str, str]:
    """Return the normal form of an article's address and the trusted domain it is of, or complain.

    The fragment goes, and so does each parameter that begins with `utm_`. The host is a trusted domain or lies below
    one: `bbc.co.uk.evil.com` is neither.
    """
    if not isinstance(url, str) or not url.strip():
        raise Complaint("the article has no address")
    url = url.strip()
    if as_text(url, len(url)) != url:
        raise Complaint("the address holds a character that is none: NUL, or half of one")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise Complaint("the address cannot be read") from None
    if NO_ADDRESS.search(url) or parts.scheme not in PORTS or "@" in parts.netloc or not HOST.fullmatch(host):
        raise Complaint("the address is none of a page: it should begin with https:// and a host")
    if port not in (None, PORTS[parts.scheme]):
        raise Complaint(f"the address is at the port {port}, where no publisher has its pages")
    domain = next((domain for domain in DOMAINS if host == domain or host.endswith(f".{domain}")), None)
    if domain is None:
        raise Complaint("the host of the address is no trusted domain, nor below one")
    kept = [part for part in parts.query.split("&") if part and not part.lower().startswith("utm_")]
    return urlunsplit(("https", host, parts.path or "/", "&".join(kept), "")), domain


def id_of_article(address: str) -> str:
    """Return what an article is called by."""
    return hashlib.sha256(address.encode("utf-8", "replace")).hexdigest()[:32]


def time_of(text: object, what: str, now: datetime) -> datetime:
    """Read a time, in UTC if it does not say where, or complain of one that is none or lies in the future."""
    if text is None or (isinstance(text, str) and not text.strip()):
        raise Complaint(f"{what} is null, so that nothing says before or after whose knowledge it lies")
    try:
        time = datetime.fromisoformat(str(text).strip())
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Complaint(f"{what} is no time: {str(text)[:100]}") from None
    if time > now:
        raise Complaint(f"{what} lies in the future: {str(text)[:100]}")
    return time


def read_article(given: Mapping, found_in: str, now: datetime) -> dict:
    """Return the row of `raw.news` that an article is, called as the news service or NewsLensSync calls its fields."""
    address, domain = normal_address(given.get("url"))
    return {
        "article_id": id_of_article(address),
        "study": STUDY,
        "url": address,
        "domain": domain,
        "source": _name_of(given.get("source")),
        "author": _read_text(given.get("author")),
        "title": _read_text(given.get("title")),
        "api_description": _read_text(given.get("api_description", given.get("description"))),
        "api_content": _read_text(given.get("api_content", given.get("content"))),
        "published_at": time_of(given.get("publishedAt"), "publishedAt", now),
        "keyword": KEYWORD,
        "language": LANGUAGE,
        "found_in": found_in,
        "fetched_at": now,
    }


def refused(given: object, complaint: object, found_in: str, number: int | None = None) -> Line:
    """Return what is kept of an article that is not, the known fields that are no lists of more; and why."""
    if isinstance(given, Mapping):
        fields = {name: given[name] for name in KEPT if name in given}
        if isinstance(fields.get("source"), Mapping):
            fields["source"] = {name: fields["source"].get(name) for name in ("id", "name")}
        given = {
            name: value for name, value in fields.items() if name == "source" or not isinstance(value, dict | list)
        }
    else:
        given = None
    text = json.dumps(given, ensure_ascii=True, sort_keys=True, default=str)
    return Line(found_in, number, *beginning(text.encode(), as_text(str(complaint), MOST_CHARACTERS)))


def falsified(article_id: str, text: str, made_by: str, now: datetime) -> dict:
    """Return the row of `raw.falsifications` that a falsified text is."""
    return {
        "falsification_id": hashlib.sha256(f"{article_id}\n{text}".encode()).hexdigest()[:32],
        "study": STUDY,
        "article_id": article_id,
        "falsified_description": text,
        "made_by": made_by,
        "stated_at": now,
    }


def known_ids(table: str, column: str) -> set[str]:
    """Return what rows of a table of news in the warehouse are called by."""
    return set(landed_ids(STUDY, table, column).column(column).to_pylist())


def known_descriptions() -> dict[str, str | None]:
    """Return the description that is kept of each article, by what the article is called."""
    articles = landed_ids(STUDY, "news", "article_id", "api_description").to_pylist()
    return {article["article_id"]: article["api_description"] for article in articles}


def land_news(now: datetime, quarantined: Iterable[Line] = (), **tables: Iterable[dict]) -> None:
    """Land rows of news and what was quarantined, all or none; nothing that is there changes."""
    tables["quarantined_lines"] = quarantine_rows(quarantined, STUDY, now)
    brought = {}
    for name, rows in tables.items():
        # of rows with one key the first counts: loading drops those alone that the warehouse has
        distinct = {}
        for row in rows:
            distinct.setdefault(tuple(row[column] for column in TABLES[name].key), row)
        if distinct:
            brought[name] = [TABLES[name].conform(pa.Table.from_pylist([*distinct.values()]))]
    if brought:
        land(**brought)


def _read_text(value):
    """Return what a field says, or complain of one that is far too long; an empty one says nothing."""
    if value is None or value != value:
        return None
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) > MOST_CHARACTERS:
        raise Complaint(f"a field of the article holds more than {MOST_CHARACTERS:,} characters")
    return as_text(text, MOST_CHARACTERS).strip() or None


def _name_of(source):
    """Return what a source is called: by itself, in a mapping, or in one that was written down as text."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        for read in (json.loads, ast.literal_eval):
            with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                source = read(source)
                break
    return _read_text(source.get("name") or source.get("id")) if isinstance(source, Mapping) else _read_text(source)
