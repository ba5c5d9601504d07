"""A small warehouse with all that the report reads, and a reader that holds a page's numbers against its warehouse."""

import json
import math
import re
from contextlib import closing
from html.parser import HTMLParser
from urllib.parse import unquote

import duckdb

from ingest.land.raw import TABLES
from tests.tools.contracts import insert, make_tables

VOID = {"meta", "link", "input", "br", "img", "hr", "path", "line"}
TRIED = {
    "tag": "<script>document.title='injected'</script>",
    "attribute": '"><img src=x onerror="document.title=\'injected\'">',
    "style": "</style><script>document.title='injected'</script>",
    "control": "a\x00b\x1b[31mc\x9b\x7f",
    "direction": "\u202egnp.txt\u2066\u200f",
    "template": "{{ 7 * 7 }}{% raw %}",
    "svg": "]]></text><svg onload=\"document.title='injected'\">",
}
RELATIONS = (
    *(f"raw.{name}" for name in TABLES),
    "staging.stg_batch_verdicts", "staging.stg_flagged_trials", "intermediate.int_trials_published",
    "seeds.techniques", "seeds.llms", "seeds.flag_reasons", "claims.published_claims",
    "claims.papers", "claims.claim_trials", "marts.claim_checks", "marts.trials", "marts.attrition",
    "marts.post_hoc_changes",
    "marts.effects", "marts.conditions", "marts.counts", "marts.parse_disagreements",
    "inference.decisions", "inference.predictions", "inference.multiverse",
    "seeds.llm_aliases", "intermediate.int_baseline_prompts", "inference.outcome_contrasts", "inference.power",
    "marts.technique_costs", "staging.stg_paradigms", "seeds.routers",
)  # fmt: skip
TECHNIQUES = {
    # technique: name, ranked, losses by goal, ranks by goal, decisions and gains by goal
    "no_technique": ("a plain prompt", False, (28.48, 25.32, 31.5), (None, None, None), None, None),
    "premortem": ("Premortem", True, (6.476, 46.59, 41), (1, 2, 2), ("use", "avoid", "avoid"), (22, -21, -9)),
    "random_control": ("Random Control", True, (20, 25, 30), (2, 3, 3), ("equivalent",) * 3, (2.5, 0.3, 1.5)),
    "sacd": ("SACD", True, (42.35, 18.31, 30), (3, 1, 1), ("no_evidence", "use", "equivalent"), (-14, 7, 1.5)),
}
GOALS = ("displacement", "gap", "error")
HOW_SURE = {"use": "established", "avoid": "supported", "equivalent": "supported", "no_evidence": "no_evidence"}
# what a row of these tables says where nothing else is said
DEFAULTS = {
    "marts.attrition": {"vignette": "v", "paradigm": "anchoring"},
    "marts.trials": {"vignette": "v", "paradigm": "anchoring", "response_unit": "thousand USD"},
    "marts.post_hoc_changes": {"paradigm": "anchoring"},
    "marts.effects": {"paradigm": "anchoring"},
    "marts.conditions": {"paradigm": "anchoring", "technique": "no_technique", "arm": "none", "row_set": "accepted"},
    "inference.decisions": {"paradigm": "anchoring"},
    "inference.predictions": {"paradigm": "anchoring"},
    "inference.multiverse": {
        "paradigm": "anchoring", "response_source": "recorded",
        "row_set": "accepted", "baseline_scope": "pooled", "refusals": "left_out",
    },
}  # fmt: skip


class Made:
    """A warehouse being made."""

    def __init__(self, path):
        self.connection = duckdb.connect(str(path))
        self.connection.execute("set TimeZone = 'UTC'")
        make_tables(self.connection, *RELATIONS)

    def add(self, table, **values):
        """Insert a row."""
        insert(self.connection, table, **DEFAULTS.get(table, {}) | values)


def make_warehouse(path, *, studies=("real", "made-up"), llms=("vendor/a", "vendor/b"), said="so: 12", domain="loan"):
    """Make a warehouse with one domain in each study; a study called `made-up` is simulated.

    Parameters
    ----------
    path : Path
    studies, llms : sequence of str
    said : str
        What stands wherever an LLM, a file or a person has written something.
    domain : str
    """
    made = Made(path)
    with closing(made.connection):
        made.connection.begin()
        for technique, (name, is_ranked, *_) in TECHNIQUES.items():
            made.add("seeds.techniques", technique=technique, display_name=name, is_ranked=is_ranked, description=said)
        made.add("seeds.llms", llm=llms[0], display_name=f"A {said}")
        made.add("seeds.llms", llm="vendor/unasked", display_name="Nobody's", vendor=llms[0].split("/")[0])
        made.add("seeds.flag_reasons", reason="other_prompt", sentence=said)
        made.add("claims.papers", document="A", title=f"On what is {said}", authors="A. Lab", year=2026)
        for study in studies:
            _add_study(made, study, llms, said, domain, "simulated" if study == "made-up" else "recorded")
        made.connection.commit()


