"""Paradigms are data: YAML files, with arms, items, goals and judges, and what is checked in them."""
