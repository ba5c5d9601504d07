"""Measure the answers of a study with an instrument, and land what it measures; nothing is measured twice."""

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa

from ingest.land.load import land
from ingest.land.models import query_of
from ingest.land.raw import TABLES, prepare_raw
from ingest.measuring import DEFAULT
from ingest.measuring.lengths import NO_TOKENIZER, Tokenizer
from ingest.measuring.tfidf import TfIdf
from ingest.measuring.vectors import NO_WORDS, NOT_FINITE, SHORT_SOURCE
from ingest.paradigms.thirds import N_PARTS, thirds
from ingest.warehouse import UserError, connect, printable, warehouse_path

TABLE = "measurements"
EMPTY, NO_SOURCE, EMPTY_SOURCE = "empty_text", "no_source_text", "empty_source_text"
IN_WORDS = {
    EMPTY: "the answer is empty",
    NO_SOURCE: "the item has no text to hold the answer against",
    EMPTY_SOURCE: "the text of the item is empty",
    SHORT_SOURCE: f"the text of the item has fewer than {N_PARTS} words",
    NO_WORDS: "a text has no word in it",
    NOT_FINITE: "the embedding of a text holds a number that is none",
    NO_TOKENIZER: "the tokenizer of its LLM is not on this machine",
    "failed": "the LLM could not be asked",
    "refused": "the LLM refused",
}

MEASURED = f"""
measured as (
    select study, paradigm, any_value(text_field) as text_field from ({query_of("stg_paradigms")})
    where measured_from = 'measurement'
    group by all
),

items as ({query_of("stg_items")})
"""

LLMS = "select distinct llm_recorded from raw.trials where study = $study and role is null"

STUDIES = f"with {MEASURED} select distinct study from measured order by study"

DOCUMENTS = f"""
with {MEASURED},

fields as (select distinct text_field from measured where study = $study and text_field is not null)

select json_extract_string(items.fields, '$."' || text_field || '"') as document
from items, fields
where study = $study and document is not null
order by item, text_field
"""

TRIALS = f"""
with {MEASURED},

there as (
    select distinct trial_id from raw.measurements
    where study = $study and instrument = $instrument and instrument_version = $version
)

select trial_id, there.trial_id is not null as is_there
from raw.trials as trials
semi join measured using (study, paradigm)
left join there using (trial_id)
where study = $study and role is null
order by item, trial_id
"""

TEXTS = f"""
with {MEASURED}

select
    trial_id,
    llm_recorded as llm,
    trim(response_text) as answer,
    status_recorded,
    reason_recorded,
    json_extract_string(items.fields, '$."' || text_field || '"') as source
from raw.trials as trials
inner join measured using (study, paradigm)
left join items using (study, item)
where list_contains($trial_ids, trial_id)
order by item, trial_id
"""


@dataclass
class Outcome:
    """What became of the answers of one study under one instrument: how many have values, and why others have none."""

    study: str
    instrument: str
    n_before: int = 0
    n_now: int = 0
    reasons: Counter = field(default_factory=Counter)
    cost_usd: float = 0.0
    n_calls: int = 0
    n_unpriced: int = 0
    seconds: float = 0.0
    ended_by: UserError | None = None

    @property
    def is_news(self) -> bool:
        """Whether anything was measured now, or was to be and could not."""
        return bool(self.n_now or self.reasons or self.ended_by)

    def said(self) -> str:
        """Write it for a terminal."""
        n_none = self.reasons.total()
        n_done = self.n_now + n_none
        text = (
            f"study {printable(self.study)}: {n_done:,} answer{'' if n_done == 1 else 's'} measured by "
            f"{printable(self.instrument)}, {self.n_before:,} measured before; {self.seconds:.1f} s"
        )
        if self.n_calls:
            unknown = f", {self.n_unpriced:,} of them of unknown price" if self.n_unpriced else ""
            text += f"; calls: {self.n_calls:,}, {self.cost_usd:.4f} USD{unknown}"
        if n_none:
            why = (f"{IN_WORDS.get(reason, reason)} ({n:,})" for reason, n in self.reasons.most_common())
            text += f"\n  {n_none:,} of them have no value: {printable('; '.join(why))}"
        if self.ended_by:
            text += f"\n  {self.ended_by}"
        return text


class Text(NamedTuple):
    """The answer of a trial, its text and the thirds of that, or the reason why there is nothing to measure."""

    trial_id: str
    llm: str
    answer: str | None = None
    source: str | None = None
    parts: tuple[str, ...] = ()
    method: str | None = None
    reason: str | None = None


def measure(
    study: str | None = None,
    instrument: str = DEFAULT,
    model: str | None = None,
    max_cost_usd: float | None = None,
    on_progress: Callable[[int, int], None] = lambda n_done, n_all: None,
) -> list[Outcome]:
    """Measure what is not measured yet, of one study or of all that have something to measure."""
    outcomes = []
    for name in _studies(study):
        with _made(instrument, name, model, max_cost_usd) as made:
            outcomes.append(_measure_study(name, made, on_progress))
    return outcomes


