"""Figures as SVG that needs no script: Vega-Lite specifications, one for each kind, drawn once for each domain.

Colours are names of the page's palette (`var(--blue)`), so that one drawing serves light and dark; text takes the
page's colour. No meaning is in colour alone: marks differ in shape or stand beside a word or number.
"""

import math
import re
from copy import deepcopy
from functools import cache

from markupsafe import Markup

from analysis.report.values import clean

WIDTH = 320

# it has Arial's metrics, so that its widths are those of what other machines show
FONT = "Liberation Sans"
NARROW, BROAD = "ijlftrI.,:;'|!()[] -/", "mwMW@%"
SLANT = 68  # degrees by which the heads of a heat map are turned
LONGEST_LABEL = 130
INK = "currentColor"
CONFIG = {
    "background": "transparent",
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": INK, "tickColor": INK, "domainColor": INK, "gridColor": INK,
        "gridOpacity": 0.14, "tickOpacity": 0.4, "domainOpacity": 0.4, "labelFontSize": 12, "titleFontSize": 12,
        "titleFontWeight": "normal", "labelLimit": 0, "titleLimit": 0, "tickCount": 5,
    },
    "axisY": {"grid": False, "domain": False, "ticks": False, "labelPadding": 6},
    "text": {"color": INK, "fontSize": 12},
}  # fmt: skip

STAMP = Markup(
    '<text class="stamp" x="50%" y="50%" text-anchor="middle" transform="rotate(-18 {} {})">SIMULATED</text>'
)
NOISE = re.compile(
    r" (?:aria-hidden|pointer-events|class|role|aria-roledescription|stroke-miterlimit|xmlns(?::xlink)?|version"
    r'|display)="[^"]*"| font-(?:family|size)="[^"]*"| opacity="1"| font-weight="normal"| stroke-width="1"'
    r'| transform="translate\(0,0\)"'
)
TAG, DIGITS = re.compile(r"<[^<>]*>"), re.compile(r"(\.\d)\d+")
EMPTY = re.compile(r'<path d="(?:M0(?:\.5)?,0(?:\.5)?h0v0h0Z)?"/>|<path d="[^"]*"/>(?=<g>)|<g></g>|<g/>')


