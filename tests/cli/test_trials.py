import contextlib
import csv
import io
import json
import shutil
from datetime import UTC, datetime

import duckdb
import pytest

from bais.main import main
from bais.transcript import mark
from ingest.land.raw import TABLES
from tests.tools.contracts import insert, make_tables

AT = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
NASTY = "\x1b[31mred\x07 \u202eback <script>\nAnswer: 24"
TRIALS = [
    # trial_id, study, source, batch, technique, status, response recorded, text, line
    ("aa01", "s", "collected", "s/case/1", "sacd", None, None, NASTY, None),
    ("aa02", "s", "collected", "s/case/1", "no_technique", None, None, "I cannot recommend a number.", None),
    ("bb01", "s", "recorded", "s/case/1", "premortem", None, 78.0, "Scored 78/100.\n\n**135**",
     {"turns": ["120", "Many reasons.", "Scored 78/100.\n\n**135**"], "anchor": 130}),
    ("bb02", "s", "recorded", "s/case/1", "premortem", None, 12.0, None, {"sentenceMonths": 12}),
    ("cc01", "s", "recorded", "s/case/1", "no_technique", None, 30.0, "30", None),
    ("dd01", "s", "collected", "s/case/2", "no_technique", None, None, "Between 100 and 120 months.", None),
    ("ee01", "made-up", "simulated", "s/case/3", "no_technique", None, None, "**24**", None),
]  # fmt: skip

RELATIONS = (
    *(f"raw.{name}" for name in TABLES), "seeds.llm_aliases", "seeds.flag_reasons", "intermediate.int_trials_read",
    "marts.trials", "marts.quarantined_trials", "marts.parse_disagreements",
)  # fmt: skip
# what a build would make of `raw`
ROWS = """
insert into intermediate.int_trials_read by name
    select
        trial_id, 'vendor/a' as llm, 'judicial' as domain, 'months' as response_unit,
        'answered' as status_if_reparsed, response_recorded as number_if_reparsed, paradigm, arm, item, role, judged
    from raw.trials;
insert into marts.trials by name
    select
        trial_id, batch_id, study, 'vendor/a' as llm, 'judicial' as domain, vignette, technique,
        anchor_direction, anchor_value, temperature,
        case trial_id when 'aa02' then 'refused' when 'bb02' then 'unparsed' else 'answered' end as status,
        case when trial_id in ('aa01', 'ee01') then 24::double when trial_id = 'bb01' then 78::double end as response,
        coalesce(response_recorded, response) as response_recorded,
        case trial_id when 'aa01' then 36::double end as first_response, 'months' as response_unit,
        20::double as baseline,
        5 * response as percent_of_baseline,
        case trial_id when 'aa02' then 'refused' when 'bb02' then 'no_text' end as reason, response_text,
        case trial_id when 'bb01' then 'cut' else 'whole' end as text_kept, asked_at,
        source, source_file, source_line
    from raw.trials where trial_id not in ('cc01', 'dd01');
insert into marts.quarantined_trials by name
    select
        trial_id, batch_id, study, 'vendor/a' as llm, 'judicial' as domain, vignette, technique, anchor_direction,
        anchor_value, temperature, 'answered' as status, response_recorded, first_response, 20::double as baseline,
        'other_prompt' as flag_reasons, response_text, asked_at, source, source_file, source_line
    from raw.trials where trial_id = 'cc01';
insert into marts.parse_disagreements by name
    select 'bb01' as trial_id, 78 as response_recorded, 135 as response_reparsed, 'answered' as status_reparsed;
"""


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("trials") / "some.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as made:
        make_tables(made, *RELATIONS)
        insert(made, "seeds.llm_aliases", alias="a-alias", llm="vendor/a")
        for reason, severity, sentence in (
            ("other_prompt", "quarantined", "The prompt is another version"),
            ("equals_anchor", "suspect", "The answer is the anchor"),
        ):
            insert(made, "seeds.flag_reasons", reason=reason, severity=severity, sentence=sentence)
        for trial_id, study, source, batch, technique, status, recorded, text, line in TRIALS:
            insert(
                made, "raw.trials", trial_id=trial_id, study=study, source=source, batch_id=batch, vignette="case",
                technique=technique, llm_recorded="a-alias", anchor_direction="high", anchor_value=36.0,
                temperature=0.7, status_recorded=status, response_recorded=recorded, response_text=text,
                line=json.dumps(line) if line else None, asked_at=AT, source_file="some.jsonl", source_line=7,
                first_text="Answer: 36" if trial_id == "aa01" else None,
            )  # fmt: skip
        for turn, attempt, text, error, usd in (
            (0, 1, None, "timeout", None),
            (0, 2, "Answer: 36", None, 0.001),
            (1, 1, NASTY, None, 0.002),
        ):
            insert(
                made, "raw.calls", call_id=f"aa01-{turn}-{attempt}", trial_id="aa01", study="s", turn=turn,
                attempt=attempt, step="initial" if turn == 0 else "answer", round=turn, prompt_hash=f"p{turn}",
                requested_model="vendor/a", returned_model="vendor/a-0203", upstream_provider="somewhere",
                tokens_in=100, tokens_out=20, latency_s=1.25, cost_usd=usd, finish_reason=None if error else "stop",
                error=error, response_text=text,
            )  # fmt: skip
        for i in (0, 1):
            insert(
                made, "raw.prompts", study="s", prompt_hash=f"p{i}", prompt_kind="message", text=f"Question {i}?"
            )  # fmt: skip
        for batch, verdict in (("s/case/1", "passed_with_warnings"), ("s/case/2", "failed"), ("s/case/3", "passed")):
            insert(
                made, "raw.batch_verdicts", verdict_id=f"v-{batch}", batch_id=batch, verdict=verdict, n_trials=5,
                checked_at=AT, ordinal=1,
            )  # fmt: skip
        for name, passed, sample in (("refused", True, []), ("equals_anchor", False, ["aa01"])):
            insert(
                made, "raw.batch_checks", verdict_id="v-s/case/1", batch_id="s/case/1", check_name=name, level="warn",
                is_passed=passed, sample=sample,
            )  # fmt: skip
        for trial_id, reason, severity in (
            ("aa01", "equals_anchor", "suspect"),
            ("cc01", "other_prompt", "quarantined"),
        ):
            insert(
                made, "raw.flagged_trials", verdict_id="v-s/case/1", batch_id="s/case/1", trial_id=trial_id,
                severity=severity, reason=reason, detail="36", flagged_at=AT, ordinal=1,
            )  # fmt: skip
        made.execute(ROWS)
    return path


