"""One row per published claim, part and version of the source: its values, looked up or derived from other claims."""


def model(dbt, session):
    """Read the claims and what was looked up of them, and return the table."""
    from analysis.claims.derivations import COLUMNS, derived_claims
    from analysis.tables import table

    claims = dbt.ref("published_claims").to_arrow_table().to_pylist()
    looked_up = dbt.ref("int_claims_looked_up").to_arrow_table().to_pylist()
    return table(derived_claims(claims, looked_up), COLUMNS)
