-- That of an LLM asked has its own vendor, and one of a further LLM a vendor that was asked and that somebody listed.
with predictions as (
    select * from {{ ref('predictions') }}
),

vendors as (
    select * from {{ ref('int_vendors') }}
)

select predictions.study, predictions.llm, predictions.vendor
from predictions
left join vendors using (llm)
where predictions.llm is not null and predictions.vendor is distinct from vendors.vendor

union all

select predictions.study, predictions.llm, predictions.vendor
from predictions
anti join vendors on predictions.vendor = vendors.vendor and vendors.is_listed and vendors.llm != vendors.vendor
where predictions.llm is null and predictions.vendor is not null
