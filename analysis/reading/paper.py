"""A paper in a file: LaTeX, HTML, Markdown or plain text, as HTML whose lines are marked, to numerals and tables."""

import contextlib
import re
from bisect import bisect_right
from collections import Counter, namedtuple
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString
from markdown_it import MarkdownIt

from analysis.reading.asides import YEAR, asides
from analysis.reading.latex import FIRST, MARK, latex_html, marked
from analysis.reading.numerals import NUMERAL, as_shown, reading, sentence_starts

LATEX, HTML, TEXT = (".tex", ".ltx"), (".html", ".htm", ".xhtml"), (".md", ".markdown", ".txt", ".text")
TURNED = dict.fromkeys((".docx", ".odt", ".rtf", ".epub", ".doc", ".rst", ".org", ".ipynb"), "pandoc {0} -o {1}.md")
TURNED[".pdf"] = "pdftotext -layout {0} {1}.txt"
AS_PRINTED = ["list", "blockquote", "code", "hr", "reference", "link", "image", "emphasis", "escape", "backticks"]
FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
RULER = re.compile(r"[\s|:+=-]*[-=]{2,}[\s|:+=-]*$")
CAPTION = re.compile(
    r"[\s*_#:]*(?:Supplementary |Extended Data )?(Tab|TAB|Fig|FIG)(?:le|LE|ure|URE|\.)"
    r"[\s~]*([A-Z]?\.?\d+(?:\.\d+)*[a-z]?|[IVX]+)[\s*_]*(?:[:.|\u2014-]|$)(?![\d%])"
)
VALUE = re.compile(  # but no 95% CI, 10-shot or 1st
    rf"[\s*_<>$(\[#~\u2248\u00b1]*{NUMERAL.pattern}"
    r"(?!\s*(?:\\?%\s*(?:CI|[Cc]onf|[Ii]nter)|-[A-Za-z]|(?:st|nd|rd|th|B)\b|\.?\d))"
)
NUMBERED = re.compile(r"(?:(?:Appendix|Section)\s+)?((?:\d{1,2}|[A-Z])(?:\.\d{1,2})*)[.:]?\s+(?=\S)")
TITLED = re.compile(
    rf"(?!A\s){NUMBERED.pattern}[A-Z](?:[^.!?;=]|vs\.){{2,90}}|(?i:abstract|references|bibliography|conclusions?|appendix)"
)
REFERENCES = re.compile(r"references|bibliography|(?:literature|works) cited", re.IGNORECASE)
HIDDEN = "nav, svg, button, select, annotation-xml, .katex-html, [hidden], [style*='display:none']"
REASONS = {
    "label": "a[href^='#'], h1, h2, h3, h4, h5, h6", "code": "pre", "reference": ".ltx_bibliography, #references",
    "formula": ".ltx_equation, .ltx_equationgroup, [display=block]",
}  # fmt: skip
EMPHASIS = re.compile(r"(?<!\\)(\*\*|__|\*|`)(?=\S)([^*`]+?)(?<=[^\s\\])\1(?!\*)|\\(?=[*_|])")
CELLS, HEADING = ["td", "th"], re.compile("h[1-6]")
INLINE = re.compile("a|b|i|em|strong|u|s|span|small|code|cite|q|abbr|tt|font|m[a-z]+|su[bp]|br|img|wbr")
# a numeral, the how-manieth of its line it is, and why it is surely no claim, or nothing
Numeral = namedtuple("Numeral", "line position printed reading where sentence why table")
Paper = namedtuple("Paper", "title numerals tables")


