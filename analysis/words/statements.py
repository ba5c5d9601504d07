"""What each statement on techniques means: `docs/statements.md`, from the templates that the statements are made of.

`python -m analysis.words.statements` prints the page.
"""

from types import ModuleType
from typing import NamedTuple

from analysis.words import advice, biases, conclusions, legend, matrix, pages, settling, shortfalls, transfer

MODULES = (advice, matrix, conclusions, settling, shortfalls, biases, pages, transfer)


class Meaning(NamedTuple):
    """What statements of one kind say: of what, in which unit, with which error, and if what holds."""

    heading: str
    estimand: str
    units: str
    family: str
    error: str
    assumption: str
    simulated: str
    templates: dict[ModuleType, tuple[str, ...]]


NONE = "-"
IF_NO_RARE = "no rare LLM far off, gains not strongly skewed; vendors tested are like those that are not"
MEANINGS = (
    Meaning(
        "Established and supported",
        "mean gain over vendors: the control's mean square less that of the technique, without noise",
        "points of the loss: the root of the control's mean square less that of what the gain leaves of it",
        "all rows of a study, domain and goal that are decided, those against a placebo too",
        f"any false use or avoid: up to {advice.ERROR} %, times the families that were declared",
        IF_NO_RARE,
        "rows “four rows”, “a family of six” and “exactly on the baseline”; where it breaks, the rows below these",
        {
            advice: (
                "NOTHING",
                "ESTABLISHED",
                "SUPPORTED",
                "SUPPORTED_ALONE",
                "IN_SHORT_SUPPORTED",
                "HANGING",
                "IN_SHORT_HANGING",
                "NONE_BEATS",
                "UNDECIDED",
                "TOO_FEW_OF_A_KIND",
                "TOO_FEW_VENDORS",
                "ONE_ASKED",
                "ONE_COMPARED",
                "NOT_ESTABLISHED",
                "OWN_PROMPT",
                "ASKING_AGAIN",
                "PLACEBO",
                "ERROR_OF_FAMILY",
                "ERROR_OF_ONE",
                "ERROR_OF_SEVERAL",
                "FAMILIES",
                "ERROR_BESIDE",
                "ASSUMES",
                "FIRST_ANSWER",
                "LEADS",
                "TO_ESTABLISH",
                "ESTABLISHING",
            ),
            matrix: (
                "NOTHING",
                "NONE_BEATS",
                "OVER_LLMS",
                "PLAIN",
                "LIKE_THESE",
                "TOGETHER",
                "WITHOUT_INTERVAL",
                "TOO_FEW",
                "SAME_WAYS",
            ),
            conclusions: ("TOO_FEW", "NOTHING", "NONE_BEATS", "DECISIONS", "LACKING", "HOW_SURE"),
            pages: ("NONE_SHOWN",),
        },
    ),
    Meaning(
        "No difference",
        "the same mean gain, and the gain of each LLM asked",
        "points of the loss, against the margin",
        "the same",
        "a true gain beyond the margin called no difference: 2.5 % of a row alone",
        IF_NO_RARE,
        "“a true gain of 6 … is called equivalent”",
        {advice: ("OUT_OF_REACH",), conclusions: ("RARE",)},
    ),
    Meaning(
        "Each LLM",
        "the gain of that LLM in the cases tested",
        "points of its own loss",
        "all LLMs and techniques of the study, domain and goal that are compared with a control",
        f"any false “helps” or “harms”: up to {advice.ERROR} %",
        "answers of an LLM to one prompt are independent; about 15 of each kind or more",
        "“ten LLMs and four techniques that change nothing”",
        {
            advice: ("LLM_BY_LLM", "ON_EACH", "NONE_OF_EACH", "ERROR_OF_EACH", "HARMED", "FEW", "OF_FEW"),
            matrix: (
                "ON_AN_LLM",
                "WITHOUT_ANY",
                "ON_THESE",
                "OWN_OF_THESE",
                "OWN_OF_AN_LLM",
                "SILENT",
                "NONE_OF_THESE",
                "OF_SO_MANY",
            ),
            conclusions: ("OF_EACH_LLM", "HARMS_WHOM"),
        },
    ),
    Meaning(
        "Seen, and not decided",
        "losses of the LLMs tested, means of vendors; against a plain prompt of another wording nothing is decided",
        "points of the loss",
        NONE,
        "none is stated",
        NONE,
        NONE,
        {
            advice: ("BESIDE_PLAIN", "LESS", "SEEN", "SEEN_OF_ALL", "SHIFT_ALONE", "LOSSES"),
            matrix: ("OWN_PROMPT", "IN_MIND"),
            conclusions: ("LABELS", "LIMITS", "CONTRADICTED", "CAVEATS"),
            biases: ("DESCRIBED", "NOT_A_DIFFERENCE", "OF_EITHER_SIDE", "UNSIGNED", "ALL_UNSIGNED"),
        },
    ),
    Meaning(
        "An LLM that nobody asked",
        "the gain of one LLM of a new vendor, or of one more of a vendor tested, and the place of each technique and a "
        "plain prompt in it",
        "points of the loss; probabilities",
        "one model of all techniques that are compared with one control",
        "95 % prediction interval; probabilities come true about as often as they say",
        "gains of vendors and LLMs are normal, LLMs of every vendor differ as much, and LLMs are like those tested",
        "the table under “An LLM that nobody asked”",
        {
            advice: (
                "FOR_ANY",
                "FOR_NEW",
                "FOR_FURTHER",
                "FOR_ASKED",
                "IS_BEST",
                "NONE_IS_LIKELY",
                "TO_ASK",
                "OF_PLAIN",
                "PLAIN_IS_BEST",
                "EXPECTED",
                "NOT_PREDICTED",
                "SIMULATED_SAY_NOTHING",
                "LLM_NOT_TESTED",
            ),
            matrix: ("ONE_MORE",),
        },
    ),
    Meaning(
        "Whether a gain carries over",
        "correlation, over techniques within LLMs, of the gains in two places, without the noise of trials",
        "none: between −1 and 1",
        "each pair of places alone",
        "95 % interval of one pair; of many pairs some miss",
        "LLMs tested are independent and like those that are not; nothing is said of other techniques",
        "the table under “Does a gain carry over”",
        {
            transfer: (
                "CARRIES_OVER",
                "TURNS_ROUND",
                "UNCLEAR",
                "CANNOT_BE_TOLD",
                "FOUND",
                "FEW_VENDORS",
                "WHY_NOT",
                "TITLES",
            )
        },
    ),
    Meaning(
        "What would settle it",
        "vendors, LLMs, trials or items with which the interval would decide",
        "counts",
        "as the decision that is open",
        "settled with a chance of 50 %, or of 80 %; a second look adds its own error",
        "gain and variances stay what they are now",
        NONE,
        {settling: ("DOES", "OFTEN", "UNREACHABLE", "FORBIDDEN", "SECOND_LOOK", "MORE_TO_NAME", "ONE_CASE")},
    ),
    Meaning(
        "What counts nowhere",
        "answers that were asked for and are held back, not read, refused or withdrawn",
        "counts",
        NONE,
        "none: they are counted",
        NONE,
        NONE,
        {
            shortfalls: ("IN_SHORT", "SENTENCES", "BY_SHARE", "PUBLISHED", "WHOSE", "MOST", "MOST_OFTEN"),
            advice: ("ALL_HELD_BACK", "LLM_HELD_BACK"),
        },
    ),
    Meaning(
        "A bias without technique",
        "mean contrast of two arms over LLMs and items",
        "the unit of the measure",
        "all tests of a paradigm (Holm)",
        "any false bias: up to 5 %; a bias as large as the margin called smaller: 2.5 % of a row alone",
        "LLMs and items tested are like those that are not",
        "the table under “Arms, items and judges”",
        {biases: ("BY_HOLM", "MISSING", "SHOWN", "UNSHOWN", "SHOWN_SMALL", "SMALL", "BY_WHAT_CAME")},
    ),
)
ROWS = ("estimand", "units", "family", "error", "assumption", "simulated")


