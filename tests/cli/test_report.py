import re
import stat
from contextlib import closing
from html.parser import HTMLParser

import duckdb
import pytest
from markupsafe import Markup

from analysis.report import panels
from analysis.words.codes import CAVEATS
from bais.main import main
from tests.tools.report_page import TRIED, Numbers, make_warehouse, numbers_that_differ


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


def page_of(path, monkeypatch, *arguments, is_drawn=False):
    """Write the page and read it; drawing takes most of the time, so that most tests do without."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    if not is_drawn:
        monkeypatch.setattr(panels, "draw", lambda *_, **__: Markup("<svg></svg>"))
    out = path.with_suffix(".html")
    assert report("--out", out, *arguments) == 0
    return out.read_text(encoding="utf-8")


@pytest.fixture
def warehouse(tmp_path):
    path = tmp_path / "some.duckdb"
    make_warehouse(path, studies=["real"])
    return path


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A warehouse with a real and a simulated study, and its page."""
    path = tmp_path_factory.mktemp("both") / "some.duckdb"
    make_warehouse(path)
    with pytest.MonkeyPatch.context() as patch:
        return path, page_of(path, patch, is_drawn=True)


def differing(page, path):
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        return numbers_that_differ(page, connection)


def test_every_number_of_the_page_equals_a_query_on_the_warehouse(both):
    path, page = both
    n_numbers, wrong = differing(page, path)
    assert not wrong
    assert n_numbers > 400


def test_a_number_that_is_not_the_warehouses_is_found_by_that_test(warehouse, monkeypatch):
    page = page_of(warehouse, monkeypatch)
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("update marts.conditions set mean = mean + 0.02 where llm = 'vendor/a'")
    _, wrong = differing(page, warehouse)
    assert wrong
    assert all('"mean"' in said for said in wrong)


def test_no_cell_of_a_table_holds_a_number_without_saying_where_it_is_from(both):
    cells = Numbers(both[1]).cells
    looks_like_one = re.compile(r"[<>+\N{MINUS SIGN}]?[\d.,]+( %)?")
    bare = [cell["text"] for cell in cells if looks_like_one.fullmatch(cell["text"].strip()) and not cell["is_known"]]
    assert not bare
    assert sum(cell["is_known"] for cell in cells) > 300


def test_a_study_of_other_biases_has_a_page_of_its_own_with_nothing_of_anchoring(tmp_path, monkeypatch):
    path = tmp_path / "some.duckdb"
    make_warehouse(path, studies=["real"])
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("insert into raw.batches (study, source) values ('biases', 'collected')")
        connection.execute(
            "insert into marts.attrition (study, paradigm, llm, n_asked, n_answered) values "
            "('biases', 'framing', 'vendor/a', 4, 3), ('biases', 'order', 'vendor/a', 4, 4)"
        )
    page = page_of(path, monkeypatch)
    of_biases = path.with_name("some-biases.html").read_text(encoding="utf-8")
    assert '<a href="some-biases.html">Study biases</a>' in page
    assert "framing, order: <code>bais trials --study biases</code>" in of_biases
    for of_anchoring in ("Recommended specification", "The evidence in figures", 'name="goal"'):
        assert of_anchoring in page
        assert of_anchoring not in of_biases


def test_the_same_warehouse_gives_the_same_bytes(both, monkeypatch):
    path, page = both
    assert page_of(path, monkeypatch, is_drawn=True) == page


def test_a_last_digit_that_depends_on_the_order_of_a_sum_changes_nothing(warehouse, monkeypatch):
    before = page_of(warehouse, monkeypatch)
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("update marts.effects set loss = loss * (1 + 1e-15) where goal = 'displacement'")
    assert page_of(warehouse, monkeypatch) == before


def test_another_number_gives_another_fingerprint(warehouse, monkeypatch):
    def fingerprint():
        return re.search(r'class="fingerprint">(\w{64})<', page_of(warehouse, monkeypatch))[1]

    before = fingerprint()
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("update marts.effects set loss = loss + 1e-6 where goal = 'gap'")
    assert fingerprint() != before


