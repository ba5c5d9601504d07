-- A numeral is a claim or has a reason to be none, never both. Its claims are of the same document, and the value of
-- each is what is printed there, with as many decimals. A fall may be printed as its size, without the sign ("lowers
-- it by 2 points"), and a multiple of the baseline as its distance from it in percent (1.5 baselines as "50 % above").
-- The number of a sentence is a threshold, which the sentence need not print.
with numerals as (
    select
        *,
        replace(replace(replace(numeral, ',', ''), '−', '-'), '+', '') as digits,
        unnest(string_split(coalesce(claim, ''), ' ')) as claim_key
    from {{ ref('numerals') }}
),

published_claims as (
    select
        *,
        claim_id || coalesce('/' || part, '') as claim_key
    from {{ ref('published_claims') }}
),

numbers as (
    select
        *,
        length(split_part(split_part(digits, 'e', 1), '.', 2))
        - coalesce(try_cast(split_part(digits, 'e', 2) as integer), 0) as n_decimals,
        try_cast(digits as double) as number,
        left(numeral, 1) in ('+', '−', '-') as is_signed
    from numerals
)

select
    document,
    numbers.line,
    numbers.position,
    numbers.numeral,
    claim_key,
    numbers.why,
    published_claims.published_value,
    published_claims.decimals
from numbers
left join published_claims using (document, claim_key)
where
    (numbers.claim is null) = (numbers.why is null)
    or (numbers.claim is not null and published_claims.claim_id is null)
    or (
        published_claims.kind = 'value'
        and not coalesce(
            (
                numbers.n_decimals = greatest(published_claims.decimals, 0)
                and (
                    numbers.number = published_claims.published_value
                    or (not numbers.is_signed and numbers.number = -published_claims.published_value)
                )
            )
            or (
                published_claims.unit = 'baselines'
                and numbers.n_decimals = greatest(published_claims.decimals - 2, 0)
                and numbers.number = 100 * abs(published_claims.published_value - 1)
            ),
            false
        )
    )
