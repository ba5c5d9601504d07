"""What comes back of a study of people: sheets or Qualtrics' export, and Prolific's export; who gets a bonus."""

import hmac
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from ingest.people.key import KEY_FILE_VARIABLE, KEY_VARIABLE, keyed, participant_key
from ingest.people.qualtrics import read_responses
from ingest.people.study import STUDY_FILE, Material, read_material
from ingest.texts.csv_text import header_of, read_csv
from ingest.texts.files import Part, found_wrong
from ingest.warehouse import perhaps, printable

FORM = "bais answer sheet 1"
ANSWERS, EXPORTS = "answers", "prolific*.csv"  # in the folder of a study
UNSEALED = ("participant", "seal")
# the columns of Prolific's export that are read, as Prolific calls them
ID, STATUS, SECONDS, AGE, SEX = "Participant id", "Status", "Time taken", "Age", "Sex"
# what Prolific says of a submission, and the reason why it does not count
WAITING = "AWAITING REVIEW"
STATUSES = {
    "APPROVED": None, WAITING: None, "PARTIALLY APPROVED": None, "REJECTED": "rejected",
    "RETURNED": "returned", "TIMED-OUT": "timed_out", "SCREENED OUT": "screened_out",
}  # fmt: skip
# why a participant does not count, in words
UNFINISHED = "unfinished"
REASONS = {
    UNFINISHED: "stopped before the end", "quiz": "failed the quiz", "attention": "failed an attention check",
    "rejected": "was rejected on Prolific", "returned": "returned the study on Prolific",
    "timed_out": "took longer than Prolific allows", "screened_out": "was screened out on Prolific",
}  # fmt: skip


class Check(Part):
    """The answer to an attention check."""

    check: int
    answer: str


class Choice(Part):
    """A choice between the two products of a pair; no payment where the participant stopped after it."""

    pair: int
    chosen: str
    pays: str | None


class Answers(Part):
    """What a participant answered; a page, unlike Qualtrics, says it by what is there."""

    quiz: list[str]
    checks: list[Check]
    choices: list[Choice]
    is_finished: bool = True


class Sheet(Answers):
    """What a page saves of the answers of its participant."""

    form: Literal[FORM]
    study: str
    material: str
    code: str
    participant: str | None
    seal: str


@dataclass
class Returned:
    """What came back of a study."""

    material: Material
    lines: list = field(default_factory=list)  # where a choice stands, and the choice
    excluded: dict = field(default_factory=dict)  # by sheet, the reason
    waiting: dict = field(default_factory=dict)  # by sheet whose submission nobody has reviewed, the reason or None
    people: list = field(default_factory=list)  # the rows of Prolific's export on those who count
    n_without_sheet: int = 0
    left_out: dict = field(default_factory=dict)  # by line of an export, why it is no answer of a participant

    def report(self) -> list[str]:
        """Say who was excluded and, in sums that lead to nobody, who took part."""
        lines = [f"  {printable(name)} does not count: {REASONS[reason]}" for name, reason in self.excluded.items()]
        for name, reason in self.waiting.items():
            found = "passed quiz and checks" if reason is None else REASONS[reason]
            lines.append(f"  {printable(name)} lands when you have reviewed its submission on Prolific: {found}")
        lines += [f"  {printable(name)} is left out: {printable(why)}" for name, why in self.left_out.items()]
        if self.n_without_sheet:
            lines.append(f"  {self.n_without_sheet:,} of Prolific's submissions without a sheet of answers")
        sexes = Counter(row[SEX] or "not said" for row in self.people)
        ages, minutes = (_numbers(self.people, column) for column in (AGE, SECONDS))
        told = [f"{n:,} {printable(sex)}" for sex, n in sorted(sexes.items())]
        told += [f"aged {min(ages):g} to {max(ages):g}"] if ages else []
        told += [f"{sum(minutes) / len(minutes) / 60:.0f} minutes on average"] if minutes else []
        return [*lines, *([f"  of those who count: {', '.join(told)}"] if told else [])]

    @property
    def n_open(self) -> int:
        """How many participants the study waits for: no answers of theirs are here, or nobody has reviewed them."""
        there = {name for name, _ in self.lines} | set(self.excluded)
        return max(0, self.material.study.participants - len(there))

    def bonuses(self) -> list[tuple[str, float]]:
        """Return what each participant who counts gets for choices that most readers of the same texts made.

        Where two products were chosen equally often, both are the majority's.
        """
        counted = [row for _, row in self.lines if not row["excluded"]]
        chosen = Counter((row["pair"], row["format"], row["chosen"]) for row in counted)
        most = {}
        for (*texts, _), n in chosen.items():
            most[tuple(texts)] = max(n, most.get(tuple(texts), 0))
        matches = Counter()
        for row in counted:
            texts = row["pair"], row["format"]
            matches[row["participant"]] += chosen[*texts, row["chosen"]] == most[texts]
        return [(participant, round(n * self.material.study.bonus, 2)) for participant, n in sorted(matches.items())]


