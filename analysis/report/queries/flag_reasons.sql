select reason, sentence from seeds.flag_reasons
order by reason
