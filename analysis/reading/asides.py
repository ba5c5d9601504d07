"""Which numerals of a text are surely no claims: where such a numeral stands, and why it is none."""

import re

from analysis.reading.numerals import DASH

YEAR = r"(?:19|20)\d{2}"
NO_COUNT = r"(?!\d|[.,]\d|\s*\\?%|\s(?:of|out|per|pp|times|percent|(?!was|has|is|as)[a-z]+s)\b)"
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|(?:Sept?|Nov|Dec)(?:ember)?"
    r"|Oct(?:ober)?)\b\.?"
)
TO = rf"(?:[{DASH}-]{{1,2}}|to|and|or|&|through)"
PLACE = r"[(\[]?[A-Z]?[.-]?\d+(?:[.-]\d+)*[a-z]?[)\]]?(?![\d\w]|[.,]\d|\s*\\?%)"
LABELLED = (
    "[Tt]able|[Ff]igure|[Ss]ection|[Ee]quation|[Aa]ppendix|[Aa]lgorithm|[Cc]hapter|[Ss]tudy|[Ee]xperiment|[Pp]age|Tab|Fig"
    "|Sect?|Eqn?|Alg|Exp|pp?|Vol|No|Theorem|Lemma|Proposition|Corollary|Definition|Listing|Step|Hypothesis|Footnote|Line"
    "|Phase|Part|Panel|Scenario|Question|Item|Example|Case|Condition|Story|Stage|Round|Layer|Task|Prompt|Turn"
)
NAMED = (
    r"\b(?:GPT|ChatGPT|Claude|Llama|LLaMA|Gemini|Gemma|Mistral|Mixtral|Qwen|Phi|Falcon|Opus|Sonnet|Haiku|DeepSeek|PaLM|Grok"
    r"|Kimi|GLM|Python|PyTorch|TensorFlow|CUDA|SPSS|Stata|MATLAB|SAS|Java|Ubuntu|Windows|Apache|GPL|CC[ -]BY\S*|RTX"
    r"|[Vv]ersion|[Vv]er\.|[Rr]elease)[\s~]"
)
IN_YEAR = r"\b(?i:in|since|until|during|year|early|late|mid|spring|summer|fall|autumn|winter)[\s-]"
# the group of a pattern, or else all that it matches, is no claim
PATTERNS = {
    "address": [
        r"(?:https?://|www\.)[^\s<>]+|\b[\w.+-]+@[\w-]+\.[\w.]+|\b10\.\d{4,9}/[^\s<>]+"
        r"|(?i:\barxiv\s*:?)\s*\S*\d{4}\.\d{4,5}(?:v\d+)?|\b(?:[\w-]+\.)+(?:com|org|net|io|edu|gov|ai)/\S*"
        r"|\]\([^\s()]*(?:\s\"[^\"]*\")?\)|[\w./-]*\w\.(?:png|pdf|svg|jpe?g|py|csv|jsonl?|txt|html?|tex|zip)\b"
        r"|\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b|(?<![\w.])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b(?!\.)",
    ],
    "citation": [
        r"[(\[;]\s*[^()\[\];]*?(?:[^\W\d_][.\u2019']?[\"\u201d*_]*,\s*|[A-Z][^\W\d_]*[a-z]\s)"
        rf"({YEAR}[a-z]?(?:,\s*(?:{YEAR})?[a-z]?\b)*)(?=\s*[;):\],])",  # (see Smith and Jones, 2019; Li, 2020a)
        r"(?:\bet al\.?|\b[A-Z][\w\u2019'-]+),?[\s~]*[(\[]"
        rf"({YEAR}[a-z]?(?:[,;]\s*{YEAR}[a-z]?|,\s*pp?\.\s*\d+(?:[{DASH}-]\d+)?)*)[)\]]",
        rf"\bet al\.?,?\s({YEAR}[a-z]?)\b",
        rf"\b\d{{1,4}}\**\s?\(\d{{1,3}}\),\s*(?:pp?\.\s*)?\d+[{DASH}-]+\d+",  # 32(2), 188-200
    ],
    "date": [
        rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b|(?:\u00a9|\([Cc]\))\s?{YEAR}",
        rf"\b{MONTH}\s{DAY}\b(?![.,]\d|\s?%)(?:,?\s{YEAR})?|\b(?:{DAY}\s(?:of\s)?)?{MONTH},?\s{YEAR}\b|\b{DAY}\s(?:of\s)?{MONTH}",
        rf"\b(?:[Bb]etween|[Ff]rom)\s({YEAR}\s(?:and|to)\s{YEAR}{NO_COUNT})",
        rf"{IN_YEAR}({YEAR}(?:s\b|{NO_COUNT})(?:\s?(?:{TO}|,)\s?{YEAR}{NO_COUNT})*)",
    ],
    "label": [
        rf"(?:\b(?:{LABELLED})\.?|\u00a7)[\s~]*{PLACE}(?:\s?[{DASH}-]{{1,2}}\s?{PLACE})?",
        rf"(?:\b(?:(?:{LABELLED})s|Appendices|[Ss]tudies|pp)\.?|\u00a7\u00a7)[\s~]*"
        rf"{PLACE}(?:,\s{PLACE})*(?:,?\s?{TO}\s?{PLACE})?",
        r"(?:\A|(?<=[.:;]\n)|(?<=\n\n))\s*(?:[-*\u2022>]\s*)*(?:\(?\d{1,2}[.)](?:\s+|\Z))+",  # of an item of a list
        r"\\tag\{[^{}]*\}|\(\d+\)(?=\s*\$\$)|\[\^[^\]]*\]",
    ],
    "level": [
        r"(\b\d+(?:\.\d+)?)\s*\\?%[\s-]*(?:(?!of\b|in\b|to\b)[\w-]+[\s-]){0,3}?"
        r"(?:CrI|CIs?|HDI|confidence|credible|[Ii]ntervals?|level)\b",
        r"(?:\u03b1|\\?\balpha|\b[Ss]ignificance(?:\slevel)?)[\s$]*(?:=|of|at|level of)[\s$]*0?\.05\b",
    ],
    "formula": [r"\$\$[^$]+\$\$"],
    "index": [  # an exponent, an index or the mark of a note
        r"\A\s*\^\{\d+\}|(?<=[^\W_])[_^](?:\{(?!\s*[+\u00b1])[^{}]*\}|[+-]?\w+)|(?<=[)}\]])_(?:\{[^{}]*\}|\w+)",
        r"(?<=[)}\]*.,;:\"\u201d\u2019])\^(?:\{[^{}]*\}|\w+)",
    ],
    "name": [
        rf"{NAMED}v?(?:\d+(?:\.\d+)+(?![\d%])|\d+{NO_COUNT})|\bR\s\d+(?:\.\d+)+|\bv\d+(?:\.\d+)*",
        r"\b\d+(?:\.\d+)?B\b(?![,-]?\d)|\b[A-Z]{2}\s\d{5}\b|\b\d+(?![xe]\d)[A-Za-z]+\d\w*|\b[1-4]D\b",  # 70B; 4DNES21
        r"(?<![\w\\-])[^\W\d_][^\W\d]*(?:(?:-(?=[^\W_])|_)?(?:[^\W_]|(?<=\d)\.(?=\d)))*",  # GPT-4.1-mini
    ],
}
ASIDE = [(why, re.compile(pattern)) for why, patterns in PATTERNS.items() for pattern in patterns]
NO_INTERVAL = "".join(rf"(?<!{end})" for end in ("CI", "CIs", "val", "vals", "nge", "een", r"\sin", r"\sis", r"\sof"))
BRACKETED = re.compile(
    rf"(?:{NO_INTERVAL}[A-Za-z.,;:)\"\u201d\u2019]\s?|(?<=\d)\s(?=\[\d{{1,3}}\]))"
    rf"(\[\d{{1,3}}(?:\s*[,;{DASH}-]\s*\d{{1,3}})*\])(?!\()"
)
ENUMERATED = re.compile(r"(?<![\w)])\((\d)\)\s(?=[^\W\d])")


def asides(text, is_numbered=False):
    """Return for each character of a text why a numeral there is no claim; a paper may cite by number, as in [12].

    Returns
    -------
    list of str
        Address, citation, date, label, level, formula, index, name, or nothing.
    """
    patterns = ASIDE + [("citation", BRACKETED)] * is_numbered
    if re.search(r"\(1\).+\(2\)", text, re.DOTALL):
        patterns = [*patterns, ("label", ENUMERATED)]
    reasons = [""] * len(text)
    for why, pattern in reversed(patterns):
        for match in pattern.finditer(text):
            start, end = match.span(match.lastindex or 0)
            reasons[start:end] = [why] * (end - start)
    return reasons
