"""Measure what became of a text: how alike an answer is to the beginning, the middle and the end of what it retells."""

INSTRUMENTS = ("tfidf", "minilm", "e5", "endpoint", "tokenizer")
DEFAULT = "tfidf"  # which needs nothing installed, and no network
N_AT_A_TIME = 256  # answers that are landed together: what is interrupted loses no more
