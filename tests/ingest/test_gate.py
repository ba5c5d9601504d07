"""The gate: a clean batch passes in silence, each fault is caught and named, and nothing leaks before its verdict."""

import collections
import contextlib
import csv
import functools
import json
import re
import shutil
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pytest

from ingest.archives.voder_bais import ARCHIVE
from ingest.bring.importer import import_archive
from ingest.gate import acts, models
from ingest.gate import audit as gate
from ingest.gate import suite as suite_module
from ingest.run import render_verdicts
from ingest.warehouse import ROOT, UserError, warehouse_path
from tests.ingest.faults import FAULTS, NUMBER, SIZES, beside_clean, inject, load_clean, named, opened
from tests.tools.stand_ins import thresholds_without_great_expectations

with open(ROOT / "seeds" / "flag_reasons.csv", encoding="utf-8", newline="") as file:
    SEVERITIES = {row["reason"]: row["severity"] for row in csv.DictReader(file)}
CHECKS = gate.read_config()["checks"]
NEEDS = ("great expectations",)
N_SEEDS = 10
MATRIX = pytest.mark.slow("every fault in every shape of study")
ARCHIVED = pytest.mark.slow("imports the recorded archive")


def unmet(verdict):
    """From the checks that a batch does not meet to the row that says so."""
    return {check["check_name"]: check for check in verdict.checks if not check["is_passed"]}


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
    """The verdicts on clean studies of each shape, and on what the growing ones brought later."""
    with elsewhere("clean") as patch:
        patch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
        for seed in range(N_SEEDS):
            for shape, minimum in {"single": 8, "broad": 2, "growing": 5}.items():
                load_clean(shape, seed, minimum, without=("calls",))
        verdicts = gate.audit()
        for seed in range(N_SEEDS):
            load_clean("growing", seed, 9, without=("calls",))
        return verdicts + gate.audit()


@pytest.mark.slow("studies of each shape with several seeds")
def test_a_clean_batch_passes_without_a_warning_or_a_flag_whatever_the_seed(clean):
    assert len(clean) == N_SEEDS * (1 + 1 + 2 + 2)
    assert [(v.batch_id, unmet(v)) for v in clean if v.verdict != "passed"] == []
    assert [(v.batch_id, v.n_flagged) for v in clean if v.n_flagged] == []


# Faults, one at a time


@pytest.fixture(scope="module")
def faulty(elsewhere):
    """Each fault at each size in each shape of study: what is due and what the gate said."""
    with elsewhere("faulty") as patch:
        for shape, minimum in {"single": 40, "broad": 10, "growing": 12, "archive": 10}.items():
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
        patch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
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


@MATRIX
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_with_the_right_reason_in_every_shape_of_study(faulty, name):
    fault = FAULTS[name]
    for shape in named(fault.shapes):
        for size in named(fault.sizes):
            case = faulty[name, shape, size]
            assert is_caught(case, fault), (shape, size, case.verdict.verdict, case.unmet)


@MATRIX
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


@MATRIX
def test_whatever_is_wrong_with_rows_is_flagged_by_row_and_innocent_rows_are_not(faulty):
    n = collections.Counter()
    for (name, _, size), case in faulty.items():
        fault = FAULTS[name]
        if case.due is not None and size in named(fault.sizes):
            flagged = set(case.flagged[fault.reason])
            n.update(faulted=len(case.due), flagged=len(flagged & case.due), innocent=len(flagged - case.due))
    assert n["faulted"] > 3000
    # where half a cell is wrong by what is usual in it, it may be the other half
    assert n["flagged"] >= 0.99 * n["faulted"], n
    assert n["innocent"] <= 0.01 * n["faulted"], n


def test_only_what_is_not_there_or_a_whole_cell_has_no_row_to_flag():
    assert set(CHECKS) - set(SEVERITIES) == {
        "no_baseline", "below_minimum", "rerun_until_enough", "removed_rows", "removed_llms",
        "unparsed_of_batch", "no_answer", "other_name", "readings_apart",
    }  # fmt: skip
    assert {name for name, fault in FAULTS.items() if not fault.flags} == {
        "fewer trials than the minimum", "an LLM without baselines",
    }  # fmt: skip


@MATRIX
def test_as_many_rows_are_flagged_as_a_check_of_rows_says_are_offending(faulty):
    # these count in all cells, and flag in those that are above the threshold
    of_cells = {"refused", "unparsed", "failed", "upstream_providers"}
    n_compared = 0
    for case in faulty.values():
        for name in case.unmet.keys() & (SEVERITIES.keys() - of_cells):
            assert len(case.flagged[name]) == case.unmet[name]["n_offending"], (case.batch_id, name)
            n_compared += 1
    assert n_compared > 300


