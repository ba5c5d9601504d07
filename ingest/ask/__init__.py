"""Asking LLMs: what a study will cost, collection into a spool, what was asked before, and the loading of answers."""
