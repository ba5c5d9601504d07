-- One row per study, paradigm, domain, goal, source and time at which its family of decisions was frozen, with what the
-- family holds: of each comparison the technique, the control and the kind.
select
    *,
    from_json(content -> '$.rows', '[["varchar"]]') as compared,
    (content ->> '$.margin')::double as margin,
    from_json(content -> '$.vendors', '["varchar"]') as vendors,
    from_json(content -> '$.vignettes', '["varchar"]') as vignettes
from {{ source('raw', 'families') }}
