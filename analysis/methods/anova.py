"""Two-way analysis of variance of percent of baseline, technique x temperature, from cell counts, means and squares."""

from itertools import combinations

import numpy as np
import pandas as pd

from analysis.methods.mixed_effects import cells_of
from analysis.methods.small_samples import FEWEST_LLMS
from analysis.methods.t_and_f_tests import f_test
from analysis.tables import first_reason

TERMS = ("technique", "temperature", "technique x temperature")


def type_two(cells, first, second, block=None):
    """Type II analysis of variance of two crossed factors.

    Parameters
    ----------
    cells : pandas.DataFrame
        Columns `n_trials`, `mean`, `squares` (sum of squares about the mean) and the factors, one row per cell.
    first, second, block : str
        Names of the factors; the block enters by its main effect alone.

    Returns
    -------
    list of dict
        For `first`, `second` and their interaction: `sum_of_squares`, `statistic` (F), `df1`, `df2`, `p_value`,
        `partial_eta_squared`; or `reason`: `one_<factor>`, `zero_variance`, `too_few_trials`, `rank_deficient` (no
        cells that could tell the term from the others).

    References
    ----------
    Fox (2016), Applied Regression Analysis and Generalized Linear Models, 3rd ed., section 8.2.5. Each main effect is
    adjusted for the other and for the block, the interaction for all; all are tested against the full fit's residual.
    """
    if cells.empty:
        return [{"reason": "no_baseline"}] * 3
    a, b = (pd.get_dummies(cells[name]).to_numpy(float) for name in (first, second))
    both = (a[:, :, None] * b[:, None, :]).reshape(len(cells), -1)
    blocks = pd.get_dummies(cells[block]).to_numpy(float) if block else np.ones((len(cells), 1))
    root = np.sqrt(cells["n_trials"].to_numpy(float))
    y = root * (cells["mean"].to_numpy(float) - cells["mean"].iloc[0])

    def left(*columns):
        x = np.hstack([blocks, *columns]) * root[:, None]
        coefficients, _, rank, _ = np.linalg.lstsq(x, y, rcond=1e-10)
        return float(np.sum((y - x @ coefficients) ** 2)), int(rank)

    n, within = int(cells["n_trials"].sum()), float(cells["squares"].sum())
    additive, full = left(a, b), left(a, b, both)
    error, df2 = within + full[0], n - full[1]
    total = within + left()[0]
    reduced = (left(b), additive), (left(a), additive), (additive, full)
    missing = _one_level(a, first), _one_level(b, second), _one_level(a, first) or _one_level(b, second)
    rows = []
    for (without, with_term), one_level in zip(reduced, missing, strict=True):
        df1 = with_term[1] - without[1]
        explained = max(0.0, without[0] - with_term[0])
        no_variance = error <= 1e-14 * total or total <= 1e-24 * n * np.max(np.abs(cells["mean"])) ** 2
        reason = one_level or first_reason(rank_deficient=df1 == 0, too_few_trials=df2 == 0, zero_variance=no_variance)
        rows.append(
            {"reason": reason} if reason else {"sum_of_squares": explained, **f_test(explained, df1, error, df2)}
        )
    return rows


def repeated_measures(values):
    """Two-way repeated-measures analysis of variance: each term against its own interaction with the subjects.

    Parameters
    ----------
    values : ndarray, shape (G, a, b)
        One number per subject (an LLM: its mean) and combination of the levels of two factors.

    Returns
    -------
    list of dict
        As `type_two`; the interaction is tested against the three-way residual.

    References
    ----------
    Winer, Brown & Michels (1991), Statistical Principles in Experimental Design, 3rd ed., section 7.2. Sphericity is
    assumed.
    """
    n, a, b = values.shape
    mean_a, mean_b = np.full((1, a), a**-0.5), np.full((1, b), b**-0.5)
    contrast_a, contrast_b = _contrasts(a), _contrasts(b)
    rows = []
    for left, right in ((contrast_a, mean_b), (mean_a, contrast_b), (contrast_a, contrast_b)):
        scores = np.einsum("nab,ia,jb->nij", values, left, right).reshape(n, -1)
        effect = n * float(np.sum(scores.mean(axis=0) ** 2))
        error = float(np.sum((scores - scores.mean(axis=0)) ** 2))
        df = scores.shape[1]
        if error <= 1e-24 * n * np.max(np.abs(values)) ** 2:
            rows.append({"reason": "zero_variance"})
        else:
            rows.append({"sum_of_squares": effect, **f_test(effect, df, error, df * (n - 1))})
    return rows


