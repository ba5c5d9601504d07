-- One row per audited trial that is wrong, whatever the baseline of its LLM is, and why: what is quarantined of these
-- is left out before there is a baseline, so that what hangs on it is not blamed.
select *, 'another_question' as reason, false as is_of_llm from {{ ref('gate_questions') }}
union all by name
select trial_id, batch_id, study, reason, detail, is_of_llm from {{ ref('gate_levels') }}
