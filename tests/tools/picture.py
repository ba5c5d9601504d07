"""Draw docs/answers.svg, the picture of the README: what each technique does to each LLM under an anchor.

The warehouse says everything in it. Columns are techniques, rows are LLMs; a ring is the pull of an anchor without the
technique, a dot with it, by the goal that leads in the domain. A colour says what was decided, whatever the estimate
is. `make picture` draws it from the recorded archive.
"""

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import duckdb

from analysis.words.codes import HARMS, HELPS, listed

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "answers.svg"
STUDY, DOMAIN, PLAIN = "voder-bais", "judicial", "no_technique"
FEW_ANSWERED = 0.9  # below this share of answers a cell is marked
LEADING = """
select distinct goal from marts.effects
where study = $study and domain = $domain and paradigm = 'anchoring' and leads order by goal limit 1
"""
CASES = """
select distinct coalesce(vignettes.description, effects.vignette)
from marts.effects left join seeds.vignettes using (study, vignette)
where study = $study and effects.domain = $domain and paradigm = 'anchoring' and vignette is not null order by all
"""
PLAIN_PROMPT = """
select decisions.llm, coalesce(llms.display_name, decisions.llm), loss
from inference.decisions left join seeds.llms using (llm)
where study = $study and paradigm = 'anchoring' and domain = $domain and goal = $goal and technique = 'no_technique'
order by llm is not null, loss desc, llm
"""
DECIDED = """
select
    decisions.technique, techniques.display_name, decisions.control, controls.display_name, decisions.llm,
    decisions.loss, decisions.loss_control, decisions.gain, decisions.gain_low, decisions.gain_high,
    decisions.decision, decisions.reason, 1 - effects.n_missing / effects.n_asked,
    decisions.certainty, decisions.n_vendors,
    decisions.technique in (select control from inference.decisions where study = $study and comparison = 'placebo')
from inference.decisions
left join seeds.techniques on decisions.technique = techniques.technique
left join seeds.techniques as controls on decisions.control = controls.technique
left join marts.effects
    on decisions.study = effects.study and decisions.paradigm = effects.paradigm
    and decisions.domain = effects.domain and decisions.goal = effects.goal
    and decisions.technique = effects.technique and decisions.llm = effects.llm and effects.vignette is null
where decisions.study = $study and decisions.domain = $domain and decisions.goal = $goal
    and decisions.paradigm = 'anchoring' and decisions.comparison = 'control'
order by decisions.llm is not null, decisions.loss, decisions.technique
"""
ONE_MORE = """
select technique, gain_low, gain_high from inference.predictions
where study = $study and paradigm = 'anchoring' and domain = $domain and goal = $goal
    and llm is null and vendor is null
"""
WORDS = {  # what a decision on LLMs like those asked is called
    "use": "helps",
    "helps_its_own_prompt": "helps its own prompt",
    "asking_again_helps": "asking again helps",
    "avoid": "harms",
    "worse_than_asking_again": "harms, next to asking again",
    "equivalent": "no difference",
}
UNCLEAR = "unclear"
SURE = {
    "established": "established",
    "supported": "supported, not established",
    "hangs_on_suspect_rows": "hangs on answers that the gate doubts",
}
NONE_HELPS = "No technique is shown to make an anchor's pull smaller than a plain prompt's"
HELPING = "Shown to make an anchor's pull smaller: {names}"
OWN_PROMPT = (
    "{name} helps its own prompt alone, from {loss_control:.0f} to {loss:.0f} %{sure}; "
    "a plain prompt has {plain:.0f} %."
)
SAID = {  # of the techniques of each decision, in this order
    "asking_again_helps": "Asking again in neutral turns helps ({names}).",
    "avoid": "Shown to make it larger: {names}.",
    "worse_than_asking_again": "Worse than asking again in neutral turns: {names}.",
    "equivalent": "No difference: {names}.",
    None: "Unclear: {names}.",
}
PULL = {
    "gap": "how far high and low anchors pull its answers apart",
    "displacement": "how far anchors pull its average answer away",
    "error": "how far off a single answer is",
}
WHAT = "Pull on an LLM: {measured}, in % of what it answers without an anchor."
CASE = ("One case", "Cases")
WHOM = "{n_llms} LLMs of {n_vendors} vendors. {cases}"
EFFECTS = {  # what a technique does to an LLM, and its name in the key
    "helps": "helps",
    "gains": "smaller, perhaps only by asking again or on its own prompt",
    "harms": "harms",
    "same": "no difference",
    "unclear": "unclear",
}
# light, dark
COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#16181d", "#e6edf3"),
    "faint": ("#57606a", "#9da7b1"),
    "rule": ("#d8dee4", "#30363d"),
    "helps": ("#0a5fa8", "#6cb6ff"),
    "harms": ("#b03a00", "#ff9457"),
    "unclear": ("#6b7280", "#959da6"),
}
COLOUR_OF = {"helps": "helps", "gains": "helps", "harms": "harms", "same": "ink", "unclear": "unclear"}
WIDTH, MARGIN, NAME, OWN, CHANGE, GUTTER = 960, 12, 104, 46, 46, 10
LINE, TITLES, SUMMARY, ROW, DOT = 19, 66, 46, 28, 4.5
STEP = 20  # points between two ends that the scale may have


