"""Differences between techniques: Welch tests over trials and exact paired tests over LLMs, from counts alone."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from analysis.counts import CONTROL, Summary, compared
from analysis.methods.effect_sizes import standardised
from analysis.methods.small_samples import CONFIDENCE, FEWEST_LLMS
from analysis.methods.t_and_f_tests import holm, satterthwaite_df, t_bounds, two_sided_p
from analysis.tables import declared, first_reason

SPECIFICATIONS = (("accepted", "pooled"), ("as_recorded", "t=1"))  # recommended; the papers'
METRICS = {"percent_of_baseline": ("both", "low", "high"), "madb_percent": ("both",), "spread_pp": ("both",)}
STRUCTURE, SACD, SACD_INITIAL = "random_control", "sacd", "sacd_initial"
MAX_EXACT_LLMS = 32
DRAWS = 100_000
# relative to the values; what differs by less differs by rounding
ROUNDING = 1e-12

COLUMNS = declared("contrasts")


@dataclass(frozen=True)
class Cells:
    """Moments of percent of baseline in one technique and direction, by unit; a unit is an LLM on a vignette.

    Attributes
    ----------
    n, mean, squares, madb, madb_squares : ndarray, shape (u,)
        Trials, mean percent of baseline and sum of squared distances from it, and the same two of
        abs(percent - 100). Where a unit has no trials, `n` and the squares are 0 and the means NaN.
    """

    n: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    madb: np.ndarray
    madb_squares: np.ndarray

    def moments(self, metric):
        """Mean and sum of squares of `percent_of_baseline` or `madb_percent`."""
        return (self.madb, self.madb_squares) if metric == "madb_percent" else (self.mean, self.squares)


@dataclass(frozen=True)
class Domain:
    """All anchored cells of one study and domain under one specification.

    Attributes
    ----------
    keys : dict
        `study`, `domain`, `row_set` and `baseline_scope`, which every row about this domain has.
    vignettes, llms : ndarray of str, shape (u,)
        Of each unit.
    llm : ndarray of int, shape (u,)
        Number of the LLM of each unit.
    cells : dict of (technique, 'low' | 'high') to Cells
    """

    keys: dict
    vignettes: np.ndarray
    llms: np.ndarray
    llm: np.ndarray
    cells: dict

    @property
    def techniques(self):
        """Techniques with trials, in alphabetical order."""
        return sorted({technique for technique, _ in self.cells})

    def of(self, technique, direction="both"):
        """Return the cells of a technique: of one direction, or of each that it has."""
        directions = ("low", "high") if direction == "both" else (direction,)
        return [self.cells[technique, one] for one in directions if (technique, one) in self.cells]


@dataclass(frozen=True)
class Comparison:
    """A difference and how well it is known; `error` and `df` are NaN where `reason` says why.

    Attributes
    ----------
    a, b, difference, error, df : float
        The two estimates, `a - b`, its standard error and degrees of freedom.
    n_trials, n_llms : int
    summaries : tuple of Summary
        Of the independent groups of trials; empty at level `llm`.
    differences : ndarray, shape (G,)
        One for each LLM; empty at level `trial`.
    method, reason : str, str or None
    """

    a: float
    b: float
    difference: float
    error: float
    df: float
    n_trials: int
    n_llms: int
    method: str
    summaries: tuple = ()
    differences: np.ndarray = ()
    reason: str | None = None

    @property
    def level(self):
        """Whether it is over trials or over LLMs."""
        return "trial" if self.summaries else "llm"

    @property
    def statistic(self):
        """The difference over its standard error."""
        return self.difference / self.error

    @property
    def p_t(self):
        """Two-sided p value of Student's t."""
        return two_sided_p(self.statistic, self.df)

    def interval(self, confidence):
        """Return the bounds of the t interval."""
        return t_bounds(self.difference, self.error, self.df, confidence)

    def row(self, domain, a, b, metric):
        """Return what every row about it says."""
        return {
            **domain.keys, "technique_a": a, "technique_b": b, "metric": metric, "level": self.level,
            "method": self.method, "n_trials": self.n_trials, "n_llms": self.n_llms, "difference": self.difference,
            "reason": self.reason,
        }  # fmt: skip