@pytest.fixture
def warehouse(made_once, tmp_path, monkeypatch):
    path = shutil.copy(made_once, tmp_path / "some.duckdb")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return path


@pytest.fixture
def change(warehouse):
    """Run SQL that changes the warehouse before a command reads it."""

    def run(sql):
        with contextlib.closing(duckdb.connect(str(warehouse))) as made:
            made.execute(sql)

    return run


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def ask(warehouse, capsys):
    """Run a command, which must succeed, and return its stdout."""

    def asked(*arguments):
        assert run(*arguments) == 0
        return capsys.readouterr().out

    return asked


@pytest.fixture
def refused(warehouse, capsys):
    """Run a command, which must refuse, and return why, in one line."""

    def asked(*arguments):
        assert run(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        (why,) = err.splitlines()
        return why.removeprefix("bais: ")

    return asked


@pytest.fixture
def ids(ask):
    """Run `bais trials` and return which trials it lists."""

    def listed(*arguments):
        out = ask("trials", "--format", "csv", *arguments)
        return [row["trial_id"] for row in csv.DictReader(io.StringIO(out, newline=""))]

    return listed


def test_the_transcript_goes_turn_by_turn_with_the_numbers_marked(ask):
    out = ask("trial", "aa01")
    parts = [
        "── turn 1, initial",
        "no answer: timeout",
        "attempt 2",
        "Answer: »36«",
        "── turn 2, answer",
        "Answer: »24«",
    ]
    places = [out.index(part) for part in parts]
    assert places == sorted(places)
    assert out.count("Question 0?") == 1
    assert "Question 1?" in out


def test_a_trial_is_shown_from_what_was_asked_to_what_became_of_it(ask, monkeypatch, golden):
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: 80)
    golden(ask("trial", "aa01"))


def test_trials_are_listed(ask, golden):
    golden(ask("trials", "--llm", "vendor/a"))


