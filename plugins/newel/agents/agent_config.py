"""Agents from YAML files, under the name that the specification's examples use."""

from newel.agents.config_agent_utils import from_config as load_agent_from_config

__all__ = ["load_agent_from_config"]
