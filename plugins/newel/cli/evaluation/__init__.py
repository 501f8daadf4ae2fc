"""The commands of evaluation: `newel eval` and `newel eval_set`."""
