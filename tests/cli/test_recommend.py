import contextlib
import json
import shutil

import duckdb
import pytest

from analysis.advice import Evidence, advise, probability
from bais.main import main

SPLIT = {
    # technique: decision, loss, gain, bounds; by deviation, by susceptibility
    "devils_advocate": (("use", 19.0, 13.3, 11.5, 15.2), ("avoid", 70.9, -24.2, -28.0, -20.7)),
    "premortem": (("use", 25.2, 7.1, 4.9, 9.5), ("avoid", 62.6, -15.9, -20.8, -11.3)),
    "sacd": (("avoid", 43.0, -10.7, -15.1, -6.4), ("use", 18.3, 28.4, 20.3, 37.3)),
    "no_technique": ((None, 32.3, None, None, None), (None, 46.7, None, None, None)),
}
CALM = {
    "devils_advocate": (("equivalent", 2.7, 3.9, 3.0, 4.8), ("equivalent", 3.3, -3.1, -4.9, -1.4)),
    "sacd": (("equivalent", 3.8, 2.8, 1.1, 4.5), ("avoid", 28.1, -28.0, -31.3, -24.6)),
    "no_technique": ((None, 6.6, None, None, None), (None, 0.2, None, None, None)),
}
NAMES = {
    "devils_advocate": "Devil's Advocate",
    "premortem": "Premortem",
    "sacd": "SACD",
    "no_technique": "No technique",
}
METRICS = ("deviation", "susceptibility")

TABLES = """
create schema seeds; create schema marts; create schema inference;
create table seeds.techniques (technique varchar, display_name varchar);
create table seeds.llm_aliases as select 'a-alias' as alias, 'vendor/a' as llm;
create table marts.trials (study varchar, domain varchar, llm varchar, source varchar);
create table marts.technique_rankings (
    study varchar, domain varchar, llm varchar, technique varchar, not_identified boolean, reason varchar
);
create table marts.attrition (
    study varchar, llm varchar, domain varchar, technique varchar, anchor_direction varchar, n_answered bigint
);
create table marts.attrition_bounds (
    study varchar, domain varchar, llm varchar, technique varchar, n_asked bigint, n_missing bigint,
    deviation_least double, deviation_most double
);
create table marts.parse_disagreements (
    study varchar, llm varchar, domain varchar, technique varchar, anchor_direction varchar
);
create table marts.technique_costs (
    study varchar, llm varchar, technique varchar, calls_per_trial double, cost_usd_per_trial double
);
create table inference.rank_probabilities (
    study varchar, domain varchar, llm varchar, technique varchar, metric varchar, weighting varchar, method varchar,
    loss double, gain double, gain_low double, gain_high double, p_best double, p_worst double,
    p_worse_than_nothing double, p_metrics_disagree double, rank_low bigint, rank_high bigint, decision varchar,
    level double, margin_pp double, n_resamples bigint, seed bigint, n_trials bigint, n_llms bigint, reason varchar
);
create table inference.equivalence_tests (
    study varchar, domain varchar, technique_a varchar, technique_b varchar, metric varchar, level varchar,
    method varchar, row_set varchar, baseline_scope varchar, margin_pp double, difference double, low_90 double,
    high_90 double, equivalent boolean, status varchar
);
create table inference.sensitivity (
    study varchar, domain varchar, headline varchar, predicate varchar, technique varchar, excluded_llm varchar,
    baseline_scope varchar, weighting varchar, row_set varchar, response_source varchar, stands boolean,
    share_standing double, n_specifications bigint
);
"""


def insert(warehouse, table, **values):
    marks = ", ".join("?" * len(values))
    warehouse.execute(f"insert into {table} ({', '.join(values)}) values ({marks})", list(values.values()))


