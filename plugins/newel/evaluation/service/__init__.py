"""The service of evaluation: inference and judging as streams of results."""
