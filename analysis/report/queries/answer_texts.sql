select
    study, domain, vignette, llm, technique, anchor_direction, response,
    list(distinct left(response_text, 240) order by left(response_text, 240))[:3] as texts
from marts.trials
where response_text is not null and response is not null and role is null and left_out_because is null
    and anchor_direction in ('none', 'low', 'high')
group by all
order by all
