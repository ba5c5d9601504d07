"""One row per claim and part of each paper: a number or a sentence that it prints, and how its authors computed it."""


def model(dbt, session):
    """Read the folders of the papers, and return the table."""
    from analysis.claims.papers import CLAIMS, read_papers
    from analysis.tables import table

    return table(read_papers()[1], CLAIMS)
