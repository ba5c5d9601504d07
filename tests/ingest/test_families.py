"""Families of decisions are frozen before the first call of a study, or when it is imported; none is overwritten."""

import json
from contextlib import closing
from dataclasses import replace

import duckdb
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from analysis.engine.comparisons import comparisons
from ingest.archives.voder_bais import ARCHIVE
from ingest.ask.collected import load_collected
from ingest.ask.families import families_planned
from ingest.ask.spool import COLLECTED, read_state, spool_folder
from ingest.bring.importer import import_archive
from ingest.land.models import query_of
from ingest.land.raw import prepare_raw
from ingest.land.versions import Version
from ingest.run import collect_study, main
from ingest.studies import families as formed
from ingest.studies.families import differences, families_declared, rows_of
from ingest.studies.llms import Llm
from ingest.studies.study import load_study
from ingest.warehouse import ROOT
from tests.ingest.conftest import low_anchor, premortem, vignette, write

pytestmark = pytest.mark.slow("collects again and again")

STUDY = {
    "study": "small",
    "llms": ["sim/steady", "sim/anchored"],
    "vignettes": ["fever"],
    "techniques": ["no_technique", "premortem", "random_control", "sacd"],
    "anchors": {"proportional": {"low": 0.5, "high": 1.5}},
    "stopping_rule": {"minimum": 2},
}
NAMES = ["no_technique", "premortem", "random_control", "random_control_sacd", "sacd", "outside_view"]
UNLIMITED = {
    "max_cost": None, "max_calls": None, "ask_again": [], "orphan": True, "keep": None, "new_anchors": False,
    "strict": False,
}  # fmt: skip
CONTROLS = ROOT / "seeds" / "controls.csv"


@pytest.fixture
def study(tmp_path):
    """From changes of a small study to the path of its file."""

    def written(**changes):
        path = tmp_path / "small.yaml"
        path.write_text(yaml.safe_dump(STUDY | changes))
        return path

    return written


@pytest.fixture
def frozen(warehouse):
    """What int_families says of the warehouse, by domain and goal."""

    def by_place():
        with closing(duckdb.connect(str(warehouse), read_only=True)) as connection:
            rows = connection.sql(query_of("int_families")).to_arrow_table().to_pylist()
        return {(row["domain"], row["goal"]): row for row in rows}

    return by_place


@pytest.fixture
def change(warehouse):
    """Write to the warehouse."""

    def execute(sql):
        with closing(duckdb.connect(str(warehouse))) as connection:
            connection.execute(sql)

    return execute


def collect(path):
    assert main([str(path), "--orphan"]) == 0


@given(st.sets(st.sampled_from(NAMES)), st.sampled_from(["voder-bais", "voder-bais@8749ccc", "other"]))
def test_rows_are_the_comparisons_that_the_engine_decides_on(asked, study):
    ranked = {"premortem", "random_control", "random_control_sacd", "sacd"}
    present = asked | ({"sacd_initial"} if "sacd" in asked else set())
    compared = comparisons(study, "judicial", present, ranked, pd.read_csv(CONTROLS))
    decided = {(one.technique, one.control, one.kind) for one in compared if one.control and not one.is_confounded}
    assert {*map(tuple, rows_of(study, "judicial", asked, ranked))} == decided


def test_of_document_as_techniques_six_rows_are_decided_in_the_judicial_domain_and_seven_elsewhere():
    asked = {"no_technique", "devils_advocate", "premortem", "random_control", "sacd"}
    judicial, loan = (rows_of("voder-bais", domain, asked, asked - {"no_technique"}) for domain in ("judicial", "loan"))
    assert judicial == [
        ["devils_advocate", "no_technique", "control"],
        ["devils_advocate", "random_control", "placebo"],
        ["premortem", "no_technique", "control"],
        ["premortem", "random_control", "placebo"],
        ["random_control", "no_technique", "control"],
        ["sacd", "sacd_initial", "control"],
    ]
    assert loan[-2:] == [["sacd", "no_technique", "control"], ["sacd", "random_control", "placebo"]]
    assert len(loan) == 7


def test_a_study_file_says_its_families_before_anything_is_asked(study):
    families = families_declared(load_study(study()))
    assert [(family.domain, family.goal) for family in families] == [
        ("medical", "displacement"), ("medical", "gap"), ("medical", "error")
    ]  # fmt: skip
    content = families[0].content
    assert (content["margin"], content["looks"], content["vignettes"]) == (5, [], ["fever"])
    leads = {goal["goal"]: goal["leads"] for goal in content["goals"]}
    assert leads == {"displacement": "same", "gap": "differs", "error": False}
    assert len({family.family for family in families}) == 3


def test_a_family_without_a_comparison_is_none(study):
    assert families_declared(load_study(study(techniques=["no_technique"]))) == []


