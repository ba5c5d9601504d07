"""What results are said in: codes and numbers go in, sentences come out; terminal, page and paper only render them.

`codes` has what codes and goals are called, `measures` what a measure means and in which unit it is shown. `advice`
says what to use against a bias, by the goals of its paradigm or, where that names none, by its measures; `pages` says
the same on a page, `matrix` above the matrix of the pages, `conclusions` in a paper. `biases` says how large a
bias is that is told from a measure, `scores` what scores of answers show, `people` what an alteration does to people,
`changes` what people withdrew or reread, `settling` what would settle what is open, `consistency` which printed numbers
do not fit each other.
"""
