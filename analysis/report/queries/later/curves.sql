-- what the anchor adds to answers from 0 to 9, from 10 to 19 and so on: by Shapley values where all are known
select
    study, scoring_set, llm, variation, anchor_direction, anchor, avg(target) as target,
    target // 10 = floor(anchor / 10) as is_of_anchor, -- `//` leaves a part where one side is a double
    case when count(shapley) = count(*) then avg(shapley) when count(banzhaf) = count(*) then avg(banzhaf) end as mean
from papers.attributions
where field = 'anchor'
group by study, scoring_set, scoring, llm, variation, anchor_direction, anchor, target // 10
order by study, llm, scoring_set, variation, anchor, target
