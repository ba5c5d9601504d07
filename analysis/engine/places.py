"""`inference.predictions`: what a technique would do to an LLM that nobody asked, and how probable each place is."""

import numpy as np

from analysis.counts import CONTROL
from analysis.engine.predictions import fit
from analysis.engine.rule import in_points
from analysis.engine.vendors import UNLISTED
from analysis.methods.small_samples import FEWEST_LLMS
from analysis.tables import declared, reasons

PART = "predictions"
PREDICTIONS = declared("predictions")


class Fitted:
    """The hierarchical model of gains, by technique, of the techniques that enough LLMs were asked with."""

    def __init__(self, gains, streams, n_draws):
        self.gains = gains
        self.techniques = list(gains)
        vendors = {llm: vendor for one in gains.values() for llm, vendor in zip(one.llms, one.vendors, strict=True)}
        self.llms = sorted(vendors)
        self.vendors = [vendors[llm] for llm in self.llms]
        shape = (len(self.llms), len(gains))
        self.values, losses = np.full(shape, np.nan), np.full(shape, np.nan)
        self.covariances = np.zeros((*shape, shape[1]))
        for k, one in enumerate(gains.values()):
            rows = [self.llms.index(llm) for llm in one.llms]
            self.values[rows, k], losses[rows, k] = one.values, one.control
            for other, another in enumerate(gains.values()):
                self.covariances[rows, k, other] = one.covariances(another)
        self.fit = fit(self.values, self.covariances, losses, self.vendors, n_draws=n_draws, rng=streams())
        self.streams = streams

    @property
    def whom(self):
        """LLM and vendor of each prediction: of a new vendor, then one more of each known vendor, then those asked.

        That nobody listed them is all that LLMs of `UNLISTED` share, and an LLM that is its own vendor has no further.
        """
        if self.fit.means is None:
            return [(None, None)]
        known = sorted(set(self.vendors) - {UNLISTED, *self.llms})
        return [(None, None), *((None, vendor) for vendor in known), *zip(self.llms, self.vendors, strict=True)]

    def predicted(self, llm, vendor):
        """Return the prediction for an LLM.

        Parameters
        ----------
        llm, vendor : str or None
            One that was asked; None for a further one of a vendor, or of a new vendor where that is None too.

        Returns
        -------
        analysis.engine.predictions.Prediction or None
            None where the LLMs that were fitted say nothing of it.
        """
        if llm is None and vendor is None:
            return self.fit.new
        of, name = (self.vendors, vendor) if llm is None else (self.llms, llm)
        if self.fit.means is None or name not in of:
            return None
        predict = self.fit.further if llm is None else self.fit.asked
        return predict(of.index(name), rng=self.streams(name))


