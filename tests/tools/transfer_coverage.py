"""`make coverage`: how often the interval of `inference.transfer` holds a planted correlation, by simulation of trials.

Of each data set the mean squares of a control and of some techniques are drawn for each LLM in two domains, correlated
between them, and then what trials come to: losses and their noise are those of `analysis.engine.losses`, and intervals
those of `analysis.methods.attenuation`. The first data sets of each design are checked to be what
`analysis.engine.transfer` says. Shares are of the intervals that are shown; how many are is said too.
"""

import argparse
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.engine.losses import GOALS, losses
from analysis.engine.transfer import transfer
from analysis.methods.attenuation import disattenuated_correlation, moments_within
from tests.tools.decision_coverage import GOAL, SD_OF_TRIALS, normal, of_dataset, sampled

LEVEL = 60.0  # of the control and of techniques, in pp from the baseline
N_TRIALS = 20
N_DATASETS = 8000
N_CHECKED = 3
CHUNK = 500
SEED = 20261128
CONTROLS = pd.DataFrame(
    [{"study": None, "domain": None, "technique": None, "control": "control", "comparison": "control"}]
)
NOISES = (0.1, 0.5, 1.0)  # the variance that trials add to a gain beside the control's, over that of true gains
SIZES = tuple((n_llms, n_techniques) for n_llms in (6, 10, 20) for n_techniques in (4, 8, 13))
PLANTED = (0.0, 0.7)


def skewed(rng, shape):
    """Effects about a mean of 0 with a standard deviation of 1, a few of them much larger."""
    sigma = 0.6
    scale = np.sqrt((np.exp(sigma**2) - 1) * np.exp(sigma**2))
    return (np.exp(sigma * rng.standard_normal(shape)) - np.exp(sigma**2 / 2)) / scale


@dataclass(frozen=True)
class Design:
    """What is simulated: a correlation `r` of true gains, `noise` as of `NOISES`, and how gains are drawn.

    Of the variance of gains `of_techniques` is what all LLMs have in common, of which the correlation is `r` as well,
    exactly; LLMs differ by `unlike`, the standard deviation of the logarithm of how far their gains lie apart.
    """

    n_llms: int
    n_techniques: int
    r: float
    noise: float
    draw: callable = normal
    of_techniques: float = 0.0
    unlike: float = 0.0

    def squares(self, rng, n_sets):
        """Draw true mean squares, shape (n data sets, n LLMs, 1 + n techniques, 2 domains), the control first."""
        sd = np.sqrt(2 * LEVEL**2 * SD_OF_TRIALS**2 / N_TRIALS / self.noise)
        root = np.linalg.cholesky([[1, self.r], [self.r, 1]]).T
        own = self.draw(rng, (n_sets, self.n_llms, self.n_techniques, 2)) @ root
        if self.of_techniques:
            common = rng.standard_normal((n_sets, 1, self.n_techniques, 2))
            common -= common.mean(axis=2, keepdims=True)
            covariance = np.einsum("sikx,siky->sxy", common, common) / (self.n_techniques - 1)
            whitened = np.einsum("sikx,sxy->siky", common, np.linalg.inv(np.linalg.cholesky(covariance)).mT)
            own = np.sqrt(self.of_techniques) * whitened @ root + np.sqrt(1 - self.of_techniques) * own
        own = own * np.exp(self.unlike * rng.standard_normal((n_sets, self.n_llms, 1, 1)))
        control = sd * rng.standard_normal((n_sets, self.n_llms, 1, 2))
        return np.maximum(LEVEL**2 + np.concatenate([control, control - sd * own], axis=2), 0.0)


