"""`bais news`: fetch what has come, and write what is there for those who validate it and for LLMs."""

from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from bais.options import PATH, refuse_together
from bais.terminal import say, say_each
from bais.texts import csv_of, refuse_existing, write_new
from bais.warehouse import opened, records
from ingest.run import worded
from ingest.texts.csv_text import disarmed
from ingest.warehouse import UserError, printable, warehouse_path

DAYS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]
WHY = {
    "no_description": "without a description",
    "not_falsified": "without a falsified text",
    "not_validated": "whose falsified text nobody has validated",
    "too_few_validators": "whose falsified text one person alone has validated",
    "no_negation": "whose falsified text somebody calls no negation",
}
# equal warehouses give equal files, and an article keeps its place when others come
PAIRS = """
select article_id as true_item, falsification_id as false_item, article_id as pair, api_description,
    falsified_description, strftime(published_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%SZ') as published_at, reason
from ({paired}) order by published_at, pair
"""
TO_FALSIFY = """
select article_id as item, api_description as text,
    strftime(published_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%SZ') as published_at
from ({paired}) where reason = 'not_falsified' order by published_at, item
"""
TO_VALIDATE = """
with news as ({news}), validated as ({validated}), verdicts as ({verdicts}), trials as ({trials}),

answered as (
    select item as article_id, trim(response_text) as falsified_description, llm_recorded as made_by,
        null as validated_by, null as is_negation
    from trials
    where paradigm = 'falsify' and role is null and trim(response_text) != ''
        and trim(response_text) not in (select api_description from news where article_id = item)
    qualify row_number() over (partition by article_id, falsified_description order by asked_at, trial_id) = 1
),

waiting as (
    select article_id, falsified_description, made_by, arg_min(validator, verdicts.ordinal) as validated_by,
        arg_min(is_negation, verdicts.ordinal) as is_negation
    from validated left join verdicts using (falsification_id)
    where reason in ('not_validated', 'too_few_validators')
    group by all
    union all
    select * from answered anti join validated using (article_id, falsified_description)
)

select article_id, api_description, falsified_description, made_by, validated_by, is_negation,
    null as validated_by_2, null as is_negation_2
from waiting inner join news using (article_id)
order by published_at, article_id, falsified_description
"""


@click.command()
@click.option(
    "--since", metavar="DATE", type=click.DateTime(DAYS),
    help="ask from this day on, UTC (default: from a day before the newest article of the last fetch)",
)  # fmt: skip
@click.option(
    "--url", metavar="URL", envvar="NEWS_API_URL",
    help="a service that answers as NewsAPI does (default: NEWS_API_URL, else NewsAPI itself)",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="say what would be asked, and ask nothing")
@click.option("--to-falsify", metavar="FILE", type=PATH, help="write the descriptions that have no falsified text yet")
@click.option("--to-validate", metavar="FILE", type=PATH, help="write the falsified texts that too few have validated")
@click.option("--items", metavar="FILE", type=PATH, help="write the pairs to ask LLMs about, as items of a study")
@click.option("--unvalidated", is_flag=True, help="with --items: also pairs that fewer than two people have validated")
def news(
    since: datetime | None, url: str | None, dry_run: bool, to_falsify: Path | None, to_validate: Path | None,
    items: Path | None, unvalidated: bool,
) -> int:  # fmt: skip
    """Fetch news with the key in NEWS_API_KEY, or write those that are there."""
    one = "--to-falsify, --to-validate and --items write what is there, and ask for nothing: give one"
    refuse_together(
        (one, sum(map(bool, (to_falsify, to_validate, items, dry_run or since))) > 1),
        ("--unvalidated goes with --items", unvalidated and not items),
    )
    for path, option, write in (
        (to_falsify, "--to-falsify", _write_to_falsify),
        (to_validate, "--to-validate", _write_to_validate),
        (items, "--items", partial(_write_items, unvalidated=unvalidated)),
    ):
        if path:
            refuse_existing(path, option)
            write(path)
            return 0
    since = since and since.replace(tzinfo=UTC)
    with worded():
        return _say_plan(url, since) if dry_run else _fetch(url, since)


def _say_plan(url, since):
    from ingest.news.service import asked_of, planned

    fetch = planned(url, since, datetime.now(UTC))
    say(f"This would ask {fetch.url}, page by page, for:")
    say_each((f"{name}: {value}" for name, value in asked_of(fetch.asked_from).items()), indent="  ")
    return 0


