"""The answer of a study in words: what to use, what to avoid, and what nobody can say yet."""

from dataclasses import dataclass

from markupsafe import Markup

from analysis.methods.small_samples import FEWEST_LLMS
from analysis.report.studies import NO_TECHNIQUE
from analysis.report.tables import Row, Table
from analysis.report.values import MISSING, Number, clean, counted, key_text, listed, reason_text
from analysis.words.changes import counted as changes_counted
from analysis.words.changes import sentences as changes_said
from analysis.words.codes import CAVEATS, CERTAINTY, CONTRADICTED, DECISIONS, GOALS, LEADING, counted_otherwise

RANKS, PREDICTIONS = "inference.decisions", "inference.predictions"
SIGNS = {"use": "✓", "avoid": "✕", "equivalent": "≈", "no_evidence": "?"}
ON_A_CARD = {
    "use": "<strong>Use {name}.</strong> With it {better}{than}, in {n_gained} of {n_llms} LLMs: {sure}.",
    "avoid": "<strong>Avoid {name}.</strong> With it {better}{than} in only {n_gained} of {n_llms} LLMs: {sure}.",
}
LEFT_OF_IT = {
    "displacement": "With {name} an anchor moves its average answer by {loss} of its unanchored one, with {control} by "
    "{loss_control}.",
    "gap": "With {name} high and low anchors pull its average answers {loss} of its unanchored one apart, with "
    "{control} {loss_control}.",
    "error": "With {name} its single answers are {loss} off, with {control} {loss_control}.",
}
SPOKEN = {
    "use": "use {}",
    "avoid": "avoid {}",
    "equivalent": "no difference with {}",
    "no_evidence": "no evidence on {}",
}
OF_WHOM = {"decision": "LLMs like those asked", "decision_asked": "the LLMs asked and no others"}
SAID_ELSEWHERE = ("too_few_llms", "placebo")  # in other columns of the table of decisions
LIMITS = {
    "contradicted_elsewhere": CONTRADICTED,
    **{code: CAVEATS[code] for code in CAVEATS if code != "confounded_prompt"},
}


@dataclass(frozen=True)
class Answer:
    """The answer for one domain: in short, in sentences, what is decided by each goal and of whom, and the numbers.

    A card is a goal, an LLM (None for all), what its numbers share in `RANKS`, and sentences.
    """

    domain: str
    cards: list
    sentences: list
    changes: list
    decisions: list
    tables: list


def answer(study, domain):
    """Say what the evidence of a study allows for one domain.

    Parameters
    ----------
    study : Study
    domain : str

    Returns
    -------
    Answer
    """
    rows = study.held_against(domain, "control")
    return Answer(
        domain,
        [
            *(
                (goal, None, _key_of_card(study, domain, goal, None), list(_card(study, domain, goal)))
                for goal in GOALS
            ),
            *(
                (goal, llm, _key_of_card(study, domain, goal, llm), list(_card_of_llm(study, domain, goal, llm)))
                for llm in sorted({row["llm"] for row in study.rows("of_each_llm", domain=domain)})
                for goal in GOALS
            ),
        ],
        list(_sentences(study, domain, rows)),
        list(_changes(study, domain, rows)),
        [
            (
                f"{goal.capitalize()} ({'primary' if goal == LEADING else 'secondary'})",
                definition.measures,
                [
                    (
                        f"Of {whose}",
                        [
                            (f"{SIGNS[word]} {DECISIONS[word].capitalize()}", _names(study, of_word))
                            for word, of_word in _decided(rows, goal, column).items()
                        ],
                    )
                    for column, whose in OF_WHOM.items()
                ],
            )
            for goal, definition in GOALS.items()
        ],
        [table for table in _tables(study, domain, rows) if table.rows],
    )


def _names(study, rows):
    return listed([Markup.escape(study.technique(row["technique"])) for row in rows])


def _decided(rows, goal, column):
    """Return the rows of one goal by what is decided."""
    of_goal = [row for row in rows if row["goal"] == goal]
    by_word = {word: [row for row in of_goal if row[column] == word] for word in SIGNS}
    return {word: subset for word, subset in by_word.items() if subset}


