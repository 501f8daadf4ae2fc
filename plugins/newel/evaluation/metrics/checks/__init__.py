"""Checks of answers that need no code."""
