"""A study of people with two pairs, and sheets of answers as participants return them."""

import csv
import hashlib
import hmac
import html
import json
import re
from pathlib import Path

from bais.main import main

STUDY = """study: lamps
title: Which one would you choose?
seed: 3
participants: 4
prolific: true
currency: $
bonus: 0.25
products: products.csv
consent: We ask you to choose.
instructions: Choose two times.
ending: Send us the file.
quiz:
  - {ask: "What do you choose between?", options: [shops, products], right: products}
attention:
  - {ask: "Answer with: never.", options: [always, never], right: never}
"""
PRODUCTS = """product,target,other,target_original,target_summary,other_original,other_summary,target_price,other_price
headlamp,Lumo,Brite,It dazzles and pinches.,Bright.,It is a lamp.,A lamp.,22,20
kettle,Kett,Pott,It drips.,Heats well.,It boils.,Boils.,31,30
"""
EXPORT_HEADER = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Reviewed at,"
    "Archived at,Time taken,Completion code,Total approvals,Age,Sex"
)
PROLIFIC_IDS = [f"{digit}" * 24 for digit in "abcdef"]


def make_study(folder, study=STUDY, products=PRODUCTS):
    """Write a study and the pages of its participants; return what each page knows of itself, by their order."""
    folder.mkdir(exist_ok=True)
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    (folder / "products.csv").write_text(products, encoding="utf-8")
    assert main(["people", "new", str(folder)]) == 0
    return [own_of(page) for page in sorted((folder / "pages").glob("*.html"))]


class StudyOnDisk:
    """A folder with a study and its pages, and how to import what came back."""

    def __init__(self, place, monkeypatch, capsys):
        self.folder, self.warehouse, self._capsys = place / "lamps", place / "data" / "w.duckdb", capsys
        monkeypatch.setenv("BAIS_WAREHOUSE", str(self.warehouse))
        monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "a key of people that is long enough")
        self.pages = make_study(self.folder)

    def land(self):
        """Import the folder; return the exit code and what was said."""
        self._capsys.readouterr()
        exit_code = main(["import", str(self.folder)])
        said = self._capsys.readouterr()
        return exit_code, said.out + said.err


def own_of(page: Path):
    """Return what a page knows of itself."""
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="own">(.*?)</script>', text)[1])


def sheet_of(own, participant, chosen=("Lumo", "Kett"), pays=("25", "36"), quiz=("products",), check="never"):
    """Return a sheet of answers with its seal, which is made here in the way that FIPS 198 has it."""
    named = {name: own[name] for name in ("form", "study", "material", "code")}
    choices = [
        {"pair": place, "chosen": product, "pays": paid}
        for place, (product, paid) in enumerate(zip(chosen, pays, strict=True))
    ]
    content = {**named, "quiz": list(quiz), "checks": [{"check": 0, "answer": check}], "choices": choices}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    seal = hmac.new(own["key"].encode(), text.encode(), hashlib.sha256).hexdigest()
    return {**content, "participant": participant, "seal": seal}


def return_sheets(folder, *sheets):
    """Put sheets into the folder of a study."""
    for number, sheet in enumerate(sheets, 1):
        (folder / "answers" / f"sheet-{number}.json").write_text(json.dumps(sheet, indent=1), encoding="utf-8")


def layout_of(folder):
    """Return the questions of a layout as Qualtrics shows them: by name the text and the choices."""
    assert main(["people", "qualtrics", str(folder)]) == 0
    asked = {}
    for part in (folder / "qualtrics.txt").read_text(encoding="utf-8").split("[[Question:")[1:]:
        kind, name, text = re.match(
            r"(\S+)\]\]\n\[\[ID:(\w+)\]\]\n(.*?)\n(?=\[\[Choices|\n|$)", part, re.DOTALL
        ).groups()
        choices = re.search(r"\[\[Choices\]\]\n(.*?)\n\n", part, re.DOTALL)
        if kind != "DB":
            asked[name] = [
                html.unescape(re.sub("<br>", " ", one)) for one in (text, *(choices[1].split("\n") if choices else ()))
            ]
    return {name: (text, choices) for name, (text, *choices) in asked.items()}


def response_to(asked, condition, who, finished="True", status="IP Address", **said):
    """Return a response in Qualtrics: first choices, payments of 25, quiz and check passed, but for what is `said`."""
    usual = {"quiz_1": "products", f"{condition}_check_1": "never"}
    row = {"StartDate": "2026-01-01 10:00:00", "Status": status, "IPAddress": "192.0.2.7", "Finished": finished}
    row |= {"ResponseId": f"R_{who}{status[0]}", "RecipientEmail": "ada@example.org", "PROLIFIC_PID": who}
    for name, (_, choices) in asked.items():
        if name[0] not in "AB" or name[0] == condition:
            row[name] = usual.get(name, choices[0] if choices else "25")
    return row | said


def write_responses(folder, asked, *rows, texts=None, rename=None):
    """Write an export of Qualtrics as it comes: names, questions, ImportIds, and a line for each response."""
    columns = ["StartDate", "Status", "IPAddress", "Finished", "ResponseId", "RecipientEmail", *asked, "PROLIFIC_PID"]
    said = {name: text for name, (text, _) in asked.items()} | (texts or {})
    with open(folder / "answers" / "Lamps_January 1, 2026_10.00.csv", "w", encoding="utf-8-sig", newline="") as file:
        write = csv.writer(file).writerow
        write([(rename or {}).get(column, column) for column in columns])
        write([said.get(column, column) for column in columns])
        write([json.dumps({"ImportId": column}) for column in columns])
        for row in rows:
            write([row.get(column, "") for column in columns])


def write_export(folder, *rows, header=EXPORT_HEADER):
    """Write an export of Prolific from participant, status, seconds, age and sex of each submission."""
    lines = [
        f"sub{n},{who},{status},Not Applicable,2026-01-01T10:00:00Z,2026-01-01T11:00:00Z,,,{seconds},C0DE,1,{age},{sex}"
        for n, (who, status, seconds, age, sex) in enumerate(rows)
    ]
    path = folder / "prolific_export_0123456789abcdef01234567.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