def contrasts(responses, techniques, *, seed, specifications=SPECIFICATIONS):
    """Compare techniques over trials, as the papers do, and over LLMs, as a claim about LLMs needs.

    Level `trial` holds for the LLMs that were asked: it treats their trials as independent and their baselines as
    known, and gives every trial the same weight. The interval and p value are Welch's; of `spread_pp`, a difference
    of two differences of means, with Satterthwaite's degrees of freedom for all four.

    Level `llm` holds for LLMs like them: an LLM counts once, with the mean over its vignettes of the difference
    between the two techniques, vignettes without both left out. `p_value` is the exact sign-flip permutation p,
    `low` and `high` are Student's t interval, and `p_t` is its p value.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`.
    techniques : pandas.DataFrame
        `technique`, `is_ranked`.
    seed : int
        Of the sign flips, where there are more than 32 LLMs.
    specifications : iterable of (row_set, baseline_scope)

    Returns
    -------
    list of dict
        Keys are those of `COLUMNS`. Only techniques with trials in the domain are compared.

    References
    ----------
    Welch (1947), Biometrika 34(1-2). Satterthwaite (1946), Biometrics Bulletin 2(6). Fisher (1935), The Design of
    Experiments, section 21. Holm (1979), Scandinavian Journal of Statistics 6(2).
    """
    rows = []
    for domain in domains(responses, specifications):
        for family, of_family in families(domain.techniques, techniques).items():
            for metric, directions in METRICS.items():
                for direction in directions:
                    for compare in (over_trials, over_llms):
                        compared_pairs = [(a, b, compare(domain, a, b, metric, direction)) for a, b in of_family]
                        rows += _adjusted(
                            {"family": family, "anchor_direction": direction}
                            | comparison.row(domain, a, b, metric)
                            | _tested(comparison, seed)
                            for a, b, comparison in compared_pairs
                            if comparison
                        )
    return rows


def contrasts_of_readings(responses, techniques, texts, *, response_source, seed):
    """Compare under the recommended reading, and under the other one too where only one of two techniques has texts.

    What a text can correct on one side alone could make a difference, or hide it. What the papers counted is the same
    under both readings.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors` of all response sources.
    techniques : pandas.DataFrame
        `technique`, `is_ranked`.
    texts : pandas.DataFrame
        `study`, `domain`, `technique`, `has_text`.
    response_source : str
        The recommended one.
    seed : int

    Returns
    -------
    list of dict
        As of `contrasts`, with `response_source` and `is_recommended`.
    """
    has_text = {(row.study, row.domain, row.technique): row.has_text for row in texts.itertuples()}
    by_domain = texts.groupby(["study", "domain"])["has_text"].nunique()
    mixed = responses.set_index(["study", "domain"]).index.isin(by_domain.index[by_domain > 1])
    rows = []
    for source in sorted(responses["response_source"].unique(), key=lambda source: source != response_source):
        is_recommended = source == response_source
        of_source = responses[(responses["response_source"] == source) & (is_recommended | mixed)]
        specifications = SPECIFICATIONS if is_recommended else SPECIFICATIONS[:1]
        rows += [
            {**row, "response_source": source, "is_recommended": is_recommended}
            for row in contrasts(of_source, techniques, seed=seed, specifications=specifications)
            if is_recommended
            or len({has_text[row["study"], row["domain"], row[name]] for name in ("technique_a", "technique_b")}) == 2
        ]
    return rows


def families(present, techniques):
    """Return the declared families of comparisons among the techniques that are present, as pairs (a, b) for a - b.

    Parameters
    ----------
    present : collection of str
    techniques : pandas.DataFrame
        `technique`, `is_ranked`.

    Returns
    -------
    dict of str to list of (str, str)
        `pairs` of ranked techniques, the later in the alphabet first; `against_no_technique` has every other one;
        `structure` is what any extra turns do, `content` what a technique adds to them; `own_first_answer` is what
        SACD does to its own first answer.
    """
    ranked = sorted(set(techniques.loc[techniques["is_ranked"].astype(bool), "technique"]) & set(present))
    declared = {
        "pairs": [(a, b) for b, a in combinations(ranked, 2)],
        "against_no_technique": [(a, CONTROL) for a in sorted(present) if a != CONTROL],
        "structure": [(STRUCTURE, CONTROL)],
        "content": [(a, STRUCTURE) for a in ranked if a != STRUCTURE],
        "own_first_answer": [(SACD, SACD_INITIAL)],
    }
    return {family: [(a, b) for a, b in pairs if a in present and b in present] for family, pairs in declared.items()}


def pairs(present, techniques):
    """Return the pairs of ranked techniques, and each technique with no technique; see `families`."""
    declared = families(present, techniques)
    return declared["pairs"] + declared["against_no_technique"]


