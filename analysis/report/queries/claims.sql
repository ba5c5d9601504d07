select
    claims.* exclude (confounded_by),
    checks.* exclude (
        claim_id, part, document, location, statement, quantity, unit, kind, comparison, published_value
    ),
    trials.trials_query as query,
    papers.title || coalesce(' (' || nullif(concat_ws(', ', papers.authors, papers.year), '') || ')', '') as paper
from marts.claim_checks as checks
inner join
    claims.published_claims as claims
    on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part
left join claims.claim_trials as trials
    on checks.claim_id = trials.claim_id and checks.part is not distinct from trials.part
left join claims.papers as papers on claims.document = papers.document
order by claims.document, claims.rowid
