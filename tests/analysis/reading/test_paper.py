"""Papers are read to their numerals: those of the four documents, of papers made by a seed, and of hard places."""

import random
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.numerals import NUMERAL, reading
from analysis.reading.paper import read_paper
from tests.tools.numerals import DOCUMENTS, SHARED, read_rows

FOLDER = SHARED / "seeds"


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_paper(path)


def latex(tmp_path, body):
    return read(tmp_path, "paper.tex", f"\\documentclass{{article}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n")


def values(paper):
    """What is claimed in a paper, with its bound."""
    return [f"{n.reading.bound} {n.reading.value}".strip() for n in paper.numerals if not n.why]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_numeral_of_the_documents_is_found_at_its_place_and_few_besides(document):
    path = next(FOLDER.glob(DOCUMENTS[document]), None)
    if path is None:
        pytest.skip(f"no document {document} in {FOLDER}; point BAIS_SHARED at a folder that has it in seeds/")
    found = {(n.line, n.position, n.printed) for n in read_paper(path).numerals}
    rows = [row for row in read_rows() if row["document"] == document]
    listed = {(int(row["line"]), int(row["position"]), row["numeral"]) for row in rows}
    assert listed - found == set()
    assert len(found - listed) <= 0.02 * len(listed)


def test_hardly_a_claim_of_the_documents_is_set_aside():
    papers = {document: next(FOLDER.glob(name), None) for document, name in DOCUMENTS.items()}
    if None in papers.values():
        pytest.skip(f"not all documents are in {FOLDER}")
    why = {(d, n.line, n.position): n.why for d, path in papers.items() for n in read_paper(path).numerals}
    claims = [why[row["document"], int(row["line"]), int(row["position"])] for row in read_rows() if row["claim"]]
    assert sum(map(bool, claims)) <= 0.005 * len(claims)


# --- papers made by a seed

WRAPPED = {
    "latex": r"""\documentclass{article}
\newcommand{\model}{GPT-4.1}
\title{A study of 7 things}\author{A. Author$^{1}$}
\begin{document}\maketitle
\begin{abstract}No numbers.\end{abstract}
\section{Results}\label{sec:1}
In 2023 we asked \model{} and Llama~3 \cite{x2024};
see Table~\ref{tab:1}, Figure~2 and \url{https://x.org/9}.
{SENTENCES}
\begin{table}[h]\caption{What was found}\label{tab:1}
\begin{tabular}{lrr}\toprule
 & \multicolumn{2}{c}{Domain} \\ \cmidrule(lr){2-3}
LLM & Low & High \\ \midrule
{ROWS}
\bottomrule\end{tabular}\end{table}
\begin{thebibliography}{9}\bibitem{x} X. 2024. Volume 12(3), 4--5.\end{thebibliography}
\end{document}""",
    "markdown": """# A study of 7 things

## 1 Results

In 2023 we asked GPT-4.1 and Llama 3 (Smith et al., 2021); see Table 1, Figure 2 and <https://x.org/9>.
{SENTENCES}

Table 1: What was found

| LLM | Low | High |
|-----|----:|-----:|
{ROWS}

## References

1. X. 2024. Volume 12(3), 4-5.
""",
    "html": """<html><head><title>A study of 7 things</title><style>p{margin:3px}</style></head><body>
<h1>A study of 7 things</h1><h2>1 Results</h2>
<p>In 2023 we asked GPT-4.1 and Llama 3 (Smith et al., 2021); see Table <a href="#t1">1</a> and Figure 2.
{SENTENCES}</p>
<table id="t1"><caption>Table 1: What was found</caption><tr><th>LLM</th><th>Low</th><th>High</th></tr>
{ROWS}
</table><h2>References</h2><ol><li>X. 2024. Volume 12(3), 4&ndash;5.</li></ol></body></html>""",
}  # fmt: skip
THOUSANDS = {"latex": ["{,}", "\\,", ","], "markdown": [","], "html": [",", "&thinsp;", "\u202f"]}
MINUSES = {"latex": ["$-{}$", "$-${}", "\\num{{-{}}}"], "markdown": ["-{}", "\u2212{}"], "html": ["&minus;{}", "-{}"]}
POWERS = {
    "latex": ["${} \\times 10^{{{}}}$", "\\num{{{}e{}}}", "${}\\cdot10^{{{}}}$"],
    "markdown": ["{}e{}", "${} \\times 10^{{{}}}$", "{} \u00d7 10^{}"],
    "html": ["{} &times; 10<sup>{}</sup>", "{}e{}"],
}
PERCENTS = {
    "latex": ["{}\\%", "${}\\%$", "\\SI{{{}}}{{\\percent}}"],
    "markdown": ["{}%", "{} %"],
    "html": ["{}%", "{}&nbsp;%"],
}
SENTENCES = [
    "The mean of the runs was {} in the first arm.", "It rose to {} after that.", "Of those, {} gave an answer ({}).",
    "The gap was {} (95{%} CI [{}, {}]).", "They differ ({} vs. {}).", "From {} it fell, to {} in all.",
]  # fmt: skip