@dataclass(frozen=True)
class Cell:
    """What a technique does to one LLM, or to LLMs like those asked: pulls, gain and interval in points."""

    loss: float
    loss_control: float
    gain: float
    low: float | None
    high: float | None
    effect: str
    share_answered: float | None = None


@dataclass
class Column:
    """One technique; `control` is the name of what it is compared with if not a plain prompt."""

    name: str
    control: str | None
    decision: str | None
    certainty: str | None
    n_vendors: int
    is_placebo: bool
    overall: Cell
    one_more: tuple[float, float] | None = None
    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """What is decided on LLMs like those asked."""
        return WORDS.get(self.decision, UNCLEAR)

    @property
    def sure(self) -> str:
        """How sure that is, in brackets."""
        return f" ({SURE[self.certainty]})" if self.certainty in SURE else ""

    def llms(self, effect: str) -> list[str]:
        """The LLMs on which the technique has this effect."""
        return [llm for llm, cell in self.cells.items() if cell.effect == effect]


@dataclass(frozen=True)
class Matrix:
    """All that the picture shows; `plain` is the pull with a plain prompt by LLM, the largest first."""

    goal: str
    cases: list[str]
    plain_overall: float
    plain: dict[str, float]
    columns: list[Column]


def matrix(connection: duckdb.DuckDBPyConnection) -> Matrix | None:
    """Read what was decided on each technique, or None where there is nothing to show."""
    of = {"study": STUDY, "domain": DOMAIN}
    leading = connection.execute(LEADING, of).fetchone()
    if not leading:
        return None
    cases = [case for (case,) in connection.execute(CASES, of).fetchall()]
    of["goal"] = leading[0]
    plain = connection.execute(PLAIN_PROMPT, of).fetchall()
    names = {llm: name for llm, name, _ in plain}
    columns: dict[str, Column] = {}
    for technique, name, control, control_name, llm, *numbers in connection.execute(DECIDED, of).fetchall():
        loss, loss_control, gain, low, high, decision, reason, share, *of_all = numbers
        if None in (loss, loss_control, gain):
            continue
        cell = Cell(loss, loss_control, gain, low, high, _effect(decision, reason), share)
        if llm is None:
            columns[technique] = Column(
                name or technique, None if control == PLAIN else control_name or control, decision, *of_all, cell
            )
        elif technique in columns:
            columns[technique].cells[names.get(llm, llm)] = cell
    for technique, low, high in connection.execute(ONE_MORE, of).fetchall():
        if technique in columns and low is not None:
            columns[technique].one_more = low, high
    overall = [loss for llm, _, loss in plain if llm is None]
    if not columns or not overall:
        return None
    pulls = {name: loss for llm, name, loss in plain if llm is not None}
    return Matrix(leading[0], cases, overall[0], pulls, list(columns.values()))


