"""Papers of anybody, as LaTeX, Markdown, HTML or text: their sentences, their tables, and each numeral in them."""
