"""Statistics that SQL models call by name: `analysis` and scipy compute them, and dbt registers them as it connects."""

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb.sqltypes import DOUBLE


class Plugin(BasePlugin):
    """What profiles/profiles.yml names, so that every connection of dbt has the functions."""

    def configure_connection(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Register the functions with a connection."""
        register(connection)


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Let SQL call `t_quantile(p, df)`, `normal_quantile(p)`, `share_low(k, n)` and `share_high(k, n)`.

    The shares have Wilson's 95 % interval, null where nothing was seen. What is null gives null.
    """
    from scipy import special

    from analysis.methods.small_samples import wilson_interval

    functions = {
        "t_quantile": lambda p, df: None if None in (p, df) else float(special.stdtrit(df, p)),
        "normal_quantile": lambda p: None if p is None else float(special.ndtri(p)),
        "share_low": lambda k, n: float(wilson_interval(k, n)[0]) if k is not None and n else None,
        "share_high": lambda k, n: float(wilson_interval(k, n)[1]) if k is not None and n else None,
    }
    for name, function in functions.items():
        arguments = [DOUBLE] * function.__code__.co_argcount
        connection.create_function(name, function, arguments, DOUBLE, null_handling="special")
