"""`bais recommend --paradigm`: how large a bias is, and which technique makes it smaller."""

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from analysis.post_hoc import counted, sentences
from bais import terminal
from bais.bias_words import (
    arms,
    best,
    difference,
    in_unit,
    is_held_against_best,
    is_share,
    level,
    meaning,
    named,
    possible,
    what_is_best,
    with_unit,
    without_mirrors,
)
from bais.sources import said_of_unread, unread_lines
from bais.terminal import fixed, lay_out, say, say_json
from bais.warehouse import llm_named, records, refuse_unknown, values
from ingest.warehouse import UserError, printable, warehouse_path

NO_TECHNIQUE = "no_technique"
ASKED = """
select distinct study, paradigm, measure from inference.outcome_contrasts
where study = coalesce($study, study) and n_trials > 0 order by all
"""
# what was asked and put to a measure, and by none of its trials answered
UNANSWERED = """
select study, measure, count(*) as n_trials, list(distinct reason order by reason) as reasons
from marts.outcomes
where
    paradigm = $paradigm and measure = coalesce($measure, measure) and study = coalesce($study, study)
group by study, measure
having count(value) = 0
order by study, measure
"""
LLMS = """
select distinct llm from inference.outcome_contrasts
where study = $study and paradigm = $paradigm and n_trials > 0
"""
SOURCES = """
select distinct source from marts.trials where study = $study and paradigm = $paradigm and role is null order by source
"""
# what the paradigm says of a measure, and what the technique is called
IN_WORDS = """
left join (
    select study, paradigm, measure, better, reference, answer_kind, counted_labels, measured_from, is_leading
    from staging.stg_paradigms
) using (study, paradigm, measure)
left join (select technique, display_name from seeds.techniques) using (technique)
"""
WORDS = """better, reference, answer_kind, counted_labels, measured_from, is_leading,
    coalesce(display_name, technique) as name"""
