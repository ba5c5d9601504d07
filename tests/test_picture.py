"""The picture of the README is drawn from a warehouse, and from nothing else."""

import re
from contextlib import closing
from itertools import product
from xml.etree import ElementTree

import duckdb
import pytest

from tests.conftest import ROOT
from tests.tools.picture import COLOURS, DOMAIN, PICTURE, STUDY, alternative, drawing, main, matrix
from tests.tools.report_page import Made

SVG = "{http://www.w3.org/2000/svg}"
NAMES = {"no_technique": "a plain prompt", "random_control": "Random Control", "sacd": "SACD", "sacd_initial": "first"}
# technique: control, loss, loss of the control, lower and upper end of the gain, decision, certainty
OVERALL = {
    "random_control": ("no_technique", 30, 40, -5, 25, "no_evidence", None),
    "sacd": ("sacd_initial", 45, 85, 10, 70, "helps_its_own_prompt", "supported"),
}
# technique, LLM: loss, loss of the control, lower and upper end of the gain, decision, reason
OF_LLMS = {
    ("random_control", "lab/a<b"): (35, 20, -25, -5, "avoid", "one_llm"),
    ("random_control", "lab/other"): (10, 60, -3, 60, "no_evidence", "one_llm"),
    ("sacd", "lab/a<b"): (20, 99, 60, 90, "use", "one_llm"),
    ("sacd", "lab/other"): (40, 70, 10, 40, "no_evidence", "one_llm; not_shown_over_placebo"),
}
PLAIN = {None: 40, "lab/a<b": 20, "lab/other": 60}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Two techniques and two LLMs by the gap, of which one answered less than half of what it was asked with one."""
    path = tmp_path_factory.mktemp("picture") / "w.duckdb"
    made = Made(path)
    of = {"study": STUDY, "domain": DOMAIN, "paradigm": "anchoring", "goal": "gap"}
    with closing(made.connection):
        made.connection.execute("create table seeds.vignettes (study varchar, vignette varchar, description varchar)")
        made.connection.execute("insert into seeds.vignettes values (?, 'theft', 'A theft')", [STUDY])
        made.add("marts.effects", **of, technique="no_technique", vignette="theft", leads=True)
        made.add("marts.effects", **{**of, "goal": "error"}, technique="no_technique", leads=False)
        made.add("seeds.llms", llm="lab/other", display_name="Other")
        for technique, name in NAMES.items():
            made.add("seeds.techniques", technique=technique, display_name=name)
        for llm, loss in PLAIN.items():
            made.add("inference.decisions", **of, technique="no_technique", llm=llm, loss=loss)
        for technique, (control, loss, loss_control, low, high, decision, certainty) in OVERALL.items():
            known = {"technique": technique, "control": control, "loss": loss, "loss_control": loss_control}
            made.add(
                "inference.decisions", **of, **known, comparison="control", gain=loss_control - loss, gain_low=low,
                gain_high=high, decision=decision, certainty=certainty, n_vendors=5,
            )  # fmt: skip
            made.add("inference.predictions", **of, technique=technique, gain_low=-70, gain_high=loss_control)
        made.add("inference.decisions", **of, technique="sacd", control="random_control", comparison="placebo")
        for (technique, llm), (loss, loss_control, low, high, decision, reason) in OF_LLMS.items():
            made.add(
                "inference.decisions", **of, technique=technique, control=OVERALL[technique][0], llm=llm, loss=loss,
                loss_control=loss_control, gain=loss_control - loss, gain_low=low, gain_high=high, decision=decision,
                reason=reason, comparison="control",
            )  # fmt: skip
            n_missing = 60 if (technique, llm) == ("sacd", "lab/other") else 10
            made.add("marts.effects", **of, technique=technique, llm=llm, n_asked=100, n_missing=n_missing)
    return path


@pytest.fixture
def picture(warehouse, tmp_path):
    assert main(warehouse, tmp_path / "answers.svg") == 0
    return ElementTree.parse(tmp_path / "answers.svg").getroot()


def texts(svg):
    return [text.text for text in svg.iter(f"{SVG}text")]


def test_a_colour_says_what_was_decided_whatever_the_estimate_is(picture):
    # in the order of columns, and of rows from the largest pull with a plain prompt to the smallest; then the key
    dots = [dot.get("class") for dot in picture.iter(f"{SVG}circle") if dot.get("class").endswith(" dot")]
    assert dots[:4] == ["unclear dot", "harms dot", "helps-hollow dot", "helps dot"]
    diamonds = [path.get("class") for path in picture.iter(f"{SVG}path") if path.get("class").endswith(" dot")]
    assert diamonds == ["unclear dot", "helps-hollow dot"]


def test_nothing_that_was_not_decided_is_said_to_help(warehouse, picture, tmp_path):
    title = picture.find(f"{SVG}title").text
    assert title == (
        "No technique is shown to make an anchor's pull smaller than a plain prompt's. SACD helps its own "
        "prompt alone, from 85 to 45 % (supported, not established); a plain prompt has 40 %. Unclear: Random Control."
    )
    copy = tmp_path / "w.duckdb"
    copy.write_bytes(warehouse.read_bytes())
    with closing(duckdb.connect(str(copy))) as connection:
        connection.execute(
            "update inference.decisions set decision = 'use', certainty = 'established' where llm is null"
        )
        assert alternative(matrix(connection)) == (
            "Shown to make an anchor's pull smaller: Random Control (established) and SACD (established)."
        )


def test_the_numbers_are_those_of_the_warehouse(picture):
    shown = texts(picture)
    assert {"40 %", "60 %", "20 %", "\N{MINUS SIGN}10", "\N{MINUS SIGN}40", "+15", "\N{MINUS SIGN}79"} <= set(shown)
    assert "helps 1, harms 0 of 2" in shown
    assert "helps 0, harms 1 of 2" in shown
    described = picture.find(f"{SVG}desc").text
    assert "SACD, helps its own prompt: 85 % in first, 45 % with it (95 % interval of the gain 10 to 70" in described
    assert "Harms: lab/a<b." in described


def test_a_ring_of_another_prompt_is_a_square_beside_the_plain_prompt(picture):
    squares = [square for square in picture.iter(f"{SVG}rect") if square.get("class") == "ring own"]
    ticks = [line for line in picture.iter(f"{SVG}line") if line.get("class") == "ink-line tick"]
    assert len(squares) == len(ticks) == 4  # on average, of two LLMs, and in the key
    assert "in first, which has a prompt of its own" in texts(picture)


def test_a_cell_in_which_fewer_than_nine_in_ten_answered_says_how_many(picture):
    assert [text for text in texts(picture) if text.startswith("! ")] == ["! 40 %", "! %"]


def test_an_interval_that_leaves_the_scale_ends_in_an_arrow(picture):
    arrows = [path for path in picture.iter(f"{SVG}path") if path.get("class").endswith(" arrow")]
    assert len(arrows) == 2  # what one more LLM may lose: 40 and 85, and 70 more, where 100 is the end


def test_no_text_leaves_the_picture_and_none_is_smaller_than_12(picture):
    width = float(picture.get("viewBox").split()[2])
    for text in picture.iter(f"{SVG}text"):
        assert float(text.get("font-size")) >= 12
        if text.get("text-anchor") == "start":  # as wide as most letters are
            assert float(text.get("x")) + 0.56 * float(text.get("font-size")) * len(text.text) < width, text.text


@pytest.mark.parametrize("scheme", [0, 1])
def test_marks_and_words_stand_out_from_the_paper(scheme):
    def lightness(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    paper = lightness(COLOURS["paper"][scheme])
    for name in COLOURS.keys() - {"paper", "rule"}:
        lighter, darker = sorted((paper, lightness(COLOURS[name][scheme])), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, name


def test_the_picture_has_the_colours_of_both_schemes(picture):
    style = picture.find(f"{SVG}style").text
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    for (name, colours), (scheme, where) in product(COLOURS.items(), enumerate((light, dark))):
        assert f".{name}{{fill:{colours[scheme]}}}" in where


def test_the_picture_of_the_same_warehouse_is_the_same_to_the_byte(warehouse, tmp_path):
    for name in ("first.svg", "second.svg"):
        main(warehouse, tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_a_warehouse_without_the_archive_gets_a_sentence_and_no_picture(tmp_path, capsys):
    with closing(Made(tmp_path / "w.duckdb").connection):
        pass
    assert main(tmp_path / "w.duckdb", tmp_path / "answers.svg") == 2
    assert main(tmp_path / "none.duckdb", tmp_path / "answers.svg") == 2
    told = capsys.readouterr().err.splitlines()
    assert "holds no built study voder-bais" in told[0]
    assert "none.duckdb is not there" in told[1]
    assert not (tmp_path / "answers.svg").exists()


def test_the_readme_shows_what_the_recorded_trials_say(recorded):
    with closing(duckdb.connect(str(recorded.path), read_only=True)) as connection:
        shown = matrix(connection)
    kept = ElementTree.parse(PICTURE).getroot()
    drawn = ElementTree.fromstring(drawing(shown))
    # the words and numbers; what is predicted of one more LLM is drawn by chance, a tenth as often in tests
    assert texts(kept) == texts(drawn), "`make picture` draws it anew"
    assert kept.find(f"{SVG}desc").text == drawn.find(f"{SVG}desc").text
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    (said,) = re.findall(r"!\[(.*?)\]\(docs/answers\.svg\)", readme)
    assert said == alternative(shown)
