"""`make coverage`: how often the intervals of `inference.intervals` hold the true value, by simulation.

LLMs are drawn from a population with the variance components of document A's judicial domain, trials from each LLM's
own distribution of whole months, and the intervals come from the functions that fill the table. Every technique is
simulated by itself, with a baseline of its own: how many others there are does not enter an interval.
"""

import argparse
import os
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from scipy.special import ndtr

from analysis.counts import ANSWERED, RESPONSES, Summary, selected
from analysis.methods.bootstrap import DIRECTIONS, DomainDraws, Resampled, Statistic, _by_direction, with_both
from analysis.methods.intervals import METHODS, _of_llms, _over_llms
from analysis.methods.small_samples import FEWEST_LLMS

ROOT = Path(__file__).resolve().parents[2]
STUDY, DOMAIN = "voder-bais", "judicial"
NO_TECHNIQUE = "no_technique"
CELLS = ("baseline", "low", "high")
MONTHS = np.arange(181.0)
ALPHA = 0.025
WANTED = (93, 97)
N_LLMS = (2, 5, 10, 20)
N_LLMS_OF_DOCUMENT_A = 10
POPULATIONS = (*((n, False) for n in N_LLMS), (N_LLMS_OF_DOCUMENT_A, True))  # how many LLMs, is_skewed
N_BASELINE = 90
SMALL_CELLS = (15, 30)
N_BASELINE_OF_SMALL_CELLS = 30
N_RESAMPLES = 400
N_TRUE_LLMS = 20_000
CHUNK = 500
SEED = 20260222
METRICS = (
    ("percent_of_baseline", "llm"),
    ("percent_of_baseline", "trial"),
    ("deviation", "llm"),
    ("madb_percent", "llm"),
    ("spread_pp", "llm"),
)
UNITS = {"percent_of_baseline": "%", "deviation": "months", "madb_percent": "%", "spread_pp": "pp"}


@dataclass(frozen=True)
class Design:
    """One technique over a population of LLMs; arrays are in the order of `CELLS`.

    Baseline in months, the mean under a low and a high anchor in % of it: mean and covariance (3, 3) over LLMs.
    Standard deviation of an LLM's trials in months: mean and standard deviation over LLMs. Trials per direction.
    """

    means: np.ndarray
    covariance: np.ndarray
    within: np.ndarray
    within_varies: np.ndarray
    n_trials: np.ndarray


def rounded(means, deviations, correlations, within, within_varies, n_trials):
    """Make a design of declared figures; `correlations` are baseline with low, baseline with high, low with high."""
    covariance = np.diag(np.square(deviations, dtype=float))
    for (i, j), correlation in zip(((0, 1), (0, 2), (1, 2)), correlations, strict=True):
        covariance[i, j] = covariance[j, i] = correlation * deviations[i] * deviations[j]
    return Design(np.array(means), covariance, np.array(within), np.array(within_varies), np.array(n_trials))


# what `recorded_designs` finds in the recorded archive, rounded; for a machine without it
DECLARED = {
    "no_technique": rounded((29, 59, 84), (5, 19, 39), (0.3, 0.5, 0.6), (5.3, 1.7, 7.9), (3.3, 1.1, 6.9), (90,) * 10),
    "devils_advocate": rounded(
        (29, 53, 78),
        (5, 17, 22),
        (0.1, 0.1, 0.8),
        (5.3, 5.1, 8.2),
        (3.3, 2.4, 4),
        (120, 95, 100, 150, 115, 90, 95, 90, 90, 145),
    ),
    "premortem": rounded(
        (29, 70, 117),
        (5, 13, 32),
        (0, 0.1, 0.5),
        (5.3, 4.5, 11.1),
        (3.3, 3.1, 4.6),
        (120, 95, 100, 150, 105, 90, 95, 90, 90, 155),
    ),
    "random_control": rounded(
        (29, 64, 95),
        (5, 18, 21),
        (0.3, 0.2, 0.8),
        (5.3, 5.3, 12.6),
        (3.3, 2.9, 4.8),
        (120, 105, 100, 150, 115, 90, 100, 85, 90, 155),
    ),
    "sacd": rounded(
        (29, 79, 117),
        (5, 19, 29),
        (-0.2, -0.3, 0.9),
        (5.3, 7.3, 10.7),
        (3.3, 3, 3.5),
        (90, 90, 90, 145, 90, 210, 90, 160, 145, 90),
    ),
}
DESIGNS = dict(DECLARED)