LEADING = """
select measure from staging.stg_paradigms where study = $study and paradigm = $paradigm and is_leading order by measure
"""
# of all LLMs with an interval over LLMs and items; of one, over its items
BIASES = f"""
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, value, low, high, p_holm, n_tests, sd_of_items,
    p_items_alike, n_llms, n_items, n_trials, reason, {WORDS}
from inference.outcome_contrasts {IN_WORDS}
where
    study = $study and paradigm = $paradigm and measure = coalesce($measure, measure)
    and case
        when $llm is null then is_headline
        else llm = $llm and level = 'items' and row_set = 'accepted' and weighting = 'llm'
    end
order by not is_leading, measure, instrument, arm, arm_b, technique != 'no_technique', technique
"""
DECISIONS = f"""
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, control, comparison, loss, loss_control, gain,
    gain_low, gain_high, gain_asked_low, gain_asked_high, decision, decision_asked, certainty, n_reversed, margin,
    n_llms, n_trials, reason, {WORDS}
from inference.decisions {IN_WORDS}
where
    study = $study and paradigm = $paradigm and measure = coalesce($measure, measure) and comparison = 'control'
    and llm is not distinct from $llm
order by not is_leading, measure, instrument, arm, arm_b, technique
"""
PREDICTIONS = """
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, control, expected_loss, gain, gain_low,
    gain_high, p_better_than_control, n_llms, reason
from inference.predictions
where
    study = $study and paradigm = $paradigm and measure = coalesce($measure, measure)
    and llm is not distinct from $llm
order by measure, instrument, arm, arm_b, technique
"""
# the share of changes without what the errors of judges add
CORRECTED = """
select phi_corrected, phi_corrected_low as low, phi_corrected_high as high from marts.framing_changes
where
    study = $study and paradigm = $paradigm and technique = 'no_technique' and llm is not distinct from $llm
    and phi_corrected is not null
"""
# in how many specifications a decision is the same, and what was turned in those in which it is another
SENSITIVITY = """
select measure, instrument, arm, arm_b, technique, any_value(n_same_decision) as n_same_decision,
    any_value(n_specifications) as n_specifications, any_value(carried_by) as carried_by,
    coalesce(list([switch, case switch when 'row_set' then row_set else refusals end] order by switch, refusals)
        filter (where decision != recommended and switch != 'llm_left_out'), []) as others
from (
    select *, any_value(decision) filter (where is_recommended)
        over (partition by measure, instrument, arm, arm_b, technique, control) as recommended
    from inference.multiverse
    where
        study = $study and paradigm = $paradigm and measure = coalesce($measure, measure) and comparison = 'control'
)
group by measure, instrument, arm, arm_b, technique
order by measure, instrument, arm, arm_b, technique
"""
CHANGES = """
from marts.post_hoc_changes where study = $study and paradigm = $paradigm and coalesce(llm = $llm, $llm is null)
order by all
"""
N_ASKED = """
select coalesce(sum(n_asked), 0)::bigint from marts.attrition
where study = $study and paradigm = $paradigm and coalesce(llm = $llm, $llm is null)
"""
ELSEWHERE = "another measure or another comparison of arms of this bias says the opposite"
DESCRIBED = "Measures of texts describe answers, and nothing is decided on them"
EITHER = "either arm"  # a gain is a difference of two losses, also where there is one arm
CAVEATS = {
    "attrition_could_reverse": "Missing answers could reverse what is said of {}.",
    "attrition_could_change": "Had every trial been answered, the decision on {} could be another.",
    "judge_errors_counted": (
        "What judges get wrong is in {}: their errors add changes where there are none, and make gains look smaller. "
        "`bais tables marts.framing_changes` says how large the share is without them (phi_corrected)."
    ),
    "bias_moved": "{} moves the bias of an LLM by more than the margin, so it is not called no difference.",
}
SURE = 0.05  # a p value below which a bias is said to be shown, and items to differ
SIMULATED = "SIMULATED respondents, no LLM was asked."
PARTLY_SIMULATED = "Some respondents are SIMULATED and no LLMs."


class Shown(NamedTuple):
    """Of whom the table speaks: one LLM that was asked, one that was not (`is_foretold`), or else all that were."""

    llm: str | None
    is_foretold: bool
    noun: str

    @property
    def whom(self):
        """The LLM that the chance of a smaller bias is of."""
        return printable(self.llm) if self.llm else f"one more {self.noun} that nobody asked"