def _fetch(url, since):
    from ingest.news.files import said_of_amended, said_of_quarantine
    from ingest.news.service import QUARANTINED, fetch_news

    fetch = fetch_news(url, since)
    n_before = len(fetch.quarantined) - len(fetch.set_apart)
    pages = f"{fetch.n_pages:,} page{'' if fetch.n_pages == 1 else 's'}"
    say(f"{fetch.url}, articles published from {fetch.asked_from:%Y-%m-%d %H:%M} on:")
    say(
        f"{fetch.n_read:,} article{'' if fetch.n_read == 1 else 's'} on {pages}: {len(fetch.articles):,} new, "
        f"{fetch.n_again:,} known before{said_of_amended(len(fetch.amended))}, {len(fetch.quarantined):,} quarantined"
        + (f" ({n_before:,} of them before)" if n_before else ""),
        indent="  ",
    )
    if fetch.skipped_from:
        say(
            f"What was published between {fetch.skipped_from:%Y-%m-%d %H:%M} and {fetch.asked_from:%Y-%m-%d %H:%M} was "
            f"not asked for: `bais news --since {fetch.skipped_from:%Y-%m-%d}` asks for it too.",
            indent="  ",
        )
    for line in said_of_quarantine(fetch.set_apart):
        print(line)
    return QUARANTINED if fetch.set_apart else 0


def _write_items(path, unvalidated):
    """Write pairs of a description and its falsified text: each has an id of its own, so that no item ever changes."""
    articles = _landed(PAIRS, paired="int_news_paired")
    is_enough = {None, "not_validated", "too_few_validators"} if unvalidated else {None}
    ready = [row for row in articles if row["reason"] in is_enough]
    left_out = [row for row in articles if row["reason"] not in is_enough]
    rows = []
    for row in ready:
        for truth, text in (("true", "api_description"), ("false", "falsified_description")):
            item = {"item": row[f"{truth}_item"], "pair": row["pair"], "is_true": truth}
            rows.append(item | {"published_at": row["published_at"], "statement": row[text]})
    none = f"none of the {len(articles):,} articles can be asked about{_said_of(articles)}"
    more = f"; {len(left_out):,} articles are left out" if left_out else ""
    _write(path, rows, "the items", none, f"{len(ready):,} pairs{more}")
    if left_out:
        say(f"left out{_said_of(left_out)}", indent="  ")


def _write_to_falsify(path):
    articles = _landed(TO_FALSIFY, paired="int_news_paired")
    none = "every article with a description has a falsified text"
    sentence = f"{len(articles):,} descriptions, as items of a study with `paradigm: falsify`"
    _write(path, articles, "the descriptions", none, sentence)


def _write_to_validate(path):
    models = {"validated": "int_falsifications_validated", "verdicts": "stg_falsification_verdicts"}
    texts = _landed(TO_VALIDATE, news="stg_news", trials="stg_trials", **models)
    texts = [
        {name: disarmed(value) if isinstance(value, str) else value for name, value in row.items()} for row in texts
    ]
    _write(
        path, texts, "the falsified texts", "there is no falsified text that waits for people to validate it",
        f"{len(texts):,} falsified texts. Have two people say, apart from each other, who they are and true or false, "
        "and import the file.",
    )  # fmt: skip


def _write(path, rows, what, none, sentence):
    """Write rows as CSV into a new file and say what they are, or why there are none."""
    if not rows:
        raise UserError(f"{none}: nothing was written")
    write_new(path, csv_of(list(rows[0]), rows), what)
    say(f"{printable(path)}: {sentence}")


def _landed(query, **models):
    """Answer a query over models that come from nothing but what was landed, built or not."""
    from ingest.land.models import query_of
    from ingest.land.raw import prepare_raw

    if warehouse_path().exists():
        prepare_raw(warehouse_path())
    with opened() as warehouse:
        return records(warehouse, query.format(**{name: query_of(model) for name, model in models.items()}))


def _said_of(articles):
    """Say how many articles there are for each reason."""
    counted = Counter(WHY[row["reason"]] for row in articles if row["reason"])
    return "".join(f"; {n:,} {why}" for why, n in counted.most_common()).replace(";", ":", 1)