def recorded_designs(responses, techniques=tuple(DECLARED)):
    """Variance components of each technique, from the answers to anchors of one study and domain.

    Covariance over LLMs is that of their means less what their trials bring into it: with b and p_i an LLM's baseline
    and % of it, v_b and v_i the variances of its means, 100² v_i / b² on the diagonal, p_i p_j v_b / b² in every pair
    and -p_i v_b / b between b and p_i (the first-order terms of a ratio).
    """
    rows = selected(responses)
    cells = {
        cell: Summary.of(of_cell["response"], of_cell["n_trials"])
        for cell, of_cell in rows.groupby(["llm", "technique", "anchor_direction"], observed=True)
    }
    llms = sorted({llm for llm, technique, direction in cells if (technique, direction) == (NO_TECHNIQUE, "none")})
    designs = {}
    for technique in techniques:
        asked = ((NO_TECHNIQUE, "none"), (technique, "low"), (technique, "high"))
        found = [[cells[llm, *cell] for cell in asked] for llm in llms if all((llm, *cell) in cells for cell in asked)]
        n, months, variance = (
            np.array([[getattr(cell, name) for cell in of_llm] for of_llm in found])
            for name in ("n_trials", "mean", "variance")
        )
        baseline, of_mean = months[:, :1], variance / n
        values = np.hstack([baseline, 100 * months[:, 1:] / baseline])
        slope = np.hstack([np.ones_like(baseline), -values[:, 1:] / baseline])
        brought = of_mean[:, :1, None] * slope[:, :, None] * slope[:, None, :]
        for i in (1, 2):
            brought[:, i, i] += 1e4 * of_mean[:, i] / baseline[:, 0] ** 2
        sds = np.sqrt(variance)
        designs[technique] = Design(
            values.mean(axis=0),
            np.cov(values.T) - brought.mean(axis=0),
            sds.mean(axis=0),
            sds.std(axis=0, ddof=1),
            np.rint(n[:, 1:].mean(axis=1)).astype(int),
        )
    return designs


def as_declared(design):
    """Show a design as the figures of `rounded`."""
    deviations = np.sqrt(np.diag(design.covariance))
    correlations = (design.covariance / np.outer(deviations, deviations))[[0, 0, 1], [1, 2, 2]]
    figures = [design.means.round(), deviations.round(), correlations.round(1)]
    figures += [design.within.round(1), design.within_varies.round(1), 5 * np.rint(design.n_trials / 5).astype(int)]
    return f"rounded({', '.join(str(tuple(figure.tolist())) for figure in figures)})"


def drawn_llms(design, n_llms, rng, *, is_skewed=False):
    """Draw LLMs: how probable each of `MONTHS` is in each of its cells, shape (3, n_llms, months).

    Means over LLMs are normal, drawn again where one is not positive, or log-normal with the same mean and covariance.
    Standard deviations within LLMs have a gamma distribution. A trial is a rounded normal number that is not negative.
    """
    if is_skewed:
        squares = np.log1p(design.covariance / np.outer(design.means, design.means))
        location = np.log(design.means) - np.diag(squares) / 2
        means = np.exp(rng.multivariate_normal(location, squares, size=n_llms))
    else:
        means = rng.multivariate_normal(design.means, design.covariance, size=n_llms)
        while (is_out := (means <= 0).any(axis=1)).any():
            means[is_out] = rng.multivariate_normal(design.means, design.covariance, size=is_out.sum())
    shape = (design.within / design.within_varies) ** 2
    sds = np.maximum(rng.gamma(shape, design.within / shape, size=(n_llms, 3)), 0.05).T
    centres = means.T.copy()
    centres[1:] *= centres[0] / 100
    edges = np.append(MONTHS - 0.5, np.inf)
    chances = np.diff(ndtr((edges - centres[..., None]) / sds[..., None]))
    return chances / chances.sum(axis=-1, keepdims=True)