@MATRIX
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_taken_for_nothing_that_it_is_not(faulty, name):
    also = [{*c.unmet, *c.flagged} - {FAULTS[name].reason} for (of, _, _), c in faulty.items() if of == name]
    assert set().union(*also) <= set(named(FAULTS[name].also))


@MATRIX
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
        patch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
        load_clean("single", 1, 10, study="single")
        with beside_clean() as warehouse:
            batch_id, _ = inject(warehouse, FAULTS["temperature 7"], "20 %", "single", "hot", seed=1)
        assert [v.verdict for v in gate.audit([batch_id], config)] == ["failed"]
        config["checks"]["temperature_out_of_range"]["fail"] = 1e9
        assert [v.verdict for v in gate.audit([batch_id], config)] == ["passed"]


# Verdicts


@pytest.fixture(scope="module")
def loaded_small(elsewhere):
    """The path of a warehouse with a clean batch without a verdict, and one with a fault."""
    with elsewhere("small"):
        load_clean("single", 1, 10, study="single")
        with beside_clean() as connection:
            inject(connection, FAULTS["answers of 1"], "20 %", "single", "ones", seed=1)
        return warehouse_path()


@pytest.fixture
def small(loaded_small, warehouse):
    """The path of a copy of it."""
    warehouse.parent.mkdir()
    return shutil.copy(loaded_small, warehouse)


@pytest.fixture(scope="module")
def audited_small(loaded_small, elsewhere):
    """The path of the warehouse with a clean and a faulty batch, both audited, and their verdicts."""
    with elsewhere("audited-small"):
        path = shutil.copy(loaded_small, warehouse_path())
        return path, gate.audit()


@pytest.fixture
def audited(audited_small, warehouse):
    """The verdicts in a copy of it."""
    path, verdicts = audited_small
    warehouse.parent.mkdir()
    shutil.copy(path, warehouse)
    return verdicts


def test_each_setting_of_the_config_is_read_and_what_models_read_is_set():
    config, models_of_gate = gate.read_config(), (ROOT / "models" / "gate").glob("*.sql")
    read = {name for path in models_of_gate for name in re.findall(r"getvariable\('(\w+)'\)", path.read_text("utf-8"))}
    assert read == {*config["settings"], *config["score_settings"], "drift_z"} - {"drift_p"}


@pytest.mark.slow("audits with Great Expectations")
def test_great_expectations_says_what_the_thresholds_say(audited, monkeypatch):
    first = audited
    monkeypatch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
    again = gate.audit([verdict.batch_id for verdict in first])
    assert sorted(v.verdict for v in first) == ["passed", "passed_with_warnings"]

    def said(verdicts):
        return sorted(
            (check["batch_id"], check["check_name"], check["level"], check["is_passed"], check["observed_value"])
            for verdict in verdicts
            for check in verdict.checks
        )

    assert said(first) == said(again)


def test_the_named_suite_has_an_expectation_for_each_check_by_severity():
    suite_module.checkpoint(CHECKS, "gate_of_trials")
    suite_module.checkpoint({}, "gate_of_scores")
    _, context, *_ = suite_module.great_expectations()
    found = {
        (one.column, one.severity.value, one.max_value) for one in context.suites.get("gate_of_trials").expectations
    }
    severities = {"warn": "warning", "fail": "critical"}
    assert found == {
        (name, severity, check[level])
        for name, check in CHECKS.items()
        for level, severity in severities.items()
        if check[level] is not None
    }
    assert [action.type for action in context.checkpoints.get("gate_of_trials").actions] == ["keep_verdict"]


def test_every_expectation_of_the_config_has_a_row_with_what_was_observed(audited, query):
    due = {(name, level) for name, check in CHECKS.items() for level in ("warn", "fail") if check[level] is not None}
    rows = query("select verdict_id, check_name, level, threshold, observed_value from raw.batch_checks")
    for verdict in audited:
        of_verdict = {row[1:3]: row[3:] for row in rows if row[0] == verdict.verdict_id}
        assert set(of_verdict) == due
        for (name, level), (threshold, observed) in of_verdict.items():
            assert threshold == CHECKS[name][level]
            assert observed is not None


def test_a_batch_is_audited_once_unless_it_is_named(audited, query):
    assert gate.audit() == []
    assert [v.batch_id for v in gate.audit([audited[0].batch_id])] == [audited[0].batch_id]
    assert query("select count(*) from raw.batch_verdicts") == [(3,)]
    with pytest.raises(UserError, match="there is no batch nobodys"):
        gate.audit(["nobodys"])