def recommend_on_bias(
    warehouse, paradigm: str, measure: str | None, study: str | None, llm: str | None, as_json: bool
) -> None:
    """Say how large a bias is without a technique, and what each technique does to it."""
    asked = records(warehouse, ASKED, {"study": study})
    if not any(row["paradigm"] == paradigm and measure in (None, row["measure"]) for row in asked):
        _refuse_unanswered(warehouse, paradigm, measure, study)
    refuse_unknown(
        "paradigm",
        paradigm,
        dict.fromkeys(row["paradigm"] for row in asked),
        none="none that was asked and answered yet",
    )
    studies = list(dict.fromkeys(row["study"] for row in asked if row["paradigm"] == paradigm))
    if len(studies) > 1:
        raise UserError(f"{printable(paradigm)} is in several studies: say which with --study, of {', '.join(studies)}")
    refuse_unknown("measure", measure, [row["measure"] for row in asked if row["paradigm"] == paradigm])
    place = {"study": studies[0], "paradigm": paradigm}
    llms = values(warehouse, LLMS, place)
    llm = llm and llm_named(warehouse, llm, set(llms) - {None})
    is_asked = llm is None or llm in llms
    keys = place | {"measure": measure, "llm": llm if is_asked else None}
    biases, decisions, predictions = (records(warehouse, query, keys) for query in (BIASES, DECISIONS, PREDICTIONS))
    sensitivity = records(warehouse, SENSITIVITY, place | {"measure": measure})
    sources = values(warehouse, SOURCES, place)
    unread = unread_lines(warehouse, studies[0])
    trials = place | {"llm": keys["llm"]}
    changes = counted(records(warehouse, CHANGES, trials), *values(warehouse, N_ASKED, trials))
    if as_json:
        say_json(
            {**place, "llm": llm, "is_asked": is_asked, "sources": sources, "biases": biases, "decisions": decisions,
             "predictions": predictions, "sensitivity": sensitivity, "unread_lines": unread,
             "post_hoc_changes": changes}
        )  # fmt: skip
        return
    noun = _noun(sources)
    if "simulated" in sources:
        say(SIMULATED if sources == ["simulated"] else PARTLY_SIMULATED)
    if llm and not is_asked:
        say(f"{printable(llm)} was not asked: what follows is of the {noun}s that were, and of one more like them.")
    for sentence in _sentences(warehouse, biases, noun, keys):
        say(sentence)
    print()
    shown = Shown(llm if is_asked else None, is_foretold=not is_asked, noun=noun)
    _print_techniques(biases, decisions, predictions, shown)
    print()
    for note in _notes(biases, decisions, sensitivity, shown):
        say(note)
    whose = f" of {printable(keys['llm'])}" if keys["llm"] else ""
    for sentence in sentences(changes, lambda value, *_: value and f"{value:,}", printable, whose):
        say(sentence)
    for sentence in said_of_unread(unread):
        say(sentence)
    say(f"Study: {studies[0]}. Warehouse: {warehouse_path()}")


def _refuse_unanswered(warehouse, paradigm, measure, study):
    """Say of a paradigm or measure that was asked how many trials had no usable answer, and what shows them."""
    found = records(warehouse, UNANSWERED, {"paradigm": paradigm, "measure": measure, "study": study})
    if not found:
        return
    said = "; ".join(
        f"{printable(of['measure'])} of study {printable(of['study'])} in {of['n_trials']:,} trials, none with a "
        f"usable answer ({printable(', '.join(filter(None, of['reasons'])))})"
        for of in found
    )
    raise UserError(
        f"{printable(paradigm)} was asked, and nothing can be compared: {said}. `bais trials --study "
        f"{printable(found[0]['study'])}` shows what was replied"
    )


def _sentences(warehouse, biases, noun, keys):
    """Say how large each bias is without a technique, the leading one first, and once of two that say the same."""
    from analysis.advice import listed

    different, mirrors = without_mirrors(biases)
    leading = list(dict.fromkeys(bias["measure"] for bias in different if bias["is_leading"]))
    for is_leading, of_kind in groupby(different, key=itemgetter("is_leading")):
        if leading and not is_leading:
            leads, them = ("leads", "it") if len(leading) == 1 else ("lead", "them")
            yield f"{listed(leading)} {leads}: headlines speak of {them} alone. The other measures follow."
        for bias in of_kind:
            if bias["technique"] == NO_TECHNIQUE:
                yield _sentence(bias, noun)
                if bias["measured_from"] == "judgement":
                    yield _corrected(records(warehouse, CORRECTED, keys))
    for measure, other in mirrors.items():
        yield f"{measure} says the same as {other}: what it gains, the other loses."


def headlines_on_biases(warehouse, study: str) -> list[str]:
    """Say of each paradigm of a study in a few sentences how large the bias is and which technique helps."""
    return [
        f"{paradigm}: "
        f"{_headline(*(records(warehouse, query, keys) for query in (BIASES, DECISIONS, LEADING)), noun)} "
        f"`bais recommend --paradigm {printable(paradigm)}` says more."
        for paradigm, keys, noun in _asked(warehouse, study)
    ]


