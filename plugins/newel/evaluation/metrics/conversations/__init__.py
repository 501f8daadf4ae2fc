"""Judgements of whole conversations."""
