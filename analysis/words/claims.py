"""What is said of published claims in words, how they are counted, and in which order those that fail are listed.

A claim is a dict: a row of `claim_checks` with the columns of its row in `published_claims`.
"""

import math
import re
from collections import Counter
from itertools import groupby

from analysis.claims import KEYS
from analysis.words.codes import listed

# by code of `recomputes` and of `holds`: what is said of one claim, and of several
RECOMPUTES = {
    "yes": ("recomputes", "recompute"),
    "no": ("does not recompute", "do not recompute"),
    "not_derivable": ("cannot be derived", "cannot be derived"),
    "not_checked": ("could not be checked", "could not be checked"),
}
HOLDS = {
    "holds": ("holds", "hold"),
    "weaker": ("weaker than printed", "are weaker than printed"),
    "contradicted": ("contradicted", "are contradicted"),
    "other_way": ("the other way, unsure", "are the other way, unsure"),
    "confounded": ("compares unlike conditions", "compare unlike conditions"),
    "not_applicable": ("is not about LLMs", "are not about LLMs"),
    None: ("not judged", "could not be judged"),
}


def _in_full(agrees, weaker, other_way):
    be = {"weaker": weaker, "contradicted": "contradicted", "other_way": other_way}
    labels = HOLDS | {code: (f"is {words}", f"are {words}") for code, words in be.items()}
    return labels | {"holds": (f"holds ({agrees})", f"hold ({agrees})"), None: ("could not be judged",) * 2}


IN_FULL = {
    "value": _in_full(
        "the analysis we recommend says the same",
        "weaker than printed (no narrow interval confirms it)",
        "elsewhere, unsure (no interval)",
    ),
    "sentence": _in_full(
        "the whole interval agrees",
        "weaker than said (only the estimate agrees)",
        "the other way, unsure (by the estimate alone)",
    ),
}
FEWER_STARS = "weaker than printed (no narrow interval confirms it, or our test gives fewer stars)"
KINDS = {"value": ("number", "numbers"), "sentence": ("sentence", "sentences")}
NO_TRIALS = "It rests on printed numbers alone: there are no trials behind it."
SOURCES = {"trials": "the recorded trials", "scores": "the recorded scores", "printed numbers": "other printed numbers"}
LABELS = {"recomputes": RECOMPUTES, "holds": HOLDS}
FAILS = {"recomputes": ("no", "not_derivable"), "holds": ("weaker", "contradicted", "other_way", "confounded")}

# by `why`, of a number and of a sentence: what is said of the recommended number (`it`)
SAID = {
    **dict.fromkeys(("as_many_stars", "read_off", "whole_interval"), (None, "{it}.")),
    **dict.fromkeys(("denied_stars", "few_llms", "fewer_stars", "read_otherwise"), ("{it}.",) * 2),
    **dict.fromkeys(("estimate_alone", "no_interval"), ("{it}, with no interval to say how sure that is.",) * 2),
    "another_bound": ("The recommended interval ends at {ends}.",) * 2,
    "interval_allows_both": ("{it}, which is not {printed}; the interval allows both.",) * 2,
    "more_stars": ("{it}, stronger evidence than is printed.",) * 2,
    "outside_interval": ("{it}.", "{it}: the whole interval contradicts {printed}."),
    "unlike_conditions": ("{it}, but that compares unlike conditions: {confounded_by}.",) * 2,
    "wide_interval": ("{it}: it could be anything in that interval.", "{it}: the interval also allows the opposite."),
}
NO_SHAPLEY = (
    "The recommended analysis takes Shapley values, which need the score of every set of fields; only their Banzhaf "
    "values were published."
)
STARS = ("at least .1", "below .1 and at least .05", "below .05 and at least .01", "below .01")  # p, by their number
# by a pattern of the quantity that a claim is compared with: how that is taken
TAKEN = {
    "abss_": "As published, over its questions,",
    "goals_disagree": "By displacement and gap, which we recommend,",
    "gain_on_own_control": "By displacement, against its own control,",
    ".*displacement": "By displacement, in which too high and too low do not cancel,",
    ".*_gap$": "By gap, which is absolute for each LLM,",
    ".*_of_llms$": "Taken of each LLM and then averaged,",
}
# by column of a specification: what is said of it where it is not the recommended one, or any
SPECIFIED = {
    "baseline_scope": ("pooled", "over the {} baseline"),
    "weighting": ("llm", "with trials weighing the same rather than LLMs"),
    "direction_weighting": ("trial", "with both directions weighing the same"),
    "baseline_pooling": ("llm", "over one baseline for all LLMs"),
    "estimator": ("mean_of_ratios", "by {}"),
    "non_null": ("final", "from trials with a first and a last answer"),
    "excluded_llm": (None, "without {}"),
    "derivation": (None, "as the {} of other numbers"),
}
COMPUTED = (
    "temperature_scope", "row_set", "baseline_scope", "weighting", "direction_weighting", "baseline_pooling",
    "estimator", "non_null", "method",
)  # fmt: skip
SPECIFICATION = (
    "quantity", "study", *KEYS, "excluded_llm", *COMPUTED, "derivation", "inputs", "inputs_are", "input_decimals",
    "recommended_quantity", "recommended_method", "recommended_inputs",
)  # fmt: skip
SHARE = 0.2  # where a claim has no margin, or one of 0: of the larger of the two numbers
MOST_OFF = 2  # numbers that are named where a document is summed up
WRITTEN_OUT = 4  # decimals to which a number is written out; a p value may have many more
UNNAMED = (None, "1", "rank", "ratio", "sign", "yes or no")  # units that a number goes without


