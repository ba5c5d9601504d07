"""The warehouse as commands read it: opened once, read-only, with what keeps it from answering said in words."""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches

from bais.age import say_if_old
from bais.terminal import similar
from ingest.land.seeds import place_of
from ingest.warehouse import READ_SCHEMAS, UserError, connect, explain, printable, warehouse_path

# `voder-bais@8749ccc` is no study of its own, but the version that claims are about of one that has gone on
IS_A_STUDY = "contains(study, '@') is distinct from true"
NOT_PUBLIC = """
with published as ({published})

select study, count(*) as n_trials, coalesce(bool_or(is_published), false) as is_published,
    bool_or(published.batch_id is null) as is_unaudited
from raw.trials left join published using (batch_id)
anti join (select study from marts.trials union all select study from marts.quarantined_trials) as public using (study)
group by study order by study
"""
# What was asked of whom: the trials that are public, and runs of which a source publishes the counts alone, by the
# first of their instruments.
ASKED_OF = """(
    select study, paradigm, domain, llm, vignette, temperature, source, role, left_out_because, 1 as n_runs
    from marts.trials
    union all by name
    select study, paradigm, domain, llm, vignette, 'counted' as source, n_asked as n_runs
    from marts.counts anti join marts.trials using (study, paradigm)
    where row_set = 'accepted'
    qualify instrument is not distinct from min(instrument) over (partition by study, paradigm)
)"""
PARADIGMS = f"""
select distinct paradigm from {ASKED_OF}
where study = coalesce($study, study) and paradigm != $paradigm and role is null order by paradigm
"""
# of which something is compared, so that `bais recommend` has something to say
COMPARED = """
select study, paradigm from inference.outcome_contrasts where n_trials > 0
union select study, paradigm from inference.decisions
"""
PARADIGMS_COMPARED = f"""
select distinct paradigm from ({COMPARED})
where study = coalesce($study, study) and paradigm != $paradigm order by paradigm
"""
PARADIGMS_OF_DOMAIN = """
select distinct paradigm from inference.decisions
where study = coalesce($study, study) and domain = $domain and paradigm != $paradigm order by paradigm
"""
LANDED = {
    "published": "landed and not built yet: run `bais build`",
    "unaudited": "landed, and their batches have no verdict yet: run `bais check`, then `bais build`",
    "held_back": "landed and not published, since the gate or a person holds their batches back: `bais check` says "
    "why, and `bais accept` publishes a batch",
}
UNNUMBERED = (
    "select bool_or(column_name = 'ordinal') from duckdb_columns() where database_name = current_database() "
    "and schema_name = 'raw' and table_name = 'gate_acts'"
)
NOTHING_YET = "none: import some trials first, and run `bais build`"
MISSPELT = 0.9  # how like a known LLM the name of one is that is no other
DIGITS = re.compile(r"\d+")
SCORED_STUDIES = "select distinct study from raw.batches where source = 'scored'"
# What DuckDB itself would not refuse ends with the connection, such as a temporary table: to answer would mislead.
READS = ("SELECT", "EXPLAIN", "MULTI")  # MULTI is a pivot


@contextlib.contextmanager
def opened(writes_files: bool = False) -> Iterator:
    """Open the warehouse to read from it; the rows of one that an older bais made are numbered first."""
    import duckdb

    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(contextlib.closing(connect(writes_files=writes_files)))
        if warehouse.execute(UNNUMBERED).fetchall() == [(False,)]:
            from ingest.land.raw import prepare_raw

            warehouse.close()
            prepare_raw(warehouse_path())
            warehouse = stack.enter_context(contextlib.closing(connect(writes_files=writes_files)))
        try:
            yield warehouse
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            missing = printable(str(error).splitlines()[0])
            raise UserError(
                f"the warehouse {warehouse_path()} is not what this version builds ({missing}): run `bais build`"
            ) from None
        except duckdb.Error as error:
            raise UserError(explain(error, warehouse_path())) from None


@contextlib.contextmanager
def marts(writes_files: bool = False) -> Iterator:
    """Open the warehouse for a command that needs the public tables."""
    with opened(writes_files) as warehouse:
        refuse_without_marts(public_tables(warehouse))
        say_if_old(warehouse)
        yield warehouse


def refuse_without_marts(public: list[tuple]) -> None:
    """Say of a warehouse without public tables what makes them."""
    if not public:
        raise UserError(f"the warehouse {warehouse_path()} has no marts yet: run `bais build`")


def public_tables(warehouse, schemas: tuple[str, ...] = READ_SCHEMAS) -> list[tuple]:
    """Return schema, name and comment of each table that is there to be read, or of each in other schemas."""
    return warehouse.execute(
        "select table_schema, table_name, table_comment from information_schema.tables "
        "where table_catalog = current_database() and table_schema in $schemas "
        "order by list_position($schemas, table_schema), table_name",
        {"schemas": list(schemas)},
    ).fetchall()


