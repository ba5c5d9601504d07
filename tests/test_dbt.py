"""What a user of dbt expects of the project."""

import re

from ingest.warehouse import ROOT


def test_a_selection_builds_in_a_warehouse_of_its_own_on_a_fresh_clone(new_warehouse, tmp_path):
    new_warehouse.environment["BAIS_DEV_WAREHOUSE"] = str(tmp_path / "dev.duckdb")
    new_warehouse.run("dbt", "--quiet", "build", "--target", "dev", "--select", "+trials")
    assert (tmp_path / "dev.duckdb").exists()
    assert not new_warehouse.path.exists()


def test_the_target_dev_starts_from_what_was_landed_and_leaves_it_alone(simulated, warehouse_in, tmp_path):
    before = simulated.path.read_bytes()
    simulated.environment["BAIS_DEV_WAREHOUSE"] = str(tmp_path / "warehouse.duckdb")
    simulated.run("dbt", "--quiet", "run", "--target", "dev", "--select", "stg_trials")
    assert simulated.path.read_bytes() == before
    n_trials = "select count(*) from raw.trials"
    assert warehouse_in(tmp_path).query("select count(*) from staging.stg_trials") == simulated.query(n_trials)


def test_the_selector_light_leaves_out_inference_and_what_needs_it(new_warehouse):
    listing = ("dbt", "--quiet", "ls", "--resource-type", "model", "--output", "name", "--selector", "light")
    rooms = {path.stem: path.parts for path in (ROOT / "models").rglob("*.*") if path.suffix in (".sql", ".py")}
    left_out = rooms.keys() - set(new_warehouse.run(*listing).split())
    inference = {name for name, parts in rooms.items() if "inference" in parts}
    assert left_out == inference | {"estimates", "inferred_estimates", "claim_checks"}


def test_refs_are_imported_on_top_of_each_model():
    late = []
    for path in (ROOT / "models").rglob("*.sql"):
        text = re.sub(r"^\s*--.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        parts = re.split(r"^\s*(?:with (?:recursive )?)?[\w{} ]+ as \($|^select", text, flags=re.MULTILINE)[1:]
        has_ref = ["ref(" in part or "source(" in part for part in parts]
        late += [path.name] if has_ref != sorted(has_ref, reverse=True) else []
    assert late == []
