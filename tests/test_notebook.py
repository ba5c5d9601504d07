"""What a notebook gets: the public tables as DataFrames, and a first look that runs as it is."""

import re
import runpy

import duckdb
import pytest

import bais
from bais.main import main
from ingest.warehouse import ROOT, UserError
from tests.tools.report_page import make_warehouse


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "some.duckdb"
    make_warehouse(path, studies=["real"])
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


def test_the_public_tables_are_data_frames_by_name(path):
    tables = bais.open()
    assert "marts.conditions" in tables
    assert set(tables["marts.conditions"]["llm"]) == {"vendor/a", "vendor/b"}
    assert (
        bais.open(path).sql("select count(*) as n from marts.conditions where llm = $llm", llm="vendor/a")["n"][0] == 1
    )
    assert repr(tables).startswith(f"{path}, {len(tables)} public tables")
    with pytest.raises(UserError, match=r"there is no table marts\.condition"):
        tables["marts.condition"]


def test_tables_of_models_of_ones_own_are_read_and_exported_beside_them(path, tmp_path):
    with duckdb.connect(str(path)) as warehouse:
        warehouse.execute("create schema own")
        warehouse.execute("create table own.mine as select 'real' as study, 7 as n")
        warehouse.execute("create table own.of_nobody as select 7 as n")
    assert bais.open()["own.mine"]["n"].tolist() == [7]
    assert main(["export", str(tmp_path / "out"), "--format", "csv"]) == 0
    assert main(["export", str(tmp_path / "one"), "--format", "csv", "--study", "real"]) == 0
    assert [path.name for path in (tmp_path / "one" / "own").iterdir()] == ["mine.csv"]
    assert (tmp_path / "out" / "own" / "mine.csv").read_text(encoding="utf-8") == "study,n\nreal,7\n"


def test_a_first_look_prints_the_decisions_and_draws_each_llm(path, monkeypatch, capsys):
    monkeypatch.chdir(path.parent)
    runpy.run_path(str(ROOT / "docs" / "notebooks" / "first-look.py"))
    said = capsys.readouterr().out
    assert "premortem" in said
    assert "too_few_vendors" in said
    assert re.search(r"vendor/a +premortem +use", said)
    assert "vendor/b" in (path.parent / "first-look.html").read_text(encoding="utf-8")
