-- noqa: disable=LT02
-- One row per published claim and part: whether the paper's own method gives it again, and whether it holds under the
-- analysis that we recommend, on the version of the source that the paper used; and both on the newest version.
with versions as (
    select document, study, label as version, cited_study from {{ ref('int_studies_cited') }}
),

derived as (
    select * from {{ ref('int_claims_derived') }}
),

described as (
    select * from {{ ref('int_claims_described') }}
),

studies as (
    select distinct study from {{ ref('stg_batches') }}
),

compared as (
    select
        claims.* exclude (confounded_by),
        described.* exclude (claim_id, part),
        derived.* exclude (claim_id, part)
            replace (case when claims.not_derivable is null then derived.recomputed_value end as recomputed_value),
        coalesce(studies.study is not null or claims.inputs_are = 'printed', false) as is_loaded,
        claims.llm is null and described.rests_on != 'scores' and coalesce(derived.n_llms < {{ fewest_llms() }}, false)
            as is_of_few_llms,
        greatest(
            derived.recommended_high - derived.recommended_value, derived.recommended_value - derived.recommended_low
        ) as reach
    from {{ ref('published_claims') }} as claims
    inner join derived on claims.claim_id = derived.claim_id and claims.part is not distinct from derived.part
    inner join described on claims.claim_id = described.claim_id and claims.part is not distinct from described.part
    left join studies on claims.study = studies.study
),

-- what the recomputed value, the recommended one and its whole interval say of the comparison
held_against as (
    select
        *,
        {{ could_print(
            'coalesce(recomputed_low, recomputed_value)', 'coalesce(recomputed_high, recomputed_value)',
            'published_value', 'decimals', 'comparison'
        ) }} as agrees_as_published,
        {{ could_print(
            'recommended_value', 'recommended_value', 'published_value', 'decimals', 'comparison'
        ) }} as agrees_as_recommended,
        case comparison
            when '=' then
                {{ could_print('recommended_low', 'recommended_high', 'published_value', 'decimals', 'comparison') }}
            when '<' then recommended_high < published_value
            when '>' then recommended_low > published_value
        end as is_within,
        case comparison
            when '=' then not is_within
            when '<' then recommended_low >= published_value
            when '>' then recommended_high <= published_value
        end as is_excluded,
        -- a value that the interval allows; without one, a value that is off by no more than the margin
        comparison = '='
        and coalesce(is_within, abs(recommended_value - published_value) <= margin, false) as is_near
    from compared
),

judged as (
    select
        *,
        case
            when not_derivable is not null then 'not_derivable'
            when not is_loaded or recomputed_value is null then 'not_checked'
            when agrees_as_published then 'yes'
            else 'no'
        end as recomputes,
        -- a p value itself says how sure something is: fewer stars are weaker evidence, none to the contrary, and more
        -- are stronger evidence; but no star, or a sentence that there are few, says that there is none
        case
            when describes != 'effect' then 'not_applicable'
            when not is_loaded or recommended_value is null then null
            when unit = 'stars' and agrees_as_recommended then 'holds'
            when unit = 'stars' and comparison != '<' and recommended_value < published_value then 'weaker'
            when unit = 'stars' and comparison = '=' and published_value > 0 then 'holds'
            when unit = 'stars' then 'contradicted'
            when confounded_by is not null then 'confounded'
            when not agrees_as_recommended and not is_near then 'contradicted'
            -- the printed number is the one that we would print; a place is one only if no other is possible
            when kind = 'value' and comparison = '=' and unit != 'rank' and agrees_as_recommended then 'holds'
            -- scores are not drawn: without an interval nothing is left to chance
            when rests_on = 'scores' and recommended_low is null then 'holds'
            when is_of_few_llms then 'weaker'
            when kind = 'value' and comparison = '=' and is_within and reach <= margin then 'holds'
            when comparison != '=' and is_within then 'holds'
            when kind = 'value' and comparison != '=' and is_within is null then 'holds'
            else 'weaker'
        end as holds
    from held_against
),

worded as (
    select
        *,
        {% for column in [
            'published_value', 'recomputed_value', 'recommended_value', 'recommended_low', 'recommended_high',
        ] -%}
            case
                when unit = 'sign' then case sign({{ column }}) when 1 then '+' when -1 then '-' when 0 then '0' end
                else {{ shown(column, 'decimals') }}
            end as shown_{{ column }},
        {% endfor -%}
        case when unit in ('1', 'rank', 'ratio', 'sign', 'yes or no') then '' else ' ' || unit end as shown_unit,
        {{ recommended_quantity_of_claim() }} as recommended_as,
        concat_ws(
            ', ',
            case when baseline_scope != 'pooled' then 'over the ' || baseline_scope || ' baseline' end,
            case when weighting != 'llm' and llm is null then 'with trials weighing the same rather than LLMs' end,
            case when direction_weighting = 'balanced' then 'with both directions weighing the same' end,
            case when baseline_pooling = 'domain' then 'over one baseline for all LLMs' end,
            case when estimator != 'mean_of_ratios' then 'by ' || replace(estimator, '_', ' ') end,
            case when non_null = 'both' then 'from trials with a first and a last answer' end,
            case when excluded_llm is not null then 'without ' || replace(excluded_llm, ' ', ' and ') end,
            case
                when derivation is not null
                    then 'as the ' || replace(derivation, '_', ' ') || ' of other printed numbers'
            end
        ) as specification
    from judged
),

