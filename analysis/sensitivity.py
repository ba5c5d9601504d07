"""`inference.sensitivity`: in how many of the defensible specifications each headline stands."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.counts import CONTROL, SMALLEST_SPREAD_PP, baseline_rows, compared
from analysis.tables import TYPES, columns

COLUMNS = columns(
    "varchar: study domain headline predicate technique technique_b excluded_llm baseline_scope weighting row_set",
    "varchar: response_source",
    "double: value",
    "boolean: stands",
    "double: share_standing",
    "bigint: n_specifications",
    "boolean: is_recommended",
    "bigint: n_trials n_llms",
    "varchar: method",
    "bigint: seed",
    "varchar: reason",
)
METHOD = "multiverse"
DIRECTIONS = ["low", "high"]
WEIGHTINGS = ["trial", "llm"]
UNIVERSE = ["row_set", "response_source", "baseline_scope"]
CELL = [*UNIVERSE, "vignette", "llm", "technique", "anchor_direction"]
FEWEST_KEPT = 2  # with one LLM left, it would be an LLM that is judged and not a domain
TIE = 1e-9  # as the ranks of the marts


def sensitivity(responses, ranked, *, margin_pp, response_source="recorded"):
    """Give the value of each headline in each specification, and the share of them in which it stands.

    A specification is a row set, a response source, a baseline scope, a weighting and the LLM that is left out, if any.
    The definitions are those of `marts.technique_rankings`: anchored trials of all temperatures; `trial` weighs the
    trials of a vignette alike, `llm` its LLMs; vignettes weigh the same. An LLM is left out of the specifications in
    which it and two others at least have a percentage. Specifications that come to the same (there is one
    temperature, there is no text) all count.

    Parameters
    ----------
    responses : pandas.DataFrame
        Rows of `marts.response_counts`.
    ranked : collection of str
        The techniques that are compared with each other; each is compared with `no_technique` too.
    margin_pp : float
        The largest difference in percent of baseline that counts as none.
    response_source : str
        The source of the recommended specification, otherwise `accepted`, `pooled`, `llm`, with all LLMs.

    Returns
    -------
    pyarrow.Table
        `COLUMNS`: a row per study, domain, headline and specification. A headline stands where its `value` is above 0.
        It is null, with a reason, where a technique that the headline names has none. Techniques without a value are
        no rivals. In percentage points, with distance for the absolute deviation, the absolute spread
        (`susceptibility`) or `madb`:

        - `first_by_*`: the next distance less its own; `last_by_deviation`: its own less the next.
        - `closer_than_no_technique`, `reduces_susceptibility`: that of no technique less its own.
        - `within_margin`: the margin less the absolute difference of two techniques.
        - `nothing_beats_no_technique`: the least deviation of a technique less that of no technique.
        - `no_spread_without_technique`: 1 less the spread of no technique.
        - `every_technique_undershoots_low_more_than_high`: the least, over techniques, of the deviation from low less
          that from high anchors.
        - `metrics_disagree`: 1 if no technique is first both by deviation and by susceptibility, else 0.

    References
    ----------
    Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Increasing transparency through a multiverse analysis,
    Perspectives on Psychological Science 11(5), 702-712. Simonsohn, Simmons & Nelson (2020), Specification curve
    analysis, Nature Human Behaviour 4, 1208-1214.
    """
    recommended = {
        "row_set": "accepted",
        "response_source": response_source,
        "baseline_scope": "pooled",
        "weighting": "llm",
        "excluded_llm": None,
    }
    found = {name: [] for name in COLUMNS}
    for (study, domain), cells in _cells(responses, {*ranked, CONTROL}):
        techniques = sorted({*cells["technique"]} - {CONTROL})
        specifications = _Specifications(cells, [*techniques, CONTROL])
        for headline in _headlines(specifications, techniques, margin_pp):
            rows = {"study": study, "domain": domain, **specifications.rows(headline, recommended)}
            for name, values in rows.items():
                found[name].append(np.broadcast_to(np.asarray(values, object), headline.value.shape))
    arrays = {name: np.concatenate(of_column) if of_column else [] for name, of_column in found.items()}
    return pa.table(
        {name: pa.array(arrays[name], type=TYPES[kind], from_pandas=True) for name, kind in COLUMNS.items()}
    )


def _cells(responses, techniques):
    """Yield each study and domain with the sums of its cells, one row per `CELL`."""
    responses = responses[responses["technique"].isin(techniques)]
    scopes = _scopes(responses)
    cells = []
    for (row_set, source), rows in responses.groupby(UNIVERSE[:2]):
        for scope in sorted({scope for of_domain in scopes.values() for scope in of_domain}):
            percents = compared(rows, row_set=row_set, baseline_scope=scope, response_source=source)
            n, percent = percents["n_trials"], percents["percent_of_baseline"]
            cells.append(
                percents.assign(
                    row_set=row_set,
                    response_source=source,
                    baseline_scope=scope,
                    n_answered=n,
                    n_trials=n.where(percent.notna(), 0),
                    sum_percent=n * percent,
                    sum_absolute=n * (percent - 100).abs(),
                )
            )
    if cells:
        sums = ["n_answered", "n_trials", "sum_percent", "sum_absolute"]
        cells = pd.concat(cells).groupby(["study", "domain", *CELL], as_index=False)[sums].sum()
        for key, of_domain in cells.groupby(["study", "domain"]):
            yield key, of_domain[of_domain["baseline_scope"].isin(scopes[key])]


def _scopes(responses):
    """Return the baseline scopes of each study and domain; `pooled` is one even where there is no baseline."""
    scopes = {key: ["pooled"] for key, _ in responses.groupby(["study", "domain"])}
    for key, rows in baseline_rows(responses, "matched").groupby(["study", "domain"]):
        temperatures = rows["temperature"].astype(float).unique()
        scopes[key] += ["matched", *(f"t={temperature:g}" for temperature in temperatures)]
    return scopes


@dataclass(frozen=True)
class _Headline:
    """A sentence on `techniques` and its value in each specification, made from their `distance` and others'.

    It has none where a `needed` technique has none; the trials of `involved` techniques enter.
    """

    predicate: str
    techniques: tuple
    value: np.ndarray
    distance: np.ndarray
    needed: tuple
    involved: tuple


def _headlines(of, ranked, margin_pp):
    """Yield the headlines on ranked techniques; `of` has them in this order, and then `no_technique`."""
    ranked, none = tuple(ranked), len(ranked)
    deviation, susceptibility = abs(of.deviation), abs(of.spread)
    for i, technique in enumerate(ranked):
        others = [j for j in range(none) if j != i]
        for metric, distance in [("deviation", deviation), ("susceptibility", susceptibility), ("madb", of.madb)]:
            value = _least(distance[:, others]) - distance[:, i]
            yield _Headline(f"first_by_{metric}", (technique,), value, distance, (technique,), ranked)
        value = deviation[:, i] + _least(-deviation[:, others])
        yield _Headline("last_by_deviation", (technique,), value, deviation, (technique,), ranked)
        both = (CONTROL, technique)
        value = deviation[:, none] - deviation[:, i]
        yield _Headline("closer_than_no_technique", (technique,), value, deviation, both, both)
        value = susceptibility[:, none] - susceptibility[:, i]
        yield _Headline("reduces_susceptibility", (technique,), value, susceptibility, both, both)
    for (i, technique), (j, technique_b) in combinations(enumerate(ranked), 2):
        both = (technique, technique_b)
        value = margin_pp - abs(of.deviation[:, i] - of.deviation[:, j])
        yield _Headline("within_margin", both, value, deviation, both, both)
    if ranked:
        value = _disagreement(deviation[:, :none], susceptibility[:, :none])
        yield _Headline("metrics_disagree", (), value, deviation, (), ranked)
        value = _least(deviation[:, :none]) - deviation[:, none]
        yield _Headline("nothing_beats_no_technique", (), value, deviation, (CONTROL,), (*ranked, CONTROL))
        value = _least(abs(of.low[:, :none]) - abs(of.high[:, :none]))
        yield _Headline("every_technique_undershoots_low_more_than_high", (), value, deviation, (), ranked)
    value = SMALLEST_SPREAD_PP - susceptibility[:, none]
    yield _Headline("no_spread_without_technique", (), value, susceptibility, (CONTROL,), (CONTROL,))


class _Specifications:
    """The statistics of the techniques of a domain in all specifications, of which `keys` are the columns.

    `deviation`, `spread`, `low`, `high` (pp) and `madb` have shape (specifications, techniques); NaN where there is
    none.
    """

    def __init__(self, cells, techniques):
        self.techniques = techniques
        universes = cells[UNIVERSE].drop_duplicates().sort_values(UNIVERSE)
        llms = sorted(cells["llm"].unique())
        axes = {
            "vignette": sorted(cells["vignette"].unique()),
            "technique": techniques,
            "anchor_direction": DIRECTIONS,
            "llm": llms,
        }
        places = (
            cells.groupby(UNIVERSE).ngroup(),
            *(pd.Categorical(cells[name], labels).codes for name, labels in axes.items()),
        )

        def sums(name):
            """Sums by universe, vignette, technique, direction (low, high, both) and LLM."""
            array = np.zeros([len(universes), *map(len, axes.values())])
            array[places] = cells[name]
            return np.concatenate([array, array.sum(axis=3, keepdims=True)], axis=3)

        n = sums("n_trials")
        has = n[:, :, :, 2].any(axis=1)
        present = has.any(axis=1)
        can_leave = present & (present.sum(axis=1, keepdims=True) > FEWEST_KEPT)
        universe, excluded = np.nonzero(np.insert(can_leave, 0, True, axis=1))
        kept = np.insert(1 - np.eye(len(llms)), 0, 1, axis=0)

        def over_llms(values):
            """Sum over the LLMs that each pair of universe and exclusion keeps."""
            return np.moveaxis(values @ kept.T, -1, 1)[universe, excluded]

        def means(of_sums):
            """Mean by specification, vignette, technique and direction."""
            of_llms = np.divide(of_sums, n, out=np.zeros_like(n), where=n > 0)
            with np.errstate(invalid="ignore"):
                return np.concatenate([over_llms(of_sums) / over_llms(n), over_llms(of_llms) / over_llms(n > 0)])

        percents = means(sums("sum_percent"))
        self.low, self.high, self.deviation = (_mean_of_vignettes(percents[..., d]) - 100 for d in range(3))
        self.spread = _mean_of_vignettes(percents[..., 1] - percents[..., 0])
        self.madb = _mean_of_vignettes(means(sums("sum_absolute"))[..., 2])

        pair = np.tile(np.arange(len(universe)), len(WEIGHTINGS))
        self.n_trials = over_llms(n[:, :, :, 2].sum(axis=1))[pair]
        self.n_answered = over_llms(sums("n_answered")[:, :, :, 2].sum(axis=1))[pair]
        self.has = (has[universe] & (kept[excluded] > 0)[:, np.newaxis])[pair]
        self.keys = {
            **{name: universes[name].to_numpy(object)[universe][pair] for name in UNIVERSE},
            "weighting": np.repeat(np.array(WEIGHTINGS, object), len(universe)),
            "excluded_llm": np.array([None, *llms], object)[excluded][pair],
        }

    def rows(self, headline, recommended):
        """Return the columns of a headline, each one value or one per specification."""
        involved = [self.techniques.index(name) for name in headline.involved]
        is_known = ~np.isnan(headline.value)
        stands = headline.value > TIE
        names = ", ".join(headline.techniques)
        technique, technique_b = (*headline.techniques, None, None)[:2]
        return {
            "headline": f"{headline.predicate}({names})" if names else headline.predicate,
            "predicate": headline.predicate,
            "technique": technique,
            "technique_b": technique_b,
            **self.keys,
            "value": headline.value,
            "stands": np.where(is_known, stands, None),
            "share_standing": stands[is_known].mean() if is_known.any() else None,
            "n_specifications": is_known.sum(),
            "is_recommended": np.all([self.keys[name] == key for name, key in recommended.items()], axis=0),
            "n_trials": self.n_trials[:, involved].sum(axis=1),
            "n_llms": self.has[:, involved].any(axis=1).sum(axis=1),
            "method": METHOD,
            "seed": None,
            "reason": np.where(is_known, None, self._reasons(headline)),
        }

    def _reasons(self, headline):
        cases = []
        for name in headline.needed:
            i = self.techniques.index(name)
            cases += [
                (self.n_answered[:, i] == 0, "no_technique_not_asked" if name == CONTROL else "no_answers"),
                (self.n_trials[:, i] == 0, "no_baseline"),
                (np.isnan(headline.distance[:, i]), "no_low_or_no_high_anchor"),
            ]
        reasons = np.full(headline.value.shape, "nothing_to_compare", object)
        for applies, word in reversed(cases):
            reasons[applies] = word
        return reasons


def _disagreement(deviation, susceptibility):
    """Say (1 or 0) whether no technique is least in both; NaN where either is known of fewer than two."""
    winners = [distance <= _least(distance)[:, np.newaxis] + TIE for distance in (deviation, susceptibility)]
    n_known = np.minimum(*((~np.isnan(distance)).sum(axis=1) for distance in (deviation, susceptibility)))
    return np.where(n_known > 1, ~(winners[0] & winners[1]).any(axis=1), np.nan)


def _least(values):
    return np.fmin.reduce(values, axis=1, initial=np.nan)


def _mean_of_vignettes(values):
    is_known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(is_known, values, 0).sum(axis=1) / is_known.sum(axis=1)