def test_a_simulated_study_has_a_page_of_its_own_and_is_marked_everywhere(both):
    beside = both[0].with_name("some-made-up.html")
    real, simulated = (page[page.index("<main") : page.index("</main>")] for page in (both[1], beside.read_text()))
    assert 'href="some-made-up.html">Study made-up (SIMULATED)</a>' in both[1]
    assert 'href="some.html">Study real</a>' in beside.read_text()
    assert 'class="simulated"' not in real
    assert "SIMULATED" not in real
    assert 'class="simulated"' in simulated
    assert 'class="banner"><strong>SIMULATED.' in simulated
    captions = re.findall(r"<caption><span class=\"held\">(.*?)</span>", simulated)
    assert len(captions) > 10
    assert all(caption.startswith(("Simulated.", "<b>Simulated.</b>")) for caption in captions)
    drawings = re.findall(r"<svg.*?</svg>", simulated, re.DOTALL)
    assert len(drawings) > 8
    assert all(">SIMULATED</text>" in drawing for drawing in drawings)
    assert all("(SIMULATED)" in title for title in re.findall(r"<h4 id.*?</h4>", simulated, re.DOTALL))


def test_a_study_in_which_one_batch_is_simulated_counts_as_simulated(warehouse, monkeypatch):
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute(
            "insert into raw.batches (batch_id, study, source, n_trials) values ('b', 'real', 'simulated', 1)"
        )
    page = page_of(warehouse, monkeypatch, "--study", "real")
    assert page.count('class="banner"') == 1
    assert "<title>SIMULATED: " in page


def test_the_page_can_be_of_one_study(both, monkeypatch, capsys, golden):
    page = page_of(both[0], monkeypatch, "--study", "made-up")
    assert "Study real" not in page
    assert "study made-up (SIMULATED)" in capsys.readouterr().out
    golden(visible(page), "the study real")


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


def test_the_words_of_a_page_are_kept(both, golden):
    golden(visible(both[1]))


def plain(page):
    return re.sub(r"<[^>]+>", "", page)


def test_the_page_says_how_many_trials_were_withdrawn_or_reread_of_the_study_and_of_each_domain(warehouse, monkeypatch):
    # 4 techniques and 60 trials of each of two LLMs, and 5 that were withdrawn
    said = "5 of 485 trials were withdrawn after they had been seen (reasons: so: 12 (4); typed twice (1))"
    page = plain(page_of(warehouse, monkeypatch))
    assert page.count(said) == 2
    assert f"loan: {said}" in page
    assert page.count("In 1 trial a person read another number") == 2
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("delete from marts.post_hoc_changes")
    page = plain(page_of(warehouse, monkeypatch))
    assert "withdrawn" not in page
    assert "a person read" not in page


def test_of_a_warehouse_of_old_nothing_is_said_of_withdrawals(warehouse, monkeypatch):
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("drop table marts.post_hoc_changes")
    assert "withdrawn after" not in page_of(warehouse, monkeypatch)


CHANGED = CAVEATS["reading_would_change"]
FIVE = ("vendor/a", "vendor/b", "vendor/c", "vendor/d", "vendor/e")


def rows_of(page):
    return re.findall(r"<tr .*?</tr>", page, re.DOTALL)


def test_below_five_vendors_nothing_is_decided_about_others_and_nothing_foretold(both):
    page = plain(both[1])
    assert "By displacement" not in page.partition("What would change this answer")[0].partition("The answer")[2]
    assert "an LLM that nobody asked," not in page
    decided = [row for row in rows_of(both[1]) if "n_gained" in row]
    assert decided
    assert all(re.findall(r'class="decision (\w+)"', row) == ["no_evidence"] for row in decided)
    assert all("too few vendors" in row for row in decided)


