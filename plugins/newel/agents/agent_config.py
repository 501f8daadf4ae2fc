"""Agents from YAML files, under the name that the specification's examples use."""

from newel.files import load_agent as load_agent_from_config

__all__ = ["load_agent_from_config"]
