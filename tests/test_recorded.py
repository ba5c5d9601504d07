"""Document A's own tables, from the recorded trials. Every number below is cited from the document."""

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from statistics import fmean

import duckdb
import pytest

from tests.tools.readme import README, blocks
from tests.tools.report_page import numbers_that_differ

ROOT = Path(__file__).resolve().parent.parent
RANKED = "('devils_advocate', 'premortem', 'random_control', 'sacd')"


def test_baselines_print_table_3(recorded):
    # document A, Table 3
    published = {
        "openai/o4-mini": (35.7, 4.7),
        "openai/o3": (33.7, 5.6),
        "z-ai/glm-5": (31.9, 5.7),
        "openai/gpt-5.2": (31.8, 5.7),
        "moonshotai/kimi-k2.5": (30.6, 7.4),
        "deepseek/deepseek-v3.2": (29.6, 8.0),
        "anthropic/claude-haiku-4.5": (29.1, 11.2),
        "openai/gpt-4.1": (25.1, 3.4),
        "anthropic/claude-sonnet-4.6": (24.1, 1.3),
        "anthropic/claude-opus-4.6": (18.0, 0.0),
    }
    rows = recorded.query(
        "select llm, mean, sd * sqrt((n_trials - 1) / n_trials) from marts.conditions "
        "where study = 'voder-bais' and domain = 'judicial' and is_baseline and row_set = 'accepted' "
        "and temperature_scope = 'pooled'"
    )
    assert {llm: (round(mean, 1), round(sd, 1)) for llm, mean, sd in rows} == published


def test_the_ten_judicial_llms_are_of_five_vendors(recorded):
    # of an eleventh, MiniMax's, there is no unanchored answer
    rows = recorded.query(
        "select vendor, count(*), bool_and(is_listed) from intermediate.int_vendors where llm in (select llm from "
        "marts.conditions where study = 'voder-bais' and domain = 'judicial' and is_baseline and mean is not null) "
        "group by vendor order by vendor"
    )
    assert rows == [
        ("Anthropic", 3, True), ("DeepSeek", 1, True), ("Moonshot", 1, True), ("OpenAI", 4, True), ("Zhipu", 1, True),
    ]  # fmt: skip


def test_technique_effects_print_tables_1_4_and_6(recorded):
    # document A, Tables 1 and 4 (both), Table 6 (low, high)
    published = {
        ("devils_advocate", "both"): 63.6,
        ("devils_advocate", "low"): 51.8,
        ("devils_advocate", "high"): 75.5,
        ("random_control", "both"): 78.3,
        ("random_control", "low"): 63.4,
        ("random_control", "high"): 93.5,
        ("premortem", "both"): 91.6,
        ("premortem", "low"): 69.0,
        ("premortem", "high"): 114.2,
        ("sacd", "both"): 93.7,
        ("sacd", "low"): 75.7,
        ("sacd", "high"): 112.0,
    }
    rows = recorded.query(
        "select technique, anchor_direction, percent_of_baseline from papers.technique_effects "
        "where study = 'voder-bais' and row_set = 'as_recorded' and baseline_scope = 't=1' and weighting = 'trial' "
        f"and llm is null and temperature_scope = 'pooled' and technique in {RANKED}"
    )
    assert {(technique, direction): round(percent, 1) for technique, direction, percent in rows} == published


