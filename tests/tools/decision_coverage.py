"""`make coverage`: how often decisions are right, by simulation of trials.

A population of vendors and their LLMs has a control and some techniques. Of each data set LLMs are drawn, then the
means and variances of the unanchored trials and of those of every condition under a low and a high anchor; losses come
from `analysis.engine.losses`. Intervals over vendors are vectorised here; the first data sets of each design are
checked to be what `analysis.engine.decisions` says.
"""

import argparse
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
from scipy import special

from analysis.counts import CONTROL
from analysis.engine.comparisons import Comparison, Family
from analysis.engine.decisions import mean_decision
from analysis.engine.domain_losses import DomainLosses
from analysis.engine.losses import GOALS, Moments, losses
from analysis.engine.places import Fitted
from analysis.engine.predictions import leave_one_out_log_score
from analysis.engine.questions import Basis
from analysis.engine.rule import decide, one_sided

ROOT = Path(__file__).resolve().parents[2]
JUDICIAL = """
select * from marts.counts
where study = 'voder-bais' and domain = 'judicial' and response_source = 'reparsed' and row_set = 'accepted'
"""
RANKED = ("devils_advocate", "premortem", "random_control", "sacd")
GOAL = "displacement"
N_TRIALS = 30
N_DATASETS = 10_000
N_CHECKED = 3
SD_OF_TRIALS = 20  # in % of the baseline
SD_OF_GAINS = 10
CONTROL_LOSS = 40.0
MARGIN = 5.0
SEED = 20260301
CHUNK = 1000
# how many LLMs each vendor has
TEN_OF_FIVE, TEN_OF_EIGHT, TWENTY_OF_TEN = (3, 4, 1, 1, 1), (2, 2, 1, 1, 1, 1, 1, 1), (2,) * 10


def normal(rng, shape):
    """Effects about a mean of 0, with a standard deviation of 1."""
    return rng.standard_normal(shape)


def log_normal(rng, shape):
    """As `normal`, skewed: a few are much farther off."""
    sigma = 0.9
    mean, variance = np.exp(sigma**2 / 2), (np.exp(sigma**2) - 1) * np.exp(sigma**2)
    return (np.exp(sigma * rng.standard_normal(shape)) - mean) / np.sqrt(variance)


def rare(rng, shape, *, share, size):
    """As `normal` with half its spread, but a share responds by so much; about a mean of 0."""
    responds = rng.random(shape) < share
    return rng.standard_normal(shape) / 2 + size * (responds - share)


@dataclass(frozen=True)
class Design:
    """What is simulated: the LLMs of each vendor, and how far from the baseline they are with each condition.

    `control` and `techniques` are the mean distances in pp, of the control and of each technique. LLMs are spread by
    `sd` about that of the control, and the gains of each technique by `sd` about their mean, `icc` of either variance
    between vendors. Where conditions are `apart`, each is spread about its own mean, and the control where it
    `is_spread`.
    """

    vendors: tuple = TEN_OF_FIVE
    n_trials: int = N_TRIALS
    control: float = CONTROL_LOSS
    techniques: tuple = (CONTROL_LOSS,) * 4
    sd: float = SD_OF_GAINS
    icc: float = 0.0
    draw: callable = normal
    apart: bool = False
    is_spread: bool = True

    @property
    def vendor_of(self):
        """The place of each LLM's vendor."""
        return np.repeat(np.arange(len(self.vendors)), self.vendors)

    def distances(self, rng, n_sets):
        """Draw true distances from the baseline, shape (n data sets, n LLMs, 1 + n techniques), the control first."""
        shape = (n_sets, len(self.vendors), 1 + len(self.techniques))
        of_vendors = self.draw(rng, shape)[:, self.vendor_of]
        of_llms = self.draw(rng, of_vendors.shape)
        effects = self.sd * (np.sqrt(self.icc) * of_vendors + np.sqrt(1 - self.icc) * of_llms)
        if not self.is_spread:
            effects[..., 0] = 0.0
        if not self.apart:
            effects[..., 1:] += effects[..., :1]
        return np.array([self.control, *self.techniques]) + effects


def equal_mean_square(design):
    """Return the design whose techniques have the mean square of the control, where nothing is to be gained."""
    distance = np.sqrt(max(design.control**2 - design.sd**2 * (not design.apart or not design.is_spread), 0.0))
    return Design(**vars(design) | {"techniques": (distance,) * len(design.techniques)})


