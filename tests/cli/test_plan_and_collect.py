"""`bais plan` and `bais collect`: what a study asks, before and while it is asked."""

import json

import duckdb
import pytest

from bais.health import KEYS
from bais.main import main
from ingest.ask import plan as planning
from tests.ingest.endpoint import Endpoint, answer

STUDY = """
study: small
llms: [sim/anchored, sim/constant]
vignettes: [burglary, bakery, fever, analyst]
techniques: [no_technique, outside_view, devils_advocate, premortem, random_control, sacd]
anchors: {proportional: {low: 0.5, high: 1.5}}
stopping_rule: {minimum: 30}
"""
PRICED = """
study: priced
llms: [openai/o3]
vignettes:
  - {vignette: v, domain: d, response_unit: u, case: "1234", anchor: "{anchor} is 8", question: "5?"}
techniques: [no_technique]
anchors: {fixed: {low: 1, high: 2}}
baselines: false
answer_format: none
stopping_rule: {minimum: 10, maximum: 20, sd_above: 1}
limits: {concurrency: 2}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write a study file and return its path; the warehouse and the spool are in the same folder."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)

    def write(text, name="study.yaml"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    write.warehouse = tmp_path / "data" / "warehouse.duckdb"
    return write


def plan_of(path, capsys):
    assert main(["plan", path, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_document_as_protocol_has_its_grid(study, capsys):
    planned = plan_of("judicial", capsys)
    assert planned["cells"] == {"baseline": 30, "anchored": 360, "answers": 0}
    assert planned["trials"] == {"low": 390 * 30, "high": 390 * 90}
    assert planned["without_price"] == []
    assert planned["cost_usd"]["high"] > planned["cost_usd"]["low"] > 0


def test_a_plan_without_the_plain_question_says_that_no_technique_can_be_compared_with_it(study, capsys, golden):
    changed = PRICED.replace("techniques: [no_technique]", "techniques: [{technique: mine, turns: ['{opening}']}]")
    assert main(["plan", study(PRICED)]) == 0
    assert "No technique can be compared" not in capsys.readouterr().out
    assert main(["plan", study(changed)]) == 0
    golden(capsys.readouterr().out, "no_technique")
    (said,) = plan_of(study(changed), capsys)["cautions"]
    golden(said)


@pytest.mark.parametrize(
    ("unit", "meant"),
    [("fortnihgts", "fortnights"), ("monhts", "months"), ("thousnad USD", "thousand"), ("Months", "months")],
)
def test_a_plan_cautions_of_a_unit_that_is_nearly_another_one(study, capsys, unit, meant):
    (said,) = plan_of(study(PRICED.replace("response_unit: u", f"response_unit: {unit}")), capsys)["cautions"]
    assert unit in said
    assert f"(perhaps {meant})" in said


@pytest.mark.parametrize(
    "unit",
    ["months", "fortnights", "thousand USD", "thousands of euros", "score of 100", "points of 10", "percent", "%",
     "EUR", "EUR per month", "US Dollars", "km", "yards", "pints", "kWh per year", "people", "件"],
)  # fmt: skip
def test_a_plan_cautions_of_no_unit_of_ones_own(study, capsys, unit):
    assert "cautions" not in plan_of(study(PRICED.replace("response_unit: u", f'response_unit: "{unit}"')), capsys)


@pytest.mark.parametrize("name", ["judicial", "multi-domain", "simulated", "anchoring-prosecutor-sentencing"])
def test_every_shipped_study_prints_its_plan(study, capsys, monkeypatch, name, golden):
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    assert main(["plan", name]) == 0
    said = capsys.readouterr().out
    assert "Collected so far: 0 trials" in said
    golden(said)


def test_a_plan_leads_with_trials_calls_cost_and_hours_and_its_table_fits_80_columns(monkeypatch, capsys):
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: 80)
    assert main(["plan", "judicial"]) == 0
    _, *lead, blank = capsys.readouterr().out.splitlines()[:6]
    assert ([line.split()[0] for line in lead], blank) == (["trials", "calls", "cost", "hours"], "")
    assert main(["plan", "judicial"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith("── ") for line in lines)


def test_tokens_cost_and_hours_are_those_of_a_sum_done_by_hand(study, capsys, monkeypatch):
    monkeypatch.setattr(planning, "read_prices", lambda: {"openai/o3": (2.0, 8.0)})
    planned = plan_of(study(PRICED), capsys)
    # two cells of 10 to 20 trials; 4 + 2 + 7 + 2 + 2 characters make 5 tokens; a reply has 60 to 800
    assert planned["calls"] == {"low": 20, "high": 40}
    assert planned["tokens_in"] == {"low": 100, "high": 200}
    assert planned["tokens_out"] == {"low": 20 * 60, "high": 40 * 800}
    assert planned["cost_usd"]["low"] == pytest.approx((100 * 2 + 1200 * 8) / 1e6)
    assert planned["cost_usd"]["high"] == pytest.approx((200 * 2 + 32_000 * 8) / 1e6)
    assert planned["hours"]["high"] == pytest.approx(40 * 20 / 2 / 3600)


SECOND = "llms: [openai/o3, {llm: lab/one, base_url: 'https://lab.example/v1', api_key_env: LAB_KEY}]"


def test_every_missing_key_is_named_and_those_who_lack_theirs_alone(study, capsys, monkeypatch):
    path = study(PRICED.replace("llms: [openai/o3]", SECOND))
    assert main(["plan", path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "It cannot be asked yet: there is no key for https://api.openai.com/v1: set the environment variable " in said
    )
    assert "there is no key for https://lab.example/v1: set the environment variable LAB_KEY" in said
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-tests")
    assert main(["plan", path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "lab/one cannot be asked yet: there is no key for https://lab.example/v1" in said
    assert "It cannot be asked yet" not in said


def test_endpoints_are_asked_side_by_side_and_no_place_is_used_that_no_trial_needs(study, capsys):
    of_two = PRICED.replace("llms: [openai/o3]", SECOND)
    one, two = (plan_of(study(text), capsys)["hours"] for text in (PRICED, of_two))
    assert one == two
    many = plan_of(study(PRICED.replace("concurrency: 2", "concurrency: 1000")), capsys)["hours"]
    assert many["high"] == pytest.approx(20 / 3600)


@pytest.mark.parametrize(
    ("n", "llm", "caution"),
    [
        (9, "openai/o3", "fewer than 10"),
        (10, "openai/o3", "loses that LLM's case"),
        (11, "openai/o3", None),
        (10, "sim/steady", None),
    ],
)
def test_a_plan_cautions_of_a_base_without_an_answer_to_spare(study, capsys, n, llm, caution):
    rule = f"stopping_rule: {{minimum: {n}}}"
    text = STUDY.replace("stopping_rule: {minimum: 30}", rule).replace("[sim/anchored, sim/constant]", f"[{llm}]")
    cautions = plan_of(study(text), capsys).get("cautions", [])
    assert len(cautions) == (caution is not None)
    assert all(caution in said for said in cautions)


def test_a_missing_price_is_said_and_no_cost_is_made_up(study, capsys, golden):
    path = study(PRICED.replace("openai/o3", "someone/new"))
    planned = plan_of(path, capsys)
    assert planned["cost_usd"] == {"low": None, "high": None}
    assert planned["without_price"] == ["someone/new"]
    assert main(["plan", path]) == 0
    golden(capsys.readouterr().out, "No price", "someone/new")


@pytest.mark.slow("a study of 3,120 trials")
def test_collecting_does_what_was_planned_and_the_plan_then_says_so(study, capsys, golden):
    path = study(STUDY)
    assert plan_of(path, capsys)["collected"]["trials"] == 0
    assert main(["collect", path, "--max-calls", "1000"]) == 0
    golden(capsys.readouterr().out, "ended by", "1,000 calls")
    half = plan_of(path, capsys)["collected"]
    assert half["calls"] == 1000
    assert 0 < half["trials"] < 3120
    assert main(["collect", path, "--strict"]) == 0
    assert "0 left" in capsys.readouterr().out
    found = plan_of(path, capsys)["collected"]
    assert found["trials"] == 2880 + 240
    assert found["trials_of_other_plans"] == 0
    with duckdb.connect(str(study.warehouse), read_only=True) as warehouse:
        rows = warehouse.sql("select anchor_direction = 'none', count(*) from raw.trials group by all order by all")
        assert rows.fetchall() == [(False, 2880), (True, 240)]
    assert main(["collect", path]) == 0
    assert "3,120 collected before, 0 now" in capsys.readouterr().out


def test_a_changed_prompt_is_another_plan_and_the_old_trials_stay(study, capsys):
    assert main(["collect", study(STUDY.replace("minimum: 30", "minimum: 1")), "--no-load"]) == 0
    assert "104 now" in capsys.readouterr().out
    assert not study.warehouse.exists()
    changed = STUDY.replace("minimum: 30", "minimum: 1") + "answer_format: json\n"
    found = plan_of(study(changed), capsys)["collected"]
    assert found["trials"] == 0
    assert found["trials_of_other_plans"] == 2 * 4 * (1 + 12)


def test_an_endpoint_without_a_key_is_named_with_its_variable_before_anything_is_asked(study, capsys):
    assert main(["collect", study(PRICED)]) == 2
    shown = capsys.readouterr().err
    assert "OPENAI_API_KEY" in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("option", [["--max-cost", "-1"], ["--max-cost", "nan"], ["--max-calls", "0"]])
def test_a_limit_that_is_none_is_refused(study, option, capsys):
    assert main(["collect", study(STUDY), *option]) == 2
    assert option[0] in capsys.readouterr().err


def test_anchors_by_another_rule_are_asked_about_where_they_come_to_another_number(study, capsys):
    asked = STUDY.replace("minimum: 30", "minimum: 1")
    assert main(["collect", study(asked), "--no-load"]) == 0
    capsys.readouterr()
    before = plan_of(study(asked), capsys)["collected"]
    assert before["trials_of_other_plans"] == before["asked_again_for_other_words"] == 0
    found = plan_of(study(asked.replace("high: 1.5", "high: 9")), capsys)["collected"]
    assert found["trials_of_other_plans"] == found["asked_again_for_other_words"] == 2 * 4 * 6
    assert "    +anchors by another rule: " in "\n".join(found["notes"])


def said_of_families(path, capsys):
    """The sentences of a plan on families of decisions."""
    assert main(["plan", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if " of decisions (" in line]


def test_a_plan_says_which_families_are_frozen_and_what_makes_a_later_one(study, capsys, golden):
    text = STUDY.replace("minimum: 30", "minimum: 2").replace("burglary, bakery, fever, analyst", "fever")
    (new,) = said_of_families(study(text), capsys)
    golden(new)
    assert main(["collect", study(text)]) == 0
    capsys.readouterr()
    (same,) = said_of_families(study(text), capsys)
    golden(same)
    changed = text.replace("sim/constant", "openai/o3").replace(", sacd]", "]")
    (later,) = said_of_families(study(changed), capsys)
    golden(later)
    (planned, *_) = plan_of(study(changed), capsys)["families"]
    assert (planned["n_families"], planned["is_exploratory"], planned["error_at_most"]) == (2, True, 0.1)


def test_a_plan_says_that_answers_were_there_before_a_family_was_frozen(study, capsys, golden):
    text = STUDY.replace("minimum: 30", "minimum: 2").replace("burglary, bakery, fever, analyst", "fever")
    assert main(["collect", study(text), "--no-load"]) == 0
    spool = study.warehouse.parent / "spool" / "warehouse" / "small" / "collected.jsonl"
    older = [json.loads(line) for line in spool.read_text().splitlines()]
    older = [{key: of for key, of in line.items() if key not in ("families", "before_first_call")} for line in older]
    spool.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in older))
    capsys.readouterr()
    (late,) = said_of_families(study(text), capsys)
    golden(late)


def test_what_is_left_of_a_dialogue_that_was_cut_is_the_rest_of_it(study, capsys, monkeypatch):
    mine = "techniques: [{technique: mine, turns: ['{opening}', 'And now?', 'Sure?']}]"
    rule = "stopping_rule: {minimum: 10}"
    text = PRICED.replace("techniques: [no_technique]", mine)
    path = study(text.replace("stopping_rule: {minimum: 10, maximum: 20, sd_above: 1}", rule))
    with Endpoint(lambda request: answer(request, f"Answer: {request.number}")) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-tests")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        for n_calls in (4, 7, 49):
            assert main(["collect", path, "--no-load", "--max-calls", str(n_calls)]) == 0
            capsys.readouterr()
            planned = plan_of(path, capsys)
            assert planned["collected"]["calls"] + planned["left"]["calls"]["low"] == 60
        assert planned["left"]["trials"] == planned["left"]["calls"] == {"low": 0, "high": 0}


def test_a_session_that_ends_early_says_that_as_many_trials_are_left_as_the_plan(study, capsys):
    path = study(STUDY.replace("minimum: 30", "minimum: 10"))
    assert main(["collect", path, "--no-load", "--max-calls", "20"]) == 0
    said = capsys.readouterr().out
    left = plan_of(path, capsys)["left"]["trials"]["low"]
    assert left > 960  # of which nobody could be asked yet, since their anchors hang on the baselines
    assert f"1,040 trials planned, 0 collected before, {1040 - left:,} now, {left:,} left" in said


def test_a_plan_says_which_answers_are_to_what_an_item_said_before(study, capsys):
    rents = [{"item": f"r{n}", "flat": f"a flat of {n} rooms"} for n in (1, 2, 3)]
    vignette = {
        "vignette": "rent", "domain": "housing", "response_unit": "EUR", "case": "{flat}", "anchor": "{anchor} EUR",
        "question": "Which rent?", "items": {"rows": rents},
    }  # fmt: skip
    llms = [{"llm": "sim/me", "simulated": {"baselines": {"rent": 800}, "pull": 0.5, "noise": 0.1}}]
    rule = {"study": "rents", "llms": llms, "techniques": ["no_technique"], "stopping_rule": {"minimum": 10}}
    content = rule | {"vignettes": [vignette], "anchors": {"fixed": {"low": 400, "high": 1200}}}
    assert main(["collect", study(json.dumps(content)), "--no-load"]) == 0
    rents[0]["flat"] = "a house"
    path = study(json.dumps(content))
    capsys.readouterr()
    assert main(["plan", path]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "90 trials of this plan, 30 of them to what items said before they were changed" in said


def test_a_plan_says_what_is_left_to_pay_by_a_sum_done_by_hand(study, capsys, monkeypatch, golden):
    monkeypatch.setattr(planning, "read_prices", lambda: {"openai/o3": (2.0, 8.0)})
    path = study(PRICED)
    whole = plan_of(path, capsys)
    sums = ("trials", "calls", "tokens_in", "tokens_out", "cost_usd", "hours")
    assert whole["left"] == {what: whole[what] for what in sums}
    with Endpoint(lambda request: answer(request, f"Answer: {request.number}")) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-tests")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        assert main(["collect", path, "--no-load", "--max-calls", "13"]) == 0
        capsys.readouterr()
        left = plan_of(path, capsys)["left"]
        # 13 of two cells of 10 to 20 trials are there; a question is 5 tokens, a reply 60 to 800
        assert (left["trials"], left["calls"]) == ({"low": 7, "high": 27}, {"low": 7, "high": 27})
        assert left["tokens_in"] == {"low": 35, "high": 135}
        assert left["tokens_out"] == {"low": 420, "high": 21_600}
        assert left["cost_usd"]["high"] == pytest.approx((135 * 2 + 21_600 * 8) / 1e6)
        assert main(["plan", path]) == 0
        golden("\n".join(capsys.readouterr().out.splitlines()[:3]))
        # the SD of 10 different answers exceeds 1, so that what is there says that both cells are topped up
        assert main(["collect", path, "--no-load", "--max-calls", "7"]) == 0
        capsys.readouterr()
        assert plan_of(path, capsys)["left"]["trials"] == {"low": 20, "high": 20}
        assert main(["collect", path, "--no-load"]) == 0
        capsys.readouterr()
        assert plan_of(path, capsys)["left"]["cost_usd"] == {"low": 0, "high": 0}


def test_cells_that_vary_too_little_to_be_topped_up_are_not_left_to_pay(study, capsys):
    path = study(STUDY.replace("{minimum: 30}", "{minimum: 3, maximum: 9, sd_above: 1000000}"))
    assert main(["collect", path, "--no-load"]) == 0
    capsys.readouterr()
    planned = plan_of(path, capsys)
    assert planned["trials"]["high"] == 3 * planned["collected"]["trials"] > 0
    assert planned["left"]["trials"] == {"low": 0, "high": 0}