def places(of, *, reason="too_few_llms", **more):
    """Rows of `inference.rank_probabilities` of LLM weighting, with names."""
    return [
        {
            "technique": technique, "name": NAMES[technique], "metric": metric, "weighting": "llm", "method": "trial",
            "decision": decision, "loss": loss, "gain": gain, "gain_low": low, "gain_high": high, "p_best": 0.5,
            "p_worst": 0.5, "p_worse_than_nothing": None if decision is None else 0.5, "p_metrics_disagree": 0.999,
            "rank_low": 1, "rank_high": 2, "level": 0.025, "margin_pp": 5.0, "n_resamples": 1000, "seed": 1,
            "n_trials": 120, "n_llms": 2, "reason": reason, **more,
        }
        for technique, both in of.items()
        for metric, (decision, loss, gain, low, high) in zip(METRICS, both, strict=True)
    ]  # fmt: skip


def said(about, **evidence):
    """The sentences of advice about one thing, together."""
    metric = evidence.pop("metric", None)
    evidence = {"domain": "d", "llms": ["vendor/a", "vendor/b"]} | evidence
    return " ".join(s["text"] for s in advise(Evidence(**evidence), metric) if s["about"] == about)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("recommend") / "some.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as made:
        made.execute(TABLES)
        made.executemany("insert into seeds.techniques values (?, ?)", list(NAMES.items()))
        for study, source, n in (("real", "recorded", 2), ("pretended", "simulated", 9)):
            for llm in ("vendor/a", "vendor/b"):
                for domain in ("split", "calm"):
                    made.executemany("insert into marts.trials values (?, ?, ?, ?)", [[study, domain, llm, source]] * n)
            for domain, of in (("split", SPLIT), ("calm", CALM)):
                for llm in (None, "vendor/a", "vendor/b"):
                    reason = "one_llm" if llm else "too_few_llms"
                    for row in places(of, reason=reason, study=study, domain=domain, llm=llm):
                        insert(made, "inference.rank_probabilities", **{k: row[k] for k in row if k != "name"})
        made.execute("insert into marts.trials values ('pretended', 'invented', 'vendor/a', 'simulated')")
        made.execute("insert into marts.trials values ('real', 'bare', 'vendor/c', 'recorded')")
        made.execute(
            "insert into marts.technique_rankings values "
            "('real', 'bare', null, 'sacd', null, 'no_baseline; nothing_to_rank')"
        )
        made.execute("insert into marts.technique_costs values ('pretended', 'vendor/a', 'sacd', 5, 0.002)")
        made.execute("insert into marts.technique_costs values ('pretended', 'vendor/b', 'sacd', 7, 0.004)")
    return path


@pytest.fixture
def warehouse(made_once, tmp_path, monkeypatch):
    path = shutil.copy(made_once, tmp_path / "some.duckdb")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


@pytest.fixture
def ask(warehouse, capsys):
    """Run `bais recommend`, which must succeed, and return its stdout."""

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


def test_the_technique_that_gathers_answers_far_from_the_baseline_is_not_recommended_and_the_reason_is_said(ask):
    out = ask("--domain", "split")
    answer = out.splitlines()[0]
    assert answer == (
        "split: use Devil's Advocate (closest to the LLMs' own unanchored judgment); do not use SACD (farther from it "
        "than doing nothing)."
    )
    assert "The metrics disagree (probability > 0.99): by susceptibility, SACD is better than doing nothing" in out
    assert (
        "SACD is best by susceptibility and worst by deviation: farther from the LLMs' own unanchored judgment than "
        "doing nothing (43.0 pp, 32.3 without), so it is not recommended."
    ) in out
    assert "Devil's Advocate is best by deviation and worst by susceptibility" in out
    assert "This speaks only of the 2 LLMs that were asked: vendor/a and vendor/b." in out


def test_where_all_is_equivalent_to_doing_nothing_nothing_is_recommended(ask):
    answer = ask("--domain", "calm").splitlines()[0]
    assert answer == (
        "calm: use no technique; Devil's Advocate and SACD are equivalent to doing nothing (within 5 pp)."
    )


