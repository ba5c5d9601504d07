"""`bais recommend --paradigm`: what it says of a bias and of techniques."""

import contextlib
import json
import re
from types import SimpleNamespace

import duckdb
import pytest

from analysis.report.biases import Bias, Effect, matrices, on_one_scale, sections_on_biases
from analysis.report.studies import Study
from analysis.words.advice import headline, verdict
from analysis.words.biases import ALL_UNSIGNED, headlines
from bais.evidence import evidence_by_paradigm, on_a_page
from bais.main import main
from tests.tools.contracts import fill, insert
from tests.tools.stand_ins import SAID_OF_UNREAD, leave_unread

BIAS = {
    "study": "s", "paradigm": "framing", "measure": "chose_sure", "instrument": None, "arm": "gain", "arm_b": "loss",
    "llm": None, "technique": "no_technique", "row_set": "accepted", "weighting": "llm", "level": "both",
    "value": 0.16, "low": 0.05, "high": 0.27, "p_holm": 0.012, "n_tests": 2, "sd_of_items": 0.1, "p_items_alike": 0.4,
    "n_llms": 6, "n_items": 40, "n_trials": 960,
    "reason": None, "is_headline": True,
}  # fmt: skip
DECISION = {
    "study": "s", "paradigm": "framing", "measure": "chose_sure", "instrument": None, "arm": "gain", "arm_b": "loss",
    "llm": None,
    "technique": "sacd", "control": "no_technique", "comparison": "control", "loss": 0.02, "loss_control": 0.16,
    "gain": 0.14, "gain_low": 0.1, "gain_high": 0.18, "gain_squared": 0.0252,
    "decision": "use", "decision_llms": "use", "n_vendors": 6, "n_cases": 40, "n_families": 1,
    "certainty": "established", "n_reversed": 0, "margin": 0.05, "n_llms": 6, "n_trials": 1920, "reason": None,
    "goal": "bias", "n_gained": 5, "n_helped": 1, "n_own_prompt": 0, "n_harmed": 0, "n_comparisons": 1,
}  # fmt: skip
OTHER = {"llm": "vendor/other", "level": "items", "is_headline": False, "value": -0.3, "low": -0.4, "high": -0.2}
OWN = DECISION | {
    "llm": "vendor/other", "gain": 0.25, "gain_low": 0.2, "gain_high": 0.3, "decision": "use", "decision_llms": None,
    "certainty": "one_llm", "n_vendors": 1, "n_comparisons": 2, "n_reversed": 1,
}  # fmt: skip
KEY = {key: DECISION[key] for key in ("study", "paradigm", "measure", "instrument", "arm", "arm_b", "technique")}
PREDICTION = {
    **KEY, "goal": "bias", "llm": None, "control": "no_technique", "expected_loss": 0.02, "gain": 0.12,
    "gain_low": -0.02, "gain_high": 0.26, "p_better_than_control": 0.93, "n_llms": 6, "reason": None,
}  # fmt: skip
RECOMMENDED = {
    **KEY, "goal": "bias", "control": "no_technique", "comparison": "control", "interval_decision": "use",
    "switch": "recommended",
    "excluded_llm": None, "row_set": "accepted", "refusals": "left_out", "is_recommended": True, "n_same_decision": 9,
    "n_specifications": 9, "n_left_out": 6, "n_left_out_same": 6, "carried_by": None,
}  # fmt: skip
# what a study declares of its measures
MEASURES = [
    # measure, better, reference, answer_kind, counted_labels, measured_from
    ("chose_sure", "closer_to_reference", None, "choice", ["sure"], "answer"),
    ("took_risk", "closer_to_reference", None, "choice", ["risky"], "answer"),
    ("coverage", "higher", None, "text", None, "measurement"),
    ("primacy_margin", "closer_to_reference", 0.25, "text", None, "measurement"),
    ("strict_correct", "higher", 1, "label", None, "answer"),
    ("minutes", "lower", None, "number", None, "answer"),
    ("framing_changed", "lower", 0, "text", None, "judgement"),
]
ASKED = {"study": "s", "paradigm": "framing", "llm": "vendor/a"}
ASKED_OTHER = ASKED | {"llm": "vendor/other", "vignette": "v"}
CHANGED = ASKED | {"change": "withdrawn", "why": "a wrong key", "n_trials": 3}
COVERAGE = {"measure": "coverage", "instrument": "tfidf", "arm": "asked", "arm_b": None}