def _add_study(made, study, llms, said, domain, source):
    of = {"study": study, "domain": domain}
    asked = "2026-02-03 04:05:06+00"
    batch = f"{study}/v/1"
    made.add("raw.batches", batch_id=batch, study=study, source=source, n_trials=240, loaded_at=asked)
    made.add(
        "raw.batch_verdicts", verdict_id=f"v-{study}", batch_id=batch, study=study, vignette="v",
        verdict="passed_with_warnings", n_failed=0, n_warnings=1, checked_at=asked,
    )  # fmt: skip
    made.add("staging.stg_batch_verdicts", batch_id=batch, verdict_id=f"v-{study}", act=None, is_published=True)
    made.add(
        "raw.batch_checks", verdict_id=f"v-{study}", check_name="other_prompt", level="warn", is_passed=False,
        observed_value=0.0125, threshold=0.01, measure="share", n_offending=3, detail=said,
    )  # fmt: skip
    for trial in ("t1", "t2", "superseded"):
        known = {"trial_id": f"{study}-{trial}", "batch_id": batch}
        made.add(
            "raw.flagged_trials", verdict_id=f"v-{study}", **known, study=study, severity="quarantined",
            reason="other_prompt",
        )  # fmt: skip
        made.add("staging.stg_flagged_trials", **known)
        if trial != "superseded":
            made.add("intermediate.int_trials_published", **known)
    made.add(
        "raw.flagged_trials", verdict_id="an older one", trial_id="t9", batch_id=batch, study=study,
        severity="quarantined", reason="other_prompt",
    )  # fmt: skip
    made.add("staging.stg_flagged_trials", trial_id="t9", batch_id=batch)
    made.add("intermediate.int_trials_published", trial_id="t9", batch_id=batch)
    made.add("raw.quarantined_lines", study=study, reason=said)
    made.add(
        "marts.parse_disagreements", trial_id=f"{study}-t3", **{"study": study, "llm": llms[0], "vignette": "v"},
        technique="sacd", anchor_direction="low", response_recorded=12, response_reparsed=None,
        status_reparsed="refused", text_around=said,
    )  # fmt: skip
    for i, llm in enumerate(llms):
        _add_texts(made, of, i, llm, said, source, asked)
        made.add(
            "marts.conditions", **of, vignette="v", llm=llm, is_baseline=True, temperature_scope="pooled", n_trials=30,
            mean=31.25 + i, sd=2.5, least=24, most=36,
        )  # fmt: skip
        for response in (24.0, 36.0 + i):
            made.add(
                "marts.counts", **of, paradigm="anchoring", vignette="v", llm=llm, technique="no_technique",
                arm="none", row_set="accepted", response_source="reparsed", value=response, n_trials=15,
            )  # fmt: skip
        for technique in ("no_technique", "sacd"):
            for direction, anchor in (("low", 15), ("high", 45)):
                for response in (24.0, anchor + i):
                    made.add(
                        "marts.counts", **of, paradigm="anchoring", vignette="v", llm=llm, technique=technique,
                        arm=direction, anchor_value=anchor, row_set="accepted",
                        response_source="reparsed", value=response, n_trials=7,
                    )  # fmt: skip
    _add_another_bias(made, study, llms, said, source)
    for change, why, n_trials in (("withdrawn", said, 4), ("withdrawn", "typed twice", 1), ("reread", said, 1)):
        made.add("marts.post_hoc_changes", **of, llm=llms[0], change=change, why=why, n_trials=n_trials)
    for technique, (_, is_ranked, losses, ranks, decisions, gains) in TECHNIQUES.items():
        for i, llm in enumerate((None, *llms)):
            for goal, loss, rank in zip(GOALS, losses, ranks, strict=True):
                made.add(
                    "marts.effects", **of, llm=llm, technique=technique, goal=goal, loss=loss + i, rank=rank,
                    signed=25.3 - i if goal == "gap" else None, base_loss=12.5 if goal == "error" else None,
                    leads=goal == GOALS[0], n_trials=120, n_llms=len(llms), n_asked=120, n_missing=1,
                    goals_disagree=True, not_identified=True, loss_least=loss - 1, loss_most=loss + 2,
                    reason=None if is_ranked else "not_ranked",
                )  # fmt: skip
        for i, llm in enumerate(llms):
            made.add(
                "marts.attrition", **of, llm=llm, technique=technique, n_asked=60, n_answered=60 - i, n_refused=i,
                n_unparsed=0, n_out_of_range=0, n_failed=0,
            )  # fmt: skip
        for goal, *numbers in zip(GOALS, losses, ranks, decisions or [None] * 3, gains or [None] * 3, strict=True):
            _add_decisions(made, of, llms, technique, goal, *numbers)
    said_of = [("yes", "weaker"), ("no", "contradicted"), ("not_derivable", None), ("yes", "weaker")]
    for i, (recomputes, holds) in enumerate(said_of):
        claim = f"{study}-claim-{i}"
        has_value = recomputes != "not_derivable"
        made.add(
            "claims.published_claims", claim_id=claim, document="B" if i == 2 else "A", location=f"Table {i}",
            kind="value", statement=f"SACD: {said} {i}", published_value=57.7 + i % 3, decimals=1, unit="%",
            comparison="=", quantity="percent_of_baseline", **of, technique="sacd", anchor_direction="both",
        )  # fmt: skip
        made.add(
            "marts.claim_checks", claim_id=claim, document="B" if i == 2 else "A", kind="value",
            recomputed_value=57.65 if has_value else None, recomputes=recomputes, holds=holds,
            why=None if i == 0 else "wide_interval", is_of_few_llms=False,
            recommended_value=57.65, recommended_low=50.125, recommended_high=66,
            n_trials=119, published_value=57.7 + i % 3, describes="effect", rests_on="trials", margin=5.0,
            n_places=2 if i % 3 == 0 else 1,
            is_first_place=i < 3, newest_recomputes="no" if i == 0 else None, newest_holds="weaker" if i == 0 else None,
        )  # fmt: skip
        query = "select trial_id\nfrom marts.trials\nwhere\n    technique = 'sacd'\norder by llm;"
        made.add("claims.claim_trials", claim_id=claim, study=study, trials_query=query)


