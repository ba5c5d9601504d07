import contextlib
import json
import re
import shutil
from itertools import product

import duckdb
import pytest

from analysis.words.advice import Evidence, advise, notes, of_few, why
from analysis.words.codes import GOALS as GOALS_IN_WORDS
from analysis.words.codes import in_words, leading_first, probability
from bais import recommend as recommend_module
from bais.gains import draw
from bais.main import main
from tests.tools.contracts import insert, make_tables
from tests.tools.stand_ins import SAID_OF_UNREAD, leave_unread

SPLIT = {
    # technique: decision, that of each LLM, loss, gain, bounds; by displacement, by gap
    "devils_advocate": (("use", "use", 19.0, 13.3, 11.5, 15.2), ("avoid", "avoid", 70.9, -24.2, -28.0, -20.7)),
    "premortem": (("use", "use", 25.2, 7.1, 4.9, 9.5), ("no_evidence", "avoid", 62.6, -15.9, -40.8, 11.3)),
    "sacd": (("avoid", "avoid", 43.0, -10.7, -15.1, -6.4), ("use", "use", 18.3, 28.4, 20.3, 37.3)),
    "no_technique": ((None, None, 32.3, None, None, None), (None, None, 46.7, None, None, None)),
}
CALM = {
    "devils_advocate": (
        ("equivalent", "equivalent", 2.7, 3.9, 3.0, 4.8), ("equivalent", "equivalent", 3.3, -3.1, -4.9, -1.4),
    ),
    "sacd": (("equivalent", "equivalent", 3.8, 2.8, 1.1, 4.5), ("avoid", "avoid", 28.1, -28.0, -31.3, -24.6)),
    "no_technique": ((None, None, 6.6, None, None, None), (None, None, 0.2, None, None, None)),
}  # fmt: skip
FEW = {
    "sacd": (("no_evidence", "avoid", 43.1, -9.7, -133.3, 113.9), ("no_evidence", "use", 18.3, 28.4, -591.0, 648.0)),
    "no_technique": ((None, None, 33.5, None, None, None), (None, None, 46.7, None, None, None)),
}
NAMES = {
    "devils_advocate": "Devil's Advocate",
    "premortem": "Premortem",
    "random_control": "Random Control",
    "sacd": "SACD",
    "sacd_initial": "SACD's first answer",
    "no_technique": "a plain prompt",
}
GOALS = ("displacement", "gap")
LLMS = [f"vendor/{letter}" for letter in "abcdef"]

WITHOUT_BASELINE = [
    # domain, LLM, vignette, reason
    ("split", "vendor/g", "v", "no_baseline"),
    ("split", "vendor/g", None, "no_baseline"),
    ("bare", None, None, "no_baseline; nothing_to_rank"),
]

RELATIONS = (
    "raw.batches", "seeds.techniques", "seeds.llms", "seeds.llm_aliases", "seeds.routers",
    "marts.trials", "marts.effects",
    "marts.technique_costs", "marts.attrition", "marts.post_hoc_changes",
    "inference.decisions", "inference.predictions", "inference.multiverse", "inference.power",
    "inference.outcome_contrasts", "staging.stg_paradigms", "intermediate.int_vendors",
    "intermediate.int_baseline_prompts",
)  # fmt: skip


def insert_trial(warehouse, study, domain, llm, source, paradigm="anchoring", role=None):
    insert(
        warehouse, "marts.trials", study=study, domain=domain, llm=llm, source=source, paradigm=paradigm, role=role,
        vignette="v", temperature=1.0,
    )  # fmt: skip


LEADING = leading_first(GOALS_IN_WORDS, GOALS[:1])
VENDORS = {llm: f"Maker {llm[-1].upper()}" for llm in LLMS}


def places(of, *, n_llms=6, llm=None, reason=None, **more):
    """Rows of `inference.decisions`, with names: over LLMs, each of a vendor of its own, or of one LLM."""
    few = n_llms < 5
    return [
        {
            "paradigm": "anchoring", "technique": technique, "name": NAMES[technique], "goal": goal, "llm": llm,
            "decision": of_each if llm else decision, "decision_llms": None if llm else decision,
            "control": None if technique == "no_technique" else "no_technique", "control_name": "a plain prompt",
            "comparison": None if technique == "no_technique" else "control",
            "is_primary": goal == "displacement", "loss": loss, "loss_control": 32.3, "gain": gain, "gain_low": low,
            "gain_high": high, "gain_squared": gain and 2 * 32.3 * gain - gain**2, "n_gained": 4, "n_reversed": None,
            "n_own_prompt": None if llm else n_llms * (of_each == "helps_its_own_prompt"),
            "n_helped": None if llm else n_llms * (of_each == "use"),
            "n_harmed": None if llm else n_llms * (of_each == "avoid"),
            "p_best": None if few else 0.5, "p_worst": None if few else 0.5,
            "p_worse_than_control": None if few else 0.25,
            "certainty": decision and ("one_llm" if llm else "too_few_vendors" if few else "no_evidence" if
                                       decision == "no_evidence" else "established"),
            "n_comparisons": 3 * (len(LLMS) if llm else 1), "margin": 5.0, "n_trials": 120, "n_llms": n_llms,
            "n_vendors": n_llms, "n_cases": 2, "n_families": 1,
            "reason": "too_few_vendors" if few and not llm else reason, **more,
        }
        for technique, both in of.items()
        for goal, (decision, of_each, loss, gain, low, high) in zip(GOALS, both, strict=True)
    ]  # fmt: skip


def prediction(technique, p_best, **more):
    return {
        "paradigm": "anchoring", "technique": technique, "name": NAMES[technique], "goal": "displacement", "llm": None,
        "vendor": None, "control": "no_technique", "expected_loss": 20.5, "gain": 12.2, "gain_low": -3.4,
        "gain_high": 27.8,
        "p_better_than_control": 0.91, "p_best_new_llm": p_best, "reason": None, **more,
    }  # fmt: skip


def of_no_technique(p_best, **more):
    return prediction("no_technique", p_best) | {
        "control": None, "gain": None, "gain_low": None, "gain_high": None, "expected_loss": 32.7,
        "p_better_than_control": None, "reason": "control", **more,
    }  # fmt: skip


def settling(quantity, **more):
    return {
        "paradigm": "anchoring", "technique_a": "sacd", "technique_b": "no_technique", "goal": "displacement",
        "quantity": quantity, "power": 0.5,
        "n_items": None, "settles": "use", "needed_vendors": None, "needed_llms": None, "needed_trials": None,
        "n_llms": 6, "n_vendors": 5, "cost_usd": None, "reason": None,
        **more,
    }  # fmt: skip