def domains(responses, specifications=SPECIFICATIONS):
    """Yield every study and domain under every specification, as moments of its cells.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`.
    specifications : iterable of (row_set, baseline_scope)

    Yields
    ------
    Domain
        Without the LLMs that have no baseline, and none where no LLM has one.
    """
    for row_set, baseline_scope in specifications:
        rows = compared(responses, row_set=row_set, baseline_scope=baseline_scope)
        rows = rows[rows["percent_of_baseline"].notna()]
        for (study, domain), of_domain in rows.groupby(["study", "domain"], sort=True):
            by_unit = of_domain.groupby(["vignette", "llm"], sort=True)
            units = by_unit.size().index.to_frame()
            vignettes, llms = (units[name].to_numpy(object) for name in ("vignette", "llm"))
            by_condition = of_domain.assign(unit=by_unit.ngroup()).groupby(["technique", "anchor_direction"], sort=True)
            cells = {condition: _cells(of_condition, len(units)) for condition, of_condition in by_condition}
            keys = {"study": study, "domain": domain, "row_set": row_set, "baseline_scope": baseline_scope}
            yield Domain(keys, vignettes, llms, np.unique(llms, return_inverse=True)[1], cells)


def over_trials(domain, a, b, metric, direction="both"):
    """Compare two techniques over the trials of the LLMs that were asked.

    Parameters
    ----------
    domain : Domain
    a, b : str
        Techniques; without `b`, `a` is compared with zero.
    metric : {'percent_of_baseline', 'madb_percent', 'spread_pp'}
    direction : {'both', 'low', 'high'}

    Returns
    -------
    Comparison or None
        None where a group has no trials.
    """
    named = [(1, a)] + ([(-1, b)] if b else [])
    if metric == "spread_pp":
        groups = [(sign * s, domain.of(name, one)) for sign, name in named for s, one in ((1, "high"), (-1, "low"))]
    else:
        groups = [(sign, domain.of(name, direction)) for sign, name in named]
    if not all(cells for _, cells in groups):
        return None
    summaries = tuple(_summary(cells, metric) for _, cells in groups)
    signed = [sign * summary.mean for (sign, _), summary in zip(groups, summaries, strict=True)]
    of_a = len(groups) // len(named)
    has_trials = sum(cell.n for _, cells in groups for cell in cells) > 0
    n_trials = [summary.n_trials for summary in summaries]
    squares = np.array([summary.variance for summary in summaries]) / n_trials
    reason = first_reason(one_trial=min(n_trials) < 2, zero_variance=not squares.sum() > 0)
    error, df = np.nan, np.nan
    if not reason:
        error, df = float(np.sqrt(squares.sum())), satterthwaite_df(squares, [n - 1 for n in n_trials])
    means = sum(signed[:of_a]), -sum(signed[of_a:]) if b else 0.0
    n_llms = len(set(domain.llm[has_trials]))
    return Comparison(*means, sum(signed), error, df, sum(n_trials), n_llms, "welch_t", summaries, reason=reason)


def over_llms(domain, a, b, metric, direction="both"):
    """Compare two techniques within each LLM and average over LLMs.

    Parameters and return value are those of `over_trials`. In direction `both`, an LLM's mean on a vignette is that
    of all its trials, low and high.
    """
    means_a = _unit_means(domain, a, metric, direction)
    means_b = _unit_means(domain, b, metric, direction) if b else np.zeros_like(means_a)
    has_both = np.isfinite(means_a) & np.isfinite(means_b)
    if not has_both.any():
        return None
    llm = np.unique(domain.llm[has_both], return_inverse=True)[1]
    n_vignettes = np.bincount(llm)
    of_llm_a, of_llm_b = (np.bincount(llm, means[has_both]) / n_vignettes for means in (means_a, means_b))
    differences = of_llm_a - of_llm_b
    n_llms = len(differences)
    cells = [cell for name in (a, b) if name for cell in domain.of(name, direction)]
    scale = max(abs(means_a[has_both]).max(), abs(means_b[has_both]).max())
    reason = first_reason(too_few_llms=n_llms < FEWEST_LLMS, zero_variance=np.ptp(differences) <= ROUNDING * scale)
    means = (float(of_llms.mean()) for of_llms in (of_llm_a, of_llm_b, differences))
    error, df = (np.nan, np.nan) if reason else (float(differences.std(ddof=1) / np.sqrt(n_llms)), float(n_llms - 1))
    n_trials = int(sum(cell.n[has_both].sum() for cell in cells))
    return Comparison(*means, error, df, n_trials, n_llms, "paired_t", differences=differences, reason=reason)