def test_without_a_condition_a_table_is_of_the_newest_real_study_and_csv_of_all(ask, ids, change, capsys, golden):
    change(
        "insert into marts.trials by name select * replace (study || '-2' as study, trial_id || '2' as trial_id, "
        "asked_at + interval 1 day as asked_at) from marts.trials;"
        "update marts.trials set asked_at = asked_at + interval 1 year where source = 'simulated'"
    )
    listed = [line.split()[0] for line in ask("trials").splitlines()[2:]]
    assert listed == ["aa012", "aa022", "bb012", "bb022"]
    assert run("trials", "--limit", "1") == 0
    golden(capsys.readouterr().err)
    assert len(ids()) == 10
    change("delete from marts.trials where source != 'simulated'")
    golden(ask("trials"))


def test_a_list_of_trials_fits_a_screen(change, capsys, golden):
    change(
        "insert into marts.trials by name select trials.* replace (trial_id || n as trial_id, "
        "'a-vendor-of-llms/an-llm-with-a-long-name-' || n as llm, 'a_domain_with_a_long_name' as domain, "
        "'a_technique_with_a_long_name' as technique, 'out_of_range' as status) from marts.trials, range(30) as t (n)"
    )
    assert run("trials") == 0
    out, err = capsys.readouterr()
    lines = (out + err).splitlines()
    assert (len(lines) <= 20, max(map(len, lines)) <= 80) == (True, True), out
    golden(out.splitlines()[3])


def test_what_a_trial_came_to_is_said_with_its_units(ask):
    out = ask("trial", "aa01")
    for words in ("response        24 months", "first response  36 months", "baseline        20 months", "120.0 %"):
        assert words in out
    assert "vendor/a (recorded as a-alias)" in out
    assert "some.jsonl, line 7" in out


def test_the_calls_are_listed_with_what_they_cost(ask):
    out = ask("trial", "aa01")
    assert "vendor/a → vendor/a-0203" in out
    assert "Total: 3 calls, 0.003000 USD" in out
    found = json.loads(ask("trial", "aa01", "--json"))
    assert [(call["turn"], call["attempt"], call["cost_usd"]) for call in found["calls"]] == [
        (0, 1, None), (0, 2, 0.001), (1, 1, 0.002)
    ]  # fmt: skip


def test_a_cost_that_is_not_known_is_null_with_a_reason(ask, change):
    found = json.loads(ask("trial", "bb01", "--json"))
    assert (found["cost_usd"], found["cost_reason"]) == (None, "calls_not_recorded")
    change("update raw.calls set cost_usd = null where turn = 1")
    found = json.loads(ask("trial", "aa01", "--json"))
    assert (found["cost_usd"], found["cost_reason"]) == (None, "price_not_known")


def test_nothing_that_an_llm_wrote_acts_on_the_terminal(ask):
    for command in (["trial", "aa01"], ["trials"], ["trials", "--all"]):
        out = ask(*command)
        assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert r"\x1b[31mred" in ask("trial", "aa01")


def test_json_keeps_the_text_as_it_is_and_says_where_the_number_stands(ask):
    found = json.loads(ask("trial", "aa01", "--json"))
    reply = found["turns"][-1]
    assert reply["reply"] == NASTY
    ((start, end),) = reply["marks"]
    assert NASTY[start:end] == "24"


def test_a_recorded_number_that_the_text_does_not_state_is_marked_and_said(ask, golden):
    out = ask("trial", "bb01")
    assert "Scored »78«/100." in out
    golden(out, "78", "135")
    golden(out, "replies")
    golden(out, "last reply")
    assert "only the beginning" not in ask("trial", "aa01")
    assert [line.strip() for line in out.splitlines()].count("120") == 1


def test_a_recording_without_text_says_so_and_shows_its_line(ask, golden):
    out = ask("trial", "bb02")
    golden(out, "no text")
    assert '{"sentenceMonths": 12}' in out
    assert "unparsed (no_text)" in out


