"""`bais recommend --paradigm`: how large a bias is, and which technique makes it smaller."""

from functools import partial

from analysis.words.biases import Shown, headline, notes, row_of, sentences
from analysis.words.changes import counted
from analysis.words.changes import sentences as sentences_on_changes
from analysis.words.codes import DECISIONS as CALLED
from analysis.words.codes import probability
from analysis.words.domains import verdict
from analysis.words.headlines import before_a_bias, sentences_on_unread
from analysis.words.measures import arms, in_unit, possible, with_unit
from analysis.words.pages import gained, rows_shown, summary_of_goals, summary_of_measures
from bais.evidence import CHANGES, NEXT_STEPS, PLACES, PREDICTIONS, SENSITIVITY, SOURCES, TRIALS_ASKED, evidence_on
from bais.places import ASKED, goals_of
from bais.sources import unread_lines
from bais.terminal import fixed, say, say_each, say_json, say_rows
from bais.warehouse import llm_named, records, refuse_unknown, values
from ingest.warehouse import UserError, printable, warehouse_path

MEASURED = """
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
MEASURES = """
select measure, better, reference, answer_kind, counted_labels, measured_from, is_leading, relative_to
from staging.stg_paradigms where study = $study and paradigm = $paradigm order by not is_leading, measure
"""
# of all LLMs with an interval over LLMs and items; of one, over its items
BIASES = """
select study, paradigm, measure, instrument, arm, arm_b, llm, technique, value, low, high, p_holm, n_tests, sd_of_items,
    p_items_alike, n_llms, n_items, n_trials, reason, coalesce(display_name, technique) as name
from inference.outcome_contrasts left join (select technique, display_name from seeds.techniques) using (technique)
where study = $study and paradigm = $paradigm and coalesce(measure = $measure, $measure is null)
    and case
        when $llm is null then is_headline
        else llm = $llm and level = 'items' and row_set = 'accepted' and weighting = 'llm'
    end
order by measure, instrument, arm, arm_b, technique != 'no_technique', technique
"""
QUERIES = {
    "biases": BIASES, "decisions": PLACES, "predictions": PREDICTIONS, "sensitivity": SENSITIVITY,
    "next_steps": NEXT_STEPS,
}  # fmt: skip
# the share of changes without what the errors of judges add
CORRECTED = """
select phi_corrected, phi_corrected_low as low, phi_corrected_high as high from content.framing_changes
where
    study = $study and paradigm = $paradigm and technique = 'no_technique' and llm is not distinct from $llm
    and phi_corrected is not null
