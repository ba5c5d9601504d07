"""The inference tables of the recorded archive beside its marts: two ways to the same estimates."""

import numpy as np
import pytest
from scipy import stats

OVER_LLMS = "study = 'voder-bais' and method = 'headline' and row_set = 'accepted' and baseline_scope = 'pooled'"


@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ("percent_of_baseline", "percent_of_baseline"),
        ("deviation_pp", "net_deviation"),
        ("spread_pp", "net_spread"),
        ("madb_percent", "madb_percent"),
    ],
)
def test_headline_estimates_are_those_of_the_rankings(recorded, metric, column):
    rows = recorded.query(
        f"""
        select rankings.domain, rankings.technique, rankings.llm, rankings.{column}, intervals.estimate
        from marts.technique_rankings as rankings
        left join inference.intervals
            on
                rankings.study = intervals.study
                and rankings.domain = intervals.domain
                and rankings.technique = intervals.technique
                and rankings.llm is not distinct from intervals.llm
                and intervals.method = 'headline'
                and intervals.metric = '{metric}'
                and intervals.weighting = 'llm'
                and intervals.anchor_direction = 'both'
        where rankings.study = 'voder-bais' and rankings.{column} is not null
        """
    )
    assert len(rows) > 60
    assert [row[4] for row in rows] == pytest.approx([row[3] for row in rows], abs=1e-9)


def test_the_change_of_spread_is_that_of_the_rankings(recorded):
    rows = recorded.query(
        """
        select rankings.spread_change_percent, intervals.estimate
        from marts.technique_rankings as rankings
        left join inference.intervals
            on
                rankings.study = intervals.study
                and rankings.domain = intervals.domain
                and rankings.technique = intervals.technique
                and rankings.llm is not distinct from intervals.llm
                and intervals.metric = 'spread_change_percent'
                and intervals.method = 'headline'
        where
            rankings.study = 'voder-bais'
            and rankings.technique != 'no_technique'
            and rankings.spread_change_percent is not null
        """
    )
    assert len(rows) > 40
    assert [estimate for _, estimate in rows] == pytest.approx([change for change, _ in rows], abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "weighting"),
    [
        ("percent_of_baseline", "trial"),
        ("deviation", "trial"),
        ("madb_percent", "trial"),
        ("share_within_10_percent", "trial"),
        ("percent_of_baseline", "llm"),
        ("deviation", "llm"),
        ("madb_percent", "llm"),
        ("share_within_10_percent", "llm"),
        ("median_percent_of_baseline", "llm"),
    ],
)
def test_headline_estimates_are_those_of_the_effects(recorded, metric, weighting):
    rows = recorded.query(
        f"""
        select effects.{metric}, intervals.estimate, effects.n_trials, intervals.n_trials
        from marts.technique_effects as effects
        left join inference.intervals
            on
                effects.study = intervals.study
                and effects.domain = intervals.domain
                and effects.technique = intervals.technique
                and effects.llm is not distinct from intervals.llm
                and effects.anchor_direction = intervals.anchor_direction
                and effects.weighting = intervals.weighting
                and effects.row_set = intervals.row_set
                and effects.baseline_scope = intervals.baseline_scope
                and intervals.metric = '{metric}'
                and intervals.method = 'headline'
        where
            effects.study = 'voder-bais'
            and effects.row_set = 'accepted'
            and effects.baseline_scope = 'pooled'
            and effects.temperature_scope = 'pooled'
            and effects.weighting = '{weighting}'
            and effects.{metric} is not null
        """
    )
    assert len(rows) > 200
    assert [row[1] for row in rows] == pytest.approx([row[0] for row in rows], abs=1e-9)
    assert [row[3] for row in rows] == [row[2] for row in rows]


def test_published_intervals_start_from_the_published_estimates(recorded):
    rows = recorded.query(
        """
        select effects.percent_of_baseline, intervals.estimate
        from inference.intervals
        left join marts.technique_effects as effects
            on
                effects.study = intervals.study
                and effects.domain = intervals.domain
                and effects.technique = intervals.technique
                and effects.llm is not distinct from intervals.llm
                and effects.anchor_direction = intervals.anchor_direction
                and effects.weighting = intervals.weighting
                and effects.row_set = intervals.row_set
                and effects.baseline_scope = intervals.baseline_scope
                and effects.temperature_scope = 'pooled'
        where intervals.study = 'voder-bais' and intervals.method = 'trial_unstratified'
        """
    )
    assert len(rows) > 100
    assert [estimate for _, estimate in rows] == pytest.approx([percent for percent, _ in rows], abs=1e-9)


