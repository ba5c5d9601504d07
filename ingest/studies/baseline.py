"""Whether a prompt without an anchor is the one with it, less the part that holds the anchor, and what else differs."""

import difflib
import re
from collections.abc import Iterator

from ingest.paradigms.paradigm import DIFFERS, NO_TECHNIQUE, SAME, Paradigm, arm_script
from ingest.prompts import SLOT, anchored_script, placeholders, shipped
from ingest.texts.sentences import sentences

OF_BASELINES = ("baseline_prompt", "differs_by")  # as a table of vignettes names what is said here
OPENED, CLOSED = "\ue000", "\ue001"  # around the part of a prompt that holds the anchor, and in no text
OF_ANCHOR = re.compile(f"{OPENED}[^{OPENED}{CLOSED}]*{CLOSED}")  # the innermost, where parts stand within each other
DIGIT = re.compile(r"\d")
PARAGRAPH_END = re.compile(r"\n\s*\n")
LONGEST = 160
NOT_ASKED = "nothing is asked without an anchor"


def baseline_prompt(study: dict, vignette: dict) -> tuple[str | None, str | None]:
    """Render a vignette with and without an anchor, and compare what is left without the part that holds the anchor.

    That part is the vignette's own `anchor`, and of the words and turns of an arm the sentences that say `{anchor}`;
    another number in it is a difference. Both are asked without a technique. `study` and `vignette` are what a study
    file says, with all in full; of a paradigm without goals, where nothing is in per cent of an unanchored answer,
    nothing is returned.
    """
    if "arms" in vignette:
        compared = _arms_rendered(study, vignette)
    elif not vignette.get("anchor"):
        return None, None
    elif not study.get("baselines", True):
        return DIFFERS, NOT_ASKED
    else:
        compared = _directions_rendered(study, vignette)
    if compared is None:
        return None, None
    differences = [difference for pair in compared for difference in _differences(*pair)]
    return (DIFFERS, "; ".join(dict.fromkeys(differences))) if differences else (SAME, None)


def leading_goals(study: dict, paradigm: Paradigm) -> list[str]:
    """Return the goals of a paradigm that lead in some domain of a study, by what its vignettes are asked with."""
    prompts = {}
    for vignette in study["vignettes"]:
        if vignette.get("paradigm") == paradigm.paradigm:
            prompts.setdefault(vignette["domain"], set()).add(baseline_prompt(study, vignette)[0])
    leading = {paradigm.leading_goal(SAME if of_domain == {SAME} else DIFFERS) for of_domain in prompts.values()}
    return [goal for goal in paradigm.goals if goal in leading]


def _directions_rendered(study, vignette):
    """Return what is asked without an anchor and with one, which two directions say in the same words."""
    form, second = study.get("answer_format", "text"), study.get("second_anchor")
    marked = vignette | {"anchor": _marked(vignette["anchor"])}
    return [
        [
            anchored_script(words, _plain(study), anchor, second, form)
            for words, anchor in ((vignette, None), (marked, SLOT))
        ]
    ]


def _arms_rendered(study, vignette):
    """Return what is asked in the base, with what is in each arm that a goal is of; None where there are no goals."""
    paradigm = next((one for one in study.get("paradigm", ()) if one["paradigm"] == vignette["paradigm"]), {})
    base, goals = paradigm.get("relative_to"), paradigm.get("goals") or {}
    if base is None:
        return None
    named = [arm for goal in goals.values() for arm in [*(goal.get("distance_of") or ()), *_in_pairs(goal)]]
    marked = vignette | {
        "arms": {name: _marked_arm(arm) for name, arm in vignette["arms"].items()},
        **({"anchor": _marked(vignette["anchor"])} if vignette.get("anchor") else {}),
    }
    unanchored, plain = arm_script(vignette, _plain(study), base, ""), _plain(study)
    return [[unanchored, arm_script(marked, plain, arm, "")] for arm in dict.fromkeys(named) if arm != base]


def _in_pairs(goal):
    return [arm for pair in goal.get("contrasts") or () for arm in pair]


def _plain(study):
    """Return what is asked without a technique, as the study words it."""
    own = (technique for technique in study["techniques"] if technique["technique"] == NO_TECHNIQUE)
    return next(own, shipped("techniques")[NO_TECHNIQUE])


def _marked(text):
    return f"{OPENED}{text}{CLOSED}"


def _marked_arm(treatment):
    words = {name: _with_sentences_marked(text) for name, text in treatment.get("words", {}).items()}
    value = {"anchor": {"words": SLOT}} if "anchor" in treatment else {}
    return treatment | value | {"words": words, "turns": [_with_sentences_marked(turn) for turn in treatment["turns"]]}


def _with_sentences_marked(text):
    return "".join(_marked(part) if "anchor" in placeholders(part) else part for part in sentences(text))


def _differences(unanchored, anchored) -> Iterator[str]:
    """Say what an anchored prompt says, or leaves out, beside its anchor."""
    without, with_anchor = unanchored.template(), anchored.template()
    if len(without["turns"]) != len(with_anchor["turns"]):
        yield f"anchored prompts have {_turns(with_anchor)}, the unanchored prompt has {_turns(without)}"
        return
    pairs = [*zip(without["turns"], with_anchor["turns"], strict=True)]
    pairs.append((without.get("system", ""), with_anchor.get("system", "")))
    for before, after in pairs:
        rest, taken = _apart(after)
        for part in taken:
            if DIGIT.search(part.replace(SLOT, "")):
                yield f"with their anchor, anchored prompts name another number: {_quoted(_sentences_of(part))}"
        yield from _said_otherwise(_sentences_of(before), _sentences_of(rest))


def _turns(template):
    n = len(template["turns"])
    return f"{n} turn{'s' if n > 1 else ''}"


def _apart(text):
    """Return a text without the part that holds the anchor, and the pieces of that part."""
    taken = []
    while match := OF_ANCHOR.search(text):
        taken.append(match[0].strip(OPENED + CLOSED))
        text = text[: match.start()] + text[match.end() :]
    return text, taken


def _sentences_of(text):
    """Return the sentences of the paragraphs of a text, of which spaces and empty lines are no part."""
    parts = (part for paragraph in PARAGRAPH_END.split(text) for part in sentences(paragraph))
    return [" ".join(part.split()) for part in parts if part.strip()]


def _said_otherwise(without, with_anchor):
    for kind, start, end, start_with, end_with in difflib.SequenceMatcher(
        None, without, with_anchor, autojunk=False
    ).get_opcodes():
        alone, beside = (_quoted(part) for part in (without[start:end], with_anchor[start_with:end_with]))
        if kind == "insert":
            yield f"anchored prompts also say {beside}, which the unanchored prompt does not"
        elif kind == "delete":
            yield f"the unanchored prompt also says {alone}, which anchored prompts do not"
        elif kind == "replace":
            yield f"anchored prompts say {beside} where the unanchored prompt says {alone}"


def _quoted(parts):
    text = " ".join(parts)
    return f"“{text if len(text) <= LONGEST else f'{text[: LONGEST - 1].rstrip()}…'}”"
