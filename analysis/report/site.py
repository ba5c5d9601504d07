"""The pages as HTML that loads nothing and runs nothing but its own script; foreign text enters as text alone."""

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from analysis.report import claims, places
from analysis.report.audit import gate_tables, provenance_tables
from analysis.report.biases import matrices as matrices_of_biases
from analysis.report.biases import sections_on_biases
from analysis.report.matrix import matrices
from analysis.report.people import sections_on_people
from analysis.report.policy import POLICY, as_text, digest, embedded
from analysis.report.scores import sections_on_scores
from analysis.report.studies import Study
from analysis.report.tables import template
from analysis.report.transfer import transfer_of
from analysis.report.values import clean, clean_lines
from analysis.words.claims import HOLDS
from analysis.words.codes import GOALS
from analysis.words.legend import LEGEND

HERE = Path(__file__).parent
SIGNIFICANT_DIGITS = 12
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
TITLES = {
    "answer": "Answer",
    "biases": "Other biases",
    "scores": "Scores",
    "papers": "Papers",
    "reading": "How to read it",
}
FILES = {"answer": "index.html"} | {name: f"{name}.html" for name in TITLES if name != "answer"}
SHARED = ("document", "where", "kind", "sign", "unit", "recomputes", "verdict", "word", "tone", "why")  # of claims
LIVE_POLICY = f"{POLICY}; connect-src 'self'; frame-ancestors 'none'"


class Link(NamedTuple):
    """A page in the head of all pages."""

    name: str
    title: str
    href: str


class Site:
    """The pages of some studies.

    Parameters
    ----------
    tables : dict of str to list of dict
        The rows that each query of the report gives, in their order; `studies` are those of the pages.
    versions : dict of str to str
        Of the programs behind the numbers.
    is_test : bool
        Whether the respondents are simulated.
    beside : sequence of Link
        Pages elsewhere that the head leads to.
    """

    def __init__(self, tables, versions, *, is_test=False, beside=()):
        self.tables = {name: [_rounded(row) for row in rows] for name, rows in tables.items()}
        self.versions, self.is_test, self.beside = versions, is_test, beside
        self.studies = [
            Study(row["study"], bool(row["is_simulated"]), self.tables, tuple(row["documents"]))
            for row in self.tables["studies"]
        ]
        self.claims = [row for study in self.studies for row in study.claims]
        self.places = self._places()
        self.sections = {
            "biases": [(study, sections_on_biases(study, f"study-{i}")) for i, study in enumerate(self.studies)],
            "scores": [(study, sections_on_scores(study, f"study-{i}")) for i, study in enumerate(self.studies)],
        }
        if not is_test:
            self.sections["biases"] += sections_on_people(self.tables)
        has = {name: any(sections for _, sections in pairs) for name, pairs in self.sections.items()}
        has |= {"answer": True, "papers": bool(self.claims), "reading": True}
        self.names = [name for name in TITLES if has[name]]
        self._counted = places.counted(self.tables["answer_texts"])

    def _places(self):
        return [(study, domain, matrices(study, domain)) for study in self.studies for domain in study.domains]

    @cached_property
    def fingerprint(self):
        """What tells the rows of the pages from others."""
        return fingerprint(self.tables)

    def pages(self):
        """Return the files of the site by their names."""
        return {FILES[name]: self.page([name]) for name in self.names}

    def page(self, names=None, *, is_live=False, state=""):
        """Write one page, or several in one file.

        Parameters
        ----------
        names : list of str, optional
            Of `TITLES`; all of them if not given, in one file.
        is_live : bool
            Whether a server beside it gives the texts that it lacks; it sends the policy too.
        state : str
            What the server calls the state of the warehouse that a live page shows.

        Returns
        -------
        str
            HTML, the same for the same rows and versions.
        """
        is_single = names is None
        names = names or self.names
        style, script = _own()
        text = template("frame.html").render(
            current=names[0], title=self._title(names), nav=self._nav(is_single), is_single=is_single, is_live=is_live,
            state=state, is_test=self.is_test, stamp=self._stamp(), parts=[self._part(name) for name in names],
            policy=POLICY.format(digest(style), digest(script)), style=Markup(style), script=Markup(script),
            versions=sorted(self.versions.items()), fingerprint=self.fingerprint,
            data=embedded(self._data(names)), places=self._shown_places(), llms=self._llms(), goals=self._goals(),
            meanings={name: goal.measures for name, goal in GOALS.items()},
            papers=claims.papers(self.claims) if "papers" in names else [],
            verdicts=self._verdicts(), legend=LEGEND, transfer=transfer_of(self.studies),
        )  # fmt: skip
        return "\n".join(line if line.isprintable() else _visible(line) for line in text.split("\n")) + "\n"

    def _title(self, names):
        if "answer" in names:
            return "which debiasing technique, for which LLM, in which domain, how sure"
        return TITLES[names[0]]

    def _nav(self, is_single):
        links = [Link(name, TITLES[name], f"#page={name}" if is_single else FILES[name]) for name in self.names]
        return links if is_single else [*links, *self.beside]

    def _stamp(self):
        counts = {row["study"]: row["n_asked"] for row in self.tables["counts"]}
        named = [study for study in self.studies if study.name]
        kind = "simulated" if self.is_test else "real"
        n_trials = sum(counts.get(study.name) or 0 for study in named)
        names = ", ".join(clean(study.name) for study in named)
        return f"{kind}: {names}; {n_trials:,} trials" if named else "no study yet"

    def _shown_places(self):
        several = len({study.name for study, *_ in self.places}) > 1
        return [
            {
                "index": i,
                "name": clean(domain).capitalize() + (f" ({clean(study.name)})" if several else ""),
                "n_llms": len(of_goals[0].llms),
                "matrices": of_goals,
                "names": {llm: study.llm(llm) for llm in of_goals[0].llms},
            }
            for i, (study, domain, of_goals) in enumerate(self.places)
        ]

    def _goals(self):
        """Return the names of the goals, first the one that leads in the first domain."""
        first = self.places[0][2] if self.places else []
        names = {name: goal.name.capitalize() for name, goal in GOALS.items()}
        return {matrix.goal: names[matrix.goal] for matrix in first} or names

    def _llms(self):
        """Return all LLMs that somebody may look for: those that were asked, and those that are known."""
        asked = {llm for *_, of_goals in self.places for llm in of_goals[0].llms}
        known = {row["llm"] for row in self.tables["llms"] if not row["llm"].startswith("sim/")}
        if self.is_test or not self.places:
            known = set()
        study = self.places[0][0] if self.places else None
        return sorted(((llm, study.llm(llm)) for llm in asked | known), key=lambda pair: pair[1].lower())

    def _verdicts(self):
        there = {claim["holds"] for claim in self.claims}
        return [(code, HOLDS[code][0]) for code in claims.ORDER if code in there and code is not None]

    def _part(self, name):
        if name in self.sections:
            shown = [
                {"name": clean(study.name), "is_simulated": study.is_simulated, "sections": sections}
                | (_biases(study) if name == "biases" else {"biases": []})
                for study, sections in self.sections[name]
                if sections
            ]
        else:
            shown = [_reading(study) for study in self.studies if study.name] if name == "reading" else []
        return {"name": name, "title": TITLES[name], "studies": shown}

    def _data(self, names):
        """Return what the script needs, as JSON that can stand in HTML."""
        data = {}
        if "answer" in names:
            there = {study.name for study, *_ in self.places}
            study = self.places[0][0] if self.places else None
            techniques = {name for of_study, *_ in self.places for name in of_study.techniques}
            data |= {
                "places": [places.place(*of_place, self._counted) for of_place in self.places],
                "texts": places.texts(self.tables["answer_texts"], there),
                "asked": places.asked(self.tables["asked_prompts"], there),
                "llms": dict(self._llms()),
                "vendors": {row["llm"]: row["vendor"] for row in self.tables["llms"]},
                "techniques": {name: study.technique(name) for name in techniques},
                "does": {row["technique"]: clean(row["description"] or "") for row in self.tables["techniques"]},
                "calls": {row["technique"]: row["n_calls"] for row in self.tables["prompts"]},
                "says": {row["technique"]: [*map(clean_lines, row["texts"])] for row in self.tables["prompts"]},
                "costs": [row for row in self.tables["costs"] if row["study"] in there],
            }
            data["cleaned"] = self._cleaned(there)
        if "papers" in names:
            data["claims"] = _packed(claims.ledger(self.claims))
        return data

    def _cleaned(self, studies):
        """Return the names that the page shows otherwise than they are written, by how they are written."""
        known = {of: self.tables[of] for of in ("answer_counts", "asked_of_llms", "llms", "techniques")}
        columns = ("study", "domain", "vignette", "llm", "technique")
        names = {row[column] for rows in known.values() for row in rows for column in columns if column in row}
        return {name: clean(name) for name in sorted(names | set(studies)) if name != clean(name)}


