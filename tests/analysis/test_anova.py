"""The analysis of variance agrees with statsmodels on expanded rows and says why it has no F."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.anova import AnovaRM

from analysis.methods.anova import anova_rows, repeated_measures, type_two
from analysis.methods.mixed_effects import MIXED_MODELS, cells_of, samples
from analysis.tables import table

TECHNIQUES = ["devils_advocate", "premortem", "sacd"]
BY = ["llm", "vignette", "technique", "temperature"]
STATISTICS = ["statistic", "df1", "p_value", "partial_eta_squared"]


def simulated(seed, *, llms=6, temperatures=(0.0, 0.7, 1.0), size=8):
    """Trials as rows, unbalanced: percent of baseline by LLM, technique and temperature."""
    rng = np.random.default_rng(seed)
    rows = []
    for j, common in enumerate(rng.normal(0, 12, llms)):
        for t, technique in enumerate(TECHNIQUES):
            for temperature in temperatures:
                mean = 70 + 8 * t + 4 * temperature * (1 + t) + common
                for value in np.round(mean + rng.normal(0, 15, rng.integers(2, size)), 1):
                    rows.append((f"llm-{j}", "v", technique, temperature, value))
    return pd.DataFrame(rows, columns=[*BY, "percent_of_baseline"]).assign(n_trials=1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("block", [None, "llm"])
def test_type_two_agrees_with_statsmodels_on_rows(seed, block):
    rows = simulated(seed)
    formula = "percent_of_baseline ~ C(technique) * C(temperature)" + (f" + C({block})" if block else "")
    theirs = sm.stats.anova_lm(ols(formula, rows).fit(), typ=2)
    order = ["C(technique)", "C(temperature)", "C(technique):C(temperature)"]
    for ours, name in zip(type_two(cells_of(rows, BY), "technique", "temperature", block), order, strict=True):
        assert ours["sum_of_squares"] == pytest.approx(theirs.loc[name, "sum_sq"], rel=1e-6)
        assert ours["statistic"] == pytest.approx(theirs.loc[name, "F"], rel=1e-6)
        assert ours["p_value"] == pytest.approx(theirs.loc[name, "PR(>F)"], rel=1e-6)
        assert (ours["df1"], ours["df2"]) == (theirs.loc[name, "df"], theirs.loc["Residual", "df"])
        explained, left = theirs.loc[name, "sum_sq"], theirs.loc["Residual", "sum_sq"]
        assert ours["partial_eta_squared"] == pytest.approx(explained / (explained + left), rel=1e-6)


def test_repeated_measures_agree_with_statsmodels():
    values = np.random.default_rng(1).normal(size=(7, 4, 3))
    index = pd.MultiIndex.from_product([range(7), range(4), range(3)], names=["llm", "technique", "temperature"])
    frame = pd.Series(values.ravel(), index, name="y").reset_index()
    theirs = AnovaRM(frame, "y", "llm", within=["technique", "temperature"]).fit().anova_table
    for ours, name in zip(
        repeated_measures(values), ["technique", "temperature", "technique:temperature"], strict=True
    ):
        assert ours["statistic"] == pytest.approx(theirs.loc[name, "F Value"], rel=1e-9)
        assert (ours["df1"], ours["df2"]) == (theirs.loc[name, "Num DF"], theirs.loc[name, "Den DF"])
        assert ours["p_value"] == pytest.approx(theirs.loc[name, "Pr > F"], rel=1e-9)


def test_a_sum_done_in_the_head():
    cells = pd.DataFrame(
        {
            "technique": ["a", "a", "b", "b"],
            "temperature": [0, 1, 0, 1],
            "n_trials": [2, 2, 2, 2],
            "mean": [0.0, 0.0, 2.0, 4.0],
            "squares": [1.0, 1.0, 1.0, 1.0],
        }
    )
    technique, temperature, both = type_two(cells, "technique", "temperature")
    assert technique["sum_of_squares"] == pytest.approx(18)
    assert temperature["sum_of_squares"] == pytest.approx(2)
    assert both["sum_of_squares"] == pytest.approx(2)
    assert technique["statistic"] == pytest.approx(18)
    assert both["partial_eta_squared"] == pytest.approx(1 / 3)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_a_change_of_unit_leaves_every_f(seed, scale, shift):
    rows = simulated(seed, llms=3)
    moved = rows.assign(percent_of_baseline=scale * rows["percent_of_baseline"] + shift)
    for a, b in zip(
        *(type_two(cells_of(r, BY), "technique", "temperature", "llm") for r in (rows, moved)), strict=True
    ):
        assert b["statistic"] == pytest.approx(a["statistic"], rel=1e-5, abs=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_neither_order_nor_splitting_of_counts_nor_names_matter(seed):
    rows = simulated(seed, llms=3)
    other = rows.sample(frac=1, random_state=seed).assign(n_trials=2)
    other = other.assign(llm=other["llm"].map({"llm-0": "z", "llm-1": "a", "llm-2": "m"}))
    doubled = pd.concat([rows, rows])
    split, merged = (type_two(cells_of(r, BY), "technique", "temperature", "llm") for r in (doubled, other))
    for a, b in zip(split, merged, strict=True):
        assert b == pytest.approx(a, rel=1e-8, abs=1e-12)


def responses(rows):
    baselines = rows[["llm", "vignette"]].drop_duplicates()
    baselines = baselines.assign(
        technique="no_technique", anchor_direction="none", temperature=0.7, percent_of_baseline=100.0, n_trials=2
    )
    every = pd.concat([rows.assign(anchor_direction="low"), baselines], ignore_index=True)
    keys = [*BY, "anchor_direction", "percent_of_baseline"]
    every = every.groupby(keys, as_index=False, dropna=False)["n_trials"].sum()
    return every.assign(
        study="s", domain="d", row_set="accepted", response_source="recorded", response=every["percent_of_baseline"]
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows, None),
        (lambda rows: rows[rows["temperature"] == 0], "one_temperature"),
        (lambda rows: rows.assign(temperature=np.nan), "one_temperature"),
        (lambda rows: rows[rows["technique"] == "sacd"], "one_technique"),
        (lambda rows: rows.assign(percent_of_baseline=60.0), "zero_variance"),
        (lambda rows: rows[rows["llm"] < "llm-2"], "too_few_llms"),
        (lambda rows: rows.groupby(["technique", "temperature"]).head(1), "too_few_trials"),
        (lambda rows: rows.head(1), "one_temperature"),
        (lambda rows: rows[(rows["technique"] == "sacd") == (rows["temperature"] == 0)], "rank_deficient"),
    ],
)
def test_every_null_has_its_reason(change, reason):
    made = table(anova_rows(samples(responses(change(simulated(4))), TECHNIQUES)), MIXED_MODELS).to_pandas()
    assert len(made) > 0
    nulls = made[STATISTICS].isna().any(axis=1)
    assert made.loc[nulls, "reason"].notna().all()
    given = set(made["reason"].dropna())
    assert (reason in given) if reason else not given


def test_pairs_of_techniques_are_tested_for_their_interaction():
    made = table(anova_rows(samples(responses(simulated(5)), TECHNIQUES)), MIXED_MODELS).to_pandas()
    pairs = made[made["technique_a"].notna()]
    assert set(pairs["term"]) == {"technique x temperature"}
    assert set(zip(pairs["technique_a"], pairs["technique_b"], strict=True)) == {
        ("devils_advocate", "premortem"),
        ("devils_advocate", "sacd"),
        ("premortem", "sacd"),
    }