@pytest.mark.slow("audits in slices and at once")
def test_trials_that_are_read_in_slices_are_read_as_all_of_them_at_once(small, monkeypatch):
    def read():
        with gate.beside(small) as memory:
            made = gate.gate_models(memory, gate.batches_to_audit(memory, None), gate.read_config())
            return memory.sql(f"from {made.ref('gate_trials')} order by trial_id").fetchall()

    at_once = read()
    monkeypatch.setattr(models, "SLICE", 7)
    assert len(at_once) == 40
    assert read() == at_once


def broken(kind, check, levels):
    """Make Great Expectations lose a check: its observed value, all its numbers, or the whole result."""
    real = gate.checkpoint

    def make(checks, name):
        judge = real(checks, name)

        def without(frame):
            if kind == "numbers":
                frame[check] = float("nan")
            results = judge(frame)
            for level in levels:
                if kind == "value":
                    results[check, level] = None
                elif kind == "result":
                    del results[check, level]
            return results

        return without

    return make


@pytest.mark.slow("audits with each kind of expectation at fault")
@pytest.mark.parametrize(("check", "levels"), [("backwards", ["warn"]), ("duplicate", ["fail", "warn"])])
@pytest.mark.parametrize("kind", ["value", "numbers", "result"])
def test_an_expectation_that_returns_nothing_turns_the_gate_red(small, monkeypatch, query, kind, check, levels):
    monkeypatch.setattr(gate, "checkpoint", broken(kind, check, levels))
    verdicts = gate.audit()
    assert {verdict.verdict for verdict in verdicts} == {"failed"}
    assert all(f"FAILED {check}" in line for line in render_verdicts(verdicts))
    said = "the check gave no observed value: the gate itself has failed"
    for verdict in verdicts:
        assert query(
            "select level, is_passed, observed_value, detail from raw.batch_checks "
            f"where check_name = '{check}' and verdict_id = '{verdict.verdict_id}' order by level"
        ) == [(level, False, None, said) for level in levels]


def test_a_crash_while_it_is_written_leaves_no_half_verdict(small, monkeypatch, query):
    monkeypatch.setattr(gate, "_write_flags", lambda *_: pa.table({"not_a_column": [1]}))
    with pytest.raises(UserError):
        gate.audit()
    for table in ("batch_verdicts", "batch_checks", "flagged_trials"):
        assert query(f"select count(*) from raw.{table}") == [(0,)]
    monkeypatch.undo()


@pytest.fixture(scope="module")
def loaded_growing(elsewhere):
    """The path of a warehouse with two batches of each vignette, without verdicts."""
    with elsewhere("growing"):
        for minimum in (12, 30):
            load_clean("growing", 1, minimum, study="growing")
        return warehouse_path()


@pytest.fixture
def drifted(loaded_growing, warehouse):
    """The ids of two batches of one vignette, the earlier one first, without verdicts; in the later a cell drifted."""
    warehouse.parent.mkdir()
    shutil.copy(loaded_growing, warehouse)
    with opened() as connection:
        found = connection.execute("select batch_id from raw.batches where vignette = 'fever' order by loaded_at")
        earlier, later = (row[0] for row in found.fetchall())
        connection.execute(
            f"update raw.trials set response_text = 'Answer: ' || round({NUMBER} * 1.5) where batch_id = ? "
            "and llm_recorded = 'sim/level' and technique = 'premortem' and anchor_direction = 'low'",
            [later],
        )
    return earlier, later


@pytest.mark.slow("audits again and again")
def test_batches_are_audited_in_the_order_in_which_they_were_loaded_however_many_wait(drifted):
    earlier, later = drifted
    for batch_ids in (None, [later, earlier]):
        verdicts = [verdict for verdict in gate.audit(batch_ids) if verdict.vignette == "fever"]
        assert [(verdict.batch_id, set(unmet(verdict))) for verdict in verdicts] == [
            (earlier, set()),
            (later, {"drift"}),
        ]


@pytest.mark.slow("audits again and again")
def test_a_batch_is_not_compared_with_what_was_loaded_after_it(drifted):
    gate.audit()
    (verdict,) = gate.audit([drifted[0]])
    assert (verdict.verdict, verdict.n_flagged) == ("passed", {})


@pytest.mark.slow("audits again and again")
def test_a_crash_in_a_later_round_keeps_the_verdicts_of_the_rounds_before(drifted, monkeypatch):
    def flags(memory, verdicts, *others):
        is_last = drifted[1] in [verdict.batch_id for verdict in verdicts]
        return pa.table({"not_a_column": [1]}) if is_last else usual(memory, verdicts, *others)

    usual = gate._write_flags
    monkeypatch.setattr(gate, "_write_flags", flags)
    with pytest.raises(UserError):
        gate.audit()
    verdicts = {verdict["batch_id"]: verdict["vignette"] for verdict in acts.last_verdicts()}
    assert drifted[0] in verdicts
    assert sorted(verdicts.values()) == ["burglary", "fever"]