def test_each_llm_has_what_each_technique_does_to_it_with_its_interval_and_the_harmed_are_named(both):
    page = both[1]
    table = next(table for table in re.findall(r"<table.*?</table>", page, re.DOTALL) if "Loan, gap (pp)" in table)
    a, b = (" ".join(plain(row.replace("</t", " </t")).split()) for row in rows_of(table))
    minus = "\N{MINUS SIGN}"
    assert a == (
        f"A so: 12 ✕ harms {minus}21.0 ({minus}23.0 to {minus}19.0) ≈ no difference +0.3 ({minus}1.7 to +2.3) "
        "✓ helps +7.0 (+5.0 to +9.0)"
    )
    assert b.startswith(f"vendor/b ? unclear {minus}22.0 ({minus}24.0 to {minus}20.0)")
    assert "for all 8 rows at once, of each LLM and comparison. Premortem harms A so: 12." in plain(table)
    assert "no LLM is surely harmed" not in plain(table).lower()
    by_displacement = next(part for part in page.split("<caption>") if "Loan, displacement (pp)" in part)
    assert "No LLM is surely harmed." in by_displacement


@pytest.fixture
def of_five(tmp_path, monkeypatch):
    path = tmp_path / "five.duckdb"
    make_warehouse(path, studies=["real"], llms=FIVE)
    return path, page_of(path, monkeypatch)


def test_from_five_vendors_on_the_page_decides_about_other_llms_and_foretells_one_that_nobody_asked(of_five, golden):
    path, page = of_five
    assert not differing(page, path)[1]
    words, page = visible(page), plain(page)
    golden(words, "Established for LLMs like these", "use Premortem")
    golden(words, "Supported over vendors")
    golden(words, "unless rare LLMs differ")
    golden(words, "P 50 %")
    golden(words, "How probable")
    assert "nothing is established for LLMs like these" not in page


def test_the_probabilities_of_the_first_place_have_no_technique_among_them(of_five):
    for column, n in (("p_best", 3), ("p_best_new_llm", 3)):
        plain_prompt = [
            row for row in rows_of(of_five[1])
            if row.startswith('<tr data-key="technique=no_technique') and f'data-c="{column}"' in row
        ]  # fmt: skip
        assert sum(row.count(f'data-c="{column}"') for row in plain_prompt) == n
        assert all("12.5\N{NO-BREAK SPACE}%" in row for row in plain_prompt)


@pytest.mark.parametrize("leading", ["displacement", "gap"])
def test_the_goal_that_leads_is_shown_first(warehouse, monkeypatch, leading):
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute(f"update marts.effects set leads = goal = '{leading}'")
    page = page_of(warehouse, monkeypatch)
    shown = [goal for goal, rest in re.findall(r'<div data-goal="(\w+)"([^>]*)>', page) if "hidden" not in rest]
    assert shown == [leading]
    assert re.search(r'<select name="goal"><option value="(\w+)"', page)[1] == leading
    assert re.search(r"<h4 id=\"study-1-gains-(\w+)\"", page)[1] == leading


def test_of_what_is_decided_the_page_says_how_sure_it_is(of_five):
    words = visible(of_five[1])
    assert "✓ Use\nPremortem: established for LLMs like these" in words
    assert "✕ Avoid\nPremortem: supported for LLMs like these, not established" in words
    assert "? Unclear\nSACD\n" in words


def test_what_is_beside_a_decision_is_on_the_page(of_five):
    row = next(
        row for row in re.findall(r"<tr .*?</tr>", of_five[1], re.DOTALL)
        if "technique=premortem;goal=displacement;control=no_technique" in row and "n_gained" in row
    )  # fmt: skip
    said = " ".join(plain(row.replace("</td>", " ")).replace("\N{NO-BREAK SPACE}", " ").split())
    assert said.startswith("Premortema plain prompt ✓ use established 6.5, 28.5")
    assert "+22.0 (+19.5 to +24.5) +20.0 to +24.0 +20.5 to +23.5 use 5 of 5 1, 0 0.125 5 240" in said


def test_a_decision_that_the_other_reading_would_change_is_listed_with_its_goals_and_the_placebo(of_five, golden):
    page = plain(of_five[1])
    assert CHANGED.format(names="SACD and SACD against the placebo") in page
    golden(visible(of_five[1]), "Compared with the placebo (Random Control")
    with closing(duckdb.connect(str(of_five[0]))) as connection:
        connection.execute("update inference.decisions set reason = null where goal = 'error'")
        connection.execute("update inference.decisions set reason = null where comparison = 'placebo'")
    with pytest.MonkeyPatch.context() as patch:
        page = plain(page_of(of_five[0], patch))
    assert CHANGED.format(names="SACD (displacement, gap)") in page


