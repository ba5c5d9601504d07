"""News that are fetched from a service on this machine, or imported: what lands, what is set apart, what is refused."""

import csv
import json
import re
import shlex
import textwrap
from contextlib import closing
from datetime import UTC, datetime
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pytest

from bais.main import main
from ingest.land.raw import LOAD_ID, TABLES
from ingest.news.articles import Complaint, normal_address
from ingest.news.service import fetch_news
from ingest.studies.parts import Limits
from ingest.warehouse import ROOT, UserError
from tests.ingest.news_service import article, error, ok, served

NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)
KEY = "an-invented-key-0123456789"
DAY_1 = [
    article("tax", "2026-01-01T08:00:00Z"),
    article("bridge", "2026-01-02T08:00:00Z", "bbc.co.uk"),
    article("vote", "2026-01-03T08:00:00Z", "apnews.com"),
    article("court", "2026-01-04T08:00:00Z", "www.theguardian.com"),
]
DAY_2 = [
    DAY_1[2] | {"url": "http://APnews.com/2026/vote?utm_source=feed&utm_medium=rss#top"},
    DAY_1[3],
    article("budget", "2026-01-05T08:00:00Z", "reuters.com"),
    article("treaty", "2026-01-06T08:00:00Z", "www.nytimes.com"),
    article("speech", "2026-01-07T08:00:00Z", "www.propublica.org"),
    article("evil", "2026-01-07T09:00:00Z", "bbc.co.uk.evil.com"),
    article("undated", None, "www.wsj.com"),
]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("NEWS_API_KEY", KEY)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def without_dlt(monkeypatch):
    """What dlt would load is written directly, which takes a tenth of the time."""

    def load(tables, path, incoming):
        with closing(duckdb.connect(str(incoming))) as connection:
            connection.execute("create schema raw")
            for name, parts in tables.items():
                rows = pa.concat_tables([TABLES[name].conform(part) for part in parts])
                connection.register("rows_to_land", rows)
                connection.execute(f"create table raw.{name} as select *, 'load' as {LOAD_ID} from rows_to_land")

    monkeypatch.setattr("ingest.land.load._load", load)


@pytest.fixture
def fetch(without_dlt):
    """Fetch news ten days into 2026; what would have been slept is in `slept`."""

    def fetch_from(service, since=None, now=NOW):
        fetch_from.slept = []
        return fetch_news(service.url, since, now=now, sleep=fetch_from.slept.append, limits=Limits(timeout_s=5))

    return fetch_from


@pytest.fixture
def held(query):
    """What the warehouse holds: the articles by the last part of their address, and the cursor."""

    def read():
        articles = {url.rpartition("/")[2] for (url,) in query("select url from raw.news")}
        cursors = query("select cursor from raw.news_fetches order by fetched_at desc, cursor desc limit 1")
        return articles, cursors[0][0] if cursors else None

    return read


def test_news_come_day_by_day_and_nothing_comes_twice(held, query):
    def fetch(service):
        return fetch_news(service.url, now=NOW)

    with served(ok(*DAY_1[:2], n_in_all=4), ok(*DAY_1[2:], n_in_all=4)) as service:
        first = fetch(service)
    assert (len(first.articles), first.n_again, len(first.quarantined), first.n_pages) == (4, 0, 0, 2)
    with served(ok(*DAY_2)) as service:
        second = fetch(service)
        assert (len(second.articles), second.n_again, len(second.quarantined)) == (3, 2, 2)
        before = query("select * exclude (_dlt_load_id) from raw.news order by all")
        again = fetch(service)
    assert (len(again.articles), again.n_again, len(again.quarantined)) == (0, 5, 2)
    assert query("select * exclude (_dlt_load_id) from raw.news order by all") == before
    assert query("select count(*) from raw.quarantined_lines") == [(2,)]
    reasons = dict(query("select text::json ->> 'title', reason from raw.quarantined_lines"))
    assert "no trusted domain" in reasons["The title of evil"]
    assert "publishedAt is null" in reasons["The title of undated"]
    articles, cursor = held()
    assert articles == {"tax", "bridge", "vote", "court", "budget", "treaty", "speech"}
    assert cursor == datetime(2026, 1, 7, 8, tzinfo=UTC)


