"""Bounds: how much a case may use at most."""
