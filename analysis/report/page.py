"""The report as one HTML page that loads nothing and runs nothing but its own filter."""

import hashlib
import json
from base64 import b64encode
from collections import Counter
from datetime import datetime
from pathlib import Path

from markupsafe import Markup

from analysis.report.answers import answers
from analysis.report.audit import gate_tables, provenance_tables
from analysis.report.biases import sections_on_biases
from analysis.report.evidence import figures
from analysis.report.ledger import ledger
from analysis.report.scores import sections_on_scores
from analysis.report.studies import Study
from analysis.report.tables import template
from analysis.report.text import RANKS, answer, counts, in_short
from analysis.report.values import Number, clean, clean_lines
from analysis.words.codes import GOALS, leading_first

HERE = Path(__file__).parent
SIGNIFICANT_DIGITS = 12
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def page(tables, versions, elsewhere=(), on_no_page=()):
    """Write the report.

    Parameters
    ----------
    tables : dict of str to list of dict
        The rows that each query of the report gives, in their order.
    versions : dict of str to str
        Of the programs behind the numbers.
    elsewhere : sequence of (str, str)
        The other pages: the address, and what it is about.
    on_no_page : sequence of (str or None)
        Studies with published claims that no page shows.

    Returns
    -------
    str
        HTML, the same for the same rows and versions.
    """
    tables = {name: [{k: _rounded(v) for k, v in row.items()} for row in rows] for name, rows in tables.items()}
    studies = [
        _study(Study(row["study"], bool(row["is_simulated"]), tables, tuple(row["documents"])), i)
        for i, row in enumerate(tables["studies"])
    ]
    style, script = ((HERE / name).read_text(encoding="utf-8").strip() for name in ("page.css", "page.js"))
    text = template("page.html").render(
        studies=studies,
        on_top=(on_top := _on_top(studies)),
        has_goals=(has_goals := any(study["answers"] for study in on_top)),
        asks=_question(studies, has_goals),
        goals=_goals(on_top),
        card_table=RANKS,
        llms=_llms(studies),
        elsewhere=elsewhere,
        texts=_texts(studies),
        claims_elsewhere=_claims_elsewhere(tables, on_no_page),
        only_simulated=all(study["is_simulated"] for study in studies),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        versions=sorted(versions.items()),
        fingerprint=fingerprint(tables),
        row_counts=tables["row_counts"],
    )
    return "\n".join(line if line.isprintable() else _visible(line) for line in text.split("\n")) + "\n"


def _visible(line):
    """Let no character through that nobody sees, whatever way it came; the page itself has but one such, a space."""
    return "".join(c if c == NO_BREAK_SPACE else clean(c) for c in line)


def _on_top(studies):
    """Return the studies that answer on the first screen: simulated ones only where no LLM was asked."""

    def is_answering(study):
        return study["answers"] or any(section.headline for section in study["sections"]) or study["name"] is None

    answering = list(filter(is_answering, studies))
    return [study for study in answering if not study["is_simulated"]] or answering


def _goals(studies):
    """Return the goals, first the one that leads in most domains."""
    leading = Counter(of["leading"] for study in studies for of in study["answers"])
    return leading_first(GOALS, [goal for goal, _ in leading.most_common(1)])


def _question(studies, has_goals):
    """Return the question that a page answers."""
    sections = [section for study in studies for section in study["sections"]]
    if not has_goals and studies and all(study["name"] is None for study in studies):
        return "Which of the printed numbers can be had again, and which of them hold?"
    if not has_goals and any(section.is_of_scores for section in sections):
        return "How far does an anchor move the answers that an LLM holds likely?"
    if not has_goals and sections:
        return "How large is each bias, and which technique makes it smaller?"
    return "Which debiasing technique should I use, on which LLM, in which domain, and how sure am I?"


def _panels(studies):
    return [panel for study in studies for drawing in study["drawn"] for panel in drawing["panels"]]


def _llms(studies):
    """Return the ids of the LLMs that have a card or a drawing, with how they are called."""
    called = {panel["llm"]: panel["llm_name"] for panel in _panels(studies)}
    for study in studies:
        called |= study["llms"]
    return sorted(called.items(), key=lambda pair: pair[1].lower())


def _texts(studies):
    """Write the texts of the dots as JSON that can stand in HTML."""
    texts = {panel["id"]: panel["texts"] for panel in _panels(studies) if panel["texts"]}
    text = json.dumps(texts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"}))


def _claims_elsewhere(tables, on_no_page):
    """Count the claims about studies that no page shows, and those about none."""
    counted = Counter(row["study"] for row in tables["claims"] if row["study"] in on_no_page)
    return [
        (study and clean(study), Number(n, "count(*)", 0, table="claims.published_claims", key={"study": study}))
        for study, n in sorted(counted.items(), key=lambda item: (item[0] is None, item))
    ]


def _study(study, i):
    id_ = f"study-{i + 1}"
    drawn = answers(study, f"answers-{i + 1}")
    return {
        "name": clean(study.name) if study.name else None,
        "title": title_of(study.name, study.documents, study.is_simulated),
        "sections": sections_on_scores(study, id_) + sections_on_biases(study, id_),
        "id": id_,
        "is_simulated": study.is_simulated,
        "counts": counts(study),
        "in_short": in_short(study) if study.domains else None,
        "answers": [answer(study, domain) for domain in study.domains],
        "drawn": drawn,
        "llms": {row["llm"]: study.llm(row["llm"]) for row in study.rows("of_each_llm")},
        "unanswered": [
            clean(row["paradigm"])  # of which there is nothing to compare
            for row in study.rows("paradigms")
            if not study.rows("said_of_biases", paradigm=row["paradigm"])
        ],
        "figures": figures(study),
        "ledger": ledger(study, {drawing["domain"]: drawing["id"] for drawing in drawn}),
        "techniques": _techniques(study),
        "gate": gate_tables(study),
        "provenance": provenance_tables(study),
    }


def title_of(study, documents, is_simulated):
    """Name a part of a page: a study, or the document of which only printed numbers are known."""
    if study:
        return f"Study {clean(study)}{' (SIMULATED)' if is_simulated else ''}"
    return f"Document {clean(documents[0])}: its printed numbers"


def _techniques(study):
    """Return of each technique of a study its name, what it does, and the source and texts of its shipped prompt."""
    does = {row["technique"]: row["description"] for row in study.tables["techniques"]}
    shipped = {row["technique"]: row for row in study.tables["prompts"]}
    return [
        (
            study.technique(name),
            clean(does.get(name) or ""),
            clean(shipped[name]["source"]) if name in shipped else None,
            [clean_lines(text).strip() for text in shipped[name]["texts"]] if name in shipped else [],
        )
        for name in study.techniques
    ]


def fingerprint(tables):
    """Return the SHA-256 of the rows that a report is made of.

    Parameters
    ----------
    tables : dict of str to list of dict
        With numbers to twelve significant digits, so that the order of a sum does not matter.

    Returns
    -------
    str
    """
    text = json.dumps(tables, sort_keys=True, default=_as_text, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _rounded(value):
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return value


def _as_text(value):
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _hash(text):
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
