-- `fewest_llms` here and FEWEST_LLMS in analysis/small_samples.py are one number.
select *
from {{ ref('intervals') }}
where
    llm is null and method = 'headline'
    and (
        (n_llms < {{ fewest_llms() }} and low is not null)
        or (n_llms >= {{ fewest_llms() }} and reason = 'too_few_llms')
    )
