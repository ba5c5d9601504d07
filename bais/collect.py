"""`bais plan` and `bais collect`: what a study asks, before and while it is asked."""

from pathlib import Path

import click

from analysis.words.codes import DEFAULT
from bais.options import PATH, json_option, study_argument, study_to_ask
from bais.settle import write_study
from bais.terminal import fixed, pairs, say, say_each, say_json, say_rows
from ingest.land.seeds import place_of
from ingest.run import collect_options
from ingest.warehouse import UserError, some

REFUSED = 2
MOST_NAMED = 5
UNKNOWN = "unknown"
# Why nothing can be asked about an item, in words.
NOTHING_TO_ASK = {
    "empty_text": "no text",
    "one_sentence": "a single sentence, which cannot be shuffled",
    "fewer_words_than_chunks": "fewer words than a technique has parts for",
}


@click.command()
@study_to_ask
@click.option("--no-load", is_flag=True, help="leave the warehouse as it is")
@collect_options
def collect(study: str, no_load: bool, **limits) -> int:
    """Collect what is missing of a study, and load it, as `python ingest/run.py STUDY` does."""
    from ingest.run import collect_study

    return collect_study(study, **limits, loads=not no_load)


@click.command()
@study_argument("a study file, or the name of a shipped study", required=False)
@click.option("--to-settle", metavar="DOMAIN", help="write the study that would settle what is open in a domain")
@click.option("--study", "of_study", metavar="S", help="to settle: of this study (default: the largest of LLMs)")
@click.option("--paradigm", metavar="P", help="to settle: of this bias, which has goals (default: anchoring)")
@click.option("--goal", metavar="G", help="to settle: by this goal of it (default: the one that leads)")
@click.option("--technique", metavar="T", help="to settle: of this technique (default: what takes the fewest vendors)")
@click.option("--llm", "llms", metavar="L", multiple=True, help="to settle: ask this LLM, again for each; vendor/name")
@click.option(
    "--more-trials", is_flag=True, help="to settle: by more trials of the LLMs that were asked, not by vendors"
)
@click.option("--out", type=PATH, metavar="FILE", help="to settle: where the study goes (default: STUDY-DOMAIN.yaml)")
@json_option()
def plan(
    study: str | None, to_settle: str | None, of_study: str | None, paradigm: str | None, goal: str | None,
    technique: str | None, llms: tuple[str, ...], more_trials: bool, out: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Say what a study will ask, how long that takes and what it costs, and what is there already.

    The exit code is 2 where `bais collect` would refuse the study as it stands.
    """
    from ingest.ask.plan import plan_of
    from ingest.studies.study import load_study

    if (study is None) == (to_settle is None):
        raise UserError("give a study file or the name of a shipped study, or --to-settle DOMAIN")
    if study and (of_study or paradigm or goal or technique or llms or more_trials or out):
        options = "--study, --paradigm, --goal, --technique, --llm, --more-trials and --out"
        raise UserError(f"{options} go with --to-settle DOMAIN")
    if llms and more_trials:
        raise UserError("give --llm or --more-trials, not both")
    sentences = []
    if to_settle:
        study, sentences = write_study(
            to_settle, paradigm=paradigm or DEFAULT, study=of_study, goal=goal, technique=technique, llms=llms,
            trials=more_trials, out=out,
        )  # fmt: skip
    definition = load_study(study)
    planned = plan_of(definition) | ({"cautions": definition.cautions} if definition.cautions else {})
    if as_json:
        say_json(planned | {"to_settle": sentences} if sentences else planned)
        return REFUSED if planned["is_refused"] else 0
    say_each(sentences)
    _say_plan(planned)
    say_each(definition.cautions)
    return REFUSED if planned["is_refused"] else 0


def _say_plan(planned):
    from ingest.ask.context import said_of_beyond

    grid, progress = planned["grid"], planned["collected"]
    simulated = " (SIMULATED respondents, no LLM is asked)" if planned["are_simulated"] else ""
    say(f"Study {planned['study']}: {planned['description']}{simulated}")
    rule = grid["stopping_rule"]
    more = f", up to {rule['maximum']} where the SD of these exceeds {rule['sd_above']:g}" if "maximum" in rule else ""
    anchors = [f"{kind} {_end(ends['low'])} and {_end(ends['high'])}" for kind, ends in grid["anchors"].items()]
    with_items = [f"{name} with {n:,} item{'' if n == 1 else 's'}" for name, n in grid.get("items", {}).items()]
    temperatures = ["the endpoint's own" if t is None else f"{t:g}" for t in grid["temperatures"]]
    arms, goals = [], []
    for name, paradigm in grid["paradigms"].items():
        told = [
            f"{arm} ({paradigm['anchors'][arm]})" if arm in paradigm["anchors"] else arm for arm in paradigm["arms"]
        ]
        items = f" with {paradigm['n_items']:,} items" if paradigm["n_items"] else ""
        arms.append(f"{name}: {', '.join(told)}{items}")
        if "goals" in paradigm:
            goals.append(f"{', '.join(paradigm['goals'])} ({paradigm['leading_goal']} leads)")
    cells = planned["cells"]
    judged = cells.get("judgements")
    pace = f"{_from_to(planned['at_a_time'])} calls at a time, {_from_to(planned['seconds_per_call'], True)} s a call"
    pace = pace if any(planned["seconds_per_call"].values()) else "simulated respondents answer at once"
    is_begun, left = bool(progress["trials"]), planned["left"]

    def both(what, unit="", has_fraction=False):
        whole, rest = (_from_to(of[what], has_fraction) for of in (planned, left))
        unit = unit if whole != UNKNOWN else ""
        return f"{whole}{unit}{f'; left: {rest}{unit}' if is_begun else ''}"

    told = [
        ("trials", both("trials")),
        ("calls", both("calls")),
        ("cost", both("cost_usd", " USD", True)),
        ("hours", f"{both('hours', has_fraction=True)} ({pace})"),
    ]
    print(pairs(told, indent="  "))
    print()
    if arms:
        in_cells = f"{cells['answers']:,} of arms{f', at most {judged:,} of judgements' if judged else ''}"
    else:
        in_cells = f"{cells['baseline']:,} without anchor, {cells['anchored']:,} of techniques"
    told = [
        ("paradigms", "; ".join(arms)),
        *(("goals", text) for text in goals),
        *((name, ", ".join(grid[name.lower()])) for name in ("LLMs", "vignettes", "techniques")),
        ("cases", ", ".join(with_items)),
        ("anchors", ", ".join(anchors)),
        ("temperatures", ", ".join(temperatures)),
        ("trials a cell", f"{rule['minimum']}{more}"),
        ("cells", in_cells),
        ("judges", _told_of_judges(grid["judges"]) if "judges" in grid else ""),
        ("order seed", str(grid["order_seed"])),
    ]
    print(pairs(((name, text) for name, text in told if text), indent="  "))
    print()
    columns = ("trials", "calls", "tokens_in", "tokens_out", "cost_usd")
    rows = []
    in_all = planned | {"llm": "in all", "cells": sum(planned["cells"].values())}
    rest = [left | {"llm": "left", "cells": None}] if is_begun else []
    for part in [*planned["techniques"], *planned["llms"], in_all, *rest]:
        ranges = [_from_to(part[column], column == "cost_usd", "\u2013") for column in columns]
        rows.append([part.get("technique") or part["llm"], fixed(part["cells"], ","), *ranges])
    heads = ["technique, then LLM", "cells", "trials", "calls", "tokens in", "tokens out", "USD"]
    say_rows("table", heads, rows, null="", right=range(1, 7), spare=(5, 4, 1))
    print()
    if planned["without_price"]:
        say(f"No price is known of {', '.join(planned['without_price'])}: add it to {place_of('prices')}.")
    if planned["lacking"]:
        say(f"It cannot be asked yet: {planned['lacking']}.")
    say_each(f"{some(llms)} cannot be asked yet: {why}." for why, llms in planned["without_key"].items())
    say_each(f"{line}." for line in said_of_beyond(planned["beyond_context"], are_planned=True))
    for problem, items in planned["nothing_to_ask"].items():
        say(
            f"{len(items):,} item{' has' if len(items) == 1 else 's have'} {NOTHING_TO_ASK.get(problem, problem)}: "
            f"{some(items, MOST_NAMED)}. Where a technique cannot be asked for that, its trials count as "
            "unanswered, and too many of them fail their whole batch at the gate: take these items out of `items`, or "
            "give them another text, before you collect."
        )
    say_each(said_of_families(planned["families"]))
    say(f"Assumed: {planned['assumptions']}. Prices: {place_of('prices')}, with date and source.")
    again = f", {progress['asked_again']:,} that were asked again" if progress["asked_again"] else ""
    others = f", {progress['trials_of_other_plans']:,} that are none of it" if progress["trials_of_other_plans"] else ""
    n_changed = progress["of_changed_items"]
    changed = f", {n_changed:,} of them to what items said before they were changed" if n_changed else ""
    say(
        f"Collected so far: {progress['trials']:,} trials of this plan{changed}{again}{others}; "
        f"{progress['calls']:,} calls, {progress['cost_usd']:.4f} USD"
    )
    for line in progress["notes"]:
        print(line)
    if progress["asked_again_for_other_words"]:
        say("`bais collect` asks before it asks them again; where nobody can answer, `--orphan` is needed.")


def said_of_families(families: list[dict]) -> list[str]:
    """Say which families of decisions a collection freezes, and which differ from what was frozen before."""
    if not families:
        return []
    alike, changed = [], {}
    for family in families:
        if family["differs"]:
            changed.setdefault((tuple(family["differs"]), family["n_families"]), []).append(family)
        else:
            alike.append(family)
    lines = [_told_of_alike(alike)] if alike else []
    for (differs, n), of_them in changed.items():
        lines.append(
            f"Another family than was frozen before: {_held_by(of_them)}. What differs: {'; '.join(differs)}. "
            f"Decisions in it are exploratory, and none can be established: with {n} families, any false decision: up "
            f"to {100 * of_them[0]['error_at_most']:.0f} %."
        )
    return lines


def _told_of_alike(families):
    """Say of families that are as they were frozen, or that nobody has frozen yet, what they hold."""
    held = _held_by(families)
    if all(family["is_frozen"] for family in families):
        is_new = any(family["is_new"] for family in families)
        begun = "To be frozen before the first call" if is_new else "Frozen before the first call, and unchanged"
        return f"{begun}: {held}. A change after the first call makes another family, which is exploratory."
    if any(family["is_exploratory"] for family in families):
        n = max(family["n_families"] for family in families)
        return (
            f"As it was frozen first, and changed in between: {held}. With {n} families, any false decision: up to "
            f"{100 * max(family['error_at_most'] for family in families):.0f} %, and nothing in it can be established."
        )
    return f"Not frozen before the first call, so that nothing in it can be established: {held}."


def _held_by(families):
    """Write what families are of, how many comparisons they hold, their margins and vendors."""
    goals = {}
    for family in families:
        goals.setdefault(family["domain"] or family["paradigm"], []).append(family["goal"])
    by_goals = {}
    for place, names in goals.items():
        by_goals.setdefault(tuple(names), []).append(place)
    places = "; ".join(f"{', '.join(places)} by {', '.join(names)}" for names, places in by_goals.items())
    numbers = sorted({family["n_compared"] for family in families})
    margins = sorted({f"{family['margin']:g}" for family in families if family["margin"] is not None})
    vendors = families[0]["content"]["vendors"]
    return (
        f"{_counted(len(families), 'family', 'families')} of decisions ({places}), "
        f"{' or '.join(f'{n:,}' for n in numbers)} comparison{'' if numbers == [1] else 's'} in each, "
        f"margin {' or '.join(margins) or 'as each measure says'}, "
        f"{_counted(len(vendors), 'vendor', 'vendors')} ({some(vendors, MOST_NAMED)})"
    )


def _counted(n, one, several):
    return f"{n:,} {one if n == 1 else several}"


def _end(anchor):
    return anchor if isinstance(anchor, str) else f"{anchor:g}"


def _told_of_judges(judges):
    """Write who judges which texts, and how often."""
    times = "once" if judges["repeats"] == 1 else f"{judges['repeats']} times"
    return f"{', '.join(judges['llms'])}: {judges['paradigm']} of {', '.join(judges['roles'])}, {times} each"


def _from_to(ends, has_fraction=False, to=" to "):
    """Write a range, or one number where both ends are the same."""
    if None in ends.values():
        return UNKNOWN
    low, high = (f"{ends[end]:,.2f}" if has_fraction else f"{ends[end]:,.0f}" for end in ("low", "high"))
    return low if low == high else f"{low}{to}{high}"