def test_both_metrics_stand_side_by_side_with_every_number_of_the_table(ask):
    out = ask("--domain", "split")
    (sacd,) = [line.split() for line in out.splitlines() if line.startswith("SACD ") and "unknown" in line]
    assert " ".join(sacd) == (
        "SACD avoid 43.0 -10.7 (-15.1 to -6.4) 0.50 0.50 use 18.3 +28.4 (+20.3 to +37.3) 0.50 0.50 120 2 unknown"
    )
    assert "by deviation" in out
    assert "by susceptibility" in out


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal(ask, monkeypatch, columns):
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: columns)
    lines = ask("--domain", "split").splitlines()
    assert max(map(len, lines)) <= columns
    is_in_one = any(line.startswith("SACD") and "avoid" in line and "use" in line for line in lines)
    assert is_in_one == (columns == 200)


def test_one_metric_is_asked_alone_and_what_the_other_says_stays_in_sight(ask):
    out = ask("--domain", "split", "--metric", "susceptibility")
    assert out.startswith("split, by susceptibility: use SACD (smallest spread between high and low anchors)")
    assert "SACD is best by susceptibility and worst by deviation" in out
    found = json.loads(ask("--domain", "split", "--metric", "susceptibility", "--json"))
    assert found["metrics"] == ["susceptibility"]
    assert all("deviation" not in row for row in found["techniques"])


def test_a_study_of_llms_is_preferred_to_a_larger_simulated_one(ask):
    assert json.loads(ask("--domain", "split", "--json"))["study"] == "real"
    assert "split is also in pretended (--study)" in ask("--domain", "split")


def test_the_version_that_claims_are_about_does_not_answer(warehouse, ask, refused):
    before = ask("--domain", "split")
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        for table in ("marts.trials", "inference.rank_probabilities"):
            made.execute(f"insert into {table} from {table} select * replace ('real@v1' as study) where study = 'real'")
        made.execute("insert into marts.trials from marts.trials where study = 'real@v1'")
    assert ask("--domain", "split") == before
    assert "there is no study real@v1" in refused("--domain", "split", "--study", "real@v1")


@pytest.mark.parametrize("chosen", [["--domain", "split", "--study", "pretended"], ["--domain", "invented"]])
def test_simulated_data_alone_says_first_that_no_llm_was_asked(ask, chosen):
    assert ask(*chosen).startswith("SIMULATED respondents, no LLM was asked: ")
    found = json.loads(ask(*chosen, "--json"))
    assert found["is_simulated"] is True
    assert found["answer"].startswith("SIMULATED")


def test_one_llm_answers_from_its_own_trials_under_any_of_its_names(ask):
    out = ask("--domain", "split", "--llm", "a-alias")
    assert "This speaks only of vendor/a, of its own trials." in out
    assert "the LLM's own unanchored judgment" in out
    assert json.loads(ask("--domain", "split", "--llm", "a-alias", "--json"))["llms"] == ["vendor/a"]


def test_without_a_baseline_there_is_no_evidence_and_no_table(ask):
    out = ask("--domain", "bare")
    assert out.startswith("bare: no evidence for any technique: there is no baseline")
    assert "P(best)" not in out


def test_costs_are_those_of_a_thousand_decisions_and_null_with_a_reason(ask):
    rows = {
        row["technique"]: row
        for row in json.loads(ask("--domain", "split", "--study", "pretended", "--json"))["techniques"]
    }
    assert rows["sacd"]["cost_usd_per_1000"] == pytest.approx(3)
    assert rows["sacd"]["calls_per_trial"] == pytest.approx(6)
    assert (rows["premortem"]["cost_usd_per_1000"], rows["premortem"]["reason"]) == (None, "calls_not_recorded")
    assert "Cost unknown: the calls were not recorded." in ask("--domain", "split")


