"""`bais report`, `paper` and `docs`: what the warehouse knows as a page, what a study found, what the tables mean."""

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analysis.words.codes import DEFAULT
from bais import dbt, shown, texts
from bais.options import PATH
from bais.rows import OTHER_PARADIGMS, PAPER, STUDIES
from bais.terminal import complain, size_of, working
from bais.warehouse import count, marts, public_tables, records, refuse_not_public, refuse_unknown
from ingest.warehouse import UserError, printable, warehouse_path

if TYPE_CHECKING:
    from analysis.report.site import Site

FOLDER, TEST = "site", "test"
SLOTS = re.compile(r"\{(\w+)\}")  # what a vignette fills in
MADE_BY_BAIS = "fingerprint of the rows <code>"  # is in every page
MADE_BY = ("bais", "dbt-core", "duckdb", "altair", "vl-convert-python")


@click.command()
@click.option("--out", type=PATH, metavar="DIR", help=f"the folder (default: {FOLDER}/ beside the warehouse)")
@click.option("--single", type=PATH, metavar="FILE", help="one HTML file with all pages instead, to mail")
@click.option("--study", metavar="STUDY", help="only this study (default: all of them)")
def report(out: Path | None, single: Path | None, study: str | None) -> None:
    """Write what the warehouse knows as pages that need no network; simulated studies stand under test/."""
    if out and single:
        raise click.UsageError("--out is a folder of pages and --single one file: give one of the two")
    folder = (out or warehouse_path().with_name(FOLDER)).absolute()
    if single and single.is_dir():
        raise UserError(f"{printable(single)} is a folder: name a file")
    if single and single.exists() and not single.is_file():
        raise UserError(f"{printable(single)} is no file that could be replaced: name another")
    if folder.is_file() and not single:
        raise UserError(f"{printable(folder)} is a file: name a folder, or a file with --single")
    with working("writing the report"):
        sites = sites_of(study)
        if single:
            sites = sites[:1]
            written = [(single.absolute(), sites[0][1].page())]
        else:
            # the page that leads to the others comes last
            pages = [(folder / where / name, text) for where, site in sites for name, text in site.pages().items()]
            written = sorted(pages, key=lambda page: page[0] == folder / "index.html")
        _replace(written)
        if not single:
            _remove_others(folder, {path for path, _ in written})
    first, text = written[-1]
    more = f", and {len(written) - 1} more beside it" if len(written) > 1 else ""
    print(f"{printable(first)}: {size_of(len(text.encode()))}{more}; {_said(sites)}")


def sites_of(study: str | None = None) -> "list[tuple[str, Site]]":
    """Return the pages of real studies, and below `test` those of simulated ones, each with its folder."""
    from importlib.metadata import version

    from analysis.report.site import Link, Site

    tables = _tables_of_page(study)
    versions = {name: version(name) for name in MADE_BY}
    simulated = [row for row in tables["studies"] if row["is_simulated"]]
    real = [row for row in tables["studies"] if not row["is_simulated"]]
    if study is not None and not real:
        return [("", Site(tables | {"studies": simulated}, versions, is_test=True))]
    to_test = [Link(TEST, "Simulated", f"{TEST}/index.html")] if simulated else []
    sites = [("", Site(tables | {"studies": real}, versions, beside=to_test))]
    if simulated:
        back = [Link("real", "Real studies", "../index.html")]
        sites.append((TEST, Site(tables | {"studies": simulated}, versions, is_test=True, beside=back)))
    return sites


def _in_a_file_name(text):
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in text)


def _replace(written):
    """Write files, all of them or none: where one cannot be written, those that stand there stay."""
    new = {out: out.with_name(f".{out.name}.{os.getpid()}") for out, _ in written}
    try:
        for out, text in written:
            with texts.writing(out):
                out.parent.mkdir(parents=True, exist_ok=True)
                new[out].write_text(text, encoding="utf-8", newline="\n")
        for out, _ in written:
            with texts.writing(out):
                new[out].replace(out)
    finally:
        for path in new.values():
            with contextlib.suppress(OSError):
                path.unlink()


