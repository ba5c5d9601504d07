"""Where the quantity of a claim is looked up: the SQL that follows from a row of `seeds/quantities.csv`."""

import re

from analysis.methods.small_samples import share_interval

NAMING = ("claim_id", "part", "purpose", "of_version", "quantity")
NUMBERS = {"value": "double", "low": "double", "high": "double", "n_trials": "bigint", "n_llms": "bigint"}
# what is recommended has its interval beside it, wherever its value is from
RECOMMENDED = {"relation": "int_claims_recommended", "where": "asked.quantity = quantity"}
RECOMMENDED |= {"value": "value", "low": "low", "high": "high"}
SHARE = "percent_below_baseline"  # of one LLM it has an exact interval, which a mean of answers that do not vary lacks


def lookups(quantities, asked, relations):
    """Yield the SQL that finds the numbers that claims ask for, a query for each row of quantities that any asks for.

    What a claim asks for is compared with the rows of the relation that have the same keys, and of which `where` is
    true. A key that `where` names, as `asked.key`, is compared as it says; one that the relation lacks must be null.
    There must be one such row, but for numbers that are `over` some keys, of which the claim names none.

    Parameters
    ----------
    quantities : iterable of dict
        Rows of the seed: `where`, `value`, `low`, `high`, `n_trials` and `n_llms` are SQL over the columns of the
        relation and `asked`.
    asked : duckdb.DuckDBPyRelation
        `int_claim_specifications`: what tells a claim from others, and its keys.
    relations : dict of str to duckdb.DuckDBPyRelation
        By name.

    Yields
    ------
    str
        A query with the columns `asked` (a struct, with the keys) and `NUMBERS`; the last is of what is recommended.

    Raises
    ------
    ValueError
        If a row names a relation that is not among them.
    """
    wanted = {quantity for (quantity,) in asked.project("quantity").distinct().fetchall()}
    for row in quantities:
        if row["quantity"] in wanted and row["relation"] not in (None, RECOMMENDED["relation"]):
            if row["relation"] not in relations:
                raise ValueError(
                    f"seeds/quantities.csv: {row['quantity']} is looked up in {row['relation']}, which is none of "
                    f"{', '.join(relations)}. To add a table, name it in models/claims/internal/int_claims_derived.py."
                )
            yield _query(row, f"quantity = '{row['quantity']}'", asked, relations[row["relation"]])
    yield _query(RECOMMENDED, "true", asked, relations[RECOMMENDED["relation"]])


def _query(row, those, asked, found):
    where, over = row["where"] or "true", (row.get("over") or "").split()
    matched = set(found.columns) - set(over)
    own = {*NAMING, "scoring_set", "scoring_set_b", *re.findall(r"\basked\.(\w+)", where)}
    same = [
        f"asked.{key} is not distinct from found.{key}" if key in matched else f"asked.{key} is null"
        for key in asked.columns
        if key not in own
    ]
    counts = {name: name for name in ("n_trials", "n_llms") if name in found.columns and not over}
    numbers = [
        f"{'' if over else 'any_value'}(({row.get(name) or counts.get(name, 'null')})::{kind}) as {name}"
        for name, kind in NUMBERS.items()
    ]
    return (
        f"select asked, {', '.join(numbers)} "
        f"from (select asked from ({asked.sql_query()}) as asked where {those}) as claims "
        f"inner join ({found.sql_query()}) as found on {' and '.join([f'({where})', *same])} "
        f"group by asked having {'true' if over else 'count(*) = 1'}"
    )


def looked_up(found):
    """Return the numbers of each claim side by side: those of the paper's specification, and what is recommended.

    Parameters
    ----------
    found : iterable of tuple
        `asked` as a dict and `NUMBERS`, from the queries of `lookups` in their order: what is found first stays.

    Returns
    -------
    list of dict
        Rows of `derivations.LOOKED_UP`.
    """
    claims = {}
    for asked, *numbers in found:
        if numbers[0] is None:
            continue
        claim = claims.setdefault(tuple(asked[name] for name in ("claim_id", "part", "of_version")), {})
        held = claim.setdefault(asked["purpose"], {})
        held |= {name: number for name, number in zip(NUMBERS, numbers, strict=True) if held.get(name) is None}
        if asked["quantity"] == SHARE and asked["llm"] is not None and held["value"] is not None:
            ends = share_interval(round(held["value"] * held["n_trials"] / 100), held["n_trials"])
            held |= {side: 100 * float(end) for side, end in zip(("low", "high"), ends, strict=True)}
    return [
        dict(zip(("claim_id", "part", "of_version"), key, strict=True))
        | {"recomputed_value": published.get("value"), "n_trials": published.get("n_trials")}
        | {f"recommended_{name}": recommended.get(name) for name in ("value", "low", "high")}
        | {"n_llms": recommended.get("n_llms")}
        for key, claim in claims.items()
        for published, recommended in [(claim.get("published", {}), claim.get("recommended", {}))]
    ]
