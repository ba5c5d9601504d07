"""A process of its own that runs a mapping: a SELECT over files, which can read nothing else, and write nothing.

python -m ingest.bring.child SPEC

SPEC is a JSON file of `ingest.bring.mapping`. The rows go to stdout as a stream of Arrow, each file's count of rows in
its metadata; what is wrong is said on stderr in one sentence, with the exit code 2. The exit code 3 says that a CSV
file holds a line that is none, so that the files have to be read line by line.
"""

import contextlib
import json
import os
import re
import sys
import threading
import time
from itertools import accumulate
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ingest.bring.columns import FILENAME, KNOWN, OF_ALL, OF_TECHNIQUES, refuse_columns
from ingest.texts.csv_text import LONGEST_ROW
from ingest.warehouse import DAMAGE, SESSION, UserError, printable, quoted, some

MEMORY = "600MB"
MEMORY_BEYOND = 1200 << 20  # that DuckDB's own limit does not know of, such as one long text
ROWS_AT_A_TIME = 50_000
UNCLEAN = 3
MOST_TECHNIQUES = 40
IN = "__file_of_row"  # what no column of anybody's is called
REJECTED = re.compile(
    r"CSV Error on Line|state machine reached an invalid state|Invalid unicode|not utf-8|Maximum line size|"
    "does not support a full read",
    re.IGNORECASE,
)
GLOB = re.compile(r"[*?[]")
NOW = {"current_date", "current_timestamp", "current_time", "localtime", "localtimestamp"}  # called without brackets
OUT_OF_MEMORY = (duckdb.OutOfMemoryException, MemoryError)
SINGLE = ("VARCHAR", "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE", "BOOLEAN", "NULL")  # kinds of JSON
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')  # in JSON
TOO_DEEP = re.compile(r"JSON exceeds maximum recursion depth of (\d+)")
# how far a structure of JSON is taken apart: what has more keys than this holds data in its keys
MOST_KEYS = 200


def main(path: str) -> int:
    """Answer what a file asks for."""
    spec = json.loads(Path(path).read_text(encoding="utf-8"))
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    name = spec["name"]
    try:
        with contextlib.closing(open_memory(spec)) as memory:
            try:
                for table in spec["tables"]:
                    memory.execute(view(memory, table))
                memory.execute("set lock_configuration = true")
                send_columns(memory, spec) if spec["looks"] else send_rows(memory, spec)
            except duckdb.Error as error:
                if REJECTED.search(str(error)) and any(part["kind"] == "csv" for part in parts(spec)):
                    return UNCLEAN
                raise
    except UserError as error:
        sys.stderr.write(str(error))
        return error.exit_code
    except OUT_OF_MEMORY:
        sys.stderr.write(f"{name} needs more memory than a mapping gets ({MEMORY}): let it hold fewer rows at once")
        return 2
    except duckdb.Error as error:
        sys.stderr.write(f"{name}: {in_words(error, spec)}")
        return 2
    return 0