def said(about, **evidence):
    """The sentences of advice about one thing, together."""
    goal = evidence.pop("goal", None)
    evidence = {"domain": "d", "llms": LLMS, "vendors": VENDORS, "goals": LEADING} | evidence
    return " ".join(s["text"] for s in advise(Evidence(**evidence), goal) if s["about"] == about)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("recommend") / "some.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as made:
        make_tables(made, *RELATIONS)
        insert(made, "seeds.llm_aliases", alias="a-alias", llm="vendor/a")
        for llm, vendor in VENDORS.items():
            insert(made, "intermediate.int_vendors", llm=llm, vendor=vendor, is_listed=True)
        insert(made, "seeds.llms", llm="vendor/h", vendor="Maker A")
        insert(made, "seeds.routers", router="openrouter")
        for technique, name in NAMES.items():
            insert(made, "seeds.techniques", technique=technique, display_name=name)
        for study, source, n in (("real", "recorded", 2), ("pretended", "simulated", 9)):
            for domain, of, llms in (("split", SPLIT, LLMS), ("calm", CALM, LLMS), ("few", FEW, LLMS[:2])):
                if len(llms) > 2:
                    for row in (prediction("sacd", 0.7), prediction("devils_advocate", 0.2), of_no_technique(0.1)):
                        del row["name"]
                        insert(made, "inference.predictions", study=study, domain=domain, **row | {"vendor": "Maker A"})
                for llm in (None, *llms):
                    for _ in range(n if llm else 0):
                        insert_trial(made, study, domain, llm, source)
                    rows = places(of, n_llms=1 if llm else len(llms), study=study, domain=domain, llm=llm)
                    for row in rows:
                        row = {key: row[key] for key in row if key not in ("name", "control_name")}
                        insert(made, "inference.decisions", **row)
                    for technique, p_best in (("sacd", 0.1), ("devils_advocate", 0.8)):
                        row = prediction(
                            technique, p_best, study=study, domain=domain, llm=llm, vendor=VENDORS.get(llm)
                        )
                        if len(llms) > 2:
                            del row["name"]
                            insert(made, "inference.predictions", **row)
                    if len(llms) > 2:
                        row = of_no_technique(0.1, study=study, domain=domain, llm=llm, vendor=VENDORS.get(llm))
                        del row["name"]
                        insert(made, "inference.predictions", **row)
        insert_trial(made, "pretended", "invented", "vendor/a", "simulated")
        insert_trial(made, "real", "bare", "vendor/c", "recorded")
        insert_trial(made, "real", "split", "vendor/g", "recorded")
        insert_trial(made, "other", "framing", "vendor/a", "recorded", "framing")
        insert(made, "inference.outcome_contrasts", study="other", paradigm="framing", n_trials=2)
        insert_trial(made, "other", "judged", "vendor/a", "recorded", "judge_framing", "answer")
        for (domain, llm, vignette, reason), goal in product(WITHOUT_BASELINE, GOALS):
            insert(
                made, "marts.effects", study="real", paradigm="anchoring", domain=domain, goal=goal, llm=llm,
                vignette=vignette, technique="sacd", reason=reason,
            )  # fmt: skip
        for llm, cost in zip(LLMS, (0.002, 0.004) * 3, strict=True):
            insert(
                made, "marts.technique_costs", study="pretended", llm=llm, technique="sacd", calls_per_trial=6,
                cost_usd_per_trial=cost,
            )  # fmt: skip
    return path


@pytest.fixture
def warehouse(made_once, tmp_path, monkeypatch):
    path = shutil.copy(made_once, tmp_path / "some.duckdb")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


@pytest.fixture
def ask(warehouse, capsys):
    """Run `bais recommend --json`, which must succeed, and return all of its sentences; with --json what it printed."""

    def run(*arguments):
        assert main(["recommend", *dict.fromkeys([*arguments, "--json"])]) == 0
        out = capsys.readouterr().out
        return out if "--json" in arguments else "\n".join(of["text"] for of in json.loads(out)["sentences"])

    return run


