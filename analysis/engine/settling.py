"""`inference.power`, design `to_settle`: what it would take to decide what is open."""

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from scipy import special

from analysis.engine.comparisons import compared
from analysis.engine.decisions import mean_decision, pairs_of, surely_beyond
from analysis.engine.guards import cannot_stand, criterion_of, mean_over_items, stood
from analysis.engine.rule import decide, no_difference, one_sided
from analysis.methods.crossed_effects import error_over_both
from analysis.methods.small_samples import FEWEST_VENDORS

MOST = 2**53  # more could not be counted exactly
POWERS = (0.5, 0.8)  # how probably it is to be settled
MIDDLES = (np.arange(200) + 0.5) / 200
UNREACHABLE = {
    "needed_vendors": "not_reachable_with_vendors",
    "needed_llms": "not_reachable_with_llms",
    "needed_items": "not_reachable_with_items",
    "needed_trials": "not_reachable_with_trials",
}
LLMS_DIFFER = "llms_differ"


@dataclass(frozen=True)
class Uncertainty:
    """What makes a mean gain of vendors uncertain; variances are of the criterion, which may be squared.

    Attributes
    ----------
    n_vendors : int
    llms_per_vendor : float
        Harmonic mean, at least 1.
    between_vendors, between_llms, within : float
        Variances of the true gains of vendors, and of LLMs of a vendor around them, and of what the trials and items of
        an LLM leave uncertain in its gain.
    n_items : int or None
        How many, where items are a sample too.
    over_vendors, over_items, rest : float
        Then the variances of the mean over vendors and over items, and what counts in both, as of
        `analysis.methods.crossed_effects.Crossed`.
    df_share : float
        Degrees of freedom over vendors and items, as a share of those that the same variances have where every vendor
        was put every item.
    """

    n_vendors: int
    llms_per_vendor: float
    between_vendors: float
    between_llms: float
    within: float
    n_items: int | None = None
    over_vendors: float = 0.0
    over_items: float = 0.0
    rest: float = 0.0
    df_share: float = 1.0

    @property
    def variance(self):
        """Variance of the mean over vendors, on these items."""
        return (self.between_vendors + (self.between_llms + self.within) / self.llms_per_vendor) / self.n_vendors

    def with_vendors(self, n_vendors):
        """Return the same of more vendors, with one LLM of each new one, which leaves what items alone differ by.

        Parameters
        ----------
        n_vendors : int

        Returns
        -------
        Uncertainty
        """
        of_one = n_vendors - self.n_vendors
        llms_per_vendor = n_vendors / (self.n_vendors / self.llms_per_vendor + of_one)
        more = replace(self, n_vendors=n_vendors, llms_per_vendor=llms_per_vendor)
        share = more.variance / self.variance
        over_items = _part_scaled(self.over_items, self.rest, share)
        return replace(more, over_vendors=share * self.over_vendors, over_items=over_items, rest=share * self.rest)

    def with_llms(self, times):
        """Return the same with so many times the LLMs of the same vendors.

        What LLMs add on single items counts in the variances over vendors, over items and in the rest alike, so that
        the one over both falls by it where only the first does.

        Parameters
        ----------
        times : float

        Returns
        -------
        Uncertainty
        """
        more = replace(self, llms_per_vendor=times * self.llms_per_vendor)
        return replace(more, over_vendors=more.variance / self.variance * self.over_vendors)

    def with_more(self, times):
        """Return the same with so many times the items, or trials in each cell where items are no sample.

        Parameters
        ----------
        times : float

        Returns
        -------
        Uncertainty
        """
        n_items = None if self.n_items is None else max(2, round(times * self.n_items))
        over_vendors = _part_scaled(self.over_vendors, self.rest, 1 / times)
        within, over_items, rest = (part / times for part in (self.within, self.over_items, self.rest))
        return replace(
            self, n_items=n_items, within=within, over_vendors=over_vendors, over_items=over_items, rest=rest
        )

    def error(self, level):
        """Return the standard error and the degrees of freedom of the mean, of that interval which is wider.

        Parameters
        ----------
        level : float
            One-sided.

        Returns
        -------
        tuple of float
            Over vendors or, where items are a sample too, over vendors and items, as `analysis.engine.guards` has it.
        """
        errors = [(math.sqrt(self.variance), self.n_vendors - 1.0)]
        if self.n_items is not None:
            variance, df = self.over_both()
            errors.append((float(np.sqrt(variance)), self.df_share * float(df)))
        return max(errors, key=lambda one: special.stdtrit(one[1], 1 - level) * one[0])

    def over_both(self):
        """Return the variance of the mean over vendors and items, and its degrees of freedom were no cell missing."""
        return error_over_both(
            self.over_vendors, [self.over_items], [self.rest], self.n_vendors, np.array([self.n_items])
        )

    def half_width(self, level):
        """Return half the width of the wider interval.

        Parameters
        ----------
        level : float
            One-sided.

        Returns
        -------
        float
            In the unit of the criterion.
        """
        error, df = self.error(level)
        return float(special.stdtrit(df, 1 - level) * error)


