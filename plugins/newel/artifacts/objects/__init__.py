"""Artifacts in object stores: their layout, and the bucket operations they need."""