def test_the_numbers_of_a_case_are_its_ordinals_too_but_no_piece_of_a_longer_number(small):
    entry = {"vignette": "shoplifting", "case": "Her 12th theft, on the 2,400th day after her 3rd. 5.5 7,8"}
    with opened() as warehouse:
        warehouse.execute("update raw.batches set definition = ?", [json.dumps({"vignettes": [entry]})])
    path = warehouse_path()
    with gate.beside(path) as memory:
        gate.gate_models(memory, gate.batches_to_audit(memory, None), gate.read_config())
        assert set(memory.execute("select case_numbers from gate_batches").fetchall()[0][0]) == {12, 2400, 3, 5.5, 7}


@pytest.mark.parametrize(("unit", "numbers"), [("dollars", {130000, 7}), ("thousand USD", {130000, 130, 7})])
def test_a_number_of_the_case_is_read_with_its_thousands_comma_and_in_the_unit_of_the_answers(small, unit, numbers):
    entry = {"vignette": "shoplifting", "case": "An offer of $130,000, after 7 interviews."}
    with opened() as warehouse:
        warehouse.execute(
            "update raw.batches set definition = ?, response_unit = ?", [json.dumps({"vignettes": [entry]}), unit]
        )
    with gate.beside(warehouse_path()) as memory:
        gate.gate_models(memory, gate.batches_to_audit(memory, None), gate.read_config())
        assert set(memory.execute("select case_numbers from gate_batches").fetchall()[0][0]) == numbers


def test_a_technique_that_the_study_itself_defines_is_no_unknown_one(small):
    with opened() as warehouse:
        warehouse.execute(
            "update raw.trials set technique = 'own'; update raw.batches set definition = "
            """json_merge_patch(definition, '{"techniques": [{"technique": "own"}]}')"""
        )
    assert not any("unknown_technique" in unmet(verdict) for verdict in gate.audit())


# Recorded archives


@pytest.fixture(scope="module")
def loaded_recording(elsewhere):
    """The path of a warehouse with a recorded archive of which nobody knows the protocol, without a verdict."""
    with elsewhere("recording"):
        load_clean("archive", 1, 10, study="archive")
        return warehouse_path()


@pytest.fixture
def recording(loaded_recording, warehouse, monkeypatch):
    """The path of a copy of it."""
    monkeypatch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
    warehouse.parent.mkdir()
    shutil.copy(loaded_recording, warehouse)
    return warehouse


def change(sql):
    with opened() as warehouse:
        return warehouse.execute(sql).fetchall()


def split_off(condition, minutes):
    """Put trials of the archive into a batch of their own, loaded so many minutes after the other."""
    change(
        "insert into raw.batches by name select * replace ('other' as batch_id, loaded_at "
        f"+ interval ({minutes}) minute as loaded_at, ordinal + ({minutes}) as ordinal) from raw.batches; "
        f"update raw.trials set batch_id = 'other' where {condition}"
    )


def trials_where(condition):
    return {row[0] for row in change(f"select trial_id from raw.trials where {condition}")}


def flags_of(reason):
    """The trials that the last verdicts flag for a reason."""
    return {
        row[0]
        for row in change(
            f"select trial_id from raw.flagged_trials semi join ({gate.query_of('stg_batch_verdicts')}) "
            f"using (verdict_id) where reason = '{reason}'"
        )
    }


HIT = "llm_recorded = 'openai/o3' and technique = 'premortem' and anchor_direction = 'high'"


AGAIN = functools.partial(pytest.param, marks=pytest.mark.slow("audits again and again"))
IN_EITHER_ORDER = pytest.mark.parametrize(
    "minutes",
    [AGAIN(None), 1, AGAIN(-1)],
    ids=["in one batch", "later", "earlier"],
)


@IN_EITHER_ORDER
def test_an_unknown_llm_gets_the_same_verdict_whatever_the_order_of_batches(recording, minutes):
    change("update raw.trials set llm_recorded = 'acme/unheard-of' where llm_recorded = 'openai/o3'")
    due = trials_where("llm_recorded = 'acme/unheard-of'")
    if minutes:
        split_off("llm_recorded = 'acme/unheard-of'", minutes)
    verdicts = gate.audit()
    assert {(v.verdict, *unmet(v)) for v in verdicts if unmet(v)} == {("passed_with_warnings", "new_llm")}
    assert flags_of("new_llm") == due


@IN_EITHER_ORDER
def test_where_nobody_knows_the_protocol_the_rarer_anchor_is_the_other_one_whatever_the_order(recording, minutes):
    due = trials_where(f"{HIT} order by replicate limit 9")
    hit = f"trial_id in {tuple(due)}"
    change(f"update raw.trials set anchor_value = anchor_value + 1 where {hit}")
    if minutes:
        split_off(hit, minutes)
    gate.audit()
    assert flags_of("other_anchor") == due
    n_verdicts = change("select count(*), count(distinct batch_id) from raw.batch_verdicts")
    assert n_verdicts == [(2, 2) if minutes else (1, 1)]


