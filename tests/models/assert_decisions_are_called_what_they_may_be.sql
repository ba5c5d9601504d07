-- A word of a decision needs what is said of it: bounds on its side of 0, a placebo that gains less, another certainty.
{% set keys = question_keys() + ['technique', 'llm'] %}
with decided as (
    select *, coalesce(reason, '') as codes from {{ ref('decisions') }}
    where decision is not null
),

placebos as (
    select * from {{ ref('decisions') }}
    where comparison = 'placebo'
)

select decided.*
from decided
left join placebos on decided.comparison = 'control' and {{ same_in('decided', 'placebos', keys) }}
where
    (
        decided.decision in ('use', 'helps_its_own_prompt', 'asking_again_helps', 'better_than_asking_again')
        and not coalesce(decided.gain_low > 0, false)
    )
    or (decided.decision in ('avoid', 'worse_than_asking_again') and not coalesce(decided.gain_high < 0, false))
    or (
        decided.decision = 'equivalent'
        and not coalesce(decided.gain_low > -decided.margin and decided.gain_high < decided.margin, false)
    )
    or (contains(decided.decision, 'asking_again') and decided.decision != 'asking_again_helps')
    != (decided.comparison = 'placebo' and decided.decision not in ('equivalent', 'no_evidence'))
    or (
        decided.decision = 'use'
        and case
            when placebos.study is null or contains(placebos.reason, 'confounded_prompt')
                then not contains(decided.codes, 'placebo_not_asked')
            else not coalesce(placebos.gain_low > 0, false)
        end
    )
    or (
        decided.decision in ('use', 'helps_its_own_prompt')
        and exists (
            select 1 from decided as against
            where
                against.comparison = 'placebo' and against.study = decided.study
                and against.control = decided.technique
        )
    )
    or (decided.llm is null and decided.n_vendors < {{ fewest_llms() }} and decided.decision != 'no_evidence')
    or (decided.llm is not null) != (decided.certainty = 'one_llm')
    or (decided.llm is not null and decided.comparison = 'placebo')
    or (
        decided.decision = 'no_evidence'
        and decided.certainty in ('supported', 'established', 'contradicted_elsewhere', 'hangs_on_suspect_rows')
    )
    or (decided.certainty in ('supported', 'established') and contains(decided.codes, 'hangs_on_suspect_rows'))
    or (
        decided.certainty = 'established'
        and (
            decided.n_cases < 2
            or decided.n_vendors < {{ fewest_llms() }}
            or regexp_matches(
                decided.codes,
                'attrition_could|reading_would_change|hangs_on|before_after|one_case|family_|outside_the_family'
            )
        )
    )
