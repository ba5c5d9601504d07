"""Results of experiments in the form of story 001, as `bais run` and the recorded archive write them.

Each is a line with one JSON object: `experimentId`, which is its study, `model`, `conditionId` (`low-…` or `high-…`),
`runIndex`, `params`, `result` (or null where the trial ended in an error), `rawLastMessage` and `collectedAt`.
"""

from ingest.archives import ANSWER_FIELDS, Archive, reading_of_experiments
from ingest.texts.files import NAME_PATTERN

STUDY = "anchoring-prosecutor-sentencing"
VIGNETTE = "shoplifting"  # of story 001's own experiment; the vignette of another one is called as that is
OF_OTHERS = {"domain": "judicial", "response_unit": "months"}  # which the fields of every line say
FIELDS = ("experimentId", "model", "conditionId", "runIndex", "protocol", "collectedAt", "rawLastMessage")
ANCHOR, ANSWER = "params.prosecutorRecommendationMonths", "result.sentenceMonths"

READ_TRIALS = reading_of_experiments(
    dict.fromkeys(FIELDS, "VARCHAR")
    | {"params": {"prosecutorRecommendationMonths": "VARCHAR"}, "result": {"sentenceMonths": "VARCHAR"}},
    shape=f"""
        when
            f.model is not null and regexp_full_match(f.experimentId, '{NAME_PATTERN}')
            and coalesce(f.experimentId = getvariable('study'), true)
            and regexp_matches(f.conditionId, '^(low|high)-anchor-[0-9]+mo$')
            and f.{ANCHOR} is not null
            then f.experimentId
    """,
    is_like_one="f.experimentId = getvariable('study')",
    kinds={"number": (ANCHOR,), "whole number": ("runIndex",), "time": ("collectedAt",)},
    answers=(ANSWER,),
    columns=f"""
    if(f.experimentId = '{STUDY}', '{VIGNETTE}', f.experimentId) as vignette,
    'no_technique' as technique,
    regexp_extract(f.conditionId, '^(low|high)') as anchor_direction,
    try_cast(f.{ANCHOR} as double) as anchor_value,
    try_cast(f.runIndex as bigint) as replicate,
    try_cast(f.{ANSWER} as double) as response_recorded,
    coalesce(f.rawLastMessage, case when isfinite(response_recorded) is not true then f.{ANSWER} end) as response_text,
    f.protocol as protocol,
    try_cast(f.collectedAt as timestamptz) as asked_at
    """,
)


ARCHIVE = Archive(
    name="story_001",
    is_study_the_kind=True,
    vignettes_of=lambda study: {} if study == STUDY else {study: OF_OTHERS},
    suffix=".jsonl",
    read_trials=READ_TRIALS,
    own_id="line ->> 'trialId'",
    foreign={
        "another experiment of the same tool": ("experimentId", "conditionId", "params"),
        "trials of document A": ("experimentId", "condition", "promptHash"),
        "trials of document A's vignettes": ("vignetteId", "anchorType"),
    },
    answer_fields=(*ANSWER_FIELDS, "rawLastMessage"),
    objects=("$", "$.params", "$.result"),
    expected="JSON lines with experimentId, conditionId such as low-anchor-3mo, params and result",
)
