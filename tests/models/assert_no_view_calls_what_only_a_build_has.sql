-- Who opens the warehouse with another client has none of the functions of bais/sql_functions.py: no view needs one.
-- depends_on: {{ ref('alteration_and_people') }}
select schema_name, view_name from duckdb_views()
where
    database_name = current_database()
    and regexp_matches(sql, '\b(t_quantile|normal_quantile|share_low|share_high)\(')