def measured_lines(study: str | None = None) -> Iterator[str]:
    """Measure with what needs nothing installed, and say what came of it; of no study with measures there is none.

    Of a study that was not named nothing is said where all of it was measured before.
    """
    if warehouse_path().exists():
        for outcome in measure(study, DEFAULT) if study is None or study in _known() else ():
            if study is not None or outcome.is_news:
                yield f"  {outcome.said()}"


def _studies(only):
    studies = _known()
    if only is None:
        return studies
    if only not in studies:
        named = f": these have some: {', '.join(studies)}" if studies else ", and no other study has any"
        raise UserError(
            f"the answers of {printable(only)} have no measure that an instrument takes (`from: measurement` in the "
            f"paradigm){printable(named)}"
        )
    return [only]


def _known():
    """Return the studies that have measures by instruments."""
    import duckdb

    try:
        return _with_measures()
    except (duckdb.CatalogException, duckdb.BinderException):  # a warehouse of an older version of bais
        prepare_raw(warehouse_path())
        return _with_measures()


def _with_measures():
    with contextlib.closing(connect()) as warehouse:
        return [study for (study,) in warehouse.execute(STUDIES).fetchall()]


@contextlib.contextmanager
def _made(instrument, study, model, max_cost_usd):
    """Lend the instrument for a study."""
    if instrument == "minilm":
        from ingest.measuring.minilm import MiniLm

        yield MiniLm()
    elif instrument == "e5":
        from ingest.measuring.e5 import E5

        yield E5(model)
    elif instrument == "endpoint":
        from ingest.measuring.endpoint import EmbeddingsEndpoint

        if not re.fullmatch(r"[\w.:-]+(/[\w.:-]+)+", model or ""):
            raise UserError(
                "an endpoint needs to be told which model to ask for embeddings: give --model VENDOR/NAME, such as "
                "openai/text-embedding-3-small"
            )
        with contextlib.closing(EmbeddingsEndpoint(study, model, max_cost_usd)) as made:
            yield made
    elif instrument == Tokenizer.name:
        yield Tokenizer(_llms(study))
    else:
        yield TfIdf(_documents(study))


def _llms(study):
    with contextlib.closing(connect()) as warehouse:
        return [llm for (llm,) in warehouse.execute(LLMS, {"study": study}).fetchall()]


def _documents(study):
    with contextlib.closing(connect()) as warehouse:
        for batch in warehouse.sql(DOCUMENTS, params={"study": study}).to_arrow_reader(TfIdf.n_at_a_time):
            yield from batch["document"].to_pylist()


def _measure_study(study, instrument, on_progress):
    began, outcome = time.monotonic(), Outcome(study, instrument.name)
    parameters = {"study": study, "instrument": instrument.name, "version": instrument.version}
    with contextlib.closing(connect()) as warehouse:
        trials = warehouse.execute(TRIALS, parameters).fetchall()
    missing = [trial_id for trial_id, is_there in trials if not is_there]
    outcome.n_before = len(trials) - len(missing)
    try:
        for start in range(0, len(missing), instrument.n_at_a_time):
            rows = _rows(study, instrument, _texts(missing[start : start + instrument.n_at_a_time]))
            land(**{TABLE: [pa.Table.from_pylist(rows, TABLES[TABLE].schema)]})
            reasons = Counter(row["reason"] for row in rows if row["measure"] == instrument.measures[0])
            outcome.n_now += reasons.pop(None, 0)
            outcome.reasons += reasons
            on_progress(outcome.n_now + outcome.reasons.total(), len(missing))
    except UserError as error:
        outcome.ended_by = error
    for name in ("cost_usd", "n_calls", "n_unpriced"):
        setattr(outcome, name, getattr(instrument, name, getattr(outcome, name)))
    outcome.seconds = time.monotonic() - began
    return outcome


def _texts(trial_ids):
    """Return what is measured of some trials, or why nothing can be."""
    with contextlib.closing(connect()) as warehouse:
        rows = warehouse.execute(TEXTS, {"trial_ids": trial_ids}).fetchall()
    return [_make_text(*row) for row in rows]


def _make_text(trial_id, llm, answer, status, reason, source):
    cut = thirds(source or "")
    why_not = {
        reason or status: status,
        EMPTY: not answer,
        NO_SOURCE: source is None,
        EMPTY_SOURCE: not (source or "").strip(),
        SHORT_SOURCE: cut is None,
    }
    reason = next((reason for reason, is_so in why_not.items() if is_so), None)
    parts, method = cut if cut and not reason else ((), None)
    return Text(trial_id, llm, answer, source, parts, method, reason)


def _rows(study, instrument, texts):
    """Measure texts, and make the rows of `raw.measurements`."""
    now = datetime.now(UTC)
    return [
        {
            "study": study,
            "trial_id": entry.trial_id,
            "measure": measure,
            "instrument": instrument.name,
            "instrument_version": instrument.version,
            "segment_method": entry.method,
            "measured_at": now,
            **measured,
        }
        for entry, of_entry in zip(texts, instrument.values(texts), strict=True)
        for measure, measured in of_entry.items()
    ]
