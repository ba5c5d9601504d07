"""What `bais recommend` and `bais headlines` show first: gains and biases, their intervals drawn with characters."""

from rich.cells import cell_len

from analysis.words.advice import SIMULATED_FIRST, headlines, is_of_few, of_few
from analysis.words.biases import headlines as headlines_on_biases
from analysis.words.codes import CONTROL, DECIDED, MARKS, on_an_llm, on_llms, probability
from analysis.words.measures import arms, in_unit, most_cautious, on_cautious, with_unit
from bais.terminal import PIPED_WIDTH, lay_out, say_each, terminal_width

FIRST = "its first"
HEADS = ("", "for {}s like these", "these", "gain (95 %)", "")
DRAWN = 3  # the column of the drawing
NARROWEST, WIDEST = 11, 36  # columns of a drawing
WIDE = 10  # points from which on a gain needs no decimals
FARTHEST = 2  # how many times as far as the largest gain a scale goes: what is wider ends in an arrow
KEYS = ("technique", "goal", "control")
COMPARISONS = ("control", "confounded", "placebo")


def say_places(evidences, goal=None):
    """Print what helps in several places: a table of those of which others can be spoken, and a line on the others.

    Parameters
    ----------
    evidences : list of Evidence
    goal : str, optional
        As of `say_gains`.
    """
    few = [evidence for evidence in evidences if is_of_few(evidence, goal)]
    told = [evidence for evidence in evidences if evidence not in few]
    say_gains(told, goal)
    simulated = SIMULATED_FIRST if told and all(evidence.is_simulated for evidence in told) else ""
    say_each(f"{simulated}{text}" for text in headlines(told, goal))
    say_each(headlines_on_biases([evidence for evidence in few if evidence.biases]))
    say_each([of_few(few, goal)] if few else [])
    instruments = [bias["instrument"] for evidence in evidences for bias in evidence.biases]
    say_each(filter(None, [on_cautious(instruments)]))


def say_gains(evidences, goal=None):
    """Print by the leading goals of each place what each technique gains, for whom, and how sure that is.

    Parameters
    ----------
    evidences : list of Evidence
    goal : str, optional
        One to show in place of those that lead.
    """
    groups = [
        (evidence, each, rows)
        for evidence in evidences
        for each in ((goal,) if goal else evidence.leading)
        if (rows := evidence.of(each))
    ]
    if not groups:
        return
    width = _width()
    heads = [HEADS[0], HEADS[1].format(groups[0][0].noun), *HEADS[2:]]
    heads[2] = "this LLM" if groups[0][0].own else heads[2]
    texts = [[_title(evidence, each), *(_told(evidence, row) for row in rows)] for evidence, each, rows in groups]
    kept = [i for i in range(len(heads)) if i != DRAWN]
    widest = (max(cell_len(line[i]) for line in [heads, *(line for of in texts for line in of)]) for i in kept)
    room = min(max(width - sum(widest) - 2 * len(kept), NARROWEST), WIDEST)
    for lines, (evidence, each, rows) in zip(texts, groups, strict=True):
        gains = [_gain(evidence, row) for row in rows]
        scale = _scale(gains, rows[0]["margin"])
        lines[0][DRAWN] = _axis(scale, evidence.goals[each], room)
        for line, row, gain in zip(lines[1:], rows, gains, strict=True):
            line[DRAWN] = draw(*gain, scale, room, is_decided=_own(evidence, row)["decision"] in DECIDED)
    print(lay_out(heads, [line for of in texts for line in of], width=width, null="", right=(4,)))


def say_goals(evidence, goals):
    """Print what each technique gains on each control by each goal; beside it what is decided.

    Parameters
    ----------
    evidence : Evidence
    goals : tuple of str
    """
    say_biases(evidence)
    by_goal, names = {}, {}
    for goal in goals:
        for kind in COMPARISONS:
            for row in evidence.among(evidence.own or evidence.places, goal, comparison=kind):
                by_goal[row["technique"], row["control"], goal] = row
                names.setdefault(row["technique"], {}).setdefault(row["control"], row)
    rows = [
        [
            _name(row) if place == 0 else f"  vs {row['control_name']}",
            *(_decided(evidence, by_goal, row, goal) for goal in goals),
        ]
        for of_technique in names.values()
        for place, row in enumerate(of_technique.values())
    ]
    heads = [f"by {evidence.called(goal)}\n({evidence.goals[goal].spoken_unit})" for goal in goals]
    if rows:
        print(lay_out(["gain, 95 % interval", *heads], rows, width=_width(), null=""))


def _decided(evidence, by_goal, row, goal):
    """Write a gain with its interval, in parentheses where it is confounded, and what is decided unless it is open."""
    of_goal = by_goal.get((row["technique"], row["control"], goal))
    if of_goal is None or of_goal["gain"] is None:
        return None
    words = evidence.goals[goal]
    names = ("gain", "gain_low", "gain_high")
    text, *bounds = _numbers(words, [of_goal[name] for name in names if of_goal[name] is not None])
    text += f" [{', '.join(bounds)}]" if bounds else ""
    if not evidence.own and of_goal["n_llms"] < len(evidence.llms):
        n = of_goal["n_llms"]
        losses = f"{words.number(of_goal['loss'], '.3g')} instead of {words.number(of_goal['loss_control'], '.3g')}"
        text += f" in {n} {evidence.noun}{'s' * (n != 1)}: {losses}"
    if of_goal["decision"] is None:
        return f"({text})"
    said = on_an_llm(of_goal) if evidence.own else on_llms(of_goal)
    return f"{text} {said}" if of_goal["decision"] in DECIDED else text