@dataclass(frozen=True)
class Wanted:
    """What is to be settled, and how probably.

    Attributes
    ----------
    gain : float
        Of the criterion, as it is now.
    level : float
        One-sided, of the interval that decides.
    margin : float
        In the unit of the loss.
    power : float
        The probability with which it is to be settled.
    root : float or None
        As of `analysis.engine.rule.decide`.
    forbidden : collection of str
        Words that settle nothing.
    """

    gain: float
    level: float
    margin: float
    power: float
    root: float | None = None
    forbidden: frozenset | tuple = ()

    def chances(self, uncertainty):
        """Return how probably each word is decided that would be right, were the gain what it is now.

        Estimates are taken to be normal around the gain, and the interval to be as wide as chance makes it: of an
        interval that excludes 0 this is the power of Student's t test, by its noncentral distribution.

        Parameters
        ----------
        uncertainty : Uncertainty

        Returns
        -------
        dict of str to float
            Of `use` or `avoid`, whichever has the gain's sign, and of `equivalent` where the gain is within the margin.

        References
        ----------
        Johnson & Welch (1940), Applications of the non-central t-distribution, Biometrika 31(3/4), 362-389. Phillips
        (1990), Power of the two one-sided tests procedure in bioequivalence, Journal of Pharmacokinetics and
        Biopharmaceutics 18(2), 137-144.
        """
        error, df = uncertainty.error(self.level)
        widths = np.sqrt(special.chdtri(df, MIDDLES) / df)  # how wide it is, as often each, by its mean square
        half = special.stdtrit(df, 1 - self.level) * error * widths
        sign = -1.0 if self.gain < 0 else 1.0
        gain = sign * self.gain
        low, high = sorted(sign * end for end in no_difference(self.margin, self.root))

        def beyond(ends):
            return special.ndtr((gain - ends) / error)

        chances = {"avoid" if sign < 0 else "use": beyond(np.maximum(half, high - half))} if gain else {}
        if low < gain < high:
            chances["equivalent"] = np.maximum(beyond(low + half) - beyond(high - half), 0.0)
        return {word: float(chance.mean()) for word, chance in chances.items()}

    def word(self, uncertainty):
        """Return what is decided, were gain and variances what they are now, if anything is decided so probably.

        Parameters
        ----------
        uncertainty : Uncertainty

        Returns
        -------
        {'use', 'avoid', 'equivalent'} or None
        """
        half = uncertainty.half_width(self.level)
        word = decide(self.gain - half, self.gain + half, margin=self.margin, root=self.root)
        if word in {"no_evidence", *self.forbidden}:
            return None
        chances = self.chances(uncertainty)
        return word if sum(chances[one] for one in chances.keys() - {*self.forbidden}) >= self.power else None

    def fewest(self, with_number, least):
        """Return the smallest number with which it is settled, or None.

        Parameters
        ----------
        with_number : callable
            From a number to the Uncertainty with it.
        least : int

        Returns
        -------
        int or None
            None also where the word that it comes to is one that settles nothing.
        """

        def is_settled(n, wanted=self):
            return wanted.word(with_number(n)) is not None

        if "equivalent" not in self.forbidden:
            return fewest(is_settled, least)
        # an interval that is to exclude 0 does so from some number on, and with many more it lies within the margin
        least = fewest(partial(is_settled, wanted=replace(self, margin=0.0)), least)
        return least and fewest(is_settled, least, step=1.25)


