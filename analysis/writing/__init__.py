"""The paper on a study and the report on an experiment: what they may say (`facts`), how they are written, and checked.

`templates/` holds their text and what an LLM is asked; `documents` fills it in. `markdown` reads what an LLM wrote, and
`numbers` finds the numbers in it that no fact bears out. `paper` (on `paper_facts`) and `experiment_report` say what
else each document has to hold.
"""
