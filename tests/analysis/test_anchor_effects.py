"""Document D's tables: what missing targets and equal scores do, and every figure of the recorded files."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.papers.anchor_effects import MEASURED, SPECIFICATIONS, measured_rows
from analysis.papers.attribution import TARGETS
from analysis.tables import table
from tests.conftest import SHARED

SCORES = SHARED / "data" / "anchoring_llms"
LLMS = [
    "EleutherAI_gpt-neo-125M", "google_gemma-2b", "gpt2", "microsoft_phi-2",
    "meta-llama_Llama-2-7b-hf", "tiiuae_falcon-rw-1b"
]  # fmt: skip


REGIMES = {"S": "standard", "D": "different_anchors"}


def cell(
    variation, direction, scores, banzhaf_anchor=0.0, shapley_anchor=None, aligned=None, aligned_banzhaf=None,
    without_anchor=None, aligned_without_anchor=None,
):  # fmt: skip
    return pd.DataFrame(
        {
            "study": "s", "scoring_set": "m", "scoring": "m", "llm": "v/m", "variation": variation,
            "question": variation[:2], "evidence_from": "scores", "anchor_direction": direction,
            "anchor": {"low": 10.0, "high": 65.0}[direction], "target": TARGETS, "log_probability": scores,
            "banzhaf_anchor": banzhaf_anchor, "shapley_anchor": shapley_anchor,
            "anchor_regime": REGIMES.get(variation[3:]), "aligned_log_probability": aligned,
            "aligned_banzhaf_anchor": aligned_banzhaf, "log_probability_without_anchor": without_anchor,
            "aligned_log_probability_without_anchor": aligned_without_anchor,
        }
    )  # fmt: skip


def rows_of(*cells):
    found = pd.DataFrame(measured_rows(pd.concat(cells), {}))
    return {part: rows.dropna(axis=1, how="all") for part, rows in found.groupby("part")}


def noise(seed, spread=1.0):
    return np.random.default_rng(seed).normal(-10, spread, 101)


def test_a_prompt_that_makes_every_number_less_likely_has_an_effect_only_before_normalising():
    low = noise(1)
    tables = rows_of(cell("V1-S", "low", low), cell("V1-S", "high", low - 3 + 0.01 * noise(2), noise(3)))
    effects = tables["anchor_effects"].set_index("specification")
    assert effects.loc["published", "p_t"] < 1e-9
    assert effects.loc["published", "mean_difference"] == pytest.approx(-3.1, abs=0.01)
    assert abs(effects.loc["normalised", "mean_difference"]) < 0.01
    assert effects["delta_ev"].nunique() == 1


def test_the_aligned_specification_is_the_published_one_of_the_scores_by_the_other_rule():
    low, high, others = (noise(1), noise(2)), (noise(3), noise(4)), (noise(5), noise(6))
    both = [
        cell("V1-S", direction, *published, shapley_anchor=noise(9), aligned=aligned[0], aligned_banzhaf=aligned[1])
        for direction, published, aligned in (("low", low, others), ("high", high, low))
    ]
    alone = rows_of(cell("V1-S", "low", *others), cell("V1-S", "high", *low))
    for part, names in (
        ("soft_expectations", ["soft_ev", "band_low", "band_high"]),
        ("anchor_effects", ["delta_ev", "p_t", "p_wilcoxon", "p_permutation", "delta_attribution", "p_attribution"]),
        ("sensitivity_scores", ["abss", "robustness", "concordance"]),
    ):
        found, expected = of(rows_of(*both), part, "aligned"), of(alone, part, "published")
        assert found[names].to_numpy(float).tolist() == expected[names].to_numpy(float).tolist(), part
    published = of(rows_of(*both), "anchor_effects", "published")
    assert published["delta_ev"].item() != of(alone, "anchor_effects", "published")["delta_ev"].item()


def test_recorded_files_have_no_aligned_scores_and_a_scoring_may_lack_one():
    recorded = rows_of(cell("V1-S", "low", noise(1)), cell("V1-S", "high", noise(2)))
    for part in ("soft_expectations", "anchor_effects", "sensitivity_scores"):
        assert set(of(recorded, part, "aligned")["reason"]) == {"not_recoverable"}
    gap = np.where(TARGETS == 7, np.nan, noise(3))
    scored = rows_of(cell("V1-S", "low", noise(1), aligned=gap), cell("V1-S", "high", noise(2), aligned=noise(4)))
    assert set(of(scored, "anchor_effects", "aligned")["reason"]) == {"missing_targets"}
    assert of(scored, "soft_expectations", "aligned")["n_targets"].tolist() == [100, 101]
    assert of(scored, "anchor_effects", "published")["delta_ev"].notna().all()


def test_a_cell_that_lacks_a_target_has_a_reason_and_no_number():
    tables = rows_of(cell("V1-S", "low", noise(1)), cell("V1-S", "high", noise(2)).iloc[:100])
    effects = tables["anchor_effects"].query("specification != 'aligned'")
    assert set(effects["reason"]) == {"missing_targets"}
    assert "delta_ev" not in tables["anchor_effects"]
    expectations = tables["soft_expectations"].set_index(["anchor_direction", "specification"])
    assert expectations.loc[("high", "published"), "reason"] == "missing_targets"
    assert expectations.loc[("high", "published"), "n_targets"] == 100
    assert expectations.loc[("low", "published"), "soft_ev"] > 0
    assert expectations.loc[("low", "published"), "missing_mass"] == pytest.approx(1 - np.exp(noise(1)).sum())
    assert np.isnan(expectations.loc[("high", "published"), "missing_mass"])
    assert set(rows_of(cell("V1-S", "low", noise(1)))["sensitivity_scores"]["reason"]) == {"one_anchor"}


def test_equal_scores_under_both_anchors_have_no_test_and_no_score():
    tables = rows_of(cell("V1-S", "low", noise(1), noise(4)), cell("V1-S", "high", noise(1), noise(5)))
    published = tables["anchor_effects"].query("specification == 'published'").iloc[0]
    assert published["delta_ev"] == 0
    assert published["call_behaviour"] == "B0"
    assert published["reason"] == "zero_variance"
    assert "abss" not in tables["sensitivity_scores"]


def test_where_all_coalitions_are_known_shapley_values_decide_and_else_none_do():
    banzhaf, shapley = np.random.default_rng(7).normal(size=(2, 2, 101))
    cells = [
        cell("V1-S", direction, noise(place), banzhaf[place], shapley[place])
        for place, direction in enumerate(("low", "high"))
    ]
    with_all = rows_of(*cells)
    effects = with_all["anchor_effects"].set_index("specification")
    for specification, values in (("recommended", shapley), ("published", banzhaf)):
        assert effects.loc[specification, "delta_attribution"] == pytest.approx((values[1] - values[0]).mean())
    without = [rows.assign(shapley_anchor=None) for rows in cells]
    tables = rows_of(*without)
    scores = tables["sensitivity_scores"].set_index("specification")
    assert scores.loc[["shapley", "recommended"], "reason"].tolist() == ["not_recoverable"] * 2
    assert scores.loc[["shapley", "recommended"], "abss"].isna().all()
    of_all = with_all["sensitivity_scores"].set_index("specification")
    assert scores.loc["published", "abss"] == of_all.loc["published", "abss"]
    assert of_all.loc[["shapley", "recommended"], "abss"].notna().all()


def of_five_variations():
    """Two variations of one question, one of each of two others, and V0."""
    return [
        cell(variation, direction, noise(seed), noise(seed + 50))
        for seed, (variation, direction) in enumerate(
            (variation, direction)
            for variation in ("V0", "V1-S", "V1-D", "V2-S", "V3-S")
            for direction in ("low", "high")
        )
    ]


def test_v0_has_rows_and_means_are_told_without_it_and_with_it():
    tables = rows_of(*of_five_variations())
    effects = tables["anchor_effects"].query("specification == 'published'").set_index("variation")["delta_ev"]
    means = tables["anchor_sensitivities"].query("specification == 'published' and metric == 'delta_ev'")
    without, with_v0 = (means[means["has_v0"] == has_v0].iloc[0] for has_v0 in (False, True))
    of_questions = [effects[["V1-S", "V1-D"]].mean(), effects["V2-S"], effects["V3-S"]]
    assert without["estimate"] == pytest.approx(np.mean(of_questions))
    assert (without["n_questions"], without["n_variations"], without["df"]) == (3, 4, 2)
    assert with_v0["estimate"] == pytest.approx(np.mean([*of_questions, effects["V0"]]))
    assert (with_v0["n_questions"], with_v0["n_variations"], with_v0["df"]) == (4, 5, 3)
    in_means = tables["sensitivity_scores"].query("specification == 'published'").set_index("variation")["is_in_means"]
    assert in_means.to_dict() == {"V0": False, "V1-S": True, "V1-D": True, "V2-S": True, "V3-S": True}


def test_an_llm_that_was_not_asked_v0_has_no_means_with_it():
    without_v0 = [rows.assign(scoring_set="n", scoring="n", llm="v/n") for rows in of_five_variations()[2:]]
    tables = rows_of(*of_five_variations(), *without_v0)
    found = tables["anchor_sensitivities"].groupby("has_v0")["llm"].agg(set).to_dict()
    assert found == {False: {"v/m", "v/n"}, True: {"v/m"}}
    trends = tables["sensitivity_trends"].query("metric == 'abss'").groupby("has_v0")["n_llms_left_out"].agg(set)
    assert trends.to_dict() == {False: {2}, True: {1}}


def test_a_prompt_without_its_number_has_one_expected_answer_by_each_rule_and_no_effect():
    published, aligned = noise(5), noise(6)
    both = {"without_anchor": published, "aligned": noise(7), "aligned_without_anchor": aligned}
    tables = rows_of(cell("V1-S", "low", noise(1), **both), cell("V1-S", "high", noise(2), **both))
    found = tables["soft_expectations"].query("anchor_direction == 'none'").set_index("specification")
    assert found["anchor"].isna().all()
    for specification, scores in (("published", published), ("recommended", published), ("aligned", aligned)):
        expected = (TARGETS * np.exp(scores)).sum() / np.exp(scores).sum()
        assert found.loc[specification, "soft_ev"] == pytest.approx(expected, abs=1e-9)
    assert len(found) == 3
    plain = rows_of(cell("V1-S", "low", noise(1)), cell("V1-S", "high", noise(2)))
    assert set(plain["soft_expectations"]["anchor_direction"]) == {"low", "high"}
    effects = "specification == 'published'"
    assert (
        tables["anchor_effects"].query(effects)["delta_ev"].item()
        == plain["anchor_effects"].query(effects)["delta_ev"].item()
    )


def test_three_specifications_of_the_score_by_hand():
    """Under the low anchor all answers are alike; under the high one 100 % is as likely as all 101 were together.

    The expected answer moves from 50 to (0 + ... + 99 + 101 * 100) / 201. Published: one of 101 differences is not 0,
    so that t is -1 and the rank sum of the negative ones 0 where 50.5 +- 50.5 is expected, and each flip is as far.
    Corrected: the ten blocks of ten fall and the last target rises, so that of 2,048 flips 4 are as far, those in which
    the ten keep together. Contributions differ by 1 (Banzhaf, all but exactly, and so in all 101) and by 2 (Shapley).
    """
    high = np.append(np.zeros(100), np.log(101))
    banzhaf = 1 + 1e-6 * (-1.0) ** TARGETS
    tables = rows_of(
        cell("V1-S", "low", np.zeros(101), 0.0, 0.0), cell("V1-S", "high", high, banzhaf, 2.0 * np.ones(101))
    )
    found = tables["sensitivity_scores"].set_index("specification")["abss"]
    behaviour = (99 * 100 / 2 + 101 * 100) / 201 / 100 - 0.5

    def weight(p):
        return -np.log10(p) / 3

    t, rank_sum = 2 * stats.t.sf(1, 100), 2 * stats.norm.sf(1)
    robustness = 0.5 + 0.5 * (weight(rank_sum) + 0) / 2
    assert found["published"] == pytest.approx(robustness * (behaviour * weight(t) + np.tanh(1)), abs=1e-6)
    flips = weight(4 / 2048)
    robustness = 0.5 + 0.5 * flips
    corrected = robustness * (behaviour * flips + np.tanh(1)) + 0.15
    assert found["normalised_blocks_of_ten"] == pytest.approx(corrected, abs=1e-6)
    assert found["recommended"] == pytest.approx(robustness * (behaviour * flips + np.tanh(2)) + 0.15, abs=1e-9)


def test_without_scores_there_are_tables_without_rows():
    assert table([], MEASURED).num_rows == 0


@pytest.fixture(scope="module")
def recorded():
    """Measure the recorded files, V0 from the standard ones."""
    if not SCORES.is_dir():
        pytest.skip(f"the recorded scores are not at {SCORES}")
    return rows_of(*(frame for file in sorted(SCORES.glob("*.csv")) for frame in [read_scores(file)]))


def read_scores(file):
    llm, regime = re.fullmatch(r"anchoring_(.+)_results_(standard|different_anchors)", file.stem).groups()
    read = pd.read_csv(file, dtype={"TargetToken": str})
    is_v0 = read["VariationID"] == 0
    read["variation"] = "V" + read["VariationID"].astype(str) + ("-S" if regime == "standard" else "-D")
    read.loc[is_v0, "variation"] = "V0"
    low = read.groupby("variation")["Anchor"].transform("min")
    return pd.DataFrame(
        {
            "study": "anchoring-llms", "scoring_set": llm, "scoring": file.stem, "llm": llm,
            "variation": read["variation"], "question": read["variation"].str[:2], "evidence_from": "scores",
            "anchor_direction": np.where(read["Anchor"] == low, "low", "high"), "anchor": read["Anchor"],
            "target": read["TargetInt"], "log_probability": read["LogProbFullPrompt"],
            "banzhaf_anchor": read["Shapley_anchor"], "shapley_anchor": None, "anchor_regime": regime,
            "aligned_log_probability": np.nan, "aligned_banzhaf_anchor": np.nan,
            "log_probability_without_anchor": np.nan, "aligned_log_probability_without_anchor": np.nan,
        }
    )[~is_v0 | (regime == "standard")]  # fmt: skip


def means_of(tables):
    return tables["anchor_sensitivities"].query("comparison == 'anchors' and has_v0 == False")


def of(tables, part, specification):
    return tables[part].query(f"specification == '{specification}'")


def test_the_mean_abss_of_each_llm_is_the_published_one(recorded):
    scores = of(recorded, "sensitivity_scores", "published").query("variation != 'V0'")
    expected = [
        -0.194505040427403, 0.983149245261558, 0.289022663785751, 0.589393057339579, 0.460217655584679, 0.13249260061302
    ]  # fmt: skip
    assert scores.groupby("llm")["abss"].mean()[LLMS].tolist() == pytest.approx(expected, abs=1e-9)


def test_the_mean_abss_with_t_on_normalised_scores(recorded):
    scores = of(recorded, "sensitivity_scores", "normalised_t").query("variation != 'V0'")
    expected = [-0.209204, 0.866802, 0.240554, 0.595896, 0.479641, 0.133650]
    assert scores.groupby("llm")["abss"].mean()[LLMS].tolist() == pytest.approx(expected, abs=5e-7)


def test_the_corrected_abss_is_that_of_its_formula(recorded):
    """Document D's formula with the p values of all 2^11 flips of normalised differences, written out once more."""

    def flips_p(differences):
        sums = np.add.reduceat(differences, range(0, 101, 10))
        means = np.abs(np.array(list(itertools.product((-1, 1), repeat=11))) @ sums)
        return (means >= abs(sums.sum()) - 1e-9).mean()

    for file in sorted(SCORES.glob("*_standard.csv")):
        read = read_scores(file).query("variation == 'V3-S'").sort_values(["anchor", "target"])
        scores, banzhaf = (read[name].to_numpy(float).reshape(2, 101) for name in ("log_probability", "banzhaf_anchor"))
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        behaviour, attribution = (p[1] - p[0]) @ TARGETS / 100, np.tanh((banzhaf[1] - banzhaf[0]).mean())
        weights = [min(1, -np.log10(flips_p(of)) / 3) for of in (np.log(p[1] / p[0]), banzhaf[1] - banzhaf[0])]
        expected = (0.5 + 0.5 * weights[0]) * (behaviour * weights[0] + attribution * weights[1])
        expected += 0.15 * np.sign(behaviour * attribution) * (min(weights) > 0.2)
        llm = read["llm"].iloc[0]
        of_llm = of(recorded, "sensitivity_scores", "normalised_blocks_of_ten").query(
            f"llm == '{llm}' and variation == 'V3-S'"
        )
        assert of_llm["abss"].item() == pytest.approx(expected, abs=1e-9), llm


