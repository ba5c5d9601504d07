"""The report on an experiment: what an LLM is asked to write, what is written without one, and whether it may stand.

A report may stand if every number in it is in the analysis (`analysis.papers.experiment.analyze`), and if it says what
it has to say about the human study. Its numbers are looked up by value, not by meaning: a mean under the wrong name
passes.
"""

import re

from analysis.methods.small_samples import ALPHA
from analysis.reading.numerals import PERCENT
from analysis.writing.documents import MINUS, filters, written
from analysis.writing.facts import exact, is_number, leaves
from analysis.writing.markdown import SECTIONS, missing_sections, normalised, sections_of, sentences, stated
from analysis.writing.numbers import THRESHOLDS, Printed, all_numbers, citation, number_problems

LABEL = re.compile(r"(?<![A-Za-z0-9-])(?:LESS|SIMILAR|GREATER|INCONCLUSIVE)(?![A-Za-z0-9-])")
DECIDED = {
    "undecidable": re.compile(r"neither|undecid|cannot be decided|inconclusive|no decision", re.IGNORECASE),
    "not_rejected": re.compile(
        r"\b(?:not|cannot|never|fail\w*|unable|no)\b.{0,40}\breject|\b(?:retain|uphold|upheld)", re.IGNORECASE
    ),
    "rejected": re.compile(r"\breject", re.IGNORECASE),
}


def report_prompt(analysis, *, case_text, prompts):
    """Return what an LLM is asked, so that it writes the report on an experiment.

    Parameters
    ----------
    analysis : dict
        As `analysis.papers.experiment.analyze` returns it.
    case_text : str
        The vignette that every trial was given.
    prompts : dict of str to str
        What was asked at each step, in order, by the name of the step.

    Returns
    -------
    str
    """
    told = {"analysis": analysis, "case_text": case_text, "prompts": prompts, "sections": SECTIONS}
    return written("experiment_report_prompt", FILTERS, **analysis, **told)


def template_report(analysis, *, case_text):
    """Write the report without an LLM: the same analysis gives the same text, which always passes `check_report`.

    Parameters
    ----------
    analysis : dict
        As `analysis.papers.experiment.analyze` returns it.
    case_text : str
        The vignette that every trial was given; quoted in Methods.

    Returns
    -------
    str
        Markdown.
    """
    return written("experiment_report", FILTERS, **analysis, case_text=case_text)


def check_report(text, analysis, *, case_text, prompts):
    """Say what is wrong with a report on an experiment.

    A number is grounded if a number in the analysis, the case or the prompts, rounded half even or half up to the
    digits printed, equals it, sign included. As a percentage, only a confidence level or its complement is. `p < .05`
    is grounded if the threshold is a customary one and the p value that is spoken of (the Welch test's, unless humans
    or equivalence were named last) lies below it. Texts of the analysis that hold digits (ids, the name of the LLM,
    `Study 2`, `type 7`) may be quoted; volume, issue, pages, year and DOI of the human study only as parts of its
    citation.

    Not looked at: numbers written as words, the numbers of list items (from 1 on) and of headings, and names like Q1.
    A label counts in capitals. Outside Methods, which may define all four, any other label than that of the analysis
    is a problem, unless its sentence names the uncertainty of the human difference and it is the label with that.

    Parameters
    ----------
    text : str
        The report, in Markdown.
    analysis : dict
        As `analysis.papers.experiment.analyze` returns it.
    case_text : str
    prompts : dict of str to str

    Returns
    -------
    list of str
        One sentence per problem; empty if the report may stand.
    """
    text = normalised(text)
    sections, starts = sections_of(text)
    problems = missing_sections(sections)
    problems += _number_problems(text, starts, analysis, [case_text, *prompts.values()])
    if analysis["humanBaseline"]:
        problems += _label_problems(sections, analysis["humanComparison"])
        problems += _discussion_problems(sections.get("Discussion", ""), analysis)
        problems += _reference_problems(sections.get("References", ""), analysis["humanBaseline"]["reference"])
    else:
        problems += [
            f"{section} states the label {label}, but there is no human study to compare with"
            for section, _, label in stated(LABEL, sections)
        ]
    return list(dict.fromkeys(problems))