def draw(kind, rows, *, label, is_simulated=False, is_named_whole=False, **settings):
    """Draw one panel of a figure.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    rows : list of dict
        What the marks read; text in it is made harmless here.
    label : str
        What a reader hears instead of the drawing.
    is_simulated : bool
        Whether the drawing is stamped as simulated.
    is_named_whole : bool
        Whether no label is cut, however wide that makes the drawing.
    **settings : object
        `title` of the horizontal axis and its `domain`.

    Returns
    -------
    Markup
        An SVG element, `WIDTH` wide or, where no label is cut, wider by what is longer.
    """
    import vl_convert

    rows = [{name: clean(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows]
    padding, longer = _padding(kind, rows)
    config = {**CONFIG, "padding": padding}
    if longer and is_named_whole:
        padding["left"] += longer
    elif longer:
        config["axisY"] = {**CONFIG["axisY"], "labelLimit": LONGEST_LABEL}
    width = WIDTH - min(padding["left"], LONGEST_LABEL + 10) - padding["right"]
    spec = {**deepcopy(specification(kind)), "width": width, "config": config, "datasets": {"rows": rows}}
    _set(spec, **settings)
    return _inlined(vl_convert.vegalite_to_svg(spec), label, is_simulated)


def _padding(kind, rows):
    """Return the room that axes need, and by how much labels are longer: Vega measures text too slowly."""
    named = max((text_width(row["name"]) for row in rows if "name" in row), default=0)
    padding = {"left": min(named, LONGEST_LABEL) + 10, "right": 10, "top": 5, "bottom": 38}
    if kind == "cells":
        heads = [min(text_width(row["column"]), LONGEST_LABEL) for row in rows]
        padding["top"] = round(max(heads, default=0) * math.sin(math.radians(SLANT))) + 14
        padding["right"] = round(heads[-1] * math.cos(math.radians(SLANT))) if heads else 10
        padding["bottom"] = 4
    return padding, max(named - LONGEST_LABEL, 0)


def text_width(text):
    """Return about how many pixels a label takes, rather too many than too few.

    Parameters
    ----------
    text : str

    Returns
    -------
    int
    """
    return math.ceil(
        sum(
            3.9 if c in NARROW else 10.9 if c in BROAD else 12.5 if ord(c) > 0x2E7F else 8.6 if c.isupper() else 6.9
            for c in text
        )
    )


def _set(spec, title=None, domain=None):
    """Set what differs between the panels of a kind, in each layer whose horizontal axis shows a column."""
    for layer in spec["layer"]:
        x = layer.get("encoding", {}).get("x", {})
        if "field" in x and title is not None:
            x["axis"] = {**(x.get("axis") or {}), "title": clean(title)}
        if "field" in x and domain is not None:
            x["scale"] = {**x.get("scale", {}), "domain": domain, "nice": False}


def _inlined(svg, label, is_simulated):
    """Return an SVG as a page can hold it: without what only a file of its own needs, named, and stamped."""
    width, height = (float(number) for number in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    inner = svg[svg.index(">") + 1 : svg.rindex("</svg>")]
    inner, before = TAG.sub(_short_tag, inner), None
    while inner != before:
        inner, before = EMPTY.sub("", inner), inner
    stamp = STAMP.format(f"{width / 2:g}", f"{height / 2:g}") if is_simulated else ""
    start = Markup('<svg role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">').format(
        clean(label), f"{width:g}", f"{height:g}", f"{width:g}", f"{height:g}"
    )
    return start + Markup(inner) + stamp + Markup("</svg>")


def _short_tag(tag):
    """Leave out of a tag what changes nothing or the page sets, and digits below a tenth of a pixel."""
    text = tag[0].replace(f' fill="{INK}"', "") if tag[0].startswith("<text") else tag[0]
    return DIGITS.sub(r"\1", NOISE.sub("", text))


@cache
def specification(kind):
    """Return the Vega-Lite specification of a kind of figure, without data."""
    import altair as alt

    # a line for each name, and a rule where rows have a `reference`
    named = alt.Chart().encode(y=alt.Y("name:N", sort=None, title=None))
    rule = named.mark_rule(strokeDash=[4, 3], color=INK)
    reference = rule.encode(x="reference:Q", y=alt.value(0), y2=alt.value("height"))
    chart = KINDS[kind](alt, named, reference)
    return chart.properties(width=WIDTH, autosize="none", data={"name": "rows"}).to_dict()


def _bars(alt, named, reference):
    """Horizontal bars with their value; a line where there is a `reference`."""
    return alt.layer(
        named.mark_bar(height={"band": 0.62}).encode(x="value:Q", color=alt.Color("colour:N", scale=None)),
        reference,
        named.mark_text(align="left", dx=9).encode(x="end:Q", text="text:N"),
    ).properties(height=alt.Step(23))


def _intervals(alt, named, reference):
    """A tick with its interval."""
    return alt.layer(
        reference,
        named.mark_rule(color="var(--blue)", strokeWidth=1.4).encode(x="low:Q", x2="high:Q"),
        named.mark_tick(color=INK, thickness=2, size=13, opacity=1).encode(x="value:Q"),
        named.mark_text(align="left", dx=7).encode(x="end:Q", text="text:N"),
    ).properties(height=alt.Step(25))


def _dumbbells(alt, named, reference):
    """Two points, for low and high anchors, and what lies between."""
    point = {"filled": True, "size": 80, "opacity": 1}
    return alt.layer(
        reference,
        named.mark_rule(color=INK, opacity=0.5, strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        named.mark_point(shape="triangle-down", color="var(--blue)", **point).encode(x="low:Q"),
        named.mark_point(shape="triangle-up", color="var(--orange)", **point).encode(x="high:Q"),
        named.mark_text(align="left", dx=9).encode(x="end:Q", text="text:N"),
    ).properties(height=alt.Step(25))


def _cells(alt, named, reference):
    """A heat map with its numbers in it."""
    base = alt.Chart().encode(
        y=alt.Y("name:N", sort=None, title=None),
        x=alt.X("column:N", sort=None, title=None, axis=alt.Axis(
            orient="top", labelAngle=-SLANT, labelAlign="left", domain=False, ticks=False, labelLimit=LONGEST_LABEL)),
    )  # fmt: skip
    return alt.layer(
        base.mark_rect(stroke="var(--paper)", strokeWidth=1.5).encode(color=alt.Color("colour:N", scale=None)),
        base.mark_text().encode(text="text:N"),
    ).properties(height=alt.Step(22))


def _boxes(alt, named, reference):
    """Box plots: whiskers, the middle half, and a tick at the median."""
    colour = alt.Color("colour:N", scale=None)
    return alt.layer(
        reference,
        named.mark_rule(strokeWidth=1.4).encode(x="low:Q", x2="high:Q", color=colour),
        named.mark_bar(height={"band": 0.6}, opacity=0.6).encode(x="from:Q", x2="to:Q", color=colour),
        named.mark_tick(color=INK, thickness=2, size=13, opacity=1).encode(x="value:Q"),
        named.mark_text(align="left", dx=7).encode(x="end:Q", text="text:N"),
    ).properties(height=alt.Step(20))


def _curves(alt, named, reference):
    """A value at each answer, a line and a shape for each name."""
    of_name = {"domain": ["low", "high"]}
    base = alt.Chart().encode(
        x="target:Q",
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
        color=alt.Color("colour:N", scale=None),
    )
    dash = alt.StrokeDash("name:N", scale=alt.Scale(range=[[1, 0], [4, 3]], **of_name), legend=None)
    shape = alt.Shape("name:N", scale=alt.Scale(range=["triangle-down", "triangle-up"], **of_name), legend=None)
    return alt.layer(
        alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(y="reference:Q"),
        base.mark_line(strokeWidth=1.4).encode(strokeDash=dash),
        base.mark_point(filled=True, size=40, opacity=1).encode(shape=shape),
    ).properties(height=90)


KINDS = {make.__name__[1:]: make for make in (_bars, _intervals, _dumbbells, _cells, _boxes, _curves)}


def room_for_text(low, high, share=0.3):
    """Return the domain of an axis on which text fits beyond the largest value.

    Parameters
    ----------
    low, high : float
    share : float
        Of the axis that the text takes.

    Returns
    -------
    list of float
    """
    width = (high - low) or abs(high) or 1.0
    return [low, round(high + width * share / (1 - share), 6)]