def _said(study, rows, goal, column):
    """Say what is decided of which techniques; strongly only of LLMs like those asked."""
    phrases = []
    for word, decided_rows in _decided(rows, goal, column).items():
        is_strong = column == "decision" and word in ("use", "avoid")
        text = Markup("<strong>{}</strong>" if is_strong else "{}")
        phrases.append(text.format(Markup(SPOKEN[word]).format(_names(study, decided_rows))))
    return Markup("; ").join(phrases) or "nothing"


def _card(study, domain, goal):
    """Say the answer by one goal in short: what to use, in how many LLMs it helped, how sure, and the placebo."""
    rows = [row for row in study.held_against(domain, "control") if row["goal"] == goal]
    if not any(row["n_llms"] for row in rows):
        yield Markup("Nothing can be compared yet.")
        return
    if all(row["n_llms"] < FEWEST_LLMS for row in rows):
        yield _too_few(study, domain, rows)
        yield Markup("Of {}: {}.").format(OF_WHOM["decision_asked"], _said(study, rows, goal, "decision_asked"))
        return
    decided = _decided(rows, goal, "decision")
    for word, sentence in ON_A_CARD.items():
        for row in sorted(decided.get(word, []), key=lambda row: (-row["gain"], row["technique"])):
            own = row["control"] != NO_TECHNIQUE
            yield Markup(sentence).format(
                name=study.technique(row["technique"]),
                better=GOALS[goal].better,
                than=Markup(" than with {}").format(study.technique(row["control"])) if own else "",
                n_gained=_of(row, "n_gained"),
                n_llms=_of(row, "n_llms"),
                sure=CERTAINTY[row["certainty"]],
            )
    if "use" not in decided:
        yield Markup("<strong>No technique is shown to help.</strong>")
    for word, sentence in (
        ("equivalent", "No difference with {}."),
        ("no_evidence", "No evidence for or against {}."),
    ):
        if word in decided:
            yield Markup(sentence).format(_names(study, decided[word]))
    against = [row for row in study.held_against(domain, "placebo") if row["goal"] == goal]
    if against and not any(row["decision"] == "use" for row in against):
        yield Markup("No technique is shown to do better than {}, a placebo of neutral turns.").format(
            study.technique(against[0]["control"])
        )


def _card_of_llm(study, domain, goal, llm):
    """Say what one LLM's own trials show by one goal."""
    rows = study.in_order(study.rows("of_each_llm", domain=domain, goal=goal, llm=llm))
    rows = [row for row in rows if row["gain"] is not None and row["loss"] is not None]
    name = Markup.escape(study.llm(llm))
    if not rows:
        yield Markup("{} was not asked what can be compared.").format(name)
        return
    decided = _decided(rows, goal, "decision_asked")
    for word in ("use", "avoid"):
        for row in sorted(decided.get(word, []), key=lambda row: (-row["gain"], row["technique"])):
            yield (Markup("<strong>{} {} with {}.</strong> ") + Markup(LEFT_OF_IT[goal])).format(
                word.capitalize(),
                study.technique(row["technique"]),
                name,
                name=study.technique(row["technique"]),
                control=study.technique(row["control"]),
                **{column: _of(row, column, 1, "%") for column in ("loss", "loss_control")},
            )
    if "use" not in decided:
        yield Markup("<strong>No technique is shown to help {}.</strong>").format(name)
    for word, sentence in (("equivalent", "No difference with {}."), ("no_evidence", "No evidence on {}.")):
        if word in decided:
            yield Markup(sentence).format(_names(study, decided[word]))
    yield Markup("This is said of {} alone.").format(name)


def _key_of_card(study, domain, goal, llm):
    """Return what all numbers of a card share in `RANKS`."""
    return key_text({"study": study.name, "domain": domain, "goal": goal, "llm": llm, "comparison": "control"})


def _of(row, column, digits=0, unit=""):
    key = {name: row[name] for name in ("technique", "control")}
    return Number(row[column], column, digits, unit=unit, key=key)