def end_with(parent: int) -> None:
    """End this process when its parent, which ends it otherwise, is not there any more."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def open_memory(spec):
    """Open a DuckDB in memory that reaches the files of a mapping alone."""
    settings = {"memory_limit": MEMORY, "threads": spec["threads"], "temp_directory": spec["spill"]}
    memory = duckdb.connect(config=settings)
    memory.execute(SESSION)
    memory.execute("set python_enable_replacements = false")
    files = [file for part in parts(spec) for file in part["paths"]]
    paths = [path for file in files for path in (file, pattern_of(file), f"{file}.wal")]
    memory.execute(f"set allowed_paths = [{', '.join(map(quoted, paths))}]")
    memory.execute("set enable_external_access = false")
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY_BEYOND
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return memory


def parts(spec) -> list[dict]:
    """Return the parts of all tables: files that are read in one way."""
    return [part for table in spec["tables"] for part in table["parts"]]


def view(memory, table: dict) -> str:
    """Write the view of a table over its files."""
    selects = [SELECTS[part["kind"]](memory, part) for part in table["parts"]]
    schema, dot, _ = table["name"].partition(".")
    made = f"create schema if not exists {_name(schema)}; " if dot else ""
    rows = " union all by name ".join(selects)
    if table["is_beside"]:  # so that `filename` is that of a row of the source
        rows = f"select * exclude {FILENAME} from ({rows})"
    return f"{made}create view {_table(table)} as {rows}"


def of_csv(memory, part):
    """Select the rows of CSV files of one header; every value is a text, and an empty one null."""
    columns = ", ".join(f"{quoted(column)}: 'VARCHAR'" for column in part["columns"])
    return _select(
        f"read_csv({_files(part)}, columns = {{{columns}}}, auto_detect = false, header = true, "
        f"delim = {quoted(part['delimiter'])}, quote = '\"', escape = '\"', max_line_size = {LONGEST_ROW}, "
        f"buffer_size = {2 * LONGEST_ROW}, compression = {quoted(part['compression'])}, filename = {quoted(IN)})",
        part, part["columns"],
    )  # fmt: skip


def of_parquet(memory, part):
    """Select the rows of Parquet files."""
    reader = f"read_parquet({_files(part)}, union_by_name = true, filename = {quoted(IN)})"
    names = [column[0] for column in memory.execute(f"select * from {reader} limit 0").description]
    return _select(reader, part, [name for name in names if name != IN])


def of_records(memory, part):
    """Select what records of JSON hold: a column for each key that one of them has, and `record`, the whole."""
    files = f"read_parquet({_files(part)})"
    reader = f"(select {FILENAME}, try_cast(record as json) as record from {files}) where json_type(record) = 'OBJECT'"
    ((structure,),) = memory.execute(f"select json_group_structure(record) from {reader}").fetchall()
    structure = json.loads(structure or '"JSON"')
    structure = readable_structure(with_texts(structure, texts_among(memory, reader, structure)))
    keys = [*structure] if isinstance(structure, dict) else []
    taken = "".join(f", record_.{_name(key)} as {_name(free_name(key, keys))}" for key in keys)
    whole = ", record" if part["has_whole"] and "record" not in map(str.lower, keys) else ""
    form = quoted(json.dumps(structure, ensure_ascii=False))
    record = f"json_transform(record, {form})" if keys else "record"
    return f"select {FILENAME}{taken}{whole} from (select *, {record} as record_ from {reader})"


def of_duckdb(memory, part):
    """Select the rows of a table of a DuckDB file."""
    (path,) = part["paths"]
    database = f"file_{len(memory.execute('from duckdb_databases()').fetchall())}"
    memory.execute(f"attach {quoted(path)} as {database} (read_only)")
    of = f"{database}.{_name(part['schema'])}.{_name(part['table'])}"
    names = [column[0] for column in memory.execute(f"select * from {of} limit 0").description]
    taken = ", ".join(f"{_name(name)} as {_name(free_name(name))}" for name in names)
    return f"select {quoted(part['filename'])} as {FILENAME}, {taken} from {of}"


SELECTS = {"csv": of_csv, "parquet": of_parquet, "records": of_records, "duckdb": of_duckdb}


def pattern_of(path: str) -> str:
    """Return the pattern by which DuckDB's readers, which take every name for one, find one file alone."""
    return GLOB.sub(r"[\g<0>]", path)


def free_name(name: str, others=()) -> str:
    """Return how a column of a file is called that bais gives every source: it is another one."""
    return f"{name}_1" if name.lower() == FILENAME else name


def texts_among(memory, reader: str, structure) -> set[str]:
    """Return the places in records that have to be read as texts.

    A place of several kinds, none of them a list or an object, would be JSON, with the quotes of its texts; a place of
    numbers would be rounded where one of them is too long.
    """
    tests = {}
    for place, kind in _leaves(structure):
        path = quoted(place)
        is_many = "[*]" in place
        types, texts = (f"json_type(record, {path})", f"(record ->> {path})")
        types, texts = (types, texts) if is_many else (f"[{types}]", f"[{texts}]")
        if kind == "JSON":
            tests[place] = (
                f"bool_and(coalesce(list_has_all({list(SINGLE)}, list_filter({types}, lambda t: t is not null)), true))"
            )
        elif kind == "DOUBLE":
            tests[place] = f"bool_or(len(list_filter({texts}, lambda t: regexp_full_match(t, '-?[0-9]{{16,}}'))) > 0)"
    if not tests:
        return set()
    (are_texts,) = memory.execute(f"select {', '.join(tests.values())} from {reader}").fetchall()
    return {place for place, is_text in zip(tests, are_texts, strict=True) if is_text}


def _leaves(structure, place="$"):
    """Yield the path of each single value in a structure of JSON, and its kind."""
    if isinstance(structure, dict) and len(structure) <= MOST_KEYS:
        for key, of_key in structure.items():
            yield from _leaves(of_key, _below(place, key))
    elif isinstance(structure, list) and structure:
        yield from _leaves(structure[0], f"{place}[*]")
    elif isinstance(structure, str):
        yield place, structure


