"""`make coverage`: how often decisions and losses are right, by simulation of trials.

A population of LLMs has a control and four techniques. Of each data set some LLMs are drawn, then their unanchored
trials and the trials of every condition under a low and a high anchor; losses and gains come from
`analysis.engine.losses`. Intervals over LLMs are vectorised here; the first data sets of each design are checked to be
what `analysis.engine.decisions` says.
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
from analysis.engine.comparisons import Comparison
from analysis.engine.decisions import mean_decision
from analysis.engine.domain_losses import DomainLosses
from analysis.engine.losses import GOALS, Moments, folding_excess, losses
from analysis.engine.places import Fitted
from analysis.engine.predictions import leave_one_out_log_score
from analysis.engine.questions import Basis
from analysis.engine.rule import decide
from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS

ROOT = Path(__file__).resolve().parents[2]
JUDICIAL = """
select * from marts.counts
where study = 'voder-bais' and domain = 'judicial' and response_source = 'reparsed' and row_set = 'accepted'
"""
RANKED = ("devils_advocate", "premortem", "random_control", "sacd")
N_TECHNIQUES = 4
N_LLMS = (2, 3, 5, 10, 20)
N_TRIALS = 30
N_DATASETS = 4000
N_CHECKED = 3
N_ASKED = 300
SD_OF_TRIALS = 20  # in % of the baseline
WIDE = 25.0  # the same, where it is the noise of the trials that is looked at
SD_OF_GAINS = 10
MARGIN = 5.0
SEED = 20260301
CHUNK = 250


def normal(rng, shape):
    """Gains of LLMs in pp about a mean of 0."""
    return SD_OF_GAINS * rng.standard_normal(shape)


def log_normal(rng, shape):
    """As `normal`, skewed: a few LLMs lose much."""
    sigma = 0.9
    mean, variance = np.exp(sigma**2 / 2), (np.exp(sigma**2) - 1) * np.exp(sigma**2)
    return -SD_OF_GAINS * (np.exp(sigma * rng.standard_normal(shape)) - mean) / np.sqrt(variance)


def rare(rng, shape, *, share, size):
    """As `normal` with half its spread, but a share of the LLMs respond by so many pp; about a mean of 0."""
    responds = rng.random(shape) < share
    return SD_OF_GAINS / 2 * rng.standard_normal(shape) + size * (responds - share)


POPULATIONS = {
    "normal": normal,
    "log-normal, sigma .9": log_normal,
    "1 LLM in 10 at +100 pp": partial(rare, share=0.1, size=100),
    "1 LLM in 5 at +60 pp": partial(rare, share=0.2, size=60),
}


def drawn(gains, n_trials, rng, n_baseline=None):
    """Draw trials and return their moments.

    Parameters
    ----------
    gains : numpy.ndarray, shape (n data sets, n LLMs, n techniques)
        True gains of displacement in pp: all of it on the side of the high anchor, so that the gap gains twice as much.
    n_trials : int
        Of each cell.
    rng : numpy.random.Generator
    n_baseline : int, optional
        Unanchored trials of an LLM; as many as of a cell by default.

    Returns
    -------
    Moments
        The control first among the conditions, in one vignette.
    """
    n_sets, n_llms, _ = gains.shape
    control = np.stack(
        [60 - 5 * rng.standard_normal((n_sets, n_llms)), 320 + 20 * rng.standard_normal((n_sets, n_llms))], -1
    )
    truth = np.repeat(control[:, :, None], gains.shape[2] + 1, axis=2)
    truth[:, :, 1:, 1] -= 2 * gains
    return sampled(truth[:, :, None], n_trials, rng, n_baseline)


def sampled(truth, n_trials, rng, n_baseline=None, deviation=SD_OF_TRIALS):
    """Draw normal trials about true percentages, shape (..., 2), and unanchored ones about 100."""
    n_baseline = n_baseline or n_trials
    unanchored = 100 + deviation * rng.standard_normal((*truth.shape[:-2], n_baseline))
    baseline = unanchored.mean(axis=-1)[..., None]
    baseline_variance = unanchored.var(axis=-1, ddof=1)[..., None] / n_baseline / baseline**2
    percent = (
        100 * (truth[..., None] + deviation * rng.standard_normal((*truth.shape, n_trials))) / baseline[..., None, None]
    )
    distance = np.abs(percent - 100)
    shape = truth.shape[:-1]
    return Moments(
        percent.mean(axis=-1),
        percent.var(axis=-1, ddof=1) / n_trials,
        np.full(truth.shape, float(n_trials)),
        distance.mean(axis=-1),
        distance.var(axis=-1, ddof=1) / n_trials,
        -(np.sign(percent - 100) * percent).mean(axis=-1),
        np.broadcast_to(baseline_variance, shape),
        np.full(shape, float(n_baseline)),
    )


def intervals_over_llms(gains, *, n_comparisons):
    """Student's t intervals of mean gains, shape (n data sets, n LLMs, n techniques), along the LLMs."""
    n_llms = gains.shape[1]
    half = (
        -special.stdtrit(n_llms - 1, (1 - CONFIDENCE) / 2 / n_comparisons) * gains.std(axis=1, ddof=1) / np.sqrt(n_llms)
    )
    return gains.mean(axis=1) - half, gains.mean(axis=1) + half


