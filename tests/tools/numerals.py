"""The numerals of a document, and what `tests/numerals.csv` says of each: the claim that it prints, or why it is none.

    python tests/tools/numerals.py [folder of the documents]

brings that file in line with the documents: it adds a row for each numeral without one, whose `claim` and `why` are
left empty for whoever reads that place, and drops the rows whose numeral is not there.
"""

import csv
import os
import sys
from pathlib import Path

from analysis.claims.papers import printed_number
from analysis.reading.numerals import NUMERAL, as_shown

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("BAIS_SHARED") or ROOT.parent / "shared").resolve()
SEED = ROOT / "tests" / "numerals.csv"
COLUMNS = ["document", "line", "position", "numeral", "claim", "why"]
DOCUMENTS = {"A": "000_*.txt", "B": "001_*.txt", "C": "003_*.txt", "D": "004_*.txt"}
MISREAD = ("D",)  # UTF-8 that was read as Mac Roman and saved again


def numerals(text: str) -> list[tuple[int, int, str]]:
    """Return line, position in the line and numeral as printed, of all in the text; both count from 1.

    A numeral is one run of digits with its sign, its separators of thousands and its dots. Numbers in words ("four")
    are none.
    """
    return [
        (line, position, numeral[0])
        for line, words in enumerate(text.split("\n"), start=1)
        for position, numeral in enumerate(NUMERAL.finditer(words), start=1)
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


def read_rows(path: Path = SEED) -> list[dict[str, str]]:
    """Return a dict per row of the file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def places(documents: dict[str, str]) -> set[tuple[str, int, int, str]]:
    """Return document, line, position and numeral, of all documents."""
    return {(document, *numeral) for document, text in documents.items() for numeral in numerals(text)}


def place(row: dict[str, str]) -> tuple[str, int, int, str]:
    """Return document, line, position and numeral of a row of the file."""
    return row["document"], int(row["line"]), int(row["position"]), row["numeral"]


def unaccounted(documents: dict[str, str], rows: list[dict[str, str]]) -> list[tuple[str, int, int, str]]:
    """Return the numerals of the documents for which no row has a claim or says why it is none."""
    return sorted(places(documents) - {place(row) for row in rows if row["claim"] or row["why"]})


def unprinted(documents: dict[str, str], rows: list[dict[str, str]]) -> list[tuple[str, int, int, str]]:
    """Return the rows whose numeral is not at that place of the documents."""
    return sorted({place(row) for row in rows} - places(documents))


def misprinted(row: dict[str, str], claims: dict[str, dict]) -> list[str]:
    """Return the claims of a row that do not print its numeral; "" where it has a claim and a reason, or neither.

    Claims are of the same document, and print the same number to as many decimals. A fall may be printed as its size,
    without the sign ("lowers it by 2 points"), and a multiple of the baseline as its distance from it in percent
    (1.5 baselines as "50 % above"). The number of a sentence is a threshold, which the sentence need not print.
    """
    keys = row["claim"].split() or [""]
    if bool(row["claim"]) == bool(row["why"]):
        return keys
    return [key for key in keys if row["claim"] and not _prints(row, claims.get(key))]


def _prints(row, claim):
    if claim is None or claim["document"] != row["document"]:
        return False
    if claim["kind"] == "sentence":
        return True
    try:
        number, decimals, _ = printed_number(row["numeral"])
    except ValueError:
        return False
    value, printed = claim["published_value"], max(claim["decimals"], 0)
    is_signed = row["numeral"][0] in "+-\N{MINUS SIGN}"
    if decimals == printed and (number == value or (not is_signed and number == -value)):
        return True
    return claim["unit"] == "baselines" and decimals == max(printed - 2, 0) and number == 100 * abs(value - 1)


def in_line(documents: dict[str, str], rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows that the file of these documents has: those that are there as they are, the others empty."""
    known = {place(row): row for row in rows}
    empty = {"claim": "", "why": ""}
    return [
        known.get(found) or {**dict(zip(COLUMNS, map(str, found), strict=False)), **empty}
        for found in sorted(places(documents))
    ]


def main(folder: Path, seed: Path = SEED) -> None:
    """Write the file in line with the documents of the folder, and say what was added and dropped."""
    documents = read_documents(folder)
    if documents.keys() != DOCUMENTS.keys():
        sys.exit(f"{folder} has not all of {', '.join(DOCUMENTS.values())}")
    rows = read_rows(seed) if seed.exists() else []
    written = in_line(documents, rows)
    with seed.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(written)
    added = places(documents) - {place(row) for row in rows}
    print(f"{len(written)} numerals; {len(added)} added, {len(unprinted(documents, rows))} dropped")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else SHARED / "seeds")
