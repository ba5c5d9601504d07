"""What the pages of `bais report` say in numbers, compared with the warehouse that they were written from."""

import json
import math
import re
from html import unescape

from analysis.report.values import clean
from analysis.words.codes import on_an_llm

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
SECTION = re.compile(r'<section class="matrix" data-place="(\d+)" data-goal="(\w+)".*?>(.*?)</section>', re.DOTALL)
ROW = re.compile(r'<tr role="row"([^>]*)>(.*?)</tr>', re.DOTALL)
CELL = re.compile(r"<td role=\"cell\"[^>]*>(.*?)</td>", re.DOTALL)
HEAD = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
RING = re.compile(r'<circle class="ring" cx="([\d.]+)%"|<svg x="([\d.]+)%"[^>]*><rect class="ring"')
DOT = re.compile(r'<circle class="dot" cx="([\d.]+)%"|<svg x="([\d.]+)%"[^>]*><path class="dot"')
INTERVAL = re.compile(r'class="interval" x1="([\d.]+)%" x2="([\d.]+)%"')
MINUS = "\N{MINUS SIGN}"
IS_ANCHORING = "paradigm = 'anchoring'"


class Comparison:
    """What was compared, and what differed."""

    def __init__(self, connection):
        self.connection, self.n, self.wrong = connection, 0, []

    def rows(self, query, *parameters):
        """Return the rows of a query."""
        return self.connection.execute(query, list(parameters)).fetchall()

    def same(self, where, shown, there):
        """Note whether what is shown is what is there: numbers to the twelfth digit, all else to the letter."""
        self.n += 1
        if isinstance(shown, float | int) and isinstance(there, float | int) and not isinstance(shown, bool):
            is_same = math.isclose(shown, there, rel_tol=1e-9, abs_tol=1e-9)
        elif isinstance(shown, list) and isinstance(there, list) and len(shown) == len(there):
            for i, pair in enumerate(zip(shown, there, strict=True)):
                self.same(f"{where}[{i}]", *pair)
            return
        else:
            is_same = shown == there
        if not is_same:
            self.wrong.append(f"{where}: {shown!r} is shown, {there!r} is there")


def data_of(page):
    """Return what a page embeds for its script, the claims as dicts."""
    data = json.loads(DATA.search(page)[1])
    if "claims" in data:
        packed = data["claims"]
        data["claims"] = [
            {
                name: packed["texts"][value] if name in packed["shared"] else value
                for name, value in zip(packed["columns"], row, strict=True)
            }
            for row in packed["rows"]
        ]
    return data


def compare(page, connection):
    """Hold the numbers of a page, or of all pages in one file, against its warehouse.

    Parameters
    ----------
    page : str
    connection : duckdb.DuckDBPyConnection

    Returns
    -------
    Comparison
    """
    found, data = Comparison(connection), data_of(page)
    for place in data.get("places", ()):
        _answers(found, place)
        for goal, shown in place["goals"].items():
            _decisions(found, place, goal, shown)
    for index, goal, section in SECTION.findall(page):
        _matrix(found, data["places"][int(index)], goal, section)
    if "claims" in data:
        _claims(found, data["claims"])
    for row in data.get("costs", ()):
        keys = [row[name] for name in ("study", "llm", "technique")]
        there = found.rows(
            "select cost_usd_per_answer, calls_per_trial from marts.technique_costs "
            "where study = ? and llm = ? and technique = ?", *keys,
        )  # fmt: skip
        found.same(f"costs of {keys}", [[row["cost_usd_per_answer"], row["calls_per_trial"]]], [list(*there)])
    return found


def _decisions(found, place, goal, shown):
    """Compare ring, dot, interval and decision of each technique, of each LLM and over all of them."""
    there = found.rows(
        f"select llm, technique, loss_control, loss, loss_control - gain_high, loss_control - gain_low, "
        f"decision, reason, control != 'no_technique' from inference.decisions where {IS_ANCHORING} "
        "and comparison = 'control' and study = ? and domain = ? and goal = ? and loss is not null",
        place["study"], place["domain"], goal,
    )  # fmt: skip
    cells, over = {}, {}
    for llm, technique, *numbers, decision, reason, is_own in there:
        word = on_an_llm({"decision": decision, "reason": reason})
        (over if llm is None else cells.setdefault(llm, {}))[technique] = [*numbers, word, is_own]
    for name, these, those in (("over", {None: shown["over"]}, {None: over}), ("cells", shown["cells"], cells)):
        found.same(f"{name} of {goal}", sorted(map(str, these)), sorted(map(str, those)))
        for llm in these.keys() & those.keys():
            found.same(f"{name} of {goal}, {llm}", sorted(these[llm]), sorted(those[llm]))
            for technique in these[llm].keys() & those[llm].keys():
                where = f"{name} of {goal}, {llm}, {technique}"
                found.same(where, these[llm][technique], those[llm][technique])