def test_soft_expectations_of_gemma_s_first_question(recorded):
    rows = of(recorded, "soft_expectations", "published").query("llm == 'google_gemma-2b' and variation == 'V1-S'")
    found = rows.set_index("anchor_direction")[["soft_ev", "band_low", "band_high"]]
    assert found.loc["low"].tolist() == pytest.approx([35.972851, 30.19, 41.85], abs=5e-3)
    assert found.loc["high"].tolist() == pytest.approx([51.442235, 45.61, 57.05], abs=5e-3)
    assert found["soft_ev"].tolist() == pytest.approx([35.972851, 51.442235], abs=5e-7)


@pytest.mark.parametrize(
    ("specification", "column", "n"),
    [
        ("published", "p_t", 44), ("published", "p_wilcoxon", 44), ("published", "p_permutation", 43),
        ("normalised_t", "p_t", 43), ("normalised", "p_t", 43), ("blocks_of_ten", "p_permutation", 19),
        ("blocks_of_twenty", "p_permutation", 5), ("recommended", "p_permutation", 15),
        ("normalised_blocks_of_ten", "p_permutation", 15),
        ("normalised_blocks_of_twenty", "p_permutation", 4),
    ],
)  # fmt: skip
def test_how_many_of_66_rows_have_a_p_value_below_a_twentieth(recorded, specification, column, n):
    rows = of(recorded, "anchor_effects", specification)
    assert len(rows) == 66
    assert (rows[column] < 0.05).sum() == n


