"""What a user of dbt expects of the project."""

import itertools
import re
import warnings

import duckdb
import jinja2
import pytest
import yaml
from scipy.special import ndtri, stdtrit

from bais.spark import AFTER, BEFORE, SELECTOR
from ingest.land.raw import key_of
from ingest.warehouse import ROOT


@pytest.mark.slow("starts dbt as a user does")
def test_a_selection_builds_in_a_warehouse_of_its_own_on_a_fresh_clone(new_warehouse, tmp_path):
    new_warehouse.environment["BAIS_DEV_WAREHOUSE"] = str(tmp_path / "dev.duckdb")
    new_warehouse.run("dbt", "--quiet", "build", "--target", "dev", "--select", "+trials")
    assert (tmp_path / "dev.duckdb").exists()
    assert not new_warehouse.path.exists()


def test_the_target_dev_starts_from_what_was_landed_and_leaves_it_alone(simulated, warehouse_in, tmp_path):
    before = simulated.path.read_bytes()
    simulated.environment["BAIS_DEV_WAREHOUSE"] = str(tmp_path / "warehouse.duckdb")
    simulated.dbt("--quiet", "run", "--target", "dev", "--select", "stg_trials")
    assert simulated.path.read_bytes() == before
    n_trials = "select count(*) from raw.trials"
    assert warehouse_in(tmp_path).query("select count(*) from staging.stg_trials") == simulated.query(n_trials)


def test_the_selector_light_leaves_out_inference_and_what_needs_it(new_warehouse):
    listing = ("--quiet", "ls", "--resource-type", "model", "--output", "name", "--selector", "light")
    rooms = {path.stem: path.parts for path in (ROOT / "models").rglob("*.*") if path.suffix in (".sql", ".py")}
    left_out = rooms.keys() - set(new_warehouse.dbt(*listing).split())
    inference = {name for name, parts in rooms.items() if {"inference", "scores"} & set(parts)}
    ledger = {
        "int_claims_recommended", "int_claims_derived", "int_claim_indices", "claim_checks", "judge_agreement",
        "framing_changes", "validator_agreement",
    }  # fmt: skip
    without_statistics = {"attributions", "attribution_distributions"}
    assert left_out == (inference | ledger) - without_statistics


@pytest.mark.slow("dbt started anew")
def test_each_model_is_made_once_by_spark_or_by_duckdb(new_warehouse):
    listing = ("--quiet", "ls", "--resource-type", "model", "--output", "name")
    parts = [new_warehouse.dbt(*listing, "--selector", name).split() for name in (BEFORE, SELECTOR, AFTER)]
    there = [path.stem for path in (ROOT / "models").rglob("*.*") if path.suffix in (".sql", ".py")]
    assert sorted(itertools.chain(*parts)) == sorted(there)
    assert {"stg_trials", "int_trials_treated", "counts", "technique_costs"} <= set(parts[1])


def test_a_unit_test_names_the_value_of_each_var_that_its_model_asks_for():
    asked, unnamed = {}, []
    for path in (ROOT / "models").rglob("*.sql"):
        asked[path.stem] = set(re.findall(r"""\bvar\(["'](\w+)["']\)""", path.read_text(encoding="utf-8")))
    for path in (ROOT / "models").rglob("*.yml"):
        for test in yaml.safe_load(path.read_text(encoding="utf-8")).get("unit_tests", []):
            missing = asked.get(test["model"], set()) - set(test.get("overrides", {}).get("vars", {}))
            unnamed += [(test["name"], name) for name in sorted(missing)]
    assert unnamed == []