def test_a_service_is_asked_for_document_cs_news_since_the_last_fetch_less_a_day(fetch):
    with served(ok(*DAY_1)) as service:
        fetch(service)
        fetch(service)
        fetch(service, datetime(2025, 12, 1, tzinfo=UTC))
        first, second, third = service.asked
        assert set(service.keys) == {KEY}
    assert [asked["from"] for asked in (first, second, third)] == [
        "2025-05-01T00:00:00", "2026-01-03T08:00:00", "2025-12-01T00:00:00",
    ]  # fmt: skip
    assert (first["q"], first["language"]) == ("politics", "en")
    assert first["domains"].split(",") == [
        "bbc.co.uk", "reuters.com", "apnews.com", "npr.org", "pbs.org", "theguardian.com", "wsj.com", "nytimes.com",
        "propublica.org",
    ]  # fmt: skip


def test_what_is_kept_of_an_article_are_the_fields_of_appendix_a_3(fetch, query):
    with served(ok(DAY_1[0])) as service:
        fetch(service)
    kept = "select url, domain, source, author, title, api_description, api_content, published_at from raw.news"
    assert query(kept) == [
        (
            "https://www.npr.org/2026/tax", "npr.org", "NPR", "A. Writer", "The title of tax",
            "The senate has voted for tax.", "The senate... [+2000 chars]", datetime(2026, 1, 1, 8, tzinfo=UTC),
        )
    ]  # fmt: skip


def test_a_service_that_asks_to_wait_is_waited_for(fetch):
    with served(error("rateLimited", 429, headers={"Retry-After": "7"}), error("x", 503), ok(*DAY_1)) as service:
        assert len(fetch(service).articles) == 4
    assert fetch.slept == [7, 2]


def test_an_error_on_a_later_page_keeps_what_was_read_and_moves_no_cursor(fetch, held):
    with served(ok(DAY_1[0])) as service:
        fetch(service)
    _, cursor = held()
    broken = error("unexpectedError", 200, "we broke")
    said = pytest.raises(UserError, match="unexpectedError: we broke; what was read before is kept")
    with served(ok(*DAY_1[1:3], n_in_all=3), broken) as service, said as refusal:
        fetch(service)
    assert refusal.value.exit_code == 4
    assert held() == ({"tax", "bridge", "vote"}, cursor)
    with served(ok(*DAY_1)) as service:
        assert len(fetch(service).articles) == 1
        assert service.asked[0]["from"] == "2025-12-31T08:00:00"


@pytest.mark.parametrize(
    "answer",
    [
        error("apiKeyInvalid", 401),
        (200, {"Content-Type": "text/html"}, b"<html>Welcome</html>"),
        (302, {"Location": "http://127.0.0.1:9/"}, b""),
        (200, {}, {"status": "ok"}),
        error("rateLimited", 429, headers={"Retry-After": "43200"}),
        error("x", 500),
        error("parameterInvalid", 426, f"too far in the past for {KEY}"),
        error("maximumResultsReached", 426),
        error("x", 429, headers={"Retry-After": "inf"}),
        error("brokenThing", 400, message=""),
        ok(n_in_all=250),
    ],
    ids=str,
)
def test_a_service_that_cannot_be_asked_is_named_in_one_sentence_without_the_key(answer, fetch, warehouse, golden):
    with served(answer) as service, pytest.raises(UserError) as refusal:
        fetch(service)
    golden(str(refusal.value))
    assert KEY not in str(refusal.value)
    assert refusal.value.exit_code == 4
    assert not warehouse.exists()


def test_a_service_that_gives_few_results_to_a_question_is_asked_for_those_before(fetch, held):
    everything = sorted(DAY_1, key=lambda one: one["publishedAt"], reverse=True)

    def limited(asked):
        found = [one for one in everything if one["publishedAt"] <= asked.get("to", "9999")]
        return ok(*found[:2], n_in_all=len(found)) if asked["page"] == "1" else error("maximumResultsReached", 426)

    with served(limited) as service:
        assert len(fetch(service).articles) == 4
    assert held()[0] == {"tax", "bridge", "vote", "court"}