def number(rng, kind):
    """A number as a paper of a kind prints it, and its value."""
    style = rng.randrange(6)
    if style == 0:
        n = rng.randrange(2001, 999_999)
        head, tail = divmod(n, 1000)
        return f"{head}{rng.choice(THOUSANDS[kind])}{tail:03}", n
    digits = f"{rng.uniform(0, 99):.{rng.randint(1, 3)}f}"
    if style == 1:
        return rng.choice(MINUSES[kind]).format(digits), -Decimal(digits)
    if style == 2:
        power = -rng.randint(1, 30)
        return rng.choice(POWERS[kind]).format(digits, power), Decimal(f"{digits}e{power}")
    if style == 3:
        return rng.choice(PERCENTS[kind]).format(digits), Decimal(digits)
    if style == 4:
        return f".{rng.randrange(10, 99)}", None
    return digits, Decimal(digits)


def made(rng, kind, n=40):
    """A paper of a kind, and the values of the numbers in it."""
    numbers, sentences, rows = [], [], []

    def printed():
        text, value = number(rng, kind)
        numbers.append(Decimal(f"0{text}") if value is None else Decimal(value))
        return text

    while len(numbers) < n - 15:
        form = rng.choice(SENTENCES).replace("{%}", "\\%" if kind == "latex" else "%")
        sentences.append(form.replace("{}", "\0"))
        while "\0" in sentences[-1]:
            sentences[-1] = sentences[-1].replace("\0", printed(), 1)
    while len(numbers) < n:
        cells = [f"LLM {chr(65 + len(rows))}", printed(), printed() if len(numbers) < n else ""]
        rows.append({
            "latex": " & ".join(cells) + r" \\", "markdown": f"| {' | '.join(cells)} |",
            "html": f"<tr><td>{'</td><td>'.join(cells)}</td></tr>",
        }[kind])  # fmt: skip
    text = WRAPPED[kind].replace("{SENTENCES}", "\n".join(sentences)).replace("{ROWS}", "\n".join(rows))
    return text, numbers


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize(("kind", "name"), [("latex", "p.tex"), ("markdown", "p.md"), ("html", "p.html")])
def test_all_numbers_of_a_paper_made_by_a_seed_are_found_and_nothing_else(tmp_path, kind, name, seed):
    text, numbers = made(random.Random(f"{kind} {seed}"), kind)
    paper = read(tmp_path, name, text)
    assert [Decimal(n.reading.value.replace(",", "")) for n in paper.numerals if not n.why] == numbers
    cells = [cell for table in paper.tables for row in table.grid()[1] for cell in row[1:] if cell]
    assert len(cells) == sum(n.table is not None for n in paper.numerals if not n.why)
    assert [table.where for table in paper.tables] == ["Table 1"]
    claims, lines = [n for n in paper.numerals if not n.why], text.split("\n")
    assert {n.where for n in claims} == {"Results" if kind == "latex" else "Section 1", "Table 1"}
    assert all(re.search(r"\d+", n.printed)[0] in lines[n.line - 1] for n in claims)


