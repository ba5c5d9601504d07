select study, reason, count(*) as n_lines from raw.quarantined_lines
group by all
order by all
