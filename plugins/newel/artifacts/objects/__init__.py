"""Artifacts in object stores: their layout, and what they need of a bucket."""
