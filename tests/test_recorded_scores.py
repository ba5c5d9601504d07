"""Document D's recorded scores through import, gate and models, and the ledger of its printed numbers."""

import contextlib
import csv
import re
import shutil
from collections import Counter
from functools import cache

import duckdb
import numpy as np
import pytest
from markupsafe import Markup
from scipy import special, stats

from analysis.claims.papers import read_papers
from analysis.report.queries import queries
from analysis.report.scores import sections_on_scores
from analysis.report.studies import Study
from analysis.words.scores import SAID, sentences
from bais.warehouse import records
from tests.conftest import ROOT, SHARED
from tests.tools.readme import of_ledger, of_readme
from tests.tools.report_page import numbers_that_differ

pytestmark = pytest.mark.slow("builds the tables of the recorded scores")

SCORES = SHARED / "data" / "anchoring_llms"
FILES = {
    "google/gemma-2b": "google_gemma-2b",
    "microsoft/phi-2": "microsoft_phi-2",
    "openai/gpt2": "gpt2",
    "EleutherAI/gpt-neo-125M": "EleutherAI_gpt-neo-125M",
    "meta-llama/Llama-2-7b-hf": "meta-llama_Llama-2-7b-hf",
    "tiiuae/falcon-rw-1b": "tiiuae_falcon-rw-1b",
}
TARGETS = np.arange(101)
FIELDS = ("scene", "comparative", "absolute", "anchor")
ABSS = {
    "google/gemma-2b": 0.983149245261558,
    "microsoft/phi-2": 0.589393057339579,
    "openai/gpt2": 0.289022663785751,
    "EleutherAI/gpt-neo-125M": -0.194505040427403,
    "meta-llama/Llama-2-7b-hf": 0.460217655584679,
    "tiiuae/falcon-rw-1b": 0.132492600613020,
}
MEANS = """
select llm, avg(abss) from papers.sensitivity_scores
where specification = 'published' and variation <> 'V0' group by llm
"""
BESIDE_CALLS = ("expectations", "sensitivities", "distributions", "curves", *SAID)
OF_SCORES = {
    "anchor_calls", "anchor_effects", "soft_expectations", "sensitivity_scores", "anchor_sensitivities",
    "sensitivity_trends", "attributions", "attribution_distributions",
}  # fmt: skip
QUERIES = {name: queries(OF_SCORES)[name] for name in BESIDE_CALLS}


@pytest.fixture(scope="module")
def scored(warehouse_in, tmp_path_factory):
    """The recorded scores and no trials, with their tables and the ledger of them."""
    if not SCORES.is_dir():
        pytest.skip(f"the recorded scores are not at {SCORES}")
    warehouse = warehouse_in(tmp_path_factory.mktemp("scored"))
    said = warehouse.bais("import", SCORES)
    assert "14,544 scores read: 14,544 new" in said
    assert "failed" not in said
    assert re.findall(r"(\S+) of anchoring-llms passed \(warnings (.+?)\)", said) == [("V0", "scorings_disagree")]
    tables = ("+path:models/scores", "+sensitivity_trends", "+claim_checks")
    warehouse.dbt("--quiet", "build", "--select", *tables, "--exclude-resource-type", "unit_test")
    return warehouse


def test_the_mean_abss_of_each_llm_is_the_published_one(scored):
    assert dict(scored.query(MEANS)) == pytest.approx(ABSS, abs=1e-9)


def test_methodology_says_what_the_published_tests_count_and_take_for_independent(scored):
    ((n_opposite, n_rows, lag),) = scored.query(
        "select count(*) filter (where sign(mean_difference) != sign(delta_ev)), count(*), median(lag_1_correlation) "
        "from papers.anchor_effects where specification = 'published'"
    )
    text = " ".join((ROOT / "docs" / "methodology.md").read_text(encoding="utf-8").split())
    assert f"have opposite signs in {n_opposite} of {n_rows} rows" in text
    assert f"(`lag_1_correlation` is {lag:.2f} in the median)".replace(" 0.", " .") in text


def test_every_specification_has_66_rows_and_v0_is_read_once(scored):
    counts = "select specification, count(*), count(distinct scoring) from papers.anchor_effects group by all"
    assert {found[1:] for found in scored.query(counts)} == {(66, 12)}
    v0 = "select bool_and(contains(scoring, '/standard@')) from papers.anchor_effects where variation = 'V0'"
    assert scored.query(v0) == [(True,)]
    assert scored.query("select count(*) from papers.soft_expectations where specification = 'published'") == [(132,)]