def test_a_removed_article_of_long_ago_does_not_end_a_fetch(fetch, held):
    removed = article("removed", "1970-01-01T00:00:00Z", "removed.com")
    everything = sorted(DAY_1, key=lambda one: one["publishedAt"], reverse=True)

    def limited(asked):
        found = [one for one in everything if one["publishedAt"] <= asked.get("to", "9999")]
        return ok(removed, *found[:2], n_in_all=999) if asked["page"] == "1" else error("maximumResultsReached", 426)

    with served(limited) as service, pytest.raises(UserError, match="says that there are more"):
        fetch(service)
    assert held()[0] == {"tax", "bridge", "vote", "court"}


def test_after_a_full_page_another_is_asked_for_whatever_the_service_says_there_is(fetch):
    full = [article(f"n{number}") for number in range(100)]
    with served(ok(*full, n_in_all=1), ok(article("last"), n_in_all=1)) as service:
        assert len(fetch(service).articles) == 101


def test_pages_that_end_short_move_no_cursor(fetch, held):
    said = pytest.raises(UserError, match="says that there are 250 articles, and gave 4")
    with served(ok(*DAY_1, n_in_all=250), ok(n_in_all=250)) as service, said as refusal:
        fetch(service)
    assert refusal.value.exit_code == 4
    assert held() == ({"tax", "bridge", "vote", "court"}, None)


def test_pages_that_overlap_lose_no_article(fetch, held):
    every = [article(f"t{i}", f"2026-01-0{1 + i // 100}T08:{i % 60:02d}:00Z") for i in range(150)]
    answers = [ok(*every[:100], n_in_all=150), ok(*every[50:100], n_in_all=150)]
    with served(*answers) as service, pytest.raises(UserError, match="says that there are 150 articles, and gave 100"):
        fetch(service)
    assert (len(held()[0]), held()[1]) == (100, None)


def test_an_article_that_a_page_repeats_does_not_end_a_fetch(fetch, held):
    with served(ok(DAY_1[0], DAY_1[0], DAY_1[1], n_in_all=3), ok(n_in_all=3)) as service:
        done = fetch(service)
    assert (len(done.articles), done.n_again) == (2, 1)
    assert held() == ({"tax", "bridge"}, datetime(2026, 1, 2, 8, tzinfo=UTC))


def test_amended_descriptions_are_counted_and_the_first_is_kept(without_dlt, capsys, query, golden):
    amended = DAY_1[3] | {"description": "The court has decided otherwise."}
    with served(ok(*DAY_1), ok(DAY_1[2], amended, amended)) as service:
        assert main(["news", "--url", service.url]) == 0
        assert "description" not in capsys.readouterr().out
        assert main(["news", "--url", service.url]) == 0
    said = " ".join(capsys.readouterr().out.split())
    golden(said, "3 known before (1 ", "0 quarantined")
    assert query("select count(*) from raw.news where api_description like '%otherwise%'") == [(0,)]


def test_pages_without_end_are_left(fetch, monkeypatch):
    monkeypatch.setattr("ingest.news.service.MOST_PAGES", 3)
    pages = [ok(article(f"n{number}"), n_in_all=99) for number in range(5)]
    with served(*pages) as service, pytest.raises(UserError, match="page after page, 3 by now"):
        fetch(service)


def test_a_fetch_by_a_clock_that_went_ahead_does_not_stay_the_last(fetch):
    with served(ok(*DAY_1, article("later", "2030-01-01T00:00:00Z"))) as service:
        fetch(service, now=datetime(2031, 1, 1, tzinfo=UTC))
        fetch(service, datetime(2026, 1, 2, tzinfo=UTC))
        fetch(service)
        assert service.asked[-1]["from"] == "2026-01-03T08:00:00"


