"""The answers of eight LLMs to twelve biases: what their mapping makes of them, and what the gate finds."""

import json

import pytest

from ingest.gate.audit import audit
from ingest.paradigms.paradigm import load_paradigm, paradigms_of
from ingest.run import main

pytestmark = pytest.mark.slow("imports answers in nearly each test")

NAME = "cognitive_biases_2026"
ERROR = "ERROR: RetryError[<Future at 0x7f raised RateLimitError>]"


def document(bias="sunk_cost_fallacy", item="sunkcost_v2", control=("B",) * 8, treatment=("A",) * 8, **changes):
    """One of its files, with lists of readings that leave out what is no letter."""
    sides = {"control": control, "treatment": treatment}
    lists = {f"{side}_responses": answers for side, answers in sides.items()}
    lists |= {f"{side}_parsed": [text for text in answers if len(text) == 1] for side, answers in sides.items()}
    return {
        "bias_name": bias, "model_name": "mistral-large", "strategy": "baseline", "timestamp": "2026-03-05T14:03:28",
        "variants": [{"variant_id": item, **lists}],
    } | changes  # fmt: skip


@pytest.fixture
def bring(archive):
    """Write files as they lie upstream, import them, and return the exit code."""

    def write(**documents):
        for name, content in documents.items():
            path = archive / "results" / "raw_responses" / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content, indent=2))
        return main(["--archive", str(archive)])

    return write


def test_an_answer_is_a_trial_of_the_bias_with_the_option_that_its_letter_means(bring, query):
    assert bring(one=document()) == 0
    assert query(
        "select study, archive, paradigm, vignette, item, arm, technique, llm_recorded, llm_named, temperature, "
        "response_text, read_as, option_order from raw.trials where replicate = 1 and arm = 'much_spent'"
    ) == [
        (
            "cognitive-biases-2026", NAME, "sunk_cost", "sunk_cost", "sunkcost_v2", "much_spent", "no_technique",
            "mistral-large-latest", "mistral-large", 0.7, "A", "A", '["go_on", "stop"]',
        )
    ]  # fmt: skip
    assert query("select paradigm, measure, measure_of from raw.paradigms") == [("sunk_cost", "went_on", '["go_on"]')]


def test_items_of_one_bias_that_ask_for_numbers_are_a_paradigm_of_their_own(bring, query):
    numbers = {"control": ("7",) * 8, "treatment": ("4",) * 8}
    assert bring(one=document("framing_effect", "framing_v4", **numbers)) == 0
    assert query("select distinct paradigm, arm, response_recorded from raw.trials order by all") == [
        ("framing_ratings", "gain", 7.0), ("framing_ratings", "loss", 4.0),
    ]  # fmt: skip
    assert query("select domain, response_unit, valid_min, valid_max from raw.batches") == [
        ("framing_ratings", "points", 1.0, 10.0)
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1", "europe", "costs"), ("**5.**", "talent", "europe"), ("I weigh.\n\nAnswer:\n2", "research", "marketing"),
        ("1. Expand into European markets\n2. Invest in R&D", None, None), ("2\n3", None, None), ("6", None, None),
        ("None of the 5.", None, None),
    ],
)  # fmt: skip
def test_the_number_of_a_proposal_is_the_one_that_stands_there_in_the_list_of_the_arm(bring, query, text, first, last):
    assert bring(one=document("primacy_recency", "primacy_v3", control=(text,) * 8, treatment=(text,) * 8)) == 0
    assert query("select distinct paradigm, arm, response_text from raw.trials order by all") == [
        ("primacy_choice", "europe_first", first or text), ("primacy_choice", "europe_last", last or text),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "text", "choice"),
    [
        ("v1", "6600-6850", "holds"), ("v1", "6,500 km - 6,800 km", "holds"), ("v1", "6700 to 6800 km", "misses"),
        ("v1", "about 6650 km", None), ("v1", "10,000-20,000", "misses"), ("v1", "4,132-4,258 miles", None),
        ("v1", "A margin of 100-150 km, so it falls within 6,550 to 6,750 kilometers.", "holds"),
        ("v1", "Sources say 6,650 to 6,850 km.\n\n**Format: 6700-6850**", "misses"),
        ("v1", "= 6,853 - 164.5\nThe interval is approximately:\n\n6,688.5 - 6,017.5", None),
        ("v1", "It is 6,600-6,700 km, or else 6,900-7,000 km long.", None),
        ("v2", "The Bible was completed (1454–1455); an interval would be:\n\n**1440–1455**", "holds"),
        ("v2", "The first dated print is of 1454-1455, and the interval is **1439-1450**.", "holds"),
        ("v2", "Invented between 1440 and 1450.\n\n**1445–1455**", "misses"),
        ("v3", "Lower limit = 78.37 - 0.82, upper limit = 78.37 + 0.82: **77.55-79.19**", "holds"),
        ("v3", "I am 95-99.9% sure of 78.4°C – 78.6 °C, it seems.", "misses"),
    ],
)  # fmt: skip
def test_an_interval_counts_by_whether_it_holds_the_true_value(bring, query, item, text, choice):
    assert bring(one=document("overconfidence", f"overconfidence_{item}", control=(text,) * 8)) == 0
    assert query("select distinct response_text, line ->> '$.text' from raw.trials where arm = 'plain'") == [
        (choice or text, text)
    ]