def reason(claim):
    """Say of a claim why it does not recompute or hold, or how its paper alone has it; None where nothing is to say."""
    why, rests_on, n_llms = claim["why"], claim["rests_on"], claim["n_llms"]
    if why == "study_not_loaded":
        return f"The study {claim['study']} is not in this warehouse: import its archive."
    sign = "" if claim["comparison"] == "=" else f"{claim['comparison']} "
    printed, said = sign + _amount(claim, "published_value"), [claim["not_derivable"], claim["note"]]
    if claim["recomputes"] == "not_checked":
        said.append(_not_recorded(claim))
    if claim["recomputes"] == "no":
        source = "Its printed inputs" if rests_on == "printed numbers" else f"The {rests_on}"
        said.append(f"{source} give {_amount(claim, 'recomputed_value')}, not {printed}.")
    if claim["recomputes"] == "yes" and claim["holds"] in ("contradicted", "other_way"):
        said.append(_specification(claim))
    if why in ("estimate_alone", "no_interval") and re.search("_(low|high)$", claim["quantity"] or ""):
        why = "another_bound"
    if form := SAID.get(why, (None, None))[claim["kind"] == "sentence"]:
        said.append(form.format(it=_it(claim), printed=printed, ends=_ends(claim), **claim))
    if claim["is_of_few_llms"] and claim["holds"] in FAILS["holds"]:
        said.append(f"Tested on {'one LLM' if n_llms == 1 else f'{n_llms} LLMs'} only; do not generalise.")
    if why == "not_recommended":
        said.append(NO_SHAPLEY if rests_on == "scores" else "The recommended analysis has no such number.")
    return " ".join(filter(None, said)) or None


def _not_recorded(claim):
    if claim["llm_b"]:
        return f"The warehouse does not hold scores of both {claim['llm']} and {claim['llm_b']}."
    if claim["rests_on"] == "scores":
        return f"The warehouse holds no scores of {claim['llm'] or 'these LLMs'}."
    if claim["derivation"]:
        return "One of the claims that it derives from has no number here."
    keys, ways = (", ".join(f"{key} {claim[key]}" for key in names if claim.get(key)) for names in (KEYS, COMPUTED))
    taken = f" with {ways}" if ways else ", without a specification"
    return (
        f"The warehouse has no {claim['quantity']} of {keys or 'the whole study'}{taken}: one of these names may be "
        "wrong, or this quantity takes other keys, or other columns of a specification."
    )


def _specification(claim):
    """Say where the specification of a paper is not the recommended one."""
    parts = [
        text.format(claim[column].replace(*((" ", " and ") if column == "excluded_llm" else ("_", " "))))
        for column, (usual, text) in SPECIFIED.items()
        if claim[column] not in (None, usual) and not (column == "weighting" and claim["llm"])
    ]
    return f"The paper takes it {', '.join(parts)}." if parts else None


def _it(claim):
    """Say what the recommended number is, and of which quantity."""
    if claim["unit"] == "stars":
        number = STARS[min(int(claim["recommended_value"]), 3)]
        return f"With neighbouring targets kept together in blocks of ten, p is {number}"
    texts = (text for pattern, text in TAKEN.items() if re.match(pattern, claim["recommended_as"] or ""))
    taken = next(texts, "As recommended")
    if claim["unit"] == "yes or no":
        return f"{taken} it is {'' if claim['recommended_value'] > 0 else 'not '}so"
    low, high = (_shown(claim, f"recommended_{end}") for end in ("low", "high"))
    interval = f" ({low} to {high})" if low and high else ""
    return f"{taken} it is {'place ' * (claim['unit'] == 'rank')}{_amount(claim, 'recommended_value')}{interval}"