def _answers(found, place):
    """Compare the answers of each cell, the anchors, the means without one, and how many were asked and answered."""
    of = (place["study"], place["domain"])
    counted = found.rows(
        f"select vignette, llm, technique, arm, value, sum(n_trials)::int from marts.counts where {IS_ANCHORING} "
        "and n_trials > 0 and row_set = 'accepted' and response_source = 'reparsed' and study = ? and domain = ? "
        "and arm in ('none', 'low', 'high') group by all",
        *of,
    )  # fmt: skip
    shown = [
        (vignette, llm, technique, arm, value, n)
        for vignette, llms in place["vignettes"].items()
        for llm, cell in llms.items()
        for technique, arms in cell["dots"].items()
        for arm, dots in arms.items()
        for value, n, _ in dots
    ]
    found.same("dots", [list(row) for row in sorted(shown)], [list(row) for row in sorted(counted)])
    for vignette, llms in place["vignettes"].items():
        for llm, cell in llms.items():
            base = found.rows(
                f"select mean from marts.conditions where {IS_ANCHORING} and is_baseline and row_set = 'accepted' and "
                "temperature_scope = 'pooled' and n_trials > 0 and study = ? and domain = ? and vignette = ? "
                "and llm = ?",
                *of, vignette, llm,
            )  # fmt: skip
            found.same(f"base of {llm}", cell["base"], base[0][0] if base else None)
            for arm, anchors in cell["anchors"].items():
                there = found.rows(
                    f"select distinct anchor_value from marts.counts where {IS_ANCHORING} and row_set = 'accepted' and "
                    "response_source = 'reparsed' and study = ? and domain = ? and vignette = ? and llm = ? "
                    "and arm = ? and anchor_value is not null",
                    *of, vignette, llm, arm,
                )  # fmt: skip
                found.same(f"anchors of {llm}, {arm}", sorted(anchors), sorted(value for (value,) in there))
    asked = found.rows(
        f"select llm, technique, sum(n_asked)::int, sum(n_answered)::int from marts.attrition where {IS_ANCHORING} "
        "and role is null and study = ? and domain = ? group by all",
        *of,
    )  # fmt: skip
    shown = [(llm, technique, *counts) for llm, those in place["asked"].items() for technique, counts in those.items()]
    found.same("asked", [list(row) for row in sorted(shown)], [list(row) for row in sorted(asked)])


def _matrix(found, place, goal, section):
    """Compare what is printed and drawn in a matrix with what the script has, and with the losses of plain prompts."""
    shown, of = place["goals"][goal], (place["study"], place["domain"], goal)
    rows = ROW.findall(section)
    techniques = [match[1] for match in re.finditer(r'class="link" data-technique="([^"]*)"', section)]
    ticks = re.findall(r">([\d.e+]+)</text>", section)
    most = float(ticks[-1]) if ticks else 1.0
    heads = HEAD.findall(section)[2:]
    for technique, head in zip(techniques, heads, strict=True):
        ring, dot, *_ = shown["over"][technique]
        found.same(f"head of {goal}, {technique}", re.search(r'"big">(.*?)<', head)[1], f"{ring:.0f} % → {dot:.0f} %")
    plain = dict(
        found.rows(
            f"select llm, loss from inference.decisions where {IS_ANCHORING} and "
            "technique = 'no_technique' and study = ? and domain = ? and goal = ? and loss is not null",
            *of,
        )
    )
    llms = {clean(llm): llm for llm in shown["cells"]}
    for attributes, row in rows[1:]:
        if 'class="axis"' in attributes:
            continue
        is_over = 'class="over"' in attributes
        name = re.search(r'data-llm="([^"]*)"', attributes)
        llm = None if is_over else llms[unescape(name[1])]
        first, *cells = CELL.findall(row)
        if llm is not None:
            loss = plain.get(llm)
            found.same(f"plain prompt of {goal}, {llm}", first, "\N{EN DASH}" if loss is None else f"{loss:.0f} %")
        for technique, cell in zip(techniques, cells, strict=True):
            numbers = shown["over"][technique] if is_over else shown["cells"][llm].get(technique)
            _cell(found, f"cell of {goal}, {llm}, {technique}", cell, numbers, most, place["asked"].get(llm, {}))


def _cell(found, where, cell, numbers, most, asked):
    if numbers is None:
        found.same(where, "not asked" in cell, True)
        return
    ring, dot, low, high, *_ = numbers
    for pattern, value in ((RING, ring), (DOT, dot)):
        at = next(float(place) for place in pattern.search(cell).groups() if place)
        found.same(f"{where}, drawn", round(at, 1), float(f"{100 * min(max(value, 0), most) / most:.1f}"))
    if drawn := INTERVAL.search(cell):
        for at, end in zip(drawn.groups(), (low, high), strict=True):
            found.same(f"{where}, interval", float(at), float(f"{100 * min(max(end, 0), most) / most:.1f}"))
    printed = re.search(r'<(?:b|span) class="points">(?:<span.*?</span> )?([^<]*)<', cell)[1]
    change = round(dot - ring)
    found.same(f"{where}, points", printed, f"{change:+d}".replace("-", MINUS) if change else "0")
    if answered := re.search(r"⚠(\d+) %</span>", cell):
        technique = re.search(r'data-technique="([^"]*)"', cell)[1]
        n_asked, n_answered = asked[technique]
        found.same(f"{where}, answered", int(answered[1]), round(100 * n_answered / n_asked))


def _claims(found, claims):
    """Compare the claims of the ledger: what is printed, what is got again, what we recommend, what is said of it."""
    there = found.rows(
        "select claims.claim_id, claims.part, claims.published_value, recomputed_value, recomputes, "
        "recommended_value, recommended_low, recommended_high, holds from marts.claim_checks as checks "
        "inner join claims.published_claims as claims "
        "on claims.claim_id = checks.claim_id and claims.part is not distinct from checks.part "
        "where is_first_place and (claims.study is null or claims.study in (select study from raw.batches)) and "
        "(coalesce(holds, '') not in ('not_applicable', 'not_checked') or recomputes = 'no')"
    )
    by_id = {clean("-".join(filter(None, (claim, part)))): list(numbers) for claim, part, *numbers in there}
    names = ("printed", "again", "recomputes", "value", "low", "high", "verdict")
    shown = {claim["id"]: [claim[name] for name in names] for claim in claims}
    found.same("claims", sorted(shown), sorted(by_id))
    for name in shown.keys() & by_id.keys():
        found.same(f"claim {name}", shown[name], by_id[name])
