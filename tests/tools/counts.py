"""Answers to anchors as rows of `marts.counts`."""

import pandas as pd

UNANSWERED = {"value": None, "n_trials": 0, "sum_of_values": 0.0, "sum_of_squares": 0.0}
WHOLE = {
    "study": "s", "paradigm": "anchoring", "measure": None, "instrument": None, "domain": "d", "item": None,
    "temperature": 1.0, "row_set": "accepted", "response_source": None, "valid_min": None, "valid_max": None,
}  # fmt: skip
# what studies state of paradigms, where none states anything
NOTHING_STATED = pd.DataFrame(columns=["study", "paradigm", "measure", "relative_to", "goals"])
# a study of anchoring whose unanchored prompts are the anchored ones, less the anchor
SAME_PROMPT = pd.DataFrame([{"study": "s", "paradigm": "anchoring", "domain": "d", "baseline_prompt": "same"}])


def counts_of(responses, missing=()):
    """Return counts from rows that `analysis.counts.responses_to_anchors` gives, and from how many did not answer.

    `missing` has `n_missing` in place of the answers, and the range in which they could have been.
    """
    answered = responses.rename(columns={"anchor_direction": "arm", "response": "value"})
    n_trials, values = answered["n_trials"], answered["value"]
    answered = answered.assign(n_asked=n_trials, sum_of_values=n_trials * values, sum_of_squares=n_trials * values**2)
    parts = [answered]
    if len(missing):
        unanswered = missing.rename(columns={"anchor_direction": "arm", "n_missing": "n_asked"}).assign(**UNANSWERED)
        parts.append(unanswered.assign(row_set="accepted", response_source=answered["response_source"].iloc[0]))
    counts = pd.concat(parts).astype({"value": float})
    return counts.assign(**{name: value for name, value in WHOLE.items() if name not in counts})