digits = st.decimals(min_value=0, max_value=999, places=2).map(str)
notations = st.sampled_from(
    [
        "{}",
        "-{}",
        "\u2212{}",
        "+{}",
        "({})",
        "[{}]",
        "$ {} $",
        "{}%",
        "{}\\%",
        "={}",
        "<{}",
        "{},",
        "{}.",
        "{};",
        "\u00b1{}",
        "{}pp",
    ]
)


@given(
    digits, notations, st.sampled_from(["", " ", "was ", "\u2013 ", "("]), st.sampled_from(["", " of", ") and", "\n"])
)
def test_any_number_is_read_back_from_any_notation(number, notation, before, after):
    text = before + notation.format(number) + after
    (match,) = NUMERAL.finditer(text)
    sign = "-" if notation[0] in "-\u2212" else ""
    assert reading(match, text).value == sign + number


@given(st.integers(1000, 10**9), st.sampled_from([",", "\u2009", "\u202f"]))
def test_thousands_are_read_back_whatever_separates_them(n, separator):
    text = f"{n:,}".replace(",", separator)
    (match,) = NUMERAL.finditer(text)
    assert reading(match, text).value == f"{n:,}"


@given(
    digits,
    st.integers(-300, 300),
    st.sampled_from(["{}e{}", "{}E{}", "{} \u00d7 10^{}", "{}\\times 10^{{{}}}", "{}*10**{}"]),
)
def test_powers_of_ten_are_read_back(mantissa, power, notation):
    text = notation.format(mantissa, power)
    (match,) = NUMERAL.finditer(text)
    assert Decimal(reading(match, text).value) == Decimal(f"{mantissa}e{power}")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$F(2,114)=5.32$, [100,200]", ["2", "114", "5.32", "100", "200"]),
        ("10\u221212, 3.2 \u00d7 10\u221212, 3.2 \u00d7 10\u207b\u00b9\u00b2", ["10", "12", "3.2e-12", "3.2e-12"]),
        ("30\u201390, 0.5\u20130.7, 1 \u20132, \u20130.5", ["30", "90", "0.5", "0.7", "1", "2", "-0.5"]),
    ],
)  # fmt: skip
def test_two_numbers_are_not_one_and_one_is_not_two(text, found):
    assert [reading(match, text).value for match in NUMERAL.finditer(text)] == found


@pytest.mark.parametrize(
    ("text", "bound", "unit"),
    [
        ("p < .05", "<", ""), ("$p \\leq 0.05$", "<=", ""), ("n > 30", ">", ""),
        ("<b>30 participants", "", "participants"),
        ("72.9%", "", "%"), ("72.9 percent", "", "%"), ("26.0pp", "", "pp"), ("8 percentage points", "", "pp"),
        ("7.5 months", "", "months"), ("#3", "", "rank"), ("3 to 5%", "", "%"), ("81.2 \u00b1 0.3%", "", "%"),
        ("2.5 million", "", "million"), ("5 apples", "", ""),
    ],
)  # fmt: skip
def test_bound_and_unit_are_seen(text, bound, unit):
    match = next(NUMERAL.finditer(text))
    assert reading(match, text)[1:] == (bound, unit)