def _numbers(words, values):
    """Write some gains that belong together: wide ones need no decimals."""
    is_wide = words.form == ".1f" and words.scale * max(map(abs, values)) >= WIDE
    return [words.number(value, "+.0f") if is_wide else words.signed(value) for value in values]


def say_biases(evidence):
    """Print how far arms lie apart by each measure, without a technique and with each.

    Parameters
    ----------
    evidence : Evidence
    """
    if not evidence.biases:
        return
    biases = most_cautious(evidence.biases, lambda bias: f"{with_unit(bias)}: {arms(bias)}")
    what = "share" if all(bias.get("is_unsigned") for bias in biases) else "difference"
    interval = " (95 % interval)" * any(bias["low"] is not None for bias in biases)
    heads = ["measure", "arms", "technique", f"{what}{interval}", "p, by\nHolm"]
    rows = [
        [with_unit(bias), arms(bias), f"{bias['name']}{of}", _difference(bias), probability(bias["p_holm"])]
        for bias, of in zip(biases, _of_how_many(biases, evidence.noun), strict=True)
    ]
    kept = len(heads) - (not any(row[-1] for row in rows))
    print(lay_out(heads[:kept], [row[:kept] for row in rows], width=_width(), null="", right=(3, 4)))


def _of_how_many(biases, noun):
    """Say of each bias of how many LLMs it is, where these are not as many for all."""
    sizes = [bias["n_llms"] for bias in biases]
    return [f" ({n} {noun}{'s' * (n != 1)})" if len({*sizes}) > 1 else "" for n in sizes]


def _difference(bias):
    if bias["value"] is None:
        return None
    value, low, high = (in_unit(bias, bias[name]) for name in ("value", "low", "high"))
    if bias.get("is_unsigned"):
        return f"{value:.3g}"
    return f"{value:+.3g}" if low is None else f"{value:+.3g} ({low:+.3g} to {high:+.3g})"


def draw(gain, low, high, scale, width, *, is_decided):
    """Draw a gain and its interval on a scale.

    Parameters
    ----------
    gain, low, high : float or None
    scale : tuple of float
        Its two ends.
    width : int
        In characters.
    is_decided : bool

    Returns
    -------
    str
    """
    line = ["·"] * width
    start, end = MARKS["interval"][0][0], MARKS["interval"][0][-1]
    leaves_low, leaves_high = MARKS["beyond"][0].split()
    if low is not None:
        left, right = _at(low, scale, width), _at(high, scale, width)
        line[left : right + 1] = ["─"] * (right - left + 1)
        line[left] = leaves_low if low < scale[0] else start
        line[right] = leaves_high if high > scale[1] else end
    zero = _at(0, scale, width)
    line[zero] = MARKS["none"][0] if line[zero] == "·" else "┼" if line[zero] == "─" else line[zero]
    if gain is not None:
        line[_at(gain, scale, width)] = MARKS["decided" if is_decided else "open"][0]
    return "".join(line)


def _at(value, scale, width):
    """Return in which character of a drawing a value lies."""
    low, high = scale
    return round((min(max(value, low), high) - low) / (high - low) * (width - 1))


def _scale(gains, margin):
    """Return the ends of a scale that holds 0, every gain, and every interval that is not far wider than those."""
    most = FARTHEST * max([abs(gain) for gain, *_ in gains if gain is not None] + [margin or 0]) or 1
    ends = [end for gain in gains for end in gain if end is not None]
    return max(min([*ends, -most / 10]), -most), min(max([*ends, most / 10]), most)


def _axis(scale, words, width):
    """Write the ends of a scale, and 0 where it lies."""
    low, high = _numbers(words, scale)
    zero = min(max(_at(0, scale, width), len(low) + 1), width - len(high) - 2)
    return f"{low}{' ' * (zero - len(low))}0{' ' * (width - zero - 1 - len(high))}{high}"


def _title(evidence, goal):
    """Return the cells above the techniques of a place: where it is, by which goal, and of how many LLMs."""
    n, n_tested = max(row["n_llms"] for row in evidence.of(goal)), len(evidence.llms)
    whom = evidence.llm.rsplit("/", 1)[-1] if evidence.own else f"{f'{n} ' if n < n_tested else ''}of {n_tested}"
    unit = evidence.goals[goal].spoken_unit
    return [evidence.domain or evidence.paradigm, f"by {evidence.called(goal)}", whom, "", unit]


def _told(evidence, row):
    """Return the cells on a technique: its name, the decision, what it does to these LLMs, a drawing, and the gain."""
    own = _own(evidence, row)
    if evidence.own:
        here = on_an_llm(own) if own["decision"] else ""
    else:
        here = "" if row["n_helped"] is None else f"+{row['n_helped']} −{row['n_harmed']}"
    gain = "" if own["gain"] is None else evidence.words(row).signed(own["gain"])
    return [_name(row), on_llms(row), here, "", gain]


def _name(row):
    """Name a technique, with its control where that is no plain prompt."""
    if row["control"] == CONTROL:
        return row["name"]
    is_own = row["control"] == f"{row['technique']}_initial"
    return f"{row['name']} vs {FIRST if is_own else row['control_name']}"


def _width():
    return terminal_width() or PIPED_WIDTH


def _own(evidence, row):
    """Return the row that is told: of one LLM its own, of which nothing is told that is of all."""
    if not evidence.own:
        return row
    nothing = dict.fromkeys(("decision", "gain", "gain_low", "gain_high"))
    return next((own for own in evidence.own if all(own[key] == row[key] for key in KEYS)), nothing)


def _gain(evidence, row):
    own = _own(evidence, row)
    return own["gain"], own["gain_low"], own["gain_high"]
