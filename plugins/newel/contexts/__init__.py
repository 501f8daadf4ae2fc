"""Contexts: what callbacks, tools and nodes get, and what rooms share through it."""
