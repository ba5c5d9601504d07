"""`bais build --engine spark` where no Spark is, and a warehouse with tables in files, as Spark makes them."""

import ast
from contextlib import closing
from types import SimpleNamespace

import duckdb
import pytest

from bais import spark
from bais.main import main
from ingest.warehouse import ROOT, UserError

ATTRITION = "select 'b' as llm, 2::hugeint as n_asked"


def test_without_pyspark_a_build_on_spark_says_what_to_install(monkeypatch, tmp_path, capsys, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "warehouse.duckdb"))
    monkeypatch.setattr(spark, "_is_installed", lambda name: name != "pyspark")
    assert main(["build", "--engine", "spark"]) == 2
    golden(capsys.readouterr().err, "`make spark`")


def test_without_java_a_build_on_spark_needs_a_server(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "warehouse.duckdb"))
    monkeypatch.setattr(spark, "_is_installed", lambda name: True)
    monkeypatch.setattr(spark.shutil, "which", lambda name: None)
    monkeypatch.setattr(spark, "build_on_spark", lambda *_: 5)
    for name in ("JAVA_HOME", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["build", "--engine", "spark"]) == 2
    assert "needs Java 17" in capsys.readouterr().err
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    assert main(["build", "--engine", "spark"]) == 5


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "trials"],
        ["--full-refresh"],
        ["--as-of", "v1", "--to", "f"],
        ["--vars", "{seed: 1}", "--select", "trials"],
    ],
)
def test_a_build_on_spark_builds_everything(options, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "warehouse.duckdb"))
    monkeypatch.setattr(spark, "build", lambda *_: 0)
    assert main(["build", "--engine", "spark", *options]) == 2
    assert "takes --vars alone" in capsys.readouterr().err