def test_what_a_later_since_leaves_out_is_said(fetch, capsys, without_dlt, golden):
    with served(ok(*DAY_1)) as service:
        main(["news", "--url", service.url])
        main(["news", "--url", service.url, "--since", "2026-01-09"])
    said = " ".join(capsys.readouterr().out.split())
    golden(said, "2026-01-04 08:00", "2026-01-09 00:00")


def test_what_was_set_apart_before_is_said_but_once(without_dlt, capsys, golden):
    with served(ok(*DAY_2)) as service:
        assert main(["news", "--url", service.url]) == 3
        capsys.readouterr()
        assert main(["news", "--url", service.url]) == 0
    said = capsys.readouterr().out
    golden(said, "2 quarantined")
    assert "no trusted domain" not in said


def test_an_article_with_half_a_character_stops_no_other(fetch, held):
    odd = article("odd") | {"url": "https://www.npr.org/\ud800"}
    with served(ok(DAY_1[0], odd)) as service:
        assert [line.reason for line in fetch(service).quarantined] == [
            "the address holds a character that is none: NUL, or half of one"
        ]
    assert held()[0] == {"tax"}


def test_a_description_is_kept_whole_or_the_article_is_set_apart(fetch, golden):
    long = DAY_1[0] | {"description": "x" * ((1 << 20) + 1)}
    with served(ok(long, DAY_1[1] | {"description": float("nan")})) as service:
        done = fetch(service)
    (line,) = done.quarantined
    golden(line.reason, "1,048,576")
    assert [row["api_description"] for row in done.articles.values()] == [None]


@pytest.mark.parametrize(
    "url", ["http://test-secret-123@h/", "https://me:test-secret-123@h/v2", "h/?apiKey=test-secret-123"]
)
def test_a_secret_in_the_address_of_the_service_is_not_printed(url, capsys):
    assert main(["news", "--url", url]) == 2
    assert "test-secret-123" not in capsys.readouterr().err


def test_a_cursor_from_the_future_is_refused(fetch):
    with served(ok(*DAY_1)) as service:
        fetch(service)
        with pytest.raises(UserError, match="2026-01-04 08:00, which lies in the future") as refusal:
            fetch(service, now=datetime(2025, 6, 1, tzinfo=UTC))
        with pytest.raises(UserError, match="--since 2026-02-01 00:00 lies in the future"):
            fetch(service, datetime(2026, 2, 1, tzinfo=UTC))
    assert refusal.value.exit_code == 2


def test_an_article_from_the_future_does_not_move_the_cursor(fetch, held):
    with served(ok(*DAY_1, article("later", "2026-02-01T00:00:00Z"))) as service:
        assert len(fetch(service).quarantined) == 1
    assert held()[1] == datetime(2026, 1, 4, 8, tzinfo=UTC)


def test_a_fetch_that_is_killed_between_pages_is_made_up_for(fetch, held, warehouse):
    class Killed(BaseException):
        """What no handler of ours takes, as none runs after a kill -9."""

    def die(seconds):
        raise Killed

    pages = ok(*DAY_1[:2], n_in_all=4), ok(*DAY_1[2:], n_in_all=4)
    with served(pages[0], error("rateLimited", 429), pages[0], pages[1]) as service:
        with pytest.raises(Killed):
            fetch_news(service.url, now=NOW, sleep=die)
        assert not warehouse.exists()
        fetch(service)
        assert [asked["page"] for asked in service.asked] == ["1", "2", "1", "2"]
    assert held() == ({"tax", "bridge", "vote", "court"}, datetime(2026, 1, 4, 8, tzinfo=UTC))


@pytest.mark.parametrize(
    ("address", "normal", "domain"),
    [
        ("https://bbc.co.uk/a", "https://bbc.co.uk/a", "bbc.co.uk"),
        ("HTTPS://WWW.BBC.co.uk:443/a?b=1&UTM_Source=x&c=2#d", "https://www.bbc.co.uk/a?b=1&c=2", "bbc.co.uk"),
        ("http://news.bbc.co.uk.", "https://news.bbc.co.uk/", "bbc.co.uk"),
    ],
)
def test_an_address_has_one_normal_form(address, normal, domain):
    assert normal_address(address) == (normal, domain)
    assert normal_address(normal) == (normal, domain)


