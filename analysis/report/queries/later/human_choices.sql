select
    shares.study, shares.product, shares.format, shares.share, shares.share_low, shares.share_high, shares.n_choices,
    effects.p_value, effects.reason
from people.human_choice_shares as shares
left join people.human_choice_effects as effects
    on
        shares.study = effects.study
        and shares.product is not distinct from effects.product
        and effects.method = 'chi_square_yates'
where shares.condition is null
order by shares.study asc, shares.product asc nulls first, shares.format asc
