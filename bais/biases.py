"""`bais recommend --paradigm`: how large a bias is, and which technique makes it smaller."""

from functools import partial

from analysis.words.biases import Shown, decided_by_leading, headline, notes, row_of, sentences
from analysis.words.changes import counted
from analysis.words.changes import sentences as sentences_on_changes
from analysis.words.codes import DECISIONS as CALLED
from analysis.words.codes import probability
from analysis.words.domains import SIMULATED_FIRST, advise, verdict
from analysis.words.measures import arms, in_unit, is_share, possible, with_unit, without_mirrors
from bais import terminal
from bais.evidence import evidence_on, goals_of
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
DOMAINS = """
select distinct domain from inference.decisions
where study = $study and paradigm = $paradigm and domain is not null order by domain
"""
SOURCES = """
select distinct source from marts.trials where study = $study and paradigm = $paradigm and role is null order by source
"""
# what the paradigm says of a measure, and what the technique is called
IN_WORDS = """
left join (
    select study, paradigm, measure, better, reference, answer_kind, counted_labels, measured_from, is_leading,
        relative_to
    from staging.stg_paradigms
) using (study, paradigm, measure)
left join (select technique, display_name from seeds.techniques) using (technique)
"""
WORDS = """better, reference, answer_kind, counted_labels, measured_from, is_leading, relative_to,
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
# what would settle an open decision
NEXT_STEPS = """
from inference.power where design = 'to_settle' and study = $study and paradigm = $paradigm
order by measure, instrument, arm, arm_b, technique_a, quantity
"""
CHANGES = """
from marts.post_hoc_changes where study = $study and paradigm = $paradigm and coalesce(llm = $llm, $llm is null)
order by all
"""
N_ASKED = """
select coalesce(sum(n_asked), 0)::bigint from marts.attrition
where study = $study and paradigm = $paradigm and coalesce(llm = $llm, $llm is null)
"""
EITHER = "either arm"  # a gain is a difference of two losses, also where there is one arm
SIMULATED = "SIMULATED respondents, no LLM was asked."
PARTLY_SIMULATED = "Some respondents are SIMULATED and no LLMs."


def recommend_on_bias(
    warehouse, paradigm: str, measure: str | None, study: str | None, llm: str | None, as_json: bool
) -> None:
    """Say how large a bias is without a technique, and what each technique does to it."""
    asked_rows = records(warehouse, ASKED, {"study": study})
    if not any(row["paradigm"] == paradigm and measure in (None, row["measure"]) for row in asked_rows):
        _refuse_unanswered(warehouse, paradigm, measure, study)
    refuse_unknown(
        "paradigm",
        paradigm,
        dict.fromkeys(row["paradigm"] for row in asked_rows),
        none="none that was asked and answered yet",
    )
    studies = list(dict.fromkeys(row["study"] for row in asked_rows if row["paradigm"] == paradigm))
    if len(studies) > 1:
        raise UserError(f"{printable(paradigm)} is in several studies: say which with --study, of {', '.join(studies)}")
    refuse_unknown("measure", measure, [row["measure"] for row in asked_rows if row["paradigm"] == paradigm])
    place = {"study": studies[0], "paradigm": paradigm}
    llms = values(warehouse, LLMS, place)
    llm = llm and llm_named(warehouse, llm, set(llms) - {None})
    is_asked = llm is None or llm in llms
    keys = place | {"measure": measure, "llm": llm if is_asked else None}
    biases, decisions, predictions = (records(warehouse, query, keys) for query in (BIASES, DECISIONS, PREDICTIONS))
    sensitivity = records(warehouse, SENSITIVITY, place | {"measure": measure})
    next_steps = records(warehouse, NEXT_STEPS, place)
    sources = values(warehouse, SOURCES, place)
    unread = unread_lines(warehouse, studies[0])
    trials = place | {"llm": keys["llm"]}
    changes = counted(records(warehouse, CHANGES, trials), *values(warehouse, N_ASKED, trials))
    if as_json:
        say_json(
            {**place, "llm": llm, "is_asked": is_asked, "sources": sources, "biases": biases, "decisions": decisions,
             "predictions": predictions, "sensitivity": sensitivity, "next_steps": next_steps,
             "unread_lines": unread, "post_hoc_changes": changes}
        )  # fmt: skip
        return
    noun = _noun(sources)
    if "simulated" in sources:
        say(SIMULATED if sources == ["simulated"] else PARTLY_SIMULATED)
    if llm and not is_asked:
        say(f"{printable(llm)} was not asked: what follows is of the {noun}s that were, and of one more like them.")
    for sentence in sentences(biases, noun, partial(records, warehouse, CORRECTED, keys)):
        say(sentence)
    print()
    shown = Shown(llm if is_asked else None, is_foretold=not is_asked, noun=noun)
    _print_techniques(biases, decisions, predictions, shown)
    print()
    for note in notes(biases, decisions, sensitivity, next_steps, shown):
        say(note)
    whose = f" of {printable(keys['llm'])}" if keys["llm"] else ""
    for sentence in sentences_on_changes(changes, lambda value, *_: value and f"{value:,}", printable, whose):
        say(sentence)
    for sentence in said_of_unread(unread):
        say(sentence)
    say(f"Study: {studies[0]}. Warehouse: {warehouse_path()}")


def _refuse_unanswered(warehouse, paradigm, measure, study):
    """Say of a paradigm or measure that was asked how many trials had no usable answer, and what shows them."""
    rows = records(warehouse, UNANSWERED, {"paradigm": paradigm, "measure": measure, "study": study})
    if not rows:
        return
    phrase = "; ".join(
        f"{printable(row['measure'])} of study {printable(row['study'])} in {row['n_trials']:,} trials, none with a "
        f"usable answer ({printable(', '.join(filter(None, row['reasons'])))})"
        for row in rows
    )
    raise UserError(
        f"{printable(paradigm)} was asked, and nothing can be compared: {phrase}. `bais trials --study "
        f"{printable(rows[0]['study'])}` shows what was replied"
    )


def headlines_on_biases(warehouse, study: str) -> list[str]:
    """Say of each paradigm of a study in a few sentences how large the bias is and which technique helps."""
    paragraphs = []
    for paradigm, keys, noun in _asked(warehouse, study):
        if evidences := _by_domain(warehouse, study, paradigm):
            texts = [sentence for evidence in evidences for sentence in verdict(evidence)]
        else:
            texts = [headline(*(records(warehouse, query, keys) for query in (BIASES, DECISIONS, LEADING)), noun)]
        paragraphs.append(f"{paradigm}: {' '.join(texts)} `bais recommend --paradigm {printable(paradigm)}` says more.")
    return paragraphs


def _by_domain(warehouse, study, paradigm):
    """Return the evidence on each domain of a paradigm that has goals; of another paradigm none."""
    if not goals_of(warehouse, study, paradigm)[1]:
        return []
    domains = values(warehouse, DOMAINS, {"study": study, "paradigm": paradigm})
    return [evidence_on(warehouse, study, domain, None, True, paradigm=paradigm) for domain in domains]


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
    summaries, shown = [], []
    for paradigm, keys, noun in _asked(warehouse, study):
        queries = (BIASES, DECISIONS, PREDICTIONS, LEADING, SENSITIVITY, NEXT_STEPS)
        biases, decisions, predictions, leading, sensitivity, next_steps = (
            records(warehouse, query, keys) for query in queries
        )
        shown_of = Shown(keys["llm"], is_foretold=False, noun=noun)
        of_paradigm = {"study": study, "paradigm": paradigm, "noun": noun, "goals": []}
        if evidences := _by_domain(warehouse, study, paradigm):
            summaries.append(of_paradigm | _of_goals(evidences))
        else:
            summaries.append(
                of_paradigm
                | decided_by_leading(decisions)
                | {
                    "headline": headline(biases, decisions, leading, noun),
                    "sentences": list(sentences(biases, noun, partial(records, warehouse, CORRECTED, keys))),
                    "notes": list(notes(biases, decisions, sensitivity, next_steps, shown_of)),
                }
            )
        different, _ = without_mirrors(biases)
        for bias in different:
            decision, prediction = row_of(bias, decisions), row_of(bias, predictions)
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
    return summaries, shown


def _of_goals(evidences):
    """Return what a page says of a paradigm that has goals: as of a domain of anchoring, and its decisions."""
    advised = [[advice["text"] for advice in advise(evidence)] for evidence in evidences]
    simulated = advised[0][0].partition(SIMULATED_FIRST)[1]
    headlines = [texts[0].removeprefix(SIMULATED_FIRST) for texts in advised]
    rows = [
        row | {"measures": evidence.goals[goal].measures, "unit": evidence.goals[goal].unit}
        for evidence in evidences
        for goal in evidence.goals
        for row in evidence.of(goal)
    ]
    leading = [row | {"is_leading": True} for row in rows if row["goal"] == evidences[0].leading]
    return decided_by_leading(leading) | {
        "headline": f"{simulated}{' '.join(headlines)}",
        "sentences": [
            f"{evidence.domain}: {text}"
            for evidence, texts in zip(evidences, advised, strict=True)
            for text in texts[1:]
        ],
        "notes": [],
        "goals": rows,
    }


def _noun(sources):
    """Return what those who answered are called: LLMs, unless all are simulated."""
    return "respondent" if sources == ["simulated"] else "LLM"


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
    rows = [_technique_row(bias, row_of(bias, decisions), row_of(bias, predictions), shown) for bias in biases]
    kept = [n for n in range(len(heads)) if n < 4 or any(row[n] is not None for row in rows)]
    right = [kept.index(n) for n in (3, 4, 6, 7, 8) if n in kept]
    spare = [kept.index(n) for n in (8, 7, 4, 3) if n in kept]
    heads, rows = [heads[n] for n in kept], [[row[n] for n in kept] for row in rows]
    print(lay_out(heads, rows, width=terminal.terminal_width(), null="", right=right, spare=spare))


def _technique_row(bias, decision, prediction, shown):

    cells = [None] * 4
    if decision:
        better = prediction and prediction["p_better_than_control"]
        n_reversed = decision["n_reversed"]
        is_reversed = n_reversed if n_reversed is None or not shown.llm else "yes" if n_reversed else "no"
        is_reversed = is_reversed if bias["arm_b"] is not None else None  # an only arm points nowhere
        cells = [
            CALLED[decision["decision_asked" if shown.llm else "decision"]],
            _interval(bias | {"arm_b": EITHER}, *_gained(decision, prediction, shown)),
            None if better is None else probability(better),
            is_reversed,
        ]
    p_holm = None if bias["p_holm"] is None else probability(bias["p_holm"])
    difference = _interval(bias, *(bias[column] for column in ("value", "low", "high")))
    return [with_unit(bias), arms(bias), bias["name"], difference, p_holm, *cells]


def _gained(decision, prediction, shown):
    """Return by how much a technique improves whom the table speaks of, with its interval."""
    if shown.is_foretold:
        row, low, high = prediction or {"gain": None, "gain_low": None}, "gain_low", "gain_high"
    elif shown.llm:
        row, low, high = decision, "gain_asked_low", "gain_asked_high"
    else:
        row, low, high = decision, "gain_low", "gain_high"
    return row["gain"], row[low], row.get(high)


def _interval(bias, value, low, high):
    if value is None:
        return None
    value, low, high = (in_unit(bias, number) for number in (value, possible(bias, low), possible(bias, high)))
    bounds = "" if low is None else f" ({fixed(low, '+.3g')} to {fixed(high, '+.3g')})"
    return f"{value:+.3g}{bounds}"