@pytest.fixture
def see(warehouse, capsys):
    """Run `bais recommend` for a person, which must succeed, and return its stdout."""

    def run(*arguments):
        assert main(["recommend", *arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(warehouse, capsys):
    """Run `bais recommend`, which must refuse, and return why."""

    def run(*arguments):
        assert main(["recommend", *arguments]) == 2
        return capsys.readouterr().err.removeprefix("bais: ")

    return run


def test_the_answer_says_what_to_use_and_what_to_avoid_for_llms_like_those_asked(ask, golden):
    out = ask("--domain", "split")
    assert re.match("split: established for LLMs like these: use Devil's Advocate or Premortem .* avoid SACD ", out)
    assert "vendor/a, " in out
    assert out.count("vendor/g") == 1
    golden(out)


def test_a_table_comes_first_and_draws_each_gain(see, golden):
    golden(see("--domain", "split"))


def test_why_is_one_table_of_all_goals_and_what_the_answer_rests_on(see, golden):
    golden(see("--domain", "split", "--why"))


def test_goals_that_disagree_are_said_to_and_those_that_are_opposed_by_name(ask, golden):
    out = ask("--domain", "split")
    golden(out, "By high–low gap (", "SACD")
    golden(out, "opposed", "SACD")
    rows = [row for row in places(SPLIT) if row["technique"] in ("sacd", "no_technique")]
    same = [row | {"decision": "use"} for row in rows if row["comparison"]]
    golden(said("goals", places=same))
    assert not said("beside", places=same).count("opposed")


def test_below_five_vendors_nothing_is_established_whatever_each_llm_says(ask, see, golden):
    answer, each = ask("--domain", "few").splitlines()[:2]
    golden(answer, "2 LLMs")
    golden(each, "of 2", "vendor/a and vendor/b")
    golden(ask("--domain", "few"), "Do not generalise", "2 LLMs")
    row, *_ = [line.split() for line in see("--domain", "few").splitlines() if line.startswith("SACD")]
    assert (row[1:4], row[-1]) == (["unclear", "+0", "−2"], "-9.7")


@pytest.mark.parametrize(
    ("llms", "vendors", "n_llms", "n_vendors", "more"),
    [
        (LLMS, {llm: "Maker A" if llm < "vendor/d" else "Maker B" for llm in LLMS}, 6, 2, {}),
        (LLMS, VENDORS, 1, 1, {}),
        (LLMS[:1], VENDORS, 1, 1, {}),
        (LLMS[:4], {llm: llm for llm in LLMS}, 4, 4, {"sources": ["simulated"]}),
    ],
    ids=["two vendors", "one of six LLMs", "one LLM", "four respondents"],
)
def test_too_few_vendors_are_named_and_of_simulated_respondents_it_is_said_that_they_are_few(
    llms, vendors, n_llms, n_vendors, more, golden
):
    rows = places(FEW, n_llms=n_llms, n_vendors=n_vendors)
    rows = [row | {"certainty": row["certainty"] and "too_few_vendors"} for row in rows]
    each = [row for llm in llms[:n_llms] for row in places(FEW, n_llms=1, llm=llm)]
    golden(said("answer", places=rows, of_llms=each, llms=llms, vendors=vendors, **more))


def test_a_decision_for_the_llms_asked_is_said_of_each_and_never_of_their_mean(ask):
    for domain in ("split", "calm", "few"):
        out = ask("--domain", domain)
        assert "Each LLM by its own trials" in out
        assert "on average: " not in out


def test_who_is_harmed_is_named_with_the_error_of_all_llms_and_rows(golden):
    decisions = ("use", "avoid", "equivalent", "no_evidence", "avoid", "no_evidence")
    words = dict(zip(LLMS, decisions, strict=True))
    of_llms = [
        row | {"decision": words[llm]} | ({"reason": "not_shown_over_placebo"} if llm == "vendor/f" else {})
        for llm in LLMS
        for row in places({"sacd": SPLIT["sacd"]}, n_llms=1, llm=llm)
    ]
    golden(said("each", places=places(SPLIT), of_llms=of_llms), "vendor/b and vendor/e", "all 18", "5 %")
    none = [row | {"decision": "no_evidence"} for row in of_llms]
    golden(said("each", places=places(SPLIT), of_llms=[row | {"reason": None} for row in none]), "all 6")


def test_of_one_llm_it_is_said_what_helps_and_harms_it_and_what_of_others(golden):
    both = said(
        "answer", llm="vendor/a", places=places(FEW, n_llms=2), own=places(FEW, n_llms=1, llm="vendor/a"), llms=LLMS[:2]
    )
    golden(both)
    own = places(SPLIT, n_llms=1, llm="vendor/a")
    reasons = {"premortem": ("no_evidence", "not_shown_over_placebo"), "devils_advocate": ("no_evidence", None)}
    own = [
        row | dict(zip(("decision", "reason"), reasons.get(row["technique"], ("use", None)), strict=True))
        for row in own
    ]
    golden(said("answer", llm="vendor/a", places=places(SPLIT), own=own))


def test_equivalent_is_on_average_and_no_llm_is_surely_beyond_the_margin(ask, golden):
    out = ask("--domain", "calm")
    golden(out.splitlines()[0])
    golden(out, "4 of 6", "surely")


def test_how_many_llms_gained_and_by_how_much_is_said(golden):
    text = said("evidence", places=places(SPLIT))
    golden(text, "4 of 6", "19.0 points", "32.3")


UNDECIDED = {
    "sacd": (("no_evidence", "no_evidence", 2.0, 26.0, -1.3, 42.0), ("no_evidence", "use", 38.0, 1.0, -3.0, 10.0))
}


def test_where_nothing_is_decided_it_is_unclear(golden):
    golden(said("answer", places=places(UNDECIDED)))
    assert "assume that no rare" not in said("scope", places=places(UNDECIDED))


def test_no_difference_is_said_to_be_out_of_reach_where_vendors_differ_too_much(golden):
    golden(said("reach", places=places(UNDECIDED)), "5 points")
    narrow = [row | {"gain_low": -2.0, "gain_high": 7.0} for row in places(UNDECIDED)]
    assert not said("reach", places=narrow)
    assert not said("reach", places=places(UNDECIDED, n_llms=2))


def test_what_is_seen_in_the_llms_asked_is_said_not_to_be_shown_over_their_vendors(golden):
    seen = [
        row | {"decision_llms": "use", "n_vendors": 5} for row in places(UNDECIDED) if row["goal"] == "displacement"
    ]
    golden(said("beside", places=seen), "6 LLMs", "5 vendors", "2.0 points", "32.3")
    placebo = [*seen, PLACEBO_ROW | {"control": "sacd", "decision": "no_evidence", "n_llms": 6, "goal": "displacement"}]
    golden(said("beside", places=placebo), "SACD (the placebo")
    limited = [row | {"reason": "not_shown_over_placebo"} for row in seen]
    assert not said("beside", places=limited)
    # each LLM weighs the same: roots of (9² + 3²) / 2 less 20, and of (9² + 3²) / 2
    each = [
        row | {"llm": llm, "loss_control": loss, "gain_squared": 20}
        for row in seen
        for llm, loss in {"a": 9, "b": 3}.items()
    ]
    assert "average answer 5.0 points instead of 6.7)" in said("beside", places=seen, of_llms=each)
    halves = [
        {"technique": name, "goal": "displacement", "half_gap": of} for name, of in (("no_technique", 7), ("sacd", 8))
    ]
    differs = {
        "prompts": {"theft": "also a demand"},
        "places": [row for row in seen if row["technique"] in ("sacd", "no_technique")],
    }
    golden(said("beside", **differs, rankings=halves), "the shift alone", "8.0", "7.0")
    assert "shift" not in said("beside", **differs, rankings=[halves[0] | {"half_gap": 9}, halves[1]])
    assert not said("beside", places=places(UNDECIDED))


PLACEBO_ROW = {
    "technique": "sacd", "name": "SACD", "goal": "displacement", "control": "random_control", "gain": 4.1,
    "control_name": "Random Control", "comparison": "placebo", "loss": 23.4, "gain_low": -10.4, "gain_high": 18.6,
    "certainty": "supported", "n_cases": 2, "gain_squared": 20.0, "n_comparisons": 4, "n_families": 1,
}  # fmt: skip
USED = {"sacd": (("use", "use", 23.4, 16.3, 1.1, 31.5), ("use", "use", 18.3, 28.4, 20.3, 37.3))}


@pytest.mark.parametrize(
    "decision", ["no_evidence", "equivalent", "worse_than_asking_again", "better_than_asking_again", None]
)
def test_a_placebo_that_does_as_well_is_named(decision, golden):
    beside = PLACEBO_ROW | {"decision": decision, "reason": "placebo", "n_gained": 4, "n_llms": 6}
    golden(said("placebo", places=[*places(USED), beside]))
    of_none = said("placebo", places=[*places(UNDECIDED), beside])
    assert bool(of_none) == (decision not in ("no_evidence", None))  # what is decided is said of any
    gains = [row | {"reason": "not_shown_over_placebo"} for row in places(UNDECIDED)]
    assert said("placebo", places=[*gains, beside])


def test_a_placebo_is_never_used_and_a_technique_may_help_its_own_prompt_alone(golden):
    again = [row | {"decision": "asking_again_helps"} for row in places(USED) if row["comparison"]]
    golden(said("answer", places=again))
    own = [
        row | {"control": "sacd_initial", "control_name": "SACD's first answer", "decision": "helps_its_own_prompt"}
        for row in places(USED, certainty="supported", reason="before_after; one_case; family_not_frozen", n_cases=1)
        if row["comparison"]
    ]
    plain = {"comparison": "confounded", "decision": None, "certainty": None, "loss_control": 20.1, "gain": -3.3}
    plain = [row | plain for row in places(USED) if row["comparison"]]
    golden(said("answer", places=own + plain, vignettes=["theft"]))
    golden(said("beside", places=own + plain), "23.4", "32.3 points")
    more = [row | {"loss_control": 40.2} for row in plain]
    assert "less" not in said("beside", places=own + more, goal="displacement").partition("Not established")[0]
    each = [row | {"llm": "vendor/a", "n_comparisons": 9} for row in own]
    golden(said("each", places=own + plain, of_llms=each), "of 1")


def test_what_is_supported_says_what_it_lacks_to_be_established(golden):
    codes = "family_not_frozen; family_changed; outside_the_family; one_case; before_after"
    turns = "attrition_could_reverse; attrition_could_change; reading_would_change"
    rows = [
        row | {"certainty": row["certainty"] and "supported", "reason": f"{codes}; {turns}"} for row in places(SPLIT)
    ]
    golden(said("beside", places=rows), "Not established")
    golden(said("answer", places=rows))
    assert "Not established" not in said("beside", places=places(SPLIT))
    assert not said("caveat", places=rows).count("could reverse")  # which is said already
    golden(said("next", places=rows), "fixed", "two cases", "in the words of", "missing")
    assert "one case" in said("beside", places=[of_placebo(row, "supported", "one_case") for row in places(SPLIT)])
    assert not said("next", places=places(SPLIT))


def test_what_hangs_on_answers_that_the_gate_doubts_is_not_said_to_be_supported(golden):
    hangs = {"certainty": "hangs_on_suspect_rows", "reason": "hangs_on_suspect_rows"}
    rows = [row | hangs for row in places(USED) if row["comparison"]]
    golden(said("answer", places=rows))
    assert "Supported" not in said("answer", places=rows)
    golden(said("goals", places=rows), "doubts")
    golden(said("beside", places=rows), "Not established")
    assert "`bais check` says which" in said("caveat", places=rows)


def of_placebo(row, certainty, reason):
    return row | {
        "comparison": row["comparison"] and "placebo", "certainty": certainty, "reason": reason, "control": "again",
        "control_name": "Again", "decision": "better_than_asking_again",
    }  # fmt: skip


def test_it_is_said_why_a_goal_leads_and_of_another_that_it_does_not(golden):
    more = "anchored prompts also name a demand"
    for prompts in ({"theft": None}, {"theft": more, "fraud": None}, {"theft": "nobody said whether it differs"}):
        golden(said("leading", places=places(SPLIT), prompts=prompts))
        assert not said("beside", places=places(SPLIT), prompts=prompts).count("leads")
    assert not said("leading", places=places(SPLIT), goal="gap", prompts={"theft": more})
    golden(said("beside", places=places(SPLIT), goal="gap", prompts={"theft": more}), "does not lead")
    assert not said("leading", places=places(SPLIT))
    assert not said("leading", prompts={"theft": None})  # where nothing is compared


def test_a_domain_with_one_case_names_it(golden):
    one = places(USED, n_cases=1)
    golden(said("answer", places=one, vignettes=["theft"]).partition(":")[0])
    golden(said("answer", places=one, vignettes=["theft", "fraud"]).partition(":")[0])
    assert said("answer", places=places(USED), vignettes=["theft"]).startswith("d: ")


def test_llms_that_nobody_listed_are_said_to_count_as_one_vendor(golden):
    golden(said("unlisted_vendors", places=places(USED), unlisted=LLMS[:2]), "2 LLMs")
    assert not said("unlisted_vendors", places=places(USED))


def test_the_error_that_is_printed_is_of_all_rows_that_are_decided(golden):
    def errors(rows, goals=("displacement", "gap"), **more):
        evidence = Evidence(domain="d", llms=LLMS, goals=LEADING, places=rows, **more)
        return " ".join(text for text in notes(evidence, goals) if "alse use or avoid" in text or "any false" in text)

    of_llms = places(SPLIT, n_llms=1, llm="vendor/a")
    golden(errors([row | {"n_comparisons": 7} for row in places(SPLIT)], of_llms=of_llms), "all 7")
    several = errors(places(SPLIT, n_families=3))
    golden(several, "3 families", "15 %")
    golden(several, "add", "30 %")
    golden(errors(places(SPLIT, n_comparisons=1), goals=("displacement",)))
    golden(errors(places(FEW, n_llms=2), of_llms=of_llms))
    assert not errors(places(FEW, n_llms=2))


def test_ways_of_counting_that_leave_somebody_out_are_counted_apart(golden):
    counts = {"n_same_decision": 4, "n_specifications": 6, "n_left_out": 12, "n_left_out_same": 10, "is_of_five": False}
    ways = counts | {
        "technique": "sacd", "control": "no_technique", "goal": "displacement", "decision": "use",
        "carried_by": "vendor/b, Maker C", "others": [("reading", "recorded"), ("refusals", "least_gain")],
    }  # fmt: skip
    golden(said("sensitivity", places=places(USED), sensitivity=[ways]), "4 of 6", "10 of 12", "vendor/b or Maker C")
    golden(said("sensitivity", places=places(USED), sensitivity=[ways | {"n_left_out": 0}]), "4 of 6")
    assert not said("sensitivity", places=places(USED), sensitivity=[ways | {"decision": "no_evidence"}])
    golden(said("sensitivity", places=places(USED), sensitivity=[ways | {"is_of_five": True}]), "no vendor")


def test_a_technique_with_a_control_of_its_own_says_so_and_its_confounded_comparison_is_never_for_use(golden):
    own = [
        row | {"control": "sacd_initial", "control_name": "SACD's first answer", "decision": "no_evidence"}
        for row in places(USED)
    ]
    confounded = [row | {"comparison": "confounded", "decision": None, "certainty": None} for row in places(USED)]
    text = said("control", places=own + confounded)
    golden(text, "SACD")
    golden(text, "16.3 points", "1.1", "31.5")
    golden(said("answer", places=own + confounded))
    assert not said("control", places=places(USED))
    used = [row | {"decision": "use"} for row in own if row["comparison"]]
    golden(said("answer", places=used), "SACD")


@pytest.mark.parametrize(
    "code",
    [
        "gap_shrinks_with_level",
        "placebo_not_asked",
        "baseline_below_10",
        "baseline_below_30",
        "confounded_prompt",
        "bias_moved",
    ],
)
def test_what_limits_a_decision_is_said_in_words(code, golden):
    golden(said("caveat", places=places(USED, reason=f"no_variance_to_correct; {code}")))
    assert not said("caveat", places=places(USED))


def test_that_some_llm_is_surely_moved_is_said_where_nothing_is_decided_too(golden):
    golden(said("caveat", places=places(UNDECIDED, reason="llms_differ")))


def test_another_domain_that_says_the_opposite_is_said(golden):
    of = places(USED, certainty="contradicted_elsewhere")
    golden(said("beside", places=of), "opposite")


def test_a_new_llm_gets_the_prediction_and_the_study_that_would_ask_it(ask, golden):
    out = ask("--domain", "split", "--llm", "some/unknown")
    golden(out, "some/unknown was not tested", "Devil's Advocate")
    golden(out, "For some/unknown", "0.80", "0.10")
    golden(out, "beats a plain prompt", "0.91", "32.7")
    assert "To ask some/unknown" not in out  # in words that nobody knows
    golden(
        said("scope", llm="x/y", is_asked=False, places=places(SPLIT), llms=LLMS), "`bais plan --to-settle d --llm x/y`"
    )
    found = json.loads(ask("--domain", "split", "--llm", "some/unknown", "--json"))
    assert (found["is_asked"], {row["llm"] for row in found["predictions"]}) == (False, {None})
    assert {row["llm"] for row in found["decisions"]} == {None}
    assert {row["vendor"] for row in found["predictions"]} == {None}


@pytest.mark.parametrize("llm", ["vendor/h", "openrouter/vendor/h"])
def test_a_new_llm_of_a_vendor_that_was_asked_gets_the_prediction_for_that_vendor(ask, golden, llm):
    out = ask("--domain", "split", "--llm", llm)
    golden(out, f"For {llm}, not tested, as one more LLM of Maker A", "SACD", "0.70")
    found = json.loads(ask("--domain", "split", "--llm", llm, "--json"))
    assert {(row["llm"], row["vendor"]) for row in found["predictions"]} == {(None, "Maker A")}


def test_without_an_llm_the_prediction_is_for_a_new_vendor(ask, golden):
    golden(
        ask("--domain", "split"),
        "For an LLM of a new vendor, if it is like those tested",
        "an LLM of a new vendor",
    )
    found = json.loads(ask("--domain", "split", "--json"))
    assert {(row["llm"], row["vendor"]) for row in found["predictions"]} == {(None, None)}
    of_one = [prediction("sacd", None, gain=None, reason="one_vendor")]
    golden(said("prediction", places=places(FEW, n_llms=2), predictions=of_one), "one vendor")


def test_a_new_llm_whose_name_is_like_one_that_was_asked_is_told(ask, see, golden):
    golden(ask("--domain", "split", "--llm", "vendor/k"), "vendor/k", "vendor/f or")
    assert "vendor/k was not tested (perhaps vendor/" in see("--llm", "vendor/k")


def test_an_llm_is_named_without_its_vendor_too_as_tables_print_it_and_in_any_case(see):
    assert see("--llm", "A") == see("--llm", "Vendor/A") == see("--llm", "vendor/a")


@pytest.mark.parametrize("options", [(), ("--domain", "split"), ("--domain", "split", "--json")])
def test_a_name_that_is_a_misspelt_one_is_refused_in_one_sentence_and_another_version_is_not(see, refused, options):
    assert "no LLM vendor/aa (perhaps vendor/a)" in refused(*options, "--llm", "vendor/aa")
    assert "vendor/a2 was not tested" in see(*options[:2], "--llm", "vendor/a2")


def test_below_five_llms_a_new_one_is_told_why_there_is_no_prediction(golden):
    unknown = [prediction("sacd", None, gain=None, reason="too_few_llms")]
    text = said("prediction", llm="x/y", is_asked=False, places=places(FEW, n_llms=2), predictions=unknown)
    golden(text)


def test_one_llm_answers_from_its_own_trials_and_from_the_others_under_any_of_its_names(ask, see, golden):
    out = ask("--domain", "split", "--llm", "a-alias")
    golden(out, "split: for vendor/a", "Premortem")
    golden(out, "For vendor/a", "0.80")
    shown = see("--domain", "split", "--llm", "a-alias")
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("SACD  ")]
    assert (row[1:3], row[-1]) == (["avoid", "harms"], "-10.7")
    found = json.loads(ask("--domain", "split", "--llm", "a-alias", "--json"))
    assert {row["llm"] for row in found["decisions"]} == {None, "vendor/a"}
    assert {row["llm"] for row in found["predictions"]} == {"vendor/a"}


def test_an_llm_that_was_asked_without_a_baseline_is_not_said_to_be_new(ask, golden):
    golden(ask("--domain", "split", "--llm", "vendor/g"), "for vendor/g itself")


def test_one_goal_is_asked_alone_and_what_the_others_say_stays_in_sight(ask, golden):
    out = ask("--domain", "split", "--goal", "gap")
    golden(out, "split, by high–low gap", "SACD")
    golden(out, "By average answer", "SACD")
    found = json.loads(ask("--domain", "split", "--goal", "gap", "--json"))
    assert {row["goal"] for row in found["decisions"]} == {"gap"}


@pytest.mark.parametrize("columns", [80, 120, 200])
@pytest.mark.parametrize("arguments", [[], ["--llm", "vendor/a"], ["--llm", "some/unknown"]], ids=str)
@pytest.mark.parametrize("more", [[], ["--why"], ["--goal", "gap"]], ids=str)
def test_no_line_is_wider_than_the_terminal_and_no_table_falls_apart(see, monkeypatch, columns, arguments, more):
    for module in ("terminal", "gains"):
        monkeypatch.setattr(f"bais.{module}.terminal_width", lambda: columns)
    lines = see("--domain", "split", *arguments, *more).splitlines()
    assert max(map(len, lines)) <= columns
    assert not [line for line in lines if line.startswith("── ")]
    assert [line for line in lines if line.startswith("Devil's Advocate  ")]
    if "--why" not in more:
        assert len(lines) <= (17 if "some/unknown" in arguments else 15)  # here goals are opposed too
        assert any("┼" in line or "│" in line for line in lines)


def test_the_next_step_ends_the_answer_where_the_warehouse_knows_one(warehouse, ask, see, golden):
    assert "What would settle it" not in ask("--domain", "split")
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        of = {"study": "real", "domain": "split", "design": "to_settle"}
        row = settling("needed_vendors", needed_vendors=10, cost_usd=3.256)
        insert(made, "inference.power", **row, **of)
        insert(made, "inference.power", **row | {"power": 0.8, "needed_vendors": 14, "cost_usd": 6.5}, **of)
        insert(made, "inference.power", **settling("needed_trials", reason="not_reachable_with_trials"), **of)
        insert(made, "inference.power", **row | {"goal": "gap", "needed_vendors": 98}, **of)
    answer = ask("--domain", "split").splitlines()[-1]
    golden(answer, "3.26 USD", "5 more vendors", "SACD")
    golden(answer, "80 %", "9 more vendors", "6.50 USD")
    assert "5 more vendors" in see("--domain", "split", "--why")
    assert "9 more vendors" not in see("--domain", "split", "--why")
    assert len(json.loads(ask("--domain", "split", "--json"))["next_steps"]) == 4
    by_gap = ask("--domain", "split", "--goal", "gap").splitlines()[-1]
    golden(by_gap, "93", "3.26 USD")


def test_trials_that_would_do_are_named_with_vendors_and_a_cost_that_is_unknown_is_said_to_be(golden):
    rows = [settling("needed_vendors", needed_vendors=6), settling("needed_trials", needed_trials=90, cost_usd=1.5)]
    rows.append(
        settling("needed_vendors", technique_a="premortem", needed_vendors=28, settles="equivalent", cost_usd=2)
    )
    text = said("next", places=places(SPLIT), next_steps=rows)
    golden(text, "23", "2.00 USD", "1 more vendor")
    golden(text, "90 trials", "1.50 USD", "SACD")
    assert "What that costs is not known" in text
    rows = [row | {"cost_usd": row["cost_usd"] or 1.0} for row in rows]
    assert "not known" not in said("next", places=places(SPLIT), next_steps=rows)


def test_what_more_vendors_cost_is_said_once():
    rows = [
        settling("needed_vendors", needed_vendors=7, cost_usd=3),
        settling("needed_trials", needed_trials=9, cost_usd=5),
    ]
    asks_anew = "`bais plan` writes it. To ask 1 more LLM costs 2 to 9 USD."
    text = said("next", places=places(SPLIT), next_steps=rows, study_file=asks_anew)
    assert "(3.00 USD)" not in text
    assert "(5.00 USD)" in text
    assert asks_anew in text


def test_a_gain_whose_interval_ends_above_the_whole_loss_is_named_with_both(golden):
    shown = said("bounds", places=places(FEW))  # of losses of 32.3
    golden(shown, "113.9 of 32.3", "648.0 of 32.3", "32.3 points")
    assert "by average answer" not in said("bounds", places=places(FEW), goal="gap")
    assert said("bounds", places=places(SPLIT, loss_control=37.3)) == ""
    own = said("bounds", places=places(FEW), own=places(FEW, llm="vendor/a"), llm="vendor/a")
    golden(own, "113.9 of 32.3", "32.3 points")


def test_of_one_technique_alone_it_is_not_said_how_probably_it_is_best(ask, golden):
    alone = said("prediction", places=places(FEW), predictions=[prediction("sacd", None)])
    assert "best" not in alone
    golden(alone, "0.91", "SACD")
    one = [prediction("sacd", 0.3), prediction("premortem", 0.2), of_no_technique(0.5)]
    golden(said("prediction", places=places(SPLIT), predictions=one), "a plain prompt is", "0.50", "0.30")
    alone = [prediction("sacd", 0.6), of_no_technique(0.4)]
    assert "likeliest" not in said("prediction", places=places(FEW), predictions=alone)
    assert "likeliest" in ask("--domain", "split")
    assert "likeliest" not in ask("--domain", "few")


def test_the_cheaper_of_two_techniques_to_use_is_named(golden):
    costs = {"devils_advocate": {"cost_usd_per_1000": 3.0}, "premortem": {"cost_usd_per_1000": 1.0}}
    golden(said("cost", places=places(SPLIT), costs=costs))
    assert not said("cost", places=places(SPLIT), costs=costs | {"premortem": {"cost_usd_per_1000": 9.0}})
    assert not said("cost", places=places(SPLIT), costs=costs | {"premortem": {"cost_usd_per_1000": None}})


def test_a_study_of_llms_is_preferred_to_a_larger_simulated_one(ask, see, golden):
    assert json.loads(ask("--domain", "split", "--json"))["study"] == "real"
    golden(see("--domain", "split"), "also pretended")


def test_the_version_that_claims_are_about_does_not_answer(warehouse, ask, refused, golden):
    before = ask("--domain", "split")
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        for table in ("marts.trials", "inference.decisions", "inference.predictions"):
            made.execute(f"insert into {table} from {table} select * replace ('real@v1' as study) where study = 'real'")
        made.execute("insert into marts.trials from marts.trials where study = 'real@v1'")
    assert ask("--domain", "split") == before
    golden(refused("--domain", "split", "--study", "real@v1"), "real@v1")


def test_a_domain_of_simulated_respondents_is_named_and_told_beside_no_llms(monkeypatch, capsys):
    places = [
        {"domain": domain, "is_simulated": is_simulated, "study": "s", "paradigm": "anchoring"}
        for domain, is_simulated in (("housing", True), ("salary", False))
    ]
    told = []
    for name, stand_in in {
        "evidence_on": lambda warehouse, place, *_, **__: place["domain"],
        "say_places": lambda evidences, goal: told.append(evidences),
        "shortfalls_in_short": lambda *_: [],
        "unread_lines": lambda *_: [],
    }.items():
        monkeypatch.setattr(recommend_module, name, stand_in)
    recommend_module._say_each_domain(None, places, None, None)
    recommend_module._say_each_domain(None, places[:1], None, None)
    assert told == [["salary"], ["housing"]]
    assert capsys.readouterr().out.splitlines() == [
        "housing: SIMULATED respondents, no LLM was asked; `--domain housing` says what they answered.",
        "`--domain salary` says more, with `--why` why; `bais words`: what words mean.",
        "`--domain housing` says more, with `--why` why; `bais words`: what words mean.",
    ]


@pytest.mark.parametrize("chosen", [["--domain", "split", "--study", "pretended"], ["--domain", "invented"]])
def test_simulated_data_alone_says_first_that_no_llm_was_asked(ask, chosen, golden):
    golden(ask(*chosen), "SIMULATED", "LLM")
    found = json.loads(ask(*chosen, "--json"))
    assert found["is_simulated"] is True
    assert found["answer"].startswith("SIMULATED")


def test_without_a_baseline_all_is_unclear_and_there_is_no_table(see, golden):
    golden(see("--domain", "bare"))


def test_costs_are_those_of_a_thousand_decisions_and_null_with_a_reason(ask, golden):
    rows = {
        row["technique"]: row
        for row in json.loads(ask("--domain", "split", "--study", "pretended", "--json"))["techniques"]
    }
    assert rows["sacd"]["cost_usd_per_1000"] == pytest.approx(3)
    assert rows["sacd"]["calls_per_trial"] == pytest.approx(6)
    assert (rows["premortem"]["cost_usd_per_1000"], rows["premortem"]["reason"]) == (None, "calls_not_recorded")
    costs = {"sacd": {"cost_usd_per_1000": 3.0, "reason": None}}
    golden(" ".join(why(Evidence("d", places=places(SPLIT), llms=LLMS, goals=LEADING, costs=costs))), "USD")
    unknown = {"sacd": {"cost_usd_per_1000": None, "reason": "calls_not_recorded"}}
    assert "Cost" not in " ".join(why(Evidence("d", places=places(SPLIT), llms=LLMS, goals=LEADING, costs=unknown)))


def test_json_holds_the_columns_of_the_tables_with_every_digit(warehouse, ask):
    found = json.loads(ask("--domain", "split", "--json"))
    (sacd,) = [row for row in found["decisions"] if (row["technique"], row["goal"]) == ("sacd", "gap")]
    with contextlib.closing(duckdb.connect(str(warehouse), read_only=True)) as made:
        columns = {row[0] for row in made.execute("describe inference.decisions").fetchall()}
    assert columns <= sacd.keys()
    assert (sacd["gain_low"], sacd["decision"]) == (20.3, "use")
    assert found["answer"] == found["sentences"][0]["text"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--domain", "framing"],
        ["--domain", "splitt"],
        ["--domain", "invented", "--study", "real"],
        ["--domain", "split", "--llm", "z"],
        ["--domain", "split", "--study", "reel"],
        ["--domain", "split", "--goal", "displ"],
        ["--domain", "split", "--goal", "susceptibility"],
        ["--domain", "split", "--goal", "both"],
        ["--json", "--study", "real"],
        ["--study", "other"],
    ],
    ids=" ".join,
)
def test_what_there_is_not_is_answered_by_what_there_is(refused, arguments, golden):
    golden(refused(*arguments))