def _sentences(study, domain, rows):
    if not any(row["n_llms"] for row in rows):
        all_rows = [*study.rows("technique_rankings", domain=domain, llm=None), *rows]
        codes = sorted({code for row in all_rows for code in (row["reason"] or "").split("; ")} - {"", "not_ranked"})
        why = reason_text("; ".join(codes)) if codes else "no trial had a low or a high anchor"
        yield Markup("Nothing can be compared here: {}.").format(why)
        return
    leading = [row for row in rows if row["goal"] == LEADING]
    primary = _decided(leading, LEADING, "decision")
    few = all(row["n_llms"] < FEWEST_LLMS for row in leading)
    if few:
        yield _too_few(study, domain, leading)
    else:
        if "use" not in primary:
            yield Markup(
                "<strong>No technique is shown to be better than its control in LLMs like those asked.</strong>"
            )
        rare = "; no difference means on average, unless rare LLMs differ" if "equivalent" in primary else ""
        yield Markup("By displacement, of {}: {}{}.").format(
            OF_WHOM["decision"], _said(study, leading, LEADING, "decision"), rare
        )
    yield Markup("By displacement, of {}: {}.").format(
        OF_WHOM["decision_asked"], _said(study, leading, LEADING, "decision_asked")
    )
    yield from _other_goals(study, rows, "decision_asked" if few else "decision")
    yield from _first_places(study, domain)
    yield from _controls(study, domain)
    yield from _foretold(study, domain)
    yield from _limits(study, domain, rows)


def _changes(study, domain, rows):
    """Say which one thing, counted otherwise, would change what is decided by displacement, a line for each technique.

    Of LLMs like those asked where enough were asked, else of the LLMs asked.
    """
    leading = [row for row in rows if row["goal"] == LEADING and row["n_llms"]]
    column = "decision_asked" if all(row["n_llms"] < FEWEST_LLMS for row in leading) else "decision"
    for row in leading:
        pair = {name: row[name] for name in ("technique", "control")}
        other = {}
        for change in study.rows("switches", domain=domain, **pair):
            if change[column] != row[column]:
                value = study.llm(change["excluded_llm"]) if change["excluded_llm"] else change["value"]
                other.setdefault(change[column], []).append(clean(counted_otherwise(change["switch"], value)))
        phrases = [f"{DECISIONS[word]} {listed(ways, 'or')}" for word, ways in sorted(other.items())]
        yield Markup("<strong>{}</strong>, now {}: {}.").format(
            study.technique(row["technique"]),
            DECISIONS[row[column]],
            "; ".join(phrases) if phrases else "the same whichever one thing is counted otherwise",
        )


def _too_few(study, domain, rows):
    most = max(rows, key=lambda row: (row["n_llms"], row["technique"]))
    key = {"study": study.name, "domain": domain, "llm": None}
    key |= {name: most[name] for name in ("technique", "goal", "control")}
    n = Number(most["n_llms"], "n_llms", 0, table=RANKS, key=key)
    ranked = study.rows("technique_rankings", domain=domain)
    llms = sorted({row["llm"] for row in ranked if row["llm"] and row["rank_by_displacement"] is not None})
    return Markup(
        "<strong>Only {} {} asked ({}): nothing is decided about other LLMs</strong>, for which {} are needed."
    ).format(
        n,
        counted(n.value, "LLM was", "LLMs were"),
        listed([Markup.escape(study.llm(llm)) for llm in llms]),
        FEWEST_LLMS,
    )


def _other_goals(study, rows, column):
    """Say what the secondary goals decide, and where two goals decide the opposite."""
    for goal in GOALS:
        if goal != LEADING:
            yield Markup("By {} (secondary), of {}: {}.").format(
                goal, OF_WHOM[column], _said(study, rows, goal, column)
            )
    by = {}
    for row in rows:
        by.setdefault(row["technique"], {}).setdefault(row[column], []).append((row["goal"], row))
    for by_decision in by.values():
        if {"use", "avoid"} <= set(by_decision):
            good, bad = ([goal for goal, _ in by_decision[word]] for word in ("use", "avoid"))
            yield Markup(
                "<strong>The goals contradict each other on {}</strong>: of {}, use it by {}, avoid it by {}. Which "
                "matters more is for you to say."
            ).format(_names(study, [by_decision["use"][0][1]]), OF_WHOM[column], listed(good), listed(bad))


