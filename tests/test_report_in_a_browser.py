"""The report as a browser shows it, with the network cut off."""

import itertools
from pathlib import Path

import pytest

from bais.main import main
from tests.tools.report_page import TRIED, make_warehouse

pytestmark = pytest.mark.slow("pages in a browser")

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
NARROW, MIDDLE, WIDE = 390, 800, 1400
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgb("Canvas");
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *:not(svg, svg *, script, style)")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""


@pytest.fixture(scope="module")
def browser():
    found = next((path for path in BROWSERS if Path(path).exists()), None)
    if not found:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A report in which every text that is not ours tries to get out."""
    folder = tmp_path_factory.mktemp("report")
    said = " ".join(TRIED.values())
    make_warehouse(
        folder / "w.duckdb", studies=["real", "made-up"], llms=(f"x/{said}", f"y/{said}"), said=said, domain=f"d{said}"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(folder / "w.duckdb"))
        assert main(["report", "--out", str(folder / "report.html")]) == 0
    return folder / "report.html"


@pytest.fixture
def opened(browser, file):
    """Open the report in a browser without a network, and keep what it asks for and complains of."""
    contexts = []

    def open_it(width=WIDE, scheme="light", of=file):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.asked, page.said = [], []
        context.route("**/*", lambda route: route.continue_() if route.request.url == of.as_uri() else route.abort())
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("dialog", lambda dialog: page.said.append(dialog.message))
        page.goto(of.as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()


def shown(page):
    return page.locator("#study-1-claims table.claims tbody tr:visible")


def said_of(rows, at):
    """What the class of a cell says of the claim of each row."""
    return [row.locator("td").nth(at).get_attribute("class") for row in rows.all()]


def test_it_asks_for_nothing_says_nothing_on_the_console_and_runs_nothing_injected(opened, file):
    page = opened()
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    page.mouse.wheel(0, 20_000)
    page.wait_for_timeout(200)
    assert page.asked == [file.as_uri()]
    assert page.said == []
    assert page.title().startswith("bais: ")
    assert page.evaluate("[...document.scripts].filter((one) => !one.type).length") == 1
    assert page.locator("img, iframe, object, embed, [onload], [onerror]").count() == 0


def test_the_first_screen_answers_for_each_domain_of_llms_and_leads_to_the_reasons(opened):
    page = opened()
    cards = page.locator(".card")
    assert cards.count() == 1
    assert page.locator(".card [data-goal]:visible").count() == 1
    assert "SIMULATED" not in cards.inner_text()
    assert "Only 2 LLMs were asked" in cards.inner_text()
    assert cards.bounding_box()["y"] < 900
    cards.get_by_role("link").first.click()
    assert page.url.endswith("#study-1-domain-1")
    assert page.locator("#study-1-domain-1 .says").is_visible()


def test_a_script_that_got_in_would_not_run(opened):
    page = opened()
    page.evaluate(
        "() => { const made = document.createElement('script'); made.textContent = \"document.title = 'ran'\"; "
        "document.body.append(made); }"
    )
    assert page.title() != "ran"
    assert any("Content Security Policy" in said for said in page.said)


def test_the_ledger_is_filtered_by_keyboard_alone(opened):
    page = opened()
    form = page.locator("#study-1-claims form")
    assert shown(page).count() == 3
    form.get_by_label("Text").focus()
    page.keyboard.type("real-claim-1")
    assert shown(page).count() == 1
    assert form.locator("output").inner_text() == "1 of 3 shown"
    for _ in range(len("real-claim-1")):
        page.keyboard.press("Backspace")
    page.keyboard.press("Tab")
    page.keyboard.type("B")
    assert shown(page).count() == 1
    assert said_of(shown(page), 1) == ["not_derivable"]
    for _ in "AB":
        page.keyboard.press("ArrowUp")
    assert shown(page).count() == 3
    page.keyboard.press("Tab")
    page.keyboard.type("does")
    assert said_of(shown(page), 1) == ["no"]
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.keyboard.type("weaker")
    assert said_of(shown(page), 2) == ["weaker"]
    page.keyboard.press("Enter")
    assert shown(page).count() == 1


def test_what_recomputes_and_holds_is_behind_a_switch_and_its_address_opens_it(opened):
    page = opened()
    page.locator("#claim-real-claim-1").evaluate(
        "row => { row.cells[2].className = 'yes'; row.cells[3].className = 'holds'; }"
    )
    only = page.get_by_label("Only what does not recompute or hold")
    only.uncheck()
    assert shown(page).count() == 3
    only.check()
    assert shown(page).count() == 2
    page.evaluate("location.hash = 'claim-real-claim-1'")
    row = page.locator("#claim-real-claim-1")
    row.locator("dl").wait_for(state="visible")
    row.get_by_role("button", name="Copy").click()
    row.locator(":text('Copied'), pre:has-text('#claim-real-claim-1')").first.wait_for(state="visible")


def test_what_is_chosen_stands_in_the_address_and_comes_back_with_it(opened):
    page = opened()
    choice = page.locator("form.choose")
    choice.get_by_label("Goal").select_option("gap")
    choice.get_by_label("LLM").select_option(index=1)
    card = page.locator(".card [data-goal]:visible")
    assert card.count() == 1
    assert card.get_attribute("data-goal") == "gap"
    assert card.get_attribute("data-llm").startswith("x/")
    assert page.locator(".panel[data-llm]:visible").count() == 1
    page.locator("#study-1-claims form").get_by_label("Text").fill("real-claim-1")
    address = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(address)
    assert shown(page).count() == 1
    assert page.locator(".card [data-goal]:visible").get_attribute("data-goal") == "gap"
    assert page.locator(".panel[data-llm]:visible").count() == 1


def test_a_dot_opens_its_count_its_texts_and_the_command_of_its_trials(opened):
    page = opened()
    panel = page.locator(".panel[data-command]").nth(1)
    sacd = panel.locator("g[data-said*=SACD] .low circle")
    sacd.nth(1).click()
    opened_dot = panel.locator(".opened")
    assert "24 thousand USD: 7 of 14" in opened_dot.inner_text()
    assert "injected" in opened_dot.locator("q").inner_text()
    assert "--technique sacd --direction low --where 'response = 24.0'" in opened_dot.locator("code").inner_text()
    panel.locator("svg").focus()
    page.keyboard.press("ArrowRight")
    assert "7 of 14" in opened_dot.inner_text()
    assert "No text of it was recorded" in opened_dot.inner_text()
    assert page.title() != "injected"
    assert page.said == []


def test_the_rows_of_a_table_are_saved_as_csv(opened):
    page = opened()
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    with page.expect_download() as saved:
        page.locator(".answers .csv").first.click()
    text = Path(saved.value.path()).read_text(encoding="utf-8-sig")
    assert saved.value.suggested_filename == "marts.attrition.csv"
    head, *rows = text.splitlines()
    assert head.startswith('"LLM","Plain prompt"')
    assert len(rows) == 2
    assert '"60 of 60"' in rows[0]


def test_without_a_script_the_cards_the_drawings_and_every_claim_are_there(browser, file):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator(".card [data-goal]:visible").count() == 1
    assert page.locator("form.choose:visible").count() == 0
    assert page.locator("svg.dots:visible").count() == 2
    assert shown(page).count() == 3
    context.close()


def test_a_claim_opens_and_the_ledger_is_sorted_by_keyboard(opened):
    page = opened()
    summary = shown(page).first.locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    assert shown(page).first.locator("pre").is_visible()
    head = page.locator("#study-1-claims table.claims thead th").nth(4)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    printed = [row.locator("td").nth(3).inner_text() for row in shown(page).all()]
    assert printed == sorted(printed, reverse=True)
    assert len(set(printed)) == 3


@pytest.mark.parametrize("width", [NARROW, MIDDLE, WIDE])
def test_nothing_but_tables_scrolls_sideways(opened, width):
    page = opened(width)
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wider = page.locator("svg").evaluate_all(
        "all => all.filter((one) => one.getBoundingClientRect().right > innerWidth).length"
    )
    assert wider == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_in_both_schemes(opened, scheme):
    page = opened(scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    assert page.evaluate(CONTRAST) == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_no_text_of_a_drawing_is_cut_off_or_hides_another(opened):
    page = opened()
    cut = page.locator("svg").evaluate_all(
        """all => all.flatMap((drawing) => {
            const frame = drawing.getBoundingClientRect();
            return [...drawing.querySelectorAll("text:not(.stamp)")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.width && (box.left < frame.left - 2 || box.right > frame.right + 2
                    || box.top < frame.top - 2 || box.bottom > frame.bottom + 2);
            }).map((text) => text.textContent);
        })"""
    )
    assert cut == []


def test_headings_are_in_order_and_everything_has_a_name(opened):
    page = opened()
    levels = page.locator("h1, h2, h3, h4, h5").evaluate_all("all => all.map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.locator("svg:not([role=img][aria-label])").count() == 0
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    ids = page.locator("[id]").evaluate_all("all => all.map((one) => one.id)")
    assert len(ids) == len(set(ids))
    targets = page.locator("a").evaluate_all("all => all.map((one) => decodeURIComponent(one.getAttribute('href')))")
    assert {target[1:] for target in targets if target.startswith("#")} <= set(ids)


def test_the_first_key_leads_past_the_contents_and_focus_is_seen(opened):
    page = opened()
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.inner_text() == "Skip to the answer"
    assert skip.bounding_box()["x"] >= 0
    assert skip.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"


def test_a_simulated_study_is_stamped_wherever_one_looks(opened, file):
    for scheme in ("light", "dark"):
        page = opened(scheme=scheme, of=file.with_name("report-made-up.html"))
        simulated = page.locator("article.simulated")
        assert "SIMULATED" in simulated.evaluate("one => getComputedStyle(one).backgroundImage")
        assert simulated.locator("svg").count() == simulated.locator("svg .stamp").count() > 5
        page.locator("#study-1-provenance").scroll_into_view_if_needed()
        assert page.locator(".banner").bounding_box()["y"] >= -1
