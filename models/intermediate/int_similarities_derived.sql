-- One row per trial, instrument and measure of how an answer covers its text: the similarities with the thirds of the
-- text, and what follows from them. A third is favoured where it is nearer to the answer than the middle by more than
-- the alpha of the instrument.
with thirds as (
    select
        study,
        trial_id,
        instrument,
        max(value) filter (where measure = 'similarity_beginning') as beginning,
        max(value) filter (where measure = 'similarity_middle') as middle,
        max(value) filter (where measure = 'similarity_end') as ending,
        {{ texts_joined('reason') }} as reason,
        {{ number_by_name(var('similarity_alphas'), "split_part(instrument, ':', 1)") }} as alpha
    from {{ ref('stg_measurements') }}
    where measure in ('similarity_beginning', 'similarity_middle', 'similarity_end')
    group by all
),

derived as (
    select
        study,
        trial_id,
        instrument,
        reason,
        {{ a_row_each([
            struct_of({'measure': "'similarity_beginning'", 'value': 'beginning'}),
            struct_of({'measure': "'similarity_middle'", 'value': 'middle'}),
            struct_of({'measure': "'similarity_end'", 'value': 'ending'}),
            struct_of({'measure': "'coverage'", 'value': '(beginning + middle + ending) / 3'}),
            struct_of({'measure': "'primacy_margin'", 'value': 'beginning - middle'}),
            struct_of({'measure': "'primacy'", 'value': '(beginning - middle > alpha)::integer::double'}),
            struct_of({'measure': "'recency'", 'value': '(ending - middle > alpha)::integer::double'}),
        ]) }} as of_measure
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
