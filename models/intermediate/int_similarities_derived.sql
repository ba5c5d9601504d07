-- One row per trial, instrument and measure of how an answer covers its text: the similarities with the thirds of the
-- text, and what follows from them. A third is favoured where it is nearer to the answer than the middle by more than
-- the alpha of the instrument.
with measurements as (
    select * from {{ ref('stg_measurements') }}
    where measure in ('similarity_beginning', 'similarity_middle', 'similarity_end')
),

thirds as (
    select
        study,
        trial_id,
        instrument,
        max(value) filter (where measure = 'similarity_beginning') as beginning,
        max(value) filter (where measure = 'similarity_middle') as middle,
        max(value) filter (where measure = 'similarity_end') as ending,
        string_agg(distinct reason, '; ' order by reason) as reason,
        ('{{ var('similarity_alphas') | tojson }}'::json ->> split_part(instrument, ':', 1))::double as alpha
    from measurements
    group by all
),

derived as (
    select
        study,
        trial_id,
        instrument,
        reason,
        unnest([
            struct_pack(measure := 'similarity_beginning', value := beginning),
            struct_pack(measure := 'similarity_middle', value := middle),
            struct_pack(measure := 'similarity_end', value := ending),
            struct_pack(measure := 'coverage', value := (beginning + middle + ending) / 3),
            struct_pack(measure := 'primacy_margin', value := beginning - middle),
            struct_pack(measure := 'primacy', value := (beginning - middle > alpha)::integer::double),
            struct_pack(measure := 'recency', value := (ending - middle > alpha)::integer::double)
        ]) as of_measure
    from thirds
)

select
    derived.study,
    derived.trial_id,
    derived.instrument,
    derived.of_measure.measure,
    derived.of_measure.value,
    case when derived.of_measure.value is null then coalesce(derived.reason, 'not_measured') end as reason
from derived
