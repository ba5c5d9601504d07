-- what each field of a prompt adds over all answers: by Shapley values where these are known, else by Banzhaf values
select
    study, scoring_set, llm, variation, anchor_regime, anchor_direction, anchor, field, specification, mean,
    lower_whisker, lower_quartile, median, upper_quartile, upper_whisker, reason
from papers.attribution_distributions
qualify
    row_number() over (
        partition by study, scoring, variation, anchor_direction, anchor, field
        order by mean is null, specification != 'recommended'
    ) = 1
order by study, llm, scoring_set, variation, anchor, field
