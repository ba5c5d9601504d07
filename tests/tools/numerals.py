"""The numerals of a document, and what `seeds/numerals.csv` says of each: the claim that it prints, or why it is none.

    python tests/tools/numerals.py [folder of the documents]

brings the seed in line with the documents: it adds a row for each numeral without one, whose `claim` and `why` are left
empty for whoever reads that place, and drops the rows whose numeral is not there.
"""

import csv
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("BAIS_SHARED") or ROOT.parent / "shared").resolve()
SEED = ROOT / "seeds" / "numerals.csv"
COLUMNS = ["document", "line", "position", "numeral", "claim", "why"]
DOCUMENTS = {"A": "000_*.txt", "B": "001_*.txt", "C": "003_*.txt", "D": "004_*.txt"}
MISREAD = ("D",)  # UTF-8 that was read as Mac Roman and saved again

# A sign is no hyphen and no dash of a range: -8.8 and [-1, 2] have one, GPT-4.1 and 0-12 have none.
NUMERAL = re.compile(
    r"""
    (?: (?<! [\w.%)\]}+\N{MINUS SIGN}-] ) [+\N{MINUS SIGN}-] )?
    (?: \d{1,3} (?: ,\d{3} )+ (?!\d) (?: \.\d+ )?    # 14,152
      | (?<! [\w.] ) \.\d+                           # .05
      | \d+ \.\d+ e-\d+                              # 8.62e-130
      | \d+ (?: \.\d+ )*                             # 26.0, section 3.2.5, and digits in a word: o4-mini, 12th
    )
    """,
    re.VERBOSE | re.ASCII,
)

# A page that was saved with the markup of its formulas has their numbers once as shown and once more in the markup.
AS_SHOWN = [
    (re.compile(r"([+\N{MINUS SIGN}])(\d+(?:\.\d+)?)[+-]\2(?!\.?\d)"), r"\1\2"),  # +62.84+62.84
    (re.compile(r"(\d+(?:\.\d+)?)\\(?:times|approx) \1(?!\.?\d)"), r"\1"),  # 2.2\times 2.2
    (re.compile(r"(\d+\.\d+)\1(?!\.?\d)"), r"\1"),  # 0.270.27
    (re.compile(r"(\d+),(\d{3})\1\{,\}\2"), r"\1,\2"),  # 10,00010{,}000
]


def as_shown(text: str) -> str:
    """Return the text without the second of two copies of a number, which is its markup."""
    for twice, once in AS_SHOWN:
        text = twice.sub(once, text)
    return text


def numerals(text: str) -> list[tuple[int, int, str]]:
    """Return line, position in the line and numeral as printed, of all in the text; both count from 1.

    A numeral is one run of digits with its sign, its separators of thousands and its dots. Numbers in words ("four")
    are none.
    """
    return [
        (line, position, numeral)
        for line, words in enumerate(text.split("\n"), start=1)
        for position, numeral in enumerate(NUMERAL.findall(words), start=1)
    ]


def read_documents(folder: Path) -> dict[str, str]:
    """Return the text of each document by its letter; a document that the folder does not have is left out."""
    paths = {document: next(folder.glob(name), None) for document, name in DOCUMENTS.items()}
    texts = {document: path.read_text(encoding="utf-8") for document, path in paths.items() if path}
    return texts | {
        document: as_shown(text.encode("mac_roman").decode("utf-8"))
        for document, text in texts.items()
        if document in MISREAD
    }


def read_seed(path: Path = SEED) -> list[dict[str, str]]:
    """Return a dict per row of the seed."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def places(documents: dict[str, str]) -> set[tuple[str, int, int, str]]:
    """Return document, line, position and numeral, of all documents."""
    return {(document, *numeral) for document, text in documents.items() for numeral in numerals(text)}


def place(row: dict[str, str]) -> tuple[str, int, int, str]:
    """Return document, line, position and numeral of a row of the seed."""
    return row["document"], int(row["line"]), int(row["position"]), row["numeral"]


def unaccounted(documents: dict[str, str], rows: list[dict[str, str]]) -> list[tuple[str, int, int, str]]:
    """Return the numerals of the documents for which no row has a claim or says why it is none."""
    return sorted(places(documents) - {place(row) for row in rows if row["claim"] or row["why"]})


def unprinted(documents: dict[str, str], rows: list[dict[str, str]]) -> list[tuple[str, int, int, str]]:
    """Return the rows whose numeral is not at that place of the documents."""
    return sorted({place(row) for row in rows} - places(documents))


def in_line(documents: dict[str, str], rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows that a seed of these documents has: those that are there as they are, the others empty."""
    known = {place(row): row for row in rows}
    empty = {"claim": "", "why": ""}
    return [
        known.get(found) or {**dict(zip(COLUMNS, map(str, found), strict=False)), **empty}
        for found in sorted(places(documents))
    ]


def main(folder: Path, seed: Path = SEED) -> None:
    """Write the seed in line with the documents of the folder, and say what was added and dropped."""
    documents = read_documents(folder)
    if documents.keys() != DOCUMENTS.keys():
        sys.exit(f"{folder} has not all of {', '.join(DOCUMENTS.values())}")
    rows = read_seed(seed) if seed.exists() else []
    written = in_line(documents, rows)
    with seed.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(written)
    added = places(documents) - {place(row) for row in rows}
    print(f"{len(written)} numerals; {len(added)} added, {len(unprinted(documents, rows))} dropped")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else SHARED / "seeds")