def test_what_is_collected_twice_is_frozen_once_before_the_first_call(study, query, frozen):
    collect(study())
    first = query("from raw.families order by all")
    collect(study())
    assert query("from raw.families order by all") == first
    assert len(first) == 3
    records = [json.loads(line) for line in (spool_folder("small") / COLLECTED).read_text().splitlines()]
    kinds = [record["kind"] for record in records]
    assert kinds[0] == "session"  # so that the families are on disk before anything is asked
    assert [record["before_first_call"] for record in records if record["kind"] == "session"] == [True, False]
    for family in frozen().values():
        assert (family["is_frozen"], family["is_exploratory"], family["reason"]) == (True, False, None)
        assert (family["n_families"], family["error_at_most"]) == (1, 0.05)


def test_a_changed_margin_is_a_second_family_and_exploratory_and_the_first_stays_as_it_was(
    study, query, frozen, monkeypatch
):
    collect(study())
    first = query("from raw.families order by all")
    with monkeypatch.context() as patch:
        patch.setattr(formed, "margin_of_anchoring", lambda: 7.0)
        collect(study())
    assert query("from raw.families where ordinal = (select min(ordinal) from raw.families) order by all") == first
    gap = frozen()["medical", "gap"]
    assert (gap["n_families"], gap["is_frozen"], gap["is_exploratory"]) == (2, False, True)
    assert (gap["reason"], gap["error_at_most"], gap["margin"]) == ("family_changed", 0.1, 7)
    assert gap["first_family"] != gap["family"]
    collect(study())  # to go back does not unsee what was seen
    assert frozen()["medical", "gap"]["reason"] == "family_changed"


def test_an_llm_of_another_vendor_is_another_family_and_one_of_the_same_is_not(study, frozen):
    collect(study())
    collect(study(llms=["sim/steady", "sim/anchored", "sim/constant"]))
    assert frozen()["medical", "gap"]["n_families"] == 2, "each respondent is one by itself"

    def declared(*llms):
        first, *_ = families_declared(load_study(study(llms=list(llms))))
        return first.content["vendors"], first.family

    vendors, family = declared("openai/o3", "own/x")
    assert vendors == ["OpenAI", "unlisted"]
    assert declared("openai/gpt-4.1", "openrouter/openai/o3", "own/x", "other/y") == (vendors, family)
    assert declared("openai/o3", "own/x", "z-ai/glm-5") != (vendors, family)


def test_what_an_older_bais_collected_is_frozen_after_its_first_call(study, query, change, frozen):
    collect(study())
    path = spool_folder("small") / COLLECTED
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    older = [{key: of for key, of in line.items() if key not in ("families", "before_first_call")} for line in lines]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in older))
    change("delete from raw.families")
    load_collected("small")
    assert query("from raw.families") == []
    collect(study())
    assert {(of["reason"], of["is_frozen"], of["n_families"]) for of in frozen().values()} == {
        ("family_not_frozen", False, 1)
    }


def test_calls_in_the_spool_alone_are_calls_before_another_session(study, warehouse):
    collect_study(study(), loads=False, **UNLIMITED)
    collect_study(study(vignettes=["fever", "fall"]), loads=False, **UNLIMITED)
    sessions = read_state(spool_folder("small") / COLLECTED).sessions
    assert [session["before_first_call"] for session in sessions] == [True, False]
    assert not warehouse.exists()


def test_trials_in_the_warehouse_alone_are_trials_before_the_first_call_of_a_spool(study, frozen):
    collect(study())
    (spool_folder("small") / COLLECTED).rename(spool_folder("small") / "elsewhere")
    path = study(vignettes=["fever", "fall"])
    collect(path)
    assert frozen()["medical", "gap"]["reason"] == "family_changed"