@pytest.mark.parametrize(
    ("text", "unit", "marked"),
    [
        ("I considered 36 months. I set **24** months (not 36 months).", "months", ["24"]),
        ("24 prior thefts. Case 24. Answer: 24", "months", ["24"]),
        ("24 months, case 121", "months", ["24"]),
        ("Twelve months, not thirty-six.", "months", ["Twelve months"]),
        ("Between 18 and 24 months; the prosecutor demands 36.", "months", ["18", "24"]),
        ("\u5224\u5904\uff12\uff14\u4e2a\u6708", "months", ["\uff12\uff14"]),
        ("$130,000, and not the $58k anchor figure.", "thousand USD", ["130,000"]),
        ("18 or 24 months", "months", []),
    ],
)
def test_what_the_reader_has_read_is_marked_and_nothing_else(text, unit, marked):
    turns = [{"turn": 1, "reply": text}]
    mark(turns, {"response_text": text, "first_text": None, "source": "collected"}, unit, None, None)
    assert [text[start:end] for start, end in turns[0]["marks"]] == marked
    assert turns[0]["marks"] == [] or turns[0]["marks"][-1][0] == text.rindex(marked[-1])


def test_both_ends_of_a_range_are_marked(ask):
    assert "Between »100« and »120« months." in ask("trial", "dd01")


def test_a_quarantined_trial_says_that_it_is_kept_out_and_why(ask, golden):
    out = ask("trial", "cc01")
    golden(out, "QUARANTINED")
    golden(out, "36", "other_prompt")
    golden(out, "30 months")


def test_a_trial_of_an_unpublished_batch_is_shown_all_the_same(ask, golden):
    out = ask("trial", "dd01")
    assert "NOT PUBLISHED" in out
    golden(out, "batch: ")
    golden(out, "110 months")
    assert json.loads(ask("trial", "dd01", "--json"))["held_back"] == "not_published"


def test_a_trial_can_be_shown_before_anything_is_built(ask, change):
    change("drop schema marts cascade; drop schema seeds cascade; drop schema intermediate cascade")
    assert "Answer: »24«" in ask("trial", "aa01")


def test_the_checks_say_what_was_met_and_what_not(ask, change, golden):
    out = ask("trial", "aa01")
    golden(out, "1 of 2", "2 checks")
    golden(out, "equals_anchor")
    golden(ask("trial", "bb01"), "2 checks")
    change(
        "insert into raw.gate_acts (act_id, object, object_id, act, who, why, acted_at, ordinal) "
        "values ('x', 'trial', 'aa01', 'release', 'ada', 'read by hand', '2026-03-01', 9)"
    )
    golden(ask("trial", "aa01"), "ada")


def test_the_prompt_of_a_recorded_trial_is_shown_where_its_archive_keeps_it(ask, change):
    assert "not the prompts" in ask("trial", "bb01")
    change("update raw.trials set prompt_hash = 'p1' where trial_id = 'bb01'")
    asked = ask("trial", "bb01")
    assert "Question 1?" in asked
    assert "not the prompts" not in asked


def test_a_simulated_trial_cannot_be_mistaken_for_an_llms(ask, golden):
    golden(ask("trial", "ee01"), "ee01", "SIMULATED")
    golden(ask("trials", "--study", "made-up"), "SIMULATED")
    assert "SIMULATED" not in ask("trials", "--study", "s")


def test_a_beginning_that_no_other_trial_has_is_enough(ask):
    assert ask("trial", "cc").startswith("Trial cc01")


def test_a_beginning_of_several_trials_lists_them(refused, golden):
    golden(refused("trial", "aa"), "aa01", "aa02")


def test_an_unknown_trial_is_said_to_be_unknown(refused, golden):
    golden(refused("trial", "z\x1b"), r"z\x1b")
    golden(refused("trial", "%"))


