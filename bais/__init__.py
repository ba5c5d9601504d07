"""The one room that knows all others: `main.py` lists what can be typed, and `bais.open()` is for notebooks."""


def open(path=None):
    """Open a warehouse to read its tables as DataFrames.

    Parameters
    ----------
    path : str or Path, optional
        The file; by default what `BAIS_WAREHOUSE` names, else that of the folder of one's own, or of the checkout.

    Returns
    -------
    bais.frames.Tables
        `bais.open()["marts.conditions"]` is that table, `bais.open().sql("select 1")` what a query gives.
    """
    from bais.frames import Tables

    return Tables(path)