def _asked(warehouse, study):
    """Yield each paradigm of a study with what picks its rows, and what those who answered are called."""
    for paradigm in dict.fromkeys(row["paradigm"] for row in records(warehouse, ASKED, {"study": study})):
        place = {"study": study, "paradigm": paradigm}
        # of one LLM that was asked alone, what its own items say
        llms = [llm for llm in values(warehouse, LLMS, place) if llm]
        alone = llms[0] if len(llms) == 1 else None
        yield paradigm, place | {"measure": None, "llm": alone}, _noun(values(warehouse, SOURCES, place))


def on_a_page(warehouse, study: str) -> tuple[list[dict], list[dict]]:
    """Return what a page says of each paradigm of a study, and the rows that it shows.

    Of the first, each row has a `paradigm`, its `headline`, `sentences` on each bias, `notes` beneath the table, and
    the techniques that its leading measure says to `use`, to `avoid`, or `either` by comparison; of the second, each
    has a bias with a technique beside what is decided and foretold of that technique.
    """
    said, shown = [], []
    for paradigm, keys, noun in _asked(warehouse, study):
        biases, decisions, predictions, leading, sensitivity = (
            records(warehouse, query, keys) for query in (BIASES, DECISIONS, PREDICTIONS, LEADING, SENSITIVITY)
        )
        notes = _notes(biases, decisions, sensitivity, Shown(keys["llm"], is_foretold=False, noun=noun))
        said.append(
            {
                "study": study,
                "paradigm": paradigm,
                "noun": noun,
                "headline": _headline(biases, decisions, leading, noun),
                **_decided(decisions),
                "sentences": list(_sentences(warehouse, biases, noun, keys)),
                "notes": list(notes),
            }
        )
        different, _ = without_mirrors(biases)
        for bias in different:
            decision, prediction = _of(bias, decisions), _of(bias, predictions)
            column = "decision_asked" if keys["llm"] else "decision"
            shown.append(
                bias
                | {
                    "of": f"{with_unit(bias)}: {arms(bias)}",
                    "is_share": is_share(bias),
                    "control": decision and decision["control"],
                    "gain": decision and decision["gain"],
                    "gain_low": decision and decision["gain_asked_low" if keys["llm"] else "gain_low"],
                    "gain_high": decision and decision["gain_asked_high" if keys["llm"] else "gain_high"],
                    "decision": decision and decision[column],
                    "p_better_than_control": prediction and prediction["p_better_than_control"],
                }
            )
    return said, shown


def _noun(sources):
    """Return what those who answered are called: LLMs, unless all are simulated."""
    return "respondent" if sources == ["simulated"] else "LLM"


def _headline(biases, decisions, leading, noun):
    """Say by the leading measure the clearest bias of a paradigm without a technique, and what helps against one."""
    told = [bias for bias in biases if bias["is_leading"]] if leading else biases  # none leads of those that describe
    alone = [bias for bias in told if bias["technique"] == NO_TECHNIQUE and bias["value"] is not None]
    alone, _ = without_mirrors(alone)
    if not alone:
        by = f" by {' or '.join(of['measure'] for of in leading)}" if leading else ""
        return f"no {noun} has answers without a technique that can be compared{by}."
    # of what is measured without a value to hold it against, no mean is a bias
    held = [bias for bias in alone if is_held_against_best(bias)]
    sure = [bias for bias in held if bias["low"] is not None]
    shown = [bias for bias in sure if _is_shown(bias)]
    clearest = max(sure or held or alone, key=_clearness)
    said = [f"{_size(clearest)} ({_rests_on(clearest, noun)})"]
    if len(held) > 1 and sure:
        said.append(f"The data show a bias in {len(shown)} of {len(held)} comparisons; this one is the clearest")
    elif sure:
        said.append("This is a bias" if shown else "The data cannot tell this from no bias")
    elif held:
        said.append(f"How sure that is cannot be said: {_unsure(clearest, noun)}")
    if clearest["llm"]:
        said.append(f"Only one {noun} was asked, {printable(clearest['llm'])}: this says nothing of others")
    return f"{'. '.join([*said, _helpers(decisions) if leading else DESCRIBED])}."


