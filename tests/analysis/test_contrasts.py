"""Contrasts agree with scipy and statsmodels on expanded rows, with sums done by hand, and obey their laws."""

import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from analysis.counts import ANSWERED, RESPONSES, compared
from analysis.methods.contrasts import (
    COLUMNS,
    contrasts,
    contrasts_of_readings,
    families,
    sign_flip_p,
)
from analysis.methods.effect_sizes import approximate_hedges_factor, hedges_factor, noncentral_t_bounds
from analysis.tables import table

TECHNIQUES = pd.DataFrame(
    [
        ("no_technique", False),
        ("outside_view", False),
        ("premortem", True),
        ("random_control", True),
        ("sacd", True),
        ("sacd_initial", False),
    ],
    columns=["technique", "is_ranked"],
)
ACCEPTED = (("accepted", "pooled"),)
KEYS = ["family", "technique_a", "technique_b", "metric", "anchor_direction", "level"]
STATISTICS = [name for name, kind in COLUMNS.items() if kind in ("double", "bigint")]


def responses(rows, **same):
    """Rows (vignette, llm, technique, anchor_direction, response, n_trials) of one study, else as `same` says."""
    names = ["vignette", "llm", "technique", "anchor_direction", "response", "n_trials"]
    common = {"study": "s", "domain": "d", "temperature": 1.0, "row_set": "accepted", "response_source": "recorded"}
    frame = pd.DataFrame(rows, columns=names).astype({"response": float, "n_trials": "int64"})
    return frame.assign(**{**common, **same})


def simulated(seed, *, n_llms=6, n_vignettes=2):
    """Counts in which LLMs differ in level, in what a technique does to them and in how often they were asked."""
    rng = np.random.default_rng(seed)
    rows = []
    for vignette in range(n_vignettes):
        for llm in range(n_llms):
            level = rng.integers(20, 40)
            rows += [(f"v{vignette}", f"m{llm}", "no_technique", "none", level + k, 2) for k in range(3)]
            for technique in TECHNIQUES["technique"]:
                own = rng.normal(0, 4)
                for direction, shift in (("low", -6), ("high", 5)):
                    drawn = np.round(rng.normal(level + shift + own, 4, rng.integers(3, 9)))
                    for value, n in zip(*np.unique(drawn, return_counts=True), strict=True):
                        rows.append((f"v{vignette}", f"m{llm}", technique, direction, value, n))
    return responses(rows)


def contrasted(frame, **options):
    rows = contrasts(frame, TECHNIQUES, **{"seed": 7, "specifications": ACCEPTED, **options})
    return table(rows, COLUMNS).to_pandas()


def of(rows, **wanted):
    wanted = {"family": "pairs", "metric": "percent_of_baseline", "anchor_direction": "both", **wanted}
    for name, value in wanted.items():
        rows = rows[rows[name] == value]
    (row,) = rows.to_dict("records")
    return row


def expanded(frame, technique, directions=("low", "high")):
    rows = compared(frame)
    rows = rows[(rows["technique"] == technique) & rows["anchor_direction"].isin(directions)]
    rows = rows[rows["percent_of_baseline"].notna()]
    return rows.loc[rows.index.repeat(rows["n_trials"])]


def of_llms(frame, technique, directions=("low", "high")):
    rows = expanded(frame, technique, directions)
    return rows.groupby(["llm", "vignette"])["percent_of_baseline"].mean().groupby("llm").mean()


