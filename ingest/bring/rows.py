"""Make trials of the rows that a mapping yields, in SQL.

Numbers are read in texts by the rule that the models read with, and a row of which a condition cannot be read is set
apart.
"""

import json

import pyarrow as pa

from ingest.archives import Archive, complaint
from ingest.ask.responses import macros
from ingest.bring.columns import NEEDED
from ingest.paradigms.paradigm import ANCHORING, NO_TECHNIQUE, Paradigm, load_paradigm, paradigm_names, paradigms_of
from ingest.warehouse import quoted

KINDS_OF_COLUMNS = {
    "anchor_value": "number",
    "temperature": "number",
    "replicate": "whole number",
    "first_number": "number",
    "asked_at": "time",
    "tokens": "whole number",
    "cost": "number",
    "valid_min": "number",
    "valid_max": "number",
}
UNITLESS = "answers"  # what a choice is in
DIRECTIONS = ("none", "low", "high")

# Over `lines`, what a mapping yields, each column a text; what no row has a column for is null. A text is read once.
# What a paradigm that is not known here has for labels nobody knows: they are kept as texts.
READ_TRIALS = """
with told as (
    select
        lines.*,
        coalesce(lines.paradigm, {anchoring}) as of_paradigm,
        coalesce(
            of_paradigms.answer_kind,
            case
                when choice is not null and option_order is not null then 'choice'
                when {has_number} or of_paradigm = {anchoring} then 'number'
                else 'text'
            end
        ) as kind_asked,
        of_paradigms.options as options_known,
        coalesce(lines.response_unit, seeded.response_unit) as unit,
        coalesce(try_cast(lines.valid_min as double), seeded.valid_min) as least,
        coalesce(try_cast(lines.valid_max as double), seeded.valid_max) as most,
        case when not {has_number} and kind_asked = 'number' then text end as text_to_read
    from lines
    left join of_paradigms
        on lines.paradigm = of_paradigms.paradigm
        and coalesce(of_paradigms.item = lines.item, of_paradigms.item is null)
    left join seeded using (vignette)
),

texts as (
    select distinct text_to_read, unit from told where text_to_read is not null
),

readings as (
    select *, {reading} as found from texts
),

numbers as (
    select
        told.*,
        coalesce(try_cast(number as double), struct_extract(found, 'response'), {by_range}) as number_read,
        struct_extract(found, 'status') = 'refused' as is_refused,
        text is null and number is null and choice is null and label is null and error is not null as is_failed
    from told
    left join readings
        on told.text_to_read = readings.text_to_read and told.unit is not distinct from readings.unit
),

judged as (
    select *, case {complaints} end as complaint from numbers
)

select
    file,
    line_number,
    line,
    case when complaint is null then of_paradigm end as kind,
    null::varchar as looks_like,
    complaint,
    llm as llm_recorded,
    llm_returned,
    llm_named,
    read_as,
    vignette,
    coalesce(technique, {no_technique}) as technique,
    coalesce(
        anchor_direction,
        case
            when of_paradigm = {anchoring} then coalesce(arm, case when anchor_value is null then 'none' end)
            else 'none'
        end
    ) as anchor_direction,
    try_cast(anchor_value as double) as anchor_value,
    try_cast(temperature as double) as temperature,
    try_cast(replicate as bigint) as replicate,
    case when is_failed then 'failed' when is_refused then 'refused' end as status_recorded,
    case when is_failed then error[:1000] end as reason_recorded,
    case when kind_asked = 'number' then number_read end as response_recorded,
    try_cast(first_number as double) as first_response,
    coalesce(choice, label, text, case when isfinite(number_read) is not true then number end) as response_text,
    {protocol} as protocol,
    coalesce(prompt_hash, md5(prompt)) as prompt_hash,
    prompt as prompt_text,
    try_cast(asked_at as timestamptz) as asked_at,
    nullif(of_paradigm, {anchoring}) as paradigm,
    item,
    case when of_paradigm != {anchoring} then arm end as arm,
    case when kind_asked = 'choice' then coalesce(option_order, options_known) end as option_order,
    nullif(kind_asked, 'number') as answer_kind,
    source_name,
    try_cast(tokens as bigint) as tokens_out,
    try_cast(cost as double) as cost_usd
from judged
"""

# What the seeds say of the study's vignettes, and what paradigms that go by name ask for.
PREPARE = """
create table seeded as
select vignette, response_unit, try_cast(valid_min as double) as valid_min, try_cast(valid_max as double) as valid_max
from read_csv(getvariable('seeds') || '/vignettes.csv', all_varchar = true)
where study = getvariable('study');

create table calls (
    call_id varchar, trial_id varchar, study varchar, turn bigint, attempt bigint, asked_at timestamptz,
    returned_model varchar, tokens_out bigint, cost_usd double, cost_source varchar
)
"""