def tables_in(warehouse, schema: str) -> set[str]:
    """Return the names of the tables and views of a schema."""
    query = "select table_name from information_schema.tables where table_schema = $schema"
    return set(values(warehouse, query, {"schema": schema}))


def is_public(warehouse, name: str) -> bool:
    """Whether there is a public table of this name, which a warehouse of old may lack."""
    return name in {table for _, table, _ in public_tables(warehouse)}


def not_public(warehouse) -> dict[str, str]:
    """Say of each study that was landed, and of which no trial is in the public tables, why that is."""
    from ingest.land.models import query_of

    if not {"trials", "batch_verdicts", "gate_acts"} <= tables_in(warehouse, "raw"):
        return {}
    reasons = {}
    for row in records(warehouse, NOT_PUBLIC.format(published=query_of("stg_batch_verdicts"))):
        held = "published" if row["is_published"] else "unaudited" if row["is_unaudited"] else "held_back"
        reasons[row["study"]] = f"the {row['n_trials']:,} trials of {printable(row['study'])} are {LANDED[held]}"
    return reasons


def _refuse_scored(warehouse, study):
    """Refuse a study that only holds scores where trials are asked for."""
    if study and study in values(warehouse, SCORED_STUDIES):
        raise UserError(
            f"{printable(study)} is a study of scores: nobody answered its questions, so that it has no trials; "
            f"`bais headlines --study {printable(study)}` says what its scores show, once `bais build` has read them"
        )


def refuse_not_public(warehouse, study: str | None, names: Iterable[str]) -> None:
    """Refuse a study that was landed, but has no trials in the public tables; or any, where none is public."""
    if study in (names := set(names)) or (study is None and names):
        return
    _refuse_scored(warehouse, study)
    reasons = not_public(warehouse)
    if messages := [why for name, why in reasons.items() if study in (None, name)]:
        raise UserError("; ".join(messages))


def columns_of(warehouse, schema: str, name: str) -> list[dict]:
    """Return name, type and definition of each column of a table; in the warehouse those of `raw` are since a build."""
    from ingest.land.raw import TABLES

    columns = records(
        warehouse,
        "select column_name as name, data_type as type, comment as description from duckdb_columns() "
        "where database_name = current_database() and schema_name = $schema and table_name = $name "
        "order by column_index",
        {"schema": schema, "name": name},
    )
    declared = TABLES[name].columns if schema == "raw" and name in TABLES else {}
    return [column | {"description": declared.get(column["name"], column)["description"]} for column in columns]


def _answer(warehouse, query, parameters):
    """Answer a query; of the parameters those are given that it names."""
    return warehouse.execute(query, {name: parameters[name] for name in parameters or {} if f"${name}" in query})


def records(warehouse, query: str, parameters: dict | None = None) -> list[dict]:
    """Answer a query with a dict for each row; of the parameters those are given that the query names."""
    result = _answer(warehouse, query, parameters)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def values(warehouse, query: str, parameters: dict | None = None) -> list:
    """Answer a query with the first column; of the parameters those are given that the query names."""
    return [row[0] for row in _answer(warehouse, query, parameters).fetchall()]


def count(warehouse, schema: str, name: str) -> int:
    """Count the rows of a table."""
    return values(warehouse, f'select count(*) from "{schema}"."{name}"')[0]


def stream(warehouse, result) -> Iterator[tuple]:
    """Yield the rows of a result, of which only some are held at a time."""
    while rows := interruptible(warehouse, lambda: result.fetchmany(10_000)):
        yield from rows


def interruptible(warehouse, work: Callable):
    """Do what DuckDB may take long for in another thread: in this one it can miss a Ctrl-C until it is done."""
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(1) as other:
        doing = other.submit(work)
        try:
            return doing.result()
        except KeyboardInterrupt:
            while not doing.done():
                warehouse.interrupt()
                wait([doing], timeout=0.05)
            raise


def refuse_other_than_reading(statement) -> None:
    """Refuse a statement by its kind, before any other is answered; what a query may reach, DuckDB decides."""
    kind = statement.type.name
    if kind not in READS:
        raise UserError(
            f"`bais sql` only reads the warehouse, so {kind.replace('_', ' ')} is not run: "
            "ask with select, from, describe or explain"
        )


