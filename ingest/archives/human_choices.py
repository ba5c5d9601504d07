"""Choices of people between two products: CSV or JSONL, of which nothing lands that is not asked for by name."""

import collections
import json
import math
import re
from pathlib import Path

import pyarrow as pa

from ingest.archives import Archive
from ingest.gate.acts import exclude_participants, excluded_participants, replace_answers
from ingest.land.load import land, landed_ids
from ingest.land.raw import TABLES
from ingest.land.versions import Version, refuse_version
from ingest.people.key import KEY_FILE_VARIABLE, KEY_VARIABLE, hashed, keyed, participant_key
from ingest.people.sheets import REASONS, STATUSES, UNFINISHED, read_returned
from ingest.people.study import is_people_study
from ingest.texts.csv_text import read_csv
from ingest.texts.files import OF_PATTERNS, STUDY_PATTERN
from ingest.texts.lines import repeated_keys
from ingest.texts.redaction import as_text
from ingest.warehouse import UserError, printable

TABLE = "human_choices"
NEEDED = (
    "participant", "pair", "product", "format", "condition", "target", "chosen", "price", "willingness_to_pay",
)  # fmt: skip
KNOWN = (*NEEDED, "excluded")
ANSWERED = ("chosen", "price", "willingness_to_pay", "excluded")  # what changes when a participant goes on
FORMATS = ("original", "summary")
REASON = re.compile(r"[a-z][a-z0-9_]{0,39}")
LONGEST = 200
CHECKED = "the key of participants of bais"  # what a key is known by


def import_choices(path: Path, version: Version, archive: Archive) -> tuple[str, int]:
    """Land the choices of a file, all or none, and say what came of its rows."""
    refuse_version(version, "choices of people have no versions:")
    try:
        study, lines, left_out, more = _read(path, archive.study)
        choices = _checked(lines)
    except OSError as error:
        raise UserError(f"{printable(path)} cannot be read: {error.strerror}; nothing was landed") from None
    except ValueError as error:
        raise UserError(f"{error}; nothing was landed") from None
    there = landed_ids(study, TABLE, *KNOWN, "key_check").to_pylist()
    key = participant_key(is_needed=bool(there))
    check = keyed(key, CHECKED)[:16]
    if {row["key_check"] for row in there} - {None, check}:
        raise UserError(
            f"choices of study {study} were imported before with another key, with which the same people would "
            f"count twice: give that one, in {KEY_VARIABLE} or the file that {KEY_FILE_VARIABLE} names; nothing was "
            "landed"
        )
    for choice in choices:
        participant = hashed(choice["participant"], study, key)
        choice |= {"study": study, "participant": participant, "key_check": check}
    since = excluded_participants() if there else {}
    for row in there:
        row["excluded"] = since.get(row["participant"], row["excluded"])
    new, changed, whole = _new(choices, there, study)
    if new:
        rows = [{name: value for name, value in choice.items() if name != "where"} for choice in new]
        land(**{TABLE: [pa.Table.from_pylist(rows, TABLES[TABLE].schema)]})
    if changed:
        exclude_participants({choice["participant"]: choice["excluded"] for choice in changed.values()})
    if whole:
        replace_answers(pa.Table.from_pylist(whole, TABLES[TABLE].schema), ANSWERED)
    n_people = len({choice["participant"] for choice in choices})
    n_out = len({choice["participant"] for choice in choices if choice["excluded"]})
    report = [
        f"study {study}: {len(choices):,} choices of {n_people:,} participants read, {n_out:,} of them "
        f"excluded: {len(new):,} new, {len(choices) - len(new) - len(whole):,} unchanged"
        + (f", {len(whole):,} replaced" if whole else "")
    ]
    if left_out:
        report.append(f"  left out, since nothing else about a person is kept: {', '.join(map(printable, left_out))}")
    for where, choice in changed.items():
        now = REASONS.get(choice["excluded"], "was approved on Prolific")
        report.append(f"  {printable(where)} landed otherwise before; since then its participant {now}")
    for where in {choice["where"]: None for choice in whole}:
        report.append(
            f"  {printable(where)} takes the place of what its participant had answered when stopping before the end, "
            "which counted nowhere"
        )
    return "\n".join([*report, *more]), 0