def same_statistics(left, right):
    left, right = (rows.set_index(KEYS).sort_index() for rows in (left, right))
    assert list(left.index) == list(right.index)
    np.testing.assert_allclose(left[STATISTICS].astype(float), right[STATISTICS].astype(float), rtol=1e-7, atol=1e-9)
    assert (left["reason"].fillna("") == right["reason"].fillna("")).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_trial_level_is_welchs_test_of_the_expanded_rows(seed):
    frame = simulated(seed)
    rows = contrasted(frame)
    for direction, directions in (("both", ("low", "high")), ("low", ("low",)), ("high", ("high",))):
        for metric in ("percent_of_baseline", "madb_percent"):
            if metric == "madb_percent" and direction != "both":
                continue
            a, b = (expanded(frame, name, directions)["percent_of_baseline"] for name in ("sacd", "premortem"))
            if metric == "madb_percent":
                a, b = abs(a - 100), abs(b - 100)
            keys = {"technique_a": "sacd", "technique_b": "premortem", "level": "trial"}
            row = of(rows, **keys, metric=metric, anchor_direction=direction)
            oracle = stats.ttest_ind(a, b, equal_var=False)
            bounds = CompareMeans(DescrStatsW(a), DescrStatsW(b)).tconfint_diff(usevar="unequal")
            assert row["difference"] == pytest.approx(a.mean() - b.mean(), rel=1e-9)
            assert row["statistic"] == pytest.approx(oracle.statistic, rel=1e-9)
            assert row["df"] == pytest.approx(oracle.df, rel=1e-9)
            assert row["p_value"] == row["p_t"] == pytest.approx(oracle.pvalue, rel=1e-6)
            assert (row["low"], row["high"]) == pytest.approx(bounds, rel=1e-7)
            pooled = math.sqrt(((len(a) - 1) * a.var() + (len(b) - 1) * b.var()) / (len(a) + len(b) - 2))
            assert row["cohens_d"] == pytest.approx((a.mean() - b.mean()) / pooled, rel=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_llm_level_is_the_paired_test_of_llm_means_with_exact_sign_flips(seed):
    frame = simulated(seed)
    rows = contrasted(frame)
    for direction, directions in (("both", ("low", "high")), ("high", ("high",))):
        a, b = (of_llms(frame, name, directions) for name in ("sacd", "random_control"))
        keys = {"technique_a": "sacd", "technique_b": "random_control", "level": "llm"}
        row = of(rows, **keys, anchor_direction=direction)
        oracle = stats.ttest_rel(a, b)
        flips = stats.permutation_test(
            (a.to_numpy(), b.to_numpy()),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        )
        assert (row["estimate_a"], row["estimate_b"]) == pytest.approx((a.mean(), b.mean()), rel=1e-9)
        assert (row["statistic"], row["df"]) == pytest.approx((oracle.statistic, oracle.df), rel=1e-9)
        assert row["p_t"] == pytest.approx(oracle.pvalue, rel=1e-6)
        assert row["p_value"] == pytest.approx(flips.pvalue, rel=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(tuple(oracle.confidence_interval()), rel=1e-7)
        assert row["cohens_d"] == pytest.approx((a - b).mean() / (a - b).std(), rel=1e-9)
        assert (row["n_llms"], row["seed"], row["method"]) == (
            6,
            pytest.approx(np.nan, nan_ok=True),
            "paired_t; sign_flip_exact",
        )


def test_the_spread_is_a_difference_of_differences_with_its_own_degrees_of_freedom():
    frame = simulated(3)
    groups = [
        (sign * s, expanded(frame, name, (direction,))["percent_of_baseline"])
        for sign, name in ((1, "sacd"), (-1, "premortem"))
        for s, direction in ((1, "high"), (-1, "low"))
    ]
    squares = [values.var() / len(values) for _, values in groups]
    df = sum(squares) ** 2 / sum(s**2 / (len(v) - 1) for s, (_, v) in zip(squares, groups, strict=True))
    difference = sum(sign * values.mean() for sign, values in groups)
    row = of(contrasted(frame), metric="spread_pp", technique_a="sacd", technique_b="premortem", level="trial")
    assert (row["difference"], row["df"]) == pytest.approx((difference, df), rel=1e-9)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(difference) / math.sqrt(sum(squares)), df), rel=1e-7)