def test_refs_are_imported_on_top_of_each_model():
    late = []
    for path in (ROOT / "models").rglob("*.sql"):
        text = re.sub(r"^\s*--.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        parts = re.split(r"^\s*(?:with (?:recursive )?)?[\w{} ]+ as \($|^select", text, flags=re.MULTILINE)[1:]
        has_ref = ["ref(" in part or "source(" in part for part in parts]
        late += [path.name] if has_ref != sorted(has_ref, reverse=True) else []
    assert late == []


def test_every_model_has_a_description_and_every_one_below_the_marts_that_is_stored_a_key():
    declared = {}
    for path in (ROOT / "models").rglob("*.yml"):
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", []):
            declared[model["name"]] = model
    paths = [path for path in (ROOT / "models").rglob("*.*") if path.suffix in (".sql", ".py")]
    assert [path.stem for path in paths if not declared[path.stem].get("description")] == []

    stored = [path.stem for path in paths if path.parent.name in ("staging", "intermediate")]
    assert [name for name in stored if not key_of(declared[name])] == []


def test_what_holds_of_single_columns_is_one_test_of_their_table():
    alone = []
    for path in [*(ROOT / "models").rglob("*.yml"), ROOT / "seeds" / "_seeds.yml"]:
        declared = yaml.safe_load(path.read_text(encoding="utf-8"))
        for table in declared.get("models", []) + declared.get("seeds", []):
            for column in table.get("columns", []):
                for test in column.get("data_tests", []):
                    kind, more = (test, {}) if isinstance(test, str) else next(iter(test.items()))
                    if kind in ("not_null", "within", "accepted_values") and "config" not in more:
                        alone.append((table["name"], column["name"], kind))
    assert alone == []


def test_a_column_that_breaks_its_rule_is_named_with_its_table_and_an_example(new_warehouse):
    with duckdb.connect(new_warehouse.path) as connection:
        connection.execute("""
            create schema marts;
            create schema intermediate;
            create table intermediate.decided as select unnest([null, 'predictions', 'both', 'both']) as part;
            create table marts.conditions as
            select *, 'anchoring' as paradigm, null as measure, null as instrument, null as item, 1 as mean,
                1 as anchoring_index, 'low' as arm, 'v' as vignette, 't' as technique, null as llm,
                'accepted' as row_set, 'all' as temperature_scope
            from (values
                ('a', 0, 1.5, 99, null), ('b', 1, null, 'inf'::double, null), ('b', null, null, null, 'no_answer')
            ) as conditions (study, n_asked, sd, percent_of_baseline, reason);
        """)
    with pytest.raises(AssertionError) as complaint:
        new_warehouse.dbt("--quiet", "test", "--select", "conditions decided,test_name:columns_are")
    cell = (
        "'study': b, 'paradigm': anchoring, 'measure': NULL, 'instrument': NULL, 'llm': NULL, 'vignette': v, "
        "'item': NULL, 'technique': t, 'arm': low, 'row_set': accepted, 'temperature_scope': all"
    )
    assert {line.strip() for line in str(complaint.value).splitlines() if " offence = " in line} == {
        "decided: offence = part is null, n_rows = 1, example = {'part': NULL}",
        "decided: offence = part is none of decisions, predictions, multiverse, n_rows = 2, example = {'part': both}",
        f"conditions: offence = n_asked is below 1 or no finite number, n_rows = 1, "
        f"example = {{{cell.replace(': b', ': a')}, 'n_asked': 0}}",
        f"conditions: offence = percent_of_baseline is no finite number, n_rows = 1, "
        f"example = {{{cell}, 'percent_of_baseline': inf}}",
        f"conditions: offence = sd is null without a reason, n_rows = 1, example = {{{cell}, 'sd': NULL}}",
        "conditions: offence = study, paradigm, measure, instrument, llm, vignette, item, technique, arm, row_set, "
        f"temperature_scope is there more than once, n_rows = 2, example = {{{cell}}}",
    }


def test_the_quantile_of_t_that_claims_use_is_within_0_2_percent_of_scipys():
    text = (ROOT / "macros/claims.sql").read_text(encoding="utf-8")
    normal, quantile = (
        re.search(rf"macro {name}\(.*?\) -%}}(.*?){{%- endmacro", text, re.DOTALL)[1]
        for name in ("normal_quantile_975", "t_quantile_975")
    )
    assert float(normal) == pytest.approx(ndtri(0.975), rel=1e-15)
    quantile = quantile.replace("{{ df }}", "df").replace("{{ normal_quantile_975() }}", normal)
    found = duckdb.sql(f"select df, {quantile} from range(1, 2000) as found (df)").fetchall()
    assert all(value == pytest.approx(stdtrit(df, 0.975), rel=0.002) for df, value in found)


def test_no_model_groups_by_a_count_of_llms_which_may_differ_within_a_row():
    counts = [
        path.name
        for path in (ROOT / "models").rglob("*.sql")
        if re.search(r"group by(?! all)[^\n]*\bn_llms\b", path.read_text(encoding="utf-8"))
    ]
    assert counts == []


@pytest.mark.parametrize("room", ["macros", "models", "tests/models"])
def test_no_text_in_a_template_has_an_escape_that_python_does_not_know(room):
    lexer = jinja2.Environment().lexer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in (ROOT / room).rglob("*.sql"):
            assert list(lexer.tokenize(path.read_text(encoding="utf-8"))), path.name