"""
EITHER = "either arm"  # a gain is a difference of two losses, also where there is one arm


def recommend_on_bias(
    warehouse, paradigm: str, measure: str | None, study: str | None, llm: str | None, as_json: bool
) -> None:
    """Say how large a bias is without a technique, and what each technique does to it."""
    asked_rows = records(warehouse, MEASURED, {"study": study})
    of_paradigm = [row for row in asked_rows if row["paradigm"] == paradigm]
    if not any(measure in (None, row["measure"]) for row in of_paradigm):
        _refuse_unanswered(warehouse, paradigm, measure, study)
    paradigms = dict.fromkeys(row["paradigm"] for row in asked_rows)
    refuse_unknown("paradigm", paradigm, paradigms, none="none that was asked and answered yet")
    studies = list(dict.fromkeys(row["study"] for row in of_paradigm))
    if len(studies) > 1:
        raise UserError(f"{printable(paradigm)} is in several studies: say which with --study, of {', '.join(studies)}")
    refuse_unknown("measure", measure, [row["measure"] for row in of_paradigm])
    keys = {"study": studies[0], "paradigm": paradigm, "domain": None, "measure": measure}
    llms = values(warehouse, LLMS, keys)
    llm = llm and llm_named(warehouse, llm, set(llms) - {None})
    is_asked = llm is None or llm in llms
    keys |= {"llm": llm if is_asked else None}
    rows, _ = _rows_on(warehouse, keys)
    sources = values(warehouse, SOURCES, keys)
    unread = unread_lines(warehouse, studies[0])
    everybody = (records(warehouse, query, keys) for query in (CHANGES, TRIALS_ASKED))
    changed, asked = ([row for row in rows if keys["llm"] in (None, row["llm"])] for rows in everybody)
    changes = counted(changed, sum(row["n_asked"] for row in asked))
    if as_json:
        about = {"study": studies[0], "paradigm": paradigm, "llm": llm, "is_asked": is_asked, "sources": sources}
        say_json(about | rows | {"unread_lines": unread, "post_hoc_changes": changes})
        return
    noun = _noun(sources)
    say_each(before_a_bias(sources, noun, None if is_asked else llm))
    say_each(sentences(rows["biases"], noun, partial(records, warehouse, CORRECTED, keys)))
    print()
    shown = Shown(keys["llm"], is_foretold=not is_asked, noun=noun)
    _print_techniques(rows, shown)
    print()
    say_each(notes(*(rows[name] for name in ("biases", "decisions", "sensitivity", "next_steps")), shown))
    whose = f" of {printable(keys['llm'])}" if keys["llm"] else ""
    say_each(sentences_on_changes(changes, lambda value, *_: value and f"{value:,}", printable, whose))
    say_each(sentences_on_unread(unread))
    say(f"Study: {studies[0]}. Warehouse: {warehouse_path()}")


def _rows_on(warehouse, keys, names=tuple(QUERIES)):
    """Return rows on a paradigm by what they are, and the measures that lead.

    What is biased and decided has what the study declares of its measure beside it, the leading one first.
    """
    measures = {row["measure"]: row for row in records(warehouse, MEASURES, keys)}
    rows = {name: records(warehouse, QUERIES[name], keys) for name in names}
    rows["decisions"] = [row for row in rows["decisions"] if row["comparison"] == "control"]
    for name in ("biases", "decisions"):
        in_words = [row | measures[row["measure"]] for row in rows[name]]
        rows[name] = sorted(in_words, key=lambda row: not row["is_leading"])
    return rows, [row for row in measures.values() if row["is_leading"]]


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
        texts = [sentence for evidence in _by_domain(warehouse, keys) for sentence in verdict(evidence)]
        if not texts:
            rows, leading = _rows_on(warehouse, keys, ("biases", "decisions"))
            texts = [headline(rows["biases"], rows["decisions"], leading, noun)]
        paragraphs.append(f"{paradigm}: {' '.join(texts)} `bais recommend --paradigm {printable(paradigm)}` says more.")
    return paragraphs


def _by_domain(warehouse, keys):
    """Return the evidence on each domain of a paradigm that has goals; of another paradigm none."""
    if not goals_of(warehouse, keys["study"], keys["paradigm"])[1]:
        return []
    places = records(warehouse, ASKED, keys)
    return [evidence_on(warehouse, place) for place in places if place["study"] == keys["study"]]


def _asked(warehouse, study):
    """Yield each paradigm of a study with what picks its rows, and what those who answered are called."""
    for paradigm in dict.fromkeys(row["paradigm"] for row in records(warehouse, MEASURED, {"study": study})):
        keys = {"study": study, "paradigm": paradigm, "domain": None, "measure": None}
        # of one LLM that was asked alone, what its own items say
        llms = [llm for llm in values(warehouse, LLMS, keys) if llm]
        alone = llms[0] if len(llms) == 1 else None
        yield paradigm, keys | {"llm": alone}, _noun(values(warehouse, SOURCES, keys))


def on_a_page(warehouse, study: str) -> tuple[list[dict], list[dict]]:
    """Return what a page says of each paradigm of a study, and the rows that it shows, as of `analysis.words.pages`."""
    summaries, page_rows = [], []
    for paradigm, keys, noun in _asked(warehouse, study):
        rows, leading = _rows_on(warehouse, keys)
        shown = Shown(keys["llm"], is_foretold=False, noun=noun)
        if evidences := _by_domain(warehouse, keys):
            summary = summary_of_goals(evidences)
        else:
            summary = summary_of_measures(rows, leading, partial(records, warehouse, CORRECTED, keys), shown)
        summaries.append({"study": study, "paradigm": paradigm, "noun": noun} | summary)
        page_rows += rows_shown(rows, shown)
    return summaries, page_rows


def _noun(sources):
    """Return what those who answered are called: LLMs, unless all are simulated."""
    return "respondent" if sources == ["simulated"] else "LLM"


def _print_techniques(rows, shown):
    """Print each bias without a technique and with each, and what is decided about the technique."""
    better = "improved\nby"
    heads = [
        "measure", "arms", "technique", "difference (95 % interval)", "p, by\nHolm",
        f"decision on\nthis {shown.noun}" if shown.llm else "decision",
        f"{better}, in one\nmore {shown.noun}" if shown.is_foretold else better,
        f"P(better) in\n{'this' if shown.llm else 'one more'} {shown.noun}",
        "reversed" if shown.llm else f"reversed in\n{shown.noun}s",
    ]  # fmt: skip
    cells = [
        _technique_row(bias, row_of(bias, rows["decisions"]), row_of(bias, rows["predictions"]), shown)
        for bias in rows["biases"]
    ]
    kept = [n for n in range(len(heads)) if n < 4 or any(row[n] is not None for row in cells)]
    right = [kept.index(n) for n in (3, 4, 6, 7, 8) if n in kept]
    spare = [kept.index(n) for n in (8, 7, 4, 3) if n in kept]
    heads, cells = [heads[n] for n in kept], [[row[n] for n in kept] for row in cells]
    say_rows("table", heads, cells, null="", right=right, spare=spare)


def _technique_row(bias, decision, prediction, shown):
    p_holm, difference = probability(bias["p_holm"]), _interval(bias, bias["value"], bias["low"], bias["high"])
    cells = [with_unit(bias), arms(bias), bias["name"], difference, p_holm]
    if not decision:
        return [*cells, *[None] * 4]
    n_reversed = decision["n_reversed"] if bias["arm_b"] is not None else None  # an only arm points nowhere
    return [
        *cells,
        CALLED[decision[shown.column]],
        _interval(bias | {"arm_b": EITHER}, *gained(decision, prediction, shown)),
        probability(prediction and prediction["p_better_than_control"]),
        n_reversed if n_reversed is None or not shown.llm else "yes" if n_reversed else "no",
    ]


def _interval(bias, value, low, high):
    if value is None:
        return None
    value, low, high = (in_unit(bias, number) for number in (value, possible(bias, low), possible(bias, high)))
    bounds = "" if low is None else f" ({fixed(low, '+.3g')} to {fixed(high, '+.3g')})"
    return f"{value:+.3g}{bounds}"
