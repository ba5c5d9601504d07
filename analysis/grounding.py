"""The paper on an experiment: what an LLM is asked to write, what is written without one, and whether it may stand.

A paper may stand if every number in it is in the analysis (`analysis.experiment.analyze`), and if it says what it has
to say about the human study. Its numbers are looked up by value, not by meaning: a mean under the wrong name passes.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

SECTIONS = ("Abstract", "Methods", "Results", "Discussion", "Limitations", "Conclusion", "References")
HEADING = re.compile(r"^ {0,3}(?P<hashes>#{1,6})[ \t]+(?P<text>[^\n]*?)[ \t#]*$", re.MULTILINE)
HEADING_NUMBER = re.compile(r"^[*_]*\d{1,2}(?:\.\d{1,2})*[.):]?[*_]*\s+")
LIST_NUMBER = re.compile(r"^[\s>]*(?:[-*+]\s+)?(?P<n>\d{1,3})[.)](?=\s)", re.MULTILINE)
LABEL = re.compile(r"(?<![A-Za-z0-9-])(?:LESS|SIMILAR|GREATER|INCONCLUSIVE)(?![A-Za-z0-9-])")
DASHES = dict.fromkeys(
    map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-"
)  # but not the em dash, which is punctuation
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
MAGNITUDE = r"(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.])\.\d+)"
NUMBER = re.compile(
    rf"(?:(?P<mantissa>{MAGNITUDE})\s*(?:\u00d7|·|\*|x|\\times|\\cdot)\s*)?"
    r"(?<![\d.])10\s*(?:\^|\*\*)\s*\{?(?P<power>[-+]?\d{1,4})\}?"
    rf"|(?P<plain>{MAGNITUDE})(?:[eE](?P<exponent>[-+]?\d{{1,4}})(?!\w))?"
)
PERCENT = re.compile(r"(?:[^\S\n]|[\\*_$-])*(?:%|per ?cent\b)", re.IGNORECASE)  # on the same line
ATTACHED_MINUS = re.compile(r"(?P<before>(?:^|[\s\S])[*_$]*)[-][*_$\\(]*$")
DETACHED_MINUS = re.compile(r"(?:[=≈:(\[,|]|[\w)*_$][ \t]*[<>])[ \t]*\\?-[ \t]+$")
WORD_MINUS = re.compile(r"(?:\b(?:of|is|was|by|to|and|at|from)|[=(\[,|])\s*(?:minus|negative)\s+$", re.IGNORECASE)
P_VALUE = re.compile(
    r"(?<![A-Za-z])p(?:[\s-]?values?)?(?![A-Za-z])[^.;|=<>]{0,40}?"
    r"(?P<sign><=|>=|[<>≤≥]|&[lg]t;|\\[lg]eq?|\\[lg]t|below|less than|under|smaller than|above|greater than|over)"
    r"[\s$*_{}]*$",
    re.IGNORECASE,
)
MINUS = "\u2212"
THRESHOLDS = {Decimal(text) for text in ("0.1", "0.05", "0.01", "0.001", "0.0001")}
REASONS = {
    "no_answers": "a condition has no answers",
    "one_trial": "a condition has only one answer",
    "zero_variance": "no answer differs from the others of its condition",
}


def report_prompt(analysis, *, case_text, prompts):
    """Return what an LLM is asked, so that it writes the paper on an experiment.

    Parameters
    ----------
    analysis : dict
        As `analysis.experiment.analyze` returns it.
    case_text : str
        The vignette that every trial was given.
    prompts : dict of str to str, or iterable of str
        What was asked at each step, in order.

    Returns
    -------
    str
    """
    experiment, config, compared = analysis["experiment"], analysis["config"], analysis["humanComparison"]
    reference = analysis["humanBaseline"]["reference"]
    human = analysis["humanBaseline"]
    fixed, uncertain = compared["fixedHuman"], compared["uncertainHuman"]
    return f"""Write a concise, human-readable scientific paper in Markdown on the experiment below.

