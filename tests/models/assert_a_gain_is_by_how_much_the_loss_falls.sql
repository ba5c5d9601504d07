-- A gain is the control's loss less that of the technique; that of a square is never more than all of it, in points,
-- and has the same sign as the square.
select *
from {{ ref('decisions') }}
where
    gain is not null
    and (
        (loss_control > 0 and abs(loss_control - gain - loss) > 1e-6)
        or (gain_squared is not null and (gain > loss_control + 1e-9 or gain_high > loss_control + 1e-9))
        or not gain_low <= gain_high
        or (abs(gain) > 1e-9 and sign(gain) != sign(coalesce(gain_squared, gain)))
    )
