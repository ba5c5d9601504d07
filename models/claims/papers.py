"""One row per paper whose claims are checked."""


def model(dbt, session):
    """Read the folders of the papers, and return the table."""
    from analysis.claims.papers import PAPERS, read_papers
    from analysis.tables import table

    return table(read_papers()[0], PAPERS)