phrased as (
    select
        *,
        replace(comparison || ' ', '= ', '') || shown_published_value || shown_unit as printed,
        shown_recommended_low || ' to ' || shown_recommended_high as shown_interval,
        concat(
            case
                when unit = 'stars'
                    then 'On normalised scores, with neighbouring targets kept together in blocks of ten,'
                when starts_with(recommended_as, 'abss_') then 'As published, over its questions,'
                when recommended_as = 'goals_disagree' then 'By displacement and gap, which we recommend,'
                when starts_with(recommended_as, 'gain_on_own_control') then 'By displacement, against its own control,'
                when contains(recommended_as, 'displacement')
                    then 'By displacement, in which too high and too low do not cancel,'
                when regexp_matches(recommended_as, '_gap$') then 'By gap, which is absolute for each LLM,'
                when ends_with(recommended_as, '_of_llms') then 'Taken of each LLM and then averaged,'
                else 'As recommended'
            end,
            case
                when unit = 'stars' and recommended_value = 0 then ' p is at least .1'
                when unit = 'stars' and recommended_value = 1 then ' p is below .1 and at least .05'
                when unit = 'stars' and recommended_value = 2 then ' p is below .05 and at least .01'
                when unit = 'stars' then ' p is below .01'
                when unit = 'yes or no' and recommended_value > 0 then ' it is so'
                when unit = 'yes or no' then ' it is not so'
                else
                    ' it is '
                    || case when unit = 'rank' then 'place ' else '' end
                    || shown_recommended_value
                    || shown_unit
                    || coalesce(' (' || shown_interval || ')', '')
            end
        ) as as_recommended
    from worded
),

explained as (
    select
        *,
        case
            when recomputes = 'no'
                then
                    case when rests_on = 'printed numbers' then 'Its printed inputs' else 'The ' || rests_on end
                    || ' give '
                    || shown_recomputed_value || shown_unit || ', not ' || printed || '.'
        end as said_of_recomputing,
        case
            when holds in ('weaker', 'contradicted') and unit = 'yes or no'
                then
                    as_recommended
                    || case when shown_interval is null then '.' else ', but less surely than a decision needs.' end
            when holds = 'contradicted' and kind = 'sentence' and is_excluded
                then as_recommended || ': the whole interval contradicts ' || printed || '.'
            when holds = 'contradicted' and kind = 'sentence' and shown_interval is not null
                then as_recommended || ', which is not ' || printed || '; the interval allows both.'
            when holds = 'contradicted' and rests_on = 'trials' and regexp_matches(quantity, '_(low|high)$')
                then
                    'The recommended interval ends at ' || shown_recommended_value || shown_unit
                    || case
                        when llm is null then ': it covers LLMs that were not tested, not only new trials of the same.'
                        else ': it is of trials, and counts that the baseline is estimated too.'
                    end
            when holds = 'confounded'
                then
                    as_recommended
                    || ', but that compares unlike conditions: ' || confounded_by || '.'
            when holds = 'weaker' and unit = 'stars' then as_recommended || '.'
            when holds = 'weaker' and shown_interval is null
                then as_recommended || ', with no interval to say how sure that is.'
            when holds = 'weaker' and not is_of_few_llms and kind = 'value'
                then as_recommended || ': it could be anything in that interval.'
            when holds = 'weaker' and not is_of_few_llms
                then as_recommended || ': the interval also allows the opposite.'
            when holds = 'holds' and unit = 'stars' and comparison = '=' and not agrees_as_recommended
                then as_recommended || ', stronger evidence than is printed.'
            when holds in ('weaker', 'contradicted') or (holds = 'holds' and kind = 'sentence')
                then as_recommended || '.'
        end as said_of_holding
    from phrased
),

reasoned as (
    select
        * replace (coalesce(quantity, derivation) as quantity),
        case
            when not is_loaded and study is not null
                then 'The study ' || study || ' is not in this warehouse: import its archive.'
            else nullif(concat_ws(
                ' ',
                not_derivable,
                note,
                case
                    when recomputes = 'not_checked' and llm_b is not null
                        then 'The warehouse does not hold scores of both ' || llm || ' and ' || llm_b || '.'
                    when recomputes = 'not_checked' and rests_on = 'scores'
                        then 'The warehouse holds no scores of ' || coalesce(llm, 'these LLMs') || '.'
                    when recomputes = 'not_checked' then 'The warehouse holds no trials for this quantity.'
                end,
                said_of_recomputing,
                case
                    when recomputes = 'yes' and holds = 'contradicted' and specification != ''
                        then 'The paper takes it ' || specification || '.'
                end,
                said_of_holding,
                case
                    when is_of_few_llms and holds in ('weaker', 'contradicted', 'confounded')
                        then
                        'Tested on ' || case when n_llms = 1 then 'one LLM' else n_llms || ' LLMs' end
                        || ' only; do not generalise.'
                end,
                case
                    when holds is null and recomputes in ('yes', 'no') and rests_on = 'scores'
                        then
                        'The recommended analysis takes Shapley values, which need the score of every set of fields; '
                        || 'only their Banzhaf values were published.'
                    when holds is null and recomputes in ('yes', 'no')
                        then 'The recommended analysis has no such number.'
                end
            ), '')
        end as reason
    from explained
),

beside_newest as (
    select
        reasoned.*,
        versions.version,
        {% for name, column in {
            'newest_value': 'recomputed_value', 'newest_recomputes': 'recomputes', 'newest_holds': 'holds',
        }.items() -%}
            case
                when versions.cited_study is not null
                    then any_value(reasoned.{{ column }}) filter (where reasoned.of_version = 'newest') over one_claim
            end as {{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from reasoned
    left join versions on reasoned.document = versions.document and reasoned.study = versions.study
    window one_claim as (partition by reasoned.claim_id, reasoned.part)
    qualify reasoned.of_version = 'cited'
)

select {{ declared_columns() }} from beside_newest