def _remove_others(folder, written):
    """Remove the pages of an earlier report that this one does not have, and nothing else."""
    from analysis.report.site import FILES

    for page in (folder / where / name for where in ("", TEST) for name in FILES.values()):
        with texts.writing(page):
            is_a_page = page.is_file() and MADE_BY_BAIS in page.read_text(encoding="utf-8", errors="replace")
            if is_a_page and page not in written:
                page.unlink()


def _said(sites):
    named = [study for _, site in sites for study in site.studies if study.name]
    if not named:
        return "no study yet"
    names = (f"{printable(study.name)}{' (SIMULATED)' if study.is_simulated else ''}" for study in named)
    return f"{'study' if len(named) == 1 else 'studies'} {', '.join(names)}"


def _tables_of_page(study):
    """Read what the pages are made of, of one study or of all; the seeds are read whole."""
    from analysis.report.queries import queries

    with marts() as warehouse:
        public = {name for _, name, _ in public_tables(warehouse)}
        tables = {name: records(warehouse, query) if query else [] for name, query in queries(public).items()}
        tables["row_counts"] = [
            {"table": f"{schema}.{name}", "n_rows": count(warehouse, schema, name)}
            for schema, name, _ in sorted(public_tables(warehouse))
        ]
        tables |= _said_of_biases(warehouse, tables, public)
        conditions = {(row["study"], row["vignette"], row["technique"]): None for row in tables["asked_of_llms"]}
        names = ("study", "vignette", "technique")
        tables["answer_texts"] = shown.answers(warehouse)
        tables["asked_prompts"] = shown.prompts(warehouse, [dict(zip(names, of, strict=True)) for of in conditions])
    tables["prompts"] = _prompts()
    refuse_unknown("study", study, [row["study"] for row in tables["studies"]], " in this warehouse")
    documents = _documents(tables)
    studies = [row for row in tables["studies"] if study in (None, row["study"])]
    if study is not None:  # those of people are studies of their own
        tables["said_of_people"] = []
    for row in studies:
        row["documents"] = [document for document, owner in documents.items() if owner == row["study"]]
    alone = [document for document, owner in documents.items() if owner is None and study is None]
    of_none = {"study": None, "is_simulated": False}
    return tables | {"studies": [*studies, *(of_none | {"documents": [document]} for document in alone)]}


def _said_of_biases(warehouse, tables, public):
    """Read what is said of other biases, and of what altered texts do to people, in the words of `bais headlines`."""
    from bais.evidence import on_a_page
    from bais.people import sentences_on_people

    studies = dict.fromkeys(row["study"] for row in tables["paradigms"]) if "outcome_contrasts" in public else ()
    pages = [on_a_page(warehouse, study) for study in studies]
    people = [{"study": study, "sentence": sentence} for study, sentence in sentences_on_people(warehouse).items()]
    return {
        "said_of_biases": [row for summaries, _ in pages for row in summaries],
        "biases": [row for _, rows in pages for row in rows],
        "said_of_people": people,
    }


def _documents(tables):
    """Return where the claims of a document that are about no study have their place: with a study, or alone."""
    about, there = {}, {row["study"] for row in tables["studies"]}
    for row in tables["claims"]:
        about.setdefault(row["document"], set()).add(row["study"])
    of_no_study = {document: studies - {None} for document, studies in about.items() if None in studies}
    return {
        document: next(iter(studies)) if len(studies) == 1 and studies <= there else None
        for document, studies in of_no_study.items()
    }


def _prompts():
    """Return what each shipped technique says to an LLM, in the order in which it says it, with its source."""
    from ingest.prompts import Script, shipped

    rows = []
    for name, entry in shipped("techniques").items():
        rounds = entry.get("rounds", {}).items()
        told = [text for what, text in rounds if isinstance(text, str) and what != "stops_at"]
        texts = [*([entry["system"]] if "system" in entry else []), *entry.get("turns", []), *told]
        texts = [SLOTS.sub(_named_slot, text) for text in texts if text != "{opening}"]
        n_calls = Script({}, entry, {}, "").n_calls()
        rows.append({"technique": name, "source": entry["source"], "texts": texts, "n_calls": list(n_calls)})
    return rows


def _named_slot(slot):
    return f"[{slot[1].replace('_', ' ')}]"


