"""LLMs on this machine: `llm` runs one through torch, `methods` change what it writes, in numpy alone."""

DTYPES = ("float32", "bfloat16", "float16", "float64")
DEVICES = ("cpu", "cuda")
CANNOT_BE_ASKED = 4
