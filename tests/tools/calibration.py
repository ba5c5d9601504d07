"""`make coverage`: do probabilities of `inference.predictions` and `p_best` come true as often as they say.

In each data set the mean gains of four techniques are drawn from a population of plausible ones, the gains of 5, 10 or
20 LLMs around them, and what trials make of those; `fit` sees only the last.
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


@dataclass(frozen=True)
class DataSet:
    """What is measured, shapes (G, K) and (G, K, K), and the truth: mean gains and a new LLM's gains, shape (K,)."""

    gains: np.ndarray
    covariances: np.ndarray
    means: np.ndarray
    new: np.ndarray


def simulated(n_llms, rng, *, sd_of_means=SD_OF_MEANS):
    """Draw a population, one LLM more than are asked, and the trials of those that are."""
    means = rng.normal(0, sd_of_means, N_TECHNIQUES)
    shared, own = rng.uniform(*SHARED_SD), rng.uniform(*OWN_SD)
    true = means + rng.normal(0, shared, (n_llms + 1, 1)) + rng.normal(0, own, (n_llms + 1, N_TECHNIQUES))
    control = rng.uniform(*TRIALS_SD, (n_llms, 1))
    technique = rng.uniform(*TRIALS_SD, (n_llms, N_TECHNIQUES))
    gains = true[1:] + rng.normal(0, control) + rng.normal(0, technique)
    covariances = control[:, :, None] ** 2 + technique[:, :, None] ** 2 * np.eye(N_TECHNIQUES)
    return DataSet(gains, covariances, means, true[0])


def events(n_llms, n_data_sets, rng, *, sd_of_means=SD_OF_MEANS):
    """What was stated and whether it was true, one row per data set and technique, shape (n, 2), by name."""
    found = {name: [] for name in STATED}
    held = []
    for _ in range(n_data_sets):
        data = simulated(n_llms, rng, sd_of_means=sd_of_means)
        fitted = fit(data.gains, data.covariances, np.zeros_like(data.gains), n_draws=N_DRAWS, rng=rng)
        new = fitted.new
        # no technique is a candidate too, and gains nothing
        means, gains = np.append(data.means, 0.0), np.append(data.new, 0.0)
        truths = means == means.max(), data.new > 0, gains == gains.max()
        for name, stated, truth in zip(
            STATED, (fitted.p_best, new.p_better_than_control, new.p_best), truths, strict=True
        ):
            found[name].append(np.column_stack([stated, truth]))
        held.append(
            np.column_stack([np.full(N_TECHNIQUES, 0.95), (new.gain_low <= data.new) & (data.new <= new.gain_high)])
        )
    return {name: np.concatenate(rows) for name, rows in found.items()} | {"prediction interval": np.concatenate(held)}


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


if __name__ == "__main__":
    raise SystemExit(0 if calibration() else 1)
