"""The matrix of the Answer page: techniques by LLMs, how far a number pulls answers without a technique and with it."""

import math
from dataclasses import dataclass, field

from analysis.methods.small_samples import FEWEST_VENDORS
from analysis.report.values import clean, counted
from analysis.words import changes, shortfalls
from analysis.words.codes import GOALS, HANGS, HARMS, HELPS, listed, on_an_llm, on_llms
from analysis.words.matrix import OWN_PROMPT, TOO_FEW, headline, how_sure, of_an_llm

NO_TECHNIQUE = "no_technique"
STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
MOST_SEGMENTS = 6
FEWEST_ANSWERED = 0.9  # a cell in which a smaller share was answered says so
TONES = dict.fromkeys(HELPS, "helps") | dict.fromkeys(HARMS, "harms") | {"equivalent": "same"}


def tone_of(row):
    """Return the class that colours what is decided, `helps`, `harms`, `same`, or `open` of what hangs on doubts."""
    return "open" if row["certainty"] == HANGS else TONES.get(row["decision"], "open")


@dataclass(frozen=True)
class Mark:
    """What is drawn of a technique: the loss of its control (`ring`), its own (`dot`), and the interval of the latter.

    Parameters
    ----------
    row : dict
        Of `inference.decisions`, against the technique's control.
    most : float
        Where the axis ends.
    answered : float, optional
        The share of its trials that were answered.
    wide : tuple of float, optional
        The interval for one more LLM.
    """

    row: dict
    most: float
    answered: float | None = None
    wide: tuple | None = None

    @property
    def ring(self):
        """The loss of the control."""
        return self.row["loss_control"]

    @property
    def dot(self):
        """The loss of the technique."""
        return self.row["loss"]

    @property
    def is_own(self):
        """Whether the ring is of the technique's own first answers, to another prompt than that of the others."""
        return self.row["control"] != NO_TECHNIQUE

    @property
    def tone(self):
        """How the mark is coloured: by the decision, not by the estimate."""
        return tone_of(self.row)

    @property
    def interval(self):
        """The interval of the technique's loss, or None."""
        if self.row["gain_low"] is None or self.ring is None:
            return None
        return self.ring - self.row["gain_high"], self.ring - self.row["gain_low"]

    @property
    def is_unanswered(self):
        """Whether too few trials were answered not to say so."""
        return self.answered is not None and self.answered < FEWEST_ANSWERED

    @property
    def points(self):
        """The change of the loss in points, with its sign."""
        if self.row["gain"] is None:
            return None
        change = -round(self.row["gain"])
        return f"{change:+d}".replace("-", "\N{MINUS SIGN}") if change else "0"

    def at(self, value):
        """Return where a value stands on the axis, in percent of its length."""
        return f"{100 * min(max(value, 0.0), self.most) / self.most:.1f}%"

    def is_beyond(self, value):
        """Whether a value lies beyond the end of the axis."""
        return value > self.most

    @property
    def word(self):
        """What is decided about one LLM."""
        return on_an_llm(self.row)

    def numbers(self):
        """Return what the page's script needs: ring, dot, interval, what is decided, whether the ring is its own."""
        low, high = self.interval or (None, None)
        return [self.ring, self.dot, low, high, self.word, self.is_own]


@dataclass(frozen=True)
class Column:
    """A technique of the matrix."""

    technique: str
    name: str
    mark: Mark
    is_placebo: bool
    word: str
    certainty: str | None
    lines: list = field(default_factory=list)


@dataclass(frozen=True)
class Matrix:
    """The techniques and LLMs of a domain, by one goal."""

    goal: str
    leads: bool
    headline: str
    note: str
    most: float
    segments: int
    step: float
    columns: list
    llms: list
    plain: dict
    marks: dict
    say: dict
    missing: list

    @property
    def has_own(self):
        """Whether a ring belongs to another prompt than those of the others."""
        return any(mark.is_own for mark in self._all_marks())

    @property
    def is_of_squares(self):
        """Whether losses over LLMs are roots of mean squares, and no means."""
        return any(column.mark.row["gain_squared"] is not None for column in self.columns)

    @property
    def has_same(self):
        """Whether somewhere it is decided that a technique makes no difference."""
        return any(mark.tone == "same" for mark in self._all_marks())

    @property
    def has_gaps(self):
        """Whether somewhere too few trials were answered."""
        return any(mark.is_unanswered for mark in self._all_marks())

    def _all_marks(self):
        return [
            *(column.mark for column in self.columns),
            *(mark for of in self.marks.values() for mark in of.values()),
        ]

    @property
    def ticks(self):
        """The values that stand below the axis."""
        return [self.step * i for i in range(self.segments + 1)]


def matrices(study, domain):
    """Make the matrix of a domain by each goal, the leading one first.

    Parameters
    ----------
    study : Study
    domain : str

    Returns
    -------
    list of Matrix
    """
    leading = study.leading(domain)
    goals = sorted(GOALS, key=lambda goal: goal != leading)
    return [_matrix(study, domain, goal, goal == leading) for goal in goals]