def read_returned(folder: Path) -> Returned:
    """Read the sheets of answers, and Prolific's export, in the folder of a study, or say which file is wrong."""
    returned = Returned(read_material(folder / STUDY_FILE))
    answered, returned.left_out = _answered(folder, returned.material)
    submissions = _submissions(folder) if returned.material.study.prolific else None
    seen = {}
    for name, participant, number, answers in answered:
        for who in (participant, *([answers.code] if isinstance(answers, Sheet) else ())):
            if (other := seen.setdefault(who, name)) != name:
                raise ValueError(
                    f"{printable(other)} and {printable(name)} are of one participant: keep the one that counts, and "
                    "take the other out"
                )
        submission = None
        if submissions is not None and (submission := submissions.pop(participant, None)) is None:
            raise ValueError(
                f"{printable(name)}: its participant is not in Prolific's export: export again or, if the id was "
                "mistyped, put it right there"
            )
        reason = _exclusion(answers, returned.material, submission)
        if submission and submission[STATUS] == WAITING:
            returned.waiting[name] = reason
            continue
        if reason:
            returned.excluded[name] = reason
        elif submission:
            returned.people.append(submission)
        returned.lines += [(name, row) for row in _rows(answers, participant, number, reason, returned.material)]
    returned.n_without_sheet = len(submissions or ())
    return returned


def _answered(folder, material):
    """Return of each participant where the answers stand, who it is, the number of the order shown, and the answers;
    and which lines of Qualtrics' export are no answers of participants.
    """
    paths = [path for path in sorted((folder / ANSWERS).glob("*")) if not path.name.startswith(".")]
    if not paths:
        raise ValueError(f"{printable(folder / ANSWERS)} holds no sheet of answers: put the returned files there")
    if exports := [path for path in paths if path.suffix.lower() == ".csv"]:
        if len(paths) > 1:
            raise ValueError(
                f"{printable(folder / ANSWERS)} holds {printable(exports[0].name)} and other files: keep Qualtrics' "
                "newest export alone there, or sheets of answers alone"
            )
        responses, left_out = read_responses(exports[0], printable(f"{ANSWERS}/{exports[0].name}"), material)
        return [
            (response.where, response.participant, response.number, Answers.model_validate(response.answers))
            for response in responses
        ], left_out
    key = participant_key(is_needed=True)
    codes, answered = material.codes(key), []
    for path in paths:
        sheet = _sheet(path, material, codes, key)
        participant = sheet.participant if material.study.prolific else sheet.code
        answered.append((f"{ANSWERS}/{path.name}", participant, codes[sheet.code], sheet))
    return answered, {}