def test_the_metrics_disagree_on_devils_advocate(recorded):
    rows = recorded.query(
        "select technique, effects.signed, technique_effects.deviation_pp, goals_disagree from marts.effects "
        "inner join papers.technique_effects using (study, domain, technique) "
        f"where study = 'voder-bais' and domain = 'judicial' and technique in {RANKED} "
        "and goal = 'gap' and effects.llm is null and effects.vignette is null and technique_effects.llm is null "
        "and anchor_direction = 'both' and row_set = 'accepted' and baseline_scope = 'pooled' "
        "and temperature_scope = 'pooled' and weighting = 'llm'"
    )
    susceptibility, deviation = (sorted(rows, key=lambda row, at=at: abs(row[at])) for at in (1, 2))
    assert len(rows) == 4
    assert (susceptibility[0][0], deviation[3][0]) == ("devils_advocate", "devils_advocate")
    assert not any(disagree for *_, disagree in rows), "gap leads there"
    query = "select distinct goals_disagree from marts.effects where study = 'voder-bais' and domain = 'judicial' "
    assert recorded.query(query + "and goal = 'displacement' and llm is null and rank is not null") == [(True,)]


def percents(recorded, domain, technique):
    """From LLM and direction to percent of baseline of each trial, from the rows of the trials alone."""
    rows = recorded.query(
        "select llm, technique, anchor_direction, response from marts.trials where study = 'voder-bais' "
        f"and domain = '{domain}' and technique in ('no_technique', '{technique}') and response is not null"
    )
    answers = defaultdict(list)
    for llm, of_technique, direction, response in rows:
        if direction == "none" or of_technique == technique:
            answers[llm, direction].append(response)
    return {
        (llm, direction): [100 * response / fmean(answers[llm, "none"]) for response in responses]
        for (llm, direction), responses in answers.items()
        if direction != "none" and (llm, "none") in answers
    }


def losses(recorded, domain, technique):
    """From LLM and goal to loss, the same over all LLMs by goal, and the spread of these, in which errors cancel."""
    of_each = recorded.query(
        "select llm, goal, loss from marts.effects where study = 'voder-bais' and vignette is not null "
        f"and domain = '{domain}' and technique = '{technique}'"
    )
    of_all = recorded.query(
        "select goal, loss, signed from marts.effects where study = 'voder-bais' and vignette is null "
        f"and domain = '{domain}' and technique = '{technique}' and llm is null"
    )
    losses = {goal: loss for goal, loss, _ in of_all}
    (net_spread,) = (signed for goal, _, signed in of_all if goal == "gap")
    return {(llm, goal): loss for llm, goal, loss in of_each}, losses, net_spread


@pytest.mark.parametrize("domain", ["judicial", "loan", "medical", "salary"])
@pytest.mark.parametrize("technique", ["no_technique", "sacd"])
def test_losses_are_those_of_the_trials(recorded, domain, technique):
    trials = percents(recorded, domain, technique)
    expected = {}
    for llm in {llm for llm, _ in trials}:
        low, high = trials[llm, "low"], trials[llm, "high"]
        expected[llm, "displacement"] = (abs(fmean(low) - 100) + abs(fmean(high) - 100)) / 2
        expected[llm, "gap"] = abs(fmean(high) - fmean(low))
        expected[llm, "error"] = fmean(fmean(abs(percent - 100) for percent in of) for of in (low, high))
    found, of_all, _ = losses(recorded, domain, technique)
    known = {key: loss for key, loss in found.items() if loss is not None}
    assert known == pytest.approx(expected)
    means = {goal: fmean(loss for (_, of), loss in expected.items() if of == goal) for _, goal in expected}
    assert means == pytest.approx(of_all)


def test_the_spreads_of_salary_sacd_cancel_but_its_gap_does_not(recorded):
    # document A's data: one LLM's high anchor pulls down, the other's up
    trials = percents(recorded, "salary", "sacd")
    spreads = {llm: fmean(trials[llm, "high"]) - fmean(trials[llm, "low"]) for llm, _ in trials}
    assert min(spreads.values()) < -5
    assert max(spreads.values()) > 5
    of_each, of_all, net_spread = losses(recorded, "salary", "sacd")
    assert abs(net_spread) < 5
    assert all(of_each[llm, "gap"] == pytest.approx(abs(spread)) for llm, spread in spreads.items())
    assert of_all["gap"] > 10
    assert of_all["displacement"] >= of_all["gap"] / 2


