"""Inference: cases run against an agent, and the record of each turn."""