# The check


def _number_problems(text, starts, analysis, sources):
    human, values, percentages, names = analysis["humanBaseline"], set(), set(), set()
    for path, value in leaves(analysis | {"humanBaseline": human and human | {"reference": None}}):
        if is_number(value):
            values.add(exact(value))
            if path[-1] in ("confidence", "alpha"):
                percentages |= {exact(round(100 * share, 10)) for share in (value, 1 - value)}
        for part in (*path, value):
            if isinstance(part, str) and any(c.isdigit() for c in part):
                names.update(_quotable(normalised(part)))
    for source in map(normalised, sources):
        for number in all_numbers(source):
            (percentages if PERCENT.match(source, number.end) else values).add(number.value)

    def why_not(number: Printed, section):
        side = number.threshold_side(text)
        if side and not (human and section == "Methods" and number.value == exact(ALPHA)):
            is_grounded = _threshold_holds(number.value, side, text[: number.start], analysis)
        else:
            candidates = percentages if PERCENT.match(text, number.end) else values
            is_grounded = any(map(number.is_rounded, candidates))
        return None if is_grounded else "is not in the analysis"

    patterns = _citation_masks(human["reference"]) if human else ()
    return number_problems(text, starts, why_not, names=names, patterns=patterns)


def _quotable(name):
    yield name
    words = name.split()
    for before, word in zip(["", *words], words, strict=False):
        bare = word.strip("()[],.;:'\"")
        if any(c.isdigit() for c in bare):
            if any(c.isalpha() for c in bare) or bare.count(".") > 1:
                yield bare
                yield from (part for part in bare.split("/") if any(c.isalpha() for c in part))
            if any(c.isalpha() for c in before):
                yield f"{before} {word.rstrip(',.;:)')}"


def _threshold_holds(threshold, side, before, analysis):
    """Say whether a p value of what the paragraph has named last, else of the Welch test, lies on this side."""
    human, compared = analysis["humanBaseline"], analysis["humanComparison"]
    p_values, cues = {"llm": [analysis["comparison"]["pValue"]]}, {"llm": r"\bLLM|Welch|\bmodel\b"}
    if human:
        p_values["human"] = [human["pValue"]]
        p_values["equivalence"] = [compared[name]["tostPValue"] for name in ("fixedHuman", "uncertainHuman")]
        location = re.escape(normalised(human["location"]))
        cues = {
            "human": rf"human|Englich|legal professional|{location}",
            "equivalence": r"TOST|equivalen|one-sided",
            "llm": cues["llm"],
        }
        if round(analysis["comparison"]["df"] or 0) != human["df"]:
            cues["human"] += rf"|t\({human['df']:g}(?:\.0*)?\)"
            cues["llm"] += r"|t\("
    paragraph, subject = re.split(r"\n\s*\n|\n(?=\s*[-*|#])", before)[-1], "llm"
    for cue in re.finditer("|".join(f"(?P<{name}>{cue})" for name, cue in cues.items()), paragraph, re.IGNORECASE):
        subject = cue.lastgroup
    return threshold in THRESHOLDS and any(
        p is not None and (exact(p) < threshold if side == "below" else exact(p) > threshold) for p in p_values[subject]
    )


def _citation_masks(reference):
    parts = {name: re.escape(normalised(text)) for name, text in reference.items()}
    volume, issue, pages = parts["volume"], parts["issue"], parts["pages"].replace(r"\-", r"\s*-+\s*")
    patterns = (
        rf"(?<!\d){volume}[*_]*\s*\([*_]*{issue}[*_]*\)",
        rf"\bvol(?:ume|\.)?\s*{volume}(?!\d|[.,]\d)",
        rf"\b(?:no\.|issue)\s*{issue}(?!\d|[.,]\d)",
        rf"(?<!\d){pages}(?!\d|[.,]\d)",
        rf"(?<![\w.]){parts['doi']}(?!\d|[.,]\d)",
    )
    named = citation(normalised(reference["authors"]).split(",")[0], reference["year"])
    return [named, *(re.compile(pattern, re.IGNORECASE) for pattern in patterns)]