def test_reversed_spreads_of_medical_sacd_are_a_gap(recorded):
    trials = percents(recorded, "medical", "sacd")
    spreads = [fmean(trials[llm, "high"]) - fmean(trials[llm, "low"]) for llm in {llm for llm, _ in trials}]
    assert len(spreads) == 2
    assert max(spreads) < -20
    _, of_all, net_spread = losses(recorded, "medical", "sacd")
    assert (of_all["gap"], net_spread) == pytest.approx((-fmean(spreads), fmean(spreads)))
    assert of_all["displacement"] > 10


def test_an_llm_below_its_baseline_under_one_anchor_and_above_it_under_the_other_is_displaced(recorded):
    deepseek = "deepseek/deepseek-v3.2"
    trials = percents(recorded, "judicial", "sacd")
    low, high = fmean(trials[deepseek, "low"]), fmean(trials[deepseek, "high"])
    assert low < 90
    assert high > 110
    assert abs((low + high) / 2 - 100) < 5
    of_each, *_ = losses(recorded, "judicial", "sacd")
    assert of_each[deepseek, "displacement"] == pytest.approx((high - low) / 2)
    assert of_each[deepseek, "displacement"] > 15


def test_rankings_exist_for_each_llm_with_a_baseline(recorded):
    rows = recorded.query(
        "select count(distinct llm) from marts.effects where study = 'voder-bais' and domain = 'judicial' "
        "and goal = 'displacement' and vignette is null and rank = 1"
    )
    assert rows == [(10,)]


def test_an_llm_without_a_baseline_has_null_percentages_with_the_reason(recorded):
    rows = recorded.query(
        "select distinct percent_of_baseline, reason from papers.technique_effects "
        "where llm = 'minimax/minimax-m2.5' and n_trials = 0"
    )
    assert rows == [(None, "no_baseline")]


def test_accepted_is_what_was_recorded_less_what_is_out_of_range_or_quarantined(recorded):
    sizes = dict(
        recorded.query(
            "select row_set, sum(n_trials)::bigint from marts.counts where response_source = 'recorded' group by all"
        )
    )
    # loan 1, salary four times 2; one outside-view trial of an older prompt
    assert sizes["as_recorded"] - sizes["accepted"] == 5 + 1
    assert recorded.query(
        "select vignette, status, count(*) from intermediate.int_trials_directed "
        "where status_if_recorded = 'out_of_range' group by all order by all"
    ) == [("loan", "answered", 1), ("salary", "refused", 4)]
    assert recorded.query("select flag_reasons from marts.quarantined_trials") == [("other_prompt",)]
    flagged = recorded.query(
        "select count(distinct trial_id) from raw.flagged_trials "
        "inner join intermediate.int_trials_directed using (trial_id) "
        "where severity = 'suspect' and status_if_recorded = 'answered' and technique != 'sacd'"
    )
    of_sacd = recorded.query(
        "select (count(number_if_recorded) + count(first_response))::bigint from intermediate.int_trials_directed "
        "where technique = 'sacd' and trial_id in (select trial_id from raw.flagged_trials)"
    )
    assert sizes["accepted"] - sizes["without_suspects"] == flagged[0][0] + of_sacd[0][0]


def test_every_llm_of_the_archive_is_published_most_with_warnings(recorded):
    verdicts = recorded.query(
        "select vignette, verdict, count(*), sum(n_trials)::int from raw.batch_verdicts group by all order by all"
    )
    assert verdicts == [
        ("loan", "passed_with_warnings", 2, 660),
        ("medical", "passed", 2, 660),
        ("salary", "passed", 1, 330),
        ("salary", "passed_with_warnings", 1, 728),
        ("shoplifting", "passed_with_warnings", 11, 14_204),
    ]
    found = recorded.query("select distinct reason from raw.flagged_trials order by 1")
    assert not {
        "another_question",
        "another_unit",
        "far_off",
        "changed_midway",
        "same_answers",
        "reversed",
        "cut_off",
        "collapsed_repeats",
    } & {reason for (reason,) in found}


