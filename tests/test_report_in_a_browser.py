"""The pages as a reader finds them in a browser, from files, with the network cut off."""

import re
from pathlib import Path

import pytest

from bais.main import main
from tests.tools.browsing import chromium
from tests.tools.report_page import TRIED, make_warehouse

pytestmark = pytest.mark.slow("pages in a browser")


EYES = (Path(__file__).parent / "tools" / "eyes.js").read_text(encoding="utf-8")
DESK, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
SIZES = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
SITES = pytest.mark.parametrize("site", ["made", "archive"], indirect=True)
FIVE = tuple(f"vendor{letter}/{letter}" for letter in "abcde")
MOST_CLICKS, MOST_WORDS, MOST_WORDS_AT_FIRST = 2, 1_200, 120
AFTER_A_FRAME = """button => new Promise((done) => {
  button.click();
  requestAnimationFrame(() => done(Boolean(document.querySelector("dialog[open] .answers, dialog[open] .turn"))));
})"""
# what opens on a page: nothing, a cell of each kind, no number given, a technique, all that is folded, all claims
STATES = {
    "as it is": "() => true",
    "a cell": "() => eyes.open('button.cell', 0)",
    "a cell of the last LLM": "() => eyes.open('button.cell', -1)",
    "no number given": "() => eyes.open('.cell[aria-label*=SACD]', -1) && eyes.open('dialog .picks button', 0)",
    "a technique": "() => eyes.open('button.link[data-technique]', -1)",
    "an LLM": "() => eyes.choose('select[name=llm]', 1)",
    "another goal": "() => eyes.open('label:has([name=goal])', 1)",
    "another domain": "() => eyes.open('label:has([name=place])', 1)",
    "all unfolded": "() => eyes.unfold('.page details')",
    "all claims": "() => eyes.choose('select[name=verdict]', -1)",
    "claims that its own sums do not give": "() => eyes.choose('select[name=verdict]', -2)",
}
ACTS = """
eyes.seen = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
eyes.unfold = (selector) => {
  const found = eyes.seen(selector);
  for (const one of found) one.open = true;
  return found.length > 0;
};
eyes.open = (selector, which) => {
  const found = eyes.seen(selector).at(which);
  if (!found || eyes.seen(selector).length <= which) return false;
  found.click();
  eyes.unfold("dialog details");
  return true;
};
eyes.choose = (selector, which) => {
  const select = eyes.seen(selector)[0];
  if (!select) return false;
  select.value = [...select.options].at(which).value;
  select.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
};
"""


class Site:
    """The pages of a warehouse: a folder, and one file with all of them."""

    def __init__(self, warehouse, folder):
        self.folder, self.single = folder / "site", folder / "single.html"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAIS_WAREHOUSE", str(warehouse))
            assert main(["report", "--out", str(self.folder)]) == 0
            assert main(["report", "--single", str(self.single)]) == 0

    @property
    def files(self):
        """All pages, those of simulated studies too."""
        return sorted(self.folder.rglob("*.html"))


