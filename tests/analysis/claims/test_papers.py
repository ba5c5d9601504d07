"""Folders of papers: what a person writes there, as claims; and what is wrong with it, in one sentence."""

import contextlib
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims.papers import PaperError, printed_number, read_paper, read_papers

PAPER = """
title: Anchors in invoices
study: lab-notes
tables:
  table-1.csv:
    where: Table 1
    labels: {Technique: technique, Model: llm}
    names: {Full SACD: sacd, o3: openai/o3}
    unit: "%"
    specification: as-recorded
    columns:
      Low [95 % CI]:
        cell: "{} [{}, {}]"
        numbers:
          - {id: "L-T1-{llm}-low", statement: "{Technique}, {Model}: low",
             quantity: percent_of_baseline, keys: anchor_direction=low}
          - {id: "L-T1-{llm}-from", statement: from, quantity: percent_of_baseline_low}
          - {id: "L-T1-{llm}-to", statement: to, quantity: percent_of_baseline_high}
      Sure: {id: "L-T1-{Technique_}-{llm}-sure", statement: stars, quantity: stars_behaviour, unit: stars}
      Notes:
"""
TABLE = """Technique,Model,Low [95 % CI],Sure,Notes
Full SACD,o3,"80.0 [75.5, 84.0]",**,none
,gpt-x,"\N{MINUS SIGN}1.5 [\N{EN DASH}2, 0.5]",,
,o4,\N{EM DASH},***,
"""
CLAIMS = """id,part,where,kind,statement,value,decimals,unit,quantity,keys,recommended,note
L-S2-n,,Section 2,,Trials,"14,152",,trials,n_trials,technique=all,,
L-S2-about,,Section 2,,Trials of one LLM,90,-1,trials,n_trials_per_llm,,,
L-S2-p,a,Section 2,,p,< .05,,,"tost_p_value = difference(L-T1-o3-low, L-S2-n)",,percent_of_baseline,
L-S2-less,,Section 2,sentence,It is less,< 3,,,mean(L-T1-*-low),,,
L-T1-o3-low,,,,,,,,,,,The digits are swapped.
"""
SPECIFICATIONS = "name,row_set,input_decimals\nas-recorded,as_recorded,1\n"
FILES = {"paper.yaml": PAPER, "table-1.csv": TABLE, "claims.csv": CLAIMS, "specifications.csv": SPECIFICATIONS}


@pytest.fixture
def folder(tmp_path):
    """Write a folder with these files, of which some are written otherwise, and return it."""

    def written(**otherwise):
        path = tmp_path / "lab-notes"
        path.mkdir()
        for name, text in (FILES | {key.replace("_", "."): value for key, value in otherwise.items()}).items():
            if text is not None:
                (path / name.replace("table.1", "table-1")).write_text(text, encoding="utf-8")
        return path

    return written


def test_a_table_as_printed_is_a_claim_for_each_number_of_its_cells(folder):
    paper, claims = read_paper(folder())
    assert (paper["document"], paper["title"], paper["study"], paper["digest"]) == (
        "lab-notes", "Anchors in invoices", "lab-notes", None,
    )  # fmt: skip
    found = {claim["claim_id"]: claim for claim in claims}
    assert list(found)[:4] == ["L-T1-o3-low", "L-T1-o3-from", "L-T1-o3-to", "L-T1-full_sacd-o3-sure"]
    low = found["L-T1-o3-low"]
    assert {name: value for name, value in low.items() if value is not None} == {
        "claim_id": "L-T1-o3-low", "document": "lab-notes", "location": "Table 1", "kind": "value",
        "statement": "Full SACD, o3: low", "published_value": 80.0, "decimals": 1, "unit": "%", "comparison": "=",
        "quantity": "percent_of_baseline", "study": "lab-notes", "technique": "sacd", "llm": "openai/o3",
        "anchor_direction": "low", "row_set": "as_recorded", "input_decimals": 1, "note": "The digits are swapped.",
    }  # fmt: skip
    # an empty cell of what a row is of repeats the one above; a dash is no number
    assert [found[f"L-T1-gpt-x-{end}"]["published_value"] for end in ("low", "from", "to")] == [-1.5, -2.0, 0.5]
    assert found["L-T1-gpt-x-low"]["technique"] == "sacd"
    assert "L-T1-o4-low" not in found
    stars = {name: claim["published_value"] for name, claim in found.items() if name.endswith("sure")}
    assert stars == {"L-T1-full_sacd-o3-sure": 2.0, "L-T1-full_sacd-o4-sure": 3.0}


