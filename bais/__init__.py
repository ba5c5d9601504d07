"""The `bais` command, the one room that knows all others: `main.py` lists what can be typed."""