def _clearness(bias):
    return abs(bias["value"]) / ((bias["high"] - bias["low"]) or 1 if bias["low"] is not None else 1)


def _size(bias):
    """Say in the words of the measure how large a bias is without a technique."""
    where = f"in {bias['arm']} than in {bias['arm_b']}"
    if bias["arm_b"] is None:
        mean = level(bias, bias["value"] + (bias["reference"] or 0.0))
        return f"without a technique {meaning(bias)} is {mean}, where {what_is_best(bias)}"
    if f"{abs(bias['value']):.3g}" == "0":
        return f"without a technique {meaning(bias)} is the same in {bias['arm']} and in {bias['arm_b']}"
    side = "higher" if bias["value"] > 0 else "lower"
    return f"without a technique {meaning(bias)} is {difference(bias, bias['value'])} {side} {where}"


def _rests_on(bias, noun):
    """Say within which bounds a bias lies, and how many LLMs and items it rests on."""
    n_llms, n_items = bias["n_llms"], bias["n_items"]
    bounds = "" if bias["low"] is None else f"95 % interval {_bounds(bias)}; "
    return f"{bounds}{n_llms} {noun}{'s' * (n_llms != 1)}, {n_items} item{'s' * (n_items != 1)}"


def _bounds(bias):
    """Write the interval of a difference, or of the mean of an only arm."""
    if bias["arm_b"] is None:
        ends = (level(bias, possible(bias, bias[end]) + (bias["reference"] or 0.0)) for end in ("low", "high"))
    else:
        ends = (fixed(in_unit(bias, possible(bias, bias[end])), "+.3g") for end in ("low", "high"))
    return " to ".join(ends)


def _decided(decisions):
    """Return the techniques that the leading measure says to use, to avoid, or the one here and the other there.

    Of one LLM that was asked alone, it is what is decided for that one.
    """
    use, avoid = (
        {
            of["name"]
            for of in decisions
            if of["is_leading"] and of["decision_asked" if of["llm"] else "decision"] == word
        }
        for word in ("use", "avoid")
    )
    return {"use": sorted(use - avoid), "avoid": sorted(avoid - use), "either": sorted(use & avoid)}


def _helpers(decisions):
    """Say what to use and to avoid by the leading measure."""
    decisions = [of for of in decisions if of["is_leading"]]
    decided = _decided(decisions)
    said = [f"{word} {', '.join(decided[word])}" for word in ("use", "avoid") if decided[word]]
    said += (
        [f"{', '.join(decided['either'])} helps in one comparison and harms in another"] if decided["either"] else []
    )
    turned = {of["name"] for of in decisions if "bias_reversed" in _codes(of)}.difference(*decided.values())
    said += [f"{name} turns the bias round, and is not recommended" for name in sorted(turned)]
    if not decisions:
        return "No technique was asked"
    found = "; ".join(said) or "no technique is shown to make it better or worse"
    return found[0].upper() + found[1:]


def _sentence(bias, noun):
    if bias["value"] is None:
        where = "" if bias["arm_b"] is None else f" in {bias['arm']} and in {bias['arm_b']}"
        who = printable(bias["llm"]) if bias["llm"] else f"no {noun}"
        has = "has no answers" if bias["llm"] else "has answers"
        return f"{named(bias)}: {who} {has} without a technique{where} that can be compared."
    said = f"{named(bias)}: {_size(bias)}"
    if bias["low"] is None:
        return f"{said}. How sure that is cannot be said: {_unsure(bias, noun)}."
    of_what = " of the difference" if bias["arm_b"] is not None else ""
    said = f"{said} (95 % interval{of_what} {_bounds(bias)})"
    if bias["arm_b"] is None:
        return f"{said}, for {_like(bias, noun)}.{_of_items(bias)}"
    shows = "there is a bias" if _is_shown(bias) else "the data cannot tell it from no bias"
    return f"{said}: {shows}, for {_like(bias, noun)}.{_by_chance(bias)}{_of_items(bias)}"