class Reader:
    """Somebody who clicks: each click is counted, and a choice from a list is two."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, found):
        """Click what is found."""
        found.click()
        self.clicks += 1

    def choose(self, found, value):
        """Open a list and click a line of it."""
        found.select_option(value)
        self.clicks += 2

    @property
    def matrix(self):
        """The matrix that is shown."""
        return self.page.locator("section.matrix:visible")

    @property
    def drawer(self):
        """What has slid over the page."""
        return self.page.locator("dialog[open]")

    def cell(self, technique, llm=0):
        """The cell of a technique and of an LLM by its place."""
        return self.matrix.locator(f'button.cell[data-technique="{technique}"]').nth(llm)

    def says(self, *texts):
        """Hold that texts can be seen, the words of labels beside drawings too."""
        seen = " ".join(self.page.evaluate("() => [...eyes.words(), ...eyes.labels()]"))
        for text in texts:
            assert re.search(text, seen), f"{text} is not in {seen[:2000]}"


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The pages of a real and of a simulated study of five LLMs."""
    folder = tmp_path_factory.mktemp("made")
    make_warehouse(folder / "w.duckdb", llms=FIVE)
    return Site(folder / "w.duckdb", folder)


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Pages in which every text that is not ours tries to get out."""
    folder, said = tmp_path_factory.mktemp("tried"), " ".join(TRIED.values())
    llms, studies = (f"x/{said}", f"y,{said}"), [f"s{said}", "made-up"]
    make_warehouse(folder / "w.duckdb", studies=studies, llms=llms, said=said, domain=f"d{said}")
    return Site(folder / "w.duckdb", folder)


@pytest.fixture(scope="module")
def archive(recorded, tmp_path_factory):
    """The pages of the recorded archive."""
    folder = tmp_path_factory.mktemp("archive")
    return Site(recorded.path, folder)


@pytest.fixture
def site(request):
    """The pages that a test names."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def opened(browser):
    """Open a page without a network; it must ask for nothing but files beside it, and complain of nothing."""
    contexts, complaints = [], []

    def open_it(path, size=DESK, scheme="light", address=""):
        context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.asked = []
        page.add_init_script(f"addEventListener('DOMContentLoaded', () => {{ {EYES} {ACTS} }})")
        page.goto(path.as_uri() + address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


def in_states(page, path):
    """Yield each state that a page has, of a page that is opened anew where the state before changed it."""
    is_fresh = True
    for name, act in STATES.items():
        if not is_fresh:
            page.goto("about:blank")
            page.goto(path.as_uri())
        is_there = page.evaluate(act)
        is_fresh = name == "as it is" or not (is_there or page.locator("dialog[open]").count())
        if is_there:
            yield name


# ---------- the ten questions


@SITES
@SIZES
def test_which_technique_in_my_domain_for_my_llm(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    domain = reader.page.locator("label:has([name=place])").last
    reader.click(domain)
    row = reader.matrix.locator("tr[data-llm]").first
    names = row.locator("button.cell").evaluate_all("all => all.map((one) => one.ariaLabel)")
    assert len(names) >= 3
    assert all(re.search(r"\d+ % without, \d+ % with it; [a-z ]+; .* points", name) for name in names)
    assert reader.clicks <= MOST_CLICKS
    other = Reader(opened(site.folder / "index.html", size))
    other.choose(
        other.page.get_by_label("Your LLM"), other.matrix.locator("tr[data-llm]").first.get_attribute("data-llm")
    )
    other.says(r", by its own trials\. (Helps|Harms|No difference|Unclear): ")
    assert other.matrix.locator("tr.mine").count() == 1
    assert other.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_how_sure(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    reader.click(reader.matrix.get_by_role("button", name="how sure").first)
    reader.says("How sure", r"95 % interval", r"Of these \d+ LLMs")
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_whom_does_it_harm(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    reader.click(reader.page.locator("label:has([name=goal][value=gap])"))
    harmed = reader.matrix.locator("button.cell.harms")
    assert harmed.count() > 0
    assert all("harms" in name for name in harmed.evaluate_all("all => all.map((one) => one.ariaLabel)"))
    reader.says(r"helps \d+, harms [1-9]\d* of \d+")
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_show_me_an_answer(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    reader.click(reader.cell("sacd"))
    if not reader.drawer.get_by_text("first answer", exact=True).count():
        reader.click(reader.drawer.locator('g[role=button][aria-label^="SACD, low: 24"]'))
    assert reader.drawer.locator(".said .turn").count() > 1
    reader.says("SACD, (low|high): .* answers", "first answer", "analysis, round 1")
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_what_was_the_prompt_and_where_is_the_anchor(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    reader.click(reader.cell("sacd"))
    reader.click(reader.drawer.get_by_text(re.compile("What (was asked|bais would ask), with the number marked")))
    marks = reader.drawer.locator(".turn.asked mark")
    assert re.fullmatch(r"\d+", marks.first.inner_text())
    assert marks.first.is_visible()
    reader.says("As it was sent|The archive kept no prompt: these are the words of bais")
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_what_does_it_cost(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    reader.click(reader.matrix.locator("button.link[data-technique=sacd]"))
    calls = r"(4 calls for an answer on average|As bais asks it, 3 to 17 calls for an answer)"
    reader.says("What it costs", calls, "USD")
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_who_refused_and_in_which_words(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    few = reader.matrix.locator("button.cell[data-technique=sacd]:has(.gone)")
    reader.click(few.first if few.count() else reader.cell("sacd"))
    reader.says(r"\d+ of \d+ questions got no number")
    reader.click(reader.drawer.get_by_role("button", name=re.compile("no number given: SACD")).first)
    reader.says(r"SACD, (low|high): no number, \d+ of \d+ asked")
    assert len(reader.drawer.locator(".said .turn").first.inner_text()) > 20
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_which_numbers_of_a_paper_fail_and_how(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    reader.click(reader.page.get_by_role("link", name="Papers"))
    reader.click(reader.page.locator("table.papers button").first)
    claims = reader.page.locator(".claim:visible")
    assert claims.count() > 0
    first = claims.first.inner_text()
    assert first.startswith("contradicted")
    assert re.search(r"prints .*; by its method .*\d; by ours .*\d \(95 % interval .* to .*\)", first)
    assert claims.first.locator("svg .interval").count() == 1
    assert reader.clicks <= MOST_CLICKS


@SITES
@SIZES
def test_nobody_asked_my_llm_what_is_nearest_and_which_command_would(opened, site, size):
    reader = Reader(opened(site.folder / "index.html", size))
    asked = reader.matrix.locator("tr[data-llm]").evaluate_all("all => all.map((one) => one.dataset.llm)")
    select = reader.page.get_by_label("Your LLM")
    known = select.locator("option").evaluate_all("all => all.map((one) => one.value)")
    unasked = [llm for llm in known if llm and llm not in asked][-1]
    reader.choose(select, unasked)
    reader.says(
        "Nobody has asked", "Nearest|None of the same vendor", r"bais plan --to-settle \w+ --study [\w-]+ --llm "
    )
    assert reader.clicks <= MOST_CLICKS


@SIZES
def test_is_it_real_or_simulated(opened, made, size):
    reader = Reader(opened(made.folder / "index.html", size))
    reader.says("real: real")
    assert "SIMULATED" not in reader.page.locator("body").inner_text()
    reader.click(reader.page.get_by_role("link", name="Simulated"))
    reader.says("SIMULATED: no LLM was asked", "simulated: made-up")
    assert reader.page.title().startswith("SIMULATED")
    reader.page.mouse.wheel(0, 20_000)
    frame = reader.page.locator("body").evaluate("one => getComputedStyle(one).borderTopStyle")
    assert frame == "double"
    assert reader.clicks <= MOST_CLICKS


# ---------- the first screen, and how much is said


def test_the_archives_first_screen_holds_the_matrix_and_few_words(opened, archive):
    page = opened(archive.folder / "index.html")
    table = page.locator("section.matrix:visible table").bounding_box()
    assert table["y"] + table["height"] <= DESK["height"]
    said = "section.matrix:not([hidden]) :is(.say, .note, .key, .foot)"
    assert 20 < page.evaluate("selector => eyes.count(selector)", said) <= MOST_WORDS_AT_FIRST


@SITES
def test_each_page_shows_a_figure_at_once_and_says_little_beside_the_ledger(opened, site):
    for path in site.files:
        page = opened(path)
        assert page.evaluate("() => eyes.count('main', 'div.claims')") < MOST_WORDS
        if path.name != "reading.html":
            top = page.locator("main svg:visible").first.bounding_box()["y"]
            assert top < DESK["height"], path


@SITES
def test_texts_are_on_the_page_and_no_code_is_seen_of_what_was_escaped_or_filled_in(opened, site):
    for path in site.files:
        page = opened(path)
        for state in in_states(page, path):
            words = " ".join(page.evaluate("() => eyes.words()"))
            found = re.findall(r"\\u\{\w+\}|&amp;#\w*|&(?:lt|gt|quot|amp);|\{\w+\}|\{\{|\bundefined\b|\bNaN\b", words)
            assert not found, (path.name, state)
    page = opened(site.folder / "index.html")
    assert page.evaluate("() => Object.values(data.texts).flat().length") > 0


# ---------- what eyes need


@SITES
@SIZES
@SCHEMES
def test_marks_and_texts_can_be_seen_read_and_hit_in_every_state(opened, site, size, scheme):
    for path in site.files:
        page = opened(path, size, scheme)
        for state in in_states(page, path):
            wrong = {
                name: page.evaluate(f"() => eyes.{name}()") for name in ("pale", "small", "narrow", "struck", "crowded")
            }
            marks = page.evaluate("() => eyes.paleMarks()")
            wrong = {name: found for name, found in (wrong | {"paleMarks": marks["poor"]}).items() if found}
            assert not wrong, (path.name, state)
            assert marks["n"] or state != "as it is" or path.name in ("reading.html", "scores.html")


@SITES
def test_nothing_is_hidden_on_a_phone_that_is_shown_on_a_desk(opened, site):
    for path in site.files:
        of_desk, of_phone = opened(path, DESK), opened(path, PHONE)
        both = zip(in_states(of_desk, path), in_states(of_phone, path), strict=True)
        for state, other in both:
            assert state == other
            lines = [
                {*page.evaluate("() => eyes.words()"), *page.evaluate("() => eyes.labels()")}
                for page in (of_desk, of_phone)
            ]
            words = {word.strip(",") for line in lines[1] for word in line.split()}  # a label may take two lines
            heads = {"LLM", "bias", "paper"}  # over columns that a phone has as headings
            missing = [
                line for line in lines[0] - lines[1] - heads if not {of.strip(",") for of in line.split()} <= words
            ]
            assert missing == [], (path.name, state)


@SITES
def test_on_a_phone_nothing_is_scrolled_sideways(opened, site):
    for path in site.files:
        page = opened(path, PHONE)
        for state in in_states(page, path):
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], (path.name, state)
            if page.locator("dialog[open]").count():
                drawer = page.locator("dialog[open]").evaluate("one => [one.scrollWidth, one.clientWidth]")
                assert drawer[0] <= drawer[1], (path.name, state)


# ---------- without a mouse, and back again


@SITES
def test_the_matrix_is_one_stop_of_the_tab_key_and_is_walked_by_arrows(opened, site):
    page = opened(site.folder / "index.html")
    matrix = page.locator("section.matrix:visible table")
    assert matrix.locator("button[tabindex='0']").count() == 1
    assert matrix.locator("button:not([tabindex])").count() == 0
    page.locator("select[name=llm]").focus()
    page.keyboard.press("Tab")
    where = "() => [document.activeElement.closest('tr').rowIndex, document.activeElement.closest('td, th').cellIndex]"
    head, last = page.evaluate(where), matrix.locator("thead th").count() - 3
    for key, (down, right) in {
        "ArrowRight": (0, 1), "ArrowDown": (2, 0), "ArrowLeft": (0, -1), "End": (0, last), "Home": (0, -last),
    }.items():  # fmt: skip
        before = page.evaluate(where)
        page.keyboard.press(key)
        after = page.evaluate(where)
        assert [after[0] - before[0], after[1] - before[1]] == [down, right], key
    assert matrix.locator("button[tabindex='0']").count() == 1
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(where)[0] == head[0] + 2
    page.keyboard.press("Tab")
    assert not page.evaluate("() => Boolean(document.activeElement.closest('section.matrix table'))")


@SITES
def test_the_drawer_keeps_the_focus_and_gives_it_back(opened, site):
    page = opened(site.folder / "index.html")
    button = page.locator("section.matrix:visible button.cell").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("dialog[open]").count() == 1
    for key in ("Tab",) * 12 + ("Shift+Tab",) * 12:
        page.keyboard.press(key)
        assert page.evaluate(
            "() => document.activeElement === document.body || Boolean(document.activeElement.closest('dialog'))"
        )
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert button.evaluate("one => one === document.activeElement")
    page.keyboard.press("Enter")
    page.locator("dialog .close").focus()
    page.keyboard.press("Enter")
    assert button.evaluate("one => one === document.activeElement")


@SITES
def test_dots_are_walked_by_arrows_each_with_its_answers(opened, site):
    page = opened(site.folder / "index.html")
    page.locator("section.matrix:visible button.cell[data-technique=sacd]").last.click()
    dots = page.locator("dialog .answers g[role=button]")
    assert page.locator("dialog .answers g[tabindex='0']").count() == 1
    dots.first.focus()
    heads = [page.locator("dialog h3").first.inner_text()]
    for _ in range(2):
        page.keyboard.press("ArrowRight")
        heads.append(page.locator("dialog h3").first.inner_text())
    page.keyboard.press("ArrowLeft")
    assert page.locator("dialog h3").first.inner_text() == heads[1]
    assert len(set(heads)) == 3
    assert [dots.nth(i).get_attribute("aria-label") for i in range(3)] == heads
    assert page.locator("dialog .answers g[tabindex='0']").count() == 1


@SITES
def test_a_click_between_dots_that_overlap_opens_the_nearest(opened, site):
    page = opened(site.folder / "index.html")
    page.locator("section.matrix:visible button.cell[data-technique=sacd]").last.click()
    dots = page.locator("dialog .answers g[role=button]")
    for i in range(dots.count()):
        box = dots.nth(i).locator("circle").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert page.locator("dialog h3").first.inner_text() == dots.nth(i).get_attribute("aria-label")


@SITES
@pytest.mark.parametrize("is_single", [False, True], ids=["folder", "single"])
def test_what_was_chosen_comes_back_with_the_address(opened, site, is_single):
    page = opened(site.single if is_single else site.folder / "index.html")
    page.locator("label:has([name=place])").last.click()
    page.locator("label:has([name=goal][value=error])").click()
    llm = page.locator("section.matrix:visible tr[data-llm]").last.get_attribute("data-llm")
    page.get_by_label("Your LLM").select_option(llm)
    page.locator("section.matrix:visible tr.mine button.cell").last.click()
    shown = "() => [eyes.words(), document.querySelector('section.matrix:not([hidden])').dataset, location.hash]"
    before, address = page.evaluate(shown), page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.evaluate(shown) == before
    page.reload()
    assert page.evaluate(shown) == before
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.hash.includes('cell')")
    page.reload()
    assert page.locator("dialog[open]").count() == 0
    assert page.locator("section.matrix:visible").get_attribute("data-goal") == "error"
    assert page.locator("tr.mine:visible").get_attribute("data-llm") == llm


def test_the_ledgers_choice_comes_back_with_the_address(opened, made):
    page = opened(made.folder / "papers.html")
    page.get_by_label("Verdict").select_option("all")
    page.get_by_label("Paper").select_option("A")
    assert page.locator("output").inner_text() == "2 claims"
    page.reload()
    assert page.locator("output").inner_text() == "2 claims"
    page.get_by_label("Verdict").select_option("sums")
    assert page.locator(".claim").count() == 1
    assert page.locator("output").inner_text() == "1 claim"


def test_an_address_that_names_what_is_not_there_opens_the_page_all_the_same(opened, made):
    for path in (made.folder / "index.html", made.single):
        page = opened(path, address="#page=none&place=none&goal=none&llm=none&technique=none&cell=none&__proto__=x")
        assert page.locator("section.matrix:visible").count() == 1
        assert page.locator("dialog[open]").count() == 0


def test_the_first_key_leads_past_the_head_and_keeps_what_was_chosen(opened, made):
    for path, address in ((made.folder / "index.html", "#goal=gap"), (made.single, "#page=papers")):
        page = opened(path, address=address)
        page.keyboard.press("Tab")
        skip = page.locator(":focus")
        assert skip.inner_text() == "Skip to the content"
        assert skip.bounding_box()["x"] >= 0
        assert skip.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
        shown = page.evaluate("() => eyes.words()")
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "main"
        assert address[1:] in page.url
        assert page.evaluate("() => eyes.words()") == shown


# ---------- what others wrote


def test_names_and_texts_that_hold_markup_run_nothing_and_turn_nothing_round(opened, tried):
    for path in [*tried.files, tried.single]:
        page = opened(path)
        title = page.title()
        for state in in_states(page, path):
            assert page.evaluate("() => eyes.injected()") == 0, (path.name, state)
            assert not page.evaluate("() => eyes.turned()"), (path.name, state)
            assert page.title() == title
        assert "injected" not in title


def test_every_cell_and_technique_opens_whatever_its_name_holds(opened, tried):
    for path in (tried.folder / "index.html", tried.folder / "test" / "index.html"):
        page = opened(path)
        buttons = page.locator("section.matrix:visible table button")
        assert buttons.count() > 8
        for i in range(buttons.count()):
            buttons.nth(i).evaluate("one => one.click()")
            words = " ".join(page.evaluate("() => eyes.words()"))
            assert "SACD" in words or "Premortem" in words or "Random Control" in words
            assert not page.evaluate("() => eyes.turned()")
            page.keyboard.press("Escape")
        page.get_by_label("Your LLM").select_option(index=1)
        assert page.locator("tr.mine:visible").count() == 1
        assert ", by its own trials. " in page.locator(".of-llm:visible").inner_text()
        sacd = page.locator("section.matrix:visible button.cell[data-technique=sacd]")
        sacd.first.click()
        assert r"I cannot say. <script>document.title='injected'</script>" in page.locator("dialog").inner_text()
        assert "'" in page.locator("dialog code").inner_text()


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_a_name_that_every_object_of_a_script_has_is_a_name_like_others(opened, made, name):
    page = opened(made.folder / "index.html", address=f"#technique={name}&cell={name}&llm={name}&goal={name}")
    page.locator("section.matrix:visible button.link").first.click()
    assert page.locator("dialog[open]").count() == 1


def test_a_script_that_got_in_would_not_run(browser, made):
    context = browser.new_context(offline=True)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto((made.folder / "index.html").as_uri())
    page.evaluate(
        "() => { const got = document.createElement('script'); got.textContent = \"document.title = 'ran'\"; "
        "document.body.append(got); }"
    )
    assert page.title() != "ran"
    assert any("Content Security Policy" in text for text in said)
    context.close()


# ---------- one file to mail


@SITES
def test_the_single_file_turns_its_pages_and_asks_for_nothing(opened, site):
    page = opened(site.single)
    links = page.locator("nav a")
    pages = links.evaluate_all("all => all.map((one) => one.dataset.page)")
    assert pages[0] == "answer"
    assert {"answer", "papers", "reading"} <= set(pages)
    for name in pages[1:]:
        page.locator(f"nav a[data-page={name}]").click()
        assert page.locator(".page:visible").evaluate_all("all => all.map((one) => one.dataset.page)") == [name]
        assert page.locator("nav [aria-current]").get_attribute("data-page") == name
        assert f"page={name}" in page.url
    page.go_back()
    assert page.locator(".page:visible").get_attribute("data-page") == pages[-2]
    page.reload()
    assert page.locator(".page:visible").get_attribute("data-page") == pages[-2]
    assert {url.partition("#")[0] for url in page.asked} == {site.single.as_uri()}


@SITES
def test_the_pages_of_a_folder_ask_for_nothing_but_one_another(opened, site):
    for path in site.files:
        page = opened(path)
        page.mouse.wheel(0, 20_000)
        for state in in_states(page, path):
            assert state
        assert {url.partition("#")[0] for url in page.asked} <= {path.as_uri(), "about:blank"}
        hrefs = page.locator("nav a").evaluate_all("all => all.map((one) => one.href)")
        assert hrefs
        assert all(Path(href.removeprefix("file://")).exists() for href in hrefs)


def test_the_archives_file_is_small_enough_to_mail_and_opens_a_cell_within_a_frame(opened, archive):
    assert archive.single.stat().st_size <= 1_500_000
    page = opened(archive.single)
    button = page.locator("section.matrix:visible button.cell").first
    assert button.evaluate(AFTER_A_FRAME)


def test_without_a_script_the_matrix_is_there_in_words(browser, made):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((made.folder / "index.html").as_uri())
    assert page.locator("section.matrix:visible button.cell").count() == len(FIVE) * 3
    assert page.locator("form.choose:visible").count() == 0
    assert page.locator("section.matrix:visible th[scope=row]").count() == len(FIVE) + 1
    context.close()
