-- One row per audited trial that is suspect for what its LLM's answers are together, and why.
{% for reason, model in {
    'changed_midway': 'gate_changes', 'same_answers': 'gate_same_answers', 'reversed': 'gate_reversed',
    'cut_off': 'gate_cut', 'collapsed_repeats': 'gate_collapsed',
}.items() %}
select *, '{{ reason }}' as reason from {{ ref(model) }}
{{ 'union all by name' if not loop.last }}
{% endfor %}