def read_paper(path):
    """Return what a paper says, as a Paper of its title, each Numeral and each Table.

    Parameters
    ----------
    path : pathlib.Path

    Raises
    ------
    ValueError
        If it is no text of a known kind; says how to turn it into one.
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    kind = path.suffix.lower() if path.suffix.lower() in LATEX + HTML + TEXT else ""
    data = path.read_bytes() if kind else b""
    if not kind or data.startswith(b"%PDF"):
        turn = TURNED.get(".pdf" if kind else path.suffix.lower(), "").format(
            path.name, path.stem + "-text" * bool(kind)
        )
        how = f"turn it into text with `{turn}`" if turn else "save it as one of these"
        raise ValueError(f"it is no LaTeX (.tex), Markdown (.md), HTML (.html) or plain text (.txt): {how}")
    text = _decoded(data)
    if kind in HTML and len(re.findall(r"<t[dh]\b", text)) > len(re.findall("</t[dh]>", text)):
        raise ValueError("its tables leave out end tags, such as </td>: write them, or turn it into text with pandoc")
    if kind in LATEX:
        page = Page(latex_html(text, path.parent))
    else:
        page = Page(marked(as_shown(text)) if kind in HTML else _markdown_html(as_shown(text)))
    if kind in TEXT:
        named = re.search(r"^title: *(['\"]?)(.*)\1$", front[1], re.MULTILINE) if (front := FRONT.match(text)) else None
        page.title = named[2] if named else page.title or text.strip("# *_\n\f").partition("\n")[0]
    return Paper(page.title, page.numerals(), page.tables)


def _decoded(data):
    """Return the text of a file, as it was before it was misread and saved, with one kind of line end."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    if re.search("[\x00-\x08\x0e-\x1f]", text) or not text.strip():
        raise ValueError("it has no text, or bytes that are none: turn it into text with `pdftotext -layout` or pandoc")
    if "\u201a\u00c4" in text:  # UTF-8 that was read as Mac Roman
        with contextlib.suppress(UnicodeError):
            text = text.encode("mac_roman").decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _markdown_html(text):
    """Return Markdown or plain text as HTML; lists and links stay as they are printed."""
    lines, source = [], FRONT.sub(r"<div why=label>\n\1\n</div>\n", text).split("\n")
    for is_row, run in groupby(enumerate(source), lambda pair: len(_cells(pair[1])) > 1):
        run = list(run)
        if is_row and len(run) > 1:
            rows = [(n, "</td><td>".join(_cells(line))) for n, line in run if not RULER.match(line)]
            rows = [(n, f"<tr><td>{cells}</td></tr>") for n, cells in rows]
            run = [(run[0][0], ""), (run[0][0], "<table>"), *rows, (run[-1][0], "</table>"), (run[-1][0], "")]
        lines += run

    numbers = [n for n, _ in lines]

    def mark(state):
        line = 0
        for token in state.tokens:
            line = token.map[0] if token.map else line
            if token.type in ("inline", "fence", "html_block"):
                first = line + (token.type == "fence")
                token.content = marked(token.content, numbers[first : first + token.content.count("\n") + 1])

    markdown = MarkdownIt("js-default", {"html": True}).disable([*AS_PRINTED, "strikethrough"])
    markdown.core.ruler.before("inline", "mark", mark)
    return markdown.render("\n".join(line for _, line in lines))


def _cells(line):
    """Return what stands between the pipes, the tabs or the wide gaps of a line; one gap may be of two columns."""
    if re.match(r"\s*\|.*\|\s*$", line):
        return re.split(r"(?<!\\)\|", line.strip()[1:-1])
    cells = line.split("\t") if "\t" in line.strip(" ") else re.split(r"(?<![.!?:;,])\s{2,}", line.strip())
    return cells if "\t" in line or len(cells) > 2 else []