# --- hard places


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (r"It is 14{,}152, 14\,152 and \num{14152}.", ["14,152", "14,152", "14152"]),
        (r"$72.9\%$, $-0.5$, $-$0.5, $d =- 0.5$, $d = - 0.5$", ["72.9", "-0.5", "-0.5", "-0.5", "-0.5"]),
        (r"{$<$}.001", ["< .001"]),
        (r"\textbf{\emph{93.7}}\% \texttt{8} \textcolor{red!20}{5.1} \small[92, 95]", ["93.7", "8", "5.1", "92", "95"]),
        (r"\SI{5.2}{\percent}, \qty[per-mode=fraction]{12}{\ms}, \SIrange{3}{7}{\percent}", ["5.2", "12", "3", "7"]),
        (r"3--5 and $81.2 \pm 0.3$", ["3", "5", "81.2", "0.3"]),
        ("A % 12 comments\n% 13 more\nB 14\\% and 15", ["14", "15"]),
        (r"A\footnote{Of 30 runs.} is 5. \vspace{-2mm}\includegraphics[width=0.5\textwidth]{f2}", ["30", "5"]),
        (r"\newcommand{\n}{12}\newcommand{\ci}[2]{[#1, #2]}\def\acc{9.5\%} \n{} \acc{} \ci{1.5}{2.5}",
         ["12", "9.5", "1.5", "2.5"]),
        (r"\citep[see][p.~12]{a2024} \cite{b2020} \label{s:3} \url{https://x.org/a%20b7} 5", ["5"]),
        (r"$R^2 = .45$, $\beta_1 = 0.2$, $\chi^2(3, N=398)=9.81$, $x_{10}$", [".45", "0.2", "3", "398", "9.81"]),
        (r"\begin{equation} y = \frac{x}{2} \times 100 \end{equation} \[ d = 0.71. \] \[ a = \frac{294.9}{2} b \]",
         ["0.71", "294.9"]),
        ("\\begin{verbatim}\nx = 5\n\\end{verbatim}\n\\iffalse 6 \\fi 7", ["7"]),
        (r"\begin{itemize}\item[1.] One of 3 \item Two {of {4}}\end{itemize}", ["3", "4"]),
        (r"\twocolumn[\icmltitle{On 3}\vskip 0.3in] \setlength\tabcolsep{4pt} $<$1\% and ${\sim}3\times$",
         ["< 1", "3"]),
        (r"\newcommand{\loop}{\loop} \loop 5 { 6 $7", ["5", "6", "7"]),
        (r"5 } \end{center} 6 \multicolumn{2}", ["5", "6", "2"]),
    ],
)  # fmt: skip
def test_latex_is_read_as_it_is_printed(tmp_path, body, found):
    assert values(latex(tmp_path, body)) == found


def test_a_table_in_latex_of_another_file_is_read_with_its_spans(tmp_path):
    (tmp_path / "results.tex").write_text(
        r"""\begin{table*}[t]\caption{Of \textbf{30} runs.\label{tab:9}}
\resizebox{0.9\textwidth}{!}{%
\begin{tabular}{@{}lS[table-format=2.1]cc@{}} \toprule
& \multicolumn{2}{c}{Judicial} & \multirow{2}{*}{\begin{tabular}[c]{@{}c@{}}All\\mean\end{tabular}} \\
\cmidrule(lr){2-3}
LLM & Low & High & \\ \midrule
GPT-4 & 63.6 & $-8.8^{***}$ & \textbf{93.7} {\small[92, 95]} \\[2pt]
\rowcolor{gray!20} o3~\cite{s2020} & -- & \underline{.08} & $.39\pm.02$ \\
\multicolumn{4}{l}{Panel B} \\ \bottomrule
\end{tabular}}\end{table*}""",
        encoding="utf-8",
    )
    paper = latex(tmp_path, "\\section{First}\\section{Second}\n\\input{results}\nAnd 5.")
    assert paper.tables[0].where == "Table 1"
    assert paper.tables[0].grid() == (
        ["LLM", "Judicial Low", "Judicial High", "All mean"],
        [
            ["GPT-4", "63.6", "-8.8***", "93.7 [92, 95]"],
            ["o3 ?", "\u2013", ".08", ".39\u00b1.02"],
            ["Panel B", "", "", ""],
        ],
    )
    places = [(n.line, n.where) for n in paper.numerals if n.printed in ("30", "63.6", "5")]
    assert places == [(4, "Table 1"), (4, "Table 1"), (5, "Second")]


