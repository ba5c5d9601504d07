select * from marts.shortfalls
order by all