def _read(path, study):
    """Return the study, its choices with where each stands, the columns that were left out, and what else to say."""
    if path.is_dir():
        returned = read_returned(path)
        named = returned.material.study.study
        if study not in (None, named):
            raise UserError(f"--study {printable(study)}: the study of {printable(path)} is {named}")
        return named, returned.lines, [], returned.report()
    if not study:
        raise UserError("say with --study S which study the choices of people belong to")
    if not re.fullmatch(STUDY_PATTERN, study):
        raise UserError(f"--study {printable(study)}: a name {OF_PATTERNS[STUDY_PATTERN]}")
    if not path.is_file():
        raise UserError(
            f"{printable(path)} is no file: name one CSV or JSONL file of choices, or the folder of a study of people"
        )
    return study, *_read_file(path), []


def _read_file(path):
    is_json = path.suffix == ".jsonl"
    name = printable(path.name)
    rows = _read_json(path) if is_json else ((row.line, row) for row in read_csv(path, name))
    lines = [(f"{name}:{line}", row) for line, row in rows]
    if not lines:
        raise ValueError(f"{name} holds no choices")
    there = {name: None for _, row in lines for name in row}
    if missing := [name for name in NEEDED if name not in there]:
        raise ValueError(f"{name}:1: there is no column {missing[0]}")
    return lines, [name for name in there if name not in KNOWN]


def _read_json(path):
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{printable(path.name)}:{number}"
            try:
                pairs = json.loads(line, object_pairs_hook=list)
            except (ValueError, RecursionError):
                raise ValueError(f"{where}: this line is no JSON") from None
            if not (isinstance(pairs, list) and all(isinstance(pair, tuple) for pair in pairs)):
                raise ValueError(f"{where}: this line is no JSON object")
            if twice := repeated_keys(pairs):
                raise ValueError(f"{where}: {printable(twice[0])} stands there twice")
            if any(name == "participant" and isinstance(value, float) for name, value in pairs):
                raise ValueError(f"{where}: participant should be a text or a whole number")
            if nested := [name for name, value in pairs if isinstance(value, list | bool)]:
                raise ValueError(f"{where}: {printable(nested[0])} should be a text or a number")
            yield number, {name: None if value is None else str(value) for name, value in pairs}


def _checked(lines):
    choices, seen, formats_of = [], collections.defaultdict(dict), {}
    for where, row in lines:
        try:
            choice = _choice(row)
            _refuse_otherwise(choice, where, seen)
        except ValueError as problem:
            raise ValueError(f"{printable(where)}: {problem}") from None
        formats_of.setdefault(choice["product"], (where, set()))[1].add(choice["format"])
        choices.append(choice | {"where": where})
    for product, (where, formats) in formats_of.items():
        if len(formats) == 1:
            (only,) = formats
            raise ValueError(
                f"{printable(where)}: the product {printable(product)} was read as {only} alone, so that nothing "
                "says what the format does"
            )
    return choices


def _refuse_otherwise(choice, where, seen):
    """Refuse what contradicts earlier lines, of which `seen` keeps by what is said what they say of whom."""
    participant, pair = choice["participant"], choice["pair"]
    if (other := seen["pair"].setdefault(frozenset(pair.split("|")), pair)) != pair:
        raise ValueError(f"{printable(pair)} was {printable(other)} before: write it the same way")
    if (earlier := seen["where"].setdefault((participant, pair), where)) != where:
        raise ValueError(f"this participant has chosen of the pair {printable(pair)} at {printable(earlier)} already")
    if seen["condition"].setdefault(participant, choice["condition"]) != choice["condition"]:
        raise ValueError("this participant was in another condition before")
    told = choice["product"], choice["target"]
    if seen["told"].setdefault(pair, told) != told:
        raise ValueError(f"the pair {printable(pair)} had another product or target before")


