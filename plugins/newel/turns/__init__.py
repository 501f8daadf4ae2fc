"""Turns: who answers a message, which invocation it goes on with, and what waits for an answer."""