def _first_places(study, domain):
    rankings = study.rows("technique_rankings", domain=domain, llm=None)
    first = {goal: [row for row in rankings if row[f"rank_by_{goal}"] == 1] for goal in ("displacement", "gap")}
    if all(first.values()) and any(row["metrics_disagree"] for row in rankings):
        yield Markup(
            "The smallest displacement seen is with {}, the smallest gap with {}: no technique comes first by both."
        ).format(*(_names(study, rows) for rows in first.values()))


def _controls(study, domain):
    """Say which techniques have another control than no technique, and what they do against a placebo."""
    for row in study.held_against(domain, "confounded"):
        if row["goal"] == LEADING:
            own = next(
                other["control"]
                for other in study.held_against(domain, "control")
                if other["technique"] == row["technique"] and other["goal"] == LEADING
            )
            yield Markup(
                "{} is held against {}, which was asked with the same prompt. Answers without any technique came from "
                "another prompt, so that nothing is decided against them."
            ).format(study.technique(row["technique"]), study.technique(own))
    placebo = [row for row in study.held_against(domain, "placebo") if row["goal"] == LEADING]
    for control in sorted({row["control"] for row in placebo}):
        comparisons = [row for row in placebo if row["control"] == control]
        phrases = [
            Markup("of {}: {}").format(whose, _said(study, comparisons, LEADING, column))
            for column, whose in OF_WHOM.items()
        ]
        yield Markup("Against {}, a placebo of neutral turns, by displacement, {}. {}.").format(
            study.technique(control), phrases[0], phrases[1][:1].upper() + phrases[1][1:]
        )


def _foretold(study, domain):
    """Say what an LLM that nobody asked is most likely to be helped by."""
    rows = study.rows("predictions", domain=domain, goal=LEADING, llm=None)
    rows = [row for row in rows if row["p_best_new_llm"] is not None]
    if not rows:
        return
    best = max(rows, key=lambda row: (row["p_best_new_llm"], row["technique"]))
    key = {name: best[name] for name in ("study", "domain", "llm", "technique", "goal", "control")}
    helps, is_best = (
        Number(best[column], column, 0, 100, unit="%", table=PREDICTIONS, key=key)
        for column in ("p_better_than_control", "p_best_new_llm")
    )
    yield Markup(
        "For an LLM that nobody asked, if it is like those asked, {} is the most likely to have the largest gain in "
        "displacement (P {}); it beats its control there with P {}."
    ).format(study.technique(best["technique"]), is_best, helps)


def _limits(study, domain, rows):
    """List what could turn a decision, or limits it, by technique and goal."""
    for code, sentence in LIMITS.items():
        names = _with_code(study, rows, code)
        if not code.startswith("baseline"):
            names += _with_code(study, study.held_against(domain, "placebo"), code, " against the placebo")
        if names:
            yield Markup(sentence).format(names=listed(names))
    yield from _cautions(study, domain)


def _with_code(study, rows, code, against=""):
    """Name the techniques whose rows have a code, with the goals unless they are all."""
    goals_by_name = {}
    for row in rows:
        if code in (row["certainty"], *(row["reason"] or "").split("; ")):
            goals_by_name.setdefault(study.technique(row["technique"]), []).append(row["goal"])
    return [
        Markup("{}{}{}").format(name, against, "" if len(goals) == len(GOALS) else f" ({', '.join(goals)})")
        for name, goals in goals_by_name.items()
    ]


def _cautions(study, domain):
    over_llms = study.rows("technique_rankings", domain=domain, llm=None)
    if any(row["not_identified"] for row in over_llms):
        bounds = [row for row in study.rows("attrition_bounds", domain=domain) if row["technique"] in study.ranked]
        remark = Markup("")
        if any(row["n_missing"] for row in bounds):
            worst = max(bounds, key=lambda row: (row["n_missing"] / max(row["n_asked"], 1), row["technique"]))
            key = {"study": study.name, "domain": domain, "llm": None, "technique": worst["technique"]}
            n_asked, lost = (
                Number(worst[column], column, 0, table="marts.attrition_bounds", key=key)
                for column in ("n_asked", "n_missing")
            )
            remark = Markup(" {} trials of {} have no valid answer, of {} that were asked.").format(
                lost, study.technique(worst["technique"]), n_asked
            )
        yield Markup(
            "The order by displacement is not identified: had everybody answered, it could be another one.{}"
        ).format(remark)
    beside = {row["technique"] for row in over_llms} - {NO_TECHNIQUE, "sacd_initial"}
    for row in study.tables["techniques"]:
        if row["technique"] in beside and not row["is_ranked"]:
            yield Markup("{} is not ranked. {}.").format(study.technique(row["technique"]), clean(row["description"]))


