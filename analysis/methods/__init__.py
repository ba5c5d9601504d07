"""Methods of statistics that know of no paradigm: each module gives one, or the rows of one table from it.

`small_samples`, `t_and_f_tests` and `effect_sizes` are what the others stand on; `contrasts`, `crossed_effects` on
`crossed_reml`, `equivalence`, `power`, `bootstrap` with `intervals`, `mixed_effects` on `linear_mixed_model` and
`cluster_robust`, `anova`, and `agreement` with the tables of `judges` and `validators`.
"""