@dataclass
class Tally:
    """Counts of events over data sets, and of how many there were."""

    n: int = 0
    events: dict = None

    def add(self, n, **events):
        self.n += n
        self.events = {name: (self.events or {}).get(name, 0) + float(value) for name, value in events.items()}

    def share(self, name):
        """Return how often, in percent."""
        return 100 * self.events[name] / self.n


def simulate(n_llms, draw, shift, *, n_datasets=N_DATASETS, n_trials=N_TRIALS, seed=SEED):
    """Return by goal how often intervals hold the true mean gain, and what is decided; all gain `shift` more."""
    rng = np.random.default_rng([seed, n_llms, abs(int(10 * shift))])
    tallies = {goal: Tally() for goal in (*GOALS, "any")}
    for start in range(0, n_datasets, CHUNK):
        n_sets = min(CHUNK, n_datasets - start)
        true = shift + draw(rng, (n_sets, n_llms, N_TECHNIQUES))
        moments = drawn(true, n_trials, rng)
        is_false_in_any = np.zeros(n_sets, bool)
        for goal in GOALS:
            found = losses(GOALS[goal], moments).corrected[:, :, 0]
            gains = found[..., :1] - found[..., 1:]
            mean = shift * (2 if goal == "gap" else 1)
            low, high = intervals_over_llms(gains, n_comparisons=N_TECHNIQUES)
            plain_low, plain_high = intervals_over_llms(gains, n_comparisons=1)
            is_equivalent = (low > -MARGIN) & (high < MARGIN)
            is_said = ((low > 0) | (high < 0)) & ~is_equivalent
            is_false_in_any |= is_said.any(axis=1)
            tallies[goal].add(
                n_sets,
                familywise=is_said.any(axis=1).sum(),
                use=((low > 0) & ~is_equivalent).mean(axis=1).sum(),
                equivalent=is_equivalent.mean(axis=1).sum(),
                simultaneous=((low <= mean) & (mean <= high)).all(axis=1).sum(),
                plain=((plain_low <= mean) & (mean <= plain_high)).mean(axis=1).sum(),
            )
            if start == 0:
                _check(moments, goal, low, high)
        tallies["any"].add(n_sets, familywise=is_false_in_any.sum())
    return tallies


def _check(moments, goal, low, high):
    """Raise unless the first data sets have the very bounds that the table would have."""
    for i in range(N_CHECKED):
        domain = of_dataset(moments[i])
        for k in range(N_TECHNIQUES):
            gains = domain.compared(goal, f"t{k}", "control")
            pair = Comparison(f"t{k}", "control", "control", False)
            row, _ = mean_decision(pair, gains, Basis(domain, goal, MARGIN), N_TECHNIQUES)
            np.testing.assert_allclose([row["gain_low"], row["gain_high"]], [low[i, k], high[i, k]], rtol=1e-9)
            if len(gains.llms) >= FEWEST_LLMS:
                assert row["decision"] == decide(low[i, k], high[i, k], margin=MARGIN)


def of_dataset(moments):
    """Return the losses of one data set whose first condition is the control."""
    n_llms, n_vignettes, n_conditions = moments.percent.shape[:3]
    names = ["control", *(f"t{k}" for k in range(n_conditions - 1))]
    return DomainLosses.of_moments(
        [f"l{i}" for i in range(n_llms)], [f"v{i}" for i in range(n_vignettes)], names, moments
    )


def asked(goal, technique, control, n_llms, n_trials, rng, *, n_datasets=N_ASKED):
    """Return how often in percent the bounds of the LLMs asked miss their true mean gain, to either side.

    Every LLM has the same true percentages, `100 - x` under a low and `100 + x` under a high anchor, which is the worst
    case: what is wrong with an absolute value does not average out.
    """
    missed = np.zeros(2)
    truth = np.array([[100 - control, 100 + control], [100 - technique, 100 + technique]])
    expected = (control - technique) * (2 if goal == "gap" else 1)
    if goal == "error":
        expected += folding_excess(control, WIDE) - folding_excess(technique, WIDE)
    for _ in range(n_datasets):
        domain = of_dataset(sampled(np.broadcast_to(truth, (n_llms, 1, 2, 2)), n_trials, rng, deviation=WIDE))
        low, high = domain.compared(goal, "t0", "control").asked_bounds(level=(1 - CONFIDENCE) / 2)
        missed += expected < low, expected > high
    return 100 * missed / n_datasets