def test_a_probability_from_draws_is_never_certain():
    assert [probability(p) for p in (1.0, 0.0, 0.604, None)] == ["> 0.99", "< 0.01", "0.60", None]


def test_every_code_of_the_table_has_words(golden):
    codes = "too_few_llms one_llm zero_variance no_variance_to_correct missing_direction no_baseline own_control"
    codes += " baseline_below_10 baseline_below_30 attrition_could_reverse reading_would_change confounded_prompt"
    codes += " control_not_asked too_few_vendors no_variance before_after placebo_not_asked not_shown_over_placebo"
    codes += " family_not_frozen family_changed outside_the_family one_case llms_differ gap_shrinks_with_level"
    codes += " no_technique_not_asked one_technique valid_range_unknown"
    for code in codes.split():
        assert in_words(code) != code
        assert "_" not in in_words(code)
    assert in_words("no_baseline; of_tomorrow").endswith("; of tomorrow")
    golden(in_words(None))


def test_no_sentence_calls_a_control_nothing(ask):
    for domain in ("split", "calm", "few", "bare"):
        out = ask("--domain", domain)
        assert "nothing is" not in out.replace("nothing is established", "")
        assert "doing nothing" not in ask("--domain", domain)


def test_names_that_could_act_on_a_terminal_are_escaped(warehouse, see):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        made.execute("update seeds.techniques set display_name = 'SA' || chr(27) || '[31mCD' where technique = 'sacd'")
    assert "\x1b" not in see("--domain", "split") + see("--domain", "split", "--why") + see()