def to_settle_rows(questions, ranked, controls, costs, prices):
    """Say of each open decision how many vendors, LLMs, and items or trials would settle it, each alone.

    Settled is a decision whose interval, as of `analysis.engine.rule`, excludes 0 or lies within the margin, were the
    mean gain and the variances what they are now, if it then does so with the probabilities `POWERS`. The variance of
    the mean of q vendors is (between vendors + (between LLMs + within n0 / n) / h) / q, with h LLMs of a vendor
    (harmonic mean) and n trials in each cell (of the baseline too) or n items where there are n0 now. `within` is the
    mean of what the trials of LLMs leave uncertain, `between LLMs` what LLMs of a vendor vary by beyond that, by
    one-way analysis of variance, and `between vendors` the rest of what vendors vary by: where there is one LLM of
    each, all that is not of trials; where vendors vary by less than their LLMs would have them, none, and `between
    LLMs` is then what all LLMs vary by.
    Where items are a sample too the interval is not narrower than that over vendors and items, whose variance has a
    part that no number of vendors removes. A word that could not stand now (`analysis.engine.guards`) settles nothing.

    Parameters
    ----------
    questions : iterable of Question
    ranked : collection of str
    controls : pandas.DataFrame
        As of `analysis.engine.answers.answer_rows`.
    costs : pandas.DataFrame
        `study, llm, technique, cost_usd_per_trial, tokens_in_per_trial, tokens_out_per_trial` of
        `marts.technique_costs`.
    prices : pandas.DataFrame
        `llm, usd_per_million_tokens_in, usd_per_million_tokens_out`.

    Yields
    ------
    dict
        Rows of `analysis.methods.power.COLUMNS`: three for each of `POWERS`, of each open decision against the control.
        `needed_vendors` counts those that there are, with one LLM of each new one; `needed_llms` are of the same
        vendors; `needed_items` are put to as many LLMs as now, and `needed_trials` are of each LLM, vignette, technique
        and arm. `cost_usd` is of what is added to the technique and its control, baselines not included.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, section 3.6, for the variances of unequal groups.
    """
    usd = cache(partial(_usd, costs, prices))
    for question in questions:
        study, basis = question.keys["study"], question.basis
        gains, family = compared(basis, pairs_of(question, ranked, controls))
        for pair, by_llm in gains.items():
            if pair.kind != "control" or not by_llm.llms:
                continue
            row, codes = mean_decision(pair, by_llm, basis, family)
            row, _ = stood(row, by_llm, basis, family)
            if row["decision"] != "no_evidence":
                continue
            per_trial = sum(usd(study, name) for name in (pair.technique, pair.control))
            alpha = 2 * one_sided(family.n_over_vendors)
            keys = question.keys | {"technique_a": pair.technique, "technique_b": pair.control, "alpha": alpha}
            yield from (keys | columns for columns in _settling(row, codes, by_llm, basis, family, per_trial))


def fewest(is_enough, least, *, step=2):
    """Return the smallest count from `least` on that is enough, if more always are where fewer are.

    Parameters
    ----------
    is_enough : callable
        From a count to bool.
    least : int
    step : float
        By how many times the count is raised until it is enough: what is enough for no longer is passed over.

    Returns
    -------
    int or None
        None where no number that can be counted is.
    """
    low, high = least - 1, least
    while not is_enough(high):
        low, high = high, max(high + 1, int(step * high))
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def needed_vendors(wanted, now):
    """Return the fewest vendors that settle a mean gain, at least `FEWEST_VENDORS` and more than now, or None.

    Parameters
    ----------
    wanted : Wanted
    now : Uncertainty

    Returns
    -------
    int or None
        None where no number does.
    """
    return wanted.fewest(now.with_vendors, max(FEWEST_VENDORS, now.n_vendors + 1))