@pytest.mark.parametrize(
    "address",
    [
        None, "", 7, "https://bbc.co.uk.evil.com/a", "https://evilbbc.co.uk/", "https://.bbc.co.uk/",
        "https://evil.com%2f.bbc.co.uk/", "https://evil.com;.bbc.co.uk/", "https://evil.com/bbc.co.uk",
        "https://bbc.co.uk@evil.com/", "https://evil.com\\@bbc.co.uk/", "javascript:alert(1)//bbc.co.uk", "https://[",
        "https://bbc.co.uk:8080/", "https://bbc.co.uk:99999/", "https://bbc.co.uk /", "//bbc.co.uk/",
    ],
)  # fmt: skip
def test_an_address_elsewhere_is_refused(address):
    with pytest.raises(Complaint):
        normal_address(address)


def test_without_a_key_a_sentence_names_the_variable(monkeypatch, capsys, golden):
    monkeypatch.delenv("NEWS_API_KEY")
    assert main(["news"]) == 2
    golden(capsys.readouterr().err, "NEWS_API_KEY")


def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(monkeypatch, capsys, warehouse):
    monkeypatch.delenv("NEWS_API_KEY")
    with served(ok()) as service:
        assert main(["news", "--dry-run", "--url", service.url, "--since", "2026-01-01"]) == 0
        assert service.asked == []
    said = capsys.readouterr().out
    assert "from: 2026-01-01T00:00:00" in said
    assert "q: politics" in said
    assert not warehouse.exists()


def test_the_command_says_what_came_of_the_articles(without_dlt, capsys, golden):
    with served(ok(*DAY_2)) as service:
        assert main(["news", "--url", f"http://{urlsplit(service.url).netloc}"]) == 3
    said = capsys.readouterr().out
    golden(said, "7 articles", "1 page", "5 new")
    golden(said, "bbc.co.uk.evil.com/2026/evil")


NEWSLENSSYNC = [
    {
        "source": "{'id': None, 'name': 'NPR'}", "author": "", "title": "T", "api_description": "The law has passed.",
        "webscraped_description": "THE WHOLE ARTICLE", "falsified_description": "The law has failed.",
        "api_content": "", "url": "https://www.npr.org/law?utm_source=x", "publishedAt": "2025-06-01T10:00:00Z",
    },
    {
        "source": "BBC", "api_description": "It rained.", "falsified_description": "", "api_content": "",
        "webscraped_description": "THE WHOLE ARTICLE", "url": "https://bbc.co.uk.evil.com/",
        "publishedAt": "2025-06-01",
    },
]  # fmt: skip


@pytest.fixture
def newslenssync(tmp_path, without_dlt):
    path = tmp_path / "newslenssync.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in NEWSLENSSYNC))
    return path