def test_p_values_are_adjusted_as_statsmodels_does_within_their_family():
    rows = contrasted(simulated(4))
    for _, family in rows.groupby(["family", "metric", "anchor_direction", "level"]):
        assert (family["n_tests"] == len(family)).all()
        for name in ("bonferroni", "holm"):
            oracle = multipletests(family["p_value"], method=name)[1]
            np.testing.assert_allclose(family[f"p_{name}"], oracle, rtol=1e-12)


def test_the_golden_vector_of_story_001_gives_its_t_df_and_d():
    low, high = [3, 4, 5, 4, 3, 5, 4, 4, 3, 5], [6, 7, 5, 6, 8, 6, 7, 5, 6, 7]
    frame = responses(
        [("v", "m", "no_technique", "none", 100, 2)]
        + [("v", "m", "premortem", "low", value, 1) for value in low]
        + [("v", "m", "sacd", "low", value, 1) for value in high]
    )
    row = of(contrasted(frame), anchor_direction="low", level="trial")
    assert row["statistic"] == pytest.approx(5.81084825535898, abs=1e-9)
    assert row["df"] == pytest.approx(17.60938883968, abs=1e-9)
    assert row["cohens_d"] == pytest.approx(2.59869034118375, abs=1e-9)
    assert row["hedges_g"] == pytest.approx(2.48888652395065, abs=3e-4)  # there by 1 - 3 / (4 m - 1)
    d, g = row["cohens_d"], row["hedges_g"]
    for name, effect in (("cohens_d", d), ("hedges_g", g)):
        half = 1.959963984540054 * math.sqrt(0.2 + effect**2 / 40)
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((effect - half, effect + half), rel=1e-9)


def test_families_are_the_declared_ones_and_the_later_in_the_alphabet_comes_first():
    declared = families(set(TECHNIQUES["technique"]), TECHNIQUES)
    assert declared["pairs"] == [("random_control", "premortem"), ("sacd", "premortem"), ("sacd", "random_control")]
    assert [a for a, _ in declared["against_no_technique"]] == [
        "outside_view",
        "premortem",
        "random_control",
        "sacd",
        "sacd_initial",
    ]
    assert declared["structure"] == [("random_control", "no_technique")]
    assert declared["content"] == [("premortem", "random_control"), ("sacd", "random_control")]
    assert declared["own_first_answer"] == [("sacd", "sacd_initial")]
    assert all(not pairs for pairs in families({"sacd"}, TECHNIQUES).values())


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=11))
@settings(max_examples=30)
def test_the_sign_flip_p_counts_every_pattern_of_signs(differences):
    signs = 1 - 2 * ((np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences))) & 1)
    expected = np.mean(abs(signs @ differences) >= abs(sum(differences)))
    assert sign_flip_p(differences, seed=1) == expected
    # a tie stays one although a third of it is not a number of the machine
    assert sign_flip_p(np.array(differences) / 3, seed=1) == expected


def test_the_largest_exact_sign_flip_p_is_that_of_a_binomial():
    differences = [1] * 22 + [-1] * 10
    p = sum(math.comb(32, k) for k in range(33) if abs(32 - 2 * k) >= 12) / 2**32
    assert sign_flip_p(differences, seed=1) == pytest.approx(p, rel=1e-12)


def test_above_32_llms_the_signs_are_drawn_with_the_seed_and_p_is_never_zero():
    rng = np.random.default_rng(5)
    differences = rng.normal(0.3, 1, 40)
    p = sign_flip_p(differences, seed=3)
    normal = 2 * stats.norm.sf(abs(differences.sum()) / math.sqrt((differences**2).sum()))
    assert p == pytest.approx(normal, abs=5 * math.sqrt(normal / 100_000))
    assert p == sign_flip_p(differences[::-1], seed=3) != sign_flip_p(differences, seed=4)
    assert sign_flip_p([1.0] * 40, seed=3) == 1 / 100_001
    rows = contrasted(simulated(1, n_llms=33, n_vignettes=1))
    row = of(rows, technique_a="sacd", technique_b="premortem", level="llm")
    assert (row["method"], row["seed"], row["resamples"]) == ("paired_t; sign_flip_random", 7, 100_000)