def _ends(claim):
    """Say where the recommended interval ends, and why there."""
    of_one = "it is of trials, and counts that the baseline is estimated too"
    of_all = "it covers LLMs that were not tested, not only new trials of the same"
    return f"{_amount(claim, 'recommended_value')}: {of_one if claim['llm'] else of_all}"


def _amount(claim, column):
    return f"{_shown(claim, column)} {unit_and_decimals(claim)[0]}".rstrip()


def _shown(claim, column):
    """Write a number to the digits that are printed, and one more where that tells it apart from them."""
    value, decimals = claim[column], claim["decimals"] or 0
    if value is None:
        return None
    if claim["unit"] == "sign":
        return "+" if value > 0 else "-" if value < 0 else "0"
    power = power_of_ten(value, decimals)
    digits = max(decimals + power, 0) + (value != round(value, max(decimals, 0)))
    return f"{value:.{digits}{'e' if power else 'f'}}"


def power_of_ten(value, decimals):
    """Return the power of ten of a value that is too small to be written out, such as a p value; of others 0."""
    is_small = decimals > WRITTEN_OUT and 0 < abs(value) < 10.0**-WRITTEN_OUT
    return math.floor(math.log10(abs(value))) if is_small else 0


def unit_and_decimals(claim):
    """Return the unit that is printed after the numbers of a claim, and how many decimals these have."""
    unit = claim["unit"]
    return "" if unit in UNNAMED else unit, max(claim["decimals"] or 0, 0)


def name_of_paper(paper):
    """Say what a paper is called: by its first author or, where nobody signed it, as its title begins.

    Parameters
    ----------
    paper : dict
        `document, title, authors`.

    Returns
    -------
    str
    """
    if not paper["authors"]:
        return re.split("[,:.]", paper["title"] or paper["document"], maxsplit=1)[0]
    return re.sub(r"^(?:\w\. ?)+", "", re.split(r",| and | & ", paper["authors"], maxsplit=1)[0])


def distinct(claims):
    """Return a list of the claims with each quantity once, however often a document prints it."""
    return [claim for claim in claims if claim["is_first_place"]]


def fails(claim):
    """Say whether something is wrong with a claim: it does not recompute, or it does not hold as it is printed."""
    return any(claim[column] in codes for column, codes in FAILS.items())


def how_far_off(claim):
    """Say how many margins lie between a printed number and what it should be.

    Returns
    -------
    float
        The larger distance of those to the recommended number, where it does not hold, and to that by the paper's
        method, where it does not recompute: in units of its margin, and where it has none of a fifth of the larger of
        the two, so that a p-value of 0.4 for 0.05 counts and a last digit does not. 0 if neither.
    """
    against = [
        claim[value]
        for column, value in (("recomputes", "recomputed_value"), ("holds", "recommended_value"))
        if claim[column] in FAILS[column] and claim[value] is not None
        # a sentence has a limit, and is off only on the wrong side of it
        if claim["kind"] == "value" or claim[column] in ("no", "contradicted", "other_way")
    ]
    return max((_margins(claim["published_value"], value, claim["margin"]) for value in against), default=0.0)


def _margins(printed, value, margin):
    unit = margin or SHARE * max(abs(printed), abs(value))
    return abs(value - printed) / unit if unit else 0.0


WRONG = (
    "Sentences that the analysis we recommend contradicts",
    "Sentences whose direction turns round, but not for certain",
    "Sentences that compare unlike conditions, so that the cause is not known",
    "Sentences whose direction holds, but that no interval confirms",
    "Sentences that the paper's own method does not give",
    "Stars of significance, or none, where our test, in which neighbouring answers are not independent, disagrees",
    "Numbers that are contradicted, and that the paper's own method does not give either",
    "Numbers that the analysis we recommend contradicts",
    "Bounds of intervals that are too narrow, or elsewhere",
    "Numbers that are elsewhere, but by an estimate without an interval",
    "Numbers that compare unlike conditions, so that the cause is not known",
    "Numbers that no narrow interval confirms",
    "Numbers that the paper's own method does not give",
    "Numbers that cannot be derived from what is recorded",
    "Numbers that are contradicted, but off by less than the margin that matters",
    "Counts and rules that do not recompute, or cannot be derived",
    "Nothing is wrong",
)