def _effect(decision: str | None, reason: str | None) -> str:
    if decision == "use":
        return "helps"
    if decision in HELPS or "not_shown_over_placebo" in (reason or ""):
        return "gains"
    if decision in HARMS:
        return "harms"
    return "same" if decision == "equivalent" else "unclear"


def finding(shown: Matrix) -> list[str]:
    """Say what is decided on LLMs like those asked: a title, and a sentence on each other decision."""
    by_decision: dict[str | None, list[Column]] = {}
    for column in shown.columns:
        by_decision.setdefault(column.decision if column.decision in WORDS else None, []).append(column)
    helping = [f"{column.name}{column.sure}" for column in by_decision.get("use", [])]
    said = [HELPING.format(names=listed(helping)) if helping else NONE_HELPS]
    for column in by_decision.get("helps_its_own_prompt", []):
        pulls = {"loss_control": column.overall.loss_control, "loss": column.overall.loss, "plain": shown.plain_overall}
        said.append(OWN_PROMPT.format(name=column.name, sure=column.sure, **pulls))
    for decision, words in SAID.items():
        if decision in by_decision:
            names = [f"{column.name}{column.sure if decision else ''}" for column in by_decision[decision]]
            said.append(words.format(names=listed(names)))
    return said


def alternative(shown: Matrix) -> str:
    """Say what is decided in one line, which stands for the picture where it is not seen."""
    title, *sentences = finding(shown)
    return " ".join([f"{title}.", *sentences])


def description(shown: Matrix) -> str:
    """Say in words what each column shows, for those who do not see it."""
    said = []
    for column in shown.columns:
        cell = column.overall
        without = f"in {column.control}" if column.control else "with a plain prompt"
        interval = "" if cell.low is None else f" (95 % interval of the gain {cell.low:.0f} to {cell.high:.0f} points)"
        said.append(
            f"{column.name}, {column.word}: {cell.loss_control:.0f} % {without}, {cell.loss:.0f} % with it{interval}."
        )
        said += [
            f"{EFFECTS[effect].capitalize()}: {', '.join(llms)}." for effect in EFFECTS if (llms := column.llms(effect))
        ]
    return " ".join(said)


def drawing(shown: Matrix) -> str:
    """Draw the matrix as one SVG."""
    title, *sentences = finding(shown)
    head = 94 + LINE * len(sentences)
    left = MARGIN + NAME + OWN
    wide = (WIDTH - MARGIN - left) / len(shown.columns)
    first = head + TITLES + SUMMARY
    bottom = first + ROW * len(shown.plain)
    keys = _keys(shown, bottom + 44)
    height = bottom + 44 + 22 * (1 + max(line for line, _ in keys)) + 4
    n_vendors = shown.columns[0].n_vendors
    whom = WHOM.format(
        n_llms=len(shown.plain), n_vendors=n_vendors, cases=f"{CASE[len(shown.cases) > 1]}: {listed(shown.cases)}."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-labelledby="answers-title answers-description" font-family="system-ui, sans-serif">',
        f'<title id="answers-title">{escape(alternative(shown))}</title>',
        f'<desc id="answers-description">{escape(description(shown))}</desc>',
        f"<style>{_style()}</style>",
        f'<rect width="{WIDTH}" height="{height}" class="paper"/>',
        _text(MARGIN, 28, title, size=18, weight="bold"),
        *(_text(MARGIN, 50 + LINE * n, sentence, size=13) for n, sentence in enumerate(sentences)),
        _text(MARGIN, head - 40, WHAT.format(measured=PULL.get(shown.goal, shown.goal)), colour="faint"),
        _text(MARGIN, head - 22, whom, colour="faint"),
        _text(MARGIN, head + 56, "LLM", colour="faint"),
        _text(left - 10, head + 40, "plain", colour="faint", anchor="end"),
        _text(left - 10, head + 56, "prompt", colour="faint", anchor="end"),
        _line(MARGIN, head + TITLES, WIDTH - MARGIN, head + TITLES),
        _text(MARGIN, head + TITLES + 20, "LLMs like", weight="bold"),
        _text(MARGIN, head + TITLES + 36, "these", weight="bold"),
        _text(left - 10, head + TITLES + 28, f"{shown.plain_overall:.0f} %", weight="bold", anchor="end"),
    ]
    for row, (llm, loss) in enumerate(shown.plain.items()):
        y = first + ROW * row
        parts += [
            _line(MARGIN, y, WIDTH - MARGIN, y),
            _text(MARGIN, y + 18, llm),
            _text(left - 10, y + 18, f"{loss:.0f} %", anchor="end"),
        ]
    parts.append(_line(MARGIN, bottom, WIDTH - MARGIN, bottom))
    most = _end_of_scale(shown)
    for number, column in enumerate(shown.columns):
        parts += _column(column, shown, head, left + wide * number, wide, most)
    return "\n".join([*parts, *(part for _, part in keys), "</svg>", ""])