def test_the_stars_of_behaviour_change_in_37_rows_when_t_is_on_normalised_scores(recorded):
    before, after = (
        of(recorded, "anchor_effects", name)["stars_behaviour"].values for name in ("published", "normalised_t")
    )
    assert (before != after).sum() == 37


def test_scores_and_expectations_move_in_opposite_directions_in_22_rows(recorded):
    rows = of(recorded, "anchor_effects", "published")
    assert (np.sign(rows["mean_difference"]) != np.sign(rows["delta_ev"])).sum() == 22


def test_neighbouring_targets_move_together(recorded):
    found = of(recorded, "anchor_effects", "published")["lag_1_correlation"]
    assert [found.median(), found.min(), found.max()] == pytest.approx([0.79, 0.49, 0.92], abs=0.005)


def test_the_bonus_is_given_in_43_rows_and_in_6_where_a_side_shows_nothing(recorded):
    keys = ["llm", "variation"]
    scores = of(recorded, "sensitivity_scores", "published").set_index(keys)
    effects = of(recorded, "anchor_effects", "published").set_index(keys)
    has_bonus = scores["is_in_means"].astype(bool) & (scores["concordance"] != 0)
    assert has_bonus.sum() == 43
    assert (has_bonus & (effects[["p_t", "p_attribution"]].max(axis=1) >= 0.1)).sum() == 6