def templates(module):
    """Return the templates of sentences of a module, by the name of their constant.

    Parameters
    ----------
    module : module

    Returns
    -------
    dict of str to list of str
        Constants that are text of several words, or tables of such.
    """
    constants = ((name, value) for name, value in vars(module).items() if name.isupper())
    as_lists = ((name, [*_flat(value)]) for name, value in constants)
    return {
        name: texts
        for name, texts in as_lists
        if texts and all(isinstance(text, str) for text in texts) and any(" " in text.strip() for text in texts)
    }


def _flat(value):
    if isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _flat(part)
    else:
        yield value


def page():
    """Return the page that says what each statement means.

    Returns
    -------
    str
        In Markdown.
    """
    lines = [
        "# What each statement means",
        "",
        "Each sentence on a technique that `bais recommend`, the page and the paper print is made of one of these "
        "templates. What is simulated stands in the [methodology](methodology.md#gains-and-decisions), by "
        "`make coverage`. "
        "This page is printed by `python -m analysis.words.statements`.",
    ]
    for meaning in MEANINGS:
        lines += ["", f"## {meaning.heading}", "", "| | |", "| --- | --- |"]
        lines += [f"| {row} | {getattr(meaning, row)} |" for row in ROWS]
        lines.append("")
        said = {text for module, names in meaning.templates.items() for name in names for text in _texts(module, name)}
        lines += [f"- {text}" for text in sorted(said)]
    lines += ["", "## Words", "", "`bais words` prints these."]
    for heading, words in legend.LEGEND.items():
        lines += ["", f"### {heading}", "", "| said | code | means |", "| --- | --- | --- |"]
        lines += [f"| {word.said} | {f'`{word.code}`' if word.code else ''} | {word.means} |" for word in words]
    return "\n".join(lines) + "\n"


def _texts(module, name):
    return (text.strip() for text in templates(module)[name])


if __name__ == "__main__":
    print(page(), end="")
