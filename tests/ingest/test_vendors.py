"""Whose LLMs are imported: what seeds/llms.csv has to say, and what it is told that it does not."""

import re

import duckdb
import pytest

from ingest.land.seeds import SHIPPED
from ingest.land.vendors import refuse_mistakes, unlisted_among
from ingest.run import main
from ingest.warehouse import UserError
from tests.tools.processes import SHARED

# as these archives name their files: with model=LLM, or BIAS_LLM_STRATEGY
OF_A_FILE = re.compile(r"model=(.+?)\.data_|_([a-z]+-[^_]+)_(?:baseline|D\d)")
HEADER = "llm,vendor,display_name,is_askable\n"


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "a missing column": ("llm,display_name,is_askable\na/b,B,true\n", ":1: the header lacks the column vendor"),
        "a misspelt one": (
            "llm,vendr,display_name,is_askable\na/b,A,B,true\n",
            "lacks the column vendor and has the column vendr, which it should not: write llm,vendor,",
        ),
        "an empty vendor": (HEADER + "a/b,A,B,true\na/c,,C,true\n", ":3: a/c has no vendor: write who made it"),
        "the word for none": (HEADER + "a/b,Unlisted,B,true\n", ":2: a/b has the vendor Unlisted, which is kept"),
        "one vendor in two ways": (
            HEADER + "a/b,Lab,B,true\nc/d,Other,D,true\na/e,LAB,E,true\n",
            ":4: the vendor LAB of a/e is written Lab at seeds/llms.csv:2",
        ),
        "a value too few": (HEADER + "a/b,A,true\n", ":2: this line has 3 values"),
    }.values(),
)
def test_a_mistake_in_the_list_of_llms_is_named_with_its_line(tmp_path, text, said):
    (tmp_path / "llms.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"^seeds/llms\.csv:") as refused:
        refuse_mistakes({"seeds/llms.csv": tmp_path / "llms.csv"})
    assert said in str(refused.value)


def test_the_list_that_is_shipped_has_no_mistake():
    refuse_mistakes()


def test_a_row_that_a_user_adds_lists_its_llm_behind_routers_too(tmp_path):
    for name in ("llms", "llm_aliases", "routers"):
        (tmp_path / f"{name}.csv").write_bytes((SHIPPED / f"{name}.csv").read_bytes())
    with duckdb.connect() as connection:
        connection.execute(
            "create table asked as select unnest(['lab/tuned', 'openrouter/lab/tuned', 'ollama/openai/gpt-4.1', "
            "'azure/gpt-4.1', 'sim/mine', 'lab/other', null]) as llm"
        )
        assert unlisted_among(connection, "asked", tmp_path) == ["lab/other", "lab/tuned", "openrouter/lab/tuned"]
        with (tmp_path / "llms.csv").open("a", encoding="utf-8") as file:
            file.write("lab/tuned,Meta,Tuned,true\n")
        refuse_mistakes({"seeds/llms.csv": tmp_path / "llms.csv"})
        assert unlisted_among(connection, "asked", tmp_path) == ["lab/other"]


def test_an_import_names_the_llms_whose_vendor_nobody_listed(archive, make, capsys):
    for name in ("mine-1", "openrouter/openai/gpt-4.1", "mine-2"):
        make.file(archive / f"{name.replace('/', '-')}.jsonl", make.baseline(model=name))
    assert main(["--archive", str(archive)]) == 0
    out = capsys.readouterr().out
    assert "  of unknown vendors: mine-1, mine-2; they count together as one vendor until seeds/llms.csv" in out


@pytest.mark.parametrize(("archive", "n_llms"), [("cognitive_biases_2026", 8), ("software_engineering_2026", 6)])
def test_each_llm_of_the_recorded_archives_has_a_vendor(archive, n_llms):
    folder = SHARED / "data" / "archives" / archive
    if not folder.is_dir():
        pytest.skip(f"no archive at {folder}; point BAIS_SHARED at a folder that has one")
    found = filter(None, (OF_A_FILE.search(path.name) for path in folder.rglob("*.json")))
    names = {next(filter(None, match.groups())) for match in found}
    assert len(names) == n_llms
    with duckdb.connect() as connection:
        connection.execute("create table asked as select unnest($names) as llm", {"names": sorted(names)})
        assert unlisted_among(connection, "asked") == []
