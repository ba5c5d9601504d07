"""What keeps a trial out of the public tables, as sentences."""

HELD_BACK = {
    "quarantined": "QUARANTINED: the gate keeps this trial out of the public tables.",
    "older_version": "OLDER VERSION: the public tables count a higher version of this trial's vignette or technique.",
    "not_published": "NOT PUBLISHED: the trial's batch is not in the public tables.",
}


def notices(record):
    """Say what keeps a trial out of the public tables, or will once they are built anew.

    Parameters
    ----------
    record : dict
        `held_back`, `gate` and what `became` of the trial, as `bais trial --json` prints them.

    Yields
    ------
    str
    """
    became, withdrawn, reread = record["became"], record["became"]["withdrawn"], record["became"]["reread"]
    if withdrawn:
        yield f"WITHDRAWN by {withdrawn['who']} on {withdrawn['withdrawn_at']:%Y-%m-%d}: {withdrawn['why']}"
    if reread:
        number = "None" if reread["response"] is None else f"{reread['response']:g}"
        yield f"REREAD as {number} by {reread['who']} on {reread['reread_at']:%Y-%m-%d}: {reread['why']}"
    if became["fate"] in ("superseded", "gone", "lacking"):
        version = f"version {became['version']} of its source, imported {became['imported_at']:%Y-%m-%d}"
        yield {
            "superseded": f"SUPERSEDED by trial {became['superseded_by']} of {version}.",
            "gone": f"GONE: {version} as the whole of it, lacks this trial.",
            "lacking": f"The newest {version}, lacks this trial; it stays, since that was not imported as the whole of "
            "it.",
        }[became["fate"]]
    elif not withdrawn and record["held_back"] == "not_published" and (record["gate"] or {}).get("is_published"):
        yield "NOT BUILT YET: the trial's batch is published, and `bais build` brings it into the public tables."
    elif not withdrawn and record["held_back"] in HELD_BACK:
        yield HELD_BACK[record["held_back"]]
    if became["is_still_in_tables"]:
        yield "The public tables still have it: `bais build` derives them anew."
