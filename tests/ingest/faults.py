"""Clean simulated batches, and what can go wrong with them, one thing at a time."""

import collections
import functools
import json
import math
import random
import re
from contextlib import closing, contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
import pytest

from ingest.ask import collected, collector
from ingest.ask.responses import Summary
from ingest.land.raw import ORDERED, TABLES, next_ordinal, prepare_raw
from ingest.studies.design import Cell
from ingest.studies.study import parse_study
from ingest.warehouse import warehouse_path

BROAD_TECHNIQUES = "no_technique, outside_view, devils_advocate, premortem, random_control, sacd"
RESPONDENTS = """
  - {llm: sim/level, simulated: {baselines: &baselines {shoplifting: 36, burglary: 30, fever: 40}, pull: 0.4,
     noise: 0.15, formats: [line, sentence, json],
     techniques: &techniques {premortem: {pull: 0.5, shift: -0.1}, sacd: {pull: 0.3}}}}
  - {llm: sim/bold, simulated: {baselines: *baselines, level: 1.2, pull: 0.6, noise: 0.12, formats: [bold, reasoned],
     techniques: *techniques}}"""
SHAPES = {
    "single": """
study: STUDY
llms: [{llm: sim/one, simulated: {baselines: {shoplifting: 20}, pull: 0.3, noise: 0.15}}]
vignettes: [shoplifting]
techniques: [no_technique]
anchors: {fixed: {low: 10, high: 30}}
baselines: false
stopping_rule: {minimum: MINIMUM}
order_seed: SEED
""",
    "broad": f"""
study: STUDY
llms: {RESPONDENTS}
  - {{llm: sim/contrary, simulated: {{baselines: *baselines, level: 0.8, pull: -0.3, noise: 0.1}}}}
vignettes: [shoplifting]
techniques: [{BROAD_TECHNIQUES}]
anchors: {{proportional: {{low: 0.5, high: 1.5}}}}
temperatures: [0, 0.7, 1]
stopping_rule: {{minimum: MINIMUM}}
order_seed: SEED
limits: {{concurrency: 64}}
""",
    "growing": f"""
study: STUDY
llms: {RESPONDENTS}
vignettes: [burglary, fever]
techniques: [no_technique, premortem]
anchors: {{proportional: {{low: 0.6, high: 1.4}}}}
stopping_rule: {{minimum: MINIMUM}}
order_seed: SEED
limits: {{concurrency: 64}}
""",
}
# where bais has not asked itself, an LLM that moves away from anchors may have been given the other labels
SHAPES["archive"] = SHAPES["broad"].replace("pull: -0.3", "pull: 0.3")
CELL_FIELDS = ("llm", "vignette", "technique", "anchor_direction", "anchor_value", "temperature")
SIZES = {"1 row": 0, "5 %": 0.05, "20 %": 0.2, "50 %": 0.5, "all": 1}
COPIED = {"trials": ("trial_id", "batch_id"), "calls": ("call_id", "trial_id"), "batches": ("batch_id",)}
NUMBER = r"regexp_extract(response_text, '(\d+)\D*$', 1)::double"
AS_ARCHIVE = f"""
update raw.trials set source = 'recorded', response_recorded = {NUMBER}, anchor_rule = null, anchor_baseline = null,
    anchor_n_trials = null, phase = null, session_id = null, finished_at = null, llm_returned = null, line = '{{}}',
    llm_recorded = case llm_recorded when 'sim/level' then 'openai/o3' when 'sim/bold' then 'openai/gpt-4.1'
        when 'sim/contrary' then 'openai/o4-mini' else llm_recorded end
where study = 'STUDY';
update raw.batches set source = 'recorded', definition = null where study = 'STUDY'
"""