def _holds_none(bias):
    return bias["low"] <= 0 <= bias["high"]


def _is_shown(bias):
    """Whether the data show a bias, beside all the comparisons of its measure that are tested at once."""
    return not _holds_none(bias) and (bias["p_holm"] is None or bias["p_holm"] < SURE)


def _by_chance(bias):
    """Say of an interval that leaves 0 out why that shows no bias."""
    if _is_shown(bias) or _holds_none(bias):
        return ""
    return (
        f" Its interval leaves 0 out, but of {bias['n_tests']} comparisons that are tested at once one may do so by "
        f"chance (p, by Holm, is {bias['p_holm']:.2g})."
    )


def _corrected(found):
    """Say how large a share that rests on judges is without their errors, or that these are in it."""
    if not found:
        return "What judges get wrong is in this share: it is not known well enough how often they err to take it off."
    (of,) = found
    bounds = "" if of["low"] is None else f" (95 % interval {100 * of['low']:.3g} % to {100 * of['high']:.3g} %)"
    return f"Without what judges get wrong, this share is {100 * of['phi_corrected']:.3g} %{bounds}."


def _of_items(bias):
    """Say that items differ in a bias, of which the mean over them says nothing."""
    if bias["p_items_alike"] is None or bias["p_items_alike"] >= SURE:
        return ""
    cancels = ", so opposite biases of items may cancel in this mean" if _holds_none(bias) else ""
    return f" Items differ in it (standard deviation {difference(bias, bias['sd_of_items'])}){cancels}."


def _like(bias, noun):
    """Say of whom an interval speaks."""
    if bias["llm"]:
        return f"{printable(bias['llm'])} and items like the {bias['n_items']} asked"
    return f"{noun}s and items like those asked ({bias['n_llms']} {noun}s, {bias['n_items']} items)"


def _unsure(bias, noun):
    """Say why the mean over LLMs has no interval."""
    n_llms = bias["n_llms"]
    return {
        "too_few_llms": f"only {n_llms} {noun}{' was' if n_llms == 1 else 's were'} asked (five are needed)",
        "one_item": "only one item was asked in an arm",
        "zero_variance": f"the answers of all {noun}s on all items are alike",
    }[_codes(bias)[0]]


def _print_techniques(biases, decisions, predictions, shown):
    """Print each bias without a technique and with each, and what is decided about the technique."""
    better = "improved\nby"
    heads = [
        "measure", "arms", "technique", "difference (95 % interval)", "p, by\nHolm",
        f"decision on\nthis {shown.noun}" if shown.llm else "decision",
        f"{better}, in one\nmore {shown.noun}" if shown.is_foretold else better,
        f"P(better) in\n{'this' if shown.llm else 'one more'} {shown.noun}",
        "reversed" if shown.llm else f"reversed in\n{shown.noun}s",
    ]  # fmt: skip
    rows = [_row(bias, _of(bias, decisions), _of(bias, predictions), shown) for bias in biases]
    kept = [n for n in range(len(heads)) if n < 4 or any(row[n] is not None for row in rows)]
    right = [kept.index(n) for n in (3, 4, 6, 7, 8) if n in kept]
    spare = [kept.index(n) for n in (8, 7, 4, 3) if n in kept]
    heads, rows = [heads[n] for n in kept], [[row[n] for n in kept] for row in rows]
    print(lay_out(heads, rows, width=terminal.terminal_width(), null="", right=right, spare=spare))


def _of(bias, rows):
    """Return the row on the technique and contrast of a bias."""
    keys = ("measure", "instrument", "arm", "arm_b", "technique")
    return next((of for of in rows if all(of[key] == bias[key] for key in keys)), None)