def needed_llms(wanted, now, n_now):
    """Return the fewest LLMs of the same vendors that settle a mean gain.

    Parameters
    ----------
    wanted : Wanted
    now : Uncertainty
    n_now : int
        The LLMs that there are.

    Returns
    -------
    int or None
        More than now; None where what vendors differ by is too much, or there are fewer than `FEWEST_VENDORS`.
    """
    if now.n_vendors < FEWEST_VENDORS:
        return None
    return wanted.fewest(lambda n: now.with_llms(n / n_now), n_now + 1)


def needed_more(wanted, now, n_now):
    """Return the fewest items, or trials of a cell, that settle a mean gain of as many LLMs as now.

    Parameters
    ----------
    wanted : Wanted
    now : Uncertainty
    n_now : float
        The items, or the trials of a cell, that there are.

    Returns
    -------
    int or None
        At least 2 and more than now; None where what vendors and LLMs differ by is too much for so few, or there are
        fewer than `FEWEST_VENDORS`.
    """
    if now.n_vendors < FEWEST_VENDORS:
        return None
    return wanted.fewest(lambda n: now.with_more(n / n_now), max(2, math.floor(n_now) + 1))


def uncertainty(gains, mean=None):
    """Return what makes a mean gain of vendors uncertain.

    Parameters
    ----------
    gains : Gains
        Of two vendors or more.
    mean : Crossed, optional
        The mean over vendors and items, where items are a sample too.

    Returns
    -------
    Uncertainty
        Its parts add up to the variance that vendors have, unless these vary by less than their LLMs would have them.
    """
    by_vendor = gains.by_vendor(gains.values)
    _, vendor, n_llms = np.unique(gains.vendors, return_inverse=True, return_counts=True)
    each, df = 1 / (1 / n_llms).mean(), len(vendor) - len(n_llms)
    left = each * float(by_vendor.var(ddof=1))
    # no more is to be won by trials than there is
    within = min(each * float((gains.by_vendor(gains.variances) / n_llms).mean()), left)
    squares = (gains.values - by_vendor[vendor]) ** 2 - (1 - 1 / n_llms[vendor]) * gains.variances
    between_llms = max(float(squares.sum()) / df, 0.0) if df else 0.0
    if between_llms > left - within:  # vendors do not differ, so that all LLMs tell what LLMs differ by
        between_llms = max(float(gains.values.var(ddof=1) - gains.variances.mean()), left - within)
    between_vendors = max(left - within - between_llms, 0.0) / each
    now = Uncertainty(len(by_vendor), float(each), between_vendors, between_llms, within)
    if mean is None:
        return now
    over_vendors, over_items = ((level.standard_error or 0.0) ** 2 for level in (mean.over_llms, mean.over_items))
    now = replace(now, n_items=mean.n_items, over_vendors=over_vendors, over_items=over_items, rest=mean.rest)
    return replace(now, df_share=mean.both.df / float(now.over_both()[1]))