def sampled(distances, n_trials, rng):
    """Draw what trials come to, about true percentages of 100 less and 100 more a distance.

    Parameters
    ----------
    distances : numpy.ndarray, shape (n data sets, n LLMs, n conditions)
    n_trials : int
        Of each cell, and unanchored.
    rng : numpy.random.Generator

    Returns
    -------
    Moments
        Of one vignette; those of normal trials, whose means and variances are independent.
    """
    truth = np.stack([100 - distances, 100 + distances], axis=-1)[:, :, None]
    baseline, own = 100 + _error(truth.shape[:2], n_trials, rng), truth + _error(truth.shape, n_trials, rng)
    scale = 100 / baseline[:, :, None, None, None]
    variances = SD_OF_TRIALS**2 / n_trials * _spread(truth.shape, n_trials, rng) * scale**2
    of_baseline = SD_OF_TRIALS**2 / n_trials * _spread(baseline.shape, n_trials, rng) / baseline**2
    shape = truth.shape[:-1]
    nothing = np.full(truth.shape, np.nan)
    n = np.full(truth.shape, float(n_trials))
    noise = np.broadcast_to(of_baseline[:, :, None, None], shape)
    return Moments(own * scale, variances, n, nothing, nothing, nothing, noise, np.full(shape, float(n_trials)))


def _error(shape, n_trials, rng):
    return SD_OF_TRIALS / np.sqrt(n_trials) * rng.standard_normal(shape)


def _spread(shape, n_trials, rng):
    """What a variance is estimated as, over what it is."""
    return rng.chisquare(n_trials - 1, shape) / (n_trials - 1)


def decided(moments, vendor_of, n_comparisons):
    """Return what is decided over vendors.

    Parameters
    ----------
    moments : Moments
        As of `sampled`.
    vendor_of : numpy.ndarray of int, shape (n LLMs,)
    n_comparisons : int

    Returns
    -------
    dict of str to numpy.ndarray of bool, shape (n data sets, n techniques)
        By the word.
    """
    criterion = losses(GOALS[GOAL], moments).criterion[:, :, 0]
    means = np.eye(vendor_of.max() + 1)[vendor_of]
    by_vendor = np.einsum("sgk,gv->svk", criterion, means / means.sum(axis=0))
    gains = by_vendor[..., :1] - by_vendor[..., 1:]
    n = gains.shape[1]
    half = -special.stdtrit(n - 1, one_sided(n_comparisons)) * gains.std(axis=1, ddof=1) / np.sqrt(n)
    low, high = gains.mean(axis=1) - half, gains.mean(axis=1) + half
    roots = np.sqrt(np.maximum(by_vendor[..., 0].mean(axis=1), 0.0))[:, None] + np.zeros(low.shape)
    words = np.vectorize(lambda *ends: decide(*ends[:2], margin=MARGIN, root=ends[2]), otypes=["U11"])(low, high, roots)
    return {word: words == word for word in ("use", "avoid", "equivalent")}


def simulate(design, *, n_comparisons=None, n_datasets=N_DATASETS, seed=SEED):
    """Return in how many of 100 data sets or rows something is decided.

    Parameters
    ----------
    design : Design
    n_comparisons : int, optional
        That share the confidence; the techniques by default.
    n_datasets, seed : int

    Returns
    -------
    dict of str to float
        `any`: some technique is to be used or avoided; `use, avoid, equivalent`: shares of the rows.
    """
    rng = np.random.default_rng([seed, len(design.vendors), design.n_trials, len(design.techniques)])
    n_comparisons, sums = (
        n_comparisons or len(design.techniques),
        dict.fromkeys(("any", "use", "avoid", "equivalent"), 0.0),
    )
    for start in range(0, n_datasets, CHUNK):
        n_sets = min(CHUNK, n_datasets - start)
        moments = sampled(design.distances(rng, n_sets), design.n_trials, rng)
        words = decided(moments, design.vendor_of, n_comparisons)
        sums["any"] += (words["use"] | words["avoid"]).any(axis=1).sum()
        for word, is_said in words.items():
            sums[word] += is_said.mean(axis=1).sum()
        if start == 0:
            _check(moments, words, design, n_comparisons)
    return {name: 100 * value / n_datasets for name, value in sums.items()}


def _check(moments, words, design, n_comparisons):
    """Raise unless the first data sets are decided as the table would have it, the guard of single LLMs aside."""
    for i in range(N_CHECKED):
        domain = of_dataset(moments[i], design.vendor_of)
        for k in range(len(design.techniques)):
            pair = Comparison(f"t{k}", "control", "control", False)
            gains = domain.compared(GOAL, f"t{k}", "control")
            family = Family(n_comparisons, n_comparisons * len(gains.llms))
            row, codes = mean_decision(pair, gains, Basis(domain, GOAL, MARGIN), family)
            said = next((word for word, is_said in words.items() if is_said[i, k]), "no_evidence")
            assert row["decision"] == said or "llms_differ" in codes, (row, said)


