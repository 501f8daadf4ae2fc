"""Utilities that google-adk users import by these paths."""