def test_families_land_with_their_trials_or_not_at_all(study, query, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ingest.ask.collected.freeze", die)
        assert main([str(study())]) == 130
    with pytest.raises(duckdb.CatalogException):
        query("from raw.trials")
    load_collected("small")
    assert query("select count(*) > 0, (select count(*) from raw.families) from raw.trials") == [(True, 3)]


def test_a_warehouse_of_an_older_version_has_no_family_and_gets_the_table(study, warehouse, change, frozen):
    collect(study())
    change("drop table raw.families")
    path = spool_folder("small") / COLLECTED
    assert families_planned(load_study(study()), path, read_state(path))[0]["is_frozen"]  # as the spool knows
    prepare_raw(warehouse)
    assert frozen() == {}
    load_collected("small")
    assert len(frozen()) == 3


def test_an_import_freezes_what_was_recorded_and_the_same_again_adds_nothing(archive, query, frozen):
    write(archive / "low.jsonl", low_anchor(), low_anchor(anchor=26), premortem())
    import_archive(archive, ARCHIVE)
    first = query("from raw.families order by all")
    import_archive(archive, ARCHIVE)
    assert query("from raw.families order by all") == first
    gap = frozen()["judicial", "gap"]
    assert gap["compared"] == [["premortem", "no_technique", "control"]]
    assert (gap["reason"], gap["n_families"], gap["vendors"]) == ("family_not_frozen", 1, ["OpenAI"])
    write(archive / "other.jsonl", low_anchor(model="anthropic/claude-opus-4-6"))
    import_archive(archive, ARCHIVE)
    gap = frozen()["judicial", "gap"]
    assert (gap["reason"], gap["n_families"], gap["vendors"]) == ("family_changed", 2, ["Anthropic", "OpenAI"])
    assert [gap["first_family"]] == [family for _, _, _, goal, family, *_ in first if goal == "gap"]


def test_an_older_version_and_what_another_record_replaced_are_in_no_family(archive, tmp_path, frozen):
    write(archive / "low.jsonl", low_anchor(), premortem())
    import_archive(archive, ARCHIVE, version=Version(source_name="s", is_complete=True))
    older = tmp_path / "older"
    write(older / "low.jsonl", low_anchor(model="anthropic/claude-opus-4-6"), premortem())
    import_archive(older, ARCHIVE, version=Version(source_name="s", is_older=True))
    assert frozen()["judicial", "gap"]["n_families"] == 1
    write(archive / "low.jsonl", low_anchor(), premortem(), premortem(technique="devils-advocate", runIndex=4))
    import_archive(archive, ARCHIVE, version=Version(source_name="s", is_complete=True))
    assert frozen()["judicial", "gap"]["vendors"] == ["OpenAI"]


def test_a_corrected_domain_leaves_the_frozen_family_and_is_a_later_one_where_it_moved_to(archive, query, frozen):
    trials = [
        vignette(technique=name, vignetteId=of) for of in ("loan", "rent") for name in ("baseline", "devils-advocate")
    ]
    write(archive / "v.jsonl", *trials)

    def import_as(**domains):
        own = {name: {"domain": domain, "response_unit": "EUR"} for name, domain in domains.items()}
        import_archive(archive, replace(ARCHIVE, study="own", vignettes=own))

    import_as(loan="money", rent="money")
    before = query("from raw.families order by all")
    assert {of["reason"] for of in frozen().values()} == {"family_not_frozen"}
    more = [vignette(technique="devils-advocate", vignetteId=of, temperature=0) for of in ("loan", "rent")]
    write(archive / "w.jsonl", *more)
    import_as(loan="money", rent="housing")
    assert query(f"from raw.families where ordinal <= {before[0][-1]} order by all") == before
    moved, stayed = (frozen()[domain, "gap"] for domain in ("housing", "money"))
    assert (moved["vignettes"], moved["reason"], moved["n_families"]) == (["rent"], "family_changed", 2)
    assert (stayed["vignettes"], stayed["reason"], stayed["n_families"]) == (["loan"], "family_changed", 2)
    assert moved["first_family"] == stayed["first_family"]


@pytest.mark.parametrize(
    ("changed", "is_another"),
    [
        ({"llms": [Llm(llm="openai/o3")]}, True),
        ({"question": "Is this praise?\n{text}"}, True),
        ({"roles": ["original", "answer"]}, True),
        ({"temperature": 0.5}, True),
        ({"repeats": 3, "paradigm": "mood", "version": 2}, False),
    ],
)
def test_what_a_share_is_measured_with_is_part_of_its_family_and_of_no_other(changed, is_another):
    study = load_study("content-simulated")
    before = {family.paradigm: family for family in families_declared(study)}
    other = study.model_copy(update={"judges": study.judges.model_copy(update=changed)})
    now = {family.paradigm: family for family in families_declared(other)}
    assert (now["summarise"].family != before["summarise"].family) == is_another
    said = differences(before["summarise"].content, now["summarise"].content)
    assert said == (["other judges, or judges asked otherwise"] if is_another else [])
    assert now["fact_check"].family == before["fact_check"].family
    assert all("judges" not in goal for goal in before["fact_check"].content["goals"])


def test_differences_are_said_in_words(study):
    before, *_ = families_declared(load_study(study()))
    changed = study(techniques=["no_technique", "premortem"], llms=["openai/o3"], vignettes=["fever", "fall"])
    now, *_ = families_declared(load_study(changed))
    content = now.content | {"margin": 7.5, "looks": [{"from": 5}]}
    assert differences(before.content, before.content) == []
    said = differences(before.content, content)
    assert said[0] == (
        "4 comparisons fewer (premortem against random_control, random_control against no_technique, "
        "sacd against no_technique, sacd against random_control)"
    )
    assert said[1].startswith("1 vendor more (OpenAI)")
    assert said[-3:] == ["1 vignette more (fall)", "the margin 7.5 in place of 5", "other looks"]