Rules
- Begin with the title as a heading of the first level. Then give each of these sections a heading of the second level,
  under exactly this name: {", ".join(SECTIONS)}.
- Do not invent numbers. Base every quantitative claim strictly on the analysis below: no number that is not in it, none
  that you computed yourself, no percentages of your own. You may round. Keep the sign of every number: a difference of
  -0.3 is written -0.3. A statistic that is null was not computed: say so, with the reason that stands beside it.
- Results reports the computed statistics: per condition the trials with and without an answer, n, mean, median,
  standard deviation, standard error and five-number summary; then the difference high - low with its test, effect size
  and interval.
- Discussion must compare the LLM with the human baseline of {human["location"]} (low: {human["lowMean"]:.2f},
  high: {human["highMean"]:.2f}, difference: {human["difference"]:.2f} {human["unit"]}) and cite
  {_authors_in_text(reference)}.
- Discussion must state the label of the comparison, in capitals: **{fixed["label"]}**. Use no other of the labels LESS,
  SIMILAR, GREATER and INCONCLUSIVE outside Methods, except that a sentence which names the uncertainty of the human
  difference may say {uncertain["label"]}.
- Discussion must interpret the finding relative to the null hypothesis, in these words or with the same meaning:
  "{fixed["interpretation"]}"
- Limitations must say that the case materials are an incomplete summary of those of the original study, and that LLMs
  have no legal qualifications and no judicial experience, unlike its participants.
- References contains this full citation, as it is: {reference["citation"]}
- Return the paper only, without a code fence around it.

Experiment
- ID: {experiment["id"]}
- Name: {experiment["name"]}
- Anchor derivation: {experiment["anchorDerivation"]}

Fixed case vignette, the same in every trial
<<<
{case_text}
>>>

What was asked
{_steps(prompts)}

Run configuration (model, trials, retry rules)
{json.dumps(config, indent=2, ensure_ascii=False, allow_nan=False)}

Analysis, with the human baseline
{json.dumps(analysis, indent=2, ensure_ascii=False, allow_nan=False)}
"""


def template_report(analysis, *, case_text, prompts):
    """Write the paper without an LLM: the same analysis gives the same text, which always passes `check_grounding`.

    Parameters
    ----------
    analysis : dict
        As `analysis.experiment.analyze` returns it.
    case_text : str
        The vignette that every trial was given; quoted in Methods.
    prompts : dict of str to str, or iterable of str
        What was asked at each step. Only the names of the steps are printed.

    Returns
    -------
    str
        Markdown.
    """
    experiment, totals, comparison = analysis["experiment"], analysis["totals"], analysis["comparison"]
    human, compared = analysis["humanBaseline"], analysis["humanComparison"]
    fixed, uncertain = compared["fixedHuman"], compared["uncertainHuman"]
    low, high = _low_and_high(analysis)
    unit, cite = experiment["responseUnit"], _authors_in_text(human["reference"])
    bootstrap = comparison["confidenceIntervalMethod"]
    confidence = _percent(bootstrap["confidence"])
    intro = (
        f"An LLM was given a case and a {low['anchorDirection']} ({low['anchorValue']}) or "
        f"{high['anchorDirection']} ({high['anchorValue']}) anchor, in {unit}, that was "
        f"{_inline(experiment['anchorDerivation'])}. "
    )
    label = (
        f"Against the human difference taken as fixed, the anchoring bias of the LLM is labelled **{fixed['label']}**."
    )
    steps = [_inline(name) for name in prompts] if isinstance(prompts, dict) else []
    return f"""# {_inline(experiment["name"])}: an LLM compared with human legal professionals

## Abstract

{intro}{_difference_sentence(analysis)} {label}

## Methods

The experiment `{experiment["id"]}` follows {human["location"]} of {cite}. Each trial presents the same case, asks for
an evaluation of the demand that is the anchor, then of a second demand that is the same in all trials, and finally for
a sentence as a whole number from {experiment["validMin"]} to {experiment["validMax"]} ({unit}).{_step_names(steps)}

The case, identical in all trials:

{_quote(case_text)}

Run configuration:

