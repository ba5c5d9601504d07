"""The answer of a study in words: what to use, what to avoid, and what nobody can say yet."""

import re

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_VENDORS
from analysis.report.tables import interval, number, share, side_by_side, signed, table_of, under_key, whole
from analysis.report.values import MISSING, SAID_ABOVE, Number, clean, counted, key_text, listed
from analysis.words import cards, shortfalls
from analysis.words.cards import PREDICTIONS, RANKS
from analysis.words.changes import counted as changes_counted
from analysis.words.changes import sentences as changes_said
from analysis.words.codes import CERTAINTY, DECIDED, DECISIONS, GOALS, HARMS, codes_of, in_words, on_an_llm
from analysis.words.conclusions import HARMS_WHOM

SIGNS = {
    "use": "✓", "helps_its_own_prompt": "↩", "asking_again_helps": "↻", "better_than_asking_again": "✓",
    "worse_than_asking_again": "✕", "avoid": "✕", "equivalent": "≈", "no_evidence": "?",
}  # fmt: skip
SAID_ELSEWHERE = ("too_few_vendors", "placebo")  # in other columns of the table of decisions
IN_SHORT = ("use", "helps_its_own_prompt", "asking_again_helps", "avoid", "equivalent")

CAPTIONS = {
    "the goal that leads": "{}, {}: what each technique gains on its control, in percentage points of the baseline, "
    "each vendor weighing the same. Losses are roots of mean squares without noise, and each stands beside that of the "
    "same control as the gain. The intervals are for other LLMs, hold at 95 % for all rows of the goal at once, those "
    "against a placebo too, and assume no rare LLM far off; “LLMs as if independent” takes no heed of vendors. The "
    "sign-flip p assumes symmetric gains, and with five vendors cannot be below 1/16.",
    "the other goals": "{}, secondary goals ({}). Each goal keeps its own 5 %: over all three together a false "
    "decision can be up to three times as frequent.",
    "other comparisons": "{}, other comparisons: against the placebo, whose turns have neutral content, and confounded "
    "ones, in which the two were asked with different prompts, so that nothing is decided.",
}
OF_EACH_LLM = (
    "{}, {}: what each technique does to each LLM that was asked, against its control: its gain with its interval, by "
    "the trials of that LLM alone. The intervals hold at 95 % for all {} rows at once, of each LLM and comparison. "
)
NONE_HARMED = "no LLM is surely harmed"


def answer(study, domain):
    """Say what the evidence of a study allows for one domain.

    Parameters
    ----------
    study : Study
    domain : str

    Returns
    -------
    dict
        The answer in short (`cards`: a goal, an LLM or None for all, what its numbers share in `RANKS`, and sentences),
        in `sentences`, what would change it, what is decided by each goal, and the tables of its numbers: those of
        single LLMs apart, as `llms`.
    """
    rows, leading = study.held_against(domain, "control"), study.leading(domain)
    llms = sorted({row["llm"] for row in study.rows("of_each_llm", domain=domain)})
    shared = {"study": study.name, "domain": domain}
    return {
        "domain": domain,
        "leading": leading,
        "cards": [
            (
                goal,
                llm,
                key_text({**shared, "goal": goal, "llm": llm, "comparison": "control"}),
                _rendered(cards.card(study, domain, goal, llm)),
            )
            for llm in (None, *llms)
            for goal in GOALS
        ],
        "sentences": [
            *_rendered(cards.in_full(study, domain)),
            *fallen_short(study, domain=domain, paradigm="anchoring"),
        ],
        "changes": _rendered(cards.turns(study, domain)),
        "decisions": [
            (
                f"{goal.capitalize()} ({'primary' if goal == leading else 'secondary'})",
                definition.measures,
                [
                    (f"{SIGNS[word]} {DECISIONS[word].capitalize()}", _decided(study, of_word))
                    for word in SIGNS
                    if (of_word := [row for row in rows if (row["goal"], row["decision"]) == (goal, word)])
                ],
            )
            for goal, definition in GOALS.items()
        ],
        "llms": [table for goal in GOALS if (table := _llms_table(study, domain, goal)).rows],
        "tables": [table for table in _tables(study, domain, rows) if table.rows],
    }


def _rendered(sentences):
    """Make sentences markup, with each number beside where it is from."""
    return [
        Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)).format(
            **{name: _shown(value) for name, value in values.items()}
        )
        for text, values in sentences
    ]


