"""What a study says of its vignettes beside their words: domain, unit and range, which may be corrected at any time."""

import collections
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.ask.responses import read_trials
from ingest.ask.spool import State
from ingest.studies.design import Design

# The last word of a study on these holds for all answers to a vignette.
DEFINED = ("domain", "response_unit", "valid_min", "valid_max")
BECOMES = "once this is collected, all of them are audited again, a batch that fails then is not published any more"


@dataclass
class Redefined:
    """A vignette of which a study says something else now, and what that changes in the answers that there are."""

    vignette: str
    what: str
    n_answers: int
    n_changed: int
    statuses: dict[tuple[str, str], int]  # of those whose status changes, from what to what


def redefined(design: Design, state: State, path: Path) -> list[Redefined]:
    """Compare what a study says of its vignettes with what it said last, and read the answers by both."""
    last = next((session["study"] for session in reversed(state.sessions) if "study" in session), {})
    before = {entry["vignette"]: entry for entry in last.get("vignettes", [])}
    kept = {name: now for name, now in design.vignettes.items() if name in before}
    changed = {name: what for name, now in kept.items() if (what := in_words(before[name], now))}
    if not changed:
        return []
    was = copy.copy(design)
    was._versions = {}
    was.vignettes = {
        name: now | {key: before[name].get(key) for key in DEFINED} if name in changed else now
        for name, now in design.vignettes.items()
    }
    then, now = (_answers(path, variant) for variant in (was, design))
    changes = []
    for name, what in changed.items():
        pairs = [(then[name][trial], now[name].get(trial, then[name][trial])) for trial in then[name]]
        statuses = collections.Counter((old[0], new[0]) for old, new in pairs if old[0] != new[0])
        n_changed = sum(old != new for old, new in pairs)
        if before[name].get("domain") != design.vignettes[name].get("domain"):
            n_changed = len(pairs)
        changes.append(Redefined(name, what, len(pairs), n_changed, dict(statuses)))
    return changes


def _answers(path, design):
    """Return by vignette and trial what became of it, and its number."""
    answers = collections.defaultdict(dict)
    with read_trials(path, design) as connection:
        rows = connection.execute("select vignette, trial_id, status, response from answers where role is null")
        while some := rows.fetchmany(10_000):
            for vignette, trial_id, *answer in some:
                answers[vignette][trial_id] = answer
    return answers


def in_words(before: Mapping, after: Mapping) -> str:
    """Say what is said otherwise of a vignette than before; nothing where all is the same."""
    return "; ".join(_differences(before, after))


def _differences(before, after) -> Iterator[str]:
    told = {
        "domain": ("domain {}", "no domain"),
        "response_unit": ("answers in {}", "answers in no unit"),
        "valid_min": ("answers from {}", "answers without a lower bound"),
        "valid_max": ("answers up to {}", "answers without an upper bound"),
    }
    for key, (words, none) in told.items():
        now, was = (
            none
            if definition.get(key) is None
            else words.format(f"{definition[key]:,g}" if key.startswith("valid") else definition[key])
            for definition in (after, before)
        )
        if now != was:
            yield f"{now}, not {was.removeprefix('domain ').removeprefix('answers ')}"


def render_redefined(changes: list[Redefined]) -> list[str]:
    """Write what another word on vignettes changes, in lines for a terminal."""
    lines = []
    for change in changes:
        became = "; ".join(
            f"{n:,} {was} before {'is' if n == 1 else 'are'} {now}".replace("_", " ")
            for (was, now), n in sorted(change.statuses.items())
        )
        n = f"{change.n_changed:,} of its {change.n_answers:,} answers"
        lines.append(
            f"{change.vignette}: {change.what}: this changes {n}{f' ({became})' if became else ''}; {BECOMES}, and "
            "the tables follow with `bais build`. Nothing is asked again for it."
        )
    return lines
