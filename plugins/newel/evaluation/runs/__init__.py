"""Runs: many cases, several times each, durable and comparable."""
