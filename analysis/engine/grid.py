"""Counts of one measure as arrays of techniques, LLMs and items, by arm."""

from copy import copy
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd

from analysis.counts import CONTROL
from analysis.methods.crossed_effects import Arm, entering

# what is asked for of paradigms and of their contrasts
DECLARED = """study, paradigm, measure, margin, pairing, is_share, better, reference, answer_kind, measured_from,
    relative_to, goals, is_unsigned"""
PAIRS = "study, paradigm, arm, arm_b"
LABELLED = "study, paradigm, llm, technique, vignette, item, arm, is_flagged, source_label, answer_label"
PROMPTS = "study, paradigm, domain, baseline_prompt"
COUNTS = ["n_asked", "n_trials", "sum_of_values", "sum_of_squares"]
RECOMMENDED = {"row_set": "accepted", "weighting": "llm"}


def declared_counts(counts, paradigms, contrasts, vendors=None, baselines=None, framings=None, texts=None):
    """Return what is computed from counts of every paradigm, as `analysis.kept.kept_by_study` takes it.

    Parameters
    ----------
    counts, paradigms, contrasts : duckdb.DuckDBPyRelation
        `marts.counts`, `staging.stg_paradigms` and `staging.stg_paradigm_contrasts`.
    vendors, baselines : duckdb.DuckDBPyRelation, optional
        `intermediate.int_vendors`, where anything is decided, and `intermediate.int_baseline_prompts`, where it matters
        which goal leads.
    framings, texts : duckdb.DuckDBPyRelation, optional
        `intermediate.int_framings_judged` and `intermediate.int_texts_judged`, where anything is decided.

    Returns
    -------
    dict of str to duckdb.DuckDBPyRelation
        By their names here; of paradigms columns `DECLARED`, of contrasts `PAIRS`, of vendors `study, llm, vendor`, of
        baselines `PROMPTS`, and of framings those with both labels, `n_trials` by all of `LABELLED`.
    """
    declared = {"counts": counts, "paradigms": paradigms.project(DECLARED), "contrasts": contrasts.project(PAIRS)}
    if vendors is not None:
        asked = counts.project("study, llm").distinct().set_alias("asked")
        of_asked = asked.join(vendors.set_alias("vendors"), "asked.llm = vendors.llm")
        declared["vendors"] = of_asked.project("study, asked.llm, vendor")
    if framings is not None:
        both = framings.filter("is_counted and answer_label is not null")
        declared |= {"framings": both.aggregate(f"{LABELLED}, count(*) as n_trials"), "texts": texts}
    return declared | ({} if baselines is None else {"baselines": baselines.project(PROMPTS)})


@dataclass(frozen=True)
class Measured:
    """Counts of one measure, as one instrument measures it, and the contrasts that are asked of it."""

    keys: dict
    counts: pd.DataFrame
    contrasts: list

    @property
    def base(self):
        """The arm that is asked without a technique, and stands beside each: what goals are in percent of."""
        return or_none(self.contrasts[0].relative_to)

    @property
    def measured_from(self):
        """What its values come from: an `answer`, a `judgement` or a `measurement`."""
        return self.contrasts[0].measured_from

    @property
    def has_goals(self):
        """Whether its paradigm names goals, so that single contrasts decide nothing."""
        return self.base is not None

    @property
    def grids(self):
        """By row set that has any counts, a callable that returns its `Grid`, made when it is first called."""
        by_row_set = self.counts.groupby("row_set", sort=True)
        return {name: cache(partial(Grid, rows, base=self.base)) for name, rows in by_row_set if rows["n_trials"].any()}


def by_measure(counts, paradigms, contrasts):
    """Yield each study and paradigm, and what was measured in it.

    Parameters
    ----------
    counts : pandas.DataFrame
        Rows of `marts.counts`.
    paradigms : pandas.DataFrame
        Columns `DECLARED`: missing answers of a share are bounded by 0 and 1; `better, reference, answer_kind` are
        asked for where an `arm_b` is
        null; on what is measured from a `measurement` nothing is decided.
    contrasts : pandas.DataFrame
        Columns `PAIRS`; a null `arm_b` stands for the reference of the measure.

    Yields
    ------
    tuple of (str, str), list of Measured
    """
    pairs = contrasts.merge(paradigms, on=["study", "paradigm"])
    for (study, paradigm), of_paradigm in pairs.groupby(["study", "paradigm"], sort=True):
        here = counts[(counts["study"] == study) & (counts["paradigm"] == paradigm)]
        measures = []
        for measure, of_measure in of_paradigm.groupby("measure", sort=True):
            rows = here[here["measure"] == measure]
            for name in sorted(map(or_none, rows["instrument"].unique()), key=lambda name: name or ""):
                keys = {"study": study, "paradigm": paradigm, "measure": measure, "instrument": name}
                of_instrument = rows[rows["instrument"].isna() if name is None else rows["instrument"] == name]
                measures.append(Measured(keys, of_instrument, list(of_measure.itertuples())))
        yield (study, paradigm), measures


def or_none(name):
    """Return a name, or nothing where a frame has a null in its place.

    Parameters
    ----------
    name : str or float or None

    Returns
    -------
    str or None
    """
    return None if pd.isna(name) else name


