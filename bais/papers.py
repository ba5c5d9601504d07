"""`bais claims --paper`: the claims of any paper, held against a copy of the warehouse that is gone afterwards."""

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
from bais.extract import SET_ASIDE
from bais.terminal import one_line, say
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
    with marts():
        pass
    with tempfile.TemporaryDirectory() as room:
        copy = Path(room) / path.name
        copy_of(path, copy)
        environment = {"BAIS_WAREHOUSE": str(copy), OWN: str(folder.absolute())}
        if dbt.ended(dbt.start("run", "--select", *REBUILT, more_environment=environment)):
            raise UserError("the claims could not be held against the warehouse: what dbt says is above")
        with contextlib.closing(connect(copy)) as warehouse:
            yield warehouse


def tell_what_does_not_fit(folder: Path, tell: Callable = say) -> int:
    """Tell a line for each printed number that others in its paper rule out, and return how many there are."""
    read = _text_of(folder)
    if read is None:
        return 0
    sentences = list(dict.fromkeys((numeral.where, numeral.sentence) for numeral in read.numerals if not numeral.table))
    tables = [(table.where, *table.grid()) for table in read.tables]
    wrong = [finding for finding in findings(sentences, tables) if not finding.is_possible]
    for finding in wrong:
        tell(one_line(consistency.sentence(finding)))
    return len(wrong)


def tell_what_is_unaccounted_for(folder: Path, tell: Callable = say) -> int:
    """Tell a line for each numeral that is no claim and not set aside, and each claim that is none; return how many."""
    read, (_, claims) = _text_of(folder), read_paper(folder)
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


def _text_of(folder):
    """Return the paper's text as it is read, or None where `paper.yaml` names none."""
    from analysis.reading.paper import read_paper as read_text

    name = yaml_of(folder / "paper.yaml").get("text")
    if not name:
        return None
    path = Path(os.path.normpath(folder / str(name)))
    try:
        return read_text(path)
    except (ValueError, OSError) as error:
        raise UserError(f"{printable(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