def _settling(row, codes, gains, basis, family, usd_per_trial):
    """Yield the rows of an open decision."""
    n_llms, n_vendors, level = len(gains.llms), row["n_vendors"], one_sided(row["n_comparisons"])
    shared = {
        "design": "to_settle", "level": "vendor", "row_set": "accepted", "baseline_scope": "pooled",
        "gain": float(row["gain"]), "n_llms": n_llms, "n_vendors": n_vendors, "n_trials": gains.n_trials,
        "method": row["method"],
    }  # fmt: skip
    mean = mean_over_items(row, gains, basis) if basis.items else None
    quantity = "needed_items" if mean else "needed_trials"
    reason = "one_vendor" if n_vendors < 2 else "zero_variance" if "zero_variance" in codes else None
    if reason:
        for power in POWERS:
            for name in ("needed_vendors", "needed_llms", quantity):
                yield shared | {"quantity": name, "power": power, "reason": reason}
        return
    now = uncertainty(gains, mean)
    shared |= {
        "between_vendors_variance": now.between_vendors, "between_llms_variance": now.between_llms,
        "within_variance": now.within,
    }  # fmt: skip
    n_now = mean.n_items if mean else gains.n_trials / (2 * basis.n_arms * int(gains.used.sum()))
    shared |= {"n_trials_per_cell": n_now} if not mean else {
        "n_items": n_now, "over_vendors_variance": now.over_vendors, "over_items_variance": now.over_items,
        "rest_variance": now.rest,
    }  # fmt: skip
    gain, _, _, root = criterion_of(row, gains)
    guards = cannot_stand(gains, basis, family)
    if surely_beyond(gains, basis, family):
        guards = {"equivalent": LLMS_DIFFER} | guards
    # how many there are, what more of them cost in trials of all LLMs, what they leave uncertain, and the search
    searches = {
        "needed_vendors": (n_vendors, 1 / n_llms, now.with_vendors, needed_vendors),
        "needed_llms": (n_llms, 1 / n_llms, lambda n: now.with_llms(n / n_llms), partial(needed_llms, n_now=n_llms)),
        quantity: (n_now, 1 / n_now, lambda n: now.with_more(n / n_now), partial(needed_more, n_now=n_now)),
    }
    for power in POWERS:
        wanted = Wanted(float(gain), level, basis.margin, power, None if root is None else float(root), (*guards,))
        for name, (count, of_one, with_number, search) in searches.items():
            columns = shared | {"quantity": name, "power": power}
            needed = search(wanted, now)
            if needed is None:
                yield columns | {"reason": _why_none(name, wanted, guards, mean, now, search, with_number)}
                continue
            then = with_number(needed)
            columns |= {name: needed, "half_width": then.half_width(level), "settles": wanted.word(then)}
            yield columns | _cost((needed - count) * of_one, gains.n_trials, usd_per_trial)


def _why_none(name, wanted, guards, mean, now, search, with_number):
    """The code of why no number settles it: what does not let stand the word that it would come to, if that is it."""
    unguarded = replace(wanted, forbidden=())
    if guards and (needed := search(unguarded, now)):
        return next(guards[word] for word in unguarded.chances(with_number(needed)) if word in guards)
    # without a gain and without a margin no number is enough
    return "effect_too_small" if name == "needed_vendors" and not mean else UNREACHABLE[name]


def _part_scaled(variance, rest, share):
    """Return a variance of which only what the rest adds to it is multiplied by a share."""
    return max(variance - rest, 0.0) + share * min(variance, rest)


def _cost(more, n_trials, usd_of_one_each):
    """Return the cost of so many more times the trials that there are; half of them are of the control."""
    if math.isnan(usd_of_one_each):
        return {"reason": "cost_unknown"}
    return {"cost_usd": more * n_trials / 2 * usd_of_one_each}


def _usd(costs, prices, study, technique):
    """Say what a trial costs: as it did in this study, else the tokens it took elsewhere at the prices of today."""
    of_technique = costs[costs["technique"] == technique]
    here = of_technique.loc[of_technique["study"] == study, "cost_usd_per_trial"].dropna()
    if len(here):
        return float(here.mean())
    elsewhere = of_technique[~of_technique["llm"].str.startswith("sim/")].dropna(
        subset=["tokens_in_per_trial", "tokens_out_per_trial"]
    )
    if elsewhere.empty or prices.empty:
        return math.nan
    tokens = elsewhere[["tokens_in_per_trial", "tokens_out_per_trial"]].mean().to_numpy(float)
    each = prices[["usd_per_million_tokens_in", "usd_per_million_tokens_out"]].mean().to_numpy(float)
    return float(np.dot(tokens, each)) / 1e6
