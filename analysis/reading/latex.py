"""LaTeX to HTML of what it prints, by pylatexenc, where a private character begins each line and says which it is."""

import contextlib
import logging
import re

from pylatexenc import latex2text, latexwalker
from pylatexenc.latex2text import EnvironmentTextSpec, MacroTextSpec, SpecialsTextSpec
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, MacroStandardArgsParser, SpecialsSpec

logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)
CELL, ROW, RULE, LESS, MORE = "\ue000\ue001\ue002\ue003\ue004"
# what pylatexenc does not know or prints as no HTML: commands, their arguments as it writes them, and what is printed
PRINTED = [
    ("vspace hspace includegraphics bibliographystyle bibliography pagestyle thispagestyle color rowcolor cellcolor "
     "cline columncolor cmidrule Xhline label tag captionsetup phantom hphantom vphantom nocite index bibitem stretch "
     "tnote hypersetup lstset linespread author date", "*[{", ""),
    ("setlength addtolength setcounter addtocounter rule fontsize", "*[{{", ""),
    ("toprule bottomrule addlinespace footnotemark", "[", ""),
    ("midrule hline specialrule endhead", "[", RULE),
    ("tabularnewline \\", "*[", ROW),
    ("makecell shortstack thead num", "*[{", "%(3)s"),
    ("SI qty", "[{{", "%(2)s %(3)s"),
    ("SIrange qtyrange", "[{{{", "%(2)s\N{EN DASH}%(3)s %(4)s"),
    ("percent", "", "%"),
    ("multicolumn", "{{{", "<i colspan=%(1)s></i>%(3)s"),
    ("multirow", "[{[{[{", "<i rowspan=%(2)s></i>%(6)s"),
    ("resizebox", "{{{", "%(3)s"),
    ("href foreignlanguage adjustbox rotatebox raisebox scalebox", "{{", "%(2)s"),
    ("footnote footnotetext thanks", "[{", " (%(2)s)"),
    ("caption", "*[{", "<figcaption>%(3)s</figcaption>"),
    ("title icmltitle", "[{", "<title>%(2)s</title>"),
    ("chapter section subsection subsubsection", "*[{", "<h2>%(3)s</h2>"),
    ("paragraph subparagraph", "*[{", "<hr/>%(3)s. "),
    ("mathbb mathcal mathbf url path mbox textmd textsf texttt textup", "{", "%(1)s"),
    (",", "", "\u2009"),
    ("par item", "[", "<hr/>"),
]  # fmt: skip
FIRST, MARK = 0xF0000, re.compile("[\U000f0000-\U0010fffd]")  # of line 0, and of any line
BRACED = r"\{(?:[^{}\\]++|\\.|\{(?:[^{}\\]++|\\.|\{(?:[^{}\\]++|\\.|\{[^{}]*+\})*+\})*+\})*+\}"
MACRO = re.compile(
    r"\\(?:(?:re|provide)?newcommand|DeclareRobustCommand|def)\*?\s*\{?\\([A-Za-z]+)\}?"
    rf"(?:\[\d\])?(\[[^\]]*\])?(?:#\d)*\s*({BRACED})"
)
INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{([^{}]+)\}")
COMMENT = re.compile(r"(\\(?:url|href|path|nolinkurl)\s*\{[^{}\n]*\})|(?<!\\)((?:\\\\)*)%.*")
UNPRINTED = re.compile(
    r"\\iffalse\b.*?\\fi\b|\\begin\{(tikzpicture|comment|filecontents|[vV]erbatim|lstlisting|minted|algorithmic)(\*?)\}"
    r".*?\\end\{\1\2\}|\\[a-z]*(?:skip|kern|width|height|sep|indent)\s*=?\s*-?[\d.]+\s*(?:pt|in|cm|mm|em|ex)"
    r"|(?<=\\cmidrule)\([lr]*\)|(?<=[=<>(\[,&$]-)\s+(?=[\d.])|(?<=[=<>(\[,&$] -)\s+(?=[\d.])",
    re.DOTALL,
)
CITED = re.compile(r"\\(?!href|hyperref)(?:[A-Za-z]*[cC]ite[A-Za-z]*|[A-Za-z]*ref)\*?(?:\[[^\]]*\])*\s*\{[^{}]*\}")


def marked(text, numbers=None):
    """Return a text in which a mark begins each line that is not empty, of its number, which counts from 0."""
    lines = text.split("\n")
    marks = (chr(min(FIRST + n, 0x10FFFD)) for n in numbers or range(len(lines)))
    return "\n".join(mark + line if line.strip() else "" for mark, line in zip(marks, lines, strict=False))


