"""A first look at a warehouse: run it as it is, or cell by cell where `# %%` is known (VS Code, Spyder, Jupytext).

It prints what is decided in each domain, and draws how far each LLM answers from what it says without an anchor.
"""

# %% Which tables there are
import altair as alt

import bais

tables = bais.open()
print(tables)

# %% What to use, in which domain, and how sure that is
decisions = tables.sql(
    """
    select
        study, domain, technique, decision, certainty, gain, gain_low, gain_high, n_helped, n_harmed, n_llms, n_vendors
    from inference.decisions
    where llm is null and comparison = 'control' and goal = 'displacement'
    order by study, domain, gain desc
    """
)
print(decisions.to_string(index=False))

# %% What each technique does to each LLM that was asked, by its own trials
of_each_llm = tables.sql(
    """
    select study, domain, llm, technique, decision, gain, gain_low, gain_high
    from inference.decisions
    where llm is not null and comparison = 'control' and goal = 'displacement'
    order by study, domain, technique, llm
    """
)
print(of_each_llm.to_string(index=False))

# %% How far the average answer of each LLM under an anchor lies from what it says without one, in percent of that
effects = tables["marts.effects"]
of_llms = effects[(effects["goal"] == "displacement") & effects["llm"].notna() & effects["vignette"].isna()]
chart = (
    alt.Chart(of_llms)
    .mark_circle(size=60, opacity=0.7)
    .encode(
        x=alt.X("loss:Q", title="displacement (pp)"),
        y=alt.Y("technique:N", title=None),
        color=alt.Color("llm:N", legend=None),
        tooltip=["llm", "technique", "loss", "n_trials"],
        row=alt.Row("study:N", title=None),
        column=alt.Column("domain:N", title=None),
    )
    .properties(width=220)
)
chart.save("first-look.html", inline=True)
print("first-look.html: how far anchored answers lie from unanchored ones, by LLM and technique")

# %% The answers themselves, to go on with
answers = tables.sql("select study, llm, domain, technique, anchor_direction, response from marts.trials limit 1000")
print(answers.groupby(["study", "domain"]).size())
