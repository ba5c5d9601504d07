"""Documents from templates."""

import json
from functools import cache
from pathlib import Path

HERE = Path(__file__).with_name("templates")
MINUS = "\u2212"


def written(name, shown, templates=HERE, **given):
    """Return a document.

    Parameters
    ----------
    name : str
        Of a file in `templates/`, without its ending.
    shown : dict of str to callable
        How the template shows what it is given, beside `json` and `count`.
    templates : Path
        The folder of templates, unless it is this one.
    **given
        What it is given.

    Returns
    -------
    str
    """
    environment = _environment(templates).overlay()
    environment.filters = {**environment.filters, **shown}
    return environment.get_template(f"{name}.md").render(given)


def filters(*functions):
    """Return functions by their names, as templates have them: without the underscore of what is of one module."""
    return {function.__name__.removeprefix("_"): function for function in functions}


def count(n, one, many=None):
    """Return a number and what it counts."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def as_json(value, indent):
    """Return a value as JSON that a reader can follow."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


@cache
def _environment(templates):
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"count": count, "json": as_json}
    return environment