def latex_html(text, folder=None):
    """Return the HTML of what a source prints; what it reads of other files of a folder is at the line that does."""
    text = _uncommented(marked(text))
    for _ in range(3 * bool(folder)):
        text = INPUT.sub(lambda match: _read(folder, match[1].strip()), text)
    specs, texts = _contexts() if MACRO.search(text) else (SPECS, TEXTS)
    for i, (name, default, body) in enumerate(MACRO.findall(text)):
        n = max(map(int, re.findall(r"#(\d)", body)), default=0)
        given = ("[" if default and n else "{") + "{" * (n - 1) if n else ""
        body = re.sub(r"#(\d)", r"%(\1)s", _printed(MARK.sub("", body), specs, texts).replace("%", "%%"))
        specs.add_context_category(f"own {i}", [MacroSpec(name, given)], prepend=True)
        texts.add_context_category(f"own {i}", [MacroTextSpec(name, body, discard=True)], prepend=True)
    before, begin, body = UNPRINTED.sub("", MACRO.sub("", text)).partition("\\begin{document}")
    titles = re.findall(rf"\\(?:title|icmltitle)\s*(?:\[[^\]]*\])?\s*{BRACED}", before)
    text = "".join(titles) + body.partition("\\end{document}")[0] if begin else before
    html = _printed(CITED.sub("?", text).replace("<", LESS).replace(">", MORE), specs, texts).replace("&", "&amp;")
    html = re.sub(f"[{CELL}{ROW}{RULE}]", " ", html).replace(LESS, "&lt;").replace(MORE, "&gt;")
    return re.sub(r"\n\s*\n", "<hr/>\n", html)


def _uncommented(text):
    return COMMENT.sub(lambda match: match[1].replace("%", "") if match[1] else match[2], text)


def _read(folder, name):
    path = next((path for path in (folder / f"{name}.tex", folder / name) if path.is_file()), None)
    return _uncommented(path.read_text(encoding="utf-8", errors="replace")) if path else ""


def _printed(text, specs, texts):
    nodes = latexwalker.LatexWalker(text, latex_context=specs).get_latex_nodes()[0]
    return Printer(latex_context=texts, strict_latex_spaces=True).nodelist_to_text(nodes)


class Printer(latex2text.LatexNodes2Text):
    """What LaTeX prints; formulas that stand by themselves are marked as such."""

    def apply_simplify_repl(self, node, *rest, **named):
        """Return what a command prints, which is nothing where its arguments are missing."""
        with contextlib.suppress(KeyError):
            return super().apply_simplify_repl(node, *rest, **named)
        return ""

    def math_node_to_text(self, node):
        """Return what a formula prints."""
        text = self.nodelist_to_text(node.nodelist).strip()
        return text if getattr(node, "displaytype", "") == "inline" else f" <span why=formula>{text}</span> "


def _table(node, l2tobj):
    """Return a table, of which the rows above its first inner rule are the header."""
    rows, html = [row.split(CELL) for row in l2tobj.nodelist_to_text(node.nodelist).split(ROW)], ""
    ruled = [i for i, row in enumerate(rows) if i and RULE in row[0] and (len(row) > 1 or i < len(rows) - 1)]
    for i, row in enumerate(rows):
        name, html = "th" if i < (ruled or [0])[0] else "td", f"{html}<tr>"
        for cell in row:
            html += f"<{name} covered {' '.join(re.findall(r'(?:col|row)span=[0-9]+', cell))}>{cell}</{name}>"
        html += "</tr>"
    return f"<table>{html}</table>"


ENVIRONMENTS = [
    ("table table* sidewaystable", "[", "<figure counted=Table>%(body)s</figure>"),
    ("figure figure*", "[", "<figure counted=Figure>%(body)s</figure>"),
    ("wraptable", "[{[{", "<figure counted=Table>%(body)s</figure>"),
    ("wrapfigure", "[{[{", "<figure counted=Figure>%(body)s</figure>"),
    ("thebibliography", "{", "<div why=reference>%(body)s</div>"),
    ("minipage subtable subfigure", "[[[{", "%(body)s"),
    ("tabular longtable", "[{", _table),
    ("tabular* tabularx tabulary", "{[{", _table),
]
SPECIALS = {"^": "<sup>%s</sup>", "_": "<sub>%s</sub>", "~": " ", "&": CELL}


def _contexts():
    """Return how commands are parsed, and what is printed of them."""
    specs, texts = latexwalker.get_default_latex_context_db(), latex2text.get_default_latex_context_db()
    macros, environments = (
        [(name, *rest) for names, *rest in table for name in names.split()] for table in (PRINTED, ENVIRONMENTS)
    )
    commands = [MacroSpec(name, given) for name, given, _ in macros]
    around = [EnvironmentSpec(name, given) for name, given, _ in environments]
    marks = [SpecialsSpec(mark, MacroStandardArgsParser("{")) for mark in "^_"]
    specs.add_context_category("printed", commands, around, marks, prepend=True)
    commands = [MacroTextSpec(name, shown, discard=True) for name, _, shown in macros]
    around = [EnvironmentTextSpec(name, shown) for name, _, shown in environments]
    marks = [SpecialsTextSpec(*special) for special in SPECIALS.items()]
    texts.add_context_category("printed", commands, around, marks, prepend=True)
    return specs, texts


SPECS, TEXTS = _contexts()
