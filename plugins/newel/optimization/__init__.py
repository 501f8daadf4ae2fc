"""Optimisation: agents improved by the results of evaluations."""
