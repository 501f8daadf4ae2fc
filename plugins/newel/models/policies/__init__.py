"""Policies around calls of models: each a plugin, in one chain."""