def _shown(value):
    if isinstance(value, cards.Value):
        key = {name: value.row[name] for name in value.by}
        return Number(
            value.row[value.column], value.column, value.digits, value.scale,
            unit=value.unit, table=value.table, key=key,
        )  # fmt: skip
    return listed(list(map(clean, value))) if isinstance(value, list) else clean(value)


def _decided(study, rows):
    """Name techniques, and say of those that are decided on how sure that is."""
    return listed(
        [
            f"{study.technique(row['technique'])}{': ' + CERTAINTY[row['certainty']] if _is_decided(row) else ''}"
            for row in rows
        ]
    )


def _is_decided(row):
    return row["decision"] in DECIDED


def _tables(study, domain, rows):
    title, leading = clean(domain).capitalize(), study.leading(domain)
    goals = {
        "the goal that leads": leading,
        "the other goals": listed([f"{goal} in {GOALS[goal].unit}" for goal in GOALS if goal != leading]),
    }
    by_comparison = {
        "the goal that leads": [row for row in rows if row["goal"] == leading],
        "the other goals": [row for row in rows if row["goal"] != leading],
        "other comparisons": [*study.held_against(domain, "placebo"), *study.held_against(domain, "confounded")],
    }
    for name, of_name in by_comparison.items():
        caption = Markup(CAPTIONS[name]).format(title, goals.get(name))
        yield _decisions_table(study, domain, of_name, name, caption)
    yield _predictions_table(study, domain, title)


def _decision(row):
    if row["decision"] is None:
        return Markup('{}<span class="why"> {}</span>').format(MISSING, in_words("confounded_prompt"))
    return _marked(row, DECISIONS[row["decision"]])


def _decision_llms(row):
    return DECISIONS[row["decision_llms"]] if row["decision_llms"] else MISSING


def _marked(row, words):
    """Put the sign of a decision before its words."""
    return Markup('<b class="decision {}">{} {}</b>').format(row["decision"], SIGNS[row["decision"]], words)


def _bounds(low, high):
    ends = (signed(column, reason=SAID_ABOVE) for column in (low, high))
    return side_by_side("<small>{} to {}</small>", *ends)


def _in_codes(codes):
    """Codes as words; the sentences above the table say what they mean."""
    words = clean(codes or "").replace("; ", ", ").replace("_", " ").replace("llm", "LLM")
    return words or MISSING


def _limits(row):
    return _in_codes("; ".join(code for code in codes_of(row) if code not in SAID_ELSEWHERE))


def _decisions_table(study, domain, rows, name, caption):
    several = {(row["goal"], row["comparison"]) for row in rows} - {(study.leading(domain), "control")}

    def against(row):
        kind = "" if row["comparison"] == "control" else f" ({row['comparison']})"
        return f"{study.technique(row['control']) if row['control'] else MISSING}{kind}"

    if_independent = (_bounds("gain_llms_low", "gain_llms_high"), _decision_llms)
    columns = [
        ("technique", lambda row: study.technique(row["technique"])),
        *([("goal", lambda row: row["goal"])] if several else []),
        ("held against", against),
        ("decision", _decision),
        ("how sure", lambda row: _in_codes(row["certainty"])),
        ("loss, and its control's", side_by_side("{}, {}", number("loss"), number("loss_control"))),
        ("gain (all rows at once)", interval("gain", "gain_low", "gain_high", reason=SAID_ABOVE)),
        ("this row alone", _bounds("gain_plain_low", "gain_plain_high")),
        ("LLMs as if independent", side_by_side("{} {}", *if_independent)),
        ("LLMs that gained", side_by_side("{} of {}", whole("n_gained"), whole("n_llms"))),
        (
            "surely helped, harmed",
            side_by_side("{}, {}", *(whole(column, reason=SAID_ABOVE) for column in ("n_helped", "n_harmed"))),
        ),
        ("p, sign flip", number("p_sign_flip", digits=3, reason=SAID_ABOVE)),
        ("vendors", whole("n_vendors")),
        ("trials", whole("n_trials")),
        ("what it lacks, and limits", _limits),
    ]
    key, by = {"study": study.name, "domain": domain, "llm": None}, ("technique", "goal", "control")
    return table_of(study, caption, RANKS, key, by, rows, columns, name=f"{clean(domain)}: decisions, {name}")