@IN_EITHER_ORDER
def test_the_anchor_that_departs_from_the_protocol_is_the_other_one_even_where_most_have_it(recording, minutes):
    change("update raw.trials set study = 'voder-bais'; update raw.batches set study = 'voder-bais'")
    due = trials_where(f"{HIT} order by replicate limit 20")
    hit = f"trial_id in {tuple(due)}"
    change(f"update raw.trials set anchor_value = anchor_value + 1 where {hit}")
    if minutes:
        split_off(hit, minutes)
    gate.audit()
    assert flags_of("other_anchor") == due
    assert flags_of("anchor_factor") == set()


@pytest.mark.slow("audits again and again")
def test_an_anchor_at_another_factor_than_the_archives_is_flagged_in_each_row_even_where_all_have_it(recording, golden):
    change("update raw.trials set study = 'voder-bais'; update raw.batches set study = 'voder-bais'")
    change("update raw.trials set anchor_value = round(anchor_value * 1.3) where anchor_direction = 'high'")
    (verdict,) = gate.audit()
    due = trials_where("anchor_direction = 'high'")
    assert flags_of("anchor_factor") == due
    golden(unmet(verdict)["anchor_factor"]["detail"], "1.5")


def test_an_archive_that_gave_each_llm_the_same_anchors_has_no_odd_factors(recording):
    change("update raw.trials set anchor_value = if(anchor_direction = 'low', 20, 60) where anchor_value is not null")
    due = trials_where(f"{HIT} order by replicate limit 3")
    change(f"update raw.trials set anchor_value = 70 where trial_id in {tuple(due)}")
    gate.audit()
    assert flags_of("anchor_factor") == due


def test_of_a_copy_beside_its_original_each_row_is_flagged_and_of_the_original_none(recording):
    change(
        "update raw.trials set source_file = 'a.jsonl', source_line = 1; insert into raw.trials by name "
        "select * replace (md5(trial_id) as trial_id, 'b.jsonl' as source_file) from raw.trials"
    )
    gate.audit()
    assert flags_of("duplicate") == trials_where("source_file = 'b.jsonl'")


@pytest.mark.slow("audits again and again")
def test_what_was_loaded_again_is_the_copy_whichever_hash_sorts_first(recording):
    gate.audit()
    change(
        "insert into raw.trials by name select * replace (md5(trial_id) as trial_id, 'again' as batch_id, "
        "'0.jsonl' as source_file) from raw.trials; insert into raw.batches by name "
        "select * replace ('again' as batch_id, ordinal + 60 as ordinal) from raw.batches"
    )
    gate.audit()
    assert flags_of("duplicate") == trials_where("batch_id = 'again'")


ONE_CELL = "llm_recorded = 'openai/o3' and technique = 'premortem' and anchor_direction = 'high'"


def copy_with_new_run_numbers(condition):
    """Write lines again under other run numbers, as a file of their own; return the copies."""
    change(
        "insert into raw.trials by name select * replace (md5(trial_id) as trial_id, 'copy.jsonl' as source_file, "
        "replicate + 1000 as replicate, "
        "replace(line, concat('\"run\":', replicate), concat('\"run\":', replicate + 1000)) as line) "
        f"from raw.trials where {condition}"
    )
    return trials_where("source_file = 'copy.jsonl'")


@pytest.fixture
def runs(recording):
    """The recording as lines with run numbers and latencies, without times; of one cell all runs say the same."""
    change(
        "update raw.trials set asked_at = null, source_file = 'a.jsonl', source_line = order_index, "
        "line = json_object('run', replicate, 'latency', 1 + order_index / 1000); "
        f"update raw.trials set response_text = 'Answer: 24', response_recorded = 24 where {ONE_CELL}"
    )
    return recording


@pytest.mark.slow("audits again and again")
def test_lines_that_agree_in_all_but_the_run_number_are_copies_also_where_they_have_no_times(runs):
    copies = copy_with_new_run_numbers(f"{ONE_CELL} and replicate < 3")
    gate.audit()
    assert flags_of("duplicate") == copies
    assert len(copies) == 9  # three runs of each temperature


@pytest.mark.slow("audits again and again")
def test_runs_that_say_the_same_and_took_different_times_are_no_copies(runs):
    gate.audit()
    assert flags_of("duplicate") == set()