def _place(claim):
    """Return where in `WRONG` a claim belongs: at the first that fits."""
    holds, does_not_recompute = claim["holds"], claim["recomputes"] == "no"
    if not fails(claim):
        return len(WRONG) - 1
    if claim["describes"] != "effect":
        return 15
    if claim["unit"] == "stars" and holds in FAILS["holds"]:
        return 5
    if claim["kind"] == "sentence":
        return {"contradicted": 0, "other_way": 1, "confounded": 2, "weaker": 3}.get(holds, 4)
    if holds == "contradicted":
        if how_far_off(claim) < 1:
            return 14
        if claim["why"] == "another_bound":
            return 8
        return 6 if does_not_recompute else 7
    return {"other_way": 9, "confounded": 10, "weaker": 11}.get(holds, 12 if does_not_recompute else 13)


def in_order(claims):
    """Sort claims by what matters: by what is wrong, as `WRONG` lists it, those that are farther off first."""
    return sorted(claims, key=lambda claim: (_place(claim), -how_far_off(claim)))


def by_what_is_wrong(claims):
    """Yield what is wrong in words, and a list of the claims of which it is so, as `in_order` sorts them."""
    for place, group in groupby(in_order(claims), key=_place):
        yield WRONG[place], list(group)


def summed_up(claims):
    """Say how many claims can be had again, and how many are so, each quantity counted once.

    Returns
    -------
    list of str
        On numbers, on sentences, and one on each document that rests on printed numbers alone.
    """
    summary, alone = [], printed_alone(claims)
    values, sentences = (
        [claim for claim in claims if claim["kind"] == kind and claim["document"] not in alone] for kind in KINDS
    )
    if values:
        n = len(again := [claim for claim in distinct(values) if claim["recomputes"] == "yes"])
        sources = [words for one, words in SOURCES.items() if any(claim["rests_on"] == one for claim in again)]
        them = "it" if n == 1 else "them"
        given = f": the paper's own method gives {them} from {listed(sources, 'or')}" if n else ""
        summary.append(f"Of {_printed(values, 'printed ')}, {n:,} {RECOMPUTES['yes'][n != 1]}{given}.")
        if judged := [claim for claim in distinct(values) if claim["holds"] != "not_applicable"]:
            labels = dict(IN_FULL["value"])
            if any(claim["holds"] == "weaker" and claim["unit"] == "stars" for claim in judged):
                labels["weaker"] = (f"is {FEWER_STARS}", f"are {FEWER_STARS}")
            counted = _counts(judged, "holds", labels, _what_is_contradicted(judged))
            summary.append(f"Of the {len(judged):,} that are about LLMs, {listed(counted)}.")
    if sentences := distinct(sentences):
        labels = dict(IN_FULL["sentence"])
        if any(claim["holds"] == "holds" and claim["how_sure"] == "exact" for claim in sentences):
            labels["holds"] = IN_FULL["value"]["holds"]
        summary.append(f"Of {_printed(sentences, 'printed ')}, {listed(_counts(sentences, 'holds', labels))}.")
    return summary + [_of_printed_alone(document, claims) for document in alone]


def printed_alone(claims):
    """Return the documents of claims none of which rests on trials or scores, in order: nobody published any."""
    with_data = {claim["document"] for claim in claims if claim["rests_on"] in ("trials", "scores")}
    return sorted({claim["document"] for claim in claims} - with_data)


def _of_printed_alone(document, claims):
    """Say what the numbers that a document prints say of each other, why others say nothing, and what is off most."""
    its = [claim for claim in claims if claim["document"] == document]
    said = []
    for kind in KINDS:
        if of_kind := [claim for claim in its if claim["kind"] == kind]:
            counted = _counts(distinct(of_kind), "recomputes", RECOMPUTES)
            said.append(f"{_printed(of_kind)}, of which {listed(counted)}")
    if judged := [claim for claim in distinct(its) if claim["holds"] not in (None, "not_applicable")]:
        counted = _counts(judged, "holds", IN_FULL["sentence"])
        said.append(f"of the {len(judged):,} that can be judged {listed(counted)}")
    told = [f"Document {document} rests on printed numbers alone: {'; '.join(said)}."]
    if why := Counter(filter(None, (claim["not_derivable"] for claim in distinct(its)))).most_common():
        reasons = [
            f"{reason[0].lower()}{reason[1:].removesuffix('.')}{f' ({n:,})' if len(why) > 1 else ''}"
            for reason, n in why
        ]
        total = sum(n for _, n in why)
        told.append(f"Why {total:,} cannot be derived: {'; '.join(reasons)}.")
    off = [claim for claim in distinct(its) if claim["kind"] == "value" and claim["recomputes"] == "no"]
    if off := sorted(off, key=how_far_off, reverse=True)[:MOST_OFF]:
        those = (
            f"{claim['statement']} ({claim['location']}): printed {_amount(claim, 'published_value')}, but the other "
            f"printed numbers give {_amount(claim, 'recomputed_value')}"
            for claim in off
        )
        told.append(f"Farthest off: {'; '.join(those)}.")
    return " ".join(told)


