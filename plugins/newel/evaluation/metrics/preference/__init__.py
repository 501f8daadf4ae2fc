"""Which of two answers a judge prefers."""