def true_values(chances):
    """Each LLM's own value of every metric and direction, exactly: arrays (n_llms,) by (metric, direction)."""
    means = chances @ MONTHS
    baseline = means[0]
    distances = np.abs(100 * MONTHS / baseline[:, None] - 100)
    true = {}
    for direction, cell in (("low", 1), ("high", 2)):
        true["percent_of_baseline", direction] = 100 * means[cell] / baseline
        true["deviation", direction] = means[cell] - baseline
        true["madb_percent", direction] = (chances[cell] * distances).sum(axis=-1)
    for metric in ("percent_of_baseline", "deviation", "madb_percent"):
        true[metric, "both"] = (true[metric, "low"] + true[metric, "high"]) / 2
    true["spread_pp", "both"] = true["percent_of_baseline", "high"] - true["percent_of_baseline", "low"]
    return true


@cache
def population(technique, is_skewed):
    """Mean over very many LLMs of each one's own value."""
    rng = np.random.default_rng([SEED, is_skewed])
    true = true_values(drawn_llms(DESIGNS[technique], N_TRUE_LLMS, rng, is_skewed=is_skewed))
    return {key: float(values.mean()) for key, values in true.items()}


def counted_trials(chances, n_baseline, n_trials, rng):
    """Draw trials of LLMs, counted by month, shape (3, n_llms, months)."""
    return np.stack([rng.multinomial(n, of_cell) for n, of_cell in zip((n_baseline, *n_trials), chances, strict=True)])


def as_responses(counts, technique):
    """Lay counts (3, n_llms, months) out as answers to anchors."""
    cell, llm, month = np.nonzero(counts)
    names = np.array([f"llm {i:02}" for i in range(counts.shape[1])])
    return pd.DataFrame(
        {
            "llm": names[llm],
            "technique": np.where(cell == 0, NO_TECHNIQUE, technique),
            "anchor_direction": np.array(["none", "low", "high"])[cell],
            "response": MONTHS[month],
            "n_trials": counts[cell, llm, month],
        }
    ).assign(
        study="simulated",
        domain=DOMAIN,
        vignette=DOMAIN,
        temperature=np.nan,
        row_set="accepted",
        response_source="recorded",
    )


class Tally:
    """How many intervals held the true value, how wide they were, and how many were null, by any keys."""

    def __init__(self):
        self.sums = defaultdict(lambda: np.zeros(4))

    def add(self, keys, row, true):
        """Count one row of the table."""
        if row["low"] is None:
            self.sums[keys] += (0, 0, 0, 1)
        else:
            self.sums[keys] += (1, row["low"] <= true <= row["high"], row["high"] - row["low"], 0)

    def merge(self, sums):
        """Add what another process counted."""
        for keys, more in sums.items():
            self.sums[keys] += more

    def of(self, wanted):
        """Coverage and its Monte-Carlo standard error in %, mean width, share of nulls in %, of keys that match."""
        total = sum((sums for keys, sums in self.sums.items() if wanted.items() <= dict(keys).items()), np.zeros(4))
        n, held, width, null = total
        if not n:
            return None, None, None, 100.0 if null else None
        return 100 * held / n, 100 * np.sqrt(held * (n - held) / n**3), width / n, 100 * null / (n + null)


def keys_of(**keys):
    """Name what an interval is of, hashable."""
    return frozenset(keys.items())


