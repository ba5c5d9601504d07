"""`bais score`: the log-probabilities of answers that nobody was asked for."""

import re
import time
from pathlib import Path

import click

from bais.options import PATH
from bais.terminal import progress, say
from ingest.local import DEVICES, DTYPES
from ingest.run import pass_gate
from ingest.warehouse import UserError, printable


@click.command()
@click.option("--llm", required=True, metavar="PATH_OR_ID", help="a folder with an LLM, or its id at Hugging Face")
@click.option("--name", metavar="VENDOR/NAME", help="which LLM it is (default: its id, and of a folder local/FOLDER)")
@click.option("--device", type=click.Choice(DEVICES), help="where it is computed (default: a GPU where there is one)")
@click.option("--dtype", type=click.Choice(DTYPES), help="number format (default: float32 on the CPU, else as stored)")
@click.option("--questions", type=PATH, metavar="FILE", help="the questions (default: those of document D)")
@click.option("--chat", is_flag=True, help="put each prompt as a person's message, in the chat template of the LLM")
def score(llm: str, name: str | None, device: str | None, dtype: str | None, questions: Path | None, chat: bool) -> int:
    """Score every target after every prompt, go on where it was stopped, and load it."""
    from ingest.local.llm import load_local
    from ingest.scoring.chat import in_chat
    from ingest.scoring.landed import load_scored, refuse_study_of_trials
    from ingest.scoring.questions import load_questions
    from ingest.scoring.scorer import score as score_llm

    if name is not None and not re.fullmatch(r"[\w.:-]+/[\w.:-]+", name):
        raise UserError(f"--name {printable(name)} names no LLM: write vendor/name, such as openai/gpt2")
    question_set = load_questions(questions)
    refuse_study_of_trials(question_set.study)
    loaded = load_local(llm, device, dtype, name)
    if chat:
        question_set = in_chat(loaded, question_set)
    began = time.monotonic()
    with progress("prompts") as on_progress:
        outcome = score_llm(loaded, question_set, on_progress)
    way = {"cache": ", by prefix cache", "one_by_one": ", one target at a time"}.get(outcome.way, "")
    say(
        f"scoring {printable(outcome.scoring)}: {outcome.n_before:,} prompts scored before, {outcome.n_scored:,} now"
        f"{way}; {loaded.dtype} on {loaded.device}, {time.monotonic() - began:.1f} s"
    )
    try:
        landed = load_scored(outcome.path)
        say(f"  loaded: {landed.n_scores:,} scores added, {landed.n_already_there:,} already there")
        return pass_gate()
    except UserError as error:
        kept = "what was scored is kept in the spool, and running it again loads it"
        raise UserError(f"{error}; {kept}", error.exit_code) from None