{_bullets(analysis["config"])}

Errored trials are counted and left out of the statistics. Standard deviations divide by the number of answers less one;
quartiles are {low["quartileMethod"]}. The conditions are compared by a Welch t-test (two-sided). Cohen's d uses the
pooled standard deviation, and Hedges' g corrects it for small samples. The {confidence} interval of the difference is a
percentile bootstrap with {_number(bootstrap["nResamples"])} resamples and the seed {bootstrap["rngSeed"]}
({bootstrap["generator"]}).

The null hypothesis is: {compared["nullHypothesis"]} LLM and human count as similar only if two one-sided tests
(TOST, alpha {_plain(compared["alpha"])}) show that their differences lie within {_plain(compared["margin"])}
{human["unit"]} of each other; a difference that is merely not significant does not count as similar.

## Results

Of {_count(totals["nTrials"], "trial")}, {totals["nOk"]} gave an answer and {totals["nError"]} ended in an error.\
{_errors(analysis["conditions"])}

| Statistic | {low["conditionId"]} | {high["conditionId"]} |
| --- | ---: | ---: |
{_condition_rows(low, high)}

{_notes([low, high])}{_difference_sentence(analysis)}

| High {MINUS} low | Value |
| --- | --- |
{_comparison_rows(comparison)}

{_degenerate_note(comparison)}

## Discussion

{cite} found a mean of {human["lowMean"]:.2f} {human["unit"]} under the low and {human["highMean"]:.2f}
{human["unit"]} under the high anchor, a difference of {human["difference"]:.2f} {human["unit"]}
(t({_plain(human["df"])}) = {_number(human["t"])}, {_p(human["pValue"])}, N = {human["n"]}). From this follow a standard
error of {_number(human["standardError"])} and a {_percent(human["confidenceInterval"]["confidence"])} interval of
{_interval(human["confidenceInterval"])}.

| Difference LLM {MINUS} human | Human taken as fixed | With human uncertainty |
| --- | ---: | ---: |
{_human_rows(fixed, uncertain)}

{_human_note(fixed)}{label} {fixed["interpretation"]}

{uncertain["interpretation"]}

## Limitations

- Incomplete case materials: the vignette is a summary of the published description. The original study likely included
  more detailed materials, which are not available, so that only the manipulation of the anchor is replicated exactly.
- No legal qualifications: an LLM has no legal training, no professional experience and no judicial context, whereas the
  original study asked {human["n"]} legal professionals ({human["nJudges"]} judges, {human["nProsecutors"]} prosecutors
  and others, with a mean experience of {_plain(human["meanExperienceYears"])} years). Its answers cannot be equated
  with human legal judgments, though patterns of anchoring can be compared.
- The answers come from one LLM under one configuration, and repeated trials of one LLM are not independent
  participants.
- The human difference is itself an estimate; the label that takes it as fixed does not carry its uncertainty.

## Conclusion

{_conclusion(comparison)} {label}

## References

