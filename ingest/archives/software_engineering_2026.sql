-- Of each file, whose name says the LLM and the techniques, and of each bias in it: how many pairs of dilemmas, with and
-- without the cue, got another decision, and how many the same. Each dilemma was put five times.
with biases as (
    select filename, record, unnest(json_keys(record)) as bias from source
),

counted as (
    select
        filename,
        replace(regexp_replace(bias, ' (bias|effect)$', ''), ' ', '_') || '_dilemmas' as paradigm,
        regexp_extract(filename, 'sensitivity_model=(.+?)\.data_model_list=', 1) as llm,
        array_to_string(regexp_extract_all(filename, '\.(\w+)=True', 1), '+') as techniques,
        (record -> bias ->> 'total_runs')::bigint as n_runs,
        (record -> bias ->> 'sensitivity')::double / 100 * n_runs as n_changed
    from biases
)

select
    filename,
    llm,
    paradigm,
    'pair' as arm,
    coalesce(nullif(techniques, ''), 'no_technique') as technique,
    unnest([1, 0]) as value,
    unnest([round(n_changed)::bigint, n_runs - round(n_changed)::bigint]) as n,
    ceil(n_runs / 5)::bigint as n_clusters
from counted
