"""`bais report`: the pages, what they say, and where they go."""

import json
import re
import stat
from contextlib import closing
from html import unescape
from html.parser import HTMLParser

import duckdb
import pytest
from markupsafe import Markup

from analysis.report import panels, places
from bais import write
from bais.main import main
from tests.tools.report_page import TRIED, Numbers, make_warehouse, numbers_that_differ

CELL = ("vignette", "llm", "technique", "direction")
OF_A_CELL = dict.fromkeys(CELL, "x") | {"value": 1, "n_texts": 2, "first": None}


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def report(*arguments):
    return main(["report", *map(str, arguments)])


def pages_of(path, monkeypatch, *arguments, is_drawn=False):
    """Write the pages and read them by their names; drawing takes most of the time, so that most tests do without."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    if not is_drawn:
        monkeypatch.setattr(panels, "draw", lambda *_, **__: Markup("<svg></svg>"))
    out = path.with_suffix("")
    assert report("--out", out, *arguments) == 0
    return {str(file.relative_to(out)): file.read_text(encoding="utf-8") for file in sorted(out.rglob("*.html"))}


def answer_of(path, monkeypatch, *arguments):
    return pages_of(path, monkeypatch, *arguments)["index.html"]


def change(path, *statements):
    with closing(duckdb.connect(str(path))) as connection:
        for sql in statements:
            connection.execute(sql)


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def shown(page):
    """Return the sections of the matrix that are shown before anybody has chosen."""
    sections = re.findall(r'<section class="matrix"[^>]*>.*?</section>', page, re.DOTALL)
    return [section for section in sections if "hidden" not in section[: section.index(">")]]


@pytest.fixture
def warehouse(tmp_path):
    path = tmp_path / "some.duckdb"
    make_warehouse(path, studies=["real"])
    return path


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A warehouse with a real and a simulated study, and its pages."""
    path = tmp_path_factory.mktemp("both") / "some.duckdb"
    make_warehouse(path)
    with pytest.MonkeyPatch.context() as patch:
        return path, pages_of(path, patch, is_drawn=True)


def differing(page, path):
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        return numbers_that_differ(page, connection)


def test_every_number_of_a_table_equals_a_query_on_the_warehouse(both):
    path, pages = both
    n_numbers, wrong = differing(pages["reading.html"], path)
    assert not wrong
    assert n_numbers > 10


def test_a_number_that_is_not_the_warehouses_is_found_by_that_test(warehouse, monkeypatch):
    page = pages_of(warehouse, monkeypatch)["reading.html"]
    change(warehouse, "update raw.batch_checks set observed_value = observed_value + 1")
    _, wrong = differing(page, warehouse)
    assert wrong
    assert all("observed_value" in said for said in wrong)


def test_no_cell_of_a_table_holds_a_number_without_saying_where_it_is_from(both):
    cells = Numbers(both[1]["reading.html"]).cells
    looks_like_one = re.compile(r"[<>+\N{MINUS SIGN}]?[\d.,]+( %)?")
    bare = [cell["text"] for cell in cells if looks_like_one.fullmatch(cell["text"].strip()) and not cell["is_known"]]
    assert not bare
    assert sum(cell["is_known"] for cell in cells) > 10


def test_the_same_warehouse_gives_the_same_bytes(both, monkeypatch):
    path, pages = both
    assert pages_of(path, monkeypatch, is_drawn=True) == pages


def test_a_last_digit_that_depends_on_the_order_of_a_sum_changes_nothing(warehouse, monkeypatch):
    before = pages_of(warehouse, monkeypatch)
    change(warehouse, "update marts.effects set loss = loss * (1 + 1e-15) where goal = 'displacement'")
    assert pages_of(warehouse, monkeypatch) == before


