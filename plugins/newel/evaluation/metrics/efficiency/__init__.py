"""Counts that every run reports."""