def anova_rows(of_samples):
    """Analyses of variance of technique x temperature, as rows of `analysis.methods.mixed_effects.MIXED_MODELS`.

    Parameters
    ----------
    of_samples : iterable of analysis.methods.mixed_effects.Sample

    Yields
    ------
    dict
        `anova_type_2`: trials as independent, as document A has it; `anova_type_2_llm_blocks`: with a block for each
        LLM (and vignette); `anova_repeated_measures`: the LLM as subject, its cells weighing the same. The first two
        also for each pair of techniques, interaction only. Trials without a temperature stay out.
    """
    for sample in of_samples:
        trials = sample.trials[sample.trials["temperature"].notna()]
        reason = first_reason(no_baseline=sample.trials.empty, one_temperature=trials.empty)
        cells = cells_of(trials, ["llm", "vignette", "technique", "temperature"])
        cells = cells.assign(block=cells["llm"].astype(str) + "\n" + cells["vignette"].astype(str))
        pairs = [None, *(combinations(sample.techniques, 2) if len(sample.techniques) > 2 else [])]
        for pair in pairs:
            part = cells if pair is None else cells[cells["technique"].isin(pair)]
            for method, block in (("anova_type_2", None), ("anova_type_2_llm_blocks", "block")):
                tests = [{"reason": reason}] * 3 if reason else type_two(part, "technique", "temperature", block)
                for term, test in zip(TERMS, tests, strict=True):
                    if pair is None or term == TERMS[2]:
                        yield _anova_row(sample, term, method, part, test, pair)
        yield from _over_llms(sample, cells, reason)


def _over_llms(sample, cells, reason):
    wide = cells.pivot_table(index="llm", columns=["technique", "temperature", "vignette"], values="mean")
    complete = wide.dropna()
    a, b = cells["technique"].nunique(), cells["temperature"].nunique()
    reason = reason or first_reason(
        one_technique=a < 2,
        one_temperature=b < 2,
        rank_deficient=wide.shape[1] != a * b * cells["vignette"].nunique(),
        too_few_llms=len(complete) < FEWEST_LLMS,
    )
    values = None if reason else complete.to_numpy().reshape(len(complete), a, b, -1).mean(axis=3)
    part = cells[cells["llm"].isin(complete.index)]
    for term, test in zip(TERMS, [{"reason": reason}] * 3 if reason else repeated_measures(values), strict=True):
        yield _anova_row(sample, term, "anova_repeated_measures", part, test, None)


def _anova_row(sample, term, method, cells, test, pair):
    test = {name: value for name, value in test.items() if name != "sum_of_squares"}
    technique_a, technique_b = pair or (None, None)
    return {
        **sample.keys,
        "test": "anova",
        "term": term,
        "technique_a": technique_a,
        "technique_b": technique_b,
        "fit_a": "technique x temperature",
        "method": method,
        "n_trials": int(cells["n_trials"].sum()),
        "n_llms": cells["llm"].nunique(),
        **test,
    }


def _one_level(indicators, name):
    return f"one_{name}" if indicators.shape[1] < 2 else None


def _contrasts(levels):
    """Orthonormal contrasts of so many levels, shape (levels - 1, levels)."""
    return np.linalg.qr(np.column_stack([np.ones(levels), np.eye(levels)[:, :-1]]))[0].T[1:]