def load_clean(shape, seed, minimum, study=None, without=()):
    """Collect a study of simulated respondents, and load what is new of it; `archive` as if it had been recorded."""
    study = study or f"{shape}-{seed}"
    text = SHAPES[shape].replace("STUDY", study)
    parsed = parse_study(text.replace("MINIMUM", str(minimum)).replace("SEED", str(seed)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector, "cell_summaries", summaries_without_duckdb)
        patch.setattr(collector, "baseline_offences", lambda *_: [])
        patch.setattr(collected, "land", functools.partial(land_without_dlt, without))
        collector.collect(parsed)
        collected.load_collected(parsed.study)
    if shape == "archive":
        with opened() as warehouse:
            warehouse.execute(AS_ARCHIVE.replace("STUDY", study))


def summaries_without_duckdb(path, design, n_first):
    """Do in milliseconds what `ingest.ask.responses.cell_summaries` does, where every answer ends in its number."""
    answers = collections.defaultdict(list)
    for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if record["kind"] == "trial" and record["replicate"] < n_first:
            number = float(re.search(r"(\d+)\D*$", record["text"])[1])
            answers[Cell(*(record[key] for key in CELL_FIELDS))].append(number)
    return {cell: Summary(len(of), float(np.mean(of)), float(np.std(of, ddof=1))) for cell, of in answers.items()}


def land_without_dlt(without, _, **tables):
    """Do in milliseconds what `ingest.land.load.land` does."""
    tables = {name: list(made) for name, made in tables.items() if name not in without}
    if not warehouse_path().exists():
        prepare_raw(warehouse_path())
    with opened() as warehouse:
        ordinal = next_ordinal(warehouse)
        for name, made in tables.items():
            numbered = f"* replace ({ordinal - 1} + coalesce(ordinal, 1) as ordinal)" if name in ORDERED else "*"
            for rows in made:
                warehouse.register("made", TABLES[name].conform(rows))
                warehouse.execute(
                    f"insert into raw.{name} by name select {numbered}, 'a load' as _dlt_load_id from made"
                )


@contextmanager
def opened():
    """Open the warehouse for changes."""
    with closing(duckdb.connect(str(warehouse_path()))) as warehouse:
        warehouse.execute("set TimeZone = 'UTC'")
        yield warehouse


def damage(path, table):
    """Turn bits of every block that a table of a warehouse has in its file."""
    with closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute("force checkpoint")
        blocks = warehouse.execute(f"select distinct block_id from pragma_storage_info('{table}') where block_id >= 0")
        starts = [12288 + block * 262144 for (block,) in blocks.fetchall()]
    assert starts
    with open(path, "r+b") as file:
        for start in starts:
            file.seek(start + 100)
            file.write(b"\x5a" * 64)


@dataclass
class Fault:
    """One thing that goes wrong.

    Attributes
    ----------
    reason : str
        The check that has to say so.
    sql : str
        What it does to `trials` (or `calls`, `batches`), given the trials that it hits as `hit`.
    sizes : str
        The sizes at which it has to be caught, whatever the cell; at others it may be.
    tried : str
        The sizes at which it makes sense.
    of : str
        SQL condition on the cells that it can hit.
    flags : str, optional
        A query of the trials that have to be flagged; none are if None.
    shapes : str
    is_absolute : bool
        Whether it is one also where half the cell has it.
    also : str
        The checks that may say something as well.
    """

    reason: str
    sql: str
    sizes: str = "1 row, 5 %, 20 %, 50 %"
    tried: str = "1 row, 5 %, 20 %, 50 %"
    of: str = "anchor_direction != 'none'"
    flags: str | None = "select trial_id from hit"
    shapes: str = "single, broad, growing"
    is_absolute: bool = True
    also: str = ""


def change(column, value):
    """Return SQL that sets a column of the trials that are hit."""
    return f"update trials set {column} = {value} where trial_id in (select trial_id from hit)"


def answer(number):
    return change("response_text", f"'Answer: ' || ({number})")


COPY = """
insert into trials select * replace ('copy-' || trial_id as trial_id{}) from trials
where trial_id in (select trial_id from hit)
"""
COPIES = "select 'copy-' || trial_id from hit"
ALL_OF_BATCH = (
    "select trial_id from trials where batch_id in (select batch_id from trials semi join hit using (trial_id))"
)
CELLS = "20 %, 50 %, all"
OTHER_CELL = "below_minimum, duplicate"  # the replicates of three temperatures come together there
FAULTS = {
    "a copy of the answers times 1,000": Fault(
        "factor_1000", answer(f"{NUMBER} * 1000"), also="out_of_range, another_unit, far_off"
    ),
    "the answers divided by 1,000": Fault(
        "factor_1000", answer(f"{NUMBER} / 1000"), is_absolute=False, also="at_most_one, another_unit, far_off"
    ),
    "anchors at 0.7 times": Fault("wrong_anchor", change("anchor_value", "round(anchor_value * 0.7)")),
    "anchors at 1.3 times": Fault("wrong_anchor", change("anchor_value", "round(anchor_value * 1.3)")),
    "anchors of another LLM's baseline": Fault(
        "wrong_anchor",
        change("anchor_value", "round(anchor_value * 1.5)") + ";" + change("anchor_baseline", "anchor_baseline * 1.5"),
        shapes="broad, growing",
    ),
    "the other anchor under the same name": Fault(
        "wrong_anchor",
        """update trials set anchor_value = other.value from (
            select llm_recorded, vignette, anchor_direction, any_value(anchor_value) as value from trials group by all
        ) as other where other.llm_recorded = trials.llm_recorded and other.vignette = trials.vignette
        and other.anchor_direction != trials.anchor_direction and other.value is not null
        and trial_id in (select trial_id from hit)""",
    ),
    "low called high and high low": Fault(
        "wrong_anchor", change("anchor_direction", "if(anchor_direction = 'low', 'high', 'low')"), also="below_minimum"
    ),
    "rows of an LLM that is not in the study": Fault(
        "unknown_llm", change("llm_recorded", "'openai/o3'"), also="below_minimum, other_model, no_baseline"
    ),
    "another prompt": Fault("other_prompt", change("prompt_hash", "'another'"), is_absolute=False),
    "refusals that contain numbers": Fault(
        "refused",
        change("response_text", "'I cannot recommend a sentence, 12 or 24 months would both be arbitrary.'"),
        sizes=CELLS, tried="1 row, 5 %, 20 %, 50 %, all", also="no_answer",
    ),
    "replicates asked twice": Fault(
        "duplicate",
        COPY.format(", 'Answer: 33' as response_text, asked_at + interval 5 second as asked_at, "
                    "finished_at + interval 5 second as finished_at"),
        flags=COPIES,
    ),
    "exact copies with new ids": Fault(
        "duplicate", COPY.format(""), flags="select greatest(trial_id, 'copy-' || trial_id) from hit"
    ),
    "answers equal to the anchor": Fault(
        "equals_anchor", answer("anchor_value"), sizes="50 %, all", tried="1 row, 5 %, 20 %, 50 %, all", also="drift"
    ),
    "answers equal to a number of the case": Fault(
        "equals_case_number", answer("12"), sizes="50 %, all", tried="1 row, 5 %, 20 %, 50 %, all",
        shapes="single, broad",
    ),
    "answers of 1": Fault("at_most_one", answer("1"), also="another_unit, far_off"),
    "a cell shifted by half": Fault(
        "drift", answer(f"round({NUMBER} * 1.5)"), sizes="all", tried="5 %, 20 %, 50 %, all", shapes="growing"
    ),
    "temperature 7": Fault("temperature_out_of_range", change("temperature", "7"), also=OTHER_CELL),
    "temperature NaN": Fault("temperature_out_of_range", change("temperature", "'nan'::double"), also=OTHER_CELL),
    "times in the future": Fault(
        "in_the_future",
        change("asked_at", "asked_at + interval 1 day") + ";" + change("finished_at", "finished_at + interval 1 day"),
    ),
    "finished before asked": Fault("backwards", change("finished_at", "asked_at - interval 1 second")),
    "another model answered": Fault("other_model", change("llm_returned", "'openai/gpt-4o'")),
    "two upstream providers": Fault(
        "upstream_providers",
        "update calls set upstream_provider = 'elsewhere' where trial_id in (select trial_id from hit)",
    ),
    "baselines that carry an anchor": Fault(
        "baseline_with_anchor", change("anchor_value", "15"), of="anchor_direction = 'none'", shapes="broad, growing"
    ),
    "anchored trials called unanchored": Fault(
        "baseline_with_anchor", change("anchor_direction", "'none'"), also="below_minimum, another_question"
    ),
    "empty texts": Fault(
        "unparsed", change("response_text", "''"), sizes=CELLS, tried="1 row, 5 %, 20 %, 50 %, all",
        also="unparsed_of_batch, unreadable, no_answer",
    ),
    "an unknown technique": Fault(
        "unknown_technique", change("technique", "'hypnosis'"), also="below_minimum, another_question"
    ),
    "answers out of range": Fault("out_of_range", answer("valid_max + 7"), also="no_answer"),
    "fewer trials than the minimum": Fault(
        "below_minimum", "delete from trials where trial_id in (select trial_id from hit)", flags=None
    ),
    "an LLM without baselines": Fault(
        "no_baseline",
        "delete from trials where anchor_direction = 'none' and llm_recorded in (select llm_recorded from hit)",
        sizes="all", tried="all", flags=None, shapes="broad, growing",
    ),
    "failed trials": Fault(
        "failed", change("status_recorded", "'failed'") + ";" + change("response_text", "null"),
        sizes=CELLS, tried="1 row, 5 %, 20 %, 50 %, all", also="no_answer",
    ),
    "no prompt": Fault("missing_field", change("prompt_hash", "null")),
    "no time": Fault("missing_field", change("asked_at", "null")),
    "an anchor without its value": Fault(
        "missing_field", change("anchor_value", "null"), also="another_question"
    ),
    "a vignette that nobody defined": Fault(
        "unknown_vignette",
        "update trials set vignette = 'riddle'; update batches set vignette = 'riddle', domain = null",
        sizes="all", tried="all", flags=ALL_OF_BATCH,
    ),
    "an archive's anchors at 0.7 times": Fault(
        "anchor_factor", change("anchor_value", "round(anchor_value * 0.7)"), shapes="archive", also="other_anchor"
    ),
    "an archive's anchors at 1.3 times": Fault(
        "anchor_factor", change("anchor_value", "round(anchor_value * 1.3)"), shapes="archive", also="other_anchor"
    ),
    "an archive's anchors one off": Fault(
        "other_anchor", change("anchor_value", "anchor_value + 1"), shapes="archive", is_absolute=False
    ),
    "an archive's rows of an LLM that nobody knows": Fault(
        "new_llm", change("llm_recorded", "'acme/unheard-of'"), shapes="archive", also="below_minimum, no_baseline"
    ),
    "an archive's answers out of range": Fault(
        "out_of_range", change("response_recorded", "valid_max + 7"), shapes="archive",
        also="reading_differs, another_unit, far_off",
    ),
    "exact copies with new run numbers": Fault(
        "duplicate", COPY.format(", replicate + 1000 as replicate"), flags=COPIES,
        shapes="single, broad, growing, archive",
    ),
}  # fmt: skip


@contextmanager
def beside_clean():
    """Open the warehouse with what is in it now kept as `clean`, to be copied from."""
    with opened() as warehouse:
        warehouse.execute("attach ':memory:' as clean")
        for table in (*COPIED, "batch_verdicts"):
            warehouse.execute(f"create table clean.{table} as from raw.{table}")
        warehouse.execute("begin")
        yield warehouse
        warehouse.execute("commit")


def inject(warehouse, fault, size, shape, study, seed):
    """Copy a clean study under another name, with a fault in its last batch.

    Parameters
    ----------
    warehouse : duckdb.DuckDBPyConnection
        From `beside_clean`.
    fault : Fault
    size : str
    shape : str
        The name of the clean study as well.
    study : str
        The name of the copy.
    seed : int
        Draws the batch, the cell and the trials in it.

    Returns
    -------
    tuple
        The id of the batch that the fault is in, and the trials that have to be flagged, None if no flag is due.
    """
    chance = random.Random(f"{seed} {study}")
    batches = warehouse.execute(
        "select batch_id, vignette, valid_max from clean.batches where study = ? "
        "qualify loaded_at = max(loaded_at) over (partition by vignette) order by all",
        [shape],
    ).fetchall()
    batch_id, vignette, valid_max = chance.choice(batches)
    cells = warehouse.execute(
        f"select list(trial_id order by trial_id) from clean.trials where batch_id = ? and {fault.of} "
        "group by llm_recorded, technique, anchor_direction order by llm_recorded, technique, anchor_direction",
        [batch_id],
    ).fetchall()
    of_cell = chance.choice(cells)[0]
    hit = chance.sample(of_cell, max(1, math.ceil(SIZES[size] * len(of_cell))))
    for table, ids in COPIED.items():
        replaced = ", ".join(f"'{study}/' || {name} as {name}" for name in ids)
        which = str("calls" in fault.sql) if table == "calls" else f"vignette = '{vignette}'"
        warehouse.execute(
            f"create or replace temp table {table} as select * replace ('{study}' as study, {replaced}) "
            f"from clean.{table} where study = '{shape}' and {which}"
        )
    warehouse.execute(
        "create or replace temp table hit as "
        "select trial_id, llm_recorded from trials where list_contains(?, trial_id)",
        [[f"{study}/{trial_id}" for trial_id in hit]],
    )
    for statement in fault.sql.replace("valid_max", str(valid_max)).split(";"):
        warehouse.execute(statement)
    flagged = {row[0] for row in warehouse.execute(fault.flags).fetchall()} if fault.flags else None
    for table in COPIED:
        warehouse.execute(f"insert into raw.{table} by name from temp.{table}")
    warehouse.execute(
        f"insert into raw.batch_verdicts select * replace ('{study}/' || batch_id as batch_id, '{study}' as study) "
        f"from clean.batch_verdicts where study = '{shape}' and batch_id != '{batch_id}'"
    )
    return f"{study}/{batch_id}", flagged


def named(text):
    """Return the names in a list that is written as text."""
    return re.split(r",\s*", text)