def of_dataset(moments, vendor_of):
    """Return the losses of one data set whose first condition is the control."""
    n_llms, _, n_conditions = moments.percent.shape[:3]
    names = ["control", *(f"t{k}" for k in range(n_conditions - 1))]
    domain = DomainLosses.of_moments([f"l{i:02}" for i in range(n_llms)], ["v"], names, moments)
    domain.vendors = {llm: f"vendor {place}" for llm, place in zip(domain.llms, vendor_of, strict=True)}
    return domain


def panel(distance, n_trials, *, n_llms=10, n_techniques=4, n_datasets=N_DATASETS, seed=SEED):
    """Return in how many of 100 data sets some LLM is said to be helped or harmed though none is.

    Parameters
    ----------
    distance : float
        Of each LLM from its baseline, with the control and with each technique.
    n_trials, n_llms, n_techniques, n_datasets, seed : int

    Returns
    -------
    float
    """
    rng = np.random.default_rng([seed, n_trials, n_llms])
    level, n_false = one_sided(n_llms * n_techniques), 0
    for start in range(0, n_datasets, CHUNK):
        n_sets = min(CHUNK, n_datasets - start)
        moments = sampled(np.full((n_sets, n_llms, 1 + n_techniques), float(distance)), n_trials, rng)
        loss = losses(GOALS[GOAL], moments)
        values, variances, slopes = (of[:, :, 0] for of in (loss.criterion, loss.variance, loss.slope))
        shared = (slopes[..., :1] - slopes[..., 1:]) ** 2 * moments.baseline_variance[:, :, 0, 1:]
        error = np.sqrt(variances[..., :1] + variances[..., 1:] + shared)
        gains = values[..., :1] - values[..., 1:]
        n_false += (np.abs(gains) > -special.stdtrit(n_trials - 1, level) * error).any(axis=(1, 2)).sum()
        if start == 0:
            low, high = (
                of_dataset(moments[0], np.arange(n_llms)).compared(GOAL, "t0", "control").bounds_of_llms(level=level)
            )
            half = -special.stdtrit(n_trials - 1, level) * error[0, :, 0]
            np.testing.assert_allclose([low, high], [gains[0, :, 0] - half, gains[0, :, 0] + half], rtol=1e-9)
    return 100 * n_false / n_datasets


# what is claimed: no technique gains, and gains are normal
NOTHING = {
    f"{sum(vendors)} LLMs of {len(vendors)} vendors, ICC {icc:.1f}": equal_mean_square(Design(vendors, icc=icc))
    for vendors in (TEN_OF_FIVE, TWENTY_OF_TEN)
    for icc in (0.0, 0.3, 0.6)
}
NEAR = {
    f"{sum(vendors)} LLMs of {len(vendors)} vendors, {n_trials} trials a cell": Design(
        vendors, n_trials, control=0.0, techniques=(0.0,) * 4, sd=3.0, apart=True
    )
    for vendors in (TEN_OF_FIVE, TWENTY_OF_TEN)
    for n_trials in (15, 30, 90)
}
# where it breaks
BREAKS = {
    "log-normal, sigma .9": equal_mean_square(Design(draw=log_normal)),
    "log-normal, 20 LLMs of 10 vendors": equal_mean_square(Design(TWENTY_OF_TEN, draw=log_normal)),
    "1 LLM in 10 at +80 pp": equal_mean_square(Design(draw=partial(rare, share=0.1, size=8.0), control=60.0)),
    "1 LLM in 10, 20 LLMs of 10 vendors": equal_mean_square(
        Design(TWENTY_OF_TEN, draw=partial(rare, share=0.1, size=8.0), control=60.0)
    ),
    "a technique that scatters, SD 40, 8 vendors": Design(
        TEN_OF_EIGHT, techniques=(0.0,), sd=CONTROL_LOSS, apart=True, is_spread=False
    ),
    "four such": Design(TEN_OF_EIGHT, techniques=(0.0,) * 4, sd=CONTROL_LOSS, apart=True, is_spread=False),
}


def true_gain(root, gain, vendors=TEN_OF_FIVE, n_techniques=4, sd=3.0):
    """Return the design whose techniques gain so much of the root of the control's mean square, spread by `sd`."""
    left = max(root - gain, 0.0)
    control, technique = (np.sqrt(max(mean**2 - sd**2, 0.0)) for mean in (root, left))
    return Design(vendors, control=control, techniques=(technique,) * n_techniques, sd=sd, apart=True)


