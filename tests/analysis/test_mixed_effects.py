"""The mixed models agree with statsmodels on rows and with a dense likelihood, and obey the laws of their model."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import f as f_distribution

from analysis.methods import mixed_effects
from analysis.methods.linear_mixed_model import NotFittedError, ProfiledDeviance, RandomTerm, fit
from analysis.methods.mixed_effects import MIXED_MODELS, cells_of, mixed_model_rows, samples
from analysis.methods.t_and_f_tests import hotelling
from analysis.tables import table

TECHNIQUES = ["devils_advocate", "premortem", "sacd"]
BY = ["llm", "vignette", "technique", "anchor_direction"]


def simulated(seed, *, llms=8, vignettes=1, sd=(12.0, 6.0, 20.0), size=9, techniques=TECHNIQUES):
    """Trials as rows: percent of baseline with an LLM effect, one of its own per technique, and one per vignette."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(0, sd[0], llms), rng.normal(0, sd[1], (llms, len(techniques)))
    scene = rng.normal(0, sd[0], vignettes)
    rows = []
    for j in range(llms):
        for v in range(vignettes):
            for t, technique in enumerate(techniques):
                for k, direction in enumerate(("low", "high")):
                    mean = 70 + 10 * t + 25 * k + common[j] + own[j, t] + scene[v]
                    for value in np.round(mean + rng.normal(0, sd[2], rng.integers(3, size)), 1):
                        rows.append((f"llm-{j}", f"v{v}", technique, direction, value))
    return pd.DataFrame(rows, columns=[*BY, "percent_of_baseline"]).assign(n_trials=1)


def parts(rows, slopes=False):
    cells = cells_of(rows, BY)
    techniques = sorted(rows["technique"].unique())
    x = (cells["technique"].to_numpy(object)[:, None] == np.array(techniques, object)).astype(float)
    columns = techniques if slopes else ["intercept"]
    terms = [RandomTerm("llm", cells["llm"].to_numpy(object), columns, x if slopes else np.ones((len(x), 1)))]
    if rows["vignette"].nunique() > 1:
        terms.append(RandomTerm("vignette", cells["vignette"].to_numpy(object), ["intercept"], np.ones((len(x), 1))))
    return x, terms, cells["n_trials"], cells["mean"], cells["squares"]


def oracle(rows, slopes=False):
    x = pd.get_dummies(rows["technique"]).to_numpy(float)
    return sm.MixedLM(rows["percent_of_baseline"], x, rows["llm"], exog_re=x if slopes else None)


