"""`bais read`: what would be read in a reply, before one is paid for."""

import csv
import io
import json
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bais.main import main
from ingest.ask.reading import Way, read_replies
from ingest.land.models import macros
from ingest.warehouse import in_memory

EXAMPLES = Path(__file__).parents[1] / "ingest" / "reader_examples.csv"
TEA = """
paradigm: tea_time
answer: {kind: choice, answer_after: "FINAL:"}
arms: [plain, praised]
contrasts: [[praised, plain]]
measures: {took_tea: {of: [tea], better: lower}, took_milk: {of: [milk], better: lower}}
vignettes:
  - vignette: drink
    case: "A drink.{praise} {options}"
    question: Which?
    options: {tea: a cup of tea, milk: a glass of milk}
    arms:
      plain: {words: {praise: ""}}
      praised: {words: {praise: " Tea is wonderful."}, options: {milk: milk, water: water, tea: tea}}
"""


@pytest.fixture
def read(capsys):
    """Read a reply by the command, and return what it says as JSON."""

    def ask(*arguments):
        assert main(["read", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


@pytest.mark.parametrize(
    ("text", "options", "status", "value"),
    [
        ("4.200 EUR", ("--unit", "EUR"), "unparsed", None),
        ("4.200 EUR", ("--unit", "EUR", "--range", "500", "9000"), "answered", 4200),
        ("4.200 EUR", ("--unit", "EUR", "--range", "0", "10"), "answered", 4.2),
        ("4.200 EUR", ("--unit", "EUR", "--range", "0", "9000"), "unparsed", None),
        ("2 years", ("--unit", "months"), "answered", 24),
        ("2 years", ("--unit", "months", "--range", "0", "12"), "out_of_range", 24),
        ("-5", ("--range", "-10", "0"), "answered", -5),
        ("12 or 24 months", (), "unparsed", None),
        ("I cannot help with that.", (), "refused", None),
        ("", (), "unparsed", None),
    ],
)
def test_a_number_is_read_in_its_unit_and_range(read, text, options, status, value):
    said = read(text, *options)
    assert (said["status"], said["value"]) == (status, value)
    assert (said["reason"] is None) == (status == "answered")


def test_a_number_without_a_unit_is_said_to_be_read_as_its_digits_where_a_unit_would_scale_it(read):
    said = read("85k")
    assert said["value"] == 85
    assert said["note"].endswith("such as EUR, it is 85,000")
    assert [read(text)["note"] for text in ("85", "2 years", "no number")] == [None] * 3


@pytest.mark.parametrize("unit", ["months", "thousand USD"])
def test_examples_are_read_as_the_models_read_them_each_in_its_place(unit):
    with EXAMPLES.open(newline="", encoding="utf-8") as file:
        texts = [row["text"].replace("\\n", "\n") for row in csv.DictReader(file) if row["unit"] == unit][:200]
    outcome = macros()["read_response"]("text", f"'{unit}'")
    with closing(in_memory()) as memory:
        memory.execute("create table texts as select unnest($1::varchar[]) as text, unnest($2::int[]) as place",
                       [texts, [*range(len(texts))]])  # fmt: skip
        rows = memory.sql(f"select {outcome} as found from texts order by place").fetchall()
    expected = [(found["status"], found["response"], found["said"]) for (found,) in rows]
    assert len(expected) > 30
    readings = read_replies([(text, None) for text in texts], Way(unit=unit))
    assert [(reading.status, reading.value, reading.said) for reading in readings] == expected


def test_a_choice_is_read_after_its_marker_and_each_measure_counts_it(read, tmp_path, capsys, golden):
    path = tmp_path / "tea.yaml"
    path.write_text(TEA)
    said = read("A or B? FINAL: B", "--paradigm", str(path))
    assert (said["value"], said["measures"]) == ("milk", {"took_tea": 0, "took_milk": 1})
    of_arm = read("FINAL: B", "--paradigm", str(path), "--arm", "praised", "--measure", "took_tea")
    assert (of_arm["value"], of_arm["measures"]) == ("water", {"took_tea": 0})
    without = read("B", "--paradigm", str(path))
    assert (without["status"], without["measures"]) == ("unparsed", {"took_tea": None, "took_milk": None})
    assert main(["read", "FINAL: the tea", "--paradigm", str(path)]) == 0
    golden(capsys.readouterr().out)


def test_a_study_gives_unit_and_range_of_its_vignette_and_options_go_before_them(read):
    months = read("3 years", "--study", "anchoring-prosecutor-sentencing")
    assert (months["status"], months["value"], months["unit"]) == ("out_of_range", 36, "months")
    assert read("3 years", "--study", "anchoring-prosecutor-sentencing", "--range", "0", "99")["status"] == "answered"
    assert read("7", "--paradigm", "anchoring", "--vignette", "fever")["unit"] == "score of 100"


def test_a_reply_may_come_on_stdin(read, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Let me think.\n\nAnswer: 18 months\n"))
    assert read("--unit", "months")["value"] == 18


def test_what_is_read_is_told_with_why_and_how(capsys, golden):
    for arguments in (
        ["4.200 EUR", "--unit", "EUR"],
        ["4.200 EUR", "--unit", "EUR", "--range", "500", "9000"],
        ["between 10 and 14 months", "--unit", "months", "--range", "0", "11"],
        ["True", "--paradigm", "fact_check"],
        ["A short summary.", "--paradigm", "summarise", "--measure", "framing_changed"],
    ):
        assert main(["read", *arguments]) == 0
    golden(capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["12", "--paradigm", "framing", "--unit", "EUR"],
        ["12", "--paradigm", "framing", "--vignette", "no"],
        ["12", "--paradigm", "framing", "--measure", "no"],
        ["12", "--paradigm", "framing", "--study", "judicial"],
        ["12", "--vignette", "fever"],
        ["12", "--range", "2", "1"],
        ["--range=1"],
        ["--no-such-option"],
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(capsys, arguments, golden):
    assert main(["read", *arguments]) == 2
    golden(capsys.readouterr().err)


def test_a_paradigm_that_an_archive_has_is_told_by_the_name_that_it_goes_by(capsys):
    assert main(["read", "--paradigm", "primacy", "A"]) == 2
    assert "no paradigm primacy (an archive has cognitive_biases_2026/primacy): name one" in capsys.readouterr().err
    told = "Based on the given qualities, I would hire Candidate A."
    assert main(["read", "--paradigm", "cognitive_biases_2026/primacy", told]) == 0
    assert "first" in capsys.readouterr().out.splitlines()[0]
