"""Every number of the pages is the warehouse's."""

import json
import re
from contextlib import closing

import duckdb
import pytest

from bais.main import main
from tests.tools.report_page import TRIED, make_warehouse
from tests.tools.site_numbers import compare, data_of

FIVE = tuple(f"vendor{letter}/{letter}" for letter in "abcde")
MOST_BYTES = 1_500_000
CHANGES = {
    "a loss": "update inference.decisions set loss = loss + 1 where technique = 'sacd' and llm is not null",
    "a gain": "update inference.decisions set gain_low = gain_low - 1 where technique = 'premortem'",
    "a decision": "update inference.decisions set decision = 'avoid' where technique = 'sacd'",
    "a count": "update marts.counts set n_trials = n_trials + 1 where arm = 'low'",
    "a mean": "update marts.conditions set mean = mean + 0.01 where llm = 'vendorb/b'",
    "an anchor": "update marts.counts set anchor_value = 16 where anchor_value = 15",
    "how many were asked": "update marts.attrition set n_asked = n_asked + 1 where technique = 'sacd'",
    "a plain prompt": "update inference.decisions set loss = loss + 1 where technique = 'no_technique'",
    "a printed number": "update claims.published_claims set published_value = published_value + 1",
    "a verdict": "update marts.claim_checks set holds = 'holds' where holds = 'weaker'",
    "a cost": "update marts.technique_costs set cost_usd_per_answer = 0.02",
}


def single(path):
    """Write all pages of a warehouse as one file, and read it."""
    out = path.with_suffix(".html")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(path))
        assert main(["report", "--single", str(out)]) == 0
    return out.read_text(encoding="utf-8")


def compared(page, path):
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        return compare(page, connection)


@pytest.fixture(scope="module")
def of_five(tmp_path_factory):
    """A warehouse with LLMs of five vendors, and its pages in one file."""
    path = tmp_path_factory.mktemp("five") / "w.duckdb"
    make_warehouse(path, studies=["real"], llms=FIVE)
    return path, single(path)


def test_every_number_of_the_matrix_and_of_what_it_opens_is_the_warehouses(of_five):
    path, page = of_five
    found = compared(page, path)
    assert not found.wrong
    assert found.n > 600


def test_numbers_of_names_that_hold_markup_are_the_warehouses(tmp_path):
    said, path = " ".join(TRIED.values()), tmp_path / "w.duckdb"
    make_warehouse(path, studies=[f"s{said}"], llms=(f"x/{said}", f"y,{said}"), said=said, domain=f"d{said}")
    found = compared(single(path), path)
    assert not found.wrong
    assert found.n > 300


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_number_that_is_not_the_warehouses_is_found(of_five, tmp_path, change):
    path, page = of_five
    other = tmp_path / "w.duckdb"
    other.write_bytes(path.read_bytes())
    with closing(duckdb.connect(str(other))) as connection:
        connection.execute(change)
    assert compared(page, other).wrong


def test_a_mark_that_stands_elsewhere_is_found(of_five):
    path, page = of_five
    assert compared(re.sub(r'(class="dot" cx=")[\d.]+%', r"\g<1>1.0%", page, count=1), path).wrong
    assert compared(page.replace('class="points">+', 'class="points">+1'), path).wrong


def test_another_biass_mean_and_interval_are_the_warehouses(of_five):
    path, page = of_five
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        rows = connection.execute(
            "select value, low, high from inference.outcome_contrasts where is_headline order by technique"
        ).fetchall()
    table = re.search(r'<table class="cells biases".*?</table>', page, re.DOTALL)[0]
    drawn = re.findall(r'"interval" x1="([\d.]+)%" x2="([\d.]+)%".*?"dot" cx="([\d.]+)%".*?"points">([^<]*)<', table)
    most = 1.05 * max(abs(end) for row in rows for end in row)
    expected = [
        (*(f"{50 + 50 * end / most:.1f}" for end in (low, high, value)), f"{100 * value:+.1f}")
        for value, low, high in rows
    ]
    assert sorted(drawn) == sorted(expected)
    assert len(drawn) == 2


def test_texts_of_answers_are_found_by_their_cell_whatever_it_is_called(tmp_path):
    path, llms = tmp_path / "w.duckdb", ("ä, b/ü", 'c"d/\\e')
    make_warehouse(path, studies=["real"], llms=llms)
    texts = data_of(single(path))["texts"]
    names = {
        json.dumps(["real", "v", llm, "sacd", "low"], ensure_ascii=False, separators=(",", ":")) for llm in llms
    }  # as `JSON.stringify` has it
    assert texts.keys() == names
    assert all("I cannot say" in turns[0][1] for of in texts.values() for value, _, _, turns in of if value is None)


def test_texts_come_by_what_they_tell_until_their_room_is_used(of_five):
    _, page = of_five
    told = [entry for of in data_of(page)["texts"].values() for entry in of]
    assert sum(value is None for value, *_ in told) == len(FIVE)
    of_turns = [turns for value, _, _, turns in told if value is not None]
    assert len(of_turns) == len(FIVE) - 1
    assert [who for who, *_ in of_turns[0]][:2] == ["first answer", "analysis, round 1"]


@pytest.mark.slow("the recorded archive")
def test_every_number_of_the_archives_page_is_the_warehouses_and_the_file_can_be_mailed(recorded, tmp_path):
    path = tmp_path / "w.duckdb"
    path.write_bytes(recorded.path.read_bytes())
    page = single(path)
    found = compared(page, path)
    assert not found.wrong
    assert found.n > 5_000
    assert len(page.encode()) <= MOST_BYTES