def test_a_decision_that_depends_on_how_one_counts_names_what_changes_it_and_who_carries_it(of_five):
    rows = re.findall(r"<tr .*?</tr>", of_five[1], re.DOTALL)
    row = next(row for row in rows if "technique=premortem;goal=gap" in row and "n_same_decision" in row)
    said = " ".join(plain(row.replace("</td>", " ")).split())
    assert said.endswith("\N{MINUS SIGN}21.0 \N{MINUS SIGN}24.2 \N{MINUS SIGN}16.5 2 1 reading 1 1 vendor/b")


def test_a_confounded_comparison_is_called_so_and_decides_nothing(of_five, golden):
    with closing(duckdb.connect(str(of_five[0]))) as connection:
        connection.execute(
            "update inference.decisions set comparison = 'confounded', decision = null, "
            "decision_llms = null, certainty = null, reason = 'confounded_prompt' where comparison = 'placebo'"
        )
    with pytest.MonkeyPatch.context() as patch:
        page = page_of(of_five[0], patch)
    assert not differing(page, of_five[0])[1]
    row = next(row for row in re.findall(r"<tr .*?</tr>", page, re.DOTALL) if "(confounded)" in row)
    assert 'class="decision' not in row
    golden(visible(row), "prompts")
    golden(visible(page), "decided on that comparison")


def test_what_helps_its_own_prompt_stands_beside_a_plain_prompt_each_number_with_where_it_is_from(of_five):
    with closing(duckdb.connect(str(of_five[0]))) as connection:
        connection.execute(
            "update inference.decisions set comparison = 'confounded', decision = null, "
            "decision_llms = null, certainty = null, reason = 'confounded_prompt' where comparison = 'placebo'"
        )
        connection.execute(
            "update inference.decisions set decision = 'helps_its_own_prompt', certainty = 'supported' "
            "where technique = 'sacd' and comparison = 'control' and llm is null"
        )
    with pytest.MonkeyPatch.context() as patch:
        page = page_of(of_five[0], patch)
    assert "a plain prompt, of another wording" in plain(page)
    assert "| SACD (supported) |" in visible(page)
    assert not differing(page, of_five[0])[1]


def test_a_claim_opens_down_to_its_specification_and_the_sql_of_its_trials(both):
    page = both[1]
    row = next(row for row in re.findall(r"<tr .*?</tr>", page, re.DOTALL) if "claim_id=real-claim-1" in row)
    assert re.findall(r'<td class="(\w+)"', row) == ["no", "contradicted"]
    assert 'as of <a href="#claim-real-claim-0">this claim</a>' in row
    assert "technique=sacd" in page[: page.index("<tr id")]
    first = next(row for row in re.findall(r"<tr .*?</tr>", page, re.DOTALL) if 'id="claim-real-claim-0"' in row)
    assert "technique = 'sacd'" in first
    assert ">58.7</span>" in row
    assert "(<span" in row
    assert "on the newest version" not in row


def test_a_claim_that_would_change_on_the_newest_version_says_so(both):
    rows = re.findall(r"<tr .*?</tr>", both[1], re.DOTALL)
    row = next(row for row in rows if row.startswith('<tr id="claim-real-claim-0"'))
    assert "<dt>on the newest version</dt><dd>does not recompute, weaker than printed</dd>" in row


def test_text_of_an_llm_a_file_or_a_person_stays_text(tmp_path, monkeypatch):
    said = " ".join(TRIED.values())
    path = tmp_path / "some.duckdb"
    make_warehouse(path, studies=[f"s{said}"], llms=(f"x/{said}", f"y/{said}"), said=said, domain=f"d{said}")
    page = page_of(path, monkeypatch, is_drawn=True)
    elements = Elements(page).found
    assert [attributes.get("type") for tag, attributes in elements if tag == "script"] == ["application/json", None]
    assert [tag for tag, _ in elements].count("style") == 1
    assert not {tag for tag, _ in elements} & {"img", "iframe", "object", "embed", "base", "foreignobject"}
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on") or name == "style"]
    assert all(c.isprintable() or c in "\n\N{NO-BREAK SPACE}" for c in page)
    assert "{{ 7 * 7 }}" in page
    n_numbers, wrong = differing(page, path)
    assert not wrong
    assert n_numbers > 200


