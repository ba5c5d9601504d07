"""Rows of statistics are kept for each study of which nothing that they hang on has changed since."""

import hashlib
import inspect
import json

import pyarrow as pa

from analysis.provenance import library_versions, statistics_source
from analysis.tables import TYPES, table

SCHEMA = "intermediate"
PREFIX = "kept_"


def kept_by_study(session, this, rows_of, columns, by_study, shared=None, settings=None):
    """Compute the rows of the studies that changed, and take those of the others from the table that is there.

    Beside the table another one, `intermediate.kept_` and its name, holds two hashes for each study: of what its rows
    were computed from, and of the rows themselves. Rows are kept where both agree, so that neither a build that was
    killed between the two tables nor a change by hand is taken for what was computed; without this other table every
    study is computed. Inputs come in one order, since sums of doubles hang on it.

    Parameters
    ----------
    session : duckdb.DuckDBPyConnection
        What dbt passes to a Python model.
    this : object
        `dbt.this`.
    rows_of : callable
        From the inputs, as frames and by name, to an iterable of dict, of which each is of one study; what it says of
        a study must not hang on rows of another one in `by_study`. Its own source is part of what rows hang on.
    columns : dict of str to str
        As of `analysis.tables.table`, with `study` among them.
    by_study, shared : dict of str to duckdb.DuckDBPyRelation
        Inputs with a column `study`, of which each study reads its own rows; and those that all studies read whole.
    settings : dict of str to (str, int or float), optional
        Further arguments of `rows_of`.

    Returns
    -------
    pyarrow.Table
        The rows of every study, as `analysis.tables.table` types them.
    """
    settings, shared = settings or {}, shared or {}
    common = [statistics_source(), library_versions(), inspect.getsource(rows_of), settings, columns]
    common += [[name, _hashes(relation)] for name, relation in shared.items()]
    read_from = _read_from(by_study, json.dumps(common))
    unchanged = _unchanged(session, this, columns, read_from)
    parts = [_rows_there(session, this, columns, unchanged)] if unchanged else []
    if changed := sorted(read_from.keys() - unchanged):
        inputs = {name: relation.filter(f"study in {_literals(changed)}") for name, relation in by_study.items()}
        relations = {name: relation.order(_names(relation.columns)) for name, relation in (inputs | shared).items()}
        frames = {name: relation.to_arrow_table().to_pandas() for name, relation in relations.items()}
        parts.append(table(rows_of(**frames, **settings), columns))
    rows = pa.concat_tables(parts) if parts else table([], columns)
    _keep(session, this, rows, read_from)
    return rows


def _hashes(relation, by=None):
    """Return the number of rows of a relation and the sum of their hashes, whatever their order; or those by study."""
    key = f"{by}, " if by else ""
    counted = relation.aggregate(
        f"{key}count(*), sum(hash({_names(relation.columns)})::hugeint)::varchar", by or ""
    ).fetchall()
    return {row[0]: row[1:] for row in counted} if by else counted[0]


def _read_from(by_study, common):
    """Return a hash of all that the rows of each study are computed from."""
    hashes = {name: _hashes(relation, "study") for name, relation in by_study.items()}
    studies = {study for study_hashes in hashes.values() for study in study_hashes}
    read_by_study = {study: [[name, of_study.get(study)] for name, of_study in hashes.items()] for study in studies}
    return {
        study: hashlib.sha256(json.dumps([common, read]).encode()).hexdigest() for study, read in read_by_study.items()
    }


def _unchanged(session, this, columns, read_from):
    """Return the studies whose rows in the table that is there are those that would be computed."""
    there = _columns_there(session, this.schema, this.identifier)
    if there != {name: kind.upper() for name, kind in columns.items()}:
        return set()
    if not _columns_there(session, SCHEMA, PREFIX + this.identifier):
        return set()
    hashes = _hashes(session.query(f"select {_names(columns)} from {this}"), "study")
    kept = session.query(f"select study, read_from, n_rows, rows_hash from {_beside(this)}").fetchall()
    return {
        study
        for study, hashed, n_rows, rows_hash in kept
        if read_from.get(study) == hashed and hashes.get(study, (0, None)) == (n_rows, rows_hash)
    }


def _columns_there(session, schema, name):
    rows = session.execute(
        "select column_name, data_type from duckdb_columns() "
        "where database_name = current_database() and schema_name = ? and table_name = ?",
        [schema, name],
    ).fetchall()
    return dict(rows)


def _rows_there(session, this, columns, studies):
    relation = session.query(f"select {_names(columns)} from {this} where study in {_literals(sorted(studies))}")
    return relation.to_arrow_table().cast(pa.schema([(name, TYPES[kind]) for name, kind in columns.items()]))


def _keep(session, this, rows, read_from):
    """Write beside the table what its rows are computed from, and which they are; a study may have none."""
    hashes = _hashes(session.from_arrow(rows), "study")
    session.execute(f"create schema if not exists {SCHEMA}")
    session.execute(
        f"create or replace table {_beside(this)} (study varchar, read_from varchar, n_rows bigint, rows_hash varchar)"
    )
    for study, hashed in sorted(read_from.items()):
        session.execute(
            f"insert into {_beside(this)} values (?, ?, ?, ?)", [study, hashed, *hashes.get(study, (0, None))]
        )


def _beside(this):
    return f'{SCHEMA}."{PREFIX}{this.identifier}"'


def _names(columns):
    return ", ".join(f'"{name}"' for name in columns)


def _literals(texts):
    return "(" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + ")"
