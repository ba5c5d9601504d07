"""The public tables of a warehouse as DataFrames, for notebooks."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from bais.warehouse import public_tables, refuse_unknown, refuse_without_marts
from ingest.warehouse import connect, warehouse_path


class Tables(Mapping):
    """The public tables by name, such as `marts.conditions`; each is read when it is asked for.

    Parameters
    ----------
    path : str or Path, optional
        The warehouse; by default the one that commands ask.

    Raises
    ------
    ingest.warehouse.UserError
        Where there is no warehouse, or one without public tables.
    """

    def __init__(self, path: str | Path | None = None):
        self.path = Path(path) if path else warehouse_path()
        with self._opened() as warehouse:
            tables = public_tables(warehouse)
        refuse_without_marts(tables)
        self._means = {f"{schema}.{name}": comment for schema, name, comment in tables}

    def __getitem__(self, name: str):
        """Return a table as a pandas DataFrame."""
        refuse_unknown("table", name, self._means)
        return self.sql(f"from {name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        lines = [f"{name}: {(means or '').split('.')[0]}" for name, means in self._means.items()]
        return "\n".join([f"{self.path}, {len(self)} public tables", *lines])

    def sql(self, query: str, **parameters):
        """Return what a query gives as a pandas DataFrame; `$name` in it stands for a parameter."""
        with self._opened() as warehouse:
            return warehouse.execute(query, parameters).df() if parameters else warehouse.execute(query).df()

    def _opened(self):
        return contextlib.closing(connect(self.path))