def sign_flip_p(differences, *, seed):
    """Two-sided p value of the mean of paired differences under random signs.

    Exact up to 32 differences: the sums of the first half under all signs meet those of the second half, so that
    2^(G/2) of them stand for all 2^G. Above that, (k + 1) / (N + 1) of N = 100,000 random signs. Sums that
    differ by rounding alone count as equal.

    Parameters
    ----------
    differences : array_like, shape (G,)
    seed : int

    Returns
    -------
    float

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21. Phipson & Smyth (2010), Statistical Applications in
    Genetics and Molecular Biology 9(1). Horowitz & Sahni (1974), Journal of the ACM 21(2), for the halves.
    """
    # in order of size, so that the draws do not depend on the order or the signs of the LLMs
    size = np.sort(np.abs(np.asarray(differences, float)))
    observed = abs(np.sum(differences)) - 1e-9 * size.sum()
    if observed <= 0:
        return 1.0
    if len(size) <= MAX_EXACT_LLMS:
        half = len(size) // 2
        left, right = _signed_sums(size[:half]), np.sort(_signed_sums(size[half:]))
        n_as_large = 2 * (len(right) - np.searchsorted(right, observed - left, side="left")).sum()
        return float(n_as_large / 2 ** len(size))
    n_as_large = (np.abs(_signs(len(size), seed) @ size) >= observed).sum()
    return float((n_as_large + 1) / (DRAWS + 1))


def _tested(comparison, seed):
    """Return the columns of a contrast that depend on its level, and its test where there is one."""
    row = {"estimate_a": comparison.a, "estimate_b": comparison.b}
    is_over_llms = comparison.level == "llm"
    if is_over_llms:
        is_exact = comparison.n_llms <= MAX_EXACT_LLMS
        row["method"] = f"{comparison.method}; sign_flip_{'exact' if is_exact else 'random'}"
        row |= {} if is_exact else {"seed": seed, "resamples": DRAWS}
    if comparison.reason:
        return row
    low, high = comparison.interval(CONFIDENCE)
    effects, reason = standardised(comparison)
    p_value = sign_flip_p(comparison.differences, seed=seed) if is_over_llms else comparison.p_t
    return row | effects | {
        "standard_error": comparison.error, "low": low, "high": high, "statistic": comparison.statistic,
        "df": comparison.df, "p_t": comparison.p_t, "p_value": p_value, "reason": reason,
    }  # fmt: skip


def _adjusted(rows):
    """Return rows with the p values adjusted for all tests of the family, by Bonferroni and by Holm."""
    rows = list(rows)
    tested = [row for row in rows if "p_value" in row]
    for row, p_holm in zip(tested, holm([row["p_value"] for row in tested]), strict=True):
        p_bonferroni = min(1.0, len(tested) * row["p_value"])
        row |= {"p_bonferroni": p_bonferroni, "p_holm": float(p_holm), "n_tests": len(tested)}
    return rows


def _cells(rows, n_units):
    unit, weights = rows["unit"].to_numpy(), rows["n_trials"].to_numpy(float)
    n = np.bincount(unit, weights, n_units)
    moments = []
    percent = rows["percent_of_baseline"].to_numpy(float)
    for values in (percent, np.abs(percent - 100)):
        sums = np.bincount(unit, weights * values, n_units)
        means = np.divide(sums, n, out=np.full(n_units, np.nan), where=n > 0)
        moments += [means, np.bincount(unit, weights * (values - means[unit]) ** 2, n_units)]
    return Cells(n, *moments)


def _summary(cells, metric):
    """Summarise all trials of some cells from the moments of each."""
    n = np.concatenate([cell.n for cell in cells])
    means, squares = (np.concatenate(parts) for parts in zip(*(cell.moments(metric) for cell in cells), strict=True))
    n, means, squares = n[n > 0], means[n > 0], squares[n > 0]
    mean = means[0] + np.dot(n, means - means[0]) / n.sum()
    total = squares.sum() + np.dot(n, (means - mean) ** 2)
    if total <= n.sum() * (ROUNDING * np.abs(means).max()) ** 2:
        total = 0.0
    return Summary(int(n.sum()), float(mean), float(total / (n.sum() - 1)) if n.sum() > 1 else float("nan"))


def _unit_means(domain, technique, metric, direction):
    if metric == "spread_pp":
        low, high = domain.of(technique, "low"), domain.of(technique, "high")
        return high[0].mean - low[0].mean if low and high else np.full(len(domain.llm), np.nan)
    cells = domain.of(technique, direction)
    n = sum((cell.n for cell in cells), np.zeros(len(domain.llm)))
    total = sum((cell.n * np.nan_to_num(cell.moments(metric)[0]) for cell in cells), np.zeros(len(domain.llm)))
    return np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)


def _signed_sums(sizes):
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


@lru_cache(maxsize=1)
def _signs(n, seed):
    return np.random.default_rng(seed).choice(np.array([-1.0, 1.0], np.float32), size=(DRAWS, n))
