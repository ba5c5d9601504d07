"""A build that keeps rows of studies that did not change has the tables of one that computes all of them."""

import json
import shutil

import pytest

from bais.main import main
from ingest.land.raw import TABLES
from ingest.warehouse import connect
from tests.tools import compare

pytestmark = pytest.mark.slow("builds one study again and again")

LLMS = ("openai/o3", "openai/gpt-4o", "anthropic/claude-opus-4.6", "lab/one", "lab/two", "lab/three")
ASKED = [
    (technique, anchor)
    for technique in ("baseline", "premortem", "sacd")
    for anchor in (None, 10, 30)
    if (technique, anchor)[1] or technique == "baseline"
]
BUILD = (
    "--quiet",
    "build",
    "--select",
    "+path:models/inference",
    "--exclude-resource-type",
    "test",
    "unit_test",
)


def line(n, llm, technique, anchor, repeat):
    """Write a line as document A's archive does; each LLM follows an anchor by a part of its own."""
    followed = 0 if anchor is None else (anchor - 20) * n // (8 if technique == "baseline" else 16)
    response = 20 + followed + (repeat * 7 + n) % 5
    return {
        "model": llm, "vignetteId": "medical", "technique": technique, "temperature": 1,
        "anchorType": {None: "none", 10: "low", 30: "high"}[anchor], "anchor": anchor,
        "response": response, "raw": f"{response}",
        "collectedAt": f"2026-03-{1 + n:02}T{ASKED.index((technique, anchor)):02}:00:{repeat:02}.000Z",
    }  # fmt: skip


def write(folder, llms=LLMS):
    """Write an archive of some LLMs."""
    folder.mkdir(parents=True)
    lines = [line(n, llm, *asked, repeat) for n, llm in enumerate(llms) for asked in ASKED for repeat in range(12)]
    (folder / "medical.jsonl").write_text("".join(json.dumps(of) + "\n" for of in lines))
    return folder


def copy_as_another_study(path):
    """Land once more all that was landed, as another study: with ids and sources of its own."""
    with connect(path, read_only=False) as warehouse:
        for name, table in TABLES.items():
            if "study" not in table.columns or name == "gate_acts":
                continue
            own = {
                of: f"{of} || '-other'" for of in ("trial_id", "batch_id", "verdict_id", "version_id", "source_name")
            }
            replaced = ", ".join(f"{sql} as {of}" for of, sql in own.items() if of in table.columns)
            replaced = f"'other' as study{', ' if replaced else ''}{replaced}"
            warehouse.execute(f"insert into raw.{name} select * replace ({replaced}) from raw.{name}")


@pytest.fixture(scope="module")
def made(tmp_path_factory, warehouse_in):
    """A warehouse of two studies, all built."""
    folder = tmp_path_factory.mktemp("kept")
    warehouse = warehouse_in(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(warehouse.path))
        assert main(["import", str(write(folder / "one" / "own"))]) == 0
    copy_as_another_study(warehouse.path)
    warehouse.dbt(*BUILD)
    assert warehouse.query("select distinct study from inference.decisions where gain_low is not null order by 1") == [
        ("other",),
        ("voder-bais",),
    ]
    return folder


def answers_leave(warehouse, folder):
    """A second version lacks the answers of an LLM, and people take some of another one out."""
    assert main(["import", str(write(folder / "two" / "own", LLMS[:5])), "--complete"]) == 0
    withdrawn = warehouse.query(
        "select trial_id from raw.trials "
        "where study = 'voder-bais' and llm_recorded = 'lab/two' and anchor_value = 30 and response_recorded > 24"
    )
    assert main(["withdraw", *(trial for (trial,) in withdrawn), "--why", "typed twice"]) == 0


def a_study_leaves(warehouse, folder):
    """Nothing of the study is published any more."""
    for (batch,) in warehouse.query("select batch_id from raw.batches where study = 'voder-bais'"):
        assert main(["reject", batch, "--why", "of another question"]) == 0


@pytest.mark.parametrize("change", [answers_leave, a_study_leaves])
def test_what_is_kept_and_computed_is_what_a_full_refresh_computes(
    made, tmp_path, warehouse_in, monkeypatch, capsys, change
):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    warehouse = warehouse_in(tmp_path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse.path))
    read_from = "select study, read_from from intermediate.kept_decided where study = '{}'"
    before = {study: warehouse.query(read_from.format(study)) for study in ("other", "voder-bais")}
    change(warehouse, tmp_path)
    warehouse.dbt(*BUILD)
    assert warehouse.query(read_from.format("other")) == before["other"]
    assert warehouse.query(read_from.format("voder-bais")) != before["voder-bais"]
    whole = warehouse_in(tmp_path / "whole")
    whole.path.parent.mkdir()
    shutil.copy(warehouse.path, whole.path)
    whole.dbt(*BUILD, "--full-refresh")
    capsys.readouterr()
    assert compare.main([str(warehouse.path), str(whole.path)]) == 0, capsys.readouterr().out


def test_what_an_earlier_version_made_goes_and_what_somebody_else_made_stays(made, tmp_path, warehouse_in):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    warehouse = warehouse_in(tmp_path)
    with connect(warehouse.path, read_only=False) as before:
        before.execute("""
            create table inference.gone as select 1 as a; create table intermediate.kept_gone as select 1 as a;
            create view marts.gone_too as select 1 as a; create table marts.mine as select 1 as a;
            insert into intermediate.nodes by name
            select 'model.bais.' || name as node, kind, relation, [] as inputs, 1 as made_in, 1 as changed_in
            from (values ('gone', 'table', 'inference.gone'), ('gone_too', 'view', 'marts.gone_too'))
            as nodes (name, kind, relation)
        """)
    warehouse.dbt("--quiet", "run", "--select", "stg_trials")
    left = "select table_name from duckdb_tables() where table_name in ('gone', 'kept_gone', 'mine') union all "
    assert warehouse.query(left + "select view_name from duckdb_views() where view_name = 'gone_too'") == [("mine",)]


def test_what_a_version_without_a_record_made_is_known_by_what_it_says_of_its_rows(made, tmp_path, warehouse_in):
    """The first versions kept no list of what they made; a table of somebody's own, with words of its own, stays."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    warehouse = warehouse_in(tmp_path)
    with connect(warehouse.path, read_only=False) as before:
        before.execute("""
            drop table intermediate.nodes;
            create table marts.spread as select 1 as a; comment on table marts.spread is 'One row per technique.';
            create view inference.ranks as select 1 as a; comment on view inference.ranks is 'One row per rank.';
            create table marts.mine as select 1 as a; comment on table marts.mine is 'What I have noted.';
            create schema own; create table own.table_of_mine as select 1 as a;
            comment on table own.table_of_mine is 'One row per note.'
        """)
    warehouse.dbt("--quiet", "run", "--select", "stg_trials")
    left = warehouse.query("select table_name from information_schema.tables")
    assert {"spread", "ranks", "mine", "table_of_mine"} & {name for (name,) in left} == {"mine", "table_of_mine"}