def test_the_correction_of_g_is_exact_from_one_pair_to_a_hundred_million_trials():
    for df in (2, 5, 18, 340):
        exact = math.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2)) / math.sqrt(df / 2)
        assert hedges_factor(df) == pytest.approx(exact, rel=1e-12)
    for df in (1e4, 1e6, 1e8):
        assert 1 - hedges_factor(df) == pytest.approx(3 / (4 * df - 1), rel=1e-4)
        assert 1 - hedges_factor(df) == pytest.approx(1 - approximate_hedges_factor(df), rel=1e-4)


@pytest.mark.parametrize("df", [4, 9, 60])
@pytest.mark.parametrize("statistic", [-30, -1.5, 0, 1e-9, 2.2, 90])
def test_noncentral_t_bounds_have_the_statistic_in_their_tails(statistic, df):
    low, high = noncentral_t_bounds(statistic, df)
    assert stats.nct.cdf(statistic, df, low) == pytest.approx(0.975, abs=1e-9)
    assert stats.nct.cdf(statistic, df, high) == pytest.approx(0.025, abs=1e-9)


def test_a_noncentral_t_that_is_not_inverted_has_a_reason():
    rows = [("v", f"m{llm}", "no_technique", "none", 100, 2) for llm in range(5)]
    rows += [("v", f"m{llm}", "premortem", "low", 50, 2) for llm in range(5)]
    rows += [("v", f"m{llm}", "sacd", "low", 80 + llm * 1e-4, 2) for llm in range(5)]
    row = of(contrasted(responses(rows)), anchor_direction="low", level="llm")
    assert row["reason"] == "noncentral_t_not_invertible"
    assert row["p_value"] == 1 / 16
    assert row["cohens_d"] > 1000
    assert math.isnan(row["cohens_d_low"])


def test_below_five_llms_there_is_a_difference_and_no_test():
    row = of(contrasted(simulated(1, n_llms=4)), technique_a="sacd", technique_b="premortem", level="llm")
    assert row["reason"] == "too_few_llms"
    assert math.isfinite(row["difference"])
    assert all(math.isnan(row[name]) for name in ("low", "high", "p_value", "p_t", "p_holm", "cohens_d", "hedges_g"))


def test_without_variance_there_is_no_test_at_either_level():
    rows = [("v", f"m{llm}", "no_technique", "none", 30 + llm, 2) for llm in range(5)]
    for technique, share in (("sacd", 1.1), ("premortem", 0.7)):
        rows += [("v", f"m{llm}", technique, "low", (30 + llm) * share, 3) for llm in range(5)]
    rows = contrasted(responses(rows))
    for level in ("trial", "llm"):
        row = of(rows, anchor_direction="low", level=level)
        assert row["reason"] == "zero_variance"
        assert row["difference"] == pytest.approx(40, rel=1e-12)
        assert math.isnan(row["p_value"])
        assert math.isnan(row["cohens_d"])
    assert not (rows["metric"] == "spread_pp").any()


def test_one_trial_of_a_technique_is_not_tested_and_llms_without_a_baseline_do_not_enter():
    rows = contrasted(
        responses(
            [
                ("v", "m", "no_technique", "none", 10, 2),
                ("v", "m", "sacd", "low", 8, 1),
                ("v", "m", "premortem", "low", 5, 3),
                ("v", "other", "sacd", "low", 100, 9),
                ("v", "other", "premortem", "low", 50, 9),
            ]
        )
    )
    row = of(rows, anchor_direction="low", level="trial")
    assert (row["reason"], row["n_trials"], row["n_llms"], row["difference"]) == ("one_trial", 4, 1, 30)