def _llms_table(study, domain, goal):
    """Make the table of what each technique does to each LLM, with those named that are harmed."""
    rows = [row for row in study.in_order(study.rows("of_each_llm", domain=domain, goal=goal)) if row["decision"]]
    by = {(row["llm"], row["technique"]): row for row in rows}
    gain = interval("gain", "gain_low", "gain_high")

    def column(technique):
        def cell(row):
            if (of_both := by.get((row["llm"], technique))) is None:
                return MISSING
            return under_key(of_both, ("technique", "control"), _marked(of_both, on_an_llm(of_both)), gain(of_both))

        return study.technique(technique), cell

    harmed = {}
    for row in rows:
        if row["decision"] in HARMS:
            harmed.setdefault(study.technique(row["technique"]), []).append(study.llm(row["llm"]))
    names = (
        "; ".join(HARMS_WHOM.format(technique=name, llms=listed(llms)) for name, llms in harmed.items()) or NONE_HARMED
    )
    title, unit = clean(domain).capitalize(), GOALS[goal].unit
    n_rows = max((row["n_comparisons"] or 0 for row in rows), default=0)
    caption = Markup(OF_EACH_LLM).format(title, f"{goal} ({unit})", n_rows) + f"{names[:1].upper()}{names[1:]}."
    llms = [{"llm": llm} for llm in sorted({row["llm"] for row in rows}, key=lambda llm: study.llm(llm).lower())]
    columns = [
        ("LLM", lambda row: study.llm(row["llm"])),
        *map(column, dict.fromkeys(row["technique"] for row in rows)),
    ]
    key = {"study": study.name, "domain": domain, "goal": goal, "comparison": "control"}
    name = f"{clean(domain)}: each LLM, by {goal}"
    return table_of(study, caption, RANKS, key, ["llm"], llms, columns, name=name)


def _predictions_table(study, domain, title):
    rows = study.in_order(study.rows("predictions", domain=domain, llm=None, vendor=None))
    rows = [row for goal in GOALS for row in rows if row["goal"] == goal and row["expected_loss"] is not None]

    def of_technique(cell):
        return lambda row: cell(row) if row["control"] else MISSING

    columns = [
        ("technique", lambda row: study.technique(row["technique"])),
        ("goal", lambda row: row["goal"]),
        ("held against", of_technique(lambda row: study.technique(row["control"]))),
        ("expected loss", number("expected_loss")),
        ("gain", of_technique(interval("gain", "gain_low", "gain_high"))),
        ("P(better than its control)", of_technique(share("p_better_than_control"))),
        ("P(best)", share("p_best_new_llm")),
        ("LLMs asked", whole("n_llms")),
    ]
    caption = Markup(
        "{}: what to expect of an LLM of a new vendor, with its 95 % prediction interval, if it is like them. "
        "Expected losses and gains have the control that is named. P(best) is of the smallest loss in that LLM, no "
        "technique among the candidates: it adds up to 1 by each goal."
    ).format(title)
    key = {"study": study.name, "domain": domain, "llm": None, "vendor": None}
    by, name = ("technique", "goal", "control"), f"{clean(domain)}: an LLM of a new vendor"
    return table_of(study, caption, PREDICTIONS, key, by, rows, columns, name=name)


def in_short(study):
    """Sum the answers up in one table, a row for each domain and goal.

    Parameters
    ----------
    study : Study

    Returns
    -------
    Table
    """

    def held(row):
        rows = study.held_against(row["domain"], "control")
        return [other for other in rows if other["goal"] == row["goal"]]

    def names(word):
        def cell(row):
            of_word = [other for other in held(row) if other["decision"] == word]
            return listed(
                [f"{study.technique(each['technique'])} ({_in_codes(each['certainty'])})" for each in of_word]
            )

        return lambda row: cell(row) or MISSING

    def most(column):
        def cell(row):
            largest = max((n for other in held(row) if (n := other[column]) is not None), default=None)
            return Number(largest, f"max({column})", 0, reason="nothing_to_rank")

        return cell

    rows = [{"domain": domain, "goal": goal} for domain in study.domains for goal in GOALS]
    columns = [
        ("domain and goal", lambda row: f"{row['domain']}, {row['goal']}"),
        *((DECISIONS[word], names(word)) for word in IN_SHORT),
        ("most LLMs harmed by one", most("n_harmed")),
        ("LLMs", most("n_llms")),
        ("vendors", most("n_vendors")),
    ]
    caption = Markup(
        "What may be said of other LLMs, against each technique's control; gap is the primary goal of a domain whose "
        "unanchored prompt differs from the anchored ones by more than the anchor, else displacement. Vendors are the "
        "units: below {} nothing is decided about other LLMs. What techniques do to each LLM stands with each domain."
    ).format(FEWEST_VENDORS)
    key, by = {"study": study.name, "llm": None, "comparison": "control"}, ("domain", "goal")
    return table_of(study, caption, RANKS, key, by, rows, columns, name="the answer in short")


