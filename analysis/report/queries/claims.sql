select
    claims.* exclude (note, not_derivable), checks.recomputed_value, checks.recomputes, checks.holds,
    checks.reason, checks.recommended_value, checks.recommended_low, checks.recommended_high, checks.n_trials,
    checks.describes, checks.rests_on, checks.margin, checks.n_places, checks.is_first_place,
    checks.newest_recomputes, checks.newest_holds, trials.trials_query as query
from marts.claim_checks as checks
inner join
    seeds.published_claims as claims
    on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part
left join claims.claim_trials as trials
    on checks.claim_id = trials.claim_id and checks.part is not distinct from trials.part
order by document, claims.rowid