def _tables(study, domain, rows):
    title = clean(domain).capitalize()
    yield _decisions_table(
        study, domain, [row for row in rows if row["goal"] == LEADING], "displacement",
        Markup(
            "{}, displacement: what each technique gains on its control, in percentage points of the baseline. The "
            "intervals hold at 95 % for all ranked techniques at once and assume no rare LLM far off; the sign-flip p "
            "assumes symmetric gains, and with five LLMs cannot be below 1/16."
        ).format(title),
    )  # fmt: skip
    yield _decisions_table(
        study, domain, [row for row in rows if row["goal"] != LEADING], "gap and error",
        Markup(
            "{}, secondary goals: gap in percentage points, error in %. Each goal keeps its own 5 %: over all three "
            "together a false decision can be up to three times as frequent."
        ).format(title),
    )  # fmt: skip
    others = [*study.held_against(domain, "placebo"), *study.held_against(domain, "confounded")]
    yield _decisions_table(
        study, domain, others, "other comparisons",
        Markup(
            "{}, other comparisons: against the placebo, whose turns have neutral content, and confounded ones, in "
            "which the two were asked with different prompts, so that nothing is decided."
        ).format(title),
    )  # fmt: skip
    yield _predictions_table(study, domain, title)


def _decision(row, column):
    if row[column] is None:
        return Markup('{}<span class="why"> {}</span>').format(MISSING, reason_text("confounded_prompt"))
    return Markup('<span class="decision {}">{} {}</span>').format(
        row[column], SIGNS[row[column]], DECISIONS[row[column]]
    )


def _interval(row, *columns):
    """A number with its bounds, as one cell."""
    value, low, high = (Number(row[name], name, is_signed=True, reason=row["reason"]) for name in columns)
    return Markup("{} <small>({} to {})</small>").format(value, low, high)


def _bounds(row, *columns):
    ends = (Number(row[name], name, is_signed=True, reason=row["reason"]) for name in columns)
    return Markup("<small>{} to {}</small>").format(*ends)


def _share(row, count, *more):
    n, total = (Number(row[name], name, 0, reason=row["reason"]) for name in (count, "n_llms"))
    return Markup("{} of {}").format(n, total) + Markup("").join(more)


def _percentage(row, column, digits=1):
    return Number(row[column], column, digits, 100, unit="%", reason=row["reason"])


def _in_codes(codes):
    """Codes as words; the sentences above the table say what they mean."""
    words = clean(codes or "").replace("; ", ", ").replace("_", " ").replace("llms", "LLMs")
    return words or MISSING


def _decisions_table(study, domain, rows, name, caption):
    several = {(row["goal"], row["comparison"]) for row in rows} - {(LEADING, "control")}
    heads = [
        "technique", *(["goal"] if several else []), "held against", "of LLMs like those asked",
        "of the LLMs asked, no others", "how sure", "gain (all at once)", "this technique alone", "of the LLMs asked",
        "LLMs that gained", "p, sign flip", "beyond the margin (at most)", "trials", "limits",
    ]  # fmt: skip

    def cells(row):
        against = study.technique(row["control"]) if row["control"] else MISSING
        limits = [code for code in (row["reason"] or "").split("; ") if code not in SAID_ELSEWHERE]
        kind = "" if row["comparison"] == "control" else f" ({row['comparison']})"
        return [
            study.technique(row["technique"]),
            *([row["goal"]] if several else []),
            f"{against}{kind}",
            _decision(row, "decision"),
            _decision(row, "decision_asked"),
            _in_codes(row["certainty"]),
            _interval(row, "gain", "gain_low", "gain_high"),
            _bounds(row, "gain_plain_low", "gain_plain_high"),
            _bounds(row, "gain_asked_low", "gain_asked_high"),
            _share(row, "n_gained"),
            Number(row["p_sign_flip"], "p_sign_flip", 3, reason=row["reason"]),
            _share(row, "n_beyond_margin", Markup(" ({})").format(_percentage(row, "beyond_margin_high", 0))),
            Number(row["n_trials"], "n_trials", 0),
            _in_codes("; ".join(limits)),
        ]

    return Table(
        caption,
        RANKS,
        {"study": study.name, "domain": domain, "llm": None},
        heads,
        [Row({key: row[key] for key in ("technique", "goal", "control")}, cells(row)) for row in rows],
        [],
        study.is_simulated,
        f"{clean(domain)}: decisions, {name}",
    )


