-- share_standing and n_specifications are those of the headline's rows with a value, and only rows without one have a
-- reason.
with headlines as (
    select
        study,
        domain,
        headline,
        avg(stands::int) as expected_share,
        count(value) as expected_n,
        bool_or((value is null) != (reason is not null) or (value is null) != (stands is null)) as is_contradictory
    from {{ ref('sensitivity') }}
    group by all
)

select *
from headlines
inner join {{ ref('sensitivity') }} as specifications using (study, domain, headline)
where
    is_contradictory
    or expected_n != n_specifications
    or (expected_share is null) != (share_standing is null)
    or abs(expected_share - share_standing) > 1e-12