KEEP_CALLS = """
insert into calls
select
    trial_id || '-1-1', trial_id, getvariable('study'), 1, 1, asked_at, llm_returned, tokens_out, cost_usd,
    case when cost_usd is not null then 'reported' end
from parsed
where tokens_out is not null or cost_usd is not null
"""

# Of two trials of one file with one id of their own: the file, the id, and the row of the second.
TWICE = """
select name, own_id, line_number
from (
    select file, own_id, max(line_number) as line_number from parsed
    where own_id is not null
    group by all
    having count(*) > 1
    union all
    select file, own_id, line_number from parsed semi join own_ids using (file, own_id)
)
inner join files using (file)
order by all
limit 1
"""


def read_trials(archive: Archive, names: list[str]) -> str:
    """Write the SQL that makes trials of the rows that a mapping yields in columns of some names.

    A condition that cannot be read makes a row no trial; an answer that cannot is a trial without a number.
    """
    names = {name.lower() for name in names}
    return READ_TRIALS.format(
        anchoring=quoted(ANCHORING),
        reading=macros()["read_response"]("text_to_read", "unit"),
        by_range=macros()["number_in_cell"](
            "struct_extract(found, 'if_decimal')", "struct_extract(found, 'if_grouped')", "null::double", "least",
            "most",
        ),
        complaints="\n            ".join(_complaints(names)),
        no_technique="null" if "technique" in names else quoted(NO_TECHNIQUE),
        protocol=quoted(archive.name),
        has_number=str("number" in names).lower(),
    )  # fmt: skip


def _complaints(names):
    """Write what is wrong with a row that is no trial."""
    needed = [*NEEDED, *(["technique"] if "technique" in names else [])]
    yield from (f"when {name} is null then {quoted(f'there is no {name}')}" for name in needed)
    yield from (complaint(name, name, kind) for name, kind in KINDS_OF_COLUMNS.items() if name in names)
    for name, condition in (("anchor_direction", "true"), ("arm", f"of_paradigm = {quoted(ANCHORING)}")):
        yield (
            f"when {name} not in {DIRECTIONS} and {condition} "
            f"then {quoted(f'{name} is not none, low or high: ')} || {name}[:100]"
        )
    yield "when isinf(try_cast(number as double)) then 'number is no finite number: ' || number[:100]"
    yield (
        "when option_order is not null and json_type(try_cast(option_order as json)) is distinct from 'ARRAY' "
        "then 'option_order is no list of JSON: ' || option_order[:100]"
    )


def known_paradigms(archive: Archive) -> dict[str, Paradigm]:
    """Return the paradigms that trials of an archive may name: those of bais, or in their place the archive's own."""
    names = {name: name for name in paradigm_names()} | paradigms_of(archive.name)
    return {name: load_paradigm(file, None) for name, file in names.items()}


def vignettes_of(archive: Archive) -> dict[str, dict]:
    """Return what the paradigms that come with an archive say of their vignettes."""
    known = [load_paradigm(file, None) for file in paradigms_of(archive.name).values()]
    return {
        vignette.vignette: {
            "domain": vignette.domain or paradigm.paradigm, "response_unit": vignette.response_unit or UNITLESS,
            "valid_min": vignette.valid_min, "valid_max": vignette.valid_max,
        }
        for paradigm in known
        for vignette in paradigm.vignettes
    }  # fmt: skip


def unknown_paradigms(archive: Archive, paradigms: dict[str, int]) -> dict[str, int]:
    """Return those of some paradigms, with what stands beside each, that go by no name known here."""
    return {name: n for name, n in paradigms.items() if name not in (ANCHORING, *known_paradigms(archive))}


def stated(archive: Archive, paradigms: list[str]) -> dict[str, list[dict]]:
    """Return what those of some paradigms that are known here state, by the table of `raw` that it goes to."""
    known = [paradigm for name, paradigm in known_paradigms(archive).items() if name in paradigms]
    return {
        "paradigms": [row for paradigm in known for row in paradigm.rows()],
        "paradigm_contrasts": [row for paradigm in known for row in paradigm.contrast_rows()],
    }


OF_PARADIGMS = pa.schema({name: pa.string() for name in ("paradigm", "item", "answer_kind", "options")})


def options_of_paradigms(archive: Archive) -> pa.Table:
    """Return of each paradigm the kind of its answers, and the options where they are a choice; by item, if that says.

    An item whose text shows the options says their order.
    """
    rows = [
        {
            "paradigm": name, "item": item, "answer_kind": paradigm.answer.kind,
            "options": json.dumps(options) if paradigm.answer.kind == "choice" else None,
        }
        for name, paradigm in known_paradigms(archive).items()
        for item, options in paradigm.options_by_item().items()
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, OF_PARADIGMS)