def _predictions_table(study, domain, title):
    rows = study.in_order(study.rows("predictions", domain=domain, llm=None))
    rows = [row for goal in GOALS for row in rows if row["goal"] == goal and row["gain"] is not None]
    return Table(
        Markup(
            "{}: what to expect of an LLM that nobody asked, with its 95 % prediction interval, if it is like those "
            "asked."
        ).format(title),
        PREDICTIONS,
        {"study": study.name, "domain": domain, "llm": None},
        [
            "technique", "goal", "held against", "expected loss", "gain", "P(better than its control)", "P(best)",
            "SD between LLMs", "LLMs asked",
        ],
        [
            Row(
                {key: row[key] for key in ("technique", "goal", "control")},
                [
                    study.technique(row["technique"]),
                    row["goal"],
                    study.technique(row["control"]),
                    Number(row["expected_loss"], "expected_loss"),
                    _interval(row, "gain", "gain_low", "gain_high"),
                    _percentage(row, "p_better_than_control"),
                    _percentage(row, "p_best_new_llm"),
                    Number(row["between_sd"], "between_sd"),
                    Number(row["n_llms"], "n_llms", 0),
                ],
            )
            for row in rows
        ],
        [],
        study.is_simulated,
        f"{clean(domain)}: an LLM that nobody asked",
    )  # fmt: skip


def in_short(study, answers):
    """Sum the answers up in one table, a row for each domain and goal.

    Parameters
    ----------
    study : Study
    answers : list of Answer

    Returns
    -------
    Table
    """
    words = ("use", "avoid", "equivalent")
    rows = []
    for domain_answer in answers:
        held = study.held_against(domain_answer.domain, "control")
        for goal in GOALS:
            decided = [_decided(held, goal, column) for column in OF_WHOM]
            n_llms = max((row["n_llms"] for row in held if row["goal"] == goal), default=None)
            rows.append(
                Row(
                    {"domain": domain_answer.domain, "goal": goal},
                    [
                        f"{domain_answer.domain}, {goal}",
                        *(_names(study, by[word]) if word in by else MISSING for by in decided for word in words),
                        Number(n_llms, "max(n_llms)", 0, reason="nothing_to_rank"),
                    ],
                )
            )
    return Table(
        Markup(
            "What to use and what to avoid, against each technique's control; displacement is the primary goal. "
            "Nothing is decided about LLMs like those asked where fewer than {} were."
        ).format(FEWEST_LLMS),
        RANKS,
        {"study": study.name, "llm": None, "comparison": "control"},
        ["domain and goal", *[DECISIONS[word] for word in words] * 2, "LLMs asked"],
        rows,
        [("", 1), *((f"of {whose}", len(words)) for whose in OF_WHOM.values()), ("", 1)],
        study.is_simulated,
        "the answer in short",
    )


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
            Number(scored[0][f"n_{noun}s"], f"count(distinct {noun})", 0, table="marts.anchor_effects",
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
    n_asked, answered, llms = (
        Number(row[name], column, 0, table="marts.attrition", key=key, reason="no_published_batch")
        for name, column in (
            ("n_asked", "sum(n_asked)"),
            ("n_answered", "sum(n_answered)"),
            ("n_llms", "count(distinct llm) filter (where role is null)"),
        )
    )
    sentence = Markup("{} trials in published batches, {} of them answered, {} {}.").format(
        n_asked, answered, llms, counted(row["n_llms"], "LLM")
    )
    return Markup(" ").join([sentence, *changes_after_seeing(study, row["n_asked"] or 0)])