def _end_of_scale(shown: Matrix) -> float:
    ends = [cell for column in shown.columns for cell in (column.overall, *column.cells.values())]
    most = max(max(cell.loss, cell.loss_control) for cell in ends)
    return STEP * -(-most // STEP) or STEP


def _column(column: Column, shown: Matrix, head: float, start: float, wide: float, most: float) -> list[str]:
    """Draw what a technique does: what is decided, LLMs like those asked, and a row per LLM."""
    left, right = start + GUTTER, start + wide - CHANGE - DOT
    first = head + TITLES + SUMMARY
    bottom = first + ROW * len(shown.plain)

    def at(percent: float) -> float:
        return left + (right - left) * min(max(percent, 0), most) / most

    of_each = Counter(cell.effect for cell in column.cells.values())
    counts = f"helps {of_each['helps']}, harms {of_each['harms']} of {len(column.cells)}"
    word = f"{column.word}{' (a placebo)' if column.is_placebo else ''}"
    overall = column.overall
    middle = head + TITLES + SUMMARY / 2
    parts = [
        _line(start, head, start, bottom),
        _text(left, head + 18, column.name, size=14, weight="bold"),
        _text(left, head + 36, word, weight="bold", colour=COLOUR_OF[overall.effect]),
        _text(left, head + 54, counts, colour="faint"),
    ]
    for percent in range(0, int(most) + 1, 2 * STEP):
        parts += [
            _line(at(percent), first, at(percent), bottom),
            _text(at(percent), bottom + 16, f"{percent} %" if percent else "0", colour="faint", anchor="middle"),
        ]
    parts.append(
        f'<line x1="{at(overall.loss_control):.1f}" y1="{head + TITLES + 3}" x2="{at(overall.loss_control):.1f}" '
        f'y2="{first - 3}" class="faint-line" stroke-dasharray="3 3"/>'
    )
    parts += _interval(at, most, overall.loss_control, (overall.low, overall.high), middle, overall.effect, "thick")
    if column.one_more:
        parts += _interval(at, most, overall.loss_control, column.one_more, middle, overall.effect, "thin")
    if column.control:
        parts.append(_tick(at(shown.plain_overall), middle, 12))
    parts += [
        _ring(at(overall.loss_control), middle, column.control),
        _diamond(at(overall.loss), middle, overall.effect),
    ]
    parts.append(_change(start + wide - 6, middle, overall, weight="bold"))
    for row, llm in enumerate(shown.plain):
        cell, y = column.cells.get(llm), first + ROW * row + ROW / 2 - 2
        if cell is None:
            parts.append(_text(left, y + 5, "not asked", colour="faint"))
            continue
        parts += _interval(at, most, cell.loss_control, (cell.low, cell.high), y + 9, cell.effect, "thin")
        parts.append(
            f'<line x1="{at(cell.loss_control):.1f}" y1="{y:.1f}" x2="{at(cell.loss):.1f}" y2="{y:.1f}" '
            f'class="{COLOUR_OF[cell.effect]}-line {cell.effect}"/>'
        )
        if column.control:
            parts.append(_tick(at(shown.plain[llm]), y))
        parts += [_ring(at(cell.loss_control), y, column.control), _dot(at(cell.loss), y, cell.effect)]
        parts.append(_change(start + wide - 6, y, cell))
        if cell.share_answered is not None and cell.share_answered < FEW_ANSWERED:
            ends = at(cell.loss), at(cell.loss_control)
            is_right = right - max(ends) > min(ends) - left
            parts.append(
                _text(
                    max(ends) + 9 if is_right else min(ends) - 9, y + 4, f"! {100 * cell.share_answered:.0f} %",
                    weight="bold", anchor="start" if is_right else "end",
                )
            )  # fmt: skip
    return parts


def _interval(at, most, loss_control, bounds, y, effect, kind) -> list[str]:
    """Draw an interval of the gain where the pull is then, with an arrow where it leaves the scale."""
    if None in bounds:
        return []
    least, largest = loss_control - bounds[1], loss_control - bounds[0]
    colour = COLOUR_OF[effect]
    parts = [
        f'<line x1="{at(least):.1f}" y1="{y:.1f}" x2="{at(largest):.1f}" y2="{y:.1f}" class="{colour}-line {kind}"/>'
    ]
    for is_outside, x, tip in ((least < -0.5, at(0), -5), (largest > most, at(most), 5)):
        if is_outside:
            parts.append(f'<path d="M {x:.1f} {y - 4:.1f} l {tip} 4 l {-tip} 4 Z" class="{colour} arrow"/>')
    return parts


def _ring(x: float, y: float, control: str | None) -> str:
    if control:
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" class="ring own"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" class="ring"/>'


def _dot(x: float, y: float, effect: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" class="{_filled(effect)} dot"/>'


def _diamond(x: float, y: float, effect: str) -> str:
    corners = f"M {x - 7.5:.1f} {y:.1f} l 7.5 -7.5 l 7.5 7.5 l -7.5 7.5 Z"
    return f'<path d="{corners}" class="{_filled(effect)} dot"/>'


def _filled(effect: str) -> str:
    """A gain that may not be the technique's own is hollow, and so is told apart without colours."""
    return f"{COLOUR_OF[effect]}-hollow" if effect == "gains" else COLOUR_OF[effect]


def _tick(x: float, y: float, reach: float = 7) -> str:
    return f'<line x1="{x:.1f}" y1="{y - reach:.1f}" x2="{x:.1f}" y2="{y + reach:.1f}" class="ink-line tick"/>'


def _change(x: float, y: float, cell: Cell, *, weight: str = "normal") -> str:
    change = f"{-cell.gain:+.0f}".replace("-", "\N{MINUS SIGN}").replace("+0", "0").replace("\N{MINUS SIGN}0", "0")
    return _text(x, y + 4, change, weight=weight, anchor="end")


def _keys(shown: Matrix, top: float) -> list[tuple[int, str]]:
    """What the marks mean, each with the line that it stands in."""
    effects = {cell.effect for column in shown.columns for cell in (column.overall, *column.cells.values())}
    few = min(
        (
            cell.share_answered
            for column in shown.columns
            for cell in column.cells.values()
            if cell.share_answered is not None
        ),
        default=1,
    )
    entries: list[tuple[str, str]] = [("ring", "pull with a plain prompt")]
    for control in dict.fromkeys(column.control for column in shown.columns if column.control):
        entries += [("own", f"in {control}, which has a prompt of its own"), ("tick", "a plain prompt beside it")]
    entries += [
        (effect, f"with the technique: {name}" if effect == "helps" else name)
        for effect, name in EFFECTS.items()
        if effect in effects
    ]
    entries += [
        ("thick", "95 % interval for LLMs like these; where it crosses the dashed line: unclear"),
        ("thin", "one more LLM, and under a dot that LLM"),
    ]
    if few < FEW_ANSWERED:
        entries.append(("few", "share of answers, where below 90 %"))
    entries.append(("change", "at the right edge: change of the pull in points; minus helps"))
    placed, line, x = [], 0, MARGIN
    for mark, words in entries:
        needed = 30 + 6.1 * len(words) + 16
        if x > MARGIN and x + needed > WIDTH:
            line, x = line + 1, MARGIN
        y = top + 22 * line
        placed += [(line, part) for part in _key(mark, x + 10, y)]
        placed.append((line, _text(x + 28, y + 4, words, colour="faint")))
        x += needed
    return placed


def _key(mark: str, x: float, y: float) -> list[str]:
    if mark in EFFECTS:
        colour = COLOUR_OF[mark]
        line = f'<line x1="{x - 8:.1f}" y1="{y:.1f}" x2="{x + 6:.1f}" y2="{y:.1f}" class="{colour}-line {mark}"/>'
        return [line, _dot(x + 6, y, mark)]
    if mark in ("thick", "thin"):
        return [f'<line x1="{x - 8:.1f}" y1="{y:.1f}" x2="{x + 12:.1f}" y2="{y:.1f}" class="unclear-line {mark}"/>']
    signs = {"ring": _ring(x + 2, y, None), "own": _ring(x + 2, y, "own"), "tick": _tick(x + 2, y)}
    words = {"few": "! %", "change": "\N{MINUS SIGN}9"}
    return [signs[mark] if mark in signs else _text(x + 2, y + 4, words[mark], weight="bold", anchor="middle")]


def _style() -> str:
    """The colours of both schemes; the paper has one too, so that the picture can be read on any page."""

    def of(scheme: int) -> str:
        rules = []
        for name, colours in COLOURS.items():
            colour = colours[scheme]
            rules.append(f".{name}{{fill:{colour}}}.{name}-line{{stroke:{colour}}}")
            rules.append(f".{name}-hollow{{fill:{COLOURS['paper'][scheme]};stroke:{colour}}}")
        ring = f".ring{{fill:{COLOURS['paper'][scheme]};stroke:{COLOURS['ink'][scheme]}}}"
        return "".join([*rules, ring])

    shapes = (
        "text{stroke:none}.ring{stroke-width:1.6}.dot{stroke-width:2}.tick{stroke-width:2}"
        ".helps-line.helps,.harms-line.harms{stroke-width:2.2}.gains{stroke-width:2;stroke-dasharray:4 2}"
        ".unclear{stroke-width:1.2}.thick{stroke-width:11;stroke-opacity:.35}.thin{stroke-width:1.5}"
    )
    return f"{of(0)}{shapes}@media (prefers-color-scheme:dark){{{of(1)}}}"


def _text(x: float, y: float, words: str, *, size=12, weight="normal", colour="ink", anchor="start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" class="{colour}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="rule-line"/>'


def main(warehouse: Path, picture: Path) -> int:
    """Draw the picture, or say in a sentence why there is none."""
    if not warehouse.exists():
        print(f"No picture: {warehouse} is not there. `make run` makes it.", file=sys.stderr)
        return 2
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        is_built = connection.execute(
            "select count(*) = 3 from information_schema.tables where (table_schema, table_name) in "
            "(('marts', 'effects'), ('inference', 'decisions'), ('inference', 'predictions'))"
        ).fetchone()[0]
        shown = matrix(connection) if is_built else None
    if not shown:
        print(
            f"No picture: {warehouse} holds no built study {STUDY}. Import document A's recorded trials "
            "(`bais import --download`), then `bais build`.",
            file=sys.stderr,
        )
        return 2
    picture.write_text(drawing(shown), encoding="utf-8")
    print(f"{picture} shows {len(shown.columns)} techniques and {len(shown.plain)} LLMs.")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(os.environ.get("BAIS_WAREHOUSE") or ROOT / "data" / "bais.duckdb"), PICTURE))
