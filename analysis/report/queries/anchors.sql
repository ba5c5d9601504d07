select distinct study, domain, vignette, llm, anchor_direction, anchor_value from marts.response_counts
where row_set = 'accepted' and response_source = 'reparsed' and anchor_direction in ('low', 'high')
    and anchor_value is not null
order by all