def test_json_holds_the_numbers_with_every_digit(ask):
    found = json.loads(ask("--domain", "split", "--json"))
    (sacd,) = [row for row in found["techniques"] if row["technique"] == "sacd"]
    assert sacd["susceptibility"]["gain_low"] == 20.3
    assert sacd["deviation"]["decision"] == "avoid"
    assert [sentence["about"] for sentence in found["sentences"]][:2] == ["answer", "metrics"]
    assert found["answer"] == found["sentences"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--domain", "splitt"], "there is no domain splitt (perhaps split); there is bare, calm, invented, split"),
        (["--domain", "invented", "--study", "real"], "there is no domain invented in study real; there is bare, calm"),
        (["--domain", "split", "--llm", "a"], "there is no LLM a (perhaps vendor/a); there is vendor/a"),
        (["--domain", "split", "--study", "reel"], "there is no study reel (perhaps real); there is real, pretended"),
        (["--domain", "split", "--metric", "dev"], "there is no metric dev (perhaps deviation); there is deviation"),
        (
            ["--domain", "bare", "--llm", "vendor/a"],
            "vendor/a was not asked in the domain bare; it was in calm, invented",
        ),
        ([], "say which domain with --domain: there is bare, calm, invented, split"),
    ],
)
def test_what_there_is_not_is_answered_by_what_there_is(refused, arguments, sentence):
    assert refused(*arguments).startswith(sentence)


def test_where_nothing_is_decided_there_is_no_evidence():
    undecided = {"sacd": (("no_evidence", 2.0, 26.0, -1.3, 42.0), ("no_evidence", 38.0, -12.0, -39.0, 10.0))}
    answer = said("answer", places=places(undecided))
    assert answer == "d: no evidence for any technique: doing nothing is not shown to be worse."


def test_a_technique_that_is_better_in_the_estimate_alone_does_not_take_the_place_of_a_shown_one():
    of = {
        "sacd": (("no_evidence", 2.0, 26.0, -1.3, 42.0), ("no_evidence", 38.0, -12.0, -39.0, 10.0)),
        "premortem": (("use", 6.5, 22.0, 3.9, 34.8), ("no_evidence", 46.0, -21.0, -51.0, 10.0)),
    }
    assert said("answer", places=places(of)) == (
        "d: use Premortem (closer to the LLMs' own unanchored judgment than doing nothing); SACD is better still in "
        "the estimate (P(best) 0.50), but not shown to be better than doing nothing."
    )


def test_no_technique_is_not_the_answer_where_the_other_metric_is_for_one():
    of = {"devils_advocate": (("equivalent", 3.8, -1.6, -4.4, 1.1), ("use", 14.8, 9.2, 3.6, 14.7))}
    assert said("answer", places=places(of)).startswith("d: no technique is shown to be closer to")
    assert said("conflict", places=places(of)) == (
        "Better than doing nothing by one metric and equivalent by the other: Devil's Advocate."
    )


def test_answers_that_never_vary_decide_nothing_and_say_so():
    of = {"sacd": ((None, 5.0, -5.0, None, None), (None, 0.0, 0.0, None, None))}
    assert "all its answers are the same" in said("answer", places=places(of, reason="one_llm; zero_variance"))


def test_a_spread_equivalent_to_zero_leaves_nothing_to_remove():
    test = {
        "technique_a": "no_technique", "technique_b": None, "metric": "spread_pp", "equivalent": True,
        "difference": 0.16, "low_90": -1.9, "high_90": 2.2, "margin_pp": 5.0,
    }  # fmt: skip
    assert "equivalent to zero (0.2 pp, 90 % interval -1.9 to 2.2, margin 5)" in said(
        "no_spread", places=places(CALM), equivalences=[test]
    )
    assert not said("no_spread", places=places(CALM), equivalences=[test | {"equivalent": False}])


