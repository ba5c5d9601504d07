"""What is asked of a study, and what each question is answered from under every specification.

A specification says how one looks at the trials: which reading of the texts, which trials, which baseline. The first
is the recommended one, and every other differs from it in one thing, which its `switch` names.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd

from analysis.engine.domain_losses import DomainLosses
from analysis.engine.grid import RECOMMENDED, by_measure, or_none
from analysis.engine.guards import JUDGED, MOVED, REVERSED, CaseLosses, ItemContrasts, ItemLosses
from analysis.engine.losses import SHIPPED, Goal
from analysis.engine.measures import best_value
from analysis.leading import leads, of_domain
from analysis.methods.confusion import judging_of
from analysis.methods.crossed_effects import Arm, entering, signed_bounds, signed_contrasts

BIAS = "bias"
AS_RECOMMENDED, READING = "recommended", "reading"  # switches
POOLED = "pooled"
DESCRIBES, JUDGEMENT = "measurement", "judgement"  # where measures are from: on the first nothing is decided


@dataclass(frozen=True)
class Basis:
    """What a question is answered from under one specification.

    Attributes
    ----------
    losses : DomainLosses
    goal : str
        Its name in the losses.
    margin : float
        The largest gain or loss that still counts as none, in the unit of the losses.
    guards : tuple of str
        Codes of `analysis.engine.guards` for which a decision or a place may be taken back; after `JUDGED`, why.
    items : ItemContrasts or None
        Where items are a sample as LLMs are, so that a decision is about other items too.
    n_arms : int
        How many arms a loss is made of.
    n_alike : int
        How many questions share the confidence: the contrasts of arms of one measure.
    most : float
        The largest loss that there can be.
    """

    losses: DomainLosses
    goal: str
    margin: float
    guards: tuple = ()
    items: ItemContrasts | None = None
    n_arms: int = 2
    n_alike: int = 1
    most: float = np.inf


@dataclass(frozen=True)
class Question:
    """By how much techniques make one loss of one study smaller.

    Attributes
    ----------
    keys : dict
        `study, paradigm, domain, goal, measure, instrument, arm, arm_b`; what is not there does not apply.
    place : str
        The domain, or the paradigm where there is none, as `seeds/controls.csv` names it.
    stream : tuple of str
        With the study, what names its random numbers.
    leads : bool
        Whether it is the one that its paradigm is about, in a domain with such unanchored prompts.
    specification : dict
        The recommended one.
    basis : Basis
        What the answer rests on under it.
    others : callable
        Returns the other specifications, each with its basis, as a list of (dict, Basis).
    """

    keys: dict
    place: str
    stream: tuple
    leads: bool
    specification: dict
    basis: Basis
    others: Callable


def questions(
    counts, paradigms, contrasts, vendors, baselines=None, framings=None, texts=None, *, margin, response_source
):
    """Yield all questions: those on goals, then those on contrasts.

    Parameters
    ----------
    counts, paradigms, baselines, margin, response_source
        As of `questions_on_goals`.
    contrasts, framings, texts : pandas.DataFrame
        As of `questions_on_contrasts`.
    vendors : pandas.DataFrame
        `llm, vendor`: an LLM that is not there is a vendor of its own.

    Yields
    ------
    Question
    """
    vendors = dict(zip(vendors["llm"], vendors["vendor"], strict=True))
    yield from questions_on_goals(counts, paradigms, vendors, baselines, margin=margin, response_source=response_source)
    yield from questions_on_contrasts(counts, paradigms, contrasts, vendors, framings, texts)


def questions_on_goals(counts, paradigms, vendors, baselines=None, *, margin, response_source):
    """Yield the questions on the goals that paradigms name, by domain: each in percent of the answers in one arm.

    Parameters
    ----------
    counts : pandas.DataFrame
        Rows of `marts.counts`, of all row sets and response sources.
    paradigms : pandas.DataFrame
        `study, paradigm, measure, relative_to, goals`, the last as JSON; of those without goals nothing is asked here.
        A paradigm that is bais's own is as its file says, unless a study states it.
    vendors : dict of str to str
        Of LLMs.
    baselines : pandas.DataFrame, optional
        `study, paradigm, domain, baseline_prompt` of vignettes, the last `same` or `differs`, by which a goal may lead:
        `analysis.leading`. Of a domain that is not there nothing is known, which counts as `differs`.
    margin : float
        Of a goal that names none, in percentage points.
    response_source : str
        The recommended one, where there are several.

    Yields
    ------
    Question
    """
    stated = {
        (row.study, row.paradigm, row.measure): (row.relative_to, {goal["goal"]: goal for goal in goals})
        for row in paradigms.dropna(subset="goals").itertuples()
        for goals in [json.loads(row.goals)]
    }
    prompts = _by_domain(baselines)
    by_domain = counts.groupby(["study", "paradigm", "measure", "domain"], dropna=False, sort=True, observed=True)
    for names, rows in by_domain:
        study, paradigm, measure, domain = map(or_none, names)
        base, goals = stated.get((study, paradigm, measure)) or SHIPPED.get(paradigm, (None, {}))
        if not goals:
            continue
        specification, *others = _specifications(rows, response_source)
        cases = next((goal["cases"] for goal in goals.values() if goal.get("cases")), None)
        of_goals = {name: Goal.stated(goal, base) for name, goal in goals.items()}
        made = partial(_losses_of, rows, base, of_goals, cases, vendors)
        losses = made(specification)
        of_others = cache(partial(_losses_of_each, made, others))
        keys = {"study": study, "paradigm": paradigm, "domain": domain} | ({"measure": measure} if measure else {})
        place = (domain,) if paradigm in SHIPPED else (paradigm, domain)
        baseline_prompt = of_domain(prompts.get((study, paradigm, domain), ()))
        for name, goal in goals.items() if losses.llms else ():
            basis = partial(_basis_of_goal, goal, margin)
            yield Question(
                keys | {"goal": name}, domain, (*place, name), leads(goal, baseline_prompt), specification,
                basis(losses), partial(_bases, of_others, basis),
            )  # fmt: skip


def _by_domain(baselines):
    """Return what is known of the unanchored prompts of the vignettes of each study, paradigm and domain."""
    prompts = {}
    for row in () if baselines is None else baselines.itertuples():
        prompts.setdefault((row.study, row.paradigm, row.domain), []).append(row.baseline_prompt)
    return prompts


def _specifications(rows, response_source):
    """Return the specifications that these rows allow."""
    readings = sorted(rows["response_source"].dropna().unique())
    reading = response_source if readings else None
    recommended = {"response_source": reading, "row_set": RECOMMENDED["row_set"], "baseline_scope": POOLED}
    temperatures = sorted(rows["temperature"].dropna().astype(float).unique())
    switched = [(READING, {"response_source": name}) for name in readings]
    switched += [("row_set", {"row_set": name}) for name in sorted(rows["row_set"].unique())]
    switched += [("baseline", {"baseline_scope": f"t={_plain(temperature)}"}) for temperature in temperatures]
    others = [(switch, changed) for switch, changed in switched if not changed.items() <= recommended.items()]
    return [{"switch": switch, **recommended, **changed} for switch, changed in [(AS_RECOMMENDED, {}), *others]]


def _plain(temperature):
    """Write a temperature so that it is the same number when it is read."""
    return np.format_float_positional(temperature, trim="-")


def _losses_of(rows, base, goals, cases, vendors, specification):
    is_read = (rows["response_source"] == specification["response_source"]) | rows["response_source"].isna()
    temperature = specification["baseline_scope"].partition("=")[2]
    chosen = rows[is_read & (rows["row_set"] == specification["row_set"])]
    temperature = float(temperature) if temperature else None
    losses = DomainLosses(chosen, base, goals, temperature=temperature, cases=cases)
    losses.vendors = vendors
    return losses


def _losses_of_each(made, specifications):
    return [(specification, made(specification)) for specification in specifications]


def _bases(of_others, basis):
    return [(specification, basis(losses)) for specification, losses in of_others()]


def _basis_of_goal(goal, margin, losses):
    stated = {"reversed": REVERSED, "moved": MOVED}
    guards = {stated[name] for name in goal.get("guards") or ()}
    if losses.signed(goal["goal"]) is not None:
        guards.add(REVERSED)  # a loss is as large where the bias is turned round, whatever bias it is
    kind = CaseLosses if losses.has_cases else ItemLosses if losses.has_items else None
    items = kind and kind(losses, goal["goal"])
    margin = float(goal["margin"]) if goal.get("margin") is not None else margin
    return Basis(losses, goal["goal"], margin, tuple(sorted(guards)), items, len(losses.arms))


def questions_on_contrasts(counts, paradigms, contrasts, vendors, framings=None, texts=None):
    """Yield the questions on each contrast of arms of each measure, of those of which somebody says what is best.

    The loss is the contrast of each LLM and vignette, squared where it decides. Where one arm is compared with a
    reference, and higher values are better without one being named, it is the distance from 1, the most that a share
    or a similarity can be; of numbers there is then no question. A bias that is turned round is as large as before, and
    one that is moved by more than the margin is not as it was: decisions that overlook that are taken back. Shares that
    rest on judges are without what these get wrong where that is known (`analysis.methods.confusion.judging_of`); else
    it counts, and no decision is that there is no difference.

    Parameters
    ----------
    counts, paradigms, contrasts : pandas.DataFrame
        As of `analysis.engine.grid.by_measure`.
    vendors : dict of str to str
        Of LLMs.
    framings, texts : pandas.DataFrame, optional
        As of `analysis.engine.grid.declared_counts`, where anything is measured from a `judgement`.

    Yields
    ------
    Question
    """
    for (_, paradigm), of_paradigm in by_measure(counts, paradigms, contrasts):
        for measured in of_paradigm:
            grids, judged = ({}, ()) if measured.has_goals else _grids(measured, framings, texts)
            grid = grids.pop(RECOMMENDED["row_set"], None)
            made = [(one, basis_of_contrast(grid(), one, vendors, judged)) for one in measured.contrasts if grid]
            made = [(contrast, basis) for contrast, basis in made if basis]
            for contrast, basis in made:
                arms = {"arm": contrast.arm, "arm_b": or_none(contrast.arm_b)}
                keys = {**measured.keys, "domain": None, "goal": BIAS, **arms}
                names = (keys[name] for name in ("paradigm", "measure", "arm", "arm_b", "instrument"))
                specification = {"switch": AS_RECOMMENDED, "row_set": RECOMMENDED["row_set"]}
                yield Question(
                    keys, paradigm, ("/".join(filter(None, names)), BIAS), True, specification,
                    replace(basis, n_alike=len(made)),
                    partial(_of_row_sets, grids, contrast, vendors, judged, len(made)),
                )  # fmt: skip


def _grids(measured, framings, texts):
    """By row set a callable that returns its grid, and the codes that say why what judges get wrong is in it."""
    if measured.measured_from != JUDGEMENT:
        return measured.grids, ()
    study, paradigm = (measured.keys[name] for name in ("study", "paradigm"))
    judging = judging_of(texts[texts["study"] == study])
    if judging.reason:
        return measured.grids, (JUDGED, judging.reason)
    accepted = framings[(framings["study"] == study) & (framings["paradigm"] == paradigm)]
    grids = {}
    for row_set, grid in measured.grids.items():
        chosen = accepted if row_set == RECOMMENDED["row_set"] else accepted[~accepted["is_flagged"]]
        grids[row_set] = cache(partial(_without_errors, grid, chosen, judging))
    return grids, ()


def _without_errors(grid, framings, judging):
    return grid().without_errors(framings, judging)


def _of_row_sets(grids, contrast, vendors, judged, n_alike):
    return [
        (
            {"switch": "row_set", "row_set": row_set},
            replace(basis_of_contrast(grid(), contrast, vendors, judged), n_alike=n_alike),
        )
        for row_set, grid in grids.items()
    ]


def basis_of_contrast(grid, contrast, vendors, judged=()):
    """Return what decisions on one contrast of arms rest on, or None where nobody says which value is without bias.

    What is measured of texts, such as a similarity, says how an answer is made and not whether it is wrong.

    Parameters
    ----------
    grid : Grid
    contrast : namedtuple
        Of a contrast and what its paradigm declares: `arm, arm_b, pairing, is_share, margin, better, reference,
        answer_kind, measured_from`.
    vendors : dict of str to str
        Of LLMs.
    judged : tuple of str
        Codes that say that what judges get wrong is in the values, and why.

    Returns
    -------
    Basis or None
    """
    arm_b = or_none(contrast.arm_b)
    best = 0.0 if arm_b is not None else best_value(contrast.better, or_none(contrast.reference), contrast.answer_kind)
    if best is None or contrast.measured_from == DESCRIBES:
        return None
    arms, put = grid.arms(contrast, best), grid.n_put_in(contrast)
    ends = {"least": -best, "most": 1.0 - best} if contrast.is_share else {}
    made = partial(_losses_of_arms, grid, contrast, arms, ends, vendors)
    losses = made(arms, put, cache(partial(_on_same_items, made, grid, contrast, arms, put)))
    margin = 0.0 if pd.isna(contrast.margin) else float(contrast.margin)
    items = ItemContrasts(grid, arms, contrast.pairing)
    most = max(best, 1.0 - best) if contrast.is_share else np.inf
    return Basis(losses, BIAS, margin, (REVERSED, MOVED, *judged), items, len(arms), most=most)


def _on_same_items(made, grid, contrast, arms, put, *pair):
    """The losses of a technique and its control on the items of each arm that an LLM answered under both, or None."""
    places = [grid.techniques.index(name) for name in pair]
    has, is_put = (
        [n[places] > 0 for n in entering(counts, contrast.pairing)] for counts in ([one.n for one in arms], put)
    )
    if all((one[0] == one[1])[one.any(axis=-1).all(axis=0)].all() for one in has):
        return None
    of_both = [
        Arm(*(np.where(one.all(axis=0), part, 0.0) for part in (arm.n, arm.total, arm.squares)))
        for arm, one in zip(arms, has, strict=True)
    ]
    return made(of_both, [np.where(one.all(axis=0), n, 0.0) for n, one in zip(put, is_put, strict=True)])


def _losses_of_arms(grid, contrast, answered, ends, vendors, arms, put, on_same_items=None):
    """The losses of arms of a contrast, of shape (n techniques, n LLMs, n items), and bounds from all that answered."""
    pairing = contrast.pairing
    by_vignette = [
        signed_contrasts(
            *(Arm(*(part[..., items] for part in (one.n, one.total, one.squares))) for one in arms), pairing=pairing
        )
        for items in grid.of_vignette
    ]
    signed = type(by_vignette[0])(
        *(_stacked([getattr(one, name) for one in by_vignette]) for name in vars(by_vignette[0]))
    )
    if contrast.measured_from == JUDGEMENT:  # what judges get wrong is alike in the trials of a text
        signed = replace(signed, noise=signed.variance)
    bounds = [
        signed_bounds(
            [Arm(one.n[..., items], one.total[..., items]) for one in answered],
            [n[..., items] for n in put],
            pairing=pairing,
            **ends,
        )
        for items in grid.of_vignette
    ]
    bounds = [_stacked(end) for end in zip(*bounds, strict=True)]
    n_put = [
        _stacked([sum(part[..., items].sum(axis=-1) for part in parts) for items in grid.of_vignette])
        for parts in (put, [n - one.n for n, one in zip(put, arms, strict=True)])
    ]
    of = (grid.llms, grid.vignettes, grid.techniques, BIAS)
    losses = DomainLosses.of_contrasts(*of, signed, bounds, n_put, on_same_items)
    losses.vendors = vendors
    return losses


def _stacked(by_vignette):
    """Arrays of techniques and LLMs, one for each vignette, as one of LLMs, vignettes and techniques."""
    return np.moveaxis(np.stack(by_vignette), (0, 1, 2), (1, 2, 0))