class Grid:
    """Counts of one measure and row set as arrays of LLMs, vignettes, items of a vignette and techniques, by arm.

    What was never answered of an LLM, technique or vignette is not part of it, unless it is asked for. Where there is
    an arm `base`, all is in percent of the mean there of the same LLM and item without a technique.
    """

    def __init__(self, rows, *, answered_alone=True, base=None):
        answered = rows[rows["n_trials"] > 0]
        for name in ("llm", "technique", "vignette") if answered_alone else ():
            rows = rows[rows[name].isin(answered[name].unique())]
        self.llms, self.techniques = (sorted(rows[name].unique()) for name in ("llm", "technique"))
        units = rows[["vignette", "item"]].drop_duplicates().fillna("")
        self.units = sorted(units.itertuples(index=False, name=None))
        self.vignettes = sorted({vignette for vignette, _ in self.units})
        self.of_vignette = [
            np.array([place for place, (name, _) in enumerate(self.units) if name == vignette])
            for vignette in self.vignettes
        ]
        self._arms = {arm: self._array(of_arm) for arm, of_arm in rows.groupby("arm", sort=True)}
        if base is not None:
            self._take_in_percent_of(base)

    def _take_in_percent_of(self, base):
        """Take all in percent of the mean in an arm without a technique, which is that arm for each technique."""
        none = np.zeros((len(COUNTS), 1, len(self.llms), len(self.units)))
        plain = [self.techniques.index(CONTROL)] if CONTROL in self.techniques else []
        of_base = self._arms[base][:, plain] if plain and base in self._arms else none
        self._arms[base] = np.broadcast_to(of_base, (*none.shape[:1], len(self.techniques), *none.shape[2:]))
        n, total = of_base[1, 0], of_base[2, 0]
        has_base = (n > 0) & (total != 0)
        factor = np.where(has_base, 100 * n / np.where(has_base, total, 1.0), 0.0)
        for arm, (n_asked, n_trials, sums, squares) in self._arms.items():
            n_trials = np.where(has_base, n_trials, 0.0)
            self._arms[arm] = np.stack([n_asked, n_trials, factor * sums, factor**2 * squares])

    def without_errors(self, framings, judging):
        """Return the same of a share of texts that change, without what judges get wrong.

        Parameters
        ----------
        framings : pandas.DataFrame
            Columns `LABELLED` with `n_trials`: all answers that have a value.
        judging : analysis.methods.confusion.Judging
            Of judges whose errors can be taken off.

        Returns
        -------
        Grid
        """
        made, items = copy(self), np.array([item for _, item in self.units])
        labels = pd.Index(judging.labels)
        made._arms = {arm: of_arm.copy() for arm, of_arm in self._arms.items()}
        for arm, of_arm in made._arms.items():
            here = framings[framings["arm"] == arm]
            of_labels = (labels.get_indexer(here[name]) for name in ("source_label", "answer_label"))
            n = np.zeros((len(labels), len(labels), *of_arm.shape[1:]))
            np.add.at(n, (*of_labels, *self._places(here)), here["n_trials"])
            for places in self.of_vignette:
                of_arm[2:, ..., places] = judging.without_errors(n[..., places], items[places])
        return made

    def _array(self, rows):
        filled = np.zeros((len(COUNTS), len(self.techniques), len(self.llms), len(self.units)))
        place = self._places(rows)
        for number, name in enumerate(COUNTS):
            np.add.at(filled[number], place, rows[name])
        return filled

    def _places(self, rows):
        units = pd.MultiIndex.from_tuples(self.units)
        return (
            pd.Index(self.techniques).get_indexer(rows["technique"]),
            pd.Index(self.llms).get_indexer(rows["llm"]),
            units.get_indexer(pd.MultiIndex.from_arrays([rows["vignette"], rows["item"].fillna("")])),
        )

    def arm(self, name):
        """Return an arm, of which all is 0 where it was not asked.

        Parameters
        ----------
        name : str

        Returns
        -------
        Arm
            Of shape (n techniques, n LLMs, n items).
        """
        return Arm(*self._counts_of(name)[1:])

    def n_put(self, name):
        """Return how many trials were put in an arm, answered or not.

        Parameters
        ----------
        name : str

        Returns
        -------
        numpy.ndarray, shape (n techniques, n LLMs, n items)
        """
        return self._counts_of(name)[0]

    def n_put_in(self, contrast):
        """Return how many trials were put in each arm of a contrast.

        Parameters
        ----------
        contrast : namedtuple
            With `arm` and `arm_b`, which is null where there is one arm.

        Returns
        -------
        list of numpy.ndarray
            One or two, as of `n_put`.
        """
        return [self.n_put(name) for name in (contrast.arm, or_none(contrast.arm_b)) if name is not None]

    def _counts_of(self, name):
        shape = (len(COUNTS), len(self.techniques), len(self.llms), len(self.units))
        return self._arms.get(name, np.zeros(shape))

    def arms(self, contrast, reference):
        """Return the arms of a contrast.

        Parameters
        ----------
        contrast : namedtuple
            As of `n_put_in`.
        reference : float
            What an only arm is compared with.

        Returns
        -------
        list of Arm
            Two, or one with its distance from the reference; of shape (n techniques, n LLMs, n items).
        """
        arm = self.arm(contrast.arm)
        if or_none(contrast.arm_b) is not None:
            return [arm, self.arm(contrast.arm_b)]
        squares = arm.squares - 2 * reference * arm.total + reference**2 * arm.n
        return [Arm(arm.n, arm.total - reference * arm.n, squares)]


def cell_differences(arms, pairing):
    """Return the contrast of each LLM and item, NaN where an LLM has not both arms of it.

    Parameters
    ----------
    arms : list of Arm
        One or two, of shape (n LLMs, n items).
    pairing : {'item', 'between'}

    Returns
    -------
    numpy.ndarray, shape (n LLMs, n items)
    """
    counts = entering([one.n for one in arms], pairing)
    has_all = np.logical_and.reduce([n > 0 for n in counts])
    return np.where(has_all, arms[0].means - sum(one.means for one in arms[1:]), np.nan)