{human["reference"]["citation"]}
"""


def check_grounding(text, analysis, *, case_text="", prompts=()):
    """Say what is wrong with a paper on an experiment.

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
        The paper, in Markdown.
    analysis : dict
        As `analysis.experiment.analyze` returns it.
    case_text : str
    prompts : dict of str to str, or iterable of str

    Returns
    -------
    list of str
        One sentence per problem; empty if the paper may stand.
    """
    text = normalised(text)
    sections, starts = sections_of(text)
    problems = [f"the section {name} is missing" for name in ("Title", *SECTIONS) if not sections.get(name, "").strip()]
    problems += _number_problems(text, starts, analysis, [case_text, *_texts(prompts)])
    problems += _label_problems(sections, analysis["humanComparison"])
    problems += _discussion_problems(sections.get("Discussion", ""), analysis)
    problems += _reference_problems(sections.get("References", ""), analysis["humanBaseline"]["reference"])
    return list(dict.fromkeys(problems))


# The check: numbers


def _number_problems(text, starts, analysis, sources):
    human = analysis["humanBaseline"]
    values, names = _values_and_names(analysis)
    percentages = {_exact(round(100 * share, 10)) for level in _levels(analysis) for share in (level, 1 - level)}
    for source in map(normalised, sources):
        for value, _, _, end in _numbers(source, source):
            (percentages if PERCENT.match(source, end) else values).add(value)
    problems = []
    for value, quantum, start, end in printed_numbers(text, names, _citation_masks(human["reference"])):
        section = starts[bisect_right([at for at, _ in starts], start) - 1][1]
        p_value = P_VALUE.search(text, max(0, start - 60), start)
        if p_value and not (section == "Methods" and value == _exact(analysis["humanComparison"]["alpha"])):
            is_grounded = _threshold_holds(value, p_value["sign"], text[:start], analysis)
        else:
            known = percentages if PERCENT.match(text, end) else values
            is_grounded = any(rounds_to(candidate, value, quantum) for candidate in known)
        if not is_grounded:
            around = " ".join(text[max(0, start - 30) : end + 12].split())
            problems.append(f"the number {value} in {section} is not in the analysis: '{around}'")
    return problems


def _numbers(masked, text):
    """Yield value, exponent of the last printed digit, start and end of each number in a normalised text."""
    for match in NUMBER.finditer(masked):
        digits = (match["mantissa"] or match["plain"] or "1").replace(",", "")
        shift = int(match["power"] or match["exponent"] or 0)
        start, end = match.span()
        value = Decimal(f"{digits}e{shift}")
        if _is_negative(text[max(0, start - 40) : start]):
            value = value.copy_negate()
        yield value, shift - len(digits.partition(".")[2]), start, end


def _is_negative(before):
    attached = ATTACHED_MINUS.search(before)
    if attached:
        # A dash after a word or number is a hyphen or a range.
        left = attached["before"].rstrip("*_$")[-1:] or attached["before"][:1]
        return not (left.isalnum() or left in tuple(")]}%"))
    return bool(DETACHED_MINUS.search(before) or WORD_MINUS.search(before))


def printed_numbers(text, names=(), patterns=()):
    """Yield each number that a text states, but not those of list items and of headings.

    Parameters
    ----------
    text : str
        As `normalised` returns it.
    names : iterable of str
        What may stand in the text whatever its digits, word for word.
    patterns : iterable of re.Pattern
        The same, as patterns.

    Yields
    ------
    tuple
        The value, the exponent of its last printed digit, its start and its end.
    """
    longest_first = sorted(map(normalised, names), key=len, reverse=True)
    yield from _numbers(_masked(text, [*map(_verbatim, longest_first), *patterns]), text)


def rounds_to(known, value, quantum):
    """Say whether a known number, rounded half even or half up to the digits that are printed, is a printed one.

    Parameters
    ----------
    known, value : decimal.Decimal
    quantum : int
        The exponent of the last printed digit.

    Returns
    -------
    bool
    """
    with localcontext() as context:
        context.prec = 60
        candidates = {known, Decimal(float(known))}  # as printed, and as the computer holds it
        for candidate in candidates:
            for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP):
                try:
                    if candidate.quantize(Decimal(1).scaleb(quantum), rounding) == value:
                        return True
                except InvalidOperation:  # so many digits that they are surely not the same number
                    break
    return False


def _threshold_holds(threshold, sign, before, analysis):
    compared = analysis["humanComparison"]
    human = analysis["humanBaseline"]
    cues = {
        "human": rf"human|Englich|legal professional|{re.escape(normalised(human['location']))}",
        "equivalence": r"TOST|equivalen|one-sided",
        "llm": r"\bLLM|Welch|\bmodel\b",
    }
    if not rounds_to(_exact(analysis["comparison"]["df"] or 0), _exact(human["df"]), 0):
        cues["human"] += rf"|t\({_plain(human['df'])}(?:\.0*)?\)"
        cues["llm"] += r"|t\("
    p_values = {
        "human": [human["pValue"]],
        "equivalence": [compared[name]["tostPValue"] for name in ("fixedHuman", "uncertainHuman")],
        "llm": [analysis["comparison"]["pValue"]],
    }
    paragraph = re.split(r"\n\s*\n|\n(?=\s*[-*|#])", before)[-1]
    spoken_of = re.findall("|".join(f"(?P<{name}>{cue})" for name, cue in cues.items()), paragraph, re.IGNORECASE)
    last = spoken_of[-1] if spoken_of else ("", "", "x")
    subject = next(name for name, found in zip(cues, last, strict=True) if found)
    is_below = re.match(r"[<≤]|&lt|\\l|below|less|under|smaller", sign, re.IGNORECASE)
    return threshold in THRESHOLDS and any(
        p is not None and (_exact(p) < threshold if is_below else _exact(p) > threshold) for p in p_values[subject]
    )


def _values_and_names(analysis):
    """Return the numbers of an analysis, and its texts with digits in them, which may be quoted."""
    values, names = set(), set()

    def walk(value):
        if isinstance(value, dict):
            for key, item in value.items():
                walk(key)
                if item is not analysis["humanBaseline"]["reference"]:
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            values.add(_exact(value))
        elif isinstance(value, str) and any(c.isdigit() for c in value):
            if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)", normalised(value).strip()):
                values.add(Decimal(normalised(value).strip()))
            else:
                names.update(_quotable(normalised(value)))

    walk(analysis)
    return values, names


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


def _verbatim(name):
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<![\w.-]){words}(?!\w|[.,]\d)", re.IGNORECASE)


def _citation_masks(reference):
    surname = re.escape(normalised(reference["authors"]).split(",")[0])
    volume, issue, year = (re.escape(reference[name]) for name in ("volume", "issue", "year"))
    pages = r"\s*-+\s*".join(map(re.escape, re.split(r"-+", normalised(reference["pages"]))))
    for pattern in (
        rf"\b{surname}\b[^\d]{{0,80}}?[(,]\s*{year}(?!\d|[.,]\d)",
        rf"(?<!\d){volume}[*_]*\s*\([*_]*{issue}[*_]*\)",
        rf"\bvol(?:ume|\.)?\s*{volume}(?!\d|[.,]\d)",
        rf"\b(?:no\.|issue)\s*{issue}(?!\d|[.,]\d)",
        rf"(?<!\d){pages}(?!\d|[.,]\d)",
        rf"(?<![\w.]){re.escape(reference['doi'])}(?!\d|[.,]\d)",
    ):
        yield re.compile(pattern, re.IGNORECASE)


def _masked(text, patterns):
    """Return the text, as long as before, without what may stand in it whatever its digits."""

    def blank(match):
        return re.sub(r"\S", "x", match[0])

    seen = set()

    def list_number(match):
        n = int(match["n"])
        is_item = n == 1 or n - 1 in seen
        if is_item:
            seen.add(n)
        return blank(match) if is_item else match[0]

    def heading(match):
        number = HEADING_NUMBER.match(match["text"])
        is_numbering = number and (number[0].strip(" \t*_")[-1] in ".):" or _section_name(match))
        at = match.start("text") - match.start()
        return match[0][:at] + blank(number) + match[0][at + number.end() :] if is_numbering else match[0]

    masked = HEADING.sub(heading, text)
    masked = LIST_NUMBER.sub(list_number, masked)
    masked = re.sub(r"(?<![A-Za-z])(?:Q_?\{?[1-4]|H_?\{?[01])\b", blank, masked)
    for pattern in patterns:
        masked = pattern.sub(blank, masked)
    return masked


def _levels(value, key=""):
    if isinstance(value, dict):
        return {level for name, item in value.items() for level in _levels(item, name)}
    if isinstance(value, list):
        return {level for item in value for level in _levels(item)}
    is_level = key in ("confidence", "alpha") and isinstance(value, float)
    return {value} if is_level else set()


# The check: sections, labels, citation


def normalised(text):
    """Return the text with one dash, one apostrophe, plain digits and plain thousands; as many lines as before.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    text = text.replace("\r\n", "\n").replace("{,}", ",").replace("&minus;", "-").translate(DASHES)
    text = re.sub(r"(?<=10)[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda m: "^" + m[0].translate(SUPERSCRIPTS), text)
    text = re.sub(r"(?<=\d)[\u00a0\u202f\u2009_](?=\d{3}(?!\d))", ",", text)
    text = re.sub(r"(\d*)([¼½¾⅐-⅞])", lambda m: _mixed(m[1], m[2]), text)
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _mixed(whole, fraction):
    return f"{int(whole or 0) + unicodedata.numeric(fraction):.10f}".rstrip("0")


def _section_name(heading):
    words = HEADING_NUMBER.sub("", heading["text"]).strip("*_ \t").lower()
    for name in SECTIONS:
        if re.match(rf"{name.lower().removesuffix('s')}s?\b", words):
            return name
    return None


def sections_of(text):
    """Return the text under the heading of each of `SECTIONS`, and where which section starts.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple
        A dict of str to str, with `Title`, and a list of positions and names.
    """
    sections, starts, level = {}, [(0, "the beginning")], 0
    headings = list(HEADING.finditer(text))
    for heading in headings:
        name, depth = _section_name(heading), len(heading["hashes"])
        if name:
            level = depth
            starts.append((heading.start(), name))
        elif not sections.get("Title") and len(starts) == 1:
            sections["Title"] = re.sub(r"(?i)^title\b\W*", "", heading["text"]) or text[heading.end() :].strip()[:100]
            starts[0] = (0, "Title")
        elif depth <= level:
            starts.append((heading.start(), heading["text"] or "an unnamed section"))
    for (start, name), (end, _) in zip(starts, [*starts[1:], (len(text), "")], strict=True):
        if name in SECTIONS:
            body = text[start:end].partition("\n")[2]
            sections[name] = sections.get(name, "") + "\n\n" + body
    return sections, starts


def sentences(text):
    """Yield the sentences of a Markdown text; an item of a list and a row of a table is at least one.

    Parameters
    ----------
    text : str

    Yields
    ------
    str
    """
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+|>#]|\d+[.)])\s)", text):
        yield from re.split(r"(?<=[.!?])(?<!\bal\.)[\"')*_\]]*\s+(?=[\"'(*_\[]*[A-Z])", " ".join(block.split()))


def _label_problems(sections, compared):
    headline, uncertain = compared["label"], compared["uncertainHuman"]["label"]
    problems = []
    if headline not in LABEL.findall(sections.get("Discussion", "")):
        problems.append(f"the Discussion does not state the label {headline}")
    for section, body in sections.items():
        if section == "Methods":
            continue
        for sentence in sentences(body):
            allowed = {headline, uncertain} if re.search("uncertain", sentence, re.IGNORECASE) else {headline}
            problems += [
                f"{section} states the label {label}, but the analysis says {headline}"
                for label in LABEL.findall(sentence)
                if label not in allowed
            ]
    return problems


def _discussion_problems(discussion, analysis):
    human, compared = analysis["humanBaseline"], analysis["humanComparison"]
    problems = []
    stated = {value for value, *_ in _numbers(discussion, discussion)}
    for name, what in (("lowMean", "low mean"), ("highMean", "high mean"), ("difference", "difference")):
        if _exact(human[name]) not in stated:
            problems.append(f"the Discussion does not compare with the human {what} of {human[name]:.2f}")
    surname = human["reference"]["authors"].split(",")[0]
    if not re.search(rf"\b{re.escape(surname)}\b[^\d]{{0,80}}?[(,]\s*{human['reference']['year']}(?!\d)", discussion):
        problems.append(f"the Discussion does not cite {_authors_in_text(human['reference'])}")

    wanted, said = compared["decision"], set()
    for sentence in sentences(discussion):
        if re.search(r"null[\s-]+hypothesis|(?<![A-Za-z])H_?\{?0", sentence, re.IGNORECASE):
            is_uncertain = re.search("uncertain", sentence, re.IGNORECASE)
            said |= _decisions(sentence) & {wanted} if is_uncertain else _decisions(sentence)
    if wanted not in said:
        problems.append(f"the Discussion does not say that the null hypothesis is {wanted.replace('_', ' ')}")
    contrary = {"rejected": {"not_rejected", "undecidable"}, "undecidable": {"rejected"}}
    for decision in sorted(said & contrary.get(wanted, {"rejected", "undecidable"})):
        problems.append(
            f"the Discussion says that the null hypothesis is {decision.replace('_', ' ')}, "
            f"but by the analysis it is {wanted.replace('_', ' ')}"
        )
    return problems


def _decisions(sentence):
    """Say what a sentence on the null hypothesis decides, clause by clause."""
    decisions = set()
    for clause in re.split(r"[;:,]|\b(?:while|but|although|though|whereas)\b", sentence):
        if re.search(r"neither|undecid|cannot be decided|inconclusive|no decision", clause, re.IGNORECASE):
            decisions.add("undecidable")
        elif re.search(
            r"\b(?:not|cannot|never|fail\w*|unable|no)\b.{0,40}\breject|\b(?:retain|uphold|upheld)",
            clause,
            re.IGNORECASE,
        ):
            decisions.add("not_rejected")
        elif re.search(r"\breject", clause, re.IGNORECASE):
            decisions.add("rejected")
    return decisions


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


# The template: parts and printed numbers


def _exact(number):
    return Decimal(str(number))


def _number(value, digits=2):
    """Print a number: whole ones as they are, others rounded, null as such."""
    if value is None:
        return "n/a"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    with localcontext() as context:
        context.prec = 400
        rounded = _exact(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
    return f"{rounded + 0:f}".replace("-", MINUS)


def _plain(value):
    """Print a number with all its digits, but 37.0 as 37."""
    return str(int(value)) if value == int(value) else f"{_exact(value):f}"


def _percent(share):
    return f"{_plain(round(100 * share, 10))} %"


def _p(value):
    return "p n/a" if value is None else "p < 0.001" if value < 0.001 else f"p = {_number(value, 3)}"


def _interval(interval):
    return "n/a" if interval is None else f"[{_number(interval['low'])}, {_number(interval['high'])}]"


def _count(n, word):
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _inline(text):
    return " ".join(str(text).split())


def _quote(text):
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) or "> (no case text)"


def _bullets(config):
    return "\n".join(f"- {_inline(name)}: {_shown(value)}" for name, value in config.items()) or "- (none recorded)"


def _shown(value):
    if isinstance(value, dict):
        return "; ".join(f"{_inline(name)} {_shown(item)}" for name, item in value.items()) or "(none)"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "(none)"
    return _inline(value) if isinstance(value, str) else json.dumps(value)


def _authors_in_text(reference):
    return f"{reference['authors'].split(',')[0]} et al. ({reference['year']})"


def _texts(prompts):
    return list(prompts.values()) if isinstance(prompts, dict) else list(prompts)


def _steps(prompts):
    named = prompts.items() if isinstance(prompts, dict) else enumerate(prompts, start=1)
    return "\n\n".join(f"[{name}]\n{text}" for name, text in named)


def _step_names(names):
    return f" The steps are: {', '.join(names)}." if names and not any(c.isdigit() for c in "".join(names)) else ""


def _low_and_high(analysis):
    by_id = {condition["conditionId"]: condition for condition in analysis["conditions"]}
    return by_id[analysis["comparison"]["lowConditionId"]], by_id[analysis["comparison"]["highConditionId"]]


def _errors(conditions):
    listed = [
        f"{code} ({_number(n)}, {condition['conditionId']})"
        for condition in conditions
        for code, n in condition["errors"].items()
    ]
    return f" Errors by code: {'; '.join(listed)}." if listed else ""


def _condition_rows(low, high):
    rows = (
        ("Trials", "nTrials"),
        ("Answered", "nOk"),
        ("Errors", "nError"),
        ("Mean", "mean"),
        ("Standard deviation", "standardDeviation"),
        ("Standard error", "standardError"),
        ("Minimum", "min"),
        ("First quartile", "q1"),
        ("Median", "median"),
        ("Third quartile", "q3"),
        ("Maximum", "max"),
    )
    return "\n".join(f"| {title} | {_number(low[name])} | {_number(high[name])} |" for title, name in rows)


def _notes(conditions):
    words = {"no_answers": "has no answers", "one_trial": "has only one answer, and so no spread"}
    said = [
        f"The condition {c['conditionId']} {words[r]}." for c in conditions for r in sorted(set(c["reasons"].values()))
    ]
    return f"{' '.join(said)}\n\n" if said else ""


def _difference_sentence(analysis):
    comparison = analysis["comparison"]
    unit = analysis["experiment"]["responseUnit"]
    if comparison["difference"] is None:
        return "The conditions could not be compared, because a condition has no answers."
    low, high = _low_and_high(analysis)
    means = (
        f"The mean answer was {_number(low['mean'])} under the low and {_number(high['mean'])} under the high anchor, "
        f"a difference of {_number(comparison['difference'])} ({unit})"
    )
    if comparison["t"] is None:
        return f"{means}; there is no test of it, because {REASONS[comparison['reasons']['t']]}."
    return (
        f"{means}, with Welch's t({_number(comparison['df'])}) = {_number(comparison['t'])}, "
        f"{_p(comparison['pValue'])}, and Hedges' g = {_number(comparison['hedgesG'])}."
    )


def _comparison_rows(comparison):
    level = comparison["confidenceIntervalMethod"]["confidence"]

    def cell(name, shown=_number):
        reason = comparison["reasons"].get(name)
        return f"not computed: {REASONS[reason]}" if reason else shown(comparison[name])

    rows = [
        ("Difference of the means", cell("difference")),
        ("Standard error", cell("standardError")),
        ("Welch's t", cell("t")),
        ("Degrees of freedom", cell("df")),
        ("p value (Welch)", cell("pValue", _p)),
        ("Cohen's d", cell("cohensD")),
        ("Hedges' g", cell("hedgesG")),
        (f"{_percent(level)} interval, bootstrap", cell("confidenceInterval", _interval)),
        (f"{_percent(level)} interval, Welch", cell("welchInterval", _interval)),
    ]
    return "\n".join(f"| {title} | {value} |" for title, value in rows)


def _degenerate_note(comparison):
    interval = comparison["confidenceInterval"]
    if interval and interval["isDegenerate"]:
        return (
            "All answers within each condition are the same, so the bootstrap interval has no width: it says nothing "
            "about answers that were not seen."
        )
    return "Each interval is in the unit of the answers."


def _human_rows(fixed, uncertain):
    def row(title, shown):
        return f"| {title} | {shown(fixed)} | {shown(uncertain)} |"

    def interval(name):
        known = fixed[name] or uncertain[name]
        title = "Interval" if known is None else f"{_percent(known['confidence'])} interval"
        return row(title, lambda compared: _interval(compared[name]))

    return "\n".join(
        [
            row("Difference", lambda compared: _number(compared["difference"])),
            row("Standard error", lambda compared: _number(compared["standardError"])),
            interval("equivalenceInterval"),
            interval("confidenceInterval"),
            row("TOST", lambda compared: _p(compared["tostPValue"])),
        ]
    )


def _human_note(fixed):
    if fixed["isExact"]:
        return "No answer varies within its condition, so the difference to the fixed human value is exact. "
    if fixed["reasons"]:
        return f"The comparison cannot be decided by a test, because {REASONS[fixed['reasons']['standardError']]}. "
    return ""


def _conclusion(comparison):
    difference = comparison["difference"]
    if difference is None:
        return "Without answers in both conditions the experiment shows nothing about anchoring."
    if comparison["pValue"] is None:
        return "The data allow no test of whether the anchor moved the answers."
    interval = comparison["welchInterval"]
    if interval["low"] > 0:
        return "The answers followed the anchor."
    if interval["high"] < 0:
        return "The answers moved against the anchor."
    return "The data do not establish that the anchor moved the answers."
