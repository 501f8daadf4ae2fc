"""Agents from YAML files."""

from newel.files import load_agent as from_config

__all__ = ["from_config"]
