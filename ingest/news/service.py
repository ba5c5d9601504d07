"""Fetch news from a service that answers as NewsAPI does: page by page, from where the last fetch had come to.

dlt lands what was read (ingest/land/load.py); where the next fetch begins is a row of the warehouse that lands with it,
so that a fetch that did not come to its end moves nothing (docs/decisions/0024).
"""

import json
import math
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from urllib.parse import urlsplit, urlunsplit

from ingest.land.load import landed_ids
from ingest.land.raw import prepare_raw
from ingest.news import articles
from ingest.news.articles import Complaint
from ingest.providers.openai_compatible import MOST_BYTES, THROTTLES, key_at, retry_after
from ingest.studies.parts import Limits
from ingest.texts.files import web_parts
from ingest.texts.lines import quarantine_rows
from ingest.texts.redaction import Redaction
from ingest.warehouse import UserError, printable, warehouse_path

KEY = "NEWS_API_KEY"
CANNOT_BE_ASKED, QUARANTINED = 4, 3
PAGE_SIZE = 100
# services learn late of some articles: those of the last day are asked for again, and what is known stays as it is
LAG = timedelta(days=1)
OF_THE_KEY = ("apiKeyDisabled", "apiKeyExhausted", "apiKeyInvalid", "apiKeyMissing")
MOST_RESULTS = "maximumResultsReached"
MOST_PAGES = 10_000


@dataclass
class Fetch:
    """What one fetch asked for and found."""

    url: str
    asked_from: datetime
    began_at: datetime
    cursor: datetime | None
    n_pages: int = 0
    n_read: int = 0
    descriptions: dict[str, str | None] = field(default_factory=dict)
    amended: set[str] = field(default_factory=set)
    articles: dict[str, dict] = field(default_factory=dict)
    quarantined: list = field(default_factory=list)
    set_apart: list = field(default_factory=list)
    skipped_from: datetime | None = None

    @property
    def n_again(self) -> int:
        """How many of the articles that were read are known already, or came twice."""
        return self.n_read - len(self.articles) - len(self.quarantined)

    def take(self, page: list) -> None:
        """Take the articles of a page, and set apart what is none."""
        self.n_pages += 1
        self.n_read += len(page)
        for given in page:
            try:
                if not isinstance(given, dict):
                    raise Complaint("this is no article")
                article = articles.read_article(given, self.url, self.began_at)
            except Complaint as complaint:
                self.quarantined.append(articles.refused(given, complaint, self.url))
                continue
            self.cursor = max(filter(None, (self.cursor, article["published_at"])))
            article_id, description = article["article_id"], article["api_description"]
            if article_id not in self.descriptions:
                self.articles[article_id] = article
                self.descriptions[article_id] = description
            elif self.descriptions[article_id] != description:
                self.amended.add(article_id)

    def end(self) -> None:
        """Say what of the quarantined articles no earlier fetch had set apart as they are."""
        ids = articles.known_ids("quarantined_lines", "quarantine_id")
        rows = quarantine_rows(self.quarantined, articles.STUDY, self.began_at)
        new = zip(self.quarantined, rows, strict=True)
        self.set_apart = [line for line, row in new if row["quarantine_id"] not in ids]

    def row(self) -> dict:
        """Return the row of `raw.news_fetches` that it is."""
        return {
            "fetch_id": uuid.uuid4().hex,
            "study": articles.STUDY,
            "endpoint": self.url,
            "asked_from": self.asked_from,
            "cursor": self.cursor,
            "n_pages": self.n_pages,
            "n_read": self.n_read,
            "n_new": len(self.articles),
            "n_quarantined": len(self.quarantined),
            "fetched_at": self.began_at,
        }