def test_another_number_gives_another_fingerprint(warehouse, monkeypatch):
    def fingerprint():
        return re.search(r"fingerprint of the rows <code>(\w{64})<", answer_of(warehouse, monkeypatch))[1]

    before = fingerprint()
    change(warehouse, "update marts.effects set loss = loss + 1e-6 where goal = 'gap'")
    assert fingerprint() != before


def test_simulated_studies_stand_under_test_framed_and_called_so(both):
    pages = both[1]
    assert "SIMULATED" not in pages["index.html"]
    assert 'href="test/index.html"' in pages["index.html"]
    simulated = {name: page for name, page in pages.items() if name.startswith("test/")}
    assert {"test/index.html", "test/papers.html", "test/reading.html"} <= set(simulated)
    for page in simulated.values():
        assert '<html lang="en" class="test">' in page
        assert '<p class="banner">SIMULATED: ' in page
        assert "<title>SIMULATED: " in page
        assert 'href="../index.html"' in page
    assert embedded(pages["index.html"])["places"][0]["study"] == "real"
    assert embedded(simulated["test/index.html"])["places"][0]["study"] == "made-up"


def test_a_study_in_which_one_batch_is_simulated_counts_as_simulated(warehouse, monkeypatch):
    change(warehouse, "insert into raw.batches (batch_id, study, source) values ('b', 'real', 'simulated')")
    page = answer_of(warehouse, monkeypatch, "--study", "real")
    assert page.count('class="banner"') == 1


def test_the_pages_can_be_of_one_study(both, monkeypatch, capsys):
    path, _ = both
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    out = path.with_name("one")
    assert report("--out", out, "--study", "made-up") == 0
    assert "study made-up (SIMULATED)" in capsys.readouterr().out
    assert not (out / "test").exists()
    assert {place["study"] for place in embedded((out / "index.html").read_text())["places"]} == {"made-up"}


def test_all_pages_can_be_one_file(both, monkeypatch):
    path, pages = both
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    out = path.with_name("one.html")
    assert report("--single", out) == 0
    page = out.read_text(encoding="utf-8")
    assert re.findall(r'<div class="wrap page" data-page="(\w+)"', page) == ["answer", "biases", "papers", "reading"]
    assert [link for link in re.findall(r'<a href="([^"]+)" data-page', page) if not link.startswith("#page=")] == []
    assert embedded(page)["places"] == embedded(pages["index.html"])["places"]
    assert embedded(page)["claims"] == embedded(pages["papers.html"])["claims"]
    assert report("--single", out, "--out", path.with_name("folder")) == 2


class Words(HTMLParser):
    """What a reader sees of a page without script: an element that stands alone is a line, a row of a table one too."""

    LINES = (
        "p", "h1", "h2", "h3", "h4", "li", "tr", "dt", "dd", "caption", "summary", "figcaption", "section", "details",
        "div", "footer", "nav", "ul", "label", "option", "button", "select",
    )  # fmt: skip
    HIDDEN = ("style", "script", "svg", "title")

    def __init__(self, page):
        super().__init__()
        self.parts, self.hidden = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag in self.HIDDEN:
            self.hidden.append(tag)
        self.parts.append("\n" if tag in self.LINES else " | " if tag in ("td", "th") else "")

    def handle_endtag(self, tag):
        if self.hidden and tag == self.hidden[-1]:
            self.hidden.pop()
        self.parts.append("\n" if tag in self.LINES else "")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(" ".join(data.split("\n")))


def visible(page):
    """Return the words of a page as lines."""
    lines = (" ".join(line.split()).removeprefix("| ") for line in "".join(Words(page).parts).split("\n"))
    return "\n".join(line for line in lines if line)


def test_the_words_of_the_pages_are_kept(both, golden):
    for name in ("index.html", "papers.html", "reading.html"):
        golden(visible(both[1][name]))


def plain(page):
    return re.sub(r"<[^>]+>", "", page)


