-- One row per study, paradigm, role of the texts, statistic, judge (null = all) and second judge (null = not of two).
{{ config(materialized='view') }}
select {{ declared_columns() }} from {{ ref('judges_compared') }}
