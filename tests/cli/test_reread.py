"""`bais reread`, and baselines that were misread: before anchors hang on them, and after."""

import contextlib
import json
import re

import duckdb
import pytest

from bais.main import main
from bais.withdraw import _has_digits
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.land.models import Models
from tests.ingest.endpoint import Endpoint, answer, spooled

pytestmark = pytest.mark.slow("collects and audits again and again")

AGAIN = pytest.mark.slow("asks, changes and audits again and again")
SALARY = {"vignette": "pay", "domain": "salary", "response_unit": "EUR", "case": "An electrician is hired.",
          "anchor": "She asks for {anchor} EUR.", "question": "Which monthly salary do you offer?"}  # fmt: skip


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A function that writes a study of one LLM which gives these answers where no anchor is, and then collects it."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")
    monkeypatch.setenv("BAIS_USER", "ada")
    with contextlib.ExitStack() as opened:

        def collect(*baselines, **changes):
            said = list(baselines)

            def decide(request):
                is_anchored = "She asks for" in json.dumps(request.messages)
                return answer(request, "4000 EUR" if is_anchored else said.pop(0))

            endpoint = opened.enter_context(Endpoint(decide))
            content = {
                "study": "pay", "llms": [{"llm": "any/model", "base_url": endpoint.url}],
                "vignettes": [SALARY | changes], "techniques": ["no_technique"],
                "anchors": {"proportional": {"low": 0.5, "high": 1.5}},
                "stopping_rule": {"minimum": len(baselines)}, "limits": {"concurrency": 1},
            }  # fmt: skip
            path = tmp_path / "pay.yaml"
            path.write_text(json.dumps(content))
            return path

        yield collect


def anchors():
    """Return the anchors that were written down, in order."""
    return [(of["low"], of["high"]) for of in spooled(spool_folder("pay") / COLLECTED)["anchor"]]


def asked(sql):
    from ingest.warehouse import warehouse_path

    with contextlib.closing(duckdb.connect(str(warehouse_path()), read_only=True)) as warehouse:
        return warehouse.sql(sql).fetchall()


def numbers():
    """Return what the models read in the answers without anchor, by their text."""
    from ingest.warehouse import warehouse_path

    with contextlib.closing(duckdb.connect()) as memory:
        memory.execute(f"attach '{warehouse_path()}' as warehouse (read_only)")
        models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
        return memory.sql(
            f"select response_text, number_if_recorded, status_if_recorded from {models.ref('int_trials_read')} "
            "where anchor_value is null order by response_text, trial_id"
        ).fetchall()


def test_a_dot_groups_thousands_in_a_baseline_of_thousands(study, capsys):
    path = study("4000 EUR", "4.200 EUR", "3800 EUR", "3'900 EUR", "4.100 EUR")
    assert main(["collect", str(path)]) == 0
    assert anchors() == [(2000, 6000)]
    assert sorted(number for _, number, _ in numbers()) == [3800, 3900, 4000, 4100, 4200]
    assert asked("select verdict from raw.batch_verdicts")[0][0] != "failed"


@AGAIN
def test_where_nothing_tells_what_a_dot_is_no_anchor_is_derived_until_one_answer_is_reread(study, capsys):
    path = study("4.000 EUR", "3.900 EUR", "4.100 EUR")
    assert main(["collect", str(path)]) == 4
    said = capsys.readouterr().out
    assert anchors() == []
    sentence = r"no anchors for any/model on pay yet: of its 3 answers without anchor 3 have a dot that may group .*"
    assert re.search(sentence + r"\(trial (\w+), .*`bais reread TRIAL --number N --why", said)
    trial = re.search(r"\(trial (\w+),", said)[1]
    assert all(status == "unparsed" for _, _, status in numbers())
    ((text,),) = asked(f"select response_text from raw.trials where starts_with(trial_id, '{trial}')")
    meant = text.removesuffix(" EUR").replace(".", "")
    assert main(["reread", trial, "--number", meant, "--why", "euros a month"]) == 0
    assert main(["collect", str(path)]) == 0
    assert anchors() == [(2000, 6000)]
    assert [number for _, number, _ in numbers()] == [3900, 4000, 4100]


def test_where_the_range_tells_what_a_dot_is_nothing_is_asked_of_anybody(study):
    path = study("4.000 EUR", "3.900 EUR", "4.100 EUR", valid_min=500, valid_max=50000)
    assert main(["collect", str(path)]) == 0
    assert anchors() == [(2000, 6000)]