def test_attrition_names_what_it_could_undo():
    rankings = [{"technique": "sacd", "not_identified": True, "reason": None}]
    bounds = [
        {"technique": technique, "n_asked": 120, "n_missing": missing, "deviation_least": least, "deviation_most": most}
        for technique, missing, least, most in (
            ("no_technique", 0, 32.3, 32.3), ("devils_advocate", 0, 19.0, 19.0), ("premortem", 39, 0.0, 59.0),
            ("sacd", 1, 40.7, 43.5),
        )
    ]  # fmt: skip
    text = said("attrition", places=places(SPLIT), rankings=rankings, bounds=bounds)
    assert "39 of 120 of Premortem and 1 of 120 of SACD" in text
    assert text.endswith("That could undo what is said of Premortem.")
    assert not said(
        "attrition", places=places(SPLIT), rankings=[rankings[0] | {"not_identified": False}], bounds=bounds
    )


def test_a_contested_baseline_says_whether_it_would_change_anything():
    contested = [{"llm": "vendor/a", "n_contested": 8, "n_trials": 30}]
    specifications = [
        {"predicate": "closer_than_no_technique", "technique": "sacd", "response_source": source, "stands": stands,
         "share_standing": 0.5, "n_specifications": 36}
        for source, stands in (("reparsed", False), ("recorded", True))
    ]  # fmt: skip
    text = said("baselines", places=places(SPLIT), contested=contested, specifications=specifications)
    assert "8 of 30 of vendor/a" in text
    assert text.endswith("With the recorded numbers SACD would be closer to the baseline than no technique.")


@pytest.mark.parametrize(
    ("cost", "end"), [(1.0, "costs less (1.00 instead of 3.00 USD per 1,000 decisions)."), (None, "is not known.")]
)
def test_an_equivalent_technique_is_named_where_it_costs_less_or_costs_are_unknown(cost, end):
    pair = {
        "technique_a": "premortem", "technique_b": "devils_advocate", "metric": "percent_of_baseline",
        "equivalent": True, "margin_pp": 5.0,
    }  # fmt: skip
    costs = {"devils_advocate": {"cost_usd_per_1000": 3.0}, "premortem": {"cost_usd_per_1000": cost}}
    assert said("cost", places=places(SPLIT), equivalences=[pair], costs=costs).endswith(end)
    dearer = costs | {"premortem": {"cost_usd_per_1000": 9.0}}
    assert not said("cost", places=places(SPLIT), equivalences=[pair], costs=dearer)


def test_enough_llms_speak_of_others_like_them():
    assert said("scope", places=places(SPLIT, reason=None)).startswith("This speaks of LLMs like the 2 LLMs")


def test_a_probability_from_resamples_is_never_certain():
    assert [probability(p) for p in (1.0, 0.0, 0.604, None)] == ["> 0.99", "< 0.01", "0.60", None]


def test_names_that_could_act_on_a_terminal_are_escaped(warehouse, ask):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        made.execute("update seeds.techniques set display_name = 'SA' || chr(27) || '[31mCD' where technique = 'sacd'")
    assert "\x1b" not in ask("--domain", "split")


def test_the_recorded_archive_gives_no_technique_for_loan_that_worsens_the_distance(recorded, monkeypatch, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(recorded.path))
    assert main(["recommend", "--domain", "loan", "--study", "voder-bais", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"].startswith("loan: use Devil's Advocate")
    assert "do not use SACD" in found["answer"]
    conflict = " ".join(s["text"] for s in found["sentences"] if s["about"] == "conflict")
    assert "SACD is best by susceptibility and worst by deviation: farther from" in conflict


def test_the_recorded_archive_gives_no_technique_for_medical(recorded, monkeypatch, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(recorded.path))
    assert main(["recommend", "--domain", "medical", "--study", "voder-bais", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"].startswith("medical: use no technique; ")
    about = {sentence["about"]: sentence["text"] for sentence in found["sentences"]}
    assert about["no_spread"].startswith("There is no anchoring spread to remove")
    assert about["scope"].startswith("This speaks only of the 2 LLMs that were asked")
