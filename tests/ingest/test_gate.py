"""The gate: a clean batch passes in silence, each fault is caught and named, and nothing leaks before its verdict."""

import collections
import contextlib
import csv
import json
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pytest

from ingest import gate
from ingest.archives.voder_bais import ARCHIVE
from ingest.importer import import_archive
from ingest.run import render_verdict
from ingest.warehouse import ROOT, UserError, warehouse_path
from tests.ingest.faults import FAULTS, NUMBER, SIZES, beside_clean, inject, load_clean, named, opened

with open(ROOT / "seeds" / "flag_reasons.csv", encoding="utf-8", newline="") as file:
    SEVERITIES = {row["reason"]: row["severity"] for row in csv.DictReader(file)}
CHECKS = gate.read_config()["checks"]


def unmet(verdict):
    """From the checks that a batch does not meet to the row that says so."""
    return {check["check_name"]: check for check in verdict.checks if not check["is_passed"]}


def maxima_without_great_expectations():
    """Hold frames against thresholds at once, where hundreds of batches are audited; a test compares the two."""

    def validate(frame, maxima):
        return {column: (frame[column].max() <= most, float(frame[column].max())) for column, most in maxima.items()}

    return validate


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Go on in a warehouse that several tests share, with a spool beside it; back where it was when it is left."""

    @contextlib.contextmanager
    def go(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAIS_WAREHOUSE", str(tmp_path_factory.mktemp(name) / "warehouse.duckdb"))
            yield patch

    return go


# Clean batches


@pytest.fixture(scope="module")
def clean(elsewhere):
    """The verdicts on twenty clean studies of each shape, and on what the growing ones brought later."""
    with elsewhere("clean") as patch:
        patch.setattr(gate, "expectations", maxima_without_great_expectations)
        for seed in range(20):
            for shape, minimum in {"single": 8, "broad": 2, "growing": 5}.items():
                load_clean(shape, seed, minimum, without=("calls",))
        verdicts = gate.audit()
        for seed in range(20):
            load_clean("growing", seed, 9, without=("calls",))
        return verdicts + gate.audit()


def test_a_clean_batch_passes_without_a_warning_or_a_flag_whatever_the_seed(clean):
    assert len(clean) == 20 * (1 + 1 + 2 + 2)
    assert [(v.batch_id, unmet(v)) for v in clean if v.verdict != "passed"] == []
    assert [(v.batch_id, v.n_flagged) for v in clean if v.n_flagged] == []


# Faults, one at a time


@pytest.fixture(scope="module")
def faulty(elsewhere):
    """Each fault at each size in each shape of study: what is due and what the gate said."""
    with elsewhere("faulty") as patch:
        for shape, minimum in {"single": 40, "broad": 10, "growing": 12}.items():
            load_clean(shape, 1, minimum, study=shape)
        first = gate.audit()
        load_clean("growing", 1, 30, study="growing")
        assert {verdict.verdict for verdict in [*first, *gate.audit()]} == {"passed"}
        cases = {}
        with beside_clean() as warehouse:
            for number, (name, fault) in enumerate(FAULTS.items()):
                for shape in named(fault.shapes):
                    for size in named(fault.tried):
                        study = f"{shape}-{number}-{list(SIZES).index(size)}"
                        batch_id, flagged = inject(warehouse, fault, size, shape, study, seed=2)
                        cases[name, shape, size] = SimpleNamespace(batch_id=batch_id, due=flagged, flagged={})
        patch.setattr(gate, "expectations", maxima_without_great_expectations)
        verdicts = {verdict.batch_id: verdict for verdict in gate.audit()}
        flags = collections.defaultdict(lambda: collections.defaultdict(dict))
        with opened() as warehouse:
            for batch_id, reason, trial_id, severity in warehouse.execute(
                "select batch_id, reason, trial_id, severity from raw.flagged_trials"
            ).fetchall():
                flags[batch_id][reason][trial_id] = severity
        for case in cases.values():
            case.verdict, case.flagged = verdicts[case.batch_id], flags[case.batch_id]
            case.unmet = unmet(case.verdict)
        return cases


def is_caught(case, fault):
    return case.verdict.verdict != "passed" and fault.reason in case.unmet


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_with_the_right_reason_in_every_shape_of_study(faulty, name):
    fault = FAULTS[name]
    for shape in named(fault.shapes):
        for size in named(fault.sizes):
            case = faulty[name, shape, size]
            assert is_caught(case, fault), (shape, size, case.verdict.verdict, case.unmet)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.flags])
def test_the_trials_that_a_fault_hit_are_flagged_and_no_others(faulty, name):
    fault, n_compared = FAULTS[name], 0
    for shape in named(fault.shapes):
        for size in named(fault.sizes):
            if size == "50 %" and not fault.is_absolute:
                continue  # what is usual in the cell is not known then
            case = faulty[name, shape, size]
            assert case.flagged[fault.reason] == dict.fromkeys(case.due, SEVERITIES[fault.reason]), (shape, size)
            n_compared += 1
    assert n_compared


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_taken_for_nothing_that_it_is_not(faulty, name):
    also = [{*c.unmet, *c.flagged} - {FAULTS[name].reason} for (of, _, _), c in faulty.items() if of == name]
    assert set().union(*also) <= set(named(FAULTS[name].also))


def test_a_larger_fault_is_caught_at_least_as_often(faulty):
    caught = {size: [] for size in SIZES}
    for (name, _, size), case in faulty.items():
        if FAULTS[name].tried.startswith("1 row"):
            caught[size].append(is_caught(case, FAULTS[name]))
    shares = [sum(of) / len(of) for of in caught.values()]
    assert shares == sorted(shares)
    assert shares[0] > 0.8
    assert shares[-1] == 1


def test_a_check_that_is_taken_away_lets_its_fault_through(elsewhere):
    config = gate.read_config()
    with elsewhere("without") as patch:
        patch.setattr(gate, "expectations", maxima_without_great_expectations)
        load_clean("single", 1, 10, study="single")
        with beside_clean() as warehouse:
            batch_id, _ = inject(warehouse, FAULTS["temperature 7"], "20 %", "single", "hot", seed=1)
        assert [v.verdict for v in gate.audit([batch_id], config)] == ["failed"]
        config["checks"]["temperature_out_of_range"]["fail"] = 1e9
        assert [v.verdict for v in gate.audit([batch_id], config)] == ["passed"]


# Verdicts


@pytest.fixture
def small(warehouse):
    """A clean batch without a verdict, and one with a fault."""
    load_clean("single", 1, 10, study="single")
    with beside_clean() as connection:
        inject(connection, FAULTS["answers of 1"], "20 %", "single", "ones", seed=1)
    return warehouse


def test_great_expectations_says_what_the_maxima_of_the_columns_say(small, monkeypatch):
    first = gate.audit()
    monkeypatch.setattr(gate, "expectations", maxima_without_great_expectations)
    again = gate.audit([verdict.batch_id for verdict in first])
    assert sorted(v.verdict for v in first) == ["passed", "passed_with_warnings"]

    def said(verdicts):
        return sorted(
            (check["batch_id"], check["check_name"], check["level"], check["is_passed"], check["observed_value"])
            for verdict in verdicts
            for check in verdict.checks
        )

    assert said(first) == said(again)


def test_every_expectation_of_the_config_has_a_row_with_what_was_observed(small, query):
    verdicts = gate.audit()
    due = {(name, level) for name, check in CHECKS.items() for level in ("warn", "fail") if check[level] is not None}
    rows = query("select verdict_id, check_name, level, threshold, observed_value from raw.batch_checks")
    for verdict in verdicts:
        of_verdict = {row[1:3]: row[3:] for row in rows if row[0] == verdict.verdict_id}
        assert set(of_verdict) == due
        for (name, level), (threshold, observed) in of_verdict.items():
            assert threshold == CHECKS[name][level]
            assert observed is not None


def test_a_batch_is_audited_once_unless_it_is_named(small, query):
    verdicts = gate.audit()
    assert gate.audit() == []
    assert [v.batch_id for v in gate.audit([verdicts[0].batch_id])] == [verdicts[0].batch_id]
    assert query("select count(*) from raw.batch_verdicts") == [(3,)]
    with pytest.raises(UserError, match="there is no batch nobodys"):
        gate.audit(["nobodys"])


def broken(kind, columns):
    """Make Great Expectations lose columns: their observed value, all their numbers, or the whole result."""
    real = gate.expectations

    def make():
        validate = real()

        def without(frame, maxima):
            if kind == "numbers":
                frame[columns] = float("nan")
            results = validate(frame, maxima)
            for column in columns:
                if kind == "value":
                    results[column] = (True, None)
                elif kind == "result":
                    del results[column]
            return results

        return without

    return make


@pytest.mark.parametrize(("check", "levels"), [("backwards", ["warn"]), ("duplicate", ["fail", "warn"])])
@pytest.mark.parametrize("kind", ["value", "numbers", "result"])
def test_an_expectation_that_returns_nothing_turns_the_gate_red(small, monkeypatch, query, kind, check, levels):
    monkeypatch.setattr(gate, "expectations", broken(kind, [f"{check}/{level}" for level in levels]))
    verdicts = gate.audit()
    assert {verdict.verdict for verdict in verdicts} == {"failed"}
    assert all(f"FAILED {check}" in render_verdict(verdict) for verdict in verdicts)
    said = "the check gave no observed value: the gate itself has failed"
    for verdict in verdicts:
        assert query(
            "select level, is_passed, observed_value, detail from raw.batch_checks "
            f"where check_name = '{check}' and verdict_id = '{verdict.verdict_id}' order by level"
        ) == [(level, False, None, said) for level in levels]


def test_a_crash_while_it_is_written_leaves_no_half_verdict(small, monkeypatch, query):
    monkeypatch.setattr(gate, "_flags", lambda *_: pa.table({"not_a_column": [1]}))
    with pytest.raises(UserError):
        gate.audit()
    for table in ("batch_verdicts", "batch_checks", "flagged_trials"):
        assert query(f"select count(*) from raw.{table}") == [(0,)]
    monkeypatch.undo()


@pytest.fixture
def drifted(warehouse):
    """The ids of two batches of one vignette, the earlier one first, without verdicts; in the later a cell drifted."""
    for minimum in (12, 30):
        load_clean("growing", 1, minimum, study="growing")
    with opened() as connection:
        found = connection.execute("select batch_id from raw.batches where vignette = 'fever' order by loaded_at")
        earlier, later = (row[0] for row in found.fetchall())
        connection.execute(
            f"update raw.trials set response_text = 'Answer: ' || round({NUMBER} * 1.5) where batch_id = ? "
            "and llm_recorded = 'sim/level' and technique = 'premortem' and anchor_direction = 'low'",
            [later],
        )
    return earlier, later


def test_batches_are_audited_in_the_order_in_which_they_were_loaded_however_many_wait(drifted):
    earlier, later = drifted
    for batch_ids in (None, [later, earlier]):
        verdicts = [verdict for verdict in gate.audit(batch_ids) if verdict.vignette == "fever"]
        assert [(verdict.batch_id, set(unmet(verdict))) for verdict in verdicts] == [
            (earlier, set()),
            (later, {"drift"}),
        ]


def test_a_batch_is_not_compared_with_what_was_loaded_after_it(drifted):
    gate.audit()
    (verdict,) = gate.audit([drifted[0]])
    assert (verdict.verdict, verdict.n_flagged) == ("passed", {})


def test_a_crash_in_a_later_round_keeps_the_verdicts_of_the_rounds_before(drifted, monkeypatch):
    def flags(memory, verdicts, config):
        return pa.table({"not_a_column": [1]}) if drifted[1] in verdicts else usual(memory, verdicts, config)

    usual = gate._flags
    monkeypatch.setattr(gate, "_flags", flags)
    with pytest.raises(UserError):
        gate.audit()
    verdicts = {verdict["batch_id"]: verdict["vignette"] for verdict in gate.last_verdicts()}
    assert drifted[0] in verdicts
    assert sorted(verdicts.values()) == ["burglary", "fever"]


def test_the_numbers_of_a_case_are_its_ordinals_too_but_no_piece_of_a_longer_number(small):
    entry = {"vignette": "shoplifting", "case": "Her 12th theft, on the 2,400th day after her 3rd. 5.5 7,8"}
    with opened() as warehouse:
        warehouse.execute("update raw.batches set definition = ?", [json.dumps({"vignettes": [entry]})])
    path = warehouse_path()
    with gate._beside(path) as memory:
        gate.gate_models(memory, gate._batches_to_audit(memory, None), gate.read_config())
        assert set(memory.execute("select case_numbers from gate_batches").fetchall()[0][0]) == {12, 2, 3, 5.5, 7}


# What a verdict does to the marts

MARTS = ("technique_rankings", "attrition", "trials", "response_counts")
WHO, WHY = "Ada", "the endpoint confirmed that nothing was wrong"


def checksums(warehouse):
    return {mart: warehouse.query(f"select count(*), bit_xor(hash(m)) from marts.{mart} as m") for mart in MARTS}


def test_a_failed_batch_changes_no_mart_until_somebody_accepts_it(tmp_path, monkeypatch, warehouse_in):
    warehouse = warehouse_in(tmp_path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse.path))
    load_clean("growing", 1, 5, study="growing")
    assert {verdict.verdict for verdict in gate.audit()} == {"passed"}
    select = ("--select", " ".join(f"+{mart}" for mart in MARTS))
    warehouse.dbt("--quiet", "build", "--resource-type", "seed", "model", *select)
    before = checksums(warehouse)

    load_clean("growing", 1, 9, study="growing")
    with opened() as connection:
        connection.execute(
            "update raw.trials set temperature = 7 where trial_id in (select min(trial_id) from raw.trials "
            "anti join raw.batch_verdicts using (batch_id) where vignette = 'fever')"
        )
        connection.execute(
            "update raw.trials set temperature = 7, asked_at = null where batch_id not in "
            "(select batch_id from raw.batch_verdicts) and vignette = 'burglary'"
        )
    second = {verdict.vignette: verdict for verdict in gate.audit()}
    assert {vignette: verdict.verdict for vignette, verdict in second.items()} == {
        "burglary": "failed", "fever": "failed",
    }  # fmt: skip
    warehouse.dbt("--quiet", "run", *select)
    assert checksums(warehouse) == before
    n_raw = warehouse.query("select count(*) from raw.trials")

    fever, burglary = second["fever"].batch_id, second["burglary"].batch_id
    (hot,) = warehouse.query(f"select distinct trial_id from raw.flagged_trials where batch_id = '{fever}'")
    gate.decide("accept", fever, WHY, WHO)
    gate.decide("accept", burglary, WHY, WHO)
    (released,) = warehouse.query(f"select min(trial_id) from raw.flagged_trials where batch_id = '{burglary}'")
    gate.decide("release", released[0], "the clock was off", WHO)
    gate.decide("reject", burglary, "no, it is wrong after all", "Grace")
    gate.decide("accept", burglary, "yes, it is right", "Grace")
    warehouse.dbt("--quiet", "run", *select)
    after = checksums(warehouse)
    assert all(after[mart] != before[mart] for mart in MARTS)
    of_second = warehouse.query(
        f"select batch_id, count(*) from marts.trials where batch_id in ('{fever}', '{burglary}') "
        "group by all order by all"
    )
    assert of_second == [(burglary, 1), (fever, second["fever"].n_trials - 1)]
    there = {row[0] for row in warehouse.query("select trial_id from marts.trials")}
    assert released[0] in there
    assert hot[0] not in there
    assert warehouse.query("select count(*) from raw.trials") == n_raw

    history = warehouse.query("select object, object_id, act, who, why from raw.gate_acts order by acted_at")
    assert history == [
        ("batch", fever, "accept", WHO, WHY),
        ("batch", burglary, "accept", WHO, WHY),
        ("trial", released[0], "release", WHO, "the clock was off"),
        ("batch", burglary, "reject", "Grace", "no, it is wrong after all"),
        ("batch", burglary, "accept", "Grace", "yes, it is right"),
    ]
    gate.decide("reject", fever, "after all", WHO)
    published = {verdict["batch_id"]: (verdict["is_published"], verdict["act"]) for verdict in gate.last_verdicts()}
    assert (published[fever], published[burglary]) == ((False, "reject"), (True, "accept"))


@pytest.mark.parametrize(
    ("act", "object_id", "why", "said"),
    [
        ("accept", "nobodys", "because", "there is no audited batch nobodys"),
        ("release", "nobodys", "because", "there is no flagged trial nobodys"),
        ("accept", "single", "  ", "say why"),
    ],
)
def test_a_decision_needs_a_reason_and_something_to_decide_of(small, query, act, object_id, why, said):
    with pytest.raises(UserError, match=said):
        gate.decide(act, object_id, why, WHO)
    assert query("select count(*) from raw.gate_acts") == [(0,)]


# The recorded archive


@pytest.fixture(scope="module")
def archive_verdicts(recorded_archive, elsewhere):
    """The verdicts on the recorded archive, and its flags with their trials."""
    with elsewhere("archive"):
        import_archive(recorded_archive, ARCHIVE)
        verdicts = {verdict.vignette: verdict for verdict in gate.audit()}
        with opened() as warehouse:
            flags = warehouse.execute(
                "select reason, severity, detail, trials.* from raw.flagged_trials as flags "
                "inner join raw.trials as trials using (trial_id)"
            ).fetch_df()
    return SimpleNamespace(verdicts=verdicts, flags=flags)


def test_the_recorded_archive_is_published_with_warnings(archive_verdicts):
    verdicts = {vignette: verdict.verdict for vignette, verdict in archive_verdicts.verdicts.items()}
    assert verdicts == dict.fromkeys(("shoplifting", "loan", "salary", "medical"), "passed_with_warnings")


# FACTS.md, section 1, "What can be wrong inside a numeric response": SQL on a flag and its trial
CLASSES = {
    "a number of the case's text was taken: the test score": "reason = 'reading_differs' and response_recorded = 78",
    "the number of a refusal was taken": "reason = 'reading_differs' and detail like '%refused'",
    "the applicant's revenue was taken": "reason = 'reading_differs' and response_recorded = 420",
    "the anchor was taken": "reason = 'equals_anchor'",
    "the defence's 1 month was taken": "reason = 'at_most_one'",
    "the 12 of the 12th offence was taken": "reason = 'equals_case_number' and response_recorded = 12",
    "a flag was not refreshed": "reason = 'stale_flag' and detail like 'outOfRange is true%'",
    "a row is of an older prompt": "reason = 'other_prompt' and severity = 'quarantined'",
    "a baseline was read by its first integer": "reason = 'reading_differs' and anchor_value is null",
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_can_be_wrong_in_the_recorded_archive_is_flagged_by_trial(archive_verdicts, name):
    flags = archive_verdicts.flags  # noqa: F841
    trials = duckdb.sql(f"select trial_id, severity from flags where {CLASSES[name]}").fetchall()
    assert trials
    assert {severity for _, severity in trials} == {"quarantined" if "prompt" in name else "suspect"}


def test_the_checks_on_the_recorded_archive_name_trials(archive_verdicts):
    told = {(vignette, name) for vignette, v in archive_verdicts.verdicts.items() for name in unmet(v)}
    assert told >= {
        ("loan", "out_of_range"),
        ("salary", "out_of_range"),
        ("salary", "other_anchor"),
        ("salary", "anchor_factor"),
        ("medical", "anchor_factor"),
        ("shoplifting", "no_baseline"),
        ("salary", "rerun_until_enough"),
    }
    for verdict in archive_verdicts.verdicts.values():
        for name, check in unmet(verdict).items():
            assert check["sample"] or name == "no_baseline"
