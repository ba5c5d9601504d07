"""The pages of `bais ui` in a browser: what a dot lists, and what an open page says of a warehouse that has changed."""

import subprocess
import sys

import duckdb
import pytest

from tests.tools.browsing import chromium, serving
from tests.tools.report_page import make_warehouse

pytestmark = pytest.mark.slow("pages in a browser")


HOSTILE = "</script><img src=x onerror=document.title='injected'>\u202e"
N, AT_ONCE = 450, 200
# answers of 24 to the plain prompt under a high number, two of them without a text
ANSWERS = """
insert into {table} by name
select
    'trial-' || lpad(i::varchar, 4, '0') as trial_id, 'many' as batch_id, 'real' as study, 'v' as vignette,
    'no_technique' as technique, 'high' as anchor_direction, 'recorded' as source, {more}
    case when i > 2 then 'Of all numbers, 45 is one (' || i || '). ' || $said end as response_text,
    timestamptz '2026-01-01 00:00:00+00' + to_seconds(i) as asked_at
from range(1, $n + 1) as numbers (i)
"""
MORE = {
    "raw.trials": "'vendor/a' as llm_recorded,",
    "marts.trials": "'vendor/a' as llm, 'anchoring' as paradigm, 'answered' as status, 24.0 as response,",
}
RENAMED = "update seeds.llms set display_name = 'Renamed' where display_name like 'A %'"
RENAME = f'import duckdb, sys; duckdb.connect(sys.argv[1]).execute("{RENAMED}")'


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    path = tmp_path_factory.mktemp("ui") / "w.duckdb"
    make_warehouse(path, said=HOSTILE)
    with duckdb.connect(str(path)) as connection:
        for table, more in MORE.items():
            connection.execute(ANSWERS.format(table=table, more=more), {"n": N, "said": HOSTILE * 40})
    return path


@pytest.fixture(scope="module")
def server(warehouse):
    with serving(warehouse) as started:
        yield started


@pytest.fixture
def page(browser, server):
    """The page that the printed address leads to; what it complains of is kept."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(server.address)
    yield page
    context.close()


def open_dot(page):
    page.locator("section.matrix:visible tr[data-llm='vendor/a'] button.cell").first.click()
    page.locator("svg.answers g[aria-label^='Plain prompt, high: 24 ']").click()
    page.get_by_text(f"{N} answers in all").wait_for()


def test_the_address_that_is_printed_leads_to_a_page_without_the_token(page, server):
    assert page.url.partition("#")[0] == f"http://127.0.0.1:{server.server_port}/"
    assert page.evaluate("document.cookie") == ""
    assert [cookie["httpOnly"] for cookie in page.context.cookies()] == [True]
    page.get_by_role("link", name="Papers").click()
    page.locator(".claim").first.wait_for()
    page.get_by_role("link", name="Simulated").click()
    page.get_by_text("SIMULATED: no LLM was asked").wait_for()
    assert page.said == []


def test_a_dot_lists_all_its_answers_some_at_a_time(page):
    open_dot(page)
    picks = page.locator(".every button")
    assert picks.count() == AT_ONCE
    assert page.get_by_text("of 2 the archive kept the number only").count() == 1
    page.get_by_role("button", name=f"{N - AT_ONCE} more").click()
    page.get_by_role("button", name=f"{N - 2 * AT_ONCE} more").click()
    assert picks.count() == N
    assert page.get_by_role("button", name=" more").count() == 0
    assert picks.first.inner_text() == "1: number only"
    picks.last.click()
    assert f"is one ({N})" in page.locator(".said .turn").inner_text()
    assert page.locator(".said .turn mark").inner_text() == "45"
    assert page.locator(".said code").inner_text() == f"bais trial trial-{N:04}"
    assert page.said == []


def test_an_answer_that_is_cut_is_there_whole_and_runs_and_reverses_nothing(page):
    open_dot(page)
    page.locator(".every button").nth(2).click()
    turn = page.locator(".said .turn")
    assert turn.inner_text().endswith("… (cut here)")
    page.get_by_role("button", name="all that was asked and said").click()
    page.locator(".said code").wait_for(state="detached")
    assert turn.inner_text().count("<img src=x") == 40
    assert "\u202e" not in page.locator("body").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() != "injected"
    assert page.said == []


def test_an_open_page_says_when_the_warehouse_has_changed_and_shows_it_again(page, warehouse):
    news = page.locator("header [role=status]")
    assert news.inner_text() == ""
    subprocess.run([sys.executable, "-c", RENAME, warehouse], check=True)
    news.get_by_text("The warehouse has changed").wait_for()
    assert page.get_by_text("Renamed").count() == 0
    before = page.url
    news.get_by_role("button").click()
    page.get_by_role("rowheader", name="Renamed").first.wait_for()
    assert page.url == before
    assert news.inner_text() == ""


def test_what_the_server_cannot_answer_is_said_where_the_answer_would_stand(page, server, monkeypatch):
    def gone(*_):
        raise ZeroDivisionError("nothing there")

    open_dot(page)
    monkeypatch.setattr(server.served, "answer", gone)
    page.locator("svg.answers g[aria-label^='Plain prompt, low: 24 ']").click()
    page.get_by_text("this could not be answered").wait_for()
