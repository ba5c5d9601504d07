"""What the pages are made of: the rows of one query for each of their tables, each in a file of its name.

Those in `later/` read tables that warehouses of an older version have not: there they give no rows.
"""

import re
from pathlib import Path

PUBLIC = "marts|inference|papers|people|content|claims"  # schemas
TABLE = re.compile(rf"\b(?:{PUBLIC})\.(\w+)")


def queries(tables):
    """Return the queries of the report that a warehouse can answer.

    Parameters
    ----------
    tables : collection of str
        The names of its public tables.

    Returns
    -------
    dict of str to str or None
        SQL by the name that `Study.rows` takes; None where a table is missing that came later.
    """
    here = Path(__file__).parent
    sql_by_name = {path.stem: path.read_text(encoding="utf-8") for path in sorted(here.glob("*.sql"))}
    for path in sorted(here.glob("later/*.sql")):
        text = path.read_text(encoding="utf-8")
        sql_by_name[path.stem] = text if set(TABLE.findall(text)) <= set(tables) else None
    return sql_by_name