def _choice(row):
    fields = {name: (row.get(name) or "").strip() or None for name in KNOWN}
    excluded = fields["excluded"]
    if excluded and not REASON.fullmatch(excluded):
        raise ValueError("excluded holds one word for the reason, such as quiz, in lower-case letters")
    can_lack = {"willingness_to_pay"} | ({"chosen", "price"} if excluded else set())
    for name in NEEDED:
        if fields[name] is None and name not in can_lack:
            raise ValueError(f"{name} is empty")
        if fields[name] and len(fields[name]) > LONGEST:
            raise ValueError(f"{name} is longer than {LONGEST} characters")
        if fields[name] and as_text(fields[name], LONGEST) != fields[name]:
            raise ValueError(f"{name} holds a character that is none: NUL, or half of one")
    if "@" in fields["condition"]:
        raise ValueError("condition holds an @, as an e-mail address does: name the condition, such as A or B")
    if fields["format"] not in FORMATS:
        raise ValueError(f"format is {printable(fields['format'])}, and should be original or summary")
    options = [option.strip() for option in fields["pair"].split("|")]
    if len(options) != 2 or not all(options) or options[0] == options[1]:
        raise ValueError("pair should name two products with a bar between them, such as Lumo|Brite")
    for name in ("target", "chosen"):
        if fields[name] is not None and fields[name] not in options:
            raise ValueError(
                f"{name} is {printable(fields[name])}, which is neither product of {printable(fields['pair'])}"
            )
    price, payment = (_number(fields[name], name) for name in ("price", "willingness_to_pay"))
    if price is not None and price <= 0:
        raise ValueError(f"price is {fields['price']}, and should be above 0")
    if payment is not None and payment < 0:
        raise ValueError(f"willingness_to_pay is {fields['willingness_to_pay']}, and should not be below 0")
    return fields | {"pair": "|".join(options), "price": price, "willingness_to_pay": payment}


def _number(text, name):
    if text is None:
        return None
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} is {printable(text)}, which is no number")
    return number


def _new(choices, there, study):
    """Return the choices that are not there yet and, by where it stands, one of each participant of whom Prolific says
    something else since, and those of participants who had stopped before the end; refuse what contradicts what was
    landed before.
    """
    compared = [column for column in KNOWN if column not in ("participant", "pair")]
    landed = {(row["participant"], row["pair"]): row for row in there}
    condition_of = {row["participant"]: row["condition"] for row in there}
    of_pair = {frozenset(row["pair"].split("|")): (row["pair"], row["product"], row["target"]) for row in there}
    new, changed, whole = [], {}, []
    for choice in choices:
        before = landed.get((choice["participant"], choice["pair"]))
        told = of_pair.get(frozenset(choice["pair"].split("|")))
        problem = None
        if before:
            differing = [column for column in compared if before[column] != choice[column]]
            if differing == ["excluded"] and {before["excluded"], choice["excluded"]} <= {*STATUSES.values()}:
                changed.setdefault(choice["participant"], choice)
            elif before["excluded"] == UNFINISHED and differing and {*differing} <= {*ANSWERED}:
                whole.append(choice)
            elif differing:
                problem = f"{differing[0]} of this choice was another when study {study} was imported before"
        elif told and told != (choice["pair"], choice["product"], choice["target"]):
            problem = (
                f"study {study} has the pair {printable(told[0])} with the product {printable(told[1])} and the target "
                f"{printable(told[2])}, and here it is another"
            )
        elif condition_of.get(choice["participant"], choice["condition"]) != choice["condition"]:
            problem = f"this participant was in another condition when study {study} was imported before"
        if problem:
            raise UserError(f"{printable(choice['where'])}: {problem}; nothing was landed")
        if not before:
            new.append(choice)
    return new, {choice["where"]: choice for choice in changed.values()}, whole


ARCHIVE = Archive(
    name="human_choices",
    suffix=(".csv", ".jsonl"),
    header=NEEDED,
    has_folder=is_people_study,
    names_study=True,
    tables=(TABLE,),
    expected=f"choices of people between two products: {', '.join(NEEDED)}",
    take=import_choices,
)
