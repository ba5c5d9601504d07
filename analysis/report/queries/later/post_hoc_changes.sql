select * from marts.post_hoc_changes
order by all