def test_nothing_imports_pyspark_but_the_process_that_has_the_session():
    importing = set()
    for room in ("bais", "ingest", "analysis"):
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "spark" in text else ():
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += (
                    [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
                )
                if any(name.startswith(("pyspark", "bais.on_spark")) for name in names):
                    importing.add(path.name)
    assert importing == {"on_spark.py"}


@pytest.mark.parametrize(("ended", "code"), [(-9, 137), (1, 1), (0, 0)])
def test_a_step_that_a_signal_ends_ends_the_build_as_a_shell_says_it(ended, code, monkeypatch, tmp_path):
    monkeypatch.setattr(spark.dbt, "start", lambda *_, **__: SimpleNamespace(stdout=()))
    monkeypatch.setattr(spark.dbt, "ended", lambda _: ended)
    assert spark._dbt_build(tmp_path / "a.duckdb", "here") == code


def model(name, sql, materialized="table", **more):
    columns = {column: {"name": column, "description": ""} for column in more.pop("columns", ())}
    return {
        "unique_id": f"model.bais.{name}", "resource_type": "model", "schema": "marts", "alias": name,
        "compiled_code": sql, "columns": columns, "description": f"One row per {name}.", "depends_on": {"nodes": []},
        "config": {
            "materialized": materialized, "contract": {"enforced": bool(columns)}, "persist_docs": {"relation": True},
        },
        **more,
    }  # fmt: skip


@pytest.fixture
def taken_over(tmp_path, monkeypatch):
    """A warehouse where a table of DuckDB's gave way to what Spark wrote, as a view; a view of DuckDB's is upon it."""
    path = tmp_path / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.setattr(spark, "SMALL", 0)
    folder = spark.parquet_folder(path) / "build_1"
    written = folder / "marts" / "attrition"
    written.mkdir(parents=True)
    with closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute("create schema marts; create table marts.attrition as select 'old' as llm")
        warehouse.execute(f"copy (select 2.0::double as n_asked, 'b' as llm) to '{written / 'part.parquet'}'")
        (written / "_SUCCESS").touch()
    manifest = {
        "nodes": {
            "model.bais.attrition": model("attrition", ATTRITION, columns=("n_asked", "llm")),
            "model.bais.llms": model(
                "llms",
                "select distinct llm from marts.attrition",
                "view",
                depends_on={"nodes": ["model.bais.attrition"]},
            ),
        }
    }
    spark._take_over(path, folder, manifest, spark._made(folder))
    return path, folder, manifest


def test_what_spark_wrote_has_the_types_of_duckdb_and_the_order_of_its_contract(taken_over):
    with closing(duckdb.connect(str(taken_over[0]), read_only=True)) as warehouse:
        assert warehouse.sql("describe marts.attrition").fetchall()[0][:2] == ("n_asked", "HUGEINT")
        assert warehouse.sql("from marts.attrition").fetchall() == [(2, "b")]
        assert warehouse.sql("from marts.llms").fetchall() == [("b",)]
        comment = "select comment from duckdb_views() where view_name = 'attrition'"
        assert warehouse.sql(comment).fetchall() == [("One row per attrition.",)]


def test_what_spark_wrote_is_copied_where_it_is_small(taken_over, monkeypatch):
    path, folder, manifest = taken_over
    monkeypatch.setattr(spark, "SMALL", 1 << 20)
    spark._take_over(path, folder, manifest, spark._made(folder))
    assert not (folder / "marts" / "attrition").exists()
    with closing(duckdb.connect(str(path), read_only=True)) as warehouse:
        assert warehouse.sql("select count(*) from duckdb_tables() where table_name = 'attrition'").fetchall() == [(1,)]
        assert warehouse.sql("from marts.attrition").fetchall() == [(2, "b")]


def test_files_that_no_view_reads_are_removed(taken_over):
    path, folder, _ = taken_over
    (folder.parent / "build_0" / "marts").mkdir(parents=True)
    spark.remove_unused(path)
    assert sorted(folder.parent.iterdir()) == [folder]
    with closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute("create or replace view marts.attrition as select 1 as n_asked")
    spark.remove_unused(path)
    assert sorted(folder.parent.iterdir()) == []


def test_what_spark_did_not_write_leaves_the_warehouse_as_it_was(taken_over, monkeypatch):
    path, folder, manifest = taken_over
    monkeypatch.setattr(spark, "SMALL", 1 << 20)  # so that one table would have changed its kind
    manifest["nodes"]["model.bais.drift"] = model("drift", "select 1 as a")
    with pytest.raises(UserError, match=r"not written marts\.drift"):
        spark._take_over(path, folder, manifest, spark._made(folder))
    with closing(duckdb.connect(str(path), read_only=True)) as warehouse:
        assert warehouse.sql("select count(*) from duckdb_views() where view_name = 'attrition'").fetchall() == [(1,)]


def test_a_query_reads_what_spark_wrote_and_no_other_file(taken_over, capsys, tmp_path, golden):
    assert main(["sql", "from marts.llms", "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["llm", "b"]
    (tmp_path / "other.csv").write_text("a\n1\n")
    assert main(["sql", f"from read_csv('{tmp_path / 'other.csv'}')"]) == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    "query",
    [
        "with x as (copy (select 1) to '{path}') select 1",
        "with x as (COPY (select 1) to '{path}' (use_tmp_file false)) select 1",
        "explain analyze with x as (copy (select 1) to '{path}') select 1",
        "with x as (copy (select 1) to '{path}') from (pivot marts.attrition on llm using count(*))",
        "copy (select 1) to '{path}'",
    ],
)
def test_a_query_writes_no_file_where_spark_wrote_some(taken_over, capsys, query):
    path, folder, _ = taken_over
    before = path.read_bytes()
    for file in (f"{path}.wal", path, folder / "marts" / "attrition" / "part.parquet", folder / "new.csv"):
        there = sorted(folder.parent.rglob("*"))
        assert main(["sql", query.format(path=file)]) == 2
        assert "only reads the warehouse" in capsys.readouterr().err
        assert sorted(folder.parent.rglob("*")) == there
    assert path.read_bytes() == before
    assert not path.with_name(path.name + ".wal").exists()


def test_the_word_copy_may_be_asked_about_where_spark_wrote_files(taken_over, capsys):
    assert main(["sql", "select 'COPY_TO_FILE' as copy from marts.llms", "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["copy", "COPY_TO_FILE"]
