"""Results of story 001's experiment, as `bais run` and the recorded archive write them: one JSON object a line.

A line has `experimentId`, `model`, `conditionId` (`low-…` or `high-…`), `runIndex`, `params`, `result` (or null where
the trial ended in an error), `rawLastMessage` and `collectedAt`.
"""

from ingest.archives import Archive

STUDY = "anchoring-prosecutor-sentencing"

READ_TRIALS = f"""
with fields as (
    select
        *,
        json_transform(line, '{{
            "experimentId": "VARCHAR", "model": "VARCHAR", "conditionId": "VARCHAR", "runIndex": "BIGINT",
            "protocol": "VARCHAR", "collectedAt": "VARCHAR", "rawLastMessage": "VARCHAR",
            "params": {{"prosecutorRecommendationMonths": "DOUBLE"}}, "result": {{"sentenceMonths": "DOUBLE"}}
        }}') as f
    from lines
),

kinds as (
    select
        *,
        case
            when
                f.experimentId = '{STUDY}' and f.model is not null
                and regexp_matches(f.conditionId, '^(low|high)-anchor-[0-9]+mo$')
                and f.params.prosecutorRecommendationMonths is not null
                then '{STUDY}'
        end as kind
    from fields
)

select
    file,
    line_number,
    line,
    kind,
    case when kind is null then coalesce(
        'experiment ' || f.experimentId, 'JSON objects with the fields ' || json_keys(line)[:5]::varchar
    ) end as looks_like,
    f.model as llm_recorded,
    'shoplifting' as vignette,
    'no_technique' as technique,
    regexp_extract(f.conditionId, '^(low|high)') as anchor_direction,
    f.params.prosecutorRecommendationMonths as anchor_value,
    f.runIndex as replicate,
    f.result.sentenceMonths as response_recorded,
    f.rawLastMessage as response_text,
    f.protocol as protocol,
    try_cast(f.collectedAt as timestamptz) as asked_at
from kinds
"""


ARCHIVE = Archive(
    name="story_001",
    study=STUDY,
    suffix=".jsonl",
    read_trials=READ_TRIALS,
    expected="JSON lines with experimentId, conditionId, params and result",
)
