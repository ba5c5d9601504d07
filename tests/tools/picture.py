"""Draw docs/answers.svg, the picture of the README: what each LLM answers after a low and after a high anchor.

The warehouse says everything in it. Rows are LLMs, a circle is a group of equal answers (its area is their share of the
row), and 100 % is what the LLM itself answers without an anchor. `make picture` draws it from the recorded archive.
"""

import os
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "answers.svg"
STUDY, DOMAIN = "voder-bais", "judicial"
PANEL = """
select
    effects.technique, effects.loss,
    coalesce(decisions.decision not in ('use', 'asking_again_helps'), false) as is_open
from marts.effects
left join inference.decisions
    on effects.technique = decisions.technique and decisions.study = $study and decisions.domain = $domain
    and decisions.llm is null and decisions.comparison = 'control' and decisions.goal = 'displacement'
where effects.study = $study and effects.paradigm = 'anchoring' and effects.domain = $domain
    and effects.goal = 'displacement' and effects.llm is null and effects.vignette is null
    and (effects.technique = 'no_technique' or decisions.control = 'no_technique')
order by effects.technique != 'no_technique', effects.loss, effects.technique
limit 2
"""
ANSWERS = """
select
    coalesce(llms.display_name, trials.llm), trials.anchor_direction, trials.percent_of_baseline, count(*)
from marts.trials
left join seeds.llms using (llm)
where study = $study and domain = $domain and technique = $technique and anchor_direction in ('low', 'high')
    and percent_of_baseline is not null
group by all order by all
"""
NAME = "select display_name from seeds.techniques where technique = $technique"
WHAT = (
    "Months of prison in one and the same case, after a prosecutor's low or high demand that was drawn at random, "
    "in % of what the LLM itself answers without one."
)
HOW = (
    "A circle is a group of equal answers, its area their share; a stroke is their mean; dashed: the LLM's own answer."
)
OPEN = " That the two differ is not shown for other LLMs."
COLOURS = {"low": "#0072b2", "high": "#d55e00"}
WIDTH, LEFT, TOP, ROW, GUTTER, MOST, RADIUS = 980, 130, 118, 36, 30, 250.0, 8.0


@dataclass(frozen=True)
class Panel:
    """One technique: its name, its displacement (pp), and how often each answer was given."""

    name: str
    displacement: float
    is_open: bool  # whether nothing is decided on it
    answers: dict[tuple[str, str], dict[float, int]]


def panels(connection: duckdb.DuckDBPyConnection) -> list[Panel]:
    """Read the plain prompt and, of what is held against it, the technique that leaves the least displacement."""
    of = {"study": STUDY, "domain": DOMAIN}
    found = []
    for technique, displacement, is_open in connection.execute(PANEL, of).fetchall():
        answers: dict[tuple[str, str], dict[float, int]] = {}
        for llm, direction, percent, n_trials in connection.execute(ANSWERS, {**of, "technique": technique}).fetchall():
            answers.setdefault((llm, direction), {})[percent] = n_trials
        (name,) = connection.execute(NAME, {"technique": technique}).fetchone()
        words = {"no_technique": "a plain prompt", "random_control": f"the placebo ({name})"}
        found.append(Panel(words.get(technique, name), displacement, is_open, answers))
    return found


def drawing(shown: list[Panel]) -> str:
    """Draw the panels side by side as one SVG."""
    llms = sorted({llm for panel in shown for llm, _ in panel.answers})
    height = TOP + ROW * len(llms) + 64
    wide = (WIDTH - LEFT - GUTTER * len(shown)) / len(shown)
    finding = " and ".join(f"{panel.displacement:.0f} % off with {panel.name}" for panel in shown)
    title = f"Under an anchor, {len(llms)} LLMs answer {finding}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif">',
        f'<title>{escape(title)}</title><rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        _text(16, 30, title, size=18, weight="bold"),
        _text(16, 54, WHAT, size=12, fill="#555"),
        _text(16, 72, f"{HOW}{OPEN if any(panel.is_open for panel in shown) else ''}", size=12, fill="#555"),
    ]
    for row, llm in enumerate(llms):
        parts.append(_text(16, TOP + ROW * row + ROW / 2 + 5, llm))
        parts.append(_line(16, TOP + ROW * row, WIDTH - 16, TOP + ROW * row, "#ddd"))
    for column, panel in enumerate(shown):
        parts += _panel(panel, llms, LEFT + column * (wide + GUTTER), wide)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, llms: list[str], left: float, wide: float) -> list[str]:
    def at(percent: float) -> float:
        return left + wide * min(percent, MOST) / MOST

    bottom = TOP + ROW * len(llms)
    parts = [
        _text(left, TOP - 14, panel.name[0].upper() + panel.name[1:], weight="bold"),
        _text(at(100), TOP - 14, "own answer", fill="#555", anchor="middle", size=12),
        _line(at(100), TOP - 8, at(100), bottom, "#333", dash="4 3"),
    ]
    for percent in range(0, int(MOST) + 1, 50):
        label = f"{percent} %" if percent < MOST else f"{percent}+"
        parts.append(_text(at(percent), bottom + 18, label, fill="#555", anchor="middle", size=12))
    for column, direction in enumerate(COLOURS):
        x = left + column * 130
        parts.append(
            f'<circle cx="{x + 5:.1f}" cy="{bottom + 40}" r="5" fill="{COLOURS[direction]}" fill-opacity=".5"/>'
        )
        parts.append(_text(x + 16, bottom + 45, f"{direction} demand", size=12))
    for (llm, direction), counts in panel.answers.items():
        y = TOP + ROW * llms.index(llm) + ROW * (0.3 if direction == "low" else 0.7)
        total = sum(counts.values())
        for percent, n_trials in counts.items():
            parts.append(
                f'<circle cx="{at(percent):.1f}" cy="{y:.1f}" r="{max(1.2, RADIUS * (n_trials / total) ** 0.5):.1f}" '
                f'fill="{COLOURS[direction]}" fill-opacity=".5"/>'
            )
        mean = at(sum(percent * n_trials for percent, n_trials in counts.items()) / total)
        parts.append(_line(mean, y - 8, mean, y + 8, COLOURS[direction], width=3))
    return parts


def _text(x: float, y: float, words: str, *, size=13, weight="normal", fill="#111", anchor="start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, width=1, dash="none") -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}" '
        f'stroke-dasharray="{dash}"/>'
    )


def main(warehouse: Path, picture: Path) -> int:
    """Draw the picture, or say in a sentence why there is none."""
    if not warehouse.exists():
        print(f"No picture: {warehouse} is not there. `make run` makes it.", file=sys.stderr)
        return 2
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        is_built = connection.execute(
            "select count(*) = 2 from information_schema.tables where (table_schema, table_name) in "
            "(('marts', 'effects'), ('inference', 'decisions'))"
        ).fetchone()[0]
        shown = panels(connection) if is_built else []
    if not shown:
        print(
            f"No picture: {warehouse} holds no built study {STUDY}. Import document A's recorded trials "
            "(`bais import --download`), then `bais build`.",
            file=sys.stderr,
        )
        return 2
    picture.write_text(drawing(shown), encoding="utf-8")
    print(f"{picture} shows {len(shown)} techniques.")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(os.environ.get("BAIS_WAREHOUSE") or ROOT / "data" / "bais.duckdb"), PICTURE))