class Model:
    """What the hierarchical model says of one question.

    What a technique gains is about its own control; which technique comes first is about all of them against no
    technique, since gains on different controls cannot be ranked.

    Parameters
    ----------
    gains : dict of Comparison to Gains
    streams : callable
        From further names to random numbers.
    n_draws : int
    """

    def __init__(self, gains, streams, n_draws):
        enough = {pair: by_llm for pair, by_llm in gains.items() if len(by_llm.llms) >= FEWEST_LLMS}
        on_control = {pair: by_llm for pair, by_llm in gains.items() if pair.kind == "control" and by_llm.llms}
        self.own = {pair: by_llm for pair, by_llm in on_control.items() if pair in enough}
        self.few = {pair: by_llm for pair, by_llm in on_control.items() if pair not in enough}
        self.common = {pair: by_llm for pair, by_llm in enough.items() if pair.control == CONTROL}
        common = {pair.technique: by_llm for pair, by_llm in self.common.items()}
        own = {pair.technique: by_llm for pair, by_llm in self.own.items()}
        self.gain = Fitted(own, streams, n_draws) if own else None
        is_same = common.keys() == own.keys() and all(one is own[technique] for technique, one in common.items())
        self.place = self.gain if is_same else Fitted(common, streams, n_draws) if common else None

    def places(self, pair):
        """Return how probable each place of a technique is, and that it loses against its control.

        Parameters
        ----------
        pair : Comparison

        Returns
        -------
        dict
            `p_best, p_worst, rank_low, rank_high` and `p_worse_than_control`, as far as enough LLMs were asked.
        """
        columns = {}
        if self.place and not self.place.fit.reason and pair.technique in self.place.techniques:
            k, fitted = self.place.techniques.index(pair.technique), self.place.fit
            low, high = fitted.ranks[:, k]
            columns = {"p_best": fitted.p_best[k], "p_worst": fitted.p_worst[k], "rank_low": low, "rank_high": high}
        if pair in self.own and not self.gain.fit.reason:
            k = self.gain.techniques.index(pair.technique)
            columns["p_worse_than_control"] = self.gain.fit.p_worse_than_control[k]
        return columns

    def control(self, control):
        """Return how probable each place of no technique is among all that are compared with it.

        Parameters
        ----------
        control : str

        Returns
        -------
        dict
            As of `places`, or the `reason` why there is none; of a control other than no technique nothing.
        """
        if control != CONTROL or not self.place:
            return {} if self.place else {"reason": "too_few_llms"}
        fitted = self.place.fit
        if fitted.reason:
            return {"reason": fitted.reason}
        low, high = fitted.ranks[:, -1]
        return {"p_best": fitted.p_best[-1], "p_worst": fitted.p_worst[-1], "rank_low": low, "rank_high": high}

    def predictions(self):
        """Yield what each technique would do to an LLM of a new vendor, to one more of a known one, and to each asked.

        Yields
        ------
        dict
            Rows of `PREDICTIONS`, gains and losses in the unit of the goal.
        """
        for pair, gains in self.few.items():
            yield _prediction(pair, gains, None, None) | {"reason": "too_few_llms"}
        for llm, vendor in self.gain.whom if self.gain else ():
            foretold = self.gain.predicted(llm, vendor)
            if foretold is None:
                for pair, gains in self.own.items():
                    yield _prediction(pair, gains, llm, vendor) | {"reason": self.gain.fit.reason}
                continue
            placed = foretold if self.place is self.gain else self.place and self.place.predicted(llm, vendor)
            for k, (pair, gains) in enumerate(self.own.items()):
                is_foretold = llm is not None and np.isnan(self.gain.values[self.gain.llms.index(llm), k])
                is_placed = placed is not None and pair.technique in self.place.techniques
                root = gains.root(foretold.control_loss[k])
                yield _prediction(pair, gains, llm, vendor) | {
                    "expected_loss": gains.root_of(foretold.control_loss[k] - foretold.gain[k]),
                    "gain": in_points(foretold.gain[k], root),
                    "gain_low": in_points(foretold.gain_low[k], root),
                    "gain_high": in_points(foretold.gain_high[k], root),
                    "p_better_than_control": foretold.p_better_than_control[k],
                    "p_best_new_llm": placed.p_best[self.place.techniques.index(pair.technique)] if is_placed else None,
                    "between_sd": self.gain.fit.between_sd,
                    "reason": reasons(
                        "not_asked_with_it" if is_foretold else None, None if is_placed else "no_technique_not_asked"
                    ),
                }
            if placed is not None:
                yield self._of_none(llm, vendor, placed)

    def _of_none(self, llm, vendor, placed):
        """The prediction of no technique: what it is expected to lose, and how probable it is that nothing gains."""
        (pair, gains), *_ = ((pair, gains) for pair, gains in self.common.items())
        loss = gains.root_of(np.mean(placed.control_loss))
        row = _prediction(pair, gains, llm, vendor) | {"technique": CONTROL, "control": None}
        return row | {"expected_loss": loss, "p_best_new_llm": placed.p_best[-1], "reason": "control"}


def _prediction(pair, gains, llm, vendor):
    return {
        "part": PART,
        "llm": llm,
        "vendor": vendor,
        "technique": pair.technique,
        "control": pair.control,
        "method": "hierarchical_normal",
        "n_trials": gains.n_trials,
        "n_llms": len(gains.llms),
    }
