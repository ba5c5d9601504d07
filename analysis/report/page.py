"""The report as one HTML page that loads nothing and runs nothing but its own filter."""

import hashlib
import json
from base64 import b64encode
from collections import Counter
from datetime import datetime
from pathlib import Path

from markupsafe import Markup

from analysis.advice import GOALS
from analysis.report.answers import answers
from analysis.report.audit import gate_tables, provenance_tables, rows_table
from analysis.report.evidence import figures, unit_of
from analysis.report.ledger import ledger
from analysis.report.studies import Study
from analysis.report.text import RANKS, answer, counts, in_short
from analysis.report.values import Number, clean, clean_lines

HERE = Path(__file__).parent
SIGNIFICANT_DIGITS = 12
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def page(tables, versions, elsewhere=()):
    """Write the report.

    Parameters
    ----------
    tables : dict of str to list of dict
        The rows that each query of the report gives, in their order.
    versions : dict of str to str
        Of the programs behind the numbers.
    elsewhere : sequence of (str, str, bool)
        The studies on other pages: the address of the page, the study, and whether it is simulated.

    Returns
    -------
    str
        HTML, the same for the same rows and versions.
    """
    tables = {name: [{k: _rounded(v) for k, v in row.items()} for row in rows] for name, rows in tables.items()}
    studies = [
        _study(Study(row["study"], bool(row["is_simulated"]), tables), i) for i, row in enumerate(tables["studies"])
    ]
    style, script = ((HERE / name).read_text(encoding="utf-8").strip() for name in ("page.css", "page.js"))
    text = _template().render(
        studies=studies,
        on_top=_on_top(studies),
        goals=GOALS,
        card_table=RANKS,
        llms=_llms(studies),
        elsewhere=elsewhere,
        texts=_texts(studies),
        claims_elsewhere=_claims_elsewhere(tables, [study for _, study, _ in elsewhere]),
        only_simulated=all(study["is_simulated"] for study in studies),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        versions=sorted(versions.items()),
        fingerprint=fingerprint(tables),
        rows_table=rows_table(tables),
    )
    return "\n".join(line if line.isprintable() else _visible(line) for line in text.split("\n")) + "\n"


def _visible(line):
    """Let no character through that nobody sees, whatever way it came; the page itself has but one such, a space."""
    return "".join(c if c == NO_BREAK_SPACE else clean(c) for c in line)


def _on_top(studies):
    """Return the studies that answer on the first screen: simulated ones only where no LLM was asked."""
    answering = [study for study in studies if study["answers"]]
    return [study for study in answering if not study["is_simulated"]] or answering


def _llms(studies):
    """Return the ids of the LLMs that have a card or a drawing, with how they are called."""
    called = {panel.llm: panel.llm_name for study in studies for of in study["drawn"] for panel in of.panels} | {
        llm: name for study in studies for llm, name in study["llms"].items()
    }
    return sorted(called.items(), key=lambda pair: pair[1].lower())


def _texts(studies):
    """Write the texts of the dots as JSON that can stand in HTML."""
    found = {panel.id: panel.texts for study in studies for of in study["drawn"] for panel in of.panels if panel.texts}
    text = json.dumps(found, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"}))


def _claims_elsewhere(tables, on_other_pages):
    """Count the claims about studies that no page shows, and those about none."""
    shown = {row["study"] for row in tables["studies"]} | set(on_other_pages)
    counted = Counter(row["study"] for row in tables["claims"] if row["study"] not in shown)
    return [
        (study and clean(study), Number(n, "count(*)", 0, table="seeds.published_claims", key={"study": study}))
        for study, n in sorted(counted.items(), key=lambda of: (of[0] is None, of))
    ]


def _study(study, i):
    found = [answer(study, domain) for domain in study.domains]
    drawn = answers(study, f"answers-{i + 1}", lambda domain: unit_of(study, domain))
    return {
        "name": clean(study.name),
        "id": f"study-{i + 1}",
        "is_simulated": study.is_simulated,
        "counts": counts(study),
        "in_short": in_short(study, found) if found else None,
        "answers": found,
        "drawn": drawn,
        "llms": {row["llm"]: study.llm(row["llm"]) for row in study.rows("of_each_llm")},
        "paradigms": [clean(name) for name in study.paradigms],
        "figures": figures(study),
        "ledger": ledger(study, {of.domain: of.id for of in drawn}),
        "techniques": _techniques(study),
        "gate": gate_tables(study),
        "provenance": provenance_tables(study),
    }


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


def _template():
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.finalize = lambda value: value if hasattr(value, "__html__") else clean(value)
    return environment.get_template("page.html")
