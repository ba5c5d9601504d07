"""Load what was collected: from the spool into `raw`. Nothing here asks anything."""

import contextlib
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa

from ingest.ask.families import families_in
from ingest.ask.redefined import DEFINED, in_words
from ingest.ask.responses import SPOOLED_AS, spooled
from ingest.ask.spool import read_state, spool_files, stated_in
from ingest.land.families import STUDY, freeze
from ingest.land.load import land, landed_ids, same
from ingest.land.models import query_of
from ingest.land.raw import LOAD_ID, TABLES, prepare_raw
from ingest.studies.baseline import OF_BASELINES, baseline_prompt
from ingest.warehouse import connect, warehouse_path

ROWS_AT_A_TIME = 20_000

# How the columns are made that no line of the spool has; the others are there, if under another name.
MADE = {
    "trials": {
        "batch_id": "concat_ws('/', spooled.study, coalesce(sessions.sets[vignette], vignette), $stamp)",
        "protocol": "'bais ' || coalesce(sessions.software_version, '')",
    },
    "calls": {
        "call_id": "concat_ws('-', trial_id, turn, attempt)",
        "study": "$study",
        "software_version": "sessions.software_version",
        "git_revision": "sessions.git_revision",
    },
    "prompts": {"study": "$study"},
    "items": {"study": "$study", "ordinal": "row_number() over ()"},
}


@dataclass
class Loaded:
    """What a load brought: trials and calls that are new, trials that were there, and what is said of vignettes now."""

    n_trials: int = 0
    n_calls: int = 0
    n_already_there: int = 0
    redefined: dict[str, str] = field(default_factory=dict)  # by vignette, what is said of it otherwise than before


def load_collected(study: str) -> Loaded:
    """Load all that was collected for a study and is not in the warehouse yet."""
    loaded = Loaded()
    paths = spool_files(study)
    if not paths:
        return loaded
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    sessions = [session for path in paths for session in read_state(path).sessions]
    loaded.n_already_there = landed_ids(study).num_rows
    counts, asked_in = Counter(), set()

    def trials():
        for rows in _rows(paths, "trials", sessions, study, stamp):
            counts.update(zip(rows["batch_id"].to_pylist(), rows["vignette"].to_pylist(), strict=True))
            asked_in.update(rows["session_id"].unique().to_pylist())
            loaded.n_trials += rows.num_rows
            yield rows

    def calls():
        for rows in _rows(paths, "calls", sessions, study, stamp):
            loaded.n_calls += rows.num_rows
            yield rows

    def batches():
        stated = _stated(study)
        loaded_sessions = [session for session in sessions if session["session"] in asked_in]
        rows = _batches(study, stamp, counts, loaded_sessions, sessions[-1:], stated)
        for row in rows:
            if row["vignette"] in stated and (what := in_words(stated[row["vignette"]], row)):
                loaded.redefined[row["vignette"]] = what
        if rows:
            yield pa.Table.from_pylist(rows)

    others = {table: _rows(paths, table, sessions, study, stamp) for table in ("prompts", "items")}
    statements = [*filter(None, map(families_in, sessions))]

    def conclude(warehouse):
        freeze(warehouse, study, statements, STUDY)

    land(conclude, trials=trials(), calls=calls(), **others, **_paradigms(study, sessions), batches=batches())
    return loaded


def _rows(paths, table, sessions, study, stamp):
    """Yield what the spool has of a table of `raw`, and the warehouse has not."""
    key = [column for column in TABLES[table].key if column != "study"]
    selected = ", ".join(
        f"({MADE[table].get(name) or f'spooled.{SPOOLED_AS[table].get(name, name)}'})::{column['data_type']} as {name}"
        for name, column in TABLES[table].columns.items()
        if name != LOAD_ID
    )
    columns = ("session", "software_version", "git_revision")
    of_sessions = {column: pa.array([session.get(column) for session in sessions], pa.string()) for column in columns}
    sets = [
        [named for definition in _definitions(session.get("study", {})) for named in _sets(definition).items()]
        for session in sessions
    ]
    of_sessions["sets"] = pa.array(sets, pa.map_(pa.string(), pa.string()))
    with spooled(paths, table) as connection:
        connection.register("sessions", pa.table(of_sessions))
        connection.register("known", landed_ids(study, table, *key))
        new_rows = connection.sql(
            f"select found.* from (select {selected} from spooled left join sessions using (session)) as found "
            f"anti join known on {same('found', 'known', key)}",
            params={"stamp": stamp} if table == "trials" else {"study": study},
        )
        if table in ("prompts", "items"):  # the files of one study share them
            new_rows = connection.sql(f"select distinct on ({', '.join(key)}) * from new_rows")
        for batch in new_rows.to_arrow_reader(ROWS_AT_A_TIME):
            yield pa.Table.from_batches([batch])


