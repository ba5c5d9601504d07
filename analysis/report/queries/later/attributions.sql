-- what the anchor adds to the log-probability of each target: a Shapley value where there is one
-- beside papers.anchor_calls
select
    study, scoring_set, llm, variation, anchor_direction, anchor, target,
    coalesce(shapley_anchor, banzhaf_anchor) as attribution,
    if(shapley_anchor is null, 'banzhaf', 'shapley') as attributed_by
from intermediate.int_scores_accepted
order by study, llm, scoring_set, variation, anchor, target
