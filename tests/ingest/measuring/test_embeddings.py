"""Embeddings of an endpoint: priced, in the spool before they are used, and never paid twice."""

import csv
import json
import math

import pytest

from bais.main import main
from ingest.ask.spool import records_of, spool_folder
from ingest.warehouse import ROOT
from tests.ingest.endpoint import Act, Endpoint, error

KEY = "sk-canary-measures-1234567"
MODEL = "any/embedder"
TEXT = "The battery is strong. The screen is dark. The price is high."


def numbers(text):
    """Return an embedding that hangs on two words."""
    return [1.0, float("battery" in text.lower()), float("price" in text.lower())]


def embeddings(request, of=numbers, **usage):
    data = [
        {"object": "embedding", "index": place, "embedding": of(text)}
        for place, text in enumerate(request.body["input"])
    ]
    body = {"object": "list", "data": data[::-1], "model": request.model, "usage": {"prompt_tokens": 1_000} | usage}
    return Act(body=body, is_answer=True)


@pytest.fixture
def ask(monkeypatch, capsys):
    """Measure with an endpoint that decides as it is told; return the exit code, what was said and the requests."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def measure(decide=embeddings, *options, model=MODEL):
        with Endpoint(decide) as endpoint:
            monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
            code = main(["measure", "--instrument", "endpoint", "--model", model, *options])
            said = capsys.readouterr()
            return code, said.out + said.err, endpoint.requests

    return measure


@pytest.fixture
def spool(warehouse):
    path = spool_folder("retold") / "embeddings" / "any_embedder.jsonl"
    return lambda: list(records_of(path))


def test_an_endpoint_measures_all_texts_of_a_portion_in_one_call_each_text_once(retold, measured, ask, golden):
    retold({"t1": ("i", "Good battery"), "t2": ("i", "Bad price"), "t3": ("i", "Bad price")}, {"i": TEXT})
    code, said, requests = ask()
    assert code == 0
    assert [len(request.body["input"]) for request in requests] == [5]
    golden(said, "any/embedder", "3 answers")
    golden(said, "calls: 1,", "0.0000 USD")
    half = math.sqrt(0.5)
    found = measured(f"endpoint:{MODEL}")
    assert found["t1"] == pytest.approx([1, half, 0.5])
    assert found["t2"] == found["t3"] == pytest.approx([0.5, half, 1])


def test_what_was_paid_is_in_the_spool_and_is_not_asked_again(retold, measured, ask, spool, warehouse):
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    ask()
    (record,) = spool()
    assert record["tokens_in"] == 1_000
    assert KEY not in json.dumps(record)
    before = measured(f"endpoint:{MODEL}")
    warehouse.unlink()
    retold({"t1": ("i", "Good battery"), "t2": ("i", "Bad price")}, {"i": TEXT})
    code, _, requests = ask()
    assert code == 0
    assert [request.body["input"] for request in requests] == [["Bad price"]]
    assert measured(f"endpoint:{MODEL}")["t1"] == pytest.approx(before["t1"], abs=1e-6)
    assert ask()[2] == []


def test_a_price_of_the_list_and_a_reported_one_make_the_cost(retold, ask, spool):
    model = "openai/text-embedding-3-small"
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    with open(ROOT / "seeds" / "embedding_prices.csv", encoding="utf-8", newline="") as file:
        (price,) = (row["usd_per_million_tokens"] for row in csv.DictReader(file) if row["model"] == model)
    usage = {"prompt_tokens": 10_000_000}
    assert f"{10 * float(price):.4f} USD" in ask(lambda request: embeddings(request, **usage), model=model)[1]
    assert "0.2500 USD" in ask(lambda request: embeddings(request, cost=0.25))[1]
    assert spool()[0]["cost_source"] == "reported"


def test_a_limit_of_cost_ends_it_and_what_was_measured_is_kept(retold, measured, ask, monkeypatch, golden):
    monkeypatch.setattr("ingest.measuring.endpoint.EmbeddingsEndpoint.n_at_a_time", 1)
    retold({"t1": ("i", "Good battery"), "t2": ("i", "Bad price")}, {"i": TEXT})
    dear = lambda request: embeddings(request, cost=0.25)  # noqa: E731
    code, said, requests = ask(dear, "--max-cost", "0.3")
    assert (code, len(requests)) == (0, 1)
    golden(said, "0.3 USD")
    assert list(measured(f"endpoint:{MODEL}")) == ["t1"]
    assert "1 measured before" in ask(dear)[1]


def test_a_limit_of_cost_without_a_known_price_is_refused_after_the_first_call(retold, ask, monkeypatch, golden):
    monkeypatch.setattr("ingest.measuring.endpoint.EmbeddingsEndpoint.n_at_a_time", 1)
    retold({"t1": ("i", "Good battery"), "t2": ("i", "Bad price")}, {"i": TEXT})
    code, said, requests = ask(embeddings, "--max-cost", "1")
    assert (code, len(requests)) == (2, 1)
    golden(said)


def test_an_embedding_that_is_none_gives_no_number_and_is_not_paid_again(retold, measured, ask, golden):
    retold({"t1": ("i", "Good battery"), "t2": ("i", "nothing")}, {"i": TEXT})
    broken = lambda text: [math.nan, 1.0, None] if text == "nothing" else numbers(text)  # noqa: E731
    code, said, _ = ask(lambda request: embeddings(request, broken))
    assert code == 0
    assert measured(f"endpoint:{MODEL}")["t2"] == ["not_finite"] * 3
    assert measured(f"endpoint:{MODEL}")["t1"][0] == pytest.approx(1)
    golden(said)
    assert ask()[2] == []


def test_a_text_that_the_endpoint_refuses_does_not_take_the_others_with_it(retold, measured, ask):
    retold({"t1": ("i", "Good battery"), "t2": ("i", "too long")}, {"i": TEXT})
    code, _, requests = ask(lambda of: error(400) if "too long" in of.body["input"] else embeddings(of))
    assert code == 0
    assert len(requests) == 1 + 5
    assert measured(f"endpoint:{MODEL}")["t2"] == ["http_400"] * 3
    assert measured(f"endpoint:{MODEL}")["t1"][0] == pytest.approx(1)


def test_an_endpoint_that_has_too_much_to_do_is_asked_again(retold, measured, ask):
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    busy = error(429, headers={"retry-after": "0.01"})
    code, _, requests = ask(lambda request: embeddings(request) if request.number else busy)
    assert (code, len(requests)) == (0, 2)
    assert measured(f"endpoint:{MODEL}")["t1"][0] == pytest.approx(1)


@pytest.mark.parametrize("body", [b"no json", {"data": 3}, {"data": []}, {"data": [{"index": 0, "embedding": [1]}]}])
def test_an_answer_of_another_form_lands_nothing_and_is_one_sentence(retold, measured, ask, monkeypatch, body, golden):
    monkeypatch.setattr("ingest.measuring.endpoint.SLOWEST_BACKOFF_S", 0.0)
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    code, said, _ = ask(lambda request: Act(body=body))
    assert code == 4
    golden(said, "any/embedder", "broken_answer")
    assert measured(f"endpoint:{MODEL}") == {}


def test_a_key_that_is_refused_stops_at_once_and_is_not_shown(retold, measured, ask, golden):
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    code, said, requests = ask(lambda request: error(401, f"bad key {KEY}"))
    assert (code, len(requests)) == (4, 1)
    golden(said)
    assert KEY not in said
    assert measured(f"endpoint:{MODEL}") == {}


def test_an_endpoint_without_a_model_is_told_to_name_one(retold, ask):
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    code, said, requests = ask(model="embedder")
    assert (code, requests) == (2, [])
    assert "give --model VENDOR/NAME" in said


def test_two_models_are_two_instruments(retold, ask, query):
    retold({"t1": ("i", "Good battery")}, {"i": TEXT})
    ask()
    ask(model="any/other")
    instruments = query("select distinct instrument from raw.measurements order by all")
    assert instruments == [("endpoint:any/embedder",), ("endpoint:any/other",)]