def test_a_header_of_numbers_in_latex_is_what_stands_above_the_rule(tmp_path):
    body = "\\begin{tabular}{lc}\\hline LLM & 0.7 \\\\ \\hline A & 5 \\\\ \\hline B & 6 \\\\ \\hline\\end{tabular}"
    assert latex(tmp_path, body).tables[0].grid() == (["LLM", "0.7"], [["A", "5"], ["B", "6"]])


def test_a_macro_of_several_lines_says_its_number_where_it_is_used(tmp_path):
    paper = latex(tmp_path, "\\newcommand{\\n}{%\n12\n}\n\nOf \\n{} and 5.")
    assert [(n.line, n.printed) for n in paper.numerals] == [(7, "12"), (7, "5")]


HTML = """<body><nav><a href="#s1">1</a></nav><h1>About 7</h1><p>Of 14,152 &mdash; 72.9&nbsp;% &lt;&nbsp;.05
and &minus;0.5, 10<sup>5</sup>, <math><mn>14</mn><mo>,</mo><mn>000</mn></math>, note<sup>3</sup>, H<sub>2</sub>O
<p><math alttext="3.2\\times 10^{-12}"><mn>3.2</mn></math>, <math><mn>10</mn>
<annotation>3.2\\times 10^{-13}</annotation></math><span class="katex-html">3.2</span><script>4</script>
\\(p = 4.1 \\times 10^{-3}\\)
<table><thead><tr><th rowspan=2>LLM</th><th colspan=2>Judicial</th></tr><tr><th>Low</th><th>High</th></tr></thead>
<tbody><tr><th rowspan="2">GPT-4</th><td>63.6</td><td>&minus;8.8<sup>***</sup></td></tr><tr>
<td>1&thinsp;941</td><td>.39 &plusmn; .02</td></tr></tbody></table>
<p>Table 2. Below.<table><tr><td>a</td><td>1.5</td></tr></table><pre>x = 5</pre>"""


def test_html_is_read_as_it_is_shown(tmp_path):
    paper = read(tmp_path, "paper.html", HTML)
    shown = [
        "14,152",
        "72.9",
        "< .05",
        "-0.5",
        "1e5",
        "14,000",
        "3.2e-12",
        "3.2e-13",
        "4.1e-3",
        "63.6",
        "-8.8",
        "1,941",
        ".39",
        ".02",
        "1.5",
    ]
    assert values(paper) == shown
    header = ["LLM", "Judicial Low", "Judicial High"]
    body = [["GPT-4", "63.6", "\u22128.8***"], ["GPT-4", "1\u2009941", ".39 \u00b1 .02"]]
    assert paper.tables[0].grid() == (header, body)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.md", "| LLM | Low |\n|---|--:|\n| GPT-4 | 63.6 |\n\n: Table 3: caption"),
        ("p.txt", "    Table 3: caption\n\nLLM         Low       High\nGPT-4       63.6      5.1"),
        ("p.txt", "LLM\tLow\nGPT-4\t63.6\n\nTable 3: caption\n\nText."),
        ("p.txt", "Table 3: caption\n\nLLM\tLow\t95% CI\nGPT-4\t63.6\t[62, 65]\no3\t5.1\t[4, 6]"),
        ("p.txt", "Table 3: caption\n\nLLM\tLow\tSD\tn\nGPT-4\t63.6\tref\tref\no3\t5.1\t4\t6"),
        ("p.md", "*Table 3*: caption\n\nLLM | Low\n--- | ---\n**GPT-4** | *63.6*\n\n| a | 5 |\n|---|---|\n| b | 6 |"),
        ("p.md", "<table><tr><th>LLM</th><th>Low</th></tr>\n<tr><td>GPT-4</td><td>63.6</td></tr></table>\n\nTable 3:"),
    ],
)  # fmt: skip
def test_a_table_of_text_is_read_and_finds_its_caption(tmp_path, name, text):
    table = read(tmp_path, name, text).tables[0]
    header, rows = table.grid()
    assert (table.where, header[:2], rows[0][:2]) == ("Table 3", ["LLM", "Low"], ["GPT-4", "63.6"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("as shown (Englich et al., 2006)", "citation"), ("Smith (2019)", "citation"), ("see Table 3", "label"),
        ("Sections 3.2 and 4", "label"), ("in 2019, we", "date"), ("on March 3, 2024", "date"),
        ("GPT-4.1 and o3", "name"), ("4DNES21 is", "name"), ("3D maps", "name"),
        ("Llama 3.1 answers", "name"), ("at https://x.org/v2", "address"), ("doi 10.1145/3544548.3581107", "address"),
        ("a 95% CI", "level"), ("2 (95% confidence interval)", ""), ("2000 participants", ""), ("in 2000 trials", ""),
        ("a gap of 5", ""), ("Of 12 LLMs", ""), ("me@x9.org", "address"), ("x_{12}", "index"), ("n = 30", ""),
        ("R^2", "index"), ("arXiv:2305.12345v2", "address"), ("5-point", ""), ("a 12-month term", ""), ("26.0pp", ""),
    ],
)  # fmt: skip
def test_what_is_surely_no_claim_has_a_reason(tmp_path, text, why):
    assert read(tmp_path, "p.txt", text + "\n").numerals[0].why == why


