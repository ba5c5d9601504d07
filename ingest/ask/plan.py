"""What a study will ask and cost, before anything is asked."""

import collections
import itertools
import math

from ingest.ask.collector import most_at_a_time, price_of, provider_of, read_prices
from ingest.ask.context import context_windows, is_beyond_context, tokens_for
from ingest.ask.families import families_planned
from ingest.ask.history import asked_before, derived_anchors, render_asked, said_of_imported
from ingest.ask.refusals import changed_items, keys_of, what_is_refused
from ingest.ask.responses import cell_summaries, spooled
from ingest.ask.spool import COLLECTED, read_state, spool_folder
from ingest.local.llm import what_is_lacking
from ingest.paradigms.judges import JUDGEMENTS
from ingest.paradigms.paradigm import NO_TECHNIQUE
from ingest.prompts.steps import CHARACTERS_PER_TOKEN, tokens_of
from ingest.studies.baseline import leading_goals
from ingest.studies.design import Cell, Design, values_of

TOKENS_PER_REPLY = {"low": 60, "high": 800}
MOST_ITEMS = 50  # looked at to say how long texts are
ENDS = {"low": min, "high": max}
SECONDS_PER_CALL = {"low": 2.0, "high": 20.0}
ASSUMPTIONS = (
    "{} characters a token; a reply of {low} to {high} tokens, hidden reasoning not counted beyond that; low: no cell "
    "is topped up and no technique repeats; high: every cell is topped up and every technique repeats as often as it "
    "may; no retries"
).format(CHARACTERS_PER_TOKEN, **TOKENS_PER_REPLY)
OF_JUDGEMENTS = "; of judgements: low if all answers to an item are the same text, high if each is another one"


def plan_of(study) -> dict:
    """Count what a study asks in all, by technique and by LLM, `low` and `high`; without a price a cost is null."""
    design, prices = Design(study), read_prices()
    rule = study.stopping_rule
    replicates = {"low": rule.minimum, "high": rule.maximum or rule.minimum}
    collected, done = _collected(design, replicates)
    rows = [*_rows(design, replicates, prices, done)]
    n_cells = sum(row["cells"] for row in rows)
    n_baseline = sum(row["cells"] for row in rows if row["technique"] == "baseline")
    are_answered = not any(row["left"]["high"]["trials"] for row in rows)
    of_judges = [*_rows_of_judges(design, prices, done, are_answered)] if design.judges else []
    rows += of_judges
    told_of_judges = design.judges and design.judges.model_dump(include={"paradigm", "labels", "roles", "repeats"})
    keys, without_key = keys_of(design)
    are_all_without = sum(map(len, without_key.values())) == len(study.all_llms)
    of_llms = what_is_lacking() if any(llm.provider == "local" for llm in study.all_llms) else None
    path = spool_folder(study.study) / COLLECTED
    state = read_state(path)
    refused = [*what_is_refused(design, state, path, prices, keys)]
    seconds = dict.fromkeys(SECONDS_PER_CALL, 0.0) if study.are_simulated else SECONDS_PER_CALL
    if collected["calls"]:
        seconds = dict.fromkeys(SECONDS_PER_CALL, collected["seconds_per_call"])
    of_left = [row["left"] | {"llm": row["llm"]} for row in rows]
    sums, left = _sums(rows), _sums(of_left)
    said = study.model_dump(mode="json", exclude_none=True)

    return {
        "study": study.study,
        "description": study.description,
        "source": study.source,
        "are_simulated": study.are_simulated,
        "grid": {
            "llms": [llm.llm for llm in study.llms],
            "vignettes": list(design.vignettes),
            "techniques": list(design.techniques),
            "paradigms": {
                name: {
                    "arms": paradigm.arms,
                    "n_items": len(paradigm.all_items),
                    "anchors": {arm: str(anchor) for arm, anchor in paradigm.anchors.items()},
                    **(
                        {"goals": [*paradigm.goals], "leading_goal": " or ".join(leading_goals(said, paradigm))}
                        if paradigm.goals
                        else {}
                    ),
                }
                for name, paradigm in design.paradigms.items()
            },
            **({"items": n_items} if (n_items := _items_of_anchoring(design)) else {}),
            "anchors": study.anchors.model_dump(exclude_none=True) if study.anchors else {},
            "temperatures": study.temperatures,
            "stopping_rule": rule.model_dump(exclude_none=True),
            "order_seed": study.order_seed,
            "answer_format": study.answer_format,
            "second_anchor": study.second_anchor,
            **({"judges": told_of_judges | {"llms": [llm.llm for llm in design.judges.llms]}} if design.judges else {}),
        },
        "cells": {
            "baseline": n_baseline,
            "anchored": 0 if design.paradigms else n_cells - n_baseline,
            "answers": n_cells if design.paradigms else 0,
            **({JUDGEMENTS: sum(row["cells"] for row in of_judges)} if of_judges else {}),
        },
        **sums,
        "left": left | {"hours": _hours(design, of_left, seconds)},
        "prices": {llm.llm: prices[llm.llm] for llm in study.all_llms if llm.llm in prices},
        "without_price": [llm.llm for llm in study.all_llms if not llm.is_free and llm.llm not in prices],
        "lacking": "; ".join([*filter(None, [of_llms]), *(without_key if are_all_without else ()), *refused]) or None,
        "without_key": {} if are_all_without else without_key,
        "is_refused": bool(refused),
        "beyond_context": _beyond_context(design),
        "nothing_to_ask": _nothing_to_ask(design),
        "limits": study.limits.model_dump(exclude_none=True),
        "at_a_time": {end: of(most_at_a_time(llm, study) for llm in study.all_llms) for end, of in ENDS.items()},
        "assumptions": ASSUMPTIONS + (OF_JUDGEMENTS if of_judges else ""),
        "techniques": _by(rows, "technique"),
        "llms": _by(rows, "llm"),
        "collected": collected,
        "families": families_planned(study, path, state),
        "seconds_per_call": seconds,
        "hours": _hours(design, rows, seconds),
    }