def _label_problems(sections, compared):
    headline, uncertain = compared["label"], compared["uncertainHuman"]["label"]
    problems = []
    if headline not in LABEL.findall(sections.get("Discussion", "")):
        problems.append(f"the Discussion does not state the label {headline}")
    return problems + [
        f"{section} states the label {label}, but the analysis says {headline}"
        for section, sentence, label in stated(LABEL, sections)
        if label != headline and not (label == uncertain and re.search("uncertain", sentence, re.IGNORECASE))
    ]


def _discussion_problems(discussion, analysis):
    human, compared = analysis["humanBaseline"], analysis["humanComparison"]
    printed = {number.value for number in all_numbers(discussion)}
    problems = [
        f"the Discussion does not compare with the human {what} of {human[name]:.2f}"
        for name, what in (("lowMean", "low mean"), ("highMean", "high mean"), ("difference", "difference"))
        if exact(human[name]) not in printed
    ]
    reference = human["reference"]
    if not citation(reference["authors"].split(",")[0], reference["year"]).search(discussion):
        problems.append(f"the Discussion does not cite {_cited(reference)}")

    wanted, decisions = compared["decision"], set()
    for sentence in sentences(discussion):
        if re.search(r"null[\s-]+hypothesis|(?<![A-Za-z])H_?\{?0", sentence, re.IGNORECASE):
            is_uncertain = re.search("uncertain", sentence, re.IGNORECASE)
            decisions |= _decisions(sentence) & {wanted} if is_uncertain else _decisions(sentence)
    if wanted not in decisions:
        problems.append(f"the Discussion does not say that the null hypothesis is {wanted.replace('_', ' ')}")
    agreeing = {wanted, "not_rejected"} if wanted == "undecidable" else {wanted}
    return problems + [
        f"the Discussion says that the null hypothesis is {decision.replace('_', ' ')}, "
        f"but by the analysis it is {wanted.replace('_', ' ')}"
        for decision in sorted(decisions - agreeing)
    ]


def _decisions(sentence):
    """Say what a sentence on the null hypothesis decides, clause by clause."""
    clauses = re.split(r"[;:,]|\b(?:while|but|although|though|whereas)\b", sentence)
    decided = (next((name for name, words in DECIDED.items() if words.search(clause)), None) for clause in clauses)
    return set(decided) - {None}


def _reference_problems(references, reference):
    def comparable(text):
        return re.sub(r"[\s*_\\]+", " ", normalised(text)).replace(" ,", ",").replace(" (", "(").lower()

    printed = comparable(references)
    parts = {
        "authors": reference["authors"],
        "year": f"({reference['year']})",
        "title": reference["title"],
        "journal": reference["journal"],
        "volume and issue": f"{reference['volume']}({reference['issue']})",
        "pages": reference["pages"],
        "DOI": reference["doi"],
    }
    return [
        f"the References lack the {name} of the human study: {part}"
        for name, part in parts.items()
        if not re.search(rf"(?<!\d){re.escape(comparable(part).strip())}(?!\d)", printed)
    ]


# The words of the templates


def _number(value, digits=2):
    """Print a number: whole ones as they are, others rounded, null as such."""
    shown = "n/a" if value is None else f"{value:,}" if isinstance(value, int) else f"{exact(value):z.{digits}f}"
    return shown.replace("-", MINUS)


def _percent(share):
    return f"{100 * share:g} %"


def _p_value(value):
    return "p n/a" if value is None else "p < 0.001" if value < 0.001 else f"p = {_number(value, 3)}"


def _interval(interval):
    return "n/a" if interval is None else f"[{_number(interval['low'])}, {_number(interval['high'])}]"


def _inline(text):
    return " ".join(str(text).split())


def _quote(text):
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) or "> (no case text)"


def _cited(reference):
    return f"{reference['authors'].split(',')[0]} et al. ({reference['year']})"


FILTERS = filters(_number, _percent, _p_value, _interval, _inline, _quote, _cited) | {"plain": "{:g}".format}
