-- One row per study of people, participant and pair of products; of excluded participants too, with the reason.
select
    * exclude (excluded),
    chosen = target as is_target_chosen,
    willingness_to_pay / price as relative_payment,
    excluded is null as is_counted,
    nullif(
        concat_ws('; ', excluded, case when willingness_to_pay is null or price is null then 'no_payment' end), ''
    ) as reason
from {{ ref('stg_human_choices') }}
