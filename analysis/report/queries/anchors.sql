select distinct study, domain, vignette, llm, arm, anchor_value from marts.counts
where paradigm = 'anchoring' and row_set = 'accepted' and response_source = 'reparsed' and arm in ('low', 'high')
    and anchor_value is not null
order by all
