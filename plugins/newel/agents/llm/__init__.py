"""Cooperation of LLM agents."""
