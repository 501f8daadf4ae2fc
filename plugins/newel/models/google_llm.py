"""Gemini, by its released name."""

from newel.models.google.gemini import Gemini

__all__ = ["Gemini"]
