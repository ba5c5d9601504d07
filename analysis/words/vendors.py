"""What is said of LLMs of which nobody has listed who made them."""

from collections.abc import Sequence

UNLISTED_VENDORS = "unlisted_vendors"  # the code of what `on_unlisted` says
MOST_NAMED = 5


def on_unlisted(llms: Sequence[str]) -> str:
    """Say that LLMs without a vendor count as of one, and what to do; nothing where there are none.

    Parameters
    ----------
    llms : sequence of str
        The LLMs of a decision that have no `is_listed` in `int_vendors`, each once, fit to print.
    """
    if not llms:
        return ""
    more = f" and {len(llms) - MOST_NAMED:,} more" if len(llms) > MOST_NAMED else ""
    named = f"{', '.join(sorted(llms)[:MOST_NAMED])}{more}"
    if len(llms) == 1:
        return f"1 LLM is listed by nobody ({named}); its vendor is “unlisted” until llms.csv says who made it."
    return (
        f"{len(llms):,} LLMs are listed by nobody ({named}); they count together as one vendor until llms.csv "
        "says who made each of them."
    )