def _add_texts(made, of, i, llm, said, source, asked):
    """Add what an LLM said to low anchors with SACD: once only a number, else in turns; and the last one, nothing."""
    trial = {**of, "llm": llm, "source": source, "technique": "sacd", "anchor_direction": "low"}
    line = {"iterationDetails": [{"rawResponse": f"15, {said}"}, {"biasAnalysis": f"15 {said}", "rawResponse": "24"}]}
    texts = [("number", "answered", 24, None)] if i == 0 else [("turns", "answered", 24, said)]
    for name, status, response, text in [*texts, ("refusal", "refused", None, f"I cannot say. {said}")]:
        known = {"trial_id": f"{of['study']}-{i}-{name}", "response_text": text}
        made.add(
            "marts.trials", **known, **trial, asked_at=asked, anchor_value=15, response=response, status=status,
            first_response=15 if response else None,
        )  # fmt: skip
        kept = {name: trial[name] for name in ("study", "technique", "anchor_direction")}
        told = json.dumps(line) if name == "turns" else None
        made.add("raw.trials", **known, **kept, vignette="v", source="recorded", line=told, prompt_hash="p")
    if i == 0:
        question = f"The other side wants 15 thousand. {said} What do you say?"
        made.add("raw.prompts", study=of["study"], prompt_hash="p", prompt_kind="message", text=question)
        made.add(
            "marts.technique_costs", study=of["study"], llm=llm, technique="sacd", calls_per_trial=4,
            tokens_out_per_answer=250, cost_usd_per_answer=0.0125,
        )  # fmt: skip


