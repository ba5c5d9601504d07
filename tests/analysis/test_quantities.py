"""A claim is looked up in the table that has its number, as a row of `seeds/quantities.csv` says."""

import csv
import re

import duckdb
import pytest

from analysis.claims.quantities import NUMBERS, RECOMMENDED, looked_up, lookups
from analysis.methods.small_samples import share_interval
from bais.sql_functions import register
from ingest.warehouse import ROOT, in_memory
from tests.tools.contracts import make_tables, relation_of

KEYS = ("claim_id", "part", "purpose", "of_version", "quantity", "study", "technique", "llm", "method", "scoring_set")
TABLES = {
    "means": """
        from (values
            ('s', 'sacd', 'a', 10.0, 3), ('s', 'sacd', 'b', 20.0, 4), ('s', 'none', 'a', 90.0, 5),
            ('twice', 'sacd', 'a', 1.0, 1), ('twice', 'sacd', 'a', 2.0, 1)
        ) as means (study, technique, llm, mean, n_trials)""",
    "of_pairs": """
        select 's' as study, 'sacd' as technique_a, 'none' as technique_b, 'trial' as level, 7.0 as difference""",
    "int_claims_recommended": """
        from (values ('mean', 's', 'sacd', 'a', 11.0, 8.0, 12.0, 9, 5))
            as rows (quantity, study, technique, llm, value, low, high, n_trials, n_llms)""",
}
MEAN = {"quantity": "mean", "relation": "means", "value": "mean"}
LEAST = {"quantity": "least", "relation": "means", "value": "min(mean)", "over": "llm", "n_llms": "count(distinct llm)"}
PAIR = "asked.technique = technique_a and asked.method = level || '/' || technique_b"
DIFFERENCE = {"quantity": "difference", "relation": "of_pairs", "value": "-difference", "where": PAIR}
SHARE = {"quantity": "percent_below_baseline", "relation": "means", "value": "mean"}


def found(asked, *rows, tables=TABLES):
    """What is looked up of claims that ask for these keys, by claim."""
    with duckdb.connect() as connection:
        for name, query in tables.items():
            connection.execute(f"create table {name} as {query}")
        connection.execute(f"create table asked ({', '.join(f'{key} varchar' for key in KEYS)})")
        for i, claim in enumerate(asked):
            claim = {"claim_id": str(i), "purpose": "published", "of_version": "cited", "study": "s"} | claim
            connection.execute(
                "insert into asked values (" + ", ".join("?" * len(KEYS)) + ")", [claim.get(key) for key in KEYS]
            )
        relations = {name: connection.table(name) for name in tables}
        columns = ("where", "low", "high", "over", "n_trials", "n_llms")
        quantities = [dict.fromkeys(columns) | row for row in rows]
        queries = lookups(quantities, connection.table("asked"), relations)
        claims = looked_up(row for query in queries for row in connection.execute(query).fetchall())
    return {claim["claim_id"]: claim for claim in claims}


def test_a_claim_has_the_number_of_the_row_that_has_its_keys_and_no_others():
    of_llm = {"quantity": "mean", "technique": "sacd", "llm": "b"}
    asked = [of_llm, of_llm | {"llm": None}, of_llm | {"method": "m"}, of_llm | {"study": "twice", "llm": "a"}]
    claims = found(asked, MEAN)
    assert claims.keys() == {"0"}
    assert (claims["0"]["recomputed_value"], claims["0"]["n_trials"]) == (20, 4)


def test_a_number_over_some_keys_is_of_all_their_rows():
    asked = [{"quantity": "least", "technique": "sacd"}, {"quantity": "least", "technique": "sacd", "llm": "a"}]
    claims = found([claim | {"purpose": "recommended"} for claim in asked], LEAST)
    assert claims.keys() == {"0"}
    assert (claims["0"]["recommended_value"], claims["0"]["n_llms"]) == (10, 2)


def test_a_key_that_the_condition_names_is_compared_as_it_says():
    asked = [{"quantity": "difference", "technique": name, "method": "trial/none"} for name in ("sacd", "none")]
    assert {key: claim["recomputed_value"] for key, claim in found(asked, DIFFERENCE).items()} == {"0": -7}


def test_what_is_recommended_has_its_interval_beside_it_and_its_own_value_only_where_there_is_no_other():
    asked = [{"quantity": "mean", "technique": "sacd", "llm": "a", "purpose": "recommended"}]
    ends = ["recommended_value", "recommended_low", "recommended_high", "n_llms"]
    assert [found(asked, MEAN)["0"][name] for name in ends] == [10, 8, 12, 5]
    assert [found(asked, MEAN | {"relation": None})["0"][name] for name in ends] == [11, 8, 12, 5]


def test_a_share_of_the_answers_of_one_llm_has_an_exact_interval():
    asked = [{"quantity": SHARE["quantity"], "technique": "none", "llm": "a", "purpose": "recommended"}]
    tables = TABLES | {"means": "select 's' as study, 'none' as technique, 'a' as llm, 80.0 as mean, 5 as n_trials"}
    claim = found(asked, SHARE, tables=tables)["0"]
    low, high = share_interval(4, 5)
    assert (claim["recommended_low"], claim["recommended_high"]) == (
        pytest.approx(100 * low),
        pytest.approx(100 * high),
    )


def test_a_table_that_is_not_among_them_is_named():
    with pytest.raises(ValueError, match=r"quantities\.csv: mean is looked up in medians, which is none of means, of_"):
        found([{"quantity": "mean"}], MEAN | {"relation": "medians"})


def test_each_row_of_the_seed_is_sql_over_its_table():
    with (ROOT / "seeds/quantities.csv").open(encoding="utf-8", newline="") as file:
        rows = [{name: text or None for name, text in row.items()} for row in csv.DictReader(file)]
    model = (ROOT / "models/claims/internal/int_claims_derived.py").read_text(encoding="utf-8")
    names = dict(re.findall(r'"(\w+)": dbt\.ref\("(\w+)"\)', model))
    with in_memory() as memory:
        register(memory)
        made = [relation_of(name) for name in names.values() if name != RECOMMENDED["relation"]]
        make_tables(memory, "intermediate.int_claim_specifications", *made)
        numbers = ", ".join(f"{name} {kind}" for name, kind in NUMBERS.items())
        memory.execute(f"create table {relation_of(RECOMMENDED['relation'])} (quantity varchar, {numbers})")
        memory.execute("set variable margin = 5.0")
        asked = memory.table("intermediate.int_claim_specifications")
        relations = {name: memory.table(relation_of(model)) for name, model in names.items()}
        for quantity in {row["quantity"] for row in rows}:
            memory.execute("insert into intermediate.int_claim_specifications (quantity) values (?)", [quantity])
        queries = list(lookups(rows, asked, relations))
        assert len(queries) > 150
        assert [row for query in queries for row in memory.execute(query).fetchall()] == []
