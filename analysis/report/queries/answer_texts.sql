select
    study, domain, vignette, llm, technique, anchor_direction, response,
    list(text order by text)[:3] as texts
from (
    select distinct
        study, domain, vignette, llm, technique, anchor_direction, response,
        left(response_text, 240) as text
    from marts.trials
    where response_text is not null and response is not null and role is null and left_out_because is null
        and anchor_direction in ('none', 'low', 'high')
) as told
group by all
order by all