@pytest.mark.slow("builds the recorded archive")
@pytest.mark.parametrize("domain", ["loan", "medical", "salary"])
def test_the_recorded_archive_decides_nothing_on_a_domain_of_two_llms(recorded, monkeypatch, capsys, domain, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(recorded.path))
    assert main(["recommend", "--domain", domain, "--study", "voder-bais", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    golden(found["answer"])
    assert {row["decision"] for row in found["decisions"]} == {"no_evidence", None}
    about = {sentence["about"]: sentence["text"] for sentence in found["sentences"]}
    golden(about["scope"], "2 LLMs")


def test_the_recorded_archive_says_of_loan_what_helps_and_harms_each_llm(recorded, monkeypatch, capsys, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(recorded.path))
    assert main(["recommend", "--domain", "loan", "--study", "voder-bais", "--json"]) == 0
    (told,) = [of["text"] for of in json.loads(capsys.readouterr().out)["sentences"] if of["about"] == "each"]
    golden(told, "Each LLM", "SACD", "of 2")


@pytest.mark.parametrize(
    "arguments",
    [
        ["headlines"],
        ["recommend"],
        ["recommend", "--domain", "judicial"],
        ["recommend", "--goal", "displacement"],
        ["recommend", "--domain", "judicial", "--llm", "openai/gpt-5.2"],
        ["recommend", "--llm", "openai/gpt-5.2"],
        ["recommend", "--domain", "judicial", "--llm", "some/unknown"],
        ["recommend", "--domain", "loan"],
    ],
    ids=" ".join,
)
def test_the_recorded_archive_is_told_in_15_lines_of_80_columns(recorded, monkeypatch, capsys, arguments, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(recorded.path))
    for module in ("terminal", "gains"):
        monkeypatch.setattr(f"bais.{module}.terminal_width", lambda: 80)
    assert main(arguments) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.startswith("── ") or "Not shown" in line]
    assert set(lines[1]) == {"─", " "}
    assert "│" in out
    golden(out.partition("For some/unknown")[0])


def test_without_a_domain_all_are_in_one_table_and_other_biases_are_named(see, golden):
    golden(see("--study", "real"))
    assert "invented" in see()
    golden(see(), "framing")


def test_a_bias_of_which_nothing_is_compared_is_not_offered(warehouse, see, refused):
    assert "says how large" in refused("--study", "other")
    with contextlib.closing(duckdb.connect(str(warehouse))) as connection:
        connection.execute("delete from inference.outcome_contrasts")
    assert "says how large" not in see()
    said = refused("--study", "other")
    assert "say which other bias with --paradigm: framing" in said
    assert "says how large" not in said


def test_places_of_too_few_vendors_are_told_in_one_paragraph_with_the_llms_that_are_helped_and_harmed(golden):
    def few(domain, **more):
        evidence = {"places": places(FEW, n_llms=2), "llms": LLMS[:2], "goals": LEADING} | more
        return Evidence(domain, **evidence)

    golden(of_few([few("few"), few("calm")]))
    golden(of_few([few("few"), few("calm", llms=LLMS[:3])]))
    golden(of_few([few("few", llm="x/y", is_asked=False)]))
    golden(of_few([few("few", llm="vendor/a", own=places(FEW, n_llms=1, llm="vendor/a"))]))
    golden(of_few([few("few")], "gap"))


@pytest.mark.parametrize(
    ("gain", "low", "high", "drawn"),
    [
        (0.0, -5.0, 5.0, "··├──○──┤··"),
        (4.0, 2.0, 8.0, "·····│├○─┤·"),
        (-8.0, -30.0, 4.0, "◄○───┼─┤···"),
        (1.0, None, None, "·····│○····"),
        (None, None, None, "·····│·····"),
    ],
)
def test_a_gain_is_drawn_where_it_lies_and_an_interval_that_leaves_the_scale_ends_in_an_arrow(gain, low, high, drawn):
    assert draw(gain, low, high, (-10, 10), 11, is_decided=False) == drawn


def test_a_measure_goes_with_a_paradigm_and_domain_and_goal_do_not(refused, golden):
    golden(refused("--measure", "chose_sure"), "--measure", "--paradigm")
    assert "with this --paradigm say --measure" in refused("--paradigm", "framing", "--domain", "loan")


@pytest.mark.parametrize(
    "arguments", [[], ["--domain", "split"], ["--domain", "split", "--why"]], ids=["each domain", "in brief", "why"]
)
def test_what_could_not_be_read_is_said_with_the_files_and_reasons_that_have_most(warehouse, see, arguments):
    leave_unread(warehouse, "real")
    said = see(*arguments)
    assert len(SAID_OF_UNREAD.findall(said)) == 1
    assert "gone.jsonl" not in said


def test_what_could_not_be_read_of_another_study_is_not_said(warehouse, ask, see):
    leave_unread(warehouse, "elsewhere")
    assert "could not be read" not in see("--domain", "split")
    assert json.loads(ask("--domain", "split", "--json"))["unread_lines"] == []


@pytest.fixture
def changed(warehouse):
    """Of 20 trials of each of two LLMs 3 and 2 were withdrawn, and 1 of the second reread; in another domain all."""
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        for domain, paradigm, llm, n_asked in (
            ("split", "anchoring", "vendor/a", 10), ("split", "anchoring", "vendor/a", 7),
            ("split", "anchoring", "vendor/b", 18), ("split", "framing", "vendor/b", 400),
        ):  # fmt: skip
            insert(made, "marts.attrition", study="real", domain=domain, paradigm=paradigm, llm=llm, n_asked=n_asked)
        for domain, paradigm, llm, change, why, n_trials in (
            ("split", "anchoring", "vendor/a", "withdrawn", "cut off", 3),
            ("split", "anchoring", "vendor/b", "withdrawn", "cut off", 1),
            ("split", "anchoring", "vendor/b", "withdrawn", "typed twice\x1b[31m", 1),
            ("split", "anchoring", "vendor/b", "reread", "a year was meant", 1),
            ("split", "framing", "vendor/b", "withdrawn", "cut off", 400),
            ("calm", "anchoring", "vendor/b", "withdrawn", "cut off", 400),
        ):
            insert(
                made, "marts.post_hoc_changes", study="real", domain=domain, paradigm=paradigm, llm=llm,
                change=change, why=why, n_trials=n_trials,
            )  # fmt: skip


def test_why_says_how_many_trials_were_withdrawn_or_reread_and_the_reasons(changed, see, golden):
    out = see("--domain", "split", "--why")
    golden(out, "5 of 40", "40 trials")
    assert "\x1b[31m" not in out
    golden(out, "1 trial")
    golden(out, "a year was meant")
    assert "of vendor/" not in re.findall(r"[^.]* withdrawn [^.]*\.", out)[0]


def test_why_says_it_of_the_llm_that_is_asked_about_too(changed, see, golden):
    out = see("--domain", "split", "--llm", "vendor/a", "--why")
    golden(out, "5 of 40", "40 trials")
    golden(out, "vendor/a", "3 of 20", "20 trials")
    assert out.count("a person read") == 1


def test_why_says_nothing_of_withdrawals_where_there_were_none(changed, see):
    assert "withdrawn" not in see("--domain", "few", "--why")


def test_where_several_goals_lead_it_is_said_by_how_many_of_them_something_is_decided():
    both_lead = {name: GOALS_IN_WORDS[name]._replace(leads=True) for name in GOALS}
    answer = said("answer", places=places(SPLIT), goals=both_lead)
    assert "use Premortem by 1 of the 2 comparisons that lead (" in answer
    assert "Devil's Advocate" in answer.partition("Premortem")[2], "helps by one and harms by the other"
    turned = [
        row | {"reason": "bias_reversed", "certainty": "withheld", "n_reversed": 2}
        if row["decision"] == "no_evidence"
        else row
        for row in places(SPLIT)
    ]
    assert "Premortem turns the bias round" in said("answer", places=turned, goals=both_lead)


def test_what_is_confounded_stands_in_parentheses_whatever_it_is_compared_with(warehouse, see):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        row = next(row for row in places(USED, study="real", domain="split") if row["goal"] == "displacement")
        row |= PLACEBO_ROW | {"decision": None, "certainty": None, "reason": "confounded_prompt"}
        insert(made, "inference.decisions", **{key: row[key] for key in row if key not in ("name", "control_name")})
    (line,) = [
        line for line in see("--domain", "split", "--why").splitlines() if line.startswith("  vs Random Control")
    ]
    assert "(+4 [-10, +19])" in line
