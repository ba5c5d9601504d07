-- What SQL is told (`fewest_llms`) is what the intervals keep to.
select *
from {{ ref('intervals') }}
where
    llm is null and method = 'headline'
    and (
        (n_llms < {{ fewest_llms() }} and low is not null)
        or (n_llms >= {{ fewest_llms() }} and reason = 'too_few_llms')
    )
