-- noqa: disable=LT02
-- One row per published claim and part: the printed number, ours under the paper's specification and under the
-- recommended one, on the version of the source that the paper used; and what would be said on the newest one.
with versions as (
    select document, study, label as version, cited_study from {{ ref('int_studies_cited') }}
),

claims as (
    select
        *,
        {{ claim_key() }} as claim_key,
        unnest(['cited', 'newest']) as of_version
    from {{ ref('published_claims') }}
),

derived as (
    select *, {{ claim_key() }} as claim_key from {{ ref('int_claims_derived') }}
),

studies as (
    select distinct study from {{ ref('stg_batches') }}
),

compared as (
    select
        claims.*,
        claims.study is null or studies.study is not null as is_loaded,
        case when claims.not_derivable is null then derived.recomputed_value end as recomputed_value,
        coalesce(derived.recomputed_low, derived.recomputed_value) as recomputed_low,
        coalesce(derived.recomputed_high, derived.recomputed_value) as recomputed_high,
        derived.* exclude (
            claim_key, claim_id, part, of_version, recomputed_value, recomputed_low, recomputed_high
        )
    from claims
    left join studies using (study)
    left join derived using (claim_key, of_version)
),

judged as (
    select
        *,
        {{ could_print('recomputed_low', 'recomputed_high', 'published_value', 'decimals', 'comparison') }} as holds,
        {{ could_print('recommended_value', 'recommended_value', 'published_value', 'decimals', 'comparison') }}
            as holds_as_recommended,
        -- what the whole interval, or the probability, says of a sentence; null where it has none
        case
            when unit = 'probability'
                then coalesce(coalesce(recommended_low, recommended_value) >= published_value, false)
            when comparison = '<' then recommended_high < published_value
            when comparison = '>' then recommended_low > published_value
        end as is_established,
        case
            when unit = 'probability'
                then coalesce(coalesce(recommended_high, recommended_value) <= 1 - published_value, false)
            when comparison = '<' then recommended_low > published_value
            when comparison = '>' then recommended_high < published_value
        end as is_contradicted
    from compared
),

worded as (
    select
        *,
        case
            when not_derivable is not null then 'not_derivable'
            when not is_loaded or recomputed_value is null then 'not_checked'
            when kind = 'sentence' and is_contradicted then 'contradicted'
            when kind = 'sentence' and not is_established then 'not_established'
            when kind = 'sentence' then case when coalesce(is_established, holds) then 'stands' else 'contradicted' end
            when holds then 'reproduces'
            else 'differs'
        end as status,
        {{ shown('published_value', 'decimals') }} as shown_published,
        {{ shown('recomputed_value', 'decimals') }} as shown_recomputed,
        {{ shown('recommended_value', 'decimals') }} as shown_recommended,
        case
            when round(recommended_low, 2) < round(recommended_high, 2)
                then {{ shown('recommended_low', '2') }} || ' to ' || {{ shown('recommended_high', '2') }}
        end as shown_probabilities,
        case
            when excluded_llm is null then {{ of_the_papers('coalesce(recommended_quantity, quantity)', 'goal') }}
        end as goal,
        coalesce('By ' || goal || ' it is ', 'It is ') as it_is,
        {{ shown('recommended_low', 'decimals') }} || ' to ' || {{ shown('recommended_high', 'decimals') }}
            as shown_interval,
        case
            when llm is null and n_llms < {{ fewest_llms() }}
                then ' This speaks only of the ' || n_llms || ' LLMs that were asked.'
            else ''
        end as scope_note,
        concat_ws(
            ', ',
            case when baseline_scope != 'pooled' then 'over the ' || baseline_scope || ' baseline' end,
            case when weighting != 'llm' and llm is null then 'weighing trials rather than LLMs' end,
            case when direction_weighting = 'balanced' then 'weighing both directions the same' end,
            case when baseline_pooling = 'domain' then 'over one baseline for all LLMs' end,
            case when estimator != 'mean_of_ratios' then 'as a ' || replace(estimator, '_', ' ') end,
            case when non_null = 'both' then 'of trials with a first and a last answer' end,
            case
                when derivation is not null
                    then 'as the ' || replace(derivation, '_', ' ') || ' of other printed numbers'
            end,
            case
                when goal is not null
                    then
                        'by ' || {{ of_the_papers('coalesce(recommended_quantity, quantity)', 'metric') }}
                        || ' where we recommend ' || goal
                when recommended_quantity is not null then 'where we recommend ' || recommended_quantity
            end,
            case
                when recommended_method != method
                    then 'by method ' || method || ' where we recommend ' || recommended_method
            end
        ) as specification
    from judged
),

explained as (
    select
        *,
        case
            when kind = 'sentence' and unit = 'probability' and recommended_value is null
                then 'Its probability is not known over fewer than ' || {{ fewest_llms() }} || ' LLMs.'
            when kind = 'sentence' and unit = 'probability'
                then
                    'Its probability' || coalesce(' by ' || goal, '') || ' is '
                    || coalesce(shown_probabilities, {{ shown('recommended_value', '2') }})
                    || '; it stands from ' || published_value || '.' || scope_note
            when status = 'not_established'
                then
                    it_is || shown_recommended || ', but the interval is ' || shown_interval
                    || ', not all ' || comparison || ' ' || shown_published || '.' || scope_note
            when kind = 'sentence' and shown_interval is not null
                then
                    it_is || shown_recommended || ', the interval ' || shown_interval
                    || ', for ' || comparison || ' ' || shown_published || '.' || scope_note
            when status in ('differs', 'contradicted')
                then
                    'The trials give ' || shown_recomputed || ', not '
                    || replace(comparison || ' ', '= ', '') || shown_published || '.'
            when not holds_as_recommended
                then
                    'It holds only ' || coalesce(nullif(specification, ''), 'with every number that was recorded')
                    || '; as recommended it is ' || shown_recommended || '.'
        end as explanation
    from worded
),

reasoned as (
    select
        * replace (coalesce(quantity, derivation) as quantity),
        case
            when status = 'not_derivable' then not_derivable
            when not is_loaded then 'The study ' || study || ' is not in this warehouse: import its archive.'
            when status = 'not_checked' then 'The warehouse holds no trials for this quantity.'
            else nullif(concat_ws(' ', note, explanation), '')
        end as reason
    from explained
),

newest as (
    select claim_key, recomputed_value as newest_value, status as newest_status from reasoned
    where of_version = 'newest'
),

beside_newest as (
    select
        reasoned.*,
        versions.version,
        case when versions.cited_study is not null then newest.newest_value end as newest_value,
        case when versions.cited_study is not null then newest.newest_status end as newest_status
    from reasoned
    inner join newest using (claim_key)
    left join versions using (document, study)
    where reasoned.of_version = 'cited'
)

select {{ declared_columns() }} from beside_newest