def _hours(design, rows, seconds):
    """Return how long the longest of the endpoints takes: they are asked side by side."""
    study, sums = design.study, collections.defaultdict(collections.Counter)
    llms = {llm.llm: llm for llm in study.all_llms}
    for row in rows:
        llm = llms[row["llm"]]
        of_endpoint = sums[provider_of(llm, design)[0], most_at_a_time(llm, study)]
        of_endpoint.update({(what, end): row[end][what] for what in ("trials", "calls") for end in seconds})

    def hours_at(most, of_endpoint, end):
        n_at_a_time = max(1, min(most, of_endpoint["trials", end]))
        return of_endpoint["calls", end] * seconds[end] / n_at_a_time / 3600

    return {end: max(hours_at(most, of, end) for (_, most), of in sums.items()) for end in seconds}


def _items_of_anchoring(design):
    """Count the items of each vignette of a study that names no paradigm, of those that have any."""
    names = () if design.paradigms else design.vignettes
    return {name: len(items) for name in names if (items := design.paradigm_of(name).all_items)}


def sums_of(study) -> dict[str, dict]:
    """Return the trials, calls, tokens and cost of all that a study asks, `low` and `high`."""
    design, prices = Design(study), read_prices()
    rule, nothing = study.stopping_rule, collections.Counter()
    rows = [*_rows(design, {"low": rule.minimum, "high": rule.maximum or rule.minimum}, prices, nothing)]
    return _sums([*rows, *(_rows_of_judges(design, prices, nothing, False) if design.judges else ())])


