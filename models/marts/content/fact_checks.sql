-- One row per study, llm, technique, period of the items against the knowledge of the LLM (or `all`) and what becomes
-- of invalid replies: how well true statements are told from false ones, of pairs of which both were asked. A
-- difference that is 0 but for the last bits is 0.
with used as (
    select *, unnest([period, 'all']) as of_period, is_complete and (is_valid or invalid_replies = 'wrong') as is_used
    from {{ ref('int_fact_pairs_checked') }}
    cross join (values ('wrong'), ('excluded')) as counted_as (invalid_replies)
),

counted as (
    select
        study,
        paradigm,
        llm,
        technique,
        of_period as period,
        invalid_replies,
        count(*) filter (where not is_complete) as n_incomplete,
        count(*) filter (where is_complete and not is_valid) as n_invalid,
        count(*) filter (where is_used and is_authentic_right) as n_authentic_right,
        count(*) filter (where is_used and is_falsified_right) as n_falsified_right,
        count(*) filter (where is_used and is_authentic_right and is_falsified_right) as n_both_right,
        {% for summed in [
            'n_verdicts', 'n_says_true', 'n_high', 'n_high_right', 'n_low', 'n_low_right',
            'n_authentic_verdicts', 'n_authentic_high', 'n_authentic_low',
        ] %}
        coalesce(sum({{ summed }}) filter (where is_used), 0)::bigint as {{ summed }},
        {% endfor %}
        count(*) filter (where is_used) as n_pairs
    from used
    group by all
),

scored as (
    select
        *,
        n_authentic_right / nullif(n_pairs, 0) as authentic_accuracy,
        n_falsified_right / nullif(n_pairs, 0) as falsified_accuracy,
        n_both_right / nullif(n_pairs, 0) as strict_accuracy,
        (n_authentic_right + 0.5) / (n_pairs + 1) as hit_rate,
        (n_pairs - n_falsified_right + 0.5) / (n_pairs + 1) as false_alarm_rate,
        normal_quantile(hit_rate) as z_hits,
        normal_quantile(false_alarm_rate) as z_false_alarms
    from counted
)

select
    study,
    paradigm,
    llm,
    technique,
    period,
    invalid_replies,
    authentic_accuracy,
    falsified_accuracy,
    strict_accuracy,
    authentic_accuracy + falsified_accuracy - 1 as informedness,
    n_says_true / nullif(n_verdicts, 0) as yes_rate,
    case when n_pairs > 0 then round(z_hits - z_false_alarms, 12) + 0 end as d_prime,
    case when n_pairs > 0 then round(-(z_hits + z_false_alarms) / 2, 12) + 0 end as criterion,
    n_high / nullif(n_verdicts, 0) as high_confidence_share,
    n_low / nullif(n_verdicts, 0) as low_confidence_share,
    {% for level in ('high', 'low') %}
    n_authentic_{{ level }} / nullif(n_authentic_verdicts, 0) as authentic_{{ level }}_confidence_share,
    (n_{{ level }} - n_authentic_{{ level }}) / nullif(n_verdicts - n_authentic_verdicts, 0)
        as falsified_{{ level }}_confidence_share,
    {% endfor %}
    n_high_right / nullif(n_high, 0) as high_confidence_accuracy,
    n_low_right / nullif(n_low, 0) as low_confidence_accuracy,
    n_pairs,
    n_incomplete,
    n_invalid,
    {{ reasons([
        ("n_pairs = 0", "no_complete_pair"),
        ("n_pairs > 0 and n_verdicts = 0", "no_valid_reply"),
        ("n_verdicts > 0 and n_high = 0", "no_high_confidence"),
        ("n_verdicts > 0 and n_low = 0", "no_low_confidence"),
    ]) }} as reason
from scored
