"""Statistics on counts, the documents that are written from them, and the report; no database but in `kept`.

From responses to statistics: `counts` (cells, percent of baseline) feeds everything. `engine` says how large a bias an
LLM has, what a technique gains, what to do about it, what that means for an LLM that nobody asked, what would change it
and what would settle it. `llm_contrasts` says whether one LLM is more anchored than another. `bootstrap` draws
resamples, which `intervals` reads. `contrasts`, `equivalence`, `power`, `anova` and `mixed_effects` give the rows of
their tables, on `linear_mixed_model` (the solver), `cluster_robust` (errors over LLMs), `t_and_f_tests`, `effect_sizes`
and `small_samples` (few LLMs, and how few are too few). `crossed_effects` contrasts arms where many LLMs get the same
items, and `outcomes` gives the rows of how large a bias is; `agreement` says how far judges agree, and `judges` gives
the rows of that. `experiment` is the analysis of story 001. `attribution` and `anchor_effects` are document D: how an
anchor moves an LLM's distribution over answers, and which part of the prompt does. Each module declares the columns of
its rows; `tables` makes them typed tables, and the models of `models/inference/` read a mart, call one of these and
return its table. `kept` has them compute the studies that changed alone, as `provenance` tells it.

`words/` puts results into sentences, `writing/` writes and checks the two documents, and `report/` is the HTML page.
"""