def with_texts(structure, texts: set[str], place="$"):
    """Return a structure of JSON in which what stands at some places is a text."""
    if isinstance(structure, dict):
        return {key: with_texts(of_key, texts, _below(place, key)) for key, of_key in structure.items()}
    if isinstance(structure, list):
        return [with_texts(of_element, texts, f"{place}[*]") for of_element in structure]
    return "VARCHAR" if place in texts else structure


def _below(place, key):
    return f'{place}."{key}"'


def readable_structure(structure):
    """Return a structure of JSON as DuckDB can take records apart with it: what it cannot, stays JSON."""
    if isinstance(structure, list):
        return [readable_structure(structure[0])] if structure else "JSON"
    if not isinstance(structure, dict):
        return "JSON" if structure == "NULL" else structure
    names = {key.lower() for key in structure}
    if len(names) < len(structure) or "" in names or len(names) > MOST_KEYS:
        return "JSON"
    return {key: readable_structure(of_key) for key, of_key in structure.items()}


def _select(reader, part, names):
    """Select columns of files, with the name of the file below the folder that all are in."""
    taken = ", ".join(f"{_name(name)} as {_name(free_name(name))}" for name in names)
    cut = f"{IN}[{len(part['folder']) + 2}:{-len(part['ending']) - 1 if part['ending'] else ''}]"
    return f"select {cut} as {FILENAME}, {taken} from {reader}"


def _table(table):
    return ".".join(map(_name, table["name"].split(".", 1)))


def _name(text):
    return '"' + text.replace('"', '""') + '"'


def _files(part):
    return f"[{', '.join(quoted(pattern_of(path)) for path in part['paths'])}]"


def send_columns(memory, spec) -> None:
    """Print of each table its columns, each with its type and up to three of its values."""
    tables = {}
    for table in spec["tables"]:
        columns = tables[table["name"]] = []
        for name, of_type, *_ in memory.execute(f"describe from {_table(table)}").fetchall():
            values = memory.execute(
                f"select distinct left({_name(name)}::varchar, 40) from (select {_name(name)} from {_table(table)} "
                f"where {_name(name)} is not null limit 1000) limit 3"
            ).fetchall()
            columns.append((name, of_type, sorted(value for (value,) in values)))
    json.dump(tables, sys.stdout)


def send_rows(memory, spec) -> None:
    """Write what the mapping yields to stdout: of each row its file, the row as JSON, and our columns as texts."""
    names, n_rows = bind(memory, spec), {}
    for table in spec["tables"]:
        if not table["is_beside"]:
            # to count each column of CSV is to read all of it, so that no line of it is found to be none later
            all_of_it = ", count(columns(*))" if any(part["kind"] == "csv" for part in table["parts"]) else ""
            counts = memory.execute(f"select {FILENAME}, count(*){all_of_it} from {_table(table)} group by all")
            for file, n, *_ in counts.fetchall():
                n_rows[file] = n_rows.get(file, 0) + n
    told = {"rows": n_rows, "names": names, "techniques": techniques_left_out(memory, spec, names)}
    here = {name.lower(): name for name in names}
    of_row = [name for name in names if name.lower() != FILENAME and name.lower() not in OF_ALL]
    said = [
        f"nullif({_name(here[name])}::varchar, '') as {name}" if name in here else f"null::varchar as {name}"
        for name in KNOWN
    ]
    file = _name(here[FILENAME]) + "::varchar" if FILENAME in here else quoted(spec["only_file"])
    pairs = (f"{_name(name.lower() if name.lower() in KNOWN else name)} := {_name(name)}" for name in of_row)
    line = f"to_json(struct_pack({', '.join(pairs)}))::varchar"
    reader = memory.sql(f"select {file} as {FILENAME}, {line} as line, {', '.join(said)} from yielded").to_arrow_reader(
        ROWS_AT_A_TIME
    )
    schema = reader.schema.with_metadata({name: json.dumps(what) for name, what in told.items()})
    with pa.ipc.new_stream(sys.stdout.buffer, schema) as stream:
        for batch in reader:
            stream.write_batch(batch)


def techniques_left_out(memory, spec, names: list[str]) -> dict[str, list[str]]:
    """Return the columns that may say by which technique was asked, and that a mapping never names, with their values.

    None where it yields the technique.
    """
    if "technique" in map(str.lower, names):
        return {}
    found = {}
    for table in spec["tables"]:
        for column, of_type, *_ in memory.execute(f"describe from {_table(table)}").fetchall():
            is_named = re.search(rf"(?<!\w){re.escape(column)}(?!\w)", spec["select"], re.IGNORECASE)
            if of_type == "VARCHAR" and OF_TECHNIQUES.search(column) and not is_named and column.lower() not in KNOWN:
                values = memory.execute(
                    f"select distinct left({_name(column)}, 40) as value from {_table(table)} where value is not null "
                    f"order by value limit {MOST_TECHNIQUES + 1}"
                ).fetchall()
                if 1 < len(values) <= MOST_TECHNIQUES:  # of more it is a text, such as a prompt
                    found[column] = [value for (value,) in values]
    return found


