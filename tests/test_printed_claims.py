"""The ledger of document C, which publishes no data: what follows from other numbers that it prints."""

import re
import shutil
from collections import Counter

import duckdb
import pytest

from analysis.claims.derivations import derive, derive_range, printed_interval
from analysis.claims.papers import read_papers
from tests.tools.readme import of_ledger, of_readme

OF_TABLES = "kind = 'value' and regexp_full_match(location, 'Table \\w+')"

# of the 92 numbers of the tables that follow from others, those that do not: printed, and what follows
WRONG_IN_TABLES = {
    "C-T1-Qwen3-frame/MediaSum": (45.9, 44.9),
    "C-T1-Gemma-3-frame/MediaSum": (41.9, 41.5),
    "C-T1-Qwen3-frame/Amazon": (27.8, 24.9),
    "C-T1-Gemma-3-frame/Amazon": (26.5, 23.6),
    "C-A4-Gemma-3-p/MediaSum": (1.01e-101, 8.41e-102),
}
WRONG_IN_TEXT = {
    "C-S0-purchase": (32, 60.0),
    "C-S1-purchase": (32, 60.0),
    "C-S7.1-framing-first/most": (16, 24.8),
    "C-S7.1-framing-others/least": (26.5, 26.2),
    "C-S7.1-neutral-negative-first/least": (7.3, 7.7),
    "C-S7.3-Llama-3.2-3B-strict/post": (13, 15),
    "C-S7.3-Llama-3.2-3B-delta": (6, 4),
    "C-S7.4.3-prompt_calibration-falsified/post": (40, 42),
}
RIGHT_IN_TEXT = {
    "C-S0-framing": 26.42,
    "C-S0-primacy": 10.12,
    "C-S0-hallucination": 60.33,
    "C-S8-chi-squared": 78,
    "C-S9-methods": 18,
    "C-S7.4.1-mirostat-change": 1.2,
    "C-S7.4.3-prompt_calibration-falsified/pre": 40,
    "C-S8-n": 72,
}
# what a sentence comes to, and the two things that are said of it
SENTENCES = {
    "C-A4-Phi-3-possible": (0.105, "no", "other_way"),
    "C-A5-significant": (0, "yes", None),
    "C-A6-baselines/psi": (89, "no", "other_way"),
    "C-A6-baselines/similarity": (87, "no", "other_way"),
    "C-S0-effective/frame": (27, "no", "confounded"),
    "C-S0-effective/psi": (1, "no", "confounded"),
    "C-S5-fits/Amazon": (3169, "yes", "not_applicable"),
    "C-S5-fits/MediaSum": (2924, "yes", "not_applicable"),
    "C-S7.2-significant": (0, "yes", None),
    "C-S7.3-decrease": (0, "yes", None),
    "C-S7.4.1-mirostat-only/all": (1, "yes", "confounded"),
    "C-S7.4.1-mirostat-only/lowers": (-1.2, "yes", "confounded"),
    "C-S7.4.1-mirostat-only/others": (0, "yes", "confounded"),
    "C-S7.4.2-self_awareness-best": (0, "yes", None),
    "C-S7.4.2-weighted_tokens-best": (0, "yes", None),
    "C-S7.4.3-epistemic-balanced": (51, "yes", None),
    "C-S7.4.3-epistemic-best": (5, "no", "other_way"),
    "C-S9-epistemic": (2, "yes", None),
    "C-S9-mirostat/frame": (2, "no", "confounded"),
    "C-S9-mirostat/psi": (1, "no", "confounded"),
    "C-S9-weighted_summaries/frame": (1, "no", "confounded"),
    "C-S9-weighted_summaries/psi": (0, "no", "confounded"),
    "C-T1c-significant": (0, "yes", None),
}


def checks(warehouse, where="true"):
    """From claim and part to printed and recomputed number, what is said of it, and what is recommended."""
    rows = warehouse.query(
        "select concat_ws('/', claim_id, part), published_value, recomputed_value, recomputes, holds, "
        f"recommended_value from marts.claim_checks where document = 'C' and {where}"
    )
    return {claim: tuple(row) for claim, *row in rows}


def counts(warehouse):
    return Counter(recomputes for _, _, recomputes, *_ in checks(warehouse, OF_TABLES).values())


def test_of_856_numbers_in_the_tables_92_follow_from_others_and_87_recompute(simulated):
    assert counts(simulated) == {"yes": 87, "no": 5, "not_derivable": 764}


@pytest.mark.parametrize(("where", "wrong"), [(OF_TABLES, WRONG_IN_TABLES), (f"not ({OF_TABLES})", WRONG_IN_TEXT)])
def test_the_numbers_that_do_not_recompute_are_these(simulated, where, wrong):
    found = {
        claim: (printed, pytest.approx(value, rel=2e-3))
        for claim, (printed, value, *_) in checks(
            simulated, f"kind = 'value' and recomputes = 'no' and {where}"
        ).items()
    }
    assert found == wrong


@pytest.mark.parametrize("claim", RIGHT_IN_TEXT)
def test_a_number_of_the_text_recomputes(simulated, claim):
    printed, value, recomputes, *_ = checks(simulated)[claim]
    assert (printed, recomputes) == (RIGHT_IN_TEXT[claim], "yes")
    assert value == pytest.approx(printed, rel=0.03)


def test_hallucinations_recompute_from_actual_news_and_are_elsewhere_by_the_strict_accuracy(simulated):
    _, value, recomputes, holds, recommended = checks(simulated)["C-S0-hallucination"]
    assert (recomputes, holds) == ("yes", "other_way")
    assert (value, recommended) == pytest.approx((100 - (75 + 35 + 9) / 3, 100 - (21 + 15 + 8) / 3))


