"""Gemini Live: bidirectional connections to Gemini models."""
