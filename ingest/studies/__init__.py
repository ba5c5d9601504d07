"""Studies are data: YAML files, what is checked in them, and the trials that they come to."""
