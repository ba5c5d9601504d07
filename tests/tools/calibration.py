"""`make coverage`: do probabilities of `inference.predictions` and `p_best` come true as often as they say.

In each data set the mean gains of four techniques are drawn from a population of plausible ones, the gains of 5, 10 or
20 LLMs around them, and what trials make of those; `fit` sees only the last. Then ten LLMs of five vendors, or two,
that share a part of what LLMs differ by: what is said of an LLM of a new vendor, and of one more of a vendor asked.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from analysis.engine.predictions import fit

N_LLMS = (5, 10, 20)
N_TECHNIQUES = 4
BINS = ((0.75, 0.85), (0.85, 0.925), (0.925, 0.975))
ALLOWANCE = 0.05
FEWEST_EVENTS = 250
N_DATA_SETS = 14_000
CHUNK = 500
N_DRAWS = 1000
SEED = 20261121
SD_OF_MEANS = 8.0
SHARED_SD, OWN_SD = (5, 10), (4, 8)  # of LLMs, in pp
TRIALS_SD = (0.7, 2.8)  # of the control, and of each technique: together 1 to 4 pp
STATED = ("p_best", "p_better_than_control", "p_best_new_llm")
OF_VENDORS = ((5, 0.0), (5, 0.3), (5, 0.6), (2, 0.0), (2, 0.3), (2, 0.6))  # how many, and the share between them
N_OF_VENDORS = 1000  # data sets


@dataclass(frozen=True)
class DataSet:
    """What is measured, shapes (G, K) and (G, K, K), of whom, and the truth, of shape (K,).

    That is the mean gains, and the gains of an LLM of a new vendor and of a further one of the first vendor.
    """

    gains: np.ndarray
    covariances: np.ndarray
    vendors: np.ndarray
    means: np.ndarray
    new: np.ndarray
    further: np.ndarray


def simulated(n_llms, rng, *, sd_of_means=SD_OF_MEANS, n_vendors=None, rho=0.0):
    """Draw a population, two LLMs more than are asked, and the trials of those that are."""
    n_vendors = n_vendors or n_llms
    means = rng.normal(0, sd_of_means, N_TECHNIQUES)
    shared, own = rng.uniform(*SHARED_SD), rng.uniform(*OWN_SD)
    vendors = np.append(np.arange(n_llms) % n_vendors, [n_vendors, 0])
    of_vendors, of_llms = (
        rng.normal(0, shared, (n, 1)) + rng.normal(0, own, (n, N_TECHNIQUES)) for n in (n_vendors + 1, n_llms + 2)
    )
    *true, new, further = means + np.sqrt(rho) * of_vendors[vendors] + np.sqrt(1 - rho) * of_llms
    control = rng.uniform(*TRIALS_SD, (n_llms, 1))
    technique = rng.uniform(*TRIALS_SD, (n_llms, N_TECHNIQUES))
    gains = true + rng.normal(0, control) + rng.normal(0, technique)
    covariances = control[:, :, None] ** 2 + technique[:, :, None] ** 2 * np.eye(N_TECHNIQUES)
    return DataSet(gains, covariances, vendors[:n_llms], means, new, further)


def fitted_to(data, vendors, rng):
    """Fit the gains of LLMs of these vendors."""
    return fit(data.gains, data.covariances, np.zeros_like(data.gains), vendors, n_draws=N_DRAWS, rng=rng)


def foretold(prediction, truth):
    """P(better) and 95 % beside whether an LLM gains, and whether the interval holds that, shapes (K, 2)."""
    is_held = (prediction.gain_low <= truth) & (truth <= prediction.gain_high)
    return np.column_stack([prediction.p_better_than_control, truth > 0]), np.column_stack(
        [np.full(N_TECHNIQUES, 0.95), is_held]
    )


def events(n_llms, n_data_sets, rng, *, sd_of_means=SD_OF_MEANS):
    """What was stated and whether it was true, one row per data set and technique, shape (n, 2), by name."""
    found = {name: [] for name in STATED}
    held = []
    for _ in range(n_data_sets):
        data = simulated(n_llms, rng, sd_of_means=sd_of_means)
        fitted = fitted_to(data, data.vendors, rng)
        # no technique is a candidate too, and gains nothing
        means, gains = np.append(data.means, 0.0), np.append(data.new, 0.0)
        better, is_held = foretold(fitted.new, data.new)
        found["p_best"].append(np.column_stack([fitted.p_best, means == means.max()]))
        found["p_better_than_control"].append(better)
        found["p_best_new_llm"].append(np.column_stack([fitted.new.p_best, gains == gains.max()]))
        held.append(is_held)
    return {name: np.concatenate(rows) for name, rows in found.items()} | {"prediction interval": np.concatenate(held)}


def of_vendors(n_vendors, rho, *, n_data_sets=N_OF_VENDORS):
    """What was stated of ten LLMs of some vendors and whether it was true, as of `foretold`, by how it was stated."""
    rng, found = np.random.default_rng([SEED, n_vendors, int(100 * rho)]), {}
    for _ in range(n_data_sets):
        data = simulated(10, rng, n_vendors=n_vendors, rho=rho)
        apart, fitted = (fitted_to(data, vendors, rng) for vendors in (np.arange(10), data.vendors))
        for stated, prediction, truth in (
            ("new vendor, LLMs apart", apart.new, data.new),
            ("new vendor", fitted.new, data.new),
            ("further LLM, as of a new vendor, apart", apart.new, data.further),
            ("further LLM", fitted.further(0, rng=rng), data.further),
        ):
            found.setdefault(stated, []).append(foretold(prediction, truth))
    return {stated: [np.concatenate(rows) for rows in zip(*each, strict=True)] for stated, each in found.items()}


def share_true(rows, low, high):
    """How many events were stated with a probability in [low, high), and the share of them that was true."""
    truths = rows[(rows[:, 0] >= low) & (rows[:, 0] < high), 1]
    return len(truths), truths.mean() if len(truths) else np.nan


def _chunk(n_llms, chunk, sd_of_means):
    return events(n_llms, CHUNK, np.random.default_rng([SEED, n_llms, chunk]), sd_of_means=sd_of_means)


def calibration(*, n_data_sets=N_DATA_SETS, sd_of_means=SD_OF_MEANS):
    """Print, for each number of LLMs, bin and statement, how many events there were and the share that was true."""
    print(
        f"Mean gains drawn from N(0, {sd_of_means:g}) pp; {n_data_sets:,} data sets of {N_TECHNIQUES} techniques each"
    )
    print(f"{'LLMs':>4}  {'stated':22}  {'bin':11}  {'events':>6}  {'true':>5}")
    is_calibrated = True
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for n_llms in N_LLMS:
            chunks = [pool.submit(_chunk, n_llms, chunk, sd_of_means) for chunk in range(n_data_sets // CHUNK)]
            parts = [chunk.result() for chunk in chunks]
            for name in STATED:
                rows = np.concatenate([part[name] for part in parts])
                for low, high in BINS:
                    n, share = share_true(rows, low, high)
                    is_in = n >= FEWEST_EVENTS and low - ALLOWANCE <= share <= high + ALLOWANCE
                    is_calibrated &= is_in
                    remark = "" if is_in else "  too few events" if n < FEWEST_EVENTS else "  MISSED"
                    print(f"{n_llms:>4}  {name:22}  {low:.3f}-{high:.3f}  {n:>6}  {share:.3f}{remark}", flush=True)
            held = np.concatenate([part["prediction interval"] for part in parts])
            print(
                f"{n_llms:>4}  95 % prediction intervals of a new LLM hold {100 * held[:, 1].mean():.1f} %", flush=True
            )
    return is_calibrated


def calibration_of_vendors():
    """Print how often intervals hold and P(better) above .75 comes true, LLMs taken apart and by vendor."""
    print(
        f"\nTen LLMs of some vendors, {N_OF_VENDORS:,} data sets each: intervals hold, in %; P(better) and true share"
    )
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for (n_vendors, rho), found in zip(
            OF_VENDORS, pool.map(of_vendors, *zip(*OF_VENDORS, strict=True)), strict=True
        ):
            for stated, (better, is_held) in found.items():
                bins = "".join(
                    f"  {low:.3f}-{high:.3f} {n:>5} {share:.3f}"
                    for low, high in BINS
                    for n, share in [share_true(better, low, high)]
                )
                print(
                    f"{n_vendors} vendors, share {rho:.1f}  {stated:40}{100 * is_held[:, 1].mean():5.1f}{bins}",
                    flush=True,
                )


if __name__ == "__main__":
    is_calibrated = calibration()
    calibration_of_vendors()
    raise SystemExit(0 if is_calibrated else 1)
