"""A study of people as three participants fill it in, from a file and without a network, and what is imported of it."""

import hashlib
import hmac
import json

import duckdb
import pytest

from bais.main import main
from tests.tools.browsing import chromium
from tests.tools.people import PROLIFIC_IDS, make_study, own_of, write_export

pytestmark = pytest.mark.slow("pages in a browser")

DESK, PHONE = {"width": 1200, "height": 800}, {"width": 360, "height": 640}
ODD = 'L\'été <b>"№ 1"</b> & Söhne'  # what a name may hold


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A study of which pages lie there and nothing has come back."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "w.duckdb"))
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "a key of people that is long enough")
    make_study(tmp_path / "lamps")
    return tmp_path / "lamps"


@pytest.fixture
def opened(browser):
    """Open the page of a participant without a network; it must ask for nothing and complain of nothing."""
    contexts, complaints, asked = [], [], []

    def open_it(path, size=DESK, query=""):
        context = browser.new_context(viewport=size, offline=True, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri() + query)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith(("file:", "blob:")) for url in asked)


class Participant:
    """Somebody who fills in a page."""

    def __init__(self, page, who, quiz="products"):
        self.page = page
        if page.get_by_label("Your Prolific id").input_value() == "":
            page.get_by_label("Your Prolific id").fill(who)
        page.get_by_label("I have read this").check()
        self.press("Begin")
        page.get_by_label(quiz, exact=True).check()
        self.press("Next")

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def check(self):
        """Answer the attention check, where it is this that is asked."""
        if self.page.locator("form[data-step=check]:visible").count():
            self.page.get_by_label("never", exact=True).check()
            self.press("Next")

    def choose(self, *products, pays):
        """Choose of as many pairs as there are payments, and pay."""
        for paid in pays:
            for product in products:
                if (found := self.page.locator("form:visible").get_by_label(product, exact=True)).count():
                    found.check()
            self.press("Next")
            assert self.page.locator("form:visible [data-chosen]:visible").count() == 1
            self.page.get_by_role("spinbutton").fill(paid)
            self.press("Next")
            self.check()

    def save(self, folder):
        """Save the answers as a file, as they are returned."""
        with self.page.expect_download() as saved:
            self.page.get_by_role("link", name="Save my answers").click()
        path = folder / "answers" / saved.value.suggested_filename
        saved.value.save_as(path)
        assert json.loads(self.page.locator("#text").input_value()) == json.loads(path.read_text(encoding="utf-8"))
        return path


