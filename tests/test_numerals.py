"""Every numeral of documents A to D is accounted for: `tests/numerals.csv` names its claim, or why it is none.

`why` is `citation`: year, volume, pages, address, study or result of a cited work; `condition`: a temperature at which
was asked; `date`: when the document was written, the trials were run or the texts end that an LLM learned from;
`definition`: what a value of a metric means, or is compared with; `formula`: a constant, an index or an exponent;
`illustration`: an invented example; `label`: the number of a section, table, figure, equation, item, step, turn,
story, decision or variation; `level`: of confidence, significance or power; `name`: of an LLM, a data set, a program,
a device or a licence; `prompt`: said or to be said to an LLM or a person; `quotation`: in a text that is quoted;
`requirement`: what a program has to accept; `setting`: what the authors chose for a computation and no table of ours
has.
"""

import pytest

from analysis.claims.papers import read_papers
from analysis.reading.numerals import as_shown
from tests.tools.numerals import (
    DOCUMENTS,
    SHARED,
    main,
    misprinted,
    numerals,
    place,
    read_documents,
    read_rows,
    unaccounted,
    unprinted,
)

FOLDER = SHARED / "seeds"


@pytest.fixture(scope="session")
def documents():
    """The documents beside the project; they are not ours to publish."""
    found = read_documents(FOLDER)
    if found.keys() != DOCUMENTS.keys():
        pytest.skip(f"no documents in {FOLDER}; point BAIS_SHARED at a folder that has them in seeds/")
    return found


def test_each_numeral_of_the_documents_is_a_claim_or_has_a_reason_to_be_none(documents):
    assert unaccounted(documents, read_rows()) == []


def test_no_row_is_of_a_numeral_that_the_documents_do_not_print(documents):
    assert unprinted(documents, read_rows()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("14,152 trials, 90, 10 of 1,941", ["14,152", "90", "10", "1,941"]),
        ("p<.05, p < 0.05 and .5", [".05", "0.05", ".5"]),
        ("by \N{MINUS SIGN}8.8% [-1.5, +3]", ["\N{MINUS SIGN}8.8", "-1.5", "+3"]),
        ("30\N{EN DASH}90 trials, 0-12 months, 52%-76%", ["30", "90", "0", "12", "52", "76"]),
        ("GPT-4.1, o4-mini, Kimi-k2.5, 12th, V1", ["4.1", "4", "2.5", "12", "1"]),
        ("see 3.2.5. The mean is 5.", ["3.2.5", "5"]),
        (r"$t(37)=2.10$, $\beta_0$, $\sigma_u^2$, \pm 10\%", ["37", "2.10", "0", "2", "10"]),
        ("p 8.62e-130, 16k, GPT-4e", ["8.62e-130", "16", "4"]),
        ("four techniques, two of them new, iv", []),
    ],
)
def test_a_numeral_is_a_run_of_digits_with_its_sign_and_separators(text, found):
    assert [numeral for _, _, numeral in numerals(text)] == found


@pytest.mark.parametrize(
    ("saved", "shown"),
    [
        ("(+62.84+62.84)", "(+62.84)"),
        ("\N{MINUS SIGN}0.40-0.40 to \N{MINUS SIGN}0.21-0.21 nats", "\N{MINUS SIGN}0.40 to \N{MINUS SIGN}0.21 nats"),
        ("+4+4 to +10+10 points.", "+4 to +10 points."),
        ("+1.5+1.5\N{EN DASH}+2.4+2.4", "+1.5\N{EN DASH}+2.4"),
        ("+0.19+0.19\N{EN DASH}0.270.27 nats", "+0.19\N{EN DASH}0.27 nats"),
        (
            "\N{MULTIPLICATION SIGN}2.2\\times 2.2\N{EN DASH}\N{MULTIPLICATION SIGN}2.9\\times 2.9",
            "\N{MULTIPLICATION SIGN}2.2\N{EN DASH}\N{MULTIPLICATION SIGN}2.9",
        ),
        ("default 10,00010{,}000 permutations", "default 10,000 permutations"),
    ],
)
def test_a_number_of_a_formula_is_read_once_though_its_markup_repeats_it(saved, shown):
    assert as_shown(saved) == shown


