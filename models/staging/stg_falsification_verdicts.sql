-- One row per falsified text and person who validated it: what that person stated last.
select falsification_id, validator, is_negation, ordinal from {{ source('raw', 'falsification_verdicts') }}
qualify row_number() over (partition by falsification_id, validator order by ordinal desc) = 1