def test_files_of_newslenssync_land_without_the_full_text(newslenssync, query, capsys, warehouse, golden):
    assert main(["import", str(newslenssync)]) == 3
    golden(capsys.readouterr().out, "1 new articles", "0 known", "1 new falsified")
    assert query("select source, author, api_description from raw.news") == [("NPR", None, "The law has passed.")]
    assert query("select falsified_description, made_by from raw.falsifications") == [
        ("The law has failed.", "NewsLensSync")
    ]
    assert query("select count(*) from raw.quarantined_lines where text like '%WHOLE%'") == [(0,)]
    assert b"THE WHOLE ARTICLE" not in warehouse.read_bytes()
    assert main(["import", "--format", "newslenssync", str(newslenssync)]) == 3
    golden(capsys.readouterr().out, "0 new articles", "1 known", "0 new falsified")
    later = [NEWSLENSSYNC[0] | {"api_description": "The law has passed at last."}]
    newslenssync.write_text(json.dumps(later[0]))
    assert main(["import", "--format", "newslenssync", str(newslenssync)]) == 0
    golden(capsys.readouterr().out, "1 known")
    assert query("select api_description from raw.news") == [("The law has passed.",)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "semicolon.csv",
            "api_description;url;publishedAt;webscraped_description\na;https://npr.org/1;2025-06-01;WHOLE",
        ),
        ("nested.jsonl", '{"article": {"webscraped_description": "WHOLE"}, "source": {"full": "WHOLE"}, "url": "x"}'),
        ("capitals.jsonl", '{"Webscraped_Description": "WHOLE", "participant": "WHOLE", "url": "https://npr.org/2"}'),
        ("object.jsonl", json.dumps(NEWSLENSSYNC[0] | {"falsified_description": {"webscraped_description": "WHOLE"}})),
    ],
)
def test_of_a_row_that_is_set_apart_only_fields_that_are_known_are_kept(
    newslenssync, name, content, warehouse, query, capsys
):
    folder = newslenssync.parent / "files"
    folder.mkdir()
    newslenssync.rename(folder / newslenssync.name)
    (folder / name).write_text(content)
    assert main(["import", str(folder), "--format", "newslenssync"]) == 3
    assert query("select count(*) from raw.quarantined_lines where source_file like '%" + name + "'") == [(1,)]
    assert b"WHOLE" not in warehouse.read_bytes()
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    "rows",
    [
        ['"An open quote,https://npr.org/2,2025-06-02', '"So.",https://npr.org/3,2025-06-03'],
        ['"So.",https://npr.org/3,2025-06-03,x'],
    ],
    ids=str,
)
def test_a_quote_that_is_left_open_swallows_no_row(tmp_path, without_dlt, query, rows, golden):
    path = tmp_path / "news.csv"
    path.write_text("\n".join(["api_description,url,publishedAt", "It rained.,https://npr.org/1,2025-06-01", *rows]))
    assert main(["import", str(path), "--format", "newslenssync"]) == 3
    assert query("select api_description from raw.news") == [("It rained.",)]
    ((reason,),) = query("select reason from raw.quarantined_lines")
    golden(reason)


def test_a_person_who_says_both_of_a_text_in_one_file_is_asked_to_choose(newslenssync, tmp_path, query, capsys, golden):
    main(["import", str(newslenssync)])
    ((article_id,),) = query("select article_id from raw.falsifications")
    sheet = tmp_path / "sheet.csv"
    lines = [f"{article_id},The law has failed.,x,ann,{verdict}" for verdict in ("true", "false")]
    sheet.write_text("\n".join(["article_id,falsified_description,made_by,validated_by,is_negation", *lines]))
    capsys.readouterr()
    assert main(["import", str(sheet)]) == 3
    golden(capsys.readouterr().out)
    assert query("select is_negation from raw.falsification_verdicts") == [(True,)]


def test_pairs_that_two_people_validated_become_items(newslenssync, tmp_path, query, capsys, golden):
    main(["import", str(newslenssync)])
    items, sheet = tmp_path / "items.csv", tmp_path / "sheet.csv"
    assert main(["news", "--items", str(items)]) == 2
    golden(capsys.readouterr().err, "1 whose")
    assert main(["news", "--to-validate", str(sheet)]) == 0
    filled = sheet.read_text().replace("NewsLensSync,,,,", "NewsLensSync,ann,true,bob,yes")
    sheet.write_text(filled)
    assert main(["import", str(sheet)]) == 0
    golden(capsys.readouterr().out, "2 new", "0 changed", "0 as before")
    assert main(["import", str(sheet)]) == 0
    golden(capsys.readouterr().out, "0 new", "0 changed", "2 as")
    assert main(["news", "--items", str(items)]) == 0
    header, true, false = items.read_text().splitlines()
    assert header == "item,pair,is_true,published_at,statement"
    assert true.endswith(",true,2025-06-01T10:00:00Z,The law has passed.")
    assert false.endswith(",false,2025-06-01T10:00:00Z,The law has failed.")
    assert true.split(",")[1] == false.split(",")[1]
    sheet.write_text(filled.replace("bob,yes", "bob,no"))
    assert main(["import", str(sheet)]) == 0
    golden(capsys.readouterr().out, "0 new", "1 changed", "1 as")
    items.unlink()
    assert main(["news", "--items", str(items)]) == 2
    golden(capsys.readouterr().err, "1 whose")