@pytest.mark.parametrize(
    "text", ["1.04 (\\times1.04)", "[0.00-0.90]", "0.5+0.5", "+22.22", "11.11", "10-10", "+1.5+1.54"]
)
def test_a_number_that_only_looks_repeated_stays(text):
    assert as_shown(text) == text


def test_a_document_that_was_misread_is_read_as_it_was_written(tmp_path):
    written = "V1-D (A\N{EN DASH}), \N{MINUS SIGN}0.63-0.63 nats"
    (tmp_path / "004_copy.txt").write_text(written.encode("utf-8").decode("mac_roman"), encoding="utf-8")
    assert read_documents(tmp_path) == {"D": "V1-D (A\N{EN DASH}), \N{MINUS SIGN}0.63 nats"}


def test_a_place_is_the_line_and_the_position_in_it():
    assert numerals("2 of 3\n\nrank 1") == [(1, 1, "2"), (1, 2, "3"), (3, 1, "1")]


MADE_UP = {"A": "Section 1\n\nIt is 7.5 months, 26.0 pp.", "B": "N = 39", "C": "No numbers.", "D": "None."}


def row(document, line, position, numeral, claim="", why=""):
    place = {"document": document, "line": str(line), "position": str(position), "numeral": numeral}
    return {**place, "claim": claim, "why": why}


@pytest.fixture
def rows():
    return [
        row("A", 1, 1, "1", why="label"),
        row("A", 3, 1, "7.5", claim="A-months"),
        row("A", 3, 2, "26.0", claim="A-pp"),
        row("B", 1, 1, "39", claim="B-n"),
    ]


def test_rows_of_all_numerals_leave_nothing_open(rows):
    assert unaccounted(MADE_UP, rows) == unprinted(MADE_UP, rows) == []


def test_a_row_that_is_dropped_leaves_its_numeral_unaccounted(rows):
    assert unaccounted(MADE_UP, rows[1:]) == [("A", 1, 1, "1")]


def test_a_row_without_claim_and_without_reason_accounts_for_nothing(rows):
    rows[3]["claim"] = ""
    assert unaccounted(MADE_UP, rows) == [("B", 1, 1, "39")]


@pytest.mark.parametrize(
    ("column", "value"), [("document", "B"), ("line", "2"), ("position", "3"), ("numeral", "7.50")]
)
def test_a_row_that_is_changed_names_another_place_and_leaves_its_own(rows, column, value):
    rows[1][column] = value
    assert unaccounted(MADE_UP, rows) == [("A", 3, 1, "7.5")]
    assert len(unprinted(MADE_UP, rows)) == 1


@pytest.fixture
def folder(tmp_path):
    """A folder with the made-up documents, named as the real ones are."""
    for document, text in MADE_UP.items():
        (tmp_path / DOCUMENTS[document].replace("*", "copy")).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_numeral_that_is_added_to_a_document_is_unaccounted(rows, folder):
    (folder / "001_copy.txt").write_text(MADE_UP["B"] + "\nand 2 more", encoding="utf-8")
    assert unaccounted(read_documents(folder), rows) == [("B", 2, 1, "2")]
    assert unprinted(read_documents(folder), rows) == []


def test_the_tool_keeps_what_was_said_adds_what_is_new_and_drops_what_is_gone(folder, capsys):
    seed = folder / "numerals.csv"
    main(folder, seed)
    assert capsys.readouterr().out == "4 numerals; 4 added, 0 dropped\n"
    places = [("A", 1, 1, "1"), ("A", 3, 1, "7.5"), ("A", 3, 2, "26.0"), ("B", 1, 1, "39")]
    assert unaccounted(MADE_UP, read_rows(seed)) == places

    seed.write_text(seed.read_text(encoding="utf-8").replace("B,1,1,39,,", "B,1,1,39,B-n,"), encoding="utf-8")
    (folder / "000_copy.txt").write_text("Section 1", encoding="utf-8")
    main(folder, seed)
    assert capsys.readouterr().out == "2 numerals; 0 added, 2 dropped\n"
    assert read_rows(seed) == [row("A", 1, 1, "1"), row("B", 1, 1, "39", claim="B-n")]