def test_a_row_says_how_a_claim_is_printed_and_what_it_follows_from(folder):
    claims = {claim["claim_id"]: claim for claim in read_paper(folder())[1]}
    assert (claims["L-S2-n"]["published_value"], claims["L-S2-n"]["decimals"]) == (14152.0, 0)
    assert claims["L-S2-about"]["decimals"] == -1
    p = claims["L-S2-p"]
    assert (p["comparison"], p["published_value"], p["decimals"], p["unit"]) == ("<", 0.05, 2, "1")
    assert (p["part"], p["quantity"], p["derivation"]) == ("a", "tost_p_value", "difference")
    assert (p["inputs"], p["inputs_are"], p["recommended_quantity"]) == (
        "L-T1-o3-low L-S2-n", None, "percent_of_baseline",
    )  # fmt: skip
    assert claims["L-S2-less"]["inputs"] == "L-T1-o3-low L-T1-gpt-x-low"


def test_without_a_study_claims_derive_from_what_is_printed(folder):
    rows = (
        "id,where,statement,value,quantity,recommended,not_derivable\n"
        "B-a/1,T,a,1,n,,quoted\nB-b/1,T,b,2,n,,quoted\nB-a/2,T,a,3,n,,quoted\nB-b/2,T,b,3,n,,quoted\nB-c/1,T,c,4,n,,quoted\n"
        'B-more,T,more,1,"count_of_larger(B-a/{x}, B-b/{x})",as printed,\n'
    )
    claims = read_paper(folder(paper_yaml="title: t", claims_csv=rows, specifications_csv=None, table_1_csv=None))[1]
    more = claims[-1]
    assert (more["inputs_are"], more["inputs"]) == ("printed", "B-a/1 B-b/1 B-a/2 B-b/2")
    assert more["recommended_inputs"] == more["inputs"]