def _printed(claims, how=""):
    """Say how many numbers or sentences there are, and in how many places."""
    n, kind = len(distinct(claims)), claims[0]["kind"]
    places = f" (in {len(claims):,} places)" if len(claims) > n else ""
    return f"{n:,} {how}{KINDS[kind][n > 1]}{places}"


def _what_is_contradicted(values):
    """Say which of the contradicted numbers matter less."""
    contradicted = [claim for claim in values if claim["holds"] == "contradicted"]
    n_little = sum(how_far_off(claim) < 1 for claim in contradicted)
    n_bounds = sum(claim["why"] == "another_bound" and how_far_off(claim) >= 1 for claim in contradicted)
    counted = {"as bounds of intervals": n_bounds, "by less than the margin": n_little}
    beside = [f"{n:,} {words}" for words, n in counted.items() if n]
    return f" ({listed(beside)})" if beside else ""


def _counts(claims, column, labels, of_contradicted=""):
    counted = Counter(claim[column] for claim in claims)
    return [
        f"{counted[code]:,} {labels[code][counted[code] != 1]}" + (of_contradicted if code == "contradicted" else "")
        for code in labels
        if counted[code]
    ]


def on_versions(chosen):
    """Yield how many claims would change on the newest version of a study."""
    counted = distinct(chosen)
    for study in dict.fromkeys(claim["study"] for claim in counted if claim["newest_recomputes"]):
        beside = [claim for claim in counted if claim["study"] == study and claim["newest_recomputes"]]
        changed = [claim for claim in beside if any(claim[column] != claim[f"newest_{column}"] for column in LABELS)]
        labels = " and ".join(sorted({claim["version"] for claim in beside}))
        documents = " and ".join(sorted({claim["document"] for claim in beside}))
        many = f"{len(changed):,} of {len(beside):,} claims" if changed else "none of the claims"
        yield (
            f"Checked on version {labels} of {study}, which document {documents} used; on the newest version, {many} "
            f"would change{': ' if changed else ''}{', '.join(_moves(changed))}."
        )


def on_missing_versions(chosen):
    """Yield which versions that documents are about are not there at all."""
    missing = {
        (claim["document"], claim["version"], claim["study"])
        for claim in chosen
        if claim["version"] and not claim["has_version"] and claim["recomputes"] not in ("not_checked", "not_derivable")
    }
    for document, label, study in sorted(missing):
        yield (
            f"Document {document} is about version {label} of {study}, which this warehouse does not have: its claims "
            "were compared with what is there. To compare them with that version, import its archive."
        )


def _moves(changed):
    """Say from what to what claims would change, the most frequent first."""
    moves = Counter(
        (labels[claim[column]][0], labels[claim[f"newest_{column}"]][0])
        for claim in changed
        for column, labels in LABELS.items()
        if claim[column] != claim[f"newest_{column}"]
    )
    return [f"{n:,} from '{was}' to '{would_be}'" for (was, would_be), n in moves.most_common()]


def summary(chosen, downloads):
    """Return a few sentences on how many claims recompute and hold, or on how to load what they are about.

    Parameters
    ----------
    chosen : list of dict
        Claims with their verdicts.
    downloads : dict of str to str
        What `bais import --download` calls the archives that it can fetch, by study.

    Returns
    -------
    list of str
    """
    if any(claim["recomputes"] in ("yes", "no") for claim in chosen):
        return summed_up(chosen)
    studies = sorted({claim["study"] for claim in chosen if claim["study"]})
    fetching = " or ".join(f"`bais import --download {downloads[study]}`" for study in studies if study in downloads)
    return [
        f"None of the {len(distinct(chosen)):,} published claims can be checked: this warehouse lacks trials of the "
        f"study {' and '.join(studies)}. To check them, import its archive with `bais import DIR`"
        f"{f', or fetch it with {fetching}' if fetching else ''}, then run `bais build`."
    ]
