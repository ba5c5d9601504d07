{# The vendor of each LLM of a relation, by names that somebody listed: its own, an alias, or either behind the routers that
   serve it, of which as few are taken off as will do. Nothing else is taken off a name, since that would be a guess. Pure
   Jinja, since `ingest` renders it too. #}
{% macro vendors_of(asked, llms, aliases, routers) -%}
    with recursive names as (
        select distinct llm, llm as name, 0 as n_off from {{ asked }}
        union all
        select names.llm, substr(names.name, length(routers.router) + 2) as name, names.n_off + 1 as n_off
        from names
        inner join {{ routers }} as routers
            on starts_with(names.name, routers.router || '/') or starts_with(names.name, routers.router || ':')
    ),

    found as (
        select names.llm, arg_min(listed.vendor, names.n_off) as vendor
        from names
        left join {{ aliases }} as aliases on names.name = aliases.alias
        left join {{ llms }} as listed on coalesce(aliases.llm, names.name) = listed.llm
        group by names.llm
    )

    select
        llm,
        coalesce(vendor, if(starts_with(llm, 'sim/'), llm, 'unlisted')) as vendor,
        vendor is not null or starts_with(llm, 'sim/') as is_listed
    from found
{%- endmacro %}
