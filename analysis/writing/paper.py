"""The paper on a study: what an LLM is asked, what is written without one, and whether it may stand.

A paper may stand if every number in it is one of the facts, and one of what its sentence speaks of: a number of SACD in
a sentence on Devil's Advocate alone is a problem, and so is one of another domain.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from analysis.reading.numerals import PERCENT, PERCENTAGE_POINTS, sentence_starts
from analysis.words import shortfalls
from analysis.words.changes import sentences
from analysis.words.codes import GOALS, REASONS
from analysis.words.conclusions import LABELS
from analysis.writing import markdown
from analysis.writing.documents import MINUS, filters, written
from analysis.writing.facts import exact, is_number, leaves
from analysis.writing.numbers import THRESHOLDS, citation, number_problems
from analysis.writing.paper_facts import COMPARISONS, REFERENCES, named_in_unit

LABEL = re.compile(rf"(?<![A-Za-z-])(?:{'|'.join(LABELS.values())})(?![A-Za-z-])")
KINDS = {"domains": "domain", "techniques": "technique", "llms": "llm"}
CONTROL = "No technique"
CONTROL_IN_TEXT = re.compile(
    r"(?<![A-Za-z])(?:no[ -]technique|without (?:a |any )?technique)(?![A-Za-z])", re.IGNORECASE
)
ESTABLISHED = re.compile(r"(?<!not )(?<!nothing is )(?<!to be )\bestablished\b", re.IGNORECASE)
PLACEBO = re.compile(r"placebo|asking again", re.IGNORECASE)
SIMULATED = "SIMULATED: no LLM was asked; simulated respondents with a stated truth answered."


def paper_prompt(facts):
    """Return what an LLM is asked, so that it writes the paper on a study.

    Parameters
    ----------
    facts : dict
        As `facts_of` returns it.

    Returns
    -------
    str
    """
    return written(
        "paper_prompt",
        {},
        **facts,
        facts=facts,
        sections=markdown.SECTIONS,
        labels=LABELS.values(),
        simulated=SIMULATED,
    )


def template_paper(facts):
    """Write the paper without an LLM: the same facts give the same text, which always passes `check_paper`.

    Parameters
    ----------
    facts : dict
        As `facts_of` returns it.

    Returns
    -------
    str
        Markdown.
    """
    return written("paper", FILTERS, **facts, simulated=SIMULATED)


def check_paper(text, facts):
    """Say what is wrong with a paper on a study.

    A number is grounded if a fact, rounded to the digits printed, equals it, sign included, and if it belongs to what
    its sentence names (or else its heading): a technique, a domain, an LLM, or the study as a whole. Names and
    citations of the facts may be quoted whatever their digits. `p < .05` is grounded if a p value of what is spoken of
    lies below.

    Parameters
    ----------
    text : str
        The paper, in Markdown.
    facts : dict
        As `facts_of` returns it.

    Returns
    -------
    list of str
        One sentence per problem; empty if the paper may stand.
    """
    text = _without_reasons(markdown.normalised(text), facts)
    sections, starts = markdown.sections_of(text)
    names = _Names(facts)
    problems = markdown.missing_sections(sections)
    problems += _number_problems(text, starts, facts, names)
    problems += _label_problems(sections, facts, names)
    problems += _surer_than_it_is(sections, facts, names)
    discussion = markdown.comparable(sections.get("Discussion", ""))
    problems += [
        f"the Discussion does not say of the domain {name} what the decisions are: '{domain['conclusion']}'"
        for name, domain in facts["domains"].items()
        if markdown.comparable(domain["conclusion"]) not in discussion
    ]
    if facts["is_simulated"]:
        problems += [
            f"the {name} does not say that the data are SIMULATED"
            for name in ("Title", "Abstract")
            if "SIMULATED" not in sections.get(name, "")
        ]
    printed = markdown.comparable(sections.get("References", ""))
    problems += [
        f"the References lack: {cited}" for cited in facts["references"] if markdown.comparable(cited) not in printed
    ]
    return list(dict.fromkeys(problems))


# The check


def _without_reasons(text, facts):
    """Blank out why people withdrew or reread trials, where that stands after `reason: `: any words of theirs may."""
    reasons = {
        markdown.normalised(_markdown_text(each["reason"]))
        for scope in (facts, *facts["domains"].values())
        for change in scope["post_hoc_changes"].values()
        for each in change["reasons"]
    }
    for reason in sorted(reasons, key=len, reverse=True):
        literal = re.escape(reason)
        pattern = rf"(?<=reason: ){literal}(?=\))|(?:(?<=reasons: )|(?<=; )){literal}(?= \([\d,]+\)[;)])"
        text = re.sub(pattern, " " * len(reason), text)
    return text


class _Names:
    """The techniques, domains and LLMs of a study, as a text may name them."""

    def __init__(self, facts):
        meanings = {}
        for domain, of_domain in facts["domains"].items():
            meanings[domain.replace("_", " ")] = ("domain", domain)
            meanings |= {technique: ("technique", technique) for technique in of_domain["techniques"]}
            for llm in of_domain["llms"]:
                short = llm.split("/")[-1]
                is_telling = any(c.isdigit() for c in short)  # o3, but not a respondent who is called `steady`
                meanings |= dict.fromkeys((llm, short) if is_telling else (llm,), ("llm", llm))
        longest_first = sorted(meanings, key=len, reverse=True)
        words = [r"[\s_-]+".join(map(re.escape, markdown.normalised(name).split())) for name in longest_first]
        self.found_as = [meanings[name] for name in longest_first]
        self.pattern = re.compile(
            "|".join(f"(?<![A-Za-z0-9])({word})(?![A-Za-z0-9])" for word in words) or r"(?!)", re.IGNORECASE
        )

    def of(self, text):
        """Return what a text names: kind to set of names."""
        names_by_kind = {}
        for match in self.pattern.finditer(text):
            kind, meant = self.found_as[match.lastindex - 1]
            names_by_kind.setdefault(kind, set()).add(meant)
        if CONTROL_IN_TEXT.search(text):
            names_by_kind.setdefault("technique", set()).add(CONTROL)
        return names_by_kind


@dataclass(frozen=True)
class _Fact:
    """A number among the facts: under which names it stands, and whether it is only a bound, as in `p < 0.001`."""

    value: Decimal
    path: str
    of: dict
    is_bound: bool

    @property
    def name(self):
        """The last of its names."""
        return self.path.rpartition("/")[2]

    def is_of(self, meant):
        """Say whether it belongs to what is meant: kind to set of names."""
        return all(kind not in self.of or self.of[kind] in named for kind, named in meant.items())

    def is_beyond(self, threshold, side):
        """Say whether it is a p value that lies on this side of a threshold."""
        if not self.name.startswith("p_"):
            return False
        if side == "below":
            return self.value < threshold or (self.is_bound and self.value == threshold)
        return not self.is_bound and self.value > threshold


def _facts(facts):
    """Yield the numbers among the facts, each with the path to it and what it is of."""
    for path, value in leaves(facts):
        subjects, names, keys = {}, [], iter(path)
        for key in keys:
            names.append(str(key))
            if key in KINDS:
                subjects[KINDS[key]] = next(keys, None)
        if is_number(value):
            yield _Fact(exact(value), "/".join(names), subjects, is_bound=False)
        elif isinstance(value, str) and names[-1].startswith("p_"):
            yield _Fact(Decimal(value.strip("< ")), "/".join(names), subjects, is_bound=True)


def _number_problems(text, starts, facts, names):
    all_facts = list(_facts(facts))
    sentences = sentence_starts(text)
    headings = [(0, ""), *((match.start(), match["text"]) for match in markdown.HEADING.finditer(text))]

    def is_grounded(number, candidates):
        if side := number.threshold_side(text):
            return number.value in THRESHOLDS and any(fact.is_beyond(number.value, side) for fact in candidates)
        if PERCENT.match(text, number.end):
            candidates = [fact for fact in candidates if "percent" in fact.path and "_pp" not in fact.name]
        elif PERCENTAGE_POINTS.match(text, number.end):
            candidates = [fact for fact in candidates if "_pp" in fact.path]
        else:
            candidates = [fact for fact in candidates if not fact.path.startswith("reference_points/")]
        return any(not fact.is_bound and number.is_rounded(fact.value) for fact in candidates)

    def why_not(number, section):
        meant = names.of(markdown.last_before(headings, number.start)) | names.of(
            markdown.last_before(sentences, number.start)
        )
        if is_grounded(number, [fact for fact in all_facts if fact.is_of(meant)]):
            return None
        of_what = " and ".join(sorted(name for group in meant.values() for name in group))
        return f"is not one of {of_what}" if of_what and is_grounded(number, all_facts) else "is not in the analysis"

    quotable = [*_quotable(facts), *(of_domain["conclusion"] for of_domain in facts["domains"].values())]
    citations = [citation(surname, year) for surname, year, _ in REFERENCES]
    return number_problems(text, starts, why_not, names=quotable, patterns=citations)


def _quotable(facts):
    """Yield the names of the study, its LLMs, techniques and domains, citations, published headlines and reasons."""
    yield facts["study"]
    yield from REASONS.values()
    yield from facts["references"]
    yield from facts["published_claims"]["sentences_that_do_not_hold"]
    for llm in facts["llms_asked"]:
        yield from (llm, llm.split("/")[-1], _markdown_text(llm))
    for domain, of_domain in facts["domains"].items():
        yield from (domain, domain.replace("_", " "), *of_domain["techniques"], *of_domain["llms"], *of_domain["units"])
        for named in of_domain["llms"].values():
            yield from (*named, *(_markdown_text(name) for name in named))


def _label_problems(sections, facts, names):
    """Find decisions that were not made: in a sentence with a technique, its label must be one of that technique's.

    What is decided against a placebo may only stand where one is spoken of.
    """
    problems = []
    for section, sentence, label in markdown.stated(LABEL, sections):
        if label not in {by["decision"] for by in _made(sentence, facts, names)}:
            problems.append(f"{section} states the decision {label}, which was not made: '{sentence[:100]}'")
    return problems


def _surer_than_it_is(sections, facts, names):
    """Find sentences that call established what is at most supported."""
    return [
        f"{section} calls established what is not: '{sentence[:100]}'"
        for section, sentence, _ in markdown.stated(ESTABLISHED, sections)
        if section != "References" and not any(by["is_established"] for by in _made(sentence, facts, names))
    ]


def _made(sentence, facts, names):
    """Yield the decisions on what a sentence names: a technique of a domain, or all."""
    meant = names.of(sentence)
    for domain, of_domain in facts["domains"].items():
        if domain in meant.get("domain", facts["domains"]):
            placebo = _decided(of_domain, COMPARISONS["placebo"]) if PLACEBO.search(sentence) else []
            for technique, _, by in [*_decided(of_domain), *placebo]:
                if technique in (meant.get("technique", set()) - {CONTROL} or of_domain["techniques"]):
                    yield by


# The words of the template


def _shown(value, digits=1):
    if value is None:
        return "not computed"
    return f"{value:,.{digits}f}".replace("-", MINUS) if isinstance(value, float) else f"{value:,}"


def _setting(value):
    """Print what is set, not measured: 5.0 as 5, and a seed without a comma."""
    return "not computed" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _markdown_text(name):
    """Return a name so that Markdown and HTML take it for text."""
    words = " ".join(str(name).split())
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words) if re.search(r"[`*\[\]<>|#\\]", words) else words


def _p_value(p):
    return "p not computed" if p is None else f"p {p}" if isinstance(p, str) else f"p = {_shown(p, 3)}"


def _reasons_of_nulls(domain):
    return sorted({r for facts in domain["techniques"].values() for r in facts.get("reason", "").split("; ") if r})


def _decided(domain, name="by"):
    """Return technique, goal and decision with what it stands on, by the goals in their order, then the techniques."""
    return [
        (technique, goal, facts[f"{name}_{goal}"])
        for goal in _goals(domain)
        for technique, facts in domain["techniques"].items()
        if f"{name}_{goal}" in facts
    ]


def _goals(domain):
    """Return the goals, the one that leads in the domain first."""
    return sorted(GOALS, key=lambda goal: goal != domain["leading_goal"])


def _llms(domain, goal):
    """Return the techniques that have something to say of single LLMs by a goal, and of each LLM a row of them."""
    of_each = {name: by.get("llms", {}) for name, of_goal, by in _decided(domain) if of_goal == goal}
    of_each = {name: llms for name, llms in of_each.items() if llms}
    llms = sorted({llm for of_technique in of_each.values() for llm in of_technique})
    return {"techniques": list(of_each), "rows": [(llm, [of.get(llm) for of in of_each.values()]) for llm in llms]}


def _changes(post_hoc_changes):
    """Say what people withdrew or reread, each sentence after a space."""
    lines = sentences(post_hoc_changes, lambda value, *_: _shown(value), _markdown_text)
    return "".join(f" {sentence}" for sentence in lines)


def _fallen_short(facts):
    """Say what of the answers counts nowhere but what people withdrew, each sentence after a space."""

    def shown(value, column):
        return f"{_shown(facts['unparsed_percent'])} %" if column == "share" else _shown(value)

    return "".join(f" {sentence}" for sentence in shortfalls.sentences(facts, shown, without=("withdrawn",)))


def _in_unit(by, name, goal):
    """Print what a decision stands on, in the unit of its goal."""
    value = by[named_in_unit(name, goal)]
    return "not computed" if value is None else f"{_shown(value)} {GOALS[goal].unit}"


def _why(fact):
    return f" ({_spoken(fact['reason'])})" if "reason" in fact else ""


def _spoken(name):
    return name.replace("_", " ")


FILTERS = filters(
    _shown, _setting, _spoken, _p_value, _why,
    _reasons_of_nulls, _decided, _goals, _in_unit, _llms, _changes, _fallen_short,
) | {"text": _markdown_text}  # fmt: skip