@pytest.mark.parametrize(
    ("odd", "changes", "sentence"),
    [
        ("4 EUR", {}, "1 are about a thousand times too large or too small, such as “4 EUR” where 4000 is usual"),
        pytest.param(
            *("4 EUR", {"valid_min": 500}, "1 are about a thousand times too large or too small, such as “4 EUR”"),
            marks=AGAIN,
        ),
        pytest.param(
            *("90 EUR", {"valid_min": 500}, "3 are outside of the range that the vignette allows, such as “90 EUR”"),
            marks=AGAIN,
        ),
        pytest.param("I cannot recommend a salary.", {}, "5 are refusals", marks=AGAIN),
    ],
)
def test_what_the_gate_would_not_let_through_is_no_baseline_of_anchors(study, capsys, odd, changes, sentence):
    n_odd = int(sentence[0])
    path = study(*["4000 EUR"] * 4, *[odd] * n_odd, **changes)
    assert main(["collect", str(path)]) == 4
    assert sentence in " ".join(capsys.readouterr().out.split())
    assert anchors() == []
    assert asked("select count(*) from raw.trials where anchor_value is not null") == [(0,)]
    assert main(["withdraw", *(of for (of,) in odd_ones()), "--why", "not a monthly salary"]) == 0
    assert main(["collect", str(path)]) == 0
    assert anchors() == [(2000, 6000)]


def odd_ones():
    return asked("select trial_id from raw.trials where response_text != '4000 EUR'")


@AGAIN
def test_a_baseline_that_is_mended_says_what_hangs_on_it_and_new_anchors_are_asked_for(study, capsys, golden):
    path = study("4000 EUR", "4000 EUR", "1000 EUR")
    assert main(["collect", str(path)]) == 0
    assert anchors() == [(1500, 4500)]
    ((trial,),) = odd_ones()
    capsys.readouterr()
    assert main(["reread", trial, "--number", "4000", "--why", "a quarter of the time"]) == 6
    said = capsys.readouterr().out
    golden(said, "any/model", "1500", "4500")
    golden(said, "6 trials", "6 calls")
    assert main(["collect", str(path)]) == 0
    assert anchors() == [(1500, 4500)]
    assert main(["collect", str(path), "--new-anchors"]) == 0
    assert anchors() == [(1500, 4500), (2000, 6000)]
    assert main(["collect", str(path)]) == 0


def test_a_reading_is_put_right_kept_with_name_and_reason_shown_and_undone(study, capsys, golden):
    path = study("4000 EUR", "4000 EUR", "3900 EUR", "4000 EUR")
    assert main(["collect", str(path)]) == 0
    ((trial,),) = odd_ones()
    before = numbers()
    n_verdicts = asked("select count(*) from raw.batch_verdicts")[0][0]
    capsys.readouterr()
    assert main(["reread", trial[:12], "--number", "4100", "--why", "a quarter of the time", "--who", "grace"]) == 0
    said = capsys.readouterr().out
    golden(said, "4100", trial)
    assert f"has no 4100 in digits: `bais trial {trial}`" in " ".join(said.split())
    assert asked("select count(*) from raw.batch_verdicts")[0][0] == n_verdicts + 1
    assert ("3900 EUR", 4100.0, "answered") in numbers()
    assert main(["trial", trial]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"REREAD as 4100 by grace on \d{4}-\d\d-\d\d: a quarter of the time", shown)
    acts = "select object_id, act, response, who, why from raw.gate_acts order by acted_at"
    assert asked(acts) == [(trial, "reread", 4100.0, "grace", "a quarter of the time")]
    assert main(["restore", trial, "--why", "it was the month"]) == 0
    assert numbers() == before
    assert asked(acts)[1:] == [(trial, "restore_reading", None, "ada", "it was the month")]


@pytest.mark.parametrize(
    ("text", "number", "is_there"),
    [
        ("3.350 EUR", 3350, True),
        ("EUR 3 350,00", 3350, True),
        ("33500 EUR", 3350, False),
        ("13350", 3350, False),
        ("about 2,50 years", 2.5, True),
        ("eighty-five", 85, False),
    ],
)
def test_a_number_is_found_in_a_text_whatever_separates_its_digits(text, number, is_there):
    assert _has_digits(text, float(number)) == is_there


@pytest.mark.parametrize(
    ("number", "sentence"),
    [("nan", "--number nan is no number that an answer can be"), ("inf", "--number inf is no number")],
)
def test_what_is_no_number_is_no_rereading(study, capsys, number, sentence):
    path = study("4000 EUR", "4000 EUR", "1000 EUR")
    assert main(["collect", str(path)]) == 0
    ((trial,),) = odd_ones()
    capsys.readouterr()
    assert main(["reread", trial, "--number", number, "--why", "x"]) == 2
    assert capsys.readouterr().err.startswith(f"bais: {sentence}")
    assert asked("from raw.gate_acts") == []