def test_the_losses_of_the_ranks_are_the_rankings_distances(recorded):
    rows = recorded.query(
        """
        select
            ranks.loss,
            case ranks.metric
                when 'displacement' then rankings.displacement
                when 'gap' then rankings.gap
                else rankings.error
            end
        from inference.rank_probabilities as ranks
        left join marts.technique_rankings as rankings
            on
                ranks.study = rankings.study
                and ranks.domain = rankings.domain
                and ranks.technique = rankings.technique
                and ranks.llm is not distinct from rankings.llm
        where ranks.study = 'voder-bais' and ranks.loss is not null
        """
    )
    assert len(rows) > 150
    assert [loss for loss, _ in rows] == pytest.approx([distance for _, distance in rows], abs=1e-9)


def test_only_the_judicial_domain_has_intervals_over_llms(recorded):
    rows = recorded.query(
        "select distinct domain, reason from inference.intervals "
        f"where {OVER_LLMS} and llm is null and metric = 'percent_of_baseline' and technique = 'sacd'"
    )
    assert set(rows) == {
        ("judicial", None),
        ("loan", "too_few_llms"),
        ("medical", "too_few_llms"),
        ("salary", "too_few_llms"),
    }


def test_the_one_llm_without_a_baseline_has_answers_but_no_percentages(recorded):
    rows = recorded.query(
        """
        select llm, domain, metric, reason, estimate is null
        from inference.intervals
        where study = 'voder-bais' and llm is not null and reason like '%no_baseline%'
        """
    )
    assert {row[:2] for row in rows} == {("minimax/minimax-m2.5", "judicial")}
    assert {row[3:] for row in rows} == {("no_baseline", True)}
    assert {"percent_of_baseline", "madb_percent"} <= {row[2] for row in rows}
    assert {"mean_response", "spread"}.isdisjoint({row[2] for row in rows})


@pytest.mark.parametrize(("bounds", "name"), [("", "decision"), ("asked_", "decision_asked")])
def test_decisions_are_what_the_bounds_of_the_gain_say(recorded, bounds, name):
    rows = recorded.query(
        f"""
        select
            gain_{bounds}low, gain_{bounds}high, margin_pp, {name},
            '{name}' = 'decision_asked' and coalesce(contains(reason, 'llms_differ'), false)
        from inference.rank_probabilities
        where
            study = 'voder-bais' and {name} is not null and n_llms >= 5 and llm is null
            or '{name}' = 'decision_asked' and decision_asked is not null
        """
    )
    assert len(rows) > 15
    for low, high, margin, decision, differ in rows:
        assert low <= high
        if -margin < low and high < margin:
            assert decision == ("no_evidence" if differ else "equivalent")
        else:
            assert decision == ("use" if low > 1e-9 else "avoid" if high < -1e-9 else "no_evidence")


def test_only_the_judicial_domain_decides_anything_beyond_the_llms_asked(recorded):
    rows = recorded.query(
        """
        select distinct domain, decision, certainty
        from inference.rank_probabilities
        where study = 'voder-bais' and llm is null and domain != 'judicial' and decision is not null
        order by domain
        """
    )
    assert rows == [(domain, "no_evidence", "too_few_llms") for domain in ("loan", "medical", "salary")]
    assert recorded.query(
        "select distinct technique from inference.rank_probabilities where study = 'voder-bais' and is_primary "
        "and decision = 'use' order by technique"
    ) == [("random_control",), ("sacd",)]


def test_the_t_intervals_are_those_of_scipy_over_the_llms_of_the_marts(recorded):
    rows = recorded.query(
        """
        select technique.technique, technique.metric, control.loss - technique.loss
        from marts.losses as technique
        inner join marts.losses as control
            on
                technique.study = control.study
                and technique.llm = control.llm
                and technique.vignette = control.vignette
                and technique.metric = control.metric
        where
            technique.study = 'voder-bais' and technique.domain = 'judicial' and control.technique = 'no_technique'
            and technique.technique in ('premortem', 'devils_advocate', 'random_control') and technique.metric = 'error'
        """
    )
    for technique in ("premortem", "devils_advocate", "random_control"):
        gains = [gain for of, _, gain in rows if of == technique]
        assert len(gains) == 10
        # four ranked techniques share 5 %
        expected = stats.t.interval(1 - 0.05 / 4, 9, np.mean(gains), stats.sem(gains))
        (found,) = recorded.query(
            "select gain_low, gain_high from inference.rank_probabilities where study = 'voder-bais' "
            f"and domain = 'judicial' and technique = '{technique}' and metric = 'error' and llm is null "
            "and comparison = 'control'"
        )
        assert found == pytest.approx(expected)