def test_the_page_says_how_many_trials_of_a_domain_were_withdrawn_or_reread(warehouse, monkeypatch):
    # 4 techniques and 60 trials of each of two LLMs, and 5 that were withdrawn
    said = "5 of 485 trials were withdrawn after they had been seen (reasons: so: 12 (4); typed twice (1))"
    (section,) = shown(answer_of(warehouse, monkeypatch))
    assert said in plain(section)
    assert "In 1 trial a person read another number" in plain(section)
    change(warehouse, "delete from marts.post_hoc_changes")
    page = plain(answer_of(warehouse, monkeypatch))
    assert "withdrawn" not in page
    assert "a person read" not in page


def test_of_a_warehouse_of_old_nothing_is_said_of_withdrawals(warehouse, monkeypatch):
    change(warehouse, "drop table marts.post_hoc_changes", "drop table inference.outcome_contrasts")
    assert "withdrawn after" not in answer_of(warehouse, monkeypatch)


FIVE = ("vendor/a", "vendor/b", "vendor/c", "vendor/d", "vendor/e")


def test_below_five_vendors_nothing_is_decided_about_others_and_nothing_foretold(both):
    (section,) = shown(both[1]["index.html"])
    assert set(re.findall(r'<span class="pill">([^<]+)</span>', section)) == {"too few vendors"}
    assert 'class="wide"' not in section[section.index("<table") :]
    lines = [
        line
        for technique in embedded(both[1]["index.html"])["places"][0]["goals"]["gap"]["lines"].values()
        for line in technique
    ]
    assert not [line for line in lines if line.startswith(("LLMs like these", "One more LLM"))]


def test_a_cell_says_what_the_technique_does_to_its_llm_and_is_coloured_by_the_decision(both):
    page = both[1]["index.html"]
    gap = next(part for part in page.split("<section") if 'data-goal="gap"' in part)
    cells = dict(
        re.findall(r'<button type="button" class="cell (\w+)" data-technique="(\w+)" aria-label="[^"]*A so: 12', gap)
    )
    assert cells == {"harms": "premortem", "same": "random_control", "helps": "sacd"}
    data = embedded(page)
    assert data["places"][0]["goals"]["gap"]["say"]["vendor/a"] == (
        "A so: 12, by its own trials. Helps: SACD. Harms: Premortem. No difference: Random Control."
    )


@pytest.fixture
def of_five(tmp_path):
    path = tmp_path / "five.duckdb"
    make_warehouse(path, studies=["real"], llms=FIVE)
    return path


def test_from_five_vendors_on_the_page_decides_about_other_llms_and_foretells_one_more(of_five, monkeypatch, golden):
    page = answer_of(of_five, monkeypatch)
    (section,) = shown(page)
    golden(visible(section), "Shown to help")
    assert 'class="wide"' in section[section.index("<table") :]
    golden("\n".join(embedded(page)["places"][0]["goals"]["displacement"]["lines"]["premortem"]))


@pytest.mark.parametrize("leading", ["displacement", "gap"])
def test_the_goal_that_leads_is_shown_first(warehouse, monkeypatch, leading):
    change(warehouse, f"update marts.effects set leads = goal = '{leading}'")
    page = answer_of(warehouse, monkeypatch)
    (section,) = shown(page)
    assert f'data-goal="{leading}"' in section
    assert re.search(r'name="goal" value="(\w+)"', page)[1] == leading


def test_what_helps_its_own_prompt_is_never_said_to_help(of_five, monkeypatch):
    change(
        of_five,
        "update inference.decisions set decision = 'helps_its_own_prompt', control = 'sacd_initial' "
        "where technique = 'sacd' and comparison = 'control'",
        "update inference.decisions set decision = 'no_evidence' where technique != 'sacd'",
    )
    (section,) = shown(answer_of(of_five, monkeypatch))
    headline = re.search(r'<h2 class="say">(.*?)</h2>', section)[1]
    assert headline.startswith("No technique is shown to beat a plain prompt. SACD (")
    assert "helps its own prompt alone" in headline
    assert "Shown to help" not in headline
    assert '<rect class="ring"' in section[section.index("<table") :]


