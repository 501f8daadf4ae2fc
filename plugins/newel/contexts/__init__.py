"""Contexts: the objects that callbacks, tools and nodes get, and the values shared through them."""
