"""A first look at a warehouse: run it as it is, or cell by cell where `# %%` is known (VS Code, Spyder, Jupytext).

It prints what to use in each domain, and draws how far an anchor moves each LLM with each technique.
"""

# %% Which tables there are
import altair as alt

import bais

tables = bais.open()
print(tables)

# %% What to use, in which domain, and how sure that is
decisions = tables.sql(
    """
    select study, domain, technique, decision, certainty, gain, gain_low, gain_high, n_gained, n_llms
    from inference.decisions
    where llm is null and comparison = 'control' and goal = 'displacement'
    order by study, domain, gain desc
    """
)
print(decisions.to_string(index=False))

# %% How far an anchor moves the average answer of each LLM, in percent of what it says without one
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
print("first-look.html: how far an anchor moves each LLM, with each technique")

# %% The answers themselves, to go on with
answers = tables.sql("select study, llm, domain, technique, anchor_direction, response from marts.trials limit 1000")
print(answers.groupby(["study", "domain"]).size())
