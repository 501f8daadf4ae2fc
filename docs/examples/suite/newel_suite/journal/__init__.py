"""Sessions in a journal: one file of JSON lines, which is read again at the start."""
