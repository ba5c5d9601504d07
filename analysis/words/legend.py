"""The legend: what the words and marks of decisions mean, defined once, for `bais words` and `docs/statements.md`."""

from typing import NamedTuple

from analysis.words.biases import BY_HOLM
from analysis.words.codes import DECISIONS, GOALS, MARKS, OF_AN_LLM, PERHAPS_ASKING_AGAIN, POINTS


class Word(NamedTuple):
    """What a reader sees, what it means, and its code in tables and options where it has one."""

    said: str
    means: str
    code: str | None = None


OF_DECISIONS = {
    "use": "the technique gains on a plain prompt and on the placebo; where no placebo was asked, that is said",
    "helps_its_own_prompt": "the technique gains on its own first answer; a plain prompt in other words is pulled less",
    "asking_again_helps": "the placebo gains on a plain prompt, so asking again helps, whatever is asked",
    "better_than_asking_again": "the technique gains on the placebo",
    "worse_than_asking_again": "answers are surely pulled more than with the placebo",
    "avoid": "answers are surely pulled more than with its control",
    "equivalent": "the whole interval lies within the margin, up to which a change counts as none; no tested LLM is "
    "surely beyond it",
    "no_evidence": "of a technique, none of these: the data cannot separate help from harm",
}
LEGEND = {
    "What a technique does": (
        *(Word(said, OF_DECISIONS[code], code) for code, said in DECISIONS.items() if code),
        Word(f"{OF_AN_LLM['use']}, {OF_AN_LLM['avoid']}", "use and avoid, said of one LLM by its own trials"),
        Word(PERHAPS_ASKING_AGAIN, "one LLM gains on a plain prompt, and is not shown to gain on the placebo"),
        Word("(in parentheses)", "confounded: the two had different prompts, so nothing is decided"),
    ),
    "Of whom, and how sure": (
        Word("for LLMs like these", "the interval is over vendors, at least five, so it covers LLMs nobody tested"),
        Word("these only", "each LLM by its own trials; other LLMs may differ"),
        Word(
            "established",
            "supported, fixed before the first answer, on several cases, not within one trial alone, and no missing "
            "answer could turn it",
            "established",
        ),
        Word("supported", "decided over at least five vendors", "supported"),
        Word("unsure", "of a printed claim: the estimate says the other way, and the interval leaves it open"),
    ),
    "What it is compared with": (
        Word("a plain prompt", "the anchored question alone"),
        Word("Placebo (neutral questions)", "Random Control: as many turns as a technique, of neutral content"),
        Word("SACD's first answer", "what the LLM says in a trial before SACD debiases it; in tables “vs its first”"),
    ),
    "What it should make small": (
        Word("pull", "how far anchors move answers, by one of three goals:"),
        *(Word(goal.name, goal.measures, f"--goal {code}") for code, goal in GOALS.items()),
    ),
    "Numbers and drawings": (
        Word("gain", "by how much the pull is smaller than with the control; below 0 it is larger"),
        Word(POINTS, "percent of what the same LLM answers without an anchor; of shares, percentage points"),
        Word("+1 −3", "the technique helps one of these LLMs and harms three"),
        Word("p, by Holm", BY_HOLM.removeprefix("p, by Holm: ").removesuffix(".")),
        *(Word(mark, means) for mark, means in MARKS.values()),
    ),
}
