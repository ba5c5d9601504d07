"""How `make run` ends, on warehouses that are made for it."""

import contextlib

import duckdb
import pytest

from bais.ending import main
from tests.tools.contracts import insert, make_tables

PLACES = [
    # study, domain, source, n LLMs, n vendors, technique, decision
    ("own", "law", "recorded", 8, 6, "sacd", "use"),
    ("own", "law", "recorded", 8, 6, "calm", "avoid"),
    ("own", "law", "recorded", 8, 6, "outside_view", "no_evidence"),
    ("own", "loan", "recorded", 2, 1, "sacd", "no_evidence"),
    ("own", "salary", "recorded", 2, 1, "sacd", "no_evidence"),
    ("made-up", "law", "simulated", 9, 9, "sacd", "use"),
]


@pytest.fixture
def ending(tmp_path, monkeypatch, capsys):
    """From SQL that changes a made warehouse to the lines with which a run ends."""
    path = tmp_path / "some.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as made:
        make_tables(made, "marts.trials", "marts.claim_checks", "inference.decisions", "seeds.techniques")
        make_tables(made, "staging.stg_paradigms", "papers.anchor_effects")
        insert(made, "seeds.techniques", technique="sacd", display_name="SACD")
        for i, (study, domain, source, n_llms, n_vendors, technique, decision) in enumerate(PLACES):
            place = {"study": study, "paradigm": "anchoring", "domain": domain, "technique": technique}
            insert(made, "marts.trials", **place, trial_id=f"t{i}", llm="a/b", vignette="v", source=source)
            insert(
                made, "inference.decisions", **place, decision=decision, n_llms=n_llms, n_vendors=n_vendors,
                certainty="supported" if n_vendors > 4 else "too_few_vendors", goal="gap", comparison="control",
                is_primary=True,
            )  # fmt: skip
        for holds in ("holds", "contradicted"):
            insert(
                made, "marts.claim_checks", claim_id=holds, holds=holds, recomputes="yes", rests_on="trials",
                is_first_place=True,
            )  # fmt: skip
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: 80)
    report = tmp_path / "report.txt"
    report.write_text("/some where/site/index.html: 1.2 MB, study own\n/some where/more.html: 3 kB\n")

    def said(statements="select 1"):
        with contextlib.closing(duckdb.connect(str(path))) as made:
            made.execute(statements)
        assert main("bais", str(report)) == 0
        lines = capsys.readouterr().out.splitlines()
        assert (len(lines) <= 15, max(map(len, lines)) <= 80) == (True, True), lines
        return lines

    return said


def test_a_run_ends_with_what_it_says_what_to_look_at_first_the_file_and_the_next_command(ending, golden):
    lines = ending()
    golden("\n".join(lines))
    values = [line[17:] for line in lines if line.startswith(("look", "open", "next"))]
    assert values[1:] == ["/some where/site/index.html", "bais recommend --domain law --study own"]


def test_a_run_without_an_archive_says_what_can_be_done_next_and_nothing_of_papers(ending, golden):
    lines = ending(
        "delete from marts.trials where source != 'simulated'; "
        "update marts.claim_checks set recomputes = 'not_checked', holds = null"
    )
    golden("\n".join(lines))
    assert not {"claims", "use", "law:"} & set(" ".join(lines).split())


def test_a_run_with_answers_that_cannot_be_compared_shows_these(ending):
    lines = ending("delete from inference.decisions")
    assert any(line.endswith("bais trials --study own") for line in lines)


def test_a_run_with_scores_alone_shows_these(ending):
    lines = ending(
        "delete from marts.trials where source != 'simulated'; "
        "insert into papers.anchor_effects (study, llm) values ('read-off', 'a/b')"
    )
    assert any(line.endswith("bais headlines --study read-off") for line in lines)
