"""Texts are read on Spark as in DuckDB, whatever they hold."""

import csv
import random
from contextlib import closing
from pathlib import Path

import duckdb
import jinja2
import pytest

from bais import on_spark
from ingest.land.models import ENGINE, MACROS, macros
from ingest.warehouse import ROOT
from tests.ingest.test_reading import EXAMPLES, UNITS
from tests.spark.conftest import SESSION

PIECES = (
    " ", "\n", "\t", "\u00a0", "\u3000", "\u200b", "*", "**", "`", "24", "36.5", "1,234", "1e999", "-", "\u2013",
    "years", "months", "k", "$", "€", "%", "I cannot", "Answer:", "\u0130", "ß", "\u017f", "\u212a", "十二", "\u0663",
    "\uff11\uff12", "twelve", "no", "not", "A", "B)", "option a", "positive", '{"answer": 7}', "'", '"', "\\", "\\b",
    "\x00", "\x85", "\u2028", "🙂", "(", ")", "[", "]", "or", "to", "reply:",
)  # fmt: skip
LONG = (" " * 20_000, "twelve " * 6_000, "9" * 20_000, "(" * 5_000, "I would say " * 3_000 + "24")


def made_up(n_texts, seed=20):
    """Return texts of pieces that make readers stumble."""
    chance = random.Random(seed)
    return ["".join(chance.choices(PIECES, k=chance.randint(1, 12))) for _ in range(n_texts)]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", SESSION)
        session = on_spark.opened()
        yield session
        session.stop()


@pytest.fixture
def on_both(session, tmp_path):
    """From the rows of a table and an expression for either engine to what they come to, row by row."""

    def answered(columns, rows, expression, expression_on_spark):
        with closing(duckdb.connect()) as connection:
            connection.execute(f"create table asked (place bigint, {columns})")
            connection.executemany(
                f"insert into asked values (?, {', '.join('?' * len(rows[0]))})",
                [[n, *row] for n, row in enumerate(rows)],
            )
            connection.execute(f"copy asked to '{tmp_path / 'asked.parquet'}'")
            ours = connection.sql(f"select {expression} from asked order by place").fetchall()
        session.read.parquet(str(tmp_path / "asked.parquet")).createOrReplaceTempView("asked")
        theirs = session.sql(f"select {expression_on_spark} from asked order by place").collect()
        return [value for (value,) in ours], [
            value.asDict() if hasattr(value, "asDict") else value for (value,) in theirs
        ]

    return answered


def differing(rows, ours, theirs):
    return [(*row, one, other) for row, one, other in zip(rows, ours, theirs, strict=True) if one != other]


def test_a_number_is_read_on_spark_as_in_duckdb(on_both):
    with open(Path(ROOT) / "tests" / "ingest" / "reader_examples.csv", encoding="utf-8", newline="") as file:
        examples = [example["text"] for example in csv.DictReader(file)]
    texts = [*EXAMPLES, *examples, *LONG, *made_up(2_000), None]
    rows = [(text, UNITS[place % len(UNITS)]) for place, text in enumerate(texts)]
    expression = macros()["read_response"]("text", "unit")
    ours, theirs = on_both("text varchar, unit varchar", rows, expression, "bais_read_response(text, unit)")
    assert {outcome["status"] for outcome in ours} == {"answered", "refused", "unparsed"}
    assert differing(rows, ours, theirs) == []


def test_a_label_is_read_on_spark_as_in_duckdb(on_both):
    shown = [
        (["positive", "negative", "not positive"], None),
        (None, ["large", "small", "decoy"]),
        (None, None),
        ([], []),
    ]
    texts = [
        "B",
        "**B**",
        "Option A because it lasts",
        "(b)",
        "Not positive",
        "A and B",
        "Positive (not negative)",
        *LONG,
    ]
    rows = [
        (text, *shown[place % 4], ("strict", "first_word")[place % 2])
        for place, text in enumerate(texts + made_up(1_000))
    ] + [(text, *lists, reading) for text in texts for lists in shown for reading in ("strict", "first_word")]
    columns = "text varchar, labels varchar[], options varchar[], reading varchar"
    expression = macros()["read_label"]("text", "labels", "reading", "options")
    ours, theirs = on_both(columns, rows, expression, "bais_read_label(text, labels, reading, options)")
    assert {outcome["status"] for outcome in ours} >= {"answered", "unparsed"}
    assert differing(rows, ours, theirs) == []


def test_an_answer_is_cut_out_of_a_reply_on_spark_as_in_duckdb(on_both):
    rows = [(text, marker) for text in (*made_up(1_500), *LONG, None) for marker in (None, "reply:", "**")]
    ours, theirs = on_both(
        "text varchar, marker varchar",
        rows,
        of_engine("duckdb", "{{ trimmed(answer_in('text', 'marker')) }}"),
        of_engine("spark", "{{ trimmed(answer_in('text', 'marker')) }}"),
    )
    assert differing(rows, ours, theirs) == []
    assert any(ours)


def of_engine(engine, expression):
    """Return an expression that calls macros/engines.sql as an engine is given it."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.globals.update(ENGINE | {"target": {"type": engine}, "local_md5": str})
    text = "".join((ROOT / "macros" / f"{name}.sql").read_text(encoding="utf-8") for name in MACROS)
    return environment.from_string(text + expression).render().strip()