def test_numbers_that_their_text_does_not_state_are_listed_with_both(recorded):
    rows = recorded.query("select response_recorded, response_reparsed, text_around from marts.parse_disagreements")
    # 39 of the vignettes; of SACD one 0 that was taken for none, and 99 and 10 refusals of which a number was recorded
    assert len(rows) == 39 + 1 + 99 + 10
    # the age-old trap: a score in the case text, 78/100, instead of the salary that is offered
    trapped = [row for row in rows if row[0] == 78]
    assert len(trapped) == 26
    assert all("78" in row[2] for row in trapped)


def last_turns(archive):
    """From file and line to the last turn of each SACD trial of which the archive keeps the turns."""
    lines = ((path.name, i, line) for path in archive.glob("full-sacd-*.jsonl") for i, line in numbered(path))
    return {(name, i): json.loads(line)["iterationDetails"][-1]["rawResponse"] for name, i, line in lines}


def numbered(path):
    return [(i, line) for i, line in enumerate(path.read_text("utf-8").split("\n"), 1) if line]


def test_the_text_of_sacd_is_its_last_turn_whole_under_500_signs(recorded, recorded_archive):
    turns = last_turns(recorded_archive)
    rows = recorded.query(
        "select source_file, source_line, response_text, text_kept from marts.trials "
        "where technique = 'sacd' and domain = 'judicial'"
    )
    assert len(rows) == len(turns) == 2397
    for file, line, text, kept in rows:
        assert text == (turns[file, line].strip(" ") or None)
        assert kept == ("whole" if len(turns[file, line]) < 500 else "cut")
    assert sum(kept == "whole" for *_, kept in rows) == 1646
    others = recorded.query(
        "select distinct domain = 'judicial', text_kept from marts.trials "
        "where technique != 'sacd' or domain != 'judicial' order by all"
    )
    assert others == [(False, "whole"), (True, "none")]


def test_a_baseline_counts_what_the_texts_state_and_not_the_78_of_a_score(recorded):
    rows = recorded.query(
        "select response, count(*) from marts.trials where domain = 'salary' and llm = 'anthropic/claude-sonnet-4.5' "
        "and technique = 'no_technique' and anchor_direction = 'none' and response_recorded = 78 "
        "group by all order by 1"
    )
    assert rows == [(105, 1), (115, 3), (125, 1), (135, 1)]


def test_a_cut_text_can_refuse_but_replaces_no_number(recorded):
    rows = recorded.query(
        "select llm, status, count(*), count(*) filter (where response is distinct from response_recorded) "
        "from marts.trials where text_kept = 'cut' and (status != 'answered' or response != response_recorded) "
        "group by all order by all"
    )
    assert rows == [
        ("anthropic/claude-haiku-4.5", "refused", 100, 99),
        ("anthropic/claude-sonnet-4.6", "refused", 10, 10),
    ]


def test_what_papers_counted_is_the_same_under_both_readings(recorded):
    of_source = [
        recorded.query(
            "select * exclude (response_source) from marts.counts "
            f"where row_set = 'as_recorded' and response_source = '{source}' order by all"
        )
        for source in ("recorded", "reparsed")
    ]
    assert of_source[0] == of_source[1]
    differ = recorded.query(
        "select distinct domain from (select * exclude (response_source) from marts.counts "
        "where row_set = 'accepted' and response_source = 'recorded' except select * exclude (response_source) "
        "from marts.counts where row_set = 'accepted' and response_source = 'reparsed') order by all"
    )
    assert differ == [("judicial",), ("loan",), ("salary",)]


