"""What results are said in: codes and numbers go in, sentences come out; terminal, page and paper only render them.

`codes` has what codes are called, `measures` what a measure means and in which unit it is shown. `domains` says what to
use in a domain of anchoring, `cards` the same as the page has it, `conclusions` as a paper does; `biases` how large
another bias is and what helps, `scores` what scores of answers show, `people` what an alteration does to people,
`changes` what people withdrew or reread, `settling` what would settle what is open.
"""
