-- One row per claim and claim that it rests on (itself, where it is derived from nothing else), with its place among
-- these: the position of the input, then of that one's input, and so on.
with recursive claims as (
    select {{ claim_key() }} as claim_key, inputs from {{ ref('published_claims') }}
),

inputs as (
    select
        claim_key,
        unnest(regexp_split_to_array(trim(inputs), '\s+')) as input_key,
        generate_subscripts(regexp_split_to_array(trim(inputs), '\s+'), 1) as position
    from claims
    where inputs is not null
),

-- a claim that derives from itself stops the build (`int_claims_derived`); here it must not go round for ever
rests_on as (
    select claim_key, claim_key as basis_key, []::bigint[] as place, [claim_key] as on_the_way from claims
    union all
    select
        rests_on.claim_key,
        inputs.input_key as basis_key,
        list_append(rests_on.place, inputs.position) as place,
        list_append(rests_on.on_the_way, inputs.input_key) as on_the_way
    from rests_on
    inner join inputs on rests_on.basis_key = inputs.claim_key
    where not list_contains(rests_on.on_the_way, inputs.input_key)
)

select rests_on.claim_key, rests_on.basis_key, rests_on.place
from rests_on
anti join inputs on rests_on.basis_key = inputs.claim_key