def folding(shift, n_trials, rng, n_datasets=20_000):
    """Return the bias of the observed and of the corrected distance from 100, in standard errors."""
    error = WIDE * np.sqrt(1 / n_trials[0] + 1 / n_trials[1])  # of a mean about the mean of unanchored trials, near 100
    truth = np.full((n_datasets, 1, 1, 2), 100 + shift * error)
    of = losses(GOALS["displacement"], sampled(truth, n_trials[0], rng, n_trials[1], WIDE))
    return (of.loss.mean() - shift * error) / error, (of.corrected.mean() - shift * error) / error


def show_decisions(n_datasets):
    """Print how often something false is decided over LLMs, and something true."""
    print(f"Decisions over LLMs: {N_TECHNIQUES} techniques, {N_TRIALS} trials a cell, {n_datasets:,} data sets; in %.")
    print("No technique gains in the population: how often any of them is to be used or avoided, by displacement, gap,")
    print("error and any of the three; how often the intervals of displacement hold, of all at once and of one alone.")
    for name, draw in POPULATIONS.items():
        for n_llms in N_LLMS:
            found = simulate(n_llms, draw, 0.0, n_datasets=n_datasets)
            shown = [found[goal].share("familywise") for goal in (*GOALS, "any")]
            shown += [found["displacement"].share(kind) for kind in ("simultaneous", "plain")]
            print(f"  {name:<24}{n_llms:>3} LLMs  {''.join(f'{share:7.1f}' for share in shown)}", flush=True)
    found = simulate(10, normal, 15.0, n_datasets=n_datasets)["displacement"]
    print(f"Gain 15 pp, SD {SD_OF_GAINS} over LLMs, ten LLMs: use in {found.share('use'):.1f}")
    for n_llms in (5, 10, 20):
        found = simulate(n_llms, alike, MARGIN, n_datasets=n_datasets)["displacement"]
        print(
            f"Gain of the margin, SD 1 over LLMs, {n_llms} LLMs: falsely equivalent in {found.share('equivalent'):.1f}"
        )


def alike(rng, shape):
    """As `normal`, a tenth of its spread."""
    return normal(rng, shape) / 10


def show_asked(rng):
    """Print how often the bounds of the LLMs that were asked miss."""
    print(
        f"\nLLMs that were asked, all alike: bounds that miss their mean gain below, above; {N_ASKED} data sets, in %."
    )
    print("Nominally 2.5 each. True distance from 100 of technique and control, then by the number of LLMs.")
    for goal in GOALS:
        for technique, control in (
            ((60, 60), (60, 40)) if goal == "error" else ((0, 0), (5, 0), (0, 5), (5, 5), (30, 20))
        ):
            found = {n: asked(goal, technique, control, n, N_TRIALS, rng) for n in (1, 2, 5, 10, 20)}
            shown = "   ".join(f"{n}: {below:.1f} {above:.1f}" for n, (below, above) in found.items())
            print(f"  {goal:<13}{technique:>3}{control:>4}   {shown}", flush=True)


def show_folding(rng):
    """Print what noise adds to an absolute value, and what the correction leaves of it."""
    print("\nBias of a distance from 100 in standard errors, observed and corrected, at true distances of 0, 1 and 2.")
    for n_trials in ((15, 15), (30, 30), (90, 90), (15, 90), (90, 15)):
        shown = [f"{a:+.2f} {b:+.2f}" for a, b in (folding(shift, n_trials, rng) for shift in (0, 1, 2))]
        print(f"  {n_trials[0]} trials, {n_trials[1]} unanchored: {'   '.join(shown)}", flush=True)


def show_log_scores(responses):
    """Print how well the gains of an LLM that is left out are foretold, with techniques apart and alike."""
    print("\nJudicial trials, each LLM left out once: mean log score, techniques apart and every technique alike.")
    domain = DomainLosses(responses)
    pairs = [Comparison(name, "sacd_initial" if name == "sacd" else CONTROL, "control", False) for name in RANKED]
    for goal in GOALS:
        gains = {pair.technique: domain.compared(goal, pair.technique, pair.control) for pair in pairs}
        fitted = Fitted(gains, partial(np.random.default_rng, SEED), n_draws=10)
        apart, alike = leave_one_out_log_score(fitted.values, fitted.covariances)
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
    if Path(options.warehouse).exists():
        with duckdb.connect(str(options.warehouse), read_only=True) as warehouse:
            responses = warehouse.execute(JUDICIAL).df()
        if len(responses):
            show_log_scores(responses)
    rng = np.random.default_rng(SEED)
    show_asked(rng)
    show_folding(rng)


if __name__ == "__main__":
    main()