def test_stars_are_no_emphasis_and_a_caption_is_of_one_table(tmp_path):
    text = "| A | B |\n|---|---|\n| x | 0.5\\*\\*, .6*** |\n\nTable 1: One\n\n| A | B |\n|---|---|\n| x | 7 |\n"
    first, second = read(tmp_path, "p.md", text).tables
    assert first.grid()[1] == [["x", "0.5**, .6***"]]
    assert {first.where, second.where} == {"Table 1", "a table in Abstract"}


def test_where_a_sentence_stands_is_its_section(tmp_path):
    text = "# Title\n\nOf 3.\n\n## 1 Start\n\nOf 4.\n\n### 1.2 More\n\nOf 5 here. Of 6\nthere.\n\n## Odd\n\nOf 7.\n"
    paper = read(tmp_path, "p.md", text)
    assert [(n.where, n.sentence) for n in paper.numerals if not n.why] == [
        ("Abstract", "Of 3."), ("Section 1", "Of 4."), ("Section 1.2", "Of 5 here."), ("Section 1.2", "Of 6 there."),
        ("Odd", "Of 7."),
    ]  # fmt: skip


def test_the_title_is_read_where_it_is_said(tmp_path):
    assert read(tmp_path, "p.md", "---\ntitle: About\nyear: 2025\n---\n\n# One\n\nOf 3.").title == "About"
    assert read(tmp_path, "p.tex", "\\title{On \\emph{this}}\\author{A. B.$^1$}\nOf 3.").title == "On this"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("p.pdf", b"%PDF-1.7", "pdftotext -layout p.pdf p.txt"), ("p.docx", b"PK", "pandoc p.docx -o p.md"),
        ("p.xyz", b"5", "save it as one of these"), ("p.txt", b"%PDF-1.7", "pdftotext"), ("p.md", b"a\0b", "no text"),
        ("p.tex", b" \n", "no text"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused_and_told_how_to_become_one(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=said):
        read_paper(tmp_path / name)


def test_a_text_in_an_old_encoding_is_read(tmp_path):
    (tmp_path / "p.tex").write_bytes("Na\xefve of 5".encode("latin-1"))
    assert read_paper(tmp_path / "p.tex").numerals[0].sentence == "Na\xefve of 5"
