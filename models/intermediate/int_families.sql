-- One row per study, paradigm, domain and goal of which a family of decisions was frozen: the one in force, how many
-- there have been, and what that leaves of the error. Of what was frozen before the first call, the last counts alone:
-- nobody had seen an answer when it took the place of the one before. A family of another domain counts too if it holds
-- a vignette that has moved here since.
with frozen as (
    select *, max(ordinal) filter (before_first_call) over (partition by study) as last_before_first_call
    from {{ ref('stg_families') }}
),

counting as (
    select * exclude (last_before_first_call) from frozen
    where not before_first_call or ordinal = last_before_first_call
),

in_force as (
    select * from counting
    qualify row_number() over (
            partition by study, paradigm, domain, goal order by frozen_at desc, ordinal desc, source desc
        ) = 1
),

counted as (
    select
        in_force.study,
        in_force.paradigm,
        in_force.domain,
        in_force.goal,
        count(distinct counting.family) as n_families,
        bool_or(counting.before_first_call and counting.family = in_force.family) as is_before_first_call,
        arg_min(
            struct_pack(family := counting.family, frozen_at := counting.frozen_at, content := counting.content),
            (not counting.before_first_call, counting.frozen_at, counting.ordinal)
        ) as first_family
    from in_force
    inner join counting
        on
            {{ same_in('in_force', 'counting', ['study', 'paradigm', 'goal']) }}
            and (
                in_force.domain is not distinct from counting.domain
                or list_has_any(in_force.vignettes, counting.vignettes)
            )
    group by all
)

select
    in_force.study,
    in_force.paradigm,
    in_force.domain,
    in_force.goal,
    in_force.family,
    counted.first_family.family as first_family,
    counted.first_family.frozen_at as first_frozen_at,
    in_force.frozen_at,
    counted.n_families,
    counted.n_families = 1 and counted.is_before_first_call as is_frozen,
    counted.n_families > 1 as is_exploratory,
    least(0.05 * counted.n_families, 1)::double as error_at_most,
    case
        when counted.n_families > 1 then 'family_changed'
        when not counted.is_before_first_call then 'family_not_frozen'
    end as reason,
    len(in_force.compared) as n_compared,
    in_force.compared,
    in_force.margin,
    in_force.vendors,
    in_force.vignettes,
    in_force.content,
    counted.first_family.content as first_content
from in_force
inner join counted on {{ same_in('in_force', 'counted', ['study', 'paradigm', 'domain', 'goal']) }}