def statsmodels_fit(model, reml, start=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(reml=reml, start_params=start)


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("slopes", [False, True])
def test_estimates_agree_with_statsmodels_on_rows(reml, slopes):
    rows = simulated(1, llms=12, sd=(12.0, 15.0, 20.0))
    ours = fit(*parts(rows, slopes), reml=reml)
    model = oracle(rows, slopes)
    first = statsmodels_fit(model, reml)
    assert ours.log_likelihood >= first.llf - 1e-9 * abs(first.llf)
    assert ours.log_likelihood == pytest.approx(first.llf, rel=1e-8)
    assert ours.coefficients == pytest.approx(np.asarray(first.fe_params), rel=1e-5 if slopes else 1e-6)
    relative = ours.covariances["llm"] / ours.residual_variance
    here = sm.regression.mixed_linear_model.MixedLMParams.from_components(ours.coefficients, cov_re=relative)
    model.reml = reml
    assert ours.log_likelihood == pytest.approx(model.loglike(here, profile_fe=True), rel=1e-11)
    theirs = statsmodels_fit(model, reml, here)
    assert ours.coefficients == pytest.approx(np.asarray(theirs.fe_params), rel=1e-6)
    assert ours.residual_variance == pytest.approx(theirs.scale, rel=1e-6)
    assert ours.covariances["llm"] == pytest.approx(np.asarray(theirs.cov_re), rel=5e-5)
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(np.asarray(theirs.bse_fe), rel=1e-2)
    modes = np.array([np.asarray(theirs.random_effects[llm]) for llm in sorted(rows["llm"].unique())])
    assert ours.modes["llm"] == pytest.approx(modes, rel=1e-4, abs=1e-4)
    assert ours.converged
    assert not ours.singular


@pytest.mark.parametrize("reml", [True, False])
def test_crossed_vignettes_agree_with_variance_components_of_statsmodels(reml):
    rows = simulated(2, llms=5, vignettes=4, size=6)
    x = pd.get_dummies(rows["technique"]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MixedLM.from_formula(
            "y ~ 0 + a + b + c",
            groups="one",
            vc_formula={"llm": "0 + C(llm)", "vignette": "0 + C(vignette)"},
            re_formula="0",
            data=x.set_axis(list("abc"), axis=1).assign(
                y=rows["percent_of_baseline"], one=1, llm=rows["llm"], vignette=rows["vignette"]
            ),
        ).fit(reml=reml)
    ours = fit(*parts(rows), reml=reml)
    assert ours.coefficients == pytest.approx(np.asarray(theirs.fe_params), rel=1e-6)
    variances = [ours.covariances[name][0, 0] for name in ("llm", "vignette")]
    assert variances == pytest.approx(np.asarray(theirs.vcomp), rel=1e-3)
    assert ours.residual_variance == pytest.approx(theirs.scale, rel=5e-5)
    assert ours.log_likelihood >= theirs.llf - 1e-9 * abs(theirs.llf)
    assert ours.log_likelihood == pytest.approx(theirs.llf, rel=1e-7)


def dense(rows, reml, covariances, residual, slopes):
    """Log-likelihood at the estimates with the n x n covariance written out."""
    x = pd.get_dummies(rows["technique"]).to_numpy(float)
    y = rows["percent_of_baseline"].to_numpy()
    z = x if slopes else np.ones((len(x), 1))
    same = rows["llm"].to_numpy(object)[:, None] == rows["llm"].to_numpy(object)
    v = residual * np.eye(len(y)) + same * (z @ covariances["llm"] @ z.T)
    if "vignette" in covariances:
        same = rows["vignette"].to_numpy(object)[:, None] == rows["vignette"].to_numpy(object)
        v = v + same * covariances["vignette"][0, 0]
    inverse = np.linalg.inv(v)
    information = x.T @ inverse @ x
    beta = np.linalg.solve(information, x.T @ inverse @ y)
    left = y - x @ beta
    value = -(len(y) * np.log(2 * np.pi) + np.linalg.slogdet(v)[1] + left @ inverse @ left) / 2
    if reml:
        value += x.shape[1] / 2 * np.log(2 * np.pi) - np.linalg.slogdet(information)[1] / 2
    return value, beta, np.linalg.inv(information)


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize(("slopes", "vignettes"), [(False, 1), (True, 1), (False, 3), (True, 3)])
def test_the_likelihood_is_that_of_the_covariance_written_out(reml, slopes, vignettes):
    rows = simulated(3, llms=5, vignettes=vignettes, size=4)
    ours = fit(*parts(rows, slopes), reml=reml)
    value, beta, covariance = dense(rows, reml, ours.covariances, ours.residual_variance, slopes)
    assert ours.log_likelihood == pytest.approx(value, rel=1e-9)
    assert ours.coefficients == pytest.approx(beta, rel=1e-9)
    assert ours.covariance == pytest.approx(covariance, rel=1e-8)
    for scale in (0.97, 1.03):
        llm = {**ours.covariances, "llm": ours.covariances["llm"] * scale}
        assert dense(rows, reml, llm, ours.residual_variance, slopes)[0] < value
        assert dense(rows, reml, ours.covariances, ours.residual_variance * scale, slopes)[0] < value


@pytest.mark.parametrize("reml", [True, False])
def test_the_gradient_is_the_slope_of_the_deviance(reml):
    x, terms, *numbers = parts(simulated(4, vignettes=3), slopes=True)
    problem = ProfiledDeviance(x, terms, *numbers, reml=reml)
    rng = np.random.default_rng(0)
    for _ in range(5):
        theta = rng.normal(size=7)
        slope = np.empty(7)
        for i in range(7):
            h = np.eye(7)[i] * 1e-5
            slope[i] = (problem.solve(theta + h)["deviance"] - problem.solve(theta - h)["deviance"]) / 2e-5
        assert problem.solve(theta)["gradient"] == pytest.approx(slope, rel=1e-5, abs=1e-4)


def compare(a, b, scale=1.0, rel=1e-6):
    assert b.coefficients == pytest.approx(scale * a.coefficients, rel=rel)
    assert b.residual_variance == pytest.approx(scale**2 * a.residual_variance, rel=rel)
    for name, covariance in a.covariances.items():
        assert b.covariances[name] == pytest.approx(scale**2 * covariance, rel=1e-4, abs=1e-5 * scale**2)


laws = settings(max_examples=8)


@laws
@given(st.integers(0, 10**6), st.booleans())
def test_neither_order_nor_splitting_of_counts_matters(seed, slopes):
    rows = simulated(seed, llms=5)
    doubled = pd.concat([rows, rows.assign(n_trials=2)])
    tripled = rows.assign(n_trials=3).sample(frac=1, random_state=seed)
    a, b = fit(*parts(doubled, slopes)), fit(*parts(tripled, slopes))
    compare(a, b)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=1e-9)


@laws
@given(st.integers(0, 10**6), st.booleans())
def test_doubled_counts_are_doubled_rows(seed, reml):
    rows = simulated(seed, llms=5)
    a = fit(*parts(rows.assign(n_trials=2)), reml=reml)
    b = fit(*parts(pd.concat([rows, rows])), reml=reml)
    compare(a, b)
    assert a.n_trials == b.n_trials == 2 * len(rows)


@laws
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.booleans())
def test_a_change_of_unit_moves_estimates_and_likelihood_with_it(seed, unit, reml):
    rows = simulated(seed, llms=6)
    a = fit(*parts(rows), reml=reml)
    b = fit(*parts(rows.assign(percent_of_baseline=unit * rows["percent_of_baseline"])), reml=reml)
    compare(a, b, unit)
    free = a.n_trials - 3 * reml
    assert b.log_likelihood == pytest.approx(a.log_likelihood - free * np.log(unit), rel=1e-9)


