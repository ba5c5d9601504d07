"""The inference tables of the recorded archive beside its marts: two ways to the same estimates."""

import numpy as np
import pytest
from scipy import stats

OVER_LLMS = "study = 'voder-bais' and method = 'headline' and row_set = 'accepted' and baseline_scope = 'pooled'"


# of each technique in a domain, as the papers measure it: the mean over vignettes
MEASURED_BY_PAPERS = """
    with by_vignette as (
        select
            domain, technique, llm, vignette,
            any_value(percent_of_baseline) filter (where anchor_direction = 'both') as percent_of_baseline,
            any_value(madb_percent) filter (where anchor_direction = 'both') as madb_percent,
            any_value(percent_of_baseline) filter (where anchor_direction = 'high')
            - any_value(percent_of_baseline) filter (where anchor_direction = 'low') as net_spread
        from papers.technique_effects
        where
            study = 'voder-bais' and row_set = 'accepted' and baseline_scope = 'pooled'
            and temperature_scope = 'pooled' and weighting = 'llm'
        group by all
    )

    select
        domain, technique, llm, avg(percent_of_baseline) as percent_of_baseline,
        avg(percent_of_baseline) - 100 as net_deviation, avg(net_spread) as net_spread,
        avg(madb_percent) as madb_percent
    from by_vignette
    group by all
"""


@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ("percent_of_baseline", "percent_of_baseline"),
        ("deviation_pp", "net_deviation"),
        ("spread_pp", "net_spread"),
        ("madb_percent", "madb_percent"),
    ],
)
def test_headline_estimates_are_those_of_the_effects_over_vignettes(recorded, metric, column):
    rows = recorded.query(
        f"""
        select measured.domain, measured.technique, measured.llm, measured.{column}, intervals.estimate
        from ({MEASURED_BY_PAPERS}) as measured
        left join inference.intervals
            on
                intervals.study = 'voder-bais'
                and measured.domain = intervals.domain
                and measured.technique = intervals.technique
                and measured.llm is not distinct from intervals.llm
                and intervals.method = 'headline'
                and intervals.metric = '{metric}'
                and intervals.weighting = 'llm'
                and intervals.anchor_direction = 'both'
        where measured.{column} is not null
        """
    )
    assert len(rows) > 60
    assert [row[4] for row in rows] == pytest.approx([row[3] for row in rows], abs=1e-9)


# of the goal `gap`, as it points: the papers' spread
SPREADS = """
    select domain, technique, llm, signed as net_spread from marts.effects
    where study = 'voder-bais' and paradigm = 'anchoring' and goal = 'gap' and vignette is null
"""


def test_the_gap_as_it_points_is_the_spread_of_the_effects(recorded):
    rows = recorded.query(
        f"""
        select measured.net_spread, spreads.net_spread
        from ({MEASURED_BY_PAPERS}) as measured
        left join ({SPREADS}) as spreads
            on
                measured.domain = spreads.domain
                and measured.technique = spreads.technique
                and measured.llm is not distinct from spreads.llm
        where measured.net_spread is not null
        """
    )
    assert len(rows) > 60
    assert [spread for _, spread in rows] == pytest.approx([spread for spread, _ in rows], abs=1e-9)