def _paradigms(study, sessions):
    """Say what the sessions state of their paradigms: whole, each time that it is not what was stated before."""
    rows, last = {"paradigms": [], "paradigm_contrasts": []}, {}
    for ordinal, session in enumerate(sessions, start=1):
        for table, stated in stated_in(session).items():
            for paradigm, of_paradigm in stated.items():
                if last.get((table, paradigm)) != of_paradigm:
                    last[table, paradigm] = of_paradigm
                    stated_at = datetime.fromisoformat(session["started_at"])
                    statement = {"study": study, "stated_at": stated_at, "ordinal": ordinal}
                    rows[table] += [statement | row for row in of_paradigm]
    return {
        table: [pa.Table.from_pylist(table_rows, TABLES[table].schema)] if table_rows else []
        for table, table_rows in rows.items()
    }


def _definitions(study):
    """Return what a study says of its trials and, as if that were a study, of its judgements."""
    judges = study.get("judges")
    if not judges:
        return [study]
    entry = {
        "vignette": judges["paradigm"], "version": judges["version"], "domain": judges["paradigm"],
        "case": judges["question"],
    }  # fmt: skip
    of_judges = {"techniques": [], "llms": judges["llms"], "vignettes": [entry]}
    return [study, study | of_judges | {"stopping_rule": {"minimum": judges["repeats"]}}]


def _sets(study):
    """Name by vignette the set that trials of a study belong to: `fever`, with raised versions `fever@2,sacd@3`."""
    techniques = [_with_version(technique, "technique") for technique in study.get("techniques", [])]
    raised = [name for name in techniques if "@" in name]
    vignettes = study.get("vignettes", [])
    return {entry["vignette"]: ",".join([_with_version(entry, "vignette"), *raised]) for entry in vignettes}


def _with_version(entry, key):
    return entry[key] if entry.get("version", 1) == 1 else f"{entry[key]}@{entry['version']}"


def _batches(study, stamp, counts, sessions, last, stated):
    """Describe the batches by the last of the sessions in which their trials were asked.

    What a study says of a vignette is the word of its last session; where that is new and no trial has come with it,
    it is a batch without trials.
    """
    definitions, now = (
        {
            f"{study}/{name}/{stamp}": (definition, entry)
            for session in some
            for definition in _definitions(session.get("study", {}))
            for name, entry in zip(_sets(definition).values(), definition.get("vignettes", []), strict=True)
        }
        for some in (sessions, last)
    )
    words = {entry["vignette"]: entry for _, entry in now.values()}
    prompts = {entry["vignette"]: baseline_prompt(definition, entry) for definition, entry in now.values()}
    with_trials = {vignette for _, vignette in counts}
    described = [(*batch, n, *definitions.get(batch[0], (None, {}))) for batch, n in counts.items()]
    described += [
        (batch_id, vignette, 0, definition, entry)
        for batch_id, (definition, entry) in now.items()
        if (vignette := entry["vignette"]) in stated.keys() - with_trials
        and _is_news(definition, entry, stated[vignette])
    ]
    rows = []
    for ordinal, (batch_id, vignette, n, definition, entry) in enumerate(described, start=1):
        is_simulated = definition and all(llm["provider"] == "simulated" for llm in definition["llms"])
        word, told = words.get(vignette, entry), prompts.get(vignette) or baseline_prompt(definition or {}, entry)
        rows.append(
            {
                "batch_id": batch_id,
                "study": study,
                "vignette": vignette,
                "source": "simulated" if is_simulated else "collected",
                "n_trials": n,
                "definition": json.dumps(definition),
                "loaded_at": datetime.now(UTC),
                "ordinal": ordinal,
                **{key: word.get(key) for key in DEFINED},
                **dict(zip(OF_BASELINES, told, strict=True)),
            }
        )
    return rows


def _stated(study):
    """Return by vignette what the warehouse has as the last word of a study, with the whole definition."""
    if not warehouse_path().exists():
        return {}
    prepare_raw(warehouse_path())
    query = f"""
        select stated.*, definition::varchar as definition from ({query_of("int_vignettes_stated")}) as stated
        inner join raw.batches using (batch_id)
        where stated.study = $study
    """
    with contextlib.closing(connect()) as warehouse:
        rows = warehouse.sql(query, params={"study": study}).to_arrow_table().to_pylist()
    return {row["vignette"]: row for row in rows}


def _is_news(definition, entry, stated):
    """Whether a study says something else than before of a vignette, its prompts, or whether a technique is ranked."""
    before, now = (
        {technique["technique"]: bool(technique.get("ranked")) for technique in (version or {}).get("techniques", [])}
        for version in (json.loads(stated["definition"] or "null"), definition)
    )
    if baseline_prompt(definition, entry) != tuple(stated[name] for name in OF_BASELINES):
        return True
    return bool(in_words(stated, entry)) or any(before[name] != now[name] for name in before.keys() & now.keys())
