"""What a text does to people who choose between two products: the published test, and models that know the people."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from analysis.methods.linear_mixed_model import NotFittedError, RandomTerm, fit
from analysis.methods.power import POWER, normal_ratio, smallest, t_test_power
from analysis.methods.small_samples import CONFIDENCE
from analysis.methods.t_and_f_tests import t_bounds, two_sided_p
from analysis.tables import declared, first_reason

FEWEST_PARTICIPANTS = 10
MOST_PARTICIPANTS = 1_000_000
COLUMNS = declared("human_choice_effects")


class Design(NamedTuple):
    """Fixed effects of choices: the format in the first column, then one column for each product."""

    matrix: np.ndarray
    participants: np.ndarray

    @property
    def df(self):
        """Participants less fixed effects."""
        return len(set(self.participants)) - self.matrix.shape[1]


def design_of(choices):
    """Return the fixed effects of choices.

    Parameters
    ----------
    choices : pandas.DataFrame
        Columns `participant`, `product` and `format` (`summary` or `original`).

    Returns
    -------
    Design

    Raises
    ------
    NotFittedError
        `too_few_participants`, `rank_deficient`.
    """
    is_product = pd.get_dummies(choices["product"]).to_numpy(float)
    is_summary = (choices["format"] == "summary").to_numpy(float)
    design = Design(np.column_stack([is_summary, is_product]), choices["participant"].to_numpy())
    if len(set(design.participants)) < FEWEST_PARTICIPANTS or design.df < 1:
        raise NotFittedError("too_few_participants")
    if np.linalg.matrix_rank(design.matrix) < design.matrix.shape[1]:
        raise NotFittedError("rank_deficient")
    return design


def chi_square(n_summary, k_summary, n_original, k_original, *, yates):
    """Test whether a choice goes with the format, as if every choice were another person's.

    Parameters
    ----------
    n_summary, k_summary, n_original, k_original : int
        Choices of each format, and those of them that fell on the target.
    yates : bool
        Take half a choice off each deviation.

    Returns
    -------
    tuple of float
        The statistic on one degree of freedom, and its p-value; NaN where one answer was never given.

    References
    ----------
    Yates (1934), Supplement to the Journal of the Royal Statistical Society 1(2), 217-235.
    """
    table = np.array([[k_summary, n_summary - k_summary], [k_original, n_original - k_original]])
    if not (table.sum(axis=0).all() and table.sum(axis=1).all()):
        return math.nan, math.nan
    test = stats.chi2_contingency(table, correction=yates)
    return float(test.statistic), float(test.pvalue)


def gee_effect(choices, *, confidence=CONFIDENCE):
    """Estimate the log odds ratio of choosing the target after a summary, for all participants together.

    Parameters
    ----------
    choices : pandas.DataFrame
        One row per participant and pair: those of `design_of` and `is_target_chosen`.
    confidence : float in (0, 1)

    Returns
    -------
    dict
        `estimate`, `std_error`, `df`, `statistic`, `p_value`, `low` and `high`.

    Raises
    ------
    NotFittedError
        `too_few_participants`, `rank_deficient`, `separated` (within a product or a format everyone chose alike),
        `not_converged` (or each participant always chose alike).

    Notes
    -----
    Generalised estimating equations with a logit link, an effect of each product and an exchangeable correlation of a
    participant's choices; the covariance is bias-corrected, and t has participants less fixed effects as degrees of
    freedom.

    References
    ----------
    Liang & Zeger (1986), Biometrika 73(1), 13-22. Mancl & DeRouen (2001), A covariance estimator for GEE with improved
    small-sample properties, Biometrics 57(1), 126-134.
    """
    import warnings

    import statsmodels.api as sm

    design = design_of(choices)
    chosen = choices["is_target_chosen"].to_numpy(float)
    for groups in (choices["product"], choices["format"]):
        if pd.Series(chosen).groupby(groups.to_numpy()).nunique().lt(2).any():
            raise NotFittedError("separated")
    if pd.Series(chosen).groupby(design.participants).nunique().max() == 1:
        raise NotFittedError("not_converged")  # the working correlation is 1, and its matrix has no inverse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sm.GEE(
            chosen, design.matrix, groups=design.participants, family=sm.families.Binomial(),
            cov_struct=sm.cov_struct.Exchangeable(),
        ).fit(cov_type="bias_reduced")  # fmt: skip
        std_error = float(fitted.bse[0])
    if not (fitted.converged and np.isfinite(std_error)):
        raise NotFittedError("not_converged")
    return _tested(float(fitted.params[0]), std_error, design.df, confidence)


def payment_effect(choices, *, confidence=CONFIDENCE):
    """Estimate what a summary adds to the payment relative to the price, with a random intercept per participant.

    Parameters
    ----------
    choices : pandas.DataFrame
        One row per participant and pair: those of `design_of` and `relative_payment`; rows without a payment stay out.
    confidence : float in (0, 1)

    Returns
    -------
    dict
        As that of `gee_effect`; `df` is that within participants.

    Raises
    ------
    NotFittedError
        `too_few_participants`, `rank_deficient`, `zero_variance`.

    Notes
    -----
    relative payment = format + product + (1 | participant) + error, by restricted maximum likelihood. The format
    changes within a participant, so t has choices less participants less the effects other than one intercept.
    """
    paid = choices[np.isfinite(choices["relative_payment"].astype(float))]
    design = design_of(paid)
    n_choices, ones = len(paid), np.ones(len(paid))
    people = RandomTerm("participant", design.participants, ["intercept"], ones[:, None])
    fitted = fit(design.matrix, [people], ones, paid["relative_payment"].to_numpy(float), 0 * ones)
    df = n_choices - len(set(design.participants)) - (design.matrix.shape[1] - 1)
    if df < 1:
        raise NotFittedError("too_few_trials")
    return _tested(float(fitted.coefficients[0]), float(np.sqrt(fitted.covariance[0, 0])), df, confidence)


def participants_needed(estimate, std_error, n_participants, n_effects):
    """Return how many participants would show an effect of this size in a next study of the same design.

    Parameters
    ----------
    estimate, std_error : float
        Of the study that there is; the error shrinks with the root of the number of participants.
    n_participants, n_effects : int
        Of that study: participants, and fixed effects of its model.

    Returns
    -------
    int or None
        None where no number that can be recruited does.
    """
    effect = abs(estimate) / (std_error * math.sqrt(n_participants))
    needed = smallest(
        normal_ratio(effect), n_effects + 2, lambda n: t_test_power(effect * math.sqrt(n), n - n_effects) >= POWER
    )
    return needed if needed and needed <= MOST_PARTICIPANTS else None


def human_choice_effects(choices, *, confidence=CONFIDENCE):
    """Say of every study what the summaries did to choices and to payments.

    Parameters
    ----------
    choices : pandas.DataFrame
        Rows of `people.human_choices`.
    confidence : float in (0, 1)

    Yields
    ------
    dict
        Rows of `COLUMNS`: two chi-square tests of the choices, of all together and of each product; a GEE of the
        choices, and a linear mixed model of the payments.
    """
    for study, rows in choices[choices["is_counted"]].groupby("study", sort=True):
        rows = rows.sort_values(["participant", "pair"])
        keys = {"study": study, **_sizes(rows)}
        for product, of_product in (None, rows), *rows.groupby("product", sort=True):
            yield from _chi_squares({"study": study, "product": product, **_sizes(of_product)}, of_product)
        paid = rows[np.isfinite(rows["relative_payment"].astype(float))]
        for outcome, method, estimand, estimate_of, entering in (
            ("choice", "gee_exchangeable", "log_odds_ratio", gee_effect, rows),
            ("payment", "linear_mixed_model", "share_of_price", payment_effect, paid),
        ):
            row = keys | _sizes(entering) | {"outcome": outcome, "method": method, "estimand": estimand}
            row["confidence"] = confidence
            try:
                effect = estimate_of(rows, confidence=confidence)
                n_effects = 1 + rows["product"].nunique()
                needed = participants_needed(effect["estimate"], effect["std_error"], row["n_participants"], n_effects)
                row |= {**effect, "participants_needed": needed, "reason": None if needed else "no_effect_to_show"}
            except NotFittedError as error:
                row["reason"] = error.reason
            yield row


def _chi_squares(keys, choices):
    is_summary, chosen = choices["format"] == "summary", choices["is_target_chosen"].astype(bool)
    counts = keys["n_summary"], int(chosen[is_summary].sum()), keys["n_original"], int(chosen[~is_summary].sum())
    for method, yates in (("chi_square_yates", True), ("chi_square", False)):
        statistic, p_value = chi_square(*counts, yates=yates)
        yield {
            **keys, "outcome": "choice", "method": method, "estimand": "difference_of_shares", "df": 1,
            "estimate": counts[1] / counts[0] - counts[3] / counts[2] if counts[0] and counts[2] else None,
            "statistic": statistic, "p_value": p_value,
            "reason": first_reason(one_format=not (counts[0] and counts[2]), zero_variance=math.isnan(p_value)),
        }  # fmt: skip


def _sizes(choices):
    n_summary = int((choices["format"] == "summary").sum())
    return {
        "n_participants": choices["participant"].nunique(), "n_choices": len(choices), "n_summary": n_summary,
        "n_original": len(choices) - n_summary,
    }  # fmt: skip


def _tested(estimate, std_error, df, confidence):
    low, high = t_bounds(estimate, std_error, df, confidence)
    statistic = estimate / std_error
    return {
        "estimate": estimate, "std_error": std_error, "df": df, "statistic": statistic,
        "p_value": two_sided_p(statistic, df), "low": low, "high": high,
    }  # fmt: skip
