-- means over several data sets, at each of the studies that they are
select studies.study, means.*
from content.data_set_means as means
inner join (select distinct study, paradigm, llm like 'sim/%' as is_simulated from marts.outcomes) as studies
    on means.paradigm = studies.paradigm and means.is_simulated = studies.is_simulated
qualify
    max(means.n_data_sets) over (
        partition by
            studies.study, means.paradigm, means.is_simulated, means.measure, means.instrument, means.arm,
            means.technique
    ) > 1
order by
    studies.study asc, means.paradigm asc, means.measure asc, means.instrument asc, means.arm asc, means.technique asc,
    means.llm asc nulls first