class Table:
    """A table as printed: rows of cells, of which the first are its header; where nothing says how many, 0."""

    def __init__(self):
        self.where, self.rows, self.n_header = "", [], 0

    def put(self, row, column, text, across, down, is_covered):
        """Put a cell where the row has room from a column on, and return the column after it."""
        while len(self.rows) < row + down:
            self.rows.append({})
        if is_covered and not text and column in self.rows[row]:  # below a cell of several rows
            return column + 1
        while column in self.rows[row]:
            column += 1
        for i in range(row, row + down):  # a name above several columns is of all of them, a cell is not
            self.rows[i] |= {column + j: text if not j or row < self.n_header else "" for j in range(across)}
        return column + across

    @cached_property
    def n_head(self):
        """How many rows are the header: those above the first that has values."""
        values = [[cell for j, cell in row.items() if j and VALUE.match(cell)] for row in self.rows]
        first = next((i for i, cells in enumerate(values) if cells), 1)
        is_years = first == 0 and (not self.rows[0].get(0) or all(re.fullmatch(YEAR, cell) for cell in values[0]))
        return self.n_header or (1 if is_years or first > 3 else first)

    def grid(self):
        """Return the header, one name a column, and a list of the other rows, all as long as the widest."""
        width = max((max(row) + 1 for row in self.rows if row), default=0)
        n, seen, header = self.n_head, Counter(), []
        rows = [[row.get(j, "") for j in range(width)] for row in self.rows]
        for j in range(width):
            name = " ".join(dict.fromkeys(filter(None, (row[j] for row in rows[:n])))) or f"column {j + 1}"
            seen[name] += 1
            header.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
        return header, [row for row in rows[n:] if any(row)]


