"""Sessions in a journal: one file of JSON lines, which is replayed at the start."""
