"""Compare the mixed models with lme4, on the rows of the warehouse: `make oracle`, where R and lme4 are installed."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from analysis.counts import ANSWERED, RESPONSES
from analysis.methods.mixed_effects import FITS, METHODS, fit_sample, samples

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("mixed_models.R")
ESTIMATES, VARIANCES, LOG_LIKELIHOOD = 1e-5, 5e-5, 1e-6


def main():
    """Say how far the fits are from lme4's; return 0 if near enough, 1 if not, 2 if nothing could be compared."""
    problem = missing()
    if problem:
        print(f"nothing was compared: {problem}", file=sys.stderr)
        return 2
    warehouse = os.environ.get("BAIS_WAREHOUSE") or ROOT / "data" / "bais.duckdb"
    if not Path(warehouse).exists():
        print(f"nothing was compared: there is no warehouse at {warehouse} (make run builds it)", file=sys.stderr)
        return 2
    with closing(duckdb.connect(str(warehouse), read_only=True)) as connection:
        answers = f"select {RESPONSES} from marts.counts where {ANSWERED} and response_source = 'reparsed'"
        counts = connection.sql(answers).df()
        ranked = connection.sql("select technique from seeds.techniques where is_ranked").df()["technique"]
    chosen = [s for s in samples(counts, ranked) if s.trials["llm"].nunique() > len(s.techniques)]
    if not chosen:
        print("nothing was compared: no domain has more LLMs than techniques", file=sys.stderr)
        return 2
    compared = compare(ours(chosen), lme4s(chosen))
    print(compared.to_string(float_format="%.3g"))
    worst = compared[~compared["is_near"]]
    short = compared[compared["lme4_stopped_short"]].groupby(["sample", "fit", "estimation"]).ngroups
    print(f"{len(compared)} quantities compared, {len(worst)} farther apart than allowed")
    print(f"lme4 stopped at a lower likelihood in {short} fits")
    return 1 if len(worst) else 0


def missing():
    """Return what is not installed, or None."""
    if shutil.which("Rscript") is None:
        return "R is not installed (there is no Rscript on the path)"
    asked = subprocess.run(["Rscript", "-e", "library(lme4)"], capture_output=True, text=True)
    return None if asked.returncode == 0 else "R has no lme4; in R: install.packages('lme4')"


def ours(chosen):
    """Return our fits as long rows, in the names of the R script."""
    rows = []
    for number, sample in enumerate(chosen):
        for fit in FITS:
            for estimation in METHODS:
                fitted = fit_sample(sample, fit, estimation).result
                if fitted is None:
                    continue
                values = {"log_likelihood.": fitted.log_likelihood, "variance.residual": fitted.residual_variance}
                values |= {f"coefficient.{i}": value for i, value in enumerate(fitted.coefficients, start=1)}
                for name, covariance in fitted.covariances.items():
                    values |= {f"variance.{name}{i}": v for i, v in enumerate(np.diag(covariance), start=1)}
                rows += [(number, fit, estimation, quantity, value) for quantity, value in values.items()]
    return pd.DataFrame(rows, columns=["sample", "fit", "estimation", "quantity", "value"])


def lme4s(chosen):
    """Return lme4's fits of the expanded rows."""
    parts = []
    for number, sample in enumerate(chosen):
        rows = sample.trials.loc[sample.trials.index.repeat(sample.trials["n_trials"])]
        parts.append(rows.assign(sample=number))
    columns = ["sample", "llm", "vignette", "technique", "anchor_direction", "percent_of_baseline"]
    with tempfile.TemporaryDirectory() as folder:
        rows, fits = Path(folder) / "rows.csv", Path(folder) / "fits.csv"
        pd.concat(parts)[columns].to_csv(rows, index=False)
        subprocess.run(["Rscript", str(SCRIPT), str(rows), str(fits)], check=True)
        return pd.read_csv(fits, skipinitialspace=True).apply(
            lambda column: column.str.strip() if column.dtype == "str" else column
        )


def compare(a, b):
    """Join two sets of fits and judge their relative differences.

    A variance near its boundary is measured by the residual's size. Where lme4 stopped at a lower likelihood than ours
    (it does in singular fits, whose bounds catch its optimizers) its estimates are not those of the maximum: such fits
    are near enough, and are counted apart.
    """
    keys = ["sample", "fit", "estimation"]
    joined = a.merge(b, on=[*keys, "quantity"], suffixes=("", "_lme4"), validate="1:1")
    residual = a[a["quantity"] == "variance.residual"].set_index(keys)["value"].rename("residual")
    likelihoods = joined[joined["quantity"] == "log_likelihood."].set_index(keys)
    lead = (likelihoods["value"] - likelihoods["value_lme4"]).rename("lead")
    joined = joined.join(residual, on=keys).join(lead, on=keys)
    is_variance = joined["quantity"].str.startswith("variance")
    size = joined["value_lme4"].abs()
    size = size.where(~is_variance, np.maximum(size, 1e-2 * joined["residual"]))
    difference = (joined["value"] - joined["value_lme4"]).abs() / size
    allowed = np.select([joined["quantity"] == "log_likelihood.", is_variance], [LOG_LIKELIHOOD, VARIANCES], ESTIMATES)
    stopped = joined["lead"] > 1e-9 * joined["value"].abs().groupby([joined[key] for key in keys]).transform("max")
    return joined.drop(columns=["residual", "lead"]).assign(
        difference=difference, lme4_stopped_short=stopped, is_near=stopped | (difference <= allowed)
    )


if __name__ == "__main__":
    sys.exit(main())