def test_on_a_terminal_the_number_is_bold_unless_colours_are_not_wanted(ask, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

        def reconfigure(self, **how):
            pass

    def shown():
        terminal = Terminal()
        with contextlib.redirect_stdout(terminal):
            run("trial", "aa01")
        return terminal.getvalue()

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1m»24«\x1b[0m" in shown()
    assert max(map(len, shown().splitlines())) <= 70
    monkeypatch.setenv("NO_COLOR", "1")
    assert "»24«" in shown()
    assert "\x1b" not in shown()


def test_a_trial_in_the_version_that_claims_are_about_is_shown_and_listed_where_asked_for(ask, ids, change):
    listed = ids()
    change(
        "insert into marts.trials from marts.trials select * replace ('s@v1' as study, trial_id || '@v1' as trial_id) "
        "where trial_id = 'aa01'; update marts.trials set response = 35 where trial_id = 'aa01@v1'"
    )
    assert ids() == listed
    assert ids("--study", "s@v1") == ["aa01@v1"]
    assert json.loads(ask("trial", "aa01", "--json"))["response"] == 24
    found = json.loads(ask("trial", "aa01@v1", "--json"))
    assert (found["trial_id"], found["response"]) == ("aa01", 35)


def test_filters_are_combined_with_and(ids):
    assert ids() == ["aa02", "bb01", "bb02", "aa01", "ee01"]
    assert ids("--study", "s", "--technique", "premortem", "--status", "answered") == ["bb01"]
    assert ids("--llm", "a-alias", "--direction", "high", "--domain", "judicial", "--where", "response > 24") == [
        "bb01"
    ]


def test_a_condition_of_two_alternatives_does_not_undo_a_filter(ids):
    assert ids("--study", "s", "--where", "trial_id = 'aa01' or trial_id = 'ee01'") == ["aa01"]
    assert ids("--study", "s", "--where", "trial_id = 'aa01' -- or all") == ["aa01"]


@pytest.mark.parametrize("condition", ["true) or (true", "true /*", "true) union all (from marts.trials where (true"])
def test_a_condition_cannot_get_around_a_filter(refused, condition):
    assert refused("trials", "--study", "s", "--where", condition).startswith("the condition ")


def test_a_trial_of_an_older_version_says_so(ask, warehouse, golden):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        make_tables(made, "intermediate.int_prompts_outdated")
        insert(
            made, "intermediate.int_prompts_outdated", batch_id="s/case/2", technique="no_technique",
            vignette_version=1, highest_of_vignette=2, technique_version=3, highest_of_technique=4,
        )  # fmt: skip
    golden(ask("trials", "--all", "--where", "trial_id = 'dd01'"))
    found = json.loads(ask("trials", "--all", "--format", "json", "--where", "reason = 'older_version'"))
    assert [trial["trial_id"] for trial in found] == ["dd01"]
    assert "OLDER VERSION" in ask("trial", "dd01")
    assert json.loads(ask("trial", "dd01", "--json"))["reason"] == "older_version"


def test_what_is_held_back_is_listed_where_asked_for(ids, ask, golden):
    assert {"cc01", "dd01"} == set(ids("--all")) - set(ids())
    assert set(ids("--all", "--where", "held_back is not null")) == {"cc01", "dd01"}
    out = ask("trials", "--all")
    assert "quarantined: other_prompt" in out
    golden(out, "its batch")


def test_a_limit_keeps_the_first_and_says_how_many_there_are(warehouse, capsys, golden):
    assert run("trials", "--llm", "vendor/a", "--limit", "2") == 0
    out, err = capsys.readouterr()
    assert "aa02" in out
    assert "bb02" not in out
    golden(err, "2 of 5")


@pytest.mark.parametrize(
    "condition",
    [
        "true limit 1", "true order by 1", "true; drop table raw.trials", "true) or (true",
        "true union all select 1", "", "response >",
        "nosuch = 1", "response > 'much'", "max(response) > 3", "status = 'answered', true", "\ud800",
        "trial_id in (insert into raw.trials values (1) returning 1)",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_in_one_line(refused, condition):
    assert refused("trials", "--where", condition).startswith("the condition ")


@pytest.mark.parametrize("function", ["read_text('{}')", "read_csv('{}')", "glob('{}')", "'{}'"])
def test_a_condition_reads_no_other_file(refused, tmp_path, function):
    secret = tmp_path / "secret.csv"
    secret.write_text("trial_id\naa01\n")
    refused("trials", "--where", f"exists (select 1 from {function.format(secret)})")


def test_a_condition_writes_nothing(refused, warehouse, tmp_path):
    before = warehouse.read_bytes()
    for condition in (f"true; copy raw.trials to '{tmp_path}/out.csv'", "true; delete from raw.trials"):
        refused("trials", "--where", condition)
    assert warehouse.read_bytes() == before
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--status", "refuse"],
        ["--direction", "up"],
        ["--study", "made_up"],
        ["--llm", "vendor/b"],
        ["--technique", "SACD"],
        ["--limit", "-1"],
    ],
    ids=" ".join,
)
def test_what_there_is_not_is_answered_by_what_there_is(refused, arguments, golden):
    golden(refused("trials", *arguments))


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_table_fits_the_terminal(ask, monkeypatch, columns):
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: columns)
    out = ask("trials", "--study", "s")
    assert max(map(len, out.splitlines())) <= columns
    assert not out.startswith("── 1")