ASKED = (
    "(select study, domain, paradigm, n_asked as n from marts.attrition union all select study, domain, "
    "paradigm, n_trials as n from marts.post_hoc_changes where change = 'withdrawn')"
)


def changes_after_seeing(study, n_asked, **where):
    """Say what people withdrew or reread after they had seen it.

    Parameters
    ----------
    study : Study
    n_asked : int
        Trials that were asked, without those that were withdrawn.
    **where : object
        The domain and paradigm, where only those are meant.

    Returns
    -------
    list of Markup
        A sentence for each change; none where there was none.
    """

    def shown(value, name, change, why):
        key = {"study": study.name, **where}
        if name == "n_trials_asked":
            return Number(value, "sum(n)", 0, table=ASKED, key=key)
        key |= {"change": change} if why is None else {"change": change, "why": why}
        return Number(value, "sum(n_trials)", 0, table="marts.post_hoc_changes", key=key)

    changes = changes_counted(study.rows("post_hoc_changes", **where), n_asked)
    return list(changes_said(changes, shown, clean, form=Markup))


def fallen_short(study, without=(), **where):
    """Say what of the answers of a study, or of a domain of it, counts nowhere.

    Parameters
    ----------
    study : Study
    without : collection of str
        Ways to fall short that are said elsewhere.
    **where : object
        The domain and paradigm, where only those are meant.

    Returns
    -------
    list of Markup
        A sentence for each way to fall short; none where nothing does.
    """
    key = {"study": study.name, **where}
    row = shortfalls.combined(study.rows("shortfalls", **where))

    def shown(value, column):
        if column == "share":
            expression = f"sum(n_{shortfalls.UNREAD}) / sum(n_asked)"
            digits = 0 if value >= 0.0995 else 1
            return Number(value, expression, digits, scale=100, unit="%", table="marts.shortfalls", key=key)
        return Number(value, f"sum({column})", 0, table="marts.shortfalls", key=key)

    return list(shortfalls.sentences(row, shown, clean, form=Markup, without=without))


def counts(study):
    """Say how many trials and LLMs a study has.

    Parameters
    ----------
    study : Study

    Returns
    -------
    Markup
    """
    key = {"study": study.name}
    if scored := study.rows("scored"):
        n_questions, n_variations, n_llms = (
            Number(scored[0][f"n_{noun}s"], f"count(distinct {noun})", 0, table="papers.anchor_effects",
                   key=key | {"evidence_from": "scores"})
            for noun in ("question", "variation", "llm")
        )  # fmt: skip
        return Markup(
            "{} {} under {} {} of anchors, {} {}. Nobody answered: how likely each answer is was read off the LLM."
        ).format(
            n_questions, counted(n_questions.value, "question"), n_variations, counted(n_variations.value, "pair"),
            n_llms, counted(n_llms.value, "LLM"),
        )  # fmt: skip
    if not study.name:
        return Markup("")
    row = next(iter(study.rows("counts")), {"n_asked": None, "n_answered": None, "n_llms": None})
    expressions = ("sum(n_asked)", "sum(n_answered)", "count(distinct llm) filter (where role is null)")
    numbers = (
        Number(row[name], expression, 0, table="marts.attrition", key=key, reason="no_published_batch")
        for name, expression in zip(("n_asked", "n_answered", "n_llms"), expressions, strict=True)
    )
    sentence = Markup("{} trials in published batches, {} of them answered, {} {}.").format(
        *numbers, counted(row["n_llms"], "LLM")
    )
    changes = changes_after_seeing(study, row["n_asked"] or 0)
    return Markup(" ").join([sentence, *fallen_short(study, without=("withdrawn",)), *changes])