def _packed(rows):
    """Return rows as the names of their columns and their values, with each text that several have but once."""
    columns, texts = list(rows[0]) if rows else [], {}
    values = [
        [texts.setdefault(row[name], len(texts)) if name in SHARED else row[name] for name in columns] for row in rows
    ]
    return {"columns": columns, "shared": SHARED, "rows": values, "texts": list(texts)}


def live_policy():
    """Return the policy of live pages, in which nothing but their own style and script counts."""
    return LIVE_POLICY.format(*map(digest, _own()))


def _own():
    return [(HERE / name).read_text(encoding="utf-8").strip() for name in ("site.css", "site.js")]


def _biases(study):
    made = matrices_of_biases(study)
    names = {name: study.technique(name) for _, techniques in made for name in techniques}
    return {"biases": made, "names": names}


def _reading(study):
    return {
        "name": clean(study.name),
        "is_simulated": study.is_simulated,
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
            [escape(clean_lines(text).strip()) for text in shipped[name]["texts"]] if name in shipped else [],
        )
        for name in study.techniques
    ]


def _visible(line):
    """Let no character through that nobody sees, whatever way it came; the page itself has but one such, a space."""
    return "".join(c if c == NO_BREAK_SPACE else clean(c) for c in line)


def fingerprint(tables):
    """Return the SHA-256 of the rows that pages are made of.

    Parameters
    ----------
    tables : dict of str to list of dict
        With numbers to twelve significant digits, so that the order of a sum does not matter.

    Returns
    -------
    str
    """
    text = json.dumps(tables, sort_keys=True, default=as_text, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _rounded(value):
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value