@pytest.mark.parametrize("time", ["null", "timestamptz '2026-01-02 03:04:05.678Z'"], ids=["no time", "one for all"])
def test_runs_of_which_only_the_run_number_says_that_they_are_several_are_no_copies(runs, time):
    change(f"update raw.trials set asked_at = {time}, line = json_object('run', replicate)")
    gate.audit()
    assert flags_of("duplicate") == set()


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_a_long_text_again_is_a_copy_but_at_temperature_0(runs, temperature):
    change(
        "update raw.trials set line = json_object('run', replicate), "
        "response_text = repeat('I weigh the case of run ' || order_index || '. ', 20) || 'Answer: 24'"
    )
    copies = copy_with_new_run_numbers(f"{ONE_CELL} and temperature = {temperature} and replicate < 3")
    gate.audit()
    assert flags_of("duplicate") == (copies if temperature else set())


def test_lines_with_ids_of_their_own_are_no_copies_whatever_else_they_agree_in(recording):
    change(
        "update raw.trials set asked_at = '2026-01-02 03:04:05Z', replicate = 1, response_text = 'Answer: 24', "
        "response_recorded = 24, line = json_object('id', order_index + 1, 'epoch', 1)"
    )
    gate.audit()
    assert flags_of("duplicate") == set()


@pytest.mark.parametrize(("provider", "is_another"), [("local", False), ("openai", True)])
@pytest.mark.slow("audits again and again")
def test_an_llm_on_this_machine_answers_under_its_own_name_whatever_its_folder_is_called(small, provider, is_another):
    change(
        "update raw.batches set definition = json_merge_patch(definition, json_object('llms', [json_object("
        f"'llm', 'sim/one', 'model', 'weights/a-folder', 'provider', '{provider}')])); "
        "update raw.trials set llm_returned = llm_recorded"
    )
    verdict, *_ = gate.audit()
    assert ("other_model" in unmet(verdict)) == is_another


UNANSWERED = "update raw.trials set status_recorded = 'failed', response_recorded = null, response_text = null where "


def test_a_batch_without_an_answer_fails(recording):
    change(UNANSWERED + "true")
    (verdict,) = gate.audit()
    assert verdict.verdict == "failed"
    assert [name for name, check in unmet(verdict).items() if check["level"] == "fail"] == ["no_answer"]


@pytest.mark.parametrize(("n", "fails"), [AGAIN(4, False), (5, True)])
@pytest.mark.slow("audits again and again")
def test_fewer_than_five_unanswered_trials_that_follow_answers_do_not_fail(recording, n, fails):
    few = f"trial_id in (select trial_id from raw.trials order by trial_id limit {n})"
    change(UNANSWERED + few)
    split_off(few, minutes=5)
    (verdict,) = [verdict for verdict in gate.audit() if verdict.batch_id == "other"]
    assert ("no_answer" in unmet(verdict)) == fails


@pytest.mark.slow("audits again and again")
def test_an_llm_without_a_baseline_is_named_though_nobody_knows_whether_its_anchors_are_low_or_high(recording, golden):
    change(
        "delete from raw.trials where llm_recorded = 'openai/o3' and anchor_direction != 'high'; "
        "update raw.trials set anchor_direction = null where llm_recorded = 'openai/o3'"
    )
    (verdict,) = gate.audit()
    golden(unmet(verdict)["no_baseline"]["detail"], "openai/o3")


@pytest.mark.parametrize("is_earlier", [AGAIN(False), True], ids=["of this audit", "of an earlier one"])
@pytest.mark.slow("audits again and again")
def test_a_quarantined_number_does_not_tell_which_anchors_are_low(recording, is_earlier):
    unanchored = "llm_recorded = 'openai/o3' and technique = 'no_technique' and anchor_value is null"
    change(
        "update raw.trials set anchor_direction = null where anchor_value is not null; "
        "insert into raw.trials by name select * exclude (n) replace (trial_id || n as trial_id, 7 as temperature, "
        "'Answer: 115' as response_text, 115 as response_recorded, replicate + 1000 * n as replicate) "
        f"from raw.trials cross join range(1, 9) as numbers (n) where {unanchored}"
    )
    if is_earlier:
        split_off(f"{unanchored} and temperature = 7 or trial_id in (select trial_id from raw.trials limit 9)", -1)
        gate.audit(["other"])
        acts.decide("accept", "other", WHY, WHO)
    with gate.beside(warehouse_path()) as memory:
        made = gate.gate_models(memory, gate.batches_to_audit(memory, None), gate.read_config())
        found = memory.execute(
            f"select distinct direction, by_rule, round(baseline) < 45 from {made.ref('gate_trials')} "
            "where llm = 'openai/o3' and anchor_value > 50"
        ).fetchall()
    assert found == [("high", None, True)]


# Versions of a source


@pytest.fixture(scope="module")
def audited_recording(loaded_recording, elsewhere):
    """The path of a warehouse with the recorded archive, published."""
    with elsewhere("audited-recording") as patch:
        patch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
        path = shutil.copy(loaded_recording, warehouse_path())
        gate.audit()
        return path


