"""From an endpoint that names its most likely tokens to the mean answer under them."""

import math

import pytest

from tests.ingest.endpoint import Endpoint, answer, study_at

pytestmark = pytest.mark.slow("collects a study and builds its tables")

ROWS = """
select llm, anchor_direction, scoring, variation, question, anchor, n_trials, n_trials_read, n_targets, reason
from papers.soft_expectations where evidence_from = 'api_top_k' order by llm, anchor_direction
"""
ON_LOW = {" 10": 0.5, " 20": 0.3, " 30": 0.1}
ON_HIGH = {" 20": 0.3, " 40.5": 0.6}


def token(text, probability, others):
    """One token of an answer as OpenAI writes it."""
    top = [{"token": other, "logprob": math.log(p), "bytes": None} for other, p in others.items()]
    return {"token": text, "logprob": math.log(probability), "bytes": None, "top_logprobs": top}


def decide(request):
    """Answer 20 and name other numbers; one LLM writes it as two tokens, one without log-probabilities."""
    on = ON_LOW if "3 months" in str(request.messages) else ON_HIGH
    contents = {
        "any/model": [token("Answer:", 1, {}), token(" 20", 0.3, on)],
        "any/digits": [token("Answer:", 1, {}), token(" 2", 1, {" 2": 1}), token("0", 0.3, {"0": 0.9})],
        "any/silent": None,
    }
    if request.model == "any/refusing":
        return answer(request, "I cannot recommend a sentence.", choice={"logprobs": {"content": [token("I", 1, {})]}})
    content = contents[request.model]
    return answer(request, "Answer: 20", choice={"logprobs": content and {"content": content}})


@pytest.fixture(scope="module")
def collected(warehouse_in, tmp_path_factory):
    folder = tmp_path_factory.mktemp("top_answers")
    warehouse = warehouse_in(folder)
    asked = ["model", "digits", "silent", "refusing"]
    llms = [{"llm": f"any/{name}", "top_logprobs": 5} for name in asked] + ["any/model-unasked"]
    with pytest.MonkeyPatch.context() as patch, Endpoint(lambda request: _of_any(request)) as endpoint:
        patch.setenv("OPENAI_API_KEY", "sk-of-the-tests")
        path = folder / "tokens.yaml"
        path.write_text(study_at(endpoint.url, n=3, study="tokens", llms=llms, temperatures=[0.7]), encoding="utf-8")
        warehouse.land(path)
    warehouse.dbt("--quiet", "build", "--select", "+soft_expectations", "--exclude-resource-types", "unit_test", "test")
    warehouse.dbt("--quiet", "test", "--select", "soft_expectations", "--exclude-resource-types", "unit_test")
    return warehouse


def _of_any(request):
    return answer(request, "Answer: 20") if request.model == "any/model-unasked" else decide(request)


def test_each_condition_that_was_asked_for_log_probabilities_has_a_row_with_a_number_or_a_reason(collected):
    why = {"any/digits": "several_tokens", "any/refusing": "not_answered", "any/silent": "no_log_probabilities"}
    rows = collected.query(ROWS)
    assert rows == [
        (llm, direction, f"{llm}@0.7", "burglary/talk", "burglary", anchor, 3, read, n, reason)
        for llm in ("any/digits", "any/model", "any/refusing", "any/silent")
        for direction, anchor in (("high", 9), ("low", 3))
        for read, n, reason in [
            (3, 3 if direction == "low" else 2, None if direction == "low" else "not_on_targets")
            if llm == "any/model"
            else (0, 0, why[llm])
        ]
    ]


def test_the_expectation_is_that_of_the_tokens_and_not_of_the_answers(collected):
    found = collected.query(
        "select anchor_direction, soft_ev, missing_mass, band_low < soft_ev and soft_ev < band_high, response_unit "
        "from papers.soft_expectations where llm = 'any/model' order by 1"
    )
    (high, high_ev, high_missing, in_high, unit), (low, low_ev, low_missing, in_low, _) = found
    assert (high, low, in_high, in_low, unit) == ("high", "low", None, True, "months")
    assert low_ev == pytest.approx((5 + 6 + 3) / 0.9, abs=1e-9)
    assert high_ev == pytest.approx((6 + 0.6 * 40.5) / 0.9, abs=1e-9)
    assert (low_missing, high_missing) == pytest.approx((0.1, 0.1), abs=1e-9)


def test_what_has_no_value_is_null_and_not_0(collected):
    nulls = "select count(coalesce(soft_ev, band_low, band_high)) from papers.soft_expectations where n_trials_read = 0"
    assert collected.query(nulls) == [(0,)]
