"""The answer of a study in words: what to use, what to avoid, and what nobody can say yet."""

import re

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_LLMS
from analysis.report.tables import interval, number, share, side_by_side, signed, table_of, whole
from analysis.report.values import MISSING, Number, clean, counted, key_text, listed
from analysis.words import cards
from analysis.words.cards import OF_WHOM, PREDICTIONS, RANKS, decided
from analysis.words.changes import counted as changes_counted
from analysis.words.changes import sentences as changes_said
from analysis.words.codes import DECISIONS, GOALS, LEADING, codes_of, in_words

SIGNS = {"use": "✓", "avoid": "✕", "equivalent": "≈", "no_evidence": "?"}
SAID_ELSEWHERE = ("too_few_llms", "placebo")  # in other columns of the table of decisions

CAPTIONS = {
    "displacement": "{}, displacement: what each technique gains on its control, in percentage points of the baseline. "
    "The intervals hold at 95 % for all ranked techniques at once and assume no rare LLM far off; the sign-flip p "
    "assumes symmetric gains, and with five LLMs cannot be below 1/16.",
    "gap and error": "{}, secondary goals: gap in percentage points, error in %. Each goal keeps its own 5 %: over all "
    "three together a false decision can be up to three times as frequent.",
    "other comparisons": "{}, other comparisons: against the placebo, whose turns have neutral content, and confounded "
    "ones, in which the two were asked with different prompts, so that nothing is decided.",
}


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
        in `sentences`, what would change it, what is decided by each goal and of whom, and the tables of its numbers.
    """
    rows = study.held_against(domain, "control")
    llms = sorted({row["llm"] for row in study.rows("of_each_llm", domain=domain)})
    shared = {"study": study.name, "domain": domain}
    return {
        "domain": domain,
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
        "sentences": _rendered(cards.in_full(study, domain)),
        "changes": _rendered(cards.turns(study, domain)),
        "decisions": [
            (
                f"{goal.capitalize()} ({'primary' if goal == LEADING else 'secondary'})",
                definition.measures,
                [
                    (
                        f"Of {whose}",
                        [
                            (f"{SIGNS[word]} {DECISIONS[word].capitalize()}", _names(study, of_word))
                            for word, of_word in decided(rows, goal, column).items()
                        ],
                    )
                    for column, whose in OF_WHOM.items()
                ],
            )
            for goal, definition in GOALS.items()
        ],
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


def _names(study, rows):
    return listed([study.technique(row["technique"]) for row in rows])


def _tables(study, domain, rows):
    title = clean(domain).capitalize()
    by_comparison = {
        "displacement": [row for row in rows if row["goal"] == LEADING],
        "gap and error": [row for row in rows if row["goal"] != LEADING],
        "other comparisons": [*study.held_against(domain, "placebo"), *study.held_against(domain, "confounded")],
    }
    for name, of_name in by_comparison.items():
        yield _decisions_table(study, domain, of_name, name, Markup(CAPTIONS[name]).format(title))
    yield _predictions_table(study, domain, title)


def _decision(column):
    def cell(row):
        if row[column] is None:
            return Markup('{}<span class="why"> {}</span>').format(MISSING, in_words("confounded_prompt"))
        return Markup('<span class="decision {}">{} {}</span>').format(
            row[column], SIGNS[row[column]], DECISIONS[row[column]]
        )

    return cell


def _bounds(low, high):
    return side_by_side("<small>{} to {}</small>", signed(low), signed(high))


def _in_codes(codes):
    """Codes as words; the sentences above the table say what they mean."""
    words = clean(codes or "").replace("; ", ", ").replace("_", " ").replace("llms", "LLMs")
    return words or MISSING


def _limits(row):
    return _in_codes("; ".join(code for code in codes_of(row) if code not in SAID_ELSEWHERE))


def _decisions_table(study, domain, rows, name, caption):
    several = {(row["goal"], row["comparison"]) for row in rows} - {(LEADING, "control")}

    def against(row):
        kind = "" if row["comparison"] == "control" else f" ({row['comparison']})"
        return f"{study.technique(row['control']) if row['control'] else MISSING}{kind}"

    beyond = (whole("n_beyond_margin"), whole("n_llms"), share("beyond_margin_high", digits=0))
    columns = [
        ("technique", lambda row: study.technique(row["technique"])),
        *([("goal", lambda row: row["goal"])] if several else []),
        ("held against", against),
        ("of LLMs like those asked", _decision("decision")),
        ("of the LLMs asked, no others", _decision("decision_asked")),
        ("how sure", lambda row: _in_codes(row["certainty"])),
        ("gain (all at once)", interval("gain", "gain_low", "gain_high")),
        ("this technique alone", _bounds("gain_plain_low", "gain_plain_high")),
        ("of the LLMs asked", _bounds("gain_asked_low", "gain_asked_high")),
        ("LLMs that gained", side_by_side("{} of {}", whole("n_gained"), whole("n_llms"))),
        ("p, sign flip", number("p_sign_flip", digits=3)),
        ("beyond the margin (at most)", side_by_side("{} of {} ({})", *beyond)),
        ("trials", whole("n_trials")),
        ("limits", _limits),
    ]
    key, by = {"study": study.name, "domain": domain, "llm": None}, ("technique", "goal", "control")
    return table_of(study, caption, RANKS, key, by, rows, columns, name=f"{clean(domain)}: decisions, {name}")


def _predictions_table(study, domain, title):
    rows = study.in_order(study.rows("predictions", domain=domain, llm=None))
    rows = [row for goal in GOALS for row in rows if row["goal"] == goal and row["gain"] is not None]
    columns = [
        ("technique", lambda row: study.technique(row["technique"])),
        ("goal", lambda row: row["goal"]),
        ("held against", lambda row: study.technique(row["control"])),
        ("expected loss", number("expected_loss")),
        ("gain", interval("gain", "gain_low", "gain_high")),
        ("P(better than its control)", share("p_better_than_control")),
        ("P(best)", share("p_best_new_llm")),
        ("SD between LLMs", number("between_sd")),
        ("LLMs asked", whole("n_llms")),
    ]
    caption = Markup(
        "{}: what to expect of an LLM that nobody asked, with its 95 % prediction interval, if it is like those asked."
    ).format(title)
    key, by = {"study": study.name, "domain": domain, "llm": None}, ("technique", "goal", "control")
    name = f"{clean(domain)}: an LLM that nobody asked"
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
    words = ("use", "avoid", "equivalent")

    def held(row):
        rows = study.held_against(row["domain"], "control")
        return [other for other in rows if other["goal"] == row["goal"]]

    def names(column, word):
        return lambda row: _names(study, decided(held(row), row["goal"], column).get(word, ())) or MISSING

    def n_llms(row):
        most = max((other["n_llms"] for other in held(row)), default=None)
        return Number(most, "max(n_llms)", 0, reason="nothing_to_rank")

    rows = [{"domain": domain, "goal": goal} for domain in study.domains for goal in GOALS]
    columns = [
        ("domain and goal", lambda row: f"{row['domain']}, {row['goal']}"),
        *((DECISIONS[word], names(column, word)) for column in OF_WHOM for word in words),
        ("LLMs asked", n_llms),
    ]
    caption = Markup(
        "What to use and what to avoid, against each technique's control; displacement is the primary goal. "
        "Nothing is decided about LLMs like those asked where fewer than {} were."
    ).format(FEWEST_LLMS)
    key, by = {"study": study.name, "llm": None, "comparison": "control"}, ("domain", "goal")
    groups = [("", 1), *((f"of {whose}", len(words)) for whose in OF_WHOM.values()), ("", 1)]
    return table_of(study, caption, RANKS, key, by, rows, columns, name="the answer in short", groups=groups)


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
    return Markup(" ").join([sentence, *changes_after_seeing(study, row["n_asked"] or 0)])