def _rows(design, replicates, prices, done):
    """Yield what each LLM is asked with each vignette and technique, in all arms with all items, and what is left."""
    for vignette in design.vignettes:
        items = design.items_of(vignette)
        looked_at = items[:: math.ceil(len(items) / MOST_ITEMS)]
        for name, cells in _conditions(design, vignette):
            shown = [cell._replace(item=item) for cell in cells for item in looked_at]
            scripts = [design.script(cell, design.option_order(cell, 0)) for cell in shown]
            sizes = {end: [_size_of(script, end) for script in scripts] for end in replicates}
            for llm in design.study.llms:
                n_cells = len(cells) * len(items) * len(design.study.temperatures)
                row, of_row = {"llm": llm.llm, "technique": name, "cells": n_cells}, _row_of(cells[0], llm.llm)
                for ends, is_left in ((row, False), (row.setdefault("left", {}), True)):
                    for end, n in replicates.items():
                        n_trials = n_cells * n - is_left * done[of_row, end]
                        ends[end] = _in_all([(n_trials, sizes[end])], llm, prices)
                        if is_left and (n_answered := done[of_row, "answered"]):
                            ends[end] = _without_calls(ends[end], n_answered)
                yield row


def _row_of(cell, llm):
    """Name the row of a plan that a cell belongs to: in anchoring those without an anchor have rows of their own."""
    return llm, cell.vignette, cell.technique, cell.anchor_direction == "none"


def _conditions(design, vignette):
    """Yield the techniques that a vignette is asked with, by what a plan calls them, with a cell for each arm."""
    plain, techniques = design.plain_techniques(vignette), design.techniques_of(vignette)
    paradigm, base = design.paradigm_of(vignette), design.base_of(vignette)
    if design.paradigms:
        for technique in dict.fromkeys([*(plain if base else ()), *techniques]):
            arms = [arm for arm in paradigm.arms if technique in (plain if arm == base else techniques)]
            yield technique, [Cell("", vignette, technique, arm=arm) for arm in arms]
        return
    unanchored = [
        ("baseline" if technique == NO_TECHNIQUE else f"{technique}, no anchor", [Cell("", vignette, technique)])
        for technique in plain
    ]
    n_baselines = plain.count(NO_TECHNIQUE)
    yield from unanchored[:n_baselines]
    for technique in techniques:
        yield technique, [Cell("", vignette, technique, direction, 10) for direction in paradigm.anchors]
    yield from unanchored[n_baselines:]


def _beyond_context(design):
    """Count, by LLM, the trials of paradigms whose first question is too long for it; judgements are not looked at."""
    n_beyond, n_replicates = collections.Counter(), design.study.stopping_rule.minimum
    llms = [llm for llm in design.study.llms if llm.llm in context_windows()]
    for vignette, llm in itertools.product(design.vignettes, llms):
        paradigm = design.paradigm_of(vignette)
        # a text that fills less than half of the window leaves room for what else is said
        half = context_windows()[llm.llm] / 2
        texts = [item for item in paradigm.all_items if tokens_for(llm.llm, item.fields.values()) > half]
        for technique, arm, item in itertools.product(design.techniques_of(vignette), paradigm.arms, texts):
            cell = design.cell(llm.llm, vignette, technique, arm, item.item)
            turn = design.script(cell, design.option_order(cell, 0)).next_turn([])
            if turn and is_beyond_context(llm, turn):
                n_beyond[llm.llm] += len(design.study.temperatures) * n_replicates
    return dict(n_beyond)


def _nothing_to_ask(design):
    """List, by why nothing can be asked about them, the items of which a technique has no text to show."""
    problems = collections.defaultdict(dict)
    for vignette in design.vignettes:
        paradigm = design.paradigm_of(vignette)
        names = design.techniques_of(vignette)
        alike = [name for name in names if not design.techniques[name].get("steps")]  # they say all of the text
        for technique in [*alike[:1], *(name for name in names if name not in alike)]:
            for item in paradigm.all_items:
                cell = design.cell("", vignette, technique, paradigm.arms[0], item.item)
                if problem := design.script(cell, design.option_order(cell, 0)).problem:
                    problems[problem][item.item] = None
    return {problem: [*items] for problem, items in problems.items()}