def test_the_headline_is_the_difference_of_expectations_over_five_questions(scored):
    rows = scored.query(
        "select llm, round(estimate, 1), round((high - low) / 2, 1), df from papers.anchor_sensitivities "
        "where comparison = 'anchors' and specification = 'recommended' and metric = 'delta_ev' and not has_v0 "
        "order by llm"
    )
    assert rows == [
        ("EleutherAI/gpt-neo-125M", 7.4, 2.8, 4), ("google/gemma-2b", 24.3, 12.2, 4),
        ("meta-llama/Llama-2-7b-hf", 22.4, 19.7, 4), ("microsoft/phi-2", 5.6, 5.1, 4), ("openai/gpt2", 10.6, 4.5, 4),
        ("tiiuae/falcon-rw-1b", 21.4, 7.6, 4),
    ]  # fmt: skip


def test_both_files_of_an_llm_agree_on_v0_but_those_of_llama(scored):
    checks = "select count(*) from raw.batch_checks where check_name = 'scorings_disagree'"
    assert scored.query(checks) == [(72,)]
    names = [
        f"anchoring_{FILES['meta-llama/Llama-2-7b-hf']}_results_{regime}.csv"
        for regime in ("standard", "different_anchors")
    ]
    differing = sum(a != b for a, b in zip(*(v0_of(name) for name in names), strict=True))
    found = scored.query(f"{checks.replace('count(*)', 'detail, observed_value')} and observed_value > 0")
    assert [(detail.startswith("meta-llama/Llama-2-7b-hf, V0"), n) for detail, n in found] == [(True, differing)] * 2


def v0_of(name):
    with (SCORES / name).open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["VariationID"] == "0"]
    return [
        row["LogProbFullPrompt"] for row in sorted(rows, key=lambda row: (int(row["Anchor"]), int(row["TargetInt"])))
    ]


def test_of_fifteen_pairs_of_llms_nine_differ_in_the_abss(scored):
    rows = scored.query(
        "select llm, llm_b, round(estimate, 6), low > 0, df from papers.anchor_sensitivities "
        "where comparison = 'llms' and metric = 'abss' and specification = 'published' and not has_v0 "
        "and estimate > 0 order by all"
    )
    assert len(rows) == 15
    for llm, other, estimate, _, df in rows:
        assert (estimate, df) == (pytest.approx(ABSS[llm] - ABSS[other], abs=1e-6), 4)
    assert [row[:2] for row in rows if not row[3]] == [
        ("google/gemma-2b", "meta-llama/Llama-2-7b-hf"), ("google/gemma-2b", "microsoft/phi-2"),
        ("meta-llama/Llama-2-7b-hf", "openai/gpt2"), ("meta-llama/Llama-2-7b-hf", "tiiuae/falcon-rw-1b"),
        ("microsoft/phi-2", "meta-llama/Llama-2-7b-hf"), ("openai/gpt2", "tiiuae/falcon-rw-1b"),
    ]  # fmt: skip


def test_six_llms_show_no_trend_with_size(scored):
    rows = scored.query(
        "select n_llms, n_llms_left_out, slope between low and high, low < 0 and high > 0, "
        "round(least_p_rank * 360, 9) from papers.sensitivity_trends "
        "where metric = 'abss' and specification = 'published' and not has_v0"
    )
    assert rows == [(6, 0, True, True, 1)]


# of document D's repository, Data/ABSS/bss_per_variation.csv: what its figure 21 draws
FIGURE_21 = {
    ("openai/gpt2", "V0"): 0.13052669412631446, ("google/gemma-2b", "V5-S"): 1.4436935547317773,
    ("meta-llama/Llama-2-7b-hf", "V4-D"): -0.05635698075711333, ("tiiuae/falcon-rw-1b", "V3-S"): 0.688267650741578,
    ("microsoft/phi-2", "V2-D"): 0.015964810441356142, ("EleutherAI/gpt-neo-125M", "V0"): -0.38174567841131746,
}  # fmt: skip


def test_the_score_of_each_question_is_what_figure_21_draws(scored):
    query = "select llm, variation, abss from papers.sensitivity_scores where specification = 'published'"
    found = {(llm, variation): abss for llm, variation, abss in scored.query(query)}
    assert len(found) == 66
    assert {key: found[key] for key in FIGURE_21} == pytest.approx(FIGURE_21, abs=1e-9)


