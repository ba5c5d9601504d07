"""A folder of one's own: what `bais init` makes, what counts in it, and what is wrong with what people write there."""

import csv
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bais import dbt, project, unchanged
from bais.main import main
from ingest.ask.collector import read_prices
from ingest.ask.context import context_windows
from ingest.land.seeds import SHIPPED, place_of, seed_file, seed_rows, seeds
from ingest.paradigms.paradigm import anchoring, load_paradigm
from ingest.studies.llms import knowledge_cutoffs
from ingest.studies.study import load_study
from ingest.warehouse import ROOT, UserError, home, own_folder, warehouse_path

HEADERS = {name: ",".join(seed.types) for name, seed in seeds().items()}
HAIKU = "anthropic/claude-haiku-4.5"


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder in which nobody has any of their own."""
    for name in ("BAIS_WAREHOUSE", "BAIS_PAPERS", "BAIS_DEV_WAREHOUSE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own(outside, monkeypatch, capsys):
    """A folder of one's own, in which commands run."""
    assert main(["init", "mine"]) == 0
    capsys.readouterr()
    monkeypatch.chdir("mine")
    return outside / "mine"


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def files_below(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def state_of(folder):
    return {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")] if "__pycache__" not in path.parts}


def test_a_new_folder_has_all_rooms_and_the_headers_of_three_seeds(outside, capsys):
    assert main(["init", "anchoring at work"]) == 0
    assert "cd 'anchoring at work'" in capsys.readouterr().out
    folder = outside / "anchoring at work"
    assert {path.name for path in folder.iterdir()} == {
        "bais.toml", ".gitignore", "studies", "paradigms", "claims", "models", "data",
        "llms.csv", "prices.csv", "techniques.csv",
    }  # fmt: skip
    assert [*outside.iterdir()] == [folder]
    for name in ("llms", "prices", "techniques"):
        assert (folder / f"{name}.csv").read_text() == f"{HEADERS[name]}\n"


def test_the_first_study_is_simulated_and_has_a_technique_and_a_vignette_of_its_own(own):
    study = load_study("first")
    assert study.are_simulated
    assert not study.cautions
    assert "sleep_on_it" in {technique["technique"] for technique in study.techniques}
    assert "rent" in {vignette["vignette"] for vignette in study.vignettes}


def test_an_llm_at_an_endpoint_stands_in_the_first_study_as_a_comment_that_can_be_taken_out(own):
    path = own / "studies" / "first.yaml"
    path.write_text(path.read_text().replace("# - {llm: lab/", "- {llm: lab/"), encoding="utf-8")
    (llm,) = (llm for llm in load_study("first").llms if llm.llm == "lab/new-llm-1")
    assert (llm.base_url, llm.api_key_env) == ("https://llm.lab.example/v1", "LAB_API_KEY")


@pytest.mark.parametrize(
    ("name", "why"),
    [("full", "is not empty"), ("full/file", "is a file"), (".", "is not empty"), ("", "an empty path")],
)
def test_nothing_is_made_where_something_is(outside, capsys, name, why):
    write(outside / "full" / "file", "kept")
    before = files_below(outside)
    assert main(["init", name]) == 2
    assert why in capsys.readouterr().err
    assert files_below(outside) == before


def test_an_empty_folder_is_filled_but_not_the_one_that_a_shell_is_in(outside, monkeypatch, capsys):
    (outside / "empty").mkdir()
    monkeypatch.chdir("empty")
    assert main(["init", "."]) == 2
    assert "is where you are" in capsys.readouterr().err
    monkeypatch.chdir("..")
    assert main(["init", "empty"]) == 0
    assert (outside / "empty" / "bais.toml").is_file()


def test_a_folder_within_another_says_so_and_counts_alone(own, monkeypatch, capsys):
    assert main(["init", "studies/inner"]) == 0
    assert f"It lies in another one, {own}" in capsys.readouterr().out
    monkeypatch.chdir("studies/inner")
    assert own_folder() == own / "studies" / "inner"


def test_a_killed_init_leaves_no_folder_and_the_next_one_makes_it(outside):
    program = (
        "import os, shutil; from bais.main import main; "
        f"shutil.copyfile = lambda *_: os.kill(os.getpid(), {int(signal.SIGKILL)}); main(['init', 'mine'])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == -signal.SIGKILL
    assert not (outside / "mine").exists()
    assert main(["init", "mine"]) == 0
    assert (outside / "mine" / "studies" / "first.yaml").is_file()
    assert [*outside.iterdir()] == [outside / "mine"]


def test_the_nearest_folder_with_a_bais_toml_is_home_and_holds_the_warehouse(own, outside, monkeypatch):
    monkeypatch.chdir(own / "studies")
    assert home() == own
    assert warehouse_path() == own / "data" / "bais.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", "other.duckdb")
    assert warehouse_path() == own / "studies" / "other.duckdb"
    monkeypatch.delenv("BAIS_WAREHOUSE")
    monkeypatch.chdir(outside)
    assert (own_folder(), home(), warehouse_path()) == (None, ROOT, ROOT / "data" / "bais.duckdb")


def test_without_a_checkout_and_a_folder_the_way_to_one_is_said(outside, monkeypatch, capsys):
    monkeypatch.setattr("ingest.warehouse.IS_CHECKOUT", False)
    assert main(["collect", "simulated"]) == 2
    assert "`bais init NAME` makes a folder" in capsys.readouterr().err
    assert main(["plan", "first"]) == 2
    assert "there is no study first" in (said := capsys.readouterr().err)
    assert "`bais init NAME` makes a folder" in said
    assert not [*outside.iterdir()]


@pytest.mark.parametrize(
    ("text", "at"), [('warehouse = "elsewhere/w.duckdb"', "mine/elsewhere/w.duckdb"), ('warehouse = "/tmp/w.db"', None)]
)
def test_bais_toml_names_another_warehouse_from_where_it_lies(own, outside, text, at):
    write(own / "bais.toml", text)
    assert warehouse_path() == (outside / at if at else Path("/tmp/w.db"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("warehouse = data", "is not TOML"),
        ('warehous = "w.duckdb"', "warehous: there is no such key"),
        ("warehouse = 3", "warehouse should be a path in quotes"),
        ('warehouse = ""', "warehouse should be a path in quotes"),
        ('warehouse = "raw.duckdb"', "a warehouse cannot be called"),
    ],
)
def test_a_mistake_in_bais_toml_is_one_sentence(own, capsys, text, why):
    write(own / "bais.toml", text)
    assert main(["sql", "select 1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line


def test_rows_of_ones_own_stand_beside_those_of_bais_or_in_their_place_and_count_at_once(own):
    shipped = read_prices()
    assert shipped[HAIKU] == (1, 5)
    write(own / "prices.csv", HEADERS["prices"], f"{HAIKU},2,4,2026-03-01,ours", "lab/one,3,0.5,2026-03-01,ours")
    assert read_prices() == shipped | {HAIKU: (2, 4), "lab/one": (3, 0.5)}
    assert [row["llm"] for row in seed_rows("prices")] == [*shipped, "lab/one"]
    write(own / "prices.csv", HEADERS["prices"])
    assert read_prices() == shipped


def test_spaces_around_a_value_of_a_row_are_none_of_it(own):
    write(own / "prices.csv", HEADERS["prices"], f" {HAIKU} ,2 ,4, 2026-03-01,ours")
    assert read_prices()[HAIKU] == (2, 4)


def test_an_llm_of_a_study_that_is_written_otherwise_in_llms_csv_is_told_before_it_is_asked(own, capsys):
    path = own / "studies" / "first.yaml"
    path.write_text(path.read_text().replace("# - {llm: lab/", "- {llm: lab/"), encoding="utf-8")
    write(own / "llms.csv", HEADERS["llms"], "Lab/new-llm-1,Lab,New,true")
    assert main(["plan", "first"]) == 0
    assert "lab/new-llm-1 is written Lab/new-llm-1 in llms.csv" in " ".join(capsys.readouterr().out.split())


def test_two_files_that_are_one_study_are_refused_and_told_by_doctor(own, capsys):
    text = (own / "studies" / "first.yaml").read_text(encoding="utf-8")
    write(own / "studies" / "second.yaml", text)
    for name in ("first", "second"):
        assert main(["plan", name]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "are both the study first" in line
    assert main(["doctor"]) == 2
    assert "are both the study first" in " ".join(capsys.readouterr().out.split())
    write(own / "studies" / "second.yaml", text.replace("study: first", "study: second"))
    write(own / "studies" / "second.yml", text.replace("study: first", "study: third"))
    assert main(["plan", "first"]) == 2
    assert "second.yml and second.yaml go by one name, second" in capsys.readouterr().err


def test_every_seed_that_takes_rows_takes_its_own_ones_and_stays_as_it_is(own):
    """Law: a file with the rows of a seed itself changes nothing."""
    for name in seeds():
        text = (SHIPPED / f"{name}.csv").read_text(encoding="utf-8")
        (own / f"{name}.csv").write_text(text, encoding="utf-8")
    for name in seeds():
        with open(SHIPPED / f"{name}.csv", encoding="utf-8", newline="") as file:
            assert [*seed_rows(name)] == [*csv.DictReader(file)]


def test_rows_count_for_whoever_reads_them(own):
    write(own / "context_windows.csv", HEADERS["context_windows"], f"{HAIKU},7,ours")
    write(own / "knowledge_cutoffs.csv", HEADERS["knowledge_cutoffs"], "lab/one,2026-01-31,ours")
    assert context_windows()[HAIKU] == 7
    assert knowledge_cutoffs()["lab/one"].isoformat() == "2026-01-31"
    assert (place_of("prices"), place_of("flag_reasons")) == ("prices.csv", "seeds/flag_reasons.csv")
    assert seed_file("prices").parent == own / ".bais" / "seeds"


@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("llms", ["llm,vendor", "a/b,C"], "llms.csv:1: the header lacks the column display_name and is_askable"),
        ("llms", ["llm,vendr,display_name,is_askable", "a/b,C,D,true"], "has the column vendr, which it should not"),
        ("llms", [..., "a/b,C,D,true", "a/b,C,E,true"], "llms.csv:3: a/b stands in line 2 already"),
        ("llms", [..., "a/b,C,D,perhaps"], "llms.csv:2: is_askable should be true or false, not perhaps"),
        ("llms", [..., "a/b,C,D,{0}"], "llms.csv:2: is_askable should be true or false, not {0}"),
        ("llms", [..., "a/b,,D,true"], "llms.csv:2: vendor is empty"),
        ("llms", [..., "a/b,C,D"], "llms.csv:2: this line has 3 values"),
        ("prices", [..., "a/b,two,3,2026-03-01,x"], "usd_per_million_tokens_in should be a number, not two"),
        ("prices", [..., "a/b,nan,3,2026-03-01,x"], "usd_per_million_tokens_in should be a number, not nan"),
        ("prices", [..., "a/b,2,3,March,x"], "priced_at should be a day, such as 2026-03-01, not March"),
        ("prices", [..., "a/b,-2,3,2026-03-01,x"], "usd_per_million_tokens_in should be 0 or more, not -2"),
        ("prices", [..., f"{HAIKU.upper()},2,3,2026-03-01,x"], f"{HAIKU.upper()} is written {HAIKU} elsewhere"),
        ("prices", [..., "OpenAI/codex,2,3,2026-03-01,x"], "OpenAI/codex is written openai/codex in llms.csv"),
        ("llms", [..., "a/b,C,D,true", "a/B,C,E,true"], "llms.csv:3: a/B is written a/b elsewhere"),
        ("context_windows", [..., f"{HAIKU},0,x"], "tokens should be 1 or more, not 0"),
        ("context_windows", [..., f"{HAIKU},1.5,x"], "tokens should be a whole number, not 1.5"),
        ("controls", [..., ",,own,no_technique,baseline,x"], "comparison should be control or placebo, not baseline"),
        ("llm_aliases", [..., "mine,lab/none"], "llm_aliases.csv: there is no llm lab/none in llms.csv"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_row_is_one_sentence_with_its_line(own, capsys, name, lines, why):
    write(own / f"{name}.csv", *(HEADERS[name] if line is ... else line for line in lines))
    assert main(["plan", "first"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line
    assert main(["doctor"]) == 2
    assert why in " ".join(capsys.readouterr().out.split())


def test_a_vendor_written_otherwise_than_bais_writes_it_is_told_before_a_build(own, capsys):
    write(own / "llms.csv", HEADERS["llms"], "a/b,ANTHROPIC,B,TRUE")
    assert main(["build"]) == 2
    assert "llms.csv:2: the vendor ANTHROPIC of a/b is written Anthropic at seeds/llms.csv:" in capsys.readouterr().err
    assert seed_rows("llms")[-1]["is_askable"] == "true"


def test_a_study_and_a_paradigm_of_ones_own_go_by_name_from_every_folder(own, monkeypatch, capsys):
    study = (own / "studies" / "first.yaml").read_text(encoding="utf-8")
    write(own / "studies" / "simulated.yaml", study.replace("study: first", "study: other"))
    text = (ROOT / "ingest" / "paradigms" / "framing.yaml").read_text(encoding="utf-8")
    write(own / "paradigms" / "mine.yaml", text.replace("paradigm: framing", "paradigm: mine"))
    monkeypatch.chdir("data")
    assert load_study("simulated").study == "other"
    assert load_paradigm("mine", None).paradigm == "mine"
    assert main(["show", "mine"]) == 0
    assert "paradigm: mine" in capsys.readouterr().out
    write(own / "paradigms" / "anchoring.yaml", text)
    anchoring.cache_clear()
    assert main(["plan", "first"]) == 2
    assert "anchoring is that of a study that names none" in capsys.readouterr().err


def test_doctor_says_what_is_more_and_what_takes_the_place_of_which(own, capsys):
    write(own / "techniques.csv", HEADERS["techniques"], "sacd,Ours,true,x", "own_price,Own price,true,x")
    text = (own / "studies" / "first.yaml").read_text(encoding="utf-8")
    write(own / "studies" / "judicial.yaml", text.replace("study: first", "study: judicial"))
    write(own / "models" / "some" / "own_one.sql", "select 1 as a")
    write(own / "claims" / "ours" / "paper.yaml", "title: Ours")
    write(own / "llm.csv", "llm")
    assert main(["doctor"]) == 0
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        f"ok folder {own}",
        "note techniques.csv 1 more (own_price); 1 in place of bais's (sacd)",
        "note studies 1 more (first); 1 in place of bais's (judicial)",
        "ok models 1 more (own_one)",
        "ok claims 1 more (ours)",
    ):
        assert line in said
    assert any(line.startswith("note llm.csv nothing reads it") for line in said)


def test_the_project_of_dbt_is_made_of_copies_and_names_no_absolute_path(own):
    """dbt writes what it compiled over a model that it finds by an absolute path."""
    before = state_of(ROOT / "models") | state_of(ROOT / "seeds")
    write(own / "models" / "own_one.sql", "select 1 as a")
    write(own / "models" / "marts" / "own_two.sql", "select 1 as a")
    folder = project.update()
    for name in ("models", "macros", "tests/models", "seeds"):
        assert files_below(folder / name) == {
            path: of for path, of in files_below(ROOT / name).items() if "__pycache__" not in path.parts
        }
    text = (folder / "dbt_project.yml").read_text(encoding="utf-8")
    settings, shipped = yaml.safe_load(text), yaml.safe_load((ROOT / "dbt_project.yml").read_text(encoding="utf-8"))
    assert str(own) not in text
    assert str(ROOT) not in text
    assert settings.pop("model-paths") == ["models", "../models"]
    assert settings["models"]["bais"].pop("own_one")["+schema"] == "own"
    assert settings == {name: value for name, value in shipped.items() if name != "model-paths"}
    assert state_of(ROOT / "models") | state_of(ROOT / "seeds") == before


def test_what_bais_made_in_a_folder_can_be_deleted_at_any_time(own):
    before = seed_rows("llms")
    shutil.rmtree(own / ".bais")
    assert seed_rows("llms") == before


def test_the_project_follows_an_update_of_bais_and_leaves_alone_what_has_not_changed(own):
    folder = project.update()
    kept = folder / "models" / "marts" / "trials.sql"
    (folder / "models" / "gone.sql").write_text("of an earlier bais")
    (folder / "macros" / "vendors_of.sql").write_text("of an earlier bais")
    made_at = kept.stat().st_ctime_ns
    project.update()
    assert not (folder / "models" / "gone.sql").exists()
    assert files_below(folder / "macros") == files_below(ROOT / "macros")
    assert kept.stat().st_ctime_ns == made_at


@pytest.mark.parametrize("name", ["trials.sql", "deep/intervals.py", "llms.sql"])
def test_a_model_with_the_name_of_one_of_bais_is_refused(own, capsys, name):
    write(own / "models" / name, "select 1 as a")
    assert main(["build"]) == 2
    assert f"{own / 'models' / name}: bais has a model or seed {Path(name).stem}" in capsys.readouterr().err


def test_dbt_is_told_of_the_warehouses_and_papers_of_the_folder(own, monkeypatch):
    (own / "claims" / "ours").mkdir()
    monkeypatch.setenv("BAIS_PAPERS", "/elsewhere/paper")
    environment = dbt.environment()
    assert environment["BAIS_WAREHOUSE"] == str(own / "data" / "bais.duckdb")
    assert environment["BAIS_DEV_WAREHOUSE"] == str(own / "data" / "bais_dev.duckdb")
    assert environment["DBT_PROFILES_DIR"] == str(own / ".bais" / "profiles")
    assert environment["BAIS_PAPERS"].split(os.pathsep) == [str(own / "claims" / "ours"), "/elsewhere/paper"]


@pytest.mark.parametrize("path", ["models/a.sql", "claims/d/claims.csv", "prices.csv"])
def test_a_build_hangs_on_what_is_ones_own(own, path):
    before = unchanged.source()
    assert unchanged.source() == before
    write(own / path, HEADERS["prices"], "lab/one,3,0.5,2026-03-01,ours")
    assert unchanged.source() != before


def test_a_folder_that_is_gone_is_said(own, monkeypatch):
    monkeypatch.setattr(os, "getcwd", lambda: (_ for _ in ()).throw(FileNotFoundError()))
    with pytest.raises(UserError, match="is gone"):
        own_folder()