def test_what_was_asked_with_another_prompt_is_no_column(of_five, monkeypatch):
    change(
        of_five,
        "update inference.decisions set comparison = 'confounded', decision = null, reason = 'confounded_prompt' "
        "where technique = 'sacd' and comparison = 'control'",
    )
    (section,) = shown(answer_of(of_five, monkeypatch))
    assert "SACD" not in section


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow(of_five, monkeypatch):
    before = shown(answer_of(of_five, monkeypatch))[0].count('class="beyond"')
    change(of_five, "update inference.decisions set gain_low = -500 where technique = 'sacd' and llm = 'vendor/a'")
    assert shown(answer_of(of_five, monkeypatch))[0].count('class="beyond"') == before + 1


def test_texts_are_those_of_the_answers_until_their_room_is_used(warehouse, monkeypatch):
    texts = embedded(answer_of(warehouse, monkeypatch))["texts"]
    (key,) = [key for key in texts if json.loads(key)[2:] == ["vendor/b", "sacd", "low"]]
    assert ["answer", "so: 12", False] in [turn for entry in texts[key] for turn in entry[3]]
    assert places.texts([{"study": "s", "turns": [("a", "b" * 90, False)]} | OF_A_CELL] * 3, {"s"}, room=300) == {
        places.key_of(OF_A_CELL | {"study": "s"}): [[1, 2, None, [["a", "b" * 90, False]]]] * 2
    }


def test_of_a_claim_the_page_has_what_was_printed_and_what_we_get(both):
    packed = embedded(both[1]["papers.html"])["claims"]
    rows = [dict(zip(packed["columns"], row, strict=True)) for row in packed["rows"]]
    claims = {
        row["id"]: {name: packed["texts"][value] if name in packed["shared"] else value for name, value in row.items()}
        for row in rows
    }
    claim = claims["real-claim-1"]
    assert (claim["printed"], claim["again"], claim["recomputes"], claim["verdict"]) == (
        58.7,
        57.65,
        "no",
        "contradicted",
    )
    assert next(iter(claims)) == "real-claim-1", "what is contradicted comes first"
    assert '<th scope="rowgroup"' in both[1]["papers.html"]


def test_text_of_an_llm_a_file_or_a_person_stays_text(tmp_path, monkeypatch):
    said = " ".join(TRIED.values())
    path = tmp_path / "some.duckdb"
    make_warehouse(path, studies=[f"s{said}"], llms=(f"x/{said}", f"y/{said}"), said=said, domain=f"d{said}")
    for page in pages_of(path, monkeypatch, is_drawn=True).values():
        elements = Elements(page).found
        assert [attributes.get("type") for tag, attributes in elements if tag == "script"] == ["application/json", None]
        assert [tag for tag, _ in elements].count("style") == 1
        assert not {tag for tag, _ in elements} & {"img", "iframe", "object", "embed", "base", "foreignobject"}
        assert not [
            name for _, attributes in elements for name in attributes if name.startswith("on") or name == "style"
        ]
        assert all(c.isprintable() or c in "\n\N{NO-BREAK SPACE}" for c in page)
        _, wrong = differing(page, path)
        assert not wrong


def test_the_policy_of_a_page_lets_nothing_but_its_own_style_and_script_through(both):
    page = both[1]["index.html"]
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    links = [value for _, found in Elements(page).found for name, value in found.items() if name in ("href", "src")]
    local = {"index.html", "biases.html", "papers.html", "reading.html", "test/index.html"}
    assert {link for link in links if not link.startswith("#")} == local


def test_the_pages_go_beside_the_warehouse_where_no_folder_is_named(warehouse, monkeypatch, tmp_path, capsys):
    path = tmp_path / "elsewhere" / "some.duckdb"
    path.parent.mkdir()
    path.write_bytes(warehouse.read_bytes())
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    assert main(["report"]) == 0
    assert capsys.readouterr().out.startswith(f"{path.parent / 'site' / 'index.html'}: ")
    assert {file.name for file in path.parent.iterdir()} == {"some.duckdb", "site"}


