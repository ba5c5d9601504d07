"""Score what an LLM would answer: log-probabilities of targets after prompts; nobody is asked."""
