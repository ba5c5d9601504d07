"""What is said of printed numbers that do not fit each other: the name of each rule, its source, and a sentence."""

GRIM = "Brown & Heathers (2017), Social Psychological and Personality Science 8(4)"
STATCHECK = "Nuijten and others (2016), Behavior Research Methods 48"
ARITHMETIC = "arithmetic, with all that is rounded or cut off to the printed numbers"

# by rule: its name, its source, and what it says where a number cannot be
RULES = {
    "share": ("shares", ARITHMETIC, "{printed} % is printed in {about}, where it is {range} %"),
    "share_of_n": ("GRIM", GRIM, "{about} is no whole number of them; the nearest shares are {range} %"),
    "mean": ("GRIM", GRIM, "{printed} in {about} is no mean of so many whole answers; the nearest are {range}"),
    "p_value": ("statcheck", STATCHECK, "p of {printed} is printed, where {about} gives p of {range}"),
    "hundred": ("shares of a whole", ARITHMETIC, "the shares in {about} add to {range} and not to {printed}"),
    "total": ("sums", ARITHMETIC, "{printed} is printed in {about}, where the parts add to {range}"),
}


def sentence(finding):
    """Say what is wrong with a printed number.

    Parameters
    ----------
    finding : analysis.claims.consistency.Finding
        One that is not possible.

    Returns
    -------
    str
        With the place, the printed number, what it could be, and the name of the rule.
    """
    name, _, text = RULES[finding.rule]
    low, high = (f"{bound:.4g}" if abs(bound) < 1000 else f"{bound:,.0f}" for bound in (finding.low, finding.high))
    bounds, about = high if low == high else f"{low} to {high}", " \N{MIDDLE DOT} ".join(finding.about)
    text = text.format(printed=finding.printed, about=f"“{about}”", range=bounds)
    return f"{finding.place}: {text}{', on the other side of .05' if finding.crosses else ''} ({name})."