def _sheet(path, material, codes, key):
    """Read a sheet of answers, and refuse one that is none, is of another study or was altered."""
    name = printable(f"{ANSWERS}/{path.name}")
    try:
        content = json.loads(path.read_bytes())
        sheet = Sheet.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{name} is no sheet of answers: {printable(found_wrong(error)[1])}; take it out") from None
    except (IsADirectoryError, ValueError, RecursionError):
        raise ValueError(f"{name} is no sheet of answers: it is no JSON; take it out") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    study = material.study.study
    if sheet.study != study:
        raise ValueError(f"{name} is of study {printable(sheet.study)}, and this is {study}: take it out")
    if sheet.code not in codes:
        raise ValueError(
            f"{name} is of a page that this study's key did not make: give the key that it was made with, in "
            f"{KEY_VARIABLE} or the file that {KEY_FILE_VARIABLE} names"
        )
    if codes[sheet.code] > material.study.participants:
        raise ValueError(
            f"{name} is of page {codes[sheet.code]}, and {STUDY_FILE} says participants: "
            f"{material.study.participants}: write there again how many pages were given"
        )
    sealed = {part: value for part, value in content.items() if part not in UNSEALED}
    text = json.dumps(sealed, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
    seal = keyed(material.seal_key(sheet.code, key).encode(), text)
    if not hmac.compare_digest(seal.encode(), sheet.seal.encode()):
        raise ValueError(
            f"{name} was altered after the page had saved it, since its seal is that of other answers: ask for the "
            "file again, or take it out"
        )
    if sheet.material != material.fingerprint:
        raise ValueError(
            f"{name} is of other texts than those of {STUDY_FILE} now: put both files of the study back as they were "
            "when its pages were written"
        )
    pairs = [choice.pair for choice in sheet.choices]
    if len(set(pairs)) < len(pairs) or not set(pairs) <= set(range(len(material.pairs))):
        raise ValueError(f"{name} names a pair twice, or one that is not there: take it out")
    return sheet


def _exclusion(answers, material, submission):
    """Return why a participant does not count, or None."""
    study = material.study
    checks = {check.check: check.answer for check in answers.checks}
    has_paid = [choice for choice in answers.choices if choice.pays is not None]
    wanted = [len(study.quiz), len(study.attention), len(material.pairs)]
    if not answers.is_finished or [len(answers.quiz), len(checks), len(has_paid)] != wanted:
        return UNFINISHED
    if answers.quiz != [question.right for question in study.quiz]:
        return "quiz"
    if any(checks.get(i) != question.right for i, question in enumerate(study.attention)):
        return "attention"
    return STATUSES[submission[STATUS]] if submission else None


def _rows(answers, participant, number, reason, material):
    """Yield the choices of a participant as a file of choices has them, also those that were not made."""
    choices = {choice.pair: choice for choice in answers.choices}
    for place, pair in enumerate(material.pairs):
        choice = choices.get(place)
        chosen = choice.chosen if choice else None
        price = pair.other_price if chosen == pair.target else pair.target_price
        yield {
            "participant": participant, "pair": pair.name, "product": pair.product,
            "format": material.format(place, number), "condition": material.condition(number), "target": pair.target,
            "chosen": chosen, "price": str(price) if choice else None,
            "willingness_to_pay": choice.pays if choice else None, "excluded": reason,
        }  # fmt: skip


def _submissions(folder):
    """Return the rows of Prolific's export by participant."""
    paths = sorted(folder.glob(EXPORTS))
    if len(paths) != 1:
        raise ValueError(
            f"{printable(folder)} should hold one export of Prolific, since {STUDY_FILE} says that it recruits, and "
            f"holds {len(paths)} files {EXPORTS}: put the newest there, and no other"
        )
    name, rows = printable(paths[0].name), {}
    header, _ = header_of(paths[0], name)
    for column in (ID, STATUS, SECONDS, AGE, SEX):
        if column not in header:
            others = [other for other in header if other not in (ID, STATUS, SECONDS, AGE, SEX)]
            raise ValueError(
                f"{name}:1: there is no column {column}{perhaps(column, others)}: give the export as Prolific wrote it"
            )
    for row in read_csv(paths[0], name):
        if not row[ID]:
            raise ValueError(f"{name}:{row.line}: {ID} is empty: give the export as Prolific wrote it")
        if row[STATUS] not in STATUSES:
            raise ValueError(
                f"{name}:{row.line}: {STATUS} is {printable(row[STATUS] or 'empty')}, and should be one of "
                f"{', '.join(STATUSES)}: export again when the submission is done"
            )
        if (earlier := rows.setdefault(row[ID], row)) is not row:
            raise ValueError(f"{name}:{row.line}: this participant stands on line {earlier.line} already: keep one")
    return rows


def _numbers(rows, column):
    """Return the numbers of a column; people may have withdrawn what it said."""
    return [float(row[column]) for row in rows if re.fullmatch(r"\d+(\.\d+)?", row[column] or "")]