def test_what_the_anchor_adds_to_gpt_2_s_answers_to_v0_is_what_figure_1_draws(scored):
    """Mean and SD as document D's repository has them in Data/Stats/anchoring_gpt2_statistical_summary_standard.csv."""
    rows = scored.query(
        "select anchor, mean, sd from papers.attribution_distributions where field = 'anchor' "
        "and specification = 'published' and llm = 'openai/gpt2' and variation = 'V0' order by anchor"
    )
    expected = [(10, -0.4348743645714061, 0.2865043303478558), (65, -0.1929832572246542, 0.3400597203849253)]
    assert [tuple(row) for row in rows] == [pytest.approx(of, abs=1e-7) for of in expected]


@cache
def contributions(llm, variation, anchor):
    """What each field adds to each target, as the recorded file has it."""
    question, _, anchors = variation[1:].partition("-")
    name = f"anchoring_{FILES[llm]}_results_{'different_anchors' if anchors == 'D' else 'standard'}.csv"
    with (SCORES / name).open(encoding="utf-8", newline="") as lines:
        rows = [
            row for row in csv.DictReader(lines) if (row["VariationID"], float(row["Anchor"])) == (question, anchor)
        ]
    rows.sort(key=lambda row: int(row["TargetInt"]))
    return {field: np.array([float(row[f"Shapley_{field}"]) for row in rows]) for field in FIELDS}


def test_distributions_of_contributions_are_those_that_numpy_gives(scored):
    statistics = "mean, sd, minimum, lower_whisker, lower_quartile, median, upper_quartile, upper_whisker, maximum"
    rows = scored.query(
        f"select llm, variation, anchor, field, n_targets, {statistics} from papers.attribution_distributions "
        "where specification = 'published'"
    )
    assert len(rows) == 132 * len(FIELDS)
    for llm, variation, anchor, field, n_targets, *found in rows:
        values = contributions(llm, variation, anchor)[field]
        low, middle, high = np.percentile(values, [25, 50, 75])
        reach = 1.5 * (high - low)
        inside = values[(values >= low - reach) & (values <= high + reach)]
        expected = [values.mean(), values.std(ddof=1), values.min(), inside.min(), low, middle, high, inside.max()]
        assert n_targets == len(values) == 101
        assert found == pytest.approx([*expected, values.max()], abs=1e-9), (llm, variation, anchor, field)


