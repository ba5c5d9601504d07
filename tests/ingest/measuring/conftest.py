"""Trials whose answers are texts, landed as if they had been collected."""

import json

import pyarrow as pa
import pytest

from ingest.land.load import land
from ingest.land.raw import TABLES

STUDY = "retold"


def _rows(table, rows):
    return [pa.Table.from_pylist(rows, TABLES[table].schema)]


@pytest.fixture
def retold(warehouse):
    """Land answers, `{trial_id: (item, answer)}`, and the texts of items, with what else the rows of the trials say."""

    def land_all(answers, texts, study=STUDY, text_field="text", measured_from="measurement", **said):
        trials = [
            {
                "trial_id": trial_id, "study": study, "source": "collected", "batch_id": f"{study}/v", "item": item,
                "llm_recorded": "any/model", "vignette": "v", "technique": "no_technique", "paradigm": "summarise",
                "arm": "asked", "answer_kind": "text", "response_text": answer, **said,
            }
            for trial_id, (item, answer) in answers.items()
        ]  # fmt: skip
        items = [
            {"study": study, "item": item, "fields": json.dumps(fields), "text_hash": item}
            for item, fields in (
                (item, text if isinstance(text, dict) else {"text": text}) for item, text in texts.items()
            )
        ]
        paradigm = {
            "study": study, "paradigm": "summarise", "measure": "coverage", "answer_kind": "text",
            "measured_from": measured_from, "text_field": text_field,
        }  # fmt: skip
        land(trials=_rows("trials", trials), items=_rows("items", items), paradigms=_rows("paradigms", [paradigm]))

    return land_all


@pytest.fixture
def measured(query):
    """Return the three similarities of each trial, or the reason why it has none, by trial."""

    def ask(instrument="tfidf"):
        rows = query(
            f"select trial_id, measure, value, reason from raw.measurements where instrument = '{instrument}' "
            "order by trial_id, position(measure[12:] in 'beginning middle end')"
        )
        found = {}
        for trial_id, _, value, reason in rows:
            found.setdefault(trial_id, []).append(reason if value is None else value)
        return found

    return ask