@pytest.fixture
def version(audited_recording, warehouse, monkeypatch):
    """From the trials that a version of the published recording withdraws to what its verdict says."""
    monkeypatch.setattr(gate, "checkpoint", thresholds_without_great_expectations)
    warehouse.parent.mkdir()
    shutil.copy(audited_recording, warehouse)

    def audit(withdrawn, is_new="false"):
        """Audit a version that takes out some trials, and brings changed copies of others."""
        change(
            "insert into raw.trials by name select * replace ('new-' || trial_id as trial_id, 'version' as batch_id, "
            f"response_recorded + 1 as response_recorded) from raw.trials where {is_new}"
        )
        query = f"select trial_id from warehouse.raw.trials where {withdrawn}"
        monkeypatch.setattr(models, "WITHDRAWN", query)
        batch = {"batch_id": "version", "study": "archive", "vignette": "shoplifting", "n_trials": 0}
        change(
            "insert into raw.batches by name select * replace ('version' as batch_id, "
            "loaded_at + interval 1 hour as loaded_at, ordinal + 60 as ordinal) from raw.batches"
        )
        loaded_at, ordinal = change("select loaded_at, ordinal from raw.batches where batch_id = 'version'")[0]
        with gate.beside(warehouse_path()) as memory:
            landed = batch | {"loaded_at": loaded_at, "ordinal": ordinal, "is_scored": False, "defined_as": None}
            landed |= {"is_redefined": False, "was_published": False, "llm_recorded": None}
            (verdict,), _ = gate._audit(memory, [landed], gate.read_config())
        return {name: (check["observed_value"], check["detail"]) for name, check in unmet(verdict).items()}

    return audit


NOT_NEW = "batch_id != 'version'"


def test_a_version_that_only_removes_an_llm_says_so(version):
    n_trials, n_removed = change("select count(*), count(*) filter (llm_recorded = 'openai/o3') from raw.trials")[0]
    said = version("llm_recorded = 'openai/o3'")
    assert said == {
        "removed_rows": (
            pytest.approx(n_removed / n_trials),
            f"of {n_trials:,} published rows {n_removed:,} are removed: {n_removed:,} of openai/o3",
        ),
        "removed_llms": (1, "no row is left of openai/o3"),
    }


@pytest.mark.parametrize(("below", "names"), [(100, {"removed_rows"}), (90, set())])
@pytest.mark.slow("audits again and again")
def test_a_version_that_removes_a_tenth_of_the_rows_says_so_and_one_that_removes_less_does_not(version, below, names):
    n_trials = change("select count(*) from raw.trials")[0][0]
    limit = n_trials * below // 1000
    said = version(f"trial_id in (select trial_id from warehouse.raw.trials order by trial_id limit {limit})")
    assert set(said) == names


def test_a_row_that_has_another_in_its_place_is_not_removed(version):
    said = version(f"llm_recorded = 'openai/o3' and {NOT_NEW}", is_new="llm_recorded = 'openai/o3'")
    assert not {"removed_rows", "removed_llms"} & set(said)


def test_rows_that_nobody_published_are_not_missed(version):
    change(
        "insert into raw.flagged_trials by name select verdict_id, trial_id, batch_id, trials.study, 'quarantined' as "
        "severity, 'duplicate' as reason, 1 as rule_version, now() as flagged_at, ordinal from raw.trials as trials "
        "inner join raw.batch_verdicts using (batch_id) where llm_recorded = 'openai/o3'"
    )
    assert version("llm_recorded = 'openai/o3'") == {}


# What a verdict does to the marts

MARTS = ("effects", "attrition", "trials", "counts")
WHO, WHY = "Ada", "the endpoint confirmed that nothing was wrong"


def contents(warehouse):
    """Return the rows of each mart, in one order, with numbers to the digits that no order of adding changes."""
    rows = {mart: warehouse.query(f"select * from marts.{mart}") for mart in MARTS}
    return {
        mart: sorted(repr([round(value, 9) if isinstance(value, float) else value for value in row]) for row in found)
        for mart, found in rows.items()
    }