def gaining(vendors, n_trials=N_TRIALS):
    """Return the design whose techniques gain 15 pp, spread by `SD_OF_GAINS`, of the control's distance in each LLM."""
    return Design(vendors, n_trials, techniques=(CONTROL_LOSS - 15,) * 4, apart=True, is_spread=False)


def show_decisions(n_datasets):
    """Print how often something false is decided over vendors, and something true."""
    print(f"Decisions over vendors by {GOAL}, {n_datasets:,} data sets each; in %.")
    print("Four techniques of the control's mean square: how often any of them is to be used or avoided.")
    for name, design in NOTHING.items():
        of = {k: simulate(design, n_comparisons=k, n_datasets=n_datasets)["any"] for k in (4, 6)}
        print(f"  {name:<44}{of[4]:6.1f}   in a family of six {of[6]:.1f}", flush=True)
    print("The same, all exactly on the baseline, SD 3 over LLMs.")
    for name, design in NEAR.items():
        print(f"  {name:<44}{simulate(design, n_datasets=n_datasets)['any']:6.1f}", flush=True)
    print(
        "A true gain of 6 of a control's root mean square: rows that are called equivalent, of four, and of one alone."
    )
    for vendors in (TEN_OF_FIVE, TEN_OF_EIGHT, TWENTY_OF_TEN):
        for root in (6.0, 8.0, 10.0, 20.0, CONTROL_LOSS):
            four, alone = (
                simulate(true_gain(root, 6.0, vendors, n), n_datasets=n_datasets)["equivalent"] for n in (4, 1)
            )
            print(f"  {len(vendors):>2} vendors, control {root:>4.0f} pp{four:30.1f} {alone:6.1f}", flush=True)
    print(f"A gain of 15 pp, SD {SD_OF_GAINS}, of {CONTROL_LOSS:.0f}: how often found, in families of four and of six.")
    for vendors in (TEN_OF_FIVE, TEN_OF_EIGHT, TWENTY_OF_TEN):
        for n_trials in (30, 90):
            design = gaining(vendors, n_trials)
            of = [simulate(design, n_comparisons=k, n_datasets=n_datasets)["use"] for k in (4, 6)]
            print(
                f"  {sum(vendors)} LLMs of {len(vendors)} vendors, {n_trials} trials {of[0]:6.1f} {of[1]:6.1f}",
                flush=True,
            )
    print("Where it breaks: nothing gains, and something is to be used or avoided.")
    for name, design in BREAKS.items():
        print(f"  {name:<44}{simulate(design, n_datasets=n_datasets)['any']:6.1f}", flush=True)


def show_panels(n_datasets):
    """Print how often some LLM is said to be helped or harmed though none is."""
    print("\nTen LLMs and four techniques that change nothing: some LLM is said to be helped or harmed; in %.")
    for n_trials in (15, 30, 90):
        of = [panel(distance, n_trials, n_datasets=n_datasets) for distance in (0, 5, 10, 40)]
        print(
            f"  {n_trials:>2} trials a cell, 0, 5, 10 and 40 pp off  " + "".join(f"{share:6.1f}" for share in of),
            flush=True,
        )


def show_log_scores(responses, vendors):
    """Print how well the gains of LLMs of a vendor that is left out are foretold, with techniques apart and alike."""
    print("\nJudicial trials, each vendor left out once: mean log score, techniques apart and every technique alike.")
    domain = DomainLosses(responses)
    domain.vendors = {llm: vendors[llm] for llm in domain.llms}
    pairs = [Comparison(name, "sacd_initial" if name == "sacd" else CONTROL, "control", False) for name in RANKED]
    for goal in GOALS:
        gains = {pair.technique: domain.compared(goal, pair.technique, pair.control) for pair in pairs}
        fitted = Fitted(gains, partial(np.random.default_rng, SEED), n_draws=10)
        apart, alike = leave_one_out_log_score(fitted.values, fitted.covariances, fitted.vendors)
        print(f"  {goal:<13}{apart:.2f}  {alike:.2f}", flush=True)


def main():
    """Simulate and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--datasets", type=int, default=N_DATASETS)
    options.add_argument(
        "--warehouse", type=Path, default=os.environ.get("BAIS_WAREHOUSE", ROOT / "data" / "bais.duckdb")
    )
    options = options.parse_args()
    show_decisions(options.datasets)
    show_panels(options.datasets)
    if Path(options.warehouse).exists():
        with duckdb.connect(str(options.warehouse), read_only=True) as warehouse:
            responses = warehouse.execute(JUDICIAL).df()
            vendors = warehouse.execute("select llm, vendor from intermediate.int_vendors").fetchall()
        if len(responses):
            show_log_scores(responses, dict(vendors))


if __name__ == "__main__":
    main()
