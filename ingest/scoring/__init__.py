"""Score what an LLM would answer: log-probabilities of targets after prompts; nobody is asked."""

DTYPES = ("float32", "bfloat16", "float16", "float64")
DEVICES = ("cpu", "cuda")
