-- noqa: disable=LT02
-- One row per study, llm, vignette, technique, anchor direction, arm and role: what became of every trial that was
-- asked.
{% set keys = ['study', 'llm', 'domain', 'vignette', 'technique', 'anchor_direction', 'paradigm', 'arm', 'role'] %}
select
    {{ keys | join(',\n    ') }},
    count(*) as n_asked,
    {% for status in ['answered', 'refused', 'unparsed', 'out_of_range', 'failed'] -%}
        count(*) filter (where status = '{{ status }}') as n_{{ status }},
    {% endfor -%}
    n_answered / n_asked as answered_share
from {{ ref('int_trials_treated') }}
where not is_quarantined and left_out_because is null
{{ group_by(keys) }}
