"""Judges: models that score answers, and how they are asked."""