def test_each_contribution_is_there_by_field_and_target_and_no_recorded_one_is_a_shapley_value(scored):
    counts = "select count(*), count(banzhaf), count(shapley), any_value(reason) from papers.attributions"
    assert scored.query(counts) == [(14_544 // 12 * 11 * 4, 14_544 // 12 * 11 * 4, 0, "not_recoverable")]
    rows = scored.query(
        "select target, banzhaf from papers.attributions where llm = 'google/gemma-2b' and variation = 'V3-D' "
        "and anchor = 80 and field = 'comparative' order by target"
    )
    assert [value for _, value in rows] == contributions("google/gemma-2b", "V3-D", 80)["comparative"].tolist()


def test_one_call_stands_under_every_specification(scored):
    rows = scored.query(
        "select n_calls, n_specifications, n_standing, n_standing_always, n_standing_never from papers.anchor_calls "
        "where llm is null"
    )
    assert rows == [(66, 66 * 6, 44 + 43 + 19 + 5 + 4 + 15, 1, 8)]


def test_the_rows_of_each_finding_are_there_and_its_sentences_say_their_numbers(scored):
    counts = {name: scored.query(f"select count(*), count(study) from ({query})")[0] for name, query in QUERIES.items()}
    assert counts == {
        name: (n, n)
        for name, n in {
            "expectations": 132, "sensitivities": 3 * 66, "calls": 73, "effects": 3, "contrasts": 2 * (6 + 15 + 6),
            "trends": 1, "means": 2 * 2 * 3 * 6, "removals": 0, "distributions": 132 * 4, "curves": 132 * 11,
        }.items()
    }  # fmt: skip
    names = {name: [of[0] for of in scored.query(f"describe {QUERIES[name]}")] for name in SAID}
    rows = {name: [dict(zip(names[name], row, strict=True)) for row in scored.query(QUERIES[name])] for name in SAID}
    said = " ".join(sentences(rows))
    for part in (
        "In 64 of 66 cases", "in 44 of 66 (p below .05)", "in 19 of 66 if blocks", "in 15 of 66 if probabilities",
        "google/gemma-2b by 24.3 points (12.1 to 36.4)", "over 5 questions",
        "With it they are: meta-llama/Llama-2-7b-hf 29.2",
        "the sensitivity score is google/gemma-2b 0.44 (0.24 to 0.64)",
        "tells 9 of 15 pairs of LLMs apart, the move of the expected answer 6 of 15",
        "meta-llama/Llama-2-7b-hf; google/gemma-2b and microsoft/phi-2;", "microsoft/phi-2 and openai/gpt2;",
        "clearly less or more in none of 6 LLMs", "clearly lower in openai/gpt2 and microsoft/phi-2",
        "may rise or fall with size",
    ):  # fmt: skip
        assert part in said


def printed():
    """The claims of document D, by claim and part."""
    rows = [claim for claim in read_papers()[1] if claim["document"] == "D"]
    return {"/".join(filter(None, (row["claim_id"], row["part"]))): row for row in rows}


def of_table_1(llm):
    return {key: row for key, row in printed().items() if row["location"] == "Table 1" and row["llm"] == llm}


@cache
def scores(llm, variation):
    """The log-probabilities and the anchor's contributions, one per target, under the low and the high anchor."""
    question, _, anchors = variation[1:].partition("-")
    name = f"anchoring_{FILES[llm]}_results_{'different_anchors' if anchors == 'D' else 'standard'}.csv"
    with (SCORES / name).open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["VariationID"] == question]
    rows.sort(key=lambda row: (int(row["Anchor"]), int(row["TargetInt"])))
    found = [[float(row[column]) for row in rows] for column in ("LogProbFullPrompt", "Shapley_anchor")]
    return np.reshape(found, (2, 2, len(TARGETS)))


def n_stars(p):
    return sum(p < limit for limit in (0.1, 0.05, 0.01))


@cache
def signs():
    return np.random.default_rng(42).choice([-1.0, 1.0], size=(10_000, len(TARGETS)))


def p_of_sign_flips(differences):
    reached = np.abs(signs() @ differences) >= abs(differences.sum())
    return (reached.sum() + 1) / (len(signs()) + 1)


@cache
def recomputed(llm, variation):
    """What Table 1 prints of an LLM and a variation, from the file of its scores and nothing of ours."""
    (low, high), (anchor_low, anchor_high) = scores(llm, variation)
    found = {}
    for direction, logs in (("low", low), ("high", high)):
        shares = special.softmax(logs)
        means = np.random.default_rng(42).choice(TARGETS, size=(5000, 100), p=shares).mean(axis=1)
        found["soft_ev", direction] = shares @ TARGETS
        found["soft_ev_band_low", direction], found["soft_ev_band_high", direction] = np.percentile(means, [2.5, 97.5])
    change = (anchor_high - anchor_low).mean()
    found["delta_ev", ""] = found["soft_ev", "high"] - found["soft_ev", "low"]
    found["sign_behaviour", ""] = np.sign(found["delta_ev", ""])
    found["sign_attribution", ""] = np.sign(change)
    found["delta_attribution", ""] = change
    found["multiplier", ""] = np.exp(change)
    found["stars_behaviour", ""] = n_stars(stats.ttest_rel(low, high).pvalue)
    found["stars_wilcoxon", ""] = n_stars(stats.wilcoxon(high - low, zero_method="pratt").pvalue)
    found["stars_permutation", ""] = n_stars(p_of_sign_flips(high - low))
    found["stars_attribution", ""] = n_stars(stats.ttest_rel(anchor_low, anchor_high).pvalue)
    return found


@pytest.mark.skipif(not SCORES.is_dir(), reason=f"the recorded scores are not at {SCORES}")
@pytest.mark.parametrize("llm", FILES)
def test_the_scores_give_each_of_the_165_numbers_that_table_1_prints_of_an_llm(llm):
    claims = of_table_1(llm)
    assert len(claims) == 165
    differs = {}
    for key, row in claims.items():
        value = recomputed(llm, row["variation"])[row["quantity"], row["anchor_direction"] or ""]
        if abs(value - float(row["published_value"])) > (0.5 + 1e-8) * 10.0 ** -int(row["decimals"]):
            differs[key] = (row["published_value"], value)
    assert differs == {}


def test_table_1_is_66_rows_of_15_numbers():
    rows = [row for row in printed().values() if row["location"] == "Table 1"]
    assert len(rows) == 66 * 15
    assert set(Counter((row["llm"], row["variation"]) for row in rows).values()) == {15}


def test_the_ranking_is_each_pair_of_the_six_llms_once():
    pairs = [(row["llm"], row["llm_b"]) for row in printed().values() if row["quantity"] == "abss_difference"]
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 15
    # the LLM that wins k of its five pairs is at place 5 - k: an order, not a circle
    assert sorted(Counter(winner for winner, _ in pairs).values()) == [1, 2, 3, 4, 5]


def test_every_number_of_document_d_is_compared_with_scores_none_against_printed_numbers():
    assert {row["llm"] for row in printed().values()} == {*FILES, None}
    assert {(row["inputs_are"], row["study"]) for row in printed().values()} == {(None, "anchoring-llms")}


def verdicts(warehouse, where):
    rows = warehouse.query(
        f"select claim_id, part, recomputes, holds from marts.claim_checks where document = 'D' and {where}"
    )
    return {f"{claim}/{part or ''}".rstrip("/"): tuple(verdict) for claim, part, *verdict in rows}


def test_all_990_numbers_of_table_1_recompute(scored):
    found = Counter(recomputes for recomputes, _ in verdicts(scored, "location = 'Table 1'").values())
    assert found == {"yes": 990}


def test_the_readme_says_of_document_d_what_the_ledger_says(scored):
    assert of_readme("D") == of_ledger(scored, "D")


def test_no_printed_star_holds_only_where_our_test_gives_none_either(scored):
    found = scored.query(
        "select distinct recommended_value > 0, holds from marts.claim_checks where document = 'D' and unit = 'stars' "
        "and kind = 'value' and published_value = 0 and recommended_value is not null"
    )
    assert sorted(map(tuple, found)) == [(False, "holds"), (True, "contradicted")]


def test_all_15_pairs_of_the_ranking_recompute(scored):
    found = Counter(recomputes for recomputes, _ in verdicts(scored, "quantity = 'abss_difference'").values())
    assert found == {"yes": 15}


# each number of the text that its table or the scores do not give: printed, and what they give instead
DIFFERS = {
    "D-S4.1-Llama-2-7b-hf-attribution-range/delta_attribution_lowest": (0.80, 0.525),
    "D-S4.1-Llama-2-7b-hf-attribution-range/multiplier_lowest": (2.2, 1.69),
    "D-S4.6-phi-2-attribution-range/delta_attribution_lowest": (0.22, 0.198),
    "D-S4.6-phi-2-attribution-range/multiplier_lowest": (1.25, 1.219),
}


def test_four_ends_of_ranges_in_the_text_differ_from_what_it_names_and_no_other_number(scored):
    rows = scored.query(
        "select claim_id || '/' || part, published_value, round(recomputed_value, 3) from marts.claim_checks "
        "where document = 'D' and kind = 'value' and recomputes = 'no'"
    )
    assert {key: tuple(numbers) for key, *numbers in rows} == DIFFERS
    assert set(verdicts(scored, "kind = 'value' and location != 'Table 1' and recomputes != 'no'").values()) <= {
        ("yes", holds) for holds in ("holds", "weaker", "contradicted", None)
    }


# each sentence of document D: does it recompute by the paper's own method, and does it hold as we recommend
SENTENCES = {
    ("yes", "holds"): """
        D-S0-robust/Llama-2-7b-hf D-S0-robust/gemma-2b D-S0-robust/phi-2 D-S1-reweighting
        D-S4.1-Llama-2-7b-hf-attribution-strong/direction D-S4.1-Llama-2-7b-hf-behaviour-strong/direction
        D-S4.1-Llama-2-7b-hf-reversals/direction D-S4.2-falcon-rw-1b-V0/robustness
        D-S4.2-falcon-rw-1b-behaviour-strong/direction D-S4.3-gemma-2b-attribution-large
        D-S4.3-gemma-2b-attribution-strong/direction D-S4.3-gemma-2b-attribution-strong/stars
        D-S4.3-gemma-2b-behaviour-strong/direction D-S4.4-gpt-neo-125M-attribution-strong/direction
        D-S4.4-gpt-neo-125M-behaviour-strong/direction D-S4.4-gpt-neo-125M-only-two-positive/direction
        D-S4.5-gpt2-V0/robustness D-S4.5-gpt2-attribution-strong/direction
        D-S4.5-gpt2-behaviour-strong/direction D-S4.6-phi-2-V4-D/robustness
        D-S4.6-phi-2-attribution-strong/direction D-S4.6-phi-2-behaviour-strong/direction
        D-S4.6-phi-2-positive/direction D-S4.7-Llama-2-7b-hf-kept-behaviour/stars
        D-S4.7-Llama-2-7b-hf-mixed/different D-S4.7-Llama-2-7b-hf-mixed/standard
        D-S4.7-falcon-rw-1b-mixed/negative D-S4.7-falcon-rw-1b-mixed/positive
        D-S4.7-gemma-2b-kept-behaviour/direction D-S4.7-gemma-2b-one-exception/direction
        D-S4.7-gemma-2b-one-exception/stars D-S4.7-gpt-neo-125M-negative/different
        D-S4.7-gpt-neo-125M-negative/standard D-S4.7-gpt2-inversions/direction
        D-S4.7-gpt2-kept-behaviour/direction D-S4.7-gpt2-standard-attribution/direction
        D-S4.7-phi-2-kept-behaviour/direction D-S4.7-phi-2-one-exception/direction
        D-S4.7-transferred/Llama-2-7b-hf D-S4.7-transferred/falcon-rw-1b D-S4.7-transferred/gemma-2b
        D-S4.7-transferred/gpt-neo-125M D-S4.7-transferred/gpt2 D-S4.7-transferred/phi-2
        D-S4.8-Llama-2-7b-hf-falcon-rw-1b D-S4.8-Llama-2-7b-hf-gpt-neo-125M D-S4.8-Llama-2-7b-hf-gpt2
        D-S4.8-falcon-rw-1b-gpt-neo-125M D-S4.8-gemma-2b-falcon-rw-1b D-S4.8-gemma-2b-gpt-neo-125M
        D-S4.8-gemma-2b-gpt2 D-S4.8-gpt-neo-125M-negative D-S4.8-gpt2-gpt-neo-125M D-S4.8-phi-2-falcon-rw-1b
        D-S4.8-phi-2-gpt-neo-125M D-S4.8-phi-2-gpt2 D-S4.8-positive/Llama-2-7b-hf D-S4.8-positive/gemma-2b
        D-S4.8-positive/phi-2 D-S6-attribution D-S6-robust/Llama-2-7b-hf D-S6-robust/gemma-2b D-S6-robust/phi-2
    """,
    ("yes", "weaker"): """
        D-S4.1-Llama-2-7b-hf-attribution-strong/stars D-S4.1-Llama-2-7b-hf-behaviour-strong/permutation
        D-S4.1-Llama-2-7b-hf-behaviour-strong/stars D-S4.1-Llama-2-7b-hf-behaviour-strong/wilcoxon
        D-S4.2-falcon-rw-1b-behaviour-strong/permutation D-S4.2-falcon-rw-1b-behaviour-strong/stars
        D-S4.2-falcon-rw-1b-behaviour-strong/wilcoxon D-S4.3-gemma-2b-behaviour-strong/permutation
        D-S4.3-gemma-2b-behaviour-strong/stars D-S4.3-gemma-2b-behaviour-strong/wilcoxon
        D-S4.4-gpt-neo-125M-attribution-strong/stars D-S4.4-gpt-neo-125M-behaviour-strong/permutation
        D-S4.4-gpt-neo-125M-behaviour-strong/stars D-S4.4-gpt-neo-125M-behaviour-strong/wilcoxon
        D-S4.5-gpt2-attribution-strong/stars D-S4.5-gpt2-behaviour-strong/permutation
        D-S4.5-gpt2-behaviour-strong/stars D-S4.5-gpt2-behaviour-strong/wilcoxon
        D-S4.6-phi-2-attribution-strong/stars D-S4.6-phi-2-behaviour-strong/permutation
        D-S4.6-phi-2-behaviour-strong/stars D-S4.6-phi-2-behaviour-strong/wilcoxon
        D-S4.7-falcon-rw-1b-reliable/standard D-S4.7-gpt-neo-125M-robust/different
        D-S4.7-gpt-neo-125M-robust/standard D-S4.7-gpt2-inversions/stars D-S4.7-gpt2-standard-attribution/stars
        D-S4.8-gemma-2b-Llama-2-7b-hf D-S4.8-gemma-2b-phi-2 D-S4.8-phi-2-Llama-2-7b-hf
    """,
    ("yes", "other_way"): """
        D-S4.8-gpt2-falcon-rw-1b
    """,
    ("yes", "contradicted"): """
        D-S4.1-Llama-2-7b-hf-reversals/stars D-S4.1-Llama-2-7b-hf-strongest/by_stars
        D-S4.2-falcon-rw-1b-strongest/by_stars D-S4.7-phi-2-mostly-three-stars
    """,
    ("no", "holds"): """
        D-S4.7-falcon-rw-1b-reliable/different
    """,
    ("no", "contradicted"): """
        D-S4.1-Llama-2-7b-hf-discordant-in-D D-S4.1-Llama-2-7b-hf-strongest/by_size
        D-S4.2-falcon-rw-1b-strongest/by_size D-S4.3-gemma-2b-largest D-S6-upward
    """,
    ("not_derivable", None): """
        D-S6-filter
    """,
}


def test_each_sentence_of_document_d_has_its_two_verdicts(scored):
    expected = {claim: verdict for verdict, claims in SENTENCES.items() for claim in claims.split()}
    assert verdicts(scored, "kind = 'sentence'") == expected
    assert len(expected) == sum(len(claims.split()) for claims in SENTENCES.values())


def test_one_changed_score_flips_the_claims_that_rest_on_it_and_no_other(scored, warehouse_in, tmp_path_factory):
    changed = warehouse_in(tmp_path_factory.mktemp("changed"))
    with contextlib.closing(duckdb.connect(str(scored.path))) as opened:
        opened.execute("checkpoint")  # what dbt wrote last may still lie beside the file
    shutil.copy(scored.path, changed.path)
    one = "llm_recorded = 'gpt2' and variation = 'V1-S' and anchor = 10 and target = 37"
    with contextlib.closing(duckdb.connect(str(changed.path))) as opened:
        opened.execute(f"update raw.attribution_scores set log_probability = log_probability + 2 where {one}")
    changed.dbt("--quiet", "run", "--select", "stg_attribution_scores+", "--exclude", "path:models/gate")
    were, are = (verdicts(of, "true") for of in (scored, changed))
    flipped = {key for key, (recomputes, _) in are.items() if recomputes != were[key][0]}
    assert {"D-T1-gpt2-soft_ev_low/V1-S", "D-T1-gpt2-delta_ev/V1-S"} <= flipped
    rows = printed()
    assert {(rows[key]["llm"], rows[key]["variation"]) for key in flipped if rows[key]["variation"]} == {
        ("openai/gpt2", "V1-S")
    }


def test_the_anchor_adds_most_to_the_answers_of_its_own_ten_as_counted_by_hand(scored):
    added = {}
    for prompt, anchor, target, value in scored.query(
        "select (llm, variation, anchor_direction)::varchar, anchor, target, banzhaf from papers.attributions "
        "where field = 'anchor'"
    ):
        added.setdefault((prompt, int(anchor) // 10), {}).setdefault(int(target) // 10, []).append(value)
    most = [(own, max(of_ten, key=lambda ten: np.mean(of_ten[ten]))) for (_, own), of_ten in added.items()]
    assert (len(most), sum(own == ten for own, ten in most)) == (132, 90)


def test_every_number_of_the_figures_of_scores_is_one_of_the_warehouse(scored):
    with contextlib.closing(duckdb.connect(str(scored.path), read_only=True)) as warehouse:
        rows = {name: records(warehouse, query) for name, query in QUERIES.items()} | {"llms": []}
        (section,) = sections_on_scores(Study("anchoring-llms", False, rows), "study-1")
        tables = "".join(str(Markup.escape(table)) for figure in section.figures for table in figure.tables)
        n_numbers, wrong = numbers_that_differ(tables, warehouse)
    assert [figure.title for figure in section.figures] == [
        "In 6 of 6 LLMs the expected answer clearly moves with the anchor",
        "In 64 of 66 cases the high anchor raises the expected answer",
        "With corrected tests 3 of 6 LLMs have a score clearly above 0",
        "The sensitivity score tells 9 of 15 pairs of LLMs apart",
        "Of 66 cases 1 is significant under every way of testing, 8 under none",
        "In 45 of 66 cases the anchor adds more where it is high",
        "In 7 of 132 prompts the anchor weighs most of the four fields",
        "In 90 of 132 prompts the anchor adds most to the answers of its own ten",
    ]
    assert n_numbers > 400
    assert wrong == []