def planned(url: str | None, since: datetime | None, now: datetime) -> Fetch:
    """Say what a fetch would ask for, or refuse one that would begin in the future."""
    url = address_of_service(url or articles.URL)
    cursor = last_cursor()
    if since and since > now:
        raise UserError(f"--since {since:%Y-%m-%d %H:%M} lies in the future: name a day that has been")
    if cursor and cursor > now and not since:
        raise UserError(
            f"the newest article of the last fetch is of {cursor:%Y-%m-%d %H:%M}, which lies in the future: check the "
            "clock of this machine, or say with --since from which day on to ask"
        )
    begins = since or max(cursor - LAG if cursor else articles.BEGINNING, articles.BEGINNING)
    skipped_from = cursor if cursor and begins > cursor else None
    return Fetch(url, begins, now, cursor if cursor and cursor <= now else None, skipped_from=skipped_from)


def address_of_service(url: str) -> str:
    """Return the address that is asked: of a host alone, the one at which NewsAPI answers."""
    parts = web_parts(url)
    if "@" in url.partition("?")[0]:
        raise UserError(
            f"the address of the news service holds an @: leave out what stands before it, the key comes from {KEY}"
        )
    if parts is None:
        shown = printable(url.partition("?")[0])
        raise UserError(f"{shown} is no address of a news service: it should begin with https:// and a host")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") or urlsplit(articles.URL).path, "", ""))


def last_cursor() -> datetime | None:
    """Return up to when news were fetched, as the last fetch that came to its end says."""
    if warehouse_path().exists():
        prepare_raw(warehouse_path())
    fetches = landed_ids(articles.STUDY, "news_fetches", "ordinal", "cursor").to_pylist()
    return max(fetches, key=itemgetter("ordinal"), default={"cursor": None})["cursor"]


def fetch_news(
    url: str | None = None,
    since: datetime | None = None,
    *,
    now: datetime | None = None,
    sleep: Callable[[float], None] = time.sleep,
    limits: Limits | None = None,
) -> Fetch:
    """Fetch what has come since the last fetch, and land it.

    What keeps a page from being read ends the fetch: what was read before it lands, and the next fetch begins where
    this one did.
    """
    fetch = planned(url, since, now or datetime.now(UTC))
    fetch.descriptions = articles.known_descriptions()
    try:
        with closing(NewsService(fetch.url, limits or Limits(timeout_s=30), sleep)) as service:
            for page in service.pages(fetch.asked_from, fetch.began_at):
                fetch.take(page)
    except UserError as error:
        articles.land_news(fetch.began_at, fetch.quarantined, news=fetch.articles.values())
        if not fetch.n_pages:
            raise
        apart = f" and {len(fetch.quarantined):,} set apart in raw.quarantined_lines" if fetch.quarantined else ""
        raise UserError(
            f"{error}; what was read before is kept ({len(fetch.articles):,} new articles{apart}), and the next fetch "
            "begins where this one did",
            error.exit_code,
        ) from None
    fetch.end()
    articles.land_news(fetch.began_at, fetch.quarantined, news=fetch.articles.values(), news_fetches=[fetch.row()])
    return fetch