@laws
@given(st.integers(0, 10**6), st.permutations(range(6)))
def test_names_of_llms_do_not_matter(seed, order):
    rows = simulated(seed, llms=6)
    renamed = rows.assign(llm=rows["llm"].map({f"llm-{i}": f"llm-{k}" for i, k in enumerate(order)}))
    a, b = fit(*parts(rows, True)), fit(*parts(renamed, True))
    compare(a, b)
    assert b.modes["llm"][list(order)] == pytest.approx(a.modes["llm"], abs=1e-3)


def test_a_hundred_million_trials_lose_no_digits():
    rows = simulated(5)
    x, terms, n, mean, squares = parts(rows, True)
    many = fit(x, terms, n * 10**6, mean + 1e4, squares * 10**6, reml=False)
    again = fit(x, terms, n * 10**6, mean, squares * 10**6, reml=False)
    assert many.n_trials > 10**8
    assert many.converged
    assert many.coefficients - 1e4 == pytest.approx(again.coefficients, abs=1e-6)
    within = rows.groupby(["llm", "technique"])["percent_of_baseline"].var(ddof=0).to_numpy()
    sizes = rows.groupby(["llm", "technique"]).size().to_numpy()
    assert many.residual_variance == pytest.approx(np.average(within, weights=sizes), rel=1e-6)
    assert many.covariances["llm"] == pytest.approx(again.covariances["llm"], rel=1e-6)


def test_no_variance_between_llms_is_singular():
    rows = simulated(6)
    value = rows["percent_of_baseline"]
    centred = value - value.groupby(rows["llm"]).transform("mean") + 80
    fitted = fit(*parts(rows.assign(percent_of_baseline=centred)))
    assert fitted.singular
    assert fitted.converged
    assert fitted.covariances["llm"] == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows.assign(percent_of_baseline=80.0), "zero_variance"),
        (lambda rows: rows.assign(percent_of_baseline=rows["llm"].str[-1].astype(float)), "zero_variance"),
        (lambda rows: rows.groupby("technique").head(1), "too_few_trials"),
        (lambda rows: rows.groupby("llm").head(1), "too_few_trials"),
    ],
)
def test_what_cannot_be_fitted_says_why(change, reason):
    with pytest.raises(NotFittedError) as error:
        fit(*parts(change(simulated(7))))
    assert error.value.reason == reason


def test_a_design_without_full_rank_says_so():
    x, terms, *numbers = parts(simulated(7))
    with pytest.raises(NotFittedError) as error:
        fit(np.hstack([x, x[:, :1]]), terms, *numbers)
    assert error.value.reason == "rank_deficient"


def responses(rows, baseline=100.0):
    """Answers to anchors whose percent of baseline is that of `rows`."""
    pairs = rows[["llm", "vignette"]].drop_duplicates()
    baselines = pairs.assign(technique="no_technique", anchor_direction="none", percent_of_baseline=100.0, n_trials=2)
    every = pd.concat([rows, baselines], ignore_index=True) if baseline else rows
    every = every.groupby([*BY, "percent_of_baseline"], as_index=False)["n_trials"].sum()
    return every.assign(
        study="s",
        domain="d",
        temperature=0.7,
        row_set="accepted",
        response_source="recorded",
        response=every["percent_of_baseline"] * (baseline or 1) / 100,
    ).drop(columns="percent_of_baseline")


def tables(counts):
    made = table(mixed_model_rows(samples(counts, TECHNIQUES)), MIXED_MODELS).to_pandas()
    return {part: made[made["part"] == part] for part in STATISTICS}