@pytest.mark.slow("builds three times")
def test_a_failed_batch_changes_no_mart_until_somebody_accepts_it(tmp_path, monkeypatch, warehouse_in):
    warehouse = warehouse_in(tmp_path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse.path))
    load_clean("growing", 1, 5, study="growing")
    assert {verdict.verdict for verdict in gate.audit()} == {"passed"}
    select = ("--select", " ".join(f"+{mart}" for mart in MARTS))
    warehouse.dbt("--quiet", "build", "--resource-type", "seed", "model", *select)
    before = contents(warehouse)

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
    assert contents(warehouse) == before
    n_raw = warehouse.query("select count(*) from raw.trials")

    fever, burglary = second["fever"].batch_id, second["burglary"].batch_id
    (hot,) = warehouse.query(f"select distinct trial_id from raw.flagged_trials where batch_id = '{fever}'")
    acts.decide("accept", fever, WHY, WHO)
    acts.decide("accept", burglary, WHY, WHO)
    (released,) = warehouse.query(f"select min(trial_id) from raw.flagged_trials where batch_id = '{burglary}'")
    acts.decide("release", released[0], "the clock was off", WHO)
    acts.decide("reject", burglary, "no, it is wrong after all", "Grace")
    acts.decide("accept", burglary, "yes, it is right", "Grace")
    warehouse.dbt("--quiet", "run", *select)
    after = contents(warehouse)
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

    history = warehouse.query("select object, object_id, act, who, why from raw.gate_acts order by ordinal")
    assert history == [
        ("batch", fever, "accept", WHO, WHY),
        ("batch", burglary, "accept", WHO, WHY),
        ("trial", released[0], "release", WHO, "the clock was off"),
        ("batch", burglary, "reject", "Grace", "no, it is wrong after all"),
        ("batch", burglary, "accept", "Grace", "yes, it is right"),
    ]
    acts.decide("reject", fever, "after all", WHO)
    published = {verdict["batch_id"]: (verdict["is_published"], verdict["act"]) for verdict in acts.last_verdicts()}
    assert (published[fever], published[burglary]) == ((False, "reject"), (True, "accept"))


@pytest.mark.parametrize(
    ("act", "object_id", "why", "said"),
    [
        ("accept", "nobodys", "because", "there is no batch nobodys"),
        ("release", "nobodys", "because", "there is no flagged trial nobodys"),
        ("accept", "single", "  ", "say why"),
    ],
)
def test_a_decision_needs_a_reason_and_something_to_decide_of(small, query, act, object_id, why, said):
    with pytest.raises(UserError, match=said):
        acts.decide(act, object_id, why, WHO)
    assert query("select count(*) from raw.gate_acts") == [(0,)]


# The recorded archive


@pytest.fixture(scope="module")
def archive_verdicts(recorded_archive, elsewhere):
    """The verdicts on the recorded archive, and its flags with their trials."""
    with elsewhere("archive"):
        import_archive(recorded_archive, ARCHIVE)
        verdicts = {(verdict.vignette, verdict.llm_recorded): verdict for verdict in gate.audit()}
        with opened() as warehouse:
            flags = warehouse.execute(
                "select reason, severity, detail, trials.* from raw.flagged_trials as flags "
                "inner join raw.trials as trials using (trial_id)"
            ).fetch_df()
    return SimpleNamespace(verdicts=verdicts, flags=flags)


@ARCHIVED
def test_the_recorded_archive_is_published_most_of_it_with_warnings(archive_verdicts):
    passed = {of_llm for of_llm, verdict in archive_verdicts.verdicts.items() if verdict.verdict == "passed"}
    assert {vignette for vignette, _ in passed} == {"medical", "salary"}
    assert {verdict.verdict for verdict in archive_verdicts.verdicts.values()} == {"passed", "passed_with_warnings"}


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


@ARCHIVED
@pytest.mark.parametrize("name", CLASSES)
def test_what_can_be_wrong_in_the_recorded_archive_is_flagged_by_trial(archive_verdicts, name):
    flags = archive_verdicts.flags  # noqa: F841
    trials = duckdb.sql(f"select trial_id, severity from flags where {CLASSES[name]}").fetchall()
    assert trials
    assert {severity for _, severity in trials} == {"quarantined" if "prompt" in name else "suspect"}


@ARCHIVED
def test_the_checks_on_the_recorded_archive_name_trials(archive_verdicts):
    told = {(vignette, name) for (vignette, _), v in archive_verdicts.verdicts.items() for name in unmet(v)}
    assert told >= {
        ("loan", "out_of_range"),
        ("salary", "out_of_range"),
        ("salary", "other_anchor"),
        ("shoplifting", "no_baseline"),
        ("salary", "rerun_until_enough"),
    }
    for verdict in archive_verdicts.verdicts.values():
        for name, check in unmet(verdict).items():
            assert check["sample"] or name == "no_baseline"


@ARCHIVED
def test_the_recorded_anchors_follow_the_archives_factors_but_for_those_of_a_second_baseline(archive_verdicts):
    flags = archive_verdicts.flags[archive_verdicts.flags["reason"].isin(["anchor_factor", "other_anchor"])]
    assert {*zip(flags["reason"], flags["vignette"], flags["llm_recorded"], flags["anchor_value"], strict=True)} == {
        ("other_anchor", "salary", "anthropic/claude-sonnet-4-5", 128),
    }