def _rows_of_judges(design, prices, done, are_answered):
    """Yield what each judge is asked, and what is left of it.

    That is of the texts of items, and of as many texts as answers may be, or have to be: where all `are_answered`, of
    those that it was decided to show.
    """
    judges, items = design.judges, design.judged_items
    judged = {paradigm.paradigm for paradigm in design.study.judged_paradigms}
    n_cells = sum(design.vignettes[cell.vignette]["paradigm"] in judged for cell in design.first_cells())
    n_answers = n_cells * design.study.stopping_rule.minimum
    n_texts = {"low": {True: len(items) or 1, False: len(items)}, "high": {True: n_answers, False: len(items)}}
    looked_at = items[:: math.ceil(len(items) / MOST_ITEMS)] if items else [None]
    for llm in judges.llms:
        row = {"llm": llm.llm, "technique": JUDGEMENTS}
        row["cells"] = sum(n * len(judges.roles_of(is_answer)) for is_answer, n in n_texts["high"].items())
        for end, numbers in n_texts.items():
            parts = []
            for is_answer, role in ((kind, role) for kind in numbers for role in judges.roles_of(kind)):
                reply = "x" * (TOKENS_PER_REPLY[end] * CHARACTERS_PER_TOKEN)
                texts = [(item, reply if is_answer else judges.original(item)) for item in looked_at]
                sizes = [_size_of(judges.script(role, *pair), end) for pair in texts]
                parts.append((numbers[is_answer] * judges.repeats, sizes))
            row[end] = _in_all(parts, llm, prices)
        n_decided, n_done = (done[JUDGEMENTS, llm.llm, what] for what in ("decided", "closed"))
        n_ends = {"low": max(row["low"]["trials"], n_decided), "high": row["high"]["trials"]}
        n_ends |= dict.fromkeys(n_ends, n_decided) if are_answered and n_decided else {}
        row["left"] = {end: _share_of(row[end], (n - n_done) / row[end]["trials"]) for end, n in n_ends.items()}
        yield row


def _without_calls(sums, n_answered):
    """Return what is left of trials of which some calls are answered: a dialogue goes on where it was cut."""
    n_calls = sums["calls"]
    return _share_of(sums, max(0, n_calls - n_answered) / n_calls) | {"trials": sums["trials"]}


def _share_of(sums, share):
    """Return a share of what a row comes to."""
    of_cost = sums["cost_usd"] and share * sums["cost_usd"]
    return {what: round(share * n) for what, n in sums.items() if what != "cost_usd"} | {"cost_usd": of_cost}


def _in_all(parts, llm, prices):
    """Add up trials, calls, tokens and cost of parts: how many trials, and the sizes of those that were looked at."""
    sums = collections.Counter()
    for n, sizes in parts:
        for what in sizes[0]:
            sums[what] += round(n * sum(size[what] for size in sizes) / len(sizes))
    price = (0.0, 0.0) if llm.is_free else prices.get(llm.llm)
    return dict(sums) | {"cost_usd": price and price_of(sums["tokens_in"], sums["tokens_out"], price)}


def _size_of(script, end):
    """Return the calls and tokens of one trial, by going through it with replies of the assumed length."""
    tokens_per_reply = TOKENS_PER_REPLY[end]
    verdict = script.rounds["stops_at"] if script.rounds and end == "low" else ""
    reply = verdict + "x" * max(0, tokens_per_reply * CHARACTERS_PER_TOKEN - len(verdict))
    replies, n_in = [], 0
    while turn := script.next_turn(replies):
        n_in += sum(tokens_of(message["content"]) for message in turn.messages)
        replies.append(reply)
    return {"trials": 1, "calls": len(replies), "tokens_in": n_in, "tokens_out": len(replies) * tokens_per_reply}


def _sums(rows):
    sums = {}
    for what in ("trials", "calls", "tokens_in", "tokens_out", "cost_usd"):
        ends = {end: [row[end][what] for row in rows] for end in ("low", "high")}
        sums[what] = {end: None if None in values else sum(values) for end, values in ends.items()}
    return sums