def test_only_contrasts_of_sacd_with_what_has_no_text_are_shown_under_both_readings(recorded):
    rows = recorded.query(
        "select distinct domain, technique_a, technique_b, row_set from inference.contrasts "
        "where not is_recommended order by all"
    )
    others = ("devils_advocate", "no_technique", "premortem", "random_control", "sacd_initial")
    assert rows == [("judicial", "sacd", other, "accepted") for other in others]


# document A, section 3.2.5: at least 30 trials, and more where those 30 have an SD above 15 months
def test_more_trials_were_asked_where_the_stopping_rule_does_not_say_so(recorded):
    by_method = {
        method: counts
        for method, *counts in recorded.query(
            "select method, count(*), count_if(is_topped_up), count_if(is_topped_up and not has_qualified), "
            "count_if(has_qualified and not is_topped_up) from intermediate.int_claim_cells "
            "where study = 'voder-bais' and row_set = 'as_recorded' and is_topped_up is not null group by all"
        )
    }
    assert by_method == {"by_direction": [300, 142, 142 - 7, 13], "both_directions": [150, 150, 150 - 12, 0]}


# section 3.2.2: half of the baseline and one and a half of it
@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [
        ("judicial", (0.49, 0.52), (1.49, 1.52)),
        ("loan", (0.48, 0.50), (1.45, 1.50)),
        ("medical", (0.55, 0.60), (1.27, 1.40)),
        ("salary", (0.66, 0.70), (1.23, 1.30)),
    ],
)
def test_anchors_are_half_of_the_baseline_and_one_and_a_half_in_two_domains_of_four(recorded, domain, low, high):
    factors = recorded.query(
        "select round(min(anchor_factor), 2), round(max(anchor_factor), 2) from intermediate.int_claim_cells "
        "where study = 'voder-bais' and row_set = 'as_recorded' and method = 'by_direction' "
        f"and anchor_factor is not null and domain = '{domain}' group by anchor_direction "
        "order by anchor_direction desc"
    )
    assert factors == [low, high]


def test_a_refusal_is_counted_as_one_with_and_without_a_recorded_number(recorded):
    counted = recorded.query("select sum(n_refused)::bigint from marts.attrition")
    assert counted == recorded.query("select count(*) from intermediate.int_trials_read where status_read = 'refused'")
    with_number = recorded.query(
        "select domain, technique, count(*) from marts.trials "
        "where status = 'refused' and response_recorded is not null group by all order by all"
    )
    assert with_number == [
        ("judicial", "sacd", 99 + 10), ("salary", "no_technique", 2), ("salary", "random_control", 3)
    ]  # fmt: skip


@pytest.mark.slow("reads the whole report of the archive")
def test_every_number_of_a_table_on_the_pages_of_the_archive_is_one_of_the_warehouse(recorded, tmp_path):
    recorded.bais("report", "--out", tmp_path)
    recorded.bais("report", "--single", tmp_path / "single.html")
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.html")}
    assert len(pages["single"].encode()) <= 1_500_000
    with closing(duckdb.connect(str(recorded.path), read_only=True)) as connection:
        found = {name: numbers_that_differ(page, connection) for name, page in pages.items()}
    assert {name: wrong for name, (_, wrong) in found.items() if wrong} == {}
    assert found["reading"][0] > 100


@pytest.mark.parametrize(("page", "n_questions"), [("README.md", 4), ("docs/ask-the-tables.md", 5)])
def test_questions_that_are_written_down_have_answers(recorded, page, n_questions):
    (block,) = blocks("sql", ROOT / page)
    queries = [query for query in block.split(";") if query.strip()]
    assert len(queries) == n_questions
    for query in queries:
        assert recorded.query(query), query


def test_the_readme_says_how_many_trials_were_recorded(recorded):
    ((n_trials,),) = recorded.query("select count(*) from marts.trials where study = 'voder-bais'")
    assert f"the {n_trials:,} recorded trials of Voder AI and T. Howard (2026)" in " ".join(README.read_text().split())
