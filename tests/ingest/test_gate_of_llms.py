"""What the gate finds by LLM and cell: another question, another unit, the same answers, a change, what was cut off."""

import collections
import contextlib
import shutil

import duckdb
import pytest

from ingest.bring.mapping import Given
from ingest.gate import audit as gate
from ingest.land.versions import Version
from ingest.run import land_folder, render_verdicts
from ingest.warehouse import warehouse_path
from tests.tools.small_archive import lines_of, write_archive

pytestmark = pytest.mark.slow("an archive audited anew for each error")

LOOKED_FOR = (
    "another_question", "another_unit", "far_off", "same_answers", "changed_midway", "reversed", "cut_off",
    "collapsed_repeats",
)  # fmt: skip
O3 = "llm_recorded = 'openai/o3'"
FACTOR = "response_recorded = round(response_recorded {}, 1)"

# what is done to the archive, the reason that names it, and the trials that it is due for
ERRORS = {
    "two techniques exchanged": (
        "update raw.trials set technique = if(technique = 'premortem', 'devils_advocate', 'premortem') "
        f"where {O3} and technique in ('premortem', 'devils_advocate')",
        "another_question", f"{O3} and technique in ('premortem', 'devils_advocate')",
    ),
    "a few labels wrong": (
        f"update raw.trials set technique = 'premortem' where {O3} and technique = 'devils_advocate' and replicate = 3",
        "another_question", f"{O3} and prompt_hash = 'hash-of-devils-advocate' and replicate = 3",
    ),
    "a baseline asked with an anchor": (
        f"update raw.trials set prompt_hash = 'hash-of-low-anchor' where {O3} and anchor_direction = 'none'",
        "another_question", f"{O3} and anchor_direction = 'none'",
    ),
    "years": (f"update raw.trials set {FACTOR.format('/ 12')} where {O3}", "another_unit", O3),
    "a cell in years at one temperature": (
        f"update raw.trials set {FACTOR.format('/ 12')} where {O3} and technique = 'premortem' and temperature = 0",
        "another_unit", f"{O3} and technique = 'premortem' and temperature = 0",
    ),
    "thirty times, in a technique": (
        f"update raw.trials set {FACTOR.format('* 30')} where {O3} and technique = 'premortem'",
        "another_unit", f"{O3} and technique = 'premortem'",
    ),
    "far off by no factor": (
        f"update raw.trials set {FACTOR.format('* 316')} where {O3} and technique = 'premortem'",
        "far_off", f"{O3} and technique = 'premortem'",
    ),
    "the cold answers are the hot ones": (
        "update raw.trials set response_recorded = hot.response_recorded from raw.trials as hot "
        f"where trials.{O3} and hot.{O3} and trials.temperature = 0 and hot.temperature = 1 "
        "and trials.technique = hot.technique and trials.anchor_value is not distinct from hot.anchor_value "
        "and trials.replicate = hot.replicate",
        "same_answers", f"{O3} and temperature = 0",
    ),
    "answers of another LLM": (
        "update raw.trials set response_recorded = other.response_recorded from raw.trials as other "
        f"where trials.{O3} and other.llm_recorded = 'z-ai/glm-5' and trials.temperature = other.temperature "
        "and trials.technique = other.technique and trials.replicate = other.replicate "
        "and (trials.anchor_value < 40) is not distinct from (other.anchor_value < 30)",
        "same_answers", "llm_recorded in ('openai/o3', 'z-ai/glm-5')",
    ),
    "runs copied to the end of a cell": (
        "update raw.trials set response_recorded = early.response_recorded from raw.trials as early "
        f"where trials.{O3} and early.{O3} and trials.temperature = 1 and early.temperature = 1 "
        "and trials.technique = early.technique "
        "and trials.anchor_value is not distinct from early.anchor_value and trials.replicate = early.replicate + 10",
        "same_answers", f"{O3} and temperature = 1 and replicate >= 10",
    ),
    "another LLM from the 16th run on": (
        f"update raw.trials set response_recorded = response_recorded + 12 where {O3} and replicate >= 15",
        "changed_midway", f"{O3} and replicate >= 15",
    ),
    "low and high exchanged": (
        "update raw.trials set anchor_direction = case anchor_direction when 'low' then 'high' when 'high' then 'low' "
        f"end, anchor_value = 72 - anchor_value, prompt_hash = null where {O3} and anchor_value is not null",
        "reversed", f"{O3} and anchor_value is not null",
    ),
    "what is high is cut off": (
        f"delete from raw.trials where {O3} and response_recorded > 40",
        "cut_off", O3,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """The path of a warehouse with a clean archive of four LLMs, without verdicts."""
    folder = tmp_path_factory.mktemp("of-llms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(folder / "w.duckdb"))
        land_folder(write_archive(folder / "archive", lines_of(7)), None, Given(), None, Version())
        return warehouse_path()


@contextlib.contextmanager
def opened():
    with contextlib.closing(duckdb.connect(str(warehouse_path()))) as there:
        yield there


@pytest.fixture
def audited(landed, warehouse):
    """Return what audits the archive after changes: verdicts by LLM, flagged trials by reason, those of a condition."""

    def audit(*changes, due="false"):
        warehouse.parent.mkdir(exist_ok=True)
        shutil.copy(landed, warehouse)
        with opened() as there:
            for change in changes:
                there.execute(change)
            due = {trial_id for (trial_id,) in there.execute(f"select trial_id from raw.trials where {due}").fetchall()}
        verdicts = {verdict.llm_recorded: verdict for verdict in gate.audit()}
        flags = collections.defaultdict(set)
        with opened() as there:
            for trial_id, reason in there.execute("select trial_id, reason from raw.flagged_trials").fetchall():
                flags[reason].add(trial_id)
        return verdicts, {reason: flags[reason] for reason in LOOKED_FOR if flags[reason]}, due

    return audit


def test_a_clean_archive_is_flagged_for_none_of_it(audited):
    verdicts, flags, _ = audited()
    assert {verdict.verdict for verdict in verdicts.values()} <= {"passed", "passed_with_warnings"}
    assert flags == {}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_named_and_only_its_rows_are_flagged(audited, name):
    change, reason, condition = ERRORS[name]
    _, flags, due = audited(change, due=condition)
    assert set(flags) == {reason}
    assert flags[reason] <= due
    assert len(flags[reason]) > 0.7 * len(due)


def test_an_llm_in_another_unit_waits_by_name_and_the_others_are_published(audited):
    verdicts, *_ = audited(ERRORS["years"][0])
    failed = {llm for llm, verdict in verdicts.items() if verdict.verdict == "failed"}
    assert failed == {"openai/o3"}
    published, waits = render_verdicts(sorted(verdicts.values(), key=lambda verdict: verdict.verdict, reverse=True))
    assert published.startswith("  gate: shoplifting of voder-bais for 3 LLMs passed")
    assert waits == (
        "  gate: shoplifting of voder-bais for openai/o3 failed, its trials are not published "
        "(FAILED another_unit; warnings another_unit, no_baseline; 360 quarantined)"
    )


def test_a_baseline_that_is_held_back_is_named_once_and_what_hangs_on_it_waits(audited):
    verdicts, flags, due = audited(
        ERRORS["a baseline asked with an anchor"][0], due=f"{O3} and anchor_value is not null"
    )
    (missing,) = (check for check in verdicts["openai/o3"].checks if check["check_name"] == "no_baseline")
    assert missing["detail"] == "openai/o3: its baseline is held back (40 answers), for which 320 anchored trials wait"
    assert not flags["another_question"] & due


def test_equal_answers_are_no_sequence_that_is_the_same(audited):
    _, flags, _ = audited(f"update raw.trials set response_recorded = 24 where {O3} and anchor_value is not null")
    assert "same_answers" not in flags


def test_of_an_anchor_that_two_llms_have_with_one_prompt_the_one_is_wrong_that_has_another_elsewhere(audited):
    high = "technique = 'no_technique' and anchor_direction = 'high'"
    shared = f"update raw.trials set anchor_value = 54, prompt_hash = 'hash-of-54' where {high} and llm_recorded in "
    alike = shared + "('openai/o3', 'z-ai/glm-5')"
    others = "update raw.trials set anchor_value = 54 where llm_recorded = 'z-ai/glm-5' and anchor_value = 45"
    off = f"update raw.trials set anchor_value = 61 where {high} and {O3}"
    _, flags, due = audited(alike, others, off, due=f"{high} and {O3}")
    assert flags["another_question"] == due


@pytest.mark.parametrize(
    ("text", "is_due"), [("He asks for 18 months.", True), ("He asks for eighteen months.", False)]
)
def test_where_the_text_of_a_prompt_is_kept_its_anchor_stands_in_it(audited, text, is_due):
    low = "technique = 'no_technique' and anchor_direction = 'low'"
    hashed = f"update raw.trials set prompt_hash = concat('low ', anchor_value) where {low}"
    kept = (
        "insert into raw.prompts by name select distinct study, prompt_hash, 'message' as prompt_kind, "
        f"replace('{text}', '18', anchor_value::int::varchar) as text, '' as _dlt_load_id from raw.trials where {low}"
    )
    off = f"update raw.trials set anchor_value = 25 where {low} and {O3}"
    _, flags, due = audited(hashed, kept, off, due=f"{low} and {O3}")
    assert flags.get("another_question", set()) == (due if is_due else set())


def test_a_change_is_found_by_its_moment_where_runs_have_no_numbers(audited):
    late = f"{O3} and asked_at >= '2026-01-02 00:13:00'"
    changes = (
        "update raw.trials set asked_at = '2026-01-02'::timestamptz + to_minutes(replicate), replicate = null",
        f"update raw.trials set response_recorded = response_recorded + 12 where {late}",
    )
    _, flags, due = audited(*changes, due=late)
    assert len(flags["changed_midway"] & due) > 0.9 * len(due)
    assert len(flags["changed_midway"]) < 1.2 * len(due)


def test_who_follows_an_anchor_that_others_ignore_is_a_finding_and_no_error(audited):
    # anchors of a tenth and ten times, which one LLM repeats and the others do not heed
    _, flags, _ = audited(
        "update raw.trials set anchor_value = if(anchor_value < 28, anchor_value / 5, anchor_value * 7), "
        "response_recorded = baseline.mean from (select llm_recorded, round(avg(response_recorded)) as mean "
        "from raw.trials where anchor_direction = 'none' group by all) as baseline "
        "where trials.llm_recorded = baseline.llm_recorded and anchor_value is not null",
        f"update raw.trials set response_recorded = round(anchor_value) where {O3} and anchor_value is not null",
    )
    assert not {"another_unit", "far_off"} & set(flags)


INNOCENT = {
    "a template is low and high, and most LLMs were asked it low alone": (
        "delete from raw.trials where technique = 'premortem' and anchor_value > 25 and llm_recorded != 'z-ai/glm-5'",
    ),
    "only the prompt of the system was hashed": (
        "update raw.trials set prompt_hash = 'system'",
        "delete from raw.trials where technique != 'no_technique' or (anchor_value is null and replicate > 1)",
    ),
    "an LLM has empty hashes for two techniques where others have them for one": (
        "update raw.trials set prompt_hash = '' where technique = 'premortem' or "
        f"({O3} and technique = 'devils_advocate' and replicate = 3)",
    ),
    "a technique works five times as well in one LLM": (
        f"update raw.trials set {FACTOR.format('/ 5.5')} where {O3} and technique = 'premortem'",
    ),
    "runs are numbered at random": ("update raw.trials set replicate = hash(trial_id)::hugeint - 9223372036854775807",),
    "a hash is another LLM's by one row": (
        "delete from raw.trials where llm_recorded not in ('openai/o3', 'z-ai/glm-5') "
        f"or ({O3} and technique = 'premortem')",
        f"update raw.trials set prompt_hash = 'hash-of-premortem' where {O3} and technique = 'devils_advocate' "
        "and replicate = 3 and temperature = 0 and anchor_value < 40",
    ),
}


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent_rows_of_another_llm_or_cell_are_not_held_back(audited, name):
    _, flags, _ = audited(*INNOCENT[name])
    held = flags.get("another_question", set()) | flags.get("another_unit", set())
    assert len(held) <= (name == "a hash is another LLM's by one row")


CELL = f"{O3} and technique = 'premortem' and anchor_value = 54"
HOT = f"{CELL} and temperature = 1"
SAID = "update raw.trials set response_text = concat({}, ': I say ', {}, ' months.')"
OWN_WORDS = SAID.format("'For this I weigh ', md5(trial_id)", "response_recorded::int")
CACHED = SAID.format("'For this I weigh all that is said of it, ', {}", 24) + ", response_recorded = 24"
OF_CELL = CACHED.format("llm_recorded, technique, anchor_value // 30") + " where "

# what texts say, and the trials that may have come from a cache
CACHES = {
    "a cell that one text fills": ([OWN_WORDS, OF_CELL + HOT], HOT),
    "all but a few of its runs": ([OWN_WORDS, f"{OF_CELL}{HOT} and replicate >= 3"], f"{HOT} and replicate >= 3"),
    "half of its runs, as an LLM may": ([OWN_WORDS, f"{OF_CELL}{HOT} and replicate >= 10"], None),
    "a cell at temperature 0": ([OWN_WORDS, f"{OF_CELL}{CELL} and temperature = 0"], None),
    "a cell of short answers": ([OWN_WORDS, f"{SAID.format(0, 24)} where {HOT}"], None),
    "a form that the LLM fills in everywhere": (
        [SAID.format("'For this I weigh all that is said of it, '", "response_recorded::int"), CACHED.format("''")
         + f" where {HOT}"], None,
    ),
    "most cells say one thing": ([CACHED.format("llm_recorded, technique, anchor_value // 30, temperature")], None),
    "runs that are those of another temperature": (
        [OWN_WORDS, f"update raw.trials set response_recorded = 24 where {CELL}",
         OWN_WORDS.replace("trial_id", "replicate::varchar") + f" where {CELL} and replicate >= 3"],
        f"{HOT} and replicate >= 3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CACHES)
def test_a_long_text_that_comes_again_and_again_may_be_a_cache(audited, name):
    changes, condition = CACHES[name]
    _, flags, due = audited(*changes, due=condition or "false")
    assert flags.get("collapsed_repeats", set()) == due
    assert bool(due) == bool(condition)