def simulate(design, *, n_datasets=N_DATASETS, seed=SEED):
    """Return how many of 100 intervals hold what was planted, and how many of 100 data sets have one."""
    of_design = (design.n_llms, design.n_techniques, round(100 * design.r), round(100 * design.noise))
    rng = np.random.default_rng([seed, *of_design])
    held = shown = 0
    for start in range(0, n_datasets, CHUNK):
        n_sets = min(CHUNK, n_datasets - start)
        squares = design.squares(rng, n_sets)
        moments = [sampled(np.sqrt(squares[..., place]), N_TRIALS, rng) for place in (0, 1)]
        gains, noise = (np.stack(both, axis=-1) for both in zip(*map(_gained, moments), strict=True))
        r, low, high = disattenuated_correlation(moments_within(gains, noise))
        is_shown = (low <= 1) & (high >= -1)
        held += (is_shown & (low <= design.r) & (design.r <= high)).sum()
        shown += is_shown.sum()
        if start == 0:
            _check(moments, r, *(np.where(is_shown, bound, np.nan) for bound in (low, high)))
    return 100 * held / max(shown, 1), 100 * shown / n_datasets


def _gained(moments):
    """Return gains and the covariances of their errors, as `analysis.engine.gains` has them."""
    loss = losses(GOALS[GOAL], moments)
    criterion, variance, slope = (of[:, :, 0] for of in (loss.criterion, loss.variance, loss.slope))
    steeper = slope[..., :1] - slope[..., 1:]
    shared = steeper[..., None] * steeper[..., None, :] * moments.baseline_variance[:, :, 0, :1, None]
    own = np.eye(steeper.shape[-1]) * variance[..., None, 1:]
    return criterion[..., :1] - criterion[..., 1:], own + shared + variance[..., :1, None]


def _check(moments, *found):
    """Raise unless the first data sets come out as the table would have them."""
    n_llms = moments[0].percent.shape[1]
    for i in range(N_CHECKED):
        asked = [_question(of_dataset(of[i], np.arange(n_llms)), domain) for domain, of in enumerate(moments)]
        techniques = {*asked[0].basis.losses.techniques} - {"control"}
        (row,) = transfer(asked, techniques, CONTROLS)
        said = [row.get(name, np.nan) for name in ("r", "low", "high")]
        np.testing.assert_allclose(said, np.clip([of[i] for of in found], -1, 1), rtol=1e-9)


def _question(domain_losses, domain):
    keys = {"study": "s", "paradigm": "anchoring", "domain": f"d{domain}", "goal": GOAL}
    return SimpleNamespace(
        keys=keys, place=keys["domain"], leads=True, basis=SimpleNamespace(losses=domain_losses, goal=GOAL)
    )


# other gains than independent normal ones
OTHERS = {
    "half of it common to all LLMs": {"of_techniques": 0.5},
    "log-normal, sigma .6": {"draw": skewed},
    "LLMs unlike, sigma .5": {"unlike": 0.5},
}


def show(name, designs, n_datasets):
    """Print a line of designs: how many intervals hold, and of those that are not always shown how many are."""
    cells = []
    for design in designs:
        held, shown = simulate(design, n_datasets=n_datasets)
        cells.append(f"{held:6.1f}" + (f" ({shown:.0f})" if shown < 99.5 else ""))
    print(f"  {name:<34}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def main():
    """Simulate and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--datasets", type=int, default=N_DATASETS)
    n_datasets = options.parse_args().datasets
    print(f"95 % intervals of a correlation of gains that hold it, {n_datasets:,} data sets each; in %.")
    print("In brackets how many of 100 data sets have one, where that is not all of them.")
    print(f"  {'LLMs x techniques':<34}" + "".join(f"{f'{n} x {k}':>12}" for n, k in SIZES))
    for r in PLANTED:
        for noise in NOISES:
            designs = [Design(*size, r, noise) for size in SIZES]
            show(f"r {r:g}, noise {noise:g}", designs, n_datasets)
    for name, changed in OTHERS.items():
        for r in PLANTED:
            show(f"r {r:g}, {name}", [replace(Design(*size, r, 0.5), **changed) for size in SIZES], n_datasets)
    print("Nearly the same gains in both.")
    for noise in NOISES:
        show(f"r 0.95, noise {noise:g}", [Design(*size, 0.95, noise) for size in SIZES], n_datasets)


if __name__ == "__main__":
    main()