def test_vignettes_weigh_the_same_and_only_those_with_both_techniques_enter():
    frame = responses(
        [(v, "m", "no_technique", "none", 100, 2) for v in ("v1", "v2", "v3")]
        + [("v1", "m", "premortem", "low", 50, 1), ("v1", "m", "sacd", "low", 60, 9)]
        + [("v2", "m", "premortem", "low", 50, 1), ("v2", "m", "sacd", "low", 80, 1)]
        + [("v3", "m", "premortem", "low", 0, 5)]
    )
    row = of(contrasted(frame), anchor_direction="low", level="llm")
    assert (row["estimate_a"], row["estimate_b"], row["difference"], row["n_trials"]) == (70, 50, 20, 12)


def test_studies_and_domains_are_never_pooled():
    frame = simulated(1)
    elsewhere = simulated(2).assign(domain="e").replace({"vignette": {"v0": "w0", "v1": "w1"}})
    both = pd.concat([frame, elsewhere, simulated(3).assign(study="t")])
    rows = contrasted(both)
    same_statistics(rows[(rows["study"] == "s") & (rows["domain"] == "d")], contrasted(frame))


def test_both_specifications_are_there_where_the_data_have_them():
    recorded = simulated(1).assign(row_set="as_recorded")
    rows = contrasted(
        pd.concat([simulated(1), recorded]), specifications=(("accepted", "pooled"), ("as_recorded", "t=1"))
    )
    assert set(zip(rows["row_set"], rows["baseline_scope"], strict=True)) == {
        ("accepted", "pooled"),
        ("as_recorded", "t=1"),
    }
    colder = contrasted(recorded.assign(temperature=0.7), specifications=(("as_recorded", "t=1"),))
    assert colder.empty
    assert list(colder.columns) == list(COLUMNS)


def test_only_where_one_of_two_techniques_has_texts_both_readings_are_compared():
    frame = simulated(1)
    moved = frame["technique"].eq("sacd") & frame["anchor_direction"].ne("none")
    both = pd.concat(
        [
            frame.assign(response_source="recorded"),
            frame.assign(response_source="reparsed", response=frame["response"].where(~moved, frame["response"] + 9)),
        ]
    )
    both = pd.concat([both, both.assign(domain="without texts"), both.assign(row_set="as_recorded")])
    texts = pd.DataFrame(
        [
            (*("s", domain), technique, domain == "d" and technique == "sacd")
            for domain in ("d", "without texts")
            for technique in frame["technique"].unique()
        ],
        columns=["study", "domain", "technique", "has_text"],
    )
    rows = table(
        contrasts_of_readings(both, TECHNIQUES, texts, response_source="reparsed", seed=7), COLUMNS
    ).to_pandas()
    other = rows[~rows["is_recommended"]]
    assert set(other["response_source"]) == {"recorded"}
    assert set(rows.loc[rows["is_recommended"], "response_source"]) == {"reparsed"}
    assert set(other["domain"]) == {"d"}
    assert set(other["row_set"]) == {"accepted"}
    assert all((other["technique_a"] == "sacd") != (other["technique_b"] == "sacd"))
    keys = {"technique_a": "sacd", "technique_b": "premortem", "level": "llm", "domain": "d", "row_set": "accepted"}
    assert of(other, **keys)["difference"] == of(contrasted(frame), **keys)["difference"]
    assert of(rows[rows["is_recommended"]], **keys)["difference"] > of(other, **keys)["difference"]


def test_an_empty_warehouse_gives_an_empty_typed_table():
    empty = table(contrasts(simulated(1).iloc[:0], TECHNIQUES, seed=1), COLUMNS)
    assert empty.num_rows == 0
    assert empty.column_names == list(COLUMNS)