def _row(bias, decision, prediction, shown):
    from analysis.advice import DECISIONS as WORDS
    from analysis.advice import probability

    said = [None] * 4
    if decision:
        better = prediction and prediction["p_better_than_control"]
        n_reversed = decision["n_reversed"]
        is_reversed = n_reversed if n_reversed is None or not shown.llm else "yes" if n_reversed else "no"
        is_reversed = is_reversed if bias["arm_b"] is not None else None  # an only arm points nowhere
        said = [
            WORDS[decision["decision_asked" if shown.llm else "decision"]],
            _interval(bias | {"arm_b": EITHER}, *_gained(decision, prediction, shown)),
            None if better is None else probability(better),
            is_reversed,
        ]
    p_holm = None if bias["p_holm"] is None else probability(bias["p_holm"])
    found = _interval(bias, *(bias[of] for of in ("value", "low", "high")))
    return [with_unit(bias), arms(bias), bias["name"], found, p_holm, *said]


def _gained(decision, prediction, shown):
    """Return by how much a technique improves whom the table speaks of, with its interval."""
    if shown.is_foretold:
        found, low, high = prediction or {"gain": None, "gain_low": None}, "gain_low", "gain_high"
    elif shown.llm:
        found, low, high = decision, "gain_asked_low", "gain_asked_high"
    else:
        found, low, high = decision, "gain_low", "gain_high"
    return found["gain"], found[low], found.get(high)


def _notes(biases, decisions, sensitivity, shown):
    """Say below the table what its columns mean and how sure it is."""
    from analysis.advice import listed

    if any(bias["p_holm"] is not None for bias in biases):
        yield (
            "p, by Holm: how probable a bias at least so large is by chance if there is none, made larger for all the "
            "comparisons of the measure that are tested at once."
        )
    if any(bias["measured_from"] == "measurement" for bias in biases):
        yield f"{DESCRIBED}."
    if not decisions:
        if not all(bias["measured_from"] == "measurement" for bias in biases):
            yield f"{printable(shown.llm)} was not asked with a technique." if shown.llm else "No technique was asked."
        return
    nearer = f"how much nearer {_nearer(decisions, shown)}, with what noise adds taken off"
    not_a_difference = "not the difference of two rows above, in which opposite signs cancel"
    if shown.llm:
        yield (
            f"Improved by: {nearer}, and then the mean over vignettes; so it is {not_a_difference}. Its interval is of "
            f"this {shown.noun}'s own trials and says nothing of others."
        )
    elif shown.is_foretold:
        yield (
            f"Improved by: what is expected in {shown.whom}, and between which bounds 95 % of such {shown.noun}s lie. "
            f"It is {nearer}; so it is {not_a_difference}."
        )
    else:
        yield f"Improved by: {nearer}, and then the mean; so it is {not_a_difference}."
    yield f"P(better): how probable it is that the technique improves on its control in {shown.whom}."
    in_whom = f"whether in {printable(shown.llm)}" if shown.llm else f"in how many {shown.noun}s"
    if any(of["arm_b"] is not None for of in decisions):
        yield (
            f"Reversed: {in_whom} the technique turns the bias round, so that it points the other way by more than the "
            "margin and beyond the noise of the answers."
        )
    yield (
        "The items of a vignette are averaged first: where their biases are opposite they cancel, so a technique that "
        "makes each of them smaller may gain nothing here."
    )
    if not shown.llm:
        yield from _certainties(decisions, shown.noun)
        yield from _turns(decisions, sensitivity)
    yield from _reversals(decisions, shown)
    yield from _above_the_loss(decisions, shown)
    for code, said in CAVEATS.items():
        if names := [_named(of) for of in decisions if code in _codes(of)]:
            yield said.format(listed(names))


