"""What is picked, ranked or counted among equals is the same in every build, in whatever order rows come."""

from itertools import permutations, product

from ingest.warehouse import in_memory
from tests.test_content_marts import landed, made

# mean displacements of 0.2 over all temperatures, but for the last bits of a sum, and at temperature 0 their order
TIED = {"first": (0.01, 0.02, 0.03), "second": (0.1, 0.2, 0.3), "third": (0.3, 0.2, 0.1)}
AT_0 = {"first": (0.0, 0.0, 0.0), "second": (0.5, 0.6, 0.7), "third": (0.4, 0.4, 0.3)}
RANKED_OTHERWISE = "n_temperatures_ranked_otherwise_by_displacement"


def over_llms(llms):
    """Rows of int_claims_recommended where the LLMs come in this order."""
    rows = [
        {
            "study": "s", "domain": "d", "vignette": "v", "technique": technique, "llm": f"{llm}",
            "anchor_direction": direction, "temperature_scope": scope, "row_set": "accepted",
            "baseline_scope": "pooled", "weighting": "llm", "n_trials": 1, "skewness": 0.0, "deviation_pp": of[llm],
        }
        for scope, values in (("pooled", TIED), ("0", AT_0))
        for (technique, of), llm, direction in product(values.items(), llms, ("low", "high", "both"))
    ]  # fmt: skip
    keys = ("study", "domain", "vignette", "technique", "llm")
    measured = {"paradigm": "anchoring", "goal": "displacement", "loss": 1.0}
    effects = [{key: row[key] for key in keys} | measured for row in rows if row["temperature_scope"] == "0"]
    with in_memory() as memory:
        memory.execute("set threads = 1")
        landed(memory, "int_claim_specifications", [{"study": "s"}])
        memory.execute("create table intermediate.fewest_llms as select 3 as n_llms")
        landed(memory, "techniques", [{"technique": technique, "is_ranked": True} for technique in TIED])
        landed(memory, "effects", effects)
        landed(memory, "technique_effects", rows)
        for name in ("intervals", "decisions"):
            landed(memory, name, [{"study": "another"}])
        return made(memory, "int_claims_recommended").set_index(["quantity", "technique", "technique_b"]).sort_index()


def test_techniques_of_one_mean_have_no_order_in_which_a_temperature_could_rank_them_otherwise():
    found = [over_llms(llms) for llms in permutations(range(3))]
    assert [of.loc[RANKED_OTHERWISE, ["value", "low", "high"]].values.tolist() for of in found] == [[[0, 0, 0]]] * 6
    assert all(of.equals(found[0]) for of in found)
