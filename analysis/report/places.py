"""What the drawer of the Answer page opens: of each domain the answers as dots, their texts, and what was asked."""

import json

from analysis.report.values import clean, clean_lines

ROOM = 250_000  # characters that the texts of a page may take


def place(study, domain, of_goals, n_texts):
    """Return what the page's script draws of a domain.

    Parameters
    ----------
    study : Study
    domain : str
    of_goals : list of Matrix
    n_texts : dict of tuple to int
        How many answers of a cell with a value have a text.

    Returns
    -------
    dict
        Numbers as the warehouse has them.
    """
    vignettes = {}

    def cells(vignette, llm):
        empty = {"base": None, "anchors": {"low": [], "high": []}, "dots": {}}
        return vignettes.setdefault(vignette, {}).setdefault(llm, empty)

    for row in study.rows("answer_counts", domain=domain):
        dots = cells(row["vignette"], row["llm"])["dots"].setdefault(row["technique"], {}).setdefault(row["arm"], [])
        key = (study.name, row["vignette"], row["llm"], row["technique"], row["arm"], row["value"])
        dots.append([row["value"], row["n_trials"], n_texts.get(key, 0)])
    for row in study.rows("baselines", domain=domain):
        cells(row["vignette"], row["llm"])["base"] = row["mean"]
    for row in study.rows("anchors", domain=domain):
        cells(row["vignette"], row["llm"])["anchors"][row["arm"]].append(row["anchor_value"])
    return {
        "study": study.name, "domain": domain, "unit": study.unit(domain), "vignettes": vignettes,
        "asked": study.asked(domain), "goals": {matrix.goal: _of_goal(matrix) for matrix in of_goals},
    }  # fmt: skip


def _of_goal(matrix):
    return {
        "leads": matrix.leads,
        "cells": {llm: {t: mark.numbers() for t, mark in marks.items()} for llm, marks in matrix.marks.items()},
        "over": {column.technique: column.mark.numbers() for column in matrix.columns},
        "say": matrix.say,
        "lines": {column.technique: column.lines for column in matrix.columns},
    }


def texts(rows, studies, room=ROOM):
    """Return the texts of answers as long as there is room, by their cell.

    Parameters
    ----------
    rows : list of dict
        As of `bais.shown.answers`: the most telling first.
    studies : collection of str
        Those of the page.
    room : int
        Characters of JSON.

    Returns
    -------
    dict of str to list
        By study, vignette, LLM, technique and direction: the value (none of a refusal), how many said so, the first
        value of several, and the turns.
    """
    kept, used = {}, 0
    for row in rows:
        if row["study"] not in studies or not row["turns"]:
            continue
        turns = [[clean(who), clean_lines(text), is_cut] for who, text, is_cut in row["turns"]]
        entry = [row["value"], row["n_texts"], row["first"], turns]
        used += len(json.dumps(entry, ensure_ascii=False))
        if used > room:
            break
        kept.setdefault(key_of(row), []).append(entry)
    return kept


def key_of(row):
    """Return the name of a cell in the page's data, as `JSON.stringify` writes it."""
    return json.dumps(_cell(row), ensure_ascii=False, separators=(",", ":"))


def _cell(row):
    return [row[name] for name in ("study", "vignette", "llm", "technique", "direction")]


def counted(rows):
    """Count the answers that have a text, by their cell and value."""
    return {(*_cell(row), row["value"]): row["n_texts"] for row in rows}


def asked(rows, studies, room=ROOM):
    """Return what was asked as long as there is room, by study, vignette, technique and direction."""
    made, used = {}, 0
    for row in rows:
        used += sum(map(len, row["turns"])) if row["study"] in studies else 0
        if row["study"] in studies and used <= room:
            told = {name: row[name] for name in ("is_sent", "llm", "anchor")}
            told["turns"] = [clean_lines(text) for text in row["turns"]]
            of_vignette = made.setdefault(row["study"], {}).setdefault(row["vignette"], {})
            of_vignette.setdefault(row["technique"], {})[row["direction"]] = told
    return made