STATISTICS = {
    "mixed_effects": ["estimate", "std_error", "std_error_over_llms", "df", "low", "high", "log_likelihood"],
    "variance_components": ["variance", "sd", "icc", "residual_reduction_percent"],
    "random_effects": ["estimate", "observed"],
    "model_tests": ["statistic", "df1", "p_value", "partial_eta_squared"],
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows, None),
        (lambda rows: rows[rows["llm"] == "llm-0"], "one_llm"),
        (lambda rows: rows[rows["llm"] < "llm-2"], "too_few_llms"),
        (lambda rows: rows[rows["technique"] == "sacd"], "one_technique"),
        (lambda rows: rows[rows["anchor_direction"] == "low"], "one_direction"),
        (lambda rows: rows.assign(percent_of_baseline=50.0), "zero_variance"),
        (lambda rows: rows.head(1), "one_llm"),
        (lambda rows: rows[(rows["technique"] != "sacd") | (rows["anchor_direction"] == "low")], "rank_deficient"),
        (lambda rows: rows[(rows["technique"] != "sacd") | (rows["llm"] == "llm-1")], "no_trials"),
    ],
)
def test_every_null_has_its_reason(change, reason):
    made = tables(responses(change(simulated(8, llms=6))))
    for name, statistics in STATISTICS.items():
        nulls = made[name][statistics].isna().any(axis=1)
        assert made[name].loc[nulls, "reason"].notna().all(), name
        assert np.isfinite(made[name][statistics].to_numpy(float)[~nulls]).all()
    given = {word for part in made.values() for text in part["reason"].dropna() for word in text.split("; ")}
    assert (reason in given) if reason else given <= {"singular"}


def test_random_slopes_of_many_techniques_are_not_fitted_and_the_other_models_are(monkeypatch):
    monkeypatch.setattr(mixed_effects, "MOST_SLOPES", 2)
    effects = tables(responses(simulated(8, llms=6)))["mixed_effects"]
    of_slopes = effects["fit"] == "slopes"
    assert effects.loc[of_slopes, "estimate"].isna().all()
    assert set(effects.loc[of_slopes, "reason"]) == {"too_many_techniques"}
    assert effects.loc[~of_slopes, "estimate"].notna().all()


def test_without_a_baseline_nothing_is_estimated():
    made = tables(responses(simulated(8), baseline=None))
    assert set(made["mixed_effects"]["reason"]) == {"no_baseline"}
    assert made["mixed_effects"]["estimate"].isna().all()
    assert set(made["model_tests"]["reason"]) == {"no_baseline"}


def test_without_trials_the_tables_are_empty_and_typed():
    nothing = responses(simulated(8)).head(0)
    assert table(mixed_model_rows(samples(nothing, TECHNIQUES)), MIXED_MODELS).num_rows == 0


def test_terms_are_the_means_and_differences_that_they_say():
    rows = simulated(9, llms=6).assign(n_trials=1)
    made = tables(responses(rows))["mixed_effects"]
    made = made[(made["estimation"] == "REML") & (made["fit"] == "interaction")].set_index("term")["estimate"]
    means = [made[f"mean:{technique}"] for technique in TECHNIQUES]
    assert made["grand_mean"] == pytest.approx(np.mean(means))
    assert made["effect:sacd"] == pytest.approx(made["mean:sacd"] - np.mean(means))
    assert made["direction"] == pytest.approx(np.mean([made[f"direction:{t}"] for t in TECHNIQUES]))
    assert made["direction:sacd"] == pytest.approx(25, abs=6)


@pytest.mark.parametrize(("fit_name", "term"), [("direction", "direction"), ("interaction", "direction:sacd")])
def test_without_slopes_equal_cells_have_the_t_interval_of_the_differences_of_llms(fit_name, term):
    rows = simulated(11, llms=6, size=4)  # three trials in every cell
    made = tables(responses(rows))["mixed_effects"].query(f"fit == '{fit_name}' and estimation == 'REML'")
    row = made.set_index("term").loc[term]
    own = rows if term == "direction" else rows[rows["technique"] == "sacd"]
    wide = own.groupby(["llm", "anchor_direction"])["percent_of_baseline"].mean().unstack()
    differences = wide["high"] - wide["low"]
    expected = stats.ttest_1samp(differences, 0).confidence_interval()
    assert (row["low"], row["high"], row["df"]) == pytest.approx((expected.low, expected.high, 5))
    assert row["std_error_over_llms"] == pytest.approx(stats.sem(differences))
    assert row["std_error"] != pytest.approx(row["std_error_over_llms"])