def test_each_sentence_comes_to_what_the_tables_give_and_has_its_two_verdicts(simulated):
    found = {
        claim: (pytest.approx(value, abs=1e-3), recomputes, holds)
        for claim, (_, value, recomputes, holds, _) in checks(simulated, "kind = 'sentence'").items()
    }
    assert found == SENTENCES


def test_what_the_notes_say_of_other_computations_is_so():
    # Gemma on MediaSum: the printed p needs another number of texts
    assert derive("p_of_t", [24.1413, 995]) == pytest.approx(1.01e-101, rel=5e-3)
    # 293 and 183 of 350 choices: with the correction of Yates, or without
    assert derive("chi_squared_yates", [293, 57, 183, 167]) == pytest.approx(78, abs=0.5)
    assert derive("chi_squared", [293, 57, 183, 167]) == pytest.approx(79.44, abs=0.005)
    assert derive("difference", [83.7, 52.3]) == pytest.approx(31.4)
    assert round(83.7 / 52.3, 2) == 1.60
    # Phi-3 on MediaSum: the means are rounded to three digits
    means = [printed_interval(mean, 3) for mean in (0.828, 0.827)]
    _, most = derive_range("most_percent_with_primacy", [*means, (19.9294, 19.9294), (1000, 1000)])
    assert round(most, 2) == 0.44


def test_every_claim_that_cannot_be_derived_says_why(simulated):
    silent = "document = 'C' and recomputes = 'not_derivable' and why is null"
    assert simulated.query(f"select claim_id from marts.claim_checks where {silent}") == []
    assert "not_checked" not in {recomputes for _, _, recomputes, *_ in checks(simulated).values()}


@pytest.mark.parametrize(
    ("changed", "printed", "flips"),
    [
        # 1 % more of Table 2 is 14.9 + 1, and no longer what Table 1 prints
        ("C-T2-Llama-3.2-3B-neutral-positive/Amazon", 2.8, {"C-T1-Llama-3.2-3B-frame/Amazon"}),
        # with 44.9 % in Table 1 that number is right, and its repetition in the ranges of the text is not
        (
            "C-T1-Qwen3-frame/MediaSum",
            44.9,
            {"C-T1-Qwen3-frame/MediaSum", "C-S0-framing", "C-S1-framing", "C-S9-framing", "C-S7.1-framing-others/most"},
        ),
        # 60.0 % said with high confidence leave 40 %
        ("C-T6-Phi-3-actual-high/pre", 60.0, {"C-T6-Phi-3-actual-low/pre"}),
        # of t = 18.3 p is another
        ("C-A4-Phi-3-t/Amazon", 18.3, {"C-A4-Phi-3-p/Amazon"}),
        # with 13 % after the cutoff all that the text says of Llama-3.2 is right, and what it says of all three is not
        (
            "C-T4-Llama-3.2-3B-baseline-strict/post",
            13,
            {
                "C-S7.3-Llama-3.2-3B-strict/post", "C-S7.3-Llama-3.2-3B-delta",
                "C-S7.4.3-Llama-3.2-3B-epistemic-strict/post",
            },
        ),
    ],
)  # fmt: skip
@pytest.mark.slow("dbt makes the claims once more for each")
def test_a_printed_input_that_changes_flips_its_claim_and_no_other(
    simulated, warehouse_in, tmp_path, changed, printed, flips
):
    warehouse = warehouse_in(shutil.copytree(simulated.path.parent, tmp_path / "again"))
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute(
            "update claims.published_claims set published_value = ? where concat_ws('/', claim_id, part) = ?",
            [printed, changed],
        )
    warehouse.dbt("--quiet", "run", "--select", "int_claims_derived", "claim_checks")
    before, after = checks(simulated), checks(warehouse)
    assert {claim for claim, (*_, of, _, _) in before.items() if after[claim][2] != of} == flips


def test_the_command_says_of_document_c_in_one_paragraph_what_its_numbers_say_of_each_other(simulated):
    said = " ".join(simulated.bais("claims", "--document", "C").split())
    assert (
        "Document C rests on printed numbers alone: 929 numbers (in 959 places), of which 129 recompute, 12 do not "
        "recompute and 788 cannot be derived; 21 sentences (in 23 places), of which 11 recompute and 10 do not "
        "recompute; of the 14 that can be judged 5 are the other way, unsure (by the estimate alone) and 9 "
        "compare unlike conditions. Why 788 cannot be derived: the paper publishes neither its texts nor what the LLMs "
        "wrote, so that this number can only be quoted (767); the answers of the people were never published, so that "
        "this number can only be quoted (13); nothing that the paper prints could give this number: it can only be "
        "quoted (8). Farthest off: How much more often people choose a product "
        "after its summary than after its review (Abstract): printed 32 %, but the other printed numbers give 60.0 %; "
    ) in said
    assert "could not be judged" not in said


def test_a_p_value_too_small_to_write_out_is_shown_with_its_power_of_ten(simulated):
    said = simulated.bais("claims", "C-A4-Gemma-3-p/MediaSum")
    assert re.search(r"printed +1\.01e-101\n", said)
    assert "give 8.41e-102, not 1.01e-101." in " ".join(said.split())


def test_the_readme_says_of_document_c_what_the_ledger_says(simulated):
    assert of_readme("C") == of_ledger(simulated, "C")


def test_no_claim_of_document_c_names_a_study_and_all_derive_from_print():
    rows = [claim for claim in read_papers()[1] if claim["document"] == "C"]
    assert {row["study"] for row in rows} == {None}
    assert {(bool(row["derivation"]), row["inputs_are"], bool(row["not_derivable"])) for row in rows} == {
        (True, "printed", False), (False, None, True),
    }  # fmt: skip