def headline_task(technique, n_llms, is_skewed, chunk, n_datasets):
    """`headline` intervals of many data sets: every statistic of all of them at once, then one interval for each."""
    design, true = DESIGNS[technique], population(technique, is_skewed)
    rng = np.random.default_rng([SEED, 1, list(DESIGNS).index(technique), n_llms, is_skewed, chunk])
    n_trials = np.resize(design.n_trials, n_llms)
    by_llm = []
    for n in n_trials:
        chances = drawn_llms(design, n_datasets, rng, is_skewed=is_skewed)
        by_llm.append(counted_trials(chances, N_BASELINE, (n, n), rng))
    keys = {"technique": technique, "n_llms": n_llms, "is_skewed": is_skewed, "method": "headline", "is_of_llm": False}
    tally = Tally()
    for named, statistic in statistics_of_datasets(by_llm, n_trials):
        for of_dataset in statistic.values.T:
            of_one = replace(statistic, values=of_dataset[:, None])
            (row,) = _over_llms(None, of_one, {"metric": named["metric"]}, ("headline",), ALPHA)
            tally.add(keys_of(**keys, **named), row, true[named["metric"], named["direction"]])
    return dict(tally.sums)


def statistics_of_datasets(by_llm, n_trials):
    """Every metric and direction with its `Statistic`, whose columns are data sets instead of resamples.

    `by_llm` holds for each LLM the counts of its cells, shape (3, n_datasets, months); `n_trials` its trials per
    anchored cell, which are the same in every data set.
    """
    found = []
    for baseline, low, high in by_llm:
        sides = {"low": Resampled(MONTHS, low.astype(float)), "high": Resampled(MONTHS, high.astype(float))}
        found.append(_by_direction(with_both(sides), baseline @ MONTHS / baseline[0].sum()))
    for metric, weighting in METRICS:
        weights = n_trials / n_trials.sum() if weighting == "trial" else np.full(len(n_trials), 1 / len(n_trials))
        for direction in ("both",) if metric == "spread_pp" else DIRECTIONS:
            values = np.array([_value(of_llm, metric, direction) for of_llm in found])
            named = {"metric": metric, "weighting": weighting, "direction": direction}
            yield named, Statistic(values, weights, 2 * n_trials)


def _value(found, metric, direction):
    if metric == "spread_pp":
        return _value(found, "percent_of_baseline", "high") - _value(found, "percent_of_baseline", "low")
    return found[direction][0][metric]


def bootstrap_task(technique, n_llms, is_skewed, n_small, chunk, n_datasets):
    """Every method on data sets of the usual form, over LLMs and of each LLM; `n_small` trials per cell, if any."""
    design, over_llms = DESIGNS[technique], population(technique, is_skewed)
    stream = [SEED, 2, list(DESIGNS).index(technique), n_llms, is_skewed, n_small or 0, chunk]
    rng = np.random.default_rng(stream)
    n_trials = np.resize(design.n_trials, n_llms) if n_small is None else np.full(n_llms, n_small)
    n_baseline = N_BASELINE if n_small is None else N_BASELINE_OF_SMALL_CELLS
    keys = {"technique": technique, "n_llms": n_llms, "is_skewed": is_skewed, "n_small": n_small}
    tally = Tally()
    for _ in range(n_datasets):
        chances = drawn_llms(design, n_llms, rng, is_skewed=is_skewed)
        of_llms = true_values(chances)
        responses = as_responses(counted_trials(chances, n_baseline, (n_trials, n_trials), rng), technique)
        draws = DomainDraws(responses, n_resamples=N_RESAMPLES, seed=int(rng.integers(2**31)))
        for (metric, weighting), is_known in product(METRICS, (False, True)):
            methods = ("trial_fixed_baseline",) if is_known else ("trial", "cluster")
            statistic = draws.statistic(technique, metric, "both", weighting, baseline_is_known=is_known)
            of = {"metric": metric, "weighting": weighting}
            named = keys | of | {"direction": "both"}
            for row in _over_llms(draws, statistic, of, methods, ALPHA) if n_small is None else ():
                own = keys_of(**named, method=row["method"], is_of_llm=False)
                tally.add(own, row, over_llms[metric, "both"])
            if weighting == "llm" and n_llms == N_LLMS_OF_DOCUMENT_A and not is_skewed:
                asked = {"metric": metric, "technique": technique, "anchor_direction": "both"}
                for row in _of_llms(draws, statistic, asked, methods if is_known else METHODS, ALPHA, ["llm"]):
                    own = keys_of(**named, method=row["method"], is_of_llm=True)
                    tally.add(own, row, of_llms[metric, "both"][draws.llms.index(row["llm"])])
    return dict(tally.sums)