def bind(memory, spec) -> list[str]:
    """Make the view `yielded` of a mapping, and return its columns as they are written."""
    name, select = spec["name"], spec["select"]
    statements = duckdb.extract_statements(select)
    if len(statements) != 1:
        raise UserError(f"{name} holds {len(statements)} statements: a mapping is one SELECT")
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rpartition(".")[2].lower()
        raise UserError(f"{name} is no SELECT ({kind}): a mapping is one SELECT, and changes nothing")
    if unstable := what_is_unstable(memory, select):
        raise UserError(
            f"{name} {printable(unstable)}, which is something else at each import, so that no row would be "
            "known again: leave it out"
        )
    memory.execute(f"create view yielded as {select}")
    names = [column[0] for column in memory.execute(f"describe {select}").fetchall()]
    refuse_columns(names, spec["n_files"], is_map=spec["is_map"], where=spec["where"], to_do=spec["to_do"])
    return names


def what_is_unstable(memory, select: str) -> str | None:
    """Say what in a query gives another value at another time, if anything does."""
    parsed = json.loads(memory.execute("select json_serialize_sql($select)", {"select": select}).fetchone()[0])
    unstable = memory.execute(
        "select distinct function_name from duckdb_functions() "
        "where stability in ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') and function_name != 'error'"
    ).fetchall()
    names = {name for (name,) in unstable}
    for node in _nodes(parsed):
        called = str(node.get("function_name")).lower()
        if called in names:
            return f"calls {node['function_name']}()"
        if called == "age" and len(node["arguments"]) + bool(node["schema"]) == 1:  # `birth.age()` has one too
            return "calls age() of one time alone"
        if len(said := node.get("column_names", ())) == 1 and said[0].lower() in NOW:
            return f"calls {said[0]}"
        if node.get("sample"):
            return "takes a sample"
    return None


def _nodes(parsed):
    """Yield each object in a structure of JSON."""
    if isinstance(parsed, dict):
        yield parsed
    for part in parsed.values() if isinstance(parsed, dict) else parsed if isinstance(parsed, list) else ():
        yield from _nodes(part)


def in_words(error: duckdb.Error, spec: dict) -> str:
    """Say in one sentence what DuckDB says is wrong with a mapping."""
    text = str(error)
    if wanted := re.search(r'Cannot access (?:file|directory) "(?P<path>.*?)"', text):
        return (
            f"it reads {printable(wanted['path'])}, and a mapping reads the files that are imported alone: give other "
            "ones a name with --with NAME=FILE"
        )
    if "Table with name source does not exist" in text:
        named = ", ".join(table["name"] for table in spec["tables"])
        return f"there are several tables, {printable(named)}: say which the rows are from"
    if DAMAGE.search(text):
        files = sorted({part["filename"] for part in parts(spec) if part["kind"] == "duckdb"})
        return (
            f"{printable(some(files))} {'is' if len(files) == 1 else 'or one of them is'} damaged: import a copy of it "
            f"that is whole ({printable(text.splitlines()[0])})"
        )
    if deep := TOO_DEEP.search(text):
        most = int(deep[1])
        return f"{too_deep(spec, most)} is nested deeper than {most} levels, which cannot be taken apart: take it out"
    if "DML statements" in text or "configuration has been locked" in text:
        return "a mapping is one SELECT, and changes nothing"
    first, _, rest = text.partition("\n")
    line = re.search(r"^LINE (\d+):", rest, re.MULTILINE)
    return printable(f"{first}{f' (line {line[1]})' if line else ''}")


def too_deep(spec: dict, most: int) -> str:
    """Return the file and line of the first record that is nested deeper than some levels."""
    for path in (path for part in parts(spec) if part["kind"] == "records" for path in part["paths"]):
        for batch in pq.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                steps = ({"[": 1, "{": 1}.get(sign, -1) for sign in re.findall(r"[][{}]", TEXT.sub("", row["record"])))
                if max(accumulate(steps), default=0) > most:
                    return f"{printable(row['filename'])}:{row['line_number']}"
    return "a record of it"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