def test_the_change_of_spread_is_that_of_the_gap_as_it_points(recorded):
    rows = recorded.query(
        f"""
        select 100 * (spreads.net_spread - plain.net_spread) / abs(plain.net_spread), intervals.estimate
        from ({SPREADS}) as spreads
        inner join ({SPREADS}) as plain
            on
                spreads.domain = plain.domain
                and spreads.llm is not distinct from plain.llm
                and plain.technique = 'no_technique'
                and abs(plain.net_spread) >= 1
        left join inference.intervals
            on
                intervals.study = 'voder-bais'
                and spreads.domain = intervals.domain
                and spreads.technique = intervals.technique
                and spreads.llm is not distinct from intervals.llm
                and intervals.metric = 'spread_change_percent'
                and intervals.method = 'headline'
        where spreads.technique != 'no_technique' and spreads.net_spread is not null
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
        from papers.technique_effects as effects
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
        left join papers.technique_effects as effects
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


def test_the_losses_of_the_decisions_are_those_of_the_effects_where_nothing_is_squared(recorded):
    rows = recorded.query(
        """
        select decisions.loss, effects.loss
        from inference.decisions
        inner join marts.effects
            on
                decisions.study = effects.study
                and decisions.paradigm = effects.paradigm
                and decisions.domain = effects.domain
                and decisions.goal = effects.goal
                and decisions.technique = effects.technique
                and decisions.llm = effects.llm
                and effects.vignette is null
        where decisions.study = 'voder-bais' and decisions.loss is not null and decisions.goal = 'error'
        """
    )
    assert len(rows) > 50
    assert [loss for loss, _ in rows] == pytest.approx([loss for _, loss in rows], abs=1e-9)


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


JUDICIAL = "study = 'voder-bais' and paradigm = 'anchoring' and domain = 'judicial'"


@pytest.mark.parametrize(
    ("technique", "goal", "expected", "roots", "decision"),
    [
        ("sacd", "gap", (5464, 1139, 9790), (85.4, 42.7), "helps_its_own_prompt"),
        ("sacd", "displacement", (1117, 155, 2078), (43.6, 28.0), "helps_its_own_prompt"),
        ("random_control", "displacement", (966, -409, 2341), (41.2, 27.1), "no_evidence"),
    ],
)
def test_squares_over_five_vendors_for_a_family_of_six_decide_in_judicial(
    recorded, technique, goal, expected, roots, decision
):
    ((*squares, control, loss, found, certainty, n_vendors, n_comparisons),) = recorded.query(
        f"""
        select
            gain_squared, gain_squared_low, gain_squared_high, loss_control, loss, decision, certainty, n_vendors,
            n_comparisons
        from inference.decisions
        where {JUDICIAL} and llm is null and comparison = 'control' and technique = '{technique}' and goal = '{goal}'
        """
    )
    assert tuple(round(square) for square in squares) == expected
    assert (round(control, 1), round(loss, 1)) == roots
    assert (found, certainty) == (decision, "no_evidence" if decision == "no_evidence" else "supported")
    assert (n_vendors, n_comparisons) == (5, 6)


def test_what_is_decided_is_students_t_of_the_vendors_of_the_llms(recorded):
    rows = recorded.frame(
        f"""
        select decisions.*, vendor
        from inference.decisions
        left join intermediate.int_vendors using (llm)
        where {JUDICIAL} and goal != 'error' and comparison in ('control', 'placebo')
            and (llm is not null or decision is not null)
        """
    )
    over_llms = rows[rows["llm"].isna()]
    assert len(over_llms) == 2 * 6
    for _, row in over_llms.iterrows():
        same = [rows[name] == row[name] for name in ("goal", "technique", "control")]
        of_llms = rows[np.logical_and.reduce(same) & rows["llm"].notna()]
        assert len(of_llms) == 10
        units = of_llms.groupby("vendor")["gain_squared"].mean()
        expected = stats.t.interval(1 - 0.05 / 6, 4, units.mean(), stats.sem(units))
        assert (row["gain_squared_low"], row["gain_squared_high"]) == pytest.approx(expected)


def test_nothing_but_what_sacd_does_to_its_own_first_answers_is_decided_over_vendors(recorded):
    rows = recorded.query(
        f"""
        select distinct technique, control, decision, certainty from inference.decisions
        where {JUDICIAL} and llm is null and decision is not null and decision != 'no_evidence'
        """
    )
    assert rows == [("sacd", "sacd_initial", "helps_its_own_prompt", "supported")]
    assert recorded.query(
        """
        select distinct domain, decision, certainty from inference.decisions
        where study = 'voder-bais' and llm is null and domain != 'judicial' and decision is not null
        order by domain
        """
    ) == [(domain, "no_evidence", "too_few_vendors") for domain in ("loan", "medical", "salary")]


def test_asking_again_brings_the_answers_of_these_llms_nearer_and_no_llm_is_decided_on_by_most_rows(recorded):
    ((control, loss),) = recorded.query(
        f"""
        select
            sqrt(avg(loss_control ** 2)), sqrt(avg(loss_control ** 2 - gain_squared))
        from inference.decisions
        where {JUDICIAL} and llm is not null and comparison = 'control' and technique = 'random_control'
            and goal = 'displacement'
        """
    )
    # over LLMs, where vendors do not weigh the same
    assert (round(control, 1), round(loss, 1)) == (42.6, 31.4)
    ((n, n_sure, n_comparisons),) = recorded.query(
        f"""
        select count(*), count(*) filter (where gain_low > 0 or gain_high < 0), any_value(n_comparisons)
        from inference.decisions
        where {JUDICIAL} and llm is not null and comparison = 'control' and goal = 'gap'
        """
    )
    assert (n, n_sure, n_comparisons) == (40, 26, 40)


def percents(recorded, technique, *, left_out=()):
    """Percent of the t = 1 baseline of each judicial trial of a technique, from the rows of the trials alone."""
    trials = (
        "from (from marts.trials union all by name from marts.quarantined_trials) where study = 'voder-bais' "
        "and domain = 'judicial' and response_recorded is not null"
    )
    baselines = dict(
        recorded.query(
            f"select llm, avg(response_recorded) {trials} and technique = 'no_technique' "
            "and anchor_direction = 'none' and temperature = 1 group by llm"
        )
    )
    rows = recorded.query(f"select llm, response_recorded {trials} and technique = '{technique}'")
    return np.array([100 * of / baselines[llm] for llm, of in rows if llm in baselines and llm not in left_out])


@pytest.mark.parametrize("technique", ["devils_advocate", "premortem"])
def test_section_6_3_comes_out_of_the_trials_of_eight_llms(recorded, technique):
    of_trials = percents(recorded, technique, left_out=("z-ai/glm-5", "moonshotai/kimi-k2.5"))
    names = (
        "sd_population_percent_of_baseline", "sd_percent_of_baseline", "skewness", "median_percent_of_baseline",
        "percent_within_10_percent", "percent_of_baseline",
    )  # fmt: skip
    (row,) = recorded.query(
        f"select {', '.join(names)} from intermediate.int_claim_effects where study = 'voder-bais' "
        f"and domain = 'judicial' and technique = '{technique}' and llm is null "
        "and excluded_llm = 'moonshotai/kimi-k2.5 z-ai/glm-5' "
        "and anchor_direction = 'both' and weighting = 'trial'"
    )
    found = dict(zip(names, row, strict=True))
    assert found["sd_population_percent_of_baseline"] == pytest.approx(of_trials.std())
    assert found["sd_percent_of_baseline"] == pytest.approx(of_trials.std(ddof=1))
    assert found["skewness"] == pytest.approx(stats.skew(of_trials, bias=False))
    assert found["median_percent_of_baseline"] == pytest.approx(np.median(of_trials))
    assert found["percent_within_10_percent"] == pytest.approx(100 * np.mean(abs(of_trials - 100) <= 10 + 1e-9))
    assert found["percent_of_baseline"] == pytest.approx(of_trials.mean())


@pytest.mark.parametrize(
    ("claim", "printed"),
    [
        # document A, section 6.3; the last is the mean that Devil's Advocate "compresses toward"
        ("A-S6.3-devils_advocate-sd", 34.6),
        ("A-S6.3-devils_advocate-median", 69),
        ("A-S6.3-devils_advocate-within", 11),
        ("A-S6.3-premortem-within", 13.9),
        ("A-S6.3-premortem-sd", 41.9),
        ("A-S6.3-devils_advocate-towards", 67),
        # sections 3.1.1 and 3.2.6: SACD by its cell means
        ("A-S3.1.1-sacd-devils_advocate-d", 1.06),
        ("A-S3.1.1-sacd-random_control-d", 0.51),
        ("A-S3.2.6-sacd-devils_advocate-d", 1.06),
    ],
)
def test_a_number_recomputes_by_the_method_that_its_note_names(recorded, claim, printed):
    ((value, published, decimals, note),) = recorded.query(
        "select recomputed_value, claim_checks.published_value, decimals, note "
        "from marts.claim_checks inner join claims.published_claims using (claim_id) "
        f"where claim_id = '{claim}'"
    )
    assert published == printed
    assert round(value, decimals) == printed
    assert note


def test_all_but_two_bounds_of_table_5_repeat_cell_means(recorded):
    rows = recorded.query(
        "select claim_id, published_value, recomputed_value from marts.claim_checks "
        "where location = 'Table 5' and regexp_matches(quantity, '_(low|high)$')"
    )
    assert len(rows) == 20
    # these two are as near to the printed digit as the 1,000 resamples of the paper vary
    assert {claim for claim, printed, value in rows if round(value) != printed} == {
        "A-T5-deepseek-v3.2-ci-low",
        "A-T5-gpt-5.2-ci-high",
    }
    assert all(abs(value - printed) < 0.7 for _, printed, value in rows)


def test_bounds_of_repeated_cell_means_are_the_limit_of_their_bootstrap(recorded):
    (limits,) = recorded.query(
        "select percent_of_baseline_low, percent_of_baseline_high from intermediate.int_claim_effects "
        "where estimator = 'repeated_cell_means' and technique = 'sacd' and llm = 'deepseek/deepseek-v3.2' "
        "and anchor_direction = 'both' and method is null and study = 'voder-bais' and weighting = 'trial'"
    )
    cells = recorded.query(
        "select 100 * avg(response_recorded) / (select avg(response_recorded) from marts.trials as unanchored "
        "where study = 'voder-bais' and domain = 'judicial' and llm = 'deepseek/deepseek-v3.2' "
        "and technique = 'no_technique' and anchor_direction = 'none'), count(*) "
        "from (from marts.trials union all by name from marts.quarantined_trials) where study = 'voder-bais' "
        "and domain = 'judicial' and technique = 'sacd' and llm = 'deepseek/deepseek-v3.2' "
        "and response_recorded is not null and first_response is not null group by anchor_direction, temperature"
    )
    means, counts = np.array(cells, float).T
    n = int(counts.sum())
    drawn = np.random.default_rng(1).multinomial(n, counts / n, size=200_000) @ means / n
    assert limits == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02)


# the mean over ten LLMs of what they answer to either anchor, in percent of their own answer without one, to the digits
# that the rules of a decision print: low, high, signed shift, signed half gap, displacement
APART = {
    "no_technique": (58.9, 84.2, -28.5, 12.7, 39.2),
    "random_control": (64.0, 95.5, -20.3, 15.7, 27.1),
    "premortem": (70.3, 116.9, -6.4, 23.3, 29.5),
    "devils_advocate": (52.8, 78.2, -34.5, 12.7, 37.1),
    "sacd": (79.9, 118.1, -1.0, 19.1, 22.8),
    "sacd_initial": (64.1, 153.2, 8.7, 44.5, 44.5),
}


def test_shift_and_half_gap_of_judicial_are_those_of_the_rules(recorded):
    rows = recorded.query(
        """
        with by_llm as (
            select
                of_both.technique, of_both.signed_shift, of_both.shift, of_both.half_gap, of_pair.signed / 2 as half,
                of_pair.log_ratio, of_pair.half_gap as half_of_pair
            from marts.effects as of_both
            inner join marts.effects as of_pair using (study, paradigm, domain, llm, vignette, technique)
            where
                study = 'voder-bais' and domain = 'judicial' and vignette is not null
                and of_both.goal = 'displacement' and of_pair.goal = 'gap' and of_both.loss is not null
        )

        select
            technique, count(*), avg(100 + signed_shift - half), avg(100 + signed_shift + half), avg(signed_shift),
            avg(half), avg(greatest(shift, half_gap)), max(abs(half_gap - half_of_pair)),
            max(abs(exp(log_ratio) - (100 + signed_shift + half) / (100 + signed_shift - half)))
        from by_llm group by all
        """
    )
    found = {technique: values for technique, *values in rows}
    for technique, printed in APART.items():
        n_llms, *means, of_pair, of_ratio = found[technique]
        assert n_llms == 10
        assert tuple(round(mean, 1) for mean in means) == printed, technique
        assert max(of_pair, of_ratio) < 1e-9


def test_over_llms_shift_and_half_gap_are_means_of_what_they_are_by_llm(recorded):
    ((n, most),) = recorded.query(
        """
        select count(*), max(abs(over.{0} - of_llms.{0})) from marts.effects as over
        inner join (
            select study, domain, goal, technique, avg({0}) as {0} from marts.effects
            where vignette is null and llm is not null and paradigm = 'anchoring' and loss is not null group by all
        ) as of_llms using (study, domain, goal, technique)
        where over.llm is null and over.vignette is null
        """.format("signed_shift")
    )
    assert n > 0
    assert most < 1e-9


def test_the_unanchored_prompts_of_document_a_differ_so_that_the_gap_leads(recorded):
    prompts = recorded.query("select vignette, baseline_prompt, differs_by from intermediate.int_baseline_prompts")
    assert {prompt for _, prompt, _ in prompts} == {"differs"}
    told = {vignette: differs_by for vignette, _, differs_by in prompts}
    assert "the defence's demand of 1 month" in told.pop("shoplifting")
    assert set(told) == {"loan", "medical", "salary"}
    assert set(told.values()) == {"nobody said whether the unanchored prompt differs"}
    assert recorded.query("select distinct goal from marts.effects where leads") == [("gap",)]
    assert recorded.query("select distinct goal from inference.decisions where is_primary") == [("gap",)]