def designs_of(warehouse):
    """Return the designs of the recorded archive in a warehouse, or the declared ones, and what they come from."""
    try:
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            responses = connection.execute(
                f"select {RESPONSES} from marts.counts where {ANSWERED} and study = ? and domain = ? "
                "and response_source = 'recorded'",
                [STUDY, DOMAIN],
            ).df()
    except duckdb.Error:
        responses = pd.DataFrame()
    if responses.empty:
        return (
            DECLARED,
            f"figures declared in {Path(__file__).name} ({warehouse} does not hold {STUDY} of this version)",
        )
    return recorded_designs(responses, tuple(DECLARED)), f"variance components of {STUDY}, {DOMAIN}, in {warehouse}"


def use(designs):
    """Simulate these designs from here on."""
    DESIGNS.clear()
    DESIGNS.update(designs)
    population.cache_clear()


def simulated(designs, n_headline, n_bootstrap, n_workers):
    """Run everything and return the tally."""
    tasks = []
    for technique in designs:
        for n_llms, is_skewed in POPULATIONS:
            chunks = range(-(-n_headline // CHUNK))
            tasks += [
                (headline_task, technique, n_llms, is_skewed, chunk, min(CHUNK, n_headline - chunk * CHUNK))
                for chunk in chunks
            ]
            tasks += [(bootstrap_task, technique, n_llms, is_skewed, None, chunk, n_bootstrap // 2) for chunk in (0, 1)]
        tasks += [
            (bootstrap_task, technique, N_LLMS_OF_DOCUMENT_A, False, n, 0, max(1, n_bootstrap // 2))
            for n in SMALL_CELLS
        ]
    tally = Tally()
    options = {"max_workers": n_workers, "mp_context": get_context("spawn"), "initializer": use, "initargs": (designs,)}
    with ProcessPoolExecutor(**options) as pool:
        for future in [pool.submit(*task) for task in sorted(tasks, key=lambda task: -task[2])]:
            tally.merge(future.result())
    return tally


def show(tally, designs):
    """Print the two tables and the verdict."""
    print("\nOver LLMs; true value: the mean over the population. % held (± Monte-Carlo standard error), mean width.")
    print("Techniques pooled, both directions; lowest, highest: headline in any one technique and direction.\n")
    line = "{:<30}{:>6}  {:<19}{:<17}{:<19}{:<19}{:<19}"
    methods = ("headline", "cluster", "trial", "trial_fixed_baseline")
    print(line.format("metric (weighting), unit", "LLMs", methods[0], "lowest, highest", *methods[1:]).rstrip())
    pooled, apart = {}, {}
    for n_llms, is_skewed in sorted(POPULATIONS, key=lambda population: population[::-1]):
        for metric, weighting in METRICS:
            keys = {"metric": metric, "weighting": weighting, "n_llms": n_llms, "is_skewed": is_skewed}
            name = f"{metric} ({weighting}), {UNITS[metric]}"
            found = [tally.of(keys | {"is_of_llm": False, "direction": "both", "method": of}) for of in methods]
            pooled[is_skewed, name, n_llms] = found[0]
            held = []
            for technique, direction in product(designs, ("both",) if metric == "spread_pp" else DIRECTIONS):
                of_one = {"technique": technique, "direction": direction, "method": "headline", "is_of_llm": False}
                apart[is_skewed, name, n_llms, technique, direction] = tally.of(keys | of_one)
                held.append(tally.of(keys | of_one)[0])
            shown = [_shown(*of) for of in found]
            shown.insert(1, "" if None in held else f"{min(held):.1f}, {max(held):.1f}")
            print(line.format(name, f"{n_llms}{'*' if is_skewed else ''}", *shown).rstrip())
    print("* log-normal LLMs")
    show_of_one_llm(tally)
    for is_skewed, population_name in ((False, "recorded variance components"), (True, "log-normal LLMs")):
        print(f"\nheadline between {WANTED[0]} and {WANTED[1]} % from {FEWEST_LLMS} LLMs up, {population_name}")
        for what, found in (("metric and number of LLMs", pooled), ("of these, technique and direction", apart)):
            print(f"  in each {what}: {verdict({key[1:]: of for key, of in found.items() if key[0] == is_skewed})}")


def show_of_one_llm(tally):
    """Print the table of the intervals that an LLM has for itself."""
    print("\nOf one LLM; true value: its own. Both directions, techniques pooled.\n")
    line = "{:<30}{:>7}{:>10}  {:<19}{:<19}{:<19}"
    methods = ("headline", "trial", "trial_fixed_baseline")
    print(line.format("metric, unit", "trials", "baseline", *methods).rstrip())
    share_null = 0.0
    for metric, n_small in product(UNITS, (None, *reversed(SMALL_CELLS))):
        keys = {"metric": metric, "n_small": n_small, "is_of_llm": True}
        found = [tally.of(keys | {"method": method}) for method in methods]
        sizes = ("90-210", N_BASELINE) if n_small is None else (n_small, N_BASELINE_OF_SMALL_CELLS)
        print(line.format(f"{metric}, {UNITS[metric]}", *sizes, *(_shown(*of) for of in found)).rstrip())
        share_null = max(share_null, *(of[3] for of in found))
    print(f"LLMs without an interval, whose trials are all alike: at most {share_null:.1f} %")


def _shown(held, error, width, null):
    if held is None:
        return "too_few_llms" if null else ""
    return f"{held:.1f} ± {error:.1f}  {width:.3g}"


def verdict(found):
    """Say whether every coverage there is lies where it is wanted, and which do not, lowest first."""
    found = {key: (held, error) for key, (held, error, *_) in found.items() if held is not None}
    out = {key: of for key, of in found.items() if not WANTED[0] <= of[0] <= WANTED[1]}
    held = [of[0] for of in found.values()]
    lines = [f"{'no' if out else 'yes'}, {len(found) - len(out)} of {len(found)} ({min(held):.1f} to {max(held):.1f})"]
    for (name, n_llms, *rest), (of, error) in sorted(out.items(), key=lambda item: item[1][0]):
        lines.append(f"{of:.1f} ± {error:.1f}  {', '.join([*rest, name])}, {n_llms} LLMs")
    return "\n    ".join(lines)


def main():
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    default = Path(os.environ.get("BAIS_WAREHOUSE") or ROOT / "data/bais.duckdb")
    parser.add_argument("--warehouse", type=Path, default=default, help="for the variance components")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data sets")
    parser.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1))
    options = parser.parse_args()
    started = time.perf_counter()
    designs, source = designs_of(options.warehouse)
    n_headline, n_bootstrap = (400, 12) if options.quick else (4000, 120)
    print(source)
    print(
        f"{len(designs)} techniques; of each {n_headline:,} data sets for headline and {n_bootstrap:,} for the"
        f" bootstraps of {N_RESAMPLES} resamples; seed {SEED}"
    )
    show(simulated(designs, n_headline, n_bootstrap, options.workers), designs)
    print(f"\n{time.perf_counter() - started:.0f} s on {options.workers} processes")


if __name__ == "__main__":
    main()