def test_the_policy_of_the_page_lets_nothing_but_its_own_style_and_script_through(both):
    page = both[1]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    links = [value for _, found in Elements(page).found for name, value in found.items() if name in ("href", "src")]
    assert links
    assert {link for link in links if not link.startswith("#")} == {"some-made-up.html"}


def test_the_page_goes_beside_the_warehouse_where_no_file_is_named(warehouse, monkeypatch, tmp_path, capsys):
    path = tmp_path / "elsewhere" / "some.duckdb"
    path.parent.mkdir()
    path.write_bytes(warehouse.read_bytes())
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    assert main(["report"]) == 0
    assert capsys.readouterr().out.startswith(f"{path.with_name('report.html')}: ")
    assert {file.name for file in path.parent.iterdir()} == {"some.duckdb", "report.html"}


def test_the_file_is_replaced_as_a_whole_and_readable(warehouse, monkeypatch, tmp_path):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    out = tmp_path / "new folder" / "report.html"
    assert report("--out", out) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o644
    assert [file.name for file in out.parent.iterdir()] == ["report.html"]


@pytest.fixture
def refusal(capsys):
    """Write a report, which must be refused, and return why."""

    def refused(*arguments):
        assert report(*arguments) == 2
        return capsys.readouterr().err.removeprefix("bais: ").rstrip("\n")

    return refused


def test_what_cannot_be_written_is_said_and_leaves_nothing_behind(warehouse, monkeypatch, tmp_path, refusal, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    golden(refusal("--out", tmp_path))
    (tmp_path / "file").touch()
    assert "cannot be written" in refusal("--out", tmp_path / "file" / "report.html")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_study_that_is_not_there_is_said_with_those_that_are(warehouse, monkeypatch, tmp_path, refusal, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    golden(refusal("--study", "r\x1b[31m", "--out", tmp_path / "r.html"))


def test_a_warehouse_that_is_missing_unbuilt_or_older_is_said(warehouse, monkeypatch, tmp_path, refusal, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "none.duckdb"))
    golden(refusal("--out", tmp_path / "r.html"))
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "empty.duckdb"))
    golden(refusal("--out", tmp_path / "r.html"), "`bais build`")
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("alter table marts.effects rename loss to spread_percent")
        connection.execute("drop table inference.intervals")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    golden(refusal("--out", tmp_path / "r.html"))
    assert not (tmp_path / "r.html").exists()


def test_a_warehouse_without_any_trial_gives_a_page_that_says_so(warehouse, monkeypatch, golden):
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("delete from raw.batches")
    golden(visible(page_of(warehouse, monkeypatch)), "holds no trials")


def test_a_study_whose_batches_are_not_published_has_a_gate_and_no_answer(warehouse, monkeypatch, golden):
    with closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute(
            "insert into raw.batches (batch_id, study, source, n_trials) values ('late', 'unpublished', 'recorded', 7)"
        )
    page = page_of(warehouse, monkeypatch, "--study", "unpublished")
    golden(visible(page), "No trial")
    assert "not audited" in page
    assert not differing(page, warehouse)[1]


def test_what_slips_through_as_markup_is_still_made_visible(warehouse, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    monkeypatch.setattr(panels, "draw", lambda *_, **__: Markup("<svg><text>a\u202eb\x07</text></svg>"))
    assert report("--out", warehouse.with_suffix(".html")) == 0
    assert "<text>a\\u{202e}b\\u{7}</text>" in warehouse.with_suffix(".html").read_text(encoding="utf-8")


def test_the_command_ends_with_0_and_with_2_and_a_sentence_where_there_is_no_such_study(tmp_path, monkeypatch, capsys):
    path = tmp_path / "some.duckdb"
    make_warehouse(path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    out = tmp_path / "report.html"
    assert main(["report", "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert out.read_text().startswith("<!doctype html>")
    assert main(["report", "--study", "nosuch", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "nosuch" in said
    assert "Traceback" not in said
