-- One row per statistic, validator (null = all) and second validator (null = not of two).
{{ config(materialized='view') }}
select {{ declared_columns() }} from {{ ref('validators_compared') }}