def _nearer(decisions, shown):
    """Say what comes nearer to what where a technique helps: two arms to each other, or an only arm to what is best."""
    from analysis.advice import listed

    whose = f"of {printable(shown.llm)} on each vignette" if shown.llm else f"of each {shown.noun} on each vignette"
    at_best = {}
    for of in decisions:
        if of["arm_b"] is None:
            at_best.setdefault(level(of, best(of)), {})[named(of)] = None
    ways = [f"{value} ({listed(names)})" for value, names in at_best.items()]
    said = [f"the mean {whose} comes to {listed(ways, 'or to')}"] if ways else []
    said += [f"the two arms {whose} come to each other"] if any(of["arm_b"] for of in decisions) else []
    return "; or ".join(said)


def _named(of):
    return f"{of['name']} ({named(of)}, {arms(of)})"


def _codes(of):
    return (of["reason"] or "").split("; ")


def _above_the_loss(decisions, shown):
    """Name the gains whose intervals end above the whole loss."""
    from analysis.advice import ABOVE_THE_LOSS, listed

    high = "gain_asked_high" if shown.llm else "gain_high"
    ends = [
        f"{_named(of)}, up to {difference(of, of[high])} of {difference(of, of['loss_control'])}"
        for of in decisions
        if of[high] is not None and of["loss_control"] is not None and of[high] > of["loss_control"]
    ]
    if ends and not shown.is_foretold:
        yield f"{ABOVE_THE_LOSS}: {listed(ends)}."


def _reversals(decisions, shown):
    """Say of each technique that turns the bias round in whom, and what it gains although it does."""
    for of in decisions:
        if "bias_reversed" not in _codes(of):
            continue
        n_reversed, n_llms = of["n_reversed"], of["n_llms"]
        whose = f"of {printable(shown.llm)} " if shown.llm else ""
        where = f"in {n_reversed} of {n_llms} {shown.noun}s" if n_reversed else f"in some of the {n_llms} {shown.noun}s"
        in_whom = "" if shown.llm else f" {where}" if n_reversed else f" {where} or in their mean"
        kind = "_asked" if shown.llm else ""
        low, high = of[f"gain{kind}_low"], of[f"gain{kind}_high"]
        does = f"turns the bias {whose}round{in_whom}"
        if low is not None and low > 0:
            low, high = (fixed(in_unit(of, end), ".3g") for end in (low, high))
            does = f"brings the bias nearer to none by {difference(of, of['gain'])} ({low} to {high}), but {does}"
        withheld = ": neither “use” nor “no difference” is said of it" if of[f"decision{kind}"] != "avoid" else ""
        yield f"{_named(of)} {does}, so that it points the other way{withheld}."


def _turns(decisions, sensitivity):
    """Say of each technique that is decided on what would turn the decision."""
    from analysis.advice import in_ways_of_counting

    for of in decisions:
        if said := in_ways_of_counting(_named(of), of["decision"], _of(of, sensitivity)):
            yield said


def _certainties(decisions, noun):
    """Say how sure each decision is, and of which techniques where that is not of all alike."""
    from analysis.advice import CERTAINTY
    from analysis.advice import DECISIONS as WORDS

    certain = {}
    for of in decisions:
        if of["certainty"]:
            certain.setdefault(of["decision"], {}).setdefault(of["certainty"], []).append(of)
    for decision, by_certainty in certain.items():
        for certainty, rows in by_certainty.items():
            which = ", ".join(map(_named, rows))
            of_which = f" ({which})" if len(by_certainty) > 1 else ""
            words = ELSEWHERE if certainty == "contradicted_elsewhere" else CERTAINTY[certainty].replace("LLM", noun)
            yield f"How sure of “{WORDS[decision]}”{of_which}, counted as we recommend: {words}."


def _interval(bias, value, low, high):
    if value is None:
        return None
    value, low, high = (in_unit(bias, of) for of in (value, possible(bias, low), possible(bias, high)))
    bounds = "" if low is None else f" ({fixed(low, '+.3g')} to {fixed(high, '+.3g')})"
    return f"{value:+.3g}{bounds}"