def refuse_writing(warehouse, statement) -> None:
    """Refuse a query that would write a file, where DuckDB does not: Spark's tables are files that it has to reach.

    Only `copy` writes, in a `with` at the top, where the plan of a query shows it; explained or in a pivot it may run
    before there is a plan.
    """
    no_files = "select current_setting('disabled_filesystems') != ''"
    if not re.search(r"\bcopy\b", statement.query, re.IGNORECASE) or values(warehouse, no_files)[0]:
        return
    is_seen = statement.type.name == "SELECT"
    plan = warehouse.execute(f"explain (format json) {statement.query}").fetchone()[1] if is_seen else "[]"
    if not is_seen or any("COPY" in name for name in _operators(json.loads(plan))):
        raise UserError(
            "`bais sql` only reads the warehouse: in one with tables in files, as Spark makes them, a query that "
            "copies is not run, and none with the word copy is explained or pivoted"
        )


def _operators(plan):
    for node in plan:
        yield node["name"]
        yield from _operators(node["children"])


def is_text(typed: str) -> bool:
    """Tell whether what was typed is UTF-8: what is not comes as surrogates, which DuckDB does not take."""
    return not any("\ud800" <= c <= "\udfff" for c in typed)


def refuse_unknown(
    what: str, named: str | None, names: Iterable[str], where: str = "",
    none: str = "none: import some trials first", by_part: bool = False,
) -> None:  # fmt: skip
    """Refuse a study, LLM, domain … that was named and is not in the warehouse, and say what there is."""
    names = list(names)
    if named is not None and named not in names:
        there = ", ".join(map(printable, names)) or none
        close = similar(named, names, by_part)
        raise UserError(f"there is no {what} {printable(named)}{where}{close}; there is {there}")


def refuse_paradigm(warehouse, paradigm: str, domain: str | None, study: str | None, domains: Iterable[str]) -> None:
    """Refuse a domain that a paradigm was not asked in and another was, or a paradigm that was asked in none."""
    keys = {"study": study, "paradigm": paradigm, "domain": domain}
    paradigms, elsewhere = (values(warehouse, query, keys) for query in (PARADIGMS, PARADIGMS_OF_DOMAIN))
    of_study = f" --study {printable(study)}" if study else ""
    if elsewhere and domain not in domains:
        raise UserError(
            f"{printable(domain)} was asked about under another paradigm: `bais recommend --paradigm "
            f"{printable(elsewhere[0])} --domain {printable(domain)}` says what helps there"
        )
    if domain in paradigms:
        raise UserError(
            f"{printable(domain)} is no domain of {printable(paradigm)} but another paradigm: `bais recommend "
            f"--paradigm {printable(domain)}{of_study}` says how large that bias is and what helps"
        )
    if domain is None and paradigms and not domains:
        where = f"in study {printable(study)}" if study else "here"
        offers = [
            f"; `bais recommend --paradigm {printable(other)}{of_study}` says how large such a bias is and what helps"
            for other in values(warehouse, PARADIGMS_COMPARED, {"study": study, "paradigm": paradigm})
        ]
        raise UserError(
            f"nothing was asked about {printable(paradigm)} {where}: say which other "
            f"bias with --paradigm: {', '.join(map(printable, paradigms))}{''.join(offers[:1])}"
        )


def unaliased(warehouse, named: str) -> str:
    """Return the LLM that an alias means, or the name itself."""
    return dict(warehouse.execute("select alias, llm from seeds.llm_aliases").fetchall()).get(named, named)


def vendors_of(warehouse, llms: Iterable[str]) -> dict[str, str]:
    """Return the vendor of each LLM, of which nobody need have been asked."""
    from ingest.land.models import macros

    asked = "(select unnest($llms::varchar[]) as llm)"
    query = macros()["vendors_of"](asked, "seeds.llms", "seeds.llm_aliases", "seeds.routers")
    return {row["llm"]: row["vendor"] for row in records(warehouse, query, {"llms": [*llms]})}


def llm_named(warehouse, named: str, llms: Iterable[str]) -> str:
    """Return the LLM that a name or an alias means, refused where it is no id and was not asked, or is misspelt."""
    llm = unaliased(warehouse, named)
    same = [one for one in llms if llm.casefold() in (one.casefold(), one.rpartition("/")[2].casefold())]
    if len(same) == 1:  # without its vendor, as tables print it, or in other capitals
        return same[0]
    if llm not in llms and "/" not in llm:
        refuse_unknown("LLM", llm, sorted(llms), none=NOTHING_YET, by_part=True)
    known = {*llms, *values(warehouse, "select llm from seeds.llms")}
    # another version differs in digits, and is another LLM
    alike = [] if llm in known else get_close_matches(llm, sorted(known), n=3, cutoff=MISSPELT)
    if meant := [name for name in alike if DIGITS.sub("", name) != DIGITS.sub("", llm)]:
        raise UserError(
            f"there is no LLM {printable(llm)} (perhaps {' or '.join(map(printable, meant))}); if it is a new one, "
            f"add it to {place_of('llms')} and run `bais build`"
        )
    return llm