def test_a_file_is_replaced_as_a_whole_and_readable(warehouse, monkeypatch, tmp_path):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    out = tmp_path / "new folder" / "one.html"
    assert report("--single", out) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o644
    assert [file.name for file in out.parent.iterdir()] == ["one.html"]


def test_a_folder_holds_the_pages_of_one_report_and_what_others_put_there(warehouse, monkeypatch, tmp_path):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    assert report("--out", tmp_path) == 0
    pages = {page.name for page in tmp_path.rglob("*.html")}
    assert "scores.html" not in pages
    (tmp_path / "scores.html").write_bytes((tmp_path / "papers.html").read_bytes())
    (tmp_path / "test").mkdir()
    for name in ("notes.html", "test/papers.html"):
        (tmp_path / name).write_text("of somebody else")
    assert report("--out", tmp_path) == 0
    assert {page.name for page in tmp_path.glob("*.html")} == {*pages, "notes.html"}
    assert (tmp_path / "test" / "papers.html").exists()


def test_a_device_is_not_replaced_by_a_page(warehouse, monkeypatch, refusal):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    monkeypatch.setattr(write, "_replace", lambda written: pytest.fail("it would be"))
    assert refusal("--single", "/dev/null") == "/dev/null is no file that could be replaced: name another"


@pytest.fixture
def refusal(capsys):
    """Write a report, which must be refused, and return why."""

    def refused(*arguments):
        assert report(*arguments) == 2
        return capsys.readouterr().err.removeprefix("bais: ").rstrip("\n")

    return refused


def test_what_cannot_be_written_is_said_and_leaves_nothing_behind(warehouse, monkeypatch, tmp_path, refusal, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    golden(refusal("--single", tmp_path))
    (tmp_path / "file").touch()
    golden(refusal("--out", tmp_path / "file"))
    assert "cannot be written" in refusal("--single", tmp_path / "file" / "one.html")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_study_that_is_not_there_is_said_with_those_that_are(warehouse, monkeypatch, tmp_path, refusal, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    golden(refusal("--study", "r\x1b[31m", "--out", tmp_path / "r"))


def test_a_warehouse_that_is_missing_unbuilt_or_older_is_said(warehouse, monkeypatch, tmp_path, refusal, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "none.duckdb"))
    golden(refusal("--out", tmp_path / "r"))
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "empty.duckdb"))
    golden(refusal("--out", tmp_path / "r"), "`bais build`")
    change(warehouse, "drop table inference.decisions")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    golden(refusal("--out", tmp_path / "r"))
    assert not (tmp_path / "r").exists()


def test_a_warehouse_without_any_trial_gives_a_page_that_says_what_to_do(warehouse, monkeypatch, golden):
    change(warehouse, "delete from raw.batches")
    golden(visible(answer_of(warehouse, monkeypatch)), "bais collect")


def test_a_study_whose_batches_are_not_published_has_a_gate_and_no_answer(warehouse, monkeypatch):
    change(warehouse, "insert into raw.batches (batch_id, study, source) values ('late', 'unpublished', 'recorded')")
    pages = pages_of(warehouse, monkeypatch, "--study", "unpublished")
    assert "No LLM was asked about anchors yet" in pages["index.html"]
    assert "not audited" in pages["reading.html"]
    assert not differing(pages["reading.html"], warehouse)[1]


def test_what_slips_through_as_markup_is_still_made_visible(warehouse, monkeypatch):
    monkeypatch.setattr(places, "clean_lines", str)
    change(warehouse, "update marts.trials set response_text = 'a\u202eb' || chr(7)")
    page = answer_of(warehouse, monkeypatch)
    assert all(c.isprintable() or c in "\n\N{NO-BREAK SPACE}" for c in page)
