"""Where eval sets and results are kept."""
