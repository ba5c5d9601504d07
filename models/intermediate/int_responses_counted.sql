-- One row as in int_responses_sourced with a response, of the response source that the var names: what the marts are
-- made of.
select * from {{ ref('int_responses_sourced') }}
where response_source = '{{ var("response_source") }}' and response is not null