def test_under_slopes_the_interval_is_that_of_the_fit():
    made = tables(responses(simulated(12)))["mixed_effects"].query("fit == 'slopes'")
    assert made["std_error_over_llms"].tolist() == made["std_error"].tolist()
    assert set(made["df"]) == {7}


def test_the_wald_test_of_one_difference_is_its_t_squared():
    rows = simulated(10, techniques=["premortem", "sacd"])
    made = tables(responses(rows))
    effects = made["mixed_effects"].query("fit == 'intercept' and estimation == 'REML'").set_index("term")
    test = made["model_tests"].query("test == 'wald_f' and term == 'technique'").iloc[0]
    t = effects.loc["effect:sacd", "estimate"] / effects.loc["effect:sacd", "std_error"]
    assert test["statistic"] == pytest.approx(t**2)
    assert test["df2"] == len(rows) - 2
    assert test["p_value"] == pytest.approx(f_distribution.sf(t**2, 1, len(rows) - 2))


def test_hotelling_of_one_difference_is_the_paired_t_squared():
    values = np.array([[1.0], [2.0], [4.0], [5.0], [3.0]])
    made = hotelling(values)
    assert made["statistic"] == pytest.approx(5 * 9 / 2.5)
    assert (made["df1"], made["df2"]) == (1, 4)


def test_likelihood_ratios_are_counted_in_parameters():
    made = tables(responses(simulated(11)))["model_tests"].query("test == 'likelihood_ratio'").set_index("term")
    assert made.loc["direction", "df1"] == 1
    assert made.loc["technique x direction", "df1"] == 2
    assert made.loc["technique x llm", "df1"] == 5
    assert made.loc["technique and technique x llm", "df1"] == 8 * 3 - 8


def test_a_variance_on_the_boundary_is_zero_and_said_to_be_singular():
    rows = simulated(6)
    value = rows["percent_of_baseline"]
    centred = value - value.groupby(rows["llm"]).transform("mean") + 80
    made = tables(responses(rows.assign(percent_of_baseline=centred)))
    llm = made["variance_components"].query("fit == 'intercept' and component == 'llm'")
    assert (llm["variance"] == 0).all()
    assert set(llm["reason"]) == {"singular"}


def test_components_add_up_and_slopes_are_of_the_techniques():
    rows = simulated(12, llms=12, vignettes=2, sd=(12.0, 15.0, 20.0))
    made = tables(responses(rows))["variance_components"].query("estimation == 'REML'").set_index("component")
    plain, slopes = (made[made["fit"] == name] for name in ("intercept", "slopes"))
    assert set(plain.index) == {"llm", "vignette", "residual"}
    assert plain["icc"].sum() == pytest.approx(1)
    reduction = 100 * (1 - slopes.loc["residual", "variance"] / plain.loc["residual", "variance"])
    assert slopes["residual_reduction_percent"].to_numpy() == pytest.approx(reduction)
    x, terms, *numbers = parts(rows, True)
    covariance = fit(x, terms, *numbers).covariances["llm"]
    own = [slopes.loc[f"slope:{technique}", "variance"] for technique in TECHNIQUES]
    assert own == pytest.approx(np.diag(covariance), rel=1e-6)
    assert slopes.loc["llm", "variance"] == pytest.approx(covariance.mean(), rel=1e-6)
    apart = covariance[2, 2] + covariance.mean() - 2 * covariance[2].mean()
    assert slopes.loc["effect:sacd", "variance"] == pytest.approx(apart, rel=1e-6)


def test_conditional_modes_shrink_what_is_observed():
    rows = simulated(13)
    made = tables(responses(rows))["random_effects"].query("estimation == 'REML' and fit == 'slopes'")
    one = made.query("llm == 'llm-3' and term == 'slope:sacd'").iloc[0]
    sacd = rows[rows["technique"] == "sacd"]
    own = sacd[sacd["llm"] == "llm-3"]["percent_of_baseline"]
    assert one["observed"] == pytest.approx(own.mean() - sacd["percent_of_baseline"].mean())
    assert one["n_trials"] == len(own)
    assert made["estimate"].std() < made["observed"].std()


def test_recorded_trials_over_baselines_of_one_temperature_are_specifications_where_there_are_any():
    counts = responses(simulated(14, llms=3))
    is_baseline = counts["anchor_direction"] == "none"
    recorded = counts.assign(row_set="as_recorded", temperature=counts["temperature"].where(~is_baseline, 1.0))
    found = samples(pd.concat([counts, recorded]), TECHNIQUES)
    assert [(s.keys["row_set"], s.keys["baseline_scope"]) for s in found] == [
        ("accepted", "pooled"),
        ("as_recorded", "t=1"),
    ]
