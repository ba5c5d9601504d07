"""Mixed models of percent of baseline: the samples, their fits, and what the fits say as rows of four tables."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import special

from analysis.counts import compared
from analysis.methods.cluster_robust import ClusterRobust
from analysis.methods.linear_mixed_model import Fit, NotFittedError, RandomTerm, fit
from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.methods.t_and_f_tests import f_test, hotelling, t_bounds
from analysis.tables import declared, first_reason, reasons

FITS = ("intercept", "direction", "interaction", "slopes")
METHODS = ("REML", "ML")
MOST_SLOPES = 8  # their covariance has 36 numbers; of more the fit takes minutes and tells next to nothing
# of the rows of all four parts; each has some of them
MIXED_MODELS = {"part": "varchar"} | declared("mixed_effects", "variance_components", "random_effects", "model_tests")


@dataclass(frozen=True)
class Sample:
    """Trials of the ranked techniques in one domain under one specification.

    Parameters
    ----------
    keys : dict
        `study`, `domain`, `row_set`, `baseline_scope`.
    trials : pandas.DataFrame
        Counted rows of `analysis.counts.compared` that have a percent of baseline.
    techniques : list of str
        Those of the trials, sorted; if none has a baseline, those that were tried.
    """

    keys: dict
    trials: pd.DataFrame
    techniques: list

    @cached_property
    def cells(self):
        """Cells of LLM, vignette, technique and direction, as `cells_of` sums them."""
        return cells_of(self.trials, ["llm", "vignette", "technique", "anchor_direction"])


@dataclass(frozen=True)
class Fitted:
    """One fit of a sample, or the reason why there is none (`result` is None)."""

    sample: Sample
    fit: str
    estimation: str
    names: list
    result: Fit | None
    reason: str | None

    @property
    def keys(self):
        """What every row about this fit begins with."""
        return {**self.sample.keys, "fit": self.fit, "estimation": self.estimation}

    @cached_property
    def notes(self):
        """What every row about this fit ends with."""
        n_llms = self.sample.cells["llm"].nunique()
        few = "too_few_llms" if self.result is not None and n_llms < FEWEST_LLMS else None
        return {
            "method": f"linear_mixed_model_{self.estimation.lower()}",
            "n_trials": int(self.sample.cells["n_trials"].sum()),
            "n_llms": n_llms,
            "reason": reasons(self.reason, few),
        }


def samples(responses, techniques):
    """Split the trials of the ranked techniques by study, domain and specification.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`.
    techniques : iterable of str
        The ranked ones.

    Returns
    -------
    list of Sample
        Accepted trials over the pooled baseline; and, where the study has such baselines, the recorded trials over the
        baselines at temperature 1 and 0, as document A has them.
    """
    ranked, parts = set(techniques), []
    for row_set, scope in (("accepted", "pooled"), ("as_recorded", "t=1"), ("as_recorded", "t=0")):
        frame = compared(responses, row_set=row_set, baseline_scope=scope) if len(responses) else responses
        frame = frame[frame["technique"].isin(ranked)]
        for (study, domain), trials in frame.groupby(["study", "domain"], sort=True):
            finite_trials = trials[np.isfinite(trials["percent_of_baseline"])]
            if len(finite_trials) or scope == "pooled":
                keys = {"study": study, "domain": domain, "row_set": row_set, "baseline_scope": scope}
                tried = finite_trials if len(finite_trials) else trials
                parts.append(Sample(keys, finite_trials, sorted(tried["technique"].unique())))
    return parts


def cells_of(trials, by):
    """Sum counted trials up to cells.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns `percent_of_baseline`, `n_trials` and those of `by`.
    by : list of str

    Returns
    -------
    pandas.DataFrame
        `by`, `n_trials`, `mean` and `squares` (sum of squares about the mean), sorted by `by`.
    """
    counts, values = trials["n_trials"], trials["percent_of_baseline"]
    keys = [trials[name] for name in by]
    centre = values - values.groupby(keys).transform("first")
    sums = (counts * centre).groupby(keys)
    mean = sums.transform("sum") / counts.groupby(keys).transform("sum")
    squares = counts * (centre - mean) ** 2
    parts = trials[by].assign(
        n_trials=counts, mean=values.groupby(keys).transform("first") + mean, squares=squares.astype(float)
    )
    return parts.groupby(by, as_index=False, sort=True).agg(
        n_trials=("n_trials", "sum"), mean=("mean", "first"), squares=("squares", "sum")
    )


def fit_all(of_samples):
    """Fit every model to every sample, by REML and by ML.

    Parameters
    ----------
    of_samples : iterable of Sample

    Returns
    -------
    list of Fitted
        With y percent of baseline, u_j the effect of LLM j, and a crossed random intercept by vignette where there are
        several: `intercept` is technique + (1 | llm), `direction` technique + direction + (1 | llm) (document A,
        equation 4), `interaction` technique * direction + (1 | llm), `slopes` technique + (technique | llm).
        Technique is coded by its means and direction by -1/2 (low) and +1/2 (high), which leaves the restricted
        likelihood what it is under lme4's default contrasts.
    """
    return [
        fit_sample(sample, fit_name, estimation) for sample in of_samples for fit_name in FITS for estimation in METHODS
    ]


def fit_sample(sample, fit_name, estimation):
    """Fit one of `FITS` to a sample by one of `METHODS`; see `fit_all`.

    Parameters
    ----------
    sample : Sample
    fit_name, estimation : str

    Returns
    -------
    Fitted
        With reason `no_baseline`, `one_llm`, `one_direction`, `one_technique`, `too_many_techniques`, `not_converged`
        or one of `fit`'s it has no result; with `singular` it has one.
    """
    cells = sample.cells
    design, names, terms = _design(cells, sample.techniques, fit_name)
    reason = first_reason(
        no_baseline=cells.empty,
        one_llm=cells["llm"].nunique() < 2,
        one_direction=fit_name in ("direction", "interaction") and cells["anchor_direction"].nunique() < 2,
        one_technique=fit_name in ("interaction", "slopes") and len(sample.techniques) < 2,
        too_many_techniques=fit_name == "slopes" and len(sample.techniques) > MOST_SLOPES,
    )
    result = None
    if not reason:
        try:
            numbers = (cells[name].to_numpy(float) for name in ("n_trials", "mean", "squares"))
            result = fit(design, terms, *numbers, reml=estimation == "REML")
            reason = first_reason(not_converged=not result.converged, singular=result.singular)
        except NotFittedError as error:
            reason = error.reason
    if reason == "not_converged":
        result = None
    return Fitted(sample, fit_name, estimation, names, result, reason)


def _design(cells, techniques, fit_name):
    indicators = (cells["technique"].to_numpy(object)[:, None] == np.array(techniques, object)).astype(float)
    half = np.where(cells["anchor_direction"] == "high", 0.5, -0.5)[:, None]
    columns, names = [indicators], [f"mean:{technique}" for technique in techniques]
    if fit_name == "direction":
        columns, names = [*columns, half], [*names, "direction"]
    if fit_name == "interaction":
        columns, names = [*columns, indicators * half], [*names, *(f"direction:{t}" for t in techniques)]
    llms, vignettes = (cells[name].to_numpy(object) for name in ("llm", "vignette"))
    ones = np.ones((len(cells), 1))
    if fit_name == "slopes":
        terms = [RandomTerm("llm", llms, [f"slope:{technique}" for technique in techniques], indicators)]
    else:
        terms = [RandomTerm("llm", llms, ["intercept"], ones)]
    if len(set(vignettes)) > 1:
        terms.append(RandomTerm("vignette", vignettes, ["intercept"], ones))
    return np.hstack(columns), names, terms


def _estimands(fitted):
    """Yield each published term and its weights on the coefficients."""
    techniques, p = fitted.sample.techniques, len(fitted.names)
    k = len(techniques)
    grand = np.zeros(p)
    grand[:k] = 1 / k
    identity = np.eye(p)
    yield "grand_mean", grand
    for i, technique in enumerate(techniques):
        yield f"mean:{technique}", identity[i]
    if k > 1:
        for i, technique in enumerate(techniques):
            yield f"effect:{technique}", identity[i] - grand
    if fitted.fit in ("direction", "interaction"):
        yield "direction", identity[k:].sum(axis=0) / (p - k)
    if fitted.fit == "interaction" and k > 1:
        for i, technique in enumerate(techniques):
            yield f"direction:{technique}", identity[k + i]


def mixed_effects_rows(fits, confidence=CONFIDENCE):
    """Fixed effects of each fit, as rows of part `mixed_effects`.

    Parameters
    ----------
    fits : iterable of Fitted
    confidence : float in (0, 1)

    Yields
    ------
    dict
        `std_error` is that of the fit, and `low` and `high` come from `std_error_over_llms`. Under slopes the two are
        the same, with one degree of freedom less than there are LLMs. The other fits take techniques and anchors to
        work alike on all LLMs, so their errors over LLMs are CR2's, with Satterthwaite's degrees of freedom.
    """
    for fitted in fits:
        over_llms = _over_llms(fitted)
        for term, weights in _estimands(fitted):
            row = {**fitted.keys, "term": term, "confidence": confidence, **fitted.notes}
            if fitted.result is not None:
                result = fitted.result
                estimate = float(weights @ result.coefficients)
                std_error = float(np.sqrt(weights @ result.covariance @ weights))
                row |= {
                    "estimate": estimate,
                    "std_error": std_error,
                    "log_likelihood": result.log_likelihood,
                    "n_parameters": result.n_parameters,
                }
                if over_llms is not None:
                    error, df = over_llms.error(weights)
                else:
                    error, df = std_error, row["n_llms"] - 1
                no_error = first_reason(one_llm_dominates=np.isnan(error), zero_variance=error <= 1e-12 * abs(estimate))
                if no_error:
                    row["reason"] = reasons(row["reason"], no_error)
                elif row["n_llms"] >= FEWEST_LLMS:
                    row |= {"std_error_over_llms": error, "df": df}
                    row["low"], row["high"] = t_bounds(estimate, error, df, confidence)
            yield row


def _over_llms(fitted):
    """Errors over LLMs of a fit without slopes; None of the others."""
    if fitted.result is None or fitted.fit == "slopes":
        return None
    cells, covariances = fitted.sample.cells, fitted.result.covariances
    design, _, terms = _design(cells, fitted.sample.techniques, fitted.fit)
    shared = [np.sqrt(covariances[term.name][0, 0]) * term.dense for term in terms if term.name != "llm"]
    within, between = fitted.result.residual_variance / cells["n_trials"], covariances["llm"][0, 0]
    shared = np.hstack(shared) if shared else None
    return ClusterRobust(design, cells["mean"], cells["llm"], within=within, between=between, shared=shared)


def variance_component_rows(fits):
    """Variances of each fit, as rows of part `variance_components`.

    Parameters
    ----------
    fits : iterable of Fitted

    Yields
    ------
    dict
        `icc` is the variance divided by that of a trial (under the technique that the component names, else averaged
        over techniques). Under slopes, `slope:<technique>` is of an LLM's deviation from the technique's mean, `llm` of
        its average over techniques, and `effect:<technique>` of the difference of the two.
    """
    fits = list(fits)
    reference = {
        (*fitted.sample.keys.values(), fitted.estimation): fitted.result for fitted in fits if fitted.fit == "intercept"
    }
    for fitted in fits:
        base = reference[(*fitted.sample.keys.values(), fitted.estimation)]
        has_no_base = fitted.result is not None and base is None
        for component, (variance, total) in _variances(fitted).items():
            row = {**fitted.keys, "component": component, **fitted.notes}
            row |= {"variance": variance, "sd": variance**0.5, "icc": min(variance / total, 1.0)}
            if fitted.result is not None and base is not None:
                left = fitted.result.residual_variance / base.residual_variance
                row["residual_reduction_percent"] = 100 * (1 - left)
            yield row | {"reason": reasons(fitted.reason, "no_intercept_fit" if has_no_base else None)}


def _variances(fitted):
    """Return the variance of each component beside that of a trial; NaN without a fit."""
    result, techniques = fitted.result, fitted.sample.techniques
    k, has_slopes = len(techniques), fitted.fit == "slopes"
    between = np.full((k, k), np.nan if result is None else result.covariances["llm"][0, 0])
    if has_slopes and result is not None:
        between = result.covariances["llm"]
    residual = np.nan if result is None else result.residual_variance
    shared = {}
    if fitted.sample.cells["vignette"].nunique() > 1:
        shared["vignette"] = np.nan if result is None else result.covariances["vignette"][0, 0]
    totals = np.diag(between) + sum(shared.values()) + residual
    components = {"llm": between.mean(), "residual": residual} | shared
    variances = {component: (variance, totals.mean()) for component, variance in components.items()}
    if has_slopes:
        centred = np.eye(k) - 1 / k
        for kind, covariance in (("slope", between), ("effect", centred @ between @ centred)):
            own = zip(techniques, np.diag(covariance), totals, strict=True)
            variances |= {f"{kind}:{technique}": of_technique for technique, *of_technique in own}
    return {component: (max(float(variance), 0.0), float(total)) for component, (variance, total) in variances.items()}


def random_effect_rows(fits):
    """Conditional modes of the LLMs, as rows of part `random_effects`.

    Parameters
    ----------
    fits : iterable of Fitted

    Yields
    ------
    dict
        `observed` is what shrinkage starts from: the mean of the LLM's trials less that of all trials, under slopes
        both of the technique.
    """
    for fitted in fits:
        cells = fitted.sample.cells
        llms, techniques, means, counts = (cells[name].to_numpy() for name in ("llm", "technique", "mean", "n_trials"))
        terms = {"intercept": np.full(len(cells), True)}
        if fitted.fit == "slopes":
            terms = {f"slope:{name}": techniques == name for name in fitted.sample.techniques}
        for level, llm in enumerate(np.unique(llms)):
            for i, (term, of_all) in enumerate(terms.items()):
                own = of_all & (llms == llm)
                row = {**fitted.keys, "llm": llm, "term": term, **fitted.notes, "n_trials": counts[own].sum()}
                row["reason"] = reasons(fitted.reason, None if own.any() else "no_trials")
                if fitted.result is not None:
                    row["estimate"] = float(fitted.result.modes["llm"][level, i])
                if own.any():
                    mean, of_everybody = (np.average(means[rows], weights=counts[rows]) for rows in (own, of_all))
                    row["observed"] = float(mean - of_everybody)
                yield row


def likelihood_ratio_rows(fits):
    """Likelihood ratio tests of nested fits, as rows of part `model_tests`.

    Parameters
    ----------
    fits : iterable of Fitted

    Yields
    ------
    dict
        By maximum likelihood, on chi-square with as many degrees of freedom as there are further parameters. For
        `slopes` the null is on the boundary, so the p-value is too large (conservative). A last row compares plain
        least squares with a mean per LLM and with one per LLM and technique: n log of the ratio of the residual sums,
        which is what document A prints as the test of its random slopes.

    References
    ----------
    Stram & Lee (1994), Biometrics 50, 1171-1177, on the boundary.
    """
    by_sample = {}
    for fitted in fits:
        by_sample.setdefault(tuple(fitted.sample.keys.values()), {})[fitted.fit, fitted.estimation] = fitted
    nested = (
        ("intercept", "direction", "direction"),
        ("direction", "interaction", "technique x direction"),
        ("intercept", "slopes", "technique x llm"),
    )
    for group in by_sample.values():
        for name_a, name_b, term in nested:
            a, b = group[name_a, "ML"], group[name_b, "ML"]
            row = {**a.sample.keys, "test": "likelihood_ratio", "term": term, "fit_a": name_a, "fit_b": name_b}
            row |= {**b.notes, "method": "likelihood_ratio_ml"}
            if a.result is None:
                row["reason"] = a.reason
            elif b.result is not None:
                statistic = max(0.0, 2 * (b.result.log_likelihood - a.result.log_likelihood))
                df = b.result.n_parameters - a.result.n_parameters
                row |= _chi2_test(statistic, df, b.result.residual_variance / a.result.residual_variance)
                if row["n_llms"] < FEWEST_LLMS:
                    row["p_value"] = None
            yield row
        yield _least_squares_ratio(group["slopes", "ML"])


def _least_squares_ratio(fitted):
    row = {**fitted.sample.keys, "test": "likelihood_ratio", "term": "technique and technique x llm"}
    row |= {"fit_a": "llm_means", "fit_b": "llm_technique_means", **fitted.notes}
    row |= {"method": "likelihood_ratio_least_squares", "reason": None}
    trials = fitted.sample.trials
    a, b = cells_of(trials, ["llm"]), cells_of(trials, ["llm", "technique"])
    df = len(b) - len(a)
    total, within = float(a["squares"].sum()), float(b["squares"].sum())
    reason = first_reason(
        no_baseline=trials.empty, one_technique=df == 0, zero_variance=within <= 1e-14 * total or within == 0
    )
    if reason:
        return {**row, "reason": reason}
    return row | _chi2_test(row["n_trials"] * float(np.log(total / within)), df, within / total)


def _chi2_test(statistic, df, unexplained):
    p_value = float(special.chdtrc(df, statistic))
    return {"statistic": statistic, "df1": df, "p_value": p_value, "partial_eta_squared": 1 - unexplained}


def wald_rows(fits):
    """Wald F tests of the techniques and of their interaction with the direction, as rows of part `model_tests`.

    Parameters
    ----------
    fits : iterable of Fitted

    Yields
    ------
    dict
        From the REML fits, on n - p degrees of freedom: trials count as independent but for what an LLM has in common.
    """
    for fitted in fits:
        if fitted.estimation != "REML" or fitted.fit not in ("intercept", "interaction"):
            continue
        k = len(fitted.sample.techniques)
        term, start = ("technique", 0) if fitted.fit == "intercept" else ("technique x direction", k)
        row = {**fitted.sample.keys, "test": "wald_f", "term": term, "fit_a": fitted.fit, **fitted.notes}
        row["method"] = "wald_f_residual_df"
        if k < 2:
            row["reason"] = "one_technique"
        elif fitted.result is not None:
            result = fitted.result
            contrast = np.zeros((k - 1, len(fitted.names)))
            contrast[:, start : start + k] = np.eye(k)[1:] - np.eye(k)[0]
            estimate = contrast @ result.coefficients
            quadratic = estimate @ np.linalg.solve(contrast @ result.covariance @ contrast.T, estimate)
            df2 = result.n_trials - len(fitted.names)
            row |= f_test(quadratic, k - 1, df2, df2)
            if row["n_llms"] < FEWEST_LLMS:
                row["p_value"] = None
        yield row


def llm_level_rows(of_samples):
    """Hotelling tests over LLMs of the same two hypotheses, as rows of part `model_tests`.

    Parameters
    ----------
    of_samples : iterable of Sample

    Yields
    ------
    dict
        An LLM is one observation: its means by technique (of its cell means; cells weigh the same), or its differences
        high - low by technique. LLMs without all cells stay out. F = (G - d) / (d (G - 1)) T^2 on d and G - d
        degrees of freedom, d one less than there are techniques.

    References
    ----------
    Hotelling (1931), Annals of Mathematical Statistics 2, 360-378.
    """
    for sample in of_samples:
        cells = sample.cells
        wide = cells.pivot_table(index="llm", columns=["technique", "anchor_direction", "vignette"], values="mean")
        complete = wide.dropna()
        averages = complete.T.groupby(level=["technique", "anchor_direction"]).mean().T
        n_trials = int(cells.loc[cells["llm"].isin(complete.index), "n_trials"].sum())
        for term in ("technique", "technique x direction"):
            row = {**sample.keys, "test": "hotelling_t2", "term": term, "fit_a": "llm_means", "method": "hotelling_t2"}
            row |= {"n_trials": n_trials, "n_llms": len(complete)}
            row["reason"] = first_reason(
                no_baseline=cells.empty,
                one_technique=len(sample.techniques) < 2,
                one_direction=term != "technique" and cells["anchor_direction"].nunique() < 2,
                too_few_llms=len(complete) < max(FEWEST_LLMS, len(sample.techniques)),
            )
            if row["reason"] is None:
                if term == "technique":
                    values = averages.T.groupby(level="technique").mean().T.to_numpy()
                else:
                    directed = averages.swaplevel(axis=1)
                    values = (directed["high"] - directed["low"]).to_numpy()
                row |= hotelling(values[:, 1:] - values[:, :1])
            yield row


def mixed_model_rows(of_samples):
    """Fit every sample once and say all of it.

    Parameters
    ----------
    of_samples : list of Sample
        Of one response source.

    Yields
    ------
    dict
        Rows of `MIXED_MODELS`, with the name of the table that they are of as `part`.
    """
    fits = fit_all(of_samples)
    parts = {
        "mixed_effects": mixed_effects_rows(fits),
        "variance_components": variance_component_rows(fits),
        "random_effects": random_effect_rows(fits),
        "model_tests": [*likelihood_ratio_rows(fits), *wald_rows(fits), *llm_level_rows(of_samples)],
    }
    for part, rows in parts.items():
        yield from ({"part": part, **row} for row in rows)