@given(st.randoms(use_true_random=False), st.floats(0.1, 1000))
@settings(max_examples=8)
def test_order_splits_names_and_units_change_nothing(random, unit):
    frame = simulated(5, n_vignettes=1)
    names = [f"m{llm}" for llm in range(6)]
    renamed = dict(zip(names, random.sample(names, 6), strict=True))
    halves = [frame.assign(n_trials=frame["n_trials"] // 2), frame.assign(n_trials=(frame["n_trials"] + 1) // 2)]
    changed = pd.concat(halves).query("n_trials > 0").sample(frac=1, random_state=random.randrange(1000))
    changed = changed.assign(llm=changed["llm"].map(renamed), response=changed["response"] * unit)
    same_statistics(contrasted(changed), contrasted(frame))


def test_swapping_two_techniques_turns_the_signs():
    frame = simulated(6)
    swapped = frame.assign(technique=frame["technique"].replace({"sacd": "premortem", "premortem": "sacd"}))
    keys = {"technique_a": "sacd", "technique_b": "premortem"}
    for level in ("trial", "llm"):
        row, turned = (of(contrasted(f), **keys, level=level) for f in (frame, swapped))
        for name, other in (("difference", "difference"), ("low", "high"), ("cohens_d_low", "cohens_d_high")):
            assert row[name] == pytest.approx(-turned[other], rel=1e-7)
        assert row["p_value"] == pytest.approx(turned["p_value"], rel=1e-7)


def test_a_hundred_million_trials_take_no_longer_and_stay_exact():
    frame = simulated(7)
    many = frame.assign(n_trials=frame["n_trials"] * 1_000_000)
    start = time.perf_counter()
    rows, times = contrasted(many), time.perf_counter() - start
    assert rows["n_trials"].max() > 1e8
    assert times < 5
    few = contrasted(frame)
    keys = {"technique_a": "sacd", "technique_b": "premortem"}
    row, small = (of(r, **keys, level="trial") for r in (rows, few))
    assert row["difference"] == pytest.approx(small["difference"], rel=1e-9)
    n_1, n_2 = (len(expanded(frame, name)) for name in keys.values())
    shrunk = math.sqrt((n_1 + n_2 - 2) / (n_1 + n_2))
    assert small["cohens_d"] / shrunk == pytest.approx(row["cohens_d"], rel=1e-2)
    assert 0 < row["cohens_d_high"] - row["cohens_d_low"] < 1e-3
    paired, before = (of(r, **keys, level="llm") for r in (rows, few))
    assert paired["p_value"] == before["p_value"]


def test_the_recorded_archive_has_the_d_of_document_a_where_it_used_trials(recorded):
    rows = recorded.frame("select * from inference.contrasts where domain = 'judicial' and row_set = 'as_recorded'")
    # table of effect sizes, section 3.1; those of SACD repeat cell means and do not come out of trials
    for a, b, printed in (("premortem", "devils_advocate", 0.71), ("random_control", "devils_advocate", 0.39)):
        assert round(of(rows, technique_a=a, technique_b=b, level="trial")["cohens_d"], 2) == printed
    assert of(rows, technique_a="sacd", technique_b="premortem", level="trial")["p_value"] > 0.1
    judicial = f"{ANSWERED} and domain = 'judicial' and response_source = 'recorded'"
    responses_ = recorded.frame(f"select {RESPONSES} from marts.counts where {judicial}")
    a, b = (
        compared(responses_, row_set="accepted").query(
            "technique == @name and percent_of_baseline.notna()", engine="python"
        )
        for name in ("sacd", "premortem")
    )
    a, b = (rows.loc[rows.index.repeat(rows["n_trials"]), "percent_of_baseline"] for rows in (a, b))
    accepted = recorded.frame(
        "select * from inference.contrasts where domain = 'judicial' and row_set = 'accepted' "
        "and response_source = 'recorded'"
    )
    row = of(accepted, technique_a="sacd", technique_b="premortem", level="trial")
    assert row["p_value"] == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-6)
