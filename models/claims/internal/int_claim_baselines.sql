-- One row per specification that a claim asks for, llm that it does not leave out (and, for baseline scope `matched`,
-- temperature): what its responses are compared with.
with specifications as (
    {{ specifications_asked(ref('int_claim_specifications')) }}
)

select specification, baseline_pooling, llm, at_temperature, n_trials, baseline
from specifications
inner join {{ ref('int_baselines_scoped') }} using (study, domain, row_set, baseline_scope)
where not {{ is_left_out('llm', 'excluded_llm') }}
