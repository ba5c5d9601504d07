"""`bais people`: the pages of a study of people, and who gets a bonus; and what is said of such studies."""

import shutil
from pathlib import Path

import click

from analysis.words.people import on_alterations, on_choices
from bais.options import PATH
from bais.terminal import complain, say
from bais.texts import write_new, writing
from bais.warehouse import is_public, records
from ingest.warehouse import UserError, printable

EXAMPLE = Path(__file__).with_name("templates") / "people"
PAGES, TASKFLOW, LAYOUT = "pages", "taskflow.csv", "qualtrics.txt"

ALTERED = """
from people.alteration_and_people
where study = $study and technique = 'no_technique' and rate is not null and llm is not null
order by llm, alteration, period desc
"""
STUDIES = """
select study, estimate, low, high, coalesce(n_participants, 0) as n_participants,
    coalesce(effects.n_choices, 0) as n_choices, coalesce(reason, 'nobody_counts') as reason
from (select distinct study from people.human_choices)
left join (from people.human_choice_effects where method = 'gee_exchangeable') as effects using (study)
order by study
"""


def sentences_on_alterations(warehouse, study: str) -> list[str]:
    """Say of each LLM asked with no technique how often it alters what it is given."""
    is_there = is_public(warehouse, "alteration_and_people")
    return on_alterations(records(warehouse, ALTERED, {"study": study})) if is_there else []


def sentences_on_people(warehouse) -> dict[str, str]:
    """Say of each study of people what reading a summary does to their choices."""
    rows = records(warehouse, STUDIES) if is_public(warehouse, "human_choice_effects") else []
    return {row["study"]: on_choices(row) for row in rows}


@click.command()
@click.argument(
    "action", metavar="ACTION", type=click.Choice(("example", "new", "qualtrics", "bonuses")),
    help="example: write a study to fill in; new: write a page for each participant; qualtrics: write it for Qualtrics "
    "instead; bonuses: print whom to pay what",
)  # fmt: skip
@click.argument("folder", metavar="FOLDER", type=PATH, help="the folder of the study, with study.yaml")
def people(action: str, folder: Path) -> None:
    """Write an example to fill in, its pages or its layout for Qualtrics, or print whom to pay how large a bonus."""
    {"example": _write_example, "new": _write_pages, "qualtrics": _write_layout, "bonuses": _print_bonuses}[action](
        folder
    )


def _write_example(folder):
    """Write a study to fill in: the ten products of document C, with a second product for each."""
    if folder.exists():
        raise UserError(f"{printable(folder)} is there already: name a folder that is not")
    with writing(folder):
        shutil.copytree(EXAMPLE, folder)
    say(
        f"{printable(folder)}: a study to fill in. Write in study.yaml what still says FILL IN, then: "
        f"bais people new {printable(folder)}"
    )


def _write_pages(folder):
    """Write the page of each participant that is not there yet; a page of other texts is left, and refused."""
    from analysis.report.participant import participant_page
    from ingest.people.key import participant_key
    from ingest.people.sheets import ANSWERS, FORM
    from ingest.people.study import STUDY_FILE, read_material

    material = read_material(folder / STUDY_FILE)
    study, key, pages = material.study, participant_key(), {}
    for number in range(1, study.participants + 1):
        code = material.code(number, key)
        own = {"form": FORM, "study": study.study, "material": material.fingerprint, "code": code}
        own["key"] = material.seal_key(code, key)
        path = folder / PAGES / f"{study.study}-{number:04}-{code}.html"
        pages[path] = participant_page(study.model_dump(), material.steps(number), own)
    there = sorted((folder / PAGES).glob("*.html"))
    numbers = material.codes(key) if there else {}
    last = max((numbers.get(path.stem.rpartition("-")[2], 0) for path in there), default=0)
    if last > study.participants:
        raise UserError(
            f"{printable(folder / STUDY_FILE)} says participants: {study.participants}, and there is the page of "
            f"number {last} already: write {last} or more there; nothing was written"
        )
    if others := [path for path in there if path.read_text(encoding="utf-8", errors="replace") != pages.get(path)]:
        raise UserError(
            f"{printable(others[0])} is a page of other texts, or made with another key or another version of bais: "
            f"move {printable(folder / PAGES)} away, or work in a new folder; nothing was written"
        )
    with writing(folder):
        _make_ready(folder)
        (folder / PAGES).mkdir(exist_ok=True)
        if study.address:  # as Prolific's Taskflow takes it: where each page lies, and how many are to see it
            rows = [f"{study.address.rstrip('/')}/{path.name},1\n" for path in pages]
            (folder / TASKFLOW).write_text("".join(rows), encoding="utf-8")
    new = [path for path in pages if path not in there]
    for path in new:
        write_new(path, pages[path], "a page")
    counted = [material.condition(number) for number in range(1, len(pages) + 1)]
    say(
        f"{printable(folder / PAGES)}: {len(pages):,} pages, {len(new):,} of them new; {counted.count('A'):,} "
        f"participants are in condition A and {counted.count('B'):,} in B. Put what comes back into "
        f"{printable(folder / ANSWERS)}, then: bais import {printable(folder)}"
    )


def _make_ready(folder):
    """Make room for what comes back; what names people or seals their answers is not for git."""
    from ingest.people.sheets import ANSWERS, EXPORTS

    (folder / ANSWERS).mkdir(exist_ok=True)
    if not (ignored := folder / ".gitignore").exists():
        ignored.write_text("\n".join((PAGES, TASKFLOW, ANSWERS, EXPORTS, "bonuses*.csv", "")), encoding="utf-8")


def _write_layout(folder):
    """Write a study as Qualtrics imports it, in the place of an earlier layout."""
    from ingest.people.qualtrics import layout
    from ingest.people.sheets import ANSWERS
    from ingest.people.study import STUDY_FILE, read_material

    text = layout(read_material(folder / STUDY_FILE))
    with writing(folder):
        _make_ready(folder)
        (folder / LAYOUT).write_text(text, encoding="utf-8")
    say(
        f"{printable(folder / LAYOUT)}: import it in Qualtrics. Set by hand there: a Randomizer that shows one of the "
        "blocks of both conditions, an answer required to each question and, for Prolific, its id passed on as "
        f"PROLIFIC_PID. Consent and ending should say that answers go to Qualtrics. Put Qualtrics' export, as CSV with "
        f"choice text, into {printable(folder / ANSWERS)}, then: bais import {printable(folder)}"
    )


def _print_bonuses(folder):
    """Print as Prolific takes it whom to pay how much, of those who get anything."""
    from ingest.people.sheets import read_returned

    try:
        returned = read_returned(folder)
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from None
    for participant, amount in returned.bonuses():
        if amount:
            print(f"{participant},{amount:.2f}")
    if returned.n_open:
        complain(
            f"{returned.n_open:,} of {returned.material.study.participants:,} participants have not answered or wait "
            "for your review: what most readers chose may still be something else, so pay when all are here"
        )
