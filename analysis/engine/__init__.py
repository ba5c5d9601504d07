"""One engine for every bias: from counts of answers to what should be done about a technique, and how sure that is.

A `Question` (`questions`) is one goal of one study: by how much techniques make a loss smaller. It comes with what it
is answered from under every specification; nothing after it asks which paradigm it is of. `losses` are the formulas,
`domain_losses` and `grid` what they are computed from, `gains` what a technique gains on its control in each LLM.
`decisions` says what to do, `guards` what of it cannot stand, `predictions` and `places` what that means for an LLM
that nobody asked, `multiverse` what would change it and `settling` what would settle it. `answers` yields the rows of
all of that.
"""