REASONS = {
    "citation", "condition", "date", "definition", "formula", "illustration", "label", "level", "name", "prompt",
    "quotation", "requirement", "setting",
}  # fmt: skip


def test_the_claims_that_numerals_name_print_them():
    claims = {"/".join(filter(None, (claim["claim_id"], claim["part"]))): claim for claim in read_papers()[1]}
    rows = read_rows()
    assert {row["why"] for row in rows} <= {"", *REASONS}
    assert [(place(row), wrong) for row in rows if (wrong := misprinted(row, claims))] == []


CLAIMED = {
    key: dict(zip(("document", "kind", "published_value", "decimals", "unit"), values, strict=True))
    for key, values in {
        "A-pp": ("A", "value", 26.0, 1, "pp"),
        "A-fall": ("A", "value", -2.0, 0, "pp"),
        "A-about": ("A", "value", 2450.0, -1, "trials"),
        "A-p/low": ("A", "value", 0.05, 2, "1"),
        "A-tiny": ("A", "value", 8.62e-130, 132, "1"),
        "A-half": ("A", "value", 0.5, 1, "baselines"),
        "A-ratio": ("A", "value", 0.5, 1, "ratio"),
        "A-sentence": ("A", "sentence", 1.5, 0, "rank"),
        "B-pp": ("B", "value", 26.0, 1, "pp"),
    }.items()
}


def wrong_claims(numeral, claim, why=""):
    return sorted(misprinted(row("A", 1, 1, numeral, claim=claim, why=why), CLAIMED))


@pytest.mark.parametrize(
    ("numeral", "claim"),
    [
        ("26.0", "A-pp"),
        ("+26.0", "A-pp"),
        ("\N{MINUS SIGN}2", "A-fall"),
        ("2", "A-fall"),
        ("2,450", "A-about"),
        (".05", "A-p/low"),
        ("8.62e-130", "A-tiny"),
        ("0.5", "A-half"),
        ("50", "A-half"),
        ("100", "A-sentence"),
    ],
)
def test_a_claim_is_printed_by_its_digits_whatever_separates_them(numeral, claim):
    assert wrong_claims(numeral, claim) == []


@pytest.mark.parametrize(
    ("numeral", "claim", "wrong"),
    [
        ("26.1", "A-pp", ["A-pp"]),
        ("8.62e-13", "A-tiny", ["A-tiny"]),
        ("8.62", "A-tiny", ["A-tiny"]),
        ("26", "A-pp", ["A-pp"]),
        ("-26.0", "A-pp", ["A-pp"]),
        ("+2", "A-fall", ["A-fall"]),
        ("3.2.5", "A-pp", ["A-pp"]),
        ("50", "A-ratio", ["A-ratio"]),
        ("60", "A-half", ["A-half"]),
        ("50.0", "A-half", ["A-half"]),
        ("26.0", "B-pp", ["B-pp"]),
        ("26.0", "A-unknown", ["A-unknown"]),
        (".05", "A-p", ["A-p"]),
        ("26.0", "A-pp A-fall A-unknown", ["A-fall", "A-unknown"]),
    ],
)
def test_a_claim_that_is_not_there_or_prints_something_else_is_wrong(numeral, claim, wrong):
    assert wrong_claims(numeral, claim) == wrong


def test_a_numeral_is_a_claim_or_has_a_reason_and_never_both():
    assert wrong_claims("12", "", "prompt") == []
    assert wrong_claims("12", "") == [""]
    assert wrong_claims("26.0", "A-pp", "prompt") == ["A-pp"]