def _matrix(study, domain, goal, leads):
    over = study.in_order(study.rows("decisions", domain=domain, goal=goal, comparison="control"))
    over = sorted((row for row in over if row["loss"] is not None), key=lambda row: _place(row["decision"]))
    each = [row for row in study.rows("of_each_llm", domain=domain, goal=goal) if row["loss"] is not None]
    placebos = {row["control"] for row in study.rows("decisions", domain=domain, goal=goal, comparison="placebo")}
    # as decided: what noise adds is taken off, and the means of an LLM's cases cannot cancel
    losses = {row["llm"]: row["loss"] for row in study.rows("plain_losses", domain=domain, goal=goal)}
    overall = next((row["loss_control"] for row in over if row["control"] == NO_TECHNIQUE), losses.get(None))
    largest = [row[name] for row in (*over, *each) for name in ("loss", "loss_control") if row[name] is not None]
    most, segments, step = _axis([*largest, *losses.values()])
    asked = study.asked(domain)
    there = {row["llm"] for row in each} | {llm for llm in losses if llm}
    llms = sorted(there, key=lambda llm: (-(losses.get(llm) or 0), study.llm(llm).lower()))

    def answered(llm, technique):
        n_asked, n_answered = asked.get(llm, {}).get(technique, (0, 0))
        return n_answered / n_asked if n_asked else None

    predicted = {
        row["technique"]: row
        for row in study.rows("predictions", domain=domain, goal=goal, llm=None)
        if row["gain_low"] is not None and row["vendor"] is None
    }
    columns = []
    for row in over:
        technique, ahead = row["technique"], predicted.get(row["technique"])
        wide = (row["loss_control"] - ahead["gain_high"], row["loss_control"] - ahead["gain_low"]) if ahead else None
        few = (row["n_vendors"] or 0) < FEWEST_VENDORS
        mark = Mark(row, most, None, None if few else wide)
        is_placebo = technique in placebos
        ways = study.rows("specifications", domain=domain, goal=goal, technique=technique, control=row["control"])
        lines = how_sure(row, ahead, ways, has_vendors=not few)
        certainty = row["certainty"] if row["certainty"] in ("supported", "established") else None
        name = study.technique(technique)
        columns.append(Column(technique, name, mark, is_placebo, _word(row, few), certainty, lines))
    marks = {}
    for row in each:
        marks.setdefault(row["llm"], {})[row["technique"]] = Mark(row, most, answered(row["llm"], row["technique"]))
    said = {
        llm: of_an_llm(
            study.llm(llm),
            [(c.name, of[c.technique].row) for c in columns if c.technique in of],
            losses.get(llm),
            {technique: mark.answered for technique, mark in of.items() if mark.is_unanswered},
        )
        for llm, of in marks.items()
    }
    named = [(column.name, column.mark.row) for column in columns]
    has_vendors = all((row["n_vendors"] or 0) >= FEWEST_VENDORS for row in over)
    return Matrix(
        goal=goal, leads=leads, headline=headline(named, overall, has_vendors=has_vendors),
        note=_note(study, domain, llms, over), most=most, segments=segments, step=step, columns=columns, llms=llms,
        plain={**losses, None: overall}, marks=marks, say=said, missing=_missing(study, domain),
    )  # fmt: skip


def _axis(values):
    """Return where an axis from 0 ends that holds all values, into how many parts it is cut, and how long these are."""
    largest = max(values, default=0) or 1
    step = next((step for step in STEPS if largest / step <= MOST_SEGMENTS), 10 ** math.ceil(math.log10(largest)))
    segments = max(math.ceil(largest / step - 1e-9), 1)
    return step * segments, segments, step


def _place(decision):
    """Put what helps before what is unclear, and that before what harms."""
    return 0 if decision in HELPS else 2 if decision in HARMS else 1


def _word(row, few):
    """Return the word of a decision about LLMs like these; of too few vendors there is none."""
    return "too few vendors" if few else on_llms(row)


def _missing(study, domain):
    """Say which answers of a domain count nowhere, and which people took out or read anew after they had seen them."""
    row = shortfalls.combined(study.rows("shortfalls", domain=domain, paradigm="anchoring"))
    n_asked = sum(row["n_asked"] for row in study.rows("attrition", domain=domain))
    seen = changes.counted(study.rows("post_hoc_changes", domain=domain), n_asked)
    said = changes.sentences(seen, lambda value, *_: value and f"{value:,}", clean)
    return [*shortfalls.sentences(row, text=clean, without=("withdrawn",)), *said]


def _note(study, domain, llms, over):
    """Say whom and what the matrix of a domain is about."""
    cases = sorted({row["vignette"] for row in study.rows("units", domain=domain)})
    n_cases = max([row["n_cases"] or 0 for row in over] + [len(cases)])  # items of a vignette may be cases
    noun, unit = ("respondent", "respondent") if study.is_simulated else ("LLM", "vendor")
    n_vendors = max((row["n_vendors"] or 0 for row in over), default=0)
    of_vendors = "" if study.is_simulated or not n_vendors else f" of {n_vendors} {counted(n_vendors, unit)}"
    about = [
        f"{len(llms)} {counted(len(llms), noun)}{of_vendors}",
        f"one case ({clean(cases[0])})" if n_cases == 1 else f"{n_cases} cases",
    ]
    sentences = [f"{', '.join(about)}."]
    if over and n_vendors < FEWEST_VENDORS:
        sentences.append(TOO_FEW.format(noun=noun, n=FEWEST_VENDORS, unit=unit))
    own = [study.technique(row["technique"]) for row in over if row["control"] != NO_TECHNIQUE]
    if own:
        sentences.append(OWN_PROMPT.format(names=listed(own)))
    return " ".join(sentences)
