"""What texts and facts come to, from judgements, measurements and replies to the tables: their laws, on drawn data."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from analysis.report.biases import sections_on_biases
from analysis.report.queries import queries
from analysis.report.studies import Study
from bais.sql_functions import register
from bais.warehouse import records
from ingest.warehouse import in_memory
from tests.analysis.test_outcomes import answered
from tests.tools.contracts import make_tables, relation_of
from tests.tools.report_page import numbers_that_differ
from tests.tools.unit_models import render

VARS = {"similarity_alphas": {"tfidf": 0.05, "minilm": 0.2}}
REPLY = st.sampled_from([True, False, None, "missing"])


def made(memory, *models):
    for name in models:
        relation = relation_of(name)
        memory.execute(f"create schema if not exists {relation.split('.')[0]}")
        memory.execute(f"create or replace table {relation} as {render(name, VARS, ref=relation_of)}")
    return memory.sql(f"from {relation}").df()


def landed(memory, name, rows):
    """Make the table of a model or seed, and put rows into it."""
    make_tables(memory, relation_of(name))
    memory.register("given_rows", pd.DataFrame(rows))
    memory.execute(f"insert into {relation_of(name)} by name from given_rows")
    memory.unregister("given_rows")


def checked(pairs):
    """Rows of fact_checks from what was said of the authentic and the falsified item of each pair."""
    rows = [
        {
            "trial_id": f"{place} {is_true}", "study": "s", "paradigm": "p", "llm": "a", "vignette": "v",
            "technique": "t", "temperature": 0.0, "item": f"{place} {is_true}",
            "pair": str(place), "is_true": is_true,
            "has_reply": True, "says_true": said, "is_right": said is not None and said == is_true, "confidence": None,
            "period": ("pre", "post", "unknown")[place % 3], "is_quarantined": False,
        }
        for place, of_pair in enumerate(pairs) for is_true, said in zip((True, False), of_pair, strict=True)
        if said != "missing"
    ]  # fmt: skip
    with in_memory() as memory:
        register(memory)
        landed(memory, "int_facts_checked", rows)
        return made(memory, "int_fact_pairs_checked", "fact_checks")


def test_invalid_replies_are_wrong_or_excluded_and_half_a_pair_does_not_enter():
    rows = checked([(True, False), (True, True), (False, False), (True, None), (True, "missing")])
    rows = rows[rows["period"] == "all"].set_index("invalid_replies")
    names = ["authentic_accuracy", "falsified_accuracy", "strict_accuracy"]
    assert rows.loc["wrong", names].to_list() == [3 / 4, 2 / 4, 1 / 4]
    assert rows.loc["excluded", names].to_list() == [2 / 3, 2 / 3, 1 / 3]
    assert rows["n_incomplete"].to_list() == [1, 1]


@pytest.mark.slow("many drawn sets of pairs")
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(REPLY, REPLY).filter(lambda pair: pair != ("missing", "missing")), min_size=1, max_size=20))
def test_both_are_right_at_most_as_often_as_either_and_at_least_as_often_as_these_force(pairs):
    rows = checked(pairs)
    used = rows[rows["n_pairs"] > 0]
    either = used[["authentic_accuracy", "falsified_accuracy"]]
    assert (used["strict_accuracy"] <= either.min(axis=1) + 1e-9).all()
    assert (used["strict_accuracy"] >= (either.sum(axis=1) - 1).clip(lower=0) - 1e-9).all()
    assert (np.sign(used["informedness"].round(9)) * used["d_prime"] >= -1e-6).all()
    halves = sum("missing" in pair for pair in pairs)
    assert set(rows.loc[rows["period"] == "all", "n_incomplete"]) == {halves}


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_bounds_of_changed_framings_hold_whatever_label_any_text_without_one_has(chance):
    texts = list(product("ab", range(4), range(2)))
    labels = {role: {text: chance.choice("PNU") for text in texts} for role in ("source", "answer")}
    labels["source"] = {text: labels["source"]["a", text[1], 0] for text in texts}
    unlabelled = {item for item in range(4) if chance.random() < 0.4}
    rows = [
        {
            "study": "s", "paradigm": "p", "llm": text[0], "technique": "t", "vignette": "v", "item": f"{text[1]}",
            "source_label": None if text[1] in unlabelled else labels["source"][text],
            "answer_label": None if chance.random() < 0.3 else labels["answer"][text], "is_quarantined": False,
        }
        for text in texts
    ]  # fmt: skip
    true_share = np.mean([labels["source"][text] != labels["answer"][text] for text in texts])
    with in_memory() as memory:
        register(memory)
        landed(memory, "int_framings_judged", rows)
        memory.execute(
            "update intermediate.int_framings_judged set is_changed = source_label != answer_label,"
            " is_counted = source_label is not null and not is_quarantined"
        )
        memory.execute(
            "create table intermediate.framings_corrected as select '' as study, '' as paradigm, '' as llm,"
            " '' as technique, unnest([]::double[]) as phi_low, null as phi_high, null as phi_corrected,"
            " null as phi_corrected_low, null as phi_corrected_high, null as identity_disagreement,"
            " null as identity_disagreement_expected, null as confidence, 0 as n_items, 0 as n_known_texts,"
            " 0 as n_identity_pairs, null as phi, 0 as n_llms, null as reason"
        )
        found = made(memory, "framing_changes").query("llm.isna()").iloc[0]
    assert found["phi_min"] - 1e-9 <= true_share <= found["phi_max"] + 1e-9
    assert pd.isna(found["phi"]) or found["phi_min"] - 1e-9 <= found["phi"] <= found["phi_max"] + 1e-9
    assert found["n_trials"] == len(texts)


@pytest.fixture(scope="module")
def retold():
    """Values of the answers of five LLMs with two techniques, and what was made of them in SQL and in Python."""
    rng = np.random.default_rng(1)
    trials, judged, measured = [], [], []
    labels = ("Positive", "Negative", "Neutral")
    for item in range(30):
        judged.append({"study": "s", "role": "original", "judged": f"i{item}", "label": labels[item % 3]})
        for llm in "abcde":
            for technique, share in (("no_technique", 0.5), ("helps", 0.1)):
                trial = f"{llm} {technique} {item}"
                label = labels[(item + (rng.random() < share)) % 3]
                judged.append({"study": "s", "role": "answer", "judged": trial, "label": label})
                trials.append({"trial_id": trial, "llm": llm, "technique": technique, "item": f"i{item}"})
                for instrument, shift in (("tfidf", 0.1), ("minilm", 0.3)):
                    thirds = {"beginning": 0.5 + shift * rng.random(), "middle": 0.5, "end": 0.4}
                    measured += [
                        {"study": "s", "trial_id": trial, "instrument": instrument, "measure": f"similarity_{third}",
                         "value": value}
                        for third, value in thirds.items()
                    ]  # fmt: skip
    common = {"study": "s", "paradigm": "retelling", "vignette": "v", "arm": "asked", "answer_kind": "text",
              "status": "answered", "is_quarantined": False, "is_flagged": False}  # fmt: skip
    measures = {"framing_changed": "judgement", "primacy": "measurement", "primacy_margin": "measurement",
                "coverage": "measurement"}  # fmt: skip
    paradigms = [
        {"study": "s", "paradigm": "retelling", "measure": measure, "measured_from": source, "pairing": "item",
         "better": "higher" if measure == "coverage" else "lower", "margin": 0.05, "answer_kind": "text",
         "relative_to": None, "goals": None}
        for measure, source in measures.items()
    ]  # fmt: skip
    trials = [{**common, **trial, "response_text": trial["trial_id"]} for trial in trials]
    texts = [{key: trial[key] for key in ("trial_id", "item", "response_text")} for trial in trials]
    with in_memory() as memory:
        register(memory)
        landed(memory, "int_trials_identified", trials)
        landed(memory, "stg_trials", texts)
        landed(memory, "stg_paradigms", paradigms)
        landed(memory, "stg_paradigm_contrasts", [{"study": "s", "paradigm": "retelling", "arm": "asked"}])
        landed(memory, "stg_measurements", measured)
        landed(memory, "stg_items", [{"study": "s", "item": "i0"}])
        landed(memory, "knowledge_cutoffs", [{"llm": "a"}])
        landed(memory, "int_texts_judged", judged)
        make_tables(memory, relation_of("int_responses_sourced"), relation_of("int_counts_published"))
        landed(memory, "int_versions_cited", [{"study": "other", "cited_study": "other@v1"}])
        made(memory, "int_framings_judged", "int_similarities_derived", "int_facts_checked", "int_fact_pairs_checked",
             "int_outcomes_measured")  # fmt: skip
        counts = made(memory, "counts")
        curves = made(memory, "primacy_curves")
        outcomes = made(memory, "outcomes")
    controls = pd.DataFrame(
        [{"study": None, "domain": None, "technique": None, "control": "no_technique", "comparison": "control"}]
    )
    contrasts = pd.DataFrame([{"study": "s", "paradigm": "retelling", "arm": "asked", "arm_b": None}])
    paradigms = pd.DataFrame(paradigms).assign(reference=None, is_share=False, is_unsigned=False)
    of_judges = None, pd.DataFrame(judged).assign(correct=None)
    return outcomes, curves, answered(counts, paradigms, contrasts, controls=controls, judged=of_judges)


def test_a_measure_has_as_many_rows_as_it_has_instruments(retold):
    outcomes = retold[0]
    found = outcomes.fillna({"instrument": "none"}).groupby(["measure", "instrument"]).size()
    assert found.to_dict() == {
        ("framing_changed", "none"): 300,
        **dict.fromkeys(product(("coverage", "primacy", "primacy_margin"), ("minilm", "tfidf")), 300),
    }  # fmt: skip
    assert outcomes["value"].notna().all()


def test_a_technique_that_keeps_the_framing_is_used_and_on_similarities_nothing_is_decided(retold):
    decisions = retold[2].query("part == 'decisions' and technique == 'helps' and llm.isna()")
    decisions = decisions.fillna({"instrument": "none"}).set_index(["measure", "instrument"])["decision"]
    assert decisions["framing_changed", "none"] == "use"
    assert list(decisions.index) == [("framing_changed", "none")]  # similarities describe, and are not decided on


def test_the_curve_falls_with_alpha_and_meets_the_share_at_the_alpha_of_the_instrument(retold):
    outcomes, curves, _ = retold
    for instrument, alpha in VARS["similarity_alphas"].items():
        of = curves[(curves["instrument"] == instrument) & (curves["llm"] == "a") & (curves["technique"] == "helps")]
        of = of.sort_values("alpha")
        assert (of["primacy"].diff().dropna() <= 0).all()
        chosen = outcomes.query("measure == 'primacy' and llm == 'a' and technique == 'helps'")
        share = chosen.loc[chosen["instrument"] == instrument, "value"].mean()
        assert of.loc[np.isclose(of["alpha"], alpha), "primacy"].item() == pytest.approx(share)


def test_the_page_shows_means_over_data_sets_and_leaves_out_who_was_not_asked_with_each():
    told = {
        "paradigm": "summarise", "measure": "framing_changed", "vignette": "v", "technique": "no_technique",
        "item": "i", "trial_id": "t",
    }  # fmt: skip
    cells = {("amazon", "a/one"): 0.1, ("media", "a/one"): 0.4, ("media", "b/two"): 0.9, ("made_up", "sim/three"): 0.7}
    rows = [told | {"study": study, "llm": llm, "value": value} for (study, llm), value in cells.items()]
    summary = {
        "study": "media",
        "paradigm": "summarise",
        "headline": "it is",
        "sentences": [],
        "notes": [],
        "goals": [],
    }
    with in_memory() as memory:
        landed(memory, "outcomes", rows)
        made(memory, "data_set_means")
        shown = records(memory, queries({"outcomes", "data_set_means"})["data_set_means"])
        tables = {"said_of_biases": [summary], "biases": [], "alterations": [], "techniques": [], "llms": []}
        (section,) = sections_on_biases(Study("media", False, tables | {"data_set_means": shown}), "study-1")
        page = "".join(str(Markup.escape(table)) for table in section.tables)
        n_numbers, wrong = numbers_that_differ(page, memory)
    assert {row["study"] for row in shown} == {"amazon", "media"}
    assert [(row["llm"], row["value"], row["n_llms_left_out"]) for row in shown if row["study"] == "media"] == [
        (None, pytest.approx(0.25), 1), ("a/one", pytest.approx(0.25), 0), ("b/two", 0.9, 0),
    ]  # fmt: skip
    assert "all that were asked with each data set" in page
    assert (n_numbers, wrong) == (12, [])
