"""What each technique is compared with, and which comparisons share the confidence of their decisions."""

from typing import NamedTuple

from analysis.counts import CONTROL, study_without_version


class Comparison(NamedTuple):
    """A technique and what it is compared with, if that was asked; `kind` is `control`, `placebo` or `confounded`."""

    technique: str
    control: str | None
    kind: str
    is_confounded: bool


def comparisons(study, place, present, ranked, controls):
    """Say what each ranked technique is compared with, of what was asked.

    Parameters
    ----------
    study, place : str
        The place is a domain or, where there is none, a paradigm.
    present, ranked : collection of str
        The techniques that were answered, and those that are decided on.
    controls : pandas.DataFrame
        `study, domain, technique, control, comparison`: null stands for any. The most specific row counts of which the
        control was asked.

    Returns
    -------
    list of Comparison
        A technique whose own control is not `no_technique` is also compared with that, as `confounded`, since it was
        asked with another prompt.
    """
    rows = controls[controls["control"].isin(list(present))].astype(object).where(controls.notna(), None)
    place = {"study": study_without_version(study), "domain": place}
    pairs = []
    for technique in sorted(set(ranked) & set(present)):
        keys = place | {"technique": technique}
        own = {}
        for row in rows.to_dict("records"):
            if all(row[key] in (None, keys[key]) for key in keys) and row["control"] != technique:
                n_named = sum(row[key] is not None for key in keys)
                own[row["comparison"]] = max(own.get(row["comparison"], (-1, "")), (n_named, row["control"]))
        control = own.get("control", (-1, None))[1]
        is_confounded = control not in (None, CONTROL)
        pairs.append(Comparison(technique, control, "control", is_confounded=False))
        if is_confounded and CONTROL in present:
            pairs.append(Comparison(technique, CONTROL, "confounded", is_confounded=True))
        if "placebo" in own:
            pairs.append(Comparison(technique, own["placebo"][1], "placebo", is_confounded=is_confounded))
    return pairs


class Family(NamedTuple):
    """How many rows share the confidence of their decisions: those over vendors, and those of single LLMs."""

    n_over_vendors: int
    n_of_llms: int


def placebos(study, controls):
    """Return the techniques that are placebos.

    Parameters
    ----------
    study : str
    controls : pandas.DataFrame
        As of `comparisons`.

    Returns
    -------
    set of str
    """
    is_of_study = controls["study"].isna() | (controls["study"] == study_without_version(study))
    return {*controls.loc[is_of_study & (controls["comparison"] == "placebo"), "control"]}


def compared(basis, pairs, *, among=None):
    """Return the gains of each comparison, and how many rows share the confidence.

    Parameters
    ----------
    basis : analysis.engine.questions.Basis
    pairs : list of Comparison
    among : collection of str, optional
        The LLMs that enter; all by default.

    Returns
    -------
    gains : dict of Comparison to Gains
        Of those with a control.
    family : Family
        Over vendors the comparisons of which an LLM has a gain and which are decided on, against a control or a
        placebo: nothing is on what is confounded. Of single LLMs each of those that are compared with a control: that
        an LLM gains on a placebo too is asked of a gain on its control, so that a false `use` is no likelier than a
        false gain on one of the two (Berger 1982), and nothing is said of the placebo alone. Contrasts of arms of one
        measure share it: as many times as there are.

    References
    ----------
    Berger (1982), Multiparameter hypothesis testing and acceptance sampling, Technometrics 24(4), 295-300.
    """
    with_control = [pair for pair in pairs if pair.control]
    gains = {
        pair: basis.losses.compared(basis.goal, pair.technique, pair.control, among=among) for pair in with_control
    }
    decided = {pair: by_llm for pair, by_llm in gains.items() if by_llm.llms and not pair.is_confounded}
    n_of_llms = sum(len(one.llms) for pair, one in decided.items() if pair.kind == "control")
    return gains, Family(basis.n_alike * len(decided), basis.n_alike * n_of_llms)