class Page:
    """What is shown of HTML: its title, its tables, and pieces of text with the lines and reasons of their chunks."""

    def __init__(self, html):
        self.title, self.tables, self.pieces, self.cells = "", [], [], {}
        self.where, self.reference = "Abstract", ""
        soup, line, counts = BeautifulSoup(html, "html.parser"), 1, Counter()
        for tag in soup.select(HIDDEN):
            tag.decompose()
        for math in soup("math"):
            if tex := math.get("alttext") or (math.annotation and math.annotation.text):
                shown_math = MARK.sub("", latex_html(f"${MARK.sub('', tex)}$"))
                math.clear()
                math.extend(BeautifulSoup(shown_math, "html.parser").contents[:])
        for tag in soup(["sup", "sub"]):
            tag.insert(0, "^{" if tag.name == "sup" else "_{")
            tag.append("}")
        for tag in soup(["br", "hr", "p", "div", "li", "tr", *CELLS]):
            tag.append("\n")
        for figure in soup.select("figure[counted]:has(figcaption)"):
            counts[figure["counted"]] += 1
            figure["where"] = f"{figure['counted']} {counts[figure['counted']]}"
        self.reasons = {id(tag): why for why, path in REASONS.items() for tag in soup.select(path)}
        self.reasons |= {id(tag): tag["why"] for tag in soup.select("[why]")}
        for table in soup("table"):
            self.read_table(table)
        strings = [text for text in soup.find_all(string=True) if type(text) is NavigableString]
        for _, run in groupby(strings, lambda text: id(self.block(text))):
            chunks = []
            for text in run:
                why = next((self.reasons[id(tag)] for tag in text.parents if id(tag) in self.reasons), "")
                for part in re.split(f"({MARK.pattern})", text):
                    line = ord(part) - FIRST + 1 if MARK.match(part) else line
                    chunks.append((MARK.sub("", part), line, why))
            self.put_text(self.block(text), chunks)

    def block(self, text):
        """Return the cell of a table that a text is in, or else its paragraph."""
        parents = list(text.parents)
        inner = next(tag for tag in parents if not INLINE.fullmatch(tag.name))
        return next((tag for tag in parents if id(tag) in self.cells), inner)

    def read_table(self, tag):
        """Keep a table cell by cell; one in a cell of another, or of a single cell, is none."""
        if tag.find_parent(CELLS) or sum(bool(shown(cell.text)) for cell in tag(CELLS)) < 2:
            self.reasons.setdefault(id(tag), "" if tag.find_parent(CELLS) else "formula")
            return
        table = Table()
        for i, row in enumerate(row for row in tag("tr") if row.find_parent("table") is tag):
            is_head, column = row.parent.name == "thead" or not row.find("td", recursive=False), 0
            table.n_header += is_head and i == table.n_header
            for cell in row(CELLS, recursive=False):
                spans = [cell.get(key, "") for key in ("colspan", "rowspan")]
                spans = [min(max(int(n), 1), 99) if n.isdecimal() else 1 for n in spans]
                column = table.put(i, column, clean(cell.text), *spans, cell.has_attr("covered"))
                self.cells[id(cell)] = table, i
        self.tables.append(table)

    def put_text(self, tag, chunks):
        """Keep a piece of text as what its element is."""
        text, (table, row) = "".join(chunk for chunk, *_ in chunks), self.cells.get(id(tag), (None, 0))
        words, is_heading = shown(text).strip("*_ "), HEADING.fullmatch(tag.name)
        if tag.name == "title" or (tag.name == "h1" and not self.title):
            self.title = words
        elif words and (is_heading or (tag.name == "p" and TITLED.fullmatch(words))):
            printed = NUMBERED.match(words)
            title, number = (words[printed.end() :], printed[1]) if printed else (words, "")
            self.where = f"{'Appendix' if number[0].isalpha() else 'Section'} {number}" if number else title
            self.reference = "reference" if REFERENCES.match(title) else ""
        if words and tag.name != "title":
            named = None if table else CAPTION.match(text)
            where = f"{'Table' if named[1][0] == 'T' else 'Figure'} {named[2]}" if named else self.where
            if figure := tag.find_parent("figure", where=True):
                where = figure["where"]
            if table:
                table.where = table.where or (where if where != self.where else f"a table in {where}")
            self.pieces.append((text, [(*place, why or self.reference) for *place, why in chunks], where, table, row))

    def numerals(self):
        """Return every numeral in the order of the paper, and give tables their captions."""
        self._caption()
        positions, found, texts = Counter(), [], [text for text, *_ in self.pieces]
        single = {match for text in texts for match in re.findall(r"[a-z]\s?\[\d{1,3}\](?!\()", text)}
        is_numbered = len(single) > 1 or any(text.lstrip().startswith("[1]") for text in texts)
        for text, chunks, where, table, row in self.pieces:
            sentences, reasons = sentence_starts(text), asides(text, is_numbered)
            begins, starts = [begin for begin, _ in sentences], [0, *accumulate(len(chunk) for chunk, *_ in chunks)]
            for match in NUMERAL.finditer(text):
                _, line, why = chunks[bisect_right(starts, match.start()) - 1]
                positions[line] += 1
                why = why or reasons[match.end("sign") if match["sign"] else match.start()]
                if why in ("formula", "index") and "." in match[0]:  # only whole numbers are surely no results
                    why = ""
                if table and row < table.n_head and match[0].isdigit():
                    why = why or "label"
                sentence = shown(sentences[bisect_right(begins, match.start()) - 1][1])
                said = reading(match, text), table.where if table else where, sentence, why, table
                found.append(Numeral(line, positions[line], match[0], *said))
        return found

    def _caption(self):
        """Give each table without a caption the one beside it that no other table has."""
        for (*_, before, above, _), (*_, after, below, _) in pairwise(self.pieces):
            for table, other, where in ((above, below, after), (below, above, before)):
                is_open = table and not other and table.where.startswith("a table") and where.startswith("Table")
                if is_open and where not in {held.where for held in self.tables}:
                    table.where = where


def shown(text):
    """Return a text without marks and with single spaces."""
    return " ".join(MARK.sub("", text).split())


def clean(text):
    """Return what a cell shows, as a person would type it."""
    text = re.sub(r"\^\{([^\d{}+-]*)\}", r"\1", re.sub(r"[_^]\{(\s*\u00b1[^{}]*)\}", r" \1", MARK.sub("", text)))
    return re.sub(r"[ \t\n]+", " ", EMPHASIS.sub(r"\2", text)).strip()