@pytest.mark.parametrize(
    ("file", "was", "becomes", "message"),
    [
        ("claims.csv", "technique=all", '"technique=all, llm=o3"', "claims.csv, row 2: technique=all, is no key"),
        ("claims.csv", "technique=all", "technique=all technique=sacd", "claims.csv, row 2: a key is there twice"),
        ("claims.csv", ",90,", ",1e400,", "1e400 is too large"),
        (
            "paper.yaml",
            'unit: "%"',
            "unit: months",
            "percent_of_baseline is in %, and the unit written is months",
        ),
        (
            "claims.csv",
            "technique=all",
            "llm_b=openai/o3",
            "claims.csv, row 2: it has an llm_b and no llm to compare it",
        ),
        ("claims.csv", "Trials of one", '"Trials of one', "claims.csv, row 4: it is no CSV"),
        ("claims.csv", "id,part", "id,id", "claims.csv, row 1: two columns have one name"),
        ("paper.yaml", "study: lab-notes", "year: soon", "paper.yaml: year is soon: it takes a whole number"),
        ("paper.yaml", "study: lab-notes", "version: v1", "paper.yaml: version and tables have keys of their own"),
        ("paper.yaml", "{} [{}, {}]", "{} [{}]", "as many {} in its cell as it has numbers"),
        ("paper.yaml", "Notes:", "Notes: spread", "what it says of table-1.csv is not as docs/how-to/add-a-claim.md"),
        (
            "specifications.csv",
            "\nas-",
            "\nas-recorded,,\nas-",
            "row 3: the specification as-recorded is there already",
        ),
        ("paper.yaml", "table-1.csv:", "../table-1.csv:", "the table ../table-1.csv has to lie in the paper's folder"),
        ("paper.yaml", "title:", "titel:", "paper.yaml: titel is no key: there are document, title"),
        ("paper.yaml", PAPER, "[1]", "paper.yaml: it is no list of keys and values"),
        ("paper.yaml", PAPER, "a: [", "paper.yaml: it is no YAML"),
        ("paper.yaml", "llm}", "lm}", "paper.yaml: lm is no key of table-1.csv: labels: there are domain, technique"),
        ("table-1.csv", "Sure,", "Certain,", "paper.yaml: table-1.csv has no column Sure, only Technique, Model"),
        (
            "table-1.csv",
            "80.0 [",
            "80.0 (",
            "table-1.csv, row 2: Low [95 % CI] is 80.0 (75.5, 84.0], not as {} [{}, {}]",
        ),
        ("table-1.csv", "**,none", "**", "table-1.csv, row 2: it has 4 cells, and the header 5"),
        ("claims.csv", ",90,", ",9 0,", "claims.csv, row 3: the value of L-S2-about: 9 0 is no number"),
        (
            "claims.csv",
            ",90,",
            ',"9,5",',
            "claims.csv, row 3: the value of L-S2-about: 9,5 has a decimal comma: write a point",
        ),
        ("claims.csv", ",-1,", ",few,", "claims.csv, row 3: decimals is few: it takes a whole number"),
        (
            "claims.csv",
            "technique=all",
            "technik=all",
            "claims.csv, row 2: technik=all is no key: write one of domain, technique",
        ),
        (
            "claims.csv",
            "difference(",
            "divide(",
            "claims.csv, row 4: the claim L-S2-p/a has the derivation divide, which is none of sum, mean",
        ),
        ("claims.csv", ",n_trials,", ",,", "claims.csv, row 2: it needs a quantity, or a sentence in not_derivable"),
        ("claims.csv", "< 3", "3", "claims.csv, row 5: a sentence is true if a number is above or below a limit"),
        ("claims.csv", "kind,", "sort,", "claims.csv, row 1: sort is no column: there are id, part"),
        ("claims.csv", "L-S2-about,", "L-S2-n,", "claims.csv, row 3: the claim L-S2-n is there already, in claims.csv"),
        ("claims.csv", "L-S2-about,,Section 2", "L-S2-about,,", "claims.csv, row 3: the claim L-S2-about has no where"),
        (
            "claims.csv",
            "L-S2-n)",
            "L-S2-m)",
            "claims.csv, row 4: the claim L-S2-p/a derives from L-S2-m, which is no claim",
        ),
        (
            "claims.csv",
            "mean(L-T1-*-low)",
            "mean(L-S2-less)",
            "claims.csv, row 5: the claim L-S2-less derives from itself",
        ),
        (
            "claims.csv",
            "(L-T1-o3-low, L-S2-n)",
            "(L-S2-n)",
            "claims.csv, row 4: the claim L-S2-p/a names 1 inputs; difference takes 2",
        ),
        ("paper.yaml", "as-recorded", "recorded", "there is no specification recorded in specifications.csv"),
        (
            "specifications.csv",
            ",as_recorded",
            ",as_told",
            "specifications.csv, row 2: row_set is as_told, not one of accepted",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_and_row(folder, file, was, becomes, message):
    text = FILES[file]
    assert was in text
    name = file.replace("-", "_").replace(".", "_")
    with pytest.raises(PaperError) as error:
        read_paper(folder(**{name: text.replace(was, becomes, 1)}))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("missing", "message"), [("paper.yaml", "is a folder with one"), ("table-1.csv", "no such file")]
)
def test_a_file_that_is_not_there_is_named(folder, missing, message):
    path = folder()
    (path / missing).unlink()
    with pytest.raises(PaperError, match=message) as error:
        read_paper(path)
    assert str(path / missing) in str(error.value)


def test_two_papers_cannot_have_a_claim_of_one_id(folder, tmp_path):
    path = folder()
    other = shutil.copytree(path, tmp_path / "other")
    with pytest.raises(PaperError, match="the id L-T1-o3-low is that of a claim of document lab-notes"):
        read_papers([path, other])


def test_two_papers_cannot_have_one_name(folder):
    path = folder()
    with pytest.raises(PaperError, match="there is a document lab-notes already"):
        read_papers([path, path])


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_a_number_is_read_as_it_is_written(number):
    assert printed_number(f"{number:,}") == (float(number), 3, "=")
    assert printed_number(f"< {number}") == (float(number), 3, "<")
    assert printed_number(f"{number}e-2")[1] == 5


@given(st.text(alphabet="0123456789.,eE+-<> ", max_size=8))
def test_what_is_no_number_is_refused_and_nothing_else_is_raised(text):
    with contextlib.suppress(ValueError):
        assert isinstance(printed_number(text)[0], float)