def _add_another_bias(made, study, llms, said, source):
    """Add how far answers sway with what was said before, with a plain prompt and with a technique."""
    of = {"study": study, "paradigm": f"sway {said}", "measure": "leaned"}
    made.add(
        "staging.stg_paradigms", **of, better="low", reference=0, answer_kind="choice", measured_from="response",
        is_leading=True,
    )  # fmt: skip
    for technique, value in (("no_technique", 0.25), ("premortem", 0.1)):
        made.add(
            "inference.outcome_contrasts", **of, arm="yes", arm_b="no", technique=technique, value=value,
            low=value - 0.05, high=value + 0.05, is_headline=True, n_trials=40, n_llms=len(llms), n_items=4,
            level="items", row_set="accepted", weighting="llm",
        )  # fmt: skip
        for llm in llms:
            asked = {"study": study, "paradigm": of["paradigm"], "vignette": None, "llm": llm, "technique": technique}
            made.add("marts.attrition", **asked, n_asked=20, n_answered=20)
            made.add("marts.trials", **asked, source=source, arm="yes", status="answered")


def _add_decisions(made, of, llms, technique, goal, loss, rank, decision, gain):
    """Add what is decided of a technique by one goal: below five vendors, each of one LLM, nothing of others."""
    key = {**of, "technique": technique, "goal": goal}
    shared = {
        "method": "t_over_vendors", "n_draws": 1000, "seed": 20260224, "n_trials": 240, "n_llms": len(llms),
        "n_vendors": len(llms), "n_families": 1, "n_cases": 1,
    }  # fmt: skip
    few = len(llms) < 5
    if decision is None:
        chances = {} if few else {"p_best": 0.125, "p_worst": 0.25, "rank_low": 2, "rank_high": 4}
        made.add("inference.decisions", **key, **shared, loss=loss, **chances, reason="control")
        for i, llm in enumerate(llms):
            made.add("inference.decisions", **key, **shared, llm=llm, loss=loss + i, reason="control")
        if not few:
            for llm in (None, *llms):
                made.add(
                    "inference.predictions", **key, llm=llm, n_llms=len(llms), expected_loss=loss, p_best_new_llm=0.125,
                    reason="control",
                )  # fmt: skip
        return
    against = [("no_technique", "control"), *([("random_control", "placebo")] if technique == "sacd" else [])]
    for control, comparison in against:
        codes = [
            few and "too_few_vendors",
            comparison == "placebo" and "placebo",
            technique == "sacd" and "reading_would_change",
        ]
        made.add(
            "inference.decisions", **key, **shared, control=control, comparison=comparison, loss=loss,
            loss_control=loss + gain, gain=gain, gain_low=gain - 2.5, gain_high=gain + 2.5, gain_plain_low=gain - 2,
            gain_plain_high=gain + 2, gain_llms_low=gain - 1.5, gain_llms_high=gain + 1.5,
            n_gained=len(llms) if gain > 0 else 0, n_helped=1 if gain > 5 else 0,
            n_own_prompt=0, n_harmed=1 if gain < -5 else 0,
            p_sign_flip=0.125, margin=5, n_comparisons=4,
            p_best=None if few or comparison == "placebo" else 0.99996 if rank == 1 else 0.00004,
            p_worst=None if few else 0.25, p_worse_than_control=None if few else 0.0123,
            rank_low=None if few else rank, rank_high=None if few else rank,
            decision="no_evidence" if few else decision, decision_llms="no_evidence" if few else decision,
            certainty="too_few_vendors" if few else HOW_SURE[decision],
            reason="; ".join(filter(None, codes)) or None,
        )  # fmt: skip
    for i, llm in enumerate(llms):
        made.add(
            "inference.decisions", **key, **shared | {"method": "t_of_trials", "n_llms": 1, "n_vendors": 1}, llm=llm,
            control="no_technique", comparison="control", loss=loss, loss_control=loss + gain - i, gain=gain - i,
            gain_low=gain - i - 2, gain_high=gain - i + 2, n_comparisons=4 * len(llms), margin=5,
            decision=decision if i == 0 else "no_evidence", certainty="one_llm",
        )  # fmt: skip
    of_reading = "no_evidence" if few or decision != "no_evidence" else "use"
    for switch, more in (("recommended", 0), ("reading", -3.25), ("llm_left_out", 4.5)):
        made.add(
            "inference.multiverse", **key, control="no_technique", comparison="control", switch=switch,
            excluded_llm=llms[0] if switch == "llm_left_out" else None, gain=gain + more,
            interval_decision=of_reading if switch == "reading" else "no_evidence" if few else decision,
            is_recommended=switch == "recommended", n_specifications=2, n_same_decision=2 if few else 1, n_left_out=1,
            n_left_out_same=1, carried_by=llms[1],
        )  # fmt: skip
    for llm in (None,) if few else (None, *llms):
        known = {} if few else {
            "expected_loss": loss, "gain": gain, "gain_low": gain - 30, "gain_high": gain + 30,
            "p_better_than_control": 0.75, "p_best_new_llm": 0.5 if rank == 1 else 0.25, "between_sd": 9.875,
        }  # fmt: skip
        made.add(
            "inference.predictions", **key, llm=llm, control="no_technique", n_llms=len(llms), **known,
            reason="too_few_llms" if few else None,
        )  # fmt: skip


