"""`bais claims --paper`: the claims of any paper, compared with a copy of the warehouse that is gone afterwards."""

import contextlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from analysis.claims import OWN
from analysis.claims.consistency import findings
from analysis.claims.papers import PaperError, beside_shipped, printed_number, read_paper, read_papers, rows_of, yaml_of
from analysis.words import consistency
from bais import dbt
from bais.built import copy_of
from bais.extract import SET_ASIDE, read_text
from bais.terminal import complain, one_line, say
from bais.warehouse import marts
from ingest.warehouse import UserError, connect, printable, warehouse_path

UNPRINTED = ("stars", "sign", "yes or no")  # units whose values are printed in other signs than a number
REBUILT = ("published_claims+1", "path:models/claims")  # with what is computed of the studies of claims alone


def refuse_what_is_wrong(*folders: Path) -> str:
    """Return the name of the last of these papers; what is wrong with one is said before anything is built."""
    with _worded():
        papers, _ = read_papers(beside_shipped(*folders))
    return papers[-1]["document"]


@contextlib.contextmanager
def _worded():
    try:
        yield
    except PaperError as error:
        raise UserError(printable(str(error))) from None


@contextlib.contextmanager
def ledger_with(folder: Path) -> Iterator:
    """Open a copy of the warehouse in which the paper in a folder is one of those whose claims are checked."""
    path = warehouse_path()
    with marts():  # there are tables, and it is said where they are old
        pass
    with tempfile.TemporaryDirectory() as room:
        copy = Path(room) / path.name
        copy_of(path, copy)
        environment = {"BAIS_WAREHOUSE": str(copy), OWN: str(folder.absolute())}
        if dbt.ended(dbt.start("run", "--select", *REBUILT, more_environment=environment)):
            raise UserError("the claims could not be compared with the warehouse: what dbt says is above")
        with contextlib.closing(connect(copy)) as warehouse:
            yield warehouse


def document_of(folder: Path) -> str:
    """Return the name of a paper; of one with which something is wrong, what its text says of itself is told first."""
    try:
        return refuse_what_is_wrong(folder)
    except UserError:
        with contextlib.suppress(PaperError, UserError):  # which needs nothing that is still to be filled in
            tell_what_does_not_fit(text_of(folder))
        raise


def tell_without_a_warehouse(folder: Path, strict: bool) -> int:
    """Tell a line for whatever is wrong with the text of a paper, which is all that can be checked; return how many."""
    read, where = text_of(folder), f"there is no warehouse at {warehouse_path()}"
    if read is None:
        raise UserError(f"{where}, and {printable(folder / 'paper.yaml')} names no text: nothing can be checked")
    complain(f"{where}, so no claim is checked: only the numbers of the paper's text, against one another")
    return tell_what_does_not_fit(read) + (tell_what_is_unaccounted_for(folder, read) if strict else 0)


def tell_what_does_not_fit(read, tell: Callable = say) -> int:
    """Tell a line for each number of a text that others in it rule out, and return how many there are."""
    if read is None:
        return 0
    sentences = list(dict.fromkeys((numeral.where, numeral.sentence) for numeral in read.numerals if not numeral.table))
    tables = [(table.where, *table.grid()) for table in read.tables]
    wrong = [finding for finding in findings(sentences, tables) if not finding.is_possible]
    for finding in wrong:
        tell(one_line(consistency.sentence(finding)))
    return len(wrong)


def tell_what_is_unaccounted_for(folder: Path, read, tell: Callable = say) -> int:
    """Tell a line for each numeral that is no claim and not set aside, and each claim that is none; return how many."""
    _, claims = read_paper(folder)
    if read is None:
        raise UserError(f"{printable(folder / 'paper.yaml')} names no text, whose numerals --strict could account for")
    claimed = defaultdict(list)
    for claim in claims:
        claimed[abs(claim["published_value"]), max(claim["decimals"], 0)].append(claim)
    path, aside = folder / "set-aside.csv", set()
    with _worded():
        for place, row in rows_of(path, SET_ASIDE) if path.exists() else ():
            if not row.get("why"):
                raise place.error("it has no why")
            aside.add(tuple(row.get(name) for name in ("line", "position", "numeral")))
    left = [n for n in read.numerals if not (n.why or (str(n.line), str(n.position), n.printed) in aside)]
    for is_in_its_place in (True, False):
        left = [numeral for numeral in left if not _taken(claimed, numeral, is_in_its_place)]
    for numeral in left:
        what = f"{numeral.printed} is no claim, and not set aside: {numeral.sentence}"
        tell(one_line(f"{numeral.where}, line {numeral.line}: {what}"))
    gone = [one for its in claimed.values() for one in its if one["kind"] == "value" and one["unit"] not in UNPRINTED]
    for claim in gone:
        tell(one_line(f"{claim['claim_id']}, {claim['location']}: no longer in the text: {claim['statement']}"))
    return len(left) + len(gone)


def _taken(claimed, numeral, is_in_its_place):
    """Say whether a claim prints this numeral, in its place or anywhere; it then prints no other."""
    with contextlib.suppress(ValueError):
        value, decimals, _ = printed_number(numeral.reading[0])
        alike = claimed[abs(value), decimals]
        if found := [one for one in alike if one["location"] == numeral.where or not is_in_its_place]:
            alike.remove(found[0])
            return True
    return False


def text_of(folder: Path):
    """Return the paper's text as it is read, or None where `paper.yaml` names none."""
    name = yaml_of(folder / "paper.yaml").get("text")
    return read_text(Path(os.path.normpath(folder / str(name)))) if name else None