def test_three_people_fill_in_the_study_and_their_files_import(opened, folder, capsys):
    pages = sorted((folder / "pages").glob("*.html"))
    anna = Participant(opened(pages[0], DESK, f"?PROLIFIC_PID={PROLIFIC_IDS[0]}"), None)
    anna.choose("Lumo", "Kett", pays=("25", "36.5"))
    assert anna.page.locator("h1:visible").inner_text() == "Thank you: that was all"
    assert anna.page.locator("#back:visible").count() == 0
    first = anna.save(folder)
    ben = Participant(opened(pages[1], PHONE), PROLIFIC_IDS[1], quiz="shops")
    ben.choose("Brite", "Pott", pays=("1", "2"))
    ben.save(folder)
    cara = Participant(opened(pages[2]), PROLIFIC_IDS[2])
    cara.choose("Lumo", "Kett", pays=("25",))
    cara.press("Stop here")
    cara.press("Go on with the study")
    assert cara.page.locator("form:visible").count() == 1
    cara.press("Stop here")
    cara.save(folder)

    sheet = json.loads(first.read_text(encoding="utf-8"))
    assert (sheet["participant"], sheet["code"]) == (PROLIFIC_IDS[0], own_of(pages[0])["code"])
    write_export(folder, *((who, "APPROVED", 600, 40, "Female") for who in PROLIFIC_IDS[:3]))
    capsys.readouterr()
    assert main(["import", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "6 choices of 3 participants read, 2 of them excluded: 6 new" in said
    with duckdb.connect(str(folder.parent / "data" / "w.duckdb"), read_only=True) as warehouse:
        rows = warehouse.sql(
            "select excluded, count(*), count(chosen), count(willingness_to_pay), count(distinct participant) "
            "from raw.human_choices group by all order by all"
        ).fetchall()
        counted = warehouse.sql(
            "select pair, chosen, price from raw.human_choices where excluded is null order by pair"
        ).fetchall()
    assert rows == [("quiz", 2, 2, 2, 1), ("unfinished", 2, 1, 1, 1), (None, 2, 2, 2, 1)]
    assert counted == [("Kett|Pott", "Kett", 30), ("Lumo|Brite", "Lumo", 20)]


def test_a_page_seals_texts_of_every_length_as_the_standard_has_it(opened, folder):
    page = opened(sorted((folder / "pages").glob("*.html"))[0])
    texts = [("é" if n % 3 else "a") * n for n in range(200)]
    sealed = page.evaluate("texts => texts.map((text) => hmac(own.key, text))", texts)
    key = page.evaluate("own.key").encode()
    assert sealed == [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in texts]


def test_the_study_can_be_filled_in_with_keys_alone(opened, folder):
    page = opened(sorted((folder / "pages").glob("*.html"))[0])
    keys = page.keyboard
    page.locator("body").press("Tab")
    keys.type(PROLIFIC_IDS[0])
    for key in ("Tab", "Space", "Tab", "Enter"):
        keys.press(key)
    assert page.evaluate("document.activeElement.textContent") == "What you will do"
    for _ in range(6):  # quiz, two pairs, two prices, a check: choose the first, or write a number, and go on
        keys.press("Tab")
        is_number = page.evaluate("document.activeElement.type") == "number"
        if is_number:
            keys.type("12")
        else:
            keys.press("Space")
        keys.press("Enter")
    assert page.locator("h1:visible").inner_text() == "Thank you: that was all"


def test_nothing_goes_on_without_an_answer_and_an_id_that_is_none_is_refused(opened, folder):
    page = opened(sorted((folder / "pages").glob("*.html"))[0])
    page.get_by_label("I have read this").check()
    page.get_by_label("Your Prolific id").fill("anna@example.org")
    page.get_by_role("button", name="Begin").click()
    assert page.locator("h1:visible").inner_text() == "Which one would you choose?"
    page.get_by_label("Your Prolific id").fill(f" {PROLIFIC_IDS[0]} ")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Next").click()
    assert page.locator("h1:visible").inner_text() == "What you will do"


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_step_fits_the_screen_and_foreign_text_runs_nothing(opened, folder, size):
    products = (folder / "products.csv").read_text(encoding="utf-8")
    name = ODD.replace('"', '""')
    odd = products.replace("Lumo", f'"{name}"').replace("It dazzles", "<script>document.title='ran'</script>It dazzles")
    for page in (folder / "pages").glob("*"):
        page.unlink()
    make_study(folder, products=odd)
    page = opened(sorted((folder / "pages").glob("*.html"))[0], size)
    ann = Participant(page, PROLIFIC_IDS[0])
    while page.locator("form:visible").count():
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = page.locator("form:visible input:not([type=number])")
        if found.count():
            named = page.locator("form:visible").get_by_label(ODD, exact=True)
            (named if named.count() else found.last).check()
        else:
            page.get_by_role("spinbutton").fill("3")
        ann.press("Next")
    assert page.title() == "Which one would you choose?"
    sheet = json.loads(ann.save(folder).read_text(encoding="utf-8"))
    assert ODD in [choice["chosen"] for choice in sheet["choices"]]
    write_export(folder, (PROLIFIC_IDS[0], "APPROVED", 600, 40, "Female"))
    assert main(["people", "bonuses", str(folder)]) == 0