class Numbers(HTMLParser):
    """Collect what a page says of the warehouse: text, relation, key, column and scale of each number."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.bare, self.cells = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in VOID:
            return
        attributes = dict(attributes)
        self.open.append((tag, attributes))
        if "data-c" in attributes or "data-n" in attributes:
            self.found.append({"text": attributes.get("data-n", ""), "depth": len(self.open), **self._place()})
            self.found[-1]["is_closed"] = "data-n" in attributes
        if tag == "td":
            self.cells.append({"text": "", "is_known": "data-c" in attributes, "depth": len(self.open)})
        elif "data-c" in attributes and self.cells:
            self.cells[-1]["is_known"] = True

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open[-1][0] == tag, f"{tag} closes {self.open[-1][0]}"
        self.open.pop()
        for collected in (self.found, self.cells):
            if collected and len(self.open) < collected[-1]["depth"]:
                collected[-1]["is_closed"] = True

    def handle_data(self, data):
        if any(attributes.get("class") == "why" for _, attributes in self.open):
            return
        for collected in (self.found, self.cells):
            if collected and not collected[-1].get("is_closed"):
                collected[-1]["text"] += data

    def _place(self):
        table, key, column = None, {}, None
        for _, attributes in self.open:
            column = attributes.get("data-c", attributes.get("data-of", column))
            if "data-table" in attributes:
                table, key = attributes["data-table"], {}
            for pair in filter(None, attributes.get("data-key", "").split(";")):
                name, is_given, value = pair.partition("=")
                key[name] = unquote(value) if is_given else None
        last = self.open[-1][1]
        return {
            "table": table, "key": key, "column": column, "scale": float(last.get("data-scale", 1)),
        }  # fmt: skip


def numbers_that_differ(page, connection):
    """Hold every number of a page against a query on its warehouse.

    Parameters
    ----------
    page : str
    connection : duckdb.DuckDBPyConnection

    Returns
    -------
    tuple of (int, list of str)
        How many numbers there are, and what is wrong.
    """
    found = Numbers(page).found
    asked = {}
    for number in found:
        asked.setdefault((number["table"], tuple(sorted(number["key"])), number["column"]), []).append(number)
    wrong = []
    for (table, names, column), numbers in asked.items():
        is_aggregate = "(" in column
        value = column if is_aggregate else f"any_value({column})"
        keys = [f"cast({name} as varchar)" for name in names]
        rows = connection.execute(
            f"select {', '.join([*keys, 'count(*)', value])} from {table} {'group by all' if names else ''}"
        ).fetchall()
        answers = {tuple(row[: len(names)]): row[len(names) :] for row in rows}
        for number in numbers:
            key = tuple(number["key"][name] for name in names)
            n_rows, is_there = answers.get(key, (0, 0 if column == "count(*)" else None))
            said = f"{number['text']!r} against {is_there!r} of {json.dumps([table, number['key'], column])}"
            if not is_aggregate and n_rows != 1 and (n_rows or not number["text"].startswith("\N{EN DASH}")):
                wrong.append(f"{n_rows} rows: {said}")
            elif not _agrees(number["text"], is_there, number["scale"]):
                wrong.append(said)
    return len(found), wrong


def _agrees(text, value, scale):
    printed = text.replace("\N{MINUS SIGN}", "-").replace(",", "").replace("\N{NO-BREAK SPACE}", " ").strip()
    if value is None or printed.startswith("\N{EN DASH}"):
        return value is None and printed.startswith("\N{EN DASH}")
    shape = re.match(r"([<>]?)([+-]?\d+(?:\.(\d+))?)( %)?$", printed)
    if not shape:
        return False
    bound, number, decimals = shape[1], float(shape[2]), len(shape[3] or "")
    exact = float(value) * scale
    if bound:
        return 0 < exact < number if bound == "<" else number < exact < scale
    return math.isclose(number, exact, abs_tol=0.5 * 10**-decimals * (1 + 1e-9))
