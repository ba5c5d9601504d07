"""What the README says: its blocks of code, and the row of its table on each paper, beside that of the ledger."""

import re

from analysis.claims.papers import read_papers
from ingest.warehouse import ROOT

README = ROOT / "README.md"
COLUMNS = ("printed", "recompute", "differ", "cannot be derived", "hold", "weaker", "contradicted")
ROW = re.compile(r"^\| (?P<paper>.*?) \| (?P<numbers>[\d, |–]+) \|$", re.MULTILINE)
LEDGER = """
select
    count(*), count(*) filter (recomputes = 'yes'), count(*) filter (recomputes = 'no'),
    count(*) filter (recomputes = 'not_derivable'), count(*) filter (holds = 'holds'),
    count(*) filter (holds = 'weaker'), count(*) filter (holds = 'contradicted')
from marts.claim_checks where document = '{}' and is_first_place and kind = 'value'
"""


def blocks(kind, page=README):
    """Return the blocks of a kind of code on a page."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def of_readme(document):
    """Return the numbers of a paper in the README's table by column; a dash is a paper of which none can be judged."""
    (title,) = [paper["title"] for paper in read_papers()[0] if paper["document"] == document]
    found = {row["paper"]: row["numbers"].replace(",", "").split(" | ") for row in ROW.finditer(README.read_text())}
    (numbers,) = [of for paper, of in found.items() if re.search(r"\*(.*)\*", paper)[1] in title]
    return dict(zip(COLUMNS, [0 if number == "–" else int(number) for number in numbers], strict=True))


def of_ledger(warehouse, document):
    """Return the same numbers as the ledger has them."""
    return dict(zip(COLUMNS, *warehouse.query(LEDGER.format(document)), strict=True))
