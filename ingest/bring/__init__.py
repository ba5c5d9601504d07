"""Bringing in what others recorded: which format it is of, and the trials of it that are new."""
