"""Studies of people: their material, and what comes back of it."""