def test_the_difference_of_expectations_over_five_questions(recorded):
    rows = means_of(recorded).query("specification == 'recommended' and metric == 'delta_ev'")
    found = rows.set_index("llm").loc[LLMS]
    assert found["estimate"].tolist() == pytest.approx([7.4, 24.3, 10.6, 5.6, 22.4, 21.4], abs=0.05)
    assert ((found["high"] - found["low"]) / 2).tolist() == pytest.approx([2.8, 12.2, 4.5, 5.1, 19.7, 7.6], abs=0.05)
    assert found["df"].tolist() == [4] * 6


def test_corrected_attribution_cannot_be_recovered_from_the_published_values(recorded):
    for specification in ("shapley", "recommended"):
        assert set(of(recorded, "sensitivity_scores", specification)["reason"]) == {"not_recoverable"}
        assert of(recorded, "anchor_effects", specification)["reason"].str.contains("not_recoverable").all()
    means = means_of(recorded).query("metric == 'abss'").set_index("specification")
    assert means.loc["recommended", "estimate"].isna().all()
    assert means.loc["published", ["low", "high"]].notna().all(axis=None)


def test_the_published_attributions_do_not_add_up(recorded):
    """The score less its attributions would be that of the empty prompt, the same in all 24 cells of a target."""
    ranges = {}
    for llm in LLMS:
        read = pd.concat(pd.read_csv(file) for file in SCORES.glob(f"anchoring_{llm}_results_*.csv"))
        left = read["LogProbFullPrompt"] - read.filter(like="Shapley_").sum(axis=1)
        ranges[llm] = left.groupby(read["TargetInt"]).agg(np.ptp).median()
    assert [ranges[llm] for llm in LLMS] == pytest.approx([1.79, 5.79, 1.20, 3.04, 5.01, 1.00], abs=0.005)


def test_every_null_has_a_reason(recorded):
    values = {
        "soft_expectations": ["soft_ev", "band_low"], "sensitivity_scores": ["abss"],
        "anchor_sensitivities": ["estimate", "low"], "anchor_effects": ["p_t", "p_permutation", "delta_attribution"],
    }  # fmt: skip
    for part, names in values.items():
        rows = recorded[part].reindex(columns=[*names, "reason"])
        assert rows.loc[rows[names].isna().any(axis=1), "reason"].notna().all(), part
    assert len(recorded["anchor_effects"]) == 66 * len(SPECIFICATIONS)