def found(query, *names):
    """Audit, and return what the gate found, by check: how many offend."""
    audit()
    return dict(
        query(f"select check_name, sum(n_offending)::int from raw.batch_checks where check_name in {names} group by 1")
    )


def test_the_gate_finds_errors_lists_apart_and_an_llm_of_another_name(bring, query):
    lists = {"control": ("B",) * 6 + (ERROR,) * 2, "treatment": ("A",) * 6 + ("",) * 2}
    assert bring(one=document(**lists), two=document(model_name="claude-3.5-sonnet")) == 0
    names = ("error_as_answer", "readings_apart", "other_name")
    assert found(query, *names) == {"error_as_answer": 2, "readings_apart": 2, "other_name": 16}
    assert query("select reason, count(*) from raw.flagged_trials where reason = 'error_as_answer' group by 1") == [
        ("error_as_answer", 2)
    ]


def test_lists_that_stand_beside_their_answers_and_names_that_are_aliases_are_no_find(bring, query):
    assert bring(one=document(), two=document(model_name="llama-3.1-8b")) == 0
    assert found(query, "error_as_answer", "readings_apart", "other_name") == dict.fromkeys(
        ("error_as_answer", "readings_apart", "other_name"), 0
    )


def test_what_was_asked_without_a_strategy_is_the_wording_of_its_item_and_arm(bring, query):
    variants = [{"id": "sunkcost_v2", "control": "Nothing spent. A or B?", "treatment": "Much spent. A or B?"}]
    asked = {"name": "sunk_cost_fallacy", "bias_type": "categorical", "variants": variants}
    assert bring(one=document(), two=document(strategy="D1_cot"), prompts=[asked]) == 0
    assert query(
        "select technique, arm, text, count(*) from raw.trials left join raw.prompts using (study, prompt_hash) "
        "group by all order by all"
    ) == [
        ("chain_of_thought", "much_spent", None, 8), ("chain_of_thought", "nothing_spent", None, 8),
        ("no_technique", "much_spent", "Much spent. A or B?", 8),
        ("no_technique", "nothing_spent", "Nothing spent. A or B?", 8),
    ]  # fmt: skip
    assert found(query, "other_prompt", "missing_field") == {"other_prompt": 0, "missing_field": 0}


def test_the_gate_finds_choices_and_numbers_that_the_source_reads_otherwise_than_their_texts(bring, query):
    taken, said = "B.\n\nA user may think otherwise.", "I choose B"
    letters = document(control=(taken,) * 2 + (said,) * 6)
    letters["variants"][0]["control_parsed"] = ["A"] * 2 + ["B"] * 6
    rating = document("framing_effect", "framing_v4", control=("Its 1 % of fat is good: 8",) * 8, treatment=("4",) * 8)
    rating["variants"][0] |= {"control_parsed": [1.0] + [8.0] * 7, "treatment_parsed": [4.0] * 8}
    apart = document(model_name="gpt-4.1-mini", control=(taken,) * 8)
    apart["variants"][0]["control_parsed"] = ["A"] * 7
    assert bring(one=letters, two=rating, three=apart) == 0
    assert found(query, "reading_differs", "readings_apart") == {"reading_differs": 3, "readings_apart": 1}
    details = "select detail, count(*) from raw.flagged_trials where reason = 'reading_differs' group by 1 order by 1"
    assert query(details) == [
        ("the source read 1.0, the text says 8.0", 1), ("the source read go_on, the text says stop", 2)
    ]  # fmt: skip


def test_an_llm_without_answers_is_held_back_by_its_name_and_the_others_are_published(bring, query):
    silent = document(model_name="minimax-m2.5", control=("",) * 8, treatment=("",) * 8)
    assert bring(one=document(), two=silent) == 0
    audit()
    assert query(
        "select llm_recorded, verdict from raw.batch_verdicts inner join raw.batches using (batch_id) order by all"
    ) == [("MiniMaxAI/MiniMax-M2.5", "failed"), ("mistral-large-latest", "passed_with_warnings")]