@click.command()
@click.option("--study", required=True, metavar="STUDY", help="a study of the warehouse")
@click.option(
    "--llm", metavar="L",
    help="who writes it: vendor/name at an OpenAI-compatible endpoint, or codex (default: a template, offline)",
)  # fmt: skip
@click.option("--out", type=PATH, metavar="FILE", help="where it goes (default: the terminal)")
@click.option("--prompt", is_flag=True, help="print what an LLM would be asked, and ask none")
@click.option("--facts", is_flag=True, help="print the numbers that it may hold, as JSON")
def paper(study: str, llm: str | None, out: Path | None, prompt: bool, facts: bool) -> int:
    """Have the paper on a study written, check it against the warehouse, and hand it over."""
    import json

    from analysis.writing.paper import check_paper, paper_prompt, template_paper
    from ingest.ask.experiment import ask_once

    if llm and (prompt or facts):
        raise UserError("--prompt and --facts ask no LLM: leave --llm away")
    if prompt and facts:
        raise UserError("--prompt holds the facts: give --prompt or --facts")
    writer = _writer(llm) if llm else None
    if out:
        texts.refuse_existing(out, "--out")
    content = _facts_of_paper(study)
    if prompt:
        return texts.hand_over(paper_prompt(content), out, "the prompt")
    if facts:
        return texts.hand_over(json.dumps(content, indent=2, ensure_ascii=False) + "\n", out, "the facts")
    text, problem = ask_once(writer, paper_prompt(content)) if writer else (template_paper(content), None)
    if problem:
        complain(f"the paper was not written ({printable(problem)})")
        return texts.LLM_SILENT
    if problems := check_paper(text, content):
        wanted = out or Path(f"paper-{_in_a_file_name(study)}.md")
        return texts.refuse("the paper", text, problems, wanted)
    return texts.hand_over(text, out, "the paper", "PAPER")


def _facts_of_paper(study):
    from analysis.methods.small_samples import FEWEST_VENDORS
    from analysis.writing.paper_facts import facts_of

    with marts() as warehouse:
        studies = {row["study"]: row for row in records(warehouse, STUDIES)}
        refuse_not_public(warehouse, study, studies)
        none = "none: land some trials, then run `bais build`"
        refuse_unknown("study", study, studies, " in this warehouse", none)
        given = {"study": study, "paradigm": DEFAULT, "fewest_vendors": FEWEST_VENDORS}
        if paradigms := [printable(row["paradigm"]) for row in records(warehouse, OTHER_PARADIGMS, given)]:
            raise UserError(
                f"a paper is written on anchoring alone, and study {printable(study)} asks about "
                f"{', '.join(paradigms)}: `bais recommend --paradigm {paradigms[0]} --study {printable(study)}` says "
                "what was found"
            )
        return facts_of(studies[study], {name: records(warehouse, query, given) for name, query in PAPER.items()})


def _writer(llm):
    """Return a study of one LLM, which is how one is asked outside of any trial."""
    from ingest.ask.experiment import STORY_001, study_of_run

    if llm.startswith("sim/"):
        raise UserError("a simulated respondent writes no paper: leave --llm away, and a template does")
    try:
        return study_of_run(STORY_001, protocol="single_turn", model=llm, n_runs=1, seed=1, attempts=3)
    except UserError as error:
        raise UserError(str(error).replace("--model", "--llm", 1)) from None


@click.command()
@click.option("--out", type=PATH, metavar="DIR", help="the folder (default: docs/ beside the warehouse)")
def docs(out: Path | None) -> None:
    """Build dbt's static documentation from the warehouse, and say where it is."""
    import shutil
    import tempfile

    with marts():
        pass
    out = (out or warehouse_path().parent / "docs").absolute()
    with texts.writing(out, f"--out {printable(out)}"):
        out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bais-docs-") as target:
        process = dbt.start(
            "docs", "generate", "--static",
            more_environment={"DBT_TARGET_PATH": target, "DBT_LOG_PATH": target, "DBT_WRITE_JSON": "true"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        with working("writing dbt's documentation"):
            lines = [line.strip() for line in process.communicate()[0].splitlines() if line.strip()]
        page = Path(target) / "static_index.html"
        if process.returncode or not page.exists():
            why = printable((lines or ["no reason given"])[-1])
            raise UserError(f"dbt could not write its documentation: {why}", 1)
        with texts.writing(out / page.name):
            shutil.copyfile(page, out / page.name)
    print(printable(out / page.name))