@pytest.mark.slow("many texts there and back")
@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@x", "'tis not so", "'=1", "It did not."])
def test_texts_to_validate_run_in_no_spreadsheet_and_come_back_as_they_were(newslenssync, tmp_path, query, text):
    newslenssync.write_text(json.dumps(NEWSLENSSYNC[0] | {"falsified_description": text}))
    assert main(["import", "--format", "newslenssync", str(newslenssync)]) == 0
    sheet = tmp_path / "sheet.csv"
    assert main(["news", "--to-validate", str(sheet)]) == 0
    ((shown, *_),) = [row[2:] for row in csv.reader(sheet.read_text().splitlines()[1:])]
    assert shown == (text if text == "It did not." else f"'{text}")
    sheet.write_text(sheet.read_text().replace("NewsLensSync,,,,", "NewsLensSync,ann,true,bob,yes"))
    assert main(["import", str(sheet)]) == 0
    assert query("select falsified_description from raw.falsifications") == [(text,)]


def test_falsified_texts_that_cannot_be_read_are_set_apart_line_by_line(newslenssync, tmp_path, query):
    main(["import", str(newslenssync)])
    law = "https://www.npr.org/law"
    said_of = {
        f"{law},The law has not passed.,me,,,,": None,
        "nobody-knows-it,It did not.,me,,,,": "there is no article nobody-knows-it",
        f"{law},,me,,,,": "falsified_description is empty",
        f"{law},It did not.,,,,,": "made_by is empty",
        f"{law},It did not.,me,ann,perhaps,,": "they say ann and perhaps",
        f"{law},It did not.,me,ann,true,ann,true": "ann stands there twice",
        f"{law},It did not.,me": "another number of values than the header",
        f"{law},The law has passed.,me,,,,": "falsified_description is the description itself",
    }
    columns = "article_id,falsified_description,made_by,validated_by,is_negation,validated_by_2,is_negation_2"
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join([columns, *said_of]))
    assert main(["import", "--format", "falsifications", str(sheet)]) == 3
    found = dict(query("select line_number, reason from raw.quarantined_lines where source_file = 'sheet.csv'"))
    assert found.keys() == {3, 4, 5, 6, 7, 8, 9}
    for number, said in enumerate(said_of.values(), 2):
        assert said is None or said in found[number]
    texts = query("select falsified_description from raw.falsifications where made_by = 'me'")
    assert texts == [("The law has not passed.",)]


def test_descriptions_without_a_falsified_text_are_written_as_items_of_a_study(fetch, tmp_path, capsys):
    path = tmp_path / "to-falsify.csv"
    with served(ok(DAY_1[0], DAY_1[1] | {"description": None})) as service:
        fetch(service)
    assert main(["news", "--to-falsify", str(path)]) == 0
    header, line = path.read_text().splitlines()
    assert header == "item,text,published_at"
    assert line.endswith(",The senate has voted for tax.,2026-01-01T08:00:00Z")


@pytest.mark.slow("a page followed step by step")
def test_the_page_on_a_news_set_works_as_written(without_dlt, tmp_path, monkeypatch, capsys, query):
    page = (ROOT / "docs" / "how-to" / "keep-a-news-set.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for path, text in re.findall(r"Write `([\w-]+\.yaml)`.*?```yaml\n(.*?)```", page, re.DOTALL):
        (tmp_path / path).write_text(textwrap.dedent(text), encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    words = [shlex.split(line)[1:] for line in "".join(blocks).splitlines() if "bais " in line]
    with served(ok(*DAY_1)) as service:
        monkeypatch.setenv("NEWS_API_URL", service.url)
        for command in words:
            if command[0] in ("build", "sql"):  # what tests of models do
                continue
            if command[0] == "import":
                sheet = tmp_path / command[1]
                sheet.write_text(sheet.read_text().replace(",,,,", ",ann,true,bob,true"))
            assert main(command) == 0, capsys.readouterr().err
    assert query("select count(*), count(distinct pair) from raw.items where study = 'check-news'") == [(8, 4)]
    assert query("select count(*) from raw.trials where study = 'check-news'") == [(16,)]