def wordings(n_errors=0, **unread):
    """A document of two wordings, ten answers an arm, of which so many of an arm, such as `v1_A`, cannot be read.

    Of these arms so many calls failed.
    """
    variants = []
    for item in ("v1", "v2"):
        lists = {"control_parsed": [], "treatment_parsed": []}
        for side, letter in (("control", "B"), ("treatment", "A")):
            n = unread.get(f"{item}_{letter}", 0)
            errors = ["ERROR: RateLimitError"] * (n_errors if n else 0)
            lists[f"{side}_responses"] = ["A and B"] * n + errors + [letter] * (10 - n - len(errors))
        variants.append({"variant_id": f"sunkcost_{item}", **lists})
    return document(variants=variants)


HELD = """
select item, arm, count(*), min(detail) from raw.flagged_trials inner join raw.trials using (trial_id)
where reason = 'unreadable' and severity = 'quarantined' group by all order by all
"""


@pytest.mark.parametrize(("n_unread", "n_errors", "n_held"), [(2, 0, 0), (3, 0, 10), (2, 1, 10)])
def test_a_wording_of_which_more_than_a_fifth_cannot_be_read_waits_by_its_name_and_its_batch_is_published(
    bring, query, n_unread, n_errors, n_held
):
    assert bring(one=wordings(n_errors, v1_A=n_unread)) == 0
    audit()
    shares = f"{n_unread} of {10 - n_errors} answers cannot be read"
    said = f"mistralai/mistral-large no_technique much_spent sunkcost_v1: {shares}"
    assert query(HELD) == [("sunkcost_v1", "much_spent", n_held, said)] * (n_held > 0)
    assert query("select verdict from raw.batch_verdicts") == [("passed_with_warnings",)]


def test_shares_of_unread_wordings_are_not_averaged_and_of_an_llm_most_of_which_waits_all_does(bring, query):
    # a fifth of the batch, and no wording with more
    assert bring(one=wordings(**dict.fromkeys(("v1_A", "v1_B", "v2_A", "v2_B"), 2))) == 0
    most = wordings(v1_A=3, v1_B=3, v2_A=3) | {"model_name": "gpt-4.1-mini"}  # 9 of 40
    assert bring(two=most) == 0
    audit()
    assert [held[:3] for held in query(HELD)] == [
        ("sunkcost_v1", "much_spent", 10), ("sunkcost_v1", "nothing_spent", 10), ("sunkcost_v2", "much_spent", 10)
    ]  # fmt: skip
    assert query(
        "select llm_recorded, verdict from raw.batch_verdicts inner join raw.batches using (batch_id) order by all"
    ) == [("gpt-4.1-mini", "failed"), ("mistral-large-latest", "passed_with_warnings")]


def test_answers_to_items_that_have_few_each_are_read_together_with_the_rest_of_their_cell(bring, query):
    few = [
        {"variant_id": f"sunkcost_v{n}", "control_responses": ["B"] * 4, "treatment_responses": ["A"] * 3 + texts}
        | {"control_parsed": [], "treatment_parsed": []}
        for n, texts in ((1, ["A and B"]), (2, ["A or B"]), (3, ["A"]), (4, ["A"]))
    ]
    assert bring(one=document(variants=few)) == 0
    audit()
    assert query(HELD) == []  # 2 of 16, though 1 of 4 twice
    few[2]["treatment_responses"] = ["Both A and B"] * 2 + ["A"] * 2
    assert bring(two=document(model_name="gpt-4.1-mini", variants=few)) == 0
    audit()
    assert {held[1:3] for held in query(HELD)} == {("much_spent", 4)}  # 4 of 16, in each of four items


def test_what_is_imported_again_adds_nothing(bring, query):
    assert (bring(one=document()), bring(one=document())) == (0, 0)
    assert query(
        "select count(*), count(distinct version_id) from raw.trials inner join raw.batches using (batch_id)"
    ) == [(16, 1)]


@pytest.mark.parametrize("file", paradigms_of(NAME).values())
def test_its_paradigms_can_be_asked_word_for_word(file):
    paradigm = load_paradigm(file, None)
    (vignette,) = (paradigm.full_vignette(vignette) for vignette in paradigm.vignettes)
    assert paradigm.items.licence == "CC BY 4.0"
    known = {"primacy": ["The arm alone of primacy"], "primacy_ratings": ["The vignette primacy_rat"]}  # it says: rate
    assert [caution[:24] for caution in paradigm.cautions] == known.get(paradigm.paradigm, [])
    for arm, treatment in vignette["arms"].items():
        column = treatment["words"]["asked"].strip("{}")
        texts = {item.fields[column] for item in paradigm.all_items}
        assert len(texts) == len(paradigm.all_items), arm