def words(leading):
    """What measures are declared, one of which leads (those of texts never do), and what a technique is called."""
    measures = [
        {
            "study": "s", "paradigm": "framing", "measure": measure, "better": better, "reference": reference,
            "margin": 0.05, "answer_kind": kind, "counted_labels": labels, "measured_from": source,
            "is_leading": measure == leading and source != "measurement",
        }
        for measure, better, reference, kind, labels, source in MEASURES
    ]  # fmt: skip
    return {
        "staging.stg_paradigms": measures,
        "seeds.techniques": [{"technique": "sacd", "display_name": "SACD"}],
    }


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run `bais recommend --paradigm framing --json` on biases and decisions, and return its sentences.

    With `see` what is printed for a person, with --json all of it, and where a failure is expected the complaint.
    """

    def run(
        *arguments, biases=(BIAS,), decisions=(DECISION,), turned=(), sources=("recorded",), corrected=(), leading=None,
        changed=(), open_still=(), expect=0, see=None, beside=(),
    ):  # fmt: skip
        path = tmp_path / "some.duckdb"
        path.unlink(missing_ok=True)
        with contextlib.closing(duckdb.connect(str(path))) as warehouse:
            tables = words(leading or biases[0]["measure"]) | {
                "seeds.llms": [],
                "seeds.llm_aliases": [{"alias": "other", "llm": "vendor/other"}],
                "seeds.routers": [],
                "marts.trials": [ASKED_OTHER | {"source": source} for source in sources],
                "marts.effects": [],
                "marts.technique_costs": [],
                "marts.attrition": [{**ASKED, "n_asked": n} for n in (60, 37)],
                "marts.post_hoc_changes": changed or [CHANGED | {"paradigm": "another"}],
                "inference.outcome_contrasts": [BIAS | OTHER, BIAS | OTHER | {"llm": "vendor/a"}, *biases],
                "inference.decisions": [*decisions, OWN],
                "inference.multiverse": turned or [RECOMMENDED],
                "inference.power": open_still,
                "inference.predictions": [
                    PREDICTION, PREDICTION | {"llm": "vendor/other", "p_better_than_control": 0.88},
                ],
            }  # fmt: skip
            fill(warehouse, tables | dict(beside) | ({"content.framing_changes": corrected} if corrected else {}))
        monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
        form = ["--json"] if see is None else see
        assert main(["recommend", "--paradigm", "framing", *dict.fromkeys([*arguments, *form])]) == expect
        printed = capsys.readouterr()
        if expect or see is not None or "--json" in arguments:
            return printed.err if expect else printed.out
        return "\n".join(of["text"] for of in json.loads(printed.out)["sentences"])

    return run


def held_back(technique, n_asked=30):
    """Return the tables of a warehouse in which one LLM has ten answers with a technique, none of them published."""
    counts = {"n_held_back": 10, "n_counted": n_asked - 10, "n_commonest_unread": 0}
    others = ("rejected", "withdrawn", "unparsed", "refused", "out_of_range", "failed")
    place = {"study": "s", "paradigm": "framing", "domain": "d"}
    trial = place | {"llm": "vendor/kept", "technique": technique, "batch_id": "failed"}
    replaced = trial | {"trial_id": "replaced", "llm": "vendor/replaced"}
    published = trial | {"trial_id": "published", "llm": "vendor/a", "batch_id": "passed"}
    rejected = trial | {"trial_id": "rejected", "llm": "vendor/rejected", "batch_id": "rejected"}
    check = {"verdict_id": "v", "check_name": "no_answer", "level": "fail", "is_passed": False, "observed_value": 1}
    return {
        "marts.shortfalls": [place | {"n_asked": n_asked} | dict.fromkeys((f"n_{of}" for of in others), 0) | counts],
        "marts.quarantined_trials": [trial | {"trial_id": "single", "llm": "vendor/single"}],
        "intermediate.int_trials_read": [
            *(trial | {"trial_id": str(n)} for n in range(8)), replaced, published, rejected,
        ],
        "intermediate.int_trials_not_shown": [
            *({"trial_id": str(n), "fate": "held_back", "verdict_id": "v"} for n in range(8)),
            {"trial_id": "rejected", "fate": "rejected", "verdict_id": "r"},
        ],
        "intermediate.int_vendors": [],
        "raw.batch_checks": [check, check | {"check_name": "unparsed_of_batch", "level": "warn"}],
    }  # fmt: skip


def test_whose_answers_are_held_back_is_said_and_of_the_llm_asked_about_by_what(ask):
    tables = held_back("no_technique")
    whose = "10 of 30 answers are held back, of kept and single (`bais check` says why)."
    why = (
        "All answers of vendor/kept to this bias are held back: none of the trials has an answer. What is shown is of "
        "other LLMs."
    )
    about = {"decisions": (), "beside": tables}
    assert whose in " ".join(ask(see=[], **about).split())
    for see in ([], ["--why"]):
        said = " ".join(ask("--llm", "vendor/kept", see=see, **about).split())
        assert (whose in said, why in said) == (True, True)
    assert why in ask("--llm", "vendor/kept", **about)
    assert "All answers of" not in ask("--llm", "vendor/other", **about)
    unknown = ask("--llm", "vendor/unknown", **about)
    assert (
        "vendor/unknown was not tested (perhaps vendor/a or vendor/other). What is shown is of other LLMs." in unknown
    )


def test_techniques_of_which_every_answer_is_held_back_were_asked(ask):
    told = "framing: nothing is known of techniques: all answers with SACD, asked of kept and single, are held back."
    alone = {"decisions": (), "see": []}
    assert told in " ".join(ask(beside=held_back("sacd"), **alone).split())
    assert "framing: no technique was asked." in ask(beside=held_back("no_technique"), **alone)


def test_beside_people_it_is_said_how_many_llms_have_no_effect_since_their_answers_never_vary(ask):
    key = {"study": "s", "paradigm": "framing", "outcome": "chose_sure", "arm": "gain", "arm_b": "loss"}
    over = key | {
        "vignette": "v", "measure": "d", "leads": True, "n_llms": 1, "llm_estimate": 0.5, "human_estimate": 0.4,
        "human_low": 0.3, "human_high": 0.5, "human_question": "Q", "source": "S",
    }  # fmt: skip
    alike = over | {"llm_estimate": None, "reason": "zero_variance; no_human_effect", "leads": False}

    def said(*rows):
        return " ".join(ask(see=["--why"], beside={"marts.human_comparisons": rows}).split())

    two = [alike | {"llm": llm, "human_effect": effect} for llm in ("vendor/b", "vendor/c") for effect in "xy"]
    others = [alike | {"llm": "vendor/d", "measure": "r"}, alike | {"llm": "vendor/e", "reason": "not_asked"}]
    people = "People, by chose_sure: d = 0.4 (0.3 to 0.5; Q; S). "
    assert f"{people}One LLM: 0.5 (2 more are left out: the answers of each never vary)." in said(over, *two, *others)
    assert f"{people}One LLM: 0.5 (1 more is left out: its answers never vary)." in said(over, two[0])
    assert f"{people}These 3 LLMs, on average: 0.5." in said(over | {"n_llms": 3}, *others)


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (-0.3, 0.4, " Had every published trial been answered, it might be -30 to +40 points."),
        (0.02, 0.2, " Had every published trial been answered, it might be +2 to +20 points."),
        (0.06, 0.2, ""),
        (None, None, ""),
    ],
)
def test_answers_that_are_missing_and_might_take_a_bias_beyond_its_interval_are_told(ask, least, most, said):
    assert sentence(ask, value_least=least, value_most=most).endswith(f"40 items).{said}")


def test_of_an_interval_that_holds_0_what_is_missing_is_not_told(ask):
    assert "Had every published trial" not in sentence(ask, low=-0.1, value_least=-0.3, value_most=0.4)


@pytest.mark.parametrize(
    ("bias", "said"),
    [
        ({"low": -0.02, "high": 0.03}, "): no bias as large as 5 points, for "),
        ({"low": 0.01, "high": 0.03}, "): there is a bias, of less than 5 points, for "),
        ({"low": -0.02, "high": 0.05}, "): unclear whether there is a bias, for "),
        ({"low": -0.06, "high": 0.03}, "): unclear whether there is a bias, for "),
        ({"low": -0.02, "high": 0.03, "p_items_alike": 0.01}, "): unclear whether there is a bias, for "),
        ({"low": -0.02, "high": 0.03, "value_least": -0.1, "value_most": 0.1}, " it might be -10 to +10 points."),
        ({"low": -0.02, "high": 0.03, "value_least": 0, "value_most": 0.1}, "5 points by the answers that came, for "),
    ],
)
def test_a_bias_whose_interval_lies_within_the_margin_is_said_to_be_no_larger(ask, bias, said):
    assert said in sentence(ask, value=0.02, **bias)


def test_shares_of_what_differs_are_said_of_all_paradigms_in_one_sentence():
    share = {"measure": "changed", "answer_kind": "choice", "counted_labels": ["differs"], "is_leading": True}
    places = [
        SimpleNamespace(noun="LLM", paradigm=paradigm, biases=[BIAS | share | {"is_unsigned": True, "value": value}])
        for paradigm, value in (("availability", 0.09), ("anchoring", 0.06))
    ]
    told = "changed: without a technique the share of answers “differs” is 9 % in availability and 6 % in anchoring. "
    assert headlines(places) == [f"{told}{ALL_UNSIGNED}"]


def test_below_five_vendors_nothing_is_predicted_of_another_llm(ask):
    few = DECISION | {"certainty": "too_few_vendors", "n_vendors": 3, "decision": "no_evidence"}
    said = ask("--llm", "vendor/none", decisions=[few])
    told = "What vendor/none, not tested, would gain cannot be predicted: that takes LLMs of five vendors."
    assert (told in said, "as an LLM of a new vendor" in said) == (True, False)


def test_of_a_paradigm_with_goals_every_llm_with_answers_counts_as_tested_and_its_bias_is_told(ask):
    stated = [{"goal": "shift", "contrasts": [["gain", "loss"]], "distance_of": None, "leads": True}]
    (measure, *_) = words("chose_sure")["staging.stg_paradigms"]
    of = {"goal": "shift", "domain": "d"}
    few = DECISION | of | {"certainty": "too_few_vendors", "decision": "no_evidence", "n_llms": 1, "loss": 20}
    plain = few | {"technique": "no_technique", "control": None, "comparison": None, "loss": 32.4, "n_llms": 2}
    tables = {
        "staging.stg_paradigms": [measure | {"goals": json.dumps(stated), "relative_to": "loss"}],
        "marts.trials": [ASKED | {"domain": "d", "llm": llm} for llm in ("vendor/a", "vendor/other")],
        "inference.decisions": [few, plain, few | {"llm": "vendor/a"}],
        "inference.multiverse": [],
        "raw.batches": [],
        "inference.predictions": [],
    }
    said = " ".join(ask(see=[], beside=tables).split())
    alone = "nothing is established for LLMs like these: only one of the 2 tested can be compared"
    bias = "the share of answers “sure” is 16 points higher in gain than in loss (95 % interval of the difference"
    assert (alone in said, bias in said) == (True, True)
    in_full = " ".join(ask(see=["--why"], beside=tables).split())
    assert "With a plain prompt, shift over 2 LLMs is 32.4 % of the mean answer in loss" in in_full
    assert bias in in_full


def test_where_several_comparisons_lead_a_prediction_names_its_own(ask):
    instruments = [{"instrument": name} for name in ("judge_1", "judge_5")]
    said = ask(
        "--llm", "vendor/none", biases=[BIAS | of for of in instruments],
        decisions=[DECISION | of for of in instruments],
        beside={"inference.predictions": [PREDICTION | of for of in instruments]},
    )  # fmt: skip
    for name in ("judge_1", "judge_5"):
        assert f"as an LLM of a new vendor, by chose_sure ({name}; gain less loss): SACD beats" in said


def test_of_design_effects_that_were_assumed_the_larger_one_is_told_and_which_that_is(ask, capsys):
    instruments = [{"instrument": f"design_effect_{size}"} for size in (1, 5)]
    shown = {"biases": [BIAS | of for of in instruments], "decisions": [DECISION | of for of in instruments]}
    answer, *_ = ask(**shown, see=[]).split("How alike")
    assert "design_effect_5" in answer
    assert "design_effect_1" not in answer


def sentence(ask, **bias):
    return ask(biases=[BIAS | bias]).splitlines()[1]


def rows_of(out, name):
    """The rows of the tables on a technique, with single spaces."""
    return [" ".join(line.split()) for line in out.splitlines() if line.startswith(f"{name}  ")]


def headline_of(warehouse):
    ((evidence,),) = evidence_by_paradigm(warehouse, "s", in_full=False).values()
    return " ".join([headline(evidence), *verdict(evidence)[1:]])


def test_what_could_not_be_read_is_said_of_a_bias_too(ask, tmp_path, capsys):
    assert "could not be read" not in ask()
    leave_unread(tmp_path / "some.duckdb", "s")
    assert main(["recommend", "--paradigm", "framing"]) == 0
    assert SAID_OF_UNREAD.search(capsys.readouterr().out)


def test_what_was_withdrawn_after_it_had_been_seen_is_said_of_a_bias_too(ask, golden):
    assert "had been seen" not in ask()
    changed = [CHANGED, CHANGED | {"change": "reread", "why": "a typo", "n_trials": 1}]
    said = ask(changed=changed)
    golden(said, "3 of 100", "100 trials")
    golden(said, "1 trial")
    found = json.loads(ask("--json", changed=changed))["post_hoc_changes"]
    assert {change: of["n_trials"] for change, of in found.items()} == {"withdrawn": 3, "reread": 1}


def test_a_gain_whose_interval_ends_above_the_whole_loss_is_named(ask, golden):
    said = ask()
    golden(said, "18.0 of 16.0")
    assert "No technique can take away" not in ask(decisions=[DECISION | {"gain_high": 0.16}])
    golden(ask("--llm", "vendor/other", decisions=[OWN | {"gain_high": 0.17}]), "17.0 of 16.0")


def test_a_bias_is_said_as_the_mean_of_one_arm_above_or_below_that_of_the_other(ask, golden):
    golden(sentence(ask))
    below = sentence(ask, value=-0.16, low=-0.34, high=0.02)
    golden(below)
    by_chance = sentence(ask, p_holm=0.25)
    golden(by_chance)
    alike = sentence(ask, value=0.0, low=-0.1, high=0.1)
    golden(alike)
    of_number = sentence(ask, measure="minutes", value=12.5, low=2.0, high=23.0)
    golden(of_number)


@pytest.mark.parametrize(
    ("reason", "n_llms"), [("too_few_llms", 4), ("too_few_llms", 1), ("one_item", 6), ("zero_variance", 6)]
)
def test_without_an_interval_the_sentence_says_why(ask, reason, n_llms, golden):
    found = sentence(ask, low=None, high=None, reason=reason, n_llms=n_llms)
    golden(found)


def test_a_bias_without_any_usable_answer_is_said_to_have_been_asked_in_vain(ask, tmp_path, capsys, golden):
    ask()
    of = {"study": "s", "paradigm": "silent", "measure": "m", "value": None, "reason": "refused"}
    with contextlib.closing(duckdb.connect(str(tmp_path / "some.duckdb"))) as warehouse:
        fill(warehouse, {"marts.outcomes": [of, of]})
        insert(warehouse, "marts.trials", **ASKED | {"paradigm": "silent", "source": "recorded"})
    assert main(["recommend", "--paradigm", "silent"]) == 2
    said = capsys.readouterr().err
    assert "silent was asked" in said
    golden(said, "2 trials")
    golden(said, "`bais trials --study s`")


def test_arms_that_no_llm_has_both_of_are_said_not_to_be_comparable(ask, golden):
    found = sentence(ask, value=None, low=None, high=None, reason="no_pair", n_llms=0, n_items=0)
    golden(found)


def test_a_row_of_the_table_says_what_each_technique_does_to_the_bias(ask, golden):
    biases = [BIAS, BIAS | {"technique": "sacd", "value": 0.02, "low": -0.04, "high": 0.08}]
    out = ask(biases=biases, see=[])
    assert not rows_of(out, "chose_sure")
    (decided,) = rows_of(out, "SACD")
    assert decided.startswith("SACD use +1 −0 ")
    assert decided.endswith(" +14.0")
    assert "ewer than five LLMs" not in out
    golden(out)
    assert "SIMULATED" not in out
    out = ask(biases=biases, see=["--why"])
    assert rows_of(out, "SACD") == ["SACD +14 [+10, +18] use"]
    assert "chose_sure gain less loss SACD +2 (-4 to +8) 0.01" in rows_of(out, "chose_sure")
    golden(out)


def test_what_missing_answers_could_turn_and_what_carries_a_decision_is_said(ask, golden):
    def said(reason=None, **recommended):
        counted = {"n_same_decision": 6, "n_specifications": 9} | recommended
        turned = [RECOMMENDED | counted, RECOMMENDED | counted | {
            "switch": "refusals", "refusals": "least_gain", "interval_decision": "avoid", "is_recommended": False,
        }]  # fmt: skip
        decision = DECISION | {"reason": reason, "certainty": "supported"}
        return ask(biases=[BIAS], decisions=[decision], turned=turned)

    named = "SACD"
    out = said("attrition_could_reverse; one_technique", carried_by="vendor/other")
    golden(out, "issing answers could", named)
    golden(out, named, "6 of 9", "vendor/other")
    golden(said("attrition_could_change"), "issing answers could", named)
    assert "issing answers could" not in said()


def test_a_bias_that_cannot_be_told_from_none_is_not_called_none_where_items_differ(ask, golden):
    of_none = {"value": 0.01, "low": -0.1, "high": 0.12, "sd_of_items": 0.31}
    out = sentence(ask, **of_none, p_items_alike=0.001)
    golden(out)
    assert "Items differ" not in sentence(ask, **of_none, p_items_alike=0.4)
    golden(sentence(ask, p_items_alike=0.001))


def test_a_decision_that_another_contrast_contradicts_says_so(ask, golden):
    golden(ask(decisions=[DECISION | {"certainty": "contradicted_elsewhere"}]), "says the opposite (SACD)")


def test_of_fewer_than_five_llms_it_is_said_that_they_stand_for_no_others(ask, golden):
    few = DECISION | {
        "decision": "no_evidence",
        "decision_llms": "no_evidence",
        "certainty": "too_few_vendors",
        "gain_low": None,
        "gain_high": None,
    }
    out = ask(decisions=[few | {"n_llms": 1, "n_vendors": 1}])
    golden(out, "are needed")
    golden(out, "Do not generalise")


def test_of_one_llm_its_own_bias_and_gain_are_shown_beside_what_is_said_of_all(ask, golden):
    with_technique = [BIAS, BIAS | OTHER | {"technique": "sacd", "value": -0.05, "low": -0.15, "high": 0.05}]
    for name in ("vendor/other", "other"):
        out = ask("--llm", name, biases=with_technique)
        golden(out.splitlines()[0])
        golden(out, "chose_sure", "30")
        golden(out, "0.88")
        assert "ewer than five" not in out
        out = ask("--llm", name, biases=with_technique, see=[])
        (decided,) = rows_of(out, "SACD")
        assert decided.startswith("SACD use helps ")
        assert decided.endswith(" +25.0")
        out = ask("--llm", name, biases=with_technique, see=["--why"])
        assert "chose_sure gain less loss SACD -5 (-15 to +5) 0.01" in rows_of(out, "chose_sure")


def test_of_an_llm_that_was_not_asked_the_prediction_for_one_more_is_shown(ask, golden):
    out = ask("--llm", "vendor/none", biases=[BIAS, BIAS | {"technique": "sacd"}])
    golden(out, "vendor/none")
    golden(out, "0.93", "26.0")
    golden(ask("--llm", "nobody", expect=2))


def test_a_column_without_a_value_is_not_printed(ask):
    alone = BIAS | {"p_holm": None, "low": None, "high": None, "reason": "too_few_llms", "arm_b": None}
    out = ask(biases=[alone], decisions=[DECISION | {"arm_b": None}], see=[])
    assert "Holm" not in out
    assert "reversed" not in out
    assert "Reversed:" not in out


def test_simulated_respondents_are_named_before_anything_is_said_of_a_bias(ask, golden):
    out = ask(sources=["simulated"])
    golden(out)
    golden(ask(sources=["api", "simulated"]), "SIMULATED")
    assert "SIMULATED" in ask(sources=["simulated"], see=[])
    assert json.loads(ask("--json", sources=["simulated"]))["sources"] == ["simulated"]


def test_as_json_all_rows_of_the_llm_that_was_asked_for_are_given(ask):
    found = json.loads(ask("--json", "--llm", "vendor/other"))
    (bias,) = found["biases"]
    assert bias["counted_labels"] == ["sure"]
    assert {key: value for key, value in bias.items() if key in BIAS} == {
        key: value for key, value in (BIAS | OTHER).items() if key in bias
    }
    assert [row["llm"] for row in found["decisions"] + found["predictions"]] == [None, *["vendor/other"] * 2]
    assert [row["llm"] for row in found["of_llms"]] == ["vendor/other"]
    assert found["is_asked"]


MIRROR = BIAS | {"measure": "took_risk", "value": -0.16, "low": -0.27, "high": -0.05}


@pytest.mark.parametrize(
    ("biases", "decisions"),
    [
        ([BIAS], [DECISION]),
        ([BIAS, BIAS | {"arm": "other", "value": 0.01, "low": -0.2, "high": 0.22}], [DECISION]),
        ([BIAS | {"p_holm": 0.25}], [DECISION]),
        ([BIAS, MIRROR], [DECISION]),
        (
            [BIAS, MIRROR | {"value": -0.9, "low": -0.91, "high": -0.89}],
            [DECISION | {"decision": "avoid"}, DECISION | {"measure": "took_risk"}],
        ),
        ([BIAS], [DECISION | {"decision": "no_evidence"}, DECISION | {"measure": "minutes"}]),
        ([BIAS], [DECISION, DECISION | {"arm": "other", "decision": "avoid"}]),
        ([BIAS | {"low": -0.05}], []),
        (
            [BIAS | {"low": None, "high": None, "reason": "too_few_llms", "n_llms": 2}, BIAS | OTHER,
             BIAS | OTHER | {"llm": "vendor/a"}],
            [DECISION | {"decision": "no_evidence"}],
        ),
        (
            [BIAS | {"low": None, "high": None, "reason": "too_few_llms", "n_llms": 1}, BIAS | OTHER | {"n_llms": 1}],
            [DECISION | {"decision": "no_evidence"}, OWN],
        ),
        ([BIAS | COVERAGE], []),
        ([BIAS | {"measure": "strict_correct", "arm_b": None, "value": -0.25, "low": -0.4, "high": -0.1}], []),
    ],
    ids=[
        "a bias and its cure", "one of two comparisons", "by chance", "mirrored", "mirrored and clearer", "no cure",
        "cure and harm", "no bias", "two LLMs", "one LLM", "a measure of texts", "pairs",
    ],
)  # fmt: skip
def test_a_headline_says_the_clearest_bias_of_a_paradigm_and_what_helps(biases, decisions, golden):
    with contextlib.closing(duckdb.connect()) as warehouse:
        others = [] if any(bias["llm"] for bias in biases) else [BIAS | OTHER, BIAS | OTHER | {"llm": "vendor/a"}]
        tables = {
            "marts.trials": [ASKED_OTHER | {"source": "recorded"}],
            "marts.effects": [],
            "inference.outcome_contrasts": [*others, *biases],
            "inference.decisions": [*([] if OWN in decisions else [OWN]), *decisions],
            "inference.power": [],
        }
        fill(warehouse, words(biases[0]["measure"]) | tables)
        told = headline_of(warehouse)
    golden(told)


def test_a_measure_of_one_arm_is_said_as_its_mean_beside_what_is_best(ask, golden):
    coverage = BIAS | COVERAGE
    out = ask(biases=[coverage], decisions=[DECISION | COVERAGE])
    golden(out, "0.16", "95 %", "0.05")
    golden(out, "describe answers")
    few = coverage | {"low": None, "high": None, "n_llms": 4, "reason": "too_few_llms"}
    golden(ask(biases=[few]), "4 LLMs")


def test_what_an_only_arm_is_compared_with_is_said_of_a_reference_that_is_not_0(ask, golden):
    of = {"measure": "primacy_margin", "instrument": "tfidf", "arm": "asked", "arm_b": None}
    out = ask(biases=[BIAS | of], decisions=[DECISION | of])
    golden(out, "0.41", "0.25", "95 %")
    assert "asked less 0.25" in ask(biases=[BIAS | of], decisions=[DECISION | of], see=[])
    golden(out, "describe answers")


def test_a_share_that_rests_on_judges_stands_beside_the_share_without_their_errors(ask, golden):
    changed = {"measure": "framing_changed", "arm": "asked", "arm_b": None}
    judged = {
        "biases": [BIAS | changed],
        "decisions": [DECISION | changed | {"reason": "judge_errors_counted; no_known_label"}],
    }
    known = {
        "study": "s", "paradigm": "framing", "technique": "no_technique", "llm": None, "phi_corrected": 0.09,
        "phi_corrected_low": -0.01, "phi_corrected_high": 0.19,
    }  # fmt: skip
    out = ask(**judged, corrected=[known, known | {"llm": "vendor/a", "phi_corrected": 0.5}])
    golden(out, "95 %", "19 %")
    golden(out, "framing_changed", "SACD")
    out = ask(**judged, corrected=[known | {"phi_corrected": None}, known | {"llm": "vendor/a"}])
    golden(out, "judges get wrong")


def test_a_measure_that_mirrors_another_is_said_once(ask, golden):
    out = ask(biases=[BIAS, MIRROR])
    golden(out, "took_risk", "chose_sure")
    assert "the share of answers “risky”" not in out
    golden(ask(biases=[BIAS, MIRROR | {"n_trials": 900}]), "“risky”")


REVERSED = DECISION | {
    "gain": 0.41, "gain_low": 0.34, "gain_high": 0.49, "n_llms": 5, "n_vendors": 5,
    "decision": "no_evidence", "decision_llms": "no_evidence", "certainty": "withheld", "n_reversed": 5,
    "reason": "bias_reversed",
}  # fmt: skip


def test_of_a_technique_that_turns_the_bias_round_the_reason_is_said_and_not_that_the_data_cannot_tell(
    ask, tmp_path, golden
):
    biases = [BIAS, BIAS | OTHER | {"llm": "vendor/third"}]
    told = ask(biases=biases, decisions=[REVERSED])
    assert "cannot separate help from harm" not in told
    golden(told, "5 of 5", "41", "34")
    with contextlib.closing(duckdb.connect(str(tmp_path / "some.duckdb"))) as warehouse:
        told = headline_of(warehouse)
    golden(told)


@pytest.mark.parametrize(
    "change",
    [
        {"n_reversed": 0},
        {"gain_low": -0.1, "certainty": "no_evidence"},
        {"decision": "avoid", "certainty": "established"},
    ],
    ids=str,
)
def test_wherever_a_bias_is_turned_round_it_is_said_in_how_many(ask, change, golden):
    golden(ask(decisions=[REVERSED | change]), "SACD", "5")


def test_of_one_llm_it_is_said_that_its_bias_is_turned_round(ask, golden):
    own = REVERSED | OWN | {"decision": "no_evidence", "reason": "bias_reversed"}
    told = ask("--llm", "other", decisions=[DECISION | {"technique": "other"}, own])
    golden(told, "bias of vendor/other")


def test_a_headline_leads_with_what_is_judged_and_not_with_a_similarity_that_is_clearer(ask, tmp_path, golden):
    framing = BIAS | {
        "measure": "framing_changed",
        "arm": "asked",
        "arm_b": None,
        "value": 0.55,
        "low": 0.2,
        "high": 0.9,
    }
    similarity = BIAS | COVERAGE | {"value": 0.9, "low": 0.89, "high": 0.91}
    others = [of | {"llm": "vendor/third", "level": "items", "is_headline": False} for of in (framing, similarity)]
    avoided = DECISION | {"measure": "framing_changed", "arm": "asked", "arm_b": None, "decision": "avoid"}
    known = {"study": "s", "paradigm": "framing", "technique": "no_technique", "llm": None, "phi_corrected": None}
    known |= {"phi_corrected_low": None, "phi_corrected_high": 0.5}
    ask(
        biases=[similarity, framing, *others],
        leading="framing_changed",
        decisions=[avoided],
        corrected=[known, known | {"phi_corrected": 0.5, "llm": "v/a", "phi_corrected_low": 0.1}],
    )
    with contextlib.closing(duckdb.connect(str(tmp_path / "some.duckdb"))) as warehouse:
        told = headline_of(warehouse)
    golden(told)
    assert "avoid SACD" in told


def test_the_leading_measure_comes_first_in_sentences_and_table_and_what_describes_texts_is_said_to(ask, golden):
    similarity = BIAS | COVERAGE
    biases = [similarity, BIAS | {"measure": "minutes"}, BIAS, BIAS | {"technique": "sacd"}]
    said = ask(biases=biases, leading="chose_sure")
    out = ask(biases=biases, leading="chose_sure", see=["--why"])
    table, _, _ = out.partition("framing: ")
    assert re.findall(r"^(\w+)(?: \(tfidf\))?: without", said, re.MULTILINE) == ["chose_sure", "coverage", "minutes"]
    assert "chose_sure leads" in said
    measures = re.findall(r"^(chose_sure|coverage|minutes)\b.* (?:less|no_tech)", table, re.MULTILINE)
    assert measures == ["chose_sure", "chose_sure", "coverage", "minutes"]
    golden(out, "Measures of texts")
    assert not {"leads", "describe answers"} & set(re.findall("leads|describe answers", ask()))


def test_of_two_measures_that_mirror_each_other_the_leading_one_is_said(ask, golden):
    out = ask(biases=[BIAS, MIRROR], leading="took_risk")
    golden(out, "chose_sure", "took_risk")
    assert "the share of answers “sure”" not in out


def test_a_headline_of_a_leading_measure_without_answers_says_that_and_nothing_of_a_similarity(ask, tmp_path, golden):
    ask(biases=[BIAS | COVERAGE, BIAS | COVERAGE | OTHER | {"llm": "vendor/a"}], leading="framing_changed")
    with contextlib.closing(duckdb.connect(str(tmp_path / "some.duckdb"))) as warehouse:
        told = headline_of(warehouse)
    golden(told)
    assert "by framing_changed" in told
    assert "likeness" not in told


@pytest.mark.parametrize(
    ("leading", "others"),
    [
        (["avoid"], ["use"]),
        (["no_evidence"], ["use"]),
        (["use"], ["avoid"]),
        (["use", "avoid"], []),
        (["equivalent"], ["doubted"]),
    ],
    ids=str,
)
def test_a_bias_is_a_row_for_each_contrast_coloured_by_what_is_decided_without_doubt(
    ask, tmp_path, leading, others, golden
):
    doubted = {"decision": "use", "certainty": "hangs_on_suspect_rows", "reason": "hangs_on_suspect_rows"}
    of_others = [BIAS | {"measure": "minutes", "technique": technique} for technique in ("no_technique", "sacd")]
    decisions = [DECISION | {"arm": f"arm_{n}", "decision": decision} for n, decision in enumerate(leading)]
    decisions += [
        DECISION | {"measure": "minutes"} | (doubted if decision == "doubted" else {"decision": decision})
        for decision in others
    ]
    arms = [
        BIAS | {"arm": f"arm_{n}", "technique": technique}
        for n in range(len(leading)) for technique in ("no_technique", "sacd")
    ]  # fmt: skip
    trials = [ASKED_OTHER | {"source": "recorded", "llm": llm} for llm in ("vendor/a", "vendor/other")]
    # of one LLM only what is decided about it would be shown
    ask(biases=[*of_others, *arms], decisions=decisions, leading="chose_sure", beside={"marts.trials": trials})
    with contextlib.closing(duckdb.connect(str(tmp_path / "some.duckdb"))) as warehouse:
        said, shown = on_a_page(warehouse, "s")
    rows = {"said_of_biases": said, "biases": shown, "alterations": [], "data_set_means": [], "techniques": []}
    study = Study("s", False, rows)
    (section,) = sections_on_biases(study, "study-1")
    assert section.tables[0].name.startswith("chose_sure")
    ((biases, techniques),) = matrices(study)
    assert techniques == ["sacd"]
    assert "chose_sure" in biases[0].name
    golden("\n".join(f"{bias.name}: {bias.effects['sacd'].tone}, {bias.effects['sacd'].text}" for bias in biases))


def test_rows_in_points_are_drawn_on_one_scale_and_others_on_their_own():
    effects = [{"sacd": Effect(value, None, None, most=2 * abs(value), digits=1)} for value in (3.0, -40.0, 500.0)]
    rows = [Bias("p", "n", unit, of) for unit, of in zip(("points", "points", "pp"), effects, strict=True)]
    drawn = [row.effects["sacd"] for row in on_one_scale(rows)]
    assert [effect.at(effect.value) for effect in drawn] == ["51.9%", "25.0%", "75.0%"]


def test_what_would_settle_an_open_decision_is_said_of_vendors_llms_and_items(ask, golden):
    key = {name: DECISION[name] for name in ("study", "paradigm", "measure", "instrument", "arm", "arm_b")}
    row = key | {"technique_a": "sacd", "technique_b": "no_technique", "design": "to_settle", "power": 0.5}
    row |= {"n_vendors": 5, "n_llms": 6, "n_items": 8}
    more_vendors = row | {"quantity": "needed_vendors", "needed_vendors": 8, "settles": "use", "cost_usd": 1.5}
    more_llms = row | {"quantity": "needed_llms", "needed_llms": 19, "settles": "use", "cost_usd": 6.5}
    more_items = row | {"quantity": "needed_items", "needed_items": 29, "settles": "equivalent"}
    none = row | {"quantity": "needed_vendors", "reason": "not_reachable_with_vendors"}
    no_llms = row | {"quantity": "needed_llms", "reason": "not_reachable_with_llms"}

    def sentence(*rows):
        return next((line for line in ask(open_still=rows).splitlines() if line.startswith("What would settle")), None)

    golden(sentence(more_vendors, more_llms, more_items))
    golden(sentence(none, no_llms, more_items, more_items | {"power": 0.8, "needed_items": 40}))
    lacking = no_llms | {"power": 0.8}
    golden(sentence(more_vendors, more_vendors | {"power": 0.8, "needed_vendors": 11}, more_llms, lacking))
    assert sentence(none, no_llms) is None
    barred = row | {"quantity": "needed_vendors", "reason": "bias_reversed"}
    assert "No number of vendors would settle SACD: of what" in sentence(more_items, barred)
    assert "No number of items would settle" in ask(open_still=[barred | {"quantity": "needed_items"}])
    barred_of_both = ask(open_still=[barred, barred | {"quantity": "needed_llms"}])
    assert barred_of_both.count("No number of vendors or LLMs would settle SACD: of what") == 1
    assert sentence(more_vendors | {"paradigm": "decoy"}, more_items | {"technique_b": "placebo"}) is None