def _by(rows, key):
    grouped = collections.defaultdict(list)
    for row in rows:
        grouped[row[key]].append(row)
    return [{key: name, "cells": sum(row["cells"] for row in group), **_sums(group)} for name, group in grouped.items()]


def _collected(design, replicates):
    """Say what the spool holds of the design; and, by row and end of a plan, how many of its trials are not left."""
    path = spool_folder(design.study.study) / COLLECTED
    state, done = read_state(path), collections.Counter()
    counts = {
        "trials": 0, "trials_of_other_plans": 0, "of_other_versions": 0, "orphaned": 0, "redefined": 0,
        "of_changed_items": 0, "asked_again": 0, "asked_again_for_other_words": 0,
        "notes": said_of_imported(design.study.study),
        "calls": state.n_calls, "cost_usd": 0.0, "seconds_per_call": None,
    }  # fmt: skip
    if not path.exists():
        return counts, done
    history = asked_before(design, state)
    counts["of_other_versions"], counts["orphaned"] = history.versions.total(), history.n_orphans
    counts["redefined"] = sum(change.n_changed for change in history.redefined)
    counts["asked_again_for_other_words"], counts["notes"] = history.n_again, counts["notes"] + render_asked(history)
    changed = {item.item for item, of_it in changed_items(design, state, path) if any(one.fields for one in of_it)}
    ids = _ids_closed(design, state, path, replicates, done, changed)
    counts["of_changed_items"] = done["changed"]
    counts["trials"] = len(ids)
    with spooled([path], "trials") as connection:
        pairs = connection.execute("select trial_id, attempt_of from spooled where attempt_of is not null").fetchall()
    again = {trial_id.encode() for trial_id, attempt_of in pairs if attempt_of.encode() in ids}
    counts["asked_again"] = len(again - ids)
    counts["trials_of_other_plans"] = len(state.closed - ids - again)
    with spooled([path], "calls") as connection:
        counts["cost_usd"], counts["seconds_per_call"] = connection.execute(
            "select coalesce(sum(cost_usd), 0), avg(latency_s) from spooled"
        ).fetchone()
    return counts, done


def _ids_closed(design, state, path, replicates, done, changed):
    """Return the ids of the design's trials that are complete, and count in `done` how many of each row are not left.

    What is left of a cell whose first trials are all there is known: they say whether it is topped up.
    """
    low, high = replicates.values()
    rule = design.study.stopping_rule
    summaries = cell_summaries(path, design, low) if rule.maximum else {}
    anchors = values_of(design.known_anchors(state.anchors))
    if not anchors and design.anchor_places():
        anchors = derived_anchors(design)
    ids = set()
    answered = {
        trial_id.encode(): len({call["turn"] for call in calls if call["error"] is None})
        for trial_id, calls in state.open_calls.items()
    }

    def numbers_closed(cell, n):  # never of all trials at once: they may be millions
        numbers = {design.trial_id(cell, number).encode(): number for number in range(n)}
        found = state.closed.intersection(numbers)
        ids.update(found)
        done[_row_of(cell, cell.llm), "answered"] += sum(answered[trial_id] for trial_id in answered.keys() & numbers)
        if cell.item in changed:
            done["changed"] += len(found)
        return [numbers[trial_id] for trial_id in found]

    for cell in itertools.chain(design.first_cells(), design.anchored_cells(anchors)):
        numbers = numbers_closed(cell, high)
        n_first = sum(number < low for number in numbers)
        left = {"low": low - n_first, "high": high - len(numbers)}
        if n_first == low:
            is_varied = cell in summaries and (summaries[cell].sd or 0) > rule.sd_above
            left = dict.fromkeys(left, high - len(numbers) if is_varied else 0)
        for end, n in replicates.items():
            done[_row_of(cell, cell.llm), end] += n - left[end]
    for cell in design.judgement_cells(state.judged) if design.judges else ():
        done[JUDGEMENTS, cell.llm, "decided"] += design.judges.repeats
        done[JUDGEMENTS, cell.llm, "closed"] += len(numbers_closed(cell, design.judges.repeats))
    return ids