class NewsService:
    """One address with one key.

    Raises
    ------
    UserError
        If there is no key.
    """

    def __init__(self, url: str, limits: Limits, sleep: Callable[[float], None]):
        import httpx2

        self.url, self.limits, self.sleep = url, limits, sleep
        key = key_at(url, KEY)
        self.redaction = Redaction([key])
        self.httpx = httpx2
        # the key would follow a redirect to wherever that leads
        self.client = httpx2.Client(timeout=limits.timeout_s, follow_redirects=False, headers={"X-Api-Key": key})

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def pages(self, since: datetime, now: datetime) -> Iterator[list]:
        """Yield the articles page by page, the newest first.

        A service may give no more than so many results to one question: the rest is had by asking for what was
        published up to the oldest article seen.
        """
        parameters = asked_of(since)
        number, read, n_repeated, most, last, oldest = 1, set(), 0, 0, None, None
        for _ in range(MOST_PAGES):
            page = self._page(parameters | {"page": number})
            if page is None:
                until = oldest and _as_asked(oldest)
                if not until or parameters.get("to") == until:
                    raise self._failed("gives no more results, and says that there are more")
                parameters, number, read, n_repeated, most, last = parameters | {"to": until}, 1, set(), 0, 0, None
                continue
            entries, n_in_all = page
            most = max(most, n_in_all or 0)
            if not entries or entries == last:
                if len(read) + n_repeated < most:
                    raise self._failed(f"says that there are {most:,} articles, and gave {len(read):,}")
                return
            yield entries
            times = [_time_of(article, now) for article in entries]
            # an article from before what was asked for, such as a removed one of 1970, says nothing of what is left
            oldest = min([time for time in [oldest, *times] if time and time >= since], default=None)
            # pages that overlap say an article twice: it counts once; one that a page itself repeats hides no other
            named = {json.dumps((isinstance(article, dict) and article.get("url")) or article) for article in entries}
            read, n_repeated = read | named, n_repeated + len(entries) - len(named)
            number, last = number + 1, entries
            # after a full page there may be more, whatever the service says that there is in all
            if n_in_all is not None and len(read) + n_repeated >= most and len(entries) < PAGE_SIZE:
                return
        raise self._failed(f"gives page after page, {MOST_PAGES:,} by now: name a later day with --since")

    def _page(self, parameters):
        """Return the articles of a page and how many there are in all, or None where the service gives no more."""
        status, headers, body = self._ask(parameters)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            kind = printable(headers.get("content-type", "")).partition(";")[0] or "something"
            raise self._failed(f"answered {status} with {kind} that is no list of news: check the address") from None
        answer = answer if isinstance(answer, dict) else {}
        if answer.get("status") == "error" or status != 200:
            code = str(answer.get("code") or f"http_{status}")
            if code == MOST_RESULTS:
                return None
            if status in (401, 403) or code in OF_THE_KEY:
                raise self._failed(f"refused the key that the environment variable {KEY} holds")
            told = (self.redaction.of_error(str(text)) for text in (code, answer.get("message")) if text)
            raise self._failed(f"answered with an error, {': '.join(map(printable, told))}")
        entries, n_in_all = answer.get("articles"), answer.get("totalResults")
        if not isinstance(entries, list):
            raise self._failed("answered without a list of articles")
        return entries, n_in_all if type(n_in_all) is int else None

    def _ask(self, parameters):
        """Ask until there is an answer that is no request to wait."""
        for attempt in range(1, self.limits.attempts + 1):
            rest = None
            try:
                with self.client.stream("GET", self.url, params=parameters) as response:
                    if response.status_code not in THROTTLES and response.status_code < 500:
                        return response.status_code, response.headers, self._body_of(response)
                    problem, rest = f"answered {response.status_code}", retry_after(response.headers)
            except self.httpx.HTTPError as error:
                problem = f"cannot be reached ({type(error).__name__})"
            if rest is not None and rest > self.limits.longest_wait_s:
                how_long = "no end" if math.isinf(rest) else f"{rest:,.0f} seconds"
                raise self._failed(f"asks to be left alone for {how_long}: run this again then")
            if attempt < self.limits.attempts:
                self.sleep(self.limits.backoff_s * 2 ** (attempt - 1) if rest is None else rest)
        raise self._failed(f"{problem}, {self.limits.attempts} times: run this again later")

    def _body_of(self, response):
        parts, size = [], 0
        for part in response.iter_bytes():
            size += len(part)
            if size > MOST_BYTES:
                raise self._failed(f"sent a page of more than {MOST_BYTES >> 20} MB, which was not read")
            parts.append(part)
        return b"".join(parts)

    def _failed(self, what):
        return UserError(f"{printable(self.url)} {what}", CANNOT_BE_ASKED)


def asked_of(since: datetime) -> dict[str, str | int]:
    """Return what is asked of a service, but for the page."""
    return {
        "q": articles.KEYWORD,
        "language": articles.LANGUAGE,
        "domains": ",".join(articles.DOMAINS),
        "from": _as_asked(since),
        "sortBy": "publishedAt",
        "pageSize": PAGE_SIZE,
    }


def _as_asked(when):
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _time_of(article, now):
    try:
        return articles.time_of(article.get("publishedAt"), "publishedAt", now)
    except (Complaint, AttributeError):
        return None
