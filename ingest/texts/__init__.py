"""Text files that people and tools write: YAML, CSV and lines, read in bounded memory, and sentences that are told."""
